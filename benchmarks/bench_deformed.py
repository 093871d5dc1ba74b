"""Contact of two objects that deform: cycles of a trajectory, and a single distance."""

from __future__ import annotations

import time

import numpy as np
from table import Row

import reducedfem as rf
from reducedfem.scenes.shapes import voxels

R, PROXIES = 15, 40
CYCLES, ROUND = 100_000, 5000  # the way is a closed one
REACH = 0.0588  # m, between the middles of two balls of 3 cm


def dumbbell(resolution: int) -> rf.DistanceField:
    """Return two balls on a rod along x, sampled in a box with room to bend."""
    rod = rf.CapsuleField((-0.09, 0, 0), (0.09, 0, 0), 0.02)
    both = rod.union(rf.SphereField((-0.09, 0, 0), 0.03), rf.SphereField((0.09, 0, 0), 0.03))
    axis = np.linspace(-0.2, 0.2, resolution + 1)
    values = np.empty((len(axis),) * 3, dtype=np.float32)
    y, z = np.meshgrid(axis, axis, indexing="ij")
    for i, x in enumerate(axis):
        places = np.column_stack([np.full(y.size, x), y.ravel(), z.ravel()])
        values[i] = both.distance(places).reshape(y.shape)
    return rf.DistanceField(values, (-0.2,) * 3, 0.4 / resolution)


def model(field: rf.DistanceField) -> rf.ReducedSolid:
    """Return a solid of 5 mm hexahedra, held at its middle."""
    edge = 0.005
    cells = np.argwhere(np.ones((52, 14, 14)))
    middle = edge * (cells - (26, 7, 7) + 0.5)
    inside = np.zeros((52, 14, 14), bool)
    inside[tuple(cells[field.distance(middle) < 0.5 * edge].T)] = True
    mesh = voxels(inside, edge)
    mesh = rf.Mesh(mesh.nodes - edge * np.array((26, 7, 7)), mesh.elements)
    held = np.abs(mesh.nodes[:, 0]) < 1.5 * edge
    solid = rf.Solid(mesh, rf.StVK(1e6, 0.45, 1000.0), held)
    return rf.reduce(solid, rf.modal_derivative_basis(solid, 8, R))


def trajectory(reduced: rf.ReducedSolid) -> list[np.ndarray]:
    """Return poses and coordinates of both: side by side, both pairs of balls roll and bounce."""
    rng = np.random.default_rng(0)
    t = np.linspace(0, 2 * np.pi * CYCLES / ROUND, CYCLES)
    angle = 0.3 * np.sin(2 * t)
    position = np.stack(
        [REACH * np.sin(angle), REACH * np.cos(angle), 0.01 * np.sin(3 * t)], axis=1
    )
    turn = np.tile((1.0, 0.0, 0.0, 0.0), (CYCLES, 1))
    # some millimetres of each shape
    scale = 0.002 / np.abs(reduced.basis).max(axis=(1, 2))
    phase = rng.uniform(0, 2 * np.pi, (2, 1, R))
    return [position, turn, *(scale * np.sin(np.arange(1, R + 1) * t[:, None] + phase))]


