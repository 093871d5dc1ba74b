"""Values that colour bodies of views: levels, legends, pixels."""

from __future__ import annotations

import base64
import io
import re

import numpy as np
import pytest

import reducedfem as rf
from page_messages import decoded, recorded
from pages import on_screen, shown
from reducedfem import plot
from reducedfem.drawing.style import MISSING, VALUE_SCALE, on_scale
from shapes import solid_box

Image = pytest.importorskip("PIL.Image")
pytestmark = pytest.mark.no_asan(reason="pictures, no C code of its own")

SIZE = (0.4, 0.1, 0.1)
ABOVE = "const page = window.reducedfem; page.camera.along(2); page.draw();"


@pytest.fixture(scope="module")
def bar():
    return solid_box((8, 2, 2), SIZE)


@pytest.fixture(scope="module")
def reduced(bar):
    return rf.reduce(bar, rf.modal_derivative_basis(bar, 3, 5))


@pytest.fixture(scope="module")
def motion(reduced):
    q = 3e-3 * np.outer(np.linspace(0.0, 1.0, 4), np.eye(reduced.r)[0])
    return rf.Motion(0.1 * np.arange(4), q)


def scene_of(x, **arguments):
    with rf.view(x, browser=False, **arguments) as view:
        return view._shown.scene()


def nodes_at(mesh, points):
    """Return the node at each point."""
    far = np.linalg.norm(mesh.nodes - np.asarray(points)[:, None], axis=2)
    assert far.min(axis=1).max() < 1e-12
    return far.argmin(axis=1)


def test_levels_are_places_on_the_scale(bar):
    x = bar.mesh.nodes[:, 0].copy()
    x[x > 0.36] = np.nan
    for model in (bar, bar.mesh):
        (body,) = scene_of(model, values=plot.Values(x, "place", "m")).bodies
        place = x[nodes_at(bar.mesh, body.vertices)]
        wanted = np.where(np.isnan(place), 255, np.rint(254 * place / 0.35))
        np.testing.assert_array_equal(body.levels, wanted)
        assert body.colours is None
        assert body.legend["title"] == "place [mm]; grey: no value"
        assert [text for _, text in body.legend["ticks"]] == ["0", "100", "200", "300"]
    surface = bar.mesh.surface()
    (body,) = scene_of(surface, values=surface.vertices[:, 0]).bodies
    np.testing.assert_array_equal(body.levels, np.rint(254 * body.vertices[:, 0] / 0.4))


def test_motions_have_levels_of_each_state(bar, reduced, motion):
    u = np.array([reduced.displacement(q) for q in motion.q])
    of_reduced = scene_of(reduced, motion=motion, values=bar.von_mises)
    of_solid = scene_of(bar, motion=rf.Motion(motion.times, u), values=bar.von_mises)
    projected = rf.ProjectedSolid(bar, reduced.basis)
    of_projected = scene_of(projected, motion=motion, values=bar.von_mises)
    stress = np.array([bar.von_mises(one) for one in u])
    of_array = scene_of(
        reduced, motion=motion, values=plot.Values(stress, "von Mises stress", "Pa")
    )
    for one in (of_reduced, of_solid, of_projected, of_array):
        (body,) = one.bodies
        assert one.clip.levels.shape == (4, len(body.vertices))
        assert one.clip.levels.max() == 254
        assert (one.clip.levels[0] == 0).all()  # at rest
        assert body.legend["title"].startswith("von Mises stress [")
        assert body.colour is not None
        # vertices are split in the same way
        np.testing.assert_array_equal(
            one.clip.levels.max(axis=1), of_reduced.clip.levels.max(axis=1)
        )
        moved = body.vertices + np.tensordot(one.clip.tracks[0].q[3], body.shapes, 1)
        at = nodes_at(bar.mesh, body.vertices)
        np.testing.assert_allclose(moved, (bar.mesh.nodes + u[3])[at], atol=1e-12)
    # one state of values colours all states
    still = scene_of(reduced, motion=motion, values=stress[2])
    assert still.clip.levels is None
    assert still.bodies[0].levels.max() == 254


def test_normals_of_states_of_displacements_are_exact(bar, reduced, motion):
    u = np.array([reduced.displacement(10 * q) for q in motion.q])
    (body,) = scene_of(bar, motion=rf.Motion(motion.times, u)).bodies
    for k in range(4):
        bent = rf.Surface(body.vertices + body.shapes[k], body.triangles)
        np.testing.assert_allclose(body.normals + body.tilts[k], bent.normals, atol=1e-12)


