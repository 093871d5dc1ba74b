"""Softening of dimples by large deformations, measured by statics of the unreduced solid."""

from __future__ import annotations

import numpy as np

from reducedfem import _core
from reducedfem.base.quiet import warn
from reducedfem.contact.pointshell import Pointshell
from reducedfem.errors import InputError, PlausibilityWarning, ReducedFEMError
from reducedfem.geometry.embedding import Embedding
from reducedfem.solid.solid import Solid

__all__ = ["measure_softening"]

_PATCH = 0.2  # radius of the loaded patch, over that of the tool
_DEEP = 0.15  # dimple over the radius of the patch: loads of the ball at 0.05 to 0.08 of its radius
_SMALL = 0.01  # part of the load at which the solid is linear
_FACING = 0.7  # product of normals of the points of a patch
_TOLERANCE = 1e-6


def measure_softening(
    local: _core.LocalCompliance,
    solid: Solid,
    shell: Pointshell,
    embedding: Embedding,
    radius: float,
    stacklevel: int,
) -> float:
    """Return the softening s of dimples [Pa]: 1 + s x is their factor at the load x.

    A patch is pressed by the pressure under a ball, sqrt(1 - (r / a)^2), by statics of large
    deformations, fully and by a hundredth. The change of the work of the load over that of S is
    s x. The patch is around the point with the median compliance.
    """
    order = np.argsort(local.mean_compliance)
    middle = order[len(order) // 2]
    a = _PATCH * radius
    away = np.linalg.norm(shell.points - shell.points[middle], axis=1)
    near = np.flatnonzero((away < a) & (shell.normals @ shell.normals[middle] > _FACING))
    weight = np.sqrt(1.0 - (away[near] / a) ** 2)
    unit = np.zeros((shell.n_points, 3))
    unit[near] = (weight / weight.sum())[:, None] * shell.normals[near]
    points = near.astype(np.int32)
    compliance = float((unit * local.displacement(points, unit[near])).sum())
    if not compliance > 0.0:
        raise InputError(
            f"indenter: point {middle} of the shell has no local compliance to measure: its nodes "
            "are fixed, or the basis has all shapes of the solid"
        )
    force = _DEEP * a / compliance
    whole = []
    for part in (_SMALL, 1.0):
        try:
            u = solid.solve_static(embedding.distribute(part * force * unit), tol=_TOLERANCE)
        except ReducedFEMError as error:
            raise InputError(
                f"indenter={radius:g}: the statics of the solid under {part * force:.3g} N within "
                f"{a:.3g} m of point {middle} failed ({error}): pass the radius of a tool that is "
                "larger than the elements, or None"
            ) from error
        whole.append(float((unit * embedding.interpolate(u)).sum()) / (part * force))
    change = (whole[1] - whole[0]) / compliance
    if not abs(change) < 0.5:
        warn(
            f"indenter={radius:g}: a dimple of {_DEEP:.0%} of the patch changes the compliance by "
            f"{change:+.0%}, which is not of first order; the softening is not reliable: is the "
            "patch smaller than the elements?",
            PlausibilityWarning,
            stacklevel=stacklevel + 1,
        )
    return change / (force * compliance**2)
