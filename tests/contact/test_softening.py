"""Softening of dimples by large deformations: its measure, and its factor in sessions."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.optimize import brentq

import reducedfem as rf
from friction_sessions import run
from shapes import box_hexes

YOUNG = 1e5
HALF = 0.0155  # m, of a punch whose edges lie between nodes
DEEP = 0.04  # m, of the block


def column(law):
    """Return a column with a point in the middle of its top; without Poisson's ratio."""
    nodes, cells = box_hexes(1, 1, 3, (0.03, 0.03, 0.06))
    solid = rf.Solid(rf.Mesh(nodes, cells), law(YOUNG, 0.0, 1000.0), fixed=nodes[:, 2] < 1e-9)
    tree = rf.PointTree(rf.Pointshell([[0.015, 0.015, 0.06]], [[0.0, 0.0, -1.0]]))
    return tree, solid


def test_it_is_that_of_a_column_in_closed_form():
    """StVK without Poisson's ratio: the nominal stress of a stretch l is E (l^3 - l) / 2."""
    tree, solid = column(rf.StVK)
    local = rf.LocalCompliance(tree, solid, indenter=0.1)
    c = 0.06 / (YOUNG * 0.03**2)
    force = 0.15 * 0.2 * 0.1 / c  # a dimple of 3 mm

    def compliance(load):
        stress = load / 0.03**2
        stretch = brentq(lambda x: 0.5 * YOUNG * (x**3 - x) + stress, 0.7, 1.0, xtol=1e-14)
        return 0.06 * (1.0 - stretch) / load

    change = (compliance(force) - compliance(0.01 * force)) / c
    assert change > 0.05
    assert local.softening == pytest.approx(change / (force * c**2), rel=1e-3)
    assert rf.LocalCompliance(tree, solid).softening == 0.0
    # with the same tangent at rest, and nearly linear
    other = rf.LocalCompliance(*column(rf.StableNeoHookean), indenter=0.1)
    assert 0.0 < abs(other.softening) < 0.1 * local.softening


def test_a_session_has_the_factor_of_its_own_forces():
    """A flat punch on linear statics: the force is that of the linear solid over the factor."""
    nodes, cells = box_hexes(8, 8, 4, (0.08, 0.08, DEEP))
    nodes = nodes - [0.04, 0.04, DEEP]
    solid = rf.Solid(rf.Mesh(nodes, cells), rf.StVK(YOUNG, 0.3, 1000.0), fixed=nodes[:, 2] < -0.039)
    top = np.flatnonzero(nodes[:, 2] > -1e-9)
    tree = rf.PointTree(rf.Pointshell(nodes[top], np.tile([0.0, 0.0, -1.0], (len(top), 1))))
    local = rf.LocalCompliance(tree, solid)
    down = 1e-4 - 2.1e-3 * np.minimum(np.arange(400) / 200.0, 1.0)
    path = np.stack([0.0 * down, 0.0 * down, down], axis=1)
    coupling = rf.VirtualCoupling(1e5, torsional_stiffness=5.0)
    forces = []
    for softening in (0.0, 2e5, -2e5, 1e7):
        local._core.soften(softening)
        punch = rf.BoxField((-HALF, -HALF, 0.0), (HALF, HALF, 0.02))
        contact = rf.FrictionContact(tree, punch, 0.0, compliance=1e-8, budget_us=1e5, local=local)
        records = run(contact, path, coupling=coupling)
        last, still = records[-1], records["contact_force"][-50:, 2]
        assert np.ptp(still) < 1e-5 * still[-1]
        there = last["site_point"] >= 0
        points, f = last["site_point"][there], last["site_force"][there].astype(float)
        assert len(points) == last["touching"] == 9
        np.testing.assert_allclose(f.sum(axis=0), -last["contact_force"], rtol=0, atol=1e-6)
        work = (f * local.displacement(f, points)[points]).sum()
        load = work**2 / np.linalg.norm(f, axis=1).sum() ** 3
        factor = np.clip(1.0 + softening * load, 2.0 / 3.0, 1.5)
        forces.append(factor * still[-1] / -last["object_position"][2])
        assert (softening == 0.0) == (factor == 1.0)
    np.testing.assert_allclose(forces, forces[0], rtol=1e-4)
    assert abs(factor - 1.5) < 1e-12


def test_wrong_tools_and_solids_are_refused():
    tree, solid = column(rf.StVK)
    for radius in (0.0, -1.0):
        with pytest.raises(rf.InputError, match="indenter must be a positive radius"):
            rf.LocalCompliance(tree, solid, indenter=radius)
    with pytest.raises(rf.InputTypeError, match="indenter"):
        rf.LocalCompliance(tree, solid, indenter="ball")
    free = rf.Solid(solid.mesh, rf.StVK(YOUNG, 0.0, 1000.0))
    model = rf.reduce(free, rf.modal_derivative_basis(free, 1, 1))
    with pytest.raises(rf.InputError, match="indenter: statics of large deformations need fixed"):
        rf.LocalCompliance(rf.PointTree(tree.shell, model), free, indenter=0.1)
    with pytest.raises(rf.InputError, match="softening must be finite"):
        rf.LocalCompliance(tree, solid)._core.soften(np.nan)


def test_copies_measure_it_again():
    local = rf.LocalCompliance(*column(rf.StVK), indenter=0.1)
    assert pickle.loads(pickle.dumps(local)).softening == local.softening != 0.0
