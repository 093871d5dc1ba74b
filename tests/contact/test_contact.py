"""Penalty contact: against a search through all points, plain NumPy and finite differences."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reducedfem as rf
from failures import fail_each_allocation
from plain_contact import directions, settle
from reducedfem import _core
from shapes import box_hexes
from shells import fibonacci, sphere_shell

STIFFNESS = 700.0
HERE, LEVEL = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
EVERYTHING = 10**8  # warm_nodes that are never reached


def turn(axis, angle) -> np.ndarray:
    axis = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    return np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * axis])


def matrix(quaternion) -> np.ndarray:
    w, x, y, z = np.asarray(quaternion) / np.linalg.norm(quaternion)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * w * cross + 2 * cross @ cross


def bumpy_grid(n: int = 32) -> rf.DistanceField:
    """Return samples of a bumpy ball of radius about 0.7: an interpolant with kinks everywhere."""
    axis = np.linspace(-1, 1, n + 1)
    x, y, z = np.meshgrid(axis, axis, axis, indexing="ij")
    values = np.sqrt(x * x + y * y + z * z) - 0.7
    values += 0.05 * np.sin(9 * x) * np.sin(8 * y) * np.cos(7 * z)
    return rf.DistanceField(values.astype(np.float32), (-1.0, -1, -1), (2 / n, 2 / n, 2 / n))


GRID = bumpy_grid()
FIELDS = {
    "grid": GRID,
    "ball": rf.SphereField((0.1, 0, 0), 0.6),
    "box": rf.BoxField((-0.5, -0.3, -0.4), (0.6, 0.5, 0.4)),
    "several": rf.UnionField([rf.CapsuleField((-1, 0, 0), (1, 0, 0), 0.2), GRID.offset(-0.1)]),
    "common": GRID & rf.BoxField((-0.5, -0.3, -0.4), (0.6, 0.5, 0.4)),
    "hollow": (GRID - rf.SphereField((0.2, 0, 0), 0.5)) | rf.PlaneField((0, 0, -0.6), (0, 0, 1)),
    "hole": ~GRID.offset(0.1),
}


@pytest.mark.parametrize("power", [-1000, -140, 140, 300])
def test_shells_beyond_float32_miss_nothing(power):
    """All spheres of a level are then the smallest or the largest that there is."""
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


@pytest.fixture(scope="module")
def rigid() -> rf.PointTree:
    return rf.PointTree(sphere_shell((40, 160, 640, 1200)))


@pytest.fixture(scope="module")
def bar() -> rf.ReducedSolid:
    mesh = rf.Mesh(*box_hexes(8, 2, 2, (2.0, 0.5, 0.5)))
    solid = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), fixed=mesh.nodes[:, 0] < 1e-9)
    return rf.reduce(solid, rf.modal_derivative_basis(solid, 4, 9))


@pytest.fixture(scope="module")
def soft(bar) -> rf.PointTree:
    """Return points on the sides of a bar that bends, some outside of its mesh."""
    rng = np.random.default_rng(8)
    points = rng.random((1500, 3))
    side = rng.integers(0, 3, 1500)
    points[np.arange(1500), side] = np.round(points[np.arange(1500), side])
    normals = np.zeros_like(points)
    normals[np.arange(1500), side] = 1 - 2 * points[np.arange(1500), side]
    points = points * (2.02, 0.52, 0.52) - 0.01
    areas = rng.uniform(0.5, 1.5, 1500)
    shell = rf.Pointshell(points, normals, np.repeat([0, 1, 2, 3], [20, 80, 320, 1080]), areas)
    return rf.PointTree(shell, bar)


def plain(
    tree, field, position, quaternion, q=None, level=None, limit=10, weights=None, grasp=0,
    normal=False,
):  # fmt: skip
    """Return force, torque and gradient as the formulas say, with all there is to it."""
    rotation, position = matrix(quaternion), np.asarray(position, dtype=float)
    use = slice(None) if level is None else slice(0, int(tree.node_counts[level]))
    x, normals = tree.positions(q)[use], tree.normals(q)[use]
    local = (x - position) @ rotation
    d = field.distance(local)
    hit = d < 0
    w = np.ones(len(x)) if weights is None else (weights / weights.mean())[use]
    x, normals, d, w = x[hit], normals[hit], d[hit], w[hit]
    e = normals if normal else directions(field, local[hit], normals, rotation)
    arm = x - position - rotation @ np.broadcast_to(grasp, 3)
    scale = limit / w.sum() if limit and w.sum() > limit else 1.0
    forces = scale * STIFFNESS * (w * d)[:, None] * e
    rigid = np.concatenate([e, np.cross(arm, e)], axis=1)
    gradient = -scale * STIFFNESS * (rigid.T * w) @ rigid
    return {
        "indices": np.flatnonzero(hit),
        "distances": d,
        "forces": forces,
        "force": forces.sum(axis=0),
        "torque": np.cross(arm, forces).sum(axis=0),
        "gradient": gradient,
    }


def same_contacts(a, b) -> None:
    """The same points at the same distances, bit for bit; sums in another order."""
    order, other = np.argsort(a.contacts.indices), np.argsort(b.contacts.indices)
    for name in ("indices", "distances", "positions", "normals", "forces"):
        mine, its = getattr(a.contacts, name)[order], getattr(b.contacts, name)[other]
        if name == "forces":  # scaled by a sum of weights
            np.testing.assert_allclose(mine, its, rtol=1e-12)
        else:
            np.testing.assert_array_equal(mine, its)
    assert a.touching == b.touching == len(order)
    assert a.depth == b.depth
    size = np.abs(a.contacts.forces).sum() + 1e-300
    np.testing.assert_allclose(a.force, b.force, atol=1e-12 * size)
    np.testing.assert_allclose(a.torque, b.torque, atol=1e-11 * size)
    np.testing.assert_allclose(
        a.gradient, b.gradient, atol=1e-12 * np.abs(b.gradient).max() + 1e-300
    )
    if a.reduced_force is not None:
        most = np.abs(b.reduced_force).max() + size
        np.testing.assert_allclose(a.reduced_force, b.reduced_force, atol=1e-11 * most)


def random_pose(rng, reach=1.6):
    position = rng.normal(size=3)
    position *= rng.uniform(0, reach) / np.linalg.norm(position)
    quaternion = rng.normal(size=4)
    return position, quaternion / np.linalg.norm(quaternion)


# ---- one cycle


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
def test_the_tree_finds_what_is_there_rigid(rigid_contacts, seed, name):
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
def test_the_tree_finds_what_is_there_deformable(soft_contact, seed, magnitude):
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


# ---- forces and their derivatives


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
    """Of forces whose directions and lines of action stay, as the field object moves."""
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
    rotation, c = matrix(quaternion), out.contacts
    arm = c.positions - position - rotation @ grasp
    size = STIFFNESS * min(1.0, 10 / out.touching)
    e = c.forces / (size * c.distances[:, None])
    np.testing.assert_allclose(np.linalg.norm(e, axis=1), 1.0, rtol=1e-12)
    # how distances change is along e where that is the gradient of a ball
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
        contact = _core.Contact(
            rigid._core, field, None, STIFFNESS, EVERYTHING, 0.8, 0.0, 0, True, False, (0.0, 0, 0)
        )
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
    grasped = position + matrix(quaternion) @ (0.3, 0, -0.4)
    torque = np.cross(out.contacts.positions - about, on_shell).sum(axis=0)
    torque += out.torque + np.cross(grasped - about, out.force)
    np.testing.assert_allclose(torque, 0, atol=1e-10)


@pytest.mark.parametrize("deformable", [False, True])
def test_frames(soft, bar, deformable):
    """Moving the whole world moves forces, torques and gradients with it."""
    shell = soft.shell if deformable else sphere_shell((40, 160, 640))
    turned, by = matrix(world := turn((3, 1, 2), 1.1)), np.array([0.7, -2.0, 0.4])
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
    """All lengths in other units: forces stay; a power of two, so that no bit may change."""
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
    """Forces are of the pose and q alone, whatever came between."""
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


# ---- graceful degradation


def trajectory(n, rng, r=0, jumps=()):
    """Return poses around the shell, and q; at some cycles all of it jumps."""
    t = np.linspace(0, 3, n)
    phase = np.zeros(n)
    for at in jumps:
        phase[at:] += rng.uniform(0, 6)
    positions = np.stack(
        [
            1.35 * np.cos(t + phase),
            1.35 * np.sin(t + phase),
            0.3 * np.sin(3 * t) + 0.1 * np.cos(phase),
        ],
        axis=1,
    )
    quaternions = np.stack([turn((1, 2, 3), a) for a in 2 * t + phase])
    qs = None
    if r:
        shapes = rng.normal(size=(2, r))
        qs = np.sin(2 * t + phase)[:, None] * shapes[0] + np.cos(t)[:, None] * shapes[1]
        positions += (1.0, 0.25, 0.25)
    return positions, quaternions, qs


@pytest.mark.parametrize("warm", [1, 60, 150, 300, 500])
def test_degraded_forces_are_those_of_whole_levels(rigid, warm):
    contact = rf.PenaltyContact(rigid, GRID, STIFFNESS, warm)
    rng = np.random.default_rng(warm)
    levels = set()
    for position, quaternion in zip(*trajectory(25, rng)[:2], strict=True):
        out = contact.evaluate(position, quaternion, contacts=True)
        ref = contact.evaluate(position, quaternion, contacts=True, treeless=True, level=out.level)
        same_contacts(out, ref)
        levels.add(out.level)
    assert min(levels) < 3


def test_thresholds(rigid):
    """Before level 1 the 40 nodes of level 0 are counted; a level begins below its threshold."""
    pose = (1.2, 0, 0), LEVEL
    for warm, ratio, deep in [(40, 1.0, False), (41, 1.0, True), (80, 0.5, False), (82, 0.5, True)]:
        contact = rf.PenaltyContact(rigid, GRID, 1.0, warm, cold_ratio=ratio)
        for _ in range(3):
            assert (contact.evaluate(*pose).level > 0) == deep


def test_a_warm_level_stays_and_a_cold_one_waits(rigid):
    """The same pose, entered from both sides, at a threshold between the two."""
    near, far = ((1.25, 0, 0), LEVEL), ((1.75, 0, 0), LEVEL)
    probe = rf.PenaltyContact(rigid, GRID, 1.0, EVERYTHING)
    counted = probe.evaluate(*near).visited
    # nodes up to and without the deepest level
    warm = None
    for nodes in range(counted, 40, -1):
        contact = rf.PenaltyContact(rigid, GRID, 1.0, nodes, cold_ratio=1.0)
        if contact.evaluate(*near).level < 3:
            warm = nodes + 1
            break
    assert warm is not None
    contact = rf.PenaltyContact(rigid, GRID, 1.0, warm, cold_ratio=0.8)
    assert contact.evaluate(*near).level < 3  # cold: 0.8 of them is too few
    assert contact.evaluate(*far).level == 3  # less to do there
    assert contact.evaluate(*near).level == 3  # warm
    assert contact.evaluate(*near).level == 3
    contact.reset()
    assert contact.evaluate(*near).level < 3


def test_all_levels_always(soft):
    """No limit: what no number of nodes reaches, in every cycle."""
    path = trajectory(60, np.random.default_rng(9), 9, jumps=(20,))
    found = rf.PenaltyContact(soft, GRID, STIFFNESS, None).evaluate_many(*path)
    same = rf.PenaltyContact(soft, GRID, STIFFNESS, EVERYTHING).evaluate_many(*path)
    assert (found.level == 3).all()
    for name in ("force", "gradient", "visited", "skipped"):
        np.testing.assert_array_equal(getattr(found, name), getattr(same, name))
    assert rf.PenaltyContact(soft, GRID, 1.0, 60).evaluate_many(*path).level.min() < 3
    # however little of it colder levels might use
    cold = rf.PenaltyContact(soft, GRID, STIFFNESS, None, cold_ratio=1e-15)
    assert cold.evaluate(*(a[0] for a in path)).level == 3


def test_nodes_or_time(rigid):
    pose = (1.2, 0, 0), LEVEL
    for nodes in ({}, {"warm_nodes": None}):
        timed = rf.PenaltyContact(rigid, GRID, 1.0, budget_us=1e-3, **nodes)
        assert timed.evaluate(*pose).level == 0
        assert timed.options["warm_nodes"] is None
        again = rf.PenaltyContact(rigid, GRID, **timed.options)
        assert again.options["budget_us"] == 1e-3
    with pytest.raises(rf.InputError, match=r"warm_nodes is 300 and budget_us is 20; .* give one"):
        rf.PenaltyContact(rigid, GRID, 1.0, 300, budget_us=20)
    assert rf.PenaltyContact(rigid, GRID, 1.0).options["warm_nodes"] == 2500
    assert rf.PenaltyContact(rigid, GRID, 1.0, None).options["warm_nodes"] is None


def test_time_budget(rigid):
    pose = (1.2, 0, 0), LEVEL
    stingy = rf.PenaltyContact(rigid, GRID, STIFFNESS, budget_us=1e-3)
    generous = rf.PenaltyContact(rigid, GRID, STIFFNESS, budget_us=1e9)
    for _ in range(3):
        assert stingy.evaluate(*pose).level == 0
        assert generous.evaluate(*pose).level == 3
    # deeper levels may use less of it
    cold = rf.PenaltyContact(rigid, GRID, STIFFNESS, budget_us=1e9, cold_ratio=1e-15)
    assert [cold.evaluate(*pose).level for _ in range(3)] == [0, 0, 0]
    between = rf.PenaltyContact(rigid, GRID, STIFFNESS, budget_us=15.0)
    for position, quaternion in zip(*trajectory(60, np.random.default_rng(0))[:2], strict=True):
        out = between.evaluate(position, quaternion, contacts=True)
        ref = between.evaluate(position, quaternion, contacts=True, treeless=True, level=out.level)
        same_contacts(out, ref)


@pytest.mark.parametrize("deformable", [False, True])
def test_forces_in_a_budget_depend_on_the_level_alone(rigid, soft, deformable):
    """They are the bits of a contact that counts nodes, and looks at all of them."""
    tree = soft if deformable else rigid
    path = trajectory(300, np.random.default_rng(3), tree.r, jumps=(50, 51, 133))
    counting = [
        rf.PenaltyContact(tree, GRID, STIFFNESS, warm, temporal_coherence=False).evaluate_many(
            *path
        )
        for warm in (1, 50, 100, 150, 200, 300, 400, 500, None)
    ]
    seen = {level: 0 for level in range(4)}
    # most are too short for a level that is begun
    for budget in (1e-3, 3.0, 6.0, 10.0, 15.0, 20.0, 30.0, 1e9):
        out = rf.PenaltyContact(tree, GRID, STIFFNESS, budget_us=budget).evaluate_many(*path)
        for other in counting:
            same = out.level == other.level
            for key in ("force", "torque", "gradient", "reduced_force", "touching", "depth"):
                mine, its = getattr(out, key), getattr(other, key)
                if mine is not None:
                    np.testing.assert_array_equal(mine[same], its[same], err_msg=key)
            for level in out.level[same & (out.touching > 0)]:
                seen[int(level)] += 1
    assert seen[0] > 0
    assert seen[3] > 0


# ---- temporal coherence


@pytest.mark.parametrize("warm", [EVERYTHING, 400, 150])
@pytest.mark.parametrize("deformable", [False, True])
@pytest.mark.parametrize("name", ["grid", "several"])
def test_coherence_changes_no_bit(rigid, soft, warm, deformable, name):
    """Over slow motion with jumps, with and without degradation."""
    tree = soft if deformable else rigid
    rng = np.random.default_rng(warm)
    path = trajectory(400, rng, tree.r, jumps=(50, 51, 52, 133, 300))
    found = [
        rf.PenaltyContact(
            tree, FIELDS[name], STIFFNESS, warm, temporal_coherence=coherent
        ).evaluate_many(*path)
        for coherent in (False, True)
    ]
    for key in ("force", "torque", "gradient", "level", "touching", "depth", "reduced_force"):
        np.testing.assert_array_equal(getattr(found[1], key), getattr(found[0], key), err_msg=key)
    np.testing.assert_array_equal(found[1].visited + found[1].skipped, found[0].visited)
    assert not found[0].skipped.any()
    assert found[1].skipped.sum() > 0.02 * found[0].visited.sum()
    assert found[0].touching.max() > 10


def test_coherence_saves_what_does_not_move(rigid):
    contact = rf.PenaltyContact(rigid, GRID, STIFFNESS, EVERYTHING)
    first = contact.evaluate((1.5, 0, 0), LEVEL)
    again = contact.evaluate((1.5, 0, 0), LEVEL)
    assert first.skipped == 0
    assert again.visited + again.skipped == first.visited
    assert again.skipped > 0.5 * first.visited
    # a turn about the far side moves more than one about the near side, and all is due after
    assert contact.evaluate((1.5, 0, 0), turn((0, 0, 1), 3.0)).skipped == 0
    contact.reset()
    assert contact.evaluate((1.5, 0, 0), turn((0, 0, 1), 3.0)).skipped == 0


def test_coherence_sees_the_shell_itself_move(soft):
    """The pose stays; the shell bends into the field, slowly, then at once."""
    contact = rf.PenaltyContact(soft, GRID, STIFFNESS, EVERYTHING)
    pose = (2.0, 1.4, 0.25), LEVEL
    push = np.zeros((soft.reduced.mesh.n_nodes, 3))
    push[:, 1] = soft.reduced.mesh.nodes[:, 0] > 1.9
    q = soft.reduced.project(push)
    q *= 1.0 / np.abs(soft.reduced.displacement(q)).max()
    touched = []
    for s in [*np.linspace(0, 1, 40), 0.0, 0.0, 1.0, 0.0]:
        out = contact.evaluate(*pose, s * q, contacts=True)
        same_contacts(out, contact.evaluate(*pose, s * q, contacts=True, treeless=True))
        touched.append(out.touching)
    assert touched[0] == touched[-3] == 0
    assert touched[39] == touched[-2] > 5


@pytest.mark.parametrize("stretched", [False, True])
def test_coherence_sees_the_ends_of_what_turns(stretched):
    """A turn lowers one end by little more than it was clear, however the ends came out there."""
    at_rest = 0.1 if stretched else 1.0
    outwards = 1.0 - at_rest
    # the last one, on the axis, hardly moves
    tree = _core.PointTree(
        [[at_rest, 0, 0], [-at_rest, 0, 0], [0, 0, 0.05]],
        [[0, 1.0, 0]] * 3,
        [0, 0, 0],
        [[[outwards], [0], [0]], [[-outwards], [0], [0]], [[0], [0], [0]]],
        np.zeros((3, 3, 1)),
        None,
        1,
    )
    plane = rf.PlaneField((0, -0.5, 0), (0, 1, 0))._core
    contact = _core.Contact(tree, plane, None, 1.0, 100, 0.8, 0.0, 10, True, False, (0.0, 0, 0))
    # looked at, skipped, touching
    assert contact.evaluate(HERE, LEVEL, [1.0], -1, False)[4:7] == (3, 0, 0)
    assert contact.evaluate(HERE, LEVEL, [1.0], -1, False)[4:7] == (0, 3, 0)
    # sin(0.525) is 0.501; the way of the ends is 0.519
    assert contact.evaluate(HERE, turn((0, 0, 1), 0.525), [1.0], -1, False)[4:7] == (3, 0, 1)


def test_rounding_far_from_the_origin():
    """The lower of two points is at a plane, but for rounding 10^8 m beside the plane's origin."""
    quaternion = turn((1, 2, -1), 0.7)
    across, along, normal = matrix(quaternion).T
    shell = rf.Pointshell([np.zeros(3), -1e-3 * normal], [normal] * 2, [0, 1])
    tree = rf.PointTree(shell)
    contact = rf.PenaltyContact(tree, rf.PlaneField((0, 0, 0), (0, 0, 1)), 1.0)
    found = []
    for angle in np.linspace(0, 6, 300):
        beside = np.cos(angle) * across + np.sin(angle) * along
        pose = 1e8 * beside - 1e-3 * normal, quaternion
        out = contact.evaluate(*pose, contacts=True)
        same_contacts(out, contact.evaluate(*pose, contacts=True, treeless=True))
        found.append(out.touching)
    assert 0.2 < np.mean(found) < 0.8


