"""Contact in explicit steps: an independent program, a plain scheme, momentum, closed forms."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pytest

import reducedfem as rf
from integrated import small_model, small_solid
from shapes import box_hexes

FLOOR = rf.PlaneField([0.0, 0.0, 0.0], [0.0, 0.0, 1.0])
RULES = ["surface", "mirror"]
G = 9.81


def block(cells=(2, 2, 2), size=(0.1, 0.1, 0.1), young=1e5):
    return rf.Solid(rf.Mesh(*box_hexes(*cells, size)), rf.StVK(young, 0.3, 1000.0))


def masses(solid):
    return solid.mass(lumped=True).to_scipy().diagonal().reshape(-1, 3)


def momentum(sim):
    return (masses(sim.system) * sim.state.qdot).sum(axis=0)


def energy(sim):
    state, m = sim.state, masses(sim.system)
    return 0.5 * (m * state.qdot**2).sum() + sim.system.strain_energy(state.q)


def discrete_energy(sim):
    """Energy that the scheme keeps of a linear system: with the velocities of both half steps."""
    m = masses(sim.system)
    return energy(sim) - 0.5 * (m * (sim.dt / 2 * sim.state.qddot) ** 2).sum()


# --- the rules -----------------------------------------------------------------------


def test_mirror_against_an_independent_program(shared):
    """Rounding grows to 1e-12 m in the 600 steps."""
    data = np.load(shared / "reference" / "green_graded" / "explicit_tets.npz")
    mesh = rf.Mesh(data["nodes"], data["elements"])
    law = rf.StVK(float(data["young"]), float(data["poisson"]), float(data["density"]))
    solid, gravity, alpha = rf.Solid(mesh, law), data["gravity"], float(data["alpha"])
    dt = float(data["dt"])
    floor = rf.RigidProxy(rf.PlaneField([0, 0, float(data["floor"])], [0, 0, 1]), rule="mirror")
    sim = rf.CentralDifferences(solid, dt, (alpha, 0.0), gravity=gravity, contact=floor)
    velocity = np.tile(data["v0"], (mesh.n_nodes, 1))
    start = np.zeros_like(velocity)
    start[:, 2] = 0.3 * dt
    sim.reset(start, velocity, gravity - alpha * velocity)
    assert len(data["contact_force"]) == 600
    m = masses(solid)
    for k in range(600):
        sim.step()
        state = sim.state
        assert abs(sim.contact.force[2] + data["contact_force"][k]) < 1e-6
        held = 0.5 * (m * state.qdot**2).sum() + solid.strain_energy(state.q)
        assert held == pytest.approx(data["energy"][k], abs=1e-10)
        if (k + 1) % 60 == 0:
            at = (k + 1) // 60 - 1
            assert np.abs(state.q - data["u"][at]).max() < 1e-9
            assert np.abs(state.qdot - data["v"][at]).max() < 1e-7


def rotation_matrix(axis, angle):
    x = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + np.sin(angle) * x + (1 - np.cos(angle)) * x @ x


def quaternion_of(axis, angle):
    return np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * axis])


def cut(change, normal, mu):
    pushed = change @ normal
    along = change - pushed * normal
    size, most = np.linalg.norm(along), mu * max(pushed, 0.0)
    return pushed * normal + along * (most / size if size > most else 1.0), size > most


def plain_contact(solid, lengths, alpha, rule, mu, radius, pose, u, v):
    """Plain steps with a sphere about (0.01, 0, 0) of its frame; yields u, v, a, forces, slides."""
    m, rest = masses(solid), solid.mesh.nodes
    place, turn, speed, spin = pose
    a = -solid.internal_force(u) / m - alpha * v
    forces, before, t = np.zeros_like(u), lengths[0], 0.0

    def moved(t):
        axis = np.linalg.norm(spin)
        return place + t * speed, rotation_matrix(spin / axis, t * axis) @ turn

    for dt in lengths:
        recovery = 0.05 * dt / rf.stable_step(solid)
        a = a + (before / dt - 1) * forces / m
        half = v + dt / 2 * a
        new = u + dt * half
        free = (-solid.internal_force(new) / m - alpha * half) / (1 + alpha * dt / 2)
        after, (force, torque, pushed) = free.copy(), np.zeros((3, 3))
        slid = 0
        here, turned = moved(t + dt)
        forces = np.zeros_like(u)
        for i in np.setdiff1d(solid.mesh.boundary_nodes, solid.fixed):
            x = rest[i] + new[i]
            body = speed + np.cross(spin, x - here)
            center, ahead = here + turned @ [0.01, 0.0, 0.0], x
            if rule == "surface":
                far, round_ = moved(t + 2 * dt)
                center, ahead = far + round_ @ [0.01, 0.0, 0.0], x + dt * (half[i] + dt * free[i])
            way = ahead - center
            distance, normal = np.linalg.norm(way) - radius, way / np.linalg.norm(way)
            if distance > 0.0:
                continue
            if rule == "mirror":
                if (v[i] - body) @ normal >= -1e-12:
                    continue
                was = max(0.0, dt * (half[i] - body) @ normal - distance)
                change = -2 * (v[i] - body) / dt - a[i] - free[i] + recovery * was / dt**2 * normal
            else:
                depth = max(0.0, radius - np.linalg.norm(x - here - turned @ [0.01, 0.0, 0.0]))
                most = max(dt * abs((half[i] - body) @ normal), recovery * depth)
                outwards = (min(0.0, most - depth) - distance) / dt**2
                if outwards <= 0.0:
                    continue
                sliding = (half[i] - body) / dt + free[i]
                change = outwards * normal - (sliding - (sliding @ normal) * normal)
            change, slides = cut(change, normal, mu)
            slid += slides
            after[i] += change
            one = (1 + alpha * dt / 2) * m[i] * change
            forces[i] = one
            pushed += (one @ normal) * normal
            force += one
            torque += np.cross(x - here, one)
        u, v, a, t, before = new, half + dt / 2 * after, after, t + dt, dt
        yield u, v, a, (force, torque, pushed), slid


@pytest.mark.parametrize(("mu", "parts"), [(0.0, [1]), (0.4, [1]), (0.4, [1, 0.6, 0.6, 1.5])])
@pytest.mark.parametrize("rule", RULES)
def test_steps_are_those_of_the_plain_rules(rule, mu, parts):
    """A sphere off its frame's origin, turned, that moves and spins, under mass damping."""
    solid = block(young=2e4)
    dt, alpha = 0.4 * rf.stable_step(solid), 3.0
    axis = np.array([1.0, 2.0, -2.0]) / 3.0
    start = np.array([0.05, 0.04, 0.1345]), axis, 0.7
    speed, spin = np.array([0.3, 0.1, -1.0]), np.array([4.0, -9.0, 7.0])
    tool = rf.RigidProxy(rf.SphereField([0.01, 0.0, 0.0], 0.04), mu, rule)
    sim = rf.CentralDifferences(solid, dt, (alpha, 0.0), contact=tool)
    tool.move(start[0], quaternion_of(axis, 0.7), velocity=speed, angular_velocity=spin)
    v = 0.2 * np.random.default_rng(2).standard_normal((solid.mesh.n_nodes, 3))
    sim.reset(qdot=v)
    pose = start[0], rotation_matrix(axis, 0.7), speed, spin
    touched = 0
    lengths = dt * np.resize(parts, 60)
    expected = plain_contact(solid, lengths, alpha, rule, mu, 0.04, pose, np.zeros_like(v), v)
    for h, (u, v, a, (force, torque, pushed), slid) in zip(lengths, expected, strict=True):
        sim.step(dt=h)
        found, state = sim.contact, sim.state
        touched += len(found.nodes)
        # rounding
        assert np.abs(state.q - u).max() < 1e-13
        assert np.abs(state.qdot - v).max() < 1e-10
        assert np.abs(state.qddot - a).max() < 1e-7
        assert np.abs(found.force + force).max() < 1e-8
        assert np.abs(found.normal_force + pushed).max() < 1e-8
        assert found.sliding == slid
        assert np.abs(found.torque + torque).max() < 1e-9
        assert np.abs(found.node_forces.sum(axis=0) + found.force).max() < 1e-12
    assert touched > 30


