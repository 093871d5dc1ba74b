"""Voxmap-PointShell method, a reference for contact with distance fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import array_like, integer, number, places, require, rotations
from reducedfem.base.memory import available
from reducedfem.base.run import Progress, callback, threads
from reducedfem.contact.pointshell import Pointshell
from reducedfem.errors import InputError, InputTypeError
from reducedfem.geometry.pose import Pose, pose_arguments
from reducedfem.geometry.surface import Surface

__all__ = ["Voxmap", "VoxmapContact", "VoxmapForce"]

# RF_VOXEL_MAX_RESOLUTION of csrc/mesh/voxelize.h
_MOST = 2048
# two bits, and during construction two masks of one bit: surface and interior
_BYTES_A_VOXEL = 0.5


class Voxmap:
    """Voxels of two bits around a surface (McNeely et al. 1999; Barbic 2007, section 3.1).

    A voxel is 0, free; 1, interior; 2, surface: a triangle intersects it; or 3, proximity: it is
    not interior and one of its 26 neighbours is a surface voxel. Interior voxels cannot be reached
    from the border of the grid through voxel faces without crossing a surface voxel; a surface
    with holes wider than a voxel has no interior. Outside of the grid all voxels are free. Voxels
    are stored as an array, not in the octree of the paper: 4 MB at a resolution of 256.

    `from_surface` makes one from a surface.

    Parameters
    ----------
    values
        Voxels, integers 0 to 3, shape (nx, ny, nz).
    origin
        Low corner of the grid [m], shape (3,).
    edge
        Edge of a voxel [m], positive.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong shape, type or value.
    """

    __slots__ = ("__weakref__", "_core")

    _core: _core.Voxmap

    def __init__(self, values: ArrayLike, origin: ArrayLike, edge: float) -> None:
        try:
            given = np.asarray(array_like(values, "values", "integers"))
        except ValueError as error:
            if isinstance(error, InputTypeError):
                raise
            raise InputTypeError("values must be integers, got a list of uneven parts") from None
        if given.ndim != 3 or given.size == 0:
            raise InputError(f"values must have three axes and not be empty, got {given.shape}")
        if given.dtype.kind not in "iu":
            raise InputTypeError(f"values must be integers, got dtype {given.dtype}")
        bad = np.argwhere((given < 0) | (given > 3))
        if len(bad):
            at = tuple(bad[0].tolist())
            raise InputError(f"values{list(at)} is {given[at]}; allowed are 0, 1, 2 and 3")
        self._core = _core.Voxmap(
            given.astype(np.uint8), array_like(origin, "origin"), number(edge, "edge")
        )

    @classmethod
    def from_surface(
        cls,
        surface: Surface,
        resolution: int = 256,
        expand: float = 1.2,
        *,
        progress: Progress = None,
    ) -> Voxmap:
        """Return the voxmap of a surface.

        Parameters
        ----------
        surface
            Surface of any kind, also a polygon soup.
        resolution
            Voxels along each side of the cubic grid, 1 to 2048.
        expand
            Ratio of the side of the grid to the longest side of the surface, 1 or more.
        progress
            A bar: True, False, or None (after two seconds, in a terminal); or ``f(done, total)``.

        Returns
        -------
        Voxmap

        Raises
        ------
        InputError, InputTypeError
            An argument is out of range or of a wrong type.
        MeshError
            The surface has no extent, or lies too far from the origin for its size.
        MemoryError
            The resolution needs more memory than is available; the message gives both.
        """
        require(surface, Surface, "surface")
        voxels = integer(resolution, "resolution")
        there, needed = available(), _BYTES_A_VOXEL * float(voxels) ** 3
        if 0 < voxels <= _MOST and needed > there > 0.0:
            raise MemoryError(
                f"a voxmap of {voxels} x {voxels} x {voxels} voxels needs {needed / 1e9:.1f} GB of "
                f"memory, {there / 1e9:.1f} GB are available; choose a lower resolution"
            )
        made = cls.__new__(cls)
        with callback(progress, "voxmap") as tell:
            made._core = _core.voxmap_build(
                surface.vertices,
                surface.triangles,
                voxels,
                number(expand, "expand"),
                tell,
                threads(),
            )
        return made

    @property
    def values(self) -> NDArray[np.uint8]:
        """Copy of all voxels, shape (nx, ny, nz)."""
        return self._core.values()

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of voxels along x, y and z."""
        return self._core.shape

    @property
    def origin(self) -> NDArray[np.float64]:
        """Low corner of the grid [m], read-only, shape (3,)."""
        return self._core.origin

    @property
    def edge(self) -> float:
        """Edge of a voxel [m]."""
        return self._core.edge

    def at(self, points: ArrayLike) -> NDArray[np.uint8]:
        """Return the voxels that contain points; on a common face, the upper voxel.

        Parameters
        ----------
        points
            Positions [m], shape (k, 3), or (3,) for one.

        Returns
        -------
        (k,) array
            Voxels, uint8, 0 to 3; for one point an array of shape ().

        Raises
        ------
        InputError, InputTypeError
            A wrong shape or a value that is not finite.
        """
        given, shape = places(points, "points")
        return self._core.at(given).reshape(shape)

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.shape))
        return f"<Voxmap: {shape} voxels of {self.edge:.4g} m>"

    def __reduce__(self) -> tuple[type[Voxmap], tuple[Any, ...]]:
        return Voxmap, (self.values, np.array(self.origin), self.edge)


