"""Views of control elements and of composite bodies."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading

import numpy as np
import pytest

import reducedfem as rf
from pages import read, shown
from reducedfem.cli import main
from reducedfem.io import handle_files
from reducedfem.viewer.shown_handles import ShownBlocks
from reducedfem.viewer.view import View
from shapes import box_hexes

pytestmark = pytest.mark.no_asan(reason="pictures, no C code of its own")


@pytest.fixture(scope="module")
def bar():
    nodes, elements = box_hexes(8, 2, 2, (0.4, 0.1, 0.1))
    return rf.Solid(rf.Mesh(nodes, elements), rf.StVK(1e5, 0.3, 1000.0), fixed=nodes[:, 0] < 1e-9)


def scene_of(x):
    with rf.view(x, browser=False) as view:
        return view._shown.scene()


def two_handles(bar, order=1):
    x = bar.mesh.nodes[:, 0]
    return rf.ControlElements(bar, [x > 0.34, np.abs(x - 0.2) < 0.01], order=order)


def places_of(control, vertices):
    return [int(np.argmin(np.abs(control.positions - one).sum(axis=1))) for one in vertices]


def pulled(shown, values):
    for k, value in values.items():
        shown.command({"kind": "shape", "body": 0, "shape": k, "value": value})
    return solved(shown)


def solved(shown):
    """Return the frame of the present places of the sliders."""
    worker = shown._worker
    if worker is not None:
        worker.join()
    return shown.frame()


def turned(control, degrees):
    """Return parameters of handle 0, shifted by 0.02 m along z and turned about y."""
    half = np.radians(degrees) / 2
    place = control.means[0] + [0.0, 0.0, 0.02]
    return [control.parameters(0, place, [np.cos(half), 0.0, np.sin(half), 0.0]),
            control.parameters(1)]  # fmt: skip


@pytest.mark.parametrize("order", [1, 2])
def test_sliders_shift_and_turn_handles(bar, order):
    control = two_handles(bar, order)
    with rf.view(control, browser=False) as view:
        scene = view._shown.scene()
        (body,) = scene.bodies
        assert scene.poses
        assert body.labels[:4] == tuple(f"handle 0: {x}" for x in (
            "shift x", "shift y", "shift z", "turn x"))  # fmt: skip
        assert len(body.labels) == len(body.ends) == len(body.units) == 12
        frame = pulled(view._shown, {2: 0.02, 4: 3.0})
        c = turned(control, 3.0)
        expected = control.displacement(c)[places_of(control, body.vertices)]
        np.testing.assert_allclose(frame["bodies"][0]["moved"], expected, atol=1e-12)
        numbers = {name: value for name, value, _ in frame["numbers"]}
        force, torque = control.wrench(c)
        assert numbers["force on handle 1"] == pytest.approx(np.linalg.norm(force[1]))
        assert numbers["torque on handle 0"] == pytest.approx(np.linalg.norm(torque[0]))
        assert frame["note"] == ""
        np.testing.assert_array_equal(frame["amounts"][[2, 4]], [0.02, 3.0])
        frame = pulled(view._shown, {4: 140.0})
        if order == 1:
            # drawn, but without forces, and with a word of caution
            names = ["turned from each other", "order 1", "forces"]
            assert [one[0] for one in frame["numbers"]] == names
            assert frame["numbers"][0][1] == pytest.approx(140.0)
        else:
            # refused: the last solution stays
            assert "beyond the radius of the series" in frame["note"]
            assert frame["amounts"][4] == 3.0
        view._shown.command({"kind": "reset"})
        assert not solved(view._shown)["bodies"][0]["moved"].any()


def test_turns_without_forces_say_so(bar):
    with rf.view(two_handles(bar), browser=False) as view:
        frame = pulled(view._shown, {4: 20.0})
    assert frame["numbers"] == [("forces", "none: turned too far", "")]


def test_coordinates_of_pages_are_bounded(bar):
    with rf.view(two_handles(bar), browser=False) as view:
        (body,) = view._shown.scene().bodies
        frame = pulled(view._shown, {0: 1e9, 4: -1e9})
        np.testing.assert_array_equal(frame["amounts"][[0, 4]], [body.ends[0], -150.0])
        # rotation vectors of more than half a turn
        frame = pulled(view._shown, {5: 150.0})
        assert frame["note"].startswith("the sliders turn handle 0 by 212°, allowed are 180°")
        np.testing.assert_array_equal(frame["amounts"][4:6], [-150.0, 0.0])
        frame = pulled(view._shown, {5: 90.0})
        assert frame["note"] == ""
        assert frame["amounts"][5] == 90.0


def test_marks_of_handles_follow_vertices_in_colours_of_their_own(bar):
    control = two_handles(bar)
    scene = scene_of(control)
    (body,) = scene.bodies
    fixed, *marks = scene.marks
    assert fixed.vertices is None
    assert [one.name for one in marks] == ["handle 0: 18 nodes", "handle 1: 9 nodes"]
    assert len({one.colour for one in scene.marks}) == 3
    for nodes, one in zip(control.handles, marks, strict=True):
        np.testing.assert_array_equal(body.vertices[one.vertices], one.points)
        on = np.intersect1d(nodes, bar.mesh.boundary_nodes)
        found = {tuple(x) for x in one.points}
        assert found == {tuple(x) for x in bar.mesh.nodes[on]}


def test_files_have_the_linear_solution(bar, tmp_path):
    control = two_handles(bar)
    with rf.view(control, browser=False) as view:
        body = view._shown.saved().bodies[0]
    # the derivative of the exact poses
    h = 1e-4
    c = (np.array(turned(control, h)) - turned(control, 0.0)) / h
    expected = control.displacement(c, rotation=None)[places_of(control, body.vertices)]
    np.testing.assert_allclose(body.shapes[4], expected, atol=1e-7)
    rf.export_html(tmp_path / "handles.html", control)


def test_pages_move_handles_and_their_marks(bar, browser):
    control = two_handles(bar)
    with rf.view(control, browser=False) as view:
        shown(browser, view)
        browser.run("window.reducedfem.setShape(2, 0.02); window.reducedfem.setShape(4, 7.0)")
        browser.wait("window.reducedfem.frame?.amounts[4] === 7 && !window.reducedfem.frame.note")
        browser.run("window.reducedfem.draw()")
        scene = view._shown.scene()
        positions, _ = read(browser)
        u = control.displacement(turned(control, 7.0))
        exact = scene.bodies[0].vertices + u[places_of(control, scene.bodies[0].vertices)]
        np.testing.assert_allclose(positions + scene.centre, exact, atol=1e-6)
        points = browser.run("return Array.from(window.reducedfem.drawing.marks[1].points)")
        np.testing.assert_allclose(
            np.reshape(points, (-1, 3)), positions[scene.marks[1].vertices], atol=1e-6
        )


def test_saved_pages_move_the_linear_solution(bar, browser, tmp_path):
    path = tmp_path / "handles.html"
    rf.export_html(path, two_handles(bar))
    browser.open(path.as_uri())
    browser.wait("(window.reducedfem?.frames ?? 0) > 0")
    rest = np.array(browser.run("return Array.from(window.reducedfem.drawing.marks[1].points)"))
    browser.run("window.reducedfem.setShape(2, 0.02); window.reducedfem.draw()")
    moved = np.array(browser.run("return Array.from(window.reducedfem.drawing.marks[1].points)"))
    np.testing.assert_allclose((moved - rest).reshape(-1, 3), [[0, 0, 0.02]] * 17, atol=1e-6)
    browser.run("window.reducedfem.reset(); window.reducedfem.draw()")
    back = browser.run("return Array.from(window.reducedfem.drawing.marks[1].points)")
    np.testing.assert_allclose(back, rest, atol=1e-7)
    # a file resets what its sliders move: one body, of a scene that can be reset
    buttons = browser.run("""
        const page = window.reducedfem, scene = page.scene, one = scene.bodies[0];
        const cases = [{}, { resets: false }, { bodies: [one, one] }, { bodies: [], marks: [] }];
        return cases.map((changes) => {
          page.setScene({ ...scene, ...changes });
          page.reset();
          return document.querySelector("button[aria-label='Reset']") !== null;
        });
    """)
    assert buttons == [True, False, False, False]


def test_files_are_shown_as_what_was_saved(bar, tmp_path):
    """Their surface, handles and solutions are those of the object; fixed nodes are not known."""
    control = two_handles(bar)
    control.save(tmp_path / "c.safetensors")
    same = rf.load(tmp_path / "c.safetensors", rf.ControlElements)
    one, other = scene_of(control), scene_of(same)
    np.testing.assert_array_equal(one.bodies[0].triangles, other.bodies[0].triangles)
    np.testing.assert_allclose(one.bodies[0].vertices, other.bodies[0].vertices, atol=1e-15)
    np.testing.assert_allclose(one.bodies[0].normals, other.bodies[0].normals, atol=1e-9)
    assert one.texts == other.texts
    assert [mark.name for mark in other.marks] == [mark.name for mark in one.marks[1:]]
    with rf.view(control, browser=False) as first, rf.view(same, browser=False) as second:
        frames = [pulled(view._shown, {2: 0.02, 4: 3.0}) for view in (first, second)]
    moved = [frame["bodies"][0]["moved"] for frame in frames]
    np.testing.assert_allclose(moved[0], moved[1], atol=1e-12)
    assert (
        main(
            ["view", str(tmp_path / "c.safetensors"), "--save", str(tmp_path / "c.html"), "--quiet"]
        )
        == 0
    )
    assert (tmp_path / "c.html").stat().st_size > 1000


def version_1(data):
    """Return the file of version 1 of control elements in one of version 2, by its format."""
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begin])
    cut, end = header.pop("triangles")["data_offsets"]
    assert end == len(data) - begin
    body, metadata = data[begin : begin + cut], header["__metadata__"]
    metadata["format_version"] = "1"
    metadata.pop("sha256")
    names = [name for name in header if name != "__metadata__"]
    contents = {
        "arrays": {name: [header[name]["dtype"], header[name]["shape"]] for name in names},
        "metadata": metadata,
    }
    text = json.dumps(contents, sort_keys=True, separators=(",", ":"))
    metadata["sha256"] = hashlib.sha256(text.encode() + body).hexdigest()
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + body


def test_nodes_without_a_surface_are_points(bar, browser, tmp_path):
    """So are those of files of version 1, which lack triangles."""
    x = bar.mesh.nodes[:, 0]
    part = rf.ControlElements(bar, [x > 0.34], surface_nodes=bar.mesh.boundary_nodes[::2])
    whole = two_handles(bar)
    whole.save(tmp_path / "new")
    path = tmp_path / "old.safetensors"
    path.write_bytes(version_1((tmp_path / "new.safetensors").read_bytes()))
    old = rf.load(path, rf.ControlElements)
    # a file without triangles is one of version 1
    arrays = whole._parts()
    arrays.pop("triangles")
    handle_files.save(tmp_path / "same", arrays, whole._numbers())
    assert (tmp_path / "same.safetensors").read_bytes() == path.read_bytes()
    for control in (part, old):
        with rf.view(control, browser=False) as view:
            scene = view._shown.scene()
            (body,) = scene.bodies
            assert len(body.triangles) == 0
            assert body.size > 0.01
            assert scene.texts[-1].startswith("points only: the file was saved by an earlier")
            frame = pulled(view._shown, {2: 0.02})
            c = [control.parameters(0, control.means[0] + [0, 0, 0.02])]
            c += [control.parameters(k) for k in range(1, len(control.handles))]
            expected = control.displacement(c)
            np.testing.assert_allclose(frame["bodies"][0]["moved"], expected, atol=1e-12)
            if control is old:
                shown(browser, view)
                positions, _ = read(browser)
                np.testing.assert_allclose(
                    positions, body.vertices + expected - scene.centre, atol=1e-6
                )
            saved = view._shown.saved().bodies[0]
            linear = control.displacement(c, None) / 0.02
            np.testing.assert_allclose(saved.shapes[2], linear, atol=1e-9)


def test_holdable_nodes_of_composite_bodies_have_sliders(bar):
    """Nodes that elements connect are one handle; a slider gives the equilibrium."""
    x = bar.mesh.nodes
    end = np.flatnonzero(x[:, 0] > 0.4 - 1e-9)
    alone = np.flatnonzero((np.abs(x[:, 0] - 0.2) < 0.01) & (x[:, 2] > 0.09))
    body = rf.CompositeBody(bar, 4, holdable=np.concatenate([end, alone]))
    with rf.view(body, browser=False) as view:
        scene = view._shown.scene()
        names = [mark.name for mark in scene.marks]
        assert names == ["9 fixed nodes", "handle 0: 9 nodes", "handle 1: 3 nodes"]
        assert len(scene.bodies[0].labels) == 12
        assert not view._shown.frame()["bodies"][0]["moved"].any()
        frame = pulled(view._shown, {2: 0.03, 4: 10.0})
        turn = [np.cos(np.radians(5.0)), 0.0, np.sin(np.radians(5.0)), 0.0]
        pose, mean = rf.Pose((0.0, 0.0, 0.03), turn), x[end].mean(axis=0)
        held = {int(i): pose.apply(x[i] - mean) - (x[i] - mean) for i in end}
        held |= {int(i): np.zeros(3) for i in alone}
        done = body.solve(held=held)
        drawn = scene.bodies[0].vertices
        node = [int(np.argmin(np.abs(x - one).sum(axis=1))) for one in drawn]
        np.testing.assert_allclose(frame["bodies"][0]["moved"], done.u[node], atol=1e-7)
        numbers = {name: value for name, value, _ in frame["numbers"]}
        force = np.linalg.norm(done.force[: len(end)].sum(axis=0))
        assert numbers["force on handle 0"] == pytest.approx(force, rel=1e-4)
        assert numbers["energy"] == pytest.approx(done.energy, rel=1e-4)
        view._shown.command({"kind": "reset"})
        frame = solved(view._shown)
        np.testing.assert_allclose(frame["bodies"][0]["moved"], 0.0, atol=1e-9)
    assert view._shown.saved().bodies[0].labels == ()


def test_doubtful_equilibria_say_so(bar):
    """Those out of the range of blocks, and unstable ones, as `solve` warns of them."""
    mesh = rf.Mesh(*box_hexes(24, 2, 2, (1.2, 0.1, 0.1)))
    x = mesh.nodes
    solid = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), fixed=x[:, 0] < 1e-9)
    end = np.flatnonzero(x[:, 0] > 1.2 - 1e-9)
    body = rf.CompositeBody(solid, 6, holdable=end)
    with rf.view(body, browser=False) as view:
        assert pulled(view._shown, {2: 0.02})["note"] == ""
        assert pulled(view._shown, {2: 0.0, 4: 150.0})["note"].startswith("blocks are turned by")
        # pushed along its axis without an imperfection: it would buckle
        view._shown.command({"kind": "reset"})
        frame = pulled(view._shown, {0: -0.1})
        with pytest.warns(rf.PlausibilityWarning, match="unstable"):
            body.solve(held={int(i): (-0.1, 0.0, 0.0) for i in end})
        assert frame["note"].startswith("this equilibrium is unstable")


def test_solves_do_not_pile_up(bar):
    """While one runs, frames are the last ones, and only the newest target is solved next."""
    x = bar.mesh.nodes
    body = rf.CompositeBody(bar, 4, holdable=x[:, 0] > 0.4 - 1e-9)
    begun, go, done = threading.Event(), threading.Event(), []

    class Slow(ShownBlocks):
        def _solution(self, q):
            if q.any():
                done.append(float(q[0, 2]))
                begun.set()
                assert go.wait(600.0)
            return super()._solution(q)

    shown = Slow(body, "z")
    with contextlib.closing(View(shown, 0, (), 100)):
        rest = shown.frame()
        for value in (0.01, 0.02, 0.03, 0.04):
            shown.command({"kind": "shape", "body": 0, "shape": 2, "value": value})
            assert begun.wait(600.0)
            frame = shown.frame()
            assert frame["note"] == "solving"
            assert frame["amounts"][2] == value
            assert frame["bodies"] is rest["bodies"]
        go.set()
        frame = solved(shown)
        assert done == [0.01, 0.04]
        assert (frame["note"], frame["amounts"][2]) == ("", 0.04)
        # a view that is closed leaves out what waits
        go.clear()
        begun.clear()
        shown.command({"kind": "shape", "body": 0, "shape": 2, "value": 0.05})
        assert begun.wait(600.0)
        shown.command({"kind": "shape", "body": 0, "shape": 2, "value": 0.06})
        worker = shown._worker
    go.set()
    worker.join()
    shown.command({"kind": "reset"})
    assert done == [0.01, 0.04, 0.05]


def test_many_handles_have_no_sliders():
    mesh = rf.Mesh(*box_hexes(100, 1, 1, (10.0, 0.1, 0.1)))
    x = mesh.nodes
    solid = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), fixed=x[:, 0] < 1e-9)
    every = np.abs(x[:, 0] / 0.3 - np.rint(x[:, 0] / 0.3)) < 1e-9
    scene = scene_of(rf.CompositeBody(solid, 4, holdable=every & (x[:, 0] > 0.0)))
    assert "33 handles, too many for sliders: 32 at most" in scene.texts[1]
    assert scene.bodies[0].labels == ()
    assert not scene.poses


def test_triangles_of_files_have_three_corners(bar, tmp_path):
    control = two_handles(bar)
    arrays = control._parts()
    arrays["triangles"] = arrays["triangles"].copy()
    arrays["triangles"][3, 1] = arrays["triangles"][3, 0]
    handle_files.save(tmp_path / "c", arrays, control._numbers())
    with pytest.raises(rf.FileFormatError, match="a triangle with a corner twice"):
        rf.load(tmp_path / "c")


def test_composite_bodies_have_a_colour_for_each_block(bar):
    body = rf.CompositeBody(bar, 4)
    scene = scene_of(body)
    (shown,) = scene.bodies
    middle = shown.vertices[shown.triangles].mean(axis=1)[:, 0]
    colours = shown.colours[shown.triangles[:, 0]]
    for k in range(4):
        own = colours[(middle > 0.1 * k + 1e-3) & (middle < 0.1 * (k + 1) - 1e-3)]
        assert len(np.unique(own, axis=0)) == 1
    assert len(np.unique(colours, axis=0)) == 4
    assert scene.texts[0].startswith("4 blocks, ")
    # a solution is shown on the solid
    force = np.zeros((bar.mesh.n_nodes, 3))
    force[-1, 2] = -0.1
    u = body.solve(force).u
    for x in (bar, body):
        with rf.view(x, motion=rf.Motion([0.0], [u]), browser=False) as view:
            assert view._shown.scene().clip is not None
