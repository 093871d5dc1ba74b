"""Solids of cut cells: energies and masses of the filled parts, and the ghost penalty."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest

import reducedfem as rf
from plain_solid import gauss, rotation
from reducedfem import _core
from shapes import box, sphere

YOUNG, POISSON, DENSITY = 1e6, 0.3, 1000.0
STVK = rf.StVK(YOUNG, POISSON, DENSITY)
LAMBDA = YOUNG * POISSON / ((1 + POISSON) * (1 - 2 * POISSON))
MU = YOUNG / (2 * (1 + POISSON))


def ball(resolution, order, radius=0.05):
    """Return a mesh of a ball about the origin, and the ball."""
    surface = rf.Surface(*sphere(24, radius=radius))
    return rf.voxelize(surface, resolution, order=order), surface


@pytest.fixture(scope="module", params=[1, 2])
def solid(request):
    mesh, _ = ball(5, request.param)
    return rf.Solid(mesh, STVK)


def moved(solid, rng, amount=0.003):
    return amount * rng.normal(size=solid.mesh.nodes.shape)


# --- exact integrals -----------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2])
def test_fields_without_jumps_have_their_energy(order):
    """Linear elasticity of polynomials on a box whose faces lie between those of cells."""
    mesh = rf.voxelize(box([0, 0, 0], [1, 1, 1]), 5, expand=1.25, order=order)
    assert (mesh.fractions < 1).any()
    solid = rf.Solid(mesh, STVK)
    rng = np.random.default_rng(order)
    A, B = rng.normal(size=(3, 3)), rng.normal(size=(3, 3, 3)) * (order == 2)
    B = B + B.transpose(0, 2, 1)
    u = mesh.nodes @ A.T + 0.5 * np.einsum("ijk,nj,nk->ni", B, mesh.nodes, mesh.nodes)
    expected = 0.0
    for xi, weight in gauss(3):
        x = 0.5 * (xi + 1.0)
        gradient = A + np.einsum("ijk,k->ij", B, x)
        strain = 0.5 * (gradient + gradient.T)
        energy = 0.5 * LAMBDA * np.trace(strain) ** 2 + MU * (strain**2).sum()
        expected += weight / 8.0 * energy
    twice = u.ravel() @ (solid.stiffness().to_scipy() @ u.ravel())
    assert math.isclose(0.5 * twice, expected, rel_tol=1e-11)


def test_mass_centre_and_inertia(solid):
    _, surface = ball(5, 1)
    body = solid.rigid_body
    assert math.isclose(body.mass, DENSITY * solid.mesh.volume, rel_tol=1e-12)
    assert abs(body.mass / (DENSITY * surface.volume) - 1.0) < 1e-3
    assert np.abs(body.centre).max() < 1e-6
    inertia = 0.4 * body.mass * 0.05**2
    np.testing.assert_allclose(body.inertia, inertia * np.eye(3), atol=0.01 * inertia)
    lumped = solid.mass(lumped=True).data
    assert (lumped > 0).all()
    assert math.isclose(lumped.sum() / 3, body.mass, rel_tol=1e-12)


def test_ghosts_add_no_mass_to_fields_without_jumps(solid):
    """The centre and the products of inertia are moments of the rules, to rounding."""
    mesh = solid.mesh
    counts, points, weights, _ = mesh._rule()
    edge = np.ptp(mesh.nodes[mesh.elements[0]], axis=0)
    middle = 0.5 * (mesh.nodes[mesh.elements[:, 0]] + mesh.nodes[mesh.elements[:, 6]])
    second = np.zeros((3, 3))
    ends = np.cumsum(counts)
    for e in range(mesh.n_elements):
        own = slice(ends[e] - counts[e], ends[e])
        xi, w = (
            (points[own], weights[own]) if counts[e] else map(np.array, zip(*gauss(3), strict=True))
        )
        x = middle[e] + 0.5 * edge * xi
        second += DENSITY * np.prod(edge) / 8.0 * (w[:, None] * x).T @ x
    expected = np.trace(second) * np.eye(3) - second
    c, m = solid.rigid_body.centre, solid.rigid_body.mass
    expected -= m * (c @ c * np.eye(3) - np.outer(c, c))
    np.testing.assert_allclose(
        solid.rigid_body.inertia, expected, rtol=0, atol=1e-11 * expected.max()
    )


# --- the mass of what is cut ----------------------------------------------------------


@functools.cache
def local_nodes(order):
    mesh = rf.voxelize(box([0.0, 0.0, 0.0], [2.0, 2.0, 2.0]), 1, order=order)
    at = mesh.nodes[mesh.elements[0]]
    return np.rint(2.0 * (at - at.min(axis=0)) / np.ptp(at, axis=0) - 1.0)


def shape_functions(order, xi):
    """Return values (p, nodes) and local gradients (p, nodes, 3), from exact differences."""
    corner = local_nodes(order)
    middles = np.abs(corner).sum(axis=1) < 2.5

    def values(x):
        n = np.prod(1.0 + corner * x[:, None], axis=2) / 8.0
        if order == 2:
            n *= (corner * x[:, None]).sum(axis=2) - 2.0
            along = np.where(corner == 0.0, 1.0 - x[:, None] ** 2, 1.0 + corner * x[:, None])
            n[:, middles] = np.prod(along, axis=2)[:, middles] / 4.0
        return n

    # quadratic in each coordinate: central differences are exact
    step = 0.5 * np.eye(3)
    gradient = np.stack([values(xi + step[k]) - values(xi - step[k]) for k in range(3)], axis=2)
    return values(xi), gradient


@functools.cache
def slopes_at_face(order, axis, end):
    """Return the weights of the rule on a face and the slopes across it: at it, above and below.

    Points of the rule of the cube, projected onto the face: four coincide, their weights sum to 2.
    """
    xi, w = map(np.array, zip(*gauss(4), strict=True))
    xi[:, axis] = end
    step = np.eye(3)[axis]
    slopes = [shape_functions(order, xi + k * step)[1][:, :, axis] for k in (0, 1, -1)]
    return w, np.array(slopes)


def energies_of_motion(mesh, v):
    """Twice the kinetic energies of a scalar field at density 1, by loops.

    Returns those of the penalty's mass and of the gradient inertia, and that of the filled parts,
    by the products of the rules: their points have fewer moments.
    """
    order = 2 if mesh.nodes_per_element == 20 else 1
    edge = np.ptp(mesh.nodes[mesh.elements[0]], axis=0)
    h = np.cbrt(edge.prod())
    counts, points, weights, products = mesh._rule()
    ends, fraction = np.cumsum(counts), mesh.fractions
    cell = np.rint((mesh.nodes[mesh.elements[:, 0]] - mesh.nodes.min(axis=0)) / edge).astype(int)
    at = {tuple(c): e for e, c in enumerate(cell)}
    whole = list(gauss(4))
    gradients, means, volumes, body = [], [], [], 0.0
    for e in range(mesh.n_elements):
        own = slice(ends[e] - counts[e], ends[e])
        xi, w = (
            (points[own], weights[own]) if counts[e] else map(np.array, zip(*whole, strict=True))
        )
        N, D = shape_functions(order, xi)
        product = np.einsum("p,pa,pb->ab", w, N, N)
        if counts[e]:
            upper = np.triu_indices(len(product))
            product[upper] = products[(counts[:e] > 0).sum()]
            product = np.triu(product) + np.triu(product, 1).T
        gradients.append(2.0 / edge * np.einsum("pak,a->pk", D, v[mesh.elements[e]]))
        volumes.append(h**3 / 8.0 * w)
        means.append(volumes[-1] @ gradients[-1] / volumes[-1].sum())
        body += h**3 / 8.0 * v[mesh.elements[e]] @ product @ v[mesh.elements[e]]
    small = fraction < (0.5 if order == 1 else 0.37)
    penalty = inertia = 0.0
    for e, c in enumerate(cell):
        candidates = [e]
        for axis, side in itertools.product(range(3), (-1, 1)):
            other = at.get(tuple(c + side * np.eye(3, dtype=int)[axis]))
            if other is None or not (small[e] or small[other]):
                continue
            candidates.append(other)
            if side < 0:
                continue
            jump, bend = 0.0, 0.0
            for f, end, sign in ((e, 1.0, 1.0), (other, -1.0, -1.0)):
                w, slopes = slopes_at_face(order, axis, end)
                at_face, above, below = slopes @ v[mesh.elements[f]] * 2.0 / edge[axis]
                jump = jump + sign * at_face
                bend = bend + sign * (above - below) / edge[axis]
            g, c_bend = ((5e-4, 0.0), (5e-5, 0.05))[order - 1]
            area = edge.prod() / edge[axis]
            penalty += g * h**3 * area * (w / 8.0 @ (jump**2 + c_bend * h**2 * bend**2))
        b = (1 / 5, 1 / 42)[order - 1]
        hosts = [k for k in candidates if fraction[k] >= fraction[candidates].max() - 1e-3]
        off = np.mean([((gradients[e] - means[k]) ** 2).sum(axis=1) for k in hosts], axis=0)
        inertia += b * h**2 * (1.0 - fraction[e]) * volumes[e] @ off
    return penalty, inertia, body


@pytest.mark.parametrize("name", ["ball", "ellipsoid"])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_mass_is_that_of_a_plain_version(order, name):
    # the ball has cells with several hosts, the ellipsoid has none
    mesh = rf.voxelize(BODIES[name], 6, order=order)
    M = rf.Solid(mesh, STVK).mass().to_scipy()[::3, ::3] / DENSITY
    v = np.random.default_rng(order).normal(size=mesh.n_nodes)
    penalty, inertia, body = energies_of_motion(mesh, v)
    assert min(penalty, inertia) > 1e-4 * body
    assert math.isclose(v @ (M @ v), body + penalty + inertia, rel_tol=1e-10)


def checkered(mesh):
    """Return the mesh with regions 0 and 1 that alternate along each axis."""
    corner = mesh.nodes[mesh.elements[:, 0]]
    edge = np.ptp(mesh.nodes[mesh.elements[0]], axis=0)
    cell = np.rint((corner - corner.min(axis=0)) / edge).astype(int)
    return mesh.with_regions(cell.sum(axis=1) % 2)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_slivers_among_another_material_are_held_as_among_their_own(order):
    mesh = rf.voxelize(BODIES["ellipsoid"], 8, order=order)
    one, two = rf.Solid(mesh, STVK), rf.Solid(checkered(mesh), {0: STVK, 1: STVK})
    for a, b in ((one.mass(), two.mass()), (one.stiffness(), two.stiffness())):
        np.testing.assert_array_equal(a.data, b.data)


@pytest.mark.parametrize("order", [1, 2])
def test_a_stiff_sliver_does_not_lock_the_soft_cells_around_it(order):
    """The penalty between two materials is the softer's, whether or not its cell is the sliver."""
    mesh = checkered(rf.voxelize(BODIES["ellipsoid"], 8, order=order))
    size = np.ptp(mesh.nodes, axis=0).max()
    for soft in (0, 1):
        materials = {soft: STVK, 1 - soft: rf.StVK(1e9 * YOUNG, POISSON, DENSITY)}
        K = rf.Solid(mesh, materials).stiffness().to_scipy().toarray()
        nodes = np.setdiff1d(mesh.elements, mesh.elements[mesh.regions != soft])
        rows = (3 * nodes[:, None] + np.arange(3)).ravel()
        assert 0.0 < np.abs(K[rows]).max() < 10.0 * YOUNG * size


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_mass_has_the_symmetry_of_the_body(order):
    """Neighbours that are filled alike count alike: rounding does not choose among them."""
    mesh, _ = ball(8, order)
    M = rf.Solid(mesh, STVK).mass().to_scipy()[::3, ::3].tocsr()
    places = {tuple(x): i for i, x in enumerate(np.rint(mesh.nodes * 1e6).astype(int))}
    for image in (mesh.nodes * [-1.0, 1.0, 1.0], mesh.nodes[:, [1, 0, 2]]):
        i = [places[tuple(x)] for x in np.rint(image * 1e6).astype(int)]
        # the error of the sub-cells of a cut cell is not symmetric
        assert abs(M[i][:, i] - M).max() < 1e-3 * abs(M).max()


