"""Files of the records of haptic sessions, and their data type."""

from __future__ import annotations

import ast
import itertools
import json
import os
import re
import struct
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.base.quiet import parsing
from reducedfem.errors import FileFormatError


def record_dtype(
    free: int = 0, coordinates: int = 0, touched: int = 0, sites: int = 0
) -> np.dtype[Any]:
    """Return the type of records with the poses of free bodies and reduced coordinates.

    touched: 1 for records with anchor and slip of a touched body. sites: places for forces on
    shells with a local compliance. Those of sessions without all that, `RECORD`, have no such
    fields.
    """
    names, formats, offsets, size = _core.record_layout(free, coordinates, touched, sites)
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})


RECORD = record_dtype()

# fields of the state of the bodies, of sessions that have such bodies
SITES = ("site_contact", "site_point", "site_force")
STATE = ("body_position", "body_quaternion", "anchor", "slip", "q", *SITES)
_MOST = 1 << 24  # bodies and coordinates of a record that are plausible
_COUNT_ROOM = 20  # letters in the header for the number of records
_COMMENT = "  # reducedfem: "  # in the header, before JSON
_SCENE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")  # plain names: they are printed
_OPTIONAL = {"publish_us"}  # fields that files of earlier versions lack


def record_sizes(dtype: Any) -> tuple[int, int, int] | None:
    """Return numbers of free bodies, reduced coordinates, touched bodies; None: not of records."""
    names = getattr(dtype, "names", None)
    if not names:
        return None
    # a damaged file may give any shapes
    sized = ("body_position", "q", "site_contact")
    shapes = [dtype[name].shape if name in names else (0,) for name in sized]
    free, coordinates, sites = (shape[0] if shape else -1 for shape in shapes)
    if not (0 <= free <= _MOST and 0 <= coordinates <= _MOST and 0 <= sites <= _MOST):
        return None
    sizes = free, coordinates, int("anchor" in names)
    return sizes if dtype == record_dtype(*sizes, sites) else None


def _readable(dtype: np.dtype[Any]) -> bool:
    """Return True for records, with or without the optional fields."""
    return record_sizes(_filled(dtype)) is not None


