"""Hypotheses of the integration model, from its tokens to terms of the integrand asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from service.integration.forms import Form
from service.noanswer import NoAnswer
from service.resources import Resources
from service.solvers.generation import generate
from service.stopwatch import Stopwatch
from tokenizer.ansatz import Term
from tokenizer.codec import Malformed, decode_terms
from tokenizer.tree import call

MODEL = "integrate"

#: A term larger than this is not worth a verifier's time; references can make one huge.
LARGEST_TERM = 600


async def hypotheses(
    forms: Sequence[Form], beam: int, resources: Resources, watch: Stopwatch, give_up: float
) -> list[tuple[Term, ...]]:
    """Ansätze for the integrand that ``forms`` are forms of, the likeliest first.

    The forms share the model's batches. Raises :class:`NoAnswer` when the model can read
    none of them, and :class:`Problem` when too much is waiting.
    """
    answers = await asyncio.gather(
        *(_of_form(form, beam, resources, watch, give_up) for form in forms),
        return_exceptions=True,
    )
    found: dict[tuple[Term, ...], None] = {}
    failures = [answer for answer in answers if isinstance(answer, BaseException)]
    for failure in failures:
        if not isinstance(failure, NoAnswer) or len(failures) == len(answers):
            raise failure
    lists = [answer for answer in answers if not isinstance(answer, BaseException)]
    for rank in range(max(map(len, lists), default=0)):
        for one in lists:
            if rank < len(one):
                found[one[rank]] = None
    return list(found)


async def _of_form(
    form: Form, beam: int, resources: Resources, watch: Stopwatch, give_up: float
) -> list[tuple[Term, ...]]:
    source, generation = await generate(resources, watch, MODEL, form.tree, beam, give_up)
    found = []
    for hypothesis in generation.hypotheses:
        try:
            pairs = decode_terms(hypothesis.tokens, source)
        except Malformed:
            continue
        terms = [
            Term(form.in_x(tree), degree) for tree, degree in pairs if tree.size <= LARGEST_TERM
        ]
        terms += [
            Term(call("mul", sign, term.factor), term.degree)
            for sign in form.signs
            for term in terms
        ]
        if terms:
            found.append(tuple(terms))
    return found
