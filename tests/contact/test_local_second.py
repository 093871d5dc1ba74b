"""Second order of local compliances: T_pqr = -u_p . (H : u_q) u_r of near points, and sessions."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.optimize import nnls

import reducedfem as rf
from failures import fail_each_allocation
from friction_sessions import run, session
from shapes import box_hexes

DEEP = 0.02  # m, of the block
SPACING = 2e-3
RADIUS = 4e-3
COMPLIANCE = 1e-6  # m/N, of contacts
BOUND = 0.25  # of the energy beyond the linear one
WHOLE = 0.2  # m, a reach beyond all points


def block(law, free=False, cells=6):
    nodes, cells = box_hexes(cells, cells, cells // 2, (0.04, 0.04, DEEP))
    nodes = nodes - [0.02, 0.02, DEEP]
    fixed = None if free else nodes[:, 2] < 1e-9 - DEEP
    return rf.Solid(rf.Mesh(nodes, cells), law, fixed=fixed)


def shell(count, spacing=SPACING):
    """Return points on the top, between its nodes, whose normals are not quite those of the top."""
    s = spacing * (np.arange(count) - 0.5 * (count - 1))
    x, y = (a.ravel() for a in np.meshgrid(s, s))
    points = np.stack([x, y, 0.0 * x], axis=1)
    normals = np.stack([0.3 * np.sin(50.0 * x), 0.0 * x, 0.0 * x - 1.0], axis=1)
    return rf.Pointshell(points, normals / np.linalg.norm(normals, axis=1, keepdims=True))


def fields(solid, points):
    """Return displacements of all nodes by unit forces at points along their normals."""
    green = rf.GreensFunctions(solid, np.setdiff1d(np.arange(solid.mesh.n_nodes), solid.fixed))
    at = rf.Embedding(solid.mesh, points.points)
    found = np.zeros((points.n_points, solid.mesh.n_nodes, 3))
    for p in range(points.n_points):
        load = np.zeros((points.n_points, 3))
        load[p] = points.normals[p]
        found[p, green.nodes] = (green.matrix @ at.distribute(load)[green.nodes].ravel()).reshape(
            -1, 3
        )
    return found


def triples(solid, u):
    """Return T of displacements."""
    n = len(u)
    products = [[solid.hessian_product(u[q], u[r]) for r in range(n)] for q in range(n)]
    return -np.einsum("pai,qrai->pqr", u, np.array(products))


def found_triples(local, n):
    unit = np.eye(n)
    return np.stack([local._core.second(np.arange(n), unit[r]) for r in range(n)], axis=2)


@pytest.mark.parametrize("free", [False, True])
def test_it_is_that_of_the_material(free):
    """All triples of a few points, of held and of free solids, without and with a model."""
    solid, points = block(rf.StVK(1e5, 0.4, 1000.0), free), shell(3)
    reduced = rf.reduce(solid, rf.modal_derivative_basis(solid, 2, 3), cubature=20)
    u = fields(solid, points)
    expected = triples(solid, u)
    size = np.abs(expected).max()
    if not free:
        tree = rf.PointTree(points)
        found = found_triples(rf.LocalCompliance(tree, solid, reach=WHOLE), 9)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * size)
    tree = rf.PointTree(points, reduced)
    at = rf.Embedding(solid.mesh, points.points)
    loads = [at.distribute(n * np.eye(9)[p, :, None]) for p, n in enumerate(points.normals)]
    load = np.einsum("rai,pai->rp", reduced.basis, np.array(loads))
    stiffness = reduced.basis.reshape(3, -1) @ (
        solid.stiffness().to_scipy() @ reduced.basis.reshape(3, -1).T
    )
    v = np.einsum("rai,rp->pai", reduced.basis, np.linalg.solve(stiffness, load))
    found = found_triples(rf.LocalCompliance(tree, solid, reach=WHOLE), 9)
    np.testing.assert_allclose(found, expected - triples(solid, v), rtol=0, atol=1e-5 * size)


def test_a_basis_of_all_static_shapes_leaves_nothing_out():
    solid, points = block(rf.StVK(1e5, 0.4, 1000.0)), shell(2)
    u = fields(solid, points)
    whole = rf.LocalCompliance(rf.PointTree(points), solid, reach=WHOLE)
    tree = rf.PointTree(points, rf.reduce(solid, rf.mass_pca(solid, 1e-3 * u, 4)))
    none = rf.LocalCompliance(tree, solid, reach=WHOLE)
    size = np.abs(found_triples(whole, 4)).max()
    assert np.abs(found_triples(none, 4)).max() < 1e-4 * size


def test_only_near_points_soften_each_other():
    """A triple with two points farther apart than the reach is zero; entries are symmetric."""
    solid, points = block(rf.StVK(1e5, 0.4, 1000.0), cells=12), shell(5, 2.1e-3)
    local = rf.LocalCompliance(rf.PointTree(points), solid, reach=3.35e-3)
    all_of_it = rf.LocalCompliance(rf.PointTree(points), solid, reach=WHOLE)
    found, whole = found_triples(local, 25), found_triples(all_of_it, 25)
    distance = np.linalg.norm(points.points[:, None] - points.points, axis=2)
    near = distance <= local.reach
    triple = near[:, :, None] & near[:, None] & near[None]
    assert not found[~triple].any()
    assert 0.1 < triple.mean() * 25 < 2.5
    for axes in ((1, 0, 2), (2, 1, 0), (1, 2, 0)):
        np.testing.assert_allclose(found, found.transpose(axes), rtol=0, atol=1e-12 * found.max())
    # elements farther away are left out
    np.testing.assert_allclose(found[triple], whole[triple], rtol=0, atol=0.02 * whole.max())
    forces, some = np.array([1.0, -2.0, 3.0]), np.array([3, 8, 9])
    matrix = local._core.second(some, forces)
    expected = found[np.ix_(some, some, some)] @ forces
    np.testing.assert_allclose(matrix, expected, rtol=1e-6, atol=1e-12 * abs(expected).max())
    bytes_of = rf.LocalCompliance(local.tree, solid).bytes
    assert all_of_it.bytes - bytes_of == 4 * (25 * 26 * 27 // 6 + 25 * 26 // 2) + 40 * 25
    assert bytes_of < local.bytes < all_of_it.bytes


# ---- sessions


class Pressed:
    """A ball on a rigid tree, by the session and by statics of a plain version."""

    def __init__(self, reach, young=1e5):
        self.solid, self.points = block(rf.StVK(young, 0.4, 1000.0), cells=10), shell(9, 1e-3)
        self.tree = rf.PointTree(self.points)
        self.local = rf.LocalCompliance(self.tree, self.solid, reach=reach)

    def run(self, depth):
        """Return the records of a hand at depths, one a cycle."""
        path = np.stack([0.0 * depth, 0.0 * depth, RADIUS - depth], axis=1)
        ball = rf.SphereField((0.0, 0.0, 0.0), RADIUS)
        contact = rf.FrictionContact(
            self.tree, ball, 0.0, compliance=COMPLIANCE, budget_us=1e5, local=self.local
        )
        return run(contact, path)

    def factors(self, force, linear, more):
        """Return the factors of both orders, by the derivative of the bounded energy."""
        first, second = 0.5 * np.sum(force * linear), (self.normal * force).sum(axis=1) @ more / 3
        x = second / first if first > 0.0 else 0.0
        small = 1e-6
        psi = [y / (1.0 + (y / BOUND) ** 4) ** 0.25 for y in (x - small, x, x + small)]
        slope = (psi[2] - psi[0]) / (2.0 * small)
        return 1.0 + psi[1] - slope * x, slope, x

    @property
    def normal(self):
        return self.points.normals

    def statics(self, centre):
        """Return the force of all points on the ball, and W3 / W2."""
        n = self.points.n_points
        S = np.array([self.local.displacement([e], [p]) for p in range(n) for e in np.eye(3)])
        S = S.reshape(n, 3, n, 3).transpose(2, 3, 0, 1)
        T = found_triples(self.local, n)
        force, u, extra = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 3))
        whole = 1.0
        for _ in range(120):
            away = self.points.points + u - centre
            length = np.linalg.norm(away, axis=1, keepdims=True)
            normal = away / length
            gap = length[:, 0] - RADIUS - np.einsum("pi,pi->p", normal, u - extra)
            W = whole * np.einsum("pi,piqj,qj->pq", normal, S, normal) + COMPLIANCE * np.eye(n)
            root = np.linalg.cholesky(W)
            size, _ = nnls(root.T, -np.linalg.solve(root, gap))
            force = 0.5 * (force + size[:, None] * normal)
            along = (self.normal * force).sum(axis=1)
            more = 0.5 * np.einsum("pqr,q,r->p", T, along, along)
            linear = np.einsum("piqj,qj->pi", S, force)
            whole, part, x = self.factors(force, linear, more)
            extra = part * more[:, None] * self.normal
            u = whole * linear + extra
        return -force.sum(axis=0), x


def held(depth, cycles=300):
    return depth * np.minimum(np.arange(cycles) / 200.0, 1.0)


@pytest.mark.parametrize(("depth", "least", "most"), [(2e-3, 0.05, 0.2), (6e-3, 0.25, 1.0)])
def test_forces_are_those_of_the_law(depth, least, most):
    """Within the second order, and where the bound is in force."""
    one = Pressed(WHOLE)
    records = one.run(held(depth))
    last = records[-1]
    force, x = one.statics(last["object_position"])
    assert least < x < most
    assert last["touching"] >= 4
    np.testing.assert_allclose(last["contact_force"], force, rtol=0, atol=2e-3 * force[2])
    still = records["contact_force"][-30:, 2]
    assert np.ptp(still) < 1e-3 * still[-1]
    linear = Pressed(0.0).run(held(depth))[-1]
    assert last["contact_force"][2] < 0.99 * linear["contact_force"][2]
    assert not rf.HapticRecords(records).flagged("unsolved").any()


@pytest.mark.parametrize("depth", [1e-3, 8e-3])
def test_pressing_and_lifting_gives_no_energy_to_the_hand(depth):
    one = Pressed(WHOLE)
    way = np.concatenate([held(depth, 400), held(depth, 400)[::-1]])
    records = one.run(way)
    step = np.diff(records["object_position"][:, 2])
    force = records["contact_force"][:, 2]
    work = 0.5 * (force[1:] + force[:-1]) * step
    assert -work[work < 0.0].sum() > 0.0
    assert work.sum() < 0.01 * -work[work < 0.0].sum()
    assert np.diff(force[:200]).min() > -0.02 * force.max()


def test_forces_turn_with_a_free_body():
    """A ball pushes a free block that is turned: forces are those of the other one, turned."""
    solid, points = block(rf.StVK(1e5, 0.4, 1000.0), free=True, cells=8), shell(9, 1.1e-3)
    reduced = rf.reduce(solid, rf.modal_derivative_basis(solid, 2, 3))
    tree, ball = rf.PointTree(points, reduced), rf.SphereField((0.0, 0.0, 0.0), RADIUS)
    depth = held(3e-3, 60) * 3.0
    path = np.stack([0.0 * depth, 0.0 * depth, RADIUS - depth], axis=1)
    forces = []
    for reach, turn in ((WHOLE, 0.0), (WHOLE, 2.0), (0.0, 0.0)):
        body = rf.FreeBody(reduced, 1e-3, gravity=(0.0, 0.0, 0.0))
        c, s = np.cos(turn), np.sin(turn)
        rotation = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
        quaternion = np.cos(0.5 * turn), np.sin(0.5 * turn), 0.0, 0.0
        body.reset(rotation @ [0.0, 0.0, -0.5 * DEEP], quaternion)
        contact = rf.FrictionContact(
            tree,
            ball,
            0.2,
            compliance=COMPLIANCE,
            budget_us=1e5,
            local=rf.LocalCompliance(tree, solid, reach=reach),
        )
        records = run(contact, path @ rotation.T, simulation=body)
        forces.append(records["contact_force"] @ rotation)
    size = np.abs(forces[0]).max()
    np.testing.assert_allclose(forces[1], forces[0], rtol=0, atol=1e-4 * size)
    assert np.abs(forces[2] - forces[0]).max() > 0.01 * size > 0.0


# ---- arguments


def test_wrong_reaches_are_refused():
    solid, points = block(rf.StVK(1e5, 0.4, 1000.0)), shell(2)
    tree = rf.PointTree(points)
    with pytest.raises(rf.InputError, match="reach must not be negative, got -1"):
        rf.LocalCompliance(tree, solid, reach=-1.0)
    with pytest.raises(rf.InputError, match="reach must be finite"):
        rf.LocalCompliance(tree, solid, reach=np.nan)
    with pytest.raises(rf.InputTypeError, match="reach must be a number"):
        rf.LocalCompliance(tree, solid, reach="far")
    local = rf.LocalCompliance(tree, solid, reach=0.01)
    text = "4 points, all of the compliance, no model, second order within 0.01 m"
    assert text in repr(local)
    again = pickle.loads(pickle.dumps(local))
    assert again.reach == local.reach == 0.01
    np.testing.assert_array_equal(found_triples(again, 4), found_triples(local, 4))


def test_the_core_trusts_no_argument():
    solid, points = block(rf.StVK(1e5, 0.4, 1000.0)), shell(2)
    at = rf.Embedding(solid.mesh, points.points)
    none = np.zeros((0, solid.mesh.n_nodes, 3)), np.zeros((0, 0))

    def make(nodes=at.nodes, weights=at.weights, model=none, reach=0.01, most=1000, twice=False):
        local = rf.LocalCompliance(rf.PointTree(points), solid)._core
        given = (solid._core, nodes, weights, points.normals, points.points, *model, reach, most)
        for _ in range(1 + twice):
            local.add_second(*given, None, 1)
        return local

    with pytest.raises(rf.InputError, match="reach must be finite and positive, got 0"):
        make(reach=0.0)
    with pytest.raises(rf.InputError, match=r"reach 0.01 m is too large for these 4 points: up to"):
        make(most=5)
    fixed = np.full_like(at.nodes, solid.fixed[0])
    with pytest.raises(rf.InputError, match="of point 0 is fixed, but has the weight"):
        make(nodes=fixed)
    with pytest.raises(rf.InputError, match="has a second order already"):
        make(twice=True)
    rigid = np.zeros((1, solid.mesh.n_nodes, 3)), np.zeros((1, 1))
    with pytest.raises(rf.SingularMatrixError, match="not positive definite"):
        make(model=rigid)
    with pytest.raises(rf.InputError, match="stiffness must have shape"):
        make(model=(rigid[0], np.zeros((2, 2))))
    local = make()
    with pytest.raises(rf.InputError, match=r"points\[1\] is 0 after 0"):
        local.second([0, 0], [1.0, 1.0])
    assert not rf.LocalCompliance(rf.PointTree(points), solid)._core.second([0], [1.0]).any()
    one = rigid[0] + 1e-3, np.ones((1, 1))
    fail_each_allocation(lambda: make(model=one))
    fail_each_allocation(lambda: local.second([0, 1], [1.0, 1.0]), 0)


def test_sessions_that_cannot_be_made_leave_nothing():
    one = Pressed(WHOLE)
    ball = rf.SphereField((0.0, 0.0, 0.0), RADIUS)
    contact = rf.FrictionContact(one.tree, ball, 0.0, local=one.local)
    fail_each_allocation(lambda: session(contact, np.ones((2, 3))).close() or True)
