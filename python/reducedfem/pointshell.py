"""Pointshells: points of a surface with inward normals, ordered by levels of detail."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core, _shell_files
from reducedfem._check import array_like, count, flag, integer, number, reals, require
from reducedfem._frozen import freeze, owned, thaw
from reducedfem._memory import available
from reducedfem._run import Progress, callback, threads
from reducedfem._saved import Saved
from reducedfem.errors import InputError, InputTypeError
from reducedfem.field import DistanceField, Field
from reducedfem.surface import Surface

__all__ = ["Pointshell", "Uniformity"]

# of repulsion: motion of a round, in distances between neighbours, that ends a level, and rounds
_STILL = 0.002
_ROUNDS = 100
# places at which the area of a point, and gaps between points, are looked for
_AREA_SAMPLES = 32
_GAP_SAMPLES = 8
_FEWEST_GAP_SAMPLES = 20_000
# memory of repulsion, about
_BYTES_A_POINT = 475
# of a point of voxels or rays, about, its place in the order of the farthest included
_BYTES_A_HIT = 260
# voxels and rays along a side, as of the core
_MOST_VOXELS, _MOST_RAYS = 2048, 1 << 14
# of grids on which fields that are no grid are sampled to draw points from
_RESOLUTION = 128
# voxels of the field around a surface, on both sides together
_MARGIN = 12
# parts are thin if more than this share of a surface has no inside a voxel further in, as found
# from so many samples; then the surface is enclosed at so many voxels
_THIN = 0.01
_THINNESS_SAMPLES = 20_000
_OFFSET = 1.4


@dataclass(frozen=True, eq=False)
class Uniformity:
    """Uniformity of the points of a shell on a surface, level by level.

    Distances are straight, between points on the same side of thin parts (normals that differ
    by less than 120 degrees), and in multiples of `spacing`, the distance between neighbours
    if as many points were arranged hexagonally on that area: sqrt(2 A / (sqrt(3) n)). Of that
    arrangement nearest distances are 1, their spread is 0, and the largest gap is 0.58. What a
    single point has no neighbours for is nan.

    Attributes
    ----------
    counts
        Number of points of levels up to each, shape (levels,).
    spacing
        Distance between neighbours, were the points hexagonal [m], shape (levels,).
    nearest
        Mean distance from a point to the nearest other one, shape (levels,).
    spread
        Standard deviation of that distance over its mean, shape (levels,).
    least
        Smallest distance between two points, shape (levels,). Repulsion is finite: at sharp
        edges single pairs may be pushed together, to a tenth of the spacing or less.
    gap
        Largest distance found from a place of the surface to the nearest point, shape (levels,).
    """

    counts: NDArray[np.int64]
    spacing: NDArray[np.float64]
    nearest: NDArray[np.float64]
    spread: NDArray[np.float64]
    least: NDArray[np.float64]
    gap: NDArray[np.float64]


# of a normal's length from 1
_UNIT = 1e-6


class Pointshell(Saved):
    """Points of a closed surface with inward unit normals (B07 3.8).

    The points are sorted by level: those of levels up to any one sample the whole surface,
    each level about twice as finely as the one before. Points that are given in another
    order are sorted, those of one level keep their order. The arrays are read-only.

    Parameters
    ----------
    points
        Positions [m], shape (n, 3).
    normals
        Unit normals that point inwards, shape (n, 3).
    levels
        Level of each point, shape (n,): integers from 0 on, none left out. By default all
        points are of level 0.
    areas
        Area of the surface that each point stands for [m^2], shape (n,), or None.

    Raises
    ------
    InputError, InputTypeError
        There is no point; an array has a wrong shape or dtype or a value that is not finite;
        a normal is not of length 1, a level is missing, an area is negative.
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
        """Unit normals, inwards, read-only, shape (n, 3)."""
        return self._normals

    @property
    def levels(self) -> NDArray[np.int32]:
        """Level of each point, ascending from 0, read-only, shape (n,)."""
        return self._levels

    @property
    def areas(self) -> NDArray[np.float64] | None:
        """Area of the surface that each point stands for [m^2], shape (n,); None if unknown."""
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
        """Record of how it was made, plain data that cannot be changed; files do not keep it.

        ``method`` says how. Of `from_surface` it says whether the points lie on the surface or
        on a level set; with it come whether the surface is ``closed``, crosses itself
        (``crossing``) and was found too thin for that (``thin``), the offset from it
        (``offset_m``), and the voxels of the field if they matter (``voxel_m``).
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

        Points repel each other along the level set until they are still; those of a level stay
        where they are when the next, with four times as many, is filled in. The reach of the
        repulsion and the steps follow from the area and the number of points. The points lie
        on the level set of the field as it is interpolated; normals are its gradients.

        Parameters
        ----------
        field
            The signed distance. Its level set must be closed. Of a field that is no
            `DistanceField`, what is thinner than 1/128 of the longest side may be overlooked.
        points
            Number of points of all levels.
        levels
            Number of levels.
        rng
            Seed or generator of random numbers. Equal ones give equal shells,
            whatever the number of threads.
        level_set
            Value of the field on which the points lie [m]: outside of the surface if positive.
        areas
            True: find the area that each point represents.
        progress
            True: a bar; or a callable that is told (done, total).

        Returns
        -------
        Pointshell

        Raises
        ------
        InputError, InputTypeError
            There is no such level set or it is not closed; too few points for so many levels,
            or more than fit into memory.
        ConvergenceError
            Points do not find the way to the level set.
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
        """Spread points evenly over a surface, or over what encloses it (B07 3.8.1).

        The points repel each other, as of `from_field`. On a closed surface that does not cross
        itself they lie on its triangles, however thin its parts are, and normals are
        pseudonormals, turned inwards. Other surfaces are replaced by the zero level set of a
        `DistanceField`: closed ones that cross themselves by that of what they wind around, with
        the pseudonormals of the nearest features; open ones with an inside by that and what caps
        their holes, with its normals; polygon soups, thin shells and wires among them, by a
        surface around them at `offset`, with its normals. What crosses itself and is
        in parts thinner than a voxel or two, which would tear the level set, is enclosed in the
        same way. `provenance` says which it was.

        Parameters
        ----------
        surface
            Any surface.
        points
            Number of points of all levels.
        levels
            Number of levels, each with four times as many points as the one before.
        rng
            Seed or generator of random numbers.
        resolution
            Voxels of the field along its side, which is somewhat longer than the surface: those
            of the level set, if there is one.
        offset
            Distance from the surface [m] at which the points lie, as of
            `DistanceField.from_surface`. None: 0 of surfaces with an inside, 1.4 voxels of polygon
            soups and of what crosses itself and is thin.
        areas
            True: find the area that each point represents.
        progress
            True: a bar; or a callable that is told (done, total), of the surface first.

        Returns
        -------
        Pointshell

        Raises
        ------
        InputError, InputTypeError
            An argument is out of its range; the points do not fit into memory, or are too few
            for so many levels; the resolution is too coarse for the surface.
        MeshError
            The surface has no extent, or `offset` is 0 and it encloses nothing.
        MemoryError
            A field is needed that does not fit into memory; the message says how much it needs.
        ConvergenceError
            Points do not find the way to the level set.
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
            # most surfaces bound a solid, of which no field is needed
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
                # the cap of a hole has other normals than what is nearest to it on the surface
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
        """Take the centres of the voxels that a surface touches (B07 3.8.2).

        This is the shell of the Voxmap-PointShell method, to compare with: its points lie off
        the surface, by up to half a diagonal of a voxel, and in steps. The normals are minus
        the pseudonormals of the nearest features, the levels those of `farthest_point_order`.

        Parameters
        ----------
        surface
            Any surface; normals point inwards if it is closed, or faces outwards.
        resolution, expand
            The voxels, as of `voxelize`.
        branching
            The levels, as of `farthest_point_order`.
        areas
            True: find the area that each point represents, that of the part of the surface that
            is nearest to it.
        progress
            True: a bar; or a callable that is told (done, total).

        Returns
        -------
        Pointshell

        Raises
        ------
        InputError, InputTypeError
            An argument is out of its range.
        MemoryError
            There would be more points than fit into memory; the message says what they need.
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
        """Take the places where rays along x, y and z meet a surface (B07 3.8.2).

        This is the layered depth cube of point-based rendering, to compare with: every place
        of the surface is near a point, but some are near three. The normals are those of the
        triangles.

        Parameters
        ----------
        resolution
            Rays along the longest side of the bounding box.
        surface, branching, areas, progress
            As of `from_voxels`.

        Returns
        -------
        Pointshell

        Raises
        ------
        InputError, InputTypeError
            An argument is out of its range, or no ray meets the surface.
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
        """Return the points that `sample` finds on a surface, by farthest-point order."""
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
        """Note how the shell was made."""
        self._provenance = freeze(how)
        return self

    @staticmethod
    def farthest_point_order(
        points: ArrayLike, branching: int = 8, *, progress: Progress = None
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Order points so that each is the farthest from all before it (B07 3.9.1).

        The first point comes first; of equally far ones the first of the list.

        Parameters
        ----------
        points
            Positions [m], shape (n, 3).
        branching
            The first so many points of the order are of level 0, the next ``branching**2`` of
            level 1, and so on.
        progress
            True: a bar; or a callable that is told (done, total).

        Returns
        -------
        order : (n,) array
            Indices of the points.
        levels : (n,) array
            Level of each point of that order: ``Pointshell(points[order], normals[order],
            levels)`` is a shell of them.

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
        """Return the points of levels up to one as a shell of their own.

        It has the upper levels of the `PointTree` of this shell. `areas` are kept as they are,
        those of points among all points of this shell: as weights of a contact they count in
        proportion, but their sum is no longer the area of the surface. `provenance` is kept too.

        Parameters
        ----------
        level
            0 to ``n_levels - 1``.

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
        """Measure how evenly the points of each level and those before it lie on a surface.

        Parameters
        ----------
        surface
            The surface, closed or facing outwards, or the field on whose level set the points lie.
        level_set
            The value of the field there [m]; of no meaning for a surface.
        progress
            True: a bar; or a callable that is told (done, total).

        Returns
        -------
        Uniformity

        Raises
        ------
        InputError, InputTypeError
            `surface` is neither, has no area, or the field has no such level set.
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
        # 0 / 0 where all points are twice
        with np.errstate(invalid="ignore"):
            arrays = (spacing, mean, deviation / mean, least, gap)
        return Uniformity(ends, *(owned(array.copy()) for array in arrays))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a file in the safetensors format, whole or not at all; `load` reads it.

        Parameters
        ----------
        path
            ``.safetensors`` is added to a name without suffix; that of another format is refused.

        Raises
        ------
        FileFormatError
            The file cannot be written.
        """
        _shell_files.save(self, path)

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
    """Return what counts a part of a call as going from `start` to `end` per cent of it."""
    if call is None:
        return False
    told = call

    def tell(done: int, total: int) -> None:
        told(1000 * start + 1000 * (end - start) * done // total, 100_000)

    return tell


def _vectors(value: ArrayLike, name: str, n: int | None = None) -> NDArray[np.float64]:
    """Return a copy of finite vectors, (n, 3)."""
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
    """Return levels 0, 1, ... of which none is without points."""
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
    """Check the sizes of a shell, and that memory holds them."""
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
    """Return triangles that face outwards, those of closed surfaces turned if need be."""
    turn = surface.is_closed and surface.volume < 0.0
    return surface.triangles[:, ::-1] if turn else surface.triangles


def _require_memory(surface: Surface, resolution: float, expand: float = 1.0) -> None:
    """Refuse more rays or voxels than memory holds: about one for each cell of the shadows."""
    side = float(np.ptp(surface.bounds, axis=0).max())
    if not (resolution >= 1 and 1.0 <= expand < np.inf and 0.0 < side < np.inf):
        return  # the core says what is wrong
    a, b, c = ((surface.vertices / side)[surface.triangles[:, k]] for k in range(3))
    points = 0.5 * float(np.abs(np.cross(b - a, c - a)).sum()) * (resolution / expand) ** 2
    there, needed = available(), _BYTES_A_HIT * points
    if needed > there > 0.0:
        raise MemoryError(
            f"resolution is {resolution}, which gives about {points:.3g} points and needs "
            f"{needed / 1e9:.1f} GB of memory; {there / 1e9:.1f} GB are available"
        )


def _seed(rng: int | np.random.Generator) -> int:
    """Return a seed of 64 bits."""
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
