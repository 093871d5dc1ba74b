"""Loads on a whole solid as loads on its surface."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import reducedfem as rf
from graded import graded_box, plain_matrix, torn_solid
from shapes import box_hexes

SIZE = (0.1, 0.08, 0.06)


@pytest.fixture(scope="module")
def block():
    """Return a block that is held inside, so that all of its surface may touch."""
    mesh = rf.Mesh(*box_hexes(5, 4, 4, SIZE))
    inner = np.setdiff1d(np.arange(mesh.n_nodes), mesh.boundary_nodes)
    fixed = inner[[0, 5, 13]]
    return rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), fixed=fixed)


@pytest.fixture(scope="module")
def green(block):
    return rf.GreensFunctions(block, releasable=block.fixed)


def torque(points, force):
    return np.cross(points, force).sum(axis=0)


def test_the_surface_moves_as_under_the_whole_load(block, green, rng):
    force = rng.normal(size=(block.mesh.n_nodes, 3))
    free = np.setdiff1d(np.arange(block.mesh.n_nodes), block.fixed)
    whole = rf.GreensFunctions(block, free)
    expected = whole.displacement(force[free])[np.searchsorted(free, green.nodes)]
    load = rf.surface_load(block, force, green.nodes)
    found = green.displacement(load)
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())
    # on all nodes it is the load itself
    np.testing.assert_array_equal(rf.surface_load(block, force, free), force[free])


def test_sum_and_torque_are_those_of_the_load(block, green):
    weight = block.gravity()
    load = rf.surface_load(block, weight, green.nodes, block.fixed)
    np.testing.assert_allclose(load.sum(axis=0), weight.sum(axis=0), atol=1e-9)
    expected = torque(block.mesh.nodes, weight)
    np.testing.assert_allclose(torque(green.positions, load), expected, atol=1e-9)
    # a mask gives the same
    mask = np.isin(np.arange(block.mesh.n_nodes), green.nodes)
    again = rf.surface_load(block, weight.ravel(), mask, block.fixed)
    np.testing.assert_array_equal(again, load)


def test_fixed_nodes_that_stay_carry_a_part():
    """The rest is what the block needs to hang on them with the other nodes at rest."""
    mesh = rf.Mesh(*box_hexes(5, 4, 4, SIZE))
    held = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), fixed=mesh.nodes[:, 2] < 1e-9)
    weight, nodes = held.gravity(), np.setdiff1d(mesh.boundary_nodes, held.fixed)
    load = rf.surface_load(held, weight, nodes)
    stiffness = held.stiffness().to_dense()
    rows = [
        (3 * part[:, None] + np.arange(3)).ravel()
        for part in (np.setdiff1d(np.arange(mesh.n_nodes), mesh.boundary_nodes), held.fixed)
    ]
    moved = np.linalg.solve(stiffness[np.ix_(rows[0], rows[0])], weight.ravel()[rows[0]])
    carried = weight[held.fixed] - (stiffness[np.ix_(rows[1], rows[0])] @ moved).reshape(-1, 3)
    total = load.sum(axis=0) + carried.sum(axis=0)
    np.testing.assert_allclose(total, weight.sum(axis=0), atol=1e-9)
    assert 0.7 < load[:, 2].sum() / (weight.sum(axis=0) - weight[held.fixed].sum(axis=0))[2] < 0.8


def test_free_solids_move_in_the_same_way_up_to_a_rigid_motion(block, rng):
    free = rf.Solid(block.mesh, rf.StVK(1e5, 0.3, 1000.0))
    force = rng.normal(size=(block.mesh.n_nodes, 3))
    whole = rf.GreensFunctions(free, np.arange(block.mesh.n_nodes))
    green = rf.GreensFunctions(free)
    load = rf.surface_load(free, force, green.nodes)
    apart = green.displacement(load) - whole.displacement(force)[green.nodes]
    x = green.positions
    rigid = np.stack(
        [np.tile(e, (len(x), 1)) for e in np.eye(3)] + [np.cross(e, x) for e in np.eye(3)]
    ).reshape(6, -1)
    by, *_ = np.linalg.lstsq(rigid.T, apart.ravel(), rcond=None)
    size = np.abs(whole.displacement(force)).max()
    np.testing.assert_allclose(by @ rigid, apart.ravel(), atol=1e-9 * size)
    assert np.abs(apart).max() > 1e-3 * size


def test_a_block_lies_on_a_rough_floor_under_its_weight(block, green):
    load = rf.surface_load(block, block.gravity((3.0, 0.0, -9.81)), green.nodes, block.fixed)
    floor = green.nodes[green.positions[:, 2] < 1e-9]
    up = np.tile([0.0, 0.0, 1.0], (len(floor), 1))
    lies = green.contact(floor, up, np.zeros(len(floor)), 0.5, force=load, released=block.fixed)
    assert lies.status == "solved"
    np.testing.assert_allclose(lies.force.sum(axis=0), -load.sum(axis=0), atol=1e-6)
    assert (lies.force[:, 2] >= 0.0).all()
    assert lies.u[green.positions[:, 2] > SIZE[2] - 1e-9, 2].max() < 0.0  # it sinks into itself
    with pytest.raises(rf.SingularMatrixError):
        green.contact(floor, up, np.zeros(len(floor)), 0.1, force=load, released=block.fixed)


def test_wrong_nodes_are_refused(block, green):
    weight, held = block.gravity(), block.fixed
    for nodes, released, match in (
        ([*green.nodes, held[0]], None, f"nodes has {held[0]}, which is fixed"),
        ([], None, "nodes is empty: name those that take the load"),
        (green.nodes, green.nodes[:1], f"released has {green.nodes[0]}, which is not fixed"),
    ):
        with pytest.raises(rf.InputError, match=match):
            rf.surface_load(block, weight, nodes, released)
    with pytest.raises(rf.SingularMatrixError, match="nodes, with .* do not hold the rest"):
        rf.surface_load(block, weight, green.nodes[:1], held)


def test_the_surface_of_a_graded_solid_moves_as_under_the_whole_load(rng):
    """Also with loads on constrained nodes, against a dense T."""
    mesh = graded_box((6, 5, 5))
    law, fixed = rf.StVK(1e5, 0.3, 1000.0), np.flatnonzero(mesh.nodes[:, 0] < 1e-9)
    solid, T = rf.Solid(mesh, law, fixed), plain_matrix(mesh)
    force = rng.normal(size=(mesh.n_nodes, 3))
    assert force[mesh.constraints.slaves].all()
    stiffness = T.T @ torn_solid(mesh, law).stiffness().to_dense() @ T
    free = np.flatnonzero(~np.isin(mesh.constraints.independent, fixed).repeat(3))
    x = np.linalg.solve(stiffness[np.ix_(free, free)], (T.T @ force.ravel())[free])
    expected = (T[:, free] @ x).reshape(-1, 3)
    green = rf.GreensFunctions(solid)
    every = rf.GreensFunctions(solid, np.setdiff1d(np.arange(mesh.n_nodes), fixed))
    for one in (green, every):
        load = rf.surface_load(solid, force, one.nodes)
        found = one.displacement(load)
        np.testing.assert_allclose(found, expected[one.nodes], atol=1e-11 * np.abs(expected).max())
    # on all nodes, constrained ones too, it is the load at the masters
    folded = np.zeros_like(force)
    folded[mesh.constraints.independent] = (T.T @ force.ravel()).reshape(-1, 3)
    np.testing.assert_allclose(load, folded[every.nodes], atol=1e-12)


def test_nodes_follow_only_nodes_that_take_loads():
    mesh = graded_box((6, 5, 5))
    solid = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), mesh.nodes[:, 0] < 1e-9)
    ties = mesh.constraints
    slave, masters = int(ties.slaves[0]), ties.masters[: ties.ptr[1]]
    nodes = np.union1d(np.setdiff1d(mesh.boundary_nodes, solid.fixed), [slave, *masters])
    nodes = np.setdiff1d(nodes, solid.fixed)
    load = rf.surface_load(solid, solid.gravity(), nodes)
    assert not load[np.searchsorted(nodes, slave)].any()
    lost = masters[~np.isin(masters, [*solid.fixed])][-1]
    with pytest.raises(rf.InputError, match=f"nodes has .* follow node {lost} .*: add this one"):
        rf.surface_load(solid, solid.gravity(), np.setdiff1d(nodes, [lost]))


@pytest.mark.parametrize("released", [False, True])
def test_weight_of_a_graded_solid_has_its_sum_and_torque(released):
    mesh = graded_box((6, 5, 5))
    inner = np.setdiff1d(mesh.constraints.independent, mesh.boundary_nodes)
    solid = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), fixed=inner[[0, 5, 13]] if released else None)
    weight = solid.gravity()
    load = rf.surface_load(solid, weight, mesh.boundary_nodes, solid.fixed)
    np.testing.assert_allclose(load.sum(axis=0), weight.sum(axis=0), atol=1e-9)
    expected = torque(mesh.nodes, weight)
    np.testing.assert_allclose(torque(mesh.nodes[mesh.boundary_nodes], load), expected, atol=1e-9)


def test_loads_have_the_order_of_the_nodes(block, green):
    weight = block.gravity()
    load = rf.surface_load(block, weight, green.nodes)
    np.testing.assert_allclose(
        rf.surface_load(block, weight, green.nodes[::-1]), load[::-1], atol=1e-12
    )
    inner = np.setdiff1d(np.arange(block.mesh.n_nodes), block.mesh.boundary_nodes)
    solid = rf.Solid(block.mesh, rf.StVK(1e5, 0.3, 1000.0), fixed=inner[[0, 5, 8, 13]])
    other = rf.GreensFunctions(solid, releasable=solid.fixed).released(solid.fixed[:1])
    assert (np.diff(other.nodes) < 0).any()  # released nodes are behind the others
    held = rf.Solid(block.mesh, rf.StVK(1e5, 0.3, 1000.0), fixed=solid.fixed[1:])
    load = rf.surface_load(held, weight, other.nodes)
    expected = rf.surface_load(held, weight, np.sort(other.nodes))
    ascending = np.argsort(other.nodes)
    np.testing.assert_allclose(load[ascending], expected, atol=1e-12)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_nodes_on_a_line_hold_nothing(count):
    """Without the test a factorization may pass, by rounding, and the load be anything."""
    mesh = rf.Mesh(*box_hexes(5, 4, 4, SIZE))
    free = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0))
    lowest, highest = (int(np.argmin(sign * mesh.nodes.sum(axis=1))) for sign in (1, -1))
    ends = [lowest, highest]
    if count == 3:
        ends = [i for i in range(mesh.n_nodes) if not mesh.nodes[i, :2].any()]  # an edge
    with pytest.raises(rf.SingularMatrixError, match="three or more"):
        rf.surface_load(free, free.gravity(), ends[:count])


def test_loads_made_for_other_released_nodes_are_refused(block, green):
    """By each function that takes a load; sums, multiples, views and copies know it, too."""
    weight, fixed = block.gravity(), block.fixed
    held, loose = (rf.surface_load(block, weight, green.nodes, some) for some in (None, fixed))
    some = rf.surface_load(block, weight, green.nodes, fixed[:2])
    floor = green.nodes[green.positions[:, 2] < 1e-9]
    up, apart = np.tile([0.0, 0.0, 1.0], (len(floor), 1)), np.zeros(len(floor))
    left = np.setdiff1d(fixed, fixed[:2])[0]
    gone = f"with node {fixed[0]} released, which is held in this call .2 more like it.: a part"
    for load, released, match in (
        (loose, None, gone),
        (held, fixed, f"with node {fixed[0]} held, which is released in this call .2 more"),
        (some, fixed, f"with node {left} held, which is released in this call: a part"),
        (2.0 * loose, None, "pass the same released to surface_load and to the solution"),
        (loose - 0.5 * loose, None, gone),
        (-loose.ravel(), None, gone),
        (pickle.loads(pickle.dumps(loose)), None, gone),
        (copy.deepcopy(loose), None, gone),
    ):
        with pytest.raises(rf.InputError, match=match):
            green.contact(floor, up, apart, 0.5, force=load, released=released)
        with pytest.raises(rf.InputError, match=match):
            green.solve({}, force=load, released=released)
    with pytest.raises(rf.InputError, match=rf"{gone}.* solve\(force=..., released=...\), or dis"):
        green.displacement(loose)
    with pytest.raises(rf.InputError, match=f"with node {fixed[0]} released cannot be added to"):
        loose + held
    # in any order, and plain arrays as before
    green.contact(floor, up, apart, 0.5, force=loose, released=fixed[::-1])
    green.contact(floor, up, apart, 0.5, force=np.array(loose), released=fixed)
    green.displacement(np.array(loose))


def test_solids_released_for_good_take_the_load_of_the_same_nodes(block):
    """Made for all that are nodes of the surface now, with the first solid or one without them."""
    inner = np.setdiff1d(np.arange(block.mesh.n_nodes), block.mesh.boundary_nodes)
    solid = rf.Solid(block.mesh, rf.StVK(1e5, 0.3, 1000.0), fixed=inner[[0, 5, 8, 13, 20]])
    green = rf.GreensFunctions(solid, releasable=solid.fixed)
    gone, weight = solid.fixed[:2], solid.gravity()
    left = green.released(gone)
    own = rf.Solid(block.mesh, rf.StVK(1e5, 0.3, 1000.0), fixed=solid.fixed[2:])
    expected = own.solve_static(1e-6 * weight)[left.nodes] / 1e-6
    size = np.abs(expected).max()
    made = rf.surface_load(solid, weight, left.nodes, gone)
    other = rf.surface_load(own, weight, left.nodes)
    for load in (made, made.ravel(), other, 0.5 * (made + other), made[::-1][::-1]):
        np.testing.assert_allclose(left.displacement(load), expected, atol=1e-4 * size)
        np.testing.assert_allclose(left.solve({}, force=load).u, expected, atol=1e-4 * size)
    # one for good, the other for once
    one = green.released(gone[:1])
    load = rf.surface_load(solid, weight, one.nodes, gone)
    found = one.solve({}, force=load, released=gone[1:])
    np.testing.assert_allclose(found.u, expected[: len(one.nodes)], atol=1e-4 * size)
    with pytest.raises(rf.InputError, match=f"with node {gone[1]} released, which is held in this"):
        one.displacement(load)
    before = rf.surface_load(solid, weight, green.nodes, gone)
    lost = f"without the load on node {gone[0]}, which was released for good .1 more like it"
    with pytest.raises(rf.InputError, match=lost):
        left.displacement(before)
    with pytest.raises(rf.InputError, match=r"surface_load on 114 nodes, .* have 116: make it"):
        left.displacement(rf.surface_load(own, weight, green.nodes))
    with pytest.raises(rf.InputError, match=f"nodes has {gone[0]}, .* name it in released as well"):
        rf.surface_load(solid, weight, left.nodes)


@pytest.fixture(scope="module")
def cut(block):
    """Return a solid, nodes that are released for good, and the Green's functions before, after."""
    inner = np.setdiff1d(np.arange(block.mesh.n_nodes), block.mesh.boundary_nodes)
    solid = rf.Solid(block.mesh, rf.StVK(1e5, 0.3, 1000.0), fixed=inner[[0, 5, 8, 13, 20]])
    green = rf.GreensFunctions(solid, releasable=solid.fixed)
    return solid, solid.fixed[:2], green, green.released(solid.fixed[:2])


