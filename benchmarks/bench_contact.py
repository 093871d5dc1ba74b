"""Contact of pointshells with distance fields: cycles of a trajectory, and their worst."""

from __future__ import annotations

import time

import numpy as np
from table import Row

import reducedfem as rf

RADIUS = 0.1  # m, of the shell
CYCLES = 100_000


def bumpy_ball(resolution: int = 256) -> rf.DistanceField:
    """Return a ball of 5 cm with bumps of 4 mm, sampled."""
    axis = np.linspace(-0.08, 0.08, resolution + 1, dtype=np.float32)
    wave = np.sin(80 * axis)
    values = np.sqrt(axis[:, None, None] ** 2 + axis[None, :, None] ** 2 + axis[None, None, :] ** 2)
    values -= 0.05 + 0.004 * wave[:, None, None] * wave[None, :, None] * wave[None, None, :]
    step = 0.16 / resolution
    return rf.DistanceField(values, (-0.08,) * 3, (step,) * 3)


def sphere(counts: list[int]) -> rf.Pointshell:
    """Return a sphere of evenly spread points, each level turned against the others."""
    rng = np.random.default_rng(0)
    points = []
    for n in counts:
        k = np.arange(n) + 0.5
        z, turn = 1 - 2 * k / n, np.pi * (1 + 5**0.5) * k
        flat = np.sqrt(1 - z * z)
        even = np.stack([flat * np.cos(turn), flat * np.sin(turn), z], axis=1)
        points.append(even @ np.linalg.qr(rng.normal(size=(3, 3)))[0])
    found = np.concatenate(points)
    return rf.Pointshell(RADIUS * found, -found, np.repeat(np.arange(len(counts)), counts))


def trajectory(distance: float) -> tuple[np.ndarray, np.ndarray]:
    """Return poses of a ball that rolls and bounces on the shell: some mm and degrees a ms."""
    t = np.linspace(0, 2 * np.pi * CYCLES / 10_000, CYCLES)
    way = distance * (1 - 0.005 * np.cos(7 * t))
    positions = way[:, None] * np.stack([np.cos(t), np.sin(t), 0.3 * np.sin(0.7 * t)], axis=1)
    positions *= (way / np.linalg.norm(positions, axis=1))[:, None]
    axis = np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0)
    half = 0.65 * t
    quaternions = np.concatenate([np.cos(half)[:, None], np.sin(half)[:, None] * axis], axis=1)
    return positions, quaternions


def numpy_cycle_us(contact: rf.PenaltyContact, position: np.ndarray) -> float:
    """Return the time of the force alone in NumPy, through all points at rest."""
    points, normals = contact.tree.positions(), contact.tree.normals()
    start = time.perf_counter()
    distance = contact.field.distance(points - position)
    hit = np.flatnonzero(distance < 0)
    (contact.stiffness * distance[hit, None] * normals[hit]).sum(axis=0)
    return (time.perf_counter() - start) * 1e6


