"""Model files: reduced models in the safetensors format.

A model file is a plain safetensors file (8 bytes of header length, a JSON header, raw
little-endian arrays) that other programs can read; nothing in it is executed.

Arrays, with r coordinates, n nodes and e elements:

=======================  ===  =======================================================
``basis``                F64  (r, n, 3): U as fields over the nodes
``reduced_mass``         F64  (r, r): U^T M U
``energy_coefficients``  F64  (C(r+4, 4),): t_ijkl, i <= j <= k <= l, lexicographic, of
                              W(q) = sum t_ijkl p_i p_j p_k p_l with p = (1, q)
``mesh_nodes``           F64  (n, 3): rest positions
``part_coefficients``    F64  (m, 2, C(r+4, 4)): the same by region, for lambda = 1 and for
                              mu = 1; for a general material one set, then zeros
``part_volumes``         F64  (m,): volume of each region
``part_masses``          F64  (m, r, r): U^T M U of each region at density 1
``damping_coefficients`` F64  (k (k + 1) / 2,), k = r + r (r + 1) / 2: Gram matrix of strains
                              of the strain-rate damping, lower triangle over the pairs
                              (0, b), then (a, b), 1 <= a <= b <= r
``surface_vertices``     F64  (v, 3): the surface from which the mesh was made
``rule_points``          F64  (p, 3): quadrature points of cut elements, local coordinates
``rule_weights``         F64  (p,): their weights; the sum is 8 times the filled fraction
``rule_products``        F64  (c, k (k + 1) / 2): integrals of N_a N_b over the filled part in
                              local coordinates, upper triangle, k nodes, c cut elements
``mesh_elements``        I32  (e, 4), (e, 8), (e, 10) or (e, 20): nodes of each element in
                              VTK order
``mesh_regions``         I32  (e,): region of each element
``fixed_nodes``          I32  (f,): fixed nodes, ascending
``surface_triangles``    I32  (t, 3): triangles of the surface
``part_general``         I32  (m,): 1 for a general material, else 0
``rule_counts``          I32  (e,): number of quadrature points of each cut element, else 0
=======================  ===  =======================================================

The arrays ``part_*`` are present if the model is editable, ``rule_*`` if elements are cut,
``damping_coefficients`` with strain-rate damping, ``surface_*`` if the mesh has a source surface.

Metadata, all texts, with structured values in JSON:

``format`` (always ``reducedfem-model``), ``format_version``, ``package_version``, ``units``,
``law``, ``materials`` (by region), ``quadrature``, ``total_mass_kg``, ``rigid_body`` (mass,
centre and inertia of a solid without fixed nodes, else null), ``basis`` (its provenance),
``history`` (later changes of the model), ``counts``, with strain-rate damping also
``strain_rate`` (its viscosities ``phi`` and ``psi`` by region, Pa s), and ``sha256``: the digest
of ``{"arrays": {name: [dtype, shape]}, "metadata": {the other entries}}``, as JSON with sorted
keys, without blanks and in ASCII, followed by the arrays in the order of the table. The digest
detects changed contents and is independent of the arrangement of the file.

``format_version`` is the lowest version with all features of the file: 3 with a surface, cut
elements or elements of 20 nodes, 2 with strain-rate damping or elements of ten nodes, else 1.
Earlier versions of the package refuse only files with features that they lack.
"""

from __future__ import annotations

import io
import math
import os
import re
from collections.abc import Collection, Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.base.check import number, require
from reducedfem.errors import InputTypeError, ReducedFEMError
from reducedfem.geometry.mesh import Mesh
from reducedfem.geometry.surface import Surface
from reducedfem.io import tensors
from reducedfem.io.atomic import replacing, with_suffix
from reducedfem.io.tensors import Refused as _Refused
from reducedfem.material.laws import LINEAR_LAW, STVK_LAW, LinearElastic
from reducedfem.material.laws import from_plain as material_from_plain
from reducedfem.reduction.reduced import MAX_R, ReducedSolid
from reducedfem.reduction.reduced_damping import (
    MAX_DAMPING_R,
    ReducedStrainRateDamping,
    require_dissipative,
)
from reducedfem.solid.rigid import from_plain

