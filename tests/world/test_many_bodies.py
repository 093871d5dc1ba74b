"""Worlds of free bodies: closed forms, a plain step, what is conserved, what is refused."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
import pytest

import reducedfem as rf
from failures import fail_each_allocation
from free_boxes import BOX, EDGE, Plain, cube, feet, momenta, shell, soft, step_pair
from reducedfem import _core

GROUND = rf.PlaneField((0, 0, 0), (0, 0, 1))
DOWN = (0.0, 0.0, -9.81)


def test_without_contact_bodies_move_as_alone():
    body = rf.FreeBody(cube(), 1e-2, (0.1, 1e-4), gravity=DOWN)
    body.reset((0, 0, 50), (1, 2, 3, 4), (1, -2, 0), (3, 4, 5), q=np.linspace(0.01, 0.02, cube().r))
    world = rf.World(1e-2, DOWN, GROUND)
    world.add(body, soft(), BOX)
    world.step(40)
    body.step(n=40)
    for one, same in zip(vars(body.state).values(), vars(world.state(0)).values(), strict=True):
        np.testing.assert_array_equal(one, same)
    np.testing.assert_array_equal(world.nodes(0), body.positions)
    np.testing.assert_array_equal(world.q[0], body.state.q)


@pytest.mark.parametrize("dt", [1.0 / 30.0, 1e-3])
@pytest.mark.parametrize("density", [1.0, 3e4])
def test_at_rest_a_body_sinks_by_its_weight_over_the_stiffness(dt, density):
    body = rf.FreeBody(cube(density), dt)
    weight = 9.81 * body.rigid_body.mass
    k = weight / (4 * 1e-3)
    body.reset((0, 0, EDGE / 2 - 0.9e-3))
    world = rf.World(dt, DOWN, GROUND)
    world.add(body, feet(), None, k)
    world.step(6000)
    np.testing.assert_allclose(world.positions[0, 2], EDGE / 2 - 1e-3, rtol=0, atol=1e-12)
    np.testing.assert_allclose(world.contacts.forces, [[0, 0, weight]], atol=1e-9 * weight)
    np.testing.assert_array_equal(world.contacts.bodies, [[0, -1]])
    assert world.report.points == 4


@pytest.mark.parametrize("damping", [1.0, 2.0])
def test_a_mass_on_springs_is_that_of_the_implicit_formula(damping):
    dt, k, depth, speed = 0.01, 5e3, 2e-3, -0.15
    body = rf.FreeBody(cube(), dt)
    m = body.rigid_body.mass
    body.reset((0, 0, EDGE / 2 - depth), velocity=(0, 0, speed))
    world = rf.World(dt, DOWN, GROUND, contact_damping=damping)
    world.add(body, feet(), None, k)
    x, v = -depth, speed
    for _ in range(3):  # in contact all the time
        v = (m * (v - 9.81 * dt) - dt * 4 * k * x) / (m + damping * dt**2 * 4 * k)
        x += dt * v
        world.step()
        assert world.report.points == 4
        np.testing.assert_allclose(world.velocities[0, 2], v, rtol=1e-10)
        np.testing.assert_allclose(world.positions[0, 2] - EDGE / 2, x, rtol=1e-9)


@pytest.mark.parametrize("deforms", [False, True])
def test_a_step_of_two_bodies_is_that_of_plain_numpy(deforms):
    """Blocks and levers by finite differences of the gaps, the step by a dense solve."""
    dt, k = 5e-3, 2e3
    tree = soft() if deforms else rf.PointTree(shell())
    bodies = [rf.FreeBody(cube(), dt), rf.FreeBody(cube(300.0), dt)]
    rng = np.random.default_rng(3)
    scale = 1e-4 * rng.normal(size=(2, cube().r)) if deforms else np.zeros((2, cube().r))
    bodies[0].reset((0, 0, 0.5), (1, 0.02, -0.01, 0.3), (0.1, 0, 0.2), (1, 2, 3), q=scale[0])
    bodies[1].reset((0.05, 0.02, 0.703), (1, 0.05, 0.1, 0), (0, 0.3, -1), (2, -1, 0), q=scale[1])
    world = rf.World(dt, DOWN, tol=1e-12)
    world.add(bodies[0], tree, None, k)
    world.add(bodies[1], None, BOX)
    world.step()
    one, other = (Plain(body, tree) for body in bodies)
    wrench, touching = step_pair(one, other, BOX, k, dt, 2.0, DOWN)
    assert touching == world.report.points > 10
    found = np.concatenate([world.contacts.forces[0], world.contacts.torques[0]])
    np.testing.assert_allclose(found, wrench, atol=2e-6 * np.abs(wrench).max())


def test_a_step_on_the_ground_is_that_of_plain_numpy():
    dt, k = 1e-2, 3e3
    body = rf.FreeBody(cube(), dt)
    body.reset((0, 0, 0.11), (1, 0.1, 0.05, 0.2), (0.3, 0, -0.6), (1, 0.5, 2))
    world = rf.World(dt, DOWN, GROUND, tol=1e-12)
    world.add(body, soft(), BOX, k)
    world.step()
    wrench, touching = step_pair(Plain(body, soft()), None, GROUND, k, dt, 2.0, DOWN)
    assert touching == world.report.points > 10
    found = np.concatenate([world.contacts.forces[0], world.contacts.torques[0]])
    np.testing.assert_allclose(found, wrench, atol=2e-6 * np.abs(wrench).max())


def two(dt, field, **options):
    """Return a world of a heavy and a light body on their way to each other."""
    world = rf.World(dt, **options)
    bodies = []
    for density, place, velocity in (
        (1000.0, (0, 0, 0), (0.4, 0, 0)),
        (10.0, (0.23, 0.03, 0.05), (-0.6, 0.1, 0)),
    ):
        model = cube(density)
        body = rf.FreeBody(model, dt)
        body.reset(place, velocity=velocity, angular_velocity=(0.1, 0.5, 0.3))
        world.add(body, soft(density), field(model))
        bodies.append(body)
    return world, bodies


FIELDS = {
    "rigid": lambda model: BOX,
    "deforms": lambda model: rf.DeformedField(
        rf.DistanceField.from_field(BOX, 32, expand=1.5), model, 20
    ),
}


@pytest.mark.parametrize("dt", [1 / 60, 1e-3])
@pytest.mark.parametrize("field", FIELDS)
def test_a_bounce_keeps_momenta_and_gains_no_energy(field, dt):
    world, bodies = two(dt, FIELDS[field])
    before, energy = momenta(world, bodies), world.energy.sum()
    met = 0
    for _ in range(round(0.4 / dt)):
        world.step()
        met += world.report.pairs
        assert world.energy.sum() <= energy * (1 + 1e-9)
    assert met > 0
    assert world.velocities[1, 0] > world.velocities[0, 0]  # apart again
    for one, same in zip(momenta(world, bodies), before, strict=True):
        np.testing.assert_allclose(one, same, atol=1e-9)
    assert world.report.unconverged == 0


def test_a_solve_that_is_cut_short_keeps_momenta_too():
    world, bodies = two(1 / 60, FIELDS["rigid"], iterations=2, tol=1e-12)
    before = momenta(world, bodies)
    world.step(24)
    assert world.report.unconverged > 0
    for one, same in zip(momenta(world, bodies), before, strict=True):
        np.testing.assert_allclose(one, same, atol=1e-9)


def test_a_pair_in_free_flight_is_not_braked():
    """Contact depends on relative velocities alone."""
    worlds = []
    for speed in (0.0, 30.0):
        world, drift = rf.World(1e-3, tol=1e-10), np.array([0.0, 0.0, speed])
        for x in (0.0, 0.1995):
            body = rf.FreeBody(cube(), 1e-3)
            body.reset((x, 0, 0), velocity=drift)
            world.add(body, soft(), BOX)
        world.step(5)
        worlds.append((world, drift))
    (rest, _), (flying, drift) = worlds
    assert rest.report.steps == 5
    assert rest.report.unconverged == flying.report.unconverged == 0
    np.testing.assert_allclose(flying.velocities, rest.velocities + drift, atol=1e-9)


def test_a_stack_carries_its_weight():
    """Bodies stand on each other by rigid feet, which need no friction."""
    world, weights = rf.World(1 / 120, DOWN, GROUND), []
    for k, density in enumerate((500.0, 1000.0, 10.0)):
        body = rf.FreeBody(cube(density), 1 / 120, (0.0, 1e-3))
        body.reset((0, 0, EDGE * (k + 0.5) - 1e-4 * (k + 1)))
        world.add(body, feet(), BOX)
        weights.append(9.81 * body.rigid_body.mass)
    world.step(600)
    found = {
        tuple(pair): force
        for pair, force in zip(
            world.contacts.bodies.tolist(), world.contacts.forces[:, 2], strict=True
        )
    }
    carried = {(0, -1): sum(weights), (1, 0): sum(weights[1:]), (2, 1): weights[2]}
    assert found.keys() == carried.keys()
    for pair, force in carried.items():
        np.testing.assert_allclose(found[pair], force, rtol=1e-4)
    assert world.energy.max() < 1e-9


class Threaded(rf.World):
    """A world whose solve always runs on threads."""

    _least_work = 0.0


def heap(threads):
    """Return the end of a heap of bodies on some threads."""
    old = rf.threads()
    rf.set_threads(threads)
    try:
        world = Threaded(1 / 120, DOWN, GROUND)
        rng = np.random.default_rng(5)
        for k in range(64):
            body = rf.FreeBody(cube(), 1 / 120, (0.0, 1e-3))
            body.reset(
                (0.27 * (k % 4), 0.27 * (k // 4 % 4), 0.12 + 0.27 * (k // 16)),
                quaternion=(4, *rng.normal(size=3)),
            )
            world.add(body, soft(1000.0, 400), BOX)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rf.PlausibilityWarning)
            world.step(25)
        assert world.report.pairs > 20
        return world
    finally:
        rf.set_threads(old)


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_the_bits_do_not_depend_on_the_number_of_threads():
    alone, more = heap(1), heap(3)
    for name in ("positions", "quaternions", "velocities", "angular_velocities", "energy"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(more, name))
    for one, same in zip(alone.q, more.q, strict=True):
        np.testing.assert_array_equal(one, same)
    np.testing.assert_array_equal(alone.contacts.forces, more.contacts.forces)


@pytest.mark.parametrize("n", [0, 1, 2, 300])
def test_the_broad_phase_finds_all_pairs(n):
    rng = np.random.default_rng(n)
    centres, radii = rng.random((n, 3)) * (1.0, 4.0, 1.0), 0.2 * rng.random(n)
    radii[::7] = -1.0  # meet nothing
    expected = [
        (i, j)
        for i in range(n)
        for j in range(i + 1, n)
        if min(radii[i], radii[j]) >= 0.0
        and np.linalg.norm(centres[i] - centres[j]) <= radii[i] + radii[j]
    ]
    found = _core.broad_pairs(centres, radii)
    np.testing.assert_array_equal(found, np.reshape(expected, (-1, 2)))


def test_bodies_too_fast_for_the_step_are_reported_once():
    world = rf.World(1 / 30)
    for x, speed in ((0.0, 0.0), (0.3, -8.0)):
        body = rf.FreeBody(cube(), 1 / 30)
        body.reset((x, 0, 0), velocity=(speed, 0, 0))
        world.add(body, soft(), BOX)
    with pytest.warns(rf.PlausibilityWarning, match=r"body \d moved by 1\.33 .*use a dt below"):
        world.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        world.step()
    assert world.report.fastest == pytest.approx(8.0 / 30 / EDGE)


@pytest.mark.parametrize("speed", [-50.0, 50.0])
def test_bodies_that_do_not_overlap_yet_may_be_too_fast(speed):
    """One that flies away is not."""
    world = rf.World(1 / 30)
    for x, v in ((0.0, 0.0), (1.0, speed)):
        body = rf.FreeBody(cube(), 1 / 30)
        body.reset((x, 0, 0), velocity=(v, 0, 0))
        world.add(body, soft(), BOX)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if speed < 0.0 else "error")
        world.step()
    assert world.report.candidates == 0
    assert world.report.fastest == (pytest.approx(50.0 / 30 / EDGE) if speed < 0.0 else 0.0)


def test_a_thin_ground_may_be_passed():
    floor = rf.BoxField((-1, -1, -0.01), (1, 1, 0))
    world = rf.World(1 / 100, DOWN, floor)
    body = rf.FreeBody(cube(), 1 / 100)
    body.reset((0, 0, 0.3), velocity=(0, 0, -30))
    world.add(body, soft(), BOX)
    with pytest.warns(rf.PlausibilityWarning, match=r"moved by 30 times .* or of the ground"):
        world.step()


def test_points_past_the_middle_of_a_plate_are_counted():
    plate = rf.BoxField((-1, -1, -0.01), (1, 1, 0))
    body = rf.FreeBody(cube(), 1e-3)
    for depth, points, passed in ((0.002, True, False), (0.006, False, True)):
        body.reset((0, 0, 0.5 * EDGE - depth))
        world = rf.World(1e-3, ground=plate)
        world.add(body, feet(), BOX)
        with (
            pytest.warns(rf.PlausibilityWarning, match=r"body 0 overlapped .* 0\.005 m")
            if (passed)
            else nullcontext()
        ):
            world.step()
        assert (world.report.points > 0) is points
        assert (world.report.passed > 0) is passed
        assert world.report.depth == pytest.approx(depth if points else 0.0)


def test_the_far_side_of_a_wall_has_no_force_and_is_counted_as_passed():
    """In a half-space there is no middle to pass."""
    near = feet().shell
    far = near.points + np.array((0.0, 0.0, 1e-3))
    wall = rf.Pointshell(np.vstack([near.points, far]), np.vstack([near.normals, -near.normals]))
    body = rf.FreeBody(cube(), 1e-3)
    body.reset((0, 0, 0.5 * EDGE - 2e-3))
    world = rf.World(1e-3, ground=GROUND)
    world.add(body, rf.PointTree(wall), None, 1.0)
    world.step()
    assert (world.report.points, world.report.passed) == (4, 4)
    assert world.report.depth == pytest.approx(2e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dt": 0.0}, "dt must be finite and positive"),
        ({"contact_damping": 0.5}, "contact_damping must be finite and at least 1"),
        ({"tol": 1.0}, "tol must be at least 1e-13, which rounding allows, and below 1, got 1"),
        ({"tol": 9e-14}, "tol must be at least 1e-13, .* below 1, got 9e-14"),
        ({"iterations": 0}, "iterations must be"),
        ({"gravity": (0, 0)}, "gravity must"),
        ({"ground": 3}, r"ground must be a Field or None, got int; .* PlaneField\(point, normal\)"),
    ],
)
def test_settings_are_checked(change, message):
    with pytest.raises((rf.InputError, rf.InputTypeError), match=message):
        rf.World(**{"dt": 0.01, **change})


@pytest.mark.parametrize("mu", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("tree", [feet, soft])
@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_the_least_tolerance_is_met(mu, tree, n):
    """Below it, at 1e-14, rounding keeps some steps of the three rigid boxes from it."""
    world = rf.World(1e-3, (0, 0, -9.81), GROUND, friction=mu, tol=1e-13)
    for k in range(n):
        body = rf.FreeBody(cube(), 1e-3, (0.0, 1e-3))
        body.reset((0.01 * k, 0, EDGE * (k + 0.5) + 1e-3 + 2e-3 * k))
        world.add(body, tree(), BOX)
    world.step(100)
    assert world.report.pairs >= n
    assert world.report.unconverged == 0


def test_forces_beyond_all_numbers_name_their_causes():
    world = rf.World(1e-3, (0, 0, -9.81), GROUND)
    body = rf.FreeBody(cube(), 1e-3)
    body.reset((0, 0, EDGE / 2 - 1e-4))
    world.add(body, feet(), BOX, 1e100)
    with pytest.raises(rf.DivergedError, match="a stiffness of contact, .* is far too large$"):
        world.step(5)


def test_bodies_are_checked():
    world, body = rf.World(0.01), rf.FreeBody(cube(), 0.01)
    for arguments, message in (
        ((rf.FreeBody(cube(), 0.02),), "body makes steps of 0.02 s, the world of 0.01 s; make"),
        ((body, soft(300.0)), "tree is of another model"),
        ((body, None, FIELDS["deforms"](cube(300.0))), "field is of another model"),
        ((body, soft(), GROUND), "field is unbounded along axis 0, .* ground of a World"),
        ((body, soft(), BOX, 0.0), "stiffness must be positive"),
        ((body, soft(), BOX, "soft"), "stiffness must be 'auto' or a number"),
        ((body, soft(), BOX, [1.0]), "stiffness must be 'auto' or one number .* got list"),
        ((3,), "body must be"),
        ((body, 3), "tree must be"),
        ((body, None, 3), "field must be a Field, a DeformedField or None, got int"),
    ):
        with pytest.raises((rf.InputError, rf.InputTypeError), match=message):
            world.add(*arguments)
    assert len(world) == 0
    with pytest.raises(rf.InputError, match="body is 0, but the world has no bodies"):
        world.state(0)
    assert world.add(body, soft(), BOX) == 0
    assert repr(world) == "<World: 1 bodies, dt = 0.01 s, 0 steps, 0 pairs in contact>"
    for index in (-1, 1):
        with pytest.raises(rf.InputError, match="body must be between 0 and 0"):
            world.state(index)
        with pytest.raises(rf.InputError, match="body must be between 0 and 0"):
            world.nodes(index)
    with pytest.raises(rf.InputError, match="n must be at least 0"):
        world.step(-1)


def test_exhausted_memory_is_reported():
    field, tree = FIELDS["rigid"](None), soft()

    def work():
        world = rf.World(1e-3, DOWN, GROUND)
        for z in (0.0995, 0.299):
            body = rf.FreeBody(cube(), 1e-3)
            body.reset((0, 0, z))
            world.add(body, tree, field)
        world.step(2)
        assert world.report.pairs > 0
        return world.contacts

    fail_each_allocation(work)


def falling():
    """Return a world of two bodies, one on the ground and one on the other."""
    world = rf.World(1e-3, DOWN, GROUND)
    for z in (0.0995, 0.299):
        body = rf.FreeBody(cube(), 1e-3)
        body.reset((0, 0, z))
        world.add(body, soft(), BOX)
    return world


def test_a_step_that_ran_out_of_memory_can_be_made_again():
    expected = falling()
    expected.step()
    failed = k = 0
    while failed == k:
        world = falling()
        _core.alloc_fail_from(k)
        try:
            world.step()
        except MemoryError:
            failed += 1
        finally:
            _core.alloc_fail_from(-1)
        if failed > k:
            assert world.report.pairs == len(world.contacts.points) == 0
            world.step()
        np.testing.assert_array_equal(world.positions, expected.positions)
        k += 1
    assert failed > 10


def test_bodies_of_equal_shapes_move_as_those_that_share_one():
    worlds = []
    for shared in (True, False):
        world, rng = rf.World(1 / 240, DOWN, GROUND), np.random.default_rng(2)
        for k in range(27):
            body = rf.FreeBody(cube(), 1 / 240, (0.0, 1e-3))
            place = 0.2 * np.array((k % 3, k // 3 % 3, k // 9)) + (0.0, 0.0, 0.1)
            body.reset(place + rng.normal(0.0, 1e-3, 3))
            tree = soft(1000.0, 400) if shared else rf.PointTree(shell(400), cube())
            world.add(
                body, tree, BOX if shared else rf.BoxField((-EDGE / 2,) * 3, (EDGE / 2,) * 3), 1e4
            )
        world.step(4)
        worlds.append(world)
    assert worlds[0].report.pairs > 40
    assert vars(worlds[0].report) == vars(worlds[1].report)
    np.testing.assert_array_equal(worlds[0].positions, worlds[1].positions)
    np.testing.assert_array_equal(worlds[0].contacts.forces, worlds[1].contacts.forces)


def test_memory_of_a_step_grows_with_the_bodies_not_with_pairs_of_shapes():
    taken = []
    for n in (100, 400):
        world, body = rf.World(1e-3), rf.FreeBody(cube(), 1e-3)
        for k in range(n):
            body.reset((k, 0, 0))
            world.add(body, feet(), None, 1.0 + k)
        before = _core.alloc_counters()["live_bytes"]
        world.step()
        taken.append(_core.alloc_counters()["live_bytes"] - before)
    assert taken[0] > 0
    assert taken[1] < 5 * taken[0]


def test_indices_of_bodies_added_by_several_threads():
    world, bodies = rf.World(1e-3), [rf.FreeBody(cube(), 1e-3) for _ in range(24)]
    for k, one in enumerate(bodies):
        one.reset((k, 0, 0))
    with ThreadPoolExecutor(6) as pool:
        indices = list(pool.map(lambda one: world.add(one, soft(), BOX), bodies))
    assert sorted(indices) == list(range(24))
    np.testing.assert_array_equal(world.positions[indices, 0], np.arange(24.0))
