"""Why a search failed: which step of the proof its hypotheses came to."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Literal

from service.integration.complete import complete, misfit
from service.integration.slots import expand
from service.verification.timing import OutOfTime, time_limit
from tokenizer.ansatz import Term
from tokenizer.tree import Tree

Step = Literal["wrong form", "completion failed", "not proved", "time"]


def failed_step(
    integrand: Tree, variable: str, hypotheses: Sequence[Sequence[Term]], deadline_s: float
) -> Step:
    """The last step that any of ``hypotheses``, none of which gave an answer, came to.

    *wrong form*: in numbers their terms, all together, do not span an antiderivative.
    *completion failed*: they do, but exact coefficients were not found. *not proved*: they
    were. *time*: it cannot be said in ``deadline_s`` seconds.
    """
    deadline = time.monotonic() + deadline_s
    try:
        with time_limit(deadline_s):
            expanded = [expand(terms, integrand, variable) for terms in hypotheses]
            pooled = [term for terms in expanded for term in terms]
            step: Step = "wrong form"
            for terms in [*expanded, pooled]:
                if misfit(integrand, variable, terms) == math.inf:
                    continue
                step = "completion failed"
                if complete(integrand, variable, terms, deadline - time.monotonic()):
                    return "not proved"
            return step if time.monotonic() < deadline else "time"
    except OutOfTime:
        return "time"
