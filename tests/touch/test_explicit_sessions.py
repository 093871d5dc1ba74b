"""Sessions in which the hand moves the tool of a CentralDifferences."""

from __future__ import annotations

import itertools
import os
import signal
import time

import numpy as np
import pytest

import reducedfem as rf
from explicit_touch import (
    CYCLE,
    RADIUS,
    SIZE,
    PlainDisplay,
    PlainSecant,
    above,
    block,
    session,
    touched,
)
from graded import graded_box
from haptic_sessions import after, threads_named
from moments import LONG
from reducedfem import _core
from reducedfem.haptics.settings import HapticSettings
from reducedfem.viewer.shown_touch import ShownTouch

PERIOD = 5e-3


def stroke(cycles=120):
    """Return poses of a hand that presses, slides, turns and leaves."""
    k = np.arange(cycles)
    x = np.interp(k, [0, 60, 90, 120], [0.0, 0.0, 5e-3, 5e-3])
    z = np.interp(k, [0, 5, 50, 90, 120], [1e-3, 1e-3, -4e-3, -4e-3, 3e-3])
    angle = 1e-3 * k
    turns = np.stack([np.cos(angle), 0 * k, np.sin(angle), 0 * k], axis=1)
    return above(*np.stack([x, 0 * x, z], axis=1)), turns


def player(places, turns=None):
    return rf.ReplayDevice(CYCLE * np.arange(len(places)), places, turns)


def rotation_vector(a, b):
    """Return the rotation from a quaternion to another."""
    w, v = a[0] * b[0] + a[1:] @ b[1:], a[0] * b[1:] - b[0] * a[1:] - np.cross(b[1:], a[1:])
    sine = np.linalg.norm(v)
    return v * (2.0 * np.arctan2(sine, w) / sine if sine > 0.0 else 2.0)


def lead(sim, tool, places, turns, every):
    """Yield forces and torques on the tool after each period of a script."""
    last = places[0], turns[0]
    for k in range(0, len(places), every):
        period = every * CYCLE
        speed = (places[k] - last[0]) / period
        spin = rotation_vector(last[1], turns[k]) / period
        tool.move(last[0], last[1], velocity=speed, angular_velocity=spin)
        sim.step(n=round(period / sim.dt))
        last = places[k], turns[k]
        yield k, sim.contact


def test_a_session_makes_the_steps_of_a_script():
    """Bit for bit, and the simulation has the state afterwards."""
    places, _ = stroke()
    turns = np.tile([1.0, 0.0, 0.0, 0.0], (len(places), 1))
    sim, tool = touched()
    other, moved = touched()
    with_hand = session(sim, player(places))
    records = with_hand.run(len(places))
    assert sim.state.time == 0.0
    with_hand.close()
    force = np.zeros((len(places), 3))
    for k, contact in lead(other, moved, places, turns, 1):
        force[k] = contact.force
    assert np.array_equal(records["contact_force"], force)
    assert np.array_equal(records["force"], force)
    assert np.array_equal(records["object_position"], records["hand_position"])
    assert force[:, 2].max() > 0.1
    assert np.abs(force[:, 0]).max() > 0.01
    for name in ("q", "qdot", "qddot", "time"):
        assert np.array_equal(getattr(sim.state, name), getattr(other.state, name))
    assert np.allclose(tool.pose.position, places[-1], rtol=0, atol=1e-15)
    assert not tool.velocity.any()
    # it was a copy: the tool of the session is another one
    assert sim.contact is not None


