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
def test_hard_impacts_with_much_friction_converge(integrator, dt):
    """Kinks of distances stop the iterations, which start again with friction held there."""
    upper = block((0.02, 0.01, 0.16), rotation=turn(0, 0.3) @ turn(1, 0.4))
    solid = solid_of(block(), upper)
    velocities = [[0.0, 0.0, 0.0], [10.0, 0.0, -20.0]]
    sim = simulated(solid, dt, integrator, velocities=velocities, contact=implicit(0.8), tol=1e-8)
    sim.step(n=40)
    assert sim.report.unconverged == 0
    assert crossing(solid, sim.displacement) == []
