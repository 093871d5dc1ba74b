"""Pages of views in a browser: numbers, pixels, gestures, connections."""

from __future__ import annotations

import base64
import http.server
import io
import threading

import numpy as np
import pytest
from PIL import Image

import reducedfem as rf
from pages import DRAWN, on_screen, read, shown
from reducedfem.drawing.render import Frame, Shape, draw, upright
from reducedfem.viewer.parts import GREY
from shapes import solid_box

pytestmark = pytest.mark.no_asan(reason="runs a browser, no C code of its own")


@pytest.fixture(scope="module")
def bar():
    return solid_box((8, 2, 2), (0.4, 0.1, 0.1))


@pytest.fixture(scope="module")
def reduced(bar):
    return rf.reduce(bar, rf.modal_derivative_basis(bar, 4, 8))


def pixels(browser):
    """Draw, and return the picture (h, w, 3), from 0 to 1."""
    text = browser.run(
        "const page = window.reducedfem; page.draw();"
        "return page.drawing.canvas.toDataURL('image/png');"
    )
    picture = Image.open(io.BytesIO(base64.b64decode(text.partition(",")[2])))
    return np.asarray(picture.convert("RGB")) / 255.0


def test_shaders_deform_as_the_skin_does(browser, reduced):
    q = np.array([3e-3, -2e-3, 1e-3, 5e-4, 2e-4, -1e-4, 3e-4, 1e-4])
    with rf.view(reduced, motion=rf.Motion([0.0, 0.1], [q, q]), browser=False) as view:
        shown(browser, view)
        positions, normals = read(browser)
        scene = view._shown.scene()
    body = scene.bodies[0]
    u = np.tensordot(q, body.shapes, 1)
    size = np.abs(body.vertices - scene.centre).max()
    np.testing.assert_allclose(positions, body.vertices + u - scene.centre, atol=1e-6 * size)
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    exact = body.normals + np.tensordot(q, body.tilts, 1)
    exact /= np.linalg.norm(exact, axis=1)[:, None]
    np.testing.assert_allclose(normals, exact, atol=1e-5)
    # and the skin of the package agrees
    skin = rf.Skin(reduced, rf.Surface(body.vertices, body.triangles), body.normals)
    np.testing.assert_allclose(skin.positions(q), body.vertices + u, atol=1e-12)
    assert np.abs(u).max() > 0.01 * size


def away(mask):
    """Return the pixels of a mask whose neighbours belong to it, too."""
    padded = np.pad(mask, 1, mode="edge")
    height, width = mask.shape
    near = [padded[i : i + height, j : j + width] for i in range(3) for j in range(3)]
    return np.all(near, axis=0)


def test_pixels_are_those_of_the_renderer(browser):
    ball = rf.DistanceField.from_field(
        rf.SphereField([0, 0, 0], 0.1) | rf.BoxField([0, -0.05, -0.04], [0.2, 0.05, 0.04]), 40
    ).isosurface()
    with rf.view(ball, browser=False) as view:
        shown(browser, view, "?theme=light")
        scene = view._shown.scene()
        width, height, half, background = browser.run(
            "const page = window.reducedfem, { canvas } = page.drawing;"
            "page.camera.perspective = false; page.camera.zoom = 1.6;"
            "const half = page.camera.half(canvas.width / canvas.height);"
            "return [canvas.width, canvas.height, half, [0.969, 0.973, 0.98]];"
        )
        found = pixels(browser)
    assert found.shape == (height, width, 3)
    scale = 0.5 * height / half
    a, e = np.radians(-60.0), np.radians(20.0)
    toward = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    axes = np.array([right, np.cross(toward, right), toward]) @ upright("z")
    origin = axes @ scene.centre + [-0.5 * width / scale, 0.5 * height / scale, 0.0]
    frame = Frame(axes, origin, scale, 0.0, (width, height))
    exact = draw(frame, [Shape(ball.vertices, GREY)], ball.triangles, 2)
    inside, outside = (away(mask) for mask in (exact[..., 3] > 0.999, exact[..., 3] == 0.0))
    covered = np.abs(found - background).max(axis=2) > 0.01
    # silhouettes differ by less than a pixel
    assert not np.any(inside & ~covered)
    assert not np.any(outside & covered)
    assert 0.1 < np.mean(inside) < 0.9
    error = np.abs(found - exact[..., :3])[inside]
    assert np.median(error) < 0.004
    assert np.mean(error) < 0.01