@pytest.mark.parametrize("kind", ["delay", "stiffness"])
def test_a_slower_simulation_against_plain_python(kind):
    places, turns = stroke()
    sim, _ = touched()
    other, moved = touched()
    made = session(sim, player(places, turns), interpolation=kind, simulation_rate=1.0 / PERIOD)
    records = made.run(len(places))
    report = made.report()
    made.close()
    display = PlainDisplay(kind == "stiffness", PERIOD, friction=0.3)
    secant = PlainSecant(5e-6, np.exp(-0.1))
    script, force, proxy = lead(other, moved, places, turns, 5), [], []
    waiting, tool, nodes, sticks = [], None, [], 0
    for k, x in enumerate(places):
        # without a thread a period is made after the force of a cycle is sent
        for state in waiting:
            display.take(*state)
        waiting = []
        begun = display.begun
        force.append(display.show((k + 1) * CYCLE, x))
        tool = places[k - 5] if display.begun != begun else tool
        proxy.append(x if tool is None else tool)
        if k % 5 == 0:
            _, contact = next(script)
            same = np.array_equal(contact.nodes, nodes) and contact.sliding == 0
            nodes = contact.nodes
            local = secant.take(len(nodes) > 0, x, contact.force, contact.normal_force, same)
            sticks += secant.held >= 10
            known = secant.states > 3
            felt = contact.force, contact.normal_force
            waiting = [((k + 1) * CYCLE, x, *felt, known * local)]
    assert 0 < sticks < len(places) // 5 - 5
    assert np.abs(records["force"] - force).max() < 1e-9
    assert np.array_equal(records["object_position"], proxy)
    assert records["force"][:, 2].max() > 0.1
    for name in ("q", "qdot"):
        assert np.allclose(getattr(sim.state, name), getattr(other.state, name), atol=1e-9)
    assert report.stiffness > 20.0
    delay = 2.0 * PERIOD
    assert report.delay == pytest.approx(delay)
    part = min(np.sqrt(secant.missed / secant.changed), 1.0) if kind == "stiffness" else 1.0
    asked = part * delay + (0.5 * CYCLE if kind == "stiffness" else 0.0)
    assert report.damping == pytest.approx(report.stiffness * asked)
    assert not records.flagged("unanswered").any()


def test_friction_is_felt_and_slides_are_recorded():
    """A plate that slides on the whole block: mu times the normal force, against the motion."""
    plate = rf.BoxField([-0.1, -0.1, 0.0], [0.1, 0.1, 0.02])
    sim, _ = touched(block(cells=(2, 2, 2)), friction=0.2, field=plate)
    k = np.arange(400)
    x, z = np.interp(k, [0, 100, 400], [0, 0, 0.03]), np.interp(k, [0, 100], [1e-3, -1e-3])
    places = np.array(SIZE) * [0.5, 0.5, 1.0] + np.stack([x, 0 * x, z], axis=1)
    made = session(sim, player(places))
    records = made.run(len(places))
    made.close()
    sliding = records.flagged("slipping")
    assert sliding[-100:].all()
    assert not sliding[:50].any()
    force = records["force"][sliding]
    # nodes also slide sideways
    share = -force[:, 0] / (0.2 * force[:, 2])
    assert 0.97 < share.min() < share.max() <= 1.0
    assert np.allclose(records["slip"][-100:], [1e-4, 0.0, 0.0], rtol=0, atol=1e-12)
    assert (records["depth_m"] < 2e-4).all()


def pushed(damping):
    """Return a hand that rests on the block and is pushed."""
    at = above(*([0.0, 0.0, z] for z in (1e-3, -0.05, -0.05, -0.0503)))
    return rf.SimulatedHand([0.0, 0.3, 0.5, 0.501], at, damping=damping, stiffness=20.0)


def swings(kind, damping):
    sim, _ = touched(steps=1)
    made = session(sim, pushed(damping), interpolation=kind, simulation_rate=100.0)
    z = made.run(1800)["device_position"][:, 2]
    report = made.report()
    made.close()
    return report, [np.ptp(z[k : k + 400] - z[k : k + 400].mean()) for k in (600, 1400)]


def test_the_damping_that_a_report_asks_for_is_enough():
    """A fifth of it is not, in "delay"; with a local stiffness a tenth is."""
    report, found = swings("delay", 5.0)
    assert report.damping == pytest.approx(report.stiffness * 0.02)
    _, found = swings("delay", report.damping)
    assert found[1] < 0.9 * found[0]
    _, found = swings("delay", 0.2 * report.damping)
    assert found[1] > 0.02
    local, found = swings("stiffness", 0.1 * report.damping)
    assert found[1] < 0.5 * found[0]
    assert local.damping < 0.7 * report.damping


