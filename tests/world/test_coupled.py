"""Object and shell in one solve: against the whole system of 6 + r, and against the split cycle."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import reducedfem as rf
from bars import bar
from failures import fail_each_allocation
from turns import rotation, turned

UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])
GRASP = np.array([0.004, -0.002, 0.01])
DAMPED = 3.0  # stiffness of contact and its damping in a cycle, over the stiffness


@pytest.fixture(scope="module")
def beam():
    """Return a reduced beam that one end holds, and points on its upper side."""
    reduced = bar()
    return reduced, shell_of(reduced)


@pytest.fixture(scope="module")
def damped(beam):
    """Return the same beam with a damper by the rate of strain."""
    mesh, basis = beam[0].mesh, beam[0].basis
    solid = rf.Solid(mesh, rf.StVK(1e6, 0.4, 1000.0), fixed=mesh.nodes[:, 0] < 1e-9)
    return rf.reduce(solid, basis, strain_rate=rf.StrainRateDamping(solid, 1.0, 1.0))


def shell_of(reduced, normal=-1.0):
    x, y = np.linspace(0.01, 0.2, 60), np.linspace(0.0, 0.03, 13)
    points = np.stack(np.meshgrid(x, y, [0.03], indexing="ij"), axis=-1).reshape(-1, 3)
    shell = rf.Pointshell(points, np.tile([0.0, 0.0, normal], (len(points), 1)))
    return rf.PointTree(shell, reduced, rf.Embedding(reduced.mesh, points))


def press(tree, stiffness, **options):
    """Return the contact of a ball that is held beside its centre."""
    field = rf.SphereField((0.0, 0.0, 0.0), 0.02)
    return rf.PenaltyContact(tree, field, stiffness, None, grasp=GRASP, **options)


def down_and_hold(depth, rate=1000.0):
    """Return a hand that presses the ball on the beam near its free end, and stays."""
    x, y = GRASP[0] + 0.18, GRASP[1] + 0.015
    z = GRASP[2] + np.array([0.052, 0.052, 0.05 - depth, 0.05 - depth])
    return rf.ReplayDevice([0.0, 0.02, 0.2, 10.0], [[x, y, height] for height in z])


def session(contact, device, simulation, rate=1000.0, **options):
    options = {"coupling": rf.VirtualCoupling(500.0, 1.0), "ramp": 0.0, "budget_us": 0.0} | options
    return rf.HapticSession(contact, device, simulation=simulation, rate=rate, **options)


# ---- the derivatives of contact ------------------------------------------------------------------


@pytest.mark.parametrize("most", [None, 10])
@pytest.mark.parametrize("field", ["ball", "grid", "plane"])
@pytest.mark.parametrize("direction", ["gradient", "normal"])
def test_blocks_are_derivatives_of_forces_whose_directions_stay(rng, beam, most, field, direction):
    """All generalised forces, k d W at each point, by differences of its distance."""
    reduced, tree = beam
    ball = rf.SphereField((0.0, 0.0, 0.0), 0.02)
    if field == "grid":
        axis = np.linspace(-0.03, 0.03, 25)
        values = np.sqrt(sum(a**2 for a in np.meshgrid(axis, axis, axis, indexing="ij"))) - 0.02
        ball = rf.DistanceField(values.astype(np.float32), [-0.03] * 3, [0.06 / 24] * 3)
    if field == "plane":
        ball = rf.PlaneField((0.0, 0.0, -0.02), (0.0, 0.0, -1.0))
    contact = rf.PenaltyContact(
        tree, ball, 300.0, None, grasp=GRASP, max_points=most, direction=direction
    )
    q = 2e-4 * rng.normal(size=reduced.r)
    quaternion = turned(np.array([0.3, -0.5, 0.2]), UPRIGHT)
    position = np.array([0.18, 0.015, 0.045])
    found = contact.evaluate(position, quaternion, q, contacts=True)
    c = found.contacts
    assert len(c.indices) > 30
    stiffness = 300.0 * (min(1.0, most / len(c.indices)) if most else 1.0)
    rest = tree.positions(None)[c.indices]
    motion = np.stack([tree.positions(e)[c.indices] - rest for e in np.eye(reduced.r)], axis=-1)
    e = c.forces / (stiffness * c.distances[:, None])
    arm = c.positions - position - rotation(quaternion) @ GRASP
    ways = np.concatenate(
        [e, np.cross(arm, e), -np.einsum("kij,ki->kj", motion, e)], axis=1
    )  # fmt: skip

    def forces(move):
        """Return forces after a motion of (dx, dw, dq), by the distances after it."""
        turn = turned(move[3:6], quaternion)
        grasped = position + rotation(quaternion) @ GRASP + move[:3]
        x = rest + motion @ (q + move[6:])
        d = ball.distance((x - grasped + rotation(turn) @ GRASP) @ rotation(turn))
        return stiffness * ways.T @ d

    here = forces(np.zeros(6 + reduced.r))
    assert np.allclose(here[:6], [*found.force, *found.torque], rtol=1e-9)
    assert np.allclose(here[6:], found.reduced_force, rtol=1e-6, atol=1e-9)
    by_q, by_x, by_both = contact.derivatives(position, quaternion, q)
    whole = np.block([[found.gradient, by_q], [by_x, by_both]])
    assert np.array_equal(by_x, by_q.T)
    size = np.abs(whole).max()
    assert np.abs(whole - whole.T).max() < 1e-13 * size
    assert np.linalg.eigvalsh(0.5 * (whole + whole.T)).max() < 1e-12 * size
    assert np.allclose(whole, -stiffness * ways.T @ ways, rtol=0, atol=1e-6 * size)
    if direction == "gradient" and field != "grid":  # else distances change otherwise than along e
        h = 1e-6
        steps = h * np.eye(6 + reduced.r)
        measured = np.stack([forces(s) - forces(-s) for s in steps], axis=1) / (2.0 * h)
        # roundings of distances over the step; the motion is float32; curvature
        assert np.abs(whole - measured).max() < 1e-4 * size
    # without contact all blocks are zero
    for block in contact.derivatives((0.18, 0.015, 0.2), UPRIGHT, q):
        assert not block.any()


def test_blocks_are_those_of_a_shell_that_deforms(beam):
    rigid = rf.PenaltyContact(rf.PointTree(beam[1].shell), rf.SphereField((0, 0, 0), 0.02), 1.0)
    with pytest.raises(rf.InputError, match="the shell is rigid"):
        rigid.derivatives((0.0, 0.0, 0.0), UPRIGHT)
    with pytest.raises(rf.InputError, match="level must be between 0 and 0, got 1"):
        press(beam[1], 1.0).derivatives((0.0, 0.0, 0.0), UPRIGHT, treeless=True, level=1)


# ---- a cycle -------------------------------------------------------------------------------------


def kept(moved, led):
    """Return what damping keeps of the last motion, by that of the hand."""
    along = np.zeros(6)
    for part in (slice(3), slice(3, 6)):
        if moved[part] @ led[part] > 0.0:
            share = min(1.0, (moved[part] @ led[part]) / (moved[part] @ moved[part]))
            along[part] = share * moved[part]
    return along


def coefficients(h, touching):
    """Return a1 to a6 of Newmark's scheme: average acceleration, or that of steps in contact."""
    gamma = 0.6 if touching else 0.5
    beta = 0.25 * (gamma + 0.5) ** 2
    return (
        1.0 / (beta * h**2), 1.0 / (beta * h), (1.0 - 2.0 * beta) / (2.0 * beta),
        gamma / (beta * h), 1.0 - gamma / beta, (1.0 - 0.5 * gamma / beta) * h,
    )  # fmt: skip


