"""Contact of rigid and deformable bodies: nodes, points and times (after Barbic 2007, table 3.1).

The thesis gives one configuration each of four contacts: a knight and an axe, both rigid, the
shell of 1.02 million points; a scene of hoses that deform and a metal part; a dragon that deforms
and a Buddha; that dragon and a dinosaur that deforms too. Those models are not available. Here
the knight is a ball with bumps, the axe a bent plate, the scene the sample hose, the metal part
and the Buddha are balls with bumps, and dragon and dinosaur two lizards with bumps on their
backs. Numbers of points and levels, resolutions, r and proxies are those of the thesis.

A hand slides and turns the object with the field over the shell. At every key of its path, and
with the deformations there, it is pressed so far that as many points touch as in the thesis;
with degradation it is as many as touch on the dragon otherwise. Nodes, points in contact and
level are medians over the cycles, times p50 and p99 over them, each cycle the least of three
replays. TT is the traversal of the tree, with temporal coherence, TL the same contact by all
points one by one, StVK a step of implicit Newmark for every body that deforms. Times of the
thesis are of a Core 2 Duo at 2.66 GHz; its virtual coupling, 90 us more in each case, is left out.

Differences in kind: the thesis skips nodes by temporal coherence against deformed fields too,
from 1,500 to 300; here these distances are not taken for bounds, and no node is skipped. Its
levels are those of the level rendered, of the number of all.

Run it for the table:  python experiments/b07_table_3_1.py [--small]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import contact_scenes as scenes
import numpy as np
from numpy.typing import NDArray

import reducedfem as rf
from reducedfem import samples

Array = NDArray[np.float64]

STIFFNESS = 100.0  # N/m of a point
MATERIAL = rf.StVK(young=1e6, poisson=0.4, density=1000.0)
SLIDE, TURN = 0.004, 0.1  # m and rad, between keys
SWING = 0.02  # largest displacement over the size of the body
KEYS = 9


@dataclass(frozen=True)
class Row:
    """One line of the table; times in microseconds.

    Attributes
    ----------
    levels, points, resolution
        Of the shell, and voxels along the field.
    coherent, every
        Nodes traversed with temporal coherence and without; None: there is none.
    touching, level
        Points in contact, and number of levels rendered.
    stvk, p50, p99, treeless
        A step of all bodies that deform, the traversal, and all points one by one; the thesis
        has one time only of the traversal, and p99 is None.
    """

    levels: int
    points: int
    resolution: int
    coherent: float | None
    every: float
    touching: float
    level: int
    stvk: float
    p50: float
    p99: float | None
    treeless: float


PUBLISHED = {
    "knight(r) + axe(r)": Row(6, 1_020_000, 256, 2050, 3400, 820, 6, 0, 780, None, 80_000),
    "CAD scene(d) + metallic part(r)": Row(4, 80_000, 128, 530, 1520, 50, 4, 45, 125, None, 6600),
    "dragon(d) + Buddha(r)": Row(5, 256_000, 256, 1750, 2900, 650, 5, 45, 615, None, 29_800),
    "dragon(d) + dinosaur(d)": Row(5, 256_000, 256, 300, 1500, 40, 3, 90, 660, None, 590_000),
}


@dataclass(frozen=True)
class Size:
    """Sizes of all objects.

    Attributes
    ----------
    share
        Points over those of the thesis.
    resolution
        Of fields, over that of the thesis.
    voxels
        Of solids along the grid.
    frames
        Cycles.
    """

    share: float = 1.0
    resolution: float = 1.0
    voxels: int = 40
    frames: int = 4000


SMALL = Size(1 / 40, 1 / 8, 12, 300)


@dataclass(frozen=True)
class Case:
    """Two objects that touch.

    Attributes
    ----------
    name
        In `PUBLISHED`.
    tree
        Of the shell.
    other, field, resolution
        Surface of the other object, its field, and how many voxels that has along an axis.
    turned
        Pose of the field at first: unit quaternion; it lies above the shell.
    wanted
        Touching points if all are tested.
    warm
        Threshold [nodes]; None: all levels.
    """

    name: str
    tree: rf.PointTree
    other: rf.Surface
    field: rf.Field | rf.DeformedField
    resolution: int
    turned: Array
    wanted: int
    warm: int | None = None


# --- bodies ---------------------------------------------------------------------------


def bumpy_shell(radius: float, bumps: int, height: float, counts: list[int]) -> rf.Pointshell:
    """Return so many points a level on a bumpy ball, by formulas: no field can be so fine."""
    rng = np.random.default_rng(0)
    # every level spread evenly, and turned against the others
    unit = np.concatenate(
        [scenes.directions(n) @ np.linalg.qr(rng.normal(size=(3, 3)))[0] for n in counts]
    )
    distance = scenes.bumpy_radius(unit, radius, bumps, height)
    # the normal is r u less the gradient of r on the unit sphere
    slope = np.zeros_like(unit)
    sharpness = 0.7 * bumps
    for centre in scenes.directions(bumps):
        cosine = unit @ centre
        bump = height * sharpness * np.exp(sharpness * (cosine - 1.0))
        slope += bump[:, None] * (centre - cosine[:, None] * unit)
    outward = distance[:, None] * unit - slope
    outward /= np.linalg.norm(outward, axis=1)[:, None]
    levels = np.repeat(np.arange(len(counts)), counts)
    return rf.Pointshell(distance[:, None] * unit, -outward, levels)


def level_counts(points: int, levels: int) -> list[int]:
    """Return numbers of points a level that grow by the same factor, about 4."""
    total = np.rint(points * 4.0 ** np.arange(1 - levels, 1)).astype(int)
    return [int(n) for n in np.diff(total, prepend=0)]


def soft(surface: rf.Surface, voxels: int, held: float) -> rf.ReducedSolid:
    """Return a solid of r = 15, held where it is lowest: so much of its height."""
    mesh = rf.voxelize(surface, voxels, cut=False, order=1)
    z = mesh.nodes[:, 2]
    solid = rf.Solid(mesh, MATERIAL, fixed=z < z.min() + held * float(np.ptp(z)))
    return rf.reduce(solid, rf.modal_derivative_basis(solid, 8, 15))


def sampled(surface: rf.Surface, resolution: int, expand: float = 1.2) -> rf.DistanceField:
    """Return the field of a surface."""
    return rf.DistanceField.from_surface(surface, resolution, expand, mode="fast")


def cases(size: Size) -> Iterator[Case]:
    """Make one case after the other, so that not all of them take memory."""
    names = list(PUBLISHED)

    def points(name: str) -> int:
        return round(size.share * PUBLISHED[name].points)

    def voxels(name: str) -> int:
        return round(size.resolution * PUBLISHED[name].resolution)

    def touching(name: str) -> int:
        return max(6, round(size.share * PUBLISHED[name].touching))

    upright = np.array([1.0, 0.0, 0.0, 0.0])

    name = names[0]
    counts = level_counts(points(name), PUBLISHED[name].levels)
    ball = bumpy_shell(0.1, 90, 0.01, counts)
    axe = scenes.shelf(0.24, 0.12, 0.02, 0.16)
    yield Case(
        name, rf.PointTree(ball), axe, sampled(axe, voxels(name)), voxels(name), upright,
        touching(name),
    )  # fmt: skip

    name = names[1]
    hose = samples.load("hose")
    shell = rf.Pointshell.from_surface(hose, points(name), PUBLISHED[name].levels, 0, voxels(name))
    part = scenes.bumpy(0.03, 30, 0.003, 4)
    yield Case(
        name, rf.PointTree(shell, soft(hose, size.voxels, 0.1)), part,
        sampled(part, voxels(name)), voxels(name), upright, touching(name),
    )  # fmt: skip

    name = names[2]
    dragon = scenes.lizard().surface
    shell = rf.Pointshell.from_surface(
        dragon, points(name), PUBLISHED[name].levels, 0, voxels(name)
    )
    tree = rf.PointTree(shell, soft(dragon, size.voxels, 0.1))
    buddha = scenes.bumpy(0.06, 90, 0.007, 5)
    yield Case(
        name, tree, buddha, sampled(buddha, voxels(name)), voxels(name), upright, touching(name)
    )  # fmt: skip

    # back to back, crosswise
    dinosaur = scenes.lizard(bumps=9, length=0.25).surface
    crosswise = scenes.product(
        scenes.quaternion([0, 0, 1], 0.5 * np.pi), scenes.quaternion([1, 0, 0], np.pi)
    )
    deformed = rf.DeformedField(
        sampled(dinosaur, voxels(names[3]), 1.5), soft(dinosaur, size.voxels, 0.1), 40
    )
    yield Case(
        names[3], tree, dinosaur, deformed, voxels(names[3]), crosswise, touching(name), 1500
    )  # fmt: skip


# --- motions --------------------------------------------------------------------------


@dataclass(frozen=True)
class Path:
    """Poses of the field and reduced coordinates of both objects, a cycle a row."""

    motion: scenes.Motion
    qs: Array | None
    field_qs: Array | None

    def __len__(self) -> int:
        return len(self.motion)

    def cycle(self, i: int) -> tuple[Array, Array, Array | None, Array | None]:
        """Return position, quaternion and coordinates of both in a cycle."""
        return (
            self.motion.positions[i],
            self.motion.quaternions[i],
            None if self.qs is None else self.qs[i],
            None if self.field_qs is None else self.field_qs[i],
        )


def swings(reduced: rf.ReducedSolid | None, keys: int, rng: np.random.Generator) -> Array | None:
    """Return deformations of a body, the same largest displacement in all of them."""
    if reduced is None:
        return None
    q: Array = rng.normal(size=(keys, reduced.r)) / (1.0 + np.arange(reduced.r))
    extent = float(np.ptp(reduced.mesh.nodes, axis=0).max())
    most = [np.linalg.norm(reduced.displacement(one), axis=1).max() for one in q]
    return q * (SWING * extent / np.array(most))[:, None]


def blended(keys: Array | None, frames: int) -> Array | None:
    """Return coordinates between those at the keys, as `scenes.hand` passes from key to key."""
    if keys is None:
        return None
    at = np.linspace(0.0, len(keys) - 1.0, frames)
    i = np.minimum(at.astype(int), len(keys) - 2)
    s = (at - i)[:, None]
    return np.asarray(keys[i] + s**3 * (10.0 - 15.0 * s + 6.0 * s * s) * (keys[i + 1] - keys[i]))


def pressed(case: Case, at: Array, turned: Array, q: Array | None, field_q: Array | None) -> Array:
    """Return the position from `at` along z where so many points touch as wanted."""
    contact = rf.PenaltyContact(case.tree, case.field, STIFFNESS, None, direction="normal")
    up = np.array([0.0, 0.0, 1.0])
    low, high = -0.03, 0.03
    for _ in range(24):
        middle = 0.5 * (low + high)
        out = contact.evaluate(at + middle * up, turned, q, field_q=field_q)
        low, high = (middle, high) if out.touching >= case.wanted else (low, middle)
    found: Array = at + low * up
    return found


def path(case: Case, frames: int) -> Path:
    """Return how a hand slides and turns the field over the shell, always pressed as wanted."""
    rng = np.random.default_rng(1)
    solid = case.field.reduced if isinstance(case.field, rf.DeformedField) else None
    qs, field_qs = swings(case.tree.reduced, KEYS, rng), swings(solid, KEYS, rng)
    points = case.tree.shell.points
    top = points[points[:, 2].argmax()]
    keys = []
    for k in range(KEYS):
        turn = TURN * rng.uniform(-1.0, 1.0, 3)
        turned = scenes.product(scenes.of_rotation_vector(turn), case.turned)
        # the lowest point of the one on the highest of the other, and aside
        x = scenes.to_world(case.other.vertices, np.zeros(3), turned)
        aside = SLIDE * rng.uniform(-1.0, 1.0, 3) * [1.0, 1.0, 0.0]
        at = top - x[x[:, 2].argmin()] + aside
        found = pressed(
            case, at, turned, None if qs is None else qs[k],
            None if field_qs is None else field_qs[k],
        )  # fmt: skip
        keys.append(np.concatenate([found, turn]))
    # with the tremor of a hand
    motion = scenes.hand(keys, frames, 2e-5, 5e-4)
    turned = scenes.product(motion.quaternions, np.tile(case.turned, (frames, 1)))
    motion = scenes.Motion(motion.positions, turned)
    return Path(motion, blended(qs, frames), blended(field_qs, frames))


# --- measurements ---------------------------------------------------------------------


def replay(case: Case, way: Path, coherent: bool) -> tuple[rf.ContactTrajectory, Array]:
    """Return what a contact gives over a path, and times of cycles: the least of three."""
    contact = rf.PenaltyContact(
        case.tree, case.field, STIFFNESS, case.warm, temporal_coherence=coherent, direction="normal"
    )
    times = []
    for _ in range(3):
        contact.reset()
        out = contact.evaluate_many(
            way.motion.positions, way.motion.quaternions, way.qs, way.field_qs
        )
        times.append(out.microseconds)
    return out, np.min(times, axis=0)


def step_time(reduced: rf.ReducedSolid | None, q: Array | None) -> float:
    """Return the time of a step [us] while the body swings from q; 0: it is rigid."""
    if reduced is None or q is None:
        return 0.0
    simulation = rf.ImplicitNewmark(reduced, 1e-3, damping=(1.0, 0.002))
    found = []
    for _ in range(5):
        simulation.reset(q)
        start = time.perf_counter()
        simulation.step(n=200)
        found.append((time.perf_counter() - start) / 200)
    return 1e6 * min(found)


def measure(case: Case, frames: int) -> Row:
    """Return the line of a case."""
    way = path(case, frames)
    deformed = isinstance(case.field, rf.DeformedField)
    out, us = replay(case, way, not deformed)
    every = out if deformed else replay(case, way, False)[0]
    # skipped points must not touch
    if not np.array_equal(out.force, every.force):
        raise rf.ReducedFEMError(f"{case.name}: temporal coherence changes the force")
    contact = rf.PenaltyContact(case.tree, case.field, STIFFNESS, None, direction="normal")
    treeless = []
    for i in np.linspace(0, frames - 1, 7).astype(int):
        position, turned, q, field_q = way.cycle(i)
        one = contact.evaluate(position, turned, q, field_q=field_q, treeless=True)
        treeless.append(one.microseconds)
    stvk = step_time(case.tree.reduced, None if way.qs is None else way.qs[0])
    if isinstance(case.field, rf.DeformedField):
        stvk += step_time(case.field.reduced, None if way.field_qs is None else way.field_qs[0])
    p50, p99 = np.percentile(us, [50, 99])
    return Row(
        case.tree.n_levels,
        case.tree.shell.n_points,
        case.resolution,
        None if deformed else float(np.median(out.visited)),
        float(np.median(every.visited)),
        float(np.median(out.touching)),
        int(np.median(out.level)) + 1,
        stvk,
        float(p50),
        float(p99),
        float(np.median(treeless)),
    )


HEAD = (
    f"{'':<33}{'shell':^15}{'field':>6}{'traversed nodes':>17}{'points in':>11}{'':>5}"
    f"{'times [us]':^46}\n"
    f"{'pointshell + distance field':<33}{'levels':>6}{'points':>9}{'':>6}{'with TC':>9}{'off':>8}"
    f"{'contact':>11}{'LOD':>5}{'StVK':>7}{'TT p50':>8}{'p99':>7}{'StVK+TT':>9}{'TL':>9}"
    f"{'TL/TT':>6}"
)


def line(name: str, row: Row) -> str:
    """Return a row as text."""
    coherent = "-" if row.coherent is None else f"{row.coherent:.0f}"
    p99 = "-" if row.p99 is None else f"{row.p99:.0f}"
    return (
        f"{name:<33}{row.levels:>6}{row.points:>9}{row.resolution:>6}{coherent:>9}"
        f"{row.every:>8.0f}{row.touching:>11.0f}{row.level:>5}{row.stvk:>7.0f}{row.p50:>8.0f}"
        f"{p99:>7}{row.stvk + row.p50:>9.0f}{row.treeless:>9.0f}{row.treeless / row.p50:>6.0f}"
    )


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="Takes about 25 s on two cores.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--small", action="store_true", help="a fraction of the points, to try")
    arguments = parser.parse_args()
    size = SMALL if arguments.small else Size()
    start = time.perf_counter()
    try:
        print(HEAD, flush=True)
        for case in cases(size):
            print(line(case.name, measure(case, size.frames)))
            print(line("    thesis, 2007", PUBLISHED[case.name]), flush=True)
    except rf.ReducedFEMError as error:
        print(f"b07_table_3_1.py: {error}", file=sys.stderr)
        return 1
    print(f"{time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
