"""Contact of a tip with a surface that has Green's functions: laws, discs, walks."""

from __future__ import annotations

import copy
import math
import warnings

import numpy as np
import pytest
from numpy.typing import NDArray

import reducedfem as rf
from reducedfem import _core
from shapes import ball, box_hexes
from touched import LAW, circles, replay, session, slab, stairs, tip, tip_on

Array = NDArray[np.float64]
STATES = ("open", "stick", "slip")


@pytest.fixture(scope="module")
def pad():
    return slab()


# ---- the law ------------------------------------------------------------------------


def by_scan(c: Array, mu: float, d: Array) -> tuple[str, Array]:
    """Solve the law by a scan of all directions, refined."""
    if d[0] >= 0.0:
        return "open", np.zeros(3)
    f = np.linalg.solve(c, d)
    if f[0] < 0.0 and np.linalg.norm(f[1:]) <= -mu * f[0]:
        return "stick", f

    def forces(angle):
        way = np.stack([-np.ones_like(angle), mu * np.cos(angle), mu * np.sin(angle)])
        f = way * (d[0] / (c[0] @ way))
        s = d[1:, None] - c[1:] @ f
        e = way[1:] / mu
        return f, np.where((s * e).sum(0) > 0.0, np.abs(e[0] * s[1] - e[1] * s[0]), np.inf)

    angle, width = np.linspace(-np.pi, np.pi, 7200), np.pi
    for _ in range(6):
        best = angle[np.argmin(forces(angle)[1])]
        width *= 0.01
        angle = np.linspace(best - width, best + width, 2001)
    return "slip", forces(np.array([best]))[0][:, 0]


def test_the_law_agrees_with_a_scan_of_directions():
    rng = np.random.default_rng(5)
    seen = set()
    for _ in range(300):
        a = rng.normal(size=(3, 3))
        c, mu = a @ a.T + 0.5 * np.eye(3), float(rng.uniform(0.05, 0.6))
        d = rng.normal(size=3) * (1.0, 2.0, 2.0)
        state, force, slip = _core.tip_law(c, mu, d)
        expected, f = by_scan(c, mu, d)
        seen.add(expected)
        assert STATES[state] == expected
        np.testing.assert_allclose(force, f, atol=1e-7 * np.abs(d).max() / np.linalg.eigvalsh(c)[0])
        if expected == "slip":
            left = d - c @ force
            np.testing.assert_allclose(left[0], 0.0, atol=1e-12 * np.abs(d).max())
            np.testing.assert_allclose(slip, left, atol=1e-12 * np.abs(d).max())
            across = force[1] * slip[2] - force[2] * slip[1]
            assert abs(across) <= 1e-9 * np.linalg.norm(force) * np.linalg.norm(slip)
            assert force[1] * slip[1] + force[2] * slip[2] >= 0.0
    assert seen == set(STATES)


def test_forces_of_jammed_contacts_are_bounded():
    """A coefficient so large that pressing would lift: C_nn < mu C_nt."""
    c = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    for d in ([-1.0, 5.0, 0.0], [-1.0, -5.0, 0.1], [-1e-3, 0.0, 5.0]):
        state, force, slip = _core.tip_law(c, 50.0, d)
        assert np.isfinite([*force, *slip]).all()
        assert state != 0
        assert np.linalg.norm(force) <= 1e4 * np.linalg.norm(d)


