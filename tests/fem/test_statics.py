"""Static solutions, and which solids have one."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
import warnings

import numpy as np
import pytest
import scipy.sparse.linalg

import reducedfem as rf
from shapes import BOXES, box_hexes, box_tets

RUBBER = rf.StVK(1e5, 0.3, 1000.0)


def beam(make=box_hexes, n=(8, 2, 2), size=(0.8, 0.1, 0.1), quadrature=None):
    """A cantilever along x, clamped at x = 0."""
    nodes, elements = make(*n, size)
    return rf.Solid(rf.Mesh(nodes, elements), RUBBER, nodes[:, 0] == 0, quadrature)


def end_load(solid, total):
    """The same force at every node of the far end."""
    x = solid.mesh.nodes
    end = x[:, 0] > x[:, 0].max() - 1e-9
    load = np.zeros_like(x)
    load[end] = np.asarray(total) / end.sum()
    return load


def free_dofs(solid):
    return (3 * solid.free[:, None] + np.arange(3)).ravel()


def residual(solid, u, load):
    force = solid.internal_force(u)
    return np.linalg.norm((force - load)[solid.free]) / np.linalg.norm(force)


@pytest.mark.parametrize("make", BOXES.values())
def test_small_load_gives_the_linear_answer(make):
    solid = beam(make)
    load = end_load(solid, [0, 0, -1e-6])
    dofs = free_dofs(solid)
    K = solid.stiffness().to_scipy()[dofs][:, dofs]
    linear = np.zeros(solid.n_dofs)
    linear[dofs] = scipy.sparse.linalg.spsolve(K.tocsc(), load.ravel()[dofs])
    u = solid.solve_static(load)
    # the tip moves by some 1e-6 of the length: so much is nonlinear, at most
    assert np.abs(u.ravel() - linear).max() < 1e-5 * np.abs(linear).max()
    assert not u[solid.fixed].any()


@pytest.mark.parametrize("quadrature", [2, 3])
def test_large_load_in_one_step_or_many(quadrature):
    solid = beam(quadrature=quadrature)
    load = end_load(solid, [0.5, 0.3, -6.0])
    once, report = solid.solve_static(load, report=True)
    assert report.load_steps == 1
    assert report.iterations >= report.factorizations >= 4
    assert report.residual <= 1e-10
    # bent by more than half its length
    assert np.abs(once).max() > 0.4
    many, report = solid.solve_static(load, steps=5, report=True)
    assert report.load_steps == 5
    # both within 1e-10 of equilibrium; bending is some 1e3 softer than stretching
    assert np.abs(once - many).max() < 1e-7 * np.abs(once).max()
    for u in (once, many):
        assert residual(solid, u, load) < 2e-10
    # a solution is where it starts
    again, report = solid.solve_static(load, u0=once, report=True)
    assert report.iterations == 0
    np.testing.assert_array_equal(again, once)


def test_a_factor_serves_while_the_residual_falls_fast():
    """Two factorizations, at rest and after the first step, for all iterations."""
    solid = beam()
    load = end_load(solid, [0.0, 0.0, -0.05])
    u, report = solid.solve_static(load, report=True)
    assert report.factorizations == 2 < report.iterations
    assert report.residual <= 1e-10
    assert residual(solid, u, load) < 2e-10


def test_the_solution_is_a_minimum_of_the_potential(rng):
    solid = beam()
    load = end_load(solid, [0, 0, -1.0])
    u = solid.solve_static(load)

    def potential(v):
        return solid.strain_energy(v) - (load * v).sum()

    dofs = free_dofs(solid)
    K = solid.stiffness(u).to_scipy().toarray()[np.ix_(dofs, dofs)]
    assert np.linalg.eigvalsh(K).min() > 0
    for _ in range(5):
        v = np.zeros_like(u)
        v[solid.free] = 1e-3 * rng.standard_normal((len(solid.free), 3))
        assert potential(u + v) > potential(u)


def test_tolerance_is_kept():
    solid = beam()
    load = end_load(solid, [0, 0, -1.0])
    rough, few = solid.solve_static(load, tol=1e-2, report=True)
    _, many = solid.solve_static(load, tol=1e-12, report=True)
    assert few.iterations < many.iterations
    assert 1e-12 < residual(solid, rough, load) < 2e-2


def test_no_load_no_displacement():
    solid = beam()
    assert not solid.solve_static().any()
    assert not solid.solve_static(np.zeros((solid.mesh.n_nodes, 3))).any()


def test_prescribed_rigid_motion_carries_the_solid_along():
    """All fixed nodes move as a rigid body by 40 degrees, and the solid follows."""
    solid = beam(box_tets)
    c, s = np.cos(0.7), np.sin(0.7)
    x = solid.mesh.nodes
    rigid = x @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]).T - x + [0.1, -0.2, 0.05]
    u = solid.solve_static(prescribed=rigid)
    # no strain anywhere: forces are rounding, 1e-9 of what the motion would do as a strain
    np.testing.assert_allclose(u, rigid, atol=1e-8)


def test_prescribed_stretch_is_uniform():
    """Both ends pulled apart with free sides: a uniaxial state away from the clamps."""
    nodes, elements = box_hexes(4, 1, 1, (1.0, 0.2, 0.2))
    mesh = rf.Mesh(nodes, elements)
    free_of_poisson = rf.StVK(1e5, 0.0, 1000.0)
    ends = (nodes[:, 0] == 0) | (nodes[:, 0] == 1)
    solid = rf.Solid(mesh, free_of_poisson, fixed=ends)
    move = np.zeros_like(nodes)
    move[nodes[:, 0] == 1, 0] = 0.5
    u = solid.solve_static(prescribed=move, steps=2)
    np.testing.assert_allclose(u, 0.5 * nodes * [1, 0, 0], atol=1e-9)
    pull = solid.internal_force(u)[nodes[:, 0] == 1, 0].sum()
    # E A s (s^2 - 1)/2 at s = 1.5
    assert pull == pytest.approx(1e5 * 0.04 * 1.5 * 1.25 / 2, rel=1e-8)


def test_all_nodes_fixed_take_what_is_prescribed(rng):
    mesh = rf.Mesh(*box_hexes(1, 1, 1))
    solid = rf.Solid(mesh, RUBBER, fixed=np.arange(8))
    move = 0.1 * rng.standard_normal((8, 3))
    np.testing.assert_array_equal(solid.solve_static(prescribed=move), move)


def test_past_the_critical_load_the_tangent_is_shifted():
    """A column compressed beyond Euler's load: the straight branch is no minimum."""
    solid = beam(n=(10, 1, 1), size=(1.0, 0.1, 0.1))
    # Euler: pi^2 E I / (4 L^2) = 2.1 N; the side load is along no symmetric axis but one
    load = end_load(solid, [-4.0, 0.01, 0.01])
    u, report = solid.solve_static(load, report=True)
    assert report.shifted > 0
    assert report.factorizations > report.iterations
    assert residual(solid, u, load) < 2e-10
    dofs = free_dofs(solid)
    K = solid.stiffness(u).to_scipy().toarray()[np.ix_(dofs, dofs)]
    assert np.linalg.eigvalsh(K).min() > 0
    assert np.abs(u[:, 2]).max() > 0.1  # it has bent away


