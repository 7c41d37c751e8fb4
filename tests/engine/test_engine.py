"""The engine as its callers see it, on real graphs."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import torch

from service.engine import (
    DeadlineExceeded,
    DeviceUnavailable,
    Engine,
    EngineDied,
    EngineStopped,
    Generation,
    Hypothesis,
    InputTooLong,
    QueueFull,
    UnknownModel,
)
from tests import tiny_model
from tokenizer import vocabulary as v
from tokenizer.codec import Encoded, decode, decode_terms, slots

QUESTIONS = tiny_model.questions(24)


def in_engine(
    folder: Path, work: Callable[[Engine], Awaitable[object]], **settings: object
) -> None:
    """Run ``work`` in an engine of its own."""

    async def run() -> None:
        async with Engine(folder, device="cpu", **settings) as engine:  # type: ignore[arg-type]  # settings of several types
            await work(engine)

    asyncio.run(run())


def torch_score(network: str, source: Encoded, tokens: tuple[int, ...]) -> float:
    """Log-probability of ``tokens`` by one forward pass of ``network``."""
    places = list(slots(tokens))
    rows = (
        source.ids,
        source.paths,
        [v.START, *tokens[:-1]],
        [parent for parent, _ in places],
        [path for _, path in places],
    )
    with torch.no_grad():
        logits = tiny_model.network(network)(*(torch.tensor([row]) for row in rows))[0]
    return float(logits.log_softmax(-1)[range(len(tokens)), list(tokens)].sum())


@pytest.mark.parametrize("name", tiny_model.CONFIGS)
def test_scores_are_the_networks(folder: Path, name: str) -> None:
    """Every hypothesis is a tree, scored as the network scores it, best first."""

    async def work(engine: Engine) -> None:
        for source in QUESTIONS[:6]:
            generation = await engine.generate(name, source, beam=4, max_tokens=30)
            assert generation.hypotheses
            for hypothesis in generation.hypotheses:
                decode(hypothesis.tokens, source)
                expected = torch_score(name, source, hypothesis.tokens)
                assert hypothesis.score == pytest.approx(expected, abs=1e-3)
            scores = [hypothesis.score for hypothesis in generation.hypotheses]
            assert scores == sorted(scores, reverse=True)

    in_engine(folder, work)


@pytest.mark.parametrize("variant", ["float32", "int8"])
def test_the_same_answer_in_any_batch(folder: Path, variant: str) -> None:
    """Byte for byte the same, whatever rides along: alone, in pairs, in eights, all at once."""
    beams = [1, 4, 4, 3]
    models = ["ansatz", "tiny", "shared", "tiny", "shared"]

    async def ask(engine: Engine, i: int) -> tuple[Hypothesis, ...]:
        generation = await engine.generate(
            models[i % 5], QUESTIONS[i], beam=beams[i % 4], max_tokens=8 + 3 * i
        )
        return generation.hypotheses

    async def work(engine: Engine) -> None:
        alone = [await ask(engine, i) for i in range(len(QUESTIONS))]
        assert len({hypotheses[0].tokens for hypotheses in alone}) > len(QUESTIONS) // 2
        for size in (2, 3, 8, len(QUESTIONS)):
            together: list[tuple[Hypothesis, ...]] = []
            for start in range(0, len(QUESTIONS), size):
                group = range(start, min(start + size, len(QUESTIONS)))
                together += await asyncio.gather(*(ask(engine, i) for i in group))
            assert together == alone

    in_engine(folder, work, batch_items=16, threads=2, variant=variant)


def test_items_join_a_running_batch(folder: Path) -> None:
    """A late short question overtakes a long one, and neither answer changes."""

    async def work(engine: Engine) -> None:
        long, short = QUESTIONS[7], QUESTIONS[0]
        alone = [
            await engine.generate("tiny", long, max_tokens=200),
            await engine.generate("tiny", short, max_tokens=3),
        ]
        order: list[str] = []

        async def ask(name: str, source: Encoded, longest: int) -> Generation:
            generation = await engine.generate("tiny", source, max_tokens=longest)
            order.append(name)
            return generation

        slow = asyncio.create_task(ask("long", long, 200))
        await asyncio.sleep(0.01)
        fast = asyncio.create_task(ask("short", short, 3))
        joined = await asyncio.gather(slow, fast)
        assert [g.hypotheses for g in joined] == [g.hypotheses for g in alone]
        if alone[0].tokens_decoded > 100:
            assert order == ["short", "long"]

    in_engine(folder, work)


def test_an_ansatz_is_a_list_of_terms(folder: Path) -> None:
    """A model whose manifest says ``terms`` writes nothing else."""

    async def work(engine: Engine) -> None:
        for source in QUESTIONS[:6]:
            generation = await engine.generate("ansatz", source, max_tokens=20)
            assert generation.hypotheses
            for hypothesis in generation.hypotheses:
                assert decode_terms(hypothesis.tokens, source)

    in_engine(folder, work)


def test_answers_stay_within_their_length(folder: Path) -> None:
    """The shortest budget still yields complete trees."""

    async def work(engine: Engine) -> None:
        for longest in (1, 2, 5):
            generation = await engine.generate("tiny", QUESTIONS[5], max_tokens=longest)
            assert generation.hypotheses
            assert all(len(h.tokens) <= longest for h in generation.hypotheses)

    in_engine(folder, work)


def test_a_full_queue_says_so(folder: Path) -> None:
    """What finds no place is refused at once; what was accepted is answered."""

    async def work(engine: Engine) -> None:
        outcomes = await asyncio.gather(
            *(engine.generate("tiny", source) for source in QUESTIONS), return_exceptions=True
        )
        refused = [outcome for outcome in outcomes if isinstance(outcome, QueueFull)]
        answered = [outcome for outcome in outcomes if isinstance(outcome, Generation)]
        assert refused
        assert answered
        assert len(refused) + len(answered) == len(outcomes)
        assert engine.waiting == 0

    in_engine(folder, work, batch_items=1, queue_items=2)


def test_a_deadline_is_kept(folder: Path) -> None:
    """An item whose deadline has passed fails; its neighbours are answered."""

    async def work(engine: Engine) -> None:
        late, mid, fine = await asyncio.gather(
            engine.generate("tiny", QUESTIONS[9], deadline=time.monotonic() - 1),
            engine.generate("tiny", QUESTIONS[9], beam=16, deadline=time.monotonic() + 0.002),
            engine.generate("tiny", QUESTIONS[9], deadline=time.monotonic() + 600),
            return_exceptions=True,
        )
        assert isinstance(late, DeadlineExceeded)
        assert isinstance(mid, DeadlineExceeded)
        assert isinstance(fine, Generation)

    in_engine(folder, work)


def test_a_client_that_left_is_forgotten(folder: Path) -> None:
    """Cancelled calls leave the queue and the batch, and the engine goes on."""

    async def work(engine: Engine) -> None:
        tasks = [
            asyncio.create_task(engine.generate("tiny", source, max_tokens=250))
            for source in QUESTIONS[:8]
        ]
        await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert all(task.cancelled() or task.done() for task in tasks)
        generation = await engine.generate("tiny", QUESTIONS[0], max_tokens=3)
        assert generation.hypotheses
        assert engine.waiting == 0

    in_engine(folder, work, batch_items=2)


def test_unusable_questions_are_refused(folder: Path) -> None:
    """A model that is not there, a question too long and a beam too wide are told apart."""

    async def work(engine: Engine) -> None:
        with pytest.raises(UnknownModel):
            await engine.generate("oracle", QUESTIONS[0])
        endless = Encoded((v.ID["neg"],) * 200 + (v.VAR,), (0,) * 201, (), ())
        with pytest.raises(InputTooLong):
            await engine.generate("tiny", endless)
        with pytest.raises(ValueError, match="beam"):
            await engine.generate("tiny", QUESTIONS[0], beam=1000)

    in_engine(folder, work)


def test_failure_in_decoding_reaches_the_caller(folder: Path) -> None:
    """A question that breaks the batch fails; the next one works."""

    async def work(engine: Engine) -> None:
        broken = Encoded((10_000,), (0,), (), ())  # no such token
        with pytest.raises(RuntimeError, match="decoding failed"):
            await engine.generate("tiny", broken)
        with pytest.raises(RuntimeError, match="decoding failed"):
            await engine.compute("tiny", "no question at all", None)
        assert (await engine.generate("tiny", QUESTIONS[0], max_tokens=3)).hypotheses
        assert engine.restarts == 0

    in_engine(folder, work)


def test_stopping_fails_what_waits(folder: Path) -> None:
    """Nobody hangs on an engine that was stopped."""

    async def run() -> None:
        engine = Engine(folder, device="cpu", batch_items=1)
        with pytest.raises(UnknownModel):
            await engine.generate("tiny", QUESTIONS[0])
        await engine.start()
        tasks = [asyncio.create_task(engine.generate("tiny", source)) for source in QUESTIONS]
        await asyncio.sleep(0)
        await engine.stop()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert any(isinstance(outcome, EngineStopped) for outcome in outcomes)
        with pytest.raises(EngineStopped):
            await engine.generate("tiny", QUESTIONS[0])

    asyncio.run(run())


def test_a_process_that_is_killed_is_replaced(folder: Path) -> None:
    """What was asked is answered by the next process, as it would have been."""

    async def work(engine: Engine) -> None:
        alone = [await engine.generate("tiny", source) for source in QUESTIONS[:8]]
        asked = asyncio.gather(*(engine.generate("tiny", source) for source in QUESTIONS[:8]))
        await asyncio.sleep(0.005)
        assert engine.pid
        os.kill(engine.pid, signal.SIGKILL)
        assert [g.hypotheses for g in await asked] == [g.hypotheses for g in alone]
        assert engine.restarts == 1
        assert engine.ready

    in_engine(folder, work)


def test_a_question_is_not_asked_a_third_time(folder: Path) -> None:
    """What two processes have died over fails, and others are answered."""

    async def work(engine: Engine) -> None:
        stubborn = asyncio.create_task(engine.generate("tiny", QUESTIONS[9], beam=16))
        for _ in range(2):
            while not engine.pid:
                await asyncio.sleep(0.01)
            os.kill(engine.pid, signal.SIGKILL)
            while engine.ready:
                await asyncio.sleep(0.001)
        with pytest.raises(EngineDied):
            await stubborn
        assert (await engine.generate("tiny", QUESTIONS[0], max_tokens=3)).hypotheses

    in_engine(folder, work)


def test_a_process_that_hangs_is_replaced(folder: Path) -> None:
    """A question gets its error soon after its deadline, and the next one its answer."""

    async def work(engine: Engine) -> None:
        assert engine.pid
        hung = engine.pid
        os.kill(hung, signal.SIGSTOP)
        with pytest.raises(DeadlineExceeded):
            await engine.generate("tiny", QUESTIONS[0], deadline=time.monotonic() + 0.1)
        assert (await engine.generate("tiny", QUESTIONS[0], max_tokens=3)).hypotheses
        assert engine.pid != hung

    in_engine(folder, work)


def test_a_program_that_forgets_its_engine_ends(folder: Path) -> None:
    """A process that nobody stopped does not keep the program that started it."""
    program = (
        "import asyncio, pathlib, sys\n"
        "from service.engine import Engine\n"
        "engine = Engine(pathlib.Path(sys.argv[1]), device='cpu')\n"
        "asyncio.run(engine.start())\n"
    )
    ended = subprocess.run([sys.executable, "-c", program, str(folder)], timeout=120, check=False)
    assert ended.returncode == 0


def test_models_are_described(folder: Path) -> None:
    """An operator can see what runs, where, and what it takes."""

    async def work(engine: Engine) -> None:
        info = engine.models["tiny"]
        assert (info.version, info.provider, info.variant) == (
            "1.0",
            "CPUExecutionProvider",
            "float32",
        )
        assert info.limits["source_tokens"] == 160

    in_engine(folder, work)


def test_cuda_must_be_had_when_asked_for(folder: Path) -> None:
    """Asking for CUDA without it is an error at start-up that says what to install."""
    ort = pytest.importorskip("onnxruntime")
    if "CUDAExecutionProvider" in ort.get_available_providers():
        pytest.skip("CUDA is here")
    with pytest.raises(DeviceUnavailable, match="gpu"):
        asyncio.run(Engine(folder, device="cuda").start())
