"""`reducedfem simulate --export`: motions for other programs."""

from __future__ import annotations

import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import reducedfem as rf
from commands import fails, misused, run
from gltf import keys, shape_at, verify

pytestmark = pytest.mark.no_asan(reason="public functions only, which other tests run")


def test_exports_have_the_motion(capsys, model, tmp_path):
    status, out, err = run(
        capsys, "simulate", model, "--force", 0, 0, -0.4, "--steps", 300, "--newton-max", 10,
        "--output", tmp_path / "t.npz", "--export", tmp_path / "m.glb",
        "--export", tmp_path / "m.pvd", "--export", tmp_path / "m.gltf", "--speed", 0.5,
        "--up", "y",
    )  # fmt: skip
    assert (status, err) == (0, "")
    assert out.count("export ") == 3
    q = np.load(tmp_path / "t.npz")["q"]
    reduced = rf.load(model)
    skin = rf.Skin(reduced, reduced.mesh.surface())
    for name in ("m.glb", "m.gltf"):
        document, arrays = verify(tmp_path / name)
        times, _ = keys(document, arrays, "weights")
        assert len(times) == 301
        assert times[-1] == pytest.approx(0.6)
        for k in (0, 77, 300):
            x, _ = shape_at(document, arrays, k)
            np.testing.assert_allclose(x, skin.positions(q[k]), atol=1e-6)
        turn = np.reshape(document["nodes"][0]["matrix"], (4, 4)).T
        np.testing.assert_array_equal(turn, np.eye(4))  # y is up in the file
    # at most 250 states
    sets = ElementTree.parse(tmp_path / "m.pvd").getroot().findall("./Collection/DataSet")
    assert len(sets) == 151
    assert float(sets[-1].get("timestep")) == pytest.approx(0.3)


def test_a_film_is_written(capsys, model, tmp_path):
    image = pytest.importorskip("PIL.Image")
    status, _, err = run(
        capsys, "simulate", model, "--force", 0, 0, -0.4, "--steps", 80,
        "--export", tmp_path / "m.gif",
    )  # fmt: skip
    assert (status, err) == (0, "")
    with image.open(tmp_path / "m.gif") as film:
        assert film.n_frames == 3
        assert film.size == (640, 480)


def test_mistakes_are_found_before_the_work(capsys, model, tmp_path, monkeypatch):
    force = ("simulate", model, "--force", 0, 0, -0.1)
    misused(
        capsys, *force, "--export", "m.avi",
        match=r"--export: a motion goes to \.glb, \.gltf, \.gif, \.mp4, \.pvd, got 'm.avi'",
    )  # fmt: skip
    twice = ("--export", tmp_path / "m.glb", "--export", tmp_path / "m.glb")
    misused(capsys, *force, *twice, match="--export 1 and --export 2 are the same file")
    fails(capsys, *force, "--export", tmp_path / "no" / "m.glb", match="there is no folder")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    fails(capsys, *force, "--export", tmp_path / "m.mp4", match="need the program ffmpeg")
    assert list(tmp_path.iterdir()) == []
