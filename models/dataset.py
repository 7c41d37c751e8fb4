"""Token sequences on disk and batches of them in memory.

A shard is one ``.npz`` of flat arrays with offsets, written by a generator and
read whole. Batches hold sequences of like length and at most ``budget`` tokens,
padding counted.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tokenizer import vocabulary as v
from tokenizer.codec import Encoded, slots

Ints = npt.NDArray[np.int64]


class Example(NamedTuple):
    """One question and its label, with where each label token hangs."""

    source: Sequence[int]
    source_paths: Sequence[int]
    target: Sequence[int]
    parents: Sequence[int]
    target_paths: Sequence[int]


def example(source: Encoded, target: Sequence[int]) -> Example:
    """An example from an encoded question and label tokens; raises Malformed for a bad label."""
    places = list(slots(target))
    return Example(
        source.ids, source.paths, target, [parent for parent, _ in places], [p for _, p in places]
    )


class Batch(NamedTuple):
    """Padded int64 arrays: source (B, S), source_paths (B, S), the rest (B, T)."""

    source: Ints
    source_paths: Ints
    previous: Ints
    parents: Ints
    target_paths: Ints
    target: Ints


@dataclass(slots=True)
class Shard:
    """Many examples in flat arrays."""

    source: npt.NDArray[np.uint16]
    source_paths: Ints
    source_offsets: Ints
    target: npt.NDArray[np.uint16]
    parents: npt.NDArray[np.uint16]
    target_paths: Ints
    target_offsets: Ints

    @classmethod
    def of(cls, examples: Iterable[Example]) -> Shard:
        """Pack examples."""
        columns: list[list[int]] = [[], [], [], [], []]
        source_offsets, target_offsets = [0], [0]
        for item in examples:
            for column, values in zip(columns, item, strict=True):
                column.extend(values)
            source_offsets.append(len(columns[0]))
            target_offsets.append(len(columns[2]))
        return cls(
            np.array(columns[0], np.uint16),
            np.array(columns[1], np.int64),
            np.array(source_offsets, np.int64),
            np.array(columns[2], np.uint16),
            np.array(columns[3], np.uint16),
            np.array(columns[4], np.int64),
            np.array(target_offsets, np.int64),
        )

    @classmethod
    def load(cls, path: Path) -> Shard:
        """Read one shard."""
        with np.load(path) as arrays:
            return cls(*(arrays[name] for name in cls.__slots__))

    def save(self, path: Path) -> None:
        """Write the shard so that a reader never sees half of it."""
        partial = path.with_name(f".{path.name}.partial.npz")
        np.savez(partial, **{name: getattr(self, name) for name in self.__slots__})
        partial.rename(path)

    def __len__(self) -> int:
        return len(self.source_offsets) - 1

    def lengths(self) -> tuple[Ints, Ints]:
        """Source and target lengths, each (N,)."""
        return np.diff(self.source_offsets), np.diff(self.target_offsets)

    def batch(self, rows: Ints) -> Batch:
        """The given rows, padded."""
        source_lengths, target_lengths = self.lengths()
        width, length = int(source_lengths[rows].max()), int(target_lengths[rows].max())
        source = np.full((len(rows), width), v.PAD, np.int64)
        source_paths = np.zeros((len(rows), width), np.int64)
        target, parents, target_paths = (np.zeros((len(rows), length), np.int64) for _ in range(3))
        for i, row in enumerate(rows):
            a, b = self.source_offsets[row], self.source_offsets[row + 1]
            source[i, : b - a] = self.source[a:b]
            source_paths[i, : b - a] = self.source_paths[a:b]
            a, b = self.target_offsets[row], self.target_offsets[row + 1]
            target[i, : b - a] = self.target[a:b]
            parents[i, : b - a] = self.parents[a:b]
            target_paths[i, : b - a] = self.target_paths[a:b]
        previous = np.concatenate([np.full((len(rows), 1), v.START), target[:, :-1]], axis=1)
        return Batch(source, source_paths, previous, parents, target_paths, target)


def batches(
    shard: Shard, rng: np.random.Generator, budget: int, longest_pair: int = 1 << 30
) -> Iterator[Batch]:
    """Examples of at most ``longest_pair`` tokens once each, like lengths together."""
    source_lengths, target_lengths = shard.lengths()
    lengths = source_lengths + target_lengths
    # a little noise, so that the same examples do not always ride together
    order = np.argsort(lengths + rng.uniform(0, 4, len(shard)))
    order = order[lengths[order] <= longest_pair]
    groups: list[Ints] = []
    start, widest, longest = 0, 0, 0
    for i, row in enumerate(order):
        widest = max(widest, int(source_lengths[row]))
        longest = max(longest, int(target_lengths[row]))
        if i > start and (widest + longest) * (i + 1 - start) > budget:
            groups.append(order[start:i])
            start, widest, longest = i, int(source_lengths[row]), int(target_lengths[row])
    if start < len(order):
        groups.append(order[start:])
    for index in rng.permutation(len(groups)):
        yield shard.batch(groups[index])


def stream(
    folders: Sequence[tuple[Path, float]], seed: int, budget: int, longest_pair: Callable[[], int]
) -> Iterator[Batch]:
    """Batches without end from weighted folders of shards, collated on a thread of their own.

    Folders are looked into again for each shard, so a generator may still be
    writing; ``longest_pair`` is asked again, too, so a curriculum can move on.
    """
    ready: queue.Queue[Batch] = queue.Queue(maxsize=16)

    def produce() -> None:
        rng = np.random.default_rng(seed)
        weights = np.array([weight for _, weight in folders])
        while True:
            folder = folders[rng.choice(len(folders), p=weights / weights.sum())][0]
            paths = sorted(folder.glob("[!.]*.npz"))
            shard = Shard.load(paths[rng.integers(len(paths))])
            for item in batches(shard, rng, budget, longest_pair()):
                ready.put(item)

    threading.Thread(target=produce, daemon=True).start()
    while True:
        yield ready.get()
