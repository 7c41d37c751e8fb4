"""The two Transformers that the kernel model is compared with, on a fixed grid.

``plain`` is a standard pre-norm encoder with learned positions. ``article`` is the
source article's physics-aware design: positions as sines and cosines of x, attention
scores with a smoothness term that favours near points (one learned strength a head),
and a physics loss (in ``train_grid``). Both read u₀ on the grid and log τ, and give
u(τ) on the same grid, homogeneous Dirichlet ends.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

#: Half the sine/cosine position features: frequencies π, 2π, …
FREQUENCIES = 16


@dataclass(frozen=True, slots=True)
class GridConfig:
    """``points`` of the grid, ends included; ``width`` and ``layers`` of the encoder."""

    design: Literal["plain", "article"] = "plain"
    points: int = 33
    width: int = 48
    layers: int = 4
    heads: int = 4

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


#: Sizes by their number of parameters, rounded.
SIZES: dict[str, dict[str, int]] = {
    "0.1M": {"width": 48, "layers": 4, "heads": 4},
    "1M": {"width": 128, "layers": 5, "heads": 8},
    "5M": {"width": 256, "layers": 6, "heads": 8},
}


class Attention(nn.Module):
    """Multi-head self-attention; ``smooth`` adds -γ_h (x_i - x_j)² to the scores."""

    def __init__(self, config: GridConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.mix = nn.Linear(config.width, 3 * config.width)
        self.out = nn.Linear(config.width, config.width)
        self.smooth: nn.Parameter | None = None
        self.squared: Tensor
        if config.design == "article":
            self.smooth = nn.Parameter(torch.linspace(-2.0, 4.0, config.heads))
            x = torch.linspace(0, 1, config.points)
            self.register_buffer("squared", (x[:, None] - x).square())

    def forward(self, h: Tensor) -> Tensor:
        batch, points, width = h.shape
        q, k, v = (
            part.view(batch, points, self.heads, -1).transpose(1, 2)  # (B, H, n, w)
            for part in self.mix(h).chunk(3, dim=-1)
        )
        score = q @ k.transpose(-2, -1) / math.sqrt(width / self.heads)
        if self.smooth is not None:
            score = score - functional.softplus(self.smooth)[:, None, None] * self.squared
        mixed = torch.softmax(score, dim=-1) @ v
        out: Tensor = self.out(mixed.transpose(1, 2).reshape(batch, points, width))
        return out


class Block(nn.Module):
    """Attention, then a perceptron, each on normalised input and added."""

    def __init__(self, config: GridConfig) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.norm = nn.ModuleList([nn.LayerNorm(config.width) for _ in range(2)])
        self.perceptron = nn.Sequential(
            nn.Linear(config.width, 4 * config.width),
            nn.GELU(),
            nn.Linear(4 * config.width, config.width),
        )

    def forward(self, h: Tensor) -> Tensor:
        h = h + self.attention(self.norm[0](h))
        out: Tensor = h + self.perceptron(self.norm[1](h))
        return out


class GridModel(nn.Module):
    """u₀ (B, n) and τ (B,) -> u(τ) (B, n)."""

    def __init__(self, config: GridConfig) -> None:
        super().__init__()
        self.config = config
        x = torch.linspace(0, 1, config.points)
        if config.design == "article":
            angle = math.pi * torch.arange(1, FREQUENCIES + 1) * x[:, None]
            self.register_buffer("waves", torch.cat([angle.sin(), angle.cos()], dim=-1))
            self.position: nn.Module = nn.Linear(2 * FREQUENCIES, config.width)
        else:
            self.register_buffer("waves", torch.arange(config.points))
            self.position = nn.Embedding(config.points, config.width)
        self.read = nn.Linear(2, config.width)
        self.blocks = nn.Sequential(*(Block(config) for _ in range(config.layers)))
        self.norm = nn.LayerNorm(config.width)
        self.write = nn.Linear(config.width, 1)

    def forward(self, u0: Tensor, tau: Tensor) -> Tensor:
        return self.decode(self.blocks(self.encode(u0, tau)))

    def encode(self, u0: Tensor, tau: Tensor) -> Tensor:
        """What the blocks read, (B, n, width)."""
        clock = (torch.log10(tau) + 3)[:, None].expand_as(u0)
        h: Tensor = self.read(torch.stack([u0, clock], dim=-1)) + self.position(self.waves)
        return h

    def decode(self, h: Tensor) -> Tensor:
        """u(τ) from what the blocks wrote."""
        out: Tensor = self.write(self.norm(h))[..., 0]
        return out