def _filled(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return a type with the optional fields that it lacks, in the order of RECORD."""
    names = dtype.names or ()
    every = [*(RECORD.names or ()), *(name for name in STATE if name in names)]
    own = [name for name in names if name in every]
    if dtype != np.dtype([(name, dtype[name]) for name in own]):
        return dtype  # padded, or of other fields
    if own != [name for name in every if name in own] or set(every) - set(own) - _OPTIONAL:
        return dtype
    return np.dtype([(name, dtype[name] if name in own else RECORD[name]) for name in every])


def _completed(array: NDArray[np.void]) -> NDArray[np.void]:
    """Return records of an earlier version as present ones, with NaN in the fields they lack."""
    present = _filled(array.dtype)
    if array.dtype == present:
        return array
    out = np.empty(len(array), present)
    for name in present.names or ():
        out[name] = array[name] if name in (array.dtype.names or ()) else np.nan
    return out


def _announced(file: BinaryIO) -> tuple[np.dtype[Any], int, str | None] | None:
    """Return type, number and scene of records by the header; None if the file has other data."""
    magic = np.lib.format.MAGIC_PREFIX
    start = file.read(len(magic) + 4)
    if start[: len(magic)] != magic:
        raise ValueError("it is not a file in NumPy's format (.npy)")
    if start[len(magic) : -2] != b"\x01\x00":  # version of record files
        return None
    text = file.read(int.from_bytes(start[-2:], "little"))
    try:
        # NumPy's own reader takes seconds for some damaged headers
        with parsing:
            header = ast.literal_eval(text.decode("latin1").strip())
            dtype = np.lib.format.descr_to_dtype(header["descr"])
        (count,) = header["shape"]
    except Exception:
        return None
    records = _readable(dtype) and header.get("fortran_order") in (True, False)
    if not records or type(count) is not int or count < 0:
        return None
    return dtype, count, _scene_in(text)


def is_scene(name: object) -> bool:
    """Return True for a plain name: up to 64 letters, digits, ``-`` and ``_``, no digit first."""
    return isinstance(name, str) and _SCENE.fullmatch(name) is not None


def _scene_in(text: bytes) -> str | None:
    """Return the scene that a header names; None: none, or no plain name."""
    try:
        scene = json.loads(text.rpartition(_COMMENT.encode())[2])["scene"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return scene if is_scene(scene) else None


def read_records(
    file: BinaryIO, size: int, part: bool
) -> tuple[NDArray[np.void], str | None] | None:
    """Return the records of a file of `size` bytes and their scene, or None if it has other data.

    Of an unfinished file, `part`, all complete records are returned.

    Raises
    ------
    ValueError
        The file is not in NumPy's format, or ends before its last record.
    """
    found = _announced(file)
    if found is None:
        return None
    dtype, count, scene = found
    if part:
        file.seek(RecordFile.HEADER)
        return _completed(np.fromfile(file, dtype)), scene
    # check before allocating
    if count * dtype.itemsize > size - file.tell():
        raise ValueError(f"it is truncated: its header announces {count} records")
    return _completed(np.fromfile(file, dtype, count)), scene


class RecordFile:
    """Growing file of records in NumPy's format.

    The file has a temporary name until its first count is written to the header. It may hold
    more records than the header counts; readers skip those. The header names the scene behind a
    mark of comments, which NumPy skips.
    """

    HEADER = 4096
    PART = ".part"  # suffix of the temporary name

    def __init__(self, path: Path, dtype: np.dtype[Any] = RECORD, scene: str | None = None) -> None:
        self._path, self._dtype, self.scene = path, dtype, scene
        self._owner = os.getpid()
        self.part: Path | None = None  # temporary name, until the file is at its path
        self._announced = 0
        self._place: tuple[int, int] | None = None  # device and inode of the file at its path
        self.descriptor = -1

    def begin(self) -> None:
        """Create the file, or continue at the end of the one written before."""
        if self._path.is_dir():
            raise FileFormatError(f"cannot write {str(self._path)!r}: it is a folder")
        try:
            if self._place is None or not self._go_on():
                self._create()
        except FileFormatError:
            raise
        except OSError as error:
            self.drop()
            raise self._failed(error) from None

    def _create(self) -> None:
        self._announced, self._place = 0, None
        header = self._header(0)
        for k in itertools.count():
            # other processes may write to the same path, or have been killed meanwhile
            part = self._path.with_name(f".{self._path.name}.{self._owner}-{k}{self.PART}")
            try:
                self.descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            except FileExistsError:
                continue
            self.part = part
            break
        self._write(header)

    def _go_on(self) -> bool:
        try:
            self.descriptor = os.open(self._path, os.O_WRONLY)
        except FileNotFoundError:
            return False  # it was moved: begin a new file
        found, end = os.fstat(self.descriptor), self.HEADER + self._announced * self._dtype.itemsize
        if (found.st_dev, found.st_ino) != self._place or found.st_size < end:
            self.close()
            raise FileFormatError(
                f"cannot continue {str(self._path)!r}: it is no longer the file that this session "
                "wrote; move it elsewhere"
            )
        os.ftruncate(self.descriptor, end)  # drop an incomplete record, as of a full disk
        os.lseek(self.descriptor, end, os.SEEK_SET)
        return True

    def _failed(self, error: OSError) -> FileFormatError:
        return FileFormatError(f"cannot write {str(self._path)!r}: {error.strerror}")

    def _write(self, data: bytes) -> None:
        # a call may write only a part
        left = memoryview(data)
        while left:
            left = left[os.write(self.descriptor, left) :]

    def write(self, records: NDArray[np.void]) -> None:
        """Write records."""
        try:
            self._write(np.ascontiguousarray(records).tobytes())
        except OSError as error:
            raise self._failed(error) from None

    def append(self, records: NDArray[np.void]) -> None:
        """Write records and finish the file; on failure remove it unless it is at its path."""
        try:
            self.write(records)
            self.finish(len(records))
        finally:
            self.drop()

    def _header(self, n: int) -> bytes:
        text = repr(
            {
                "descr": np.lib.format.dtype_to_descr(self._dtype),
                "fortran_order": False,
                "shape": (n,),
            }
        )
        if self.scene is not None:
            text += _COMMENT + json.dumps({"scene": self.scene})
        # the number of records grows
        if len(text) + _COUNT_ROOM > self.HEADER - 11:
            raise FileFormatError(
                f"cannot write {str(self._path)!r}: the names of the fields and of the scene need "
                f"{len(text) + _COUNT_ROOM} letters, its header has {self.HEADER - 11}"
            )
        start = b"\x93NUMPY\x01\x00" + struct.pack("<H", self.HEADER - 10)
        return start + text.ljust(self.HEADER - 11).encode("ascii") + b"\n"

    def announce(self, n: int) -> None:
        """Write the number of records since `begin` to the header; move the file to its path."""
        # a fork shares the file, which belongs to the process that made it
        if self.descriptor < 0 or os.getpid() != self._owner:
            return
        try:
            # pwrite keeps the position, at which a stuck thread may continue
            os.pwrite(self.descriptor, self._header(self._announced + n), 0)
            if self.part is not None:
                self._appear(self.part)
        except OSError as error:
            raise self._failed(error) from None
        self.part = None
        found = os.fstat(self.descriptor)
        self._place = (found.st_dev, found.st_ino)

    def _appear(self, part: Path) -> None:
        try:
            os.replace(part, self._path)
        except FileNotFoundError:
            # a signal handler may have raised after the move
            if not os.path.samestat(os.stat(self._path), os.fstat(self.descriptor)):
                raise

    def finish(self, n: int) -> None:
        """Write the number of records since `begin`, and close the file.

        If a signal handler raises, the file can be finished again.
        """
        if self.descriptor < 0:
            return
        try:
            self.announce(n)
        except FileFormatError:
            self.close()
            raise
        # signal handlers run at calls: none can run between these two
        self._announced += n
        descriptor, self.descriptor = self.descriptor, -1
        os.close(descriptor)

    def close(self) -> None:
        """Close the file as it is."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def drop(self) -> None:
        """Close the file; remove it if it still has its temporary name."""
        self.close()
        if self.part is not None and os.getpid() == self._owner:
            self.part.unlink(missing_ok=True)
        self.part = None