# --- momentum and energy -------------------------------------------------------------


@pytest.mark.parametrize(("rule", "beta"), [("surface", 0.0), ("surface", 2e-3), ("mirror", 0.0)])
def test_impulse_is_the_change_of_momentum(rule, beta):
    """With internal damping too: its forces have no sum.  Calls without steps have none."""
    solid = block()
    tool = rf.RigidProxy(FLOOR, 0.3, rule)
    sim = rf.CentralDifferences(solid, None, (0.0, beta), contact=tool)
    velocity = np.tile([0.5, 0.2, -1.0], (solid.mesh.n_nodes, 1))
    sim.reset(qdot=velocity)
    before = momentum(sim)
    touched = np.zeros(3)
    for k in range(30):
        sim.step(n=1 + k % 3)
        after, found = momentum(sim), sim.contact.impulse
        assert np.abs(after - before + found).max() < 1e-14
        touched += np.abs(found)
        before = after
    assert (touched > 1e-3).all()
    sim.step(n=0)
    assert not sim.contact.impulse.any()


def fall(rule, cells, dt, measure, lift=1.3, damping=(0.0, 0.0), **options):
    """Return energies over that at the beginning, and the depth over v dt, of a bar of 0.25 m.

    The fall ends when it has left the floor.
    """
    solid = block((cells, cells, 5 * cells), (0.05, 0.05, 0.25), young=1e6)
    floor = rf.RigidProxy(FLOOR, rule=rule)
    stable = rf.stable_step(solid, None, damping, **options)
    sim = rf.CentralDifferences(solid, dt * stable, damping, contact=floor, **options)
    still = np.zeros((solid.mesh.n_nodes, 3))
    down = np.array([0.0, 0.0, -1.0])
    sim.reset(still - lift * sim.dt * down, still + down, still)
    energies, depth = [measure(sim)], 0.0
    lowest = 0.0
    while not (momentum(sim)[2] > 0.0 and lowest > 2e-3):
        sim.step()
        energies.append(measure(sim))
        lowest = (solid.mesh.nodes + sim.state.q)[:, 2].min()
        depth = max(depth, -lowest)
        assert len(energies) < 2000
    return np.array(energies) / energies[0], depth / sim.dt


