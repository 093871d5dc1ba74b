"""Softness that is felt: sessions with the defaults against the static truth.

A ball that a virtual coupling holds is pressed into soft bodies, at flat and at pointed places. The
force on the hand at rest is compared with that at the minimum of the energies of body and coupling,

    W(q) + 1/2 k |x_hand - x|^2   while no point of the body is inside the ball,

by Newton's method with a penalty that grows until nothing is inside, on the branch on which the
session came to rest: frictionless balls slide off tips. Nothing in a session is tuned: stiffness
of contact, limits of the coupling and the solve are the defaults. Printed for each body, place and
modulus: the force felt, its error, the standard deviation over the mean in the last second, chatter
on the way (root mean square of the force faster than 20 ms), and the energy that pressing and
releasing three times gave to the hand, less the part that comes of holding a force for a cycle.

While the hand moves in and out at 10 mm/s: the drag, by which the errors on the two ways differ,
against the same energies stepped in time.

Then two bodies that both deform, one the other's field of distances: bodies of 3e3 to 3e6 Pa
against a soft ball on a stalk. And rigid shells: 1 to 2,000 points that touch at once.

Run it for the numbers and a plot:  python experiments/felt_stiffness.py [--help]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import command
import numpy as np
from numpy.typing import NDArray

import reducedfem as rf
from reducedfem import plot as pictures
from reducedfem.scenes import shapes

Array = NDArray[np.float64]

SIZE = 0.15  # m, of each body
RADIUS = 0.012  # m, of the ball
PRESSED = 0.012  # m, by which the hand goes beyond the first touch
CLEAR = 0.004  # m, where it begins
DENSITY = 1000.0
DAMPING = 1.4  # alpha over the lowest angular frequency; beta is a twentieth of a step
MODULI = (3e3, 3e4, 3e5, 3e6)
RIGHT = 0.07  # just noticeable difference of stiffness
STILL = 0.01
SPEED = 0.01  # m/s, of the hand in motion
AWAY = 0.3  # m/s, of a hand that leaves
FASTER = 0.02  # s, of chatter
SETTLED = 40.0  # rad of the lowest frequency: soft bodies slide slowly off frictionless points


# ---- bodies --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Body:
    """A body that is held below, with the shell on it, and places to press.

    Attributes
    ----------
    name
        Of the surface.
    model
        At the first modulus, editable.
    tree
        Its points.
    places
        By name: a point of the surface and the direction in which the ball comes, (2, 3).
    """

    name: str
    model: rf.ReducedSolid
    tree: rf.PointTree
    places: dict[str, Array]

    def at(self, young: float, density: float = DENSITY) -> rf.ReducedSolid:
        """Return the model with another modulus and density."""
        return self.model.edit({0: rf.StVK(young, 0.4, density)})


def scaled(surface: rf.Surface, up: int = 2) -> rf.Surface:
    """Return a surface as large as all are, with an axis that points up along z, from 0."""
    vertices = np.roll(np.asarray(surface.vertices), 2 - up, axis=1)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    middle = 0.5 * (low + high)
    middle[2] = low[2]
    return rf.Surface((vertices - middle) * (SIZE / (high - low).max()), surface.triangles)


def places_of(shell: rf.Pointshell, free: NDArray[np.bool_]) -> dict[str, Array]:
    """Return three places: the farthest out, and two of the flattest, apart from each other."""
    points, normals = shell.points, shell.normals
    centre = points.mean(axis=0)
    candidates = np.flatnonzero(free)
    flat = np.empty(len(candidates))
    for k, i in enumerate(candidates):
        near = np.linalg.norm(points - points[i], axis=1) < RADIUS
        flat[k] = np.linalg.norm(normals[near].mean(axis=0))
    way = np.linalg.norm(points[candidates] - centre, axis=1)
    tip = candidates[np.argmax(way)]
    first = candidates[np.argmax(flat)]
    apart = np.linalg.norm(points[candidates] - points[first], axis=1) > 0.4 * SIZE
    second = candidates[np.argmax(np.where(apart, flat, 0.0))]
    outwards = points[tip] - centre
    inward = -outwards / np.linalg.norm(outwards)
    return {
        "tip": np.stack([points[tip], inward]),
        "flat": np.stack([points[first], normals[first]]),
        "flat 2": np.stack([points[second], normals[second]]),
    }


def body_of(name: str, surface: rf.Surface, r: int, points: int, resolution: int) -> Body:
    """Return a body of a surface, whose lowest fifth is held."""
    mesh = rf.voxelize(surface, resolution, fill=True)
    solid = rf.Solid(mesh, rf.StVK(MODULI[0], 0.4, DENSITY), fixed=mesh.nodes[:, 2] < 0.2 * SIZE)
    basis = rf.modal_derivative_basis(solid, k=min(8, r), r=r)
    model = rf.reduce(solid, basis, editable=True)
    shell = rf.Pointshell.from_surface(surface, points, levels=4, resolution=96)
    free = shell.points[:, 2] > 0.4 * np.ptp(shell.points[:, 2])
    return Body(name, model, rf.PointTree(shell, model), places_of(shell, free))


def own_surfaces() -> Iterator[tuple[str, rf.Surface]]:
    """Yield surfaces that are made by formulas."""
    yield "dragon", scaled(shapes.dragon(), up=0)
    yield "post", scaled(shapes.post())
    statue = shapes.statue()
    yield "statue", scaled(rf.Surface(statue.vertices, statue.triangles))


# ---- truth ---------------------------------------------------------------------------------------


def lowest_frequency(model: rf.ReducedSolid) -> float:
    """Return the lowest angular frequency [rad/s]."""
    k, m = model.stiffness(np.zeros(model.r)), model.mass
    return float(np.sqrt(np.linalg.eigvals(np.linalg.solve(m, k)).real.min()))


@dataclass(frozen=True)
class Pressed:
    """The energies of a body, a coupling and a penalty on points of the body inside the ball.

    Attributes
    ----------
    model, k
        The body and the stiffness of the coupling.
    rest, rows
        Points of the shell and their motion by the coordinates.
    """

    model: rf.ReducedSolid
    k: float
    rest: Array
    rows: Array

    @classmethod
    def of(
        cls, model: rf.ReducedSolid, tree: rf.PointTree, k: float, ball: Array, q: Array
    ) -> Pressed:
        """Return those of the points that may get near to the ball."""
        rest = tree.positions(np.zeros(model.r))
        use = np.flatnonzero(np.linalg.norm(tree.positions(q) - ball, axis=1) < 3.0 * RADIUS)
        rows = [tree.positions(e)[use] - rest[use] for e in np.eye(model.r)]
        return cls(model, k, rest[use], np.stack(rows, axis=-1))

    def look(self, s: Array, hand: Array, penalty: float) -> tuple[float, Array, Array]:
        """Return energy, slope and matrix at a state: the ball's place and the coordinates."""
        x, u = s[:3], s[3:]
        way = self.rest + self.rows @ u - x
        length = np.linalg.norm(way, axis=1)
        inside = length < RADIUS
        depth, g = (length - RADIUS)[inside], way[inside] / length[inside, None]
        rows = self.rows[inside]
        w = np.concatenate([-g, np.einsum("ki,kij->kj", g, rows)], axis=1)
        energy = self.model.strain_energy(u) + 0.5 * self.k * np.sum((hand - x) ** 2)
        energy += 0.5 * penalty * np.sum(depth**2)
        slope = np.concatenate([-self.k * (hand - x), self.model.internal_force(u)])
        slope += penalty * depth @ w
        matrix = penalty * w.T @ w
        matrix[:3, :3] += self.k * np.eye(3)
        matrix[3:, 3:] += self.model.stiffness(u)
        # rotation of directions, which softens
        for d, n, row in zip(depth, g, rows, strict=True):
            both = np.concatenate([-np.eye(3), row], axis=1)
            across = (np.eye(3) - np.outer(n, n)) / (RADIUS + d)
            matrix += penalty * d * both.T @ across @ both
        return energy, slope, matrix

    def settle(
        self,
        state: Array,
        hand: Array,
        penalty: float,
        inertia: tuple[Array, Array] | None = None,
    ) -> Array:
        """Return the minimum near a state; with a matrix and a place, those of a step in time."""

        def look(s: Array) -> tuple[float, Array, Array]:
            energy, slope, matrix = self.look(s, hand, penalty)
            if inertia is not None:
                pull = inertia[0] @ (s[3:] - inertia[1])
                energy += 0.5 * pull @ (s[3:] - inertia[1])
                slope[3:] += pull
                matrix[3:, 3:] += inertia[0]
            return energy, slope, matrix

        for _ in range(60):
            energy, slope, matrix = look(state)
            values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
            least = 1e-9 * values[-1]
            step = -vectors @ ((vectors.T @ slope) / np.maximum(np.abs(values), least))
            size = 1.0
            while size > 1e-8 and not look(state + size * step)[0] <= energy:
                size *= 0.5
            state = state + size * step
            if abs(slope @ step) < 1e-14 * (abs(energy) + 1e-12) or size <= 1e-8:
                break
        return state