# --- failure and interruption ------------------------------------------------------------------


def test_a_failure_is_reported_and_leaves_the_solid_usable():
    solid = beam()
    load = end_load(solid, [0, 0, -1.5])
    before = solid.solve_static(load)
    with pytest.raises(rf.ConvergenceError, match=r"limit of 2 iterations.*residual") as failure:
        solid.solve_static(load, max_iterations=2)
    assert "load step 1 of 1" in str(failure.value)
    assert "2 iterations in all" in str(failure.value)
    assert "more steps" in str(failure.value)
    np.testing.assert_array_equal(solid.solve_static(load), before)


def test_a_load_without_equilibrium():
    """Crushing beyond the law's peak: an answer or a clear failure, in finite time."""
    solid = beam(n=(2, 1, 1), size=(0.2, 0.1, 0.1))
    load = end_load(solid, [-1e6, 0, 0])
    try:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            u = solid.solve_static(load, max_iterations=60)
    except rf.ConvergenceError:
        pass
    else:
        assert "inside out" in str(found[0].message)
        assert residual(solid, u, load) < 2e-10
    assert np.isfinite(solid.solve_static(end_load(solid, [0, 0, -1e-3]))).all()


def test_progress_counts_load_steps():
    solid = beam()
    calls = []
    solid.solve_static(
        end_load(solid, [0, 0, -0.5]), steps=3, progress=lambda *count: calls.append(count)
    )
    assert calls[-1] == (300, 300)
    assert all(0 <= done <= total == 300 for done, total in calls)


def test_progress_counts_iterations_of_a_single_load_step(monkeypatch):
    """Newton iterations within one load step advance the progress."""
    # iterations that take longer than the period in which callables are called
    solid = beam(n=(60, 12, 12), size=(4.0, 0.3, 0.3))
    calls = []
    _, report = solid.solve_static(
        end_load(solid, [0, 0, -0.5]), report=True, progress=lambda *count: calls.append(count)
    )
    assert report.load_steps == 1
    done = [count for count, _ in calls]
    assert done == sorted(done)
    assert len({count for count in done if 0 < count < 100}) >= 1


def test_a_progress_callable_may_stop_it():
    solid = beam()
    load = end_load(solid, [0, 0, -0.5])
    expected = solid.solve_static(load)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solid.solve_static(load, progress=stop)
    np.testing.assert_array_equal(solid.solve_static(load), expected)


