"""Systems whose forces are functions of Python, against the same systems in the core."""

from __future__ import annotations

import copy
import gc
import itertools
import pickle
import threading
import weakref
from functools import partial

import numpy as np
import pytest
from scipy.sparse import csc_matrix

import reducedfem as rf
from calls import IMPLICIT
from integrated import small_solid
from moments import at_once

ALL = {**IMPLICIT, "CentralDifferences": rf.CentralDifferences}


def free_unknowns(solid: rf.Solid) -> np.ndarray:
    free = np.ones((solid.mesh.n_nodes, 3), dtype=bool)
    free[solid.fixed] = False
    return np.flatnonzero(free)


def as_functions(solid: rf.Solid, *, energy: bool = True, form: str = "sparse"):
    """The system of the free unknowns of a solid, asked through functions."""
    free, shape = free_unknowns(solid), (solid.mesh.n_nodes, 3)

    def whole(x: np.ndarray) -> np.ndarray:
        u = np.zeros(shape)
        u.flat[free] = x
        return u

    def cut(matrix: rf.CSC):
        part = matrix.to_scipy()[free][:, free]
        return part.toarray() if form == "dense" else part

    return rf.SecondOrderSystem(
        cut(solid.mass()),
        cut(solid.stiffness()),
        internal_force=lambda x: solid.internal_force(whole(x)).ravel()[free],
        tangent=lambda x: cut(solid.stiffness(whole(x))),
        energy=(lambda x: solid.strain_energy(whole(x))) if energy else None,
    )


# --- hardening springs ------------------------------------------------------------------


def duffing_force(x: np.ndarray) -> np.ndarray:
    return 2.0 * x + 30.0 * x**3


def duffing_tangent(x: np.ndarray) -> np.ndarray:
    return np.diag(2.0 + 90.0 * x**2)


def duffing_energy(x: np.ndarray) -> float:
    return float((x**2 + 7.5 * x**4).sum())


def duffing(**changes) -> rf.SecondOrderSystem:
    law = {
        "internal_force": duffing_force,
        "tangent": duffing_tangent,
        "energy": duffing_energy,
        **changes,
    }
    return rf.SecondOrderSystem(np.eye(3), 2.0 * np.eye(3), **law)


START = np.array([0.4, -0.1, 0.9])


@pytest.mark.parametrize("form", ["sparse", "dense"])
@pytest.mark.parametrize("kind", ALL.values(), ids=ALL)
def test_a_solid_through_functions_moves_as_the_solid(kind, form):
    solid = small_solid()
    free = free_unknowns(solid)
    system = as_functions(solid, form=form)
    rng = np.random.default_rng(4)
    # lumped masses of explicit steps of solids are another system
    iterations = {} if kind is rf.CentralDifferences else {"newton_max": 20, "tol": 1e-12}
    dt = 1e-4 if kind is rf.CentralDifferences else 2e-3
    peer: rf.Simulation = kind(solid, dt, (0.5, 1e-3), **iterations)
    if kind is rf.CentralDifferences:
        lumped = np.diag(solid.mass(lumped=True).to_scipy().toarray())[free]
        system = rf.SecondOrderSystem(
            np.diag(lumped),
            system.stiffness,
            internal_force=system.internal_force,
            tangent=system.tangent,
        )
    sim = kind(system, dt, (0.5, 1e-3), **iterations)
    u = np.zeros((solid.mesh.n_nodes, 3))
    u.flat[free] = 0.01 * rng.standard_normal(len(free))
    load = np.zeros_like(u)
    load.flat[free] = 0.3 * rng.standard_normal(len(free))
    for one, q, f in ((peer, u, load), (sim, u.ravel()[free], load.ravel()[free])):
        one.reset(q)
        one.step(f, n=15)
    for name in ("q", "qdot"):
        expected = getattr(peer.state, name).ravel()[free]
        error = np.abs(getattr(sim.state, name) - expected).max()
        assert error <= 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize("energy", [duffing_energy, None])
@pytest.mark.parametrize("kind", IMPLICIT.values(), ids=IMPLICIT)
def test_springs_solve_the_equations_of_a_step(kind, energy):
    """A long step, whose whole increments overshoot: the same end by energy and by residual."""
    sim = kind(duffing(energy=energy), 0.8, newton_max=100, tol=1e-13)
    reference = kind(duffing(), 0.8, newton_max=100, tol=1e-13)
    for one in (sim, reference):
        one.reset(START)
        one.step([50.0, 0.0, -9.0], n=4)
        assert one.report.unconverged == 0
        assert one.report.shortened > 0
    np.testing.assert_allclose(sim.state.q, reference.state.q, rtol=1e-11)
    np.testing.assert_allclose(sim.state.qdot, reference.state.qdot, rtol=1e-9, atol=1e-9)


