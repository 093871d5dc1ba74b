"""A soft block under a hand, in explicit steps: three kinds of haptic display (Zhuang 2000, 5.4).

A ball of 15 mm in a simulated hand presses on a block of 80 x 80 x 60 mm, slides over it with
friction, and leaves it. The block makes its steps in each cycle of 1 ms ("direct"), or in periods
T_s of 5 ms, whose forces are interpolated and shown a period late ("delay", section 5.4.2), or
continued by a local stiffness ("stiffness"). Compared are the force that the hand feels, the least
damping of the hand for which a push dies away, and the stiffest block that a hand with the damping
of a relaxed grip, 5 N s/m, can hold. A delay of 2 T_s asks for a damping of 2 K T_s.

In a second stroke the ball rubs over a coarse, stiffer block and back, with friction: nodes come
and go, forces turn, and the past foresees little. Compared are the largest change of the force in a
cycle, and its error.

Marks: the least damping of "delay" is 0.6 to 1.1 times 2 K T_s, that of "stiffness" at most a third
of it; "stiffness" holds blocks twice as stiff as "delay", "direct" the stiffest; the force of
"stiffness" is nearer to that of "direct" than that of "delay"; when it rubs, it changes by at most
twice as much as that of "delay", and its error is at most as large.

Run it for the numbers and the plot:  python experiments/z00_haptics.py [--help]
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from pathlib import Path
from typing import Any

import command
import numpy as np
from boxes import box
from matplotlib.figure import Figure
from numpy.typing import NDArray

import reducedfem as rf
from reducedfem import plot as pictures

Array = NDArray[np.float64]

SIZE, RADIUS, FRICTION = (0.08, 0.08, 0.06), 0.015, 0.3
COARSE, FINE = (4, 4, 3), (8, 8, 6)  # cells; the fine ones for strokes
TOP = SIZE[2] + RADIUS  # height of the ball that touches the block
SOFT = 1e4  # Young's modulus, Pa
CYCLE = 1e-3  # s
KINDS: tuple[str | None, ...] = (None, "delay", "stiffness")
PERIOD = 5e-3  # T_s
PERIODS = (4e-3, 5e-3, 8e-3, 10e-3, 20e-3)
GRIP = 5.0  # N s/m
HARD = 1e5  # of the block that is rubbed, Pa
FALLS = 0.98  # part of a swing that is left after 0.4 s if it dies away
HALVINGS = 10


def name_of(kind: str | None) -> str:
    """Return the name of a kind of display."""
    return kind or "direct"


def block(young: float, shape: tuple[int, int, int] = COARSE) -> rf.Solid:
    """Return the block, which stands on a table."""
    ticks = [np.linspace(0.0, s, n + 1) for s, n in zip(SIZE, shape, strict=True)]
    mesh = box(*ticks)
    return rf.Solid(mesh, rf.StVK(young, 0.3, 1000.0), fixed=mesh.nodes[:, 2] < 1e-9)


def felt(
    solid: rf.Solid, kind: str | None, period: float, seconds: float, hand: rf.Device
) -> tuple[Any, rf.HapticReport]:
    """Return records and report of a session."""
    dt = CYCLE / math.ceil(CYCLE / (0.5 * rf.stable_step(solid)))
    tool = rf.RigidProxy(rf.SphereField([0.0, 0.0, 0.0], RADIUS), friction=FRICTION)
    sim = rf.CentralDifferences(solid, dt, (5.0, 0.0), contact=tool)
    simulation_rate = 1.0 / period if kind else None
    session = rf.HapticSession(
        sim, hand, interpolation=kind, simulation_rate=simulation_rate, rate=1.0 / CYCLE, ramp=0.0
    )
    try:
        return session.run(seconds=seconds).array, session.report()
    finally:
        session.close()


def stroke() -> rf.Device:
    """Return a hand that presses, slides and leaves."""
    times = [0.0, 0.05, 0.3, 0.6, 0.9, 1.1, 1.3]
    heights = [1e-3, 1e-3, -5e-3, -5e-3, -5e-3, -5e-3, 8e-3]
    across = [0.0, 0.0, 0.0, 0.0, 1.2e-2, 1.2e-2, 1.2e-2]
    at = [[0.5 * SIZE[0] - 6e-3 + x, 0.5 * SIZE[1], TOP + z]
          for x, z in zip(across, heights, strict=True)]  # fmt: skip
    return rf.SimulatedHand(times, at, damping=GRIP)


def rubbing() -> rf.Device:
    """Return places of a hand that presses and rubs, with 0.1 m/s."""
    k = np.arange(1900)
    x = np.interp(k, [0, 300, 700, 1100, 1500, 1900], [0, 0, 2e-2, -2e-2, 2e-2, -2e-2])
    y = 2e-3 * np.sin(6e-3 * np.pi * (k - 300)) * (k > 300)
    z = np.interp(k, [0, 100, 250], [1e-3, 1e-3, -3e-3]) + 1e-4 * np.sin(18e-3 * np.pi * k)
    at = np.array([0.5 * SIZE[0], 0.5 * SIZE[1], TOP]) + np.stack([x, y, z], axis=1)
    return rf.ReplayDevice(CYCLE * k, at)


def rub(kind: str | None) -> Array:
    """Return the force that a hand that rubs feels."""
    return felt(block(HARD), kind, PERIOD, 1.9, rubbing())[0]["force"]


def largest_change(force: Array) -> float:
    """Return the largest change of a force in a cycle, N."""
    return float(np.linalg.norm(np.diff(force, axis=0), axis=1).max())


def pushed(damping: float, stiffness: float) -> rf.Device:
    """Return a hand that rests on the block and is pushed at 0.5 s."""
    deep = 3e-3 + 2.0 / stiffness  # the spring of the hand holds about 2 N at most
    heights = [1e-3, -deep, -deep, -deep - 3e-4]
    at = [[0.5 * SIZE[0], 0.5 * SIZE[1], TOP + z] for z in heights]
    return rf.SimulatedHand([0.0, 0.3, 0.5, 0.501], at, damping=damping, stiffness=stiffness)


def swing(x: Array) -> float:
    """Return the range of a motion without its trend."""
    times = np.arange(len(x))
    return float(np.ptp(x - np.polyval(np.polyfit(times, x, 1), times)))


def rests(young: float, kind: str | None, period: float, damping: float, spring: float) -> bool:
    """Return True if the push dies away on the block."""
    records, _ = felt(block(young), kind, period, 1.8, pushed(damping, spring))
    x = records["device_position"][:, 2]
    swings = [swing(x[k : k + 400]) for k in (600, 1000, 1400)]
    falls = all(b < FALLS * a or b < 2e-6 for a, b in itertools.pairwise(swings))
    return falls and bool(records["touching"][-200:].all())


def bisect(low: float, high: float, grows: Any) -> float:
    """Return the bound between values for which a function is False and True."""
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if grows(middle) else (middle, high)
    return math.sqrt(low * high)


def stiffness_of(young: float) -> float:
    """Return the largest stiffness of the block under a push, N/m."""
    _, report = felt(block(young), None, CYCLE, 0.7, pushed(GRIP, 60.0))
    return report.stiffness


def least_damping(young: float, kind: str | None, period: float) -> float:
    """Return the least damping of the hand for which a push dies away."""
    return bisect(1e-3, 10.0, lambda b: rests(young, kind, period, b, 20.0))


def stiffest(kind: str | None) -> float:
    """Return the largest Young's modulus of a block that the grip holds."""
    return bisect(1e4, 3e6, lambda young: not rests(young, kind, PERIOD, GRIP, 300.0))