@pytest.mark.parametrize("dt", [0.5, 0.95])
def test_a_falling_bar_loses_a_little_energy(dt):
    """A force f does the work f (x'' - x) / 2 in a step, and x'' is on the floor, x above it."""
    energies, depth = fall("surface", 4, dt, discrete_energy)
    # of forces that are not quite linear
    assert np.diff(energies).max() < 1e-3
    assert energies.max() < 1.0 + 1e-6
    assert 0.95 < energies[-1] < 0.99
    assert depth < 1e-12  # but where it begins below the place of the first step
    assert fall("surface", 2, dt, discrete_energy, 0.3)[1] == pytest.approx(0.7, abs=1e-3)


def test_a_mirrored_bar_keeps_the_energy_of_the_scheme():
    """As w changes its sign, forces do no work; the usual energy grows, less in small elements."""
    conserved, depth = fall("mirror", 2, 0.5, discrete_energy)
    assert conserved[-1] == pytest.approx(1.0, abs=2e-3)
    coarse, fine = (fall("mirror", cells, 0.5, energy)[0].max() for cells in (2, 4))
    assert 1.001 < fine < coarse < 1.02
    assert depth <= 1.5


@pytest.mark.parametrize("inside", [False, True])
def test_a_mirrored_bar_gains_nothing_by_the_recovery_of_its_depth(inside):
    """Nodes that hit were outside at the beginning of the step."""
    plain, depth = fall("mirror", 2, 0.5, energy)
    damped, other = fall("mirror", 2, 0.5, energy, damping=(0.0, 1e-9), implicit_damping=inside)
    assert damped == pytest.approx(plain, abs=1e-4)
    assert other == pytest.approx(depth, abs=1e-4)
    heavy, _ = fall("mirror", 2, 0.5, energy, damping=(0.0, 1e-3), implicit_damping=inside)
    assert heavy.max() < 1.0 + 1e-9
    assert heavy[-1] < 0.6


# --- friction ------------------------------------------------------------------------


