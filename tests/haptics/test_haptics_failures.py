"""Failures in a session, of the system, memory, files, devices, are reported and leave nothing.

A library that is loaded before the C library lets calls of the system fail
(tests/support/refuse.c).
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import textwrap

import numpy as np
import pytest

import reducedfem as rf
from failures import fail_each_allocation
from haptic_sessions import DYNAMIC, after, ball_of, held, names, session, threads_named
from moments import wait_until
from places import ROOT

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


# ---- calls of the system -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def refuse(tmp_path_factory):
    """Return the library that is loaded before all else, or skip."""
    if sys.platform != "linux" or "RF_SANITIZED" in os.environ:
        pytest.skip("the sanitizers wrap the same calls; elsewhere they are others")
    compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")
    if not shutil.which(compiler[0]):
        pytest.skip(f"no C compiler on this machine ({compiler[0]})")
    library = tmp_path_factory.mktemp("refuse") / "refuse.so"
    subprocess.run(
        [*compiler, "-O1", "-shared", "-fPIC", str(ROOT / "tests/support/refuse.c"),
         "-o", str(library), "-ldl"],
        check=True,
    )  # fmt: skip
    return str(library)


PROLOGUE = f"""
import contextlib, ctypes, errno, gc, os, socket, sys, threading, time
sys.path[:0] = {sys.path!r}
import numpy as np
import reducedfem as rf
import bridges
import spacemice
import haptic_sessions as sessions
from haptic_sessions import COUPLING, at_rest, held, session
from reducedfem import _core

os.chdir(sys.argv[1])
HANG = -1000
LONG = 60.0
library = ctypes.CDLL(None)
rf.haptics.settings.set_timeouts(stall=5.0)
ball = sessions.ball_of(200.0)

@contextlib.contextmanager
def refused(name, outcome, after=0, times=1):
    library.refuse(name.encode(), after, times, outcome)
    try:
        yield
    finally:
        # a failure inside is reported, and no thread hangs for ever in a call
        count = library.refused()
        library.refuse_nothing()
    assert count > 0, f"{{name}} was not called"

def left():
    gc.collect()
    # joined threads may not have left the process yet
    until(lambda: not sessions.threads_named("rf-haptic", "rf-watchdog", "rf-writer"))
    return sorted(os.listdir("/proc/self/fd")), _core.alloc_counters()["live_blocks"]

def reported(work):
    try:
        work()
    except (rf.ReducedFEMError, RuntimeError) as error:
        return f"{{type(error).__name__}}: {{error}}"
    return "nothing"

def until(condition):
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)
"""


def run(refuse, body, folder):
    """Run a program in which calls can be refused, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", PROLOGUE + textwrap.dedent(body), str(folder)],
        env=os.environ | {"LD_PRELOAD": refuse},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_a_session_that_cannot_begin_leaves_nothing(refuse, tmp_path):
    """Each descriptor, thread or attribute that fails is reported; the next start succeeds."""
    lines = run(
        refuse,
        """
        device = at_rest()
        made = session(ball, device, record="session.npy", priority=0)
        gone = errno.EAGAIN
        for name, outcome, after, times in (
            ("fcntl", errno.EMFILE, 0, 1),
            ("pthread_sigmask", errno.EINVAL, 0, 1),
            ("pthread_create", gone, 0, 9),  # the writer
            ("pthread_create", gone, 1, 9),  # the watchdog
            ("pthread_create", gone, 2, 9),  # the loop
            ("pthread_attr_init", errno.ENOMEM, 0, 9),
            ("pthread_attr_init", errno.ENOMEM, 1, 9),
        ):
            before = left()
            with refused(name, outcome, after, times):
                print(reported(made.start))
            assert left() == before
            assert os.listdir() == [], os.listdir()
            assert made.report().phase in ("ready", "stopped")
            assert made.report().ticks == 0
            # the device is closed: another program could have it
            assert not made._core.status()["writing"]
        made.start()
        sessions.after(made, 20)
        made.close()
        ticks = rf.HapticRecords.load("session.npy")["tick"]
        assert np.array_equal(ticks, np.arange(made.report().ticks))
        session(ball, device).close()
        """,
        tmp_path,
    )
    begun = "InternalError: no thread could be started: "
    assert lines[0].startswith("InputError: descriptor ")
    assert lines[0].endswith(" is no file for records: Too many open files")
    assert lines[1:] == [
        f"{begun}Invalid argument",
        *[f"{begun}Resource temporarily unavailable"] * 3,
        *[f"{begun}Cannot allocate memory"] * 2,
    ]


