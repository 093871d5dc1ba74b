"""`reducedfem info`: what it tells of files of each kind, and of the system."""

from __future__ import annotations

import os
import re
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

import reducedfem as rf
from commands import fails, run, veg
from reducedfem.cli import paths
from shapes import box_hexes


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
    for text in ("reduced model", "St.Venant-Kirchhoff", "32 hexahedra, 81 nodes",
                 "fixed nodes             9\n", "modal derivatives", "identity",
                 "E = 1e+05 Pa"):  # fmt: skip
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
    assert re.search("strain-rate damping +2 different pairs of viscosities", out)


def test_info_counts_constrained_nodes(capsys, tmp_path):
    nodes, elements = box_hexes(8, 8, 8, (0.1, 0.1, 0.1))
    mesh = rf.Mesh(nodes, elements).graded()
    number = f"constrained nodes       {len(mesh.constraints):,}, which follow others\n"
    mesh.write(tmp_path / "graded.vtu")
    assert number in run(capsys, "info", tmp_path / "graded.vtu")[1]
    solid = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), fixed=mesh.nodes[:, 0] < 1e-9)
    rf.reduce(solid, rf.modal_derivative_basis(solid, 2, 3)).save(tmp_path / "graded.safetensors")
    assert number in run(capsys, "info", tmp_path / "graded.safetensors")[1]


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
        "origin +distances from a surface of 12 triangles, fast",
        "surface +closed\n", "size +0.6 x 0.6 x 0.6 m", "spacing +0.075 x 0.075 x 0.075 m",
        "11 triangles, exact", "surface +open: points of a winding number above 1/2 are inside",
        r"samples +2 x 3 x 4 ", "origin +given samples",
        r"bounding box +\(1, 2, 3\) to \(1.1, 2.4, 3.9\) m",
        "samples inside +0, 0 %", "distances +1 to 1 m, negative inside",
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
        "shell.safetensors: pointshell", "points +3\n", "levels of detail +2, with 1, 2 points\n",
        "size +1 x 1 x 1 m", "areas of points +1 m.2 in total",
        "levels of detail +1, with 3 points\n", "areas of points +none",
        r"levels of detail +9, with 1, 1, 1, 1, 1, 1, 1, 1, \.\.\. points\n",
    ):  # fmt: skip
        assert re.search(text, out), text
    status, out, _ = run(capsys, "info", "--help")
    for kind in ("model", "distance field", "pointshell", "mesh", "surface"):
        assert kind in out


def test_files_of_other_kinds(capsys, tmp_path):
    """Other files of the package are refused with the name of their kind."""
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
    share = f"{100 * (records['touching'] > 0).mean():.0f} % of the cycles"
    assert share.split()[0] not in ("0", "100")
    deep = f"{1e3 * records['depth_m'].max():.3g}"
    for text in (
        "records of a haptic session",
        "200",
        "0 to 0.199 s",
        share,
        f"maximum penetration     {deep} mm",
        "1 point",
    ):
        assert text in out
    assert re.search(r"failure +none\n", out)
    records[:0].save(path)
    status, out, _ = run(capsys, "info", path)
    assert status == 0
    assert re.search(r"cycles +0\n", out)
    np.save(path, np.zeros(3))
    fails(capsys, "info", path, match="does not hold records of a haptic session")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no such file system")
def test_an_unwritable_place_is_reported_before_the_work(capsys):
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
    fails(
        capsys, "info", tmp_path / "what.xyz",
        match=r"\.xyz is no known format; known are surfaces \(\.obj .*\), models, .* "
        r"\(\.safetensors\), records .* \(\.npy\), tables \(\.csv \.npz\) "
        r"and volume meshes \(\.veg .*\.vtu .*\)$",
    )  # fmt: skip
    for command in (["info"], ["reduce", "-o", tmp_path / "m", "--fix", "x<1"]):
        fails(
            capsys, *command, "nope",
            match="there is no file and no sample named 'nope'; the samples are spoon, br",
        )  # fmt: skip
    fails(capsys, "info", "x" * 5000, match="too long|no file")
    fails(capsys, "info", "x" * 5000 + ".obj", match="too long")
    for contents, why in ((b"\0" * 50, ""), (b"solid", ""), (b"", ": it is empty")):
        (tmp_path / "not.safetensors").write_bytes(contents)
        fails(
            capsys, "info", tmp_path / "not.safetensors",
            match=rf"^reducedfem: error: '.*not\.safetensors' is not a safetensors file{why}\n",
        )  # fmt: skip


def test_info_continues_after_bad_files(capsys, tmp_path, model):
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


