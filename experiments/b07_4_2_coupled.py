"""A stiff contact against a soft beam: object and beam in one solve, or one after the other.

In a cycle of Barbic 2007 (chapter 4) the object that is held moves to its balance against a shell
that stands still, and the shell then steps under the contact force of before that motion. The end
of section 4.2 leaves for later to solve for both at once: 6 + r unknowns, with the derivatives of
contact forces by the reduced coordinates. `HapticSession(..., coupled=True)` does that. The thesis
prints no values on it; all printed here are ours.

A ball is pressed on a beam of rubber, which one end holds, and the hand then stays where it is, at
many stiffnesses of a contact point and rates. Printed is by how much the force on the hand still
swings in the last quarter of a second, in percent of the force at rest: below 5 % the contact
holds. "lost" is a ball that the oscillation has thrown off for good. The last column is how far the
force is from that of a rate at which both schemes agree, over the whole run, root mean square, with
points of 100 N/m. Then what a cycle costs, and what of that passes before the force goes out.

Split, the stiffest contact that holds grows about with the square of the rate: the force on the
beam is explicit. Coupled, the bound is another one, beyond it: points come into contact and leave
it within a cycle, which no gradient foresees. At rates that are high for the contact both hold; the
coupled error is less than half of the split one, which static damping brakes, and the split cycle
is the cheaper one.

Beside them stands the baseline, a dynamic coupling: the ball has a mass, here of 20 g, and one step
or sixteen in a cycle. With one step it holds about what the split one holds; sixteen, for which a
contact that is linear within the cycle is gone through more finely, hold five times as stiff a
contact at 250 Hz and 500 Hz, none stiffer at 2 kHz, and cost what the coupled solve costs at r =
15. Its error tends to another 9 mN, not to none: the hand feels the mass and the damper, too.

Run it for the numbers and a plot:  python experiments/b07_4_2_coupled.py [--help]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import command
import contact_scenes as scenes
import numpy as np
from b07_3_12_deformed_field import cells_mesh
from numpy.typing import NDArray

import reducedfem as rf
from reducedfem import plot as pictures

Array = NDArray[np.float64]

EDGE = 0.01  # m, of an element
CELLS = (20, 3, 3)
MATERIAL = rf.StVK(1e6, 0.4, 1000.0)
DAMPING = (20.0, 1e-4)
RADIUS = 0.02  # m, of the ball
PLACE = (0.18, 0.015)  # m, above which it goes down
COUPLING = rf.VirtualCoupling(500.0, 1.0)
PRESSED = 0.004  # m, by which the hand goes beyond the first touch
SECONDS, LAST = 1.25, 0.25  # of a run, and of its evaluated end
HOLDS = 0.05
SOFT, FINE = 100.0, 16_000.0  # N/m and Hz, of what is compared over time
RATES = (125.0, 250.0, 500.0, 1000.0, 2000.0, 4000.0)
STIFFNESSES = tuple(float(k) for k in 10.0 ** np.arange(1.5, 6.1, 0.25))
SIZES = (8, 15, 30, 44)


@dataclass(frozen=True)
class Scheme:
    """A way through a cycle.

    Attributes
    ----------
    name
        In tables and plots.
    coupling
        Between hand and ball.
    coupled
        True if ball and beam move in one solve.
    """

    name: str
    coupling: rf.VirtualCoupling | rf.DynamicCoupling
    coupled: bool = False


def dynamic(substeps: int) -> Scheme:
    """Return the baseline: a ball of 20 g on spring and damper, stepped explicitly."""
    coupling = rf.DynamicCoupling(500.0, 1.0, 0.02, 1e-5, substeps=substeps)
    return Scheme(f"dynamic {substeps}", coupling)


SCHEMES = (
    Scheme("split", COUPLING),
    Scheme("coupled", COUPLING, coupled=True),
    dynamic(1),
    dynamic(16),
)
N = len(SCHEMES)


@dataclass(frozen=True)
class Scene:
    """The beam.

    Attributes
    ----------
    reduced
        Its model.
    tree
        Points of its upper side.
    """

    reduced: rf.ReducedSolid
    tree: rf.PointTree


@dataclass(frozen=True)
class Cost:
    """Medians over cycles [us], for all schemes, shape (n,).

    Attributes
    ----------
    r, touching
        Reduced coordinates and points in contact.
    contact, coupling, deform
        Parts of a cycle; the force goes out after the second.
    """

    r: int
    touching: int
    contact: Array
    coupling: Array
    deform: Array


@dataclass(frozen=True)
class Experiment:
    """Forces over rates, stiffnesses and schemes.

    Attributes
    ----------
    scene
        Scene that was pressed.
    rates, stiffnesses
        [Hz], [N/m].
    rest
        Force at rest in a contact that is stiff, but not for its rate [N].
    swing
        Of the force at the end, over `rest`; inf: nothing touched, shape (n, rates, stiffnesses).
    error
        Of the force over a run with points of `SOFT`, against the mean of the first two schemes at
        `FINE`, root mean square [N], shape (n, rates).
    traces
        Times [s] and forces [N] of all schemes, in contacts of one stiffness: (label, times,
        forces) each.
    q
        Of the beam at rest.
    ball
        Position of the ball at rest [m], (3,).
    costs
        For several r.
    """

    scene: Scene
    rates: Array
    stiffnesses: Array
    rest: float
    swing: Array
    error: Array
    traces: list[tuple[str, Array, Array]]
    q: Array
    ball: Array
    costs: list[Cost]

    def limits(self) -> Array:
        """Return the stiffness up to which all contacts hold [N/m], 0: none; (n, rates)."""
        found = np.zeros(self.swing.shape[:2])
        for at in np.ndindex(*found.shape):
            loose = np.flatnonzero(self.swing[at] > HOLDS)
            end = int(loose[0]) if loose.size else len(self.stiffnesses)
            found[at] = self.stiffnesses[end - 1] if end else 0.0
        return found

    def table(self) -> str:
        """Return the numbers as text."""

        def cell(swing: float) -> str:
            if swing == np.inf:
                return f"{'lost':>7}"
            return f"{min(100.0 * swing, 9999.0):>7.{1 if swing < 0.1 else 0}f}"

        limits, columns = self.limits(), range(0, len(self.stiffnesses), 2)
        lines = [
            f"r = {self.scene.reduced.r}, {self.scene.tree.shell.n_points} points; "
            f"force at rest {self.rest:.3f} N; swing of the force [%] over stiffness [N/m]",
            "",
            f"{'rate [Hz]':>10}{'':>11}"
            + "".join(f"{self.stiffnesses[k]:>7.0e}" for k in columns)
            + f"{'holds up to':>13}{'error [mN]':>12}",
        ]
        for i, rate in enumerate(self.rates):
            for j, scheme in enumerate(SCHEMES):
                lines.append(
                    f"{rate if j == 0 else '':>10}{scheme.name:>11}"
                    + "".join(cell(self.swing[j, i, k]) for k in columns)
                    + f"{limits[j, i]:>13.0f}{1e3 * self.error[j, i]:>12.2f}"
                )
        lines += [
            "",
            f"{'r':>4}{'touching':>10}{'':>11}{'contact':>9}{'coupling':>10}{'deform':>8}"
            f"{'force out':>11}{'cycle [us]':>12}",
        ]
        for cost in self.costs:
            for j, scheme in enumerate(SCHEMES):
                out = cost.contact[j] + cost.coupling[j]
                lines.append(
                    (f"{cost.r:>4}{cost.touching:>10}" if j == 0 else f"{'':>14}")
                    + f"{scheme.name:>11}{cost.contact[j]:>9.1f}{cost.coupling[j]:>10.1f}"
                    f"{cost.deform[j]:>8.1f}{out:>11.1f}{out + cost.deform[j]:>12.1f}"
                )
        return "\n".join(lines)


def scene(r: int) -> Scene:
    """Return the beam with r coordinates, held at x = 0."""
    mesh = cells_mesh(np.argwhere(np.ones(CELLS)), EDGE)
    solid = rf.Solid(mesh, MATERIAL, fixed=mesh.nodes[:, 0] == 0.0)
    reduced = rf.reduce(solid, rf.modal_derivative_basis(solid, k=8, r=r))
    top = np.meshgrid(np.linspace(0.01, 0.2, 60), np.linspace(0.0, 0.03, 13), [0.03], indexing="ij")
    points = np.stack(top, axis=-1).reshape(-1, 3)
    shell = rf.Pointshell(points, np.tile([0.0, 0.0, -1.0], (len(points), 1)))
    return Scene(reduced, rf.PointTree(shell, reduced, rf.Embedding(mesh, points)))


def press(
    made: Scene, rate: float, stiffness: float, scheme: Scheme, most: int | None = 10
) -> rf.HapticSession:
    """Return a session in which a hand presses the ball on the beam for 0.25 s, and stays.

    Parameters
    ----------
    made
        The beam.
    rate, stiffness
        [Hz], of a point [N/m].
    scheme
        The way through a cycle.
    most
        Points of that stiffness; more are scaled.
    """
    field = rf.SphereField((0.0, 0.0, 0.0), RADIUS)
    contact = rf.PenaltyContact(made.tree, field, stiffness, None, max_points=most)
    touch = EDGE * CELLS[2] + RADIUS
    heights = (touch + 0.002, touch + 0.002, touch - PRESSED, touch - PRESSED)
    hand = rf.ReplayDevice([0.0, 0.05, 0.3, 60.0], [[*PLACE, z] for z in heights])
    simulation = rf.ImplicitNewmark(made.reduced, 1.0 / rate, damping=DAMPING)
    return rf.HapticSession(
        contact,
        hand,
        coupling=scheme.coupling,
        simulation=simulation,
        rate=rate,
        budget_us=0.0,
        ramp=0.0,
        coupled=scheme.coupled,
    )


def swings(made: Scene, rate: float, stiffness: float, scheme: Scheme) -> tuple[Array, Array, bool]:
    """Return times [s] and forces on the hand upwards [N], and whether it touches at the end."""
    session = press(made, rate, stiffness, scheme)
    try:
        records = session.run(round(SECONDS * rate)).array
        touching = bool(records["touching"][-round(LAST * rate) :].any())
    except rf.errors.DivergedError:
        records, touching = session.records().array, False
    finally:
        session.close()
    return records["time_s"], records["force"][:, 2], touching


def measure(r: int, rounds: int) -> Cost:
    """Return what cycles cost, the schemes in turns."""
    made = scene(r)
    sessions = [press(made, 1000.0, 3.0, scheme, None) for scheme in SCHEMES]
    for session in sessions:
        session.run(1000)
    records = [[session.run(200).array for session in sessions] for _ in range(rounds)]
    for session in sessions:
        session.close()
    every = [np.concatenate([one[j] for one in records]) for j in range(N)]

    def medians(name: str) -> Array:
        return np.array([np.median(array[name]) for array in every])

    parts = [medians(name) for name in ("contact_us", "coupling_us", "deform_us")]
    return Cost(r, int(np.median(every[0]["touching"])), *parts)


def run(
    r: int = 15,
    rates: Sequence[float] = RATES,
    stiffnesses: Sequence[float] = STIFFNESSES,
    sizes: Sequence[int] = SIZES,
    rounds: int = 20,
) -> Experiment:
    """Run the experiment.

    Parameters
    ----------
    r
        Reduced coordinates of the beam.
    rates, stiffnesses
        [Hz], [N/m].
    sizes
        Reduced coordinates for which costs are measured.
    rounds
        Of 200 cycles for each of these.
    """
    made = scene(r)
    session = press(made, 2000.0, 1e4, SCHEMES[1])
    calm = session.run(round(2000 * SECONDS)).array
    q = session.snapshot().q[0]
    session.close()
    assert q is not None
    rest = float(calm["force"][-1, 2])
    swing = np.zeros((N, len(rates), len(stiffnesses)))
    for i, rate in enumerate(rates):
        for k, stiffness in enumerate(stiffnesses):
            for j, scheme in enumerate(SCHEMES):
                _, force, touching = swings(made, rate, stiffness, scheme)
                last = force[-round(LAST * rate) :]
                swing[j, i, k] = np.ptp(last) / rest if touching else np.inf
    fine = [swings(made, FINE, SOFT, scheme) for scheme in SCHEMES[:2]]
    times, exact = fine[0][0], 0.5 * (fine[0][1] + fine[1][1])
    error = np.zeros((N, len(rates)))
    for j, i in np.ndindex(*error.shape):
        at, force, _ = swings(made, rates[i], SOFT, SCHEMES[j])
        error[j, i] = np.sqrt(np.mean((force - np.interp(at, times, exact)) ** 2))
    traces = []
    for rate in (250.0, 1000.0):
        for scheme in SCHEMES:
            times, force, _ = swings(made, rate, 1e3, scheme)
            traces.append((f"{scheme.name}, {rate:g} Hz", times, force))
    costs = [measure(size, rounds) for size in sizes]
    return Experiment(
        made,
        np.array(rates, dtype=np.float64),
        np.array(stiffnesses, dtype=np.float64),
        rest,
        swing,
        error,
        traces,
        q,
        calm["object_position"][-1],
        costs,
    )


def plot(experiment: Experiment, path: Path) -> None:
    """Draw the scene, who holds where, two contacts over time, and costs."""
    pictures.require_matplotlib()
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure

    e = experiment
    figure = Figure(figsize=(13, 8), layout="constrained")
    grid = figure.subplots(2, 3)
    reduced = e.scene.reduced
    surface = reduced.mesh.surface()
    x, triangles = scenes.icosphere(4)
    ax = grid[0, 0]
    ax.imshow(
        scenes.picture(
            [
                (rf.Skin(reduced, surface).positions(e.q), surface.triangles, (0.80, 0.62, 0.42)),
                (e.ball + RADIUS * x, triangles, (0.55, 0.70, 0.50)),
            ],
            (700, 500),
            azimuth=-70,
            elevation=15,
        )
    )
    ax.set_axis_off()
    ax.set_title("the ball at rest on the beam", fontsize=9)

    limits = e.limits()
    colors = ("C3", "C0", "C1", "C2")
    for j, scheme in enumerate(SCHEMES[:2]):
        ax = grid[0, 1 + j]
        shown = np.clip(np.where(np.isinf(e.swing[j]), 1e3, e.swing[j]), 1e-6, 10.0)
        image = ax.pcolormesh(
            e.rates, e.stiffnesses, shown.T, norm=LogNorm(1e-6, 10.0), cmap="viridis"
        )
        for k in (j, *range(2, N)) if j == 0 else (j,):
            holds = limits[k] > 0.0
            color = "w" if k == j else colors[k]
            ax.plot(e.rates[holds], limits[k][holds], ".-", color=color, label=SCHEMES[k].name)
        ax.legend(fontsize=8, loc="lower right", title="holds up to", title_fontsize=8)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_title(f"{scheme.name}: swing of the force over that at rest", fontsize=9)
        ax.set_xlabel("rate [Hz]", fontsize=8)
        ax.set_ylabel("stiffness of a point [N/m]", fontsize=8)
    figure.colorbar(image, ax=list(grid[0, 1:]), shrink=0.8)

    for ax, traces in zip(grid[1, :2], (e.traces[:N], e.traces[N:]), strict=True):
        for (name, times, force), color in zip(traces, colors, strict=True):
            ax.plot(times, force, color=color, lw=1.0, label=name)
        ax.set_ylim(-0.2 * e.rest, 4.0 * e.rest)
        ax.set_title("force on the hand [N], points of 1 kN/m", fontsize=9)
        ax.set_xlabel("time [s]", fontsize=8)
        ax.legend(fontsize=8)
        ax.grid(alpha=0.3)
    ax = grid[1, 2]
    place = np.arange(len(e.costs), dtype=np.float64)
    for j, hatch in enumerate(("", "//", "..", "xx")):
        below = np.zeros(len(e.costs))
        for part, color in (("contact", "C0"), ("coupling", "C1"), ("deform", "C2")):
            height = np.array([getattr(cost, part)[j] for cost in e.costs])
            ax.bar(
                place + 0.2 * j - 0.3, height, 0.18, below, color=color, hatch=hatch,
                edgecolor="white", label=f"{SCHEMES[j].name}: {part}",
            )  # fmt: skip
            below += height
    ax.set_xticks(place, [f"r = {cost.r}" for cost in e.costs])
    ax.set_title("cycle [us]", fontsize=9)
    ax.legend(fontsize=7)
    for ax in grid.ravel():
        ax.tick_params(labelsize=8)
    pictures.save_figure(figure, path, dpi=120)


def perform(arguments: argparse.Namespace) -> None:
    """Print the numbers and draw the plot."""
    experiment = run(arguments.r, rounds=arguments.rounds)
    print(experiment.table())
    plot(experiment, arguments.plot)


def main() -> int:
    """Run from the command line."""
    parser = command.options(__file__, __doc__, "about 15 s")
    parser.add_argument("--r", type=int, default=15, help="reduced coordinates of the beam (15)")
    parser.add_argument("--rounds", type=int, default=20, help="of 200 cycles for costs (20)")
    return command.run(perform, command.parse(parser, rounds=1))


if __name__ == "__main__":
    sys.exit(main())
