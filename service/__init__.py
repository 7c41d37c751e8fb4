"""The Calcert service: engine, verification, cache, HTTP application and command line."""

import os
from importlib import metadata

# wheels of ONNX Runtime from Microsoft report to them unless told before they are imported
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def version() -> str:
    """The version of the installed distribution."""
    return metadata.version("calcert")
