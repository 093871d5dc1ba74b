"""Contact outside of sessions: stiffness by compliance, implicit steps, against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from bars import SIZE, UPRIGHT, bar, top_of
from failures import fail_each_allocation
from shapes import box_hexes
from test_coupled import coefficients

BALL = rf.SphereField((0.0, 0.0, 0.0), 0.02)


@pytest.fixture(scope="module")
def beam():
    model = bar()
    return model, top_of(model)


def compliance(model, tree):
    """Return n^T U K^-1 U^T n of the points."""
    rest, normals = tree.positions(np.zeros(model.r)), tree.shell.normals
    rows = np.stack(
        [np.sum((tree.positions(e) - rest) * normals, axis=1) for e in np.eye(model.r)], axis=1
    )
    return np.einsum("ki,ij,kj->k", rows, np.linalg.inv(model.stiffness(np.zeros(model.r))), rows)


def rule(c, more=0.0):
    """Return stiffnesses of compliances."""
    sorted_c = np.sort(c)
    pressed = sorted_c[sorted_c > 1e-3 * sorted_c[-1]] if sorted_c[-1] > 0.0 else sorted_c[-1:]
    least = 0.2 * pressed[int(0.1 * (len(pressed) - 1))]
    return 30.0 / (np.maximum(c, least) + more)


def test_stiffness_is_that_of_the_compliance(beam):
    model, tree = beam
    contact = rf.PenaltyContact(tree, BALL)
    assert contact.stiffness == "auto"
    c = compliance(model, tree)
    np.testing.assert_allclose(contact.stiffnesses, rule(c), rtol=1e-5)
    # clamped regions are stiffer than pressed ones by a bounded factor
    assert c.min() < 1e-6 * c.max()
    assert contact.stiffnesses.max() < 1e4 * contact.stiffnesses.min()
    out = contact.evaluate((0.18, 0.015, 0.048), UPRIGHT, np.zeros(model.r), contacts=True)
    sizes = np.linalg.norm(out.contacts.forces, axis=1)
    scale = min(1.0, 10.0 / out.touching)
    own = contact.stiffnesses[out.contacts.indices]
    np.testing.assert_allclose(sizes, scale * own * np.abs(out.contacts.distances), rtol=1e-9)


def test_fields_that_deform_add_their_compliance(beam):
    model, tree = beam
    held = bar(2e6, r=6)
    box = rf.BoxField((0.0, 0.0, 0.0), SIZE).offset(0.002)
    field = rf.DeformedField(rf.DistanceField.from_field(box, 40, expand=1.4), held)
    inverse = np.linalg.inv(held.stiffness(np.zeros(held.r)))
    mean = []
    for proxy in range(len(field.proxies)):
        rows = np.stack([field.project([proxy], [axis]) for axis in np.eye(3)])
        mean.append(np.einsum("ai,ij,aj->", rows, inverse, rows) / 3.0)
    more = np.sort(mean)[len(mean) // 2]
    both = rf.PenaltyContact(tree, field).stiffnesses
    np.testing.assert_allclose(both, rule(compliance(model, tree), more), rtol=1e-5)
    rigid = rf.PenaltyContact(rf.PointTree(tree.shell), field).stiffnesses
    np.testing.assert_allclose(rigid, 30.0 / more, rtol=1e-5)


def test_free_bodies_count_by_their_elastic_coordinates():
    mesh = rf.Mesh(*box_hexes(8, 2, 2, SIZE))
    solid = rf.Solid(mesh, rf.StVK(1e5, 0.4, 1000.0))
    modes = solid.linear_modes(4, rigid=True).shapes
    model = rf.reduce(solid, modes)
    tree = top_of(model, (12, 4))
    k = rf.PenaltyContact(tree, BALL).stiffnesses
    assert np.isfinite(k).all()
    # six rigid motions among its coordinates yield to any force, and count for nothing
    elastic = rf.reduce(solid, modes[6:])
    np.testing.assert_allclose(k, rf.PenaltyContact(top_of(elastic, (12, 4)), BALL).stiffnesses,
                               rtol=1e-4)  # fmt: skip


def test_rigid_bodies_have_a_number(beam):
    rigid = rf.PenaltyContact(rf.PointTree(beam[1].shell), BALL)
    assert (rigid.stiffnesses == 1000.0).all()
    assert (rf.PenaltyContact(rigid.tree, BALL, 70.0).stiffnesses == 70.0).all()
    with pytest.raises(rf.InputError, match='stiffness must be a number or "auto", got .stiff.'):
        rf.PenaltyContact(rigid.tree, BALL, "stiff")


def by_hand(model, contact, poses, h, damping, external):
    """Return q and forces after Newmark's steps, in NumPy."""
    q, v, a = np.zeros((3, model.r))
    m, forces = model.mass, []
    a = np.linalg.solve(m, 0.0 * q)
    for place in poses:
        found = contact.evaluate(place, UPRIGHT, q)
        stiffness = -contact.derivatives(place, UPRIGHT, q)[2]
        k = model.stiffness(q)
        c = damping[0] * m + damping[1] * k
        a1, a2, a3, a4, a5, a6 = coefficients(h, found.touching > 0)
        acc, vel = -a2 * v - a3 * a, a5 * v + a6 * a
        residual = m @ acc + c @ vel + model.internal_force(q) - found.reduced_force - external
        matrix = a1 * m + a4 * c + k + stiffness
        dq = np.linalg.solve(matrix, -residual)
        q, v, a = q + dq, a4 * dq + vel, a1 * dq + acc
        forces.append(found.force)
    return q, np.array(forces)


