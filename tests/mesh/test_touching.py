"""Faces that lie on each other without common nodes: found, and named by solids."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import reducedfem as rf
from commands import run
from graded import graded_box
from reducedfem import _core, samples
from shapes import box_hex20s, box_hexes, box_tet10s, box_tets

LAW = rf.StVK(1e5, 0.3, 1000.0)


def layers(shift=(0.5, 0.5), gap=0.0, low=(2, 2, 1), top=(2, 2, 1), make=box_hexes):
    """Return two layers of 2 x 2 x 1 m, the upper one shifted and apart."""
    parts = [rf.Mesh(*make(*cells, (2.0, 2.0, 1.0))) for cells in (low, top)]
    return rf.join_meshes(
        [parts[0], rf.Mesh(parts[1].nodes + np.array([*shift, 1 + gap]), parts[1].elements)]
    )


def touching(mesh):
    return _core.touching_elements(mesh._core)


def merged(mesh):
    places, new = np.unique(mesh.nodes.round(9), axis=0, return_inverse=True)
    return rf.Mesh(places, new.reshape(-1)[mesh.elements])


def half_apart(degrees=0.0, cells=(2, 2, 1), make=box_hexes):
    """Return two layers of one part, whose nodes are twice where x > 1, opened to a notch."""
    mesh = merged(layers((0.0, 0.0), low=cells, top=cells, make=make))
    opened = np.flatnonzero((mesh.nodes[:, 2] == 1.0) & (mesh.nodes[:, 0] > 1.0))
    elements = mesh.elements.copy()
    upper = mesh.nodes[elements][..., 2].mean(axis=1) > 1.0
    new = np.arange(mesh.n_nodes)
    new[opened] = mesh.n_nodes + np.arange(len(opened))
    elements[upper] = new[elements[upper]]
    nodes = np.concatenate([mesh.nodes, mesh.nodes[opened]])
    nodes[mesh.n_nodes :, 2] += np.tan(np.radians(degrees)) * (nodes[opened, 0] - 1.0)
    return rf.Mesh(nodes, elements)


def knife(degrees, cells, make):
    """Return a wedge of tetrahedra that ends in an edge."""
    nodes, elements = make(*cells, (1.0, 1.0, 1.0))
    x = nodes.copy()
    x[:, 2] *= np.tan(np.radians(degrees)) * x[:, 0]
    mesh = merged(rf.Mesh(nodes, elements))
    places, new = np.unique(x.round(12), axis=0, return_inverse=True)
    elements = new.reshape(-1)[elements]
    corners = elements[:, :4]
    whole = [len(set(one)) == 4 for one in corners.tolist()]
    assert mesh.n_elements > sum(whole) > 0
    return rf.Mesh(places, elements[whole])


def overhanging(shift):
    """Return a layer, shifted, on another that it is tied to where they touch."""
    mesh = layers(shift, low=(4, 4, 1), top=(3, 3, 1))
    low = mesh.components() == 0
    at = {tuple(x): i for i, x in enumerate(mesh.nodes[: mesh.elements[low].max() + 1].tolist())}
    slaves, masters, weights = [], [], []
    for node in np.unique(mesh.elements[~low]):
        x, y, z = mesh.nodes[node]
        if z > 1.0 or max(x, y) > 2.0:
            continue
        slaves.append(int(node))
        a, b = min(int(2 * x), 3), min(int(2 * y), 3)
        for i in (0, 1):
            for j in (0, 1):
                masters.append(at[(a + i) / 2, (b + j) / 2, 1.0])
                s, t = 2 * x - a, 2 * y - b
                weights.append((s if i else 1 - s) * (t if j else 1 - t))
    assert 0 < len(slaves) < 16
    return mesh.with_constraints((slaves, 4 * np.arange(len(slaves) + 1), masters, weights))


def plain_touching(mesh):
    """Return the pairs of cells of layers of hexahedra, by their rectangles at z = 1."""
    x = mesh.nodes[mesh.elements]
    low, high = x.min(axis=1), x.max(axis=1)
    below, above = high[:, 2] == 1.0, low[:, 2] == 1.0
    middle, half = (low + high)[:, :2] / 2, (high - low)[:, :2] / 2
    found = set()
    for e in np.flatnonzero(below | above):
        others = np.flatnonzero(above if below[e] else below)
        for corner in ([0, 0], [-0.9, -0.9], [-0.9, 0.9], [0.9, -0.9], [0.9, 0.9]):
            at = middle[e] + half[e] * corner
            inside = (low[others, :2] <= at + 1e-9) & (at - 1e-9 <= high[others, :2])
            if inside.all(axis=1).any():
                found.add(int(e))
    return found


@pytest.mark.parametrize(
    "case",
    [
        {},
        {"shift": (0.5, 0.0)},
        {"shift": (0.25, 0.125)},
        {"low": (3, 2, 2), "top": (2, 5, 1), "shift": (0.0, 0.0)},
        {"low": (1, 1, 1), "top": (4, 4, 1), "shift": (1.25, 0.0)},
        # overlaps of less than half a face, at a corner and along an edge
        {"low": (1, 1, 1), "top": (1, 1, 1), "shift": (1.8, 1.7)},
        {"low": (1, 1, 1), "top": (1, 1, 1), "shift": (1.8, 0.0)},
    ],
)
def test_shifted_layers_are_found(case):
    mesh = layers(**case)
    pairs = touching(mesh)
    assert set(pairs[:, 0].tolist()) == plain_touching(mesh)
    assert len(pairs) > 0
    part = mesh.components()
    assert (part[pairs[:, 0]] != part[pairs[:, 1]]).all()
    held = mesh.nodes[:, 2] == 0.0
    with pytest.warns(rf.GeometryWarning, match=r"faces of the mesh lie on others .* elements \d"):
        rf.Solid(mesh, LAW, fixed=held)


@pytest.mark.parametrize("make", [box_tets, box_tet10s, box_hex20s])
def test_other_elements(make):
    mesh = layers((0.3, 0.2), make=make)
    pairs = touching(mesh)
    assert len(np.unique(pairs)) >= 6
    ends = mesh.nodes[mesh.elements[pairs]]
    assert ((ends[..., 2] == 1.0).sum(axis=2) >= 3).all()


def test_nodes_that_are_twice_at_a_place():
    mesh = layers((0.0, 0.0))
    assert len(touching(mesh)) == 8
    assert len(touching(merged(mesh))) == 0


def test_cracks_are_listed_with_words_of_their_own():
    cracked, mesh = half_apart(), merged(layers((0.0, 0.0)))
    assert cracked.n_components() == 1
    assert len(cracked.surface().triangles) > len(mesh.surface().triangles)
    assert len(touching(cracked)) == 4
    with pytest.warns(
        rf.GeometryWarning, match="4 of them lie inside one part: if that is a crack, or a notch"
    ):
        rf.Solid(cracked, LAW)


@pytest.mark.parametrize("degrees", [0.2, 0.5, 1.0, 3.0])
@pytest.mark.parametrize(("make", "cells"), [
    (box_hexes, (2, 2, 1)), (box_hexes, (6, 4, 1)), (box_tets, (4, 3, 1)), (box_hex20s, (4, 2, 1)),
])  # fmt: skip
def test_notches_are_not_listed(degrees, make, cells):
    mesh = half_apart(degrees, cells, make)
    assert mesh.n_components() == 1
    assert len(touching(mesh)) == 0


@pytest.mark.parametrize("degrees", [0.5, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("cells", [(3, 2, 1), (6, 4, 2), (4, 4, 3)])
def test_knife_edges_are_not_listed(degrees, cells):
    assert len(touching(knife(degrees, cells, box_tets))) == 0


@pytest.mark.parametrize("shift", [(0.7, 0.7), (0.5, 0.0), (0.3, 0.2), (1.8, 0.0), (1.9, 1.85)])
def test_tied_layers_that_hang_over_are_not_listed(shift):
    mesh = overhanging(shift)
    assert len(touching(rf.Mesh(mesh.nodes, mesh.elements))) > 0
    assert len(touching(mesh)) == 0


@pytest.mark.parametrize("joined", ["corner", "half"])
def test_few_common_nodes_do_not_join_an_interface(joined):
    """Nodes are twice between two blocks, except for a corner or half of the interface."""
    mesh = layers((0.0, 0.0), low=(4, 4, 2), top=(4, 4, 2))
    seam = (mesh.nodes[:, 2] == 1.0) & (mesh.nodes[:, 0] <= (1.0 if joined == "half" else 0.0))
    if joined == "corner":
        seam &= mesh.nodes[:, 1] == 0.0
    nodes = mesh.nodes.copy()
    apart = (mesh.components() == 1)[:, None]
    upper = np.unique(np.where(apart, mesh.elements, mesh.elements[apart[:, 0]].max()))
    nodes[np.setdiff1d(upper, np.flatnonzero(seam))] += [0.0, 0.0, 1e3]
    whole = merged(rf.Mesh(nodes, mesh.elements))
    back = np.where(whole.nodes[:, 2:] > 500.0, [0.0, 0.0, 1e3], 0.0)
    whole = rf.Mesh(whole.nodes - back, whole.elements)
    assert whole.n_components() == 1
    assert len(touching(whole)) == (32 if joined == "corner" else 16)


def test_one_tied_node_does_not_join_an_interface():
    mesh = layers((0.0, 0.0), top=(3, 3, 1))
    at = np.flatnonzero((mesh.nodes == [0.0, 0.0, 1.0]).all(axis=1))
    tied = mesh.with_constraints((at[1:], [0, 1], at[:1], [1.0]))
    assert tied.n_components() == 1
    assert len(touching(tied)) == len(touching(mesh))


def test_the_lines_of_the_guide_merge_nodes():
    mesh = layers((0.0, 0.0))
    guide = Path(__file__).parents[2] / "docs/howto/graded_meshes.md"
    lines = next(b for b in guide.read_text().split("```python\n") if "np.unique" in b)
    names = {"mesh": mesh, "rf": rf}
    exec(lines.partition("```")[0], names)
    assert len(touching(names["merged"])) == 0


@pytest.mark.parametrize("gap", [0.01, 0.002])
def test_gaps_and_edges_are_not_listed(gap):
    assert len(touching(layers(gap=gap))) == 0
    assert len(touching(layers((2.0, 0.0)))) == 0  # they meet at an edge
    assert len(touching(layers((2.5, 0.5), gap=-1.0))) == 0  # beside each other, apart


def test_ties_join_faces():
    """The lower nodes of the upper layer follow the element on which they lie."""
    mesh = layers((0.0, 0.0), top=(3, 3, 1))
    low = mesh.components() == 0
    corner = {
        tuple(x): i for i, x in enumerate(mesh.nodes.tolist()) if i <= mesh.elements[low].max()
    }
    slaves, masters, weights = [], [], []
    for node in np.unique(mesh.elements[~low]):
        x, y, z = mesh.nodes[node]
        if z > 1.0:
            continue
        slaves.append(int(node))
        a, b = min(int(x), 1), min(int(y), 1)
        for i in (0, 1):
            for j in (0, 1):
                masters.append(corner[a + i, b + j, 1.0])
                weights.append((x - a if i else 1 - x + a) * (y - b if j else 1 - y + b))
    tied = mesh.with_constraints((slaves, 4 * np.arange(len(slaves) + 1), masters, weights))
    assert len(touching(mesh)) > 0
    assert len(touching(tied)) == 0
    rf.Solid(tied, LAW)


@pytest.mark.parametrize(
    "mesh",
    [
        lambda: rf.Mesh(*box_hexes(3, 2, 2)),
        lambda: rf.Mesh(*box_tet10s(2, 2, 2)),
        lambda: graded_box((8, 8, 8)),
        lambda: rf.voxelize(samples.load("spoon"), 24),
        lambda: rf.voxelize(samples.load("spoon"), 32, graded=rf.Grading()),
        lambda: rf.graded_tets(samples.load("spoon"), 24, cut=False),
    ],
)
def test_no_false_alarms(mesh):
    assert len(touching(mesh())) == 0


def test_no_false_alarms_on_meshes_of_others(shared):
    paths = sorted((shared / "meshes" / "vega").glob("*/*.veg"))
    if not paths:
        pytest.skip("no meshes")
    read = 0
    for path in paths:
        try:
            mesh = rf.read_mesh(path)
        except rf.FileFormatError:  # a file that it includes is missing
            continue
        read += 1
        assert len(touching(mesh)) == 0, path
    assert read >= 5


def test_command_line_counts_loose_faces(tmp_path, capsys):
    layers((0.5, 0.5)).write(tmp_path / "layers.veg")
    status, out, _ = run(capsys, "info", tmp_path / "layers.veg")
    assert status == 0
    assert "loose faces" in out
    assert "without common nodes" in out
