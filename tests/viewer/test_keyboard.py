"""Pages by keys alone: focus, names of controls, pulls, the tool; and what follows the state."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from bridges import ball_on_a_floor
from moments import wait_until
from pages import shown
from reducedfem.viewer.parts import fixed_nodes
from shapes import box_hexes, solid_box

pytestmark = pytest.mark.no_asan(reason="runs a browser, no C code of its own")

PAGE = "window.reducedfem"


@pytest.fixture(scope="module")
def reduced():
    bar = solid_box((6, 2, 2), (0.4, 0.1, 0.1))
    return rf.reduce(bar, rf.modal_derivative_basis(bar, 3, 5))


@pytest.fixture
def touching():
    """Return a session whose thread runs, and its mouse."""
    mouse = rf.MouseDevice()
    with rf.HapticSession(
        ball_on_a_floor(), mouse,
        coupling=rf.VirtualCoupling(500.0, 1.0),
        workspace=rf.Workspace(start=((0.0, 0.0, 0.03), (1.0, 0.0, 0.0, 0.0))),
        priority=0, lock_memory=False,
    ) as session:  # fmt: skip
        wait_until(lambda: session.report().ticks)
        yield session, mouse


def press(browser, *keys, shift=False):
    """Press keys where the focus is."""
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    chain = ActionChains(browser.driver, duration=10)
    if shift:
        chain.key_down(Keys.SHIFT)
    chain.send_keys(*keys)
    if shift:
        chain.key_up(Keys.SHIFT)
    chain.perform()


def test_tab_reaches_all_controls_which_have_names_and_a_visible_focus(browser, reduced):
    from selenium.webdriver.common.keys import Keys

    with rf.view(reduced, browser=False) as view:
        shown(browser, view)
        controls = browser.run(
            "document.querySelector('#sliders details').open = true;"
            "return [...document.querySelectorAll("
            "'canvas, button, input, select, summary, aside, section, nav, dialog')]"
            ".filter((one) => one.checkVisibility() || one.matches('aside, dialog'))"
            ".map((one) => one.getAttribute('aria-label') || one.labels?.[0]?.innerText"
            "  || one.textContent);"
        )
        assert all(controls)
        wanted = browser.run(
            "const all = document.querySelectorAll('canvas, button, input, select, summary');"
            "return [...all].filter((one) => one.checkVisibility()).length;"
        )
        reached = set()
        for _ in range(wanted):
            press(browser, Keys.TAB)
            name, outline = browser.run(
                "const one = document.activeElement;"
                "return [one.outerHTML, getComputedStyle(one).outlineStyle];"
            )
            assert outline == "solid"
            reached.add(name)
        assert len(reached) == wanted == 13 + reduced.r


def test_controls_keep_their_keys_and_the_focus(browser, reduced):
    from selenium.webdriver.common.keys import Keys

    with rf.view(reduced, browser=False) as view:
        shown(browser, view)
        browser.wait(f"{PAGE}.frame?.playing")
        browser.run(
            "document.querySelector('#sliders details').open = true;"
            "document.querySelectorAll('#sliders input')[1].focus();"
        )
        press(browser, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        browser.wait(f"{PAGE}.frame.bodies[0].q[1] > 0")
        press(browser, Keys.DELETE)
        browser.wait(f"{PAGE}.frame.bodies[0].q[1] === 0")
        assert browser.run("return document.activeElement.type") == "range"
        # a button is pressed by space, which plays elsewhere
        browser.run("document.querySelector('[aria-label=Edges]').focus();")
        press(browser, " ")
        assert browser.run(f"return {PAGE}.drawing.wire") is True
        assert browser.run("return document.activeElement.ariaLabel") == "Edges"
        browser.run("document.querySelector('select').focus();")
        press(browser, Keys.ARROW_DOWN)
        browser.wait(f"{PAGE}.frame.speed === 3")
        assert browser.run(f"return {PAGE}.camera.elevation") == 20
        # buttons have no use for arrows
        browser.run("document.querySelector('[aria-label=Edges]').focus();")
        press(browser, Keys.ARROW_UP)
        assert browser.run(f"return {PAGE}.camera.elevation") == pytest.approx(29)
        press(browser, "?")
        assert browser.run("return document.getElementById('help').open")
        press(browser, Keys.ARROW_UP, Keys.ARROW_LEFT, "+", "w")
        found = browser.run(
            f"const {{ camera, drawing }} = {PAGE};"
            "return [camera.elevation, camera.azimuth, camera.zoom, drawing.wire];"
        )
        assert found == pytest.approx([29, -60, 1, True])
        press(browser, Keys.ESCAPE)
        press(browser, Keys.ARROW_DOWN)
        assert browser.run(f"return {PAGE}.camera.elevation") == pytest.approx(20)


def test_a_body_is_pulled_by_keys(browser, reduced):
    from selenium.webdriver.common.keys import Keys

    with rf.view(reduced, browser=False) as view:
        shown(browser, view)
        browser.wait(f"{PAGE}.frame")
        browser.run("document.getElementById('picture').focus();")
        press(browser, Keys.ARROW_UP, shift=True)
        moved, azimuth = browser.run(
            f"const {{ camera }} = {PAGE}; return [camera.centre, camera.azimuth];"
        )
        assert moved[2] != 0.0
        assert azimuth == -60
        press(browser, Keys.ARROW_DOWN, shift=True)
        press(browser, "g")
        browser.wait(f"{PAGE}.grip")
        press(browser, Keys.ARROW_DOWN, Keys.ARROW_DOWN)
        browser.wait(f"{PAGE}.frame.arrows.length === 1")
        browser.wait(f"{PAGE}.drawing.bodies[0].farthest() > 0.002")
        grip = browser.run(f"return {PAGE}.grip") + view._shown.scene().centre
        assert view._shown._hand.place[2] < grip[2] - 0.01
        press(browser, "g")
        browser.wait(f"{PAGE}.frame.arrows.length === 0")
        assert view._shown._hand is None
        assert browser.run(f"return {PAGE}.camera.elevation") == 20
        # a page that is hidden pulls no more
        press(browser, "g")
        browser.wait(f"{PAGE}.grip")
        browser.run("document.dispatchEvent(new Event('visibilitychange'))")
        browser.wait(f"{PAGE}.reach === null && {PAGE}.frame.arrows.length === 0")
        # pointer and keys do not pull at once
        press(browser, "g")
        browser.wait(f"{PAGE}.grip")
        found = browser.run(
            f"const page = {PAGE}, sent = [], send = page.socket.send;"
            "page.socket.send = (message) => sent.push(message.kind);"
            "page.press({ x: 0, y: 0, aspect: 1 });"
            "page.key('g');"
            "page.socket.send = send;"
            "page.lift();"
            "return [sent, page.reach, page.pressed];"
        )
        assert found == [["release", "pull"], None, False]
        browser.wait(f"{PAGE}.frame.arrows.length === 0")
        # beside the body there is nothing to pull
        browser.run(f"{PAGE}.camera.centre = [0, 0, 1];")
        press(browser, "g")
        browser.wait(f"{PAGE}.reach === null && {PAGE}.pressed === false")


def test_the_legend_follows_the_state(browser, reduced):
    with rf.view(reduced, browser=False) as view:
        shown(browser, view)
        scale = "document.querySelector('#legend .scale')"
        browser.run(f"{PAGE}.setShape(0, 0.5);")
        browser.wait(scale)
        browser.run(f"{PAGE}.setShape(0, 0);")
        browser.wait(f"!{scale}")
        # and its end the displacements
        browser.run(f"{PAGE}.setShape(0, 0.5);")
        browser.wait(f"{PAGE}.drawing.displaced && {PAGE}.frame.bodies[0].q[0] > 0.4")
        full, part, least = browser.run(
            f"const {{ drawing }} = {PAGE}, body = drawing.bodies[0];"
            "drawing.follow(1e9);"
            "const full = drawing.largest;"
            "body.setCoordinates(drawing.gl, body.q.map((one) => 0.5 * one));"
            "drawing.follow(0.2);"
            "const part = drawing.largest;"
            "drawing.follow(20);"
            "return [full, part, drawing.largest];"
        )
    assert part == pytest.approx(full * np.exp(-0.1), rel=1e-6)
    assert least == pytest.approx(0.5 * full, rel=1e-6)


def test_cameras_look_across_level_ways(browser, reduced):
    with rf.view(reduced, browser=False) as view:
        shown(browser, view)
        found = browser.run(
            f"const {{ camera }} = {PAGE};"
            "return [[0.1, 0, 1], [1, 0, 0.5], [0, 2, 0]].map((way) => {"
            "  camera.across(way); return camera.azimuth; });"
        )
    assert found == [-60, -75, 15]


def test_the_tool_is_named_and_moved_by_keys(browser, touching):
    from selenium.webdriver.common.keys import Keys

    session, mouse = touching
    with rf.view(session, browser=False) as view:
        browser.open(view.address)
        browser.wait(f"{PAGE}?.hand.grip")
        assert "tool (held object)" in browser.run(
            "return document.getElementById('legend').innerText"
        )
        numbers = "document.getElementById('numbers').innerText"
        browser.wait(f"{numbers}.includes('not held')")
        browser.run("document.getElementById('picture').focus();")
        press(browser, "h")
        browser.wait(f"{PAGE}.hand.held")
        browser.wait(f"{numbers}.includes('held by a page')")
        place = np.array(session.snapshot().record["device_position"])
        press(browser, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.PAGE_DOWN)
        way, right, toward, azimuth = browser.run(
            f"const {{ hand, camera }} = {PAGE}, {{ right, toward }} = camera.frame();"
            "return [hand.moved, right, toward, camera.azimuth];"
        )
        assert np.dot(way, right) == pytest.approx(2.0 * np.dot(way, toward))
        assert np.dot(way, toward) > 0.0
        assert azimuth == -60

        def arrived():
            now = np.array(session.snapshot().record["device_position"])
            return np.abs(now - place - way).max() < 1e-6

        wait_until(arrived)
        press(browser, Keys.ARROW_LEFT, shift=True)
        assert browser.run(f"return {PAGE}.hand.turned")[0] < 1.0
        press(browser, Keys.ESCAPE)
        wait_until(lambda: not mouse.held)


def test_fixed_nodes_of_cut_cells_are_drawn_on_the_surface():
    nodes, elements = box_hexes(8, 8, 8, (2.0, 2.0, 2.0))
    ball = rf.Mesh(nodes - 1.0, elements).surface()
    x = np.array(ball.vertices)
    x *= np.abs(x).max(axis=1, keepdims=True) / np.linalg.norm(x, axis=1, keepdims=True)
    mesh = rf.voxelize(rf.Surface(x, ball.triangles), 7)
    fixed = np.flatnonzero(mesh.nodes[:, 2] < -0.6)
    radii = [
        np.linalg.norm(fixed_nodes(mesh, fixed, carried=one)[0].points, axis=1) for one in (0, 1)
    ]
    assert radii[0].max() > 1.05
    assert 0.95 < radii[1].min() <= radii[1].max() < 1.0 + 1e-12
    assert len(radii[0]) == len(radii[1])
