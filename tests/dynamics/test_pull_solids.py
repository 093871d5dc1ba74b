"""A spring that pulls a point of an unreduced or a projected solid."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from reducedfem import _core
from shapes import box_hexes, box_tets, solid_box

H = 1e-3


def solid_of(kind, material):
    return solid_box((4, 2, 2), (0.4, 0.1, 0.1), material, make=kind)


@pytest.fixture(scope="module", params=["hexahedra", "tetrahedra"])
def bar(request):
    kind = box_hexes if request.param == "hexahedra" else box_tets
    return solid_of(kind, rf.StVK(2e5, 0.3, 1000.0))


def point_of(solid, place):
    """Return the rest position of a point, its nodes with weights, and its rows (3, 3n)."""
    at = rf.Embedding(solid.mesh, [place])
    nodes, weights = at.nodes[0], at.weights[0]
    rows = np.zeros((3, solid.mesh.n_nodes, 3))
    for a in range(3):
        np.add.at(rows[a, :, a], nodes, weights)
    rows[:, solid.fixed] = 0.0
    return np.array(place), (nodes, weights), rows.reshape(3, -1)


def pull(sim, rest, where, k, place, force=None, n=1):
    felt, point = _core.pull(sim._core, rest, where, k, place, force, n, 2)
    return np.array(felt), np.array(point)


@pytest.mark.parametrize("k", [40.0, 1e5, 1e12])
@pytest.mark.parametrize("place", [(0.4, 0.1, 0.1), (0.37, 0.04, 0.1), (0.03, 0.02, 0.1)])
def test_one_step_is_that_of_the_assembled_matrix(bar, rng, k, place):
    rest, where, rows = point_of(bar, place)
    free = np.setdiff1d(np.arange(bar.n_dofs), (3 * bar.fixed[:, None] + [0, 1, 2]).ravel())
    q, v = np.zeros((2, bar.n_dofs))
    q[free], v[free] = 1e-4 * rng.standard_normal((2, len(free)))
    sim = rf.BackwardEuler(bar, H, damping=(3.0, 1e-4))
    sim.reset(q.reshape(-1, 3), v.reshape(-1, 3))
    goal = rest + np.array([0.0, 0.01, 0.02])
    more = np.zeros(bar.n_dofs)
    more[free] = 1e-3 * rng.standard_normal(len(free))
    felt, point = pull(sim, rest, where, k, goal, more)
    # (M/h^2 + C/h + K + k W^T W) dq = f + k W^T (p - x) - R + M v/h, C = a M + b K
    mass, stiffness = bar.mass().to_dense(), bar.stiffness(q.reshape(-1, 3)).to_dense()
    matrix = (1 / H**2 + 3.0 / H) * mass + (1 + 1e-4 / H) * stiffness + k * rows.T @ rows
    load = (
        more
        + k * rows.T @ (goal - rest - rows @ q)
        - bar.internal_force(q.reshape(-1, 3)).ravel()
        + mass @ v / H
    )
    exact = q.copy()
    exact[free] += np.linalg.solve(matrix[np.ix_(free, free)], load[free])
    # the condition of the matrix grows with k
    error = 1e-11 * max(1.0, k / 1e8)
    np.testing.assert_allclose(sim.state.q.ravel(), exact, rtol=0, atol=error * np.abs(exact).max())
    np.testing.assert_allclose(point, rest + rows @ sim.state.q.ravel(), rtol=1e-13)
    np.testing.assert_allclose(felt, k * (goal - point), rtol=1e-12)


@pytest.mark.parametrize(
    "material", [rf.StVK(2e5, 0.3, 1000.0), rf.StableNeoHookean(2e5, 0.45, 1e3)]
)
def test_any_stiffness_is_stable(material):
    solid = solid_of(box_hexes, material)
    rest, where, _ = point_of(solid, (0.37, 0.04, 0.1))
    for kind in (rf.ImplicitNewmark, rf.BackwardEuler, rf.BDF2, rf.GeneralizedAlpha):
        sim = kind(solid, H, damping=(20.0, 0.0), newton_max=20)
        goal = rest + np.array([0.0, 0.0, 0.01])
        for part in np.linspace(0.1, 1.0, 10):
            pull(sim, rest, where, 1e12, rest + part * (goal - rest), n=2)
        _, point = pull(sim, rest, where, 1e12, goal, n=15)
        assert np.linalg.norm(point - goal) < 1e-5


def test_at_rest_the_spring_balances_the_body(bar):
    rest, where, rows = point_of(bar, (0.4, 0.1, 0.1))
    sim = rf.BackwardEuler(bar, 0.05, newton_max=10)
    felt, point = pull(sim, rest, where, 30.0, rest + np.array([0.0, 0.0, 0.05]), n=60)
    u = bar.solve_static((rows.T @ felt).reshape(-1, 3))
    np.testing.assert_allclose(rest + rows @ u.ravel(), point, rtol=0, atol=1e-5)
    assert felt[2] > 0.1


def test_without_stiffness_it_is_a_plain_step(bar):
    rest, where, _ = point_of(bar, (0.4, 0.1, 0.1))
    force = np.zeros(bar.n_dofs)
    force[-1] = 1.0
    plain, pulled = (rf.ImplicitNewmark(bar, H, newton_max=5) for _ in range(2))
    plain.step(force.reshape(-1, 3), 5)
    pull(pulled, rest, where, 0.0, rest + 1.0, force, n=5)
    np.testing.assert_array_equal(plain.state.q, pulled.state.q)


def test_steps_after_a_pull_are_plain_again(bar):
    """The spring is neither left in the matrix nor in the residual."""
    rest, where, _ = point_of(bar, (0.4, 0.1, 0.1))
    one, other = (rf.ImplicitNewmark(bar, H, newton_max=5) for _ in range(2))
    pull(one, rest, where, 1e6, rest + np.array([0.0, 0.0, 0.01]), n=3)
    state = one.state
    other.reset(state.q, state.qdot, state.qddot)
    one.step(None, 3)
    other.step(None, 3)
    np.testing.assert_allclose(one.state.q, other.state.q, rtol=0, atol=1e-14)


def test_a_projected_solid_gives_way_as_its_reduced_model(bar):
    basis = rf.modal_derivative_basis(bar, 4, 9)
    tip = int(np.argmax(bar.mesh.nodes @ [1.0, 0.1, 0.1]))
    rest = bar.mesh.nodes[tip]
    rows = np.ascontiguousarray(basis.vectors[:, tip].T)
    states = []
    for system in (rf.reduce(bar, basis), rf.ProjectedSolid(bar, basis)):
        sim = rf.ImplicitNewmark(system, H, newton_max=20, tol=1e-12)
        pull(sim, rest, rows, 40.0, rest + np.array([0.0, 0.01, 0.03]), n=30)
        states.append(sim.state.q)
    np.testing.assert_allclose(*states, rtol=0, atol=1e-9 * abs(states[0]).max())


def test_the_stiffness_of_the_body_is_that_of_its_compliance(bar):
    _, where, rows = point_of(bar, (0.37, 0.04, 0.1))
    free = np.setdiff1d(np.arange(bar.n_dofs), (3 * bar.fixed[:, None] + [0, 1, 2]).ravel())
    stiffness = bar.stiffness().to_dense()[np.ix_(free, free)]
    compliance = np.trace(rows[:, free] @ np.linalg.solve(stiffness, rows[:, free].T))
    found = _core.pull_body_stiffness(bar._core, where, 2)
    assert found == pytest.approx(1.0 / compliance, rel=1e-9)


def test_a_drag_is_linear_statics_under_the_force_along_it(bar):
    _, where, rows = point_of(bar, (0.37, 0.06, 0.1))
    free = np.setdiff1d(np.arange(bar.n_dofs), (3 * bar.fixed[:, None] + [0, 1, 2]).ravel())
    stiffness = bar.stiffness().to_dense()[np.ix_(free, free)]
    exact = np.zeros((3, bar.n_dofs))
    exact[:, free] = np.linalg.solve(stiffness, rows[:, free].T).T
    response = _core.StaticResponse(bar._core, None, 2)
    unit = response.unit_forces(where, 2)
    size = np.abs(exact).max()
    np.testing.assert_allclose(unit.reshape(3, -1), exact, rtol=0, atol=1e-9 * size)
    np.testing.assert_array_equal(response.unit_forces(where, 1), unit)
    way = np.array([0.01, -0.02, 0.03])
    force, u = _core.drag(unit, where, way)
    compliance = rows @ exact.T
    np.testing.assert_allclose(force, (way @ way) / (way @ compliance @ way) * way, rtol=1e-9)
    np.testing.assert_allclose(
        u.ravel(), force @ exact, rtol=0, atol=1e-9 * size * np.linalg.norm(force)
    )
    # the point moves as far along the drag
    assert rows @ u.ravel() @ way == pytest.approx(way @ way, rel=1e-12)
    for one in _core.drag(unit, where, np.zeros(3)):
        assert not one.any()


def test_refusals_of_static_responses(bar):
    _, (nodes, weights), _ = point_of(bar, (0.4, 0.1, 0.1))
    loose = rf.Solid(bar.mesh, rf.StVK(2e5, 0.3, 1000.0))
    with pytest.raises(rf.MeshError, match="fixed"):
        _core.StaticResponse(loose._core, None, 2)
    with pytest.raises(rf.InputError, match="threads"):
        _core.StaticResponse(bar._core, None, 0)
    response = _core.StaticResponse(bar._core, None, 2)
    with pytest.raises(rf.InputError, match="the point cannot move"):
        response.unit_forces(([int(bar.fixed[0])], [1.0]), 2)
    with pytest.raises(rf.InputError, match=r"nodes\[0\] must be between 0 and"):
        response.unit_forces(([bar.mesh.n_nodes], [1.0]), 2)
    unit = response.unit_forces((nodes, weights), 2)
    with pytest.raises(rf.InputError, match="nodes"):
        _core.drag(unit, ([bar.mesh.n_nodes], [1.0]), np.ones(3))
    with pytest.raises(rf.InputError, match="weights"):
        _core.drag(unit, (nodes, weights[:-1]), np.ones(3))
    with pytest.raises(rf.InputError, match="way"):
        _core.drag(unit, (nodes, weights), [0.0, np.nan, 0.0])


def test_refusals(bar):
    rest, (nodes, weights), rows = point_of(bar, (0.4, 0.1, 0.1))
    sim = rf.ImplicitNewmark(bar, H)
    with pytest.raises(rf.InputError, match=r"nodes\[0\] is -1"):
        pull(sim, rest, ([-1], [1.0]), 1.0, rest)
    with pytest.raises(rf.InputError, match=r"nodes\[0\] must be between 0 and"):
        pull(sim, rest, ([bar.mesh.n_nodes], [1.0]), 1.0, rest)
    with pytest.raises(rf.InputError, match="weights"):
        pull(sim, rest, (nodes, weights[:-1]), 1.0, rest)
    with pytest.raises(rf.InputError, match="nodes with weights"):
        pull(sim, rest, rows, 1.0, rest)
    with pytest.raises(rf.InputTypeError, match="one stage a step"):
        pull(rf.TRBDF2(bar, H), rest, (nodes, weights), 1.0, rest)
    fixed = int(bar.fixed[0])
    with pytest.raises(rf.InputError, match="the point cannot move"):
        _core.pull_body_stiffness(bar._core, ([fixed], [1.0]), 2)
    loose = rf.Solid(bar.mesh, rf.StVK(2e5, 0.3, 1000.0))
    with pytest.raises(rf.SingularMatrixError, match="not positive definite"):
        _core.pull_body_stiffness(loose._core, (nodes, weights), 2)
    reduced = rf.reduce(bar, rf.modal_derivative_basis(bar, 2, 3))
    with pytest.raises(rf.InputError, match="rows of its basis"):
        pull(rf.ImplicitNewmark(reduced, H), rest, (nodes, weights), 1.0, rest)
