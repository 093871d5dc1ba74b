"""Free bodies: rigid motion beside the reduced deformation (Barbic 2007, 2.8.7 and 2.15)."""

from __future__ import annotations

import pickle
import threading
from functools import partial

import numpy as np
import pytest

import reducedfem as rf
from motions import NEWMARK
from reducedfem import _core
from shapes import box_hexes, solid_box
from turns import rotation

RUBBER = rf.StVK(2e6, 0.4, 1100.0)
R = 8


@pytest.fixture(scope="module")
def model():
    """A brick of three different moments, off the origin."""
    nodes, elements = box_hexes(6, 3, 2, (0.6, 0.24, 0.1))
    solid = rf.Solid(rf.Mesh(nodes + np.array([1.0, 2.0, -1.0]), elements), RUBBER)
    return rf.reduce(solid, rf.modal_derivative_basis(solid, k=4, r=R))


def angular_momentum(body):
    state = body.state
    turn = rotation(state.quaternion)
    return turn @ body.rigid_body.inertia @ turn.T @ state.angular_velocity


def test_a_body_at_rest_stays_at_the_mesh(model):
    body = rf.FreeBody(model, 1e-3)
    body.step(n=5)
    np.testing.assert_allclose(body.positions, model.mesh.nodes, rtol=1e-14)
    assert body.state.time == pytest.approx(5e-3)


def test_free_fall_is_a_parabola_without_deformation(model):
    gravity, velocity = np.array([0.3, -9.81, 0.1]), np.array([1.0, 2.0, 3.0])
    body = rf.FreeBody(model, 2e-3, gravity=gravity)
    body.reset(velocity=velocity)
    body.step(n=250)
    # a constant force is integrated exactly
    expected = model.rigid_body.centre + 0.5 * velocity + 0.125 * gravity
    np.testing.assert_allclose(body.state.position, expected, rtol=1e-12)
    np.testing.assert_allclose(body.state.velocity, velocity + 0.5 * gravity, rtol=1e-12)
    np.testing.assert_array_equal(body.state.q, 0.0)
    np.testing.assert_array_equal(body.state.quaternion, [1, 0, 0, 0])


def test_tumbling_keeps_angular_momentum_and_is_of_second_order(model):
    """About the middle axis, where the motion turns over: the hardest case."""
    spin = np.array([0.05, 8.0, 0.02])
    axes = np.linalg.eigh(model.rigid_body.inertia)[1]
    ends, energies = [], []
    for steps in (200, 400, 800):
        body = rf.FreeBody(model, 1.0 / steps)
        body.reset(angular_velocity=axes @ spin)
        before = angular_momentum(body)
        energy = before @ body.state.angular_velocity
        body.step(n=steps)
        np.testing.assert_allclose(
            angular_momentum(body), before, atol=1e-12 * np.linalg.norm(before)
        )
        energies.append(abs(angular_momentum(body) @ body.state.angular_velocity / energy - 1.0))
        ends.append(body.state.quaternion)
    assert energies[-1] < 1e-4
    coarse, fine = np.linalg.norm(ends[0] - ends[1]), np.linalg.norm(ends[1] - ends[2])
    # halving the step of a second-order rule quarters the difference
    assert 3.5 < coarse / fine < 4.6


def test_a_force_accelerates_turns_and_deforms(model):
    """One step from rest in a turned pose, against the definitions in NumPy."""
    h, node = 1e-4, 17
    quaternion = np.array([0.5, -0.2, 0.7, 0.3])
    turn = rotation(quaternion / np.linalg.norm(quaternion))
    body = rf.FreeBody(model, h)
    body.reset(quaternion=3.0 * quaternion)
    np.testing.assert_allclose(
        body.positions,
        model.rigid_body.centre + (model.mesh.nodes - model.rigid_body.centre) @ turn.T,
        rtol=1e-13,
    )
    force = np.zeros((model.mesh.n_nodes, 3))
    force[node] = [3.0, -4.0, 5.0]
    arm = body.positions[node] - model.rigid_body.centre
    body.step(force)
    mass, inertia = model.rigid_body.mass, model.rigid_body.inertia
    np.testing.assert_allclose(body.state.velocity, h * force[node] / mass, rtol=1e-12)
    np.testing.assert_allclose(angular_momentum(body), h * np.cross(arm, force[node]), rtol=1e-9)
    np.testing.assert_allclose(
        body.state.angular_velocity,
        np.linalg.solve(turn @ inertia @ turn.T, h * np.cross(arm, force[node])),
        rtol=1e-4,  # the pose has turned a little since
    )
    # the deformation is that of a plain simulation under the force seen from the body
    seen = rf.ImplicitNewmark(model, h, deformation_only=True)
    seen.step(force @ turn)
    np.testing.assert_allclose(body.state.q, seen.state.q, rtol=1e-12)


