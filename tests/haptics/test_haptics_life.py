"""The life of a haptic session: what methods do in each phase, what becomes of records."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import gc
import os
import pathlib
import re
import signal
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest

import ckernels
import reducedfem as rf
from moments import LONG, wait_until
from places import ROOT
from test_haptics import COUPLING, descent, floor_of_points, held, run_script, session


def ball_of(stiffness):
    """Return the contact of a ball of 2 cm with a floor."""
    field = rf.SphereField((0.0, 0.0, 0.0), 0.02)
    return rf.PenaltyContact(
        rf.PointTree(floor_of_points(5)), field, stiffness, warm_nodes=None, max_points=None
    )


@pytest.fixture(scope="module")
def ball():
    return ball_of(200.0)


def at_rest(**options):
    return rf.ReplayDevice(*held(0.014, 1e5), **options)


def after(made, ticks):
    """Wait until a running session has made so many cycles more."""
    wanted, until = made.report().ticks + ticks, time.monotonic() + LONG
    while made.report().ticks < wanted:
        assert made.report().phase == "running", made.report().failure
        assert time.monotonic() < until
        time.sleep(0.002)


# ---- every method in every phase -----------------------------------------------------------------


def ready(ball):
    return session(ball, at_rest())


def after_run(ball):
    made = session(ball, at_rest())
    made.run(3)
    return made


def running(ball):
    made = session(ball, at_rest())
    made.start()
    after(made, 1)
    return made


def stopped(ball):
    made = running(ball)
    made.stop()
    return made


def finished(ball):
    made = session(ball, at_rest(), duration=0.005)
    made.start()
    assert made.wait(LONG)
    return made


def failed(ball):
    del ball
    # forces of the contact add up to more than there are numbers
    made = session(ball_of(1e308), at_rest())
    with pytest.raises(rf.DivergedError):
        made.run(10)
    return made


def closed(ball):
    made = running(ball)
    made.close()
    return made


def closed_before_it_was_started(ball):
    made = ready(ball)
    made.close()
    return made


METHODS = {
    "start": lambda s: s.start(),
    "enter": lambda s: s.__enter__(),
    "run": lambda s: len(s.run(2)),
    "wait": lambda s: s.wait(0.0),
    "stop": lambda s: s.stop(),
    "close": lambda s: s.close(),
    "snapshot": lambda s: type(s.snapshot()) and None,
    "records": lambda s: type(s.records(drain=True)) and None,
    "enable": lambda s: s.enable(False),
    "recentre": lambda s: s.recentre(),
    "coupling": lambda s: setattr(s, "coupling", COUPLING),
    "report": lambda s: s.report().phase,
    "repr": lambda s: repr(s) and None,
    "device": lambda s: s.device and None,
}
IS_RUNNING = "^the session is running: stop it first$"
BEING_MADE = "^`run` makes cycles of the session, in another thread or around this call: wait"
IS_CLOSED = "^the session is closed: make another one$"
NOT_STARTED = "^the session was not started: use it in a with block, or call start$"
NO_CYCLE = "^no cycle has ended yet: start or run the session first$"
HAS_FAILED = "^the session has failed: cycle 0: the simulation left the finite numbers"
IN_A_FORK = "^the session belongs to the process that made it$"


def refused(message, *methods):
    return dict.fromkeys(methods, re.compile(message))


COMMANDS = ("enable", "recentre", "coupling")
# what is not told does something, and returns None
PHASES = {
    ready: {"run": 2, "report": "ready", **refused(NOT_STARTED, "wait"),
            **refused(NO_CYCLE, "snapshot")},
    after_run: {"run": 2, "report": "ready", **refused(NOT_STARTED, "wait")},
    running: {"wait": False, "report": "running", **refused(IS_RUNNING, "start", "enter", "run")},
    stopped: {"run": 2, "wait": True, "report": "stopped"},
    finished: {"run": 2, "wait": True, "report": "finished"},
    failed: {"wait": True, "report": "failed",
             **refused(HAS_FAILED, "start", "enter", "run", *COMMANDS)},
    closed: {"wait": True, "report": "stopped",
             **refused(IS_CLOSED, "start", "enter", "run", *COMMANDS)},
    closed_before_it_was_started: {
        "report": "ready", **refused(IS_CLOSED, "start", "enter", "run", *COMMANDS),
        **refused("^the session is closed: it was never started$", "wait"),
        **refused(NO_CYCLE, "snapshot")},
}  # fmt: skip
IN_ITS_FORK = {
    "report": "running", **refused(IN_A_FORK, "start", "enter", "run", "wait", *COMMANDS)
}  # fmt: skip


def outcome(made, method):
    """Return what a method returns, or what it says when it refuses."""
    try:
        found = METHODS[method](made)
    except rf.InputError as error:
        return str(error)
    return None if method == "enter" else found


@pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase.__name__)
def test_every_method_in_every_phase(ball, phase):
    for method in METHODS:
        made = phase(ball)
        found, expected = outcome(made, method), PHASES[phase].get(method)
        if isinstance(expected, re.Pattern):
            assert isinstance(found, str), (method, found)
            assert expected.search(found), (method, found)
        else:
            assert found == expected, (method, found)
        # whatever it was, it can be closed then, and its device is free
        made.close()
        session(ball, made.device).close()


def test_every_method_in_a_fork():
    """A child can read the state at the fork; all else is refused at once."""
    methods = ", ".join(map(repr, METHODS))
    done = run_script(
        f"""
        sys.path[:0] = {sys.path!r}
        import test_haptics_life as life
        made.close()
        made = reducedfem.HapticSession(contact, device, coupling=coupling)
        made.start()
        life.after(made, 1)
        child = os.fork()
        if child == 0:
            for method in ({methods}):
                print(method, life.outcome(made, method), sep=": ", flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        life.after(made, 20)
        made.close()
        """
    )
    assert done.returncode == 0, done.stderr
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert list(lines) == list(METHODS)
    for method, found in lines.items():
        expected = IN_ITS_FORK.get(method)
        if isinstance(expected, re.Pattern):
            assert expected.search(found), (method, found)
        else:
            assert found == str(expected), (method, found)


def test_the_table_has_every_public_method():
    public = {name for name in dir(rf.HapticSession) if not name.startswith("_")}
    # plain attributes, whatever the phase
    assert public - set(METHODS) == {"contacts", "dt", "rate"}


# ---- threads -------------------------------------------------------------------------------------


def test_forces_may_fade_for_longer_than_a_cycle_may_hang(ball, monkeypatch):
    """Stopping waits as long as cycles go on: a slow ramp is no failure."""
    monkeypatch.setattr(rf.haptics, "_STALL", 1.0)
    monkeypatch.setattr(rf.haptics, "_HANG", 0.01)
    made = session(ball, at_rest(), ramp=1.5)
    made.start()
    after(made, 1500)
    made.stop()
    assert made.report().phase == "stopped", made.report().failure
    made.close()


def threads_named(*names):
    """Return the numbers of this process's threads with such names."""
    found = []
    for task in pathlib.Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if (task / "comm").read_text().strip() in names:
                found.append(task)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="looks at threads in /proc")
