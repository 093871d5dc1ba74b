"""Haptic loops in which time passes as a test says: `loop_world.c` as a library.

The loop, its cycles and its limits are those of the library; clock, device, contact and touched
body are stand-ins.
"""

from __future__ import annotations

import ctypes
import math

import numpy as np

import ckernels
import reducedfem as rf
from places import ROOT
from world_sources import RENDER, WORLD

REAL, LONG, POINTER = ctypes.c_double, ctypes.c_int64, ctypes.c_void_p
DT, VELOCITY = 1e-3, 0.1
SOURCES = (
    "base/alloc.c", "base/broadcast_rt.c", "base/ring_rt.c", "base/status.c", "haptic/feel_rt.c",
    "haptic/histogram_rt.c", "haptic/passivity_rt.c", "haptic/safety.c", "haptic/safety_rt.c",
    "haptic/record.c", "haptic/record_rt.c", "haptic/snapshot.c", "haptic/snapshot_rt.c",
    "haptic/tick.c", "haptic/tick_contact_rt.c", "haptic/tick_input_rt.c",
    "haptic/tick_missed_rt.c", "haptic/tick_motion_rt.c", "haptic/tick_output_rt.c",
    "haptic/tick_rt.c", "haptic/tick_touch_rt.c", "linalg/pose.c", "linalg/solve6_rt.c", *WORLD,
    *RENDER,
)  # fmt: skip


def build(folder):
    """Return the library."""
    core = ROOT / "csrc"
    sources = [ROOT / "tests/support/loop_world.c", *(core / name for name in SOURCES)]
    made = ckernels.build("loop", sources, folder)
    made.world_begin.argtypes = [*[REAL] * 3, ctypes.c_int, REAL, REAL, ctypes.c_int32, REAL, REAL]
    for name in ("run", "called"):
        getattr(made, f"world_{name}").restype = LONG
    made.world_run.argtypes = [LONG, LONG, POINTER, POINTER]
    made.world_called.argtypes = [LONG, POINTER, POINTER]
    made.world_search.argtypes = [LONG, POINTER]
    made.world_search.restype = None
    made.world_push.argtypes = [REAL, REAL]
    made.world_control.argtypes, made.world_control.restype = [REAL, REAL], None
    made.world_write.argtypes = [LONG, POINTER]
    made.world_static.argtypes, made.world_static.restype = [REAL, REAL], None
    made.world_wall.argtypes, made.world_wall.restype = [REAL] * 3, None
    made.world_break.argtypes = [LONG] * 3
    made.world_push.restype = made.world_write.restype = made.world_break.restype = None
    made.world_last.restype = REAL
    made.world_look.argtypes, made.world_look.restype = [REAL], None
    made.world_given.argtypes, made.world_given.restype = [LONG], REAL
    for name in (
        "skipped", "over", "interrupted", "paused", "made_up", "felt", "stepped", "forgotten"
    ):  # fmt: skip
        getattr(made, f"world_{name}").restype = LONG
    made.world_unanswered.argtypes, made.world_unanswered.restype = [LONG] * 3, None
    made.world_recentre.restype, made.world_stiffest.restype = None, REAL
    made.world_touch.argtypes = [POINTER]
    return made


def beginner(library):
    """Yield a function that begins a loop, and ends the one before; 0 contacts: a touched body."""
    begun = []

    def end():
        while begun and begun.pop():
            library.world_end()

    def begin(silence=math.inf, fresh=True, contacts=1, budget=0.0, ramp=0.0):
        viscosity = 2.0 * math.sqrt(500.0 * 0.02), 2.0 * math.sqrt(0.5 * 1e-5)
        rest = contacts, budget, ramp
        end()
        assert library.world_begin(DT, VELOCITY, silence, fresh, *viscosity, *rest)
        begun.append(True)
        return library

    yield begin
    end()


def run(library, periods, overslept):
    """Return the records of a run, and how many periods were left out."""
    overslept = np.asarray(overslept, dtype=float)
    out = np.zeros(periods + 100, rf.io.record_file.RECORD)
    n = library.world_run(periods, len(overslept), overslept.ctypes.data, out.ctypes.data)
    assert n > periods - 1  # in the last ones forces fade out
    return out[:n], library.world_skipped()
