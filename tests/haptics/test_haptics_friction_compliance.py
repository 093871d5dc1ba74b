"""Compliances in a cycle, checked by its steps: gaps and slips are those that were solved for."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from friction_sessions import session
from shapes import box_hexes

SIDE, HEIGHT = 0.04, 0.02  # m, of a block
DT = 1e-3
NEAR = 4e-6  # m, first gap; motions are so small that their squares vanish
HAND = np.outer(np.arange(4), [6e-6, -2e-6, -3e-5])  # m, its way
COUPLING = rf.VirtualCoupling(2000.0, torsional_stiffness=2.0)
RIGID, NONE = 1e-9, 1e6  # m/N, compliances of sites that leave nothing open, or let all pass
# the second is doubted
pytestmark = pytest.mark.filterwarnings(
    "ignore:compliance is 1e:reducedfem.errors.PlausibilityWarning"
)
# density, and integrator; without inertia a step of backward Euler is quasi-static
SIMULATIONS = {
    "newmark": (1000.0, lambda model: rf.ImplicitNewmark(model, DT, damping=(5.0, 1e-4))),
    "euler": (1000.0, lambda model: rf.BackwardEuler(model, DT)),
    "quasi-static": (1e-4, lambda model: rf.BackwardEuler(model, DT)),
}


def block(density):
    """Return a block that is held at its lower side, and four inner nodes of its upper side."""
    nodes, elements = box_hexes(4, 4, 2, (SIDE, SIDE, HEIGHT))
    mesh = rf.Mesh(nodes - [0.5 * SIDE, 0.5 * SIDE, 0.0], elements)
    solid = rf.Solid(mesh, rf.StVK(5e4, 0.3, density), fixed=mesh.nodes[:, 2] < 1e-9)
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, k=8, r=14))
    return model, np.flatnonzero(mesh.nodes[:, 2] > HEIGHT - 1e-9)[[6, 8, 16, 18]]


def turned_back(vectors, quaternion):
    """Return vectors of the world in the frame of a body."""
    w, axis = quaternion[0], -quaternion[1:]
    return vectors + 2.0 * np.cross(axis, np.cross(axis, vectors) + w * vectors)


def cycles(contact, hand, **options):
    """Return snapshots after each cycle of a session."""
    made = session(contact, hand, coupling=COUPLING, **options)
    reader = made.reader(points=True)
    shots = []
    for _ in hand:
        made.run(1)
        shots.append(reader.read())
    made.close()
    return shots


def seen(points, shot):
    """Return points of the world in the frame of the held object."""
    return turned_back(points - shot.bodies[-1].position, shot.bodies[-1].quaternion)


def check_gaps(gaps, free):
    """Compare gaps (cycles, m) with those without forces; all sites press from the second on."""
    deep = -free[1].max()
    assert deep > 2.0 * NEAR
    np.testing.assert_allclose(gaps[0], free[0], atol=1e-3 * NEAR)
    assert np.abs(gaps[1:]).max() < 1e-3 * deep


def check_slips(places, free, mu):
    """Compare motions across the normals (cycles, m, 2) with those without forces."""
    slips, far = (np.linalg.norm(np.diff(p, axis=0), axis=-1) for p in (places, free))
    if mu > 1.0:
        assert slips.max() < 1e-3 * far[0].min()
    else:
        assert slips.max() > 0.1 * far[0].max()


@pytest.mark.parametrize("mu", [0.2, 5.0])
@pytest.mark.parametrize("kind", SIMULATIONS)
def test_a_block_that_yields_to_a_tool(kind, mu):
    density, make = SIMULATIONS[kind]
    model, four = block(density)
    rest = model.mesh.nodes[four]
    tree = rf.PointTree(rf.Pointshell(rest, np.tile([0.0, 0.0, -1.0], (4, 1))), model)
    tool = rf.BoxField((-0.03, -0.03, 0.0), (0.03, 0.03, 0.02))
    places = []
    for compliance in (RIGID, NONE):
        contact = rf.FrictionContact(tree, tool, mu, compliance=compliance, budget_us=1e6)
        shots = cycles(contact, HAND + np.array([0.0, 0.0, HEIGHT + NEAR]), simulation=make(model))
        places.append(np.array([seen(rest + model.displacement(s.q[0])[four], s) for s in shots]))
        if kind == "quasi-static" and compliance == RIGID:
            check_statics(model, four, shots[-1])
    check_gaps(*(-p[:, :, 2] for p in places))
    check_slips(*(p[:, :, :2] for p in places), mu)


def check_statics(model, points, shot):
    """Compare the internal force of the body with that of the forces at its points."""
    touching = shot.contacts[0]
    assert len(touching.forces) == len(points)
    force = np.zeros((model.mesh.n_nodes, 3))
    force[points[touching.indices]] = -touching.forces
    load = np.einsum("rnk,nk->r", model.basis, force)
    np.testing.assert_allclose(model.internal_force(shot.q[0]), load, atol=1e-3 * abs(load).max())


@pytest.mark.parametrize("mu", [0.2, 5.0])
@pytest.mark.parametrize("between", [False, True])
@pytest.mark.parametrize("kind", SIMULATIONS)
def test_a_held_block_that_yields_by_its_proxies(kind, between, mu):
    """Its motion is known at proxies; between them the slip is left out."""
    density, make = SIMULATIONS[kind]
    model, four = block(density)
    rest = model.mesh.nodes[four]
    upper = np.flatnonzero(model.mesh.nodes[:, 2] > HEIGHT - 1e-9)
    proxies = model.mesh.nodes[np.setdiff1d(upper, four) if between else upper]
    surface = rf.DistanceField.from_surface(model.mesh.surface(), 24)
    field = rf.DeformedField(surface, model, proxies)
    tree = rf.PointTree(rf.Pointshell(rest, np.tile([0.0, 0.0, 1.0], (4, 1))))
    gaps, places = [], []
    for compliance in (RIGID, NONE):
        contact = rf.FrictionContact(tree, field, mu, compliance=compliance, budget_us=1e6)
        shots = cycles(contact, -HAND - np.array([0.0, 0.0, NEAR]), field_simulation=make(model))
        gaps.append(np.array([field.distance(seen(rest, s), s.field_q) for s in shots]))
        places.append(
            np.array([seen(rest, s) - model.displacement(s.field_q)[four] for s in shots])
        )
    check_gaps(*gaps)
    if not between:
        check_slips(*(p[:, :, :2] for p in places), mu)
