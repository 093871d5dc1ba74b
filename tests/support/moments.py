"""Moments that tests wait for: conditions with a long limit, never a time that should be enough.

A machine may pause a test, or a thread of it, for as long as it likes.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator

LONG = 120.0  # s: far longer than anything waits for


def wait_until(condition: Callable[[], object]) -> None:
    """Wait until something holds; fail if it does not in a long time."""
    until = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < until, f"nothing happened for {LONG:g} s"
        time.sleep(0.002)


def at_once(calls: Iterable[Callable[[], object]]) -> None:
    """Make calls in threads of their own, and wait for all."""
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@contextlib.contextmanager
def interrupted(
    when: Callable[[], object], first: Callable[[], None] | None = None
) -> Iterator[None]:
    """Let Ctrl-C come as soon as something holds, and expect the KeyboardInterrupt.

    Choose a condition that holds only once the work has begun: the signal then interrupts it,
    however late threads are scheduled.  `first` is called before the signal is sent.
    """
    left = threading.Event()
    main = threading.get_ident()

    def send() -> None:
        while not when():
            if left.wait(0.002):
                return
        if first:
            first()
        signal.pthread_kill(main, signal.SIGINT)

    sending = threading.Thread(target=send)
    came = False
    try:
        sending.start()
        yield
    except KeyboardInterrupt:
        came = True
    finally:
        left.set()
        sending.join()
    assert came, "nothing was interrupted"


# Below those that a system gives to who asks for any, and apart for processes that run side by side
_PORTS = itertools.count(20_000 + 61 * os.getpid() % 10_000)


def free_port() -> int:
    """Return an unused port of 127.0.0.1, which no other process of the tests gets meanwhile."""
    for port in _PORTS:
        with (
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one,
            contextlib.suppress(OSError),
        ):
            one.bind(("127.0.0.1", port))
            return port
    raise AssertionError("unreachable")
