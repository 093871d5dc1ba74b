"""Virtual coupling against closed forms, finite differences and a plain solve by SVD."""

from __future__ import annotations

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest

import reducedfem as rf
from reducedfem import _core
from turns import skew, turned

REST = (np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))


def random_pose(rng, size=0.01):
    q = rng.normal(size=4)
    return rng.normal(size=3) * size, q / np.linalg.norm(q)


def load(force=(0, 0, 0), torque=(0, 0, 0), gradient=None, depth=0.0):
    """Return a contact that a test makes up."""
    return rf.ContactForce(
        np.array(force, float), np.array(torque, float),
        np.zeros((6, 6)) if gradient is None else np.array(gradient, float),
        None, 0, 0, 1, 0, depth, 0.0,
    )  # fmt: skip


def floor(at, stiffness):
    """Return the contact of a point at its grasp with the plane z = 0."""
    depth = max(-at[0][2], 0.0)
    gradient = np.zeros((6, 6))
    gradient[2, 2] = -stiffness if depth > 0 else 0.0
    return load([0, 0, stiffness * depth], gradient=gradient, depth=depth)


# ---- the springs ---------------------------------------------------------------------------------


def test_force_and_torque_are_those_of_the_thesis(rng):
    coupling = rf.VirtualCoupling(500.0, 0.3)
    axis = np.array([1.0, 2.0, -2.0]) / 3.0
    for angle in (0.0, 0.1, 2.0, 3.1, -2.5, 3.5, 6.0):
        way = rng.normal(size=3)
        position, quaternion = random_pose(rng)
        for sign in (1.0, -1.0):
            hand = (position + way, sign * turned(angle * axis, quaternion))
            found = coupling.wrench(hand, position, quaternion)
            assert np.allclose(found.force, 500.0 * way, rtol=1e-13)
            # (4.14): the shorter way round
            short = math.remainder(angle, 2.0 * math.pi)
            assert np.allclose(found.torque, 0.3 * math.sin(0.5 * short) * axis, atol=1e-15)


def test_saturation_is_linear_to_half_and_then_exponential(rng):
    coupling = rf.VirtualCoupling(200.0, 0.5, max_force=4.0, max_torque=0.1)
    way = np.array([0.6, 0.0, -0.8])
    for r in (1e-4, 0.01, 0.0100001, 0.02, 0.1, 10.0):
        force = coupling.wrench((r * way, REST[1]), *REST).force
        # (4.40)
        size = 200.0 * r if r <= 0.01 else 4.0 * (1.0 - 0.5 * math.exp(-400.0 * (r - 0.01) / 4.0))
        assert np.allclose(force, size * way, rtol=1e-12)
    for angle in (0.01, 0.19, 0.21, 1.0, 3.0):
        found = coupling.wrench((np.zeros(3), turned(angle * way)), *REST)
        u = math.sin(0.5 * angle)
        size = 0.5 * u if u <= 0.1 else 0.1 * (1.0 - 0.5 * math.exp(-1.0 * (u - 0.1) / 0.1))
        assert np.allclose(found.torque, size * way, rtol=1e-12)
        assert np.allclose(found.linear_torque, 0.5 * u * way, rtol=1e-12)


@pytest.mark.parametrize("limits", [(None, None), (1.0, 0.05), (0.1, 0.01)])
def test_gradient_is_the_derivative(rng, limits):
    coupling = rf.VirtualCoupling(500.0, 0.3, max_force=limits[0], max_torque=limits[1])
    h = 1e-6

    def wrench(hand, position, quaternion, move):
        found = coupling.wrench(hand, position + move[:3], turned(move[3:], quaternion))
        return np.concatenate([found.force, found.torque])

    for _ in range(50):
        hand, (position, quaternion) = random_pose(rng), random_pose(rng)
        by_differences = np.empty((6, 6))
        for j in range(6):
            move = h * np.eye(6)[j]
            by_differences[:, j] = (
                wrench(hand, position, quaternion, move) - wrench(hand, position, quaternion, -move)
            ) / (2.0 * h)
        gradient = coupling.wrench(hand, position, quaternion).gradient
        assert np.abs(gradient - by_differences).max() < 1e-6 * np.abs(gradient).max()