def test_loads_act_where_the_deformed_nodes_are(model, rng):
    q = 0.02 * rng.standard_normal(R)
    body = rf.FreeBody(model, 1e-6)
    body.reset(q=q)
    places = model.mesh.nodes + model.displacement(q)
    np.testing.assert_allclose(body.positions, places, rtol=1e-12)
    node = 40
    force = np.zeros((model.mesh.n_nodes, 3))
    force[node] = [0.0, 7.0, -2.0]
    body.step(force)
    torque = np.cross(places[node] - model.rigid_body.centre, force[node])
    np.testing.assert_allclose(angular_momentum(body), 1e-6 * torque, rtol=1e-9)


def check_groups(together, alone, forces, n):
    """Two equal groups: n steps on three threads, and body by body, bit for bit."""
    before = rf.threads()
    try:
        rf.set_threads(3)
        rf.step_free_bodies(together, forces, n)
        rf.set_threads(1)
        for body, force in zip(alone, forces, strict=True):
            body.step(force, n)
    finally:
        rf.set_threads(before)
    for a, b in zip(together, alone, strict=True):
        for name in ("position", "quaternion", "velocity", "angular_velocity", "q", "qdot"):
            np.testing.assert_array_equal(getattr(a.state, name), getattr(b.state, name))


def test_many_bodies_move_as_single_ones(model, rng):
    n = 13
    pushes = rng.standard_normal((n, model.mesh.n_nodes, 3))
    forces = [None if i % 3 == 0 else pushes[i] for i in range(n)]

    def group():
        bodies = [rf.FreeBody(model, 1e-3, (0.1, 1e-4)) for _ in range(n)]
        for i, body in enumerate(bodies):
            body.reset(position=(i, 0, 0), angular_velocity=(0, i, 1), q=np.full(R, 1e-3 * i))
        return bodies

    check_groups(group(), group(), forces, 4)
    rf.step_free_bodies([], n=3)
    with pytest.raises(rf.InputTypeError, match="bodies must be a sequence .* its own step"):
        rf.step_free_bodies(group()[0])


def test_two_groups_that_share_bodies_do_not_deadlock(model):
    bodies = [rf.FreeBody(model, 1e-4) for _ in range(6)]

    def run(order):
        for _ in range(30):
            rf.step_free_bodies(order, n=2)

    workers = [
        threading.Thread(target=run, args=(order,), daemon=True) for order in (bodies, bodies[::-1])
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(600)
        assert not worker.is_alive()
    assert all(body.state.time == pytest.approx(120e-4) for body in bodies)


def test_divergence_names_the_body_and_keeps_its_state(model):
    bodies = [rf.FreeBody(model, 1e-3) for _ in range(5)]
    bodies[3].reset(position=(7, 7, 7), q=np.full(R, 1e60))
    with pytest.raises(rf.DivergedError, match="body 3"):
        rf.step_free_bodies(bodies)
    np.testing.assert_array_equal(bodies[3].state.position, [7, 7, 7])
    np.testing.assert_array_equal(bodies[3].state.q, 1e60)


def test_a_model_file_keeps_the_rigid_body(model, tmp_path):
    model.save(tmp_path / "brick.safetensors")
    loaded = rf.load(tmp_path / "brick.safetensors")
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        assert other.rigid_body.mass == model.rigid_body.mass
        np.testing.assert_array_equal(other.rigid_body.inertia, model.rigid_body.inertia)
        np.testing.assert_array_equal(other.rigid_body.centre, model.rigid_body.centre)
    rf.FreeBody(loaded, 1e-3).step(n=2)


def test_a_held_model_is_refused(model):
    solid = rf.Solid(model.mesh, RUBBER, fixed=model.mesh.elements[0])
    held = rf.reduce(solid, rf.modal_derivative_basis(solid, k=2, r=3))
    assert held.rigid_body is None
    with pytest.raises(rf.InputError, match="8 fixed nodes"):
        rf.FreeBody(held, 1e-3)
    with pytest.raises(rf.InputTypeError, match="ReducedSolid, got Solid"):
        rf.FreeBody(solid, 1e-3)


NAN = float("nan")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dt": 0.0}, "dt must be finite and positive"),
        ({"dt": NAN}, "dt must be finite"),
        ({"damping": (-1.0, 0.0)}, "damping"),
        ({"newton_max": 0}, "newton_max"),
        ({"gravity": (0.0, NAN, 0.0)}, r"gravity\[1\]"),
        ({"gravity": (0.0, 1.0)}, "gravity must have shape"),
    ],
)
def test_bad_settings(model, arguments, message):
    with pytest.raises(rf.InputError, match=message):
        rf.FreeBody(**{"reduced": model, "dt": 1e-3, **arguments})


