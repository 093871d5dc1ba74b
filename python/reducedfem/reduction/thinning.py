"""Thinning: subsets of samples with a minimum distance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import number, reals
from reducedfem.base.run import Progress, callback, threads
from reducedfem.errors import InputError
from reducedfem.solid.held import held_fields, require_movable
from reducedfem.solid.solid import Solid, require_solid

__all__ = ["thin_samples", "thin_shapes"]


def thin_samples(
    vectors: ArrayLike, distance: float, *, progress: Progress = None
) -> NDArray[np.int32]:
    """Return a subset of samples with a minimum distance.

    Greedy (Barbic 2007, section 2.8.2): of all samples closer than `distance` to another one, the
    sample with the largest density is dropped (of equals, the later one), and so on. The density
    at x_i is the sum of (1 - t^2)^2 over the other samples left with
    t = |x_i - x_j| / (2 distance) < 1, rounded to 2^-31. At the end, dropped samples without a
    neighbour closer than `distance` are restored. Samples kept are then at least `distance`
    apart, and each dropped one is closer than `distance` to a kept one.

    Parameters
    ----------
    vectors
        Samples, shape (m, ...), such as forces [N]; the metric is Euclidean.
    distance
        Minimum distance in the unit of the samples, at least 0; 0 keeps all.
    progress
        A bar: True, False, or None (after two seconds, in a terminal); or ``f(done, total)``.

    Returns
    -------
    int32 array
        Ascending indices of the samples kept, equal for any number of threads.

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
    """Return a subset of deformations with a minimum distance in the mass metric.

    As `thin_samples`, with the distance ((u - v)^T M (u - v))^(1/2), M the consistent mass (the
    square root of Barbic 2007, equation 2.40).

    Parameters
    ----------
    solid
        Solid that defines the mass.
    shapes
        Deformations [m], shape (m, n, 3), zero at fixed nodes.
    distance
        Minimum distance [kg^1/2 m], at least 0; 0 keeps all. Shapes d metres apart at every point
        have the distance d times the square root of `Solid.total_mass`.
    progress
        A bar: True, False, or None (after two seconds, in a terminal); or ``f(done, total)``.

    Returns
    -------
    int32 array
        Ascending indices of the deformations kept.

    Raises
    ------
    InputError, InputTypeError
        `shapes` has a wrong shape, a value that is not finite or moves a fixed node; or
        `distance` is negative.
    MeshError
        Every node of the solid is fixed.
    """
    core = require_solid(solid)._core
    fields = held_fields(core, shapes, "shapes")
    apart = distance_apart(distance, "distance")
    require_movable(core)
    with callback(progress, "thinning") as tell:
        return _core.thin_shapes(core, fields, apart, tell, threads())


def distance_apart(value: object, name: str) -> float:
    """Return a distance after checks; errors name the argument."""
    apart = number(value, name)
    if apart < 0.0:
        raise InputError(f"{name} must be at least 0, got {apart:g}")
    return apart