# ---- one cycle -----------------------------------------------------------------------------------


def reference_step(coupling, hand, position, quaternion, contact):
    """Return the motion of a cycle without limits, by NumPy's SVD and 4.10."""
    w = coupling.wrench(hand, position, quaternion)
    length = math.sqrt(0.5 * coupling.torsional_stiffness / coupling.stiffness)
    scale = np.array([1.0, 1.0, 1.0, length, length, length])
    p = w.linear_torque / coupling.torsional_stiffness
    sine = np.linalg.norm(p)
    # springs without saturation that pull as much
    force = np.linalg.norm(w.force) / np.linalg.norm(w.linear_force / coupling.stiffness)
    torque = np.linalg.norm(w.torque) / sine
    gradient = np.zeros((6, 6))
    gradient[:3, :3] = -force * np.eye(3)
    gradient[3:, 3:] = -0.5 * torque * (math.sqrt(1.0 - sine**2) * np.eye(3) + skew(p))
    gradient += contact.gradient
    net = np.concatenate([w.force + contact.force, w.torque + contact.torque])
    gradient /= np.outer(scale, scale)
    u, s, vt = np.linalg.svd(gradient)
    resists = np.linalg.eigvalsh(-0.5 * (gradient + gradient.T))[0]
    kept = s >= coupling.degenerate * s[0]
    kept |= resists >= coupling.degenerate * coupling.stiffness
    rotation = p * (2.0 * math.asin(min(sine, 1.0)) / sine)
    way = np.concatenate([w.linear_force / coupling.stiffness, length * rotation])
    move = vt[kept].T @ ((u[:, kept].T @ (-net / scale)) / s[kept])
    move += vt[~kept].T @ (vt[~kept] @ way)
    return move / scale, int(kept.sum())


def normals_contact(rng, n, stiffness, lever=0.05):
    """Return the contact of n points in the order of (4.35)."""
    gradient, force, torque = np.zeros((6, 6)), np.zeros(3), np.zeros(3)
    for _ in range(n):
        normal = rng.normal(size=3)
        normal /= np.linalg.norm(normal)
        r, depth = lever * rng.normal(size=3), 1e-3 * rng.random()
        f = -stiffness * depth * normal
        left = np.concatenate([normal, np.cross(r, normal)])
        right = np.concatenate([-normal, np.cross(normal, r)])
        gradient += stiffness * np.outer(left, right)
        force += f
        torque += np.cross(r, f)
    return load(force, torque, gradient, 1e-3)


@pytest.mark.parametrize("limits", [(None, None), (0.5, 0.01), (0.01, 1e-4)])
@pytest.mark.parametrize("points", [0, 1, 2, 3, 8])
def test_a_cycle_is_the_solution_of_the_thesis(rng, limits, points):
    coupling = rf.VirtualCoupling(
        500.0, 0.3, max_force=limits[0], max_torque=limits[1], damping=0.25
    )
    ranks = set()
    for _ in range(20):
        position, quaternion = random_pose(rng)
        hand = (position + 0.02 * rng.normal(size=3), turned(rng.normal(size=3), quaternion))
        contact = normals_contact(rng, points, 2000.0)
        step = coupling.step(hand, position, quaternion, contact)
        move, rank = reference_step(coupling, hand, position, quaternion, contact)
        assert step.rank == rank
        assert np.allclose(step.move, 0.75 * move, rtol=1e-7, atol=1e-9)
        assert np.allclose(step.position, position + step.move[:3], rtol=0, atol=1e-15)
        expected = turned(step.move[3:], quaternion)
        assert min(np.abs(step.quaternion - expected).max(),
                   np.abs(step.quaternion + expected).max()) < 1e-14  # fmt: skip
        ranks.add(rank)
    if limits[0] == 0.01 and 0 < points < 6:
        assert min(ranks) < 6  # saturated: beside contact some directions resist no more