def in_numpy(deformed: rf.DeformedField, places: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the distances as NumPy computes them, for all places at once."""
    proxies = deformed.positions(q)
    inverse = deformed._core.pose(q)[1]
    square = ((places[:, None] - proxies) ** 2).sum(axis=2)
    near = np.argpartition(square, deformed.k - 1, axis=1)[:, : deformed.k]
    share = 1 / np.sqrt(np.take_along_axis(square, near, axis=1))
    weight = share - share.min(axis=1, keepdims=True)
    weight /= weight.sum(axis=1, keepdims=True)
    way = places[:, None] - proxies[near]
    rest = deformed.proxies[near] + np.einsum("nkij,nkj->nki", inverse[near], way)
    at_rest = deformed.field.distance(rest.reshape(-1, 3)).reshape(near.shape)
    return (weight * at_rest).sum(axis=1)


def cycle_rows() -> list[Row]:
    """Return the rows of an object against itself, both bend."""
    field = dumbbell(256)
    reduced = model(field)
    shell = rf.Pointshell.from_field(field, points=60_000, levels=5)
    tree = rf.PointTree(shell, reduced)
    deformed = rf.DeformedField(field, reduced, PROXIES)
    position, turn, q, field_q = trajectory(reduced)
    # the scene decides how many nodes there are: of one without a limit the median is 1,500
    soft = rf.PenaltyContact(tree, deformed, 100.0, None)
    rigid = rf.PenaltyContact(tree, field, 100.0, None, temporal_coherence=False)

    # short rounds in turn: what else the machine does is the same for both
    runs: dict[str, list[rf.ContactTrajectory]] = {"soft": [], "rigid": []}
    for first in range(0, CYCLES, ROUND):
        part = slice(first, first + ROUND)
        runs["soft"].append(soft.evaluate_many(position[part], turn[part], q[part], field_q[part]))
        runs["rigid"].append(rigid.evaluate_many(position[part], turn[part], q[part]))
    us, visited, touching, level = (
        np.concatenate([getattr(one, name) for one in runs["soft"]])
        for name in ("microseconds", "visited", "touching", "level")
    )
    by_node = float(np.median(us / visited))
    rigid_node = float(
        np.median(np.concatenate([one.microseconds / one.visited for one in runs["rigid"]]))
    )
    rounds = [np.median(one.microseconds) for one in runs["soft"]]
    p50, p99, p999, worst = np.percentile(us, [50, 99, 99.9, 100])
    some = np.linspace(0, CYCLES - 1, 15).astype(int)
    treeless = np.median(
        [
            soft.evaluate(
                position[i], turn[i], q[i], field_q=field_q[i], treeless=True
            ).microseconds
            for i in some
        ]
    )

    # single distances, where the shell is
    places = shell.points[:20000] @ np.diag([-1.0, 1.0, 1.0]) * 1.05
    rf.set_threads(1)
    took: dict[str, list[float]] = {"deformed": [], "rest": [], "numpy": []}
    for turns in range(30):
        for name, work in (
            ("deformed", lambda: deformed.distance(places, field_q[0])),
            ("rest", lambda: field.distance(places)),
            ("numpy", lambda: in_numpy(deformed, places, field_q[0])),
        ):
            if name == "numpy" and turns >= 3:
                continue
            start = time.perf_counter()
            work()
            took[name].append((time.perf_counter() - start) / len(places) * 1e6)
    one, rest, plain = (float(np.median(took[name])) for name in ("deformed", "rest", "numpy"))
    wrong = np.abs(
        in_numpy(deformed, places, field_q[0]) - deformed.distance(places, field_q[0])
    ).max()
    return [
        Row(
            f"deformable on deformable, r = {R} both, {PROXIES} proxies",
            p50,
            "us",
            300.0,
            f"{np.median(visited):.0f} nodes and {np.median(touching):.0f} touching points, "
            f"{by_node * 1e3:.0f} ns a node; over {CYCLES} cycles p10 {np.percentile(us, 10):.0f}, "
            f"p50 {p50:.0f}, p99 {p99:.0f}, p99.9 {p999:.0f}, max {worst:.0f} us with up to "
            f"{visited.max()} nodes, medians of rounds {min(rounds):.0f} to {max(rounds):.0f} us; "
            f"level {np.median(level):.0f} of {shell.n_levels - 1}; all "
            f"{shell.n_points} points one by one {treeless / 1e3:.3g} ms",
            ratio=by_node / rigid_node,
            over="a node against the field at rest",
        ),
        Row(
            f"a deformed distance, {PROXIES} proxies, k = 5",
            one,
            "us",
            0.15,
            f"best {min(took['deformed']):.3g}; four pull-backs; checks of Python's arrays "
            f"included; in NumPy {plain:.3g} us, {plain / one:.0f} times as long (values differ by "
            f"{wrong:.0e} m)",
            ratio=one / rest,
            over="a distance at rest",
        ),
    ]


ENTRIES = {"cycles": cycle_rows}
