"""The shortest form that a search found, to train on: expert iteration's label."""

from __future__ import annotations

import time
from collections.abc import Sequence

from service.integration.complete import Completion, complete
from service.integration.slots import expand
from service.verification.timing import OutOfTime, time_limit
from tokenizer.ansatz import Term
from tokenizer.tree import Tree


def distil(
    integrand: Tree, variable: str, hypotheses: Sequence[Sequence[Term]], deadline_s: float
) -> list[Term] | None:
    """The terms of ``hypotheses``, one or all pooled, that an exact antiderivative needs.

    Fewest symbols first; None when there is no exact antiderivative in their span. The terms
    that come back are checked to suffice.
    """
    deadline = time.monotonic() + deadline_s
    try:
        with time_limit(deadline_s):
            pooled = [term for terms in hypotheses for term in terms]
            for hypothesis in (*hypotheses, pooled):
                found = _complete(integrand, variable, hypothesis, deadline)
                if found is not None:
                    cover = _cover(integrand, variable, hypotheses, found)
                    whole = _complete(integrand, variable, cover, deadline)
                    return cover if whole is not None else None
    except OutOfTime:
        pass
    return None


def _complete(
    integrand: Tree, variable: str, terms: Sequence[Term], deadline: float
) -> Completion | None:
    expanded = expand(terms, integrand, variable)
    found = complete(integrand, variable, expanded, deadline - time.monotonic())
    return found if found is not None and found.proved else None


def _cover(
    integrand: Tree, variable: str, hypotheses: Sequence[Sequence[Term]], found: Completion
) -> list[Term]:
    """Terms, slots among them, that stand for everything that ``found`` uses (greedily)."""
    offers: dict[Term, set[Tree]] = {}
    for term in dict.fromkeys(t for terms in hypotheses for t in terms):
        factors = {t.factor for t in expand([term], integrand, variable)}
        offers[term] = factors.intersection(found.used)
    missing = set(found.used)
    chosen: list[Term] = []
    while missing and offers:
        best = max(offers, key=lambda t: (len(offers[t] & missing), t.degree, -t.factor.size))
        if not offers[best] & missing:
            break
        missing -= offers.pop(best)
        chosen.append(best)
    return chosen