@pytest.mark.parametrize("order", [1, 2])
def test_mass_is_symmetric_to_the_bit_and_linear_in_density(order):
    mesh = rf.voxelize(BODIES["ellipsoid"], 8, order=order)
    M = rf.Solid(mesh, STVK).mass().to_scipy()
    assert abs(M - M.T).max() == 0.0
    twice = rf.Solid(mesh, rf.StVK(YOUNG, POISSON, 2 * DENSITY)).mass()
    np.testing.assert_allclose(twice.data, 2 * M.data, rtol=1e-13)


SAME_STEPS = pytest.mark.no_asan(
    reason="the steps of first order, with forces of second order that the tests above assemble"
)


@pytest.mark.parametrize("order", [1, pytest.param(2, marks=SAME_STEPS)])
def test_explicit_steps_have_the_frequencies_of_the_modes(order):
    """Motions of cut cells that hardly strain would be far too slow with lumped mass."""
    mesh = rf.voxelize(BODIES["ellipsoid"], 8, order=order)
    solid = rf.Solid(mesh, STVK, fixed=mesh.nodes[:, 0] < -0.05)
    modes = solid.linear_modes(6)
    for k in range(6):
        u = 1e-6 * modes.shapes[k] / np.abs(modes.shapes[k]).max()
        sim = rf.CentralDifferences(solid)
        period = 1.0 / modes.frequencies[k]
        steps = round(0.5 * period / sim.dt)
        sim.reset(u)
        sim.step(n=steps)
        expected = u * math.cos(2 * math.pi * steps * sim.dt / period)
        np.testing.assert_allclose(sim.state.q, expected, atol=2e-3 * np.abs(u).max())


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_stable_step_of_cut_cells_is_the_limit():
    mesh = rf.voxelize(BODIES["ball"], 5)
    solid = rf.Solid(mesh, STVK, fixed=mesh.nodes[:, 2] < -0.02)
    stable = rf.stable_step(solid)
    highest = rf.spectrum(solid).highest
    assert math.isclose(stable, 1.0 / (math.pi * highest), rel_tol=0.011)
    assert stable < 1.0 / (math.pi * highest)
    rng = np.random.default_rng(0)
    start = np.zeros((mesh.n_nodes, 3))
    start[solid.free] = 1e-9 * rng.normal(size=(len(solid.free), 3))
    sim = rf.CentralDifferences(solid, 0.999 * stable)
    sim.reset(start)
    sim.step(n=2000)
    kept = np.abs(sim.state.q).max()
    assert kept < 1e-6
    with pytest.raises(rf.InputError, match="steps are stable up to"):
        rf.CentralDifferences(solid, 1.03 * stable)
    beyond = rf.CentralDifferences(solid, 1.03 * stable, unstable=True)
    beyond.reset(start)
    with pytest.raises(rf.DivergedError):
        beyond.step(n=2000)


