"""Signed distance fields: regular grids of samples, shapes with a formula, and what joins them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem._check import array_like, as_array, choice, count, number, places, reals, require
from reducedfem._core import Field as _CoreField
from reducedfem._frozen import freeze, thaw
from reducedfem._inside import warn_of_doubts
from reducedfem._memory import available
from reducedfem._run import Progress, callback, threads
from reducedfem._saved import Saved
from reducedfem.errors import InputError, InputTypeError
from reducedfem.surface import Surface

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


class Field:
    """Signed distance as a function of place: negative inside, in metres.

    This is the base of `DistanceField`, `SphereField`, `BoxField`, `PlaneField`, `CapsuleField`,
    `UnionField`, `IntersectionField`, `ComplementField` and `OffsetField`; it is not made itself.
    Fields cannot be changed and may be shared by threads. ``a | b`` is the union of two, ``a & b``
    the intersection, ``a - b`` the difference and ``~a`` the complement.

    Attributes
    ----------
    None
        The kinds have theirs.
    """

    __slots__ = ("__weakref__", "_core")

    _core: _CoreField

    def __init__(self) -> None:
        raise InputTypeError(
            "a Field is made as one of its kinds: DistanceField, SphereField, BoxField, "
            "PlaneField, CapsuleField, or of other fields: UnionField, IntersectionField, "
            "ComplementField or OffsetField"
        )

    def distance(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return the signed distance at points.

        Parameters
        ----------
        points
            Places [m], shape (n, 3), or (3,) for one.

        Returns
        -------
        (n,) array
            Signed distances [m], negative inside; for one point an array of shape ().

        Raises
        ------
        InputError, InputTypeError
            `points` has a wrong shape or a value that is not finite.
        """
        given, shape = places(points, "points")
        return self._core.distance(given, threads()).reshape(shape)

    def gradient(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return the gradient of the signed distance at points.

        It is the derivative of what `distance` returns, so that of an interpolant its length is
        not exactly one. Where there is a kink it is that of one side.

        Parameters
        ----------
        points
            Places [m], shape (n, 3), or (3,) for one.

        Returns
        -------
        (n, 3) or (3,) array
            Gradients, which point away from the object.

        Raises
        ------
        InputError, InputTypeError
            `points` has a wrong shape or a value that is not finite.
        """
        return self.distance_and_gradient(points)[1]

    def distance_and_gradient(
        self, points: ArrayLike
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return what `distance` and `gradient` return, at the cost of one.

        Parameters
        ----------
        points
            Places [m], shape (n, 3), or (3,) for one.

        Returns
        -------
        distance, gradient
            Arrays of shapes (n,) and (n, 3), or () and (3,).

        Raises
        ------
        InputError, InputTypeError
            `points` has a wrong shape or a value that is not finite.
        """
        given, shape = places(points, "points")
        distance, gradient = self._core.gradient(given, threads())
        return distance.reshape(shape), gradient.reshape(*shape, 3)

    def union(self, *others: Field) -> UnionField:
        """Return the field of this object and others together.

        Parameters
        ----------
        *others
            Fields.

        Returns
        -------
        UnionField

        Raises
        ------
        InputTypeError
            One of them is no Field.
        """
        return UnionField([self, *_fields(others, "others")])

    def intersection(self, *others: Field) -> IntersectionField:
        """Return the field of what this object and others have in common.

        Parameters
        ----------
        *others
            Fields.

        Returns
        -------
        IntersectionField
            Outside it is a lower bound of the distance.

        Raises
        ------
        InputError, InputTypeError
            One of them is no Field; unions make it too large.
        """
        return IntersectionField([self, *_fields(others, "others")])

    def difference(self, *others: Field) -> IntersectionField:
        """Return the field of this object without what others take away.

        Parameters
        ----------
        *others
            Fields.

        Returns
        -------
        IntersectionField
            Of this field and the complements of the others. Outside it is a lower bound of the
            distance.

        Raises
        ------
        InputError, InputTypeError
            One of them is no Field; intersections among them make it too large.
        """
        return IntersectionField([self, *map(ComplementField, _fields(others, "others"))])

    def complement(self) -> ComplementField:
        """Return the field of what is outside of this object: minus this one.

        Returns
        -------
        ComplementField

        Raises
        ------
        InputError
            Intersections of unions make it too large.
        """
        return ComplementField(self)

    def __or__(self, other: Field) -> UnionField:
        if not isinstance(other, Field):
            return NotImplemented
        return self.union(other)

    def __and__(self, other: Field) -> IntersectionField:
        if not isinstance(other, Field):
            return NotImplemented
        return self.intersection(other)

    def __sub__(self, other: Field) -> IntersectionField:
        if not isinstance(other, Field):
            return NotImplemented
        return self.difference(other)

    def __invert__(self) -> ComplementField:
        return ComplementField(self)

    def offset(self, by: float) -> OffsetField:
        """Return the field of the object made larger all round.

        Parameters
        ----------
        by
            Distance [m]; negative makes it smaller.

        Returns
        -------
        OffsetField

        Raises
        ------
        InputError, InputTypeError
            `by` is no finite number.
        """
        return OffsetField(self, by)


_SKIN = "pass an offset [m]: the object is then all that is within it of the surface"
_FARTHEST = 1e150  # whose squares are finite; csrc/sdf/field.c


def _triple(value: ArrayLike, name: str) -> NDArray[np.float64]:
    array = reals(value, name)
    if array.shape != (3,):
        raise InputError(f"{name} must have shape (3,), got {array.shape}")
    if not (np.abs(array) < _FARTHEST).all():
        raise InputError(f"{name} must be below {_FARTHEST:g} m, got {_plain(array)}")
    return array


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
    """Return what a field of a grid has."""
    assert value is not None
    return value


def _plain(array: NDArray[np.float64]) -> str:
    return "(" + ", ".join(f"{x:g}" for x in array) + ")"


class DistanceField(Field, Saved):
    """A signed distance field on a regular grid, interpolated trilinearly.

    `from_surface` makes one of a triangle surface. Outside the box of the grid the distance is
    the lower bound d_box + d_boundary: the distance to the box and the smallest sample on its
    sides (B07, inequality 3.14), where that is positive, else d_box. It drops to this bound at
    the sides of the box.

    Parameters
    ----------
    values
        Samples [m], shape (nx, ny, nz), each 2 or more; stored as float32.
    origin
        Place of the sample (0, 0, 0) [m], shape (3,).
    spacing
        Of the samples [m]: a number, or one for each axis, shape (3,).

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
        # what float32 cannot hold is refused as not finite
        with np.errstate(over="ignore"):
            self._core = _core.field_from_values(
                array_like(values, "values"),
                _triple(origin, "origin"),
                _triple(steps, "spacing"),
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
        """Return a field with the samples of another, whose error is known."""
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
        progress: Progress = None,
    ) -> DistanceField:
        """Return the signed distance field of a triangle surface.

        A closed surface is the boundary of the object, whichever way it faces; its distances are
        signed by angle-weighted pseudonormals. If the surface crosses itself (which is found
        exactly, see `Surface.self_intersections`), or parts of it are inside others or face
        different ways, they are signed by winding numbers: inside is what the surface winds
        around. Distances inside are then those from the boundary
        of that: walls hidden in parts that overlap do not count; where they come to the boundary
        it is known to a quarter of a voxel, and parts less than a thousandth of a voxel apart
        count as one. Triangles and parts that face another way than the others are turned first.

        Of an open surface inside is where its winding number (`Surface.winding`) is above 1/2,
        and holes are capped where it is 1/2: by the iso-surface of the samples' winding numbers,
        which along the rims of holes is known to a voxel. Walls wholly inside do not count. Any
        other surface, a polygon soup of single sheets, has no inside: the object is then
        everything within `offset` of it and whatever that encloses (B07 3.6).

        Parameters
        ----------
        surface
            The surface; closed ones are recognised with vertices at the same place made one.
            Triangles less than 1e-14 times as high as they are long count as lines.
        resolution
            Voxels along the side of the box, or three numbers, along x, y and z (as a `box` that
            is no cube asks for); samples are one more.
        expand
            The box is the cube about the centre of the surface's bounding box whose side is that
            many times the longest side of the bounding box (B07 3.11); 1 or more.
        offset
            None: 0 for surfaces with an inside, 1.4 voxels for others. A number [m]: the distance
            is that from the surface at this distance, of closed surfaces too.
        mode
            ``"exact"``: every sample is the exact distance, rounded to float32. ``"fast"``: so are
            samples up to 8 voxels from the surface; the others are interpolated from exact
            distances at every fourth sample. Those are off by less than 2 diagonals of a voxel,
            H / 2 with H = 4 diagonals, and too large by no more than H^2 / (8 d) at a distance d.
        box
            Corners [m], shape (2, 3), in place of the cube.
        progress
            A bar: True, False, or None (after two seconds, in a terminal); or ``f(done, total)``.

        Returns
        -------
        DistanceField
            Its `provenance` says how it was made.

        Raises
        ------
        InputError, InputTypeError
            An argument is not allowed, or the box leaves no room for the offset.
        MeshError
            The surface has no extent, or `offset` is 0 and it encloses nothing.
        MemoryError
            The resolution needs more memory than there is; the message says how much.

        Warns
        -----
        GeometryWarning
            It is uncertain what is inside: the surface has holes as large as the body, which the
            warning names, or is in part a single sheet.
        """
        require(surface, Surface, "surface")
        choice(mode, "mode", ("exact", "fast"))
        voxels = _resolution(resolution)
        with callback(progress, "distances") as told:
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
                told,
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
        """Return another field's values, sampled on a grid.

        One look-up in place of many parts: for fields of several objects, or to save one. For a
        `DeformedField` at its coordinates q, ``DistanceField(values, origin, spacing)`` takes its
        distances at the places of samples.

        Between samples the values are interpolated, so corners of the object are rounded by less
        than a voxel. Samples of unions of shapes with a formula are known to be distances; those
        of intersections, complements, shapes made smaller and grids are not, and balls far from
        them are seen to be clear somewhat later in contact.

        Parameters
        ----------
        field
            The field. What the box does not hold of its object is left out.
        resolution
            Voxels along the side of the box, or three numbers, along x, y and z; samples are one
            more.
        expand
            The box is the cube about the middle of what holds the object (of a grid: its box)
            whose side is that many times the longest side of that; 1 or more.
        box
            Corners [m], shape (2, 3), in place of the cube: needed where an object has no end.
        progress
            A bar: True, False, or None (after two seconds, in a terminal); or ``f(done, total)``.

        Returns
        -------
        DistanceField

        Raises
        ------
        InputError, InputTypeError
            An argument is not allowed; the object has no end, or there is none.
        MemoryError
            The resolution needs more memory than there is; the message says how much.
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
                    "field has an object without end, as planes and complements have: give a box"
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
        with callback(progress, "samples of a field") as told:
            core = _core.field_from_field(field._core, voxels, corners, told, threads())
        return cls._made(core, {"method": "samples of a field", "field": repr(field)})

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Record of how it was made, plain data that cannot be changed.

        Of `from_surface`: whether the surface is ``closed``, faced inwards (``turned``), crosses
        itself (``crossing``), and the offset that was taken (``offset_m``). Where parts overlap
        also how many triangles are hidden, wholly or in part (``hidden_triangles``), and how far
        off distances inside may be at most (``depth_error_m``); where holes are capped, by how many
        triangles (``cap_triangles``), and how far off distances near their rims may be.
        """
        return self._provenance

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the field to a file in the safetensors format; see `reducedfem.load`.

        The file appears whole or not at all; an existing one is replaced only when the new
        one is complete.

        Parameters
        ----------
        path
            ``.safetensors`` is added to a name without suffix; that of another format is refused.

        Raises
        ------
        FileFormatError
            The file cannot be written.
        """
        from reducedfem.field_files import save

        save(self, path)

    @property
    def values(self) -> NDArray[np.float32]:
        """Samples [m], read-only float32, shape (nx, ny, nz)."""
        return _known(self._core.values)

    @property
    def origin(self) -> NDArray[np.float64]:
        """Place of the sample (0, 0, 0) [m], read-only, shape (3,)."""
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

        It is the smallest sample there; of fields of surfaces less what distances may be lower
        between samples.
        """
        return _known(self._core.boundary)

    def isosurface(self, value: float = 0.0, *, progress: Progress = None) -> Surface:
        """Return the surface on which the interpolated distance has a value.

        It is closed, manifold, and faces away from the object. Where the surface would leave
        the box it is closed along the side of the box.

        Parameters
        ----------
        value
            The distance [m]: positive ones give surfaces around the object.
        progress
            A bar: True, False, or None (after two seconds, in a terminal); or ``f(done, total)``.

        Returns
        -------
        Surface

        Raises
        ------
        InputError, InputTypeError
            No sample is below `value`, or none above.
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
            f"<DistanceField: {nx} x {ny} x {nz} samples from {_plain(low)} to {_plain(high)} m"
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


class SphereField(Field):
    """The exact distance from a sphere.

    Parameters
    ----------
    center
        Its centre [m], shape (3,).
    radius
        Its radius [m], positive.

    Raises
    ------
    InputError, InputTypeError
        `center` has a wrong shape or a value that is not finite; `radius` is not positive.
    """

    __slots__ = ("_center", "_radius")

    def __init__(self, center: ArrayLike, radius: float) -> None:
        self._center, self._radius = _triple(center, "center"), number(radius, "radius")
        self._core = _core.field_from_shape("sphere", self._center, np.zeros(3), self._radius)

    def __repr__(self) -> str:
        return f"<SphereField: center {_plain(self._center)} m, radius {self._radius:g} m>"

    def __reduce__(self) -> tuple[Any, ...]:
        return SphereField, (self._center, self._radius)


class BoxField(Field):
    """The exact distance from a box with sides along the axes.

    Parameters
    ----------
    low, high
        Its corners [m], shape (3,), low below high along every axis.

    Raises
    ------
    InputError, InputTypeError
        A corner has a wrong shape or a value that is not finite, or low is not below high.
    """

    __slots__ = ("_high", "_low")

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        self._low, self._high = _triple(low, "low"), _triple(high, "high")
        self._core = _core.field_from_shape("box", self._low, self._high, 0.0)

    def __repr__(self) -> str:
        return f"<BoxField: {_plain(self._low)} to {_plain(self._high)} m>"

    def __reduce__(self) -> tuple[Any, ...]:
        return BoxField, (self._low, self._high)


class PlaneField(Field):
    """The distance from a plane; what the normal points away from is inside.

    Parameters
    ----------
    point
        A point of the plane [m], shape (3,).
    normal
        The way out, shape (3,), of any length but zero.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong shape or a value that is not finite, or the normal is zero.
    """

    __slots__ = ("_normal", "_point")

    def __init__(self, point: ArrayLike, normal: ArrayLike) -> None:
        self._point, given = _triple(point, "point"), _triple(normal, "normal")
        largest = np.abs(given).max()
        if not largest > 0:
            raise InputError("normal must not be zero")
        scaled = given / largest
        self._normal = scaled / np.linalg.norm(scaled)
        self._core = _core.field_from_shape("plane", self._point, self._normal, 0.0)

    def __repr__(self) -> str:
        return f"<PlaneField: through {_plain(self._point)} m, normal {_plain(self._normal)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return PlaneField, (self._point, self._normal)


class CapsuleField(Field):
    """The exact distance from a capsule: everything within a radius of a straight line.

    Parameters
    ----------
    start, end
        Ends of the line [m], shape (3,).
    radius
        The radius [m], positive.

    Raises
    ------
    InputError, InputTypeError
        An end has a wrong shape or a value that is not finite; `radius` is not positive.
    """

    __slots__ = ("_end", "_radius", "_start")

    def __init__(self, start: ArrayLike, end: ArrayLike, radius: float) -> None:
        self._start, self._end = _triple(start, "start"), _triple(end, "end")
        self._radius = number(radius, "radius")
        self._core = _core.field_from_shape("capsule", self._start, self._end, self._radius)

    def __repr__(self) -> str:
        return (
            f"<CapsuleField: {_plain(self._start)} to {_plain(self._end)} m, radius "
            f"{self._radius:g} m>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return CapsuleField, (self._start, self._end, self._radius)


def _fields(given: Sequence[Field], name: str) -> tuple[Field, ...]:
    """Return fields, all of them checked."""
    try:
        found = tuple(given)
    except TypeError:
        raise InputTypeError(
            f"{name} must be a sequence of Field, got {type(given).__name__}; put one or more in "
            "a list"
        ) from None
    for i, field in enumerate(found):
        if isinstance(field, list | tuple):
            raise InputTypeError(
                f"{name}[{i}] must be a Field, got {type(field).__name__}; give the fields in it "
                "one by one: *fields"
            )
        require(field, Field, f"{name}[{i}]")
    return found


_DEPTH = 4  # of fields in fields whose texts are shown
_SHOWN = 8  # fields of a union or an intersection


def _text(field: Field, depth: int = 0) -> str:
    """Return what repr does, of fields in fields to some depth."""
    if not isinstance(field, _JoinedField | OffsetField | ComplementField):
        return repr(field)
    name = type(field).__name__
    if depth == _DEPTH:
        return f"<{name}: ...>"
    if isinstance(field, OffsetField):
        return f"<{name}: {field.by:g} m around {_text(field.field, depth + 1)}>"
    if isinstance(field, ComplementField):
        return f"<{name}: outside of {_text(field.field, depth + 1)}>"
    shown = [_text(one, depth + 1) for one in field.fields[:_SHOWN]]
    if len(field.fields) > _SHOWN:
        shown.append(f"... ({len(field.fields)} in all)")
    return f"<{name}: {', '.join(shown)}>"


class _JoinedField(Field):
    """Several fields as one."""

    __slots__ = ("_fields",)

    _join: ClassVar[Literal["union", "intersection"]]
    _fields: tuple[Field, ...]

    def __init__(self, fields: Sequence[Field]) -> None:
        given, kind = _fields(fields, "fields"), type(self)
        if not given:
            raise InputError("fields must hold one field or more, got none")
        self._core = _core.Field(tuple(field._core for field in given), 0.0, 0, self._join)
        self._fields = tuple(
            one for f in given for one in (f._fields if isinstance(f, kind) else (f,))
        )

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields it consists of, none of them one of its own kind."""
        return self._fields

    def __repr__(self) -> str:
        return _text(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._fields,)


class UnionField(_JoinedField):
    """The distance from several objects: the smallest of theirs.

    Outside it is exact where the parts are; inside, where they overlap, it is nearer to zero than
    the distance to the surface of their union.

    Parameters
    ----------
    fields
        Fields of any kind, one or more; of unions among them those they consist of are taken.

    Raises
    ------
    InputError, InputTypeError
        There is none, or something else.
    """

    __slots__ = ()

    _join = "union"


class IntersectionField(_JoinedField):
    """The distance from what several objects have in common: the largest of theirs.

    Inside it is exact where theirs are. Outside it is a lower bound: beside an edge in which two
    of them meet it is less than the way to that edge. As where it is negative is exact, so is
    contact with it; only depths and gaps of offsets and of other level sets differ. `DistanceField`
    has the distances, of a surface.

    Parameters
    ----------
    fields
        Fields of any kind, one or more; of intersections among them those they consist of are
        taken. A field is kept as a union of intersections: an intersection of unions of n and m
        parts has 2 n m.

    Raises
    ------
    InputError, InputTypeError
        There is none, or something else; it would have too many parts.
    """

    __slots__ = ()

    _join = "intersection"


class ComplementField(Field):
    """The distance from what is outside of an object: minus that of the object.

    Parameters
    ----------
    field
        The field of the object.

    Raises
    ------
    InputError, InputTypeError
        `field` is no Field; intersections of unions would have too many parts.
    """

    __slots__ = ("_field",)

    def __init__(self, field: Field) -> None:
        require(field, Field, "field")
        self._field = field
        self._core = _outside(field)

    @property
    def field(self) -> Field:
        """The field of the object."""
        return self._field

    def __repr__(self) -> str:
        return _text(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return ComplementField, (self._field,)


def _outside(field: Field) -> _CoreField:
    """Return the complement in as few parts as it has: by De Morgan's laws."""
    if isinstance(field, ComplementField):
        return field.field._core
    if isinstance(field, OffsetField):
        return _core.Field((_outside(field.field),), -field.by)
    if isinstance(field, _JoinedField):
        cores = tuple(map(_outside, field.fields))
        joined: Literal["union", "intersection"]
        joined = "union" if isinstance(field, IntersectionField) else "intersection"
        return _core.Field(cores, 0.0, 0, joined)
    return _core.Field((field._core,), 0.0, 0, "complement")


class OffsetField(Field):
    """The distance from an object made larger all round: that of the object less the offset.

    Parameters
    ----------
    field
        The field of the object; of an offset field the object of that is taken, and both offsets.
    by
        Distance [m]; negative makes it smaller.

    Raises
    ------
    InputError, InputTypeError
        `field` is no Field, or `by` no finite number.
    """

    __slots__ = ("_by", "_field")

    def __init__(self, field: Field, by: float) -> None:
        require(field, Field, "field")
        self._field, self._by = field, number(by, "by")
        if isinstance(field, OffsetField):
            self._field, self._by = field._field, field._by + self._by
        self._core = _core.Field((self._field._core,), self._by)

    @property
    def field(self) -> Field:
        """The field of the object, no offset field."""
        return self._field

    @property
    def by(self) -> float:
        """Distance by which it is larger [m]."""
        return self._by

    def __repr__(self) -> str:
        return _text(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return OffsetField, (self._field, self._by)
