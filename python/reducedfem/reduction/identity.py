"""Fingerprints of the solid for which a basis was made."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.base.run import threads
from reducedfem.errors import InputError, PlausibilityWarning
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.solid.solid import Solid

_SAME = 1e-6  # relative difference of masses that is rounding

__all__ = ["made_for", "require_of", "require_reduced", "stiffness_at_rest"]


def _digest(parts: Iterable[NDArray[Any] | str]) -> str:
    state = hashlib.blake2b(digest_size=8)
    for part in parts:
        state.update(part.encode() if isinstance(part, str) else np.ascontiguousarray(part).data)
    return state.hexdigest()


def _proportions(solid: Solid) -> str:
    """Return the materials up to common factors of stiffness and density, which cancel in modes."""
    every = list(solid.materials.items())
    first = every[0][1]
    size = float(np.trace(first.stiffness))
    rows: list[list[Any]] = []
    for region, one in every:
        numbers = [*(one.stiffness / size).ravel().tolist(), one.density / first.density]
        # + 0.0 removes the sign of zero
        rows.append([region, *(f"{x + 0.0:.9g}" for x in numbers)])
    return json.dumps(rows)


def identity(solid: Solid) -> dict[str, str]:
    """Return fingerprints of the mesh, the fixed nodes and the ratios of the materials."""
    mesh = solid.mesh
    ties = () if mesh.constraints is None else mesh.constraints._table()
    shape = str(mesh.elements.shape)
    return {
        "mesh": _digest([shape, mesh.nodes, mesh.elements, mesh.regions, *ties]),
        "fixed nodes": _digest([solid.fixed]),
        "materials": _digest([_proportions(solid)]),
    }


def made_for(solid: object) -> dict[str, Any]:
    """Return the entries of a solid in the provenance of its bases; empty for other systems."""
    return {"made_for": identity(solid)} if isinstance(solid, Solid) else {}


def require_of(solid: Solid, provenance: Mapping[str, Any], name: str, stacklevel: int) -> None:
    """Refuse a basis for another mesh; warn of one for other fixed nodes or materials.

    A basis without a fingerprint is accepted.
    """
    made = provenance.get("made_for")
    if not isinstance(made, Mapping):
        return
    now = identity(solid)
    other = [part for part in now if made.get(part, now[part]) != now[part]]
    if "mesh" in other:
        raise InputError(
            f"{name} was made for a solid on another mesh with the same number of nodes: make it "
            f"for this solid; to use its vectors nevertheless, pass mass_pca(solid, {name}.vectors)"
        )
    if other:
        warnings.warn(
            f"{name} was made for a solid with other {' and '.join(other)}, so its vectors are not "
            f"modes of this solid: make it for this solid, or, if that is meant, pass "
            f"mass_pca(solid, {name}.vectors)",
            PlausibilityWarning,
            stacklevel=stacklevel + 1,
        )


def require_reduced(model: ReducedSolid, solid: Solid, name: str) -> None:
    """Refuse a solid that is not that of a model, as far as mesh, supports and mass tell."""
    a, b = model.mesh, solid.mesh
    same = np.array_equal(a.nodes, b.nodes) and np.array_equal(a.elements, b.elements)
    if not (a is b or same):
        raise InputError(
            f"solid has another mesh ({b.n_nodes} nodes) than {name} ({a.n_nodes} nodes): "
            "pass the Solid that was reduced"
        )
    if not np.array_equal(model.fixed, solid.fixed):
        raise InputError(
            f"solid has other fixed nodes ({len(solid.fixed)}) than {name} "
            f"({len(model.fixed)}): pass the Solid that was reduced"
        )
    held = model.rigid_body
    if held is None:
        return
    mass = solid.total_mass
    if not abs(mass - held.mass) <= _SAME * held.mass:
        raise InputError(
            f"solid has the mass {mass:.6g} kg, {name} {held.mass:.6g} kg: pass the Solid "
            "that was reduced, with the same densities"
        )


def stiffness_at_rest(model: ReducedSolid, solid: Solid, name: str) -> NDArray[np.float64]:
    """Return U^T K U at rest; refuse a model of other materials."""
    rest = np.zeros(model.r)
    own = _core.Projected(solid._core, model.basis, threads()).stiffness(rest, threads())
    away = np.abs(model.stiffness(rest) - own).max() / np.abs(own).max()
    # few elements that stand for all have another stiffness than the solid: its materials decide
    if not away <= _SAME and (model.cubature is None or model.materials != solid.materials):
        raise InputError(
            f"solid has another stiffness than {name}, by {away:.2g} of the largest entry in "
            "its basis: pass the Solid that was reduced, with the same materials"
        )
    return own
