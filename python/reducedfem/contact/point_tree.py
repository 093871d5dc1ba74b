"""Nested point-trees: bounding-sphere hierarchies of pointshells for the search of contact."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import array_like, integer, require
from reducedfem.base.run import Progress, callback, threads
from reducedfem.contact.pointshell import Pointshell
from reducedfem.errors import GeometryWarning, InputError, InputTypeError
from reducedfem.geometry.embedding import Embedding, beside_mesh
from reducedfem.geometry.mesh import Mesh
from reducedfem.reduction.reduced import ReducedSolid

__all__ = ["PointTree"]


class PointTree:
    """Hierarchy of bounding spheres of a pointshell under reduced deformations.

    The nodes of level j are the points of levels 0 to j of the shell. The children of a node on
    level j + 1 are a copy of itself and the points of level j + 1 of the shell whose nearest point
    of lower levels, at rest, it is (Barbic 2007, sections 3.8 and 3.9). The sphere around a node's
    point contains all points of its subtree; its radius ``R0 + sum_j a_j |q_j|`` holds for any
    reduced coordinates q (section 3.7, equation 3.12) and is zero on the deepest level. Trees are
    immutable; contacts in several threads may share one.

    Deformations and radii are stored in single precision, with a relative rounding of 6e-8;
    points at rest are stored as given.

    Parameters
    ----------
    shell
        Points at rest, up to 32 levels.
    reduced
        Deformable solid that carries the points; None: the shell is rigid.
    embedding
        Embedding of the points in the solid's mesh; None: made from ``shell.points``.
    progress
        A bar: True, False, or None (after two seconds, in a terminal); or ``f(done, total)``.

    Raises
    ------
    InputError, InputTypeError
        `embedding` is given without `reduced`, or is of another mesh or other points; the shell
        has more than 32 levels.

    Warns
    -----
    GeometryWarning
        Points lie farther outside of the mesh than the nearest element is large, and than 5 % of
        the mesh, or the mesh is 500 times as large as the shell: unit or position of one of them
        is probably wrong. Deformations are magnified with the distance outside.
    """

    __slots__ = ("__weakref__", "_core", "_embedding", "_reduced", "_shell")

    def __init__(
        self,
        shell: Pointshell,
        reduced: ReducedSolid | None = None,
        embedding: Embedding | None = None,
        *,
        progress: Progress = None,
    ) -> None:
        require(shell, Pointshell, "shell")
        if reduced is not None:
            require(reduced, ReducedSolid, "reduced", " or None")
        if embedding is not None:
            if not isinstance(embedding, Embedding):
                raise InputTypeError(
                    f"embedding must be an Embedding or None, got {type(embedding).__name__}"
                )
            if reduced is None:
                raise InputError("embedding is given without reduced, the solid that deforms")
            if not _same(embedding.mesh, reduced.mesh):
                raise InputError(
                    "embedding belongs to another mesh than reduced: make it in reduced.mesh"
                )
            if not np.array_equal(embedding.points, shell.points):
                raise InputError(
                    "embedding belongs to other points: make it from shell.points, in their order"
                )
        elif reduced is not None:
            embedding = Embedding(reduced.mesh, shell.points)
        if embedding is not None:
            beside = beside_mesh(embedding, "shell", "points")
            if beside:
                warnings.warn(beside, GeometryWarning, stacklevel=2)
        self._make(shell, reduced, embedding, progress)

    def _make(
        self,
        shell: Pointshell,
        reduced: ReducedSolid | None,
        embedding: Embedding | None,
        progress: Progress = None,
    ) -> None:
        self._shell, self._reduced, self._embedding = shell, reduced, embedding
        motion: NDArray[np.float64] | None = None
        tilt: NDArray[np.float64] | None = None
        with callback(progress, "tree") as tell:
            if reduced is not None and embedding is not None:
                skin = _core.Skin(
                    reduced._core,
                    reduced.mesh._core,
                    embedding._core,
                    shell.points,
                    shell.normals,
                    None,
                    threads(),
                )
                motion, tilt = skin.motion, skin.tilt
            self._core = _core.PointTree(
                shell.points, shell.normals, shell.levels, motion, tilt, tell, threads()
            )

    @property
    def shell(self) -> Pointshell:
        """Points at rest."""
        return self._shell

    @property
    def reduced(self) -> ReducedSolid | None:
        """Deformable solid that carries the points; None: the shell is rigid."""
        return self._reduced

    @property
    def embedding(self) -> Embedding | None:
        """Embedding of the points in the mesh; None: the shell is rigid."""
        return self._embedding

    @property
    def r(self) -> int:
        """Number of reduced coordinates; 0: the shell is rigid."""
        return self._core.r

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return len(self._core.counts)

    @property
    def node_counts(self) -> NDArray[np.int32]:
        """Number of nodes of each level, read-only, shape (n_levels,).

        The nodes of a level are the first points of the shell, as many as given here.
        """
        return self._core.counts

    @property
    def parents(self) -> NDArray[np.int32]:
        """Parent of each point on its first level, index in the shell, shape (n,).

        -1 for the points of level 0. On deeper levels a point is its own parent.
        """
        return self._core.parents

    def radii(self, level: int, q: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the radii of the spheres of a level, upper bounds for all points below.

        Parameters
        ----------
        level
            Level of the tree, 0 to ``n_levels - 1``.
        q
            Reduced coordinates [kg^1/2 m], shape (r,); None: at rest.

        Returns
        -------
        (node_counts[level],) array
            Radii [m] in the order of the shell; infinite if beyond single precision.

        Raises
        ------
        InputError, InputTypeError
            `level` is out of range, `q` has a wrong shape or the shell is rigid.
        """
        return self._core.radii(integer(level, "level"), _coordinates(q), False, threads())

    def tight_radii(self, level: int, q: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the smallest possible radii, for comparison with `radii`.

        Slow: visits all points of all subtrees.

        Parameters
        ----------
        level
            Level of the tree, 0 to ``n_levels - 1``.
        q
            Reduced coordinates [kg^1/2 m], shape (r,); None: at rest.

        Returns
        -------
        (node_counts[level],) array
            Radii [m] in the order of the shell.

        Raises
        ------
        InputError, InputTypeError
            `level` is out of range, `q` has a wrong shape or the shell is rigid.
        """
        return self._core.radii(integer(level, "level"), _coordinates(q), True, threads())

    def positions(self, q: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the deformed points, as contact uses them.

        Parameters
        ----------
        q
            Reduced coordinates [kg^1/2 m], shape (r,); None: at rest.

        Returns
        -------
        (n, 3) array
            Positions [m] in the order of the shell.

        Raises
        ------
        InputError, InputTypeError
            `q` has a wrong shape or the shell is rigid.
        """
        return self._core.positions(_coordinates(q))

    def normals(self, q: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the deformed inward unit normals, as contact uses them.

        They are pushed forward by the deformation gradient like those of a `Skin`
        (Barbic 2007, section 3.6.2).

        Parameters
        ----------
        q
            Reduced coordinates [kg^1/2 m], shape (r,); None: at rest.

        Returns
        -------
        (n, 3) array
            Unit normals in the order of the shell.

        Raises
        ------
        InputError, InputTypeError
            `q` has a wrong shape or the shell is rigid.
        """
        return self._core.normals(_coordinates(q))

    def __repr__(self) -> str:
        kind = f"r = {self.r}" if self.r else "rigid"
        points = "1 point" if self.shell.n_points == 1 else f"{self.shell.n_points} points"
        levels = "1 level" if self.n_levels == 1 else f"{self.n_levels} levels"
        return f"<PointTree: {points}, {levels}, {kind}>"

    def __reduce__(self) -> tuple[Callable[..., PointTree], tuple[Any, ...]]:
        return _again, (self._shell, self._reduced, self._embedding)


def _again(
    shell: Pointshell, reduced: ReducedSolid | None, embedding: Embedding | None
) -> PointTree:
    """Return a copy of a tree, without checks and warnings."""
    tree = PointTree.__new__(PointTree)
    tree._make(shell, reduced, embedding)
    return tree


def _same(a: Mesh, b: Mesh) -> bool:
    return a is b or (np.array_equal(a.nodes, b.nodes) and np.array_equal(a.elements, b.elements))


def _coordinates(q: ArrayLike | None) -> ArrayLike | None:
    return None if q is None else array_like(q, "q")
