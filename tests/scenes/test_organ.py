"""The scene of an organ: each cut softens it under the hand, which is never pushed."""

from __future__ import annotations

import numpy as np
import pytest

from reducedfem import scenes
from reducedfem.scenes import organ, shapes
from scene_runs import SMALL, ran


@pytest.mark.parametrize("resolution", range(8, 33))
def test_each_ligament_has_nodes_at_any_resolution(resolution):
    mesh, ligaments = shapes.organ(resolution)
    assert min(len(nodes) for nodes in ligaments.values()) >= 3
    every = np.concatenate(list(ligaments.values()))
    assert len(np.unique(every)) == len(every)
    stays = mesh.nodes[ligaments["coronary"]]
    assert np.linalg.svd(stays - stays.mean(axis=0), compute_uv=False)[1] > 1e-3


def test_ligaments_hold_the_organ_and_are_cut_one_by_one():
    mesh, ligaments = shapes.organ(16)
    assert set(organ.CUTS) < set(ligaments)
    assert list(organ.CUTS.values()) == sorted(organ.CUTS.values())
    surface = mesh.surface()
    assert surface.is_closed
    assert surface.volume > 0.0
    np.testing.assert_allclose(np.ptp(mesh.nodes[:, 0]), 0.18, rtol=1e-3)
    every = np.concatenate(list(ligaments.values()))
    assert len(np.unique(every)) == len(every)
    assert np.isin(every, mesh.boundary_nodes).all()
    session = scenes.session("organ", **SMALL["organ"])
    green = session.touched.green
    cut = np.concatenate([ligaments[name] for name in organ.CUTS])
    np.testing.assert_array_equal(np.sort(green.nodes[-len(cut) :]), np.sort(cut))
    assert len(green.releasable) == 0
    session.close()


def test_each_cut_lets_the_force_fall_and_the_tip_sink():
    """The path of the simulated hand rests while ligaments are cut, so that nothing else acts."""
    records = ran("organ").records
    force = np.linalg.norm(records["force"], axis=1)
    depth = records["depth_m"]
    for at in organ.CUTS.values():
        cycle = round(1e3 * at)
        # in the time of the release and a little more, in which the hand follows
        before, after = cycle - 2, cycle + 60
        assert force[after] < force[before]
        assert depth[after] > depth[before]
    step = np.linalg.norm(np.diff(records["force"], axis=0), axis=1)
    last = round(1e3 * organ.CUTS["right"])
    assert force[last + 200] < 0.7 * force[last - 2]
    assert step[last - 100 : last + 200].max() < 0.1 * (force[last - 2] - force[last + 200])
    assert records["energy_j"].max() < 1e-9
