"""Results of contacts with Green's functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["CompositeSolution", "GreenContact", "GreenSolution"]

_STATES = np.array(["open", "stick", "slip"])


@dataclass(frozen=True, eq=False, repr=False)
class GreenSolution:
    """Result of `GreensFunctions.solve`; unpacks to ``u, force``.

    Attributes
    ----------
    u
        Displacements of the surface [m], shape (s, 3).
    force
        Forces that hold the nodes [N], in the order of `held`, zero on free axes, shape (m, 3).
    released
        Displacements of the released nodes [m], in the order of `released`, shape (k, 3).
    lift
        Part by which blocks of G inside of a group of nodes were increased (`GreensFunctions`,
        `tolerance`): for these contacts they are softer by it. 0: exact.
    """

    u: NDArray[np.float64]
    force: NDArray[np.float64]
    released: NDArray[np.float64]
    lift: float = 0.0

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        return iter((self.u, self.force))

    def __repr__(self) -> str:
        freed = f", {len(self.released)} released" if len(self.released) else ""
        return f"<GreenSolution: {len(self.force)} nodes held{freed}, {len(self.u)} on the surface>"


@dataclass(frozen=True, eq=False, repr=False)
class CompositeSolution:
    """Result of `CompositeBody.solve`.

    Attributes
    ----------
    u
        Displacements of all nodes [m], shape (n, 3).
    frames
        Rotations of the blocks, shape (b, 3, 3).
    force
        Forces that hold the nodes [N], in the order of `held`, zero on free axes, shape (m, 3).
    energy
        Strain energy [J].
    iterations
        Number of Newton iterations.
    residual
        Last residual over the sum of the loads and the forces on blocks.
    stable
        The equilibrium is a minimum of the potential energy.
    """

    u: NDArray[np.float64]
    frames: NDArray[np.float64]
    force: NDArray[np.float64]
    energy: float
    iterations: int
    residual: float
    stable: bool

    def __repr__(self) -> str:
        return (
            f"<CompositeSolution: {len(self.frames)} blocks, energy {self.energy:.4g} J, "
            f"{self.iterations} iterations, residual {self.residual:.1e}>"
        )


@dataclass(frozen=True, eq=False, repr=False)
class GreenContact:
    """Result of `GreensFunctions.contact`.

    Attributes
    ----------
    u
        Displacements of the surface [m], shape (s, 3).
    force
        Forces on the body [N], shape (m, 3).
    gap
        Normal distances from the obstacle after contact [m], shape (m,).
    slip
        Places along the surface of the obstacle relative to it [m], shape (m, 3): zero where a
        contact sticks that had no tangential gap.
    state
        ``"open"``, ``"stick"`` or ``"slip"``, shape (m,).
    status
        As of `FrictionSolution`.
    residual
        Largest violation of the law, dimensionless; see `solve_friction`.
    released
        Displacements of the released nodes [m], in the order of `released`, shape (k, 3).
    lift
        Part by which blocks of G inside of a group of nodes were increased (`GreensFunctions`,
        `tolerance`): for these contacts they are softer by it. 0: exact.
    """

    u: NDArray[np.float64]
    force: NDArray[np.float64]
    gap: NDArray[np.float64]
    slip: NDArray[np.float64]
    state: NDArray[np.str_]
    status: str
    residual: float
    released: NDArray[np.float64]
    lift: float = 0.0

    def __repr__(self) -> str:
        counts = ", ".join(f"{(self.state == one).sum()} {one}" for one in _STATES)
        return f"<GreenContact: {self.status}, {counts}, residual {self.residual:.1e}>"


def states(numbers: NDArray[np.int32]) -> NDArray[np.str_]:
    """Return the names of states of contacts."""
    return _STATES[numbers]
