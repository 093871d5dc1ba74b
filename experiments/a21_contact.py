"""Contact by velocities and by a barrier (Ascher et al. 2021, figures 7, 8 and 9).

- A node flies straight past a sphere and does not touch it (figure 7). Constraints on velocities,
  d(q0) + h grad d(q0) . v >= 0, replace the sphere by the tangential plane at the node's nearest
  point, which the path may cross where it misses the sphere. Such steps are valid, but rejected,
  more of them the longer the step. `BarrierContact` measures distances at the end of a step and
  accepts them all: the node arrives where it would without the sphere, with the same velocity.
- The energy of the barrier over the distance (figure 8), and friction over the velocity (figure 9):
  values of `BarrierContact` beside the equations (31) and (37g).

Marks: no step is rejected if the node flies a hundredth of the radius in a step, and most are if it
flies the radius; the barrier keeps places and velocities to 1e-7; both curves agree to 1e-12 of
their largest value.

Run it for the numbers and the plot:  python experiments/a21_contact.py [--help]
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import command
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

import reducedfem as rf
from reducedfem import plot as pictures

Array = NDArray[np.float64]

RADIUS, PASSES = 1.0, 1.002  # m: of the sphere, distance of the path from its centre
SPEED, REACH = 1.0, 1.5  # m/s, m: of the approach
STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # s
PHASES = 10  # flights at a step, which begin at different places
DELTA = 1e-3  # m: the barrier of figure 7, which the path does not enter
BARRIERS, SMOOTHINGS = (1.0, 0.5, 0.25), (1.0, 0.5, 0.1)  # delta [m], epsilon [m/s]
SAME = 1e-7  # m, m/s: differences of a step that the barrier accepts
LARGE = 20.0  # m, beside which distances of 1 m are small
MU, ABOVE = 0.5, np.array([0.0, 0.0, 2.0])  # place of the node at rest [m]


def small_body(place: ArrayLike, size: float = 0.01) -> rf.Solid:
    """Return a free tetrahedron of a size [m], whose node 0 is at a place."""
    nodes = size * np.array([[0.0, 0, 0], [0, 1, 0], [-1, 0, 0], [0, 0, 1]]) + place
    return rf.Solid(rf.Mesh(nodes, [[0, 1, 2, 3]]), rf.StableNeoHookean(1e6, 0.3, 1000.0))


@dataclass(frozen=True)
class Flight:
    """Steps past the sphere, of all phases.

    Attributes
    ----------
    steps
        Number of steps, all of them valid.
    rejected
        Steps that the linearized constraint rejects.
    turned
        Largest angle by which the nearest velocity that satisfies it differs [degrees].
    accepted
        Steps after which the node is where it would be without the sphere.
    off
        Largest error of a place and of a velocity with the barrier [m], [m/s].
    """

    steps: int
    rejected: int
    turned: float
    accepted: int
    off: float


def fly(step: float, phases: int = PHASES) -> Flight:
    """Return the flights with steps of `step`."""
    sphere = rf.SphereField((0.0, 0.0, 0.0), RADIUS)
    start = np.array([-REACH, PASSES, 0.0])
    solid = small_body(start)
    contact = rf.BarrierContact(sphere, distance=DELTA, stiffness=1.0, nodes=[0])
    sim = rf.BackwardEuler(solid, step, newton_max=50, tol=1e-8, contact=contact)
    velocity = np.array([SPEED, 0.0, 0.0])
    moving = np.tile(velocity, (4, 1))
    count = rejected = accepted = 0
    turned = off = 0.0
    for phase in range(phases):
        place = start - phase / phases * step * velocity
        sim.reset(np.tile(place - start, (4, 1)), moving)
        while place[0] < 0.0:
            distance, normal = (one[0] for one in sphere.distance_and_gradient([place]))
            allowed = distance + step * normal @ velocity
            if allowed < 0.0:
                rejected += 1
                nearest = velocity - allowed / step * normal
                cosine = nearest @ velocity / np.linalg.norm(nearest) / SPEED
                turned = max(turned, float(np.degrees(np.arccos(cosine))))
            place = place + step * velocity
            sim.step()
            wrong = max(
                np.abs(sim.state.q[0] + start - place).max(),
                np.abs(sim.state.qdot[0] - velocity).max(),
            )
            accepted += wrong < SAME
            off = max(off, float(wrong))
            count += 1
    return Flight(count, rejected, turned, accepted, off)


def barrier_curve(delta: float, distances: Array) -> Array:
    """Return the energy of a node at each distance over the stiffness [m^2]."""
    plane = rf.PlaneField([0.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    contact = rf.BarrierContact(plane, distance=delta, stiffness=1.0, nodes=[0])
    rf.BackwardEuler(
        small_body(ABOVE, LARGE), 1e-3, newton_max=50, contact=contact
    )  # gives it the body
    return np.array([contact.energy(np.tile([0.0, 0.0, d], (4, 1)) - ABOVE) for d in distances])


def smoothing_curve(slip: float, speeds: Array) -> Array:
    """Return friction over mu times the normal force at each speed."""
    plane = rf.PlaneField([0.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    contact = rf.BarrierContact(plane, 1.0, 1.0, friction=MU, slip=slip, nodes=[0])
    rf.BackwardEuler(small_body(ABOVE, LARGE), 1e-3, newton_max=50, contact=contact)
    u = np.tile([0.0, 0.0, 0.5], (4, 1)) - ABOVE
    forces = [contact.force(u, np.tile([speed, 0.0, 0.0], (4, 1)))[0] for speed in speeds]
    return np.array([-force[0] / (MU * force[2]) for force in forces])


def barrier(delta: float, x: Array) -> Array:
    """Return equation (31)."""
    inside = np.minimum(x, delta)
    return -((inside - delta) ** 2) * np.log(inside / delta)


def smoothing(slip: float, x: Array) -> Array:
    """Return equation (37g)."""
    part = np.minimum(x / slip, 1.0)
    return 2.0 * part - part**2


def misses(flights: dict[float, Flight], curves: float) -> list[str]:
    """Return the marks that are missed; `curves` is the largest difference of figures 8 and 9."""
    missed = []
    short, long = flights[STEPS[0]], flights[STEPS[-1]]
    if short.rejected:
        missed.append(f"{short.rejected} steps of {STEPS[0]:g} s are rejected")
    if not long.rejected > long.steps / 2:
        missed.append(f"{long.rejected} of {long.steps} steps of {STEPS[-1]:g} s are rejected only")
    for step, one in flights.items():
        if one.accepted < one.steps:
            missed.append(f"the barrier changes steps of {step:g} s by {one.off:.1e}")
    if not curves < 1e-12:
        missed.append(f"energies or friction differ from the equations by {curves:.1e}")
    return missed


def draw(flights: dict[float, Flight], path: Path) -> None:
    """Draw figures 7, 8 and 9."""
    figure = Figure(figsize=(10.0, 3.2), layout="constrained")
    rejects, energies, frictions = figure.subplots(1, 3)
    share = [100.0 * one.rejected / one.steps for one in flights.values()]
    changed = [100.0 * (1.0 - one.accepted / one.steps) for one in flights.values()]
    way = [SPEED * step / RADIUS for step in flights]
    rejects.semilogx(way, share, "o-", label="velocity constraint")
    rejects.semilogx(way, changed, "s-", label="barrier")
    rejects.set(xlabel="way of a step / radius", ylabel="valid steps rejected [%]")
    rejects.set_title("past a sphere (7)", fontsize=10)
    x = np.linspace(0.0, 1.2, 241)[1:]
    for delta in BARRIERS:
        energies.plot(x, barrier_curve(delta, x), label=f"δ = {delta:g} m")
    energies.set(xlabel="distance [m]", ylabel="energy / stiffness [m²]", ylim=(0.0, 1.5))
    energies.set_title("barrier (8)", fontsize=10)
    for slip in SMOOTHINGS:
        frictions.plot(x, smoothing_curve(slip, x), label=f"ε = {slip:g} m/s")
    frictions.set(xlabel="velocity [m/s]", ylabel="friction / (µ N)")
    frictions.set_title("friction (9)", fontsize=10)
    for axes in (rejects, energies, frictions):
        axes.legend(frameon=False)
    pictures.save_figure(figure, path, dpi=130)


def difference() -> float:
    """Return the largest difference of the curves from the equations, relative."""
    x = np.concatenate([np.geomspace(1e-3, 0.1, 30), np.linspace(0.1, 1.2, 45)])
    worst = 0.0
    for delta in BARRIERS:
        wanted = barrier(delta, x)
        worst = max(worst, float(np.abs(barrier_curve(delta, x) - wanted).max() / wanted.max()))
    for slip in SMOOTHINGS:
        worst = max(worst, float(np.abs(smoothing_curve(slip, x) - smoothing(slip, x)).max()))
    return worst


def perform(arguments: argparse.Namespace) -> list[str]:
    """Print the numbers, draw the plot, and return the marks that are missed."""
    flights = {step: fly(step, 1 if arguments.quick else PHASES) for step in STEPS}
    print(f"a node flies past a sphere at {PASSES / RADIUS:g} of its radius: valid steps that")
    print("way of a step  steps  a velocity constraint rejects  turns by  the barrier accepts")
    for step, one in flights.items():
        print(f"{SPEED * step / RADIUS:9.2f} radii {one.steps:6d} {one.rejected:24d} "
              f"({100 * one.rejected / one.steps:3.0f} %) {one.turned:7.1f} deg "
              f"{one.accepted:13d}")  # fmt: skip
    curves = difference()
    print(f"figures 8 and 9: largest difference from the equations {curves:.1e}")
    draw(flights, arguments.plot)
    return misses(flights, curves)


def main() -> int:
    """Run from the command line."""
    parser = command.options(__file__, __doc__)
    parser.add_argument("--quick", action="store_true", help="one flight at each step")
    return command.run(perform, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
