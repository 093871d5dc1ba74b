"""Contacts with Green's functions: unilateral, with friction, and added one at a time."""

from __future__ import annotations

import contextlib
import threading
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

import reducedfem as rf
from moments import at_once
from reducedfem import _core
from shapes import box_hexes, solid_box

STVK = rf.StVK(1e5, 0.3, 1000.0)
Array = NDArray[np.float64]


def make(dtype: str = "float64") -> rf.GreensFunctions:
    solid = solid_box((5, 3, 2), (0.5, 0.3, 0.2), STVK, held=2)
    return rf.GreensFunctions(solid, dtype=dtype)


@pytest.fixture(scope="module")
def green() -> rf.GreensFunctions:
    return make()


def rows_of(green: rf.GreensFunctions, contacts: list[tuple[int, Array | None]]) -> list[Array]:
    """Return the directions of each contact as rows over the surface."""
    found = []
    for node, normal in contacts:
        place = int(np.searchsorted(green.nodes, node))
        axes = np.eye(3) if normal is None else normal[None] / np.linalg.norm(normal)
        rows = np.zeros((len(axes), len(green.nodes), 3))
        rows[:, place] = axes
        found.append(rows.reshape(len(axes), -1))
    return found


def forces_of(
    green: rf.GreensFunctions, contacts: list[tuple[int, Array | None]], displacement: Array
) -> Array:
    """Return the forces (m, 3) by a solve from scratch."""
    rows = rows_of(green, contacts)
    places = [int(np.searchsorted(green.nodes, node)) for node, _ in contacts]
    whole = np.zeros((len(green.nodes), 3))
    whole[places] = displacement
    H = np.concatenate(rows)
    force = H.T @ np.linalg.solve(H @ green.matrix @ H.T, H @ whole.ravel())
    return force.reshape(-1, 3)[places]


def test_contacts_that_come_and_go_agree_with_a_solve_from_scratch(green):
    rng = np.random.default_rng(3)
    contacts = green.contacts(12)
    kept: list[tuple[int, Array | None]] = []
    matched = 0
    for _ in range(300):
        if len(kept) < 12 and (not kept or rng.random() < 0.6):
            node = int(rng.choice(np.setdiff1d(green.nodes, [n for n, _ in kept])))
            normal = rng.normal(size=3) if rng.random() < 0.5 else None
            contacts.add(node, normal)
            kept.append((node, normal))
        else:
            node, _ = kept.pop(int(rng.integers(len(kept))))
            contacts.remove(node)
        assert contacts.nodes.tolist() == [n for n, _ in kept]
        if kept and rng.random() < 0.3:
            given = rng.normal(size=(len(kept), 3))
            expected = forces_of(green, kept, given)
            error = 1e-10 * np.abs(expected).max()
            np.testing.assert_allclose(contacts.solve(given), expected, rtol=0, atol=error)
            matched += 1
    assert matched > 50
    for node in contacts.nodes:
        contacts.remove(int(node))
    assert contacts.solve(np.zeros((0, 3))).shape == (0, 3)


def test_forces_of_contacts_move_the_nodes_as_prescribed(green):
    contacts = green.contacts()
    nodes = green.nodes[[3, 25, 39]]
    for node in nodes:
        contacts.add(int(node))
    given = np.random.default_rng(0).normal(size=(3, 3))
    force = contacts.solve(given)
    u = green.displacement(force, contacts.nodes)
    np.testing.assert_allclose(u[np.searchsorted(green.nodes, nodes)], given, atol=1e-12)
    held = dict(zip(nodes.tolist(), given, strict=True))
    np.testing.assert_allclose(force, green.solve(held).force, rtol=1e-10)


@pytest.mark.no_asan(reason="C that other tests run")
def test_contacts_in_single_precision_are_refined_in_double():
    """Forces solve with the stored entries, to more digits than these have."""
    green = make("float32")
    contacts = green.contacts()
    kept = [(int(node), None) for node in green.nodes[[3, 4, 25, 39]]]
    for node, _ in kept:
        contacts.add(node)
    given = np.random.default_rng(0).normal(size=(4, 3))
    places = np.searchsorted(green.nodes, contacts.nodes)
    rows = (3 * places[:, None] + np.arange(3)).ravel()
    stored = green.matrix.astype(float)[np.ix_(rows, rows)]
    expected = np.linalg.solve(stored, given.ravel()).reshape(-1, 3)
    np.testing.assert_allclose(contacts.solve(given), expected, atol=1e-11 * np.abs(expected).max())