@pytest.mark.no_asan(reason="the tests of this file on a slab run the same C code")
def test_reference_contacts_through_a_session(shared):
    """A tip at the rest place of a point jumps to its displaced place: 24 published cases."""
    data = dict(np.load(shared / "reference" / "green_graded" / "green.npz"))
    law = rf.StVK(*(float(data[name]) for name in ("young", "poisson", "density")))
    mesh = rf.Mesh(data["nodes"], data["elements"])
    solid = rf.Solid(mesh, law, fixed=data["fixed"])
    green, surface = rf.GreensFunctions(solid), mesh.surface()
    for k in range(24):
        contact = rf.PointProxyContact(
            green, surface, 0.0, float(data["point_friction"][k]), max_depth=1.0
        )
        nodes, weights = data["nodes"][data["point_triangle"][k]], data["point_weights"][k]
        begin, way = weights @ nodes, data["point_displacement"][k]
        begin = begin + 1e-14 * data["point_normal_outward"][k]
        records = session(contact, np.array([begin, begin + way])).run(2)
        force = data["point_force_on_body"][k]
        np.testing.assert_allclose(records.force[1], -force, atol=1e-9 * max(abs(force).max(), 1.0))
        state = ("open", "stick", "slip")[data["point_state"][k]]
        assert bool(records.array["touching"][1]) == (state != "open")
        assert records.flagged("slipping")[1] == (state == "slip")
        assert not records.array["touching"][0]
        # the compliance of the same point
        same = [
            t for t, corners in enumerate(surface.vertices[surface.triangles])
            if {tuple(x) for x in corners} == {tuple(x) for x in nodes}
        ]  # fmt: skip
        corners = surface.vertices[surface.triangles[same[0]]]
        order = [int(np.flatnonzero((nodes == x).all(axis=1))[0]) for x in corners]
        found = contact.compliance(same[0], weights[order])
        reference = data["point_compliance"][k]
        np.testing.assert_allclose(found, reference, atol=1e-11 * abs(reference).max())


# ---- discs --------------------------------------------------------------------------


def shares_by_samples(surface: rf.Surface, vertex: int, radius: float, m: int = 96) -> Array:
    """Return the shares of a disc about a vertex from samples of all triangles."""
    i, j = np.meshgrid(np.arange(m), np.arange(m), indexing="ij")
    low, high = i + j < m, i + j < m - 1
    third = 1.0 / 3.0
    b = (
        np.concatenate(
            [np.stack([i[low], j[low]], 1) + third, np.stack([i[high], j[high]], 1) + 2 * third]
        )
        / m
    )
    weights = np.column_stack([b, 1.0 - b.sum(1)])
    corners = surface.vertices[surface.triangles]
    area = 0.5 * np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    )
    shares = np.zeros(surface.n_vertices)
    for t, corner in enumerate(corners):
        near = np.linalg.norm(weights @ corner - surface.vertices[vertex], axis=1) < radius
        np.add.at(shares, surface.triangles[t], area[t] * weights[near].sum(0) / len(weights))
    return shares / shares.sum()


@pytest.mark.parametrize("where", [(0.06, 0.06, 0.04), (0.12, 0.06, 0.04), (0.0, 0.0, 0.04)])
@pytest.mark.parametrize("radius", [0.012, 0.031])
def test_discs_have_the_shares_of_their_areas(where, radius):
    """In a face, at an edge and at a corner, of triangles of all shapes."""
    green, surface = slab((5, 4, 3), tets=True)
    contact = rf.PointProxyContact(green, surface, radius)
    vertex = int(np.argmin(np.linalg.norm(surface.vertices - where, axis=1)))
    shares = shares_by_samples(surface, vertex, radius)
    place = {tuple(x): k for k, x in enumerate(green.positions)}
    whole = np.zeros(len(green.nodes))
    for v, x in enumerate(surface.vertices):
        if tuple(x) in place:
            whole[place[tuple(x)]] += shares[v]
    weighted = whole[:, None, None] * np.eye(3)
    rows = weighted.transpose(2, 0, 1).reshape(3, -1)
    expected = rows @ green.matrix @ rows.T
    triangle = int(np.flatnonzero((surface.triangles == vertex).any(axis=1))[0])
    weights = (surface.triangles[triangle] == vertex).astype(float)
    found = contact.compliance(triangle, weights)
    np.testing.assert_allclose(found, expected, atol=3e-3 * abs(expected).max())
    np.testing.assert_array_equal(found, found.T)


