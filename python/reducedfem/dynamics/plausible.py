"""Warnings about time steps that do not resolve the motion, and of modes that do not fit it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.base.quiet import warn
from reducedfem.errors import PlausibilityWarning
from reducedfem.geometry.mesh import Mesh
from reducedfem.reduction.reduced import ReducedSolid

__all__ = [
    "SMALL",
    "farthest_of",
    "warn_of_coarse_steps",
    "warn_of_one_iteration",
    "warn_of_rest_modes",
    "warn_of_turning_modes",
]

# steps per period of the lowest mode with which the trapezoidal rule makes it 12 % too long; those
# of all other modes are worse
_FEWEST = 5.0
_ENOUGH = 20.0  # 0.8 % too long
# displacement over the size of the body at which modes of rest lose a tenth of the energy in two
# periods (docs/time_integration.md)
SMALL = 0.02
_TURN = 300.0  # steps a turn with which exact modes lose 4 % of the energy a turn


def warn_of_coarse_steps(
    model: ReducedSolid,
    dt: float,
    rates: tuple[float, float],
    viscous: _core.Damping | None,
    stacklevel: int,
) -> None:
    """Warn of steps that do not resolve the lowest mode.

    A mode that is damped more than critically does not vibrate: long steps follow it to rest.
    """
    rest = np.zeros(model.r)
    lowest = float(_core.reduced_eigenvalues(model._core, rest)[0])
    if not lowest * (_FEWEST * dt) ** 2 > (2.0 * np.pi) ** 2:
        return
    stiffness, omega = model.stiffness(rest), np.sqrt(lowest)
    damping = rates[0] * model.mass + rates[1] * stiffness
    if viscous is not None:
        damping = damping + viscous.matrix(rest)
    half = np.linalg.inv(np.linalg.cholesky(model.mass))
    shape = half.T @ np.linalg.eigh(half @ stiffness @ half.T)[1][:, 0]
    if shape @ damping @ shape >= 2.0 * omega:
        return
    period = 2.0 * np.pi / omega
    warn(
        f"dt = {dt:g} s is {period / dt:.2g} steps per period of the lowest mode, {period:.3g} s: "
        f"its vibration is lost or wrong. Take a dt below {period / _ENOUGH:.2g} s; or "
        "BackwardEuler, if only the state of rest is wanted",
        PlausibilityWarning,
        stacklevel=stacklevel,
    )


def farthest_of(displacement: NDArray[np.float64], mesh: Mesh) -> tuple[float, float]:
    """Return the largest of displacements (n, 3), and that over the diagonal of the body."""
    farthest = float(np.linalg.norm(displacement, axis=1).max())
    return farthest, farthest / float(np.linalg.norm(np.ptp(mesh.bounds, axis=0)))


def warn_of_one_iteration(missed: float, stacklevel: int) -> None:
    """Warn of large motion in steps of one Newton iteration, which miss a part of increments."""
    warn(
        f"one Newton iteration a step misses {100.0 * missed:.2g} % of the increments, with which "
        "motion as large as this loses energy. Take newton_max=2 or more, or a smaller dt; see "
        "ImplicitReport.missed",
        PlausibilityWarning,
        stacklevel=stacklevel,
    )


def warn_of_rest_modes(displacement: NDArray[np.float64], mesh: Mesh, stacklevel: int) -> bool:
    """Warn of displacements (n, 3) that are large for modes of rest; True if they are."""
    farthest, part = farthest_of(displacement, mesh)
    if part <= SMALL:
        return False
    warn(
        f"the body is displaced by {farthest:.3g} m, {100.0 * part:.3g} % of its "
        "size, where modes of rest are no modes and lose energy: take modes='follow'",
        PlausibilityWarning,
        stacklevel=stacklevel,
    )
    return True


def warn_of_turning_modes(
    place: NDArray[np.float64],
    velocity: NDArray[np.float64],
    dt: float,
    remedy: str,
    stacklevel: int,
) -> bool:
    """Warn of a free body whose nodes (n, 3) turn too fast for exact modes; True if they do."""
    arm, speed = place - place.mean(0), velocity - velocity.mean(0)
    inertia = np.eye(3) * (arm * arm).sum() - arm.T @ arm
    rate = float(np.linalg.norm(np.linalg.solve(inertia, np.cross(arm, speed).sum(0))))
    if rate * dt * _TURN <= 2.0 * np.pi:
        return False
    warn(
        f"the free body turns once in {2.0 * np.pi / (rate * dt):.3g} steps, and its modes with "
        f"it, which takes angular momentum from it: take {remedy}, or a shorter dt",
        PlausibilityWarning,
        stacklevel=stacklevel,
    )
    return True
