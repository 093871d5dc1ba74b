"""Haptic sessions: a cycle against closed forms, the thread against the same cycles one by one."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import reducedfem as rf
from haptic_sessions import COUPLING, UPRIGHT, ball_of, descent, floor_of_points, held, session
from moments import LONG


@pytest.fixture(scope="module")
def ball():
    """Return the contact with a fine floor, of which many points touch."""
    return ball_of(200.0, 61)


def test_a_ball_rests_at_the_balance_of_springs(ball):
    """Coupling against the penalty of all points of the floor that are inside the ball."""
    with session(ball, rf.ReplayDevice(*held(0.014))) as running:
        running.stop()
    made = session(ball, rf.ReplayDevice(*held(0.014)))
    records = made.run(200).array
    z = records["object_position"][-1, 2]
    points = floor_of_points().points
    # each point pushes the ball's centre away
    way = np.linalg.norm(points - [0.0, 0.0, z], axis=1)
    depth = np.maximum(0.02 - way, 0.0)
    assert np.count_nonzero(depth) > 10
    assert 200.0 * (depth * z / way).sum() == pytest.approx(500.0 * (z - 0.014), rel=1e-9)
    assert records["force"][-1] == pytest.approx([0.0, 0.0, 500.0 * (z - 0.014)], abs=1e-12)
    assert records["depth_m"][-1] == pytest.approx(depth.max(), rel=1e-9)
    assert records["touching"][-1] == np.count_nonzero(depth)
    made.close()


def test_points_have_their_weights():
    """Areas three times as large on one side: a torque, as of the contact by itself."""
    shell = floor_of_points(31)
    areas = np.where(shell.points[:, 0] < 0.0, 0.5, 1.5)
    contact = rf.PenaltyContact(
        rf.PointTree(rf.Pointshell(shell.points, shell.normals, areas=areas)),
        rf.SphereField((0.0, 0.0, 0.0), 0.02), 200.0, warm_nodes=None, area_weights=True,
        direction="normal",
    )  # fmt: skip
    last = session(contact, rf.ReplayDevice(*held(0.014))).run(200).array[-1]  # at rest
    alone = contact.evaluate(last["object_position"], last["object_quaternion"])
    np.testing.assert_allclose(last["contact_force"], alone.force, rtol=1e-9)
    np.testing.assert_allclose(last["contact_torque"], alone.torque, rtol=1e-9, atol=1e-12)
    assert abs(last["contact_torque"][1]) > 1e-4 * abs(last["contact_force"][2])


def test_the_thread_runs_the_same_cycles(ball):
    """Bit for bit: a session in its thread, and one made cycle by cycle."""
    hand = rf.SimulatedHand(*descent(), mass=0.1, stiffness=400.0, damping=6.0)
    again = rf.SimulatedHand(*descent(), mass=0.1, stiffness=400.0, damping=6.0)
    threaded = session(ball, hand, duration=0.4)
    with threaded:
        assert threaded.wait(LONG)
    found = threaded.records(drain=True).array
    expected = session(ball, again)
    wanted = expected.run(400).array
    # a machine that stalls leaves cycles out, from where on the two differ
    same = found["time_s"][:400] == wanted["time_s"]
    n = 400 if same.all() else int(np.argmin(same))
    assert n == 400 or threaded.report().skipped > 0
    assert n > 0
    for name in ("object_position", "object_quaternion", "force", "torque", "energy_j", "rank"):
        assert np.array_equal(found[name][:n], wanted[name][:n]), name
    assert threaded.report().phase == "finished"
    expected.close()


def test_forces_fade_in_and_out(ball):
    made = session(ball, rf.ReplayDevice(*held(0.014)), ramp=0.1)
    force = np.linalg.norm(made.run(150).array["force"], axis=1)
    assert force[0] <= 0.011 * force[-1]
    assert force[49] == pytest.approx(0.5 * force[-1], rel=0.05)
    made.enable(False)
    force = np.linalg.norm(made.run(101).array["force"], axis=1)
    assert force[0] > 0.9 * force.max()
    assert force[-1] == 0.0
    made.close()


@pytest.mark.parametrize(
    ("what", "most", "slew"),
    [("force", 0.5, 20.0), ("torque", 0.002, 0.1)],
    ids=["force", "torque"],
)
def test_forces_are_clamped_and_slewed(ball, what, most, slew):
    """Each by limits of its own: held beside its middle, the ball turns the hand as well."""
    beside = rf.PenaltyContact(
        ball.tree, ball.field, 200.0, warm_nodes=None, max_points=None, grasp=(0.02, 0.0, 0.0)
    )
    free = session(beside, rf.ReplayDevice(*descent(duration=0.2))).run(200)
    limits = {f"max_{what}": most, f"{what}_slew": slew}
    made = session(beside, rf.ReplayDevice(*descent(duration=0.2)), **limits)
    records = made.run(200)
    size = np.linalg.norm(records[what], axis=1)
    assert np.linalg.norm(free[what], axis=1).max() > 1.2 * most
    assert size.max() == pytest.approx(most, rel=1e-12)
    steps = np.linalg.norm(np.diff(records[what], axis=0), axis=1)
    assert np.linalg.norm(np.diff(free[what], axis=0), axis=1).max() > 1.2 * slew * 1e-3
    assert steps.max() <= slew * 1e-3 * (1.0 + 1e-12)
    # the other one is as it would be
    other = {"force": "torque", "torque": "force"}[what]
    assert np.array_equal(records[other], free[other])
    assert records.flagged("clamped").any()
    assert records.flagged("slewed").any()
    made.close()


def test_a_devices_own_limits_hold(ball):
    hand = rf.SimulatedHand(*descent(), max_force=0.25)
    made = session(ball, hand, max_force=5.0)
    assert np.linalg.norm(made.run(400).array["force"], axis=1).max() <= 0.25 * (1.0 + 1e-12)
    made.close()


def test_energy_is_counted_exactly(ball):
    """Force times way, over the intervals in which the device holds it."""
    made = session(ball, rf.SimulatedHand(*descent()))
    records = made.run(400).array
    way = np.diff(records["device_position"], axis=0)
    expected = np.concatenate([[0.0], np.cumsum(np.sum(records["force"][:-1] * way, axis=1))])
    assert np.allclose(records["energy_j"], expected, rtol=0, atol=1e-15)
    made.close()


def test_passivity_dissipates_the_energy_of_a_spring_too_stiff_for_its_rate():
    """A coupling far stiffer than mass and rate allow oscillates; the controller calms it."""
    ball = ball_of(5e4, 61)
    stiff = rf.VirtualCoupling(4e4, 1.0, damping=0.0)
    hand = {"mass": 0.05, "stiffness": 100.0, "damping": 1.0}
    wild = session(ball, rf.SimulatedHand(*descent(duration=1.0), **hand), coupling=stiff)
    wild_records = wild.run(1000).array
    assert wild_records["energy_j"].max() > 0.01
    wild.close()
    for allowance in (0.0, 1e-4, 1e-3):
        calm = session(
            ball, rf.SimulatedHand(*descent(duration=1.0), **hand), coupling=stiff,
            passivity=True, energy_allowance=allowance,
        )  # fmt: skip
        assert calm.run(1000).array["energy_j"].max() <= allowance + 1e-9
        calm.close()


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_contact_stops_descending_when_time_is_up():
    """The budget of the session limits contacts without a limit and with one of nodes."""
    i, j = np.meshgrid(np.arange(201), np.arange(201), indexing="ij")
    levels = np.select([(i % 16 == 0) & (j % 16 == 0), (i % 4 == 0) & (j % 4 == 0)], [0, 1], 2)
    points = np.stack([1e-3 * (i - 100.0), 1e-3 * (j - 100.0), 0.0 * i], axis=-1)
    order = np.argsort(levels.ravel(), kind="stable")
    shell = rf.Pointshell(
        points.reshape(-1, 3)[order],
        np.tile([0.0, 0.0, -1.0], (levels.size, 1)),
        levels=levels.ravel()[order],
    )
    # all points are deep inside of the box, so that nothing is culled
    box = rf.BoxField((-0.2, -0.2, -0.2), (0.2, 0.2, 0.2))
    for options in ({"warm_nodes": None}, {"warm_nodes": 10**6}):
        contact = rf.PenaltyContact(rf.PointTree(shell), box, 1.0, **options)
        found = {}
        for budget in (0.0, 1.0):
            made = session(contact, rf.ReplayDevice(*held(0.0)), budget_us=budget)
            found[budget] = made.run(50).array
            made.close()
        assert (found[0.0]["level"] == 2).all()
        assert (found[0.0]["touching"] == 201 * 201).all()
        assert (found[1.0]["level"] == 0).all()
        assert (found[1.0]["touching"] == 13 * 13).all()


def oscillation(ball, rate, stiffness):
    """Return how much a hand that rests on the floor still moves at the end [m]."""
    coupling = rf.VirtualCoupling(stiffness, 1.0)
    hand = rf.SimulatedHand(*descent(duration=0.2, high=0.022)[:2], mass=0.05, stiffness=50.0,
                            damping=0.5)  # fmt: skip
    made = session(ball, hand, rate=rate, coupling=coupling)
    z = made.run(int(rate)).array["device_position"][:, 2]
    made.close()
    return np.ptp(z[-int(0.1 * rate) :])


def test_higher_rates_render_stiffer_springs():
    """Stability is lost at a stiffness that grows with the rate (B07 chapter 4, first part)."""
    contact = ball_of(5e4, 61)
    slow = [oscillation(contact, 250.0, k) for k in (200.0, 3000.0)]
    fast = [oscillation(contact, 2000.0, k) for k in (200.0, 3000.0)]
    assert slow[0] < 1e-3 > fast[0]
    assert fast[1] < 1e-3 < slow[1]


def test_workspace_scales_aligns_and_starts(ball):
    # the device's x is the world's z; twice as far as in the world
    alignment = np.array([math.sqrt(0.5), 0.0, -math.sqrt(0.5), 0.0])
    start = ((0.0, 0.0, 0.05), tuple(UPRIGHT))
    device = rf.ReplayDevice([0.0, 0.1], [[1.0, 2.0, 3.0], [1.02, 2.0, 3.0]])
    made = session(ball, device, workspace=rf.Workspace(2.0, alignment=alignment, start=start))
    records = made.run(101).array
    assert records["hand_position"][0] == pytest.approx([0.0, 0.0, 0.05], abs=1e-15)
    assert records["hand_position"][-1] == pytest.approx([0.0, 0.0, 0.06], abs=1e-12)
    made.close()


def test_the_clutch_lets_the_device_move_alone(ball):
    times = [0.0, 0.010, 0.020, 0.030]
    positions = [[0.0, 0, 0.05], [0.01, 0, 0.05], [0.03, 0, 0.05], [0.04, 0, 0.05]]
    device = rf.ReplayDevice(times, positions, buttons=[0, 2, 0, 0])
    made = session(ball, device, workspace=rf.Workspace(clutch=1))
    records = made.run(31)
    x = records.array["hand_position"][:, 0]
    # pressed from the sample at 10 ms on: the manipulandum stays where it was before
    assert x[9] == pytest.approx(0.009, abs=1e-12)
    assert np.ptp(x[9:21]) < 1e-15
    assert x[30] == pytest.approx(0.019, rel=1e-6)
    assert np.array_equal(np.flatnonzero(records.flagged("clutched")), np.arange(10, 20))
    made.close()


# ---- deformation ---------------------------------------------------------------------------------


def test_a_beam_bends_as_by_separate_calls(beam):
    """A session's cycles are those of the classes that a script would call."""
    reduced, tree = beam
    field = rf.SphereField((0.0, 0.0, 0.0), 0.02)
    contact = rf.PenaltyContact(tree, field, 300.0, warm_nodes=None)
    simulation = rf.ImplicitNewmark(reduced, 1e-3, damping=(1.0, 1e-3))
    times = [0.0, 0.05, 0.2]
    positions = np.array([[0.18, 0.015, 0.06], [0.18, 0.015, 0.06], [0.18, 0.015, 0.03]])
    made = session(
        contact, rf.ReplayDevice(times, positions), simulation=simulation, coupled=False
    )  # fmt: skip
    records = made.run(200).array
    assert np.abs(simulation.state.q).max() == 0.0  # the session has a copy

    by_hand = rf.ImplicitNewmark(reduced, 1e-3, damping=(1.0, 1e-3))
    other = rf.PenaltyContact(tree, field, 300.0, warm_nodes=None)
    at = (positions[0], UPRIGHT)
    for record in records:
        hand = (record["hand_position"], record["hand_quaternion"])
        found = other.evaluate(*at, by_hand.state.q)
        step = COUPLING.step(hand, *at, found)
        at = (step.position, step.quaternion)
        by_hand.step(found.reduced_force)
        assert np.allclose(record["object_position"], at[0], rtol=0, atol=1e-12)
        assert np.allclose(record["contact_force"], found.force, rtol=1e-9, atol=1e-12)
    assert np.linalg.norm(by_hand.state.q) > 1e-3
    assert np.allclose(made.snapshot().q[0], by_hand.state.q, rtol=1e-9, atol=1e-14)
    made.close()
    # and afterwards the simulation is where the session left it
    assert np.array_equal(simulation.state.q, made.snapshot().q[0])
    assert simulation.state.time == pytest.approx(0.2)