def test_backward_euler_of_springs_balances():
    sim = rf.BackwardEuler(duffing(energy=None), 0.8, newton_max=100, tol=1e-14)
    load = np.array([50.0, 0.0, -9.0])
    sim.reset(START)
    before = sim.state
    sim.step(load)
    now = sim.state
    np.testing.assert_allclose(now.q, before.q + 0.8 * now.qdot, rtol=1e-12)
    balance = (now.qdot - before.qdot) / 0.8 + duffing_force(now.q) - load
    assert np.abs(balance).max() <= 1e-11 * 50.0


def double_well(*, energy: bool) -> rf.SecondOrderSystem:
    """Between its wells, at 0 and beyond 1, the tangent is negative."""
    return rf.SecondOrderSystem(
        np.eye(2),
        2.0 * np.eye(2),
        internal_force=lambda x: 2.0 * x - 6.0 * x**3 + 3.0 * x**5,
        tangent=lambda x: np.diag(2.0 - 18.0 * x**2 + 15.0 * x**4),
        energy=(lambda x: 1e6 + float((x**2 - 1.5 * x**4 + 0.5 * x**6).sum())) if energy else None,
    )


@pytest.mark.parametrize("energy", [False, True])
@pytest.mark.parametrize("iterations", [1, 100])
def test_negative_tangents_stop_no_motion(iterations, energy):
    indefinite = 0
    for start in np.random.default_rng(1).uniform(-1.5, 1.5, (20, 2)):
        sim = rf.BackwardEuler(double_well(energy=energy), 2.0, newton_max=iterations, tol=1e-9)
        sim.reset(start)
        sim.step([0.3, -0.2], n=10)
        indefinite += sim.report.indefinite
        assert iterations == 1 or sim.report.unconverged == 0
    assert indefinite > 10


def test_patterns_of_the_tangent_may_change():
    """Values of a pattern that was seen before are taken as those of a new one."""
    band = np.abs(np.subtract.outer(range(6), range(6))) < 3
    stiffness = np.where(band, -1.0, 0.0) + 8.0 * np.eye(6)
    turn = itertools.cycle([0, 0, 1, 0])  # of the patterns
    ends = []

    def force(x):
        return stiffness @ x + 3.0 * x**3

    def tangent(x):
        whole = csc_matrix(stiffness + 9.0 * np.diag(x**2))
        if next(turn) == 0:
            return whole
        more = csc_matrix(whole)  # the same matrix, with zeros that are stored
        more.data[more.data == -1.0] = 0.0
        return more + csc_matrix(np.where(band & ~np.eye(6, dtype=bool), -1.0, 0.0))

    for give in (tangent, lambda x: stiffness + 9.0 * np.diag(x**2)):
        system = rf.SecondOrderSystem(
            np.eye(6), csc_matrix(stiffness), internal_force=force, tangent=give
        )
        sim = rf.BackwardEuler(system, 0.3)
        sim.reset(np.linspace(-1.0, 1.0, 6))
        sim.step(n=9)
        ends.append(sim.state.q)
    np.testing.assert_allclose(*ends, rtol=1e-12)


def test_each_tangent_must_be_symmetric():
    skew = [0.0]
    stiffness = np.array([[2.0, -1.0], [-1.0, 2.0]])
    system = rf.SecondOrderSystem(
        np.eye(2),
        csc_matrix(stiffness),
        internal_force=lambda x: stiffness @ x,
        tangent=lambda x: csc_matrix(stiffness + skew[0] * np.triu(np.ones((2, 2)), 1)),
    )
    sim = rf.BackwardEuler(system, 0.1)
    sim.step(np.ones(2), n=2)
    skew[0] = 0.1
    with pytest.raises(rf.InputError, match="is not symmetric: its entries at"):
        sim.step()


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_exact_modes_follow_the_tangent():
    """Two springs of three are exact; the trapezoidal rule at tiny steps is the truth."""
    ends = []
    for sim in (
        rf.BackwardEuler(duffing(), 1e-3, newton_max=20, tol=1e-12, exact=2, modes="exact"),
        rf.ImplicitNewmark(duffing(), 1e-4, newton_max=20, tol=1e-12),
        rf.BackwardEuler(duffing(), 1e-3, newton_max=20, tol=1e-12),
    ):
        sim.reset(0.1 * START)
        sim.step(n=round(0.5 / sim.dt))
        ends.append(sim.state.q)
    exact, plain = np.abs(ends[0] - ends[1]), np.abs(ends[2] - ends[1])
    assert (exact[:2] < 1e-4 * plain[:2]).all()  # the third spring is the stiffest
    assert exact[2] == pytest.approx(plain[2], rel=1e-3)


