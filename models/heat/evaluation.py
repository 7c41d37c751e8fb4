"""Measure every heat model on every family, and take the kernel model apart.

    calcert evaluate heat

Test samples have their own seeds; resolutions 17 and 1025 are never trained on.
The kernel model is run as the exported graphs, in both precisions.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from models.heat.artifact import HeatManifest, Precision, read
from models.heat.boundary import Array, Boundary, Modes
from models.heat.families import FAMILIES, truth
from models.heat.metrics import Errors, measure, summary
from models.heat.panels import PiecewisePolynomial, from_nodes, from_samples, smooth_nodes
from models.heat.predictor import KernelPredictor, prepare
from models.heat.rows import Branch, Graph, in_runs
from models.heat.tokens import ModeTokens, PointTokens, encode_modes, encode_points, mirror

#: Resolutions tested: two that no model trained on, and log-uniform between them.
UNSEEN = (17, 1025)

#: Told after each batch, with how many there are.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Setting:
    """One batch: a family, a boundary kind, a resolution and a τ; u₀ (B, n) on the grid x."""

    family: str
    boundary: Boundary
    tau: float
    x: Array
    u0: Array

    def facts(self) -> dict[str, Any]:
        return {"boundary": self.boundary.name, "tau": self.tau, "points": len(self.x)}


def settings(family: str, samples: int, *, batch: int = 10, seed: int = 2026) -> Iterator[Setting]:
    """Batches of a family over boundary kinds, τ from 1e-5 to 1 and n from 17 to 1025."""
    rng = np.random.default_rng([seed, list(FAMILIES).index(family)])
    kinds = list(Boundary)
    for number in range(math.ceil(samples / batch)):
        points = UNSEEN[number // 3 % 2] if number % 3 == 0 else _between(rng, *UNSEEN)
        x = np.linspace(0, 1, points)
        tau = math.exp(rng.uniform(math.log(1e-5), 0))
        u0 = np.stack([FAMILIES[family](rng, x) for _ in range(batch)])
        yield Setting(family, kinds[number % len(kinds)], tau, x, u0)


def _between(rng: np.random.Generator, low: int, high: int) -> int:
    return round(math.exp(rng.uniform(math.log(low), math.log(high))))


#: From a setting to predictions (B, n).
Predict = Callable[[Setting], Array]


def load(folder: Path, precision: Precision) -> tuple[HeatManifest, KernelPredictor]:
    """The exported graphs on one CPU thread."""
    import onnxruntime  # noqa: PLC0415 - the train extra does not bring a runtime

    manifest = read(folder)
    kind = np.float64 if precision == "float64" else np.float32

    def graph(branch: Branch) -> Graph:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(
            manifest.graphs[f"{branch}.{precision}"], options, providers=["CPUExecutionProvider"]
        )

        def run(feed: Any) -> Array:
            inputs = {name: np.ascontiguousarray(array, kind) for name, array in feed.items()}
            return np.asarray(session.run(None, inputs)[0], np.float64)

        return in_runs(run, branch)

    return manifest, KernelPredictor(graph("modes"), graph("points"))


@dataclass(frozen=True, slots=True)
class Kernel:
    """The kernel model and which of its built-in parts are there."""

    predictor: KernelPredictor
    threshold: float
    images: bool = True
    quadrature: bool = True
    projection: bool = True
    softmax: bool = True
    eigenmodes: bool = True

    def __call__(self, setting: Setting) -> Array:
        tau = np.array([setting.tau])
        if setting.tau < self.threshold:
            tokens = self._points(setting)
            values = self.predictor.run_points(tokens, tau, setting.x)[:, 0]
            if self.softmax:
                return values
            return values * self._total(tokens, tau, setting.x)
        return self.predictor.run_modes(self._modes(setting), tau, setting.x)[:, 0]

    def _total(self, tokens: PointTokens, tau: Array, x: Array) -> Array:
        """What the softmax divides by, in units of the greatest it can be here."""
        score = np.square((x[:, None] - tokens.position) / np.sqrt(4 * tau))
        total: Array = np.exp(-score) @ tokens.mass
        return np.asarray(total / total.max())

    def _points(self, setting: Setting) -> PointTokens:
        x, u0 = setting.x, setting.u0
        if not self.quadrature:
            mass = np.full(len(x), 1 / (len(x) - 1))
            mass[[0, -1]] /= 2
            tokens = PointTokens(u0 * mass, x, mass)
            return tokens if not self.images else mirror(tokens, setting.boundary, setting.tau)
        tokens = encode_points(u0, x, setting.boundary, setting.tau)
        if self.images:
            return tokens
        inside = (tokens.position >= 0) & (tokens.position <= 1)
        return PointTokens(tokens.strength[:, inside], tokens.position[inside], tokens.mass[inside])

    def _modes(self, setting: Setting) -> ModeTokens:
        kind = setting.boundary if self.eigenmodes else Boundary.DIRICHLET
        exact = encode_modes(setting.u0, setting.x, kind, setting.tau)
        if self.projection:
            return exact
        # the samples' own trigonometric sum, as a discrete sine transform has it
        modes = setting.boundary.modes(min(len(exact.frequency), len(setting.x) - 1))
        return ModeTokens(_trapezoid(setting, modes), modes.frequency, modes.phase)


def _trapezoid(setting: Setting, modes: Modes) -> Array:
    weight = np.full(len(setting.x), 1 / (len(setting.x) - 1))
    weight[[0, -1]] /= 2
    return np.asarray(((setting.u0 * weight) @ modes.evaluate(setting.x).T) * modes.norm)


def otherwise_learned(folder: Path, exact: KernelPredictor) -> dict[str, KernelPredictor]:
    """Branches with other functions than the trained power laws, in PyTorch.

    Perceptrons in their place, where ``folder`` has them trained, and the random start.
    """
    import torch  # noqa: PLC0415 - for these variants only

    from models.heat.kernel import KernelConfig, KernelModel  # noqa: PLC0415 - as above

    torch.manual_seed(0)
    start = KernelModel(KernelConfig()).double()
    found = {
        "nothing learned: the random start": KernelPredictor(
            _in_torch(start.modes, "modes"), _in_torch(start.points, "points")
        )
    }
    network = KernelModel(KernelConfig(form="network")).double()
    if (folder / "modes.pt").exists():
        network.modes.load_state_dict(torch.load(folder / "modes.pt", weights_only=True)["branch"])
        found["no power law: the decay by a perceptron"] = KernelPredictor(
            _in_torch(network.modes, "modes"), exact.points
        )
    if (folder / "points.pt").exists():
        state = torch.load(folder / "points.pt", weights_only=True)["branch"]
        network.points.load_state_dict(state)
        found["no power law: the score by a perceptron"] = KernelPredictor(
            exact.modes, _in_torch(network.points, "points")
        )
    return found


def _in_torch(branch: Any, name: Branch) -> Graph:
    import torch  # noqa: PLC0415 - as above

    @torch.no_grad()
    def run(feed: Any) -> Array:
        inputs = {key: torch.from_numpy(array) for key, array in feed.items()}
        return np.asarray(branch(**inputs).numpy())

    return in_runs(run, name)


def without(kernel: Kernel, others: dict[str, KernelPredictor]) -> dict[str, Kernel]:
    """The kernel model with one built-in part taken away at a time."""
    variants = {
        "complete": kernel,
        "no mirror images": replace(kernel, images=False),
        "no softmax: one divisor for all places": replace(kernel, softmax=False),
        "no eigenmodes: sines whatever the boundary": replace(kernel, eigenmodes=False),
        "no quadrature points: attention on the samples": replace(kernel, quadrature=False),
        "no exact projection: transform of the samples": replace(kernel, projection=False),
        "no point branch: modes at every time": replace(kernel, threshold=0.0),
        "no mode branch: points at every time": replace(kernel, threshold=math.inf),
    }
    for name, predictor in others.items():
        variants[name] = replace(kernel, predictor=predictor)
    return variants


def semigroup(kernel: Kernel, setting: Setting) -> float:
    """max |S(τ/2)S(τ/2)u₀ - S(τ)u₀| / max |u₀| of the first sample, by the model alone."""
    panels = from_samples(setting.x, setting.u0[0], "piecewise_linear")
    half = np.array([setting.tau / 2])
    nodes = smooth_nodes(float(half[0]))

    def run(initial: PiecewisePolynomial, tau: Array, x: Array) -> Array:
        prepared = prepare(initial, setting.boundary, tau, kernel.threshold)
        values: Array = kernel.predictor.predict(prepared, x)[0]
        return values

    middle = run(panels, half, nodes.ravel()).reshape(nodes.shape)
    twice = run(from_nodes(middle), half, setting.x)
    once = run(panels, 2 * half, setting.x)
    return float(np.abs(twice - once).max() / (np.abs(setting.u0[0]).max() + 1e-300))


def evaluate_families(
    predict: dict[str, Predict],
    samples: int,
    progress: Progress,
    *,
    semigroup_of: dict[str, Callable[[Setting], float]] | None = None,
    source: Callable[[str, int], Iterator[Setting]] = settings,
) -> dict[str, dict[str, Any]]:
    """{model: {family: row}}; every model sees the same samples."""
    found: dict[str, dict[str, Any]] = {name: {} for name in predict}
    for family in FAMILIES:
        parts: dict[str, list[Errors]] = {name: [] for name in predict}
        steps: dict[str, list[float]] = {name: [] for name in predict}
        facts: list[dict[str, Any]] = []
        for setting in source(family, samples):
            exact = truth(setting.u0, setting.boundary, np.full(len(setting.u0), setting.tau))
            for name, model in predict.items():
                parts[name].append(measure(setting.u0, exact, model(setting), setting.boundary))
                if semigroup_of is not None and name in semigroup_of:
                    steps[name].append(semigroup_of[name](setting))
            facts += [setting.facts()] * len(setting.u0)
            progress(1, len(FAMILIES) * math.ceil(samples / 10))
        for name in predict:
            row = summary(Errors.join(parts[name]), np.array(steps[name]), facts)
            errors = Errors.join(parts[name]).relative_l2
            row["worst_at_points"] = {
                str(points): float(errors[at].max())
                for points in UNSEEN
                if (at := [f["points"] == points for f in facts]).count(True)
            }
            found[name][family] = row
    return found


def worst(rows: dict[str, Any]) -> float:
    """The relative L2 of the worst sample of all families."""
    return max(float(row["relative_l2"]["worst"]) for row in rows.values())


def write(path: Path, content: dict[str, Any]) -> None:
    """As indented JSON."""
    path.write_text(json.dumps(content, indent=1, default=float) + "\n")