def test_threads_take_turns_with_contacts(green):
    """Each thread adds and removes its own node; the one that stays has the same force."""
    contacts = green.contacts()
    nodes = [int(node) for node in green.nodes[[2, 11, 23, 30, 38]]]
    contacts.add(nodes[0])
    given = np.array([[1e-3, 0.0, -2e-3]])
    alone = contacts.solve(given)
    start, failed = threading.Barrier(4), []

    def work(node: int) -> None:
        start.wait()
        try:
            for _ in range(200):
                contacts.add(node, [0.0, 0.0, 1.0])
                with contextlib.suppress(rf.InputError):  # another thread changed their number
                    force = contacts.solve(np.zeros((len(contacts), 3)))
                    assert (force == 0.0).all()
                contacts.remove(node)
        except Exception as error:
            failed.append(error)

    at_once(partial(work, node) for node in nodes[1:])
    assert not failed
    assert contacts.nodes.tolist() == nodes[:1]
    np.testing.assert_allclose(contacts.solve(given), alone, rtol=1e-11)


@pytest.mark.no_asan(reason="arguments that are refused")
def test_contacts_refuse_what_they_cannot_hold(green):
    contacts = green.contacts(2)
    first, second, third = (int(n) for n in green.nodes[:3])
    contacts.add(first)
    contacts.add(second, [0, 0, 2.0])
    for work, message in (
        (lambda: contacts.add(first), f"node {first} has a contact already"),
        (lambda: contacts.add(third), "all contacts are in use"),
        (lambda: contacts.add(third, [0, 0, 0]), "normal is .* which has no direction"),
        (lambda: contacts.add(0), "node is 0, which is not among"),
        (lambda: contacts.remove(third), f"node {third} has no contact; those in contact are"),
        (lambda: contacts.solve(np.zeros((3, 3))), r"displacement must have shape \(2, 3\)"),
        (lambda: contacts.solve(np.zeros(3)), r"displacement must have shape \(2, 3\)"),
        (lambda: green.contacts(0), "max_contacts must be between 1 and 256, got 0"),
    ):
        with pytest.raises(rf.InputError, match=message):
            work()
    assert contacts.nodes.tolist() == [first, second]
    with pytest.raises(TypeError, match="add their nodes to new ones"):
        __import__("copy").copy(contacts)


def free_cube() -> rf.GreensFunctions:
    nodes, elements = box_hexes(1, 1, 1)
    return rf.GreensFunctions(rf.Solid(rf.Mesh(nodes, elements), STVK))


def add_all(contacts: _core.GreenContacts, places: NDArray[np.int64]) -> None:
    for place in places:
        contacts.add(int(place), None)


def test_a_node_that_moves_as_those_held_is_refused():
    """All nodes of a free solid: forces of inertia alone move none of them."""
    green = free_cube()
    contacts = _core.GreenContacts(green._core, 8)
    add_all(contacts, np.arange(5))
    with pytest.raises(rf.SingularMatrixError, match="moves as the nodes that are in contact"):
        add_all(contacts, np.arange(5, 8))
    places = contacts.places
    given = green.displacement(np.eye(3), green.nodes[:3])[: len(places)]
    force = contacts.solve(given)
    moved = green.displacement(force, green.nodes[places])[: len(places)]
    np.testing.assert_allclose(moved, given, atol=1e-9 * np.abs(given).max())


def test_forces_do_not_suffer_from_nearly_dependent_contacts_before():
    """The nodes of a cube in single precision depend on each other to rounding, two do not."""
    solid = solid_box((1, 1, 1), law=STVK, held=None)
    green = rf.GreensFunctions(solid, dtype="float32")
    for seed in range(880, 900):
        rng = np.random.default_rng(seed)
        contacts = _core.GreenContacts(green._core, 8)
        for _ in range(60):
            held = contacts.places
            if len(held) < 8 and rng.random() < 0.6:
                place = int(rng.choice(np.setdiff1d(np.arange(8), held)))
                normal = rng.normal(size=3)
                normal = normal / np.linalg.norm(normal) if rng.random() < 0.5 else None
                with contextlib.suppress(rf.SingularMatrixError):
                    contacts.add(place, normal)
            elif len(held):
                contacts.remove(int(rng.choice(held)))
        while len(contacts.places) > 2:
            contacts.remove(int(contacts.places[0]))
        assert np.isfinite(contacts.solve(np.ones((len(contacts.places), 3)))).all()


