"""Paths as arguments, and atomic replacement of files."""

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
        The argument is not a path.
    FileFormatError
        The name is not valid for a file.
    """
    try:
        result = Path(path)
    except TypeError:
        raise InputTypeError(f"{name} must be a str or a Path, got {type(path).__name__}") from None
    if not os.fspath(path):  # Path("") would be the current folder
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


# suffixes of formats that this package writes or reads, and of pictures
_SUFFIXES = frozenset(
    ".safetensors .npy .npz .csv .txt .json .obj .ply .stl .off .veg .bou .msh .vtu .vtk .mesh "
    ".inp .bdf .nas .ele .node .glb .gltf .pvd .gif .mp4 .png .pdf .svg .jpg .py".split()
)


def with_suffix(path: str | os.PathLike[str], suffix: str, what: str) -> Path:
    """Return the path of a file to write; add the suffix of its format to a name without suffix.

    Raises
    ------
    FileFormatError
        The name has the suffix of another format.
    InputTypeError
        The argument is not a path.
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
    """Remove temporary folders left by killed processes that were writing a file.

    The writer locks its folder; the system unlocks it when the process ends.
    """
    pattern = re.compile(re.escape(f".{name}.") + r"[a-z0-9_]{8}\.part")
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(parent)):
            if not (pattern.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)):
                continue
            # OSError: the folder is gone, or its writer is running
            with contextlib.suppress(OSError):
                descriptor = _open_folder(parent / entry.name)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(entry.path, ignore_errors=True)
                finally:
                    os.close(descriptor)


@contextlib.contextmanager
def _temporary_folder(parent: Path, name: str) -> Iterator[Path]:
    """Create a folder that is removed at exit, or by the next writer after a kill."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f".{name}.", suffix=".part", dir=parent))
        # another writer may remove the folder before it is locked
        try:
            descriptor = _open_folder(folder)
        except FileNotFoundError:
            continue
        with contextlib.suppress(OSError):  # some file systems have no locks
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
    """Flush the entries of a folder to the disk, if the file system supports that."""
    with contextlib.suppress(OSError):
        descriptor = _open_folder(folder)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _resolved(path: Path) -> Path:
    """Return the file of a path with symbolic links resolved."""
    if not path.is_symlink():
        return path
    real = Path(os.path.realpath(path))
    if real.is_symlink():
        raise FileFormatError(f"cannot write {str(path)!r}: its symbolic links form a circle")
    return real


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path whose file replaces `path` on success.

    On failure an existing file is unchanged and temporary files are removed; those of a killed
    process are removed by the next writer. If `path` is a symbolic link, its target is replaced.
    The temporary path has the same file name in another folder, so formats of several files, or
    with a form selected by the suffix, work too. Several files are replaced one after the other.

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
            # the main file last, after the files to which it refers
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
