"""Green's functions with blocks of low rank, against those of all entries."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from numpy.typing import NDArray

import reducedfem as rf
from failures import fail_each_allocation
from reducedfem import _core
from shapes import box_hexes, solid_box

STVK = rf.StVK(1e5, 0.3, 1000.0)
Array = NDArray[np.float64]


def plate(fixed: bool = True) -> rf.Solid:
    nodes, elements = box_hexes(20, 8, 1, (1.0, 0.4, 0.05))
    return rf.Solid(rf.Mesh(nodes, elements), STVK, fixed=nodes[:, 0] < 1e-9 if fixed else None)


@pytest.fixture(scope="module")
def solid() -> rf.Solid:
    return plate()


@pytest.fixture(scope="module")
def exact(solid) -> rf.GreensFunctions:
    return rf.GreensFunctions(solid)


@pytest.fixture(scope="module")
def green(solid) -> rf.GreensFunctions:
    return rf.GreensFunctions(solid, tolerance=1e-2, releasable=solid.fixed)


def rows_of_tiles(green: rf.GreensFunctions) -> list[NDArray[np.int64]]:
    _, begin, place, _ = green._core.packed
    return [(3 * place[a:b, None] + np.arange(3)).ravel() for a, b in itertools.pairwise(begin)]


def check_errors(green: rf.GreensFunctions, G: Array) -> None:
    """Check both bounds of all blocks, and that those on the diagonal are exact."""
    tiles, error = rows_of_tiles(green), green.matrix - G
    assert len(tiles) == -(-len(green.nodes) // 64) > 2
    assert sorted(np.concatenate(tiles)) == list(range(len(G)))
    half = [np.linalg.cholesky(G[np.ix_(t, t)]) for t in tiles]
    for i, row in enumerate(tiles):
        assert np.abs(error[np.ix_(row, row)]).max() <= 1e-12 * np.abs(G).max()
        for j, column in enumerate(tiles[:i]):
            block = error[np.ix_(row, column)]
            size = np.linalg.norm(G[np.ix_(row, column)])
            assert np.linalg.norm(block) <= 1.001 * green.tolerance * size
            scaled = np.linalg.solve(half[j], np.linalg.solve(half[i], block).T)
            assert np.linalg.norm(scaled) <= 1.001 * green.tolerance


@pytest.mark.parametrize("tolerance", [0.3, 1e-2, 1e-5, 1e-10])
def test_blocks_have_the_error_that_is_asked_for(solid, exact, tolerance):
    green = rf.GreensFunctions(solid, tolerance=tolerance)
    check_errors(green, exact.matrix)
    np.testing.assert_array_equal(green.matrix, green.matrix.T)
    assert green.tolerance == tolerance
    ranks = green._core.packed[3]
    assert (ranks > 0).any()
    assert green.bytes < (0.8 if tolerance < 1e-3 else 0.6) * exact.bytes
    assert f"tolerance {tolerance:.3g}" in repr(green)
    assert exact.tolerance is None


@pytest.mark.no_asan(reason="C that other tests run")
def test_free_solids_are_packed_too():
    free = rf.GreensFunctions(plate(fixed=False), tolerance=1e-3)
    full = rf.GreensFunctions(plate(fixed=False)).matrix
    assert np.linalg.norm(free.matrix - full) <= 1e-3 * np.linalg.norm(full)
    tiles = rows_of_tiles(free)
    for i, row in enumerate(tiles):
        for column in tiles[:i]:
            block = np.ix_(row, column)
            error = np.linalg.norm(free.matrix[block] - full[block])
            assert error <= 1.001e-3 * np.linalg.norm(full[block])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("simd", [1, 2, 3])
def test_columns_and_blocks_are_those_of_the_matrix(solid, exact, dtype, simd):
    if not _core.simd_available(simd):
        pytest.skip("this processor lacks the instruction set")
    single = dtype == "float32"
    core = _core.Green(solid._core, exact.nodes, [], single, 1e-3, None, 1, simd)
    G = core.matrix().astype(float)
    error = (1e-13 if dtype == "float64" else 2e-7) * np.abs(G).max()
    for place in (0, 70, len(exact.nodes) - 1):
        column = core.add([place], np.array([[1.0, -2.0, 0.5]])).ravel()
        expected = G[:, 3 * place : 3 * place + 3] @ [1.0, -2.0, 0.5]
        np.testing.assert_allclose(column, expected, rtol=0.0, atol=4.0 * error)
    forces = np.random.default_rng(0).normal(size=(len(exact.nodes), 3))
    for found in (
        core.add(np.arange(len(forces)), forces),
        core.solve([], [], [], forces, [], 1)[1],
    ):
        np.testing.assert_allclose(found.ravel(), G @ forces.ravel(), rtol=0, atol=1000.0 * error)
    places, weights = np.array([[3, 90, 200]]), np.array([[0.2, 0.3, 0.5]])
    spread = np.kron(weights, np.eye(3))
    rows = (3 * places[0][:, None] + np.arange(3)).ravel()
    expected = spread @ G[np.ix_(rows, rows)] @ spread.T
    np.testing.assert_allclose(core.compliance(places, weights), expected, atol=error)


def test_contacts_in_several_tiles(green, exact):
    """Prescribed displacements, contact with friction, and contacts one at a time."""
    nodes = green.nodes[::40]
    places = np.searchsorted(green.nodes, nodes)
    rows = (3 * places[:, None] + np.arange(3)).ravel()
    given = 1e-3 * np.random.default_rng(3).normal(size=(len(nodes), 3))
    C = green.matrix[np.ix_(rows, rows)]
    assert np.linalg.eigvalsh(C)[0] > 0.0
    expected = np.linalg.solve(C, given.ravel()).reshape(-1, 3)
    atol = 1e-9 * np.abs(expected).max()
    held = dict(zip(nodes.tolist(), given, strict=True))
    np.testing.assert_allclose(green.solve(held).force, expected, atol=atol)
    contacts = green.contacts()
    for node in nodes:
        contacts.add(int(node))
    assert contacts.lift == 0.0
    np.testing.assert_allclose(contacts.solve(given), expected, atol=atol)
    top = green.nodes[np.isclose(green.positions[:, 2], 0.05)][::25]
    pressed = [
        one.contact(top, np.tile([0, 0, -1.0], (len(top), 1)), np.full(len(top), -1e-3), 0.3)
        for one in (green, exact)
    ]
    assert {one.status for one in pressed} == {"solved"}
    work = [np.sum(one.u[np.searchsorted(green.nodes, top)] * one.force) for one in pressed]
    np.testing.assert_allclose(work[0], work[1], rtol=0.05)


def test_parts_that_an_error_makes_indefinite_are_lifted(solid, exact):
    """With a coarse tolerance; forces are bounded by those of the exact compliance."""
    green = rf.GreensFunctions(solid, tolerance=0.3)
    held = {int(node): (0.0, 0.0, -1e-3) for node in green.nodes}
    coarse = "tolerance 0.3 is coarse for these"
    with pytest.warns(rf.PlausibilityWarning, match=f"{coarse} held nodes: .* 30 % softer"):
        out = green.solve(held)
    contacts = green.contacts(256)
    for node in green.nodes[:256]:
        contacts.add(int(node))
    assert contacts.lift > 0.0
    true = exact.solve(held)
    work = [np.sum(one.force[:, 2]) * -1e-3 for one in (out, true)]
    assert 0.0 < work[0] < work[1]
    assert (out.lift, true.lift) == (0.3, 0.0)
    G = green.matrix
    for row in rows_of_tiles(green):
        G[np.ix_(row, row)] *= 1.0 + out.lift
    np.testing.assert_allclose(G @ out.force.ravel(), out.u.ravel(), rtol=0, atol=1e-9)
    top = green.nodes[np.isclose(green.positions[:, 2], 0.05)]
    with pytest.warns(rf.PlausibilityWarning, match=f"{coarse} contacts"):
        pressed = green.contact(top, np.tile([0, 0, -1.0], (len(top), 1)), np.full(len(top), -1e-3))
    assert pressed.status == "solved"
    assert (pressed.force[:, 2] <= 0.0).all()
    assert pressed.lift > 0.0
    moved = pressed.u[np.searchsorted(green.nodes, top), 2]
    np.testing.assert_allclose(pressed.gap, -1e-3 - moved, rtol=0, atol=1e-12)
    contacts = green.contacts(256)
    rows: list[int] = []
    for node in green.nodes[5::6]:
        contacts.add(int(node))
        rows += [3 * int(np.searchsorted(green.nodes, node)) + a for a in range(3)]
    assert np.linalg.eigvalsh(green.matrix[np.ix_(rows, rows)])[0] < 0.0
    held = dict.fromkeys(contacts.nodes.tolist(), (0.0, 0.0, -1e-3))
    force = contacts.solve(np.array(list(held.values())))
    assert 0.0 < -force[:, 2].sum() < -2.0 * exact.solve(held).force[:, 2].sum()
    with pytest.raises(rf.InputError, match="has a contact already"):
        contacts.add(int(contacts.nodes[0]))
    for node in contacts.nodes[:-1]:
        contacts.remove(int(node))
    last = {int(contacts.nodes[0]): (0.0, 0.0, -1e-3)}
    contacts.remove(next(iter(last)))
    contacts.add(next(iter(last)))
    force = contacts.solve(np.array(list(last.values())))
    np.testing.assert_allclose(force, exact.solve(last).force, rtol=1e-9)


def test_parts_that_no_lift_makes_definite_are_refused(solid, green):
    """Entries of the wrong sign stand for an error that is too large."""
    old = green._core
    core = _core.green_of_entries(
        old.n_nodes, old.nodes, [], -old.entries, old.static_modes[:0], np.zeros((0, 0)), None,
        old.packed,
    )  # fmt: skip
    places, none = np.array([[0, 0, 0], [9, 9, 9]]), np.zeros((2, 3))
    with pytest.raises(rf.SingularMatrixError, match="tolerance is too coarse for these contacts"):
        core.contact(
            places, np.eye(3)[[0, 0]], [[0, 0, 1.0]] * 2, none, [0.0, 0.0], None, [], 1e-10, 1
        )
    with pytest.raises(rf.SingularMatrixError, match=r"2 directions .* or tolerance 0.01 is too"):
        core.solve([0, 9], [2, 2], [1e-3, 1e-3], None, [], 1)
    contacts = _core.GreenContacts(core, 4)
    for _ in range(2):
        with pytest.raises(rf.SingularMatrixError, match="the contact adds nothing"):
            contacts.add(0, None)
    assert contacts.places.size == 0


def test_supports_are_released(solid, green, exact):
    some = solid.fixed[::2]
    other = rf.GreensFunctions(
        rf.Solid(solid.mesh, STVK, fixed=np.setdiff1d(solid.fixed, some)), green.nodes
    )
    load = np.tile([0.0, 0.0, -0.1], (len(green.nodes), 1))
    found, expected = green.solve(force=load, released=some).u, other.displacement(load)
    assert np.linalg.norm(found - expected) < 0.02 * np.linalg.norm(expected)


@pytest.mark.no_asan(reason="C that other tests run")
def test_any_number_of_threads_gives_the_same_bits(solid, green):
    for threads in (1, 3):
        core = _core.Green(solid._core, green.nodes, [], False, 1e-2, None, threads)
        np.testing.assert_array_equal(core.entries, green._core.entries)
        np.testing.assert_array_equal(core.packed[3], green._core.packed[3])


@pytest.mark.no_asan(reason="files: Python, and C that the sweep of allocations runs")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_files_and_copies_are_equal_to_the_bit(solid, dtype, tmp_path):
    green = rf.GreensFunctions(solid, tolerance=1e-2, dtype=dtype)
    green.save(tmp_path / "g")
    for same in (rf.load(tmp_path / "g"), pickle.loads(pickle.dumps(green))):
        np.testing.assert_array_equal(same.matrix, green.matrix)
        assert (same.tolerance, same.dtype, same.bytes) == (1e-2, dtype, green.bytes)
        assert same.contacts().nodes.size == 0
    _, begin, place, rank = green._core.packed
    rest = (green._core.static_modes, green._core.support, None)
    for wrong, message in (
        ((1e-2, begin, place[::-1] * 0, rank), "not a partition"),
        ((1e-2, begin, place, np.where(rank > 0, rank - 1, rank)), "do not fit"),
        ((1e-2, begin[::2], place, rank), "ranks must have shape"),
        ((2.0, begin, place, rank), "tolerance must be above 0"),
    ):
        with pytest.raises(rf.InputError, match=message):
            _core.green_of_entries(
                solid.mesh.n_nodes, green.nodes, [], green._core.entries, *rest, wrong
            )


@pytest.mark.no_asan(reason="arguments that Python refuses")
def test_wrong_tolerances_are_named(solid):
    for value, dtype in ((0.0, "float64"), (-1.0, "float64"), (0.6, "float64"), (1e-7, "float32")):
        with pytest.raises(rf.InputError, match=rf"tolerance must be between .* got {value:g}"):
            rf.GreensFunctions(solid, tolerance=value, dtype=dtype)
    with pytest.raises(rf.InputTypeError, match="tolerance"):
        rf.GreensFunctions(solid, tolerance="small")


def test_memory_that_runs_out():
    solid = solid_box((10, 3, 1), law=STVK)

    def make() -> rf.GreensFunctions:
        return rf.GreensFunctions(solid, tolerance=0.1, releasable=solid.fixed)

    small = make()
    assert len(small._core.packed[1]) == 3  # two tiles
    fail_each_allocation(make)
    fail_each_allocation(lambda: pickle.loads(pickle.dumps(small)))
    press = (small.nodes[:2], [[0.0, 0, 1]] * 2, [-1e-3] * 2)
    fail_each_allocation(lambda: small.contact(*press, released=solid.fixed))
    fail_each_allocation(lambda: small.contacts(3, released=solid.fixed[:1]))
    held = {int(node): (0.0, 0.0, 1e-3) for node in small.nodes[[0, 30, 70]]}
    fail_each_allocation(lambda: small.solve(held, released=solid.fixed))