def error(force: Array, reference: Array) -> float:
    """Return the root mean square error of a force, over the largest one."""
    off = np.linalg.norm(force - reference, axis=1)
    return float(np.sqrt(np.mean(off**2)) / np.linalg.norm(reference, axis=1).max())


def study(periods: tuple[float, ...]) -> dict[str, Any]:
    """Return all numbers."""
    soft = block(SOFT, FINE)
    strokes = {kind: felt(soft, kind, PERIOD, 1.3, stroke())[0] for kind in KINDS}
    rubs = {kind: rub(kind) for kind in KINDS}
    return {
        "strokes": strokes,
        "errors": {k: error(strokes[k]["force"], strokes[None]["force"]) for k in KINDS[1:]},
        "changes": {k: largest_change(rubs[k]) for k in KINDS},
        "rubs": {k: error(rubs[k], rubs[None]) for k in KINDS[1:]},
        "K": stiffness_of(SOFT),
        "least": {k: [least_damping(SOFT, k, t) for t in periods] for k in KINDS[1:]},
        "direct": least_damping(SOFT, None, CYCLE),
        "stiffest": {k: stiffest(k) for k in KINDS},
    }


def misses(found: dict[str, Any], periods: tuple[float, ...]) -> list[str]:
    """Return the marks that are missed."""
    missed = []
    for t, delay, local in zip(periods, found["least"]["delay"], found["least"]["stiffness"],
                               strict=True):  # fmt: skip
        ratio = delay / (2.0 * found["K"] * t)
        if not 0.6 <= ratio <= 1.1:
            missed.append(f"T_s = {1e3 * t:g} ms: delay needs {ratio:.2f} of 2 K T_s")
        if not local <= delay / 3.0:
            missed.append(f"T_s = {1e3 * t:g} ms: stiffness needs {local / delay:.2f} of delay")
    best = found["stiffest"]
    if not best[None] > best["stiffness"] > 2.0 * best["delay"]:
        missed.append("the stiffest blocks are not in the order delay, stiffness, direct")
    if not found["errors"]["stiffness"] < found["errors"]["delay"]:
        missed.append("the force of stiffness is farther from direct than that of delay")
    changes, off = found["changes"], found["rubs"]
    if not changes["stiffness"] <= 2.0 * changes["delay"]:
        missed.append("the force of stiffness jumps more than twice as far as that of delay")
    if not off["stiffness"] <= off["delay"]:
        missed.append("when it rubs, the force of stiffness is farther from direct than delay")
    return missed


