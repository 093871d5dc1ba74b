"""Worlds in which fields yield by a local compliance: two bodies that have one touch each other."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.optimize import nnls

import reducedfem as rf
from failures import fail_each_allocation
from free_boxes import momenta
from reducedfem import _core
from shapes import box_hexes

STVK = rf.StVK(1e5, 0.3, 1000.0)
WIDE, DEEP = 0.04, 0.04  # m, half of the width of the pad, and its height
G, DT = 9.81, 1e-3
TURN = np.diag([1.0, -1.0, -1.0])  # of the upper pad
UPSIDE_DOWN = (0.0, 1.0, 0.0, 0.0)
# its sides are far from the points on its edges
SLAB = rf.BoxField((-0.05, -0.05, -DEEP), (0.05, 0.05, 0.0))
DOWN = [0.0, 0.0, -1.0]


class Pad:
    """A block that is fixed below; its points are the nodes on top, at z = 0."""

    def __init__(self):
        nodes, cells = box_hexes(8, 8, 4, (2 * WIDE, 2 * WIDE, DEEP))
        nodes = nodes - [WIDE, WIDE, DEEP]
        self.solid = rf.Solid(rf.Mesh(nodes, cells), STVK, fixed=nodes[:, 2] < 1e-9 - DEEP)
        self.top = np.flatnonzero(nodes[:, 2] > -1e-9)
        self.points = nodes[self.top]
        self.n = len(self.points)
        self.tree = rf.PointTree(rf.Pointshell(self.points, np.tile(DOWN, (self.n, 1))))
        self.local = rf.LocalCompliance(self.tree, self.solid)
        self.S = np.block(
            [[self.local.between(p, q) for q in range(self.n)] for p in range(self.n)]
        )


@pytest.fixture(scope="module")
def pad():
    return Pad()


@cache
def core(young=1e15, density=1e12):
    """Return a model of a cube that is too heavy to move, unless a density is given."""
    nodes, cells = box_hexes(1, 1, 1, (0.03,) * 3)
    solid = rf.Solid(rf.Mesh(nodes - 0.015, cells), rf.StVK(young, 0.3, density))
    return rf.reduce(solid, rf.modal_derivative_basis(solid, k=1, r=1))


def placed(position, turn=(1, 0, 0, 0), model=None, dt=DT):
    body = rf.FreeBody(model or core(), dt)
    body.reset(position, turn)
    return body


def pressed(pad, depth, mu=0.0, k=1e5, shift=(0.0, 0.0), both=False):
    """Return a world in which an upper pad overlaps a fixed one by a depth, after a step.

    The points of the upper one touch the field of the lower one; both: also vice versa.
    """
    world = rf.World(DT, friction=mu, tol=1e-10)
    world.add_fixed(pad.local, stiffness=k, field=SLAB)
    upper = placed((*shift, -depth), UPSIDE_DOWN)
    world.add(upper, pad.tree, SLAB if both else None, k, local=pad.local)
    world.step()
    assert world.report.unconverged == 0
    return world


def blended(pad, places):
    """Return the weights by which places on top of the lower pad move with its points."""
    up = np.tile([0.0, 0.0, 1.0], (len(places), 1))
    number, weight = _core.shell_blend(pad.points, -pad.tree.shell.normals, places, up, 1)
    W = np.zeros((len(places), pad.n))
    np.add.at(W, (np.arange(len(places))[:, None], number), weight)
    return W


def plain(pad, depth, k, shift=(0.0, 0.0)):
    """Return the normal forces of all points of the upper pad, by dense matrices of its own."""
    places = pad.points @ TURN.T + [*shift, 0.0]
    W = blended(pad, places)
    normal = np.ix_(range(2, 3 * pad.n, 3), range(2, 3 * pad.n, 3))
    S = pad.S[normal]
    root = np.linalg.cholesky(S + W @ S @ W.T + np.eye(pad.n) / k)
    force = nnls(root.T, np.linalg.solve(root, np.full(pad.n, depth)))[0]
    return force, S @ force, -S @ (W.T @ force)


@pytest.mark.parametrize("shift", [(0.0, 0.0), (0.0034, 0.0017)])
@pytest.mark.parametrize("k", [1e3, 1e5])
def test_forces_are_those_of_both_compliances_in_series(pad, k, shift):
    """At points of both, and between them: N S_a N^T + N W S_b W^T N^T + 1 / k."""
    depth = 1e-4
    world = pressed(pad, depth, k=k, shift=shift)
    force, up, down = plain(pad, depth, k, shift)
    np.testing.assert_array_equal(world.contacts.bodies, [[0, -2]])
    total = force.sum()
    np.testing.assert_allclose(world.contacts.forces, [[0, 0, total]], atol=1e-6 * total)
    np.testing.assert_allclose(-world.dimple(0)[:, 2], up, atol=1e-6 * up.max())
    np.testing.assert_allclose(world.dimple(-2)[:, 2], down, atol=1e-6 * up.max())


@pytest.mark.parametrize("mu", [0.0, 0.3])
@pytest.mark.parametrize("both", [False, True])
def test_two_equal_pads_are_half_as_stiff_as_one(pad, mu, both):
    """By symmetry each yields to the other as to a rigid plane at half of the depth.

    Both surfaces slide alike, so that friction has nothing to do.
    """
    depth = 2e-4
    world = pressed(pad, depth, mu, k=1e7, both=both)
    green = rf.GreensFunctions(pad.solid, pad.top)
    exact = green.contact(pad.top, np.tile(DOWN, (pad.n, 1)), np.full(pad.n, -0.5 * depth))
    contacts = world.contacts
    signs = np.where(contacts.bodies[:, 0] == 0, 1.0, -1.0)
    assert signs @ contacts.forces[:, 2] == pytest.approx(-exact.force[:, 2].sum(), rel=1e-3)
    size = np.abs(exact.u).max()
    np.testing.assert_allclose(world.dimple(-2), exact.u, atol=2e-3 * size)
    np.testing.assert_allclose(world.dimple(0), exact.u, atol=2e-3 * size)


def test_later_steps_stay_at_the_law(pad):
    """Places in the field are those without its dimple: it hardly changes as it is looked up."""
    world = pressed(pad, 3e-4, k=1e5, shift=(0.0034, 0.0017))
    force, up, down = plain(pad, 3e-4, 1e5, (0.0034, 0.0017))
    for _ in range(10):
        world.step()
    np.testing.assert_allclose(world.contacts.forces[0, 2], force.sum(), rtol=1e-3)
    np.testing.assert_allclose(-world.dimple(0)[:, 2], up, atol=5e-3 * up.max())
    np.testing.assert_allclose(world.dimple(-2)[:, 2], down, atol=5e-3 * up.max())


def test_energy_of_the_dimples_is_that_of_the_law(pad):
    world = pressed(pad, 2e-4)
    still = rf.World(DT)
    still.add(placed((0, 0, -2e-4), UPSIDE_DOWN))
    force, up, _ = plain(pad, 2e-4, 1e5)
    kinetic = 0.5 * world.masses[0] * (world.velocities[0] ** 2).sum()
    assert world.energy[0] - kinetic == pytest.approx(0.5 * force @ up, rel=1e-3)


# ---- bodies that move

LIGHT = (1e8, 600.0)  # Pa and kg/m^3 of a core
WEIGHT = G * LIGHT[1] * 0.03**3


def resting(pad, mu=0.0, gravity=(0, 0, -G), n=300, dt=5e-3, **upper):
    """Return a world in which a light core with a pad lies on a fixed pad."""
    world = rf.World(dt, gravity, friction=mu, tol=1e-10)
    world.add_fixed(pad.local, field=SLAB)
    world.add(placed((0, 0, 0), UPSIDE_DOWN, core(*LIGHT), dt), pad.tree, local=pad.local, **upper)
    world.step(n)
    return world


def test_at_rest_the_forces_are_the_weight(pad):
    world = resting(pad)
    np.testing.assert_allclose(world.contacts.forces, [[0, 0, WEIGHT]], atol=1e-5 * WEIGHT)
    assert np.abs(world.velocities).max() < 1e-7
    # equal solids share the depth
    lower, upper = world.dimple(-2)[:, 2].min(), world.dimple(0)[:, 2].min()
    assert upper == pytest.approx(lower, rel=1e-3)
    depth = -world.positions[0, 2]
    assert depth > -1.5 * (lower + upper) / 2.0


@pytest.mark.parametrize("slope", [0.2, 0.6])
def test_on_a_slope_a_pad_sticks_below_the_angle_of_friction_and_slides_above(pad, slope):
    mu, along = 0.4, np.array([np.sin(slope), 0.0, -np.cos(slope)])
    sticks = np.tan(slope) < mu
    world = resting(pad, mu, tuple(G * along), 150 if sticks else 10)
    start, speed = world.positions[0, 0], world.velocities[0, 0]
    if sticks:
        world.step(100)
        assert abs(world.positions[0, 0] - start) < 1e-9
        np.testing.assert_allclose(world.contacts.forces[0], -WEIGHT * along, atol=1e-5 * WEIGHT)
    else:
        world.step(10)
        force = world.contacts.forces[0]
        assert 0.9 * mu * force[2] < np.hypot(*force[:2]) <= mu * force[2] * (1 + 1e-9)
        rate = (world.velocities[0, 0] - speed) / (10 * 5e-3)
        assert rate == pytest.approx(G * (np.sin(slope) - mu * np.cos(slope)), rel=0.25)


def test_a_rigid_shell_touches_the_field_of_a_fixed_pad(pad):
    """As the points of the pad touch the field of a rigid body, up to the springs."""
    half = 0.01
    corners = np.array([(x, y, -half) for x in np.linspace(-half, half, 5)
                        for y in np.linspace(-half, half, 5)])  # fmt: skip
    tree = rf.PointTree(rf.Pointshell(corners, np.tile([0.0, 0.0, 1.0], (25, 1))))
    heights = []
    for by_points in (True, False):
        world = rf.World(5e-3, (0, 0, -G), tol=1e-10)
        world.add_fixed(pad.local, field=None if by_points else SLAB)
        body = placed((0, 0, half), model=core(*LIGHT), dt=5e-3)
        if by_points:
            wide = 1.25 * half  # no further points of the pad
            world.add(body, None, rf.BoxField((-wide, -wide, -half), (wide, wide, half)))
        else:
            world.add(body, tree, stiffness=1e4)
        world.step(200)
        force = world.contacts.forces[0, 2] * (-1.0 if by_points else 1.0)
        assert force == pytest.approx(WEIGHT, rel=1e-5)
        assert np.abs(world.dimple(-2)[:, 2]).max() > 1e-6
        heights.append(world.dimple(-2)[:, 2].min())
    assert heights[1] == pytest.approx(heights[0], rel=0.15)


@cache
def cushions():
    """Return the model of a free block, with its tree, local compliance and field."""
    nodes, cells = box_hexes(3, 3, 3, (0.1,) * 3)
    solid = rf.Solid(rf.Mesh(nodes - 0.05, cells), rf.StVK(2e6, 0.3, 1000.0))
    reduced = rf.reduce(solid, rf.modal_derivative_basis(solid, k=3, r=6))
    box = rf.BoxField((-0.05,) * 3, (0.05,) * 3)
    tree = rf.PointTree(rf.Pointshell.from_field(box, 150, levels=3), reduced)
    field = rf.DeformedField(rf.DistanceField.from_field(box, resolution=24), reduced)
    return reduced, tree, rf.LocalCompliance(tree, solid), field


def test_momentum_is_kept_and_no_energy_made():
    """Of two bodies with models, fields and dimples that meet, spin and rub."""
    reduced, tree, local, field = cushions()
    world = rf.World(DT, friction=0.3)
    bodies = []
    for place, velocity, spin in (
        ((0, 0, 0.1005), (0.1, 0, -0.5), (1, 0.5, 0)),
        ((0.02, 0.01, 0), (0, 0.2, 0.4), (0, 1, -1)),
    ):
        body = rf.FreeBody(reduced, DT)
        body.reset(place, velocity=velocity, angular_velocity=spin)
        bodies.append(body)
        world.add(body, tree, field, local=local)
    before, energy = momenta(world, bodies), world.energy.sum()
    bent = [0.0, 0.0]
    for _ in range(25):
        world.step()
        for k in range(2):
            bent[k] = max(bent[k], np.abs(world.dimple(k)).max())
        assert world.energy.sum() <= energy * (1 + 1e-9)
    assert min(bent) > 1e-6
    for now, then in zip(momenta(world, bodies), before, strict=True):
        np.testing.assert_allclose(now, then, atol=1e-12 * np.abs(before[0]).max())


class Parallel(rf.World):
    """A world whose solve always runs on threads."""

    _least_work = 0.0


def test_bits_do_not_depend_on_threads(pad):
    ends = []
    old = rf.threads()
    try:
        for threads in (1, 2):
            rf.set_threads(threads)
            world = Parallel(DT, (0, 0, -G), friction=0.3)
            for k in range(3):
                world.add_fixed(pad.local, (0.2 * k, 0, 0), field=SLAB)
                upper = placed((0.2 * k, 0.003, -1e-5), UPSIDE_DOWN, core(*LIGHT))
                world.add(upper, pad.tree, SLAB, local=pad.local)
            world.step(3)
            assert world.report.pairs == 6
            ends.append((world.positions, *(world.dimple(k) for k in (-2, -3, -4, 0, 1, 2))))
    finally:
        rf.set_threads(old)
    for one, same in zip(*ends, strict=True):
        np.testing.assert_array_equal(one, same)


@pytest.mark.parametrize("iterations", [1, 5])
def test_a_solve_that_ends_early_stays_bounded(pad, iterations):
    world = rf.World(DT, (0, 0, -G), friction=0.5, iterations=iterations)
    world.add_fixed(pad.local, field=SLAB)
    world.add(placed((0, 0, 0), UPSIDE_DOWN, core(*LIGHT)), pad.tree, SLAB, local=pad.local)
    for _ in range(150):
        world.step()
        height = world.positions[0, 2]
        assert height > -5e-4
        assert world.energy.sum() + WEIGHT * height < 1e-6 * WEIGHT
    assert world.report.unconverged > 0


def test_places_beside_all_points_do_not_yield(pad):
    """A rigid point on the side of the pad, whose points are on top."""
    world = rf.World(DT, (-G, 0, 0))
    world.add_fixed(pad.local, field=SLAB)
    tree = rf.PointTree(rf.Pointshell([[0.0, 0.0, 0.0]], [[1.0, 0.0, 0.0]]))
    world.add(placed((0.05, 0, -0.5 * DEEP), model=core(*LIGHT)), tree, stiffness=1e4)
    text = r"body 0 touches body -2 at \(0\.05, .*, -0\.02\) m, where .* has no points on this side"
    with pytest.warns(rf.PlausibilityWarning, match=text):
        world.step(100)
    assert world.contacts.forces[0, 0] == pytest.approx(WEIGHT, rel=0.2)
    np.testing.assert_array_equal(world.dimple(-2), 0.0)


def test_a_body_with_points_alone_is_no_longer_doubted(pad):
    world = rf.World(DT)
    world.add_fixed(pad.local, field=SLAB)
    world.add(placed((0, 0, 1e-3), UPSIDE_DOWN), pad.tree)
    world.step()
    without = rf.World(DT)
    without.add_fixed(pad.local)
    without.add(placed((0, 0, 1e-3), UPSIDE_DOWN), pad.tree)
    with pytest.warns(rf.PlausibilityWarning, match="body 0 has no field, so body -2"):
        without.step()


@pytest.mark.parametrize("by_points", [True, False])
def test_weights_deeper_than_a_thin_field_are_borne_and_doubted_before(pad, by_points):
    """Rigid points in the thin field of the pad, or points of the pad in a thin rigid field."""
    thin, half, density = 1e-3, 0.01, 60_000.0
    weight = G * density * 0.03**3
    world = rf.World(2e-4, (0, 0, -G), contact_damping=100.0)
    body = placed((0, 0, 0), model=core(1e8, density), dt=2e-4)
    if by_points:
        places = [
            (x, y, 0) for x in np.linspace(-half, half, 5) for y in np.linspace(-half, half, 5)
        ]
        tree = rf.PointTree(rf.Pointshell(places, np.tile([0.0, 0.0, 1.0], (25, 1))))
        world.add_fixed(pad.local, field=rf.BoxField((-0.05, -0.05, -thin), (0.05, 0.05, 0.0)))
        world.add(body, tree, stiffness=1e5)
    else:
        wide = 1.25 * half
        world.add_fixed(pad.local)
        world.add(body, None, rf.BoxField((-wide, -wide, 0.0), (wide, wide, thin)))
    with pytest.warns(
        rf.PlausibilityWarning,
        match=r"body -2 gave way to body 0 by 0\.0005\d m at .* 0\.001 m thick",
    ) as warned:
        while not warned.list:
            world.step()
            assert world.report.steps < 1000
    assert 0.5 * thin < -world.dimple(-2)[:, 2].min() < thin
    assert world.report.points > 0
    world.step(1500)
    assert world.dimple(-2)[:, 2].min() < -2.0 * thin
    sign = 1.0 if by_points else -1.0
    assert sign * world.contacts.forces[0, 2] == pytest.approx(weight, rel=1e-2)


def test_a_field_thicker_than_twice_the_dimple_is_not_doubted(pad):
    world = rf.World(DT)
    world.add_fixed(pad.local, field=rf.BoxField((-0.05, -0.05, -5e-4), (0.05, 0.05, 0.0)))
    world.add(placed((0, 0, -1e-4), UPSIDE_DOWN), pad.tree, stiffness=1e5)
    world.step(3)
    assert world.dimple(-2)[:, 2].min() < -5e-5


# ---- limits


def rigid_square(half, spacing=0.00125):
    """Return the tree of a square of rigid points, or of one."""
    steps = np.linspace(-half, half, 2 * round(half / spacing) + 1)
    places = np.array([(a, b, 0.0) for a in steps for b in steps])
    return rf.PointTree(rf.Pointshell(places, np.tile([0.0, 0.0, 1.0], (len(places), 1))))


def force_at(pad, x, depth, half):
    """Return the force [N] on a square of rigid points, or one, that is held in the field."""
    world = rf.World(DT, tol=1e-8)
    world.add_fixed(pad.local, field=SLAB)
    world.add(placed((x, 0, -depth)), rigid_square(half), stiffness=1e5)
    world.step(3)
    np.testing.assert_allclose(world.contacts.forces[0, :2], 0.0, atol=1e-9)
    return world.contacts.forces[0, 2]


@pytest.mark.parametrize(("half", "most"), [(0.0, 1.3), (0.01, 0.25)])
def test_laps_in_a_field_that_yields_may_gain_some_energy(pad, half, most):
    """Forces have no part along the surface, though its stiffness varies between the points.

    A lap, down at one place and up at another, gives depth / 2 times the difference of the forces.
    """
    forces = np.array([force_at(pad, x, 2e-4, half) for x in (0.0, 0.0025, 0.005)])
    assert 0.05 < np.ptp(forces) / forces[0] < most


@pytest.mark.parametrize("place", [(0.021, -0.017), (-0.011, 0.0123)])
@pytest.mark.parametrize("density", [2e3, 2e4, 4e4])
def test_a_weight_laid_at_rest_stays_and_keeps_its_energy(pad, place, density):
    """Near the edge of the pad, in the middle, and without friction, up to 6 mm deep."""
    weight, soft = G * density * 0.03**3, np.linalg.inv(pad.S)
    world = rf.World(1e-3, (0, 0, -G), tol=1e-9)
    world.add_fixed(pad.local, field=SLAB)
    body = rf.FreeBody(core(1e12, density), 1e-3)
    body.reset((*place, 0.0))
    world.add(body, rigid_square(0.005, 0.005))
    energies = []
    for _ in range(300):
        world.step()
        u = world.dimple(-2).ravel()
        bent = 0.5 * u @ soft @ u
        energies.append(world.energy.sum() + weight * world.positions[0, 2] + bent)
    rises = np.array(energies) - np.minimum.accumulate(energies)
    assert world.positions[0, 2] < 0.0
    assert rises.max() < 0.2 * np.ptp(energies)
    np.testing.assert_allclose(world.positions[0, :2], place, atol=1e-4)


@pytest.mark.parametrize("mu", [0.0, 0.3])
def test_pads_beside_others_move_as_alone(pad, mu):
    """One is solved with the preconditioner that couples dimples, many with separate blocks."""
    ends = []
    for n in (1, 2 if mu else 4):
        world = rf.World(DT, (0, 0, -G), friction=mu, tol=1e-11)
        for k in range(n):
            world.add_fixed(pad.local, (0.2 * k, 0, 0), field=SLAB)
            upper = rf.FreeBody(core(*LIGHT), DT)
            upper.reset((0.2 * k, 0.003, -1e-5), UPSIDE_DOWN, velocity=(0.02, 0.01, 0))
            world.add(upper, pad.tree, SLAB, local=pad.local)
        world.step(2)
        iterations = world.report.iterations
        assert world.report.unconverged == 0
        ends.append((world.contacts.forces[:2], world.dimple(-2), iterations))
    for one, same in zip(*(end[:2] for end in ends), strict=True):
        np.testing.assert_allclose(one, same, atol=1e-6 * np.abs(one).max())
    assert 2 * ends[0][2] < ends[1][2]


@pytest.mark.parametrize("mu", [0.0, 0.3])
def test_a_pad_beside_rigid_bodies_moves_as_alone(pad, mu):
    """Most points are rigid, which ends the preconditioner that couples dimples."""
    ends = []
    for n in (0, 40):
        ground = rf.PlaneField((0, 0, -0.5), (0, 0, 1))
        world = rf.World(DT, (0, 0, -G), ground, friction=mu, tol=1e-11)
        world.add_fixed(pad.local, field=SLAB)
        upper = rf.FreeBody(core(*LIGHT), DT)
        upper.reset((0.0, 0.003, -1e-5), UPSIDE_DOWN, velocity=(0.02, 0.01, 0))
        world.add(upper, pad.tree, SLAB, local=pad.local)
        for k in range(n):
            body = rf.FreeBody(core(*LIGHT), DT)
            body.reset((6 + 0.1 * k, 0, -0.5 - 1e-5), velocity=(0.05, 0.02, 0))
            world.add(body, rigid_square(0.01, 0.01))
        world.step(2)
        assert world.report.unconverged == 0
        iterations = world.report.iterations
        ends.append((world.positions[0], world.dimple(0), world.dimple(-2), iterations))
    for one, same in zip(*(end[:3] for end in ends), strict=True):
        np.testing.assert_allclose(one, same, atol=1e-6 * np.abs(one).max())
    assert 2 * ends[0][3] < ends[1][3]


def test_points_lost_in_the_field_are_named_by_their_place(pad):
    """A weight slides past the points of the pad, where the field is as wide, and passes it."""
    wide = rf.BoxField((-0.3, -0.3, -0.3), (0.3, 0.3, 0.0))
    world = rf.World(1e-3, (0, 0, -G), tol=1e-9)
    world.add_fixed(pad.local, field=wide)
    body = rf.FreeBody(core(1e12, 1e4), 1e-3)
    body.reset((0.021, -0.017, 0.0), velocity=(0.15, 0, 0))
    world.add(body, rigid_square(0.005, 0.005))
    with pytest.warns(rf.PlausibilityWarning, match="body -2") as warned:
        while len(warned) < 2:
            world.step()
            assert world.report.steps < 1000
    assert "body 0 touches body -2" in str(warned[0].message)
    lost = str(warned[1].message)
    assert "body -2 no longer holds body 0, which has sunk in at (0.0" in lost


def test_a_weight_that_slides_gains_less_than_its_own_sag(pad):
    """Kinetic energy, that of the dimple and the height, on two by two points."""
    half, density, dt = 0.005, 2000.0, 1e-3
    places = [(x, y, 0.0) for x in (-half, half) for y in (-half, half)]
    tree = rf.PointTree(rf.Pointshell(places, np.tile([0.0, 0.0, 1.0], (4, 1))))
    weight, soft = G * density * 0.03**3, np.linalg.inv(pad.S)

    def laid(step, **state):
        world = rf.World(step, (0, 0, -G), tol=1e-10)
        world.add_fixed(pad.local, field=SLAB)
        body = rf.FreeBody(core(1e9, density), step)
        body.reset(**state)
        world.add(body, tree)
        return world

    rest = laid(5e-3, position=(-0.01, 0, 0))
    rest.step(300)
    state = rest.state(0)
    world = laid(dt, position=state.position, quaternion=state.quaternion, velocity=(0.1, 0.0, 0.0))
    sag, energies = -state.position[2], []
    for _ in range(200):
        world.step()
        u = world.dimple(-2).ravel()
        bent = 0.5 * u @ soft @ u
        energies.append(world.energy.sum() + weight * world.positions[0, 2] + bent)
    rises = np.array(energies) - np.minimum.accumulate(energies)
    assert 0.0 < rises.max() < 0.2 * weight * sag


def test_a_stiffness_that_the_field_cannot_bear_is_doubted(pad):
    tree = rf.PointTree(rf.Pointshell([[0.0, 0.0, 0.0]], [[0.0, 0.0, 1.0]]))
    for fixed_first in (True, False):
        world = rf.World(DT)
        if fixed_first:
            world.add_fixed(pad.local, field=SLAB)
        with pytest.warns(rf.PlausibilityWarning, match=r"a stiffness of 1e\+10 N/m is .* use a"):
            world.add(placed((0, 0, 0), model=core(*LIGHT)), tree, stiffness=1e10)
            if not fixed_first:
                world.add_fixed(pad.local, field=SLAB)
    world = rf.World(DT)
    world.add_fixed(pad.local, field=SLAB)
    world.add(placed((0, 0, 0), model=core(*LIGHT)), tree, stiffness=1e7)


@pytest.mark.parametrize(
    ("field", "error"),
    [
        (rf.PlaneField((0, 0, 0), (0, 0, 1)), "pass a BoxField or DistanceField of the solid"),
        (cushions, "pass the field at rest, field.field"),
    ],
)
def test_fields_that_do_not_fit_a_fixed_body(pad, field, error):
    given = cushions()[-1] if field is cushions else field
    with pytest.raises((rf.InputError, rf.InputTypeError), match=error):
        rf.World(DT).add_fixed(pad.local, field=given)


def test_running_out_of_memory(pad):
    def work():
        world = rf.World(DT, (0, 0, -G), friction=0.3)
        world.add_fixed(pad.local, field=SLAB)
        upper = placed((0, 0, -1e-5), UPSIDE_DOWN, core(*LIGHT))
        world.add(upper, pad.tree, SLAB, local=pad.local)
        world.step(2)
        return world.contacts

    fail_each_allocation(work)
