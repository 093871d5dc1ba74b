"""Worlds of bodies with a local compliance, and of fixed ones that have nothing else."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.optimize import nnls

import reducedfem as rf
from failures import fail_each_allocation
from free_boxes import BOX, EDGE, cube, feet, momenta, rotation
from shapes import box_hexes

STVK = rf.StVK(1e5, 0.3, 1000.0)
DEEP = 0.04  # m, of the block
HALF = 0.0155  # m, of a punch whose edges lie between nodes
PUNCH = rf.BoxField((-HALF,) * 3, (HALF,) * 3)
G = 9.81
DT = 1e-3


class Block:
    """A block that is fixed below, and the tree of the nodes on top, at z = 0."""

    def __init__(self):
        nodes, cells = box_hexes(8, 8, 4, (0.08, 0.08, DEEP))
        nodes = nodes - [0.04, 0.04, DEEP]
        self.solid = rf.Solid(rf.Mesh(nodes, cells), STVK, fixed=nodes[:, 2] < 1e-9 - DEEP)
        self.top = np.flatnonzero(nodes[:, 2] > -1e-9)
        self.points = nodes[self.top]
        normals = np.tile([0.0, 0.0, -1.0], (len(self.points), 1))
        self.tree = rf.PointTree(rf.Pointshell(self.points, normals))
        self.local = rf.LocalCompliance(self.tree, self.solid)
        self.green = rf.GreensFunctions(self.solid, self.top)

    def under(self, x=0.0):
        """Return the indices of the points under a punch."""
        away = np.abs(self.points[:, :2] - [x, 0.0])
        return np.flatnonzero((away < HALF).all(axis=1))

    def contact(self, height, mu=0.0):
        """Return the exact contact with a rigid punch at a height."""
        under = self.under()
        normals, gaps = np.tile([0.0, 0.0, -1.0], (len(under), 1)), np.full(len(under), height)
        return self.green.contact(self.top[under], normals, gaps, friction=mu)


@pytest.fixture(scope="module")
def block():
    return Block()


@cache
def punch():
    nodes, cells = box_hexes(2, 2, 2, (2 * HALF,) * 3)
    solid = rf.Solid(rf.Mesh(nodes - HALF, cells), rf.StVK(1e8, 0.3, 2000.0))
    return rf.reduce(solid, rf.modal_derivative_basis(solid, k=3, r=6))


WEIGHT = G * 2000.0 * (2 * HALF) ** 3


def pressed(
    block, k, mu=0.0, gravity=(0, 0, -G), n=400, position=(0, 0, 0), turn=(1, 0, 0, 0), dt=DT
):
    """Return a world in which a punch lies on the block."""
    world = rf.World(dt, gravity, friction=mu, tol=1e-10)
    pose = rf.Pose(position, turn)
    assert world.add_fixed(block.local, position, turn, k) == -2
    body = rf.FreeBody(punch(), dt)
    body.reset(pose.rotation @ [0, 0, HALF] + position, turn)
    world.add(body, None, PUNCH)
    world.step(n)
    return world


def forces(block, world, under, number=-2):
    """Return the forces on the points under the punch by the displacements there."""
    C = np.block([[block.local.between(p, q) for q in under] for p in under])
    return np.linalg.solve(C, world.dimple(number)[under].ravel()).reshape(-1, 3)


@pytest.mark.parametrize("k", [1e3, 1e4])
def test_at_rest_it_bears_the_weight_by_springs_on_its_compliance(block, k):
    world, under = pressed(block, k, n=800), block.under()
    np.testing.assert_array_equal(world.contacts.bodies, [[-2, 0]])
    np.testing.assert_allclose(world.contacts.forces, [[0, 0, -WEIGHT]], atol=1e-5 * WEIGHT)
    # the law: gaps after all displacements are those of springs, and forces push
    found, u = forces(block, world, under), world.dimple(-2)
    height = world.positions[0, 2] - HALF
    np.testing.assert_allclose(found[:, :2], 0.0, atol=1e-3 * WEIGHT)
    np.testing.assert_allclose(-found[:, 2] / k, u[under, 2] - height, atol=1e-4 * WEIGHT / k)
    assert (found[:, 2] < 0.0).all()
    # and the same by a solver of its own
    normal = np.ix_(*[3 * np.arange(len(under)) + 2] * 2)
    C = np.block([[block.local.between(p, q) for q in under] for p in under])[normal]
    pushed, _ = nnls(C + np.eye(len(under)) / k, np.full(len(under), -height))
    np.testing.assert_allclose(pushed.sum(), WEIGHT, rtol=1e-4)
    np.testing.assert_allclose(u, block.local.displacement(found, under), atol=1e-9)


def test_stiff_springs_tend_to_the_contact_of_greens_functions(block):
    """Their share of the depth falls like 1 / k."""
    errors = []
    for k in (1e4, 1e5, 1e6):
        world = pressed(block, k)
        exact = block.contact(world.positions[0, 2] - HALF)
        errors.append(exact.force[:, 2].sum() / -WEIGHT - 1.0)
    assert 0.0 < errors[2] < 1e-3
    np.testing.assert_allclose(errors[0] / errors[1], 10.0, rtol=0.05)
    u = world.dimple(-2)
    np.testing.assert_allclose(u, exact.u, atol=1e-3 * np.abs(u).max())


def test_a_pose_turns_everything_with_it(block):
    """Of the fixed body, with gravity along its own axis."""
    turn, position = np.array([0.8, 0.0, 0.6, 0.0]), (0.3, -0.2, 1.0)
    down = rotation(turn) @ [0.0, 0.0, -G]
    one = pressed(block, 1e4, n=50)
    other = pressed(block, 1e4, gravity=down, n=50, position=position, turn=turn)
    np.testing.assert_allclose(other.dimple(-2), one.dimple(-2), atol=1e-9)
    expected = one.contacts.forces @ rotation(turn).T
    np.testing.assert_allclose(other.contacts.forces, expected, atol=1e-6 * WEIGHT)
    # about the position of the fixed body
    np.testing.assert_allclose(other.contacts.torques, 0.0, atol=1e-6 * WEIGHT)


def test_a_weight_beside_the_middle_turns_the_fixed_body(block):
    world = rf.World(DT, (0, 0, -G))
    world.add_fixed(block.local)
    body = rf.FreeBody(punch(), DT)
    body.reset((0.01, 0, HALF))
    world.add(body, None, PUNCH)
    world.step(200)
    moment = world.positions[0, 0] * WEIGHT
    np.testing.assert_allclose(world.contacts.torques, [[0, moment, 0]], atol=2e-3 * moment)


@pytest.mark.parametrize("slope", [0.2, 0.6])
def test_on_a_slope_a_punch_sticks_below_the_angle_of_friction_and_slides_above(block, slope):
    mu, along = 0.4, np.array([np.sin(slope), 0.0, -np.cos(slope)])
    # long steps damp the rocking
    dt = 1e-2 if np.tan(slope) < mu else DT
    world = pressed(block, "auto", mu, tuple(G * along), 20, dt=dt)
    start, speed = world.positions[0, 0], world.velocities[0, 0]
    if np.tan(slope) < mu:
        world.step(100)
        start = world.positions[0, 0]
        world.step(100)
        assert abs(world.positions[0, 0] - start) < 1e-10
        force = world.contacts.forces[0]
        np.testing.assert_allclose(force, WEIGHT * along, atol=1e-6 * WEIGHT)
    else:
        n = 30
        world.step(n)
        force = world.contacts.forces[0]
        assert 0.9 * mu * -force[2] < np.hypot(*force[:2]) <= mu * -force[2] * (1 + 1e-9)
        rate = (world.velocities[0, 0] - speed) / (n * DT)
        assert rate == pytest.approx(G * (np.sin(slope) - mu * np.cos(slope)), rel=0.25)


def test_a_stack_stands_on_it(block):
    dt = 1e-2  # damps vibrations
    world = rf.World(dt, (0, 0, -G), friction=0.5)
    world.add_fixed(block.local)
    half = 0.7 * HALF
    corners = [(x, y, -HALF) for x in (-half, half) for y in (-half, half)]
    tree = rf.PointTree(rf.Pointshell(corners, [(0.0, 0.0, 1.0)] * 4))
    for k in range(3):
        body = rf.FreeBody(punch(), dt)
        body.reset((0, 0, HALF * (2 * k + 1)))
        # that of the lowest one lies on the block by the points of the latter alone
        world.add(body, tree if k else None, PUNCH)
    world.step(300)
    found = {tuple(b): f for b, f in zip(world.contacts.bodies, world.contacts.forces, strict=True)}
    np.testing.assert_allclose(found[-2, 0], [0, 0, -3 * WEIGHT], atol=1e-3 * WEIGHT)
    np.testing.assert_allclose(found[2, 1], [0, 0, WEIGHT], atol=1e-3 * WEIGHT)
    assert np.abs(world.velocities).max() < 1e-4


def test_two_bodies_share_one_dimple(block):
    """Neighbours sink further than alone."""
    world = rf.World(DT, (0, 0, -G))
    world.add_fixed(block.local)
    for x in (-0.02, 0.02):
        body = rf.FreeBody(punch(), DT)
        body.reset((x, 0, HALF))
        world.add(body, None, PUNCH)
    world.step(300)
    alone = rf.World(DT, (0, 0, -G))
    alone.add_fixed(block.local)
    body = rf.FreeBody(punch(), DT)
    body.reset((0.02, 0, HALF))
    alone.add(body, None, PUNCH)
    alone.step(300)
    under, other = block.under(0.02), block.under(-0.02)
    u, single = world.dimple(-2), alone.dimple(-2)
    np.testing.assert_allclose(u[under, 2].mean(), u[other, 2].mean(), rtol=1e-4)
    share = single[other, 2].mean() / single[under, 2].mean()
    np.testing.assert_allclose(
        u[under, 2].mean() / single[under, 2].mean(), 1.0 + share, atol=0.2 * abs(share)
    )


@cache
def anvil():
    """Return the model of a punch that is too heavy to move."""
    nodes, cells = box_hexes(1, 1, 1, (2 * HALF,) * 3)
    solid = rf.Solid(rf.Mesh(nodes - HALF, cells), rf.StVK(1e15, 0.3, 1e12))
    return rf.reduce(solid, rf.modal_derivative_basis(solid, k=1, r=1))


@pytest.mark.parametrize("damping", [1.0, 2.0, 10.0])
@pytest.mark.parametrize("mu", [0.0, 0.3])
def test_a_first_step_is_the_contact_of_signorini_and_coulomb(block, mu, damping):
    """Of a punch that is too heavy to move, on stiff springs: statics have no dampers."""
    world = rf.World(DT, friction=mu, contact_damping=damping)
    world.add_fixed(block.local, stiffness=1e7)
    body = rf.FreeBody(anvil(), DT)
    body.reset((0, 0, HALF - 1e-4))
    world.add(body, None, PUNCH)
    world.step()
    assert world.report.unconverged == 0
    exact = block.contact(-1e-4, mu)
    size = np.abs(exact.u).max()
    np.testing.assert_allclose(world.dimple(-2), exact.u, atol=1e-3 * size)
    total = exact.force.sum(axis=0)
    np.testing.assert_allclose(world.contacts.forces[0], total, atol=1e-3 * abs(total[2]))


def test_a_tolerance_below_rounding_leaves_the_forces(block):
    """Stiff springs on a soft dimple lose digits."""
    world = pressed(block, 1e8, 0.3, n=100)
    fine = rf.World(DT, (0, 0, -G), friction=0.3, tol=1e-13)
    fine.add_fixed(block.local, stiffness=1e8)
    body = rf.FreeBody(punch(), DT)
    body.reset((0, 0, HALF))
    fine.add(body, None, PUNCH)
    fine.step(100)
    assert fine.report.unconverged > 0
    np.testing.assert_allclose(fine.positions, world.positions, atol=1e-7)


@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_the_stiffest_springs_bear_the_weight_without_energy(block, mu):
    most = 1e6 / block.local._core.mean_compliance.max()
    world = rf.World(DT, (0, 0, -G), friction=mu)
    world.add_fixed(block.local, stiffness=0.99 * most)
    body = rf.FreeBody(punch(), DT)
    body.reset((0.001, 0, HALF))
    world.add(body, None, PUNCH)
    for _ in range(80):
        world.step()
        height = world.positions[0, 2] - HALF
        assert world.energy.sum() + WEIGHT * height < 1e-9 * WEIGHT
        assert height > -1e-3
    assert world.report.unconverged == 0
    assert world.contacts.forces[0, 2] == pytest.approx(-WEIGHT, rel=0.05)
    soft = rf.LocalCompliance(block.tree, block.solid)
    worst = soft._core.mean_compliance.argmax()
    with pytest.raises(rf.InputError, match=f"times that of the solid at point {worst} .* at most"):
        world.add_fixed(block.local, stiffness=1.01 * most)
    with pytest.raises(rf.InputError, match="stiffness is 1e\\+13 N/m"):
        world.add(body, block.tree, None, 1e13, local=block.local)


@pytest.mark.parametrize("thick", [0.006, 0.002])
def test_a_dimple_may_be_deeper_than_a_field_is_thick(block, thick):
    """It then bears the same body as with a thick field, with a warning."""
    nodes, cells = box_hexes(2, 2, 2, (2 * HALF,) * 3)
    solid = rf.Solid(rf.Mesh(nodes - HALF, cells), rf.StVK(1e9, 0.3, 5e4))
    heavy = rf.reduce(solid, rf.modal_derivative_basis(solid, k=3, r=6))
    heights = []
    for top in (HALF, thick - HALF):
        world = rf.World(DT, (0, 0, -G))
        world.add_fixed(block.local)
        body = rf.FreeBody(heavy, DT)
        body.reset((0, 0, HALF))
        world.add(body, None, rf.BoxField((-HALF,) * 3, (HALF, HALF, top)))
        if heights:
            with pytest.warns(
                rf.PlausibilityWarning, match=r"body -2 gave way to body 0 by 0\.\d+ m at \("
            ):
                world.step(100)
        else:
            world.step(30)
            assert world.positions[0, 2] < HALF - 0.002
            world.step(70)
        heights.append(world.positions[0, 2])
        assert world.report.points > 0
    assert heights[1] == pytest.approx(heights[0], abs=1e-9)


# ---- bodies that move


@cache
def cushion():
    """Return a free block's solid, shell and two models: of few shapes, and of all but the last."""
    nodes, cells = box_hexes(2, 2, 1, (EDGE,) * 3)
    solid = rf.Solid(rf.Mesh(nodes - EDGE / 2, cells), rf.StVK(2e7, 0.3, 1000.0))
    below = nodes[:, 2] < 1e-9
    shell = rf.Pointshell(nodes[below] - EDGE / 2, [(0.0, 0.0, 1.0)] * int(below.sum()))
    modes = solid.linear_modes(3 * len(nodes) - 7).shapes
    return solid, shell, rf.reduce(solid, modes[:3]), rf.reduce(solid, modes)