def one_cycle(reduced, damping, newton, coupling, h, contact, hand, led, state, dt_limits):
    """Return the state after a cycle, by the whole system of 6 + r equations."""
    x_s, quaternion, q, v, a, moved = state
    position = x_s - rotation(quaternion) @ GRASP
    found = contact.evaluate(position, quaternion, q)
    blocks = contact.derivatives(position, quaternion, q)
    wrench_by_q, reduced_by_x, reduced_by_q = (DAMPED * block for block in blocks)
    added = -0.5 * (reduced_by_q + reduced_by_q.T)
    spring = coupling.wrench(hand, x_s, quaternion)
    gradient = spring.gradient + DAMPED * found.gradient
    net = np.concatenate([spring.force + found.force, spring.torque + found.torque])

    a1, a2, a3, a4, a5, a6 = coefficients(h, found.touching > 0)
    alpha, beta = damping

    def residual(x, force):
        acc = a1 * (x - q) - a2 * v - a3 * a
        vel = a4 * (x - q) + a5 * v + a6 * a
        k = reduced.stiffness(x)
        out = reduced.mass @ (acc + alpha * vel) + beta * k @ vel + reduced.internal_force(x)
        matrix = a1 * reduced.mass + a4 * (alpha * reduced.mass + beta * k) + k
        return out - force + added @ (x - q), matrix + added, acc, vel

    rho, matrix, _, _ = residual(q, found.reduced_force)
    whole = np.block([[gradient, wrench_by_q], [-reduced_by_x, matrix]])
    move = np.linalg.solve(whole, np.concatenate([-net, -rho]))[:6]
    for part, most in ((move[:3], dt_limits[0]), (move[3:], dt_limits[1])):
        part *= min(1.0, most / max(np.linalg.norm(part), 1e-300))
    move += coupling.damping * (kept(moved, led) - move)
    x, force = q.copy(), found.reduced_force + reduced_by_x @ move
    for _ in range(newton):
        rho, matrix, _, _ = residual(x, force)
        x = x - np.linalg.solve(matrix, rho)
    _, _, acc, vel = residual(x, force)
    return x_s + move[:3], turned(move[3:], quaternion), x, vel, acc, move


