"""Strains beyond the training of a cubature that only the steps between calls have seen."""

from __future__ import annotations

import functools
import pickle
import warnings

import numpy as np
import pytest

import reducedfem as rf
from sampled import sampled
from shapes import solid_box

MESSAGE = r"has the Green strain \S+, but its cubature was trained up to"
DT = 1e-3
SWING = 400  # steps, in which a strong damping brings the beam to rest


@functools.cache
def free_model() -> rf.ReducedSolid:
    solid = solid_box((6, 2, 2), (1.0, 0.2, 0.2), rf.StableNeoHookean(1e6, 0.4, 1000.0), held=None)
    settings = rf.Cubature(points=60, n_poses=40, strain=0.1)
    return rf.reduce(solid, rf.modal_derivative_basis(solid, r=8), cubature=settings)


def beyond(model: rf.ReducedSolid, times: float) -> np.ndarray:
    """Return a pose whose strain is so many times that of the training.

    The beam is bent to an S in y and to a C in z: a displacement of its nodes, because the signs of
    modes, and their directions where frequencies are equal, depend on the LAPACK library.
    """
    x = model.mesh.nodes[:, 0]
    bent = np.stack([0.0 * x, x**2 * (3.0 - 4.0 * x), 0.5 * x**2], axis=1)
    shapes = np.stack([model.displacement(one).reshape(-1) for one in np.eye(model.r)], axis=1)
    q = np.linalg.lstsq(shapes, bent.reshape(-1), rcond=None)[0]
    for _ in range(30):
        q = q * (times * model.cubature.strain / model._core.strain(q)) ** 0.7
    assert model._core.strain(q) == pytest.approx(times * model.cubature.strain, rel=1e-3)
    return q


def simulation(model: rf.ReducedSolid) -> rf.BackwardEuler:
    return rf.BackwardEuler(model, DT, damping=(0.0, 0.05), newton_max=5)


def is_at_ease(model: rf.ReducedSolid, q: np.ndarray) -> bool:
    return model._core.strain(q) < model.cubature.strain


@pytest.mark.parametrize("kind", ["implicit", "explicit"])
def test_a_strain_within_a_call_is_seen(kind):
    model = sampled()
    sim = simulation(model)
    if kind == "explicit":
        sim = rf.CentralDifferences(model, 0.02 * rf.stable_step(model), damping=(0.0, 0.05))
    for times, warns in ((0.9, False), (1.6, True)):
        sim.reset(beyond(model, times))
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            for _ in range(200):
                sim.step(None, SWING)
                if is_at_ease(model, sim.state.q):
                    break
        assert any(MESSAGE[:10] in str(one.message) for one in found) is warns
    assert sim._core.strain() > 1.2 * model.cubature.strain
    sim.reset()
    assert sim._core.strain() == 0.0


def test_all_points_are_measured_in_turn():
    """The largest strain of a pose at rest in itself is found within a round of all points."""
    model = sampled()
    q = beyond(model, 1.6)
    sim = rf.CentralDifferences(model, 1e-9)
    seen = []
    for _ in range(8):  # 60 points, eight a step
        sim.reset(q)
        sim._core.step(None, 1, None, 1)
        seen.append(sim._core.strain())
    assert max(seen) == pytest.approx(model._core.strain(q), rel=1e-5)
    assert min(seen) < 0.9 * max(seen)


def test_free_bodies_warn_once_a_reset():
    model = free_model()
    body = rf.FreeBody(model, DT, damping=(0.0, 0.05), newton_max=5)
    body.reset(q=beyond(model, 0.9))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        body.step(None, SWING)
    body.reset(q=beyond(model, 1.6))
    with pytest.warns(rf.PlausibilityWarning, match=MESSAGE) as found:
        body.step(None, SWING)
    assert found[0].filename == __file__
    assert is_at_ease(model, body.state.q)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for one in (body, body.clone(), pickle.loads(pickle.dumps(body))):
            one.step()
    body.reset(q=beyond(model, 1.6))
    with pytest.warns(rf.PlausibilityWarning, match=MESSAGE):
        rf.step_free_bodies([body])


def test_worlds_warn_once_a_body():
    model = free_model()
    body = rf.FreeBody(model, DT, damping=(0.0, 0.05), newton_max=5)
    world = rf.World(DT)
    body.reset(q=beyond(model, 0.9))
    world.add(body)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        world.step(SWING)
    body.reset(q=beyond(model, 1.6))
    world.add(body)
    with pytest.warns(rf.PlausibilityWarning, match=MESSAGE) as found:
        world.step(SWING)
    assert [one.filename for one in found] == [__file__]
    assert is_at_ease(model, world.q[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        world.step()


def scene(model: rf.ReducedSolid, law=rf.PenaltyContact, **options) -> tuple[object, object]:
    """Return a contact far from the hand, and the hand."""
    shell = rf.Pointshell.from_surface(model.mesh.surface(), 50, levels=3)
    field = rf.SphereField((0.0, 0.0, 5.0), 0.05)
    tree = rf.PointTree(shell, reduced=model)
    contact = law(tree, field, **options)
    hand = rf.SimulatedHand([0.0, 10.0], [[0.0, 0.0, 5.0]] * 2)
    return contact, hand


@pytest.mark.parametrize("kind", ["held", "free"])
@pytest.mark.parametrize("end", ["stop", "close"])
def test_sessions_warn_when_they_end(kind, end):
    coupling = rf.VirtualCoupling(500.0, 1.0)
    if kind == "held":
        model = sampled()
        sim = simulation(model)
        contact, hand = scene(model, stiffness=100.0)
    else:
        model = free_model()
        sim = rf.FreeBody(model, DT, damping=(0.0, 0.05), newton_max=5)
        contact, hand = scene(model, rf.FrictionContact, mu=0.3)
    for times, warns in ((0.9, False), (1.6, True)):
        sim.reset(q=beyond(model, times))
        session = rf.HapticSession(contact, hand, coupling=coupling, simulation=sim)
        session.run(SWING)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            getattr(session, end)()
        texts = [str(one.message) for one in found]
        assert any("but its cubature was trained up to" in text for text in texts) is warns
        assert is_at_ease(model, sim.state.q)
        session.close()
