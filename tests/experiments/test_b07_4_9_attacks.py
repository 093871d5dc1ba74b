"""Limits of couplings hold against attacks: experiments/b07_4_9_attacks.py, small."""

from __future__ import annotations

import dataclasses
import functools
import math

import b07_4_9_attacks as attacks
import numpy as np
import pytest

import experiments
import reducedfem as rf

NAME = "b07_4_9_attacks"
DETAIL = 0.6
# 7/8 of the depth that is allowed, if distances changed as fast as grids can make them
BOUND = 0.75 + 0.125 * math.sqrt(3.0)
UPRIGHT = (1.0, 0.0, 0.0, 0.0)

FAST = {attack.name: attack for attack in attacks.attacks((2.0,), (1,))}
# a second of each walk at random, and the way back
WALKS = {"block at random, 1", "stick at random, 1"}


@functools.cache
def played(name, scheme):
    attack = FAST[name]
    if name in WALKS:
        walk = attacks.wander(np.zeros(6), 1.0, 6e-4, 0.03, 1)
        attack = dataclasses.replace(attack, motion=attacks.homed(walk))
    return attacks.play(attack, scheme, DETAIL)


@pytest.mark.parametrize("scheme", ["static", "dynamic"])
@pytest.mark.parametrize("name", FAST)
def test_no_attack_gets_deeper_than_is_allowed(name, scheme):
    result = played(name, scheme)
    assert result.deepest <= BOUND
    assert not result.through or "coarse" in name


@pytest.mark.parametrize("name", sorted(FAST.keys() - WALKS))
def test_the_object_returns_to_the_hand_after_an_attack(name):
    """A second after it is back the hand has the object, which was as deep as is allowed."""
    assert played(name, "static").left < 1e-4


def test_attacks_succeed_without_limits():
    """Without the limits attacks penetrate several times as deep, or pass through."""
    deepest = {name: played(name, "saturated").deepest for name in FAST if name not in WALKS}
    assert sum(depth > BOUND for depth in deepest.values()) >= 3, deepest
    assert max(deepest.values()) > 2.0
    loose = attacks.couple

    def without(contact, scheme):
        return dataclasses.replace(loose(contact, scheme), max_depth=None)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attacks, "couple", without)
        result = attacks.play(FAST["rod on foil, 0.5 m/s"], "dynamic", DETAIL)
    assert result.through
    assert result.deepest > BOUND


@pytest.mark.parametrize("scheme", ["static", "coupled"])
def test_plates_that_deform_are_not_pierced(scheme):
    found = attacks.soft_attacks((2.0,), ())
    for attack in found[:2]:
        assert attack.shell == "soft plate"
        result = attacks.play(attack, scheme, DETAIL)
        assert result.deepest <= BOUND
        assert not result.through
        assert result.left < 1e-3


# ---- one rule at a time, where distances are exact -----------------------------------------------

RADIUS, ALLOWED = 0.02, 1e-3


def ground(n=41, size=0.1):
    """Return points of the plane z = 0 whose object lies below it."""
    i, j = (k.ravel() for k in np.indices((n, n)))
    grid = size * (np.stack([i, j, 0 * i], axis=1) / (n - 1) - [0.5, 0.5, 0.0])
    level = 3 - sum(((i % step == 0) & (j % step == 0)).astype(int) for step in (2, 4, 8))
    order = np.argsort(level, kind="stable")
    normals = np.tile([0.0, 0.0, -1.0], (len(grid), 1))
    return rf.Pointshell(grid[order], normals, level[order])


def run(
    times,
    positions,
    quaternions=None,
    *,
    grasp=(0.0, 0.0, 0.0),
    level=None,
    stiffness=200.0,
    **options,
):
    """Return the records of a ball on ground that a hand on rails moves."""
    ball = rf.SphereField((0.0, 0.0, 0.0), RADIUS)
    contact = rf.PenaltyContact(
        rf.PointTree(ground()), ball, stiffness, level, grasp=grasp, direction="normal"
    )
    settings = {"max_depth": ALLOWED, "reach": RADIUS + float(np.linalg.norm(grasp))} | options
    coupling = rf.VirtualCoupling(500.0, 1.0, **settings)
    device = rf.ReplayDevice(times, positions, quaternions)
    session = rf.HapticSession(contact, device, coupling=coupling, budget_us=0.0, ramp=0.0)
    records = session.run(round(1e3 * times[-1])).array
    session.close()
    return records


