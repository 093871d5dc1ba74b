"""A bar that falls on the floor in explicit steps: three kinds of contact (Zhuang 2000, 3.2).

A bar of 0.25 m arrives with 1 m/s and leaves again. The rule "surface" puts nodes onto the floor,
the rule "mirror" of the thesis reflects them; a penalty force k times depth of a node pushes them
out, as stiff as the depth of the mirrored bar asks for. Compared are the energy that is left, the
depth below the floor, and the chatter of the force: its change from step to step, root mean square
during the contact. The energy of the scheme, with the product of the velocities before and after
in place of the square of their mean, is constant in linear motions without contact.

Marks: "surface" loses at most 5 %, and gains nothing; "mirror" keeps the energy of
the scheme to 0.2 %; both stay within 1.5 v dt; impulses are changes of momentum to 1e-12.

Run it for the numbers and the plot:  python experiments/z00_contact.py [--help]
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import command
import numpy as np
from boxes import box
from matplotlib.figure import Figure
from numpy.typing import NDArray

import reducedfem as rf
from reducedfem import plot as pictures

Array = NDArray[np.float64]

SIZE = (0.05, 0.05, 0.25)  # m
SPEED = 1.0  # m/s
MESHES = (2, 4)  # cells across
METHODS = ("surface", "mirror", "penalty")
FRACTION = 0.5  # of the stable step
LIFT = {"surface": 1.3, "mirror": 0.3, "penalty": 0.3}  # above the floor, of v dt
CLEAR = 2e-3  # height at which it has left the floor, m
MOST_STEPS = 20_000
MOST_LOSS = 0.05  # of the energy, by the rule "surface"


@dataclass(frozen=True)
class Fall:
    """A bar that falls and leaves the floor; energies are those over the first."""

    dt: float  # s
    energy: Array  # usual, after each step
    kept: Array  # that of the scheme
    force: Array  # N
    depth: float  # m
    excess: float  # of the impulse over the change of momentum, relative

    @property
    def touching(self) -> Array:
        """Force from the first to the last step with contact."""
        first, last = np.flatnonzero(self.force)[[0, -1]]
        return self.force[first : last + 1]

    @property
    def chatter(self) -> float:
        """Change of the force from step to step, over its mean."""
        return float(np.sqrt(np.mean(np.diff(self.touching) ** 2)) / self.touching.mean())


def bar(cells: int) -> rf.Solid:
    """Return a bar of cubes."""
    ticks = [
        np.linspace(0.0, size, n + 1)
        for size, n in zip(SIZE, (cells, cells, 5 * cells), strict=True)
    ]
    return rf.Solid(box(*ticks), rf.StVK(1e6, 0.3, 1000.0))


def fall(solid: rf.Solid, method: str, dt: float, stiffness: float = 0.0) -> Fall:
    """Let the bar fall; stiffness: of a penalty, N/m for each kg of a node."""
    rest = solid.mesh.nodes
    mass = solid.mass(lumped=True).to_scipy().diagonal().reshape(-1, 3)
    floor = rf.PlaneField([0.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    contact = None if method == "penalty" else rf.RigidProxy(floor, rule=method)
    sim = rf.CentralDifferences(solid, dt, contact=contact)
    down = np.tile([0.0, 0.0, -SPEED], (len(rest), 1))
    sim.reset(-LIFT[method] * dt * down, down, np.zeros_like(rest))
    energy, kept, forces, depth = [], [], [], 0.0
    impulse, start = 0.0, float((mass * down)[:, 2].sum())
    state = sim.state
    stored = 0.0
    while True:
        usual = 0.5 * (mass * state.qdot**2).sum() + solid.strain_energy(state.q) + stored
        energy.append(usual)
        kept.append(usual - 0.5 * (mass * (dt / 2 * state.qddot) ** 2).sum())
        lowest = float((rest + state.q)[:, 2].min())
        depth = max(depth, -lowest)
        up = float((mass * state.qdot)[:, 2].sum())
        if (up > 0.0 and lowest > CLEAR) or len(energy) > MOST_STEPS:
            break
        if contact is None:
            ahead = state.q + dt * state.qdot + 0.5 * dt**2 * state.qddot
            below = np.minimum((rest + ahead)[:, 2], 0.0)
            push = np.zeros_like(rest)
            push[:, 2] = -stiffness * mass[:, 2] * below
            stored = 0.5 * stiffness * float(mass[:, 2] @ below**2)
            sim.step(push)
            forces.append(float(push[:, 2].sum()))
            impulse += 0.5 * dt * (forces[-1] + (forces[-2] if len(forces) > 1 else 0.0))
        else:
            sim.step()
            assert sim.contact is not None
            forces.append(-float(sim.contact.force[2]))
            impulse -= float(sim.contact.impulse[2])
        state = sim.state
    excess = impulse / (up - start) - 1.0
    return Fall(
        dt, np.array(energy) / energy[0], np.array(kept) / kept[0], np.array(forces), depth, excess
    )


def penalty(solid: rf.Solid, dt: float, depth: float) -> Fall:
    """Return the fall with the penalty that lets it in as deep, at the same part of its step."""
    omega = 2.0 * FRACTION / dt
    low, high = 0.0, 100.0  # stiffness over omega^2
    for _ in range(8):
        ratio = 0.5 * (low + high) if low > 0.0 else 0.1 * high
        found = fall(solid, "penalty", dt / np.sqrt(1.0 + ratio), ratio * omega**2)
        low, high = (low, ratio) if found.depth < depth else (ratio, high)
    return found


def run(cells: int) -> dict[str, Fall]:
    """Return the falls of a bar with each kind of contact."""
    solid = bar(cells)
    dt = FRACTION * rf.stable_step(solid)
    falls = {rule: fall(solid, rule, dt) for rule in ("surface", "mirror")}
    return falls | {"penalty": penalty(solid, dt, falls["mirror"].depth)}


def misses(falls: dict[str, Fall]) -> list[str]:
    """Return the marks that the falls of a mesh miss."""
    surface, mirror = falls["surface"], falls["mirror"]
    missed = []
    if surface.kept.max() > 1.0 + 1e-6:
        missed.append(f"surface gains {surface.kept.max() - 1:.1e}")
    if surface.kept[-1] < 1.0 - MOST_LOSS:
        missed.append(f"surface loses {1 - surface.kept[-1]:.1%} (mark {MOST_LOSS:.0%})")
    if abs(mirror.kept[-1] - 1.0) > 2e-3:
        missed.append(f"the energy of the scheme is {mirror.kept[-1]:.4f} after mirror")
    for rule in ("surface", "mirror"):
        if falls[rule].depth > 1.5 * SPEED * falls[rule].dt:
            missed.append(f"{rule} is {falls[rule].depth / falls[rule].dt:.1f} v dt deep")
        if abs(falls[rule].excess) > 1e-12:
            missed.append(f"the impulse of {rule} is off by {falls[rule].excess:.1e}")
    return missed


def draw(falls: dict[str, Fall], path: Path) -> None:
    """Draw energies and forces over time."""
    figure = Figure(figsize=(8.0, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for method in ("mirror", "penalty", "surface"):
        one = falls[method]
        time = 1e3 * one.dt * np.arange(len(one.energy))
        left.plot(time, one.energy, label=method, lw=1.0)
        right.plot(time[1:], one.force, label=method, lw=0.8)
    left.set(title="kinetic and elastic energy", ylabel="of that before")
    right.set(title="force of the floor", ylabel="[N]")
    for axes in (left, right):
        axes.set_xlabel("time [ms]")
    right.legend(frameon=False)
    pictures.save_figure(figure, path, dpi=130)


def perform(arguments: argparse.Namespace) -> list[str]:
    """Print the numbers, draw the plot, and return the marks that are missed."""
    missed = []
    print("cells    contact    dt [us]  steps  energy: end  largest  of the scheme  "
          "depth / v dt  chatter  mean force")  # fmt: skip
    for cells in MESHES:
        falls = run(cells)
        usual = falls["surface"].dt
        for method in METHODS:
            one = falls[method]
            print(f"{1e3 * SIZE[0] / cells:4.3g} mm  {method:8} {1e6 * one.dt:9.1f}  "
                  f"{len(one.force):5}  {one.energy[-1]:11.4f}  {one.energy.max():7.4f}  "
                  f"{one.kept[-1]:13.4f}  {one.depth / (SPEED * usual):12.2f}  "
                  f"{one.chatter:7.2f}  {one.touching.mean():8.1f} N")  # fmt: skip
        missed += [f"{cells} cells: {text}" for text in misses(falls)]
    draw(falls, arguments.plot)
    return missed


def main() -> int:
    """Run from the command line."""
    return command.run(perform, command.options(__file__, __doc__).parse_args())


if __name__ == "__main__":
    sys.exit(main())
