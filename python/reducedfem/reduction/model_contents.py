"""Parts of a reduced model, from and to the contents of its file (`io.model_files`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.base.check import number
from reducedfem.errors import ReducedFEMError
from reducedfem.geometry.mesh import Mesh
from reducedfem.geometry.surface import Surface
from reducedfem.io import model_files
from reducedfem.io.model_files import CONSTRAINTS, CUBATURE, DAMPING, PARTS, RULE, SURFACE
from reducedfem.io.tensors import Refused
from reducedfem.material.laws import LINEAR_LAW, STVK_LAW, LinearElastic
from reducedfem.material.laws import from_plain as material_from_plain
from reducedfem.reduction.cubature import errors_of
from reducedfem.reduction.reduced_damping import (
    MAX_DAMPING_R,
    ReducedStrainRateDamping,
    require_dissipative,
)
from reducedfem.solid.rigid import from_plain

__all__ = ["CUBATURE_LAW", "LAWS", "MAX_R", "Contents", "read", "written"]

MAX_R = 256  # RF_POLYNOMIAL_MAX_R in csrc/polynomial/polynomial.h
CUBATURE_LAW = "of each material, by cubature"
LAWS = (STVK_LAW, LINEAR_LAW, CUBATURE_LAW)


class Contents(NamedTuple):
    """The arguments of a `ReducedSolid`."""

    core: _core.Reduced
    mesh: Mesh
    fixed: NDArray[np.int32]
    provenance: Mapping[str, Any]
    parts: _core.ReducedParts | None
    strain_rate: ReducedStrainRateDamping | None


def written(model: Contents) -> bytes:
    """Return the contents of a model file; equal models give equal bytes."""
    mesh = model.mesh
    arrays: dict[str, NDArray[Any]] = {
        "basis": model.core.basis,
        "reduced_mass": model.core.mass,
        "mesh_nodes": mesh.nodes,
        "mesh_elements": mesh.elements,
        "mesh_regions": mesh.regions,
        "fixed_nodes": model.fixed,
    }
    if model.core.coefficients is not None:
        arrays["energy_coefficients"] = model.core.coefficients
    if model.core.cubature is not None:
        gradients, weights, points, linear = model.core.cubature
        if linear is None:
            linear = np.zeros((model.core.r, model.core.r))
        arrays.update(zip(CUBATURE, (gradients, weights, points, linear), strict=True))
    if model.parts is not None:
        arrays.update(zip(PARTS, model.parts.arrays(), strict=True))
    if mesh.source is not None:
        arrays.update(zip(SURFACE, (mesh.source.vertices, mesh.source.triangles), strict=True))
    if (rule := mesh._rule()) is not None:
        arrays.update(zip(RULE, rule, strict=True))
    if mesh.constraints is not None:
        arrays.update(zip(CONSTRAINTS, mesh.constraints._table(), strict=True))
    history = dict(model.provenance)
    solid, basis = history.pop("solid"), history.pop("basis")
    texts = {
        "law": solid["law"],
        "materials": solid["materials"],
        "quadrature": solid["quadrature"],
        "total_mass_kg": solid["total_mass"],
        "rigid_body": solid["rigid_body"],
        "basis": basis,
        "history": history,
    }
    rate = model.strain_rate
    if rate is not None:
        arrays[DAMPING] = rate.coefficients
        texts["strain_rate"] = {
            name: {str(region): value for region, value in by_region.items()}
            for name, by_region in (("phi", rate.phi), ("psi", rate.psi))
        }
    return model_files.write(arrays, texts)


def read(stream: BinaryIO, size: int, name: str) -> Contents:
    """Return what the model of an open file consists of, after checks of all contents."""
    return model_files.read(stream, size, name, (MAX_R, MAX_DAMPING_R), _assemble)


def _provenance(texts: dict[str, Any], regions: NDArray[np.int32], sampled: bool) -> dict[str, Any]:
    """Return the provenance of the model from untrusted texts."""
    if texts["law"] not in LAWS:
        raise Refused(f"its law is {texts['law'][:40]!r}; this version knows {LAWS}")
    if (texts["law"] == CUBATURE_LAW) != sampled:
        raise Refused(f"its law is {texts['law']!r}, which does not match its arrays")
    for region, material in texts["materials"].items():
        try:
            one = material_from_plain(material)
        except ReducedFEMError as error:
            raise Refused(f"the material of region {region!r}: {error}") from None
        if not (sampled or one.quadratic):
            raise Refused(f"region {region!r} is a {one.law}, whose energy is no polynomial")
    for region in np.unique(regions):
        if str(region) not in texts["materials"]:
            raise Refused(f"region {region} has no material")
    if texts["rigid_body"] is not None:
        try:
            from_plain(texts["rigid_body"])
        except ReducedFEMError as error:
            raise Refused(f"its rigid body is malformed: {error}") from None
    solid = {
        "law": texts["law"],
        "materials": texts["materials"],
        "quadrature": texts["quadrature"],
        "total_mass": texts["total_mass_kg"],
        "rigid_body": texts["rigid_body"],
    }
    return {"solid": solid, "basis": texts["basis"], **texts["history"]}


def _core_of(
    arrays: Mapping[str, NDArray[Any]], provenance: Mapping[str, Any], nodes: NDArray[np.float64]
) -> _core.Reduced:
    """Return the model of the core, with a polynomial or a cubature."""
    basis, mass = arrays["basis"], arrays["reduced_mass"]
    if CUBATURE[0] not in arrays:
        return _core.Reduced(basis, mass, arrays["energy_coefficients"], 0, nodes)
    errors_of(provenance.get("cubature"))
    plain = provenance["solid"]["materials"]
    materials = [material_from_plain(plain[region]) for region in sorted(plain, key=int)]
    table = [(one.law, one.parameters, one.density) for one in materials]
    gradients, weights, points, given = (arrays[name] for name in CUBATURE)
    linear = given if given.any() else None
    return _core.sampled(basis, mass, gradients, weights, points, table, linear, nodes)


def _check_parts(provenance: Mapping[str, Any], general: NDArray[np.int32]) -> None:
    """Refuse parts that do not match the materials."""
    made_with, now = provenance.get("parts_of"), provenance["solid"]["materials"]
    if not isinstance(made_with, dict) or set(made_with) != set(now):
        raise Refused("its entry 'parts_of' is missing")
    kinds = [
        isinstance(material_from_plain(made_with[region]), LinearElastic)
        for region in sorted(made_with, key=int)
    ]
    if kinds != general.astype(bool).tolist():
        raise Refused("its editable parts do not match its materials")


def _damping(
    viscosities: Mapping[str, Mapping[str, Any]], arrays: Mapping[str, NDArray[Any]]
) -> ReducedStrainRateDamping:
    found = []
    for name in ("phi", "psi"):
        by_region = viscosities[name]
        regions = sorted(by_region, key=int)
        try:
            found.append({int(one): number(by_region[one], f"{name}[{one}]") for one in regions})
        except ReducedFEMError as error:
            raise Refused(f"its damping is malformed: {error}") from None
    phi, psi = found
    for region in phi:
        require_dissipative(phi[region], psi[region], region)
    core = _core.Damping(int(arrays["basis"].shape[0]), arrays[DAMPING])
    return ReducedStrainRateDamping(core, phi, psi)


def _assemble(texts: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Contents:
    """Return what the model consists of; the core checks the values."""
    provenance = _provenance(texts, arrays["mesh_regions"], CUBATURE[0] in arrays)
    if (texts["quadrature"] == 1) != (arrays["mesh_elements"].shape[1] == 4):
        raise Refused("its elements have no such quadrature")
    fixed = arrays["fixed_nodes"]
    fixed.flags.writeable = False
    try:
        ties = [arrays[name] for name in CONSTRAINTS if name in arrays]
        mesh = Mesh(
            arrays["mesh_nodes"],
            arrays["mesh_elements"],
            arrays["mesh_regions"],
            constraints=tuple(ties) or None,
        )
        if SURFACE[0] in arrays:
            mesh._source = Surface(*(arrays[name] for name in SURFACE))
        if RULE[0] in arrays:
            counts, points, weights, products = (arrays[name] for name in RULE)
            mesh._cut_as((counts, points, weights, products))
        core = _core_of(arrays, provenance, mesh.nodes)
        parts = None
        if "part_volumes" in arrays:
            _check_parts(provenance, arrays["part_general"])
            coefficients, general, volumes, masses = (arrays[name] for name in PARTS)
            parts = _core.ReducedParts(coefficients, general, volumes, masses)
        rate = _damping(texts["strain_rate"], arrays) if "strain_rate" in texts else None
        return Contents(core, mesh, fixed, provenance, parts, rate)
    except ReducedFEMError as error:
        raise Refused(f"it is damaged: {error}") from None