def test_a_session_runs_without_privileges_and_reports_them(refuse, tmp_path):
    lines = run(
        refuse,
        """
        def not_allowed(name, outcome, **options):
            made = session(ball, at_rest(), **options)
            with refused(name, outcome):
                made.start()
                sessions.after(made, 20)
            made.stop()
            report = made.report()
            assert report.phase == "stopped", report.failure
            print(report.locked, report.priority, report.not_allowed)
            # the next run asks again
            made.start()
            sessions.after(made, 5)
            made.close()
            assert report.not_allowed not in made.report().not_allowed.split("; ")[:1] + [""]

        not_allowed("mlockall", errno.EPERM, priority=0)
        """,
        tmp_path,
    )
    assert lines == ["False False memory could not be locked: Operation not permitted"]


def test_a_loop_that_is_woken_early_sleeps_on(refuse, tmp_path):
    """By a handler of a signal, say.  A stack that is not found is not locked, and is there."""
    run(
        refuse,
        """
        for name in ("clock_nanosleep", "pthread_getattr_np"):
            made = session(ball, at_rest())
            library.refuse(name.encode(), 0, 3, errno.EINTR)
            made.start()
            sessions.after(made, 50)
            made.stop()
            report = made.report()
            # the stack is searched for only if memory may be locked
            assert library.refused() > 0 or not report.locked, name
            library.refuse_nothing()
            assert report.phase == "stopped", report.failure
            assert np.array_equal(made.records(drain=True)["tick"], np.arange(report.ticks))
            made.close()
        """,
        tmp_path,
    )


def test_a_loop_waits_where_the_clock_of_the_schedule_cannot(refuse, tmp_path):
    """In a sandbox that knows CLOCK_BOOTTIME but does not wait by it."""
    run(
        refuse,
        """
        made = session(ball, at_rest())
        made.start()
        for _ in range(5):
            library.refuse(b"clock_nanosleep", 0, 1, errno.EINVAL)
            until(library.refused)
            sessions.after(made, 3)
        made.stop()
        assert made.report().phase == "stopped", made.report().failure
        # a cycle that had not waited would have begun too early
        assert made.records()["late_us"].min() > -0.1
        made.close()
        """,
        tmp_path,
    )


def test_a_cycle_that_does_not_end_is_halted_for_every_device(refuse, tmp_path):
    """A simulated hand receives no force afterwards; a replay has nothing to halt."""
    lines = run(
        refuse,
        """
        rf.haptics.settings.set_timeouts(stall=1.0, hang=0.2)
        for device in (rf.SimulatedHand(*held(0.014, 1e5)), at_rest()):
            made = session(ball, device)
            made.start()
            sessions.after(made, 20)
            with refused("clock_nanosleep", HANG):
                until(library.refused)
                # stopping waits for longer than the watchdog does, and then gives it up
                rest = threading.Thread(target=made.stop)
                rest.start()
                until(lambda: made.report().phase == "failed")
            assert made.wait(LONG)
            print(made.report().failure)
            records = made.records(drain=True).array
            assert not records["force"][-1].any()
            made.close()
            session(ball, device).close()
        """,
        tmp_path,
    )
    assert lines == [
        f"a cycle did not end within 0.2 s and was abandoned; the device {name} was halted"
        for name in ("simulated hand", "replay")
    ]