def test_compliance_and_displacement_are_of_one_load(pad):
    """Exactly where discs are made; inside triangles both are interpolated."""
    contact, green = tip(pad), pad[0]
    surface = contact.surface
    rng = np.random.default_rng(1)
    top = (surface.vertices[surface.triangles][..., 2] > 0.039).all(axis=1)
    for t in np.flatnonzero(top)[::7]:
        inside = rng.dirichlet((1.0, 1.0, 1.0))
        for weights, error in (
            (np.eye(3)[1], 1e-9),
            (np.array([0.5, 0.0, 0.5]), 1e-9),
            (inside, 0.04),
        ):
            c = contact.compliance(int(t), weights)
            u = [
                contact._core.displacement(int(t), weights, one)[: len(green.nodes)]
                for one in np.eye(3)
            ]
            load = np.linalg.solve(green.matrix, np.reshape(u, (3, -1)).T).T.reshape(3, -1, 3)
            np.testing.assert_allclose(load.sum(axis=1), np.eye(3), atol=1e-9)
            work = np.einsum("anx,bnx->ab", load, u)
            np.testing.assert_allclose(work, c, atol=error * abs(c).max())
            # the load is centred at the point
            place = weights @ surface.vertices[surface.triangles[t]]
            np.testing.assert_allclose(load[2, :, 2] @ green.positions, place, atol=6e-3)


def test_forces_are_even_while_a_tip_slides_over_the_nodes():
    """A disc keeps its size on its way over triangles that are as large as it is."""
    green, surface = slab((12, 5, 2), (0.24, 0.1, 0.04))
    contact = rf.PointProxyContact(green, surface, 0.02, 0.3)
    normal = [contact.touch([x, 0.05, 0.039])[0][2] for x in np.linspace(0.09, 0.15, 120)]
    assert np.ptp(normal) < 0.02 * np.mean(normal)


def test_a_disc_on_a_deep_block_has_the_compliance_of_the_half_space():
    """Mean displacement under a uniform pressure, 16 (1 - nu^2) F / (3 pi^2 E a)."""
    law = rf.StVK(1e5, 0.3, 1000.0)
    radius, size = 0.02, 0.2
    green, surface = slab((14, 14, 5), (size, size, 0.5 * size), law=law)
    contact = rf.PointProxyContact(green, surface, radius)
    force, _, state = contact.touch([0.5 * size, 0.5 * size, 0.5 * size - 1e-4])
    assert state == "stick"
    exact = 16.0 * (1.0 - 0.3**2) / (3.0 * math.pi**2 * 1e5 * radius)
    # less the displacement below, at five radii, where the block is held (Boussinesq)
    exact -= (1.0 + 0.3) * (3.0 - 2.0 * 0.3) / (2.0 * math.pi * 1e5 * 0.5 * size)
    # elements are 0.7 radii wide
    assert 1e-4 / force[2] == pytest.approx(exact, rel=0.1)
    # a point is softer the finer the mesh is
    assert (
        rf.PointProxyContact(green, surface, 0.0).touch(
            [0.5 * size, 0.5 * size, 0.5 * size - 1e-4]
        )[0][2]
        < force[2]
    )


