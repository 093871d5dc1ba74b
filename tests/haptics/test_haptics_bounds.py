"""Bodies that go farther than bodies do end a session, or a simulation, as diverged."""

from __future__ import annotations

import re

import numpy as np
import pytest

import reducedfem as rf
from bars import UPRIGHT, bar, top_of
from haptic_sessions import Listener, held, session
from reducedfem import _core

FARTHEST = 30.0  # RF_MOTION_FARTHEST in csrc/dynamics/motion.h
PRESSED = [0.18, 0.015, 0.04]
AWAY = (0.0, 0.0, 1.0)


@pytest.fixture(scope="module")
def beam():
    model = bar(r=6)
    return model, top_of(model)


def bounds_of(reduced):
    """Return the largest displacement of a node by each vector, and the length of the body."""
    return (
        np.linalg.norm(reduced.basis, axis=2).max(axis=1),
        np.linalg.norm(np.ptp(reduced.mesh.nodes, axis=0)),
    )


def swung(reduced, lengths):
    """Return a simulation that goes so many body lengths in its first step."""
    reach, length = bounds_of(reduced)
    simulation = rf.ImplicitNewmark(reduced, 1e-3)
    speed = 1e3 * lengths * length / reach[0]
    simulation.reset(qdot=speed * np.eye(reduced.r)[0], qddot=np.zeros(reduced.r))
    return simulation


def limp(reduced):
    """Return the body with next to no stiffness."""
    coefficients = 1e-9 * reduced.coefficients
    core = _core.Reduced(reduced.basis, reduced.mass, coefficients, 0, reduced.mesh.nodes)
    return rf.ReducedSolid(core, reduced.mesh, reduced.fixed, reduced.provenance)


def message_of(who, length, remedy="softer contact"):
    return re.compile(
        rf"^{who} diverged at t = 0 s: the body would be displaced by up to ([\d.e+]+) m, more "
        rf"than 30 times its length of {length:.3g} m; the state before this step is kept; try "
        f"{remedy}, more damping or a shorter step$"
    )


def contact_of(tree):
    return rf.PenaltyContact(tree, rf.SphereField((0, 0, 0), 0.02), 300.0)


@pytest.mark.parametrize("coupled", [True, False])
@pytest.mark.parametrize("steps", [1, 2])
def test_a_body_that_flies_away_ends_the_session(beam, coupled, steps):
    """The failure is reported without a force, and the state is that before the step."""
    reduced, tree = beam
    _, length = bounds_of(reduced)
    soft = limp(reduced)
    simulation = rf.ImplicitNewmark(soft, 1e-3 / steps)
    simulation.reset(qdot=swung(soft, 40.0 * steps).state.qdot, qddot=np.zeros(soft.r))
    device = rf.ReplayDevice([0.0, 10.0], [PRESSED] * 2)
    made = session(contact_of(tree), device, simulation=simulation, coupled=coupled)
    expected = message_of("cycle 0: the simulation of contact 0", length)
    with pytest.raises(rf.DivergedError, match=expected) as failure:
        made.run(5000)
    match = expected.match(str(failure.value))
    assert float(match[1]) == pytest.approx(40.0 * length, rel=0.1)
    report = made.report()
    assert (report.phase, report.failure) == ("failed", str(failure.value))
    records = made.records(drain=True)
    assert records.flagged("diverged").nonzero()[0].tolist() == [len(records) - 1]
    assert not records["force"][-1].any()
    assert not records["torque"][-1].any()
    made.close()
    assert not simulation.state.q.any()


def test_no_force_is_left_when_a_body_flies_away(beam, ball):
    """Another body is pressed meanwhile: its force has gone out, and is taken back."""
    reduced, tree = beam
    listener = Listener()
    contacts = [ball, rf.PenaltyContact(tree, ball.field, 300.0)]
    simulation = swung(limp(reduced), 40.0)
    made = session(contacts, listener.device, simulation=[None, simulation], coupled=False)
    why, wrenches = listener.ran(made, (0.0, 0.0, 0.014), 5000)
    assert "the simulation of contact 1 diverged" in why
    assert max(wrench[2] for wrench in wrenches) > 0.1
    assert wrenches[-1] == (0.0,) * 6
    made.close()


@pytest.mark.parametrize(("young", "k"), [(3e5, 500.0), (3e6, 2000.0)])
def test_contact_too_stiff_for_the_mass_is_reported(young, k):
    """A light body bounces on explicit contact for ever; the report gives advice."""
    model = bar(young, 30.0, r=6)
    contact = rf.PenaltyContact(top_of(model), rf.SphereField((0, 0, 0), 0.02), warm_nodes=None)
    hand = rf.ReplayDevice([0.0, 0.2, 9.0], [[0.18, 0.015, 0.055], PRESSED, PRESSED])
    simulation = rf.ImplicitNewmark(model, 2e-3, damping=(0.0, 1e-4))
    made = session(
        contact, hand, simulation=simulation, rate=500.0, coupled=False,
        coupling=rf.VirtualCoupling(k, 0.3),
    )  # fmt: skip
    records = made.run(seconds=4.0)
    report = made.report()
    made.close()
    assert report.shortened == records.flagged("shortened").sum() > 0.01 * report.ticks
    assert any("the period was too long" in sentence for sentence in report.advice)


