"""Terms for powers of sine and cosine, for the families of trigonometric problems."""

from __future__ import annotations

from models.integrate.writing import ONE, X, powers_of, product, raised
from tokenizer.ansatz import Term
from tokenizer.tree import Tree, call

#: Each function as powers of sine and cosine.
EXPONENTS = {
    "sin": (1, 0), "cos": (0, 1), "tan": (1, -1), "cot": (-1, 1), "sec": (0, -1), "csc": (-1, 0),
}  # fmt: skip


def sin_cos(m: int, n: int, u: Tree) -> list[Term]:
    """Terms for sin(u)**m * cos(u)**n, m and n of any sign."""
    sin, cos = call("sin", u), call("cos", u)
    sec_tan = call("log", call("add", call("sec", u), call("tan", u)))
    csc_cot = call("log", call("add", call("csc", u), call("cot", u)))
    if m >= 0 and n >= 0:
        if n % 2:
            return [Term(powers_of(sin, m + n))]
        if m % 2:
            return [Term(powers_of(cos, m + n))]
        return [Term(X), Term(product([powers_of(sin, m + n - 1), cos]))]
    if (m + n) % 2 == 0 and m + n <= 0 and not (m % 2 and m > 0) and not (n % 2 and n > 0):
        # a Laurent polynomial in tan
        tan, cot = call("tan", u), call("cot", u)
        k = -(m + n)
        terms = [Term(powers_of(tan, abs(m) + k))] if n < 0 else []
        if m < 0:
            terms.append(Term(powers_of(cot, abs(n) + k)))
        if m % 2:
            terms.append(Term(call("log", tan if m < 0 and n < 0 else cos if n < 0 else sin)))
        if k == 0:
            terms.append(Term(X))
        return terms
    if m % 2 and m > 0:
        return _laurent(cos, n, m, [Term(call("log", cos))])
    if n % 2 and n > 0:
        return _laurent(sin, m, n, [Term(call("log", sin))])
    if n < 0 <= m:
        return _quotient(sin, cos, m, -n, Term(sec_tan), call("tan", u))
    if m < 0 <= n:
        return _quotient(cos, sin, n, -m, Term(csc_cot), call("cot", u))
    # both negative
    if (m + n) % 2 == 0:
        terms = [Term(call("log", call("tan", u)))]
        other = [Term(powers_of(call("csc", u), -m - 1)), Term(powers_of(call("sec", u), -n - 1))]
        return terms + [t for t in other if t.factor != ONE]
    if n % 2:
        terms = [Term(sec_tan), Term(powers_of(call("csc", u), -m - 1))]
        ladder = product([call("tan", u), powers_of(call("sec", u), -n - 2)]) if n < -1 else ONE
    else:
        terms = [Term(csc_cot), Term(powers_of(call("sec", u), -n - 1))]
        ladder = product([call("cot", u), powers_of(call("csc", u), -m - 2)]) if m < -1 else ONE
    return [*terms, Term(ladder)] if ladder != ONE else terms


def _quotient(above: Tree, below: Tree, k: int, n: int, log: Term, ratio: Tree) -> list[Term]:
    """Terms for above**k / below**n; ``ratio`` is above/below, ``log`` what 1/below comes to."""
    if k % 2 or n % 2 == 0:
        return [Term(X), Term(powers_of(ratio, n)), Term(product([powers_of(above, k - 1), below]))]
    terms = [log]
    if n > 1:
        terms.append(Term(call("div", powers_of(above, k + n - 2), raised(below, n - 1))))
    if k:
        terms.append(Term(powers_of(above, max(k - 1, 1))))
    return terms


def _laurent(c: Tree, low: int, degree: int, logs: list[Term]) -> list[Term]:
    """∫ c**low * (1 - c**2)**((degree - 1)/2) dc."""
    terms: list[Term] = []
    if low < -1:
        terms.append(Term(call("div", powers_of(c, degree), raised(c, -low - 1))))
    if low + degree > -1:
        terms.append(Term(powers_of(c, max(low + degree, 1))))
    return terms + logs if low < 0 else terms
