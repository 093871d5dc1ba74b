"""Mass, centre and inertia of a solid as a rigid body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem.base.check import positive
from reducedfem.base.frozen import frozen_array
from reducedfem.errors import InputError

__all__ = ["RigidBody"]


@dataclass(frozen=True, eq=False)
class RigidBody:
    """Mass, centre and inertia of a solid at rest, from its consistent mass matrix.

    Attributes
    ----------
    mass
        Mass [kg], positive.
    centre
        Centre of mass [m], read-only, shape (3,).
    inertia
        Inertia about the centre, along the axes of the mesh [kg m^2], read-only, symmetric,
        shape (3, 3).

    Raises
    ------
    InputError, InputTypeError
        A value is not finite or of a wrong shape, or the mass is not positive.
    """

    mass: float
    centre: NDArray[np.float64]
    inertia: NDArray[np.float64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", positive(self.mass, "mass"))
        for name, shape in (("centre", (3,)), ("inertia", (3, 3))):
            array = frozen_array(getattr(self, name), name)
            if array.shape != shape:
                raise InputError(f"{name} must have shape {shape}, got {array.shape}")
            object.__setattr__(self, name, array)

    def __repr__(self) -> str:
        return f"<RigidBody: {self.mass:.6g} kg>"


def to_plain(body: RigidBody) -> dict[str, Any]:
    """Return the values as plain data, for files."""
    return {"mass": body.mass, "centre": body.centre.tolist(), "inertia": body.inertia.tolist()}


def from_plain(data: object) -> RigidBody:
    """Return the body described by `to_plain`; refuse other data."""
    if not isinstance(data, Mapping) or set(data) != {"mass", "centre", "inertia"}:
        raise InputError("a rigid body has mass, centre and inertia")
    return RigidBody(data["mass"], data["centre"], data["inertia"])