@pytest.mark.parametrize(("young", "k"), [(3e5, 500.0), (3e6, 2000.0)])
def test_an_unstable_body_ends_the_session(young, k):
    """A scheme that adds energy in every step, and contact that sets the body in motion."""
    model = bar(young, 30.0, r=6)
    tree = top_of(model)
    contact = rf.PenaltyContact(tree, rf.SphereField((0, 0, 0), 0.02), warm_nodes=None)
    hand = rf.ReplayDevice([0.0, 0.2, 9.0], [[0.18, 0.015, 0.055], PRESSED, PRESSED])
    simulation = rf.ImplicitNewmark(model, 2e-3, beta=0.5, gamma=0.0)
    made = session(
        contact, hand, simulation=simulation, rate=500.0, coupled=False,
        coupling=rf.VirtualCoupling(k, 0.3),
    )  # fmt: skip
    with pytest.raises(rf.DivergedError, match="the simulation of contact 0 diverged at t = "):
        made.run(seconds=9.0)
    records = made.records(drain=True)
    assert records["force"].any()
    assert not records["force"][-1].any()
    assert np.isfinite(records["force"]).all()
    made.close()
    reach, length = bounds_of(model)
    assert np.abs(simulation.state.q) @ reach < FARTHEST * length


def test_a_held_body_that_flies_away_ends_the_session(beam):
    _, tree = beam
    held_body = bar(2e6, r=6)
    rest = rf.DistanceField.from_field(rf.BoxField((0, 0, 0), (0.2, 0.03, 0.03)), 16, expand=1.4)
    contact = rf.PenaltyContact(tree, rf.DeformedField(rest, held_body, 8), 300.0)
    _, length = bounds_of(held_body)
    made = session(
        contact, rf.ReplayDevice(*held(0.2)), simulation=rf.ImplicitNewmark(beam[0], 1e-3),
        field_simulation=swung(limp(held_body), 40.0),
    )  # fmt: skip
    with pytest.raises(rf.DivergedError, match=message_of("cycle 0: field_simulation", length)):
        made.run(10)
    made.close()


def test_displacements_beyond_the_bound_are_refused(beam, ball):
    reduced, tree = beam
    reach, length = bounds_of(reduced)
    contacts = [ball, rf.PenaltyContact(tree, ball.field, 300.0)]
    simulation = rf.ImplicitNewmark(reduced, 1e-3)
    device = rf.ReplayDevice(*held(0.03))
    for lengths in (FARTHEST + 1.0, 1e100):
        q = np.eye(reduced.r)[2] * lengths * length / reach[2]
        simulation.reset(q, qddot=np.zeros(reduced.r))
        with pytest.raises(
            rf.InputError,
            match=r"^the simulation of contact 1 displaces its body by up to [\de+.]+ m, more than "
            r"30 times its length of .* m: reset it$",
        ):
            session(contacts, device, simulation=[None, simulation])
    simulation.reset()
    session(contacts, device, simulation=[None, simulation]).close()


def twice(reduced):
    """Return coordinates that displace a node by two body lengths, each vector by as much."""
    reach, length = bounds_of(reduced)
    q = 1.0 / reach
    return q * 2.0 * length / np.linalg.norm(reduced.displacement(q), axis=1).max()


def test_bodies_may_be_displaced_by_twice_their_length(beam):
    reduced, tree = beam
    soft = limp(reduced)
    simulation = rf.ImplicitNewmark(soft, 1e-3, damping=(1.0, 0.0))
    simulation.reset(twice(soft), qddot=np.zeros(reduced.r))
    made = session(contact_of(tree), rf.ReplayDevice(*held(0.03)), simulation=simulation)
    assert len(made.run(100)) == 100
    assert made.report().phase != "failed"
    made.close()
    _, length = bounds_of(soft)
    far = np.linalg.norm(soft.displacement(simulation.state.q), axis=1).max()
    assert far > 1.5 * length
    # and outside of sessions
    simulation.step(n=10, contact=contact_of(tree), position=AWAY, quaternion=UPRIGHT)


# by coarse steps, displaced by less than the bound, but far more than the body is long
@pytest.mark.filterwarnings("ignore:the model is deformed by:reducedfem.PlausibilityWarning")
@pytest.mark.filterwarnings("ignore:dt = .* steps per period:reducedfem.PlausibilityWarning")
def test_steps_without_contact_diverge_at_the_same_bound(beam):
    """Reported at the end of a call, in the words of a session; below the bound not at all."""
    reduced, _ = beam
    _, length = bounds_of(reduced)
    expected = message_of("the simulation", length, "smaller forces")
    simulation = swung(limp(reduced), 40.0)
    with pytest.raises(rf.DivergedError, match=expected):
        simulation.step()
    assert not simulation.state.q.any()
    simulation = swung(limp(reduced), 20.0)
    simulation.step()
    assert simulation.state.q.any()
    # an absurd load that leaves all numbers finite; beyond 1e11 N rounding decides how far a
    # guarded increment leads
    simulation = rf.ImplicitNewmark(reduced, 0.1)
    force = np.zeros_like(reduced.mesh.nodes)
    force[-1, 2] = 1e10
    with pytest.raises(rf.DivergedError, match=expected):
        simulation.step(force)
    assert not simulation.state.q.any()
    simulation.step(1e-7 * force, 3)