def test_simulations_are_coloured_as_they_move(bar):
    sim = rf.BackwardEuler(bar, 1e-3, newton_max=10)
    with rf.view(sim, browser=False, values=bar.von_mises) as view:
        first = view._shown.frame()
        assert (first["bodies"][0]["levels"] == 0).all()
        sim.step(np.where(bar.mesh.nodes[:, :1] > 0.39, [[0.0, 0.0, -0.5]], 0.0), 20)
        now = view._shown.frame()
        assert now["bodies"][0]["levels"].max() == 254
        assert len(now["legend"]["ticks"]) > 1
        # the scale does not shrink
        sim.reset()
        later = view._shown.frame()
        assert later["legend"] == now["legend"]
        # elements inside out have no stress
        sim.reset(-1.5 * bar.mesh.nodes * (bar.mesh.nodes[:, :1] > 0))
        assert (view._shown.frame()["bodies"][0]["levels"] == 255).all()


def test_functions_are_evaluated_once_a_state(bar, reduced, motion):
    calls = []

    def values(u):
        calls.append(u)
        return bar.von_mises(u)

    scene_of(reduced, motion=motion, values=values)
    assert len(calls) == len(motion)
    sim = rf.BackwardEuler(bar, 1e-3, newton_max=10)
    with rf.view(sim, browser=False, values=values) as view:
        del calls[:]
        frames = [view._shown.frame() for _ in range(3)]
        assert len(calls) == 1
        sim.step(np.where(bar.mesh.nodes[:, :1] > 0.39, [[0.0, 0.0, -0.5]], 0.0))
        frames.append(view._shown.frame())
        assert len(calls) == 2
    same = [one["bodies"][0]["levels"] for one in frames]
    np.testing.assert_array_equal(same[2], same[0])
    assert (same[3] != same[0]).any()


def test_colours_of_motions_are_bounded(bar, reduced):
    long = rf.Motion(np.arange(1e6), np.zeros((1_000_000, reduced.r)))
    with pytest.raises(
        rf.InputError,
        match=r"^motion has 1,000,000 states of [0-9]+ vertices, whose colours take [0-9]+ MB, and "
        r"pages take 100 MB at most: pass motion\[::2\]$",
    ):
        rf.view(reduced, motion=long, values=bar.von_mises, browser=False)
    # of one state they are no more
    assert scene_of(reduced, motion=long, values=bar.mesh.nodes[:, 0]).clip.levels is None


def test_states_without_values_do_not_widen_the_scale(bar):
    sim = rf.BackwardEuler(bar, 1e-3)

    def values(u):
        return np.full(len(u), np.nan if u[-1, 2] > 0.1 else 5.0 + u[-1, 2])

    with rf.view(sim, browser=False, values=values) as view:
        up = np.zeros_like(bar.mesh.nodes)
        up[-1, 2] = 1.0
        view._shown.frame()
        sim.reset(0.08 * up)
        wide = view._shown.frame()
        assert wide["legend"]["ticks"][0][1] == "5.00"
        sim.reset(0.2 * up)
        missing = view._shown.frame()
        assert (missing["bodies"][0]["levels"] == 255).all()
        sim.reset(0.08 * up)
        assert missing["legend"] == view._shown.frame()["legend"] == wide["legend"]


def test_a_function_that_fails_leaves_the_body_grey(bar):
    up = np.zeros_like(bar.mesh.nodes)
    up[-1, 2] = 1.0

    def height(u):
        if u[-1, 2] > 0.5:
            return u[:, 2] / (1 / 0)
        return u[:5, 2] if u[-1, 2] > 0.2 else u[:, 2]

    sim = rf.BackwardEuler(bar, 1e-3)
    shape = r"values must have shape \(81,\) or \(32,\): 81 nodes, 32 elements; got \(5,\)"
    division = "height failed, ZeroDivisionError: division by zero"
    with rf.view(sim, browser=False, values=height) as view:

        def frame(lift):
            sim.reset(lift * up)
            return decoded(view._channel._frame(1, False, False))

        first = frame(0.1)
        assert first["unpainted"] == ""
        # the warning comes once, the text with each state that fails
        with pytest.warns(rf.PlausibilityWarning) as warned:
            frames = [frame(lift) for lift in (0.8, 0.8, 0.3)]
        (warning,) = warned
        assert str(warning.message) == (
            f"values: {division}; the page is grey in states without values, and the simulation "
            "continues"
        )
        assert [one["unpainted"] for one in frames[:2]] == [division, division]
        assert re.fullmatch(f"height failed, InputError: {shape}", frames[2]["unpainted"])
        for one in frames:
            assert (one["bodies"][0]["levels"] == 255).all()
            assert one["legend"] == first["legend"]
            assert one["failure"] == ""
        last = frame(0.1)
        assert last["unpainted"] == ""
        np.testing.assert_array_equal(last["bodies"][0]["levels"], first["bodies"][0]["levels"])


