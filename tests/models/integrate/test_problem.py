"""Labels of integration problems."""

from __future__ import annotations

import pytest

from models.integrate.problem import Unlabelled, coarse, label
from tokenizer import vocabulary as v
from tokenizer.ansatz import Term
from tokenizer.codec import decode_terms, encode
from tokenizer.parse import parse


def test_label_round_trip() -> None:
    """A label decodes to the terms that it was made of, degrees rounded up."""
    source = encode(parse("(5-x)*sqrt(3+2*x)/(17+5*x+3*x**2)"))
    terms = [
        Term(parse("sqrt(3+2*x)"), 5),
        Term(parse("log(sqrt(3+2*x)/(17+5*x+3*x**2))")),
        Term(parse("atan(17*x)")),
    ]
    found = [Term(*pair) for pair in decode_terms(label(terms, source), source)]
    assert set(found) == {Term(terms[0].factor, 6), *terms[1:]}


def test_the_order_of_terms_does_not_matter() -> None:
    """The same terms in another order give the same label."""
    source = encode(parse("exp(x)*sin(x)+log(x)"))
    terms = [Term(parse(t)) for t in ("exp(x)*sin(x)", "exp(x)*cos(x)", "log(x)", "x")]
    assert label(terms, source) == label(terms[::-1], source)


def test_pieces_of_the_integrand_are_references() -> None:
    """A subtree of the integrand is one token, however large."""
    source = encode(parse("1/(17+5*x+3*x**2)**4"))
    assert len(label([Term(parse("(17+5*x+3*x**2)**4"))], source)) == 3


def test_a_number_that_is_not_in_the_integrand_cannot_be_spelled() -> None:
    """A label never names a large integer that the integrand does not hold."""
    with pytest.raises(Unlabelled):
        label([Term(parse("atan(23*x)"))], encode(parse("1/(1+x**2)")))


def test_coarse_degrees_never_fall() -> None:
    """Rounding a degree goes up, to a degree that has a token, as long as there is one."""
    assert all(d <= coarse(d) <= v.LARGEST_SLOT for d in range(v.LARGEST_SLOT + 1))
    assert coarse(40) == v.LARGEST_SLOT