def test_a_drag_moves_the_simulation(browser, reduced):
    from selenium.webdriver.common.action_chains import ActionChains

    with rf.view(reduced, browser=False) as view:
        shown(browser, view)
        browser.wait("window.reducedfem.frame !== null")
        canvas = browser.driver.find_element("id", "picture")
        x, y = on_screen(browser, [0.28, 0.05, 0.1])  # of the upper side
        actions = ActionChains(browser.driver)
        actions.move_to_element_with_offset(canvas, x, y).click_and_hold().perform()
        browser.wait("window.reducedfem.grip")
        ActionChains(browser.driver).move_by_offset(0, -60).perform()
        browser.wait("window.reducedfem.frame.arrows.length === 1")
        browser.wait("window.reducedfem.drawing.bodies[0].farthest() > 0.01")
        positions, _ = read(browser)
        assert positions[:, 2].max() > 0.055
        azimuth = browser.run("return window.reducedfem.camera.azimuth")
        assert azimuth == -60  # the camera stays
        ActionChains(browser.driver).release().perform()
        browser.wait("window.reducedfem.frame.arrows.length === 0")
        assert view._shown._hand is None
        assert view._shown._drive.playing


def test_a_drag_beside_the_body_turns_the_camera(browser, reduced):
    from selenium.webdriver.common.action_chains import ActionChains

    with rf.view(reduced, browser=False) as view:
        shown(browser, view)
        canvas = browser.driver.find_element("id", "picture")
        actions = ActionChains(browser.driver)
        actions.move_to_element_with_offset(canvas, 0, 240).click_and_hold().perform()
        browser.wait("window.reducedfem.pressed === false")
        ActionChains(browser.driver).move_by_offset(60, 0).release().perform()
        browser.wait("window.reducedfem.camera.azimuth !== -60")
        assert view._shown._hand is None


def test_keys_and_buttons(browser, reduced):
    with rf.view(reduced, browser=False) as view:
        shown(browser, view)
        browser.wait("window.reducedfem.frame?.playing")
        body = browser.driver.find_element("css selector", "body")
        body.send_keys(" ")
        browser.wait("!window.reducedfem.frame.playing")
        body.send_keys("wp1")
        assert browser.run(
            "const { drawing, camera } = window.reducedfem;"
            "return [drawing.wire, camera.perspective, camera.azimuth];"
        ) == [True, False, 0]
        browser.driver.find_element("css selector", "[aria-label='Play or pause']").click()
        browser.wait("window.reducedfem.frame.playing")
        theme = browser.run("return document.documentElement.dataset.theme")
        browser.driver.find_element("css selector", "[aria-label='Light or dark']").click()
        assert browser.run("return document.documentElement.dataset.theme") != theme


def test_deformations_are_computed_once_when_they_change(browser, reduced):
    with rf.view(reduced, browser=False) as view:
        shown(browser, view)
        browser.driver.find_element("css selector", "body").send_keys(" w")
        browser.wait("window.reducedfem.frame?.playing === false && !window.reducedfem.dirty")
        # edges share what was computed for the surface; the camera changes nothing
        found = browser.run(
            "const page = window.reducedfem, { gl, bodies } = page.drawing;"
            "const begin = gl.beginTransformFeedback.bind(gl);"
            "let count = 0;"
            "gl.beginTransformFeedback = (kind) => { count += 1; begin(kind); };"
            "const counts = [];"
            "for (const change of [() => page.orbit(0.1, 0), () => bodies[0].setCoordinates(gl,"
            "  bodies[0].q.map((one) => one + 1e-3)), () => 0]) {"
            "  change(); page.draw(); counts.push(count);"
            "}"
            "delete gl.beginTransformFeedback;"
            "return counts;"
        )
    assert found == [0, 1, 1]


