"""Batched beam search with the shipped models over ONNX Runtime."""

from service.engine.batch import Generation
from service.engine.engine import Engine, ModelInfo
from service.engine.errors import (
    DeadlineExceeded,
    DeviceUnavailable,
    EngineError,
    EngineStopped,
    InputTooLong,
    QueueFull,
    UnknownModel,
)
from service.engine.search import Hypothesis

__all__ = [
    "DeadlineExceeded",
    "DeviceUnavailable",
    "Engine",
    "EngineError",
    "EngineStopped",
    "Generation",
    "Hypothesis",
    "InputTooLong",
    "ModelInfo",
    "QueueFull",
    "UnknownModel",
]
