"""What every answer must be."""

from __future__ import annotations

from typing import Any


def sound(answer: dict[str, Any]) -> bool:
    """Whether every answer in it is verified, or says that there is none."""
    if "items" in answer:
        return all(item["status"] == 200 and sound(item["result"]) for item in answer["items"])
    if answer["status"] == "unsolved":
        return answer["verification"] is None
    return answer["verification"]["status"] in {"proved", "numeric"}