def test_nothing_is_drawn_while_nothing_changes(browser, reduced):
    with rf.view(reduced, browser=False) as view:
        shown(browser, view)
        browser.driver.find_element("css selector", "body").send_keys(" ")
        browser.wait("window.reducedfem.frame?.playing === false && !window.reducedfem.dirty")
        # the same arrow and the same points as before
        found = browser.run(
            "const page = window.reducedfem, frame = (x) => ({ ...page.frame, bodies: [],"
            "  arrows: [{ from: [0, 0, 0], to: [x, 0, 0], colour: [1, 0, 0] }],"
            "  dots: [{ points: Object.assign(new Float32Array(3), { shape: [1, 3] }),"
            "           colour: [1, 0, 0] }] });"
            "return [1, 1, 2].map((x) => {"
            "  page.dirty = false; page.setFrame(frame(x)); return page.dirty; });"
        )
    assert found == [True, False, True]


def test_edges_are_drawn_once(browser, reduced):
    with rf.view(reduced, browser=False) as view:
        shown(browser, view)
        lines, triangles = browser.run(
            "const page = window.reducedfem, body = page.drawing.bodies[0];"
            "page.setWire(true); page.draw();"
            "const { gl } = page.drawing, lines = new Int32Array(body.lineCount);"
            "gl.bindVertexArray(null); gl.bindBuffer(gl.COPY_READ_BUFFER, body.lines);"
            "gl.getBufferSubData(gl.COPY_READ_BUFFER, 0, lines);"
            "return [Array.from(lines), Array.from(body.given.triangles)];"
        )
    faces = np.reshape(triangles, (-1, 3))
    sides = np.sort(np.stack([faces, np.roll(faces, -1, axis=1)], axis=2).reshape(-1, 2))
    np.testing.assert_array_equal(np.reshape(lines, (-1, 2)), np.unique(sides, axis=0))


def test_a_scene_that_is_replaced_leaves_no_buffers(browser, reduced):
    """Edges and displacements included, which a body gets when it is drawn."""
    with rf.view(reduced, browser=False) as view:
        shown(browser, view)
        counts = browser.run(
            "const page = window.reducedfem, { drawing, scene } = page, { gl } = drawing;"
            "const create = gl.createBuffer.bind(gl), remove = gl.deleteBuffer.bind(gl);"
            "let live = 0; const counts = [];"
            "gl.createBuffer = () => { live += 1; return create(); };"
            "gl.deleteBuffer = (one) => { live -= one ? 1 : 0; remove(one); };"
            "drawing.wire = true;"
            "for (let k = 0; k < 3; ++k) {"
            "  drawing.setScene(scene);"
            "  const [body] = drawing.bodies, moved = new Float32Array(3 * body.vertices);"
            "  body.setMoved(gl, moved, moved);"
            "  page.draw(); counts.push(live);"
            "}"
            "return counts;"
        )
    assert counts[0] == counts[1] == counts[2]


FRAMES = """
const page = window.reducedfem, { frame } = page, { gl } = page.drawing;
for (let k = 0; k < arguments[0]; ++k) {
  const q = frame.bodies[0].q.map((x) => x + 1e-3 * Math.random());
  const points = Object.assign(new Float32Array(30), { shape: [10, 3] });
  page.setFrame({
    ...frame,
    bodies: [{ q }],
    arrows: [{ from: q.slice(0, 3), to: q.slice(3, 6), colour: [1, 0, 0] }],
    dots: [{ points, colour: [1, 0, 0] }],
    numbers: [["time", Math.random(), "s"], ["force", Math.random(), "N"]],
  });
  page.showNumbers();
  if (k % 20) continue;
  page.draw();
  await new Promise((done) => setTimeout(done));
}
"""


