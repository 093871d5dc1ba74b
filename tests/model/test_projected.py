"""Projected solids: against reduced polynomials, plain products, other numbers of threads."""

from __future__ import annotations

import copy
import pickle
from functools import partial

import numpy as np
import pytest

import reducedfem as rf
from moments import at_once
from motions import newmark
from reducedfem import _core
from shapes import BOXES, box_hexes, solid_box

EPS = np.finfo(float).eps
MATERIALS = {0: rf.StVK(5e4, 0.3, 1000.0), 1: rf.StVK(8e4, 0.4, 1200.0)}


def bar(kind: str = "hex", cells: tuple[int, int, int] = (6, 2, 2)) -> rf.Solid:
    """A bar, clamped at x = 0, of distorted elements and two materials."""
    nodes, elements = BOXES[kind](*cells, (0.6, 0.1, 0.1))
    fixed = np.flatnonzero(nodes[:, 0] == 0.0)
    # half as much where nodes stand twice as dense
    part = 0.05 if kind == "tet10" else 0.1
    shift = part * min(0.6 / cells[0], 0.1 / cells[1], 0.1 / cells[2])
    nodes = nodes + np.random.default_rng(3).uniform(-shift, shift, nodes.shape)
    return rf.Solid(rf.Mesh(nodes, elements, np.arange(len(elements)) % 2), MATERIALS, fixed=fixed)


def directions(solid: rf.Solid, r: int) -> np.ndarray:
    """Random fields, neither smooth nor mass-orthonormal, zero where the solid is held."""
    fields = np.random.default_rng(r).standard_normal((r, solid.mesh.n_nodes, 3))
    fields[:, solid.fixed] = 0.0
    return fields


@pytest.fixture(scope="module", params=BOXES)
def pair(request):
    solid = bar(request.param)
    fields = directions(solid, 7)
    return rf.ProjectedSolid(solid, fields), rf.reduce(solid, fields)


@pytest.fixture(scope="module")
def bent():
    """A bar with modal derivatives, in both forms, and a load that bends it by half its length."""
    nodes, elements = box_hexes(12, 2, 2, (0.6, 0.1, 0.1))
    mesh = rf.Mesh(nodes, elements)
    solid = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), fixed=nodes[:, 0] == 0.0)
    basis = rf.modal_derivative_basis(solid, k=4, r=9)
    force = np.zeros_like(nodes)
    force[nodes[:, 0] > 0.59, 2] = 1.0
    return rf.ProjectedSolid(solid, basis), rf.reduce(solid, basis), force


# --- forces --------------------------------------------------------------------------


def test_the_functions_are_those_of_the_polynomials(pair):
    projected, reduced = pair
    # both are exact; sums over some thousand terms differ in their rounding
    close = {"rtol": 1e-11, "atol": 0.0}
    np.testing.assert_allclose(projected.mass, reduced.mass, **close)
    assert projected.r == reduced.r == 7
    rng = np.random.default_rng(1)
    for size in (0.0, 1e-3, 0.02, 0.3):
        q = size * rng.standard_normal(7)
        for name in ("internal_force", "stiffness", "displacement"):
            mine, theirs = getattr(projected, name)(q), getattr(reduced, name)(q)
            far = np.abs(mine - theirs).max()
            assert far <= 1e-11 * np.abs(theirs).max(), (name, size)
        energy = reduced.strain_energy(q)
        assert projected.strain_energy(q) == pytest.approx(energy, rel=1e-11, abs=1e-300)
    force = rng.standard_normal((projected.mesh.n_nodes, 3))
    np.testing.assert_allclose(projected.project(force), reduced.project(force), rtol=1e-11)
    np.testing.assert_array_equal(projected.project(force.ravel()), projected.project(force))


