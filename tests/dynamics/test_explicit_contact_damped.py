"""Contact in explicit steps with damping inside: a dense reference, momentum, bounds."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import threading

import numpy as np
import pytest

import reducedfem as rf
from graded import graded_box
from shapes import box_hexes

FLOOR = rf.PlaneField([0.0, 0.0, 0.0], [0.0, 0.0, 1.0])
G = 9.81


def block(cells=(2, 2, 2), size=(0.1, 0.1, 0.1), young=1e5, held=False):
    mesh = rf.Mesh(*box_hexes(*cells, size))
    fixed = mesh.nodes[:, 2] == 0.0 if held else None
    return rf.Solid(mesh, rf.StVK(young, 0.3, 1000.0), fixed=fixed)


def masses(solid):
    return solid.mass(lumped=True).to_scipy().diagonal().reshape(-1, 3)


def momentum(sim):
    return (masses(sim.system) * sim.state.qdot).sum(axis=0)


def laws(w, free, mu):
    """Return the forces of Signorini's and Coulomb's laws: projections of f - d, over and over."""
    step = 1.0 / np.abs(w).sum(axis=1).max()
    f = np.zeros((len(mu), 3))
    for _ in range(100_000):
        new = f - step * (w @ f.ravel() + free).reshape(-1, 3)
        new[:, 0] = np.maximum(new[:, 0], 0.0)
        size, most = np.linalg.norm(new[:, 1:], axis=1), mu * new[:, 0]
        new[:, 1:] *= np.where(size > most, most / np.where(size > 0.0, size, 1.0), 1.0)[:, None]
        done = np.abs(new - f).max() <= 1e-15 * np.abs(new).max()
        f = new
        if done:
            break
    return f


def frame_of(normal):
    first = np.linalg.svd(normal[None])[2][1]
    return np.stack([normal, first, np.cross(normal, first)])


def dense_steps(solid, damp, tools, lengths, v, alpha):
    """Dense steps with balls (place, speed, radius, mu); yields u, v, a and the force on each."""
    n, free_nodes = solid.mesh.n_nodes, np.setdiff1d(np.arange(solid.mesh.n_nodes), solid.fixed)
    at = (3 * free_nodes[:, None] + np.arange(3)).ravel()
    mass = masses(solid).ravel()
    damp = damp + alpha * np.diag(mass)
    stable, rest = rf.stable_step(solid), solid.mesh.nodes
    touchable = np.setdiff1d(solid.mesh.boundary_nodes, solid.fixed)
    u, v = np.zeros((n, 3)), v.copy()
    v[solid.fixed] = 0.0
    a, t = np.zeros((n, 3)), 0.0
    a.ravel()[at] = -((damp @ v.ravel()) / mass)[at]
    before, spread = lengths[0], np.zeros((n, 3))
    for h in lengths:
        recovery = 0.05 * min(1.0, h / stable)
        a = a + (before / h - 1.0) * spread
        w = v + h / 2 * a
        u = u + h * w
        inverse = np.zeros((3 * n, 3 * n))
        inverse[np.ix_(at, at)] = np.linalg.inv((np.diag(mass) + h / 2 * damp)[np.ix_(at, at)])
        start = inverse @ (-solid.internal_force(u).ravel() - damp @ w.ravel())
        after, found, f = start.reshape(-1, 3), [], np.zeros((0, 3))
        spread, before = np.zeros((n, 3)), h
        while True:
            more = []
            for k, (place, speed, radius, mu) in enumerate(tools):
                here, ahead = place + (t + h) * speed, place + (t + 2 * h) * speed
                for i in touchable:
                    way = rest[i] + u[i] + h * (w[i] + h * after[i]) - ahead
                    distance = np.linalg.norm(way) - radius
                    if distance > 0.0 or any(one[:2] == (k, i) for one in found):
                        continue
                    frame = frame_of(way / np.linalg.norm(way))
                    sliding = (w[i] - speed) / h + after[i]
                    depth = max(0.0, radius - np.linalg.norm(rest[i] + u[i] - here))
                    most = max(h * abs((w[i] - speed) @ frame[0]), recovery * depth)
                    outwards = (min(0.0, most - depth) - distance) / h**2
                    asked = after[i] - sliding + (outwards + sliding @ frame[0]) * frame[0]
                    more.append((k, i, frame, asked, mu))
            if not more:
                break
            found += more
            rows = np.zeros((3 * len(found), 3 * n))
            for j, (_, i, frame, _, _) in enumerate(found):
                rows[3 * j : 3 * j + 3, 3 * i : 3 * i + 3] = frame
            asked = np.concatenate([frame @ one for _, _, frame, one, _ in found])
            f = laws(rows @ inverse @ rows.T, rows @ start - asked, np.array([m[4] for m in found]))
            spread = (inverse @ rows.T @ f.ravel()).reshape(-1, 3)
            after = start.reshape(-1, 3) + spread
        forces = np.zeros((len(tools), 3))
        for (k, _, frame, _, _), one in zip(found, f, strict=True):
            forces[k] += frame.T @ one
        a, v, t = after, w + h / 2 * after, t + h
        yield u, v, a, forces


@pytest.mark.parametrize(
    ("mu", "parts"), [(0.0, [1]), (0.4, [1]), (0.0, [1, 0.7]), (0.4, [1, 0.6, 1.2, 0.6, 0.3, 0.5])]
)
def test_steps_are_those_of_a_dense_reference(mu, parts):
    """Two balls at once press and rub on a held block under heavy damping of both kinds.

    In steps of several lengths W is not that of a factor.
    """
    solid = block(young=2e4, held=True)
    rate = rf.StrainRateDamping(solid, 20.0, 30.0)
    dt, damping = 0.5 * rf.stable_step(solid), (3.0, 0.05)
    speeds = np.array([[0.3, 0.1, -1.0], [-0.2, 0.0, -0.5]])
    places = np.array([[0.05, 0.04, 0.1415], [0.0, 0.05, 0.141]])
    balls = [rf.RigidProxy(rf.SphereField([0, 0, 0], 0.04), mu) for _ in places]
    for ball, place, speed in zip(balls, places, speeds, strict=True):
        ball.move(place, velocity=speed)
    sim = rf.CentralDifferences(solid, dt, damping, rate, contact=balls, implicit_damping=True)
    v = 0.2 * np.random.default_rng(2).standard_normal((solid.mesh.n_nodes, 3))
    v[solid.fixed] = 0.0
    sim.reset(qdot=v)
    damp = damping[1] * solid.stiffness().to_scipy().toarray() + rate.matrix().to_scipy().toarray()
    lengths = dt * np.resize(parts, 24)
    tools = [(p, s, 0.04, mu) for p, s in zip(places, speeds, strict=True)]
    largest, close = np.zeros(2), 1e-10 if len(parts) == 1 else 1e-8
    expected = dense_steps(solid, damp, tools, lengths, v, damping[0])
    for h, (u, v, a, forces) in zip(lengths, expected, strict=True):
        sim.step(dt=h)
        state, scale = sim.state, 1.0 + np.abs(forces).max()
        # rounding, and the accuracies of both solvers
        assert np.abs(state.q - u).max() < 1e-3 * close
        assert np.abs(state.qdot - v).max() < close
        assert np.abs(state.qddot - a).max() < close * np.abs(a).max()
        found = np.array([one.force for one in sim.contacts])
        assert np.abs(found + forces).max() < 0.1 * close * scale
        largest = np.maximum(largest, np.linalg.norm(forces, axis=1))
    assert largest.min() > 0.1


@pytest.mark.parametrize("mu", [0.0, 0.4])
def test_without_damping_forces_are_those_of_the_lumped_mass(mu):
    """The limit of D to 0, 1e-9 of a period: each node is on its own."""
    solid = block(young=2e4)
    runs = []
    for beta, inside in ((1e-12, True), (0.0, False)):
        tool = rf.RigidProxy(rf.SphereField([0.05, 0.04, 0.1405], 0.04), mu)
        tool.move([0, 0, 0], velocity=[0.3, 0.1, -1.0])
        dt = 0.4 * rf.stable_step(solid)
        sim = rf.CentralDifferences(solid, dt, (3.0, beta), contact=tool, implicit_damping=inside)
        forces = []
        for _ in range(30):
            sim.step()
            forces.append(sim.contact.force)
        runs.append((sim.state.q, np.array(forces)))
    assert np.abs(runs[0][1]).max() > 0.1
    assert np.abs(runs[0][0] - runs[1][0]).max() < 1e-8
    assert np.abs(runs[0][1] - runs[1][1]).max() < 1e-5 * np.abs(runs[1][1]).max()


def test_mass_damping_inside_is_the_usual_step():
    solid, runs = block(young=2e4), []
    for inside in (False, True):
        tool = rf.RigidProxy(FLOOR, 0.3, "mirror")
        sim = rf.CentralDifferences(solid, None, (3.0, 0.0), contact=tool, implicit_damping=inside)
        sim.reset(qdot=np.tile([0.5, 0.2, -1.0], (solid.mesh.n_nodes, 1)))
        sim.step(n=30)
        runs.append(sim.state.q)
    assert np.array_equal(*runs)


def test_impulse_is_the_change_of_momentum():
    solid = block()
    tool = rf.RigidProxy(FLOOR, 0.3)
    sim = rf.CentralDifferences(solid, None, (0.0, 0.02), contact=tool, implicit_damping=True)
    sim.reset(qdot=np.tile([0.5, 0.2, -1.0], (solid.mesh.n_nodes, 1)))
    before, touched = momentum(sim), np.zeros(3)
    for k in range(30):
        sim.step(n=1 + k % 3)
        after, found = momentum(sim), sim.contact.impulse
        assert np.abs(after - before + found).max() < 1e-12
        touched += np.abs(found)
        before = after
    assert (touched > 1e-3).all()


@pytest.mark.parametrize("xi", [0.5, 5.0, 50.0])
def test_a_block_falls_and_rests_under_any_damping(xi):
    """Of the highest mode; half a step earlier the limit of the step would be 1 / (2 xi) of it."""
    solid = block((3, 3, 3))
    stable = rf.stable_step(solid)
    floor = rf.RigidProxy(FLOOR, 0.3)
    sim = rf.CentralDifferences(
        solid, 0.8 * stable, (0.0, xi * stable), contact=floor, gravity=(0.0, 0.0, -G),
        implicit_damping=True,
    )  # fmt: skip
    down = np.tile([0.1, 0.0, -0.5], (solid.mesh.n_nodes, 1))
    sim.reset(np.tile([0.0, 0.0, 2e-3], (len(down), 1)), down)
    m, start = masses(solid), None
    start = 0.5 * (m * down**2).sum()
    for _ in range(40):
        sim.step(n=10)
        state = sim.state
        kinetic = 0.5 * (m * state.qdot**2).sum()
        energy = kinetic + solid.strain_energy(state.q) + G * (m * state.q)[:, 2].sum()
        assert energy < 1.1 * start
        assert (solid.mesh.nodes + state.q)[:, 2].min() > -1e-9
    sim.step(n=round(0.5 / sim.dt))
    steps = round(0.3 / sim.dt)
    sim.step(n=steps)
    weight = G * m[:, 2].sum()
    assert sim.contact.impulse[2] / (steps * sim.dt) == pytest.approx(-weight, rel=0.02)
    assert np.abs(sim.state.qdot).max() < 1e-3


def test_a_graded_solid_touches_with_damping_inside():
    """Once it has come to rest, forces and displacements are those of statics."""
    mesh = graded_box()
    solid = rf.Solid(mesh, rf.StVK(2e4, 0.3, 1000.0), fixed=mesh.nodes[:, 2] == 0.0)
    top = mesh.nodes.max(axis=0) * [0.5, 0.5, 1.0]
    radius = 0.3 * top[2]
    tool = rf.RigidProxy(rf.SphereField(np.add(top, [0, 0, radius]), radius), 0.3)
    tool.move([0, 0, 0], velocity=[0, 0, -0.1 * top[2] / 0.05])
    dt = 0.5 * rf.stable_step(solid, implicit_damping=True)
    sim = rf.CentralDifferences(solid, dt, (20.0, 0.02), contact=tool, implicit_damping=True)
    sim.step(n=round(0.05 / dt))
    tool.move(sim.contact.pose)
    sim.step(n=round(1.0 / dt))
    found = sim.contact
    assert found.force[2] > 0.01
    force = np.zeros((mesh.n_nodes, 3))
    force[found.nodes] = found.node_forces
    size = np.abs(sim.displacement).max()
    assert np.abs(solid.solve_static(force) - sim.displacement).max() < 1e-3 * size


def copies_in_contact():
    """Return a simulation that has begun to touch a turning ball, and two copies of it."""
    tool = rf.RigidProxy(rf.SphereField([0.05, 0.05, 0.145], 0.04), 0.2)
    sim = rf.CentralDifferences(block(), None, (0, 0.01), contact=tool, implicit_damping=True)
    tool.move([0.0, 0.0, 0.0], velocity=[0.0, 0.1, -1.0], angular_velocity=[1.0, 2.0, 3.0])
    while not sim.contact.nodes.size:
        sim.step()
    return [sim, sim.clone(), pickle.loads(pickle.dumps(sim))]


def test_copies_continue_with_the_same_bits():
    copies = copies_in_contact()
    sim = copies[0]
    for one in copies:
        one.step(n=10)
    assert sim.contact.nodes.size > 0
    for one in copies[1:]:
        assert np.array_equal(one.state.q, sim.state.q)
        assert np.array_equal(one.contact.impulse, sim.contact.impulse)


def test_pinched_nodes_have_bounded_forces():
    """Two floors that meet: no force keeps a node out of both."""
    solid = block(held=True)
    tools = [rf.RigidProxy(rf.PlaneField([0, 0, z], [0, 0, n])) for z, n in ((0.098, -1), (0.1, 1))]
    sim = rf.CentralDifferences(solid, None, (0, 0.01), contact=tools, implicit_damping=True)
    with pytest.warns(rf.PlausibilityWarning, match="do not obey its laws.*move the bodies apart"):
        sim.step(n=20)
    assert np.isfinite(sim.contacts[0].force).all()
    assert np.abs(sim.state.qdot).max() < 10.0
    sim.step(n=5)  # warned once
    assert 20 <= sim.report.unsolved <= 25
    sim.reset()
    assert sim.report.unsolved == 0


@pytest.mark.parametrize(
    "parts", [[1, 0.5], [1, 0.7, 0.4, 0.6], 5 * [1] + 5 * [0.6], [1, 0.5, 0.25, 0.125, 0.25, 0.5]]
)
@pytest.mark.parametrize("damping", [(5.0, 1e-3), (0.0, 2e-2), (0.0, 0.1)])
def test_a_block_rests_in_steps_of_several_lengths(damping, parts):
    """Its weight acts for half of two steps between two forces, so that it is about g dt^2 deep."""
    solid, floor = block(), rf.RigidProxy(FLOOR, 0.3)
    gravity = (0.0, 0.0, -G)
    sim = rf.CentralDifferences(
        solid, None, damping, contact=floor, gravity=gravity, implicit_damping=True
    )
    impulse, since = 0.0, 0.0
    for k in range(700):
        sim.step(dt=sim.dt * parts[k % len(parts)])
        if k == 350:
            since, impulse = sim.state.time, 0.0
        impulse += sim.contact.impulse[2]
        assert (solid.mesh.nodes + sim.state.q)[:, 2].min() > -3.0 * G * sim.dt**2
    weight = G * masses(solid)[:, 2].sum()
    assert impulse / (sim.state.time - since) == pytest.approx(-weight, rel=0.02)
    assert sim.report.unsolved == 0


@pytest.mark.parametrize("part", [0.49, 0.1])
def test_lengths_in_contact_differ_by_two_at_most(part):
    """With them the block would sink by 57 g dt^2 (of 0.1), as damped velocities swing."""
    solid, floor = block(), rf.RigidProxy(FLOOR, 0.3)
    sim = rf.CentralDifferences(
        solid, None, (0.0, 2e-2), contact=floor, gravity=(0.0, 0.0, -G), implicit_damping=True
    )
    for dt in (sim.dt, part * sim.dt, 0.5 * sim.dt):
        sim.reset(np.tile([0.0, 0.0, 1e-2], (solid.mesh.n_nodes, 1)))
        sim.step()
        sim.step(dt=dt)  # without contact
        assert not sim.contact.nodes.size
    sim.reset()
    sim.step(n=3)
    assert sim.contact.nodes.size
    before = sim.state
    with pytest.raises(rf.InputError, match=r"after a step of .* in contact.*factor of 2 at most"):
        sim.step(dt=part * sim.dt)
    assert np.array_equal(sim.state.q, before.q)
    assert sim.state.time == before.time
    sim.step(dt=0.5 * sim.dt)
    sim.step(dt=0.25 * sim.dt)
    while not sim.contact.nodes.size:
        sim.step(dt=0.25 * sim.dt)
    with pytest.raises(rf.InputError, match="factor of 2 at most"):
        sim.step()


@pytest.mark.parametrize("alpha", [0.0, 5.0, 200.0])
def test_impulse_is_the_change_of_momentum_in_steps_of_several_lengths(alpha):
    solid = block()
    tool = rf.RigidProxy(FLOOR, 0.3)
    sim = rf.CentralDifferences(solid, None, (alpha, 0.02), contact=tool, implicit_damping=True)
    sim.reset(qdot=np.tile([0.5, 0.2, -1.0], (solid.mesh.n_nodes, 1)))
    touched = 0.0
    for k in range(40):
        h, before = sim.dt * (1.0, 0.5, 0.7)[k % 3], momentum(sim)
        sim.step(dt=h)
        found = sim.contact.impulse
        touched += np.abs(found).sum()
        braked = 0.5 * h * alpha * (momentum(sim) + before)
        assert np.abs(momentum(sim) - before + braked + found).max() < 1e-10
    assert touched > 1e-2


def test_pickles_of_other_versions_say_so():
    solid, floor = block(), rf.RigidProxy(FLOOR)
    sim = rf.CentralDifferences(solid, None, (0, 0.01), contact=floor, implicit_damping=True)
    make, (kind, settings, state, warned) = sim.__reduce__()[:2]
    with pytest.raises(rf.InputError, match="another version of reducedfem made it"):
        make(kind, settings, (*state[:6], state[6][:-3]), warned)


@pytest.mark.parametrize("beta", [1e-3, 2e-2])
def test_a_mirrored_block_rests(beta):
    """Its forces are those of its nodes together, as they change the velocities of each other."""
    solid, floor = block(), rf.RigidProxy(FLOOR, 0.3, "mirror")
    gravity = (0.0, 0.0, -G)
    sim = rf.CentralDifferences(
        solid, None, (0.0, beta), contact=floor, gravity=gravity, implicit_damping=True
    )
    sim.step(n=round(1.0 / sim.dt))
    steps = round(1.0 / sim.dt)
    sim.step(n=steps)
    weight = G * masses(solid)[:, 2].sum()
    assert sim.contact.impulse[2] / (steps * sim.dt) == pytest.approx(-weight, rel=0.02)
    assert -3e-3 < (solid.mesh.nodes + sim.state.q)[:, 2].min() < 0.0


def test_copies_continue_in_steps_of_another_length():
    copies = copies_in_contact()
    sim = copies[0]
    for one in copies:
        one.step(n=2, dt=0.6 * sim.dt)
        one.step(n=3)
    for one in copies[1:]:
        assert np.array_equal(one.state.q, sim.state.q)
        assert np.array_equal(one.contact.impulse, sim.contact.impulse)


def test_too_many_nodes():
    solid = block((32, 32, 1), (0.1, 0.1, 0.01))
    bodies = [rf.RigidProxy(rf.SphereField([1, 0, 0], 0.1)), rf.RigidProxy(FLOOR)]
    sim = rf.CentralDifferences(
        solid, None, (0.0, 0.01), contact=bodies, implicit_damping=True, gravity=(0.0, 0.0, -G)
    )
    with pytest.raises(rf.InputError, match=r"contact: more than 1024 .*body 1.*make a sim"):
        sim.step()
    assert sim.report.steps == 0


def test_an_edge_rests_in_an_acute_groove():
    """One body after the other would push its nodes into the first one."""
    nodes, cells = box_hexes(2, 2, 2, (0.1, 0.1, 0.1))
    root = np.sqrt(0.5)
    nodes = (nodes - 0.05) @ np.array([[root, 0, -root], [0, 1, 0], [root, 0, root]])
    nodes = nodes * [0.2, 1.0, 1.0] - [0.0, 0.0, nodes[:, 2].min()]
    solid = rf.Solid(rf.Mesh(nodes, cells), rf.StVK(1e5, 0.3, 1000.0))
    normals = np.array([[c, 0.0, 0.5] for c in (np.sqrt(0.75), -np.sqrt(0.75))])
    planes = [rf.RigidProxy(rf.PlaneField([0, 0, 0], n)) for n in normals]
    sim = rf.CentralDifferences(solid, None, (5.0, 1e-6), contact=planes, implicit_damping=True)
    sim.reset(qdot=np.tile([0.0, 0.0, -0.5], (len(nodes), 1)))
    touched = 0
    for _ in range(50):
        sim.step(n=2)
        assert ((nodes + sim.state.q) @ normals.T).min() > -1e-9
        touched += all(one.nodes.size for one in sim.contacts)
    assert touched > 5
    assert sim.report.unsolved == 0


@pytest.mark.parametrize("raises", [False, True])
def test_signals_do_not_change_steps(raises):
    """A joint solve is given up and made anew: the state is that of steps without signals."""
    sims, came, touched = [], [], 0
    for _ in range(2):
        tool = rf.RigidProxy(FLOOR, friction=0.5)
        tool.move([0.0, 0.0, 1e-3], velocity=[0.1, 0.0, 0.0])
        solid = block((8, 8, 1), (0.2, 0.2, 0.03))
        sims.append(
            rf.CentralDifferences(solid, 1e-3, (5.0, 1e-3), contact=tool, implicit_damping=True)
        )
    done = threading.Event()

    def send():
        while not done.wait(0.07):
            os.kill(os.getpid(), signal.SIGINT)

    here = sys._getframe()

    def handle(number, frame):
        came.append(number)
        # in a call: an interrupt between two lines of this test is not caught
        if raises and len(came) < 3 and frame is not here:
            raise KeyboardInterrupt

    weight = 10.0 * solid.gravity()
    before = signal.signal(signal.SIGINT, handle)
    sender = threading.Thread(target=send)
    sender.start()
    try:
        while len(came) < 4:
            with contextlib.suppress(KeyboardInterrupt):
                sims[0].step(weight, n=20)
                touched = max(touched, sims[0].contact.nodes.size)
    finally:
        done.set()
        sender.join()
        signal.signal(signal.SIGINT, before)
    sims[1].step(weight, n=sims[0].report.steps)
    for name in ("q", "qdot", "time"):
        assert np.array_equal(getattr(sims[0].state, name), getattr(sims[1].state, name))
    assert touched > 10


def test_other_threads_make_the_same_steps():
    """They see no signals, and look for none."""
    states = []
    for threaded in (False, True):
        tool = rf.RigidProxy(FLOOR, friction=0.5)
        tool.move([0.0, 0.0, 1e-3], velocity=[0.1, 0.0, 0.0])
        solid = block((4, 4, 1), (0.2, 0.2, 0.03))
        sim = rf.CentralDifferences(solid, 1e-3, (5.0, 1e-3), contact=tool, implicit_damping=True)
        thread = threading.Thread(target=sim.step, args=(10.0 * solid.gravity(), 60))
        (thread.start if threaded else thread.run)()
        if threaded:
            thread.join()
        states.append(sim.state.q)
    assert np.array_equal(*states)
    assert sim.contact.nodes.size > 10
