"""Programs that talk to a view as its pages do."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import re
import struct
import zlib
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import aiohttp
import numpy as np

TYPES = {"f4": np.float32, "i4": np.int32, "u1": np.uint8}


def decoded(data: bytes) -> Any:
    """Return a message as a page reads it."""
    assert data[:4] == b"RFV1"
    (size,) = struct.unpack_from("<I", data, 4)
    assert size % 4 == 0

    def filled(value: Any) -> Any:
        if isinstance(value, list):
            return [filled(one) for one in value]
        if not isinstance(value, dict):
            return value
        if "at" not in value:
            return {key: filled(one) for key, one in value.items()}
        assert value["at"] % 4 == 0
        count = int(np.prod(value["shape"]))
        found = np.frombuffer(data, TYPES[value["type"]], count, 8 + size + value["at"])
        return found.reshape(value["shape"])

    return filled(json.loads(data[8 : 8 + size]))


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Return the result of a coroutine; a test that hangs fails."""
    return asyncio.run(asyncio.wait_for(coroutine, 300.0))


@contextlib.asynccontextmanager
async def connected(address: str, **headers: str) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """Connect as a page of the view at an address does."""
    origin = address.rsplit("/", 2)[0]
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(
            f"{address}socket", headers={"Origin": origin, **headers}, max_msg_size=0
        ) as found,
    ):
        yield found


async def receive(found: aiohttp.ClientWebSocketResponse, kind: str) -> Any:
    """Return the next message of a kind; frames are confirmed."""
    while True:
        message = await found.receive()
        assert message.type is aiohttp.WSMsgType.BINARY, message
        read = decoded(message.data)
        if read["kind"] == "frame":
            await found.send_str(json.dumps({"kind": "seen", "number": read["number"]}))
        if read["kind"] == kind:
            return read


def recorded(page: str) -> Any:
    """Return the scene in a page that is one file."""
    found = re.search(r'id="recorded"[^>]*>([^<]*)<', page)
    assert found is not None
    return decoded(zlib.decompress(base64.b64decode(found[1])))
