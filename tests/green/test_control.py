"""Control elements: linear fields, forces, frames, against dense algebra and differences."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import reducedfem as rf
from reducedfem import _core
from shapes import box_hexes, box_tets
from turns import turn

SIZE = (0.4, 0.1, 0.12)
FAR = pytest.mark.filterwarnings("ignore:c (turns|moves) handles:reducedfem.PlausibilityWarning")


def ends(nodes):
    return [np.flatnonzero(nodes[:, 0] < 1e-9), np.flatnonzero(nodes[:, 0] > SIZE[0] - 1e-9)]


def make_solid(fixed=None, hexes=False):
    nodes, elements = (box_hexes if hexes else box_tets)(4, 2, 2, SIZE)
    nodes = nodes + 0.004 * np.sin(37.0 * nodes[:, [1, 2, 0]]) * (nodes[:, :1] > 0.05)
    return rf.Solid(rf.Mesh(nodes, elements), rf.StVK(1e5, 0.3, 1000.0), fixed)


def thick_ends(nodes):
    return [np.flatnonzero(nodes[:, 0] < 0.12), np.flatnonzero(nodes[:, 0] > 0.27)]


@pytest.fixture(scope="module")
def free():
    return make_solid()


@pytest.fixture(scope="module")
def handles(free):
    n = free.mesh.n_nodes
    return rf.ControlElements(free, thick_ends(free.mesh.nodes), np.arange(n))


def field(nodes, sets, c):
    """Return P c over all nodes."""
    u = np.zeros_like(nodes)
    for one, own in zip(sets, np.reshape(c, (-1, 12)), strict=True):
        x = nodes[one]
        u[one] = own[:3] + (x - x.mean(axis=0)) @ own[3:].reshape(3, 3).T
    return u


def dense(solid, sets):
    """Return the responses (12h, n, 3) of the parameters, and P^T D P."""
    n = solid.mesh.n_nodes
    K = solid.stiffness().to_dense()
    held = np.zeros(n, bool)
    held[np.concatenate([*sets, solid.fixed])] = True
    free = np.flatnonzero(np.repeat(~held, 3))
    P = np.array([field(solid.mesh.nodes, sets, c).ravel() for c in np.eye(12 * len(sets))])
    u = P.copy()
    u[:, free] = -np.linalg.solve(K[np.ix_(free, free)], (K @ P.T)[free]).T
    return u.reshape(-1, n, 3), P @ K @ u.T


@pytest.mark.parametrize("hexes", [False, True])
@pytest.mark.parametrize("fixed", [False, True])
def test_fields_and_forces_are_those_of_dense_algebra(rng, hexes, fixed):
    solid = make_solid(hexes=hexes)
    sets = thick_ends(solid.mesh.nodes)
    if fixed:
        solid = make_solid(sets.pop(0), hexes)
    made = rf.ControlElements(solid, sets, np.arange(solid.mesh.n_nodes))
    u, D = dense(solid, sets)
    np.testing.assert_allclose(made.matrix, D, rtol=0, atol=1e-10 * np.abs(D).max())
    assert (made.matrix == made.matrix.T).all()
    assert made.rank == np.linalg.matrix_rank(D, 1e-9 * np.abs(D).max(), hermitian=True)
    assert made.rank == (12 if fixed else 18)  # rigid motions of the whole are free
    c = rng.normal(size=12 * len(sets))
    expected = np.tensordot(c, u, 1)
    got = made.displacement(c, rotation=None)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    np.testing.assert_allclose(made.forces(c, None), D @ c, atol=1e-9 * np.abs(D).max())
    np.testing.assert_allclose(made.energy(c, None), 0.5 * c @ D @ c, rtol=1e-9)


def test_plane_handles_have_parameters_without_effect():
    solid = rf.Solid(rf.Mesh(*box_tets(4, 2, 2, SIZE)), rf.StVK(1e5, 0.3, 1000.0))
    made = rf.ControlElements(solid, ends(solid.mesh.nodes))
    assert made.rank == 12
    assert len(made.nodes) == len(solid.mesh.boundary_nodes)
    normal = np.zeros(24)
    normal[[3, 6, 9]] = 1.0  # the column of M along the normal
    np.testing.assert_allclose(made.displacement(normal, None), 0.0, atol=1e-12)


@FAR
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("simd", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 15, 33])
def test_kernels_of_every_instruction_set_agree(free, handles, rng, single, simd, count):
    if not _core.simd_available(simd):
        pytest.skip("not on this processor")
    sets = handles.handles
    ptr = np.cumsum([0, *map(len, sets)])
    some = np.sort(rng.choice(free.mesh.n_nodes, count, replace=False))
    core = _core.ControlElements(
        free._core, ptr, np.concatenate(sets), some, 1, single, simd, None, 1
    )
    c = rng.normal(size=24)
    for rotation in (False, True):
        expected = handles.displacement(c, "extract" if rotation else None)[some]
        scale = np.abs(expected).max()
        got = core.displacement(c, rotation)[0]
        np.testing.assert_allclose(got, expected, rtol=0, atol=(1e-5 if single else 1e-12) * scale)
    assert core.bytes == -(-count // (32 if single else 16)) * 24 * 3 * 128


def test_rigid_motions_are_exact(free, handles):
    nodes, R = free.mesh.nodes, turn([1.1, -0.9, 1.4])
    whole = np.c_[R, [0.3, -0.2, 0.1]]
    c = np.r_[handles.parameters(0, affine=whole), handles.parameters(1, affine=whole)]
    u = nodes @ R.T + whole[:, 3] - nodes
    np.testing.assert_allclose(handles.displacement(c), u, atol=1e-14)
    np.testing.assert_allclose(handles.forces(c), 0.0, atol=1e-9 * np.abs(handles.matrix).max())
    assert np.abs(handles.displacement(c, None) - u).max() > 0.01  # the linear one swells
    bent = c + np.r_[np.zeros(12), 0.02, 0, 0.01, np.zeros(9)]
    assert np.abs(handles.displacement(bent) - handles.displacement(bent, None)).max() > 1e-3


def frame(nodes, sets, c):
    """Return R, x_c and c of the best fit, by singular values."""
    every = np.concatenate(sets)
    X = nodes[every]
    x = X + field(nodes, sets, c)[every]
    U, _, V = np.linalg.svd((x - x.mean(axis=0)).T @ (X - X.mean(axis=0)))
    R = U @ np.diag([1, 1, np.linalg.det(U @ V)]) @ V
    return R, x.mean(axis=0), X.mean(axis=0)


@FAR
def test_frames_fit_best(free, handles, rng):
    nodes, sets = free.mesh.nodes, handles.handles
    c = np.zeros((2, 12))
    for k in range(2):
        map_ = np.c_[
            turn(rng.normal(size=3)) @ (np.eye(3) + 0.1 * rng.normal(size=(3, 3))), [0.1] * 3
        ]
        c[k] = handles.parameters(k, affine=map_)
    R, place, centre = frame(nodes, sets, c)
    x = nodes + field(nodes, sets, c)
    inside = (x - place) @ R - (nodes - centre)
    d = [
        [*inside[one].mean(axis=0), *np.linalg.lstsq(
            nodes[one] - nodes[one].mean(axis=0), inside[one] - inside[one].mean(axis=0), rcond=None
        )[0].T.ravel()]
        for one in sets
    ]  # fmt: skip
    linear = handles.displacement(d, None)
    expected = (nodes + linear - centre) @ R.T + place - nodes
    np.testing.assert_allclose(handles.displacement(c), expected, atol=1e-11)
    turned = handles.forces(d, None).reshape(2, 4, 3)
    plain = handles.forces(c, consistent=False).reshape(2, 12)
    np.testing.assert_allclose(plain[:, :3], turned[:, 0] @ R.T, atol=1e-6)
    for k in range(2):
        np.testing.assert_allclose(
            plain[k, 3:].reshape(3, 3), R @ turned[k, 1:].reshape(3, 3), atol=1e-6
        )


@FAR
@pytest.mark.parametrize("fixed", [False, True])
def test_consistent_forces_are_the_gradient_of_the_energy(free, rng, fixed):
    sets = thick_ends(free.mesh.nodes)
    solid = make_solid(sets.pop(0)) if fixed else free
    made = rf.ControlElements(solid, sets, [0])
    c = np.concatenate([
        made.parameters(k, affine=np.c_[turn(rng.normal(size=3)), 0.1 * rng.normal(size=3)])
        for k in range(len(sets))
    ]) + 0.05 * rng.normal(size=12 * len(sets))  # fmt: skip
    h = 1e-6
    slope = np.array(
        [(made.energy(c + h * e) - made.energy(c - h * e)) / (2 * h) for e in np.eye(len(c))]
    )
    scale = np.abs(slope).max()
    np.testing.assert_allclose(made.forces(c), slope, atol=1e-7 * scale)
    assert np.abs(made.forces(c, consistent=False) - slope).max() > 1e-3 * scale


@FAR
def test_wrenches_are_forces_and_torques_about_the_moved_means(free, handles, rng):
    nodes, sets = free.mesh.nodes, handles.handles
    c = 0.2 * rng.normal(size=24)
    u = handles.displacement(c, None)
    held = (free.stiffness().to_dense() @ u.ravel()).reshape(-1, 3)
    force, torque = handles.wrench(c, None)
    x = nodes + u
    for k, one in enumerate(sets):
        np.testing.assert_allclose(force[k], held[one].sum(axis=0), atol=1e-6)
        arm = x[one] - x[one].mean(axis=0)
        np.testing.assert_allclose(torque[k], np.cross(arm, held[one]).sum(axis=0), atol=1e-6)
    # consistent wrenches of a free solid balance, in any frame
    force, torque = handles.wrench(c)
    about = np.array([x[one].mean(axis=0) for one in sets])
    scale = np.abs(torque).max()
    np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-9 * np.abs(force).max())
    np.testing.assert_allclose(
        (torque + np.cross(about, force)).sum(axis=0), 0.0, atol=1e-8 * scale
    )


def test_parameters_of_poses_and_affine_maps(handles):
    pose = rf.Pose((0.1, 0.2, 0.3), [np.cos(0.3), 0.0, np.sin(0.3), 0.0])
    c = handles.parameters(1, pose)
    np.testing.assert_array_equal(c, handles.parameters(1, pose.position, pose.quaternion))
    np.testing.assert_allclose(c[:3], pose.position - handles.means[1])
    np.testing.assert_allclose(c[3:].reshape(3, 3), pose.rotation - np.eye(3))
    shift = pose.position - pose.rotation @ handles.means[1]
    same = handles.parameters(1, affine=np.c_[pose.rotation, shift])
    np.testing.assert_allclose(same, c, atol=1e-15)
    np.testing.assert_array_equal(handles.parameters(0), np.zeros(12))


def test_forces_of_order_1_beyond_small_turns_warn_and_are_refused():
    """Turns count between handles, by the motion of their nodes: not those of the whole."""
    solid = rf.Solid(rf.Mesh(*box_tets(4, 2, 2, SIZE)), rf.StVK(1e5, 0.3, 1000.0))
    handles = rf.ControlElements(solid, ends(solid.mesh.nodes))

    def twisted(degrees, normal=0.0):
        c = np.zeros((2, 12))
        world, own = turn([1.0, -0.5, 0.7]), turn([np.radians(degrees), 0.0, 0.0])
        mean = handles.means
        for k, inner in enumerate((np.eye(3), own)):
            inner = inner + normal * np.outer([1.0, 2.0, 0.0], [1.0, 0.0, 0.0])  # moves no node
            linear = world @ inner
            place = world @ mean[k]
            c[k] = handles.parameters(k, affine=np.c_[linear, place - linear @ mean[k]])
        return c

    for normal in (0.0, 3.0):
        handles.wrench(twisted(15.0, normal))
        handles.forces(twisted(-15.0, normal))
        with pytest.warns(rf.PlausibilityWarning, match=r"handles\[0\] by 20 degrees .* stretched"):
            handles.wrench(twisted(20.0, normal))
        with pytest.warns(rf.PlausibilityWarning):
            handles.forces(twisted(149.0, normal))
        for degrees in (152.0, 180.5, 208.0):
            with pytest.raises(rf.InputError, match=r"handles\[0\] by 1\d\d degrees relative to h"):
                handles.wrench(twisted(degrees, normal))
            with pytest.raises(rf.InputError, match="jump at 180"):
                handles.energy(twisted(degrees, normal))
        with pytest.warns(rf.PlausibilityWarning, match="energies of order 1"):
            handles.energy(twisted(20.0, normal))
        handles.displacement(twisted(80.0, normal))
        for degrees in (90.0, 170.0):
            said = rf"handles\[0\] by {degrees:.0f} degrees relative to handles\[1\].* jump at 180"
            with pytest.warns(rf.PlausibilityWarning, match=said):
                handles.displacement(twisted(degrees, normal))
    handles.forces(twisted(170.0), rotation=None)
    handles.displacement(twisted(170.0), rotation=None)


def test_turns_from_fixed_nodes_are_named(free):
    nodes = free.mesh.nodes
    fixed, moved = thick_ends(nodes)
    made = rf.ControlElements(make_solid(fixed), [moved])
    c = made.parameters(0, quaternion=[np.cos(0.8), np.sin(0.8), 0.0, 0.0])
    with pytest.warns(rf.PlausibilityWarning, match=r"handles\[0\] by 92 degrees .* fixed nodes"):
        made.displacement(c)
    c = made.parameters(0, quaternion=[np.cos(1.4), np.sin(1.4), 0.0, 0.0])
    with pytest.raises(rf.InputError, match=r"handles\[0\] by 160 degrees .* the fixed nodes"):
        made.forces(c)


def test_turns_by_ways_across_are_named(free):
    """Handles that do not turn at all turn from the frame of their best fit."""
    made = rf.ControlElements(free, [*thick_ends(free.mesh.nodes)])
    c = [made.parameters(0), made.parameters(1, made.means[1] + (0.0, 0.0, 1.0))]
    said = (
        "c moves handles so far that they turn by \\d\\d degrees relative to the frame of .* best"
    )
    with pytest.warns(rf.PlausibilityWarning, match=said):
        made.wrench(c)


def test_refusals_name_handle_and_node(free):
    a, b = thick_ends(free.mesh.nodes)
    made = rf.ControlElements

    def refused(error, text, *arguments, **named):
        with pytest.raises(error, match=text):
            made(*arguments, **named)

    refused(rf.InputError, rf"handles\[0\] and handles\[1\] share node {b[0]}", free, [b, b])
    refused(rf.InputError, r"handles\[0\] has 2 nodes; .* at least three", free, [a[:2], b])
    line = np.flatnonzero((free.mesh.nodes[:, :2] == 0.0).all(axis=1))
    refused(rf.InputError, r"handles\[1\] has 3 nodes, all on one line", free, [b, line])
    held = make_solid(a)
    refused(rf.InputError, rf"handles\[0\] has node {a[0]}, which is fixed", held, [[*a[:1], *b]])
    refused(rf.InputError, "for a single handle pass", free, a)
    refused(rf.InputError, "it is empty", free, [])
    refused(rf.InputError, "surface_nodes selects no node", free, [a, b], [])
    refused(rf.InputError, "order must be between 1 and 3", free, [a, b], order=4)
    everything = np.arange(free.mesh.n_nodes)
    refused(rf.InputError, "are all 45 nodes", free, [everything])
    c = made(free, [a, b])
    with pytest.raises(rf.InputError, match=r"c must have shape \(24,\) or \(2, 12\)"):
        c.displacement(np.zeros(12))
    flat = np.tile([0, 0, 0, -1, 0, 0, 0, -1, 0, 0, 0, -1.0], 2)
    flat[[0, 12]] = -c.means[:, 0]
    with pytest.raises(rf.InputError, match="no best rotation"):
        c.displacement(flat)


def test_loose_parts_are_refused():
    one, two = box_tets(1, 1, 1), box_tets(1, 1, 1)
    nodes = np.vstack([one[0], two[0] + [3.0, 0, 0]])
    mesh = rf.Mesh(nodes, np.vstack([one[1], two[1] + len(one[0])]))
    solid = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0))
    with pytest.raises(rf.MeshError, match="leave parts of the mesh loose"):
        rf.ControlElements(solid, [[0, 1, 2]])


@FAR
def test_copies_are_equal(handles, rng):
    other = pickle.loads(pickle.dumps(handles))
    c = rng.normal(size=24)
    np.testing.assert_array_equal(other.displacement(c), handles.displacement(c))
    assert repr(other) == repr(handles)
    assert "2 handles, 24 fields at 45 nodes" in repr(handles)
    assert "rank 18 of 24" in repr(handles)


@FAR
def test_published_data(shared):
    data = np.load(shared / "reference" / "green_graded" / "green.npz")
    X, sets = data["nodes"], [data["control_a"], data["control_b"]]
    material = rf.StVK(float(data["young"]), float(data["poisson"]), float(data["density"]))
    solid = rf.Solid(rf.Mesh(X, data["elements"]), material)
    made = rf.ControlElements(solid, sets, np.arange(len(X)))
    D, u = data["control_matrix"], data["control_u"]
    np.testing.assert_allclose(made.matrix, D, atol=1e-9 * np.abs(D).max())
    got = made.displacement(data["control_coefficients"], None)
    np.testing.assert_allclose(got, u, atol=1e-9 * np.abs(u).max())
    assert made.rank == 12
    # the rigid motions of two planes, from three of their directions
    b, c, forces = data["turned_b"].reshape(2, -1, 3), [], []
    for one, moved, force in zip(sets, b, data["turned_force"].reshape(2, -1, 3), strict=True):
        arm = X[one] - X[one].mean(axis=0)
        x = X[one] + moved
        U, _, V = np.linalg.svd((x - x.mean(axis=0)).T @ arm)
        R = U @ np.diag([1, 1, np.linalg.det(U @ V)]) @ V
        c.append([*moved.mean(axis=0), *(R - np.eye(3)).ravel()])
        forces.append([*force.sum(axis=0), *(force.T @ arm).ravel()])
    np.testing.assert_allclose(made.displacement(c), data["turned_u"], atol=1e-11)
    expected = np.ravel(forces)
    got = made.forces(c, consistent=False)
    np.testing.assert_allclose(got, expected, atol=1e-9 * np.abs(expected).max())