@pytest.mark.parametrize("steps", [30, 600])
def test_coherence_sees_spheres_grow(steps):
    """A point sinks towards a plane, its child rises: the sphere grows faster than it sinks."""
    tree = _core.PointTree(
        [[0, 0, 0.5], [0.01, 0, 0.5]],
        [[0, 0, 1.0], [0, 0, 1.0]],
        [0, 1],
        [[[0], [0], [-1.0]], [[0], [0], [1.0]]],
        np.zeros((2, 3, 1)),
        None,
        1,
    )
    plane = rf.PlaneField((0, 0, 0), (0, 0, 1))._core
    way = np.linspace(0, 0.3, steps + 1)
    counts = []
    for coherent in (False, True):
        contact = _core.Contact(
            tree, plane, None, 1.0, 100, 0.8, 0.0, 10, coherent, False, (0.0, 0, 0)
        )
        found = [contact.evaluate(HERE, LEVEL, [q], -1, False) for q in way]
        counts.append([one[4] + one[5] for one in found])
    # clear while 0.5 - q > 0.01 + 2 q
    assert counts[0] == [1 if 0.5 - q > 0.01 + 2 * q else 2 for q in way]
    assert counts[1] == counts[0]


def test_treeless_leaves_no_trace(rigid):
    path = trajectory(30, np.random.default_rng(1))
    disturbed = rf.PenaltyContact(rigid, GRID, STIFFNESS, 300)
    alone = rf.PenaltyContact(rigid, GRID, STIFFNESS, 300)
    for position, quaternion in zip(*path[:2], strict=True):
        disturbed.evaluate((9.0, 0, 0), LEVEL, treeless=True)
        a, b = disturbed.evaluate(position, quaternion), alone.evaluate(position, quaternion)
        np.testing.assert_array_equal(a.force, b.force)
        assert (a.level, a.visited, a.skipped) == (b.level, b.visited, b.skipped)