@pytest.mark.parametrize(("cells", "r"), [((2, 1, 1), 3), ((9, 3, 4), 70), ((30, 4, 5), 131)])
def test_products_with_the_unreduced_matrices(cells, r):
    """U^T R(Uq) and U^T K(Uq) U by SciPy: one chunk and many, less than a panel and several."""
    solid = bar("hex", cells)
    fields = directions(solid, r)
    model = rf.ProjectedSolid(solid, fields)
    q = 3e-3 / np.sqrt(r) * np.random.default_rng(2).standard_normal(r)
    matrix = fields.reshape(r, -1).T
    u = matrix @ q
    force = matrix.T @ solid.internal_force(u).ravel()
    stiffness = matrix.T @ (solid.stiffness(u).to_scipy() @ matrix)
    found = model.stiffness(q)
    # random fields strain by about 1: sums of some thousand terms without cancellation to speak of
    assert np.abs(model.internal_force(q) - force).max() <= 1e-11 * np.abs(force).max()
    assert np.abs(found - stiffness).max() <= 1e-11 * np.abs(stiffness).max()
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(model.displacement(q).ravel(), u, atol=1e-12 * np.abs(u).max())


def test_force_and_stiffness_are_derivatives(pair):
    projected, _ = pair
    rng = np.random.default_rng(4)
    q, direction = 0.01 * rng.standard_normal((2, 7))
    h = 1e-5
    energy, force = projected.strain_energy, projected.internal_force
    slope = (energy(q + h * direction) - energy(q - h * direction)) / (2 * h)
    # central differences of a quartic polynomial: h^2 times the third derivative
    assert slope == pytest.approx(force(q) @ direction, rel=1e-6)
    curvature = (force(q + h * direction) - force(q - h * direction)) / (2 * h)
    np.testing.assert_allclose(curvature, projected.stiffness(q) @ direction, rtol=1e-6)


def test_bits_do_not_depend_on_the_number_of_threads():
    solid = bar("hex", (60, 5, 5))  # 1500 elements: the assembly is cut as well
    fields = directions(solid, 40)
    q = 1e-4 * np.random.default_rng(5).standard_normal(40)
    results = []
    for threads in (1, 2, 5):
        core = _core.Projected(solid._core, fields, threads)
        viscous = [[3.0, 2.0]] * len(solid.materials)
        sim = newmark(
            core, 1e-3, (0.1, 1e-4), newton_max=2, tol=1e-9, threads=threads, strain_rate=viscous
        )
        sim.step(np.ones(40), 2, None, threads)
        names = ("internal_force", "stiffness", "displacement")
        found = [getattr(core, name)(q, threads) for name in names]
        found += [core.mass, core.project(fields[0], threads), sim.state()[0]]
        results.append([np.asarray(array).tobytes() for array in found])
    assert results[0] == results[1] == results[2]


# --- steps ---------------------------------------------------------------------------


@pytest.mark.parametrize("newton_max", [1, 8])
@pytest.mark.parametrize("strain_rate", [False, True])
@pytest.mark.parametrize("damping", [(0.0, 0.0), (0.3, 2e-3)])
def test_steps_are_those_of_the_reduced_model(bent, newton_max, damping, strain_rate):
    projected, reduced, force = bent
    rates = [None, None]
    if strain_rate:
        whole = rf.StrainRateDamping(projected.solid, 30.0, 200.0)
        rates = [whole, whole.reduce(reduced)]
    simulations = [
        rf.ImplicitNewmark(system, 5e-3, damping, newton_max, tol=1e-9, strain_rate=rate)
        for system, rate in zip((projected, reduced), rates, strict=True)
    ]
    for sim in simulations:
        sim.step(force, n=20)
        sim.step(n=20)
    mine, theirs = (sim.state for sim in simulations)
    assert np.abs(simulations[1].displacement).max() > 0.05  # far from linear
    assert mine.time == theirs.time == pytest.approx(0.2)
    # the same steps to rounding, which 40 of them carry on
    for name in ("q", "qdot", "qddot"):
        a, b = getattr(mine, name), getattr(theirs, name)
        assert np.abs(a - b).max() <= 1e-8 * np.abs(b).max(), name
    np.testing.assert_allclose(
        simulations[0].displacement, simulations[1].displacement, rtol=0, atol=1e-9
    )
    reports = [sim.report for sim in simulations]
    assert reports[0].steps == 40
    assert reports[0].solves == reports[1].solves
    assert reports[0].unconverged == reports[1].unconverged
    assert reports[0].iterations == reports[1].iterations


