"""How many integrals the model finds: by width of the beam, served, with SymPy, against SymPy.

Every question goes the whole way that a request goes, from text to a verified answer, and
every verified answer is judged once more by :mod:`service.evaluation.independent`. The
sets are those of :mod:`models.integrate.test_sets`.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from rich.progress import Progress

from models.integrate.test_sets import KINDS, robustness, rubi, stored, variations
from service.evaluation import rivals
from service.evaluation.independent import Verdict, check_antiderivative
from service.integration import tasks
from service.integration.diagnosis import failed_step
from service.integration.forms import asked
from service.metrics import Metrics
from service.noanswer import NoAnswer
from service.problems import Problem
from service.resources import Resources, open_resources
from service.settings import Settings
from service.solvers.antiderivative import ALL_PARTS, FIRST_BEAM, MODEL_SHARE, SearchParts
from service.solvers.hypotheses import MODEL, hypotheses
from service.solvers.integrate import integrate
from service.solvers.integrate_schema import (
    IntegralSolved,
    IntegralUnsolved,
    IntegrateRequest,
)
from service.solvers.worker import in_worker
from service.stopwatch import Stopwatch
from service.verification.errors import WorkerError
from tokenizer.ansatz import Term
from tokenizer.errors import ParseError
from tokenizer.normalise import VARIABLE, normalise
from tokenizer.parse import parse
from tokenizer.tree import Tree

#: Beams whose first round is measured apart.
BEAMS: Final = (1, 10, 50)
#: Seconds that the independent judge has for one answer.
JUDGE_S: Final = 60.0
RUBI: Final = ("independent", "chapters")
SETS: Final = (*RUBI, *KINDS, "robustness")
#: Variations of solved integrands in the set *robustness*.
VARIATIONS: Final = 200


@dataclass(frozen=True, slots=True)
class Question:
    """``family`` is the group that failures are counted by."""

    set: str
    integrand: str
    family: str


@dataclass(slots=True)
class Rival:
    """What one of SymPy's integrators made of a question; seconds without and with the proof."""

    solved: bool
    integrator_s: float
    total_s: float


@dataclass(slots=True)
class Record:
    """One question and what came of it.

    ``first`` is the best hypothesis alone; ``beams`` maps a width to whether the first
    round solves the question; ``model`` is the service with ``engine=model``, ``auto``
    with its fallback; times in seconds, the proof included. ``wrong`` and ``unjudged``
    are verified answers that the independent judge refutes or cannot judge.
    """

    set: str
    integrand: str
    family: str
    first: bool = False
    beams: dict[str, bool] = field(default_factory=dict)
    model: bool = False
    model_s: float = 0.0
    answer: str | None = None
    status: str | None = None
    rounds: int = 0
    hypotheses: int = 0
    auto: bool = False
    auto_s: float = 0.0
    auto_answer: str | None = None
    reason: str | None = None
    rivals: dict[str, Rival] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    unjudged: list[str] = field(default_factory=list)


def read(path: Path) -> list[Record]:
    """The records that an earlier run wrote; none where there is no file."""
    if not path.exists():
        return []
    records = []
    for line in path.read_text().splitlines():
        raw = json.loads(line)
        raw["rivals"] = {name: Rival(**rival) for name, rival in raw["rivals"].items()}
        records.append(Record(**raw))
    return records


def questions(name: str, solved: Sequence[str]) -> list[Question]:
    """The questions of one of :data:`SETS`; variations are made of ``solved`` integrands."""
    if name in RUBI:
        problems = [p for p in rubi() if p.independent == (name == "independent")]
        level = 1 if name == "independent" else 2
        return [
            Question(name, p.integrand, "/".join(p.file.split("/")[level - 1 : level + 1]))
            for p in problems
        ]
    if name == "robustness":
        changed = variations(list(solved), VARIATIONS) if len(solved) >= 4 else []
        return [
            *(Question(name, text, "large numbers") for text in robustness()),
            *(Question(name, text, "variations of solved problems") for text in changed),
        ]
    return [Question(name, text, name) for text in stored(name)]


