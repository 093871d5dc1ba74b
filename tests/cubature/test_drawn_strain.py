"""The strain that drawn poses reach, against that asked for."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest

import reducedfem as rf
from sampled import SOFT, basis_of, beam, poses_of, sampled
from shapes import box_hexes, solid_box


@functools.cache
def thin() -> tuple[rf.Solid, rf.Basis]:
    """Return a thin strip clamped at x = 0, which stiffens as it bends, and its basis."""
    mesh = rf.Mesh(*box_hexes(12, 1, 1, (1.0, 0.02, 0.02))).quadratic()
    solid = rf.Solid(mesh, SOFT, fixed=mesh.nodes[:, 0] == 0.0)
    return solid, rf.modal_derivative_basis(solid, k=4, r=8)


def reached(**settings) -> tuple[rf.CubatureReport, list[str]]:
    """Return the report of a cubature of the strip, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        chosen = rf.Cubature(points=60, n_poses=30, **settings)
        report = rf.reduce(*thin(), cubature=chosen).cubature
    return report, [str(one.message) for one in caught]


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_poses_that_stay_far_below_the_strain_asked_for_are_worth_a_warning():
    report, texts = reached(strain=0.3)
    assert report.strain < 0.1
    assert report.strain_asked == 0.3
    assert f"up to strain {report.strain:.2g} (0.3 asked for)" in repr(report)
    (text,) = texts
    start = f"the poses drawn strain the solid by {report.strain:.2g} at most, though 0.3 is asked"
    assert text.startswith(start)
    # the advice is true
    assert "a larger Cubature(strain=...), or with poses= of such motions" in text
    assert reached(strain=3.0)[0].strain > 5.0 * report.strain
    solid, basis = thin()
    own = poses_of(rf.ProjectedSolid(solid, basis), 30, 0.3)
    given, texts = reached(poses=own)
    assert given.strain > 5.0 * report.strain
    assert given.strain_asked is None
    assert "asked for" not in repr(given)
    assert not any("asked for" in one for one in texts)


def test_stout_bodies_reach_it_and_files_keep_it(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solid = beam(cells=(6, 2, 2))
        settings = rf.Cubature(points=60, n_poses=40, strain=0.1)
        model = rf.reduce(solid, basis_of(solid, 8), cubature=settings)
    assert model.cubature.strain > 0.1 / 3.0
    model.save(tmp_path / "m.safetensors")
    for copy in (rf.load(tmp_path / "m.safetensors"), model.truncate(5)):
        assert copy.cubature.strain_asked == 0.1


def test_errors_of_drawn_poses_name_the_strain():
    solid = solid_box((6, 2, 2), (0.3, 0.05, 0.05), rf.NeoHookean(1e5, 0.4, 1000.0))
    chosen = rf.Cubature(points=60, n_poses=70, strain=1e5)
    with pytest.raises(rf.InputError, match=r"^strain is 100000: .* not finite; make it smaller"):
        rf.reduce(solid, rf.modal_derivative_basis(solid, k=4, r=8), cubature=chosen)


def test_strains_of_poses_are_those_of_the_definition():
    model = sampled()
    q = poses_of(model, 1)[0]
    F = np.eye(3) + (model.cubature.gradients @ q).reshape(-1, 3, 3)
    strains = np.linalg.norm(0.5 * (np.swapaxes(F, 1, 2) @ F - np.eye(3)), axis=(1, 2))
    assert model._core.strain(q) == pytest.approx(strains.max(), rel=1e-13)
    # of small motions the symmetric gradient, without cancellation
    G = (model.cubature.gradients @ q).reshape(-1, 3, 3)
    linear = np.linalg.norm(0.5 * (G + np.swapaxes(G, 1, 2)), axis=(1, 2)).max()
    assert model._core.strain(1e-13 * q) == pytest.approx(1e-13 * linear, rel=1e-10)
