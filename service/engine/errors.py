"""Why the engine did not answer."""

from __future__ import annotations


class EngineError(Exception):
    """Base of all that :meth:`service.engine.Engine.generate` raises on purpose."""


class UnknownModel(EngineError):
    """No model of that name is loaded."""


class InputTooLong(EngineError):
    """The question has more tokens than the model takes."""


class QueueFull(EngineError):
    """As many items as may wait are waiting."""


class DeadlineExceeded(EngineError):
    """The deadline passed before the search was done."""

    # a pickle gives back what the base was given
    def __init__(self, message: str = "the deadline passed before the model was done") -> None:
        super().__init__(message)


class EngineStopped(EngineError):
    """The engine is not running."""


class EngineDied(EngineError):
    """The process that runs the models has ended."""


class DeviceUnavailable(RuntimeError):
    """The device that was asked for cannot be had, and what is missing."""