def test_a_bridge_whose_socket_fails_is_reported(refuse, tmp_path):
    """After each failure the socket is closed; an interrupted call is not a failure."""
    lines = run(
        refuse,
        """
        device = rf.UdpDevice(("127.0.0.1", 0), wait=LONG)
        made = session(ball, device)
        before = left()
        for name, outcome in (
            ("socket", errno.EMFILE),
            ("fcntl", errno.EBADF),
            ("getsockname", errno.ENOBUFS),
            ("recvfrom", errno.ENETDOWN),
        ):
            for begin in (made.start, lambda: made.run(1)):
                with refused(name, outcome):
                    print(reported(begin))
                assert left() == before, name
        made.close()

        client = bridges.RawClient()
        with bridges.bridged(ball, client) as (made, device):
            for number, error in ((5, errno.EINTR), (6, errno.ECONNREFUSED)):
                client.send(client.packet(number))
                with refused("recvfrom", error):
                    made.run(1)
            print(device.counts.accepted)
            with refused("recvfrom", errno.ENETDOWN):
                print(reported(lambda: made.run(1)))
            records = made.records(drain=True)
            assert records.flagged("device_failed")[-1]
            assert not records.array["force"][-1].any()
            # that force is sent, too
            assert client.newest()[3] == (0.0, 0.0, 0.0)
        assert made._core.status()["phase"] == "failed"
        """,
        tmp_path,
    )
    reported = (
        "DeviceError: cannot listen at 127.0.0.1:0: Too many open files",
        "DeviceError: cannot listen at 127.0.0.1:0: Bad file descriptor",
        "DeviceError: cannot listen at 127.0.0.1:0: No buffer space available",
        "DeviceError: cannot receive packets: Network is down",
    )
    assert lines[:8] == [line for line in reported for _ in range(2)]
    # the first one, which began the session, and two more
    assert int(lines[8]) >= 3
    assert lines[9].startswith("DeviceError: cycle ")
    assert lines[9].endswith("failed: the socket: Network is down")


def test_a_spacemouse_whose_socket_fails_is_reported(refuse, tmp_path):
    lines = run(
        refuse,
        """
        import pathlib
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
            server.bind("there")
            server.listen(20)
            made = session(ball, rf.SpaceMouse(socket="there"))
            before = left()
            for name, outcome, after in (
                ("socket", errno.EMFILE, 0),
                ("fcntl", errno.EBADF, 0),
                ("fcntl", errno.EBADF, 1),
                ("send", errno.EPIPE, 0),
                ("send", -1, 0),  # a byte of four
            ):
                with refused(name, outcome, after):
                    print(reported(lambda: made.run(1)))
                assert left() == before, name
            made.close()
        with spacemice.daemon(ball, pathlib.Path.cwd()) as (made, connection):
            connection.sendall(spacemice.motion(350, 0, 0, 0, 0, 0))
            with refused("recv", errno.EINTR):
                made.run(1)
            moved = made.run(10).array["device_position"][:, 0]
            assert (np.diff(moved) > 0.0).all()
            with refused("recv", errno.EIO):
                print(reported(lambda: made.run(1)))
            assert made.records(drain=True).flagged("device_failed")[-1]
        """,
        tmp_path,
    )
    head = "DeviceError: cannot connect to the Spacenav daemon at there: "
    tail = "; is spacenavd running?"
    assert lines[:5] == [
        f"{head}{why}{tail}"
        for why in ("Too many open files", "Bad file descriptor", "Bad file descriptor",
                    "Broken pipe", "Input/output error")
    ]  # fmt: skip
    assert lines[5].endswith(
        "the device SpaceMouse failed: the connection to the Spacenav daemon: Input/output error"
    )


