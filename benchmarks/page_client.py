"""A page of a view without a browser: reads each frame and confirms it, until the view closes.

usage: python page_client.py ADDRESS; prints the number of frames and of bytes at the end
"""

from __future__ import annotations

import asyncio
import json
import struct
import sys

import aiohttp


async def follow(address: str) -> tuple[int, int]:
    """Follow a view until it disconnects; return the numbers of its frames and of their bytes."""
    origin = address.rsplit("/", 2)[0]
    frames = size = 0
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(
            f"{address}socket", headers={"Origin": origin}, max_msg_size=0
        ) as socket,
    ):
        async for message in socket:
            (length,) = struct.unpack_from("<I", message.data, 4)
            header = json.loads(message.data[8 : 8 + length])
            if header["kind"] == "frame":
                frames, size = frames + 1, size + len(message.data)
                await socket.send_str(json.dumps({"kind": "seen", "number": header["number"]}))
    return frames, size


if __name__ == "__main__":
    print(*asyncio.run(follow(sys.argv[1])))