def test_loads_in_another_order_are_refused(cut):
    """Released nodes are behind the others, but the rows of a mask are ascending."""
    solid, gone, _, left = cut
    weight, ascending = solid.gravity(), np.sort(left.nodes)
    mask = np.isin(np.arange(solid.mesh.n_nodes), left.nodes)
    right = rf.surface_load(solid, weight, left.nodes, gone)
    expected = left.displacement(right)
    k = int(np.flatnonzero(ascending != left.nodes)[0])
    said = f"row {k} is the load on node {ascending[k]}, but .*{k}. is {left.nodes[k]}: its rows"
    for nodes in (mask, ascending):
        load = rf.surface_load(solid, weight, nodes, gone)
        for wrong in (load, 2.0 * load, load.ravel(), pickle.loads(pickle.dumps(load))):
            with pytest.raises(rf.InputError, match=said):
                left.displacement(wrong)
        with pytest.raises(rf.InputError, match=said):
            left.solve({}, force=load)
        with pytest.raises(rf.InputError, match=said):
            left.displacement(load, nodes=left.nodes)
        with pytest.raises(rf.InputError, match=f"row {k} of a load .* make both with the same"):
            load + right
        # put in order they are right, also on the nodes that they name
        size = np.abs(expected).max()
        for found in (
            left.displacement(load[np.searchsorted(ascending, left.nodes)]),
            left.displacement(load, nodes=ascending),
        ):
            np.testing.assert_allclose(found, expected, atol=1e-12 * size)