def rests(model, local):
    """Return the points and the depth of a block that lies on its lower nodes, at rest."""
    _, shell, *_ = cushion()
    dt = 5e-3
    world = rf.World(dt, (0, 0, -G), rf.PlaneField((0, 0, 0), (0, 0, 1)), tol=1e-10)
    tree = rf.PointTree(shell, model)
    body = rf.FreeBody(model, dt, damping=(20.0, 1e-2))
    body.reset((0, 0, EDGE / 2))
    compliance = rf.LocalCompliance(tree, cushion()[0]) if local else None
    world.add(body, tree, None, 1e7, local=compliance)
    world.step(800)
    assert np.abs(world.velocities).max() < 1e-6
    points = tree.positions(world.state(0).q)
    if local:
        points = points + world.dimple(0)
    # relative to the centre of mass, about which no rigid motion is left
    return points, world.positions[0, 2]


def test_at_rest_a_model_with_it_is_that_of_all_modes():
    _, _, few, whole = cushion()
    points, height = rests(few, True)
    exact, level = rests(whole, False)
    size = np.ptp(exact[:, 2])
    np.testing.assert_allclose(points, exact, atol=2e-3 * size)
    assert height == pytest.approx(level, abs=2e-3 * size)
    plain, high = rests(few, False)
    assert np.abs(plain - exact).max() > 0.1 * size
    assert high - level > 0.1 * size


