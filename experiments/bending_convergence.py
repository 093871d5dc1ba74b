"""Why second-order elements: a bending beam in hexahedra and tetrahedra of both orders.

A clamped beam of rubber, ten times as long as high, carries a load at its end. Four-node
tetrahedra and eight-node hexahedra cannot bend without shearing (and, nearly
incompressible, not without changing their volume): they lock, and are far too stiff until
the mesh is fine. Ten-node tetrahedra and hexahedra of 20 nodes bend. For meshes of each
kind, cut from the same cells finer and finer, the table and the plot show the error of

small       the deflection of the tip under a load too small for nonlinearity,
large       the deflection under a load that bends the beam by two fifths of its length,
frequency   of the lowest bending mode,

against ten-node tetrahedra on cells finer than all others.

Run it for the table:  python experiments/bending_convergence.py [--plot FILE] [--finest N]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from grids import box

import reducedfem as rf

LENGTH, HEIGHT = 1.0, 0.1
CELLS_ALONG = 8  # for one across: slightly longer than high, as meshes are
SMALL, LARGE = 1e-5, 0.4  # deflections over the length, by beam theory
HEX8, TET4, TET10, HEX20 = "hex8", "tet4", "tet10", "hex20"
QUANTITIES = ("small", "large", "frequency")


@dataclass(frozen=True)
class Beam:
    """Results of one mesh.

    Attributes
    ----------
    kind, across
        Element type, and cells across the beam.
    dofs
        Free degrees of freedom.
    small, large
        Deflections of the tip over the length.
    frequency
        In Hz.
    seconds
        Time for the small deflection, from the nodes on.
    """

    kind: str
    across: int
    dofs: int
    small: float
    large: float
    frequency: float
    seconds: float

    def errors(self, reference: Beam) -> dict[str, float]:
        """Return the signed relative errors of all quantities."""
        return {name: getattr(self, name) / getattr(reference, name) - 1.0 for name in QUANTITIES}


def mesh_of(kind: str, across: int) -> rf.Mesh:
    """Return the beam in cells, each a hexahedron or six tetrahedra."""
    cells = (CELLS_ALONG * across, across, across)
    mesh = box(cells, tets=kind not in (HEX8, HEX20))
    size = np.array([LENGTH, HEIGHT, HEIGHT]) / cells
    mesh = rf.Mesh(mesh.nodes * size, mesh.elements)
    return mesh.quadratic() if kind in (TET10, HEX20) else mesh


def end_load(mesh: rf.Mesh) -> NDArray[np.float64]:
    """Return nodal forces of a uniform traction on the end face that adds up to -1 N in z."""
    faces = mesh.boundary_faces
    end = faces[(mesh.nodes[faces][:, :, 0] > LENGTH * (1 - 1e-9)).all(axis=1)]
    # quadratic triangles carry a uniform load on the middles of their edges alone, serendipity
    # faces more than that, and pull at their corners
    share = {
        3: [1 / 3] * 3,
        4: [1 / 4] * 4,
        6: [0.0] * 3 + [1 / 3] * 3,
        8: [-1 / 12] * 4 + [1 / 3] * 4,
    }[end.shape[1]]
    load = np.zeros((mesh.n_nodes, 3))
    np.add.at(load[:, 2], end.ravel(), np.tile(share, len(end)) / -len(end))
    return load


def beam(kind: str, across: int, poisson: float = 0.4) -> Beam:
    """Measure one mesh."""
    material = rf.StVK(young=1e6, poisson=poisson, density=1000.0)
    # Euler and Bernoulli: deflection over length of a unit force
    unit = LENGTH**2 / (3 * material.young * HEIGHT**4 / 12)
    start = time.perf_counter()
    mesh = mesh_of(kind, across)
    solid = rf.Solid(mesh, material, fixed=mesh.nodes[:, 0] < 1e-9 * LENGTH)
    load = end_load(mesh)
    small = solid.solve_static(load * (SMALL / unit))
    seconds = time.perf_counter() - start
    large = solid.solve_static(load * (LARGE / unit), adaptive=True)
    tip = mesh.nodes[:, 0] > LENGTH * (1 - 1e-9)
    return Beam(
        kind,
        across,
        3 * len(solid.free),
        float(-small[tip, 2].mean() / LENGTH),
        float(-large[tip, 2].mean() / LENGTH),
        float(solid.linear_modes(1).frequencies[0]),
        seconds,
    )


def study(
    finest: int = 4, poisson: float = 0.4, tell: Callable[[Beam], None] | None = None
) -> tuple[list[Beam], Beam]:
    """Measure meshes of all kinds and return them with the reference.

    Parameters
    ----------
    finest
        Cells across the finest mesh of second-order elements; the others go twice as far, so
        that they have as many nodes as ten-node tetrahedra. The reference has one and a half
        times as many.
    poisson
        Poisson's ratio.
    tell
        Called with each result.
    """
    reference = beam(TET10, finest + (finest + 1) // 2, poisson)
    found = []
    for kind, most in ((TET4, 2 * finest), (HEX8, 2 * finest), (TET10, finest), (HEX20, finest)):
        across = 1
        while across <= most:
            found.append(beam(kind, across, poisson))
            if tell:
                tell(found[-1])
            across *= 2
    return found, reference


def table(beams: list[Beam], reference: Beam) -> str:
    """Return the numbers as text."""
    lines = [
        f"reference: {reference.kind}, {reference.across} cells across, {reference.dofs} DOFs; "
        f"deflection {reference.large:.4f} of the length under the large load, "
        f"{reference.frequency:.4f} Hz",
        f"{'element':<9}{'across':>7}{'DOFs':>8}{'small':>10}{'large':>10}{'frequency':>11}"
        f"{'seconds':>10}",
    ]
    for one in beams:
        e = one.errors(reference)
        lines.append(
            f"{one.kind:<9}{one.across:>7}{one.dofs:>8}{e['small']:>+10.2%}{e['large']:>+10.2%}"
            f"{e['frequency']:>+11.2%}{one.seconds:>10.3f}"
        )
    return "\n".join(lines)


def plot(beams: list[Beam], reference: Beam, path: str | Path) -> None:
    """Draw the errors over degrees of freedom, and the first over time as well."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import NullFormatter

    figure, panels = pyplot.subplots(1, 4, figsize=(13, 3.6), layout="constrained", sharey=True)
    titles = ("small deflection", "large deflection", "lowest frequency", "small deflection")
    for axes, quantity, title in zip(panels, (*QUANTITIES, "small"), titles, strict=True):
        over_time = axes is panels[-1]
        for kind, style in ((TET4, "C2v-"), (HEX8, "C0s-"), (TET10, "C3o-"), (HEX20, "C1D-")):
            some = [one for one in beams if one.kind == kind]
            x = [one.seconds if over_time else one.dofs for one in some]
            axes.loglog(
                x, [abs(one.errors(reference)[quantity]) for one in some], style, label=kind
            )
        axes.xaxis.set_minor_formatter(NullFormatter())  # texts would overlap
        axes.set_title(title)
        axes.set_xlabel("time for it [s]" if over_time else "free degrees of freedom")
        axes.grid(alpha=0.3, which="both")
    panels[0].set_ylabel("relative error")
    panels[0].legend()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--finest", type=int, default=4, help="cells across in second-order elements (default: 4)"
    )
    parser.add_argument("--poisson", type=float, default=0.4, help="(default: 0.4)")
    parser.add_argument("--plot", type=Path, help="write a plot to this file")
    arguments = parser.parse_args()
    if arguments.finest < 1:
        parser.error(f"--finest must be 1 or more, got {arguments.finest}")
    try:
        beams, reference = study(arguments.finest, arguments.poisson)
        print(table(beams, reference))
        if arguments.plot:
            plot(beams, reference, arguments.plot)
    except (rf.InputError, OSError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
