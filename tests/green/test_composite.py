"""Composite bodies: linear limit, rotations, derivatives, bars that bend, refusals."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import reducedfem as rf
from graded import plain_matrix, torn_solid, voxel_mesh
from shapes import box_hexes, box_tets
from turns import turn

SIZE = (0.8, 0.2, 0.16)


def bar(cells=(8, 2, 2), hexes=True, size=SIZE, law=None, fixed=True):
    nodes, elements = (box_hexes if hexes else box_tets)(*cells, size)
    law = law or rf.StVK(1e5, 0.3, 1000.0)
    return rf.Solid(rf.Mesh(nodes, elements), law, nodes[:, 0] < 1e-9 if fixed else None)


def linear(solid, force, held=()):
    """Return the linear response to a load, with more nodes at zero."""
    K, free = solid.stiffness().to_dense(), np.zeros(solid.mesh.n_nodes, bool)
    free[solid.free] = True
    free[list(held)] = False
    at = np.flatnonzero(np.repeat(free, 3))
    u = np.zeros(K.shape[0])
    u[at] = np.linalg.solve(K[np.ix_(at, at)], np.ravel(force)[at])
    return u.reshape(-1, 3)


def cut_bar():
    """Return a solid of cut cells, with penalties across the faces of small ones."""
    nodes, elements = box_hexes(2, 2, 2, (0.7, 0.21, 0.17))
    surface = rf.Mesh(nodes @ turn([0.1, 0.2, 0.3]).T, elements).surface()
    mesh = rf.voxelize(surface, resolution=8)
    along = mesh.nodes @ turn([0.1, 0.2, 0.3])[:, 0]
    return rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), along < 0.15)


def graded_bar(shape=(24, 6, 6), h=0.03):
    """Return a solid of cubes of two sizes."""
    mesh = voxel_mesh(np.ones(shape, bool), h).graded()
    return rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), mesh.nodes[:, 0] < 1e-9)


def graded_cut_bar():
    nodes, elements = box_hexes(2, 2, 2, (0.4, 0.31, 0.27))
    surface = rf.Mesh(nodes @ turn([0.1, 0.2, 0.3]).T, elements).surface()
    mesh = rf.voxelize(surface, resolution=12, graded=rf.Grading())
    along = mesh.nodes @ turn([0.1, 0.2, 0.3])[:, 0]
    fixed = np.setdiff1d(np.flatnonzero(along < 0.1), mesh.constraints.slaves)
    return rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), fixed)


@pytest.mark.parametrize("cut", [False, True])
def test_small_loads_on_graded_solids_give_the_linear_solution(rng, cut):
    """Loads on constrained nodes, too, against a dense T; blocks cut between the sizes of cells."""
    solid = graded_cut_bar() if cut else graded_bar((12, 6, 6))
    mesh, T = solid.mesh, plain_matrix(solid.mesh)
    if cut:  # the torn mesh would not know the surface
        assert mesh.fractions.min() < 0.5
        rows = (3 * mesh.constraints.independent[:, None] + np.arange(3)).ravel()
        stiffness = solid.stiffness().to_dense()[np.ix_(rows, rows)]
    else:
        stiffness = T.T @ (torn_solid(mesh, solid.material).stiffness().to_scipy() @ T)
    free = np.flatnonzero(~np.isin(mesh.constraints.independent, solid.fixed).repeat(3))
    force = 1e-7 * rng.normal(size=(mesh.n_nodes, 3))
    x = np.linalg.solve(stiffness[np.ix_(free, free)], (T.T @ force.ravel())[free])
    expected = (T[:, free] @ x).reshape(-1, 3)
    for blocks in (3, uneven_blocks(mesh)):
        body = rf.CompositeBody(solid, blocks)
        done = body.solve(force)
        assert not np.isin(body.nodes, mesh.constraints.slaves).any()
        scale = np.abs(expected).max()
        np.testing.assert_allclose(done.u, expected, rtol=0, atol=2e-6 * scale)
        np.testing.assert_allclose(done.energy, 0.5 * x @ stiffness[np.ix_(free, free)] @ x, 1e-5)


def uneven_blocks(mesh):
    """Return two blocks whose border is at a third of the length, between cells of all sizes."""
    middle = mesh.nodes[mesh.elements, 0].mean(axis=1)
    return (middle > np.quantile(middle, 0.37)).astype(int)


def test_graded_bars_bend_as_uniform_ones():
    """By large rotations, up to the error of the mesh, which is that of linear statics."""
    graded = graded_bar()
    mesh = voxel_mesh(np.ones((24, 6, 6), bool), 0.03)
    solid = rf.Solid(mesh, graded.material, mesh.nodes[:, 0] < 1e-9)
    ends, linearly = [], []
    for one in (solid, graded):
        x = one.mesh.nodes
        end = x[:, 0] > 0.72 - 1e-9
        force = np.zeros_like(x)
        force[end, 2] = -20.0 / end.sum()
        ends.append(rf.CompositeBody(one, 6).solve(force).u[end].mean(axis=0))
        linearly.append(linear(one, force)[end, 2].mean())
    assert np.linalg.norm(ends[0]) > 0.2
    assert linearly[1] == pytest.approx(linearly[0], rel=0.02)
    assert np.linalg.norm(ends[1] - ends[0]) < 0.01 * np.linalg.norm(ends[0])


@pytest.mark.parametrize("kind", ["hexes", "tets", "cut cells"])
def test_small_loads_give_the_linear_solution(rng, kind):
    solid = cut_bar() if kind == "cut cells" else bar(hexes=kind == "hexes")
    if kind == "cut cells":
        assert solid.mesh.fractions.min() < 0.5
    body = rf.CompositeBody(solid, 4)
    assert body.n_blocks == 4
    force = 1e-7 * rng.normal(size=(solid.mesh.n_nodes, 3))  # on outer and inner nodes
    done, expected = body.solve(force), linear(solid, force)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(done.u, expected, rtol=0, atol=2e-6 * scale)
    K = solid.stiffness().to_dense()
    np.testing.assert_allclose(done.energy, 0.5 * done.u.ravel() @ K @ done.u.ravel(), rtol=1e-5)


@pytest.mark.parametrize("inner", [False, True])
def test_loads_of_stiff_bodies_may_be_tiny(inner):
    """Loads far below the rounding of D times lengths give the same displacements per force."""
    solid = bar((16, 2, 2), size=(1.0, 0.1, 0.1), law=rf.StVK(2.1e11, 0.3, 7800.0))
    body = rf.CompositeBody(solid, 4)
    kept = np.setdiff1d(solid.free, body.nodes) if inner else np.intersect1d(solid.free, body.nodes)
    x = solid.mesh.nodes
    force = np.zeros_like(x)
    force[kept[x[kept, 0] > 0.7], 2] = 1.0
    expected = linear(solid, force)
    for size in (1.0, 1e-4, 1e-8):
        done = body.solve(size * force)
        assert done.iterations > 0
        assert done.residual < 1e-6
        np.testing.assert_allclose(done.u / size, expected, rtol=0, atol=1e-5 * expected.max())
    back = body.solve(u0=body.solve(1e4 * force).u)  # and without loads it comes to rest
    assert back.iterations < 10
    assert np.abs(back.u).max() < 1e-9 * expected.max()


def test_unstable_equilibria_warn():
    """A strut stays straight beyond Euler's load, pi^2 E I / (4 L^2) = 43 N."""
    solid = bar((24, 2, 2), size=(1.0, 0.12, 0.12), law=rf.StVK(1e6, 0.0, 1000.0))
    body = rf.CompositeBody(solid, 6)
    assert solid.mesh.n_nodes > 100
    force = np.zeros((solid.mesh.n_nodes, 3))
    end = solid.mesh.nodes[:, 0] > 1.0 - 1e-9
    force[end, 0] = -20.0 / end.sum()
    assert body.solve(force).stable
    with pytest.warns(rf.PlausibilityWarning, match="this equilibrium is unstable"):
        assert not body.solve(5.0 * force).stable