def test_momentum_is_kept():
    solid, shell, few, _ = cushion()
    tree = rf.PointTree(shell, few)
    world = rf.World(DT, friction=0.3)
    bodies = []
    for place, velocity, spin in (
        ((0, 0, 0.199), (0.1, 0, -0.5), (1, 0.5, 0)),
        ((0.02, 0.01, 0), (0, 0.2, 0.4), (0, 1, -1)),
    ):
        body = rf.FreeBody(few, DT)
        body.reset(place, velocity=velocity, angular_velocity=spin)
        bodies.append(body)
    world.add(bodies[0], tree, local=rf.LocalCompliance(tree, solid))
    world.add(bodies[1], None, BOX)
    before = momenta(world, bodies)
    bent = 0.0
    for _ in range(10):
        world.step()
        bent = max(bent, np.abs(world.dimple(0)).max())
    assert bent > 1e-6
    for now, then in zip(momenta(world, bodies), before, strict=True):
        np.testing.assert_allclose(now, then, atol=1e-12 * np.abs(before[0]).max())


def test_an_impact_gives_no_energy(block):
    world = rf.World(DT)
    world.add_fixed(block.local)
    body = rf.FreeBody(punch(), DT)
    body.reset((0.003, 0, HALF + 1e-4), velocity=(0, 0, -0.3))
    world.add(body, None, PUNCH)
    begin = world.energy.sum()
    for _ in range(60):
        world.step()
        assert world.energy.sum() <= begin * (1 + 1e-9)
    assert world.velocities[0, 2] > 0.0
    assert world.report.points == 0
    # it is forgotten with the contact
    np.testing.assert_array_equal(world.dimple(-2), 0.0)


