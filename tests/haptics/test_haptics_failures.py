"""Failures in a session, of the system, memory, files, devices, are reported and leave nothing.

Calls of the system are made to fail by what stands before the C library (tests/support/refuse.c).
"""

from __future__ import annotations

import math
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import textwrap
import threading
import time

import numpy as np
import pytest

import reducedfem as rf
import test_haptics_life as life
from failures import check_live_blocks, fail_each_allocation, live_blocks
from places import ROOT
from reducedfem import _core
from shapes import box_hexes
from test_haptics import COUPLING, held, session

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture(scope="module")
def ball():
    return life.ball_of(200.0)


@pytest.fixture(autouse=True)
def _any_machine(monkeypatch):
    """Let sessions go on where a machine has something else to do for a while."""
    monkeypatch.setattr(rf.haptics, "_STALL", 5.0)


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
import test_haptics_life as life
from reducedfem import _core
from test_haptics import COUPLING, held, session

os.chdir(sys.argv[1])
HANG = -1000
LONG = 60.0
library = ctypes.CDLL(None)
rf.haptics._STALL = 5.0
ball = life.ball_of(200.0)

@contextlib.contextmanager
def refused(name, outcome, after=0, times=1):
    library.refuse(name.encode(), after, times, outcome)
    try:
        yield
    finally:
        # a failure inside is told, and no thread hangs for ever in a call
        count = library.refused()
        library.refuse_nothing()
    assert count > 0, f"{{name}} was not called"

def left():
    gc.collect()
    # what was joined may be on its way out yet
    until(lambda: not life.threads_named("rf-haptic", "rf-watchdog", "rf-writer"))
    return sorted(os.listdir("/proc/self/fd")), _core.alloc_counters()["live_blocks"]

def told(work):
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

def at_rest():
    return rf.ReplayDevice(*held(0.014, 1e5))
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
    """A descriptor, each of its threads, their attributes: told, and the next start does it all."""
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
                print(told(made.start))
            assert left() == before
            assert os.listdir() == [], os.listdir()
            assert made.report().phase in ("ready", "stopped")
            assert made.report().ticks == 0
            # the device is closed: another program could have it
            assert not made._core.status()["writing"]
        made.start()
        life.after(made, 20)
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


def test_what_the_system_does_not_allow_is_said_and_the_rest_runs(refuse, tmp_path):
    lines = run(
        refuse,
        """
        def not_allowed(name, outcome, **options):
            made = session(ball, at_rest(), **options)
            with refused(name, outcome):
                made.start()
                life.after(made, 20)
            made.stop()
            report = made.report()
            assert report.phase == "stopped", report.failure
            print(report.locked, report.priority, report.not_allowed)
            # the next run asks again
            made.start()
            life.after(made, 5)
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
            life.after(made, 50)
            made.stop()
            report = made.report()
            # nobody looks for the stack where no memory may be locked
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
            life.after(made, 3)
        made.stop()
        assert made.report().phase == "stopped", made.report().failure
        # a cycle that had not waited would have begun too early
        assert made.records()["late_us"].min() > -0.1
        made.close()
        """,
        tmp_path,
    )


