"""The command line: what it makes, what it says, how it leaves."""

from __future__ import annotations

import csv
import os
import re
import signal
import struct
import subprocess
import sys
import time
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest

import reducedfem as rf
from reducedfem import cli, samples
from reducedfem._console import Console, bytes_text, count_text, time_text
from reducedfem.cli import fixed_nodes, paths
from shapes import box_hexes, box_tets, sphere


def assert_png(path) -> tuple[int, int]:
    """Check signature, all chunks and their checksums, and the amount of pixels."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, pixels, header = 8, b"", b""
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        (checksum,) = struct.unpack(">I", data[at + 8 + length : at + 12 + length])
        assert zlib.crc32(kind + body) == checksum
        header = body if kind == b"IHDR" else header
        pixels += body if kind == b"IDAT" else b""
        at += 12 + length
    assert kind == b"IEND"
    width, height = struct.unpack(">II", header[:8])
    raw = zlib.decompress(pixels)
    assert len(raw) == height * (1 + 4 * width)  # a filter byte a row, then RGBA
    # not blank: many different rows
    assert len({raw[k * (1 + 4 * width) :][: 4 * width] for k in range(0, height, 10)}) > 10
    return width, height


def run(capsys, *arguments: object) -> tuple[int, str, str]:
    """Run in this process; return status, standard output and error."""
    try:
        status = cli.main([str(a) for a in arguments])
    except SystemExit as leaving:
        status = int(leaving.code or 0)
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return status, out, err


def fails(capsys, *arguments: object, match: str) -> None:
    """Status 1 and one line that says why."""
    status, _, err = run(capsys, *arguments)
    assert status == 1
    assert err.startswith("reducedfem: error: ")
    assert err.count("\n") == 1
    assert re.search(match, err), err


def misused(capsys, *arguments: object, match: str) -> None:
    """Status 2, usage and why."""
    status, out, err = run(capsys, *arguments)
    assert status == 2
    assert out == ""
    assert "usage: reducedfem" in err
    assert re.search(match, err), err


def shell(*arguments: object, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "reducedfem", *map(str, arguments)],
        capture_output=True, text=True, check=False, timeout=1200, **options,
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cli")


@pytest.fixture(scope="module")
def model(folder):
    """A beam along x, 0.4 m long, held at x = 0, as a model file."""
    nodes, elements = box_hexes(8, 2, 2, (0.4, 0.1, 0.1))
    solid = rf.Solid(rf.Mesh(nodes, elements), rf.StVK(1e5, 0.3, 1000.0), nodes[:, 0] < 1e-9)
    path = folder / "beam.safetensors"
    rf.reduce(solid, rf.modal_derivative_basis(solid, 4, 8)).save(path)
    return path


@pytest.fixture(scope="module")
def surface(folder):
    """The skin of a box as a surface file."""
    nodes, elements = box_tets(2, 1, 1, (0.2, 0.1, 0.1))
    path = folder / "box.obj"
    rf.Mesh(nodes, elements).surface().write(path)
    return path


# --- help and wrong use ---------------------------------------------------------------


def test_help(capsys):
    status, out, err = run(capsys, "--help")
    assert (status, err) == (0, "")
    for command in ("demo", "reduce", "info", "simulate"):
        assert command in out
        status, text, err = run(capsys, command, "--help")
        assert (status, err) == (0, "")
        assert "examples:\n  reducedfem " + command in text
        assert f"usage: reducedfem {command}" in text


def test_help_tells_every_default(capsys):
    """Every option that takes a value says what it is without it, or is required."""
    parser = cli._parser()
    (commands,) = (a for a in parser._actions if a.choices)
    for one in commands.choices.values():
        for action in one._actions:
            if action.nargs == 0 or not action.option_strings or action.required:
                continue
            if action.default is not None:
                assert "default" in action.help, action.option_strings


def test_examples_in_the_help_are_accepted():
    """Each example parses; what it names need not exist."""
    import shlex

    parser = cli._parser()
    (commands,) = (a for a in parser._actions if a.choices)
    count = 0
    for one in commands.choices.values():
        text = one.epilog.partition("examples:\n")[2].replace("\\\n", " ")
        for line in text.splitlines():
            words = shlex.split(line)
            assert words[0] == "reducedfem"
            assert hasattr(parser.parse_args(words[1:]), "run")
            count += 1
    assert count >= 10


def test_version(capsys):
    assert run(capsys, "--version") == (0, f"reducedfem {rf.__version__}\n", "")


def test_without_a_command(capsys):
    misused(capsys, match="COMMAND")
    misused(capsys, "dance", match="invalid choice")


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["reduce"], "required"),
        (["reduce", "a.obj", "-o", "m", "--young", "-1"], "positive"),
        (["reduce", "a.obj", "-o", "m", "--young", "stiff"], "not a number"),
        (["reduce", "a.obj", "-o", "m", "--young", "nan"], "not finite"),
        (["reduce", "a.obj", "-o", "m", "--density", "0"], "positive"),
        (["reduce", "a.obj", "-o", "m", "--poisson", "0.5"], "below 0.5"),
        (["reduce", "a.obj", "-o", "m", "--resolution", "0"], "1 or more"),
        (["reduce", "a.obj", "-o", "m", "--resolution", "1.5"], "whole number"),
        (["reduce", "a.obj", "-o", "m", "--resolution", "2049"], "2,048 or less"),
        (["simulate", "m", "--force", "1", "2", "3", "--newton-max", "1001"], "1,000 or less"),
        (["reduce", "a.obj", "-o", "m", "--expand", "0.5"], "1 or more"),
        (["reduce", "a.obj", "-o", "m", "--quadrature", "5"], "invalid choice"),
        (["reduce", "a.obj", "-o", "m", "--fix", "w<1"], "form"),
        (["reduce", "a.obj", "-o", "m", "--fix", "x<one"], "number"),
        (["reduce", "a.obj", "-o", "m", "--fix", ""], "form"),
        (["reduce", "a.obj", "-o", "m", "--fix-fraction", "q", "0.1"], "x- x\\+"),
        (["reduce", "a.obj", "-o", "m", "--fix-fraction", "x-", "2"], "between 0 and 1"),
        (["reduce", "a.obj", "-o", "m", "--threads", "0"], "1 or more"),
        (["reduce", "a.obj", "-o", "m", "--threads", "999"], "--threads: must be 256 or less"),
        (["reduce", "a.obj", "-o", "m", "-r", "257"], "-r/--coordinates: must be 256 or less"),
        (
            ["reduce", "a.obj", "-o", "m", "--fix", "x<1", "-k", "4", "-r", "15"],
            "-r/--coordinates 15 is more than the 14 that 4 modes .* more -k/--modes",
        ),
        (
            ["reduce", "a.obj", "-o", "m", "--fix", "x<1", "-r", "231"],
            "-r/--coordinates 231 is more than the 230 that 20 modes",
        ),
        (["reduce", "a.obj", "-o", "m", "--res", "3"], "unrecognized"),
        (["reduce", "a.obj", "-o", "m", "--free", "--fix", "x<1"], "exclude each other"),
        (["reduce", "a.obj", "-o", "m"], "say which nodes are fixed"),
        (["reduce", "a.obj", "-o", "m", "--strain-rate", "0"], "must be positive, got 0"),
        (["reduce", "a.obj", "-o", "m", "--viscosity", "1"], "expected 2 arguments"),
        (["reduce", "a.obj", "-o", "m", "--viscosity", "1", "inf"], "not finite"),
        (
            ["reduce", "a.obj", "-o", "m", "--free", "--viscosity", "1", "-1"],
            "--viscosity 1 -1 would add energy",
        ),
        (
            ["reduce", "a.obj", "-o", "m", "--free", "--viscosity", "-1", "1.4"],
            "PSI and 3 PHI [+] 2 PSI must be 0 or more",
        ),
        (
            ["reduce", "a.obj", "-o", "m", "--free", "--viscosity", "1", "1", "--strain-rate", "1"],
            "--strain-rate and --viscosity exclude each other",
        ),
        (
            ["reduce", "a.obj", "-o", "m", "--free", "-r", "129", "--viscosity", "1", "1"],
            "-r/--coordinates must be 128 or less with strain-rate damping, got 129",
        ),
        (["info"], "name a file"),
        (["simulate", "m"], "give --force or --gravity"),
        (["simulate", "m", "--force", "1", "2"], "3 arguments"),
        (["simulate", "m", "--force", "1", "2", "inf"], "finite"),
        (["simulate", "m", "--force", "1", "2", "3", "--dt", "0"], "positive"),
        (
            ["simulate", "m", "--force", "1", "2", "3", "--steps", "2000000000"],
            "--steps: must be 10,000,000 or less, got 2000000000",
        ),
        (
            ["simulate", "m", "--force", "1", "2", "3", "--duration", "1e300"],
            "--duration 1e[+]300 is longer than the simulation",
        ),
        (["simulate", "m", "--force", "1", "2", "3", "--damping", "-1", "0"], "0 or more"),
        (["simulate", "m", "--force", "1", "2", "3", "--output", "t.txt"], r"\.csv or \.npz"),
        (["demo", "--surface", "fork"], "invalid choice"),
    ],
)
def test_wrong_use(capsys, monkeypatch, tmp_path, arguments, match):
    monkeypatch.chdir(tmp_path)
    misused(capsys, *arguments, match=match)
    assert os.listdir(tmp_path) == []


# --- reduce ------------------------------------------------------------------------------


@pytest.mark.parametrize("fill", [[], ["--fill"], ["--no-fill"]])
def test_reduce_a_surface(capsys, surface, tmp_path, fill):
    path = tmp_path / "m.safetensors"
    status, out, err = run(
        capsys, "reduce", surface, "-o", path, "--resolution", 12, *fill, "--expand", 1.5,
        "--fix", "x<0.02", "-k", 5, "-r", 7, "--young", "2e5", "--poisson", 0.25,
        "--density", 800, "--quadrature", 3,
    )  # fmt: skip
    assert status == 0
    assert ("times the volume" in err) == (fill == ["--no-fill"])
    for word in ("voxelize", "modes and derivatives", "reduce", "fixed", "together", "Hz"):
        assert word in out
    model = rf.load(path)
    solid = model.provenance["solid"]
    assert model.r == 7
    assert solid["materials"]["0"] == {"young": 2e5, "poisson": 0.25, "density": 800.0}
    assert solid["quadrature"] == 3
    assert len(model.provenance["basis"]["frequencies_hz"]) == 5
    filled = fill != ["--no-fill"]
    expected = rf.voxelize(rf.read_surface(surface), 12, fill=filled, expand=1.5)
    assert np.array_equal(model.mesh.nodes, expected.nodes)
    assert np.array_equal(model.fixed, np.flatnonzero(expected.nodes[:, 0] < 0.02))


def test_open_surfaces_are_told_to_be_closed(capsys, tmp_path):
    vertices, triangles = sphere(24, radius=0.05)
    rf.Surface(vertices, triangles[1:]).write(tmp_path / "ball.obj")
    args = ("reduce", tmp_path / "ball.obj", "-o", tmp_path / "m", "--fix", "x<-1")
    for more, told in (((), True), (("--no-fill",), False)):
        out = run(capsys, *args, "--resolution", 8, *more)[1]
        assert bool(re.search("open +1 hole: a lid over each is assumed", out)) == told


def test_stout_bodies_are_told_a_resolution_that_takes_less_time(capsys, tmp_path):
    """Unless a resolution was asked for; --fix ends the command before the long part."""
    cube = rf.Mesh(*box_hexes(1, 1, 1, 1.0)).surface()
    cube.write(tmp_path / "cube.obj")
    args = ("reduce", tmp_path / "cube.obj", "-o", tmp_path / "m", "--fix", "x<-1")
    for more, fewer in (
        ((), "--resolution 16 leaves about 60,000, in cells of 20 nodes"),
        (("--order", 1), "--resolution 26 leaves about 60,000"),
        (("--resolution", 64), None),
        (("--resolution", 24), None),
    ):
        status, out, _ = run(capsys, *args, *more)
        assert status == 1
        assert ("unknowns                823,875; what" in out) == (fewer is not None)
        assert fewer is None or fewer in out
        assert ("20 nodes" in out) == (more == ())
    for resolution, more in ((16, {}), (26, {"order": 1})):
        assert rf.voxelize(cube, resolution, **more).n_nodes == pytest.approx(20_000, rel=0.1)
    plate = cube.transformed((1.0, 1.0, 0.05))
    plate.write(tmp_path / "cube.obj")
    assert "unknowns" not in run(capsys, *args)[1]


@pytest.mark.filterwarnings("default::reducedfem.GeometryWarning")
def test_warnings_of_shapes_are_lines(capsys, tmp_path):
    vertices, triangles = sphere(12)
    bowl = rf.Surface(vertices, triangles[vertices[triangles].mean(axis=1)[:, 2] < 0])
    bowl.write(tmp_path / "bowl.obj")
    status, _, err = run(
        capsys, "reduce", tmp_path / "bowl.obj", "-o", tmp_path / "m", "--resolution", 12,
        "--free", "-k", 2, "-r", 3,
    )  # fmt: skip
    assert status == 0
    (line,) = err.splitlines()
    assert line.startswith("reducedfem: warning: the surface is so open")
    assert "1 hole, 2 m across (100% of the surface's longest side) at (0, 0, 0)" in line


@pytest.mark.parametrize("option", ["--strain-rate", "--viscosity"])
def test_reduce_with_damping(capsys, tmp_path, option):
    """Precomputed, kept, told, used."""
    nodes, elements = box_hexes(4, 1, 1, (0.4, 0.1, 0.1))
    mesh_file, path = tmp_path / "bar.veg", tmp_path / "m.safetensors"
    mesh_file.write_text(bar(nodes, elements))
    given = (0.05,) if option == "--strain-rate" else (-300, 2000)
    reduce = ("reduce", mesh_file, "-o", path, "--fix", "x<0.01", "-k", 3, "-r", 5)
    status, out, err = run(capsys, *reduce, option, *given)
    assert (status, err) == (0, "")
    assert "damping" in out
    mesh = rf.read_mesh(mesh_file)
    solid = rf.Solid(mesh, mesh.materials, nodes[:, 0] < 0.01)
    if option == "--strain-rate":
        damping = rf.StrainRateDamping.proportional(solid, *given)
        phi, psi = (0.05 * x for x in next(iter(mesh.materials.values())).lame)
    else:
        damping, (phi, psi) = rf.StrainRateDamping(solid, *given), given
    model = rf.load(path)
    rate = model.strain_rate
    np.testing.assert_array_equal(rate.coefficients, damping.reduce(model).coefficients)
    told = f"phi = {phi:.4g} Pa s, psi = {psi:.4g} Pa s"
    assert told in out
    _, out, _ = run(capsys, "info", path)
    assert told in out
    assert re.search("strain-rate damping +yes", out)

    simulate = ("simulate", path, "--force", 0, 0, -1, "--steps", 800, "--output")
    status, out, err = run(capsys, *simulate, tmp_path / "t.npz")
    assert (status, err) == (0, "")
    assert told in out
    with np.load(tmp_path / "t.npz") as data:
        sim = rf.ImplicitNewmark(model.with_strain_rate(None), 1e-3, strain_rate=rate)
        force = np.zeros_like(nodes)
        force[data["nodes"][0]] = (0, 0, -1)
        sim.step(force, n=20)
        sim.step(n=780)
        np.testing.assert_array_equal(data["q"][-1], sim.state.q)
        damped = np.abs(data["q"][500:]).max()
    # without, it swings on, and nothing is said
    assert run(capsys, *reduce)[0] == 0
    status, out, _ = run(capsys, *simulate, tmp_path / "t.npz")
    assert "strain-rate" not in out
    with np.load(tmp_path / "t.npz") as data:
        assert np.abs(data["q"][500:]).max() > 1.3 * damped
    assert re.search("strain-rate damping +no", run(capsys, "info", path)[1])


def bar(nodes, elements) -> str:
    """Return a mesh of hexahedra as a .veg file."""
    lines = ["*VERTICES", f"{len(nodes)} 3 0 0"]
    lines += [f"{i + 1} {x} {y} {z}" for i, (x, y, z) in enumerate(nodes.tolist())]
    lines += ["*ELEMENTS", "CUBIC", f"{len(elements)} 8 0"]
    lines += [" ".join(map(str, [i + 1, *(one + 1)])) for i, one in enumerate(elements)]
    return "\n".join(
        [*lines, "*MATERIAL soft", "ENU, 1000, 1e5, 0.3", "*REGION", "allElements, soft"]
    )


def test_a_free_body(capsys, surface, tmp_path):
    path = tmp_path / "free"
    # 4 modes and their 16 derivatives; a held solid would have 10
    options = ["--free", "--resolution", 10, "--fill", "-k", 4, "-r", 18]
    status, _, err = run(capsys, "reduce", surface, "-q", "-o", path, *options)
    assert (status, err) == (0, "")
    model = rf.load(path)
    assert model.r == 18
    assert len(model.fixed) == 0
    assert model.rigid_body is not None
    made = ["--output", tmp_path / "t.npz", "--picture", tmp_path / "p.png"]
    push = ["--duration", 0.03, "--force", 0, 0, 0.1]
    status, out, _ = run(capsys, "simulate", path, "--steps", 30, *push, *made)
    assert status == 0
    assert "flies and turns" in out
    body, load = rf.FreeBody(model, 1e-3), np.zeros((model.mesh.n_nodes, 3))
    with np.load(tmp_path / "t.npz") as data:
        load[data["nodes"][0], 2] = 0.1
        body.step(load, n=30)
        moved = body.positions[data["nodes"][0]] - model.mesh.nodes[data["nodes"][0]]
        np.testing.assert_allclose(data["displacement"][-1, 0], moved, atol=1e-12)
    assert moved[2] > 0.5 * 0.1 / model.rigid_body.mass * 0.03**2 / 2
    status, _, err = run(capsys, "reduce", surface, "-o", path, *options[:-1], 21)
    assert status == 2
    assert "more than the 20" in err


def test_reduce_quietly_to_the_same_model_with_other_threads(capsys, surface, tmp_path):
    options = ["--resolution", 10, "--fix-fraction", "z-", 0.1, "-k", 4, "-r", 5]
    before = rf.threads()
    try:
        for threads in (1, 2):
            status, out, err = run(
                capsys, "reduce", surface, "-q", "-o", tmp_path / f"{threads}",
                "--threads", threads, *options,
            )  # fmt: skip
            assert (status, out, err) == (0, "", "")
    finally:
        rf.set_threads(before)
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_reduce_a_mesh_with_materials_and_fixed_file(capsys, tmp_path):
    (tmp_path / "beam.veg").write_text(veg())
    (tmp_path / "beam.bou").write_text("1,2,3,4\n")
    common = ["reduce", tmp_path / "beam.veg", "-k", 3, "-r", 3, "-q"]
    assert run(
        capsys, *common, "-o", tmp_path / "m", "--fix-file", tmp_path / "beam.bou"
    ) == (0, "", "")  # fmt: skip
    model = rf.load(tmp_path / "m")
    assert model.fixed.tolist() == [0, 1, 2, 3]
    material = {"young": 123456.0, "poisson": 0.25, "density": 900.0}
    assert model.provenance["solid"]["materials"]["0"] == material
    # an option replaces what the file says of it, and nothing else
    assert run(
        capsys, *common, "-o", tmp_path / "n", "--fix", "z<=0", "--young", 5e4
    ) == (0, "", "")  # fmt: skip
    changed = rf.load(tmp_path / "n").provenance["solid"]["materials"]["0"]
    assert changed == {**material, "young": 5e4}
    for option in (["--resolution", 10], ["--fill"], ["--no-fill"], ["--expand", 1.5]):
        misused(
            capsys, *common, "-o", tmp_path / "n", "--free", *option,
            match=f"{option[0].replace('no-', '')} is for surfaces, .*beam.veg' is a volume mesh",
        )  # fmt: skip
    # millimetres
    assert run(
        capsys, *common, "-o", tmp_path / "s", "--fix", "z<=0", "--scale", 1e-3
    ) == (0, "", "")  # fmt: skip
    assert np.array_equal(rf.load(tmp_path / "s").mesh.nodes, model.mesh.nodes * 1e-3)
    (tmp_path / "bad.bou").write_text("99\n")
    fails(capsys, *common, "-o", tmp_path / "x", "--fix-file", tmp_path / "bad.bou", match="99")
    # without memory for all the numbers below it
    (tmp_path / "bad.bou").write_text("1, 2, 2147483647\n")
    tracemalloc.start()
    fails(
        capsys, *common, "-o", tmp_path / "x", "--fix-file", tmp_path / "bad.bou",
        match="node 2147483647, which the mesh does not have",
    )  # fmt: skip
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1e8


def veg() -> str:
    """Two cubes on top of each other, z up, the lowest four nodes first."""
    nodes, elements = box_hexes(1, 1, 2, (1.0, 1.0, 2.0))
    lines = ["*VERTICES", f"{len(nodes)} 3 0 0"]
    lines += [f"{i} {x} {y} {z}" for i, (x, y, z) in enumerate(nodes.tolist(), 1)]
    lines += ["*ELEMENTS", "CUBIC", f"{len(elements)} 8 0"]
    lines += [f"{i} " + " ".join(str(n + 1) for n in e) for i, e in enumerate(elements, 1)]
    lines += ["*MATERIAL rubber", "ENU, 900, 123456, 0.25", "*REGION", "allElements, rubber"]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("x<0.1", lambda x: x[:, 0] < 0.1),
        ("X <= 0.1", lambda x: x[:, 0] <= 0.1),
        ("y>=0.05", lambda x: x[:, 1] >= 0.05),
        ("z>-1e-3", lambda x: x[:, 2] > -1e-3),
        ("0.05<=x<0.3", lambda x: (x[:, 0] >= 0.05) & (x[:, 0] < 0.3)),
        ("x<0.1,z>0.05", lambda x: (x[:, 0] < 0.1) & (x[:, 2] > 0.05)),
        ("x<0.1 & z>0.05 & 0<y<1", lambda x: (x[:, 0] < 0.1) & (x[:, 2] > 0.05) & (x[:, 1] > 0)),
    ],
)
def test_regions(spec, expected):
    nodes, _ = box_hexes(8, 2, 2, (0.4, 0.1, 0.1))
    _, conditions = fixed_nodes.region(spec)
    assert np.array_equal(fixed_nodes.chosen(nodes, conditions), expected(nodes))


def test_keep_largest(capsys, tmp_path):
    nodes, elements = box_hexes(3, 1, 1, (0.3, 0.1, 0.1))
    far, more = box_hexes(1, 1, 1, 0.1)
    mesh = rf.Mesh(np.vstack([nodes, far + 1.0]), np.vstack([elements, more + len(nodes)]))
    mesh.write(tmp_path / "two.veg")
    options = ["reduce", tmp_path / "two.veg", "-o", tmp_path / "m", "--fix", "x<0.01",
               "-k", 3, "-r", 3]  # fmt: skip
    fails(capsys, *options, match="0 fixed nodes.*--keep-largest")
    status, out, _ = run(capsys, *options, "--keep-largest")
    assert status == 0
    assert "largest part" in out
    assert rf.load(tmp_path / "m").mesh.n_elements == 3


def test_reduce_a_mesh_of_tetrahedra_made_quadratic(capsys, tmp_path):
    coarse = rf.Mesh(*box_tets(3, 1, 1, (0.3, 0.1, 0.1)))
    coarse.write(tmp_path / "bar.vtu")
    held = np.flatnonzero(coarse.nodes[:, 0] == 0)
    (tmp_path / "bar.bou").write_text(", ".join(map(str, held + 1)))
    common = ["reduce", tmp_path / "bar.vtu", "-o", tmp_path / "m", "-k", 2, "-r", 3]
    for options in (["--fix", "x<=0"], ["--fix-file", tmp_path / "bar.bou"]):
        status, out, err = run(capsys, *common, *options, "--quadratic")
        assert (status, err) == (0, "")
        assert "18 tetrahedra" in out
        assert "18 ten-node tetrahedra" in out
        model = rf.load(tmp_path / "m")
        assert np.array_equal(model.mesh.nodes, coarse.quadratic().nodes)
        # by its corners or by place: the middles on the clamped face are held as well
        assert np.array_equal(model.fixed, np.flatnonzero(model.mesh.nodes[:, 0] == 0))
    assert "4 quadrature points" in run(capsys, "info", tmp_path / "m")[1]
    model.mesh.write(tmp_path / "ten.vtu")
    assert "18 ten-node tetrahedra" in run(capsys, "info", tmp_path / "ten.vtu")[1]
    ten = ["reduce", tmp_path / "ten.vtu", "-o", tmp_path / "n", "--fix", "x<=0"]
    fails(capsys, *ten, "--quadratic", match="--quadratic is for meshes without nodes")
    assert run(capsys, *ten, "-k", 2, "-r", 3, "--quadrature", 3)[0] == 0
    assert "14 quadrature points" in run(capsys, "info", tmp_path / "n")[1]


def test_reduce_hexahedra_made_quadratic(capsys, tmp_path):
    rf.Mesh(*box_hexes(3, 1, 1, (0.3, 0.1, 0.1))).write(tmp_path / "bar.vtu")
    common = ["reduce", tmp_path / "bar.vtu", "-o", tmp_path / "m", "-k", 2, "-r", 3]
    status, out, err = run(capsys, *common, "--fix", "x<=0", "--quadratic")
    assert (status, err) == (0, "")
    assert "3 20-node hexahedra" in out
    model = rf.load(tmp_path / "m")
    assert np.array_equal(model.fixed, np.flatnonzero(model.mesh.nodes[:, 0] == 0))
    assert len(model.fixed) == 8
    assert "3 x 3 x 3 quadrature points" in run(capsys, "info", tmp_path / "m")[1]
    fails(capsys, *common, "--fix", "x<=0", "--quadratic", "--quadrature", 2, match="3 or 4")


@pytest.mark.parametrize("order", [1, 2])
def test_order_of_the_voxels_of_a_surface(capsys, surface, tmp_path, order):
    options = ["-o", tmp_path / "m", "--fix", "x<0.02", "--resolution", 4, "-k", 2, "-r", 3]
    status, out, _ = run(capsys, "reduce", surface, *options, "--order", order)
    assert status == 0
    assert ("20-node hexahedra" in out) == (order == 2)
    assert rf.load(tmp_path / "m").mesh.nodes_per_element == {1: 8, 2: 20}[order]
    misused(capsys, "reduce", surface, *options, "--quadratic", match="for volume meshes")


def test_reduce_refuses_before_it_computes(capsys, surface, tmp_path):
    options = ["--fix", "x<0.02"]
    fails(capsys, "reduce", surface, "-o", tmp_path, *options, match="folder")
    fails(capsys, "reduce", surface, "-o", tmp_path / "no" / "m", *options, match="no folder")
    target = ["-o", tmp_path / "m"]
    fails(capsys, "reduce", tmp_path / "none.obj", *target, *options, match="No such file")
    fails(capsys, "reduce", tmp_path / "none.msh", *target, *options, match="No such file")
    (tmp_path / "bad.obj").write_text("hello\n")
    fails(capsys, "reduce", tmp_path / "bad.obj", *target, *options, match="no triangles")
    fails(
        capsys, "reduce", surface, *target, "--fix", "x<-5", match="no node; the nodes lie in"
    )  # fmt: skip
    misused(capsys, "reduce", surface, *target, *options, "-r", 300, match="-r/--coordinates")
    assert sorted(os.listdir(tmp_path)) == ["bad.obj"]


def test_reduce_takes_what_few_modes_give(capsys, surface, tmp_path):
    """Neither -k nor -r was given: no more is asked for than there is."""
    path = tmp_path / "m"
    hold = ["--resolution", 4, "--fix-fraction", "x-", 0.1]
    for options, r in (([], 30), (["-k", 2], 5), (["-k", 2, "-r", 3], 3), (["-r", 7], 7)):
        assert run(capsys, "reduce", surface, "-o", path, *hold, *options)[0] == 0
        assert rf.load(path).r == r
    status, out, _ = run(capsys, "info", path)
    assert status == 0
    assert re.search(r"modal derivatives, 20 modes from [\d.]+ to [\d.]+ Hz", out)
    # one element, four free nodes: 12 freedoms, 11 modes
    mesh = tmp_path / "one.veg"
    rf.Mesh(*box_hexes(1, 1, 1)).write(mesh)
    one = ["reduce", mesh, "-o", path, "--fix", "x<0.5"]
    assert run(capsys, *one)[0] == 0
    assert rf.load(path).r == 12
    assert len(rf.load(path).provenance["basis"]["frequencies_hz"]) == 11
    fails(capsys, *one, "-k", 12, match="-k/--modes 12 is more than the 11 that .* 4 free nodes")
    fails(capsys, *one, "-r", 13, match="-r/--coordinates 13 is more than the 12 that")
    # only the work itself shows the rank
    fails(capsys, *one, "-k", 4, "-r", 12, match="-r/--coordinates: r is 12, .* rank 11")
    fails(
        capsys, "reduce", mesh, "-o", path, "--fix", "x<2",
        match="every node of the solid is fixed, so nothing can move",
    )  # fmt: skip


# --- info ----------------------------------------------------------------------------------


def two_regions() -> rf.ReducedSolid:
    """Return a damped model of two regions."""
    nodes, elements = box_hexes(2, 1, 1, (0.2, 0.1, 0.1))
    mesh = rf.Mesh(nodes, elements, [1, 7])
    solid = rf.Solid(mesh, {k: rf.StVK(1e5, 0.3, 1000.0) for k in (1, 7)}, nodes[:, 0] == 0)
    damping = rf.StrainRateDamping(solid, {1: 1.0, 7: 3.0}, {1: 2.0, 7: 4.0})
    return rf.reduce(solid, rf.modal_derivative_basis(solid, 2, 3), strain_rate=damping)


def test_info(capsys, model, surface, tmp_path):
    status, out, err = run(capsys, "info", model)
    assert (status, err) == (0, "")
    for text in ("reduced model", "St.Venant-Kirchhoff", "32 hexahedra, 81 nodes", "9 nodes",
                 "modal derivatives", "identity", "E = 1e+05 Pa"):  # fmt: skip
        assert text in out
    status, out, _ = run(capsys, "info", surface)
    assert status == 0
    assert "triangle surface" in out
    assert "0.002 m^3" in out
    (tmp_path / "beam.veg").write_text(veg())
    status, out, _ = run(capsys, "info", tmp_path / "beam.veg", "spoon")
    assert status == 0
    assert "2 hexahedra, 12 nodes" in out
    assert "E = 1.235e+05 Pa" in out
    assert "spoon: triangle surface" in out
    # viscosities of each region, and in one word where they differ
    damped = two_regions()
    damped.save(tmp_path / "two")
    status, out, _ = run(capsys, "info", tmp_path / "two")
    assert status == 0
    assert re.search("region 1 .* phi = 1 Pa s, psi = 2 Pa s", out)
    assert re.search("region 7 .* phi = 3 Pa s, psi = 4 Pa s", out)
    status, out, _ = run(capsys, "simulate", tmp_path / "two", "--force", 1, 0, 0, "--steps", 2)
    assert status == 0
    assert re.search("strain-rate damping +2 pairs of viscosities", out)


@pytest.mark.filterwarnings("ignore:the surface is so open:reducedfem.GeometryWarning")
def test_info_of_fields_and_pointshells(capsys, tmp_path):
    corners = np.stack(np.meshgrid([0, 0.1], [0, 0.2], [0, 0.4], indexing="ij"), -1).reshape(-1, 3)
    quads = np.array(
        [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    )
    surface = rf.Surface(corners, np.vstack([quads[:, :3], quads[:, [0, 2, 3]]]))
    rf.DistanceField.from_surface(surface, 8, mode="fast").save(tmp_path / "closed.safetensors")
    rf.DistanceField.from_surface(
        rf.Surface(surface.vertices, surface.triangles[1:]), 16
    ).save(tmp_path / "open.safetensors")  # fmt: skip
    rf.DistanceField(np.ones((2, 3, 4)), [1, 2, 3], [0.1, 0.2, 0.3]).save(tmp_path / "given")
    shell = rf.Pointshell(np.eye(3), np.eye(3), [0, 1, 1], [0.5, 0.25, 0.25])
    shell.save(tmp_path / "shell.safetensors")
    rf.Pointshell(np.eye(3), np.eye(3)).save(tmp_path / "plain")
    rf.Pointshell(np.zeros((9, 3)), np.tile([0, 0, 1], (9, 1)), np.arange(9)).save(
        tmp_path / "deep"
    )
    names = "closed.safetensors", "open.safetensors", "given"
    status, out, err = run(capsys, "info", *(tmp_path / name for name in names))
    assert (status, err) == (0, "")
    for text in (
        "closed.safetensors: distance field", r"samples +9 x 9 x 9 \(2.92 kB\)",
        "made +distances from a surface of 12 triangles, fast",
        "surface +closed\n", "size +0.6 x 0.6 x 0.6 m", "spacing +0.075 x 0.075 x 0.075 m",
        "11 triangles, exact", "surface +open: inside is where its winding number",
        r"samples +2 x 3 x 4 ", "made +given samples", r"from +\(1, 2, 3\) to \(1.1, 2.4, 3.9\)",
        "inside +0 samples, 0 %", "distances +1 to 1 m",
    ):  # fmt: skip
        assert re.search(text, out), text
    # nothing is said of a surface that there was not
    given = out.partition("given: distance field")[2]
    assert "surface" not in given
    assert "offset" not in given
    names = "shell.safetensors", "plain", "deep"
    status, out, err = run(capsys, "info", *(tmp_path / name for name in names))
    assert (status, err) == (0, "")
    for text in (
        "shell.safetensors: pointshell", "points +3\n", "levels +2, of 1, 2\n",
        "size +1 x 1 x 1 m", "areas +1 m.2 in all", "levels +1, of 3\n", "areas +none",
        r"levels +9, of 1, 1, 1, 1, 1, 1, 1, 1, \.\.\.\n",
    ):  # fmt: skip
        assert re.search(text, out), text
    status, out, _ = run(capsys, "info", "--help")
    for kind in ("model", "distance field", "pointshell", "mesh", "surface"):
        assert kind in out


def test_what_is_no_model(capsys, tmp_path):
    """Other things that the package saves are refused as what they are."""
    rf.Pointshell(np.eye(3), np.eye(3)).save(tmp_path / "shell.safetensors")
    fails(
        capsys, "simulate", tmp_path / "shell.safetensors", "--force", 1, 0, 0, "--steps", 2,
        match="holds no reducedfem model; its format is 'reducedfem-pointshell'",
    )  # fmt: skip


def test_info_of_records_of_a_session(capsys, tmp_path):
    """`info` describes the records of a session."""
    shell = rf.Pointshell([[0, 0, 0], [0.1, 0, 0]], [[0, 0, -1]] * 2)
    ball = rf.PenaltyContact(rf.PointTree(shell), rf.SphereField((0, 0, 0), 0.02), 200.0)
    hand = rf.SimulatedHand([0.0, 0.1], [[0, 0, 0.03], [0, 0, 0.01]])
    session = rf.HapticSession(ball, hand, coupling=rf.VirtualCoupling(500.0, 1.0))
    records = session.run(200)
    path = tmp_path / "touch.npy"
    records.save(path)
    status, out, _ = run(capsys, "info", path)
    assert status == 0
    share = f"{(records['touching'] > 0).mean():.0%}"
    assert share not in ("0%", "100%")
    deep = f"{1e3 * records['depth_m'].max():.3g}"
    for text in (
        "records of a haptic session",
        "200",
        "0 to 0.199 s",
        share,
        f"{deep} mm",
        "1 point",
    ):
        assert text in out
    assert re.search(r"failed +no\n", out)
    records[:0].save(path)
    status, out, _ = run(capsys, "info", path)
    assert status == 0
    assert re.search(r"cycles +0\n", out)
    np.save(path, np.zeros(3))
    fails(capsys, "info", path, match="holds no records of a session")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no such file system")
def test_where_no_file_can_be_made_is_told_before_the_work(capsys):
    """The superuser, too, learns it at once, not when all is computed."""
    with pytest.raises(rf.FileFormatError, match=r"cannot write '/proc/a.png' \(--plot\): "):
        paths.check_writable(Path("/proc/a.png"), "--plot")
    fails(capsys, "haptics", "alpha", "--plot", "/proc/a.png", match="cannot write")


def test_info_knows_a_model_by_its_contents(capsys, model, tmp_path):
    (tmp_path / "anything.bin").write_bytes(model.read_bytes())
    status, out, _ = run(capsys, "info", tmp_path / "anything.bin")
    assert status == 0
    assert "reduced model" in out


def test_info_system(capsys):
    status, out, err = run(capsys, "info", "--system")
    assert (status, err) == (0, "")
    info = rf.system_info()
    assert info["blas"]["verdict"] in out
    assert info["kernels"] in out


def test_info_failures(capsys, tmp_path, model):
    fails(capsys, "info", tmp_path / "none.safetensors", match="No such file")
    fails(capsys, "info", tmp_path, match="folder")
    (tmp_path / "cut.safetensors").write_bytes(model.read_bytes()[:1000])
    fails(capsys, "info", tmp_path / "cut.safetensors", match="truncated")
    (tmp_path / "what.xyz").write_text("?")
    fails(capsys, "info", tmp_path / "what.xyz", match="xyz")
    for command in (["info"], ["reduce", "-o", tmp_path / "m", "--fix", "x<1"]):
        fails(
            capsys, *command, "nope",
            match="no file 'nope', nor a sample of that name; the samples are spoon, bridge, hose",
        )  # fmt: skip
    fails(capsys, "info", "x" * 5000, match="too long|no file")
    fails(capsys, "info", "x" * 5000 + ".obj", match="too long")
    for contents, why in ((b"\0" * 50, ""), (b"solid", ""), (b"", ": it is empty")):
        (tmp_path / "not.safetensors").write_bytes(contents)
        fails(
            capsys, "info", tmp_path / "not.safetensors",
            match=rf"^reducedfem: error: '.*not\.safetensors' is no safetensors file{why}\n",
        )  # fmt: skip


def test_info_goes_on_behind_bad_files(capsys, tmp_path, model):
    (tmp_path / "not.safetensors").write_text("?")
    status, out, err = run(
        capsys, "info", tmp_path / "none.safetensors", model, tmp_path / "not.safetensors", model
    )
    assert status == 1
    assert out.count("reduced model") == 2
    lines = err.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("reducedfem: error: ") for line in lines)
    assert "none.safetensors" in lines[0]
    assert "not.safetensors" in lines[1]
    assert run(capsys, "info", tmp_path / "none.safetensors", "spoon")[0] == 1


# --- simulate --------------------------------------------------------------------------------


def test_simulate_writes_what_the_integrator_gives(capsys, model, tmp_path):
    status, out, err = run(
        capsys, "simulate", model, "--force", 0, 0, "-2e-1", "--at", 0.4, 0.05, 0.1,
        "--steps", 50, "--dt", 2e-3, "--duration", 0.02, "--damping", 0.1, 1e-3,
        "--newton-max", 5, "--watch", 0.4, 0.05, 0.1, "--watch", 0.2, 0.05, 0.1,
        "--output", tmp_path / "t.csv", "--plot", tmp_path / "p.png",
        "--picture", tmp_path / "s.png",
    )  # fmt: skip
    assert (status, err) == (0, "")
    assert "per step" in out
    assert re.search(r"diverged +no", out)

    reduced = rf.load(model)
    nodes = reduced.mesh.nodes
    tip, middle = (int(np.linalg.norm(nodes - p, axis=1).argmin()) for p in
                   ([0.4, 0.05, 0.1], [0.2, 0.05, 0.1]))  # fmt: skip
    force = np.zeros_like(nodes)
    force[tip, 2] = -0.2
    sim = rf.ImplicitNewmark(reduced, 2e-3, (0.1, 1e-3), newton_max=5)
    rows = [[0.0] * 7]
    for i in range(50):
        sim.step(force if i < 10 else None)
        u = sim.displacement
        rows.append([2e-3 * (i + 1), *u[tip], *u[middle]])
    with (tmp_path / "t.csv").open(newline="") as file:
        table = list(csv.reader(file))
    assert table[0][0] == "time_s"
    assert table[0][1:4] == [f"node{tip}_{axis}_m" for axis in "xyz"]
    # another order of summation: equal to rounding
    np.testing.assert_allclose(np.array(table[1:], dtype=float), rows, rtol=1e-12, atol=1e-15)
    assert_png(tmp_path / "p.png")
    assert_png(tmp_path / "s.png")


def test_simulate_npz_and_default_node(capsys, model, tmp_path):
    status, out, _ = run(
        capsys, "simulate", model, "--force", 0, 0, -0.1, "--steps", 20,
        "--output", tmp_path / "t.npz",
    )  # fmt: skip
    assert status == 0
    with np.load(tmp_path / "t.npz") as data:
        assert data["q"].shape == (21, 8)
        assert data["displacement"].shape == (21, 1, 3)
        assert data["time"][-1] == pytest.approx(0.02)
        node = int(data["nodes"][0])
        reduced = rf.load(model)
        # the free end moves most easily
        assert reduced.mesh.nodes[node, 0] == pytest.approx(0.4)
        u = reduced.displacement(data["q"][-1])[node]
        np.testing.assert_allclose(data["displacement"][-1, 0], u, rtol=1e-12, atol=1e-15)
    assert f"node {node}" in out


def test_simulate_draws_large_triangles_bent(capsys, monkeypatch, tmp_path):
    plot = pytest.importorskip("reducedfem.plot")
    pytest.importorskip("matplotlib")
    box = rf.Mesh(*box_hexes(1, 1, 1, (0.4, 0.05, 0.05))).surface()
    mesh = rf.voxelize(box, 16)
    solid = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), mesh.nodes[:, 0] < 0.03)
    reduced = rf.reduce(solid, rf.modal_derivative_basis(solid, 3, 6))
    reduced.save(tmp_path / "box")
    drawn = []
    whole = plot.shapes_figure

    def kept(rest, triangles, displacements, *others, **options):
        drawn.append((rest, triangles, displacements))
        return whole(rest, triangles, displacements, *others, **options)

    monkeypatch.setattr(plot, "shapes_figure", kept)
    status, _, err = run(
        capsys, "simulate", tmp_path / "box", "--force", 0, 0, -0.1, "--steps", 60, "--dt", 2e-3,
        "--newton-max", 10, "--output", tmp_path / "t.npz", "--picture", tmp_path / "p.png",
    )  # fmt: skip
    assert (status, err) == (0, "")
    ((rest, triangles, displacements),) = drawn
    assert 1000 < len(triangles) <= 12 + 20_000
    carried = rf.Embedding(reduced.mesh, rest)
    states = [
        carried.interpolate(reduced.displacement(q)) for q in np.load(tmp_path / "t.npz")["q"]
    ]
    for u in displacements:
        assert min(np.abs(u - state).max() for state in states) < 1e-12
        # along a long edge of the box the displacement is no straight line
        edge = (np.abs(rest[:, 1:] - box.bounds[0, 1:]) < 1e-9).all(axis=1)
        order = rest[edge, 0].argsort()
        down, x = u[edge, 2][order], rest[edge, 0][order]
        straight = np.interp(x, x[[0, -1]], down[[0, -1]])
        assert np.abs(down - straight).max() > 0.1 * np.abs(down).max()


def test_simulate_says_when_it_diverges(capsys, model, tmp_path):
    fails(
        capsys, "simulate", model, "--force", 0, 0, -1e200, "--steps", 50,
        "--output", tmp_path / "t.csv",
        match=r"^reducedfem: error: the simulation diverged in step \d+ of 50, at t = [\d.]+ s: "
        r"try a smaller --dt, more --damping, a --newton-max above 1 or a smaller --force$",
    )  # fmt: skip
    # what there was is kept
    assert (tmp_path / "t.csv").read_text().startswith("time_s")


@pytest.mark.parametrize("option", ["at", "watch"])
def test_simulate_refuses_places_far_outside(capsys, model, option):
    status, _, err = run(
        capsys, "simulate", model, "--force", 1, 0, 0, f"--{option}", 9, 0, 0, "--steps", 3
    )
    assert status == 2
    assert re.search(
        rf"--{option} \(9, 0, 0\) is .* m outside of the body, which is .* m large", err
    )


def test_simulate_notes_a_push_without_effect(capsys, model):
    status, out, _ = run(
        capsys, "simulate", model, "--force", 1, 0, 0, "--at", 0, 0, 0, "--steps", 30
    )
    assert status == 0
    assert "no effect" in out


def test_simulate_doubts_absurd_motions(capsys, model):
    status, out, _ = run(
        capsys, "simulate", model, "--force", 0, 0, -1e5, "--dt", 0.01, "--steps", 30
    )
    assert status == 0
    assert "is so large a force meant?" in out
    assert "usual with one Newton iteration" in out
    assert re.search(r"shortened +\d+ Newton increments?: steps are too long for this motion", out)


def test_simulate_failures(capsys, model, tmp_path):
    force = ["--force", 0, 0, -1]
    fails(capsys, "simulate", tmp_path / "none", *force, match="No such file")
    for name in ("my part.stl", "part.VTK"):
        (tmp_path / name).write_text("something")
        made = (tmp_path / name).with_suffix(".safetensors")
        fails(
            capsys, "simulate", tmp_path / name, *force,
            match=f"no reduced model; make one first: reducedfem reduce '?{tmp_path / name}'? "
            f"--output '?{made}'?, with --fix where",
        )  # fmt: skip
    fails(capsys, "simulate", "hose", *force, match="reduce hose --output hose.safetensors, with")
    (tmp_path / "some.txt").write_text("something")
    fails(capsys, "simulate", tmp_path / "some.txt", *force, match="no safetensors file$")
    fails(capsys, "simulate", tmp_path / "none.stl", *force, match="No such file")
    fails(
        capsys, "simulate", model, *force, "--output", tmp_path / "no" / "t.csv", match="no folder"
    )  # fmt: skip
    misused(
        capsys, "simulate", model, *force, "--steps", 5, "--duration", 0.01,
        match="--duration 0.01 is longer than the simulation, --steps 5 of --dt 0.001",
    )  # fmt: skip


def test_simulate_a_few_steps_without_a_duration(capsys, model):
    """The usual push is longer than such a simulation; nobody asked for it."""
    for steps, dt, told in ((1, 1e-3, "0.001 s"), (19, 1e-3, "0.019 s"), (40, 1e-3, "0.02 s")):
        status, out, err = run(
            capsys, "simulate", model, "--force", 0, 0, -1, "--steps", steps, "--dt", dt
        )
        assert (status, err) == (0, "")
        assert f"N for {told} at node" in out
    # one step is longer than the usual push
    assert run(capsys, "simulate", model, "--force", 0, 0, -1, "--steps", 2, "--dt", 0.1)[0] == 0


# --- a process of its own ----------------------------------------------------------------------


def test_module_and_streams(model, tmp_path):
    done = shell("info", model)
    assert (done.returncode, done.stderr) == (0, "")
    assert "reduced model" in done.stdout
    done = shell("info", tmp_path / "none.safetensors")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("reducedfem: error: ")
    assert done.stderr.count("\n") == 1
    done = shell("info", "--nonsense")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_closed_pipe_is_no_accident(model):
    done = subprocess.run(
        f"{sys.executable} -m reducedfem info {model} {model} | head -n 1",
        shell=True, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1


def test_interrupt_leaves_one_line_and_no_file(tmp_path):
    """Ctrl-C in the middle of a long computation."""
    process = subprocess.Popen(
        [sys.executable, "-m", "reducedfem", "reduce", "bridge", "-o", str(tmp_path / "m"),
         "--fill", "--fix", "z<0.01", "--resolution", "80", "-k", "20", "-r", "60"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # shells start background jobs with the signal ignored, and children inherit that
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert process.stdout is not None
    # wait until the long part has begun
    for line in process.stdout:
        if "fixed" in line:
            break
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=600)
    assert process.returncode == 130
    assert err.endswith("reducedfem: interrupted\n")
    assert "Traceback" not in err
    assert os.listdir(tmp_path) == []


def test_no_file_is_both_read_and_written(tmp_path, capsys):
    surface = tmp_path / "s.obj"
    rf.read_surface(samples.path("spoon")).write(surface)
    before = surface.read_bytes()
    same = str(tmp_path / "p.png")
    for arguments, names in (
        (["reduce", str(surface), "-o", str(surface), "--fix", "x<0.01"], "the input and --output"),
        (
            ["simulate", str(surface), "--force", *"001", "--plot", same, "--picture", same],
            "--plot and --picture",
        ),  # fmt: skip
    ):
        with pytest.raises(SystemExit) as stopped:
            cli.main(arguments)
        assert stopped.value.code == 2
        assert f"{names} are the same file" in capsys.readouterr().err
    assert surface.read_bytes() == before


def test_a_model_may_be_called_as_a_sample(tmp_path, capsys, monkeypatch):
    """The sample is no file; once there is a file of that name, it comes first."""
    monkeypatch.chdir(tmp_path)
    arguments = ("reduce", "hose", "-o", "hose", "--fix-fraction", "x-", 0.1, "--resolution", 12)
    assert run(capsys, *arguments, "-k", 2)[0] == 0
    status, out, _ = run(capsys, "info", "hose")
    assert (status, out.splitlines()[0]) == (0, "hose: reduced model")
    status, _, err = run(capsys, *arguments)
    assert status == 2
    assert "the input and --output are the same file, 'hose'" in err


@pytest.mark.parametrize("option", ["plot", "picture"])
def test_a_picture_of_no_known_kind(capsys, model, tmp_path, option):
    """Wrong use, as a trajectory's wrong suffix is, and told before any time is spent."""
    path = tmp_path / "x.foo"
    misused(
        capsys, "simulate", model, "--force", 0, 0, -1, f"--{option}", path,
        match=rf"--{option}: cannot write '.*x\.foo': a picture goes to \.png",
    )  # fmt: skip
    assert not path.exists()


