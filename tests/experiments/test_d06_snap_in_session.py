"""A clip and a deformable pipe in sessions: experiments/d06_snap_in_session.py."""

from __future__ import annotations

import d06_snap_in_session as clip
import numpy as np
import pytest

import experiments
import reducedfem as rf
from reducedfem.scenes import pipe, shapes


@pytest.fixture(scope="module")
def dents():
    return clip.pipe_compliances()


@pytest.mark.parametrize("mu", [0.0, 0.4])
def test_a_deformable_pipe_is_a_spring_in_series(mu, dents, monkeypatch):
    # solves end by themselves, on any machine
    monkeypatch.setattr(shapes, "touch", lambda mu, *of: rf.FrictionContact(*of, mu, budget_us=1e6))
    monkeypatch.setattr(clip, "CYCLES", 1600)
    monkeypatch.setattr(clip, "POINTS", 2000)
    rigid, soft = (clip.ran(mu, each) for each in (False, True))
    for edge, into, what in clip.ROWS:
        firm = clip.expected(mu, edge, into, None)
        gives = clip.expected(mu, edge, into, dents)
        assert gives < 0.71 * firm
        np.testing.assert_allclose(clip.largest(rigid, edge, into), firm, rtol=0.1, err_msg=what)
        np.testing.assert_allclose(clip.largest(soft, edge, into), gives, rtol=0.2, err_msg=what)
    assert max(each["depth_m"].max() for each in (rigid, soft)) < 2e-4


def test_the_model_of_the_pipe_has_the_compliance_of_the_solid(dents):
    model = pipe.model(12)
    stiffness = np.asarray(model.stiffness(np.zeros(model.r)))
    for angle, exact in zip(clip.ANGLES[1:-1], dents[1:-1], strict=True):
        upper, lower = pipe.loads(model.mesh, angle)
        force = np.zeros((model.mesh.n_nodes, 3))
        force[upper, 2], force[lower, 2] = -1e-3 / len(upper), 1e-3 / len(lower)
        moved = model.displacement(np.linalg.solve(stiffness, model.project(force)))
        np.testing.assert_allclose(-moved[upper, 2].mean() / 1e-3, exact[1, 1], rtol=0.06)


def test_the_mesh_of_the_pipe_is_round():
    mesh = pipe.mesh()
    outer, inner = pipe.RADIUS, pipe.RADIUS - pipe.WALL
    expected = np.pi * (outer**2 - inner**2) * pipe.LENGTH
    assert mesh.surface().volume == pytest.approx(expected, rel=2e-3)
    upper, lower = pipe.loads(mesh, np.deg2rad(30.0))
    assert len(upper) == len(lower) > 4
    place = np.asarray(mesh.nodes)
    np.testing.assert_allclose(place[upper, 0], 0.5 * outer, atol=1e-9)
    np.testing.assert_allclose(place[upper] * [1, 1, -1], place[lower], atol=1e-9)


def test_the_script_prints_a_table_and_draws(monkeypatch, capsys, tmp_path, dents):
    experiments.light_plots(monkeypatch)
    monkeypatch.setattr(clip, "CYCLES", 200)
    monkeypatch.setattr(clip, "COEFFICIENTS", (0.4,))
    monkeypatch.setattr(clip, "POINTS", 200)
    monkeypatch.setattr(clip, "pipe_compliances", lambda: dents)
    experiments.check_plot("d06_snap_in_session", monkeypatch, capsys, tmp_path / "new")
