"""Free bodies whose deformation is damped by the rate of strain; their rigid motion is not."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import plain_polynomial
import reducedfem as rf
from plain_polynomial import deviation
from reducedfem import _core
from shapes import box_hexes
from test_free_body import check_groups

R = 8


@pytest.fixture(scope="module")
def solid():
    """A brick of three different moments, off the origin, of two materials."""
    nodes, elements = box_hexes(6, 3, 2, (0.6, 0.24, 0.1))
    regions = (np.arange(len(elements)) % 3 == 0).astype(int)
    materials = {0: rf.StVK(2e6, 0.4, 1100.0), 1: rf.StVK(8e6, 0.3, 1500.0)}
    return rf.Solid(rf.Mesh(nodes + np.array([1.0, 2.0, -1.0]), elements, regions), materials)


@pytest.fixture(scope="module")
def damping(solid):
    return rf.StrainRateDamping(solid, {0: 300.0, 1: -60.0}, {0: 150.0, 1: 400.0})


@pytest.fixture(scope="module")
def model(solid, damping):
    return rf.reduce(solid, rf.modal_derivative_basis(solid, k=4, r=R), strain_rate=damping)


@pytest.fixture(scope="module")
def undamped(model):
    return model.with_strain_rate(None)


def deformation(size, seed=3):
    """Return coordinates and rates that bend the brick by some centimetres per unit of size."""
    q = np.random.default_rng(seed).standard_normal((2, R)) * np.linspace(1.0, 0.1, R)
    return size * 0.03 * q[0], size * 3.0 * q[1]


def turned(state):
    """Return the rotation of a state, body to world, as a matrix."""
    return Rotation.from_quat(np.roll(state.quaternion, -1)).as_matrix()


def energies(model, body):
    """Return those of the deformation and of the rigid motion."""
    state = body.state
    within = 0.5 * state.qdot @ model.mass @ state.qdot + model.strain_energy(state.q)
    turn, spin = turned(state), state.angular_velocity
    inertia = turn @ model.rigid_body.inertia @ turn.T
    rigid = 0.5 * model.rigid_body.mass * state.velocity @ state.velocity
    return within, rigid + 0.5 * spin @ inertia @ spin


# --- a step -----------------------------------------------------------------------------


def triangle(coefficients, r):
    """Return the Gram matrix of the strains dE/dq_i = sum_a p_a E_ia: (r + 1, r + 1) pairs."""
    pairs = [(a, b) for a in range(r + 1) for b in range(max(a, 1), r + 1)]
    square = np.zeros((len(pairs), len(pairs)))
    square[np.tril_indices(len(pairs))] = coefficients
    square += np.tril(square, -1).T
    place = np.full((r + 1, r + 1), -1)
    for i, (a, b) in enumerate(pairs):
        place[a, b] = place[b, a] = i
    return square, place


def plain_damping(coefficients, q):
    """D~_ij = sum_ab p_a p_b G_(ia)(jb) with p = (1, q), sum by sum."""
    r, p = len(q), np.concatenate([[1.0], q])
    square, place = triangle(coefficients, r)
    rows = [np.zeros(len(square)) for _ in range(r)]
    for i in range(r):
        for a in range(r + 1):
            rows[i][place[i + 1, a]] += p[a]
    matrix = np.array(rows)
    return matrix @ square @ matrix.T


class PlainBody:
    """A free body in NumPy: the documentation's scheme, with SciPy's rotations."""

    def __init__(self, model, dt, damping, newton, gravity):
        self.model, self.dt, self.rayleigh, self.newton = model, dt, damping, newton
        self.gravity, self.body = np.array(gravity), model.rigid_body

    def forces(self, q):
        _, force, stiffness = plain_polynomial.evaluate(R, self.model.coefficients, q)
        alpha, beta = self.rayleigh
        rate = plain_damping(self.model.strain_rate.coefficients, q)
        return force, stiffness, alpha * self.model.mass + beta * stiffness + rate

    def reset(self, position, turn, velocity, spin, q, qdot):
        self.place, self.turn = position, Rotation.from_matrix(turn)
        self.momentum = self.body.mass * velocity
        self.angular = turn @ self.body.inertia @ turn.T @ spin
        force, _, c = self.forces(q)
        self.q, self.v = q, qdot
        self.a = np.linalg.solve(self.model.mass, -force - c @ qdot)

    def spin(self, turn, angular):
        matrix = turn.as_matrix()
        return matrix @ np.linalg.solve(self.body.inertia, matrix.T @ angular)

    def step(self, nodal):
        h, mesh, turn = self.dt, self.model.mesh, self.turn.as_matrix()
        seen = nodal @ turn  # from the body
        arms = mesh.nodes + self.model.displacement(self.q) - self.body.centre
        torque = turn @ np.cross(arms, seen).sum(axis=0)
        total = nodal.sum(axis=0) + self.body.mass * self.gravity
        load = self.model.matrix.T @ seen.ravel()
        # the pose, by a midpoint rule
        self.place = self.place + h / self.body.mass * (self.momentum + 0.5 * h * total)
        self.momentum = self.momentum + h * total
        half = self.angular + 0.5 * h * torque
        middle = Rotation.from_rotvec(0.5 * h * self.spin(self.turn, half)) * self.turn
        self.turn = Rotation.from_rotvec(h * self.spin(middle, half)) * self.turn
        self.angular = self.angular + h * torque
        # the deformation, by the trapezoidal rule
        q0, v0, a0 = self.q, self.v, self.a
        q = q0
        for _ in range(self.newton):
            a = 4 / h**2 * (q - q0) - 4 / h * v0 - a0
            v = 2 / h * (q - q0) - v0
            force, k, c = self.forces(q)
            system = 4 / h**2 * self.model.mass + 2 / h * c + k
            q = q - np.linalg.solve(system, self.model.mass @ a + c @ v + force - load)
        self.q, self.v = q, 2 / h * (q - q0) - v0
        self.a = 4 / h**2 * (q - q0) - 4 / h * v0 - a0


def test_the_plain_matrix_is_that_of_the_unreduced_solid(solid, damping, model):
    """The reference itself, before it judges anything."""
    q, _ = deformation(1.0)
    whole = damping.matrix(model.displacement(q)).to_scipy()
    expected = model.matrix.T @ (whole @ model.matrix)
    assert deviation(plain_damping(model.strain_rate.coefficients, q), expected) < 1e-11


@pytest.mark.parametrize("newton", [1, 4])
@pytest.mark.parametrize("rayleigh", [(0.0, 0.0), (0.7, 1e-4)])
def test_steps_are_those_of_the_plain_scheme(model, newton, rayleigh, rng):
    gravity = (0.5, 0.0, -9.81)
    body = rf.FreeBody(model, 1e-3, rayleigh, newton, tol=0.0, gravity=gravity)
    plain = PlainBody(model, 1e-3, rayleigh, newton, gravity)
    turn = Rotation.from_rotvec([0.4, -1.0, 0.8])
    pose = (np.array([0.1, 0.2, 3.0]), np.array([1.0, -2.0, 0.5]), np.array([3.0, 5.0, -4.0]))
    q, qdot = deformation(1.0)
    body.reset(pose[0], np.roll(turn.as_quat(), 1), pose[1], pose[2], q, qdot)
    plain.reset(pose[0], turn.as_matrix(), pose[1], pose[2], q, qdot)
    force = np.zeros((model.mesh.n_nodes, 3))
    force[[3, 40, 70]] = rng.standard_normal((3, 3)) * 20.0
    for _ in range(25):
        body.step(force)
        plain.step(force)
    state = body.state
    # rounding through 25 steps and other factorizations
    assert deviation(state.position, plain.place) < 1e-12
    assert deviation(turned(state), plain.turn.as_matrix()) < 1e-11
    assert deviation(state.angular_velocity, plain.spin(plain.turn, plain.angular)) < 1e-11
    assert deviation(state.velocity, plain.momentum / model.rigid_body.mass) < 1e-12
    assert deviation(state.q, plain.q) < 1e-9
    assert deviation(state.qdot, plain.v) < 1e-9
    assert deviation(state.qddot, plain.a) < 1e-8
    # the damping is no trifle in what was compared
    other = rf.FreeBody(
        model.with_strain_rate(None), 1e-3, rayleigh, newton, tol=0.0, gravity=gravity
    )
    other.reset(pose[0], np.roll(turn.as_quat(), 1), pose[1], pose[2], q, qdot)
    other.step(force, 25)
    assert deviation(other.state.q, plain.q) > 0.01


def test_the_damping_of_the_model_or_a_given_one_is_used(model, undamped):
    rate = model.strain_rate
    stronger = rate.truncate(R)
    q, qdot = deformation(1.0)
    ends = []
    for body in (
        rf.FreeBody(model, 1e-3),
        rf.FreeBody(undamped, 1e-3, strain_rate=rate),
        rf.FreeBody(model, 1e-3, strain_rate=stronger),
        rf.FreeBody(undamped, 1e-3),
    ):
        body.reset(q=q, qdot=qdot)
        body.step(n=20)
        ends.append(body.state)
    for state in ends[1:3]:
        np.testing.assert_array_equal(state.q, ends[0].q)
    assert deviation(ends[3].q, ends[0].q) > 0.01


# --- energy -----------------------------------------------------------------------------


@pytest.mark.parametrize("spin", [(0.0, 0.0, 0.0), (4.0, -9.0, 6.0)])
def test_energy_never_grows(model, undamped, spin):
    """Large vibrations in flight, without loads, decay; those of the undamped body do not."""
    dt, steps = 1e-4, 3000
    left = []
    for system in (model, undamped):
        body = rf.FreeBody(system, dt, newton_max=8, tol=1e-10)
        q, qdot = deformation(1.0)
        body.reset(velocity=(1.0, 2.0, 3.0), angular_velocity=spin, q=q, qdot=qdot)
        within, rigid = energies(system, body)
        history = [within]
        for _ in range(steps // 10):
            body.step(n=10)
            now, of_rigid = energies(system, body)
            history.append(now)
            # the midpoint rule's own error, of second order in the step
            assert of_rigid == pytest.approx(rigid, rel=1e-6)
        history = np.array(history) / within
        if system is model:
            # without the damping it would wander by the error of the trapezoidal rule, 1e-4
            assert np.diff(history).max() < 1e-9
        left.append(history[-1])
    assert left[0] < 0.01
    assert left[1] == pytest.approx(1.0, abs=0.02)


def test_energy_lost_is_the_power_dissipated(model):
    body = rf.FreeBody(model, 2e-5, newton_max=4, tol=1e-10)
    q, qdot = deformation(1.0)
    body.reset(angular_velocity=(0.0, 3.0, 0.0), q=q, qdot=qdot)
    first, _ = energies(model, body)

    def power():
        state = body.state
        return state.qdot @ model.strain_rate.matrix(state.q) @ state.qdot

    powers = [power()]
    for _ in range(1000):
        body.step()
        powers.append(power())
    lost = first - energies(model, body)[0]
    assert lost > 0.2 * first
    # a trapezoidal sum, of second order in the step
    assert lost == pytest.approx(np.trapezoid(powers, dx=body.dt), rel=2e-3)


# --- rigid motion is not damped -----------------------------------------------------------


def test_the_pose_does_not_depend_on_the_damping(model, undamped):
    """Flight, turning and momenta bit for bit those of the undamped body."""
    q, qdot = deformation(1.0)
    gravity = (0.0, 0.0, -9.81)
    ends = []
    for system in (model, undamped):
        body = rf.FreeBody(system, 1e-3, gravity=gravity)
        body.reset(velocity=(1.0, 2.0, 3.0), angular_velocity=(2.0, -7.0, 1.0), q=q, qdot=qdot)
        body.step(n=300)
        ends.append(body.state)
    for name in ("position", "quaternion", "velocity", "angular_velocity"):
        np.testing.assert_array_equal(getattr(ends[0], name), getattr(ends[1], name))
    # free fall, exactly
    expected = model.rigid_body.centre + 0.3 * np.array([1, 2, 3]) + 0.045 * np.array(gravity)
    np.testing.assert_allclose(ends[0].position, expected, rtol=1e-12)
    # a body that only flies and turns is not deformed by its damping either
    still = rf.FreeBody(model, 1e-3)
    still.reset(velocity=(1.0, 2.0, 3.0), angular_velocity=(2.0, -7.0, 1.0))
    still.step(n=50)
    np.testing.assert_array_equal(still.state.q, 0.0)


def test_an_unreduced_free_solid_flies_on(solid, damping):
    """Its momenta are constant, and it keeps turning, unlike with Rayleigh damping."""
    mass, x = solid.mass().to_scipy(), solid.mesh.nodes
    centre, spin, velocity = solid.rigid_body.centre, np.array([3.0, -2.0, 5.0]), [1.0, 2.0, 3.0]
    motion = np.array(velocity) + np.cross(spin, x - centre)

    def momenta(state):
        carried = (mass @ state.qdot.ravel()).reshape(-1, 3)
        return carried.sum(axis=0), np.cross(x + state.q - centre, carried).sum(axis=0)

    def run(**options):
        sim = rf.ImplicitNewmark(solid, 2e-3, newton_max=8, tol=1e-12, **options)
        sim.reset(qdot=motion)
        first = momenta(sim.state)
        sim.step(n=50)
        return first, momenta(sim.state)

    strong = rf.StrainRateDamping(solid, 3e3, 3e3)
    first, last = run(strain_rate=strong)
    assert deviation(last[0], first[0]) < 1e-9
    # the trapezoidal rule does not keep angular momentum, but nearly; 0.1 s, a third of a turn
    assert np.linalg.norm(last[1] - first[1]) < 1e-3 * np.linalg.norm(first[1])
    first, braked = run(damping=(5.0, 0.0))
    assert np.linalg.norm(braked[0]) < 0.7 * np.linalg.norm(first[0])


# --- many, memory, arguments ---------------------------------------------------------------


def test_many_bodies_share_one_damping(model):
    """Together and one by one, on any number of threads, bit for bit."""
    rng = np.random.default_rng(0)
    pushes = rng.standard_normal((9, model.mesh.n_nodes, 3))

    def group():
        bodies = [rf.FreeBody(model, 1e-3, (0.1, 1e-4)) for _ in pushes]
        for i, body in enumerate(bodies):
            body.reset(angular_velocity=(0, i, 1), q=deformation(0.1 * i)[0])
        return bodies

    check_groups(group(), group(), list(pushes), 6)


def test_steps_allocate_nothing(model):
    body = rf.FreeBody(model, 1e-4, newton_max=3)
    body.reset(q=deformation(1.0)[0])

    def calls(n):
        before = _core.alloc_counters()["calls"]
        body.step(n=n)
        return _core.alloc_counters()["calls"] - before

    assert calls(1) == calls(300)


def test_a_body_keeps_its_damping(solid, damping, model):
    q, qdot = deformation(1.0)
    ends = []
    for _ in range(2):
        body = rf.FreeBody(model, 1e-3, strain_rate=damping.reduce(model))
        gc.collect()
        body.reset(q=q, qdot=qdot)
        body.step(n=20)
        ends.append(body.state.q)
    np.testing.assert_array_equal(ends[0], ends[1])
    (kept,) = (x for x in gc.get_referents(body._core) if isinstance(x, tuple))
    assert any(isinstance(x, _core.Damping) for x in kept)


def test_loaded_and_truncated_models_fly_the_same(model, tmp_path):
    model.save(tmp_path / "brick.safetensors")
    q, qdot = deformation(1.0)
    for r in (R, 5):
        ends = []
        for system in (model.truncate(r), rf.load(tmp_path / "brick.safetensors").truncate(r)):
            body = rf.FreeBody(system, 1e-3)
            body.reset(q=q[:r], qdot=qdot[:r])
            body.step(n=20)
            ends.append(body.state.q)
        np.testing.assert_array_equal(ends[0], ends[1])


def test_wrong_arguments(damping, model):
    for given, error, message in (
        (damping, rf.InputTypeError, r"pass strain_rate.reduce\(system\)"),
        (3.0, rf.InputTypeError, "must be a ReducedStrainRateDamping, got float"),
        (
            model.strain_rate.truncate(3),
            rf.InputError,
            "damping of 3 reduced coordinates, but the model has 8",
        ),
    ):
        with pytest.raises(error, match=message):
            rf.FreeBody(model, 1e-3, strain_rate=given)
