"""Triangle surfaces: files, measures, repair."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import array_like, number, places, reals
from reducedfem.base.run import Progress, callback, threads
from reducedfem.drawing.card import Card, CardContents, extent_text
from reducedfem.drawing.render import checked_size
from reducedfem.drawing.surfaces import surface_figure
from reducedfem.drawing.values import Values, as_values
from reducedfem.errors import FileFormatError, InputError, InputTypeError, MeshError
from reducedfem.geometry.sample import DRAWN, quantile, sample
from reducedfem.geometry.transforms import metres_per_unit, rotation_matrix, scale_factors
from reducedfem.io import surface_files
from reducedfem.io.atomic import as_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Surface", "read_surface"]


class Surface(Card):
    """A triangle surface of any quality, including polygon soups.

    Vertices need not be merged, and the surface may be open, non-manifold and self-intersecting;
    triangles without area are accepted. `is_closed`, `is_manifold`, `n_degenerate` and
    `self_intersections` report defects. The arrays are read-only.

    Parameters
    ----------
    vertices
        Positions [m], shape (v, 3).
    triangles
        0-based vertex indices, shape (t, 3), counter-clockwise seen from outside if the surface
        has an outside.

    Raises
    ------
    MeshError
        There is no vertex or no triangle.
    InputError, InputTypeError
        An array has a wrong shape or dtype, a value that is not finite, or an index out
        of range.
    """

    __slots__ = ("__weakref__", "_measures", "_triangles", "_vertices")

    _vertices: NDArray[np.float64]
    _triangles: NDArray[np.int32]

    def __init__(self, vertices: ArrayLike, triangles: ArrayLike) -> None:
        try:
            self._vertices, self._triangles = _core.surface_seal(
                array_like(vertices, "vertices"), array_like(triangles, "triangles", "integers")
            )
        except InputError as error:
            raise _with_hint(error, vertices, triangles, "triangles") from None
        self._measures: Any = None

    @property
    def vertices(self) -> NDArray[np.float64]:
        """Positions [m], read-only, shape (v, 3)."""
        return self._vertices

    @property
    def triangles(self) -> NDArray[np.int32]:
        """Vertex indices, read-only, shape (t, 3)."""
        return self._triangles

    @property
    def n_vertices(self) -> int:
        """Number of vertices."""
        return len(self._vertices)

    @property
    def n_triangles(self) -> int:
        """Number of triangles."""
        return len(self._triangles)

    def _measure(self) -> Any:
        if self._measures is None:
            self._measures = _core.surface_measure(self._vertices, self._triangles)
        return self._measures

    @property
    def bounds(self) -> NDArray[np.float64]:
        """Lowest and highest corner [m] of the vertices that triangles use, shape (2, 3)."""
        return np.array(self._measure()[:2])

    @property
    def area(self) -> float:
        """Sum of the areas of the triangles [m^2]."""
        return float(self._measure()[2])

    @property
    def volume(self) -> float:
        """Enclosed volume [m^3]; negative if the triangles face inward.

        Raises
        ------
        MeshError
            The surface is not closed.
        """
        if not self.is_closed:
            raise MeshError("the surface is not closed, so it encloses no volume")
        return float(self._measure()[3])

    @property
    def n_degenerate(self) -> int:
        """Number of triangles without area."""
        return int(self._measure()[4])

    @property
    def is_closed(self) -> bool:
        """True if triangles traverse every edge equally often in both directions.

        Vertices at exactly the same position count as one.
        """
        return bool(self._measure()[5])

    @property
    def is_manifold(self) -> bool:
        """True if no edge belongs to more than two triangles, with vertices merged by position."""
        return bool(self._measure()[6])

    @property
    def normals(self) -> NDArray[np.float64]:
        """Unit normals of the vertices, shape (v, 3).

        A normal is the sum of the normals of the adjacent triangles, weighted by their angles at
        the vertex, so it does not depend on the triangulation of a face. Separate vertices at the
        same position have separate normals; use `merged` for smooth ones. Zero if no adjacent
        triangle has an area.
        """
        return _core.surface_normals(self._vertices, self._triangles)

    def self_intersections(self, *, progress: Progress = None) -> NDArray[np.int32]:
        """Return the pairs of triangles that intersect.

        The triangles of a pair have a common point that is not on a common corner or side: they
        cross, touch, or overlap. Vertices at exactly the same position count as one; triangles
        without area (`n_degenerate`) are ignored. There is no tolerance: the result is exact for
        the given coordinates.

        Parameters
        ----------
        progress
            Progress bar: True, False, or None (after two seconds, in a terminal); or a callable
            ``f(done, total)``.

        Returns
        -------
        (n, 2) array
            Triangle indices, the lower first, sorted; no rows if the surface does not intersect
            itself.

        Raises
        ------
        MemoryError
            The pairs do not fit into memory.
        MeshError
            The size of the surface is below 1e-70 m or above 1e70 m.

        Examples
        --------
        >>> import reducedfem as rf
        >>> vertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.2, 0.2, -1], [0.2, 0.2, 1], [3, 3, 0]]
        >>> rf.Surface(vertices, [[0, 1, 2], [3, 4, 5]]).self_intersections()
        array([[0, 1]], dtype=int32)
        """
        with callback(progress, "self-intersections") as call:
            return _core.surface_crossings(self._vertices, self._triangles, True, call, threads())

    def winding(self, points: ArrayLike, *, progress: Progress = None) -> NDArray[np.float64]:
        """Return the generalized winding numbers of the surface at points.

        They are 1 inside and 0 outside a closed surface, n where n parts overlap, and intermediate
        near holes; a point is inside if its winding number exceeds 1/2. Parts that face inward are
        reversed first, see `oriented`. Triangles far from a point are grouped (Barill et al., Fast
        winding numbers for soups and clouds, 2018); the error is below 0.003 for each layer of
        surface.

        Parameters
        ----------
        points
            Positions [m], shape (n, 3), or (3,) for a single point.
        progress
            Progress bar: True, False, or None (after two seconds, in a terminal); or a callable
            ``f(done, total)``.

        Returns
        -------
        (n,) array
            Winding numbers; an array of shape () for a single point.

        Raises
        ------
        InputError, InputTypeError
            `points` has a wrong shape or a value that is not finite.
        """
        given, shape = places(points, "points")
        with callback(progress, "winding numbers") as call:
            return _core.surface_winding(
                self._vertices, self._triangles, given, True, call, threads()
            ).reshape(shape)

    def thickness(self, *, progress: Progress = None) -> NDArray[np.float64]:
        """Return the thickness of the body at each triangle.

        The thickness is the length of the ray from the centre of the triangle, along its inward
        normal, to the point at which it first leaves the body (the region with winding numbers
        above 1/2). Surfaces inside overlapping parts do not end the ray.

        Parameters
        ----------
        progress
            Progress bar: True, False, or None (after two seconds, in a terminal); or a callable
            ``f(done, total)``.

        Returns
        -------
        (t,) array
            Thickness [m]; 0 for triangles without a body behind them (single sheets), infinity for
            triangles inside the body and for rays that leave through a hole.

        Raises
        ------
        MemoryError
            The trees over the triangles do not fit into memory.
        """
        with callback(progress, "thickness") as call:
            return _core.surface_thickness(self._vertices, self._triangles, call, threads())

    def thinnest(self, share: float = 0.02) -> float:
        """Return a low quantile of the thickness over the area of the surface.

        Parameters
        ----------
        share
            Fraction of the area that is at most that thick, from 0 to 1. 0 selects the thinnest
            triangle, which is rarely useful near sharp edges.

        Returns
        -------
        float
            Thickness [m], see `thickness`. Divided by the edge of a voxel it is the number of
            cells across thin parts.

        Raises
        ------
        InputError, InputTypeError
            `share` is not a number from 0 to 1.
        """
        part = number(share, "share")
        if not 0 <= part <= 1:
            raise InputError(f"share must be from 0 to 1, got {part:g}")
        return quantile(self.thickness(), self._areas(), part)

    def _about_thinnest(self, share: float) -> float:
        """Return `thinnest` by a sample of the triangles, if there are many."""
        area = self._areas()
        of, weights = None, area
        if len(area) > DRAWN:
            of, weights = sample(area, DRAWN)
        found = _core.surface_thickness(self._vertices, self._triangles, None, threads(), of)
        return quantile(found, weights, share)

    def _areas(self) -> NDArray[np.float64]:
        corners = self._vertices[self._triangles]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        areas: NDArray[np.float64] = 0.5 * np.linalg.norm(normals, axis=1)
        return areas

    def oriented(self) -> Surface:
        """Return the surface with each of its parts facing outward.

        A part is a set of triangles connected through edges of exactly two triangles, with
        vertices at exactly the same position counting as one. Neighbours within a part are
        oriented consistently. A closed part faces outward if its volume is positive, an open part
        if its own winding number, averaged over both sides of its triangles, is positive. A nearly
        flat part has no outside and takes the orientation of most of its area. A closed part that
        faces inward inside parts that face outward bounds a cavity and is kept.

        Returns
        -------
        Surface
            The same vertices and triangles in the same order; a reversed triangle begins at the
            same vertex. The same object if no triangle is reversed.
        """
        turned = _core.surface_reversed(self._vertices, self._triangles, None, threads())
        if len(turned) == 0:
            return self
        triangles = self._triangles.copy()
        triangles[turned] = triangles[turned][:, [0, 2, 1]]
        return Surface(self._vertices, triangles)

    def boundary_loops(self) -> list[NDArray[np.int32]]:
        """Return the loops of edges around the holes of the surface.

        An edge is on a loop if, after `oriented`, more triangles traverse it in one direction than
        in the opposite one. Vertices at exactly the same position count as one, and the lowest
        index represents them.

        Returns
        -------
        list of (n,) arrays
            Vertex indices along each loop, in the direction of the adjacent triangles. Empty if
            the oriented surface is closed.
        """
        surface = self.oriented()
        return _core.surface_holes(surface._vertices, surface._triangles, False, None, threads())

    def filled(self) -> Surface:
        """Return the surface, `oriented`, with its holes closed.

        Each of the `boundary_loops` is closed by the triangulation of its vertices with the
        smallest total area, which fills a flat loop of any shape exactly. Loops of more than 200
        vertices are first cut along short paths; triangles in a strongly winding loop may then
        overlap. New triangles may cross other parts of the surface, which does not impair winding
        numbers, volumes and distance fields. A surface without an inside, such as a single sheet,
        becomes two layers of volume 0.

        Returns
        -------
        Surface
            Closed surface; new triangles come last. The same object if it is closed and faces
            outward.
        """
        surface = self.oriented()
        loops, caps = _core.surface_holes(
            surface._vertices, surface._triangles, True, None, threads()
        )
        if not loops:
            return surface
        return Surface(surface._vertices, np.concatenate([surface._triangles, caps]))

    def transformed(
        self,
        scale: float | ArrayLike = 1.0,
        rotation: ArrayLike | None = None,
        translation: ArrayLike | None = None,
    ) -> Surface:
        """Return the surface scaled, then rotated, then translated.

        Parameters
        ----------
        scale
            Positive factor, or three factors along x, y, z. 0.001 converts millimetres to metres.
        rotation
            Rotation matrix (3, 3), or unit quaternion (4,) in order w, x, y, z. None: no rotation.
        translation
            Displacement [m], shape (3,). None: zero.

        Returns
        -------
        Surface

        Raises
        ------
        InputError, InputTypeError
            A scale is not positive, or `rotation` is neither a rotation matrix nor of unit length,
            or an argument has a wrong shape or a value that is not finite.
        """
        way = reals((0, 0, 0) if translation is None else translation, "translation")
        if way.shape != (3,):
            raise InputError(f"translation must have shape (3,), got {way.shape}")
        turn = None if rotation is None else rotation_matrix(rotation)
        with np.errstate(over="ignore", invalid="ignore"):
            vertices = self._vertices * scale_factors(scale)
            if turn is not None:
                vertices = vertices @ turn.T
            vertices = vertices + way
        if not np.isfinite(vertices).all():
            raise InputError("scale or translation is so large that vertices are not finite")
        return Surface(vertices, self._triangles)

    @classmethod
    def from_trimesh(cls, mesh: Any) -> Surface:
        """Return the surface of a mesh of the package trimesh.

        Parameters
        ----------
        mesh
            A ``trimesh.Trimesh``, or a ``trimesh.Scene``, whose geometries are placed and joined.

        Returns
        -------
        Surface

        Raises
        ------
        InputTypeError
            `mesh` is of another type.
        MeshError
            `mesh` has no triangles.
        """
        import trimesh

        if isinstance(mesh, trimesh.Scene):
            mesh = mesh.to_mesh()
        if not isinstance(mesh, trimesh.Trimesh):
            raise InputTypeError(
                f"mesh must be a trimesh.Trimesh or trimesh.Scene, got {type(mesh).__name__}"
            )
        if len(mesh.faces) == 0:
            raise MeshError("the mesh of trimesh has no triangles")
        return cls(np.asarray(mesh.vertices), np.asarray(mesh.faces))

    def to_trimesh(self) -> Any:
        """Return the surface as a mesh of the package trimesh.

        Returns
        -------
        trimesh.Trimesh
            Mesh with the same vertices and triangles in the same order.
        """
        import trimesh

        return trimesh.Trimesh(self._vertices.copy(), self._triangles.copy(), process=False)

    def merged(self) -> Surface:
        """Return the surface with vertices at exactly the same position merged.

        Vertices that no triangle uses are removed; the others keep their order. STL
        files, for example, repeat each vertex for every adjacent triangle.

        Returns
        -------
        Surface
        """
        first = _core.surface_merge(self._vertices)
        kept, triangles = np.unique(first[self._triangles], return_inverse=True)
        return Surface(self._vertices[kept], triangles.reshape(-1, 3))

    def plot(
        self,
        colours: ArrayLike = (0.72, 0.74, 0.77),
        *,
        values: Values | ArrayLike | None = None,
        size: tuple[int, int] = (900, 675),
        azimuth: float = -60.0,
        elevation: float = 20.0,
        up: str = "z",
    ) -> Figure:
        """Return a picture of the surface.

        Notebooks show it; ``plot.save_figure`` writes it to a file.

        Parameters
        ----------
        colours
            Red, green and blue from 0 to 1: one colour, (3,), or one for each vertex, (v, 3); or
            a position for each vertex, (v, 1), on the scale of displacements, from 0 to 1.
        values
            ``plot.Values`` of the vertices, (v,), or these alone, instead of `colours`; the picture
            has a colour bar.
        size
            Largest width and height [pixels], 16 to 4096.
        azimuth, elevation, up
            Direction to the viewer [degrees] and upward axis, see ``plot.render``.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        InputError, InputTypeError
            An argument has a wrong type, shape or value.
        MissingMatplotlibError
            Matplotlib is not installed.
        """
        return surface_figure(
            self._vertices,
            self._triangles,
            colours if values is None else as_values(values),
            checked_size(size),
            number(azimuth, "azimuth"),
            number(elevation, "elevation"),
            up,
        )

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the surface to an OBJ, PLY or STL file.

        OBJ and PLY preserve float64 coordinates; STL (binary) rounds to float32 and does not share
        vertices. An existing file is replaced only when the new one is complete.

        Parameters
        ----------
        path
            Name of the file; its suffix selects the format.

        Raises
        ------
        FileFormatError
            The suffix is not one of these, or the file cannot be written.
        """
        surface_files.save(self._vertices, self._triangles, path)

    def _card(self) -> CardContents:
        closed = self.is_closed
        rows = [
            ("vertices", f"{self.n_vertices}"),
            ("triangles", f"{self.n_triangles}"),
            ("size", extent_text(self.bounds)),
            ("area", f"{self.area:.4g} m²"),
            ("volume", f"{self.volume:.4g} m³" if closed else "not closed"),
        ]
        picture = (self._vertices, self._triangles, (0.72, 0.74, 0.77))
        return CardContents("Surface", rows, picture)

    def __repr__(self) -> str:
        triangles = "1 triangle" if self.n_triangles == 1 else f"{self.n_triangles} triangles"
        return f"<Surface: {self.n_vertices} vertices, {triangles}>"

    def __reduce__(self) -> tuple[type[Surface], tuple[Any, ...]]:
        return Surface, (self._vertices, self._triangles)


