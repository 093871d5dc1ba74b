"""The server of views, as programs other than its pages see it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import socket

import aiohttp
import numpy as np
import pytest

import reducedfem as rf
from page_messages import connected, decoded, receive, run
from reducedfem.viewer import page
from reducedfem.viewer.keys import OneTimeKeys
from shapes import solid_box

pytestmark = pytest.mark.no_asan(reason="sockets and texts, no C code of its own")


@pytest.fixture(scope="module")
def reduced():
    solid = solid_box((4, 1, 1), (0.4, 0.1, 0.1))
    return rf.reduce(solid, rf.modal_derivative_basis(solid, 3, 5))


@pytest.fixture
def view(reduced):
    with rf.view(reduced, browser=False) as shown:
        yield shown


async def status(address, **headers):
    async with aiohttp.ClientSession() as session, session.get(address, headers=headers) as found:
        return found.status, await found.text(), found.headers


def test_it_listens_on_this_machine_only(view):
    addresses = [one.getsockname() for one in listening(view)]
    assert addresses == [("127.0.0.1", view._server.port)]


def listening(view):
    """Return the sockets at which the server listens."""
    (site,) = view._server._runner.sites
    return site._server.sockets


def test_the_page_asks_for_nothing_from_outside(view):
    async def check():
        code, text, headers = await status(view.address)
        assert code == 200
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["Referrer-Policy"] == "no-referrer"
        nonce = re.search(r"'nonce-([\w-]+)'", policy).group(1)
        assert text.count(f'nonce="{nonce}"') == text.count("<script") == 2
        assert not re.search(r"(?:src|href)=\"(?:https?:)?//", text)
        # each page has a nonce of its own
        assert nonce not in (await status(view.address))[1]
        for name in (*(f"{one}.js" for one in page.MODULES), "style.css"):
            code, text, _ = await status(view.address + name)
            assert code == 200
            assert not re.search(r"https?://(?!www\.w3\.org/)", text)

    run(check())


def test_modules_import_modules_that_exist():
    for name in page.MODULES:
        text, _ = page.file(f"{name}.js")
        for imported in re.findall(r'from "([^"]+)"', text):
            assert imported.removeprefix("view/") in page.MODULES


def test_wrong_tokens_hosts_and_files(view):
    base, token = view.address.rstrip("/").rsplit("/", 1)

    async def check():
        assert (await status(f"{base}/{token[:-1]}x/"))[0] == 404
        assert (await status(f"{base}/"))[0] == 404
        assert (await status(f"{base}//"))[0] == 404
        assert (await status(view.address + "nothing.js"))[0] == 404
        assert (await status(view.address + "..%2Fview.py"))[0] == 404
        assert (await status(view.address + "index.html"))[0] == 404
        # a name that another address stands behind
        assert (await status(view.address, Host="evil.example.org"))[0] == 403
        assert (await status(view.address, Host="localhost"))[0] == 200

    run(check())


@pytest.mark.parametrize(
    "origin", ["http://evil.example.org", "null", "http://127.0.0.1:1", "https://127.0.0.1"]
)
def test_other_origins_are_refused(view, origin):
    async def check():
        with pytest.raises(aiohttp.WSServerHandshakeError) as found:
            async with connected(view.address, Origin=origin):
                pass
        assert found.value.status == 403

    run(check())


def test_origins_of_a_proxy_may_be_allowed(reduced):
    async def check(view):
        async with connected(view.address, Origin="https://hub.example.org") as found:
            await receive(found, "scene")

    with rf.view(reduced, origins=["https://hub.example.org/"], browser=False) as view:
        run(check(view))


@pytest.mark.parametrize("message", ["{", '{"kind": "fly"}', b"\0\1", "x" * 20_000])
def test_a_malformed_message_closes_its_connection_and_nothing_else(view, message):
    async def check():
        async with connected(view.address) as good, connected(view.address) as bad:
            await receive(good, "frame")
            await receive(bad, "scene")
            await (bad.send_bytes if isinstance(message, bytes) else bad.send_str)(message)
            while (found := await bad.receive()).type is aiohttp.WSMsgType.BINARY:
                pass
            assert found.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED)
            assert bad.close_code in (1008, 1009)
            for _ in range(3):
                await receive(good, "frame")

    run(check())
    assert not view.closed


def ray_of(scene):
    """Return a ray, from the centre of the scene, to the free end of the bar."""
    box = scene["box"]
    return [float(box[1, 0]) - 0.01, 0.0, 1.0], [0.0, 0.0, -1.0]


def test_one_page_at_a_time_pulls(view):
    async def check():
        async with connected(view.address) as first, connected(view.address) as second:
            origin, direction = ray_of(await receive(first, "scene"))
            await receive(second, "scene")
            pull = {"kind": "pull", "body": 0, "origin": origin, "direction": direction}
            await first.send_str(json.dumps(pull))
            point = (await receive(first, "held"))["point"]
            assert point[2] == pytest.approx(0.05, abs=1e-3)
            # the second one is refused: the body follows the first
            await second.send_str(json.dumps(pull))
            assert (await receive(second, "held"))["point"] is None
            await second.send_str(json.dumps({"kind": "move", "place": [0.0, 0.0, -9.0]}))
            await first.send_str(
                json.dumps({"kind": "move", "place": [point[0], point[1], point[2] + 0.05]})
            )
            while True:
                frame = await receive(second, "frame")
                assert not frame["holds"]
                if (
                    frame["held"]
                    and dict((n, v) for n, v, _ in frame["numbers"]).get("force of the pull", 0) > 0
                ):
                    break
            (arrow,) = frame["arrows"]
            assert arrow["to"][2] == pytest.approx(point[2] + 0.05, abs=1e-6)
            assert arrow["from"][2] < arrow["to"][2]
            await first.close()
            # a page that leaves releases it
            while (await receive(second, "frame"))["held"]:
                pass
            await second.send_str(json.dumps(pull))
            assert (await receive(second, "held"))["point"] is not None

    run(check())


def test_a_page_that_asks_for_a_tool_still_ends_its_pull(view):
    async def check():
        async with connected(view.address) as first, connected(view.address) as second:
            origin, direction = ray_of(await receive(first, "scene"))
            pull = {"kind": "pull", "body": 0, "origin": origin, "direction": direction}
            await first.send_str(json.dumps(pull))
            assert (await receive(first, "held"))["point"] is not None
            await first.send_str('{"kind": "hold"}')  # there is none
            await first.close()
            while (await receive(second, "frame"))["arrows"]:
                pass

    run(check())


def test_the_body_gives_way_by_the_spring_that_is_shown(view, reduced):
    async def check():
        async with connected(view.address) as found:
            scene = await receive(found, "scene")
            origin, direction = ray_of(scene)
            pull = {"kind": "pull", "body": 0, "origin": origin, "direction": direction}
            await found.send_str(json.dumps(pull))
            point = np.array((await receive(found, "held"))["point"])
            place = point + np.array([0.0, 0.0, 0.02])
            await found.send_str(json.dumps({"kind": "move", "place": place.tolist()}))
            while True:
                frame = await receive(found, "frame")
                numbers = {name: value for name, value, _ in frame["numbers"]}
                moved = frame["arrows"] and frame["arrows"][0]["from"][2] > point[2] + 0.005
                if moved and numbers["kinetic energy"] < 1e-6 * numbers["elastic energy"]:
                    return frame, numbers, place

    frame, numbers, place = run(check())
    (arrow,) = frame["arrows"]
    np.testing.assert_allclose(arrow["to"], place, atol=1e-6)
    stretch = np.linalg.norm(arrow["to"] - arrow["from"])
    assert numbers["force of the pull"] == pytest.approx(
        numbers["stiffness of the pull"] * stretch, rel=1e-3
    )
    # three times as stiff as the body: about a quarter of the way is the spring's
    assert 0.2 < stretch / 0.02 < 0.5


def test_commands(view):
    async def check():
        async with connected(view.address) as found:
            await found.send_str('{"kind": "pause"}')
            while (await receive(found, "frame"))["playing"]:
                pass
            await found.send_str('{"kind": "shape", "body": 0, "shape": 1, "value": 0.002}')
            while (await receive(found, "frame"))["bodies"][0]["q"][1] != np.float32(0.002):
                pass
            await found.send_str('{"kind": "step"}')
            while (await receive(found, "frame"))["bodies"][0]["q"][1] == np.float32(0.002):
                pass
            await found.send_str('{"kind": "reset"}')
            while (await receive(found, "frame"))["bodies"][0]["q"].any():
                pass
            await found.send_str('{"kind": "speed", "value": 0.1}')
            await found.send_str('{"kind": "play"}')
            while not (frame := await receive(found, "frame"))["playing"]:
                pass
            assert frame["speed"] == 0.1

    run(check())


def test_no_frame_before_the_last_one_is_confirmed(view):
    async def check():
        async with connected(view.address) as found:
            numbers = []
            while len(numbers) < 1:
                read = decoded((await found.receive()).data)
                if read["kind"] == "frame":
                    numbers.append(read["number"])
            # no answer, no frame: the next message that arrives is the answer to a pull
            await found.send_str('{"kind": "seen", "number": 77}')
            await found.send_str(
                '{"kind": "pull", "body": 0, "origin": [0, 0, 9], "direction": [0, 0, 1]}'
            )
            assert decoded((await found.receive()).data) == {"kind": "held", "point": None}
            await found.send_str(json.dumps({"kind": "seen", "number": numbers[0]}))
            assert decoded((await found.receive()).data)["number"] == numbers[0] + 1

    run(check())


def test_a_browser_is_given_an_address_that_works_once(reduced, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)

    async def check(view):
        (address,) = opened
        token = view.address.rstrip("/").rsplit("/", 1)[1]
        assert token not in address  # other users see the arguments of programs
        async with aiohttp.ClientSession() as session:
            assert (await session.head(address)).status == 404  # and no use of it
            async with session.get(address, allow_redirects=False) as found:
                assert found.status == 303
                assert found.headers["Location"] == f"/{token}/"
                assert found.headers["Cache-Control"] == "no-store"
                assert found.headers["Referrer-Policy"] == "no-referrer"
        assert (await status(address))[0] == 404
        again = view._server.address_once(view._channel)
        assert (await status(again, Host="evil.example.org"))[0] == 403
        assert (await status(again))[0] == 404
        code, text, _ = await status(view._server.address_once(view._channel))
        assert code == 200
        assert "<canvas" in text

    with rf.view(reduced, browser=True) as view:
        run(check(view))


def test_keys_are_valid_for_their_life():
    now = [100.0]
    keys = OneTimeKeys(60.0, lambda: now[0])
    first, second = keys.make("a"), keys.make("b")
    now[0] += 59.0
    assert keys.use(first) == "a"
    assert keys.use(first) is None
    now[0] += 2.0
    assert keys.use(second) is None
    assert keys.use("x") is None


def test_closing_disconnects_and_forgets(reduced):
    async def check(view):
        async with connected(view.address) as found:
            await receive(found, "frame")
            closing = asyncio.get_running_loop().run_in_executor(None, view.close)
            while (await found.receive()).type is aiohttp.WSMsgType.BINARY:
                pass
            assert found.close_code == 1000
            await closing
        assert (await status(view.address))[0] == 404

    view = rf.view(reduced, browser=False)
    run(check(view))
    view.close()
    assert view.closed
    assert repr(view) == "<View: closed>"
    assert not view._shown._drive._thread.is_alive()


def test_closing_does_not_wait_for_a_page_that_hangs(reduced):
    async def check(view):
        async with connected(view.address) as found:
            await receive(found, "frame")
            # reads nothing, confirms nothing
            await asyncio.get_running_loop().run_in_executor(None, view.close)

    view = rf.view(reduced, browser=False)
    run(check(view))
    assert view.pages == 0


def test_a_port_in_use_is_refused(reduced):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(rf.InputError, match=rf"port {port} of 127.0.0.1 cannot be used: \w"):
            rf.view(reduced, port=port, browser=False)


def test_a_forked_process_has_a_server_of_its_own(view, reduced):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            other = rf.view(reduced, browser=False)
            os.write(write, str(other._server.port).encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as file:
        port = file.read()
    assert port
    assert int(port) != view._server.port