def test_ctrl_c_stops_a_long_solution():
    # slow enough that the signal comes while C is at work
    solid = beam(n=(40, 6, 6), size=(4.0, 0.3, 0.3))
    load = end_load(solid, [0, 0, -1.0])
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))

    def solve():
        timer.start()  # here, since the signal may come at once where the machine pauses
        solid.solve_static(load, steps=10_000)

    with pytest.raises(KeyboardInterrupt):
        solve()
    timer.join()
    assert np.isfinite(solid.internal_force(load)).all()


@pytest.mark.parametrize(
    ("argument", "value", "error", "message"),
    [
        ("tol", 0.0, rf.InputError, "tol must be finite and positive, got 0"),
        ("tol", -1e-3, rf.InputError, "tol"),
        ("tol", np.nan, rf.InputError, "tol must be finite"),
        ("tol", "small", rf.InputTypeError, "tol must be a number"),
        ("steps", 0, rf.InputError, "steps must be between 1"),
        ("steps", 1.5, rf.InputTypeError, "steps must be an int"),
        ("max_iterations", -1, rf.InputError, "max_iterations"),
        ("force", np.zeros((3, 3)), rf.InputError, r"force must have shape \(81, 3\)"),
        ("prescribed", np.zeros((80, 3)), rf.InputError, "prescribed must have shape"),
        ("u0", np.full((81, 3), np.inf), rf.InputError, r"u0\[0, 0\] is inf"),
        ("progress", 3, rf.InputTypeError, "progress must be"),
        ("report", "no", rf.InputTypeError, "report must be True or False, got str"),
        (
            "force",
            beam().mesh,
            rf.InputTypeError,
            r"force must be an array of real numbers, got Mesh; .*\.nodes",
        ),
    ],
)
def test_bad_arguments(argument, value, error, message):
    solid = beam()
    with pytest.raises(error, match=message):
        solid.solve_static(**{argument: value})


# --- parts that are not held --------------------------------------------------------------------


def solve(nodes, elements, fixed):
    solid = rf.Solid(rf.Mesh(nodes, elements), RUBBER, fixed)
    load = np.zeros_like(solid.mesh.nodes)
    load[:, 2] = -1e-3
    return solid.solve_static(load)


def test_free_solids_are_refused():
    with pytest.raises(rf.MeshError, match="no fixed nodes, so loads move it away"):
        solve(*box_hexes(2, 1, 1), None)


def test_fewer_than_three_fixed_nodes():
    nodes, elements = box_hexes(2, 1, 1)
    with pytest.raises(rf.MeshError, match="has 2 fixed nodes; fix at least three non-collinear"):
        solve(nodes, elements, [0, 5])
    with pytest.raises(rf.MeshError, match="has 1 fixed node; fix"):
        solve(nodes, elements, [0])
    in_a_row = np.flatnonzero((nodes[:, 1] == 0) & (nodes[:, 2] == 0))
    assert len(in_a_row) == 3
    with pytest.raises(rf.MeshError, match="has 3 fixed nodes, all on one line"):
        solve(nodes, elements, in_a_row)
    # three that are not on a line do hold it
    assert np.isfinite(solve(nodes, elements, [0, 1, 3])).all()


def test_a_part_without_fixed_nodes_is_named():
    nodes, elements = box_hexes(2, 1, 1)
    far = np.add(nodes, [5.0, 0, 0])
    both = np.vstack([nodes, far])
    all_elements = np.vstack([elements, elements + len(nodes)])
    left = np.flatnonzero(nodes[:, 0] == 0)
    with pytest.raises(
        rf.MeshError, match=r"connected to no other \(2 of 4 elements, with element 2 and node 12\)"
    ):
        solve(both, all_elements, left)
    assert np.isfinite(solve(both, all_elements, [*left, *(left + len(nodes))])).all()


def glued(*boxes):
    """Boxes of hexahedra at integer places, with coinciding nodes merged."""
    nodes = np.vstack([x + place for (x, _), place in boxes])
    start = np.cumsum([0] + [len(x) for (x, _), _ in boxes[:-1]])
    elements = np.vstack([e + s for ((_, e), _), s in zip(boxes, start, strict=True)])
    merged, place = np.unique(np.round(nodes, 9), axis=0, return_inverse=True)
    return merged, place.ravel()[elements]


CUBE = box_hexes(1, 1, 1)


