"""Modes and modal derivatives against two independent solvers (see `shared`)."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf


def flat(fields):
    return fields.reshape(len(fields), -1)


@pytest.mark.parametrize("name", ["modes_hex", "modes_tet"])
def test_calculix_clamped_modes(shared, name):
    """Frequencies in double precision, shapes in single, mass-normalised; sign free."""
    data = np.load(shared / "reference" / "calculix" / f"{name}.npz")
    solid = rf.Solid(
        rf.Mesh(data["X"], data["conn"]),
        rf.StVK(float(data["E"]), float(data["nu"]), float(data["rho"])),
        fixed=data["fixed_nodes"],
    )
    modes = solid.linear_modes(20)
    np.testing.assert_allclose(modes.eigenvalues, data["clamped_eigenvalue"], rtol=1e-9)
    np.testing.assert_allclose(modes.frequencies, data["clamped_freq_hz"], rtol=1e-9)

    # the gaps are above 1e-3, so every shape stands alone; float32 files hold 1e-7, divided
    # by the gaps 1e-5
    assert data["clamped_relgap"].min() > 1e-3
    mass = solid.mass().to_scipy()
    reference = flat(data["clamped_modes"].astype(float))
    shapes = flat(modes.shapes)
    products = shapes @ mass @ reference.T
    np.testing.assert_allclose(np.abs(np.diag(products)), 1.0, atol=1e-6)
    reference *= np.sign(np.diag(products))[:, None]
    np.testing.assert_allclose(shapes, reference, atol=1e-5 * np.abs(reference).max())


def vega_solid(data):
    columns = ("element_E", "element_nu", "element_density")
    rows = np.stack([data[c] for c in columns], axis=1)
    kinds, regions = np.unique(rows, axis=0, return_inverse=True)
    mesh = rf.Mesh(data["vertices"], data["elements"], regions.ravel())
    materials = {i: rf.StVK(*map(float, kind)) for i, kind in enumerate(kinds)}
    return rf.Solid(mesh, materials, fixed=data["fixed_vertices"])


# Tolerances on eigenvalues and shapes. Vega's cube mass is low by 9.3e-8 (its README): so are
# the eigenvalues high, and shapes longer by half of that. The tets' dense reference solution
# carries LAPACK's error, eps times the ratio of largest to smallest eigenvalue, about 1e-8.
TOLERANCES = {"hex_4x3x2": (2e-7, 2e-7), "tet_beam3_2mat": (1e-8, 1e-9)}


@pytest.mark.parametrize("name", TOLERANCES)
def test_vega_modes(shared, name):
    data = np.load(shared / "reference" / "vega" / f"{name}.npz")
    solid = vega_solid(data)
    modes = solid.linear_modes(10)
    of_values, of_shapes = TOLERANCES[name]
    np.testing.assert_allclose(modes.eigenvalues, data["mode_eigenvalue"], rtol=of_values)
    np.testing.assert_allclose(modes.frequencies, data["mode_freq_hz"], rtol=of_values)
    reference = data["mode_Phi"].T
    shapes = flat(modes.shapes)
    # signs: both make the largest entry positive, but among entries equal by symmetry the
    # reference takes the one that rounding makes larger
    largest = np.sort(np.abs(reference), axis=1)
    alone = largest[:, -2] < largest[:, -1] * (1 - 1e-5)
    products = np.sum(shapes * reference, axis=1)
    assert np.all(products[alone] > 0)
    reference = reference * np.sign(products)[:, None]
    np.testing.assert_allclose(shapes, reference, atol=of_shapes * np.abs(reference).max())


@pytest.mark.parametrize("name", TOLERANCES)
def test_vega_modal_derivatives(shared, name):
    """Derivatives use Vega's own modes, so that signs and errors of the modes do not enter."""
    data = np.load(shared / "reference" / "vega" / f"{name}.npz")
    solid = vega_solid(data)
    directions = data["mode_Phi"].T.reshape(10, -1, 3)[:3]
    found = solid.modal_derivatives(directions)
    np.testing.assert_array_equal(
        data["modal_derivative_pairs"], np.stack(np.triu_indices(3), axis=1)
    )
    reference = data["modal_derivative_Psi"].T
    # relative to each derivative: Hessian products agree to 6e-13 (README), times the
    # amplification of a dense solve with K of condition 1e6 to 1e7
    for derivative, expected in zip(flat(found), reference, strict=True):
        np.testing.assert_allclose(derivative, expected, atol=1e-9 * np.abs(expected).max())
