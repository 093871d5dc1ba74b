"""Explicit steps in contact with several bodies, and of several lengths."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest

import reducedfem as rf
from shapes import box_hexes

FLOOR = rf.PlaneField([0.0, 0.0, 0.0], [0.0, 0.0, 1.0])
WALL = rf.PlaneField([0.0, 0.0, 0.0], [1.0, 0.0, 0.0])
G = 9.81


def block(cells=(2, 2, 2), size=(0.1, 0.1, 0.1), young=1e5):
    return rf.Solid(rf.Mesh(*box_hexes(*cells, size)), rf.StVK(young, 0.3, 1000.0))


def masses(solid):
    return solid.mass(lumped=True).to_scipy().diagonal().reshape(-1, 3)


def energy(sim):
    state = sim.state
    kinetic = 0.5 * (masses(sim.system) * state.qdot**2).sum()
    return kinetic + sim.system.strain_energy(state.q)


# --- several bodies ------------------------------------------------------------------


def test_bodies_apart_act_as_each_alone():
    """In one step, before any wave goes from one to the other; the last one is far away."""
    solid = block()
    down = np.tile([0.0, 0.0, -1.0], (solid.mesh.n_nodes, 1))

    def bodies():
        high = rf.RigidProxy(rf.PlaneField([0, 0, 0.1], [0, 0, -1]), 0.2, "mirror")
        high.move([0, 0, 0], velocity=[0, 0, -2.0])
        return [rf.RigidProxy(FLOOR, 0.3), high, rf.RigidProxy(rf.SphereField([1, 0, 0], 0.1))]

    sims = [rf.CentralDifferences(solid, contact=one) for one in (*bodies(), bodies())]
    for sim in sims:
        sim.reset(qdot=down)
        sim.step(n=1)
    *alone, together = sims
    assert [len(one.nodes) for one in together.contacts] == [9, 9, 0]
    for one, other in zip(alone, together.contacts, strict=True):
        assert np.array_equal(one.contact.nodes, other.nodes)
        assert np.array_equal(one.contact.node_forces, other.node_forces)
        assert np.array_equal(one.contact.impulse, other.impulse)
        assert np.array_equal(one.contact.pose.position, other.pose.position)


def test_a_block_on_the_floor_carries_a_plate():
    """Forces balance; nodes in the corner with a wall obey both planes."""
    solid = block()
    m = masses(solid)
    plate = rf.RigidProxy(rf.BoxField([-1, -1, 0], [1, 1, 0.1]), 0.2)
    plate.move([0, 0, 0.0991])
    tools = [rf.RigidProxy(FLOOR, 0.2), rf.RigidProxy(WALL), plate]
    sim = rf.CentralDifferences(solid, damping=(20.0, 0.0), contact=tools, gravity=(-1.0, 0, -G))
    sim.step(n=round(1.0 / sim.dt))
    steps = round(0.2 / sim.dt)
    sim.step(n=steps)
    floor, wall, above = (one.impulse / (steps * sim.dt) for one in sim.contacts)
    weight = m[:, 2].sum() * np.array([-1.0, 0.0, -G])
    assert np.abs(floor + wall + above - weight).max() < 1e-3 * np.abs(floor).max()
    assert above[2] > 3.0
    assert floor[2] < -3.0 + weight[2]
    assert wall[0] < 0.0
    places = solid.mesh.nodes + sim.state.q
    corner = (solid.mesh.nodes[:, [0, 2]] == 0.0).all(axis=1)
    assert np.abs(places[corner][:, [0, 2]]).max() < 1e-7
    for one in sim.contacts:
        assert np.allclose(one.node_forces.sum(axis=0), -one.force, rtol=0, atol=1e-12)


def test_impulses_add_up_to_the_change_of_momentum():
    solid = block()
    m = masses(solid)
    tools = [rf.RigidProxy(FLOOR, 0.3), rf.RigidProxy(WALL, 0.1, "mirror")]
    sim = rf.CentralDifferences(solid, contact=tools)
    sim.reset(qdot=np.tile([-0.7, 0.2, -1.0], (solid.mesh.n_nodes, 1)))
    before, touched = (m * sim.state.qdot).sum(axis=0), np.zeros(2)
    for k in range(20):
        sim.step(n=2, dt=sim.dt * (1.0, 0.4, 1.3)[k % 3])
        after, impulses = (m * sim.state.qdot).sum(axis=0), [one.impulse for one in sim.contacts]
        assert np.abs(after - before + np.sum(impulses, axis=0)).max() < 1e-14
        touched += np.linalg.norm(impulses, axis=1)
        before = after
    assert touched.min() > 0.05


def test_copies_of_several_contacts_continue_with_the_same_bits():
    solid = block()
    floor, ball = rf.RigidProxy(FLOOR), rf.RigidProxy(rf.SphereField([0.05, 0.05, 0.145], 0.04))
    sim = rf.CentralDifferences(solid, contact=[floor, ball])
    ball.move([0.0, 0.0, 0.0], velocity=[0.0, 0.1, -1.0])
    floor.move([0.0, 0.0, 0.0], velocity=[0.0, 0.0, 0.3])
    sim.step(n=8)
    copies = [sim, sim.clone(), copy.copy(sim), pickle.loads(pickle.dumps(sim))]
    for one in copies:
        one.step(n=3, dt=0.5 * sim.dt)
        one.step(n=7)
    assert all(one.nodes.size for one in sim.contacts)
    for one in copies[1:]:
        assert np.array_equal(one.state.q, sim.state.q)
        for a, b in zip(one.contacts, sim.contacts, strict=True):
            assert np.array_equal(a.impulse, b.impulse)
    given = [floor]
    with_list = rf.CentralDifferences(solid, contact=given)
    given.append(ball)
    assert len(with_list.clone().contacts) == len(with_list.contacts) == 1


def test_simulations_that_share_bodies_step_in_threads():
    """In both orders: they lock the bodies in one order."""
    solid = block((1, 1, 1))
    a, b = rf.RigidProxy(FLOOR), rf.RigidProxy(WALL)
    sims = [rf.CentralDifferences(solid, contact=pair) for pair in ([a, b], [b, a])]
    threads = [threading.Thread(target=sim.step, kwargs={"n": 2000}) for sim in sims]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sims[0].report.steps == sims[1].report.steps == 2000


@pytest.mark.no_asan(reason="few lines of C")
def test_refused_lists():
    solid, floor = block((1, 1, 1)), rf.RigidProxy(FLOOR)
    with pytest.raises(rf.InputError, match=r"contact\[1\] is contact\[0\] again"):
        rf.CentralDifferences(solid, contact=[floor, floor])
    with pytest.raises(rf.InputError, match="contact is empty"):
        rf.CentralDifferences(solid, contact=[])
    with pytest.raises(rf.InputTypeError, match=r"contact\[1\] must be a RigidProxy, got PlaneF"):
        rf.CentralDifferences(solid, contact=[floor, FLOOR])
    with pytest.raises(rf.InputTypeError, match="a list of them or None, got float"):
        rf.CentralDifferences(solid, contact=0.1)
    sim = rf.CentralDifferences(solid, contact=[floor, rf.RigidProxy(WALL)])
    assert not hasattr(sim, "contact")
    with pytest.raises(rf.InputError, match="touches 2 bodies; read contacts"):
        _ = sim.contact
    assert rf.CentralDifferences(solid, contact=[floor]).contact.nodes.size == 0
    assert rf.CentralDifferences(solid).contacts == ()
    assert len(rf.CentralDifferences(solid, contact=floor).contacts) == 1


# --- lengths -------------------------------------------------------------------------


@pytest.mark.parametrize("lengths", [[1.0, 0.5], [1.0, 0.1], 7 * [1.0] + 7 * [0.4], [0.4, 1.3]])
@pytest.mark.parametrize(("rule", "end"), [("surface", (0.93, 0.96)), ("mirror", (0.98, 1.01))])
def test_a_falling_bar_in_steps_of_several_lengths(rule, end, lengths):
    """As in equal ones: "surface" loses the energy of the layer that hits, "mirror" keeps it.

    The energy of velocities at whole steps exceeds that by a term with dt^2.
    """
    solid = block((2, 2, 10), (0.05, 0.05, 0.25), young=1e6)
    sim = rf.CentralDifferences(solid, contact=rf.RigidProxy(FLOOR, rule=rule))
    down = np.tile([0.0, 0.0, -1.0], (solid.mesh.n_nodes, 1))
    sim.reset(-1.3 * sim.dt * down, down, np.zeros_like(down))
    first, largest, depth, k = energy(sim), 0.0, 0.0, 0
    lowest = 0.0
    while not (sim.state.qdot[:, 2].mean() > 0.0 and lowest > 2e-3):
        sim.step(dt=sim.dt * lengths[k % len(lengths)])
        lowest = (solid.mesh.nodes + sim.state.q)[:, 2].min()
        largest, depth, k = max(largest, energy(sim) / first), max(depth, -lowest), k + 1
        assert k < 1000
    assert end[0] < energy(sim) / first < end[1]
    assert largest < 1.0 + (1e-9 if rule == "surface" else 0.02 * max(lengths) ** 2)
    assert depth < (0.5 if rule == "surface" else 2.5) * sim.dt


def test_a_block_rests_in_steps_of_several_lengths():
    solid = block()
    sim = rf.CentralDifferences(
        solid, None, (5.0, 1e-4), contact=rf.RigidProxy(FLOOR, 0.3), gravity=(0.0, 0.0, -G)
    )
    lengths, impulse, start = (1.0, 0.3, 0.8), 0.0, None
    for k in range(3000):
        sim.step(dt=sim.dt * lengths[k % 3])
        if k == 1500:
            start, impulse = sim.state.time, 0.0
        impulse += sim.contact.impulse[2]
        # a longer step than that before goes deeper, by less than the fall in it
        assert (solid.mesh.nodes + sim.state.q)[:, 2].min() > -1.5 * G * sim.dt**2
    weight = G * masses(solid)[:, 2].sum()
    assert impulse / (sim.state.time - start) == pytest.approx(-weight, rel=0.05)
