"""Files in the glTF 2.0 format: a surface, its morph targets and their animation.

No maintained library writes morph targets with an animation from arrays; the format is a JSON text
and a block of float32 and integer arrays, described by accessors (Khronos, glTF 2.0 specification,
sections 3.6, 3.7.2.2 and 3.11).
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem._version import __version__
from reducedfem.errors import FileFormatError, InputError
from reducedfem.io.atomic import replacing

__all__ = ["SUFFIXES", "Animation", "Shape", "Target", "check_suffix", "write"]

Array = NDArray[np.float64]

SUFFIXES = (".glb", ".gltf")
_FLOAT, _UINT16, _UINT32 = 5126, 5123, 5125
_VERTICES, _INDICES = 34962, 34963  # targets of buffer views
_RESTART = 65535  # an index of 16 bits that restarts a primitive
_LARGEST_GLB = 2**32 - 1  # bytes: the header has 32 bits for them


@dataclass(frozen=True)
class Target:
    """A morph target: displacements (v, 3) and changes of the normals (v, 3), for weight 1."""

    name: str
    displacements: Array
    normals: Array | None = None


@dataclass(frozen=True)
class Animation:
    """Values over time: weights of the targets (s, k), positions (s, 3), quaternions (s, 4).

    Times ascend from zero [s]. Quaternions are in the order of the package, w, x, y, z.
    """

    times: Array
    weights: Array
    positions: Array | None = None
    quaternions: Array | None = None


@dataclass(frozen=True)
class Shape:
    """Contents of a file: a surface with its morph targets, and how they move.

    ``upright`` is the rotation that turns the upward axis to z; colours are those of a screen
    (sRGB, 0 to 1): ``colours``, (v, 3), or one. ``extras`` are numbers for programs that read the
    file.
    """

    name: str
    vertices: Array
    triangles: NDArray[np.int32]
    normals: Array | None
    upright: Array
    colour: tuple[float, float, float]
    targets: Sequence[Target] = ()
    animation: Animation | None = None
    extras: Mapping[str, Any] = field(default_factory=dict)
    colours: Array | None = None


class _Arrays:
    """The binary block, and the accessors that describe it."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0
        self.views: list[dict[str, Any]] = []
        self.accessors: list[dict[str, Any]] = []

    def add(self, array: NDArray[Any], kind: int, target: int | None, bounds: bool) -> int:
        """Append an array (n,) or (n, k); return the index of its accessor."""
        data = array.tobytes()
        view: dict[str, Any] = {"buffer": 0, "byteOffset": self.size, "byteLength": len(data)}
        if target is not None:
            view["target"] = target
        width = 1 if array.ndim == 1 else array.shape[1]
        accessor: dict[str, Any] = {
            "bufferView": len(self.views),
            "componentType": kind,
            "count": len(array),
            "type": {1: "SCALAR", 3: "VEC3", 4: "VEC4"}[width],
        }
        if bounds:
            rows = array.reshape(-1, width)
            accessor["min"], accessor["max"] = rows.min(axis=0).tolist(), rows.max(axis=0).tolist()
        self.views.append(view)
        self.accessors.append(accessor)
        # every accessor begins at a multiple of four bytes
        data += b"\0" * (-len(data) % 4)
        self.parts.append(data)
        self.size += len(data)
        return len(self.accessors) - 1

    def reals(self, array: Array, what: str, target: int | None, bounds: bool = False) -> int:
        """Append an array in single precision."""
        with np.errstate(over="ignore"):
            single = np.asarray(array, dtype="<f4")
        if not np.isfinite(single).all():
            raise InputError(
                f"{what} has {np.abs(array).max():g}, but glTF files have single precision, with "
                "3.4e38 at most; are the units metres?"
            )
        # no negative zeros, which would differ between minimum and data
        return self.add(single + np.float32(0.0), _FLOAT, target, bounds)


def _linear(colours: ArrayLike) -> Array:
    """Return colours of the screen as the linear ones of the format."""
    c = np.asarray(colours, dtype=np.float64)
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def _unit(normals: Array) -> Array:
    """Return unit normals; vertices without one get that of z, as the format has no zero ones."""
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    return np.where(length > 0.0, normals / np.maximum(length, 1e-300), (0.0, 0.0, 1.0))


def _animation(animation: Animation, targets: int, node: int, arrays: _Arrays) -> dict[str, Any]:
    times = animation.times.astype("<f4")
    close = np.flatnonzero(np.diff(times) <= 0.0)
    if len(close):
        k = int(close[0]) + 1
        raise InputError(
            f"motion.times[{k}] is too close to the time before it for the single precision of "
            "glTF files; choose a smaller speed, or leave out states, by motion[::10]"
        )
    when = arrays.reals(animation.times, "motion.times", None, bounds=True)
    values: list[tuple[str, Array]] = []
    if targets:
        values.append(("weights", animation.weights.reshape(-1)))
    if animation.positions is not None:
        values.append(("translation", animation.positions))
    if animation.quaternions is not None:
        turned = animation.quaternions.copy()
        # of the two quaternions of a rotation the one nearer to that before it
        signs = np.where((turned[1:] * turned[:-1]).sum(axis=1) < 0.0, -1.0, 1.0)
        turned[1:] *= np.cumprod(signs)[:, None]
        values.append(("rotation", np.roll(turned, -1, axis=1)))
    samplers: list[dict[str, Any]] = []
    channels: list[dict[str, Any]] = []
    for path, value in values:
        output = arrays.reals(value, f"the {path} of the motion", None)
        channels.append({"sampler": len(samplers), "target": {"node": node, "path": path}})
        samplers.append({"input": when, "output": output, "interpolation": "LINEAR"})
    return {"name": "motion", "samplers": samplers, "channels": channels}


