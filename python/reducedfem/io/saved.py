"""Saving to files and loading from them."""

from __future__ import annotations

import os
from typing import Any, TypeVar

__all__ = ["Saved"]

_Saved = TypeVar("_Saved", bound="Saved")


class Saved:
    """Base class of objects with a method `save`, whose files `reducedfem.load` reads."""

    __slots__ = ()

    @classmethod
    def load(cls: type[_Saved], path: str | os.PathLike[str]) -> _Saved:
        """Read an object of this class from a file written by `save`.

        Parameters
        ----------
        path
            Name of the file.

        Returns
        -------
        ReducedSolid, DistanceField or Pointshell
            Object of this class that is bitwise equal to the saved one; see `reducedfem.load`.

        Raises
        ------
        FileFormatError
            The file is missing, damaged, or contains another object; the message says which.
        """
        from reducedfem import _load

        read: Any = _load.load
        found: _Saved = read(path, cls)
        return found
