"""Models and motions that tests export and draw."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from shapes import box_hexes, solid_box

MATERIAL = rf.StVK(2e5, 0.3, 1000.0)


@pytest.fixture(scope="module")
def solid():
    return solid_box((6, 2, 2), (0.3, 0.06, 0.05), MATERIAL)


@pytest.fixture(scope="module")
def reduced(solid):
    return rf.reduce(solid, rf.modal_derivative_basis(solid, 3, 5))


@pytest.fixture(scope="module")
def force(solid):
    """Return a load at the end of the beam that bends and twists it."""
    load = np.zeros((solid.mesh.n_nodes, 3))
    load[solid.mesh.nodes[:, 0].argmax()] = [0.4, 1.0, -4.0]
    return load


@pytest.fixture(scope="module")
def motion(reduced, force):
    sim = rf.ImplicitNewmark(reduced, 2e-3, newton_max=10)
    return rf.record_motion(sim, 60, lambda i: force if i < 20 else None, every=3)


@pytest.fixture(scope="module")
def free():
    """Return the model of a free box whose centre is not the origin."""
    nodes, elements = box_hexes(3, 2, 2, (0.3, 0.2, 0.15))
    solid = rf.Solid(rf.Mesh(nodes + np.array([0.4, -0.1, 0.2]), elements), MATERIAL)
    return rf.reduce(solid, rf.modal_derivative_basis(solid, 2, 4))


@pytest.fixture
def body(free):
    """Return a free body that turns about all axes while it vibrates."""
    made = rf.FreeBody(free, 1e-3, newton_max=20, gravity=(0.0, 0.0, -9.81))
    made.reset(
        position=(0.1, -0.2, 0.5),
        velocity=(0.3, 0.1, 1.0),
        angular_velocity=(9.0, 5.0, -14.0),
        qdot=0.05 * np.arange(1.0, free.r + 1),
    )
    return made