def test_in_free_space_the_object_follows_the_hand():
    coupling = rf.VirtualCoupling(500.0, 0.3, damping=0.0)
    hand = (np.array([0.01, -0.02, 0.003]), turned([0.3, -0.2, 0.1]))
    at = REST
    for _ in range(6):
        step = coupling.step(hand, *at)
        at = (step.position, step.quaternion)
    assert np.allclose(at[0], hand[0], atol=1e-15)
    assert np.allclose(at[1], hand[1], atol=1e-14)
    assert np.abs(step.wrench.force).max() < 1e-12


@pytest.mark.parametrize("speed", [0.1, 0.5, 1.0, 2.0, 5.0, 20.0])
def test_a_saturated_coupling_follows_a_steady_hand_steadily(speed):
    """It lags by v damping / (1 - damping) a cycle, on any part of the profile."""
    coupling = rf.VirtualCoupling(500.0, 0.3, max_force=0.05, max_torque=1e-3)
    linear = 0.5 * 0.05 / 500.0, 1e-3 / 0.3  # m, rad: where the profile begins to saturate
    step = speed * np.array([linear[0], 0.0, 0.0]), speed * linear[1]
    at, hand, lags = REST, REST, []
    for k in range(1, 41):
        hand = (k * step[0], turned([0.0, 0.0, k * step[1]]))
        found = coupling.step(hand, *at)
        at = (found.position, found.quaternion)
        turn = 2.0 * math.atan2(at[1][3], at[1][0])
        lags.append((hand[0][0] - at[0][0], k * step[1] - turn))
    lags = np.array(lags[-5:])
    assert lags[:, 0] == pytest.approx(np.full(5, step[0][0]), rel=1e-9)
    assert lags[:, 1] % (2 * np.pi) == pytest.approx(np.full(5, step[1]), rel=0.01)


def test_static_damping_halves_the_distance_each_cycle():
    coupling = rf.VirtualCoupling(500.0, 0.3)
    at, hand = REST, (np.array([0.01, 0.0, 0.0]), REST[1])
    for n in range(1, 8):
        step = coupling.step(hand, *at)
        at = (step.position, step.quaternion)
        assert math.isclose(0.01 - at[0][0], 0.01 * 0.5**n, rel_tol=1e-10)


def test_speeds_are_limited_and_directions_kept(rng):
    coupling = rf.VirtualCoupling(500.0, 0.3, damping=0.5, max_speed=2.0, max_turn_rate=3.0)
    hand = (np.array([0.3, 0.4, 0.0]), turned([0.0, 0.0, 0.5]))
    step = coupling.step(hand, *REST, dt=2e-3)
    assert step.limited
    # 4.6, and then 4.8
    assert np.allclose(step.move, [0.6 * 2e-3, 0.8 * 2e-3, 0.0, 0.0, 0.0, 3e-3], atol=1e-12)
    assert not coupling.step((np.array([1e-4, 0, 0]), REST[1]), *REST, dt=2e-3).limited


@pytest.mark.parametrize("points", range(1, 9))
def test_rendered_stiffness_is_that_of_the_theorem(rng, points):
    """Theorem of 4.7: 1 / (1/|J| + 1/k), and never above k, for any planes."""
    k = 700.0
    coupling = rf.VirtualCoupling(k, 1e6, damping=0.0, max_turn_rate=1e-12)
    for _ in range(20):
        normals = rng.normal(size=(points, 3))
        normals /= np.linalg.norm(normals, axis=1)[:, None]
        stiffness = 10.0 ** rng.uniform(1, 5, points)
        j = -(normals.T * stiffness) @ normals
        gradient = np.zeros((6, 6))
        gradient[:3, :3] = j
        felt = np.empty((3, 3))
        for axis in range(3):
            move = 1e-6 * np.eye(3)[axis]
            step = coupling.step((move, REST[1]), *REST, load(gradient=gradient))
            assert step.rank == 6
            felt[:, axis] = step.wrench.force / 1e-6
        bound = 1.0 / (1.0 / np.linalg.norm(j, 2) + 1.0 / k)
        assert np.linalg.norm(felt, 2) <= bound * (1.0 + 1e-9) <= k * (1.0 + 1e-9)
        assert math.isclose(np.linalg.norm(felt, 2), bound, rel_tol=1e-7)