def compared(places, friction, rates=(100.0, 200.0)):
    """Return the largest changes of the force in a cycle: direct, and by rate in both kinds.

    Also the distances from the direct force by rate in both kinds, and the largest stiffness.
    """
    largest, off, stiffness, direct = [], [], 0.0, None
    for kind, rate in [(None, None), *itertools.product(("delay", "stiffness"), rates)]:
        sim, _ = touched(block(young=1e5), steps=10, friction=friction)
        made = session(sim, player(places), interpolation=kind, simulation_rate=rate,
                       max_force=1e3, force_slew=1e9, passivity=False)  # fmt: skip
        force = made.run(len(places))["force"]
        stiffness = max(stiffness, made.report().stiffness or 0.0)
        made.close()
        direct = force if kind is None else direct
        largest.append(np.linalg.norm(np.diff(force, axis=0), axis=1).max())
        off.append(np.sqrt(np.mean((force - direct) ** 2)))
    shape = 2, len(rates)
    return largest[0], np.reshape(largest[1:], shape), np.reshape(off[1:], shape), stiffness


@pytest.mark.parametrize("aside", [0.0, 5e-3, 10e-3])
@pytest.mark.parametrize(("friction", "nearer"), [(0.0, 0.93), (0.5, 0.98)])
def test_rubbing_makes_no_jumps(friction, nearer, aside):
    """A ball that rubs over a coarse block: nodes come and go, forces turn.

    Without friction nodes snap back, which no stiffness foresees.
    The force of "stiffness" is nearer to the direct one.
    """
    k = np.arange(1900)
    x = np.interp(k, [0, 300, 700, 1100, 1500, 1900], [0, 0, 20e-3, -20e-3, 20e-3, -20e-3])
    y = 2e-3 * np.sin(0.006 * np.pi * (k - 300)) * (k > 300)
    z = np.interp(k, [0, 100, 250], [1e-3, 1e-3, -3e-3]) + 1e-4 * np.sin(0.018 * np.pi * k)
    middle = np.array([SIZE[0] / 2 + aside, SIZE[1] / 2 + aside, SIZE[2] + RADIUS])
    _, largest, off, stiffness = compared(middle + np.stack([x, y, z], axis=1), friction)
    delay, local = largest
    assert (off[1] < nearer * off[0]).all()
    assert stiffness > 100.0
    assert (delay > 0.01).all()
    assert (local < 2.0 * delay).all()


@pytest.mark.parametrize(("speed", "aside"), [(0.1, 0.0), (0.1, 10e-3), (0.25, 10e-3)])
def test_a_slide_begins_without_jumps(speed, aside):
    """A ball that was pressed in and rested moves at once: the force comes late, and catches up."""
    k = np.arange(700)
    z = np.interp(k, [0, 200], [1e-3, -4e-3])
    x = np.interp(k, [400, 600], [0, -0.2 * speed])
    middle = np.array([SIZE[0] / 2 + aside, SIZE[1] / 2 + aside, SIZE[2] + RADIUS])
    places = middle + np.stack([0 * k, x, z], axis=1)
    _, largest, off, _ = compared(places, 0.5, rates=(200.0,))
    assert largest[1] < 1.2 * largest[0]
    assert off[1] < 1.02 * off[0]


def wait_for(condition):
    until = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)


@pytest.mark.parametrize("kind", [None, "delay", "stiffness"])
def test_a_thread_holds_the_force(kind):
    """It is that of a script at rest; without any permission of the system."""
    hold = rf.ReplayDevice([0.0, 0.2, 1e5], above([0, 0, 1e-3], [0, 0, -3e-3], [0, 0, -3e-3]))
    sim, tool = touched()
    made = session(sim, hold, interpolation=kind, priority=0, lock_memory=False)
    other, moved = touched()
    moved.move(above([0, 0, 1e-3])[0], velocity=[0.0, 0.0, -0.02])
    other.step(n=400)
    moved.move(above([0, 0, -3e-3])[0])
    other.step(n=2000)
    held = pytest.approx(other.contact.force[2], rel=0.05)
    with made:
        after(made, 300)
        wait_for(lambda: made.snapshot().force[2] == held)
        report = made.report()
    assert report.phase == "running"
    assert sim.state.time > 0.1
    assert np.allclose(tool.pose.position, above([0, 0, -3e-3])[0])
    # it continues from there
    made = session(sim, hold, interpolation=kind)
    assert made.run(5)["force"].shape == (5, 3)
    made.close()


