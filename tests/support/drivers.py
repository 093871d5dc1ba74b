"""Libraries that stand in for those of drivers, and what is asked of them."""

from __future__ import annotations

import ctypes

import numpy as np

# ---- libraries of drivers ------------------------------------------------------------------------


class Mock:
    """A library that stands in for a driver's; its variables by name."""

    def __init__(self, path):
        self.path = path
        self._library = ctypes.CDLL(str(path))

    def ints(self, **values):
        for name, value in values.items():
            ctypes.c_int.in_dll(self._library, f"mock_{name}").value = value

    def int(self, name):
        return ctypes.c_int.in_dll(self._library, f"mock_{name}").value

    def reals(self, name, n=1):
        """Return an array on the variable's memory."""
        return np.ctypeslib.as_array((ctypes.c_double * n).in_dll(self._library, f"mock_{name}"))

    def text(self, name):
        return (ctypes.c_char * 64).in_dll(self._library, f"mock_{name}").value.decode()


DHD_FUNCTIONS = (
    "",
    "dhdGetDeviceCount",
    "dhdOpen",
    "dhdSetMaxForce",
    "dhdSetMaxTorque",
    "dhdEnableForce",
    "dhdGetPositionAndOrientationFrame",
    "dhdGetLinearVelocity",
    "dhdGetAngularVelocityRad",
    "dhdSetForceAndTorqueAndGripperForce",
)


def let_go(dhd):
    """Return True if everything that was opened is closed again, without force."""
    return (
        dhd.int("opened") == dhd.int("closed")
        and not dhd.int("enabled")
        and not dhd.reals("wrench", 6).any()
    )


# ---- OpenHaptics ---------------------------------------------------------------------------------


HD_ERRORS = "init_error info_error start_error schedule_error read_error write_error".split()


def place(hd, position, rotation=None):
    """Put the handle somewhere: by columns, millimetres."""
    matrix = np.eye(4)
    matrix[:3, 3] = 1e3 * np.asarray(position)
    matrix[:3, :3] = np.eye(3) if rotation is None else rotation
    hd.reals("transform", 16)[:] = matrix.T.ravel()