def test_a_state_that_is_set(bent):
    projected, reduced, force = bent
    q, qdot = 0.02 * np.random.default_rng(6).standard_normal((2, 9))
    states = []
    for system in (projected, reduced):
        sim = rf.ImplicitNewmark(system, 1e-3, (0.1, 1e-3))
        sim.step(force, n=3)
        sim.reset(q, qdot)
        np.testing.assert_array_equal(sim.state.q, q)
        np.testing.assert_array_equal(sim.state.qdot, qdot)
        assert sim.state.time == 0.0
        states.append(sim.state.qddot)
        sim.reset(q, qdot, 2.0 * q)
        np.testing.assert_array_equal(sim.state.qddot, 2.0 * q)
        sim.reset()
        assert not sim.state.q.any()
    assert np.abs(states[0] - states[1]).max() <= 1e-10 * np.abs(states[1]).max()


def test_an_indefinite_tangent_is_solved(bent):
    """Squeezed far enough, the tangent has negative eigenvalues: the end solves the equations."""
    projected, reduced, _ = bent
    q = np.zeros(9)
    rng = np.random.default_rng(8)
    while np.linalg.eigvalsh(reduced.stiffness(q))[0] > -1e4:
        q = 0.1 * rng.standard_normal(9)
    for system in (projected, reduced):
        sim = rf.BackwardEuler(system, 0.05, newton_max=100, tol=1e-12)
        sim.reset(q)
        sim.step()
        report, state = sim.report, sim.state
        assert report.indefinite > 0
        assert report.unconverged == 0
        inertia = system.mass @ (state.qdot / 0.05)
        np.testing.assert_allclose(inertia, -system.internal_force(state.q), rtol=1e-6)


def test_divergence_leaves_the_state(bent):
    projected, *_ = bent
    sim = rf.ImplicitNewmark(projected, 1e-3)
    sim.step(np.ones(9))
    before = sim.state
    with pytest.raises(rf.DivergedError, match=r"diverged at t = 0\.001 s"):
        sim.step(np.full(9, 1e200), n=3)
    np.testing.assert_array_equal(sim.state.q, before.q)
    np.testing.assert_array_equal(sim.state.qddot, before.qddot)
    with pytest.raises(rf.DivergedError, match="q or qdot is too large"):
        sim.reset(np.full(9, 1e200))
    np.testing.assert_array_equal(sim.state.q, before.q)
    sim.step()
    assert sim.report.steps == 2


def test_snapshots_of_a_projected_simulation(bent):
    projected, _, force = bent
    sim = rf.ImplicitNewmark(projected, 5e-3)
    taken = rf.record_snapshots(sim, 4, force)
    assert taken.shape == (4, projected.mesh.n_nodes, 3)
    np.testing.assert_array_equal(taken[-1], sim.displacement)


def test_threads_share_a_model(bent):
    projected, _, force = bent
    expected = rf.ImplicitNewmark(projected, 5e-3)
    expected.step(force, n=10)
    results = [None] * 3

    def work(i):
        sim = rf.ImplicitNewmark(projected, 5e-3)
        sim.step(force, n=10)
        results[i] = sim.state.q

    at_once(partial(work, i) for i in range(3))
    for result in results:
        np.testing.assert_array_equal(result, expected.state.q)


# --- statics -----------------------------------------------------------------------------


def test_statics_are_those_of_the_reduced_model(bent):
    projected, reduced, force = bent
    for load in (force, projected.project(force), None):
        mine, took = projected.solve_static(load, tol=1e-12, steps=2, report=True)
        theirs, expected = reduced.solve_static(load, tol=1e-12, steps=2, report=True)
        # the tolerance times the condition of the tangent
        assert np.abs(mine - theirs).max() <= 1e-9 * max(np.abs(theirs).max(), 1e-300)
        assert took.load_steps == expected.load_steps == 2
        assert took.residual <= 1e-12
    assert np.abs(projected.displacement(projected.solve_static(force))).max() > 0.05
    start = reduced.solve_static(force)
    _, took = projected.solve_static(force, q0=start, report=True)
    assert took.iterations <= 1


