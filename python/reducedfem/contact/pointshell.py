"""Pointshells: points on a surface with inward normals, sorted by level of detail."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import array_like, count, flag, integer, number, reals, require
from reducedfem.base.frozen import freeze, owned, thaw
from reducedfem.base.memory import available
from reducedfem.base.run import Progress, callback, threads
from reducedfem.contact.field import DistanceField, Field
from reducedfem.errors import InputError, InputTypeError
from reducedfem.geometry.surface import Surface
from reducedfem.io import shell_files
from reducedfem.io.saved import Saved

__all__ = ["Pointshell", "Uniformity"]

# repulsion: motion per round, in spacings, at which a level ends, and largest number of rounds
_STILL = 0.002
_ROUNDS = 100
# samples per point for areas and for gaps
_AREA_SAMPLES = 32
_GAP_SAMPLES = 8
_FEWEST_GAP_SAMPLES = 20_000
# approximate memory of repulsion
_BYTES_A_POINT = 475
# approximate memory of a point of voxels or rays, with its farthest-point order
_BYTES_A_HIT = 260
# largest numbers of voxels and rays along a side, as in the core
_MOST_VOXELS, _MOST_RAYS = 2048, 1 << 14
# of the grid on which analytic fields are sampled for the first points
_RESOLUTION = 128
# voxels between surface and box, both sides together
_MARGIN = 12
# a surface is thin if more than this share of it, by so many samples, has no inside one voxel
# deeper; it is then enclosed at a distance of _OFFSET voxels
_THIN = 0.01
_THINNESS_SAMPLES = 20_000
_OFFSET = 1.4


@dataclass(frozen=True, eq=False)
class Uniformity:
    """Uniformity of the points of a shell on a surface, level by level.

    Distances are Euclidean, between points on the same side of thin parts (angle between normals
    below 120 degrees), in multiples of `spacing`, the spacing of a hexagonal arrangement of n
    points on the area A, sqrt(2 A / (sqrt(3) n)). That arrangement has nearest distances 1,
    spread 0 and largest gap 0.58. Values that need neighbours are nan for a single point.

    Attributes
    ----------
    counts
        Number of points of all levels up to each, shape (levels,).
    spacing
        Spacing of a hexagonal arrangement [m], shape (levels,).
    nearest
        Mean distance from a point to the nearest other point, shape (levels,).
    spread
        Standard deviation of that distance over its mean, shape (levels,).
    least
        Smallest distance between two points, shape (levels,). At sharp edges repulsion may leave
        single pairs at a tenth of the spacing or less.
    gap
        Largest distance found from the surface to the nearest point, shape (levels,).
    """

    counts: NDArray[np.int64]
    spacing: NDArray[np.float64]
    nearest: NDArray[np.float64]
    spread: NDArray[np.float64]
    least: NDArray[np.float64]
    gap: NDArray[np.float64]


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
        require(field, Field, "field")
        points, levels = _counts(points, levels)
        value = number(level_set, "level_set")
        with_areas = flag(areas, "areas")
        seed = _seed(rng)
        made_of = {"method": "repulsion on a level set", "level_set_m": value}
        with callback(progress, "repelling points") as call:
            return cls._repelled(
                field, None, points, levels, seed, value, with_areas, made_of, call
            )

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
        require(surface, Surface, "surface")
        points, levels = _counts(points, levels)
        voxels, with_areas, seed = count(resolution, "resolution"), flag(areas, "areas"), _seed(rng)
        # room for the offset and some voxels on each side
        side = float(np.ptp(surface.bounds, axis=0).max())
        expand = 1.0 + _MARGIN / voxels
        if offset is not None and side > 0.0:
            expand *= 1.0 + 2.0 * abs(number(offset, "offset")) / side
        arrays: tuple[NDArray[np.float64], NDArray[np.int32]]
        arrays = surface.vertices, surface.triangles
        with callback(progress, "pointshell") as call:
            # most surfaces bound a solid and need no field
            if not offset and _core.surface_bounds_solid(
                *arrays, _share(call, 0, 15) or None, threads()
            ):
                made_of = {
                    "method": "repulsion on a surface",
                    "closed": True,
                    "crossing": False,
                    "thin": False,
                    "offset_m": 0.0,
                }
                return cls._repelled(
                    None, (arrays[0], _outwards(surface)), points, levels, seed, 0.0, with_areas,
                    made_of, _share(call, 15, 100) or None,
                )  # fmt: skip
            field = DistanceField.from_surface(
                surface, voxels, expand, offset, mode="fast", progress=_share(call, 0, 15)
            )
            facts, thin = field.provenance, False
            if facts["turned"]:
                arrays = arrays[0], arrays[1][:, ::-1]
            if facts["crossing"] and offset is None:
                share = _core.shell_thinness(
                    field._core, *arrays, 0.0, field.spacing[0], _THINNESS_SAMPLES, None, threads()
                )
                thin = share > _THIN
            if thin:
                field = DistanceField.from_surface(
                    surface, voxels, expand, _OFFSET * float(field.spacing[0]), mode="fast",
                    progress=_share(call, 15, 30),
                )  # fmt: skip
            direct = facts["closed"] and not facts["crossing"] and facts["offset_m"] == 0.0
            if not direct and not field.values.min() < 0.0:
                raise InputError(
                    f"resolution is {voxels}, so coarse that no sample of the field lies inside "
                    "of the surface: make it larger, or give an offset"
                )
            made_of = {
                "method": "repulsion on a surface" if direct else "repulsion on a level set",
                "closed": facts["closed"],
                "crossing": facts["crossing"],
                "thin": thin,
                "offset_m": field.provenance["offset_m"],
            }
            if not direct:
                made_of["voxel_m"] = float(field.spacing[0])
            return cls._repelled(
                None if direct else field,
                # the cap of a hole has other normals than the nearest triangle
                arrays if facts["closed"] and made_of["offset_m"] == 0.0 else None,
                points, levels, seed, 0.0, with_areas, made_of, _share(call, 30, 100) or None,
            )  # fmt: skip

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
        voxels, sides = count(resolution, "resolution"), number(expand, "expand")
        return cls._sampled(
            "centres of voxels", _core.shell_from_voxels, surface, (voxels, sides),
            _MOST_VOXELS, branching, areas, progress,
        )  # fmt: skip

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
        rays = count(resolution, "resolution")
        return cls._sampled(
            "layered depth cube", _core.shell_from_depth_cube, surface, (rays,),
            _MOST_RAYS, branching, areas, progress,
        )  # fmt: skip

    @classmethod
    def _sampled(
        cls,
        method: str,
        sample: Callable[..., tuple[NDArray[np.float64], NDArray[np.float64]]],
        surface: Surface,
        arguments: tuple[float, ...],
        most: int,
        branching: int,
        areas: bool,
        progress: Progress,
    ) -> Pointshell:
        """Return a shell of the points of `sample`, in farthest-point order."""
        require(surface, Surface, "surface")
        base, with_areas = count(branching, "branching"), flag(areas, "areas")
        if arguments[0] <= most:
            _require_memory(surface, *arguments)
        vertices, triangles = surface.vertices, surface.triangles
        with callback(progress, method) as call:
            points, normals = sample(
                vertices, triangles, *arguments, _share(call, 0, 30) or None, threads()
            )
            order, levels = cls.farthest_point_order(
                points, base, progress=_share(call, 30, 70 if with_areas else 100)
            )
            points, normals, area = points[order], normals[order], None
            if with_areas:
                triangles = _outwards(surface)
                area = _core.shell_areas(
                    vertices, triangles, points, normals, _AREA_SAMPLES, 0,
                    _share(call, 70, 100) or None, threads(),
                )  # fmt: skip
        return cls(points, normals, levels, area)._made({"method": method})

    @classmethod
    def _repelled(
        cls,
        field: Field | None,
        surface: tuple[NDArray[np.float64], NDArray[np.int32]] | None,
        points: int,
        levels: int,
        seed: int,
        value: float,
        with_areas: bool,
        made_of: Mapping[str, Any],
        call: Any,
    ) -> Pointshell:
        """Return a shell of a level set, or of a surface if there is no field."""
        x, normals, area, *_ = _core.shell_create(
            None if field is None else field._core, surface, _RESOLUTION, points, levels, seed,
            value, _ROUNDS, _STILL, _AREA_SAMPLES if with_areas else 0, call, threads(),
        )  # fmt: skip
        ends = _core.shell_counts(points, levels)
        level = np.repeat(np.arange(levels), np.diff(ends, prepend=0))
        return cls(x, normals, level, area)._made(made_of)

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
        array = _vectors(points, "points")
        with callback(progress, "ordering points") as call:
            order = _core.farthest_order(array, call, threads())
        starts, size = [base], base
        while starts[-1] < len(array):
            size = min(size * base, len(array))
            starts.append(starts[-1] + size)
        levels = np.searchsorted(starts, np.arange(len(array)), side="right")
        return order, levels.astype(np.int32)

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
        value = number(level_set, "level_set")
        core = None
        if isinstance(surface, Field):
            core = surface._core
            vertices, triangles = _core.level_set(core, value, _RESOLUTION, None, threads())
        else:
            require(surface, Surface, "surface", " or a Field")
            vertices, triangles = surface.vertices, _outwards(surface)
        ends = np.cumsum(self.level_counts)
        found = []
        with callback(progress, "measuring a pointshell") as call:
            for n in ends.tolist():
                samples = max(_FEWEST_GAP_SAMPLES, _GAP_SAMPLES * n)
                found.append(
                    _core.shell_uniformity(
                        vertices, triangles, core, value, self._points[:n], self._normals[:n],
                        samples, call, threads(),
                    )
                )  # fmt: skip
        spacing, mean, deviation, least, gap = np.array(found).T
        # 0 / 0 if every point has a duplicate
        with np.errstate(invalid="ignore"):
            arrays = (spacing, mean, deviation / mean, least, gap)
        return Uniformity(ends, *(owned(array.copy()) for array in arrays))

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


def _share(
    call: Callable[[int, int], object] | None, start: int, end: int
) -> Callable[[int, int], object] | Literal[False]:
    """Return a progress callback that maps its range to `start` to `end` per cent of another."""
    if call is None:
        return False
    outer = call

    def report(done: int, total: int) -> None:
        outer(1000 * start + 1000 * (end - start) * done // total, 100_000)

    return report


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


def _counts(points: int, levels: int) -> tuple[int, int]:
    """Return the sizes of a shell after checks of range and memory."""
    points, levels = count(points, "points"), count(levels, "levels")
    _core.shell_counts(points, levels)
    there = available()
    if points * _BYTES_A_POINT > there > 0.0:
        raise InputError(
            f"points is {points}, which would need {points * _BYTES_A_POINT / 2**30:.1f} GiB of "
            f"memory; {there / 2**30:.1f} GiB are available"
        )
    return points, levels


def _outwards(surface: Surface) -> NDArray[np.int32]:
    """Return triangles that face outwards; those of closed surfaces are flipped if necessary."""
    turn = surface.is_closed and surface.volume < 0.0
    return surface.triangles[:, ::-1] if turn else surface.triangles


def _require_memory(surface: Surface, resolution: float, expand: float = 1.0) -> None:
    """Reject resolutions with more points than fit into memory, estimated by projected areas."""
    side = float(np.ptp(surface.bounds, axis=0).max())
    if not (resolution >= 1 and 1.0 <= expand < np.inf and 0.0 < side < np.inf):
        return  # rejected by the core, with its message
    a, b, c = ((surface.vertices / side)[surface.triangles[:, k]] for k in range(3))
    points = 0.5 * float(np.abs(np.cross(b - a, c - a)).sum()) * (resolution / expand) ** 2
    there, needed = available(), _BYTES_A_HIT * points
    if needed > there > 0.0:
        raise MemoryError(
            f"resolution is {resolution}, which gives about {points:.3g} points and needs "
            f"{needed / 1e9:.1f} GB of memory; {there / 1e9:.1f} GB are available"
        )


def _seed(rng: int | np.random.Generator) -> int:
    """Return a 64-bit seed from a seed or generator."""
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    try:
        if isinstance(rng, bool):
            raise TypeError
        seed = operator.index(rng)
    except TypeError:
        raise InputTypeError(
            f"rng must be an int or a numpy.random.Generator, got {type(rng).__name__}"
        ) from None
    if not 0 <= seed < 2**64:
        raise InputError(f"rng must be between 0 and 2**64 - 1, got {seed}")
    return seed