class Parallel(rf.World):
    """A world whose solve always runs on threads."""

    _least_work = 0.0


def test_bits_do_not_depend_on_threads(block):
    """Of more bodies, dimples and pairs than a task has."""
    ends = []
    old = rf.threads()
    try:
        for threads in (1, 2):
            rf.set_threads(threads)
            world = Parallel(DT, (0.5, 0, -G), friction=0.3)
            for pad in (0.0, 0.2, 0.4):
                world.add_fixed(block.local, (pad, 0, 0))
                for x in (-0.02, 0.02):
                    for y in (-0.02, 0.02):
                        body = rf.FreeBody(punch(), DT)
                        body.reset((pad + x, y, HALF))
                        world.add(body, None, PUNCH)
            world.step(5)
            assert world.report.pairs == 12
            ends.append((world.positions, *(world.dimple(-2 - k) for k in range(3))))
    finally:
        rf.set_threads(old)
    for one, same in zip(*ends, strict=True):
        np.testing.assert_array_equal(one, same)


# points without friction are solved by a few iterations
@pytest.mark.parametrize(("mu", "iterations"), [(0.0, 1), (0.8, 1), (0.8, 3), (0.8, 10)])
@pytest.mark.parametrize("k", ["auto", 1e7])
def test_a_solve_that_ends_early_holds_the_weight_and_stays_bounded(block, k, iterations, mu):
    world = rf.World(DT, (0, 0, -G), friction=mu, iterations=iterations)
    world.add_fixed(block.local, stiffness=k)
    body = rf.FreeBody(punch(), DT)
    body.reset((0.004, 0, HALF))
    world.add(body, None, PUNCH)
    for _ in range(200):
        world.step()
        height = world.positions[0, 2] - HALF
        assert height > -5e-4  # at rest: -1.4e-4; free fall: -0.2
        assert world.energy.sum() + WEIGHT * height < 1e-6 * WEIGHT
    assert world.report.unconverged > 0


