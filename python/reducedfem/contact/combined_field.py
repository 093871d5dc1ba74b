"""Base of distance fields, and fields made of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem._core import Field as _CoreField
from reducedfem.base.check import number, places, require
from reducedfem.base.run import threads
from reducedfem.errors import InputError, InputTypeError

__all__ = [
    "ComplementField",
    "Field",
    "IntersectionField",
    "OffsetField",
    "UnionField",
]


class Field:
    """Signed distance as a function of position [m], negative inside.

    Base class of `DistanceField`, `SphereField`, `BoxField`, `PlaneField`, `CapsuleField`,
    `UnionField`, `IntersectionField`, `ComplementField` and `OffsetField`. Fields are immutable
    and may be shared by threads. ``a | b`` is the union, ``a & b`` the intersection, ``a - b`` the
    difference and ``~a`` the complement.

    Attributes
    ----------
    None
        Attributes belong to the subclasses.
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

        It is the derivative of `distance`; for an interpolated field its length is not exactly
        one. At a kink it is the derivative of one side.

        Parameters
        ----------
        points
            Places [m], shape (n, 3), or (3,) for one.

        Returns
        -------
        (n, 3) or (3,) array
            Gradients, pointing away from the object.

        Raises
        ------
        InputError, InputTypeError
            `points` has a wrong shape or a value that is not finite.
        """
        return self.distance_and_gradient(points)[1]

    def distance_and_gradient(
        self, points: ArrayLike
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return signed distance and gradient at points, at the cost of the gradient.

        Parameters
        ----------
        points
            Places [m], shape (n, 3), or (3,) for one.

        Returns
        -------
        distance, gradient
            Arrays of shapes (n,) [m] and (n, 3), or () and (3,).

        Raises
        ------
        InputError, InputTypeError
            `points` has a wrong shape or a value that is not finite.
        """
        given, shape = places(points, "points")
        distance, gradient = self._core.gradient(given, threads())
        return distance.reshape(shape), gradient.reshape(*shape, 3)

    def union(self, *others: Field) -> UnionField:
        """Return the union of this object and others.

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
            An argument is not a Field.
        """
        return UnionField([self, *_fields(others, "others")])

    def intersection(self, *others: Field) -> IntersectionField:
        """Return the intersection of this object and others.

        Parameters
        ----------
        *others
            Fields.

        Returns
        -------
        IntersectionField
            Outside of the object a lower bound of the distance.

        Raises
        ------
        InputError, InputTypeError
            An argument is not a Field; unions among them give too many parts.
        """
        return IntersectionField([self, *_fields(others, "others")])

    def difference(self, *others: Field) -> IntersectionField:
        """Return the difference: this object without the others.

        Parameters
        ----------
        *others
            Fields.

        Returns
        -------
        IntersectionField
            Intersection of this field and the complements of the others. Outside of the object a
            lower bound of the distance.

        Raises
        ------
        InputError, InputTypeError
            An argument is not a Field; intersections among them give too many parts.
        """
        return IntersectionField([self, *map(ComplementField, _fields(others, "others"))])

    def complement(self) -> ComplementField:
        """Return the complement of this object: its field is minus this one.

        Returns
        -------
        ComplementField

        Raises
        ------
        InputError
            Intersections of unions give too many parts.
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
        """Return the field of the object enlarged by a distance on all sides.

        Parameters
        ----------
        by
            Distance [m]; negative: the object shrinks.

        Returns
        -------
        OffsetField

        Raises
        ------
        InputError, InputTypeError
            `by` is not a finite number.
        """
        return OffsetField(self, by)


def _fields(given: Sequence[Field], name: str) -> tuple[Field, ...]:
    """Return fields as a tuple after checks."""
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


_DEPTH = 4  # of nested fields shown by repr
_SHOWN = 8  # number of parts shown by repr


def _text(field: Field, depth: int = 0) -> str:
    """Return the text of repr, with nested fields down to a depth."""
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
    """Base of unions and intersections."""

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
        """Fields of the parts, with nested ones of the same kind flattened."""
        return self._fields

    def __repr__(self) -> str:
        return _text(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._fields,)


class UnionField(_JoinedField):
    """Signed distance from a union: the smallest distance of its parts.

    It is exact outside if the parts are exact. Inside, where parts overlap, it is nearer to zero
    than the distance from the surface of the union.

    Parameters
    ----------
    fields
        Fields of any kind, one or more; unions among them are flattened.

    Raises
    ------
    InputError, InputTypeError
        The sequence is empty or has elements that are not Fields.
    """

    __slots__ = ()

    _join = "union"


class IntersectionField(_JoinedField):
    """Signed distance from an intersection: the largest distance of its parts.

    It is exact inside if the parts are exact. Outside it is a lower bound, for example near an
    edge at which two parts meet. The region with negative values, and hence contact, is exact;
    offsets and other level sets differ. `DistanceField.from_surface` gives exact distances.

    Parameters
    ----------
    fields
        Fields of any kind, one or more; intersections among them are flattened. Fields are stored
        as unions of intersections: an intersection of unions of n and m parts has 2 n m parts.

    Raises
    ------
    InputError, InputTypeError
        The sequence is empty or has elements that are not Fields; there are too many parts.
    """

    __slots__ = ()

    _join = "intersection"


class ComplementField(Field):
    """Signed distance from the complement of an object: minus that of the object.

    Parameters
    ----------
    field
        Field of the object.

    Raises
    ------
    InputError, InputTypeError
        `field` is not a Field; intersections of unions give too many parts.
    """

    __slots__ = ("_field",)

    def __init__(self, field: Field) -> None:
        require(field, Field, "field")
        self._field = field
        self._core = _outside(field)

    @property
    def field(self) -> Field:
        """Field of the object."""
        return self._field

    def __repr__(self) -> str:
        return _text(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return ComplementField, (self._field,)


def _outside(field: Field) -> _CoreField:
    """Return the complement with the fewest parts, by De Morgan's laws."""
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
    """Signed distance from an enlarged object: that of the object minus the offset.

    Parameters
    ----------
    field
        Field of the object; the offset of an `OffsetField` is added to `by`.
    by
        Offset [m]; negative: the object shrinks.

    Raises
    ------
    InputError, InputTypeError
        `field` is not a Field, or `by` is not a finite number.
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
        """Field of the object; never an `OffsetField`."""
        return self._field

    @property
    def by(self) -> float:
        """Offset [m]."""
        return self._by

    def __repr__(self) -> str:
        return _text(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return OffsetField, (self._field, self._by)