def test_rows_of_loads_know_their_nodes(cut):
    solid, gone, _, left = cut
    load = rf.surface_load(solid, solid.gravity(), left.nodes, gone)
    order = np.argsort(-load[:, 2])
    for part, nodes in (
        (load[3:9], left.nodes[3:9]),
        (load[order], left.nodes[order]),
        (load[order][4], left.nodes[order[4:5]]),
        (load.ravel()[3:9], left.nodes[1:3]),
        (np.flip(load, axis=0), left.nodes[::-1]),
        (load[load[:, 2] < 0.0], left.nodes[np.array(load)[:, 2] < 0.0]),
    ):
        np.testing.assert_array_equal(part.nodes, nodes)
    for part in (load[:, 1], load[:, ::-1], load.T, load.T.ravel(), load.ravel()[1:7], load[:, :2]):
        assert part.nodes is None
    with pytest.raises(rf.InputError, match=rf"row 0 is .* but nodes\[0\] is {left.nodes[0]}: "):
        left.displacement(load[1:3], nodes=left.nodes[:2])


def test_loads_on_some_nodes_that_lost_a_part_are_refused(cut):
    """Those of nodes released for good: held in the load, or its inner nodes."""
    solid, gone, green, left = cut
    weight = solid.gravity()
    for released, said in (
        (gone, f"made without the load on node {gone[0]}, which was released for good"),
        (None, f"made with node {gone[0]} held, which is released in this call .1 more like"),
    ):
        load = rf.surface_load(solid, weight, green.nodes, released)
        with pytest.raises(rf.InputError, match=said):
            left.displacement(load, nodes=green.nodes)