def test_contacts_are_of_solids_with_fixed_nodes():
    """A free solid that is shifted as a whole needs no force, which contacts would not give."""
    green = free_cube()
    with pytest.raises(rf.InputError, match="name fixed nodes of the solid, or use solve"):
        green.contacts()
    with pytest.warns(rf.PlausibilityWarning, match="the solid has no fixed nodes"):
        green.contact(green.nodes[:1], [[0, 0, 1.0]], [-1e-3])
    shift = {int(node): (1e-3, 0.0, 0.0) for node in green.nodes[[0, 3, 5]]}
    out = green.solve(shift)
    np.testing.assert_allclose(out.force, 0.0, atol=1e-9)
    np.testing.assert_allclose(out.u, np.tile([1e-3, 0.0, 0.0], (8, 1)), atol=1e-12)


def test_forces_that_overflow_are_refused(green):
    contacts = _core.GreenContacts(green._core, 4)
    add_all(contacts, np.arange(2))
    with pytest.raises(rf.InputError, match="so large that forces would not be finite"):
        contacts.solve(np.full((2, 3), 1e306))
    assert np.isfinite(contacts.solve(np.ones((2, 3)))).all()


def test_pressing_with_friction_obeys_the_laws(green):
    """The result is that of `solve_friction` with W of dense rows, in a frame of each normal."""
    top = green.nodes[np.isclose(green.positions[:, 2], 0.2)][[0, 4, 9, 13]]
    rng = np.random.default_rng(2)
    normals = np.array([0.0, 0.0, -1.0]) + 0.2 * rng.normal(size=(4, 3))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    place = np.where(np.arange(4)[:, None] < 3, -2e-3, 2e-3) * normals
    place += 1e-3 * rng.normal(size=(4, 3))
    mu = np.array([0.1, 0.4, 2.0, 0.3])
    load = np.zeros((len(green.nodes), 3))
    load[7] = [1.0, 2.0, -1.0]
    out = green.contact(top, normals, place, mu, force=load)
    assert out.status == "solved"
    assert set(out.state) == {"open", "stick", "slip"}

    frames = np.stack([np.linalg.svd(n[None])[2] for n in normals])
    frames[:, 0] = normals
    rows = np.zeros((4, 3, len(green.nodes), 3))
    rows[np.arange(4), :, np.searchsorted(green.nodes, top)] = frames
    H = rows.reshape(12, -1)
    sag = (green.matrix @ load.ravel()).reshape(-1, 3)[np.searchsorted(green.nodes, top)]
    free = np.einsum("kij,kj->ki", frames, place + sag)
    expected = rf.solve_friction(H @ green.matrix @ H.T, free, mu, tol=1e-12)
    force = np.einsum("kij,ki->kj", frames, expected.force)
    np.testing.assert_allclose(out.force, force, atol=1e-7 * np.abs(force).max())
    np.testing.assert_array_equal(out.state, expected.state)
    np.testing.assert_allclose(out.gap, expected.gap[:, 0], atol=1e-9)
    u = green.displacement(load) + green.displacement(out.force, top)
    np.testing.assert_allclose(out.u, u, atol=1e-14)
    assert np.abs(out.slip[out.state == "stick"]).max() < 1e-8
    np.testing.assert_allclose(np.einsum("ij,ij->i", out.slip, normals), 0.0, atol=1e-15)


@pytest.fixture(scope="module")
def freed() -> tuple[rf.Solid, rf.GreensFunctions]:
    solid = solid_box((5, 3, 2), (0.5, 0.3, 0.2), STVK)
    return solid, rf.GreensFunctions(solid, releasable=solid.fixed)


