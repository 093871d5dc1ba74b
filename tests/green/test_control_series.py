"""Series of control elements: terms, products, radius, against differences and statics."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from shapes import box_hexes, box_tets

SIZE = (0.3, 0.1, 0.1)
STIFFNESS = np.diag([3.0, 2.0, 2.5, 0.8, 0.7, 0.9]) + 0.6 * np.pad(np.ones((3, 3)), (0, 3))


def make_solid(kind="tets", fixed=None):
    if kind == "tets":
        mesh, material = rf.Mesh(*box_tets(4, 2, 2, SIZE)), rf.StVK(1e5, 0.3, 1000.0)
    else:
        mesh = rf.Mesh(*box_hexes(4, 2, 2, SIZE))
        material = rf.LinearElastic(1e5 * STIFFNESS, 1000.0)
    return rf.Solid(mesh, material, fixed)


def ends(nodes):
    return [np.flatnonzero(nodes[:, 0] < 1e-9), np.flatnonzero(nodes[:, 0] > SIZE[0] - 1e-9)]


def moved(handles, vector, shift):
    """Return parameters: the last handle turns by a rotation vector and shifts."""
    angle = np.linalg.norm(vector)
    axis = np.asarray(vector) / max(angle, 1e-300)
    turn = [np.cos(angle / 2), *(np.sin(angle / 2) * axis)]
    last = len(handles.handles) - 1
    c = np.zeros((last + 1, 12))
    c[last] = handles.parameters(last, handles.means[last] + shift, turn)
    return c


def prescribed(nodes, sets, c):
    u = np.zeros_like(nodes)
    for one, own in zip(sets, c, strict=True):
        x = nodes[one]
        u[one] = own[:3] + (x - x.mean(axis=0)) @ own[3:].reshape(3, 3).T
    return u


def equilibrium(solid, sets, c):
    """Return the nonlinear displacements, and forces and torques of the sets."""
    nodes = solid.mesh.nodes
    held = rf.Solid(solid.mesh, solid.material, np.concatenate([*sets, solid.fixed]))
    goal = prescribed(nodes, sets, c)
    u = held.solve_static(np.zeros_like(nodes), prescribed=goal, tol=1e-12)
    r, x = held.internal_force(u), nodes + u
    force = np.array([r[one].sum(axis=0) for one in sets])
    torque = [np.cross(x[one] - x[one].mean(axis=0), r[one]).sum(axis=0) for one in sets]
    return u, force, np.array(torque)


@pytest.mark.parametrize("kind", ["tets", "hexes"])
def test_terms_satisfy_the_equations_power_by_power(kind):
    solid = make_solid(kind)
    nodes, sets = solid.mesh.nodes, ends(solid.mesh.nodes)
    handles = rf.ControlElements(solid, sets)
    c = moved(handles, [0.2, 0.1, -0.15], [0.01, 0.02, -0.01])
    terms = handles.terms(c, 5)
    assert terms.shape == (5, len(nodes), 3)
    np.testing.assert_allclose(terms[0][np.concatenate(sets)],
                               prescribed(nodes, sets, c)[np.concatenate(sets)])  # fmt: skip
    assert (terms[1:, np.concatenate(sets)] == 0.0).all()
    # R of the partial sum is a polynomial of degree 15 in e; its first five coefficients vanish
    e = 0.5 * np.cos(np.pi * (np.arange(16) + 0.5) / 16)
    R = [solid.internal_force(sum(terms[k] * x ** (k + 1) for k in range(5))) for x in e]
    inside = np.setdiff1d(np.arange(len(nodes)), np.concatenate(sets))
    table = np.array(R)[:, inside].reshape(16, -1)
    coefficients = np.linalg.solve(np.vander(e, increasing=True), table)
    scale = np.abs(coefficients[6:9]).max()
    assert np.abs(coefficients[:6]).max() < 1e-6 * scale
    assert scale > 0.0


@pytest.mark.parametrize("kind", ["tets", "hexes"])
@pytest.mark.parametrize("fixed", [False, True])
def test_errors_fall_with_the_order(kind, fixed):
    solid = make_solid(kind)
    sets = ends(solid.mesh.nodes)
    if fixed:
        solid = make_solid(kind, sets.pop(0))
    every = np.arange(solid.mesh.n_nodes)
    made = [rf.ControlElements(solid, sets, every, order) for order in (1, 2, 3)]
    errors = np.zeros((2, 3, 3))
    for k, size in enumerate((0.1, 0.05)):
        c = moved(made[0], size * np.array([1.0, 0.8, -0.6]), size * np.array([0.02, 0.04, 0.01]))
        u, force, torque = equilibrium(solid, sets, c)
        for j, handles in enumerate(made):
            got_force, got_torque = handles.wrench(c)
            for i, (one, exact) in enumerate(
                [(handles.displacement(c), u), (got_force, force), (got_torque, torque)]
            ):
                errors[k, j, i] = np.linalg.norm(one - exact) / np.linalg.norm(exact)
    # halving the motion divides relative errors by 2, 4 and 8
    rates = errors[0] / errors[1]
    assert (rates[1] > 3.2).all()
    assert (rates[2] > 6.4).all()
    assert (errors[0, 2] < 0.5 * errors[0, 1]).all()
    assert (errors[0, 1] < 0.5 * errors[0, 0]).all()
    assert (errors[0, 2] < 5e-3).all()


@pytest.mark.parametrize(("order", "bound"), [(2, 0.15), (3, 0.075)])
def test_forces_within_half_of_the_radius_are_those_of_statics(order, bound):
    """At a radius of 2 errors are within bounds; below it forces warn."""
    solid = make_solid()
    sets = ends(solid.mesh.nodes)
    handles = rf.ControlElements(solid, sets, order=order)
    rng = np.random.default_rng(0)
    for _ in range(4):
        vector, shift, size = rng.normal(size=3), 0.1 * rng.normal(size=3), 0.1
        for _ in range(30):  # the radius is nearly, but not quite, inverse to the motion
            c = moved(handles, size * vector, size * shift)
            size *= handles.radius(c) / 2.001
        assert handles.radius(c) == pytest.approx(2.001, abs=1e-4)
        _, force, torque = equilibrium(solid, sets, c)
        for got, exact in zip(handles.wrench(c), (force, torque), strict=True):
            assert np.linalg.norm(got - exact) < bound * np.linalg.norm(exact)
    c = moved(handles, 1.1 * size * vector, 1.1 * size * shift)
    for call in (handles.forces, handles.wrench):
        with pytest.warns(rf.PlausibilityWarning, match="c has a radius below 2, where forces of"):
            call(c)


@pytest.mark.parametrize("order", [2, 3])
def test_rigid_motions_of_all_handles_add_nothing(order):
    """Turning the world turns displacements, forces and torques."""
    solid = make_solid()
    nodes, sets = solid.mesh.nodes, ends(solid.mesh.nodes)
    handles = rf.ControlElements(solid, sets, np.arange(len(nodes)), order)
    c = moved(handles, [0.1, 0.2, -0.1], [0.01, 0.0, 0.02])
    world = rf.Pose((1.0, -2.0, 0.5), np.array([0.2, -0.9, 0.3, 0.25]) / np.sqrt(1.0025))
    both = []
    for k, own in enumerate(c):
        own_map = np.eye(3) + own[3:].reshape(3, 3)
        place = world.apply(handles.means[k] + own[:3])
        linear = world.rotation @ own_map
        both.append(handles.parameters(k, affine=np.c_[linear, place - linear @ handles.means[k]]))
    u = world.apply(nodes + handles.displacement(c)) - nodes
    np.testing.assert_allclose(handles.displacement(both), u, atol=1e-13)
    assert handles.radius(both) == pytest.approx(handles.radius(c), rel=1e-10)
    assert 1.0 < handles.radius(c) < 10.0
    for one, turned in zip(handles.wrench(c), handles.wrench(both), strict=True):
        scale = np.abs(one).max()
        np.testing.assert_allclose(turned, one @ world.rotation.T, atol=1e-10 * scale)


def test_three_handles_and_the_radius():
    solid = make_solid()
    x = solid.mesh.nodes[:, 0]
    sets = [x < 1e-9, np.abs(x - 0.15) < 0.01, x > 0.3 - 1e-9]
    handles = rf.ControlElements(solid, sets, order=2)
    assert "order 2, 114 fields" in repr(handles)  # 36 linear ones, and 12 * 13 / 2 products
    zero = np.zeros((3, 12))
    assert (handles.displacement(zero) == 0.0).all()
    assert handles.radius(zero) == np.inf
    c = moved(handles, [0.2, 0.0, 0.0], [0.0, 0.0, 0.0])
    reach = handles.radius(c)
    assert 1.0 < reach < 10.0
    inside, beyond = (
        moved(handles, [0.2 * reach * factor, 0.0, 0.0], np.zeros(3)) for factor in (0.99, 1.01)
    )
    handles.displacement(inside)
    assert handles.radius(beyond) < 1.0
    for call in (handles.displacement, handles.forces, handles.wrench):
        with pytest.raises(rf.InputError, match=r"beyond the radius of the series of order 2"):
            call(beyond)
    handles.displacement(beyond, rotation=None)  # the linear solution has no radius
    wild = np.random.default_rng(7)
    texts = []
    for _ in range(60):
        c = moved(handles, 3.0 * wild.normal(size=3), wild.normal(size=3))
        c[0] = handles.parameters(0, quaternion=[0.0, 1.0, 0.0, 0.0])
        with pytest.raises(rf.InputError) as refused:
            handles.displacement(c)
        texts.append(str(refused.value))
    assert any("so far from each other" in text for text in texts)


def test_radius_is_that_of_the_terms():
    """A bar that is held at both ends and bent stiffens where its thickness is the shift."""
    found = []
    for thickness in (0.1, 0.05):
        nodes, elements = box_hexes(8, 2, 2, (0.4, 0.1, thickness))
        solid = rf.Solid(rf.Mesh(nodes, elements), rf.StVK(1e5, 0.3, 1000.0))
        sets = [nodes[:, 0] < 1e-9, nodes[:, 0] > 0.4 - 1e-9]
        handles = rf.ControlElements(solid, sets, order=2)
        c = moved(handles, np.zeros(3), [0.0, 0.0, 0.01])
        sizes = [np.linalg.norm(one) for one in handles.terms(c, 8)]
        plain = min(np.sqrt(sizes[k - 2] / sizes[k]) for k in range(2, 8))
        found.append(handles.radius(c))
        assert 0.7 * plain < found[-1] < 3.0 * plain  # these are without a frame
    assert 1.4 < found[0] / found[1] < 2.6


def test_refusals_of_series():
    solid = make_solid()
    sets = ends(solid.mesh.nodes)
    with pytest.raises(rf.InputError, match="order 2 needs two handles"):
        rf.ControlElements(solid, sets[:1], order=2)
    soft = rf.Solid(solid.mesh, rf.StableNeoHookean(1e5, 0.3, 1000.0))
    with pytest.raises(rf.InputError, match="order 3 of control elements needs materials"):
        rf.ControlElements(soft, sets, order=3)
    linear = rf.ControlElements(soft, sets)  # a linear solution has any material
    with pytest.raises(rf.InputError, match="a series needs materials"):
        linear.terms(np.zeros(24), 2)
    with pytest.raises(rf.InputError, match="radius is of orders 2 and 3"):
        linear.radius(np.zeros(24))
    x = solid.mesh.nodes[:, 0]
    many = [np.abs(x - k * SIZE[0] / 4) < 0.01 for k in range(4)]
    with pytest.raises(rf.InputError, match=r"order 3 of 4 handles needs 1359 fields, more than"):
        rf.ControlElements(solid, many, order=3)
    handles = rf.ControlElements(solid, sets, order=2)
    c = np.zeros((2, 12))
    c[1, 3] = 0.1
    with pytest.raises(rf.InputError, match=r"c deforms handles\[1\]: of order 2"):
        handles.displacement(c)
    with pytest.raises(rf.InputError, match="energy is that of order 1"):
        handles.energy(c)


def test_a_hinge_has_no_series():
    """Fixed nodes on an edge: the linear solution is held by the handle, the series has no pose."""
    nodes, _ = box_tets(4, 2, 2, SIZE)
    edge = np.flatnonzero((nodes[:, 0] < 1e-9) & (nodes[:, 1] < 1e-9))
    solid, right = make_solid(fixed=edge), ends(nodes)[1]
    rf.ControlElements(solid, [right])
    with pytest.raises(rf.InputError, match=r"at least three that are not on one line; the 3 of"):
        rf.ControlElements(solid, [right], order=2)


def test_parts_that_are_not_connected_have_no_series():
    nodes, elements = box_tets(2, 1, 1, SIZE)
    mesh = rf.Mesh(np.vstack([nodes, nodes + np.array([1.0, 0, 0])]),
                   np.vstack([elements, elements + len(nodes)]))  # fmt: skip
    solid = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0))
    sets = [np.flatnonzero(nodes[:, 0] < 1e-9) + shift for shift in (0, len(nodes))]
    rf.ControlElements(solid, sets)
    with pytest.raises(rf.MeshError, match="on parts that are not connected"):
        rf.ControlElements(solid, sets, order=2)


def test_published_series(shared):
    data = np.load(shared / "reference" / "green_graded" / "green.npz")
    X, sets = data["nodes"], [data["control_a"], data["control_b"]]
    material = rf.StVK(float(data["young"]), float(data["poisson"]), float(data["density"]))
    handles = rf.ControlElements(rf.Solid(rf.Mesh(X, data["elements"]), material), sets)
    arm = X[sets[1]] - X[sets[1]].mean(axis=0)
    fit = np.linalg.lstsq(np.c_[np.ones(len(arm)), arm], data["series_b"], rcond=None)[0]
    c = np.zeros((2, 12))
    c[1] = [*fit[0], *fit[1:].T.ravel()]
    terms, expected = handles.terms(c, 6), data["series_terms"]
    for one, other in zip(terms, expected, strict=False):
        np.testing.assert_allclose(one, other, atol=1e-8 * np.abs(other).max())
    sizes = np.linalg.norm(terms.reshape(6, -1), axis=1)
    np.testing.assert_allclose(sizes, data["series_term_norms"], rtol=1e-8)
    exact = data["series_nonlinear_u"]
    errors = np.linalg.norm((np.cumsum(terms, axis=0) - exact).reshape(6, -1), axis=1)
    np.testing.assert_allclose(errors / np.linalg.norm(exact), data["series_errors"], rtol=1e-6)
