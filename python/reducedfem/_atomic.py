"""Paths as arguments, and files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from reducedfem.errors import FileFormatError, InputTypeError

__all__ = ["as_path", "replacing", "with_suffix"]


def as_path(path: str | os.PathLike[str], name: str = "path") -> Path:
    """Return the argument `name` of a public function as a Path.

    Raises
    ------
    InputTypeError
        It is no path.
    FileFormatError
        No file can have that name.
    """
    try:
        result = Path(path)
    except TypeError:
        raise InputTypeError(f"{name} must be a str or a Path, got {type(path).__name__}") from None
    if not os.fspath(path):  # Path("") is the present folder
        raise FileFormatError("no file can be called '': the path is empty")
    try:
        possible = b"\0" not in os.fsencode(result)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise FileFormatError(
            f"no file can be called {str(result)!r}: it has a null character or a lone surrogate"
        )
    return result


# of formats that this package writes or reads, and of pictures
_SUFFIXES = frozenset(
    ".safetensors .npy .npz .csv .txt .json .obj .ply .stl .off .veg .bou .msh .vtu .vtk .mesh "
    ".inp .bdf .nas .ele .node .png .pdf .svg .jpg .py".split()
)


def with_suffix(path: str | os.PathLike[str], suffix: str, what: str) -> Path:
    """Return the path of a file to write, with the suffix of its format where it has none.

    Raises
    ------
    FileFormatError
        It has the suffix of another format.
    InputTypeError
        It is no path.
    """
    target = as_path(path)
    found = target.suffix.lower()
    if found == suffix or os.path.isdir(target):
        return target
    if not found:
        return target.with_name(target.name + suffix)
    if found in _SUFFIXES:
        raise FileFormatError(
            f"cannot write {what} to {str(target)!r}: its format is {suffix}, not {found}; name "
            f"the file {target.stem + suffix!r}"
        )
    return target


def _open_folder(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _remove_stale(parent: Path, name: str) -> None:
    """Remove the temporary folders of savers of a file that were killed.

    A saver locks its folder; the system unlocks it when the process ends.
    """
    pattern = re.compile(re.escape(f".{name}.") + r"[a-z0-9_]{8}\.part")
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(parent)):
            if not (pattern.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)):
                continue
            # an OSError: it is gone, or its saver is at work
            with contextlib.suppress(OSError):
                descriptor = _open_folder(parent / entry.name)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(entry.path, ignore_errors=True)
                finally:
                    os.close(descriptor)


@contextlib.contextmanager
def _temporary_folder(parent: Path, name: str) -> Iterator[Path]:
    """Make a folder that is removed afterwards, by the next saver if this one is killed."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f".{name}.", suffix=".part", dir=parent))
        # before it is locked, another saver may remove it
        try:
            descriptor = _open_folder(folder)
        except FileNotFoundError:
            continue
        with contextlib.suppress(OSError):  # not every file system has locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if folder.is_dir():
            break
        os.close(descriptor)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def _synchronize(folder: Path) -> None:
    """Write the names in a folder to the disk; some file systems have no such call."""
    with contextlib.suppress(OSError):
        descriptor = _open_folder(folder)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _resolved(path: Path) -> Path:
    """Return the file that a path names, symbolic links followed."""
    if not path.is_symlink():
        return path
    real = Path(os.path.realpath(path))
    if real.is_symlink():
        raise FileFormatError(f"cannot write {str(path)!r}: its symbolic links form a circle")
    return real


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path to write to, whose file takes the place of `path` on success.

    Whatever goes wrong, an existing file stays as it was and nothing else is left; what a killed
    process leaves, the next one removes. A symbolic link stays one: the file that it names is
    replaced. The yielded path has the same file name in a temporary folder, so that formats
    that consist of several files, or choose their form by the suffix, work too; each of several
    files is replaced whole, but not all of them at once.

    Raises
    ------
    FileFormatError
        The folder is missing or not writable, or the disk is full.
    """
    target = as_path(path)
    if os.path.isdir(target):
        raise FileFormatError(f"cannot write {str(target)!r}: it is a folder")
    try:
        parent = _resolved(target).parent
        _remove_stale(parent, target.name)
        with _temporary_folder(parent, target.name) as folder:
            yield folder / target.name
            parents = set()
            # the file itself last: what it refers to must be there before
            for made in sorted(folder.iterdir(), key=lambda made: made.name == target.name):
                with made.open("rb+") as file:
                    os.fsync(file.fileno())
                final = _resolved(target.with_name(made.name))
                if final.exists():
                    made.chmod(final.stat().st_mode & 0o777)
                os.replace(made, final)
                parents.add(final.parent)
            for changed in parents:
                _synchronize(changed)
    except FileFormatError:
        raise
    except OSError as error:
        raise FileFormatError(f"cannot write {str(target)!r}: {error.strerror or error}") from error
