"""Contact of a part with itself: a horseshoe whose arms meet, thin parts, refusals."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import reducedfem as rf
from motions import check_copies
from part_cases import DENSITY, block, masses, momenta, simulated, solid_of
from shapes import box_tets

DISTANCE = 1e-3


def horseshoe(gap=0.02) -> rf.Mesh:
    """Return two arms along x above each other, joined at x = 0."""
    nodes, elements = box_tets(4, 2, 5, (0.1, 0.04, 0.08 + gap))
    middle = nodes[elements].mean(1)
    nodes[:, 2] = np.interp(
        nodes[:, 2],
        np.linspace(0.0, 0.08 + gap, 6),
        [0.0, 0.02, 0.04, 0.04 + gap, 0.06 + gap, 0.08 + gap],
    )
    between = np.abs(middle[:, 2] - 0.04 - 0.5 * gap) < 0.1 * (0.08 + gap)
    return rf.Mesh(nodes, elements[~(between & (middle[:, 0] > 0.025))])


def crossed(sim) -> bool:
    surface = sim.system.mesh.surface()
    moved = surface.vertices + sim.displacement[sim.system.mesh.boundary_nodes]
    return len(rf.Surface(moved, surface.triangles).self_intersections()) > 0


def closing(speed=4.0, friction=0.0, self_contact=True, lagged=True, **kwargs):
    """Return a simulation of a free horseshoe whose arms move towards each other and sideways."""
    mesh = horseshoe()
    solid = rf.Solid(mesh, rf.StableNeoHookean(1e5, 0.3, DENSITY))
    contact = None
    if self_contact:
        contact = rf.BarrierContact(
            distance=DISTANCE, friction=friction, lagged=lagged, self_contact=True
        )
    sim = rf.BackwardEuler(solid, 2e-3, newton_max=100, tol=1e-10, contact=contact, **kwargs)
    side = np.sign(mesh.nodes[:, 2] - 0.05) * mesh.nodes[:, 0] / 0.1
    sim.reset(qdot=np.outer(side, [0.0, 0.3 * speed, -speed]))
    return sim, contact


def test_arms_meet_and_do_not_cross():
    free, _ = closing(self_contact=False)
    assert any(free.step() or crossed(free) for _ in range(40))
    sim, _ = closing()
    before = momenta(sim)[0]
    touched = 0
    for _ in range(40):
        sim.step()
        touched += len(sim.contact_state.part_nodes) > 0
        assert not crossed(sim)
    assert touched > 3
    np.testing.assert_allclose(momenta(sim)[0], before, rtol=0, atol=1e-10)
    assert sim.report.unconverged == 0


@pytest.mark.parametrize("lagged", [True, False])
def test_steps_satisfy_their_equation(lagged):
    sim, contact = closing(friction=0.0 if lagged else 0.4, lagged=lagged)
    solid, touched = sim.system, 0
    for _ in range(25):
        before = sim.state.qdot
        sim.step()
        inner = (masses(solid) @ (sim.state.qdot - before).ravel()).reshape(-1, 3) / 2e-3
        inner += solid.internal_force(sim.state.q)
        force = contact.force(sim.state.q, sim.state.qdot)
        np.testing.assert_allclose(inner, force, rtol=0, atol=1e-6)
        touched += np.abs(force).max() > 0.1
    assert touched > 3
    assert sim.report.unconverged == 0


def test_forces_are_the_slope_of_the_energy_without_sum_and_moment():
    sim, contact = closing()
    while not len(sim.contact_state.part_nodes):
        sim.step()
    u, rng = sim.displacement, np.random.default_rng(2)
    force = contact.force(u)
    small = 1e-11 * np.abs(force).sum()
    np.testing.assert_allclose(force.sum(0), 0.0, atol=small)
    moved = sim.system.mesh.nodes + u
    np.testing.assert_allclose(np.cross(moved, force).sum(0), 0.0, atol=small)
    for _ in range(5):
        along = np.where(np.abs(force) > 0.0, rng.normal(size=u.shape), 0.0)
        slope = (contact.energy(u + 1e-9 * along) - contact.energy(u - 1e-9 * along)) / 2e-9
        assert -np.sum(force * along) == pytest.approx(slope, rel=1e-5)


def test_a_part_finer_than_the_barrier_is_at_rest_at_rest():
    """Neighbours have a barrier from half of their distance at rest on."""
    mesh = block(cells=4, size=(0.1, 0.1, 0.004))
    solid = rf.Solid(mesh, rf.StableNeoHookean(1e5, 0.3, DENSITY))
    contact = rf.BarrierContact(distance=DISTANCE, self_contact=True)
    with pytest.warns(rf.PlausibilityWarning, match="thinnest part"):
        sim = rf.BackwardEuler(solid, 1e-3, newton_max=50, contact=contact)
    sim.step()
    assert not sim.displacement.any()
    flat = lambda factor: mesh.nodes * [0.0, 0.0, factor - 1.0]  # noqa: E731
    # edges of 1 mm across: their ends share no node from 2 mm on, which a half of makes 1 mm
    assert contact.energy(flat(1.0)) == 0.0
    assert contact.energy(flat(0.6)) == 0.0
    assert contact.energy(flat(0.2)) > 0.0


def test_parts_touch_each_other_too():
    ends = []
    for kwargs in ({"parts": True}, {"self_contact": True}):
        solid = solid_of(block(), block((0.013, 0.007, 0.1012)))
        contact = rf.BarrierContact(distance=DISTANCE, friction=0.3, **kwargs)
        sim = simulated(solid, 2e-3, velocities=[[0.0] * 3, [0.1, 0.0, -0.5]], contact=contact)
        sim.step(n=10)
        assert len(sim.contact_state.part_nodes) > 0
        ends.append(sim.state.q)
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-9)


def test_copies_continue_alike():
    sim, contact = closing(friction=0.4)
    sim.step(n=8)
    check_copies(sim, lambda one: one.step(n=8))
    assert "itself" in repr(copy.copy(contact))


def test_a_start_that_crosses_itself_is_refused():
    sim, contact = closing()
    mesh = sim.system.mesh
    bent = np.where(mesh.nodes[:, 2:] > 0.05, [0.0, 0.0, -0.025], 0.0) * (mesh.nodes[:, :1] > 0.06)
    with pytest.raises(rf.InputError, match=r"triangle \d+ of part 0 .* triangle \d+ of part 0"):
        sim.reset(bent)
    with pytest.raises(rf.InputTypeError, match="self_contact must be"):
        rf.BarrierContact(self_contact="yes")
