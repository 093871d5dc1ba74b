"""Values of models at the vertices of their surfaces, and figures of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.base.check import number, reals
from reducedfem.drawing.render import checked_size
from reducedfem.drawing.surfaces import surface_figure
from reducedfem.drawing.values import Scale, Values, as_values, numbers, scale_of, vertex_values
from reducedfem.dynamics.recorded import Motion
from reducedfem.errors import InputError
from reducedfem.geometry.mesh import Mesh
from reducedfem.geometry.surface import Surface
from reducedfem.pictures.subject import Model, Subject, mesh_of, require_made_of
from reducedfem.reduction.projected import ProjectedSolid
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.solid.solid import Solid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["GivenValues", "SurfaceValues", "values_figure"]

Array = NDArray[np.float64]
_MOST_KEPT = 25_000_000  # numbers, of all states
GivenValues = Values | ArrayLike | Callable[[Array], ArrayLike]


def _with_texts(given: GivenValues) -> Values:
    """Return the argument `values` with its texts; refuse other objects."""
    values = as_values(given)
    if _owner(values) is None:
        return values
    text, unit = values.label or "von Mises stress", values.unit or "Pa"
    return Values(values.data, text, unit, values.limits, "elements")


def _owner(values: Values) -> Solid | None:
    """Return the solid whose method `Solid.von_mises` the values are, or None."""
    solid = getattr(values.data, "__self__", None)
    name = getattr(values.data, "__name__", "")
    return solid if isinstance(solid, Solid) and name == "von_mises" else None


class SurfaceValues:
    """Values of a model at the vertices of its surface.

    Parameters
    ----------
    values
        Argument of the user.
    subject
        The surface and, unless the values are those of one state, its motion.

    Attributes
    ----------
    single
        Values of the vertices, (v,), if they are those of one state; None: they change.
    """

    def __init__(self, values: GivenValues, subject: Subject) -> None:
        self.values = _with_texts(values)
        self._subject, self._mesh = subject, subject.mesh
        self.single: Array | None = None
        self._kept: dict[int, Array] = {}  # of each state, as functions may be slow
        if self._mesh is None:
            self.single = vertex_values(self.values, subject.surface.n_vertices)
            return
        solid, data = _owner(self.values), self.values.data
        if solid is not None:
            require_made_of(solid, subject.model, "values is the von_mises of a solid that")
        if not callable(data):
            array = np.asarray(data)
            states = None if subject.motion is None else len(subject.motion)
            if array.ndim == 1:
                self.single = self._at_vertices(array)
            elif array.ndim != 2 or states is None or len(array) != states:
                self._refuse(array.shape, states)

    def _refuse(self, shape: tuple[int, ...], states: int | None = None) -> None:
        assert self._mesh is not None
        n, e = self._mesh.n_nodes, self._mesh.n_elements
        at = self.values.at
        sizes = [*([n] if at != "elements" else []), *([e] if at != "nodes" else [])]
        shapes = [f"({one},)" for one in sizes]
        if states is None and len(shape) == 2 and shape[1] in sizes:
            raise InputError(
                f"values has {shape[0]} states, shape {shape}, but there is no motion: pass one, "
                f"or values of one state, {' or '.join(shapes)}"
            )
        if states is not None and states > 1:
            shapes += [f"({states}, {one})" for one in sizes]
        raise InputError(
            f"values must have shape {' or '.join(shapes)}: {n} nodes, {e} elements"
            f"{f', {states} states' if states and states > 1 else ''}; got {shape}"
        )

    def _at_vertices(self, array: Array) -> Array:
        """Return values of the vertices from those of the nodes or the elements of one state."""
        mesh, at = self._mesh, self.values.at
        assert mesh is not None
        if mesh.n_nodes == mesh.n_elements == len(array) and at is None:
            raise InputError(
                f"values has {len(array)} numbers, and the mesh as many nodes as elements: pass "
                'plot.Values(values, at="nodes"), or at="elements"'
            )
        if array.shape == (mesh.n_elements,) and at != "nodes":
            array = node_means(mesh, array)
        elif array.shape != (mesh.n_nodes,) or at == "elements":
            self._refuse(array.shape)
        missing = np.isnan(array)
        filled = np.where(missing, 0.0, array)
        if missing.all():
            return np.full(self._subject.surface.n_vertices, np.nan)
        field = np.column_stack([filled, missing, np.zeros(len(array))])
        found = self._subject.at_vertices(field)
        # vertices outside of the mesh are extrapolated
        good = array[~missing]
        result = np.clip(found[:, 0], good.min(), good.max())
        result[np.abs(found[:, 1]) > 1e-9] = np.nan
        return result

    def of(self, u: Array) -> Array:
        """Return the values of the vertices (v,) at displacements of the nodes (n, 3)."""
        data = self.values.data
        if self.single is not None:
            return self.single
        assert callable(data)
        return self._at_vertices(numbers(data(u), "the result of values"))

    def rest(self) -> Array:
        """Return the values of the vertices (v,) of an object without a motion."""
        if self.single is None:
            raise InputError(
                "values is a callable, whose displacements are not known at rest: pass u to "
                "values_figure, or motion=Motion([0.0], [u]) to view"
            )
        return self.single

    @property
    def n_vertices(self) -> int:
        """Number of vertices of the surface."""
        return self._subject.surface.n_vertices

    def state(self, k: int) -> Array:
        """Return the values of the vertices (v,) in state k of the motion."""
        if self.single is not None:
            return self.single
        if not callable(self.values.data):
            return self._at_vertices(np.asarray(self.values.data)[k])
        if k in self._kept:
            return self._kept[k]
        try:
            found = self.of(self._subject.nodal(k))
        except InputError as error:
            raise type(error)(f"values of state {k} of motion: {error}") from None
        if (len(self._kept) + 1) * len(found) <= _MOST_KEPT:
            self._kept[k] = found
        return found

    def scale(self) -> Scale:
        """Return the scale of colours of all states."""
        if self.single is not None:
            return scale_of(self.values, [self.single])
        assert self._subject.motion is not None
        return scale_of(self.values, map(self.state, range(len(self._subject.motion))))

    def chosen(self, index: NDArray[np.int64]) -> Values:
        """Return the values given for a part of the states."""
        data = self.values.data
        if callable(data) or np.ndim(data) < 2:
            return self.values
        part: Any = np.asarray(data)[index]
        return Values(part, self.values.label, self.values.unit, self.values.limits, self.values.at)


def node_means(mesh: Mesh, values: Array) -> Array:
    """Return the means of values of the elements around each node, weighted by volume, (n,).

    Elements without a value (NaN) do not count.
    """
    weights = np.where(np.isnan(values), 0.0, mesh.element_volumes)
    nodes = mesh.elements.reshape(-1)

    def total(one: Array) -> Array:
        many = np.repeat(one, mesh.nodes_per_element)
        return np.asarray(np.bincount(nodes, many, mesh.n_nodes), dtype=np.float64)

    with np.errstate(invalid="ignore"):
        return total(np.nan_to_num(values) * weights) / total(weights)


def values_figure(
    model: Model,
    values: GivenValues,
    u: ArrayLike | None = None,
    surface: Surface | None = None,
    *,
    title: str = "",
    size: tuple[int, int] = (900, 675),
    azimuth: float = -60.0,
    elevation: float = 20.0,
    up: str = "z",
) -> Figure:
    """Draw an object, deformed or at rest, coloured by values, with a colour bar.

    ``values_figure(solid, solid.von_mises, u)`` shows the von Mises stress.

    Parameters
    ----------
    model
        A `Solid`, `Mesh`, `ReducedSolid`, `ProjectedSolid`, `Skin` or `Surface`.
    values
        `Values`, or their `data` alone, of one state.
    u
        Displacements of the nodes [m], (n, 3), or reduced coordinates of a model, (r,). None: at
        rest.
    surface
        Surface of the object. None: the surface from which its mesh was made, if there is one, or
        else the boundary of its mesh; of a `Mesh` its boundary.
    title
        Text above the picture.
    size
        Largest width and height of the object [pixels], 16 to 4096.
    azimuth, elevation, up
        Direction to the viewer [degrees] and upward axis, see `render`.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type, shape or value; or `values` is the method of a solid with
        another mesh or material than the model.
    MissingMatplotlibError
        Matplotlib is not installed.
    """
    subject = Subject(model, surface, None)
    if u is not None:
        subject.motion = _one_state(u, subject.model)
    given = as_values(values)
    if not callable(given.data) and np.ndim(given.data) > 1:
        raise InputError(
            "values must be those of one state, such as values[0], got shape "
            f"{np.shape(given.data)}"
        )
    shown = SurfaceValues(given, subject)
    x, given = subject.surface.vertices, shown.values
    if subject.motion is not None:
        x, data = x + subject.deformation(0), shown.of(subject.nodal(0))
    else:
        data = shown.rest()
    return surface_figure(
        x,
        subject.surface.triangles,
        Values(data, given.label, given.unit, given.limits),
        checked_size(size),
        number(azimuth, "azimuth"),
        number(elevation, "elevation"),
        up,
        title,
    )


def _one_state(u: ArrayLike, model: object) -> Motion:
    """Return the argument `u` as a motion of one state; refuse that of another model."""
    if isinstance(model, Surface):
        raise InputError("u must be None: a Surface alone has no nodes; pass its model")
    state, nodes = reals(u, "u"), mesh_of(model, "a model").n_nodes
    shapes: list[tuple[int, ...]] = [(nodes, 3)]
    wanted = f"({nodes}, 3), displacements of the nodes"
    if isinstance(model, ReducedSolid | ProjectedSolid):
        shapes += [(model.r,)]
        wanted += f", or ({model.r},), reduced coordinates"
    if state.shape not in shapes:
        raise InputError(f"u must have shape {wanted}, got {state.shape}")
    return Motion(np.zeros(1), state[None])
