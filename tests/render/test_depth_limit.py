"""The depth limiter behind the couplings, cycle by cycle, against its description.

`render/depth_limit.h` gives the order of the trials; a plain version does that in NumPy.  Poses,
depths and clearances are random.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from haptic_core import (
    REAL,
    UPRIGHT,
    CouplingSettings,
    CouplingState,
    DepthLimit,
    Load,
    Pose,
    Report,
    at,
    build,
)  # fmt: skip
from turns import product, turn_between, turned

MOST, REACH, K, TORSION = 1e-3, 0.05, 500.0, 1.0
FOLLOW, STRAIGHT, TRANSLATE = range(3)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return build(tmp_path_factory.mktemp("depth_limit"))


def pose(place, rotation=(0.0, 0.0, 0.0)):
    return np.asarray(place, float), turned(np.asarray(rotation, float))


def moved(start, move):
    return start[0] + move[:3], product(turned(move[3:]), start[1])


def between(start, end):
    return np.concatenate([end[0] - start[0], turn_between(start[1], end[1])])


def as_pose(value):
    return Pose(tuple(value[0]), tuple(value[1]))


class Limiter:
    """`rf_depth_limit_rt`, with its state."""

    def __init__(self, library, most=MOST, dynamic=True):
        self.library, self.state = library, DepthLimit()
        self.set = CouplingSettings(
            K, TORSION, math.inf, math.inf, most, REACH, 0.0, math.inf, math.inf, 1e-3
        )
        self.dynamic = dynamic
        self.share = 0.5

    def cycle(self, hand, before, after, depth, clearance=0.0, velocity=(0.0,) * 6):
        """Return the pose that is taken, and the velocity."""
        state = CouplingState(as_pose(after), self.share)
        load = Load(depth=depth, clearance=clearance)
        self.report = Report(limited=False)
        held, first, second = (REAL * 6)(*velocity), as_pose(hand), as_pose(before)
        self.library.rf_depth_limit_rt(
            at(self.set), at(first), at(second), at(load), at(self.state), at(state),
            at(held) if self.dynamic else None, at(self.report),
        )  # fmt: skip
        self.share = state.share
        return (np.array(state.object.position), np.array(state.object.quaternion)), np.array(held)


class PlainLimiter:
    """The same, by the description."""

    def __init__(self):
        self.safe, self.safe_depth, self.returned, self.arrived = None, 0.0, False, False
        self.kind, self.trust, self.taken, self.share = FOLLOW, MOST, math.inf, 0.5

    def cycle(self, hand, before, after, depth, clearance, velocity):
        """Return pose, velocity, and whether the step was another one than the coupling's."""
        if self.safe and not self.returned and depth > max(0.75 * MOST, self.taken):
            return self.take_back()
        if self.returned:
            self.taken += depth - self.safe_depth
        else:
            self.trust = min(2.0 * self.trust, MOST)
        self.taken = max(0.75 * MOST, min(self.taken, depth + MOST / 8.0))
        if self.arrived or depth <= 0.5 * MOST:
            self.kind = FOLLOW
        self.safe, self.safe_depth, self.returned = before, depth, False
        move = between(before, after if self.kind == FOLLOW else hand)
        if self.kind == TRANSLATE:
            move[3:] = 0.0
        travel = np.linalg.norm(move[:3]) + REACH * np.linalg.norm(move[3:])
        left = 0.5 * max(MOST - depth, 0.25 * MOST)
        longest = min(self.trust, left) + clearance
        self.arrived = self.kind != FOLLOW and travel <= longest
        if travel <= longest and self.kind == FOLLOW:
            return after, velocity, False
        part = min(longest / travel, 1.0) if travel else 1.0
        return moved(before, part * move), velocity * part * (self.kind == FOLLOW), True

    def take_back(self):
        self.returned, self.arrived = True, False
        self.kind = (self.kind + 1) % 3
        if self.kind == FOLLOW:
            self.trust *= 0.5
        if self.trust < MOST / 64.0:
            self.trust, self.share = MOST, 1.0
        return self.safe, np.zeros(6), True


def assert_same(found, expected):
    np.testing.assert_allclose(found[0], expected[0], rtol=0, atol=1e-15)
    assert turn_between(found[1], expected[1]) == pytest.approx(np.zeros(3), abs=1e-12)


