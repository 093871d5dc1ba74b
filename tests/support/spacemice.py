"""A session with a `SpaceMouse`, and what its daemon sends."""

from __future__ import annotations

import contextlib
import socket
import struct

import reducedfem as rf
from bridges import session


@contextlib.contextmanager
def daemon(ball, folder, threaded=False, greeted=True, **options):
    """A session with a SpaceMouse, and the daemon's end of the connection."""
    path = folder / "spnav.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(path))
        server.listen(1)
        made = session(ball, rf.SpaceMouse(socket=path, **options))
        if threaded:
            made.start()
        else:
            made.run(1)
        connection, _ = server.accept()
        with connection:
            if greeted:
                assert connection.recv(100) == struct.pack("=I", 0x7FAA5501)
            yield made, connection
        made.close()


def motion(*values):
    return struct.pack("=8i", 0, *values, 16)
