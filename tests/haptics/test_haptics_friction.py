"""Friction in sessions: closed forms of a held tool, bodies that yield, what is refused."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import reducedfem as rf
from friction_sessions import HALF, PRESSED, K, floor, pressed, run, session, tool


def test_a_tool_sticks_up_to_mu_times_the_normal_force_and_slips_against_it_above():
    mu, n = 0.4, 2200
    x = np.clip((np.arange(n) - 300) * 1e-6, 0.0, None)
    records = run(rf.FrictionContact(floor()[0], tool(), mu, budget_us=1e6), pressed(n, x))
    normal = records["contact_force"][:, 2]
    ratio = -records["contact_force"][300:, 0] / normal[300:]
    np.testing.assert_allclose(normal[300:], K * PRESSED, rtol=2e-3)
    at = records["object_position"][300:, 0]
    sticks = K * x[300:] < 0.98 * mu * normal[300:]
    slips = K * x[300:] > 1.1 * mu * normal[300:]
    assert sticks.sum() > 500
    assert slips.sum() > 500
    np.testing.assert_allclose(ratio[slips], mu, rtol=1e-6)
    # a site yields by a thousandth of what the bodies do
    assert np.abs(at[sticks]).max() < 2e-3 * x[300:][sticks].max()
    np.testing.assert_allclose(ratio[sticks], K * x[300:][sticks] / normal[300:][sticks], atol=2e-3)
    # the hand feels the force of the contact, and gives energy
    np.testing.assert_allclose(
        records["force"][slips.argmax() + 600 :, 0], -mu * normal[-1], rtol=5e-3
    )
    assert records["energy_j"].max() <= 0.0


def test_a_tool_does_not_creep_under_tremor():
    n = 1000
    t = 1e-3 * np.arange(n)
    # half the force at which it slips, and a tremor of 10 Hz that stays below it
    x = np.where(t > 0.3, 4e-4 + 1e-4 * np.sin(2.0 * np.pi * 10.0 * t), 0.0)
    contact = rf.FrictionContact(floor()[0], tool(), 0.4, budget_us=1e6)
    records = run(contact, pressed(n, x))
    periods = records["object_position"][400:, 0].reshape(-1, 100).mean(axis=1)
    assert np.ptp(periods) < 1e-7
    assert records["energy_j"].max() <= 0.0


@pytest.mark.parametrize("part", [0.9, 1.1])
def test_a_tool_on_a_slope_slides_where_it_is_steeper_than_the_friction_angle(part):
    angle, n = np.arctan(0.5) * part, 1500
    tree, along, up = floor(angle)
    turn = (np.cos(0.5 * angle), 0.0, np.sin(0.5 * angle), 0.0)
    # the hand pulls straight down, as a weight would, by the same force all the time
    positions = np.zeros((n, 3)) + 1e-4 * up
    positions[:, 2] -= PRESSED * np.minimum(np.arange(n) / 200.0, 1.0)
    records = run(rf.FrictionContact(tree, tool(), 0.5, budget_us=1e6), positions, turn)
    way = (records["object_position"][-1] - records["object_position"][400]) @ along
    force = records["contact_force"][-1]
    if part < 1.0:
        assert abs(way) < 1e-7
        # the hand is so far below the place at which the tool has met the floor
        np.testing.assert_allclose(
            force, [0.0, 0.0, K * (PRESSED - 1e-4 / up[2])], rtol=2e-3, atol=1e-3
        )
    else:
        # slides until the spring is as much inclined as friction allows
        np.testing.assert_allclose(-(force @ along), 0.5 * (force @ up), rtol=1e-6)
        assert records["object_position"][-1] @ along > 1e-4


def test_without_friction_a_tool_follows_the_hand():
    n = 1000
    x = np.clip((np.arange(n) - 300) * 2e-6, 0.0, None)
    records = run(rf.FrictionContact(floor()[0], tool(), 0.0, budget_us=1e6), pressed(n, x))
    assert np.abs(records["contact_force"][300:, :2]).max() < 1e-5
    np.testing.assert_allclose(records["object_position"][400:, 0], x[400:], atol=1e-5)


@pytest.mark.parametrize("substeps", [1, 4])
def test_a_dynamic_coupling_slips_at_the_same_force(substeps):
    mu, n = 0.3, 1500
    x = np.clip((np.arange(n) - 400) * 1e-6, 0.0, None)
    coupling = rf.DynamicCoupling(K, 5.0, mass=0.1, inertia=1e-4, substeps=substeps)
    contact = rf.FrictionContact(floor()[0], tool(), mu, budget_us=1e6)
    records = run(contact, pressed(n, x), coupling=coupling)
    ratio = -records["contact_force"][1300:, 0] / records["contact_force"][1300:, 2]
    np.testing.assert_allclose(ratio, mu, rtol=1e-6)
    np.testing.assert_allclose(records["contact_force"][399, 2], K * PRESSED, rtol=2e-3)
    assert np.abs(records["object_position"][400:500, 0]).max() < 1e-5


@pytest.mark.parametrize(
    "coupling",
    [
        rf.VirtualCoupling(K, torsional_stiffness=5.0, max_speed=0.05),
        rf.DynamicCoupling(K, 5.0, mass=0.1, inertia=1e-4, max_speed=0.02),
        rf.DynamicCoupling(K, 5.0, mass=0.02, inertia=1e-4, max_speed=0.02, substeps=4),
    ],
)
def test_forces_do_not_depend_on_a_speed_limit_of_the_coupling(coupling):
    records = run(
        rf.FrictionContact(floor()[0], tool(), 0.4, budget_us=1e6), pressed(600), coupling=coupling
    )
    np.testing.assert_allclose(records["contact_force"][-1, 2], K * PRESSED, rtol=2e-3)


def test_a_site_yields_by_its_compliance():
    compliance = 1e-5
    contact = rf.FrictionContact(floor()[0], tool(), 0.4, compliance=compliance, budget_us=1e6)
    session_ = session(contact, pressed(600))
    records = session_.run(600).array
    points = records["touching"][-1]
    assert points >= 4
    np.testing.assert_allclose(records["depth_m"][-1], compliance * K * PRESSED / points, rtol=0.05)


def test_the_largest_compliance_yields():
    with pytest.warns(rf.PlausibilityWarning, match="compliance"):
        contact = rf.FrictionContact(floor()[0], tool(), 0.4, compliance=1e6, budget_us=1e6)
    records = run(contact, pressed(600))
    expected = 1e-6 * records["touching"][-1] * PRESSED
    np.testing.assert_allclose(records["contact_force"][-1, 2], expected, rtol=1e-6)
    assert not rf.HapticRecords(records).flagged("unsolved").any()


# ---- bodies that yield --------------------------------------------------------------------------


def test_a_soft_beam_yields_as_its_model_says(beam):
    """The state of rest is that of stiff penalty forces; without friction, its forces, too."""
    model, tree = beam
    ball = rf.SphereField([0, 0, 0], HALF)
    n = 4000
    down = np.minimum(np.arange(n) / 500.0, 1.0)
    positions = np.stack(
        [np.full(n, 0.15), np.full(n, 0.015), 0.03 + HALF + 1e-4 - 0.004 * down], axis=1
    )
    ends = {}
    contacts = {
        "friction": rf.FrictionContact(tree, ball, 0.5, budget_us=1e6),
        "smooth": rf.FrictionContact(tree, ball, 0.0, budget_us=1e6),
        "penalty": rf.PenaltyContact(tree, ball, 2e4, max_points=None),
    }
    for kind, contact in contacts.items():
        simulation = rf.ImplicitNewmark(model, 1e-3, damping=(20.0, 0.002), newton_max=3)
        coupling = rf.VirtualCoupling(200.0, torsional_stiffness=5.0)
        s = session(contact, positions, simulation=simulation, coupling=coupling)
        records = s.run(n).array
        ends[kind] = records[-1]["contact_force"], np.ravel(s.snapshot().q)
        late = records["contact_force"][-200:, 2]
        assert np.ptp(late) < 0.01 * late.mean()
        assert records["energy_j"].max() <= 0.0
    force, q = ends["friction"]
    smooth, expected = (model.internal_force(ends[each][1]) for each in ("smooth", "penalty"))
    np.testing.assert_allclose(smooth, expected, atol=0.05 * np.abs(expected).max())
    np.testing.assert_allclose(force[2], ends["penalty"][0][2], rtol=0.05)
    np.testing.assert_allclose(q, ends["penalty"][1], atol=0.05 * np.abs(q).max())


def test_a_held_body_that_deforms(bodies):
    """Without friction its state of rest is that of stiff penalty forces."""
    model, field, shell = bodies
    n = 2000
    positions = np.zeros((n, 3))
    positions[:, 2] = 0.0095 + 0.002 * np.minimum(np.arange(n) / 500.0, 1.0)
    ends = {}
    tree = rf.PointTree(shell)
    contacts = {
        "rough": rf.FrictionContact(tree, field, 0.5, budget_us=1e6),
        "smooth": rf.FrictionContact(tree, field, 0.0, budget_us=1e6),
        "penalty": rf.PenaltyContact(tree, field, 2e4, max_points=None),
    }
    for kind, contact in contacts.items():
        simulation = rf.ImplicitNewmark(model, 1e-3, damping=(20.0, 0.002), newton_max=3)
        s = session(contact, positions, field_simulation=simulation)
        records = s.run(n).array
        late = records["contact_force"][-200:, 2]
        assert late.mean() < 0.0  # the points push the body down
        assert np.ptp(late) < 0.02 * abs(late.mean())
        assert records["energy_j"].max() <= 0.0
        ends[kind] = late.mean(), np.ravel(s.snapshot().field_q)
    force, q = ends["penalty"]
    np.testing.assert_allclose(ends["smooth"][0], force, rtol=0.05)
    np.testing.assert_allclose(ends["smooth"][1], q, atol=0.05 * np.abs(q).max())
    # points that hold on to the body where it tilts bear more
    assert 1.0 < ends["rough"][0] / force < 2.0


def test_shorter_steps_of_a_simulation_reach_the_same_end(beam):
    model, tree = beam
    n = 3000
    down = np.minimum(np.arange(n) / 500.0, 1.0)
    positions = np.stack(
        [np.full(n, 0.15), np.full(n, 0.015), 0.03 + HALF + 1e-4 - 0.004 * down], axis=1
    )
    ends = []
    for dt in (1e-3, 5e-4):
        contact = rf.FrictionContact(tree, rf.SphereField([0, 0, 0], HALF), 0.5, budget_us=1e6)
        simulation = rf.ImplicitNewmark(model, dt, damping=(20.0, 0.002))
        coupling = rf.VirtualCoupling(200.0, torsional_stiffness=5.0)
        s = session(contact, positions, simulation=simulation, coupling=coupling)
        ends.append(s.run(n).array["contact_force"][-100:, 2].mean())
    np.testing.assert_allclose(ends[1], ends[0], rtol=0.02)


# ---- the object ---------------------------------------------------------------------------------


def test_outside_of_a_session_it_is_a_spring():
    tree, _, _ = floor()
    contact = rf.FrictionContact(tree, tool(), 0.4, compliance=1e-3)
    spring = rf.PenaltyContact(tree, tool(), 1e3, max_points=None)
    at = (0.0, 0.0, -0.001)
    assert np.array_equal(
        contact.evaluate(at, (1, 0, 0, 0)).force, spring.evaluate(at, (1, 0, 0, 0)).force
    )


def test_options_make_the_same_contact():
    contact = rf.FrictionContact(
        floor()[0], tool(), 0.3, sites=12, budget_us=50, compliance=1e-4, grasp=(0, 0, 0.01)
    )
    again = rf.FrictionContact(contact.tree, contact.field, **contact.options)
    for one in (again, copy.copy(contact)):
        assert {k: str(v) for k, v in one.options.items()} == {
            k: str(v) for k, v in contact.options.items()
        }
    assert contact.mu == 0.3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mu": -0.1}, "mu must be a coefficient between 0 and 1e[+]09, got -0.1"),
        ({"mu": np.nan}, "mu"),
        ({"mu": 2e9}, "mu must be a coefficient between 0 and 1e[+]09, got 2e[+]09"),
        ({"sites": 0}, "sites must be between 1 and 256, got 0"),
        ({"sites": 257}, "sites must be between 1 and 256, got 257"),
        ({"budget_us": 0.0}, "budget_us must be finite and positive, got 0"),
        ({"compliance": 0.0}, "compliance must be positive, at most 1e[+]06 m/N, or None, got 0"),
        ({"compliance": 1e300}, "compliance must be .* at most 1e[+]06 m/N, or None, got 1e[+]300"),
    ],
)
def test_wrong_arguments_are_refused(change, message):
    with pytest.raises(rf.InputError, match=message):
        rf.FrictionContact(floor()[0], tool(), **change)


def test_improbable_coefficients_are_doubted():
    for mu, message in (
        (30.0, "^mu is 30: is it in degrees or per cent"),
        (2e4, "^mu is 20000: is it a stiffness[?] The third argument of FrictionContact is mu"),
    ):
        with pytest.warns(rf.PlausibilityWarning, match=message) as caught:
            made = rf.FrictionContact(floor()[0], tool(), mu)
        assert [one.filename for one in caught] == [__file__]
        copy.copy(made)  # without a warning, which would be an error


def test_a_compliance_that_may_be_a_stiffness_is_doubted():
    rf.FrictionContact(floor()[0], tool(), compliance=0.1)
    said = "compliance is 1000 m/N: .* 1000 m under 1 N. Is it a stiffness[?] .* 1 / stiffness, 0.0"
    with pytest.warns(rf.PlausibilityWarning, match=said) as caught:
        made = rf.FrictionContact(floor()[0], tool(), compliance=1000.0)
    assert [one.filename for one in caught] == [__file__]
    copy.copy(made)  # without a warning, which would be an error


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("stiffness", "has no stiffness, .* PenaltyContact: .* give a compliance"),
        ("max_points", "has no max_points, .* PenaltyContact: .* sites"),
        ("area_weights", "has no area_weights, .* PenaltyContact: .* no weights"),
        ("friction", "has no argument 'friction'; .*; did you mean 'mu'"),
        ("site", "has no argument 'site'; its arguments are tree, .*; did you mean 'sites'"),
    ],
)
def test_options_of_other_contacts_are_refused_with_a_reason(name, message):
    with pytest.raises(rf.InputTypeError, match=f"^FrictionContact {message}"):
        rf.FrictionContact(floor()[0], tool(), **{name: 1})


def test_contacts_of_two_kinds_are_refused():
    field = tool()
    one, other = rf.FrictionContact(floor()[0], field), rf.PenaltyContact(floor()[0], field)
    with pytest.raises(rf.InputError, match="contact 1 has no friction"):
        session([one, other], pressed(10))
    third = rf.FrictionContact(floor()[0], field, compliance=1e-4)
    with pytest.raises(rf.InputError, match="contact 1 has the compliance 0.0001 m/N"):
        session([one, third], pressed(10))
    with pytest.raises(rf.InputError, match=r"contact 1 has the compliance None, contact 0 0.0001"):
        session([third, one], pressed(10))


def test_steps_in_contact_refuse_it(beam):
    model, tree = beam
    contact = rf.FrictionContact(tree, rf.SphereField([0, 0, 0], HALF))
    with pytest.raises(rf.InputTypeError, match="haptic sessions only"):
        rf.ImplicitNewmark(model, 1e-3).step(contact=contact, position=(0, 0, 0.1))
