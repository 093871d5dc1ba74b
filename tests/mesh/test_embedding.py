import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array

import reducedfem as rf
from failures import check_live_blocks, live_blocks
from reducedfem import _core
from reducedfem.base.run import set_threads, threads
from shapes import box_hex20s, box_hexes, box_tet10s, box_tets

SIGN = np.array(
    [
        [-1, -1, -1], [1, -1, -1], [1, 1, -1], [-1, 1, -1],
        [-1, -1, 1], [1, -1, 1], [1, 1, 1], [-1, 1, 1],
    ]
)  # fmt: skip


def distorted_box(rng, amount=0.22, n=3):
    """Hexes of edge 1/n, every node moved by up to `amount` of an edge."""
    nodes, elements = box_hexes(n, n, n)
    return rf.Mesh(nodes + rng.uniform(-amount, amount, nodes.shape) / n, elements)


def tet_box(rng):
    nodes, elements = box_tets(3, 3, 3)
    return rf.Mesh(nodes + rng.uniform(-0.1, 0.1, nodes.shape) / 3, elements)


def shape_functions(xi):
    return np.prod(1 + SIGN * xi[:, None, :], axis=2) / 8


def matrix(e):
    """The interpolation as a plain matrix (v, n)."""
    return sparse(e).toarray()


def sparse(e):
    row = np.repeat(np.arange(e.n_points), e.nodes.shape[1])
    shape = (e.n_points, e.mesh.n_nodes)
    return csr_array((e.weights.ravel(), (row, e.nodes.ravel())), shape=shape)