def test_treeless_warms_no_level(rigid):
    """Between the thresholds of cold and of warm levels what was rendered last matters."""
    pose = (1.2, 0, 0), LEVEL
    contact = rf.PenaltyContact(rigid, GRID, STIFFNESS, 45, cold_ratio=0.8)
    for _ in range(3):
        assert contact.evaluate(*pose).level == 0
        assert contact.evaluate(*pose, treeless=True).level == 3


# ---- trajectories, threads, memory


@pytest.mark.parametrize("deformable", [False, True])
def test_trajectories_are_cycles_one_by_one(rigid, soft, deformable):
    tree = soft if deformable else rigid
    path = trajectory(60, np.random.default_rng(2), tree.r, jumps=(20,))
    whole = rf.PenaltyContact(tree, GRID, STIFFNESS, 400).evaluate_many(*path)
    single = rf.PenaltyContact(tree, GRID, STIFFNESS, 400)
    for k in range(60):
        out = single.evaluate(path[0][k], path[1][k], None if path[2] is None else path[2][k])
        for key in ("force", "torque", "gradient", "reduced_force"):
            if getattr(out, key) is not None:
                np.testing.assert_array_equal(getattr(whole, key)[k], getattr(out, key))
        for key in ("visited", "skipped", "touching", "level", "depth"):
            assert getattr(whole, key)[k] == getattr(out, key)
    assert (whole.microseconds > 0).all()
    assert (whole.reduced_force is None) == (not deformable)
    again = rf.PenaltyContact(tree, GRID, STIFFNESS, 400).evaluate_many(*path)
    np.testing.assert_array_equal(again.gradient, whole.gradient)


