"""POST /steps: how an answer can be reached, every step checked."""

from __future__ import annotations

from typing import Final, Literal

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from service.integration.manual import ManualStep, differentiate_back, manual_steps
from service.noanswer import NoAnswer
from service.problems import Problem, responses
from service.resources import Resources, ResourcesOf
from service.routes.admission import admit
from service.routes.question import QuestionRoute
from service.schemas import (
    DifferentiateRequest,
    Expression,
    Format,
    Request,
    Timeout,
    VariableName,
)
from service.solvers.differentiate import understand as understand_derivative
from service.solvers.integral_question import Question
from service.solvers.integral_question import understand as understand_integral
from service.solvers.integrate import integrate
from service.solvers.integrate_schema import Bound, IntegrateRequest
from service.solvers.worker import in_worker
from service.steps import Derivation, NoRuleError, linear_terms, negative, slope_latex, slope_text
from service.stopwatch import Stopwatch
from service.verification.derivation import check_equal, check_steps
from tokenizer.parse import parse
from tokenizer.render import to_text
from tokenizer.tree import Tree, call, symbol
from tokenizer.typeset import to_latex

router = APIRouter(tags=["calculus"], dependencies=[Depends(admit)], route_class=QuestionRoute)

#: Terms of an antiderivative that are differentiated one by one.
MOST_TERMS: Final = 24


