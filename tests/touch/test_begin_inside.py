"""Tips that begin inside of a body, or jump into it: a side only where it is certain."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from shapes import box_hexes
from touched import LAW, replay, session, slab, tip

TOP = 0.04  # of the slab, whose largest depth is 12 mm


@pytest.fixture(scope="module")
def pad():
    return slab()


def test_the_first_position_may_be_shallow(pad):
    contact = tip(pad)
    assert np.isnan(contact.anchor).all()
    force, anchor, state = contact.touch([0.05, 0.055, 0.039])
    np.testing.assert_allclose(anchor, [0.05, 0.055, TOP], atol=1e-12)
    assert state == "stick"
    assert force[2] > 0.0
    contact.reset()
    assert contact.state == "open"
    assert not contact.displacement().any()


@pytest.mark.parametrize("friction", [0.0, 0.4])
@pytest.mark.parametrize("below", [0.0031, 0.01, 0.02, 0.03, 0.039])
def test_a_tip_that_begins_deep_has_no_force_until_it_was_outside(pad, friction, below):
    """Also where it then comes near to a side, slowly or by a jump; and after a reset."""
    contact = tip(pad, friction=friction)
    for _ in range(2):
        for z in (TOP - below, TOP - below, 0.0395, 0.039, 0.001, 0.039):
            force, anchor, state = contact.touch([0.055, 0.06, z])
            assert state == contact.state == "inside"
            assert not force.any()
            assert contact.depth == 0.0
            np.testing.assert_array_equal(anchor, [0.055, 0.06, z])
        assert "inside without force" in repr(contact)
        assert not contact.displacement().any()
        for z in np.linspace(0.039, 0.041, 20):
            force, _, state = contact.touch([0.055, 0.06, z])
            assert not force.any()
        assert state == "open"
        force, anchor, state = contact.touch([0.055, 0.06, 0.038])
        assert force[2] > 0.0
        np.testing.assert_allclose(anchor[2], TOP)
        contact.reset()


def test_a_quarter_of_the_largest_depth_bounds_the_begin(pad):
    for depth, expected in ((0.99, "stick"), (1.01, "inside")):
        contact = tip(pad, max_depth=4e-3)
        assert contact.touch([0.055, 0.06, TOP - 1e-3 * depth])[2] == expected


def test_a_tip_does_not_begin_in_a_thin_wall():
    """Of a plate of 8 mm: it begins in the outer quarters only, on either side."""
    mesh = rf.Mesh(*box_hexes(6, 6, 1, (0.12, 0.12, 0.008)))
    solid = rf.Solid(mesh, LAW, fixed=mesh.nodes[:, 0] < 1e-9)
    contact = rf.PointProxyContact(rf.GreensFunctions(solid), mesh.surface(), 0.018)
    for z in (0.0005, 0.0018, 0.0022, 0.0035, 0.0045, 0.0058, 0.0062, 0.0075):
        contact.reset()
        force, _, state = contact.touch([0.09, 0.06, z])
        if min(z, 0.008 - z) < 0.002:
            assert force[2] * (z - 0.004) > 0.0
        else:
            assert state == "inside"


def test_a_tip_does_not_begin_on_a_held_side(pad):
    """Beneath, where all nodes are fixed, and at the foot of a side."""
    contact = tip(pad)
    for x in ([0.06, 0.06, 0.001], [0.001, 0.06, 0.005]):
        contact.reset()
        force, _, state = contact.touch(x)
        assert state == "inside"
        assert not force.any()
    contact.reset()
    assert contact.touch([0.001, 0.06, 0.033])[0][0] < 0.0


@pytest.mark.parametrize("friction", [0.0, 0.4])
def test_a_jump_into_the_body_has_the_side_of_its_way(pad, friction):
    """Up to the largest depth; beyond it there is no force until the tip was outside."""
    contact = tip(pad, friction=friction)
    contact.touch([0.06, 0.06, 0.1])
    force, anchor, _ = contact.touch([0.06, 0.06, TOP - 0.011])
    assert force[2] > 0.0
    np.testing.assert_allclose(anchor, [0.06, 0.06, TOP], atol=1e-3)
    contact.reset()
    contact.touch([0.06, 0.06, 0.1])
    for z in (TOP - 0.013, TOP - 0.002):
        force, _, state = contact.touch([0.06, 0.06, z])
        assert state == "inside"
        assert not force.any()
    contact.touch([0.06, 0.06, 0.05])
    assert contact.touch([0.06, 0.06, TOP - 0.002])[0][2] > 0.0


@pytest.mark.parametrize("friction", [0.0, 0.4])
@pytest.mark.parametrize("above", [1e-3, 3e-3])
def test_a_jump_from_far_away_that_crossed_no_near_side_has_no_force(friction, above):
    """From where the surface is not looked up: next to the far side it would be pushed through."""
    mesh = rf.Mesh(*box_hexes(8, 6, 6, (0.16, 0.12, 0.12)))
    solid = rf.Solid(mesh, LAW, fixed=mesh.nodes[:, 0] < 1e-9)
    contact = rf.PointProxyContact(rf.GreensFunctions(solid), mesh.surface(), 0.02, friction)
    for z in (1.0, 0.9, 0.8999, 0.8998):
        contact.touch([0.08, 0.06, z])
    force, _, state = contact.touch([0.08, 0.06, above])
    assert state == "inside"
    assert not force.any()
    contact.touch([0.08, 0.06, -0.01])
    assert contact.touch([0.08, 0.06, above])[0][2] < 0.0


@pytest.mark.parametrize("friction", [0.0, 0.4])
@pytest.mark.parametrize("begin", [0.0399, 0.0401])
@pytest.mark.parametrize("end", [[0.06, 0.06, 0.02], [0.09, 0.08, 0.01]])
def test_a_jump_below_a_touched_surface_has_no_force(pad, friction, begin, end):
    """By more than the largest depth, from just outside and from just inside."""
    contact = tip(pad, friction=friction)
    for z in np.linspace(0.045, begin, 20):
        contact.touch([0.06, 0.06, z])
    assert (contact.state == "open") == (begin > TOP)
    for x in (end, [0.06, 0.06, 0.039]):
        force, _, state = contact.touch(x)
        assert state == "inside"
        assert not force.any()
    contact.touch([0.06, 0.06, 0.041])
    assert contact.touch([0.06, 0.06, 0.039])[0][2] > 0.0


def test_a_jump_off_a_touched_surface_opens(pad):
    contact = tip(pad)
    contact.touch([0.06, 0.06, 0.041])
    assert contact.touch([0.06, 0.06, 0.039])[0][2] > 0.0
    assert contact.touch([0.06, 0.06, 0.1])[2] == "open"
    assert contact.touch([0.06, 0.06, 0.039])[0][2] > 0.0


@pytest.mark.parametrize("max_depth", [0.5e-3, 2e-3])
@pytest.mark.parametrize("step", [0.3e-3, 1e-3, 2e-3])
def test_fast_taps_have_a_side_at_any_largest_depth(pad, max_depth, step):
    contact = tip(pad, max_depth=max_depth)
    for part in (0.1, 0.4, 0.7, 0.999):
        contact.reset()
        for z in TOP + step * (part - np.arange(-2, 2)):
            force, _, state = contact.touch([0.06, 0.06, z])
            assert state != "inside"
        assert force[2] > 0.0


@pytest.mark.parametrize("depth", [1e-3, 8e-3])
def test_searches_over_many_triangles_keep_the_side_of_a_jump(pad, depth):
    """They take several cycles, after which the way since they began counts."""
    green, surface = pad
    many = rf.Surface(surface.vertices, np.tile(surface.triangles, (70, 1)))
    assert len(many.triangles) > 16384
    forces = []
    for one in (surface, many):
        contact = rf.PointProxyContact(green, one, 0.018, 0.4)
        path = [[0.06, 0.06, 0.1]] * 6 + [[0.06, 0.06, TOP - depth]] * 6
        run = session(contact, np.array(path))
        forces.append(run.run(12).force[-1])
        run.close()
    assert forces[0][2] > 0.0
    np.testing.assert_allclose(forces[1], forces[0], rtol=1e-9, atol=1e-9)


def deep_path():
    """Return a path that begins deep, leaves, and comes back to a depth of 2 mm."""
    ways = ((0.015, 0.015, 50), (0.015, 0.06, 100), (0.06, 0.038, 100), (0.038, 0.038, 50))
    z = np.concatenate([np.linspace(*way) for way in ways])
    return np.column_stack([0.06 + 0.0 * z, 0.06 + 0.0 * z, z])


def test_sessions_report_a_begin_inside(pad):
    contact, path = tip(pad), deep_path()
    one = session(contact, path)
    records = one.run(len(path))
    inside = records.flagged("inside")
    np.testing.assert_array_equal(inside[:150], path[:150, 2] < TOP)
    assert not inside[150:].any()
    assert not records.force[:200].any()
    assert not records["touching"][inside].any()
    assert records.force[-1, 2] > 0.0
    (advice,) = one.report().advice
    assert f"in {inside.sum()} cycles the tip was inside of the body without a force" in advice
    assert "begin outside" in advice
    one.close()
    assert contact.state == "stick"


def test_a_session_that_is_recentred_inside_has_no_force(pad):
    deep = np.array([0.06, 0.06, 0.02])
    path = np.vstack([np.linspace((0.06, 0.06, 0.05), deep, 60), np.tile(deep, (60, 1))])
    one = session(tip(pad), path)
    assert one.run(80).force[-1, 2] > 0.0  # by the side through which it came
    one.recentre()
    records = one.run(40)
    assert not records.force.any()
    assert records.flagged("inside").all()
    one.close()


def test_a_session_that_starts_again_begins_at_the_anchor(pad):
    """As after a device was lost: the hand is where the body held it, on the surface."""
    path = np.vstack([[[0.06, 0.06, 0.045]], np.tile([0.06, 0.06, 0.038], (2, 1))])
    one = rf.HapticSession(tip(pad), replay(path), duration=0.05, lock_memory=False, ramp=0.0)
    pressed = one.run(5)
    assert pressed.force[-1, 2] > 0.0
    with one:
        assert one.wait(20.0)
    after = one.records()[-5:]
    assert after["tick"][-1] > pressed["tick"][-1]
    assert not after.force.any()
    assert not after["touching"].any()
