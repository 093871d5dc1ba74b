"""Use of `BarrierContact`: refusals, copies, failing steps."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import reducedfem as rf
from bars import bar, top_of
from calls import IMPLICIT
from motions import COMMON, check_copies
from shapes import box_tets

FLOOR = rf.PlaneField([0.0, 0.0, -0.02], [0.0, 0.0, 1.0])


def cube() -> rf.Solid:
    return rf.Solid(rf.Mesh(*box_tets(2, 2, 2, (0.1,) * 3)), rf.StableNeoHookean(1e5, 0.3, 1000.0))


def falling(contact=None, **kwargs) -> rf.BackwardEuler:
    contact = contact or rf.BarrierContact(FLOOR)
    sim = rf.BackwardEuler(
        cube(), 5e-3, newton_max=50, contact=contact, gravity=[0, 0, -9.81], **kwargs
    )
    sim.reset(qdot=np.tile([1.0, 0.0, -2.0], (sim.system.mesh.n_nodes, 1)))
    return sim


REFUSING = {k: v for k, v in IMPLICIT.items() if k not in ("BackwardEuler", "BDF2")}


@pytest.mark.parametrize("kind", REFUSING.values())
def test_integrators_that_ring_refuse_barriers(kind):
    with pytest.raises(rf.InputError, match=f"{kind.__name__} takes no BarrierContact, as .*; use"):
        kind(cube(), 1e-3, newton_max=50, contact=rf.BarrierContact(FLOOR))


def test_integrators_that_cross_refuse_barriers():
    contact = rf.BarrierContact(FLOOR)
    with pytest.raises(rf.InputError, match="explicit step .* crosses it; use BackwardEuler"):
        rf.CentralDifferences(cube(), contact=contact)
    with pytest.raises(rf.InputError, match="newton_max is 1: .* take newton_max=50"):
        rf.BackwardEuler(cube(), 1e-3, contact=contact)
    with pytest.raises(rf.InputError, match="contact: SBDF2 makes one iteration"):
        rf.integrator("SBDF2", cube(), 1e-3, contact=contact)
    assert rf.integrator("BE", cube(), 1e-3, contact=contact).contact_state is not None


def test_steps_without_balance_are_reported():
    """Once a reset; a good step is silent."""
    contact = rf.BarrierContact(FLOOR)
    fall = {"contact": contact, "gravity": (0.0, 0.0, -9.81)}
    sim = rf.BackwardEuler(cube(), 1e-3, newton_max=2, tol=1e-12, **fall)
    sim.reset(qdot=np.tile([0.0, 0.0, -5.0], (len(sim.displacement), 1)))
    with pytest.warns(rf.PlausibilityWarning, match="did not reach the balance of forces"):
        sim.step(n=40)
    sim.step(n=5)


def test_the_core_refuses_what_the_package_does():
    from reducedfem import _core

    solid = cube()
    contact = rf.BarrierContact(FLOOR)
    rf.BackwardEuler(solid, 1e-3, newton_max=50, contact=contact)
    barrier = contact._bound[3]
    settings = {**COMMON, "newton_max": 50, "exact": 0, "modes": 0}

    def motion(scheme, system, **changes):
        _core.Motion(scheme, system, (0.0, 0.0), settings | changes, 1, None, None, barrier)

    with pytest.raises(rf.InputError, match="not for steps of trbdf2"):
        motion("trbdf2", solid._core)
    with pytest.raises(rf.InputError, match="newton_max is 1"):
        motion("bdf2", solid._core, newton_max=1)
    with pytest.raises(rf.InputError, match="exact is 2: exponentials may cross a barrier"):
        motion("bdf2", solid._core, exact=2)
    with pytest.raises(rf.InputError, match="exact is 2, but with contact no modes"):
        rf.BDF2(solid, 1e-3, newton_max=50, contact=contact, exact=2)
    with pytest.raises(rf.InputError, match="ExponentialEuler takes no BarrierContact"):
        rf.ExponentialEuler(solid, 1e-3, contact=contact)
    with pytest.raises(rf.InputError, match="of another system"):
        motion("bdf2", bar()._core)
    with pytest.raises(rf.InputError, match="nodes must ascend"):
        _core.Barrier((FLOOR._core,), solid.mesh.nodes, np.array([1, 1], np.int32),
                      {"distance": 1.0, "stiffness": 1.0, "friction": 0.0, "slip": 1.0,
                       "lagged": True})  # fmt: skip
    with pytest.raises(rf.InputError, match="slip must be finite and positive, got 0"):
        _core.Barrier((FLOOR._core,), solid.mesh.nodes, np.array([1], np.int32),
                      {"distance": 1.0, "stiffness": 1.0, "friction": 0.0, "slip": 0.0,
                       "lagged": True})  # fmt: skip


def test_other_systems_and_contacts_are_refused():
    contact = rf.BarrierContact(FLOOR)
    model = bar()
    with pytest.raises(
        rf.InputTypeError, match="got a system of type SecondOrderSystem, which has none"
    ):
        rf.BackwardEuler(
            rf.SecondOrderSystem(np.eye(3), np.eye(3)), 1e-3, newton_max=50, contact=contact
        )
    shell = rf.Pointshell([[0.0, 0, 0]] * 4, [[0.0, 0, 1.0]] * 4)
    penalty = rf.PenaltyContact(rf.PointTree(shell), FLOOR, 100.0)
    with pytest.raises(rf.InputTypeError, match="got PenaltyContact; a PenaltyContact goes to"):
        rf.BackwardEuler(cube(), 1e-3, newton_max=50, contact=penalty)
    sim = rf.BackwardEuler(model, 1e-3)
    with pytest.raises(rf.InputTypeError, match="BarrierContact, whose barrier only steps of many"):
        sim.step(contact=contact, position=[0, 0, 0], quaternion=[1, 0, 0, 0])
    hand = rf.ReplayDevice([0.0, 1.0], np.zeros((2, 3)))
    coupling = rf.VirtualCoupling(100.0, 0.1)
    with pytest.raises(rf.InputTypeError, match="only steps of many .* BackwardEuler"):
        rf.HapticSession(contact, hand, coupling=coupling)
    # nor simulations that have one
    low = rf.BarrierContact(rf.PlaneField([0.0, 0.0, -1.0], [0.0, 0.0, 1.0]))
    sim = rf.BackwardEuler(model, 1e-3, newton_max=50, contact=low)
    soft = rf.PenaltyContact(top_of(model), rf.SphereField([0, 0, 0], 0.02), 100.0)
    with pytest.raises(rf.InputError, match="simulation has a BarrierContact, whose iterations"):
        rf.HapticSession(soft, hand, coupling=coupling, simulation=sim)
    with pytest.raises(rf.InputError, match="simulation has a BarrierContact"):
        sim.step(contact=soft, position=[0.0, 0.0, 1.0], quaternion=[1.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"distance": 0.0}, "distance must be positive, got 0"),
        ({"stiffness": -1.0}, "stiffness must be positive, got -1"),
        ({"friction": -0.1}, "friction must be a coefficient"),
        ({"slip": 0.0}, "slip must be positive, got 0"),
        ({"nodes": []}, "nodes is empty: leave it out"),
        ({"nodes": [0.5]}, "nodes must be"),
        ({"obstacle": []}, "obstacle is empty"),
        ({"obstacle": [FLOOR, 3]}, r"obstacle\[1\] must be a Field"),
    ],
)
def test_arguments_out_of_range_are_named(arguments, message):
    with pytest.raises((rf.InputError, rf.InputTypeError), match=message):
        rf.BarrierContact(**{"obstacle": FLOOR} | arguments)


def test_nodes_that_the_solid_does_not_have_are_named():
    for nodes, message in (([40], r"nodes\[0\] is 40"), (np.ones(3, bool), "mask of shape"),
                           (np.zeros(27, bool), "selects no node")):  # fmt: skip
        with pytest.raises(rf.InputError, match=message):
            falling(rf.BarrierContact(FLOOR, nodes=nodes))


def test_a_start_inside_is_refused():
    high = rf.PlaneField([0.0, 0.0, 0.01], [0.0, 0.0, 1.0])
    with pytest.raises(rf.InputError, match=r"node 0 at \(0, 0, 0\) is at the distance -0.01 m"):
        falling(rf.BarrierContact(high))
    touching = rf.PlaneField([0.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    with pytest.raises(rf.InputError, match="needs all nodes outside"):
        falling(rf.BarrierContact(touching))
    sim = falling()
    sim.step(n=5)
    before = sim.state
    with pytest.raises(rf.InputError, match="node 0 at .* obstacle 0"):
        sim.reset(np.tile([0.0, 0.0, -0.03], (27, 1)))
    assert (sim.state.q == before.q).all()
    with pytest.raises(rf.InputError, match="needs all nodes outside"):
        sim._settings["contact"].energy(np.tile([0.0, 0.0, -0.03], (27, 1)))


def test_a_field_whose_box_is_tight_is_refused():
    ball = rf.SphereField([0.05, 0.05, -0.2], 0.1)
    low, high = np.array([-0.055, -0.055, -0.305]), np.array([0.155, 0.155, -0.095])
    field = rf.DistanceField.from_field(ball, resolution=16, box=(low, high))
    with pytest.raises(
        rf.InputError, match=r"obstacle\[0\]: the box of its grid is only .* larger"
    ):
        falling(rf.BarrierContact(field, distance=0.01))


def test_a_contact_belongs_to_one_solid():
    contact = rf.BarrierContact(FLOOR)
    with pytest.raises(rf.InputError, match="belongs to no solid yet"):
        contact.energy(np.zeros((27, 3)))
    assert contact.barrier_stiffness is None
    sim = falling(contact)
    assert contact.barrier_stiffness > 0.0
    model = bar()
    other = rf.BarrierContact(rf.PlaneField([0.0, 0.0, -1.0], [0.0, 0.0, 1.0]))
    for _ in range(2):
        rf.BackwardEuler(model, 1e-3, newton_max=50, contact=other)
    with pytest.raises(rf.InputError, match="belongs to another solid or model"):
        rf.BackwardEuler(model.truncate(2), 1e-3, newton_max=50, contact=other)
    again = rf.BDF2(sim.system, 1e-3, newton_max=50, contact=contact)
    assert again.contact_state.smallest_distance == pytest.approx(0.02)
    with pytest.raises(rf.InputError, match="belongs to another solid"):
        falling(contact)
    free = copy.copy(contact)
    assert free.barrier_stiffness is None
    falling(free)


def test_copies_continue_alike():
    for lagged in (True, False):
        sim = falling(rf.BarrierContact(FLOOR, friction=0.5, lagged=lagged))
        sim.step(n=2)
        copies = check_copies(sim, lambda one: one.step(n=4))
        assert len(sim.contact_state.nodes) > 0
        for other in copies:
            assert (other.contact_state.distances == sim.contact_state.distances).all()


def test_a_failing_step_leaves_state_and_contact():
    sim = falling()
    sim.step(n=4)
    before, contact = sim.state, sim.contact_state
    assert len(contact.nodes) > 0
    with pytest.raises(rf.DivergedError):
        sim.step(np.full((27, 3), 1e300))
    assert (sim.state.q == before.q).all()
    assert (sim.contact_state.distances == contact.distances).all()
    assert (sim.contact_state.normal_forces == contact.normal_forces).all()
    other = falling()
    other.step(n=4)
    sim.step(n=3)
    other.step(n=3)
    assert (sim.state.q == other.state.q).all()


def test_texts_tell_the_state():
    sim = falling()
    assert "no contact, smallest distance 0.02 m" in repr(sim.contact_state)
    sim.step(n=4)
    assert " N, smallest distance" in repr(sim.contact_state)
    assert "PlaneField" in repr(sim._settings["contact"])


# ---- independent data


@pytest.mark.parametrize("name", ["slide_BE", "slide_BE_lagged", "stick_BE"])
def test_the_independent_prototype_agrees(shared, name):
    path = shared / "reference" / "integrators" / f"contact_{name}.npz"
    if not path.is_file():
        pytest.skip(f"no {path}")
    data = dict(np.load(path))
    material = rf.StableNeoHookean(*(float(data[k]) for k in ("young", "poisson", "density")))
    solid = rf.Solid(rf.Mesh(data["nodes"], data["elements"]), material)
    normal = data["normal"]
    contact = rf.BarrierContact(
        rf.PlaneField(float(data["offset"]) * normal, normal),
        float(data["delta"]),
        float(data["kappa"]),
        float(data["mu"]),
        float(data["epsilon"]),
        str(data["friction"]) != "implicit",
        nodes=data["contact_nodes"],
    )
    sim = rf.BackwardEuler(solid, float(data["dt"]), newton_max=50, tol=1e-12, contact=contact)
    snapshots, log = {}, []
    down = np.array([normal[2], 0.0, -normal[0]])
    for step in range(1, int(data["steps"]) + 1):
        sim.step(data["force"])
        state = sim.contact_state
        snapshots[step] = sim.state.q
        # their log of friction has the normal forces of the end, also where it lags
        rubbed = contact.force(sim.state.q, sim.state.qdot) - contact.force(sim.state.q)
        log.append([state.smallest_distance, state.normal_forces.sum(), (rubbed @ down).sum()])
    for place, step in enumerate(data["snapshot_steps"]):
        np.testing.assert_allclose(snapshots[step], data["q"][place], rtol=0, atol=1e-8)
    found, expected = np.array(log), data["log"]
    np.testing.assert_allclose(found[:, 0], expected[:, 6], rtol=0, atol=1e-8)
    for mine, its in ((1, 7), (2, 8)):
        largest = np.abs(expected[:, its]).max()
        np.testing.assert_allclose(found[:, mine], expected[:, its], rtol=0, atol=1e-5 * largest)
    assert sim.report.unconverged == 0
