"""Warnings about steps, stiffness, gravity and places that no simulation of bodies is meant for."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import reducedfem as rf
from free_boxes import BOX, EDGE, cube, feet, shell, soft

GROUND = rf.PlaneField((0, 0, 0), (0, 0, 1))
G = 9.81
DOWN = (0.0, 0.0, -G)
TILTED = (np.cos(np.pi / 8), np.sin(np.pi / 8), 0.0, 0.0)  # by 45 degrees about x


def warned(work):
    """Return the texts of the warnings that some work gives."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        work()
    assert {one.category for one in found} <= {rf.PlausibilityWarning}
    assert {one.filename for one in found} <= {__file__}
    return [str(one.message) for one in found]


def dropped(dt):
    """Return a world of a body at rest and one above it, by the height of both."""
    world = rf.World(dt, DOWN)
    below, above = rf.FreeBody(cube(), dt), rf.FreeBody(cube(), dt)
    above.reset((0, 0, 2 * EDGE))
    world.add(below, soft(), BOX)
    world.add(above, soft(), BOX)
    return world


@pytest.mark.parametrize(("dt", "texts"), [(0.050, 0), (0.051, 1)])
def test_steps_are_long_if_a_body_that_fell_from_its_thickness_passes_half_of_it(dt, texts):
    assert bool(np.sqrt(2 * G * EDGE) * dt > 0.5 * EDGE) is bool(texts)
    found = warned(lambda: dropped(dt))
    assert len(found) == texts  # of two bodies: once a world
    if texts:
        assert found[0].startswith("body 0 is 0.2 m thick")
        assert found[0].endswith("use a dt below 0.05 s")


@pytest.mark.parametrize(("dt", "long"), [(0.04, False), (0.08, True)])
def test_a_fall_confirms_that_steps_are_long(dt, long):
    world = rf.World(dt, DOWN, rf.BoxField((-1, -1, -EDGE), (1, 1, 0)))
    body = rf.FreeBody(cube(), dt)
    body.reset((0, 0, 1.5 * EDGE))
    assert len(warned(lambda: world.add(body, soft(), BOX))) == long
    found = warned(lambda: world.step(round(0.4 / dt)))
    assert len(found) == long
    assert (world.report.fastest > 0.5) is long
    assert world.report.fastest > 0.2


@pytest.mark.parametrize(
    ("stiffness", "quaternion", "texts"),
    [
        (990.0, (1, 0, 0, 0), 0),
        (970.0, (1, 0, 0, 0), 1),
        (990.0, TILTED, 1),  # on two of four points
        (1970.0, TILTED, 0),
        (1950.0, TILTED, 1),
    ],
)
def test_stiffness_is_low_if_a_body_at_rest_sinks_by_a_tenth(stiffness, quaternion, texts):
    body = rf.FreeBody(cube(), 1e-3)
    body.reset((0, 0, 1), quaternion)
    weight, points = body.rigid_body.mass * G, 2 if quaternion is TILTED else 4
    assert (points * stiffness * 0.1 * EDGE < weight) is bool(texts)
    world = rf.World(1e-3, DOWN, GROUND)
    found = warned(lambda: world.add(body, feet(), None, stiffness))
    assert len(found) == texts
    if texts:
        needed = weight / (points * 0.1 * EDGE)
        assert found[0].startswith(f"body 0 weighs {weight:.3g} N")
        assert found[0].endswith(f"use a stiffness above {needed:.2g} N/m")


def test_the_depth_of_the_warning_is_that_of_a_body_at_rest():
    """A shell whose points reach the ground one after another, on springs at the limit."""
    body = rf.FreeBody(cube(), 1e-2)
    tree, depth = rf.PointTree(shell()), 0.1 * EDGE
    heights = tree.shell.points[:, 2] - tree.shell.points[:, 2].min()
    limit = body.rigid_body.mass * G / np.maximum(0.0, depth - heights).sum()
    body.reset((0, 0, EDGE / 2 - depth))
    world = rf.World(1e-2, DOWN, GROUND)
    assert warned(lambda: world.add(body, tree, None, 1.001 * limit)) == []
    world.step(2000)
    assert world.report.depth == pytest.approx(depth, rel=0.02)
    assert len(warned(lambda: world.add(body, tree, None, 0.999 * limit))) == 1


def test_the_automatic_stiffness_carries_a_body():
    for dt in (1e-4, 0.05):
        world = rf.World(dt, DOWN, GROUND)
        for tree in (soft(), rf.PointTree(shell())):
            assert warned(lambda w=world, t=tree, h=dt: w.add(rf.FreeBody(cube(), h), t)) == []


def test_bodies_without_weight_or_contact_need_no_stiffness():
    body = rf.FreeBody(cube(), 0.1)
    assert warned(lambda: rf.World(0.1).add(body, soft(), BOX, 1e-9)) == []
    assert warned(lambda: rf.World(0.1, DOWN).add(body)) == []


def test_gravity_that_the_world_replaces_is_reported():
    body = rf.FreeBody(cube(), 1e-3, gravity=DOWN)
    assert tuple(body.gravity) == DOWN
    body.gravity[:] = 0.0  # of a copy
    assert tuple(body.gravity) == DOWN
    (text,) = warned(lambda: rf.World(1e-3).add(body, soft(), BOX))
    assert text == (
        "body 0 has gravity [0.0, 0.0, -9.81] m/s^2, which the world replaces by its own, "
        "[0.0, 0.0, 0.0]; pass gravity to the World"
    )
    assert warned(lambda: rf.World(1e-3, DOWN).add(body, soft(), BOX)) == []
    # without a shape too
    assert len(warned(lambda: rf.World(1e-3).add(body))) == 1


