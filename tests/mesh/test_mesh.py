import pickle

import numpy as np
import pytest
from scipy import ndimage

import reducedfem as rf
from failures import check_live_blocks, live_blocks
from reducedfem import _core
from shapes import BOXES, box_hex20s, box_hexes, box_tet10s, box_tets

TET_NODES = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
TET = [[0, 1, 2, 3]]
HEX_NODES = np.array(
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]],
    dtype=float,
)
HEX = [[0, 1, 2, 3, 4, 5, 6, 7]]


@pytest.mark.parametrize(("nodes", "elements", "k"), [(TET_NODES, TET, 4), (HEX_NODES, HEX, 8)])
def test_a_mesh_keeps_its_arguments(nodes, elements, k):
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
        (TET_NODES, [[1, 2, 3, 4]], None, rf.InputError, "counted from 1: pass elements - 1"),
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
def test_wrong_arguments_are_refused(nodes, elements, regions, error, message):
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
    # the argument has a name in Python only
    with pytest.raises(rf.MeshError, match=r"^2 of 6 nodes .* first is node 0: .*nodes out$"):
        _core.Mesh(nodes, np.array(TET) + 1)
    with pytest.raises(rf.MeshError, match=r"leave such nodes out \(drop_unreferenced=True does"):
        rf.Mesh(nodes, np.array(TET) + 1)
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
    before = live_blocks()
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
        check_live_blocks(before)
        if succeeded:
            break
    assert succeeded
    assert k == 5  # the mesh, its three arrays and the list of seen nodes


# ---- connected parts ----------------------------------------------------------------


def two_cubes(offset):
    """Two unit voxels, the second moved by whole voxels, nodes shared where they meet."""
    x = np.vstack([HEX_NODES, HEX_NODES + np.asarray(offset, dtype=float)])
    nodes, place = np.unique(x, axis=0, return_inverse=True)
    return rf.Mesh(nodes, place.reshape(2, 8))


@pytest.mark.parametrize(
    ("offset", "by_node", "by_face"),
    [((1, 0, 0), 1, 1), ((1, 1, 0), 1, 2), ((1, 1, 1), 1, 2), ((2, 0, 0), 2, 2)],
)
def test_parts_that_touch_at_face_edge_corner_or_not_at_all(offset, by_node, by_face):
    mesh = two_cubes(offset)
    assert mesh.n_components() == mesh.n_components("node") == by_node
    assert mesh.n_components("face") == by_face
    np.testing.assert_array_equal(mesh.components(), [0, by_node - 1])
    np.testing.assert_array_equal(mesh.components(by="face"), [0, by_face - 1])
    assert mesh.largest_component("face").n_elements == 2 // by_face


def test_components_match_an_independent_labelling(rng):
    grid = rng.random((9, 8, 7)) < 0.35
    nodes, elements = box_hexes(7, 8, 9)  # x fastest, as the grid's last axis
    mesh = rf.Mesh(nodes, elements[grid.ravel()], drop_unreferenced=True)
    structures = {"face": ndimage.generate_binary_structure(3, 1), "node": np.ones((3, 3, 3))}
    for by, structure in structures.items():
        label, count = ndimage.label(grid, structure)
        ours = mesh.components(by)
        assert mesh.n_components(by) == count
        # the same partition: pairs of labels meet one to one
        pairs = np.unique(np.column_stack([label[grid], ours]), axis=0)
        assert len(pairs) == count
        # numbered in the order of first elements
        first = np.unique(ours, return_index=True)[1]
        assert (np.diff(first) > 0).all()
        sizes = np.bincount(ours)
        assert mesh.largest_component(by).n_elements == sizes.max()


def test_components_of_tetrahedra_join_through_faces():
    nodes, elements = box_tets(3, 2, 2)
    mesh = rf.Mesh(nodes, elements)
    assert mesh.n_components("face") == 1
    # without the middle layer of cells two blocks are left
    cell = np.arange(len(elements)) // 6
    assert mesh.submesh(cell % 3 != 1).n_components() == 2


def test_components_refuses_another_kind():
    with pytest.raises(rf.InputError, match='by must be "node" or "face", got \'edge\''):
        two_cubes((1, 0, 0)).components("edge")


def test_submesh_keeps_order_regions_and_origin():
    nodes, elements = box_hexes(4, 1, 1)
    mesh = rf.Mesh(nodes, elements, [5, 6, 7, 8])
    part = mesh.submesh([3, 1])
    np.testing.assert_array_equal(part.regions, [8, 6])
    np.testing.assert_array_equal(part.nodes, mesh.nodes[part.original_nodes])
    np.testing.assert_array_equal(part.original_nodes[part.elements], mesh.elements[[3, 1]])
    assert (np.diff(part.original_nodes) > 0).all()
    by_mask = mesh.submesh(np.array([False, True, False, True]))
    np.testing.assert_array_equal(by_mask.regions, [6, 8])


