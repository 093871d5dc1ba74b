"""Joining of meshes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import reducedfem as rf
from shapes import box_hexes, box_tets

VEG = """*VERTICES
4 3 0 0
1 0 0 0
2 1 0 0
3 0 1 0
4 0 0 1

*ELEMENTS
TET
1 4 0
1 1 2 3 4

*MATERIAL soft
ENU, 1000, 1e5, 0.3

*REGION
allElements, soft
"""


def test_parts_keep_nodes_and_get_regions_of_their_own():
    nodes, elements = box_tets(2, 1, 1, (2.0, 1.0, 1.0))
    n = len(elements)
    first = rf.Mesh(nodes, elements, np.arange(n) % 2 + 3)
    second = rf.Mesh(nodes + np.array([5.0, 0.0, 0.0]), elements)
    third = rf.Mesh(nodes + np.array([9.0, 0.0, 0.0]), elements, np.full(n, 7))
    both = rf.join_meshes([first, second, third])
    assert both.n_components() == 3
    for k, mesh in enumerate((first, second, third)):
        own = both.submesh(both.components() == k)
        np.testing.assert_array_equal(own.nodes, mesh.nodes)
        np.testing.assert_array_equal(own.elements, mesh.elements)
    np.testing.assert_array_equal(both.regions[:n], first.regions)
    assert (both.regions[n : 2 * n] == 5).all()
    assert (both.regions[2 * n :] == 6).all()
    again = pickle.loads(pickle.dumps(both))
    np.testing.assert_array_equal(again.regions, both.regions)


def test_meshes_may_be_arguments_of_their_own():
    nodes, elements = box_tets(1, 1, 1, (1.0, 1.0, 1.0))
    meshes = [rf.Mesh(nodes + np.array([2.0 * k, 0.0, 0.0]), elements) for k in range(3)]
    listed, given = rf.join_meshes(meshes), rf.join_meshes(*meshes)
    np.testing.assert_array_equal(given.nodes, listed.nodes)
    np.testing.assert_array_equal(given.elements, listed.elements)
    np.testing.assert_array_equal(given.regions, listed.regions)


def test_names_and_materials_move_with_regions(tmp_path):
    path = tmp_path / "m.veg"
    path.write_text(VEG)
    read = rf.read_mesh(path)
    (material,) = read.materials.values()
    (name,) = read.region_names.values()
    plain = rf.Mesh(read.nodes - np.array([3.0, 0.0, 0.0]), read.elements)
    both = rf.join_meshes([plain, read])
    assert both.regions.tolist() == [0, 1]
    assert both.materials == {1: material}
    assert both.region_names == {1: name}


def test_cut_cells_are_kept():
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    surface = rf.Surface(corners, [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
    cut = rf.voxelize(surface, resolution=3, order=1)
    assert cut.fractions.min() < 1.0
    whole = rf.Mesh(cut.nodes + np.array([3.0, 0.0, 0.0]), cut.elements)
    for meshes in ((cut, whole), (whole, cut)):
        both = rf.join_meshes(meshes)
        np.testing.assert_array_equal(both.fractions, np.concatenate([m.fractions for m in meshes]))
        assert both.volume == pytest.approx(sum(m.volume for m in meshes), rel=1e-12)


def test_other_lists_are_refused():
    tets = rf.Mesh(*box_tets(1, 1, 1, (1.0, 1.0, 1.0)))
    hexes = rf.Mesh(*box_hexes(1, 1, 1, (1.0, 1.0, 1.0)))
    with pytest.raises(rf.InputError, match=r"meshes\[1\] has elements hex8, meshes\[0\] has tet4"):
        rf.join_meshes([tets, hexes])
    with pytest.raises(rf.InputTypeError, match=r"meshes\[1\] must be a Mesh, got str"):
        rf.join_meshes([tets, "cube"])
    with pytest.raises(rf.InputTypeError, match="a list of Mesh or several of them, got Mesh"):
        rf.join_meshes(tets)
    with pytest.raises(rf.InputTypeError, match=r"meshes\[1\] must be a Mesh, got list"):
        rf.join_meshes(tets, [tets])
    with pytest.raises(rf.InputTypeError, match=r"meshes\[0\] must be a Mesh, got list"):
        rf.join_meshes([tets], tets)
    with pytest.raises(rf.InputError, match="at least one Mesh"):
        rf.join_meshes([])
