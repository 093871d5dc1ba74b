"""Energy at the hand: what a held force gives, where loops shake, and what the controller does."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import reducedfem as rf
from bars import bar, top_of

UPRIGHT = (1.0, 0.0, 0.0, 0.0)


def wall(stiffness, **options):
    """Return the contact of a half-space that is held, above z = 0, with one point there."""
    point = rf.PointTree(rf.Pointshell(np.zeros((1, 3)), [[0.0, 0.0, -1.0]]))
    half = rf.BoxField((-1.0, -1.0, 0.0), (1.0, 1.0, 2.0))
    return rf.PenaltyContact(point, half, stiffness, None, **options)


def session(contact, device, coupling, **options):
    options = {"ramp": 0.0, "budget_us": 0.0} | options
    return rf.HapticSession(contact, device, coupling=coupling, **options)


def ran(made, cycles):
    """Return what a session records, and close it."""
    records = made.run(cycles).array
    made.close()
    return records


def down_and_up(depth, speed):
    """Return times and places of a hand that goes into the wall and out again."""
    turn = depth / speed
    return [0.0, turn, 2.0 * turn], [[0.0, 0.0, 0.0], [0.0, 0.0, -depth], [0.0, 0.0, 0.0]]


# ---- what a held force gives ---------------------------------------------------------------------


@pytest.mark.parametrize("rate", [500.0, 1000.0, 4000.0])
@pytest.mark.parametrize(
    ("stiffness", "damping"), [(1e7, 0.0), (1e7, 0.5), (400.0, 0.0), (400.0, 0.5), (400.0, 0.8)]
)
def test_energy_of_a_wall_is_that_of_the_formula(rate, stiffness, damping):
    """A force that is held for T lags by T / 2; the object lags by its damping.

    With the coupling k against the wall K, and the part a of each motion not made, a hand that
    moves at v feels k K / (k + K) x + a / (1 - a) k^2 / (k + K) v T, x and v of the last sample.
    """
    k, depth, speed = 400.0, 0.02, 0.05
    hand = rf.ReplayDevice(*down_and_up(depth, speed))
    coupling = rf.VirtualCoupling(k, 1.0, damping=damping)
    cycles = round(2.0 * depth / speed * rate)
    records = ran(session(wall(stiffness), hand, coupling, rate=rate), cycles + 1)
    step, whole = speed / rate, k + stiffness
    held, lag = 0.5 * k * stiffness / whole, damping / (1.0 - damping) * k * k / whole
    given = 2.0 * depth * step * (held - lag)
    # it begins at rest, turns round, and leaves: some cycles of what is never in balance
    scale = 2.0 * depth * step * (held + lag)
    assert records["energy_j"][-1] == pytest.approx(given, abs=scale * 8.0 / cycles / (1 - damping))
    # a wall gives energy to the hand, however stiff, and only as far as it is stiffer than the
    # coupling's drag
    assert (given > 0.0) == (stiffness > 2.0 * k * damping / (1.0 - damping))


# ---- how stiff a wall may be ---------------------------------------------------------------------


HAND = {"mass": 0.1, "stiffness": 100.0, "damping": 1.0}


def spectral_radius(k, rate):
    """Return of the hand against a spring k whose force is held between samples."""
    m, w, b = HAND["mass"], HAND["stiffness"], HAND["damping"]
    t = 1.0 / rate
    # the exponential of [[A, B], [0, 0]] t, by squaring a short step
    motion = np.array([[0.0, 1.0, 0.0], [-w / m, -b / m, 1.0 / m], [0.0, 0.0, 0.0]]) * t / 1024.0
    step = np.eye(3) + motion + motion @ motion / 2.0 + motion @ motion @ motion / 6.0
    step = np.linalg.matrix_power(step, 1024)
    loop = step[:2, :2] - np.outer(step[:2, 2], [k, 0.0])
    return np.abs(np.linalg.eigvals(loop)).max()


def border(rate):
    """Return the largest stiffness that does not shake."""
    low, high = 0.0, 1e6
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if spectral_radius(middle, rate) < 1.0 else (low, middle)
    return low


@pytest.mark.parametrize("rate", [250.0, 500.0, 1000.0, 2000.0])
def test_walls_shake_above_the_limit_of_held_forces(rate):
    """The hand presses on a wall: at rest below the border that the rate sets, never above it."""
    moves = []
    for share in (0.85, 1.15):
        k = share * border(rate)
        # 2 mm in the wall where at rest, deeper in the beginning
        times, depth = [0.0, 1.0], 0.002 * (1.0 + k / HAND["stiffness"])
        hand = rf.SimulatedHand(times, [[0.0, 0.0, -depth]] * 2, **HAND)
        coupling = rf.VirtualCoupling(k, 1.0, damping=0.0)
        made = session(wall(1e9), hand, coupling, rate=rate)
        made.enable(False)
        made.run(1)
        made.enable(True)
        z = ran(made, int(8 * rate))["device_position"][:, 2]
        moves.append(np.ptp(z[-int(0.5 * rate) :]))
    assert moves[0] < 2e-4
    assert moves[1] > 4e-3


def test_the_border_is_that_of_damping_and_rate():
    """A small damping b dissipates the energy of held forces if k T / 2 < b (sampled springs)."""
    for rate in (250.0, 500.0, 1000.0, 2000.0):
        assert border(rate) == pytest.approx(2.0 * HAND["damping"] * rate, rel=0.1)


# ---- what is felt and what acts ------------------------------------------------------------------


def test_the_hand_feels_the_linear_or_the_acting_force():
    """A saturated spring: the hand feels the linear force k e, or the force on the object."""
    coupling = rf.VirtualCoupling(500.0, 1.0, max_force=1.0)
    hand = rf.ReplayDevice([0.0, 1.0], [[0.0, 0.0, -0.01]] * 2)
    felt, acts = {}, {}
    for render in ("linear", "saturated"):
        # it begins where the hand is, and is pushed out
        last = ran(session(wall(2000.0), hand, coupling, render=render), 300)[-1]
        felt[render], acts[render] = last["force"][2], last["contact_force"][2]
        apart = last["object_position"][2] + 0.01
    assert felt["linear"] == pytest.approx(500.0 * apart, rel=1e-9)
    assert felt["linear"] > 4.0
    assert acts["linear"] == acts["saturated"] == pytest.approx(felt["saturated"], rel=1e-9)
    assert felt["saturated"] == pytest.approx(1.0, rel=1e-3)
    # relieved, it feels the part that acts
    relieved = dataclasses.replace(coupling, max_depth=2e-4)
    last = ran(session(wall(2000.0), hand, relieved, render="saturated"), 600)[-1]
    assert last["share"] < 0.5
    assert last["force"][2] == pytest.approx(last["contact_force"][2], rel=1e-6)
    with pytest.raises(rf.InputError, match='render must be "linear" or "saturated", got'):
        session(wall(1.0), hand, coupling, render="none")


def test_the_acting_force_is_felt_after_relief_too():
    """A lever: contact beside the grasp point, deeper than half of the allowed depth."""
    coupling = rf.VirtualCoupling(500.0, 5.0, 2.0, 0.2, max_depth=2e-3, reach=0.1)
    hand = rf.ReplayDevice([0.0, 0.2, 1.0], [[0.03, 0, 0.001], *[[0.03, 0.01, -0.01]] * 2])
    made = session(wall(900.0), hand, coupling, render="saturated")
    records = ran(made, 300)
    relieved = records[records["share"] < 0.9]
    assert len(relieved) > 50
    for r in relieved[::10]:
        wrench = coupling.wrench(
            (r["hand_position"], r["hand_quaternion"]), r["object_position"], r["object_quaternion"]
        )
        assert r["force"] == pytest.approx(-r["share"] * wrench.force, rel=1e-9, abs=1e-12)
        assert r["torque"] == pytest.approx(-r["share"] * wrench.torque, rel=1e-9, abs=1e-12)
    assert np.linalg.norm(relieved["torque"], axis=1).max() > 1e-3


@pytest.mark.parametrize("deep", ["both", "one"])
def test_the_nearest_and_the_deepest_of_several_contacts_count(deep):
    """A hand that is thrown at one of two floors, in either order, gets no deeper."""
    most = 1e-3
    coupling = rf.VirtualCoupling(500.0, 1.0, max_depth=most, reach=0.05)
    half = rf.BoxField((-1.0, -1.0, 0.0), (1.0, 1.0, 2.0))
    places = [[0.0, 0.0, 0.0], [0.0, 0.0, -0.2 if deep == "one" else -0.0004]]
    contacts = [
        rf.PenaltyContact(rf.PointTree(rf.Pointshell([place], [[0.0, 0.0, -1.0]])), half, 200.0)
        for place in places
    ]
    hand = rf.ReplayDevice([0.0, 0.05, 0.051, 1.0], [[0, 0, 0.003]] * 2 + [[0, 0, -0.02]] * 2)
    first, second = (
        ran(session(order, hand, coupling), 300) for order in (contacts, contacts[::-1])
    )
    for name in ("object_position", "force", "depth_m", "share"):
        assert first[name] == pytest.approx(second[name], rel=1e-12, abs=1e-15)
    assert 0.5 * most < first["depth_m"].max() <= 0.875 * most * (1.0 + 1e-9)


def test_contacts_act_as_one_with_all_points():
    """Forces and gradients of both, cycle by cycle: a floor and a wall, beside the grasp point."""
    half = rf.BoxField((-0.5, -0.5, 0.0), (0.5, 0.5, 1.0))
    points = np.array([[0.02, 0.0, 0.0], [-0.5, 0.01, 0.02]])
    normals = np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0]])
    one, *two = (
        rf.PenaltyContact(rf.PointTree(rf.Pointshell(points[k], normals[k])), half, 300.0)
        for k in ([0, 1], [0], [1])
    )
    coupling = rf.VirtualCoupling(500.0, 1.0)
    hand = rf.ReplayDevice([0.0, 0.2, 1.0], [[0, 0, 0.001], *[[-0.004, 0.001, -0.005]] * 2])
    whole, both = (ran(session(c, hand, coupling), 300) for c in (one, two))
    assert (whole["touching"] == 2).sum() > 100
    for name in ("object_position", "object_quaternion", "contact_force", "contact_torque"):
        np.testing.assert_allclose(both[name], whole[name], rtol=0, atol=1e-10)


@pytest.fixture(scope="module")
def beam():
    """Return a soft beam that one end holds, and points on its upper side."""
    reduced = bar(young=1e5)
    return top_of(reduced, (40, 9), 0.01), reduced


def stroke(beam, coupling, rate=1000.0, **options):
    """Return a hand that presses a ball on the beam, which swings back, and lifts it again."""
    tree, reduced = beam
    times = np.linspace(0.0, 1.4, 101)
    z = 0.052 - 0.03 * np.sin(np.pi * times / 1.4) ** 2
    hand = rf.SimulatedHand(times, np.stack([0.18 + 0 * z, 0.015 + 0 * z, z], axis=1))
    contact = rf.PenaltyContact(tree, rf.SphereField((0.0, 0.0, 0.0), 0.02), 20.0, None)
    moves = rf.ImplicitNewmark(reduced, 1.0 / rate, damping=(0.0, 1e-3))
    options = {"coupled": False} | options
    made = session(contact, hand, coupling, simulation=moves, rate=rate, **options)
    return ran(made, int(1.4 * rate))


def test_a_linear_display_of_a_saturated_spring_gives_energy(beam):
    """A rebound works on the object by f, on the hand by k e: at any rate, unlike a lag."""
    coupling = rf.VirtualCoupling(300.0, 1.0, max_force=0.05)
    most = {}
    for rate in (1000.0, 4000.0):
        for options in ({}, {"render": "saturated"}):
            records = stroke(beam, coupling, rate, **options)
            most[rate, bool(options)] = records["energy_j"].max()
            assert records["touching"].max() > 5
    assert most[1000.0, False] > 1e-3 < most[4000.0, False]
    assert most[1000.0, True] < 1e-6 > most[4000.0, True]
    # without saturation no energy is given
    assert stroke(beam, rf.VirtualCoupling(300.0, 1.0))["energy_j"].max() < 1e-6


# ---- the controller ------------------------------------------------------------------------------


@pytest.mark.parametrize("allowance", [0.0, 1e-5, 1e-4, 1e-3])
def test_the_controller_keeps_energy_within_its_allowance(beam, allowance):
    coupling = rf.VirtualCoupling(300.0, 1.0, max_force=0.05)
    options = {"passivity": True, "energy_allowance": allowance}
    for rate in (1000.0, 4000.0):
        records = stroke(beam, coupling, rate, **options)
        assert records["energy_j"].max() <= allowance + 1e-9
        # without a shake: it feels as much as without the controller, and no faster
        assert records["force"][:, 2].max() > 1.0
        force = np.diff(records["force"][:, 2], n=2)
        assert np.sqrt(np.mean(force**2)) < 0.02


@pytest.mark.parametrize("slew", [1.0, 10.0])
def test_the_controller_keeps_energy_within_its_allowance_behind_slew_rates(beam, slew):
    """The controller reduces delayed forces at once; recovery follows the slew rate."""
    coupling, allowance = rf.VirtualCoupling(300.0, 1.0, max_force=0.05), 1e-4
    assert stroke(beam, coupling, force_slew=slew)["energy_j"].max() > 10.0 * allowance
    for rate in (1000.0, 4000.0):
        options = {"passivity": True, "energy_allowance": allowance, "force_slew": slew}
        records = stroke(beam, coupling, rate, **options)
        assert records["energy_j"].max() <= allowance + 1e-9
        force = np.linalg.norm(records["force"], axis=1)
        assert force.max() > 0.5
        assert np.diff(force).max() <= slew / rate * (1.0 + 1e-9)


def knocking(slew):
    """Return what a session records of a hand that knocks on a wall at up to 0.3 m/s."""
    times = np.linspace(0.0, 2.0, 401)
    places = np.zeros((401, 3))
    places[:, 2] = 0.015 * np.cos(6.0 * np.pi * times) - 0.01
    hand = rf.SimulatedHand(times, places, mass=0.1, stiffness=300.0, damping=5.0)
    made = session(wall(2000.0), hand, rf.VirtualCoupling(2000.0, 1.0), force_slew=slew)
    return ran(made, 2000)


def test_without_a_slew_rate_forces_follow_at_once_and_a_slow_one_gives_energy():
    """Slew rates are off by default: a delayed force pushes a hand that is leaving."""
    free = knocking(None)
    fastest = 1e3 * np.abs(np.diff(free["force"][:, 2])).max()
    assert 100.0 < fastest < 2000.0  # N/s; of the order of the stiffness times the speed
    assert not rf.HapticRecords(free).flagged("slewed").any()
    assert free["energy_j"].max() < 1e-5
    # above what is needed it changes nothing, far below it much
    assert np.array_equal(knocking(1.01 * fastest)["force"], free["force"])
    slow = knocking(0.25 * fastest)
    assert rf.HapticRecords(slow).flagged("slewed").any()
    assert slow["energy_j"].max() > 0.05


def test_faded_forces_stay_zero_in_spite_of_the_controller():
    """The energy exceeds the allowance, but the damper adds no force after the fade-out."""
    # at rest in the wall, then moved by a jerk, and slowly on
    way = [[0.0, 0.0, z] for z in (-0.01, -0.01, -0.007, -0.005)]
    hand = rf.ReplayDevice([0.0, 0.1, 0.101, 0.141], way)
    coupling = rf.VirtualCoupling(500.0, 1.0)
    options = {"passivity": True, "energy_allowance": 0.0, "max_force": 1.0}
    made = session(wall(1e7), hand, coupling, **options)
    records = made.run(102)
    assert records["energy_j"][-1] > 2e-3
    # against the motion, and still within the limits
    assert records["force"][-1] == pytest.approx([0.0, 0.0, -1.0], rel=1e-9)
    made.enable(False)
    assert not ran(made, 20)["force"].any()


def test_motion_while_the_device_is_closed_is_no_work():
    """It does not count for later cycles either: the controller does not change their forces."""
    found = {}
    for passivity in (True, False):
        # half a second at one place; while the device is closed the hand goes 5 mm outwards
        way = [[0.0, 0.0, z] for z in (-0.01, -0.01, -0.005, -0.005)]
        hand = rf.ReplayDevice([0.0, 0.4995, 0.4996, 2.0], way)
        made = session(
            wall(1000.0), hand, rf.VirtualCoupling(500.0, 1.0), passivity=passivity,
            energy_allowance=0.0,
        )  # fmt: skip
        made.run(500)
        made.stop()
        found[passivity] = ran(made, 100)
    assert np.array_equal(found[True]["force"], found[False]["force"])
    assert np.array_equal(found[True]["energy_j"], np.zeros(100))
    assert found[True]["force"][0, 2] > 0.1


def test_the_controller_does_not_change_passive_forces(beam):
    coupling = rf.VirtualCoupling(300.0, 1.0)
    plain = stroke(beam, coupling)
    assert plain["energy_j"].max() < 1e-6
    watched = stroke(beam, coupling, passivity=True)
    contact = plain["touching"] > 0
    assert contact.sum() > 200
    # but for the last moments of contact, when nearly all that was taken has been given back
    same = np.abs(watched["force"] - plain["force"]).max(axis=1) < 1e-12
    assert same[: np.argmax(plain["force"][:, 2]) + 1].all()
    assert same[contact].mean() > 0.9


def test_an_allowance_is_not_negative():
    hand = rf.ReplayDevice([0.0], [[0.0, 0.0, 1.0]])
    for wrong in (-1e-6, math.inf):
        with pytest.raises(rf.InputError, match="energy_allowance must be finite"):
            session(wall(1.0), hand, rf.VirtualCoupling(1.0, 1.0), energy_allowance=wrong)


# ---- forces with a potential ---------------------------------------------------------------------


def work_around(contact):
    """Return the work on the field object over a closed loop of poses, and all that changes hands.

    It presses, slides, turns and comes back; by the trapezoidal rule on force and torque.
    """
    n = 8000
    t = 2.0 * np.pi * np.arange(n + 1) / n
    place = np.stack([0.004 * np.cos(t), 0.003 * np.sin(2 * t), 0.0195 + 0.002 * np.sin(t)], axis=1)
    half = 0.2 * np.sin(t)
    turn = np.stack([np.cos(half), 0.0 * t, 0.6 * np.sin(half), 0.8 * np.sin(half)], axis=1)
    found = contact.evaluate_many(place, turn)
    wrench = np.concatenate([found.force, found.torque], axis=1)
    axis = np.array([0.0, 0.6, 0.8])
    move = np.concatenate([np.diff(place, axis=0), np.diff(2 * half)[:, None] * axis], axis=1)
    work = np.sum(0.5 * (wrench[1:] + wrench[:-1]) * move, axis=1)
    return work.sum(), np.abs(work).sum()


@pytest.mark.parametrize("sampled", [False, True])
def test_closed_loops_do_no_work(sampled):
    """Points have random normals close to the gradient g: forces along g have a potential."""
    body = rf.CapsuleField((-0.01, 0.0, 0.001), (0.01, 0.002, 0.0), 0.02)
    field = rf.DistanceField.from_field(body, 64, expand=1.5) if sampled else body
    x = np.linspace(-0.01, 0.01, 9)
    points = np.stack(np.meshgrid(x, x, [0.0], indexing="ij"), axis=-1).reshape(-1, 3)
    normals = np.array([0.0, 0.0, -1.0]) + np.random.default_rng(3).uniform(-0.4, 0.4, points.shape)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    tree = rf.PointTree(rf.Pointshell(points, normals))
    lost = {}
    for direction in ("gradient", "normal"):
        contact = rf.PenaltyContact(tree, field, 1e3, None, max_points=None, direction=direction)
        work, exchanged = work_around(contact)
        assert exchanged > 1e-4
        lost[direction] = abs(work) / exchanged
    assert lost["gradient"] < (0.01 if sampled else 1e-5)
    assert lost["normal"] > 0.03


def test_press_and_release_of_a_tip():
    """Normals of a tip point in all directions; along the gradient the hand gets no energy."""
    turns = np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
    around = np.stack([0.001 * np.cos(turns), 0.001 * np.sin(turns), -5e-4 + 0.0 * turns], axis=1)
    points = np.concatenate([[[0.0, 0.0, 0.0]], around])
    # inward; the tip's own is askew, as pseudonormals of coarse surfaces are
    normals = np.concatenate([[[0.6, 0.0, -0.8]], -around / np.linalg.norm(around[0])])
    tree = rf.PointTree(rf.Pointshell(points, normals))
    ball = rf.DistanceField.from_field(rf.SphereField((0, 0, 0), 0.012), 48, expand=1.5)
    contact = rf.PenaltyContact(tree, ball, 1e4, None)
    presses = np.tile([0.014, 0.006], 3)
    way = [[0.0, 0.0, z] for z in [*presses, 0.014]]
    made = session(contact, rf.ReplayDevice(0.2 * np.arange(7), way), rf.VirtualCoupling(500, 0.3))
    records = ran(made, 1250)
    force, hand = records["force"], records["hand_position"]
    # without what holding a force for a cycle gives
    given = np.sum(0.5 * (force[1:] + force[:-1]) * np.diff(hand, axis=0))
    assert np.linalg.norm(force, axis=1).max() > 1.0
    assert given < 1e-9