def test_frames_leave_no_memory(browser, reduced):
    """A frame that is kept is 350 bytes and its objects; the script view_memory.py measures."""
    cdp = browser.driver.execute_cdp_cmd

    def heap(frames):
        browser.run(FRAMES, frames)
        for _ in range(2):  # nodes of the document go after the objects that refer to them
            cdp("HeapProfiler.collectGarbage", {})
        metrics = {x["name"]: x["value"] for x in cdp("Performance.getMetrics", {})["metrics"]}
        return np.array([metrics[name] for name in ("JSHeapUsedSize", "Nodes")])

    cdp("Performance.enable", {})
    with rf.view(reduced, browser=False) as view:
        shown(browser, view)
        browser.wait("window.reducedfem.frame !== null")
        browser.run("window.reducedfem.socket.send({ kind: 'pause' })")
        browser.wait("!window.reducedfem.frame.playing")
        heap(2000)  # compiled code and tables of the browser
        before = heap(200)
        size, nodes = heap(4000) - before
    assert size < 4000 * 200
    assert nodes < 100


def test_a_lost_connection_comes_back(browser, reduced):
    with rf.view(reduced, browser=False) as view:
        shown(browser, view)
        browser.run(
            "window.before = window.reducedfem.scene; window.reducedfem.socket.socket.close()"
        )
        browser.wait("window.reducedfem.scene !== window.before")
        browser.wait("document.getElementById('message').hidden")
        assert view.pages == 1
    browser.wait("!document.getElementById('message').hidden")
    assert "closed" in browser.run("return document.getElementById('message').textContent")


AGAIN = "const page = window.reducedfem; window.before = page.scene; page.socket.socket.close();"
RESTS = (
    "window.reducedfem.scene !== window.before && window.reducedfem.frame?.playing === false"
    " && !window.reducedfem.dirty && !window.reducedfem.unfinished"
)


def test_pages_that_connect_again_show_the_state(browser, bar, reduced):
    # colours of displacements would change the picture in any case
    with rf.view(reduced, values=bar.mesh.nodes[:, 0], browser=False) as view:
        shown(browser, view)
        browser.wait("window.reducedfem.frame")
        browser.run("window.reducedfem.socket.send({ kind: 'pause' })")
        browser.run("window.reducedfem.setShape(0, 0.01)")
        browser.wait("Math.abs(window.reducedfem.frame.bodies[0].q[0] - 0.01) < 1e-9")
        browser.run(AGAIN)
        browser.wait(RESTS)
        on_page, drawn = browser.run(
            "const page = window.reducedfem, picture = () => page.drawing.canvas.toDataURL();"
            "const seen = picture(); page.draw(); return [seen, picture()];"
        )
        assert on_page == drawn
        positions, _ = read(browser)
        (body,) = view._shown.scene().bodies
        place = body.middle - browser.run("return window.reducedfem.scene.centre")
    wanted = body.vertices - body.middle + place + 0.01 * body.shapes[0]
    assert np.abs(positions - wanted).max() < 1e-6
    assert 0.01 * np.abs(body.shapes[0]).max() > 1e-3


