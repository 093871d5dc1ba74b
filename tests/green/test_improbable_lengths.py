"""Lengths in millimetres and loads on all nodes, given to surfaces with Green's functions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import reducedfem as rf
from shapes import box_hexes

SAID = r"has a length of more than 2 times the size of the body, 0.1\S* m: lengths are in metres"


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
        pytest.warns(rf.PlausibilityWarning, match="^blocks are turned"),
        pytest.warns(rf.PlausibilityWarning, match=f"^held {SAID}") as found,
    ):
        body.solve(held={node: (0.0, 0.0, 0.4)})
    assert {one.filename for one in found} == {__file__}
    # far from an obstacle
    green.contact([node], up, [20.0])


def test_bodies_that_follow_a_translation_give_no_warning(solid, green):
    free = rf.GreensFunctions(rf.Solid(solid.mesh, rf.StVK(1e5, 0.3, 1000.0)))
    for body, released in ((free, None), (green, solid.fixed)):
        nodes = [int(body.nodes[k]) for k in (0, 7, 40, -1)]
        moved = body.solve({node: (1.0, 2.0, 0.0) for node in nodes}, released=released).u
        np.testing.assert_allclose(moved, np.tile([1.0, 2.0, 0.0], (len(moved), 1)), atol=1e-9)
        with pytest.warns(rf.PlausibilityWarning, match=f"^held {SAID}"):
            body.solve(
                {nodes[0]: (1.0, 0.0, 0.0)} | {k: (0.0, 0.0, 0.0) for k in nodes[1:]},
                released=released,
            )


def test_a_loop_warns_once(green):
    node = int(green.nodes[-1])
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for k in range(3):
            green.solve({node: (0.0, 0.0, 0.5 + 0.1 * k)})
    assert len(found) == 1


def test_loads_on_all_nodes_of_the_mesh_are_named(solid, green):
    with pytest.raises(rf.InputError, match=r"row for each of the 165 nodes .* force\[green.nodes"):
        green.displacement(solid.gravity())
    with pytest.raises(rf.InputError, match=r"pass those .* force.reshape\(-1, 3\)\[green.nodes"):
        green.displacement(solid.gravity().ravel())
    with pytest.raises(
        rf.InputTypeError, match="nodes must be an array .* pass its attribute .nodes"
    ):
        rf.surface_load(solid, solid.gravity(), green)