@pytest.mark.parametrize("level", [None, 1])
def test_a_trajectory_beside_the_one_without_tree(soft, level):
    """One call each; the second knows of no earlier cycle and leaves nothing to later ones."""
    path = trajectory(40, np.random.default_rng(7), 9, jumps=(13,))
    contact = rf.PenaltyContact(soft, GRID, STIFFNESS, None)
    plain_ones = contact.evaluate_many(*path, contacts=True, treeless=True, level=level)
    assert plain_ones.touching.max() > 20
    deepest = 3 if level is None else level
    assert (plain_ones.level == deepest).all()
    assert (plain_ones.visited == soft.node_counts[deepest]).all()
    assert len(plain_ones.contacts) == 40
    for k in (0, 12, 13, 39):
        one = contact.evaluate(*(a[k] for a in path), contacts=True, treeless=True, level=level)
        np.testing.assert_array_equal(plain_ones.force[k], one.force)
        for name in ("indices", "positions", "distances", "normals", "forces"):
            of_many = getattr(plain_ones.contacts[k], name)
            np.testing.assert_array_equal(of_many, getattr(one.contacts, name))
    if level is not None:
        return
    found = contact.evaluate_many(*path, contacts=True)
    assert found.skipped[0] == 0
    for mine, its in zip(found.contacts, plain_ones.contacts, strict=True):
        np.testing.assert_array_equal(np.sort(mine.indices), np.sort(its.indices))
    np.testing.assert_allclose(found.force, plain_ones.force, atol=1e-9)
    assert contact.evaluate_many(*path).contacts is None