def test_settings_by_name(model):
    motion = NEWMARK
    rest, down = model.rigid_body, (0.0, 0.0, -9.81)
    inertia = tuple(rest.inertia.flat)
    rigid = {"mass": rest.mass, "centre": tuple(rest.centre), "inertia": inertia, "gravity": down}

    def make(motion, rigid):
        _core.FreeBody("newmark", model._core, model.mesh.nodes, (0.0, 0.0), motion, rigid)

    make(motion, rigid)
    for wrong, message in (
        ({**motion, "rho": 0.8}, "deformation has no setting 'rho'"),
        ({**motion, "dt": "fast"}, "deformation: dt must be a number, got 'fast'"),
        ({"dt": 1e-3}, "deformation: the setting beta is missing"),
        ([], "deformation: settings must be a dict, got list"),
    ):
        with pytest.raises(rf.InputTypeError, match=message):
            make(wrong, rigid)
    for wrong, message in (
        ({**rigid, "spin": 1.0}, "rigid motion has no setting 'spin'"),
        ({**rigid, "inertia": inertia[:6]}, "inertia must be a tuple of 9 numbers"),
        ({"mass": 1.0}, "rigid motion: the setting centre is missing"),
        ((1.0, 2.0), "rigid motion: settings must be a dict, got tuple"),
    ):
        with pytest.raises(rf.InputTypeError, match=message):
            make(motion, wrong)
    with pytest.raises(rf.InputError, match="mass must be finite and positive, got 0"):
        make(motion, {**rigid, "mass": 0.0})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"quaternion": (0, 0, 0, 0)}, "no direction"),
        ({"quaternion": (1, 0, 0)}, "quaternion must have shape"),
        ({"position": (0, NAN, 0)}, r"position\[1\]"),
        ({"velocity": (0, 0)}, "velocity must have shape"),
        ({"angular_velocity": (NAN, 0, 0)}, r"angular_velocity\[0\]"),
        ({"q": np.zeros(R + 1)}, "q must have shape"),
        ({"qdot": np.full(R, NAN)}, r"qdot\[0\]"),
    ],
)
def test_bad_resets_change_nothing(model, arguments, message):
    body = rf.FreeBody(model, 1e-3)
    body.reset(position=(1, 2, 3), velocity=(1, 0, 0), q=np.full(R, 1e-3))
    with pytest.raises(rf.InputError, match=message):
        body.reset(**arguments)
    np.testing.assert_array_equal(body.state.position, [1, 2, 3])
    np.testing.assert_array_equal(body.state.q, 1e-3)


def test_bad_steps(model):
    body, other = rf.FreeBody(model, 1e-3), rf.FreeBody(model, 1e-3)
    shape = (model.mesh.n_nodes, 3)
    with pytest.raises(rf.InputError, match="n must be at least 0"):
        body.step(n=-1)
    with pytest.raises(rf.InputError, match="force must have shape"):
        body.step(np.zeros((2, 3)))
    with pytest.raises(rf.InputError, match="one body twice"):
        rf.step_free_bodies([body, other, body])
    with pytest.raises(rf.InputTypeError, match=r"bodies\[1\]"):
        rf.step_free_bodies([body, model])
    with pytest.raises(rf.InputError, match="1 entries for 2"):
        rf.step_free_bodies([body, other], [None])
    with pytest.raises(rf.InputError, match=r"forces\[1\]\[0, 0\] is nan"):
        rf.step_free_bodies([body, other], [None, np.full(shape, NAN)])
    assert body.state.time == other.state.time == 0.0


