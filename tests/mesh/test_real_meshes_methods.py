"""Every method of the chapter on meshes that were made by others: a turtle, a cow.

The whole way through the spine is in test_real_meshes.py; each method has a test file of its
own with closed forms. Here they meet surfaces and tetrahedra as they are, and each is held
against the unreduced solid.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import reducedfem as rf

SOFT, STIFF = rf.StVK(1e6, 0.4, 1000.0), rf.StVK(3e6, 0.35, 1100.0)


class Case:
    """A mesh in two regions, held at its feet, with a surface around it."""

    def __init__(self, mesh: rf.Mesh, surface: rf.Surface, up: int) -> None:
        height = mesh.nodes[:, up]
        middle = height[mesh.elements].mean(axis=1) > np.median(height)
        self.mesh = rf.Mesh(mesh.nodes, mesh.elements, middle.astype(int))
        self.surface = surface
        self.held = height < height.min() + 0.1 * np.ptp(height)
        self.solid = rf.Solid(self.mesh, {0: STIFF, 1: SOFT}, self.held)
        self.basis = rf.modal_derivative_basis(self.solid, k=5, r=10)
        self.model = rf.reduce(self.solid, self.basis, editable=True)
        modes = self.solid.linear_modes(1)
        self.frequency = modes.frequencies[0]
        # a bend by a twentieth of its size
        bend = modes.shapes[0] * (0.05 * np.ptp(mesh.nodes) / np.abs(modes.shapes[0]).max())
        self.load = (self.solid.stiffness().to_scipy() @ bend.ravel()).reshape(-1, 3)
        self.q = self.basis.matrix.T @ (self.solid.mass().to_scipy() @ bend.ravel())


@pytest.fixture(scope="module", params=["turtle", "cow"])
def case(request, shared):
    folder: Path = shared / "meshes"
    if not (folder / "cow.obj").is_file():
        pytest.skip(f"no meshes in {folder}")
    if request.param == "turtle":
        turtle = folder / "vega" / "turtle"
        mesh = rf.read_mesh(turtle / "turtle-volumetric-homogeneous.veg")
        return Case(mesh, rf.read_surface(turtle / "turtle.obj"), up=2)
    surface = rf.read_surface(folder / "cow.obj")
    mesh = rf.voxelize(surface, 20, cut=False, order=1).largest_component("face")
    return Case(mesh, surface, up=1)


def close(found, expected, rtol):
    found, expected = np.asarray(found), np.asarray(expected)
    assert np.abs(found - expected).max() <= rtol * np.abs(expected).max()


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_free(case):
    """2.8.7: inertia-orthogonal derivatives; thrown, its centre flies a parabola."""
    solid = rf.Solid(case.mesh, {0: STIFF, 1: SOFT})
    modes = solid.linear_modes(4, rigid=True)
    assert not modes.frequencies[:6].any()
    assert modes.frequencies[6] > 0.0
    modes = solid.linear_modes(4)
    K, M = solid.stiffness().to_scipy(), solid.mass().to_scipy()
    psi = modes.shapes.reshape(4, -1)
    phi = solid.modal_derivatives(modes).reshape(4, 4, -1)
    for i in range(4):
        for j in range(4):
            product = solid.hessian_product(modes.shapes[j], modes.shapes[i]).ravel()
            right = M @ psi[i] * (psi[i] @ product) - product
            residual = K @ phi[i, j] - modes.eigenvalues[i] * (M @ phi[i, j]) - right
            # relative to a right-hand side; the rigid motions in it weigh nothing in K
            assert np.abs(residual).max() < 1e-6 * np.abs(right).max()
            size = np.sqrt(phi[i, j] @ M @ phi[i, j])
            assert abs(psi[i] @ M @ phi[i, j]) < 1e-9 * size
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, k=4, r=8))
    dt = 0.01 / modes.frequencies[0]
    body = rf.FreeBody(model, dt, newton_max=5, gravity=(0, 0, -9.81))
    body.reset(velocity=(1.0, 0.0, 2.0), angular_velocity=(0.3, 2.0, 0.1))
    body.step(n=100)
    t, start = body.state.time, solid.rigid_body.centre
    close(body.state.position, start + np.array([t, 0, 2 * t - 4.905 * t * t]), 1e-9)


def test_materials(case):
    """General ones hold StVK; an edit is a fresh reduction; a truncation its first vectors."""
    u = case.model.displacement(case.q)
    general = {i: rf.LinearElastic(m.stiffness, m.density) for i, m in ((0, STIFF), (1, SOFT))}
    same = rf.Solid(case.mesh, general, case.held)
    close(same.internal_force(u), case.solid.internal_force(u), 1e-11)
    new = rf.StVK(5e5, 0.3, 700.0)
    edited = case.model.edit({1: new})
    fresh = rf.reduce(rf.Solid(case.mesh, {0: STIFF, 1: new}, case.held), case.basis.vectors)
    close(edited.coefficients, fresh.coefficients, 1e-12)
    close(edited.mass, fresh.mass, 1e-12)
    first = rf.reduce(case.solid, case.basis.vectors[:4])
    close(case.model.truncate(4).coefficients, first.coefficients, 1e-12)


def test_strain_rate_damping(case, tmp_path):
    """Reduced it is U^T D(U q) U, also from a file; it dissipates energy, but not of rotations."""
    damping = rf.StrainRateDamping.proportional(case.solid, 1e-3)
    model = rf.reduce(case.solid, case.basis, strain_rate=damping)
    model.save(tmp_path / "model")
    u, U = model.displacement(case.q), case.basis.matrix
    expected = U.T @ (damping.matrix(u).to_scipy() @ U)
    close(rf.load(tmp_path / "model").strain_rate.matrix(case.q), expected, 1e-10)
    assert damping.power(u, u) > 0.0
    free = rf.Solid(case.mesh, {0: STIFF, 1: SOFT})
    turn = np.cross([0.2, -0.4, 1.0], case.mesh.nodes + u)
    whole = rf.StrainRateDamping.proportional(free, 1e-3)
    # rates of strain of one rounding, squared, against those of growth at 1 / s
    assert abs(whole.power(u, turn)) < 1e-20 * whole.power(u, case.mesh.nodes)


def test_bases_from_examples(case, tmp_path):
    """A sketch and a motion: each basis contains the shapes that it was made from."""
    linear = rf.LinearModel(case.solid, 5)
    path = tmp_path / "sketch"
    with rf.record(linear, path=path) as recording:
        for part in (0.25, 0.5, 0.75, 1.0):
            recording.add(part * case.load)
    sketch = rf.ForceSketch.load(path)
    basis, report = rf.sketch_basis(case.solid, sketch, report=True, shape_distance=0.0)
    assert report.failed.size == 0
    model = rf.reduce(case.solid, basis)
    u = case.solid.solve_static(case.load, adaptive=True)
    # the solution lies in the span up to tol of the statics
    close(model.displacement(model.solve_static(case.load, adaptive=True)), u, 1e-5)

    sim = rf.ImplicitNewmark(case.solid, 0.05 / case.frequency, newton_max=10)
    motion = rf.record_snapshots(sim, 12, 0.2 * case.load)
    pod = rf.pod_basis(case.solid, motion, 6)
    M = case.solid.mass().to_scipy()
    flat = motion.reshape(12, -1).T
    inside = pod.matrix @ (pod.matrix.T @ (M @ flat))
    close(inside, flat, 1e-3)
    merged = rf.merge_bases(case.solid, [basis, pod])
    close(merged.matrix.T @ (M @ merged.matrix), np.eye(merged.r), 1e-9)
    kept = merged.matrix @ (merged.matrix.T @ (M @ u.ravel()))
    close(kept, u.ravel(), 1e-5)


def test_explicit_steps(case):
    """The spectrum is that of dense matrices; two schemes go the same way."""
    K = case.model.stiffness(np.zeros(case.model.r))
    found = rf.spectrum(case.model)
    highest = np.sqrt(np.linalg.eigvalsh(K)[-1]) / (2 * np.pi)
    assert found.highest == pytest.approx(highest, rel=1e-9)
    dt = 0.05 * rf.stable_step(case.model, case.q)
    n = int(0.5 / case.frequency / dt)
    assert n < 80000
    ends = []
    for sim in (
        rf.CentralDifferences(case.model, dt),
        rf.ImplicitNewmark(case.model, dt, newton_max=10, tol=1e-8),
    ):
        sim.reset(case.q)
        sim.step(n=n)
        ends.append(sim.state.q)
    # both of second order: their phases differ by (omega dt)^2 / 8, 0.13 % of the turns of the
    # fastest shape (at most 20), which is a small part of the motion
    close(ends[0], ends[1], 0.01)


def test_a_surface_to_touch(case):
    """A skin moves as the embedding does; a force at a pick does the work of its point."""
    skin = rf.Skin(case.model, case.surface)
    u = case.model.displacement(case.q)
    expected = case.surface.vertices + skin.embedding.interpolate(u)
    close(skin.positions(case.q), expected, 1e-12)
    close(np.linalg.norm(skin.normals(case.q), axis=1).max(), 1.0, 1e-9)
    centre = case.surface.vertices.mean(axis=0)
    above = np.array([0, 0, 10 * np.ptp(case.surface.vertices)])
    pick = skin.pick(centre + above, [0, 0, -1])
    assert pick is not None
    force = np.array([1.0, -2.0, 0.5])
    moved = pick.weights @ (skin.positions(case.q) - case.surface.vertices)[pick.vertices]
    assert skin.project(pick, force) @ case.q == pytest.approx(force @ moved, rel=1e-9)


def test_large_bases_and_second_order_elements(case):
    """The projected solid has the equations of the polynomials, with ten nodes as well."""
    solid, basis = case.solid, case.basis
    if case.mesh.nodes_per_element == 4:
        mesh = case.mesh.quadratic()
        fixed = mesh.with_mid_edge_nodes(np.flatnonzero(case.held))
        solid = rf.Solid(mesh, {0: STIFF, 1: SOFT}, fixed)
        # a richer space over the same body: every frequency falls
        softer = solid.linear_modes(5).frequencies
        assert (softer < case.solid.linear_modes(5).frequencies).all()
        basis = rf.modal_derivative_basis(solid, k=5, r=10)
    model, projected = rf.reduce(solid, basis), rf.ProjectedSolid(solid, basis)
    close(model.internal_force(case.q), projected.internal_force(case.q), 1e-10)
    close(model.stiffness(case.q), projected.stiffness(case.q), 1e-10)
