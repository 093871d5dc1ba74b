"""The commands that show pages: ``reducedfem view``, and ``reducedfem haptics SCENE --view``."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import aiohttp
import numpy as np
import pytest

import reducedfem as rf
from commands import bar, fails, misused, run
from page_messages import connected, receive, recorded
from page_messages import run as run_page
from shapes import box_hexes

pytestmark = pytest.mark.no_asan(reason="files and sockets, no C code of their own")

KINDS = {
    "surface": "Surface",
    "mesh": "Mesh",
    "model": "ReducedSolid",
    "field": "Distance field",
    "shell": "Pointshell",
}


@pytest.fixture(scope="module")
def files(folder, model, surface):
    """Return a file of each kind, by the kind."""
    found = {"surface": surface, "model": model}
    for kind, name in (("mesh", "bar.veg"), ("field", "field.safetensors")):
        found[kind] = folder / name
    found["mesh"].write_text(bar(*box_hexes(4, 1, 1, (0.4, 0.1, 0.1))))
    rf.DistanceField.from_field(rf.SphereField((0, 0, 0), 0.1), 16, expand=1.5).save(found["field"])
    around = np.array([[np.cos(a), np.sin(a), 0.0] for a in range(12)])
    shell = rf.Pointshell(0.1 * around, around)
    found["shell"] = folder / "shell.safetensors"
    shell.save(found["shell"])
    return found


@contextlib.contextmanager
def started(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the command; return its process and the address that it prints."""
    process = subprocess.Popen(
        [sys.executable, "-m", "reducedfem", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "DISPLAY": "", "WAYLAND_DISPLAY": ""},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("view: "):
                yield process, line.split()[1]
                break
        else:
            raise AssertionError(process.communicate()[1])
    finally:
        process.kill()
        process.communicate()


def until(process: subprocess.Popen[str], text: str) -> None:
    """Read the output up to a line with a text."""
    assert process.stdout is not None
    assert any(text in line for line in process.stdout)


async def first(address: str, kind: str):
    """Return the first message of a kind."""
    async with connected(address) as page:
        return await receive(page, kind)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Return the exit status of the command and what it wrote on errors."""
    err = process.communicate(timeout=300)[1]
    return process.returncode, err


@pytest.mark.parametrize("kind", KINDS)
def test_files_are_shown_until_ctrl_c(files, kind):
    options = ["--stiffness", "250"] if kind == "model" else []
    with started("view", files[kind], "--no-browser", "--up=y", *options) as (process, address):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{20,}/", address)
        scene = run_page(first(address, "scene"))
        assert (scene["title"], scene["up"]) == (KINDS[kind], "y")
        assert scene["bodies"][0]["vertices"].shape[0] >= 8
        assert ("pulled by a spring of 250 N/m" in scene["texts"]) == (kind == "model")
        until(process, "Ctrl-C ends the view.")
        process.send_signal(signal.SIGINT)
        assert ended(process) == (0, "")
    port = int(address.split(":")[2].split("/")[0])
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port)).close()


def test_it_ends_when_the_page_is_closed(files):
    with started("view", files["surface"], "--no-browser", "--scale", "0.001") as found:
        process, address = found
        scene = run_page(first(address, "scene"))
        assert np.ptp(scene["box"], axis=0) == pytest.approx([2e-4, 1e-4, 1e-4], rel=1e-6)
        assert ended(process) == (0, "")


@pytest.mark.parametrize("kind", KINDS)
def test_save_writes_a_page_and_shows_nothing(files, kind, tmp_path, capsys):
    page = tmp_path / "page.html"
    status, out, err = run(capsys, "view", files[kind], "--save", page)
    assert (status, err) == (0, "")
    assert str(page) in out
    assert "view: " not in out
    assert recorded(page.read_text())["title"] == KINDS[kind]
    assert os.listdir(tmp_path) == ["page.html"]


def test_files_that_cannot_be_shown(files, tmp_path, capsys):
    def refused(name: str, content: bytes, match: str) -> None:
        file = tmp_path / name
        file.write_bytes(content)
        fails(capsys, "view", file, "--save", page, match=match)
        assert not page.exists()

    page = tmp_path / "page.html"
    fails(capsys, "view", tmp_path / "none.obj", match=r"none\.obj")
    fails(capsys, "view", tmp_path / "none.safetensors", match=r"none\.safetensors")
    fails(capsys, "view", tmp_path, match=re.escape(str(tmp_path)))
    refused("empty.obj", b"", r"empty\.obj' is empty")
    known = r"surfaces \(\.obj .*\), models, .* \(\.npy\) and volume meshes \(\.veg .*\.vtu .*\)$"
    refused("notes.txt", b"a mesh", rf"notes\.txt.*no known format; known are {known}")
    whole = files["model"].read_bytes()
    refused("cut.safetensors", whole[: len(whole) // 2], r"cut\.safetensors")
    sketch = tmp_path / "sketch.safetensors"
    rf.ForceSketch(3, [0.0], [0, 1], [0], [[0.0, 0.0, 1.0]]).save(sketch)
    fails(capsys, "view", sketch, "--save", page, match="its format is 'reducedfem-sketch'")


@pytest.mark.parametrize(
    ("kind", "options", "match"),
    [
        ("model", ["--scale", "2"], "--scale is for surfaces, which .*beam.* is not: leave it out"),
        ("surface", ["--scale", "0"], "--scale: must be positive"),
        ("surface", ["--scale", "1_0"], "--scale: must be a number or one of m, cm.* got '1_0'"),
        ("surface", ["--scale", "nan"], "--scale: must be finite, got nan"),
        ("surface", ["--scale", "inches"], "--scale: must be a number or one of .* mean 'inch'"),
        ("model", ["--stiffness", "-1"], "--stiffness: must be positive"),
        ("model", ["--port", "65536"], "--port: must be 65,535 or less"),
        ("model", ["--up", "w"], "--up: 'w' is not one of"),
        ("model", ["--stiffness", "9", "--save", "page.html"], "--stiffness is for a page that is"),
        ("model", ["--save", "page.txt"], r"--save: the file name must end in \.html"),
    ],
)
def test_wrong_options(files, kind, options, match, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    misused(capsys, "view", files[kind], *options, match=match)
    assert os.listdir(tmp_path) == []


def test_a_stiffness_is_for_what_can_be_pulled(files, capsys):
    fails(
        capsys, "view", files["surface"], "--stiffness", "3",
        match="stiffness is given, but a Surface cannot be pulled: leave it out",
    )  # fmt: skip


def test_a_page_is_not_written_over_its_source(surface, tmp_path, capsys):
    page = tmp_path / "box.html"
    page.write_bytes(surface.read_bytes())
    misused(capsys, "view", page, "--save", page, match="--save")
    assert page.read_bytes() == surface.read_bytes()


def test_a_port_in_use_is_refused(files, capsys):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        fails(
            capsys, "view", files["surface"], "--port", port, "--no-browser",
            match=rf"port {port} of 127\.0\.0\.1 cannot be used: ",
        )  # fmt: skip


# --- scenes ---------------------------------------------------------------------------

PEG = ("haptics", "peg", "--points", "200", "--resolution", "16", "--seconds", "0.5", "--view")


async def followed(address: str) -> tuple[list[dict], int | None]:
    """Follow a scene to its end; return its frames and the code of the closed connection."""
    frames = []
    async with connected(address) as page:
        await receive(page, "scene")
        with contextlib.suppress(AssertionError):
            while True:
                frames.append(await receive(page, "frame"))
        return frames, page.close_code


def test_a_scene_begins_with_the_page_and_closes_it():
    with started(*PEG) as (process, address):
        until(process, "The scene begins when a page is open.")
        frames, code = run_page(followed(address))
        times = [dict((row[0], row[1]) for row in one["numbers"]).get("time") for one in frames]
        seen = [time for time in times if time is not None]
        assert seen == sorted(seen)
        assert seen[-1] > seen[0] >= 0.0
        assert [len(one["bodies"]) for one in frames][-1] >= 2
        assert code == aiohttp.WSCloseCode.OK
        out, err = process.communicate(timeout=300)
        assert (process.returncode, err) == (0, "")
        assert "finished" in out


def test_ctrl_c_before_there_is_a_page():
    with started(*PEG) as (process, _):
        until(process, "The scene begins when a page is open.")
        process.send_signal(signal.SIGINT)
        assert ended(process) == (130, "reducedfem: interrupted\n")


def test_a_scene_is_no_file(capsys):
    misused(capsys, "view", "peg", match="'peg' is a scene: run it by 'reducedfem haptics peg --vi")


def test_scenes_are_shown_only_if_there_is_one(capsys):
    misused(capsys, "haptics", "--view", match="--view needs a scene")
