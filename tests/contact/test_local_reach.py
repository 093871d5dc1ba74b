"""The reach of a local compliance: where it is refused, where it warns, and sessions with it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import reducedfem as rf
from friction_sessions import run
from shapes import box_hexes

YOUNG = 1e5
SIDE, DEEP = 0.04, 0.02  # m, of the block
EDGE = SIDE / 12
RADIUS = 5e-3
WHOLE = 0.2  # m, a reach beyond all points


def solid_of(size, cells, law=rf.StVK, end=False):
    """Return a box below z = 0, held below or at an end."""
    nodes, hexes = box_hexes(*cells, size)
    nodes = nodes - [0.5 * size[0], 0.5 * size[1], size[2]]
    least = nodes.min(axis=0) + 1e-9
    held = nodes[:, 0] < least[0] if end else nodes[:, 2] < least[2]
    return rf.Solid(rf.Mesh(nodes, hexes), law(YOUNG, 0.4, 1000.0), fixed=held)


def block(law=rf.StVK):
    return solid_of((SIDE, SIDE, DEEP), (12, 12, 6), law)


def square(count, spacing, x=0.0):
    s = spacing * (np.arange(count) - 0.5 * (count - 1))
    x, y = (a.ravel() for a in np.meshgrid(x + s, s))
    return np.stack([x, y, 0.0 * x], axis=1)


def tree_of(points, model=None):
    return rf.PointTree(rf.Pointshell(points, np.tile([0.0, 0.0, -1.0], (len(points), 1))), model)


def held(tree, local, depth, cycles=500, mu=0.3):
    """Return records of a hand that presses a ball in, and stays."""
    deep = depth * np.minimum(np.arange(cycles) / 200.0, 1.0)
    path = np.stack([0.0 * deep, 0.0 * deep, RADIUS - deep], axis=1)
    ball = rf.SphereField((0.0, 0.0, 0.0), RADIUS)
    contact = rf.FrictionContact(tree, ball, mu, budget_us=1e5, local=local)
    coupling = rf.VirtualCoupling(20.0 * YOUNG * RADIUS, torsional_stiffness=2.0)
    return run(contact, path, coupling=coupling)


@pytest.mark.parametrize(
    ("spacing", "reach", "wide"),
    [(0.24 * EDGE, WHOLE, False), (0.7 * EDGE, 5e-3, True), (0.7 * EDGE, 0.012, False)],
)
def test_a_held_ball_is_quiet(spacing, reach, wide):
    """A contact wider than the reach has a flag."""
    tree = tree_of(square(9, spacing))
    local = rf.LocalCompliance(tree, block(), reach=reach)
    for depth in (3e-3, 5e-3):
        records = held(tree, local, depth)
        force = records["contact_force"][-100:, 2]
        assert np.ptp(force) < 1e-3 * force[-1]
        assert not rf.HapticRecords(records).flagged("unsolved").any()
    assert rf.HapticRecords(records).flagged("crowded")[-100:].all() == wide


@pytest.mark.parametrize(
    ("spacing", "reach", "match"),
    [
        (0.8e-3, 3.4e-3, r"0.24 of an edge of the elements apart, and up to 0.00905 m: forces"),
        (0.8e-3, 5e-3, r"or reach=0"),
        (0.4e-3, 7e-3, r"0.12 of an edge of the elements apart, 0.2 is the least"),
        (0.4e-3, WHOLE, r"Take fewer points, finer elements, or reach=0"),
    ],
)
def test_points_denser_than_the_elements_are_refused(spacing, reach, match):
    """Forces of a held ball went up and down by 1 to 20 % there."""
    tree = tree_of(square(9, spacing))
    with pytest.raises(rf.InputError, match=match):
        rf.LocalCompliance(tree, block(), reach=reach)
    assert rf.LocalCompliance(tree, block()).reach == 0.0


def test_a_dense_part_of_a_shell_is_refused():
    points = np.concatenate([square(9, EDGE), square(3, 0.1 * EDGE)[1:]])
    with pytest.raises(rf.InputError, match="would oscillate"):
        rf.LocalCompliance(tree_of(points), block(), reach=WHOLE)


@pytest.mark.parametrize("law", [rf.StableNeoHookean, rf.NeoHookean])
def test_other_laws_are_refused(law):
    with pytest.raises(rf.InputError, match=f"solid has the material {law.__name__}: the second"):
        rf.LocalCompliance(tree_of(square(3, EDGE)), block(law), reach=WHOLE)


def test_a_model_of_another_law_is_refused():
    other = block(rf.StableNeoHookean)
    model = rf.reduce(other, rf.modal_derivative_basis(other, 2, 3), cubature=20)
    tree = tree_of(square(3, EDGE), model)
    with pytest.raises(rf.InputError, match=r"solid has other materials than tree\.reduced"):
        rf.LocalCompliance(tree, block(), reach=WHOLE)


def test_a_short_reach_warns():
    tree = tree_of(square(3, EDGE))
    with pytest.warns(rf.PlausibilityWarning, match=r"reach is 1e-09 m, but elements that contain"):
        rf.LocalCompliance(tree, block(), reach=1e-9)


def test_a_body_that_bends_elsewhere_warns():
    """The error by elements that are left out is that of a plain version."""
    solid = solid_of((0.1, 0.02, 0.01), (20, 4, 2), end=True)
    points = square(2, 5e-3, x=0.03)
    tree = tree_of(points)
    with pytest.warns(rf.PlausibilityWarning, match=r"elements farther than 1.5 times the reach"):
        local = rf.LocalCompliance(tree, solid, reach=5.5e-3)
    green = rf.GreensFunctions(solid, np.setdiff1d(np.arange(solid.mesh.n_nodes), solid.fixed))
    exact = []
    for p in range(4):
        load = np.zeros((4, 3))
        load[p, 2] = -1.0
        u = np.zeros((solid.mesh.n_nodes, 3))
        spread = rf.Embedding(solid.mesh, points).distribute(load)
        u[green.nodes] = (green.matrix @ spread[green.nodes].ravel()).reshape(-1, 3)
        exact.append(-np.sum(u * solid.hessian_product(u, u)))
    found = np.array([local._core.second([p], [1.0])[0, 0] for p in range(4)])
    off = np.abs(found - exact).max() / np.abs(exact).max()
    at, plain = rf.Embedding(solid.mesh, points), rf.LocalCompliance(tree, solid)._core
    none = np.zeros((0, solid.mesh.n_nodes, 3)), np.zeros((0, 0))
    shell = tree.shell
    given = (solid._core, at.nodes, at.weights, shell.normals, shell.points, *none, 5.5e-3, 1000)
    assert plain.add_second(*given, None, 1) == pytest.approx(off, rel=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        all_of_it = rf.LocalCompliance(tree, solid, reach=WHOLE)
    found = np.array([all_of_it._core.second([p], [1.0])[0, 0] for p in range(4)])
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-3 * np.abs(exact).max())


def test_too_large_ones_are_refused_before_the_work(monkeypatch):
    points = tree_of(square(14, 0.2 * EDGE))
    monkeypatch.setattr("reducedfem.contact.local_reach.MOST_ENTRIES", 1000)
    with pytest.raises(rf.InputError, match=r"too large for these 196 points: up to 196 of them"):
        rf.LocalCompliance(points, block(), reach=WHOLE)
    monkeypatch.setattr("reducedfem.contact.local.available", lambda: 1.5e6)
    few = tree_of(square(3, EDGE))
    rf.LocalCompliance(few, block())
    monkeypatch.setattr("reducedfem.contact.local.available", lambda: 1e5)
    with pytest.raises(MemoryError, match="the local compliance of 9 points"):
        rf.LocalCompliance(few, block(), reach=WHOLE)


def test_sites_are_few():
    tree = tree_of(square(3, EDGE))
    local, ball = rf.LocalCompliance(tree, block(), reach=WHOLE), rf.SphereField((0, 0, 0), RADIUS)
    with pytest.raises(rf.InputError, match="sites is 65, but local has a reach, with which 64"):
        rf.FrictionContact(tree, ball, sites=65, local=local)
    rf.FrictionContact(tree, ball, sites=65, local=rf.LocalCompliance(tree, block()))


def test_a_far_tool_changes_a_contact_little():
    """Both have one bound; at moderate strains it is not in force."""
    solid = solid_of((0.08, 0.04, 0.02), (16, 8, 4))
    tree = tree_of(np.concatenate([square(5, 3.2e-3, x) for x in (-0.025, 0.025)]))
    local, linear = rf.LocalCompliance(tree, solid, reach=0.018), rf.LocalCompliance(tree, solid)
    radius, deep = 8e-3, 1.5e-3 * np.minimum(np.arange(300) / 200.0, 1.0)
    path = np.stack([0.0 * deep, 0.0 * deep, -deep], axis=1)
    balls = [rf.SphereField((x, 0.0, radius), radius) for x in (-0.025, 0.025)]

    def force(fields, law):
        field = rf.UnionField(fields) if len(fields) > 1 else fields[0]
        contact = rf.FrictionContact(tree, field, 0.0, compliance=1e-6, budget_us=1e5, local=law)
        coupling = rf.VirtualCoupling(2e5, torsional_stiffness=1e3)
        last = run(contact, path, coupling=coupling)[-1]
        # of the first ball, by the torque
        return 0.5 * (last["contact_force"][2] + last["contact_torque"][1] / 0.025)

    alone, both = force(balls[:1], local), force(balls, local)
    assert alone < 0.98 * force(balls[:1], linear)
    assert both / alone == pytest.approx(force(balls, linear) / force(balls[:1], linear), abs=0.01)


def test_a_stroke_with_friction_gives_no_energy():
    """A ball goes down, oscillates, and goes up: it loses work, and forces lie in the cone."""
    tree = tree_of(square(9, 0.7 * EDGE))
    local = rf.LocalCompliance(tree, block(), reach=8e-3)
    t, mu = np.arange(1200) / 1000.0, 0.5
    deep = 3e-3 * np.minimum(t / 0.2, 1.0) * np.clip((1.2 - t) / 0.2, 0.0, 1.0)
    x = 3e-3 * np.sin(4.0 * np.pi * np.clip(t - 0.2, 0.0, 0.75))
    ball = rf.SphereField((0.0, 0.0, 0.0), RADIUS)
    contact = rf.FrictionContact(tree, ball, mu, budget_us=1e5, local=local)
    records = run(
        contact,
        np.stack([x, 0.0 * x, RADIUS - deep], axis=1),
        coupling=rf.VirtualCoupling(20.0 * YOUNG * RADIUS, torsional_stiffness=2.0),
    )
    force, place = records["contact_force"], records["object_position"]
    work = (0.5 * (force[1:] + force[:-1]) * np.diff(place, axis=0)).sum(axis=1)
    assert work.sum() < -0.05 * np.abs(work).sum()
    assert np.abs(np.diff(force[:, 2])).max() < 0.1 * force[:, 2].max()
    assert not rf.HapticRecords(records).flagged("unsolved").any()
