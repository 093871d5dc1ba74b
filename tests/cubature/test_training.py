"""Training poses of cubatures: their extent, their strain, what the report says of them."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import reducedfem as rf
from reducedfem import _core
from sampled import basis_of, beam, poses_of
from shapes import BOXES, box_hexes
from test_cubature import all_points, relative

SOLID = beam(cells=(6, 2, 2))


@pytest.fixture(scope="module")
def exact() -> rf.ProjectedSolid:
    return rf.ProjectedSolid(SOLID, basis_of(SOLID, 8))


def trained(poses: np.ndarray, points: int = 60) -> tuple[rf.CubatureReport, list[str]]:
    """Return the report of a model, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        settings = rf.Cubature(points=points, poses=poses)
        report = rf.reduce(SOLID, basis_of(SOLID, 8), cubature=settings).cubature
    assert all(one.category is rf.PlausibilityWarning for one in caught)
    assert all(one.filename == __file__ for one in caught)
    return report, [str(one.message) for one in caught]


def extents(model: rf.ProjectedSolid, poses: np.ndarray) -> np.ndarray:
    """Return the singular values of the poses, each of unit length in the energy norm."""
    rates, shapes = np.linalg.eigh(model.stiffness(np.zeros(model.r)))
    scaled = poses @ shapes * np.sqrt(rates)
    scaled /= np.linalg.norm(scaled, axis=1)[:, None]
    return np.linalg.svd(scaled, compute_uv=False)


def degenerate(kind: str, model: rf.ProjectedSolid) -> np.ndarray:
    poses = poses_of(model, 40, 0.2)
    if kind == "identical":
        return np.repeat(poses[:1], 40, axis=0)
    if kind == "one direction":
        return np.outer(np.linspace(0.02, 1.0, 40), poses[0])
    return np.random.default_rng(1).standard_normal((40, 3)) @ poses[:3]


@pytest.mark.parametrize(
    ("kind", "count"), [("identical", 1), ("one direction", 1), ("three directions", 3)]
)
def test_poses_of_few_directions_are_worth_a_warning(kind, count, exact):
    report, texts = trained(degenerate(kind, exact))
    assert report.exercised == count
    assert report.error < 0.02, "the error alone shows nothing"
    assert any(
        re.match(rf"the poses that train exercise {count} of 8 directions", t) for t in texts
    )


def test_poses_that_differ_exercise_the_basis(exact):
    poses = poses_of(exact, 40, 0.2)
    report, texts = trained(poses)
    assert (report.exercised, texts) == (8, [])
    # held-out poses do not count
    poses = np.outer(np.linspace(0.02, 1.0, 40), poses[0])
    poses[4::5] = poses_of(exact, 8, 0.2)
    assert trained(poses)[0].exercised == 1


def test_a_thousandth_of_the_longest_extent_counts(exact):
    rates, shapes = np.linalg.eigh(exact.stiffness(np.zeros(8)))
    modal = np.zeros((40, 8))
    modal[:, 0] = 1.0
    modal[np.arange(40), np.arange(40) % 8] += np.where(np.arange(40) % 8 < 5, 1e-2, 1e-5)
    poses = modal / np.sqrt(rates) @ shapes.T
    training = np.delete(poses, np.s_[4::5], axis=0)
    expected = (extents(exact, training) > 1e-3 * extents(exact, training)[0]).sum()
    assert trained(poses)[0].exercised == expected == 5


