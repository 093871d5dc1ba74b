"""Reduced models: energy, force and stiffness as polynomials of the reduced coordinates."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import count, finite_result, reals
from reducedfem.base.frozen import freeze
from reducedfem.drawing.card import Card, CardContents
from reducedfem.drawing.style import place_on_scale
from reducedfem.errors import InputError, InputTypeError
from reducedfem.geometry.mesh import Mesh
from reducedfem.io import model_files
from reducedfem.io.saved import Saved
from reducedfem.material.laws import LinearElastic, Material, StVK
from reducedfem.material.laws import from_plain as material_from_plain
from reducedfem.material.laws import to_plain as material_to_plain
from reducedfem.reduction.cubature import CubatureReport
from reducedfem.reduction.model_contents import Contents, read, written
from reducedfem.reduction.reduced_damping import ReducedStrainRateDamping
from reducedfem.reduction.reduced_equations import ReducedEquations
from reducedfem.solid.composition import unit_weights
from reducedfem.solid.plausible import warn_of_strain
from reducedfem.solid.rigid import RigidBody, from_plain, to_plain

__all__ = ["ReducedSolid"]


def _constants(region: int, made_with: Material, new: Material) -> tuple[float, float, float]:
    """Return the factors of the two parts of a region for a new material."""
    if type(new) is not type(made_with):
        raise InputTypeError(
            f"materials[{region}] must be a {type(made_with).__name__}, as the model was made "
            f"with, got {type(new).__name__}"
        )
    if isinstance(new, StVK):
        return (*new.lame, new.density)
    assert isinstance(made_with, LinearElastic)
    factor = float(np.trace(new.stiffness) / np.trace(made_with.stiffness))
    if not np.allclose(new.stiffness, factor * made_with.stiffness, rtol=1e-9, atol=0.0):
        raise InputError(
            f"materials[{region}] must have a multiple of the stiffness that the model was made "
            "with; other changes need a new reduction"
        )
    return factor, 0.0, new.density


class ReducedSolid(ReducedEquations, Saved, Card):
    """A solid restricted to the span of a basis, u = U q; created by `reduce` or `load`.

    The strain energy is a quartic polynomial of the r reduced coordinates q, the internal force
    R~(q) = U^T R(U q) a cubic and the tangent stiffness K~(q) = U^T K(U q) U a quadratic one
    (Barbic 2007, section 2.6). The polynomials are exact for every q, and their cost is
    independent of the size of the mesh. With a `Cubature` all three are weighted sums over points
    of the mesh instead, for any material: approximate, but derivatives of one energy, so that
    forces are conservative and stiffnesses symmetric, and positive semidefinite at rest.
    Immutable, may be shared by threads.

    For a mass-orthonormal basis coordinates are in kg^(1/2) m and forces in N kg^(-1/2).
    """

    __slots__ = (
        "__weakref__",
        "_core",
        "_fixed",
        "_mesh",
        "_parts",
        "_provenance",
        "_strain_rate",
        "_weights",
    )

    def __init__(
        self,
        core: _core.Reduced,
        mesh: Mesh,
        fixed: NDArray[np.int32],
        provenance: Mapping[str, Any],
        parts: _core.ReducedParts | None = None,
        strain_rate: ReducedStrainRateDamping | None = None,
    ) -> None:
        self._core = core
        self._parts = parts
        self._strain_rate = strain_rate
        self._mesh = mesh
        self._fixed = fixed
        self._weights: list[NDArray[np.float64]] | None = None
        self._provenance: Mapping[str, Any] = freeze(provenance)

    @property
    def mesh(self) -> Mesh:
        """Mesh of the basis."""
        return self._mesh

    @property
    def fixed(self) -> NDArray[np.int32]:
        """Fixed nodes of the solid, ascending, int32."""
        return self._fixed

    @property
    def _fixed_nodes(self) -> NDArray[np.int32]:
        return self._fixed

    def _farthest(self, q: NDArray[np.float64]) -> float:
        bound: float = self._core.farthest(q)
        return bound

    @property
    def _sampled(self) -> bool:
        """True of a model with a cubature."""
        return self._provenance.get("cubature") is not None

    @property
    def _softens(self) -> str | None:
        return None if self._sampled else "the law of a polynomial model"

    def _inverted(self, u: NDArray[np.float64]) -> int:
        return self._mesh._core.inverted(u)

    def _warn_of_strain(self, q: NDArray[np.float64], stacklevel: int, seen: float = 0.0) -> bool:
        if not self._sampled:
            return False
        trained = self._provenance["cubature"]["strain"]
        strain = max(self._core.strain(q), seen)
        return warn_of_strain(strain, trained, stacklevel=stacklevel + 1)

    @property
    def rigid_body(self) -> RigidBody | None:
        """Mass, centre and inertia of a free solid; None for a solid with fixed nodes."""
        data = self._provenance["solid"]["rigid_body"]
        return None if data is None else from_plain(data)

    @property
    def basis(self) -> NDArray[np.float64]:
        """U as fields over the nodes, read-only, shape (r, n, 3)."""
        vectors: NDArray[np.float64] = self._core.basis
        return vectors

    @property
    def coefficients(self) -> NDArray[np.float64]:
        """Coefficients t of the strain energy, read-only, shape (C(r+4, 4),).

        W(q) is the sum of t_ijkl p_i p_j p_k p_l over 0 <= i <= j <= k <= l <= r, in
        lexicographic order, with p = (1, q).

        Raises
        ------
        InputError
            The model has a `cubature` instead of a polynomial.
        """
        values: NDArray[np.float64] | None = self._core.coefficients
        if values is None:
            raise InputError("this model has no energy polynomial, but a cubature: see `cubature`")
        return values

    @property
    def cubature(self) -> CubatureReport | None:
        """Cubature of a model made with `Cubature`, and its errors; None with a polynomial."""
        if (found := self._core.cubature) is None:
            return None
        gradients, weights, points, _ = found
        regions = np.array(sorted(self.materials), dtype=np.int32)[points]
        regions.flags.writeable = False
        return CubatureReport(weights, gradients, regions, **self._provenance["cubature"])

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Record of the solid, materials and basis of the model; read-only, saved in files."""
        return self._provenance

    def _weight(self, acceleration: ArrayLike) -> NDArray[np.float64]:
        given = reals(acceleration, "acceleration")
        if given.shape != (3,):
            raise InputError(f"acceleration must have shape (3,), got {given.shape}")
        if self._weights is None:
            quadrature = self._provenance["solid"]["quadrature"]
            nodal = unit_weights(self._mesh, self.materials, quadrature)
            self._weights = [self._core.project(one) for one in nodal]
        force = sum(a * one for a, one in zip(given, self._weights, strict=True))
        return finite_result(np.asarray(force), "weight", "acceleration")

    @property
    def strain_rate(self) -> ReducedStrainRateDamping | None:
        """Strain-rate damping that every simulation of the model includes, or None."""
        return self._strain_rate

    def with_strain_rate(self, strain_rate: ReducedStrainRateDamping | None) -> ReducedSolid:
        """Return a copy of the model with another strain-rate damping.

        Parameters
        ----------
        strain_rate
            Result of `StrainRateDamping.reduce` for the solid and the basis of this model; None:
            no strain-rate damping.

        Returns
        -------
        ReducedSolid

        Raises
        ------
        InputError, InputTypeError
            `strain_rate` has another type, other regions or another number of coordinates.
        """
        if strain_rate is not None:
            if not isinstance(strain_rate, ReducedStrainRateDamping):
                raise InputTypeError(
                    "strain_rate must be a ReducedStrainRateDamping or None, got "
                    f"{type(strain_rate).__name__}"
                )
            if strain_rate.r != self.r:
                raise InputError(
                    f"strain_rate is the damping of {strain_rate.r} reduced coordinates, but the "
                    f"model has {self.r}"
                )
            regions = sorted(self.materials)
            if not sorted(strain_rate.phi) == sorted(strain_rate.psi) == regions:
                raise InputError(
                    f"strain_rate has the regions {sorted(strain_rate.phi)}, the model {regions}"
                )
        return ReducedSolid(
            self._core, self._mesh, self._fixed, self._provenance, self._parts, strain_rate
        )

    def truncate(self, r: int) -> ReducedSolid:
        """Return the model of the first `r` coordinates, without recomputation.

        Strain-rate damping is truncated too.

        Parameters
        ----------
        r
            Number of coordinates, from 1 to that of this model.

        Returns
        -------
        ReducedSolid

        Raises
        ------
        InputError, InputTypeError
            `r` is out of range or not an int.
        """
        core = self._core.truncate(count(r, "r", self.r))
        provenance = {**self._provenance, "truncated_to": core.r}
        parts = None if self._parts is None else self._parts.truncate(core.r)
        rate = None if self._strain_rate is None else self._strain_rate.truncate(core.r)
        return ReducedSolid(core, self._mesh, self._fixed, provenance, parts, rate)

    @property
    def editable(self) -> bool:
        """True if `edit` can change the materials; see `reduce`."""
        return self._parts is not None

    @property
    def materials(self) -> dict[int, Material]:
        """Material of each region."""
        plain = self._provenance["solid"]["materials"]
        # files sort regions as texts, the core as numbers
        return {
            region: material_from_plain(plain[str(region)]) for region in sorted(map(int, plain))
        }

    def edit(self, materials: Mapping[int, Material]) -> ReducedSolid:
        """Return a copy of the model with other materials, without evaluating the mesh.

        Energy and mass are linear in lambda, mu and density of every region, so the new model is a
        weighted sum of parts that `reduce` stored (Barbic 2007, section 2.11), exact to rounding.
        The basis is unchanged: it is still adapted to the old materials, and is no longer
        mass-orthonormal if densities change by different factors. Strain-rate damping is
        unchanged, because phi and psi do not depend on the elastic constants.

        Parameters
        ----------
        materials
            New materials by region; other regions keep theirs. An `StVK` can be replaced by any
            `StVK`, a `LinearElastic` by one whose stiffness is a multiple of the old stiffness.

        Returns
        -------
        ReducedSolid
            An editable model.

        Raises
        ------
        InputError, InputTypeError
            The model is not editable, a region is unknown, a material is of another kind, or the
            densities of a free solid change by different factors (rigid motion and deformation
            would no longer be mass-orthogonal).
        """
        if self._parts is None:
            if self.cubature is not None:
                raise InputError("models with a cubature cannot be edited: reduce the solid again")
            raise InputError("this model is not editable; make it with reduce(..., editable=True)")
        if not isinstance(materials, Mapping):
            raise InputTypeError(
                f"materials must be a dict from region to material, got {type(materials).__name__}"
            )
        old = self.materials
        new = dict(old)
        for region, material in materials.items():
            if region not in old:
                known = ", ".join(map(str, old))
                raise InputError(f"materials has region {region!r}; the model has {known}")
            new[int(region)] = material
        made_with = self._provenance["parts_of"]
        constants = [
            _constants(region, material_from_plain(made_with[str(region)]), material)
            for region, material in new.items()
        ]
        solid = {**self._provenance["solid"]}
        ratios = [new[region].density / old[region].density for region in old]
        if solid["rigid_body"] is not None:
            if max(ratios) - min(ratios) > 1e-12 * max(ratios):
                raise InputError(
                    "materials changes the densities of a free solid by different factors, so its "
                    "basis would no longer be orthogonal to the rigid motions: reduce the solid "
                    "with the new materials"
                )
            body = from_plain(solid["rigid_body"])
            solid["rigid_body"] = to_plain(
                RigidBody(body.mass * ratios[0], body.centre, body.inertia * ratios[0])
            )
        core = self._parts.combine(self._core, constants)
        densities = np.array([one.density for one in new.values()])
        solid["total_mass"] = float(self._parts.volumes @ densities)
        solid["materials"] = {str(k): material_to_plain(one) for k, one in new.items()}
        provenance = {**self._provenance, "solid": solid}
        return ReducedSolid(
            core, self._mesh, self._fixed, provenance, self._parts, self._strain_rate
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file in the safetensors format; see `reducedfem.load`.

        The file is replaced only when the new one is complete; no partial file remains.

        Parameters
        ----------
        path
            Name of the file; ``.safetensors`` is added to a name without suffix, and the suffix
            of another format is refused.

        Raises
        ------
        FileFormatError
            The file cannot be written.
        """
        model_files.save(to_bytes(self), path)

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return from_bytes, (to_bytes(self),)

    @classmethod
    def _read(cls, stream: BinaryIO, size: int, name: str) -> ReducedSolid:
        return cls(*read(stream, size, name))

    def _card(self) -> CardContents:
        mesh, found = self._mesh, self.cubature
        surface, u = mesh.surface(), self.basis[0][mesh.boundary_nodes]
        largest = float(np.linalg.norm(u, axis=1).max())
        # displaced along the first shape by a tenth of the size
        u = u * (0.1 * float(np.linalg.norm(np.ptp(mesh.bounds, axis=0))) / max(largest, 1e-300))
        rows = [
            ("coordinates", f"{self.r}"),
            ("forces", "cubic polynomials" if found is None else f"{len(found.weights)} points"),
            ("mesh", repr(mesh).strip("<>").removeprefix("Mesh: ")),
            ("material", ", ".join(sorted({type(m).__name__ for m in self.materials.values()}))),
            ("fixed", f"{len(self._fixed)} nodes" if len(self._fixed) else "free body"),
            ("basis", str(self._provenance["basis"].get("method", "given vectors"))),
        ]
        place = place_on_scale(u, float(np.linalg.norm(u, axis=1).max()))
        return CardContents("ReducedSolid", rows, (surface.vertices + u, surface.triangles, place))

    def __repr__(self) -> str:
        return f"<ReducedSolid: r = {self.r}, {self._mesh.n_nodes} nodes>"


def to_bytes(model: ReducedSolid) -> bytes:
    """Return the contents of the file of a model; equal models give equal bytes."""
    return written(
        Contents(
            model._core,
            model._mesh,
            model._fixed,
            model._provenance,
            model._parts,
            model._strain_rate,
        )
    )


def from_bytes(data: bytes) -> ReducedSolid:
    """Return the model of a file's contents."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise InputTypeError(f"data must be bytes, got {type(data).__name__}")
    return ReducedSolid._read(io.BytesIO(data), memoryview(data).nbytes, "the data")


def same_motion(model: ReducedSolid, other: ReducedSolid) -> bool:
    """Return True if equal coordinates of two models are equal displacements."""
    if model is other:
        return True
    return model.r == other.r and np.array_equal(model.basis, other.basis)
