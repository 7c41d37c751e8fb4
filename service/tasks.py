"""What can be asked, where, and about how much work it is."""

from __future__ import annotations

from typing import Final

DIFFERENTIATE: Final = "differentiate"
INTEGRATE: Final = "integrate"
HEAT: Final = "heat"

#: About the CPU time of one question, in seconds, on a core of a laptop: a first guess, which
#: those that this service has answered soon replace.
CPU_S: Final = {DIFFERENTIATE: 0.02, INTEGRATE: 0.05, HEAT: 0.03}

#: The task of an address, by how it begins.
BY_ADDRESS: Final = {
    "/differentiate": DIFFERENTIATE,
    "/integrate": INTEGRATE,
    "/steps": INTEGRATE,  # those of a derivative are not counted, but refused as soon
    "/pde/heat": HEAT,
}


def task_at(path: str) -> str:
    """The task of the questions that are sent to ``path``."""
    (task,) = (task for beginning, task in BY_ADDRESS.items() if path.startswith(beginning))
    return task


def is_batch(path: str) -> bool:
    """Whether many questions are sent to ``path`` in a request."""
    return path.endswith("/batch")