def test_handlers_of_signals_run_elsewhere(ball, tmp_path):
    """A profiler's timer, say, holds up no cycle; faults are told as everywhere."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    made = session(ball, at_rest(), record=tmp_path / "session.npy")
    made.start()
    tasks = threads_named("rf-haptic", "rf-watchdog", "rf-writer")
    assert len(tasks) == 3
    for task in tasks:
        until, masked = time.monotonic() + LONG, -1
        while masked >> (signal.SIGSEGV - 1) & 1:  # while it begins, all of them are
            assert time.monotonic() < until
            masked = int(re.search(r"SigBlk:\s*(\w+)", (task / "status").read_text())[1], 16)
        for number in (signal.SIGINT, signal.SIGALRM, signal.SIGPROF, signal.SIGCHLD):
            assert masked >> (number - 1) & 1, (task, number)
        for number in (signal.SIGSEGV, signal.SIGFPE, signal.SIGABRT):
            assert not masked >> (number - 1) & 1, (task, number)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == mask
    made.close()


@pytest.mark.skipif(sys.platform != "linux", reason="looks at threads in /proc")
def test_a_fork_while_another_thread_stops_the_session_waits_for_nobody():
    """The thread that holds the session's lock does not exist in the child, to release it."""
    done = run_script(
        f"""
        sys.path[:0] = {sys.path!r}
        import signal, threading
        import test_haptics_life as life
        made.close()
        reducedfem.haptics._PATIENCE = 1e3
        made = reducedfem.HapticSession(contact, device, coupling=coupling, keep_records=1 << 16)
        read, write = os.pipe()
        made._core.start(write)
        life.blocked(made)
        os.close(write)
        stopping = threading.Thread(target=made.stop)
        stopping.start()
        # then it waits for the file
        while life.threads_named("rf-haptic"):
            time.sleep(0.002)
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            print(made.report().phase, repr(made) and len(made.records(drain=True)), flush=True)
            made.close()
            os._exit(0)
        print(os.waitpid(child, 0)[1], flush=True)
        while os.read(read, 1 << 20):
            pass
        stopping.join()
        """
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["stopped", "0", "0"]


# ---- records in files ----------------------------------------------------------------------------


def ticks_of(path):
    return rf.HapticRecords.load(path)["tick"]


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_a_session_that_is_started_again_goes_on_in_its_file(ball, tmp_path):
    path = tmp_path / "session.npy"
    made, last = session(ball, at_rest(), record=path), 0
    for _ in range(3):
        made.start()
        after(made, 20)
        if last:  # those of before can be read meanwhile
            assert np.array_equal(ticks_of(path), np.arange(last))
        made.stop()
        last = made.report().ticks
        assert np.array_equal(ticks_of(path), np.arange(last))
    # cycles that are made here and now go there, too
    made.run(10)
    assert np.array_equal(ticks_of(path), np.arange(last + 10))
    made.start()
    after(made, 20)
    made.close()
    assert np.array_equal(ticks_of(path), np.arange(made.report().ticks))
    assert names(tmp_path) == ["session.npy"]


def test_a_session_that_ended_by_itself_goes_on_in_its_file(ball, tmp_path):
    path = tmp_path / "session.npy"
    made = session(ball, at_rest(), record=path, duration=0.02)
    for _ in range(2):
        made.start()
        assert made.wait(LONG)
    made.close()
    assert np.array_equal(ticks_of(path), np.arange(made.report().ticks))


def test_a_file_that_was_moved_stays_what_it_is(ball, tmp_path):
    path, moved = tmp_path / "session.npy", tmp_path / "first.npy"
    made = session(ball, at_rest(), record=path)
    made.start()
    after(made, 20)
    made.stop()
    first = made.report().ticks
    path.rename(moved)
    made.start()
    after(made, 20)
    made.stop()
    assert np.array_equal(ticks_of(moved), np.arange(first))
    assert np.array_equal(ticks_of(path), np.arange(first, made.report().ticks))
    # another one in its place is nobody's to go on in, or to replace
    np.save(path, np.arange(3))
    with pytest.raises(rf.FileFormatError, match="no longer what this session wrote there; move"):
        made.start()
    assert np.array_equal(np.load(path), np.arange(3))
    assert made.report().phase == "stopped"
    path.unlink()
    made.start()
    after(made, 20)
    made.close()
    assert len(ticks_of(path)) > 0
    assert names(tmp_path) == ["first.npy", "session.npy"]


def test_a_start_that_is_refused_leaves_the_file_alone(ball, tmp_path):
    path = tmp_path / "session.npy"
    made = session(ball, at_rest(), record=path)
    made.start()
    after(made, 20)
    with pytest.raises(rf.InputError, match="is running"):
        made.start()
    made.close()
    with pytest.raises(rf.InputError, match="is closed"):
        made.start()
    assert np.array_equal(ticks_of(path), np.arange(made.report().ticks))
    assert names(tmp_path) == ["session.npy"]


def test_sessions_with_one_path_do_not_write_into_each_other(ball, tmp_path):
    path = tmp_path / "session.npy"
    # left by a process that had the same number
    left = tmp_path / f".session.npy.{os.getpid()}-0.part"
    left.write_text("mine")
    both = [session(ball, at_rest(), record=path) for _ in range(2)]
    for made in both:
        made.start()
    for made in both:
        after(made, 20)
        made.close()
        assert np.array_equal(ticks_of(path), np.arange(made.report().ticks))
    assert left.read_text() == "mine"
    assert names(tmp_path) == [left.name, "session.npy"]


def test_a_session_that_is_dropped_is_closed(ball, tmp_path):
    """Its file is whole, its device is free, no thread is left."""
    path, device = tmp_path / "session.npy", at_rest()
    made = session(ball, device, record=path)
    made.start()
    after(made, 20)
    del made
    gc.collect()
    ticks = ticks_of(path)
    assert len(ticks) > 20
    assert np.array_equal(ticks, np.arange(len(ticks)))
    assert names(tmp_path) == ["session.npy"]
    session(ball, device).close()
    # one that could not be made is none
    with pytest.raises(rf.InputError, match="ramp must not be negative"):
        session(ball, device, ramp=-1.0)
    session(ball, device).close()


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("pass", 0),
        ("sys.exit(3)", 3),
        ("raise ValueError('mine')", 1),
        ("import signal; signal.raise_signal(signal.SIGINT)", -2),
        ("kept = None", 0),
    ],
)
def test_a_program_that_ends_leaves_a_whole_file(tmp_path, ending, code):
    done = run_script(
        f"""
        os.chdir({str(tmp_path)!r})
        made.close()
        kept = reducedfem.HapticSession(contact, device, coupling=coupling, record="session.npy")
        kept.start()
        while kept.report().ticks < 20:
            time.sleep(0.002)
        {ending}
        """
    )
    assert done.returncode == code, done.stderr
    ticks = ticks_of(tmp_path / "session.npy")
    assert len(ticks) >= 20
    assert np.array_equal(ticks, np.arange(len(ticks)))
    assert names(tmp_path) == ["session.npy"]


