"""Free bodies in sessions: closed forms of their motion, snapshots, and errors."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import reducedfem as rf
from friction_sessions import session
from shapes import box_hexes, solid_box

DT, G, RADIUS = 1e-3, 9.81, 0.02
FAR = 0.5  # m, of the held tool from bodies that it must not touch
WALL = rf.BoxField((-0.05, -0.05, 0.0), (0.05, 0.05, 0.02))


@functools.cache
def round_body():
    """Return the mesh of a ball and points of its surface."""
    sphere = rf.SphereField((0, 0, 0), RADIUS)
    surface = rf.DistanceField.from_field(sphere, 32).isosurface()
    return rf.voxelize(surface, 6), rf.Pointshell.from_field(sphere, 3000)


def ball_of(young, r=6):
    mesh, shell = round_body()
    solid = rf.Solid(mesh, rf.StVK(young, 0.4, 1000.0))
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, k=3, r=r))
    return model, rf.PointTree(shell, model)


@pytest.fixture(scope="module")
def ball():
    return ball_of(2e7)


@pytest.fixture(scope="module")
def box():
    """Return a stiff box, and a rigid tree of points of its lower side."""
    nodes, elements = box_hexes(2, 2, 2, (0.04, 0.04, 0.02))
    mesh = rf.Mesh(nodes - [0.02, 0.02, 0.01], elements)
    solid = rf.Solid(mesh, rf.StVK(1e7, 0.3, 1000.0))
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, k=3, r=4))
    s = np.linspace(-0.02, 0.02, 5)
    points = np.stack([a.ravel() for a in np.meshgrid(s, s, [-0.01])], axis=1)
    return model, rf.PointTree(rf.Pointshell(points, np.tile([0.0, 0.0, 1.0], (25, 1))))


def body_of(model, gravity=(0, 0, -G), **state):
    body = rf.FreeBody(model, DT, damping=(0.0, 1e-4), gravity=gravity)
    body.reset(**state)
    return body


def rest(contacts, body, n, place=(0.0, 0.0, FAR)):
    """Return a session in which the hand stays at a place; one body has all contacts."""
    return session(contacts, np.tile(place, (n, 1)), simulation=[body] * len(contacts))


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_a_falling_body_falls_as_backward_euler_says(ball):
    model, tree = ball
    body, n = body_of(model, position=(0.1, 0.0, -0.1), angular_velocity=(0, 3.0, 0)), 200
    made = rest([rf.FrictionContact(tree, WALL)], body, n)
    made.run(n)
    made.close()
    state = body.state
    np.testing.assert_allclose(
        state.position, [0.1, 0.0, -0.1 - G * DT**2 * n * (n + 1) / 2], rtol=1e-9
    )
    np.testing.assert_allclose(state.velocity, [0.0, 0.0, -G * DT * n], rtol=1e-9, atol=1e-15)
    # a ball of hexahedra is nearly one
    np.testing.assert_allclose(state.angular_velocity, [0.0, 3.0, 0.0], atol=1e-3)
    assert state.time == pytest.approx(n * DT)


@pytest.mark.parametrize("young", [2e4, 1e6])
@pytest.mark.parametrize("spin", [0.0, 1.0])
def test_gaps_and_slips_of_a_cycle_are_those_that_were_solved_for(young, spin):
    """The compliance is that of the step, but for squares of the motion."""
    nodes, elements = box_hexes(4, 4, 2, (0.04, 0.04, 0.02))
    mesh = rf.Mesh(nodes - [0.02, 0.02, 0.01], elements)
    solid = rf.Solid(mesh, rf.StVK(young, 0.3, 1000.0))
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, k=6, r=12))
    low = np.flatnonzero(mesh.nodes[:, 2] < -0.0099)
    up = np.tile([0.0, 0.0, 1.0], (len(low), 1))
    tree = rf.PointTree(rf.Pointshell(mesh.nodes[low], up), model)
    half = 2e-4  # rad
    body = body_of(
        model,
        gravity=(0.0, 0.0, 0.0),
        position=(0.0, 0.0, 0.010012),
        quaternion=(np.cos(half), 0.8 * np.sin(half), 0.6 * np.sin(half), 0.0),
        velocity=(0.02, 0.01, -0.05),
        angular_velocity=np.multiply(spin, (0.3, 0.2, 0.5)),
    )
    free = body.clone()
    before = body.positions[low]
    free.step()
    free_way = free.positions[low] - before
    ground = rf.PlaneField((0, 0, 0), (0, 0, 1))
    contacts = [
        rf.FrictionContact(tree, field, 5.0, compliance=1e-9, budget_us=1e6)
        for field in (WALL, ground)
    ]
    made = rest(contacts, body, 1)
    made.run(1)
    made.close()
    after = body.positions[low]
    deep = -(before + free_way)[:, 2].min()
    assert before[:, 2].min() > 0.0
    assert deep > 2e-5
    assert after[:, 2].min() > -2e-3 * deep
    presses = np.abs(after[:, 2]) < 2e-3 * deep
    assert presses.sum() >= 10
    # all stick
    slip = (after - before)[presses, :2]
    assert np.abs(slip).max() < 5e-3 * np.abs(free_way[:, :2]).max()


@pytest.mark.parametrize("mu", [0.1, 0.4])
def test_a_thrown_ball_slides_and_rolls(ball, mu):
    """It rolls with 5/7 of its first speed, however rough the ground is."""
    model, tree = ball
    speed = 0.3
    moment = model.rigid_body.inertia[1, 1] / (model.rigid_body.mass * RADIUS**2)
    body = body_of(model, position=(0.0, 0.0, RADIUS), velocity=(speed, 0.0, 0.0))
    ground = rf.PlaneField((0, 0, 0), (0, 0, 1))
    contacts = [
        rf.FrictionContact(tree, WALL, mu, budget_us=1e6),
        rf.FrictionContact(tree, ground, mu, budget_us=1e6),
    ]
    end = speed / (1.0 + moment)
    # half of the sliding
    n = int(0.5 * (speed - end) / (mu * G) / DT)
    made = rest(contacts, body, 2 * n + 10)
    made.run(n)
    slides = made.snapshot().bodies[0]
    made.run(n + 10)
    made.close()
    np.testing.assert_allclose(
        slides.position[0], speed * n * DT - 0.5 * mu * G * (n * DT) ** 2, rtol=0.02
    )
    state = body.state
    # a polyhedron of points loses energy where it rolls
    np.testing.assert_allclose(state.velocity[0], end, rtol=0.05)
    np.testing.assert_allclose(state.angular_velocity[1] * RADIUS, state.velocity[0], rtol=0.02)
    assert abs(state.velocity[1]) < 0.02 * speed


@pytest.mark.parametrize("part", [0.9, 1.1])
def test_a_box_on_a_slope_slides_where_it_is_steeper_than_the_friction_angle(box, part):
    """Gravity is turned in place of the slope."""
    model, tree = box
    mu, n = 0.4, 600
    angle = np.arctan(mu) * part
    pull = G * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    body = body_of(model, gravity=pull, position=(0.0, 0.0, 0.01))
    ground = rf.PlaneField((0, 0, 0), (0, 0, 1))
    contacts = [rf.FrictionContact(tree, f, mu, budget_us=1e6) for f in (WALL, ground)]
    made = rest(contacts, body, n)
    made.run(100)
    first = made.snapshot().bodies[0].position[0]
    made.run(n - 100)
    made.close()
    state = body.state
    if part < 1.0:
        assert abs(state.position[0] - first) < 1e-7
        assert np.abs(state.velocity).max() < 1e-6
    else:
        slide = G * (np.sin(angle) - mu * np.cos(angle))
        np.testing.assert_allclose(state.velocity[0], slide * n * DT, rtol=1e-3)
    assert np.abs(state.quaternion[1:]).max() < 1e-4
    assert abs(state.position[2] - 0.01) < 1e-5


def test_a_held_tool_gives_its_impulse_to_a_body(ball):
    """A wall that is pushed against a ball in free space."""
    model, tree = ball
    n = 600
    body = body_of(model, gravity=(0, 0, 0), position=(0.003, 0.0, 0.045))
    positions = np.zeros((n, 3))
    positions[:, 2] = 0.02 * np.minimum(np.arange(n) / 200.0, 1.0)
    made = session(rf.FrictionContact(tree, WALL, 0.4, budget_us=1e6), positions, simulation=body)
    records = made.run(n)
    made.close()
    given = -DT * records["contact_force"].sum(axis=0)
    momentum = model.rigid_body.mass * body.state.velocity
    assert momentum[2] > 1e-4
    np.testing.assert_allclose(momentum, given, rtol=1e-9, atol=1e-12)
    assert records["energy_j"].max() <= 0.0


@pytest.mark.parametrize("dynamic", [False, True])
def test_impulses_are_right_where_the_depth_limiter_shortens_motions(ball, dynamic):
    """The record has the force on the body, and not that of a motion that was not made."""
    model, tree = ball
    n = 400
    body = body_of(model, gravity=(0, 0, 0), position=(0.003, 0.0, 0.045))
    positions = np.zeros((n, 3))
    positions[:, 2] = 0.04 * np.minimum(np.arange(n) / 100.0, 1.0)
    limits = {"max_depth": 2e-4, "reach": 0.07}
    coupling = (
        rf.DynamicCoupling(500.0, 2.0, mass=0.05, inertia=1e-4, **limits)
        if dynamic
        else rf.VirtualCoupling(500.0, 2.0, **limits)
    )
    contact = rf.FrictionContact(tree, WALL, 0.4, budget_us=1e6)
    made = session(contact, positions, simulation=body, coupling=coupling)
    records = made.run(n)
    made.close()
    touching = records["contact_force"][:, 2] < 0.0
    assert records.flagged("limited")[touching].any()
    given = -DT * records["contact_force"].sum(axis=0)
    momentum = model.rigid_body.mass * body.state.velocity
    assert momentum[2] > 1e-4
    np.testing.assert_allclose(momentum, given, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("most", [None, 2e-4])
def test_a_ball_between_ground_and_tool_rolls_half_as_far(ball, most):
    """Also where the depth limiter shortens the motions of the tool."""
    model, tree = ball
    n = 400
    body = body_of(model, position=(0.0, 0.0, RADIUS))
    positions = np.zeros((n, 3))
    positions[:, 0] = 1e-4 * np.clip(np.arange(n) - 150.0, 0.0, 100.0)
    positions[:, 2] = 2.0 * RADIUS + 1e-3 - 2e-5 * np.arange(n).clip(max=100)
    field, ground = (
        rf.BoxField((-0.03, -0.03, 0.0), (0.03, 0.03, 0.02)),
        rf.PlaneField((0, 0, 0), (0, 0, 1)),
    )
    contacts = [
        rf.FrictionContact(tree, f, 0.8, compliance=1e-4, budget_us=1e6) for f in (field, ground)
    ]
    coupling = rf.VirtualCoupling(1000.0, 20.0, max_depth=most, reach=0.05)
    made = session(contacts, positions, simulation=[body, body], coupling=coupling)
    made.run(150)
    first = made.snapshot()
    records = made.run(n - 150)
    made.close()
    tool = records["object_position"][-1, 0] - first.position[0]
    # the place of the centre, beneath the frame of the mesh
    way = body.state.position[0] - first.bodies[0].position[0]
    assert tool > 5e-3
    np.testing.assert_allclose(2.0 * way, tool, rtol=0.03)


@pytest.mark.parametrize("depth", [1e-3, 5e-3])
def test_a_body_that_begins_inside_the_ground_rises_slowly(ball, depth):
    """It would jump by half a metre if one cycle closed the overlap."""
    model, tree = ball
    body = body_of(model, position=(0.0, 0.0, RADIUS - depth))
    ground = rf.PlaneField((0, 0, 0), (0, 0, 1))
    made = rest(
        [rf.FrictionContact(tree, f, 0.3, budget_us=1e6) for f in (WALL, ground)], body, 300
    )
    heights = []
    for _ in range(30):
        made.run(10)
        heights.append(made.snapshot().bodies[0].position[2])
    made.close()
    assert max(heights) < RADIUS + 1e-3
    assert abs(heights[-1] - RADIUS) < 2e-4


def test_a_session_continues_with_its_bodies(ball):
    """It copies them, and returns their states; clones make equal sessions."""
    model, tree = ball
    body = body_of(model, position=(0.0, 0.0, RADIUS), velocity=(0.2, 0.0, 0.0))
    ground = rf.PlaneField((0, 0, 0), (0, 0, 1))
    other = body.clone()
    ends = []
    for one in (body, other):
        contacts = [rf.FrictionContact(tree, f, 0.3, budget_us=1e6) for f in (WALL, ground)]
        made = rest(contacts, one, 60)
        made.run(20)
        made.recentre()
        made.run(20)
        made.stop()
        assert one.state.time == pytest.approx(0.04)
        made.run(20)
        made.close()
        ends.append(one.state)
    assert ends[0].position[0] > 5e-3
    assert np.array_equal(ends[0].position, ends[1].position)
    assert np.array_equal(ends[0].q, ends[1].q)


def test_a_copy_of_the_held_field_is_probably_a_mistake(ball):
    """It would be a second object, at rest in the world."""
    model, tree = ball
    again = rf.BoxField((-0.05, -0.05, 0.0), (0.05, 0.05, 0.02))
    contacts = [rf.FrictionContact(tree, field) for field in (WALL, again)]
    with pytest.warns(rf.PlausibilityWarning, match=r"contact\[1\].field equals contact\[0\].fie"):
        rest(contacts, body_of(model, position=(0.0, 0.0, -0.1)), 1).close()


def test_a_copy_of_a_body_is_probably_a_mistake(ball):
    """Two contacts of one body have one object; a copy of it is a second body."""
    model, tree = ball
    contacts = [rf.FrictionContact(tree, WALL) for _ in range(2)]
    twins = [body_of(model, position=(0.0, 0.0, -0.1)) for _ in range(2)]
    said = r"simulation\[0\] and simulation\[1\] are two FreeBody objects .* same object twice"
    with pytest.warns(rf.PlausibilityWarning, match=said) as caught:
        session(contacts, np.zeros((1, 3)), simulation=twins).close()
    assert len(caught) == 1
    session(contacts, np.zeros((1, 3)), simulation=twins[:1] * 2).close()
    twins[1].reset(position=(0.0, 0.0, -0.2))
    session(contacts, np.zeros((1, 3)), simulation=twins).close()


def test_a_free_shell_at_rest_is_probably_a_mistake(ball):
    for kind, said in (
        (rf.FrictionContact, r": pass simulation=FreeBody\(reduced, dt\) with the model of"),
        (rf.PenaltyContact, r": make it a FrictionContact and pass simulation=FreeBody\(red"),
    ):
        with pytest.warns(rf.PlausibilityWarning, match=said):
            session(kind(ball[1], WALL), np.zeros((1, 3))).close()


def test_contacts_of_one_body_share_its_snapshot(ball):
    model, tree = ball
    body = body_of(model, position=(0.0, 0.0, RADIUS + 1e-4))
    ground = rf.PlaneField((0, 0, 0), (0, 0, 1))
    made = rest([rf.FrictionContact(tree, f, 0.3) for f in (WALL, ground)], body, 100)
    reader = made.reader(points=True)
    records = made.run(100)
    shot = reader.read()
    made.close()
    assert [b.name for b in shot.bodies] == ["shell 0", "object"]
    assert len(shot.q) == 2
    assert np.array_equal(*shot.q)
    touching, lying = shot.contacts
    assert len(touching.indices) == 0
    # the points bear the weight
    weight = model.rigid_body.mass * G
    np.testing.assert_allclose(lying.forces.sum(axis=0), [0, 0, -weight], rtol=0.05, atol=0.02)
    np.testing.assert_allclose(shot.bodies[0].force, -lying.forces.sum(axis=0), atol=1e-3)
    np.testing.assert_allclose(shot.bodies[1].force, 0.0, atol=1e-12)
    # the depth is that of all contacts, the touching points are those of the held object
    assert 0.0 < records["depth_m"].max() < 1e-5
    assert records["touching"].max() == 0
    np.testing.assert_allclose(
        body.state.position, shot.bodies[0].position + model.rigid_body.centre, atol=1e-9
    )


@pytest.fixture(scope="module")
def soft_ball():
    return ball_of(2e4, r=12)


LIFTED = 0.06  # m, of the fingers


def grasp(tree, body, mu, heights):
    """Return a session of two fingers and a ball on the ground."""
    half, across = 0.018 + 0.005, 0.001
    fingers = [
        rf.OffsetField(
            rf.BoxField((s * half - across, -0.012, -0.015), (s * half + across, 0.012, 0.03)),
            0.004,
        )
        for s in (1, -1)
    ]
    ground = rf.PlaneField((0, 0, 0), (0, 0, 1))
    contacts = [
        rf.FrictionContact(tree, rf.UnionField(fingers), mu, budget_us=1e6),
        rf.FrictionContact(tree, ground, 0.5, budget_us=1e6),
    ]
    positions = np.stack([0.0 * heights, 0.0 * heights, heights], axis=1)
    return session(contacts, positions, simulation=[body, body])


def test_a_soft_ball_is_held_above_the_known_coefficient_of_friction(soft_ball):
    """The two flat fingers that hold a ball are statically determinate.

    Their normal forces are those of the squeezed ball, the weight is shared as their heights ask
    for: the coefficient that is needed is the larger ratio of both.
    """
    model, tree = soft_ball
    weight = model.rigid_body.mass * G
    body = rf.FreeBody(model, DT, damping=(1.0, 2e-3), gravity=(0, 0, -G))
    body.reset(position=(0.0, 0.0, RADIUS))
    heights = np.interp(np.arange(2200) * DT, [0.1, 0.7, 1.0, 1.6], [0.062, 0.02, 0.02, LIFTED])
    made = grasp(tree, body, 0.5, heights)
    made.run(2100)
    reader = made.reader(points=True)
    records = made.run(100)
    forces = reader.read().contacts[0].forces
    made.close()
    fingers = np.array([forces[forces[:, 0] * side > 0.0].sum(0) for side in (1, -1)])
    needed = (np.hypot(fingers[:, 1], fingers[:, 2]) / np.abs(fingers[:, 0])).max()
    place = body.state.position[2]
    assert place > RADIUS + 0.03
    np.testing.assert_allclose(records["contact_force"][-1], [0, 0, -weight], atol=0.01 * weight)
    assert weight / np.abs(forces[:, 0]).sum() <= needed < 0.4
    # fingers that become smoother
    for part, held in ((1.1, True), (0.9, False)):
        moved = body.clone()
        made = grasp(tree, moved, part * needed, np.full(300, LIFTED))
        made.run(300)
        made.close()
        assert (abs(moved.state.position[2] - place) < 1e-3) == held


def inertia_of(model, quaternion):
    """Return the inertia about the centre in the axes of the world."""
    w, x, y, z = quaternion
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    turn = np.eye(3) + 2.0 * w * cross + 2.0 * cross @ cross
    return turn @ model.rigid_body.inertia @ turn.T


BLOCK = rf.BoxField((-0.02, -0.02, -0.01), (0.02, 0.02, 0.01))
HEIGHT = 0.02


def tower(box, mu, pull, n):
    """Return the lower and the upper one of two boxes, and a session that nothing disturbs."""
    model, tree = box
    bodies = [body_of(model, pull, position=(0.0, 0.0, 0.5 * HEIGHT + k * HEIGHT)) for k in (0, 1)]
    ground = rf.PlaneField((0, 0, 0), (0, 0, 1))
    fields = WALL, WALL, ground, BLOCK
    contacts = [rf.FrictionContact(tree, field, mu, budget_us=1e6) for field in fields]
    pairs = [*bodies, bodies[0], (bodies[1], bodies[0])]
    return bodies, session(contacts, np.tile((0, 0, FAR), (n, 1)), simulation=pairs)


@pytest.mark.parametrize("part", [0.9, 1.1])
def test_a_box_on_a_box_stays_below_the_friction_angle(box, part):
    """Both slide down together above it, as one box would."""
    mu, n = 0.4, 600
    angle = np.arctan(mu) * part
    pull = G * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    bodies, made = tower(box, mu, pull, n)
    with_points = made.reader(points=True)
    made.run(n)
    touching = with_points.read().contacts
    lower, upper = (touching[k].forces.sum(axis=0) for k in (2, 3))
    made.close()
    weight = box[0].rigid_body.mass * G * np.cos(angle)
    np.testing.assert_allclose([lower[2], upper[2]], [-2.0 * weight, -weight], rtol=1e-3)
    slide = max(G * (np.sin(angle) - mu * np.cos(angle)), 0.0)
    for k, body in enumerate(bodies):
        state = body.state
        np.testing.assert_allclose(state.velocity[0], slide * n * DT, rtol=2e-3, atol=1e-5)
        assert abs(state.position[2] - (0.5 + k) * HEIGHT) < 1e-5
        assert np.abs(state.quaternion[1:]).max() < 1e-3


def test_forces_of_two_free_bodies_keep_their_momentum(box):
    """One falls on the other in free space, off its centre; nothing else touches."""
    model, tree = box
    bodies = [
        body_of(model, (0, 0, 0), position=(0.0, 0.0, 0.0)),
        body_of(model, (0, 0, 0), position=(0.012, 0.005, 0.03), velocity=(0.1, 0.0, -0.3)),
    ]
    contacts = [rf.FrictionContact(tree, f, 0.5, budget_us=1e6) for f in (WALL, WALL, BLOCK)]
    pairs = [*bodies, (bodies[1], bodies[0])]
    made = session(contacts, np.tile((0, 0, FAR), (100, 1)), simulation=pairs)
    made.run(100)
    made.close()
    states, mass = [body.state for body in bodies], model.rigid_body.mass
    momentum = mass * sum(state.velocity for state in states)
    first = mass * np.array([0.1, 0.0, -0.3])
    np.testing.assert_allclose(momentum, first, atol=1e-12)
    turning = sum(
        mass * np.cross(state.position, state.velocity)
        + inertia_of(model, state.quaternion) @ state.angular_velocity
        for state in states
    )
    np.testing.assert_allclose(turning, np.cross([0.012, 0.005, 0.03], first), atol=1e-12)
    assert states[0].velocity[2] < -0.02
    assert np.linalg.norm(states[0].angular_velocity) > 0.1
    energy = [0.5 * mass * state.velocity @ state.velocity for state in states]
    assert sum(energy) < 0.5 * mass * 0.1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("penalty", "contact 0 has a FreeBody with its shell, which needs a FrictionContact"),
        ("step", "the FreeBody of contact 0 has steps of 0.0005 s, a cycle 0.001 s"),
        ("ground", "only a FreeBody may have contact with another field"),
        ("far", "the simulation of contact 0 displaces its body by up to .* m, more than 30"),
        ("penalty field", "contact 1 has a FreeBody with its field, which needs a FrictionContact"),
        ("rest", "contact.1..field is a DeformedField at rest in the world"),
        ("twice", "simulation.1. has the same FreeBody twice"),
        ("no shell", "the second FreeBody of simulation.1. has no shell"),
        ("held", "which is that of the held object: give the body of the shell alone"),
        ("model", "simulation is a body of another model than contact.tree.reduced"),
    ],
)
def test_bodies_that_do_not_fit_are_refused(ball, soft_ball, change, message):
    model, tree = ball
    ground = rf.PlaneField((0, 0, 0), (0, 0, 1))
    body = body_of(model)
    contacts, simulations = [rf.FrictionContact(tree, WALL)], [body]
    if change == "penalty":
        contacts = [rf.PenaltyContact(tree, WALL)]
    if change == "step":
        simulations = [rf.FreeBody(model, 5e-4)]
    if change == "ground":
        contacts, simulations = [*contacts, rf.FrictionContact(tree, ground)], [body, None]
    if change == "far":
        body.reset(q=np.full(model.r, 1e3))
    if change == "penalty field":
        contacts.append(rf.PenaltyContact(tree, ground))
        simulations = [body, (None, body)]
    if change == "rest":
        sphere = rf.DistanceField.from_field(rf.SphereField((0, 0, 0), RADIUS), 16)
        contacts.append(rf.FrictionContact(tree, rf.DeformedField(sphere, model, 8)))
        simulations = [body, body]
    other = {"twice": body, "no shell": body_of(model), "held": body_of(model)}.get(change)
    if other is not None:
        contacts.append(rf.FrictionContact(tree, WALL if change == "held" else ground))
        simulations = [body, (body, other)]
    if change == "model":
        solid = solid_box((2, 2, 2), (0.04, 0.04, 0.02), rf.StVK(1e7, 0.3, 1000.0), held=None)
        other = rf.reduce(solid, rf.modal_derivative_basis(solid, k=3, r=6))
        simulations = [rf.FreeBody(other, DT)]
    with pytest.raises(rf.InputError, match=message):
        session(contacts, np.zeros((5, 3)), simulation=simulations)