# --- the penalty ---------------------------------------------------------------------


def test_energy_turns_with_the_body(solid):
    rng = np.random.default_rng(3)
    u, R = moved(solid, rng), rotation([1, 2, 3], 2.0)
    turned = (solid.mesh.nodes + u) @ R.T - solid.mesh.nodes
    assert math.isclose(solid.strain_energy(turned), solid.strain_energy(u), rel_tol=1e-11)
    force = solid.internal_force(u)
    np.testing.assert_allclose(
        solid.internal_force(turned), force @ R.T, atol=1e-11 * np.abs(force).max()
    )
    rigid = solid.mesh.nodes @ R.T - solid.mesh.nodes + 0.1
    assert solid.strain_energy(rigid) < 1e-12 * solid.strain_energy(u)


def test_force_and_tangent_are_derivatives(solid):
    rng = np.random.default_rng(4)
    u, v = moved(solid, rng), moved(solid, rng)
    h = 1e-5
    slope = (solid.strain_energy(u + h * v) - solid.strain_energy(u - h * v)) / (2 * h)
    assert math.isclose(slope, (solid.internal_force(u) * v).sum(), rel_tol=1e-6)
    change = (solid.internal_force(u + h * v) - solid.internal_force(u - h * v)) / (2 * h)
    K = solid.stiffness(u).to_scipy()
    np.testing.assert_allclose(
        (K @ v.ravel()).reshape(-1, 3), change, atol=1e-6 * abs(change).max()
    )
    assert abs(K - K.T).max() == 0.0