@pytest.mark.parametrize("speeds", [None, (0.05, 0.05)])
@pytest.mark.parametrize("newton", [1, 3])
def test_a_cycle_solves_the_whole_system(beam, newton, speeds):
    reduced, tree = beam
    h, damping = 1e-3, (1.0, 1e-3)
    limits = {} if speeds is None else {"max_speed": speeds[0], "max_turn_rate": speeds[1]}
    coupling = rf.VirtualCoupling(500.0, 1.0, damping=0.3, **limits)
    contact, other = press(tree, 1000.0), press(tree, 1000.0)
    simulation = rf.ImplicitNewmark(reduced, h, damping=damping, newton_max=newton, tol=0.0)
    made = session(
        contact, down_and_hold(0.01), simulation, coupling=coupling, coupled=True
    )  # fmt: skip
    records = made.run(160 if speeds is None else 500)
    assert not records.flagged("split").any()
    assert records.flagged("limited").any() == (speeds is not None)
    first = records.array[0]
    state = (first["hand_position"], first["hand_quaternion"], *np.zeros((3, reduced.r)))
    state += (np.zeros(6),)
    before = first["hand_position"]
    most = (math.inf, math.inf) if speeds is None else (h * speeds[0], h * speeds[1])
    for record in records.array:
        hand = (record["hand_position"], record["hand_quaternion"])
        led = np.concatenate([hand[0] - before, np.zeros(3)])  # it does not turn
        before = hand[0]
        state = one_cycle(reduced, damping, newton, coupling, h, other, hand, led, state, most)
        assert np.allclose(record["object_position"], state[0], rtol=0, atol=1e-11)
        sign = np.sign(record["object_quaternion"] @ state[1])
        assert np.allclose(record["object_quaternion"], sign * state[1], rtol=0, atol=1e-9)
    assert records.array["touching"][-1] > 1
    assert np.linalg.norm(state[2]) > 1e-3
    assert np.allclose(made.snapshot().q[0], state[2], rtol=1e-6, atol=1e-9)
    made.close()