def test_large_turns_between_blocks_warn():
    """An end load turns two blocks by 21 degrees, and the end is off by 9 %."""
    solid = bar((16, 2, 2), size=(1.0, 0.1, 0.1), law=rf.StVK(1e6, 0.0, 1000.0))
    end = solid.mesh.nodes[:, 0] > 1.0 - 1e-9
    force = np.zeros((solid.mesh.n_nodes, 3))
    force[end, 2] = -20.0 / end.sum()
    with pytest.warns(rf.PlausibilityWarning, match="turned by up to 2[12] degrees .* more blocks"):
        rf.CompositeBody(solid, 2, holdable=end).solve(force)
    done = rf.CompositeBody(solid, 8).solve(force)  # without a warning
    assert done.stable
    stretch = np.zeros_like(force)
    stretch[end, 0] = 1500.0 / end.sum()
    with pytest.warns(rf.PlausibilityWarning, match="deformed by up to 1[0-9] %"):
        rf.CompositeBody(solid, 8).solve(stretch)


def test_threads_do_not_disturb_each_other():
    solid = bar((12, 2, 2))
    body = rf.CompositeBody(solid, 4)
    force = np.zeros((solid.mesh.n_nodes, 3))
    force[-1, 2] = -1.0
    expected = body.solve(force).u
    with ThreadPoolExecutor(2) as pool:
        for u in pool.map(lambda _: body.solve(force).u, range(8)):
            np.testing.assert_array_equal(u, expected)