def test_contact_of_a_solid_with_some_supports_released(freed):
    """The result is that of a solid without these supports."""
    solid, green = freed
    some = solid.fixed[::3]
    other = rf.GreensFunctions(
        rf.Solid(solid.mesh, STVK, fixed=np.setdiff1d(solid.fixed, some)), green.nodes
    )
    top = green.nodes[np.isclose(green.positions[:, 2], 0.2)][[1, 5, 9, 13]]
    given = (top, np.tile([0.1, 0.2, -1.0], (4, 1)), [-1e-3, -2e-3, 1e-3, -1e-3], 0.3)
    load = np.cos(np.arange(3 * len(green.nodes)))
    found, expected = (
        green.contact(*given, force=load, released=some),
        other.contact(*given, force=load),
    )
    np.testing.assert_array_equal(found.state, expected.state)
    size = np.abs(expected.force).max()
    np.testing.assert_allclose(found.force, expected.force, atol=1e-8 * size)
    np.testing.assert_allclose(found.u, expected.u, atol=1e-8 * np.abs(expected.u).max())
    alone = green.solve(force=load, released=some)
    pressed = load.reshape(-1, 3) + 0.0
    np.add.at(pressed, np.searchsorted(green.nodes, top), found.force)
    both = green.solve(force=pressed, released=some)
    np.testing.assert_allclose(found.released, both.released, atol=1e-12)
    assert np.abs(found.released - alone.released).max() > 1e-6


def test_contacts_that_come_and_go_know_released_supports(freed):
    solid, green = freed
    some = solid.fixed[1::3]
    contacts = green.contacts(8, released=some)
    given = {int(node): 1e-3 * np.cos([node, 2, 3 * node]) for node in green.nodes[[4, 5, 30, 41]]}
    for node in given:
        contacts.add(node)
    expected = green.solve(given, released=some).force
    force = contacts.solve(np.array(list(given.values())))
    np.testing.assert_allclose(force, expected, atol=1e-9 * np.abs(expected).max())
    with pytest.raises(rf.SingularMatrixError, match="released leaves too few fixed nodes"):
        green.contacts(8, released=solid.fixed)
    with pytest.raises(rf.InputError, match="not among the 12 releasable"):
        green.contacts(8, released=green.nodes[:1])


def test_contacts_hold_a_solid_whose_supports_are_all_released(freed):
    """A block on a floor: normal forces and friction balance its load, and it rests."""
    solid, green = freed
    low = green.nodes[np.isclose(green.positions[:, 2], 0.0)]
    up = np.tile([0.0, 0.0, 1.0], (len(low), 1))
    load = np.tile([0.05, 0.0, -0.2], (len(green.nodes), 1))
    out = green.contact(low, up, np.zeros(len(low)), 0.6, force=load, released=solid.fixed)
    assert out.status == "solved"
    np.testing.assert_allclose(out.force.sum(0), -load.sum(0), atol=1e-7)
    moment = np.cross(green.positions, load).sum(0)
    at = green.positions[np.searchsorted(green.nodes, low)]
    np.testing.assert_allclose(np.cross(at, out.force).sum(0), -moment, atol=1e-7)
    assert (out.gap >= -1e-9).all()
    # the same as held at the places where the contacts leave it
    ends = out.u[np.searchsorted(green.nodes, low)]
    held = dict(zip(low.tolist(), ends, strict=True))
    same = green.solve(held, load, released=solid.fixed)
    np.testing.assert_allclose(same.u, out.u, atol=1e-6 * np.abs(out.u).max())
    np.testing.assert_allclose(same.released, out.released, atol=1e-6 * np.abs(out.u).max())
    # without a load it evades a floor that rises
    away = green.contact(low, up, np.full(len(low), -1e-3), 0.6, released=solid.fixed)
    assert (away.u[np.searchsorted(green.nodes, low), 2] > 1e-3 - 1e-9).all()
    assert np.abs(away.force).max() < 1e-6 * np.abs(load).max()
    for friction, force, why in (
        (0.2, load, "do not"),
        (0.6, -load, "do not"),
        (0.25, load, "barely"),
    ):
        with pytest.raises(rf.SingularMatrixError, match=f"the contacts {why} hold the solid"):
            green.contact(low, up, np.zeros(len(low)), friction, force=force, released=solid.fixed)


