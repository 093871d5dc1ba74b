"""All integrators, from the registry, against closed forms and statics."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import reducedfem as rf
from bars import UPRIGHT, bar, top_of
from calls import IMPLICIT

BALL = rf.SphereField((0.0, 0.0, 0.0), 0.02)
ONE_STAGE = [kind for kind in IMPLICIT.values() if kind not in (rf.TRBDF2, rf.SDIRK2)]
KINDS = {**IMPLICIT, "CentralDifferences": rf.CentralDifferences}


@pytest.mark.parametrize("kind", KINDS.values())
def test_oscillators_converge_to_the_closed_form(kind):
    """First order at least, in positions and velocities, under a load and with damping."""
    stiffness, damping = np.array([1.0, 4.0, 25.0]), 0.3
    system = rf.SecondOrderSystem(np.eye(3), np.diag(stiffness))
    q, qdot, load = np.array([1.0, -2.0, 0.5]), np.array([0.2, 1.0, -4.0]), np.array([1.0, 0, 3])
    rate, end = np.sqrt(stiffness - 0.25 * damping**2), 1.5
    # about the equilibrium: exp(-c t / 2) (a cos w t + b sin w t)
    a, wave = q - load / stiffness, rate * end
    b = (qdot + 0.5 * damping * a) / rate
    shape = a * np.cos(wave) + b * np.sin(wave)
    slope = rate * (b * np.cos(wave) - a * np.sin(wave)) - 0.5 * damping * shape
    exact = np.array([load / stiffness + np.exp(-0.5 * damping * end) * shape,
                      np.exp(-0.5 * damping * end) * slope])  # fmt: skip
    errors = []
    for n in (500, 1000, 2000):
        sim = kind(system, end / n, (damping, 0.0))
        sim.reset(q, qdot)
        sim.step(load, n=n)
        errors.append(np.abs([sim.state.q - exact[0], sim.state.qdot - exact[1]]).max(1))
    for one, half in itertools.pairwise(errors):
        assert (half < 0.6 * one).all()
    assert (errors[-1] < 0.05).all()


@pytest.mark.parametrize("kind", IMPLICIT.values())
def test_rest_is_the_static_solution(kind):
    model = bar()
    force = 0.02 * np.arange(model.r)
    sim = kind(model, 0.05, (1.0, 0.1), newton_max=20, tol=1e-12)
    sim.step(force, n=2000)
    rest = model.solve_static(force)
    np.testing.assert_allclose(sim.state.q, rest, rtol=0, atol=1e-8 * np.abs(rest).max())


def test_contact_and_sessions_come_to_the_same_rest():
    model = bar()
    tree = top_of(model)
    ends, forces = [], []
    for kind in ONE_STAGE:
        sim = kind(model, 1e-3, (20.0, 1e-3))
        out = sim.step(
            n=1500, contact=rf.PenaltyContact(tree, BALL), position=(0.19, 0.015, 0.047),
            quaternion=UPRIGHT,
        )  # fmt: skip
        assert out.touching[-1] > 0
        ends.append(out.force[-1])
        for dt, coupled in ((1e-3, True), (5e-4, True), (1e-3, False)):
            sim = kind(model, dt, (20.0, 1e-3))
            hand = rf.ReplayDevice([0.0, 10.0], [[0.18, 0.015, 0.046]] * 2)
            made = rf.HapticSession(
                rf.PenaltyContact(tree, BALL, 1000.0, None), hand, simulation=sim, ramp=0.0,
                coupling=rf.VirtualCoupling(500.0, 1.0), budget_us=0.0, coupled=coupled,
            )  # fmt: skip
            forces.append(made.run(1500).array["force"][-1])
            made.close()
    end = np.linalg.norm(ends[0])
    np.testing.assert_allclose(ends, [ends[0]] * len(ends), rtol=0, atol=1e-4 * end)
    size = np.linalg.norm(forces[0])
    assert size > 0.05
    np.testing.assert_allclose(forces, [forces[0]] * len(forces), rtol=0, atol=2e-3 * size)


@pytest.mark.parametrize("kind", [rf.TRBDF2, rf.SDIRK2])
def test_two_stages_are_refused_in_contact(kind):
    model = bar()
    sim = kind(model, 1e-3)
    contact = rf.PenaltyContact(top_of(model), BALL)
    message = "one stage a step, such as ImplicitNewmark or BDF2, got one with two stages"
    with pytest.raises(rf.InputTypeError, match=message):
        sim.step(contact=contact, position=(0.19, 0.015, 0.047), quaternion=UPRIGHT)
    hand = rf.ReplayDevice([0.0, 10.0], [[0.18, 0.015, 0.046]] * 2)
    with pytest.raises(rf.InputTypeError, match=message):
        rf.HapticSession(contact, hand, simulation=sim, coupling=rf.VirtualCoupling(500.0, 1.0))