@dataclass(frozen=True, eq=False)
class VoxmapForce:
    """Result of `VoxmapContact.evaluate`.

    Attributes
    ----------
    force
        Force on the voxmap, in the world [N], shape (3,).
    torque
        Torque on the voxmap about `position`, in the world [N m], shape (3,).
    touching
        Number of points with a force.
    inside
        Number of points in interior voxels, which have no force.
    """

    force: NDArray[np.float64]
    torque: NDArray[np.float64]
    touching: int
    inside: int


class VoxmapContact:
    """Contact forces between a rigid pointshell and a voxmap (Barbic 2007, section 3.1).

    A point in a surface voxel is pushed along its inward normal, in proportion to its distance
    beyond the plane through the centre of the voxel, normal to that; on the free side of the
    plane the force is zero. Every evaluation tests all points.

    As in the method of 1999, the force jumps by up to stiffness times the edge of a voxel
    whenever a point enters another voxel, however small the step, and vanishes for points beyond
    the layer of surface voxels, in interior voxels (`VoxmapForce.inside` counts them). The brake
    on fast points in proximity voxels, which needs velocities, is left out.

    Parameters
    ----------
    shell
        Points with inward normals of the other object, in the world.
    voxmap
        Voxels in their own frame.
    stiffness
        Stiffness of one point [N/m].

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong shape, type or value.
    """

    __slots__ = ("__weakref__", "_core", "_shell", "_stiffness", "_voxmap")

    def __init__(self, shell: Pointshell, voxmap: Voxmap, stiffness: float) -> None:
        require(shell, Pointshell, "shell")
        require(voxmap, Voxmap, "voxmap")
        self._stiffness = number(stiffness, "stiffness")
        self._core = _core.VoxmapContact(voxmap._core, shell.points, shell.normals, self._stiffness)
        self._shell, self._voxmap = shell, voxmap

    @property
    def shell(self) -> Pointshell:
        """Points of the shell."""
        return self._shell

    @property
    def voxmap(self) -> Voxmap:
        """Voxmap that the points touch."""
        return self._voxmap

    @property
    def stiffness(self) -> float:
        """Stiffness of one point [N/m]."""
        return self._stiffness

    def evaluate(
        self, position: ArrayLike | Pose, quaternion: ArrayLike | None = None
    ) -> VoxmapForce:
        """Return force and torque on the voxmap at a pose of the voxmap.

        Parameters
        ----------
        position
            Origin of the voxmap's frame in the world [m], shape (3,); or a `Pose`.
        quaternion
            Rotation (w, x, y, z), body to world; None with a `Pose`. Its norm must be 1 to within
            1e-6 and is normalised.

        Returns
        -------
        VoxmapForce

        Raises
        ------
        InputError, InputTypeError
            A wrong shape, a value that is not finite, or a quaternion of another norm.
        """
        position, quaternion = pose_arguments(position, quaternion)
        return VoxmapForce(
            *self._core.evaluate(
                array_like(position, "position"), rotations(quaternion, "quaternion")
            )
        )

    def __repr__(self) -> str:
        return f"<VoxmapContact: on {self._voxmap!r}>"

    def __reduce__(self) -> tuple[type[VoxmapContact], tuple[Any, ...]]:
        return VoxmapContact, (self._shell, self._voxmap, self._stiffness)