def test_a_trajectory_of_no_known_kind(capsys, model, tmp_path):
    path = tmp_path / "x.foo"
    misused(
        capsys, "simulate", model, "--force", 0, 0, -1, "--output", path,
        match=r"--output: a trajectory goes to \.csv or \.npz, got '.*x\.foo'",
    )  # fmt: skip
    assert not path.exists()


def test_without_matplotlib(model, tmp_path):
    """The message names the extra, before any time is spent."""
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from reducedfem.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    for arguments in (
        ["demo", "--out", str(tmp_path / "demo")],
        ["simulate", str(model), "--force", "0", "0", "1", "--plot", str(tmp_path / "p.png")],
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            capture_output=True, text=True, check=False, timeout=600,
        )  # fmt: skip
        assert done.returncode == 1
        assert "pip install 'reducedfem[plot]'" in done.stderr
        assert done.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == []


# --- what is printed -----------------------------------------------------------------------------


class _Terminal:
    def __init__(self, watched: bool) -> None:
        self.text, self._watched = "", watched

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return self._watched


def test_bars_move_where_someone_watches(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    terminal = _Terminal(True)
    with Console(stream=terminal).stage("work") as stage:
        for done in range(1, 11):
            now[0] += 0.2
            stage.tell(done, 10)
        stage.result = "done"
    assert terminal.text.count("\r") == 12  # at the start, ten times, at the end
    assert "[##########..........]    1.0 s" in terminal.text
    assert terminal.text.endswith("[####################]    2.0 s  done\n")
    # into a file: one line, no carriage returns
    record = _Terminal(False)
    with Console(stream=record).stage("work") as stage:
        stage.tell(1, 2)
    assert record.text.count("\n") == 1
    assert "\r" not in record.text


def test_texts():
    assert count_text(1, "node") == "1 node"
    assert count_text(1234, "vertex", "vertices") == "1,234 vertices"
    assert [bytes_text(n) for n in (12, 1234, 5.6e6, 7e9)] == ["12 bytes", "1.23 kB", "5.6 MB",
                                                               "7 GB"]  # fmt: skip
    assert [time_text(s) for s in (12e-6, 0.0123, 4.56)] == ["12 us", "12.3 ms", "4.6 s"]
