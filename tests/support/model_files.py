"""Model files, taken apart and forged."""

from __future__ import annotations

import contextlib
import hashlib
import json

import numpy as np
import pytest

import reducedfem as rf
from reducedfem.reduction.reduced import from_bytes
from shapes import box_hex20s, box_hexes, box_tet10s, box_tets

ARRAYS = ("basis", "mass", "coefficients")


def make_model(
    kind: str, r: int = 4, editable: bool = False, damped: bool = False
) -> rf.ReducedSolid:
    make = {"hex8": box_hexes, "tet4": box_tets, "tet10": box_tet10s, "hex20": box_hex20s}[kind]
    nodes, elements = make(3, 1, 1, (0.3, 0.1, 0.1))
    regions = np.arange(len(elements)) % 2
    mesh = rf.Mesh(nodes, elements, regions)
    materials = {0: rf.StVK(1e5, 0.3, 1000.0), 1: rf.StVK(1 / 3 * 1e6, 0.45, 1234.5)}
    solid = rf.Solid(mesh, materials, fixed=nodes[:, 0] < 1e-9)
    damping = rf.StrainRateDamping(solid, {0: 1 / 3, 1: -7.0}, {0: 2.5, 1: 1e2 / 7})
    return rf.reduce(
        solid,
        rf.modal_derivative_basis(solid, 3, r),
        editable=editable,
        strain_rate=damping if damped else None,
    )


def assert_same(a: rf.ReducedSolid, b: rf.ReducedSolid) -> None:
    """Equal bit for bit, in everything that a model consists of."""
    for name in ARRAYS:
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes()
    for name in ("nodes", "elements", "regions"):
        assert getattr(a.mesh, name).tobytes() == getattr(b.mesh, name).tobytes()
    assert a.mesh.elements.shape == b.mesh.elements.shape
    assert a.fixed.dtype == b.fixed.dtype
    assert a.fixed.tolist() == b.fixed.tolist()
    assert a.provenance == b.provenance
    q = np.linspace(-0.1, 0.2, a.r)
    assert a.internal_force(q).tobytes() == b.internal_force(q).tobytes()
    assert a.editable == b.editable
    assert (a.strain_rate is None) == (b.strain_rate is None)
    if a.strain_rate is not None:
        for name in ("phi", "psi"):
            assert dict(getattr(a.strain_rate, name)) == dict(getattr(b.strain_rate, name))
        assert a.strain_rate.coefficients.tobytes() == b.strain_rate.coefficients.tobytes()
        assert a.strain_rate.matrix(q).tobytes() == b.strain_rate.matrix(q).tobytes()


def split(data: bytes) -> tuple[dict, bytes]:
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def signature(header: dict, body: bytes) -> str:
    """Return the checksum as the documentation of the format defines it."""
    arrays = {k: [v["dtype"], v["shape"]] for k, v in header.items() if k != "__metadata__"}
    metadata = {k: v for k, v in header["__metadata__"].items() if k != "sha256"}
    text = json.dumps(
        {"arrays": arrays, "metadata": metadata}, sort_keys=True, separators=(",", ":")
    )
    digest = hashlib.sha256(text.encode("ascii"))
    order = ("basis", "reduced_mass", "energy_coefficients", "cubature_gradients",
             "cubature_weights", "cubature_linear", "mesh_nodes", "part_coefficients",
             "part_volumes", "part_masses", "damping_coefficients", "surface_vertices",
             "rule_points", "rule_weights", "rule_products", "constraint_weights", "mesh_elements",
             "mesh_regions",
             "fixed_nodes", "part_general", "surface_triangles", "rule_counts",
             "cubature_materials", "constraint_slaves", "constraint_ptr",
             "constraint_masters")  # fmt: skip
    for name in order:
        if name.startswith("cubature_") and name not in header:
            continue
        if name == "energy_coefficients" and "cubature_weights" in header:
            continue
        if name.startswith("part_") and "part_volumes" not in header:
            continue
        if name.startswith("surface_") and "surface_vertices" not in header:
            continue
        if name == "damping_coefficients" and name not in header:
            continue
        if name.startswith("rule_") and "rule_counts" not in header:
            continue
        if name.startswith("constraint_") and "constraint_ptr" not in header:
            continue
        begin, end = header[name]["data_offsets"]
        digest.update(body[begin:end])
    return digest.hexdigest()


def join(header: dict | bytes, body: bytes, sign: bool = True) -> bytes:
    """Put a file together; sign it where its header is sane enough for that."""
    if isinstance(header, dict) and sign:
        # a header too odd to be signed must be refused for that oddity
        with contextlib.suppress(KeyError, TypeError, ValueError, IndexError, AttributeError):
            header["__metadata__"]["sha256"] = signature(header, body)
    text = header if isinstance(header, bytes) else json.dumps(header).encode("ascii")
    return len(text).to_bytes(8, "little") + text + body


def forge(data: bytes, arrays: dict | None = None, metadata: dict | None = None) -> bytes:
    """Change arrays (None: leave out) and metadata of a file, and sign it anew."""
    header, body = split(data)
    texts = {**header.pop("__metadata__"), **(metadata or {})}
    texts = {k: v for k, v in texts.items() if v is not None}
    contents = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        dtype = {"F64": "<f8", "I32": "<i4"}[entry["dtype"]]
        contents[name] = np.frombuffer(body[begin:end], dtype).reshape(entry["shape"])
    contents.update(arrays or {})
    new_header: dict = {"__metadata__": texts}
    new_body = b""
    for name, array in contents.items():
        if array is None:
            continue
        code = {"f8": "F64", "f4": "F32", "i4": "I32", "i8": "I64"}[array.dtype.str[1:]]
        new_header[name] = {
            "dtype": code,
            "shape": list(array.shape),
            "data_offsets": [len(new_body), len(new_body) + array.nbytes],
        }
        new_body += array.tobytes()
    return join(new_header, new_body)


def refused(data: bytes, match: str | None = None) -> None:
    with pytest.raises(rf.FileFormatError, match=match):
        from_bytes(data)
