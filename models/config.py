"""The size of a network: everything needed to build it again."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tokenizer import vocabulary
from tokenizer.codec import PATH_LEVELS


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Shape of an encoder–decoder; the same class serves every symbolic task.

    The decoder runs once per output token, so its depth is what a user waits
    for: deep encoder, shallow decoder. ``shared_keys``: all heads look at the
    same keys and values (multi-query attention; Shazeer, 2019, arXiv:1911.02150).
    ``tree_positions`` False replaces path codes by flat sinusoidal positions,
    ``references`` False takes the pointer head away; both exist for ablations.
    """

    vocabulary: int = vocabulary.SIZE
    width: int = 160
    heads: int = 5
    shared_keys: bool = False
    encoder_layers: int = 4
    decoder_layers: int = 3
    hidden: int = 640
    path_levels: int = PATH_LEVELS
    references: bool = True
    tree_positions: bool = True

    @property
    def head(self) -> int:
        """Width of a head."""
        return self.width // self.heads

    @property
    def key_heads(self) -> int:
        """Heads that keys and values have."""
        return 1 if self.shared_keys else self.heads

    def as_dict(self) -> dict[str, Any]:
        """Plain values for a manifest or a checkpoint."""
        return asdict(self)


#: The differentiation model: little to know and long answers, so a step must cost little.
DIFFERENTIATE = ModelConfig(shared_keys=True)

#: The integration model: many families to remember, so wider and deeper.
INTEGRATE = ModelConfig(width=224, heads=7, hidden=896, encoder_layers=5, decoder_layers=3)
