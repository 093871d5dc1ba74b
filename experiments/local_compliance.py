"""Contact stiffness of reduced models under a small ball, with and without local compliance.

A ball of 5 mm is pressed into a block and into a statue, in a haptic session; on its way it rests
at several depths. The force there is compared with that of the unreduced solid under a ball at the
same place, at the same points and without friction: by linear statics, and by statics of large
deformations of two materials that are alike at rest, StVK, which softens where it is compressed,
and StableNeoHookean. Large deformations are found by contacts with the Green's functions at rest
and statics of the solid in turn, to 1e-3 of the force. The ball is pressed into a model of 30
coordinates, the same with a `LocalCompliance`, with one that has the second order of StVK, and a
surface of linear statics (a rigid tree with a local compliance, without a model).

Mark: with local compliance the force is within 5 % of those of linear statics and of the second
material, and with the second order within 5 % of that of StVK.

Run it for the numbers and the plot:  python experiments/local_compliance.py [--help]
"""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import command
import numpy as np
from boxes import box
from matplotlib.figure import Figure
from numpy.typing import NDArray

import reducedfem as rf
from reducedfem import plot as pictures
from reducedfem.scenes import shapes

Array = NDArray[np.float64]
Law = type[rf.StVK] | type[rf.StableNeoHookean]

RADIUS = 5e-3  # m, of the ball
SIDE = 0.04  # m, of the block
YOUNG, POISSON, DENSITY = 1e5, 0.4, 1000.0
R = 30  # coordinates
PRESSED = (5e-5, 1e-4, 2e-4, 4e-4)  # m, by the hand, one after the other
COUPLING = 2e4  # N/m
CYCLES = 1000  # at each depth, half of them on the way
CLEAR = 2e-4  # m, where the ball begins
PATCH = 1.0  # radius of the shell, over that of the ball
MARK = 0.05
CONVERGED, RELAXED = 1e-3, 0.5
MOST_STEPS = 20
CELLS, EDGE = 11, 6e-4  # of the block, along half of its side, and the smallest edge, m
LONGEST = 0.2  # m, side of other surfaces
RESOLUTION = 56  # of these, along the longest side
POINTS = 16000  # of surfaces
LAWS = (rf.StVK, rf.StableNeoHookean)
REACH = 2.0 * PATCH * RADIUS  # of the second order: all points, as those of the statue are dense
METHODS = ("reduced", "with local compliance", "with second order", "linear statics")


@dataclass(frozen=True)
class Body:
    """A solid, points of its surface near a place, and the direction into it there."""

    name: str
    solid: rf.Solid
    points: Array
    normals: Array  # inward
    place: Array
    inward: Array


