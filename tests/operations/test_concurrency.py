"""How much work is taken on, on a clock that the test turns."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator
from copy import deepcopy
from itertools import chain

import pytest

from service.concurrency import CALM_S, LONGEST_WAIT_S, ConcurrencyLimit, Ticket

BURST_S = 0.5
OVERLOAD_S = 0.25
ASSUMED_S = {"short": 0.02, "long": 0.1}


class Clock:
    """Seconds, as they are told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def limit(clock: Clock, cores: int = 1, most: int = 64) -> ConcurrencyLimit:
    return ConcurrencyLimit(
        most,
        cores=cores,
        assumed_s=ASSUMED_S,
        burst_s=BURST_S,
        overload_s=OVERLOAD_S,
        clock=clock,
    )


def work(
    limit: ConcurrencyLimit, clock: Clock, seconds: float, count: int = 800, task: str = "short"
) -> None:
    """One question after the other."""
    for _ in range(count):
        ticket = limit.begin(task)
        clock.now += seconds
        limit.end(ticket)


def places(limit: ConcurrencyLimit, task: str = "short") -> int:
    """How many questions of ``task`` there is room for now."""
    copy = deepcopy(limit)
    while not copy.full(task):
        copy.begin(task)
    return copy.running - limit.running


def serve(
    limit: ConcurrencyLimit, clock: Clock, arrivals: Iterable[tuple[float, str, float]], cores: int
) -> list[tuple[str, float]]:
    """A service that answers in order of arrival; the task and latency of what it let in.

    Each arrival is a time, a task, and the seconds that a core takes for it.
    """
    waiting: deque[tuple[Ticket, float, float]] = deque()
    busy: list[tuple[float, Ticket, float]] = []
    done: list[tuple[str, float]] = []

    def run_until(now: float) -> None:
        while True:
            while waiting and len(busy) < cores:
                ticket, came, seconds = waiting.popleft()
                busy.append((clock.now + seconds, ticket, came))
            first = min(busy, key=lambda one: one[0], default=None)
            if first is None or first[0] > now:
                break
            busy.remove(first)
            clock.now, ticket, came = first
            limit.end(ticket)
            done.append((ticket.task, clock.now - came))
        clock.now = now

    for at, task, seconds in arrivals:
        run_until(at)
        if limit.full(task):
            limit.refuse(task)
        else:
            waiting.append((limit.begin(task), at, seconds))
    run_until(math.inf)
    return done


def test_no_more_are_let_in_than_can_be_done_soon(clock: Clock) -> None:
    """As many have a place as will be done in the time given, going by those of late."""
    one = limit(clock)
    work(one, clock, 10.0)
    assert one.value == places(one) == 2  # never fewer, or half of the work would stand still
    clock.now += 1000  # idle time says nothing about what can be done
    work(one, clock, 0.02)
    assert places(one) == pytest.approx(25, abs=1)
    assert one.value == pytest.approx(25, abs=1)
    work(one, clock, 0.001)
    assert one.value == places(one) == 64


def test_before_one_has_ended_a_guess_says_how_many_fit(clock: Clock) -> None:
    """From the start there is room for fewer long questions, and for more on more cores."""
    assert places(limit(clock), "short") == 25
    assert places(limit(clock), "long") == 5
    assert places(limit(clock, cores=3), "long") == 15


def test_one_question_alone_has_one_core_only(clock: Clock) -> None:
    """What a single client sees of a machine with four cores is a quarter of what it can do."""
    one = limit(clock, cores=4)
    work(one, clock, 0.1)
    assert places(one) == pytest.approx(BURST_S / 0.1 * 4, abs=1)


def test_questions_that_run_together_share_the_time(clock: Clock) -> None:
    """Four at a time that take four times as long are as much work as one after the other."""
    one = limit(clock)
    for _ in range(100):
        tickets = [one.begin("short") for _ in range(4)]
        clock.now += 0.08
        for ticket in tickets:
            one.end(ticket)
    assert places(one) == pytest.approx(BURST_S / 0.02, abs=1)


def test_a_change_of_questions_is_known_at_once(clock: Clock) -> None:
    """After any number of short ones, only as many long ones have a place as fit."""
    one = limit(clock)
    work(one, clock, 0.1, task="long")
    work(one, clock, 0.01, task="short")
    assert places(one, "long") == pytest.approx(5, abs=1)
    assert places(one, "short") == pytest.approx(50, abs=1)
    for _ in range(4):
        one.begin("long")
    assert places(one, "long") == pytest.approx(1, abs=1)
    assert places(one, "short") == pytest.approx(10, abs=1)