def test_a_cycle_that_does_not_end_is_halted_whatever_the_device(refuse, tmp_path):
    """A simulated hand takes no force from then on; one that is played has nothing to halt."""
    lines = run(
        refuse,
        """
        rf.haptics._STALL, rf.haptics._HANG = 1.0, 0.2
        for device in (rf.SimulatedHand(*held(0.014, 1e5)), at_rest()):
            made = session(ball, device)
            made.start()
            life.after(made, 20)
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
        f"a cycle has not ended for 0.2 s and is given up; the device {name} was halted"
        for name in ("simulated hand", "replay")
    ]


def test_a_bridge_whose_socket_fails_is_told(refuse, tmp_path):
    """Whatever of it fails, the socket is closed; an interrupted call is none that failed."""
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
                    print(told(begin))
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
                print(told(lambda: made.run(1)))
            records = made.records(drain=True)
            assert records.flagged("device_failed")[-1]
            assert not records.array["force"][-1].any()
            # that force is sent, too
            assert client.newest()[3] == (0.0, 0.0, 0.0)
        assert made._core.status()["phase"] == "failed"
        """,
        tmp_path,
    )
    told = (
        "DeviceError: cannot listen at 127.0.0.1:0: Too many open files",
        "DeviceError: cannot listen at 127.0.0.1:0: Bad file descriptor",
        "DeviceError: cannot listen at 127.0.0.1:0: No buffer space available",
        "DeviceError: cannot receive packets: Network is down",
    )
    assert lines[:8] == [line for line in told for _ in range(2)]
    # the first one, which began the session, and two more
    assert int(lines[8]) >= 3
    assert lines[9].startswith("DeviceError: cycle ")
    assert lines[9].endswith("failed: the socket: Network is down")


def test_a_spacemouse_whose_socket_fails_is_told(refuse, tmp_path):
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
                    print(told(lambda: made.run(1)))
                assert left() == before, name
            made.close()
        with spacemice.daemon(ball, pathlib.Path.cwd()) as (made, connection):
            connection.sendall(spacemice.motion(350, 0, 0, 0, 0, 0))
            with refused("recv", errno.EINTR):
                made.run(1)
            moved = made.run(10).array["device_position"][:, 0]
            assert (np.diff(moved) > 0.0).all()
            with refused("recv", errno.EIO):
                print(told(lambda: made.run(1)))
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