def test_hessian_has_no_part_of_the_penalty(solid):
    rng = np.random.default_rng(5)
    a, b = moved(solid, rng), moved(solid, rng)
    h = 1e-4
    # the second difference in a and b; forces are cubic, so odd terms cancel
    expected = solid.hessian_product(a, b)
    plus = solid.internal_force(h * (a + b)) + solid.internal_force(-h * (a + b))
    minus = solid.internal_force(h * (a - b)) + solid.internal_force(h * (b - a))
    np.testing.assert_allclose(
        (plus - minus) / (4 * h * h), expected, atol=1e-6 * np.abs(expected).max()
    )


def turned(surface, scale=(1.0, 1.0, 1.0)):
    return rf.Surface(surface.vertices * scale @ rotation([1, 2, 3], 0.7).T, surface.triangles)


BODIES = {
    "box": turned(box([0.0, 0.0, 0.0], [1.0, 0.6, 0.4])),
    "ball": rf.Surface(*sphere(24, radius=0.05)),
    "ellipsoid": turned(rf.Surface(*sphere(24, radius=0.05)), (2.0, 1.0, 0.5)),
}


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_slivers_do_not_oscillate(name, order):
    """The highest frequency is about that of whole cubes; the mark is 1.3 times as much."""
    mesh = rf.voxelize(BODIES[name], 8, order=order)
    assert mesh.fractions.min() < 0.05
    whole = rf.voxelize(BODIES[name], 8, order=order, cut=False, expand=1.0)
    highest, of_cubes = (
        _core.solid_highest(rf.Solid(m, STVK)._core, False, 1e-8, 1) for m in (mesh, whole)
    )
    assert highest < 1.08**2 * of_cubes


