"""The Voxmap-PointShell method: what contact on distance fields is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem._check import array_like, integer, number, places, require, rotations
from reducedfem._memory import available
from reducedfem._run import Progress, callback, threads
from reducedfem.errors import InputError, InputTypeError
from reducedfem.pointshell import Pointshell
from reducedfem.pose import Pose, pose_arguments
from reducedfem.surface import Surface

__all__ = ["Voxmap", "VoxmapContact", "VoxmapForce"]

# RF_VOXEL_MAX_RESOLUTION of csrc/mesh/voxelize.h
_MOST = 2048
# two bits, and one each of the surface and of what it encloses while it is made
_BYTES_A_VOXEL = 0.5


class Voxmap:
    """Voxels of two bits around a surface (McNeely et al. 1999; Barbic 2007, section 3.1).

    A voxel is 0, free; 1, interior; 2, surface: a triangle meets it; or 3, proximity: it is
    not interior and one of its 26 neighbours is a surface voxel. Interior are the voxels that
    cannot be reached from the border of the grid through faces of voxels without crossing a
    surface voxel; a surface with holes wider than a voxel has none. Beside the grid all is
    free. The octree that the paper stores voxels in is left out: at a resolution of 256 they
    are 4 MB.

    Most are made by `from_surface`.

    Parameters
    ----------
    values
        The voxels, integers 0 to 3, shape (nx, ny, nz).
    origin
        Low corner of the grid [m], shape (3,).
    edge
        Edge of a voxel [m].

    Raises
    ------
    InputError, InputTypeError
        A wrong shape or value.
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
        """Make the voxels of a surface.

        Parameters
        ----------
        surface
            Any surface; polygon soups are fine.
        resolution
            Voxels along each side of the grid, which is a cube, 1 to 2048.
        expand
            Side of the grid over the longest side of the surface, 1 or more.
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
            The surface has no size, or lies too far from the origin for its size.
        MemoryError
            The resolution needs more memory than there is; the message says how much.
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
        """All voxels, a fresh array of shape (nx, ny, nz)."""
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
        """Return the voxels that hold some points; on a common side, the upper one.

        Parameters
        ----------
        points
            Places [m], shape (k, 3), or (3,) for one.

        Returns
        -------
        (k,) array
            uint8, 0 to 3; for one point an array of shape ().

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
        On the voxmap, in the world [N], shape (3,).
    torque
        About `position` [N m], shape (3,).
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
    """Forces between a rigid shell of points and a voxmap (Barbic 2007, section 3.1).

    A point in a surface voxel is pushed along its own inward normal, in proportion to how far
    it is beyond the plane through the middle of the voxel normal to that; on the free side of
    the plane it feels nothing. All points are looked at, every time.

    The force is what it was in 1999. It jumps by up to stiffness times the edge of a voxel, for
    each point that goes from one voxel to another, for no step is small enough; and it
    vanishes where points cross the layer of surface voxels: they are then in interior voxels,
    which have no force (`VoxmapForce.inside` counts them). The brake on fast points in
    proximity voxels, which needs velocities, is left out.

    Parameters
    ----------
    shell
        Points with inward normals of the other object, in the world.
    voxmap
        The voxels, in their own frame.
    stiffness
        Of one point [N/m].

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
        """The points."""
        return self._shell

    @property
    def voxmap(self) -> Voxmap:
        """The voxels."""
        return self._voxmap

    @property
    def stiffness(self) -> float:
        """Stiffness of one point [N/m]."""
        return self._stiffness

    def evaluate(
        self, position: ArrayLike | Pose, quaternion: ArrayLike | None = None
    ) -> VoxmapForce:
        """Return force and torque on the voxmap at a pose of it.

        Parameters
        ----------
        position
            Of the origin of the voxmap's frame in the world [m], shape (3,); or a `Pose`.
        quaternion
            Its rotation, (w, x, y, z), body to world; None beside a `Pose`. Its norm must be 1 to
            within 1e-6, and is made exactly 1.

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