@pytest.mark.parametrize("graded", [False, True])
def test_rotations_of_the_whole_are_exact(graded):
    """A motion of all outer nodes by 2 rad takes no energy, and no force afterwards."""
    solid = graded_bar() if graded else bar()
    x = solid.mesh.nodes
    body = rf.CompositeBody(solid, 4)
    v = x[body.nodes] @ turn([1.1, -0.9, 1.4]).T + [0.1, 0.3, -0.2] - x[body.nodes]
    potential, gradient, tangent = body._core.evaluate(None, v, False)
    D = np.abs(tangent).max()
    assert potential < 1e-20 * D
    np.testing.assert_allclose(gradient, 0.0, atol=1e-13 * D)
    # motions of the whole stay without force
    spin = np.cross([0.3, 0.1, -0.2], x[body.nodes] + v)
    np.testing.assert_allclose(tangent @ spin.ravel(), 0.0, atol=1e-12 * D)


@pytest.mark.parametrize("loaded", [False, True])
def test_gradient_and_tangent_are_those_of_the_potential(rng, loaded):
    solid = bar((4, 1, 2), hexes=False)
    body = rf.CompositeBody(solid, 2)
    assert len(body.nodes) < solid.mesh.n_nodes
    force = 50.0 * rng.normal(size=(solid.mesh.n_nodes, 3)) if loaded else None
    x = solid.mesh.nodes[body.nodes]
    v = x @ turn([0.7, -1.0, 0.4]).T - x + 0.05 * rng.normal(size=x.shape)

    def evaluate(w):
        return body._core.evaluate(force, w, False)

    _, gradient, tangent = evaluate(v)
    h, units = 1e-6, np.eye(v.size).reshape(-1, *v.shape)
    slope = [(evaluate(v + h * e)[0] - evaluate(v - h * e)[0]) / (2 * h) for e in units]
    np.testing.assert_allclose(gradient.ravel(), slope, atol=1e-7 * np.abs(slope).max())
    change = [(evaluate(v + h * e)[1] - evaluate(v - h * e)[1]).ravel() / (2 * h) for e in units]
    np.testing.assert_allclose(tangent, np.transpose(change), atol=1e-7 * np.abs(tangent).max())
    np.testing.assert_allclose(tangent, tangent.T, atol=1e-10 * np.abs(tangent).max())
    definite = body._core.evaluate(force, v, True)[2]
    assert np.linalg.eigvalsh(definite)[0] > -1e-12 * np.abs(definite).max()
    assert np.linalg.eigvalsh(tangent)[0] < -1e-3 * np.abs(definite).max()


