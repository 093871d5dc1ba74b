"""Bodies and motions of the scenes, all made by formulas."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

import reducedfem as rf
from reducedfem._check import count

__all__ = [
    "MOST_R",
    "Radius",
    "Trajectory",
    "dragon",
    "hand",
    "helix",
    "hose",
    "paddle",
    "post",
    "refuse_no_device",
    "soften",
    "statue",
    "through",
    "tube",
]

Array: TypeAlias = NDArray[np.float64]
Radius: TypeAlias = float | Callable[[Array, Array], Array]
Trajectory: TypeAlias = tuple[Array, Array, Array]

MOST_R = 44
"""Reduced coordinates of a soft body at most: so many are eight modes and their derivatives."""

_MODES = 8
_CAP = 8  # rings of a rounded end


def helix(radius: float, pitch: float, turns: float, points: int = 400) -> Array:
    """Return points of a helix about the z axis, its middle at the height 0.

    Parameters
    ----------
    radius
        Of the cylinder it lies on [m].
    pitch
        Height of a turn [m].
    turns
        Number of turns, the same on both sides of the x axis.
    points
        Number of points to return.

    Returns
    -------
    ndarray
        Shape (points, 3) [m].
    """
    turn = np.pi * turns * np.linspace(-1.0, 1.0, points)
    return np.stack(
        [radius * np.cos(turn), radius * np.sin(turn), pitch * turn / (2.0 * np.pi)], axis=1
    )


def tube(spine: ArrayLike, radius: Radius, rings: int = 160, sides: int = 48) -> rf.Surface:
    """Return a closed tube around a curve, with rounded ends.

    Parameters
    ----------
    spine
        Points of the curve [m], shape (n, 3), n at least 2; straight between them.
    radius
        Of the section [m]: a number, or a function of the part of the length, 0 to 1, and of
        the angle around [rad], which takes and gives arrays (rings, sides). The angle 0 is
        upwards, or along x where the curve begins upwards; sections do not twist.
    rings, sides
        Vertices along and around.

    Returns
    -------
    Surface
        It faces outwards.

    Raises
    ------
    InputError
        The curve has no length.
    """
    x = np.asarray(spine, dtype=np.float64)
    arc = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(x, axis=0), axis=1))])
    if not arc[-1] > 0.0:
        raise rf.InputError(f"spine must have a length, got {arc[-1]:g} m")
    around = 2.0 * np.pi * np.arange(sides) / sides

    def width(s: Array) -> Array:
        along, angle = np.meshgrid(s, around, indexing="ij")
        return radius(along, angle) if callable(radius) else np.full(along.shape, radius)

    # ends are round: the sine of an angle that runs up to the full section
    open_up = np.linspace(0.0, 0.5 * np.pi, _CAP + 1)[1:]
    cap = width(np.array([0.0, 1.0])).mean(axis=1)
    first, last = cap[0] * (1.0 - np.cos(open_up)), arc[-1] - cap[1] * (1.0 - np.cos(open_up))
    at = np.concatenate([first, np.linspace(first[-1], last[-1], rings)[1:-1], last[::-1]])
    closing = np.concatenate([np.sin(open_up), np.ones(rings - 2), np.sin(open_up)[::-1]])
    centre = np.stack([np.interp(at, arc, x[:, k]) for k in range(3)], axis=1)
    tangent = np.gradient(centre, at, axis=0)
    tangent /= np.linalg.norm(tangent, axis=1)[:, None]
    up = np.empty_like(tangent)
    before = np.eye(3)[0 if abs(tangent[0, 2]) > 0.9 else 2]
    for k, t in enumerate(tangent):
        before = before - (before @ t) * t
        before /= np.linalg.norm(before)
        up[k] = before
    aside = np.cross(tangent, up)
    r = closing[:, None] * width(at / arc[-1])
    body = (
        centre[:, None]
        + (r * np.cos(around))[..., None] * up[:, None]
        + (r * np.sin(around))[..., None] * aside[:, None]
    )
    vertices = np.concatenate([body.reshape(-1, 3), x[[0, -1]]])
    index = np.arange(r.size).reshape(r.shape)
    a, b = index[:-1], index[1:]
    c, d = np.roll(b, -1, axis=1), np.roll(a, -1, axis=1)
    ends = [np.full(sides, r.size), np.full(sides, r.size + 1)]
    triangles = np.concatenate(
        [
            np.stack([a, d, c], axis=-1).reshape(-1, 3),
            np.stack([a, c, b], axis=-1).reshape(-1, 3),
            np.stack([ends[0], np.roll(index[0], -1), index[0]], axis=1),
            np.stack([ends[1], index[-1], np.roll(index[-1], -1)], axis=1),
        ]
    )
    return rf.Surface(vertices, triangles)


def statue(height: float = 0.25) -> rf.Surface:
    """Return a figure with arms and folds on a base, along z from 0 to its height [m]."""

    def radius(s: Array, angle: Array) -> Array:
        places = [0.0, 0.1, 0.14, 0.3, 0.5, 0.66, 0.78, 0.88, 1.0]
        thick = np.interp(s, places, [0.16, 0.16, 0.08, 0.1, 0.064, 0.088, 0.036, 0.068, 0.024])
        arms = 0.048 * np.exp(-(((s - 0.62) / 0.1) ** 2)) * np.cos(angle) ** 2
        folds = 0.0024 * np.sin(9.0 * angle + 40.0 * s) * np.cos(150.0 * s)
        return np.asarray(height * (thick + arms + folds))

    return tube([[0.0, 0.0, 0.0], [0.0, 0.0, height]], radius, rings=300, sides=128)


def dragon() -> rf.Surface:
    """Return a tail along -x, 0.2 m, a trunk that rears up to 0.19 m, a comb, a head and scales."""

    def radius(s: Array, angle: Array) -> Array:
        places = [0.0, 0.3, 0.5, 0.7, 0.88, 0.94, 1.0]
        thick = np.interp(s, places, [0.005, 0.016, 0.022, 0.014, 0.012, 0.017, 0.008])
        comb = np.maximum(np.cos(angle), 0.0) ** 24 * np.maximum(np.sin(75.0 * s), 0.0)
        scales = np.sin(16.0 * angle) * np.sin(200.0 * s)
        return np.asarray(thick + 0.006 * comb * (s > 0.2) * (s < 0.9) + 3e-4 * scales)

    s = np.linspace(0.0, 1.0, 80)
    rise = 0.1 * np.logaddexp(0.0, (s - 0.6) / 0.1)
    spine = np.stack([0.4 * s - 0.25 * rise - 0.2, 0.0 * s, 0.025 + 0.4 * rise], axis=1)
    return tube(spine, radius, rings=400, sides=128)


def hose(axis: int, height: float, length: float = 0.3) -> rf.Surface:
    """Return a hose of 24 mm along the axis x, 0, or y, 1, whose middle is at a height [m]."""
    s = np.linspace(-1.0, 1.0, 40)
    spine = np.stack([0.5 * length * s, 0.01 * np.sin(3.0 * s), 0.01 * np.cos(2.0 * s)], axis=1)
    spine[:, :2] = np.roll(spine[:, :2], axis, axis=1)
    spine[:, 2] += height - 0.01
    return tube(spine, 0.012)


def paddle() -> rf.Surface:
    """Return a handle along x from -0.16 m and, up to 0, a blade that lies flat."""

    def radius(s: Array, angle: Array) -> Array:
        wide = np.interp(s, [0.0, 0.4, 0.6, 1.0], [0.008, 0.008, 0.03, 0.03])
        return np.asarray(1.0 / np.hypot(np.cos(angle) / 0.006, np.sin(angle) / wide))

    return tube([[-0.16, 0.0, 0.0], [0.0, 0.0, 0.0]], radius)


def post() -> rf.Surface:
    """Return a post along z from 0 to 0.12 m, thickest at its head."""
    return tube([[0.0, 0.0, 0.0], [0.0, 0.0, 0.12]], lambda s, _: 0.012 + 0.01 * s**4)


def soften(
    surface: rf.Surface,
    held: Callable[[Array], NDArray[np.bool_]],
    r: int,
    young: float = 4e5,
    resolution: int = 40,
) -> rf.ReducedSolid:
    """Return a reduced model of a soft body of the density of water.

    Parameters
    ----------
    surface
        Of the body; its mesh is made of the voxels that it touches or encloses.
    held
        Which nodes are fixed, by their places (n, 3) [m].
    r
        Reduced coordinates, at most `MOST_R`: linear modes and their derivatives.
    young
        Its modulus [Pa].
    resolution
        Voxels along the longest side.

    Returns
    -------
    ReducedSolid

    Raises
    ------
    InputError, InputTypeError
        `r` is no such number.
    """
    count(r, "r", MOST_R)
    mesh = rf.voxelize(surface, resolution)
    material = rf.StVK(young, poisson=0.4, density=1000.0)
    with warnings.catch_warnings():
        # cells of second order bend well enough with one across
        warnings.simplefilter("ignore", rf.PlausibilityWarning)
        solid = rf.Solid(mesh, material, fixed=held(np.asarray(mesh.nodes)))
    return rf.reduce(solid, rf.modal_derivative_basis(solid, k=min(r, _MODES), r=r))


def through(keys: ArrayLike, seconds: float, rate: float = 1000.0) -> Trajectory:
    """Return a motion of a hand that rests at some poses, without a jerk between them.

    Parameters
    ----------
    keys
        Places [m] and rotation vectors [rad], shape (k, 6), the same time apart. What is between
        two of them is a straight way and, about the same axis, a plain turn; both at once are a
        screw.
    seconds
        From the first to the last.
    rate
        Of the samples [Hz].

    Returns
    -------
    times, positions, quaternions
        As `SimulatedHand` and `ReplayDevice` take them, shapes (n,), (n, 3), (n, 4).
    """
    poses = np.asarray(keys, dtype=np.float64)
    n = max(2, round(seconds * rate) + 1)
    at = np.linspace(0.0, len(poses) - 1.0, n)
    first = np.minimum(at.astype(int), len(poses) - 2)
    part = (at - first)[:, None]
    # the way of least jerk from rest to rest
    blend = part**3 * (10.0 - 15.0 * part + 6.0 * part**2)
    x = poses[first] + blend * (poses[first + 1] - poses[first])
    half = 0.5 * np.linalg.norm(x[:, 3:], axis=1, keepdims=True)
    # sin(h) / (2 h) by numpy's sinc, which knows zero
    quaternions = np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * x[:, 3:]], axis=1)
    return np.linspace(0.0, seconds, n), x[:, :3], quaternions


def refuse_no_device(device: rf.Device) -> None:
    """Refuse what a hand cannot hold.

    Parameters
    ----------
    device
        Perhaps none.

    Raises
    ------
    InputTypeError
        It is none.
    """
    if not isinstance(device, rf.Device):
        raise rf.InputTypeError(
            "device must be a Device, such as SpaceMouse(), or None for a simulated hand, got "
            f"{type(device).__name__}"
        )


def hand(
    device: rf.Device | None, keys: ArrayLike, options: dict[str, Any], seconds: float = 10.0
) -> tuple[rf.Device, dict[str, Any]]:
    """Return the device of a scene, and options with the place where it begins and its axes.

    Parameters
    ----------
    device
        The one that was asked for; None: a simulated hand.
    keys, seconds
        Of its motion, as of `through`. Another device begins at the first of them.
    options
        Of `HapticSession`; a workspace among them is kept.

    Returns
    -------
    device, options

    Raises
    ------
    InputTypeError
        The device is none.
    """
    if device is not None:
        refuse_no_device(device)
    times, positions, quaternions = through(keys, seconds)
    start = tuple(positions[0].tolist()), tuple(quaternions[0].tolist())
    chosen = rf.SimulatedHand(times, positions, quaternions) if device is None else device
    place = rf.Workspace(start=start, alignment=chosen.alignment)
    return chosen, {"workspace": place, **options}