def truth(
    model: rf.ReducedSolid, tree: rf.PointTree, hand: Array, k: float, ball: Array, q: Array
) -> float:
    """Return the force of the coupling at the minimum, from a state near it."""
    pressed, state = Pressed.of(model, tree, k, ball, q), np.concatenate([ball, q])
    for penalty in 20.0 * k * 10.0 ** np.arange(0.0, 3.1, 0.5):
        state = pressed.settle(state, hand, penalty)
    return float(k * np.linalg.norm(hand - state[:3]))


def truth_in_motion(
    model: rf.ReducedSolid,
    tree: rf.PointTree,
    hands: Array,
    k: float,
    h: float,
    alpha: float,
) -> Array:
    """Return the force of the coupling while the hand moves, at every step h.

    The ball has no mass. The body makes steps of Newmark's scheme (average acceleration) with
    damping alpha M, each the minimum of the energies and of

        1/2 (u - u_0)^T A (u - u_0),   A = (4 / h^2 + 2 alpha / h) M,

    with u_0 such that A (u - u_0) = M a + alpha M v at the end of the step.
    """
    r = model.r
    pressed = Pressed.of(model, tree, k, hands[len(hands) // 2], np.zeros(r))
    state, v, a = np.concatenate([hands[0], np.zeros(r)]), np.zeros(r), np.zeros(r)
    share = 4.0 / h**2 + 2.0 * alpha / h
    forces = np.empty(len(hands))
    for i, hand in enumerate(hands):
        q = state[3:]
        ahead = q + (4.0 / h * v + a + alpha * v) / share
        state = pressed.settle(state, hand, 1e3 * k, (share * model.mass, ahead))
        moved = state[3:] - q
        a = 4.0 / h**2 * moved - 4.0 / h * v - a
        v = 2.0 / h * moved - v
        forces[i] = k * np.linalg.norm(hand - state[:3])
    return forces


# ---- sessions ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A body, the place that is pressed, and how.

    Attributes
    ----------
    body, place, young, k, rate, density, steps
        The body and where, its modulus, the coupling, the rate, its density, and the steps of its
        simulation in a cycle.
    """

    body: Body
    place: str
    young: float
    k: float = 500.0
    rate: float = 1000.0
    density: float = DENSITY
    steps: int = 1

    def __str__(self) -> str:
        return (
            f"{self.body.name:>12} {self.place:>7} {self.young:8.0e} {self.k:6.0f} "
            f"{self.rate:6.0f} {self.density:6.0f}"
        )


@dataclass(frozen=True)
class Felt:
    """The outcome of a case.

    Attributes
    ----------
    case
        The case.
    felt, true
        Force at rest [N].
    still
        Standard deviation over mean of the force in the last second.
    chatter
        Root mean square of what is faster than 20 ms in contact [N].
    given
        Energy given to the hand [J], and exchanged in all.
    exchanged
        Energy that went either way [J].
    trace
        Times and forces; empty where the session failed.
    """

    case: Case
    felt: float
    true: float
    still: float
    chatter: float
    given: float
    exchanged: float
    trace: tuple[Array, Array]

    @property
    def failure(self) -> str:
        """Reason why there is nothing to compare; empty: there is."""
        if np.isnan(self.felt):
            return "diverged"
        return "nothing touches" if max(self.felt, self.true) < self._least else ""

    @property
    def error(self) -> float:
        """Relative to the truth; infinite where there is nothing to compare."""
        return np.inf if self.failure else self.felt / max(self.true, self._least) - 1.0

    @property
    def _least(self) -> float:
        return 1e-6 * self.case.k * PRESSED


def contact_of(tree: rf.PointTree, ball: rf.Field) -> rf.PenaltyContact:
    """Return the contact by defaults; all levels, so that runs can be repeated."""
    return rf.PenaltyContact(tree, ball, warm_nodes=None)


def ball_field() -> rf.DistanceField:
    """Return a sampled ball."""
    return rf.DistanceField.from_field(rf.SphereField((0.0, 0.0, 0.0), RADIUS), 48, expand=1.5)


def energy(records: NDArray[np.void]) -> tuple[float, float]:
    """Return the work of the device on the hand, without what holding for a cycle gives."""
    force, hand = records["force"], records["hand_position"]
    work = np.sum(0.5 * (force[1:] + force[:-1]) * np.diff(hand, axis=0), axis=1)
    return float(work.sum()), float(np.abs(work).sum())


def chatter_of(force: Array, rate: float) -> float:
    """Return the root mean square of what is faster than 20 ms [N]."""
    window = max(2, round(FASTER * rate))
    smooth = np.stack([np.convolve(f, np.ones(window) / window, "valid") for f in force.T], axis=1)
    first = (window - 1) // 2
    fast = force[first : first + len(smooth)] - smooth
    touched = np.linalg.norm(smooth, axis=1) > 0.0
    return float(np.sqrt(np.mean(np.sum(fast[touched] ** 2, axis=1)))) if touched.any() else 0.0


def press(case: Case) -> Felt:
    """Return what is felt in a case."""
    body = case.body
    model = body.at(case.young, case.density)
    omega = lowest_frequency(model)
    point, inwards = body.places[case.place]
    top, bottom = point - (RADIUS + CLEAR) * inwards, point + (PRESSED - RADIUS) * inwards
    down = 0.25
    rests = 1.0 + max(1.5, SETTLED / omega)
    times = [0.0, down, down + rests]
    ways = [top, bottom, bottom]
    for _ in range(3):  # and release, thrice
        times += [times[-1] + down, times[-1] + 2.0 * down]
        ways += [top, bottom]
    times.append(times[-1] + down)
    ways.append(top)
    contact = contact_of(body.tree, ball_field())
    h = 1.0 / case.rate
    sim = rf.ImplicitNewmark(model, h / case.steps, damping=(DAMPING * omega, 0.05 * h))
    made = rf.HapticSession(
        contact, rf.ReplayDevice(times, ways), simulation=sim, rate=case.rate, ramp=0.0,
        coupling=rf.VirtualCoupling.for_contact(contact, case.k), budget_us=0.0,
    )  # fmt: skip
    n = round((down + rests) * case.rate)
    try:
        first = made.run(n).array
        q = made.snapshot().q[0]
        assert q is not None
        ball = first["object_position"][-1]
        second = made.run(round((times[-1] - down - rests) * case.rate)).array
    except rf.DivergedError:
        none = np.zeros(0), np.zeros(0)
        return Felt(case, np.nan, np.nan, np.inf, np.nan, np.nan, np.nan, none)
    finally:
        made.close()
    force = first["force"]
    last = force[-round(case.rate) :]
    mean = float(np.linalg.norm(last.mean(axis=0)))
    given, exchanged = energy(np.concatenate([first, second]))
    still = float(np.linalg.norm(last.std(axis=0))) / max(mean, 1e-9)
    return Felt(
        case, mean, truth(model, body.tree, bottom, case.k, ball, q),
        still, chatter_of(force, case.rate), given,
        exchanged, (np.arange(n) / case.rate, np.linalg.norm(force, axis=1)),
    )  # fmt: skip


def leaving(case: Case, speed: float) -> tuple[float, float]:
    """Return the force at rest, and the largest that holds back a hand that leaves at a speed."""
    model = case.body.at(case.young, case.density)
    omega = lowest_frequency(model)
    point, inwards = case.body.places[case.place]
    top, bottom = point - (RADIUS + CLEAR) * inwards, point + (PRESSED - RADIUS) * inwards
    rests = 1.0 + max(1.5, SETTLED / omega)
    away = 0.25 + rests + (CLEAR + PRESSED) / speed
    contact = contact_of(case.body.tree, ball_field())
    made = rf.HapticSession(
        contact, rf.ReplayDevice([0.0, 0.25, 0.25 + rests, away], [top, bottom, bottom, top]),
        simulation=rf.ImplicitNewmark(model, 1.0 / case.rate, damping=(DAMPING * omega, 0.0)),
        coupling=rf.VirtualCoupling.for_contact(contact, case.k), rate=case.rate, ramp=0.0,
        budget_us=0.0,
    )  # fmt: skip
    outwards = -made.run(seconds=away + 0.3).array["force"] @ inwards
    made.close()
    still = round((0.25 + rests) * case.rate)
    return float(outwards[still - 1]), float(-outwards[still:].min())


def in_motion(case: Case, speed: float, deep: float = 0.008) -> tuple[float, float, Array, Array]:
    """Return how force felt and truth differ while the hand goes in and out at a speed.

    Returns
    -------
    tuple
        Error: root mean square of the difference over that of the truth, both averaged over
        20 ms; drag [N s / m]: half of the difference of the mean errors on the ways in and out,
        over the speed; the averaged forces, felt and true [N].
    """
    body = case.body
    model = body.at(case.young, case.density)
    omega, h = lowest_frequency(model), 1.0 / case.rate
    point, inwards = body.places[case.place]
    top, bottom = point - (RADIUS + 0.001) * inwards, point + (deep - RADIUS) * inwards
    down = (deep + 0.001) / speed
    contact = contact_of(body.tree, ball_field())
    made = rf.HapticSession(
        contact, rf.ReplayDevice([0.0, down, 2.0 * down], [top, bottom, top]), rate=case.rate,
        simulation=rf.ImplicitNewmark(model, h, damping=(DAMPING * omega, 0.0)), ramp=0.0,
        coupling=rf.VirtualCoupling.for_contact(contact, case.k), budget_us=0.0,
    )  # fmt: skip
    records = made.run(seconds=2.0 * down).array
    made.close()
    true = truth_in_motion(
        model, body.tree, records["hand_position"], case.k, h, DAMPING * omega
    )  # fmt: skip
    window = np.ones(round(FASTER * case.rate)) / round(FASTER * case.rate)
    felt = np.convolve(np.linalg.norm(records["force"], axis=1), window, "valid")
    true = np.convolve(true, window, "valid")
    wrong, half = felt - true, len(true) // 2
    size = np.sqrt(np.mean(true**2))
    drag = 0.5 * (wrong[:half].mean() - wrong[half:].mean()) / speed
    return float(np.sqrt(np.mean(wrong**2)) / size), float(drag), felt, true


# ---- both deform ---------------------------------------------------------------------------------


def soft_stalk(young: float = 3e5) -> tuple[rf.ReducedSolid, rf.DistanceField]:
    """Return a ball on a stalk that is held at its upper end, and its distances at rest."""
    stalk = rf.CapsuleField((0.0, 0.0, 0.0), (0.0, 0.0, 0.1), RADIUS)
    rest = rf.DistanceField.from_field(stalk, 96, expand=1.4)
    mesh = rf.voxelize(rest.isosurface(), 24, fill=True)
    solid = rf.Solid(mesh, rf.StVK(young, 0.4, DENSITY), fixed=mesh.nodes[:, 2] > 0.09)
    return rf.reduce(solid, rf.modal_derivative_basis(solid, k=6, r=10)), rest


def truth_of_both(
    model: rf.ReducedSolid,
    contact: rf.PenaltyContact,
    held: rf.ReducedSolid,
    coupling: rf.VirtualCoupling,
    hand: rf.Pose,
    start: tuple[rf.Pose, Array, Array],
) -> float:
    """Return the force of the coupling at the minimum, from the state of a session.

    As `truth`, with distances that the deformed field gives and differences of them: where the
    session puts forces on proxies counts for nothing here.
    """
    pose, q_held, q = start
    grasp, field = contact.options["grasp"], contact.field
    assert isinstance(field, rf.DeformedField)
    k, torsion = coupling.stiffness, coupling.torsional_stiffness
    rest = contact.tree.positions(np.zeros(model.r))
    rows = np.stack([contact.tree.positions(e) - rest for e in np.eye(model.r)], axis=-1)
    # the object is turned from the hand by a rotation vector
    turn = rf.Pose(quaternion=pose.quaternion) @ rf.Pose(quaternion=hand.quaternion).inverse()
    sine = np.linalg.norm(turn.quaternion[1:])
    angle = 2.0 * np.arctan2(sine, abs(turn.quaternion[0]))
    axis = np.sign(turn.quaternion[0]) * turn.quaternion[1:] / max(sine, 1e-300)
    state = np.concatenate([pose.position, angle * axis, q_held, q])
    ends = 6 + held.r

    everything = np.arange(len(rest))

    def distances(s: Array, use: NDArray[np.intp] = everything) -> Array:
        angle = np.linalg.norm(s[3:6])
        unit = s[3:6] / angle if angle else np.zeros(3)
        turned = rf.Pose(quaternion=[np.cos(angle / 2), *(np.sin(angle / 2) * unit)])
        rotation = turned.rotation @ hand.rotation
        x = rest[use] + rows[use] @ s[ends:]
        return field.distance((x - s[:3]) @ rotation + grasp, s[6:ends])

    def energy(s: Array, penalty: float) -> float:
        angle = np.linalg.norm(s[3:6])
        springs = 0.5 * k * np.sum((hand.position - s[:3]) ** 2) + 2.0 * torsion * (
            1 - np.cos(angle / 2)
        )
        d = np.minimum(distances(s), 0.0)
        inner = held.strain_energy(s[6:ends]) + model.strain_energy(s[ends:])
        return float(springs + inner + 0.5 * penalty * d @ d)

    for penalty in 20.0 * k * 10.0 ** np.arange(0.0, 2.6, 0.5):
        for _ in range(40):
            use = np.flatnonzero(distances(state) < 0.0)
            d = distances(state, use)
            h = 1e-7
            w = np.stack(
                [(distances(state + h * e, use) - distances(state - h * e, use)) / (2 * h)
                 for e in np.eye(len(state))], axis=1,
            )  # fmt: skip
            slope, matrix = penalty * d @ w, penalty * w.T @ w
            slope[:3] -= k * (hand.position - state[:3])
            slope[3:6] += (
                0.5 * torsion * np.sinc(np.linalg.norm(state[3:6]) / 2 / np.pi) * state[3:6]
            )
            slope[6:ends] += held.internal_force(state[6:ends])
            slope[ends:] += model.internal_force(state[ends:])
            matrix[:3, :3] += k * np.eye(3)
            matrix[3:6, 3:6] += 0.5 * torsion * np.eye(3)
            matrix[6:ends, 6:ends] += held.stiffness(state[6:ends])
            matrix[ends:, ends:] += model.stiffness(state[ends:])
            values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
            step = -vectors @ ((vectors.T @ slope) / np.maximum(np.abs(values), 1e-9 * values[-1]))
            now, length = energy(state, penalty), 1.0
            while length > 1e-6 and not energy(state + length * step, penalty) <= now:
                length *= 0.5
            state = state + length * step
            if abs(slope @ step) < 1e-12 * (now + 1e-12) or length <= 1e-6:
                break
    return float(k * np.linalg.norm(hand.position - state[:3]))


def both(
    body: Body, place: str, young: float, k: float = 500.0, rate: float = 1000.0
) -> tuple[float, float, float]:
    """Return felt, true and still of a body that a soft ball on a stalk is pressed into."""
    (held, rest), model = soft_stalk(), body.at(young)
    grasp = np.array([0.0, 0.0, 0.1])
    point, inwards = body.places[place]
    # the stalk stands on the place
    half = np.concatenate([[1.0 - inwards[2]], np.cross([0.0, 0.0, -1.0], inwards)])
    turn = [0.0, 1.0, 0.0, 0.0] if half[0] < 1e-9 else half / np.linalg.norm(half)
    arm = rf.Pose(quaternion=turn).apply(grasp)
    top = point - (RADIUS + CLEAR) * inwards + arm
    bottom = point + (PRESSED - RADIUS) * inwards + arm
    field = rf.DeformedField(rest, held)
    contact = rf.PenaltyContact(body.tree, field, warm_nodes=None, grasp=grasp)
    at_rest = rf.PenaltyContact(body.tree, rest, grasp=grasp)
    coupling = rf.VirtualCoupling.for_contact(at_rest, k)
    omega = lowest_frequency(model)
    seconds = 1.25 + max(0.5, SETTLED / omega)
    hand = rf.ReplayDevice([0.0, 0.25, seconds + 1.0], [top, bottom, bottom], [turn] * 3)
    made = rf.HapticSession(
        contact, hand, coupling=coupling, rate=rate, ramp=0.0, budget_us=0.0,
        simulation=rf.ImplicitNewmark(model, 1.0 / rate, damping=(DAMPING * omega, 0.05 / rate)),
        field_simulation=rf.ImplicitNewmark(
            held, 1.0 / rate, damping=(DAMPING * lowest_frequency(held), 0.0)
        ),
    )  # fmt: skip
    records = made.run(seconds=seconds).array
    newest = made.snapshot()
    made.close()
    q, field_q, last = newest.q[0], newest.field_q, records[-1]
    assert q is not None
    assert field_q is not None
    force = records["force"][-round(rate) :]
    felt = float(np.linalg.norm(force.mean(axis=0)))
    start = rf.Pose(last["object_position"], last["object_quaternion"])
    held_at = rf.Pose(last["hand_position"], last["hand_quaternion"])
    true = truth_of_both(model, contact, held, coupling, held_at, (start, field_q, q))
    return felt, true, float(np.linalg.norm(force.std(axis=0))) / felt


# ---- rigid shells --------------------------------------------------------------------------------


def rigid(points: int, k: float, rate: float = 1000.0) -> tuple[int, float, float]:
    """Return touching points, the stiffness felt over k, and how still, of a flat rigid grid."""
    n = max(1, round(np.sqrt(points)))
    x = np.linspace(-0.02, 0.02, n) if n > 1 else np.zeros(1)
    grid = np.stack(np.meshgrid(x, x, [0.0], indexing="ij"), axis=-1).reshape(-1, 3)
    tree = rf.PointTree(rf.Pointshell(grid, np.tile([0.0, 0.0, -1.0], (len(grid), 1))))
    block = rf.BoxField((-0.04, -0.04, 0.0), (0.04, 0.04, 0.03))
    contact = contact_of(tree, rf.DistanceField.from_field(block, 64, expand=1.4))
    deep = 0.01
    hand = rf.ReplayDevice([0.0, 0.2, 5.0], [[0, 0, 0.004], [0, 0, -deep], [0, 0, -deep]])
    made = rf.HapticSession(
        contact, hand, coupling=rf.VirtualCoupling.for_contact(contact, k), rate=rate, ramp=0.0,
        budget_us=0.0,
    )  # fmt: skip
    records = made.run(seconds=1.0).array
    made.close()
    force = records["force"][-round(0.3 * rate) :, 2]
    return (
        int(records["touching"][-1]),
        float(force.mean() / (k * deep)),
        float(force.std() / force.mean()),
    )


# ---- all of it -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Experiment:
    """Felt forces.

    Attributes
    ----------
    alone
        Bodies under a rigid ball.
    pairs
        Bodies under a soft one: name, place, modulus, felt, true and still.
    shells
        Rigid ones: k, rate, touching points, felt over k and still.
    moving
        Bodies while the hand moves: the case, the error and the drag [N s / m].
    left
        Bodies that the hand leaves: the case, the force at rest and what holds back [N].
    """

    alone: list[Felt]
    pairs: list[tuple[str, str, float, float, float, float]]
    shells: list[tuple[float, float, int, float, float]]
    moving: list[tuple[Case, float, float]]
    left: list[tuple[Case, float, float]]

    def table(self) -> str:
        """Return the numbers as text."""
        lines = [
            f"{'body':>12} {'place':>7} {'E [Pa]':>8} {'k':>6} {'rate':>6} {'rho':>6} "
            f"{'felt [N]':>9} {'error [%]':>9} {'still [%]':>9} {'chatter [mN]':>12} "
            f"{'given [uJ]':>10}"
        ]
        lines += [
            f"{f.case} {f.felt:9.4f} {100 * f.error:9.2f} {100 * f.still:9.4f} "
            f"{1e3 * f.chatter:12.2f} {1e6 * f.given:10.1f} {f.failure.upper()}".rstrip()
            for f in self.alone
        ]
        errors = np.abs([f.error for f in self.alone])
        still = np.array([f.still for f in self.alone])
        given = np.array([f.given for f in self.alone])
        lines += [
            "",
            f"{len(errors)} cases: {(errors < RIGHT).sum()} within {100 * RIGHT:g} %, worst "
            f"{100 * errors.max():.2f} %; {(still < STILL).sum()} still, worst "
            f"{100 * still.max():.3f} %; energy given to the hand in {(given > 1e-9).sum()}",
        ]
        failed = [f.failure for f in self.alone if f.failure]
        if failed:
            reported = ", ".join(f"{failed.count(why)} {why}" for why in dict.fromkeys(failed))
            lines.append(f"FAILED: {reported}")
        if self.pairs:
            lines += ["", "both deform", f"{'body':>12} {'place':>7} {'E [Pa]':>8} {'felt [N]':>9} "
                      f"{'error [%]':>9} {'still [%]':>9}"]  # fmt: skip
            lines += [
                f"{name:>12} {place:>7} {young:8.0e} {felt:9.4f} {100 * (felt / true - 1):9.2f} "
                f"{100 * still:9.4f}"
                for name, place, young, felt, true, still in self.pairs
            ]
        lines += ["", f"hand in motion, {1e3 * SPEED:g} mm/s",
                  f"{'body':>12} {'place':>7} {'E [Pa]':>8} {'k':>6} {'rate':>6} {'rho':>6} "
                  f"{'error [%]':>9} {'drag [N s/m]':>12}"]  # fmt: skip
        lines += [f"{case} {100 * e:9.2f} {drag:12.3f}" for case, e, drag in self.moving]
        lines += [
            "",
            f"hand that leaves at {AWAY:g} m/s: force at rest, and what holds it back [N]",
        ]
        lines += [f"{case} {rest:9.3f} {back:9.3f}" for case, rest, back in self.left]
        lines += ["", "rigid shells", f"{'k':>6} {'rate':>6} {'touching':>8} {'felt / k':>9} "
                  f"{'still [%]':>9}"]  # fmt: skip
        lines += [
            f"{k:6.0f} {rate:6.0f} {touching:8d} {felt:9.4f} {100 * still:9.4f}"
            for k, rate, touching, felt, still in self.shells
        ]
        return "\n".join(lines)


def cases_of(bodies: Iterable[Body], more: bool) -> Iterator[Case]:
    """Yield what is pressed: all at 500 N/m and 1 kHz, some otherwise if there is to be more."""
    for body in bodies:
        for place in body.places:
            for young in MODULI:
                yield Case(body, place, young)
                if not more:
                    continue
                if place == "flat":
                    yield Case(body, place, young, k=2000.0)
                    yield Case(body, place, young, rate=500.0)
                    yield Case(body, place, young, k=2000.0, rate=2000.0)
                    yield Case(body, place, young, rate=500.0, steps=4)
                if place == "tip":
                    yield Case(body, place, young, density=30.0, rate=500.0)


def run(
    surfaces: Iterable[tuple[str, rf.Surface]],
    r: int = 16,
    points: int = 4000,
    resolution: int = 20,
    more: bool = True,
) -> Experiment:
    """Return what is felt of bodies of some surfaces."""
    bodies = [body_of(name, surface, r, points, resolution) for name, surface in surfaces]
    alone = [press(case) for case in cases_of(bodies, more)]
    pairs = [
        (body.name, place, young, *both(body, place, young))
        for body in bodies[: 2 if more else 1]
        for place in (("flat", "tip") if more else ("flat",))
        for young in MODULI
    ]
    shells = [
        (k, rate, *rigid(n, k, rate))
        for k, rate in ((500.0, 1000.0), (2000.0, 500.0), (2000.0, 2000.0))
        for n in (1, 4, 25, 400, 2000)
    ]
    slow = [Case(body, "flat", young) for body in bodies for young in (3e4, 3e5)]
    moving = [(case, *in_motion(case, SPEED)[:2]) for case in slow]
    return Experiment(alone, pairs, shells, moving, [(c, *leaving(c, AWAY)) for c in slow])


def plot(e: Experiment, path: Path) -> None:
    """Draw errors, forces over time and rigid shells."""
    pictures.require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 9), layout="constrained")
    grid = figure.subplots(2, 2)
    marks = dict(zip(sorted({f.case.body.name for f in e.alone}), "os^Dv<>P*X", strict=False))
    ax = grid[0, 0]
    for name, mark in marks.items():
        of = [f for f in e.alone if f.case.body.name == name]
        ax.plot(
            [f.true for f in of], [100 * f.error for f in of], mark, ms=4, alpha=0.7, label=name
        )
    ax.axhspan(-100 * RIGHT, 100 * RIGHT, color="0.9", zorder=0)
    ax.set_xscale("log")
    ax.set_xlabel("true force [N]")
    ax.set_title("error of the force felt [%]; grey: not noticed", fontsize=9)
    ax.legend(fontsize=8)
    ax = grid[0, 1]
    for name, mark in marks.items():
        of = [f for f in e.alone if f.case.body.name == name]
        ax.plot([f.true for f in of], [100 * f.still for f in of], mark, ms=4, alpha=0.7)
    ax.axhline(100 * STILL, color="0.6", ls="--")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("true force [N]")
    ax.set_title("standard deviation over mean at rest [%]", fontsize=9)
    ax = grid[1, 0]
    first = e.alone[0].case.body.name
    for j, young in enumerate(MODULI):
        of = [f for f in e.alone if f.case.body.name == first and f.case.young == young]
        flat = next(f for f in of if f.case.place == "flat" and f.case.k == 500.0)
        ax.plot(*flat.trace, color=f"C{j}", lw=1.2, label=f"{young:.0e} Pa")
        ax.axhline(flat.true, color=f"C{j}", ls=":", lw=1.0)
    ax.set_yscale("log")
    ax.set_xlim(0.0, 0.6)
    ax.set_xlabel("time [s]")
    ax.set_title(f"{first}, flat: force on the hand [N]; dotted: true at rest", fontsize=9)
    ax.legend(fontsize=8)
    ax = grid[1, 1]
    for k, rate in dict.fromkeys((k, rate) for k, rate, *_ in e.shells):
        of_one = [s for s in e.shells if s[:2] == (k, rate)]
        ax.plot(
            [s[2] for s in of_one], [s[3] for s in of_one], ".-", label=f"{k:g} N/m, {rate:g} Hz"
        )
    ax.set_xscale("log")
    ax.set_ylim(0.9, 1.01)
    ax.set_xlabel("touching points")
    ax.set_title("rigid shells: stiffness felt over that of the coupling", fontsize=9)
    ax.legend(fontsize=8)
    for ax in grid.ravel():
        ax.tick_params(labelsize=8)
        ax.grid(alpha=0.3)
    pictures.save_figure(figure, path, dpi=110)


def given_surfaces(paths: Sequence[Path]) -> Iterator[tuple[str, rf.Surface]]:
    """Yield surfaces of files, whose y points up as in most of them."""
    for path in paths:
        yield path.stem, scaled(rf.read_surface(path), up=1)


def perform(given: argparse.Namespace) -> None:
    """Print the numbers and draw the plot."""
    surfaces = given_surfaces(given.surfaces) if given.surfaces else own_surfaces()
    experiment = run(surfaces, given.r, given.points, given.resolution, not given.few)
    print(experiment.table())
    plot(experiment, given.plot)


def main() -> int:
    """Run from the command line."""
    parser = command.options(__file__, __doc__, "about three minutes")
    parser.add_argument("surfaces", nargs="*", type=Path, help="files; none: bodies by formulas")
    parser.add_argument("--r", type=int, default=16, help="reduced coordinates (16)")
    parser.add_argument("--points", type=int, default=4000, help="of each shell (4000)")
    parser.add_argument("--resolution", type=int, default=20, help="of each mesh (20)")
    parser.add_argument("--few", action="store_true", help="at 500 N/m, 1 kHz and 1000 kg/m3 only")
    return command.run(perform, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
