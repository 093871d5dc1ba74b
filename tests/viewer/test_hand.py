"""Tools of sessions that pages hold: pointer, wheel, keys, gamepad, owners, silence."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import subprocess
import sys

import numpy as np
import pytest

import reducedfem as rf
from bridges import ball_on_a_floor
from browser import open_browser
from moments import wait_until
from page_messages import connected, receive, run
from places import ROOT
from reducedfem.viewer.shown_contact import ShownSession
from turns import back, product, rotate, turned

pytestmark = pytest.mark.no_asan(reason="runs a browser and sockets, no C code of its own")

HOLD = '{"kind": "hold"}'
START = rf.Workspace(start=((0.0, 0.0, 0.03), (1.0, 0.0, 0.0, 0.0)))
PAGE = "window.reducedfem"


@pytest.fixture(scope="module")
def browser():
    with open_browser(width=700, height=560) as opened:
        yield opened
        assert opened.errors() == []


@pytest.fixture
def mouse():
    return rf.MouseDevice()


@pytest.fixture
def session(mouse):
    """Return a session of a ball above a floor, whose thread runs."""
    coupling = rf.VirtualCoupling(500.0, 1.0)
    with rf.HapticSession(
        ball_on_a_floor(), mouse, coupling=coupling, workspace=START, priority=0, lock_memory=False
    ) as made:
        yield made


@pytest.fixture
def view(session):
    wait_until(lambda: session.report().ticks)
    with rf.view(session, browser=False) as shown:
        yield shown


def at(session):
    return np.array(session.snapshot().record["device_position"])


def silent(session):
    shot = session.snapshot()
    return shot.record["flags"] & 4 and not shot.force.any()


# ---- as other programs see it


def hand(moved, turn=(1.0, 0.0, 0.0, 0.0), buttons=0):
    return json.dumps({"kind": "hand", "moved": moved, "turned": list(turn), "buttons": buttons})


@contextlib.asynccontextmanager
async def beating(page):
    """Send unchanged motions of a page, which otherwise counts as one that hangs."""

    async def beat():
        while True:
            await page.send_str(hand([0.0, 0.0, 0.0]))
            await asyncio.sleep(0.02)

    beats = asyncio.create_task(beat())
    try:
        yield
    finally:
        beats.cancel()


def test_one_page_holds_the_tool(view, session, mouse):
    async def check():
        async with connected(view.address) as first, connected(view.address) as second:
            assert (await receive(first, "scene"))["tool"] == 1
            assert (await receive(second, "scene"))["pulls"] is False
            await first.send_str(HOLD)
            while not (await receive(first, "frame"))["holds"]:
                pass
            # the second page cannot hold it, and its motions are ignored
            async with beating(first):
                await second.send_str(HOLD)
                await second.send_str(hand([0.0, 0.0, 1.0]))
                while not (frame := await receive(second, "frame"))["held"]:
                    pass
                assert not frame["holds"]
            place = at(session)
            while abs(at(session)[0] - place[0] - 0.02) > 1e-4:
                await first.send_str(hand([0.02, 0.0, 0.0], buttons=2))
                await asyncio.sleep(0.01)
            assert session.snapshot().record["buttons"] == 2
            assert at(session)[2] < 0.1
            frame = await receive(first, "frame")
            lead = frame["arrows"][-1]
            assert lead["thick"] < 1.0
            # a page that leaves without a word releases it
            await first.close()
            while not (await receive(second, "frame"))["holds"]:
                await second.send_str(HOLD)
            assert mouse.held

    run(check())
    wait_until(lambda: not mouse.held)


def test_a_page_that_hangs_is_a_silent_device(view, session):
    async def press(found):
        while session.snapshot().force[2] < 0.5:
            await receive(found, "frame")
            await found.send_str(hand([0.0, 0.0, -0.02]))

    async def check():
        async with connected(view.address) as found:
            await found.send_str(HOLD)
            while not (await receive(found, "frame"))["holds"]:
                pass
            await press(found)
            # connected, and quiet
            while not silent(session):
                await asyncio.sleep(0.01)
            rest = at(session)
            await press(found)
            assert abs(at(session) - rest).max() < 0.01

    run(check())


def test_another_page_takes_the_tool_of_one_that_hangs(view, session, mouse):
    async def check():
        async with connected(view.address) as first, connected(view.address) as second:
            await first.send_str(HOLD)
            while not (await receive(first, "frame"))["holds"]:
                pass
            place = at(session)
            # the first page sends no motions
            while not (frame := await receive(second, "frame"))["holds"]:
                if not frame["held"]:
                    await second.send_str(HOLD)
            while (await receive(first, "frame"))["holds"]:
                pass
            await first.send_str(hand([0.0, 0.0, 1.0]))
            while abs(at(session)[0] - place[0] - 0.02) > 1e-4:
                await second.send_str(hand([0.02, 0.0, 0.0]))
                await asyncio.sleep(0.01)
            assert abs(at(session)[2] - place[2]) < 0.01
            assert (await receive(first, "frame"))["held"]

    run(check())
    wait_until(lambda: not mouse.held)


def test_two_views_of_a_session_share_its_tool(view, session, mouse):
    async def check(other):
        async with connected(view.address) as first, connected(other.address) as second:
            await first.send_str(HOLD)
            while not (await receive(first, "frame"))["holds"]:
                pass
            async with beating(first):
                await second.send_str(HOLD)
                while not (frame := await receive(second, "frame"))["taken"]:
                    pass
                assert not frame["holds"]
                assert not (await receive(first, "frame"))["taken"]
            # the first page hangs: the second one takes the tool
            while not (await receive(second, "frame"))["holds"]:
                await second.send_str(HOLD)
            while (frame := await receive(first, "frame"))["holds"]:
                await first.send_str(hand([0.0, 0.0, 1.0]))
            assert frame["taken"]

    with rf.view(session, browser=False) as other:
        run(check(other))
    assert not mouse.held


def test_motions_in_the_world_are_those_of_the_device_in_its_axes(mouse):
    """Half a metre of the device is a metre of the world; its axes are turned."""
    axes = turned(np.array([0.3, -0.5, 0.8]))
    place = rf.Workspace(start=START.start, scale=0.5, alignment=tuple(axes))
    coupling = rf.VirtualCoupling(500.0, 1.0)
    made = rf.HapticSession(
        ball_on_a_floor(), mouse, coupling=coupling, workspace=place, budget_us=0.0
    )
    shown = ShownSession(made, "z")
    made.run(1)
    assert shown.hold()
    made.run(1)
    way, turn = np.array([0.01, 0.02, 0.03]), turned(np.array([0.4, 0.1, -0.2]))
    for _ in range(600):
        shown.hand(way.tolist(), turn.tolist(), 0)
        record = made.run(1).array[0]
    np.testing.assert_allclose(record["hand_position"], np.add(way, [0, 0, 0.03]), atol=1e-6)
    np.testing.assert_allclose(record["hand_quaternion"], turn, atol=1e-6)
    np.testing.assert_allclose(record["device_position"], 0.5 * rotate(back(axes), way), atol=1e-6)
    own = product(product(back(axes), turn), axes)
    np.testing.assert_allclose(record["device_quaternion"], own, atol=1e-6)
    # the line to the pointer is in the world
    shown.hand(np.add(way, [0.1, 0.0, 0.0]).tolist(), turn.tolist(), 0)
    made.run(1)
    lead = shown.frame()["arrows"][-1]
    np.testing.assert_allclose(lead["to"], np.add(way, [0.1, 0.0, 0.03]), atol=1e-4)
    shown.end()
    assert not mouse.held
    made.close()


def test_other_devices_are_only_watched():
    device = rf.ReplayDevice([0.0], [[0.0, 0.0, 0.03]])
    made = rf.HapticSession(ball_on_a_floor(), device, coupling=rf.VirtualCoupling(500.0, 1.0))
    shown = ShownSession(made, "z")
    assert shown.scene().tool is None
    assert not shown.hold()
    shown.hand([0, 0, 0], [1, 0, 0, 0], 0)
    shown.end()
    made.close()


# ---- as users see it


def opened(browser, view):
    """Open the page, press its button, and wait until it holds the tool."""
    browser.open(view.address)
    browser.wait(f"{PAGE}?.hand.grip")
    browser.driver.find_element("css selector", "#hand button.main").click()
    browser.wait(f"{PAGE}.hand.held")


def gesture(browser):
    from selenium.webdriver.common.action_chains import ActionChains

    return ActionChains(browser.driver, duration=10)


def grip(browser):
    """Return the grip in pixels from the middle of the picture, and metres per pixel there."""
    right, up, scale = browser.run(
        f"const page = {PAGE}, {{ camera, hand }} = page, c = document.getElementById('picture');"
        "const aspect = c.clientWidth / c.clientHeight, far = camera.distance(aspect);"
        "const { right, up, toward } = camera.frame();"
        "const way = hand.grip.map((x, k) => x - camera.centre[k]);"
        "const part = (axis) => way.reduce((sum, x, k) => sum + x * axis[k], 0);"
        "const scale = (2 * camera.half(aspect) * (far - part(toward))) / far / c.clientHeight;"
        "return [part(right) / scale, -part(up) / scale, scale];"
    )
    return round(right), round(up), scale


def test_a_drag_moves_the_tool_in_the_plane_of_the_picture(browser, view, session):
    opened(browser, view)
    picture = browser.driver.find_element("id", "picture")
    x, y, scale = grip(browser)
    place = at(session)
    frame = browser.run(f"const {{ right, up, toward }} = {PAGE}.camera.frame();"
                        "return [right, up, toward]")  # fmt: skip
    chain = gesture(browser).move_to_element_with_offset(picture, x, y).click_and_hold()
    chain.move_by_offset(30, -20).move_by_offset(30, -20).perform()
    way = np.linalg.norm(browser.run(f"return {PAGE}.hand.moved"))
    wait_until(lambda: abs(np.linalg.norm(at(session) - place) - way) < 1e-6)
    right, up, toward = np.array(frame) @ (at(session) - place)
    assert abs(toward) < 1e-5
    # the ball has 20 mm, and the pointer is on its surface, nearer than the grip
    assert right / scale == pytest.approx(60.0, rel=0.15)
    assert up / scale == pytest.approx(40.0, rel=0.15)
    assert right / up == pytest.approx(1.5, rel=0.03)
    # the camera stays; a drag beside the tool turns it
    assert browser.run(f"return {PAGE}.camera.azimuth") == -60
    gesture(browser).release().move_to_element_with_offset(picture, -250, 100).perform()
    gesture(browser).click_and_hold().move_by_offset(30, 0).release().perform()
    assert browser.run(f"return {PAGE}.camera.azimuth") != -60
    assert (
        np.abs(at(session) - place - right * np.array(frame[0]) - up * np.array(frame[1])).max()
        < 1e-4
    )


def touch(browser, *fingers):
    """Move fingers in step: to pixels from the middle of the picture, "Down", "Up", or None."""
    from selenium.webdriver.remote.command import Command

    picture = browser.driver.find_element("id", "picture")

    def action(one):
        if one is None:
            return {"type": "pause", "duration": 0}
        if isinstance(one, str):
            return {"type": f"pointer{one}", "button": 0}
        return {"type": "pointerMove", "origin": picture, "x": one[0], "y": one[1], "duration": 0}

    sources = [
        {
            "type": "pointer",
            "id": f"finger {k}",
            "parameters": {"pointerType": "touch"},
            "actions": [action(one) for one in steps],
        }
        for k, steps in enumerate(fingers)
    ]
    browser.driver.execute(Command.W3C_ACTIONS, {"actions": sources})


def test_a_finger_beside_the_tool_is_of_the_camera(browser, view):
    """It is lifted while another finger is on the tool; afterwards one finger turns the camera."""
    opened(browser, view)
    x, y, _ = grip(browser)
    beside = (-250, 100)
    touch(
        browser,
        [beside, "Down", None, None, "Up", None],
        [None, None, (x, y), "Down", None, "Up"],
    )
    camera = f"const {{ camera }} = {PAGE}; return [[...camera.centre], camera.azimuth]"
    centre, azimuth = browser.run(camera)
    assert azimuth == -60
    assert browser.run(f"return {PAGE}.hand.pointer === null")
    touch(browser, [beside, "Down", (-220, 100), "Up"])
    now = browser.run(camera)
    assert now[0] == centre
    assert now[1] != azimuth


def test_contact_holds_the_tool_back_until_the_page_is_closed(browser, view, session, mouse):
    opened(browser, view)
    browser.run(f"{PAGE}.camera.along(1)")
    picture = browser.driver.find_element("id", "picture")
    x, y, scale = grip(browser)
    chain = gesture(browser).move_to_element_with_offset(picture, x, y).click_and_hold()
    for _ in range(4):
        chain.move_by_offset(0, round(0.005 / scale))
    chain.perform()
    wait_until(lambda: session.snapshot().force[2] > 0.5)
    # force, and the line to the pointer
    browser.wait(f"{PAGE}.frame.arrows.length === 2")
    browser.open("about:blank")
    wait_until(lambda: not mouse.held)
    wait_until(lambda: silent(session))


def test_wheel_and_keys(browser, view, session):
    from selenium.webdriver.common.action_chains import ScrollOrigin
    from selenium.webdriver.common.keys import Keys

    opened(browser, view)
    picture = browser.driver.find_element("id", "picture")
    x, y, _ = grip(browser)
    toward = np.array(browser.run(f"return {PAGE}.camera.frame().toward"))
    zoom = browser.run(f"return {PAGE}.camera.zoom")
    place = at(session)
    over = ScrollOrigin.from_element(picture, x, y)
    gesture(browser).scroll_from_origin(over, 0, 120).perform()
    browser.wait(f"{PAGE}.hand.moved[2] !== 0")
    way = np.array(browser.run(f"return {PAGE}.hand.moved"))
    assert way @ toward == pytest.approx(np.linalg.norm(way))
    wait_until(lambda: np.abs(at(session) - place - way).max() < 1e-6)
    assert browser.run(f"return {PAGE}.camera.zoom") == zoom
    # shift turns about the axes of the picture
    chain = gesture(browser).move_to_element_with_offset(picture, x, y).key_down(Keys.SHIFT)
    chain.click_and_hold().move_by_offset(40, 0).release().key_up(Keys.SHIFT).perform()
    turn = browser.run(f"return {PAGE}.hand.turned")
    up = np.array(browser.run(f"return {PAGE}.camera.frame().up"))
    height = browser.run("return document.getElementById('picture').clientHeight")
    assert 2.0 * np.arctan2(np.dot(turn[1:], up), turn[0]) == pytest.approx(
        40 * np.pi / height, rel=1e-6
    )

    def quaternion():
        return np.array(session.snapshot().record["device_quaternion"])

    wait_until(lambda: np.abs(quaternion() - turn).max() < 1e-6)
    # the tool is turned by what is missing in the picture
    w, xyz = turn[0], turn[1:]
    browser.wait(
        f"Math.max(...{PAGE}.drawing.bodies[1].turn.map("
        f"(one, k) => Math.abs(one - {[*xyz, w]}[k]))) < 1e-6"
    )
    gesture(browser).send_keys("u").perform()
    wait_until(lambda: np.abs(np.abs(quaternion()) - [1, 0, 0, 0]).max() < 1e-5)
    gesture(browser).send_keys(Keys.ESCAPE).perform()
    browser.wait(f"!{PAGE}.hand.held && !{PAGE}.frame.holds")
    gesture(browser).send_keys("h").perform()
    browser.wait(f"{PAGE}.hand.held")


def test_a_gamepad_moves_the_tool(browser, view, session):
    opened(browser, view)
    place = at(session)
    browser.run(
        "const value = (one) => ({ value: one });"
        "navigator.getGamepads = () => [null, { connected: true, axes: [0.5, 0.1, 0, 0],"
        "buttons: [value(1), value(0), value(1)] }];"
    )
    right = np.array(browser.run(f"return {PAGE}.camera.frame().right"))
    wait_until(lambda: (at(session) - place) @ right > 0.01)
    browser.run("navigator.getGamepads = () => []")
    assert session.records().array["buttons"].max() == 5
    way = at(session) - place
    # less than 0.15 of the way of a stick does not count
    assert np.abs(way - right * (way @ right)).max() < 1e-6


def test_another_page_holds_the_tool(browser, view):
    async def check():
        async with connected(view.address) as other:
            await other.send_str(HOLD)
            while not (await receive(other, "frame"))["holds"]:
                pass
            loop = asyncio.get_running_loop()

            def look():
                browser.open(view.address)
                browser.wait(f"{PAGE}?.hand.note.textContent === 'Another page holds the tool.'")
                assert browser.run(f"return {PAGE}.hand.take.disabled")

            async with beating(other):
                await loop.run_in_executor(None, look)
            await other.close()
            await loop.run_in_executor(
                None, lambda: browser.wait(f"!{PAGE}.hand.take.disabled && {PAGE}.hand.note.hidden")
            )

    run(check())


# ---- from the command line


def test_a_scene_is_played_until_its_page_is_closed():
    """`--device mouse` opens the view; the report follows."""
    command = [sys.executable, "-m", "reducedfem", "haptics", "peg", "--device", "mouse"]
    with subprocess.Popen(
        [*command, "--points", "400", "--resolution", "16"], stdout=subprocess.PIPE, text=True
    ) as program:
        lines = iter(program.stdout.readline, "")
        address = next(one for one in lines if one.startswith("view: ")).split()[1]
        assert "'Hold the tool' lets the pointer move it; closing the page" in next(lines)

        async def play():
            async with connected(address) as found:
                assert (await receive(found, "scene"))["tool"] == 1
                await found.send_str(HOLD)
                first = None
                while True:
                    frame = await receive(found, "frame")
                    if not frame["holds"] or "grip" not in frame:
                        continue
                    await found.send_str(hand([0.0, 0.0, 0.01]))
                    first = frame["grip"] if first is None else first
                    if frame["grip"][2] - first[2] > 0.009:
                        return

        run(play())
        said = "".join(lines)
    assert program.returncode == 0
    assert "the page was closed, " in said
    assert re.search(r"device +mouse", said)


def test_the_script_of_the_docs_plays_a_scene(tmp_path):
    page = (ROOT / "docs" / "devices.md").read_text()
    (script,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "play.py").write_text(script)
    with subprocess.Popen(
        [sys.executable, tmp_path / "play.py"], stdout=subprocess.PIPE, text=True
    ) as program:
        address = program.stdout.readline().split()[1]

        async def leave():
            async with connected(address) as found:
                assert (await receive(found, "scene"))["tool"] == 1

        run(leave())
    assert program.returncode == 0
