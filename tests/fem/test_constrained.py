"""Solids with constrained nodes against the matrix of their constraints, and an oracle's data."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from graded import CORNERS, graded_box, plain_matrix, torn_solid, voxel_mesh

LAW = rf.StVK(1e5, 0.3, 1000.0)


def rng():
    return np.random.default_rng(11)


class Plain:
    """The same body by the elements alone and a dense T."""

    def __init__(self, mesh, law=LAW, fixed=None):
        self.mesh, self.n = mesh, mesh.n_nodes
        self.solid = rf.Solid(mesh, law, fixed=fixed)
        self.cells = torn_solid(mesh, law)
        self.T = plain_matrix(mesh)
        self.independent = np.setdiff1d(np.arange(self.n), mesh.constraints.slaves)
        self.free = np.isin(self.independent, self.solid.free).repeat(3)

    def fold(self, matrix):
        """Return T^T A T of the independent nodes."""
        return self.T.T @ matrix.to_dense() @ self.T

    def whole(self, folded):
        """Return a matrix of all nodes, with zeros at constrained ones."""
        at = (3 * self.independent[:, None] + np.arange(3)).ravel()
        out = np.zeros((3 * self.n, 3 * self.n))
        out[np.ix_(at, at)] = folded
        return out

    def motion(self, size=1e-3):
        return (self.T @ rng().normal(size=self.T.shape[1]) * size).reshape(self.n, 3)


@pytest.fixture(scope="module")
def plain():
    mesh = graded_box((5, 6, 5))
    return Plain(mesh, fixed=mesh.nodes[:, 1] < 1e-9)


def relative(a, b):
    return np.abs(a - b).max() / np.abs(b).max()


def test_matrices_are_those_of_the_independent_nodes(plain):
    s, u = plain.solid, plain.motion()
    assert relative(s.mass().to_dense(), plain.whole(plain.fold(plain.cells.mass()))) < 1e-14
    for at in (None, u):
        want = plain.whole(plain.fold(plain.cells.stiffness(at)))
        assert relative(s.stiffness(at).to_dense(), want) < 1e-14
    want = plain.whole(plain.fold(plain.cells.stiffness(30 * u, definite=True)))
    assert relative(s.stiffness(30 * u, definite=True).to_dense(), want) < 1e-14
    K = s.stiffness(u).to_dense()
    np.testing.assert_array_equal(K, K.T)
    lumped = plain.T.T @ plain.cells.mass(lumped=True).to_dense().sum(axis=1)
    at = (3 * plain.independent[:, None] + np.arange(3)).ravel()
    np.testing.assert_allclose(s.mass(lumped=True).to_dense().sum(axis=1)[at], lumped, rtol=1e-14)
    assert s.total_mass == pytest.approx(plain.cells.total_mass, rel=1e-14)
    assert s.gravity(lumped=True).sum(axis=0)[2] == pytest.approx(-9.81 * s.total_mass)
    assert s.gravity().sum(axis=0)[2] == pytest.approx(-9.81 * s.total_mass)
    inertia = plain.cells.rigid_body.inertia
    np.testing.assert_allclose(s.rigid_body.inertia, inertia, rtol=1e-12, atol=1e-18)


def test_forces_energies_and_products(plain):
    s, u, v = plain.solid, plain.motion(), plain.motion(2e-3)[::1]
    assert s.strain_energy(u) == pytest.approx(plain.cells.strain_energy(u), rel=1e-14)
    for own, cells in (
        (s.internal_force(u), plain.cells.internal_force(u)),
        (s.hessian_product(u, v), plain.cells.hessian_product(u, v)),
    ):
        assert relative(own[plain.independent].ravel(), plain.T.T @ cells.ravel()) < 1e-13
        assert not own[plain.mesh.constraints.slaves].any()
    np.testing.assert_allclose(s.stress(u), plain.cells.stress(u), rtol=1e-12)
    damping = rf.StrainRateDamping(s, 2.0, 3.0)
    cells = rf.StrainRateDamping(plain.cells, 2.0, 3.0)
    want = plain.whole(plain.fold(cells.matrix(u)))
    assert relative(damping.matrix(u).to_dense(), want) < 1e-14


def test_motions_must_follow(plain):
    u = plain.motion()
    slave = int(plain.mesh.constraints.slaves[3])
    u[slave, 1] += 1e-3
    for call in (
        plain.solid.internal_force,
        plain.solid.stiffness,
        plain.solid.strain_energy,
        plain.solid.stress,
        lambda x: plain.solid.solve_static(u0=x),
        lambda x: rf.mass_pca(plain.solid, [x], 1),
        lambda x: rf.ImplicitNewmark(plain.solid, 1e-3).reset(q=x),
        lambda x: rf.ProjectedSolid(plain.solid, [x]),
        lambda x: plain.solid.modal_derivatives([x]),
    ):
        x = u.copy()
        x[plain.solid.fixed] = 0.0
        with pytest.raises(rf.InputError, match=rf"{slave}, \d\] .* node {slave} is constrained"):
            call(plain.mesh.constraints.fill(x) * 0 + x)


def test_motions_in_single_precision_are_refused_with_the_difference(plain):
    u = plain.motion().astype(np.float32)
    with pytest.raises(
        rf.InputError, match=r"differs by .*e-\d+; allowed is .*e-\d+ \(single prec"
    ):
        plain.solid.stress(u)
    plain.solid.stress(plain.mesh.constraints.fill(u))


def test_bits_do_not_depend_on_threads(set_threads):
    mesh = graded_box((16, 16, 16))
    s = rf.Solid(mesh, LAW)
    u = mesh.constraints.fill(1e-3 * rng().normal(size=(mesh.n_nodes, 3)))
    results = []
    for count in (1, 3):
        set_threads(count)
        results.append((s.stiffness(u).data, s.internal_force(u)))
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("size", [1e-7, 0.2])
def test_patch(size):
    """Homogeneous strain has no forces inside, linear and nonlinear."""
    mesh = graded_box((9, 8, 8))
    G = size * rng().normal(size=(3, 3))
    u = mesh.nodes @ G.T
    solid = rf.Solid(mesh, LAW)
    inside = np.setdiff1d(np.arange(mesh.n_nodes), mesh.boundary_nodes)
    for force in (solid.internal_force(u), (solid.stiffness() @ u.ravel()).reshape(-1, 3)):
        assert np.abs(force[inside]).max() < 1e-12 * np.abs(force).max()
    with pytest.warns(rf.PlausibilityWarning, match="fixed holds"):
        held = rf.Solid(mesh, LAW, fixed=mesh.boundary_nodes)
    if size < 0.1:
        found = held.solve_static(prescribed=u)
        assert np.abs(found - u).max() < 1e-12 * np.abs(u).max()


def test_statics_count_loads_on_constrained_nodes(plain):
    load = 1e-2 * rng().normal(size=(plain.n, 3))
    moved = np.zeros((plain.n, 3))
    moved[plain.solid.fixed] = [1e-3, 0.0, 5e-4]
    for prescribed in (None, moved):
        u = plain.solid.solve_static(load, prescribed=prescribed)
        rest = plain.T.T @ (plain.cells.internal_force(u) - load).ravel()
        assert np.abs(rest[plain.free]).max() < 1e-9 * np.abs(load).max()
        np.testing.assert_allclose(u, plain.mesh.constraints.fill(u), atol=1e-18)


def test_fixed_constrained_nodes():
    mesh = graded_box((5, 5, 5))
    c = mesh.constraints
    own = c.masters[c.ptr[0] : c.ptr[1]]
    fixed = [*own.tolist(), int(c.slaves[0])]
    solid = rf.Solid(mesh, LAW, fixed=fixed)
    np.testing.assert_array_equal(solid.fixed, np.sort(own))
    assert len(solid.free) == mesh.n_nodes - len(c) - len(own)
    with pytest.raises(rf.InputError, match=f"node {c.slaves[0]}, which is constrained to follow"):
        rf.Solid(mesh, LAW, fixed=fixed[1:])
    with pytest.warns(rf.PlausibilityWarning, match="fixed holds"):
        every = rf.Solid(mesh, LAW, fixed=np.arange(mesh.n_nodes))
    assert len(every.free) == 0
    with pytest.raises(rf.MeshError, match="fixed"):
        every.linear_modes(1)
    with pytest.raises(rf.MeshError, match="fixed"):
        rf.ImplicitNewmark(every, 1e-3)


def tied_blocks(ties):
    """Return a plate of 2x2 cells and a cube on it, some of whose nodes follow faces of it."""
    plate = voxel_mesh(np.ones((2, 2, 1), dtype=bool))
    cube = CORNERS * 0.01 + [0.005, 0.005, 0.01]
    nodes = np.concatenate([plate.nodes, cube])
    masters = [
        np.flatnonzero(np.linalg.norm(plate.nodes - x, axis=1) < 0.008).tolist() for x in cube[ties]
    ]
    assert [len(one) for one in masters] == [4] * len(ties)
    table = (
        np.array(ties) + plate.n_nodes, 4 * np.arange(len(ties) + 1), np.ravel(masters),
        np.full(4 * len(ties), 0.25),
    )  # fmt: skip
    elements = np.concatenate([plate.elements, np.arange(8)[None] + plate.n_nodes])
    return rf.Mesh(nodes, elements, constraints=table)


def test_parts_that_constraints_tie_are_held():
    mesh = tied_blocks([0, 1, 2, 3])
    body = Plain(mesh, fixed=mesh.nodes[:, 2] < 1e-9)
    assert mesh.n_components() == 1
    assert mesh.n_components("face") == 2
    load = 1e-9 * rng().normal(size=(body.n, 3))
    u = body.T[:, body.free] @ np.linalg.solve(
        body.fold(body.cells.stiffness())[np.ix_(body.free, body.free)],
        (body.T.T @ load.ravel())[body.free],
    )
    assert relative(body.solid.solve_static(load).ravel(), u) < 1e-6
    assert len(rf.Solid(mesh, LAW).linear_modes(1).shapes) == 1  # one piece
    # ties at a few corners leave the faces loose
    three, loose = tied_blocks([0, 1, 2]), tied_blocks([0, 1])
    with pytest.warns(rf.GeometryWarning, match="lie on others without common nodes"):
        bodies = [rf.Solid(mesh, LAW, fixed=mesh.nodes[:, 2] < 1e-9) for mesh in (three, loose)]
        free = rf.Solid(loose, LAW)
    bodies[0].solve_static(load)
    with pytest.raises(rf.MeshError, match="can swing"):
        bodies[1].solve_static(load)
    with pytest.raises(rf.MeshError, match="can swing"):
        free.linear_modes(1)


def test_places_prescribed_to_constrained_nodes():
    """Those of nodes whose masters are all fixed must be theirs, and may be left out."""
    mesh = graded_box((5, 5, 5))
    c = mesh.constraints
    solid = rf.Solid(mesh, LAW, fixed=[*c.masters[: c.ptr[1]].tolist(), 0, 5, 30])
    slave = int(c.slaves[0])
    places = np.zeros((mesh.n_nodes, 3))
    places[solid.fixed] = 1e-4 * rng().normal(size=(len(solid.fixed), 3))
    found = solid.solve_static(prescribed=places)
    filled = c.fill(places)
    np.testing.assert_array_equal(solid.solve_static(prescribed=filled), found)
    np.testing.assert_allclose(found[slave], filled[slave], rtol=1e-12)
    filled[slave, 2] += 1e-5
    with pytest.raises(rf.InputError, match=rf"prescribed\[{slave}, 2\] is .* masters, all fixed"):
        solid.solve_static(prescribed=filled)


def test_modes_and_derivatives_of_held_and_free_solids(plain):
    eigh = pytest.importorskip("scipy.linalg").eigh
    K, M = plain.fold(plain.cells.stiffness()), plain.fold(plain.cells.mass())
    free = np.ix_(plain.free, plain.free)
    fill = plain.mesh.constraints.fill
    for solid, values in (
        (plain.solid, eigh(K[free], M[free], eigvals_only=True, subset_by_index=[0, 2])),
        (rf.Solid(plain.mesh, LAW), eigh(K, M, eigvals_only=True, subset_by_index=[6, 8])),
    ):
        modes = solid.linear_modes(3)
        np.testing.assert_allclose((2 * np.pi * modes.frequencies) ** 2, values, rtol=1e-8)
        derivatives = solid.modal_derivatives(modes)
        for u in (*modes.shapes, *derivatives):
            np.testing.assert_allclose(u, fill(u), atol=1e-13 * np.abs(u).max())
        shapes = [x[plain.independent].ravel() for x in modes.shapes]
        rows = [(i, j) for i in range(3) for j in range(0 if solid is not plain.solid else i, 3)]
        for (i, j), phi in zip(rows, derivatives, strict=True):
            load = (
                -plain.T.T @ plain.cells.hessian_product(modes.shapes[j], modes.shapes[i]).ravel()
            )
            matrix = K
            if solid is not plain.solid:
                load -= M @ shapes[i] * (shapes[i] @ load)
                matrix = K - values[i] * M
            rest = matrix @ phi[plain.independent].ravel() - load
            rest = rest[plain.free] if solid is plain.solid else rest
            assert np.abs(rest).max() < 1e-7 * np.abs(load).max()
    rigid = rf.Solid(plain.mesh, LAW).linear_modes(2, rigid=True)
    gram = [[x.ravel() @ (plain.cells.mass() @ y.ravel()) for x in rigid.shapes] for y in
            rigid.shapes]  # fmt: skip
    np.testing.assert_allclose(gram, np.eye(8), atol=1e-11)


def test_reduction_has_the_forces_of_the_elements(plain):
    basis = rf.modal_derivative_basis(plain.solid, 3, 6)
    U = basis.vectors.reshape(6, -1)
    np.testing.assert_allclose(
        basis.vectors, [plain.mesh.constraints.fill(u) for u in basis.vectors], atol=1e-10
    )
    q = 1e-2 * rng().normal(size=6)
    u = (q @ U).reshape(-1, 3)
    want = U @ plain.cells.internal_force(u).ravel()
    models = (
        rf.reduce(plain.solid, basis),
        rf.ProjectedSolid(plain.solid, basis),
        rf.reduce(plain.solid, basis, editable=True),
    )
    for model in models:
        assert relative(model.internal_force(q), want) < 1e-11
        mass = U @ plain.cells.mass().to_dense() @ U.T
        np.testing.assert_allclose(model.mass, mass, rtol=1e-11, atol=1e-12 * np.abs(mass).max())
    K = U @ plain.cells.stiffness(u).to_dense() @ U.T
    assert relative(models[0].stiffness(q), K) < 1e-10


def test_models_keep_constraints_in_files(plain, tmp_path):
    model = rf.reduce(plain.solid, rf.modal_derivative_basis(plain.solid, 2, 3))
    model.save(tmp_path / "model.safetensors")
    again = rf.load(tmp_path / "model.safetensors")
    for name in ("slaves", "ptr", "masters", "weights"):
        np.testing.assert_array_equal(
            getattr(again.mesh.constraints, name), getattr(plain.mesh.constraints, name)
        )


def test_embedded_points_and_stable_step(plain):
    """Points move continuously across levels; lumped masses bound the step as they are."""
    u = plain.motion()
    inner = plain.mesh.nodes[plain.mesh.constraints.slaves]
    eps = 1e-9
    values = [rf.Embedding(plain.mesh, inner + eps * side).interpolate(u) for side in np.vstack(
        [np.eye(3), -np.eye(3)])]  # fmt: skip
    for one in values:
        np.testing.assert_allclose(one, u[plain.mesh.constraints.slaves], atol=1e-8)
    K = plain.fold(plain.cells.stiffness())[np.ix_(plain.free, plain.free)]
    m = (plain.T.T @ plain.cells.mass(lumped=True).to_dense().sum(axis=1))[plain.free]
    highest = np.sqrt(np.linalg.eigvalsh(K / np.sqrt(np.outer(m, m)))[-1])
    found = rf.spectrum(plain.solid, lumped=True).highest
    assert found * 2 * np.pi == pytest.approx(highest, rel=1e-11)
    assert rf.stable_step(plain.solid) <= 2 / highest * (1 + 1e-9)
    assert rf.stable_step(plain.solid) > 1.5 / highest


# --- an independent program ------------------------------------------------------------


@pytest.fixture(scope="module")
def oracle(shared):
    data = dict(np.load(shared / "reference" / "green_graded" / "graded_hex.npz"))
    counts = np.diff(data["master_ptr"])
    table = data["slaves"], data["master_ptr"], data["masters"], np.repeat(1 / counts, counts)
    mesh = rf.Mesh(data["nodes"], data["elements"], constraints=table)
    law = rf.StVK(float(data["young"]), float(data["poisson"]), float(data["density"]))
    fixed = data["independent"][data["held_independent"]]
    return data, rf.Solid(mesh, law), rf.Solid(mesh, law, fixed=fixed)


def test_agreement_with_the_reference(oracle):
    data, free, held = oracle
    at = data["independent"]
    np.testing.assert_array_equal(free.mesh.constraints.independent, at)
    lumped = free.mass(lumped=True).to_scipy().diagonal()[::3]
    np.testing.assert_allclose(lumped[at], data["lumped_mass"], rtol=1e-13)
    u = data["nonlinear_u"]
    assert relative(free.internal_force(u)[at], data["nonlinear_force"]) < 1e-11
    assert free.strain_energy(u) == pytest.approx(float(data["nonlinear_energy"]), rel=1e-11)
    load = held.gravity((9.81, 0.0, 0.0), lumped=True)
    K = held.stiffness().to_scipy()
    linear = np.zeros_like(u)
    linear[at] = data["static_u"]
    linear = held.mesh.constraints.fill(linear)
    rest = (K @ linear.ravel()).reshape(-1, 3) - load
    assert np.abs(rest[held.free]).max() < 1e-9 * np.abs(load).max()
    small = held.solve_static(1e-6 * load)
    assert relative(1e6 * small, linear) < 1e-7  # terms of second order
    assert np.sum(linear * load) == pytest.approx(float(data["static_compliance"]), rel=1e-9)
    np.testing.assert_allclose(
        held.linear_modes(6).frequencies, data["frequencies_consistent"], rtol=1e-8
    )


def test_highest_frequency_of_the_reference(oracle):
    data, _, held = oracle
    found = 2 * np.pi * rf.spectrum(held, lumped=True).highest
    assert found == pytest.approx(float(data["highest_omega_lumped"]), rel=1e-8)
    step = rf.stable_step(held)
    assert 0.85 * float(data["stable_step"]) < step <= float(data["stable_step"]) * (1 + 1e-9)


def test_parts_connected_across_levels_are_held():
    """A body held on one side has no loose parts; its levels alone would be such."""
    mesh = voxel_mesh(np.ones((8, 8, 8), dtype=bool)).graded()
    held = mesh.nodes[:, 2] < 1e-9
    rf.Solid(mesh, LAW, fixed=held).solve_static(np.zeros((mesh.n_nodes, 3)))
    apart = torn_solid(mesh, LAW, fixed=held)
    assert apart.mesh.n_components("face") > 1