def test_long_errors_of_functions_are_shortened(bar):
    class Stress:
        def __call__(self, u):
            if u.any():
                raise RuntimeError("far\n" * 1000)
            return u[:, 0]

    sim = rf.BackwardEuler(bar, 1e-3)
    with rf.view(sim, browser=False, values=Stress()) as view:
        sim.reset(np.full_like(bar.mesh.nodes, 0.1) * (bar.mesh.nodes[:, :1] > 0))
        with pytest.warns(rf.PlausibilityWarning, match="^values: Stress failed, Runtime"):
            text = view._shown.frame()["unpainted"]
    assert len(text) < 350
    assert text.endswith("far far …")


def test_files_have_values_that_do_not_change(bar, reduced, tmp_path):
    path = tmp_path / "values.html"
    values = plot.Values(bar.mesh.nodes[:, 0], "place", "m")
    for x in (reduced, rf.BackwardEuler(bar, 1e-3)):
        with rf.view(x, browser=False, values=values) as view:
            assert "levels" not in view._shown.frame()["bodies"][0]
            view.save(path)
            saved = path.read_text()
        rf.export_html(path, x, values=values)
        assert path.read_text() == saved
        (body,) = recorded(saved)["bodies"]
        np.testing.assert_array_equal(body["levels"], scene_of(x, values=values).bodies[0].levels)
        assert body["levels"].max() == 254
        assert body["legend"]["title"] == "place [mm]"
        assert body["colour"] is not None


def test_files_have_no_values_that_follow_the_state(bar, reduced, tmp_path):
    path = tmp_path / "values.html"
    for x, text in (
        (reduced, r"of a ReducedSolid has none: pass motion=Motion\(\[0\.0\], \[q\]\)"),
        (rf.BDF2(bar, 1e-3), r"of a BDF2 has none: pass its Solid and motion=Motion"),
    ):
        with (
            rf.view(x, browser=False, values=bar.von_mises) as view,
            pytest.raises(rf.InputError, match=text),
        ):
            view.save(path)
        with pytest.raises(rf.InputError, match=text):
            rf.export_html(path, x, values=bar.von_mises)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (dict(x="basis", on="bar", values=[0.0]), rf.InputTypeError, "values is given, so x must"),
        (dict(x="bar", values="von_mises"), rf.InputError, r"motion=Motion\(\[0\.0\], \[u\]\)"),
        (dict(x="bar", values=np.zeros(3)), rf.InputError, r"must have shape \(81,\) or \(32"),
        (dict(x="reduced", values="other"), rf.InputError, "another material in region 0"),
        (dict(x="sim", values=lambda u: u[:5, 0]), rf.InputError, r"\(81,\) or \(32,\): .* \(5,\)"),
        (dict(x="surface", values="von_mises"), rf.InputTypeError, "values is a callable, but a"),
        (dict(x="surface", motion="motion"), rf.InputTypeError, "motion is given, so x must be"),
        (dict(x="bar", motion="long"), rf.InputError, r"2049 states .*: pass motion\[::2\]"),
    ],
)  # fmt: skip
def test_mistakes_are_named(bar, reduced, motion, arguments, error, message):
    other = rf.Solid(bar.mesh, rf.StVK(2e5, 0.3, 1000.0), fixed=bar.fixed)
    things = {
        "bar": bar, "reduced": reduced, "motion": motion, "surface": bar.mesh.surface(),
        "basis": rf.Basis(reduced.basis[:1], [1.0], [1.0]), "von_mises": bar.von_mises,
        "other": other.von_mises, "sim": rf.BDF2(reduced, 1e-3),
        "long": rf.Motion(np.arange(2049.0), np.zeros((2049, 81, 3))),
    }  # fmt: skip
    given = {
        name: things.get(one, one) if isinstance(one, str) else one
        for name, one in arguments.items()
    }
    with pytest.raises(error, match=message):
        rf.view(**given, browser=False)


def pixels(browser, points):
    """Draw, and return the colours at places of the picture, from 0 to 1."""
    text = browser.run(
        "const page = window.reducedfem; page.draw();"
        "return page.drawing.canvas.toDataURL('image/png');"
    )
    picture = Image.open(io.BytesIO(base64.b64decode(text.partition(",")[2]))).convert("RGB")
    middle = np.array(picture.size) // 2
    places = [tuple((middle + on_screen(browser, one)).tolist()) for one in points]
    return np.array([picture.getpixel(one) for one in places]) / 255.0


