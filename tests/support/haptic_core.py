"""The limits between simulation and hand as a library of their own, called through ctypes."""

from __future__ import annotations

import ctypes
import math

import ckernels
from places import ROOT

REAL, POINTER = ctypes.c_double, ctypes.c_void_p
UPRIGHT = (1.0, 0.0, 0.0, 0.0)
SOURCES = (
    "base/alloc.c", "base/status.c", "render/dynamic_coupling_rt.c", "render/depth_limit_rt.c",
    "render/virtual_coupling_rt.c", "render/workspace_rt.c", "haptic/passivity_rt.c",
    "haptic/safety_rt.c", "linalg/solve6_rt.c",
)  # fmt: skip

CLAMPED, SLEWED, SILENT, BROKEN, FADING, PAUSED = (1 << k for k in range(6))


class Settings(ctypes.Structure):
    _fields_ = (
        ("control", ctypes.c_bool), ("allowance", REAL), ("max_damping", REAL),
        ("max_torsion", REAL),
    )  # fmt: skip


class Pose(ctypes.Structure):
    _fields_ = (("position", REAL * 3), ("quaternion", REAL * 4))


class Wrench(ctypes.Structure):
    _fields_ = (("force", REAL * 3), ("torque", REAL * 3))


class SafetySettings(ctypes.Structure):
    _fields_ = tuple(
        (name, REAL)
        for name in ("max_force", "max_torque", "slew", "torque_slew", "ramp", "silence")
    )


class State(ctypes.Structure):
    _fields_ = (
        ("begun", ctypes.c_bool), ("last_pose", Pose), ("last", Wrench), ("energy", REAL),
        ("most", REAL), ("less", REAL), ("taken", REAL),
    )  # fmt: skip


class SafetyState(ctypes.Structure):
    _fields_ = (
        ("last", Wrench), ("ramp", REAL), ("quiet", REAL),
        ("count", ctypes.c_uint64), ("enabled", ctypes.c_bool), ("paused", ctypes.c_bool),
        ("resumed", ctypes.c_bool),
    )  # fmt: skip


class Sample(ctypes.Structure):
    """rf_device_sample."""

    _fields_ = (
        ("pose", Pose), ("velocity", REAL * 3), ("turn", REAL * 3), ("buttons", ctypes.c_uint32),
        ("count", ctypes.c_uint64), ("other", ctypes.c_bool),
    )  # fmt: skip


class CouplingSettings(ctypes.Structure):
    """rf_coupling_settings."""

    _fields_ = tuple(
        (name, REAL)
        for name in (
            "stiffness", "torsion", "max_force", "max_torque", "max_depth", "reach", "damping",
            "max_step", "max_turn", "degenerate",
        )
    )  # fmt: skip


class CouplingWrench(ctypes.Structure):
    """rf_coupling_wrench."""

    _fields_ = (
        ("force", REAL * 3), ("torque", REAL * 3), ("linear_force", REAL * 3),
        ("linear_torque", REAL * 3), ("gradient", REAL * 36),
    )  # fmt: skip


class Load(ctypes.Structure):
    """rf_coupling_load."""

    _fields_ = (
        ("force", REAL * 3), ("torque", REAL * 3), ("gradient", REAL * 36), ("depth", REAL),
        ("clearance", REAL),
    )  # fmt: skip


class CouplingState(ctypes.Structure):
    """rf_coupling_state."""

    _fields_ = (("object", Pose), ("share", REAL))


class Report(ctypes.Structure):
    """rf_coupling_report."""

    _fields_ = (
        ("wrench", CouplingWrench), ("move", REAL * 6), ("rank", ctypes.c_int32),
        ("limited", ctypes.c_bool),
    )  # fmt: skip


class DepthLimit(ctypes.Structure):
    """rf_depth_limit."""

    _fields_ = (
        ("begun", ctypes.c_bool), ("returned", ctypes.c_bool), ("arrived", ctypes.c_bool),
        ("kind", ctypes.c_int32), ("safe", Pose), ("safe_depth", REAL), ("taken", REAL),
        ("trust", REAL),
    )  # fmt: skip


class WorkspaceSettings(ctypes.Structure):
    """rf_workspace_settings."""

    _fields_ = (
        ("scale", REAL), ("force_scale", REAL), ("alignment", REAL * 4),
        ("absolute", ctypes.c_bool), ("start", Pose), ("clutch_buttons", ctypes.c_uint32),
    )  # fmt: skip


class WorkspaceState(ctypes.Structure):
    """rf_workspace_state."""

    _fields_ = (
        ("begun", ctypes.c_bool), ("held", ctypes.c_bool), ("manipulandum", Pose),
        ("origin", REAL * 3), ("centre", REAL * 3), ("turn", REAL * 4),
    )  # fmt: skip


def build(folder):
    """Compile the limits, and declare their functions."""
    made = ckernels.build("limits", [ROOT / "csrc" / name for name in SOURCES], folder)
    flags = ctypes.c_uint32
    for name, result, *arguments in (
        ("rf_safety_watch_rt", flags, POINTER, REAL, POINTER, POINTER),
        ("rf_safety_pause_rt", flags, POINTER),
        ("rf_safety_limit_rt", flags, POINTER, REAL, POINTER, POINTER),
        ("rf_safety_last_rt", flags, POINTER, POINTER, POINTER),
        ("rf_passivity_step_rt", None, POINTER, POINTER, *[REAL] * 3, *[POINTER] * 3),
        ("rf_passivity_hold_rt", None, POINTER, POINTER),
        ("rf_depth_limit_rt", None, *[POINTER] * 8),
        ("rf_workspace_map_rt", None, POINTER, POINTER, flags, POINTER),
        ("rf_workspace_recentre_rt", None, POINTER, POINTER),
    ):
        function = getattr(made, name)
        function.restype, function.argtypes = result, arguments
    return made


def at(thing):
    """Return its address, or NULL."""
    return None if thing is None else ctypes.addressof(thing)


def endless(ramp=0.0, silence=math.inf):
    """Return settings without limits."""
    return SafetySettings(*[math.inf] * 4, ramp, silence)