# ---- what is refused


def test_arguments_that_do_not_fit_are_refused(block):
    world = rf.World(DT)
    body = rf.FreeBody(cube(), DT)
    with pytest.raises(rf.InputError, match=r"local is of another tree; pass tree=local\.tree"):
        world.add(body, feet(), local=block.local)
    with pytest.raises(rf.InputTypeError, match="local must be a LocalCompliance or None"):
        world.add(body, feet(), local=block.green)
    softening = rf.LocalCompliance(block.tree, block.solid, reach=0.01)
    with pytest.raises(rf.InputError, match="local has a reach of 0.01 m, but a World takes"):
        world.add(body, block.tree, local=softening)
    with pytest.raises(rf.InputError, match="local has a reach of 0.01 m, but a World takes"):
        world.add_fixed(softening)
    solid, shell, few, _ = cushion()
    tree = rf.PointTree(shell, few)
    with pytest.raises(rf.InputError, match="field is one at rest, but the tree of local has a"):
        world.add(rf.FreeBody(few, DT), tree, BOX, local=rf.LocalCompliance(tree, solid))
    with pytest.raises(rf.InputTypeError, match="field must be a Field or None, got PointTree"):
        world.add_fixed(block.local, field=tree)
    with pytest.raises(rf.InputError, match="make LocalCompliance.* with a rigid tree"):
        world.add_fixed(rf.LocalCompliance(tree, solid))
    with pytest.raises(rf.InputError, match="stiffness must be positive, got 0"):
        world.add_fixed(block.local, stiffness=0.0)
    with pytest.raises(rf.InputError, match="quaternion .* has norm 2"):
        world.add_fixed(block.local, (0, 0, 0), (2, 0, 0, 0))
    assert len(world) == 0
    assert world.fixed == ()
    world.add_fixed(block.local)
    world.add(body, feet())
    with pytest.raises(rf.InputError, match="body is -3, but the world has 1 bodies"):
        world.dimple(-3)
    with pytest.raises(rf.InputError, match="body 0 has no dimple"):
        world.dimple(0)
    assert world.fixed == (block.local,)


