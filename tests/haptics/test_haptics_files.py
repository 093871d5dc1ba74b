"""Files of records: continued, moved, shared, interrupted, blocked; and pictures of records."""

from __future__ import annotations

import ctypes
import gc
import os
import re
import sys
import threading

import numpy as np
import pytest

import ckernels
import reducedfem as rf
from haptic_sessions import (
    after,
    at_rest,
    blocked,
    descent,
    names,
    run_script,
    session,
    session_around,
    ticks_of,
)
from moments import LONG, at_once, wait_until
from places import ROOT


def check_goes_on(made, path):
    """Start a session once more: its file, the only one, has all cycles at the end."""
    made.start()
    after(made, 20)
    made.close()
    assert np.array_equal(ticks_of(path), np.arange(made.report().ticks))
    assert names(path.parent) == ["session.npy"]


def test_a_restarted_session_continues_its_file(ball, tmp_path):
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
    check_goes_on(made, path)


def test_a_session_that_ended_by_itself_continues_its_file(ball, tmp_path):
    path = tmp_path / "session.npy"
    made = session(ball, at_rest(), record=path, duration=0.02)
    for _ in range(2):
        made.start()
        assert made.wait(LONG)
    made.close()
    assert np.array_equal(ticks_of(path), np.arange(made.report().ticks))


def test_a_moved_file_is_not_overwritten(ball, tmp_path):
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
    # another file in its place is neither continued nor replaced
    np.save(path, np.arange(3))
    with pytest.raises(
        rf.FileFormatError, match="no longer the file that this session wrote; move"
    ):
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
    """Its file is complete, its device is closed, no thread is left."""
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
    # a session that could not be made leaves its device free
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


def test_files_without_the_time_of_publishing_can_be_read(ball, tmp_path):
    """Those of earlier versions, whole and unfinished ones."""
    made = session(ball, at_rest())
    records = made.run(20).array
    made.close()
    names = [name for name in records.dtype.names if name != "publish_us"]
    old = np.empty(20, [(name, records.dtype[name]) for name in names])
    for name in names:
        old[name] = records[name]
    np.save(tmp_path / "old.npy", old)
    text = repr({"descr": old.dtype.descr, "fortran_order": False, "shape": (0,)})
    header = b"\x93NUMPY\x01\x00" + (4086).to_bytes(2, "little") + text.ljust(4086).encode()
    (tmp_path / ".old.npy.7-0.part").write_bytes(header + old.tobytes()[:-3])
    for path, count in (("old.npy", 20), (".old.npy.7-0.part", 19)):
        array = rf.HapticRecords.load(tmp_path / path).array
        assert len(array) == count
        assert np.isnan(array["publish_us"]).all()
        for name in names:
            np.testing.assert_array_equal(array[name], old[name][:count])
    np.save(tmp_path / "other.npy", old[[name for name in names if name != "force"]].copy())
    with pytest.raises(rf.FileFormatError, match="does not hold records"):
        rf.HapticRecords.load(tmp_path / "other.npy")


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
        self._what, self._name, self.armed = what, name, True

    def __getattr__(self, name):
        real = getattr(self._what, name)
        if name != self._name or not self.armed:
            return real

        def interrupted(*arguments):
            self.armed = False
            real(*arguments)
            raise KeyboardInterrupt

        return interrupted


def test_a_start_that_is_interrupted_leaves_nothing_running(ball, tmp_path):
    path = tmp_path / "session.npy"
    made, core = session_around(
        lambda real: Interrupting(real, "start"), ball, at_rest(), record=path
    )
    for _ in range(2):
        core.armed = True
        with pytest.raises(KeyboardInterrupt):
            made.start()
        assert made.report().phase == "stopped"
        assert np.array_equal(ticks_of(path), np.arange(made.report().ticks))
        made.start()
        after(made, 20)
        made.stop()
    made.close()
    assert np.array_equal(ticks_of(path), np.arange(made.report().ticks))
    assert names(tmp_path) == ["session.npy"]


@pytest.mark.parametrize("name", ["pwrite", "replace", "fstat", "close"])
def test_an_interrupted_stop_is_completed_later(ball, tmp_path, monkeypatch, name):
    path = tmp_path / "session.npy"
    made = session(ball, at_rest(), record=path)
    made.start()
    after(made, 20)
    made._core.stop()
    with monkeypatch.context() as patch:
        patch.setattr(rf.io.record_file, "os", Interrupting(os, name))
        with pytest.raises(KeyboardInterrupt):
            made.stop()
    made.stop()
    assert np.array_equal(ticks_of(path), np.arange(made.report().ticks))
    check_goes_on(made, path)


