"""Static solutions under loads that may be too large: the whole answer, or how far it went."""

from __future__ import annotations

import copy
import pickle
import time

import numpy as np
import pytest

import reducedfem as rf
from reducedfem import _core
from shapes import solid_box

# lambda = 0, 2 mu = young: a tetrahedron pressed on its apex keeps its sides
CORK = rf.StVK(1e5, 0.0, 1000.0)


def spike(height=0.3):
    """One tetrahedron, its base fixed: F = diag(1, 1, s) under a force on its apex."""
    nodes = np.array([[0.0, 0, 0], [0.2, 0, 0], [0, 0.2, 0], [0.07, 0.07, height]])
    return rf.Solid(rf.Mesh(nodes, [[0, 1, 2, 3]]), CORK, fixed=[0, 1, 2])


def apex_force(solid, stretch):
    """P V / h with P = (lambda + 2 mu) (s^3 - s) / 2: the confined law."""
    return 0.5 * 1e5 * (stretch**3 - stretch) * solid.volume / solid.mesh.nodes[3, 2]


def pressed(solid, force):
    load = np.zeros((4, 3))
    load[3, 2] = force
    return load


@pytest.mark.parametrize("stretch", [0.62, 0.7, 0.9, 1.5, 3.0])
def test_confined_law_on_its_stable_branch(stretch):
    solid = spike()
    u, report = solid.solve_static(
        pressed(solid, apex_force(solid, stretch)), adaptive=True, report=True
    )
    assert report.fraction == 1.0
    # residuals of 1e-10 over a slope that is smallest near the peak: 0.15 of that at rest
    assert u[3, 2] == pytest.approx(0.3 * (stretch - 1.0), rel=1e-8)


@pytest.mark.parametrize("times", [1.01, 3.0, 20.0])
def test_beyond_the_peak_the_fraction_reached_is_that_of_the_peak(times):
    """Beyond s = 1 / sqrt(3) the law has no equilibrium except an inverted one."""
    solid = spike()
    peak = apex_force(solid, 1.0 / np.sqrt(3.0))
    load = pressed(solid, times * peak)
    # without adaptive steps the answer is one that no body gives
    with pytest.warns(rf.PlausibilityWarning, match=r"1 of 1 elements are inside out.*StVK"):
        wrong, report = solid.solve_static(load, report=True)
    assert report.inverted == 1
    assert wrong[3, 2] < -0.3
    with pytest.raises(rf.StaticConvergenceError, match=r"of the load only") as failure:
        solid.solve_static(load, adaptive=True)
    found = failure.value
    # an iterate near the inverted branch is rejected: the message has its own residual
    assert "1 element turns inside out" in str(found)
    assert found.report.residual <= 1e-3
    # the smallest load step is 1/1024; the peak lies within one of them
    assert 1.0 / times - 1.0 / 1024 <= found.report.fraction <= 1.0 / times
    assert f"{found.report.fraction:.6g}" in str(found)
    assert found.report.cuts > 0
    # the state reached is an equilibrium of that part of the load, with s > 1 / sqrt(3)
    stretch = 1.0 + found.displacement[3, 2] / 0.3
    assert 1.0 / np.sqrt(3.0) < stretch < 1.0
    reached = found.report.fraction * load[3, 2]
    assert apex_force(solid, stretch) == pytest.approx(reached, rel=1e-8)
    assert isinstance(found, rf.ConvergenceError)


def test_the_error_keeps_its_contents_when_it_is_copied():
    solid = spike()
    load = pressed(solid, 3.0 * apex_force(solid, 1.0 / np.sqrt(3.0)))
    with pytest.raises(rf.StaticConvergenceError) as failure:
        solid.solve_static(load, adaptive=True)
    for other in (pickle.loads(pickle.dumps(failure.value)), copy.copy(failure.value)):
        assert str(other) == str(failure.value)
        assert other.report == failure.value.report
        np.testing.assert_array_equal(other.displacement, failure.value.displacement)


def test_a_failure_without_adaptive_steps_keeps_the_last_load_step():
    solid = beam()
    load = end_load(solid, 6.0)
    half = solid.solve_static(0.5 * load)
    # the first step ends where it begins, the second takes several iterations
    with pytest.raises(rf.StaticConvergenceError, match="load step 2 of 2") as failure:
        solid.solve_static(load, steps=2, u0=half, max_iterations=1)
    assert failure.value.report.fraction == 0.5
    np.testing.assert_array_equal(failure.value.displacement, half)
    with pytest.raises(rf.StaticConvergenceError, match="step 1 of 1.*adaptive=True") as failure:
        solid.solve_static(load, max_iterations=1)
    assert failure.value.report.fraction == 0.0
    assert not failure.value.displacement.any()


