"""Contents of volume mesh files, as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reducedfem.io.constraint_fields import Ties

__all__ = ["ElasticData", "VolumeData"]


class ElasticData(NamedTuple):
    """Isotropic elastic material of a ``.veg`` file."""

    name: str
    density: float
    young: float
    poisson: float


@dataclass
class VolumeData:
    """Contents of a volume mesh file with 0-based indices."""

    nodes: NDArray[np.float64]
    elements: NDArray[np.int64]
    regions: NDArray[np.int64]
    region_names: dict[int, str] = field(default_factory=dict)
    materials: dict[int, ElasticData] = field(default_factory=dict)
    fractions: NDArray[np.float64] | None = None
    constraints: Ties | None = None
    constraints_lost: bool = False  # those of the file are of other nodes
    point_data: dict[str, NDArray[Any]] = field(default_factory=dict)
    cell_data: dict[str, NDArray[Any]] = field(default_factory=dict)
