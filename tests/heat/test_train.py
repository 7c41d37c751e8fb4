"""Training: the kernel model finds the law again; the grid models resume."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the train extra")

from models.heat import grid_artifact, train_grid, train_kernel  # noqa: E402 - after the skip
from models.heat.boundary import Boundary  # noqa: E402 - after the skip
from models.heat.families import truth  # noqa: E402 - after the skip
from models.heat.grid import GridConfig, GridModel  # noqa: E402 - after the skip
from models.heat.kernel import KernelConfig, KernelModel  # noqa: E402 - after the skip

SMALL = GridConfig(points=17, width=16, layers=1, heads=2)


def test_a_new_kernel_model_knows_no_diffusion_and_learns_it(tmp_path: Path) -> None:
    """From another seed, half a minute of pairs gives the same six numbers."""
    torch.manual_seed(5)
    before = KernelModel(KernelConfig()).double().learned()
    assert abs(before["decay_power"] - 2) > 0.5
    training = train_kernel.KernelTraining(seed=5, batch=4, steps=150, refine=12, pool=6)
    model = train_kernel.train(KernelConfig(), training, tmp_path, progress=False)
    found = model.learned()
    assert found["decay_power"] == pytest.approx(2, rel=1e-6)
    assert found["score_power"] == pytest.approx(2, rel=1e-6)
    assert found["score_factor"] == pytest.approx(0.25, rel=1e-5)
    assert (tmp_path / "curve.csv").read_text().startswith("branch,step,seconds,relative_l2")


# PyTorch's exporter uses what it has itself deprecated
@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")
@pytest.mark.filterwarnings("ignore:.*axis name:UserWarning")
@pytest.mark.parametrize("design", ["plain", "article"])
def test_a_grid_model_resumes_and_is_kept(design: str, tmp_path: Path) -> None:
    """A second start goes on from the checkpoint, and the artifact gives the same values."""
    config = replace(SMALL, design="plain" if design == "plain" else "article")
    first = train_grid.GridTraining(steps=3, batch=4)
    train_grid.train(config, first, tmp_path / "run", progress=False)
    _, before = train_grid.load(tmp_path / "run")
    longer = replace(first, steps=5)
    model = train_grid.train(config, longer, tmp_path / "run", progress=False)
    _, after = train_grid.load(tmp_path / "run")
    assert (before["step"], after["step"]) == (3, 5)
    assert after["seconds"] > before["seconds"]
    grid_artifact.export(tmp_path, tmp_path / "artifact", ["run"])
    kept, facts = grid_artifact.read(tmp_path / "artifact")["run"]
    assert facts["step"] == after["step"]
    u0, tau = torch.randn(3, 17), torch.tensor([1e-4, 1e-2, 0.5])
    with torch.no_grad():
        own = model(u0, tau).numpy()
    assert own == pytest.approx(kept(u0.numpy(), tau.numpy()), abs=0.02)


def test_the_physics_residual_is_small_for_the_truth_and_large_for_noise() -> None:
    """The article's loss is about the heat equation and nothing else."""
    rng = np.random.default_rng(0)
    u0 = train_grid.draw(rng, 8, 65, 0.0)
    tau = np.full(8, 0.05)
    exact = [
        torch.from_numpy(truth(u0, Boundary.DIRICHLET, times)).float()
        for times in (tau, train_grid.STRETCH * tau)
    ]
    times = torch.from_numpy(tau).float()
    noise = [value + 0.01 * torch.randn_like(value) for value in exact]
    small, large = (
        float(train_grid.residual(early, late, times)) for early, late in (exact, noise)
    )
    assert small < 1e-4
    assert large > 0.1


def test_draws_have_zero_ends_and_the_share_of_pathological_values_asked() -> None:
    """Without pathological values, no initial value is constant between jumps."""
    rng = np.random.default_rng(1)
    for share in (0.0, 1.0):
        u = train_grid.draw(rng, 200, 33, share)
        assert not u[:, [0, -1]].any()
        flat = (np.diff(u[:, 1:-1], axis=1) == 0).mean(axis=1) > 0.5
        assert (flat.mean() > 0.2) == (share > 0)


def test_a_batch_does_not_change_a_grid_model() -> None:
    """Each row's answer is its own."""
    model = GridModel(SMALL).eval()
    u0, tau = torch.randn(4, 17), torch.tensor([1e-4, 1e-3, 1e-2, 0.5])
    with torch.no_grad():
        assert torch.allclose(model(u0, tau)[2], model(u0[2:3], tau[2:3])[0], atol=1e-6)