def cycle_rows(
    what: str,
    tree: rf.PointTree,
    distance: float,
    mark: float,
    budget_us: float,
    qs: np.ndarray | None = None,
) -> list[Row]:
    """Return the rows of one scene: cycles with and without temporal coherence, in a budget."""
    field = bumpy_ball()
    positions, quaternions = trajectory(distance)
    found = []
    for options in ({"temporal_coherence": False}, {}, {"budget_us": budget_us}):
        contact = rf.PenaltyContact(tree, field, 1000.0, None, **options)
        contact.evaluate_many(
            positions[:2000], quaternions[:2000], None if qs is None else qs[:2000]
        )
        contact.reset()
        found.append(contact.evaluate_many(positions, quaternions, qs))
    plain, quick, timed = found
    same = all(
        np.array_equal(getattr(plain, name), getattr(quick, name))
        for name in ("force", "torque", "gradient", "level")
    )
    treeless = np.median(
        [
            contact.evaluate(
                positions[k], quaternions[k], None if qs is None else qs[k], treeless=True
            ).microseconds
            for k in range(0, CYCLES, CYCLES // 15)
        ]
    )

    in_numpy = np.median([numpy_cycle_us(contact, one) for one in positions[:: CYCLES // 5]])

    def spread(us: np.ndarray) -> str:
        p10, p50, p99, p999, worst = np.percentile(us, [10, 50, 99, 99.9, 100])
        return f"p10 {p10:.0f}, p50 {p50:.0f}, p99 {p99:.0f}, p99.9 {p999:.0f}, max {worst:.0f} us"

    nodes = np.median(plain.visited)
    saved = quick.skipped.sum() / (quick.skipped.sum() + quick.visited.sum())
    median = float(np.median(plain.microseconds))
    return [
        Row(
            f"contact, {what}, every node looked at",
            median,
            "us",
            mark,
            f"{nodes:.0f} nodes and {np.median(plain.touching):.0f} touching points, "
            f"{1e3 * median / nodes:.0f} ns a node; over {CYCLES} cycles "
            f"{spread(plain.microseconds)}; one core; without gradient in NumPy "
            f"{in_numpy / 1e3:.0f} ms on {rf.threads()}",
            ratio=median / treeless,
            over="all points one by one",
        ),
        Row(
            f"contact, {what}, with temporal coherence",
            float(np.median(quick.microseconds)),
            "us",
            mark,
            f"{saved:.0%} of the nodes skipped; {spread(quick.microseconds)}; forces "
            f"{'the same bits' if same else 'DIFFER'}",
            ratio=float(np.median(quick.microseconds)) / median,
            over="every node looked at",
        ),
        budget_row(what, budget_us, timed, quick),
    ]


def budget_row(
    what: str, budget_us: float, out: rf.ContactTrajectory, full: rf.ContactTrajectory
) -> Row:
    """Return the row of cycles in a budget of time, beside those with all levels."""
    us, level = out.microseconds, out.level
    p50, p99, p999, worst = np.percentile(us, [50, 99, 99.9, 100])
    share = np.bincount(level, minlength=full.level[0] + 1) / len(level)
    all_p99 = float(np.percentile(full.microseconds, 99))
    return Row(
        f"contact, {what}, in a budget of {budget_us:g} us, p99",
        float(p99),
        "us",
        budget_us,
        f"p50 {p50:.0f}, p99.9 {p999:.0f}, max {worst:.0f} us; {(us > budget_us).mean():.2%} of "
        f"the cycles late; {' '.join(f'{part:.0%}' for part in share)} end with levels 0 to "
        f"{full.level[0]}; {1000 * (np.diff(level) != 0).mean():.1f} changes of level in 1000 "
        f"cycles",
        ratio=float(p99) / all_p99,
        over="all levels",
    )


def rigid_rows() -> list[Row]:
    """Return the rows of a rigid shell of 1 M points."""
    start = time.perf_counter()
    shell = sphere([400, 1600, 6400, 25600, 102400, 863600])
    middle = time.perf_counter()
    tree = rf.PointTree(shell)
    end = time.perf_counter()
    return [
        Row(
            "point-tree of 1,000,000 points",
            end - middle,
            "s",
            None,
            f"6 levels, {rf.threads()} cores",
            ratio=(end - middle) / (middle - start),
            over="placing the points",
        ),
        *cycle_rows("rigid, 1 M points on 256^3", tree, 0.1493, 200.0, 100.0),
    ]


def deformable_rows() -> list[Row]:
    """Return the rows of a deformable shell of 256,000 points, r = 15."""
    shell = sphere([320, 1280, 5120, 20480, 228800])
    tree = rf.PointTree(shell, soft_ball())
    t = np.linspace(0, 2 * np.pi * CYCLES / 1000, CYCLES)
    rng = np.random.default_rng(1)
    # every shape swings with a period of some hundred cycles
    qs = np.sin(t[:, None] * rng.uniform(1, 3, tree.r) + rng.uniform(0, 6, tree.r))
    most = np.abs(tree.positions(np.ones(tree.r)) - shell.points).max()
    qs *= 0.003 / most
    what = "deformable r = 15, 256,000 points on 256^3"
    return cycle_rows(what, tree, 0.1488, 200.0, 60.0, qs)


def soft_ball() -> rf.ReducedSolid:
    """Return a ball of rubber of the size of the shell, held at its bottom."""
    mesh = rf.voxelize(rf.Surface(*icosphere()), 12, cut=False, order=1)
    solid = rf.Solid(mesh, rf.StVK(1e6, 0.4, 1000.0), mesh.nodes[:, 2] < -0.8 * RADIUS)
    return rf.reduce(solid, rf.modal_derivative_basis(solid, 8, 15))


def icosphere() -> tuple[np.ndarray, np.ndarray]:
    """Return a sphere of triangles between circles of latitude."""
    polar, around = np.linspace(0, np.pi, 17)[1:-1], np.arange(32) * (np.pi / 16)
    ring = np.stack(
        [
            np.outer(np.sin(polar), np.cos(around)),
            np.outer(np.sin(polar), np.sin(around)),
            np.outer(np.cos(polar), np.ones(32)),
        ],
        axis=-1,
    ).reshape(-1, 3)
    vertices = RADIUS * np.concatenate([ring, [[0, 0, 1], [0, 0, -1]]])
    triangles = []
    for j in range(32):
        k = (j + 1) % 32
        triangles += [(len(ring), j, k), (len(ring) + 1, 448 + k, 448 + j)]
        for i in range(14):
            a, b = 32 * i + j, 32 * i + k
            triangles += [(a, a + 32, b + 32), (a, b + 32, b)]
    return vertices, np.array(triangles)


ENTRIES = {
    "rigid shell": rigid_rows,
    "deformable shell": deformable_rows,
}
