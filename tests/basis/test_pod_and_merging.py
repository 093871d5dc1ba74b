"""Bases from motions, and bases merged."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from beams import make_beam, mass_of, tip_of

# --- POD -----------------------------------------------------------------------------------------


def test_resimulation_in_a_basis_of_the_motion_itself(beam):
    """B07 2.13.1: the reduced motion is close to the one that its basis was made from."""
    tip = tip_of(beam)
    load = np.zeros((81, 3))
    load[tip, 2] = 20.0 / len(tip)

    def pull(i):
        return load if i < 20 else None

    dt = 0.01
    full = rf.record_snapshots(rf.ImplicitNewmark(beam, dt, newton_max=10), 120, pull)
    assert full.shape == (120, 81, 3)
    basis = rf.pod_basis(beam, full, 12)
    assert basis.provenance["method"] == "POD"
    expected = rf.mass_pca(beam, full, 12)
    np.testing.assert_array_equal(basis.vectors, expected.vectors)
    reduced = rf.reduce(beam, basis)
    again = rf.record_snapshots(rf.ImplicitNewmark(reduced, dt, newton_max=10), 120, pull)
    error = np.linalg.norm(again[:, tip, 2] - full[:, tip, 2])
    assert np.abs(full[:, tip, 2]).max() > 0.3
    # 12 directions leave out 1e-4 of the motion; the error grows with time
    assert error < 0.02 * np.linalg.norm(full[:, tip, 2])


def test_snapshots(beam):
    calls = []
    sim = rf.ImplicitNewmark(beam, 0.01)
    load = np.zeros((81, 3))
    load[80, 1] = 0.1
    shots = rf.record_snapshots(sim, 7, load, every=3, progress=lambda *count: calls.append(count))
    assert shots.shape == (2, 81, 3)
    assert calls[-1] == (7, 7)
    other = rf.ImplicitNewmark(beam, 0.01)
    for i in range(2):
        other.step(load, 3)
        np.testing.assert_array_equal(shots[i], other.displacement)
    for arguments, message in (
        ((sim, 0), "n must be between 1"),
        ((sim, 3, None, 4), "every must be between 1 and 3"),
        ((sim, 3, np.zeros(4)), "force must"),
    ):
        with pytest.raises(rf.InputError, match=message):
            rf.record_snapshots(*arguments)
    with pytest.raises(rf.InputTypeError, match="sim must be a time integrator"):
        rf.record_snapshots(beam, 3)


def test_snapshots_of_an_explicit_motion(beam):
    load = np.zeros((81, 3))
    load[80, 1] = 0.1
    shots = rf.record_snapshots(rf.CentralDifferences(beam), 6, load, every=2)
    other = rf.CentralDifferences(beam)
    for shot in shots:
        other.step(load, 2)
        np.testing.assert_array_equal(shot, other.displacement)
    assert np.abs(shots[-1]).max() > 0.0


# --- merging -------------------------------------------------------------------------------------


def spanned(solid, basis, vectors):
    """Return the largest part of unit vectors that is outside of the basis, in the mass metric."""
    M = mass_of(solid)
    flat = vectors.reshape(len(vectors), -1)
    rest = flat - (flat @ M @ basis.matrix) @ basis.matrix.T
    norms = np.sqrt(np.einsum("si,ij,sj->s", flat, M, flat))
    return (np.sqrt(np.maximum(np.einsum("si,ij,sj->s", rest, M, rest), 0.0)) / norms).max()


def test_merging_keeps_what_each_basis_spans(beam):
    one = rf.modal_derivative_basis(beam, k=3, r=5)
    two = rf.mass_pca(beam, beam.linear_modes(6).shapes, 6)
    merged = rf.merge_bases(beam, [one, two])
    M = mass_of(beam)
    np.testing.assert_allclose(merged.matrix.T @ M @ merged.matrix, np.eye(merged.r), atol=1e-10)
    assert spanned(beam, merged, one.vectors) < 1e-7
    assert spanned(beam, merged, two.vectors) < 1e-7
    both = np.concatenate([one.vectors, two.vectors]).reshape(11, -1)
    rank = np.linalg.matrix_rank(both @ M @ both.T, tol=1e-12)
    assert merged.r == rank
    assert len(merged.provenance["dropped"]) == 11 - rank
    assert (np.diff(merged.singular_values) <= 0).all()
    # the whole is cut where asked, at its less important end
    short = rf.merge_bases(beam, [one, two], r=4)
    np.testing.assert_array_equal(short.vectors, merged.vectors[:4])


def test_dependent_directions_are_dropped_and_named(beam, rng):
    modes = beam.linear_modes(5).shapes
    one = rf.Basis(modes[:3], np.ones(3), np.ones(3))
    mixed = np.tensordot(rng.standard_normal((2, 3)), modes[:3], 1)
    second = np.array([mixed[0], modes[3], mixed[1], modes[4] + 1e-3 * modes[0]])
    two = rf.Basis(second, np.ones(4), np.ones(4))
    merged = rf.merge_bases(beam, [one, two])
    assert merged.r == 5
    assert merged.provenance["dropped"] == ((1, 0), (1, 2))
    itself = rf.merge_bases(beam, [one, one, one])
    assert itself.r == 3
    assert len(itself.provenance["dropped"]) == 6
    # directions that are new by less than the tolerance are dropped, by more kept
    tilted = modes[:1] + 1e-4 * modes[3:4]
    three = rf.Basis(tilted, np.ones(1), np.ones(1))
    assert rf.merge_bases(beam, [one, three], tolerance=1e-3).r == 3
    merged = rf.merge_bases(beam, [one, three], tolerance=1e-5)
    assert merged.r == 4
    M = mass_of(beam)
    np.testing.assert_allclose(merged.matrix.T @ M @ merged.matrix, np.eye(4), atol=1e-10)
    assert spanned(beam, merged, modes[3:4]) < 1e-6


def test_many_vectors_go_through_in_blocks(beam, rng):
    """More vectors than are made orthogonal together: those of the second block drop."""
    first = rng.standard_normal((40, 81, 3))
    first[:, beam.fixed] = 0.0
    mixed = np.tensordot(rng.standard_normal((40, 40)), first, 1)
    one = rf.Basis(first, np.ones(40), np.ones(40))
    two = rf.Basis(mixed, np.ones(40), np.ones(40))
    merged = rf.merge_bases(beam, [one, two])
    assert merged.r == 40
    assert merged.provenance["dropped"] == tuple((1, i) for i in range(40))
    assert spanned(beam, merged, mixed) < 1e-7


def test_bad_merges(beam):
    one = rf.mass_pca(beam, beam.linear_modes(3).shapes, 3)
    with pytest.raises(rf.InputTypeError, match="bases must be a list of Basis, got Basis"):
        rf.merge_bases(beam, one)
    with pytest.raises(rf.InputError, match="at least one"):
        rf.merge_bases(beam, [])
    with pytest.raises(
        rf.InputTypeError, match=r"bases\[1\] must be a Basis, got ndarray; make one"
    ):
        rf.merge_bases(beam, [one, one.vectors])
    with pytest.raises(rf.InputError, match="r is 4, but 3 of the 6 vectors are independent"):
        rf.merge_bases(beam, [one, one], r=4)
    with pytest.raises(rf.InputError, match="tolerance must be at least 0 and less than 1"):
        rf.merge_bases(beam, [one], tolerance=1.0)
    other = make_beam((3, 1, 1))
    with pytest.raises(rf.InputError, match=r"bases\[0\] must have shape \(any, 16, 3\)"):
        rf.merge_bases(other, [one])
    still = rf.Basis(np.zeros((2, 81, 3)), np.ones(2), np.ones(2))
    with pytest.raises(rf.InputError, match="zero"):
        rf.merge_bases(beam, [still])
