"""Signed distance fields: grids of samples, analytic shapes and their combinations."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem._core import Field as _CoreField
from reducedfem.base.check import (
    array_like,
    as_array,
    choice,
    count,
    number,
    reals,
    require,
)
from reducedfem.base.executors import Executors
from reducedfem.base.frozen import freeze, thaw
from reducedfem.base.memory import available
from reducedfem.base.run import Progress, callback, threads
from reducedfem.contact.combined_field import (
    ComplementField,
    Field,
    IntersectionField,
    OffsetField,
    UnionField,
)
from reducedfem.contact.field_blocks import distributed
from reducedfem.contact.shape_field import (
    BoxField,
    CapsuleField,
    PlaneField,
    SphereField,
    plain,
    triple,
)
from reducedfem.errors import InputError
from reducedfem.geometry.inside import warn_of_doubts
from reducedfem.geometry.surface import Surface
from reducedfem.io import field_files
from reducedfem.io.saved import Saved

__all__ = [
    "BoxField",
    "CapsuleField",
    "ComplementField",
    "DistanceField",
    "Field",
    "IntersectionField",
    "OffsetField",
    "PlaneField",
    "SphereField",
    "UnionField",
]


MAX_RESOLUTION = 1 << 20

_Value = TypeVar("_Value")

_SKIN = "pass an offset [m]: the object is then the region within that distance of the surface"


def _resolution(value: int | Sequence[int]) -> tuple[int, int, int]:
    """Return the voxels along x, y and z."""
    if isinstance(value, int) or as_array(value, "resolution", "integers").ndim == 0:
        n = count(value, "resolution", MAX_RESOLUTION)
        return n, n, n
    if len(value) != 3:
        raise InputError(f"resolution must be one number or three, got {len(value)}")
    x, y, z = (count(one, f"resolution[{c}]", MAX_RESOLUTION) for c, one in enumerate(value))
    return x, y, z


def _known(value: _Value | None) -> _Value:
    """Return a value that is not None for fields on grids."""
    assert value is not None
    return value


class DistanceField(Field, Saved):
    """Signed distance field on a regular grid, interpolated trilinearly.

    `from_surface` makes one from a triangle surface. Outside of the box of the grid the distance
    is the lower bound d_box + max(d_boundary, 0): the distance to the box and the smallest sample
    on its sides (Barbic 2007, inequality 3.14). It drops to this bound at the sides of the box.

    Parameters
    ----------
    values
        Samples [m], shape (nx, ny, nz), each 2 or more; stored as float32.
    origin
        Position of the sample (0, 0, 0) [m], shape (3,).
    spacing
        Spacing of the samples [m]: a number, or one per axis, shape (3,).

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong shape or a value that is not finite or not allowed.
    """

    __slots__ = ("_provenance",)

    _provenance: Mapping[str, Any]

    def __init__(self, values: ArrayLike, origin: ArrayLike, spacing: ArrayLike) -> None:
        steps = reals(spacing, "spacing")
        if steps.shape == ():
            steps = np.full(3, steps)
        # values beyond float32 become infinite, and are rejected as not finite
        with np.errstate(over="ignore"):
            self._core = _core.field_from_values(
                array_like(values, "values"),
                triple(origin, "origin"),
                triple(steps, "spacing"),
                np.inf,
                threads(),
            )
        self._provenance = freeze({"method": "given samples"})

    @classmethod
    def _made(cls, core: _CoreField, provenance: Mapping[str, Any]) -> DistanceField:
        self = cls.__new__(cls)
        self._core, self._provenance = core, freeze(provenance)
        return self

    @classmethod
    def _again(
        cls,
        values: NDArray[np.float32],
        origin: NDArray[np.float64],
        spacing: NDArray[np.float64],
        error: float,
        provenance: Mapping[str, Any],
    ) -> DistanceField:
        """Return a field from samples with a known error."""
        return cls._made(
            _core.field_from_values(values, origin, spacing, error, threads()), provenance
        )

    @classmethod
    def from_surface(
        cls,
        surface: Surface,
        resolution: int | Sequence[int] = 256,
        expand: float = 1.5,
        offset: float | None = None,
        *,
        mode: str = "exact",
        box: ArrayLike | None = None,
        executor: Executors = None,
        progress: Progress = None,
    ) -> DistanceField:
        """Return the signed distance field of a triangle surface.

        A closed surface of either orientation is the boundary of the object; signs are those of
        angle-weighted pseudonormals. If the surface crosses itself (tested exactly, see
        `Surface.self_intersections`), or parts are nested or inconsistently oriented, winding
        numbers give the sign: the inside is the region that the surface winds around, and
        distances are those from its boundary. Hidden walls in overlapping parts do not count;
        where they meet the boundary it is accurate to a quarter of a voxel, and parts closer than
        a thousandth of a voxel count as one. Inconsistent triangles and parts are flipped first.

        Of an open surface the inside has winding numbers (`Surface.winding`) above 1/2. Holes are
        capped by the iso-surface 1/2 of the samples' winding numbers, accurate to a voxel along
        the rims; walls wholly inside do not count. Any other surface, such as single sheets, has
        no inside: the object is the region within `offset` of it and all that this region
        encloses (Barbic 2007, section 3.6).

        Parameters
        ----------
        surface
            Surface; vertices at the same position are merged to test if it is closed. Triangles
            with a height less than 1e-14 of their length count as lines.
        resolution
            Voxels along the side of the box, or three numbers, along x, y and z, for a `box` that
            is not a cube; samples are one more.
        expand
            Ratio, 1 or more, of the side of the box, a cube about the centre of the surface's
            bounding box, to the longest side of the bounding box (B07 3.11).
        offset
            Distance [m] of the zero level from the surface, of closed surfaces too. None: 0 for
            surfaces with an inside, 1.4 voxels for others.
        mode
            ``"exact"``: all samples are exact distances, rounded to float32. ``"fast"``: samples up
            to 8 voxels from the surface are; the others are interpolated from exact distances at
            every fourth sample, with errors below H / 2, H = 4 diagonals of a voxel, and at most
            H^2 / (8 d) too large at a distance d.
        box
            Corners of the box [m], shape (2, 3), in place of the cube.
        executor
            Workers for blocks of samples, as in `study`; the bits are the same. None: this process.
        progress
            A bar: True, False, or None (after two seconds, in a terminal); or ``f(done, total)``.

        Returns
        -------
        DistanceField
            Field whose `provenance` records the method.

        Raises
        ------
        InputError, InputTypeError
            An argument is not allowed, or the box leaves no room for the offset.
        MeshError
            The surface has no extent, or `offset` is 0 and it encloses nothing.
        MemoryError
            The resolution needs more memory than is available; the message gives both.

        Warns
        -----
        GeometryWarning
            The inside is uncertain: holes are as large as the body, or a part is a single sheet.
        """
        require(surface, Surface, "surface")
        choice(mode, "mode", ("exact", "fast"))
        voxels = _resolution(resolution)
        with distributed(executor) as elsewhere, callback(progress, "distances") as call:
            (
                core,
                closed,
                turned,
                crossing,
                taken,
                removed,
                band,
                error,
                hidden,
                depth_error,
                capped,
                cap,
                inside,
                doubtful,
                sheets,
            ) = _core.field_from_surface(  # fmt: skip
                surface.vertices,
                surface.triangles,
                voxels,
                number(expand, "expand"),
                None if box is None else reals(box, "box"),
                None if offset is None else number(offset, "offset"),
                mode == "exact",
                available(),
                elsewhere,
                call,
                threads(),
            )
        if capped:
            warn_of_doubts(surface, inside, doubtful, sheets, _SKIN, stacklevel=2)
        provenance: dict[str, Any] = {
            "method": "distances from a surface",
            "mode": mode,
            "triangles": surface.n_triangles,
            "closed": closed,
            "turned": turned,
            "crossing": crossing,
            "offset_m": taken,
        }
        if hidden > 0 and not capped:
            provenance |= {
                "inside": "distances from the boundary of all parts together; walls hidden inside "
                "others are left out",
                "hidden_triangles": hidden,
                "depth_error_m": depth_error,
            }
        if capped:
            provenance |= {
                "inside": "where the winding number is above 1/2; holes are capped where it is 1/2",
                "cap_triangles": cap,
                "hidden_triangles": hidden,
                "depth_error_m": depth_error,
            }
        if taken > 0:
            provenance["cavities_filled"] = removed
        if mode == "fast":
            provenance |= {"exact_up_to_m": band, "error_m": error}
        return cls._made(core, provenance)

    @classmethod
    def from_field(
        cls,
        field: Field,
        resolution: int | Sequence[int] = 256,
        expand: float = 1.5,
        *,
        box: ArrayLike | None = None,
        progress: Progress = None,
    ) -> DistanceField:
        """Return another field, sampled on a grid.

        A grid needs one look-up in place of one per part, and can be saved. For a `DeformedField`
        at coordinates q pass its distances at the samples to
        ``DistanceField(values, origin, spacing)``.

        Interpolation rounds corners of the object by less than a voxel. Samples of unions of
        analytic shapes are known to be distances; those of intersections, complements, shrunk
        shapes and grids are not, and contact culls distant spheres less effectively.

        Parameters
        ----------
        field
            Field to sample. Parts of the object outside of the box are left out.
        resolution
            Voxels along the side of the box, or three numbers, along x, y and z; samples are one
            more.
        expand
            Ratio, 1 or more, of the side of the box, a cube about the centre of the object's
            bounding box (of a grid: its box), to the longest side of the latter.
        box
            Corners of the box [m], shape (2, 3), in place of the cube; required for unbounded
            objects.
        progress
            A bar: True, False, or None (after two seconds, in a terminal); or ``f(done, total)``.

        Returns
        -------
        DistanceField

        Raises
        ------
        InputError, InputTypeError
            An argument is not allowed; the object is unbounded or empty and no `box` is given.
        MemoryError
            The resolution needs more memory than is available; the message gives both.
        """
        require(field, Field, "field")
        voxels, times = _resolution(resolution), number(expand, "expand")
        if box is None:
            corners = field._core.bounds
            if not times >= 1.0:
                raise InputError(f"expand must be at least 1, got {times:g}")
            if (corners[0] > corners[1]).any():
                raise InputError("field is nowhere negative, so there is no object; give a box")
            if not np.isfinite(corners).all():
                raise InputError(
                    "the object of field is unbounded, as planes and complements are: give a box"
                )
            half = 0.5 * times * (corners[1] - corners[0]).max()
            corners = corners.mean(axis=0) + [[-half], [half]] * np.ones(3)
        else:
            corners = reals(box, "box")
        need, there = 4.0 * float(np.prod([n + 1.0 for n in voxels])), available()
        if need > there > 0.0:
            raise MemoryError(
                f"a field of {' x '.join(str(n + 1) for n in voxels)} samples needs "
                f"{1e-9 * need:.1f} GB of memory, {1e-9 * there:.1f} GB are available; choose a "
                "lower resolution"
            )
        with callback(progress, "samples of a field") as call:
            core = _core.field_from_field(field._core, voxels, corners, call, threads())
        return cls._made(core, {"method": "samples of a field", "field": repr(field)})

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Read-only record of the method, plain data.

        Of `from_surface`: True or False for a surface that is ``closed``, faced inwards
        (``turned``) or crosses itself (``crossing``), and the offset (``offset_m``). If parts
        overlap, also the number of triangles hidden wholly or in part (``hidden_triangles``) and
        the largest error of distances inside (``depth_error_m``); if holes are capped, the number
        of triangles of the caps (``cap_triangles``), and ``depth_error_m`` for distances near the
        rims.
        """
        return self._provenance

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the field to a file in the safetensors format; see `reducedfem.load`.

        The file appears whole or not at all; an existing one is replaced only when the new
        one is complete.

        Parameters
        ----------
        path
            File name; ``.safetensors`` is added if there is no suffix, others are refused.

        Raises
        ------
        FileFormatError
            The file cannot be written.
        """
        field_files.save(
            path, self.values, self.origin, self.spacing, self._core.error, self._provenance
        )

    @classmethod
    def _read(cls, stream: BinaryIO, size: int, name: str) -> DistanceField:
        return field_files.read(stream, size, name, cls._again)

    @property
    def values(self) -> NDArray[np.float32]:
        """Samples [m], read-only float32, shape (nx, ny, nz)."""
        return _known(self._core.values)

    @property
    def origin(self) -> NDArray[np.float64]:
        """Position of the sample (0, 0, 0) [m], read-only, shape (3,)."""
        return _known(self._core.origin)

    @property
    def spacing(self) -> NDArray[np.float64]:
        """Spacing of the samples along x, y and z [m], read-only, shape (3,)."""
        return _known(self._core.spacing)

    @property
    def bounds(self) -> NDArray[np.float64]:
        """Lowest and highest corner [m] of the box, shape (2, 3)."""
        last = np.array(self.values.shape) - 1
        return np.array([self.origin, self.origin + self.spacing * last])

    @property
    def boundary(self) -> float:
        """Lower bound of the distance on the sides of the box [m]: d_boundary of B07 3.14.

        The smallest sample there; for fields of surfaces reduced by the bound of the difference
        between samples.
        """
        return _known(self._core.boundary)

    def isosurface(self, value: float = 0.0, *, progress: Progress = None) -> Surface:
        """Return the surface on which the interpolated distance has a given value.

        It is closed and manifold, faces away from the object, and follows the sides of the box
        where the level set leaves the box.

        Parameters
        ----------
        value
            Distance [m]; positive: a surface around the object.
        progress
            A bar: True, False, or None (after two seconds, in a terminal); or ``f(done, total)``.

        Returns
        -------
        Surface

        Raises
        ------
        InputError, InputTypeError
            No sample is below `value`, or no sample is above.
        """
        level = number(value, "value")
        with callback(progress, "iso-surface") as call:
            vertices, triangles, _ = _core.isosurface(
                self.values, self.origin, self.spacing, level, call, threads()
            )
        return Surface(vertices, triangles)

    def __repr__(self) -> str:
        nx, ny, nz = self.values.shape
        low, high = self.bounds
        how = ""
        if "offset_m" in self._provenance:
            offset = self._provenance["offset_m"]
            how = "; closed surface" if self._provenance["closed"] else "; open surface"
            how += f", offset {offset:g} m" if offset > 0 else ""
            how += f", {self._provenance['mode']}"
        return (
            f"<DistanceField: {nx} x {ny} x {nz} samples from {plain(low)} to {plain(high)} m"
            f"{how}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return DistanceField._again, (
            self.values,
            self.origin,
            self.spacing,
            self._core.error,
            thaw(self._provenance),
        )
