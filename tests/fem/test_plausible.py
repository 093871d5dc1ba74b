"""Warnings about solids that are unlikely to be what was meant."""

from __future__ import annotations

import dataclasses
import re
import warnings

import numpy as np
import pytest

import reducedfem as rf
from reducedfem.cli import main
from reducedfem.geometry.built import first_in_body, in_body
from shapes import box_hexes, box_tets, sphere

RUBBER = rf.StVK(young=1e6, poisson=0.4, density=1000)


def block(length: float) -> rf.Mesh:
    """Return a bar of 6 x 3 x 3 cells, 112 nodes."""
    return rf.Mesh(*box_hexes(6, 3, 3, (length, length / 2, length / 2)))


def said(mesh: rf.Mesh, material: rf.StVK, fixed: object = None) -> list[str]:
    """Return the warnings that making a solid gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rf.Solid(mesh, material, fixed)
    assert all(one.category is rf.PlausibilityWarning for one in caught)
    assert all(one.filename == __file__ for one in caught)  # of the line that made it
    return [str(one.message) for one in caught]


def test_usual_parts_give_no_warning():
    steel, foam = rf.StVK(2.1e11, 0.3, 7850), rf.StVK(1e5, 0.2, 20)
    tissue = rf.StVK(500.0, 0.45, 1000)
    for material in (RUBBER, steel, foam, tissue):
        for length in (1e-3, 0.1, 20.0):
            assert said(block(length), material) == []


@pytest.mark.parametrize(
    ("length", "material", "pattern"),
    [
        (120.0, RUBBER, '120 m long.*millimetres.*scale="mm".*--scale mm.*0.001'),
        (0.1, rf.StVK(2.1e5, 0.3, 7850), "210000 Pa.*MPa.*1e6"),
        (0.1, rf.StVK(2.0, 0.4, 1000), "2 Pa.*MPa"),
        (0.1, rf.StVK(2.1e11, 0.3, 7.85), "7.85 kg/m.*g/cm"),
        (0.1, rf.StVK(2.1e11, 0.3, 7.85e-9), "7.85e-09 kg/m.*t/mm"),
    ],
)
def test_other_units_give_a_warning(length, material, pattern):
    (only,) = said(block(length), material)
    assert re.search(pattern, only)


def test_general_materials_are_judged_by_their_stiffest_axis():
    soft, stiff = np.diag([2.0, 2.0, 2.0, 1.0, 1.0, 1.0]), np.diag([1e9, 2.0, 2.0, 1.0, 1.0, 1.0])
    assert len(said(block(0.1), rf.LinearElastic(soft, 1000))) == 1
    assert said(block(0.1), rf.LinearElastic(stiff, 1000)) == []


def test_solids_mostly_fixed_give_a_warning():
    mesh = block(0.1)
    x = mesh.nodes[:, 0]
    (only,) = said(mesh, RUBBER, x < 0.06)
    assert "fixed holds 64 of 112 nodes (57 %)" in only
    assert said(mesh, RUBBER, x < 0.03) == []


def test_nearly_incompressible_materials_lock_elements_of_first_order():
    hexahedra = block(0.1)
    boxes = rf.Mesh(*box_tets(6, 3, 3, (0.1, 0.05, 0.05)))
    for law in (rf.StVK, rf.StableNeoHookean):
        for mesh, most in ((hexahedra, 0.48), (boxes, 0.45)):
            assert said(mesh, law(1e6, most, 1000)) == []
            (only,) = said(mesh, law(1e6, most + 0.005, 1000))
            assert f"region 0 has a Poisson's ratio of {most + 0.005:g}" in only
            assert "take mesh.quadratic()" in only
            assert said(mesh.quadratic(), law(1e6, 0.499, 1000)) == []
    (only,) = said(hexahedra, rf.MooneyRivlin(c1=1e5, c2=1e4, bulk=1e9, density=1000.0))
    assert "a Poisson's ratio of 0.49989" in only
    cells = rf.voxelize(rf.Surface(*sphere(8, radius=0.05)), resolution=12, order=1)
    assert "take voxelize(order=2)" in said(cells, rf.StVK(1e6, 0.49, 1000))[-1]


def plate(thickness: float, expand: float | None = 1.0) -> rf.Mesh:
    """Return a plate on z = 0 in cells of 0.01 m."""
    vertices, quads = box_hexes(1, 1, 1, (0.1, 0.1, thickness))
    return rf.voxelize(rf.Mesh(vertices, quads).surface(), 10, expand=expand)


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_supports_outside_of_the_body_give_a_warning():
    """Cubes are centred about the body: a plate of 3.5 cells begins a quarter into one."""
    mesh = plate(0.035)
    z = mesh.nodes[:, 2]
    assert (mesh.fractions < 0.8).any()
    (message,) = said(mesh, RUBBER, z <= 0.0)
    lowest = int((z == z.min()).sum())
    assert message.startswith(
        f"fixed: nearly all of the {lowest} nodes around (0.05, 0.05, -0.0025)"
    )
    assert message.endswith("Take nodes up to one cell (0.01 m) further in as well")
    x = mesh.nodes[:, 0]
    (message,) = said(mesh, RUBBER, (z <= 0.0) & ((x < 0.02) | (x > 0.08)))
    assert "(supports like it: 2)" in message
    # nodes in the body, cells that are held whole and surfaces between cells are fine
    assert said(mesh, RUBBER, z < 0.005) == []
    assert said(mesh, RUBBER, x < 0.01) == []
    for fine in (plate(0.04), plate(0.0396), plate(0.025, None)):
        assert said(fine, RUBBER, fine.nodes[:, 2] < 1e-6) == []


def test_nodes_of_the_body_are_distinguished_from_those_around_it():
    """Corners of cells that a ball only grazes lie outside of it."""
    mesh = rf.voxelize(rf.Surface(*sphere(24, radius=0.05)), 7)
    away = np.linalg.norm(mesh.nodes, axis=1)
    found = in_body(mesh, np.arange(mesh.n_nodes))
    cell = 0.1 / 7
    assert found[away < 0.049].all()
    assert not found[away > 0.05 + 0.1 * cell].any()
    assert (away > 0.05 + 0.1 * cell).sum() > 100
    some = np.flatnonzero(away > 0.05)[::3]
    np.testing.assert_array_equal(in_body(mesh, some), found[some])
    outermost = (-away).argsort(kind="stable")
    first = first_in_body(mesh, outermost)
    assert first == outermost[found[outermost].argmax()]
    assert not found[outermost[:10]].any()
    assert first_in_body(mesh, outermost[:10]) == outermost[0]
    assert in_body(block(1.0), np.arange(5)).all()


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_overlapping_parts_are_counted_once():
    """Two boxes that share 4 % of their volume enclose 96 % of its sum."""
    vertices, quads = box_hexes(1, 1, 1, (0.1, 0.1, 0.1))
    one = rf.Mesh(vertices, quads).surface()
    both = rf.Surface(
        np.vstack([one.vertices, one.vertices + np.array([0.092, 0.0, 0.0])]),
        np.vstack([one.triangles, one.triangles + len(one.vertices)]),
    )
    solid = rf.Solid(rf.voxelize(both, 24), RUBBER)
    assert abs(solid.summary.enclosed / 1.92e-3 - 1.0) < 0.005
    assert abs(solid.summary.volume / 1.92e-3 - 1.0) < 0.005


def film(thickness: float, tilt: float = 0.0) -> rf.Surface:
    """Return a closed plate of 1 x 1 m."""
    turn = [np.cos(tilt / 2), 0.6 * np.sin(tilt / 2), 0.8 * np.sin(tilt / 2), 0.0]
    flat = rf.Mesh(*box_hexes(1, 1, 1, (1.0, 1.0, thickness))).surface()
    return flat.transformed(rotation=turn)


@pytest.mark.parametrize("tilt", [0.0, 0.5])
@pytest.mark.parametrize("thickness", [1e-3, 1e-4, 1e-6])
def test_films_too_thin_to_cut_are_reported_by_voxelize_and_the_solid(thickness, tilt):
    """They become whole cells or fall apart: their mass is far off in both cases."""
    surface = film(thickness, tilt)
    with pytest.warns(rf.PlausibilityWarning) as caught:
        mesh = rf.voxelize(surface, 24)
    (text,) = (str(one.message) for one in caught)
    assert caught[0].filename == __file__
    ratio = mesh.volume / thickness
    assert abs(ratio - 1.0) > 0.05
    assert text.startswith(f"the mesh has {ratio:.3g} times the volume")
    thick = 24 * thickness / np.ptp(surface.bounds, axis=0).max()
    assert f"about {thick:.2g} cells thick" in text
    if thickness > 1e-6:
        assert int(re.search(r"About (\d+) cells", text)[1]) == pytest.approx(2.4 / thick, abs=2)
    else:
        assert text.endswith("give the part more thickness and a softer, lighter material")
    (volume,) = said(mesh, RUBBER)
    assert volume.startswith(f"the mesh has {ratio:.3g} times the volume")
    assert "defaults" not in volume + text
    assert f"{100 * ratio:.4g} % of the volume enclosed" in str(rf.Solid(mesh, RUBBER).summary)


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_films_thick_enough_to_cut_cells_give_no_warning():
    for tilt in (0.0, 0.5):
        rf.voxelize(film(0.01, tilt), 24)  # warnings are errors


def test_skins_of_voxels_give_a_hint_and_no_verdict():
    body = rf.Surface(*sphere(12, radius=0.05))
    (message,) = said(rf.voxelize(body, 24, fill=False), RUBBER)
    assert "unless a skin is meant, voxelize the surface with the defaults" in message


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_thin_members_that_overlap_are_measured_as_they_are():
    """Plates along the axes, 0.4 cells thick, that share 3 % of their volume."""
    plates = []
    for axis in range(3):
        size = np.ones(3)
        size[axis] = 0.025
        plate = rf.Mesh(*box_hexes(1, 1, 1, 1.0)).surface()
        plates.append((plate.vertices - 0.5) * size)
    surface = rf.Surface(
        np.vstack(plates), np.vstack([plate.triangles + 8 * axis for axis in range(3)])
    )
    true = 3 * 0.025 - 3 * 0.025**2 + 0.025**3
    mesh = rf.voxelize(surface, 17)
    with pytest.warns(rf.PlausibilityWarning) as caught:
        solid = rf.Solid(mesh, RUBBER)
    assert ["thinnest" in str(one.message) for one in caught] == [True]
    assert solid.volume == pytest.approx(true, rel=0.01)
    assert solid.summary.enclosed == pytest.approx(true, rel=0.01)


def test_studies_of_single_elements_give_no_warning():
    assert said(rf.Mesh(*box_hexes(1, 1, 1, 50.0)), rf.StVK(1.0, 0.3, 1.0), [0, 1, 2, 3]) == []


def test_the_command_shows_warnings_as_lines(tmp_path, capsys):
    path = tmp_path / "part.vtu"
    block(120.0).write(path)
    model = str(tmp_path / "m.safetensors")
    args = ["reduce", str(path), "-o", model, "--fix-fraction", "x-", "0.1", "-k", "2", "-r", "2"]
    assert main(args) == 0
    err = capsys.readouterr().err
    assert err.startswith("reducedfem: warning: the solid is 120 m long")
    assert err.count("\n") == 1


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_an_open_surface_is_as_thin_as_with_its_hole_closed():
    """A half ball without its lid: rays into it leave through the hole."""
    vertices, triangles = sphere(12, radius=0.05)
    up = vertices[triangles].mean(axis=1)[:, 2] > 0
    bowl = rf.Surface(vertices, triangles[up])
    with pytest.warns(rf.GeometryWarning, match="1 hole"):
        mesh = rf.voxelize(bowl, resolution=10)
    made = [rf.Solid(one, RUBBER) for one in (mesh, rf.voxelize(bowl.filled(), resolution=10))]
    assert "inf" not in str(made[0])
    across = [solid.summary.cells_across for solid in made]
    assert 1.0 < across[0] == pytest.approx(across[1], rel=1e-9)
    unknown = dataclasses.replace(made[0].summary, cells_across=np.inf)
    assert "m wide; the surface is too open to measure its thickness" in str(unknown)