def solid_of(mesh: rf.Mesh, law: Law, fixed: NDArray[np.generic]) -> rf.Solid:
    """Return a solid; the volume of whole cells at a surface is too large, as it may be here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rf.PlausibilityWarning)
        return rf.Solid(mesh, law(YOUNG, POISSON, DENSITY), fixed=fixed)


def ticks(half: float, least: float, cells: int) -> Array:
    """Return places from 0 to `half`, a distance `least` apart at first, and ever more."""
    low, high = 1.0, 3.0
    for _ in range(60):
        growth = 0.5 * (low + high)
        low, high = (
            (growth, high) if least * sum(growth ** np.arange(cells)) < half else (low, growth)
        )
    return np.concatenate([[0.0], np.cumsum(least * growth ** np.arange(cells))])


def block() -> Body:
    """Return a block of hexahedra, small near the ball, and the nodes on top near its middle."""
    side = ticks(SIDE / 2, EDGE, CELLS)
    x, z = np.concatenate([-side[:0:-1], side]), -ticks(SIDE / 2, EDGE, CELLS)[::-1]
    mesh = box(x, x, z)
    nodes = mesh.nodes
    solid = solid_of(mesh, rf.StVK, nodes[:, 2] <= z[0])
    near = (nodes[:, 2] == 0.0) & (np.hypot(nodes[:, 0], nodes[:, 1]) < PATCH * RADIUS)
    inward = np.array([0.0, 0.0, -1.0])
    return Body("block", solid, nodes[near], np.tile(inward, (near.sum(), 1)), np.zeros(3), inward)


def body_of(surface: rf.Surface, name: str) -> Body:
    """Return a body of 20 cm that is held at its back, and points on its front, along x.

    Whole cells, half of them outside: nodes of nearly empty cut cells would give way far too much.
    """
    low, size = surface.vertices.min(axis=0), np.ptp(surface.vertices, axis=0)
    surface = rf.Surface((surface.vertices - low) * LONGEST / size.max(), surface.triangles)
    mesh = rf.voxelize(surface, RESOLUTION, order=1, cut=False)
    middle, depth = 0.5 * surface.vertices.max(axis=0), np.ptp(surface.vertices[:, 0])
    fixed = mesh.nodes[:, 0] < 0.2 * depth
    solid = solid_of(mesh, rf.StVK, fixed)
    shell = rf.Pointshell.from_surface(surface, POINTS)
    away = np.linalg.norm((shell.points - middle)[:, 1:], axis=1)
    front = (shell.normals[:, 0] < -0.9) & (shell.points[:, 0] > 0.5 * depth)
    if not front.any():
        raise rf.InputError(f"{name} has no place that faces the front (along x)")
    at = np.flatnonzero(front)[away[front].argmin()]
    near = np.linalg.norm(shell.points - shell.points[at], axis=1) < PATCH * RADIUS
    return Body(
        name, solid, shell.points[near], shell.normals[near], shell.points[at], shell.normals[at]
    )


class Unreduced:
    """The solid under the ball: statics with contact at the points, without friction."""

    def __init__(self, body: Body, law: Law) -> None:
        self._solid = solid_of(body.solid.mesh, law, body.solid.fixed)
        self._at = rf.Embedding(body.solid.mesh, body.points)
        self._rest = body.points
        free = np.setdiff1d(self._at.nodes[self._at.weights != 0.0], body.solid.fixed)
        green = rf.GreensFunctions(self._solid, free)
        share = np.zeros((len(body.points), body.solid.mesh.n_nodes))
        np.put_along_axis(share, self._at.nodes, self._at.weights, axis=1)
        share = np.kron(share[:, green.nodes], np.eye(3))
        self._compliance = share @ green.matrix @ share.T

    def force(self, centre: Array, linear: bool = False) -> Array:
        """Return the force on a ball at a place, by statics or linear statics of the solid."""
        n = len(self._rest)
        force, u, whole = np.zeros((n, 3)), np.zeros((n, 3)), None
        for _ in range(MOST_STEPS):
            away = self._rest + u - centre
            distance = np.linalg.norm(away, axis=1)
            normal = away / distance[:, None]
            rows = np.zeros((n, 3 * n))
            np.put_along_axis(rows, np.arange(3 * n).reshape(n, 3), normal, axis=1)
            moved = (self._compliance @ force.ravel()).reshape(n, 3)
            gap = distance - RADIUS - (normal * moved).sum(axis=1)
            # contacts along the normal alone: the tangents are free of forces
            along = rows @ self._compliance @ rows.T
            W, free = np.eye(3 * n) * along.max(), np.zeros((n, 3))
            W[::3, ::3], free[:, 0] = along, gap
            change = rf.solve_friction(W, free, 0.0).force[:, :1] * normal - force
            # whole steps go back and forth where the solid has become softer or stiffer
            force = force + (1.0 if linear or whole is None else RELAXED) * change
            if np.abs(change).sum() <= CONVERGED * np.abs(force).sum():
                break
            if linear:
                u = (self._compliance @ force.ravel()).reshape(n, 3)
                continue
            load = self._at.distribute(force)
            whole = self._solid.solve_static(load, tol=1e-6, u0=whole)
            u = self._at.interpolate(whole)
        total: Array = -force.sum(axis=0)
        return total


@dataclass(frozen=True)
class Pressed:
    """A ball at rest at several depths."""

    centre: Array  # m, (k, 3)
    force: Array  # on the ball, N, (k, 3)
    touching: NDArray[np.int32]
    microseconds: float  # of a cycle in contact, median


def press(body: Body, contact: rf.FrictionContact, simulation: rf.BackwardEuler | None) -> Pressed:
    """Press the ball in and let it rest at each depth."""
    outward = -body.inward
    start = tuple(map(float, body.place + (RADIUS + CLEAR) * outward))
    ways = np.concatenate([[-CLEAR], PRESSED])
    part = np.minimum(np.arange(1, CYCLES + 1) / (CYCLES // 2), 1.0)
    deep = (ways[:-1, None] + np.diff(ways)[:, None] * part).ravel()
    path = body.place + (RADIUS - deep[:, None]) * outward
    upright = (1.0, 0.0, 0.0, 0.0)
    device = rf.ReplayDevice(1e-3 * np.arange(len(path)), path, np.tile(upright, (len(path), 1)))
    session = rf.HapticSession(
        contact,
        device,
        coupling=rf.VirtualCoupling(COUPLING, torsional_stiffness=1.0),
        simulation=simulation,
        budget_us=0,
        max_force=100.0,
        workspace=rf.Workspace(start=(start, upright)),
    )
    records = session.run(len(path)).array
    rest = records[CYCLES - 1 :: CYCLES]
    touching = records["touching"] > 0
    median = float(np.median(records["compute_us"][touching]))
    return Pressed(rest["object_position"], rest["contact_force"], rest["touching"], median)


@dataclass(frozen=True)
class Result:
    """Forces along the direction of pressing, by method, and those of the solid at these places."""

    pressed: dict[str, Pressed]
    depth: dict[str, Array]  # m
    force: dict[str, Array]  # N
    true: dict[str, Array]  # of linear statics of the solid with the ball there
    large: tuple[Array, ...]  # of large deformations, at the places of the second method, by law
    softened: Array  # of StVK, at the places of the third
    lacking: float  # share of the compliance at the place

    def error(self, method: str) -> Array:
        """Return the relative error of the force at each depth."""
        return self.force[method] / self.true[method] - 1.0

    def large_error(self, law: int) -> Array:
        """Return the error with local compliance against large deformations."""
        return self.force[METHODS[1]] / self.large[law] - 1.0

    def softened_error(self) -> Array:
        """Return the error with the second order against large deformations of StVK."""
        return self.force[METHODS[2]] / self.softened - 1.0


def measure(body: Body) -> Result:
    """Press the ball into a body in three ways, and solve for the solid at the same places."""
    shell = rf.Pointshell(body.points, body.normals)
    reduced = rf.reduce(body.solid, rf.modal_derivative_basis(body.solid, R // 3, R))
    tree, rigid = rf.PointTree(shell, reduced), rf.PointTree(shell)
    ball = rf.SphereField((0.0, 0.0, 0.0), RADIUS)
    local = rf.LocalCompliance(tree, body.solid)
    second = rf.LocalCompliance(tree, body.solid, reach=REACH)
    contacts = [
        rf.FrictionContact(tree, ball, 0.0, budget_us=1e5),
        rf.FrictionContact(tree, ball, 0.0, budget_us=1e5, local=local),
        rf.FrictionContact(tree, ball, 0.0, budget_us=1e5, local=second),
        rf.FrictionContact(
            rigid, ball, 0.0, budget_us=1e5, local=rf.LocalCompliance(rigid, body.solid)
        ),
    ]
    solids = [Unreduced(body, law) for law in LAWS]
    pressed, depth, force, true = {}, {}, {}, {}
    for method, contact in zip(METHODS, contacts, strict=True):
        moves = None
        if contact.tree.reduced is not None:
            moves = rf.BackwardEuler(reduced, 1e-3, damping=(0.0, 1e-3))
        one = pressed[method] = press(body, contact, moves)
        depth[method] = RADIUS + (one.centre - body.place) @ body.inward
        force[method] = -one.force @ body.inward
        true[method] = np.array([-solids[0].force(c, True) @ body.inward for c in one.centre])

    def forces(solid: Unreduced, method: str) -> Array:
        return np.array([-solid.force(c) @ body.inward for c in pressed[method].centre])

    large = tuple(forces(one, METHODS[1]) for one in solids)
    softened = forces(solids[0], METHODS[2])
    at = np.linalg.norm(body.points - body.place, axis=1).argmin()
    return Result(pressed, depth, force, true, large, softened, float(local.lacking[at]))


def misses(name: str, result: Result) -> list[str]:
    """Return the depths at which the mark is missed."""
    marked = (
        (METHODS[1], result.error(METHODS[1])),
        (METHODS[1], result.large_error(1)),
        (METHODS[2], result.softened_error()),
    )
    return [
        f"{name}: the force is off by {error:.1%} at {1e3 * depth:.3f} mm"
        for method, errors in marked
        for depth, error in zip(result.depth[method], errors, strict=True)
        if not abs(error) <= MARK
    ]


def draw(results: dict[str, Result], path: Path) -> None:
    """Draw forces over depths, and their ratios to those of the solid."""
    figure = Figure(figsize=(4.0 * len(results), 5.4), layout="constrained")
    rows = figure.subplots(2, len(results), squeeze=False)
    for column, (name, one) in enumerate(results.items()):
        upper, lower = rows[:, column]
        fine = METHODS[1]
        upper.plot(
            1e3 * one.depth[fine], one.true[fine], color="0.6", lw=4.0, label="solid, linear"
        )
        for law, large, style in zip(LAWS, one.large, ("--", ":"), strict=True):
            label = f"solid, {law.__name__}"
            upper.plot(1e3 * one.depth[fine], large, color="0.2", lw=1.0, ls=style, label=label)
        for k, (method, style) in enumerate(zip(METHODS, ("s-", "o-", "^-", "x:"), strict=True)):
            depth = 1e3 * one.depth[method]
            lower.semilogy(
                depth,
                one.force[method] / one.true[method],
                style,
                ms=4,
                color=f"C{k}",
                label=method,
            )
            if method != METHODS[0]:
                upper.plot(depth, one.force[method], style, ms=4, lw=1, color=f"C{k}", label=method)
        upper.set(title=name, ylabel="force [N]", xlim=(0, None), ylim=(0, None))
        lower.set(xlabel="depth of the ball [mm]", ylabel="over linear statics", xlim=(0, None))
        for axes in (upper, lower):
            axes.legend(frameon=False, fontsize=8)
    pictures.save_figure(figure, path, dpi=130)


def report(name: str, result: Result) -> None:
    """Print the rows of a body."""
    print(f"{name}: {R} coordinates lack {result.lacking:.0%} of the compliance at the place")
    print("method                 depth [mm]  sites  force [N]  solid, linear     error     StVK"
          "     error  StableNeoHookean     error")  # fmt: skip
    for method in METHODS:
        depth, force, true = result.depth[method], result.force[method], result.true[method]
        touching = result.pressed[method].touching
        for k in range(len(depth)):
            more = ""
            if method == METHODS[1]:
                for law, wide in enumerate((9, 18)):
                    more += f"{result.large[law][k]:{wide}.4f}  {result.large_error(law)[k]:+8.1%}"
            if method == METHODS[2]:
                more = f"{result.softened[k]:9.4f}  {result.softened_error()[k]:+8.1%}"
            print(f"{method:21}  {1e3 * depth[k]:10.3f}  {touching[k]:5}  {force[k]:9.4f}  "
                  f"{true[k]:13.4f}  {result.error(method)[k]:+8.1%}{more}")  # fmt: skip
        print(f"    a cycle in contact: {result.pressed[method].microseconds:.0f} us (median)")
    print()


def perform(arguments: argparse.Namespace) -> list[str]:
    """Print the numbers, draw the plot, and return the marks that are missed."""
    missed: list[str] = []
    results: dict[str, Result] = {}
    other = arguments.surface
    surface = shapes.statue() if other is None else rf.read_surface(other)
    for body in (block(), body_of(surface, "statue" if other is None else other.stem)):
        results[body.name] = measure(body)
        report(body.name, results[body.name])
        missed += misses(body.name, results[body.name])
    draw(results, arguments.plot)
    return missed


def main() -> int:
    """Run from the command line."""
    parser = command.options(__file__, __doc__)
    parser.add_argument(
        "--surface", type=Path, help="file of another closed surface, its front along x"
    )
    return command.run(perform, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
