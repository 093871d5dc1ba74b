"""Values of models in figures, films and files; stress of a bar in pure bending."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from gltf import verify
from reducedfem import plot
from reducedfem.drawing.style import MISSING, VALUE_SCALE, on_scale
from shapes import box_hexes, box_tets

pytestmark = pytest.mark.no_asan(reason="pictures, no C code of its own")

YOUNG, POISSON, CURVATURE = 2e9, 0.3, 1e-4
LENGTH, WIDTH, HEIGHT, LAYERS = 0.4, 0.05, 0.08, 4
ABOVE = {"azimuth": -90.0, "elevation": 90.0}
ASIDE = {"azimuth": -90.0, "elevation": 0.0}


@pytest.fixture(scope="module")
def bar():
    nodes, elements = box_hexes(6, 2, LAYERS, (LENGTH, WIDTH, HEIGHT))
    mesh = rf.Mesh(nodes, elements).quadratic()
    return rf.Solid(mesh, rf.StVK(YOUNG, POISSON, 1000.0), fixed=mesh.nodes[:, 0] < 1e-9)


@pytest.fixture(scope="module")
def bent(bar):
    """Return the exact displacements of pure bending: sigma_xx = E kappa z = M z / I alone."""
    x, y, z = (bar.mesh.nodes - [0.0, WIDTH / 2, HEIGHT / 2]).T
    u = np.stack([x * z, -POISSON * y * z, -0.5 * (x**2 + POISSON * (z**2 - y**2))], axis=1)
    return CURVATURE * u


def at_nodes(nodes):
    """Return the mean at each node of M |z| / I in the middles of the layers around it."""
    step = HEIGHT / LAYERS
    middles = (np.arange(LAYERS) + 0.5) * step
    near = np.abs(nodes[:, 2:] - middles) < 0.51 * step
    means = (near * np.abs(middles - HEIGHT / 2)).sum(axis=1) / near.sum(axis=1)
    return YOUNG * CURVATURE * means


def image(figure):
    return np.asarray(figure.axes[0].images[0].get_array())


def test_the_extreme_fibre_of_a_bent_bar_has_the_colour_of_its_stress(bar, bent):
    """Pixels of the upper face against the map at M c / I, c of the middle of the upper layer."""
    most = YOUNG * CURVATURE * HEIGHT / 2  # M h / 2 I
    values = plot.Values(bar.von_mises, limits=(0.0, most))
    figure = plot.values_figure(bar, values, bent, size=(200, 60), **ABOVE)
    found = image(figure)
    colour = on_scale(np.array([1.0 - 1.0 / LAYERS]), VALUE_SCALE)[0]
    surface = bar.mesh.surface()
    moved = surface.vertices + bent[bar.mesh.boundary_nodes]
    view = {"size": (200, 60), "margin": 0.04, **ABOVE}
    wanted = plot.render([plot.Shape(moved, colour)], surface.triangles, **view)
    np.testing.assert_allclose(found, wanted, atol=1e-3)
    beside = figure.axes[1]
    assert beside.get_ylabel() == "von Mises stress [kPa]"
    assert most == pytest.approx(8e3)
    assert [one.get_text() for one in beside.get_yticklabels()] == ["0", "2", "4", "6", "8"]


def test_colours_between_are_those_of_the_stress(bar, bent):
    figure = plot.values_figure(bar, bar.von_mises, bent, size=(300, 90), **ASIDE)
    surface, nodes = bar.mesh.surface(), bar.mesh.boundary_nodes
    expected = at_nodes(bar.mesh.nodes)
    # of nothing but the middles of layers
    assert np.ptp(expected) > 0.5 * YOUNG * CURVATURE * HEIGHT / 4
    shape = plot.Shape(surface.vertices + bent[nodes], plot.Values(expected[nodes]))
    wanted = plot.render([shape], surface.triangles, size=(300, 90), margin=0.04, **ASIDE)
    np.testing.assert_allclose(image(figure), wanted, atol=2e-3)


def test_surfaces_within_a_mesh_have_its_values(bar, bent):
    """A linear field is interpolated exactly."""
    surface = rf.BoxField([0.02] * 3, [0.38, 0.03, 0.06])
    surface = rf.DistanceField.from_field(surface, 16).isosurface()
    field = bar.mesh.nodes @ [1.0, 2.0, 3.0]
    figure = plot.values_figure(bar, field, None, surface, size=(120, 90))
    values = plot.Values(surface.vertices @ [1.0, 2.0, 3.0])
    wanted = plot.render([plot.Shape(surface.vertices, values)], surface.triangles,
                         size=(120, 90), margin=0.04)  # fmt: skip
    np.testing.assert_allclose(image(figure), wanted, atol=1e-6)
    # a node without a value makes the surface in its elements grey
    field[bar.mesh.nodes[:, 0] > 0.2] = np.nan
    found = image(plot.values_figure(bar, field, None, surface, size=(120, 90), **ASIDE))
    spread = np.ptp(found[len(found) // 2, :, :3], axis=1)
    assert spread[20] > 0.1
    assert spread[-20] < 0.01


def test_elements_without_a_value_do_not_count(bar):
    """Nodes have the mean of the other elements around them."""
    middles = bar.mesh.nodes[bar.mesh.elements].mean(axis=1)
    values = np.where(middles[:, 0] < LENGTH / 2, 5.0, np.nan)
    picture = image(plot.values_figure(bar, plot.Values(values, limits=(5, 6)), **ASIDE))
    row = picture[len(picture) // 2, :, :3]
    grey = np.ptp(row, axis=1) < 0.02
    # from the nodes in the middle on, triangles have a node without a value
    assert 0.45 < np.mean(grey[40:-40]) < 0.55
    assert MISSING[0] == MISSING[1]


def test_reduced_coordinates_and_models_from_files(reduced, solid, motion, tmp_path):
    q = motion.q[10]
    values = plot.Values(solid.von_mises)
    found = image(plot.values_figure(reduced, values, q, size=(90, 60)))
    same = image(plot.values_figure(solid, values, reduced.displacement(q), size=(90, 60)))
    np.testing.assert_allclose(found, same, atol=1e-3)
    reduced.save(tmp_path / "beam")
    loaded = rf.load(tmp_path / "beam.safetensors")
    again = image(plot.values_figure(loaded, values, q, size=(90, 60)))
    np.testing.assert_array_equal(again, found)


def test_as_many_nodes_as_elements():
    mesh = rf.Mesh(*box_tets(2, 1, 1))
    assert mesh.n_nodes == mesh.n_elements == 12
    with pytest.raises(rf.InputError, match=r"12 numbers, and the mesh .* pass plot\.Values\(valu"):
        plot.values_figure(mesh, np.zeros(12))
    x = mesh.nodes[:, 0]
    of_nodes = image(plot.values_figure(mesh, plot.Values(x, at="nodes"), size=(60, 60)))
    of_elements = image(plot.values_figure(mesh, plot.Values(x, at="elements"), size=(60, 60)))
    assert np.abs(of_nodes - of_elements).max() > 0.1
    solid = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0))
    u = 0.01 * mesh.nodes**2
    of_solid = image(plot.values_figure(solid, solid.von_mises, u, size=(60, 60)))
    given = plot.Values(solid.von_mises(u), at="elements")
    same = image(plot.values_figure(solid, given, u, size=(60, 60)))
    np.testing.assert_array_equal(of_solid, same)


def other(solid, **changes):
    (material,) = set(solid.materials.values())
    return rf.Solid(solid.mesh, rf.StVK(**material.constants | changes), fixed=solid.fixed)


def test_stress_is_that_of_the_material_of_the_model(solid, reduced, motion, tmp_path):
    """Another one was silently used."""
    stiffer, heavier = other(solid, young=4e5), other(solid, density=3000.0)
    path = tmp_path / "s.pvd"
    projected = rf.ProjectedSolid(solid, reduced.basis)
    reduced.save(tmp_path / "beam")
    for model in (reduced, projected, rf.load(tmp_path / "beam.safetensors")):
        with pytest.raises(
            rf.InputError,
            match=r"^stress has another material in region 0 \(StVK"
            r"\(young=400000.*\) than model \(StVK\(young=200000.*pass the Solid",
        ):
            rf.export_vtk(path, model, motion[:1], stress=stiffer)
        with pytest.raises(rf.InputError, match="values is the von_mises of a solid that has anot"):
            plot.values_figure(model, stiffer.von_mises, motion.q[3])
        # the stress at a displacement does not depend on the density
        rf.export_vtk(path, model, motion[:1], stress=heavier)
        rf.export_vtk(path, model, motion[:1], stress=solid)
    with pytest.raises(rf.InputError, match="another material"):
        rf.export_vtk(path, solid, rf.Motion([0.0], np.zeros((1, 63, 3))), stress=stiffer)
    softer = rf.Solid(solid.mesh, rf.NeoHookean(2e5, 0.3, 1000.0))
    with pytest.raises(rf.InputError, match=r"another material in region 0 \(NeoHookean"):
        rf.export_vtk(path, reduced, motion[:1], stress=softer)


def test_stress_of_models_with_edited_materials(solid, motion, tmp_path):
    basis = rf.modal_derivative_basis(solid, 3, 5)
    model = rf.reduce(solid, basis, editable=True).edit({0: rf.StVK(4e5, 0.3, 1000.0)})
    with pytest.raises(rf.InputError, match="another material"):
        rf.export_vtk(tmp_path / "s.pvd", model, motion[:1], stress=solid)
    rf.export_vtk(tmp_path / "s.pvd", model, motion[:1], stress=other(solid, young=4e5))


def test_stress_of_regions_that_change_places(solid):
    """The same materials by region, but not by element."""
    nodes, elements = box_hexes(2, 1, 1)
    soft, hard = rf.StVK(1e5, 0.3, 1000.0), rf.StVK(9e5, 0.3, 1000.0)
    first, second = (
        rf.Solid(rf.Mesh(nodes, elements, regions=regions), {1: soft, 2: hard})
        for regions in ([1, 2], [2, 1])
    )
    with pytest.raises(rf.InputError, match="another material in region"):
        plot.values_figure(first, second.von_mises, 0.0 * nodes)
    same = rf.Solid(rf.Mesh(nodes, elements, regions=[2, 1]), {2: soft, 1: hard})
    plot.values_figure(first, same.von_mises, 0.0 * nodes, size=(16, 16))


def test_films_show_values_of_their_states(reduced, motion, tmp_path):
    """A film of one state a picture; its scale is that of the states it shows."""
    Image = pytest.importorskip("PIL.Image")
    n = reduced.mesh.n_nodes
    values = np.repeat(np.arange(len(motion), dtype=float)[:, None], n, axis=1)
    values[1] = 1e6  # a state between the pictures
    arguments = {"fps": 25.0, "speed": 0.3, "size": (150, 160), "progress": False, "clock": False}
    path = tmp_path / "v.gif"
    plot.animate(path, reduced, motion[::20], values=plot.Values(values[::20], "s", "Pa"),
                 **arguments)  # fmt: skip
    with Image.open(path) as film:
        assert film.size == (150, 160)
        first = np.asarray(film.convert("RGB"))
        film.seek(film.n_frames - 1)
        last = np.asarray(film.convert("RGB"))
    # the body is in the upper part: one colour, dark, then light; the bar below does not change
    for picture, colour in ((first, VALUE_SCALE[0]), (last, VALUE_SCALE[-1])):
        body = picture[:116].reshape(-1, 3) / 255.0
        body = body[np.ptp(body, axis=1) > 0.05]
        ratio = body / np.linalg.norm(body, axis=1)[:, None]
        assert len(body) > 200
        np.testing.assert_allclose(
            np.median(ratio, axis=0), colour / np.linalg.norm(colour), atol=0.06
        )
    np.testing.assert_allclose(first[116:].astype(int), last[116:].astype(int), atol=12)
    assert (np.abs(first[116:].astype(int) - first[0, 0]).max(axis=2) > 60).sum() > 150
    with pytest.raises(
        rf.InputError, match=r"values must have shape \(63,\) or \(24,\) or \(21, 6"
    ):
        plot.animate(path, reduced, motion, values=values[:3], **arguments)


def test_films_evaluate_functions_once_a_state(reduced, motion, solid, tmp_path):
    pytest.importorskip("PIL.Image")
    calls = []

    def values(u):
        calls.append(u)
        return solid.von_mises(u)

    plot.animate(tmp_path / "v.gif", reduced, motion[:3], values=values, fps=1000, size=(64, 48),
                 progress=False)  # fmt: skip
    assert len(calls) == 3
    assert len({one.tobytes() for one in calls}) == 3


def test_small_films_have_no_bar(reduced, motion, solid, tmp_path):
    Image = pytest.importorskip("PIL.Image")
    plot.animate(tmp_path / "v.gif", reduced, motion[:1], values=solid.von_mises, size=(64, 48))
    with Image.open(tmp_path / "v.gif") as film:
        assert film.size == (64, 48)


def test_files_of_gltf_have_colours(reduced, solid, motion, tmp_path):
    values = solid.von_mises(reduced.displacement(motion.q[10]))
    rf.export_gltf(tmp_path / "c.glb", reduced, motion=motion, values=values)
    document, arrays = verify(tmp_path / "c.glb")
    attributes = document["meshes"][0]["primitives"][0]["attributes"]
    found = arrays[attributes["COLOR_0"]]
    weights, total = np.zeros(63), np.zeros(63)
    np.add.at(weights, solid.mesh.elements, solid.mesh.element_volumes[:, None])
    np.add.at(total, solid.mesh.elements, (values * solid.mesh.element_volumes)[:, None])
    means = (total / weights)[solid.mesh.boundary_nodes]
    srgb = on_scale((means - means.min()) / np.ptp(means), VALUE_SCALE)
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    np.testing.assert_allclose(found, linear, atol=1e-6)
    (material,) = document["materials"]
    assert material["pbrMetallicRoughness"]["baseColorFactor"] == [1.0] * 4
    for wrong in (solid.von_mises, np.zeros((len(motion), 63))):
        with pytest.raises(rf.InputError, match=r"those of one state, such as solid\.von_mises\(u"):
            rf.export_gltf(tmp_path / "d.glb", reduced, motion=motion, values=wrong)
    assert [one.name for one in tmp_path.iterdir()] == ["c.glb"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (dict(values="von_mises"), rf.InputTypeError, "got 'von_mises'; .* values=solid.von_mises"),
        (dict(values=np.zeros(5)), rf.InputError,
         r"values must have shape \(63,\) or \(24,\): 63 nodes, 24 elements; got \(5,\)"),
        (dict(values=plot.Values(np.zeros(24), at="nodes")), rf.InputError,
         r"shape \(63,\): 63 nodes, 24 elements; got \(24,\)"),
        (dict(values=np.zeros((3, 63))), rf.InputError,
         r"values must be those of one state, such as values\[0\], got shape \(3, 63\)"),
        (dict(values=[np.inf] * 24), rf.InputError, r"values\[0\] is infinite"),
        (dict(values=len), rf.InputError, "values is a callable, whose displacements .* pass u to"),
        (dict(values=lambda u: "x", u=np.zeros((63, 3))), rf.InputTypeError,
         "the result of values must be an array of real numbers"),
        (dict(values=np.zeros(63), u=3.0), rf.InputError,
         r"^u must have shape \(63, 3\), displacements of the nodes, got \(\)"),
        (dict(values=np.zeros(63), u=np.zeros((5, 3))), rf.InputError, r"^u must .* got \(5, 3\)"),
        (dict(values=np.zeros(63), u=np.zeros(5)), rf.InputError, r"^u must .* got \(5,\)"),
        (dict(values=np.zeros(63), u=np.full((63, 3), np.nan)), rf.InputError, r"^u\[0, 0\] is n"),
        (dict(values="stress", u="inverted"), rf.MeshError, "^u turns element 0 inside out"),
        (dict(model="reduced", values=np.zeros(63), u=np.zeros(2)), rf.InputError,
         r"^u must .* nodes, or \(5,\), reduced coordinates, got \(2,\)"),
        (dict(model="surface", values=np.zeros(54), u=np.zeros((54, 3))), rf.InputError,
         "^u must be None: a Surface alone has no nodes"),
        (dict(model="surface", values=plot.Values(np.zeros(54), at="elements")), rf.InputError,
         "values has at='elements', but a surface alone has no elements"),
        (dict(values=None), rf.InputTypeError, "values must be an array, .* got None"),
        (dict(model=3, values=0), rf.InputTypeError, "model must be a ReducedSolid, .*, got int"),
        (dict(values=np.zeros(63), size=3), rf.InputTypeError, "size must be two numbers"),
    ],
)  # fmt: skip
def test_mistakes_are_named(solid, reduced, arguments, error, message):
    things = {
        "reduced": reduced, "surface": solid.mesh.surface(), "inverted": -1.5 * solid.mesh.nodes,
        "stress": solid.von_mises,
    }  # fmt: skip
    given = {
        name: things.get(one, one) if isinstance(one, str) else one
        for name, one in (dict(model=solid) | arguments).items()
    }
    with pytest.raises(error, match=message):
        plot.values_figure(**given)


def test_states_that_turn_elements_inside_out_are_named(solid, tmp_path):
    u = np.stack([0.0 * solid.mesh.nodes, -1.5 * solid.mesh.nodes])
    with pytest.raises(rf.InputError, match="values of state 1 of motion: u turns element 0"):
        plot.animate(tmp_path / "a.gif", solid, rf.Motion([0.0, 1.0], u), values=solid.von_mises)
    assert list(tmp_path.iterdir()) == []
