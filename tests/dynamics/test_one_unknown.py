"""Systems of one unknown, against closed forms; functions that contradict each other."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import reducedfem as rf

RATE = 2.0  # angular frequency of small motion
START = 2.0  # rad; the period is 1.3 times that of small motion


def force(x):
    return RATE**2 * np.sin(x)


def slope(x):
    return RATE**2 * np.cos(x).reshape(1, 1)


def potential(x):
    return RATE**2 * float(1.0 - np.cos(x[0]))


def pendulum(**other):
    given = {"internal_force": force, "tangent": slope, "energy": potential, **other}
    return rf.SecondOrderSystem([[1.0]], [[RATE**2]], **given)


def pendulum_at(t):
    modulus = np.sin(START / 2) ** 2
    return 2.0 * np.arcsin(np.sqrt(modulus) * ellipj(ellipk(modulus) - RATE * t, modulus)[0])


def duffing():
    """x'' + x + 2 x^3 = 0."""
    return rf.SecondOrderSystem(
        [[1.0]],
        [[1.0]],
        internal_force=lambda x: x + 2.0 * x**3,
        tangent=lambda x: np.array([[1.0 + 6.0 * x[0] ** 2]]),
        energy=lambda x: float(0.5 * x[0] ** 2 + 0.5 * x[0] ** 4),
    )


def duffing_at(t):
    square = 1.0 + 2.0 * START**2
    return START * ellipj(np.sqrt(square) * t, START**2 / square)[1]


CASES = {"pendulum": (pendulum, pendulum_at, 3.0), "duffing": (duffing, duffing_at, 1.2)}
# order at one Newton iteration and at many; of first order are SI and BE
NAMES = ["BE", "SI", "BDF2", "SBDF2", "TR", "TRBDF2", "STRSBDF2", "SDIRK", "SSDIRK", "GA", "ERE"]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", [*NAMES, "central"])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_all_integrators_converge_to_the_closed_form(case, name):
    make, exact, end = CASES[case]
    errors = []
    for n in (200, 400, 800):
        dt = end / n
        if name == "central":
            sim = rf.CentralDifferences(make(), dt)
        else:
            more = {} if name in ("ERE",) else {"tol": 1e-12}
            sim = rf.integrator(name, make(), dt, **more)
        sim.reset([START])
        sim.step(None, n)
        errors.append(abs(sim.state.q[0] - exact(end)))
    assert errors[0] < (0.2 if name in ("BE", "SI") else 2e-3) * START
    order = 1 if name in ("BE", "SI") else 2
    # the asymptotic ratio is 2^order, less where higher orders are still there
    for coarse, fine in itertools.pairwise(errors):
        assert coarse / fine > 0.8 * 2**order


def test_the_period_of_a_pendulum():
    """T = 4 K(sin^2(a / 2)) / rate: a period later it is back."""
    period = 4.0 * ellipk(np.sin(START / 2) ** 2) / RATE
    sim = rf.ImplicitNewmark(pendulum(), period / 2000, newton_max=20, tol=1e-12)
    sim.reset([START])
    sim.step(None, 1000)
    # at the turning points an error of time counts only squared
    assert sim.state.q[0] == pytest.approx(-START, abs=1e-5)
    sim.step(None, 1000)
    assert sim.state.q[0] == pytest.approx(START, abs=1e-5)
    assert abs(sim.state.qdot[0]) < 1e-3 * START * RATE


def test_linear_damped_motion_under_a_force():
    """x'' + 2 x' + 10 x = 5 from rest: x = (1 - e^-t (cos 3t + sin 3t / 3)) / 2."""
    system = rf.SecondOrderSystem([[1.0]], [[10.0]], damping_matrix=[[2.0]])
    sim = rf.ImplicitNewmark(system, 1e-3)
    sim.reset(qddot=[5.0])
    sim.step([5.0], 1500)
    t = 1.5
    expected = 0.5 * (1.0 - np.exp(-t) * (np.cos(3 * t) + np.sin(3 * t) / 3))
    assert sim.state.q[0] == pytest.approx(expected, abs=1e-5)
    assert repr(system).startswith("<SecondOrderSystem: 1 unknown,")


def test_stable_step_of_one_unknown():
    assert rf.stable_step(pendulum()) == pytest.approx(2.0 / RATE, rel=1e-14)
    assert rf.stable_step(pendulum(), [1.0]) == pytest.approx(2.0 / RATE / np.sqrt(np.cos(1.0)))
    with pytest.raises(rf.SingularMatrixError, match="not positive definite"):
        rf.stable_step(pendulum(), [3.0])


def test_one_unknown_has_no_modes():
    with pytest.raises(rf.InputError, match="one unknown has no modes"):
        pendulum().linear_modes(1)
    with pytest.raises(rf.InputError, match="exact must be at most 0"):
        rf.BDF2(pendulum(), 1e-2, exact=1)
    with pytest.raises(rf.InputError, match=r"mass must have shape \(n, n\)"):
        rf.SecondOrderSystem(np.zeros((0, 0)), np.zeros((0, 0)))


# --- functions that contradict each other away from rest ----------------------------------------

WRONG_ENERGY = {"energy": lambda x: RATE**2 * float(0.5 * x[0] ** 2 - 0.5 * x[0] ** 3)}
WRONG_FORCE = {"internal_force": lambda x: RATE**2 * (x - x**3)}


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_a_wrong_energy_is_named_where_increments_are_shortened():
    sim = rf.BackwardEuler(pendulum(**WRONG_ENERGY), 0.02, newton_max=20)
    sim.reset([START])
    with pytest.warns(rf.PlausibilityWarning, match="shortened") as found:
        sim.step(None, 200)
    text = str(found[0].message)
    # dW/dx = 4 (2 - 6) along the force, 4 sin 2
    assert "energy is not the potential of internal_force: energy changes by -16 " in text
    assert "by internal_force 3.64" in text
    assert "x[:3] = [2.]" in text
    assert "too long" not in text


def test_a_wrong_force_is_named_where_a_step_fails():
    sim = rf.BackwardEuler(pendulum(**WRONG_FORCE), 0.02)
    sim.reset([START])
    with pytest.raises(rf.DivergedError) as failure:
        sim.step()
    text = str(failure.value)
    assert text.startswith("internal_force contradicts energy and tangent: ")
    assert "the simulation diverged at t = 0 s" in text
    assert sim.state.q[0] == START


def test_a_wrong_tangent_is_named_where_a_step_fails():
    """By a tangent far below zero exponential steps run away."""
    wrong = {"tangent": lambda x: np.array([[RATE**2 * (1.0 - 1e6 * x[0] ** 2)]]), "energy": None}
    sim = rf.ExponentialEuler(pendulum(**wrong), 0.02)
    sim.reset([START])
    with pytest.raises(rf.DivergedError, match=r"^tangent is not the derivative of internal_force"):
        sim.step(None, 1000)


def test_long_steps_of_right_functions_are_still_blamed():
    """A stiff cubic spring in steps of a sixth of its period."""
    sim = rf.ImplicitNewmark(duffing(), 1.0)
    sim.reset([20.0])
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        sim.step(None, 100)
    assert any("is too long for this motion" in str(one.message) for one in found)
    assert not any("internal_force" in str(one.message) for one in found)
