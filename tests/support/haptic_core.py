"""The limits between simulation and hand as a library of their own, called through ctypes."""

from __future__ import annotations

import ctypes
import math

import ckernels
from ckernels import structure
from places import ROOT

REAL, POINTER = ctypes.c_double, ctypes.c_void_p
UPRIGHT = (1.0, 0.0, 0.0, 0.0)
SOURCES = (
    "base/alloc.c", "base/status.c", "render/dynamic_coupling_rt.c", "render/depth_limit_rt.c",
    "render/virtual_coupling_rt.c", "render/workspace_rt.c", "haptic/passivity_rt.c",
    "haptic/safety_rt.c", "linalg/solve6_rt.c",
)  # fmt: skip

CLAMPED, SLEWED, SILENT, BROKEN, FADING, PAUSED = (1 << k for k in range(6))


Settings = structure(
    "Settings", control=ctypes.c_bool, allowance=REAL, max_damping=REAL, max_torsion=REAL,
)  # fmt: skip
Pose = structure("Pose", position=REAL * 3, quaternion=REAL * 4)
Wrench = structure("Wrench", force=REAL * 3, torque=REAL * 3)


SafetySettings = structure(
    "SafetySettings", max_force=REAL, max_torque=REAL, slew=REAL, torque_slew=REAL, ramp=REAL,
    silence=REAL,
)  # fmt: skip
State = structure(
    "State", begun=ctypes.c_bool, last_pose=Pose, last=Wrench, energy=REAL, most=REAL, less=REAL,
    taken=REAL,
)  # fmt: skip
SafetyState = structure(
    "SafetyState", last=Wrench, ramp=REAL, quiet=REAL, count=ctypes.c_uint64, enabled=ctypes.c_bool,
    paused=ctypes.c_bool, resumed=ctypes.c_bool,
)  # fmt: skip
Sample = structure(
    "rf_device_sample", pose=Pose, velocity=REAL * 3, turn=REAL * 3, buttons=ctypes.c_uint32,
    count=ctypes.c_uint64, other=ctypes.c_bool,
)  # fmt: skip
CouplingSettings = structure(
    "rf_coupling_settings", stiffness=REAL, torsion=REAL, max_force=REAL, max_torque=REAL,
    max_depth=REAL, reach=REAL, damping=REAL, max_step=REAL, max_turn=REAL, degenerate=REAL,
)  # fmt: skip
CouplingWrench = structure(
    "rf_coupling_wrench", force=REAL * 3, torque=REAL * 3, linear_force=REAL * 3,
    linear_torque=REAL * 3, gradient=REAL * 36,
)  # fmt: skip
Load = structure(
    "rf_coupling_load", force=REAL * 3, torque=REAL * 3, gradient=REAL * 36, depth=REAL,
    clearance=REAL,
)  # fmt: skip
CouplingState = structure("rf_coupling_state", object=Pose, share=REAL)
Report = structure(
    "rf_coupling_report", wrench=CouplingWrench, move=REAL * 6, rank=ctypes.c_int32,
    limited=ctypes.c_bool,
)  # fmt: skip
DepthLimit = structure(
    "rf_depth_limit", begun=ctypes.c_bool, returned=ctypes.c_bool, arrived=ctypes.c_bool,
    kind=ctypes.c_int32, safe=Pose, safe_depth=REAL, taken=REAL, trust=REAL,
)  # fmt: skip
WorkspaceSettings = structure(
    "rf_workspace_settings", scale=REAL, force_scale=REAL, alignment=REAL * 4,
    absolute=ctypes.c_bool, start=Pose, clutch_buttons=ctypes.c_uint32,
)  # fmt: skip
WorkspaceState = structure(
    "rf_workspace_state", begun=ctypes.c_bool, held=ctypes.c_bool, manipulandum=Pose,
    origin=REAL * 3, centre=REAL * 3, turn=REAL * 4,
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