@pytest.mark.parametrize(("height", "tied"), [(0.85, False), (0.65, True)])
def test_only_small_cells_are_tied_to_their_neighbours(height, tied):
    """Cells that are filled by 0.7 add nothing to the pattern of the matrices, those by 0.3 do."""
    mesh = rf.voxelize(box([0.0, 0.0, 0.0], [1.0, 1.0, height]), 4, expand=1.0, order=2)
    assert math.isclose(mesh.fractions.min(), 0.3 if tied else 0.7, rel_tol=1e-6)
    entries, plain = (
        rf.Solid(m, STVK).mass().nnz for m in (mesh, rf.Mesh(mesh.nodes, mesh.elements))
    )
    assert (entries > plain) == tied


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_slivers_have_no_modes_of_their_own_among_the_lowest():
    """Coarse cells of which many are all but empty have the modes of fine ones."""
    vertices, triangles = sphere(20, radius=0.05)
    surface = rf.Surface(vertices * [2.0, 1.0, 1.0], triangles)
    coarse, fine = (rf.voxelize(surface, resolution, expand=1.0) for resolution in (6, 9))
    assert (coarse.fractions < 0.01).sum() > 8
    a, b = (rf.Solid(m, STVK).linear_modes(20).frequencies for m in (coarse, fine))
    np.testing.assert_allclose(a, b, rtol=0.02)


def test_materials_are_tied_within_themselves_only():
    """The penalty of a cut body of two halves is that of each, without terms between them."""
    mesh, _ = ball(6, 1)
    left = mesh.nodes[mesh.elements].mean(axis=1)[:, 0] < 0
    both = mesh.with_regions(left.astype(np.int32))
    soft, hard = rf.StVK(1e5, 0.3, 900.0), rf.StVK(1e7, 0.2, 1100.0)
    solid = rf.Solid(both, {1: soft, 0: hard})
    rng = np.random.default_rng(0)
    u = moved(solid, rng)
    energy = 0.0
    for region, material in ((1, soft), (0, hard)):
        part = both.submesh(both.regions == region)
        energy += rf.Solid(part, material).strain_energy(u[part.original_nodes])
    assert math.isclose(solid.strain_energy(u), energy, rel_tol=1e-12)


def test_same_bits_for_any_number_of_threads(set_threads):
    mesh, _ = ball(12, 1)
    solid = rf.Solid(mesh, STVK)
    u = moved(solid, np.random.default_rng(1), 1e-3)
    results = []
    for count in (1, 3):
        set_threads(count)
        results.append([solid.strain_energy(u), solid.internal_force(u), solid.stiffness(u).data])
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a, b)


# --- everything above ----------------------------------------------------------------


@pytest.fixture(scope="module", params=[1, 2])
def held(request):
    mesh, _ = ball(5, request.param)
    return rf.Solid(mesh, STVK, fixed=mesh.nodes[:, 2] < -0.02)


