"""Errors of deformed distance fields against exact distances to the deformed surface.

After Barbic 2007, section 3.12. A bar bends, twists and stretches, a fork bends its legs apart
and together. Printed is a table of errors in units of the size of the object, within a band about
the deformed surface, and drawn are isocontours as in figure 3.24: exact ones dashed, approximate
ones solid, the approximate inside green. With one domain, mirror images of the legs appear where
they are bent apart; with one domain for each leg they do not.

Run it for the numbers and plots:  python experiments/b07_3_12_deformed_field.py [--help]
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import command
import numpy as np

import reducedfem as rf
from reducedfem import plot as pictures

RUBBER = rf.StVK(1e6, 0.4, 1000.0)
BAND = 0.1  # of the size
AMPLITUDES = (0.0, 0.05, 0.1, 0.2, 0.4)
HEX = np.array(
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]]
)


@dataclass(frozen=True)
class Scene:
    """An object, ways to deform it, and the plane that is drawn."""

    name: str
    mesh: rf.Mesh
    # of the nodes at an amplitude in units of the size, (n, 3)
    ways: dict[str, np.ndarray]
    domains: tuple[int | None, ...]
    plane: int  # axis that is cut in the middle
    size: float


def cells_mesh(cells: np.ndarray, edge: float) -> rf.Mesh:
    """Return cubes at integer places."""
    corners = (cells[:, None] + HEX).reshape(-1, 3)
    nodes, place = np.unique(corners, axis=0, return_inverse=True)
    return rf.Mesh(edge * nodes, place.reshape(-1, 8))


def bar() -> Scene:
    """Return a bar of 30 x 6 x 4 cm along x: shapes with the turn of the sections they need."""
    mesh = cells_mesh(np.argwhere(np.ones((30, 6, 4))), 0.01)
    x, y, z = mesh.nodes.T
    length, y, z = 0.3, y - 0.03, z - 0.02
    bend, twist, stretch = (np.zeros_like(mesh.nodes) for _ in range(3))
    bend[:, 2], bend[:, 0] = length * (x / length) ** 2, -2 * (x / length) * z
    # a full amplitude of 1 moves corners by the size
    reach = np.hypot(0.03, 0.02)
    twist[:, 1], twist[:, 2] = -(x / reach) * z, (x / reach) * y
    stretch[:, 0] = x
    return Scene("bar", mesh, {"bend": bend, "twist": twist, "stretch": stretch}, (None,), 1, 0.3)


def fork() -> Scene:
    """Return two legs on a base; amplitudes are those of the tips."""
    cells = np.argwhere(np.ones((9, 3, 28)))
    cells = cells[(cells[:, 2] < 4) | (cells[:, 0] < 3) | (cells[:, 0] >= 6)]
    mesh = cells_mesh(cells, 0.01)
    x, z = mesh.nodes[:, 0], np.maximum(mesh.nodes[:, 2] - 0.04, 0)
    side = np.sign(x - 0.045)
    apart = np.zeros_like(mesh.nodes)
    apart[:, 0] = side * z**2
    apart[:, 2] = -2 * side * z * (x - 0.045 - 0.03 * side)
    apart *= 0.28 / 0.24**2
    return Scene("fork", mesh, {"apart": apart, "together": -0.1 * apart}, (None, 2), 1, 0.28)


def exact_field(surface: rf.Surface, resolution: int) -> rf.DistanceField:
    """Return exact distances to a surface on a fine grid."""
    return rf.DistanceField.from_surface(surface, resolution, expand=1.6)


@dataclass(frozen=True)
class Errors:
    """Of distances near the deformed surface, over the size of the object.

    Attributes
    ----------
    mean, p95, largest
        Within the band about the surface.
    close
        Mean within a tenth of the band.
    signs
        Share of all points, but for the next to the surface, that have the wrong sign.
    """

    mean: float
    p95: float
    largest: float
    close: float
    signs: float


def errors(found: np.ndarray, exact: np.ndarray, size: float) -> Errors:
    """Compare distances of points [m]."""
    off, away = np.abs(found - exact) / size, np.abs(exact) / size
    near = off[away < BAND]
    # mirror images lie farther away
    signs = ((found < 0) != (exact < 0))[away > 0.05 * BAND].mean()
    return Errors(
        float(near.mean()),
        float(np.percentile(near, 95)),
        float(near.max()),
        float(off[away < 0.1 * BAND].mean()),
        float(signs),
    )


def run(scene: Scene, resolution: int, count: int, proxies: int) -> list[str]:
    """Return the lines of the table."""
    rng = np.random.default_rng(0)
    surface = scene.mesh.surface()
    rest = rf.DistanceField.from_surface(surface, resolution, expand=2.0)
    lines = []
    for way, shape in scene.ways.items():
        solid = rf.Solid(scene.mesh, RUBBER)
        model = rf.reduce(solid, shape[None])
        skin = rf.Skin(model, surface)
        for domains in scene.domains:
            field = rf.DeformedField(rest, model, proxies, domains=domains)
            for amplitude in AMPLITUDES:
                q = np.array([amplitude])
                moved = rf.Surface(skin.positions(q), surface.triangles)
                low, high = moved.bounds
                room = BAND * scene.size
                points = rng.uniform(low - room, high + room, (count, 3))
                exact = exact_field(moved, resolution).distance(points)
                e = errors(field.distance(points, q), exact, scene.size)
                lines.append(
                    f"{scene.name:5} {way:9} {domains or 1:7} {amplitude:9.2f} {e.mean:9.3%} "
                    f"{e.p95:9.3%} {e.largest:9.3%} {e.close:9.3%} {e.signs:9.2%}"
                )
    return lines


def draw(scene: Scene, way: str, amplitude: float, resolution: int, proxies: int, to: Path) -> Path:
    """Draw isocontours in a section of the deformed object, with each number of domains."""
    pictures.require_matplotlib()
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    surface = scene.mesh.surface()
    rest = rf.DistanceField.from_surface(surface, resolution, expand=2.0)
    model = rf.reduce(rf.Solid(scene.mesh, RUBBER), scene.ways[way][None])
    q = np.array([amplitude])
    moved = rf.Surface(rf.Skin(model, surface).positions(q), surface.triangles)
    low, high = moved.bounds
    across = [a for a in range(3) if a != scene.plane]
    room = 0.12 * scene.size
    spans = [float(high[a] - low[a]) + 2 * room for a in across]
    axes = [np.linspace(low[a] - room, high[a] + room, 240) for a in across]
    u, v = np.meshgrid(*axes, indexing="ij")
    section = np.zeros((u.size, 3))
    section[:, across[0]], section[:, across[1]] = u.ravel(), v.ravel()
    section[:, scene.plane] = surface.bounds[:, scene.plane].mean()
    exact = exact_field(moved, resolution).distance(section).reshape(u.shape)

    # panels as long as 6 inches, and as wide as what they show
    n = len(scene.domains)
    inch = 6.0 / max(spans)
    figure = Figure(figsize=(n * (inch * spans[0] + 0.3) + 0.6, inch * spans[1] + 1.8))
    figure.set_layout_engine("constrained", h_pad=0.08)
    panels = figure.subplots(1, n, squeeze=False, sharey=True)[0]
    levels = np.arange(0, 0.11, 0.02) * scene.size
    u, v = 100 * u, 100 * v
    colours = {"inside": "#9bc99b", "exact": "#c8281e", "proxies": "#3060a0"}
    for panel, domains in zip(panels, scene.domains, strict=True):
        field = rf.DeformedField(rest, model, proxies, domains=domains)
        d = field.distance(section, q).reshape(u.shape)
        panel.contourf(u, v, d, levels=[-1, 0], colors=[colours["inside"]])
        panel.contour(u, v, d, levels=levels, colors="k", linewidths=0.8)
        panel.contour(u, v, exact, levels=levels, colors=colours["exact"], linewidths=1.1,
                      linestyles="dashed")  # fmt: skip
        places = 100 * field.positions(q)
        panel.plot(places[:, across[0]], places[:, across[1]], ".", color=colours["proxies"], ms=4)
        panel.set(aspect="equal", xlabel=f"{'xyz'[across[0]]} [cm]")
        e = errors(d, exact, scene.size)
        panel.set_title(
            f"{domains or 1} domain{'s' if domains else ''}; here, of the size: mean error "
            f"{e.mean:.2%},\nlargest {e.largest:.1%}; wrong signs at {e.signs:.1%} of the points",
            fontsize=8,
        )
    panels[0].set_ylabel(f"{'xyz'[across[1]]} [cm]")
    step = 100 * float(levels[1])
    handles = [
        Line2D([], [], color="k", lw=0.8, label="approximate"),
        Line2D([], [], color=colours["exact"], lw=1.1, ls="dashed", label="exact"),
        Patch(color=colours["inside"], label="inside, approximate"),
        Line2D([], [], color=colours["proxies"], ls="", marker=".", label="proxies"),
    ]
    narrow = inch * spans[0] * n < 5.0
    figure.legend(handles=handles, loc="outside lower center", ncols=2 if narrow else 4, fontsize=8)
    figure.suptitle(
        f"{scene.name}: {way}, amplitude {amplitude:g} of its size;\ndistances 0, {step:.2g}, "
        f"{2 * step:.2g}, ... cm",
        fontsize=10,
    )
    path = to / f"b07_3_12_{scene.name}_{way}.png"
    pictures.save_figure(figure, path, dpi=130)
    return path


HEAD = (
    f"errors over the size, within {BAND:g} of it about the surface; surface: within "
    f"{0.1 * BAND:g}; signs: wrong ones, anywhere beyond {0.05 * BAND:g}; amplitude 0: what the "
    "grids make\n\n"
    "what  way       domains amplitude      mean       p95   largest   surface     signs"
)
DRAWN = {
    "bar": {"bend": 0.4, "twist": 0.2, "stretch": 0.4},
    "fork": {"apart": 0.2, "together": 0.4},
}


def perform(arguments: argparse.Namespace) -> None:
    """Print the table and draw the plots."""
    resolution, proxies = arguments.resolution, arguments.proxies
    print(HEAD)
    arguments.plots = []
    for scene in (bar(), fork()):
        for line in run(scene, resolution, arguments.points, proxies):
            print(line, flush=True)
        for way, amplitude in DRAWN[scene.name].items():
            path = draw(scene, way, amplitude, resolution, proxies, arguments.out)
            arguments.plots.append(path)


def main() -> int:
    """Run from the command line."""
    parser = command.options(__file__, __doc__, "about 5 s")
    parser.add_argument("--resolution", type=int, default=96, help="voxels of the fields (96)")
    parser.add_argument("--points", type=int, default=20_000, help="to compare at (20000)")
    parser.add_argument("--proxies", type=int, default=40, help="of the deformed fields (40)")
    return command.run(perform, command.parse(parser, points=1000))


if __name__ == "__main__":
    sys.exit(main())
