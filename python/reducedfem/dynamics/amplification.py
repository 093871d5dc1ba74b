"""Amplification of oscillations by a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.base.check import number, reals
from reducedfem.base.run import threads
from reducedfem.dynamics.generalized_alpha import GeneralizedAlpha
from reducedfem.dynamics.integrator import ImplicitSimulation
from reducedfem.dynamics.named import find
from reducedfem.errors import InputError
from reducedfem.solid.second_order import SecondOrderSystem

__all__ = ["Amplification", "amplification"]

_LEAST, _MOST = 1e-4, 1e12  # theta, beyond which damping and eigenvalues are rounding
_BLOCK = 256  # oscillators of a system, whose matrices are dense on the way


@dataclass(frozen=True, eq=False)
class Amplification:
    """Change of an oscillation by steps of an integrator, far from its first step.

    Attributes
    ----------
    radius
        Factor of the amplitude in a step: the largest modulus of the eigenvalues of a step.
    damping
        Decay rate over angular frequency, -2 ln(radius) / theta; the damping of the system is
        part of it. Zero: the amplitude stays.
    period_error
        1 - arg / theta, arg the angle by which the oscillation turns in a step: 0.01 where the
        period is about one percent too long. 1 where it no longer turns.
    """

    radius: NDArray[np.float64]
    damping: NDArray[np.float64]
    period_error: NDArray[np.float64]


def amplification(
    name: str, theta: ArrayLike, damping_ratio: float = 0.0, rho: float | None = None
) -> Amplification:
    """Return how an integrator changes damped oscillations q'' + 2 xi w q' + w^2 q = 0.

    The steps are those of simulations: the function makes one from each state of a basis and takes
    the eigenvalues of the matrix that results.

    Parameters
    ----------
    name
        Name of the integrator; see `integrator`.
    theta
        Angular frequencies times the step, w h, 1e-4 to 1e12, of any shape.
    damping_ratio
        xi, at least 0 and less than 1.
    rho
        Of generalized-alpha; None: its default.

    Returns
    -------
    Amplification
        Values of the shape of `theta`.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type or value.
    """
    angle = reals(theta, "theta")
    ratio = number(damping_ratio, "damping_ratio")
    if not 0.0 <= ratio < 1.0:
        raise InputError(f"damping_ratio must be at least 0 and less than 1, got {ratio:g}")
    if angle.size == 0:
        raise InputError("theta has no values")
    wrong = np.flatnonzero(~((angle >= _LEAST) & (angle <= _MOST)))
    if wrong.size:
        raise InputError(
            f"theta must be in [{_LEAST:g}, {_MOST:g}], got {angle.ravel()[wrong[0]]:g} at index "
            f"{wrong[0]}"
        )
    kind, _, exact = find(name)
    if exact or not issubclass(kind, ImplicitSimulation):
        raise InputError(
            f"name is {name!r}: exact modes have no error, and others that of the method without "
            "ERE; pass the name of an implicit method"
        )
    if rho is not None and kind is not GeneralizedAlpha:
        raise InputError(f"rho is for generalized-alpha, not for {name}")
    chosen: dict[str, Any] = {} if rho is None else {"rho": rho}
    w = angle.ravel()
    first = np.concatenate(
        [_largest(kind, w[i : i + _BLOCK], ratio, chosen) for i in range(0, w.size, _BLOCK)]
    ).reshape(angle.shape)
    radius = np.abs(first)
    return Amplification(
        radius, -2.0 * np.log(radius) / angle, 1.0 - np.abs(np.angle(first)) / angle
    )


def _largest(
    kind: type[ImplicitSimulation], theta: NDArray[np.float64], ratio: float, chosen: dict[str, Any]
) -> NDArray[np.complex128]:
    """Return the largest eigenvalue of a step at each theta: all are oscillators of one system."""
    w = np.resize(theta, max(theta.size, 2))  # a system has two unknowns at least
    one = np.ones(w.size)
    damper = np.diag(2.0 * ratio * w) if ratio else None
    system = SecondOrderSystem(np.diag(one), np.diag(w**2), damping_matrix=damper)
    core = kind(system, 1.0, newton_max=1, tol=0.0, **chosen)._core
    columns = []
    for k in range(5):
        q, v, a, step, rate = (one if i == k else 0.0 * one for i in range(5))
        core.reset(q, v, a, threads(), 0, (step, rate))
        core.step(None, 1, None, threads())
        q, v, a, _, last, *_ = core.whole_state()
        columns.append([q, v, a, *(last or (0.0 * q, 0.0 * q))])
    roots = np.linalg.eigvals(np.transpose(columns, (2, 1, 0))).astype(complex)
    found: NDArray[np.complex128] = roots[np.arange(w.size), np.abs(roots).argmax(1)][: theta.size]
    return found