__all__ = ["from_bytes", "load", "read", "save", "to_bytes"]

FORMAT = "reducedfem-model"
FORMAT_VERSION = 3
UNITS = (
    "SI; reduced coordinates of a mass-orthonormal basis in kg^(1/2) m, "
    "reduced forces in N kg^(-1/2)"
)
LAWS = (STVK_LAW, LINEAR_LAW)

# wider numbers first, which keeps each array aligned
_SCHEMA = {
    "basis": "F64",
    "reduced_mass": "F64",
    "energy_coefficients": "F64",
    "mesh_nodes": "F64",
    "part_coefficients": "F64",
    "part_volumes": "F64",
    "part_masses": "F64",
    "damping_coefficients": "F64",
    "surface_vertices": "F64",
    "rule_points": "F64",
    "rule_weights": "F64",
    "rule_products": "F64",
    "mesh_elements": "I32",
    "mesh_regions": "I32",
    "fixed_nodes": "I32",
    "part_general": "I32",
    "surface_triangles": "I32",
    "rule_counts": "I32",
}
# in files of editable models: all or none
_PARTS = ("part_coefficients", "part_general", "part_volumes", "part_masses")
# in files of models with cut elements: all or none
_RULE = ("rule_counts", "rule_points", "rule_weights", "rule_products")
# in files of models with strain-rate damping
_DAMPING = "damping_coefficients"
# in files of models whose mesh was made from a surface: both or none
_SURFACE = ("surface_vertices", "surface_triangles")
_TEXTS = (
    "package_version",
    "units",
    "law",
    "materials",
    "quadrature",
    "total_mass_kg",
    "rigid_body",
    "basis",
    "history",
    "counts",
    "sha256",
)


# --- writing -----------------------------------------------------------------------


def _schema(names: Collection[str]) -> dict[str, str]:
    """Return names and types of the arrays that must accompany the given names."""
    absent = {
        name for group in (_PARTS, _SURFACE, _RULE) if not set(group) & set(names) for name in group
    }
    if _DAMPING not in names:
        absent.add(_DAMPING)
    return {name: dtype for name, dtype in _SCHEMA.items() if name not in absent}


def _version(arrays: Mapping[str, NDArray[Any]]) -> int:
    """Return the lowest format version that contains these arrays."""
    nodes = arrays["mesh_elements"].shape[1]
    if nodes == 20 or _SURFACE[0] in arrays or _RULE[0] in arrays:
        return 3
    return 2 if _DAMPING in arrays or nodes == 10 else 1


_LAYOUT = tensors.Layout(FORMAT, FORMAT_VERSION, "model", _schema, _TEXTS)


def to_bytes(model: ReducedSolid) -> bytes:
    """Return the contents of a model file; equal models give equal bytes.

    Parameters
    ----------
    model
        The model.

    Returns
    -------
    bytes
        Contents of the file that `save` writes.

    Raises
    ------
    InputTypeError
        `model` is not a ReducedSolid.
    """
    require(model, ReducedSolid, "model")
    mesh = model.mesh
    arrays: dict[str, NDArray[Any]] = {
        "basis": model.basis,
        "reduced_mass": model.mass,
        "energy_coefficients": model.coefficients,
        "mesh_nodes": mesh.nodes,
        "mesh_elements": mesh.elements,
        "mesh_regions": mesh.regions,
        "fixed_nodes": model.fixed,
    }
    if model._parts is not None:
        arrays.update(zip(_PARTS, model._parts.arrays(), strict=True))
    if mesh.source is not None:
        arrays.update(zip(_SURFACE, (mesh.source.vertices, mesh.source.triangles), strict=True))
    if (rule := mesh._rule()) is not None:
        arrays.update(zip(_RULE, rule, strict=True))
    rate = model.strain_rate
    if rate is not None:
        arrays[_DAMPING] = rate.coefficients
    provenance = dict(model.provenance)
    solid, basis = provenance.pop("solid"), provenance.pop("basis")
    metadata = {
        "units": UNITS,
        "law": solid["law"],
        "materials": tensors.json_text(_LAYOUT, solid["materials"]),
        "quadrature": tensors.json_text(_LAYOUT, solid["quadrature"]),
        "total_mass_kg": tensors.json_text(_LAYOUT, solid["total_mass"]),
        "rigid_body": tensors.json_text(_LAYOUT, solid["rigid_body"]),
        "basis": tensors.json_text(_LAYOUT, basis),
        "history": tensors.json_text(_LAYOUT, provenance),
        "counts": tensors.json_text(
            _LAYOUT, _counts({name: array.shape for name, array in arrays.items()})
        ),
    }
    if rate is not None:
        metadata["strain_rate"] = tensors.json_text(
            _LAYOUT,
            {
                name: {str(region): value for region, value in by_region.items()}
                for name, by_region in (("phi", rate.phi), ("psi", rate.psi))
            },
        )
    return tensors.write(_LAYOUT, arrays, metadata, _version(arrays))


