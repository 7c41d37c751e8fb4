"""How many questions are let in, on a clock that the test turns."""

from __future__ import annotations

import pytest

from service.concurrency import BELIEVED, CALM_S, LONGEST_WAIT_S, ConcurrencyLimit


class Clock:
    """Seconds, as they are told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def limit(clock: Clock) -> ConcurrencyLimit:
    return ConcurrencyLimit(64, least=2, burst_s=2.0, overload_s=0.25, clock=clock)


def work(limit: ConcurrencyLimit, clock: Clock, seconds: float, count: int) -> None:
    """One question after the other."""
    for _ in range(count):
        limit.begin()
        clock.now += seconds
        limit.end()


def test_no_more_are_let_in_than_can_be_done_soon(clock: Clock) -> None:
    """The limit falls to what was finished lately in the time given, and rises again."""
    one = limit(clock)
    assert one.value == 64
    work(one, clock, 10.0, BELIEVED - 1)
    assert one.value == 64  # the first few say little
    work(one, clock, 10.0, BELIEVED)
    assert one.value == 2
    clock.now += 1000  # idle time says nothing about what can be done
    work(one, clock, 0.1, 400)
    assert one.value == pytest.approx(20, abs=1)
    work(one, clock, 0.001, 400)
    assert one.value == 64


def test_full_is_when_as_many_run_as_may(clock: Clock) -> None:
    """What has ended makes room."""
    one = ConcurrencyLimit(2, clock=clock)
    one.begin()
    assert not one.full
    one.begin()
    assert one.full
    one.end()
    assert not one.full
    assert one.running == 1


def test_a_standing_queue_is_kept_shorter_than_a_burst(clock: Clock) -> None:
    """From the first refusal until none was needed for a while, questions wait for less."""
    one = limit(clock)
    work(one, clock, 0.05, 400)
    assert one.value == pytest.approx(40, abs=1)
    one.refuse()
    assert one.overloaded
    assert one.value == pytest.approx(5, abs=1)
    clock.now += 0.9 * CALM_S
    one.refuse()
    clock.now += 0.9 * CALM_S
    assert one.value == pytest.approx(5, abs=1)
    clock.now += 0.2 * CALM_S
    assert not one.overloaded
    assert one.value == pytest.approx(40, abs=1)


def test_refused_clients_are_told_when_what_was_refused_can_be_done(clock: Clock) -> None:
    """The more were refused lately the longer, spread by half, and never for long."""
    one = limit(clock)
    assert one.refuse() == 1  # nothing is known yet
    work(one, clock, 0.01, 400)
    clock.now += 60
    assert one.refuse() == 1
    for _ in range(100):  # four hundred a second, where a hundred can be done
        clock.now += 0.01
        waits = [one.refuse() for _ in range(4)]
    assert all(1 <= wait <= 5 for wait in waits)
    several = {one.refuse() for _ in range(100)}
    assert len(several) > 1
    for _ in range(100_000):
        longest = one.refuse()
    assert longest == LONGEST_WAIT_S