def test_several_contacts_add_up(ball):
    hand = rf.ReplayDevice(*held(0.014))
    once = session(ball, hand, coupling=COUPLING)
    single = once.run(100).array[-1]
    once.close()
    twice = session([ball, ball], hand, coupling=rf.VirtualCoupling(1000.0, 2.0))
    double = twice.run(100).array[-1]
    twice.close()
    assert double["contact_force"] == pytest.approx(2.0 * single["contact_force"], rel=1e-9)
    assert double["touching"] == 2 * single["touching"]


def test_steps_of_simulations_divide_the_cycle(beam):
    reduced, tree = beam
    contact = rf.PenaltyContact(tree, rf.SphereField((0, 0, 0), 0.02), 300.0)
    device = rf.ReplayDevice(*held(0.1))
    with pytest.raises(rf.InputError, match=r"steps of 0\.0007 s, which must divide a cycle"):
        session(contact, device, simulation=rf.ImplicitNewmark(reduced, 7e-4))
    fine = rf.ImplicitNewmark(reduced, 2.5e-4)
    made = session(contact, device, simulation=fine)
    made.run(10)
    made.close()
    assert fine.report.steps == 40


# ---- commands and couplings ----------------------------------------------------------------------


def test_commands_change_the_loop(ball):
    made = session(ball, rf.ReplayDevice(*held(0.014)))
    soft = made.run(100).array[-1]
    made.coupling = dataclasses.replace(COUPLING, stiffness=1000.0)
    stiff = made.run(100).array[-1]
    assert stiff["force"][2] > 1.2 * soft["force"][2]
    with pytest.raises(rf.InputTypeError, match="coupling must be a VirtualCoupling"):
        made.coupling = 500.0
    for _ in range(64):
        made.enable(True)
    with pytest.raises(rf.InputError, match="64 commands are queued already"):
        made.enable(True)
    made.run(1)
    made.enable(True)
    made.close()


