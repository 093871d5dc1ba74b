"""Several bodies that deform in one solve: against the whole system, and stiffness by itself."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import reducedfem as rf
import turns
from failures import fail_each_allocation
from shapes import box_hexes
from test_coupled import DAMPED, UPRIGHT, coefficients

SIZE = (0.2, 0.03, 0.03)
GRASP = np.array([0.03, 0.012, -0.01])


def bar(young, r, fixed=True):
    mesh = rf.Mesh(*box_hexes(10, 2, 2, SIZE))
    solid = rf.Solid(
        mesh, rf.StVK(young, 0.4, 1000.0), fixed=mesh.nodes[:, 0] < 1e-9 if fixed else None
    )
    return rf.reduce(solid, rf.modal_derivative_basis(solid, k=4, r=r))


@pytest.fixture(scope="module")
def bodies():
    """Return two bars under shells, on two sides, and a third that is held and deforms."""
    x, y = np.linspace(0.01, 0.2, 30), np.linspace(0.0, 0.03, 7)
    top = np.stack(np.meshgrid(x, y, [0.03], indexing="ij"), axis=-1).reshape(-1, 3)
    side = np.stack(np.meshgrid(x, [0.0], y, indexing="ij"), axis=-1).reshape(-1, 3)
    models, trees = [], []
    for points, normal, young, r in ((top, [0, 0, -1.0], 1e6, 7), (side, [0, 1.0, 0], 3e6, 9)):
        model = bar(young, r)
        shell = rf.Pointshell(points, np.tile(normal, (len(points), 1)))
        models.append(model)
        trees.append(rf.PointTree(shell, model))
    held = bar(2e6, 6)
    box = rf.BoxField((0.0, 0.0, 0.0), SIZE).offset(0.002)
    rest = rf.DistanceField.from_field(box, 80, expand=1.4)
    return models, trees, held, rf.DeformedField(rest, held)


def cycle(contacts, models, held, field, coupling, hand, at, h, damping, damped, steps):
    """Return the pose and all coordinates after a cycle from rest: one dense solve."""
    x_s, quaternion = at
    rotation = turns.rotation(quaternion)
    position = x_s - rotation @ GRASP
    sizes = [6, held.r, *(m.r for m in models)]
    first = np.concatenate([[0], np.cumsum(sizes)])
    n = first[-1]
    system, force = np.zeros((n, n)), np.zeros(n)
    spring = coupling.wrench(hand, x_s, quaternion)
    system[:6, :6] -= spring.gradient
    force[:6] += np.concatenate([spring.force, spring.torque])
    for k, (contact, model) in enumerate(zip(contacts, models, strict=True)):
        q = np.zeros(model.r)
        found = contact.evaluate(position, quaternion, q, field_q=np.zeros(held.r), contacts=True)
        c = found.contacts
        assert len(c.indices) > 2
        size = contact.stiffness * min(1.0, 10.0 / len(c.indices))
        e = c.forces / (size * c.distances[:, None])
        rest = contact.tree.positions(q)[c.indices]
        motion = np.stack(
            [contact.tree.positions(one)[c.indices] - rest for one in np.eye(model.r)], axis=-1
        )
        ways = np.zeros((len(e), n))
        ways[:, :3], ways[:, 3:6] = e, np.cross(c.positions - x_s, e)
        # the force of one point alone on the field
        for i, (x, normal) in enumerate(zip(c.positions, c.normals, strict=True)):
            alone = rf.PenaltyContact(rf.PointTree(rf.Pointshell([x], [normal])), field, 1.0)
            pushed = alone.evaluate(position, quaternion, field_q=np.zeros(held.r))
            ways[i, 6 : 6 + held.r] = pushed.field_reduced_force / c.distances[i]
        ways[:, first[k + 2] : first[k + 3]] = -np.einsum("kij,ki->kj", motion, e)
        system += damped * size * ways.T @ ways
        force += size * ways.T @ c.distances
    for start, model in zip(first[1:-1], (held, *models), strict=True):
        part = slice(start, start + model.r)
        stiffness = model.stiffness(np.zeros(model.r))
        # a step for several: Newmark's beta = 1/2, gamma = 1
        a1, _, _, a4, _, _ = coefficients(h, True)
        if steps > 1:
            a1, a4 = 2.0 / h**2, 2.0 / h
        of_mass = a1 + a4 * damping[0]
        system[part, part] += of_mass * model.mass + (1.0 + a4 * damping[1]) * stiffness
    moved = np.linalg.solve(system, force)
    parts = [moved[a:b] for a, b in pairwise(first)]
    return (x_s + parts[0][:3], turns.turned(parts[0][3:], quaternion)), parts[1:]


def test_the_order_of_contacts_with_one_field_does_not_matter(bodies):
    """The first one moves the proxies of the field, for all of them."""
    models, trees, held, field = bodies
    start = np.add(GRASP, (0.16, -0.02, 0.0295))
    quaternion = turns.turned(np.array([0.02, 0.01, 1.4]), UPRIGHT)
    ends = []
    for order in (1, -1):
        made = rf.HapticSession(
            [rf.PenaltyContact(tree, field, 3000.0, None, grasp=GRASP) for tree in trees[::order]],
            rf.ReplayDevice(
                [0.0, 0.05], [start, np.add(start, (0.0, 1e-3, -2e-3))], [quaternion] * 2
            ),
            coupling=rf.VirtualCoupling(500.0, 1.0),
            simulation=[rf.ImplicitNewmark(model, 1e-3) for model in models[::order]],
            field_simulation=rf.ImplicitNewmark(held, 1e-3),
            budget_us=0.0,
        )
        records = made.run(50).array
        shot = made.snapshot()
        made.close()
        assert records["touching"].min() > 2
        assert np.abs(shot.field_q).max() > 0.0
        ends.append((records["contact_force"], records["object_position"], shot.field_q))
    for one, other in zip(*ends, strict=True):
        np.testing.assert_allclose(other, one, atol=1e-9 * np.abs(one).max())


@pytest.mark.parametrize("steps", [1, 4])
def test_a_cycle_solves_for_all_bodies(bodies, steps):
    models, trees, held, field = bodies
    h, damping = 1e-3, (3.0, 1e-3)
    coupling = rf.VirtualCoupling(500.0, 1.0, damping=0.0)
    contacts = [rf.PenaltyContact(tree, field, 3000.0, None, grasp=GRASP) for tree in trees]
    start = rf.Pose(
        np.add(GRASP, (0.16, -0.02, 0.0295)), turns.turned(np.array([0.02, 0.01, 1.4]), UPRIGHT)
    )
    hand = rf.ReplayDevice([0.0, 1.0], [start.position] * 2, [start.quaternion] * 2)
    sims = [rf.ImplicitNewmark(model, h / steps, damping) for model in models]
    own = rf.ImplicitNewmark(held, h / steps, damping)
    made = rf.HapticSession(
        contacts, hand, coupling=coupling, simulation=sims, field_simulation=own, rate=1.0 / h,
        ramp=0.0, budget_us=0.0,
    )  # fmt: skip
    record = made.run(1).array[0]
    q, field_q = made.snapshot().q, made.snapshot().field_q
    made.close()
    at = (record["hand_position"], record["hand_quaternion"])
    (place, turn), (bent, *expected) = cycle(
        contacts,
        models,
        held,
        field,
        coupling,
        at,
        at,
        h,
        damping,
        DAMPED if steps == 1 else 2.0,
        steps,
    )
    assert record["touching"] > 10
    assert np.linalg.norm(place - at[0]) > 1e-6
    moved = np.linalg.norm(place - at[0])
    assert np.abs(record["object_position"] - place).max() < 1e-5 * moved
    assert np.abs(record["object_quaternion"] - turn).max() < 1e-4 * np.abs(turn - at[1]).max()
    # shorter steps lead bodies at rest elsewhere
    for found, wanted in zip((field_q, *q), (bent, *expected), strict=True):
        assert np.abs(wanted).max() > 0.0
        assert steps > 1 or np.linalg.norm(found - wanted) < 1e-3 * np.linalg.norm(wanted)


@pytest.mark.parametrize("rate", [500.0, 1000.0])
@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_steps_that_divide_the_period_come_to_the_same_rest(bodies, rate, steps):
    """None of them shakes, though the contact alone would be too stiff."""
    models, trees, held, field = bodies
    damping = (30.0, 1e-3)
    contacts = [rf.PenaltyContact(tree, field, grasp=GRASP) for tree in trees]
    places = np.array([[0.16, -0.03, 0.045], [0.16, -0.018, 0.024], [0.16, -0.018, 0.024]]) + GRASP
    turn = turns.turned(np.array([0.02, 0.01, 1.4]), UPRIGHT)
    hand = rf.ReplayDevice([0.0, 0.1, 10.0], places, [turn] * 3)
    sims = [rf.ImplicitNewmark(model, 1.0 / rate / steps, damping) for model in models]
    own = rf.ImplicitNewmark(held, 1.0 / rate / steps, damping)
    made = rf.HapticSession(
        contacts, hand, coupling=rf.VirtualCoupling(500.0, 1.0), simulation=sims,
        field_simulation=own, rate=rate, ramp=0.0, budget_us=0.0,
    )  # fmt: skip
    force = made.run(seconds=2.0).array["force"][-int(0.2 * rate) :]
    made.close()
    size = np.linalg.norm(force[-1])
    assert size > 0.3
    assert np.linalg.norm(np.std(force, axis=0)) < 1e-3 * size
    RESTS.setdefault(rate, force[-1])
    assert np.allclose(force[-1], RESTS[rate], rtol=0, atol=0.01 * size)


RESTS: dict[float, np.ndarray] = {}


def test_memory_that_runs_out(bodies):
    models, trees, held, field = bodies
    contacts = [rf.PenaltyContact(tree, field, grasp=GRASP) for tree in trees]
    hand = rf.ReplayDevice([0.0, 1.0], [[0.0, 0.0, 1.0]] * 2)
    sims = [rf.ImplicitNewmark(model, 5e-4) for model in models]
    own = rf.ImplicitNewmark(held, 1e-3)

    def of_a_session():
        made = rf.HapticSession(
            contacts, hand, coupling=rf.VirtualCoupling(500.0, 1.0), simulation=sims,
            field_simulation=own,
        )  # fmt: skip
        made.close()
        return made

    fail_each_allocation(of_a_session, 50)
