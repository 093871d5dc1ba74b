"""Server of views: pages and sockets on one port of the local machine.

One thread with an event loop serves all views of the process. Each view has a secret token, with
which its addresses begin; addresses within pages are relative, so that proxies may add a prefix.
A page gets the scene, then frames: a new one only after it has confirmed the last one, and always
the newest, so slow pages see fewer frames and delay no others.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import hmac
import os
import secrets
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from reducedfem.errors import InputError, MissingPackageError, ReducedFEMError
from reducedfem.viewer import messages, page
from reducedfem.viewer.keys import OneTimeKeys
from reducedfem.viewer.parts import moved
from reducedfem.viewer.shown import Shown

if TYPE_CHECKING:
    from aiohttp import web

__all__ = ["Channel", "Server", "require_aiohttp", "server"]

HOST = "127.0.0.1"
_LOCAL = ("127.0.0.1", "localhost", "[::1]")
_SILENT = 30.0  # s without a confirmation, after which a page no longer pulls
_GRACE = 3.0  # s in which a page may come back, as after a reload
_FAREWELL = 1.0  # s in which a page confirms that it is disconnected
_KEY_LIFE = 60.0  # s in which a browser that was started asks for its page
_MOST_PAGES = 32  # that watch one view
_REFUSED = 1008  # code of WebSocket: policy violation


def require_aiohttp() -> None:
    """Raise `MissingPackageError` if there can be no server."""
    try:
        import aiohttp as _  # noqa: F401
    except ImportError as error:
        raise MissingPackageError(
            "views need aiohttp, which is not installed: pip install 'reducedfem[view]'"
        ) from error


def _reason(error: BaseException) -> bytes:
    """Return the text of an error as the reason of a closed socket, at most 123 bytes."""
    return str(error).encode()[:120].decode(errors="ignore").encode()


class _Page:
    """A page that is connected."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self.socket = socket
        self.confirmed = asyncio.Event()
        self.confirmed.set()
        self.sent = 0
        self.version = -1  # of its scene
        self.holds = False
        self.leaving = asyncio.Event()
        self.gone = asyncio.Event()


