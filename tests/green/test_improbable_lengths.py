"""Lengths in millimetres and loads on all nodes, given to surfaces with Green's functions."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from shapes import box_hexes

SAID = r"has a length of \S+ m, but the body is 0.1\S* m large: lengths are in metres"


@pytest.fixture(scope="module")
def solid() -> rf.Solid:
    mesh = rf.Mesh(*box_hexes(10, 4, 2, (0.16, 0.08, 0.04)))
    return rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), fixed=mesh.nodes[:, 0] < 1e-9)


@pytest.fixture(scope="module")
def green(solid) -> rf.GreensFunctions:
    return rf.GreensFunctions(solid, releasable=solid.fixed)


def test_lengths_beyond_the_body_give_a_warning(solid, green):
    node = int(green.nodes[-1])
    body = rf.CompositeBody(solid, 4, holdable=[node])
    up = [[0.0, 0.0, 1.0]]
    for name, call in (
        ("held", lambda way: green.solve({node: (0.0, 0.0, way)})),
        ("held", lambda way: green.solve({node: (0.0, np.nan, -way)})),
        ("gaps", lambda way: green.contact([node], up, [-way])),
        ("gaps", lambda way: green.contact([node], up, [[0.0, 0.0, -way]])),
    ):
        call(0.3)
        with pytest.warns(rf.PlausibilityWarning, match=f"^{name} {SAID}") as found:
            call(0.5)
        assert [one.filename for one in found] == [__file__]
    with (
        pytest.warns(rf.PlausibilityWarning, match=f"^held {SAID}") as found,
        pytest.raises((rf.ConvergenceError, rf.SingularMatrixError)),
    ):
        body.solve(held={node: (0.0, 0.0, 20.0)})
    assert [one.filename for one in found] == [__file__]
    # far from an obstacle
    green.contact([node], up, [20.0])


def test_loads_on_all_nodes_of_the_mesh_are_named(solid, green):
    with pytest.raises(rf.InputError, match=r"row for each of the 165 nodes .* force\[green.nodes"):
        green.displacement(solid.gravity())
    with pytest.raises(
        rf.InputTypeError, match="nodes must be an array .* pass its attribute .nodes"
    ):
        rf.surface_load(solid, solid.gravity(), green)