def leap(high=0.05, low=-0.3):
    """Return a hand that is above the ground, and from one cycle to the next far below."""
    times = [0.0, 0.0095, 0.0105, 0.1]
    return times, [[0.001, 0.002, z] for z in (high, high, low, low)]


def test_a_leap_through_the_ground_ends_on_it():
    """In free space a clearance is known, which comes on top of D / 2 a cycle."""
    records = run(*leap(), damping=0.0)
    height = records["object_position"][:, 2]
    assert records["depth_m"].max() <= 7 / 8 * ALLOWED * (1.0 + 1e-9)
    # from 30 mm above it: by D / 2 a cycle that would take 60
    assert np.flatnonzero(records["touching"])[0] < 10 + 40
    assert height.min() > RADIUS - ALLOWED
    # relief has brought it to half of what is allowed
    assert records["depth_m"][-1] == pytest.approx(0.5 * ALLOWED, rel=0.02)


def test_without_a_largest_depth_the_leap_succeeds():
    records = run(*leap(), damping=0.0, max_depth=None)
    assert records["object_position"][-1, 2] < -RADIUS


def test_untested_nodes_have_no_clearance():
    """Only nodes of the first levels are tested; the clearance of the others is unknown."""
    high = leap(high=RADIUS + 0.02)
    first = [
        int(np.flatnonzero(run(*high, damping=0.0, level=level)["touching"])[0])
        for level in (None, 1)
    ]
    # D / 2 a cycle from 10 on
    assert first[0] < 10 + 30
    assert first[1] >= 10 + 40 - 1


@pytest.mark.parametrize("reach", [0.0, None, RADIUS + 0.1])
def test_reach_bounds_the_motion_of_a_turn(reach):
    """A ball at the end of an arm of 0.1 m, which a hand swings down; None: sessions find it."""
    angle = np.concatenate([np.zeros(10), np.linspace(0.0, 1.2, 12), np.full(200, 1.2)])
    turns = np.stack([np.cos(angle / 2), 0 * angle, np.sin(angle / 2), 0 * angle], axis=1)
    places = np.tile([-0.1, 0.0, RADIUS + 0.02], (len(angle), 1))
    times = 1e-3 * np.arange(len(angle))
    records = run(times, places, turns, grasp=(-0.1, 0.0, 0.0), reach=reach, damping=0.0)
    deepest = records["depth_m"].max() / ALLOWED
    assert (deepest <= 7 / 8 * (1.0 + 1e-9)) == (reach != 0.0)
    assert (records["touching"] > 0).any()


def test_an_object_that_begins_too_deep_gets_out():
    """It never gets deeper than at the start, and the usual bound holds afterwards."""
    inside = [0.001, 0.002, RADIUS - 4.0 * ALLOWED]
    records = run([0.0, 0.3], [inside, inside])
    depth = records["depth_m"]
    assert depth[0] > 3.0 * ALLOWED
    assert depth.max() == depth[0]
    assert depth[-1] < ALLOWED
    records = run([0.0, 0.01, 0.4], [inside, inside, [0.001, 0.002, 0.05]])
    assert records["object_position"][-1] == pytest.approx([0.001, 0.002, 0.05], abs=3e-4)


@pytest.mark.parametrize(("thick", "through"), [(0.9, True), (4.0, False)])
def test_nothing_in_a_thin_object_is_deep(thick, through):
    """Its position is not bounded, only its depth, which is at most half its thickness."""
    half = 0.5 * thick * ALLOWED
    held = rf.BoxField((-0.02, -0.02, -half), (0.02, 0.02, half))
    contact = rf.PenaltyContact(rf.PointTree(ground()), held, 200.0, None)
    coupling = rf.VirtualCoupling(500.0, 1.0, max_depth=ALLOWED)
    hand = rf.ReplayDevice([0.0, 0.2, 0.5], [[0.0, 0.0, z] for z in (0.01, -0.05, -0.05)])
    session = rf.HapticSession(contact, hand, coupling=coupling, budget_us=0.0)
    records = session.run(500).array
    session.close()
    assert 0.3 * ALLOWED < records["depth_m"].max() <= min(half, 7 / 8 * ALLOWED) * (1.0 + 1e-9)
    assert bool((records["object_position"][:, 2] < -half).any()) == through


