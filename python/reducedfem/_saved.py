"""Saving to files and loading from them."""

from __future__ import annotations

import os
from typing import Any, TypeVar

__all__ = ["Saved"]

_Saved = TypeVar("_Saved", bound="Saved")


class Saved:
    """Base of classes with a `save` whose files `reducedfem.load` reads."""

    __slots__ = ()

    @classmethod
    def load(cls: type[_Saved], path: str | os.PathLike[str]) -> _Saved:
        """Read an object of this class from a file that `save` wrote.

        Parameters
        ----------
        path
            The file.

        Returns
        -------
        ReducedSolid, DistanceField or Pointshell
            Of the class that it is called of; equal, bit for bit, to the one that was saved. See
            `reducedfem.load`.

        Raises
        ------
        FileFormatError
            The file is missing, damaged, or holds something else; the message says which.
        """
        from reducedfem import _load

        read: Any = _load.load
        found: _Saved = read(path, cls)
        return found
