"""The production model: attention on mirrored points, and modes with a learned decay.

    python -m models.heat.cli train --model kernel

Two branches, each linear in the initial value by construction:

- *points*: u(x) = Σ_t softmax_t(score(|x - z_t|, τ) + log mass_t) · value_t over point
  tokens z_t and their mirror images. For score = -d²/4τ this is the heat kernel
  (Gaussian attention); outputs are convex combinations of ± the inputs, so the
  maximum principle holds whatever was learned.
- *modes*: u(x) = Σ_k c_k exp(-decay(ω_k, τ)) sin(ω_k x + phase_k) over mode tokens.
  For decay = ω²τ this is separation of variables.

Learned: the functions ``score`` and ``decay``, from pairs (u₀, u(τ)) alone. Each is a
power law in its two arguments, six numbers in all (``form="power"``), or a
multilayer perceptron on their logarithms (``form="network"``, an ablation). Which
branch answers a given τ is a threshold, chosen by measurement and not learned.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

#: For a distance or a frequency of zero, whose logarithm a power law needs.
_TINY = 1e-30


@dataclass(frozen=True, slots=True)
class KernelConfig:
    """``form`` of the two learned functions, and the width of the network form."""

    form: Literal["power", "network"] = "power"
    hidden: int = 32

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Response(nn.Module):
    """A learned positive function of two positive arguments, in logarithms.

    log f(a, b) = w₁ log a + w₂ log b + w₀, plus a perceptron in the network form.
    """

    def __init__(self, config: KernelConfig) -> None:
        super().__init__()
        self.line = nn.Linear(2, 1)
        # a broad start far from any law of diffusion
        nn.init.uniform_(self.line.weight, 0.2, 0.8)
        nn.init.uniform_(self.line.bias, -0.5, 0.5)
        self.network: nn.Module | None = None
        if config.form == "network":
            self.network = nn.Sequential(
                nn.Linear(2, config.hidden),
                nn.Tanh(),
                nn.Linear(config.hidden, config.hidden),
                nn.Tanh(),
                nn.Linear(config.hidden, 1),
            )

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        """f(a, b), shapes broadcast together."""
        log_a, log_b = torch.log(a + _TINY), torch.log(b)
        value = self.line.weight[0, 0] * log_a + self.line.weight[0, 1] * log_b + self.line.bias[0]
        if self.network is not None:
            zero = torch.zeros_like(value)
            pair = torch.stack([log_a / 8 + zero, log_b / 8 + zero], dim=-1)
            value = value + self.network(pair)[..., 0]
        return torch.exp(value)


class ModeBranch(nn.Module):
    """Mode tokens in, values out."""

    def __init__(self, config: KernelConfig) -> None:
        super().__init__()
        self.decay = Response(config)

    def forward(
        self, coefficients: Tensor, frequency: Tensor, phase: Tensor, tau: Tensor, x: Tensor
    ) -> Tensor:
        """``coefficients`` (R, C, K), ``frequency``, ``phase`` (R, K), ``tau`` (R, M),
        ``x`` (R, Q) -> (R, C, M, Q)."""
        factor = torch.exp(-self.decay(frequency[:, None, :], tau[:, :, None]))  # (R, M, K)
        waves = torch.sin(frequency[:, :, None] * x[:, None, :] + phase[:, :, None])  # (R, K, Q)
        left = coefficients[:, :, None, :] * factor[:, None, :, :]  # (R, C, M, K)
        return (left.flatten(1, 2) @ waves).reshape(*left.shape[:3], x.shape[1])


class PointBranch(nn.Module):
    """Point tokens in, values out."""

    def __init__(self, config: KernelConfig) -> None:
        super().__init__()
        self.score = Response(config)

    def forward(
        self, strength: Tensor, position: Tensor, mass: Tensor, tau: Tensor, x: Tensor
    ) -> Tensor:
        """``strength`` (R, C, T), ``position``, ``mass`` (R, T), ``tau`` (R, M), ``x`` (R, Q)
        -> (R, C, M, Q)."""
        distance = torch.abs(x[:, :, None] - position[:, None, :])  # (R, Q, T)
        score = -self.score(distance[:, None], tau[:, :, None, None])  # (R, M, Q, T)
        # the softmax, kept apart from the masses so that a point mass has no share in it
        weight = torch.exp(score - score.amax(dim=-1, keepdim=True)).flatten(1, 2)
        total = weight @ mass[:, :, None]  # (R, MQ, 1)
        mixed = strength @ weight.transpose(1, 2) / total.transpose(1, 2)  # (R, C, MQ)
        return mixed.reshape(*strength.shape[:2], tau.shape[1], x.shape[1])


class KernelModel(nn.Module):
    """Both branches; each is exported as a graph of its own."""

    def __init__(self, config: KernelConfig) -> None:
        super().__init__()
        self.config = config
        self.modes = ModeBranch(config)
        self.points = PointBranch(config)

    def learned(self) -> dict[str, float]:
        """The numbers of the power laws: f(a, b) = factor · a^power · τ^time."""
        laws = {"decay": self.modes.decay, "score": self.points.score}
        numbers = {}
        for name, law in laws.items():
            weight, bias = law.line.weight.detach(), law.line.bias.detach()
            numbers[f"{name}_factor"] = float(torch.exp(bias[0]))
            numbers[f"{name}_power"] = float(weight[0, 0])
            numbers[f"{name}_time"] = float(weight[0, 1])
        return numbers
