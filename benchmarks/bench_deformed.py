"""Contact of two objects that deform: cycles of a trajectory, and a single distance."""

from __future__ import annotations

import time

import numpy as np
from bench_bodies import voxels
from table import Row, spread

import reducedfem as rf

R, PROXIES = 15, 40
WARM_NODES = 1500
CYCLES = 5000
SIZE = 0.24  # m, of the dumbbell


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


def cycle_rows() -> list[Row]:
    """Return the rows of an object against itself: their balls roll on each other, both bend."""
    field = dumbbell(256)
    reduced = model(field)
    shell = rf.Pointshell.from_field(field, points=60_000, levels=5)
    tree = rf.PointTree(shell, reduced)
    deformed = rf.DeformedField(field, reduced, PROXIES)
    rng = np.random.default_rng(0)

    t = np.linspace(0, 2 * np.pi, CYCLES)
    # the ball of the field object at x = -9 cm on that of the shell at x = 9 cm
    angle = 0.3 * np.sin(2 * t)
    reach = 0.0585
    position = np.column_stack(
        [0.18 + reach * np.cos(angle), reach * np.sin(angle), 0.01 * np.sin(3 * t)]
    )
    turn = np.tile((1.0, 0.0, 0.0, 0.0), (CYCLES, 1))
    # some millimetres of each shape
    scale = 0.002 / np.abs(reduced.basis).max(axis=(1, 2))
    phase = rng.uniform(0, 2 * np.pi, (2, R))
    q, field_q = scale * np.sin(np.arange(1, R + 1) * t[:, None, None] + phase).transpose(1, 0, 2)

    contact = rf.PenaltyContact(tree, deformed, 100.0, WARM_NODES)
    out = contact.evaluate_many(position, turn, q, field_q)
    out = contact.evaluate_many(position, turn, q, field_q)
    rigid = rf.PenaltyContact(tree, field, 100.0, WARM_NODES, temporal_coherence=False)
    plain = rigid.evaluate_many(position, turn, q)

    # single distances, where the shell is
    places = shell.points[:20000] @ np.diag([-1.0, 1.0, 1.0]) * 1.05
    rf.set_threads(1)
    took = {}
    for name, work in (
        ("deformed", lambda: deformed.distance(places, field_q[0])),
        ("rest", lambda: field.distance(places)),
    ):
        seconds = []
        for _ in range(30):
            start = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - start)
        took[name] = float(np.median(seconds)) / len(places)

    start = time.perf_counter()
    treeless = contact.evaluate(position[0], turn[0], q[0], field_q=field_q[0], treeless=True)
    all_points = time.perf_counter() - start
    us = out.microseconds
    nodes = float(np.median(out.visited))
    by_node = float(np.median(us / out.visited))
    return [
        Row(
            f"deformable on deformable, r = {R} both, {PROXIES} proxies, {WARM_NODES} warm nodes",
            float(np.median(us)),
            "us",
            300.0,
            f"{spread(us * 1e-6)}; nodes {nodes:.0f}, {by_node * 1e3:.0f} ns each; touching "
            f"{np.median(out.touching):.0f}, level {np.median(out.level):.0f} of "
            f"{shell.n_levels - 1}; all {shell.n_points} points {all_points * 1e3:.3g} ms "
            f"({treeless.touching} touch)",
            ratio=by_node / float(np.median(plain.microseconds / plain.visited)),
            over="a node against the field at rest",
        ),
        Row(
            f"a deformed distance, {PROXIES} proxies, k = 5",
            took["deformed"] * 1e6,
            "us",
            0.15,
            "five pull-backs; checks of Python's arrays included",
            ratio=took["deformed"] / took["rest"],
            over="a distance at rest",
        ),
    ]


ENTRIES = {"cycles": cycle_rows}