def test_steps_are_those_of_the_formula(beam):
    model, tree = beam
    h, damping = 1e-3, (2.0, 1e-3)
    way = np.stack([np.full(80, 0.17), np.full(80, 0.015), np.linspace(0.0505, 0.046, 80)], axis=1)
    external = 1e-3 * np.arange(model.r)
    q, forces = by_hand(model, rf.PenaltyContact(tree, BALL), way, h, damping, external)
    sim = rf.ImplicitNewmark(model, h, damping)
    contact = rf.PenaltyContact(tree, BALL)
    out = sim.step(external, contact=contact, position=way, quaternion=UPRIGHT)
    assert out.touching[-1] > 3
    np.testing.assert_allclose(out.force, forces, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(sim.state.q, q, rtol=1e-6, atol=1e-12)
    assert sim.state.time == pytest.approx(80 * h)
    # one by one, by poses, or at once
    again, alone = rf.ImplicitNewmark(model, h, damping), rf.PenaltyContact(tree, BALL)
    for place in way[:40]:
        again.step(external, contact=alone, position=rf.Pose(place))
    again.step(external, contact=alone, position=[rf.Pose(place) for place in way[40:]])
    np.testing.assert_array_equal(again.state.q, sim.state.q)


@pytest.mark.filterwarnings("ignore:the density is 5:reducedfem.PlausibilityWarning")
@pytest.mark.parametrize("density", [1000.0, 5.0])
@pytest.mark.parametrize("young", [3e3, 3e6])
def test_a_pressed_body_comes_to_rest(young, density):
    """With the right depth: contact is 30 times as stiff as the body."""
    model = bar(young, density)
    contact = rf.PenaltyContact(top_of(model), BALL, warm_nodes=None)
    omega = np.sqrt(np.linalg.eigvals(np.linalg.solve(model.mass, model.stiffness(np.zeros(9)))))
    sim = rf.ImplicitNewmark(model, 1e-3, damping=(1.4 * omega.real.min(), 5e-5))
    down = np.linspace(0.051, 0.047, 200)
    way = np.stack([np.full(200, 0.19), np.full(200, 0.015), down], axis=1)
    sim.step(contact=contact, position=way, quaternion=UPRIGHT)
    wait = int(max(500, 20e3 / omega.real.min()))
    rest = sim.step(n=wait, contact=contact, position=way[-1], quaternion=UPRIGHT)
    last = rest.force[-200:, 2]
    assert np.std(last) < 1e-3 * np.mean(last)
    assert rest.touching[-1] > 0
    # the part of the way that contact takes
    assert rest.depth[-1] < 3.0 / 31.0 * 0.003


def test_mistakes(beam):
    model, tree = beam
    sim, contact = rf.ImplicitNewmark(model, 1e-3), rf.PenaltyContact(tree, BALL)
    other = bar(r=8)
    rigid = rf.PenaltyContact(rf.PointTree(tree.shell), BALL)
    solid = rf.Solid(model.mesh, rf.StVK(1e6, 0.4, 1e3), fixed=[0])
    for run, error, message in (
        (lambda: sim.step(position=(0, 0, 1)), rf.InputError, "position is given without contact"),
        (lambda: sim.step(contact=3, position=(0, 0, 1)), rf.InputTypeError, "be a contact"),
        (lambda: sim.step(contact=contact), rf.InputTypeError, "position is missing"),
        (lambda: sim.step(contact=contact, position=(0, 0, 1)), rf.InputTypeError, "quaternions? "),
        (lambda: sim.step(contact=rigid, position=rf.Pose()), rf.InputError, "tree is rigid"),
        (
            lambda: rf.ImplicitNewmark(other, 1e-3).step(contact=contact, position=rf.Pose()),
            rf.InputError, "another model than that of the simulation",
        ),
        (
            lambda: rf.ImplicitNewmark(solid, 1e-3).step(contact=contact, position=rf.Pose()),
            rf.InputTypeError, "of a ReducedSolid, got one of Solid",
        ),
        (
            lambda: sim.step(n=3, contact=contact, position=[rf.Pose()] * 2),
            rf.InputError, "n is 3, but position has 2 poses",
        ),
        (
            lambda: sim.step(contact=contact, position=rf.Pose(), field_q=[1.0]),
            rf.InputError, "field_q is given, but the field does not deform",
        ),
        (
            lambda: sim.step(contact=contact, position=(0, 0, 1), quaternion=(2, 0, 0, 0)),
            rf.InputError, "has norm 2",
        ),
    ):  # fmt: skip
        with pytest.raises(error, match=message):
            run()
    assert sim.state.time == 0.0
    assert len(sim.step(n=0, contact=contact, position=rf.Pose()).force) == 0


def test_memory_that_runs_out(beam):
    model, tree = beam
    sim, contact = rf.ImplicitNewmark(model, 1e-3), rf.PenaltyContact(tree, BALL)
    fail_each_allocation(lambda: rf.PenaltyContact(tree, BALL), 20)
    fail_each_allocation(
        lambda: sim.step(contact=contact, position=(0.18, 0.015, 0.048), quaternion=UPRIGHT), 3
    )


# ---- sessions


def recorded(contact, **options):
    """Return the records of a session that presses the ball on the tip, which stays at rest."""
    places = [[0.18, 0.015, z] for z in (0.052, 0.045, 0.045)]
    hand = rf.ReplayDevice([0.0, 0.2, 9.0], places)
    session = rf.HapticSession(
        contact, hand, coupling=rf.VirtualCoupling(500.0, 0.3), simulation=[None], budget_us=0.0,
        **options,
    )  # fmt: skip
    records = session.run(300)
    session.close()
    return records


def expected(contact, records):
    """Return forces of a contact at the poses at which the session searched."""
    poses = zip(records["object_position"], records["object_quaternion"], strict=True)
    rest = np.zeros(contact.tree.r)
    return np.array([contact.evaluate(*pose, rest).force for pose in list(poses)[:-1]])


@pytest.mark.parametrize("direction", ["gradient", "normal"])
@pytest.mark.parametrize("stiffness", ["auto", 300.0])
def test_contact_is_the_same_in_a_session_as_elsewhere(beam, stiffness, direction):
    """A session with auto_stiffness="contact" changes no setting: all cycles agree to the bit."""
    contact = rf.PenaltyContact(beam[1], BALL, stiffness, None, direction=direction)
    records = recorded(contact, auto_stiffness="contact")
    found = records["contact_force"][1:]
    assert (np.linalg.norm(found, axis=1) > 0.0).sum() > 100
    np.testing.assert_array_equal(found, expected(contact, records))


def test_automatic_stiffness_follows_the_coupling_of_a_session_by_default(beam):
    contact = rf.PenaltyContact(beam[1], BALL, "auto", None)
    records = recorded(contact)
    suited = rf.PenaltyContact(beam[1], BALL, 20.0 * 500.0, None)
    np.testing.assert_array_equal(records["contact_force"][1:], expected(suited, records))
    for name in ("coupling", "contact"):
        same = recorded(suited, auto_stiffness=name)
        np.testing.assert_array_equal(records["contact_force"], same["contact_force"])


def test_sessions_know_two_automatic_stiffnesses(beam):
    with pytest.raises(rf.InputError, match="auto_stiffness must be .coupling. or .contact."):
        recorded(rf.PenaltyContact(beam[1], BALL), auto_stiffness="body")
