"""Worlds of the core as a library of its own, for tests: see world_core.c."""

from __future__ import annotations

import atexit
import ctypes
import functools
import shutil
import tempfile
from pathlib import Path

import numpy as np

import ckernels
from places import ROOT
from world_sources import WORLD

OK, ARG, MEMORY, SINGULAR = 0, -1, -2, -3
TREE, FIELD = 0, 1
NONE, OWN, JOINT = 0, 1, 2
UPRIGHT = (1.0, 0.0, 0.0, 0.0)
HERE = np.array([0.0, 0.0, 0.0, *UPRIGHT])
INT, REAL, POINTER, TEXT = ctypes.c_int32, ctypes.c_double, ctypes.c_void_p, ctypes.c_char_p

SOURCES = (
    *WORLD, "world/coupled.c", "world/coupled_rt.c", "world/frictional.c",
    "world/frictional_local_rt.c", "world/frictional_rows_rt.c", "world/frictional_rt.c",
    "world/frictional_second_rt.c", "world/sites_rt.c",
    "constraint/friction.c",
    "constraint/friction_avx2_rt.c", "constraint/friction_avx512_rt.c",
    "constraint/friction_law_rt.c", "constraint/friction_plain_rt.c", "constraint/friction_rt.c",
    "constraint/friction_step_rt.c",
    "base/alloc.c", "base/run.c", "base/status.c",
    "dynamics/barrier.c", "dynamics/barrier_rt.c", "dynamics/barrier_solve_rt.c",
    "dynamics/motion.c", "dynamics/motion_rt.c", "dynamics/newmark.c",
    "dynamics/stage_rt.c", "dynamics/system.c", "linalg/dense_avx2_rt.c",
    "linalg/dense_avx512_rt.c", "linalg/dense_plain_rt.c", "linalg/dense_rt.c", "linalg/pose.c",
    "linalg/cubic.c", "linalg/cubic_rt.c",
    "linalg/simd.c", "mesh/bvh.c", "mesh/curved.c", "mesh/embed.c", "mesh/local.c",
    "mesh/nearest.c", "mesh/rule.c", "mesh/topology.c", "pointshell/tree.c",
    "pointshell/tree_avx2_rt.c", "pointshell/tree_avx512_rt.c", "pointshell/tree_plain_rt.c",
    "pointshell/tree_rt.c", "sdf/field.c", "sdf/field_avx2_rt.c", "sdf/field_plain_rt.c",
    "sdf/field_rt.c", "sdf/grid.c", "sdf/shape.c",
)  # fmt: skip


