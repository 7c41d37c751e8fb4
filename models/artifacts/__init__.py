"""The shipped models: ONNX graphs with a manifest each. Reading them needs no torch.

``artifacts/<name>/`` holds ``manifest.json`` and, for each variant (a precision),
an encoder and a decoder graph; :mod:`models.export` writes them and says what the
graphs take and give.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from tokenizer import vocabulary

MANIFEST = "manifest.json"

#: What a model writes: one expression, or the ``<TERM>`` list of an ansatz.
Output = Literal["expression", "terms"]


class ArtifactError(RuntimeError):
    """An artifact that cannot be used, and why."""


@dataclass(frozen=True, slots=True)
class GraphFile:
    """A file of the artifact, by the SHA-256 of its bytes."""

    file: str
    bytes: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> GraphFile:
        """Describe the file at ``path``."""
        content = path.read_bytes()
        return cls(path.name, len(content), hashlib.sha256(content).hexdigest())


@dataclass(frozen=True, slots=True)
class Variant:
    """The two graphs in one precision, and what was measured with them.

    ``accuracy`` holds the number of ``questions``, the share of them whose answer was
    ``verified``, and ``cpu_ms``, CPU time of a search; nothing before
    ``calcert evaluate variants`` has run.
    """

    encoder: GraphFile
    decoder: GraphFile
    accuracy: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Limits:
    """Longest question and longest answer, in tokens; widest beam."""

    source_tokens: int
    output_tokens: int
    beam: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything known about one exported model.

    ``config`` is the network's ``ModelConfig``, ``training`` how it came about,
    ``vocabulary`` the digest of the tokens it was trained on, ``default`` the name
    of the variant to use on each kind of device, ``cpu`` and ``cuda``, unless told otherwise.
    """

    name: str
    version: str
    output: Output
    vocabulary: str
    opset: int
    config: Mapping[str, Any]
    training: Mapping[str, Any]
    limits: Limits
    default: Mapping[str, str]
    variants: Mapping[str, Variant]

    def write(self, folder: Path) -> None:
        """Write ``manifest.json`` so that a reader never sees half of it."""
        partial = folder / f".{MANIFEST}.partial"
        partial.write_text(json.dumps(asdict(self), indent=2) + "\n")
        partial.rename(folder / MANIFEST)


def vocabulary_digest() -> str:
    """SHA-256 of the tokens in order, with their arities."""
    tokens = "\n".join(
        f"{token} {arity}"
        for token, arity in zip(vocabulary.TOKENS, vocabulary.ARITIES, strict=True)
    )
    return hashlib.sha256(tokens.encode()).hexdigest()


def read(folder: Path) -> Manifest:
    """The manifest in ``folder``, its files checked.

    Raises :class:`ArtifactError` when it is missing or malformed, when a graph is
    missing or is not the one described, or when the vocabulary has changed since.
    """
    path = folder / MANIFEST
    try:
        manifest = _parse(json.loads(path.read_text()))
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise ArtifactError(f"{path} cannot be read: {error!r}") from error
    if manifest.vocabulary != vocabulary_digest():
        raise ArtifactError(
            f"{path}: the model was trained on another vocabulary; train and export it again"
        )
    for variant in manifest.variants.values():
        for graph in (variant.encoder, variant.decoder):
            _check(folder, graph)
    return manifest


def _check(folder: Path, graph: GraphFile) -> None:
    path = folder / graph.file
    if not path.is_file():
        raise ArtifactError(f"{path} is missing; export the model again")
    if GraphFile.of(path) != graph:
        raise ArtifactError(f"{path} is not the file the manifest describes; export it again")


def _parse(raw: dict[str, Any]) -> Manifest:
    variants = {
        name: Variant(
            GraphFile(**variant["encoder"]), GraphFile(**variant["decoder"]), variant["accuracy"]
        )
        for name, variant in raw["variants"].items()
    }
    manifest = Manifest(**{**raw, "limits": Limits(**raw["limits"]), "variants": variants})
    for device in ("cpu", "cuda"):
        if manifest.default[device] not in variants:
            raise ValueError(f"no variant {manifest.default[device]}")
    return manifest


def find(root: Path) -> dict[str, Path]:
    """Name -> folder of every encoder–decoder artifact under ``root``.

    Models of other shapes lie beside them, with manifests that have a ``task``.
    """
    return {
        path.parent.name: path.parent
        for path in sorted(root.glob(f"*/{MANIFEST}"))
        if '"task"' not in path.read_text()
    }