def test_info_of_trajectories(capsys, model, tmp_path):
    """`info` describes both formats that `simulate --output` writes."""
    for name in ("tip.csv", "tip.npz"):
        path = tmp_path / name
        command = ("simulate", model, "--force", 0, 0, -1, "--steps", 8, "--output", path, "-q")
        assert run(capsys, *command, "--dt", 0.002)[0] == 0
        status, out, err = run(capsys, "info", path)
        assert (status, err) == (0, "")
        assert f"{path}: trajectory of 'reducedfem simulate'" in out
        assert re.search(r"samples +9\n", out)
        assert re.search(r"time +0 to 0.016 s\n", out)
        assert ("reduced coordinates" in out) == (name == "tip.npz")
        ((node, most),) = re.findall(r"node (\d+) +largest displacement (\S+) m at 0.016 s", out)
        if name == "tip.npz":
            with np.load(path) as arrays:
                assert int(node) == arrays["nodes"][0]
                u = arrays["displacement"][:, 0]
            assert float(most) == pytest.approx(np.linalg.norm(u, axis=1).max(), rel=1e-3)


def test_info_of_tables_of_poses(capsys, tmp_path):
    path = tmp_path / "hand.csv"
    path.write_text("time,x,y,z,qw,qx,qy,qz\n0,0,0,0,1,0,0,0\n1.5,0.1,0,0.2,1,0,0,0\n")
    status, out, err = run(capsys, "info", path)
    assert (status, err) == (0, "")
    for text in (
        "table of poses of a hand",
        "poses +2, with rotations",
        "time +0 to 1.5 s",
        r"positions +\(0, 0, 0\) to \(0.1, 0, 0.2\) m",
        "reducedfem haptics SCENE --device replay:",
    ):
        assert re.search(text, out), text


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("other.csv", b"a,b\n1,2\n", "first line 'a,b'; tables that can be described begin with"),
        ("empty.csv", b"", "first line ''"),
        ("gap.csv", b"time_s,node3_x_m,node3_z_m\n", "first line 'time_s,node3_x_m,node3_z_m'"),
        ("cut.csv", b"time_s,node3_x_m,node3_y_m,node3_z_m\n0,1,2\n", "damaged trajectory"),
        (
            "head.csv",
            b"time_s,node3_x_m,node3_y_m,node3_z_m\n",
            "damaged trajectory: it has no rows",
        ),
        ("text.npz", b"time", r"damaged, or no archive of NumPy arrays \(.npz\)"),
        ("none.csv", None, "No such file"),
    ],
)
def test_other_tables_are_refused_with_their_first_line(capsys, tmp_path, name, content, match):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    fails(capsys, "info", tmp_path / name, match=match)


@pytest.mark.parametrize(
    "changed", [{"q": None}, {"time": 1.0}, {"time": ["a", "b"]}, {"nodes": [[1]]}, {"q": 1.0}]
)
def test_archives_of_other_arrays_are_refused(capsys, tmp_path, changed):
    arrays = {"time": [0.0, 1.0], "nodes": [3], "displacement": np.zeros((2, 1, 3)),
              "q": np.zeros((2, 4))} | changed  # fmt: skip
    path = tmp_path / "other.npz"
    np.savez(path, **{name: one for name, one in arrays.items() if one is not None})
    fails(capsys, "info", path, match="which has the arrays time, nodes, displ")


@pytest.mark.parametrize("at", [(0, b"text"), (11, b"(("), (11, rb"'\8"), (11, b"0or 1")])
def test_damaged_headers_in_archives_are_refused(capsys, tmp_path, at):
    """Errors of Python's tokenizer and parser are no tracebacks, their warnings are not printed."""
    arrays = {"time": np.zeros(2), "nodes": np.arange(1), "displacement": np.zeros((2, 1, 3))}
    path = tmp_path / "cut.npz"
    np.savez(path, **arrays, q=np.zeros((2, 4)))
    with zipfile.ZipFile(path) as whole:
        members = {name: bytearray(whole.read(name)) for name in whole.namelist()}
    begin, text = at
    members["nodes.npy"][begin : begin + len(text)] = text
    with zipfile.ZipFile(path, "w") as cut:
        for name, data in members.items():
            cut.writestr(name, bytes(data))
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        fails(capsys, "info", path, match="damaged, or no archive of NumPy arrays")
    assert not given


def test_a_single_array_is_no_archive(capsys, tmp_path):
    path = tmp_path / "one.npz"
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    fails(capsys, "info", path, match="damaged, or no archive")
