"""Progress: by default a bar of what takes long, where a person watches, and nowhere else."""

from __future__ import annotations

import inspect
import io
import sys
import threading

import pytest

import reducedfem as rf
from reducedfem.base.run import PATIENCE, callback


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """Replace the time by one that a test sets."""
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


def test_a_bar_appears_after_two_seconds(monkeypatch, clock):
    assert PATIENCE == 2.0
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with callback(None, "long work") as tell:
        tell(1, 10)
        clock[0] += 1.9
        tell(2, 10)
        assert terminal.getvalue() == ""
        clock[0] += 0.2
        tell(3, 10)
        assert "long work" in terminal.getvalue()
        tell(10, 10)
    assert "10/10" in terminal.getvalue()


def test_short_work_shows_no_bar(monkeypatch, clock):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with callback(None, "short work") as tell:
        tell(1, 10)
        clock[0] += 5.0
        tell(10, 10)
    with callback(False, "silent work") as tell:
        assert tell is None
    assert terminal.getvalue() == ""


def test_a_bar_appears_without_a_count(monkeypatch):
    """During one long factorization without counts the bar appears and its clock runs."""
    terminal = Terminal()
    drawn = threading.Event()
    real = terminal.write

    def write(text):
        drawn.set()
        return real(text)

    monkeypatch.setattr(terminal, "write", write)
    monkeypatch.setattr(sys, "stderr", terminal)
    with callback(None, "long step") as tell:
        assert drawn.wait(60)
        drawn.clear()
        assert drawn.wait(60)  # its clock
        tell(1, 2)
    assert "long step" in terminal.getvalue()
    assert "1/2" in terminal.getvalue()


def test_no_terminal_no_bar(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())  # as in notebooks and pipes
    with callback(None, "work") as tell:
        assert tell is None
    monkeypatch.setattr(sys, "stderr", None)  # as in programs with windows only
    with callback(None, "work") as tell:
        assert tell is None


def test_public_functions_take_the_default():
    """All functions except those that step, which are called too often to show a bar."""
    steppers = ("step", "run", "record_motion", "record_snapshots", "step_free_bodies")
    found = []
    for name in rf.__all__:
        one = getattr(rf, name)
        members = inspect.getmembers(one, callable) if inspect.isclass(one) else []
        for method, function in [(name, one), *members]:
            if isinstance(one, type) and issubclass(one, Exception):
                continue
            if method.startswith("_"):
                continue
            parameter = inspect.signature(function).parameters.get("progress")
            if parameter is not None:
                found.append(method)
                wanted = False if method in steppers else None
                assert parameter.default is wanted, f"{name}.{method}"
    assert len(found) > 30