def test_pages_that_connect_again_keep_the_camera_and_pull_no_more(browser):
    solid = solid_box((3, 2, 2), (0.3, 0.2, 0.15), held=None)
    body = rf.FreeBody(rf.reduce(solid, rf.modal_derivative_basis(solid, 3, 5)), 1e-3)
    camera = (
        "const { azimuth, zoom, centre } = window.reducedfem.camera;"
        "return [azimuth, zoom, ...centre];"
    )
    with rf.view(body, browser=False) as view:
        shown(browser, view)
        browser.wait("window.reducedfem.frame")
        browser.run("window.reducedfem.key('g')")
        browser.wait("window.reducedfem.grip")
        browser.run(
            "const page = window.reducedfem;"
            "page.orbit(0.2, 0); page.zoom(1.3, { x: 0.1, y: 0, aspect: 1 });"
        )
        before = browser.run(camera)
        # keys and the pointer pull nothing while there is no connection
        found = browser.run(
            AGAIN + "page.lift(); page.key('g');"
            "return [page.reach, page.press({ x: 0, y: 0, aspect: 1 }), page.pressed];"
        )
        assert found == [None, False, False]
        browser.wait("window.reducedfem.scene !== window.before && window.reducedfem.frame")
        assert browser.run(camera) == before
        found = browser.run("const page = window.reducedfem; return [page.reach, page.pressed];")
        assert found == [None, False]


def test_two_pages_see_the_same(browser, reduced):
    with rf.view(reduced, browser=False) as view:
        shown(browser, view)
        first = browser.driver.current_window_handle
        browser.driver.switch_to.new_window("tab")
        shown(browser, view)
        browser.run("window.reducedfem.socket.send({ kind: 'pause' })")
        browser.run(
            "window.reducedfem.socket.send({ kind: 'shape', body: 0, shape: 0, value: 0.004 })"
        )
        moved = "Math.abs((window.reducedfem.frame?.bodies[0].q[0] ?? 0) - 0.004) < 1e-9"
        browser.wait(moved)
        browser.driver.close()
        browser.driver.switch_to.window(first)
        browser.wait(moved)
        browser.wait("window.reducedfem.frame.pages === 1")


def test_a_frame_of_a_notebook(browser, reduced):
    with rf.view(reduced, browser=False) as view:
        text = f"<!DOCTYPE html><body>{view._repr_html_()}</body>".encode()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(text if self.path == "/" else b"")

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            browser.open(f"http://localhost:{server.server_port}/")
            browser.driver.switch_to.frame(0)
            browser.wait(DRAWN)
            browser.wait("window.reducedfem.frame?.playing")
        finally:
            browser.driver.switch_to.default_content()
            server.shutdown()
            thread.join()
            server.server_close()
        assert view.address in browser.run("return document.body.textContent")


def test_a_recorded_motion_in_one_file(browser, reduced, tmp_path):
    motion = 1e-3 * np.outer(np.sin(np.linspace(0, 6, 40)), np.ones(reduced.r))
    path = tmp_path / "motion.html"
    rf.export_html(path, reduced, motion=rf.Motion(0.05 * np.arange(40), motion))
    browser.open(path.as_uri())
    browser.wait(DRAWN)
    browser.run("const { player } = window.reducedfem; player.playing = false;")
    browser.run("const page = window.reducedfem; page.player.now = 0.05 * 12.5; page.showPlayer();")
    q = browser.run("return Array.from(window.reducedfem.drawing.bodies[0].q)")
    np.testing.assert_allclose(q, 0.5 * (motion[12] + motion[13]), rtol=0, atol=1e-9)
    browser.driver.find_element("css selector", "[aria-label='Reset']").click()
    assert browser.run("return window.reducedfem.player.now") == 0
    entries = browser.run("return performance.getEntriesByType('resource').map((one) => one.name)")
    assert [one for one in entries if not one.startswith(("data:", "blob:"))] == []


def test_modes_swing_and_sliders_stop_them(browser, bar):
    modes = bar.linear_modes(3)
    with rf.view(modes, bar, browser=False) as view:
        shown(browser, view)
        browser.wait("window.reducedfem.drawing.bodies[0].q[0] !== 0")
        found = browser.run(
            "const input = document.querySelectorAll('#sliders input')[1];"
            "input.value = 500; input.dispatchEvent(new Event('input'));"
            "const page = window.reducedfem;"
            "return [page.player.playing, Array.from(page.drawing.bodies[0].q)];"
        )
    assert found[0] is False
    # a full slider is a fifth of the diagonal
    largest = np.linalg.norm(modes.shapes[1], axis=1).max()
    size = np.linalg.norm(np.ptp(bar.mesh.nodes, axis=0))
    assert found[1][1] * largest == pytest.approx(0.5 * 0.2 * size, rel=1e-5)