def test_a_disc_feels_as_the_patch_of_a_ball():
    """A ball pressed in without friction, by the unilateral contacts of green."""
    size, ball, depth = 0.2, 0.3, 6e-3
    green, surface = slab((14, 14, 5), (size, size, 0.5 * size))
    top = np.flatnonzero(green.positions[:, 2] > 0.5 * size - 1e-9)
    away = np.linalg.norm(green.positions[top, :2] - 0.5 * size, axis=1)
    gap = away**2 / (2.0 * ball) - depth
    out = green.contact(green.nodes[top], np.tile([0.0, 0.0, -1.0], (len(top), 1)), gap)
    total, touching = out.force[:, 2].sum(), out.force[:, 2] < 0.0
    radius = math.sqrt(touching.sum() * (size / 14) ** 2 / math.pi)
    contact = rf.PointProxyContact(green, surface, radius, 0.0)
    # the tip is as deep as the patch is on average
    vertex = int(np.argmin(np.linalg.norm(surface.vertices - [size / 2] * 3, axis=1)))
    shares = shares_by_samples(surface, vertex, radius, 24)
    place = {tuple(x): k for k, x in enumerate(green.positions)}
    mean = sum(
        share * out.u[place[tuple(x)], 2]
        for share, x in zip(shares, surface.vertices, strict=True)
        if share > 0.0
    )
    force = contact.touch([0.5 * size, 0.5 * size, 0.5 * size + mean])[0]
    assert force[2] == pytest.approx(-total, rel=0.1)


# ---- the walk -----------------------------------------------------------------------


def corner_normals(corners: Array, triangles: NDArray[np.int32]) -> Array:
    """Return the normals of the smooth part of the surface at each corner, (t, 3, 3)."""
    way = np.roll(corners, -1, axis=1) - corners
    face = np.cross(way[:, 0], way[:, 1])
    face /= np.linalg.norm(face, axis=1)[:, None]
    unit = way / np.linalg.norm(way, axis=2)[..., None]
    angle = np.arccos(-(unit * np.roll(unit, 1, axis=1)).sum(axis=2))
    out = np.zeros_like(corners)
    for t, k in np.ndindex(*triangles.shape):
        for other, j in zip(*np.nonzero(triangles == triangles[t, k]), strict=True):
            if face[t] @ face[other] >= 0.766:
                out[t, k] += angle[other, j] * face[other]
    return out / np.linalg.norm(out, axis=2)[..., None]


class Dense:
    """The cycle of a contact in NumPy, with all triangles in each step."""

    def __init__(self, contact: rf.PointProxyContact):
        self.contact, self.mu = contact, contact.friction
        surface = contact.surface
        self.corners, self.triangles = surface.vertices[surface.triangles], surface.triangles
        self.normals = corner_normals(self.corners, surface.triangles)
        self.at: tuple[int, Array] | None = None

    def nearest(self, x: Array) -> tuple[int, Array]:
        """Return the nearest place of the surface."""
        a, b, c = self.corners.transpose(1, 0, 2)
        ab, ac = b - a, c - a
        g = np.stack([np.stack([(ab * ab).sum(1), (ab * ac).sum(1)], 1),
                      np.stack([(ab * ac).sum(1), (ac * ac).sum(1)], 1)], 1)  # fmt: skip
        v = np.linalg.solve(
            g, np.stack([(ab * (x - a)).sum(1), (ac * (x - a)).sum(1)], 1)[..., None]
        )
        inside = np.column_stack([1.0 - v[:, 0, 0] - v[:, 1, 0], v[:, 0, 0], v[:, 1, 0]])
        inside[inside.min(axis=1) < 0.0] = 1e3  # far away
        choices = [inside]
        for k in range(3):
            p, q = self.corners[:, k], self.corners[:, (k + 1) % 3]
            s = (((x - p) * (q - p)).sum(1) / ((q - p) ** 2).sum(1)).clip(0.0, 1.0)
            choices.append((1.0 - s)[:, None] * np.eye(3)[k] + s[:, None] * np.eye(3)[(k + 1) % 3])
        weights = np.stack(choices)
        squares = ((np.einsum("ctk,tkx->ctx", weights, self.corners) - x) ** 2).sum(axis=2)
        c, t = np.unravel_index(np.argmin(squares), squares.shape)
        return int(t), weights[c, t]

    def solve(self, x: Array) -> tuple[str, Array, Array, Array]:
        t, w = self.at
        n = w @ self.normals[t]
        n /= np.linalg.norm(n)
        one = np.eye(3)[np.argmin(np.abs(n))]
        u = np.cross(n, one) / np.linalg.norm(np.cross(n, one))
        frame = np.stack([n, u, np.cross(n, u)])
        c = frame @ self.contact.compliance(t, w) @ frame.T
        d = frame @ (x - w @ self.corners[t])
        state, f = by_scan(c, self.mu, d)
        slip = d - c @ f if state == "slip" else np.zeros(3)
        slip[0] = 0.0
        return state, frame.T @ f, frame.T @ slip, w @ self.corners[t]

    def touch(self, x: Array) -> tuple[str, Array, Array]:
        state, force, slip, anchor = self.solve(x)
        first, begin = np.linalg.norm(slip), anchor
        felt = state, -force, begin
        for _ in range(4):
            if state != "slip" or np.linalg.norm(slip) <= 1e-3 * first:
                break
            self.at = self.nearest(anchor + slip)
            state, force, slip, anchor = self.solve(x)
        return felt