def test_a_disk_that_fails_is_told_and_one_that_takes_little_is_not(refuse, tmp_path):
    """Each record is whole in the file or still available from the session."""
    lines = run(
        refuse,
        """
        def recorded(name, outcome, times):
            path = f"{name}.npy"
            made = session(ball, at_rest(), record=path, keep_records=1 << 16)
            with refused("write", outcome, 3, times):
                made.start()
                until(lambda: library.refused() == times or made._core.status()["file_error"])
                life.after(made, 20)
                print(told(made.stop))
            ticks = made.report().ticks
            rest = made.records(drain=True)["tick"]
            written = rf.HapticRecords.load(path)["tick"]
            assert np.array_equal(np.append(written, rest), np.arange(ticks)), (written, rest)
            print(len(rest) > 0)
            # the session and its device are as they were: the next run has a file of its own
            os.rename(path, f"{name}-first.npy")
            made.start()
            life.after(made, 20)
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


@pytest.fixture(scope="module")
def bodies():
    """Return a model, its distance field and points of its surface that move with it."""
    mesh = rf.Mesh(*box_hexes(3, 2, 2, (0.06, 0.04, 0.04)))
    solid = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), fixed=mesh.nodes[:, 0] < 1e-6)
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, k=3, r=5))
    field = rf.DistanceField.from_surface(mesh.surface(), 16)
    shell = rf.Pointshell([[0.05, 0.02, 0.05], [0.04, 0.02, 0.05]], [[0, 0, 1]] * 2)
    return model, rf.DeformedField(field, model, 8), shell


DYNAMIC = rf.DynamicCoupling(500.0, 1.0, mass=0.05, inertia=1e-5)


@LINUX
@pytest.mark.parametrize("part", ["made", "made and run", "started and recorded"])
def test_sessions_of_several_parts_run_out_of_memory(bodies, tmp_path, part):
    """Two contacts, three simulations, a file: each allocation in turn, and nothing stays."""
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
                life.after(made, 3)
                made.snapshot()
        finally:
            made.close()
        return made

    fail_each_allocation(work, 20)
    # what was joined may be on its way out yet
    until = time.monotonic() + life.LONG
    while life.threads_named("rf-haptic", "rf-watchdog", "rf-writer"):
        assert time.monotonic() < until
        time.sleep(0.002)
    assert life.names(tmp_path) == (["session.npy"] if "recorded" in part else [])


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


# ---- what Python checks before: the core is the last gate ----------------------------------------

PLACES = {
    "contacts": 1, "simulations": 2, "field": 3, "tick": 4, "coupling": 5, "dynamics": 6,
    "workspace": 7, "safety": 8, "session": 9,
}  # fmt: skip


@pytest.fixture
def core_session(ball, bodies, monkeypatch):
    """Return a function that makes a core's session in which one argument is another."""
    del bodies
    kept = []

    def make(change, **options):
        real = _core.Session
        with monkeypatch.context() as patch:
            patch.setattr(_core, "Session", lambda *rest: real(*change(list(rest))))
            kept.append(session(ball, device, **options))
        return kept[-1]

    device = rf.ReplayDevice(*held(0.03))
    yield make
    for made in kept:
        made.close()
    # whatever was refused, the device is free
    session(ball, device).close()


def replaced(place, index, value):
    def change(arguments):
        k = PLACES[place]
        if index is None:
            arguments[k] = value
        else:
            arguments[k] = (*arguments[k][:index], value, *arguments[k][index + 1 :])
        return arguments

    return change


@pytest.mark.parametrize(
    ("place", "index", "value", "message"),
    [
        ("tick", 0, math.nan, "^dt must be positive and finite, got nan"),
        ("tick", 1, -1.0, "^budget_us must be finite and not negative, got -1"),
        ("contacts", None, (), "^a session takes 1 to 16 contacts and as many simulations, got 0"),
        ("simulations", None, (), "and as many simulations, got 1 and 0"),
        ("contacts", None, (3,), "must be"),
        ("workspace", 0, 0.0, "^scale must be positive and finite, got 0"),
        ("workspace", 1, math.inf, "^force_scale must be positive and finite, got inf"),
        ("workspace", 2, (0.0,) * 4, "quaternion"),
        ("workspace", 4, ((0.0, 0.0, math.nan), (1.0, 0.0, 0.0, 0.0)), r"^position\[2\] is nan"),
        ("safety", 0, math.nan, "^max_force must not be negative"),
        ("safety", 4, math.inf, "^ramp must not be negative and be finite, got inf"),
        ("safety", 7, -1.0, "^energy_allowance must be finite and not negative, got -1"),
        ("session", 0, -1.0, "^duration must be finite and not negative, got -1"),
        ("session", 0, math.inf, "^duration must be finite and not negative, got inf"),
        ("session", 1, 5e-4, "^stall must be finite and longer than a period, got 0.0005"),
        ("session", 2, -1, "^priority must be between 0 and 9., got -1"),
        ("session", 4, 0, "^records must be between 1 and 16777216, got 0"),
        ("session", 4, 1 << 40, "^records must be between 1 and 16777216, got 1099511627776"),
        ("session", 5, math.nan, "^patience must be finite and positive, got nan"),
        ("session", 6, 0.0, "^hang must be finite and positive, got 0"),
        ("coupling", 0, math.inf, "^stiffness must be positive and finite, got inf"),
        ("coupling", 5, math.nan, "^reach must be finite and not negative, got nan"),
    ],
)
def test_what_no_session_can_be_made_of_is_refused(core_session, place, index, value, message):
    before = live_blocks()
    with pytest.raises(rf.ReducedFEMError, match=message):
        core_session(replaced(place, index, value))
    check_live_blocks(before)


@pytest.mark.parametrize(
    ("index", "value", "message"),
    [
        (0, 0.0, "^mass must be finite and positive, got 0"),
        (1, math.nan, "^inertia must be finite and positive, got nan"),
        (2, -1.0, "^viscosity must be finite and not negative, got -1"),
        (3, math.inf, "^torsional_viscosity must be finite and not negative, got inf"),
        (4, 0.0, "^dt must be finite and positive, got 0"),
        (5, 0, "^substeps must be between 1 and"),
    ],
)
def test_masses_that_cannot_be_are_refused(core_session, index, value, message):
    change = replaced("dynamics", index, value)
    with pytest.raises(rf.InputError, match=message):
        core_session(change, coupling=DYNAMIC)
    # while it runs they are refused as well
    made = core_session(lambda rest: rest, coupling=DYNAMIC)
    static, dynamics = DYNAMIC._core_settings(1e-3)
    wrong = (*dynamics[:index], value, *dynamics[index + 1 :])
    with pytest.raises(rf.InputError, match=message):
        made._core.command(2, 0.0, 1e-3, static, wrong)
    with pytest.raises(rf.InputError, match="^stiffness must be positive and finite, got nan"):
        made._core.command(2, 0.0, 1e-3, (math.nan, *static[1:]), None)


@pytest.mark.parametrize("place", ["coupling", "dynamics", "workspace", "safety", "session"])
def test_tuples_of_another_length_are_refused(core_session, place):
    with pytest.raises(TypeError):
        core_session(replaced(place, None, (1.0, 2.0)))
    with pytest.raises(TypeError):
        core_session(lambda rest: rest[:-1])


def test_the_core_of_a_session_checks_what_it_is_told(core_session):
    made = core_session(lambda rest: rest)
    core = made._core
    for method, *arguments in (
        ("start", "x"), ("advance", "x"), ("wait", "x"), ("records", "x"), ("times", "x", 1),
        ("restore", "x"), ("command", 2), ("command", 2, 0.0, 1e-3, (1.0,), None),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            getattr(core, method)(*arguments)
    for most in (-1, (1 << 20) + 1):
        with pytest.raises(rf.InputError, match=f"^most must be between 0 and 1048576, got {most}"):
            core.records(most)
    with pytest.raises(rf.InputTypeError, match="^coupling must be a tuple"):
        core.command(2, 0.0, 1e-3, 3, None)
    with pytest.raises(rf.InputError, match="^the session has no simulation 5$"):
        core.restore(5, None)
    with pytest.raises(rf.InputError, match="^descriptor 1000000 is no file for records: Bad file"):
        core.start(1_000_000)
    assert core.status()["phase"] == "ready"
    # what nobody knows does nothing
    assert core.command(9, 0.0, 1e-3, None, None)
    assert len(made.run(2)) == 2
    made.start()
    with pytest.raises(rf.InputError, match="^the session is running: stop it first$"):
        core.restore(0, None)
    waited = threading.Thread(target=core.wait, args=(0.05,))
    waited.start()
    waited.join()
    made.stop()
    assert core.wait(60.0)


@pytest.mark.parametrize("which", ["simulation", "field", "steps"])
def test_simulations_of_other_sizes_are_refused_by_the_core(bodies, core_session, which):
    model, field, shell = bodies
    smaller = model.truncate(3)
    tree = rf.PointTree(shell, model)
    soft = rf.PenaltyContact(tree, field, 10.0)
    steps = rf.ImplicitNewmark(model, 7e-4 if which == "steps" else 1e-3)._core
    other = rf.ImplicitNewmark(smaller, 1e-3)._core
    own = other if which == "simulation" else steps
    message = {
        "simulation": "^the simulation of contact 0 has 3 reduced coordinates, its shell has 5",
        "field": "^the field of contact 0 has 5 reduced coordinates, its simulation has 3",
        "steps": r"^a simulation has steps of 0.0007 s, of which no whole number makes a cycle",
    }

    def change(arguments):
        arguments[1:4] = (soft._core,), (own,), other if which == "field" else steps
        return arguments

    with pytest.raises(rf.InputError, match=message[which]):
        core_session(change)


def test_wrong_devices_are_refused_by_the_core():
    way = (np.zeros(1), np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]]), None)
    for make in (
        lambda: _core.replay_device(3),
        lambda: _core.replay_device(way[:3]),
        lambda: _core.hand_device(way, (1.0, 1.0), (1.0, 1.0, 1.0), 1.0, 1.0),
        lambda: _core.hand_device(way[:3], (1.0, 1.0, 1.0), (1.0, 1.0, 1.0), 1.0, 1.0),
        lambda: _core.udp_device("x"),
        lambda: _core.udp_device(("127.0.0.1", 1), 3, 1.0, 1.0, 1.0, False),
        lambda: _core.spacemouse_device(3),
        lambda: _core.force_dimension_device("x", 1.0, 1.0),
        lambda: _core.openhaptics_device("x", "", 1.0, 1.0),
        lambda: _core.force_dimension_device((3,), 1.0, 1.0),
        lambda: _core.probe_device(3),
        lambda: _core.leave_device(3),
        lambda: _core.udp_counts(3),
        lambda: _core.udp_accept(3),
    ):
        with pytest.raises(TypeError):
            make()
    for make, message in (
        (lambda: _core.force_dimension_device((), 1.0, 1.0), "a library has 1 to . names, got 0"),
        (
            lambda: _core.spacemouse_device("x", math.inf, 1.0, 350.0, 0.1),
            "speed and turn must be finite, got inf and 1",
        ),
        (
            lambda: _core.replay_device((way[0][:0], way[1][:0], way[2][:0], None)),
            "a trajectory needs at least one pose",
        ),
    ):
        with pytest.raises(rf.InputError, match=message):
            make()