def test_more_blocks_bend_like_the_nonlinear_solid():
    """A slender bar bends by 0.16 of its length, where linear statics are 10 % off."""
    nodes, elements = box_hexes(16, 2, 2, (1.0, 0.1, 0.1))
    solid = rf.Solid(rf.Mesh(nodes, elements), rf.StVK(1e6, 0.0, 1000.0), nodes[:, 0] < 1e-9)
    end = nodes[:, 0] > 1.0 - 1e-9
    share = np.array([1, 2, 1, 2, 4, 2, 1, 2, 1]) / 16.0
    force = np.zeros_like(nodes)
    force[end, 2] = -5.0 * share
    exact = solid.solve_static(force)[end].mean(axis=0)
    np.testing.assert_allclose(exact[[2, 0]], [-0.1636, -0.0162], atol=1e-4)
    errors = []
    for number in (2, 4, 8, 16):
        done = rf.CompositeBody(solid, number, holdable=end if number == 2 else None).solve(force)
        assert done.iterations < 12
        assert done.residual <= 1e-8
        errors.append(np.linalg.norm(done.u[end].mean(axis=0) - exact) / np.linalg.norm(exact))
    np.testing.assert_allclose(errors, [1.6e-2, 2.7e-3, 1.1e-3, 7.9e-4], rtol=0.05)


def test_thin_strips_turn_far():
    """Straight Newton steps would stretch the strip, so frames turn first."""
    nodes, elements = box_hexes(16, 1, 1, (0.4, 0.05, 0.004))
    mesh = rf.Mesh(nodes, elements).quadratic()
    solid = rf.Solid(mesh, rf.StVK(1e7, 0.3, 1000.0), mesh.nodes[:, 0] < 1e-9)
    end = mesh.nodes[:, 0] > 0.4 - 1e-9
    force = np.zeros_like(mesh.nodes)
    force[end, 2] = -0.05 / end.sum()
    done = rf.CompositeBody(solid, 16).solve(force)
    assert done.iterations < 15
    tip = done.u[end, 2].mean()
    assert tip < -0.2
    exact = solid.solve_static(force, u0=done.u)[end, 2].mean()
    np.testing.assert_allclose(tip, exact, rtol=5e-3)


def test_held_nodes_keep_their_places_and_are_held_by_forces(rng):
    solid = bar((8, 2, 2))
    x = solid.mesh.nodes
    end = np.flatnonzero(x[:, 0] > SIZE[0] - 1e-9)
    body = rf.CompositeBody(solid, 4, holdable=end)
    done, place = None, x[end]
    for angle in np.radians([60, 120, 180]):
        place = x[end] @ turn([angle, 0, 0]).T + [-0.05, 0.0, 0.0]
        held = dict(zip(end.tolist(), place - x[end], strict=True))
        done = body.solve(held=held, u0=None if done is None else done.u)
    np.testing.assert_array_equal(done.u[end], place - x[end])
    np.testing.assert_array_equal(done.u[solid.fixed], 0.0)
    # virtual work of a turn of the end: that of the strain energy
    spin = np.cross([1.0, 0.0, 0.0], place)
    torque = np.vdot(done.force, spin)
    more = {}
    for sign in (-1, 1):
        step = x[end] @ turn([np.pi + 1e-4 * sign, 0, 0]).T + [-0.05, 0.0, 0.0] - x[end]
        more[sign] = body.solve(held=dict(zip(end.tolist(), step, strict=True)), u0=done.u).energy
    np.testing.assert_allclose(torque, (more[1] - more[-1]) / 2e-4, rtol=1e-5)
    assert np.linalg.det(done.frames) == pytest.approx(1.0)
    angles = np.degrees(np.arccos((np.trace(done.frames, axis1=1, axis2=2) - 1) / 2))
    np.testing.assert_allclose(angles, [22.5, 67.5, 112.5, 157.5], atol=3.0)
    # along one axis only, others are free
    free = body.solve(held={int(end[0]): [0.01, np.nan, np.nan]})
    assert free.u[end[0], 0] == 0.01
    assert (free.force[0, 1:] == 0.0).all()
    assert free.force[0, 0] > 0.0