def test_degenerate_directions_are_those_of_the_condensed_system(beam):
    """A hand that runs away from a saturated coupling, along a beam that it presses down."""
    reduced, tree = beam
    h = 1e-3
    coupling = rf.VirtualCoupling(
        500.0, 1.0, max_force=0.02, max_torque=0.004, max_speed=0.1, damping=0.0
    )  # fmt: skip
    contact, other = press(tree, 1000.0), press(tree, 1000.0)
    x, y, z = GRASP + np.array([0.18, 0.015, 0.05])
    places = [(x, y, z + 0.002), (x, y, z - 0.004), (x - 0.1, y, z - 0.004)]
    device = rf.ReplayDevice([0.0, 0.05, 0.2], places)
    simulation = rf.ImplicitNewmark(reduced, h)
    made = session(contact, device, simulation, coupling=coupling, coupled=True)
    at, before, q, v, a = None, None, *np.zeros((3, reduced.r))
    ranks = []
    for _ in range(200):
        record = made.run(1).array[0]
        hand = (record["hand_position"], record["hand_quaternion"])
        at = hand if at is None else at
        position = at[0] - rotation(at[1]) @ GRASP
        found = other.evaluate(position, at[1], q)
        blocks = other.derivatives(position, at[1], q)
        a1, a2, a3, a4, a5, a6 = coefficients(h, found.touching > 0)
        rho = -reduced.mass @ (a2 * v + a3 * a) + reduced.internal_force(q)
        tangent = a1 * reduced.mass + reduced.stiffness(q)
        led, before = hand[0] - (hand[0] if before is None else before), hand[0]
        for damped in (DAMPED, 1.0):
            wrench_by_q, reduced_by_x, reduced_by_q = (damped * block for block in blocks)
            k = tangent - 0.5 * (reduced_by_q + reduced_by_q.T)
            increment = np.linalg.solve(k, found.reduced_force - rho)
            response = np.linalg.solve(k, reduced_by_x)
            more = wrench_by_q @ increment
            gradient = damped * found.gradient + wrench_by_q @ response
            condensed = rf.ContactForce(
                found.force + more[:3], found.torque + more[3:], gradient,
                None, 0, 0, 1, 0, found.depth, 0.0,
            )  # fmt: skip
            step = coupling.step(hand, *at, condensed, dt=h)
            # damped contact is not to hold back a hand that leaves
            after = condensed.force + (gradient @ step.move)[:3]
            if not (after @ found.force < 0.0 and led @ found.force > 0.0):
                break
        assert step.rank == record["rank"]
        assert np.allclose(record["object_position"], step.position, rtol=0, atol=1e-10)
        ranks.append(step.rank if record["touching"] else 6)
        at = (step.position, step.quaternion)
        # v and a are not in a record: those of the step, from the coordinates before and after it
        new = made.snapshot().q[0]
        assert np.allclose(new, q + increment + response @ step.move, rtol=1e-6, atol=1e-10)
        acc = a1 * (new - q) - a2 * v - a3 * a
        q, v, a = new, a4 * (new - q) + a5 * v + a6 * a, acc
    made.close()
    # 4 in 71 of these cycles
    assert min(ranks) < 6


@pytest.mark.parametrize("newton", [1, 4])
@pytest.mark.parametrize("damper", [False, True])
def test_without_contact_it_has_the_bits_of_the_split_cycle(beam, damped, newton, damper):
    """The contact adds nothing to the step, which still has its three parts."""
    reduced, ends = damped if damper else beam[0], []
    for coupled in (False, True):
        simulation = rf.ImplicitNewmark(reduced, 1e-3, (2.0, 1e-4), newton)
        simulation.reset(1e-4 * np.arange(9.0), np.linspace(-0.1, 0.1, 9))
        contact = press(beam[1], 1000.0)
        high = rf.ReplayDevice([0.0, 10.0], [[0.18, 0.015, 0.5]] * 2)
        made = session(contact, high, simulation, coupled=coupled)
        records = made.run(100)
        assert not records.flagged("split").any()
        assert not records.array["touching"].any()
        made.close()
        ends.append((simulation.state, records.array["object_position"], simulation.report))
    assert np.linalg.norm(ends[0][0].q) > 1e-4
    assert np.array_equal(ends[0][0].q, ends[1][0].q)
    assert np.array_equal(ends[0][0].qdot, ends[1][0].qdot)
    assert np.array_equal(ends[0][1], ends[1][1])
    # coupled steps are not examined
    assert replace(ends[0][2], missed=0.0, examined=0) == ends[1][2]