def test_failing_writes_are_reported_and_short_writes_are_not(refuse, tmp_path):
    """Each record is complete in the file or still available from the session."""
    lines = run(
        refuse,
        """
        def recorded(name, outcome, times):
            path = f"{name}.npy"
            made = session(ball, at_rest(), record=path, keep_records=1 << 16)
            with refused("write", outcome, 3, times):
                made.start()
                until(lambda: library.refused() == times or made._core.status()["file_error"])
                sessions.after(made, 20)
                print(reported(made.stop))
            ticks = made.report().ticks
            rest = made.records(drain=True)["tick"]
            written = rf.HapticRecords.load(path)["tick"]
            assert np.array_equal(np.append(written, rest), np.arange(ticks)), (written, rest)
            print(len(rest) > 0)
            # the session and its device are as they were: the next run has a file of its own
            os.rename(path, f"{name}-first.npy")
            made.start()
            sessions.after(made, 20)
            made.close()
            again = rf.HapticRecords.load(path)["tick"]
            assert np.array_equal(again, np.arange(ticks, made.report().ticks)), again

        recorded("full", errno.ENOSPC, 1)
        recorded("nothing", 0, 1)
        recorded("interrupted", errno.EINTR, 3)
        recorded("short", -700, 20)
        """,
        tmp_path,
    )
    for name, (first, rest), error in zip(
        ("full", "nothing"), (lines[:2], lines[2:4]),
        ("No space left on device", "Input/output error"), strict=True,
    ):  # fmt: skip
        assert first.startswith("FileFormatError: only ")
        assert first.endswith(f"records could be written to '{name}.npy': {error}")
        assert rest == "True"
    assert lines[4::2] == ["nothing"] * 2


# ---- memory --------------------------------------------------------------------------------------


@LINUX
@pytest.mark.parametrize("part", ["made", "made and run", "started and recorded"])
def test_sessions_of_several_parts_run_out_of_memory(bodies, tmp_path, part):
    """Two contacts, three simulations, a file: each allocation fails in turn without a leak."""
    model, field, shell = bodies
    contacts = [rf.PenaltyContact(rf.PointTree(shell, model), field, 10.0) for _ in range(2)]
    simulations = [rf.ImplicitNewmark(model, 5e-4) for _ in range(3)]
    hand = rf.SimulatedHand([0.0, 1.0], [[0.0, 0.0, 1.0]] * 2)
    path = tmp_path / "session.npy"

    def work():
        made = rf.HapticSession(
            contacts, hand, coupling=DYNAMIC, simulation=simulations[:2],
            field_simulation=simulations[2], record=path if "recorded" in part else None,
        )  # fmt: skip
        try:
            if "run" in part:
                assert len(made.run(3)) == 3
            elif "started" in part:
                made.start()
                after(made, 3)
                made.snapshot()
        finally:
            made.close()
        return made

    fail_each_allocation(work, 20)
    # joined threads may not have left the process yet
    wait_until(lambda: not threads_named("rf-haptic", "rf-watchdog", "rf-writer"))
    assert names(tmp_path) == (["session.npy"] if "recorded" in part else [])


def test_devices_run_out_of_memory():
    times, positions = np.linspace(0.0, 1.0, 11), np.zeros((11, 3))
    for make in (
        lambda: rf.ReplayDevice(times, positions),
        lambda: rf.SimulatedHand(times, positions),
        lambda: rf.UdpDevice(("127.0.0.1", 0)),
        lambda: rf.SpaceMouse(socket="none"),
        lambda: rf.ForceDimension(library="none"),
        lambda: rf.OpenHaptics(library="none"),
    ):
        fail_each_allocation(make, 2)


# ---- forces beyond the numbers -------------------------------------------------------------------


def test_output_forces_that_are_not_finite_stop_the_session(ball):
    """Forces scaled for the device overflow: zero is sent, and nothing after that."""
    hand = rf.ReplayDevice(*held(0.014))
    made = session(ball_of(1e4), hand, workspace=rf.Workspace(force_scale=1.7e308))
    with pytest.raises(rf.DivergedError, match=r"cycle \d+: the simulation diverged"):
        made.run(50)
    records = made.records(drain=True)
    assert records.flagged("broken").nonzero()[0].tolist() == [len(records) - 1]
    assert records.array["contact_force"][-1, 2] != 0.0
    assert np.isfinite(records.array["force"]).all()
    assert not records.array["force"][-1].any()
    assert not records.array["torque"][-1].any()
    made.close()
    session(ball, hand).close()
