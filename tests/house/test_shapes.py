"""The meshes the other tests stand on: volumes and conformity in closed form."""

from __future__ import annotations

from collections import Counter

import numpy as np

from shapes import box_hexes, box_tets


def test_hexes_fill_the_box_with_positive_cells():
    nodes, elements = box_hexes(3, 2, 4, (3.0, 1.0, 2.0))
    assert nodes.shape == (4 * 3 * 5, 3)
    assert elements.shape == (24, 8)
    assert elements.dtype == np.int32
    edges = nodes[elements[:, [1, 3, 4]]] - nodes[elements[:, [0]]]
    # each cell is a brick of 3*1*2 / 24 m^3; sums of a few roundings
    np.testing.assert_allclose(np.linalg.det(edges), 0.25, rtol=1e-13)
    # the diagonal of VTK order joins corners 0 and 6
    np.testing.assert_allclose(nodes[elements[:, 6]] - nodes[elements[:, 0]], [[1, 0.5, 0.5]] * 24)


def test_tets_fill_the_box_and_match_across_faces():
    nodes, elements = box_tets(3, 2, 4, (3.0, 1.0, 2.0))
    assert elements.shape == (144, 4)
    volumes = np.linalg.det(nodes[elements[:, 1:]] - nodes[elements[:, :1]]) / 6
    np.testing.assert_allclose(volumes, 0.25 / 6, rtol=1e-13)
    # a face belongs to two tets, or to one on the surface: 2 triangles per outer square
    faces = Counter(
        tuple(sorted(np.delete(tet, corner))) for tet in elements for corner in range(4)
    )
    assert set(faces.values()) == {1, 2}
    assert sum(n == 1 for n in faces.values()) == 2 * 2 * (3 * 2 + 2 * 4 + 3 * 4)
