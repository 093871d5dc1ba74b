"""Films of motions."""

from __future__ import annotations

import os
import stat
import subprocess
import sys

import numpy as np
import pytest

import reducedfem as rf
from reducedfem import plot

Image = pytest.importorskip("PIL.Image")
ImageSequence = pytest.importorskip("PIL.ImageSequence")
SMALL = {"size": (64, 48), "progress": False}

# stands for ffmpeg: stores its arguments, and all pictures in the file
PROGRAM = """#!{python}
import sys
data = sys.stdin.buffer.read()
open(sys.argv[-1], "wb").write(data)
open({folder!r} + "/arguments", "w").write("\\n".join(sys.argv))
{more}
"""


def frames(path):
    """Return the pictures of a GIF, (n, h, w, 3), and their durations [ms]."""
    pictures, durations = [], []
    with Image.open(path) as film:
        assert film.info["loop"] == 0  # endless
        for k in range(film.n_frames):
            film.seek(k)
            pictures.append(np.asarray(film.convert("RGB")).astype(int))
            durations.append(film.info["duration"])
    return np.array(pictures), durations


@pytest.fixture
def ffmpeg(tmp_path, monkeypatch):
    """Return a function that creates the stand-in."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def create(more=""):
        program = folder / "ffmpeg"
        text = PROGRAM.format(python=sys.executable, folder=str(folder), more=more)
        program.write_text(text)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        return folder

    return create


def test_a_film_shows_the_states_at_its_times(reduced, motion, tmp_path):
    """Each picture has the pixels of the shape that the state has, in a fixed frame."""
    path, calls = tmp_path / "beam.gif", []
    plot.animate(
        path, reduced, motion, fps=50, speed=0.5, size=(64, 48), clock=False,
        progress=lambda *done: calls.append(done),
    )  # fmt: skip
    pictures, durations = frames(path)
    # 0.12 s at half speed
    assert sum(durations) == 20 * 13
    assert pictures.shape[1:] == (48, 64, 3)
    assert calls[-1] == (13, 13)
    skin = rf.Skin(reduced, plot.refined(reduced.mesh.surface()))
    shapes = [plot.Shape(skin.positions(q)) for q in motion.q]
    camera = plot.frame_of(shapes, skin.surface.triangles, (64, 48), margin=0.06, crop=False)
    when = np.cumsum([0, *durations[:-1]]) * 1e-3 * 0.5
    for picture, time in zip(pictures, when, strict=True):
        k = int(np.abs(motion.times - time).argmin())
        wanted = plot.render([shapes[k]], skin.surface.triangles, camera=camera)
        paper = (picture == picture[0, 0]).all(axis=2)
        assert (paper[wanted[..., 3] > 0.99]).mean() < 0.02
        assert (~paper[wanted[..., 3] == 0.0]).mean() < 0.02


def test_colours_are_those_of_the_deformation(reduced, motion, tmp_path):
    """A state at rest is grey; the largest displacement is red."""
    plot.animate(tmp_path / "b.gif", reduced, motion, clock=False, **SMALL)
    pictures, _ = frames(tmp_path / "b.gif")
    spread = np.ptp(pictures, axis=3).max(axis=(1, 2))
    assert spread[0] < 30 < 90 < spread.max()


def test_the_background_has_no_grain(reduced, motion, tmp_path):
    plot.animate(tmp_path / "b.gif", reduced, motion[:4], **SMALL)
    pictures, _ = frames(tmp_path / "b.gif")
    paper = [int(plot_colour, 16) for plot_colour in ("f7", "f8", "fa")]
    assert (pictures[:, 0] == paper).all()


def test_the_clock_is_in_the_corner(reduced, motion, tmp_path):
    for clock in (True, False):
        plot.animate(
            tmp_path / f"{clock}.gif", reduced, motion[:2], clock=clock, azimuth=-90, elevation=0,
            size=(200, 200), progress=False,
        )  # fmt: skip
    with_clock, without = (frames(tmp_path / f"{one}.gif")[0][0] for one in (True, False))
    differ = np.argwhere((np.abs(with_clock - without) > 60).any(axis=2))
    assert len(differ) > 20
    assert differ[:, 0].min() > 150
    assert differ[:, 1].max() < 100


def test_free_bodies_and_displacements_are_drawn(body, free, solid, tmp_path):
    flight = rf.record_motion(body, 80, every=10)
    plot.animate(tmp_path / "f.gif", free, flight, fps=100, **SMALL)
    pictures, _ = frames(tmp_path / "f.gif")
    assert len(pictures) == 9
    # it turns and flies through a fixed frame
    assert len({one.tobytes() for one in pictures}) == 9
    u = np.zeros((3, solid.mesh.n_nodes, 3))
    u[:, :, 2] = np.multiply.outer([0.0, 0.1, 0.2], solid.mesh.nodes[:, 0])
    for model in (solid, solid.mesh):
        plot.animate(tmp_path / "n.gif", model, rf.Motion([0.0, 0.04, 0.08], u), **SMALL)
        assert len(frames(tmp_path / "n.gif")[0]) == 3


def test_one_state_is_one_picture(reduced, motion, tmp_path):
    plot.animate(tmp_path / "one.gif", reduced, motion[:1], **SMALL)
    assert len(frames(tmp_path / "one.gif")[0]) == 1


def test_ffmpeg_gets_all_pictures(reduced, motion, tmp_path, ffmpeg):
    folder = ffmpeg()
    plot.animate(tmp_path / "b.mp4", reduced, motion, fps=30, **SMALL)
    data = (tmp_path / "b.mp4").read_bytes()
    n = int(0.12 * 30) + 1
    assert len(data) == n * 64 * 48 * 3
    arguments = (folder / "arguments").read_text().splitlines()
    assert arguments[arguments.index("-s") + 1] == "64x48"
    assert arguments[arguments.index("-r") + 1] == "30"


@pytest.mark.parametrize("when", ["at once", "at the end"])
def test_a_failure_of_ffmpeg_leaves_no_file(reduced, motion, tmp_path, ffmpeg, when):
    folder = ffmpeg("sys.exit('Unknown encoder')")
    if when == "at once":
        (folder / "ffmpeg").write_text("#!/bin/sh\necho Unknown encoder >&2\nexit 1\n")
    with pytest.raises(rf.FileFormatError, match="status 1: Unknown encoder"):
        plot.animate(tmp_path / "b.mp4", reduced, motion, **SMALL)
    assert [one.name for one in tmp_path.iterdir()] == ["bin"]


def test_players_read_the_film(reduced, motion, tmp_path):
    """The pictures are those of a `.gif`, but for compression, without an odd row or column."""
    reader = pytest.importorskip("imageio_ffmpeg", reason="its ffmpeg reads the film")
    for name in ("b.mp4", "b.gif"):
        plot.animate(tmp_path / name, reduced, motion, size=(65, 49), progress=False)
    command = [reader.get_ffmpeg_exe(), "-loglevel", "error", "-i", tmp_path / "b.mp4"]
    command += ["-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    read = subprocess.run(command, capture_output=True, check=True, stdin=subprocess.DEVNULL)
    film = np.frombuffer(read.stdout, np.uint8).reshape(-1, 48, 64, 3)
    with Image.open(tmp_path / "b.gif") as file:
        pictures = np.array([one.convert("RGB") for one in ImageSequence.Iterator(file)])
    assert len(film) == len(pictures)
    error = np.abs(film - pictures[:, :48, :64].astype(float)).mean(axis=(1, 2, 3))
    # the first picture differs by 22 from the last
    assert error.max() < 6.0


def test_missing_programs_are_named(reduced, motion, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(rf.MissingPackageError, match=r"apt-get install ffmpeg.*write a \.gif"):
        plot.animate(tmp_path / "b.mp4", reduced, motion)
    (tmp_path / "ffmpeg").write_text("#!/bin/sh\n")
    (tmp_path / "ffmpeg").chmod(0o755)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(rf.MissingPackageError, match=r"the clock of a film needs Pillow"):
        plot.animate(tmp_path / "b.mp4", reduced, motion)
    with pytest.raises(rf.MissingPackageError, match=r"needs Pillow.*'reducedfem\[plot\]'"):
        plot.animate(tmp_path / "b.gif", reduced, motion)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (dict(path="x.avi"), rf.FileFormatError, r"goes to \.gif, or to \.mp4"),
        (dict(motion=None), rf.InputTypeError, "motion must be a Motion, got NoneType"),
        (dict(motion=3), rf.InputTypeError, "motion must be a Motion, got int"),
        (dict(fps=0), rf.InputError, "fps must be positive, got 0"),
        (dict(speed=1e-9), rf.InputError, r"3e\+09 pictures, 10000 at most: choose a larger sp"),
        (dict(size=(4096, 4096), speed=1e-3), rf.InputError, "3001 pictures .*, 17 do: choose"),
        (dict(clock=1), rf.InputTypeError, "clock must be True or False, got int"),
        (dict(size=(64, 8)), rf.InputError, r"size\[1\] must be between 16 and 4096, got 8"),
        (dict(size=64), rf.InputTypeError, "size must be two numbers of pixels, got 64"),
        (dict(up="w"), rf.InputError, "up must be one of z, y, x"),
        (dict(elevation="x"), rf.InputTypeError, "elevation must be a number"),
    ],
)  # fmt: skip
def test_mistakes_are_named(reduced, motion, tmp_path, monkeypatch, arguments, error, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        plot.animate(**dict(path="x.gif", model=reduced, motion=motion) | arguments)
    assert list(tmp_path.iterdir()) == []