@pytest.mark.filterwarnings("ignore:qs? is None")
def test_no_cycle_at_all(soft):
    contact = rf.PenaltyContact(soft, GRID, STIFFNESS)
    found = contact.evaluate_many(np.zeros((0, 3)), np.zeros((0, 4)), contacts=True)
    assert found.force.shape == (0, 3)
    assert found.reduced_force.shape == (0, 9)
    assert found.contacts == ()


def test_what_is_known_goes_on_from_call_to_call(rigid):
    positions, quaternions = (a[:30] for a in trajectory(600, np.random.default_rng(8))[:2])
    whole = rf.PenaltyContact(rigid, GRID, STIFFNESS, 300).evaluate_many(positions, quaternions)
    contact = rf.PenaltyContact(rigid, GRID, STIFFNESS, 300)
    parts = [
        contact.evaluate_many(positions[k : k + 10], quaternions[k : k + 10])
        for k in range(0, 30, 10)
    ]
    for name in ("force", "level", "visited", "skipped"):
        joined = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_array_equal(joined, getattr(whole, name))
    assert parts[1].skipped[0] > 0
    contact.reset()
    anew = contact.evaluate_many(positions[10:], quaternions[10:])
    assert anew.skipped[0] == 0


@pytest.mark.filterwarnings("ignore:qs? is None")
def test_at_rest_without_q(soft):
    contact = rf.PenaltyContact(soft, GRID, STIFFNESS)
    pose = (1.0, 0.9, 0.2), LEVEL
    np.testing.assert_array_equal(
        contact.evaluate(*pose).reduced_force, contact.evaluate(*pose, np.zeros(9)).reduced_force
    )
    many = contact.evaluate_many([pose[0]], [pose[1]])
    assert many.reduced_force.shape == (1, 9)
    assert many.reduced_force.any()


