"""The Calcert service: engine, verification, cache, HTTP application and command line."""

from importlib import metadata

import models  # noqa: F401 - it turns off what ONNX Runtime would report


def version() -> str:
    """The version of the installed distribution."""
    return metadata.version("calcert")
