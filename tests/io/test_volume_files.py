import io
import locale

import meshio
import numpy as np
import pytest

import reducedfem as rf
from shapes import box_hexes, box_tets

VEG = """# two tets on a common face, numbered from one
*VERTICES
6 3 0 0
1 0 0 0
2, 1.0, 0, 0     # commas are fine
3 0 1e0 0

4 0 0 1
5 1 1 1
6 9 9 9

*ELEMENTS
TET
2 4 0
1 1 2 3 4
2 2 3 4 5

*MATERIAL soft
ENU, 1000, 2.5e5, 0.35
*MATERIAL hard
ENU, 1200, 25000000, .45
*MATERIAL odd
ORTHOTROPIC, 1000, 1, 1, 1, 0.3, 0.3, 0.3, 1, 1, 1
*SET shell
*INCLUDE parts/shell list.txt
*REGION
allElements, soft
*REGION
shell, hard
"""


@pytest.fixture
def veg(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "shell list.txt").write_text("*INCLUDE deeper.txt\n")
    (tmp_path / "parts" / "deeper.txt").write_text("2,\n")
    path = tmp_path / "two.veg"
    path.write_text(VEG)
    return path


def test_veg_with_includes_sets_and_regions(veg):
    mesh = rf.read_mesh(veg)
    np.testing.assert_array_equal(
        mesh.nodes, [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]
    )
    np.testing.assert_array_equal(mesh.elements, [[0, 1, 2, 3], [1, 2, 3, 4]])
    np.testing.assert_array_equal(mesh.original_nodes, [0, 1, 2, 3, 4])  # the sixth is unused
    np.testing.assert_array_equal(mesh.regions, [0, 1])
    assert mesh.region_names == {0: "allElements", 1: "shell"}
    assert mesh.materials == {
        0: rf.StVK(young=2.5e5, poisson=0.35, density=1000),
        1: rf.StVK(young=2.5e7, poisson=0.45, density=1200),
    }


def test_veg_counted_from_zero_and_without_regions(veg):
    veg.write_text(
        "*VERTICES\n5 3 0 0\n0 0 0 0\n1 1 0 0\n2 0 1 0\n3 0 0 1\n4 1 1 1\n"
        "*ELEMENTS\nTET\n2 4 0\n0 0 1 2 3\n1 1 2 3 4\n*MATERIAL soft\nENU, 1000, 2e5, 0.35\n"
    )
    mesh = rf.read_mesh(veg)
    np.testing.assert_array_equal(mesh.elements, [[0, 1, 2, 3], [1, 2, 3, 4]])
    np.testing.assert_array_equal(mesh.regions, [0, 0])
    # elements without a region have the first material
    assert mesh.materials == {0: rf.StVK(young=2e5, poisson=0.35, density=1000)}