def test_statics_beyond_the_size_of_polynomials():
    """With a vector for every degree of freedom the solution is the unreduced one."""
    solid = bar("tet", (4, 1, 1))
    free = (3 * solid.free[:, None] + np.arange(3)).ravel()
    n = solid.mesh.n_nodes
    basis = np.eye(3 * n).reshape(3 * n, n, 3)[free]
    force = np.zeros((n, 3))
    force[solid.mesh.nodes[:, 0] > 0.55] = (1.0, 0.5, -2.0)
    expected = solid.solve_static(force, tol=1e-12)
    assert np.abs(expected).max() > 0.05
    system = rf.ProjectedSolid(solid, basis)
    u = system.displacement(system.solve_static(force, tol=1e-12))
    assert np.abs(u - expected).max() <= 1e-8 * np.abs(expected).max()


def test_a_static_failure_is_reported_and_loses_nothing(bent):
    projected, reduced, force = bent
    messages = []
    for system in (projected, reduced):
        with pytest.raises(
            rf.StaticConvergenceError, match="^no static solution found in load step 1 of 3: "
        ) as caught:
            system.solve_static(force, steps=3, max_iterations=1)
        assert caught.value.displacement.shape == force.shape
        assert caught.value.report.fraction < 1.0
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    for bad, words in (
        ({"force": np.zeros(4)}, r"force must have shape \(9,\) \(reduced\) or"),
        ({"tol": 0.0}, "tol"),
        ({"steps": 0}, "steps"),
        ({"q0": np.full(9, np.nan)}, "q0"),
    ):
        with pytest.raises(rf.InputError, match=words):
            projected.solve_static(**bad)