def test_places_without_a_force_are_avoided():
    """Increments that leave the domain of the law are shortened."""

    def force(x):
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(x > -1.0, x / (1.0 + x), np.nan)

    for energy in (None, lambda x: float((x - np.log1p(x)).sum()) if (x > -1).all() else np.inf):
        system = rf.SecondOrderSystem(
            np.eye(2),
            np.eye(2),
            internal_force=force,
            tangent=lambda x: np.diag((1.0 + x) ** -2.0),
            energy=energy,
        )
        sim = rf.BackwardEuler(system, 1.0, newton_max=60, tol=1e-10)
        sim.step([-5.0, 0.2])
        assert sim.report.unconverged == 0
        q = sim.state.q
        assert (q > -1.0).all()
        np.testing.assert_allclose(q + force(q), [-5.0, 0.2], atol=1e-9)


def test_functions_may_raise_far_from_rest():
    """They are tried at small x first."""

    def near(x):
        if np.abs(x).max() > 1e-3:
            raise Broken("far")
        return duffing_force(x)

    sim = rf.BackwardEuler(duffing(internal_force=near), 0.1)
    with pytest.raises(Broken, match="far"):
        sim.reset(START)


def test_explicit_steps_need_no_tangent():
    ends = []
    for tangent in (duffing_tangent, None):
        sim = rf.CentralDifferences(duffing(tangent=tangent, energy=None), 1e-2)
        sim.reset(START)
        sim.step(n=50)
        ends.append(sim.state.q)
    np.testing.assert_array_equal(*ends)
    with pytest.raises(rf.InputError, match="no tangent, which all steps need but"):
        rf.BDF2(duffing(tangent=None), 1e-2)
    with pytest.raises(rf.InputError, match="no tangent"):
        rf.CentralDifferences(duffing(tangent=None), 1e-2, (0.0, 1e-3))


def test_the_stable_step_is_that_of_the_tangent():
    bent = rf.stable_step(duffing(), START)
    assert bent == pytest.approx(2.0 / np.sqrt(2.0 + 90.0 * 0.81), rel=1e-9)
    with pytest.raises(rf.InputError, match="q must be None: the system has no tangent: pass tang"):
        rf.stable_step(duffing(tangent=None), START)
    with pytest.raises(rf.SingularMatrixError, match="tangent at q is not positive definite"):
        rf.stable_step(double_well(energy=False), [0.7, 0.0])


def test_copies_and_pickles_have_the_functions():
    sim = rf.ImplicitNewmark(duffing(), 0.02, newton_max=5)
    sim.reset(START)
    sim.step(n=3)
    others = [pickle.loads(pickle.dumps(sim)), copy.copy(sim)]
    sim.step(n=5)
    for other in others:
        other.step(n=5)
        np.testing.assert_array_equal(other.state.q, sim.state.q)
    system = others[0].system
    assert (system.internal_force, system.tangent) == (duffing_force, duffing_tangent)
    assert system.energy is duffing_energy
    assert "nonlinear" in repr(system)


def test_threads_may_step_simulations_of_one_system():
    system, ends = duffing(), {}

    def run(k: int) -> None:
        sim = rf.BackwardEuler(system, 0.02 * (1 + k % 2), newton_max=5)
        sim.reset(START)
        sim.step(n=40)
        ends[k] = sim.state.q

    at_once(partial(run, k) for k in range(4))
    np.testing.assert_array_equal(ends[0], ends[2])
    np.testing.assert_array_equal(ends[1], ends[3])


def test_systems_in_cycles_are_collected():
    class Owner:
        def __init__(self):
            self.system = rf.SecondOrderSystem(np.eye(2), np.eye(2), internal_force=self.force)

        def force(self, x):
            return x

    owner = Owner()
    ghost = weakref.ref(owner)
    del owner
    gc.collect()
    assert ghost() is None


# --- failures ---------------------------------------------------------------------------


class Broken(Exception):
    pass


@pytest.mark.parametrize("part", ["internal_force", "tangent", "energy"])
def test_exceptions_end_a_step_and_keep_the_state(part):
    working = {
        "internal_force": duffing_force, "tangent": duffing_tangent, "energy": duffing_energy
    }  # fmt: skip
    limit = [1.0]

    def function(x):
        if np.abs(x).max() > limit[0]:
            raise Broken(part)
        return working[part](x)

    sim = rf.BackwardEuler(duffing(**{part: function}), 0.1, newton_max=10)
    sim.reset(START)
    sim.step(n=2)
    before = sim.state
    with pytest.raises(Broken, match=part):
        sim.step([900.0, 0.0, 0.0], n=30)
    np.testing.assert_array_equal(before.q, sim.state.q)
    limit[0] = np.inf
    sim.step()  # it continues
    reference = rf.BackwardEuler(duffing(), 0.1, newton_max=10)
    reference.reset(START)
    reference.step(n=3)
    np.testing.assert_allclose(sim.state.q, reference.state.q, rtol=1e-9)


