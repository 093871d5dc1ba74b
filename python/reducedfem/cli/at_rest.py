"""Static displacements under gravity, with and without reduction, for ``reducedfem simulate``."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reducedfem.base.console import Console, count_text
from reducedfem.errors import PlausibilityWarning, StaticConvergenceError
from reducedfem.geometry.mesh import Mesh
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.solid.solid import Solid

__all__ = ["compare_at_rest"]

_MOST_COMPARED = 10_000  # nodes of a mesh whose statics take seconds
_MOST_ITERATIONS = 30  # of these statics; a spoon under the 1000-fold gravity of the earth takes 17
_MUCH = 0.05  # relative error of the static displacement that is reported
# the force of a compressed bar of St.Venant-Kirchhoff material is largest at 1 / sqrt(3) of its
# length: equilibria beyond it, and as far on the other side, are not those of a real solid
_MOST_STRETCH = math.sqrt(3.0)
_FEW = 0.01  # fraction of the lengths that may be stretched more
_LARGE = 10.0  # linear displacement, relative to the size of the body, of a doubtful load


def _stretches(mesh: Mesh, u: NDArray[np.float64]) -> tuple[float, float]:
    """Return quantiles near the ends of the stretches of the lines between corners of elements."""
    corners = mesh.elements[:, : 4 if mesh.nodes_per_element in (4, 10) else 8]
    i, j = np.triu_indices(corners.shape[1], 1)
    rest, moved = (
        np.linalg.norm(x[corners[:, i]] - x[corners[:, j]], axis=2)
        for x in (mesh.nodes, mesh.nodes + u)
    )
    low, high = np.quantile(moved / rest, (_FEW, 1.0 - _FEW))
    return float(low), float(high)


def _excess(model: ReducedSolid, gravity: Sequence[float]) -> float:
    """Return the largest displacement of linear statics, relative to the size of the body."""
    q = np.linalg.lstsq(model.stiffness(np.zeros(model.r)), model.gravity(gravity), rcond=None)[0]
    most = np.linalg.norm(model.displacement(q), axis=1).max()
    return float(most / np.ptp(model.mesh.nodes, axis=0).max())


def _too_large(excess: float) -> str:
    """Return the advice for a load that a real solid does not bear like this."""
    by = f": by linear statics 1/{excess:.2g} of it moves the solid by its own length"
    return (
        f"the load is too large for this solid{by if excess > 1.0 else ''}; check the units of "
        "--gravity (m/s^2) and of the model (m, Pa, kg/m^3)"
    )


def compare_at_rest(
    model: ReducedSolid, gravity: Sequence[float], watched: Sequence[int], console: Console
) -> None:
    """Print the static displacement of nodes, with and without reduction."""
    mesh = model.mesh
    excess = _excess(model, gravity)
    no_equilibrium = "no equilibrium was found"
    if excess > _LARGE:
        no_equilibrium += f"; {_too_large(excess)}"
    try:
        reduced = model.displacement(model.solve_static(model.gravity(gravity), adaptive=True))
    except (StaticConvergenceError, np.linalg.LinAlgError):
        console.fact("at rest", no_equilibrium)
        return
    low, high = _stretches(mesh, reduced)
    whole, why = None, ""
    if low < 1.0 / _MOST_STRETCH or high > _MOST_STRETCH:
        why = f"elements have {low:.2g} to {high:.2g} times their length; {_too_large(excess)}"
    elif mesh.n_nodes > _MOST_COMPARED:
        why = f"{count_text(mesh.n_nodes, 'node')}, more than {_MOST_COMPARED:,} take long"
    else:
        whole, inverted = _unreduced(model, gravity, reduced, console)
        if whole is None:
            why = no_equilibrium
        elif inverted:
            why = (
                f"{inverted:,} of {count_text(mesh.n_elements, 'unreduced element')} are inside "
                f"out; {_too_large(excess)}"
            )
    for node in watched:
        few = float(np.linalg.norm(reduced[node]))
        text = f"node {node} sags {few:.4g} m"
        if whole is not None:
            every = float(np.linalg.norm(whole[node]))
            error = few / every - 1.0 if every > 0.0 else 0.0
            text += f", unreduced {every:.4g} m: {100 * error:+.2g} %"
            if abs(error) > _MUCH and not why:
                text += "; 'reducedfem reduce' with more --modes and --coordinates comes closer"
        console.fact("at rest", text)
    if why:
        missing = "not compared with the unreduced solid: " if whole is None else ""
        console.fact("at rest", f"{missing}{why}")


def _unreduced(
    model: ReducedSolid, gravity: Sequence[float], reduced: NDArray[np.float64], console: Console
) -> tuple[NDArray[np.float64] | None, int]:
    """Return the unreduced static displacement or None, and the number of inverted elements."""
    mesh = model.mesh
    quadrature = None if mesh.nodes_per_element == 4 else model.provenance["solid"]["quadrature"]
    with console.stage("statics, unreduced") as stage, warnings.catch_warnings():
        # already shown by the command that created the model, or reported by the caller
        warnings.simplefilter("ignore", PlausibilityWarning)
        solid = Solid(mesh, model.materials, model.fixed, quadrature)
        try:
            whole, report = solid.solve_static(
                solid.gravity(gravity),
                u0=reduced,
                max_iterations=_MOST_ITERATIONS,
                report=True,
                progress=stage.show,
            )
        except (StaticConvergenceError, np.linalg.LinAlgError):
            stage.result = "failed"
            return None, 0
        stage.result = count_text(mesh.n_nodes, "node")
    return whole, report.inverted