def box_in_a_shaft(k=1e4, a=0.05):
    """Return the gradient of a square box in an infinite square shaft along z, by its corners."""
    gradient = np.zeros((6, 6))
    for x in (-a, a):
        for y in (-a, a):
            for z in (-a, a):
                r = np.array([x, y, z])
                for n in (np.array([np.sign(x), 0, 0]), np.array([0, np.sign(y), 0])):
                    left = np.concatenate([n, np.cross(r, n)])
                    gradient -= k * np.outer(left, left)
    return gradient


def test_a_box_slides_along_its_shaft_when_the_coupling_is_saturated():
    """Equation 4.10: one direction without resistance follows the hand; the others do not."""
    coupling = rf.VirtualCoupling(500.0, 5.0, max_force=0.1, max_torque=0.1, damping=0.0)
    way = np.array([0.0, 0.0, 0.5])
    step = coupling.step((way, REST[1]), *REST, load(gradient=box_in_a_shaft()))
    assert step.rank == 5
    assert np.allclose(step.move, [0, 0, 0.5, 0, 0, 0], atol=1e-12)


@pytest.mark.parametrize(
    ("free", "rank"),
    [
        ([0, 1, 2, 3, 4, 5], 3),  # in free space: the torsional spring is linear
        ([2], 5),  # a box in a square shaft
        ([0, 1], 4),  # between two planes
        ([3, 4, 5], 6),  # a ball in its socket: the torsional spring remains
    ],
)
def test_every_degenerate_rank(free, rank):
    gradient = -1e4 * np.diag([0.0 if i in free else 1.0 for i in range(6)])
    coupling = rf.VirtualCoupling(500.0, 5.0, max_force=0.1, damping=0.0)
    hand = (np.array([0.5, 0.4, -0.3]), REST[1])
    step = coupling.step(hand, *REST, load(gradient=gradient))
    assert step.rank == rank
    for axis in range(3):
        if axis in free:
            # the dropped directions are tilted by about 0.1 N / 0.7 m over 1e4 N/m
            assert math.isclose(step.move[axis], hand[0][axis], rel_tol=1e-4)
        else:
            assert abs(step.move[axis]) < 0.1 / 1e4 * 1.01  # no force above max_force


def test_a_ball_in_a_socket_turns_with_the_hand_when_both_springs_are_saturated():
    coupling = rf.VirtualCoupling(500.0, 5.0, max_force=0.1, max_torque=1e-4, damping=0.0)
    gradient = -1e4 * np.diag([1.0, 1, 1, 0, 0, 0])
    step = coupling.step(
        (np.array([0.5, 0, 0]), turned([0.0, 0.7, 0.0])), *REST, load(gradient=gradient)
    )
    assert step.rank == 3
    assert np.allclose(step.move[3:], [0, 0.7, 0], atol=1e-9)
    assert abs(step.move[0]) < 1.01e-5


def test_singular_values_do_not_depend_on_the_unit_of_length():
    """The same scene in metres and in millimetres has the same rank and the same motion."""
    gradient = box_in_a_shaft(1e3)
    for unit in (1.0, 1e3):
        # N/m -> N/mm for a length in millimetres; torques in N mm
        scale = np.array([1.0, 1, 1, unit, unit, unit])
        coupling = rf.VirtualCoupling(500.0 / unit, 0.002 * unit, max_force=0.1, damping=0.0)
        there = load(gradient=gradient * np.outer(scale, scale) / unit)
        hand = (unit * np.array([0.01, 0.0, 0.4]), turned([0.1, 0.0, 0.0]))
        step = coupling.step(hand, *REST, there)
        found = step.move / np.array([unit, unit, unit, 1, 1, 1])
        if unit == 1.0:
            expected, rank = found, step.rank
    assert step.rank == rank
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-15)