def test_dynamic_coupling_runs_too(ball):
    coupling = rf.DynamicCoupling(500.0, 1.0, 0.02, 1e-5)
    made = session(ball, rf.ReplayDevice(*held(0.014)), coupling=coupling)
    static = session(ball, rf.ReplayDevice(*held(0.014)))
    rest = made.run(1000).array[-1]["object_position"]
    assert rest == pytest.approx(static.run(200).array[-1]["object_position"], abs=1e-9)
    made.close()
    static.close()


def test_a_dynamic_coupling_feels_the_angular_velocity_of_the_hand(ball):
    """Its dampers are those of the velocity and the turn from sample to sample."""
    times, turn = 1e-3 * np.arange(100), np.array([0.6, -0.2, 0.3])
    angle = 2.0 * np.sin(30.0 * times) * np.linalg.norm(turn)
    axis = turn / np.linalg.norm(turn)
    turned = np.column_stack([np.cos(0.5 * angle), np.outer(np.sin(0.5 * angle), axis)])
    dynamic = rf.DynamicCoupling(500.0, 1.0, mass=0.02, inertia=1e-4)
    made = session(ball, rf.ReplayDevice(times, [[0, 0, 0.03]] * 100, turned), coupling=dynamic)
    records = made.run(100).array
    made.close()
    place, quaternion, velocity = (0, 0, 0.03), records["object_quaternion"][0], np.zeros(6)
    for k in range(1, 100):
        speed = np.append(np.zeros(3), axis * (angle[k] - angle[k - 1]) / 1e-3)
        step = dynamic.step((place, turned[k]), place, quaternion, None, velocity=velocity,
                            manipulandum_velocity=speed, dt=1e-3)  # fmt: skip
        quaternion, velocity = step.quaternion, step.velocity
        assert records["object_quaternion"][k] == pytest.approx(quaternion, abs=1e-9)
        # the first sample is no motion: device and world have origins of their own
        assert records["object_position"][k] == pytest.approx(place, abs=1e-12)
    assert np.ptp(records["object_quaternion"][:, 1]) > 0.1


