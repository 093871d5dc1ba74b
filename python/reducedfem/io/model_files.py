"""Model files: reduced models in the safetensors format.

A model file is a plain safetensors file (8 bytes of header length, a JSON header, raw
little-endian arrays) that other programs can read; nothing in it is executed. Its arrays, with r
coordinates, n nodes and e elements:

=======================  ===  =======================================================
``basis``                F64  (r, n, 3): U as fields over the nodes
``reduced_mass``         F64  (r, r): U^T M U
``energy_coefficients``  F64  (C(r+4, 4),): t_ijkl, i <= j <= k <= l, lexicographic, of
                              W(q) = sum t_ijkl p_i p_j p_k p_l with p = (1, q)
``cubature_gradients``   F64  (p, 9, r): gradients of the basis at the points of the cubature
``cubature_weights``     F64  (p,): weights of the points, m^3
``cubature_linear``      F64  (r, r): constant stiffness that is added, of the penalty of cut cells
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
``constraint_weights``   F64  (m,): weights of the masters of constrained nodes
``mesh_elements``        I32  (e, 4), (e, 8), (e, 10) or (e, 20): nodes of each element in
                              VTK order
``mesh_regions``         I32  (e,): region of each element
``fixed_nodes``          I32  (f,): fixed nodes, ascending
``surface_triangles``    I32  (t, 3): triangles of the surface
``part_general``         I32  (m,): 1 for a general material, else 0
``cubature_materials``   I32  (p,): material of each point, by index in ascending regions
``rule_counts``          I32  (e,): number of quadrature points of each cut element, else 0
``constraint_slaves``    I32  (k,): constrained nodes, ascending
``constraint_ptr``       I32  (k + 1,): offsets of their masters
``constraint_masters``   I32  (m,): nodes that they follow
=======================  ===  =======================================================

A model has ``energy_coefficients`` or the arrays ``cubature_*``. Present are ``part_*`` if it is
editable, ``rule_*`` if elements are cut, ``constraint_*`` if nodes are constrained, ``surface_*``
with a source surface, ``damping_coefficients`` with strain-rate damping.

Metadata, all texts, with structured values in JSON:

``format`` (always ``reducedfem-model``), ``format_version``, ``package_version``, ``units``,
``law``, ``materials`` (by region), ``quadrature``, ``total_mass_kg``, ``rigid_body`` (mass,
centre and inertia of a solid without fixed nodes, else null), ``basis`` (its provenance),
``history`` (later changes of the model), ``counts``, with strain-rate damping also
``strain_rate`` (its viscosities ``phi`` and ``psi`` by region, Pa s), and ``sha256``: the digest
of ``{"arrays": {name: [dtype, shape]}, "metadata": {the other entries}}``, as JSON with sorted
keys, without blanks and in ASCII, then the arrays in the order of the table, so that it does not
depend on the arrangement of the file.

``format_version`` is the lowest version with all features of the file: 5 with constrained nodes, 4
with a cubature, 3 with a surface, cut elements or elements of 20 nodes, 2 with strain-rate damping
or elements of ten nodes, else 1. Earlier versions refuse only files with features that they lack.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from reducedfem.io import tensors
from reducedfem.io.atomic import replacing, with_suffix
from reducedfem.io.tensors import Refused

__all__ = [
    "CUBATURE",
    "DAMPING",
    "FORMAT",
    "PARTS",
    "RULE",
    "SURFACE",
    "read",
    "save",
    "write",
]

_Model = TypeVar("_Model")

FORMAT = "reducedfem-model"
FORMAT_VERSION = 5
UNITS = (
    "SI; reduced coordinates of a mass-orthonormal basis in kg^(1/2) m, "
    "reduced forces in N kg^(-1/2)"
)

# wider numbers first, which keeps each array aligned
SCHEMA = {
    "basis": "F64",
    "reduced_mass": "F64",
    "energy_coefficients": "F64",
    "cubature_gradients": "F64",
    "cubature_weights": "F64",
    "cubature_linear": "F64",
    "mesh_nodes": "F64",
    "part_coefficients": "F64",
    "part_volumes": "F64",
    "part_masses": "F64",
    "damping_coefficients": "F64",
    "surface_vertices": "F64",
    "rule_points": "F64",
    "rule_weights": "F64",
    "rule_products": "F64",
    "constraint_weights": "F64",
    "mesh_elements": "I32",
    "mesh_regions": "I32",
    "fixed_nodes": "I32",
    "part_general": "I32",
    "surface_triangles": "I32",
    "rule_counts": "I32",
    "cubature_materials": "I32",
    "constraint_slaves": "I32",
    "constraint_ptr": "I32",
    "constraint_masters": "I32",
}
# in files of editable models: all or none
PARTS = ("part_coefficients", "part_general", "part_volumes", "part_masses")
# in files of models with a cubature: all or none, in place of the polynomial
CUBATURE = (
    "cubature_gradients",
    "cubature_weights",
    "cubature_materials",
    "cubature_linear",
)
POLYNOMIAL = "energy_coefficients"
# in files of models with cut elements: all or none
RULE = ("rule_counts", "rule_points", "rule_weights", "rule_products")
# in files of models with constrained nodes: all or none
CONSTRAINTS = (
    "constraint_slaves",
    "constraint_ptr",
    "constraint_masters",
    "constraint_weights",
)
# in files of models with strain-rate damping
DAMPING = "damping_coefficients"
# in files of models whose mesh was made from a surface: both or none
SURFACE = ("surface_vertices", "surface_triangles")
# arrays of one dimension whose length gives that of others
_LISTS = (
    "fixed_nodes",
    "cubature_weights",
    "part_volumes",
    "rule_weights",
    "constraint_slaves",
    "constraint_weights",
)
TEXTS = (
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
        name
        for group in (PARTS, SURFACE, RULE, CUBATURE, CONSTRAINTS)
        if not set(group) & set(names)
        for name in group
    }
    if DAMPING not in names:
        absent.add(DAMPING)
    if set(CUBATURE) & set(names):
        absent.add(POLYNOMIAL)
    return {name: dtype for name, dtype in SCHEMA.items() if name not in absent}


def _version(arrays: Mapping[str, NDArray[Any]]) -> int:
    """Return the lowest format version that contains these arrays."""
    nodes = arrays["mesh_elements"].shape[1]
    if CONSTRAINTS[0] in arrays:
        return 5
    if CUBATURE[0] in arrays:
        return 4
    if nodes == 20 or SURFACE[0] in arrays or RULE[0] in arrays:
        return 3
    return 2 if DAMPING in arrays or nodes == 10 else 1


LAYOUT = tensors.Layout(FORMAT, FORMAT_VERSION, "model", _schema, TEXTS)


def write(arrays: Mapping[str, NDArray[Any]], texts: Mapping[str, object]) -> bytes:
    """Return the contents of a file; equal arrays and texts give equal bytes.

    Structured texts are plain data, which is written as JSON.
    """
    entries: dict[str, object] = {
        **texts,
        "counts": _counts({k: a.shape for k, a in arrays.items()}),
    }
    plain = {"units": UNITS} | {
        key: value if isinstance(value, str) else tensors.json_text(LAYOUT, value)
        for key, value in entries.items()
    }
    return tensors.write(LAYOUT, arrays, plain, _version(arrays))


def save(data: bytes, path: str | os.PathLike[str]) -> None:
    """Write the contents of a file; replace an existing one only when the new one is complete."""
    with replacing(with_suffix(path, ".safetensors", "a model")) as temporary:
        temporary.write_bytes(data)


# --- reading -----------------------------------------------------------------------


def read(
    stream: BinaryIO,
    size: int,
    name: str,
    most: tuple[int, int],
    make: Callable[[dict[str, Any], Mapping[str, NDArray[Any]]], _Model],
) -> _Model:
    """Return ``make(texts, arrays)`` of an open file after checks of all its contents.

    `most` is the largest number of coordinates, and that with damping. Structured texts are
    plain data in the argument of `make`, which may raise `tensors.Refused`.
    """

    def assemble(metadata: Mapping[str, str], arrays: Mapping[str, NDArray[Any]]) -> _Model:
        _check_indices(metadata, arrays)
        return make(_parsed(metadata), arrays)

    return tensors.read(LAYOUT, stream, size, name, partial(_check_shapes, most), assemble)


def _check_shapes(most: tuple[int, int], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse arrays whose shapes do not match."""
    if len(shapes["basis"]) != 3 or shapes["basis"][0] > most[0]:
        raise Refused(
            f"'basis' has shape {shapes['basis']}; it must be (r, n, 3), r up to {most[0]}"
        )
    r, n, _ = shapes["basis"]
    elements = shapes["mesh_elements"]
    if len(elements) != 2 or elements[1] not in (4, 8, 10, 20):
        raise Refused(
            f"'mesh_elements' has shape {elements}; it must be (e, 4), (e, 8), (e, 10) or (e, 20)"
        )
    for name in _LISTS:
        if len(shapes.get(name, (0,))) != 1:
            raise Refused(f"{name!r} has shape {shapes[name]}; it must have one dimension")
    expected: dict[str, tuple[int, ...]] = {
        "basis": (r, n, 3),
        "reduced_mass": (r, r),
        "mesh_nodes": (n, 3),
        "mesh_regions": elements[:1],
    }
    if CUBATURE[0] in shapes:
        points = shapes["cubature_weights"][:1]
        expected |= {
            "cubature_gradients": (*points, 9, r),
            "cubature_weights": points,
            "cubature_materials": points,
            "cubature_linear": (r, r),
        }
        if PARTS[0] in shapes:
            raise Refused("it has a cubature and editable parts, which exclude each other")
    else:
        expected[POLYNOMIAL] = (math.comb(r + 4, 4),)
    if "part_volumes" in shapes:
        m = shapes["part_volumes"][:1]
        expected |= {
            "part_volumes": m,
            "part_coefficients": (*m, 2, math.comb(r + 4, 4)),
            "part_masses": (*m, r, r),
            "part_general": m,
        }
    if RULE[0] in shapes:
        points, products = shapes["rule_weights"][:1], shapes["rule_products"][:1]
        expected |= {
            "rule_counts": elements[:1],
            "rule_points": (*points, 3),
            "rule_weights": points,
            "rule_products": (*products, elements[1] * (elements[1] + 1) // 2),
        }
    if CONSTRAINTS[0] in shapes:
        expected |= {
            "constraint_ptr": (shapes["constraint_slaves"][0] + 1,),
            "constraint_masters": shapes["constraint_weights"][:1],
        }
    if DAMPING in shapes:
        if r > most[1]:
            raise Refused(f"it has damping of {r} coordinates; {most[1]} are possible")
        pairs = r + r * (r + 1) // 2
        expected[DAMPING] = (pairs * (pairs + 1) // 2,)
    if SURFACE[0] in shapes:
        expected |= {name: (*shapes[name][:1], 3) for name in SURFACE}
    for name, shape in expected.items():
        if shapes[name] != shape:
            raise Refused(f"{name!r} has shape {shapes[name]}; it must be {shape} here")


def _counts(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    return {name: shapes[name][0] for name in SURFACE if name in shapes} | {
        "reduced_coordinates": shapes["basis"][0],
        "nodes": shapes["mesh_nodes"][0],
        "elements": shapes["mesh_elements"][0],
        "nodes_per_element": shapes["mesh_elements"][1],
        "fixed_nodes": shapes["fixed_nodes"][0],
    }


def _check_indices(metadata: Mapping[str, str], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Refuse counts and indices that do not match the arrays."""
    shapes = {name: array.shape for name, array in arrays.items()}
    if tensors.parse(metadata["counts"], "its entry 'counts'") != _counts(shapes):
        raise Refused("its entry 'counts' does not match its arrays")
    if int(metadata["format_version"]) < _version(arrays):
        raise Refused("it has entries that its format version does not define")
    fixed = arrays["fixed_nodes"]
    inside = (fixed >= 0) & (fixed < shapes["mesh_nodes"][0])
    if not (inside.all() and (np.diff(fixed.astype(np.int64)) > 0).all()):
        raise Refused("its fixed nodes are not ascending node indices")
    if arrays["basis"][:, fixed].any():
        raise Refused("its basis moves a fixed node")
    if (DAMPING in arrays) != ("strain_rate" in metadata):
        raise Refused(f"{DAMPING!r} and its entry 'strain_rate' belong together: one is missing")


def _parsed(metadata: Mapping[str, str]) -> dict[str, Any]:
    """Return the texts of the model from untrusted metadata, structured ones as plain data."""
    parsed: dict[str, Any] = {"law": metadata["law"]}
    for key in ("materials", "quadrature", "total_mass_kg", "rigid_body", "basis", "history"):
        parsed[key] = tensors.parse(metadata[key], f"its entry {key!r}")
        tensors.require_finite(parsed[key], f"its entry {key!r}")
    materials, mass, basis = (parsed[key] for key in ("materials", "total_mass_kg", "basis"))
    if not isinstance(materials, dict) or not all(isinstance(m, dict) for m in materials.values()):
        raise Refused("its materials are malformed")
    for region in materials:
        if not (re.fullmatch("-?[0-9]{1,10}", region) and str(int(region)) == region):
            raise Refused(f"its materials have a region {region[:20]!r}, which is not an integer")
    if type(parsed["quadrature"]) is not int or parsed["quadrature"] not in (1, 2, 3, 4):
        raise Refused("its quadrature is not 1, 2, 3 or 4")
    if isinstance(mass, bool) or not isinstance(mass, int | float) or not mass > 0:
        raise Refused("its total mass is not a positive number")
    if not isinstance(basis, dict) or not isinstance(basis.get("method"), str):
        raise Refused("its provenance lacks the method of its basis")
    history = parsed["history"]
    if not isinstance(history, dict) or {"solid", "basis"} & set(history):
        raise Refused("its history is malformed")
    if "strain_rate" in metadata:
        parsed["strain_rate"] = _viscosities(metadata["strain_rate"], sorted(materials, key=int))
    return parsed


def _viscosities(text: str, regions: list[str]) -> dict[str, dict[str, Any]]:
    """Return phi and psi by region from an untrusted text."""
    parsed = tensors.parse(text, "its entry 'strain_rate'")
    if not isinstance(parsed, dict) or set(parsed) != {"phi", "psi"}:
        raise Refused("its entry 'strain_rate' does not hold phi and psi")
    for name in ("phi", "psi"):
        if not isinstance(parsed[name], dict) or set(parsed[name]) != set(regions):
            raise Refused(f"its {name} do not match its regions")
    return parsed
