"""Orderings against plain symbolic elimination, matchings of SciPy and an independent program."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ckernels
import reducedfem as rf
from places import ROOT
from reducedfem import _core, samples
from shapes import ball, box_hex20s, box_hexes, box_tet10s, box_tets

STVK = rf.StVK(1e5, 0.3, 1000.0)
METHODS = ["auto", "dissection", "simple", "nested", "minimum-degree", "amd", "metis"]
PARTS = [
    "base/alloc.c", "base/status.c", "linalg/dissection.c", "linalg/dissection_cover.c",
    "linalg/dissection_degree.c", "linalg/dissection_flow.c", "linalg/dissection_plane.c",
    "linalg/dissection_refine.c",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _ordering_in_use():
    yield
    rf.set_ordering("auto")


def held(mesh):
    nodes, elements = mesh
    return rf.Solid(rf.Mesh(nodes, elements), STVK, fixed=nodes[:, 0] <= nodes[:, 0].min() + 1e-9)


def pattern(solid):
    """Return the dense pattern of the stiffness over free nodes."""
    dofs = (3 * solid.free[:, None] + np.arange(3)).ravel()
    stiffness = solid.stiffness()
    full = np.zeros(stiffness.shape, dtype=bool)
    columns = np.repeat(np.arange(stiffness.shape[1]), np.diff(stiffness.indptr))
    full[stiffness.indices, columns] = True
    return full[np.ix_(dofs, dofs)]


def plain_counts(pattern, permutation):
    """Eliminate the unknowns one by one; return nonzeros, fill and flops."""
    left = pattern[np.ix_(permutation, permutation)].copy()
    nonzeros = flops = 0
    for j in range(len(left)):
        below = np.flatnonzero(left[j + 1 :, j]) + j + 1
        left[np.ix_(below, below)] = True
        nonzeros += 1 + len(below)
        flops += len(below) ** 2 + 2 * len(below)
    return nonzeros, nonzeros - np.tril(pattern).sum(), flops


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["hexes", "tets", "quadratic"])
def test_orders_are_permutations_with_exact_counts(method, name):
    shape = {
        "hexes": box_hexes(5, 3, 3),
        "tets": box_tets(4, 3, 3),
        "quadratic": box_hex20s(3, 2, 2),
    }
    solid = held(shape[name])
    order = rf.ordering(solid, method)
    assert sorted(order.permutation) == list(range(3 * len(solid.free)))
    counts = plain_counts(pattern(solid), order.permutation)
    assert (order.nonzeros, order.fill, order.flops) == counts
    assert order.method == ("dissection" if method == "auto" else method)
    assert order.seconds >= 0.0
    assert f"{len(order.permutation)} unknowns" in repr(order)
    assert not order.permutation.flags.writeable


def test_a_mesh_has_all_nodes_and_a_matrix_its_own_numbers():
    nodes, elements = box_hexes(3, 3, 2)
    mesh = rf.Mesh(nodes, elements)
    free = rf.Solid(mesh, STVK)
    order = rf.ordering(mesh)
    np.testing.assert_array_equal(order.permutation, rf.ordering(free).permutation)
    matrix = free.stiffness()
    for points in (nodes, np.repeat(nodes, 3, axis=0)):
        of_matrix = rf.ordering(matrix, "dissection", points)
        assert of_matrix.nonzeros <= 1.2 * order.nonzeros
        assert sorted(of_matrix.permutation) == list(range(3 * len(nodes)))
    by_default = rf.ordering(matrix, points=nodes)
    np.testing.assert_array_equal(
        by_default.permutation, rf.ordering(matrix, "dissection", nodes).permutation
    )
    assert by_default.method == "dissection"
    assert rf.ordering(matrix, "auto").method == "metis"
    without_places = [rf.ordering(matrix, one).permutation for one in ("auto", "metis")]
    np.testing.assert_array_equal(*without_places)
    dense = rf.ordering(np.ones((5, 5)), "amd")
    assert (dense.nonzeros, dense.fill, dense.flops) == (15, 0, 30 + 2 * 10)


def test_exact_minimum_degree_takes_a_node_of_least_degree_each_time():
    solid = held(box_tets(4, 3, 2))
    order = rf.ordering(solid, "minimum-degree").permutation[::3] // 3
    left = pattern(solid)[::3, ::3]
    gone = np.zeros(len(left), dtype=bool)
    for node in order:
        degrees = (left & ~gone).sum(axis=1) - 1
        assert degrees[node] == degrees[~gone].min()
        near = np.flatnonzero(left[node] & ~gone)
        left[np.ix_(near, near)] = True
        gone[node] = True


def bent(cells=(60, 5, 5)):
    """Return a bar bent to a spiral of one and a half turns."""
    nodes, elements = box_hexes(*cells, (1.0, 0.08, 0.08))
    along, radius = nodes[:, 0] * 3 * np.pi, 0.2 + nodes[:, 1]
    places = (radius * np.cos(along), radius * np.sin(along), nodes[:, 2] + 0.15 * nodes[:, 0])
    return np.stack(places, axis=1), elements[:, [3, 2, 1, 0, 7, 6, 5, 4]]


def spoon():
    mesh = rf.graded_tets(samples.load("spoon"), 32, cut=False).quadratic()
    return mesh.nodes, mesh.elements


@pytest.mark.parametrize(
    "name", ["cube", "bar", "ball", "tets", "ten-node tets", "spiral", "graded ten-node tets"]
)
def test_dissection_has_at_most_the_fill_of_metis(name):
    shape = {
        "cube": lambda: box_hexes(12, 12, 12),
        "bar": lambda: box_hexes(30, 6, 6),
        "ball": lambda: ball(8),
        "tets": lambda: box_tets(12, 10, 8),
        "ten-node tets": lambda: box_tet10s(6, 5, 4),
        "spiral": bent,
        "graded ten-node tets": spoon,
    }
    solid = held(shape[name]())
    fill = {one: rf.ordering(solid, one).fill for one in ("dissection", "metis", "amd")}
    # other versions of METIS
    assert fill["dissection"] <= 1.02 * fill["metis"]
    assert fill["dissection"] < fill["amd"]


def test_the_same_order_each_time_and_on_many_threads():
    solid = held(box_tets(9, 8, 7))
    first = rf.ordering(solid).permutation
    with ThreadPoolExecutor(4) as pool:
        for order in pool.map(lambda _: rf.ordering(solid).permutation, range(8)):
            np.testing.assert_array_equal(order, first)


def test_parts_without_common_nodes_have_no_separator():
    """Parts within each other, which no plane divides."""
    nodes, elements = box_hexes(5, 5, 5)
    parts = [rf.Mesh((nodes - nodes.mean(axis=0)) * size, elements) for size in (1.0, 1.1, 1.2)]
    alone = rf.ordering(parts[0]).fill
    assert rf.ordering(rf.join_meshes(parts)).fill <= 3.05 * alone


def test_distances_need_no_places():
    """Places on a line, in random order: only distances in the graph divide well."""
    nodes, elements = box_hexes(30, 4, 4)
    matrix = rf.Solid(rf.Mesh(nodes, elements), STVK).stiffness()
    line = np.zeros_like(nodes)
    line[:, 0] = np.random.default_rng(1).permutation(len(nodes))
    fill = rf.ordering(matrix, "dissection", line).fill
    assert fill <= 1.5 * rf.ordering(matrix, "dissection", nodes).fill


@pytest.mark.parametrize("scale", [1e-300, 9e149])
def test_places_of_any_size(scale):
    nodes, elements = box_hexes(6, 5, 4)
    matrix = rf.Solid(rf.Mesh(nodes, elements), STVK).stiffness()
    far = (2 * nodes / nodes.max() - 1) * scale
    order = rf.ordering(matrix, "dissection", far)
    assert sorted(order.permutation) == list(range(3 * len(nodes)))
    assert order.fill <= 1.1 * rf.ordering(matrix, "dissection", nodes).fill


def test_places_that_divide_nothing():
    """Equal places: no plane divides; two places far apart: most nodes stay on one side."""
    matrix = rf.Solid(rf.Mesh(*box_hexes(4, 4, 4)), STVK).stiffness()
    for points in (np.zeros((125, 3)), np.eye(125, 3) * 1e100):
        order = rf.ordering(matrix, "dissection", points)
        assert sorted(order.permutation) == list(range(375))
    assert list(rf.ordering([[2.0]], "dissection", [[0, 0, 0]]).permutation) == [0]
    assert rf.ordering(np.eye(100), "dissection", np.arange(300.0).reshape(100, 3)).fill == 0


@pytest.mark.parametrize("scale", [0.0, 1e-309])
def test_equal_places_have_the_fill_of_minimum_degree(scale):
    """Also those so close to each other that layers would overflow."""
    nodes, elements = box_hexes(9, 9, 9)
    matrix = rf.Solid(rf.Mesh(nodes, elements), STVK).stiffness()
    fill = rf.ordering(matrix, "dissection", 9.0 * scale * nodes).fill
    assert fill <= 1.05 * rf.ordering(matrix, "amd").fill


def test_sets_that_planes_cut_nearly_all_of_are_not_divided():
    """97 tetrahedra across the middle and 3 beside it, without common nodes: in their order."""
    one = np.array([[-1.0, -1, -1], [1, -1, 1], [1, 1, -1], [-1, 1, 1]])
    nodes = np.concatenate(
        [one * (1 + 0.01 * k) if k < 97 else 5.0 + 0.1 * one + k for k in range(100)]
    )
    mesh = rf.Mesh(nodes, np.arange(400).reshape(100, 4))
    order = rf.ordering(mesh, "simple").permutation[::3] // 3
    np.testing.assert_array_equal(order, np.arange(400)[::-1])


@pytest.mark.parametrize("wrong", [[0, 1, 1], [0, 0, 0]])
def test_counts_refuse_what_is_no_permutation(wrong):
    lower = np.ones(3), np.arange(3, dtype=np.int32), np.arange(4, dtype=np.int32)
    with pytest.raises(rf.InputError, match=r"permutation\[\d\] is \d, which is there before"):
        _core.ordering_counts(lower, np.array(wrong, dtype=np.int32))


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    sources = [ROOT / "csrc" / one for one in PARTS]
    sources.append(ROOT / "tests/support/dissection_parts.c")
    library = ckernels.build("dissection", sources, tmp_path_factory.mktemp("dissection"))
    library.divide.restype = library.order_leaf.restype = ctypes.c_int
    return library


def pointers(*arrays):
    return [one.ctypes.data_as(ctypes.c_void_p) for one in arrays]


def compressed(near):
    """Return the ends of rows and the neighbours of a dense graph."""
    ptr = np.concatenate([[0], near.sum(axis=1).cumsum()]).astype(np.int32)
    return ptr, np.nonzero(near)[1].astype(np.int32)


def random_graph(rng, n, pairs):
    """Return a random graph, dense and in compressed form."""
    a, b = rng.integers(0, n, (2, pairs))
    near = np.zeros((n, n), dtype=bool)
    near[a, b] = near[b, a] = True
    np.fill_diagonal(near, False)
    return near, *compressed(near)


@pytest.mark.no_asan(reason="the same C code runs in other tests")
@pytest.mark.parametrize("refined", [0, 1, 2])
def test_covers_are_minimum_and_separators_separate(parts, rng, refined):
    sparse = pytest.importorskip("scipy.sparse")
    for n, pairs in [(2, 1), (7, 9), (30, 25), (60, 90), (60, 400), (200, 300), (200, 260)]:
        near, ptr, neighbor = random_graph(rng, n, pairs)
        side = rng.integers(0, 2, n).astype(np.uint8)
        before, size = side.copy(), np.zeros(3, dtype=np.int32)
        graph, found = pointers(ptr, neighbor), pointers(side, size)
        assert parts.divide(n, *graph, refined, *found) == 0
        assert not near[np.ix_(side == 0, side == 1)].any()
        np.testing.assert_array_equal(size, np.bincount(side, minlength=3))
        crossing = sparse.csr_matrix(near[np.ix_(before == 0, before == 1)])
        matching = sparse.csgraph.maximum_bipartite_matching(crossing, "column")
        if refined:
            continue
        # Koenig: the smallest cover has as many nodes as the largest matching has edges
        assert size[2] == (matching >= 0).sum()
        np.testing.assert_array_equal(side[side < 2], before[side < 2])


@pytest.mark.no_asan(reason="the same C code runs in other tests")
@pytest.mark.parametrize(("reach", "layers"), [(0.16, 2), (0.5, 1)])
def test_separators_are_minimum_cuts_of_the_layers_around_them(parts, rng, reach, layers):
    """A maximum flow by SciPy: layers around the cover, capacity 1 between states of a node.

    One layer in the graph of more than 45 neighbours a node.
    """
    sparse = pytest.importorskip("scipy.sparse")
    smaller = 0
    for trial in range(12):
        points = rng.uniform(0, 1, (400, 2)) * [4.0, 1.0]
        near = np.linalg.norm(points[:, None] - points, axis=2) < reach
        np.fill_diagonal(near, False)
        n, (a, b) = len(points), np.nonzero(near)
        assert (len(a) > 45 * n) == (layers == 1)
        wave = 0.25 * np.sin(9 * points[:, 1]) if trial % 2 else 0.0
        side = (points[:, 0] + wave > 2.0).astype(np.uint8)
        cover, size = side.copy(), np.zeros(3, dtype=np.int32)
        ptr, neighbor = compressed(near)
        graph = pointers(ptr, neighbor)
        assert parts.divide(n, *graph, 0, *pointers(cover, size)) == 0
        before, cut = size.copy(), side.copy()
        assert parts.divide(n, *graph, 2, *pointers(cut, size)) == 0
        assert not near[np.ix_(cut == 0, cut == 1)].any()
        np.testing.assert_array_equal(size, np.bincount(cut, minlength=3))

        band = cover == 2
        for _ in range(layers):
            band |= near[band].any(axis=0)
        rest = [np.flatnonzero(~band & (cover == one)) for one in (0, 1)]
        assert min(map(len, rest)) > n / 4, "the band would be cut off"
        np.testing.assert_array_equal(cut[~band], cover[~band])
        # arcs between the states of nodes, along edges, from the source and to the sink
        source, sink = 2 * n, 2 * n + 1
        start = np.r_[:n, n + a, np.full(len(rest[0]), source), n + rest[1]]
        end = np.r_[n : 2 * n, b, rest[0], np.full(len(rest[1]), sink)]
        capacity = np.full(len(start), n)
        capacity[:n][band] = 1
        arcs = sparse.csr_matrix((capacity, (start, end)), (sink + 1, sink + 1), dtype=np.int32)
        flow = sparse.csgraph.maximum_flow(arcs, source, sink).flow_value
        assert size[2] == flow or (size == before).all()
        smaller += size[2] < before[2]
    assert smaller >= 6


@pytest.mark.no_asan(reason="the same C code runs in other tests")
def test_minimum_cuts_leave_a_quarter_on_each_side(parts, rng):
    """A line with chords, whose band reaches over the smaller side: cuts at the end are smaller."""
    met = replaced = 0
    for _ in range(20):
        n = 400
        a = rng.integers(0, n - 50, 5 * n)
        b = a + rng.integers(10, 51, len(a))
        near = np.zeros((n, n), dtype=bool)
        near[a, b] = True
        near[np.arange(n - 1), np.arange(1, n)] = True
        near |= near.T
        ptr, neighbor = compressed(near)
        # a separator of 60 to 110 nodes, more than needed, beside a side of few more than n / 4
        begin = int(rng.integers(95, 125))
        side = np.zeros(n, dtype=np.uint8)
        side[begin : begin + int(rng.integers(60, 110))] = 2
        side[side.nonzero()[0][-1] + 1 :] = 1
        if rng.integers(2):
            side = np.array([1, 0, 2], dtype=np.uint8)[side]
        before, cut, size = np.bincount(side), side.copy(), np.zeros(3, dtype=np.int32)
        graph = pointers(ptr, neighbor)
        assert parts.divide(n, *graph, 3, *pointers(cut, size)) == 0
        assert not near[np.ix_(cut == 0, cut == 1)].any()
        np.testing.assert_array_equal(size, np.bincount(cut, minlength=3))
        assert (size[:2] >= np.minimum(before[:2], n // 4 + 1)).all()
        replaced += size[2] < before[2]
        band = side == 2
        for _ in range(2):
            band |= near[band].any(axis=0)
        met += (np.bincount(side[~band], minlength=2) < n // 4 + 1).any()
    assert met >= 15
    assert replaced >= 15


@pytest.mark.no_asan(reason="the same C code runs in other tests")
def test_entries_of_leaves_are_those_of_plain_elimination(parts, rng):
    for n, pairs, count in [
        (1, 1, 1), (9, 12, 9), (70, 150, 70), (256, 700, 256), (300, 700, 40), (900, 900, 120),
    ]:  # fmt: skip
        near, ptr, neighbor = random_graph(rng, n, pairs)
        order, entries = np.zeros(count, dtype=np.int32), np.zeros(2, dtype=np.int64)
        graph = pointers(ptr, neighbor)
        assert parts.order_leaf(n, *graph, count, *pointers(order, entries)) == 0
        assert sorted(order) == list(range(count))
        # nodes around the leaf are eliminated after it
        rest = np.arange(count, n)
        after = np.eye(n, dtype=bool) | near
        after[count:, count:] = True
        nonzeros = plain_counts(after, np.concatenate([order, rest]))[0]
        of_rest = len(rest) * (len(rest) + 1) // 2
        np.testing.assert_array_equal(entries, nonzeros - of_rest - count)


@pytest.mark.no_asan(reason="the same C code runs in other tests")
@pytest.mark.parametrize("around", [900, 983, 984, 1200])
def test_leaves_with_more_nodes_around_than_bits_are_not_counted(parts, around):
    """40 nodes in a row, each with its share of those around: 1024 bits are for 1023 nodes."""
    n = 40 + around
    near = np.zeros((n, n), dtype=bool)
    near[np.arange(39), np.arange(1, 40)] = True
    near[np.arange(around) % 40, np.arange(40, n)] = True
    near |= near.T
    ptr, neighbor = compressed(near)
    order, entries = np.zeros(40, dtype=np.int32), np.zeros(2, dtype=np.int64)
    graph = pointers(ptr, neighbor)
    assert parts.order_leaf(n, *graph, 40, *pointers(order, entries)) == 0
    assert sorted(order) == list(range(40))
    assert (entries == np.iinfo(np.int64).max).all() == (n >= 1024)


def test_short_thin_bars_have_the_fill_of_minimum_degree():
    """Parts of up to 256 nodes; longer bars have more, see docs/orderings.md."""
    solid = held(box_hexes(24, 2, 2))
    fill = rf.ordering(solid).fill
    assert fill <= 1.02 * rf.ordering(solid, "minimum-degree").fill


def test_factors_in_each_order_give_the_same_solution():
    solid = held(box_hexes(6, 5, 4))
    force = solid.gravity()
    u, modes = {}, {}
    for method in ("auto", "dissection", "metis", "amd"):
        rf.set_ordering(method)
        assert rf.system_info()["ordering"] == method
        u[method] = solid.solve_static(force)
        modes[method] = solid.linear_modes(4).frequencies
        scale = np.abs(u["auto"]).max()
        np.testing.assert_allclose(u[method], u["auto"], rtol=0, atol=1e-10 * scale)
        np.testing.assert_allclose(modes[method], modes["auto"], rtol=1e-9)
    np.testing.assert_array_equal(u["dissection"], u["auto"])
    assert (u["metis"] != u["auto"]).any(), "the ordering in use makes no difference"


def test_dissection_without_places_follows_the_graph():
    nodes, elements = ball(8)
    solid = rf.Solid(rf.Mesh(nodes, elements), STVK)
    matrix = solid.stiffness()
    found = rf.ordering(matrix)
    assert found.method == rf.ordering(solid).method == "dissection"
    np.testing.assert_array_equal(np.sort(found.permutation), np.arange(matrix.shape[0]))
    np.testing.assert_array_equal(found.permutation, rf.ordering(matrix).permutation)
    assert found.nonzeros < 1.1 * rf.ordering(matrix, "amd").nonzeros


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: rf.ordering(s, "dissect"), "dissection.*got 'dissect'; did you mean"),
        (lambda s: rf.ordering(s, points=np.zeros((3, 3))), "points must be None for a Solid"),
        (lambda s: rf.ordering(np.eye(6), "simple"), "needs elements: pass a Solid or a Mesh"),
        (lambda s: rf.ordering(np.eye(6), "nested"), "points are needed by method"),
        (lambda s: rf.ordering(s.mesh.surface()), "system must be a Solid.*got Surface$"),
        (lambda s: rf.ordering(np.eye(6), points=np.zeros((4, 3))), "4 rows, but the matrix has 6"),
        (lambda s: rf.ordering(np.eye(6), points=np.full((6, 3), np.nan)), "must be finite"),
        (lambda s: rf.ordering(np.ones((2, 3)), "amd"), "system must have shape"),
        (lambda s: rf.ordering(s, "nested"), "takes regular grids.*use .dissection."),
        (lambda s: rf.set_ordering("nested"), "one of auto, dissection, metis, amd, got 'nested'"),
    ],
)
@pytest.mark.no_asan(reason="errors of arguments")
def test_mistakes(call, message):
    nodes, elements = ball(3)
    solid = rf.Solid(rf.Mesh(nodes, elements), STVK)
    with pytest.raises((rf.InputError, rf.InputTypeError), match=message):
        call(solid)


def test_too_many_nodes_for_exact_minimum_degree():
    n = 60_001
    diagonal = rf.CSC(
        np.ones(n), np.arange(n, dtype=np.int32), np.arange(n + 1, dtype=np.int32), (n, n)
    )
    with pytest.raises(rf.InputError, match="up to 60000 nodes, got 60001: use .amd."):
        rf.ordering(diagonal, "minimum-degree")


# --- an independent program, see the README of the folder reference/green_graded ---------------


def grid(shape):
    """Return a held box of unit hexahedra by numbers of nodes, x fastest."""
    nodes, elements = box_hexes(*(n - 1 for n in shape))
    order = np.lexsort((nodes[:, 0], nodes[:, 1], nodes[:, 2]))
    place = np.empty(len(nodes), dtype=np.int32)
    place[order] = np.arange(len(nodes))
    return held((nodes[order], place[elements]))


@pytest.mark.no_asan(reason="counts of orders given, by code that other tests run")
@pytest.mark.parametrize("size", [4, 7, 11])
def test_counts_of_an_independent_program(shared, size):
    data = np.load(shared / "reference" / "green_graded" / "orderings.npz")
    solid = grid((size,) * 3)
    sparse = pytest.importorskip("scipy.sparse")
    dofs = (3 * solid.free[:, None] + np.arange(3)).ravel()
    lower = sparse.tril(solid.stiffness().to_scipy()[dofs][:, dofs]).tocsc()
    lower.sort_indices()
    arrays = (lower.data, lower.indices, lower.indptr)
    row = {
        str(name): i
        for i, name in enumerate(data["method"])
        if tuple(data["sizes"][i]) == (size,) * 3
    }
    for name in ("random", "nested", "cover"):
        nodes = data[f"order_{size}x{size}x{size}_{name}"]
        of_free = np.searchsorted(solid.free, nodes)
        permutation = (3 * of_free[:, None] + np.arange(3)).ravel()
        nonzeros, fill, flops = _core.ordering_counts(arrays, permutation.astype(np.int32))
        assert (nonzeros, fill) == (data["nnzL"][row[name]], data["fill"][row[name]])
        assert flops == data["flops"][row[name]]
    for name, ours in (("nested", "nested"), ("cover", "dissection")):
        assert rf.ordering(solid, ours).fill <= 1.05 * data["fill"][row[name]]
    for name, ours in (("simple", "simple"), ("minimum_degree", "minimum-degree")):
        assert rf.ordering(solid, ours).fill == data["fill"][row[name]]


SIGNALS = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import reducedfem as rf
from shapes import box_hexes

got = []
signal.signal(signal.SIGTERM, lambda number, frame: got.append(number))
solid = rf.Solid(rf.Mesh(*box_hexes(5, 5, 5)), rf.StVK(1e5, 0.3, 1e3))
rf.ordering(solid, "metis")
for k in range(3):
    os.kill(os.getpid(), signal.SIGTERM)
print(len(got))
"""


def test_handlers_of_signals_are_the_same_after_metis():
    """METIS replaces them and puts them back without flags: the second signal would be the end."""
    if rf.ordering(np.eye(40), "auto").method != "metis":
        pytest.skip("CHOLMOD was built without METIS")
    command = [sys.executable, "-c", SIGNALS, str(ROOT / "tests" / "support")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")