@pytest.mark.parametrize(
    "use",
    [
        lambda sim: sim.state,
        lambda sim: sim.report,
        lambda sim: sim.step(),
        lambda sim: sim.reset(),
        lambda sim: sim.clone(),
    ],
    ids=["state", "report", "step", "reset", "clone"],
)
def test_functions_that_use_their_simulation_are_refused(use):
    """They would wait for themselves for ever."""
    asked = []

    def force(x):
        for sim in asked:
            use(sim)
        return duffing_force(x)

    sim = rf.BackwardEuler(duffing(internal_force=force), 0.1)
    sim.reset(START)
    asked.append(sim)
    caught = []

    def attempt():
        for call in (sim.step, lambda: sim.reset(START)):
            try:
                call()
            except rf.InputError as error:
                caught.append(str(error))

    # were it not refused, the thread would hang, and not the tests
    worker = threading.Thread(target=attempt, daemon=True)
    worker.start()
    worker.join(600.0)
    assert len(caught) == 2
    assert all("uses the simulation that calls it" in text for text in caught)
    asked.clear()
    sim.step()
    # another simulation may be used
    asked.append(rf.BackwardEuler(duffing(), 0.1))
    sim.step()


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"internal_force": 3.0}, rf.InputTypeError, "internal_force must be callable, got float"),
        ({"tangent": 1}, rf.InputTypeError, "tangent must be callable, got int"),
        ({"energy": "W"}, rf.InputTypeError, "energy must be callable, got str"),
        ({"internal_force": None}, rf.InputError, "tangent is given without internal_force"),
        (
            {"internal_force": lambda x: duffing_force(x) + np.array([0.0, 0.5, 0.0])},
            rf.InputError,
            r"internal_force\(0\)\[1\] is 0.5, but x = 0 is rest",
        ),
        (
            {"internal_force": lambda x: x[:2]},
            rf.InputError,
            r"internal_force\(x\) must have shape \(3,\), got shape \(2,\)",
        ),
        (
            {"internal_force": lambda x: "none"},
            rf.InputTypeError,
            r"internal_force\(x\) must be real numbers, got str",
        ),
        (
            {"tangent": lambda x: duffing_tangent(x) + np.eye(3)},
            rf.InputError,
            r"tangent\(0\) differs from the stiffness by 1 of 2",
        ),
        ({"tangent": lambda x: np.eye(2)}, rf.InputError, r"tangent\(x\) must have shape \(3, 3\)"),
        (
            {"tangent": lambda x: np.triu(np.ones((3, 3)))},
            rf.InputError,
            r"tangent\(x\) is not symmetric",
        ),
        ({"energy": lambda x: x}, rf.InputError, r"energy\(x\) must be one number, got shape"),
        ({"energy": lambda x: np.nan}, rf.InputError, r"energy\(0\) must be finite"),
        (
            {"energy": lambda x: None},
            rf.InputTypeError,
            r"energy\(x\) must be real numbers, got None",
        ),
        (
            {"internal_force": lambda x: 1j * duffing_force(x)},
            rf.InputTypeError,
            r"internal_force\(x\) must be real numbers, got an array of complex128",
        ),
        (
            {"internal_force": lambda x: -duffing_force(x)},
            rf.InputError,
            "internal_force near x = 0 does not belong to the stiffness: .* by [-]?2, by the",
        ),
        ({"internal_force": lambda x: x.__imul__(2.0)}, ValueError, "read-only"),
        (
            {"energy": lambda x: 2.0 * duffing_energy(x)},
            rf.InputError,
            "energy is not the potential of internal_force: .* is 12, that of the stiffness 6",
        ),
    ],
)
def test_functions_that_do_not_fit_are_refused(changes, error, message):
    with pytest.raises(error, match=message):
        duffing(**changes)


def test_entries_beyond_the_pattern_are_refused():
    def coupled(x):
        matrix = np.diag(2.0 + 90.0 * x**2)
        matrix[0, 2] = matrix[2, 0] = x[0]
        return matrix

    stiffness = rf.CSC(np.full(3, 2.0), np.arange(3, dtype="i4"), np.arange(4, dtype="i4"), (3, 3))
    system = rf.SecondOrderSystem(
        np.eye(3), stiffness, internal_force=duffing_force, tangent=coupled
    )
    sim = rf.BackwardEuler(system, 0.1)
    sim.reset(qdot=START)
    with pytest.raises(rf.InputError, match=r"tangent\(x\) has an entry at \(2, 0\), where"):
        sim.step()
    # of a dense stiffness zeros count
    dense = rf.SecondOrderSystem(
        np.eye(3), 2.0 * np.eye(3), internal_force=duffing_force, tangent=coupled
    )
    sim = rf.BackwardEuler(dense, 0.1)
    sim.reset(START)
    sim.step()