def test_a_body_that_the_fixed_one_cannot_touch_is_doubted(block):
    world = rf.World(DT)
    world.add(rf.FreeBody(cube(), DT), None, BOX)
    world.add(rf.FreeBody(cube(), DT))
    with pytest.warns(rf.PlausibilityWarning, match="body 1 has no field, so fixed bodies"):
        world.add_fixed(block.local)


def test_a_body_without_a_field_is_doubted_where_it_meets_a_fixed_one(block):
    world = rf.World(DT)
    world.add_fixed(block.local, (9, 0, 0))
    world.add_fixed(block.local)
    body = rf.FreeBody(cube(), DT)
    body.reset((0, 0, 5), velocity=(0, 0, -1))
    world.add(body, feet())
    world.step()  # far away
    near = rf.FreeBody(cube(), DT)
    near.reset((0, 0, 0.05))
    world.add(near, feet())
    with pytest.warns(rf.PlausibilityWarning, match="body 1 has no field, so body -3, which"):
        world.step()


@pytest.mark.parametrize(
    ("height", "speed", "match"),
    [
        (HALF - 0.01, 0.0, "body 0 overlapped body -2 by 0.01 m"),
        (HALF + 0.01, -20.0, "body 0 moved by 0.64"),
    ],
)
def test_steps_that_are_too_large_are_doubted(block, height, speed, match):
    world = rf.World(DT)
    world.add_fixed(block.local)
    body = rf.FreeBody(punch(), DT)
    body.reset((0, 0, height), velocity=(0, 0, speed))
    world.add(body, None, PUNCH)
    with pytest.warns(rf.PlausibilityWarning, match=match):
        world.step()


def test_a_fixed_body_that_is_added_late_is_doubted_where_it_overlaps(block):
    world = rf.World(DT)
    body = rf.FreeBody(punch(), DT)
    body.reset((0, 0, HALF - 0.01))
    world.add(body, None, PUNCH)
    world.step()
    world.add_fixed(block.local)
    with pytest.warns(rf.PlausibilityWarning, match="body 0 overlapped body -2 by 0.01 m"):
        world.step()


def test_energy_has_that_of_the_local_compliance_of_a_body(block):
    """A layer on a heavy core, pressed into the ground."""
    world = rf.World(DT, (0, 0, 0), rf.PlaneField((0, 0, 0), (0, 0, 1)))
    body = rf.FreeBody(anvil(), DT)
    body.reset((0, 0, 1e-4 + HALF))
    free = world.add(body)
    flipped = rf.FreeBody(anvil(), DT)
    flipped.reset((0, 0, -1e-4), (0, 1, 0, 0))
    layer = world.add(flipped, block.tree, local=block.local)
    world.step()
    u, points = world.dimple(layer), np.arange(len(block.points))
    bent = world.energy[layer] - 0.5 * world.masses[layer] * (world.velocities[layer] ** 2).sum()
    expected = 0.5 * np.sum(u * forces(block, world, points, layer))
    assert expected > 0.0
    np.testing.assert_allclose(bent, expected, rtol=1e-3)
    assert world.energy[free] == 0.0


def test_running_out_of_memory(block):
    def work():
        world = rf.World(DT, (0, 0, -G), friction=0.3)
        world.add_fixed(block.local)
        body = rf.FreeBody(punch(), DT)
        body.reset((0, 0, HALF - 1e-5))
        world.add(body, None, PUNCH)
        world.step(2)
        return world.contacts

    fail_each_allocation(work)