def test_an_interrupted_close_is_completed_when_the_session_is_dropped(ball, tmp_path):
    path, device = tmp_path / "session.npy", at_rest()
    made, _ = session_around(lambda real: Interrupting(real, "close"), ball, device, record=path)
    made.start()
    after(made, 20)
    with pytest.raises(KeyboardInterrupt):
        made.close()
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
    reported = []

    def stop():
        try:
            made.stop()
        except BaseException as error:
            reported.append(error)

    for _ in range(20):
        made.start()
        after(made, 2)
        at_once([stop] * 3)
        assert not reported
    made.close()
    assert np.array_equal(ticks_of(path), np.arange(made.report().ticks))


# ---- files that take nothing ---------------------------------------------------------------------


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


def test_a_blocked_file_does_not_delay_the_halt_of_a_device(ball, tmp_path, set_timeouts):
    """The watchdog works while the disk does not, and records wait for the disk."""
    set_timeouts(stall=1.0, patience=0.1)
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
    ticks = np.frombuffer(b"".join(found), rf.io.record_file.RECORD)["tick"]
    assert np.array_equal(ticks, np.arange(made.report().ticks))


def test_a_blocked_file_is_reported(ball, tmp_path, monkeypatch, set_timeouts):
    """Stopping waits for the file for a limited time; the message locates the records."""
    set_timeouts(patience=1.0)
    path, real = tmp_path / "session.npy", os.open
    read, write = os.pipe()
    made = session(ball, at_rest(), record=path, keep_records=1 << 16)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", lambda name, *rest: write if "part" in str(name) else
                      real(name, *rest))  # fmt: skip
        made.start()
    blocked(made)
    with pytest.raises(
        rf.FileFormatError, match=r"^no record could be written to .* for 1 s: \d+ "
    ):
        made.stop()
    assert made.report().phase == "stopped"
    with pytest.raises(rf.InputError, match="records of the last run are still being written to"):
        made.start()
    with pytest.raises(rf.InputError, match="records of the last run are still being written to"):
        made.run(1)
    thread, found = drained(read)
    # a pipe is no file whose header could be written now
    with pytest.raises(rf.FileFormatError, match=r"Illegal seek; \d+ records are in '.*\.part'"):
        made.close()
    thread.join()
    data = b"".join(found)[rf.io.record_file.RecordFile.HEADER :]
    ticks = np.frombuffer(data, rf.io.record_file.RECORD)["tick"]
    assert np.array_equal(ticks, np.arange(made.report().ticks))


class Detour:
    """A session's core whose records go to a pipe instead of the file."""

    def __init__(self, core, write):
        self._real, self._write = core, write

    def __getattr__(self, name):
        return getattr(self._real, name)

    def start(self, file):
        self._real.start(self._write)


def test_a_file_with_gaps_is_reported(ball, tmp_path):
    """Cycles without room, while the disk accepted no data, are counted; no others are missing."""
    path = tmp_path / "session.npy"
    read, write = os.pipe()
    made, _ = session_around(
        lambda core: Detour(core, write), ball, at_rest(), record=path, keep_records=64
    )
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
        rf.FileFormatError, match=r"^the records of \d+ cycles are missing from '.*session\.npy'"
    ) as error:
        made.stop()
    thread.join()
    report = made.report()
    assert f"the records of {report.unrecorded} cycles" in str(error.value)
    assert "the buffer of keep_records=64 was full" in str(error.value)
    assert f"lost records            those of {report.unrecorded} cycles" in str(report)
    ticks = ticks_of(path)
    assert (np.diff(ticks) > 0).all()
    assert report.ticks - len(ticks) == report.unrecorded >= 50
    # the gaps are reported once
    made.stop()
    made.close()


# ---- pictures ------------------------------------------------------------------------------------


@pytest.mark.no_asan(reason="Matplotlib, and cycles that other tests run")
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


def test_pictures_without_matplotlib_are_refused(ball, monkeypatch):
    made = session(ball, at_rest())
    records = made.run(3)
    made.close()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(rf.MissingMatplotlibError, match=r"pip install 'reducedfem\[plot\]'"):
        records.plot()