def test_reading_does_not_depend_on_the_locale(veg, monkeypatch):
    before = locale.setlocale(locale.LC_NUMERIC)
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "C"):
        try:
            locale.setlocale(locale.LC_NUMERIC, name)
        except locale.Error:
            continue
        try:
            assert rf.read_mesh(veg).materials[1].young == 2.5e7
        finally:
            locale.setlocale(locale.LC_NUMERIC, before)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("*VERTICES", "VERTICES", "line 2: expected a section"),
        (
            "6 3 0 0",
            "600 3 0 0",
            r"line 3: \*VERTICES announces 600 lines, but 6 follow .is the f",
        ),
        ("6 3 0 0", "six 3 0 0", "line 3: expected a count, got 'six'"),
        ("4 0 0 1", "4 0 0", "line 8: expected 4 numbers, got 3"),
        ("4 0 0 1", "4 0 0 one", "line 8: not a number"),
        ("4 0 0 1", "7 0 0 1", "line 8: expected number 4, got 7"),
        ("1 0 0 0", "3 0 0 0", "line 4: numbering must start at 0 or 1, not at 3"),
        ("TET", "WEDGE", "elements are 'WEDGE'; known are TET and CUBIC"),
        ("1 1 2 3 4", "1 1 2 3 4.5", "not a whole number"),
        ("1 1 2 3 4", "1 1 2 3 7", r"elements\[0, 3\] is 6; allowed are 0 to 5"),
        ("1 1 2 3 4", "1 1 2 3 0", r"elements\[0, 3\] is -1"),
        ("4 0 0 1", "4 0 0 nan", r"nodes\[3, 2\] is nan"),
        ("ENU, 1000, 2.5e5, 0.35", "ENU, 1000, 2.5e5", "expected 3 numbers, got 2"),
        ("ENU, 1000, 2.5e5, 0.35", "", r"\*MATERIAL is empty"),
        ("shell, hard", "shell, hardest", "there is no material 'hardest'"),
        ("shell, hard", "shelf, hard", "there is no set 'shelf'"),
        ("shell, hard", "shell", "a region needs a set and a material"),
        ("*SET shell\n", "*SET\n", r"\*SET needs a name"),
        ("*SET shell\n", "*SETS shell\n", r"\*SETS is not a known section"),
        ("*SET shell\n", "*SET shell\n3\n", "set 'shell' refers to elements that are not there"),
        (
            "parts/shell list.txt",
            "nowhere.txt",
            r"line 2[0-9]: .INCLUDE: .*nowhere.txt",
        ),
        ("parts/shell list.txt", "two.veg", "more than 10 deep"),
        ("*INCLUDE parts/shell list.txt", "*INCLUDE", r"\*INCLUDE needs a file name"),
    ],
)
def test_damaged_veg(veg, old, new, message):
    assert VEG.count(old) >= 1
    veg.write_text(VEG.replace(old, new, 1))
    with pytest.raises(rf.FileFormatError, match=message):
        rf.read_mesh(veg)


def test_veg_without_elements_or_vertices(veg):
    veg.write_text(VEG[: VEG.index("*ELEMENTS")])
    with pytest.raises(rf.FileFormatError, match=r"has no \*ELEMENTS"):
        rf.read_mesh(veg)
    veg.write_text(VEG[VEG.index("*ELEMENTS") :])
    with pytest.raises(rf.FileFormatError, match=r"has no \*VERTICES"):
        rf.read_mesh(veg)


def test_unusable_mesh_in_a_file_names_the_file(veg):
    veg.write_text(VEG.replace("1 1 2 3 4", "1 2 1 3 4"))
    with pytest.raises(rf.MeshError, match=r"two.veg.*element 0 is inverted"):
        rf.read_mesh(veg)


