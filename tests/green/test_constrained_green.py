"""Green's functions and control elements of graded meshes, against a dense T."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import reducedfem as rf
from graded import graded_box, plain_matrix, torn_solid

LAW = rf.StVK(1e5, 0.3, 1000.0)


class Dense:
    """A graded block by the elements alone and a dense T."""

    def __init__(self, held):
        mesh = graded_box((6, 5, 5))
        self.fixed = np.flatnonzero(mesh.nodes[:, 0] < 1e-9)
        self.solid = rf.Solid(mesh, LAW, self.fixed if held else None)
        self.cells = torn_solid(mesh, LAW)
        self.T = plain_matrix(mesh)
        self.independent = mesh.constraints.independent
        self.K = self.T.T @ self.cells.stiffness().to_dense() @ self.T

    def inverse(self, fixed):
        """Return T K^-1 T^T over all nodes, with these nodes fixed."""
        free = np.flatnonzero(~np.isin(self.independent, fixed).repeat(3))
        T = self.T[:, free]
        return T @ np.linalg.solve(self.K[np.ix_(free, free)], T.T)


@pytest.fixture(scope="module")
def held():
    return Dense(held=True)


def rows(nodes):
    return (3 * np.asarray(nodes)[:, None] + np.arange(3)).ravel()


def relative(a, b):
    return np.abs(a - b).max() / np.abs(b).max()


def test_matrix_has_constrained_nodes_by_their_masters(held):
    solid, mesh = held.solid, held.solid.mesh
    fixed = np.isin(np.arange(mesh.n_nodes), solid.fixed)
    outer = rf.GreensFunctions(solid)
    np.testing.assert_array_equal(outer.nodes, mesh.boundary_nodes[~fixed[mesh.boundary_nodes]])
    nodes = np.flatnonzero(~fixed)
    assert np.isin(mesh.constraints.slaves, nodes).all()
    every = rf.GreensFunctions(solid, nodes)
    exact = held.inverse(held.fixed)
    for green in (outer, every):
        at = rows(green.nodes)
        assert relative(green.matrix, exact[np.ix_(at, at)]) < 1e-12
    force = np.random.default_rng(3).normal(size=(len(nodes), 3))
    u = every.displacement(force).ravel()
    assert relative(u, exact[np.ix_(rows(nodes), rows(nodes))] @ force.ravel()) < 1e-12
    assert (
        relative(rf.GreensFunctions(solid, nodes, dtype="float32").displacement(force).ravel(), u)
        < 1e-5
    )


def test_released_supports(held):
    solid, mesh = held.solid, held.solid.mesh
    nodes = np.setdiff1d(np.arange(mesh.n_nodes), solid.fixed)
    green = rf.GreensFunctions(solid, nodes, releasable=solid.fixed)
    freed = solid.fixed[::3]
    force = np.random.default_rng(4).normal(size=(len(nodes), 3))
    exact = held.inverse(np.setdiff1d(solid.fixed, freed))[:, rows(nodes)] @ force.ravel()
    out = green.solve(force=force, released=freed)
    assert relative(out.u.ravel(), exact[rows(nodes)]) < 1e-10
    assert relative(np.ravel(out.released), exact[rows(freed)]) < 1e-10


def test_nodes_cannot_be_held_with_all_that_they_follow(held):
    c, solid = held.solid.mesh.constraints, held.solid
    every = np.setdiff1d(np.arange(solid.mesh.n_nodes), solid.fixed)
    green = rf.GreensFunctions(solid, every)
    k = next(k for k in range(len(c)) if np.isin(c.masters[c.ptr[k] : c.ptr[k + 1]], every).all())
    slave, masters = int(c.slaves[k]), c.masters[c.ptr[k] : c.ptr[k + 1]].tolist()
    goal = dict.fromkeys(masters, (0.0, 0.0, 0.0))
    named = ", ".join(map(str, masters))
    with pytest.raises(rf.SingularMatrixError, match=f"node {slave} and all .* along x, {named}:"):
        green.solve(goal | {slave: (1e-3, 0.0, 0.0)})
    # one master is free along z
    apart = goal | {masters[0]: (0.0, 0.0, np.nan), slave: (np.nan, np.nan, 1e-3)}
    u = green.solve(apart).u
    assert u[np.searchsorted(every, slave), 2] == 1e-3
    again = pickle.loads(pickle.dumps(green))  # without the mesh
    with pytest.raises(rf.SingularMatrixError, match="constrained to follow each other"):
        again.solve(goal | {slave: (1e-3, 0.0, 0.0)})


def test_nodes_that_follow_fixed_ones_alone_do_not_move():
    mesh = graded_box((5, 5, 5))
    c = mesh.constraints
    masters = c.masters[: c.ptr[1]].tolist()
    solid = rf.Solid(mesh, LAW, fixed=masters + mesh.boundary_nodes[:3].tolist())
    with pytest.raises(rf.InputError, match=rf"surface_nodes\[0\] is {c.slaves[0]}, a fixed node"):
        rf.GreensFunctions(solid, [int(c.slaves[0])])


def test_free_solids_under_balanced_forces():
    dense = Dense(held=False)
    mesh = dense.solid.mesh
    green = rf.GreensFunctions(dense.solid, np.arange(mesh.n_nodes))
    f = np.random.default_rng(5).normal(size=(mesh.n_nodes, 3))
    motions = [np.tile(e, (mesh.n_nodes, 1)) for e in np.eye(3)]
    motions += [np.cross(e, mesh.nodes) for e in np.eye(3)]
    R = np.array(motions).reshape(6, -1)
    f -= (R.T @ np.linalg.solve(R @ R.T, R @ f.ravel())).reshape(-1, 3)
    u = green.displacement(f).ravel()
    assert relative(dense.cells.mesh.nodes, mesh.nodes) == 0.0
    load = dense.T.T @ f.ravel()
    residual = dense.T.T @ (dense.cells.stiffness().to_scipy() @ u) - load
    assert np.abs(residual).max() < 1e-10 * np.abs(load).max()
    assert np.abs(R @ (dense.cells.mass().to_scipy() @ u)).max() < 1e-12


def test_held_nodes_support_a_free_solid():
    """By the pseudo-inverse of the elements with T, and its null space."""
    dense = Dense(held=False)
    mesh = dense.solid.mesh
    nodes = np.arange(mesh.n_nodes)
    green = rf.GreensFunctions(dense.solid, nodes)
    hold = nodes[[0, 7, 40]]
    f = np.random.default_rng(7).normal(size=(mesh.n_nodes, 3))
    out = green.solve({int(n): (1e-3, 0.0, -1e-3) for n in hold}, f)
    known = np.isin(dense.independent, hold).repeat(3)
    x = np.tile([1e-3, 0.0, -1e-3], len(dense.independent))
    load = dense.T.T @ f.ravel() - dense.K[:, known] @ x[known]
    x[~known] = np.linalg.solve(dense.K[np.ix_(~known, ~known)], load[~known])
    assert np.isin(hold, dense.independent).all()
    assert relative(out.u.ravel(), dense.T @ x) < 1e-9
    # motions without strain, orthonormal in the mass
    R = green.rigid_motions.reshape(6, -1)
    assert np.abs(dense.cells.stiffness().to_scipy() @ R.T).max() < 1e-6 * np.abs(R).max()
    mass = dense.cells.mass().to_scipy()
    np.testing.assert_allclose(R @ (mass @ R.T), np.eye(6), atol=1e-10)
    # under balanced loads u is the least in the metric of the mass: that of a pseudo-inverse
    inner = dense.T.T @ (mass @ dense.T)
    root = np.linalg.cholesky(inner)
    half = np.linalg.solve(root, np.linalg.solve(root, dense.K).T)
    pseudo = np.linalg.pinv(0.5 * (half + half.T), rcond=1e-9, hermitian=True)
    back = dense.T @ np.linalg.inv(root).T
    assert relative(green.matrix, back @ pseudo @ back.T) < 1e-8


def test_contact_is_that_of_the_matrix(held):
    """Prescribed displacements of surface nodes, with the forces there."""
    green = rf.GreensFunctions(held.solid)
    nodes = green.nodes[-3:]
    goal = 1e-3 * np.random.default_rng(6).normal(size=(3, 3))
    out = green.solve(dict(zip(nodes.tolist(), goal, strict=True)))
    exact = held.inverse(held.fixed)
    force = np.linalg.solve(exact[np.ix_(rows(nodes), rows(nodes))], goal.ravel())
    assert relative(np.ravel(out.force), force) < 1e-9
    u = exact[np.ix_(rows(green.nodes), rows(nodes))] @ force
    assert relative(out.u.ravel(), u) < 1e-9


# --- handles -----------------------------------------------------------------------------


def moved(handles, size):
    """Return parameters: the handle turns and shifts."""
    vector, shift = size * np.array([1.0, 0.8, -0.6]), size * np.array([0.004, 0.006, 0.002])
    angle = np.linalg.norm(vector)
    turn = [np.cos(angle / 2), *(np.sin(angle / 2) * vector / angle)]
    return handles.parameters(0, handles.means[0] + shift, turn)[None]


def goal_of(nodes, one, c):
    u = np.zeros_like(nodes)
    x = nodes[one]
    u[one] = c[0, :3] + (x - x.mean(axis=0)) @ c[0, 3:].reshape(3, 3).T
    return u


def test_linear_fields_and_forces(held):
    mesh = held.solid.mesh
    handle = np.flatnonzero(mesh.nodes[:, 0] > 0.06 - 1e-9)
    handles = rf.ControlElements(held.solid, [handle], np.arange(mesh.n_nodes))
    c = moved(handles, 0.1)
    T, K = held.T, held.K
    goal = goal_of(mesh.nodes, handle, c)[held.independent].ravel()
    known = np.isin(held.independent, np.concatenate([handle, held.fixed])).repeat(3)
    x = goal.copy()
    x[~known] = np.linalg.solve(K[np.ix_(~known, ~known)], -(K[~known][:, known] @ goal[known]))
    assert relative(handles.displacement(c, rotation=None).ravel(), T @ x) < 1e-11
    force, _ = handles.wrench(c, rotation=None)
    own = np.isin(held.independent, handle)
    assert relative(force[0], (K @ x).reshape(-1, 3)[own].sum(axis=0)) < 1e-10


def test_handles_with_constrained_nodes_need_their_masters(held):
    mesh = held.solid.mesh
    c = mesh.constraints
    slave, masters = int(c.slaves[0]), c.masters[: c.ptr[1]].tolist()
    far = np.flatnonzero(mesh.nodes[:, 0] > 0.06 - 1e-9).tolist()
    for lost in masters:
        nodes = sorted({*far, *masters, slave} - {lost})
        with pytest.raises(
            rf.InputError, match=rf"handles\[0\] has node {slave}, .* follow node {lost}"
        ):
            rf.ControlElements(held.solid, [nodes])
    rf.ControlElements(held.solid, [sorted({*far, *masters, slave})])


def test_series_of_handles_approach_nonlinear_statics(held):
    """Errors fall with the order, as without constraints."""
    mesh = held.solid.mesh
    handle = np.flatnonzero(mesh.nodes[:, 0] > 0.06 - 1e-9)
    every = np.arange(mesh.n_nodes)
    made = [rf.ControlElements(held.solid, [handle], every, order) for order in (2, 3)]
    both = rf.Solid(mesh, LAW, np.concatenate([handle, held.fixed]))
    errors = np.zeros((2, 2))
    for k, size in enumerate((0.1, 0.05)):
        c = moved(made[0], size)
        goal = goal_of(mesh.nodes, handle, c)
        u = both.solve_static(np.zeros_like(goal), prescribed=goal, tol=1e-12)
        for j, handles in enumerate(made):
            errors[k, j] = np.linalg.norm(handles.displacement(c) - u) / np.linalg.norm(u)
            force = both.internal_force(u)[handle].sum(axis=0)
            assert relative(handles.wrench(c)[0][0], force) < 0.1 * size
    rates = errors[0] / errors[1]
    assert rates[0] > 3.2
    assert rates[1] > 6.4