def test_statics_report_progress_and_stop(bent):
    projected, _, force = bent
    seen = []
    projected.solve_static(force, steps=4, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (400, 400)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        projected.solve_static(force, progress=stop)


# --- the object, and what it refuses -----------------------------------------------------


def test_the_object(bent):
    projected, reduced, _ = bent
    assert repr(projected) == f"<ProjectedSolid: r = 9, {projected.mesh.n_nodes} nodes>"
    np.testing.assert_array_equal(projected.basis, reduced.basis)
    np.testing.assert_array_equal(projected.matrix, reduced.matrix)
    assert projected.solid.mesh is projected.mesh
    for array in (projected.basis, projected.mass, projected.matrix):
        assert not array.flags.writeable
    for other in (copy.deepcopy(projected), pickle.loads(pickle.dumps(projected))):
        q = np.linspace(-0.1, 0.1, 9)
        np.testing.assert_array_equal(other.internal_force(q), projected.internal_force(q))


def test_a_copy_of_the_basis_is_kept():
    solid = bar()
    fields = directions(solid, 3)
    model = rf.ProjectedSolid(solid, fields)
    before = model.stiffness(np.zeros(3))
    fields[:] = 0.0
    assert model.basis.any()
    np.testing.assert_array_equal(model.stiffness(np.zeros(3)), before)


def test_a_free_solid_is_taken():
    solid = solid_box((4, 2, 2), 0.1, MATERIALS[0], held=None)
    fields = directions(solid, 4)
    q = np.array([1e-3, -2e-3, 3e-3, 0.0])
    expected = rf.reduce(solid, fields).internal_force(q)
    found = rf.ProjectedSolid(solid, fields).internal_force(q)
    assert np.abs(found - expected).max() <= 1e-11 * np.abs(expected).max()


def test_wrong_bases():
    solid = bar()
    n = solid.mesh.n_nodes
    good = directions(solid, 3)
    with pytest.raises(rf.InputTypeError, match="solid must be a Solid, got int"):
        rf.ProjectedSolid(3, good)
    with pytest.raises(
        rf.InputError, match=rf"basis must have shape \(any, {n}, 3\), got \({n}, 3"
    ):
        rf.ProjectedSolid(solid, good[0])
    with pytest.raises(rf.InputError, match="basis must have 1 to 1024 vectors, got 0"):
        rf.ProjectedSolid(solid, good[:0])
    with pytest.raises(rf.InputError, match="basis must have 1 to 1024 vectors, got 1025"):
        rf.ProjectedSolid(solid, np.zeros((1025, n, 3)))
    with pytest.raises(rf.SingularMatrixError, match=r"basis\[2\] is a combination of those bef"):
        rf.ProjectedSolid(solid, [good[0], good[1], good[0] - 2 * good[1]])
    for fields in (1e200 * good, 1e200 * good[:1]):
        with pytest.raises(rf.InputError, match="reduced mass.* must be finite"):
            rf.ProjectedSolid(solid, fields)
    moved = good.copy()
    moved[1, solid.fixed[2], 0] = 1e-3
    with pytest.raises(rf.InputError, match=rf"basis\[1\] moves node {solid.fixed[2]}, which is"):
        rf.ProjectedSolid(solid, moved)
    with pytest.raises(rf.InputError, match=rf"basis\[1\] moves node {solid.fixed[2]}, which is"):
        _core.Projected(solid._core, moved, 1)
    for count in (0, 1025):
        with pytest.raises(rf.InputError, match=f"1 to 1024 vectors, got {count}"):
            _core.Projected(solid._core, np.zeros((count, n, 3)), 1)
    with pytest.raises(rf.InputTypeError, match="must be an array of real numbers, got Modes"):
        rf.ProjectedSolid(solid, solid.linear_modes(2))


def test_wrong_arguments(bent):
    projected, _, force = bent
    for method in ("internal_force", "stiffness", "displacement", "strain_energy"):
        with pytest.raises(rf.InputError, match=r"q must have shape \(9,\)"):
            getattr(projected, method)(np.zeros(8))
        with pytest.raises(rf.InputError, match=r"q\[3\] is nan"):
            getattr(projected, method)([0, 0, 0, np.nan, 0, 0, 0, 0, 0])
    with pytest.raises(rf.InputError, match="so large that the internal force is not finite"):
        projected.internal_force(np.full(9, 1e200))
    with pytest.raises(rf.InputError, match=r"force must have shape"):
        projected.project(force[:-1])
    with pytest.raises(rf.InputError, match=r"force must have shape \(9,\) \(reduced\) or"):
        rf.ImplicitNewmark(projected, 1e-3).step(np.ones(8))
    rate = rf.StrainRateDamping(projected.solid, 2.0, 1.0)
    with pytest.raises(rf.InputTypeError, match="must be a StrainRateDamping, got Reduced"):
        rf.ImplicitNewmark(projected, 1e-3, strain_rate=rate.reduce(projected.basis))
    other = rf.Solid(projected.mesh, projected.solid.materials, projected.solid.fixed)
    with pytest.raises(rf.InputError, match="strain_rate belongs to another solid"):
        rf.ImplicitNewmark(rf.ProjectedSolid(other, projected.basis), 1e-3, strain_rate=rate)
    for viscosity, message in (
        ([[1.0, 2.0, 3.0]], "viscosity must have shape"),
        ([[1.0, -1.0]], "psi"),
        ([[np.nan, 1.0]], r"viscosity\[0, 0\] is nan"),
    ):
        with pytest.raises(rf.InputError, match=message):
            newmark(projected._core, 1e-3, strain_rate=viscosity)
    with pytest.raises(rf.InputError, match="dt must be finite and positive"):
        rf.ImplicitNewmark(projected, 0.0)
    with pytest.raises(rf.InputTypeError, match="a ReducedSolid, a ProjectedSolid, a Solid or"):
        rf.ImplicitNewmark(projected.mesh, 1e-3)
    with pytest.raises(rf.InputTypeError, match="system must be the name of a kind of system, got"):
        newmark(projected.mesh._core, 1e-3)