def test_records_of_a_process_that_was_killed_can_be_read(tmp_path):
    done = run_script(
        f"""
        import signal
        os.chdir({str(tmp_path)!r})
        made.close()
        kept = reducedfem.HapticSession(contact, device, coupling=coupling, record="session.npy")
        kept.start()
        while kept._core.status()["written"] < 20:
            time.sleep(0.002)
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    assert done.returncode == -9, done.stderr
    (left,) = tmp_path.iterdir()
    assert re.fullmatch(r"\.session\.npy\.\d+-0\.part", left.name)
    for cut in (0, 1):  # within a record
        with left.open("ab") as file:
            file.truncate(left.stat().st_size - cut)
        ticks = ticks_of(left)
        assert len(ticks) >= 20 - cut
        assert np.array_equal(ticks, np.arange(len(ticks)))


class Interrupting:
    """Delegates to another object; then, once, raises as the handler of a signal would."""

    def __init__(self, what, name):
        self._what, self._name, self._done = what, name, False

    def __getattr__(self, name):
        real = getattr(self._what, name)
        if name != self._name or self._done:
            return real

        def interrupted(*arguments):
            self._done = True
            real(*arguments)
            raise KeyboardInterrupt

        return interrupted


def test_a_start_that_is_interrupted_leaves_nothing_running(ball, tmp_path):
    path = tmp_path / "session.npy"
    made = session(ball, at_rest(), record=path)
    for _ in range(2):
        core = made._core
        made._core = Interrupting(core, "start")
        with pytest.raises(KeyboardInterrupt):
            made.start()
        made._core = core
        assert made.report().phase == "stopped"
        assert np.array_equal(ticks_of(path), np.arange(made.report().ticks))
        made.start()
        after(made, 20)
        made.stop()
    made.close()
    assert np.array_equal(ticks_of(path), np.arange(made.report().ticks))
    assert names(tmp_path) == ["session.npy"]


@pytest.mark.parametrize("name", ["pwrite", "replace", "fstat", "close"])
def test_a_stop_that_is_interrupted_is_made_up_for(ball, tmp_path, monkeypatch, name):
    path = tmp_path / "session.npy"
    made = session(ball, at_rest(), record=path)
    made.start()
    after(made, 20)
    made._core.stop()
    with monkeypatch.context() as patch:
        patch.setattr(rf._record_file, "os", Interrupting(os, name))
        with pytest.raises(KeyboardInterrupt):
            made.stop()
    made.stop()
    assert np.array_equal(ticks_of(path), np.arange(made.report().ticks))
    made.start()
    after(made, 20)
    made.close()
    assert np.array_equal(ticks_of(path), np.arange(made.report().ticks))
    assert names(tmp_path) == ["session.npy"]


def test_a_close_that_is_interrupted_is_made_up_for_when_the_session_is_dropped(ball, tmp_path):
    path, device = tmp_path / "session.npy", at_rest()
    made = session(ball, device, record=path)
    made.start()
    after(made, 20)
    core = made._core
    made._core = Interrupting(core, "close")
    with pytest.raises(KeyboardInterrupt):
        made.close()
    made._core = core
    assert names(tmp_path) != ["session.npy"]
    ticks = made.report().ticks
    del made
    gc.collect()
    assert np.array_equal(ticks_of(path), np.arange(ticks))
    assert names(tmp_path) == ["session.npy"]
    session(ball, device).close()


def test_several_threads_may_stop_a_session(ball, tmp_path):
    path = tmp_path / "session.npy"
    made = session(ball, at_rest(), record=path, ramp=0.005)
    told = []

    def stop():
        try:
            made.stop()
        except BaseException as error:
            told.append(error)

    for _ in range(20):
        made.start()
        after(made, 2)
        threads = [threading.Thread(target=stop) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not told
    made.close()
    assert np.array_equal(ticks_of(path), np.arange(made.report().ticks))


# ---- files that take nothing ---------------------------------------------------------------------


def blocked(made):
    """Wait until the file of a running session takes no more."""
    until = time.monotonic() + LONG
    while (status := made._core.status())["ticks"] < status["written"] + 600:
        assert status["phase"] == "running", status["failure"]
        assert time.monotonic() < until
        time.sleep(0.005)


def drained(read):
    """Return a thread that reads a pipe to its end, and a list of what it reads."""
    found = []

    def drain():
        while data := os.read(read, 1 << 16):
            found.append(data)
        os.close(read)

    thread = threading.Thread(target=drain)
    thread.start()
    return thread, found


def test_a_file_that_takes_nothing_keeps_no_device_from_being_halted(ball, tmp_path, monkeypatch):
    """The watchdog watches whatever the disk does, and records wait until it goes on."""
    monkeypatch.setattr(rf.haptics, "_STALL", 1.0)
    monkeypatch.setattr(rf.haptics, "_PATIENCE", 0.1)
    mock = ckernels.build("mock_dhd", [ROOT / "tests/support/mock_dhd.c"], tmp_path)
    hang, enabled = (ctypes.c_int.in_dll(mock, f"mock_{name}") for name in ("hang", "enabled"))
    (ctypes.c_double * 3).in_dll(mock, "mock_position")[:] = [0.0, 0.0, 0.014]
    device = rf.ForceDimension(library=tmp_path / "mock_dhd.so")
    made = session(ball, device, keep_records=1 << 16)
    read, write = os.pipe()
    made._core.start(write)
    os.close(write)
    try:
        blocked(made)
        hang.value = 1
        wait_until(lambda: not enabled.value)
    finally:
        hang.value = 0
    assert made.wait(LONG)
    made.stop()
    assert "was halted" in made.report().failure
    assert made._core.status()["writing"]
    assert len(made.records(drain=True)) == 0
    # the device has nothing to do with it, and is free
    made.close()
    session(ball, device).close()
    thread, found = drained(read)

    def written():
        made.close()  # as soon as who reads has its turn
        return not made._core.status()["writing"]

    wait_until(written)
    thread.join()
    ticks = np.frombuffer(b"".join(found), rf._record_file.RECORD)["tick"]
    assert np.array_equal(ticks, np.arange(made.report().ticks))


def test_a_file_that_takes_nothing_is_told(ball, tmp_path, monkeypatch):
    """Stopping waits for it, but not for ever; records are where the message says."""
    monkeypatch.setattr(rf.haptics, "_PATIENCE", 1.0)
    path, real = tmp_path / "session.npy", os.open
    read, write = os.pipe()
    made = session(ball, at_rest(), record=path, keep_records=1 << 16)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", lambda name, *rest: write if "part" in str(name) else
                      real(name, *rest))  # fmt: skip
        made.start()
    blocked(made)
    with pytest.raises(rf.FileFormatError, match=r"has taken no record for 1 s: \d+ of them"):
        made.stop()
    assert made.report().phase == "stopped"
    with pytest.raises(rf.InputError, match="the file does not take the records of the last run"):
        made.start()
    with pytest.raises(rf.InputError, match="the file does not take the records of the last run"):
        made.run(1)
    thread, found = drained(read)
    # a pipe is no file whose header could be written now
    with pytest.raises(rf.FileFormatError, match=r"Illegal seek; \d+ records are in '.*\.part'"):
        made.close()
    thread.join()
    data = b"".join(found)[rf._record_file.RecordFile.HEADER :]
    ticks = np.frombuffer(data, rf._record_file.RECORD)["tick"]
    assert np.array_equal(ticks, np.arange(made.report().ticks))


class Detour:
    """A session's core whose records go to a pipe instead of the file."""

    def __init__(self, core, write):
        self._real, self._write = core, write

    def __getattr__(self, name):
        return getattr(self._real, name)

    def start(self, file):
        self._real.start(self._write)


def test_a_file_with_gaps_is_told(ball, tmp_path):
    """Cycles that found no room, since the disk took none, are counted: no others are missing."""
    path = tmp_path / "session.npy"
    made = session(ball, at_rest(), record=path, keep_records=64)
    read, write = os.pipe()
    made._core = Detour(made._core, write)
    made.start()
    os.close(write)
    wait_until(lambda: made.report().unrecorded >= 50)
    # from now on the disk takes what waits, into the file
    file = os.dup(made._file.descriptor)

    def drain():
        while data := os.read(read, 1 << 16):
            os.write(file, data)
        os.close(read)
        os.close(file)

    thread = threading.Thread(target=drain)
    thread.start()
    with pytest.raises(
        rf.FileFormatError, match=r"session\.npy' has gaps: \d+ cycles found no room in keep_rec"
    ) as error:
        made.stop()
    thread.join()
    report = made.report()
    assert f"{report.unrecorded} cycles found no room in keep_records=64" in str(error.value)
    assert f"not recorded            {report.unrecorded} cycles" in str(report)
    ticks = ticks_of(path)
    assert (np.diff(ticks) > 0).all()
    assert report.ticks - len(ticks) == report.unrecorded >= 50
    # told once
    made.stop()
    made._core = made._core._real
    made.close()


# ---- cycles here and now -------------------------------------------------------------------------


def test_cycles_are_counted_in_time_too(ball):
    made = session(ball, at_rest(), rate=500.0)
    assert len(made.run(seconds=0.1)) == 50
    assert len(made.run(seconds=0.1001)) == 51
    assert len(made.run(seconds=1e-9)) == 1
    for wrong in ({}, {"cycles": 3, "seconds": 1.0}):
        with pytest.raises(rf.InputError, match="run takes either cycles or seconds"):
            made.run(**wrong)
    for seconds, message in ((0.0, "seconds must be positive"), (1e9, r"seconds \* rate must be")):
        with pytest.raises(rf.InputError, match=message):
            made.run(seconds=seconds)
    with pytest.raises(rf.InputTypeError, match="progress must be True, False, None or a callable"):
        made.run(3, progress=3)
    made.close()


def test_progress_is_told_and_may_end_it(ball):
    made = session(ball, at_rest())
    told = []
    made.run(1000, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (1000, 1000)
    assert told == sorted(set(told))

    def enough(done, total):
        raise StopIteration

    with pytest.raises(StopIteration):
        made.run(10_000_000, progress=enough)
    records = made.records(drain=True)
    assert np.array_equal(records["tick"], np.arange(1000, made.report().ticks))
    made.close()


def test_cycles_made_here_leave_the_records_of_the_thread(ball):
    made = running(ball)
    made.stop()
    threaded = made.report().ticks
    assert np.array_equal(made.run(100)["tick"], threaded + np.arange(100))
    assert np.array_equal(made.records(drain=True)["tick"], np.arange(threaded))
    made.close()


def in_another_thread(function, *arguments):
    """Return what a function returns, or raises, in a thread that is waited for."""
    found = []

    def call():
        try:
            found.append(function(*arguments))
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join(LONG)
    assert found, "it does not return"
    return found[0]


def test_cycles_made_here_are_nobody_elses(ball, tmp_path):
    """Calls of another thread while `run` makes cycles are answered or refused."""
    made = running(ball)
    made.stop()
    threaded = made.report().ticks
    seen = {}

    def look(done, total):
        if done < total:
            return
        seen["records"] = in_another_thread(partial(made.records, drain=True))
        for name in ("start", "run"):
            seen[name] = in_another_thread(METHODS[name], made)
        with pytest.raises(rf.InputError, match=BEING_MADE):
            made.run(1)

    ticks = made.run(100, progress=look)["tick"]
    assert np.array_equal(ticks, threaded + np.arange(100))
    # what was there before is had at once, and nothing twice
    assert np.array_equal(seen["records"]["tick"], np.arange(threaded))
    for name in ("start", "run"):
        assert isinstance(seen[name], rf.InputError), name
        assert re.search(BEING_MADE, str(seen[name])), name
    assert len(made.records(drain=True)) == 0
    # and then it is as free as before
    assert len(made.run(3)) == 3
    made.start()
    made.close()
    made = session(ball, at_rest(), record=tmp_path / "none" / "session.npy")
    with pytest.raises(rf.FileFormatError, match="cannot write"):
        made.run(3)
    with pytest.raises(rf.FileFormatError, match="cannot write"):
        made.start()
    made.close()


@pytest.mark.parametrize(
    ("end", "message"),
    [("stop", r"stopped when \d+ of 10000000 cycles were made"), ("close", IS_CLOSED)],  # fmt: skip
)
def test_another_thread_ends_a_run(ball, tmp_path, end, message):
    path = tmp_path / "session.npy"
    made = session(ball, at_rest(), record=path)
    with pytest.raises(rf.InputError, match=message):
        made.run(10_000_000, progress=lambda *_: in_another_thread(getattr(made, end)))
    ticks = made.records(drain=True)["tick"]
    assert len(ticks) >= 64
    assert np.array_equal(ticks, np.arange(made.report().ticks))
    assert np.array_equal(ticks_of(path), ticks)
    # its device is closed: it can be opened again
    made.close()
    session(ball, made.device).close()


def test_one_thread_at_a_time_takes_records_out(ball):
    """Between taking them from the ring and keeping them no other one may come."""
    made = running(ball)
    after(made, 100)
    made.stop()
    total, core = made.report().ticks, made._core
    others, there = [], []

    class InTheMiddle:
        def __getattr__(self, name):
            return getattr(core, name)

        def records(self, most):
            found = core.records(min(most, 16))
            if not others:
                other = threading.Thread(
                    target=lambda: there.append(made.records(drain=True)["tick"])
                )
                others.append(other)
                other.start()
                # it never comes while this one reads, however long that takes
                other.join(0.2)
                assert other.is_alive()
            return found

    made._core = InTheMiddle()
    mine = made.records(drain=True)["tick"]
    others[0].join(LONG)
    made._core = core
    assert np.array_equal(mine, np.arange(total))
    assert [len(ticks) for ticks in there] == [0]
    made.close()


# ---- pictures ------------------------------------------------------------------------------------


def test_records_are_drawn(ball, tmp_path):
    pytest.importorskip("matplotlib")
    made = session(ball, rf.SimulatedHand(*descent()), rate=500.0)
    records = made.run(200)
    made.close()
    figure = records.plot(title="a ball", max_depth=1e-3)
    assert len(figure.axes) == 5
    assert figure.get_suptitle() == "a ball"
    # cycles of 500 Hz have 2 ms
    assert figure.axes[1].lines[2].get_ydata() == pytest.approx([2000.0, 2000.0], rel=1e-9)
    records.plot(tmp_path / "ball.png")
    assert (tmp_path / "ball.png").stat().st_size > 20_000
    with pytest.raises(rf.FileFormatError, match="a picture goes to"):
        records.plot(tmp_path / "ball.txt")
    with pytest.raises(rf.InputError, match="records are empty"):
        records[:0].plot()
    records[:1].plot()


def test_pictures_without_matplotlib_are_told(ball, monkeypatch):
    made = session(ball, at_rest())
    records = made.run(3)
    made.close()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(rf.MissingMatplotlibError, match=r"pip install 'reducedfem\[plot\]'"):
        records.plot()


def test_couplings_that_are_refused_stay_what_they_were(ball):
    made = closed(ball)
    before = made.coupling
    with pytest.raises(rf.InputError, match="closed"):
        made.coupling = dataclasses.replace(COUPLING, stiffness=1000.0)
    assert made.coupling is before