class Channel:
    """Pages that watch what a view shows; used in the thread of the server."""

    def __init__(self, shown: Shown, origins: Sequence[str]) -> None:
        self.token = secrets.token_urlsafe(16)
        self.shown = shown
        self.origins = tuple(origins)
        self._scene, self._version = b"", -1
        self._centre, self._middles = np.zeros(3), np.zeros((0, 3))
        self._pages: set[_Page] = set()
        self._making = asyncio.Lock()
        self._closed = False
        self._threads = concurrent.futures.ThreadPoolExecutor(4, "reducedfem page")
        self.joined = threading.Event()  # there has been a page
        self.left = threading.Event()  # the last page has gone, and has not come back

    @property
    def pages(self) -> int:
        """Number of pages that are connected."""
        return len(self._pages)

    async def _send_scene(self, one: _Page) -> None:
        one.version = self.shown.version
        await one.socket.send_bytes(await self.scene())

    async def scene(self) -> bytes:
        """Return the message of the present scene; the first page waits for it."""
        async with self._making:
            wanted = self.shown.version  # before it may change
            if self._version != wanted:
                loop = asyncio.get_running_loop()
                scene = await loop.run_in_executor(self._threads, self.shown.scene)
                self._centre, self._middles = scene.centre, scene.middles
                self._scene = await loop.run_in_executor(
                    self._threads, lambda: messages.encode(scene.described())
                )
                self._version = wanted
            return self._scene

    def _frame(self, number: int, holds: bool, held: bool) -> bytes | None:
        frame = self.shown.frame()
        if frame is None:
            return None
        arrows = [
            {**one, "from": one["from"] - self._centre, "to": one["to"] - self._centre}
            for one in frame["arrows"]
        ]
        dots = [{**one, "points": one["points"] - self._centre} for one in frame.get("dots", ())]
        placed: dict[str, Any] = {}
        if "grip" in frame:
            placed["grip"] = frame["grip"] - self._centre
        if "places" in frame:
            n = len(frame["places"])
            placed["places"] = moved(self._centre, self._middles[:n], frame["places"])
        return messages.encode(
            {
                **frame,
                **placed,
                "bodies": [self._placed(k, one) for k, one in enumerate(frame["bodies"])],
                "dots": dots,
                "kind": "frame",
                "number": number,
                "arrows": arrows,
                "pages": self.pages,
                "holds": holds,
                "held": held,
            }
        )

    def _placed(self, k: int, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a body of a frame with its place from the centre of the scene."""
        if "position" not in body:
            return body
        place = np.concatenate([body["position"], body["quaternion"]])
        found = moved(self._centre, self._middles[k], place[None])[0]
        return {**body, "position": found[:3], "quaternion": found[3:]}

    async def follow(self, one: _Page) -> None:
        """Send frames to a page until it has gone."""
        loop = asyncio.get_running_loop()
        while not one.socket.closed:
            begun = loop.time()
            try:
                await asyncio.wait_for(one.confirmed.wait(), _SILENT)
            except asyncio.TimeoutError:
                self._release(one)
                continue
            if one.version != self.shown.version:
                await self._send_scene(one)
            one.confirmed.clear()
            one.sent += 1
            held = any(other.holds for other in self._pages) and not self.shown.idle
            data = await loop.run_in_executor(self._threads, self._frame, one.sent, one.holds, held)
            if data is None:
                return
            await one.socket.send_bytes(data)
            await asyncio.sleep(max(0.0, self.shown.period - (loop.time() - begun)))

    async def serve(self, socket: web.WebSocketResponse) -> None:
        """Talk to a page until it has gone."""
        if self._closed or len(self._pages) >= _MOST_PAGES:
            reason = b"The view was closed." if self._closed else b"Too many pages watch this view."
            await socket.close(code=_REFUSED, message=reason)
            return
        one = _Page(socket)
        self._pages.add(one)
        self.left.clear()
        self.joined.set()
        self.shown.watch(True)
        leaving = asyncio.create_task(one.leaving.wait())
        frames: asyncio.Task[None] | None = None
        try:
            await self._send_scene(one)
            frames = asyncio.create_task(self.follow(one))
            await self._listen(one, leaving, frames)
        except ReducedFEMError as error:
            await socket.close(code=_REFUSED, message=_reason(error))
        finally:
            tasks = [task for task in (frames, leaving) if task is not None]
            for task in tasks:
                task.cancel()
            self._release(one)
            self._pages.discard(one)
            one.gone.set()
            if not self._pages:
                self.shown.watch(False)
                asyncio.get_running_loop().call_later(_GRACE, self._notice)
            # their failures have been noticed, or no longer matter
            await asyncio.gather(*tasks, return_exceptions=True)

    def _notice(self) -> None:
        if not self._pages:
            self.left.set()

    async def _listen(
        self, one: _Page, leaving: asyncio.Task[bool], frames: asyncio.Task[None]
    ) -> None:
        """Follow the messages of a page until it has gone, one is malformed, or it must leave."""
        from aiohttp import WSMsgType

        while True:
            # only the task that receives may close: another one would cut the closing message off
            receiving = asyncio.create_task(one.socket.receive())
            ends: set[asyncio.Task[Any]] = (
                {leaving} if frames.done() and not frames.exception() else {leaving, frames}
            )
            await asyncio.wait({receiving, *ends}, return_when=asyncio.FIRST_COMPLETED)
            failure = frames.exception() if frames.done() else None
            if leaving.done() or failure is not None:
                receiving.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await receiving
                text = b"The view was closed." if failure is None else _reason(failure)
                await one.socket.close(message=text)
                return
            if not receiving.done():
                receiving.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await receiving
                continue
            message = receiving.result()
            if message.type in (WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED):
                return
            if message.type is not WSMsgType.TEXT:
                await one.socket.close(code=_REFUSED, message=b"messages of pages are texts")
                return
            try:
                await self._handle(one, messages.decode(message.data))
            except ReducedFEMError as error:
                await one.socket.close(code=_REFUSED, message=_reason(error))
                return

    def _release(self, one: _Page) -> None:
        if one.holds:
            one.holds = False
            self.shown.release()

    async def _handle(self, one: _Page, message: dict[str, Any]) -> None:
        kind = message["kind"]
        if kind == "seen":
            if message["number"] == one.sent:
                one.confirmed.set()
        elif kind == "pull":
            # one page at a time pulls
            if any(other.holds for other in self._pages):
                await one.socket.send_bytes(messages.encode({"kind": "held", "point": None}))
                return
            one.holds = True
            origin = np.array(message["origin"], dtype=float) + self._centre
            direction = np.array(message["direction"], dtype=float)
            loop = asyncio.get_running_loop()
            point = await loop.run_in_executor(
                self._threads, self.shown.pull, message["body"], origin, direction
            )
            one.holds = point is not None
            answer = None if point is None else [float(x) for x in point - self._centre]
            await one.socket.send_bytes(messages.encode({"kind": "held", "point": answer}))
        elif kind == "hold":
            others = [other for other in self._pages if other.holds and other is not one]
            if others and not self.shown.idle:
                return
            if self.shown.hold():
                for other in others:
                    other.holds = False
                one.holds = True
            else:
                self._release(one)  # it may pull
        elif kind == "hand":
            if one.holds:
                one.holds = self.shown.hand(message["moved"], message["turned"], message["buttons"])
        elif kind == "move":
            if one.holds:
                self.shown.move(np.array(message["place"], dtype=float) + self._centre)
        elif kind == "release":
            self._release(one)
        else:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._threads, self.shown.command, message)

    async def close(self) -> None:
        """Disconnect all pages."""
        self._closed = True
        for one in tuple(self._pages):
            one.leaving.set()
        for one in tuple(self._pages):
            # pages that hang do not answer
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(one.gone.wait(), 2.0 * _FAREWELL)
        self.left.set()
        self._threads.shutdown(wait=False)


class Server:
    """HTTP server in a thread of its own."""

    def __init__(self, port: int) -> None:
        require_aiohttp()
        self._channels: dict[str, Channel] = {}
        self._keys = OneTimeKeys(_KEY_LIFE)
        self._loop = asyncio.new_event_loop()
        self._wanted, self.port = port, 0
        self._pid = os.getpid()
        ready: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._thread = threading.Thread(
            target=self._run, args=(ready,), name="reducedfem server", daemon=True
        )
        self._thread.start()
        ready.result()

    def _run(self, ready: concurrent.futures.Future[None]) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._begin())
            ready.set_result(None)
            self._loop.run_forever()
        except OSError as error:
            self._loop.run_until_complete(self._runner.cleanup())
            ready.set_exception(
                InputError(f"port {self._wanted} of {HOST} cannot be used: {error.strerror}")
            )
        except BaseException as error:
            ready.set_exception(error)
        finally:
            self._loop.close()

    async def _begin(self) -> None:
        from aiohttp import web

        application = web.Application()
        application.router.add_get("/open/{key}", self._open, allow_head=False)
        application.router.add_get("/{token}/", self._index)
        application.router.add_get("/{token}/socket", self._socket)
        application.router.add_get("/{token}/{name}", self._file)
        self._runner = web.AppRunner(application, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, HOST, self._wanted)
        await site.start()
        self.port = self._runner.addresses[0][1]

    @property
    def origin(self) -> str:
        """Beginning of all addresses."""
        return f"http://{HOST}:{self.port}"

    @property
    def alive(self) -> bool:
        """True in the process that made it, while its thread runs."""
        return self._pid == os.getpid() and self._thread.is_alive()

    def open(self, shown: Shown, origins: Sequence[str]) -> Channel:
        """Return a channel for what a view shows."""

        async def make() -> Channel:
            made = Channel(shown, origins)
            self._channels[made.token] = made
            return made

        return asyncio.run_coroutine_threadsafe(make(), self._loop).result()

    def address_once(self, channel: Channel) -> str:
        """Return an address that leads to the page of a channel, once and for a minute."""
        return f"{self.origin}/open/{self._keys.make(channel.token)}"

    def close(self, channel: Channel) -> None:
        """Disconnect the pages of a channel and forget it."""

        async def end() -> None:
            if self._channels.pop(channel.token, None) is not None:
                await channel.close()

        if self.alive:
            asyncio.run_coroutine_threadsafe(end(), self._loop).result()

    def end(self) -> None:
        """End the thread."""
        if not self.alive:
            return

        async def clean() -> None:
            for channel in tuple(self._channels.values()):
                await channel.close()
            await self._runner.cleanup()

        with contextlib.suppress(concurrent.futures.TimeoutError, RuntimeError):
            asyncio.run_coroutine_threadsafe(clean(), self._loop).result(5.0)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5.0)

    def _channel(self, request: web.Request) -> Channel:
        return self._found(request, request.match_info["token"])

    def _found(self, request: web.Request, token: str) -> Channel:
        from aiohttp import web

        given = token.encode()
        found = [
            one for one in self._channels.values() if hmac.compare_digest(one.token.encode(), given)
        ]
        if not found:
            raise web.HTTPNotFound(text="There is no such view; it may have been closed.")
        channel = found[0]
        try:
            host = urlsplit(f"//{request.headers.get('Host', '')}")
        except ValueError:
            raise web.HTTPForbidden(text="The address of the page is not allowed.") from None
        if f"{host.hostname}" not in (*(x.strip("[]") for x in _LOCAL), *_hosts(channel.origins)):
            raise web.HTTPForbidden(text="The address of the page is not allowed.")
        return channel

    async def _open(self, request: web.Request) -> web.Response:
        from aiohttp import web

        token = self._keys.use(request.match_info["key"])
        if token is None:
            raise web.HTTPNotFound(
                text="This address was used before, or is older than a minute. The address of the "
                "view is that of its attribute `address`, which was printed, too."
            )
        channel = self._found(request, token)
        return web.Response(
            status=303,
            headers={
                "Location": f"/{channel.token}/",
                "Cache-Control": "no-store",
                "Referrer-Policy": "no-referrer",
            },
        )

    async def _index(self, request: web.Request) -> web.Response:
        from aiohttp import web

        channel = self._channel(request)
        nonce = secrets.token_urlsafe(16)
        frames = " ".join(("http://127.0.0.1:*", "http://localhost:*", *channel.origins))
        return web.Response(
            text=page.index(nonce),
            content_type="text/html",
            headers={
                "Content-Security-Policy": page.policy(nonce, frames),
                "Cache-Control": "no-store",
                "Referrer-Policy": "no-referrer",
                "X-Content-Type-Options": "nosniff",
            },
        )

    async def _file(self, request: web.Request) -> web.Response:
        from aiohttp import web

        self._channel(request)
        found = page.file(request.match_info["name"])
        if found is None:
            raise web.HTTPNotFound
        text, kind = found
        return web.Response(
            text=text,
            content_type=kind,
            headers={"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"},
        )

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        channel = self._channel(request)
        if not self._allowed(request.headers.get("Origin"), channel.origins):
            raise web.HTTPForbidden(text="The origin of the page is not allowed.")
        socket = web.WebSocketResponse(
            timeout=_FAREWELL, max_msg_size=messages.LONGEST, compress=False
        )
        await socket.prepare(request)
        with contextlib.suppress(ConnectionError):
            await channel.serve(socket)
        return socket

    def _allowed(self, origin: str | None, others: Sequence[str]) -> bool:
        """Return True for pages of this server; browsers always send their origin."""
        return origin in {f"http://{host}:{self.port}" for host in _LOCAL} | set(others)


def _hosts(origins: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{urlsplit(one).hostname}" for one in origins)


_servers: dict[int, Server] = {}
_starting = threading.Lock()


def server(port: int) -> Server:
    """Return the server at a port, 0: any, which starts if there is none."""
    with _starting:
        found = _servers.get(port)
        if found is None or not found.alive:
            found = _servers[port] = Server(port)
        return found


@atexit.register
def _end_all() -> None:
    for one in _servers.values():
        one.end()