def slide(rule, gravity, velocity, mu, time):
    """Return the means of velocity and displacement of a block on the floor, and its time."""
    solid = block((3, 3, 2), young=3e5)
    tool = rf.RigidProxy(FLOOR, mu, rule)
    sim = rf.CentralDifferences(solid, contact=tool, gravity=gravity)
    sim.reset(qdot=np.tile(velocity, (solid.mesh.n_nodes, 1)))
    while sim.state.time < time:
        sim.step(n=20)
    m = masses(solid)
    return momentum(sim) / m[:, 0].sum(), (m * sim.state.q).sum(0) / m[:, 0].sum(), sim.state.time


@pytest.mark.parametrize("rule", RULES)
def test_a_sliding_block_slows_by_coulombs_law(rule):
    """By mu (g t + w), for the normal force accelerates the block to w besides its weight."""
    way = np.array([0.8, 0.6, 0.0])
    velocity, _, t = slide(rule, (0.0, 0.0, -G), 0.5 * way, 0.3, 0.1)
    expected = 0.5 - 0.3 * (G * t + velocity[2])
    assert expected < 0.3
    # a sixth of a percent: nodes that vibrate do not all slide straight ahead
    assert velocity @ way == pytest.approx(expected, rel=2e-3)
    assert abs(velocity @ [-0.6, 0.8, 0.0]) < 1e-3


@pytest.mark.parametrize(("mu", "holds"), [(0.6, True), (0.3, False)])
def test_a_block_on_a_slope(mu, holds):
    """It sticks for mu > tan, else it slides with g (sin - mu cos)."""
    slope = np.arctan(0.45)
    gravity = G * np.array([np.sin(slope), 0.0, -np.cos(slope)])
    start = np.array([0.0 if holds else 0.3, 0.0, 0.0])
    velocity, moved, t = slide("surface", gravity, start, mu, 0.12)
    if holds:
        assert abs(moved[0]) < 2e-3  # shear by the weight
        assert abs(velocity[0]) < 0.1
    else:
        pressed = G * np.cos(slope) * t + velocity[2]
        assert velocity[0] == pytest.approx(0.3 + G * np.sin(slope) * t - mu * pressed, rel=2e-3)


# --- the body ------------------------------------------------------------------------


def test_a_tool_pushes_a_held_bar():
    """Once it has come to rest, forces and displacements are those of statics."""
    mesh = rf.Mesh(*box_hexes(4, 2, 2, (0.3, 0.1, 0.1)))
    solid = rf.Solid(mesh, rf.StVK(2e4, 0.3, 1000.0), fixed=mesh.nodes[:, 0] == 0.0)
    tool = rf.RigidProxy(rf.SphereField([0.28, 0.05, 0.15], 0.04), 0.3)
    sim = rf.CentralDifferences(solid, damping=(12.0, 0.0), contact=tool)
    tool.move([0.0, 0.0, 0.0], velocity=[0.0, 0.0, -0.1])
    sim.step(n=round(0.2 / sim.dt))
    pose = sim.contact.pose
    assert pose.position[2] == pytest.approx(-0.1 * sim.state.time, rel=1e-12)
    tool.move(pose)
    sim.step(n=round(2.0 / sim.dt))
    found = sim.contact
    assert found.force[2] > 0.05
    force = np.zeros((mesh.n_nodes, 3))
    force[found.nodes] = found.node_forces
    # the rest of vibrations
    assert np.abs(solid.solve_static(force) - sim.displacement).max() < 1e-6
    places = mesh.nodes[found.nodes] + sim.displacement[found.nodes]
    assert (
        np.abs(np.linalg.norm(places - pose.position - [0.28, 0.05, 0.15], axis=1) - 0.04).max()
        < 1e-8
    )
    assert (
        np.abs(np.cross(places - pose.position, found.node_forces).sum(0) + found.torque).max()
        < 1e-9
    )


