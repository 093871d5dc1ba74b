"""Descriptions of tables: trajectories of ``reducedfem simulate`` and poses of a hand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from reducedfem.base.console import Console, bytes_text
from reducedfem.base.quiet import parsing
from reducedfem.cli.texts import AXES, box_text
from reducedfem.errors import FileFormatError
from reducedfem.haptics.pose_table import read_poses
from reducedfem.io.reading import in_memory, regular_file

__all__ = ["SUFFIXES", "info_table"]

SUFFIXES = (".csv", ".npz")

_LONGEST_LINE = 1 << 20  # bytes
_ARRAYS = ("time", "nodes", "displacement", "q")
_POSES = ("time", *AXES)
_COLUMN = re.compile(r"node(\d+)_([xyz])_m")


def info_table(path: Path, console: Console) -> None:
    """Describe a trajectory (.csv, .npz) or a table of poses (.csv); refuse other tables."""
    if path.suffix.lower() == ".npz":
        _info_arrays(path, console)
        return
    with regular_file(path) as (file, _):
        first = file.readline(_LONGEST_LINE).decode("utf-8-sig", "replace").strip()
    names = [name.strip() for name in first.split(",")]
    nodes = _nodes(names)
    if nodes is not None:
        _info_displacements(path, nodes, console)
    elif set(_POSES) <= set(names):
        _info_poses(path, console)
    else:
        raise FileFormatError(
            f"{str(path)!r} is a table with the first line {first[:80]!r}; tables that can be "
            "described begin with 'time_s,node0_x_m,...' (a trajectory of 'reducedfem simulate') "
            "or with 'time,x,y,z' (poses for 'reducedfem haptics SCENE --device replay:FILE')"
        )


def _nodes(names: Sequence[str]) -> list[int] | None:
    """Return the nodes named by the columns of a trajectory; None for other columns."""
    found = [_COLUMN.fullmatch(name) for name in names[1:]]
    nodes = [int(one[1]) for one in found[::3] if one]
    wanted = ["time_s", *(f"node{node}_{axis}_m" for node in nodes for axis in AXES)]
    return nodes if nodes and list(names) == wanted else None


def _info_displacements(path: Path, nodes: Sequence[int], console: Console) -> None:
    try:
        with regular_file(path) as (file, _):
            lines = [line for line in file.read().splitlines()[1:] if line.strip()]
        if not lines:
            raise ValueError("it has no rows")
        rows = np.loadtxt(lines, delimiter=",", ndmin=2)
        u = rows[:, 1:].reshape(len(rows), len(nodes), 3)
    except ValueError as error:
        raise FileFormatError(f"{str(path)!r} is a damaged trajectory: {error}") from None
    _say(path, rows[:, 0], nodes, u, None, console)


def _read_arrays(file: BinaryIO) -> dict[str, NDArray[np.float64]]:
    """Return the arrays of an archive that trajectories have; raise ValueError if it is damaged."""
    try:
        with parsing:
            data = np.load(file, allow_pickle=False)
            if not isinstance(data, np.lib.npyio.NpzFile):
                raise ValueError("one array")
            arrays = {name: data[name] for name in _ARRAYS if name in data}
    except (OSError, MemoryError):
        raise
    except Exception as error:  # of the tokenizer, of zlib and others, without a common base
        raise ValueError(str(error)) from error
    # members that do not begin as arrays are returned as bytes
    if not all(isinstance(one, np.ndarray) for one in arrays.values()):
        raise ValueError("no array")
    return arrays


def _info_arrays(path: Path, console: Console) -> None:
    try:
        with regular_file(path) as (file, _), in_memory(path):
            arrays = _read_arrays(file)
    except ValueError:
        raise FileFormatError(
            f"{str(path)!r} is damaged, or no archive of NumPy arrays (.npz)"
        ) from None
    time, nodes, u, q = (arrays.get(name, np.empty(0)) for name in _ARRAYS)
    numbers = all(one.dtype.kind in "iuf" for one in (time, nodes, u, q))
    sized = time.ndim == nodes.ndim == 1 and u.shape == (len(time), len(nodes), 3)
    if not (len(arrays) == 4 and numbers and sized and q.ndim == 2):
        raise FileFormatError(
            f"{str(path)!r} does not hold a trajectory of 'reducedfem simulate', which has the "
            f"arrays {', '.join(_ARRAYS)}"
        )
    _say(path, time, nodes.tolist(), u, q.shape[1], console)


def _say(
    path: Path,
    time: NDArray[np.float64],
    nodes: Sequence[int],
    u: NDArray[np.float64],
    r: int | None,
    console: Console,
) -> None:
    console.say(f"{path}: trajectory of 'reducedfem simulate'")
    console.fact("samples", f"{len(time):,}")
    if len(time):
        console.fact("time", f"{time[0]:.6g} to {time[-1]:.6g} s")
        for node, way in zip(nodes, np.linalg.norm(u, axis=2).T, strict=True):
            k = int(way.argmax())
            console.fact(f"node {node}", f"largest displacement {way[k]:.4g} m at {time[k]:.4g} s")
    if r is not None:
        console.fact("reduced coordinates", f"{r}")
    console.fact("file size", bytes_text(path.stat().st_size))


def _info_poses(path: Path, console: Console) -> None:
    times, positions, rotations, _ = read_poses(path)
    console.say(f"{path}: table of poses of a hand")
    console.fact("poses", f"{len(times):,}, {'without' if rotations is None else 'with'} rotations")
    console.fact("time", f"{times[0]:.6g} to {times[-1]:.6g} s")
    low, high = positions.min(axis=0), positions.max(axis=0)
    console.fact("positions", box_text(np.array([low, high])))
    console.fact("use", f"reducedfem haptics SCENE --device replay:{path}")
    console.fact("file size", bytes_text(path.stat().st_size))