def test_frequencies_and_strain_are_those_of_plain_sums(exact):
    poses = poses_of(exact, 40, 0.2)
    settings = rf.Cubature(points=20, poses=poses)
    model = rf.reduce(SOLID, basis_of(SOLID, 8), cubature=settings)
    report, rest = model.cubature, np.zeros(8)
    found, true = (np.linalg.eigvalsh(one.stiffness(rest)) for one in (model, exact))
    expected = np.abs(np.sqrt(found / true) - 1.0)[:6].max()
    assert report.frequency_error == pytest.approx(expected, rel=1e-6)
    assert expected > 1e-3
    gradients = all_points(SOLID, basis_of(SOLID, 8)).cubature.gradients
    F = np.eye(3) + np.einsum("pcr,kr->kpc", gradients, poses).reshape(40, -1, 3, 3)
    strains = np.linalg.norm(0.5 * (np.swapaxes(F, -1, -2) @ F - np.eye(3)), axis=(2, 3))
    assert report.strain == pytest.approx(strains.max(), rel=1e-12)
    text = repr(report)
    assert f"up to strain {report.strain:.2g}, of frequencies {100 * expected:.2g} %" in text
    assert "8 directions exercised" in text


def test_a_cubature_out_of_tune_is_worth_a_warning(exact):
    report, texts = trained(degenerate("identical", exact), points=8)
    assert report.frequency_error > 0.05
    assert any("the lowest frequencies of the cubature at rest differ" in text for text in texts)


def test_tiny_poses_are_worth_a_warning(exact):
    report, texts = trained(1e-9 * poses_of(exact, 40))
    assert report.strain < 1e-8
    assert [text.split(",")[0] for text in texts] == [
        f"the poses strain the solid by {report.strain:.2g} at most"
    ]


def test_all_points_need_no_training():
    settings = rf.Cubature(points=4096, poses=np.repeat(1e-9 * np.ones((1, 8)), 5, axis=0))
    report = rf.reduce(SOLID, basis_of(SOLID, 8), cubature=settings).cubature
    assert report.exercised == 1
    assert report.frequency_error < 1e-12


def test_rigid_motions_among_the_poses_have_no_force():
    nodes, elements = box_hexes(4, 2, 2, (0.4, 0.2, 0.2))
    solid = rf.Solid(rf.Mesh(nodes, elements), rf.StableNeoHookean(1e6, 0.4, 1000.0))
    x, y, z = nodes.T[:, :, None]
    a, b, c = np.eye(3)
    fields = np.array([a + 0.0 * x, x * a, x**2 * b, x * y * c])
    poses = np.random.default_rng(2).normal(0.0, 0.1, (10, 4))
    poses[6] = (0.3, 0.0, 0.0, 0.0)
    with pytest.raises(rf.InputError, match=r"poses\[6\] has no force: leave it out"):
        rf.reduce(solid, fields, cubature=rf.Cubature(points=20, poses=poses))


def large(law: str) -> rf.Solid:
    """Return a beam with more points than poses are solved on."""
    nodes, elements = BOXES["tet"](16, 5, 5, (1.0, 0.2, 0.2))
    material = getattr(rf, law)(1e6, 0.4, 1000.0)
    solid = rf.Solid(rf.Mesh(nodes, elements), material, fixed=nodes[:, 0] == 0.0)
    assert solid.mesh.n_elements > 2048
    return solid


def test_poses_of_large_meshes_train_as_well_as_equilibria():
    solid = large("NeoHookean")
    exact = rf.ProjectedSolid(solid, basis_of(solid, 8))
    drawn = [_core.draw_poses(exact._core, 60, 0.3, 0, None, threads) for threads in (1, 3)]
    assert drawn[0].tobytes() == drawn[1].tobytes()
    settings = rf.Cubature(points=80, poses=drawn[0])
    model = rf.reduce(solid, basis_of(solid, 8), cubature=settings)
    assert model.cubature.exercised == 8
    assert 0.1 < model.cubature.strain < 1.0
    rates, shapes = np.linalg.eigh(exact.stiffness(np.zeros(8)))
    errors, largest = [], 0.0
    for load in (
        15.0 * np.random.default_rng(5).standard_normal((10, 8)) * np.sqrt(rates) @ shapes.T
    ):
        q = exact.solve_static(load)
        largest = max(largest, np.abs(exact.displacement(q)).max())
        errors.append(relative(model.internal_force(q), load))
    assert np.sqrt(np.mean(np.square(errors))) < 0.03
    assert largest > 0.1