HERE = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))


def stepped(force=(0.0,) * 3, gradient=None, coupling=DYNAMIC, velocity=(0.0,) * 6):
    """Make a step of the core's dynamic coupling, or static one, under a load."""
    static, dynamics = DYNAMIC._core_settings(1e-3)
    load = (force, (0.0,) * 3, np.zeros((6, 6)) if gradient is None else gradient, 0.0)
    if coupling is not DYNAMIC:
        return _core.coupling_step(COUPLING._core_settings(1e-3), HERE, HERE, 1.0, load)
    return _core.dynamic_step(static, dynamics, HERE, (0.0,) * 6, HERE, velocity, 1.0, load)


@pytest.mark.parametrize("coupling", [COUPLING, DYNAMIC], ids=["static", "dynamic"])
def test_steps_of_couplings_that_are_not_finite_are_told(coupling):
    stepped(coupling=coupling)
    for load in ({"force": (1e308, 1e308, 0.0)}, {"gradient": np.full((6, 6), 1e308)}):
        with pytest.raises(rf.DivergedError, match="^the coupling has no finite step: forces or"):
            stepped(coupling=coupling, **load)


def test_couplings_check_what_they_are_told():
    settings, dynamics = DYNAMIC._core_settings(1e-3)
    wrong = (math.nan, *settings[1:])
    load, still = ((0.0,) * 3, (0.0,) * 3, np.zeros((6, 6)), 0.0), (0.0,) * 6
    for work in (
        lambda: _core.coupling_check(settings[:3]),
        lambda: _core.coupling_wrench(settings, HERE),
        lambda: _core.coupling_step(settings, HERE, HERE, 1.0, 3),
        lambda: _core.coupling_step(settings, HERE, HERE, 1.0, load[:2]),
        lambda: _core.dynamic_step(settings, dynamics, HERE, still, HERE, still, 1.0),
        lambda: _core.dynamic_step(settings, dynamics, HERE, still, HERE, still, 1.0, load[:2]),
    ):
        with pytest.raises(TypeError):
            work()
    for work in (
        lambda: _core.coupling_wrench(wrong, HERE, HERE),
        lambda: _core.coupling_step(wrong, HERE, HERE, 1.0, load),
        lambda: _core.dynamic_step(wrong, dynamics, HERE, still, HERE, still, 1.0, load),
    ):
        with pytest.raises(rf.InputError, match="^stiffness must be positive and finite, got nan"):
            work()
    for work, message in (
        (lambda: stepped((0.0, math.nan, 0.0)), r"^force\[1\] is nan"),
        (lambda: stepped(gradient=np.zeros((5, 6))), "^gradient must have"),
        (lambda: stepped(velocity=(0.0,) * 5), "^velocity must have"),
        (lambda: _core.coupling_wrench(settings, HERE, ((0.0, 0.0, 1e300), HERE[1])), "object"),
    ):
        with pytest.raises(rf.InputError, match=message):
            work()