def test_loads_are_arrays(block, green):
    load = rf.surface_load(block, block.gravity(), green.nodes, block.fixed)
    plain = np.array(load)
    for made, expected in (
        (load + 1.0, plain + 1.0), (load / 2.0, plain / 2.0), (load[:3], plain[:3]),
        (load.sum(axis=0), plain.sum(axis=0)), (np.maximum(load, 0.0), np.maximum(plain, 0.0)),
        (load @ np.eye(3), plain), (np.add.reduce(load), plain.sum(axis=0)), (load > 0, plain > 0),
    ):  # fmt: skip
        np.testing.assert_array_equal(made, expected)
    for made in (load.sum(axis=0), load > 0, np.maximum(load, 0.0)):
        assert type(made) is np.ndarray
    assert isinstance(load.max(), float)
    load *= 2.0
    load += load
    np.testing.assert_array_equal(load.nodes, green.nodes)
    assert not len(load.made.held)
    np.testing.assert_array_equal(load, 4.0 * plain)


def test_written_and_new_arrays_know_nothing(block, green):
    """A load whose values are others now may be right where the old one was not."""
    weight = block.gravity()
    held, loose = (
        rf.surface_load(block, weight, green.nodes, some) for some in (None, block.fixed)
    )
    written = held.copy()
    written[:] = loose
    floor = green.nodes[green.positions[:, 2] < 1e-9]
    up, apart = np.tile([0.0, 0.0, 1.0], (len(floor), 1)), np.zeros(len(floor))
    green.contact(floor, up, apart, 0.5, force=written, released=block.fixed)
    product = held.copy()
    np.maximum(loose, 0.0, out=product)
    for made in (written, product):
        assert made.made is None
        assert made.nodes is None
    for new in (np.zeros_like, np.empty_like, np.ones_like):
        assert type(new(loose)) is np.ndarray
    assert type(np.full_like(loose, 2.0)) is np.ndarray
    np.testing.assert_array_equal(held.made.held, block.fixed)
    with pytest.raises(rf.InputError, match=f"made with node {block.fixed[0]} released"):
        green.displacement(loose[:3], green.nodes[:3])
    green.displacement(held[:3], green.nodes[:3])
