"""Green's functions whose supports were released for good, against those made without them."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

import reducedfem as rf
from failures import fail_each_allocation
from graded import graded_box
from shapes import box_hexes

LAW = rf.StVK(1e5, 0.3, 1000.0)
Array = NDArray[np.float64]


def beam(fixed, n=(8, 4, 2)) -> rf.Solid:
    """Return a beam with the nodes at some of the ends "l" (x = 0) and "r" fixed."""
    nodes, elements = box_hexes(*n, (0.16, 0.08, 0.04))
    ends = {"l": nodes[:, 0] < 1e-9, "r": nodes[:, 0] > 0.16 - 1e-9}
    return rf.Solid(rf.Mesh(nodes, elements), LAW, fixed=sum(ends[k] for k in fixed) > 0)


def end(solid: rf.Solid) -> NDArray[np.int64]:
    return np.asarray([k for k in solid.fixed if solid.mesh.nodes[k, 0] > 0.1])


def whole(green: rf.GreensFunctions, matrix: Array | None = None) -> Array:
    """Return G in ascending order of the nodes."""
    rows = (3 * np.argsort(green.nodes)[:, None] + np.arange(3)).ravel()
    return (green.matrix if matrix is None else matrix)[np.ix_(rows, rows)].astype(float)


def relative(a, b):
    return np.abs(a - b).max() / np.abs(b).max()


@pytest.fixture(scope="module")
def solid():
    return beam("lr")


@pytest.fixture(scope="module")
def green(solid):
    return rf.GreensFunctions(solid, releasable=solid.fixed)


@pytest.fixture(scope="module")
def anew():
    free = beam("l")
    return rf.GreensFunctions(free, releasable=free.fixed)


@pytest.fixture(scope="module")
def left(green, solid):
    return green.released(end(solid))


def test_a_release_gives_the_functions_of_a_solid_without_the_supports(green, left, anew, solid):
    np.testing.assert_array_equal(np.sort(left.nodes), anew.nodes)
    np.testing.assert_array_equal(left.nodes[: len(green.nodes)], green.nodes)
    np.testing.assert_array_equal(left.positions, solid.mesh.nodes[left.nodes])
    np.testing.assert_array_equal(left.releasable, anew.releasable)
    assert relative(whole(left), whole(anew)) < 1e-12
    assert relative(left._core.support, anew._core.support) < 1e-12
    np.testing.assert_array_equal(left.matrix, left.matrix.T)
    # a release softens: the difference has no negative eigenvalue
    s = 3 * len(green.nodes)
    more = np.linalg.eigvalsh(left.matrix[:s, :s] - green.matrix)
    assert more[0] > -1e-12 * more[-1]


def test_releases_one_by_one_are_that_of_all(green, anew, solid):
    nodes = end(solid)
    one_by_one = green.released(nodes[3:4]).released(nodes[4:]).released(nodes[:3])
    assert relative(whole(one_by_one), whole(anew)) < 1e-12
    assert relative(one_by_one._core.support, anew._core.support) < 1e-11
    # a mask names the same nodes
    mask = np.zeros(solid.mesh.n_nodes, dtype=bool)
    mask[nodes] = True
    np.testing.assert_array_equal(green.released(mask).matrix, green.released(nodes[::-1]).matrix)


def test_all_methods_answer_as_of_a_solid_without_the_supports(green, left, anew, solid):
    rng = np.random.default_rng(3)
    order = np.argsort(left.nodes)
    load = rng.normal(size=(len(left.nodes), 3))
    np.testing.assert_allclose(
        left.displacement(load)[order], anew.displacement(load[order]), rtol=0, atol=1e-12
    )
    some = np.r_[end(solid)[:2], left.nodes[[5, 40]]]
    force = rng.normal(size=(4, 3))
    np.testing.assert_allclose(
        left.displacement(force, some)[order], anew.displacement(force, some), rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(left.column(some[0], 2)[order], anew.column(some[0], 2), atol=1e-15)
    held = {int(k): rng.normal(size=3) for k in some}
    ours, theirs = left.solve(held, force=load), anew.solve(held, force=load[order])
    assert relative(ours.u[order], theirs.u) < 1e-10
    assert relative(ours.force, theirs.force) < 1e-10
    # and with more of them released, for once
    more = left.releasable[:2]
    ours, theirs = left.solve(held, released=more), anew.solve(held, released=more)
    assert relative(ours.force, theirs.force) < 1e-10
    press = (some, np.tile([0.0, 0, 1], (4, 1)), np.full(4, -1e-3), 0.3)
    assert relative(left.contact(*press).force, anew.contact(*press).force) < 1e-8
    fast = [one.contacts() for one in (left, anew)]
    for contacts in fast:
        for node in some:
            contacts.add(int(node))
    way = rng.normal(size=(4, 3))
    assert relative(fast[0].solve(way), fast[1].solve(way)) < 1e-9
    # as `released` of the original, at its nodes
    once = green.solve(force=load[: len(green.nodes)], released=end(solid))
    load[len(green.nodes) :] = 0.0
    u = left.displacement(load)
    assert relative(u[: len(green.nodes)], once.u) < 1e-12
    assert relative(u[len(green.nodes) :], once.released) < 1e-12


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("tolerance", [None, 1e-2])
def test_entries_are_shared_in_any_form(dtype, tolerance):
    """The error of packed and of single entries stays what it was."""
    solid, n = beam("lr", (14, 5, 2)), (14, 5, 2)
    green = rf.GreensFunctions(solid, releasable=solid.fixed, dtype=dtype, tolerance=tolerance)
    exact = rf.GreensFunctions(solid).matrix
    left, free = green.released(end(solid)), rf.GreensFunctions(beam("l", n))
    assert left.dtype == dtype
    assert left.tolerance == tolerance
    s, rows = 3 * len(green.nodes), np.searchsorted(free.nodes, left.nodes)
    expected = free.matrix.reshape(len(rows), 3, -1, 3)[rows][:, :, rows].reshape(3 * len(rows), -1)
    error = left.matrix - expected
    rounding = 1e-12 if dtype == "float64" else 2e-7
    top = np.abs(expected).max()
    before = np.abs(green.matrix - exact).max()
    np.testing.assert_allclose(error[:s, :s], green.matrix - exact, rtol=0, atol=rounding * top)
    assert np.abs(error[s:]).max() < rounding * top
    assert (before > 1e-5 * np.abs(exact).max()) == (tolerance is not None)
    force = np.random.default_rng(1).normal(size=(len(left.nodes), 3))
    u = left.displacement(force)
    assert relative(u.ravel(), left.matrix @ force.ravel()) < (1e-6 if rounding > 1e-9 else 1e-12)
    # memory: nothing but the new columns
    more = 24.0 * (len(left.nodes) + 16) * (3 * len(end(solid)) + 3 * len(left.releasable))
    assert left.bytes - green.bytes < more


def test_parts_that_need_a_lift_are_lifted_after_a_release_too():
    """Displacements by the forces that were found are those that were asked for."""
    nodes, elements = box_hexes(20, 8, 1, (1.0, 0.4, 0.05))
    ends = (nodes[:, 0] < 1e-9) | (nodes[:, 0] > 1.0 - 1e-9)
    plate = rf.Solid(rf.Mesh(nodes, elements), LAW, fixed=ends)
    green = rf.GreensFunctions(plate, releasable=plate.fixed, tolerance=0.3)
    left = green.released(end(plate)[nodes[end(plate), 0] > 0.5])
    with pytest.warns(rf.PlausibilityWarning, match="tolerance"):
        out = left.solve({int(node): (0.0, 0.0, -1e-3) for node in left.nodes})
    assert out.lift > 0.0
    G, before = left.matrix, green.matrix
    _, begin, place, _ = left._core.packed
    for a, b in pairwise(begin):
        rows = (3 * place[a:b, None] + np.arange(3)).ravel()
        G[np.ix_(rows, rows)] += out.lift * before[np.ix_(rows, rows)]
    np.testing.assert_allclose(G @ out.force.ravel(), out.u.ravel(), rtol=0, atol=1e-9)


def test_graded_solids_may_be_released():
    mesh = graded_box((6, 5, 5))
    x = mesh.nodes[:, 0]
    low, high = x < 1e-9, x > x.max() - 1e-9
    both, one = (rf.Solid(mesh, LAW, fixed=fixed) for fixed in (low | high, low))
    nodes = np.setdiff1d(mesh.boundary_nodes, both.fixed)
    can = np.setdiff1d(np.flatnonzero(high), both.mesh.constraints.slaves)
    left = rf.GreensFunctions(both, nodes, releasable=can).released(can)
    free = rf.GreensFunctions(one, np.r_[nodes, can])
    assert relative(whole(left), free.matrix) < 1e-11


def test_other_nodes_and_last_supports_are_refused(green, left, solid):
    inside = int(green.nodes[0])
    with pytest.raises(rf.InputError, match=f"nodes names node {inside}, .* 30 releasable nodes"):
        green.released([inside])
    gone = end(solid)[0]
    with pytest.raises(rf.InputError, match=f"nodes names node {gone}, .* 15 releasable nodes"):
        left.released([gone])
    with pytest.raises(rf.InputError, match="nodes selects no node"):
        green.released([])
    with pytest.raises(rf.InputError, match="more than once"):
        green.released([gone, gone])
    with pytest.raises(rf.SingularMatrixError, match="could move as a rigid body"):
        green.released(solid.fixed)
    with pytest.raises(rf.SingularMatrixError, match="could move as a rigid body"):
        left.released(left.releasable[2:])  # two stay: a hinge


def test_two_nodes_at_the_end_of_a_long_beam_hold_nothing(tmp_path):
    """Rounding errors of the other end, with long levers, leave a stiffness that is not there."""
    nodes, elements = box_hexes(40, 1, 1, (4.0, 0.02, 0.02))
    ends = (nodes[:, 0] < 1e-9) | (nodes[:, 0] > 4.0 - 1e-9)
    solid = rf.Solid(rf.Mesh(nodes, elements), LAW, fixed=ends)
    left = rf.GreensFunctions(solid, releasable=solid.fixed)
    for node in sorted(solid.fixed, key=lambda k: (-nodes[k, 0], -nodes[k, 1], nodes[k, 2]))[:5]:
        left = left.released([node])
    left.save(tmp_path / "left")
    for again in (left, pickle.loads(pickle.dumps(left)), rf.load(tmp_path / "left.safetensors")):
        for node in left.releasable:
            with pytest.raises(rf.SingularMatrixError, match="could move as a rigid body"):
                again.released([node])


def test_files_and_copies_have_what_was_released(left, tmp_path):
    left.save(tmp_path / "left")
    for again in (rf.load(tmp_path / "left.safetensors"), pickle.loads(pickle.dumps(left))):
        np.testing.assert_array_equal(again.matrix, left.matrix)
        np.testing.assert_array_equal(again.nodes, left.nodes)
        np.testing.assert_array_equal(again.positions, left.positions)
        rest = left.releasable[:4]
        np.testing.assert_array_equal(again.released(rest).matrix, left.released(rest).matrix)


def test_files_without_positions_of_supports_can_be_read_but_not_released(green, tmp_path):
    from reducedfem.green.functions import _from_arrays

    arrays = {name: a for name, a in green._arrays().items() if name != "held_positions"}
    old = _from_arrays(green._core.n_nodes, arrays)
    old.save(tmp_path / "old")
    again = rf.load(tmp_path / "old.safetensors", rf.GreensFunctions)
    np.testing.assert_array_equal(again.matrix, green.matrix)
    with pytest.raises(rf.InputError, match="no positions of releasable nodes"):
        again.released(again.releasable[:1])


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("added", lambda a: a[:, :-1], "'added' has shape"),
        ("added", lambda a: a[:-3], "'added' has shape"),
        ("added", lambda a: a[:, :0], "no columns"),
        ("firm", lambda a: a[1:], "'firm' has shape"),
        ("nodes", lambda a: np.r_[a[:-1], a[:1]], "twice"),
        ("held_positions", lambda a: a[1:], "'held_positions' has shape"),
    ],
)
def test_damaged_files_are_refused(left, tmp_path, name, wrong, message):
    from reducedfem.io import green_files

    arrays = left._arrays()
    arrays[name] = np.ascontiguousarray(wrong(arrays[name]))
    green_files.save(tmp_path / "bad", arrays, left._core.n_nodes)
    with pytest.raises(rf.FileFormatError, match=message):
        rf.load(tmp_path / "bad.safetensors", rf.GreensFunctions)


def test_running_out_of_memory_leaks_nothing(green, left, solid):
    fail_each_allocation(lambda: green.released(end(solid)), 6)
    fail_each_allocation(lambda: pickle.loads(pickle.dumps(left)), 6)