@pytest.mark.no_asan(reason="test_sessions_and_scripts_feel_the_same runs the same C code")
def test_the_anchor_walks_over_triangles_as_a_dense_reference():
    """A tip slides over a ball, across some dozen triangles."""
    nodes, elements = ball(6, 0.05)
    solid = rf.Solid(rf.Mesh(nodes, elements), LAW, fixed=nodes[:, 2] < -0.03)
    green = rf.GreensFunctions(solid)
    # it begins 3 mm deep: less than a quarter of the largest depth
    contact = rf.PointProxyContact(green, solid.mesh.surface(), 0.012, 0.25, max_depth=0.02)
    dense = Dense(contact)
    angles = np.linspace(0.03, 0.9, 40)
    around = 0.7 * angles
    flat = np.stack([np.cos(around), np.sin(around)], 1)
    path = []
    for way in np.column_stack([np.sin(angles)[:, None] * flat, np.cos(angles)]):
        t, w = dense.nearest(0.1 * way)
        path.append(w @ dense.corners[t] - 3e-3 * way)
    crossed = set()
    for k, x in enumerate(path):
        force, anchor, state = contact.touch(x)
        if k == 0:
            dense.at = dense.nearest(x)
        expected = dense.touch(x)
        assert state == expected[0]
        np.testing.assert_allclose(anchor, expected[2], atol=1e-9)
        np.testing.assert_allclose(force, expected[1], atol=1e-6 * np.linalg.norm(expected[1]))
        crossed.add(dense.at[0])
    assert len(crossed) > 8
    assert contact.state == "slip"


def test_a_tip_that_slides_over_an_edge_leaves_the_body(pad):
    contact = tip(pad, friction=0.2)
    for x in np.linspace(0.06, 0.14, 41):
        force, anchor, state = contact.touch([x, 0.06, 0.039])
        assert anchor[0] <= 0.12 + 1e-12 or state == "open"
    assert state == "open"
    assert not force.any()
    # and touches the side from there
    for x in np.linspace(0.14, 0.119, 5):
        force, anchor, state = contact.touch([x, 0.06, 0.02])
    assert force[0] > 0.0
    assert abs(force[2]) < 0.3 * force[0]


def test_a_wall_stops_a_tip_that_slides_on_the_floor():
    """In the valley of an L both faces push, with friction and without."""
    nodes, elements = box_hexes(8, 4, 6, (0.16, 0.08, 0.12))
    centre = nodes[elements].mean(axis=1)
    kept = elements[(centre[:, 2] < 0.04) | (centre[:, 0] > 0.08)]
    used, new = np.unique(kept, return_inverse=True)
    mesh = rf.Mesh(nodes[used], new.reshape(-1, 8))
    solid = rf.Solid(mesh, LAW, fixed=mesh.nodes[:, 2] < 1e-9)
    for friction in (0.0, 0.3):
        contact = rf.PointProxyContact(
            rf.GreensFunctions(solid), mesh.surface(), 0.015, friction, max_depth=0.02
        )
        for x in np.linspace(0.04, 0.086, 60):
            force, anchor, _ = contact.touch([x, 0.04, 0.038])
            assert anchor[0] <= 0.08 + 1e-12
        # 2 mm into the floor and 6 mm into the wall
        assert force[2] > 0.0
        assert force[0] < -2.0 * force[2]
        # back, it is on the floor again
        for x in np.linspace(0.086, 0.05, 60):
            force, anchor, state = contact.touch([x, 0.04, 0.038])
        np.testing.assert_allclose(anchor[2], 0.04)
        assert force[2] > abs(force[0])
        assert state == "slip"


