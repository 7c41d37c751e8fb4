"""Zero test over the reals, one case for each choice of signs of the branch points."""

from __future__ import annotations

import sympy


def sign_test(lhs: sympy.Expr, rhs: sympy.Expr, *, deadline: float) -> bool:
    """Placeholder."""
    return False
