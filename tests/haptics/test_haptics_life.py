"""The life of a haptic session: every method in each phase, its threads, cycles made by `run`."""

from __future__ import annotations

import dataclasses
import re
import signal
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest

import reducedfem as rf
from haptic_sessions import (
    COUPLING,
    after,
    at_rest,
    ball_of,
    run_script,
    session,
    threads_named,
    ticks_of,
)
from moments import LONG
from reducedfem.haptics.record_queue import RecordQueue


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
    "reader": lambda s: s.reader(points=True) and None,
    "records": lambda s: type(s.records(drain=True)) and None,
    "enable": lambda s: s.enable(False),
    "recentre": lambda s: s.recentre(),
    "coupling": lambda s: setattr(s, "coupling", COUPLING),
    "report": lambda s: s.report().phase,
    "repr": lambda s: repr(s) and None,
    "device": lambda s: s.device and None,
}
IS_RUNNING = "^the session is running: stop it first$"
BEING_MADE = "^the session is inside `run`, in another thread or in a caller of this function: wait"
IS_CLOSED = "^the session is closed: make another one$"
NOT_STARTED = "^the session was not started: use it in a with block, or call start$"
NO_CYCLE = "^no cycle has ended yet: start or run the session first$"
HAS_FAILED = "^the session has failed: cycle 0: the simulation diverged, its values are not finite"
IN_A_FORK = "^the session belongs to the process that made it, and this process is a fork of that"


def refused(message, *methods):
    return dict.fromkeys(methods, re.compile(message))


COMMANDS = ("enable", "recentre", "coupling")
# methods without an entry do something, and return None
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
        # in any phase it can then be closed, and its device is free
        made.close()
        session(ball, made.device).close()


def test_every_method_in_a_fork():
    """A child can read the state at the fork; all other calls are refused at once."""
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
    # plain attributes in all phases
    assert public - set(METHODS) == {"contacts", "dt", "rate", "touched"}


def test_refused_couplings_leave_the_old_one(ball):
    made = closed(ball)
    before = made.coupling
    with pytest.raises(rf.InputError, match="closed"):
        made.coupling = dataclasses.replace(COUPLING, stiffness=1000.0)
    assert made.coupling is before


# ---- threads -------------------------------------------------------------------------------------


def test_forces_may_fade_for_longer_than_a_cycle_may_hang(ball, set_timeouts):
    """Stopping waits as long as cycles continue: a slow ramp is no failure."""
    set_timeouts(stall=1.0, hang=0.01)
    made = session(ball, at_rest(), ramp=1.5)
    made.start()
    after(made, 1500)
    made.stop()
    assert made.report().phase == "stopped", made.report().failure
    made.close()


@pytest.mark.skipif(sys.platform != "linux", reason="looks at threads in /proc")
def test_handlers_of_signals_run_elsewhere(ball, tmp_path):
    """A profiler's timer, for example, delays no cycle; faults are reported as everywhere."""
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
def test_a_fork_does_not_wait_for_a_thread_that_stops_the_session():
    """The thread that holds the session's lock does not exist in the child, to release it."""
    done = run_script(
        f"""
        sys.path[:0] = {sys.path!r}
        import signal, threading, warnings
        import haptic_sessions as sessions
        warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of such forks
        made.close()
        reducedfem.haptics.settings.set_timeouts(patience=1e3)
        made = reducedfem.HapticSession(contact, device, coupling=coupling, keep_records=1 << 16)
        read, write = os.pipe()
        made._core.start(write)
        sessions.blocked(made)
        os.close(write)
        stopping = threading.Thread(target=made.stop)
        stopping.start()
        # then it waits for the file
        while sessions.threads_named("rf-haptic"):
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


# ---- cycles here and now -------------------------------------------------------------------------


def test_cycles_are_counted_in_time_too(ball):
    made = session(ball, at_rest(), rate=500.0)
    assert len(made.run(seconds=0.1)) == 50
    assert len(made.run(seconds=0.1001)) == 51
    assert len(made.run(seconds=1e-9)) == 1
    for wrong in ({}, {"cycles": 3, "seconds": 1.0}):
        with pytest.raises(rf.InputError, match="run needs either cycles or seconds, got "):
            made.run(**wrong)
    for seconds, message in ((0.0, "seconds must be positive"), (1e9, r"seconds \* rate must be")):
        with pytest.raises(rf.InputError, match=message):
            made.run(seconds=seconds)
    with pytest.raises(rf.InputTypeError, match="progress must be True, False, None or a callable"):
        made.run(3, progress=3)
    made.close()


def test_progress_is_reported_and_may_end_it(ball):
    made = session(ball, at_rest())
    reported = []
    made.run(1000, progress=lambda done, total: reported.append((done, total)))
    assert reported[-1] == (1000, 1000)
    assert reported == sorted(set(reported))

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


def test_calls_of_other_threads_during_run_are_answered_or_refused(ball, tmp_path):
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
    # earlier records come at once, and none comes twice
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
    [("stop", r"stopped after \d+ of 10000000 cycles"), ("close", IS_CLOSED)],  # fmt: skip
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
    """No other thread may come between taking records from the ring and storing them."""
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
                    target=lambda: there.append(queue.take(fetch=True, drain=True)["tick"])
                )
                others.append(other)
                other.start()
                # it never comes while this one reads, however long that takes
                other.join(0.2)
                assert other.is_alive()
            return found

    queue = RecordQueue(InTheMiddle(), 1 << 20)
    mine = queue.take(fetch=True, drain=True)["tick"]
    others[0].join(LONG)
    assert np.array_equal(mine, np.arange(total))
    assert [len(ticks) for ticks in there] == [0]
    made.close()