# ---- numbers -------------------------------------------------------------------------------------


def test_poses_between_many_others_are_found(ball):
    """Twenty of them in a cycle, and from the last one back to the first."""
    times = np.linspace(0.0, 1.0, 20_001)
    z = 0.03 + 0.01 * np.sin(40.0 * times)
    positions = np.stack([0 * z, 0 * z, z], axis=1)
    device = rf.ReplayDevice(times, positions, buttons=np.arange(20_001) % 7)
    for cycles in (400, 30):
        made = session(ball, device)
        found = made.run(cycles).array
        assert found["device_position"][:, 2] == pytest.approx(
            np.interp(found["time_s"], times, z), abs=1e-14
        )
        # the last that is not later
        last = np.searchsorted(times, found["time_s"], side="right") - 1
        assert np.array_equal(found["buttons"], last % 7)
        made.close()


@pytest.mark.parametrize("damping", [0.0, 1e-9, 5e-3, 5.0])
def test_a_hand_without_spring_drifts_as_by_formula(ball, damping):
    """It is dragged along by its intention, at 0.3 m/s, and pushed by the object it feels."""
    mass, dt, speed = 0.1, 1e-3, 0.3
    times, positions = [0.0, 9.0], [[0.0, 0.0, 0.015], [9 * speed, 0.0, 0.015]]
    hand = rf.SimulatedHand(
        times, positions, mass=mass, damping=damping, stiffness=0.0, torsional_stiffness=0.0
    )
    made = session(ball, hand)
    found = made.run(200).array
    made.close()
    assert found["force"][0, 2] > 0.0
    # m v' = F - b (v - u), of which F is that of the last cycle
    x, v = np.array([0.0, 0.0, 0.015]), np.zeros(3)
    expected, rate = [x], damping / mass
    intended = np.array([speed, 0.0, 0.0])
    for force in found["force"][:-1]:
        if damping > 1e-3:
            ends = intended + force / damping
            faded = -np.expm1(-rate * dt) / rate
            x, v = x + ends * dt + (v - ends) * faded, ends + (v - ends) * math.exp(-rate * dt)
        else:
            pull = force / mass + rate * (intended - v)
            x, v = x + v * dt + 0.5 * pull * dt**2, v + pull * dt
        expected.append(x)
    # where nothing is damped worth the name, series: the next term is that much smaller
    assert np.abs(found["device_position"] - expected).max() < (1e-12 if damping != 1e-9 else 1e-10)


def test_forces_that_are_no_numbers_on_their_way_out_stop_the_session(ball):
    """Scaled for the device they are infinite: none goes out, and nothing after that."""
    hand = rf.ReplayDevice(*held(0.014))
    made = session(life.ball_of(1e4), hand, workspace=rf.Workspace(force_scale=1.7e308))
    with pytest.raises(rf.DivergedError, match=r"cycle \d+: the simulation left the finite"):
        made.run(50)
    records = made.records(drain=True)
    assert records.flagged("broken").nonzero()[0].tolist() == [len(records) - 1]
    assert records.array["contact_force"][-1, 2] != 0.0
    assert np.isfinite(records.array["force"]).all()
    assert not records.array["force"][-1].any()
    assert not records.array["torque"][-1].any()
    made.close()
    session(ball, hand).close()