def lit(colour):
    """Return a colour on a face towards the viewer, as `render` lights it."""
    key, fill = np.array([-0.45, 0.75, 0.60]), np.array([0.80, 0.10, 0.45])
    shade = 0.58 + 0.36 * key[2] / np.linalg.norm(key) + 0.16 * fill[2] / np.linalg.norm(fill)
    half = key / np.linalg.norm(key) + [0.0, 0.0, 1.0]
    return np.clip(np.array(colour) * shade + 0.22 * (half / np.linalg.norm(half))[2] ** 40, 0, 1)


def test_pixels_have_the_colours_of_values(browser, bar, tmp_path):
    """The upper face of a bar, seen from above, in a file; from one record to the next."""
    nodes = bar.mesh.nodes
    early = np.where(nodes[:, 0] < 0.31, nodes[:, 0], np.nan)
    values = plot.Values(np.stack([early, np.full(len(nodes), 0.3)]), "place", "m", (0.0, 0.3))
    path = tmp_path / "bar.html"
    still = rf.Motion([0.0, 1.0], np.zeros((2, len(nodes), 3)))
    rf.export_html(path, bar, motion=still, values=values)
    browser.open(path.as_uri())
    browser.wait("(window.reducedfem?.frames ?? 0) > 0")
    browser.run("window.reducedfem.player.playing = false;" + ABOVE)
    for part, mixed in ((0.0, 0.0), (0.5, 0.5), (1.0, 1.0)):
        browser.run(f"window.reducedfem.seek({part})")
        x = np.array([0.05, 0.15, 0.25, 0.37])
        place = ((1.0 - mixed) * x + mixed * 0.3) / 0.3
        wanted = on_scale(place, VALUE_SCALE)
        # no value before the last record
        wanted[3] = VALUE_SCALE[-1] if part == 1.0 else MISSING
        found = pixels(browser, [[one, 0.04, 0.1] for one in x])
        np.testing.assert_allclose(found, [lit(one) for one in wanted], atol=0.012)
    legend = browser.driver.find_element("id", "legend").text
    assert legend.split("\n")[-5:] == ["place [mm]; grey: no value", "0", "100", "200", "300"]
    browser.run("window.reducedfem.seek(0)")
    legend = browser.driver.find_element("id", "legend").text
    assert legend.split("\n")[-2:] == ["300", "no value"]


def test_a_page_follows_the_stress_of_a_simulation(browser, reduced, bar):
    sim = rf.BackwardEuler(reduced, 1e-3, newton_max=10)
    with rf.view(sim, browser=False, values=bar.von_mises) as view:
        shown(browser, view)
        load = np.zeros((bar.mesh.n_nodes, 3))
        load[-1] = [0.0, 0.0, -0.4]
        sim.step(load, 40)
        browser.wait("!!window.reducedfem.drawing.bodies[0].levels")
        browser.wait("document.getElementById('legend').textContent.includes('von Mises stress [')")
        browser.wait("window.reducedfem.frame.legend.ticks.length > 1")
        seen = browser.run("return Array.from(window.reducedfem.frame.bodies[0].levels)")
        np.testing.assert_array_equal(seen, view._shown.frame()["bodies"][0]["levels"])
        # displacements have no legend then
        assert "displacement" not in browser.driver.find_element("id", "legend").text


def test_a_page_continues_when_values_fail(browser, reduced):
    def lift(u):
        if u[:, 2].max() > 5e-3:
            raise ValueError("<b>too high</b>")
        return u[:, 2]

    page, message = "window.reducedfem", "document.getElementById('message')"
    with (
        pytest.warns(rf.PlausibilityWarning, match="lift failed, ValueError"),
        rf.view(reduced, browser=False, values=lift) as view,
    ):
        shown(browser, view)
        browser.wait(f"{page}.frame?.legend && {message}.hidden")
        highest = reduced.displacement(np.eye(reduced.r)[0])[:, 2]
        amount = 0.02 / highest[np.abs(highest).argmax()]
        browser.run(f"{page}.setShape(0, {amount})")
        browser.wait(f"!{message}.hidden")
        text = browser.run(f"return {message}.textContent")
        assert text == "No values: lift failed, ValueError: <b>too high</b>"
        browser.wait("document.getElementById('legend').innerText.includes('no value')")
        # it runs, and the text goes when there are values again
        browser.run(f"window.before = {page}.frame.numbers[0][1]; {page}.toggle();")
        browser.wait(f"{page}.frame.numbers[0][1] > window.before")
        browser.run(f"{page}.reset()")
        browser.wait(f"{message}.hidden")