def draw(found: dict[str, Any], periods: tuple[float, ...], path: Path) -> None:
    """Draw forces, least dampings and stiffest blocks."""
    figure = Figure(figsize=(9.0, 5.6), layout="constrained")
    (press, slide), (least, best) = figure.subplots(2, 2)
    for kind in KINDS:
        one = found["strokes"][kind]
        press.plot(one["time_s"], one["force"][:, 2], label=name_of(kind), lw=1.0)
        slide.plot(one["time_s"], -one["force"][:, 0], label=name_of(kind), lw=1.0)
    press.set(title="force upwards", ylabel="[N]", xlabel="time [s]")
    slide.set(title="friction against the motion", ylabel="[N]", xlabel="time [s]")
    slide.legend(frameon=False)
    ms = 1e3 * np.array(periods)
    for kind in KINDS[1:]:
        least.loglog(
            ms, found["least"][kind], "o-", color=f"C{KINDS.index(kind)}", label=name_of(kind)
        )
    least.loglog(ms, 2e-3 * found["K"] * ms, "k--", lw=0.8, label="2 K T_s")
    least.axhline(found["direct"], color="k", lw=0.8, ls=":", label="direct, 1 ms")
    least.set(title=f"least damping, K = {found['K']:.0f} N/m", xlabel="T_s [ms]",
              ylabel="[N s/m]")  # fmt: skip
    least.legend(frameon=False)
    names = [name_of(kind) for kind in KINDS]
    heights = [1e-3 * found["stiffest"][kind] for kind in KINDS]
    best.bar_label(best.bar(names, heights, color=[f"C{k}" for k in range(len(KINDS))]), fmt="%.0f")
    best.set(title=f"stiffest block at {GRIP:g} N s/m", ylabel="Young's modulus [kPa]")
    best.margins(y=0.1)
    pictures.save_figure(figure, path, dpi=130)


def show(found: dict[str, Any], periods: tuple[float, ...]) -> None:
    """Print the numbers."""
    print(f"K = {found['K']:.0f} N/m (E = {SOFT:g} Pa); least damping, direct: "
          f"{found['direct']:.3f} N s/m, K T / 2 = {0.5 * found['K'] * CYCLE:.3f}")  # fmt: skip
    print("T_s [ms]   2 K T_s    delay  stiffness  [N s/m]")
    for t, *both in zip(periods, found["least"]["delay"], found["least"]["stiffness"],
                        strict=True):  # fmt: skip
        print(f"{1e3 * t:8g}  {2 * found['K'] * t:8.3f}  {both[0]:7.3f}  {both[1]:9.3f}")
    for kind in KINDS:
        young = found["stiffest"][kind]
        off = f", force off by {found['errors'][kind]:.1%}" if kind else ""
        rubs = f", off by {found['rubs'][kind]:.1%}" if kind else ""
        rubs = f"; rubbing: changes of up to {found['changes'][kind]:.3f} N a cycle{rubs}"
        print(f"{name_of(kind):9}: stiffest block {1e-3 * young:7.1f} kPa, about "
              f"{found['K'] * young / SOFT:5.0f} N/m{off}{rubs}")  # fmt: skip


def perform(arguments: argparse.Namespace) -> list[str]:
    """Print the numbers, draw the plot, and return the marks that are missed."""
    found = study(PERIODS)
    show(found, PERIODS)
    draw(found, PERIODS, arguments.plot)
    return misses(found, PERIODS)


def main() -> int:
    """Run from the command line."""
    return command.run(perform, command.options(__file__, __doc__).parse_args())


if __name__ == "__main__":
    sys.exit(main())