@pytest.mark.parametrize("make", [distorted_box, tet_box])
def test_linear_fields_are_exact_inside_and_outside(rng, make):
    mesh = make(rng)
    e = rf.Embedding(mesh, rng.uniform(-1, 2, (2000, 3)))
    assert e.outside.any()
    assert not e.outside.all()
    a, b = rng.normal(size=(3, 3)), rng.normal(size=3)
    # weights up to about ten: a few digits of 1e-16 go
    np.testing.assert_allclose(e.weights.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(e.interpolate(mesh.nodes @ a + b), e.points @ a + b, atol=1e-11)
    np.testing.assert_array_equal(mesh.elements[e.elements], e.nodes)


def test_hex_weights_are_shape_functions_at_known_coordinates(rng):
    # strongly distorted: corners moved by up to 0.3 of an edge, still convex enough
    count = 0
    while count < 60:
        nodes = SIGN / 2 + rng.uniform(-0.3, 0.3, (8, 3))
        try:
            mesh = rf.Mesh(nodes, [list(range(8))])
        except rf.MeshError:
            continue
        count += 1
        xi = rng.uniform(-1, 1, (50, 3))
        xi[:8] = SIGN
        n = shape_functions(xi)
        e = rf.Embedding(mesh, n @ nodes)
        assert not e.outside.any()
        # the inverse of the map loses as many digits as its Jacobian is small
        np.testing.assert_allclose(e.weights, n, atol=1e-10)


def test_tet_weights_are_barycentric(rng):
    nodes = np.array([[0, 0, 0], [2, 0, 0], [0, 3, 0], [1, 1, 4]], dtype=float)
    w = rng.dirichlet(np.ones(4), 100)
    e = rf.Embedding(rf.Mesh(nodes, [[0, 1, 2, 3]]), w @ nodes)
    np.testing.assert_allclose(e.weights, w, atol=1e-14)
    assert not e.outside.any()


@pytest.mark.parametrize("make", [distorted_box, tet_box])
def test_every_point_inside_is_found_in_its_element(rng, make):
    mesh = make(rng)
    w = rng.dirichlet(np.ones(mesh.nodes_per_element), mesh.n_elements)
    if mesh.nodes_per_element == 8:
        w = shape_functions(rng.uniform(-0.999, 0.999, (mesh.n_elements, 3)))
    points = np.einsum("ea,eai->ei", w, mesh.nodes[mesh.elements])
    e = rf.Embedding(mesh, points)
    np.testing.assert_array_equal(e.elements, np.arange(mesh.n_elements))
    assert (e.distance == 0).all()


def test_nodes_are_carried_by_themselves(rng):
    mesh = distorted_box(rng)
    e = rf.Embedding(mesh, mesh.nodes)
    assert not e.outside.any()
    np.testing.assert_allclose(matrix(e), np.eye(mesh.n_nodes), atol=1e-12)
    # a point on several elements belongs to the lowest
    lowest = [np.flatnonzero((mesh.elements == i).any(axis=1)).min() for i in range(mesh.n_nodes)]
    np.testing.assert_array_equal(e.elements, lowest)


def test_distance_to_a_box(rng):
    points = rng.uniform(-2, 3, (3000, 3))
    expected = np.linalg.norm(points - np.clip(points, 0, 1), axis=1)
    for nodes, elements in (box_hexes(4, 3, 5), box_tets(2, 3, 2)):
        e = rf.Embedding(rf.Mesh(nodes, elements), points)
        np.testing.assert_allclose(e.distance, expected, atol=1e-14)
        np.testing.assert_array_equal(e.outside, expected > 0)


def test_nearest_element_outside_by_brute_force(rng):
    mesh = tet_box(rng)
    points = rng.uniform(-0.5, 1.5, (300, 3))
    e = rf.Embedding(mesh, points)
    # dense samples of every boundary face bound the distance from above
    w = np.array([(i, j, 12 - i - j) for i in range(13) for j in range(13 - i)]) / 12
    samples = np.einsum("sa,fai->fsi", w, mesh.nodes[mesh.boundary_faces]).reshape(-1, 3)
    nearest = np.sqrt(((points[:, None] - samples) ** 2).sum(-1).min(1))
    out = e.outside
    assert (e.distance[out] <= nearest[out] + 1e-12).all()
    # samples are at most 0.5/3/12 apart from any place of a face
    assert (e.distance[out] >= nearest[out] - 0.5 / 12).all()


def on_a_flat_face(corners, place):
    """Return whether a place is on a convex face that is normal to an axis; exact for dyadics."""
    axis = np.flatnonzero(np.ptp(corners, axis=0) == 0.0)[0]
    if place[axis] != corners[0, axis]:
        return False
    a = np.delete(corners, axis, axis=1)
    edge, way = np.roll(a, -1, axis=0) - a, np.delete(place, axis) - a
    side = edge[:, 0] * way[:, 1] - edge[:, 1] * way[:, 0]
    return bool((side >= 0.0).all() or (side <= 0.0).all())


@pytest.mark.parametrize(
    ("make", "corners", "face_corners"),
    [(box_hexes, 8, 4), (box_tets, 4, 3), (box_tet10s, 4, 3)],
    ids=["hex8", "tet4", "tet10"],
)
def test_of_equally_near_elements_the_lowest_carries_a_point(rng, make, corners, face_corners):
    """Beside edges and corners that several share, in any order of the elements."""
    nodes, elements = make(2, 2, 2)
    # halves and quarters: distances of a tie are the same number
    steps = np.array([-0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5])
    points = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
    points = points[((points < 0.0) | (points > 1.0)).any(axis=1)]
    for _ in range(3):
        mesh = rf.Mesh(nodes, rng.permutation(elements))
        faces = mesh.boundary_faces[:, :face_corners]
        owner = [
            np.flatnonzero(np.isin(mesh.elements[:, :corners], face).sum(axis=1) == face_corners)[0]
            for face in faces
        ]
        expected = [
            min(k for k, face in zip(owner, faces, strict=True) if on_a_flat_face(nodes[face], at))
            for at in np.clip(points, 0.0, 1.0)
        ]
        np.testing.assert_array_equal(rf.Embedding(mesh, points).elements, expected)


def test_extrapolation_stays_bounded_far_outside(rng):
    # trilinear functions would grow with the cube of the distance
    mesh = distorted_box(rng)
    direction = rng.normal(size=(100, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    near = rf.Embedding(mesh, 0.5 + 10 * direction)
    far = rf.Embedding(mesh, 0.5 + 100 * direction)
    assert np.abs(far.weights).max() < 20 * np.abs(near.weights).max()
    # continuous across the boundary: weights just inside and just outside agree
    face = mesh.nodes[mesh.boundary_faces]
    centre = face.mean(axis=1)
    normal = np.cross(face[:, 2] - face[:, 0], face[:, 3] - face[:, 1])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    inside = matrix(rf.Embedding(mesh, centre - 1e-7 * normal))
    outside = matrix(rf.Embedding(mesh, centre + 1e-7 * normal))
    # weights change by about 1/edge = 3 a metre, each side of the face
    np.testing.assert_allclose(inside, outside, atol=1e-5)


@pytest.mark.filterwarnings("ignore:f.*acts:reducedfem.GeometryWarning")
@pytest.mark.parametrize("make", [distorted_box, tet_box])
def test_distribute_is_the_transpose(rng, make):
    mesh = make(rng)
    e = rf.Embedding(mesh, rng.uniform(-0.5, 1.5, (500, 3)))
    u, f = rng.normal(size=(mesh.n_nodes, 3)), rng.normal(size=(500, 3))
    work = np.vdot(f, e.interpolate(u))
    assert np.vdot(e.distribute(f), u) == pytest.approx(work, abs=1e-11)
    m = matrix(e)
    np.testing.assert_allclose(e.interpolate(u), m @ u, atol=1e-12)
    np.testing.assert_allclose(e.distribute(f), m.T @ f, atol=1e-12)
    # resultant force is kept
    np.testing.assert_allclose(e.distribute(f).sum(axis=0), f.sum(axis=0), atol=1e-10)
    # flat vectors are the same
    np.testing.assert_array_equal(e.interpolate(u.ravel()), e.interpolate(u))
    np.testing.assert_array_equal(e.distribute(f.ravel()), e.distribute(f))


def test_transfer_is_interpolation_of_each_vector(rng):
    mesh = distorted_box(rng)
    e = rf.Embedding(mesh, rng.uniform(0, 1, (200, 3)))
    stack = rng.normal(size=(4, mesh.n_nodes, 3))
    expected = np.stack([e.interpolate(u) for u in stack])
    np.testing.assert_array_equal(e.transfer(stack), expected)

    class Basis:
        vectors = stack

    np.testing.assert_array_equal(e.transfer(Basis()), expected)


def test_same_bits_for_any_number_of_threads(rng):
    mesh = distorted_box(rng)
    points = rng.uniform(-0.5, 1.5, (20_000, 3))
    stack = rng.normal(size=(3, mesh.n_nodes, 3))
    before = threads()
    results = []
    try:
        for count in (1, 2, 5):
            set_threads(count)
            e = rf.Embedding(mesh, points)
            results.append(
                [a.tobytes() for a in (e.elements, e.weights, e.distance, e.transfer(stack))]
            )
    finally:
        set_threads(before)
    assert results[0] == results[1] == results[2]


def test_voxels_carry_the_surface_they_were_made_from(rng):
    vertices = rng.normal(size=(60, 3))
    s = rf.Surface(vertices, rng.integers(0, 60, (100, 3)))
    used = np.unique(s.triangles)
    e = rf.Embedding(rf.voxelize(s, 20, fill=False), s.vertices)
    assert not e.outside[used].any()


@pytest.mark.parametrize(
    ("points", "error", "message"),
    [
        (np.zeros((0, 3)), rf.InputError, "points has 0 rows"),
        (np.zeros(3), rf.InputError, r"points must have shape \(any, 3\)"),
        ([[0, np.inf, 0]], rf.InputError, r"points\[0, 1\] is inf"),
        ("points", rf.InputTypeError, "points must be an array"),
    ],
)
def test_refuses_points(points, error, message):
    with pytest.raises(error, match=message):
        rf.Embedding(rf.Mesh(*box_hexes(1, 1, 1)), points)


def test_refuses_other_arguments():
    with pytest.raises(rf.InputTypeError, match="mesh must be a Mesh, got tuple"):
        rf.Embedding(box_hexes(1, 1, 1), [[0, 0, 0]])
    e = rf.Embedding(rf.Mesh(*box_hexes(1, 1, 1)), np.zeros((5, 3)))
    with pytest.raises(rf.InputError, match=r"u must have shape \(8, 3\) or \(24,\), got \(5, 3\)"):
        e.interpolate(np.zeros((5, 3)))
    with pytest.raises(rf.InputError, match=r"f must have shape \(5, 3\) or \(15,\), got \(8, 3\)"):
        e.distribute(np.zeros((8, 3)))
    with pytest.raises(rf.InputError, match=r"basis must have shape \(any, 8, 3\)"):
        e.transfer(np.zeros((8, 3)))
    with pytest.raises(rf.InputError, match=r"u\[2, 1\] is nan"):
        e.interpolate(np.where(np.arange(24).reshape(8, 3) == 7, np.nan, 0))
    with pytest.raises(TypeError):
        _core.Embedding("mesh", [[0, 0, 0]], None, 1)


def test_results_outlive_mesh_and_embedding(rng):
    mesh = distorted_box(rng)
    e = rf.Embedding(mesh, [[0.5, 0.5, 0.5]])
    weights, core = e.weights, e._core
    expected = weights.copy()
    del e, mesh
    np.testing.assert_array_equal(weights, expected)
    assert core.interpolate(np.ones((64, 3)), 1) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="read-only"):
        weights[0, 0] = 1


def test_pickles(rng):
    e = rf.Embedding(tet_box(rng), rng.uniform(0, 1, (20, 3)))
    again = pickle.loads(pickle.dumps(e))
    np.testing.assert_array_equal(again.weights, e.weights)


def test_progress_can_stop():
    def stop(done, total):
        raise RuntimeError("enough")

    mesh = rf.Mesh(*box_hexes(2, 2, 2))
    with pytest.raises(RuntimeError, match="enough"):
        rf.Embedding(mesh, np.zeros((5000, 3)), progress=stop)


def test_every_failing_allocation_is_reported_and_nothing_leaks():
    mesh = rf.Mesh(*box_hexes(2, 2, 2))
    before = live_blocks()
    for k in range(40):
        _core.alloc_fail_from(k)
        try:
            e = rf.Embedding(mesh, [[5, 5, 5], [0.5, 0.5, 0.5]])
            break
        except MemoryError:
            pass
        finally:
            _core.alloc_fail_from(-1)
        check_live_blocks(before)
    # arrays 5, tree of elements 5, boundary 4, tree of its triangles 5
    assert k == 19
    del e
    check_live_blocks(before)


@pytest.mark.parametrize(
    ("veg", "obj", "interp"),
    [
        (
            "simpleBridge/simpleBridge_resol92-b1.155_enlarged.veg",
            "simpleBridge/simpleBridge.obj",
            "simpleBridge/simpleBridge_resol92-b1.155_enlarged.interp",
        ),
        (
            "turtle/turtle-volumetric-homogeneous.veg",
            "turtle/turtle.obj",
            "turtle/turtle.interp",
        ),
    ],
)
def test_against_independent_embeddings(shared, veg, obj, interp):
    folder = shared / "meshes" / "vega"
    mesh, s = rf.read_mesh(folder / veg), rf.read_surface(folder / obj)
    e = rf.Embedding(mesh, s.vertices)
    table = np.loadtxt(folder / interp)
    np.testing.assert_array_equal(table[:, 0], np.arange(s.n_vertices))
    nodes, weights = table[:, 1::2].astype(int), table[:, 2::2]
    row = np.repeat(np.arange(s.n_vertices), nodes.shape[1])
    theirs = csr_array((weights.ravel(), (row, nodes.ravel())), shape=(s.n_vertices, mesh.n_nodes))
    # six decimals are printed
    assert abs(sparse(e) - theirs).max() < 6e-7


@pytest.mark.parametrize("make", [box_tets, box_hexes, box_tet10s, box_hex20s])
@pytest.mark.parametrize("far", [1e200, 1e308])
def test_points_whose_distance_overflows_are_refused(make, far):
    """Squares of distances overflow; weights would be NaN."""
    with pytest.raises(rf.InputError, match="point 1 is at .*, too far from the mesh"):
        rf.Embedding(rf.Mesh(*make(2, 1, 1)), [[0.5, 0.5, 0.5], [far, -far, far]])