class StepsRequest(Request):
    """The question whose steps are wanted."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"task": "differentiate", "expression": "x^2 sin x"},
                {"task": "integrate", "expression": "x e^x"},
            ]
        }
    )

    task: Literal["differentiate", "integrate"] = Field(description="What was asked.")
    expression: Expression
    variable: VariableName | None = None
    order: int | None = Field(None, ge=1, le=10, description="Of a derivative; absent: 1.")
    lower: Bound | None = None
    upper: Bound | None = None
    format: Format = "auto"
    timeout_s: Timeout | None = Field(None, description="Absent: the service's default.")


class ShownStep(BaseModel):
    """One rule applied once."""

    rule: str
    depth: int = Field(description="How deep inside other steps, from 0.")
    latex: str
    text: str = Field(description="The same for a terminal.")
    check: Literal["proved", "numeric", "unchecked"] = Field(
        description="Whether this step was verified on its own; `unchecked`: not in time."
    )


class Section(BaseModel):
    """Steps that belong together."""

    title: str
    steps: list[ShownStep]


class StepsAnswer(BaseModel):
    """The derivation."""

    sections: list[Section]
    notes: list[str]


@router.post(
    "/steps",
    responses=responses(400, 401, 408, 413, 415, 422, 429, 500, 503),
    summary="Show the steps to an answer",
)
async def post_steps(request: StepsRequest, resources: ResourcesOf) -> StepsAnswer:
    """Rules of differentiation; or rules of integration and the answer differentiated back.

    A step that is wrong is never shown. 422 where there are no rules for the expression.
    """
    settings = resources.settings
    watch = Stopwatch(min(request.timeout_s or settings.timeout_default_s, settings.timeout_max_s))
    try:
        if request.task == "differentiate":
            return await _derivative(request, resources, watch)
        return await _integral(request, resources, watch)
    except NoRuleError as error:
        raise _no_steps(str(error)) from None
    except NoAnswer as error:
        raise _no_steps(str(error)) from None
    except RecursionError:  # a derivative is deeper than what it is of
        raise _no_steps("the derivative is nested too deeply to be written out") from None


def _no_steps(reason: str) -> Problem:
    return Problem(
        "no-steps", f"There are no steps to show: {reason}.", status=422, title="No steps"
    )


def _check(status: str) -> Literal["proved", "numeric", "unchecked"]:
    if status == "refuted":
        raise NoRuleError("a step did not pass its check")
    return "proved" if status == "proved" else "numeric" if status == "numeric" else "unchecked"


async def _derivative(request: StepsRequest, resources: Resources, watch: Stopwatch) -> StepsAnswer:
    fields = request.model_dump(include={"expression", "variable", "format"})
    if request.order is not None:
        fields["order"] = request.order
    question = understand_derivative(DifferentiateRequest.model_validate(fields))
    variable, tree = question.variable, question.expression
    sections: list[Section] = []
    notes: list[str] = []
    for nth in range(1, question.order + 1):
        derivation = Derivation(variable)
        result = derivation.derive(tree)
        claims = [(step.of, step.result) for step in derivation.steps]
        checked = await in_worker(
            resources, watch.remaining_s, check_steps, claims, variable, result
        )
        steps = [
            ShownStep(
                rule=step.rule,
                depth=step.depth,
                latex=step.latex,
                text=step.text,
                check=_check(status),
            )
            for step, status in zip(derivation.steps, checked.checks, strict=True)
        ]
        if not steps:
            rule = "The variable itself" if tree == symbol(variable) else "Constant"
            steps = [_slope(rule, 0, tree, variable, result, "proved")]
        if checked.tidied is not None:
            # tidy() gives nothing that was not proved equal
            steps.append(
                ShownStep(
                    rule="Simplify",
                    depth=0,
                    latex=f"{to_latex(result)} = {to_latex(checked.tidied)}",
                    text=f"{to_text(result)} = {to_text(checked.tidied)}",
                    check="proved",
                )
            )
            result = checked.tidied
        if derivation.shortened and not notes:
            notes.append("Steps nested deeply were done without being shown.")
        title = "Derivative" if question.order == 1 else f"Derivative {nth} of {question.order}"
        sections.append(Section(title=title, steps=steps))
        tree = result
    return StepsAnswer(sections=sections, notes=notes)


async def _integral(request: StepsRequest, resources: Resources, watch: Stopwatch) -> StepsAnswer:
    fields = request.model_dump(include={"expression", "variable", "lower", "upper", "format"})
    asked = IntegrateRequest.model_validate(fields)
    question = understand_integral(asked)
    variable, integrand = question.variable, question.integrand
    plain = to_plain(integrand, variable)
    found = await integrate(
        IntegrateRequest.model_validate({**plain, "timeout_s": max(watch.remaining_s, 1e-6)}),
        resources,
    )
    if found.answer is None:
        raise NoRuleError("no antiderivative was found")
    antiderivative = parse(
        found.answer.text, syntax="text", variables=(*integrand.symbols(), variable)
    )
    sections: list[Section] = []
    notes: list[str] = []
    manual = await _manual(integrand, variable, resources, watch)
    if manual:
        sections.append(Section(title="By rules", steps=[_shown(step) for step in manual]))
    sections.append(await _back(antiderivative, integrand, variable, resources, watch))
    if question.lower is not None and question.upper is not None:
        section, note = await _bounds(asked, question, antiderivative, resources, watch)
        if section is not None:
            sections.append(section)
        if note:
            notes.append(note)
    return StepsAnswer(sections=sections, notes=notes)


async def _manual(
    integrand: Tree, variable: str, resources: Resources, watch: Stopwatch
) -> list[ManualStep]:
    try:
        return await in_worker(resources, watch.remaining_s / 2, manual_steps, integrand, variable)
    except NoAnswer:
        return []  # rules are one of two ways to show it


def _slope(rule: str, depth: int, of: Tree, variable: str, result: Tree, status: str) -> ShownStep:
    """A step that says d/dx ``of`` = ``result``."""
    return ShownStep(
        rule=rule,
        depth=depth,
        latex=f"{slope_latex(of, variable)} = {to_latex(result)}",
        text=f"{slope_text(of, variable)} = {to_text(result)}",
        check=_check(status),
    )


def _shown(step: ManualStep) -> ShownStep:
    integral = call("integral", step.integrand, symbol(step.variable))
    let = [(f"{name} = " if name else "", tree) for name, tree in step.let]
    latex = ", \\quad ".join(f"{name}{to_latex(tree)}" for name, tree in let)
    text = ", ".join(f"{name}{to_text(tree)}" for name, tree in let)
    return ShownStep(
        rule=step.rule,
        depth=step.depth,
        latex=f"{latex}: \\quad " * bool(let) + f"{to_latex(integral)} = {to_latex(step.result)}",
        text=f"{text}: " * bool(let)
        + f"∫ {to_text(step.integrand)} d{step.variable} = {to_text(step.result)}",
        check=_check(step.check),
    )


async def _back(
    antiderivative: Tree, integrand: Tree, variable: str, resources: Resources, watch: Stopwatch
) -> Section:
    """The proof of the answer: differentiate it term by term and compare."""
    terms = [term if sign > 0 else negative(term) for sign, term in linear_terms(antiderivative)]
    back, whole = await in_worker(
        resources,
        watch.remaining_s,
        differentiate_back,
        terms[:MOST_TERMS] if len(terms) > 1 else [],
        integrand,
        variable,
        antiderivative,
    )
    steps = [
        _slope("Differentiate a term", 1, step.term, variable, step.slope, step.check)
        for step in back
    ]
    steps.append(
        _slope("Together they are the integrand", 0, antiderivative, variable, integrand, whole)
    )
    return Section(title="Differentiated back", steps=steps)


async def _bounds(
    asked: IntegrateRequest,
    question: Question,
    antiderivative: Tree,
    resources: Resources,
    watch: Stopwatch,
) -> tuple[Section | None, str | None]:
    """F(b) - F(a) beside the value, where it holds; else why it does not."""
    value = await integrate(asked, resources)
    if value.answer is None or question.lower is None or question.upper is None:
        return None, None
    infinite = any(
        node.head == "constant" and node.value == "oo"
        for bound in (question.lower, question.upper)
        for node in bound.preorder()
    )
    if infinite:
        return None, "At an infinite bound the antiderivative stands for its limit."
    upper, lower = (
        substitute(antiderivative, question.variable, bound)
        for bound in (question.upper, question.lower)
    )
    names = (*antiderivative.symbols(), *question.upper.symbols(), *question.lower.symbols())
    answer = parse(value.answer.text, syntax="text", variables=names)
    difference = call("sub", upper, lower)
    try:
        status = await in_worker(resources, watch.remaining_s, check_equal, difference, answer)
    except NoAnswer:
        status = "undecided"
    if status not in ("proved", "numeric"):
        return None, (
            "The values of this antiderivative at the bounds were not shown to give the answer: "
            "it may jump between them."
        )
    step = ShownStep(
        rule="Fundamental theorem",
        depth=0,
        latex=f"F(b) - F(a) = {to_latex(difference)} = {to_latex(answer)}",
        text=f"F(b) - F(a) = {to_text(difference)} = {to_text(answer)}",
        check=_check(status),
    )
    return Section(title="Between the bounds", steps=[step]), None


def substitute(tree: Tree, name: str, value: Tree) -> Tree:
    """``tree`` with ``value`` for the symbol ``name``."""
    return tree.map_leaves(
        lambda leaf: value if leaf.head == "symbol" and leaf.value == name else leaf
    )


def to_plain(integrand: Tree, variable: str) -> dict[str, str]:
    """The fields of a request for the antiderivative alone."""
    return {"expression": to_text(integrand), "variable": variable, "format": "text"}
