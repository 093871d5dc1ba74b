"""Closed forms of friction that a hand feels: onset of slip, hysteresis, directions, rotation."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from friction_sessions import PRESSED, TORSION, K, floor, pressed, run, tool

MU = 0.4
NORMAL = K * PRESSED  # N
ONSET = MU * NORMAL / K  # m, way of the hand at which the tool slips
DOWN = 300  # cycles until the hand moves
PLACES = 0.005 * np.arange(-3, 4)  # m, of the points below the tool


def rough(mu=MU):
    return rf.FrictionContact(floor()[0], tool(), mu, budget_us=1e6)


def later(way):
    """Return a way of the hand that begins after it has come down."""
    return np.concatenate([np.zeros(DOWN), way])


def about_z(angle):
    """Return quaternions of rotations about the normal of the floor, shape (n, 4)."""
    zero = np.zeros_like(angle)
    return np.stack([np.cos(0.5 * angle), zero, zero, np.sin(0.5 * angle)], axis=1)


def turned(records):
    """Return angles of the tool about the normal."""
    return 2.0 * np.arcsin(records["object_quaternion"][:, 3])


def under():
    """Return the points below the tool, shape (49, 2)."""
    return np.stack(np.meshgrid(PLACES, PLACES), axis=-1).reshape(-1, 2)


def passive(records):
    """Return True if the hand has never received energy."""
    return records["energy_j"].max() <= 0.0


# ---- translation --------------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [0.1, 0.4, 1.0])
def test_a_tool_slips_after_a_way_of_mu_n_over_k(mu):
    onset = mu * NORMAL / K
    way = later(np.linspace(0.0, 1.5 * onset, 1000))
    records = run(rough(mu), pressed(len(way), way))
    x = records["object_position"][:, 0]
    # its speed over that of the hand: 0, then 1
    speed = np.diff(x) / (way[-1] - way[-2])
    first = DOWN + np.argmax(speed[DOWN:] > 0.5)
    np.testing.assert_allclose(way[first], onset, rtol=5e-3)
    assert np.abs(speed[DOWN : first - 10]).max() < 0.01
    np.testing.assert_allclose(speed[first + 20 :], 1.0, rtol=1e-3)
    assert passive(records)


@pytest.mark.parametrize("degrees", [0.0, 30.0, 45.0, 100.0, 217.0])
def test_friction_is_the_same_in_all_directions_and_against_the_motion(degrees):
    way = later(np.linspace(0.0, 2.0 * ONSET, 500))
    towards = np.array([np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))])
    records = run(rough(), pressed(len(way), way * towards[0], way * towards[1]))
    force = records["contact_force"][-1, :2]
    # that of a pyramid of four sides would be up to 1.41 times as large
    np.testing.assert_allclose(np.linalg.norm(force), MU * NORMAL, rtol=3e-3)
    np.testing.assert_allclose(force / np.linalg.norm(force), -towards, atol=1e-3)
    moved = records["object_position"][-1, :2]
    np.testing.assert_allclose(moved, (2.0 * ONSET - ONSET) * towards, atol=5e-3 * ONSET)


def test_a_tool_that_is_dragged_around_a_corner_follows_a_tractrix():
    """A spring that is always as long as friction allows pulls the tool towards the hand."""
    first, step = 400, 4e-6
    x = later(np.minimum(np.arange(1100) * step, first * step))
    y = later(np.maximum(np.arange(1100) - first, 0) * step)
    records = run(rough(), pressed(len(x), x, y))
    gone = slice(DOWN + first, None)
    pull = np.stack([x, y], axis=1)[gone] - records["object_position"][gone, :2]
    np.testing.assert_allclose(np.linalg.norm(pull, axis=1), ONSET, rtol=5e-3)
    # angle between the spring and the way of the hand, y: tan(angle / 2) = exp(-s / length)
    angle = np.arctan2(pull[:, 0], pull[:, 1])
    expected = 2.0 * np.arctan(np.exp(-y[gone] / ONSET))
    np.testing.assert_allclose(angle, expected, atol=0.01)
    assert expected[-1] < 0.1
    assert passive(records)


@pytest.mark.parametrize("part", [0.5, 2.0, 4.0])
def test_a_cycle_of_the_hand_costs_the_area_of_its_hysteresis(part):
    """With the amplitude A the area is 4 mu N (A - mu N / k), or none below the onset of slip."""
    period, amplitude = 1000, part * ONSET
    phase = 2.0 * np.pi * np.arange(int(2.25 * period) + 1) / period
    way = later(amplitude * np.sin(phase))
    # damping of the coupling would add a viscous part
    coupling = rf.VirtualCoupling(K, TORSION, damping=0.0)
    records = run(rough(), pressed(len(way), way), coupling=coupling)
    begin, end = DOWN + period // 4, DOWN + period // 4 + period
    cost = records["energy_j"][begin] - records["energy_j"][end]
    area = max(4.0 * MU * NORMAL * (amplitude - ONSET), 0.0)
    # a site yields by a thousandth of what the bodies do; forces that are held for a cycle give
    # the hand half of k speed^2 dt
    np.testing.assert_allclose(cost, area, rtol=0.01, atol=4e-3 * MU * NORMAL * ONSET)
    felt = records["force"][begin : end + 1, 0]
    done = 0.5 * (felt[1:] + felt[:-1]) @ np.diff(way[begin : end + 1])
    np.testing.assert_allclose(-done, area, rtol=0.01, atol=4e-3 * MU * NORMAL * ONSET)
    # the second cycle is like the first
    again = records["energy_j"][end] - records["energy_j"][end + period]
    np.testing.assert_allclose(again, cost, rtol=1e-3, atol=1e-3 * MU * NORMAL * ONSET)
    assert passive(records)


def test_a_reversal_sticks_over_twice_the_onset():
    there = np.linspace(0.0, 3.0 * ONSET, 600)
    way = later(np.concatenate([there, there[::-1]]))
    records = run(rough(), pressed(len(way), way))
    x = records["object_position"][:, 0]
    back = x[DOWN + 600 :]
    first = np.argmax(back < back.max() - 0.01 * ONSET)
    np.testing.assert_allclose(3.0 * ONSET - there[::-1][first], 2.0 * ONSET, rtol=0.01)
    np.testing.assert_allclose(x[-1], ONSET, rtol=0.01)


def test_a_mass_that_is_drawn_over_the_floor_jerks():
    """After the first slip its speed is V (1 - cos(w t)), from rest to rest."""
    speed, mass = 0.004, 2.5
    omega = np.sqrt(K / mass)
    way = later(speed * 1e-3 * np.arange(700))
    coupling = rf.DynamicCoupling(K, TORSION, mass=mass, inertia=1e-3, damping_ratio=0.0)
    records = run(rough(), pressed(len(way), way), coupling=coupling)
    x = records["object_position"][:, 0]
    rate = np.diff(x) / 1e-3
    # the step is of first order: damping of omega dt / 2
    begin = DOWN + ONSET / speed / 1e-3
    turn = round(2.0 * np.pi / omega / 1e-3)
    sample = round(begin)
    assert np.abs(rate[DOWN : sample - 10]).max() < 0.01 * speed
    t = 1e-3 * (np.arange(len(rate)) - begin)[sample : sample + turn]
    np.testing.assert_allclose(
        rate[sample : sample + turn], speed * (1.0 - np.cos(omega * t)), atol=0.08 * speed
    )
    np.testing.assert_allclose(x[sample + turn] - x[sample], 2.0 * np.pi * speed / omega, rtol=0.02)


# ---- rotation -----------------------------------------------------------------------------------


def test_a_patch_resists_turning_by_mu_n_times_its_mean_radius():
    angle = later(np.linspace(0.0, 0.01, 800))
    records = run(rough(), pressed(len(angle)), about_z(angle))
    limit = MU * NORMAL * np.linalg.norm(under(), axis=1).mean()
    torque = -records["contact_torque"][:, 2]
    slips = turned(records) > 1e-3
    assert slips.sum() > 200
    np.testing.assert_allclose(torque[slips], limit, rtol=5e-3)
    # it sticks while the torque of the spring, k_T sin(angle / 2), is smaller
    sticks = TORSION * np.sin(0.5 * angle) < 0.9 * limit
    assert sticks[DOWN:].sum() > 200
    assert np.abs(turned(records)[sticks]).max() < 2e-3 * angle[sticks].max()
    onset = angle[np.argmax(turned(records) > 1e-4)]
    np.testing.assert_allclose(onset - 1e-4, 2.0 * np.arcsin(limit / TORSION), rtol=0.02)
    assert passive(records)


def test_a_patch_that_turns_is_easier_to_push():
    """Forces of sliding points are against their own velocities."""
    n, rate, speed = 1600, 0.04, 4e-4
    time = 1e-3 * np.arange(n)
    angle, way = later(rate * time), later(speed * time)
    records = run(rough(), pressed(len(way), way), about_z(angle))
    at = records["object_position"][-1, :2]
    speeds = np.diff(records["object_position"][-11:, :2], axis=0).mean(axis=0)
    spin = np.diff(turned(records)[-11:]).mean()
    # it slips as fast as the hand turns, and nearly as fast as it moves
    np.testing.assert_allclose(spin, 1e-3 * rate, rtol=0.02)
    assert speeds[0] > 0.7e-3 * speed
    arm = under() - at
    slip = speeds + spin * np.stack([-arm[:, 1], arm[:, 0]], axis=1)
    slip /= np.linalg.norm(slip, axis=1, keepdims=True)
    # pressure of a rigid tool on points that yield alike, its centre below the hand
    share = (1.0 + under() @ at / (under()[:, 0] ** 2).mean()) / len(under())
    force = -MU * NORMAL * share @ slip
    assert 0.3 < -force[0] / (MU * NORMAL) < 0.9
    np.testing.assert_allclose(records["contact_force"][-1, :2], force, atol=0.01 * MU * NORMAL)
    torque = -MU * NORMAL * share @ (arm[:, 0] * slip[:, 1] - arm[:, 1] * slip[:, 0])
    np.testing.assert_allclose(records["contact_torque"][-1, 2], torque, rtol=0.01)
    assert passive(records)
