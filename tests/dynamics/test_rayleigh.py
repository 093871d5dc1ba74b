"""Local Rayleigh damping, C = alpha M + beta K(q) with K at the present q, everywhere alike.

Barbic 2007, equation 2.33. The oracle is NumPy's C of the unreduced solid, which reduced models
and projected solids see in a basis of all displacements.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

import reducedfem as rf
from integrated import full_basis, small_solid, states_equal
from plain_polynomial import deviation
from shapes import box_hexes

ALPHA, BETA = 3.0, 0.02


@functools.cache
def held(lumped: bool) -> tuple[rf.Solid, np.ndarray, np.ndarray]:
    """Return a solid, its free degrees of freedom and their mass."""
    solid = small_solid("hexes", 2)
    free = (3 * solid.free[:, None] + np.arange(3)).ravel()
    return solid, free, solid.mass(lumped=lumped).to_scipy().toarray()[np.ix_(free, free)]


@functools.cache
def reduced() -> rf.ReducedSolid:
    solid, *_ = held(False)
    return rf.reduce(solid, full_basis(solid))


@functools.cache
def loaded(folder) -> rf.ReducedSolid:
    reduced().save(folder / "model.safetensors")
    return rf.load(folder / "model.safetensors")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("rayleigh")


SYSTEMS = ["solid", "reduced", "projected", "loaded"]
PAIRS = [(scheme, system) for scheme in ("implicit", "explicit") for system in SYSTEMS
         if (scheme, system) != ("explicit", "projected")]  # fmt: skip


def make(scheme: str, system: str, folder, dt: float, damping) -> rf.ImplicitNewmark:
    solid, *_ = held(False)
    made = {
        "solid": lambda: solid,
        "reduced": reduced,
        "projected": lambda: rf.ProjectedSolid(solid, full_basis(solid)),
        "loaded": lambda: loaded(folder),
    }[system]()
    if scheme == "explicit":
        return rf.CentralDifferences(made, dt, damping)
    return rf.ImplicitNewmark(made, dt, damping, newton_max=6, tol=1e-13)


def start(seed: int = 0, size: float = 0.01) -> tuple[np.ndarray, np.ndarray]:
    """Return large displacements, a tenth of the elements' size, and velocities; free DOFs."""
    rng = np.random.default_rng(seed)
    count = len(held(False)[1])
    return rng.uniform(-size, size, count), rng.standard_normal(count)


def spread(system: str, x: np.ndarray) -> np.ndarray:
    """Return free DOFs as the system wants them."""
    if system != "solid":
        return x
    solid, free, _ = held(False)
    whole = np.zeros(3 * solid.mesh.n_nodes)
    whole[free] = x
    return whole.reshape(-1, 3)


def gather(system: str, x: np.ndarray) -> np.ndarray:
    return x.ravel()[held(False)[1]] if system == "solid" else x


def plain_damping(q: np.ndarray, mass: np.ndarray) -> np.ndarray:
    solid, free, consistent = held(False)
    k = solid.stiffness(spread("solid", q)).to_scipy().toarray()[np.ix_(free, free)]
    return ALPHA * mass + BETA * k


@pytest.mark.parametrize(("scheme", "system"), PAIRS)
def test_deceleration(scheme, system, folder):
    """M (a - a') = C(q) v, of the initial acceleration and of a short step's mean one."""
    lumped = (scheme, system) == ("explicit", "solid")
    mass = held(lumped)[2]
    q, v = start()
    expected = np.linalg.solve(mass, plain_damping(q, mass) @ v)
    at_rest = np.linalg.solve(mass, plain_damping(0.0 * q, mass) @ v)
    assert deviation(at_rest, expected) > 0.02, "K(0) would pass as well"
    dt = 1e-7
    sims = [make(scheme, system, folder, dt, damping) for damping in ((0.0, 0.0), (ALPHA, BETA))]
    first, after = [], []
    for sim in sims:
        sim.reset(spread(system, q), spread(system, v))
        first.append(gather(system, sim.state.qddot))
        sim.step()
        after.append(gather(system, sim.state.qdot))
    assert deviation(first[0] - first[1], expected) < 1e-11
    # first order in the step: dt times the highest rate, 1e-7 s * 2e4 / s
    assert deviation((after[0] - after[1]) / dt, expected) < 5e-3