def test_threads_share_trees_and_contacts(soft):
    path = trajectory(200, np.random.default_rng(3), soft.r)
    alone = rf.PenaltyContact(soft, GRID, STIFFNESS, 500).evaluate_many(*path)
    with ThreadPoolExecutor(3) as pool:
        several = list(
            pool.map(
                lambda _: rf.PenaltyContact(soft, GRID, STIFFNESS, 500).evaluate_many(*path),
                range(3),
            )
        )
        one = rf.PenaltyContact(soft, GRID, STIFFNESS, EVERYTHING)
        mixed = list(pool.map(lambda k: one.evaluate(*(a[k] for a in path)), range(100)))
    for other in several:
        np.testing.assert_array_equal(other.force, alone.force)
        np.testing.assert_array_equal(other.visited, alone.visited)
    ref = rf.PenaltyContact(soft, GRID, STIFFNESS, EVERYTHING).evaluate_many(*path)
    for k, out in enumerate(mixed):
        np.testing.assert_array_equal(out.force, ref.force[k])


def test_nothing_is_allocated_by_a_cycle(soft):
    contact = rf.PenaltyContact(soft, GRID, STIFFNESS)
    before = _core.alloc_counters()["calls"]
    for position, quaternion, q in zip(*trajectory(20, np.random.default_rng(4), 9), strict=True):
        contact.evaluate(position, quaternion, q)
    assert _core.alloc_counters()["calls"] == before


