"""Batched beam search with the shipped models over ONNX Runtime."""

from service.engine.batch import Generation
from service.engine.engine import Engine
from service.engine.errors import (
    DeadlineExceeded,
    DeviceUnavailable,
    EngineDied,
    EngineError,
    EngineStopped,
    InputTooLong,
    QueueFull,
    UnknownModel,
)
from service.engine.search import Hypothesis
from service.engine.searches import ModelInfo

__all__ = [
    "DeadlineExceeded",
    "DeviceUnavailable",
    "Engine",
    "EngineDied",
    "EngineError",
    "EngineStopped",
    "Generation",
    "Hypothesis",
    "InputTooLong",
    "ModelInfo",
    "QueueFull",
    "UnknownModel",
]