@pytest.mark.parametrize(
    ("field", "grasp", "farthest"),
    [
        (rf.SphereField((0.0, 0.0, 0.3), RADIUS), (0.0, 0.0, 0.0), 0.32),
        (rf.BoxField((-1.0, -1.0, 0.0), (1.0, 2.0, 3.0)), (0.5, 0.0, 1.0), 3.2015621),
        (
            rf.SphereField((0.0, 0.0, 0.3), 0.1) | rf.CapsuleField((1.0, 0, 0), (2.0, 0, 0), 0.1),
            (0.0, 0.0, 0.0),
            2.1047565,
        ),
    ],
)
def test_sessions_find_the_reach_of_the_held_object(field, grasp, farthest):
    """The reach is the largest distance from the grasp point, of points or of a bounding box."""
    contact = rf.PenaltyContact(rf.PointTree(ground()), field, 200.0, grasp=grasp)
    loose = rf.VirtualCoupling(500.0, 1.0)
    session = rf.HapticSession(contact, rf.ReplayDevice(*leap()), coupling=loose)
    assert session.coupling is loose
    for kind in (loose, rf.DynamicCoupling(500.0, 1.0, mass=0.1, inertia=1e-4)):
        session.coupling = dataclasses.replace(kind, max_depth=ALLOWED)
        assert session.coupling.reach == pytest.approx(farthest, rel=1e-7)
        session.coupling = reported = dataclasses.replace(kind, max_depth=ALLOWED, reach=7.0)
        assert session.coupling is reported
    session.close()
    # of samples, by a diagonal of their grid longer at most
    sampled = rf.DistanceField.from_field(field, 48, expand=1.2)
    contact = rf.PenaltyContact(rf.PointTree(ground()), sampled, 200.0, grasp=grasp)
    bounded = dataclasses.replace(loose, max_depth=ALLOWED)
    session = rf.HapticSession(contact, rf.ReplayDevice(*leap()), coupling=bounded)
    inside = np.argwhere(np.asarray(sampled.values) < 0.0) * sampled.spacing + sampled.origin
    far = np.linalg.norm(inside - grasp, axis=1).max()
    assert far < session.coupling.reach <= far + 1.01 * np.linalg.norm(sampled.spacing)
    session.close()


