"""Sample surfaces: closed triangle meshes in metres, to try the package on.

==========  ==============================================================
``spoon``   table spoon 0.20 m long, handle end at x = 0
``bridge``  tied-arch bridge of 1 m span, several overlapping closed parts
``hose``    bent hollow hose 0.30 m long, one end at x = 0
==========  ==============================================================

The files are made by ``make.py`` in this folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reducedfem.geometry.surface import Surface

__all__ = ["load", "names", "path"]

_NAMES = ("spoon", "bridge", "hose")


def names() -> tuple[str, ...]:
    """Return the names of the samples.

    Returns
    -------
    tuple of str
        Names that `path` and `load` accept.
    """
    return _NAMES


def path(name: str) -> Path:
    """Return the path of a sample's Wavefront OBJ file.

    Parameters
    ----------
    name : str
        One of `names`.

    Returns
    -------
    pathlib.Path
        Path of the file inside the installed package.

    Raises
    ------
    reducedfem.errors.InputError
        If there is no sample of that name.
    """
    if name not in _NAMES:
        raise _unknown(name)
    return Path(__file__).resolve().with_name(f"{name}.obj")


def load(name: str) -> Surface:
    """Read a sample surface.

    Parameters
    ----------
    name : str
        One of `names`.

    Returns
    -------
    reducedfem.Surface
        The surface that `reducedfem.read_surface` reads from the sample's file; vertices in m.

    Raises
    ------
    reducedfem.errors.InputError
        If there is no sample of that name.
    """
    file = path(name)
    # imported late, so that paths are available before the package is built
    import reducedfem

    return reducedfem.read_surface(file)


def _unknown(name: object) -> Exception:
    """Build the error for a name that is not a sample's."""
    message = f"no sample surface named {name!r}; choose one of {', '.join(_NAMES)}"
    try:
        from reducedfem.base.check import did_you_mean
        from reducedfem.errors import InputError
    except ImportError:
        # the compiled part is missing, as when the samples are made or tested alone
        return ValueError(message)
    return InputError(message + did_you_mean(name, _NAMES))