def test_regions_replaced():
    nodes, elements = box_hexes(4, 1, 1)
    mesh = rf.Mesh(nodes, elements, [5, 6, 7, 8]).submesh([1, 2])
    other = mesh.with_regions([3, -1])
    np.testing.assert_array_equal(other.regions, [3, -1])
    np.testing.assert_array_equal(mesh.regions, [6, 7])
    np.testing.assert_array_equal(other.original_nodes, mesh.original_nodes)
    np.testing.assert_array_equal(other.elements, mesh.elements)
    for wrong in (None, [1, 2, 3], [0.5, 1.0], 1):
        with pytest.raises((rf.InputError, rf.InputTypeError), match="^regions"):
            mesh.with_regions(wrong)


@pytest.mark.parametrize(
    ("elements", "error", "message"),
    [
        ([], rf.MeshError, "selects nothing"),
        ([False, False], rf.MeshError, "selects nothing"),
        ([True], rf.InputError, r"must have shape \(2,\), got \(1,\)"),
        ([2], rf.InputError, "has 2; allowed are 0 to 1"),
        ([-1], rf.InputError, "has -1; allowed are 0 to 1"),
        ([0, 0], rf.InputError, "index twice"),
        ([0.5], rf.InputTypeError, "mask or a list of indices"),
        ([[0, 1]], rf.InputTypeError, "mask or a list of indices"),
    ],
)
def test_submesh_refuses(elements, error, message):
    with pytest.raises(error, match=message):
        two_cubes((1, 0, 0)).submesh(elements)


# ---- size and boundary ----------------------------------------------------------------


@pytest.mark.parametrize("box", BOXES.values())
def test_boundary_and_volume_of_a_box(box):
    nodes, elements = box(3, 4, 5, (0.3, 0.8, 1.5))
    mesh = rf.Mesh(nodes, elements)
    # sums of 360 numbers: a few roundings
    assert mesh.volume == pytest.approx(0.3 * 0.8 * 1.5, rel=1e-13)
    np.testing.assert_allclose(mesh.element_volumes.sum(), mesh.volume, rtol=1e-13)
    np.testing.assert_allclose(mesh.bounds, [[0, 0, 0], [0.3, 0.8, 1.5]], rtol=1e-15)
    squares = 2 * (3 * 4 + 4 * 5 + 3 * 5)
    assert len(mesh.boundary_faces) == (squares if box in (box_hexes, box_hex20s) else 2 * squares)
    inside = ((nodes > 1e-9) & (nodes < np.array([0.3, 0.8, 1.5]) - 1e-9)).all(axis=1)
    np.testing.assert_array_equal(mesh.boundary_nodes, np.flatnonzero(~inside))

    s = mesh.surface()
    np.testing.assert_array_equal(s.vertices, mesh.nodes[mesh.boundary_nodes])
    assert s.is_closed
    assert s.is_manifold
    assert s.n_triangles == {box_tet10s: 8, box_hex20s: 6}.get(box, 2) * squares
    assert s.volume == pytest.approx(mesh.volume, rel=1e-12)
    assert s.area == pytest.approx(2 * (0.3 * 0.8 + 0.8 * 1.5 + 0.3 * 1.5), rel=1e-12)


def test_volume_of_distorted_hexes_is_that_of_their_gauss_points(rng):
    nodes, elements = box_hexes(3, 3, 3)
    nodes = nodes + rng.uniform(-0.08, 0.08, nodes.shape)
    mesh = rf.Mesh(nodes, elements)
    # two Gauss points an axis integrate the Jacobian, quadratic in each direction, exactly
    sign = 2 * HEX_NODES - 1
    expected = np.zeros(len(elements))
    for g in sign / np.sqrt(3):
        factor = 1 + sign * g
        gradient = np.stack(
            [sign[:, k] * factor[:, (k + 1) % 3] * factor[:, (k + 2) % 3] for k in range(3)], 1
        )
        expected += np.linalg.det(np.einsum("ak,eai->eki", gradient / 8, nodes[elements]))
    np.testing.assert_allclose(mesh.element_volumes, expected, rtol=1e-13)
    # the distorted inner faces are shared, so the volumes add up
    flat = nodes.copy()
    edge = ((mesh.nodes == 0) | (mesh.nodes == 1)).any(axis=1)
    assert not edge.all()
    flat[mesh.boundary_nodes] = box_hexes(3, 3, 3)[0][mesh.boundary_nodes]
    assert rf.Mesh(flat, elements).volume == pytest.approx(1, rel=1e-13)


def test_pickles_with_everything():
    nodes, elements = box_tets(1, 1, 1)
    mesh = rf.Mesh(np.vstack([[[9, 9, 9]], nodes]), elements + 1, [3] * 6, drop_unreferenced=True)
    again = pickle.loads(pickle.dumps(mesh))
    for name in ("nodes", "elements", "regions", "original_nodes"):
        np.testing.assert_array_equal(getattr(again, name), getattr(mesh, name))


def test_every_failing_allocation_of_topology_is_reported():
    mesh = two_cubes((1, 1, 0))
    for ask in (mesh.components, lambda: mesh.components("face"), mesh._core.boundary):
        ask()
        before = live_blocks()
        failures = 0
        for k in range(20):
            _core.alloc_fail_from(k)
            try:
                ask()
                break
            except MemoryError:
                failures += 1
            finally:
                _core.alloc_fail_from(-1)
            check_live_blocks(before)
        assert failures in (2, 4)