def test_forces_are_as_many_as_bodies(model):
    bodies = [rf.FreeBody(model, 1e-3) for _ in range(3)]

    class Odd(list):
        """A list whose length is not that of its entries."""

        def __len__(self):
            return 3

    with pytest.raises(rf.InputError, match="forces has 1 entries for 3 bodies"):
        rf.step_free_bodies(bodies, Odd([None]))
    with pytest.raises(rf.InputError, match="forces has 1 entries for 3 bodies"):
        _core.step_free_bodies([body._core for body in bodies], (None,), 1, None, 1)


@pytest.mark.parametrize("name", ["velocity", "angular_velocity"])
def test_momenta_that_overflow_are_refused(name):
    nodes, elements = box_hexes(2, 2, 2, 10.0)  # inertia above 1 kg m^2
    solid = rf.Solid(rf.Mesh(nodes, elements), RUBBER)
    body = rf.FreeBody(rf.reduce(solid, rf.modal_derivative_basis(solid, k=1, r=1)), 1e-3)
    body.reset(velocity=[1.0, 2.0, 3.0])
    with pytest.raises(rf.InputError, match=f"momentum, .* {name}, must be finite"):
        body.reset(**{name: [1e308, 1e308, 1e308]})
    np.testing.assert_array_equal(body.state.velocity, [1.0, 2.0, 3.0])


@pytest.mark.parametrize("kind", ["model", "bodies"])
def test_a_stop_interrupts_a_long_step(model, kind):
    """With a tolerance of zero a step takes all its 1000 solves, some tenths of a millisecond."""
    if kind == "model":
        sim = rf.ImplicitNewmark(model, 1e-3, newton_max=1000, tol=0.0, deformation_only=True)
        step = partial(sim.step, np.full(R, 0.1))
    else:
        bodies = [rf.FreeBody(model, 1e-3, newton_max=1000, tol=0.0) for _ in range(8)]
        force = np.zeros_like(model.mesh.nodes)
        force[-1] = 0.1
        sim = bodies[-1]
        step = partial(rf.step_free_bodies, bodies, [force] * len(bodies))

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        step(n=10**6, progress=stop)
    # 50 ms after the start, and the steps until the next check: not a fixed number of them
    done = round(sim.state.time / 1e-3)
    assert 0 < done < 128 if kind == "bodies" else 0 < done < 256


@pytest.mark.parametrize("scheme", [rf.ImplicitNewmark, rf.CentralDifferences])
def test_schemes_that_leave_out_the_rigid_motion_say_free_body(model, scheme):
    with pytest.raises(rf.InputError, match="neither fall nor turn.*FreeBody"):
        scheme(model, 1e-3)
    scheme(model, 1e-3, deformation_only=True).step(np.full(R, 0.1))
    with pytest.raises(rf.InputTypeError, match="deformation_only"):
        scheme(model, 1e-3, deformation_only=1)


def test_bases_that_can_translate_are_taken_by_every_scheme():
    solid = solid_box((3, 2, 2), 0.1, RUBBER, held=None)
    shapes = solid.linear_modes(3, rigid=True).shapes
    for system in (rf.reduce(solid, shapes), rf.ProjectedSolid(solid, shapes)):
        sim = rf.ImplicitNewmark(system, 1e-3)
        weight = np.zeros((solid.mesh.n_nodes, 3))
        weight[:, 2] = -9.81 * solid.mass(lumped=True).data.reshape(-1, 3)[:, 2]
        sim.step(weight, n=100)
        # the load begins with the first step, half of which it is felt
        fallen = -9.81 * (0.1 - 0.5e-3) ** 2 / 2
        np.testing.assert_allclose(sim.displacement[:, 2], fallen, rtol=1e-4)
    for elastic in (rf.ProjectedSolid(solid, shapes[6:]), rf.reduce(solid, shapes[6:])):
        with pytest.raises(rf.InputError, match="FreeBody"):
            rf.ImplicitNewmark(elastic, 1e-3)
    with pytest.raises(rf.InputError, match="system is a Solid"):
        rf.ImplicitNewmark(solid, 1e-3, deformation_only=True)
