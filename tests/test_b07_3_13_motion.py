"""Contact over motions: benchmarks/b07_3_13_{features,degradation,peg}.py, small.

After Barbic 2007, sections 3.5.1 and 3.13. Bounds leave room for other shells, not for another
behaviour; measured numbers stand beside them.
"""

from __future__ import annotations

import importlib
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import reducedfem as rf
from conftest import ROOT
from reducedfem import plot as pictures

sys.path.insert(0, str(ROOT / "benchmarks"))
import b07_3_13_degradation as degradation
import b07_3_13_features as features
import b07_3_13_peg as peg
import contact_scenes as scenes

NAMES = ("degradation", "features", "peg")


# --- small features -------------------------------------------------------------------


@pytest.fixture(scope="module")
def bumps():
    found = features.run(24_000, 4, 96, 400)
    print("\n" + found.table())
    return found


def test_bumps_are_felt_on_fine_levels(bumps):
    felt = [level.felt(bumps.finest) for level in bumps.levels]
    assert felt[-1] == 6
    assert felt[0] < 6
    assert felt == sorted(felt)
    # each of them apart from the others: between them there is no contact
    force = bumps.finest.force
    middles = (bumps.windows[:-1, 1] + bumps.windows[1:, 0]) // 2
    assert force[middles].max() < 0.1 * bumps.finest.peaks.min()
    assert bumps.finest.peaks.min() > 0.3 * bumps.finest.peaks.max()
    errors = [level.error for level in bumps.levels]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] == 0.0


def test_bumps_enter_by_the_depth_that_is_told():
    """The motion alone: the least distance of the shelf while the bumps pass."""
    lizard = scenes.lizard()
    motion, at = features.slide(lizard, 0.0007, 200)
    shelf = scenes.shelf(features.LENGTH, features.WIDTH, features.THICKNESS, features.BEND)
    field = rf.DistanceField.from_surface(lizard.surface, 128, 1.1, mode="fast")
    for tip in lizard.tips[[0, 3]]:
        i = int(np.abs(at - tip).argmin())
        pose = motion.positions[i], motion.quaternions[i]
        depth = -field.distance(scenes.to_body(shelf.vertices, *pose)).min()
        # voxels of 2.4 mm round the tip off, vertices lie 2 mm apart
        assert 0.0 < depth < 0.0009


# --- degradation ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def replays():
    made = degradation.scene(6000, 3, 96, 24, 6, 1500)
    found = degradation.run(made, (400, 5000), (1e6,))
    print("\n" + found.table())
    return found


def test_degradation_saves_nodes_and_costs_force(replays):
    full = replays.renderings[0]
    degraded = replays.rendering("warm 400")
    assert (full.out.level == 2).all()
    assert full.size.max() > 0.2
    assert full.out.touching.max() >= 4
    # afar there are few nodes to visit on any level; in contact there are not
    assert degraded.out.level[0] == 2
    assert (degraded.out.level[full.out.touching > 0] < 2).all()
    assert 0.0 < degraded.changes() < 5.0  # 0.5 measured, 2 to 3 in the thesis
    assert (degraded.out.visited <= full.out.visited).all()
    assert 0.0 < degraded.error(full).max() <= 1.5
    # nodes and time enough: nothing is lost
    for name in ("warm 5000", "budget 1e+06 us"):
        np.testing.assert_array_equal(replays.rendering(name).out.force, full.out.force)


def test_temporal_coherence_changes_no_force(replays):
    full, every = replays.renderings[0], replays.rendering("all, no coherence")
    np.testing.assert_array_equal(full.out.force, every.out.force)
    np.testing.assert_array_equal(full.out.reduced_force, every.out.reduced_force)
    assert full.out.visited.sum() < 0.8 * every.out.visited.sum()  # 55 % measured


def test_the_recorded_contact_is_that_of_all_points(replays):
    made, full = replays.scene, replays.renderings[0]
    contact = scenes.full(made.tree, made.field, degradation.STIFFNESS)
    i = int(full.size.argmax())
    pose = made.motion.positions[i], made.motion.quaternions[i]
    out = contact.evaluate(*pose, made.qs[i], treeless=True)
    np.testing.assert_allclose(full.out.force[i], out.force, rtol=1e-9)
    assert np.abs(made.qs[i]).max() > 0.0
    # a spring that gives way at 0.8 N lets nothing go in deep
    assert full.out.depth.max() < 0.006


def test_changes_of_level_are_counted():
    n = 500
    level = np.zeros(n, dtype=np.int32)
    level[100:200] = level[300:] = 1
    zeros = np.zeros(n)
    force = np.ones((n, 3))
    out = SimpleNamespace(force=force, level=level)
    rendering = scenes.Rendering("made up", out, zeros)
    assert rendering.changes() == 3 / 0.5
    twice = scenes.Rendering("twice", out, zeros)
    assert not twice.error(rendering).any()


