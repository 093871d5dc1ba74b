"""Files of motions of worlds, in the safetensors format.

Arrays, with s states, n bodies of r_i coordinates each, and d bodies with dimples of m_j points:

===============  ===  ===========================================================
``times``        F64  (s,): times [s], ascending
``q``            F64  (s, sum r): coordinates of the bodies in turn [kg^1/2 m]
``qdot``         F64  the same: their rates
``poses``        F64  (s, n, 7): centres of mass [m] and quaternions (w, x, y, z)
``rates``        F64  (s, n, 6): velocities [m/s] and angular velocities [rad/s]
``dimples``      F64  (s, sum m, 3): displacements of points of shells [m]
``coordinates``  I32  (n,): numbers r
``dimpled``      I32  (d,): indices of the bodies with dimples; fixed ones: -2, ...
``points``       I32  (d,): numbers m
===============  ===  ===========================================================

Metadata, all texts: ``format`` (always ``reducedfem-world-motion``), ``format_version``,
``package_version``, ``units`` and ``sha256`` as in files of models.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from reducedfem.errors import ReducedFEMError
from reducedfem.io import tensors
from reducedfem.io.atomic import replacing, with_suffix
from reducedfem.io.tensors import Refused

__all__ = ["FORMAT", "read", "save"]

_Motion = TypeVar("_Motion")

FORMAT = "reducedfem-world-motion"
_LARGEST = 1e100  # of SI units
_SCHEMA = {
    "times": "F64",
    "q": "F64",
    "qdot": "F64",
    "poses": "F64",
    "rates": "F64",
    "dimples": "F64",
    "coordinates": "I32",
    "dimpled": "I32",
    "points": "I32",
}
_LAYOUT = tensors.Layout(
    FORMAT, 1, "motion of a world", lambda _: _SCHEMA, ("package_version", "units", "sha256")
)


def save(path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a motion, whole or not at all; equal arrays give equal bytes."""
    data = tensors.write(_LAYOUT, arrays, {"units": "SI: s, m, m/s, rad/s, kg^1/2 m"})
    with replacing(with_suffix(path, ".safetensors", "the motion of a world")) as temporary:
        temporary.write_bytes(data)


def read(
    stream: BinaryIO,
    size: int,
    name: str,
    make: Callable[[Mapping[str, NDArray[Any]]], _Motion],
) -> _Motion:
    """Return ``make(arrays)`` of an open file after checks of all its contents."""

    def assemble(_: Mapping[str, str], arrays: Mapping[str, NDArray[Any]]) -> _Motion:
        for counts, whole in (("coordinates", "q"), ("points", "dimples")):
            found = arrays[counts].astype(np.int64)
            if (found < 1).any() or found.sum() != arrays[whole].shape[1]:
                raise Refused(f"{counts!r} does not agree with {whole!r}")
        for array in arrays.values():
            if not (np.abs(array.astype(np.float64)) < _LARGEST).all():
                raise Refused("its arrays have values that are not finite, or far too large")
        if len(np.unique(arrays["dimpled"])) != len(arrays["dimpled"]):
            raise Refused("'dimpled' has an index twice")
        try:
            return make(arrays)
        except ReducedFEMError as why:
            raise Refused(str(why)) from None

    return tensors.read(_LAYOUT, stream, size, name, _check_shapes, assemble)


def _check_shapes(shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse arrays whose shapes do not match."""
    for name in ("times", "coordinates", "dimpled", "points"):
        if len(shapes[name]) != 1:
            raise Refused(f"{name!r} has shape {shapes[name]}; it must have one axis")
    s, n, d = (shapes[name][0] for name in ("times", "coordinates", "dimpled"))
    wide, places = ((*shapes[name], 0, 0)[1] for name in ("q", "dimples"))
    expected = {
        "q": (s, wide),
        "qdot": (s, wide),
        "poses": (s, n, 7),
        "rates": (s, n, 6),
        "dimples": (s, places, 3),
        "points": (d,),
    }
    for name, shape in expected.items():
        if shapes[name] != shape:
            raise Refused(f"{name!r} has shape {shapes[name]}; it must be {shape} here")
