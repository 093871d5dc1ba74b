"""Contact of two objects that deform: a plain version, momentum, the tree against all points."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from failures import fail_each_allocation
from plain_contact import directions
from shapes import box_hexes, solid_box
from turns import rotation

RUBBER = rf.StVK(1e6, 0.4, 1000.0)
BAR = np.array([0.3, 0.06, 0.04])


def bar(modes=3, r=6):
    solid = solid_box((15, 3, 2), tuple(BAR), RUBBER)
    return rf.reduce(solid, rf.modal_derivative_basis(solid, modes, r))


@pytest.fixture(scope="module")
def scene():
    """A bar as field and the same as a shell, which is twice bent."""
    model = bar()
    grid = np.stack(np.meshgrid(*[np.arange(-0.08, n, 0.006) for n in BAR + 0.09], indexing="ij"))
    at = np.moveaxis(grid, 0, -1)
    box = rf.BoxField((0, 0, 0), BAR)
    rest = rf.DistanceField(
        box.distance(at.reshape(-1, 3)).reshape(at.shape[:3]), [-0.08] * 3, 0.006
    )
    shell = rf.Pointshell.from_field(rest, points=1500, levels=3)
    tree = rf.PointTree(shell, model)
    return model, rf.DeformedField(rest, model), tree


def poses(rng, n):
    """The field object about the shell, and q of both: bent by some centimetres."""
    position = rng.uniform((-0.1, -0.07, -0.05), (0.1, 0.07, 0.05), (n, 3))
    turn = np.array([1.0, 0, 0, 0]) + 0.3 * rng.normal(size=(n, 4))
    turn /= np.linalg.norm(turn, axis=1)[:, None]
    q = 0.004 * rng.normal(size=(2, n, 6)) / (1 + np.arange(6))
    return position, turn, q[0], q[1]


def test_results_equal_a_plain_version(scene, rng):
    model, field, tree = scene
    shell = tree.shell
    skin = rf.Embedding(model.mesh, shell.points)
    for limit in (None, 10):
        contact = rf.PenaltyContact(tree, field, 50.0, 10**6, max_points=limit)
        felt = 0
        for position, turn, q, field_q in zip(*poses(rng, 12), strict=True):
            out = contact.evaluate(position, turn, q, field_q=field_q, contacts=True)
            r = rotation(turn)
            x = shell.points + skin.interpolate(model.displacement(q))
            body = (x - position) @ r
            d = field.distance(body, field_q)
            # the tree keeps the motion of points in single precision
            hit = np.sort(out.contacts.indices)
            sure = np.flatnonzero(np.abs(d) > 1e-7)
            np.testing.assert_array_equal(np.intersect1d(hit, sure), sure[d[sure] < 0])
            of = out.contacts.indices
            np.testing.assert_allclose(out.contacts.distances, d[of], atol=1e-7)
            scale = 1.0 if limit is None else min(1.0, limit / max(len(of), 1))
            force = out.contacts.forces
            length = np.linalg.norm(force, axis=1)
            np.testing.assert_allclose(length, scale * 50.0 * np.abs(d[of]), atol=1e-5)
            np.testing.assert_allclose(out.force, force.sum(0), atol=1e-4)
            np.testing.assert_allclose(
                out.torque, np.cross(x[of] - position, force).sum(0), atol=1e-4
            )
            felt += len(of)
        assert felt > 300


@pytest.mark.filterwarnings("ignore:qs? is None")
def test_momentum_is_kept(scene, rng):
    """Force and torque on one object are the opposite of those on the other.

    The reduced forces hold them: rigid motions that a basis has get the force and the torque.
    """
    nodes, elements = box_hexes(15, 3, 2, tuple(BAR))
    # shifts and turns about the origin
    basis = np.zeros((6, len(nodes), 3))
    for i in range(3):
        basis[i, :, i] = 1.0
        basis[3 + i] = np.cross(np.eye(3)[i], nodes)
    model = rf.reduce(rf.Solid(rf.Mesh(nodes, elements), RUBBER), basis)
    _, given, tree = scene
    field = rf.DeformedField(given.field, model, given.proxies)
    contact = rf.PenaltyContact(rf.PointTree(tree.shell, model), field, 50.0)
    touched = 0
    for position, turn, _, _ in zip(*poses(rng, 15), strict=True):
        out = contact.evaluate(position, turn, contacts=True)
        points, force = out.contacts.positions, out.contacts.forces
        r = rotation(turn)
        # on the shell, about the origin of the world
        np.testing.assert_allclose(out.reduced_force[:3], -out.force, atol=1e-6)
        moment = np.cross(points, force).sum(0)
        np.testing.assert_allclose(out.reduced_force[3:], -moment, atol=1e-6)
        # on the field object the force and its moment, at the points themselves
        np.testing.assert_allclose(out.field_reduced_force[:3], r.T @ out.force, atol=1e-9)
        body = (points - position) @ r
        np.testing.assert_allclose(
            out.field_reduced_force[3:], np.cross(body, force @ r).sum(0), atol=1e-9
        )
        np.testing.assert_allclose(out.torque, moment - np.cross(position, out.force), atol=1e-9)
        touched += out.touching
    assert touched > 300


def test_culling_loses_no_point(scene, rng):
    """With the factor of safety none is lost; the distance without it loses a counted number."""
    model, field, tree = scene
    bare = rf.DeformedField(field.field, model, field.proxies, safety=1.0)
    lost, all_of, visited = {1.0: 0, 1.5: 0}, 0, {1.0: 0, 1.5: 0}
    for position, turn, q, field_q in zip(*poses(rng, 60), strict=True):
        for one in (field, bare):
            contact = rf.PenaltyContact(tree, one, 50.0, 10**6)
            by_tree = contact.evaluate(position, turn, q, field_q=field_q, contacts=True)
            plain = contact.evaluate(
                position, turn, q, field_q=field_q, contacts=True, treeless=True
            )
            gone = np.setdiff1d(plain.contacts.indices, by_tree.contacts.indices)
            lost[one.safety] += len(gone)
            visited[one.safety] += by_tree.visited
        all_of += plain.touching
    print(f"lost of {all_of} points: {lost}; visited {visited} of {60 * tree.shell.n_points}")
    assert all_of > 1000
    assert max(visited.values()) < 0.9 * 60 * tree.shell.n_points
    assert visited[1.5] > 1.1 * visited[1.0]
    assert lost[1.5] == 0


def plain_visits(tree, field, position, turn, q, field_q):
    """Return the numbers of nodes tested and of points that touch, level by level."""
    body = (tree.positions(q) - position) @ rotation(turn)
    distance = field.distance(body, field_q)
    seen = np.zeros(len(body), bool)
    nodes = np.arange(tree.node_counts[0])
    visited = len(nodes)
    for level in range(tree.n_levels):
        seen[nodes] = True
        if level + 1 == tree.n_levels:
            break
        open_ones = nodes[distance[nodes] <= field.safety * tree.radii(level, q)[nodes]]
        new = np.arange(tree.node_counts[level], tree.node_counts[level + 1])
        children = new[np.isin(tree.parents[new], open_ones)]
        nodes = np.concatenate([open_ones, children])
        # on the deepest level those of the level before have nothing left to do
        visited += len(children if level + 2 == tree.n_levels else nodes)
    return visited, int((distance[seen] < 0.0).sum())


@pytest.mark.parametrize("safety", [1.0, 1.5, 4.0])
def test_nodes_are_culled_by_the_factor_of_safety(scene, rng, safety):
    """Nodes are culled exactly if their distance is more than `safety` radii."""
    model, field, tree = scene
    one = rf.DeformedField(field.field, model, field.proxies, safety=safety)
    contact = rf.PenaltyContact(tree, one, 50.0, 10**6)
    for position, turn, q, field_q in zip(*poses(rng, 20), strict=True):
        out = contact.evaluate(position, turn, q, field_q=field_q)
        expected = plain_visits(tree, one, position, turn, q, field_q)
        assert (out.visited, out.touching) == expected


@pytest.mark.filterwarnings("ignore:qs? is None")
def test_cycles_are_repeated_to_the_bit(scene, rng):
    _, field, tree = scene
    position, turn, q, field_q = poses(rng, 40)
    runs = []
    for _ in range(2):
        contact = rf.PenaltyContact(tree, field, 50.0, 400)
        runs.append(contact.evaluate_many(position, turn, q, field_q))
    one_by_one = rf.PenaltyContact(tree, field, 50.0, 400)
    singles = [
        one_by_one.evaluate(a, b, c, d)
        for a, b, c, d in zip(position, turn, q, field_q, strict=True)
    ]
    for name in ("force", "torque", "gradient", "reduced_force", "field_reduced_force", "visited"):
        np.testing.assert_array_equal(getattr(runs[0], name), getattr(runs[1], name))
        np.testing.assert_array_equal(getattr(runs[0], name), [getattr(s, name) for s in singles])
    assert (runs[0].skipped == 0).all()
    assert runs[0].touching.max() > 20
    # the field at rest is what no q is
    at_rest = one_by_one.evaluate(position[0], turn[0], field_q=np.zeros(6))
    again = one_by_one.evaluate(position[0], turn[0])
    np.testing.assert_array_equal(at_rest.force, again.force)
    # nothing has moved, and still every node is tested
    assert (again.visited, again.skipped) == (at_rest.visited, 0)
    np.testing.assert_array_equal(at_rest.field_reduced_force, again.field_reduced_force)


def test_at_rest_it_is_contact_with_the_field_at_rest(scene, rng):
    _, field, tree = scene
    deformed = rf.PenaltyContact(tree, field, 50.0, 10**6)
    rigid = rf.PenaltyContact(tree, field.field, 50.0, 10**6)
    for position, turn, q, _ in zip(*poses(rng, 10), strict=True):
        a = deformed.evaluate(position, turn, q, contacts=True)
        b = rigid.evaluate(position, turn, q, contacts=True)
        # nodes are culled by other rules, so points are found in another order
        np.testing.assert_array_equal(np.sort(a.contacts.indices), np.sort(b.contacts.indices))
        np.testing.assert_allclose(a.force, b.force, atol=1e-12)
        np.testing.assert_allclose(a.gradient, b.gradient, atol=1e-10)
        assert b.field_reduced_force is None


@pytest.mark.parametrize("k", [1, 5])
def test_forces_are_along_the_gradient_pulled_back(scene, rng, k):
    """Under an affine motion of the field object: F^-T times the slope where a point comes from."""
    nodes, elements = box_hexes(15, 3, 2, tuple(BAR))
    basis = np.zeros((12, len(nodes), 3))
    for i in range(12):
        basis[i, :, i % 3] = nodes[:, i // 3] if i < 9 else 1.0
    model = rf.reduce(rf.Solid(rf.Mesh(nodes, elements), RUBBER), basis)
    _, given, tree = scene
    field = rf.DeformedField(given.field, model, given.proxies, k=k)
    rigid = rf.PointTree(tree.shell)
    contact = rf.PenaltyContact(rigid, field, 50.0, 10**6, max_points=None)
    checked = 0
    for position, turn, _, _ in zip(*poses(rng, 10), strict=True):
        q = np.concatenate([rng.uniform(-0.3, 0.3, 9), 0.01 * rng.normal(size=3)])
        stretch, r = np.eye(3) + q[:9].reshape(3, 3).T, rotation(turn)
        out = contact.evaluate(position, turn, field_q=q, contacts=True)
        c = out.contacts
        at_rest = np.linalg.solve(stretch, ((c.positions - position) @ r - q[9:]).T).T
        # as if the object were turned and stretched in the world
        expected = directions(given.field, at_rest, c.normals, r @ np.linalg.inv(stretch).T)
        expected *= 50.0 * c.distances[:, None]
        np.testing.assert_allclose(c.forces, expected, atol=1e-5)
        # each coordinate moves a point X by one of its coordinates along an axis, or by 1
        local = np.einsum("ki,kj->ij", np.c_[at_rest, np.ones(len(at_rest))], c.forces @ r)
        size = 1e-8 * (1.0 + np.abs(local).max())
        np.testing.assert_allclose(out.field_reduced_force, local.ravel(), atol=size)
        checked += out.touching
    assert checked > 300


def test_normals_in_place_of_gradients(scene, rng):
    _, field, tree = scene
    contact = rf.PenaltyContact(tree, field, 50.0, 10**6, max_points=None, direction="normal")
    touched = 0
    for position, turn, q, field_q in zip(*poses(rng, 10), strict=True):
        out = contact.evaluate(position, turn, q, field_q=field_q, contacts=True)
        c, r = out.contacts, rotation(turn)
        np.testing.assert_allclose(c.forces, 50.0 * c.distances[:, None] * c.normals, rtol=1e-12)
        body = (c.positions - position) @ r
        expected = field.project(field.nearest(body, field_q), c.forces @ r)
        size = 1e-9 * (1.0 + np.abs(expected).max())
        np.testing.assert_allclose(out.field_reduced_force, expected, atol=size)
        touched += out.touching
    assert touched > 200


@pytest.mark.filterwarnings("ignore:qs? is None")
def test_wrong_arguments_are_refused(scene):
    _, field, tree = scene
    contact = rf.PenaltyContact(tree, field, 1.0)
    rigid = rf.PenaltyContact(tree, field.field, 1.0)
    here = ((0, 0, 0), (1, 0, 0, 0))
    for work, error, message in (
        (
            lambda: rf.PenaltyContact(tree, 3, 1.0),
            rf.InputTypeError,
            "must be a Field or a DeformedField, got int",
        ),
        (lambda: contact.evaluate(*here, field_q=[0.0]), rf.InputError, "field_q must have shape"),
        (lambda: contact.evaluate(*here, field_q=[np.nan] * 6), rf.InputError, "field_q.0. is nan"),
        (lambda: contact.evaluate(*here, field_q=[1e200] * 6), rf.InputError, "field_q is so larg"),
        (lambda: rigid.evaluate(*here, field_q=[0.0] * 6), rf.InputError, "does not deform"),
        (
            lambda: contact.evaluate_many([here[0]], [here[1]], None, np.zeros((2, 6))),
            rf.InputError,
            "field_qs must have shape",
        ),
        (
            lambda: contact.evaluate_many(
                [here[0]] * 3, [here[1]] * 3, None, [[0.0] * 6, [0.0] * 6, [1e200] * 6]
            ),
            rf.InputError,
            "cycle 2: field_q is so large",
        ),
    ):
        with pytest.raises(error, match=message):
            work()
    # usable as before
    assert contact.evaluate(*here).touching > 0


def test_running_out_of_memory(scene):
    _, field, tree = scene
    fail_each_allocation(lambda: rf.PenaltyContact(tree, field, 1.0))
