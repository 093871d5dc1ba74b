"""Force sketches, the linear model, and the bases made of them."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

import reducedfem as rf
from beams import make_beam, mass_of, tip_of
from shapes import solid_box

# --- the linear model ----------------------------------------------------------------------------


def test_all_modes_give_the_linear_solution(rng):
    solid = make_beam((2, 1, 1), (0.2, 0.1, 0.1))
    # all but one mode of 24: the missing one is the stiffest
    model = rf.LinearModel(solid, 23)
    free = (3 * solid.free[:, None] + np.arange(3)).ravel()
    force = rng.standard_normal((12, 3))
    expected = np.zeros(36)
    K = solid.stiffness().to_dense()[np.ix_(free, free)]
    expected[free] = np.linalg.solve(K, force.ravel()[free])
    u = model.displacement(force)
    values = np.linalg.eigvals(np.linalg.solve(mass_of(solid)[np.ix_(free, free)], K)).real
    # the truncated part is below f / (lambda_max * least mass)
    missing = np.linalg.norm(force) / (values.max() * solid._core.lumped.min() / 8)
    assert np.abs(u.ravel() - expected).max() < missing
    assert np.abs(u.ravel() - expected).max() < 0.02 * np.abs(expected).max()


def test_a_free_solid_responds_to_the_load_minus_its_acceleration():
    """All elastic modes: K u = f - M a, a the acceleration as a whole; nothing under gravity."""
    solid = solid_box((2, 1, 1), (0.2, 0.1, 0.1), rf.StVK(1e6, 0.3, 1000.0), held=None)
    M, K = mass_of(solid), solid.stiffness().to_dense()
    model = rf.LinearModel(solid, 29)  # of 30
    weight = (M @ np.tile([0.0, 0.0, -9.81], 12)).reshape(12, 3)
    force = np.zeros((12, 3))
    force[0] = [0.0, 0.0, 1.0]
    u, sagged = model.displacement(force), model.displacement(weight)
    rigid = solid.linear_modes(1, rigid=True).shapes[:6].reshape(6, 36)
    left = force.ravel() - M @ rigid.T @ (rigid @ force.ravel())
    expected = np.linalg.pinv(K, rcond=1e-10) @ left
    # the pseudo-inverse is orthogonal to rigid motions, the model mass-orthogonal
    expected -= rigid.T @ (rigid @ (M @ expected))
    # the stiffest mode is missing: its part of the answer is small
    np.testing.assert_allclose(u.ravel(), expected, atol=0.02 * np.abs(expected).max())
    assert np.abs(sagged).max() < 1e-9 * np.abs(u).max()


def test_the_response_is_the_modal_sum(model, rng):
    shapes, values = model.modes.shapes, model.modes.eigenvalues
    force = rng.standard_normal(shapes.shape[1:])
    modal = rng.standard_normal(6)
    q = (np.einsum("kni,ni->k", shapes, force) + modal) / values
    expected = np.tensordot(q, shapes, 1)
    # one sum in another order
    size = np.abs(expected).max()
    np.testing.assert_allclose(
        model.displacement(force, modal=modal), expected, rtol=0, atol=1e-12 * size
    )
    # a node named twice, and flat fields
    some = model.displacement([[1.0, 2, 3], [3.0, 2, 1]], nodes=[5, 5])
    whole = np.zeros_like(force)
    whole[5] = 4.0
    np.testing.assert_allclose(some, model.displacement(whole.ravel()), rtol=1e-12, atol=1e-18)


def test_patterns_push_one_mode_each(model, beam):
    patterns = model.patterns
    M = mass_of(beam)
    expected = model.modes.shapes.reshape(6, -1) @ M
    np.testing.assert_allclose(patterns.reshape(6, -1), expected, rtol=0, atol=1e-12)
    for j in range(6):
        u = model.displacement(patterns[j])
        expected = model.modes.shapes[j] / model.modes.eigenvalues[j]
        # modes are mass-orthonormal to 1e-11
        atol = 1e-10 * np.abs(model.modes.shapes / model.modes.eigenvalues[:, None, None]).max()
        np.testing.assert_allclose(u, expected, rtol=0, atol=atol)
        unit = np.eye(6)[j]
        np.testing.assert_allclose(model.displacement(modal=unit), expected, rtol=0, atol=atol)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"force": np.zeros((3, 3))}, rf.InputError, r"force must have shape \(81, 3\)"),
        ({"force": [[1.0, 0, 0]], "nodes": [81]}, rf.InputError, r"nodes\[0\] is 81"),
        ({"force": [[1.0, 0, 0]], "nodes": [1.5]}, rf.InputTypeError, "nodes must hold integers"),
        ({"force": [[1.0, 0, 0]], "nodes": [1, 2]}, rf.InputError, r"force must have shape \(2"),
        ({"nodes": [1]}, rf.InputError, "no force"),
        ({"modal": np.zeros(5)}, rf.InputError, r"modal must have shape \(6,\)"),
        ({"force": np.full((81, 3), np.nan)}, rf.InputError, r"force\[0, 0\] is nan"),
    ],
)
def test_bad_loads_are_refused_and_not_recorded(model, arguments, error, message):
    with pytest.raises(error, match=message):
        model.displacement(**arguments)
    recording = rf.record(model)
    with pytest.raises(error, match=message):
        recording.add(**arguments)
    assert len(recording) == 0


def test_bad_models(beam):
    with pytest.raises(rf.InputTypeError, match="modes must be Modes or an int"):
        rf.LinearModel(beam, 2.5)
    with pytest.raises(rf.InputTypeError, match="solid must be a Solid"):
        rf.LinearModel(beam.mesh, 2)
    other = make_beam((3, 1, 1))
    with pytest.raises(rf.InputError, match="16 nodes, but the solid has 81"):
        rf.LinearModel(beam, other.linear_modes(2))
    modes = beam.linear_modes(2)
    rigid = rf.Modes([0.0, 1.0], [0.0, 0.16], modes.shapes)
    with pytest.raises(rf.InputError, match="mode 0 has the eigenvalue 0"):
        rf.LinearModel(beam, rigid)
    with pytest.raises(rf.InputTypeError, match="model must be a LinearModel"):
        rf.record(beam)
    with pytest.raises(rf.InputError, match="dt must be positive"):
        rf.record(rf.LinearModel(beam, modes), dt=0.0)


# --- recording -----------------------------------------------------------------------------------


def test_a_recording_returns_the_response_and_keeps_the_loads(model, rng):
    with rf.record(model, dt=0.1) as recording:
        whole = np.zeros((81, 3))
        whole[[3, 70]] = rng.standard_normal((2, 3))
        modal = rng.standard_normal(6)
        pairs = [
            ({"force": whole}, whole),
            ({"force": [[0, 0, 2.0]], "nodes": [80]}, None),
            ({"modal": modal}, np.tensordot(modal, model.patterns, 1)),
            ({}, np.zeros((81, 3))),
        ]
        for arguments, load in pairs:
            u = recording.add(**arguments)
            np.testing.assert_array_equal(u, model.displacement(**arguments))
            if load is not None:
                # the load as a field gives the same answer
                np.testing.assert_allclose(
                    u, model.displacement(load), rtol=0, atol=1e-9 * np.abs(u).max() + 1e-30
                )
    sketch = recording.sketch
    assert len(sketch) == len(recording) == 4
    np.testing.assert_allclose(sketch.times, [0.0, 0.1, 0.2, 0.3])
    assert sketch.nodes.tolist() == [3, 70, 80]
    np.testing.assert_array_equal(sketch.force(0), whole)
    np.testing.assert_allclose(sketch.force(2), pairs[2][1], rtol=0, atol=1e-15)
    assert not sketch.force(3).any()
    lengths = [np.linalg.norm(sketch.force(i)) for i in range(4)]
    np.testing.assert_allclose(sketch.norms, lengths, rtol=1e-14)
    # later changes of what was passed do not reach the recording
    whole[3] = 99.0
    assert sketch.force(0)[3, 0] != 99.0


def test_times(model):
    recording = rf.record(model, dt=0.5)
    recording.add(time=2.0)
    recording.add()
    with pytest.raises(rf.InputError, match=r"time is 2.4 s, but the last sample is at 2.5 s"):
        recording.add(time=2.4)
    assert recording.sketch.times.tolist() == [2.0, 2.5]


def test_from_forces_select_and_pickle(rng):
    forces = rng.standard_normal((5, 7, 3)) * (rng.random((5, 7, 1)) < 0.4)
    forces[3] = 0.0
    sketch = rf.ForceSketch.from_forces(forces)
    for i in range(5):
        np.testing.assert_array_equal(sketch.force(i), forces[i])
    some = sketch.select([0, 3, 4])
    assert some.times.tolist() == [0.0, 3.0, 4.0]
    for i, j in enumerate([0, 3, 4]):
        np.testing.assert_array_equal(some.force(i), forces[j])
    again = pickle.loads(pickle.dumps(sketch))
    np.testing.assert_array_equal(again.forces, sketch.forces)
    assert repr(again) == repr(sketch)
    assert len(sketch.select([])) == 0


def test_thinning_of_a_sketch_is_that_of_its_fields(rng):
    forces = rng.standard_normal((40, 6, 3)) * (rng.random((40, 6, 1)) < 0.5)
    forces[20:30] = forces[10]
    patterns = rng.standard_normal((2, 6, 3))
    coordinates = rng.standard_normal((40, 2)) * (np.arange(40)[:, None] < 5)
    plain = rf.ForceSketch.from_forces(forces)
    sketch = rf.ForceSketch(
        6, plain.times, plain.offsets, plain.nodes, plain.forces, patterns, coordinates
    )
    whole = forces + np.einsum("sp,pni->sni", coordinates, patterns)
    for distance in (0.5, 3.0, 6.0):
        kept = rf.thin_samples(whole, distance)
        np.testing.assert_array_equal(sketch.thin(distance).times, kept)
    assert 1 < len(sketch.thin(3.0)) < 32


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"n_nodes": 0}, rf.InputError, "n_nodes"),
        ({"times": [0.0, np.inf]}, rf.InputError, r"times\[1\] is inf"),
        ({"times": [1.0, 0.5]}, rf.InputError, r"times\[1\] is 0.5 and times\[0\] is 1"),
        ({"offsets": [0, 2]}, rf.InputError, r"offsets must have shape \(3,\)"),
        ({"offsets": [0, 3, 2]}, rf.InputError, "without descending"),
        ({"offsets": [1, 2, 2]}, rf.InputError, "go from 0 to 2"),
        ({"nodes": [0, 5]}, rf.InputError, r"nodes\[1\] is 5; allowed are 0 to 4"),
        ({"nodes": [0.5, 1]}, rf.InputTypeError, "nodes must hold integers"),
        ({"forces": [[1.0, 2, 3]]}, rf.InputError, r"forces must have shape \(2, 3\)"),
        ({"patterns": np.zeros((1, 4, 3))}, rf.InputError, r"patterns must have shape \(k, 5, 3"),
        ({"coordinates": np.zeros((2, 1))}, rf.InputError, r"coordinates must have shape \(2, 0"),
    ],
)
def test_a_sketch_checks_its_parts(change, error, message):
    good = {
        "n_nodes": 5,
        "times": [0.0, 1.0],
        "offsets": [0, 1, 2],
        "nodes": [0, 4],
        "forces": np.ones((2, 3)),
    }
    assert len(rf.ForceSketch(**good)) == 2
    with pytest.raises(error, match=message):
        rf.ForceSketch(**good | change)


# --- bases ---------------------------------------------------------------------------------------


def pulls(model, strongest, count=12):
    """Record the tip being pulled up and sideways, ever stronger."""
    tip = tip_of(model.solid)
    recording = rf.record(model)
    for direction in ([0.0, 0.0, 1.0], [0.0, 0.6, 0.8]):
        for strength in np.linspace(strongest / count, strongest, count):
            recording.add(np.tile(direction, (len(tip), 1)) * strength / len(tip), nodes=tip)
    return recording.sketch


def test_the_basis_is_the_pipeline_step_by_step(beam, model):
    sketch = pulls(model, 8.0)
    basis, report = rf.sketch_basis(
        beam, sketch, r=4, force_distance=0.5, shape_distance=0.05, tol=1e-10, report=True
    )
    loads = rf.thin_samples([sketch.force(i) for i in range(len(sketch))], 0.5)
    np.testing.assert_array_equal(report.loads, loads)
    shapes = np.array([beam.solve_static(sketch.force(i), adaptive=True) for i in loads])
    # one solves for forces with a rounding of their own
    np.testing.assert_allclose(report.displacements, shapes, rtol=0, atol=1e-9)
    kept = rf.thin_shapes(beam, shapes, 0.05)
    np.testing.assert_array_equal(report.shapes, loads[kept])
    assert 4 < len(kept) < len(loads) < len(sketch)
    expected = rf.mass_pca(beam, shapes[kept], 4)
    np.testing.assert_allclose(basis.singular_values, expected.singular_values, rtol=1e-6)
    M = mass_of(beam)
    np.testing.assert_allclose(basis.matrix.T @ M @ basis.matrix, np.eye(4), atol=1e-10)
    # the same space: all cosines of angles between are 1
    cosines = np.linalg.svd(basis.matrix.T @ M @ expected.matrix)[1]
    np.testing.assert_allclose(cosines, 1.0, atol=1e-8)
    assert basis.provenance["method"] == "force sketch"
    assert basis.provenance["loads"] == len(loads)
    assert basis.provenance["shapes"] == len(kept)
    assert report.failed.size == 0
    assert (report.fraction == 1.0).all()


def test_default_distances_and_the_same_load_again(beam, model):
    """Figure 2.11: the load of the sketch, applied to the reduced model, gives the shape."""
    sketch = pulls(model, 30.0)
    basis, report = rf.sketch_basis(beam, sketch, r=8, report=True)
    assert report.force_distance == pytest.approx(0.05 * sketch.norms.max())
    M = mass_of(beam)
    flat = report.displacements.reshape(len(report.loads), -1)
    lengths = np.sqrt(np.einsum("si,ij,sj->s", flat, M, flat))
    assert report.shape_distance == pytest.approx(0.05 * lengths.max())
    reduced = rf.reduce(beam, basis)
    which = int(np.argmax(sketch.norms))
    load = reduced.project(sketch.force(which))
    q = np.zeros(8)
    for _ in range(200):
        q -= np.linalg.solve(reduced.stiffness(q), reduced.internal_force(q) - load)
    u = reduced.displacement(q)
    exact = beam.solve_static(sketch.force(which))
    linear = model.displacement(sketch.force(which))
    tip = tip_of(beam)
    # the tip moves by half the length
    assert np.abs(exact[tip]).max() > 0.3
    assert np.abs(u - exact).max() < 0.01 * np.abs(exact).max()
    assert np.abs(linear - exact).max() > 0.2 * np.abs(exact).max()


def test_too_large_loads_are_reported_and_left_out(beam, model):
    tip = tip_of(beam)
    recording = rf.record(model)
    # the last one crushes the beam: some 3 times what the law bears
    for force in ([0, 0, 2.0], [0, 0, 4.0], [-6000.0, 0, 0]):
        recording.add(np.tile(np.array(force) / len(tip), (len(tip), 1)), nodes=tip)
    sketch = recording.sketch
    basis, report = rf.sketch_basis(beam, sketch, r=2, force_distance=0.0, report=True)
    assert report.failed.tolist() == [2]
    assert report.shapes.tolist() == [0, 1]
    assert 0.0 < report.fraction[2] < 1.0
    assert basis.provenance["failed"] == 1
    shown = re.search(
        r"3 loads solved, 1 of them failed \(sample 2 reached to (.*) %\)", repr(report)
    )
    # rounded down
    assert 0.0 <= 100.0 * report.fraction[2] - float(shown[1]) < 0.1 + 1e-9
    assert repr(basis).endswith("force sketch, 1 of 3 loads failed>")
    # too many coordinates: it says where the samples went
    with pytest.raises(rf.InputError, match=r"1 and 2, got 3: of the 3 samples 3 .* 1 of these"):
        rf.sketch_basis(beam, sketch, r=3, force_distance=0.0)
    with pytest.raises(rf.StaticConvergenceError) as failure:
        beam.solve_static(sketch.force(2), 1e-8, adaptive=True, max_iterations=60)
    # the same solver, one thread or two; forces of one rounding
    assert failure.value.report.fraction == report.fraction[2]
    np.testing.assert_array_equal(report.displacements[2], failure.value.displacement)
    # as far as it was reached it may be used
    more, partial = rf.sketch_basis(
        beam, sketch, r=3, force_distance=0.0, partial=True, report=True
    )
    assert partial.shapes.tolist() == [0, 1, 2]
    assert more.provenance["partial"] is True
    with pytest.raises(rf.ConvergenceError, match="none of the 1 loads has a static solution"):
        rf.sketch_basis(beam, sketch.select([2]))


def test_a_basis_does_not_depend_on_threads(beam, model, set_threads):
    sketch = pulls(model, 8.0, 5)
    made = []
    for threads in (1, 2, 3):
        set_threads(threads)
        made.append(rf.sketch_basis(beam, sketch, r=3).vectors)
    np.testing.assert_array_equal(made[1], made[0])
    np.testing.assert_array_equal(made[2], made[0])


def test_bad_arguments_of_a_sketch_basis(beam, model):
    sketch = pulls(model, 1.0, 3)
    with pytest.raises(rf.InputTypeError, match="sketch must be a ForceSketch"):
        rf.sketch_basis(beam, sketch.forces)
    with pytest.raises(rf.InputError, match="81 nodes, but the solid has 16"):
        rf.sketch_basis(make_beam((3, 1, 1)), sketch)
    with pytest.raises(rf.InputError, match="no samples"):
        rf.sketch_basis(beam, sketch.select([]))
    with pytest.raises(rf.InputError, match="force_distance must be at least 0"):
        rf.sketch_basis(beam, sketch, force_distance=-1.0)
    with pytest.raises(rf.InputError, match="shape_distance must be finite"):
        rf.sketch_basis(beam, sketch, shape_distance=np.nan)
    with pytest.raises(rf.InputError, match="tol must be finite and positive"):
        rf.sketch_basis(beam, sketch, tol=0.0)
    with pytest.raises(rf.InputError, match="r must be between 1 and 2"):
        rf.sketch_basis(beam, sketch.select([0, 1]), r=9, force_distance=0, shape_distance=0)
    free = rf.Solid(beam.mesh, rf.StVK(1e6, 0.3, 1000.0))
    with pytest.raises(rf.MeshError):
        rf.sketch_basis(free, sketch)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rf.sketch_basis(beam, pulls(model, 8.0, 200), progress=stop)
