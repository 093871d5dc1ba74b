"""Errors of the C core for wrong arguments; other tests cover those that Python refuses before."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import reducedfem as rf
from core_contacts import core_contact
from failures import check_live_blocks, live_blocks
from motions import newmark
from reducedfem import _core
from shapes import box_hexes

NODES, ELEMENTS = box_hexes(2, 1, 1, (0.2, 0.1, 0.1))


@pytest.fixture(scope="module")
def solid() -> rf.Solid:
    return rf.Solid(rf.Mesh(NODES, ELEMENTS), rf.StVK(1e6, 0.4, 1000.0), fixed=[0, 1, 2, 3])


# --- arrays ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "passed"),
    [
        (None, "NoneType"),
        ({}, "dict"),
        ("abc", "str"),
        (object, "type"),
        (["a", "b"], "list that holds str"),
        ((b"a",), "tuple that holds bytes"),
        ([[1.0, 2.0, None]], "list that holds NoneType"),
        ([1, [2], 3], "list which NumPy cannot convert"),
        (np.array([1, {}], dtype=object), r"numpy\.ndarray that holds dict"),
        (np.zeros((2, 3), complex), r"numpy\.ndarray of dtype complex128"),
        (np.complex64(1), r"numpy\.complex64"),
        ([Fraction(1, 3)], "list of dtype object"),
        (np.zeros(3, "datetime64[s]"), r"numpy\.ndarray of dtype datetime64\[s\]"),
    ],
)
def test_messages_name_arguments_that_are_not_arrays(values, passed):
    wanted = f"^nodes must be an array of real numbers, got {passed}$"
    with pytest.raises(rf.InputTypeError, match=wanted):
        _core.Mesh(values, ELEMENTS)
    wanted = f"^elements must be an array of integers, got {passed}$"
    with pytest.raises(rf.InputTypeError, match=wanted):
        _core.Mesh(NODES, values)


def test_bytes_are_bytes():
    for values in ([[[0]]], np.zeros((1, 1, 1), int)):
        with pytest.raises(rf.InputTypeError, match="^values must be an array of uint8$"):
            _core.Voxmap(values, [0, 0, 0], 1.0)
    with pytest.raises(
        rf.InputError, match=r"^values must have shape \(any, any, any\), got \(2, 2"
    ):
        _core.Voxmap(np.zeros((2, 2), np.uint8), [0, 0, 0], 1.0)
    values = np.ones((2, 2, 2), np.uint8)
    voxmap = _core.Voxmap(values, Meanwhile([0, 0, 0], lambda: values.fill(255)), 1.0)
    assert (voxmap.values() == 1).all()


@pytest.mark.parametrize("values", [ELEMENTS.astype(float), ELEMENTS > 0])
def test_values_that_are_no_integers_are_refused(values):
    passed = rf"numpy\.ndarray of dtype {values.dtype}"
    with pytest.raises(rf.InputTypeError, match=f"^elements must hold integers, got {passed}$"):
        _core.Mesh(NODES, values)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(2**64 - 5, np.uint64), (2**63, np.uint64), (2**31, np.int64), (-(2**31) - 1, np.int64)],
)
def test_integers_out_of_range_do_not_wrap(value, dtype):
    regions = np.array([0, value], dtype)
    with pytest.raises(rf.InputError, match=rf"regions\[1\] is {value}; allowed are -2147483648"):
        _core.Mesh(NODES, ELEMENTS, regions)


def test_any_integers_in_range_are_taken():
    for dtype in "bhilqBHILQ":
        regions = np.array([0, 100], dtype)
        assert _core.Mesh(NODES, ELEMENTS, regions).regions.tolist() == [0, 100]


def test_lengths_are_32_bit_and_refused_before_anything_is_copied():
    """Views of a single row: in full they would not fit into memory."""
    far = np.broadcast_to(np.zeros(3), (2**31, 3))
    wanted = "^nodes has length 2147483648 along axis 0; at most 2147483647 is allowed$"
    with pytest.raises(rf.InputError, match=wanted):
        _core.Mesh(far, ELEMENTS)
    far = np.broadcast_to(np.int8(0), (1, 2**31))
    wanted = "^elements has length 2147483648 along axis 1; at most 2147483647 is allowed$"
    with pytest.raises(rf.InputError, match=wanted):
        _core.Mesh(NODES, far)
    wanted = r"^elements must have shape \(any, any\), got \(2147483648, 1, 1\)$"
    with pytest.raises(rf.InputError, match=wanted):
        _core.Mesh(NODES, far.reshape(-1, 1, 1))


class Meanwhile:
    """An array that does something while it is converted, as another thread could."""

    def __init__(self, array: object, action: Callable[[], object]) -> None:
        self.array, self.action = np.asarray(array), action

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        self.action()
        return self.array


def test_checked_arguments_do_not_change_afterwards():
    for seal in (False, True):
        nodes = NODES.copy()
        passed = nodes[:]
        passed.flags.writeable = not seal  # a read-only view of what others can write to
        mesh = _core.Mesh(passed, Meanwhile(ELEMENTS, lambda nodes=nodes: nodes.fill(np.nan)))
        np.testing.assert_array_equal(mesh.nodes, NODES)
    for dtype in (np.int32, np.int64):
        elements = ELEMENTS.astype(dtype)
        regions = Meanwhile([0, 0], lambda elements=elements: elements.fill(2**31 - 1))
        np.testing.assert_array_equal(_core.Mesh(NODES, elements, regions).elements, ELEMENTS)


def taken_bytes(work: Callable[[], object]) -> int:
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_only_arrays_that_may_change_are_copied():
    vertices = np.zeros((100_000, 3))
    cast = [np.zeros((1, 3), np.int32), [0, 0, -1], [0, 0, 1]]
    assert taken_bytes(lambda: _core.surface_cast(vertices, *cast)) > vertices.nbytes
    listed = vertices.tolist()
    once = taken_bytes(lambda: np.array(listed))
    assert taken_bytes(lambda: _core.surface_cast(listed, *cast)) < once + 10_000
    vertices.flags.writeable = False
    assert taken_bytes(lambda: _core.surface_cast(vertices, *cast)) < 10_000
    assert taken_bytes(lambda: _core.surface_cast(vertices[5:], *cast)) < 10_000


# --- surfaces ------------------------------------------------------------------------

VERTICES = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
TRIANGLES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
P = np.array([[0.2, 0.2, -0.1], [0.3, 0.1, 0.2]])  # points, and vectors of any kind
SHELL = (4, 8, 2, 0, 0.0, 2, 1e-3, 0)  # resolution to area_samples

# every function of the core that takes a surface
SURFACE: dict[str, Callable[[object, object], object]] = {
    "surface_seal": _core.surface_seal,
    "surface_measure": _core.surface_measure,
    "surface_normals": _core.surface_normals,
    "surface_cast": lambda v, t: _core.surface_cast(v, t, [0.2, 0.2, -1], [0, 0, 1]),
    "surface_crossings": lambda v, t: _core.surface_crossings(v, t, True, None, 1),
    "surface_bounds_solid": lambda v, t: _core.surface_bounds_solid(v, t, None, 1),
    "surface_closest": lambda v, t: _core.surface_closest(v, t, P, np.inf),
    "surface_winding": lambda v, t: _core.surface_winding(v, t, P, True, None, 1),
    "surface_holes": lambda v, t: _core.surface_holes(v, t, True, None, 1),
    "surface_thickness": lambda v, t: _core.surface_thickness(v, t, None, 1),
    "surface_sheets": lambda v, t: _core.surface_sheets(v, t, 1),
    "surface_reversed": lambda v, t: _core.surface_reversed(v, t, None, 1),
    "voxelize": lambda v, t: _core.voxelize(v, t, 4, True, 1.2, None, 1)[0].elements,
    "cut": lambda v, t: _core.cut(CUBES, v, t, 1, None, 1)[0].elements,
    "voxmap_build": lambda v, t: _core.voxmap_build(v, t, 4, 1.2, None, 1).values(),
    "field_from_surface": lambda v, t: (
        _core.field_from_surface(v, t, (6, 6, 6), 1.5, None, 0.0, True, 0, None, None, 1)[0].values
    ),
    "shell_create": lambda v, t: _core.shell_create(None, (v, t), *SHELL, None, 1),
    "shell_thinness": lambda v, t: _core.shell_thinness(BALL, v, t, 0.0, 0.1, 9, None, 1),
    "shell_uniformity": lambda v, t: (
        _core.shell_uniformity(v, t, None, 0.0, VERTICES, VERTICES + 0.1, 9, None, 1)
    ),
    "shell_areas": lambda v, t: _core.shell_areas(v, t, P, P, 9, 0, None, 1),
    "shell_from_voxels": lambda v, t: _core.shell_from_voxels(v, t, 4, 1.2, None, 1),
    "shell_from_depth_cube": lambda v, t: _core.shell_from_depth_cube(v, t, 4, None, 1),
    "shell_normals": lambda v, t: _core.shell_normals(v, t, P, None, 1),
}
CUBES = rf.voxelize(rf.Surface(VERTICES, TRIANGLES), 4, cut=False, order=1)._core
BALL = rf.SphereField([0, 0, 0], 0.5)._core

FAR = np.broadcast_to(np.zeros(3), (2**31, 3))
BAD_SURFACES = [
    (None, TRIANGLES, rf.InputTypeError, "vertices must be an array of real numbers"),
    (VERTICES[:, :2], TRIANGLES, rf.InputError, r"vertices must have shape \(any, 3\), got \(4, 2"),
    (VERTICES * [1, np.nan, 1], TRIANGLES, rf.InputError, r"vertices\[0, 1\] is nan; every value"),
    (VERTICES[:0], TRIANGLES, rf.MeshError, "vertices has 0 rows; a surface needs at least one"),
    (FAR, TRIANGLES, rf.InputError, "vertices has length 2147483648 along axis 0; at most"),
    (VERTICES, TRIANGLES * 1.0, rf.InputTypeError, "triangles must hold integers"),
    (VERTICES, TRIANGLES[0], rf.InputError, r"triangles must have shape \(any, 3\), got \(3,\)"),
    (VERTICES, TRIANGLES + 1, rf.InputError, r"triangles\[1, 2\] is 4; allowed are 0 to 3"),
    (VERTICES, TRIANGLES - 1, rf.InputError, r"triangles\[0, 0\] is -1; allowed are 0 to 3"),
    (VERTICES, TRIANGLES[:0], rf.MeshError, "triangles has 0 rows; a surface needs at least one"),
    (VERTICES, FAR, rf.InputTypeError, "triangles must hold integers"),
    (VERTICES, FAR.view(int), rf.InputError, "triangles has length 2147483648 along axis 0"),
]


@pytest.mark.parametrize("function", SURFACE.values(), ids=SURFACE)
def test_surfaces_are_checked_in_one_way(function):
    live = live_blocks()
    for vertices, triangles, error, message in BAD_SURFACES:
        with pytest.raises(error, match=f"^{message}"):
            function(vertices, triangles)
    check_live_blocks(live)


@pytest.mark.parametrize("function", SURFACE.values(), ids=SURFACE)
def test_surfaces_do_not_change_once_they_are_checked(function):
    vertices = VERTICES.copy()
    triangles = Meanwhile(TRIANGLES, lambda: vertices.fill(np.nan))
    expected = function(VERTICES, TRIANGLES)
    np.testing.assert_equal(function(vertices, triangles), expected)
    assert np.isnan(vertices).all()


def test_no_function_on_surfaces_is_forgotten():
    signatures = {
        name: (thing.__text_signature__ or "")
        for name, thing in vars(_core).items()
        if callable(thing) and not isinstance(thing, type)
    }
    with_surface = {name for name, text in signatures.items() if "vertices, triangles" in text}
    assert with_surface | {"shell_create"} == set(SURFACE)


# --- running out of memory --------------------------------------------------------------

SHELL_UP = np.tile([0.0, 0.0, 1.0], (4, 1))
TREE = _core.PointTree(VERTICES, SHELL_UP, np.zeros(4, int), None, None, None, 1)
CONTACT = core_contact(TREE, BALL)
VOXMAP = _core.voxmap_build(VERTICES, TRIANGLES, 4, 1.2, None, 1)
VOXMAP_CONTACT = _core.VoxmapContact(VOXMAP, VERTICES, SHELL_UP, 1.0)
GRID = _core.field_from_values(np.arange(8).reshape(2, 2, 2), [0, 0, 0], [1, 1, 1], np.inf, 1)
AT = np.zeros(3), np.array([1.0, 0, 0, 0])


def refusal() -> None:
    """Be refused; `pytest.raises` crashes some versions of Python that run out of memory."""
    try:
        _core.surface_seal(VERTICES, TRIANGLES + 1)
    except rf.InputError:
        return
    pytest.fail("a triangle with an index out of range was accepted")


MAKES_OBJECTS: dict[str, Callable[[], object]] = {
    **{name: partial(function, VERTICES, TRIANGLES) for name, function in SURFACE.items()},
    "mesh": lambda: _core.Mesh(NODES, ELEMENTS.tolist()),
    "tree": lambda: (TREE.radii(0, None, True, 1), TREE.positions(None), TREE.parents, TREE.order),
    "contact": lambda: CONTACT.evaluate(*AT, None, -1, True),
    "trajectory": lambda: CONTACT.evaluate_many(AT[0][None], AT[1][None], None, -1, True, None),
    "voxmap": lambda: (VOXMAP.values(), VOXMAP.at(P), VOXMAP.origin, VOXMAP.shape),
    "forces of a voxmap": lambda: VOXMAP_CONTACT.evaluate(*AT),
    "field": lambda: _core.Field((BALL, GRID), 0.1),
    "distances": lambda: (GRID.distance(P, 1), GRID.gradient(P, 1), GRID.slack(P[0], P[1])),
    "samples": lambda: (GRID.values, GRID.origin, GRID.spacing, GRID.boundary),
    "refusal": refusal,
}


@pytest.mark.parametrize("work", MAKES_OBJECTS.values(), ids=MAKES_OBJECTS)
def test_python_runs_out_of_memory_at_every_object(work):
    """The allocations of Python and NumPy fail in turn; those of the core have their own test."""
    testcapi = pytest.importorskip("_testcapi", reason="a Python without its own tests")
    live = live_blocks()
    work()
    failures = missed = k = 0
    # a collection in the middle could take the failure, in what other tests have left to it
    gc.disable()
    try:
        while missed < 3:  # some failures are taken by NumPy itself
            testcapi.set_nomemory(k, k + 1)
            try:
                work()
            except MemoryError:
                failed = True
            else:
                failed = False
            finally:
                testcapi.remove_mem_hooks()
            failures += failed
            missed = 0 if failed else missed + 1
            k += 1
    finally:
        gc.enable()
    assert failures > 0
    check_live_blocks(live)


# --- calls ---------------------------------------------------------------------------

TYPES = [thing for thing in vars(_core).values() if isinstance(thing, type)]


@pytest.mark.parametrize("core_type", TYPES, ids=lambda t: t.__name__)
def test_keywords_are_refused(core_type):
    with pytest.raises(rf.InputTypeError, match=f"{core_type.__name__} takes no keyword arguments"):
        core_type(nodes=NODES)


def kept_by(thing: object) -> list[object]:
    """Return what an object of the core keeps alive, besides its type."""
    kept = [x for x in gc.get_referents(thing) if not isinstance(x, type)]
    return [x for one in kept for x in (one if isinstance(one, tuple) else (one,))]


def test_objects_keep_borrowed_arrays_and_release_them(solid):
    up = np.tile([0.0, 0.0, 1.0], (4, 1))
    tree = _core.PointTree(VERTICES, up, np.zeros(4, int), None, None, None, 1)
    voxmap = _core.voxmap_build(VERTICES, TRIANGLES, 4, 1.2, None, 1)
    basis = rf.mass_pca(solid, solid.linear_modes(2).shapes, 2)
    reduced = rf.reduce(solid, basis)._core
    grid = _core.field_from_values(np.ones((2, 2, 2), "f4"), np.zeros(3), np.ones(3), np.inf, 1)
    carved = _core.Field((_core.Field((BALL, grid), 0.1), grid), 0.0, 0, "intersection")
    made = [
        (solid._core, [solid.mesh._core]),
        (_core.Projected(solid._core, basis.vectors, 1), [solid._core]),
        (newmark(reduced, 1e-3), [reduced, None]),
        # those with samples, each once
        (_core.Field((BALL, carved, grid), 0.1), [grid]),
        (_core.VoxmapContact(voxmap, VERTICES, up, 1.0), [voxmap]),
        (core_contact(tree, BALL), [tree, BALL, None]),
    ]
    for thing, kept in made:
        assert gc.is_tracked(thing)
        assert all(a is b for a, b in zip(kept_by(thing), kept, strict=True)), thing
    counts = [sys.getrefcount(x) for x in (tree, BALL, voxmap, reduced, grid)]
    del made, thing, kept
    now = [sys.getrefcount(x) for x in (tree, BALL, voxmap, reduced, grid)]
    # a reference of the object, and those of the lists above
    assert [a - b for a, b in zip(counts, now, strict=True)] == [2, 2, 2, 2, 2]


def test_types_are_given_back_by_their_objects():
    up = np.tile([0.0, 0.0, 1.0], (4, 1))
    makers = [
        lambda: _core.Mesh(NODES, ELEMENTS),
        lambda: _core.PointTree(VERTICES, up, np.zeros(4, int), None, None, None, 1),
        lambda: _core.Field((BALL,), 0.1),
    ]
    for make in makers:
        core_type = type(make())
        before = sys.getrefcount(core_type)
        for _ in range(10):
            make()
        assert sys.getrefcount(core_type) == before


@pytest.mark.parametrize("simd", [-1, 4, 2**31 - 1])
def test_kernels_are_checked(solid, simd):
    for make in (
        lambda: _core.Field((BALL,), 0.0, simd),
        lambda: _core.PointTree(VERTICES, SHELL_UP, np.zeros(4, int), None, None, None, 1, simd),
        lambda: _core.Solid(solid.mesh._core, [("StVK", [1.0, 1], 1.0)], [0, 0], [], 2, simd),
        lambda: _core.Damping(1, np.ones(3), simd),
    ):
        with pytest.raises(rf.InputError, match=f"^simd must be between 0 and 3, got {simd}$"):
            make()


@pytest.mark.parametrize("threads", [0, -1, 257])
def test_numbers_of_threads_are_checked(solid, threads):
    wanted = f"threads must be between 1 and 256, got {threads}"
    with pytest.raises(rf.InputError, match=wanted):
        solid._core.internal_force(NODES, threads)
    with pytest.raises(rf.InputError, match=wanted):
        _core.linear_modes(solid._core, 3, False, None, threads)


def test_progress_is_checked(solid):
    wanted = "progress must be a callable or None, got int"
    with pytest.raises(rf.InputTypeError, match=wanted):
        _core.linear_modes(solid._core, 3, False, 7, 1)
    with pytest.raises(rf.InputTypeError, match=wanted):
        _core.reduce(solid._core, np.ones((1, len(NODES), 3)), 7, 1)


def test_functions_of_surfaces_count_their_arguments():
    with pytest.raises(TypeError, match=r"^surface_reversed\(\) takes exactly 4 .*\(3 given\)$"):
        _core.surface_reversed(VERTICES, TRIANGLES, None)
    with pytest.raises(TypeError, match=r"^surface_winding\(\) takes exactly 6 .*\(5 given\)$"):
        _core.surface_winding(VERTICES, TRIANGLES, True, None, 1)
    with pytest.raises(TypeError, match=r"^surface_reversed\(\) takes exactly 4 .*\(5 given\)$"):
        _core.surface_reversed(VERTICES, TRIANGLES, None, 1, 1)
    with pytest.raises(TypeError, match="argument 6 must be int, not str"):
        _core.shell_areas(VERTICES, TRIANGLES, VERTICES, VERTICES, 1, "1", None, 1)
    with pytest.raises(TypeError, match="'str' object cannot be interpreted as an integer"):
        _core.surface_reversed(VERTICES, TRIANGLES, None, "1")