@pytest.mark.no_asan(reason="C that other tests run")
def test_the_place_of_rest_does_not_depend_on_the_tolerance(freed):
    """Also near the angle of friction, where the load has a slope of 0.25."""
    solid, green = freed
    low = green.nodes[np.isclose(green.positions[:, 2], 0.0)]
    load = np.tile([0.05, 0.0, -0.2], (len(green.nodes), 1))
    given = (low, np.tile([0.0, 0.0, 1.0], (len(low), 1)), np.zeros(len(low)))
    kwargs = {"force": load, "released": solid.fixed}
    for friction in (0.6, 0.251):
        expected = green.contact(*given, friction, **kwargs)
        for tol in (1e-1, 1e-4, 1e-8):
            out = green.contact(*given, friction, **kwargs, tol=tol)
            assert out.status == "solved"
            np.testing.assert_allclose(out.u, expected.u, atol=1e-6 * np.abs(expected.u).max())
            np.testing.assert_allclose(out.force.sum(0), -load.sum(0), atol=1e-6)


def test_no_support_is_made_up_where_the_laws_have_no_solution(freed):
    """A node between two obstacles that overlap, and nothing else holds the solid."""
    solid, green = freed
    node = np.repeat(green.nodes[-1:], 2)
    load = np.tile([0.0, 0.0, -0.2], (len(green.nodes), 1))
    with pytest.raises(rf.SingularMatrixError, match="by no forces that were found"):
        green.contact(
            node, [[0, 0, 1.0], [0, 0, -1.0]], [-1e-3, -1e-3], force=load, released=solid.fixed
        )


def test_points_of_triangles_are_nodes_at_their_corners(green):
    nodes = green.nodes[[30, 38]]
    normals, gaps = [[0, 0, -1.0]] * 2, [-1e-3, 2e-3]
    at_nodes = green.contact(nodes, normals, gaps, 0.3)
    triangles = np.stack([green.nodes[[1, 1]], nodes, green.nodes[[7, 9]]], 1)
    at_corners = green.contact((triangles, [[0.0, 1.0, 0.0]] * 2), normals, gaps, 0.3)
    np.testing.assert_allclose(at_corners.force, at_nodes.force, rtol=1e-12)
    np.testing.assert_allclose(at_corners.u, at_nodes.u, rtol=1e-9, atol=1e-15)


@pytest.mark.no_asan(reason="arguments that Python refuses")
def test_wrong_contacts_are_named(green):
    node, two = green.nodes[:1], green.nodes[:2]
    down = [[0.0, 0.0, -1.0]]
    flat = ([[*node, *node, green.nodes[1]]], [[0.5, 0.5, 0.0]])
    for work, message in (
        (lambda: green.contact([0], down, [0.0]), r"points\[0\] is 0, which is not among"),
        (lambda: green.contact(node, [[0, 0, 0]], [0.0]), r"normals\[0\] is zero"),
        (lambda: green.contact(node, down, [0.0, 1.0]), r"gaps must have shape \(1,\) or"),
        (lambda: green.contact(node, down, [0.0], -0.1), "friction must be between 0 and"),
        (lambda: green.contact(node, down, [0.0], tol=0.0), "tol must be positive"),
        (lambda: green.contact(([[1, 2]], [[1]]), down, [0.0]), r"points\[0\]"),
        (lambda: green.contact([], down, [0.0]), "points must be nodes"),
        (
            lambda: green.contact(np.tile(node, 1025), down * 1025, [0.0] * 1025),
            "points must be 1 to 1024",
        ),
        (lambda: green.contact([[1, 2]], down, [0.0]), r"points must be nodes .* shape \(1, 2\)"),
        (lambda: green.contact(two, down * 2, [0.0] * 2, [0.1, -1]), r"friction\[1\] .* got -1$"),
        (
            lambda: green.contact(
                (np.stack([two[[0, 0, 1]]] * 2), [[0.2, 0.3, 0.5], [-0.5, 1, 0.5]]),
                down * 2,
                [0.0] * 2,
            ),
            r"points\[1\]\[1\] must be .* got \[-0.5, 1.0, 0.5\]",
        ),
        (
            lambda: green.contact(flat, down, [0.0]),
            rf"points\[0\] has a triangle with node {node[0]} twice",
        ),
    ):
        with pytest.raises(rf.InputError, match=message):
            work()
    with pytest.raises(rf.InputTypeError, match=r"points\[0\] must be an array"):
        green.contact(([[1, 2], [1]], [[1]]), down, [0.0])
    twice = np.repeat(node, 2)
    out = green.contact(twice, down * 2, [-1e-3, -1e-3])
    np.testing.assert_allclose(out.force.sum(0), green.contact(node, down, [-1e-3]).force[0])
