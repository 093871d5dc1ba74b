"""Contact by a barrier on cut cells: vertices of the surface touch, not nodes of cells."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from motions import check_copies
from reducedfem import _core

GRAVITY = 9.81
RADIUS, DISTANCE, SLIP = 0.05, 1e-3, 1e-3
TILTED = np.array([1.0, 1.0, 1.0]) / np.sqrt(3.0)
SOFT = rf.StableNeoHookean(1e6, 0.3, 1000.0)
ASKEW = np.array([0.2, 0.3, 1.0]) / np.linalg.norm([0.2, 0.3, 1.0])
SHARED_CODE = pytest.mark.no_asan(reason="other tests run the same C code")
WIDE = 4e-3  # of a barrier that many vertices reach


def sphere(resolution=12) -> rf.Surface:
    field = rf.DistanceField.from_field(rf.SphereField([0.0, 0.0, 0.0], RADIUS), resolution)
    return field.isosurface()


def ball(cells=4, order=1, resolution=12, law=SOFT, fixed=None) -> rf.Solid:
    """Return a ball of cut cells; fixed: a function of positions."""
    mesh = rf.voxelize(sphere(resolution), cells, order=order)
    return rf.Solid(mesh, law, fixed=None if fixed is None else fixed(mesh.nodes))


def floor(height: float, normal=(0.0, 0.0, 1.0)) -> rf.PlaneField:
    normal = np.array(normal)
    return rf.PlaneField(-height * normal, normal)


BELOW = floor(RADIUS + 1e-3, ASKEW)
BOWL = ~rf.SphereField(0.05 * ASKEW, 2.0 * RADIUS + 1e-3)


def used(contact, solid):
    """Return the contact after an integrator has taken it."""
    rf.BackwardEuler(solid, 1e-3, newton_max=50, contact=contact)
    return contact


def weights_of(solid, points) -> np.ndarray:
    """Return the values (p, n) of the shape functions of 8-node cells at points, by products."""
    mesh = solid.mesh
    low, high = (f(mesh.nodes[mesh.elements], axis=1) for f in (np.min, np.max))
    out = np.zeros((len(points), mesh.n_nodes))
    for k, point in enumerate(points):
        outside = np.maximum(low - point, point - high).max(axis=1)
        cell = int(outside.argmin())
        assert outside[cell] < 1e-9
        at = mesh.nodes[mesh.elements[cell]]
        far = np.abs(at - point) / (high[cell] - low[cell])
        out[k, mesh.elements[cell]] = np.prod(1.0 - far, axis=1)
    return out


def pressed(obstacle, order=1, friction=0.3):
    """Return a contact of a ball near an obstacle, its solid, displacements and velocities."""
    solid = ball(order=order)
    contact = used(rf.BarrierContact(obstacle, WIDE, 50.0, friction, SLIP), solid)
    rng = np.random.default_rng(7)
    u = 2e-5 * rng.standard_normal((solid.mesh.n_nodes, 3))
    return contact, solid, u, SLIP * rng.standard_normal(u.shape)


# ---- closed forms


def test_forces_are_those_of_the_vertices_by_shape_functions():
    contact, solid, u, v = pressed(BELOW)
    points = contact.surface.vertices
    weights = weights_of(solid, points)
    d = (points + weights @ u) @ ASKEW + RADIUS + 1e-3
    near = np.flatnonzero(d < WIDE)
    assert len(near) > 10
    y = d[near] / WIDE
    energy = -50.0 * WIDE**2 * ((y - 1.0) ** 2 * np.log(y)).sum()
    load = 50.0 * WIDE * (2.0 * (y - 1.0) * np.log(y) + (y - 1.0) ** 2 / y)
    along = (weights @ v)[near]
    along -= np.outer(along @ ASKEW, ASKEW)
    speed = np.linalg.norm(along, axis=1)[:, None]
    part = np.where(speed < SLIP, 2.0 * speed / SLIP - (speed / SLIP) ** 2, 1.0)
    force = load[:, None] * (ASKEW - 0.3 * part * along / speed)
    assert contact.energy(u) == pytest.approx(energy, rel=1e-9)
    found = contact.force(u, v)
    np.testing.assert_allclose(
        found, weights[near].T @ force, rtol=0, atol=1e-9 * np.abs(found).max()
    )


@pytest.mark.parametrize(
    ("order", "cells"), [(1, 6), (1, 4), pytest.param(2, 4, marks=SHARED_CODE)]
)
def test_a_ball_rests_with_its_surface_at_the_barrier(order, cells):
    solid, plane = ball(cells, order), floor(0.051, TILTED)
    contact = rf.BarrierContact(plane, DISTANCE, friction=0.5)
    sim = rf.BackwardEuler(
        solid, 5e-3, newton_max=50, tol=1e-9, contact=contact, gravity=-GRAVITY * TILTED,
        damping=(20.0, 1e-3),
    )  # fmt: skip
    sim.step(n=120)
    state = sim.contact_state
    weight = solid.total_mass * GRAVITY
    assert state.normal_forces.sum() == pytest.approx(weight, rel=1e-6)
    np.testing.assert_allclose(state.normals, [TILTED] * len(state.nodes), atol=1e-12)
    y = state.distances / DISTANCE
    kappa = contact.barrier_stiffness
    load = kappa * DISTANCE * (2.0 * (y - 1.0) * np.log(y) + (y - 1.0) ** 2 / y)
    np.testing.assert_allclose(state.normal_forces, load, rtol=1e-9)
    resting = contact.surface.n_vertices / 6.0
    assert kappa == pytest.approx(weight / resting / ((np.log(2.0) + 0.5) * DISTANCE), rel=1e-12)
    # distances of the surface itself, moved by the cells
    moved = rf.Embedding(solid.mesh, contact.surface.vertices).interpolate(sim.state.q)
    gap = plane.distance(contact.surface.vertices + moved)
    assert gap.min() == pytest.approx(state.smallest_distance, rel=1e-6)
    assert 0.0 < gap.min() < 0.5 * DISTANCE
    np.testing.assert_allclose(gap[state.nodes], state.distances, rtol=1e-6)
    # nodes of cells are behind the plane: they touch nothing
    assert plane.distance(solid.mesh.nodes + sim.state.q).min() < -2.0 * DISTANCE
    assert sim.report.unconverged == 0


def acceleration(friction: float, kind) -> float:
    """Return the acceleration of a ball down a slope of 10 degrees, over that of gravity."""
    angle, dt, steps = np.radians(10.0), 4e-3, 40
    solid = ball(6, 1, 48, rf.StableNeoHookean(1e7, 0.3, 1000.0))
    contact = rf.BarrierContact(floor(RADIUS + 2e-5), 5e-4, friction=friction)
    sim = kind(
        solid, dt, newton_max=50, contact=contact,
        gravity=GRAVITY * np.array([np.sin(angle), 0.0, -np.cos(angle)]),
    )  # fmt: skip
    mass = solid.mass(lumped=True).to_scipy().diagonal().reshape(-1, 3)
    speeds = []
    for n in (steps, 2 * steps):
        sim.step(n=n)
        speeds.append((mass * sim.state.qdot).sum(0)[0] / solid.total_mass)
    assert sim.report.unconverged == 0
    return (speeds[1] - speeds[0]) / (2 * steps * dt) / (GRAVITY * np.sin(angle))


@pytest.mark.no_asan(reason="the ball at rest runs the same C code")
def test_a_ball_rolls_down_a_slope():
    """A soft polyhedron of 8166 vertices; its speed varies by 2 % as these touch in turn."""
    assert acceleration(0.6, rf.BDF2) == pytest.approx(5.0 / 7.0, rel=0.03)


@pytest.mark.no_asan(reason="the ball at rest runs the same C code")
def test_a_ball_slides_where_friction_is_small():
    expected = 1.0 - 0.02 / np.tan(np.radians(10.0))
    assert acceleration(0.02, rf.BackwardEuler) == pytest.approx(expected, rel=2e-3)


# ---- derivatives


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("obstacle", [BELOW, BOWL])
def test_forces_are_the_slope_of_the_energy(obstacle, order):
    contact, _, u, _ = pressed(obstacle, order)
    step, force = 1e-8, contact.force(u)
    loaded = np.argwhere(np.abs(force) > 1e-3 * np.abs(force).max())
    assert len(loaded) > 8
    for i, c in loaded:
        change = np.zeros_like(u)
        change[i, c] = step
        slope = (contact.energy(u + change) - contact.energy(u - change)) / (2.0 * step)
        assert -slope == pytest.approx(force[i, c], rel=1e-5, abs=1e-5 * np.abs(force).max())


def jacobian(function, at, step) -> np.ndarray:
    """Return the derivatives (n, 3, n, 3) of a function of displacements."""
    out = np.empty((*at.shape, *at.shape))
    for place in np.ndindex(*at.shape):
        change = np.zeros_like(at)
        change[place] = step
        out[:, :, place[0], place[1]] = (function(at + change) - function(at - change)) / (2 * step)
    return out


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_blocks_are_the_derivatives_of_the_force_of_each_node(order):
    contact, _, u, v = pressed(BELOW, order)
    for found, expected in (
        (contact.stiffness(u, v), jacobian(lambda x: contact.force(x, v), u, 1e-8)),
        (contact.damping(u, v), jacobian(lambda x: contact.force(u, x), v, 1e-7 * SLIP)),
    ):
        own = -np.einsum("icid->icd", expected)
        np.testing.assert_allclose(found, own, rtol=0, atol=2e-5 * np.abs(own).max())


@pytest.mark.filterwarnings("ignore:in 1 of 1 steps with a contact")
@pytest.mark.no_asan(reason="the blocks above run the same C code")
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("obstacle", [BELOW, BOWL])
def test_newton_steps_have_the_whole_matrix(obstacle, order):
    """Two increments are those with the derivative of the force by all displacements."""
    contact, solid, u, _ = pressed(obstacle, order, 0.0)
    dt, n = 1e-3, 3 * solid.mesh.n_nodes
    sim = rf.BackwardEuler(solid, dt, newton_max=2, tol=1e-15, contact=contact)
    u *= 0.1
    sim.reset(u)
    sim.step(0.0 * u)
    mass, x = solid.mass().to_scipy().toarray() / dt**2, u.ravel().copy()
    moves = []
    for _ in range(2):
        at = x.reshape(-1, 3)
        residual = mass @ (x - u.ravel()) + (solid.internal_force(at) - contact.force(at)).ravel()
        matrix = mass + solid.stiffness(at).to_scipy().toarray()
        matrix -= jacobian(contact.force, at, 1e-8).reshape(n, n)
        x = x - np.linalg.solve(matrix, residual)
        moves.append(np.abs(x - u.ravel()).max())
    assert abs(moves[1] - moves[0]) > 1e-4 * moves[0]
    np.testing.assert_allclose(sim.state.q.ravel(), x, rtol=0, atol=1e-5 * abs(moves[1] - moves[0]))


# ---- models


@pytest.mark.parametrize("lagged", [True, False])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_a_model_with_all_displacements_moves_as_the_solid(order, lagged):
    solid = ball(2, order)
    n = 3 * solid.mesh.n_nodes
    gravity = [3.0, 0.0, -GRAVITY]
    sims = []
    for system in (solid, rf.ProjectedSolid(solid, np.eye(n).reshape(n, -1, 3))):
        contact = rf.BarrierContact(floor(RADIUS + 1e-3), friction=0.3, lagged=lagged)
        sims.append(
            rf.BackwardEuler(
                system, 4e-3, newton_max=60, tol=1e-10, contact=contact, gravity=gravity
            )
        )
    for _ in range(12):
        for sim in sims:
            sim.step()
        full, model = (sim.contact_state for sim in sims)
        np.testing.assert_array_equal(full.nodes, model.nodes)
        np.testing.assert_allclose(full.distances, model.distances, rtol=0, atol=1e-9)
        np.testing.assert_allclose(full.friction_forces, model.friction_forces, rtol=0, atol=1e-4)
    assert len(full.nodes) > 0
    assert sims[0].report.unconverged == sims[1].report.unconverged == 0


def test_a_reduced_model_touches_with_the_surface(tmp_path):
    solid = ball(6, 1, 24, rf.StVK(1e5, 0.3, 1000.0), fixed=lambda x: x[:, 2] > 0.03)
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, 4, 8))
    model.save(tmp_path / "ball.safetensors")
    plane = floor(RADIUS + 5e-3, TILTED)
    assert plane.distance(solid.mesh.nodes).min() < -5e-3
    sims = []
    for system in (model, rf.ReducedSolid.load(tmp_path / "ball.safetensors")):
        contact = rf.BarrierContact(plane, friction=0.2)
        sim = rf.BackwardEuler(system, 2e-3, newton_max=50, tol=1e-10, contact=contact)
        own = plane.distance(contact.surface.vertices)
        assert sim.contact_state.smallest_distance == pytest.approx(own.min(), rel=1e-9)
        assert own.min() == pytest.approx(5e-3, rel=0.1)  # of a polyhedron
        load = -np.outer(np.ones(solid.mesh.n_nodes), TILTED) * 80.0 / solid.mesh.n_nodes
        sim.step(model.basis.reshape(model.r, -1) @ load.ravel(), n=150)
        sims.append(sim)
    state = sims[0].contact_state
    moved = rf.Embedding(solid.mesh, contact.surface.vertices).interpolate(sims[0].displacement)
    gap = plane.distance(contact.surface.vertices + moved)
    np.testing.assert_allclose(gap[state.nodes], state.distances, rtol=1e-6)
    assert 0.0 < gap[state.nodes].min() < DISTANCE
    assert sims[0].state.q.tobytes() == sims[1].state.q.tobytes()


def test_copies_continue_alike():
    for lagged in (True, False):
        contact = rf.BarrierContact(floor(RADIUS + 1e-3), friction=0.5, lagged=lagged)
        sim = rf.BackwardEuler(
            ball(), 4e-3, newton_max=50, contact=contact, gravity=[3.0, 0.0, -GRAVITY]
        )
        sim.step(n=6)
        copies = check_copies(sim, lambda one: one.step(n=6))
        assert len(sim.contact_state.nodes) > 0
        for other in copies:
            assert (other.contact_state.distances == sim.contact_state.distances).all()


# ---- points that touch


def test_points_that_move_with_fixed_nodes_only_do_not_touch():
    """A ball is held in an obstacle by its lower cells and falls on another with its upper ones."""
    solid = ball(6, fixed=lambda x: x[:, 2] < -0.02)
    held = solid.mesh.nodes[:, 2] < -0.02
    lid = rf.PlaneField([0.0, 0.0, RADIUS + 5e-4], [0.0, 0.0, -1.0])
    contact = rf.BarrierContact([floor(0.04), lid], friction=0.3)
    sim = rf.BackwardEuler(solid, 4e-3, newton_max=50, contact=contact, gravity=[0, 0, 500.0])
    sim.step(n=20)
    state = sim.contact_state
    assert set(state.obstacles) == {1}
    assert state.smallest_distance > 0.0
    assert (sim.state.q[held] == 0.0).all()
    assert sim.report.unconverged == 0
    # beside them, points whose cells have free nodes too
    edge = rf.BarrierContact(floor(0.02), friction=0.3)
    with pytest.raises(rf.InputError, match=r"vertex \d+ of the surface at .* its nearest node"):
        rf.BackwardEuler(solid, 4e-3, newton_max=50, contact=edge)


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_long_edges_are_halved():
    """A cylinder with vertices at its ends only rests on its side without entering the floor."""
    turn = np.linspace(0.0, 2.0 * np.pi, 25)[:-1]
    ring = 0.02 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    ends = [np.insert(ring, 1, y, axis=1) for y in (-0.1, 0.1)]
    vertices = np.concatenate([*ends, [[0.0, -0.1, 0.0], [0.0, 0.1, 0.0]]])
    k = np.arange(24)
    after = (k + 1) % 24
    sides = [[k, k + 24, after], [after, k + 24, after + 24], [k * 0 + 48, k, after],
             [k * 0 + 49, after + 24, k + 24]]  # fmt: skip
    surface = rf.Surface(vertices, np.concatenate([np.stack(s, axis=1) for s in sides])).oriented()
    mesh = rf.voxelize(surface, 12, order=1)
    assert (mesh.fractions < 1.0).any()
    solid = rf.Solid(mesh, rf.StableNeoHookean(2e4, 0.3, 1000.0))
    contact = rf.BarrierContact(floor(0.0205))
    sim = rf.BackwardEuler(
        solid, 5e-3, newton_max=50, contact=contact, gravity=[0, 0, -GRAVITY], damping=(20, 0)
    )
    assert (contact.surface.vertices[: len(vertices)] == vertices).all()
    cell = np.ptp(mesh.nodes[mesh.elements[0]], axis=0).min()
    corners = contact.surface.vertices[contact.surface.triangles]
    assert np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max() <= cell
    sim.step(n=60)
    between = np.linspace(-0.1, 0.1, 101)[:, None] * [0.0, 1.0, 0.0] + [0.0, 0.0, -0.02]
    below = between + rf.Embedding(mesh, between).interpolate(sim.state.q)
    assert floor(0.0205).distance(below).min() > -1e-5
    middle = np.abs(contact.surface.vertices[sim.contact_state.nodes, 1]) < 0.05
    assert sim.contact_state.normal_forces[middle].sum() > 0.2 * solid.total_mass * GRAVITY


def test_vertices_of_other_bodies_do_not_touch():
    far = rf.Surface(0.5 * sphere().vertices + [0.2, 0.0, 0.0], sphere().triangles)
    both = rf.Surface(
        np.concatenate([sphere().vertices, far.vertices]),
        np.concatenate([sphere().triangles, far.triangles + sphere().n_vertices]),
    )
    mesh = rf.voxelize(both, 16, order=1).largest_component()
    wall = rf.PlaneField([0.1, 0.0, 0.0], [-1.0, 0.0, 0.0])
    sim = rf.BackwardEuler(
        rf.Solid(mesh, SOFT), 1e-3, newton_max=50, contact=rf.BarrierContact(wall)
    )
    assert sim.contact_state.smallest_distance == pytest.approx(0.05, rel=0.05)


def test_chosen_nodes_choose_their_vertices():
    solid, lid = ball(), rf.PlaneField([0.0, 0.0, 0.0], [0.0, 0.0, -1.0])
    lower = solid.mesh.nodes[:, 2] < -0.02
    contact = rf.BarrierContact(lid, nodes=lower)
    sim = rf.BackwardEuler(solid, 1e-3, newton_max=50, contact=contact)
    points = rf.Embedding(solid.mesh, contact.surface.vertices)
    nearest = points.nodes[np.arange(points.n_points), points.weights.argmax(axis=1)]
    own = lid.distance(contact.surface.vertices[lower[nearest]])
    assert sim.contact_state.smallest_distance == pytest.approx(own.min(), rel=1e-12)
    inside = np.argmin(np.linalg.norm(solid.mesh.nodes, axis=1))
    with pytest.raises(rf.InputError, match="nodes selects no vertex of the surface"):
        used(rf.BarrierContact(lid, nodes=[inside]), solid)
    with pytest.raises(rf.InputError, match=r"vertex \d+ of the surface at .* needs all vertices"):
        used(rf.BarrierContact(lid), solid)


def test_a_vertex_at_several_places_of_a_list_touches_once():
    whole = sphere()
    soup = rf.Surface(whole.vertices[whole.triangles].reshape(-1, 3),
                      np.arange(3 * whole.n_triangles).reshape(-1, 3))  # fmt: skip
    kappas = []
    for surface in (whole, soup):
        solid = rf.Solid(rf.voxelize(surface, 4, order=1), SOFT)
        kappas.append(used(rf.BarrierContact(floor(0.06)), solid).barrier_stiffness)
    assert kappas[1] == pytest.approx(kappas[0], rel=1e-9)


def test_cut_cells_whose_surface_cannot_touch_are_refused():
    solid = ball()
    with pytest.raises(rf.InputError, match="self_contact is True, but .* cut cells.*tetrahed"):
        used(rf.BarrierContact(parts=True), solid)
    beside = rf.Mesh(solid.mesh.nodes + np.array([0.3, 0.0, 0.0]), solid.mesh.elements)
    both = rf.join_meshes([solid.mesh, beside])
    with pytest.raises(rf.InputError, match=r"Mesh.source, their surface, .* is not known"):
        used(rf.BarrierContact(floor(1.0)), rf.Solid(both, {0: SOFT, 1: SOFT}))
    # whole cells touch with their nodes
    whole = rf.Solid(rf.voxelize(sphere(), 4, cut=False, order=1), SOFT)
    contact = used(rf.BarrierContact(floor(0.1)), whole)
    assert contact.surface is None


def test_the_core_checks_points():
    rest = np.eye(3)
    settings = dict(distance=1.0, stiffness=1.0, friction=0.0, slip=1.0, lagged=True)
    right = dict(
        names=np.array([0, 4], np.int32), nodes=np.array([[0, 1], [1, 2]], np.int32),
        weights=np.full((2, 2), 0.5), places=np.ones((2, 3)),
    )  # fmt: skip

    def made(**changes):
        points = tuple((right | changes).values())
        return _core.Barrier((floor(0.0)._core,), rest, points, settings)

    energy, force, *_ = made().evaluate(np.full((3, 3), -0.5), np.zeros((3, 3)))
    assert energy == pytest.approx(2.0 * 0.25 * np.log(2.0), rel=1e-12)
    load = 2.0 * 0.5 * np.log(2.0) + 0.5
    np.testing.assert_allclose(force[:, 2], [0.5 * load, load, 0.5 * load], rtol=1e-12)
    for changes, message in (
        ({"names": np.array([4, 4], np.int32)}, r"nodes\[1\] is 4: nodes must ascend"),
        ({"nodes": np.array([[0, 1], [1, 3]], np.int32)}, "nodes of points"),
        (
            {"nodes": np.zeros((2, 0), np.int32), "weights": np.zeros((2, 0))},
            "nodes each: out of range",
        ),
        ({"weights": np.full((2, 3), 0.5)}, "weights"),
        ({"weights": np.full((2, 2), np.nan)}, "weights"),
        ({"places": np.ones((1, 3))}, "points"),
    ):
        with pytest.raises((rf.InputError, rf.InputTypeError), match=message):
            made(**changes)
