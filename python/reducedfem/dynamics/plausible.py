"""Warnings about time steps that do not resolve the motion."""

from __future__ import annotations

import warnings

import numpy as np

from reducedfem import _core
from reducedfem.errors import PlausibilityWarning
from reducedfem.reduction.reduced import ReducedSolid

__all__ = ["warn_of_coarse_steps"]

# steps per period of the lowest mode with which the trapezoidal rule makes it 12 % too long; those
# of all other modes are worse
_FEWEST = 5.0
_ENOUGH = 20.0  # 0.8 % too long


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
    warnings.warn(
        f"dt = {dt:g} s is {period / dt:.2g} steps per period of the lowest mode, {period:.3g} s: "
        f"its vibration is lost or wrong. Take a dt below {period / _ENOUGH:.2g} s; or "
        "BackwardEuler, if only the state of rest is wanted",
        PlausibilityWarning,
        stacklevel=stacklevel,
    )
