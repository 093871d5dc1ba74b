"""Accuracy of the volume elements of a surface: whole cubes and cut cells of both orders.

Free bodies whose answers are known are voxelized in four ways, whole cubes and cut cells with 8 and
with 20 nodes, at several resolutions. The table and the plot show the errors of

mass        against the volume that the surface encloses,
frequency   of the lowest elastic modes: of a ball the torsional ones against Lamb (1882), whose
            first root is 2.501 for the wave number times the radius; of a rod, twenty times as long
            as its radius, the bending ones against what ten-node tetrahedra converge to; of the
            surfaces of a folder (``--bodies``), see below, against its frequencies,

and the table the highest frequency over that of whole cubes of the same resolution and order.

``--bodies FOLDER FILE`` adds surfaces FOLDER/*.obj: FILE is an .npz with ``name``, ``source``,
``scale``, ``volume`` and ``frequencies`` of each, free, centred at the middle of their bounds after
scaling, for Young's modulus ``E``, Poisson's ratio ``nu`` and density ``rho``.

Run it for the table:  python experiments/volume_accuracy.py [--plot FILE] [--finest N]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import reducedfem as rf
from reducedfem import _core

RUBBER = rf.StVK(young=1e6, poisson=0.3, density=1000.0)
BALL_RADIUS, ROD_RADIUS, ROD_LENGTH = 0.05, 0.01, 0.2
TORSION = 2.501132  # first root of the torsional modes of order two
BENDING = 13.72  # Hz, of the rod of RUBBER
WAYS = {
    "whole, 8 nodes": {"cut": False, "order": 1, "expand": 1.0},
    "whole, 20 nodes": {"cut": False, "order": 2, "expand": 1.0},
    "cut, 8 nodes": {"cut": True, "order": 1},
    "cut, 20 nodes": {"cut": True, "order": 2},
}


@dataclass(frozen=True)
class Body:
    """A surface and what is known about it.

    Attributes
    ----------
    name, surface, material
        The body.
    volume
        That it encloses [m^3].
    frequencies
        Known ones [Hz]; each is compared with the nearest of the lowest that are found.
    in_order
        They are the lowest, all of them, to be compared in their order.
    """

    name: str
    surface: rf.Surface
    material: rf.StVK
    volume: float
    frequencies: NDArray[np.float64]
    in_order: bool = True


@dataclass(frozen=True)
class Result:
    """Relative errors of one body in one way at one resolution, and what it cost."""

    body: str
    way: str
    resolution: int
    unknowns: int
    mass: float
    frequencies: NDArray[np.float64]
    highest: float
    seconds: float

    @property
    def worst(self) -> float:
        """The largest error of a frequency."""
        return float(self.frequencies[np.abs(self.frequencies).argmax()])


def tube(profile: Sequence[tuple[float, float]], around: int) -> rf.Surface:
    """Return the surface that a line of (radius, z), from axis to axis, sweeps around z."""
    angle = 2 * np.pi * np.arange(around) / around
    ring = np.column_stack([np.cos(angle), np.sin(angle), 0 * angle])
    inner = [r * ring + [0, 0, z] for r, z in profile[1:-1]]
    ends = [[0.0, 0.0, profile[0][1]], [0.0, 0.0, profile[-1][1]]]
    k, after = np.arange(around), (np.arange(around) + 1) % around
    low, high = len(inner) * around, len(inner) * around + 1
    last = low - around
    faces = [np.column_stack([0 * k + low, after, k])]
    for row in range(0, last, around):
        faces.append(np.column_stack([row + k, row + after, row + around + after]))
        faces.append(np.column_stack([row + k, row + around + after, row + around + k]))
    faces.append(np.column_stack([0 * k + high, last + k, last + after]))
    return rf.Surface(np.vstack([*inner, ends]), np.vstack(faces))


def ball() -> Body:
    """Return the ball, its five torsional modes of order two."""
    rows = np.linspace(-np.pi / 2, np.pi / 2, 65)
    surface = tube([(BALL_RADIUS * np.cos(t), BALL_RADIUS * np.sin(t)) for t in rows], 128)
    shear = np.sqrt(RUBBER.young / (2 * (1 + RUBBER.poisson) * RUBBER.density))
    torsion = TORSION * shear / (2 * np.pi * BALL_RADIUS)
    return Body("ball", surface, RUBBER, surface.volume, np.full(5, torsion), in_order=False)


def rod() -> Body:
    """Return the rod, its two lowest modes."""
    half = ROD_LENGTH / 2
    profile = [(0.0, -half), (ROD_RADIUS, -half), (ROD_RADIUS, half), (0.0, half)]
    surface = tube(profile, 128)
    return Body("rod", surface, RUBBER, surface.volume, np.full(2, BENDING))


def bodies_of(folder: Path, file: Path) -> list[Body]:
    """Return the surfaces of a folder with what a file knows about them."""
    with np.load(file) as known:
        data: dict[str, Any] = dict(known)
    material = rf.StVK(float(data["E"]), float(data["nu"]), float(data["rho"]))
    found = []
    for i, source in enumerate(data["source"]):
        path = folder / f"{Path(str(source)).stem}.obj"
        if not path.is_file():
            continue
        surface = rf.read_surface(path)
        middle = surface.bounds.mean(axis=0)
        moved = rf.Surface((surface.vertices - middle) * data["scale"][i], surface.triangles)
        found.append(
            Body(str(data["name"][i]), moved, material, data["volume"][i], data["frequencies"][i])
        )
    return found


def highest(solid: rf.Solid) -> float:
    """Return the highest angular frequency of a solid [1/s]."""
    return float(np.sqrt(_core.solid_highest(solid._core, False, 1e-8, 1)))


def measure(body: Body, way: str, resolution: int) -> Result:
    """Return the errors of a body."""
    start = time.perf_counter()
    mesh = rf.voxelize(body.surface, resolution, **WAYS[way])
    solid = rf.Solid(mesh, body.material)
    count = len(body.frequencies)
    found = solid.linear_modes(count if body.in_order else 2 * count).frequencies
    seconds = time.perf_counter() - start
    if not body.in_order:
        nearest = np.argsort(np.abs(found - body.frequencies[0]), kind="stable")[:count]
        found = np.sort(found[nearest])
    cubes = rf.voxelize(body.surface, resolution, **{**WAYS[way], "cut": False, "expand": 1.0})
    return Result(
        body.name,
        way,
        resolution,
        3 * mesh.n_nodes,
        solid.rigid_body.mass / (body.material.density * body.volume) - 1.0,
        found / body.frequencies - 1.0,
        highest(solid) / highest(rf.Solid(cubes, body.material)),
        seconds,
    )


def study(
    bodies: Sequence[Body],
    resolutions: Sequence[int],
    ways: Sequence[str] = tuple(WAYS),
    tell: Callable[[Result], None] | None = None,
) -> list[Result]:
    """Measure all bodies in all ways at all resolutions."""
    results = []
    for body in bodies:
        for way in ways:
            for resolution in resolutions:
                results.append(measure(body, way, resolution))
                if tell:
                    tell(results[-1])
    return results


HEADER = "body      way              cells  unknowns     mass   lowest    worst  highest  seconds"


def line(result: Result) -> str:
    """Return a row of the table; errors in per cent, the highest frequency as a multiple."""
    return (
        f"{result.body:9s} {result.way:16s} {result.resolution:5d} {result.unknowns:9d} "
        f"{100 * result.mass:8.3f} {100 * result.frequencies[0]:8.2f} {100 * result.worst:8.2f} "
        f"{result.highest:8.2f} {result.seconds:8.1f}"
    )


def plot(results: Sequence[Result], path: Path) -> None:
    """Draw the errors over the resolution."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    names = list(dict.fromkeys(r.body for r in results))
    figure, axes = plt.subplots(2, len(names), figsize=(3.2 * len(names), 6), squeeze=False)
    for column, name in enumerate(names):
        for way in dict.fromkeys(r.way for r in results):
            own = [r for r in results if (r.body, r.way) == (name, way)]
            cells = [r.resolution for r in own]
            axes[0, column].loglog(cells, [100 * abs(r.mass) for r in own], "o-", label=way)
            axes[1, column].loglog(cells, [100 * abs(r.worst) for r in own], "o-", label=way)
        axes[0, column].set_title(name)
        axes[1, column].set_xlabel("cells along the longest side")
    axes[0, 0].set_ylabel("error of the mass, %")
    axes[1, 0].set_ylabel("worst error of a frequency, %")
    axes[0, 0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plot", type=Path, help="write the picture here")
    parser.add_argument("--finest", type=int, default=16, help="cells along the longest side")
    parser.add_argument("--bodies", type=Path, nargs=2, metavar=("FOLDER", "FILE"))
    arguments = parser.parse_args()
    resolutions = [n for n in (8, 16, 32, 64) if n <= arguments.finest]
    bodies = [ball(), rod(), *(bodies_of(*arguments.bodies) if arguments.bodies else [])]
    print(HEADER)
    results = study(bodies, resolutions, tell=lambda r: print(line(r), flush=True))
    if arguments.plot:
        plot(results, arguments.plot)


if __name__ == "__main__":
    main()
