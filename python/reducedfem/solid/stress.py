"""Strain and stress of solids, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.base.check import array_like, finite_result
from reducedfem.base.run import threads
from reducedfem.solid.card import SolidCard

__all__ = ["SolidStress"]


class SolidStress(SolidCard):
    """Base class of `Solid`: means of strain and stress over its elements."""

    __slots__ = ()

    def strain(self, u: ArrayLike) -> NDArray[np.float64]:
        """Return the mean Green strain E = (F^T F - I) / 2 of each element, (e, 3, 3).

        The mean is over the volume of the element at rest.

        Parameters
        ----------
        u
            Displacements [m], (n, 3).

        Returns
        -------
        (e, 3, 3) float64 array
            Symmetric strains, in the axes of the solid at rest.

        Raises
        ------
        InputError, InputTypeError
            `u` has a wrong shape, a value that is not finite, or is so large that the result
            is not finite.
        """
        return self._measure(u, "strain")

    def stress(self, u: ArrayLike) -> NDArray[np.float64]:
        """Return the mean Cauchy stress P F^T / det F of each element [Pa], (e, 3, 3).

        The mean is over the deformed volume of the element, int P F^T dV / int det F dV, where P is
        the first Piola-Kirchhoff stress. Tension is positive. Cells that a surface cuts have the
        stress of the material in them. ``Mesh.write("a.vtu", cell_data={"stress":
        solid.stress(u).reshape(-1, 9)})`` stores it for ParaView, `export_vtk` that of a motion.

        Parameters
        ----------
        u
            Displacements [m], (n, 3).

        Returns
        -------
        (e, 3, 3) float64 array
            Symmetric stresses [Pa], in the axes of the world.

        Raises
        ------
        InputError, InputTypeError
            `u` has a wrong shape, a value that is not finite, or is so large that the result
            is not finite.
        MeshError
            `u` turns an element inside out.
        """
        return self._measure(u, "stress")

    def von_mises(self, u: ArrayLike) -> NDArray[np.float64]:
        """Return the von Mises stress of the mean Cauchy stress of each element [Pa], (e,).

        It is sqrt(3/2 s : s) of the deviatoric part s of `stress`.

        Parameters
        ----------
        u
            Displacements [m], (n, 3).

        Returns
        -------
        (e,) float64 array
            Von Mises stresses [Pa].

        Raises
        ------
        InputError, InputTypeError, MeshError
            As of `stress`.
        """
        return self._measure(u, "von Mises stress")

    def _measure(self, u: ArrayLike, kind: str) -> NDArray[np.float64]:
        solid: Any = self
        found: NDArray[np.float64] = solid._core.measure(array_like(u, "u"), kind, threads())
        return finite_result(found, kind, "u")
