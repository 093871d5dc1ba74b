"""Penalty contact: a linear spring at each point."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import number
from reducedfem.contact.contact import WARM_NODES, Contact
from reducedfem.contact.deformed_field import DeformedField
from reducedfem.contact.field import Field
from reducedfem.contact.point_tree import PointTree
from reducedfem.errors import InputError

__all__ = ["STIFFNESS", "PenaltyContact", "fitted_stiffness"]

# stiffness of a point where no body deforms [N/m]
STIFFNESS = 1000.0


class PenaltyContact(Contact):
    """Penalty forces between a pointshell and a distance field, in bounded time.

    The shell is anchored in the world and may deform; the pose of the field object maps its
    frame to the world. A point x of the shell at signed distance d < 0 exerts on the field object
    the force k d e and the torque (x - x_g) x F about the grasp point, and on the shell the
    opposite force (Barbic 2007, section 3.5). With l > `max_points` touching points all forces
    are scaled by `max_points` / l (3.2). Levels of the tree are rendered whole or left out
    (3.10.3); the result is that of all points up to `ContactForce.level`. Method, levels of
    detail, deformed fields: see ``docs/contact.md``.

    Calls from several threads wait for each other; contacts may share trees and fields. A contact
    remembers the last cycle; copies and pickles begin as after `reset`.

    Parameters
    ----------
    tree
        Tree of the points, rigid or deformable.
    field
        Signed distances of the other object in its own frame.
    stiffness
        Stiffness k of one point [N/m], or "auto": in a `HapticSession` 20 times that of the
        coupling; elsewhere by the compliance of the deformable bodies, see `stiffnesses`, for
        implicit steps (`ImplicitNewmark.step` with ``contact=``).
    warm_nodes
        Number of nodes below which levels rendered in the last cycle begin, 1 or more; None:
        all levels are rendered, unless `budget_us` is given.
    budget_us
        Time of a cycle [us], in place of `warm_nodes`; positive. None: time does not count. Level
        0 is rendered always. Results then depend on the speed of the machine.
    cold_ratio
        Fraction of either limit that deeper levels may use, above 0 and at most 1.
    max_points
        Number of touching points above which forces are scaled; None: no scaling.
    area_weights
        True: weight the force of each point by its area, `Pointshell.areas`, over the mean area;
        l is then the sum of the weights.
    temporal_coherence
        True: skip nodes that cannot have come into contact, with identical results. Ignored with
        a `DeformedField`.
    grasp
        Reference point of torques in the frame of the field [m], shape (3,); None: its origin.
    direction
        Direction e of forces: "gradient", that of the field (where it differs from the inward
        normal of the point by more than 73 degrees, it turns to that), or "normal", the inward
        normal (3.1); such forces have no potential and may give energy to a hand.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type or value; both `warm_nodes` and `budget_us` are given;
        `area_weights` is set and the shell has no areas.
    """

    __slots__ = ("_each",)
    _law = "penalty"
    _follows = 'stiffness="auto"'
    _each: NDArray[np.float64] | None

    def __init__(
        self,
        tree: PointTree,
        field: Field | DeformedField,
        stiffness: float | str = "auto",
        warm_nodes: int | None = WARM_NODES,
        *,
        budget_us: float | None = None,
        cold_ratio: float = 0.8,
        max_points: int | None = 10,
        area_weights: bool = False,
        temporal_coherence: bool = True,
        grasp: ArrayLike | None = None,
        direction: str = "gradient",
    ) -> None:
        self._create(
            {"stiffness": _stiffness(stiffness)},
            tree,
            field,
            warm_nodes=warm_nodes,
            budget_us=budget_us,
            cold_ratio=cold_ratio,
            max_points=max_points,
            area_weights=area_weights,
            temporal_coherence=temporal_coherence,
            grasp=grasp,
            direction=direction,
        )

    def _law_settings(self, own: dict[str, Any]) -> dict[str, Any]:
        automatic = own["stiffness"] == "auto"
        self._each = fitted_stiffness(self._tree, self._field) if automatic else None
        return {
            "stiffness": STIFFNESS if automatic else own["stiffness"],
            "each": self._each,
            "automatic": automatic,
        }

    @property
    def stiffness(self) -> float | str:
        """Stiffness of one point, k [N/m], or "auto"."""
        stiffness: float | str = self._options["stiffness"]
        return stiffness

    @property
    def stiffnesses(self) -> NDArray[np.float64]:
        """Stiffness of each point outside of sessions [N/m], shape (n,), in the order of the shell.

        With "auto" 30 / c, c = n^T U K^-1 U^T n the compliance at rest of the deformable bodies at
        the point (of free bodies their elastic coordinates), capped where hardly anything yields;
        1000 N/m if no body deforms.
        """
        if self._each is not None:
            each: NDArray[np.float64] = self._each.copy()
            return each
        k = self._options["stiffness"]
        return np.full(self._tree.shell.n_points, STIFFNESS if k == "auto" else k)


def _stiffness(value: object) -> float | str:
    if isinstance(value, str):
        if value != "auto":
            raise InputError(f'stiffness must be a number or "auto", got {value!r}')
        return value
    return number(value, "stiffness")


def fitted_stiffness(tree: PointTree, field: Field | DeformedField) -> NDArray[np.float64] | None:
    """Return the stiffness of each point by the bodies' compliance; None: no body deforms."""
    soft = field if isinstance(field, DeformedField) else None
    return _core.fit_stiffness(
        tree._core,
        None if tree.reduced is None else tree.reduced._core,
        None if soft is None else soft._core,
        None if soft is None else soft.reduced._core,
    )