@pytest.mark.filterwarnings("ignore:qs? is None")
def test_every_allocation_may_fail(rigid, soft):
    pose = (1.0, 0.9, 0.2), LEVEL
    for tree in (rigid, soft):
        fail_each_allocation(lambda tree=tree: rf.PenaltyContact(tree, GRID, 1.0))
    fail_each_allocation(
        lambda: rf.PenaltyContact(soft, GRID, 1.0, area_weights=True).evaluate(*pose, contacts=True)
    )
    contact = rf.PenaltyContact(rigid, GRID, 1.0)
    _core.alloc_fail_from(0)
    try:
        with pytest.raises(MemoryError):
            contact.evaluate_many([pose[0]], [pose[1]])
    finally:
        _core.alloc_fail_from(-1)
    poses = [pose[0]] * 3, [pose[1]] * 3
    fail_each_allocation(lambda: contact.evaluate_many(*poses, contacts=True))


def test_what_a_contact_needs_stays_alive():
    tree = rf.PointTree(sphere_shell())
    field = rf.SphereField((0, 0, 0), 0.5)
    contact = rf.PenaltyContact(tree, field, 1.0)._core
    gone = weakref.ref(tree)
    del tree, field
    gc.collect()
    assert gone() is None
    assert contact.evaluate((1.2, 0, 0), LEVEL, None, -1, False)[6] > 0


