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

Run it for the numbers and plots:  python benchmarks/b07_3_13_convergence.py [--help]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

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
        return "\n".join(lines)


@dataclass(frozen=True)
class Target:
    """What the shells are pressed into: a field, its poses and the limits in them."""

    field: rf.Field
    poses: list[tuple[Array, Array]]
    limits: list[scenes.Limit]
    radius: float


def measure(
    shells: dict[tuple[str, bool], list[rf.Pointshell]],
    target: Target,
    direct: bool = False,
) -> list[Curve]:
    """Return the errors of shells of one kind, several sizes, with areas and without."""
    curves = []
    for (name, weighted), sizes in shells.items():
        curve = Curve(name, weighted)
        for shell in sizes:
            of_force, of_torque, touching = [], [], []
            for (position, q), exact in zip(target.poses, target.limits, strict=True):
                force, torque, n = evaluate(shell, target.field, position, q, weighted, direct)
                size = float(np.linalg.norm(exact.force))
                # about the centre of the shell, the origin
                torque = torque + np.cross(position, force)
                expected = exact.torque + np.cross(position, exact.force)
                of_force.append(np.linalg.norm(force - exact.force) / size)
                of_torque.append(np.linalg.norm(torque - expected) / size / target.radius)
                touching.append(n)
            curve.points.append(shell.n_points)
            curve.touching.append(float(np.mean(touching)))
            curve.error.append(float(np.sqrt(np.mean(np.square(of_force)))))
            curve.torque.append(float(np.sqrt(np.mean(np.square(of_torque)))))
        curves.append(curve)
    return curves


def evaluate(
    shell: rf.Pointshell,
    field: rf.Field,
    position: Array,
    q: Array,
    weighted: bool,
    direct: bool,
) -> tuple[Array, Array, int]:
    """Return force, torque and number of points in contact."""
    return scenes.plain(shell, field, position, q, STIFFNESS, shell.areas if weighted else None)


def shells_of(
    surface: rf.Surface,
    levels: int,
    place: Callable[[Array], tuple[Array, Array]],
    finest: int,
) -> dict[tuple[str, bool], list[rf.Pointshell]]:
    """Return shells of all kinds, coarse ones first.

    Parameters
    ----------
    surface
        What they sample.
    levels
        Of the shell by repulsion; the others have about as many points, a level fewer.
    place
        Gives points on the very surface and inward normals there for directions (n, 3).
    finest
        Points of the last level.
    """
    nested = rf.Pointshell.from_surface(surface, points=finest, levels=levels, rng=0)
    made: dict[tuple[str, bool], list[rf.Pointshell]] = {}
    sizes = np.cumsum(nested.level_counts)
    repulsed = [scenes.up_to(nested, level) for level in range(levels)]
    made[REPULSION, False] = repulsed
    made[RANDOM, False] = [scenes.random_shell(surface, int(n), 7) for n in sizes]
    # three points where a cell of rays meets the surface on average 1.5 times a square of rays
    span = float(np.ptp(surface.bounds, axis=0).max())
    made[DEPTH_CUBE, False] = [
        rf.Pointshell.from_depth_cube(surface, round(span / np.sqrt(1.5 * surface.area / n)))
        for n in sizes[:-1]
    ]
    made[VOXELS, False] = [
        rf.Pointshell.from_voxels(surface, round(span / np.sqrt(1.5 * surface.area / n)))
        for n in sizes[:-1]
    ]
    uneven = []
    for n in sizes[:-1]:
        unit = scenes.directions(int(n)) + [1.0 / 3.0, 0.0, 0.0]
        uneven.append(rf.Pointshell(*place(unit / np.linalg.norm(unit, axis=1)[:, None])))
    made[VERTICES, False] = uneven
    # on the very surface, but for centres of voxels, which are not
    for name in (REPULSION, RANDOM, DEPTH_CUBE):
        made[name, False] = [
            rf.Pointshell(
                *place(s.points / np.linalg.norm(s.points, axis=1)[:, None]),
                s.levels if name == REPULSION else None,
            )
            for s in made[name, False]
        ]
    for name in (REPULSION, RANDOM, DEPTH_CUBE, VOXELS, VERTICES):
        made[name, True] = [
            scenes.flat(shell, scenes.voronoi_areas(shell, surface))
            for shell in made[name, False][: levels - 1]
        ]
    return made
