"""Points for pointshells: spread over a surface or level set, or by voxels or rays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.base.check import count, flag, number, require
from reducedfem.base.memory import available
from reducedfem.base.run import Progress, callback, threads
from reducedfem.contact.field import DistanceField, Field
from reducedfem.errors import InputError, InputTypeError
from reducedfem.geometry.surface import Surface

__all__ = [
    "RESOLUTION",
    "Sample",
    "farthest_order",
    "of_rays",
    "of_voxels",
    "on_field",
    "on_surface",
    "outwards",
]

# repulsion: motion per round, in spacings, at which a level ends, and largest number of rounds
_STILL = 0.002
_ROUNDS = 100
# samples per point for areas
_AREA_SAMPLES = 32
# approximate memory of repulsion
_BYTES_A_POINT = 475
# approximate memory of a point of voxels or rays, with its farthest-point order
_BYTES_A_HIT = 260
# largest numbers of voxels and rays along a side, as in the core
_MOST_VOXELS, _MOST_RAYS = 2048, 1 << 14
# of the grid on which analytic fields are sampled for the first points
RESOLUTION = 128
# voxels between surface and box, both sides together
_MARGIN = 12
# a surface is thin if more than this share of it, by so many samples, has no inside one voxel
# deeper; it is then enclosed at a distance of _OFFSET voxels
_THIN = 0.01
_THINNESS_SAMPLES = 20_000
_OFFSET = 1.4

# points, normals, levels, areas and provenance of a shell
Sample = tuple[
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.integer[Any]],
    NDArray[np.float64] | None,
    Mapping[str, Any],
]


def on_field(
    field: Field,
    points: int,
    levels: int,
    rng: int | np.random.Generator,
    level_set: float,
    areas: bool,
    progress: Progress,
) -> Sample:
    """Spread points over a level set; see `Pointshell.from_field`."""
    require(field, Field, "field")
    points, levels = _counts(points, levels)
    value = number(level_set, "level_set")
    with_areas = flag(areas, "areas")
    seed = _seed(rng)
    made_of = {"method": "repulsion on a level set", "level_set_m": value}
    with callback(progress, "repelling points") as call:
        return _repelled(field, None, points, levels, seed, value, with_areas, made_of, call)


def on_surface(
    surface: Surface,
    points: int,
    levels: int,
    rng: int | np.random.Generator,
    resolution: int,
    offset: float | None,
    areas: bool,
    progress: Progress,
) -> Sample:
    """Spread points over a surface, or an enclosing one; see `Pointshell.from_surface`."""
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
            return _repelled(
                None, (arrays[0], outwards(surface)), points, levels, seed, 0.0, with_areas,
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
        return _repelled(
            None if direct else field,
            # the cap of a hole has other normals than the nearest triangle
            arrays if facts["closed"] and made_of["offset_m"] == 0.0 else None,
            points, levels, seed, 0.0, with_areas, made_of, _share(call, 30, 100) or None,
        )  # fmt: skip


def of_voxels(
    surface: Surface,
    resolution: int,
    expand: float,
    branching: int,
    areas: bool,
    progress: Progress,
) -> Sample:
    """Return the centres of voxels at a surface; see `Pointshell.from_voxels`."""
    voxels, sides = count(resolution, "resolution"), number(expand, "expand")
    return _sampled(
        "centres of voxels", _core.shell_from_voxels, surface, (voxels, sides),
        _MOST_VOXELS, branching, areas, progress,
    )  # fmt: skip


def of_rays(
    surface: Surface, resolution: int, branching: int, areas: bool, progress: Progress
) -> Sample:
    """Return the intersections of rays with a surface; see `Pointshell.from_depth_cube`."""
    rays = count(resolution, "resolution")
    return _sampled(
        "layered depth cube", _core.shell_from_depth_cube, surface, (rays,),
        _MOST_RAYS, branching, areas, progress,
    )  # fmt: skip


def farthest_order(
    points: NDArray[np.float64], base: int, progress: Progress
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return farthest-point order and levels; see `Pointshell.farthest_point_order`."""
    with callback(progress, "ordering points") as call:
        order = _core.farthest_order(points, call, threads())
    starts, size = [base], base
    while starts[-1] < len(points):
        size = min(size * base, len(points))
        starts.append(starts[-1] + size)
    levels = np.searchsorted(starts, np.arange(len(points)), side="right")
    return order, levels.astype(np.int32)


def _sampled(
    method: str,
    sample: Callable[..., tuple[NDArray[np.float64], NDArray[np.float64]]],
    surface: Surface,
    arguments: tuple[float, ...],
    most: int,
    branching: int,
    areas: bool,
    progress: Progress,
) -> Sample:
    """Return the points of `sample`, in farthest-point order."""
    require(surface, Surface, "surface")
    base, with_areas = count(branching, "branching"), flag(areas, "areas")
    if arguments[0] <= most:
        _require_memory(surface, *arguments)
    vertices, triangles = surface.vertices, surface.triangles
    with callback(progress, method) as call:
        points, normals = sample(
            vertices, triangles, *arguments, _share(call, 0, 30) or None, threads()
        )
        order, levels = farthest_order(points, base, _share(call, 30, 70 if with_areas else 100))
        points, normals, area = points[order], normals[order], None
        if with_areas:
            triangles = outwards(surface)
            area = _core.shell_areas(
                vertices, triangles, points, normals, _AREA_SAMPLES, 0,
                _share(call, 70, 100) or None, threads(),
            )  # fmt: skip
    return points, normals, levels, area, {"method": method}


def _repelled(
    field: Field | None,
    surface: tuple[NDArray[np.float64], NDArray[np.int32]] | None,
    points: int,
    levels: int,
    seed: int,
    value: float,
    with_areas: bool,
    made_of: Mapping[str, Any],
    call: Any,
) -> Sample:
    """Return repelled points of a level set, or of a surface if there is no field."""
    x, normals, area, *_ = _core.shell_create(
        None if field is None else field._core, surface, RESOLUTION, points, levels, seed,
        value, _ROUNDS, _STILL, _AREA_SAMPLES if with_areas else 0, call, threads(),
    )  # fmt: skip
    ends = _core.shell_counts(points, levels)
    level = np.repeat(np.arange(levels), np.diff(ends, prepend=0))
    return x, normals, level, area, made_of


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


def outwards(surface: Surface) -> NDArray[np.int32]:
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
