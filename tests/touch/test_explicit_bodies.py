"""Sessions of solids in explicit steps that touch further bodies, or have damping inside."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from explicit_touch import CYCLE, RADIUS, SIZE, above, session
from shapes import box_hexes

BALL = rf.SphereField([0.0, 0.0, 0.0], RADIUS)
FLOOR = rf.PlaneField([0.0, 0.0, 0.0], [0.0, 0.0, 1.0])


def loose(contact, **options):
    """Return a simulation of a block that lies free."""
    solid = rf.Solid(rf.Mesh(*box_hexes(3, 3, 2, SIZE)), rf.StVK(1e4, 0.3, 1000.0))
    given = dict(gravity=(0.0, 0.0, -9.81)) | options
    return rf.CentralDifferences(solid, CYCLE / 2, (5.0, 1e-3), contact=contact, **given)


def press(cycles):
    """Return places of a hand that presses and slides."""
    k = np.arange(cycles)
    z = np.interp(k, [0, 10, 60], [1e-3, 1e-3, -3e-3])
    return above(*np.stack([1e-4 * np.maximum(k - 60.0, 0.0), 0 * k, z], axis=1))


def script(sim, tool, places, every):
    """Yield the force on the tool after each period."""
    last = places[0]
    for k in range(0, len(places), every):
        tool.move(last, velocity=(places[k] - last) / (every * CYCLE))
        sim.step(n=2 * every)
        last = places[k]
        yield sim.contacts[0].force


def test_the_hand_moves_the_first_of_several_bodies():
    """The others keep their velocities: a floor that rises.  As in a script, bit for bit."""
    places, runs = press(90), []
    for _ in range(2):
        tool, floor = rf.RigidProxy(BALL, 0.3), rf.RigidProxy(FLOOR, 0.3)
        floor.move([0.0, 0.0, 0.0], velocity=[0.0, 0.0, 0.01])
        runs.append((loose([tool, floor]), tool, floor))
    (sim, tool, floor), (other, moved, _) = runs
    made = session(sim, rf.ReplayDevice(CYCLE * np.arange(90), places))
    records = made.run(90)
    made.close()
    force = np.array(list(script(other, moved, places, 1)))
    assert np.array_equal(records["contact_force"], force)
    assert force[:, 2].max() > 0.05
    assert np.array_equal(sim.state.q, other.state.q)
    # the simulation continues with all of them
    for one, body in ((sim, tool), (other, moved)):
        body.move(places[-1])
        one.step(n=5)
    assert np.array_equal(sim.state.q, other.state.q)
    ahead = sim.contacts[1].pose.position[2]
    assert ahead == pytest.approx(0.01 * sim.state.time)
    assert not floor.pose.position.any()


def test_damping_inside_needs_a_thread():
    """Its forces are those of a script."""
    places, runs = press(150), []
    for _ in range(2):
        tool = rf.RigidProxy(BALL, 0.3)
        bodies = [tool, rf.RigidProxy(FLOOR, 0.3)]
        runs.append((loose(bodies, implicit_damping=True, strain_rate=None), tool))
    (sim, tool), (other, moved) = runs
    hand = rf.ReplayDevice(CYCLE * np.arange(150), places)
    with pytest.raises(rf.InputError, match=r"damping inside allocate memory.*take \"delay\""):
        session(sim, hand)
    made = session(sim, hand, interpolation="delay", simulation_rate=200.0)
    records = made.run(150)
    made.close()
    force = np.array(list(script(other, moved, places, 5)))
    assert force[:, 2].max() > 0.05
    # two periods after its hand a state is shown
    assert np.allclose(records["force"][10::5], force[: len(records["force"][10::5])], atol=1e-9)
    assert np.allclose(sim.state.q, other.state.q, rtol=0, atol=1e-9)


def test_responses_of_too_many_nodes_are_refused():
    """A session solves for them in advance: none of its periods could wait for that."""
    solid = rf.Solid(rf.Mesh(*box_hexes(44, 44, 1, SIZE)), rf.StVK(2e3, 0.3, 1000.0))
    tool = rf.RigidProxy(BALL)
    dt = CYCLE / 16
    sim = rf.CentralDifferences(solid, dt, (5.0, 1e-3), contact=tool, implicit_damping=True)
    hand = rf.ReplayDevice(CYCLE * np.arange(9), press(9))
    with pytest.raises(rf.InputError, match="responses of 4050 nodes.*implicit_damping=False"):
        session(sim, hand, interpolation="delay", simulation_rate=200.0)