def test_a_tip_pushed_through_stays_on_its_side(pad):
    """However deep it goes; forces end at the largest depth."""
    contact = tip(pad, friction=0.3)
    assert contact.max_depth == pytest.approx(0.012)
    forces = [contact.touch([0.06, 0.06, 0.05 - z])[0][2] for z in np.linspace(0.0, 0.2, 400)]
    for z in np.linspace(-0.15, 0.04 - 0.012, 100):
        at_most = contact.touch([0.06, 0.06, z])[0][2]
    np.testing.assert_allclose(forces[200:], at_most)
    assert contact.anchor[2] == pytest.approx(0.04)
    # sideways, too, the force is in the cone of that depth
    for z in np.linspace(0.028, -0.1, 100):
        contact.touch([0.06, 0.06, z])
    for x in np.linspace(0.06, 0.1, 20):
        force, _, _ = contact.touch([x, 0.06, -0.1])
    assert np.linalg.norm(force) < 1.6 * at_most


def test_held_parts_of_the_surface_are_hard_but_finite(pad):
    contact = tip(pad, friction=0.3)
    soft = contact.touch([0.06, 0.06, 0.039])[0][2]
    contact.reset()
    contact.touch([0.06, 0.06, -0.01])
    force, anchor, state = contact.touch([0.06, 0.06, 0.001])  # below, where nodes are fixed
    assert state == "stick"
    assert anchor[2] == pytest.approx(0.0)
    assert -1e3 * soft < force[2] < -10.0 * soft