def test_shapes_and_poses_are_equivalent():
    """A plane, a box, a turned and moved plane and samples of it give the same motion."""
    solid = block()
    turn = [np.cos(0.3), 0.0, np.sin(0.3), 0.0]
    box = [[-0.1, -0.1, -0.1], [0.2, 0.2, 0.2]]
    samples = rf.DistanceField.from_field(FLOOR, 8, box=box)
    tilted = rf.Pose([0.3, 0.0, 0.0], turn)
    normal = np.array([-np.sin(0.6), 0.0, np.cos(0.6)])  # turned back
    runs = []
    for field, pose in [
        (FLOOR, rf.Pose()),
        (rf.BoxField([-1, -1, -1], [1, 1, 0]), rf.Pose()),
        (rf.PlaneField([0.0, 0.0, 0.0], normal), tilted),
        (samples, rf.Pose()),
    ]:
        tool = rf.RigidProxy(field, 0.3)
        tool.move(pose)
        sim = rf.CentralDifferences(solid, contact=tool)
        sim.reset(qdot=np.tile([0.2, 0.1, -1.0], (solid.mesh.n_nodes, 1)))
        sim.step(n=40)
        runs.append(sim.state.q)
    assert np.abs(runs[0]).max() > 1e-3
    for one in runs[1:3]:
        assert np.abs(one - runs[0]).max() < 1e-12
    assert np.abs(runs[3] - runs[0]).max() < 1e-7  # single precision


def test_a_body_put_into_the_solid_does_not_throw_it_off():
    solid = block()
    tool = rf.RigidProxy(rf.PlaneField([0.0, 0.0, 0.01], [0.0, 0.0, 1.0]))
    sim = rf.CentralDifferences(solid, contact=tool)
    sim.step(n=200)
    assert np.abs(sim.state.qdot).max() < 5.0  # 0.01 m in a step is 20 m/s
    assert (solid.mesh.nodes + sim.state.q)[:, 2].min() > 0.0099


@pytest.mark.parametrize("part", [0.5, 0.01])
def test_the_speed_out_of_a_body_does_not_depend_on_the_step(part):
    """5 % of the depth in a stable step, in the first step and so without forces of the solid."""
    solid = block()
    tool = rf.RigidProxy(rf.PlaneField([0.0, 0.0, 0.01], [0.0, 0.0, 1.0]))
    stable = rf.stable_step(solid)
    sim = rf.CentralDifferences(solid, part * stable, contact=tool)
    sim.step()
    state = sim.state
    assert (state.qdot + sim.dt / 2 * state.qddot)[:, 2].max() == pytest.approx(
        0.05 * 0.01 / stable, rel=1e-9
    )


@pytest.mark.parametrize("resolution", [24, 96])
def test_thin_bodies_of_samples_do_not_throw_nodes_off(resolution):
    """Slopes between the samples of a plate of 3 mm are much shorter than 1 in the coarse field."""
    nodes, elements = box_hexes(1, 1, 1, (0.04, 0.04, 0.003))
    plate = rf.Mesh(nodes - [0.02, 0.02, 0.0015], elements).surface()
    field = rf.DistanceField.from_surface(plate, resolution=resolution)
    nodes, elements = box_hexes(6, 6, 6, (0.06, 0.06, 0.06))
    law = rf.StableNeoHookean(1e5, 0.3, 1000.0)
    solid = rf.Solid(rf.Mesh(nodes, elements), law, fixed=nodes[:, 2] == 0.0)
    tool = rf.RigidProxy(field)
    sim = rf.CentralDifferences(solid, contact=tool)
    tool.move([0.03, 0.03, 0.064], velocity=[0.0, 0.0, -0.5])
    fastest, pressed = 0.0, 0.0
    while sim.state.time < 0.016:
        sim.step()
        fastest = max(fastest, np.abs(sim.state.qdot).max())
        pressed = min(pressed, sim.displacement[:, 2].min())
    assert pressed < -3e-3
    assert fastest < 1.0  # waves of the solid


