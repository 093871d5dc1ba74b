"""Warnings that a simulation gives once."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.dynamics.contradiction import contradiction
from reducedfem.dynamics.implicit_report import ImplicitReport, one_is_too_few, steps_too_long
from reducedfem.dynamics.plausible import SMALL, farthest_of, warn_of_one_iteration
from reducedfem.reduction.projected import ProjectedSolid
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.solid.plausible import (
    softening,
    warn_of_far,
    warn_of_inversion,
    warn_of_long_steps,
    warn_of_unbalanced_contact,
)
from reducedfem.solid.second_order import SecondOrderSystem
from reducedfem.solid.soft_loads import warn_of_loads
from reducedfem.solid.solid import Solid

__all__ = ["WarnsOnce"]


class WarnsOnce:
    """Base class of simulations: warnings once a reset, of loads once, at the caller of `step`."""

    _quick: ClassVar[bool] = False  # steps take no longer than a check of all elements
    _core: _core.Motion
    _system: ReducedSolid | ProjectedSolid | Solid | SecondOrderSystem
    _dt: float
    _settings: dict[str, Any]  # arguments of the constructor
    _warned: set[str]  # warnings given since the last reset, that of loads ever
    _load: NDArray[Any] | None = None  # the last load of a solid
    _loads = 0  # changes of this load
    _calls = 0  # of step

    @property
    def displacement(self) -> NDArray[np.float64]:
        """Current displacements."""
        raise NotImplementedError

    def _note(self, given: bool, name: str) -> None:
        """Note a warning that was given."""
        if given:
            self._warned.add(name)

    def _warn_of_strain(self, stacklevel: int) -> None:
        """Warn once a reset if a cubature is strained beyond its poses."""
        system = self._system
        if isinstance(system, ReducedSolid) and system._sampled and "strain" not in self._warned:
            q, seen = self._core.state()[0], self._core.strain()
            self._note(system._warn_of_strain(q, stacklevel=stacklevel, seen=seen), "strain")

    def _warn_of_inversion(self) -> None:
        """Warn once a reset if elements of a law that allows it are inside out.

        Of the calls whose steps are quicker than this, every power of two is examined.
        """
        system = self._system
        self._calls += 1
        quick = self._quick or isinstance(system, ReducedSolid)
        if quick and self._calls & (self._calls - 1):
            return
        if isinstance(system, SecondOrderSystem) or self._warned & {"inverted", "steps", "far"}:
            return
        if isinstance(system, Solid):
            soft = softening(system.materials.values())
            found = system._core.inverted(self.displacement) if soft else 0
        else:
            soft = system._softens
            found = system._inverted(self.displacement) if soft else 0
        if soft is not None:
            self._note(warn_of_inversion(found, system.mesh, soft, stacklevel=5), "inverted")

    def _warn_of_load(self, force: ArrayLike) -> None:
        """Warn once if nodal forces act on soft nodes outside of the body.

        Of loads that change, the first, second, fourth and so on are examined.
        """
        if not isinstance(self._system, Solid) or self._system.mesh.source is None:
            return
        if self._load is not None and np.array_equal(self._load, force):
            return
        try:
            self._load = np.array(force)
        except ValueError:  # rows of different lengths, which the core refuses
            return
        self._loads += 1
        if self._loads & (self._loads - 1) == 0:
            solid = self._system
            found = warn_of_loads(
                solid.mesh, solid._core, solid.materials.values(), self._load, stacklevel=5
            )
            self._note(found, "load")

    def _warn_of_far(self) -> None:
        """Warn if a reduced model is displaced farther than a basis describes."""
        if isinstance(self._system, ReducedSolid | ProjectedSolid):
            found = warn_of_far(self.displacement, self._system.mesh, stacklevel=5)
            self._note(found, "far")

    def _warn_of_steps(self) -> None:
        """Warn if increments were shortened in many of the steps since the last reset."""
        report = ImplicitReport(**self._core.report())
        if steps_too_long(report):
            self._warned.add("steps")
            once = self._settings["newton_max"] == 1
            why = contradiction(self._system, self._core, self._dt) or self._unstable(report)
            warn_of_long_steps(
                report.shortened_steps, report.steps, self._dt, why, once=once, stacklevel=5
            )

    def _unstable(self, report: ImplicitReport) -> str | None:
        """Return the reason if damping by an indefinite tangent keeps steps from converging."""
        beta = self._settings["damping"][1]
        if not beta > 0.0 or 2 * report.indefinite < report.solves:
            return None
        return (
            f"damping[1] = {beta:g} s times the tangent stiffness gains energy, because the "
            f"tangent is not positive definite in {report.indefinite} of {report.solves} solves. "
            "Take a smaller damping[1], as little as zero, and damping[0] instead"
        )

    def _warn_of_modes(self, far: float) -> None:
        """Warn if the motion is too large for modes that steps solve exactly.

        far: upper bound of the displacement of a `ReducedSolid` over the size of its body.
        """

    def _warn_of_iterations(self, far: float, stacklevel: int = 4) -> None:
        """Warn once a reset if one iteration a step is too few for the motion."""
        if self._warned & {"iterations", "steps"} or self._settings["newton_max"] > 1:
            return
        system = self._system
        if isinstance(system, ReducedSolid) and far <= SMALL:
            return
        report = ImplicitReport(**self._core.report())
        if not one_is_too_few(report):
            return
        mesh = None if isinstance(system, SecondOrderSystem) else system.mesh
        if mesh is not None and farthest_of(self.displacement, mesh)[1] <= SMALL:
            return
        self._warned.add("iterations")
        warn_of_one_iteration(report.missed, stacklevel)

    def _warn_of_contact(self) -> None:
        """Warn once a reset if steps at a barrier did not converge."""
        if self._settings.get("contact") is None or "contact" in self._warned:
            return
        report = ImplicitReport(**self._core.report())
        if report.unconverged:
            self._warned.add("contact")
            most = self._settings["newton_max"]
            warn_of_unbalanced_contact(
                report.unconverged, report.steps, most, report.worst_residual, stacklevel=4
            )
