"""Voxels of two bits and the forces of points on them, against plain versions with NumPy."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import reducedfem as rf
from failures import fail_each_allocation
from turns import rotation, unit

ndimage = pytest.importorskip("scipy.ndimage")

QUADS = np.array(
    [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]
)


def box_surface(half, turn=(1.0, 0.0, 0.0, 0.0)):
    corners = np.array([[x, y, z] for z in (-1, 1) for y in (-1, 1) for x in (-1, 1)], float)
    triangles = np.vstack([QUADS[:, [0, 1, 2]], QUADS[:, [0, 2, 3]]])
    return rf.Surface(corners * half @ rotation(unit(turn)).T, triangles)


def ball_shell(n, radius, centre=(0.0, 0.0, 0.0)):
    """Return points spread over a sphere by the golden angle, with inward normals."""
    k = np.arange(n) + 0.5
    z, turn = 1 - 2 * k / n, np.pi * (1 + 5**0.5) * k
    out = np.column_stack([np.sqrt(1 - z * z) * np.cos(turn), np.sqrt(1 - z * z) * np.sin(turn), z])
    return rf.Pointshell(radius * out + centre, -out)


def plain_force(shell, values, origin, edge, stiffness, position, quaternion):
    """The force on the voxmap, its torque, and how many points touch and are inside."""
    points, normals = shell.points, shell.normals
    arm = points - position
    turn = rotation(quaternion)
    local = arm @ turn
    cell = np.floor((local - origin) / edge).astype(int)
    inside = ((cell >= 0) & (cell < values.shape)).all(axis=1)
    kind = np.zeros(len(points), int)
    kind[inside] = values[tuple(cell[inside].T)]
    centre = origin + (cell + 0.5) * edge
    depth = np.maximum(0.0, (((centre - local) @ turn.T) * normals).sum(axis=1))
    depth[kind != 2] = 0.0
    force = -stiffness * depth[:, None] * normals
    return force.sum(axis=0), np.cross(arm, force).sum(axis=0), (depth > 0).sum(), (kind == 1).sum()


@pytest.mark.parametrize("resolution", [1, 2, 7, 31, 32, 33, 64, 70])
def test_values_are_those_of_a_plain_version(resolution):
    surface = box_surface((0.5, 0.31, 0.23), (0.9, 0.2, -0.3, 0.1))
    made = rf.Voxmap.from_surface(surface, resolution, expand=1.3)
    taken, filled = (np.zeros((resolution,) * 3, bool) for _ in range(2))
    for marks, fill in ((taken, False), (filled, True)):
        mesh = rf.voxelize(surface, resolution, fill=fill, expand=1.3, cut=False, order=1)
        low = mesh.nodes[mesh.elements].mean(axis=1)
        marks[tuple(np.floor((low - made.origin) / made.edge).astype(int).T)] = True
    # the surroundings of the shell are one piece that meets the border
    pieces, _ = ndimage.label(np.pad(~taken, 1, constant_values=True))
    outside = (pieces == pieces[0, 0, 0])[1:-1, 1:-1, 1:-1]
    near = ndimage.binary_dilation(taken, np.ones((3, 3, 3), bool))
    expected = np.where(taken, 2, np.where(~outside, 1, np.where(near, 3, 0)))
    np.testing.assert_array_equal(made.values, expected)
    np.testing.assert_array_equal(expected == 1, filled & ~taken)
    assert made.shape == (resolution,) * 3
    if resolution == 70:
        assert set(np.unique(expected)) == {0, 1, 2, 3}
    # the grid is that of voxelize
    np.testing.assert_allclose(
        made.origin + 0.5 * made.edge * resolution, surface.bounds.mean(axis=0), atol=1e-12
    )


def test_neighbours_across_words():
    """A wall at voxel 64, the first of a word, has one neighbour in the word before."""
    surface = rf.Surface([[0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]], [[0, 1, 2]])
    values = rf.Voxmap.from_surface(surface, 129, expand=1.1).values
    wall = values[64] == 2
    assert wall.sum() > 5000
    assert (values[63][wall] == 3).all()
    assert (values[65][wall] == 3).all()
    assert not values[:63].any()
    assert not values[66:].any()


def test_a_surface_with_a_hole_has_no_interior():
    whole = box_surface((0.5, 0.4, 0.3))
    open_box = rf.Surface(whole.vertices, np.delete(whole.triangles, [1, 7], axis=0))
    assert (rf.Voxmap.from_surface(whole, 20).values == 1).any()
    assert not (rf.Voxmap.from_surface(open_box, 20).values == 1).any()


@pytest.mark.parametrize("resolution", [10, 64, 70])
def test_a_surface_open_to_one_side_of_the_grid_has_no_interior(resolution):
    """Walls lie on the sides of the grid: the region behind is reached through the border only."""
    whole = box_surface((1.0, 1.0, 1.0))
    values = rf.Voxmap.from_surface(whole, resolution, expand=1.0).values
    assert (values == 1).sum() == (resolution - 2) ** 3
    corners = whole.vertices[whole.triangles]
    for axis in range(3):
        for side in (0, -1):
            at = np.unique(whole.vertices[:, axis])[side]
            lid = (corners[:, :, axis] == at).all(axis=1)
            assert lid.sum() == 2
            cup = rf.Surface(whole.vertices, whole.triangles[~lid])
            assert not (rf.Voxmap.from_surface(cup, resolution, expand=1.0).values == 1).any()


def test_places(rng):
    values = rng.integers(0, 4, (5, 40, 3))
    made = rf.Voxmap(values, [0.1, -0.2, 0.3], 0.25)
    assert made.values.dtype == np.uint8
    np.testing.assert_array_equal(made.values, values)
    cells = np.argwhere(values >= 0)
    inside = made.origin + made.edge * (cells + rng.uniform(0.01, 0.99, cells.shape))
    np.testing.assert_array_equal(made.at(inside), values[tuple(cells.T)])
    # sides belong to the upper voxel; 0.25 is exact
    low = rf.Voxmap(values, np.zeros(3), 0.25)
    np.testing.assert_array_equal(low.at(0.25 * cells), values[tuple(cells.T)])
    beside = [[-1e-9, 0.1, 0.1], [0.1, 10.0, 0.1], [0.1, 0.1, 1e300], [1.25, 0, 0]]
    np.testing.assert_array_equal(low.at(beside), 0)
    for clone in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        np.testing.assert_array_equal(clone.values, values)
        np.testing.assert_array_equal(clone.origin, made.origin)
        assert clone.edge == made.edge
    assert repr(made) == "<Voxmap: 5 x 40 x 3 voxels of 0.25 m>"


def test_forces_are_those_of_a_plain_version(rng):
    made = rf.Voxmap.from_surface(box_surface((0.5, 0.31, 0.23), (0.9, 0.2, -0.3, 0.1)), 40)
    shell = ball_shell(3000, 0.4, (0.5, 0.1, 0.2))
    contact = rf.VoxmapContact(shell, made, 70.0)
    felt = 0
    for _ in range(20):
        position, quaternion = rng.uniform(-0.3, 0.3, 3), rng.normal(size=4)
        quaternion /= np.linalg.norm(quaternion)
        out = contact.evaluate(position, quaternion)
        force, torque, touching, inside = plain_force(
            shell, made.values, made.origin, made.edge, 70.0, position, quaternion
        )
        assert (out.touching, out.inside) == (touching, inside)
        # sums of some hundred terms of up to k h each
        np.testing.assert_allclose(out.force, force, atol=1e-12 * 70 * 300 * made.edge)
        np.testing.assert_allclose(out.torque, torque, atol=1e-12 * 70 * 300 * made.edge)
        felt += touching
        again = contact.evaluate(position, quaternion)
        np.testing.assert_array_equal(out.force, again.force)
        np.testing.assert_array_equal(out.torque, again.torque)
    assert felt > 1000


def test_one_point_crosses_the_layer():
    """Down through the face of a box that lies in the middle of a layer of voxels."""
    values = np.full((9, 9, 9), 1)
    values[:, :, 6] = 2
    values[:, :, 7] = 3
    values[:, :, 8] = 0
    made = rf.Voxmap(values, (0, 0, 0), 1.0)
    for height, expected in ((8.2, 0), (7.5, 0), (6.9, 0), (6.5, 0), (6.4, 0.1), (6.1, 0.4),
                             (6.0, 0.5), (5.99, 0), (3.0, 0)):  # fmt: skip
        # the shell is above: inward is up
        contact = rf.VoxmapContact(rf.Pointshell([[4.2, 4.7, height]], [[0, 0, 1]]), made, 10.0)
        out = contact.evaluate((0, 0, 0), (1, 0, 0, 0))
        np.testing.assert_allclose(out.force, (0, 0, -10.0 * expected), atol=1e-12)
        np.testing.assert_allclose(
            out.torque, np.cross((4.2, 4.7, height), (0, 0, -10.0 * expected)), atol=1e-12
        )
        assert out.touching == (expected > 0)
        assert out.inside == (height < 6.0)


TURN = unit([0.95, 0.1, 0.25, -0.15])
HALF = np.array([0.5, 0.4, 0.3])


def test_normals_need_be_no_longer_than_those_of_a_shell():
    """A normal has length 1 to within 1e-6, and its square does not."""
    made = rf.Voxmap.from_surface(box_surface([1.0, 1.0, 1.0]), 8)
    for length in (1 - 9e-7, 1 + 9e-7):
        shell = rf.Pointshell([[0.0, 0, 0]], [[0, 0, length]])
        assert rf.VoxmapContact(shell, made, 10.0).shell is shell


def box_distance(points):
    """The signed distance of the turned box."""
    outside = np.abs(points @ rotation(TURN)) - HALF
    far = np.linalg.norm(np.maximum(outside, 0), axis=1)
    return far + np.minimum(outside.max(axis=1), 0)


@pytest.mark.parametrize("way", ["slide", "approach"])
def test_forces_jump_where_those_on_distances_do_not(way):
    """Ever finer steps along the same path: jumps remain, differences of the other force vanish."""
    made = rf.Voxmap.from_surface(box_surface(HALF, TURN), 32)
    shell = ball_shell(60, 0.1)
    stiffness = 10.0
    contact = rf.VoxmapContact(shell, made, stiffness)
    up = rotation(TURN)[:, 2]
    # a slide not quite parallel to the face, where forces on distances are constant
    along = rotation(TURN)[:, 0] - 0.02 * up if way == "slide" else -up
    start = 0.3 * up + (0.085 * up - 0.2 * along if way == "slide" else 0.12 * up)
    length = 0.4 if way == "slide" else 0.08

    largest = []
    for steps in (40, 400, 4000):
        voxmap, penalty = [], []
        for s in np.linspace(0, length, steps + 1):
            # the voxmap moves the other way
            position = -(start + s * along)
            voxmap.append(contact.evaluate(position, (1, 0, 0, 0)).force)
            d = np.minimum(box_distance(shell.points - position), 0)
            penalty.append((stiffness * d[:, None] * shell.normals).sum(axis=0))
        jumps = [np.linalg.norm(np.diff(f, axis=0), axis=1).max() for f in (voxmap, penalty)]
        largest.append(jumps)
        assert np.abs(penalty).max() > 0.1
    largest = np.array(largest)
    kh = stiffness * made.edge
    # a point leaves one voxel by up to half its diagonal beyond the middle
    assert (largest[:, 0] > 0.3 * kh).all()
    assert largest[-1, 0] > 0.5 * largest[0, 0]
    # proportional to the step
    ratio = largest[:-1, 1] / largest[1:, 1]
    assert (ratio > 8).all()
    assert largest[-1, 1] < 0.01 * largest[-1, 0]


def test_results_do_not_depend_on_threads(set_threads):
    surface = box_surface((0.5, 0.31, 0.23), (0.9, 0.2, -0.3, 0.1))
    found = []
    for count in (1, 3):
        set_threads(count)
        found.append(rf.Voxmap.from_surface(surface, 90).values)
    np.testing.assert_array_equal(*found)


def test_progress_can_stop():
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rf.Voxmap.from_surface(box_surface(HALF), 200, progress=stop)


def test_wrong_arguments_are_refused():
    made = rf.Voxmap(np.zeros((2, 2, 2), int), (0, 0, 0), 1.0)
    box = box_surface(HALF)
    shell = ball_shell(10, 0.1)
    flat = rf.Surface([[0, 0, 0]] * 3, [[0, 1, 2]])
    for work, error, message in (
        (lambda: rf.Voxmap([[0]], (0, 0, 0), 1), rf.InputError, "values must have three axes"),
        (lambda: rf.Voxmap([[[]]], (0, 0, 0), 1), rf.InputError, "not be empty"),
        (lambda: rf.Voxmap([[[0.0]]], (0, 0, 0), 1), rf.InputTypeError, "must be integers"),
        (lambda: rf.Voxmap([[[0, 4]]], (0, 0, 0), 1), rf.InputError, r"values\[0, 0, 1\] is 4"),
        (lambda: rf.Voxmap([[[-1]]], (0, 0, 0), 1), rf.InputError, "is -1; allowed are 0"),
        (lambda: rf.Voxmap([[[0]]], (0, 0), 1), rf.InputError, "origin must have shape"),
        (lambda: rf.Voxmap([[[0]]], (0, 0, np.inf), 1), rf.InputError, "origin.2. is inf"),
        (lambda: rf.Voxmap([[[0]]], (0, 0, 0), 0), rf.InputError, "edge must be positive"),
        (lambda: rf.Voxmap([[[0]]], (0, 0, 0), np.nan), rf.InputError, "edge must be finite"),
        (lambda: rf.Voxmap.from_surface(made), rf.InputTypeError, "must be a Surface"),
        (lambda: rf.Voxmap.from_surface(box, 0), rf.InputError, "resolution must be 1"),
        (lambda: rf.Voxmap.from_surface(box, 4096), rf.InputError, "at most 2048.*need.*GiB"),
        (lambda: rf.Voxmap.from_surface(box, 9, 0.9), rf.InputError, "expand must be 1 or more"),
        (lambda: rf.Voxmap.from_surface(flat, 9), rf.MeshError, "no size"),
        (lambda: rf.VoxmapContact(shell, box, 1.0), rf.InputTypeError, "voxmap must be a Voxmap"),
        (lambda: rf.VoxmapContact(3, made, 1.0), rf.InputTypeError, "shell must be a Pointshell"),
        (lambda: rf.VoxmapContact(shell, made, 0.0), rf.InputError, "stiffness must be positive"),
        (lambda: rf.VoxmapContact(shell, made, np.nan), rf.InputError, "stiffness must be finite"),
    ):
        with pytest.raises(error, match=message):
            work()
    contact = rf.VoxmapContact(shell, made, 1.0)
    for arguments, message in (
        (((0, 0), (1, 0, 0, 0)), "position must have shape"),
        (((0, 0, np.nan), (1, 0, 0, 0)), "position.2. is nan"),
        (((0, 0, 0), (1, 0, 0)), "quaternion must have shape"),
        (((0, 0, 0), (2, 0, 0, 0)), r"quaternion \(2, .* has norm 2; it must be 1"),
        (((0, 0, 0), (0, 0, 0, 0)), r"quaternion \(0, .* has norm 0"),
        (((0, 1e100, 0), (1, 0, 0, 0)), r"position\[1\] is 1e\+100, too far from the origin"),
    ):
        with pytest.raises(rf.InputError, match=message):
            contact.evaluate(*arguments)


def test_running_out_of_memory():
    surface, shell = box_surface(HALF), ball_shell(10, 0.1)
    fail_each_allocation(lambda: rf.Voxmap.from_surface(surface, 10))
    made = rf.Voxmap.from_surface(surface, 10)
    fail_each_allocation(
        lambda: rf.VoxmapContact(shell, rf.Voxmap(made.values, (0, 0, 0), 0.1), 1.0)
    )