@pytest.mark.parametrize(
    ("rule", "damping"),
    [("surface", (0, 0)), ("surface", (5, 0)), ("surface", (0, 1e-3))]
    + [("mirror", damping) for damping in ((0, 0), (5, 0), (0, 1e-5), (0, 1e-3), (20, 30))],
)
def test_a_block_rests_on_the_floor(rule, damping):
    """For two seconds; mirrored nodes chatter about the floor.  (20, 30): strain rate, Pa s."""
    solid = block((2, 2, 2))
    floor, rate = rf.RigidProxy(FLOOR, 0.3, rule), None
    if damping == (20, 30):
        damping, rate = (0, 0), rf.StrainRateDamping(solid, *damping)
    sim = rf.CentralDifferences(solid, None, damping, rate, contact=floor, gravity=(0.0, 0.0, -G))
    weight = G * masses(solid)[:, 2].sum()
    sim.step(n=round(1.0 / sim.dt))
    steps = round(1.0 / sim.dt)
    sim.step(n=steps)
    assert sim.contact.impulse[2] / (steps * sim.dt) == pytest.approx(-weight, rel=0.05)
    lowest = (solid.mesh.nodes + sim.state.q)[:, 2].min()
    assert lowest > (-1e-12 if rule == "surface" else -5e-4)


def test_a_move_that_no_step_has_seen_is_in_copies():
    solid = block()
    tool = rf.RigidProxy(FLOOR)
    sim = rf.CentralDifferences(solid, contact=tool)
    tool.move([0.0, 0.0, -0.1], velocity=[0.0, 0.0, 1.0])
    sim.step(n=20)
    tool.move([0.0, 0.0, -0.1], velocity=[0.0, 0.0, 0.5])
    copies = [sim, sim.clone(), pickle.loads(pickle.dumps(sim))]
    for one in copies:
        one.step(n=2)
        assert one.contact.pose.position[2] == pytest.approx(-0.1 + sim.dt, rel=1e-12)


def test_failed_calls_leave_the_contact_as_it_was():
    solid = block()
    tool = rf.RigidProxy(FLOOR)
    sim = rf.CentralDifferences(solid, contact=tool)
    tool.move([0.0, 0.0, 0.0], velocity=[0.0, 0.0, 0.1])
    while sim.contact.nodes.size == 0:
        sim.step()
    before, rest, time = sim.contact, solid.mesh.nodes, sim.state.time
    with pytest.raises(rf.DivergedError):
        sim.reset(1e120 * rest)
    with pytest.raises(rf.DivergedError):
        sim.step(np.full_like(rest, 1e200))
    after = sim.contact
    assert np.array_equal(after.nodes, before.nodes)
    assert np.array_equal(after.node_forces, before.node_forces)
    assert np.array_equal(after.force, before.force)
    assert np.array_equal(after.torque, before.torque)
    assert np.array_equal(after.pose.position, before.pose.position)
    sim.step()
    assert sim.contact.pose.position[2] == pytest.approx(0.1 * (time + sim.dt), rel=1e-12)


def test_copies_continue_with_the_same_bits():
    solid = block()
    tool = rf.RigidProxy(rf.SphereField([0.05, 0.05, 0.145], 0.04), 0.2)
    sim = rf.CentralDifferences(solid, contact=tool)
    tool.move([0.0, 0.0, 0.0], velocity=[0.0, 0.1, -1.0], angular_velocity=[1.0, 2.0, 3.0])
    sim.step(n=5)
    copies = [sim, sim.clone(), copy.copy(sim), pickle.loads(pickle.dumps(sim))]
    for one in copies:
        one.step(n=10)
    assert sim.contact.nodes.size > 0
    assert re.fullmatch(r"<ProxyForce: \(.*\) N, \(.*\) N m, \d+ nodes?>", repr(sim.contact))
    for one in copies[1:]:
        assert np.array_equal(one.state.q, sim.state.q)
        assert np.array_equal(one.contact.impulse, sim.contact.impulse)
    tool.move([0.0, 0.0, 1.0])  # the tool is shared, but not by the pickled one
    for one in copies:
        one.step()
    assert [one.contact.nodes.size > 0 for one in copies] == [False, False, False, True]
    sim.reset()
    assert sim.contact.nodes.size == 0
    assert not sim.contact.impulse.any()


def test_steps_without_touching_have_the_same_bits():
    solid = small_solid()
    tool = rf.RigidProxy(rf.SphereField([5.0, 0.0, 0.0], 0.1))
    free, near = rf.CentralDifferences(solid), rf.CentralDifferences(solid, contact=tool)
    force = np.zeros((solid.mesh.n_nodes, 3))
    force[-1] = 0.1
    for sim in (free, near):
        sim.step(force, n=50)
    assert np.array_equal(free.state.q, near.state.q)
    assert not near.contact.force.any()
    assert repr(near.contact) == "<ProxyForce: no contact>"
    assert free.contact is None


