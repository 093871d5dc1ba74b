"""Samples that keep a distance from each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem._check import number, reals
from reducedfem._run import Progress, callback, threads
from reducedfem.errors import InputError
from reducedfem.solid import Solid, held_fields, require_movable, require_solid

__all__ = ["thin_samples", "thin_shapes"]


def thin_samples(
    vectors: ArrayLike, distance: float, *, progress: Progress = None
) -> NDArray[np.int32]:
    """Return which samples to keep so that they keep a distance from each other.

    Greedy (Barbic 2007, section 2.8.2): of all samples that are closer than `distance` to
    another one, the one where samples lie densest goes first (of equals, the later one). The
    density at x_i is the sum over the other samples left of (1 - t^2)^2 where
    t = |x_i - x_j| / (2 distance) < 1, rounded to 2^-31. In the end samples that have nobody
    near any more come back. So those kept are at least `distance` apart, and each one dropped
    is closer than `distance` to one that is kept.

    Parameters
    ----------
    vectors
        Samples, shape (m, ...): forces [N], for example; the metric is Euclidean.
    distance
        In the unit of the samples, at least 0; 0 keeps all.
    progress
        A bar: True, False, or None (after two seconds, in a terminal); or ``f(done, total)``.

    Returns
    -------
    int32 array
        Indices of the samples kept, ascending. The same for any number of threads.

    Raises
    ------
    InputError, InputTypeError
        `vectors` has no axis of samples or a value that is not finite, or `distance` is negative.
    """
    samples = reals(vectors, "vectors")
    if samples.ndim == 0:
        raise InputError("vectors must have shape (m, ...), got one number")
    apart = distance_apart(distance, "distance")
    points = samples.reshape(len(samples), samples.size // max(len(samples), 1))
    with callback(progress, "thinning") as tell:
        return _core.thin(points, apart, tell, threads())


def thin_shapes(
    solid: Solid, shapes: ArrayLike, distance: float, *, progress: Progress = None
) -> NDArray[np.int32]:
    """Return which deformations to keep so that they keep a distance in the metric of the mass.

    As `thin_samples`, with the distance ((u - v)^T M (u - v))^(1/2), M the consistent mass (the
    root of Barbic 2007, equation 2.40): what counts is how much mass moves how far.

    Parameters
    ----------
    solid
        Gives the mass.
    shapes
        Deformations [m], shape (m, n, 3), zero at fixed nodes.
    distance
        In kg^1/2 m, at least 0; 0 keeps all. Of two shapes that are d metres apart everywhere it
        is d times the root of `Solid.total_mass`.
    progress
        A bar: True, False, or None (after two seconds, in a terminal); or ``f(done, total)``.

    Returns
    -------
    int32 array
        Indices of the deformations kept, ascending.

    Raises
    ------
    InputError, InputTypeError
        `shapes` has a wrong shape, a value that is not finite or moves a fixed node; or
        `distance` is negative.
    MeshError
        Every node of the solid is fixed.
    """
    core = require_solid(solid)._core
    fields = held_fields(solid, shapes, "shapes")
    apart = distance_apart(distance, "distance")
    require_movable(solid)
    with callback(progress, "thinning") as tell:
        return _core.thin_shapes(core, fields, apart, tell, threads())


def distance_apart(value: object, name: str) -> float:
    """Return a distance, or say which argument is none."""
    apart = number(value, name)
    if apart < 0.0:
        raise InputError(f"{name} must be at least 0, got {apart:g}")
    return apart
