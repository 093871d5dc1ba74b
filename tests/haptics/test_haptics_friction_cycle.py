"""Cycles with friction: what they find, how they end, and what they remember."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from friction_sessions import HALF, PRESSED, K, floor, pressed, run, session, tool
from shells import level


def part_of_floor(rows):
    """Return the tree of the rows of points at these y."""
    return rf.PointTree(level(np.linspace(-0.05, 0.05, 21), rows))


def test_each_contact_has_its_own_coefficient():
    """Two halves of a floor bear half of the weight each."""
    n = 2200
    x = np.clip((np.arange(n) - 300) * 1e-6, 0.0, None)
    field = tool()
    contacts = [
        rf.FrictionContact(part_of_floor(rows), field, mu, budget_us=1e6)
        for rows, mu in (((-0.015, -0.01, -0.005), 0.2), ((0.005, 0.01, 0.015), 0.6))
    ]
    records = run(contacts, pressed(n, x))
    ratio = -records["contact_force"][-200:, 0] / records["contact_force"][-200:, 2]
    np.testing.assert_allclose(ratio, 0.4, rtol=0.02)
    # the rougher half turns the tool, which its torsional spring resists
    assert abs(records["contact_torque"][-1, 2]) > 0.2 * 0.01 * K * PRESSED * 0.3


def test_four_sites_bear_the_force_of_many():
    """The sites that are left out sink in between them, by less than the tool yields."""
    ends = {}
    for sites in (4, 49):
        contact = rf.FrictionContact(floor()[0], tool(), 0.4, sites=sites, budget_us=1e6)
        ends[sites] = run(contact, pressed(800))[-1]
        assert 3 <= ends[sites]["touching"] <= sites
    np.testing.assert_allclose(ends[4]["contact_force"], ends[49]["contact_force"], atol=2e-3)
    assert ends[4]["depth_m"] < 1e-5


def test_a_tool_that_lands_does_not_bounce():
    """A dynamic coupling, also with several substeps: the floor stops it at once."""
    n = 300
    positions = np.zeros((n, 3))
    positions[:, 2] = 2e-3 - 0.3e-3 * np.arange(n).clip(max=20)  # 0.3 m/s, down to -4 mm
    for substeps in (1, 4):
        coupling = rf.DynamicCoupling(K, 5.0, mass=0.05, inertia=1e-4, substeps=substeps)
        contact = rf.FrictionContact(floor()[0], tool(), 0.4, budget_us=1e6)
        records = run(contact, positions, coupling=coupling)
        first = int(np.argmax(records["contact_force"][:, 2] > 0.0))
        assert 0 < first < 100
        assert records["object_position"][first:, 2].max() < 5e-6
        late = records["contact_force"][first + 20 :, 2]
        np.testing.assert_allclose(late[-1], K * 4e-3, rtol=2e-3)
        assert late.min() > 0.0


def test_a_recentred_tool_forgets_its_contact():
    """The floor was pulled to one side; after the jump no force and no site is left of that."""
    n = 800
    x = np.clip((np.arange(n) - 300) * 1e-6, 0.0, 3e-4)
    made = session(rf.FrictionContact(floor()[0], tool(), 0.4, budget_us=1e6), pressed(n, x))
    assert made.run(n)["contact_force"][-1, 2] > 1.0
    made.recentre()
    records = made.run(5)
    made.close()
    assert np.abs(records["contact_force"][0]).max() == 0.0
    assert records["depth_m"].max() == 0.0
    assert np.abs(records["force"]).max() < 1e-9


def test_a_largest_depth_holds_and_bodies_take_no_part_in_motions_that_are_not_made(beam):
    """A hand that comes down fast: the limiter shortens nearly every motion."""
    model, tree = beam
    n, most = 1500, 2e-4
    down = np.minimum(np.arange(n) * 5e-4, 0.02)
    positions = np.stack([np.full(n, 0.19), np.full(n, 0.015), 0.031 + HALF - down], axis=1)
    contact = rf.FrictionContact(tree, rf.SphereField([0, 0, 0], HALF), 0.4, budget_us=1e6)
    coupling = rf.VirtualCoupling(200.0, torsional_stiffness=5.0, max_depth=most, reach=HALF)
    simulation = rf.ImplicitNewmark(model, 1e-3, damping=(20.0, 0.002), newton_max=3)
    made = session(contact, positions, coupling=coupling, simulation=simulation)
    records = made.run(n)
    touched = records["contact_force"][:, 2] > 0.0
    assert records.flagged("limited")[touched].sum() > 20
    assert records["depth_m"].max() < most
    # rests where the hand has led it, and the beam has the force of the spring
    late = records["contact_force"][-50:, 2]
    assert np.ptp(late) < 0.02 * late.mean()
    lag = records["object_position"][-1, 2] - positions[-1, 2]
    np.testing.assert_allclose(late.mean(), 200.0 * lag, rtol=0.02)
    assert records["energy_j"].max() <= 0.0


def test_clearance_does_not_shrink_by_the_distance_of_the_search():
    """In free space a depth limiter lets a fast hand lead the tool as far as without friction."""
    n = 60
    positions = np.zeros((n, 3))
    positions[:, 2] = 0.3 - 4e-3 * np.arange(n).clip(max=40)  # 4 m/s, down to 0.14 m
    lags = []
    for kind in (rf.FrictionContact, rf.PenaltyContact):
        coupling = rf.VirtualCoupling(K, torsional_stiffness=5.0, max_depth=5e-4, reach=0.03)
        records = run(kind(floor()[0], tool()), positions, coupling=coupling)
        lags.append(np.abs(records["object_position"][:, 2] - positions[:, 2]).max())
    np.testing.assert_allclose(lags[0], lags[1], rtol=1e-6)


def test_cycles_without_time_for_their_forces_are_flagged_and_reported():
    n = 400
    t = np.arange(n)
    # slips and turns: the forces change in every cycle
    x = np.where(t > 200, 2e-3 * np.sin(0.05 * t), 0.0)
    contact = rf.FrictionContact(floor()[0], tool(), 0.6, budget_us=1e-3)
    made = session(contact, pressed(n, x))
    records = made.run(n)
    report = made.report()
    made.close()
    # the time is up before the first sweep
    assert report.unsolved == records.flagged("unsolved").sum() > 0
    assert "friction not solved" in str(report)
    # in its cone, and no energy, however far the solve came
    force = records["contact_force"]
    assert np.all(np.hypot(force[:, 0], force[:, 1]) <= 0.6 * force[:, 2] * (1.0 + 1e-9) + 1e-9)
    assert records["energy_j"].max() <= 0.0
    enough = session(rf.FrictionContact(floor()[0], tool(), 0.6, budget_us=1e6), pressed(n, x))
    assert not enough.run(n).flagged("unsolved").any()
    enough.close()


@pytest.mark.parametrize("missed", [3, 12])
def test_missed_cycles_are_made_up_for(missed):
    """A tool that sticks sticks also while cycles are made up for."""
    n = 600
    x = np.clip((np.arange(n) - 300) * 1e-6, 0.0, 3e-4)
    kept = np.delete(np.arange(n), np.arange(400, 400 + missed))
    positions = pressed(n, x)
    made = session(rf.FrictionContact(floor()[0], tool(), 0.4, budget_us=1e6), positions)
    whole = made.run(n).array
    made.close()
    assert np.all(whole["contact_force"][350:, 2] > 0.0)
    records = run(rf.FrictionContact(floor()[0], tool(), 0.4, budget_us=1e6), positions[kept])
    np.testing.assert_allclose(
        records["contact_force"][-1], whole["contact_force"][-1], atol=2e-3 * K * PRESSED
    )
