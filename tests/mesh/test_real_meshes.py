"""Everything in the shared folder of real meshes goes the whole way.

Surfaces (closed, open, soups, several parts) are voxelised, volume meshes read; then
solid, modes, derivatives, basis, reduction, motion. Warnings are errors here as in all
tests, so a mesh passes without any or the test says why not. What a step must give is
checked against the unreduced solid at the state that was reached.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import reducedfem as rf
from places import ROOT

FOLDER = Path(os.environ.get("REDUCEDFEM_SHARED", ROOT.parent / "shared")) / "meshes"
SURFACES = sorted(str(p.relative_to(FOLDER)) for p in FOLDER.rglob("*.obj"))
VOLUMES = sorted(str(p.relative_to(FOLDER)) for p in FOLDER.rglob("*.veg"))
# one of Vega's own models includes a list of elements that the collection does not have
INCOMPLETE = {"vega/turtle/turtle-volumetric-heterogeneous.veg": "shellElementList.txt"}


@pytest.fixture(scope="module", autouse=True)
def _meshes_exist():
    if not FOLDER.is_dir():
        pytest.skip(f"no meshes in {FOLDER}; set REDUCEDFEM_SHARED to the folder of shared data")


def lowest_nodes(mesh: rf.Mesh, part: float = 0.1) -> np.ndarray:
    """Return the lowest slab of every part of the mesh: what a user would put on a table."""
    label = mesh.components("face")
    fixed = []
    for i in range(label.max() + 1):
        nodes = np.unique(mesh.elements[label == i])
        height = mesh.nodes[nodes, 2]
        limit = height.min() + part * max(np.ptp(height), 1e-3 * np.ptp(mesh.nodes))
        fixed.append(nodes[height <= limit])
    return np.concatenate(fixed)


def run_all_steps(solid: rf.Solid, k: int = 4, r: int = 8) -> None:
    mesh = solid.mesh
    size = np.ptp(mesh.nodes, axis=0).max()
    modes = solid.linear_modes(k)
    assert (np.diff(modes.frequencies) >= -1e-9 * modes.frequencies[-1]).all()
    assert modes.frequencies[0] > 0
    basis = rf.modal_derivative_basis(solid, k=k, r=r)
    gram = basis.matrix.T @ (solid.mass().to_scipy() @ basis.matrix)
    np.testing.assert_allclose(gram, np.eye(r), atol=1e-10)
    model = rf.reduce(solid, basis)
    assert not model.basis[:, solid.fixed].any()

    # pushed along the lowest mode so that it bends by about a fiftieth of its size, released: far
    # enough to be nonlinear, not so far that it buckles, after which all depends on rounding
    period = 1.0 / modes.frequencies[0]
    q = basis.matrix.T @ (solid.mass().to_scipy() @ modes.shapes[0].ravel())
    push = model.stiffness(np.zeros(r)) @ q * (0.02 * size / np.abs(modes.shapes[0]).max())
    sim = rf.ImplicitNewmark(model, period / 100, damping=(0.2 / period, 1e-4 * period))
    sim.step(push, n=60)
    assert 1e-3 * size < np.abs(sim.displacement).max() < size
    sim.step(n=40)
    state, u = sim.state, sim.displacement
    assert np.isfinite(u).all()
    assert 1e-4 * size < np.abs(u).max() < size
    assert not u[solid.fixed].any()
    # reduced is projected: the oracle at a state of this very motion, sums over the mesh
    # of up to 1e6 rounded products
    expected = model.project(solid.internal_force(u))
    error = np.abs(model.internal_force(state.q) - expected).max()
    assert error < 1e-10 * np.abs(expected).max()
    assert model.strain_energy(state.q) == pytest.approx(solid.strain_energy(u), rel=1e-10)

    # the unreduced solid, pushed slightly along its lowest mode, stays in it: as the model
    # does whose basis are the modes, up to what is not linear at this amplitude
    shape = modes.shapes[0] * (1e-6 * size / np.abs(modes.shapes[0]).max())
    force = (solid.stiffness().to_scipy() @ shape.ravel()).reshape(-1, 3)
    paths = []
    for system in (solid, rf.reduce(solid, modes.shapes)):
        sim = rf.ImplicitNewmark(system, period / 20)
        sim.step(force, n=3)
        paths.append(sim.displacement)
    assert np.abs(paths[0] - paths[1]).max() < 1e-3 * np.abs(paths[0]).max()


def test_the_list_of_meshes_is_not_empty():
    assert len(SURFACES) >= 15
    assert len(VOLUMES) >= 7


LARGE = pytest.mark.no_asan(reason="the steps of the other surfaces, on a larger one")


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=LARGE if n == "stanford-bunny.obj" else ()) for n in SURFACES],
)
def test_surface(name):
    surface = rf.read_surface(FOLDER / name)
    for resolution, fill in ((20, True), (13, False)):
        mesh = rf.voxelize(surface, resolution, fill=fill, cut=False, order=1)
        # voxels of a soup may be connected by an edge or not at all
        held = mesh.largest_component("face")
        assert held.n_elements > 0.5 * mesh.n_elements, "most of the object has been lost"
        solid = rf.Solid(held, rf.StVK(1e6, 0.4, 1000.0), fixed=lowest_nodes(held))
        run_all_steps(solid)


@pytest.mark.parametrize("name", ["teapot.obj", "suzanne.obj", "stanford-bunny.obj"])
def test_embedding_follows(name):
    """The surface that was voxelised moves with the solid, soups and open ones too."""
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"no {path}")
    surface = rf.read_surface(path)
    mesh = rf.voxelize(surface, 16, cut=False, order=1).largest_component("face")
    inside = rf.Embedding(mesh, surface.vertices)
    rotation = np.array([[0.1, -0.2, 0.3], [0.0, 0.4, 0.1], [-0.3, 0.2, 0.0]])
    # an affine field is interpolated exactly at any point
    found = inside.interpolate(mesh.nodes @ rotation.T + 1.0)
    expected = surface.vertices @ rotation.T + 1.0
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


def fixed_nodes(path: Path, mesh: rf.Mesh) -> np.ndarray:
    """Return the fixed nodes that come with a mesh, else the lowest ones."""
    stems = [path.stem, path.stem.removesuffix("_tet"), path.stem.partition("-ic")[0]]
    stems += [path.stem.removesuffix("-homogeneous")]
    for stem in stems:
        file = path.with_name(stem + ".bou")
        if file.is_file():
            return rf.read_fixed(file)
    return lowest_nodes(mesh)


@pytest.mark.parametrize("name", [v for v in VOLUMES if v not in INCOMPLETE])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_volume(name):
    mesh = rf.read_mesh(FOLDER / name)
    fixed = fixed_nodes(FOLDER / name, mesh)
    assert mesh.materials, "the file names materials"
    # the materials of the file, region by region
    run_all_steps(rf.Solid(mesh, mesh.materials, fixed=fixed))


@pytest.mark.parametrize("name", INCOMPLETE)
def test_an_incomplete_mesh_names_missing_files(name):
    if not (FOLDER / name).is_file():
        pytest.skip(f"no {name}")
    with pytest.raises(rf.FileFormatError, match=INCOMPLETE[name]):
        rf.read_mesh(FOLDER / name)


def test_parts_that_float_are_named():
    """Names the part that floats, as only the lowest slab is fixed."""
    if "teapot.obj" not in SURFACES:
        pytest.skip("no teapot")
    mesh = rf.voxelize(rf.read_surface(FOLDER / "teapot.obj"), 16, cut=False, order=1)
    above = mesh.nodes + np.array([0.0, 0.0, 3.0 * np.ptp(mesh.nodes[:, 2])])
    nodes = np.vstack([mesh.nodes, above])
    two = rf.Mesh(nodes, np.vstack([mesh.elements, mesh.elements + mesh.n_nodes]))
    assert two.n_components() == 2
    low = np.flatnonzero(nodes[:, 2] < nodes[:, 2].min() + 0.1 * np.ptp(mesh.nodes[:, 2]))
    floating = rf.Solid(two, rf.StVK(1e6, 0.4, 1000.0), fixed=low)
    for call in (
        lambda: floating.linear_modes(3),
        lambda: rf.modal_derivative_basis(floating, k=3, r=5),
    ):
        with pytest.raises(
            rf.MeshError, match="connected to no other .* has 0 fixed nodes; fix at least three"
        ):
            call()
    # the user then fixes both parts, or takes one
    run_all_steps(rf.Solid(two, rf.StVK(1e6, 0.4, 1000.0), fixed=lowest_nodes(two)))
    one = two.largest_component()
    run_all_steps(rf.Solid(one, rf.StVK(1e6, 0.4, 1000.0), fixed=lowest_nodes(one)))
