"""Functions of a nonlinear system that contradict each other away from rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from reducedfem.errors import DivergedError
from reducedfem.solid.second_order import SecondOrderSystem
from reducedfem.solid.symmetric import symmetric

__all__ = ["contradiction", "explained"]

Vector = NDArray[np.float64]

_ALONG = (0.0, 1.0, 2.0)  # steps ahead at which functions are compared
# differences relative to the size of x: one must fit, as all small ones do; and how closely
_SIZES, _NEAR = (1e-4, 1e-5, 1e-6, 1e-3, 1e-2), 0.02
_CHECKED = 1000  # unknowns up to which a tangent is compared


def contradiction(system: object, q: Vector, qdot: Vector, qddot: Vector, dt: float) -> str | None:
    """Return a text on functions of a system that disagree near a state, or None."""
    if not isinstance(system, SecondOrderSystem) or system.internal_force is None:
        return None
    for steps in _ALONG:
        x = q + steps * (dt * qdot + 0.5 * dt**2 * qddot)
        try:
            found = _compare(system, x)
        except Exception:
            continue  # not defined there: no evidence
        if found is not None:
            return f"{found}, at x[:3] = {np.array2string(x[:3], precision=3)}"
    return None


@contextmanager
def explained(find: Callable[[], str | None]) -> Iterator[None]:
    """Add the text of a `contradiction` to errors of steps that diverge."""
    try:
        yield
    except DivergedError as error:
        found = find()
        if found is None:
            raise
        raise DivergedError(f"{found}. Correct it first; {error}") from None


def _compare(system: SecondOrderSystem, x: Vector) -> str | None:
    """Compare energy and tangent with the force at x by differences; None: they agree."""
    assert system.internal_force is not None
    force = _called(system.internal_force, x)
    size = float(np.abs(x).max()) or 1.0
    if not np.isfinite(force).all():
        return None
    found = []
    strength = float(np.linalg.norm(force))
    if system.energy is not None and strength > 0.0:
        a = force / strength
        slopes = [_slope(system.energy, x, h * size, a)[()] for h in _SIZES]
        if not any(abs(slope - strength) <= _NEAR * strength for slope in slopes):
            found.append(
                f"energy changes by {slopes[0]:.3g} along a vector, by internal_force "
                f"{strength:.3g}"
            )
    if system.tangent is not None and system.n <= _CHECKED:
        a = np.random.default_rng(0).choice([-1.0, 1.0], system.n)
        matrix, _ = symmetric(system.tangent(_fixed(x)), "tangent(x)", definite=False)
        product = matrix @ a
        changes = [_slope(system.internal_force, x, h * size, a) for h in _SIZES]
        most = max(float(np.abs(product).max()), float(np.abs(changes[0]).max()))
        if not any(np.abs(change - product).max() <= _NEAR * most for change in changes):
            k = int(np.abs(changes[0] - product).argmax())
            found.append(
                f"component {k} of internal_force changes by {changes[0][k]:.3g} along a vector, "
                f"by tangent {product[k]:.3g}"
            )
    if not found:
        return None
    which = "energy is not the potential of internal_force"
    if len(found) == 2:
        which = "internal_force contradicts energy and tangent"
    elif found[0].startswith("component"):
        which = "tangent is not the derivative of internal_force"
    return f"{which}: {'; '.join(found)}"


def _slope(function: Callable[[Vector], object], x: Vector, h: float, a: Vector) -> Vector:
    change: Vector = (_called(function, x + h * a) - _called(function, x - h * a)) / (2.0 * h)
    return change


def _called(function: Callable[[Vector], object], x: Vector) -> Vector:
    return np.array(function(_fixed(x)), float)


def _fixed(x: Vector) -> Vector:
    """Return a copy as functions get it: read-only."""
    copy: Vector = x.copy()
    copy.flags.writeable = False
    return copy
