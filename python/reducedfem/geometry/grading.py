"""Settings of graded meshes."""

from __future__ import annotations

from dataclasses import dataclass

from reducedfem import _core
from reducedfem.base.check import integer
from reducedfem.errors import InputError

__all__ = ["Grading"]


@dataclass(frozen=True)
class Grading:
    """Sizes of the cells of a graded mesh.

    Blocks of 2x2x2 equal cells become one cell if they and the ring of cells around them are
    whole, level by level, so cells at the surface keep their size and neighbours differ by one
    level at most. More `layers` reduce the error of loads that vary with the size of the cells;
    see ``docs/howto/graded_meshes.md``.

    Parameters
    ----------
    layers
        Least number of layers of smallest cells at the surface, at least 1.
    max_level
        Level of the largest cells, whose edge is ``2**max_level`` smallest ones, 0 to 20. None: no
        limit.

    Raises
    ------
    InputError, InputTypeError
        A value is out of range or not an integer.
    """

    layers: int = 1
    max_level: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= integer(self.layers, "layers") <= 1_000_000:
            raise InputError(f"layers must be 1 to 1000000, got {self.layers}")
        most = _core.GRADE_MAX_LEVEL
        if self.max_level is not None and not 0 <= integer(self.max_level, "max_level") <= most:
            raise InputError(f"max_level must be 0 to {most}, or None, got {self.max_level}")

    @property
    def level(self) -> int:
        """Highest level, also without a limit."""
        return _core.GRADE_MAX_LEVEL if self.max_level is None else self.max_level