def test_relief_brings_the_object_back_to_half_the_depth_allowed():
    """Against a plane, by a hand that is far below it: the depth settles."""
    k, allowed = 2000.0, 1e-3
    coupling = rf.VirtualCoupling(500.0, 20.0, max_depth=2.0 * allowed, reach=0.0)
    at, share = REST, 1.0
    # the hand is far below the plane z = 0; the object a point at its grasp
    hand = (np.array([0.0, 0.0, -0.2]), REST[1])
    for _ in range(200):
        step = coupling.step(hand, *at, floor(at, k), share=share)
        at, share = (step.position, step.quaternion), step.share
    assert math.isclose(-at[0][2], allowed, rel_tol=1e-3)
    assert math.isclose(share * 500.0 * (0.2 - allowed), k * allowed, rel_tol=1e-3)
    # and is there no more as soon as nothing touches
    assert coupling.step(hand, *at, share=share).share == 1.0


# ---- dynamic coupling ----------------------------------------------------------------------------


def test_dynamic_coupling_is_a_damped_oscillator():
    """Towards the closed form of a critically damped spring as the steps shrink, in order one."""
    k, m, total = 200.0, 0.1, 0.1
    omega = math.sqrt(k / m)
    exact = -0.01 * (1.0 + omega * total) * math.exp(-omega * total)
    errors = []
    for n in (100, 200, 400):
        coupling = rf.DynamicCoupling(k, 1.0, m, 1e-4)
        at, v = REST, np.zeros(6)
        hand = (np.array([0.01, 0, 0]), REST[1])
        for _ in range(n):
            step = coupling.step(hand, *at, velocity=v, dt=total / n)
            at, v = (step.position, step.quaternion), step.velocity
        errors.append(abs(at[0][0] - 0.01 - exact))
    assert errors[0] < 2e-4
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(2.0, rel=0.1)


def test_substeps_are_shorter_steps():
    hand = (np.array([0.01, 0.005, 0]), turned([0.1, 0, 0.2]))
    v = np.array([0.1, 0.0, 0.0, 1.0, 0.0, 0.0])
    four = rf.DynamicCoupling(200.0, 1.0, 0.1, 1e-4, substeps=4)
    one = dataclasses.replace(four, substeps=1)
    # far from saturation the matrix of the first step is that of the others to first order
    whole = four.step(hand, *REST, velocity=v, dt=4e-5)
    at = REST
    for _ in range(4):
        step = one.step(hand, *at, velocity=v, dt=1e-5)
        at, v = (step.position, step.quaternion), step.velocity
    assert np.allclose(whole.position, at[0], rtol=1e-6)
    assert np.allclose(whole.velocity, v, rtol=1e-5)


@pytest.mark.parametrize("far", [5e-3, 0.05])
def test_a_saturated_dynamic_coupling_returns_to_the_hand(far):
    """Critically damped at any distance: the damper is that of the stiffness that is left."""
    k, mass, most = 600.0, 0.1, 0.1
    coupling = rf.DynamicCoupling(k, 1.0, mass, 1e-4, max_force=most)
    at, velocity, x = REST, None, []
    hand = (np.array([far, 0.0, 0.0]), REST[1])
    for _ in range(1200):
        step = coupling.step(hand, *at, velocity=velocity)
        at, velocity = (step.position, step.quaternion), step.velocity
        x.append(at[0][0])
    assert max(x) <= far * (1.0 + 1e-12)
    # v = sqrt(k r / most) most / (2 sqrt(k m)), at which the damper takes all of the force
    way = 4.0 * math.sqrt(mass * far / most)
    assert far - x[round(1e3 * (way + 0.2))] < 1e-4
    assert coupling.step(hand, *REST).wrench.force[0] == pytest.approx(most, rel=1e-6)


def test_dynamic_coupling_is_stable_in_stiff_contact():
    """The implicit step is stable with a stiffness of 1e6 N/m at 1 kHz and 0.1 kg."""
    coupling = rf.DynamicCoupling(500.0, 5.0, 0.1, 1e-4)
    at, v, k = (np.array([0.0, 0.0, 0.001]), REST[1]), np.zeros(6), 1e6
    hand = (np.array([0.0, 0.0, -0.02]), REST[1])
    for _ in range(500):
        step = coupling.step(hand, *at, floor(at, k), velocity=v)
        at, v = (step.position, step.quaternion), step.velocity
    assert math.isclose(-at[0][2], 500.0 * 0.02 / (k + 500.0), rel_tol=1e-6)


