"""Green's functions of surfaces against dense inverses and solids with other supports."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from numpy.typing import NDArray

import reducedfem as rf
from failures import fail_each_allocation
from moments import at_once
from reducedfem import _core
from reducedfem.base import memory
from shapes import box_hexes, box_tet10s, box_tets, solid_box

STVK = rf.StVK(1e5, 0.3, 1000.0)
Array = NDArray[np.float64]


def beam(fixed: bool = True) -> rf.Solid:
    nodes, elements = box_hexes(5, 3, 2, (0.5, 0.3, 0.2))
    return rf.Solid(rf.Mesh(nodes, elements), STVK, fixed=nodes[:, 0] < 1e-9 if fixed else None)


@pytest.fixture(scope="module")
def held() -> rf.Solid:
    return beam()


@pytest.fixture(scope="module")
def green(held) -> rf.GreensFunctions:
    return rf.GreensFunctions(held, None, held.fixed)


@pytest.fixture(scope="module")
def free() -> rf.GreensFunctions:
    return rf.GreensFunctions(beam(fixed=False))


def inverse(solid: rf.Solid, nodes: NDArray[np.int32]) -> Array:
    """Return G by a dense inverse."""
    dofs = (3 * solid.free[:, None] + np.arange(3)).ravel()
    stiffness = solid.stiffness().to_dense()[np.ix_(dofs, dofs)]
    rows = (3 * np.searchsorted(solid.free, nodes)[:, None] + np.arange(3)).ravel()
    return np.linalg.inv(stiffness)[np.ix_(rows, rows)]


def solve_dense(solid: rf.Solid, load: Array, held: dict[int, object]) -> tuple[Array, Array]:
    """Return displacements and supporting forces of all nodes, by elimination of held DOFs."""
    K = solid.stiffness().to_dense()
    known = dict.fromkeys((3 * solid.fixed[:, None] + np.arange(3)).ravel().tolist(), 0.0)
    for node, value in held.items():
        known |= {3 * node + a: v for a, v in enumerate(value) if v == v}
    at = np.array(sorted(known))
    rest = np.setdiff1d(np.arange(len(K)), at)
    u, f = np.zeros(len(K)), load.ravel()
    u[at] = [known[dof] for dof in at.tolist()]
    right = f[rest] - K[np.ix_(rest, at)] @ u[at]
    u[rest] = np.linalg.solve(K[np.ix_(rest, rest)], right)
    return u.reshape(-1, 3), (K @ u - f).reshape(-1, 3)


def close(found: Array, expected: Array, error: float) -> None:
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=error * np.abs(expected).max())


def load_on(green: rf.GreensFunctions, seed: int = 0) -> tuple[Array, Array]:
    """Return random forces on the surface, and the same over the mesh."""
    rng = np.random.default_rng(seed)
    surface = rng.normal(size=(len(green.nodes), 3))
    whole = np.zeros((green.nodes.max() + 1, 3))
    whole[green.nodes] = surface
    return surface, whole


@pytest.mark.parametrize("made", [box_tets, box_tet10s])
def test_the_matrix_is_a_block_of_the_inverse(made):
    nodes, elements = made(3, 2, 2, (0.3, 0.2, 0.2))
    solid = rf.Solid(rf.Mesh(nodes, elements), STVK, fixed=nodes[:, 0] < 1e-9)
    green = rf.GreensFunctions(solid)
    boundary = np.setdiff1d(solid.mesh.boundary_nodes, solid.fixed)
    np.testing.assert_array_equal(green.nodes, boundary)
    np.testing.assert_array_equal(green.positions, nodes[boundary])
    matrix = green.matrix
    np.testing.assert_array_equal(matrix, matrix.T)
    close(matrix, inverse(solid, green.nodes), 1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("simd", [1, 2, 3])
def test_columns_and_sums_of_them(held, dtype, simd):
    if not _core.simd_available(simd):
        pytest.skip("this processor lacks the instruction set")
    nodes = np.setdiff1d(held.mesh.boundary_nodes, held.fixed)
    core = _core.Green(held._core, nodes, [], dtype == "float32", 0.0, None, 1, simd)
    error = 1e-12 if dtype == "float64" else 2e-7
    exact = inverse(held, nodes)
    assert len(nodes) > 3 * 16  # several tiles
    assert len(nodes) % 16  # the last of them in part
    for place in (0, 15, 16, 40, len(nodes) - 1):
        force = np.array([[1.0, -2.0, 0.5]])
        column = exact.reshape(len(nodes), 3, len(nodes), 3)[:, :, place] @ force[0]
        close(core.add([place], force), column, error)
    forces = np.random.default_rng(1).normal(size=(len(nodes), 3))
    expected = (exact @ forces.ravel()).reshape(-1, 3)
    close(core.add(np.arange(len(nodes)), forces), expected, 10 * error)


def test_displacements_by_node(green):
    surface, _ = load_on(green)
    whole = green.displacement(surface)
    close(whole, (green.matrix @ surface.ravel()).reshape(-1, 3), 1e-14)
    few = green.nodes[[5, 30, 5]]
    force = np.eye(3)
    expected = sum(green.column(int(n), k) for k, n in enumerate(few))
    close(green.displacement(force, few), expected, 1e-14)
    three, weights = green.nodes[[1, 8, 20]], np.array([0.2, 0.3, 0.5])
    moved = green.displacement(weights[:, None] * [[0.0, 1.0, 0.0]], three)
    places = np.searchsorted(green.nodes, three)
    close(green.point_compliance(three, weights)[:, 1], weights @ moved[places], 1e-14)


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_types_of_numpy_and_masks_are_taken(held, green):
    for kind in (np.float32, np.dtype("float32")):
        assert rf.GreensFunctions(held, green.nodes[:4], dtype=kind).dtype == "float32"
    mask = np.zeros(held.mesh.n_nodes, bool)
    mask[green.nodes[[3, 5]]] = True
    force = [[0, 0, 1.0], [1.0, 0, 0]]
    np.testing.assert_array_equal(
        green.displacement(force, mask), green.displacement(force, green.nodes[[3, 5]])
    )


def test_single_precision_takes_half_of_the_memory(held, green):
    single = rf.GreensFunctions(held, dtype="float32")
    double = rf.GreensFunctions(held)
    assert (single.dtype, double.dtype) == ("float32", "float64")
    assert single.bytes * 2 == double.bytes
    assert single.matrix.dtype == np.float32
    np.testing.assert_array_equal(single.matrix, green.matrix.astype(np.float32))


def test_any_number_of_threads_gives_the_same_bits(held, green):
    for threads in (1, 3):
        core = _core.Green(held._core, green.nodes, held.fixed, False, 0.0, None, threads)
        for name in ("entries", "static_modes", "support"):
            np.testing.assert_array_equal(getattr(core, name), getattr(green._core, name))


def test_prescribed_displacements(held, green):
    surface, load = load_on(green)
    # the last of them in panels
    for places in ([7], [7, 8, 20], list(range(0, 30, 3)), list(range(50))):
        rng = np.random.default_rng(len(places))
        given = {int(n): rng.normal(size=3) * 1e-3 for n in green.nodes[places]}
        given[int(green.nodes[places[0]])][1] = np.nan
        u, force = green.solve(given, surface)
        exact, support = solve_dense(held, load, given)
        close(u, exact[green.nodes], 1e-11)
        expected = support[list(given)]
        expected[0, 1] = 0.0
        close(force, expected, 1e-11)
        for node, value in given.items():
            moved = u[np.searchsorted(green.nodes, node)]
            np.testing.assert_array_equal(moved[~np.isnan(value)], value[~np.isnan(value)])
        # without the values that `solve` copies to the held nodes
        both = green.displacement(surface) + green.displacement(force, list(given))
        close(both, exact[green.nodes], 1e-11)
    assert len(green.solve().force) == 0
    close(green.solve(force=surface).u, green.displacement(surface), 1e-14)


@pytest.mark.no_asan(reason="C that other tests run")
def test_forces_in_single_precision_displace_as_prescribed(held):
    green = rf.GreensFunctions(held, dtype="float32")
    nodes = green.nodes[::4]
    given = dict(zip(nodes.tolist(), 1e-3 * np.eye(3)[nodes % 3], strict=True))
    force = green.solve(given).force
    moved = green.displacement(force, list(given))[::4]
    close(moved, np.array(list(given.values())), 1e-5)


@pytest.mark.parametrize("kept", [0, 1])
def test_held_nodes_replace_released_supports(held, green, kept):
    freed = held.fixed[kept:]
    other = rf.Solid(held.mesh, STVK, fixed=held.fixed[:kept] if kept else None)
    surface, load = load_on(green)
    given = {int(n): 1e-3 * np.cos([n, n + 1, n + 2]) for n in green.nodes[[0, 20, 21, 40]]}
    given[int(green.nodes[21])][0] = np.nan
    out = green.solve(given, surface, released=freed)
    exact, support = solve_dense(other, load, given)
    close(out.u, exact[green.nodes], 1e-9)
    close(out.released, exact[freed], 1e-9)
    close(out.force[[0, 1, 3]], support[[list(given)[k] for k in (0, 1, 3)]], 1e-9)
    few = dict(list(given.items())[:1])
    with pytest.raises(rf.SingularMatrixError, match="held does not replace them"):
        green.solve(few, surface, released=held.fixed)


def test_columns_of_any_nodes_in_any_order_of_elimination():
    """A surface of few nodes inside, for which most fronts are not needed."""
    solid = solid_box((7, 6, 8), law=STVK)
    chosen = np.sort(np.random.default_rng(4).choice(solid.free, 61, replace=False))
    expected = inverse(solid, chosen)
    for method in ("dissection", "amd"):
        try:
            rf.set_ordering(method)
            close(rf.GreensFunctions(solid, chosen).matrix, expected, 1e-12)
        finally:
            rf.set_ordering("auto")


@pytest.mark.parametrize("given", [{}, {20: (np.nan, 0.0, 1e-3), 33: (1e-3, 0.0, 0.0)}])
def test_released_supports_are_those_of_a_solid_without_them(held, green, given):
    freed = held.fixed[[7, 1, 4]]
    other = rf.Solid(held.mesh, STVK, fixed=np.setdiff1d(held.fixed, freed))
    surface, load = load_on(green)
    given = {int(green.nodes[k]): value for k, value in given.items()}
    out = green.solve(given, surface, released=freed)
    exact, support = solve_dense(other, load, given)
    close(out.u, exact[green.nodes], 1e-11)
    close(out.released, exact[freed], 1e-11)
    if given:
        close(out.force, support[list(given)], 1e-11)
        exact, support = solve_dense(other, 0.0 * load, given)
        out = green.solve(given, released=freed)
        close(out.force, support[list(given)], 1e-11)
        close(out.released, exact[freed], 1e-11)
    none = green.solve(given, surface, released=[])
    close(none.u, solve_dense(held, load, given)[0][green.nodes], 1e-11)


def test_free_solids_deform_under_inertia_relief(free):
    solid = beam(fixed=False)
    assert free.is_free
    K, M = solid.stiffness().to_dense(), solid.mass().to_dense()
    R = solid.linear_modes(1, rigid=True).shapes[:6]
    np.testing.assert_array_equal(free.rigid_motions, R[:, free.nodes])
    R = R.reshape(6, -1)
    surface, load = load_on(free)
    relieved = load.ravel() - M @ (R.T @ (R @ load.ravel()))
    u = np.linalg.lstsq(K, relieved, rcond=1e-10)[0]
    u -= R.T @ (R @ (M @ u))
    close(free.displacement(surface), u.reshape(-1, 3)[free.nodes], 1e-10)


def test_held_nodes_support_free_solids(free):
    solid = beam(fixed=False)
    surface, load = load_on(free)
    rng = np.random.default_rng(5)
    given = {int(n): rng.normal(size=3) * 1e-3 for n in free.nodes[[0, 13, 40, 41]]}
    u, force = free.solve(given, surface)
    exact, support = solve_dense(solid, load, given)
    close(u, exact[free.nodes], 1e-10)
    close(force, support[list(given)], 1e-10)
    few = dict(list(given.items())[:2])
    with pytest.raises(rf.SingularMatrixError, match="held does not support the free solid"):
        free.solve(few, surface)


@pytest.mark.no_asan(reason="files: Python, and C that other tests run")
def test_files_and_copies_are_equal_to_the_bit(held, green, free, tmp_path):
    single = rf.GreensFunctions(held, dtype="float32")
    for k, one in enumerate((green, free, single)):
        one.save(tmp_path / str(k))
        for same in (rf.load(tmp_path / str(k)), pickle.loads(pickle.dumps(one)), copy.copy(one)):
            assert type(same) is rf.GreensFunctions
            np.testing.assert_array_equal(same.matrix, one.matrix)
            np.testing.assert_array_equal(same.positions, one.positions)
            assert (same.dtype, same.is_free, same.bytes) == (one.dtype, one.is_free, one.bytes)
            if one is green:
                freed = held.fixed[:2]
                found, expected = (x.solve({20: (0, 0, 1)}, released=freed) for x in (same, one))
                np.testing.assert_array_equal(found.u, expected.u)
    data = bytearray((tmp_path / "0.safetensors").read_bytes())
    data[-9] ^= 1
    (tmp_path / "0.safetensors").write_bytes(data)
    with pytest.raises(rf.FileFormatError, match="damaged"):
        rf.load(tmp_path / "0")
    with pytest.raises(rf.FileFormatError, match="holds no reducedfem pointshell"):
        rf.load(tmp_path / "1", rf.Pointshell)


@pytest.mark.no_asan(reason="arguments that Python refuses")
def test_wrong_nodes_are_named(held, green, free):
    inner = np.setdiff1d(np.arange(held.mesh.n_nodes), held.mesh.boundary_nodes)[0]
    fixed, a, b, c = int(held.fixed[0]), *(int(n) for n in green.nodes[:3])
    for work, message in (
        (lambda: rf.GreensFunctions(held, [a, b, a]), f"surface_nodes has node {a} more than once"),
        (
            lambda: rf.GreensFunctions(held, [fixed]),
            rf"surface_nodes\[0\] is {fixed}, a fixed node",
        ),
        (lambda: rf.GreensFunctions(held, []), "surface_nodes selects no node"),
        (lambda: rf.GreensFunctions(held, [10**6]), r"surface_nodes\[0\] is 1000000"),
        (
            lambda: rf.GreensFunctions(held, releasable=[a]),
            rf"releasable\[0\] is {a}, which is not",
        ),
        (lambda: rf.GreensFunctions(held, dtype="f"), 'dtype must be "float64" or "float32"'),
        (lambda: green.column(int(inner), 0), f"node is {inner}, which is not among"),
        (lambda: green.column(-1, 0), "node is -1; nodes are numbered 0 to"),
        (lambda: green.column(a, 3), "axis must be 0, 1 or 2, got 3"),
        (lambda: green.solve({fixed: (0, 0, 0)}), f"held is {fixed}, which is not among"),
        (lambda: green.solve({a: [np.nan] * 3}), rf"held\[{a}\] is nan along all three axes"),
        (lambda: green.solve({a: (0, 0)}), rf"held\[{a}\] must be a displacement"),
        (lambda: green.solve(released=[a]), f"released names node {a}, which is not among"),
        (lambda: green.displacement([[1, 2, 3]], [a, b]), r"force must have shape \(2, 3\)"),
        (lambda: green.point_compliance([a, b, c], [1, 1, 1]), "barycentric coordinates"),
        (
            lambda: green.displacement(np.eye(3)[:2], np.array([[a, b], [b, c]])),
            r"nodes must have shape \(m,\), got \(2, 2\)",
        ),
        (lambda: green.displacement(np.eye(3)[:2], [a, fixed]), rf"nodes\[1\] is {fixed}, which"),
        (lambda: green.point_compliance([a, b, a], [0.5, 0, 0.5]), f"node {a} twice"),
        (
            lambda: green.displacement([[0, 0, 1]], green.nodes == a),
            r"nodes is a mask of shape .*pass nodes\[numpy.flatnonzero",
        ),
    ):
        with pytest.raises(rf.InputError, match=message):
            work()
    with pytest.raises(rf.SingularMatrixError, match="released leaves too few fixed nodes"):
        green.solve(released=held.fixed)
    loose = rf.Solid(held.mesh, STVK, fixed=held.fixed[:2])
    with pytest.raises(rf.MeshError):
        rf.GreensFunctions(loose)
    everything = {int(n): (0.0, 0.0, 0.0) for n in rf.GreensFunctions(beam(False)).nodes}
    assert len(free.solve(everything).force) == len(free.nodes)


@pytest.mark.no_asan(reason="memory that is not there, of a large mesh: refused before C")
def test_more_than_fits_into_memory_is_refused():
    # nodes of a surface that does not fit, even if other processes end meanwhile
    count = np.sqrt(4.0 * memory.available() / 36.0)
    side = int(np.sqrt(count / 2.0)) + 1
    if side > 400:
        pytest.skip("the mesh that does not fit would be large")
    solid = solid_box((side, side, 1), law=STVK)
    with pytest.raises(MemoryError, match='pass dtype="float32"'):
        rf.GreensFunctions(solid)


def test_progress_counts_and_stops(held):
    counts: list[tuple[int, int]] = []
    rf.GreensFunctions(held, progress=lambda *count: counts.append(count))
    assert counts
    assert counts[-1][0] == counts[-1][1] > 0

    def stop(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rf.GreensFunctions(held, progress=stop)


def test_memory_that_runs_out(green):
    solid = solid_box((2, 1, 1), law=STVK)
    small = rf.GreensFunctions(solid, releasable=solid.fixed)
    fail_each_allocation(lambda: rf.GreensFunctions(solid, releasable=solid.fixed))
    node = int(small.nodes[0])
    fail_each_allocation(lambda: small.solve({node: (0, 0, 1)}, released=solid.fixed[:1]))
    fail_each_allocation(lambda: small.contact([node], [[0, 0, 1]], [-1e-3], 0.3))
    fail_each_allocation(lambda: small.contacts(3))
    fail_each_allocation(lambda: pickle.loads(pickle.dumps(small)))


def test_many_threads_share_one_object(green):
    surface, _ = load_on(green)
    expected = green.displacement(surface)
    wrong = []

    def work() -> None:
        for _ in range(20):
            if not np.array_equal(green.displacement(surface), expected):
                wrong.append(1)

    at_once([work] * 4)
    assert not wrong
