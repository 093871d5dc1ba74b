"""Models with a cubature in motion, contact and sessions, and in files."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest

import reducedfem as rf
from calls import IMPLICIT
from failures import fail_each_allocation
from haptic_sessions import COUPLING, after
from model_files import forge, refused, split
from reducedfem import _core
from reducedfem.reduction.reduced import from_bytes, to_bytes
from sampled import MATERIALS, basis_of, beam, poses_of, sampled
from shapes import box_hexes

SMALL = beam(cells=(6, 2, 2))


@pytest.fixture(scope="module")
def exact() -> rf.ProjectedSolid:
    """All of the mesh in the coordinates of the small model."""
    return rf.ProjectedSolid(SMALL, basis_of(SMALL, 8))


@pytest.mark.parametrize("name", IMPLICIT)
def test_motions_are_near_those_of_the_projected_solid(name, exact):
    model = sampled()
    load = model.gravity((0.0, 0.0, -3.0))
    ends = []
    for system in (model, exact):
        sim = IMPLICIT[name](system, 2e-3, newton_max=10)
        sim.step(load, n=200)
        ends.append(system.displacement(sim.state.q))
    assert np.abs(ends[1]).max() > 0.05
    assert np.abs(ends[0] - ends[1]).max() < 0.03 * np.abs(ends[1]).max()


def test_explicit_motions_are_near_those_of_the_projected_solid(exact):
    model = sampled()
    dt = 0.5 * rf.stable_step(model)
    assert dt == pytest.approx(0.5 * rf.stable_step(exact), rel=0.02)
    ends = []
    for system in (model, exact):
        sim = rf.CentralDifferences(system, dt)
        sim.step(model.gravity((0.0, 0.0, -3.0)), n=200)
        ends.append(system.displacement(sim.state.q))
    assert np.abs(ends[0] - ends[1]).max() < 0.03 * np.abs(ends[1]).max()


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_energy_is_conserved_in_free_vibration():
    """Forces are those of an energy: it does not drift over a hundred periods."""
    model = sampled()
    start = 0.3 * poses_of(model, 1)[0]
    lowest = np.linalg.eigvalsh(model.stiffness(np.zeros(model.r)))[0]
    period = 2.0 * np.pi / np.sqrt(lowest)
    sim = rf.ImplicitNewmark(model, period / 400.0, newton_max=20, tol=1e-10)
    sim.reset(q=start)
    total = []
    for _ in range(100):
        state = sim.state
        kinetic = 0.5 * state.qdot @ model.mass @ state.qdot
        total.append(kinetic + model.strain_energy(state.q))
        sim.step(n=400)
    total = np.array(total)
    assert np.ptp(total) < 0.02 * total[0]


def test_steps_have_the_bits_of_their_copy():
    sim = rf.ImplicitNewmark(sampled(), 1e-3, newton_max=4)
    sim.step(sampled().gravity(), n=10)
    other = sim.clone()
    for one in (sim, other):
        one.step(sampled().gravity(), n=10)
    assert sim.state.q.tobytes() == other.state.q.tobytes()


def test_static_equilibria_hold_the_load():
    model = sampled()
    load = model.gravity((0.0, 0.0, -2.0))
    q = model.solve_static(load)
    np.testing.assert_allclose(model.internal_force(q), load, atol=1e-8 * np.linalg.norm(load))


def test_strain_rate_damping_takes_energy_from_the_model():
    damping = rf.StrainRateDamping.proportional(SMALL, 1e-3)
    settings = rf.Cubature(points=60, n_poses=40, strain=0.1)
    model = rf.reduce(SMALL, basis_of(SMALL, 8), cubature=settings, strain_rate=damping)
    assert model.cubature.weights.tobytes() == sampled().cubature.weights.tobytes()
    sim = rf.ImplicitNewmark(model, 1e-3, newton_max=10)
    sim.reset(q=0.2 * poses_of(model, 1)[0])
    before = model.strain_energy(sim.state.q)
    sim.step(n=2000)
    qdot = sim.state.qdot
    assert model.strain_energy(sim.state.q) + 0.5 * qdot @ model.mass @ qdot < 0.5 * before


# ---- contact and sessions


@pytest.fixture(scope="module")
def pressed():
    """A soft block on a wall, with the points of its upper side."""
    nodes, elements = box_hexes(4, 4, 2, (0.1, 0.1, 0.04))
    solid = rf.Solid(
        rf.Mesh(nodes, elements), rf.StableNeoHookean(2e4, 0.4, 1000.0), fixed=nodes[:, 2] == 0.0
    )
    basis = rf.modal_derivative_basis(solid, k=4, r=8)
    model = rf.reduce(solid, basis, cubature=rf.Cubature(points=80, n_poses=60, strain=0.2))
    top = nodes[nodes[:, 2] == nodes[:, 2].max()]
    shell = rf.Pointshell(top, np.tile([0.0, 0.0, -1.0], (len(top), 1)))
    return model, rf.PointTree(shell, model)


def test_a_session_presses_the_model(pressed):
    """The hand holds a ball in the block: the block yields, and pushes back."""
    model, tree = pressed
    ball = rf.SphereField((0.0, 0.0, 0.0), 0.02)
    contact = rf.PenaltyContact(tree, ball, 5000.0, warm_nodes=None, max_points=None)
    device = rf.ReplayDevice([0.0, 1e5], [[0.05, 0.05, 0.055]] * 2)
    simulation = rf.ImplicitNewmark(model, 1e-3, damping=(0.0, 1e-3))
    with rf.HapticSession(
        contact, device, coupling=COUPLING, ramp=0.0, budget_us=0.0, simulation=simulation
    ) as made:
        after(made, 300)
        held = made.snapshot().bodies[-1]
    report = made.report()
    assert report.failure == ""
    assert report.touching > 0
    state = simulation.state
    assert model.displacement(state.q)[:, 2].min() < -2e-5
    # the block has come to rest, so its internal force balances the contact
    pushed = contact.evaluate(held.position, held.quaternion, state.q)
    force = np.linalg.norm(pushed.reduced_force)
    np.testing.assert_allclose(
        model.internal_force(state.q), pushed.reduced_force, atol=0.02 * force
    )


# ---- files


def test_files_hold_the_model(tmp_path):
    model = sampled()
    model.save(tmp_path / "model")
    again = rf.load(tmp_path / "model.safetensors")
    for name in ("weights", "gradients", "regions"):
        assert getattr(again.cubature, name).tobytes() == getattr(model.cubature, name).tobytes()
    assert again.cubature.error == model.cubature.error > 0.0
    assert repr(again.cubature) == repr(model.cubature)
    assert again.materials == model.materials
    assert again.provenance == model.provenance
    q = poses_of(model, 1)[0]
    assert again.internal_force(q).tobytes() == model.internal_force(q).tobytes()
    assert again.stiffness(q).tobytes() == model.stiffness(q).tobytes()
    assert to_bytes(again) == to_bytes(model)
    assert to_bytes(pickle.loads(pickle.dumps(model))) == to_bytes(copy.deepcopy(model))
    assert to_bytes(again.truncate(3)) == to_bytes(model.truncate(3))


def test_files_of_cut_cells_hold_the_penalty():
    surface = rf.DistanceField.from_field(rf.SphereField((0.0, 0.0, 0.0), 0.5), 32).isosurface()
    mesh = rf.voxelize(surface, 4, order=1)
    solid = rf.Solid(mesh, MATERIALS["stable"])
    settings = rf.Cubature(points=60, strain=0.05, n_poses=40)
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, k=2, r=4), cubature=settings)
    again = from_bytes(to_bytes(model))
    found, kept = again._core.cubature[3], model._core.cubature[3]
    assert np.abs(kept).max() > 0.0
    assert found.tobytes() == kept.tobytes()


@pytest.fixture(scope="module")
def data() -> bytes:
    return to_bytes(sampled())


def test_the_version_of_the_file_is_the_first_with_cubatures(data):
    header, _ = split(data)
    assert header["__metadata__"]["format_version"] == "4"
    assert "energy_coefficients" not in header
    refused(forge(data, metadata={"format_version": "3"}), "format version does not define")


def changed(array: np.ndarray, at: tuple, value: float) -> np.ndarray:
    array = array.copy()
    array[at] = value
    return array


def ones(rule: rf.CubatureReport) -> np.ndarray:
    return np.ones(len(rule.weights), np.int32)


def none_of(rule: rf.CubatureReport) -> dict[str, np.ndarray]:
    names = ("cubature_weights", "cubature_gradients", "cubature_materials")
    values = (rule.weights, rule.gradients, rule.regions)
    return {name: value[:0].copy() for name, value in zip(names, values, strict=True)}


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda c: {"cubature_weights": changed(c.weights, (3,), -1.0)}, "point 3 .* weight -1;"),
        (lambda c: {"cubature_weights": changed(c.weights, (3,), np.nan)}, "damaged"),
        (lambda c: {"cubature_weights": c.weights[:-1]}, "cubature_gradients"),
        (lambda c: {"cubature_gradients": changed(c.gradients, (0, 0, 0), np.inf)}, "damaged"),
        (lambda c: {"cubature_gradients": c.gradients[:, :, :-1].copy()}, "cubature_gradients"),
        (lambda c: {"cubature_materials": ones(c)}, "point 0 .* material 1"),
        (lambda c: {"cubature_materials": -ones(c)}, "points"),
        (lambda c: {"cubature_materials": None}, "cubature_materials"),
        (lambda c: {"cubature_weights": None}, "cubature_weights"),
        (lambda c: {"cubature_linear": np.arange(64.0).reshape(8, 8)}, "not symmetric at"),
        (lambda c: {"cubature_linear": np.eye(3)}, "cubature_linear"),
        (lambda c: {"energy_coefficients": np.zeros(495)}, "energy_coefficients"),
        (none_of, "at least one point"),
    ],
)  # fmt: skip
def test_damaged_cubatures_are_refused(data, change, match):
    refused(forge(data, change(sampled().cubature)), match)


@pytest.mark.parametrize(
    ("entry", "match"),
    [
        (None, "does not hold the errors"),
        ({}, "does not hold the errors"),
        ({"error": -1.0}, "'error' of the cubature is negative"),
        ({"error": "x"}, "'error' of the cubature is not a number"),
        ({"training_poses": 0.5}, "'training_poses' of the cubature is not a number"),
    ],
)
def test_damaged_errors_are_refused(data, entry, match):
    history = json.loads(split(data)[0]["__metadata__"]["history"])
    if entry:
        entry = history["cubature"] | entry
    refused(forge(data, metadata={"history": json.dumps({"cubature": entry})}), match)


def test_laws_match_the_arrays(data):
    refused(forge(data, metadata={"law": "St.Venant-Kirchhoff"}), "does not match its arrays")
    stvk = beam(cells=(3, 1, 1), law="stvk")
    plain = to_bytes(rf.reduce(stvk, basis_of(stvk, 4)))
    law = split(data)[0]["__metadata__"]["law"]
    refused(forge(plain, metadata={"law": law}), "does not match its arrays")


def test_every_allocation_may_fail():
    solid = beam(cells=(3, 1, 1))
    vectors = basis_of(solid, 4).vectors
    bytes_of_model = to_bytes(sampled())

    def work() -> object:
        projected = _core.Projected(solid._core, vectors, 1)
        poses = _core.draw_poses(projected, 5, 0.1, 0, None, 1)
        core, _ = _core.reduce_sampled(solid._core, vectors, poses, 5, 0.0, None, 1)
        return core.truncate(2), core.stiffness(np.zeros(4)), from_bytes(bytes_of_model)

    fail_each_allocation(work, more_than=100)


# --- beyond the training ----------------------------------------------------------------


def test_the_strain_is_that_of_the_points():
    model = sampled()
    q = 3.0 * poses_of(model, 1)[0]
    F = np.eye(3) + (model.cubature.gradients @ q).reshape(-1, 3, 3)
    E = 0.5 * (np.swapaxes(F, 1, 2) @ F - np.eye(3))
    expected = np.sqrt((E**2).sum((1, 2))).max()
    assert model._core.strain(q) == pytest.approx(expected, rel=1e-12)
    assert model._core.strain(np.zeros(model.r)) == 0.0
    solid = rf.Solid(SMALL.mesh, rf.StVK(1e5, 0.3, 1000.0), fixed=SMALL.fixed)
    polynomial = rf.reduce(solid, basis_of(solid, 4))
    with pytest.raises(rf.InputError, match="the model has no cubature"):
        polynomial._core.strain(np.zeros(4))


def test_motion_and_statics_beyond_the_poses_warn():
    """Once a reset; a rigid turn of the whole strains nothing, and poses as trained warn never."""
    model = sampled()
    near = 0.3 * poses_of(model, 1)[0]
    far = near * (1.0 + 3.0 * model.cubature.strain / model._core.strain(near))
    message = r"has the Green strain \S+, but its cubature was trained up to"
    for sim in (rf.BDF2(model, 1e-6), rf.CentralDifferences(model, 1e-6)):
        sim.reset(near)
        sim.step()
        sim.reset(far)
        with pytest.warns(rf.PlausibilityWarning, match=message) as caught:
            sim.step()
        assert caught[0].filename == __file__
        sim.step()
        sim.clone().step()
    model.solve_static(model.internal_force(near), q0=near)
    unstable = pytest.warns(rf.PlausibilityWarning, match="equilibrium is unstable")
    with pytest.warns(rf.PlausibilityWarning, match=message) as caught, unstable:
        model.solve_static(model.internal_force(far), q0=far)
    assert caught[0].filename == __file__