# ---- settings and mistakes -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stiffness": 0.0}, "stiffness must be positive and finite, got 0"),
        ({"torsional_stiffness": -1.0}, "torsional_stiffness must be positive"),
        ({"max_force": 0.0}, "max_force must be positive, got 0"),
        ({"max_torque": -2.0}, "max_torque must be positive"),
        ({"max_depth": 0.0}, "max_depth must be positive"),
        ({"max_speed": 0.0}, "max_speed must be positive"),
        ({"max_turn_rate": -1.0}, "max_turn"),
        ({"reach": -0.1}, "reach must be finite and not negative, got -0.1"),
        ({"damping": 1.0}, "damping must be at least 0 and less than 1, got 1"),
        ({"degenerate": 0.0}, "degenerate must be between 0 and 1"),
        ({"stiffness": math.nan}, "stiffness must be finite"),
        ({"max_force": "much"}, "max_force must be a number, got str"),
    ],
)
def test_wrong_settings_are_refused(change, message):
    settings = {"stiffness": 500.0, "torsional_stiffness": 1.0} | change
    with pytest.raises(rf.ReducedFEMError, match=message):
        rf.VirtualCoupling(**settings)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mass": 0.0}, "mass must be positive"),
        ({"inertia": -1.0}, "inertia must be positive"),
        ({"substeps": 65}, "substeps must be between 1 and 64"),
        ({"damping_ratio": -0.1}, "damping_ratio must not be negative"),
    ],
)
def test_wrong_dynamics_are_refused(change, message):
    settings = {"stiffness": 5.0, "torsional_stiffness": 1.0, "mass": 0.1, "inertia": 1.0} | change
    with pytest.raises(rf.ReducedFEMError, match=message):
        rf.DynamicCoupling(**settings)


def test_wrong_poses_and_contacts_are_refused():
    coupling = rf.VirtualCoupling(500.0, 1.0)
    with pytest.raises(rf.InputError, match=r"manipulandum: quaternion .* has norm 2"):
        coupling.wrench((np.zeros(3), [2.0, 0, 0, 0]), *REST)
    with pytest.raises(rf.InputError, match=r"^position of object\[1\] is nan"):
        coupling.step(REST, [0.0, math.nan, 0.0], REST[1])
    dynamic = rf.DynamicCoupling(500.0, 1.0, 0.1, 1e-4)
    for function in (coupling.wrench, coupling.step, dynamic.step):
        for hand, at, reported in (
            (REST, (np.zeros(2), REST[1]), r"^position of object must have shape \(3,\), got"),
            (REST, (REST[0], np.ones(3)), r"^quaternion of object must have shape \(4,\), got"),
            ((0.0, REST[1]), REST, r"^position of manipulandum must have shape \(3,\), got"),
            ((REST[0], np.ones(5)), REST, r"^quaternion of manipulandum must have shape \(4,\)"),
        ):
            with pytest.raises(rf.InputError, match=reported):
                function(hand, *at)
    with pytest.raises(rf.InputTypeError, match="manipulandum must be a Pose or a pair"):
        coupling.wrench(3, *REST)
    with pytest.raises(rf.InputTypeError, match="contact must be a ContactForce"):
        coupling.step(REST, *REST, 3.0)
    floor = rf.PointTree(rf.Pointshell(np.zeros((1, 3)), [[0.0, 0.0, -1.0]]))
    contact = rf.PenaltyContact(floor, rf.SphereField((0.0, 0.0, 0.0), 0.02), 200.0)
    with pytest.raises(rf.InputTypeError, match="got PenaltyContact; pass what its evaluate"):
        coupling.step(REST, *REST, contact)
    rotation = SimpleNamespace(as_quat=lambda: np.array([0.0, 0.0, 0.0, 1.0]))
    with pytest.raises(rf.InputTypeError, match="order w, x, y, z.*pass np.roll"):
        coupling.wrench((REST[0], rotation), *REST)
    with pytest.raises(rf.InputError, match="share must be above 0"):
        coupling.step(REST, *REST, share=0.0)
    with pytest.raises(rf.InputError, match="dt must be positive"):
        coupling.step(REST, *REST, dt=0.0)