def test_modes_are_orthonormal_and_eigenvectors(held):
    modes = held.linear_modes(6)
    M, K = held.mass().to_scipy(), held.stiffness().to_scipy()
    phi = modes.shapes.reshape(6, -1)
    np.testing.assert_allclose(phi @ (M @ phi.T), np.eye(6), atol=1e-9)
    omega2 = (2 * np.pi * modes.frequencies) ** 2
    np.testing.assert_allclose(phi @ (K @ phi.T), np.diag(omega2), atol=1e-8 * omega2.max())


def test_reduced_models_are_exact(held, tmp_path):
    basis = rf.modal_derivative_basis(held, k=4, r=8)
    model = rf.reduce(held, basis)
    rng = np.random.default_rng(2)
    q = 0.02 * rng.normal(size=8) / (2 * np.pi * held.linear_modes(1).frequencies[0])
    u = model.displacement(q)
    force = model.project(held.internal_force(u))
    np.testing.assert_allclose(model.internal_force(q), force, atol=1e-12 * np.abs(force).max())
    assert math.isclose(model.strain_energy(q), held.strain_energy(u), rel_tol=1e-12)
    U, K = model.basis.reshape(8, -1), held.stiffness(u).to_scipy()
    stiffness = U @ (K @ U.T)
    np.testing.assert_allclose(model.stiffness(q), stiffness, atol=1e-11 * np.abs(stiffness).max())
    model.save(tmp_path / "m.safetensors")
    again = rf.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(again.internal_force(q), model.internal_force(q))
    for a, b in zip(again.mesh._rule(), held.mesh._rule(), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(
        rf.Solid(again.mesh, STVK, again.fixed).stiffness().data, held.stiffness().data
    )


@pytest.mark.parametrize("kind", ["isotropic", "general"])
def test_edited_materials_are_those_of_a_new_solid(held, kind):
    if kind == "isotropic":
        old, new = STVK, rf.StVK(3e5, 0.42, 700.0)
    else:
        C = np.diag([3.0, 2.0, 2.5, 0.6, 0.7, 0.8]) * 1e6
        C[0, 1] = C[1, 0] = 0.9e6
        old, new = rf.LinearElastic(C, 1000.0), rf.LinearElastic(0.5 * C, 800.0)
    first = rf.Solid(held.mesh, old, held.fixed)
    basis = rf.modal_derivative_basis(first, k=3, r=5)
    edited = rf.reduce(first, basis, editable=True).edit({0: new})
    fresh = rf.reduce(rf.Solid(held.mesh, new, held.fixed), basis.vectors)
    q = np.linspace(-1e-4, 2e-4, 5)
    expected = fresh.internal_force(q)
    np.testing.assert_allclose(edited.internal_force(q), expected, atol=1e-11 * abs(expected).max())
    np.testing.assert_allclose(edited.mass, fresh.mass, atol=1e-11 * abs(fresh.mass).max())


def test_statics_and_steps_in_time(held):
    # a force on one node of a hardly filled cell would carry that node away
    load = held.gravity((20.0, 0.0, 0.0))
    u = held.solve_static(load)
    rest = held.internal_force(u) - load
    rest[held.mesh.nodes[:, 2] < -0.02] = 0.0
    assert np.abs(rest).max() < 1e-7
    full = rf.ImplicitNewmark(held, 1e-3, damping=(2.0, 1e-4), newton_max=20, tol=1e-10)
    basis = rf.modal_derivative_basis(held, k=4, r=8)
    projected = rf.ImplicitNewmark(rf.ProjectedSolid(held, basis), 1e-3, newton_max=20, tol=1e-10)
    reduced = rf.ImplicitNewmark(rf.reduce(held, basis), 1e-3, newton_max=20, tol=1e-10)
    full.step(load, n=3)
    projected.step(load, n=3)
    reduced.step(load, n=3)
    assert 0 < np.abs(full.state.q).max() < np.inf
    np.testing.assert_allclose(
        projected.state.q, reduced.state.q, atol=1e-7 * np.abs(reduced.state.q).max()
    )


def test_points_of_the_surface_move_with_the_cells(held):
    _, surface = ball(5, 1)
    embedding = rf.Embedding(held.mesh, surface.vertices)
    A = np.array(list(itertools.product([0.1, -0.2], repeat=3)))[:3]
    np.testing.assert_allclose(
        embedding.interpolate(held.mesh.nodes @ A), surface.vertices @ A, atol=1e-12
    )
