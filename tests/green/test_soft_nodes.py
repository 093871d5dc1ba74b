"""Warnings of Green's functions and handles on nodes outside of a body with cut cells."""

from __future__ import annotations

import re

import numpy as np
import pytest

import reducedfem as rf
from shapes import box_hexes, sphere

pytestmark = pytest.mark.no_asan(reason="other tests run the same C code")

RUBBER = rf.StVK(1e6, 0.3, 1000.0)
BALL = rf.Surface(*sphere(12, radius=0.05))
SAID = r"surface_nodes: (\d+) of the (\d+) nodes .* node (\d+) at \(.*\) moves it (\S+) times"


@pytest.mark.parametrize("fixed", [True, False])
def test_soft_nodes_of_the_surface_give_a_warning(fixed):
    mesh = rf.voxelize(BALL, 6, order=1)
    solid = rf.Solid(mesh, RUBBER, mesh.nodes[:, 2] < -0.03 if fixed else None)
    with pytest.warns(rf.PlausibilityWarning, match=SAID) as found:
        green = rf.GreensFunctions(solid)
    assert [one.filename for one in found] == [__file__]
    groups = re.match(SAID, str(found[0].message)).groups()
    soft, count, node, times = int(groups[0]), int(groups[1]), int(groups[2]), float(groups[3])
    assert 0 < soft < count == len(green.nodes)
    assert np.linalg.norm(mesh.nodes[node]) > 0.05
    assert times > 100.0
    if fixed:
        sizes, axes = np.linalg.eigh(green.point_compliance([node] * 3, [1.0, 0.0, 0.0]))
        assert times == pytest.approx(sizes[-1] / beside(solid, node, axes[:, -1]), rel=0.5)


def test_tetrahedra_need_no_other_advice():
    """The mesh that the warning asks for has the volume, and gives no warning anywhere."""
    mesh = rf.graded_tets(BALL, 12)
    solid = rf.Solid(mesh, RUBBER, mesh.nodes[:, 2] < -0.03)
    green = rf.GreensFunctions(solid, releasable=solid.fixed)
    weight = rf.surface_load(solid, solid.gravity(), green.nodes, released=solid.fixed)
    assert weight.sum(axis=0)[2] == pytest.approx(-9.81 * 1000.0 * BALL.volume, rel=0.05)
    touched = rf.PointProxyContact(green, mesh.surface(), radius=1e-2)
    assert touched.touch((0.0, 0.0, 0.1))[2] == "open"
    assert touched.touch((0.0, 0.0, float(mesh.bounds[1, 2]) - 1e-3))[0][2] > 0.0
    end = np.flatnonzero(mesh.nodes[:, 2] > 0.03)
    load = np.zeros_like(mesh.nodes)
    load[end, 0] = 10.0 / len(end)
    body = rf.CompositeBody(solid, 3, holdable=end)
    exact = solid.solve_static(load)
    assert np.abs(body.solve(load).u - exact).max() < 0.01 * np.abs(exact).max()


def test_composite_bodies_name_soft_nodes_as_the_cause():
    mesh = rf.voxelize(BALL, 6, order=1)
    solid = rf.Solid(mesh, RUBBER, mesh.nodes[:, 2] < -0.03)
    end = np.setdiff1d(np.flatnonzero(mesh.nodes[:, 2] > 0.04), solid.fixed)
    body = rf.CompositeBody(solid, 3, holdable=end)
    load = np.zeros_like(mesh.nodes)
    load[end, 0] = 3.0 / len(end)
    said = r"outer nodes lie in nearly empty cut cells, .* up to 3\d % .*, the others by up to 2 %"
    with pytest.warns(rf.PlausibilityWarning, match=said) as found:
        body.solve(load)
    assert [one.filename for one in found] == [__file__]
    with pytest.raises(rf.ConvergenceError, match="outer nodes lie in nearly empty cut cells, wh"):
        body.solve(load, max_iterations=1)


def beside(solid: rf.Solid, node: int, axis: np.ndarray) -> float:
    """Return the compliance of the vertex of the surface next to a node along an axis."""
    away = np.linalg.norm(BALL.vertices - solid.mesh.nodes[node], axis=1)
    point = rf.Embedding(solid.mesh, BALL.vertices[[away.argmin()]])
    u = solid.solve_static(point.distribute(1e-6 * axis[None]))
    return float(point.interpolate(u)[0] @ axis) / 1e-6


def test_nodes_in_the_body_give_none():
    cut = rf.voxelize(BALL, 6, order=1)
    inside = np.flatnonzero(np.linalg.norm(cut.nodes, axis=1) < 0.04)
    fixed = cut.nodes[:, 2] < -0.03
    rf.GreensFunctions(rf.Solid(cut, RUBBER, fixed), np.setdiff1d(inside, np.flatnonzero(fixed)))
    whole = rf.voxelize(BALL, 6, order=1, cut=False)
    rf.GreensFunctions(rf.Solid(whole, RUBBER, whole.nodes[:, 2] < -0.03))


def test_handles_outside_of_the_body_give_a_warning():
    """Cubes are centred about the body: a plate of 3.5 cells begins a quarter into one."""
    vertices, quads = box_hexes(1, 1, 1, (0.1, 0.1, 0.035))
    mesh = rf.voxelize(rf.Mesh(vertices, quads).surface(), 10, expand=1.0, order=1)
    solid, z = rf.Solid(mesh, RUBBER), mesh.nodes[:, 2]
    with pytest.warns(rf.PlausibilityWarning, match=r"handles\[1\]: nearly all of the") as found:
        rf.ControlElements(solid, [z < 0.01, z > z.max() - 1e-6])
    assert [one.filename for one in found] == [__file__]
    rf.ControlElements(solid, [z < 0.01, z > 0.02])
