"""All systems by both time integrators: one behaviour for all.

One hexahedron with four held nodes has 12 unknowns. The unreduced solid, its projection on the unit
vectors and the reduced model of that basis are three codes for the same equations.
"""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import reducedfem as rf
from motions import NEWMARK
from reducedfem import _core
from shapes import box_hexes

SIZE = 0.1  # m
FREE = np.arange(4, 8)


def bases() -> tuple[rf.Solid, np.ndarray]:
    nodes, elements = box_hexes(1, 1, 1)
    order = np.argsort(nodes[:, 0], kind="stable")  # held nodes first
    place = np.argsort(order)
    mesh = rf.Mesh(SIZE * nodes[order], place[elements])
    solid = rf.Solid(mesh, rf.StVK(2e4, 0.3, 1000.0), fixed=np.arange(4))
    vectors = np.zeros((12, 8, 3))
    for i in range(12):
        vectors[i, FREE[i // 3], i % 3] = 1.0
    return solid, vectors


def three() -> list[rf.Solid | rf.ProjectedSolid | rf.ReducedSolid]:
    solid, vectors = bases()
    return [solid, rf.ProjectedSolid(solid, vectors), rf.reduce(solid, vectors)]


def coordinates(sim) -> np.ndarray:
    """Return the displacements of the free nodes, (12,)."""
    return np.asarray(sim.displacement)[FREE].ravel()


# a force that a light body cannot bear in one step: increments are shortened, tangents indefinite
VIOLENT = 400.0 * np.random.default_rng(3).standard_normal(12)


def nodal(force: np.ndarray) -> np.ndarray:
    full = np.zeros((8, 3))
    full[FREE] = force.reshape(4, 3)
    return full


@pytest.mark.parametrize("newton_max", [1, 8])
@pytest.mark.parametrize("damping", [(0.0, 0.0), (0.2, 1e-3)])
def test_newmark_of_three_codes(newton_max, damping):
    """Guarded increments and shifted tangents occur here, and agree in all three."""
    sims = [
        rf.ImplicitNewmark(system, 4e-3, damping=damping, newton_max=newton_max)
        for system in three()
    ]
    for sim in sims:
        for step in range(12):
            sim.step(nodal(VIOLENT) if step < 4 else None)
    reports = [sim.report for sim in sims]
    assert reports[0].shortened > 0
    assert len({(r.solves, r.shortened, r.indefinite, r.unconverged) for r in reports}) == 1
    exact = coordinates(sims[0])
    for sim in sims[1:]:
        # rounding, enlarged by steps near indefinite tangents
        np.testing.assert_allclose(coordinates(sim), exact, rtol=0, atol=1e-8 * abs(exact).max())


@pytest.mark.parametrize("damping", [(0.0, 0.0), (0.2, 1e-4)])
def test_central_differences_of_projected_and_reduced(damping):
    """The solid uses its lumped mass there, the other two the consistent one."""
    _, projected, reduced = three()
    dt = 0.4 * rf.stable_step(reduced, damping=damping)
    assert rf.stable_step(projected, damping=damping) == pytest.approx(2.5 * dt, rel=1e-12)
    sims = [rf.CentralDifferences(system, dt, damping=damping) for system in (projected, reduced)]
    for sim in sims:
        sim.step(nodal(0.02 * VIOLENT), n=50)
    exact = coordinates(sims[1])
    assert abs(exact).max() > 1e-4 * SIZE
    np.testing.assert_allclose(coordinates(sims[0]), exact, rtol=0, atol=1e-11 * abs(exact).max())


def for_ever(sim, force: np.ndarray) -> None:
    while sim.report.steps < 100:
        sim.step(force)


@pytest.mark.parametrize("scheme", [rf.ImplicitNewmark, rf.CentralDifferences])
@pytest.mark.parametrize("which", range(3), ids=["solid", "projected", "reduced"])
def test_displacements_beyond_the_bound_are_reported(scheme, which):
    system = three()[which]
    sim = scheme(system, 1e-5)
    with pytest.raises(rf.DivergedError, match=r"displaced by up to .* more than 30 times its"):
        for_ever(sim, nodal(np.full(12, 1e9)))
    assert np.isfinite(sim.state.q).all()
    sim.reset()
    sim.step()


def test_solids_and_loose_parts_may_fall_as_far_as_they_like():
    nodes, elements = box_hexes(2, 1, 1)
    twice = rf.Mesh(
        SIZE * np.concatenate([nodes, nodes + np.array([0, 2, 0])]),
        np.concatenate([elements, elements + len(nodes)]),
    )
    for fixed in (None, np.arange(len(nodes))):  # both parts fall, or the second alone
        solid = rf.Solid(twice, rf.StVK(1e5, 0.3, 1000.0), fixed=fixed)
        sim = rf.ImplicitNewmark(solid, 0.05, gravity=(0.0, 0.0, -9.81))
        sim.step(n=100)
        # average acceleration is exact for constant forces
        fallen = sim.displacement[len(nodes) :, 2]
        np.testing.assert_allclose(fallen, -0.5 * 9.81 * 5.0**2, rtol=1e-9)


def test_prescribed_moves_do_not_depend_on_numbers_of_nodes():
    """The prediction multiplies by the whole tangent; factorizations store one half of it."""
    nodes, elements = box_hexes(4, 2, 2)
    reports = []
    for first in (True, False):
        order = np.argsort(nodes[:, 0] if first else -nodes[:, 0], kind="stable")
        mesh = rf.Mesh(SIZE * nodes[order], np.argsort(order)[elements])
        ends = (mesh.nodes[:, 0] == 0.0) | (mesh.nodes[:, 0] == mesh.nodes[:, 0].max())
        solid = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), fixed=ends)
        moved = np.zeros_like(mesh.nodes)
        moved[mesh.nodes[:, 0] > 0.2, 0] = -0.03
        moved[~ends] = 0.0
        _, report, _ = solid._core.solve_static(None, moved, None, 1e-9, 1, 50, None, 1)
        reports.append((report["iterations"], report["factorizations"], report["shifted"]))
    assert reports[0] == reports[1]
    assert reports[0][2] == 0