def test_free_bodies_fly_far_but_do_not_deform_far(beam):
    solid = rf.Solid(beam[0].mesh, rf.StVK(1e5, 0.4, 1000.0))
    free = rf.reduce(solid, rf.modal_derivative_basis(solid, 3, 4, progress=False))
    body = rf.FreeBody(free, 1e-3, gravity=(0.0, 0.0, -9.81))
    body.reset(velocity=(1e6, 0.0, 0.0))
    body.step(n=100)
    assert body.state.position[0] > 1e4
    force = np.zeros_like(free.mesh.nodes)
    force[-1, 2] = 1e12
    with pytest.raises(rf.DivergedError, match="body 0: the deformation diverged at .*30 times"):
        body.step(force)


def test_nearly_parallel_vectors_count_by_their_difference(beam):
    """Large coordinates that cancel are no displacement."""
    reduced, tree = beam
    reach, length = bounds_of(reduced)
    solid = rf.Solid(reduced.mesh, rf.StVK(1e6, 0.4, 1000.0), fixed=reduced.fixed)
    u, v = reduced.basis[:2]
    soft = limp(rf.reduce(solid, np.array([u, u + 0.003 * v])))
    q = np.array([-1.0, 1.0]) * 0.15 * length / (0.003 * reach[1])
    far = np.linalg.norm(soft.displacement(q), axis=1).max()
    assert far == pytest.approx(0.15 * length)
    assert np.abs(q) @ bounds_of(soft)[0] > FARTHEST * length
    simulation = rf.ImplicitNewmark(soft, 1e-3)
    simulation.reset(q, qddot=np.zeros(2))
    tree = rf.PointTree(tree.shell, soft)
    simulation.step(contact=contact_of(tree), position=AWAY, quaternion=UPRIGHT)
    session(contact_of(tree), rf.ReplayDevice(*held(0.03)), simulation=simulation).close()


def test_steps_in_contact_have_the_same_bound(beam):
    reduced, tree = beam
    _, length = bounds_of(reduced)
    soft = limp(reduced)
    simulation = swung(soft, 40.0)
    before = simulation.state
    with pytest.raises(rf.DivergedError, match=message_of("the simulation", length)):
        simulation.step(n=3, contact=contact_of(tree), position=PRESSED, quaternion=UPRIGHT)
    assert simulation.state.time == 0.0
    np.testing.assert_array_equal(simulation.state.qdot, before.qdot)
    simulation.reset()
    simulation.step(n=3, contact=contact_of(tree), position=AWAY, quaternion=UPRIGHT)
    assert simulation.state.time > 0.0


def test_loaded_truncated_and_edited_models_have_the_same_bound(beam, tmp_path):
    reduced, tree = beam
    path = tmp_path / "beam.safetensors"
    reduced.save(path)
    solid = rf.Solid(reduced.mesh, rf.StVK(1e6, 0.4, 1000.0), fixed=reduced.fixed)
    edited = rf.reduce(solid, reduced.basis, editable=True).edit({0: rf.StVK(2e6, 0.4, 10.0)})
    for model in (rf.load(path), reduced.truncate(4), edited):
        simulation = rf.ImplicitNewmark(model, 1e-3)
        simulation.reset(1e3 * twice(model), qddot=np.zeros(model.r))
        contact = contact_of(rf.PointTree(tree.shell, model))
        with pytest.raises(rf.InputError, match="more than 30 times its length of 0.204 m"):
            session(contact, rf.ReplayDevice(*held(0.03)), simulation=simulation)
    # the core alone, without nodes, knows no length
    core = _core.Reduced(reduced.basis, reduced.mass, reduced.coefficients)
    model = rf.ReducedSolid(core, reduced.mesh, reduced.fixed, reduced.provenance)
    simulation = rf.ImplicitNewmark(model, 1e-3)
    simulation.reset(1e3 * twice(model), qddot=np.zeros(reduced.r))
    session(
        contact_of(rf.PointTree(tree.shell, model)), rf.ReplayDevice(*held(0.03)),
        simulation=simulation,
    ).close()  # fmt: skip


def test_nodes_are_those_of_the_basis(beam):
    model = beam[0]
    arrays = model.basis, model.mass, model.coefficients
    with pytest.raises(rf.InputError, match="nodes"):
        _core.Reduced(*arrays, 0, model.mesh.nodes[1:])