def beam():
    return solid_box((8, 2, 2), (0.8, 0.1, 0.1), rf.StVK(1e6, 0.3, 1000.0))


def end_load(solid, total):
    x = solid.mesh.nodes
    load = np.zeros_like(x)
    load[x[:, 0] > 0.79, 2] = total / 9
    return load


def test_steps_that_fail_are_halved_and_grow_again():
    """Few iterations allowed: only small load steps converge; the answer is that of one step."""
    solid = beam()
    load = end_load(solid, 30.0)
    whole = solid.solve_static(load, tol=1e-12)
    u, report = solid.solve_static(load, tol=1e-12, max_iterations=5, adaptive=True, report=True)
    assert report.cuts >= 1
    # a step that failed once is at most half the load: more than two say that it went on
    assert report.load_steps >= 2
    assert report.fraction == 1.0
    np.testing.assert_allclose(u, whole, atol=1e-10)
    # without failures no step is cut, and the bits are those of the plain solution
    same, report = solid.solve_static(load, tol=1e-12, adaptive=True, report=True)
    np.testing.assert_array_equal(same, whole)
    assert (report.cuts, report.load_steps) == (0, 1)


def test_prescribed_displacements_go_in_the_same_parts():
    solid = spike()
    move = np.zeros((4, 3))
    move[:3] = [0.01, -0.02, 0.03]
    u = solid.solve_static(None, prescribed=move, adaptive=True)
    # the whole moves rigidly
    np.testing.assert_allclose(u, np.broadcast_to(move[0], (4, 3)), atol=1e-12)


def test_adaptive_is_a_flag():
    with pytest.raises(rf.InputTypeError, match="adaptive must be True or False"):
        spike().solve_static(None, adaptive=3)


# --- many loads at once --------------------------------------------------------------------------


def nodal_loads(loads):
    """Dense loads (m, n, 3) in the form of the core: every node, no patterns."""
    m, n, _ = loads.shape
    return (
        np.arange(m + 1) * n,
        np.tile(np.arange(n), m),
        loads.reshape(-1, 3),
        np.zeros((0, n, 3)),
        np.zeros((m, 0)),
    )


def test_many_loads_are_single_loads_bit_for_bit(rng):
    solid = beam()
    loads = np.array([end_load(solid, total) for total in (0.5, -3.0, 8.0, 12.0)])
    loads[..., 1] += 0.01 * rng.standard_normal(loads.shape[:2])
    expected = [solid.solve_static(load, adaptive=True) for load in loads]
    for threads in (1, 2, 3):
        u, found, fraction, iterations, shifted = solid._core.solve_loads(
            nodal_loads(loads), 1e-10, 1, 200, 10, None, threads
        )
        np.testing.assert_array_equal(u, expected)
        assert found.tolist() == [1, 1, 1, 1]
        assert fraction.tolist() == [1.0] * 4
        assert (iterations > 2).all()
        assert (shifted == 0).all()


def test_a_load_that_fails_does_not_spoil_the_others():
    solid = spike()
    peak = apex_force(solid, 1.0 / np.sqrt(3.0))
    loads = np.array([pressed(solid, part * peak) for part in (0.5, 4.0, -1.0)])
    u, found, fraction, *_ = solid._core.solve_loads(nodal_loads(loads), 1e-10, 1, 100, 10, None, 2)
    assert found.tolist() == [1, 0, 1]
    # a failed step is halved until it is a thirty-second of what was reached
    assert 0.25 * (1.0 - 1.0 / 32) <= fraction[1] <= 0.25
    stretch = 1.0 + u[1, 3, 2] / 0.3
    assert apex_force(solid, stretch) == pytest.approx(fraction[1] * loads[1, 3, 2], rel=1e-8)


@pytest.mark.parametrize("threads", [1, 2])
def test_multiples_continue_from_the_load_before(threads):
    """A load is not tried if a smaller multiple of it has failed."""
    solid = spike()
    peak = apex_force(solid, 1.0 / np.sqrt(3.0))
    loads = np.array([pressed(solid, part * peak) for part in (0.4, 0.8, 2.0, 4.0, 0.5)])
    u, found, fraction, iterations, _ = solid._core.solve_loads(
        nodal_loads(loads), 1e-10, 1, 100, 10, None, threads
    )
    assert found.tolist() == [1, 1, 0, 0, 1]
    assert 0.5 * (1.0 - 1.0 / 32) <= fraction[2] <= 0.5
    assert fraction[3] == 0.5 * fraction[2]
    assert iterations[3] == 0
    np.testing.assert_array_equal(u[3], u[2])
    for which, part in ((0, 1.0), (1, 1.0), (2, fraction[2]), (4, 1.0)):
        stretch = 1.0 + u[which, 3, 2] / 0.3
        assert apex_force(solid, stretch) == pytest.approx(part * loads[which, 3, 2], rel=1e-8)


