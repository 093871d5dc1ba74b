"""Contact when the roles are reversed: two copies of a body slid into each other (B07 3.13).

The force of the contact model depends on which of two objects is the pointshell and which the
distance field: its limit is an integral of the gradient of the field's distance over the common
volume (B07, equation 3.5); with reversed roles, of that of the other object. The thesis moves
a copy of a dragon (256,000 points, a field of 256 voxels a side) on a straight line into another
one, 1,800 samples, and plots the raw force on the moving copy in both roles, with all points
traversed, and the penetration in voxels below (figures 3.29 and 3.30): "the error is quite
reasonable", for depths below a voxel, which is where simulations stay, "the difference is small".
It prints no values; all printed here are ours, for a ball with bumps or the
surface of --surface (a dragon is not available).

The last columns are of the limits of both forces by quadrature: what of the difference is the
model's, and what is sampling. There is none where triangles do not reach the field: that of a
surface which is not closed stands off from it.

Run it for the numbers and plots:  python experiments/b07_3_13_asymmetry.py [--help]
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import command
import contact_scenes as scenes
import numpy as np
from numpy.typing import NDArray

import reducedfem as rf
from reducedfem import plot as pictures

Array = NDArray[np.float64]

STIFFNESS = 100.0  # N/m of a point: 10 of them, L, make 1 N/mm
DEPTHS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # voxels, of the table
LIMITS = DEPTHS


@dataclass(frozen=True)
class Experiment:
    """Forces on the moving copy in both roles.

    Attributes
    ----------
    surface, turned
        The body, and the quaternion of the moving copy.
    start, way
        First position and whole displacement [m], (3,).
    voxel, points
        Of the field [m] and of the shell.
    forces, depths, touching
        For the roles (fixed copy is the shell, moving copy is the shell): [N], (2, n, 3);
        penetration [m], (2, n); points in contact, (2, n).
    limits
        For the samples `at`, the limits of the two forces [N], (2, len(at), 3).
    """

    surface: rf.Surface
    turned: Array
    start: Array
    way: Array
    voxel: float
    points: int
    forces: Array
    depths: Array
    touching: Array
    at: list[int]
    limits: Array
    seconds: dict[str, float]

    @property
    def direction(self) -> Array:
        """Unit vector of the motion."""
        return self.way / np.linalg.norm(self.way)

    @staticmethod
    def difference(forces: Array) -> Array:
        """Return the distance of the forces in both roles over their mean size, (2, n, 3)."""
        size = 0.5 * np.linalg.norm(forces, axis=2).sum(axis=0)
        apart: Array = np.linalg.norm(forces[0] - forces[1], axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(apart / size)

    def sample(self, voxels: float) -> int | None:
        """Return the first sample with that penetration in the first role; None: not reached."""
        deep = np.flatnonzero(self.depths[0] >= voxels * self.voxel)
        return int(deep[0]) if deep.size else None

    def table(self) -> str:
        """Return the numbers as text."""
        lines = [
            f"{self.surface.n_triangles} triangles, {self.points} points, voxels of "
            f"{1e3 * self.voxel:.2f} mm; {self.forces.shape[1]} samples over "
            f"{1e3 * np.linalg.norm(self.way):.1f} mm; "
            + ", ".join(f"{name} {s:.1f} s" for name, s in self.seconds.items()),
            "force on the moving copy; its part along the motion; roles: fixed copy is the "
            "shell / moving copy is the shell",
            "",
            f"{'depth [voxels]':>16}{'touching':>16}{'force [N]':>18}{'difference':>12}"
            f"{'of normal':>11}{'angle':>8}{'   limits, difference':>22}",
        ]
        for voxels in DEPTHS:
            i = self.sample(voxels)
            if i is None:
                continue
            first, second = self.forces[:, i]
            normal = -self.forces[:, i] @ self.direction
            sizes = np.linalg.norm(self.forces[:, i], axis=1)
            cosine = float(first @ second / np.prod(sizes)) if sizes.all() else 1.0
            apart = float(self.difference(self.forces)[i])
            limits = float(self.difference(self.limits)[self.at.index(i)]) if i in self.at else None
            depth = "/".join(f"{d / self.voxel:.2f}" for d in self.depths[:, i])
            touching = "/".join(f"{int(n)}" for n in self.touching[:, i])
            force = "/".join(f"{size:.4f}" for size in sizes)
            lines.append(
                f"{depth:>16}{touching:>16}{force:>18}{apart:>12.1%}"
                f"{(normal[1] - normal[0]) / normal.mean():>+11.1%}"
                f"{np.degrees(np.arccos(min(1.0, cosine))):>7.1f}°"
                + (
                    f"{limits:>22.1%}"
                    if limits is not None and np.isfinite(limits)
                    else f"{'-':>22}"
                )
            )
        return "\n".join(lines)


def body(subdivisions: int = 6) -> rf.Surface:
    """Return the body of the experiment: a ball of 12 cm with 90 bumps of 7 mm."""
    return scenes.bumpy(0.06, 90, 0.007, subdivisions)


def approach(field: rf.Field, shell: rf.Pointshell, q: Array, direction: Array) -> float:
    """Return how far [m] along `direction` the copies just touch, coming from outside."""
    size = float(np.ptp(shell.points, axis=0).max())
    way = 2.0 * size
    while way > -2.0 * size:
        d = float(field.distance(scenes.to_body(shell.points, way * direction, q)).min())
        if d < 1e-6 * size:
            return way
        # interpolated distances change by at most sqrt(3) m a metre
        way -= d / 1.7321
    raise rf.errors.InputError("the copies pass each other: there is no contact on this way")


def run(
    surface: rf.Surface,
    points: int = 256_000,
    levels: int = 5,
    resolution: int = 256,
    samples: int = 1800,
    deepest: float = 8.0,
    direction: tuple[float, float, float] = (0.25, -0.15, 1.0),
) -> Experiment:
    """Run the experiment.

    Parameters
    ----------
    surface
        The body; its copy is turned about all axes.
    points, levels, resolution
        Of the shell and the field of the body.
    samples
        Poses on the way.
    deepest
        Penetration at the end of the way, about [voxels].
    direction
        From the fixed copy to the moving one.
    """
    seconds: dict[str, float] = {}
    start = time.perf_counter()
    field = rf.DistanceField.from_surface(surface, resolution=resolution, expand=1.2, mode="fast")
    seconds["field"] = time.perf_counter() - start
    start = time.perf_counter()
    shell = rf.Pointshell.from_surface(surface, points, levels, 0, resolution)
    seconds["shell"] = time.perf_counter() - start
    tree = rf.PointTree(shell)
    voxel = float(field.spacing.max())

    unit = np.array(direction) / np.linalg.norm(direction)
    turned = scenes.of_rotation_vector([2.1, 0.7, -1.3])
    back = scenes.inverse(turned)
    touch = approach(field, shell, turned, unit)
    # a little room before, then as deep
    far = touch + 0.1 * deepest * voxel
    way = -1.15 * deepest * voxel * unit
    at = far * unit + np.linspace(0.0, 1.0, samples)[:, None] * way

    start = time.perf_counter()
    contact = rf.PenaltyContact(tree, field, STIFFNESS, None, direction="normal")
    first = scenes.replay(contact, scenes.Motion(at, np.tile(turned, (samples, 1))))
    # the pose of the fixed copy as the moving one sees it; what it feels is the reaction
    seen = -at @ scenes.rotation(turned)
    contact = rf.PenaltyContact(tree, field, STIFFNESS, None, direction="normal")
    second = scenes.replay(contact, scenes.Motion(seen, np.tile(back, (samples, 1))))
    forces = np.stack([first.force, -second.force @ scenes.rotation(turned).T])
    seconds["contact"] = time.perf_counter() - start

    depths = np.stack([first.depth, second.depth])
    start = time.perf_counter()
    chosen = [np.flatnonzero(depths[0] >= v * voxel) for v in LIMITS]
    samples_at = sorted({int(found[0]) for found in chosen if found.size})
    limits = np.zeros((2, len(samples_at), 3))
    for k, i in enumerate(samples_at):
        fine = voxel / 4
        limits[0, k] = scenes.limit(surface, field, at[i], turned, STIFFNESS, fine).force
        moving = scenes.limit(surface, field, seen[i], back, STIFFNESS, fine).force
        limits[1, k] = -scenes.rotation(turned) @ moving
    seconds["limits"] = time.perf_counter() - start
    return Experiment(
        surface,
        turned,
        at[0],
        way,
        voxel,
        shell.n_points,
        forces,
        depths,
        np.stack([first.touching, second.touching]),
        samples_at,
        limits,
        seconds,
    )


def plot(experiment: Experiment, path: Path) -> None:
    """Draw forces in both roles and the penetration over the way, all of it and the beginning."""
    pictures.require_matplotlib()
    from matplotlib.figure import Figure

    e = experiment
    n = e.forces.shape[1]
    # components across the motion, and along it
    along = -e.direction
    across = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
    across /= np.linalg.norm(across)
    axes_of = (across, np.cross(along, across), -along)
    names = ("across", "across, the other", "along the motion")
    one = next((i for i in (e.sample(1.0),) if i is not None), n - 1)
    figure = Figure(figsize=(12, 9), layout="constrained")
    grid = figure.subplots(3, 4, gridspec_kw={"height_ratios": [1.25, 1.0, 0.8]})
    x = np.arange(n)
    zoom = slice(max(0, int(0.06 * n)), min(n, int(1.15 * one) + 2))
    for row, part in ((1, slice(0, n)), (2, zoom)):
        for column, (axis, name) in enumerate(zip(axes_of, names, strict=True)):
            ax = grid[row, column]
            for k, style in ((0, {"color": "C3", "ls": "-"}), (1, {"color": "C0", "ls": "--"})):
                ax.plot(x[part], (e.forces[k] @ axis)[part], lw=1.3, **style)
            ax.set_title(f"{name} [N]", fontsize=9)
        ax = grid[row, 3]
        for k, style in ((0, {"color": "C3", "ls": "-"}), (1, {"color": "C0", "ls": "--"})):
            ax.plot(x[part], -e.depths[k][part] / e.voxel, lw=1.3, **style)
        ax.set_title("least distance [voxels]", fontsize=9)
        for ax in grid[row]:
            ax.axvline(one, color="C2", lw=1.0)
            ax.grid(alpha=0.3)
            ax.tick_params(labelsize=8)
            ax.set_xlim(x[part][0], x[part][-1])
        grid[row, 0].set_ylabel("all samples" if row == 1 else "to one voxel")
    for ax in grid[2]:
        ax.set_xlabel("sample", fontsize=8)
    gs = grid[0, 0].get_gridspec()
    for ax in grid[0]:
        ax.remove()
    surface = e.surface
    for column, i in enumerate((0, one, n - 1)):
        ax = figure.add_subplot(gs[0, column])
        moved = scenes.to_world(surface.vertices, e.start + i / (n - 1) * e.way, e.turned)
        image = scenes.picture(
            [
                (surface.vertices, surface.triangles, (0.55, 0.70, 0.50)),
                (moved, surface.triangles, (0.80, 0.62, 0.42)),
            ],
            (600, 600),
            azimuth=-60,
            elevation=12,
        )
        ax.imshow(image)
        ax.set_axis_off()
        ax.set_title(f"sample {i}", fontsize=9)
    ax = figure.add_subplot(gs[0, 3])
    deep = 0.5 * (e.depths[0] + e.depths[1]) / e.voxel
    apart = e.difference(e.forces)
    seen = deep > 0.02
    ax.loglog(deep[seen], apart[seen], color="0.35", lw=1.2, label="shells")
    if e.at:
        ax.loglog(deep[e.at], e.difference(e.limits), "kx", label="limits (3.2)")
    ax.axvline(1.0, color="C2", lw=1.0)
    ax.set_title("difference of the forces, relative", fontsize=9)
    ax.set_xlabel("penetration [voxels]", fontsize=8)
    ax.tick_params(labelsize=8)
    ax.grid(alpha=0.3, which="both")
    ax.legend(fontsize=8)
    figure.suptitle(
        "Raw force on the moving copy: the fixed one is the shell (red), the moving one is "
        "(blue, dashed); green: one voxel deep",
        fontsize=11,
    )
    pictures.save_figure(figure, path, dpi=120)


def perform(arguments: argparse.Namespace) -> None:
    """Print the numbers and draw the plot."""
    surface = scenes.read(arguments.surface) if arguments.surface else body()
    experiment = run(
        surface,
        arguments.points,
        arguments.levels,
        arguments.resolution,
        arguments.samples,
        arguments.deepest,
    )
    print(experiment.table())
    plot(experiment, arguments.plot)


def main() -> int:
    """Run from the command line."""
    parser = command.options(__file__, __doc__, "about 15 s")
    parser.add_argument("--surface", type=Path, help="a closed surface in place of the bumpy ball")
    parser.add_argument("--points", type=int, default=256_000, help="of the shell (256000)")
    parser.add_argument("--levels", type=int, default=5, help="of the shell (5)")
    parser.add_argument("--resolution", type=int, default=256, help="voxels of the field (256)")
    parser.add_argument("--samples", type=int, default=1800, help="poses on the way (1800)")
    parser.add_argument("--deepest", type=float, default=8.0, help="penetration [voxels] (8)")
    return command.run(perform, command.parse(parser, positive=("deepest",), samples=2))


if __name__ == "__main__":
    sys.exit(main())