def test_unbounded_objects_have_no_reach():
    half = rf.PlaneField((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    contact = rf.PenaltyContact(rf.PointTree(ground()), half, 200.0)
    coupling = rf.VirtualCoupling(500.0, 1.0, max_depth=ALLOWED)
    with pytest.raises(rf.InputError, match=r"give the coupling a reach \[m\], or reach=0 to"):
        rf.HapticSession(contact, rf.ReplayDevice(*leap()), coupling=coupling)
    reported = dataclasses.replace(coupling, reach=0.0)
    rf.HapticSession(contact, rf.ReplayDevice(*leap()), coupling=reported).close()


@pytest.mark.parametrize(
    "coupling",
    [
        rf.VirtualCoupling(500.0, 1.0, max_depth=ALLOWED),
        rf.DynamicCoupling(500.0, 1.0, mass=0.1, inertia=1e-4, max_depth=ALLOWED),
    ],
)
def test_a_step_without_reach_warns(coupling):
    """A single step has no object to find the reach from."""
    still = ((0.0, 0.0, 0.0), UPRIGHT)
    with pytest.warns(
        rf.PlausibilityWarning, match=r"give it a reach \[m\], or reach=0 if that is meant"
    ):
        coupling.step(still, *still)
    dataclasses.replace(coupling, reach=0.0).step(still, *still)


def test_reports_show_violations_of_the_bound():
    """The report uses the coupling of each cycle."""
    ball = rf.SphereField((0.0, 0.0, 0.0), RADIUS)
    contact = rf.PenaltyContact(rf.PointTree(ground()), ball, 200.0, None)
    place = [0.001, 0.002, RADIUS - 2.0 * ALLOWED]
    coupling = rf.VirtualCoupling(500.0, 1.0, max_depth=4.0 * ALLOWED)
    device = rf.ReplayDevice([0.0, 1.0], [place, place])
    session = rf.HapticSession(contact, device, coupling=coupling, budget_us=0.0)
    held = session.run(20)
    assert held["depth_m"].max() > ALLOWED
    report = session.report()
    assert (report.max_depth, report.too_deep) == (4.0 * ALLOWED, 0)
    assert "; limit 4 mm, never exceeded" in str(report)
    assert not held.flagged("too_deep").any()
    less = 0.5 * held["depth_m"][-1]
    session.coupling = dataclasses.replace(coupling, max_depth=less)
    found = session.run(60)
    deep = found["depth_m"] > less
    assert deep[0]
    assert not deep[-1]
    assert np.array_equal(found.flagged("too_deep"), deep)
    report = session.report()
    assert report.too_deep == deep.sum()
    exceeded = f"; LIMIT EXCEEDED in {deep.sum()} cycles"
    assert f"; limit {1e3 * less:.3g} mm{exceeded}" in str(report)
    session.coupling = dataclasses.replace(coupling, max_depth=None)
    session.run(10)
    report = session.report()
    session.close()
    assert (report.max_depth, report.too_deep) == (None, deep.sum())
    assert f" mm{exceeded}" in str(report)


def test_ordinary_slides_feel_as_without_a_largest_depth():
    """The hand is so far below that less than a thousandth of the coupling acts along the floor."""
    field, grasp = attacks.tool("block", DETAIL)
    stiff = rf.PenaltyContact(
        attacks.shell("plate", DETAIL), field, 2e5, None, grasp=grasp, direction="normal"
    )
    coupling = rf.VirtualCoupling.for_contact(
        stiff, attacks.COUPLING, max_force=1e-3, max_torque=1e-6
    )
    x = np.concatenate([np.zeros(50), np.linspace(0.0, 0.02, 200), np.full(50, 0.02)])
    z = np.concatenate([np.linspace(0.012, 0.005, 30), np.full(270, 0.005)])
    hand = rf.ReplayDevice(1e-3 * np.arange(300), np.stack([x, 0.0 * x, z], axis=1))
    found = []
    for most in (None, coupling.max_depth):
        limited = dataclasses.replace(coupling, max_depth=most)
        session = rf.HapticSession(stiff, hand, coupling=limited, budget_us=0.0)
        found.append(session.run(300).array)
        session.close()
    assert (found[0]["rank"][60:250] < 6).all()
    assert found[0]["force"][-1, 2] > 2.0
    assert found[0]["depth_m"].max() < 0.5 * coupling.max_depth
    assert np.array_equal(found[0]["force"], found[1]["force"])


def jaws(gap):
    """Return the records of a ball between two walls that it is too thick for, pulled out."""
    y, z = (k.ravel() for k in np.meshgrid(*2 * [np.linspace(-0.03, 0.03, 61)]))
    walls = [np.stack([0.0 * y + side * 0.5 * gap, y, z], axis=1) for side in (-1.0, 1.0)]
    normals = np.repeat([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], len(y), axis=0)
    tree = rf.PointTree(rf.Pointshell(np.concatenate(walls), normals))
    ball = rf.SphereField((0.0, 0.0, 0.0), 0.01)
    contact = rf.PenaltyContact(tree, ball, 200.0, None, direction="normal")
    coupling = rf.VirtualCoupling(500.0, 1.0, max_depth=ALLOWED, reach=0.01)
    hand = rf.ReplayDevice([0.0, 0.05, 0.3], [[0.0, 0.0, 0.0]] * 2 + [[0.0, 0.0, 0.05]])
    session = rf.HapticSession(contact, hand, coupling=coupling, budget_us=0.0)
    records = session.run(900).array
    session.close()
    return records


@pytest.mark.parametrize("deep", [0.9, 1.5, 3.0])
def test_an_object_too_deep_is_not_stuck_between_points(deep):
    """The way out leads over points, by which the depth goes up and down."""
    records = jaws(0.02 - 2.0 * deep * ALLOWED)
    depth = records["depth_m"]
    assert depth[0] == pytest.approx(deep * ALLOWED)
    assert depth.max() <= depth[0] + 0.25 * ALLOWED
    assert np.linalg.norm(records["object_position"][-1] - [0.0, 0.0, 0.05]) < 1e-4


@pytest.mark.parametrize("cycles", [4, 5, 6])
def test_an_object_at_the_hand_is_pushed_out_again(cycles):
    """After a thrust the hand rests 0.7 D deep: straight trials get there, contact leads on."""
    z = [RADIUS + 3e-4] * 20 + [RADIUS - 0.1] * cycles + [RADIUS - 0.7 * ALLOWED] * 60
    places = np.stack([np.full(len(z), 0.0012), np.full(len(z), 0.002), z], axis=1)
    records = run(1e-3 * np.arange(len(z) + 1), [*places, places[-1]], damping=0.0)
    assert records["depth_m"].max() > 0.75 * ALLOWED
    last = records[-1]
    assert last["depth_m"] < 0.5 * ALLOWED
    assert last["force"][2] == pytest.approx(last["contact_force"][2], rel=1e-6)


def test_a_session_that_begins_again_forgets_where_it_was_held():
    """After a new coupling, too: no pose of before is gone back to."""
    ball = rf.SphereField((0.0, 0.0, 0.0), RADIUS)
    contact = rf.PenaltyContact(rf.PointTree(ground()), ball, 200.0, None)
    device = rf.ReplayDevice(*leap())
    coupling = rf.VirtualCoupling(500.0, 1.0, max_depth=ALLOWED, reach=RADIUS)
    session = rf.HapticSession(contact, device, coupling=coupling, budget_us=0.0)
    session.run(60)
    session.coupling = dataclasses.replace(coupling, max_depth=0.5 * ALLOWED)
    depth = session.run(40).array["depth_m"]
    session.close()
    assert depth[-1] == pytest.approx(0.25 * ALLOWED, rel=0.05)
    assert depth.max() <= 7 / 8 * ALLOWED


def test_slides_and_shakes_are_distinguished():
    """Of a hand that rests from cycle 30 to 330; what happens in the first 100 does not count."""
    records = np.zeros(400, [("hand_position", float, 3), ("hand_quaternion", float, 4),
                             ("object_position", float, 3)])  # fmt: skip
    records["hand_position"][:30, 0] = np.arange(30)
    records["hand_position"][330:, 0] = 1 + np.arange(70)
    at = records["object_position"]
    at[130:330, 1] = np.linspace(0.0, 0.02, 200)
    assert attacks.unrest(records) == pytest.approx((0.02, 0.0), abs=1e-12)
    at[130:330:2, 2] = 1e-3
    assert attacks.unrest(records) == pytest.approx((np.hypot(0.02, 1e-3), 1e-3), rel=1e-9)
    at[130:330] = 0.0
    at[:129] = np.random.default_rng(0).normal(size=(129, 3))
    assert attacks.unrest(records) == (0.0, 0.0)


# ---- the script ----------------------------------------------------------------------------------


def test_the_command_line(monkeypatch, capsys):
    one = [FAST["peg on rim, 2 m/s"]]
    monkeypatch.setattr(attacks, "attacks", lambda *args: one)
    monkeypatch.setattr(attacks, "soft_attacks", lambda *args: [])
    assert experiments.start(NAME, monkeypatch, "--detail", "0.6") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[1].startswith("peg on rim")
    assert lines[2].startswith("largest")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--speeds", "0"], "--speeds must be between"),
        (["--detail", "9"], "--detail must be between 0.4 and 4, got 9"),
        (["--seeds", "-1"], "--seeds must not be negative, got -1"),
    ],
)
def test_wrong_use_is_reported(monkeypatch, capsys, arguments, message):
    with pytest.raises(SystemExit):
        experiments.start(NAME, monkeypatch, *arguments)
    assert message in capsys.readouterr().err
