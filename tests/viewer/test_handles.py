"""Views of control elements and of composite bodies."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from shapes import box_hexes

pytestmark = pytest.mark.no_asan(reason="pictures, no C code of its own")


@pytest.fixture(scope="module")
def bar():
    nodes, elements = box_hexes(8, 2, 2, (0.4, 0.1, 0.1))
    return rf.Solid(rf.Mesh(nodes, elements), rf.StVK(1e5, 0.3, 1000.0), fixed=nodes[:, 0] < 1e-9)


def scene_of(x):
    with rf.view(x, browser=False) as view:
        return view._shown.scene()


def test_control_elements_have_a_slider_for_each_parameter(bar):
    x = bar.mesh.nodes[:, 0]
    control = rf.ControlElements(bar, [x > 0.34, np.abs(x - 0.2) < 0.01])
    scene = scene_of(control)
    body = scene.bodies[0]
    # the second handle is a plane across x: three parameters move nothing
    assert len(body.shapes) == len(body.labels) == 21
    assert [one.name for one in scene.marks][1:] == ["handle 0: 18 nodes", "handle 1: 9 nodes"]
    k = body.labels.index("handle 0: y by x")
    c = np.zeros((2, 12))
    c[0, 3 + 3] = 1.0
    expected = control.displacement(c, rotation=None)
    places = [
        int(np.argmin(np.abs(control.positions - vertex).sum(axis=1))) for vertex in body.vertices
    ]
    np.testing.assert_allclose(body.shapes[k], expected[places], atol=1e-12)


def test_parts_that_cannot_be_drawn_are_refused_with_a_hint(bar, tmp_path):
    x = bar.mesh.nodes[:, 0]
    part = rf.ControlElements(bar, [x > 0.34], surface_nodes=bar.mesh.boundary_nodes[:5])
    with pytest.raises(rf.InputError, match=r"no displacements of \d+ nodes .* surface_nodes=None"):
        scene_of(part)
    rf.ControlElements(bar, [x > 0.34]).save(tmp_path / "c.safetensors")
    with pytest.raises(rf.InputError, match="from a file, .* as view\\(mesh, motion="):
        scene_of(rf.load(tmp_path / "c.safetensors", rf.ControlElements))


def test_composite_bodies_have_a_colour_for_each_block(bar):
    body = rf.CompositeBody(bar, 4)
    scene = scene_of(body)
    (shown,) = scene.bodies
    middle = shown.vertices[shown.triangles].mean(axis=1)[:, 0]
    colours = shown.colours[shown.triangles[:, 0]]
    for k in range(4):
        own = colours[(middle > 0.1 * k + 1e-3) & (middle < 0.1 * (k + 1) - 1e-3)]
        assert len(np.unique(own, axis=0)) == 1
    assert len(np.unique(colours, axis=0)) == 4
    assert scene.texts[0].startswith("4 blocks, ")
    # a solution is shown on the solid
    force = np.zeros((bar.mesh.n_nodes, 3))
    force[-1, 2] = -0.1
    u = body.solve(force).u
    with rf.view(bar, motion=rf.Motion([0.0], [u]), browser=False) as view:
        assert view._shown.scene().clip is not None
