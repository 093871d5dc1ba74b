import numpy as np
import pytest

import reducedfem as rf
from reducedfem import _core

TET_NODES = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
TET = [[0, 1, 2, 3]]
HEX_NODES = np.array(
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]],
    dtype=float,
)
HEX = [[0, 1, 2, 3, 4, 5, 6, 7]]


@pytest.mark.parametrize(("nodes", "elements", "k"), [(TET_NODES, TET, 4), (HEX_NODES, HEX, 8)])
def test_holds_what_it_was_given(nodes, elements, k):
    mesh = rf.Mesh(nodes, elements, [7])
    assert mesh.n_nodes == len(nodes)
    assert mesh.n_elements == 1
    assert mesh.nodes_per_element == k
    np.testing.assert_array_equal(mesh.nodes, nodes)
    np.testing.assert_array_equal(mesh.elements, elements)
    np.testing.assert_array_equal(mesh.regions, [7])
    assert mesh.elements.dtype == np.int32
    assert mesh.regions.dtype == np.int32


def test_arrays_are_read_only_copies_that_keep_their_memory_alive():
    source = TET_NODES.copy()
    mesh = rf.Mesh(source, TET)
    source[0] = 5.0
    nodes, elements = mesh.nodes, mesh.elements
    del mesh
    np.testing.assert_array_equal(nodes, TET_NODES)
    for array in (nodes, elements):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1


@pytest.mark.parametrize(
    ("nodes", "elements", "regions", "error", "message"),
    [
        (TET_NODES, [[0, 2, 1, 3]], None, rf.MeshError, r"element 0 is inverted .*-0.167 m\^3"),
        (TET_NODES * [1, 1, 0], TET, None, rf.MeshError, "element 0 is degenerate"),
        (TET_NODES, [[0, 1, 2, 2]], None, rf.MeshError, "element 0 has node 2 twice"),
        ([*TET_NODES, [9, 9, 9]], TET, None, rf.MeshError, "1 of 5 nodes .* node 4"),
        (TET_NODES, [[0, 1, 2, 4]], None, rf.InputError, r"elements\[0, 3\] is 4.* 0 to 3"),
        (TET_NODES, [[0, 1, 2, -1]], None, rf.InputError, r"elements\[0, 3\] is -1"),
        (TET_NODES * np.nan, TET, None, rf.InputError, r"nodes\[0, 0\] is nan"),
        (TET_NODES * 1e300, TET, None, rf.MeshError, "too large"),
        (TET_NODES, [[0, 1, 2]], None, rf.InputError, "elements must have shape"),
        (TET_NODES, TET[0], None, rf.InputError, "elements must have shape"),
        (TET_NODES[:, :2], TET, None, rf.InputError, "nodes must have shape"),
        (TET_NODES, np.zeros((0, 4), int), None, rf.MeshError, "elements has 0 rows"),
        (np.zeros((0, 3)), TET, None, rf.MeshError, "nodes has 0 rows"),
        (TET_NODES, [[0.0, 1.0, 2.0, 3.0]], None, rf.InputTypeError, "integers"),
        (TET_NODES, TET, [1, 2], rf.InputError, "regions must have shape"),
        (TET_NODES, TET, [0.5], rf.InputTypeError, "regions must hold integers"),
        ("nodes", TET, None, rf.InputTypeError, "nodes must be an array"),
        (TET_NODES, None, None, rf.InputTypeError, "elements must be an array"),
        (-HEX_NODES, HEX, None, rf.MeshError, "element 0 is inverted .* VTK order"),
    ],
)
def test_refuses(nodes, elements, regions, error, message):
    with pytest.raises(error, match=message):
        rf.Mesh(nodes, elements, regions)


def test_hex_with_one_corner_pushed_inside_out_is_refused():
    # the centre keeps a positive Jacobian, the corner opposite to the pushed one too
    nodes = HEX_NODES.copy()
    nodes[0] = 0.75
    with pytest.raises(rf.MeshError, match="not convex"):
        rf.Mesh(nodes, HEX)


def test_distorted_convex_hex_is_accepted():
    rng = np.random.default_rng(0)
    for _ in range(50):
        rf.Mesh(HEX_NODES + rng.uniform(-0.15, 0.15, (8, 3)), HEX)


def test_tiny_and_far_away_elements_are_judged_by_shape_not_by_size():
    rf.Mesh(TET_NODES * 1e-9, TET)
    rf.Mesh(TET_NODES * 1e-6 + 1.0, TET)
    rf.Mesh(HEX_NODES * 1e-9, HEX)


def test_unreferenced_nodes_can_be_dropped():
    nodes = np.vstack([[[8, 8, 8]], TET_NODES, [[9, 9, 9]]])
    mesh = rf.Mesh(nodes, np.array(TET) + 1, drop_unreferenced=True)
    np.testing.assert_array_equal(mesh.nodes, TET_NODES)
    np.testing.assert_array_equal(mesh.elements, TET)
    np.testing.assert_array_equal(mesh.original_nodes, [1, 2, 3, 4])
    # a wrong index is still refused, not dropped
    with pytest.raises(rf.InputError, match=r"elements\[0, 3\]"):
        rf.Mesh(nodes, [[1, 2, 3, 6]], drop_unreferenced=True)


def test_core_type_is_sealed():
    with pytest.raises(TypeError):

        class _Sub(_core.Mesh):  # type: ignore[misc]
            pass

    with pytest.raises(TypeError):
        _core.Mesh()
    assert "Mesh(nodes, elements" in _core.Mesh.__doc__ or _core.Mesh.__text_signature__


def test_every_failing_allocation_is_reported_and_nothing_leaks():
    before = _core.alloc_counters()["live_blocks"]
    succeeded = False
    for k in range(20):
        _core.alloc_fail_from(k)
        try:
            mesh = rf.Mesh(HEX_NODES, HEX)
            succeeded = True
            del mesh
        except MemoryError:
            pass
        finally:
            _core.alloc_fail_from(-1)
        assert _core.alloc_counters()["live_blocks"] == before
        if succeeded:
            break
    assert succeeded
    assert k == 5  # the mesh, its three arrays and the list of seen nodes
