"""A tool with edges slides over a flat block: Coulomb's force, and no more.

Points of the block pass under the edge that leads.  There the nearest place of the tool is on its
side, and a wall across the way of the tool would hold it.
"""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from friction_sessions import session
from repetitions import fewer
from shapes import box_hexes
from turns import rotation

BLOCK = rf.BoxField((-0.05, -0.05, -0.025), (0.05, 0.05, 0.025))
TOOL = rf.BoxField((-0.01, -0.02, -0.01), (0.01, 0.02, 0.01))
TOP = 0.035  # m, of the tool on the block


@pytest.fixture(scope="module")
def surface():
    return rf.DistanceField.from_field(BLOCK, resolution=32).isosurface()


@pytest.mark.parametrize("mu", [0.0, 0.3])
@pytest.mark.parametrize("points", [600, 3000])
@pytest.mark.parametrize(("sampled", "worst"), [(False, 2e-3), (True, 0.03)])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_a_tool_slides_over_a_flat_block(surface, mu, points, sampled, worst):
    """The lateral force over the normal one, averaged while the tool moves at 20 mm/s.

    In a sampled field edges are round within a cell, and directions near them, of differences
    over a cell, are inclined.
    """
    tree = rf.PointTree(rf.Pointshell.from_surface(surface, points, levels=3))
    tool = rf.DistanceField.from_field(TOOL, resolution=64) if sampled else TOOL
    above, on = (0.0, 0.0, TOP + 0.003), (0.0, 0.0, TOP - 0.002)
    hand = rf.ReplayDevice([0.0, 0.1, 0.4, 1.4], [above, on, on, (0.02, 0.0, TOP - 0.002)])
    made = rf.HapticSession(
        rf.FrictionContact(tree, tool, mu, budget_us=1e6), hand, budget_us=0.0,
        coupling=rf.VirtualCoupling(500.0, torsional_stiffness=5.0),
    )  # fmt: skip
    force = made.run(seconds=1.4).array["contact_force"][700:]
    made.close()
    ratio = np.hypot(force[:, 0], force[:, 1]) / force[:, 2]
    assert force[:, 2].min() > 0.5
    assert ratio.mean() == pytest.approx(mu, abs=worst)
    if not sampled:
        assert ratio.max() < mu + worst


# ---- a box that is thrown


def thrown(tree, model, field, *, mu, steps, **state):
    """Return a free box after so many steps without gravity, and its kinetic energies."""

    def energy():
        turn = rotation(body.state.quaternion).T @ body.state.angular_velocity
        speed = body.state.velocity
        inertia = model.rigid_body.inertia
        return 0.5 * (model.rigid_body.mass * speed @ speed + turn @ inertia @ turn)

    body = rf.FreeBody(model, 1e-3, damping=(0.0, 1e-4))
    body.reset(**state)
    start = energy()
    far = rf.SphereField((0, 0, 0), 0.01)
    contacts = [rf.FrictionContact(tree, one, mu, budget_us=1e6) for one in (far, field)]
    made = session(contacts, np.tile((0.0, 0.0, 0.5), (steps, 1)), simulation=[body, body])
    made.run(steps)
    made.close()
    return body.state, start, energy()


@pytest.fixture(scope="module")
def box():
    """Return the reduced model of a box, and a tree of its points."""
    nodes, elements = box_hexes(2, 2, 2, (0.04, 0.04, 0.02))
    solid = rf.Solid(rf.Mesh(nodes - [0.02, 0.02, 0.01], elements), rf.StVK(1e7, 0.3, 1000.0))
    shape = rf.BoxField((-0.02, -0.02, -0.01), (0.02, 0.02, 0.01))
    surface = rf.DistanceField.from_field(shape, 32).isosurface()
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, k=3, r=4))
    return model, rf.PointTree(rf.Pointshell.from_surface(surface, 600))


def test_impacts_of_edges_on_edges_give_no_energy(box):
    model, tree = box
    rng = np.random.default_rng(1)
    cube = rf.BoxField((-0.03, -0.03, -0.03), (0.03, 0.03, 0.03))
    fields = cube, rf.DistanceField.from_field(cube, 48)
    kept = []
    for k in range(fewer(160, 12)):
        way = rng.normal(size=3)
        way /= np.linalg.norm(way)
        speed = rng.uniform(0.3, 4.0)
        quaternion = rng.normal(size=4)
        _, start, end = thrown(
            tree, model, fields[k % 2], mu=(0.0, 0.4)[k // 2 % 2], steps=int(300.0 / speed) + 50,
            quaternion=quaternion / np.linalg.norm(quaternion), velocity=speed * way,
            position=-0.12 * way + rng.uniform(-0.03, 0.03, 3),
            angular_velocity=5.0 * rng.normal(size=3),
        )  # fmt: skip
        kept.append(end / start)
    assert max(kept) < 1.0 + 1e-9
    assert np.mean(kept) < 0.5  # most of them meet


@pytest.mark.parametrize("direction", ["gradient", "normal"])
@pytest.mark.parametrize(("thick", "speed"), [(0.002, 2.0), (0.003, 3.0), (0.004, 5.0)])
def test_a_fast_box_does_not_pass_a_thin_plate(box, direction, thick, speed):
    model, _ = box
    s = np.linspace(-0.02, 0.02, 5)
    points = np.stack([a.ravel() for a in np.meshgrid(s, s, [-0.01])], axis=1)
    tree = rf.PointTree(rf.Pointshell(points, np.tile([0.0, 0.0, 1.0], (25, 1))))
    body = rf.FreeBody(model, 1e-3, damping=(0.0, 1e-4))
    body.reset(position=(0.0, 0.0, 0.05), velocity=(0.0, 0.0, -speed))
    plate = rf.BoxField((-0.1, -0.1, -thick), (0.1, 0.1, 0.0))
    contacts = [
        rf.FrictionContact(tree, one, 0.3, budget_us=1e6, direction=direction)
        for one in (rf.SphereField((0, 0, 0), 0.01), plate)
    ]
    made = session(contacts, np.tile((0.0, 0.0, 0.5), (60, 1)), simulation=[body, body])
    made.run(60)
    made.close()
    assert body.state.position[2] > 0.0095
    assert abs(body.state.velocity[2]) < 0.01 * speed
