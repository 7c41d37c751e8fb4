"""Imported once by the fork server: what integration pays for only once is paid here."""

from __future__ import annotations

import sympy

from service.integration.definite import solve_definite
from service.integration.search import solve_by_rules
from tokenizer.tree import call, integer, symbol


def warm_up() -> None:
    """Run each part that a first request would otherwise wait for."""
    x = symbol("x")
    # simplify imports the physics of SymPy on its first call
    sympy.simplify(sympy.sin(sympy.Symbol("x", real=True)) ** 2)
    for integrand in (
        call("div", integer(1), call("add", integer(2), call("cos", x))),
        call("mul", x, call("exp", x)),
        call("sqrt", call("add", integer(1), call("pow", x, integer(2)))),
    ):
        found = solve_by_rules(integrand, "x", True, 30.0)
        if found is not None:
            args = (integer(0), integer(1), found.tree, True, False, 30.0)
            solve_definite(integrand, "x", *args)


warm_up()
