"""Architectures, data generators, training, evaluation, export and the shipped artifacts."""

import os

# wheels of ONNX Runtime from Microsoft report to them unless told before they are imported
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
