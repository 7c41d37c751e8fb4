"""Which questions are kept for testing: decided by a hash, so by nothing else.

A question is its token ids, names and large numbers already lifted. About one
in a hundred falls into the test fold, in every run and on every machine, and
no training generator may emit it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence


def digest(ids: Sequence[int]) -> str:
    """A short name for a question: 16 hexadecimal digits."""
    raw = b"".join(i.to_bytes(2, "little") for i in ids)
    return hashlib.blake2b(raw, digest_size=8).hexdigest()


def is_held_out(ids: Sequence[int], share: float = 0.01) -> bool:
    """Whether the question belongs to the test fold."""
    return int(digest(ids)[:8], 16) < share * 16**8
