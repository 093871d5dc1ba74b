"""Compliances with footprints: E S E^T, and flat tools on more points than there are sites."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import reducedfem as rf
from failures import fail_each_allocation
from friction_sessions import run
from reducedfem import _core
from shapes import box_hexes

SPACING = 0.002  # m, of the nodes on top, which are the points
HALF, DEEP = 0.0105, 0.008  # m, of the punch and the block
PRESSED = 2e-5  # m


@pytest.fixture(scope="module")
def solid():
    nodes, cells = box_hexes(14, 14, 4, (0.028, 0.028, DEEP))
    nodes = nodes - [0.014, 0.014, DEEP]
    fixed = nodes[:, 2] < 1e-9 - DEEP
    return rf.Solid(rf.Mesh(nodes, cells), rf.StVK(1e5, 0.3, 1000.0), fixed=fixed)


@pytest.fixture(scope="module")
def tree(solid):
    points = solid.mesh.nodes[solid.mesh.nodes[:, 2] > -1e-9]
    return rf.PointTree(rf.Pointshell(points, np.tile([0.0, 0.0, -1.0], (len(points), 1))))


def matrix_of(local, some):
    return np.block([[local.between(int(p), int(q)) for q in some] for p in some])


def test_a_coarser_one_is_the_mean_over_parts(solid, tree):
    """In sessions of a tool on one site the compliance is E S E^T of its point."""
    local = rf.LocalCompliance(tree, solid, footprints=(0.0025, 0.005))
    points, radius = tree.shell.points, 0.005
    punch = rf.BoxField((-HALF, -HALF, 0.0), (HALF, HALF, 0.02))
    down = 1e-4 - (1e-4 + PRESSED) * np.minimum(np.arange(300) / 100.0, 1.0)
    path = np.stack([0.0 * down, 0.0 * down, down], axis=1)
    contact = rf.FrictionContact(
        tree, punch, 0.0, compliance=1e-8, budget_us=1e5, sites=1, local=local
    )
    coupling = rf.VirtualCoupling(1000.0, torsional_stiffness=1e4)  # the site is not in the middle
    last = run(contact, path, coupling=coupling)[-1]
    point = last["site_point"][0]
    away = np.linalg.norm(points - points[point], axis=1)
    part = np.flatnonzero(away <= radius)
    S = matrix_of(local, part).reshape(len(part), 3, len(part), 3).mean(axis=(0, 2))
    force = -last["object_position"][2] / (S[2, 2] + 1e-8)
    assert last["contact_force"][2] == pytest.approx(force, rel=1e-4)


def test_a_flat_punch_bears_on_all_points(solid, tree):
    """121 points bear, on 25 sites; without footprints the punch is far too soft."""
    points = tree.shell.points
    under = np.flatnonzero((np.abs(points[:, :2]) < HALF).all(axis=1))
    assert len(under) == 121
    down = 1e-4 - (1e-4 + PRESSED) * np.minimum(np.arange(400) / 200.0, 1.0)
    path = np.stack([0.0 * down, 0.0 * down, down], axis=1)
    errors = []
    for footprints in ((), (0.002, 0.0029, 0.0041, 0.0057)):
        local = rf.LocalCompliance(tree, solid, footprints=footprints)
        punch = rf.BoxField((-HALF, -HALF, 0.0), (HALF, HALF, 0.02))
        contact = rf.FrictionContact(
            tree, punch, 0.0, compliance=1e-8, budget_us=1e5, sites=25, local=local
        )
        records = run(contact, path)
        last, still = records[-1], records["contact_force"][-50:, 2]
        if not errors:
            full = matrix_of(local, under)[2::3, 2::3]
            unit = np.linalg.solve(full + 1e-8 * np.eye(len(under)), np.ones(len(under)))
        true = unit.sum() * -last["object_position"][2]
        errors.append(last["contact_force"][2] / true - 1.0)
        assert np.ptp(still) < 1e-6 * still[-1]
    assert errors[0] < -0.5
    assert abs(errors[1]) < 0.2


def test_wrong_footprints_are_refused(solid, tree):
    for wrong in ((0.0,), (-1.0,), (0.003, 0.002), (0.002, 0.002), 0.003):
        with pytest.raises(rf.InputError, match="footprints must be radii"):
            rf.LocalCompliance(tree, solid, footprints=wrong)
    one = rf.LocalCompliance(tree, solid, footprints=(0.003,))
    assert one.bytes > 1.9 * rf.LocalCompliance(tree, solid).bytes
    n = tree.shell.n_points
    start, part = np.arange(n + 1, dtype=np.int32), np.arange(n, dtype=np.int32)
    with pytest.raises(rf.InputError, match="footprints must be positive and increase"):
        one._core.add_coarser(0.002, start, part, 1)
    with pytest.raises(rf.InputError, match="footprint of point 0 has no points"):
        one._core.add_coarser(0.004, 0 * start, part, 1)
    top = np.flatnonzero(solid.mesh.nodes[:, 2] > -1e-9)[:3]
    green = rf.GreensFunctions(solid, top)._core
    start, part = np.arange(4, dtype=np.int32), np.arange(3, dtype=np.int32)

    def add():
        own = np.arange(3, dtype=np.int32)[:, None], np.ones((3, 1))
        local = _core.LocalCompliance(
            green, *own, np.zeros((3, 3, 0)), np.zeros((0, 0)), True, None, 1
        )
        local.add_coarser(0.01, start, part, 1)
        return local

    fail_each_allocation(add)


def test_copies_have_them(solid, tree):
    few = rf.PointTree(rf.Pointshell(tree.shell.points[:30], tree.shell.normals[:30]))
    one = rf.LocalCompliance(few, solid, footprints=(0.003,))
    assert pickle.loads(pickle.dumps(one)).bytes == one.bytes