def _with_hint(error: InputError, points: ArrayLike, indices: ArrayLike, name: str) -> InputError:
    """Extend an error about indices by a hint that they may be 1-based."""
    try:
        found = np.asarray(indices)
        looks = found.size > 0 and found.min() == 1 and found.max() == len(np.asarray(points))
    except (TypeError, ValueError):
        looks = False
    if not looks:
        return error
    return type(error)(f"{error}; they seem to be counted from 1: pass {name} - 1")


def read_surface(path: str | os.PathLike[str], scale: float | str = 1.0) -> Surface:
    """Read a triangle surface from an OBJ, PLY, STL or OFF file.

    Vertices and faces keep the order of the file. Vertices of STL files, which repeat them in every
    triangle, are joined where they are equal, see `Surface.merged`. Polygons are split into
    triangles; all objects and groups of a file become one surface; PLY files may contain triangle
    strips. Normals, colours, texture coordinates and materials are ignored.

    Parameters
    ----------
    path
        Name of the file; its suffix selects the format.
    scale
        Metres per unit of the file, positive, or the unit: ``"m"``, ``"cm"``, ``"mm"``, ``"um"``
        or ``"inch"``.

    Returns
    -------
    Surface

    Raises
    ------
    FileFormatError
        The file is missing, of another format, damaged, or has no triangles.
    InputError, InputTypeError
        `scale` is neither a positive number nor a unit.
    """
    factor = metres_per_unit(scale)
    file = as_path(path)
    try:
        surface = Surface(*surface_files.read(file))
        if file.suffix.lower() == ".stl":
            surface = surface.merged()
    except InputError as error:
        raise FileFormatError(f"{str(file)!r} is damaged: {error}") from error
    return surface if factor == 1.0 else surface.transformed(factor)
