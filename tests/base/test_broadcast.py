"""Broadcast and ring between threads: nothing torn, lost or out of order, no data race.

Likewise a mouse, and a session: its threads begin, end, write records and halt a device that hangs.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sysconfig

import pytest

from places import ROOT
from world_sources import RENDER, WORLD


def built(tmp_path, name, sources, *flags):
    """Compile a program of several threads, or skip."""
    compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")
    if not shutil.which(compiler[0]):
        pytest.skip(f"no C compiler on this machine ({compiler[0]})")
    program = tmp_path / name
    files = [ROOT / f"tests/support/{name}.c", *(ROOT / "csrc" / source for source in sources)]
    done = subprocess.run(
        [*compiler, "-std=c11", "-O1", "-g", *flags, f"-I{ROOT / 'csrc'}", *map(str, files),
         "-pthread", "-lm", "-o", str(program)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0 and flags and "sanitize" in done.stderr:
        pytest.skip("the compiler has no thread sanitizer")
    assert done.returncode == 0, done.stderr
    return program


def alone(*command):
    """Run a program without what the tests run under: they may preload another sanitizer."""
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def run_watched(program, *arguments):
    """Run a program that was built with the thread sanitizer; it says nothing."""
    # its memory must lie where it expects it: without addresses chosen by chance
    fixed = ["setarch", platform.machine(), "-R"] if shutil.which("setarch") else []
    done = alone(*fixed, program, *arguments)
    if "unexpected memory mapping" in done.stderr:
        pytest.skip("the thread sanitizer does not run on this kernel")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


SHARED = ("base/broadcast_rt.c", "base/ring_rt.c")
MOUSE = (
    *SHARED, "base/alloc.c", "base/status.c", "device/device.c", "device/hand.c",
    "device/hand_rt.c", "device/mouse.c", "device/mouse_rt.c", "device/oscillator_rt.c",
    "linalg/pose.c",
)  # fmt: skip
SESSION = (
    *SHARED, "base/alloc.c", "base/clock_rt.c", "base/denormals_rt.c", "base/status.c",
    "haptic/feel_rt.c",
    "haptic/histogram_rt.c", "haptic/loop_rt.c", "haptic/passivity_rt.c", "haptic/record.c",
    "haptic/record_rt.c", "haptic/safety.c", "haptic/safety_rt.c", "haptic/session.c",
    "haptic/session_recorder.c", "haptic/session_thread.c", "haptic/session_watchdog.c",
    "haptic/snapshot.c", "haptic/snapshot_rt.c", "haptic/tick.c",
    "haptic/tick_contact_rt.c", "haptic/tick_input_rt.c", "haptic/tick_missed_rt.c",
    "haptic/tick_motion_rt.c", "haptic/tick_output_rt.c", "haptic/tick_rt.c",
    "haptic/tick_touch_rt.c", "linalg/pose.c", "linalg/solve6_rt.c",
    *WORLD, *RENDER,
)  # fmt: skip


def test_readers_and_writer_share_values_and_items(tmp_path):
    program = built(tmp_path, "broadcast_threads", SHARED)
    done = alone(program)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_thread_sanitizer_sees_no_race(tmp_path):
    run_watched(built(tmp_path, "broadcast_threads", SHARED, "-fsanitize=thread"))


def test_the_thread_sanitizer_sees_no_race_between_a_pointer_and_cycles(tmp_path):
    """Targets and states are whole, and nothing jumps."""
    run_watched(built(tmp_path, "mouse_threads", MOUSE, "-fsanitize=thread"))


def test_the_thread_sanitizer_sees_no_race_in_a_session(tmp_path):
    """All threads of a session: one begins, fails to begin, ends, writes, reads or halts."""
    program = built(tmp_path, "session_threads", SESSION, "-fsanitize=thread")
    run_watched(program, str(tmp_path / "records"))
