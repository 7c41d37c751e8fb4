"""The Calcert service: engine, verification, cache, HTTP application and command line."""

from importlib import metadata


def version() -> str:
    """The version of the installed distribution."""
    return metadata.version("calcert")
