"""Penalty contact: against a search through all points, plain NumPy and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reducedfem as rf
import turns
from contact_cases import (
    EVERYTHING,
    FIELDS,
    GRID,
    HERE,
    LEVEL,
    STIFFNESS,
    plain,
    random_pose,
    same_contacts,
    trajectory,
    turn,
)
from core_contacts import core_contact
from plain_contact import settle
from reducedfem import _core
from shells import sphere_shell


@pytest.mark.parametrize("power", [-1000, -140, 140, 300])
def test_shells_beyond_float32_miss_nothing(power):
    """Make all spheres of a level the smallest or the largest of it."""
    shell = sphere_shell((10, 40, 160))
    tree = rf.PointTree(rf.Pointshell(np.ldexp(shell.points, power), shell.normals, shell.levels))
    field = rf.PlaneField((0.0, 0.0, np.ldexp(-0.9, power)), (0.0, 0.0, 1.0))
    found = rf.PenaltyContact(tree, field, STIFFNESS, warm_nodes=EVERYTHING).evaluate(HERE, LEVEL)
    depth = np.minimum(shell.points[:, 2] + 0.9, 0.0)
    assert found.touching == (depth < 0).sum() > 0
    deep = depth < 0.0
    along = settle(np.tile([0.0, 0.0, 1.0], (deep.sum(), 1)), shell.normals[deep])
    force = STIFFNESS * (depth[deep, None] * along).sum(axis=0)
    np.testing.assert_allclose(np.ldexp(found.force, -power), force, rtol=1e-9, atol=1e-9)


# ---- one cycle -----------------------------------------------------------------------------------


def test_one_point_on_a_plane():
    """Written out by hand: a point 0.1 m deep, 2 m from the grasp point."""
    tree = rf.PointTree(rf.Pointshell([[2.0, 0, -0.1]], [[0, 0, 1.0]]))
    out = rf.PenaltyContact(tree, rf.PlaneField((0, 0, 0), (0, 0, 1)), 50.0).evaluate(HERE, LEVEL)
    np.testing.assert_allclose(out.force, [0, 0, -5.0])
    np.testing.assert_allclose(out.torque, [0, 10.0, 0])
    expected = np.zeros((6, 6))
    expected[2, 2] = -50.0  # deeper by dz
    # turning the plane by w_y lowers it under the point by 2 m w_y
    expected[2, 4] = expected[4, 2] = 100.0
    expected[4, 4] = -200.0
    np.testing.assert_allclose(out.gradient, expected, atol=1e-13)
    assert (out.touching, out.level, out.visited, out.skipped) == (1, 0, 1, 0)
    assert out.depth == pytest.approx(0.1)
    assert out.reduced_force is None
    assert out.contacts is None
    assert out.microseconds > 0


def test_no_contact():
    tree = rf.PointTree(sphere_shell())
    out = rf.PenaltyContact(tree, rf.SphereField((0, 0, 0), 0.5), 1.0).evaluate(
        (5, 0, 0), LEVEL, contacts=True
    )
    assert not out.force.any()
    assert not out.gradient.any()
    assert (out.touching, out.depth, out.visited) == (0, 0.0, 20)
    assert not np.signbit(out.depth)
    assert out.level == 2  # nothing was left out
    assert out.contacts.forces.shape == (0, 3)


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("grasp", [None, (0.3, -0.2, 0.5)])
def test_rigid_against_numpy(rigid, rng, name, grasp):
    contact = rf.PenaltyContact(rigid, FIELDS[name], STIFFNESS, EVERYTHING, grasp=grasp)
    touched = 0
    for _ in range(8):
        pose = random_pose(rng)
        out = contact.evaluate(*pose, contacts=True)
        ref = plain(rigid, FIELDS[name], *pose, grasp=0 if grasp is None else grasp)
        order = np.argsort(out.contacts.indices)
        np.testing.assert_array_equal(out.contacts.indices[order], ref["indices"])
        # places differ by roundings
        np.testing.assert_allclose(out.contacts.distances[order], ref["distances"], atol=1e-13)
        np.testing.assert_allclose(out.contacts.forces[order], ref["forces"], atol=1e-10)
        for key in ("force", "torque", "gradient"):
            most = np.abs(ref[key]).max() + 1e-30
            np.testing.assert_allclose(getattr(out, key), ref[key], atol=1e-10 * most)
        touched += out.touching
    assert touched > 100


def test_deformable_against_numpy(soft, bar, rng):
    contact = rf.PenaltyContact(soft, GRID, STIFFNESS, EVERYTHING, area_weights=True)
    touched = 0
    for _ in range(8):
        pose = random_pose(rng, 1.2)
        pose[0][0] += 1.0
        q = rng.normal(size=bar.r) * 2.0
        out = contact.evaluate(*pose, q, contacts=True)
        ref = plain(soft, GRID, *pose, q, weights=soft.shell.areas)
        order = np.argsort(out.contacts.indices)
        np.testing.assert_array_equal(out.contacts.indices[order], ref["indices"])
        for key in ("force", "torque", "gradient"):
            most = np.abs(ref[key]).max() + 1e-30
            np.testing.assert_allclose(getattr(out, key), ref[key], atol=1e-10 * most)
        # the work of the opposite forces on the shell, by way of the mesh; its rows are float64,
        # those of the tree float32
        on_points = np.zeros_like(soft.shell.points)
        on_points[out.contacts.indices] = -out.contacts.forces
        reduced = bar.project(soft.embedding.distribute(on_points))
        np.testing.assert_allclose(
            out.reduced_force, reduced, atol=1e-6 * np.abs(reduced).max() + 1e-30
        )
        touched += out.touching
    assert touched > 100


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(FIELDS)))
def test_the_tree_finds_all_rigid_contacts(rigid_contacts, seed, name):
    pose = random_pose(np.random.default_rng(seed), 1.9)
    contact = rigid_contacts[name]
    through_tree = contact.evaluate(*pose, contacts=True)
    one_by_one = contact.evaluate(*pose, contacts=True, treeless=True)
    same_contacts(through_tree, one_by_one)
    assert one_by_one.visited == 2040
    assert through_tree.level == 3


@pytest.fixture(scope="module")
def rigid_contacts(rigid):
    """Return contacts that keep their state from example to example: each is a jump."""
    return {
        name: rf.PenaltyContact(rigid, field, STIFFNESS, EVERYTHING)
        for name, field in FIELDS.items()
    }


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.floats(-3, 1.3))
def test_the_tree_finds_all_deformable_contacts(soft_contact, seed, magnitude):
    rng = np.random.default_rng(seed)
    position, quaternion = random_pose(rng, 1.9)
    q = 10**magnitude * rng.normal(size=9)
    arguments = position + np.array([1.0, 0.25, 0.25]), quaternion, q
    through_tree = soft_contact.evaluate(*arguments, contacts=True)
    one_by_one = soft_contact.evaluate(*arguments, contacts=True, treeless=True)
    same_contacts(through_tree, one_by_one)


@pytest.fixture(scope="module")
def soft_contact(soft):
    return rf.PenaltyContact(soft, GRID, STIFFNESS, EVERYTHING)


def test_far_away_and_back(rigid):
    """Contact returns after a pose so far away that rounding exceeds the size of the objects."""
    contact = rf.PenaltyContact(rigid, GRID, STIFFNESS, EVERYTHING)
    for x in (0.9, 1e9, 0.9, 1e90, 0.9):
        same_contacts(
            contact.evaluate((x, 0, 0), LEVEL, contacts=True),
            contact.evaluate((x, 0, 0), LEVEL, contacts=True, treeless=True),
        )


# ---- forces and their derivatives ----------------------------------------------------------------


def test_scaling_of_many_points(rigid):
    pose = (1.2, 0, 0), LEVEL
    free = rf.PenaltyContact(rigid, GRID, STIFFNESS, EVERYTHING, max_points=None).evaluate(*pose)
    assert free.touching > 40
    for most in (1, 10, 40, 10**6):
        out = rf.PenaltyContact(rigid, GRID, STIFFNESS, EVERYTHING, max_points=most)
        scale = min(1.0, most / free.touching)
        for key in ("force", "torque", "gradient"):
            np.testing.assert_allclose(
                getattr(out.evaluate(*pose), key), scale * getattr(free, key), rtol=1e-13
            )


def test_area_weights():
    """Two ends on a plane, one sampled more finely: only areas keep it from turning."""
    ends = np.concatenate([np.full(4, -1.0), np.full(32, 1.0)])
    points = np.stack([ends, np.linspace(-0.01, 0.01, 36), np.full(36, -0.1)], axis=1)
    areas = np.where(ends < 0, 1 / 4, 1 / 32)
    shell = rf.Pointshell(points, np.tile([0, 0, 1.0], (36, 1)), areas=areas)
    plane = rf.PlaneField((0, 0, 0), (0, 0, 1))
    tree = rf.PointTree(shell)
    weighted = rf.PenaltyContact(tree, plane, 1.0, area_weights=True).evaluate(HERE, LEVEL)
    equal = rf.PenaltyContact(tree, plane, 1.0).evaluate(HERE, LEVEL)
    assert abs(weighted.torque[1]) < 1e-12
    assert abs(equal.torque[1]) > 0.5
    # L times the mean depth, either way
    np.testing.assert_allclose(weighted.force, [0, 0, -1.0])
    np.testing.assert_allclose(equal.force, [0, 0, -1.0])


@pytest.mark.parametrize("direction", ["gradient", "normal"])
@pytest.mark.parametrize("name", ["grid", "ball"])
@pytest.mark.parametrize("deformed", [False, True])
def test_gradient_against_differences(rigid, soft, name, deformed, direction):
    """The gradient is that of forces with fixed directions and lines of action."""
    tree, field = (soft if deformed else rigid), FIELDS[name]
    grasp = np.array([0.2, 0.1, -0.3])
    contact = rf.PenaltyContact(
        tree, field, STIFFNESS, EVERYTHING, grasp=grasp, direction=direction
    )
    position, quaternion = np.array([1.05, 0.2, 0.3]), turn((1, 2, -1), 0.7)
    q = np.linspace(-1, 1, 9) if deformed else None
    out = contact.evaluate(position, quaternion, q, contacts=True)
    assert out.touching > 20
    np.testing.assert_array_equal(out.gradient, out.gradient.T)
    assert np.linalg.eigvalsh(out.gradient).max() < 1e-9 * np.abs(out.gradient).max()
    rotation, c = turns.rotation(quaternion), out.contacts
    arm = c.positions - position - rotation @ grasp
    size = STIFFNESS * min(1.0, 10 / out.touching)
    e = c.forces / (size * c.distances[:, None])
    np.testing.assert_allclose(np.linalg.norm(e, axis=1), 1.0, rtol=1e-12)
    # derivatives of the distances: along e by definition, or those of the ball
    if direction == "normal" or name == "grid":
        change = e
    else:
        change = field.gradient((c.positions - position) @ rotation) @ rotation.T
    free = np.sum(change * e, axis=1) > 1.0 - 1e-9  # elsewhere the direction is no gradient
    h = 1e-6

    def wrench(motion):
        moved = c.positions - motion[:3] - np.cross(motion[3:], arm)
        d = field.distance((moved - position) @ rotation)
        if change is e:
            d = c.distances + np.sum(e * (moved - c.positions), axis=1)
        forces = size * np.where(free, d, c.distances)[:, None] * e
        return np.concatenate([forces.sum(axis=0), np.cross(arm, forces).sum(axis=0)])

    rest = np.concatenate([e, np.cross(arm, e)], axis=1)[~free]
    numeric = np.stack([wrench(h * x) - wrench(-h * x) for x in np.eye(6)], axis=1) / (2 * h)
    expected = numeric - size * rest.T @ rest
    np.testing.assert_allclose(out.gradient, expected, atol=1e-5 * np.abs(expected).max())


def test_normals_in_place_of_the_gradient(rigid):
    """F = k d N, as B07 has it: the same points at the same depths."""
    pose = (1.2, 0.1, 0), turn((0, 1, 1), 0.3)
    along = rf.PenaltyContact(rigid, GRID, STIFFNESS).evaluate(*pose, contacts=True)
    out = rf.PenaltyContact(rigid, GRID, STIFFNESS, direction="normal").evaluate(
        *pose, contacts=True
    )
    expected = plain(rigid, GRID, *pose, normal=True)
    np.testing.assert_allclose(out.force, expected["force"], rtol=1e-10)
    np.testing.assert_allclose(out.torque, expected["torque"], rtol=1e-10)
    np.testing.assert_allclose(out.gradient, expected["gradient"], atol=1e-9 * STIFFNESS)
    np.testing.assert_array_equal(out.contacts.distances, along.contacts.distances)
    assert np.abs(out.force - along.force).max() > 1e-3 * np.abs(out.force).max()


@pytest.mark.parametrize("half", [1.0, 0.62])
def test_directions_have_the_same_bits_by_all_variants(rigid, half):
    """Plain code against vectors, in blocks and alone, also at the sides of a grid that cuts."""
    axis = np.linspace(-half, half, 21)
    x, y, z = np.meshgrid(axis, axis, axis, indexing="ij")
    values = (np.sqrt(x * x + y * y + z * z) - 0.7).astype(np.float32)
    grid = rf.DistanceField(values, [-half] * 3, [half / 10] * 3)
    found = []
    for which in (1, 2):
        try:
            field = _core.Field((grid._core,), 0.0, which)
        except rf.InputError:
            pytest.skip("this processor has no such vectors")
        contact = core_contact(rigid._core, field, STIFFNESS, warm_nodes=EVERYTHING, max_points=0)
        found.append(contact.evaluate((0.75, 0.1, 0.2), LEVEL, None, -1, True))
    assert found[0][6] > 100
    for a, b in zip(found[0][-1], found[1][-1], strict=True):
        np.testing.assert_array_equal(a, b)
    # and those of NumPy
    expected = plain(rigid, grid, (0.75, 0.1, 0.2), LEVEL, limit=None)
    order = np.argsort(found[0][-1][0])
    np.testing.assert_allclose(found[0][-1][4][order], expected["forces"], atol=1e-9)


def test_momentum(soft, rng):
    """Forces and torques on both objects cancel, about any point."""
    contact = rf.PenaltyContact(soft, GRID, STIFFNESS, EVERYTHING, grasp=(0.3, 0, -0.4))
    position, quaternion = np.array([1.3, 0.6, 0.2]), turn((1, 1, 0), 0.5)
    out = contact.evaluate(position, quaternion, rng.normal(size=9), contacts=True)
    assert out.touching > 20
    on_shell = -out.contacts.forces
    np.testing.assert_allclose(out.force + on_shell.sum(axis=0), 0, atol=1e-11)
    about = rng.normal(size=3)
    grasped = position + turns.rotation(quaternion) @ (0.3, 0, -0.4)
    torque = np.cross(out.contacts.positions - about, on_shell).sum(axis=0)
    torque += out.torque + np.cross(grasped - about, out.force)
    np.testing.assert_allclose(torque, 0, atol=1e-10)


@pytest.mark.parametrize("deformable", [False, True])
def test_frames(soft, bar, deformable):
    """Moving the whole world moves forces, torques and gradients with it."""
    shell = soft.shell if deformable else sphere_shell((40, 160, 640))
    turned, by = turns.rotation(world := turn((3, 1, 2), 1.1)), np.array([0.7, -2.0, 0.4])
    other = rf.Pointshell(
        shell.points @ turned.T + by, shell.normals @ turned.T, shell.levels, shell.areas
    )
    position, quaternion = np.array([1.3, 0.1, 0.2]), turn((0, 1, 3), 0.4)
    w, v = world[0], world[1:]
    both = np.concatenate(
        [
            [w * quaternion[0] - v @ quaternion[1:]],
            w * quaternion[1:] + quaternion[0] * v + np.cross(v, quaternion[1:]),
        ]
    )
    trees, q = (rf.PointTree(shell), rf.PointTree(other)), None
    if deformable:
        mesh = rf.Mesh(bar.mesh.nodes @ turned.T + by, bar.mesh.elements)
        solid = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), bar.fixed)
        basis = rf.Basis(np.asarray(bar.basis) @ turned.T, np.ones(bar.r), np.ones(bar.r))
        trees, q = (soft, rf.PointTree(other, rf.reduce(solid, basis))), np.linspace(-2, 2, 9)
    a, b = (
        rf.PenaltyContact(
            tree, FIELDS["box"], STIFFNESS, area_weights=deformable, grasp=(0.2, 0.1, -0.3)
        ).evaluate(*pose, q)
        for tree, pose in zip(
            trees, ((position, quaternion), (turned @ position + by, both)), strict=True
        )
    )
    # motions of points are kept in single precision, in each world
    off = 1e-5 if deformable else 1e-11
    assert a.touching == b.touching > 5
    size = np.linalg.norm(a.force)
    np.testing.assert_allclose(b.force, turned @ a.force, atol=off * size)
    np.testing.assert_allclose(b.torque, turned @ a.torque, atol=off * size)
    six = np.kron(np.eye(2), turned)
    most = np.abs(a.gradient).max()
    np.testing.assert_allclose(b.gradient, six @ a.gradient @ six.T, atol=10 * off * most)
    if deformable:
        assert np.abs(a.reduced_force).max() > 0.1
        np.testing.assert_allclose(
            b.reduced_force, a.reduced_force, atol=off * np.abs(a.reduced_force).max()
        )


def test_units():
    """Forces do not depend on the unit of length; a power of two changes no bit."""
    unit = 1024.0
    axis = np.linspace(-1, 1, 17)
    x, y, z = np.meshgrid(axis, axis, axis, indexing="ij")
    values = np.sqrt(x * x + y * y + z * z) - 0.7 + 0.05 * np.sin(9 * x) * np.cos(7 * z)
    shell = sphere_shell((40, 160, 640))
    found = []
    for s in (1.0, unit):
        scaled = rf.Pointshell(s * shell.points, shell.normals, shell.levels)
        field = rf.DistanceField((s * values).astype(np.float32), (-s, -s, -s), s / 8)
        contact = rf.PenaltyContact(
            rf.PointTree(scaled), field, STIFFNESS / s, 300, grasp=(0.1 * s, 0, 0)
        )
        path = trajectory(40, np.random.default_rng(4))
        found.append(contact.evaluate_many(s * path[0], path[1], contacts=True))
    a, b = found
    assert a.touching.max() > 20
    for name in ("force", "level", "touching", "visited", "skipped"):
        np.testing.assert_array_equal(getattr(b, name), getattr(a, name), err_msg=name)
    np.testing.assert_array_equal(b.depth, unit * a.depth)
    np.testing.assert_array_equal(b.torque, unit * a.torque)
    sides = np.repeat([1.0, unit], 3)
    np.testing.assert_array_equal(b.gradient, a.gradient * np.outer(sides, sides) / unit)
    for mine, its in zip(a.contacts, b.contacts, strict=True):
        np.testing.assert_array_equal(its.positions, unit * mine.positions)


@pytest.mark.filterwarnings("ignore:qs? is None")
def test_going_back_gives_the_first_forces(soft):
    """Forces depend on the pose and q alone, not on the cycles before."""
    contact = rf.PenaltyContact(soft, GRID, STIFFNESS, None)
    positions, quaternions, qs = trajectory(30, np.random.default_rng(6), 9, jumps=(11,))
    qs *= np.linspace(0, 1, 30)[:, None]
    way = np.concatenate([np.arange(30), np.arange(30)[::-1]])
    out = contact.evaluate_many(positions[way], quaternions[way], qs[way], contacts=True)
    assert out.touching[:3].min() > 5
    assert not np.array_equal(out.force[5], out.force[0])
    for name in ("force", "torque", "gradient", "reduced_force", "touching", "depth", "level"):
        there, back = getattr(out, name)[:30], getattr(out, name)[:29:-1]
        np.testing.assert_array_equal(back, there, err_msg=name)
    np.testing.assert_array_equal(out.contacts[-1].indices, out.contacts[0].indices)
    at_rest = contact.evaluate(positions[0], quaternions[0])
    np.testing.assert_array_equal(at_rest.force, out.force[0])