@pytest.mark.parametrize(("scheme", "system"), PAIRS)
def test_energy_lost_is_the_power_dissipated(scheme, system, folder):
    lumped = (scheme, system) == ("explicit", "solid")
    solid, _, mass = held(lumped)
    q, v = start(1, 0.002)
    sim = make(scheme, system, folder, 2e-5, (ALPHA, 0.1 * BETA))
    sim.reset(spread(system, q), spread(system, v))
    energies, powers = [], []
    for _ in range(250):
        state = sim.state
        q, v = gather(system, state.q), gather(system, state.qdot)
        k = plain_damping(q, mass) - ALPHA * mass
        energies.append(0.5 * v @ mass @ v + solid.strain_energy(spread("solid", q)))
        powers.append(v @ (ALPHA * mass + 0.1 * k) @ v)
        sim.step()
    lost = energies[0] - energies[-1]
    assert lost > 0.15 * energies[0], "too little is lost to be a test"
    # trapezoidal sums of second order in the step; explicit damping is of first order
    expected = np.trapezoid(powers, dx=sim.dt)
    assert lost == pytest.approx(expected, rel=0.05 if scheme == "explicit" else 2e-3)


@pytest.mark.parametrize("scheme", ["implicit", "explicit"])
def test_files_change_nothing(scheme, folder):
    states = []
    for system in ("reduced", "loaded"):
        sim = make(scheme, system, folder, 1e-5, (ALPHA, BETA / 100))
        sim.reset(*start())
        sim.step(n=50)
        states.append(sim.state)
    assert states_equal(*states)


def test_a_free_body_has_it_in_its_deformation_only(tmp_path):
    nodes, elements = box_hexes(4, 2, 1, (0.4, 0.2, 0.08))
    solid = rf.Solid(rf.Mesh(nodes, elements), rf.StVK(1e5, 0.3, 1000.0))
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, 3, 6))
    model.save(tmp_path / "m")
    rng = np.random.default_rng(5)
    q, v = 0.02 * rng.standard_normal((2, 6)) * np.array([[1.0], [50.0]])
    c = ALPHA * model.mass + BETA * model.stiffness(q)
    expected = np.linalg.solve(model.mass, c @ v)
    rest = np.linalg.solve(model.mass, (ALPHA * model.mass + BETA * model.stiffness(0.0 * q)) @ v)
    assert deviation(rest, expected) > 0.02
    dt, spin = 1e-7, (2.0, -3.0, 1.0)
    states = []
    for system in (model, rf.load(tmp_path / "m")):
        for damping in ((0.0, 0.0), (ALPHA, BETA)):
            body = rf.FreeBody(system, dt, damping)
            body.reset(velocity=(1.0, 2.0, 3.0), angular_velocity=spin, q=q, qdot=v)
            first = body.state.qddot
            body.step()
            states.append((first, body.state))
    (a, undamped), (a_damped, damped), _, (_, from_file) = states
    assert deviation(a - a_damped, expected) < 1e-11
    assert deviation((undamped.qdot - damped.qdot) / dt, expected) < 5e-3
    np.testing.assert_array_equal(damped.qdot, from_file.qdot)
    for name in ("position", "quaternion", "velocity", "angular_velocity"):
        np.testing.assert_array_equal(getattr(undamped, name), getattr(damped, name))
    # an unreduced free solid is braked as a whole by alpha: that is what Rayleigh's damping does
    sim = rf.ImplicitNewmark(solid, 1e-3, (ALPHA, 0.0))
    sim.reset(qdot=np.tile([1.0, 2.0, 3.0], (len(nodes), 1)))
    sim.step(n=200)
    # (1 - x) / (1 + x) a step, x = alpha h / 2: the trapezoidal rule's exponential
    left = ((1 - 0.5 * ALPHA * 1e-3) / (1 + 0.5 * ALPHA * 1e-3)) ** 200
    np.testing.assert_allclose(
        sim.state.qdot, left * np.tile([1.0, 2.0, 3.0], (len(nodes), 1)), rtol=1e-9
    )