def test_blocks_by_label_and_by_number_agree(rng):
    solid = bar((8, 2, 2))
    middle = solid.mesh.nodes[solid.mesh.elements, 0].mean(axis=1)
    labels = (middle > SIZE[0] / 4).astype(int) + (middle > SIZE[0] / 2) + (middle > 0.6)
    force = np.zeros((solid.mesh.n_nodes, 3))
    force[-1] = [0.0, 0.0, -2.0]
    one, two = (rf.CompositeBody(solid, cut) for cut in (4, labels))
    np.testing.assert_array_equal(one.blocks, labels)
    np.testing.assert_array_equal(one.solve(force).u, two.solve(force).u)
    other = pickle.loads(pickle.dumps(two))
    np.testing.assert_array_equal(other.solve(force).u, two.solve(force).u)
    assert repr(two) == "<CompositeBody: 4 blocks, 36 of 81 nodes outside, 0.0758 MB>"
    # legs of a fork are blocks of their own
    nodes, elements = box_hexes(4, 3, 1, (0.4, 0.3, 0.1))
    x = nodes[elements].mean(axis=1)
    mesh = rf.Mesh(nodes, elements).submesh((x[:, 0] < 0.2) | (np.abs(x[:, 1] - 0.15) > 0.05))
    fork = rf.CompositeBody(rf.Solid(mesh, solid.material, mesh.nodes[:, 0] < 1e-9), 2)
    assert fork.n_blocks == 3
    force = np.zeros((mesh.n_nodes, 3))
    force[mesh.nodes[:, 0] > 0.39] = [0.0, 0.0, -1.0]
    assert fork.solve(force).energy > 0.0


def test_small_pieces_join_the_block_that_they_touch():
    """A side branch of several small pieces, joined to the bar at its far end only."""
    nodes, elements = box_hexes(16, 7, 4, (0.16, 0.07, 0.04))
    i, j, k = np.floor(nodes[elements].mean(axis=1).T / 0.01).astype(int)
    branch = (k == 1) & (((i >= 2) & (i < 15) & (j == 6)) | ((i == 14) & (j >= 4)))
    mesh = rf.Mesh(nodes, elements).submesh((j < 4) | branch)
    solid = rf.Solid(mesh, rf.StVK(1e6, 0.3, 1000.0), mesh.nodes[:, 0] < 1e-9)
    body = rf.CompositeBody(solid, 4)
    assert body.n_blocks == 4
    assert [mesh.submesh(body.blocks == b).n_components() for b in range(4)] == [1] * 4
    _, y, z = mesh.nodes[mesh.elements].mean(axis=1).T
    assert (body.blocks[(y > 0.04) & (z < 0.02)] == 3).all()
    np.testing.assert_array_equal(rf.CompositeBody(solid, body.blocks).blocks, body.blocks)


def test_layers_in_the_middle_of_a_cut_stay_together():
    nodes, elements = box_hexes(34, 3, 3, (0.158812, 0.03, 0.03))
    mesh = rf.Mesh(np.add(nodes, [0.3, 0.0, 0.0]), elements)
    solid = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), nodes[:, 0] < 1e-9)
    layer = np.floor(nodes[elements, 0].mean(axis=1) / nodes[:, 0].max() * 34).astype(int)
    blocks = rf.CompositeBody(solid, 4).blocks
    np.testing.assert_array_equal(blocks, np.digitize(layer, [8, 17, 25]))


def test_pieces_of_labels_are_components_of_their_elements(rng):
    mesh = bar((6, 5, 4)).mesh
    labels = rng.integers(0, 4, mesh.n_elements).astype(np.int32)
    for by in ("node", "face"):
        number, piece = mesh._core.pieces(labels, 4, by == "face")
        parts = [mesh.submesh(labels == k).components(by) for k in range(4)]
        assert number == sum(part.max() + 1 for part in parts) > 4
        for k, part in enumerate(parts):
            pairs = set(zip(part.tolist(), piece[labels == k].tolist(), strict=True))
            assert len(pairs) == part.max() + 1


