"""Friction of parts with normal forces and directions of the end of a step, and its state."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from part_cases import (
    DISTANCE,
    GRAVITY,
    block,
    crossing,
    masses,
    near,
    parts_of,
    simulated,
    slope,
    solid_of,
    stack,
    turn,
)


def implicit(friction=0.4, **kwargs) -> rf.BarrierContact:
    return rf.BarrierContact(
        parts=True, distance=DISTANCE, friction=friction, lagged=False, **kwargs
    )


def test_blocks_are_derivatives_of_the_force():
    contact, solid, u, rng = near(friction=0.4, slip=0.2)
    v = 0.1 * rng.normal(size=u.shape)
    v[parts_of(solid) == 1, 0] += 0.3
    stiffness, damping = contact.stiffness(u, v), contact.damping(u, v)
    scales = [np.abs(blocks).max() for blocks in (stiffness, damping)]
    touching = np.flatnonzero(np.abs(contact.force(u)).max(1) > 0.0)
    assert len(touching) > 5
    for node in touching:
        for c in range(3):
            step = np.zeros_like(u)
            step[node, c] = 1e-9
            by_u = (contact.force(u - step, v) - contact.force(u + step, v))[node] / 2e-9
            np.testing.assert_allclose(stiffness[node, :, c], by_u, rtol=0, atol=1e-5 * scales[0])
            by_v = (contact.force(u, v - 1e4 * step) - contact.force(u, v + 1e4 * step))[node]
            np.testing.assert_allclose(
                damping[node, :, c], by_v / 2e-5, rtol=0, atol=1e-6 * scales[1]
            )
    turning = stiffness - contact.stiffness(u)
    assert np.abs(turning - turning.transpose(0, 2, 1)).max() > 1e-2 * scales[0]


@pytest.mark.parametrize("integrator", [rf.BackwardEuler, rf.BDF2])
def test_steps_satisfy_their_equation(integrator):
    """Friction has the normal forces, planes and nearest points of the end."""
    dt = 5e-3
    solid = stack()
    contact = implicit()
    gravity = (4.0, 0.0, -GRAVITY)
    sim = simulated(solid, dt, integrator, contact=contact, gravity=gravity)
    free = np.setdiff1d(np.arange(solid.mesh.n_nodes), solid.fixed)
    weight = solid.gravity(gravity)
    velocities, rubbed = [sim.state.qdot], 0.0
    for k in range(20):
        sim.step()
        velocities.append(sim.state.qdot)
        rate = (velocities[-1] - velocities[-2]) / dt
        if integrator is rf.BDF2 and k > 0:
            rate = 1.5 * rate - (velocities[-2] - velocities[-3]) / (2.0 * dt)
        inner = (masses(solid) @ rate.ravel()).reshape(-1, 3)
        inner += solid.internal_force(sim.state.q) - weight
        force = contact.force(sim.state.q, sim.state.qdot)
        np.testing.assert_allclose(inner[free], force[free], rtol=0, atol=1e-7)
        rubbed = max(rubbed, np.abs(force - contact.force(sim.state.q)).max())
    assert rubbed > 0.1
    assert sim.report.unconverged == 0


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_lagged_friction_tends_to_that_of_the_end():
    """The difference is of the order of the step."""
    differences = []
    for steps in (50, 100, 200):
        ends = []
        for lagged in (True, False):
            contact = rf.BarrierContact(
                parts=True, distance=DISTANCE, friction=0.3, slip=0.05, lagged=lagged
            )
            sim = simulated(
                stack(), 0.1 / steps, contact=contact, gravity=(3.0, 0.0, -GRAVITY),
                damping=(0.0, 1e-3),
            )  # fmt: skip
            sim.step(n=steps)
            assert sim.report.unconverged == 0
            ends.append(sim.state.qdot)
        differences.append(np.abs(ends[0] - ends[1]).max())
    assert differences[0] > 1.4 * differences[1] > 1.4**2 * differences[2] > 0.0


@pytest.mark.parametrize(("integrator", "dt"), [(rf.BackwardEuler, 2e-3), (rf.BDF2, 5e-3)])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_hard_impacts_with_much_friction_converge(integrator, dt):
    """Kinks of distances stop the iterations, which start again with friction held there."""
    upper = block((0.02, 0.01, 0.16), rotation=turn(0, 0.3) @ turn(1, 0.4))
    solid = solid_of(block(), upper)
    velocities = [[0.0, 0.0, 0.0], [10.0, 0.0, -20.0]]
    sim = simulated(solid, dt, integrator, velocities=velocities, contact=implicit(0.8), tol=1e-8)
    sim.step(n=40)
    assert sim.report.unconverged == 0
    assert crossing(solid, sim.displacement) == []


# ---- the state


def on_nodes(state, vectors, n: int) -> np.ndarray:
    """Return the forces on nodes of those of pairs."""
    force = np.zeros((n, 3))
    np.add.at(force, state.part_nodes, state.part_weights[:, :, None] * vectors[:, None, :])
    return force


def test_friction_of_pairs_adds_up_to_that_of_nodes():
    solid = stack()
    contact = implicit()
    sim = simulated(solid, contact=contact, gravity=(4.0, 0.0, -GRAVITY))
    sim.step(n=12)
    for same in (sim, sim.clone()):
        state = same.contact_state
        expected = contact.force(sim.displacement, sim.state.qdot)
        expected -= contact.force(sim.displacement)
        found = on_nodes(state, state.part_friction_forces, len(expected))
        largest = np.abs(expected).max()
        assert largest > 1e-2
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * largest)
        across = np.einsum("pc,pc->p", state.part_friction_forces, state.part_normals)
        np.testing.assert_allclose(across, 0.0, atol=1e-12 * largest)
        size = np.linalg.norm(state.part_friction_forces, axis=1)
        assert (size <= 0.4 * state.part_normal_forces * (1.0 + 1e-12)).all()


def test_lagged_friction_of_pairs_is_that_of_the_step():
    """With the normal forces and weights of its beginning."""
    dt, gravity, compared = 5e-3, (4.0, 0.0, -GRAVITY), 0
    solid = stack()
    contact = rf.BarrierContact(parts=True, distance=DISTANCE, friction=0.4)
    sim = simulated(solid, dt, contact=contact, gravity=gravity)
    upper = parts_of(solid) == 1
    for _ in range(60):
        before, pairs = sim.state.qdot, len(sim.contact_state.part_nodes)
        sim.step()
        state = sim.contact_state
        inner = (masses(solid) @ (sim.state.qdot - before).ravel()).reshape(-1, 3) / dt
        inner += solid.internal_force(sim.state.q) - solid.gravity(gravity)
        rubbed = (inner - contact.force(sim.state.q))[upper].sum(0)
        known = state.part_friction_forces.any(axis=1).sum()
        if known < pairs:  # some have parted
            continue
        found = on_nodes(state, state.part_friction_forces, len(upper))[upper].sum(0)
        np.testing.assert_allclose(found, rubbed, rtol=0, atol=1e-6)
        compared += np.abs(found).max() > 0.1
    assert compared > 5


@pytest.mark.parametrize("lagged", [True, False])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_forces_of_pairs_carry_a_block_that_rests_on_a_slope(lagged):
    angle = np.radians(20.0)
    sim = slope(0.5, angle, lagged=lagged)
    solid, upper = sim.system, parts_of(sim.system) == 1
    sim.step(n=400)
    state = sim.contact_state
    pressing = state.part_normal_forces[:, None] * state.part_normals
    given = [
        on_nodes(state, vectors, len(upper))[upper].sum(0)
        for vectors in (pressing, state.part_friction_forces)
    ]
    weight = solid.gravity(GRAVITY * np.array([np.sin(angle), 0.0, -np.cos(angle)]))[upper].sum(0)
    # the block creeps over bumps, on which normal forces tilt
    np.testing.assert_allclose(sum(given), -weight, rtol=0, atol=2e-4 * np.abs(weight).max())
    assert given[1][0] == pytest.approx(-weight[0], rel=0.03)
    assert given[0][2] == pytest.approx(-weight[2], rel=0.03)


def test_pairs_have_no_friction_without_motion_or_friction():
    for friction, velocity in ((0.4, 0.0), (0.0, 0.1)):
        sim = simulated(
            stack(), contact=rf.BarrierContact(parts=True, friction=friction),
            velocities=[[0.0] * 3, [velocity, 0.0, 0.0]],
        )  # fmt: skip
        state = sim.contact_state
        assert len(state.part_nodes) > 0
        assert state.part_friction_forces.shape == state.part_normals.shape
        assert not state.part_friction_forces.any()