def test_matrices_of_other_sizes_are_refused_by_the_core():
    def lower(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.ones(n), np.arange(n, dtype="i4"), np.arange(n + 1, dtype="i4")

    with pytest.raises(rf.InputError, match="mass has 20 columns, but damping_matrix has 4000"):
        _core.SecondOrder(lower(20), lower(20), lower(4000), (None, None, None), 1)


# --- matrices ---------------------------------------------------------------------------


def chain(n: int = 9) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return mass, stiffness and damping of a chain of masses; B has entries where K has none."""
    mass = np.diag(np.linspace(1.0, 2.0, n))
    stiffness = 200.0 * (2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
    damping = np.zeros((n, n))
    damping[0, 0] = damping[-1, -1] = 0.7
    damping[0, -1] = damping[-1, 0] = -0.7
    return mass, stiffness, damping


def plain_newmark(mass, stiffness, damping, force, h, steps):
    """Return the states of average acceleration, in NumPy."""
    q = v = np.zeros(len(mass))
    a = np.zeros(len(mass))
    for step in range(steps):
        f = force if step < steps // 2 else 0.0 * force
        matrix = 4.0 / h**2 * mass + 2.0 / h * damping + stiffness
        known = mass @ (4.0 / h**2 * q + 4.0 / h * v + a) + damping @ (2.0 / h * q + v)
        x = np.linalg.solve(matrix, f + known)
        a = 4.0 / h**2 * (x - q) - 4.0 / h * v - a
        v = 2.0 / h * (x - q) - v
        q = x
    return q, v, a


@pytest.mark.parametrize("with_b", [False, True])
def test_second_order_systems_by_newmark(with_b):
    mass, stiffness, b = chain()
    alpha, beta, h = 0.3, 2e-3, 0.02
    system = rf.SecondOrderSystem(mass, stiffness, damping_matrix=b if with_b else None)
    sim = rf.ImplicitNewmark(system, h, damping=(alpha, beta))
    force = np.random.default_rng(0).standard_normal(9)
    sim.step(force, n=20)
    twin = copy.copy(sim)
    sim.step(n=20)
    damping = alpha * mass + beta * stiffness + (b if with_b else 0.0)
    for found, exact in zip(
        (sim.state.q, sim.state.qdot, sim.state.qddot),
        plain_newmark(mass, stiffness, damping, force, h, 40),
        strict=True,
    ):
        np.testing.assert_allclose(found, exact, rtol=0, atol=1e-11 * abs(exact).max())
    again = pickle.loads(pickle.dumps(twin))
    again.step(n=20)
    np.testing.assert_array_equal(again.state.q, sim.state.q)
    np.testing.assert_array_equal(sim.displacement, sim.state.q)
    assert sim.report.solves <= 40


@pytest.mark.parametrize("with_b", [False, True])
def test_second_order_systems_by_central_differences(with_b):
    mass, stiffness, b = chain()
    alpha, beta = 0.3, 1e-3
    bare = rf.SecondOrderSystem(mass, stiffness)
    inverse = np.diag(np.diag(mass) ** -0.5)
    highest = np.sqrt(np.linalg.eigvalsh(inverse @ stiffness @ inverse).max())
    assert rf.stable_step(bare) == pytest.approx(2.0 / highest, rel=1e-6)
    system = rf.SecondOrderSystem(mass, stiffness, damping_matrix=b) if with_b else bare
    h = 0.2 / highest
    sim = rf.CentralDifferences(system, h, damping=(alpha, beta))
    start = np.random.default_rng(1).standard_normal(9)
    sim.reset(start)
    viscous = beta * stiffness + (b if with_b else 0.0)
    q, v, a = start, np.zeros(9), np.linalg.solve(mass, -stiffness @ start)
    for _ in range(30):
        middle = v + 0.5 * h * a
        q = q + h * middle
        free = np.linalg.solve(mass, -stiffness @ q - viscous @ middle)
        a = (free - alpha * middle) / (1.0 + 0.5 * h * alpha)
        v = middle + 0.5 * h * a
    sim.step(n=30)
    np.testing.assert_allclose(sim.state.q, q, rtol=0, atol=1e-12 * abs(start).max())
    assert np.isnan(sim.report.stable_step) == with_b


def test_second_order_systems_refuse_unsupported_arguments():
    mass, stiffness, b = chain()
    system = rf.SecondOrderSystem(mass, stiffness, damping_matrix=b)
    entries = system.damping_matrix
    columns = np.repeat(np.arange(9), np.diff(entries.indptr))
    dense = np.zeros((9, 9))
    dense[entries.indices, columns] = entries.data
    np.testing.assert_array_equal(dense, b)
    with pytest.raises(rf.InputError, match="gravity must be None: a SecondOrderSystem"):
        rf.ImplicitNewmark(system, 0.01, gravity=(0.0, 0.0, -9.81))
    with pytest.raises(rf.InputError, match="deformation_only is for reduced models"):
        rf.ImplicitNewmark(system, 0.01, deformation_only=True)
    solid = bases()[0]
    with pytest.raises(rf.InputError, match="strain_rate must be None: a SecondOrderSystem"):
        rf.ImplicitNewmark(system, 0.01, strain_rate=rf.StrainRateDamping(solid, 1.0, 1.0))
    with pytest.raises(rf.InputError, match="stable step of a system with a damping_matrix"):
        rf.CentralDifferences(system)
    with pytest.raises(rf.InputError, match="q must be None"):
        rf.stable_step(rf.SecondOrderSystem(mass, stiffness), np.zeros(9))
    with pytest.raises(rf.InputError, match=r"mass is \(9, 9\), but damping_matrix is \(8, 8\)"):
        rf.SecondOrderSystem(mass, stiffness, damping_matrix=b[:8, :8])
    sim = rf.ImplicitNewmark(system, 0.01)
    with pytest.raises(rf.InputError, match="force must have shape"):
        sim.step(np.ones(8))


# --- settings ---------------------------------------------------------------------------


def test_settings_by_name():
    core = three()[2]._core
    make = lambda settings: _core.Motion("newmark", core, (0.0, 0.0), settings, 1)  # noqa: E731
    make(NEWMARK)
    with pytest.raises(rf.InputTypeError, match="newmark has no setting 'rho'"):
        make({**NEWMARK, "rho": 0.8})
    with pytest.raises(rf.InputTypeError, match="newmark: the setting gamma is missing"):
        make({name: value for name, value in NEWMARK.items() if name != "gamma"})
    with pytest.raises(rf.InputTypeError, match="newton_max must be an int of 32 bits, got 1.5"):
        make({**NEWMARK, "newton_max": 1.5})
    with pytest.raises(rf.InputTypeError, match="dt must be a number, got 'fast'"):
        make({**NEWMARK, "dt": "fast"})
    with pytest.raises(rf.InputTypeError, match="settings must be a dict, got list"):
        make([])
    with pytest.raises(rf.InputTypeError, match="central has no setting 'beta'"):
        _core.Motion("central", core, (0.0, 0.0), NEWMARK, 1)
    with pytest.raises(rf.InputError, match="there is no time integrator Euler"):
        _core.Motion("Euler", core, (0.0, 0.0), NEWMARK, 1)
