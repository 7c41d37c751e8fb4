"""Path codes as rows of a table, so that a graph looks them up instead of taking bits apart.

A path code has two bits a level; a *digit* is two levels together. The vector of a path is
the sum of one row for each digit. Needs no torch: the service computes the rows.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tokenizer.codec import PATH_LEVELS
from tokenizer.vocabulary import SIZE

#: Digits of a path, and how many values each has.
DIGITS: Final = PATH_LEVELS // 2
_VALUES: Final = 16

Ints = npt.NDArray[np.int64]

_SHIFTS: Final = 4 * np.arange(DIGITS)
_FIRST: Final = _VALUES * np.arange(DIGITS)

#: Rows of the decoder's joined table: target words, a zero for references, parents, digits.
NOTHING: Final = SIZE
FIRST_PARENT: Final = SIZE + 1
FIRST_DIGIT: Final = FIRST_PARENT + SIZE


def rows(paths: Ints) -> Ints:
    """Path codes (…) -> rows of their digits (DIGITS, …) in :func:`path_table`."""
    each = (DIGITS,) + (1,) * paths.ndim
    return (paths >> _SHIFTS.reshape(each) & _VALUES - 1) + _FIRST.reshape(each)


def path_table(project: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """(C, 3 * levels), the weight of a ``PathEmbedding`` -> (DIGITS * 16, C)."""
    width = project.shape[0]
    levels = np.zeros((PATH_LEVELS, 4, width), np.float32)
    levels[:, 1:] = project.T.reshape(PATH_LEVELS, 3, width)
    low, high = levels[0::2], levels[1::2]
    return (high[:, :, None] + low[:, None, :]).reshape(-1, width)


def path_projection(table: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """The weight of a ``PathEmbedding`` from its :func:`path_table`."""
    width = table.shape[1]
    digits = table.reshape(DIGITS, 4, 4, width)
    levels = np.zeros((PATH_LEVELS, 4, width), np.float32)
    # where one level of a digit is empty, its row is the other level's vector
    levels[0::2], levels[1::2] = digits[:, 0, :], digits[:, :, 0]
    return np.ascontiguousarray(levels[:, 1:].reshape(-1, width).T)