def box(kind, regions=True):
    nodes, elements = (box_hexes if kind == 8 else box_tets)(2, 1, 2, (1 / 3, 0.7, 1.1))
    return rf.Mesh(nodes, elements, 1 + np.arange(len(elements)) // 2 if regions else None)


# inp, bdf and su2 hold no integer per element in the way they are written
KEEPS_REGIONS = [".msh", ".vtu", ".vtk", ".mesh", ".meshb", ".avs", ".dat"]


@pytest.mark.parametrize("kind", [4, 8])
@pytest.mark.parametrize("suffix", [".veg", *KEEPS_REGIONS, ".inp", ".su2"])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_written_mesh_reads_back_to_the_last_bit(tmp_path, kind, suffix):
    mesh = box(kind)
    mesh.write(tmp_path / f"m{suffix}")
    assert [p.name for p in tmp_path.iterdir()] == [f"m{suffix}"]
    back = rf.read_mesh(tmp_path / f"m{suffix}")
    np.testing.assert_array_equal(back.nodes, mesh.nodes)
    np.testing.assert_array_equal(back.elements, mesh.elements)
    if suffix in KEEPS_REGIONS:
        np.testing.assert_array_equal(back.regions, mesh.regions)
    if suffix == ".veg":
        np.testing.assert_array_equal(back.regions, mesh.regions - 1)
        assert back.region_names[0] == "region1"


def test_nastran_keeps_twelve_digits(tmp_path):
    mesh = box(8)
    mesh.write(tmp_path / "m.bdf")
    back = rf.read_mesh(tmp_path / "m.bdf")
    np.testing.assert_allclose(back.nodes, mesh.nodes, rtol=1e-11)
    np.testing.assert_array_equal(back.elements, mesh.elements)


def test_tetgen_pair_is_written_and_read(tmp_path):
    mesh = box(4)
    mesh.write(tmp_path / "m.ele")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.ele", "m.node"]
    back = rf.read_mesh(tmp_path / "m.node")
    np.testing.assert_array_equal(back.nodes, mesh.nodes)
    np.testing.assert_array_equal(back.regions, mesh.regions)
    (tmp_path / "m.ele").write_text("# nothing but a comment\n")
    with pytest.raises(rf.FileFormatError, match=r"m.ele' is empty"):
        rf.read_mesh(tmp_path / "m.node")


def test_veg_round_trip_keeps_materials(veg, tmp_path):
    mesh = rf.read_mesh(veg)
    mesh.write(tmp_path / "again.veg")
    again = rf.read_mesh(tmp_path / "again.veg")
    assert again.materials == mesh.materials
    np.testing.assert_array_equal(again.regions, mesh.regions)
    np.testing.assert_array_equal(again.nodes, mesh.nodes)


def test_reading_with_a_scale(veg):
    plain, scaled = rf.read_mesh(veg), rf.read_mesh(veg, scale="mm")
    np.testing.assert_array_equal(scaled.nodes, 1e-3 * plain.nodes)
    np.testing.assert_array_equal(scaled.elements, plain.elements)
    np.testing.assert_array_equal(scaled.regions, plain.regions)
    assert scaled.region_names == plain.region_names
    assert scaled.materials == plain.materials
    np.testing.assert_array_equal(rf.read_mesh(veg, 0.0254).nodes, 0.0254 * plain.nodes)
    with pytest.raises(rf.InputError, match="scale must be positive, got -1"):
        rf.read_mesh(veg, scale=-1)
    for scale in (None, [1, 2, 3]):
        with pytest.raises(rf.InputTypeError, match="scale must be a number or one of m, cm, mm,"):
            rf.read_mesh(veg, scale=scale)
    with pytest.raises(rf.MeshError, match=r"element 0 is too large.*; scale is 1e\+200"):
        rf.read_mesh(veg, scale=1e200)
    veg.write_text(VEG.replace("3 0 1e0 0", "3 0 1e3 0"))
    with pytest.raises(rf.InputError, match=r"scale is 1e\+308, so large that nodes"):
        rf.read_mesh(veg, scale=1e308)


def test_gmsh_names_of_physical_volumes(tmp_path):
    nodes, elements = box_tets(1, 1, 1)
    mesh = meshio.Mesh(
        nodes,
        [("triangle", elements[:2, :3]), ("tetra", elements[:4]), ("tetra", elements[4:])],
        cell_data={
            "gmsh:physical": [np.array([9, 9]), np.full(4, 5), np.full(2, 7)],
            "gmsh:geometrical": [np.array([1, 1]), np.full(4, 1), np.full(2, 2)],
        },
    )
    mesh.field_data = {"skin": np.array([9, 2]), "body": np.array([5, 3]), "tip": np.array([7, 3])}
    mesh.write(tmp_path / "g.msh", file_format="gmsh22")
    read = rf.read_mesh(tmp_path / "g.msh")
    np.testing.assert_array_equal(read.elements, elements)
    np.testing.assert_array_equal(read.regions, [5, 5, 5, 5, 7, 7])
    assert read.region_names == {5: "body", 7: "tip"}


def test_abaqus_sets_become_regions_unless_they_overlap(tmp_path):
    nodes, elements = box_hexes(2, 1, 1)
    stream = io.StringIO()
    stream.write("*NODE\n")
    stream.writelines(f"{i}, {x}, {y}, {z}\n" for i, (x, y, z) in enumerate(nodes.tolist(), 1))
    stream.write("*ELEMENT, TYPE=C3D8\n")
    stream.writelines(
        f"{i}, {', '.join(map(str, e))}\n" for i, e in enumerate((elements + 1).tolist(), 1)
    )
    stream.write("*ELSET, ELSET=left\n1,\n*ELSET, ELSET=right\n2,\n")
    path = tmp_path / "a.inp"
    path.write_text(stream.getvalue())
    mesh = rf.read_mesh(path)
    np.testing.assert_array_equal(mesh.regions, [1, 2])
    assert mesh.region_names == {1: "left", 2: "right"}
    path.write_text(stream.getvalue() + "*ELSET, ELSET=all\n1, 2\n")
    np.testing.assert_array_equal(rf.read_mesh(path).regions, [0, 0])


def test_surface_cells_and_stray_nodes_are_passed_over(tmp_path):
    nodes, elements = box_hexes(1, 1, 1)
    nodes = np.vstack([[[5, 5, 5]], nodes])
    elements = elements + 1
    meshio.Mesh(
        nodes, [("quad", elements[:, :4]), ("hexahedron", elements), ("vertex", [[0]])]
    ).write(tmp_path / "m.vtu")
    mesh = rf.read_mesh(tmp_path / "m.vtu")
    assert mesh.n_elements == 1
    np.testing.assert_array_equal(mesh.original_nodes, np.arange(1, 9))


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("kind", ["int64", "int32", "uint16", "int16", "float32"])
def test_legacy_files_of_pyvista_are_read(tmp_path, binary, kind):
    pyvista = pytest.importorskip("pyvista")
    nodes, elements = box_hexes(2, 2, 1, (0.2, 0.2, 0.1))
    grid = pyvista.UnstructuredGrid({12: elements}, nodes)
    grid.cell_data["region"] = np.array([3, 1, 4, 1], dtype=kind)
    grid.point_data["u"] = 2.0 * nodes
    grid.save(tmp_path / "grid.vtk", binary=binary)
    mesh = rf.read_mesh(tmp_path / "grid.vtk")
    np.testing.assert_array_equal(mesh.elements, elements)
    np.testing.assert_allclose(mesh.nodes, nodes, atol=0 if binary else 1e-6)
    np.testing.assert_array_equal(mesh.regions, [3, 1, 4, 1])


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("texts", [True, False])
def test_legacy_files_that_are_not_read_are_named(tmp_path, binary, texts):
    pyvista = pytest.importorskip("pyvista")
    nodes, elements = box_hexes(2, 1, 1, (0.2, 0.1, 0.1))
    grid = pyvista.UnstructuredGrid({12: elements}, nodes)
    if texts:
        grid.field_data["name"] = ["bar"]
    else:
        grid.point_data["stress"] = np.zeros((len(nodes), 6))
    grid.save(tmp_path / "grid.vtk", binary=binary)
    kind = "a binary" if binary else "an ASCII"
    with pytest.raises(rf.FileFormatError, match=f"{kind} legacy VTK .* write it as .vtu"):
        rf.read_mesh(tmp_path / "grid.vtk")


@pytest.mark.parametrize("kind", ["BINARY", "ASCII"])
def test_regions_of_bytes_in_legacy_files_are_not_lost(tmp_path, kind):
    """VTK writes scalars of unsigned char as colours."""
    nodes, elements = box_hexes(2, 1, 1)
    path = tmp_path / "grid.vtk"
    binary = kind == "BINARY"
    meshio.Mesh(nodes, [("hexahedron", elements)]).write(path, "vtk42", binary=binary)
    plain = path.read_bytes()
    assert plain.splitlines()[2] == kind.encode()
    values = b"\x03\x01" if binary else b"0.0117647 0.00392157 "
    for name, lost in ((b"region", True), (b"gmsh%3Aphysical", True), (b"shade", False)):
        colours = b"\nCELL_DATA 2\nCOLOR_SCALARS " + name + b" 1\n" + values + b"\n"
        path.write_bytes(plain + colours)
        if lost:
            match = r"as bytes \(COLOR_SCALARS\), .* write it as .vtu"
            with pytest.raises(rf.FileFormatError, match=match):
                rf.read_mesh(path)
        elif binary:
            assert rf.read_mesh(path).n_elements == 2


def test_surfaces_in_legacy_files_are_named(tmp_path):
    path = tmp_path / "s.vtk"
    path.write_text(
        "# vtk DataFile Version 3.0\nball\nASCII\nDATASET POLYDATA\nPOINTS 3 float\n"
        "0 0 0 1 0 0 0 1 0\nPOLYGONS 1 4\n3 0 1 2\n"
    )
    with pytest.raises(rf.FileFormatError, match=r"is a surface \(POLYDATA\), .* no volume"):
        rf.read_mesh(path)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([("tetra", [[0, 1, 2, 4]]), ("hexahedron", [list(range(8))])], "hexahedron, tetra"),
        ([("wedge", [[0, 1, 2, 4, 5, 6]])], "volume elements wedge"),
        ([("hexahedron27", [list(range(27))])], "export it with one of these kinds"),
        ([("triangle", [[0, 1, 2]])], "no volume elements .*triangle.* read_surface"),
    ],
)
def test_other_cells_are_refused(tmp_path, cells, message):
    nodes = np.random.default_rng(0).random((27, 3))
    meshio.Mesh(nodes, cells).write(tmp_path / "m.vtu")
    with pytest.raises(rf.FileFormatError, match=message):
        rf.read_mesh(tmp_path / "m.vtu")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.veg", None, "No such file"),
        ("none.vtu", None, "No such file"),
        ("empty.msh", b"", "is empty"),
        ("blank.veg", b" \n", "is empty"),
        # no formats of surfaces, and none that meshio only writes
        ("mesh.step", b"ISO-10303-21;", r"known are \.veg (?!.*\.(obj|off|ply|stl|svg|wkt)\b)"),
        (
            "part.obj",
            b"v 0 0 0\nvt 0 0\nf 1/1 1/1 1/1\n",
            "hold surfaces, which read_surface reads",
        ),
        ("part.STL", b"solid", "hold surfaces, which read_surface reads; voxelize makes"),
        ("mesh", b"hello", "a name without suffix"),
        ("noise.msh", bytes(range(256)), "damaged or of another format"),
        ("noise.vtu", b"<VTKFile", "damaged or of another format"),
        ("noise.inp", b"*NODE\n1, a, b, c\n", "damaged or of another format"),
        ("noise.veg", bytes(range(256)), "expected a section"),
    ],
)
def test_unreadable_files(tmp_path, capfd, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(rf.FileFormatError, match=message):
        rf.read_mesh(tmp_path / name)
    # no reader prints
    assert capfd.readouterr() == ("", "")


def test_files_of_the_package_are_not_read_as_meshes(tmp_path):
    saved = tmp_path / "shell.safetensors"
    saved.write_bytes(b"something")
    with pytest.raises(
        rf.FileFormatError, match=r"shell.safetensors': .* is not a mesh .*; load\(\)"
    ):
        rf.read_mesh(saved)


def test_meshes_that_could_not_be_read_again_are_not_written(tmp_path):
    with pytest.raises(rf.FileFormatError, match=r"cannot write .* as \.ele; known are \.veg"):
        box(8).write(tmp_path / "m.ele")
    with pytest.raises(rf.FileFormatError, match="cannot write .* as .stl"):
        box(4).write(tmp_path / "m.stl")
    with pytest.raises(rf.FileFormatError, match="without suffix"):
        box(4).write(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_failing_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "m.vtu"
    path.write_bytes(b"precious")

    def broken(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("meshio.Mesh.write", broken)
    with pytest.raises(rf.FileFormatError, match="No space left"):
        box(4).write(path)
    assert path.read_bytes() == b"precious"
    assert [p.name for p in tmp_path.iterdir()] == ["m.vtu"]


def test_fixed_nodes(tmp_path):
    path = tmp_path / "f.bou"
    path.write_text("3,1, 2\n\n# a remark\n7 3,\n")
    np.testing.assert_array_equal(rf.read_fixed(path), [0, 1, 2, 6])
    assert rf.read_fixed(path).dtype == np.int32
    for content, message in (("1,x", "'x' is not a whole"), ("0,1", "has node 0; .*start at 1")):
        path.write_text(content)
        with pytest.raises(rf.FileFormatError, match=message):
            rf.read_fixed(path)
    with pytest.raises(rf.FileFormatError, match="No such file"):
        rf.read_fixed(tmp_path / "none.bou")


# ---- independent data -----------------------------------------------------------------

# nodes that elements use, elements, corners: counted in the files' README and surfaces
SHARED = {
    "asianDragon/asianDragon.veg": (959, 2591, 4),
    "beam3/beam3.veg": (208, 75, 8),
    "beam3/beam3_tet.veg": (208, 450, 4),
    "simpleBridge/simpleBridge-ic_128_0.15_.1.veg": (4000, 12827, 4),
    "simpleBridge/simpleBridge_resol92-b1.155_enlarged.veg": (3923, 1736, 8),
    "towerCrane/towerCrane_resol166.veg": (9875, 5571, 8),
    "turtle/turtle-volumetric-homogeneous.veg": (347, 1185, 4),
}


@pytest.mark.parametrize("name", SHARED)
def test_shared_veg(shared, name):
    mesh = rf.read_mesh(shared / "meshes" / "vega" / name)
    assert (mesh.n_nodes, mesh.n_elements, mesh.nodes_per_element) == SHARED[name]
    assert list(mesh.materials) == [0]
    assert mesh.n_components("face") == 1
    s = mesh.surface()
    assert s.is_closed
    assert s.volume == pytest.approx(mesh.volume, rel=1e-11)


def test_shared_heterogeneous_veg_needs_its_lists(shared, tmp_path):
    # its two element lists are not among the data: here the first 100 elements are shell
    name = shared / "meshes/vega/turtle/turtle-volumetric-heterogeneous.veg"
    with pytest.raises(rf.FileFormatError, match=r"INCLUDE: cannot read .*shellElementList.txt"):
        rf.read_mesh(name)
    (tmp_path / "t.veg").write_bytes(name.read_bytes())
    shell, rest = range(1, 101), range(101, 1186)
    (tmp_path / "shellElementList.txt").write_text(",".join(map(str, shell)))
    (tmp_path / "nonShellElementList.txt").write_text("\n".join(map(str, rest)))
    mesh = rf.read_mesh(tmp_path / "t.veg")
    np.testing.assert_array_equal(mesh.regions, [0] * 100 + [1] * 1085)
    assert mesh.region_names == {0: "backshell", 1: "theRest"}
    assert mesh.materials[0].young == 2.5e7
    assert mesh.materials[1].poisson == 0.35


def test_shared_surfaces_match_their_volume_meshes(shared):
    folder = shared / "meshes" / "vega"
    for veg, obj in (
        ("beam3/beam3.veg", "beam3/beam3.obj"),
        ("turtle/turtle-volumetric-homogeneous.veg", "turtle/turtle-volumetric.obj"),
        (
            "simpleBridge/simpleBridge_resol92-b1.155_enlarged.veg",
            "simpleBridge/simpleBridge_resol92-b1.155_enlarged.obj",
        ),
    ):
        ours, theirs = rf.read_mesh(folder / veg).surface(), rf.read_surface(folder / obj)
        assert ours.n_triangles == theirs.n_triangles
        # the surface files print six digits of coordinates up to ten
        assert ours.volume == pytest.approx(theirs.volume, rel=1e-4)


def test_shared_fixed_nodes(shared):
    folder = shared / "meshes" / "vega" / "simpleBridge"
    fixed = rf.read_fixed(folder / "simpleBridge_resol92-b1.155_enlarged.bou")
    assert len(fixed) == 44
    mesh = rf.read_mesh(folder / "simpleBridge_resol92-b1.155_enlarged.veg")
    assert fixed.max() < mesh.n_nodes
