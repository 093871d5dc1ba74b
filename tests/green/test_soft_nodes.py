"""Warnings of Green's functions and handles on nodes outside of a body with cut cells."""

from __future__ import annotations

import re
import warnings

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


# warnings of the resolution and of what the advice leaves out
OTHERS = ("the thinnest parts are", "the mesh has ", "the mesh comes apart: 1 smaller piece, ")


@pytest.mark.parametrize("name", ["spot", "stanford-bunny"])
def test_the_mesh_of_the_advice_is_no_new_trouble(shared, name):
    """With the arguments that it names, also on a part that comes apart in these cells."""
    part = rf.read_surface(shared / "meshes" / f"{name}.obj")
    part = part.transformed(scale=0.1 / float(np.ptp(part.bounds, axis=0).max()))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        mesh = rf.graded_tets(part, 16, pieces="largest")
        solid = rf.Solid(mesh, RUBBER, mesh.nodes[:, 1] < mesh.bounds[0, 1] + 0.01)
        green = rf.GreensFunctions(solid)
        rf.surface_load(solid, solid.gravity(), green.nodes)
    said = [str(one.message) for one in found]
    assert all(text.startswith(OTHERS) for text in said)
    assert not any("cut=False" in text or "pieces=" in text for text in said)
    if name == "stanford-bunny":
        with pytest.warns(rf.GeometryWarning, match="pass pieces='largest', which leaves them"):
            whole = rf.graded_tets(part, 16)
        with pytest.raises(rf.MeshError, match=r"leave it out \(graded_tets: pieces='largest'\)"):
            rf.GreensFunctions(
                rf.Solid(whole, RUBBER, whole.nodes[:, 1] < whole.bounds[0, 1] + 0.01)
            )


def test_tetrahedra_need_no_other_advice():
    """The mesh that the warning asks for has the volume, and gives no warning anywhere."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        use_tetrahedra()
    assert [str(one.message) for one in found] == []


def use_tetrahedra():
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
    said = r"outer nodes lie in nearly empty cut cells, .* up to 3\d % .*, the others by up to 3 %"
    with pytest.warns(rf.PlausibilityWarning, match=said) as found:
        body.solve(load)
    assert [one.filename for one in found] == [__file__]
    # the range of the method is a matter of its own
    with (
        pytest.warns(rf.PlausibilityWarning, match="^blocks are turned .* by up to 19 % of their"),
        pytest.warns(rf.PlausibilityWarning, match="% .*, the others by up to 19 %"),
    ):
        body.solve(20.0 / 3.0 * load)
    # nor are they the cause of a bound on iterations
    with pytest.raises(rf.ConvergenceError, match=r"in steps \(u0\)$"):
        body.solve(load, max_iterations=1)


def test_strain_of_blocks_without_some_nodes(rng):
    """Against the definition, |d| of these nodes by |A| of all."""
    mesh = rf.Mesh(*box_hexes(9, 2, 2, (0.09, 0.02, 0.02)))
    solid = rf.Solid(mesh, RUBBER, mesh.nodes[:, 0] < 1e-9)
    body = rf.CompositeBody(solid, 3)
    n, load = len(body.nodes), np.zeros_like(mesh.nodes)
    load[:, 2] = 0.01
    free, soft = np.zeros((n, 3), np.uint8), rng.random(n) < 0.5
    for mask in (None, soft, np.ones(n, bool)):
        given = None if mask is None else mask.astype(np.uint8)
        found = body._core.solve(load, free, np.zeros((n, 3)), None, given, 1e-10, 50, 1)
        u, frames, expected = found[0], found[1], []
        for b, frame in enumerate(frames):
            own = np.intersect1d(mesh.elements[body.blocks == b], body.nodes)
            arms = mesh.nodes[own] - mesh.nodes[own].mean(axis=0)
            moved = arms + u[own] - u[own].mean(axis=0)
            d, kept = np.linalg.norm(moved @ frame - arms, axis=1), True
            if mask is not None:
                kept = ~mask[np.searchsorted(body.nodes, own)]
            size = np.linalg.norm(arms, axis=1).max()
            expected.append((d.max() / size, d.max(where=kept, initial=0.0) / size))
        np.testing.assert_allclose(found[-2:], np.max(expected, axis=0), rtol=1e-6)
    assert found[-1] == 0.0


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
