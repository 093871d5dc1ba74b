"""Strain and stress of elements: closed forms of stretched cubes, and the virial of the forces."""

from __future__ import annotations

import numpy as np
import pytest

import material_laws
import reducedfem as rf
from plain_solid import rotation
from reducedfem import _core
from shapes import BOXES, ball, box_hexes

LAME = {"StVK": rf.StVK, "StableNeoHookean": rf.StableNeoHookean, "NeoHookean": rf.NeoHookean,
        "Corotated": rf.Corotated}  # fmt: skip
MATERIALS = {
    **{name: law(2e5, 0.3, 900.0) for name, law in LAME.items()},
    "MooneyRivlin": rf.MooneyRivlin(3e4, 1e4, 2e5, 900.0),
}
# stretches along axes that are turned at rest, then turned in space
STRETCHES = np.array([1.3, 0.9, 1.05])


AT_REST, IN_SPACE = rotation([1, 2, 0.5], 0.7), rotation([0.2, -1, 1], 2.1)
F = IN_SPACE @ np.diag(STRETCHES) @ AT_REST.T


def stretched(kind="hex", material=None, cells=(2, 2, 2)):
    """Return a box and the displacements by which its gradient of deformation is `F`."""
    solid = rf.Solid(rf.Mesh(*BOXES[kind](*cells, (0.3, 0.2, 0.1))), material or MATERIALS["StVK"])
    return solid, solid.mesh.nodes @ (F - np.eye(3)).T + [0.5, -2.0, 1.0]


def test_laws_are_those_of_the_list():
    assert set(MATERIALS) | {"LinearElastic"} == set(_core.laws())


@pytest.mark.parametrize("name", MATERIALS)
def test_stress_of_a_stretched_box(name):
    """Principal Cauchy stresses are the slopes of the published energy over the area."""
    material = MATERIALS[name]
    solid, u = stretched(material=material)
    slopes = material_laws.principal_stresses(material, STRETCHES)
    sigma = slopes * STRETCHES / np.prod(STRETCHES)
    expected = IN_SPACE @ np.diag(sigma) @ IN_SPACE.T
    found = solid.stress(u)
    scale = np.abs(sigma).max()
    np.testing.assert_allclose(found, np.broadcast_to(expected, found.shape), atol=1e-11 * scale)
    np.testing.assert_array_equal(found, found.transpose(0, 2, 1))
    a, b, c = sigma
    mises = np.sqrt(0.5 * ((a - b) ** 2 + (b - c) ** 2 + (c - a) ** 2))
    np.testing.assert_allclose(solid.von_mises(u), mises, rtol=1e-10)


def test_stress_of_the_linear_law_is_that_of_its_matrix():
    c = np.diag([3.0, 4.0, 5.0, 1.0, 1.5, 2.0]) * 1e5
    c[0, 1] = c[1, 0] = 1e5
    solid, u = stretched(material=rf.LinearElastic(c, 900.0))
    e = 0.5 * (F.T @ F - np.eye(3))
    voigt = c @ [e[0, 0], e[1, 1], e[2, 2], 2 * e[1, 2], 2 * e[2, 0], 2 * e[0, 1]]
    second = np.array(
        [[voigt[0], voigt[5], voigt[4]], [voigt[5], voigt[1], voigt[3]],
         [voigt[4], voigt[3], voigt[2]]]
    )  # fmt: skip
    expected = F @ second @ F.T / np.linalg.det(F)
    found = solid.stress(u)
    np.testing.assert_allclose(
        found, np.broadcast_to(expected, found.shape), atol=1e-11 * np.abs(expected).max()
    )


@pytest.mark.parametrize("kind", BOXES)
def test_strain_of_a_stretched_box(kind):
    solid, u = stretched(kind)
    found = solid.strain(u)
    assert found.shape == (solid.mesh.n_elements, 3, 3)
    expected = 0.5 * (F.T @ F - np.eye(3))
    np.testing.assert_allclose(found, np.broadcast_to(expected, found.shape), atol=1e-12)


def test_a_rotation_is_no_strain():
    solid, _ = stretched()
    u = solid.mesh.nodes @ (IN_SPACE - np.eye(3)).T + 1e3
    assert np.abs(solid.strain(u)).max() < 1e-9  # rounding of positions of a km
    assert np.abs(solid.stress(u)).max() < 1e-9 * 2e5


@pytest.mark.parametrize("kind", BOXES)
def test_the_virial_of_the_forces(kind, rng):
    """Sum of v sigma over elements, v deformed volumes, = sum of R (x) x over nodes."""
    material = {0: MATERIALS["StableNeoHookean"], 1: rf.StVK(5e4, 0.2, 900.0)}
    nodes, elements = BOXES[kind](3, 2, 2, (0.3, 0.2, 0.1))
    regions = np.arange(len(elements)) % 2
    # of order 3, which is exact for det F
    solid = rf.Solid(rf.Mesh(nodes, elements, regions=regions), material, quadrature=3)
    u = 0.002 * rng.standard_normal(nodes.shape) + [1.0, 2.0, 3.0]
    stress = solid.stress(u)
    now = np.array([_volume(solid, nodes + u, e) for e in range(len(elements))])
    total = np.einsum("e,eij->ij", now, stress)
    virial = solid.internal_force(u).T @ (nodes + u)
    np.testing.assert_allclose(total, virial, atol=1e-10 * np.abs(virial).max())


def _volume(solid, places, element):
    """Return the deformed volume of an element: a mesh of it alone."""
    own = solid.mesh.elements[element]
    mesh = rf.Mesh(places[own], np.arange(len(own))[None])
    return rf.Solid(mesh, MATERIALS["StVK"], quadrature=3).volume


def test_cut_cells_have_the_stress_of_their_material():
    mesh = rf.voxelize(rf.Mesh(*ball(4, 0.1)).surface(), 6)
    assert mesh.fractions.min() < 1.0
    solid = rf.Solid(mesh, MATERIALS["StVK"])
    u = mesh.nodes @ (F - np.eye(3)).T
    found = solid.stress(u)
    np.testing.assert_allclose(
        found, np.broadcast_to(found[0], found.shape), atol=1e-9 * np.abs(found).max()
    )


def test_results_have_the_same_bits_for_any_number_of_threads(rng):
    nodes, elements = box_hexes(12, 8, 8, (0.3, 0.2, 0.2))
    solid = rf.Solid(rf.Mesh(nodes, elements), MATERIALS["NeoHookean"])
    u = 1e-3 * rng.standard_normal(nodes.shape)
    for kind in ("strain", "stress", "von Mises stress"):
        found = [solid._core.measure(u, kind, threads) for threads in (1, 3)]
        np.testing.assert_array_equal(*found)


def test_elements_inside_out_have_no_stress():
    for name in ("StVK", "NeoHookean"):
        solid, _ = stretched(material=MATERIALS[name])
        u = solid.mesh.nodes * [-2.0, 0.0, 0.0]
        with pytest.raises(rf.InputError, match="u turns element 0 inside out, where the Cauchy"):
            solid.stress(u)
        with pytest.raises(rf.InputError, match="make it smaller"):
            solid.von_mises(u)
        assert solid.strain(u)[:, 0, 0] == pytest.approx(0.0, abs=1e-12)


def test_wrong_arguments():
    solid, u = stretched()
    with pytest.raises(rf.InputError, match="u must have shape"):
        solid.stress(u[:-1])
    with pytest.raises(rf.InputError, match="not finite"):
        solid.strain(1e200 * u)
    with pytest.raises(rf.InputError, match='kind must be "strain", .* got "energy"'):
        solid._core.measure(u, "energy", 1)
