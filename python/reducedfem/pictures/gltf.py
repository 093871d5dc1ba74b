"""Export of surfaces, shapes and motions to glTF files."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.base.check import flag, positive, reals
from reducedfem.drawing.render import upright
from reducedfem.drawing.values import value_colours
from reducedfem.dynamics.recorded import Motion
from reducedfem.errors import InputError
from reducedfem.geometry.surface import Surface
from reducedfem.io import gltf_files
from reducedfem.io.atomic import as_path
from reducedfem.io.gltf_files import Animation, Shape, Target
from reducedfem.pictures.subject import Model, Subject
from reducedfem.pictures.values import GivenValues, SurfaceValues
from reducedfem.reduction.projected import ProjectedSolid

__all__ = ["export_gltf"]

Array = NDArray[np.float64]

# largest displacement of a shape at weight 1 without a motion, relative to the size of the body
_AMPLITUDE = 0.1


def _checked_colour(colour: ArrayLike) -> tuple[float, float, float]:
    given = reals(colour, "colour")
    if given.shape != (3,) or not ((given >= 0.0) & (given <= 1.0)).all():
        raise InputError(f"colour must be three numbers from 0 to 1, got {colour!r}")
    red, green, blue = given.tolist()
    return red, green, blue


def _vertex_colours(values: GivenValues, subject: Subject) -> Array:
    """Return the colours of values of one state, (v, 3)."""
    shown = SurfaceValues(values, subject)
    if shown.single is None:
        raise InputError(
            "values must be those of one state, such as solid.von_mises(u): the colours of a glTF "
            "file do not change over time; plot.animate and export_html show values that do"
        )
    return value_colours(shown.scale().place(shown.single))


def _shapes(subject: Subject, normals: bool) -> tuple[Array, Array | None]:
    """Return U at the vertices, (r, v, 3), and the changes of the normals, or None."""
    if subject.skin is not None:
        motion, tilt = subject.skin.motion, subject.skin.tilt
        return np.moveaxis(motion, 2, 0), np.moveaxis(tilt, 2, 0) if normals else None
    model = subject.model
    if not isinstance(model, ProjectedSolid):
        return np.zeros((0, *subject.surface.vertices.shape)), None
    return np.array([subject.at_vertices(one) for one in model.basis]), None


def _weights(q: Array, usual: Array) -> tuple[Array, Array, Array]:
    """Return the least q of each shape, its range, and weights from 0 to 1, (s, r).

    Negative weights would be exact too, but importers of other programs clamp them to 0.
    """
    low = q.min(axis=0)
    spread = q.max(axis=0) - low
    scale = np.where(spread > 0.0, spread, usual)
    return low, scale, (q - low) / scale


def _reduced(subject: Subject, normals: bool) -> tuple[list[Target], Array, dict[str, object]]:
    """Return the targets of a model, weights over time (s, k), and the numbers for readers."""
    shapes, tilts = _shapes(subject, normals)
    size = float(np.linalg.norm(np.ptp(subject.surface.bounds, axis=0)))
    largest = np.linalg.norm(shapes, axis=2).max(axis=1) if len(shapes) else np.zeros(0)
    usual = np.where(largest > 0.0, _AMPLITUDE * size / np.maximum(largest, 1e-300), 1.0)
    motion = subject.motion
    if motion is None:
        low, scale, weights = np.zeros(len(shapes)), usual, np.zeros((1, len(shapes)))
    else:
        low, scale, weights = _weights(motion.q, usual)

    def target(name: str, along: Array, part: slice) -> Target:
        moved = np.tensordot(along, shapes[part], 1)
        return Target(name, moved, None if tilts is None else np.tensordot(along, tilts[part], 1))

    targets = [
        target(f"shape {j + 1}", scale[j : j + 1], slice(j, j + 1)) for j in range(len(shapes))
    ]
    if low.any():
        targets.append(target("least", low, slice(None)))
        weights = np.concatenate([weights, np.ones((len(weights), 1))], axis=1)
    numbers = {"q_least": low.tolist(), "q_range": scale.tolist()}
    return targets, weights, {"reducedfem": numbers} if len(shapes) else {}


def export_gltf(
    path: str | os.PathLike[str],
    model: Model,
    surface: Surface | None = None,
    motion: Motion | None = None,
    *,
    speed: float = 1.0,
    up: str = "z",
    normals: bool = True,
    colour: Sequence[float] = (0.46, 0.62, 0.70),
    values: GivenValues | None = None,
) -> None:
    """Write a surface, the shapes of its model and a motion to a glTF file.

    Blender, browsers and most programs of computer graphics read the format. Each column of the
    basis is a morph target, and the motion the animation of their weights: u = U q is exact, to
    single precision, in any program that adds all targets (some old ones add eight: they need a
    model of seven shapes). The rigid motion of a free body is that of the node. Lengths are in
    metres. The file is written whole or not at all.

    Weights are from 0 to 1, because some programs clamp others: the weight of shape j is
    (q_j - q_least_j) / q_range_j, with the least value and the range of q_j along the motion, and
    the target ``least``, whose weight is 1, is the sum of q_least_j U_j. Both are in the file
    (``meshes[0].extras.reducedfem``). Without a motion, q_least is zero and weight 1 displaces the
    body by a tenth of its size.

    Parameters
    ----------
    path
        Name of the file: ``.glb`` (binary, small) or ``.gltf`` (text).
    model
        The object: a `ReducedSolid` or `ProjectedSolid`, a `Skin`, for normals of your own, a
        `Solid`, a `Mesh` or a `Surface`.
    surface
        Surface of the object. None: the surface from which its mesh was made, if there is one, or
        else the boundary of its mesh; of a `Mesh` its boundary.
    motion
        Motion of the model. None: no animation. A motion given by displacements of nodes, such as
        that of a `Solid`, becomes a morph target for each state.
    speed
        Speed of the animation: 0.1 plays ten times slower. The first state is at time 0.
    up
        Axis of the object that is up: "z", "y", "x", "-z", "-y" or "-x". The format has y up; the
        parent node ``world`` has the rotation, and vertices keep their coordinates.
    normals
        True: smooth normals, which follow the shapes as those of a `Skin` do. False, and for a
        `ProjectedSolid` and a motion of displacements: no normals, and programs shade flat
        triangles; half the size.
    colour
        Red, green and blue from 0 to 1.
    values
        `Values` of the nodes or elements in one state, or their `data` alone, such as
        ``solid.von_mises(u)``: they colour the vertices (``COLOR_0``), and the file has no colour
        bar. None: one colour.

    Raises
    ------
    FileFormatError
        The suffix is another one, or the file cannot be written.
    InputError, InputTypeError
        An argument has a wrong type or value, the motion is not one of the model, or values exceed
        single precision.
    """
    target = as_path(path)
    gltf_files.check_suffix(target)
    slowness = 1.0 / positive(speed, "speed")
    smooth = flag(normals, "normals")
    axes, rgb = upright(up), _checked_colour(colour)
    subject = Subject(model, surface, motion)
    rest = subject.surface.vertices
    if motion is not None and motion.q.ndim == 3:
        # U is the states themselves, q the unit vectors
        targets = [Target(f"state {k + 1}", subject.deformation(k)) for k in range(len(motion))]
        weights, smooth = np.eye(len(motion)), False
        extras: dict[str, object] = {}
    else:
        targets, weights, extras = _reduced(subject, smooth)
    animation = None
    if motion is not None:
        times = (motion.times - motion.times[0]) * slowness
        animation = Animation(times, weights)
        if motion.poses is not None and subject.centre is not None:
            rest = rest - subject.centre
            animation = Animation(times, weights, motion.poses[:, :3], motion.poses[:, 3:])
    colours = None if values is None else _vertex_colours(values, subject)
    given: Array | None = None
    # normals that do not follow the shapes would be wrong
    if smooth and (subject.skin is not None or not targets):
        skin = subject.skin
        given = subject.surface.normals if skin is None else skin.rest_normals
    gltf_files.write(
        target,
        Shape(
            target.stem,
            rest,
            subject.surface.triangles,
            given,
            axes,
            rgb,
            targets,
            animation,
            extras,
            colours,
        ),
    )