class Examiner:
    """Asks one question in every way.

    ``limit_s`` is the time limit of a question, the same for all who are asked;
    ``parts`` are the parts of the search that are on.
    """

    def __init__(
        self, resources: Resources, limit_s: float, parts: SearchParts = ALL_PARTS
    ) -> None:
        self.resources = resources
        self.limit_s = limit_s
        self.parts = parts

    async def examine(self, question: Question, *, against_rivals: bool) -> Record:
        """Everything about one question."""
        record = Record(question.set, question.integrand, question.family)
        served = await self.ask(question.integrand, "model")
        if isinstance(served, IntegralSolved):
            record.model = True
            record.answer = served.answer.text if served.answer else None
            record.status = served.verification.status
        if served is not None:
            record.rounds, record.hypotheses = served.search.rounds, served.search.hypotheses
            record.model_s = served.timing_ms.total / 1000
        await self._first_rounds(question.integrand, record)
        if record.model and record.model_s < MODEL_SHARE * self.limit_s:
            # the fallback would not have been asked
            record.auto, record.auto_s = True, record.model_s
        else:
            again = await self.ask(question.integrand, "auto")
            if again is not None:
                record.auto_s = again.timing_ms.total / 1000
            if isinstance(again, IntegralSolved):
                record.auto = True
                record.auto_answer = again.answer.text if again.answer else None
        if against_rivals:
            await self._rivals(question.integrand, record)
        for answer in dict.fromkeys(a for a in (record.answer, record.auto_answer) if a):
            verdict = await self.judge(question.integrand, answer)
            if verdict != "right":
                (record.wrong if verdict == "wrong" else record.unjudged).append(answer)
        return record

    async def ask(
        self, integrand: str, engine: Literal["auto", "model"]
    ) -> IntegralSolved | IntegralUnsolved | None:
        """As a client does; None when the question is refused."""
        request = IntegrateRequest(
            expression=integrand, variable=VARIABLE, engine=engine, timeout_s=self.limit_s
        )
        try:
            return await integrate(request, self.resources, self.parts)
        except (ParseError, Problem):
            return None

    async def judge(self, integrand: str, answer: str) -> Verdict:
        """What the independent judge says."""
        try:
            return await self.resources.pool.run(
                check_antiderivative, integrand, answer, VARIABLE, timeout_s=JUDGE_S
            )
        except (WorkerError, ParseError):
            return "unknown"

    async def _first_rounds(self, integrand: str, record: Record) -> None:
        """Fill in ``first`` and ``beams``, and for a question not solved the ``reason``."""
        try:
            tree = normalise(parse(integrand, variables=(VARIABLE,)), VARIABLE).tree
            lists = [await self._hypotheses(tree, beam) for beam in BEAMS]
        except ParseError:
            record.reason = "no parse"
            return
        except (NoAnswer, Problem) as error:
            late = isinstance(error, NoAnswer) and error.code == "model_deadline"
            record.reason = "time" if late else "no parse"
            return
        solving: set[tuple[Term, ...]] = set()
        widest = lists[-1]
        for name, found in [("first", widest[:1]), *zip(map(str, BEAMS), lists, strict=True)]:
            solved = not solving.isdisjoint(found)
            if found and not solved:
                tried = await self._solve(tree, found)
                solved = tried is not None
                if tried is not None and tried < len(found):
                    solving.add(found[tried - 1])
            if name == "first":
                record.first = solved
            else:
                record.beams[name] = solved
        if not record.model:
            record.reason = await self._failed_step(tree, widest)

    async def _hypotheses(self, tree: Tree, beam: int) -> list[tuple[Term, ...]]:
        watch = Stopwatch(self.limit_s)
        limit = self.resources.engine.models[MODEL].limits["beam"]
        return await hypotheses(
            asked(tree, VARIABLE), min(beam, limit), self.resources, watch, watch.deadline
        )

    async def _solve(self, tree: Tree, found: Sequence[Sequence[Term]]) -> int | None:
        """How many hypotheses it took to solve the question; None when they do not."""
        try:
            outcome = await in_worker(
                self.resources,
                self.limit_s,
                tasks.solve_from_hypotheses,
                tree,
                VARIABLE,
                found,
                (),
                self.parts.pooled,
                True,
            )
        except NoAnswer:
            return None
        return outcome.hypotheses if outcome.found is not None else None

    async def _failed_step(self, tree: Tree, found: Sequence[Sequence[Term]]) -> str:
        try:
            return await in_worker(self.resources, self.limit_s, failed_step, tree, VARIABLE, found)
        except NoAnswer:
            return "time"

    async def _rivals(self, integrand: str, record: Record) -> None:
        """SymPy's integrators, each in a warm worker with the same limit."""
        try:
            tree = parse(integrand, variables=(VARIABLE,))
        except ParseError:
            return
        for name in rivals.INTEGRATORS:
            try:
                answer = await self.resources.pool.run(
                    rivals.ask,
                    name,
                    tree,
                    VARIABLE,
                    self.limit_s,
                    timeout_s=self.limit_s + rivals.VERIFIER_S + 1,
                )
                rival = Rival(answer.tree is not None, answer.integrator_s, answer.total_s)
            except (WorkerError, MemoryError):
                rival = Rival(False, self.limit_s, self.limit_s)
            record.rivals[name] = rival


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured: ``fraction`` of each of ``sets``, with ``limit_s`` a question.

    A set may carry a fraction and a share for SymPy of its own: ``chapters:0.15``,
    ``chapters:1:0.03``.

    SymPy's integrators are asked ``rival_share`` of the questions, drawn with ``seed``.
    ``at_once`` questions run side by side. ``records`` are kept in a file of JSON lines,
    and what is there already is not asked again.
    """

    sets: tuple[str, ...] = SETS
    fraction: float = 1.0
    limit_s: float = 10.0
    rival_share: float = 0.1
    at_once: int = 1
    seed: int = 1
    records: Path | None = None
    parts: SearchParts = ALL_PARTS


async def run(plan: Plan, settings: Settings, bar: Progress) -> tuple[list[Record], dict[str, Any]]:
    """All records of ``plan``, and what they were measured on."""
    known = {(r.set, r.integrand): r for r in read(plan.records)} if plan.records else {}
    async with open_resources(settings, Metrics()) as resources:
        info = resources.engine.models.get(MODEL)
        if info is None:
            raise RuntimeError("no integration model is installed")
        examiner = Examiner(resources, plan.limit_s, plan.parts)
        records: list[Record] = []
        for entry in plan.sets:
            name, *shares = entry.split(":")
            fraction = float(shares[0]) if shares else plan.fraction
            rival_share = float(shares[1]) if shares[1:] else plan.rival_share
            solved = [r.integrand for r in records if r.model and r.set in RUBI]
            asked = sampled(questions(name, solved), fraction, plan.seed)
            share = random.Random(f"{plan.seed} {name}")  # noqa: S311 - reproducible sample, no secret
            compared = {q.integrand for q in asked if share.random() < rival_share}
            task = bar.add_task(name, total=len(asked))
            gate = asyncio.Semaphore(plan.at_once)

            async def one(
                question: Question,
                gate: asyncio.Semaphore = gate,
                compared: set[str] = compared,
                task: Any = task,
            ) -> Record:
                record = known.get((question.set, question.integrand))
                if record is None:
                    async with gate:
                        record = await examiner.examine(
                            question, against_rivals=question.integrand in compared
                        )
                    _append(plan.records, record)
                bar.advance(task)
                return record

            records += await asyncio.gather(*map(one, asked))
    measured = {
        "model": {"name": info.name, "version": info.version},
        "limit_s": plan.limit_s,
        "asked": list(plan.sets),
        "fraction": plan.fraction,
        "rival_share": plan.rival_share,
        "at_once": plan.at_once,
        "beam": max(FIRST_BEAM, settings.beam),
    }
    return records, measured


def sampled(asked: list[Question], fraction: float, seed: int) -> list[Question]:
    """``fraction`` of the questions, at least one, the same for the same ``seed``."""
    if fraction >= 1:
        return asked
    count = max(1, round(fraction * len(asked)))
    return random.Random(seed).sample(asked, min(count, len(asked)))  # noqa: S311 - reproducible sample


def _append(path: Path | None, record: Record) -> None:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(json.dumps(asdict(record)) + "\n")


def wrong(records: Iterable[Record]) -> list[tuple[str, str]]:
    """(integrand, answer) of every verified answer that the independent judge refutes."""
    return [(r.integrand, answer) for r in records for answer in r.wrong]
