"""Safety limits between the simulation and a hand, one by one: limits, passivity, workspace.

The functions are those of the library, called one by one; plain versions say the same in NumPy.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import reducedfem as rf
from bridges import ball_on_a_floor
from haptic_core import (
    BROKEN,
    CLAMPED,
    FADING,
    PAUSED,
    REAL,
    SILENT,
    SLEWED,
    UPRIGHT,
    Pose,
    SafetySettings,
    SafetyState,
    Sample,
    Settings,
    State,
    WorkspaceSettings,
    WorkspaceState,
    Wrench,
    at,
    build,
    endless,
)  # fmt: skip
from turns import product, turn_between, turned

DT = 2.0**-10  # s, so that sums of it are exact


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return build(tmp_path_factory.mktemp("limits"))


def parts(wrench):
    return np.array([*wrench.force, *wrench.torque])


def wrench_of(values):
    return Wrench(tuple(values[:3]), tuple(values[3:]))


# ---- limits --------------------------------------------------------------------------------------


def no_longer(vector, most):
    """Return the vector, as long as is allowed, and whether it was longer."""
    length = np.linalg.norm(vector)
    return (vector * (most / length), True) if length > most else (vector, False)


class PlainLimits:
    """`rf_safety_limit_rt`, in words: share, size, then step."""

    def __init__(self, limits):
        self.limits, self.ramp, self.last = limits, 0.0, np.zeros(6)
        self.shortest = 0.0

    def limit(self, wanted, enabled, cut):
        s = self.limits
        if cut:
            self.shortest = 0.05
        fade = max(s.ramp, self.shortest if enabled else 0.0)
        step = DT / fade if fade else 1.0
        if cut:
            self.ramp = 0.0
        elif enabled:
            self.ramp = min(self.ramp + step, 1.0)
        else:
            self.ramp = max(self.ramp - step, 0.0)
        flags = FADING if self.ramp < 1.0 else 0
        if not flags:
            self.shortest = 0.0
        out = []
        for k, most, slew in ((0, s.max_force, s.slew), (3, s.max_torque, s.torque_slew)):
            part, clamped = no_longer(self.ramp * wanted[k : k + 3], most)
            flags |= CLAMPED * clamped
            if not cut:
                way, slewed = no_longer(part - self.last[k : k + 3], slew * DT)
                part = self.last[k : k + 3] + way
                flags |= SLEWED * slewed
            out.append(part)
        self.last = np.concatenate(out)
        return self.last, flags


@pytest.mark.parametrize("ramp", [0.0, 0.02])
@pytest.mark.parametrize("silence", [0.01, math.inf])
@pytest.mark.parametrize("slew", [1000.0, 4000.0])
def test_limits_against_a_plain_version(library, rng, ramp, silence, slew):
    limits = SafetySettings(3.0, 0.2, slew, 0.05 * slew, ramp, silence)
    state, plain = SafetyState(enabled=True), PlainLimits(limits)
    sample = Sample()
    quiet, seen = 0.0, 0
    for cycle in range(600):
        state.enabled = cycle % 200 < 150
        new = cycle % 100 < 60
        sample.count += new
        elapsed = DT * rng.integers(1, 4)
        quiet = 0.0 if new else quiet + elapsed
        flags = library.rf_safety_watch_rt(at(limits), elapsed, at(sample), at(state))
        assert (state.quiet, state.count) == (quiet, sample.count)
        assert flags == (SILENT if quiet > silence else 0)
        paused = cycle % 90 == 89
        if paused:
            assert library.rf_safety_pause_rt(at(state)) == PAUSED
        wanted = rng.normal(size=6) * [3.0, 3.0, 3.0, 0.2, 0.2, 0.2]
        wrench = wrench_of(wanted)
        flags = library.rf_safety_limit_rt(at(limits), DT, at(state), at(wrench))
        expected, noted = plain.limit(wanted, state.enabled, paused or quiet > silence)
        np.testing.assert_allclose(parts(wrench), expected, rtol=1e-12, atol=1e-15)
        assert flags == noted
        assert state.ramp == pytest.approx(plain.ramp, abs=1e-15)
        seen |= flags | (SILENT if quiet > silence else 0)
    wanted = FADING | CLAMPED | SLEWED | (SILENT if silence < 1.0 else 0)
    assert seen & wanted == wanted


def test_silence_and_pauses_remove_the_force_at_once_at_any_slew_rate(library):
    """The device may be gone; a returning force is slewed again, from zero."""
    limits = SafetySettings(math.inf, math.inf, 100.0, 1.0, 0.0, 0.01)
    for quiet, paused in ((0.02, False), (0.0, True)):
        state = SafetyState(wrench_of(np.ones(6)), 1.0, quiet, 0, True)
        if paused:
            assert library.rf_safety_pause_rt(at(state)) == PAUSED
        wrench = wrench_of(np.full(6, 5.0))
        flags = library.rf_safety_limit_rt(at(limits), DT, at(state), at(wrench))
        assert flags == FADING
        assert not parts(wrench).any()
        state.quiet = 0.0
        wrench = wrench_of(np.array([50.0, 0.0, 0.0, 0.0, 5.0, 0.0]))
        flags = library.rf_safety_limit_rt(at(limits), DT, at(state), at(wrench))
        assert flags == SLEWED | FADING
        assert parts(wrench) == pytest.approx([100.0 * DT, 0, 0, 0, DT, 0], rel=1e-12)


@pytest.mark.parametrize("enabled", [True, False])
def test_silence_begins_when_it_is_longer_than_allowed(library, enabled):
    limits = endless(ramp=8 * DT, silence=4 * DT)
    state = SafetyState(ramp=1.0, quiet=3 * DT, enabled=enabled)
    sample = Sample()
    found = []
    for _ in range(2):
        flags = library.rf_safety_watch_rt(at(limits), DT, at(sample), at(state))
        wrench = wrench_of(np.ones(6))
        library.rf_safety_limit_rt(at(limits), DT, at(state), at(wrench))
        found.append((flags, wrench.force[0]))
    assert found == [(0, 1.0 if enabled else 0.875), (SILENT, 0.0)]


def test_the_last_check_clamps(library):
    """A damper of the passivity controller may have added to what was limited."""
    limits = SafetySettings(2.0, 0.5, 1.0, 1.0, 1.0, 1.0)
    for force, torque, clamped in (
        ((3.0, 0.0, 4.0), (0.0, 0.4, 0.0), True),
        ((1.0, 0.0, 1.0), (0.0, 3.0, 4.0), True),
        ((6.0, 0.0, 8.0), (0.0, 3.0, 4.0), True),
        ((1.2, 0.0, 1.6), (0.0, 0.3, 0.4), False),
    ):
        state, wrench = SafetyState(ramp=0.5, enabled=True), Wrench(force, torque)
        flags = library.rf_safety_last_rt(at(limits), at(state), at(wrench))
        assert flags == (CLAMPED if clamped else 0)
        for found, given, most in ((wrench.force, force, 2.0), (wrench.torque, torque, 0.5)):
            assert list(found) == pytest.approx(no_longer(np.array(given), most)[0], rel=1e-12)
        assert (state.enabled, state.ramp) == (True, 0.5)


def test_a_damping_force_is_clamped_to_the_limit():
    """A hand is thrown out of a wall, then slower: without the clamp the damper would give 2 N."""
    most = 0.5
    z = np.concatenate([np.full(100, 0.014), 0.024 + 1e-4 * np.arange(100)])
    places = np.stack([np.zeros(200), np.zeros(200), z], axis=-1)
    made = rf.HapticSession(
        ball_on_a_floor(), rf.ReplayDevice(1e-3 * np.arange(200), places),
        coupling=rf.VirtualCoupling(500.0, 1.0), ramp=0.0, max_force=most, passivity=True,
        energy_allowance=0.0,
    )  # fmt: skip
    records = made.run(200)
    made.close()
    force = records["force"][:, 2]
    assert force.max() == pytest.approx(most, rel=1e-12)
    # without the limit it would be as strong as its damping allows
    assert force[101:110] == pytest.approx(-most, rel=1e-12)
    assert records.flagged("clamped")[101:110].all()


@pytest.mark.parametrize("largest", [1.7e308])
def test_forces_whose_difference_overflows_become_zero(library, largest):
    """The difference of forces at both ends of the range overflows."""
    settings = SafetySettings(math.inf, math.inf, 100.0, 100.0, 0.0, 1.0)
    state = SafetyState(Wrench((-largest, 0.0, 0.0)), 1.0, 0.0, 0, True)
    wrench = Wrench((largest, 1.0, 0.0))
    flags = library.rf_safety_limit_rt(at(settings), DT, at(state), at(wrench))
    assert flags == BROKEN
    assert list(wrench.force) == list(state.last.force) == [0.0, 0.0, 0.0]
    assert not state.enabled


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("stage", ["first", "last"])
def test_forces_that_are_not_finite_become_zero(library, stage, value):
    """NaN from the coupling or the passivity controller: zero force from this cycle on."""
    settings = endless(silence=1.0)
    for k in range(6):
        values = np.zeros(6)
        values[k] = value
        state = SafetyState(Wrench((1.0, 2.0, 3.0)), 1.0, 0.0, 0, True)
        wrench = wrench_of(values)
        limit, rest = library.rf_safety_last_rt, ()
        if stage == "first":
            limit, rest = library.rf_safety_limit_rt, (REAL(DT),)
        flags = limit(at(settings), *rest, at(state), at(wrench))
        assert flags == BROKEN
        assert not parts(wrench).any()
        assert not parts(state.last).any()
        assert not state.enabled
        assert state.ramp == 0.0


# ---- passivity -----------------------------------------------------------------------------------

SPEND, RECOVER = 0.02, 0.3


def stepped(library, settings, state, wanted, pose, rates=None, elapsed=DT, share=1.0):
    """Return what goes out, after a step of the controller; the device holds it."""
    wrench = wrench_of(wanted)
    rates = rates or endless()  # lives as long as its address is in use
    library.rf_passivity_step_rt(
        at(settings), at(rates), DT, elapsed, share, at(pose), at(state), at(wrench)
    )
    library.rf_passivity_hold_rt(at(wrench), at(state))
    return parts(wrench)


class PlainPassivity:
    """`rf_passivity_step_rt`, by its header: observer, controller, damper."""

    def __init__(self, settings, rates):
        self.settings, self.rates = settings, rates
        self.pose, self.held = None, np.zeros(6)
        self.energy = self.most = self.less = self.taken = 0.0

    def step(self, wanted, position, quaternion, elapsed, share):
        out, s = wanted.copy(), self.settings
        if self.pose is not None:
            move = np.concatenate([position - self.pose[0], turn_between(self.pose[1], quaternion)])
            self.energy += self.held @ move
            self.most = max(self.most, self.energy)
            if s.control:
                out = self.controlled(out, move * (DT / elapsed), share)
        self.pose, self.held = (position, quaternion), out
        return out

    def controlled(self, out, move, share):
        left = 0.5 * self.settings.allowance - self.energy
        may = max(left, 0.0) * min(DT / SPEND, 1.0)
        would = out @ move
        back = min(
            DT / RECOVER, 1.0, DT * self.rates.slew / np.linalg.norm(out[:3]),
            DT * self.rates.torque_slew / np.linalg.norm(out[3:]),
        )  # fmt: skip
        self.less *= 1.0 - back
        if would > may:
            self.less = max(self.less, 1.0 - may / would)
        out = out * (1.0 - self.less)
        self.taken += max(self.less * would, 0.0)
        for k, most in ((0, self.settings.max_damping), (3, self.settings.max_torsion)):
            square = move[k : k + 3] @ move[k : k + 3]
            if left >= 0.0 or not square:
                continue
            c = min(-left * DT / square, share * most)
            out[k : k + 3] -= c * move[k : k + 3] / DT
            self.taken += c * square / DT
            left += c * square / DT
        return out


@pytest.mark.parametrize("allowance", [0.0, 2e-3, 1.0])
@pytest.mark.parametrize("rates", [math.inf, 300.0])
def test_passivity_against_a_plain_version(library, rng, allowance, rates):
    """A hand that oscillates and turns while forces push it."""
    settings = Settings(True, allowance, 3.0, 0.01)
    slews = SafetySettings(math.inf, math.inf, rates, 0.02 * rates, 0.0, math.inf)
    state, plain = State(), PlainPassivity(settings, slews)
    position, quaternion, velocity = np.zeros(3), np.array(UPRIGHT), np.zeros(6)
    for _ in range(600):
        elapsed = DT * rng.integers(1, 4)
        velocity += rng.normal(size=6) * [0.03, 0.03, 0.03, 1.0, 1.0, 1.0] - 0.05 * velocity
        position = position + elapsed * velocity[:3]
        quaternion = product(turned(elapsed * velocity[3:]), quaternion)
        quaternion /= np.linalg.norm(quaternion)
        wanted = rng.normal(size=6) + 20.0 * velocity * [1.0, 1.0, 1.0, 1e-3, 1e-3, 1e-3]
        wanted[3:] *= 0.02
        share = rng.uniform()
        pose = Pose(tuple(position), tuple(quaternion))
        found = stepped(library, settings, state, wanted, pose, slews, elapsed, share)
        expected = plain.step(wanted, position, quaternion, elapsed, share)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        for name in ("energy", "most", "less", "taken"):
            assert getattr(state, name) == pytest.approx(getattr(plain, name), abs=1e-12), name
    # it acted, in both ways
    assert plain.taken > 0.0
    assert plain.most >= 0.4 * allowance


@pytest.mark.parametrize("turning", [False, True])
def test_constant_speed_gains_half_of_the_allowance(library, turning):
    """The other half is kept for changes of motion: E = A / 2 (1 - (1 - dt / 20 ms)^n)."""
    allowance, speed = 0.02, 0.5
    settings, state = Settings(True, allowance, 0.0, 0.0), State()
    k = 3 if turning else 0
    wanted = np.eye(6)[k] * 1000.0
    for n in range(200):
        way = (n * DT * speed, 0.0, 0.0)
        pose = Pose((0.0,) * 3, tuple(turned(np.array(way)))) if turning else Pose(way, UPRIGHT)
        stepped(library, settings, state, wanted if n else np.zeros(6), pose)
        given = 0.5 * allowance * (1.0 - (1.0 - DT / SPEND) ** max(n - 1, 0))
        assert state.energy == pytest.approx(given, rel=1e-9, abs=1e-15)
    assert state.energy == pytest.approx(0.5 * allowance, rel=1e-3)


@pytest.mark.parametrize("share", [1.0, 0.25])
@pytest.mark.parametrize("strong", [False, True])
def test_dampers_dissipate_energy_beyond_half_of_the_allowance(library, share, strong):
    """First by force, the rest by torque, each up to its largest damping."""
    velocity, spin, over = np.array([0.3, -0.1, 0.2]), np.array([2.0, 1.0, -3.0]), 1e-4
    settings = Settings(True, 0.02, *((1e3, 10.0) if strong else (0.1, 1e-4)))
    pose = Pose(tuple(DT * velocity), tuple(turned(DT * spin)))
    for both in (True, False):
        state = State(True, Pose((0.0,) * 3, UPRIGHT), Wrench(), 0.01 + over)
        if not both:  # the handle turns in one place
            pose.position[:] = (0.0, 0.0, 0.0)
        found = stepped(library, settings, state, np.zeros(6), pose, share=share)
        left, expected = over, []
        for v, most in ((velocity * both, settings.max_damping), (spin, settings.max_torsion)):
            c = min(left / (v @ v) / DT, share * most) if v.any() else 0.0
            left -= c * (v @ v) * DT
            expected.append(-c * v)
        np.testing.assert_allclose(found, np.concatenate(expected), rtol=1e-9, atol=1e-15)
        assert state.taken == pytest.approx(over - left, rel=1e-9)
        assert (left == pytest.approx(0.0, abs=1e-18)) == strong


@pytest.mark.parametrize("slew", [math.inf, 30.0])
def test_omitted_forces_return_slowly(library, slew):
    """Within 300 ms, or no faster than the slew rate: 10 N, of which none is sent at first."""
    rates = SafetySettings(math.inf, math.inf, slew, math.inf, 0.0, math.inf)
    settings = Settings(True, 1.0, 0.0, 0.0)
    place = Pose((0.0,) * 3, UPRIGHT)
    state = State(True, place, Wrench(), 0.0, 0.0, 1.0)
    wanted = np.array([6.0, 0.0, 8.0, 0.0, 0.0, 0.0])
    rate = min(DT / RECOVER, DT * slew / 10.0)
    last = np.zeros(6)
    for n in range(1, 300):
        found = stepped(library, settings, state, wanted, place, rates)
        assert found == pytest.approx(wanted * (1.0 - (1.0 - rate) ** n), rel=1e-9)
        assert np.linalg.norm(found - last) <= slew * DT * (1.0 + 1e-9)
        last = found


@pytest.mark.parametrize("periods", [1, 7])
def test_a_damper_of_the_passivity_controller_is_that_of_the_velocity(library, periods):
    """After periods without a cycle the hand has moved farther, at the same velocity."""
    velocity, most = 0.2, 5.0
    settings = Settings(True, 0.0, most, most)
    state = State(True, Pose((0.0, 0.0, 0.0), UPRIGHT), Wrench((10.0, 0.0, 0.0)))
    now = Pose((velocity * periods * DT, 0.0, 0.0), UPRIGHT)
    found = stepped(library, settings, state, np.zeros(6), now, elapsed=periods * DT)
    # the energy given in between, by the held force: exact
    assert state.energy == pytest.approx(10.0 * velocity * periods * DT, rel=1e-12)
    assert found[:3] == pytest.approx([-most * velocity, 0.0, 0.0], rel=1e-12)
    assert state.taken == pytest.approx(most * velocity**2 * DT, rel=1e-12)


# ---- workspace -----------------------------------------------------------------------------------


@pytest.mark.parametrize("absolute", [True, False])
def test_poses_of_the_device_in_the_world(library, rng, absolute):
    """A place x is at o + W (x - c) / s; a rotation Q is W Q W^-1 B; a clutch moves o, c and B.

    Quaternions of a driver have few digits; those in the world have length 1 nevertheless.
    """
    aligned = turned(np.array([0.3, -0.7, 0.5]))
    inverse = aligned * [1, -1, -1, -1]
    start = rng.normal(size=3), turned(rng.normal(size=3))
    settings = WorkspaceSettings(
        2.5, 1.0, tuple(aligned), absolute, Pose(tuple(start[0]), tuple(start[1])), 6
    )
    state = WorkspaceState()
    library.rf_workspace_recentre_rt(at(settings.start), at(state))
    at_rest, origin, centre, beside = start, np.zeros(3), np.zeros(3), np.array(UPRIGHT)
    for cycle in range(40):
        place, rotation = rng.normal(size=3), turned(rng.normal(size=3))
        clutched = 10 <= cycle < 20
        # released, it continues from where it stayed
        anew = 10 <= cycle <= 20 or (cycle == 0 and not absolute)
        whole = product(product(aligned, rotation), inverse)
        if anew:
            origin, centre = at_rest[0], place
            beside = product(whole * [1, -1, -1, -1], at_rest[1])
        device = Pose(tuple(place), tuple(rotation * (1.0 + 1e-9)))
        buttons = 2 * clutched | 1
        library.rf_workspace_map_rt(at(settings), at(device), buttons, at(state))
        way = product(product(aligned, np.append(0.0, place - centre)), inverse)[1:]
        at_rest = origin + way / 2.5, product(whole, beside)
        found = np.array(state.manipulandum.quaternion)
        assert np.linalg.norm(found) == pytest.approx(1.0, abs=1e-15)
        assert list(state.manipulandum.position) == pytest.approx(at_rest[0], abs=1e-12)
        assert turn_between(at_rest[1], found) == pytest.approx(np.zeros(3), abs=1e-8)
        assert state.held == clutched