def test_small_pieces_apart_are_blocks_of_their_own():
    """A thin bar beside a thick one, both fixed: its pieces are small in all slabs."""
    thick, thin = box_hexes(8, 4, 4, (0.8, 0.4, 0.4)), box_hexes(8, 1, 1, (0.8, 0.1, 0.1))
    mesh = rf.Mesh(
        np.vstack([thick[0], thin[0] + [0, 0.5, 0]]), np.vstack([thick[1], thin[1] + len(thick[0])])
    )
    solid = rf.Solid(mesh, rf.StVK(1e6, 0.3, 1000.0), mesh.nodes[:, 0] < 1e-9)
    with pytest.raises(rf.InputError, match="block 2 shares no node with another"):
        rf.CompositeBody(solid, 2)


def test_refusals_name_block_and_node():
    solid = bar((8, 1, 1))
    n = solid.mesh.n_elements
    middle = solid.mesh.nodes[solid.mesh.elements, 0].mean(axis=1)
    halves = (middle > 0.4).astype(int)

    def refused(error, text, *arguments, **named):
        with pytest.raises(error, match=text):
            rf.CompositeBody(*arguments, **named)

    refused(rf.InputError, "blocks must be between 2", solid, 1)
    refused(rf.InputError, "blocks must be 2 to .* got 1", solid, np.zeros(n, int))
    refused(rf.InputError, r"blocks must have shape \(8,\)", solid, np.zeros(n + 1, int))
    refused(rf.InputError, "no element with the label 1", solid, 2 * halves)
    refused(rf.InputError, r"blocks\[0\] is -1", solid, halves - 1)
    refused(rf.InputTypeError, "blocks must be the number", solid, 1.0 * halves)
    refused(rf.InputError, "block 0 is in 4 pieces", solid, np.arange(n) % 2)
    tall = bar((2, 1, 1), size=(0.2, 0.1, 1.0))
    refused(rf.InputError, "slab 0 of these along z has no element", tall, 2)
    refused(rf.MeshError, "no fixed nodes", bar(fixed=False), 2)
    one, two = box_hexes(2, 1, 1), box_hexes(2, 1, 1)
    mesh = rf.Mesh(np.vstack([one[0], two[0] + [9, 0, 0]]), np.vstack([one[1], two[1] + 12]))
    apart = rf.Solid(mesh, solid.material, mesh.nodes[:, 1] < 1e-9)
    refused(rf.InputError, "block 0 shares no node with another", apart, [0, 0, 1, 1])
    uneven = graded_bar()
    slave = uneven.mesh.constraints.slaves[0]
    refused(
        rf.InputError, f"holdable has node {slave}, which is .*: hold these", uneven, 2, [slave]
    )

    with pytest.raises(rf.InputError, match=f"is {slave}, which follows others .*: leave it out"):
        rf.CompositeBody(uneven, 2).solve(held={int(slave): [0, 0, 0]})

    body = rf.CompositeBody(solid, 2)
    with pytest.raises(rf.InputError, match="not among the 8 outer nodes .* holdable"):
        body.solve(held={int(np.setdiff1d(solid.free, body.nodes)[0]): [0, 0, 0]})
    with pytest.raises(rf.InputError, match="is 0, which is fixed in the solid"):
        body.solve(held={0: [0, 0, 0]})
    with pytest.raises(rf.ConvergenceError, match="no equilibrium after 1 iterations"):
        body.solve(np.full((solid.mesh.n_nodes, 3), 5.0), max_iterations=1)
    flat = -solid.mesh.nodes * [0, 1, 1]
    with pytest.raises(rf.InputError, match="u0 flattens or mirrors a block"):
        body.solve(u0=flat)
    with pytest.raises(rf.InputError, match="^force is too large: the potential is not finite"):
        body.solve(np.full((solid.mesh.n_nodes, 3), 1e160))
    far = 1e170 * solid.mesh.nodes
    with pytest.raises(rf.InputError, match="u0 .* too large|u0 flattens"):
        body.solve(u0=far)
