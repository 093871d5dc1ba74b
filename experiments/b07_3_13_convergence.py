"""Contact forces under refinement of the pointshell (after Barbic 2007, section 3.5.1).

The force between a pointshell and a distance field, scaled by L/l, is a Riemann sum: when the
points get denser it converges to

    F = k L int d n dS / int dS                                                          (3.2)

over the part of the shell's surface that is inside the other object, d the signed distance and
n the inward normal there. The thesis proves it for points that are spread evenly and for others
that are weighted by areas; it does not measure it. Measured here, over random directions:

ball     a ball of radius R pressed into a half-space by D. On the cap u = cos(angle) >= 1 - D/R
         the depth is R u - R + D, so that F = k L D (3 - D/R) / 6 along the normal of the plane
bodies   a bumpy ball against another one, given by samples on a grid. The limit is computed by
         quadrature of second order over the triangles of the surface

for shells by particle repulsion (one nested shell, level by level), of random points, of the
layered depth cube, of centres of voxels (VPS), and of vertices of a mesh that is four times finer
on one side than on the other. The last three are not even: without weights they converge to
something else. Areas are those of Voronoi cells, counted by random places as in the thesis.

Run it for the numbers and plots:  python experiments/b07_3_13_convergence.py [--help]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import command
import contact_scenes as scenes
import numpy as np
from numpy.typing import NDArray

import reducedfem as rf
from reducedfem import plot as pictures

Array = NDArray[np.float64]

STIFFNESS = 1000.0  # N/m; scales forces only
REPULSION = "repulsion"
RANDOM = "random"
DEPTH_CUBE = "depth cube"
VOXELS = "voxel centres"
VERTICES = "uneven vertices"
STYLES = {
    REPULSION: ("C3", "o"),
    RANDOM: ("C0", "s"),
    DEPTH_CUBE: ("C2", "^"),
    VOXELS: ("C4", "D"),
    VERTICES: ("C1", "v"),
}


@dataclass
class Curve:
    """Errors of one kind of shell over its number of points.

    Attributes
    ----------
    name, weighted
        Kind of shell; whether forces are weighted by areas.
    points, touching
        Points of each shell, and how many of them touch on average.
    error
        Root mean square over the poses of the distance to the limit, over the limit.
    torque
        The same of the torque about the centre of the shell, over the force times the radius.
    """

    name: str
    weighted: bool
    points: list[int] = field(default_factory=list)
    touching: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    torque: list[float] = field(default_factory=list)

    @property
    def order(self) -> float:
        """Exponent p of error ~ n^-p by least squares."""
        if len(self.points) < 2:
            return float("nan")
        return -float(np.polyfit(np.log(self.points), np.log(self.error), 1)[0])


@dataclass(frozen=True)
class Case:
    """One pair of objects.

    Attributes
    ----------
    name, title
        For files and for people.
    curves
        Of the kinds of shells, each with and without areas.
    deepest
        Penetration [m].
    voxel
        Of the grid [m]; 0: a formula.
    share
        Part of the surface in contact.
    """

    name: str
    title: str
    curves: list[Curve]
    deepest: float
    voxel: float
    share: float

    def curve(self, name: str, weighted: bool = False) -> Curve:
        """Return one of the curves."""
        return next(c for c in self.curves if (c.name, c.weighted) == (name, weighted))

    def table(self) -> str:
        """Return the numbers as text."""
        lines = [
            f"{self.title}: {1e3 * self.deepest:.2f} mm deep, {self.share:.1%} of the surface"
            + (f", voxels of {1e3 * self.voxel:.2f} mm" if self.voxel else ""),
            f"{'':<45}{'distance to the limit':^20}",
            f"{'shell':<18}{'weights':<9}{'points':>8}{'touching':>10}{'force':>10}{'torque':>10}"
            f"{'order':>8}",
        ]
        for curve in self.curves:
            for i, n in enumerate(curve.points):
                first = i == 0
                lines.append(
                    f"{curve.name if first else '':<18}"
                    f"{('areas' if curve.weighted else 'none') if first else '':<9}{n:>8}"
                    f"{curve.touching[i]:>10.1f}{curve.error[i]:>10.3%}{curve.torque[i]:>10.3%}"
                    + (f"{curve.order:>8.2f}" if i == len(curve.points) - 1 else "")
                )
        even, uneven = self.curve(REPULSION), min(self.curve(VERTICES).error)
        lines.append(
            f"{len(even.points)} nested levels of even points: {even.error[0]:.2%} down to "
            f"{even.error[-1]:.2%}; uneven ones without areas: no nearer than {uneven:.2%}"
        )
        if max(even.torque) < 1e-6:
            lines.append("normals on a ball meet in its middle: forces have no torque about that")
        return "\n".join(lines)


@dataclass(frozen=True)
class Target:
    """Object that shells are pressed into: a field, its poses and the limits in them."""

    field: rf.Field
    poses: list[tuple[Array, Array]]
    limits: list[scenes.Limit]
    radius: float


def measure(
    shells: dict[tuple[str, bool], list[rf.Pointshell]],
    target: Target,
) -> list[Curve]:
    """Return the errors of shells of one kind, several sizes, with areas and without."""
    curves = []
    for (name, weighted), sizes in shells.items():
        curve = Curve(name, weighted)
        for shell in sizes:
            of_force, of_torque, touching = [], [], []
            contact = rf.PenaltyContact(
                rf.PointTree(shell),
                target.field,
                STIFFNESS,
                None,
                area_weights=weighted,
                direction="normal",
            )
            for (position, q), exact in zip(target.poses, target.limits, strict=True):
                out = contact.evaluate(position, q)
                size = float(np.linalg.norm(exact.force))
                # about the centre of the shell, the origin
                torque = out.torque + np.cross(position, out.force)
                expected = exact.torque + np.cross(position, exact.force)
                of_force.append(np.linalg.norm(out.force - exact.force) / size)
                of_torque.append(np.linalg.norm(torque - expected) / size / target.radius)
                touching.append(out.touching)
            curve.points.append(shell.n_points)
            curve.touching.append(float(np.mean(touching)))
            curve.error.append(float(np.sqrt(np.mean(np.square(of_force)))))
            curve.torque.append(float(np.sqrt(np.mean(np.square(of_torque)))))
        curves.append(curve)
    return curves


def shells_of(
    surface: rf.Surface,
    levels: int,
    place: Callable[[Array], tuple[Array, Array]],
    finest: int,
    resolution: int = 128,
) -> dict[tuple[str, bool], list[rf.Pointshell]]:
    """Return shells of all kinds, coarse ones first.

    Parameters
    ----------
    surface
        Surface that they sample.
    levels
        Of the shell by repulsion; the others have about as many points, a level fewer.
    place
        Gives points on the very surface and inward normals there for directions (n, 3).
    finest
        Points of the last level.
    resolution
        Of the field that they repel each other on.
    """
    nested = rf.Pointshell.from_surface(surface, finest, levels, 0, resolution)
    made: dict[tuple[str, bool], list[rf.Pointshell]] = {}
    sizes = np.cumsum(nested.level_counts)
    repulsed = [nested.up_to(level) for level in range(levels)]
    made[REPULSION, False] = repulsed
    made[RANDOM, False] = [scenes.random_shell(surface, int(n), 7) for n in sizes]
    # three points where a cell of rays meets the surface on average 1.5 times a square of rays
    span = float(np.ptp(surface.bounds, axis=0).max())
    made[DEPTH_CUBE, False] = [
        rf.Pointshell.from_depth_cube(
            surface, round(span / np.sqrt(1.5 * surface.area / n)), areas=True
        )
        for n in sizes[:-1]
    ]
    made[VOXELS, False] = [
        rf.Pointshell.from_voxels(
            surface, round(span / np.sqrt(1.5 * surface.area / n)), areas=True
        )
        for n in sizes[:-1]
    ]
    uneven = []
    for n in sizes[:-1]:
        unit = scenes.directions(int(n)) + np.array([1.0 / 3.0, 0.0, 0.0])
        uneven.append(rf.Pointshell(*place(unit / np.linalg.norm(unit, axis=1)[:, None])))
    made[VERTICES, False] = uneven
    # on the very surface, but for centres of voxels, which are not
    for name in (REPULSION, RANDOM, DEPTH_CUBE):
        made[name, False] = [
            rf.Pointshell(
                *place(s.points / np.linalg.norm(s.points, axis=1)[:, None]),
                s.levels if name == REPULSION else None,
                s.areas,
            )
            for s in made[name, False]
        ]
    for name in (REPULSION, RANDOM, DEPTH_CUBE, VOXELS, VERTICES):
        made[name, True] = [
            scenes.flat(
                shell,
                scenes.voronoi_areas(shell, surface) if shell.areas is None else shell.areas,
            )
            for shell in made[name, False][: levels - 1]
        ]
    return made


def poses_around(radius: float, n: int) -> list[Array]:
    """Return n unit quaternions, evenly random."""
    draw = np.random.default_rng(3)
    q = draw.normal(size=(n, 4))
    return list(q / np.linalg.norm(q, axis=1)[:, None])


def ball(
    levels: int,
    finest: int,
    poses: int,
    radius: float,
    deep: float,
    resolution: int,
    subdivisions: int,
) -> Case:
    """Return the errors for a ball pressed into a half-space."""
    unit, faces = scenes.icosphere(subdivisions - 1)
    surface = rf.Surface(radius * unit, faces)
    field = rf.PlaneField([0.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    shells = shells_of(surface, levels, lambda u: (radius * u, -u), finest, resolution)
    size = STIFFNESS * scenes.SCALED * deep * (3.0 - deep / radius) / 6.0
    area = 2.0 * np.pi * radius * deep
    placed, limits = [], []
    for q in poses_around(radius, poses):
        normal = scenes.rotation(q)[:, 2]
        position = (deep - radius) * normal
        placed.append((position, q))
        # the force goes through the centre of the ball
        limits.append(scenes.Limit(-size * normal, np.cross(position, size * normal), area))
    curves = measure(shells, Target(field, placed, limits, radius))
    title = "a ball in a half-space, against the closed form"
    return Case("ball", title, curves, deep, 0.0, area / (4.0 * np.pi * radius**2))


def bodies(
    levels: int, finest: int, poses: int, radius: float, resolution: int, subdivisions: int
) -> Case:
    """Return the errors for a bumpy ball against another one on a grid."""
    bumps, height = 40, 0.1 * radius

    def place(unit: Array) -> tuple[Array, Array]:
        x = unit * scenes.bumpy_radius(unit, radius, bumps, height)[:, None]
        # normals of r(u): the gradient of |x| - r(x / |x|), by differences across
        inward = np.zeros_like(x)
        for axis in range(3):
            step = np.zeros(3)
            step[axis] = 1e-6 * radius
            values = []
            for sign in (1.0, -1.0):
                y = x + sign * step
                size = np.linalg.norm(y, axis=1)
                values.append(size - scenes.bumpy_radius(y / size[:, None], radius, bumps, height))
            inward[:, axis] = values[1] - values[0]
        return x, inward / np.linalg.norm(inward, axis=1)[:, None]

    surface = scenes.bumpy(radius, bumps, height, subdivisions)
    other = scenes.bumpy(radius, bumps - 4, height, 5)
    field = rf.DistanceField.from_surface(other, resolution=resolution, expand=1.2, mode="fast")
    voxel = float(field.spacing.max())
    shells = shells_of(
        scenes.bumpy(radius, bumps, height, subdivisions - 1), levels, place, finest, resolution
    )
    placed, limits = [], []
    deepest, share = [], []
    for q, way in zip(poses_around(radius, poses), scenes.directions(poses), strict=True):
        # a tenth of the radius deep, about; both turn from pose to pose
        position = (1.0 + 0.95) * radius * way
        limit = scenes.limit(surface, field, position, q, STIFFNESS, 0.5 * voxel)
        if limit.area < 0.01 * surface.area:
            raise rf.InputError(f"the bodies hardly touch in pose {len(placed)}")
        placed.append((position, q))
        limits.append(limit)
        d = field.distance(scenes.to_body(surface.vertices, position, q))
        deepest.append(-float(d.min()))
        share.append(limit.area / surface.area)
    curves = measure(shells, Target(field, placed, limits, radius))
    title = "bumpy balls, one on a grid, against quadrature"
    return Case("bodies", title, curves, float(np.mean(deepest)), voxel, float(np.mean(share)))


def run(
    levels: int = 5,
    finest: int = 128_000,
    poses: int = 24,
    resolution: int = 128,
    subdivisions: int = 7,
    tell: Callable[[str], None] = lambda text: None,
) -> list[Case]:
    """Run both cases.

    Parameters
    ----------
    levels, finest
        Of the shells by repulsion: levels, and points on the last one.
    poses
        Over which errors are averaged.
    resolution
        Of the grid.
    subdivisions
        Of the triangles that the second limit is computed on.
    tell
        Called with a line now and then.
    """
    cases = []
    for make in (
        lambda: ball(levels, finest, poses, 0.1, 0.01, resolution, subdivisions),
        lambda: bodies(levels, finest, poses, 0.1, resolution, subdivisions),
    ):
        start = time.perf_counter()
        cases.append(make())
        tell(f"{cases[-1].name}: {time.perf_counter() - start:.1f} s")
    return cases


def plot(cases: list[Case], path: Path) -> None:
    """Draw the errors over the number of points."""
    pictures.require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 8), layout="constrained")
    grid = figure.subplots(len(cases), 2, sharex=True, sharey="row", squeeze=False)
    for row, case in zip(grid, cases, strict=True):
        for ax, weighted in zip(row, (False, True), strict=True):
            for curve in case.curves:
                if curve.weighted != weighted:
                    continue
                colour, marker = STYLES[curve.name]
                ax.loglog(
                    curve.points,
                    curve.error,
                    color=colour,
                    marker=marker,
                    ms=5,
                    lw=2.0 if curve.name == REPULSION else 1.2,
                    label=f"{curve.name} ({curve.order:.2f})",
                )
            # slopes to compare with, through a point of the random shells
            if not weighted:
                start = case.curve(RANDOM)
                n = np.array([start.points[0], start.points[-1]], dtype=float)
                for order, style in ((0.5, ":"), (1.0, "--")):
                    ax.loglog(
                        n,
                        1.3 * start.error[0] * (n / n[0]) ** -order,
                        "0.6",
                        ls=style,
                        lw=1.0,
                        label=f"order {order:g}",
                    )
            ax.set_title(
                f"{case.title}\n{'weighted by areas' if weighted else 'equal weights'}", fontsize=9
            )
            ax.grid(alpha=0.3, which="both")
            ax.legend(fontsize=7, loc="lower left")
        row[0].set_ylabel("error of the force")
    for ax in grid[-1]:
        ax.set_xlabel("points of the shell")
    figure.suptitle(
        "Contact force under refinement: distance to the limit (3.2), and order in the number "
        "of points",
        fontsize=11,
    )
    pictures.save_figure(figure, path, dpi=120)


def perform(arguments: argparse.Namespace) -> None:
    """Print the numbers and draw the plot."""

    def tell(text: str) -> None:
        if not arguments.quiet:
            print(f"... {text}", file=sys.stderr, flush=True)

    cases = run(
        arguments.levels, arguments.points, arguments.poses, arguments.resolution, tell=tell
    )
    print("\n\n".join(case.table() for case in cases))
    plot(cases, arguments.plot)


def main() -> int:
    """Run from the command line."""
    parser = command.options(__file__, __doc__, "about 30 s")
    parser.add_argument("--points", type=int, default=128_000, help="of the finest shell (128000)")
    parser.add_argument("--levels", type=int, default=5, help="of the shell (5)")
    parser.add_argument("--poses", type=int, default=24, help="to average over (24)")
    parser.add_argument("--resolution", type=int, default=128, help="voxels of the grid (128)")
    parser.add_argument("--quiet", action="store_true", help="no lines about progress")
    return command.run(perform, command.parse(parser, levels=2, poses=1))


if __name__ == "__main__":
    sys.exit(main())
