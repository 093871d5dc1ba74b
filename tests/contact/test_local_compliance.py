"""Local compliance of shells: S = G - U (U^T K U)^-1 U^T, alone and in sessions with friction."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy.optimize import nnls

import reducedfem as rf
from failures import fail_each_allocation
from friction_sessions import run, session
from graded import graded_box
from reducedfem import _core
from reducedfem.geometry.constraints import standing
from shapes import box_hexes

STVK = rf.StVK(1e5, 0.3, 1000.0)
HALF = 0.0155  # m, of a punch whose edges lie between nodes
PRESSED = 2e-5  # m, by the hand: strains of 1e-3
DEEP = 0.04  # m, of the block


def block(free=False):
    """Return a block, fixed below, and the nodes on its top at z = 0."""
    nodes, cells = box_hexes(8, 8, 4, (0.08, 0.08, DEEP))
    nodes = nodes - [0.04, 0.04, DEEP]
    fixed = None if free else nodes[:, 2] < 1e-9 - DEEP
    return rf.Solid(rf.Mesh(nodes, cells), STVK, fixed=fixed), np.flatnonzero(nodes[:, 2] > -1e-9)


def test_rigid_trees_beside_the_mesh_give_a_warning():
    solid, top = block()
    points = 1e3 * solid.mesh.nodes[top]
    tree = rf.PointTree(rf.Pointshell(points, np.tile([0.0, 0.0, -1.0], (len(points), 1))))
    with pytest.warns(rf.GeometryWarning, match="points of the tree lie farther outside") as found:
        rf.LocalCompliance(tree, solid)
    assert [one.filename for one in found] == [__file__]


class Case:
    """A block, its model and the tree of the nodes on top."""

    def __init__(self, free=False):
        self.solid, self.top = block(free)
        self.reduced = rf.reduce(self.solid, rf.modal_derivative_basis(self.solid, 3, 6))
        points = self.solid.mesh.nodes[self.top]
        self.shell = rf.Pointshell(points, np.tile([0.0, 0.0, -1.0], (len(points), 1)))
        self.tree = rf.PointTree(self.shell, self.reduced)
        self.local = rf.LocalCompliance(self.tree, self.solid)
        self.green = rf.GreensFunctions(self.solid, self.top)

    def expected(self):
        """Return S of the points by dense matrices."""
        U = self.reduced.basis[:, self.top].reshape(self.reduced.r, -1).T
        K = self.reduced.stiffness(np.zeros(self.reduced.r))
        return self.green.matrix - U @ np.linalg.solve(K, U.T)

    def true(self, height, mu=0.0, aside=0.0):
        """Return the force of the solid on a punch at a height, moved aside while it stuck."""
        under = (np.abs(self.shell.points[:, :2]) < HALF).all(axis=1)
        n = int(under.sum())
        places = np.tile([-aside, 0.0, height], (n, 1)) * [1.0, 1.0, -1.0]
        normal = np.tile([0.0, 0.0, -1.0], (n, 1))
        out = self.green.contact(self.top[under], normal, places, friction=mu)
        return -out.force.sum(axis=0)


@pytest.fixture(scope="module")
def case():
    return Case()


@pytest.fixture(scope="module")
def free():
    return Case(free=True)


def matrix_of(local, n):
    return np.block([[local.between(p, q) for q in range(n)] for p in range(n)])


@pytest.mark.parametrize("which", ["case", "free"])
def test_it_is_what_the_basis_leaves_out_and_semidefinite(which, request):
    one = request.getfixturevalue(which)
    n = len(one.top)
    found, expected = matrix_of(one.local, n), one.expected()
    size = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * size)
    np.testing.assert_array_equal(found, found.T)
    assert np.linalg.eigvalsh(found).min() > -1e-12 * size
    blocks = found.reshape(n, 3, n, 3), one.green.matrix.reshape(n, 3, n, 3)
    share = np.divide(*(np.einsum("pipi->p", each) for each in blocks))
    np.testing.assert_allclose(one.local.lacking, share, rtol=1e-5)
    text = f"81 points, {np.mean(share):.0%} of the compliance is not in the model (mean), 0."
    assert text in repr(one.local)
    assert one.local.bytes > 18 * n**2
    force = np.random.default_rng(1).normal(size=(3, 3))
    load = np.zeros((n, 3))
    np.add.at(load, [4, 7, 4], force)
    u = one.local.displacement(force, [4, 7, 4])
    np.testing.assert_allclose(u.ravel(), found @ load.ravel(), atol=1e-12 * np.abs(u).max())


def test_a_basis_of_all_static_shapes_leaves_nothing_out(case):
    """The columns of G of two points, and the solid has no other response to forces there."""
    force = np.zeros((6, case.solid.mesh.n_nodes, 3))
    for k in range(6):
        force[k, case.top[k // 3], k % 3] = 1e-3
    basis = rf.mass_pca(case.solid, [case.solid.solve_static(f) for f in 1e-6 * force], 6)
    tree = rf.PointTree(case.shell, rf.reduce(case.solid, basis))
    local = rf.LocalCompliance(tree, case.solid)
    assert np.abs(local.lacking[:2]).max() < 1e-5 < 0.5 < local.lacking[80]
    assert np.linalg.eigvalsh(matrix_of(local, 81)).min() > -1e-12 * local.between(80, 80).max()


def test_points_between_nodes_interpolate_and_pairs_of_nodes_give_the_same(case):
    """By points, by nodes, and by the weights of an embedding with fixed nodes among them."""
    rng = np.random.default_rng(2)
    points = rng.uniform([-0.03, -0.03, -DEEP], [0.03, 0.03, 0.0], (12, 3))
    points[:3, 2] = -DEEP + 1e-3
    shell = rf.Pointshell(points, np.tile([0.0, 0.0, -1.0], (12, 1)))
    tree = rf.PointTree(shell, case.reduced)
    by_points = rf.LocalCompliance(tree, case.solid)
    at = tree.embedding
    weights = np.where(np.isin(at.nodes, case.solid.fixed), 0.0, at.weights)
    green = rf.GreensFunctions(case.solid, np.unique(at.nodes[weights != 0.0]))
    places = np.where(weights != 0.0, np.searchsorted(green.nodes, at.nodes), 0)
    basis = case.reduced.basis[:, green.nodes].transpose(1, 2, 0)
    K = case.reduced.stiffness(np.zeros(case.reduced.r))
    by_nodes = _core.LocalCompliance(green._core, places, weights, basis, K, False, None, 1)
    share = np.zeros((12, len(green.nodes)))
    np.add.at(share, (np.arange(12)[:, None], places), weights)
    share = np.kron(share, np.eye(3))
    U = share @ basis.reshape(-1, case.reduced.r)
    expected = share @ green.matrix @ share.T - U @ np.linalg.solve(K, U.T)
    for one in (by_points, by_nodes):
        found = matrix_of(one, 12)
        np.testing.assert_allclose(found, expected, rtol=0, atol=3e-6 * np.abs(expected).max())
        assert np.linalg.eigvalsh(found).min() > -1e-12 * np.abs(expected).max()
    np.testing.assert_allclose(by_nodes.lacking, by_points.lacking, rtol=1e-4)


def test_followers_of_fixed_nodes_have_no_share():
    """Points beside a support with hanging nodes, against statics by a dense matrix."""
    mesh = graded_box((10, 10, 10))
    at = mesh.nodes
    slaves = mesh.constraints.slaves
    low, high = mesh.bounds
    fixed = np.setdiff1d(np.flatnonzero(at[:, 2] < low[2] + 0.2 * (high - low)[2]), slaves)
    solid = rf.Solid(mesh, STVK, fixed=fixed)
    held = np.setdiff1d(standing(mesh.constraints, solid.fixed), solid.fixed)
    points = np.concatenate(
        [at[held] + 1e-3 * (high - low), high + (low - high) * [[0.5, 0.5, 0.1]]]
    )
    shell = rf.Pointshell(points, np.tile([0.0, 0.0, -1.0], (len(points), 1)))
    local = rf.LocalCompliance(rf.PointTree(shell), solid)
    force = np.random.default_rng(3).normal(size=(len(points), 3))
    embedding = rf.Embedding(mesh, points)
    load = mesh.constraints.fold(embedding.distribute(force))
    free = (3 * solid.free[:, None] + np.arange(3)).ravel()
    K = solid.stiffness().to_scipy().toarray()[np.ix_(free, free)]
    u = np.zeros(3 * mesh.n_nodes)
    u[free] = np.linalg.solve(K, load.ravel()[free])
    expected = embedding.interpolate(mesh.constraints.fill(u.reshape(-1, 3)))
    found = local.displacement(force, np.arange(len(points)))
    assert np.isin(embedding.nodes, held).any()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


# ---- in sessions


def pressed(n, aside=0.0):
    """Return positions of a hand that presses, and then moves aside."""
    t = np.arange(n)
    down = np.minimum(t / 100.0, 1.0)
    x = aside * np.clip((t - 150) / 100.0, 0.0, 1.0)
    return np.stack([x, 0.0 * x, 1e-4 - (1e-4 + PRESSED) * down], axis=1)


def contact_of(case, tree, local, mu=0.0):
    tool = rf.BoxField((-HALF, -HALF, 0.0), (HALF, HALF, 0.02))
    return rf.FrictionContact(tree, tool, mu, compliance=1e-8, budget_us=1e5, local=local)


@pytest.mark.parametrize("mu", [0.0, 0.5])
@pytest.mark.parametrize("rigid", [False, True])
def test_the_force_at_rest_is_that_of_the_solid(case, mu, rigid):
    """The punch does not slide; the model alone is ten times as stiff as the solid."""
    tree, local, moves = (
        case.tree,
        case.local,
        rf.BackwardEuler(case.reduced, 1e-3, damping=(0.0, 1e-3)),
    )
    if rigid:
        tree, moves = rf.PointTree(case.shell), None
        local = rf.LocalCompliance(tree, case.solid)
    aside = 4e-6 if mu > 0.0 else 0.0
    path = pressed(500, aside)
    records = run(contact_of(case, tree, local, mu), path, simulation=moves)
    last = records[-1]
    x, _, height = last["object_position"]
    expected = case.true(height, mu, x)
    size = expected[2]
    np.testing.assert_allclose(last["contact_force"], expected, rtol=0, atol=1e-3 * size)
    assert last["touching"] == 9
    # at rest: the dimple is that of the present forces, not one more in each cycle
    still = records["contact_force"][-100:]
    assert np.ptp(still, axis=0).max() < 1e-5 * size
    if mu > 0.0:
        assert last["contact_force"][0] < -0.1 * size
    assert records["depth_m"].max() < 1e-6


def test_without_it_the_model_is_too_stiff(case):
    records = run(
        contact_of(case, case.tree, None),
        pressed(300),
        simulation=rf.BackwardEuler(case.reduced, 1e-3, damping=(0.0, 1e-3)),
    )
    true = case.true(records["object_position"][-1, 2])[2]
    assert records["contact_force"][-1, 2] > 5.0 * true


def test_contacts_of_a_free_body_bend_it_together():
    """A plate presses a block against the floor: uniaxial stress, F = E A d / h in any mesh.

    Only if forces on one side also bend the other one.
    """
    nodes, cells = box_hexes(3, 3, 2, (0.06, 0.06, DEEP))
    nodes = nodes - [0.03, 0.03, DEEP]
    solid = rf.Solid(rf.Mesh(nodes, cells), STVK)
    reduced = rf.reduce(solid, rf.modal_derivative_basis(solid, 2, 3))
    upper, lower = nodes[:, 2] > -1e-9, nodes[:, 2] < 1e-9 - DEEP
    normals = np.where(upper[:, None], [[0.0, 0.0, -1.0]], [[0.0, 0.0, 1.0]])
    shell = rf.Pointshell(nodes[upper | lower], normals[upper | lower])
    tree = rf.PointTree(shell, reduced)
    local = rf.LocalCompliance(tree, solid)
    plate = rf.BoxField((-0.05, -0.05, 0.0), (0.05, 0.05, 0.02))
    floor = rf.PlaneField((0.0, 0.0, -DEEP), (0.0, 0.0, 1.0))

    def force(*locals_):
        body = rf.FreeBody(reduced, 1e-3, damping=(0.0, 1e-3), gravity=(0.0, 0.0, 0.0))
        contacts = [
            rf.FrictionContact(tree, field, 0.0, compliance=1e-8, budget_us=1e5, local=local)
            for field, local in zip((plate, floor), locals_, strict=True)
        ]
        records = run(contacts, pressed(600), simulation=[body, body])
        still = records["contact_force"][-50:, 2]
        assert np.ptp(still) < 1e-4 * still.max()
        return still[-1], -records["object_position"][-1, 2]

    with pytest.raises(rf.InputError, match="contact 1 has another local compliance"):
        force(local, rf.LocalCompliance(tree, solid))
    found, depth = force(local, local)
    assert found == pytest.approx(1e5 * 0.06**2 * depth / DEEP, rel=1e-4)
    found, depth = force(None, None)
    assert found > 5.0 * 1e5 * 0.06**2 * depth / DEEP


def test_a_free_body_lies_on_a_surface_of_linear_statics(case):
    """The field of a block with a weight sinks into a rigid tree with a local compliance."""
    nodes, cells = box_hexes(1, 1, 1, (2 * HALF, 2 * HALF, 0.02))
    nodes = nodes - [HALF, HALF, 0.01]
    solid = rf.Solid(rf.Mesh(nodes, cells), rf.StVK(1e7, 0.3, 1000.0))
    reduced = rf.reduce(solid, rf.modal_derivative_basis(solid, 1, 1))
    normals = np.where(nodes[:, 2:] > 0.0, [[0.0, 0.0, -1.0]], [[0.0, 0.0, 1.0]])
    body = rf.FreeBody(reduced, 1e-3, gravity=(0.0, 0.0, -5.0))
    body.reset((0.0, 0.0, 0.01))
    pad = rf.PointTree(case.shell)
    shape = rf.BoxField((-HALF, -HALF, -0.01), (HALF, HALF, 0.01))
    far = rf.SphereField((0.0, 0.0, 0.0), 0.01)
    contacts = [
        rf.FrictionContact(tree, field, 0.3, compliance=1e-8, budget_us=1e5, local=local)
        for tree, field, local in (
            (rf.PointTree(rf.Pointshell(nodes, normals), reduced), far, None),
            (pad, shape, rf.LocalCompliance(pad, case.solid)),
        )
    ]
    made = session(contacts, np.ones((500, 3)), simulation=[body, (None, body)])
    made.run(500)
    made.close()
    sunk = body.state.position[2] - 0.01
    weight = 5.0 * reduced.rigid_body.mass
    assert case.true(sunk, 0.3)[2] == pytest.approx(weight, rel=2e-3)
    assert abs(body.state.velocity[2]) < 1e-9


def test_a_limit_of_the_depth_counts_the_dimple_as_shape(case):
    """The hand presses by 2 mm; without the dimple the shell is as deep."""
    path = pressed(400) * [1.0, 1.0, 100.0]
    coupling = rf.VirtualCoupling(1000.0, torsional_stiffness=5.0, max_depth=1e-4)
    tree = rf.PointTree(case.shell)
    local = rf.LocalCompliance(tree, case.solid)
    records = run(contact_of(case, tree, local), path, coupling=coupling)
    assert records["object_position"][-1, 2] < -3e-4
    assert records["depth_m"].max() < 1e-4
    still = records["contact_force"][-50:, 2]
    assert np.ptp(still) < 1e-6 * still.max()


# ---- small tools, deep in the shell


class Fine:
    """The same block under a ball, with points every millimetre."""

    def __init__(self, case, radius, spread):
        s = np.linspace(-spread, spread, 41)
        x, y = (a.ravel() for a in np.meshgrid(s, s))
        points = np.stack([x, y, np.zeros_like(x)], axis=1)
        self.tree = rf.PointTree(rf.Pointshell(points, np.tile([0.0, 0.0, -1.0], (len(x), 1))))
        self.local = rf.LocalCompliance(self.tree, case.solid)
        self.points, self.radius = points, radius

    def press(self, depth, **options):
        """Return the records of a hand that presses the ball."""
        t = np.minimum(np.arange(400) / 300.0, 1.0)
        path = np.stack([0.0 * t, 0.0 * t, self.radius - depth * t], axis=1)
        ball = rf.SphereField((0.0, 0.0, 0.0), self.radius)
        contact = rf.FrictionContact(
            self.tree, ball, 0.0, compliance=1e-6, budget_us=1e5, local=self.local, **options
        )
        return run(contact, path)

    def statics(self, centre):
        """Return the force of all points on the ball without friction, and their number.

        They are those below the ball, and begin at its lowest point.
        """
        depth = self.radius - centre[2]
        rim = np.sqrt(max(2.0 * self.radius * depth - depth**2, 0.0))
        under = np.linalg.norm(self.points[:, :2] - centre[:2], axis=1) < (
            rim if depth < self.radius else self.radius
        )
        near, n = np.flatnonzero(under), int(under.sum())
        S = [self.local.displacement([e], [p])[near] for p in near for e in np.eye(3)]
        S = np.array(S).reshape(n, 3, n, 3)
        u = np.tile([0.0, 0.0, -depth], (n, 1))
        for _ in range(6):
            away = self.points[near] + u - centre
            length = np.linalg.norm(away, axis=1, keepdims=True)
            normal = away / length
            gap = (length[:, 0] - self.radius) - np.einsum("pi,pi->p", normal, u)
            W = np.einsum("pi,piqj,qj->pq", normal, S, normal) + 1e-6 * np.eye(n)
            root = np.linalg.cholesky(W)
            force, _ = nnls(root.T, -np.linalg.solve(root, gap))
            u = np.einsum("piqj,pi,p->qj", S, normal, force)
        return -(force @ normal), n


def test_the_force_grows_when_a_tool_is_deeper_than_its_radius(case):
    """Without their dimple the points are past the middle of the ball, and outside at last."""
    fine = Fine(case, 0.003, 0.01)
    records = fine.press(0.018)
    depth, force = 0.003 - records["object_position"][:, 2], records["contact_force"][:, 2]
    assert depth[-1] > 2.2 * fine.radius
    assert np.diff(force[:300]).min() > -1e-2 * force[-1]
    expected, _ = fine.statics(records["object_position"][-1])
    assert force[-1] == pytest.approx(expected[2], rel=1e-3)
    still = force[-50:]
    assert np.ptp(still) < 1e-3 * still[-1]
    assert records["depth_m"].max() < 1e-3
    assert not rf.HapticRecords(records).flagged("unsolved").any()


def test_sites_are_those_that_touch_with_the_dimple(case):
    """Most points of the overlap are free of the ball, and leave the sites to the others.

    Points that touch do not take turns as sites.
    """
    fine = Fine(case, 0.02, 0.02)
    records = fine.press(0.012)
    last = records[-1]
    force, inside = fine.statics(last["object_position"])
    assert inside > 300 > 64 > last["touching"]
    np.testing.assert_allclose(last["contact_force"], force, rtol=0, atol=1e-3 * force[2])
    still = records["contact_force"][-50:, 2]
    assert np.ptp(still) < 1e-3 * still[-1]
    assert not rf.HapticRecords(records).flagged("crowded").any()
    # records have the forces at the sites, 20 bytes each
    assert sum(last[f"site_{name}"].nbytes for name in ("contact", "point", "force")) == 20 * 64
    there = last["site_point"] >= 0
    assert there.sum() == last["touching"]
    assert not last["site_contact"][there].any()
    total = last["site_force"][there].astype(float).sum(axis=0)
    np.testing.assert_allclose(total, -last["contact_force"], rtol=0, atol=1e-6 * force[2])


@pytest.mark.parametrize("sites", [32, 128])
def test_other_numbers_of_sites_find_the_same_points(case, sites):
    """The points that touch at last are few, for any way to them."""
    fine = Fine(case, 0.02, 0.02)
    last = fine.press(0.012, sites=sites)[-1]
    force, _ = fine.statics(last["object_position"])
    np.testing.assert_allclose(last["contact_force"], force, rtol=0, atol=1e-3 * force[2])


def test_too_few_sites_are_reported(case):
    fine = Fine(case, 0.02, 0.02)
    t = np.minimum(np.arange(200) / 150.0, 1.0)
    path = np.stack([0.0 * t, 0.0 * t, 0.02 - 0.012 * t], axis=1)
    ball = rf.SphereField((0.0, 0.0, 0.0), 0.02)
    contact = rf.FrictionContact(
        fine.tree, ball, 0.0, compliance=1e-6, budget_us=1e5, local=fine.local, sites=1
    )
    made = session(contact, path)
    records = made.run(200)
    report = made.report()
    made.close()
    assert report.crowded == records.flagged("crowded").sum() > 100
    assert f"points left out         in {report.crowded} cycles" in str(report)
    (advice,) = (one for one in report.advice if "sites" in one)
    assert "more points touched than the FrictionContacts have sites, 1, or" in advice


def test_points_of_a_shell_without_it_leave_sites_to_the_others(case):
    """They are more than there are sites, in reach of the free motions, but touch nothing."""
    fine = Fine(case, 0.02, 0.02)
    s = np.linspace(-0.02, 0.02, 25)
    x, y = (a.ravel() for a in np.meshgrid(s + 0.2, s))
    points, normals = np.stack([x, y, 0.0 * x], axis=1), np.tile([0.0, 0.0, -1.0], (len(x), 1))
    plate = rf.PointTree(rf.Pointshell(points, normals))
    ball = rf.SphereField((0.0, 0.0, 0.0), 0.02)
    tool = ball | rf.BoxField((0.17, -0.03, -0.0188), (0.23, 0.03, 0.02))
    contacts = [
        rf.FrictionContact(tree, tool, 0.0, compliance=1e-6, budget_us=1e5, local=local)
        for tree, local in ((fine.tree, fine.local), (plate, None))
    ]
    t = np.minimum(np.arange(400) / 300.0, 1.0)
    records = run(contacts, np.stack([0.0 * t, 0.0 * t, 0.02 - 0.002 * t], axis=1))
    last = records[-1]
    assert 0.0 < last["object_position"][2] - 0.0188 < 0.0003  # the gap of the plate
    force, _ = fine.statics(last["object_position"])
    np.testing.assert_allclose(last["contact_force"], force, rtol=0, atol=1e-3 * force[2])
    assert not rf.HapticRecords(records).flagged("crowded").any()


def test_few_crowded_cycles_are_counted_without_advice(case):
    """The ball presses on one point, but once, for a moment, on more than there are sites."""
    fine = Fine(case, 0.02, 0.02)
    depth = np.full(400, 1e-5)
    depth[200:212] = 1e-3
    path = np.stack([0.0 * depth, 0.0 * depth, 0.02 - depth], axis=1)
    ball = rf.SphereField((0.0, 0.0, 0.0), 0.02)
    contact = rf.FrictionContact(
        fine.tree, ball, 0.0, compliance=1e-6, budget_us=1e5, local=fine.local, sites=1
    )
    made = session(contact, path)
    made.run(400)
    report = made.report()
    made.close()
    assert 0.01 < report.crowded / report.touching < 0.1
    assert not any("sites" in one for one in report.advice)


def test_depths_count_points_that_are_no_sites(case):
    """One site, below the middle: the others are as deep as its dimple leaves them."""
    fine = Fine(case, 0.02, 0.02)
    last = fine.press(0.012, sites=1)[-1]
    assert last["touching"] == 1
    middle = np.argmin(np.linalg.norm(fine.points, axis=1))
    places = fine.points + fine.local.displacement([-last["contact_force"]], [middle])
    depth = fine.radius - np.linalg.norm(places - last["object_position"], axis=1)
    assert last["depth_m"] == pytest.approx(depth.max(), rel=1e-3)
    assert depth.max() > 1e-4


# ---- arguments


def test_wrong_solids_and_trees_are_refused(case, free):
    nodes, cells = box_hexes(2, 2, 2, 0.1)
    other = rf.Solid(rf.Mesh(nodes, cells), STVK, fixed=nodes[:, 2] < 1e-9)
    with pytest.raises(rf.InputError, match="solid has another mesh"):
        rf.LocalCompliance(case.tree, other)
    with pytest.raises(rf.InputError, match="solid has other fixed nodes"):
        rf.LocalCompliance(case.tree, free.solid)
    softer = rf.Solid(case.solid.mesh, rf.StVK(5e4, 0.3, 1000.0), fixed=case.solid.fixed)
    with pytest.raises(rf.InputError, match="solid has another stiffness than tree.reduced, by"):
        rf.LocalCompliance(case.tree, softer)
    few = rf.reduce(case.solid, rf.modal_derivative_basis(case.solid, 2, 3), cubature=20)
    tree = rf.PointTree(case.shell, few)
    assert rf.LocalCompliance(tree, case.solid).lacking.max() > 0.1
    with pytest.raises(rf.InputError, match="solid has another stiffness than tree.reduced, by"):
        rf.LocalCompliance(tree, softer)
    heavy = rf.Solid(case.solid.mesh, rf.StVK(1e5, 0.3, 1500.0))
    with pytest.raises(rf.InputError, match="solid has the mass .* kg, tree.reduced"):
        rf.LocalCompliance(free.tree, heavy)
    with pytest.raises(rf.InputError, match="tree is rigid, and solid has no fixed nodes"):
        rf.LocalCompliance(rf.PointTree(case.shell), free.solid)
    below = rf.Pointshell([[0.0, 0.0, -DEEP]], [[0.0, 0.0, 1.0]])
    with pytest.raises(rf.InputError, match="no points that move"):
        rf.LocalCompliance(rf.PointTree(below), case.solid)
    sphere = rf.SphereField((0.0, 0.0, 0.0), 0.1)
    with pytest.raises(rf.InputError, match="local is the LocalCompliance of another PointTree"):
        rf.FrictionContact(free.tree, sphere, local=case.local)
    with pytest.raises(rf.InputTypeError, match="local must be a LocalCompliance or None, got"):
        rf.FrictionContact(case.tree, sphere, local=case.green)
    for point, message in ((81, "point must be between 0 and 80, got 81"), (-1, "got -1")):
        with pytest.raises(rf.InputError, match=message):
            case.local.between(point, 0)
    with pytest.raises(rf.InputError, match="points"):
        case.local.displacement([[0.0, 0.0, 1.0]], [81])


def test_the_core_trusts_no_argument(case):
    green = case.green._core
    places, weights = np.zeros((2, 1), np.int32), np.ones((2, 1))
    basis = case.reduced.basis[:1, case.top].transpose(1, 2, 0)
    local = _core.LocalCompliance
    with pytest.raises(rf.SingularMatrixError, match="vector 0 is a rigid motion"):
        local(green, places, weights, basis, np.zeros((1, 1)), True, None, 1)
    with pytest.raises(rf.InputError, match="do not belong together"):
        local(green, places, weights, 1e3 * basis, np.ones((1, 1)), True, None, 1)
    with pytest.raises(rf.InputError, match="stiffness must have shape"):
        local(green, places, weights, basis, np.ones((2, 2)), True, None, 1)
    two = local(green, places, weights, basis[:, :, :0], np.zeros((0, 0)), False, None, 2)
    with pytest.raises(rf.InputError, match="p is 2; points are 0 to 1"):
        two.between(2, 0)
    with pytest.raises(rf.InputError, match="q is -1"):
        two.between(0, -1)
    np.testing.assert_allclose(two.between(0, 1), case.green.matrix[:3, :3], rtol=1e-5)
    fail_each_allocation(
        lambda: local(green, places, weights, basis, np.ones((1, 1)) * 1e9, False, None, 1)
    )


def test_copies_of_contacts_keep_it(case):
    contact = contact_of(case, case.tree, case.local)
    assert contact.options["local"] is case.local
    assert copy.copy(contact).options["local"] is case.local
    again = pickle.loads(pickle.dumps(contact))
    local = again.options["local"]
    assert local.tree is again.tree
    np.testing.assert_array_equal(local.between(3, 5), case.local.between(3, 5))
