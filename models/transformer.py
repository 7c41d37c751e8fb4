"""The encoder–decoder Transformer with tree positions and a pointer head.

    model = Transformer(ModelConfig())
    logits = model(source, source_paths, previous, parents, target_paths)

Attention is Vaswani et al. (2017, arXiv:1706.03762) in its pre-norm form.
Positions are paths in the tree (Shiv & Quirk, 2019); the pointer head is
Vinyals et al. (2015, arXiv:1506.03134). Shapes: B batch, S source tokens,
T target tokens, C width, H heads, D = C/H, G heads of keys and values (H, or 1 where
they are shared), V vocabulary, K path levels.

Attention is written out as matmul, softmax, matmul: on CPU, PyTorch's fused
kernel is slower for sequences this short, above all backwards.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from models.config import ModelConfig
from tokenizer.vocabulary import PAD

# not -inf: a row that is all padding must give numbers, not NaN
MASKED = -1e4


class PathEmbedding(nn.Module):
    """Path codes to vectors: one learned vector for each (level, argument)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.project = nn.Linear(3 * config.path_levels, config.width, bias=False)

    def forward(self, paths: Tensor) -> Tensor:
        """int64 path codes (B, N) -> (B, N, C)."""
        levels = torch.arange(self.config.path_levels, device=paths.device)
        slots = (paths.unsqueeze(-1) >> (2 * levels)) & 3  # (B, N, K)
        one_hot = slots.unsqueeze(-1) == torch.tensor([1, 2, 3], device=paths.device)
        result: Tensor = self.project(one_hot.flatten(-2).to(self.project.weight.dtype))
        return result


def flat_positions(length: int, width: int) -> Tensor:
    """Sinusoidal positions of Vaswani et al., section 3.5: (length, width)."""
    position = torch.arange(length).unsqueeze(1)
    rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
    table = torch.zeros(length, width)
    table[:, 0::2] = torch.sin(position * rate)
    table[:, 1::2] = torch.cos(position * rate)
    return table


class Attention(nn.Module):
    """Multi-head attention; keys and values may come from elsewhere."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.head = config.head
        self.query = nn.Linear(config.width, config.width)
        self.key_value = nn.Linear(config.width, 2 * config.key_heads * config.head)
        self.output = nn.Linear(config.width, config.width)
        self.scale = config.head**-0.5

    def split(self, x: Tensor) -> Tensor:
        """(B, N, H D) -> (B, H, N, D)."""
        return x.view(*x.shape[:-1], -1, self.head).transpose(1, 2)

    def keys_values(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of ``x``, each (B, G, N, D)."""
        keys, values = self.key_value(x).chunk(2, dim=-1)
        return self.split(keys), self.split(values)

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        """x (B, M, C), keys, values (B, G, N, D), additive mask (B|1, 1, M|1, N) -> (B, M, C)."""
        queries = self.split(self.query(x)) * self.scale  # (B, H, M, D)
        # heads that share keys are more rows of one product
        grouped = queries.reshape(*keys.shape[:2], -1, self.head)  # (B, G, H/G M, D)
        scores = (grouped @ keys.transpose(-1, -2)).view(*queries.shape[:3], -1) + mask
        weights = scores.softmax(-1).to(values.dtype)  # (B, H, M, N)
        mixed = (weights.view(*grouped.shape[:3], -1) @ values).view(queries.shape)
        result: Tensor = self.output(mixed.transpose(1, 2).flatten(-2))
        return result


def feed_forward(config: ModelConfig) -> nn.Sequential:
    """The position-wise network, (…, C) -> (…, C)."""
    return nn.Sequential(
        nn.Linear(config.width, config.hidden),
        nn.GELU(approximate="tanh"),
        nn.Linear(config.hidden, config.width),
    )


class EncoderLayer(nn.Module):
    """Self-attention and feed-forward, pre-norm."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(config.width)
        self.attention = Attention(config)
        self.norm2 = nn.LayerNorm(config.width)
        self.feed = feed_forward(config)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(B, S, C) -> (B, S, C)."""
        normed = self.norm1(x)
        x = x + self.attention(normed, *self.attention.keys_values(normed), mask)
        result: Tensor = x + self.feed(self.norm2(x))
        return result


