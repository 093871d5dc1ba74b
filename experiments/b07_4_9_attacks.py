"""Attacks on the virtual coupling: penetration by hostile motions over the depth allowed.

Section 4.9 of Barbic 2007 saturates the coupling's force at that of one point at the depth d that
is allowed, names motions that this does not bound, levers and leaps, and prints no values; all
values printed here are ours. A hand on rails, which feels nothing and never gives way, plays
recorded motions: it presses at several speeds, levers, twists, pries in a slot, drives wedges,
beats a peg on the rim of its hole and a rod through a plate, and walks at random in a box; each
moves far beyond the first contact, and then comes back.

Printed is the deepest penetration of any point over the depth D that is allowed (`max_depth`),
which is 2 d, d half a spacing of the field's samples: for a static coupling that only
saturates, as that of the thesis, for the static and the dynamic one with all limits, and on plates
that deform for object and shell in one solve; then, of the static one while the hand rests, how far
the object still slides, which takes long where a hand that is far away pulls with hardly any force,
and how far it shakes from cycle to cycle; and how far from the hand it is in the end, a second
after that has come back. An asterisk: the object came through. In rigid scenes the limits bound the
depth by 7/8 D (see `VirtualCoupling`). Between the points of the coarse plate there is room for the
rod, which they do not see.

Run it for the numbers:  python experiments/b07_4_9_attacks.py [--help]
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

import reducedfem as rf
from reducedfem.scenes import shapes

Array = NDArray[np.float64]

RATE = 1000.0
STIFFNESS, COUPLING = 200.0, 600.0  # N/m, of a contact point and of the hand's spring
MASS = 0.1  # kg, of dynamic couplings
THICK = 0.004  # m, of plates
FOIL = 4e-4  # m, of one that is thinner than the depth that is allowed
SPEEDS = (0.05, 0.5, 2.0)
HOME = 1.0  # s, at the end
YOUNG = {"soft plate": 4e5, "slack plate": 1e4}  # Pa
SCHEMES = ("saturated", "static", "dynamic", "coupled")


# --- bodies ---------------------------------------------------------------------------


def bar(low: ArrayLike, high: ArrayLike) -> rf.BoxField:
    """Return a box between two corners [m]."""
    return rf.BoxField(tuple(np.asarray(low, float)), tuple(np.asarray(high, float)))


def plate(thick: float = THICK, half: float = 0.04) -> rf.Field:
    """Return a plate whose upper side is z = 0."""
    return bar((-half, -half, -thick), (half, half, 0.0))


def slot(gap: float = 0.0084) -> rf.Field:
    """Return two plates that face each other, open upwards, at x = -gap / 2 and gap / 2."""
    a, b = 0.5 * gap, 0.5 * gap + THICK
    walls = [bar((-b, -0.03, -0.03), (-a, 0.03, 0.0)), bar((a, -0.03, -0.03), (b, 0.03, 0.0))]
    return rf.UnionField(walls)


def wedge(degrees: float) -> rf.Surface:
    """Return a block with a notch along y of that angle, open upwards, its tip at z = -0.03."""
    deep = 0.03
    half = deep * np.tan(np.radians(0.5 * degrees))
    outline = np.array(
        [[-0.02, -0.04], [0.02, -0.04], [0.02, 0.0], [half, 0.0], [0.0, -deep], [-half, 0.0],
         [-0.02, 0.0]]
    )  # fmt: skip
    # triangles of the section that none of its corners lies in
    inside = [(0, 1, 4), (1, 2, 3), (1, 3, 4), (0, 4, 5), (0, 5, 6)]
    n = len(outline)
    front = np.insert(outline, 1, -0.03, axis=1)
    back = np.insert(outline, 1, 0.03, axis=1)
    sides = [
        t
        for k in range(n)
        for t in ((k, (k + 1) % n, n + (k + 1) % n), (k, n + (k + 1) % n, n + k))
    ]
    caps = [t for a, b, c in inside for t in ((a, c, b), (n + a, n + b, n + c))]
    triangles = np.array(sides + caps)
    surface = rf.Surface(np.concatenate([front, back]), triangles)
    return surface if surface.volume > 0 else rf.Surface(surface.vertices, triangles[:, ::-1])


def rim() -> rf.Field:
    """Return a block whose upper side is z = 0, with a round hole along z."""
    hole = rf.CapsuleField((0.0, 0.0, -0.05), (0.0, 0.0, 0.05), 0.0105)
    return bar((-0.03, -0.03, -0.02), (0.03, 0.03, 0.0)) - hole


def posts() -> rf.Field:
    """Return two posts upwards along z at x = -0.02 and 0.02."""
    return rf.UnionField(
        [rf.CapsuleField((x, y, -0.03), (x, y, 0.03), 0.004) for x, y in ((-0.02, 0), (0.02, 0))]
    )


def room() -> rf.Field:
    """Return a hollow box, walls as thick as plates."""
    a, b = 0.04, 0.04 + THICK
    return bar((-b, -b, -b), (b, b, b)) - bar((-a, -a, -a), (a, a, a))


def spread(body: rf.Field | rf.Surface, points: int) -> rf.PointTree:
    """Return points on a body that does not deform."""
    if isinstance(body, rf.Surface):
        return rf.PointTree(rf.Pointshell.from_surface(body, points, resolution=64))
    return rf.PointTree(rf.Pointshell.from_field(body, points, levels=4 if points > 100 else 2))


def held(body: rf.Field, resolution: int) -> rf.DistanceField:
    """Return the field of what the hand holds."""
    return rf.DistanceField.from_field(body, resolution, expand=1.2)


@functools.cache
def shell(name: str, detail: float) -> rf.PointTree:
    """Return what is attacked, by its name."""
    bodies: dict[str, tuple[Callable[[], rf.Field | rf.Surface], int]] = {
        "plate": (plate, 12_000),
        "thin plate": (lambda: plate(0.5 * THICK), 12_000),
        "foil": (lambda: box_surface([-0.04, -0.04, -FOIL], [0.04, 0.04, 0.0]), 12_000),
        "coarse plate": (plate, 60),
        "slot": (slot, 12_000),
        "wedge of 20": (lambda: wedge(20.0), 12_000),
        "wedge of 5": (lambda: wedge(5.0), 12_000),
        "rim": (rim, 12_000),
        "posts": (posts, 4_000),
        "room": (room, 16_000),
    }
    make, points = bodies[name]
    return spread(make(), round(detail**2 * points))


@functools.cache
def soft(name: str, detail: float) -> tuple[rf.ReducedSolid, rf.PointTree]:
    """Return a plate of rubber, twice as thick, that two opposite sides hold, and its shell."""
    low, high = np.array([-0.04, -0.04, -2.0 * THICK]), np.array([0.04, 0.04, 0.0])
    surface = rf.voxelize(box_surface(low, high), 24, cut=False, order=1).surface()
    mesh = rf.voxelize(box_surface(low, high), 24, cut=False, order=1)
    edge = np.abs(mesh.nodes[:, 0]).max()
    solid = rf.Solid(
        mesh, rf.StVK(YOUNG[name], 0.4, 1000.0), fixed=np.abs(mesh.nodes[:, 0]) > 0.99 * edge
    )
    reduced = rf.reduce(solid, rf.modal_derivative_basis(solid, k=6, r=12))
    points = rf.Pointshell.from_surface(surface, round(detail**2 * 8000), resolution=64)
    return reduced, rf.PointTree(points, reduced)


def box_surface(low: ArrayLike, high: ArrayLike) -> rf.Surface:
    """Return a box of twelve triangles."""
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = [t for a, b, c, d in faces for t in ((a, b, c), (a, c, d))]
    return rf.Surface(low + corners * np.subtract(high, low), np.array(triangles))


@functools.cache
def tool(name: str, detail: float) -> tuple[rf.DistanceField, tuple[float, float, float]]:
    """Return what the hand holds, by its name, and where."""
    half = 0.01
    bodies: dict[str, tuple[rf.Field, int, tuple[float, float, float]]] = {
        "block": (bar(3 * [-half], 3 * [half]), 32, (0.0, 0.0, 0.0)),
        # the long one is held at its end
        "rod": (bar((0.0, -0.004, -0.004), (0.16, 0.004, 0.004)), 128, (0.0, 0.0, 0.0)),
        "stick": (bar((-0.03, -0.004, -0.004), (0.03, 0.004, 0.004)), 64, (0.0, 0.0, 0.0)),
        "bar": (bar((-0.06, -0.004, -0.004), (0.06, 0.004, 0.004)), 96, (0.0, 0.0, 0.0)),
        "blade": (bar((-0.004, -0.015, -0.025), (0.004, 0.015, 0.025)), 64, (0.0, 0.0, 0.025)),
        "peg": (
            rf.IntersectionField(
                [rf.CapsuleField((0.0, 0.0, -0.1), (0.0, 0.0, 0.1), 0.01),
                 bar((-0.02, -0.02, 0.0), (0.02, 0.02, 0.05))]
            ), 64, (0.0, 0.0, 0.05),
        ),
    }  # fmt: skip
    body, resolution, grasp = bodies[name]
    return held(body, round(detail * resolution)), grasp


# --- attacks --------------------------------------------------------------------------


def way(keys: ArrayLike, speed: float, turn: float = 20.0, rest: float = 0.15) -> shapes.Trajectory:
    """Return a motion past places [m] and rotation vectors [rad], (k, 6), and all the way back.

    It rests at each, a second at the last; between them it has a steady speed [m/s] and turns at
    most so fast [rad/s].
    """
    poses = np.asarray(keys, dtype=np.float64)
    poses = np.concatenate([poses, poses[-2::-1]])
    parts = [np.repeat(poses[:1], 20, axis=0)]
    for a, b in itertools.pairwise(poses):
        takes = max(np.linalg.norm((b - a)[:3]) / speed, np.linalg.norm((b - a)[3:]) / turn)
        steps = max(1, round(RATE * float(takes)))
        parts += [a + np.linspace(0.0, 1.0, steps + 1)[1:, None] * (b - a)]
        parts += [np.repeat(b[None], round(RATE * rest), axis=0)]
    parts += [np.repeat(poses[-1:], round(RATE * (HOME - rest)), axis=0)]
    return posed(np.concatenate(parts))


def posed(x: Array) -> shapes.Trajectory:
    """Return the motion through places and rotation vectors, a row a cycle."""
    half = 0.5 * np.linalg.norm(x[:, 3:], axis=1, keepdims=True)
    turns = np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * x[:, 3:]], axis=1)
    return np.arange(len(x)) / RATE, np.ascontiguousarray(x[:, :3]), turns


def homed(walk: Array) -> shapes.Trajectory:
    """Return the motion of a walk, and then back in 0.2 s to where it began, and a second there."""
    home = np.linspace(walk[-1], walk[0], 200)
    return posed(np.concatenate([walk, home, np.repeat(walk[:1], round(RATE * HOME), axis=0)]))


def wander(start: ArrayLike, seconds: float, step: float, turn: float, seed: int) -> Array:
    """Return a random walk of a hand, smooth over some 10 ms, drawn back to where it began."""
    rng = np.random.default_rng(seed)
    n = round(RATE * seconds)
    pushes = rng.normal(size=(n + 50, 6)) * [step, step, step, turn, turn, turn]
    smooth = np.hanning(22)[1:-1]
    pushes = np.stack([np.convolve(column, smooth, "same")[:n] for column in pushes.T], axis=1)
    x = np.zeros((n, 6))
    for k in range(1, n):
        x[k] = 0.998 * x[k - 1] + pushes[k]
    return np.asarray(start, dtype=np.float64) + x


@dataclass(frozen=True)
class Attack:
    """Motion of a hand with a tool against a shell.

    Attributes
    ----------
    name
        Of a row.
    shell, tool
        By name.
    motion
        Of the hand on rails.
    beyond
        A height [m] that the object's grasp point cannot get below without going through; None:
        there is none.
    """

    name: str
    shell: str
    tool: str
    motion: shapes.Trajectory
    beyond: float | None = None


def soft_attacks(speeds: Sequence[float] = SPEEDS, seeds: Sequence[int] = (0,)) -> list[Attack]:
    """Return those on the plate that deforms."""
    found = []
    for body in YOUNG:
        for speed in speeds:
            down = [(0.0, 0.0, 0.02, 0.3, 0.2, 0), (0.0, 0.0, -0.06, 0.3, 0.2, 0)]
            found.append(Attack(f"corner on {body}, {speed:g} m/s", body, "block",
                                way(down, speed), -0.04))  # fmt: skip
            lying = [(-0.12, 0, 0.012, 0, 0, 0), (-0.12, 0, 0.012, 0, 1.2, 0)]
            found.append(Attack(f"lever on {body}, {speed:g} m/s", body, "rod",
                                way(lying, speed, 10 * speed)))  # fmt: skip
        for seed in seeds:
            walk = wander((0.0, 0.0, 0.035, 0, 0, 0), 3.0, 1.5e-4, 0.03, seed)
            found.append(Attack(f"block at random on {body}, {seed}", body, "block", homed(walk)))
    return found


def attacks(speeds: Sequence[float] = SPEEDS, seeds: Sequence[int] = (0, 1, 2)) -> list[Attack]:
    """Return the recorded attacks."""
    found = []
    above, far = (0.0, 0.0, 0.02, 0, 0, 0), (0.0, 0.0, -0.06, 0, 0, 0)
    for speed in speeds:
        for body in ("plate", "thin plate"):
            found.append(
                Attack(f"block on {body}, {speed:g} m/s", body, "block", way([above, far], speed),
                       -THICK)
            )  # fmt: skip
        # a corner first
        tilted = [(*p[:3], 0.6, 0.5, 0.0) for p in (above, far)]
        found.append(Attack(f"corner on plate, {speed:g} m/s", "plate", "block",
                            way(tilted, speed), -THICK))  # fmt: skip
        # end on: the rod stands upright, 6.5 cm below its middle
        upright = [(0, 0, 0.17, 0, np.pi / 2, 0), (0, 0, 0.05, 0, np.pi / 2, 0)]
        found.append(Attack(f"rod on thin plate, {speed:g} m/s", "thin plate", "rod",
                            way(upright, speed), 0.16 - THICK))  # fmt: skip
        lying = [(-0.12, 0, 0.012, 0, 0, 0), (-0.12, 0, 0.012, 0, 1.2, 0),
                 (-0.12, 0, -0.05, 0, 1.2, 0)]  # fmt: skip
        found.append(Attack(f"lever on plate, {speed:g} m/s", "plate", "rod",
                            way(lying, speed, 10 * speed)))  # fmt: skip
        twist = [(0, 0, 0, 0, 0, np.pi / 2), (0, 0, 0, 0, 0, -0.45 * np.pi),
                 (0, 0, 0, 0, 0, np.pi / 2)]  # fmt: skip
        found.append(Attack(f"bar between posts, {speed:g} m/s", "posts", "bar",
                            way(twist, speed, 10 * speed)))  # fmt: skip
        pry = [(0, 0, 0.055, 0, 0, 0), (0, 0, 0.01, 0, 0, 0), (0.04, 0, 0.01, 0, 1.2, 0),
               (-0.04, 0, 0.01, 0.5, -1.2, 0), (0, 0, 0.01, 0, 0, 1.5)]  # fmt: skip
        found.append(Attack(f"blade in slot, {speed:g} m/s", "slot", "blade",
                            way(pry, speed, 10 * speed)))  # fmt: skip
        for degrees in (20, 5):
            down = [(0, 0, 0.055, 0, 0, 0), (0, 0, -0.06, 0, 0, 0), (0.02, 0, -0.06, 0, 0.5, 0)]
            found.append(Attack(f"blade in wedge of {degrees}, {speed:g} m/s",
                                f"wedge of {degrees}", "blade", way(down, speed)))  # fmt: skip
        miss = [(0.008, 0, 0.07, 0, 0, 0), (0.008, 0, 0.0, 0, 0, 0), (0.008, 0, 0.0, 0, 0.8, 0)]
        found.append(Attack(f"peg on rim, {speed:g} m/s", "rim", "peg", way(miss, speed)))
    for body in ("foil", "coarse plate"):
        thrust = [(0.003, 0.001, 0.17, 0, np.pi / 2, 0), (0.003, 0.001, 0.05, 0, np.pi / 2, 0)]
        found.append(Attack(f"rod on {body}, 0.5 m/s", body, "rod", way(thrust, 0.5), 0.15))
    for seed in seeds:
        for body in ("block", "stick"):
            walk = wander(np.zeros(6), 3.0, 6e-4, 0.03, seed)
            found.append(Attack(f"{body} at random, {seed}", "room", body, homed(walk), -0.04))
    return found


# --- measured -------------------------------------------------------------------------


@dataclass(frozen=True)
class Result:
    """Of an attack on a coupling.

    Attributes
    ----------
    deepest
        Penetration over the depth that is allowed.
    through
        True if the object came through.
    slide, shake
        Of the object while the hand has been at rest for 100 ms and more [m], the largest: how far
        it gets, and how far, on average, each place is from the middle of those of the cycles
        before and after.
    left
        Distance of the object from the hand a second after that returned to its first place [m].
    """

    deepest: float
    through: bool
    slide: float
    shake: float
    left: float


def couple(contact: rf.PenaltyContact, scheme: str) -> rf.VirtualCoupling | rf.DynamicCoupling:
    """Return the coupling that fits a contact, or another one of the same springs and limits."""
    # half a spacing deep, and no more force than that of one such point (4.9)
    depth = 0.5 * float(np.max(contact.field.spacing))
    static = rf.VirtualCoupling.for_contact(
        contact, COUPLING, depth=depth, max_force=STIFFNESS * depth
    )
    lever = np.sqrt(0.5 * static.torsional_stiffness / static.stiffness)
    static = dataclasses.replace(static, max_torque=STIFFNESS * depth * float(lever))
    if scheme == "saturated":
        return dataclasses.replace(static, max_depth=None)
    if scheme != "dynamic":
        return static
    # as if the mass were where the displacements by a turn are the torsional spring's
    inertia = MASS * 0.5 * static.torsional_stiffness / static.stiffness
    shared = {f.name for f in dataclasses.fields(rf.DynamicCoupling)} & {
        f.name for f in dataclasses.fields(static)
    }
    return rf.DynamicCoupling(
        mass=MASS, inertia=inertia, **{name: getattr(static, name) for name in shared}
    )


def play(attack: Attack, scheme: str, detail: float = 1.0) -> Result:
    """Return what an attack comes to.

    Parameters
    ----------
    attack
        Which.
    scheme
        Of `SCHEMES`; the last one takes a shell that deforms.
    detail
        Of shells and fields: 0.5 are points twice as far apart, and a depth twice as large.
    """
    field, grasp = tool(attack.tool, detail)
    simulation = None
    if attack.shell in YOUNG:
        reduced, tree = soft(attack.shell, detail)
        simulation = rf.ImplicitNewmark(reduced, 1.0 / RATE, damping=(2.0, 0.003))
    else:
        tree = shell(attack.shell, detail)
    contact = rf.PenaltyContact(tree, field, STIFFNESS, None, grasp=grasp, direction="normal")
    times, positions, turns = attack.motion
    session = rf.HapticSession(
        contact,
        rf.ReplayDevice(times, positions, turns),
        coupling=couple(contact, scheme),
        simulation=simulation,
        coupled=scheme == "coupled",
        budget_us=0.0,
    )
    try:
        records = session.run(len(times)).array
    finally:
        session.close()
    x, hand = records["object_position"], records["hand_position"]
    return Result(
        float(records["depth_m"].max() / np.max(field.spacing)),
        attack.beyond is not None and bool(x[:, 2].min() < attack.beyond),
        *unrest(records),
        float(np.linalg.norm(x[-1] - hand[-1])),
    )


def unrest(records: NDArray[np.void]) -> tuple[float, float]:
    """Return `Result.slide` and `Result.shake`."""
    moves = np.any(np.diff(records["hand_position"], axis=0) != 0.0, axis=1)
    moves |= np.any(np.diff(records["hand_quaternion"], axis=0) != 0.0, axis=1)
    ends = [0, *(1 + np.flatnonzero(moves)), len(records)]
    rests = [(a + 100, b) for a, b in itertools.pairwise(ends) if b - a > 120]
    x = records["object_position"]
    slides = [np.linalg.norm(np.ptp(x[a:b], axis=0)) for a, b in rests]
    shakes = [np.linalg.norm(0.5 * np.diff(x[a:b], 2, axis=0), axis=1).mean() for a, b in rests]
    return float(max(slides, default=0.0)), float(max(shakes, default=0.0))


def table(found: Sequence[Attack], detail: float = 1.0) -> Iterator[str]:
    """Return the lines of the numbers, one by one."""
    head = "".join(f"{scheme:>11}" for scheme in SCHEMES)
    tail = "".join(f"{name + ' [mm]':>13}" for name in ("slide", "shake", "left"))
    yield f"{'depth over what is allowed':<36}{head}{tail}"
    worst = dict.fromkeys(SCHEMES, 0.0)
    for attack in found:
        cells, static = "", None
        for scheme in SCHEMES:
            if scheme == "coupled" and attack.shell not in YOUNG:
                cells += f"{'':>11}"
                continue
            result = play(attack, scheme, detail)
            static = result if scheme == "static" else static
            worst[scheme] = max(worst[scheme], result.deepest)
            cells += f"{result.deepest:>10.3f}{'*' if result.through else ' '}"
        assert static is not None
        tail = "".join(f"{1e3 * x:>13.3f}" for x in (static.slide, static.shake, static.left))
        yield f"{attack.name:<36}{cells}{tail}"
    yield f"{'largest':<36}" + "".join(f"{worst[scheme]:>10.3f} " for scheme in SCHEMES)


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="Takes about a minute on two cores.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--speeds", type=float, nargs="+", default=SPEEDS, help="of the hand [m/s] (0.05 0.5 2)"
    )
    parser.add_argument("--seeds", type=int, default=3, help="random walks (3)")
    parser.add_argument("--detail", type=float, default=1.0, help="of shells and fields (1)")
    arguments = parser.parse_args()
    if not all(0.01 <= speed <= 100.0 for speed in arguments.speeds):
        parser.error("--speeds must be between 0.01 and 100")
    if not 0.4 <= arguments.detail <= 4.0:
        parser.error(f"--detail must be between 0.4 and 4, got {arguments.detail:g}")
    if arguments.seeds < 0:
        parser.error(f"--seeds must not be negative, got {arguments.seeds}")
    seeds = range(arguments.seeds)
    found = attacks(arguments.speeds, seeds) + soft_attacks(arguments.speeds, seeds)
    for line in table(found, arguments.detail):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
