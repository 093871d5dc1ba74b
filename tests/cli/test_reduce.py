"""`reducedfem reduce`: which model it makes of which file, and what it refuses."""

from __future__ import annotations

import os
import re
import tracemalloc

import numpy as np
import pytest

import reducedfem as rf
from commands import bar, fails, misused, run, veg
from reducedfem.cli import fixed_nodes
from shapes import box_hexes, box_tets, sphere


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
    for word in ("voxelize", "modes and derivatives", "reduce", "fixed", "total time", "Hz"):
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


def test_advice_for_open_surfaces_is_to_close_them(capsys, tmp_path):
    vertices, triangles = sphere(24, radius=0.05)
    rf.Surface(vertices, triangles[1:]).write(tmp_path / "ball.obj")
    args = ("reduce", tmp_path / "ball.obj", "-o", tmp_path / "m", "--fix", "x<-1")
    for more, reported in (((), True), (("--no-fill",), False)):
        out = run(capsys, *args, "--resolution", 8, *more)[1]
        assert (
            bool(re.search("holes of the surface +1, each assumed to be closed", out)) == reported
        )


def test_stout_bodies_are_advised_a_faster_resolution(capsys, tmp_path):
    """Advice is given unless a resolution is given; --fix ends the command before the long part."""
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
        assert ("degrees of freedom      823,875; the reduction" in out) == (fewer is not None)
        assert fewer is None or fewer in out
        assert ("20 nodes" in out) == (more == ())
    for resolution, more in ((16, {}), (26, {"order": 1})):
        assert rf.voxelize(cube, resolution, **more).n_nodes == pytest.approx(20_000, rel=0.1)
    plate = cube.transformed((1.0, 1.0, 0.05))
    plate.write(tmp_path / "cube.obj")
    assert "degrees of freedom" not in run(capsys, *args)[1]


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
    """The damping is precomputed, saved, reported and used."""
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
    reported = f"phi = {phi:.4g} Pa s, psi = {psi:.4g} Pa s"
    assert reported in out
    _, out, _ = run(capsys, "info", path)
    assert reported in out
    assert re.search("strain-rate damping +yes", out)

    simulate = ("simulate", path, "--force", 0, 0, -1, "--steps", 800, "--output")
    status, out, err = run(capsys, *simulate, tmp_path / "t.npz")
    assert (status, err) == (0, "")
    assert reported in out
    with np.load(tmp_path / "t.npz") as data:
        sim = rf.ImplicitNewmark(
            model.with_strain_rate(None), 1e-3, newton_max=10, strain_rate=rate
        )
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
    # a deformation beyond its size is doubted, a long fall is not
    fall = ["--gravity", 0, 0, -9.81, "--steps", 30, "--dt", 0.1]
    assert "Is so large a load meant" not in run(capsys, "simulate", path, *fall)[2]
    blow = ["--force", 0, 0, 1e7, "--steps", 10]
    assert "Is so large a load meant" in run(capsys, "simulate", path, *blow)[2]
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
            match=f"{option[0].replace('no-', '')} applies to surfaces, .*veg' is a volume mesh",
        )  # fmt: skip
    # millimetres
    assert run(
        capsys, *common, "-o", tmp_path / "s", "--fix", "z<=0", "--scale", "mm"
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
    fails(capsys, *ten, "--quadratic", match="--quadratic needs a mesh without nodes")
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
    status, out, err = run(
        capsys, "reduce", surface, *target, "--fix-file", tmp_path / "none.bou"
    )  # fmt: skip
    assert (status, out) == (1, "")
    assert "none.bou': No such file" in err
    misused(capsys, "reduce", surface, *target, *options, "-r", 300, match="-r/--coordinates")
    assert sorted(os.listdir(tmp_path)) == ["bad.obj"]


def test_very_many_cells_are_announced_before_they_are_made(capsys, surface, tmp_path):
    # 80 x 40 x 40 cells; wrong supports end the command after they were made
    command = ["reduce", surface, "-o", tmp_path / "m", "--order", 1, "--fix", "x<-5"]
    _, out, _ = run(capsys, *command, "--resolution", 80)
    said = r"cells +about ([\d,]+) of 0\.0025 m: .*; --resolution (\d+) gives"
    ((cells, fewer),) = re.findall(said, out)
    # faces at the faces of cells, unlike those at random places, meet no others
    assert 128_000 <= int(cells.replace(",", "")) < 1.07 * 128_000
    assert out.index("cells   ") < out.index("voxelize")
    _, out, _ = run(capsys, *command, "--resolution", fewer)
    (count,) = re.findall(r"voxelize .* s +([\d,]+) .*hexahedra", out)
    assert 0.8 < int(count.replace(",", "")) / 4500 < 1.25
    assert "gigabytes" not in out


def test_the_expected_cells_of_a_thin_oblique_plate(capsys, tmp_path, monkeypatch):
    """Their number grows with the square of the resolution."""

    def stop(*args, **kwargs):
        raise rf.InputError("stopped before many cells")

    corners, hexes = box_hexes(1, 1, 1, (1.0, 0.8, 1e-3))
    plate = rf.Mesh(corners, hexes).surface()
    turn = rf.Pose((0, 0, 0), (0.9, 0.3, 0.3, 0.1)).rotation
    rf.Surface(plate.vertices @ turn.T, plate.triangles).write(tmp_path / "plate.obj")
    command = ["reduce", tmp_path / "plate.obj", "-o", tmp_path / "m", "--fix", "x<-5"]
    with monkeypatch.context() as patch:
        patch.setattr("reducedfem.cli.reduce.voxelize", stop)
        _, out, _ = run(capsys, *command, "--order", 1, "--resolution", 280)
    ((cells, fewer),) = re.findall(r"cells +about ([\d,]+) .*; --resolution (\d+) gives", out)
    _, out, _ = run(capsys, *command, "--order", 1, "--resolution", fewer)
    (count,) = (int(n.replace(",", "")) for n in re.findall(r"voxelize .* s +([\d,]+) ", out))
    assert count == pytest.approx(4500, rel=0.15)
    many = count * (280 / int(fewer)) ** 2
    # the finer the cells, the more of them the thickness of the plate adds
    assert many < int(cells.replace(",", "")) < 1.25 * many


def test_reduce_accepts_the_size_that_few_modes_give(capsys, surface, tmp_path):
    """Without -k and -r the defaults do not exceed the numbers available."""
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


def test_check_of_the_basis(capsys, tmp_path, monkeypatch):
    """A bar that sags across is not advised for the little that the basis lacks along it."""
    (tmp_path / "bar.veg").write_text(bar(*box_hexes(10, 1, 1, (1.0, 0.1, 0.1))))
    args = ("reduce", tmp_path / "bar.veg", "-o", tmp_path / "m", "--fix", "x<0.01")
    assert "sag under weight" not in run(capsys, *args, "-k", 2, "-r", 3)[1]
    status, out, _ = run(capsys, *args, "--check", "-k", 4, "-r", 8)
    assert status == 0
    along, across = re.search(r"makes (\d+) %, (\d+) %", out).groups()
    assert int(along) < 90 < int(across)
    assert re.search("it is largest along [yz]\n", out)
    out = run(capsys, *args, "--check", "-k", 1, "-r", 1)[1]
    assert re.search("it is largest along [yz], where a larger --modes and -r make more", out)
    out = run(capsys, *args[:4], "--free", "--check", "-k", 2, "-r", 3)[1]
    assert "weight does not deform a free solid" in out

    def fail(*_):
        raise rf.SingularMatrixError("no pivot")

    monkeypatch.setattr("reducedfem.cli.reduce.lacking_and_work", fail)
    (tmp_path / "m.safetensors").unlink(missing_ok=True)
    status, out, _ = run(capsys, *args, "--check", "-k", 2, "-r", 3)
    assert status == 0
    assert "not known: no pivot" in out
    assert "model file" in out
