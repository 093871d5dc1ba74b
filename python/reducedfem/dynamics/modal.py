"""Base class of integrators that can solve the lowest modes exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from numpy.typing import ArrayLike

from reducedfem.base.check import count, did_you_mean
from reducedfem.contact.barrier import BarrierContact
from reducedfem.dynamics.integrator import ImplicitSimulation, System
from reducedfem.dynamics.plausible import SMALL, warn_of_rest_modes, warn_of_turning_modes
from reducedfem.errors import InputError, InputTypeError
from reducedfem.reduction.damping import StrainRateDamping, damping_argument
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.reduction.reduced_damping import ReducedStrainRateDamping
from reducedfem.solid.second_order import SecondOrderSystem
from reducedfem.solid.solid import Solid

__all__ = ["Modes", "ModalSimulation"]

Modes = Literal["follow", "exact", "rest"]
_MODES = ("follow", "exact", "rest")  # in the order of rf_subspace_modes


def _modes_argument(modes: str) -> int:
    """Return the number of the argument `modes`; refuse other values."""
    if not isinstance(modes, str):
        raise InputTypeError(f"modes must be a str, got {type(modes).__name__}")
    if modes not in _MODES:
        raise InputError(
            f"modes must be 'follow', 'exact' or 'rest', got {modes!r}{did_you_mean(modes, _MODES)}"
        )
    return _MODES.index(modes)


class ModalSimulation(ImplicitSimulation):
    """Base class of implicit integrators that can solve the lowest modes exactly.

    Users create its subclasses.
    """

    def __init__(
        self,
        system: System,
        dt: float,
        damping: Sequence[float] = (0.0, 0.0),
        newton_max: int = 1,
        tol: float = 1e-6,
        strain_rate: StrainRateDamping | ReducedStrainRateDamping | None = None,
        *,
        exact: int = 0,
        modes: Modes = "follow",
        deformation_only: bool = False,
        gravity: ArrayLike | None = None,
        contact: BarrierContact | None = None,
        line_search: bool = True,
    ) -> None:
        kind = _modes_argument(modes)
        most = count(exact, "exact", least=0)
        if (
            most
            and isinstance(system, System)
            and damping_argument(strain_rate, system) is not None
        ):
            raise InputError(
                f"exact is {most}, but {'system has' if strain_rate is None else 'there is'} "
                "strain-rate damping, and exact modes take Rayleigh damping only: pass "
                "damping=(alpha, beta) alone, or exact=0"
            )
        if most and isinstance(system, SecondOrderSystem) and system.damping_matrix is not None:
            raise InputError(
                f"exact is {most}, but system has a damping_matrix, and exact modes take Rayleigh "
                "damping only: use damping=(alpha, beta), or exact=0"
            )
        if most and modes == "rest" and isinstance(system, Solid) and not len(system.fixed):
            raise InputError(
                "modes is 'rest', but the system is a free solid, whose modes turn with it: take "
                "modes='follow', or exact=0"
            )
        if most and contact is not None:
            raise InputError(
                f"exact is {most}, but with contact no modes may be exact: exponentials may cross "
                "a barrier; pass exact=0"
            )
        own: dict[str, float] = {"exact": most, "modes": kind}
        more = strain_rate, deformation_only, gravity, contact, line_search
        self._create(own, system, dt, damping, newton_max, tol, *more)
        self._settings["modes"] = modes

    def _warn_of_modes(self, far: float) -> None:
        system, given = self._system, self._settings
        if not given["exact"] or "modes" in self._warned or isinstance(system, SecondOrderSystem):
            return
        if given["modes"] == "rest":
            if isinstance(system, ReducedSolid) and far <= SMALL:
                return
            self._note(warn_of_rest_modes(self.displacement, system.mesh, stacklevel=4), "modes")
        elif isinstance(system, Solid) and not len(system.fixed):
            u, v = self._core.state()[:2]
            place = system.mesh.nodes + u
            turns = warn_of_turning_modes(place, v, self._dt, "exact=0", stacklevel=4)
            self._note(turns, "modes")