@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize("deep", [0.9, 1.5, 4.0])
def test_trials_against_a_plain_version(library, rng, deep, dynamic):
    limiter, plain = Limiter(library, dynamic=dynamic), PlainLimiter()
    object_, kinds, cut = pose(np.zeros(3)), set(), 0
    for cycle in range(500):
        limiter.share = plain.share = 0.5
        size = 10.0 ** rng.uniform(-2.0, 1.0) * MOST
        move = size * rng.normal(size=6) * [1.0, 1.0, 1.0, *[1.0 / REACH] * 3]
        hand = moved(object_, size * rng.normal(size=6) / [1.0, 1.0, 1.0, *[REACH] * 3])
        after = moved(object_, move)
        # deep for some time, then less so
        depth = MOST * rng.uniform() * (deep if cycle % 50 < 30 else 0.7)
        clearance = 0.0 if depth > 0.1 * MOST else rng.uniform() * MOST
        velocity = rng.normal(size=6)
        found = limiter.cycle(hand, object_, after, depth, clearance, velocity)
        expected, speed, changed = plain.cycle(hand, object_, after, depth, clearance, velocity)
        assert_same(found[0], expected)
        assert found[1] == pytest.approx(speed if dynamic else velocity, abs=1e-12)
        assert limiter.state.kind == plain.kind
        assert limiter.state.trust == pytest.approx(plain.trust, rel=1e-12)
        assert limiter.state.taken == pytest.approx(plain.taken, rel=1e-12)
        assert limiter.share == plain.share
        assert limiter.report.limited == changed
        if changed:
            reported(limiter.report, hand, object_, expected)
        kinds.add(plain.kind)
        cut += changed
        object_ = expected
    assert kinds == {FOLLOW, STRAIGHT, TRANSLATE}
    assert 50 < cut < 500


def reported(report, hand, before, after):
    """Assert that the report is that of the pose that was taken."""
    np.testing.assert_allclose(report.move, between(before, after), rtol=0, atol=1e-11)
    way = between(after, hand)
    sine = np.sin(0.5 * np.linalg.norm(way[3:]))
    axis = way[3:] / max(np.linalg.norm(way[3:]), 1e-300)
    np.testing.assert_allclose(report.wrench.linear_force, K * way[:3], rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        report.wrench.linear_torque, TORSION * sine * axis, rtol=0, atol=1e-9
    )


def test_a_shortened_motion_is_slower_by_the_same_factor(library):
    """At the surface half of the depth is left to go, and the clearance of free space."""
    limiter, velocity = Limiter(library), np.arange(1.0, 7.0)
    start = pose(np.zeros(3))
    for clearance in (0.0, 2e-3):
        longest = 0.5 * MOST + clearance
        after = pose((5e-3, 0.0, 0.0))
        found, held = limiter.cycle(after, start, after, 0.0, clearance, velocity)
        assert_same(found, pose((longest, 0.0, 0.0)))
        assert held == pytest.approx(velocity * longest / 5e-3, rel=1e-12)
        assert limiter.report.limited
    # a turn counts by how far it moves the farthest point
    after = pose(np.zeros(3), (0.0, 0.1, 0.0))
    found, held = limiter.cycle(after, start, after, 0.0, 0.0, velocity)
    assert_same(found, pose(np.zeros(3), (0.0, 0.5 * MOST / REACH, 0.0)))
    assert held == pytest.approx(velocity * 0.5 * MOST / (0.1 * REACH), rel=1e-12)


def test_a_rejected_motion_leaves_no_velocity(library):
    """The trials after it, which go straight to the hand, do not either."""
    limiter, velocity = Limiter(library), np.arange(1.0, 7.0)
    start, away = pose((1e-3, 2e-3, 3e-3)), pose((1.2e-3, 2e-3, 3e-3))
    hand = pose((5e-3, 2e-3, 3e-3), (0.0, 0.0, 0.01))
    assert_same(limiter.cycle(hand, start, away, 0.6 * MOST, velocity=velocity)[0], away)
    found, held = limiter.cycle(hand, away, away, 0.76 * MOST, velocity=velocity)
    assert_same(found, start)
    assert not held.any()
    assert list(limiter.report.move) == pytest.approx([-2e-4, 0, 0, 0, 0, 0], abs=1e-15)
    # straight, as far as a half of what is left allows: the way is 4 mm and 0.01 rad 50 mm long
    found, held = limiter.cycle(hand, start, away, 0.6 * MOST, velocity=velocity)
    part = 0.2 * MOST / (4e-3 + 0.01 * REACH)
    assert_same(found, pose((1e-3 + part * 4e-3, 2e-3, 3e-3), (0.0, 0.0, 0.01 * part)))
    assert not held.any()
    assert limiter.state.kind == STRAIGHT


@pytest.mark.parametrize("most", [MOST, math.inf])
def test_without_a_largest_depth_nothing_is_cut(library, most):
    limiter, far = Limiter(library, most), pose((0.1, 0.0, 0.0))
    found, held = limiter.cycle(far, pose(np.zeros(3)), far, 0.05, velocity=np.ones(6))
    assert (found[0][0] == 0.1) == math.isinf(most)
    assert held.all()
    assert limiter.report.limited == math.isfinite(most)
    assert limiter.state.begun == math.isfinite(most)
    assert found[1] == pytest.approx(UPRIGHT)
