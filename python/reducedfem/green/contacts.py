"""Contacts that come and go one at a time, on a surface with Green's functions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import finite_result, integer, reals
from reducedfem.base.run import threads
from reducedfem.errors import InputError
from reducedfem.green.arguments import place_of

__all__ = ["GreenContacts"]

_Green = _core.Green
_Contacts = _core.GreenContacts


class GreenContacts:
    """Held nodes of a surface that are added and removed one at a time, at the rate of haptics.

    Made by `GreensFunctions.contacts`. The inverse of the compliance of the held directions is
    kept and updated; solutions are refined, so that they do not collect rounding errors. May be
    used by several threads, one at a time.

    Attributes
    ----------
    max_contacts
        Largest number of contacts.
    nodes
        Nodes in contact, in the order of addition, shape (m,).
    lift
        Part by which blocks of G inside of a group of nodes are increased (`GreensFunctions`,
        `tolerance`): for these contacts they are softer by it, until none is left. 0: exact.
    """

    __slots__ = ("__weakref__", "_core", "_green", "_most")

    _green: _Green
    _most: int
    _core: _Contacts

    @classmethod
    def _of(cls, green: _Green, most: int, released: NDArray[np.int32]) -> GreenContacts:
        made = cls.__new__(cls)
        made._green, made._most = green, most
        made._core = _Contacts(green, most, released, threads())
        return made

    @property
    def max_contacts(self) -> int:
        """Largest number of contacts."""
        return self._most

    @property
    def nodes(self) -> NDArray[np.int32]:
        """Nodes in contact, in the order of addition, shape (m,)."""
        return self._green.nodes[self._core.places]

    @property
    def lift(self) -> float:
        """Part by which the nodes in contact are softer than by exact blocks; 0: exact."""
        return self._core.lift

    def __len__(self) -> int:
        return len(self._core.places)

    def add(self, node: int, normal: ArrayLike | None = None) -> None:
        """Add a contact.

        Parameters
        ----------
        node
            A node of the surface that has no contact yet.
        normal
            Direction of the contact, shape (3,): only the displacement along it is prescribed,
            and the force acts along it. None: all three components.

        Raises
        ------
        InputError, InputTypeError
            `node` is not on the surface or has a contact, `normal` is zero, or all contacts are
            in use.
        SingularMatrixError
            The node moves as those in contact already.

        Notes
        -----
        If the `tolerance` of the Green's functions makes the compliance indefinite, the blocks on
        the diagonal are raised and it is computed anew, which takes up to tens of milliseconds.
        """
        place = place_of(self._green, integer(node, "node"), "node")
        unit = None
        if normal is not None:
            unit = reals(normal, "normal")
            if unit.shape != (3,):
                raise InputError(f"normal must have shape (3,), got {unit.shape}")
            length = float(np.linalg.norm(unit))
            if not 0.0 < length < np.inf:
                raise InputError(f"normal is {unit.tolist()}, which has no direction")
            unit = unit / length
        if not self._core.add(place, unit):
            raise InputError(
                f"node {node} has a contact already; remove it first to change its normal"
            )

    def remove(self, node: int) -> None:
        """Remove the contact of a node.

        Parameters
        ----------
        node
            A node in contact.

        Raises
        ------
        InputError, InputTypeError
            `node` has no contact.
        """
        place = place_of(self._green, integer(node, "node"), "node")
        if not self._core.remove(place):
            raise InputError(
                f"node {node} has no contact; those in contact are {self.nodes.tolist()}"
            )

    def solve(self, displacement: ArrayLike) -> NDArray[np.float64]:
        """Return the forces on the contacts that give them prescribed displacements.

        ``green.displacement(force, contacts.nodes)`` is the surface under these forces, and with
        supports released ``green.solve(force=..., released=...).u``; after a lift (`add`) the nodes
        in contact move less there than prescribed.

        Parameters
        ----------
        displacement
            Displacements [m] in the order of `nodes`, shape (m, 3). Of a contact with a normal,
            the part along it counts.

        Returns
        -------
        (m, 3) float64 array
            Forces [N].

        Raises
        ------
        InputError, InputTypeError
            `displacement` has a wrong shape or a value that is not finite.
        SingularMatrixError
            The compliance of the contacts is too near to singular.
        """
        given = reals(displacement, "displacement")
        if given.ndim != 2 or given.shape[1] != 3:
            raise InputError(f"displacement must have shape ({len(self)}, 3), got {given.shape}")
        return finite_result(self._core.solve(given), "force", "displacement")

    def __repr__(self) -> str:
        nodes = len(self._green.nodes)
        return f"<GreenContacts: {len(self)} of {self._most}, on a surface of {nodes} nodes>"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError(
            "contacts cannot be copied or pickled; add their nodes to new ones, made by "
            "GreensFunctions.contacts()"
        )