@functools.cache
def library() -> ctypes.CDLL:
    """Compile once per run."""
    folder = Path(tempfile.mkdtemp(prefix="reducedfem-world-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    sources = [ROOT / "tests/support/world_core.c", *(ROOT / "csrc" / name for name in SOURCES)]
    sources += [
        path
        for path in sorted((ROOT / "csrc/contact").glob("*.c"))
        if not path.name.startswith(("fit", "voxmap"))
    ]
    sources += [ROOT / f"csrc/deform/{name}.c" for name in ("field", "field_rt", "pose_rt")]
    sources += sorted((ROOT / "csrc/deform").glob("nearest_*.c"))
    # objects are named by their stems, which rooms may share
    named = []
    for source in sources:
        named.append(folder / f"{source.parent.name}_{source.name}")
        named[-1].write_text(f'#include "{source}"\n')
    lib = ckernels.build("world", named, folder)
    for name, *arguments in (
        ("begin", INT, POINTER, POINTER, INT, POINTER, REAL, REAL, POINTER, REAL, INT, INT),
        ("body", TEXT, POINTER, POINTER, INT, POINTER, REAL, POINTER, ctypes.c_int),
        ("pair", INT, INT), ("solve", TEXT), ("ask", INT, ctypes.c_int), ("place", INT, POINTER),
        ("hold", INT, POINTER), ("shape", INT, POINTER), ("search",), ("load",),
        ("search_within", REAL, REAL, REAL, POINTER),
        ("condense", INT, POINTER, POINTER), ("step", POINTER), ("joint",), ("end",),
        ("side", INT, ctypes.c_int, POINTER, POINTER, INT, POINTER),
        ("touching", INT, *[POINTER] * 5), ("blocks", INT, *[POINTER] * 3),
        ("load_of", INT, INT, *[POINTER] * 4), ("state", INT, *[POINTER] * 3),
        ("fail_from", ctypes.c_int64), ("blocks_alive",), ("depth",), ("error",),
    ):  # fmt: skip
        function = getattr(lib, f"scene_{name}")
        function.argtypes = arguments
        function.restype = ctypes.c_int
    lib.scene_depth.restype = REAL
    lib.scene_error.restype = TEXT
    lib.scene_blocks_alive.restype = ctypes.c_int64
    for name in ("place", "hold", "shape", "load", "end", "touching", "blocks", "load_of"):
        getattr(lib, f"scene_{name}").restype = None
    for name in ("state", "fail_from"):
        getattr(lib, f"scene_{name}").restype = None
    return lib


class WorldError(Exception):
    """A call that failed, with its message."""


class Scene:
    """A world of bodies that share one shell and one sphere about the origin of their frames."""

    def __init__(
        self, points, normals, radius, stiffness, motion=None, grasp=(0, 0, 0), dt=1e-3,
        bodies=8, pairs=8,
    ):  # fmt: skip
        self.lib = library()
        self.r = 0 if motion is None else motion.shape[2]
        self.kept = [
            self.real(a) for a in (points, normals, np.zeros(1) if motion is None else motion)
        ]
        self.n = len(self.kept[0])
        self.n_bodies = self.n_pairs = 0
        at = [a.ctypes.data for a in self.kept]
        at_grasp = self.address(grasp)
        self.call(
            "begin", self.n, at[0], at[1], self.r, at[2], radius, stiffness, at_grasp, dt, bodies,
            pairs,
        )  # fmt: skip

    def real(self, values):
        return np.ascontiguousarray(values, dtype=np.float64)

    def address(self, values):
        """Return the address of an array that lives as long as the scene."""
        if values is None:
            return None
        self.kept.append(self.real(values))
        return self.kept[-1].ctypes.data

    def call(self, name, *arguments):
        status = getattr(self.lib, f"scene_{name}")(*arguments)
        if status < 0:
            raise WorldError(self.lib.scene_error().decode())
        return status

    def body(
        self, kind, pose=HERE, reference=(0, 0, 0), springs=None, dt=1e-3, q=None, implicit=False
    ):
        self.call(
            "body", kind.encode(), self.address(pose), self.address(reference),
            0 if springs is None else len(springs), self.address(springs), dt, self.address(q),
            int(implicit),
        )  # fmt: skip
        self.n_bodies += 1
        return self.n_bodies - 1

    def pair(self, tree, field):
        self.call("pair", tree, field)
        self.n_pairs += 1
        return self.n_pairs - 1

    def solve(self, name):
        self.call("solve", name.encode())

    def place(self, body, pose):
        self.lib.scene_place(body, self.address(pose))

    def shape(self, body, q):
        self.lib.scene_shape(body, self.address(q))

    def search(self):
        if self.lib.scene_search() < 0:
            raise WorldError("search")

    def step(self, move=(0,) * 6):
        return self.lib.scene_step(self.address(move))

    def side(self, pair, role):
        """Return wrench, its gradient, reduced force, and the number of touching points."""
        wrench, gradient = np.full(6, np.nan), np.full((6, 6), np.nan)
        r = self.r if role == TREE else 0
        reduced = np.full(r + 1, np.nan)
        n = self.lib.scene_side(
            pair, role, wrench.ctypes.data, gradient.ctypes.data, r, reduced.ctypes.data
        )
        return wrench, gradient, reduced[:r], n

    def touching(self, pair):
        """Return indices, positions, distances, normals and forces of touching points."""
        n = self.side(pair, TREE)[3]
        point = np.full(n, -1, dtype=np.int32)
        out = np.full((n, 3), np.nan), np.full(n, np.nan), np.full((n, 3), np.nan)
        positions, distances, normals = out
        forces = np.full((n, 3), np.nan)
        self.lib.scene_touching(
            pair, *(a.ctypes.data for a in (point, positions, distances, normals, forces))
        )
        return point, positions, distances, normals, forces

    def blocks(self, pair):
        out = [np.full((8, 8), np.nan) for _ in range(3)]
        self.lib.scene_blocks(pair, *(a.ctypes.data for a in out))
        return out

    def load(self, body, r=0):
        """Return wrench, gradient, reduced force and added stiffness of a body."""
        wrench, gradient = np.full(6, np.nan), np.full((6, 6), np.nan)
        reduced, added = np.full(r + 1, np.nan), np.full((8, 8), np.nan)
        self.lib.scene_load_of(
            body, r, *(a.ctypes.data for a in (wrench, gradient, reduced, added))
        )
        return wrench, gradient, reduced[:r], added[:r, :r]

    def state(self, body, r=0):
        """Return q, qdot and the pose of a body."""
        q, qdot, pose = np.full(r + 1, np.nan), np.full(r + 1, np.nan), np.full(7, np.nan)
        self.lib.scene_state(body, q.ctypes.data, qdot.ctypes.data, pose.ctypes.data)
        return q[:r], qdot[:r], pose
