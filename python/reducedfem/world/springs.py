"""Automatic stiffness of the springs at the points of bodies in worlds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.base.check import positive
from reducedfem.contact.local import LocalCompliance
from reducedfem.contact.point_tree import PointTree
from reducedfem.errors import InputError, InputTypeError

__all__ = [
    "checked_stiffness",
    "doubts_of_springs",
    "require_linear",
    "stiffness_argument",
    "stiffnesses",
]

_STIFFER = 30.0  # times that of the body at the point, as contact/fit.h
# times a local compliance, beyond which the solve loses its digits; forces are off by its inverse
_STIFFEST = 1e6


def stiffness_argument(stiffness: float | str) -> float | str:
    """Return a stiffness [N/m], or "auto"; refuse other values."""
    if isinstance(stiffness, str):
        if stiffness != "auto":
            raise InputError(f"stiffness must be 'auto' or a number [N/m], got {stiffness!r}")
        return stiffness
    if isinstance(stiffness, list | tuple | np.ndarray):
        raise InputTypeError(
            "stiffness must be 'auto' or one number [N/m] for all points, got "
            f"{type(stiffness).__name__}"
        )
    return positive(stiffness, "stiffness")


def require_linear(local: LocalCompliance) -> None:
    """Refuse a local compliance with a second order."""
    if local.reach > 0.0:
        raise InputError(
            f"local has a reach of {local.reach:g} m, but a World takes local compliances without "
            "second order: make it with reach=0"
        )


def checked_stiffness(stiffness: float, local: LocalCompliance | None) -> float:
    """Return a stiffness [N/m]; refuse one that is too large for the points of `local`."""
    if local is None:
        return stiffness
    own = local._core.mean_compliance
    worst = int(np.argmax(own))
    ratio = stiffness * float(own[worst])
    if ratio > _STIFFEST:
        raise InputError(
            f"stiffness is {stiffness:g} N/m, {ratio:.2g} times that of the solid at point {worst} "
            "of the shell, and the forces would be lost in rounding; use 'auto' or at most "
            f"{_STIFFEST / own[worst]:.2g} N/m: springs make an error of one over that ratio"
        )
    return stiffness


def doubts_of_springs(stiffest: float, own: Iterable[LocalCompliance]) -> Iterator[tuple[str, str]]:
    """Yield the warning of springs [N/m] that the world lowers in fields that yield by `own`."""
    softest = max((float(one._core.mean_compliance.max()) for one in own), default=0.0)
    if stiffest * softest > _STIFFEST:
        yield (
            "stiff",
            f"a stiffness of {stiffest:.3g} N/m is {stiffest * softest:.2g} times that of a field "
            f"that yields; in that field springs have at most {_STIFFEST:.0g} times its stiffness, "
            "beyond which rounding would decide the forces; use a stiffness of at most "
            f"{_STIFFEST / softest:.2g} N/m",
        )


def stiffnesses(
    tree: PointTree, local: LocalCompliance | None, most: float
) -> NDArray[np.float64] | None:
    """Return automatic stiffnesses of the points of a tree [N/m], (n,); None: of a rigid one."""
    compliance = np.zeros(tree.shell.n_points)
    if tree.reduced is not None:
        fit = _core.fit_stiffness(tree._core, tree.reduced._core, None, None)
        if local is None:
            alone: NDArray[np.float64] = np.minimum(np.asarray(fit), most)
            return alone
        compliance += _STIFFER / np.asarray(fit)
    if local is None:
        return None
    own = local._core.mean_compliance
    # beside fixed nodes, as contact/fit.h
    usual = np.quantile(own[own > 1e-3 * own.max()], 0.1)
    both: NDArray[np.float64] = np.minimum(
        _STIFFER / (compliance + np.maximum(own, 0.2 * usual)), most
    )
    return both
