"""Control elements: solids moved by handles, solved in advance."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from reducedfem import _core
from reducedfem.base.check import (
    count,
    finite_result,
    flag,
    node_indices,
    precision,
    reals,
    require,
)
from reducedfem.base.frozen import owned
from reducedfem.base.run import Progress, callback, threads
from reducedfem.errors import InputError, InputTypeError
from reducedfem.geometry.pose import Pose, pose_arguments
from reducedfem.green.arguments import NO_TRIANGLES, boundary_of
from reducedfem.green.plausible import doubt_radius, doubt_turns
from reducedfem.io import handle_files
from reducedfem.io.saved import Saved
from reducedfem.solid.plausible import warn_of_loose_supports
from reducedfem.solid.solid import Solid

__all__ = ["ControlElements"]

_PARAMETERS = 12  # of a handle


class ControlElements(Saved):
    """A solid moved by handles, with all displacements computed in advance; immutable.

    A handle is a set of nodes that an affine map moves, b = T + M (X - mean X) with 12 parameters:
    T [m], then M row by row. The displacement of the solid is a sum of precomputed fields, its
    forces on the parameters one small matrix product (Nikitin et al. 2002; equations are in
    ``docs/howto/handles.md``). Fixed nodes of the solid stay fixed.

    Linear solutions are wrong for large rotations. With ``rotation="extract"`` they are computed in
    the frame of the best rigid fit of all handles and fixed nodes, so that rigid motions of the
    whole are exact; forces of order 1 are multiples of the true ones where handles turn by more
    than some 15 degrees relative to each other. Orders 2 and 3 add the next terms of the solution
    in powers of the relative poses of rigid handles.

    Parameters
    ----------
    solid
        The solid.
    handles
        Sets of nodes, each a mask of shape (n,) or node indices: at least three that are not on one
        line, not fixed, and in one handle only.
    surface_nodes
        Nodes at which displacements are wanted, a mask or indices; None: `Mesh.boundary_nodes`.
    order
        1: the linear solution. 2 or 3: terms of the series, for materials that are quadratic in
        Green's strain (`StVK`, `LinearElastic`) and rigid handles.
    dtype
        Type of the fields, also as a NumPy type. ``"float32"`` halves memory and time, with
        relative errors of 1e-6.
    progress
        A bar: True, False, or None (after two seconds, in a terminal); or ``f(done, total)``.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type, shape or value; handles overlap, have fixed nodes, or lie on a
        line; there is nothing to solve for; order 2 or 3 with another material, with one handle
        only, or of more than 512 fields.
    MeshError
        Handles and fixed nodes leave a part of the mesh loose.

    Warns
    -----
    PlausibilityWarning
        Nodes of a handle lie outside of the body, in cut cells.
    """

    __slots__ = (
        "__weakref__", "_core", "_dtype", "_handles", "_means", "_mesh_nodes", "_nodes", "_order",
        "_solid", "_triangles",
    )  # fmt: skip

    def __init__(
        self,
        solid: Solid,
        handles: Sequence[ArrayLike],
        surface_nodes: ArrayLike | None = None,
        order: int = 1,
        dtype: DTypeLike = "float64",
        progress: Progress = None,
    ) -> None:
        n = require(solid, Solid, "solid").mesh.n_nodes
        if surface_nodes is None:
            nodes = np.asarray(solid.mesh.boundary_nodes, dtype=np.int64)
        else:
            nodes = node_indices(surface_nodes, "surface_nodes", n)
        if not len(nodes):
            raise InputError("surface_nodes selects no node; at least one is needed")
        degree, single = count(order, "order", 3), precision(dtype, "dtype")
        self._solid: Solid | None = solid
        self._mesh_nodes, self._order, self._dtype = n, degree, single
        self._handles, self._nodes = _sets(handles, n), _sealed(nodes)
        with callback(progress, "control elements") as tell:
            self._core = _core.ControlElements(
                solid._core,
                *_listed(self._handles),
                self._nodes,
                degree,
                single == "float32",
                0,
                tell,
                threads(),
            )
        self._means = owned(self._core.means)
        self._triangles = boundary_of(solid.mesh, self._nodes)
        for k, nodes in enumerate(self._handles):
            warn_of_loose_supports(solid.mesh, nodes, 3, f"handles[{k}]")

    @property
    def solid(self) -> Solid | None:
        """The solid; None of control elements from a file."""
        return self._solid

    @property
    def order(self) -> int:
        """Order of the series: 1 is the linear solution."""
        return self._order

    @property
    def handles(self) -> tuple[NDArray[np.int64], ...]:
        """Nodes of each handle, ascending, read-only."""
        return self._handles

    @property
    def nodes(self) -> NDArray[np.int64]:
        """Nodes of the displacements, ascending, read-only, shape (s,)."""
        return self._nodes

    @property
    def positions(self) -> NDArray[np.float64]:
        """Rest positions of `nodes` [m], (s, 3)."""
        parts = self._parts()
        counts, arms = parts["counts"], parts["arms"]
        centre = np.average(parts["means"], axis=0, weights=counts)
        places: NDArray[np.float64] = arms.transpose(0, 2, 1).reshape(-1, 3) + centre
        return places[: len(self._nodes)]

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean places of the nodes of each handle at rest [m], read-only, shape (h, 3)."""
        return self._means

    @property
    def matrix(self) -> NDArray[np.float64]:
        """Forces on the parameters by the parameters without a frame, symmetric, (12h, 12h).

        It is singular: rigid motions of a solid without fixed nodes need no force, and a plane
        handle has three parameters without effect. `rank` counts the others.
        """
        return self._core.matrix

    @property
    def rank(self) -> int:
        """Rank of `matrix`: the number of independent forces on the parameters."""
        return self._core.rank

    @property
    def dtype(self) -> str:
        """Type of the fields: ``"float64"`` or ``"float32"``."""
        return self._dtype

    @property
    def bytes(self) -> int:
        """Memory of the fields [bytes]."""
        return self._core.bytes

    def parameters(
        self,
        i: int,
        position: ArrayLike | Pose | None = None,
        quaternion: ArrayLike | None = None,
        *,
        affine: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Return the parameters of a handle for a pose or an affine map, (12,).

        Parameters
        ----------
        i
            Index of the handle.
        position
            Place to which the mean of its nodes moves [m], shape (3,), or a `Pose` with its
            quaternion; None: stays.
        quaternion
            Rotation (w, x, y, z) about the mean, of norm 1; None: none.
        affine
            In place of both, a map of places at rest to places, shape (3, 4): columns of the matrix
            and the translation [m].

        Returns
        -------
        (12,) float64 array
            T, then M row by row.

        Raises
        ------
        InputError, InputTypeError
            There is no such handle, an argument has a wrong shape or value, or both a pose and an
            affine map are given.
        """
        mean = self._means[count(i, "i", len(self._handles) - 1, "handles", least=0)]
        if affine is not None:
            if position is not None or quaternion is not None:
                raise InputTypeError("give either affine or position and quaternion, not both")
            given = reals(affine, "affine")
            if given.shape != (3, 4):
                raise InputError(f"affine must have shape (3, 4), got {given.shape}")
            linear, place = given[:, :3], given[:, :3] @ mean + given[:, 3]
        else:
            if isinstance(position, Pose):
                pose = Pose(*pose_arguments(position, quaternion))
            else:
                pose = Pose(
                    mean if position is None else position,
                    (1.0, 0.0, 0.0, 0.0) if quaternion is None else quaternion,
                )
            linear, place = pose.rotation, pose.position
        return np.concatenate([place - mean, (linear - np.eye(3)).ravel()])

    def displacement(
        self, c: ArrayLike, rotation: Literal["extract"] | None = "extract"
    ) -> NDArray[np.float64]:
        """Return the displacements of `nodes` [m], (s, 3).

        Parameters
        ----------
        c
            Parameters of all handles, shape (12h,) or (h, 12); see `parameters`.
        rotation
            ``"extract"``: in the frame of the best rigid fit. None: the linear solution, also of
            orders 2 and 3.

        Returns
        -------
        (s, 3) float64 array
            Displacements in the world.

        Raises
        ------
        InputError, InputTypeError
            `c` has a wrong shape or a value that is not finite, has no best rotation, or of order 2
            and 3 deforms a handle or has a `radius` below 1; `rotation` is another value.

        Warns
        -----
        PlausibilityWarning
            With extraction of order 1, a handle turns by more than 0.75 rad in the frame.
        """
        u, turns = self._core.displacement(self._coefficients(c), _extracts(rotation))
        doubt_turns(turns, len(self._handles), "displacements", 2)
        return finite_result(u, "displacement", "c")

    def forces(
        self,
        c: ArrayLike,
        rotation: Literal["extract"] | None = "extract",
        consistent: bool = True,
    ) -> NDArray[np.float64]:
        """Return the forces that hold the handles, on their parameters, (12h,).

        Components of T are forces [N], those of M moments sum f (X - mean X)^T [N m]. Those of
        order 1 are wrong by tenths where handles turn by more than some 15 degrees relative to each
        other, then by multiples; those of orders 2 and 3 where `radius` is below 2.

        Parameters
        ----------
        c, rotation
            As of `displacement`.
        consistent
            With extraction of order 1. True: the gradient of the energy, so that forces do no work
            around a loop. False: the linear forces, turned, without the derivative of the
            rotation. Forces of orders 2 and 3 are those of the series, in either case.

        Returns
        -------
        (12h,) float64 array
            Forces on the parameters.

        Raises
        ------
        InputError, InputTypeError
            As of `displacement`; `consistent` is not a bool; or with extraction of order 1, two
            handles turn by more than 150 degrees relative to each other.

        Warns
        -----
        PlausibilityWarning
            With extraction of order 1, a handle turns by more than 0.15 rad in the frame; of orders
            2 and 3, `radius` is below 2.
        """
        return self._loads(c, rotation, consistent)[0]

    def wrench(
        self,
        c: ArrayLike,
        rotation: Literal["extract"] | None = "extract",
        consistent: bool = True,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return forces [N] and torques [N m] that hold the handles, two (h, 3).

        Torques are about the moved mean of the nodes of a handle. A handle exerts these on the
        solid; a hand that moves it feels the opposite. Those of order 1 are wrong by tenths where
        handles turn by more than some 15 degrees relative to each other; see `forces`.

        Parameters
        ----------
        c, rotation, consistent
            As of `forces`.

        Returns
        -------
        force, torque
            Arrays of shape (h, 3).

        Raises
        ------
        InputError, InputTypeError
            As of `forces`.

        Warns
        -----
        PlausibilityWarning
            As of `forces`.
        """
        wrench = self._loads(c, rotation, consistent)[1]
        return wrench[:, :3], wrench[:, 3:]

    def energy(self, c: ArrayLike, rotation: Literal["extract"] | None = "extract") -> float:
        """Return the strain energy of the linear solution [J]; `forces` are its gradient.

        Parameters
        ----------
        c, rotation
            As of `displacement`.

        Returns
        -------
        float
            Energy [J].

        Raises
        ------
        InputError, InputTypeError
            As of `forces`; the order is not 1.

        Warns
        -----
        PlausibilityWarning
            As of `forces`.
        """
        if self._order > 1:
            raise InputError(
                f"energy is that of order 1, and this has order {self._order}; use "
                "Solid.strain_energy"
            )
        energy, turns, _ = self._core.measures(self._coefficients(c), _extracts(rotation))
        doubt_turns(turns, len(self._handles), "energies", 2)
        return finite_result(energy, "energy", "c")

    def radius(self, c: ArrayLike) -> float:
        """Return the multiple of a motion up to which the series converges; infinite of rest.

        Below 1 displacements and forces are refused, below 2 forces warn: the error falls about as
        radius^-order, and near 1 it may be as large as the force. Take 2 or more. Estimated by
        ratios of six terms along the principal relative motions of the handles and their pairs, and
        interpolated.

        Parameters
        ----------
        c
            As of `displacement`; the radius may be below 1.

        Returns
        -------
        float
            Factor of the relative shifts and rotation vectors.

        Raises
        ------
        InputError, InputTypeError
            As of `displacement`; the order is 1.
        """
        if self._order == 1:
            raise InputError("radius is of orders 2 and 3, and this has order 1")
        return self._core.measures(self._coefficients(c), True)[2]

    def terms(self, c: ArrayLike, order: int = 6, progress: Progress = None) -> NDArray[np.float64]:
        """Return the terms of the series of one motion at all nodes of the mesh, (order, n, 3).

        The handles move by e c from e = 0 to 1, and u = sum e^k u_k, without a frame; handles need
        not be rigid. Sum the terms only if they fall: nothing is refused. Each call factors the
        stiffness.

        Parameters
        ----------
        c
            As of `displacement`.
        order
            Number of terms, 1 to 16.
        progress
            A bar, as of the class.

        Returns
        -------
        (order, n, 3) float64 array
            Terms u_1, u_2, ... [m].

        Raises
        ------
        InputError, InputTypeError
            As of `displacement`; the material is not quadratic in Green's strain; or there is no
            solid, because they are from a file.
        """
        if self._solid is None:
            raise InputError(
                "terms needs the solid, which files do not have: make the control elements of it"
            )
        number = count(order, "order", _core.CONTROL_MOST_TERMS)
        given = self._coefficients(c)
        with callback(progress, "terms") as tell:
            terms = _core.control_terms(
                self._solid._core, *_listed(self._handles), given, number, tell, threads()
            )
        return finite_result(terms, "series", "c")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a file in the safetensors format, completely or not at all; see `load`.

        The file has the fields and matrices, and the boundary for views, but not the solid.

        Parameters
        ----------
        path
            File name; ``.safetensors`` is added if there is no suffix, others are refused.

        Raises
        ------
        FileFormatError
            The file cannot be written.
        """
        handle_files.save(path, self._parts(), self._numbers())

    def _numbers(self) -> dict[str, int]:
        return {"mesh_nodes": self._mesh_nodes, "order": self._order, "rank": self.rank}

    def _parts(self) -> dict[str, NDArray[Any]]:
        ptr, nodes = _listed(self._handles)
        lists: dict[str, NDArray[Any]] = dict(zip(_ARRAYS, self._core.parts()[3:], strict=True))
        lists |= {"handle_ptr": ptr, "handle_nodes": nodes, "nodes": self._nodes}
        if len(self._triangles):
            lists["triangles"] = self._triangles
        return lists

    @classmethod
    def _read(cls, stream: BinaryIO, size: int, name: str) -> ControlElements:
        return handle_files.read(stream, size, name, _of_parts)

    def _coefficients(self, c: ArrayLike) -> NDArray[np.float64]:
        given, h = reals(c, "c"), len(self._handles)
        if given.shape not in ((_PARAMETERS * h,), (h, _PARAMETERS)):
            raise InputError(
                f"c must have shape ({_PARAMETERS * h},) or ({h}, {_PARAMETERS}), 12 parameters of "
                f"each handle, got {given.shape}"
            )
        return given.ravel()

    def _loads(
        self, c: ArrayLike, rotation: Literal["extract"] | None, consistent: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        forces, wrench, turns, radius = self._core.forces(
            self._coefficients(c), _extracts(rotation), flag(consistent, "consistent")
        )
        doubt_turns(turns, len(self._handles), "forces", 3)
        doubt_radius(radius, self._order, 3)
        return finite_result(forces, "force", "c"), finite_result(wrench, "torque", "c")

    def __repr__(self) -> str:
        h, order = len(self._handles), "" if self._order == 1 else f"order {self._order}, "
        return (
            f"<ControlElements: {h} handle{'s' * (h > 1)}, {order}{self._core.n_fields} fields at "
            f"{len(self._nodes)} nodes, {self.bytes / 1e6:.3g} MB {self._dtype}, rank {self.rank} "
            f"of {_PARAMETERS * h}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_parts, (self._numbers(), self._parts(), self._solid)


# arrays of the parts of the core
_ARRAYS = (
    "counts", "means", "moments", "matrix", "fields", "arms", "to_relative", "gauge",
    "product_forces",
)  # fmt: skip


def _of_parts(
    numbers: Mapping[str, int], arrays: Mapping[str, NDArray[Any]], solid: Solid | None = None
) -> ControlElements:
    """Return control elements of their parts."""
    ptr, nodes = arrays["handle_ptr"], arrays["nodes"]
    made = ControlElements.__new__(ControlElements)
    made._core = _core.control_of_parts(
        len(ptr) - 1,
        numbers["order"],
        numbers["rank"],
        len(nodes),
        *(arrays[name] for name in _ARRAYS),
    )
    made._solid, made._mesh_nodes, made._order = solid, numbers["mesh_nodes"], numbers["order"]
    made._dtype = str(arrays["fields"].dtype)
    made._nodes = _sealed(nodes.astype(np.int64))
    listed = arrays["handle_nodes"].astype(np.int64)
    made._handles = tuple(_sealed(listed[begin:end]) for begin, end in pairwise(ptr))
    made._means = owned(made._core.means)
    made._triangles = arrays.get("triangles", NO_TRIANGLES)
    return made


def _extracts(rotation: Literal["extract"] | None) -> bool:
    if rotation is None:
        return False
    if not isinstance(rotation, str) or rotation != "extract":
        raise InputError(f'rotation must be "extract" or None, got {rotation!r}')
    return True


def _sealed(nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    own: NDArray[np.int64] = nodes.copy()
    own.flags.writeable = False
    return own


def _sets(handles: Sequence[ArrayLike], n: int) -> tuple[NDArray[np.int64], ...]:
    wanted = "handles must be a list of sets of nodes"
    if isinstance(handles, str | bytes) or not isinstance(handles, Sequence | np.ndarray):
        raise InputTypeError(f"{wanted}, got {type(handles).__name__}")
    if any(np.ndim(one) == 0 for one in handles):
        raise InputError(f"{wanted}; for a single handle pass [nodes]")
    sets = tuple(_sealed(node_indices(one, f"handles[{k}]", n)) for k, one in enumerate(handles))
    if not sets:
        raise InputError(f"{wanted}, and it is empty")
    return sets


def _listed(
    handles: tuple[NDArray[np.int64], ...],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ranges of the handles in one list, and the list."""
    return np.cumsum([0, *(len(one) for one in handles)]), np.concatenate(handles)
