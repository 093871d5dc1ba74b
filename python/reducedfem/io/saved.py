"""Loading of objects from files of this package."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TypeVar

from reducedfem.errors import FileFormatError
from reducedfem.io import tensors
from reducedfem.io.meshio_files import WRITABLE, WRITABLE_TETS
from reducedfem.io.surface_files import SURFACE_SUFFIXES
from reducedfem.io.volume_files import FORMATS

__all__ = ["MESHES", "Saved", "load_saved"]

MESHES = (
    (SURFACE_SUFFIXES, "read_surface"),
    ((*FORMATS, *WRITABLE, *WRITABLE_TETS), "read_mesh"),
)
"""Formats of surfaces and meshes, and the functions that read them."""

# functions that read files of other contents
_READERS = (
    *MESHES,
    ((".bou",), "read_fixed"),
    ((".npy",), "HapticRecords.load (records of a session) or numpy.load"),
    ((".npz",), "numpy.load"),
    ((".csv",), "ReplayDevice.from_csv (poses of a hand) or numpy.genfromtxt"),
)

_Contents = TypeVar("_Contents")
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
        return load_saved(path, cls._read)

    @classmethod
    def _read(cls: type[_Saved], stream: BinaryIO, size: int, name: str) -> _Saved:
        """Return the object of an open file after checks of all its contents."""
        raise NotImplementedError


def load_saved(
    path: str | os.PathLike[str], read: Callable[[BinaryIO, int, str], _Contents]
) -> _Contents:
    """Return the result of `read` for a file; of a file of other programs, name its reader."""
    try:
        return tensors.load(path, read)
    except FileFormatError as error:
        suffix = Path(path).suffix.lower()
        for suffixes, reader in _READERS:
            if suffix in suffixes and "not a safetensors" in str(error):
                raise FileFormatError(f"{error}; {reader} reads files {suffix}") from None
        raise