def test_long_trajectories_can_be_stopped(rigid):
    class Stop(Exception):
        pass

    def stop(done: int, total: int) -> None:
        raise Stop

    contact = rf.PenaltyContact(rigid, GRID, STIFFNESS)
    path = trajectory(500, np.random.default_rng(5))
    with pytest.raises(Stop):
        contact.evaluate_many(*path, progress=stop)
    told = []
    contact.evaluate_many(*path, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (500, 500)


# ---- bad input


def test_refusals(rigid, soft):
    ball = rf.SphereField((0, 0, 0), 0.5)
    bare = rf.PointTree(rf.Pointshell(fibonacci(9), -fibonacci(9)))
    for arguments, options, error, message in [
        (
            (3, ball, 1.0),
            {},
            rf.InputTypeError,
            "tree must be a PointTree, got int; make",
        ),
        (
            (rigid, 3, 1.0),
            {},
            rf.InputTypeError,
            "field must be a Field .*, got int; make",
        ),
        ((rigid, ball, 0.0), {}, rf.InputError, "stiffness must be finite and positive, got 0"),
        ((rigid, ball, np.nan), {}, rf.InputError, "stiffness must be finite"),
        ((rigid, ball, 1.0, 0), {}, rf.InputError, "warm_nodes must be between 1"),
        ((rigid, ball, 1.0), {"cold_ratio": 0.0}, rf.InputError, "cold_ratio must be above 0"),
        ((rigid, ball, 1.0), {"cold_ratio": 1.1}, rf.InputError, "cold_ratio must be above 0"),
        ((rigid, ball, 1.0), {"budget_us": 0}, rf.InputError, "budget_us must be positive"),
        ((rigid, ball, 1.0), {"max_points": 0}, rf.InputError, "max_points must be between 1"),
        ((rigid, ball, 1.0), {"area_weights": 1}, rf.InputTypeError, "area_weights must be True"),
        ((bare, ball, 1.0), {"area_weights": True}, rf.InputError, "has no areas"),
        ((rigid, ball, 1.0), {"grasp": (1, 2)}, rf.InputError, "grasp"),
        ((rigid, ball, 1.0), {"grasp": (1e200, 0, 0)}, rf.InputError, r"grasp\[0\] is 1e\+200"),
        ((rigid, ball, 1.0), {"direction": "x"}, rf.InputError, "direction must be"),
    ]:
        with pytest.raises(error, match=message):
            rf.PenaltyContact(*arguments, **options)
    contact, deformable = rf.PenaltyContact(rigid, ball, 1.0), rf.PenaltyContact(soft, ball, 1.0)
    for arguments, options, error, message in [
        (((1, 2), LEVEL), {}, rf.InputError, "position"),
        (((np.nan, 0, 0), LEVEL), {}, rf.InputError, r"position\[0\] is nan"),
        (((1e150, 0, 0), LEVEL), {}, rf.InputError, r"position\[0\] is 1e\+150, too far out"),
        ((HERE, (1, 1, 0, 0)), {}, rf.InputError, r"has norm 1\.41421356; .* w, x, y, z"),
        ((HERE, (0, 0, 0, 0)), {}, rf.InputError, "has norm 0; it must be 1"),
        ((HERE, (1.00001, 0, 0, 0)), {}, rf.InputError, r"has norm 1\.00001;"),
        ((HERE, LEVEL, [0.0]), {}, rf.InputError, "q is given, but the shell is rigid"),
        ((HERE, LEVEL), {"level": 1}, rf.InputError, "level is for treeless=True only"),
        ((HERE, LEVEL), {"level": 4, "treeless": True}, rf.InputError, "between 0 and 3, got 4"),
        ((HERE, LEVEL), {"level": -1, "treeless": True}, rf.InputError, "between 0 and 3, got -1"),
        ((HERE, LEVEL), {"treeless": 1}, rf.InputTypeError, "treeless must be True or False"),
        ((HERE, LEVEL), {"contacts": "no"}, rf.InputTypeError, "contacts must be True or False"),
    ]:
        with pytest.raises(error, match=message):
            contact.evaluate(*arguments, **options)
    with pytest.raises(rf.InputError, match="q"):
        deformable.evaluate(HERE, LEVEL, np.zeros(8))
    with pytest.raises(rf.InputError, match="q may move points"):
        deformable.evaluate(HERE, LEVEL, np.full(9, 1e200))
    for options, message in (
        ({"level": 1}, "level is for treeless=True only"),
        ({"level": 4, "treeless": True}, "between 0 and 3, got 4"),
        ({"contacts": 1}, "contacts must be True or False"),
    ):
        with pytest.raises(rf.ReducedFEMError, match=message):
            contact.evaluate_many([HERE], [LEVEL], **options)
    qs = np.zeros((3, 9))
    qs[2] = 1e200
    with pytest.raises(rf.InputError, match="cycle 2: q may move points"):
        deformable.evaluate_many([HERE] * 3, [LEVEL] * 3, qs)
    with pytest.raises(rf.InputError, match=r"cycle 1: quaternion .* has norm 2"):
        contact.evaluate_many([HERE, HERE], [LEVEL, (2, 0, 0, 0)])
    with pytest.raises(rf.InputError, match="quaternions"):
        contact.evaluate_many([HERE, HERE], [LEVEL])
    with pytest.raises(rf.InputError, match="qs is given, but the shell is rigid"):
        contact.evaluate_many([HERE], [LEVEL], [[1.0]])
    # nothing of this has done harm
    assert contact.evaluate((1.2, 0, 0), LEVEL).touching > 0


def test_the_core_checks_for_itself(rigid):
    settings = [None, 1.0, 100, 0.8, 0.0, 10, True, False, (0.0, 0, 0)]
    plane = FIELDS["box"]._core
    contact = _core.Contact(rigid._core, plane, *settings)
    with pytest.raises(rf.InputError, match="warm_nodes must be 0 or more, got -1"):
        _core.Contact(rigid._core, plane, None, 1.0, -1, *settings[3:])
    for ask in (
        lambda: contact.evaluate(HERE, LEVEL, None, 4, False),
        lambda: contact.evaluate_many([HERE], [LEVEL], None, 4, False, None),
    ):
        with pytest.raises(rf.InputError, match="level must be between 0 and 3, got 4"):
            ask()


def test_nearly_unit_quaternions_are_made_so(rigid):
    contact = rf.PenaltyContact(rigid, GRID, STIFFNESS)
    quaternion = turn((1, 0, 1), 0.5)
    exact = contact.evaluate((1.2, 0, 0), quaternion)
    for scale in (1 + 5e-7, 1 - 5e-7, -1.0):
        out = contact.evaluate((1.2, 0, 0), scale * quaternion)
        np.testing.assert_allclose(out.force, exact.force, rtol=1e-12)
    for scale in (1 + 2e-6, 1 - 2e-6):
        with pytest.raises(rf.InputError, match="it must be 1 to within 1e-06"):
            contact.evaluate((1.2, 0, 0), scale * quaternion)


def test_properties_and_text(rigid):
    ball = rf.SphereField((0, 0, 0), 0.5)
    contact = rf.PenaltyContact(rigid, ball, 2.0)
    assert (contact.tree, contact.field, contact.stiffness) == (rigid, ball, 2.0)
    assert repr(contact).startswith("<PenaltyContact: <PointTree: 2040 points, 4 levels, rigid> on")