def test_large_surfaces_are_searched_in_several_cycles(pad):
    """Of 16,800 triangles some at a time; scripts make all these cycles at once."""
    green, surface = pad
    many = rf.Surface(surface.vertices, np.tile(surface.triangles, (70, 1)))
    contact, plain = rf.PointProxyContact(green, many, 0.0), tip(pad, 0.0)
    inside = [0.05, 0.055, 0.039]
    records = session(contact, np.tile(inside, (4, 1))).run(4)
    assert records["touching"].tolist() == [0, 1, 1, 1]
    force, anchor, state = contact.touch(inside)
    expected = plain.touch(inside)
    np.testing.assert_allclose(force, expected[0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(records.force[3], expected[0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(anchor, expected[1], atol=1e-12)
    assert state == expected[2]


def test_a_pose_turns_the_contact(pad):
    turned = rf.Pose((0.1, -0.2, 0.3), np.array([1.0, 2.0, 3.0, 4.0]) / math.sqrt(30.0))
    plain, moved = tip(pad), tip(pad, pose=turned)
    for x in ([0.06, 0.06, 0.05], [0.06, 0.06, 0.039], [0.07, 0.05, 0.0385]):
        force, anchor, state = plain.touch(x)
        found = moved.touch(turned.apply(x))
        np.testing.assert_allclose(found[0], turned.rotation @ force, atol=1e-9)
        np.testing.assert_allclose(found[1], turned.apply(anchor), atol=1e-12)
        assert found[2] == state
    np.testing.assert_allclose(moved.displacement(), plain.displacement(), atol=1e-12)
    np.testing.assert_allclose(moved.slip, turned.rotation @ plain.slip, atol=1e-12)


# ---- mistakes -----------------------------------------------------------------------


def test_wrong_parts_are_refused(pad):
    green, surface = pad
    device = replay(np.zeros((2, 3)))
    contact = tip(pad)
    with pytest.raises(rf.InputError, match="coupling is given, but a PointProxyContact answers"):
        rf.HapticSession(contact, device, coupling=rf.VirtualCoupling(100.0, 0.1))
    with pytest.raises(rf.InputTypeError, match="contact must be a .*, got Surface"):
        rf.HapticSession(surface, device)
    shell = rf.Pointshell(surface.vertices, -surface.normals)
    field = rf.PenaltyContact(rf.PointTree(shell), rf.SphereField((0.0, 0.0, 1.0), 0.1), 1.0)
    with pytest.raises(rf.InputError, match="coupling is None: the held object of a Contact needs"):
        rf.HapticSession(field, device)
    with pytest.raises(rf.InputError, match="simulation is given"):
        rf.HapticSession(contact, device, simulation=[None])
    with pytest.raises(rf.InputTypeError, match="device must be a Device"):
        rf.HapticSession(contact, surface)
    one = session(contact, circles(20))
    with pytest.raises(rf.InputError, match="has no coupling"):
        one.coupling = rf.VirtualCoupling(100.0, 0.1)
    with pytest.raises(rf.InputError, match=r"0 of the 8 vertices .* mesh.surface\(\)"):
        rf.PointProxyContact(green, rf.Surface(*shifted_box()))
    with pytest.raises(rf.InputError, match="faces inward"):
        rf.PointProxyContact(green, rf.Surface(surface.vertices, surface.triangles[:, ::-1]))
    with pytest.raises(rf.InputError, match="radius is 0.07 m, .* 0.12 m: at most half of it"):
        rf.PointProxyContact(green, surface, 0.07)
    free = rf.GreensFunctions(rf.Solid(rf.Mesh(*box_hexes(2, 2, 2, 0.1)), LAW))
    with pytest.raises(rf.InputError, match="no fixed nodes"):
        rf.PointProxyContact(free, rf.Mesh(*box_hexes(2, 2, 2, 0.1)).surface())


def shifted_box():
    nodes, elements = box_hexes(1, 1, 1, 0.1)
    surface = rf.Mesh(nodes + 1.0, elements).surface()
    return surface.vertices, surface.triangles


def test_triangles_without_area_are_refused(pad):
    green, surface = pad
    t = np.concatenate([surface.triangles, [surface.triangles[0][[0, 1, 1]]]])
    with pytest.raises(rf.InputError, match=f"triangle {len(t) - 1} of surface has no area"):
        rf.PointProxyContact(green, rf.Surface(surface.vertices, t))


@pytest.mark.parametrize("friction", [0.0, 0.4])
def test_a_hand_at_rest_feels_a_force_at_rest_on_stairs(friction):
    """At the edges and in the valleys of a stepped ball, where anchors could alternate."""
    contact = tip_on(stairs(), friction)
    rng = np.random.default_rng(5)
    ways = rng.normal(size=(60, 3))
    ways[:, 2] = np.abs(ways[:, 2])
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    for way in ways:
        contact.reset()
        for r in np.linspace(0.064, 0.043, 60):
            contact.touch(r * way)
        for _ in range(100):
            contact.touch(0.043 * way)
        forces = np.array([contact.touch(0.043 * way)[0] for _ in range(8)])
        assert np.ptp(forces, axis=0).max() <= 0.02 * np.abs(forces).max(), way


@pytest.mark.no_asan(reason="a warning in Python")
def test_a_disc_below_the_edges_warns(pad):
    with pytest.warns(rf.PlausibilityWarning, match=r"radius is 2 mm.*20 mm.*at least.*18 mm"):
        small = rf.PointProxyContact(*pad, 2e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert copy.copy(small).radius == 2e-3
        tip(pad, 0.0)
        tip(pad, 0.018)
