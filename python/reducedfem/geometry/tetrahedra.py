"""Tetrahedral meshes inside a surface, by the package pytetwild."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem.base.check import flag, positive, require
from reducedfem.base.run import threads
from reducedfem.errors import ConvergenceError, InputError, MeshError, MissingPackageError
from reducedfem.geometry.mesh import Mesh
from reducedfem.geometry.surface import Surface

__all__ = ["tetrahedralize"]

_SIZE = 0.05  # default edge length relative to the diagonal
_TOLERANCE = 1e-3
_POLL_S = 0.05

# Program of the child process: it imports only NumPy and pytetwild, and ends with its parent.
_CHILD = """
import ctypes, signal, sys
try:
    ctypes.CDLL(None).prctl(1, int(signal.SIGKILL))
except (AttributeError, OSError):
    pass
import numpy as np
import pytetwild
given = np.load(sys.argv[1])
points, tets = pytetwild.tetrahedralize(
    given["vertices"], given["triangles"], edge_length_fac=float(given["size"]),
    epsilon=float(given["tolerance"]), num_threads=int(given["threads"]),
)
np.savez(sys.argv[2], points=points, tets=tets)
"""


def tetrahedralize(
    surface: Surface,
    size: float | None = None,
    *,
    tolerance: float | None = None,
    quadratic: bool = True,
    timeout: float | None = 300.0,
) -> Mesh:
    """Create a mesh of tetrahedra inside a surface, by fTetWild.

    The method is that of Hu et al. (ACM Transactions on Graphics 39(4), 2020), from the package
    pytetwild, which ``pip install 'reducedfem[tets]'`` installs. It accepts any surface: open,
    self-crossing, or a soup; holes are closed first (`Surface.filled`). It usually takes 10 to 100
    seconds and occasionally much longer. It runs in a child process, which ends after `timeout`, on
    Ctrl-C, and with the parent process.

    Parameters
    ----------
    surface
        Boundary of the mesh.
    size
        Target length of edges [m]. None: a twentieth of the diagonal of the bounding box.
    tolerance
        Largest distance [m] of the boundary of the mesh from the surface. None: a thousandth of the
        diagonal.
    quadratic
        True: ten-node tetrahedra, with a node in the middle of every edge. False: four-node
        tetrahedra, which are several times too stiff in bending.
    timeout
        Time limit [s]. None: unlimited.

    Returns
    -------
    Mesh
        Tetrahedra with ten nodes and straight edges, or with four nodes.

    Raises
    ------
    MissingPackageError
        pytetwild is not installed.
    ConvergenceError
        The time limit was reached without a mesh.
    MeshError
        The surface encloses no volume, or the method found no mesh.
    InputError, InputTypeError
        An argument is out of range or of a wrong type.
    """
    require(surface, Surface, "surface")
    quadratic = flag(quadratic, "quadratic")
    limit = None if timeout is None else positive(timeout, "timeout")
    low, high = surface.bounds
    diagonal = float(np.linalg.norm(high - low))
    if not diagonal > 0:
        raise MeshError("all vertices of the surface are at the same place: it has no size")
    relative = _SIZE if size is None else positive(size, "size") / diagonal
    if not relative <= 1:
        raise InputError(f"size must be at most the diagonal of the surface, {diagonal:g} m")
    apart = _TOLERANCE if tolerance is None else positive(tolerance, "tolerance") / diagonal
    if not apart <= 0.1:
        raise InputError(f"tolerance must be at most a tenth of the diagonal, {0.1 * diagonal:g} m")
    if importlib.util.find_spec("pytetwild") is None:
        raise MissingPackageError(
            "tetrahedralize needs the package pytetwild, which is not installed: "
            "pip install 'reducedfem[tets]'"
        )
    closed = surface.filled()
    made = _in_child(
        {
            # normalised, so that unit and position have no influence
            "vertices": (closed.vertices - low) / diagonal,
            "triangles": closed.triangles,
            "size": relative,
            "tolerance": apart,
            "threads": threads(),
        },
        limit,
    )
    nodes, elements = _proper(made["points"], made["tets"])
    mesh = Mesh(low + diagonal * nodes, elements)
    return mesh.quadratic() if quadratic else mesh


def _proper(
    points: NDArray[np.float64], tets: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the used points, and tetrahedra reordered to positive volume."""
    if len(tets) == 0:
        raise MeshError("fTetWild found no tetrahedron inside the surface: it encloses nothing")
    used, elements = np.unique(tets, return_inverse=True)
    nodes, elements = np.asarray(points, np.float64)[used], elements.reshape(-1, 4)
    corners = nodes[elements]
    inverted = np.linalg.det(corners[:, 1:] - corners[:, :1]) < 0
    elements[inverted] = elements[inverted][:, [0, 2, 1, 3]]
    return nodes, elements


def _in_child(given: dict[str, Any], timeout: float | None) -> dict[str, NDArray[Any]]:
    """Run fTetWild in a child process, which ends with this call."""
    with tempfile.TemporaryDirectory(prefix="reducedfem-tets-") as folder:
        task, result = Path(folder) / "task.npz", Path(folder) / "result.npz"
        np.savez(task, **given)
        # the child has the same import path
        env = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        with open(Path(folder) / "errors", "wb") as errors:
            child = subprocess.Popen(
                [sys.executable, "-c", _CHILD, str(task), str(result)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, env=env,
                cwd=folder,  # fTetWild writes a file to its working directory
                start_new_session=True,  # Ctrl-C is for this process, which ends the other
            )  # fmt: skip
            try:
                _wait(child, timeout)
            finally:
                _end(child)
        if child.returncode != 0 or not result.is_file():
            raise _failure(child.returncode, (Path(folder) / "errors").read_bytes())
        with np.load(result) as made:
            return {name: made[name] for name in ("points", "tets")}


def _wait(child: subprocess.Popen[bytes], timeout: float | None) -> None:
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        # short waits, because Python handles signals between them
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_POLL_S)
            return
        if end is not None and time.monotonic() > end:
            raise ConvergenceError(
                f"fTetWild has no mesh after {timeout:g} s and was stopped: choose a larger size "
                "or tolerance, or a longer timeout, or use voxelize"
            )


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kill a process that is still running."""
    if child.poll() is not None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _failure(code: int, text: bytes) -> Exception:
    """Return the error of a process that failed."""
    lines = text.decode("utf-8", errors="replace").strip().splitlines()
    last = lines[-1] if lines else ""
    if last.startswith(("ModuleNotFoundError", "ImportError")):
        return MissingPackageError(
            f"pytetwild cannot be imported ({last}): pip install 'reducedfem[tets]'"
        )
    if "MemoryError" in last or "bad_alloc" in last:
        return MemoryError("fTetWild ran out of memory: choose a larger size")
    how = f"was ended by signal {-code}" if code < 0 else f"failed with code {code}"
    return MeshError(f"fTetWild {how} and made no mesh{': ' + last if last else ''}")