def test_steps_that_end_at_the_limit_of_iterations_do_not_fail_a_load():
    """Shorter steps need fewer: a thirty-second of the load is no limit of what can be reached."""
    solid = beam()
    loads = np.array([end_load(solid, total) for total in (15.0, 30.0)])
    u, found, fraction, *_ = solid._core.solve_loads(nodal_loads(loads), 1e-10, 1, 3, 10, None, 2)
    assert found.tolist() == [1, 1]
    assert fraction.tolist() == [1.0, 1.0]
    for which in range(2):
        # both meet a residual of 1e-10
        np.testing.assert_allclose(u[which], solid.solve_static(loads[which]), atol=1e-9)


def test_patterns_add_to_forces_at_nodes(rng):
    solid = beam()
    n = solid.mesh.n_nodes
    patterns = rng.standard_normal((2, n, 3))
    coordinates = np.array([[0.01, -0.02], [0.0, 0.03]])
    ptr, node = [0, 2, 3], [n - 1, n - 1, 4]
    force = rng.standard_normal((3, 3))
    loads = (ptr, node, force, patterns, coordinates)
    dense = np.einsum("sp,pnc->snc", coordinates, patterns)
    dense[0, n - 1] += force[0] + force[1]  # a node named twice
    dense[1, 4] += force[2]
    # sums of three numbers in another order
    np.testing.assert_allclose(
        _core.dense_loads(loads, n), dense.reshape(2, -1), rtol=0, atol=1e-15
    )
    u, found, *_ = solid._core.solve_loads(loads, 1e-10, 1, 200, 10, None, 2)
    assert found.all()
    for which in range(2):
        # both meet a residual of 1e-10
        np.testing.assert_allclose(u[which], solid.solve_static(dense[which]), atol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({0: [0, 2]}, "node must have shape"),
        ({0: [1, 1]}, "ptr must begin with 0"),
        ({0: [0, 1, 0]}, "ptr must begin with 0 and not descend"),
        ({1: [81]}, r"node\[0\] is 81"),
        ({2: [[0, np.nan, 0]]}, r"force\[0, 1\] is nan"),
        ({3: np.zeros((1, 4, 3))}, "patterns must have shape"),
        ({4: np.zeros((1, 2))}, "coordinates must have shape"),
    ],
)
def test_the_core_refuses_malformed_loads(change, message):
    solid = beam()
    n = solid.mesh.n_nodes
    assert n == 81
    loads = [[0, 1], [3], [[0.0, 0.0, 1.0]], np.zeros((0, n, 3)), np.zeros((1, 0))]
    for place, value in change.items():
        loads[place] = value
    with pytest.raises(rf.InputError, match=message):
        solid._core.solve_loads(tuple(loads), 1e-10, 1, 200, 10, None, 1)


def test_progress_counts_loads_and_can_stop():
    solid = beam()
    loads = nodal_loads(np.array([end_load(solid, 1.0 + i) for i in range(6)]))
    calls = []
    solid._core.solve_loads(
        loads, 1e-10, 1, 200, 10, lambda done, total: calls.append((done, total)), 2
    )
    assert calls[-1] == (600, 600)
    assert calls == sorted(calls)

    def stop(done, total):
        raise KeyboardInterrupt

    big = nodal_loads(np.array([end_load(solid, 1.0 + i % 7) for i in range(400)]))
    with pytest.raises(KeyboardInterrupt):
        solid._core.solve_loads(big, 1e-10, 1, 200, 10, stop, 2)
    assert np.isfinite(solid.solve_static(end_load(solid, 1.0))).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_progress_does_not_exceed_the_whole(threads):
    """Steps grow again after failures: more are cut than a load can be halved."""
    solid, calls = beam(), []
    loads = nodal_loads(np.array([end_load(solid, total) for total in (30.0, -60.0)]))
    solid._core.solve_loads(
        loads, 1e-10, 1, 5, 10, lambda done, total: calls.append((done, total)), threads
    )
    assert len(calls) > 1
    assert calls == sorted(calls)
    assert calls[-1] == (200, 200)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_callback_that_raises_is_not_called_again(threads):
    class Stop(Exception):
        pass

    calls = []

    def stop(done, total):
        calls.append(done)
        time.sleep(0.08)  # longer than the shortest time between calls
        raise Stop

    solid = beam()
    loads = np.array([end_load(solid, total) for total in (30.0, -60.0) * 3])
    with pytest.raises(Stop):
        solid._core.solve_loads(nodal_loads(loads), 1e-10, 1, 5, 10, stop, threads)
    assert len(calls) == 1