def test_a_recentred_object_begins_anew(ball):
    """The object begins at rest, despite its last velocity, and with all of the coupling."""
    way = rf.ReplayDevice([0.0, 0.1, 9.0], [[0, 0, 0.03], [0.02, 0, 0.03], [0.02, 0, 0.03]])
    dynamic = rf.DynamicCoupling(500.0, 1.0, mass=0.02, inertia=1e-5, max_depth=1e-2, reach=0.02)
    made = session(ball, way, coupling=dynamic)
    records = made.run(101)
    assert records["share"][0] == 1.0
    assert np.diff(records["object_position"][-2:, 0]) > 1e-4
    made.recentre()
    records = made.run(50)
    made.close()
    assert records["share"][0] == 1.0
    there = np.tile([0.02, 0.0, 0.03], (50, 1))
    assert records["object_position"] == pytest.approx(there, abs=1e-12)
    # also where it begins in contact, less deep than would need relief
    made = session(ball, rf.ReplayDevice(*held(0.018)), coupling=dynamic)
    assert made.run(1)["share"][0] == 1.0
    made.close()


def test_a_coupling_that_becomes_dynamic_again_begins_at_rest(ball):
    """The velocity of the last dynamic cycle is not used again, however old it is."""
    way = rf.ReplayDevice([0.0, 0.1, 9.0], [[0, 0, 0.03], [0.02, 0, 0.03], [0.02, 0, 0.03]])
    dynamic = rf.DynamicCoupling(500.0, 1.0, mass=0.02, inertia=1e-5)
    made = session(ball, way, coupling=dynamic)
    made.run(100)
    made.coupling = COUPLING
    there = made.run(100).array[-1]["object_position"]
    assert there == pytest.approx([0.02, 0.0, 0.03], abs=1e-12)
    made.coupling = dynamic
    assert made.run(50)["object_position"] == pytest.approx(np.tile(there, (50, 1)), abs=1e-12)
    made.close()