class DecoderLayer(nn.Module):
    """Causal self-attention, cross-attention and feed-forward, pre-norm."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(config.width)
        self.attention = Attention(config)
        self.norm2 = nn.LayerNorm(config.width)
        self.cross = Attention(config)
        self.norm3 = nn.LayerNorm(config.width)
        self.feed = feed_forward(config)

    def forward(self, x: Tensor, causal: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """(B, T, C) with memory (B, S, C) -> (B, T, C)."""
        normed = self.norm1(x)
        x = x + self.attention(normed, *self.attention.keys_values(normed), causal)
        x = x + self.cross(self.norm2(x), *self.cross.keys_values(memory), mask)
        result: Tensor = x + self.feed(self.norm3(x))
        return result


class Transformer(nn.Module):
    """Source tree to logits over vocabulary and references."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.source_embedding = nn.Embedding(config.vocabulary, config.width)
        self.target_embedding = nn.Embedding(config.vocabulary, config.width)
        self.parent_embedding = nn.Embedding(config.vocabulary, config.width)
        self.source_path = PathEmbedding(config)
        self.target_path = PathEmbedding(config)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.encoder_norm = nn.LayerNorm(config.width)
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.decoder_norm = nn.LayerNorm(config.width)
        self.to_vocabulary = nn.Linear(config.width, config.vocabulary)
        self.pointer_query = nn.Linear(config.width, config.width)
        # what a reference looks like from outside: as a key to point at, as an input to read
        self.pointer_key = nn.Linear(config.width, config.width)
        self.pointer_value = nn.Linear(config.width, config.width)
        self.flat: Tensor
        self.register_buffer("flat", flat_positions(512, config.width), persistent=False)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02 if parameter.shape[0] < 1000 else 0.01)

    def positions(self, embed: PathEmbedding, paths: Tensor) -> Tensor:
        """(B, N) path codes -> (B, N, C) or (1, N, C)."""
        if self.config.tree_positions:
            result: Tensor = embed(paths)
            return result
        return self.flat[: paths.shape[1]].unsqueeze(0)

    def encode(self, source: Tensor, paths: Tensor) -> tuple[Tensor, Tensor]:
        """int64 tokens and path codes (B, S) -> memory (B, S, C), additive mask (B, 1, 1, S)."""
        mask = (source == PAD).to(self.to_vocabulary.weight.dtype)[:, None, None, :] * MASKED
        x: Tensor = self.source_embedding(source) + self.positions(self.source_path, paths)
        for layer in self.encoder:
            x = layer(x, mask)
        memory: Tensor = self.encoder_norm(x)
        return memory, mask

    def read(self, previous: Tensor, parents: Tensor, paths: Tensor, values: Tensor) -> Tensor:
        """What the decoder sees of its own output so far, (B, T, C).

        ``previous`` (B, T) holds the token before each place, references
        included; ``values`` (B, S, C) is what references look like.
        """
        x: Tensor = self.parent_embedding(parents) + self.positions(self.target_path, paths)
        position = (previous - self.config.vocabulary).clamp(min=0)
        if not self.config.references:
            x = x + self.target_embedding(previous)
            return x
        pointed = values.gather(1, position.unsqueeze(-1).expand(-1, -1, values.shape[-1]))
        is_reference = (previous >= self.config.vocabulary).unsqueeze(-1)
        word: Tensor = self.target_embedding(previous.clamp(max=self.config.vocabulary - 1))
        return x + torch.where(is_reference, pointed.to(word.dtype), word)

    def logits(self, x: Tensor, pointer_keys: Tensor, mask: Tensor) -> Tensor:
        """Decoder output (B, T, C), keys (B, S, C), mask (B, 1, 1, S) -> (B, T, V + S)."""
        words = self.to_vocabulary(x)
        if not self.config.references:
            result: Tensor = words
            return result
        query = self.pointer_query(x) * self.config.width**-0.5
        places = query @ pointer_keys.transpose(-1, -2) + mask.squeeze(1)
        return torch.cat([words, places.to(words.dtype)], dim=-1)

    def forward(
        self,
        source: Tensor,
        source_paths: Tensor,
        previous: Tensor,
        parents: Tensor,
        target_paths: Tensor,
    ) -> Tensor:
        """All int64: (B, S) twice, (B, T) three times -> logits (B, T, V + S)."""
        memory, mask = self.encode(source, source_paths)
        x = self.read(previous, parents, target_paths, self.pointer_value(memory))
        length = x.shape[1]
        causal = torch.full((length, length), MASKED, device=x.device, dtype=x.dtype).triu(1)
        for layer in self.decoder:
            x = layer(x, causal, memory, mask)
        return self.logits(self.decoder_norm(x), self.pointer_key(memory), mask)