# --- refusals ------------------------------------------------------------------------


@pytest.mark.no_asan(reason="few lines of C")
def test_refused_bodies():
    with pytest.raises(rf.InputTypeError, match="field must be a Field, got float"):
        rf.RigidProxy(0.1)
    with pytest.raises(rf.InputError, match='rule must be "surface" or "mirror", got "penalty"'):
        rf.RigidProxy(FLOOR, rule="penalty")
    with pytest.raises(rf.InputError, match="friction must be a coefficient between 0"):
        rf.RigidProxy(FLOOR, -0.1)
    tool = rf.RigidProxy(FLOOR)
    tool.move([1.0, 2.0, 3.0], velocity=[1.0, 0.0, 0.0])
    for arguments, why in [
        (dict(position=[0, 0]), r"position"),
        (dict(position=[0, 0, 0], quaternion=[1, 1, 0, 0]), "norm"),
        (dict(position=[0, 0, 0], velocity=[0, 0]), r"velocity must have shape \(3,\)"),
        (dict(position=[0, 0, 0], angular_velocity=[0, 0, np.nan]), "angular_velocity"),
        (dict(position=[0, 0, 0], velocity=[0, 0, 1e200]), r"velocity\[2\] must be below 1e\+100"),
    ]:
        with pytest.raises(rf.InputError, match=why):
            tool.move(**arguments)
    assert tool.pose.position.tolist() == [1.0, 2.0, 3.0]
    assert tool.velocity.tolist() == [1.0, 0.0, 0.0]


@pytest.mark.no_asan(reason="few lines of C")
def test_refused_systems():
    tool = rf.RigidProxy(FLOOR)
    with pytest.raises(rf.InputTypeError, match="a RigidProxy touches the nodes of a Solid, got"):
        rf.CentralDifferences(small_model(), contact=tool)
    with pytest.raises(rf.InputTypeError, match=r"got PlaneField: make one, RigidProxy\(field\)"):
        rf.CentralDifferences(small_solid(), contact=FLOOR)
    with pytest.raises(rf.InputTypeError, match="a RigidProxy is for CentralDifferences"):
        rf.BackwardEuler(small_solid(), 1e-3, newton_max=50, contact=tool)
    with pytest.raises(rf.InputError, match="takes no BarrierContact"):
        rf.CentralDifferences(small_solid(), contact=rf.BarrierContact(FLOOR))
    ball = rf.voxelize(rf.Mesh(*box_hexes(2, 2, 2)).surface(), 3, expand=1.25, order=1)
    with pytest.raises(rf.InputError, match="whole cells"):
        rf.CentralDifferences(rf.Solid(ball, rf.StVK(1e5, 0.3, 1e3)), contact=tool)


@pytest.mark.no_asan(reason="few lines of C")
def test_refused_damping_and_states():
    solid = small_solid()
    tool, mirror = rf.RigidProxy(FLOOR), rf.RigidProxy(FLOOR, rule="mirror")
    for damping, rate in [((0.0, 1e-3), None), ((0.0, 0.0), rf.StrainRateDamping(solid, 1.0, 0.0))]:
        for one in (tool, mirror):
            rf.CentralDifferences(solid, None, damping, rate, contact=one)
    sim = rf.CentralDifferences(solid, None, (1.0, 0.0), contact=mirror)
    sim.step(n=2)
    with pytest.raises(rf.InputError, match="longer than 0.7 stable steps"):
        sim.step(dt=2.0 * sim.dt)
    q, qdot, qddot, *_, pace = sim._core.whole_state()
    for at, value in ((0, -1.0), (0, 1e300), (1, 3.0), (2, -1.0), (3, -1.0), (4, -1.0)):
        wrong = pace.copy()
        wrong[at] = value
        with pytest.raises(rf.InputError, match="pace must be"):
            sim._core.reset(q, qdot, qddot, 1, 2, (None, None), None, wrong)
    with pytest.raises(rf.InputError, match="pace"):
        sim._core.reset(q, qdot, qddot, 1, 2, (None, None), None, pace[:7])
