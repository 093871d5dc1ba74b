"""Contact by a barrier: closed forms, a plain version, throws, and independent data."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from shapes import box_tets, solid_box

GRAVITY = 9.81
SIZE, DENSITY = 0.1, 1000.0
DISTANCE, SLIP = 1e-3, 1e-3
FLOOR = rf.PlaneField([0.0, 0.0, -0.02], [0.0, 0.0, 1.0])
WALL = rf.PlaneField([0.2, 0.0, 0.0], [-1.0, 0.0, 0.0])


def cube(cells=2, law=rf.StableNeoHookean, young=1e5, **kwargs) -> rf.Solid:
    nodes, elements = box_tets(cells, cells, cells, (SIZE,) * 3)
    return rf.Solid(rf.Mesh(nodes, elements), law(young, 0.3, DENSITY), **kwargs)


def slope(angle: float, gap: float) -> tuple[rf.PlaneField, np.ndarray]:
    """Return the plane under a cube, and the gravity that turns it into a slope along x."""
    plane = rf.PlaneField([0.0, 0.0, -gap], [0.0, 0.0, 1.0])
    return plane, GRAVITY * np.array([np.sin(angle), 0.0, -np.cos(angle)])


def plain(contact, solid, u, v, held=None):
    """Return energy and force of section 5 of Ascher et al. 2021, in NumPy.

    held: normal forces for friction, by node; None: those at u.
    """
    kappa, delta, mu = contact.barrier_stiffness, contact.distance, contact.friction
    energy, force = 0.0, np.zeros_like(u)
    normals = np.zeros(len(u))
    place = solid.mesh.nodes + u
    for obstacle in contact.obstacles:
        distance, normal = obstacle.distance_and_gradient(place)
        for i in solid.mesh.boundary_nodes:
            d = distance[i]
            load = 0.0
            if d < delta:
                energy += -kappa * (d - delta) ** 2 * np.log(d / delta)
                load = kappa * (2 * (d - delta) * np.log(d / delta) + (d - delta) ** 2 / d)
            normals[i] += load
            along = v[i] - normal[i] * (normal[i] @ v[i])
            speed = np.linalg.norm(along)
            part = 2 * speed / SLIP - (speed / SLIP) ** 2 if speed < SLIP else 1.0
            rubbed = load if held is None else held[i]
            force[i] += load * normal[i]
            if speed > 0.0:
                force[i] -= mu * rubbed * part * along / speed
    return energy, force, normals


def settled(sim, steps: int):
    sim.step(n=steps)
    return sim


# ---- closed forms


@pytest.mark.parametrize("lagged", [True, False])
def test_a_body_slides_down_a_slope_as_a_point_does(lagged):
    angle, mu = np.radians(20.0), 0.2
    plane, gravity = slope(angle, 0.5e-3)
    solid = cube()
    contact = rf.BarrierContact(plane, DISTANCE, friction=mu, slip=SLIP, lagged=lagged)
    sim = rf.BackwardEuler(
        solid, 5e-3, newton_max=50, tol=1e-10, contact=contact, gravity=gravity, damping=(0.0, 1e-3)
    )
    settled(sim, 200)
    mass = solid.mass(lumped=True).to_scipy().diagonal().reshape(-1, 3)

    def momentum():
        return float((mass * sim.state.qdot).sum(0)[0])

    before, loads = momentum(), []
    for _ in range(100):
        sim.step()
        loads.append(sim.contact_state.normal_forces.sum())
    rate = (momentum() - before) / 0.5 / solid.total_mass
    assert rate == pytest.approx(GRAVITY * (np.sin(angle) - mu * np.cos(angle)), rel=1e-5)
    weight = solid.total_mass * GRAVITY * np.cos(angle)
    np.testing.assert_allclose(loads, weight, rtol=1e-4)
    rubbing = sim.contact_state.friction_forces.sum(0)
    np.testing.assert_allclose(rubbing, [-mu * weight, 0.0, 0.0], rtol=0, atol=1e-4 * weight)
    assert sim.report.unconverged == 0


def test_a_body_that_sticks_creeps():
    angle, mu = np.radians(20.0), 0.5
    plane, gravity = slope(angle, 0.5e-3)
    contact = rf.BarrierContact(plane, DISTANCE, friction=mu, slip=SLIP)
    sim = rf.BackwardEuler(
        cube(),
        5e-3,
        newton_max=50,
        tol=1e-10,
        contact=contact,
        gravity=gravity,
        damping=(0.0, 1e-2),
    )
    settled(sim, 1500)
    creep = SLIP * (1.0 - np.sqrt(1.0 - np.tan(angle) / mu))
    assert sim.state.qdot[:, 0] == pytest.approx(creep, rel=1e-5)


def test_one_node_rests_where_the_force_is_its_load():
    """A default stiffness holds a sixth of the nodes at half of the distance."""
    solid = cube(1)
    contact = rf.BarrierContact(rf.PlaneField([0, 0, -1e-3], [0, 0, 1.0]), DISTANCE)
    sim = rf.BackwardEuler(
        solid, 5e-3, newton_max=50, tol=1e-10, contact=contact, gravity=[0, 0, -GRAVITY],
        damping=(5.0, 1e-3),
    )  # fmt: skip
    settled(sim, 400)
    state = sim.contact_state
    weight = solid.total_mass * GRAVITY
    resting = len(solid.mesh.boundary_nodes) / 6
    kappa = weight / resting / ((np.log(2.0) + 0.5) * DISTANCE)
    assert contact.barrier_stiffness == pytest.approx(kappa, rel=1e-12)
    assert state.normal_forces.sum() == pytest.approx(weight, rel=1e-6)
    y = state.distances / DISTANCE
    load = kappa * DISTANCE * (2 * (y - 1) * np.log(y) + (y - 1) ** 2 / y)
    np.testing.assert_allclose(state.normal_forces, load, rtol=1e-12)
    assert ((y > 0.2) & (y < 0.9)).all()
    np.testing.assert_allclose(state.normals, [[0.0, 0.0, 1.0]] * len(y))


# ---- a plain version


@pytest.mark.parametrize("lagged", [True, False])
def test_steps_satisfy_their_equation(lagged):
    """M (v' - v) / h + R(q') = weight + contact, with the normal forces of friction documented."""
    solid, dt = cube(), 5e-3
    contact = rf.BarrierContact(FLOOR, friction=0.4, slip=SLIP, lagged=lagged)
    sim = rf.BackwardEuler(
        solid, dt, newton_max=60, tol=1e-11, contact=contact, gravity=[0, 0, -GRAVITY]
    )
    sim.reset(qdot=np.tile([3.0, 0.5, -2.0], (solid.mesh.n_nodes, 1)))
    mass, touched = solid.mass().to_scipy(), 0
    for _ in range(25):
        before = sim.state
        held = plain(contact, solid, before.q, before.qdot)[2]
        sim.step()
        after = sim.state
        rate = (after.qdot - before.qdot) / dt + [0.0, 0.0, GRAVITY]
        inner = (mass @ rate.ravel()).reshape(-1, 3) + solid.internal_force(after.q)
        found = plain(contact, solid, after.q, after.qdot, held if lagged else None)[1]
        np.testing.assert_allclose(inner, found, rtol=0, atol=1e-8 * np.abs(inner).max() + 1e-7)
        touched += np.abs(found).max() > 1.0
    assert touched > 5
    assert sim.report.unconverged == 0


def test_energy_and_forces_are_those_of_the_plain_version():
    solid = cube()
    rng = np.random.default_rng(3)
    u = 1e-4 * rng.standard_normal((solid.mesh.n_nodes, 3)) + [0.0, 0.0, -0.0192]
    v = 2.0 * SLIP * rng.standard_normal(u.shape)
    ball = rf.SphereField([SIZE, 0.5 * SIZE, -0.1], 0.0802)
    contact = rf.BarrierContact([FLOOR, ball], friction=0.3, slip=SLIP)
    rf.BackwardEuler(solid, 1e-3, newton_max=50, contact=contact)
    energy, force, normals = plain(contact, solid, u, v)
    assert (normals > 0.0).sum() >= 8
    assert contact.energy(u) == pytest.approx(energy, rel=1e-10)
    np.testing.assert_allclose(contact.force(u, v), force, rtol=0, atol=1e-9 * np.abs(force).max())
    still = plain(contact, solid, u, 0.0 * v)[1]
    np.testing.assert_allclose(contact.force(u), still, rtol=0, atol=1e-9 * np.abs(still).max())


def differences(function, at, step):
    """Return the derivatives (n, 3, 3) of a function (n, 3) by the rows of `at`, each its own."""
    out = np.empty((*at.shape, 3))
    for c in range(3):
        change = np.zeros_like(at)
        change[:, c] = step
        out[:, :, c] = (function(at + change) - function(at - change)) / (2.0 * step)
    return out


def near(obstacle, friction=0.3):
    """Return a contact, displacements that bring nodes near a floor or into a bowl, velocities."""
    solid = cube()
    rng = np.random.default_rng(5)
    contact = rf.BarrierContact(obstacle, friction=friction, slip=SLIP)
    rf.BackwardEuler(solid, 1e-3, newton_max=50, contact=contact)
    u = np.zeros((solid.mesh.n_nodes, 3))
    gap = obstacle.distance(solid.mesh.nodes)
    normal = obstacle.gradient(solid.mesh.nodes)
    bottom = np.argsort(gap)[:9]
    u[bottom] -= normal[bottom] * (gap[bottom] - rng.uniform(2e-4, 9e-4, 9))[:, None]
    return contact, u, SLIP * rng.standard_normal(u.shape)


BOWL = ~rf.SphereField([0.05, 0.05, 0.08], 0.2)
HILL = rf.SphereField([0.05, 0.05, -0.1], 0.08)


@pytest.mark.parametrize("obstacle", [FLOOR, BOWL, HILL])
def test_forces_are_the_slope_of_the_energy(obstacle):
    contact, u, _ = near(obstacle)
    step, force = 1e-8, contact.force(u)
    for i, c in np.argwhere(np.abs(force) > 0.0):
        change = np.zeros_like(u)
        change[i, c] = step
        slope = (contact.energy(u + change) - contact.energy(u - change)) / (2.0 * step)
        assert -slope == pytest.approx(force[i, c], rel=1e-5, abs=1e-5 * np.abs(force).max())


def test_the_stiffness_is_the_derivative_of_the_force():
    contact, u, v = near(FLOOR)
    found = contact.stiffness(u, v)
    expected = -differences(lambda x: contact.force(x, v), u, 1e-9)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    assert np.abs(found - found.swapaxes(1, 2)).max() > 0.01 * np.abs(found).max()
    # a bowl pushes from all sides; on a hill the part that would pull away is left out
    contact, u, _ = near(BOWL)
    expected = -differences(contact.force, u, 1e-9)
    flat = contact.stiffness(u) - expected
    assert np.abs(flat).max() < 1e-5 * np.abs(expected).max()
    contact, u, _ = near(HILL)
    expected = -differences(contact.force, u, 1e-9)
    values, vectors = np.linalg.eigh(0.5 * (expected + expected.swapaxes(1, 2)))
    assert values.min() < -1.0
    positive = np.einsum("nij,nj,nkj->nik", vectors, np.maximum(values, 0.0), vectors)
    np.testing.assert_allclose(
        contact.stiffness(u), positive, rtol=0, atol=1e-5 * np.abs(expected).max()
    )


@pytest.mark.parametrize("obstacle", [FLOOR, BOWL, HILL])
@pytest.mark.parametrize("speed", [0.2, 1.0, 10.0])
def test_the_damping_is_the_derivative_of_friction(obstacle, speed):
    contact, u, v = near(obstacle)
    found = contact.damping(u, speed * v)
    expected = -differences(lambda x: contact.force(u, x), speed * v, 1e-7 * SLIP)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    assert np.linalg.eigvalsh(found).min() > -1e-9 * np.abs(found).max()
    assert (contact.damping(u) >= found - 1e-9 * np.abs(found).max())[:, [0, 1, 2], [0, 1, 2]].all()


# ---- throws


THROWN = {
    "planes": [FLOOR, WALL],
    "ball": rf.SphereField([0.03, 0.05, -0.4], 0.3),
    "edge": rf.BoxField([-0.5, -0.5, -0.5], [0.05, 0.5, -0.05]),
    "bowl": ~rf.SphereField([0.05, 0.05, 0.05], 0.3),
    "grid": rf.DistanceField.from_field(rf.SphereField([0.05, 0.05, -0.35], 0.3), resolution=32),
}


@pytest.mark.filterwarnings("ignore:.*did not reach the balance")  # of hard throws
@pytest.mark.parametrize("name", THROWN)
@pytest.mark.parametrize("kind", [rf.BackwardEuler, rf.BDF2])
@pytest.mark.parametrize("lagged", [True, False])
def test_nothing_penetrates(name, kind, lagged):
    rng = np.random.default_rng(len(name))
    touched = 0
    for law in (rf.StVK, rf.StableNeoHookean):
        solid = cube(law=law, young=10.0 ** rng.uniform(4.5, 7.0))
        contact = rf.BarrierContact(THROWN[name], friction=0.5, lagged=lagged)
        sim = kind(solid, 5e-3, newton_max=50, contact=contact, gravity=[0, 0, -GRAVITY])
        nodes = solid.mesh.nodes
        turning = 20.0 * rng.standard_normal(3)
        thrown = rng.uniform([-3.0, -3.0, -6.0], [3.0, 3.0, -1.0])
        sim.reset(qdot=thrown + np.cross(turning, nodes - nodes.mean(0)))
        for _ in range(30):
            sim.step()
            state = sim.contact_state
            place = nodes[solid.mesh.boundary_nodes] + sim.state.q[solid.mesh.boundary_nodes]
            least = min(o.distance(place).min() for o in contact.obstacles)
            assert least > 0.0
            assert state.smallest_distance == pytest.approx(least, rel=1e-9, abs=1e-15)
            touched += len(state.nodes) > 0
    assert touched > 0


def test_a_bullet_does_not_pass_a_wall():
    """A step of free flight would end ten metres behind it."""
    solid = cube(young=1e7)
    contact = rf.BarrierContact(WALL)
    sim = rf.BackwardEuler(solid, 0.1, newton_max=200, contact=contact)
    sim.reset(qdot=np.tile([100.0, 0.0, 0.0], (solid.mesh.n_nodes, 1)))
    settled(sim, 3)
    assert sim.contact_state.smallest_distance > 0.0
    assert (solid.mesh.nodes + sim.state.q)[:, 0].max() < 0.2
    assert np.isfinite(sim.state.qdot).all()


def test_bits_do_not_depend_on_threads(set_threads):
    ends = []
    for threads in (1, 2, 3):
        set_threads(threads)
        contact = rf.BarrierContact([FLOOR, WALL], friction=0.3, lagged=False)
        sim = rf.BDF2(cube(3), 5e-3, newton_max=50, contact=contact, gravity=[0, 0, -GRAVITY])
        sim.reset(qdot=np.tile([3.0, 1.0, -3.0], (sim.system.mesh.n_nodes, 1)))
        touched = 0
        for _ in range(25):
            sim.step()
            touched += len(sim.contact_state.nodes)
        assert touched > 10
        ends.append(sim.state.q.tobytes() + sim.state.qdot.tobytes())
    assert ends[0] == ends[1] == ends[2]


def test_an_obstacle_out_of_reach_changes_nothing():
    far = rf.PlaneField([0.0, 0.0, -50.0], [0.0, 0.0, 1.0])
    ends = []
    for contact in (None, rf.BarrierContact(far)):
        sim = rf.BackwardEuler(cube(), 5e-3, newton_max=50, contact=contact)
        sim.reset(qdot=np.random.default_rng(1).standard_normal((27, 3)))
        settled(sim, 20)
        ends.append(sim.state.q)
        assert (sim.contact_state is None) == (contact is None)
    assert (ends[0] == ends[1]).all()


# ---- obstacles and nodes


def test_planes_are_one_obstacle_in_any_form():
    plane = rf.PlaneField([0.3, 0.2, -0.02], [0.0, 0.0, 1.0])
    forms = [plane, [plane], ~rf.PlaneField([0, 0, -0.02], [0, 0, -1.0]),
             rf.PlaneField([0, 0, -0.03], [0, 0, 2.0]).offset(0.01)]  # fmt: skip
    ends = []
    for form in forms:
        sim = rf.BackwardEuler(
            cube(), 5e-3, newton_max=50, tol=1e-10, contact=rf.BarrierContact(form),
            gravity=[1.0, 0, -GRAVITY],
        )  # fmt: skip
        settled(sim, 30)
        assert len(sim.contact_state.nodes) > 0
        ends.append(sim.state.q)
    for end in ends[1:]:
        np.testing.assert_allclose(end, ends[0], rtol=0, atol=1e-10)


def test_chosen_nodes_touch_and_others_pass():
    solid = cube()
    low = solid.mesh.nodes[:, 2] < 1e-9
    corner = np.flatnonzero(low & (solid.mesh.nodes[:, :2].max(1) < 1e-9))
    for nodes in (low, np.flatnonzero(low), corner):
        contact = rf.BarrierContact(FLOOR, nodes=nodes)
        sim = rf.BackwardEuler(
            solid, 5e-3, newton_max=50, contact=contact, gravity=[0, 0, -GRAVITY]
        )
        settled(sim, 40)
        assert set(sim.contact_state.nodes) <= set(np.flatnonzero(low))
    # a corner alone does not carry the rest
    assert (solid.mesh.nodes + sim.state.q)[:, 2].min() < -0.02


def test_fixed_nodes_do_not_touch():
    nodes, _ = box_tets(2, 2, 2, (SIZE,) * 3)
    solid = cube(fixed=nodes[:, 0] < 1e-9)
    floor = rf.PlaneField([0.0, 0.0, 0.01], [0.0, 0.0, 1.0])  # through the fixed side
    free = solid.mesh.boundary_nodes[nodes[solid.mesh.boundary_nodes, 0] > 1e-9]
    high = free[nodes[free, 2] > 0.02]
    contact = rf.BarrierContact(floor, nodes=high)
    sim = rf.BackwardEuler(solid, 5e-3, newton_max=50, contact=contact, gravity=[0, 0, -GRAVITY])
    settled(sim, 3)
    with pytest.raises(rf.InputError, match=r"contact: node \d+ at .* obstacle 0"):
        rf.BackwardEuler(solid, 5e-3, newton_max=50, contact=rf.BarrierContact(floor))
    with pytest.raises(rf.InputError, match="nodes has node 0, which is fixed"):
        rf.BackwardEuler(
            solid, 5e-3, newton_max=50, contact=rf.BarrierContact(floor, nodes=[0, *high])
        )


# ---- reduced models


def beam(kind):
    solid = solid_box((6, 2, 2), (0.3, 0.05, 0.05), rf.StVK(1e5, 0.3, DENSITY), make=box_tets)
    basis = rf.modal_derivative_basis(solid, 4, 8)
    return rf.reduce(solid, basis) if kind == "reduced" else rf.ProjectedSolid(solid, basis)


@pytest.mark.parametrize("kind", ["reduced", "projected"])
def test_reduced_models_satisfy_their_equation(kind):
    """The forces at the nodes, projected on the basis, balance the model."""
    dt, touched = 5e-3, 0
    model = beam(kind)
    flat = model.basis.reshape(model.r, -1)
    weight = model.gravity([0, 3.0, -GRAVITY])
    floor = rf.PlaneField([0.0, 0.0, -0.01], [0.1, 0.0, 1.0])
    contact = rf.BarrierContact(floor, friction=0.4, slip=SLIP, lagged=False)
    sim = rf.BackwardEuler(
        model, dt, newton_max=60, tol=1e-11, contact=contact, gravity=[0, 3.0, -GRAVITY]
    )
    for _ in range(40):
        before = sim.state
        sim.step()
        after, state = sim.state, sim.contact_state
        force = contact.force(flat.T @ after.q, flat.T @ after.qdot)
        inner = model.mass @ (after.qdot - before.qdot) / dt + model.internal_force(after.q)
        np.testing.assert_allclose(
            inner - weight, flat @ force.ravel(), rtol=0, atol=1e-8 * np.abs(inner).max() + 1e-7
        )
        np.testing.assert_allclose(
            state.normal_forces[:, None] * state.normals + state.friction_forces,
            force[state.nodes],
            rtol=0,
            atol=1e-9 * np.abs(force).max() + 1e-12,
        )
        assert state.smallest_distance > 0.0
        touched += len(state.nodes) > 0
    assert touched > 10
    assert sim.report.unconverged == 0


@pytest.mark.parametrize("integrator", [rf.BackwardEuler, rf.BDF2])
def test_a_model_moves_as_its_projection(integrator):
    ends = []
    for kind in ("reduced", "projected"):
        contact = rf.BarrierContact([FLOOR, HILL], friction=0.4)
        sim = integrator(
            beam(kind), 5e-3, newton_max=60, tol=1e-10, contact=contact, gravity=[0, 3, -GRAVITY]
        )
        settled(sim, 60)
        ends.append(sim.state.q)
        assert len(sim.contact_state.nodes) > 0
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-7 * np.abs(ends[0]).max())