def test_modes_swing_in_the_ratio_of_their_frequencies(browser, bar):
    modes = bar.linear_modes(3)
    with rf.view(modes, bar, browser=False) as view:
        shown(browser, view)
        found = browser.run(
            "const { player } = window.reducedfem; player.playing = false;"
            "player.amounts.set([0, 2, 3]); player.time = 0.4;"
            "return Array.from(player.states()[0].q);"
        )
        # the lowest of those shown takes 1.6 s
        slow = 0.5 * np.pi
        ratio = modes.frequencies[2] / modes.frequencies[1]
        np.testing.assert_allclose(
            found, [0, 2 * np.cos(slow), 3 * np.cos(slow * ratio)], atol=1e-5
        )
        browser.run("window.reducedfem.player.playing = true")
        text = browser.wait(
            "[...document.querySelectorAll('#numbers div')].find((one) =>"
            " one.textContent.startsWith('slowed down'))?.lastChild.value"
        )
    assert float(text[:-1]) == pytest.approx(1.6 * modes.frequencies[1], rel=0.01)


FAR = [0.0, 1e6]  # m, from the origin of the world: single precision has steps of 6 cm there


@pytest.mark.parametrize("far", FAR)
def test_bodies_of_a_world_are_drawn_where_they_are(browser, bar, far):
    free = rf.Solid(bar.mesh, rf.StVK(1e5, 0.3, 1000.0))
    reduced = rf.reduce(free, rf.modal_derivative_basis(free, 2, 3))
    world = rf.World(1e-3, (0.0, 0.0, -9.81))
    for k in range(2):
        body = rf.FreeBody(reduced, 1e-3)
        body.reset(
            [far + 0.2, 0.05, 0.5 * k], [0.8, 0.6 * k, 0.6 * (1 - k), 0], q=[1e-3 * k] * reduced.r
        )
        world.add(body)
    world.step(5)
    with rf.view(world, browser=False) as view:
        shown(browser, view)
        browser.wait("window.reducedfem.frame?.bodies.length === 2")
        centre = view._shown.scene().centre
        for k in range(2):
            positions, _ = read(browser, k)
            distance = np.linalg.norm(
                positions[:, None] - (world.nodes(k) - centre)[None], axis=2
            ).min(axis=1)
            assert distance.max() < 1e-6


@pytest.mark.parametrize("far", FAR)
def test_a_free_body_is_where_it_was(browser, far):
    solid = solid_box((3, 2, 2), (0.3, 0.2, 0.15), held=None)
    free = rf.reduce(solid, rf.modal_derivative_basis(solid, 3, 5))
    body = rf.FreeBody(free, 1e-3, gravity=(0.0, 0.0, -9.81))
    body.reset([far + 0.1, 0.2, 0.3], [1, 0, 0, 0], [0.5, 0.0, 0.2], [3.0, 2.0, 1.0])
    motion = rf.record_motion(body, 200, every=50)
    with rf.view(free, motion=motion, browser=False) as view:
        shown(browser, view)
        centre = view._shown.scene().centre
        browser.run(
            "const page = window.reducedfem; page.player.now = page.player.end;"
            "page.player.playing = false; page.showPlayer();"
        )
        positions, _ = read(browser)
    # the vertices of the picture are among the nodes, some of them more than once
    exact = body.positions - centre
    distance = np.linalg.norm(positions[:, None] - exact[None], axis=2).min(axis=1)
    assert distance.max() < 1e-6
    moved = exact.mean(axis=0)
    assert np.linalg.norm(moved) > 0.05