@pytest.mark.parametrize("dynamic", [False, True])
def test_the_coupled_cycle_rests_at_the_same_state_as_the_split_one(beam, dynamic):
    """The balance of forces does not depend on how it is found."""
    reduced, tree = beam
    ends = []
    for coupled in (False, True):
        simulation = rf.ImplicitNewmark(reduced, 1e-3, damping=(20.0, 1e-3))
        spring = rf.VirtualCoupling(500.0, 1.0)
        coupling = rf.DynamicCoupling(500.0, 1.0, 0.1, 1e-4) if dynamic else spring
        made = session(
            press(tree, 1000.0), down_and_hold(0.004), simulation,
            coupling=coupling, coupled=coupled,
        )  # fmt: skip
        ends.append(made.run(1000).array["force"][-1])
        made.close()
    assert np.linalg.norm(ends[0]) > 0.05
    assert np.allclose(ends[0], ends[1], rtol=0, atol=1e-4 * np.linalg.norm(ends[0]))


def test_the_coupled_cycle_is_stable_beyond_the_limit_of_the_split_one(beam):
    """A contact that is stiff for the mass that a slow cycle sees: 1.1 N, and 0.2 mN measured."""
    reduced, tree = beam
    swing = {}
    for coupled in (False, True):
        simulation = rf.ImplicitNewmark(reduced, 4e-3, damping=(1.0, 1e-3))
        made = session(
            press(tree, 1e4), down_and_hold(0.004), simulation, rate=250.0, coupled=coupled
        )  # fmt: skip
        swing[coupled] = np.ptp(made.run(250).array["force"][-60:, 2])
        made.close()
    assert swing[False] > 0.1
    assert swing[True] < 0.01


def test_indefinite_systems_are_split(beam):
    """A beam that is pressed together so far that its tangent outweighs inertia."""
    reduced, tree = beam
    h = 0.01
    # the shape in which the tangent is softest
    ways = np.concatenate([np.eye(reduced.r), -np.eye(reduced.r)])
    trials = [0.01 * 1.2**k * way for k in range(20) for way in ways]
    tangent = [reduced.stiffness(q) + 4.0 / h**2 * reduced.mass for q in trials]
    q = trials[int(np.argmin([np.linalg.eigvalsh(one)[0] for one in tangent]))]
    assert min(np.linalg.eigvalsh(one)[0] for one in tangent) < -100.0
    records, ends = [], []
    for coupled in (False, True):
        simulation = rf.ImplicitNewmark(reduced, h)
        simulation.reset(q)
        away = rf.ReplayDevice([0.0, 10.0], [[0.18, 0.015, 5.0]] * 2)
        made = session(
            press(tree, 1e4), away, simulation, rate=1.0 / h, coupled=coupled
        )  # fmt: skip
        records.append(made.run(1))
        made.close()
        ends.append(simulation.state.q)
    assert records[1].flagged("split").all()
    assert not records[0].flagged("split").any()
    assert np.array_equal(ends[0], ends[1])


def test_refusals(beam):
    reduced, tree = beam
    simulation = rf.ImplicitNewmark(reduced, 1e-3)
    with pytest.raises(rf.InputTypeError, match="coupled"):
        session(press(tree, 100.0), down_and_hold(0.0), simulation, coupled=1)


def test_memory_that_runs_out(beam):
    reduced, tree = beam
    contact, device = press(tree, 1000.0), down_and_hold(0.0)
    simulation = rf.ImplicitNewmark(reduced, 1e-3)
    pose = (0.18, 0.015, 0.045), UPRIGHT

    def of_a_session():
        made = session(contact, device, simulation, coupled=True)
        made.close()
        return made

    fail_each_allocation(of_a_session, 20)
    fail_each_allocation(lambda: contact.derivatives(*pose, np.zeros(9)), 2)
    assert contact.derivatives(*pose, None)[0].any()