def save(model: ReducedSolid, path: str | os.PathLike[str]) -> None:
    """Write a model to a file; replace an existing file only when the new one is complete.

    Parameters
    ----------
    model
        The model.
    path
        Name of the file; ``.safetensors`` is added to a name without suffix, and the suffix of
        another format is refused.

    Raises
    ------
    FileFormatError
        The file cannot be written.
    InputTypeError
        `model` is not a ReducedSolid.
    """
    data = to_bytes(model)
    with replacing(with_suffix(path, ".safetensors", "a model")) as temporary:
        temporary.write_bytes(data)


# --- reading -----------------------------------------------------------------------


def load(path: str | os.PathLike[str]) -> ReducedSolid:
    """Read a reduced model from a file written by `ReducedSolid.save`.

    All contents are checked before use; nothing in the file is executed.

    Parameters
    ----------
    path
        Name of the file.

    Returns
    -------
    ReducedSolid
        Model that is bitwise equal to the saved one, including strain-rate damping. Region names
        and `Mesh.original_nodes` of its mesh are not stored.

    Raises
    ------
    FileFormatError
        The file is missing, unreadable, truncated, damaged, of another kind, or made by a
        newer version of the package; the message says which.
    """
    return tensors.load(path, read)


def from_bytes(data: bytes) -> ReducedSolid:
    """Return the model whose file contents are given; the inverse of `to_bytes`.

    Parameters
    ----------
    data
        Contents of a model file.

    Returns
    -------
    ReducedSolid

    Raises
    ------
    FileFormatError
        The bytes are not those of a model file.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise InputTypeError(f"data must be bytes, got {type(data).__name__}")
    return read(io.BytesIO(data), memoryview(data).nbytes, "the data")


def read(stream: BinaryIO, size: int, name: str) -> ReducedSolid:
    """Return the model of an open file after checking all its contents."""
    return tensors.read(_LAYOUT, stream, size, name, _check_shapes, _assemble)


def _check_shapes(shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse arrays whose shapes do not match."""
    if len(shapes["basis"]) != 3 or shapes["basis"][0] > MAX_R:
        raise _Refused(
            f"'basis' has shape {shapes['basis']}; it must be (r, n, 3), r up to {MAX_R}"
        )
    r, n, _ = shapes["basis"]
    elements = shapes["mesh_elements"]
    if len(elements) != 2 or elements[1] not in (4, 8, 10, 20):
        raise _Refused(
            f"'mesh_elements' has shape {elements}; it must be (e, 4), (e, 8), (e, 10) or (e, 20)"
        )
    if len(shapes["fixed_nodes"]) != 1:
        raise _Refused(f"'fixed_nodes' has shape {shapes['fixed_nodes']}; it must be (f,)")
    expected: dict[str, tuple[int, ...]] = {
        "basis": (r, n, 3),
        "reduced_mass": (r, r),
        "energy_coefficients": (math.comb(r + 4, 4),),
        "mesh_nodes": (n, 3),
        "mesh_regions": elements[:1],
    }
    if "part_volumes" in shapes:
        m = shapes["part_volumes"][:1]
        expected |= {
            "part_volumes": m,
            "part_coefficients": (*m, 2, math.comb(r + 4, 4)),
            "part_masses": (*m, r, r),
            "part_general": m,
        }
    if _RULE[0] in shapes:
        points, products = shapes["rule_weights"][:1], shapes["rule_products"][:1]
        expected |= {
            "rule_counts": elements[:1],
            "rule_points": (*points, 3),
            "rule_weights": points,
            "rule_products": (*products, elements[1] * (elements[1] + 1) // 2),
        }
    if _DAMPING in shapes:
        if r > MAX_DAMPING_R:
            raise _Refused(f"it has damping of {r} coordinates; {MAX_DAMPING_R} are possible")
        pairs = r + r * (r + 1) // 2
        expected[_DAMPING] = (pairs * (pairs + 1) // 2,)
    if _SURFACE[0] in shapes:
        expected |= {name: (*shapes[name][:1], 3) for name in _SURFACE}
    for name, shape in expected.items():
        if shapes[name] != shape:
            raise _Refused(f"{name!r} has shape {shapes[name]}; it must be {shape} here")


def _counts(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    return {name: shapes[name][0] for name in _SURFACE if name in shapes} | {
        "reduced_coordinates": shapes["basis"][0],
        "nodes": shapes["mesh_nodes"][0],
        "elements": shapes["mesh_elements"][0],
        "nodes_per_element": shapes["mesh_elements"][1],
        "fixed_nodes": shapes["fixed_nodes"][0],
    }


def _provenance(metadata: Mapping[str, str], regions: NDArray[np.int32]) -> dict[str, Any]:
    """Return the provenance of the model from untrusted metadata."""
    parsed = {}
    for key in ("materials", "quadrature", "total_mass_kg", "rigid_body", "basis", "history"):
        parsed[key] = tensors.parse(metadata[key], f"its entry {key!r}")
        tensors.require_finite(parsed[key], f"its entry {key!r}")
    if metadata["law"] not in LAWS:
        raise _Refused(f"its law is {metadata['law'][:40]!r}; this version knows {LAWS}")
    materials, mass, basis = (parsed[key] for key in ("materials", "total_mass_kg", "basis"))
    if not isinstance(materials, dict) or not all(isinstance(m, dict) for m in materials.values()):
        raise _Refused("its materials are malformed")
    for region, material in materials.items():
        if not (re.fullmatch("-?[0-9]{1,10}", region) and str(int(region)) == region):
            raise _Refused(f"its materials have a region {region[:20]!r}, which is no number")
        try:
            material_from_plain(material)
        except ReducedFEMError as error:
            raise _Refused(f"the material of region {region[:20]!r}: {error}") from None
    for region in np.unique(regions):
        if str(region) not in materials:
            raise _Refused(f"region {region} has no material")
    if type(parsed["quadrature"]) is not int or parsed["quadrature"] not in (1, 2, 3, 4):
        raise _Refused("its quadrature is not 1, 2, 3 or 4")
    if isinstance(mass, bool) or not isinstance(mass, int | float) or not mass > 0:
        raise _Refused("its total mass is not a positive number")
    if parsed["rigid_body"] is not None:
        try:
            from_plain(parsed["rigid_body"])
        except ReducedFEMError as error:
            raise _Refused(f"its rigid body is malformed: {error}") from None
    if not isinstance(basis, dict) or not isinstance(basis.get("method"), str):
        raise _Refused("it does not say how its basis was made")
    history = parsed["history"]
    if not isinstance(history, dict) or {"solid", "basis"} & set(history):
        raise _Refused("its history is malformed")
    solid = {
        "law": metadata["law"],
        "materials": materials,
        "quadrature": parsed["quadrature"],
        "total_mass": mass,
        "rigid_body": parsed["rigid_body"],
    }
    return {"solid": solid, "basis": basis, **history}


def _check_parts(provenance: Mapping[str, Any], general: NDArray[np.int32]) -> None:
    """Refuse parts that do not match the materials."""
    made_with, now = provenance.get("parts_of"), provenance["solid"]["materials"]
    if not isinstance(made_with, dict) or set(made_with) != set(now):
        raise _Refused("it does not say what materials its parts were made with")
    kinds = [
        isinstance(material_from_plain(made_with[region]), LinearElastic)
        for region in sorted(made_with, key=int)
    ]
    if kinds != general.astype(bool).tolist():
        raise _Refused("its parts are not those of its materials")


def _viscosities(text: str, materials: Mapping[str, Any]) -> tuple[dict[int, float], ...]:
    """Return phi and psi by region from an untrusted text."""
    parsed = tensors.parse(text, "its entry 'strain_rate'")
    if not isinstance(parsed, dict) or set(parsed) != {"phi", "psi"}:
        raise _Refused("its entry 'strain_rate' does not hold phi and psi")
    regions = sorted(materials, key=int)
    found = []
    for name in ("phi", "psi"):
        values = parsed[name]
        if not isinstance(values, dict) or set(values) != set(regions):
            raise _Refused(f"its {name} are not those of its regions")
        try:
            found.append({int(one): number(values[one], f"{name}[{one}]") for one in regions})
        except ReducedFEMError as error:
            raise _Refused(f"its damping is malformed: {error}") from None
    return tuple(found)


def _damping(
    metadata: Mapping[str, str], arrays: Mapping[str, NDArray[Any]], provenance: Mapping[str, Any]
) -> ReducedStrainRateDamping | None:
    """Return the strain-rate damping, or None."""
    if (_DAMPING in arrays) != ("strain_rate" in metadata):
        raise _Refused(f"{_DAMPING!r} and its entry 'strain_rate' belong together: one is missing")
    if _DAMPING not in arrays:
        return None
    phi, psi = _viscosities(metadata["strain_rate"], provenance["solid"]["materials"])
    for region in phi:
        require_dissipative(phi[region], psi[region], region)
    core = _core.Damping(int(arrays["basis"].shape[0]), arrays[_DAMPING])
    return ReducedStrainRateDamping(core, phi, psi)


def _assemble(metadata: Mapping[str, str], arrays: Mapping[str, NDArray[Any]]) -> ReducedSolid:
    """Build the model; the core checks the values."""
    shapes = {name: array.shape for name, array in arrays.items()}
    if tensors.parse(metadata["counts"], "its entry 'counts'") != _counts(shapes):
        raise _Refused("its counts are not those of its arrays")
    fixed = arrays["fixed_nodes"]
    if int(metadata["format_version"]) < _version(arrays):
        raise _Refused("it has what its format version does not know")
    inside = (fixed >= 0) & (fixed < shapes["mesh_nodes"][0])
    if not (inside.all() and (np.diff(fixed.astype(np.int64)) > 0).all()):
        raise _Refused("its fixed nodes are not ascending node indices")
    if arrays["basis"][:, fixed].any():
        raise _Refused("its basis moves a fixed node")
    fixed.flags.writeable = False
    provenance = _provenance(metadata, arrays["mesh_regions"])
    if (provenance["solid"]["quadrature"] == 1) != (shapes["mesh_elements"][1] == 4):
        raise _Refused("its quadrature is not that of its elements")
    try:
        mesh = Mesh(arrays["mesh_nodes"], arrays["mesh_elements"], arrays["mesh_regions"])
        if _SURFACE[0] in arrays:
            mesh._source = Surface(*(arrays[name] for name in _SURFACE))
        if _RULE[0] in arrays:
            counts, points, weights, products = (arrays[name] for name in _RULE)
            mesh._cut_as((counts, points, weights, products))
        energy = arrays["energy_coefficients"]
        core = _core.Reduced(arrays["basis"], arrays["reduced_mass"], energy, 0, mesh.nodes)
        parts = None
        if "part_volumes" in arrays:
            _check_parts(provenance, arrays["part_general"])
            coefficients, general, volumes, masses = (arrays[name] for name in _PARTS)
            parts = _core.ReducedParts(coefficients, general, volumes, masses)
        rate = _damping(metadata, arrays, provenance)
        return ReducedSolid(core, mesh, fixed, provenance, parts, rate)
    except ReducedFEMError as error:
        raise _Refused(f"it is damaged: {error}") from None