def test_a_hinge_is_found():
    """Two cubes that share an edge only: the second swings about it."""
    nodes, elements = glued((CUBE, [0, 0, 0]), (CUBE, [1, 1, 0]))
    assert len(nodes) == 14
    bottom = np.flatnonzero((nodes[:, 2] == 0) & (nodes.max(1) <= 1))
    with pytest.raises(rf.MeshError, match=r"1 of 2 elements, with element 1.*swing"):
        solve(nodes, elements, bottom)
    # one more fixed node, off the hinge, and it is held
    off = np.flatnonzero(np.all(nodes == [2, 2, 0], axis=1))
    assert np.isfinite(solve(nodes, elements, [*bottom, *off])).all()


def test_a_ball_joint_is_found():
    nodes, elements = glued((CUBE, [0, 0, 0]), (CUBE, [1, 1, 1]))
    assert len(nodes) == 15
    bottom = np.flatnonzero((nodes[:, 2] == 0) & (nodes.max(1) <= 1))
    with pytest.raises(rf.MeshError, match="swing about"):
        solve(nodes, elements, bottom)


def test_parts_that_hold_each_other_are_accepted():
    """A ring of cubes joined by hinges that brace each other: no rigid motion is left."""
    # hinges about z (twice) and about x: the last cube hangs on two hinges that cross
    nodes, elements = glued((CUBE, [0, 0, 0]), (CUBE, [1, 0, 1]), (CUBE, [0, 1, 1]))
    bottom = np.flatnonzero(nodes[:, 2] == 0)
    # cubes 1 and 2 each hinge on cube 0 and share the vertical edge x = y = 1
    assert np.isfinite(solve(nodes, elements, bottom)).all()


def test_a_chain_of_hinges_with_a_mechanism_is_refused():
    nodes, elements = glued((CUBE, [0, 0, 0]), (CUBE, [1, 1, 0]), (CUBE, [2, 2, 0]))
    ends = np.flatnonzero((nodes[:, 2] == 0) & (nodes.max(1) <= 1))
    other = np.flatnonzero(np.all(nodes >= [2, 2, 0], axis=1))
    # both ends held: the middle one has two parallel hinges, which hold it
    assert np.isfinite(solve(nodes, elements, [*ends, *other])).all()
    with pytest.raises(rf.MeshError, match="swing"):
        solve(nodes, elements, ends)


@pytest.mark.filterwarnings("ignore::reducedfem.PlausibilityWarning")  # it is 6 km long
def test_a_long_chain_numbered_against_the_scan_is_settled_at_once():
    """Cubes that share edges, a far edge of each fixed: each is held by the one before it."""
    count = 6000
    nodes, elements = glued(*((CUBE, [k, k, 0]) for k in range(count)))
    corner = np.flatnonzero((nodes[:, 0] == nodes[:, 1] + 1) & (nodes[:, 2] == 0))
    # nodes ascend along the chain, which is held from its far end
    start = np.flatnonzero(nodes[:, :2].min(1) >= count - 1)
    solid = rf.Solid(rf.Mesh(nodes, elements), RUBBER, np.union1d(corner, start))
    took = []
    for _ in range(3):  # others may be at work meanwhile
        begin = time.process_time()
        solid._core.require_held()
        took.append(time.process_time() - begin)
    # milliseconds; rescans of all nodes took seconds
    assert min(took) < 1.0


@pytest.mark.parametrize("seed", range(6))
def test_the_test_of_supports_agrees_with_the_rank_of_the_stiffness(seed):
    """Random heaps of cubes: refused exactly when the free stiffness is singular."""
    rng = np.random.default_rng(seed)
    seen = set()
    for _ in range(15):
        cells = rng.permutation(27)[: rng.integers(2, 9)]
        places = np.stack(np.unravel_index(cells, (3, 3, 3)), axis=1)
        nodes, elements = glued(*((CUBE, place) for place in places))
        fixed = rng.permutation(len(nodes))[: rng.integers(3, 9)]
        solid = rf.Solid(rf.Mesh(nodes, elements), RUBBER, fixed)
        dofs = free_dofs(solid)
        values = np.linalg.eigvalsh(solid.stiffness().to_dense()[np.ix_(dofs, dofs)])
        # the softest motion with strain is 1e-4 of the stiffest or more on so few cubes
        regular = values[0] > 1e-9 * values[-1]
        seen.add(regular)
        if regular:
            solid._core.require_held()
        else:
            with pytest.raises(rf.MeshError):
                solid._core.require_held()
    assert seen == {True, False}


def test_solving_leaves_no_trace_on_the_solid():
    """A solid may be shared by threads: a solution does not change it."""
    solid = beam()
    before = pickle.dumps(solid)
    u, report = solid.solve_static(end_load(solid, [0, 0, -0.5]), report=True)
    assert isinstance(report, rf.StaticReport)
    assert report.iterations > 0
    np.testing.assert_array_equal(solid.solve_static(end_load(solid, [0, 0, -0.5])), u)
    assert pickle.dumps(solid) == before
    assert not hasattr(solid, "__dict__")
    for name in type(solid).__slots__:
        assert "report" not in name
