"""A clip and a rigid or deformable pipe in a haptic session (Duriez et al. 2006, section 7.2).

The scenes `snap-in` and `snap-in-soft`: a hand pushes the pipe into the clip and pulls it out. The
force on the hand is compared with a closed form of springs in series. At the angle theta from the
plane of the tips, the edge of a lip presses on the pipe with F_z, and with F_x = tau F_z along the
way of the hand, tau = (t + mu) / (1 - mu t), t = tan(theta). It bends the branch by
b_zz F_z - b_zx F_x and dents the pipe by c_zz F_z + c_zx F_x, so that with a, the distance of the
tips from the axis at rest, and R, the radius of the pipe,

    F = 2 tau (R cos(theta) - a) / (b_zz -+ b_zx tau + c_zz + c_zx tau),

with - at the outer edges of the lips and + at the inner ones, and mu < 0 while the pipe falls in or
out. The compliances b of a branch and c of the pipe at theta are those of the solids, not of their
reduced models. The closed form leaves out that the wall of the pipe turns where it is dented, and
that lips are not sharp: between the humps of both edges the pipe slides along a lip.

Run it for the table and the plot:  python experiments/d06_snap_in_session.py [--help]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import command
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import reducedfem as rf
from reducedfem import plot as pictures
from reducedfem.scenes import pipe, shapes, snap_in

Array = NDArray[np.float64]

HALF = 0.0065  # m, of the tips from the axis
EDGES = {"outer": (0.030, 1.0), "inner": (0.028, -1.0)}  # m from the root; sign of the way out
COEFFICIENTS = (0.0, 0.2, 0.4)
CYCLES = 4000
POINTS = 4000
ANGLES = np.deg2rad([-45.0, -30.0, -15.0, 0.0, 15.0, 30.0, 45.0])
SMALL = 1e-3  # N

ROWS = (
    ("outer", True, "in, pushed over the outer edges"),
    ("inner", True, "in, drawn over the inner edges"),
    ("inner", False, "out, pulled over the inner edges"),
    ("outer", False, "out, driven off the outer edges"),
)


def symmetric(compliance: Array) -> Array:
    """Return a compliance without its rounding errors."""
    return 0.5 * (compliance + compliance.T)


def branch_compliance(edge: float) -> Array:
    """Return the compliance (2, 2) [m/N] of an edge of a lip along x and away from the axis."""
    mesh = shapes.branch(1)
    x, _, z = np.asarray(mesh.nodes).T
    solid = rf.Solid(mesh, rf.StVK(700e6, 0.35, 1200.0), fixed=x < 1e-9)
    line = np.flatnonzero((np.abs(x - edge) < 1e-9) & (np.abs(z - HALF) < 1e-9))
    result = np.zeros((2, 2))
    for column, axis in enumerate((0, 2)):
        force = np.zeros((mesh.n_nodes, 3))
        force[line, axis] = SMALL / len(line)
        result[:, column] = solid.solve_static(force)[line][:, [0, 2]].mean(axis=0) / SMALL
    return symmetric(result)


def pipe_compliances() -> Array:
    """Return compliances (angle, 2, 2) [m/N] of the upper line of the pipe, pressed on both."""
    mesh = pipe.mesh()
    ends = np.abs(np.asarray(mesh.nodes)[:, 1]) > 0.5 * pipe.LENGTH - 1e-9
    solid = rf.Solid(mesh, pipe.RUBBER, fixed=ends)
    result = np.zeros((len(ANGLES), 2, 2))
    for k, angle in enumerate(ANGLES):
        upper, lower = pipe.loads(mesh, angle)
        for column, (axis, mirrored) in enumerate(((0, 1.0), (2, -1.0))):
            force = np.zeros((mesh.n_nodes, 3))
            force[upper, axis] = SMALL / len(upper)
            force[lower, axis] = mirrored * SMALL / len(lower)
            moved = solid.solve_static(force)[upper][:, [0, 2]]
            result[k, :, column] = moved.mean(axis=0) / SMALL
        result[k] = symmetric(result[k])
    return result


def closed_form(mu: float, edge: Array, outside: float, dents: Array | None) -> tuple[Array, Array]:
    """Return places of the pipe from an edge [m], and the force of both branches there [N].

    Parameters
    ----------
    mu
        Coefficient of friction; negative while the clip moves the pipe.
    edge
        Compliance of the edge.
    outside
        1 for an outer edge, which pushes the pipe out of the clip, -1 for an inner one.
    dents
        Compliances of the pipe at `ANGLES`; None: a rigid pipe.
    """
    theta = np.linspace(0.0, np.arccos(HALF / pipe.RADIUS), 400)
    t = np.tan(theta)
    tau = (t + mu) / (1.0 - mu * t)
    gives = edge[1, 1] - outside * edge[0, 1] * tau
    if dents is not None:
        gives = gives + np.interp(theta, ANGLES, dents[:, 1, 1])
        gives = gives + np.interp(theta, ANGLES, dents[:, 0, 1]) * tau
    force = 2.0 * tau * (pipe.RADIUS * np.cos(theta) - HALF) / gives
    return outside * pipe.RADIUS * np.sin(theta), outside * force


def ran(mu: float, soft: bool) -> NDArray[np.void]:
    """Return the records of a session: half of the cycles into the clip, half out of it."""
    times = 1e-3 * np.arange(CYCLES)
    part = times / times[-1]
    positions = np.zeros((CYCLES, 3))
    positions[:, 0] = np.interp(
        part, [0.0, 0.02, 0.48, 0.52, 1.0], [0.045, 0.045, 0.02, 0.02, 0.045]
    )
    hand = rf.ReplayDevice(times, positions, np.tile([1.0, 0.0, 0.0, 0.0], (CYCLES, 1)))
    limits = {"budget_us": 0, "max_force": 100, "max_torque": 10}
    session = snap_in.session(
        hand, soft_pipe=soft, friction=mu, points=POINTS, resolution=64, **limits
    )
    # stiffer than the clip, so that all places are visited
    session.coupling = rf.VirtualCoupling(3000.0, torsional_stiffness=2.0)
    return session.run(CYCLES).array


def halves(records: NDArray[np.void]) -> tuple[NDArray[np.void], NDArray[np.void]]:
    """Return the records of the way in and of the way out."""
    return records[: len(records) // 2], records[len(records) // 2 :]


def largest(records: NDArray[np.void], edge: str, into: bool) -> float:
    """Return the largest force [N] away from the middle of the clip, at an edge, on one way."""
    part = halves(records)[0 if into else 1]
    x, force = part["object_position"][:, 0], part["contact_force"][:, 0]
    at, outside = EDGES[edge]
    # beyond the lip
    return float((outside * force[outside * (x - at) > 1e-3]).max())


def expected(mu: float, edge: str, into: bool, dents: Array | None) -> float:
    """Return the same by the closed form [N]."""
    at, outside = EDGES[edge]
    pushed = into == (edge == "outer")
    _, force = closed_form(mu if pushed else -mu, branch_compliance(at), outside, dents)
    return float((outside * force).max())


def draw(runs: dict[tuple[float, bool], NDArray[np.void]], dents: Array, path: Path) -> None:
    """Draw the force over the place of the pipe: closed forms dashed."""
    figure = Figure(figsize=(10, 7), layout="constrained")
    grid = figure.subplots(2, 2, sharex=True)
    for (mu, soft), records in runs.items():
        color = f"C{COEFFICIENTS.index(mu)}"
        for into, part in zip((True, False), halves(records), strict=True):
            ax = grid[int(soft), 0 if into else 1]
            x, force = part["object_position"][:, 0], part["contact_force"][:, 0]
            ax.plot(1e3 * x, force, color=color, lw=1.2, label=f"mu = {mu}")
            for name, (edge, outside) in EDGES.items():
                signed = mu if into == (name == "outer") else -mu
                way, exact = closed_form(
                    signed, branch_compliance(edge), outside, dents if soft else None
                )
                ax.plot(1e3 * (edge + way), exact, "--", color="0.3", lw=0.8)
            ax.set(
                title=f"{'deformable' if soft else 'rigid'} pipe, {'in' if into else 'out'}",
                xlabel="pipe from the root of the clip [mm]",
                ylabel="force on the hand [N]",
            )
            ax.set_xlim(20.0, 36.0)
    grid[0, 0].legend()
    pictures.save_figure(figure, path, dpi=130)


def table(
    runs: dict[tuple[float, bool], NDArray[np.void]],
    dents: Array,
    say: Callable[[str], object] = print,
) -> None:
    """Print largest forces beside those of the closed form."""
    say("largest force [N]: session, closed form")
    say("  mu                                         rigid pipe   deformable pipe   their ratio")
    for mu in COEFFICIENTS:
        for edge, into, what in ROWS:
            found = [largest(runs[mu, soft], edge, into) for soft in (False, True)]
            exact = [expected(mu, edge, into, each) for each in (None, dents)]
            say(
                f"{mu:5.1f}  {what:36}{found[0]:7.3f}{exact[0]:7.3f}"
                f"{found[1]:11.3f}{exact[1]:7.3f}{found[1] / found[0]:8.2f}"
                f"{exact[1] / exact[0]:6.2f}"
            )


def perform(arguments: argparse.Namespace) -> None:
    """Print the numbers and draw the plot."""
    dents = pipe_compliances()
    runs = {(mu, soft): ran(mu, soft) for mu in COEFFICIENTS for soft in (False, True)}
    table(runs, dents)
    draw(runs, dents, arguments.plot)


def main() -> int:
    """Run from the command line."""
    return command.run(perform, command.options(__file__, __doc__).parse_args())


if __name__ == "__main__":
    sys.exit(main())