def at(height, dt=1e-3):
    """Return a body at a height."""
    body = rf.FreeBody(cube(), dt)
    body.reset((0, 0, height))
    return body


@pytest.mark.parametrize(("part", "texts"), [(0.24, 0), (0.26, 1)])
def test_bodies_added_where_they_overlap_are_reported(part, texts):
    world = rf.World(1e-3)
    world.add(at(0.0), soft(), BOX)
    world.step()
    world.add(at((1.0 - part) * EDGE), soft(), BOX)  # later than the other
    found = warned(lambda: world.step(3))
    assert len(found) == texts
    if texts:
        assert found[0].startswith(f"body 0 overlapped body 1 by {part * EDGE:.2g}")


def test_a_body_added_below_the_ground_is_reported():
    world = rf.World(1e-3, DOWN, GROUND)
    world.add(at(-EDGE), soft(), BOX)
    (text,) = warned(world.step)
    assert "body 0 overlapped the ground by 0.3 m" in text


@pytest.mark.parametrize("field", [None, rf.DistanceField.from_field(BOX, 16, expand=3.0)])
@pytest.mark.parametrize(("part", "texts"), [(0.24, 0), (0.26, 1)])
def test_the_size_of_a_body_in_the_ground_is_that_of_its_points(field, part, texts):
    """The box of a sampled field is larger than the body."""
    world = rf.World(1e-3, DOWN, GROUND)
    world.add(at((0.5 - part * np.sqrt(3)) * EDGE), soft(), field)
    assert len(warned(world.step)) == texts


def test_a_body_that_touches_nothing_does_not_overlap():
    """An earlier pair, whose memory the new one takes, was deep."""
    world = rf.World(0.01, ground=rf.BoxField((-1, -1, -0.15), (1, 1, 0)))
    first = at(0.101, 0.01)
    first.reset((0.2, 0, 0.101), velocity=(70, 0, -4.5))
    world.add(first, soft(), BOX)
    warned(lambda: world.step(2))
    assert world.report.depth > 0.0
    second = at(0.0, 0.01)
    second.reset((-0.6, 0, 0.15))
    world.add(second, soft(), BOX)
    found = warned(world.step)
    assert world.report.points == 0
    assert [text for text in found if "overlapped" in text] == []


def test_a_warning_that_is_an_error_adds_no_body():
    world = rf.World(1e-3, DOWN)
    body = rf.FreeBody(cube(), 1e-3, gravity=(0, 0, -1))
    with warnings.catch_warnings():
        warnings.simplefilter("error", rf.PlausibilityWarning)
        with pytest.raises(rf.PlausibilityWarning, match="gravity"):
            world.add(body)
    assert len(world) == 0
    assert world.add(body) == 0


def test_bodies_that_meet_later_are_not_reported():
    world, body = rf.World(0.01, ground=rf.BoxField((-1, -1, -0.15), (1, 1, 0))), at(0.101, 0.01)
    body.reset((0, 0, 0.101), velocity=(0, 0, -4.5))
    world.add(body, soft(), BOX)
    assert warned(lambda: world.step(2)) == []
    assert world.report.depth > 0.25 * 0.15


def test_a_body_without_points_falls_through_the_ground():
    """It is reported before it does."""
    for gravity, ground, texts in ((DOWN, GROUND, 1), (DOWN, None, 0), ((0, 0, 0), GROUND, 0)):
        for field in (BOX, None):
            world = rf.World(1e-2, gravity, ground)
            found = warned(lambda w=world, f=field: w.add(at(0.15, 1e-2), None, f))
            assert len(found) == texts
            if texts:
                assert found[0].startswith("body 0 has no tree, so the ground gives it no force")
                world.step(40)
                assert world.positions[0, 2] < -EDGE


def box(low, high):
    return rf.BoxField(low * np.ones(3), high * np.ones(3))


@pytest.mark.parametrize(
    ("field", "said"),
    [
        (box(-1.9 * EDGE, 1.9 * EDGE), None),
        (
            box(-2.1 * EDGE, 2.1 * EDGE),
            r"0\.2 m long, its field 0\.84 m, which is of another size",
        ),
        (box(-5 * EDGE, 5 * EDGE), "another size"),
        (box(-0.02 * EDGE, 0.02 * EDGE), None),  # that of a tip
        (box(-0.5e-3 * EDGE, 0.5e-3 * EDGE), "another size"),  # in kilometres
        (box(0.4 * EDGE, 1.4 * EDGE), None),
        (box(0.6 * EDGE, 1.6 * EDGE), "which does not reach it"),  # from a corner on
        (rf.SphereField((0, 0, 0), EDGE / 2), None),
    ],
)
def test_fields_of_another_size_or_place_than_the_body_are_reported(field, said):
    found = warned(lambda: rf.World(1e-3).add(at(3.0), soft(), field))
    assert len(found) == (said is not None)
    if said:
        assert re.search(f"^body 0 is .*{said}: make the field of the body's own surface", found[0])


def test_sampled_and_deformed_fields_of_the_body_are_not_reported():
    surface = cube().mesh.surface()
    sampled = rf.DistanceField.from_surface(surface, 24)
    large = rf.DistanceField.from_surface(surface.transformed(scale=10.0), 24)
    wide = rf.DistanceField.from_surface(surface, 24, expand=3.0)
    for field in (sampled, wide, rf.DeformedField(sampled, cube())):
        assert warned(lambda f=field: rf.World(1e-3).add(at(0.0), soft(), f)) == []
    (text,) = warned(lambda: rf.World(1e-3).add(at(0.0), soft(), large))
    assert "another size" in text