def test_the_thread_of_the_simulation_is_below_the_loop():
    sim, _ = touched()
    rest = rf.ReplayDevice([0.0, 1e5], above([0, 0, 5e-3], [0, 0, 5e-3]))
    with session(sim, rest, interpolation="delay", max_force=1.0, lock_memory=False) as made:
        after(made, 20)
        (task,) = threads_named("rf-simulation")
        blocked = next(x for x in (task / "status").read_text().splitlines() if "SigBlk" in x)
        assert int(blocked.split()[1], 16) >> (signal.SIGINT - 1) & 1
        if made.report().priority:
            assert os.sched_getparam(int(task.name)).sched_priority == 79
    assert not threads_named("rf-simulation")


def graded(**options):
    """Return a simulation of a graded block, and places of a hand that presses on its corner."""
    mesh = graded_box()
    solid = rf.Solid(mesh, rf.StVK(1e4, 0.3, 1000.0), fixed=mesh.nodes[:, 2] < 1e-9)
    top = mesh.nodes[np.argmax(mesh.nodes @ [0.01, 0.01, 1.0])]
    tool = rf.RigidProxy(rf.SphereField([0.0, 0.0, 0.0], RADIUS), friction=0.3)
    sim = rf.CentralDifferences(solid, CYCLE, contact=tool, **{"damping": (5.0, 0.0)} | options)
    depth = np.interp(np.arange(120), [0, 60], [1e-3, -2e-3])
    return sim, top + np.outer(RADIUS + depth, [0.0, 0.0, 1.0])


def test_a_graded_solid_is_felt_directly():
    """Bit for bit as in a script; its steps allocate no memory."""
    (sim, at), (other, _) = graded(), graded()
    rate = rf.StrainRateDamping(sim.system, 5.0, 5.0)
    made = session(sim, player(at))
    records = made.run(len(at))
    made.close()
    turns = np.tile([1.0, 0.0, 0.0, 0.0], (len(at), 1))
    force = [contact.force for _, contact in lead(other, other._bodies[0], at, turns, 1)]
    assert np.array_equal(records["contact_force"], force)
    assert force[-1][2] > 0.02
    viscous = rf.CentralDifferences(sim.system, CYCLE, (5.0, 0.0), rate, contact=sim._bodies[0])
    for one in (sim, viscous):
        one.step(n=1)
        counts = []
        for n in (1, 50):
            before = _core.alloc_counters()["calls"]
            one.step(n=n)
            counts.append(_core.alloc_counters()["calls"] - before)
        assert counts[0] == counts[1]


def test_a_graded_solid_with_stiffness_damping_needs_a_thread():
    sim, at = graded(damping=(5.0, 1e-4))
    hold = rf.ReplayDevice([0.0, 0.2, 1e5], at[[0, -1, -1]])
    with pytest.raises(rf.InputError, match=r"graded mesh allocate memory.*take \"delay\""):
        session(sim, hold)
    made = session(sim, hold, interpolation="delay")
    assert made.run(400)["force"][-1, 2] > 0.01  # as fast as the machine can
    made.close()
    assert sim.state.time > 0.0


@pytest.mark.parametrize("threaded", [False, True])
def test_a_simulation_that_fails_lets_the_force_fade(threaded):
    solid = block(young=6e4)
    tool = rf.RigidProxy(rf.SphereField([0.0, 0.0, 0.0], 0.015))
    sim = rf.CentralDifferences(solid, 5e-3, contact=tool, unstable=True)
    hold = rf.ReplayDevice([0.0, 0.05, 1e5], above([0, 0, 1e-3], [0, 0, -3e-3], [0, 0, -3e-3]))
    made = session(sim, hold, interpolation="delay", max_force=5.0, ramp=0.5)
    if threaded:
        made.start()
        wait_for(lambda: made.report().unanswered > 200)
    else:
        records = made.run(2000)
        assert records.flagged("unanswered")[-1]
        assert np.abs(records["force"]).max() > 0.0
        # within 0.05 s, however long the ramp is
        first = np.flatnonzero(records.flagged("unanswered"))[0]
        assert not records["force"][first + 51 :].any()
    assert made.report().phase in ("running", "ready")
    assert not made.snapshot().force.any()
    advice = made.report().advice
    ended = [one for one in advice if "ended and the force faded out" in one]
    assert len(ended) == 1
    assert "diverged" in ended[0]
    assert threaded or len(advice) == 1  # a crowded machine has more to say of a thread
    made.close()


