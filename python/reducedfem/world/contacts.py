"""Contacts and counts of worlds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["WorldContacts", "WorldReport"]


@dataclass(frozen=True, eq=False, repr=False)
class WorldContacts:
    """Pairs in contact in the last step of a `World`.

    Attributes
    ----------
    bodies
        Indices of the body whose points touch and of that whose field they touch, shape (k, 2);
        -1: the ground; -2, -3, ...: those of `World.add_fixed`.
    points
        Numbers of points that touch, shape (k,).
    depths
        Depth of the deepest of them at the beginning of the step [m], shape (k,).
    forces, torques
        Force [N] and torque about the centre of mass [N m] of the step on the body of the points,
        in the world, shape (k, 3); torques on fixed bodies are about their positions. The force on
        the other body is the opposite.
    """

    bodies: NDArray[np.int32]
    points: NDArray[np.int32]
    depths: NDArray[np.float64]
    forces: NDArray[np.float64]
    torques: NDArray[np.float64]

    def __repr__(self) -> str:
        return f"<WorldContacts: {len(self.points)} pairs, {int(self.points.sum())} points>"


@dataclass(frozen=True, eq=False)
class WorldReport:
    """Counts of a `World`.

    Attributes
    ----------
    steps
        Steps made.
    candidates
        Pairs of a body's points with a field that were searched in the last step.
    pairs, points
        Pairs in contact in the last step, and their points.
    passed
        Points without force in the last step, because the field would push them towards the
        outside of their own body: they have passed the middle of a thin part of the other body, or
        lie on the far side of a thin wall of their own (its inner side, if the body is hollow)
        that has sunk in as a whole. Points of the latter kind are counted also where nothing has
        gone wrong: the near side of the wall has forces.
    depth
        Deepest penetration of a point with a force in the last step [m].
    iterations
        Iterations of the solve for the forces of the last step.
    residual
        Residual left by it, relative.
    unconverged
        Steps whose solve left more than the tolerance; parts of their forces may have been applied
        (``docs/world.md``).
    fastest
        Largest relative displacement, in one step, of a body and what it may meet, another body
        or the ground, divided by the thickness of the latter. Above 0.5 points may leave it on the
        wrong side.
    """

    steps: int
    candidates: int
    pairs: int
    points: int
    passed: int
    depth: float
    iterations: int
    residual: float
    unconverged: int
    fastest: float
