"""Pointshells: points on a surface with inward normals, sorted by level of detail."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.base.check import array_like, count, integer, reals
from reducedfem.base.frozen import freeze, thaw
from reducedfem.base.run import Progress
from reducedfem.contact import shell_sampling as sampling
from reducedfem.contact.field import Field
from reducedfem.contact.uniformity import Uniformity, measure
from reducedfem.errors import InputError, InputTypeError
from reducedfem.geometry.surface import Surface
from reducedfem.io import shell_files
from reducedfem.io.saved import Saved

__all__ = ["Pointshell"]

# tolerance of the length of normals
_UNIT = 1e-6


class Pointshell(Saved):
    """Points on a closed surface with inward unit normals (Barbic 2007, section 3.8).

    Points are sorted by level, stably; the points of levels 0 to j sample the whole surface, each
    level about twice as finely as the one before. The arrays are read-only.

    Parameters
    ----------
    points
        Positions [m], shape (n, 3), n at least 1.
    normals
        Inward unit normals, of length 1 to within 1e-6, shape (n, 3).
    levels
        Level of each point, shape (n,): consecutive integers from 0. None: level 0 for all.
    areas
        Area of the surface that each point represents [m^2], at least 0, shape (n,); None:
        unknown.

    Raises
    ------
    InputError, InputTypeError
        There is no point; an array has a wrong shape or dtype or a value that is not finite;
        a normal is not of length 1, a level is missing, or an area is negative.
    """

    __slots__ = ("__weakref__", "_areas", "_levels", "_normals", "_points", "_provenance")

    _provenance: Mapping[str, Any]

    def __init__(
        self,
        points: ArrayLike,
        normals: ArrayLike,
        levels: ArrayLike | None = None,
        areas: ArrayLike | None = None,
    ) -> None:
        self._points = _vectors(points, "points")
        n = len(self._points)
        self._normals = _vectors(normals, "normals", n)
        length = np.linalg.norm(self._normals, axis=1)
        bad = np.flatnonzero(~(np.abs(length - 1.0) <= _UNIT))
        if bad.size:
            i = bad[0]
            raise InputError(
                f"normals[{i}] has length {length[i]:g}; normals must have length 1 (divide "
                "them by their lengths)"
            )
        self._levels = np.zeros(n, dtype=np.int32) if levels is None else _levels(levels, n)
        self._areas: NDArray[np.float64] | None = None
        if areas is not None:
            self._areas = reals(areas, "areas").copy()
            if self._areas.shape != (n,):
                raise InputError(f"areas must have shape ({n},), got {self._areas.shape}")
            if not (self._areas >= 0.0).all():
                i = int(np.argmin(self._areas))
                raise InputError(f"areas[{i}] is {self._areas[i]:g}; areas must not be negative")
        if (self._levels[1:] < self._levels[:-1]).any():
            order = np.argsort(self._levels, kind="stable")
            self._points, self._normals = self._points[order], self._normals[order]
            self._levels = self._levels[order]
            if self._areas is not None:
                self._areas = self._areas[order]
        for array in (self._points, self._normals, self._levels, self._areas):
            if array is not None:
                array.flags.writeable = False
        self._provenance = freeze({"method": "given points"})

    @property
    def points(self) -> NDArray[np.float64]:
        """Positions [m], read-only, shape (n, 3)."""
        return self._points

    @property
    def normals(self) -> NDArray[np.float64]:
        """Inward unit normals, read-only, shape (n, 3)."""
        return self._normals

    @property
    def levels(self) -> NDArray[np.int32]:
        """Level of each point, ascending from 0, read-only, shape (n,)."""
        return self._levels

    @property
    def areas(self) -> NDArray[np.float64] | None:
        """Area of the surface per point [m^2], read-only, shape (n,); None if unknown."""
        return self._areas

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self._points)

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return int(self._levels[-1]) + 1

    @property
    def level_counts(self) -> NDArray[np.int64]:
        """Number of points of each level, shape (n_levels,)."""
        return np.bincount(self._levels).astype(np.int64)

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Read-only record of the construction, plain data; files do not store it.

        ``method`` names the method. Of `from_surface` it is that of a surface or of a level set;
        further entries are True or False for a surface that is ``closed``, crosses itself
        (``crossing``) or is too thin for its level set (``thin``), the offset (``offset_m``), and
        the voxels of a level set (``voxel_m``).
        """
        return self._provenance

    @classmethod
    def from_field(
        cls,
        field: Field,
        points: int = 256_000,
        levels: int = 5,
        rng: int | np.random.Generator = 0,
        level_set: float = 0.0,
        *,
        areas: bool = False,
        progress: Progress = None,
    ) -> Pointshell:
        """Spread points evenly over a level set of a distance field (B07 3.8.1).

        Points repel each other along the level set until they are at rest; the points of a level
        are fixed while the next one, with four times as many points, is added. Range and steps
        of the repulsion follow from the area and the number of points. The points lie on the level
        set of the interpolated field; normals are minus its normalised gradients.

        Parameters
        ----------
        field
            Signed distance with a closed level set. Of analytic fields, parts thinner than 1/128
            of the longest side may be missed.
        points
            Number of points of all levels.
        levels
            Number of levels.
        rng
            Seed, 0 to 2**64 - 1, or generator. Equal seeds give equal shells for any number of
            threads.
        level_set
            Value of the field at the points [m]; positive: outside of the surface.
        areas
            True: compute the area that each point represents.
        progress
            True: a bar; or a callable, called as ``f(done, total)``.

        Returns
        -------
        Pointshell

        Raises
        ------
        InputError, InputTypeError
            The level set is empty or not closed; there are too few points for the levels, or more
            than fit into memory.
        ConvergenceError
            Points do not converge to the level set.
        """
        return cls._of(sampling.on_field(field, points, levels, rng, level_set, areas, progress))

    @classmethod
    def from_surface(
        cls,
        surface: Surface,
        points: int = 256_000,
        levels: int = 5,
        rng: int | np.random.Generator = 0,
        resolution: int = 256,
        offset: float | None = None,
        *,
        areas: bool = False,
        progress: Progress = None,
    ) -> Pointshell:
        """Spread points evenly over a surface, or over an enclosing one (B07 3.8.1).

        The points repel each other as in `from_field`. On a closed surface that does not cross
        itself they lie on the triangles, even of thin parts, with inward pseudonormals. Other
        surfaces are replaced by the zero level set of a `DistanceField`: closed ones that cross
        themselves by the boundary of the region that they wind around, with the pseudonormals
        of the nearest features; open ones with an inside by the level set with capped holes;
        polygon soups, thin shells and wires by a surface around them at `offset`. Surfaces that
        cross themselves and have parts thinner than about two voxels are enclosed likewise.
        `provenance` records the case.

        Parameters
        ----------
        surface
            Surface of any kind.
        points
            Number of points of all levels.
        levels
            Number of levels, each with four times as many points as the one before.
        rng
            Seed, 0 to 2**64 - 1, or generator.
        resolution
            Voxels along the side of the field, which is slightly larger than the surface; of no
            effect if the points lie on the triangles.
        offset
            Distance of the points from the surface [m], as of `DistanceField.from_surface`. None:
            0 for surfaces with an inside, 1.4 voxels for polygon soups and for thin surfaces
            that cross themselves.
        areas
            True: compute the area that each point represents.
        progress
            True: a bar; or a callable, called as ``f(done, total)``, first for the surface.

        Returns
        -------
        Pointshell

        Raises
        ------
        InputError, InputTypeError
            An argument is out of range; the points do not fit into memory, or are too few for
            the levels; the resolution is too coarse for the surface.
        MeshError
            The surface has no extent, or `offset` is 0 and it encloses nothing.
        MemoryError
            The field does not fit into memory; the message gives its size.
        ConvergenceError
            Points do not converge to the level set.
        """
        return cls._of(
            sampling.on_surface(surface, points, levels, rng, resolution, offset, areas, progress)
        )

    @classmethod
    def from_voxels(
        cls,
        surface: Surface,
        resolution: int = 64,
        expand: float = 1.2,
        branching: int = 8,
        *,
        areas: bool = False,
        progress: Progress = None,
    ) -> Pointshell:
        """Return the centres of the voxels that a surface touches (B07 3.8.2).

        The shell of the Voxmap-PointShell method, for comparison: its points lie up to half a
        diagonal of a voxel off the surface, in steps. Normals are minus the pseudonormals of the
        nearest features; levels are those of `farthest_point_order`.

        Parameters
        ----------
        surface
            Surface of any kind; normals point inwards if it is closed, or faces outwards.
        resolution, expand
            Voxels, as of `voxelize`.
        branching
            Branching of the levels, as of `farthest_point_order`.
        areas
            True: compute the area of the part of the surface nearest to each point.
        progress
            True: a bar; or a callable, called as ``f(done, total)``.

        Returns
        -------
        Pointshell

        Raises
        ------
        InputError, InputTypeError
            An argument is out of range.
        MemoryError
            The points do not fit into memory; the message gives the memory needed.
        """
        return cls._of(sampling.of_voxels(surface, resolution, expand, branching, areas, progress))

    @classmethod
    def from_depth_cube(
        cls,
        surface: Surface,
        resolution: int = 64,
        branching: int = 8,
        *,
        areas: bool = False,
        progress: Progress = None,
    ) -> Pointshell:
        """Return the intersections of rays along x, y and z with a surface (B07 3.8.2).

        The layered depth cube of point-based rendering, for comparison: it covers the surface
        completely, but in places three times. Normals are those of the triangles.

        Parameters
        ----------
        resolution
            Number of rays along the longest side of the bounding box.
        surface, branching, areas, progress
            As of `from_voxels`.

        Returns
        -------
        Pointshell

        Raises
        ------
        InputError, InputTypeError
            An argument is out of range, or no ray meets the surface.
        MemoryError
            As of `from_voxels`.
        """
        return cls._of(sampling.of_rays(surface, resolution, branching, areas, progress))

    @classmethod
    def _of(cls, sample: sampling.Sample) -> Pointshell:
        points, normals, levels, areas, made_of = sample
        return cls(points, normals, levels, areas)._made(made_of)

    def _made(self, how: Mapping[str, Any]) -> Pointshell:
        """Store the provenance and return the shell."""
        self._provenance = freeze(how)
        return self

    @staticmethod
    def farthest_point_order(
        points: ArrayLike, branching: int = 8, *, progress: Progress = None
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Order points so that each is the farthest from all before it (B07 3.9.1).

        The order begins with the first point; ties go to the first in the list.

        Parameters
        ----------
        points
            Positions [m], shape (n, 3).
        branching
            Number of points of level 0, 1 or more; level j has ``branching**(j + 1)`` points.
        progress
            True: a bar; or a callable, called as ``f(done, total)``.

        Returns
        -------
        order : (n,) array
            Indices of the points.
        levels : (n,) array
            Level of each point in that order: ``Pointshell(points[order], normals[order],
            levels)`` makes a shell.

        Raises
        ------
        InputError, InputTypeError
            `points` has a wrong shape, no rows or a value that is not finite, or `branching`
            is not 1 or more.
        """
        base = count(branching, "branching")
        return sampling.farthest_order(_vectors(points, "points"), base, progress)

    def up_to(self, level: int) -> Pointshell:
        """Return a shell of the points of levels 0 to `level`.

        It has the upper levels of this shell's `PointTree`, and its `provenance`. Areas are
        unchanged: they are valid as relative weights of a contact, but their sum is less than the
        area of the surface.

        Parameters
        ----------
        level
            Deepest level to keep, 0 to ``n_levels - 1``.

        Returns
        -------
        Pointshell

        Raises
        ------
        InputError, InputTypeError
            `level` is out of range.
        """
        deepest = integer(level, "level")
        if not 0 <= deepest < self.n_levels:
            raise InputError(f"level must be between 0 and {self.n_levels - 1}, got {deepest}")
        n = int(np.searchsorted(self._levels, deepest, "right"))
        areas = None if self._areas is None else self._areas[:n]
        shell = Pointshell(self._points[:n], self._normals[:n], self._levels[:n], areas)
        return shell._made(self._provenance)

    def uniformity(
        self, surface: Surface | Field, level_set: float = 0.0, *, progress: Progress = None
    ) -> Uniformity:
        """Measure the uniformity of the points of levels 0 to j on a surface, for each j.

        Parameters
        ----------
        surface
            Surface, closed or facing outwards, or the field on a level set of which the points
            lie.
        level_set
            Value of the field there [m]; ignored for a surface.
        progress
            True: a bar; or a callable, called as ``f(done, total)``.

        Returns
        -------
        Uniformity

        Raises
        ------
        InputError, InputTypeError
            `surface` is neither of these or has no area; the level set is empty.
        """
        return measure(self._points, self._normals, self.level_counts, surface, level_set, progress)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a file in the safetensors format, completely or not at all; see `load`.

        Parameters
        ----------
        path
            File name; ``.safetensors`` is added if there is no suffix, others are refused.

        Raises
        ------
        FileFormatError
            The file cannot be written.
        """
        shell_files.save(path, self._points, self._normals, self._levels, self._areas)

    @classmethod
    def _read(cls, stream: BinaryIO, size: int, name: str) -> Pointshell:
        return shell_files.read(stream, size, name, cls)

    def __repr__(self) -> str:
        levels = "1 level" if self.n_levels == 1 else f"{self.n_levels} levels"
        counts = ", ".join(map(str, self.level_counts[:8].tolist()))
        more = ", ..." if self.n_levels > 8 else ""
        points = "1 point" if self.n_points == 1 else f"{self.n_points} points"
        offset = self._provenance.get("offset_m", 0.0)
        off = f", {offset:g} m off the surface" if offset else ""
        return f"<Pointshell: {points}, {levels} ({counts}{more}){off}>"

    def __reduce__(self) -> tuple[Callable[..., Pointshell], tuple[Any, ...]]:
        return _again, (
            self._points, self._normals, self._levels, self._areas, thaw(self._provenance),
        )  # fmt: skip


def _again(
    points: NDArray[np.float64],
    normals: NDArray[np.float64],
    levels: NDArray[np.int32],
    areas: NDArray[np.float64] | None,
    made_of: Mapping[str, Any],
) -> Pointshell:
    """Return a copy of a shell."""
    return Pointshell(points, normals, levels, areas)._made(made_of)


def _vectors(value: ArrayLike, name: str, n: int | None = None) -> NDArray[np.float64]:
    """Return a copy of finite vectors, shape (n, 3), n at least 1."""
    array = reals(value, name)
    if array.ndim != 2 or array.shape[1] != 3 or n not in (None, len(array)):
        rows = "any" if n is None else n
        raise InputError(f"{name} must have shape ({rows}, 3), got {array.shape}")
    if len(array) == 0:
        raise InputError(f"{name} has no rows; a pointshell needs one point or more")
    if len(array) > 2**31 - 1:
        raise InputError(f"{name} has {len(array)} rows; at most {2**31 - 1} are allowed")
    result: NDArray[np.float64] = array.copy()
    return result


def _levels(value: ArrayLike, n: int) -> NDArray[np.int32]:
    """Return levels after checks: consecutive integers from 0."""
    try:
        array = np.asarray(array_like(value, "levels", "integers"))
    except ValueError:
        raise InputTypeError("levels must be integers, got a list of uneven parts") from None
    if array.dtype.kind not in "iu":
        raise InputTypeError(f"levels must be integers, got dtype {array.dtype}")
    if array.shape != (n,):
        raise InputError(f"levels must have shape ({n},), got {array.shape}")
    found = np.unique(array)
    if found[0] < 0:
        i = int(np.argmin(array))
        raise InputError(f"levels[{i}] is {array[i]}; levels are counted from 0")
    missing = np.flatnonzero(found != np.arange(len(found)))
    if missing.size:
        raise InputError(
            f"levels has no point of level {missing[0]}, but some of level "
            f"{found[missing[0]]}; levels are counted from 0, and none may be left out"
        )
    result: NDArray[np.int32] = array.astype(np.int32)
    return result
