"""Solids in notebooks."""

from __future__ import annotations

from typing import Any

import numpy as np

from reducedfem.drawing.card import Card, CardContents, extent_text

__all__ = ["SolidCard"]

_BODY, _HELD = (0.72, 0.74, 0.77), (0.86, 0.27, 0.22)


class SolidCard(Card):
    """Base class of `Solid`: a table, and a picture with the fixed nodes in red."""

    __slots__ = ()

    def _card(self) -> CardContents:
        solid: Any = self
        mesh, held = solid.mesh, np.zeros(solid.mesh.n_nodes, bool)
        held[solid.fixed] = True
        surface = mesh.surface()
        colours = np.where(held[mesh.boundary_nodes, None], _HELD, _BODY)
        laws = ", ".join(
            f"{name} ({count} regions)" if count > 1 else name
            for name, count in _counted([type(one).__name__ for one in solid.materials.values()])
        )
        rows = [
            ("mesh", repr(mesh).strip("<>").removeprefix("Mesh: ")),
            ("size", extent_text(mesh.bounds)),
            ("material", laws),
            ("mass", f"{solid.total_mass:.4g} kg"),
            ("volume", f"{solid.volume:.4g} m³"),
            ("fixed", f"{len(solid.fixed)} nodes" if len(solid.fixed) else "free body"),
            ("degrees of freedom", f"{3 * len(solid.free)}"),
        ]
        return CardContents("Solid", rows, (surface.vertices, surface.triangles, colours))


def _counted(names: list[str]) -> list[tuple[str, int]]:
    """Return names in the order of first appearance, with their numbers."""
    return [(name, names.count(name)) for name in dict.fromkeys(names)]