def test_too_large_gradients_are_refused():
    coupling = rf.VirtualCoupling(500.0, 1.0)
    with pytest.raises(rf.DivergedError, match="no finite step"):
        coupling.step(REST, *REST, load(gradient=np.full((6, 6), 1e300)))


def test_the_core_checks_too():
    settings = rf.VirtualCoupling(500.0, 1.0)._core_settings(1.0)
    _core.coupling_check(settings)
    with pytest.raises(rf.InputError, match="max_force must be positive, got nan"):
        _core.coupling_check({**settings, "max_force": math.nan})


def test_a_coupling_for_a_contact():
    centre, r = np.array([0.0, 0.0, 0.1]), 0.02
    surface = sphere(r)
    field = rf.DistanceField.from_surface(surface, resolution=24)
    shell = rf.Pointshell.from_surface(surface, points=200, levels=2, rng=0)
    contact = rf.PenaltyContact(rf.PointTree(shell), field, 100.0, grasp=centre)
    spacing = float(np.max(field.spacing))
    coupling = rf.VirtualCoupling.for_contact(contact, 300.0)
    # of a ball of volume: 3/5 r^2, and the way to the grasp point
    lever = math.hypot(math.sqrt(0.6) * r, 0.1)
    # twice as deep as one point gets by twice the force that is rendered: linear up to that
    assert coupling.max_force is coupling.max_torque is None
    assert coupling.max_depth == pytest.approx(4.0 * 10.0 / 100.0)
    assert coupling.torsional_stiffness == pytest.approx(600.0 * lever**2, rel=1e-2)
    # the farthest point of the ball, and at most the diagonal of a cell more
    assert 0.1 + r <= coupling.reach <= 0.1 + r + math.sqrt(3.0) * spacing
    assert coupling.max_speed == pytest.approx(spacing * 1e3)
    assert rf.VirtualCoupling.for_contact(contact, 300.0, max_torque=0.1).max_torque == 0.1
    given = rf.VirtualCoupling.for_contact(contact, 300.0, depth=0.25 * spacing)
    assert given.max_depth == pytest.approx(0.5 * spacing)
    weak = rf.VirtualCoupling.for_contact(contact, 300.0, force=1e-6)
    assert weak.max_depth == pytest.approx(spacing)  # not below what samples resolve
    fitted = rf.PenaltyContact(contact.tree, field, grasp=centre)
    assert fitted.stiffness == "auto"
    stiff = rf.VirtualCoupling.for_contact(fitted, 300.0, force=50.0)
    assert stiff.max_depth == pytest.approx(4.0 * 50.0 / (20.0 * 300.0))
    with pytest.raises(rf.InputError, match="force must be positive, got 0"):
        rf.VirtualCoupling.for_contact(contact, 300.0, force=0.0)
    ball = rf.PenaltyContact(rf.PointTree(shell), rf.SphereField((0, 0, 0), 0.1), 100.0)
    with pytest.raises(rf.InputTypeError, match="DistanceField, got SphereField"):
        rf.VirtualCoupling.for_contact(ball, 300.0)


def sphere(radius, n=12):
    """Return a closed sphere of triangles."""
    theta = np.linspace(0.0, math.pi, n + 1)[1:-1]
    phi = np.linspace(0.0, 2.0 * math.pi, 2 * n, endpoint=False)
    rings = [
        [[math.sin(t) * math.cos(p), math.sin(t) * math.sin(p), math.cos(t)] for p in phi]
        for t in theta
    ]
    points = np.array([[0.0, 0, 1], *(p for ring in rings for p in ring), [0, 0, -1]])
    m, last = 2 * n, len(points) - 1
    faces = [[0, 1 + j, 1 + (j + 1) % m] for j in range(m)]
    for i in range(len(theta) - 1):
        for j in range(m):
            a, b = 1 + i * m + j, 1 + i * m + (j + 1) % m
            faces += [[a, a + m, b + m], [a, b + m, b]]
    faces += [[last, last - m + (j + 1) % m, last - m + j] for j in range(m)]
    return rf.Surface(radius * points, np.array(faces))