def _document(shape: Shape) -> tuple[dict[str, Any], bytes]:
    """Return the JSON object of a file, and its binary block."""
    arrays = _Arrays()
    attributes = {"POSITION": arrays.reals(shape.vertices, "vertices", _VERTICES, bounds=True)}
    if shape.normals is not None:
        attributes["NORMAL"] = arrays.reals(_unit(shape.normals), "normals", _VERTICES)
    if shape.colours is not None:
        # the format multiplies them by that of the material
        attributes["COLOR_0"] = arrays.reals(_linear(shape.colours), "colours", _VERTICES)
    base = (1.0, 1.0, 1.0) if shape.colours is not None else shape.colour
    small = len(shape.vertices) <= _RESTART
    indices = shape.triangles.reshape(-1).astype("<u2" if small else "<u4")
    primitive: dict[str, Any] = {
        "attributes": attributes,
        "indices": arrays.add(indices, _UINT16 if small else _UINT32, _INDICES, False),
        "material": 0,
    }
    mesh: dict[str, Any] = {"name": shape.name, "primitives": [primitive]}
    if shape.targets:
        primitive["targets"] = []
        for one in shape.targets:
            what = f"shape {one.name!r}"
            moved = {"POSITION": arrays.reals(one.displacements, what, _VERTICES, bounds=True)}
            if one.normals is not None:
                moved["NORMAL"] = arrays.reals(one.normals, f"normals of {what}", _VERTICES)
            primitive["targets"].append(moved)
        mesh["weights"] = [0.0] * len(shape.targets)
        # the names that Blender and three.js read
        mesh["extras"] = {"targetNames": [one.name for one in shape.targets], **shape.extras}
    # the format is y up: (x, y, z) with z up is (x, z, -y)
    turn = np.eye(4)
    turn[:3, :3] = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]) @ shape.upright
    body: dict[str, Any] = {"name": shape.name, "mesh": 0}
    nodes = [{"name": "world", "matrix": turn.T.reshape(-1).tolist(), "children": [1]}, body]
    document: dict[str, Any] = {
        "asset": {"version": "2.0", "generator": f"reducedfem {__version__}"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": nodes,
        "meshes": [mesh],
        "materials": [
            {
                "name": shape.name,
                "doubleSided": True,
                "pbrMetallicRoughness": {
                    "baseColorFactor": [*_linear(base).tolist(), 1.0],
                    "metallicFactor": 0.0,
                    "roughnessFactor": 0.5,
                },
            }
        ],
    }
    moves = shape.animation
    if moves is not None:
        if moves.positions is not None:
            body["translation"] = moves.positions[0].tolist()
        if moves.quaternions is not None:
            body["rotation"] = np.roll(moves.quaternions[0], -1).tolist()
        document["animations"] = [_animation(moves, len(shape.targets), 1, arrays)]
    document["accessors"], document["bufferViews"] = arrays.accessors, arrays.views
    document["buffers"] = [{"byteLength": arrays.size}]
    return document, b"".join(arrays.parts)


def _text(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":"), allow_nan=False).encode("utf-8")


def _packed(document: dict[str, Any], block: bytes) -> bytes:
    """Return the contents of a .glb file: header, JSON chunk, binary chunk."""
    text = _text(document)
    text += b" " * (-len(text) % 4)
    size = 12 + 8 + len(text) + 8 + len(block)
    if size > _LARGEST_GLB:
        raise InputError(
            f"motion and shapes make {size / 1e9:.1f} GB, a .glb file has 4.3 GB at most: leave "
            "out shapes, by reduced.truncate(r), or states, by motion[::10]"
        )
    head = struct.pack("<4sIIII", b"glTF", 2, size, len(text), 0x4E4F534A)
    return b"".join((head, text, struct.pack("<II", len(block), 0x004E4942), block))


def check_suffix(path: Path) -> None:
    """Refuse a name whose suffix is not one of the format."""
    if path.suffix.lower() not in SUFFIXES:
        raise FileFormatError(
            f"cannot write {str(path)!r}: glTF files are .glb (binary) or .gltf (text)"
        )


def write(path: Path, shape: Shape) -> None:
    """Write a file, whole or not at all."""
    document, block = _document(shape)
    if path.suffix.lower() == ".glb":
        data = _packed(document, block)
    else:
        encoded = base64.b64encode(block).decode("ascii")
        document["buffers"][0]["uri"] = f"data:application/octet-stream;base64,{encoded}"
        data = _text(document)
    with replacing(path) as temporary:
        temporary.write_bytes(data)