def test_full_is_when_as_many_run_as_may(clock: Clock) -> None:
    """What has ended makes room."""
    one = ConcurrencyLimit(2, clock=clock)
    one.begin("short")
    assert not one.full("short")
    ticket = one.begin("short")
    assert one.full("short")
    one.end(ticket)
    assert not one.full("short")
    assert one.running == 1


def test_a_standing_queue_is_kept_shorter_than_a_burst(clock: Clock) -> None:
    """From the first refusal until none was needed for a while, questions wait for less."""
    one = limit(clock)
    work(one, clock, 0.0125)
    assert places(one) == pytest.approx(40, abs=1)
    one.refuse("short")
    assert one.overloaded
    assert places(one) == pytest.approx(20, abs=1)
    clock.now += 0.9 * CALM_S
    one.refuse("short")
    clock.now += 0.9 * CALM_S
    assert places(one) == pytest.approx(20, abs=1)
    clock.now += 0.2 * CALM_S
    assert not one.overloaded
    assert places(one) == pytest.approx(40, abs=1)


def every(
    seconds: float, task: str, takes: float, start: float, end: float
) -> Iterator[tuple[float, str, float]]:
    """Questions at equal times, for :func:`serve`."""
    for k in range(int((end - start) / seconds)):
        yield start + k * seconds, task, takes


@pytest.mark.parametrize("cores", [1, 2, 8])
def test_five_times_too_much_keeps_what_is_let_in_soon_done(clock: Clock, cores: int) -> None:
    """From the first second on nothing waits for longer than a burst may, and no core is idle."""
    takes = 0.05
    one = limit(clock, cores=cores, most=256)
    asked = every(takes / cores / 5, "long", takes, 0.0, 60.0)
    latencies = [latency for _, latency in serve(one, clock, asked, cores)]
    assert max(latencies) <= BURST_S + takes
    late = [latency for latency in latencies if latency > OVERLOAD_S + takes]
    assert len(late) < 0.01 * len(latencies)
    assert len(latencies) * takes / cores >= 0.99 * 60.0


def test_five_times_too_much_of_something_else(clock: Clock) -> None:
    """Long questions after short ones, both too many: the first long ones do not pile up."""
    one = limit(clock, cores=2, most=256)
    work(one, clock, 0.1, task="long")
    start = clock.now
    short = every(0.001, "short", 0.01, start, start + 20.0)
    long = every(0.01, "long", 0.1, start + 20.0, start + 40.0)
    done = serve(one, clock, chain(short, long), 2)
    assert max(latency for task, latency in done if task == "long") <= OVERLOAD_S + 0.2
    assert max(latency for task, latency in done if task == "short") <= 1.1 * BURST_S


def test_refused_clients_are_told_when_what_was_refused_can_be_done(clock: Clock) -> None:
    """The more were refused lately the longer, spread by half, and never for long."""
    one = limit(clock)
    assert one.refuse("short") == 1  # nothing is known yet
    work(one, clock, 0.01)
    clock.now += 60
    assert one.refuse("short") == 1
    for _ in range(100):  # four hundred a second, where a hundred can be done
        clock.now += 0.01
        waits = [one.refuse("short") for _ in range(4)]
    assert all(1 <= wait <= 6 for wait in waits)
    several = {one.refuse("short") for _ in range(100)}
    assert len(several) > 1
    for _ in range(100_000):
        longest = one.refuse("short")
    assert longest == LONGEST_WAIT_S


def test_those_who_can_wait_leave_room_for_those_who_cannot(clock: Clock) -> None:
    """Questions of a batch begin within the time of an overload, others within that of a burst."""
    busy = limit(clock)
    begun = 0
    while not busy.full("short", waits=True):
        busy.begin("short")
        begun += 1
    assert begun == pytest.approx(OVERLOAD_S / ASSUMED_S["short"], abs=1)
    assert places(busy) > begun / 2


def test_batches_are_let_in_while_those_before_are_soon_done(clock: Clock) -> None:
    """An idle service takes a batch of any size, and none behind it until most of it is done."""
    waiting = ConcurrencyLimit(64, assumed_s=ASSUMED_S, backlog_s=5.0, clock=clock)
    assert not waiting.backlogged
    waiting.expect("long", 256)
    assert waiting.backlogged
    waiting.expect("long", -206)
    assert not waiting.backlogged
    waiting.expect("short", 10)
    assert waiting.backlogged