def test_a_direct_simulation_that_fails_ends_the_session():
    tool = rf.RigidProxy(rf.SphereField([0.0, 0.0, 0.0], 0.015))
    sim = rf.CentralDifferences(block(young=6e4), 2.5e-3, contact=tool, unstable=True)
    hold = rf.ReplayDevice([0.0, 0.05, 1e5], above([0, 0, 1e-3], [0, 0, -3e-3], [0, 0, -3e-3]))
    made = session(sim, hold, rate=400.0, max_force=5.0)
    with pytest.raises(rf.DivergedError, match=r"cycle \d+: the simulation diverged .* displaced"):
        made.run(3000)
    report = made.report()
    assert "displaced by up to" in report.failure
    assert [one for one in report.advice if "zero at once" in one and "displaced" in one]
    made.close()


def test_one_session_moves_a_simulation():
    sim, tool = touched()
    touch = _core.ExplicitTouch(sim._core, tool._core, "delay", CYCLE, 5, 10)
    devices = player(stroke()[0]), player(stroke()[0])
    settings = [HapticSettings(priority=0, lock_memory=False).core(one) for one in devices]
    first = _core.Session(devices[0]._core, touch, settings[0])
    with pytest.raises(rf.InputError, match="another session moves this simulation"):
        _core.Session(devices[1]._core, touch, settings[1])
    first.close()
    del first
    _core.Session(devices[1]._core, touch, settings[1]).close()


def test_chatter_is_measured_and_short_contact_is_not_known():
    """Nodes that a mirror reflects touch in one cycle of three."""
    z = np.interp(np.arange(600), [0, 100, 300], [1e-3, 1e-3, -3e-3])
    middle = np.array([SIZE[0] / 2, SIZE[1] / 2, SIZE[2] + RADIUS])
    for n, known in ((600, True), (180, False)):
        tool = rf.RigidProxy(rf.SphereField([0.0, 0.0, 0.0], RADIUS), rule="mirror")
        sim = rf.CentralDifferences(block(cells=(6, 6, 4)), CYCLE / 4, (5.0, 0.0), contact=tool)
        made = session(sim, player(middle + np.outer(z, [0.0, 0.0, 1.0])))
        made.run(n)
        report = made.report()
        made.close()
        assert report.touching > 0
        assert (report.stiffness is not None) == known
        assert (report.damping is not None) == known
        assert bool([one for one in report.advice if "not known" in one]) != known
        assert ("stiffness felt          not known" in str(report)) != known


def stalled(steps):
    """Return a simulation of a session, and its report, that held still and was closed.

    Its periods of 5 ms have so many steps that no answer comes.
    """
    tool = rf.RigidProxy(rf.SphereField([0.0, 0.0, 0.0], 0.015))
    sim = rf.CentralDifferences(block(cells=(1, 1, 1)), 5e-3 / steps, contact=tool)
    touch = _core.ExplicitTouch(sim._core, tool._core, "delay", CYCLE, 5, steps)
    hold = rf.ReplayDevice([0.0, 1e5], above([0, 0, -1e-3], [0, 0, -1e-3]))
    settings = HapticSettings(priority=0, lock_memory=False).core(hold)
    core = _core.Session(hold._core, touch, settings)
    core.start(-1)
    wait_for(lambda: core.status()["unanswered"] > 100)
    assert core.status()["phase"] == "running"
    core.close()
    return sim, touch.report()


def test_a_simulation_that_stalls_lets_the_force_fade():
    """There is no answer for 25 ms."""
    _, report = stalled(100_000)
    assert report["stalls"] >= 1
    assert report["late"] >= 1
    assert report["failure"] == ""


def test_a_session_that_stops_waits_for_no_period():
    """The state is that of the last step."""
    sim, report = stalled(500_000_000)
    assert report["periods"] == 0
    assert report["failure"] == ""
    stopped = sim.state.time
    assert stopped < 5e-3
    sim.step()
    assert sim.state.time == pytest.approx(stopped + sim.dt)


