"""Copies and pickles: independent and equal, or refused with what to do."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import reducedfem as rf
from calls import CONTACTS, IMPLICIT, contact, make_world, material

CLONES = {
    "clone": lambda x: x.clone(),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
}


@pytest.fixture(scope="module")
def world():
    return make_world()


def simulations(w):
    for kind in IMPLICIT.values():
        yield kind(w.reduced, 1e-3, (0.1, 1e-4), newton_max=3, strain_rate=None)
        yield kind(w.projected, 1e-3, tol=1e-8)
        yield kind(w.solid, 1e-3, (0.0, 1e-4), strain_rate=w.damping)
    yield rf.ImplicitNewmark(w.reduced, 1e-3, beta=0.4, gamma=0.7)
    yield rf.BDF2(w.solid, 1e-3, exact=2)
    yield rf.ExponentialEuler(w.projected, 1e-3, (0.1, 1e-4))
    yield rf.ExponentialEuler(w.solid, 1e-3)
    yield rf.CentralDifferences(w.reduced, 1e-5)
    yield rf.CentralDifferences(w.solid, None, (0.1, 0.0))
    near = rf.RigidProxy(rf.PlaneField([0.0, 0.0, 0.0], [0.0, 0.0, 1.0]), 0.2)
    yield rf.CentralDifferences(w.solid, None, (0.1, 1e-4), contact=near)
    yield rf.CentralDifferences(w.solid, None, (0.1, 1e-4), implicit_damping=True)


@pytest.mark.parametrize("way", CLONES)
def test_simulations_move_on_apart_and_alike(world, way):
    force = np.zeros((world.n, 3))
    force[-1] = [0.3, 0.0, -1.0]
    for sim in simulations(world):
        sim.step(force, 7)
        other = CLONES[way](sim)
        assert type(other) is type(sim)
        assert other.dt == sim.dt
        for one, same in zip(vars(sim.state).values(), vars(other.state).values(), strict=True):
            np.testing.assert_array_equal(one, same)
        assert other.state.time > 0.0
        before = sim.state
        other.step(force, 5)
        np.testing.assert_array_equal(sim.state.q, before.q)  # as it was
        sim.step(force, 5)
        for one, same in zip(vars(sim.state).values(), vars(other.state).values(), strict=True):
            np.testing.assert_array_equal(one, same)
        # the state at rest is no state of theirs
        assert np.abs(sim.state.q).max() > 0.0


@pytest.mark.parametrize("way", CLONES)
def test_free_bodies_move_on_apart_and_alike(world, way):
    body = rf.FreeBody(world.free_reduced, 1e-3, (0.1, 1e-4), gravity=[0, 0, -9.81])
    body.reset([1, 2, 3], [1, 2, 3, 4], [0.3, -1, 2], [5, -7, 3], q=[0.01, 0, 0.002])
    force = np.zeros((world.n, 3))
    force[-1] = [0.3, 0.0, -1.0]
    body.step(force, 7)
    other = CLONES[way](body)
    for one, same in zip(vars(body.state).values(), vars(other.state).values(), strict=True):
        np.testing.assert_array_equal(one, same)
    before = body.state
    other.step(force, 9)
    np.testing.assert_array_equal(body.state.position, before.position)
    body.step(force, 9)
    for one, same in zip(vars(body.state).values(), vars(other.state).values(), strict=True):
        np.testing.assert_array_equal(one, same)
    rf.step_free_bodies([body, other], None, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({0: np.nan}, "rigid.0. is nan"),
        ({3: 2.0}, "quaternion must have length 1"),
    ],
)
def test_states_are_checked(world, change, message):
    body = rf.FreeBody(world.free_reduced, 1e-3)
    rigid, *others = body._core.snapshot()
    for place, value in change.items():
        rigid[place] = value
    with pytest.raises(rf.InputError, match=message):
        body._core.restore(rigid, *others)
    with pytest.raises(rf.InputError, match="steps not be negative"):
        body._core.restore(body._core.snapshot()[0], *others[:-1], -1)
    with pytest.raises(rf.InputError, match="steps must not be negative"):
        rf.ImplicitNewmark(world.reduced, 1e-3)._core.reset(None, None, None, 1, -1)


@pytest.mark.parametrize("way", [name for name in CLONES if name != "clone"])
def test_all_other_types_are_copied_or_refused(world, way):
    skin = rf.Skin(world.reduced, world.surface)
    q = [0.01, 0.02, -0.01]
    again = CLONES[way](skin)
    np.testing.assert_array_equal(again.positions(q), skin.positions(q))
    np.testing.assert_array_equal(again.normals(q), skin.normals(q))
    devices = [
        rf.ReplayDevice([0.0, 1.0], np.zeros((2, 3))),
        rf.SimulatedHand([0.0, 1.0], np.zeros((2, 3))),
        rf.UdpDevice(),
        rf.SpaceMouse(),
        rf.MouseDevice(),
        rf.ForceDimension(),
        rf.OpenHaptics(),
    ]
    for device in devices:
        with pytest.raises(rf.InputTypeError, match="make another with its arguments"):
            CLONES[way](device)
    with pytest.raises(rf.InputTypeError, match="HapticSession .* make another"):
        CLONES[way](world.session)
    with pytest.raises(rf.InputTypeError, match="World .* make another"):
        CLONES[way](world.world)
    with pytest.raises(rf.InputTypeError, match="View .* call view"):
        CLONES[way](world.view)
    recording = rf.record(world.model)
    recording.add([[0.0, 0, 1]], [4])
    more = CLONES[way](recording)
    more.add([[0.0, 0, 1]], [4])
    assert (len(recording), len(more)) == (1, 2)
    # all other public types
    named = [one for one in vars(world).values() if type(one).__module__.startswith("reducedfem.")]
    named += [contact(world, kind) for kind in CONTACTS]
    for one in [*named, material(world), skin.embedding, world.solid.mass(), rf.Workspace()]:
        if one not in (world.session, world.hand, world.world, world.view):
            assert type(CLONES[way](one)) is type(one)
