"""Green's functions against data of another program."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray

import reducedfem as rf

pytestmark = pytest.mark.no_asan(reason="test_green and test_green_contact run the same C code")
STATES = ("open", "stick", "slip")


@pytest.fixture(scope="module")
def case(shared) -> SimpleNamespace:
    data = dict(np.load(shared / "reference" / "green_graded" / "green.npz"))
    law = rf.StVK(*(float(data[name]) for name in ("young", "poisson", "density")))
    solid = rf.Solid(rf.Mesh(data["nodes"], data["elements"]), law, fixed=data["fixed"])
    return SimpleNamespace(data=data, green=rf.GreensFunctions(solid, data["surface_nodes"]))


def close(found: NDArray[np.float64], expected: NDArray[np.float64], error: float) -> None:
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=error * np.abs(expected).max())


def test_columns_diagonal_and_extremes(case):
    data, green = case.data, case.green
    columns = [green.column(n, a).ravel() for n in data["green_columns_of"] for a in range(3)]
    close(np.stack(columns, 1), data["green_columns"], 1e-11)
    matrix = green.matrix
    close(np.diag(matrix), data["green_diagonal"], 1e-11)
    np.testing.assert_allclose(np.linalg.norm(matrix), data["green_frobenius"], rtol=1e-11)
    extremes = np.linalg.eigvalsh(matrix)[[0, -1]]
    np.testing.assert_allclose(extremes, data["green_eigen_extremes"], rtol=1e-11)


@pytest.mark.parametrize("which", ["set0", "set1", "set2"])
def test_prescribed_displacements_under_loads(case, which):
    data, green = case.data, case.green
    load = np.zeros((len(data["nodes"]), 3))
    load[data[f"{which}_load_nodes"]] = data[f"{which}_load"]
    nodes, displacement = data[f"{which}_nodes"], data[f"{which}_displacement"]
    held = dict(zip(nodes.tolist(), displacement, strict=True))
    u, force = green.solve(held, load[green.nodes])
    close(u, data[f"{which}_u"][green.nodes], 1e-9)
    close(force, data[f"{which}_force"], 1e-9)
    contacts = green.contacts()
    for node in nodes.tolist():
        contacts.add(node)
    places = np.searchsorted(green.nodes, nodes)
    rest = displacement - green.displacement(load[green.nodes])[places]
    close(contacts.solve(rest), data[f"{which}_force"], 1e-9)


def test_unilateral_contact(case):
    data = case.data
    out = case.green.contact(data["lcp_nodes"], data["lcp_normals"], data["lcp_gap0"])
    along = np.einsum("ij,ij->i", out.force, data["lcp_normals"])
    close(along, data["lcp_lambda"], 1e-9)
    close(out.gap, data["lcp_gap"], 1e-9)
    close(out.u, data["lcp_u_surface"], 1e-9)


@pytest.mark.parametrize("k", range(24))
def test_one_frictional_point(case, k):
    data, green = case.data, case.green
    triangle, weights = data["point_triangle"][k], data["point_weights"][k]
    close(green.point_compliance(triangle, weights), data["point_compliance"][k], 1e-11)
    out = green.contact(
        (triangle[None], weights[None]),
        -data["point_normal_outward"][k : k + 1],
        -data["point_displacement"][k : k + 1],
        float(data["point_friction"][k]),
    )
    assert out.state[0] == STATES[data["point_state"][k]]
    close(out.force[0], data["point_force_on_body"][k], 1e-9)


def test_single_precision_keeps_the_forces(case):
    """Of neighbours, whose columns are alike: rounding times the condition of their compliance."""
    data, green = case.data, case.green
    law = rf.StVK(*(float(data[name]) for name in ("young", "poisson", "density")))
    solid = rf.Solid(rf.Mesh(data["nodes"], data["elements"]), law, fixed=data["fixed"])
    single = rf.GreensFunctions(solid, data["surface_nodes"], dtype="float32")
    held = dict(zip(data["set2_nodes"].tolist(), data["set2_displacement"], strict=True))
    close(single.solve(held).force, green.solve(held).force, 1e-5)