def test_a_hand_that_jumps_gives_the_body_no_speed():
    places = np.repeat(above([0, 0, 5e-3], [0, 0, -3e-3]), 40, axis=0)
    start = rf.Workspace(start=(places[-1], [1.0, 0.0, 0.0, 0.0]))
    for kind in (None, "delay"):
        sim, _ = touched()
        made = session(sim, player(places[:40]), interpolation=kind, workspace=start)
        made.run(20)
        made.recentre()
        records = made.run(60)
        made.close()
        assert np.abs(records["force"]).max() < 1.0
        assert np.abs(sim.state.qdot).max() < 0.5


@pytest.mark.parametrize("kind", [None, "delay"])
def test_views_draw_the_solid_and_the_tool(kind):
    places, turns = stroke()
    sim, tool = touched()
    made = session(sim, player(places[:61], turns[:61]), interpolation=kind)
    shown = ShownTouch(made, "z")
    scene = shown.scene()
    made.run(61)
    assert made.touched is sim
    body, held = shown.frame()["bodies"]
    made.close()
    np.testing.assert_allclose(held["position"], places[60])
    moved = {tuple(x): u for x, u in zip(sim.system.mesh.nodes, sim.displacement, strict=True)}
    expected = [moved[tuple(x)] for x in scene.bodies[0].vertices]
    assert np.abs(expected).max() > 1e-3
    if kind is None:
        np.testing.assert_allclose(body["moved"], expected, atol=1e-7)
    else:  # of the state before
        assert 0.0 < np.abs(body["moved"] - expected).max() < 1e-3
    size = np.ptp(scene.bodies[1].vertices, axis=0)
    np.testing.assert_allclose(size, 0.03, rtol=0.1)


@pytest.mark.parametrize("depth", [2e-3, 2e-2])
def test_a_report_names_elements_that_end_inside_out(depth):
    sim, _ = touched(block(cells=(6, 6, 3)), steps=4)
    made = session(sim, player(above(*[[0.0, 0.0, z] for z in np.linspace(1e-3, -depth, 150)])))
    made.run(150)
    made.close()
    corners = (sim.system.mesh.nodes + sim.displacement)[sim.system.mesh.elements]
    deep = np.linalg.det(corners[:, [1, 3, 4]] - corners[:, [0]]).min() < 0.0
    assert deep == (depth > 1e-2)
    assert any("inside out at the end" in one for one in made.report().advice) == deep


def test_wrong_arguments_are_named():
    hand = player(stroke()[0])
    sim, _ = touched()

    def refused(text, body=sim, kind=rf.InputError, **options):
        with pytest.raises(kind, match=text):
            session(body, hand, **options)

    refused("without a tool.*RigidProxy", rf.CentralDifferences(block()))
    refused("interpolation must be .delay. or .stiffness.", interpolation="linear")
    refused("simulation_rate must be positive", interpolation="delay", simulation_rate=0.0)
    refused("300 Hz, which must.*333.333 or 250,", interpolation="delay", simulation_rate=300.0)
    refused("300 Hz, .*interpolation is None", simulation_rate=300.0)
    refused("3000 Hz, .*take 1000, or", interpolation="delay", simulation_rate=3000.0)
    refused("simulation_rate must be a number", kind=rf.InputTypeError, simulation_rate="fast")
    refused("coupling is given.*CentralDifferences", coupling=rf.VirtualCoupling(500.0, 1.0))
    refused("got CentralDifferences.*by itself", [sim, sim], rf.InputTypeError)
    odd, _ = touched(steps=1.5)
    refused(r"must divide a cycle of 0.001 s.*dt=0.001/2", odd)
    slow, _ = touched(steps=0.5)
    refused(r'dt=0.001, or pass interpolation="stiffness"', slow)
    tiny, _ = touched(steps=2000)
    for kind, text in ((None, "2,000 steps of the simulation took .* take a coarser mesh"),
                       ("delay", "10,000 steps .* 90% of a period")):  # fmt: skip
        with pytest.raises(rf.InputError, match=text):
            session(tiny, hand, interpolation=kind).start()
    contact = rf.PenaltyContact(
        rf.PointTree(rf.Pointshell(above([0, 0, 0]), [[0.0, 0.0, 1.0]])),
        rf.SphereField([0, 0, 0], 0.01),
    )
    refused("interpolation is 'delay', but a PenaltyContact", contact, interpolation="delay")
    refused("simulation_rate is 200, but a PenaltyContact", contact, simulation_rate=200)