# --- peg in a hole --------------------------------------------------------------------


@pytest.fixture(scope="module")
def inserted():
    made = peg.scene(peg.peg(80, 32), 8000, 3, 64, 200)
    found = peg.run(made, (400,), (1e6,))
    print("\n" + found.table())
    return found


def test_the_hole_matches_the_peg(inserted):
    made = inserted.scene
    # seated, the clearance is free all round; a voxel is 3 times as wide
    free = made.field.distance(made.tree.shell.points).min()
    assert 0.3 * made.clearance < free < 1.5 * made.clearance
    # up and away there is nothing in the way
    for height in (0.2, 0.5, 1.0):
        up = made.tree.shell.points + np.array([0.0, 0.0, height * 0.08])
        assert made.field.distance(up).min() > 0.3 * made.clearance
    # down there is: by the peg's own depth
    assert (
        made.field.distance(made.tree.shell.points - np.array([0.0, 0.0, 3 * made.voxel])).min()
        < 0.0
    )


def test_conforming_contact_with_degradation(inserted):
    full, degraded = inserted.renderings[0], inserted.rendering("warm 400")
    i = int(full.out.touching.argmax())
    # half of all points touch: 49 % measured
    assert full.out.touching[i] > 0.3 * inserted.scene.tree.shell.n_points
    assert degraded.out.visited[i] < 0.15 * full.out.visited[i]
    # what coarse points give is nearly the same: 2 % at worst contact, 2.4 % rms
    assert degraded.error(full)[i] < 0.08
    assert np.sqrt(np.mean(degraded.error(full) ** 2)) < 0.08
    assert inserted.area(degraded)[i] == pytest.approx(inserted.area(full)[i], rel=0.05)
    np.testing.assert_array_equal(inserted.rendering("budget 1e+06 us").out.force, full.out.force)


def test_the_turns_of_the_insertion_fit_the_peg():
    """Another size: the same motion, in lengths; angles do not change."""
    one, ten = (peg.insertion(50, 0.1 * s, 0.001 * s, 0.3 * s) for s in (1.0, 10.0))
    np.testing.assert_allclose(ten.positions, 10 * one.positions, atol=1e-12)
    np.testing.assert_allclose(ten.quaternions, one.quaternions, atol=1e-12)


# --- all of them ----------------------------------------------------------------------


def test_plots_and_command_lines(bumps, replays, inserted, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(features, "run", lambda *args: bumps)
    monkeypatch.setattr(degradation, "scene", lambda *args: replays.scene)
    monkeypatch.setattr(degradation, "run", lambda *args: replays)
    monkeypatch.setattr(peg, "scene", lambda *args: inserted.scene)
    monkeypatch.setattr(peg, "run", lambda *args: inserted)
    # no pictures of surfaces: they take most of the time
    monkeypatch.setattr(scenes, "picture", lambda parts, *views, **named: np.ones((12, 16, 4)))
    # no search for a layout, and no ticks: curves only
    saved = pictures.save_figure

    def save(figure, path, dpi):
        figure.set_layout_engine("none")
        for ax in figure.axes:
            ax.set_axis_off()
        saved(figure, path, 40)

    monkeypatch.setattr(pictures, "save_figure", save)
    for name in NAMES:
        module = importlib.import_module(f"b07_3_13_{name}")
        folder = tmp_path / name
        argv = [f"b07_3_13_{name}.py", "--out", str(folder)]
        if name in ("degradation", "peg"):
            argv += ["--warm", "400"]
        monkeypatch.setattr(sys, "argv", argv)
        assert module.main() == 0
        path = folder / f"b07_3_13_{name}.png"
        assert path.read_bytes().startswith(b"\x89PNG")
        text = capsys.readouterr().out
        assert f"plot: {path}" in text
        assert len(text.splitlines()) > 6


@pytest.mark.parametrize("name", NAMES)
def test_mistakes_are_told_without_a_traceback(name, monkeypatch, capsys, tmp_path):
    module = importlib.import_module(f"b07_3_13_{name}")
    taken = tmp_path / "file"
    taken.write_text("")
    monkeypatch.setattr(sys, "argv", [f"b07_3_13_{name}.py", "--out", str(taken)])
    assert module.main() == 1
    assert str(taken) in capsys.readouterr().err
    small = ["--levels", "2", "--points", "2", "--resolution", "16", "--out", str(tmp_path)]
    if name == "degradation":
        small += ["--voxels", "16", "--r", "2"]
    monkeypatch.setattr(sys, "argv", [f"b07_3_13_{name}.py", *small])
    assert module.main() == 1
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith(f"b07_3_13_{name}.py: ")
    assert "points are too few for 2 levels" in told
