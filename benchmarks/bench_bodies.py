"""Free solids: derivatives, and many bodies that share one model; edits of materials."""

from __future__ import annotations

import copy
import os
import time

import numpy as np
import yardsticks
from bench_precompute import bumpy_sphere
from child import measured
from grids import box
from numpy.typing import NDArray
from table import Row, spread
from ticks import durations

import reducedfem as rf
from reducedfem.scenes import baskets
from reducedfem.scenes.shapes import basket

MODES = 20
BODIES, SIZE = 512, 40
WORLD = 64  # bodies in contact
Array = NDArray[np.float64]
RUBBER = rf.StVK(1e6, 0.45, 1000.0)


def derivative_rows() -> list[Row]:
    """One shape of about 20,000 nodes, held and free, on all cores."""
    mesh = rf.voxelize(bumpy_sphere(), resolution=74, fill=False)
    low = mesh.nodes[:, 2] < mesh.nodes[:, 2].min() + 0.03 * np.ptp(mesh.nodes[:, 2])
    held, free = rf.Solid(mesh, RUBBER, low), rf.Solid(mesh, RUBBER)
    # one linear static solution: analysis, factorization and a solve
    weight = np.zeros_like(mesh.nodes)
    weight[:, 2] = -1e-9
    _, factor, _ = measured(lambda: held.solve_static(weight, tol=1e-4))
    rows = []
    took: list[float] = []
    for name, solid, mark in (("held", held, 15.0), ("free", free, 60.0)):
        modes, of_modes, _ = measured(lambda s=solid: s.linear_modes(MODES))
        busy = time.process_time()
        derivatives, seconds, memory = measured(lambda s=solid, m=modes: s.modal_derivatives(m))
        busy = time.process_time() - busy
        took.append(seconds)
        rows.append(
            Row(
                f"modal derivatives, {name}, {mesh.n_nodes} nodes, k = {MODES}",
                seconds,
                "s",
                mark,
                f"{len(derivatives)} of them with the factorization, {busy:.1f} s of processors; "
                f"{derivatives.nbytes / 1e6:.0f} MB of results; the modes before took "
                f"{of_modes:.2g} s",
                ratio=seconds / took[0] if len(took) > 1 else seconds / factor,
                over="the held ones" if len(took) > 1 else "one linear solution",
                memory=memory,
            )
        )
    return rows


def body_rows() -> list[Row]:
    """One implicit step of many deforming bodies, each at another place of its motion."""
    solid = rf.Solid(basket(), RUBBER)
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, MODES, SIZE))
    rng = np.random.default_rng(0)
    # a bend of some centimetres
    scale = 0.02 / np.abs(model.basis).max(axis=(1, 2)) / np.arange(1, SIZE + 1)
    bodies = [rf.FreeBody(model, 1.0 / 30.0, (0.0, 1e-3)) for _ in range(BODIES)]
    for body in bodies:
        body.reset(
            position=rng.uniform(-3, 3, 3),
            quaternion=rng.normal(size=4),
            angular_velocity=rng.normal(size=3),
            q=scale * rng.normal(size=SIZE),
        )
    rf.step_free_bodies(bodies)
    times = durations(lambda: rf.step_free_bodies(bodies), 30)
    rf.set_threads(1)
    start = time.perf_counter()
    rf.step_free_bodies(bodies)
    alone = time.perf_counter() - start
    rf.set_threads(len(os.sched_getaffinity(0)))
    yardsticks.blas_threads(1)
    blas = float(np.median(yardsticks.dsymv(SIZE * (SIZE + 1) // 2, 20, 10)))
    return [
        Row(
            f"{BODIES} free baskets, r = {SIZE}, one implicit step each",
            float(np.median(times)) * 1e3,
            "ms",
            60.0,
            f"{spread(times, 1e3)}; {rf.threads()} cores, one core {alone * 1e3:.3g} ms; "
            f"{np.median(times) / BODIES * rf.threads() * 1e6:.3g} us a body and core; one model "
            f"of {model.coefficients.nbytes / 1e6:.1f} MB, {solid.mesh.n_elements} hexes",
            ratio=float(np.median(times)) * rf.threads() / (BODIES * blas),
            over=f"dsymv of {SIZE * (SIZE + 1) // 2}, each",
        )
    ]


def apart(world: rf.World) -> list[rf.FreeBody]:
    """Return the bodies of a world in their present states, without contact."""
    bodies = []
    for index, given in enumerate(world.bodies):
        state = world.state(index)
        body = copy.copy(given)
        body.reset(
            state.position, state.quaternion, state.velocity, state.angular_velocity, state.q,
            state.qdot,
        )  # fmt: skip
        bodies.append(body)
    return bodies


def world_rows() -> list[Row]:
    """Return the rows of baskets in contact, without friction and with it."""
    return [*falling_rows(0.0, 100.0), *falling_rows(0.5, 200.0)]


def falling_rows(friction: float, mark: float) -> list[Row]:
    """Return the row of baskets in contact, over steps of the same bodies without it."""
    world = baskets.world(WORLD, friction=friction)
    # the lowest layer has met the ground, the next ones each other
    world.step(200)
    bodies = apart(world)
    busy, flight = [], []
    for _ in range(40):
        start = time.perf_counter()
        world.step()
        busy.append(time.perf_counter() - start)
        start = time.perf_counter()
        rf.step_free_bodies(bodies)
        flight.append(time.perf_counter() - start)
    times, report = np.array(busy), world.report
    return [
        Row(
            f"world of {WORLD} baskets in contact, friction {friction:g}, r = {SIZE}, one step",
            float(np.median(times)) * 1e3,
            "ms",
            mark,
            f"{spread(times, 1e3)}; {rf.threads()} cores; {report.candidates} candidates, "
            f"{report.pairs} pairs with {report.points} points, {report.iterations} iterations",
            ratio=float(np.median(times) / np.median(flight)),
            over="steps of the same bodies without contact",
        )
    ]


def statics_rows() -> list[Row]:
    """Return rows of a weight on Green's functions, over the same step on rigid points."""
    mesh = box((14, 14, 5), np.array([-0.07, -0.07, -0.05]), np.array([0.07, 0.07, 0.0]))
    solid = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), mesh.nodes[:, 2] < -0.049)
    top = mesh.nodes[mesh.nodes[:, 2] > -1e-9]
    shell = rf.Pointshell(top, np.tile([0.0, 0.0, -1.0], (len(top), 1)))
    local = rf.LocalCompliance(rf.PointTree(shell), solid)
    half = np.array([0.0245, 0.0345, 0.02])
    weight = rf.Solid(box((2, 2, 2), -half, half), rf.StVK(1e8, 0.3, 1000.0))
    model = rf.reduce(weight, rf.modal_derivative_basis(weight, 3, 6))
    under = top[(np.abs(top[:, :2]) < half[:2]).all(axis=1)] - [0.0, 0.0, half[2]]
    feet = rf.PointTree(rf.Pointshell(under, np.tile([0.0, 0.0, 1.0], (len(under), 1))))
    slab = rf.BoxField((-0.07, -0.07, -0.05), (0.07, 0.07, 0.0))
    box_field, plane = rf.BoxField(-half, half), rf.PlaneField((0, 0, 0), (0, 0, 1))
    rows = []
    for friction, mark in ((0.0, 1.0), (0.5, 4.0)):
        worlds = [
            rf.World(1e-3, (0.0, 0.0, -9.81), ground, friction=friction)
            for ground in (None, None, plane)
        ]
        worlds[0].add_fixed(local)
        worlds[1].add_fixed(local, field=slab)
        body = rf.FreeBody(model, 1e-3)
        body.reset((0.0, 0.0, half[2]))
        for world, tree in zip(worlds, (None, feet, feet), strict=True):
            world.add(body, tree, None if tree else box_field)
            world.step(200)
        busy: list[list[float]] = [[], [], []]
        for _ in range(200):
            for world, seconds in zip(worlds, busy, strict=True):
                start = time.perf_counter()
                world.step()
                seconds.append(time.perf_counter() - start)
        flat = worlds[2].report
        for kind, world, seconds in zip(("points", "a field"), worlds, busy, strict=False):
            times, report = np.array(seconds), world.report
            rows.append(
                Row(
                    f"world with {kind} of Green's functions, {report.points} points, friction "
                    f"{friction:g}, one step",
                    float(np.median(times)) * 1e3,
                    "ms",
                    mark,
                    f"{spread(times, 1e3)}; {report.iterations} iterations, on rigid points "
                    f"{flat.iterations}",
                    ratio=float(np.median(times) / np.median(busy[2])),
                    over=f"the same weight on {flat.points} rigid points",
                )
            )
    return rows


def soft_pad() -> tuple[rf.LocalCompliance, rf.BoxField, rf.ReducedSolid]:
    """Return a pad with Green's functions, its field, and the model of a core."""
    mesh = box((8, 8, 4), np.array([-0.04, -0.04, -0.04]), np.array([0.04, 0.04, 0.0]))
    solid = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), mesh.nodes[:, 2] < -0.039)
    top = mesh.nodes[mesh.nodes[:, 2] > -1e-9]
    tree = rf.PointTree(rf.Pointshell(top, np.tile([0.0, 0.0, -1.0], (len(top), 1))))
    local = rf.LocalCompliance(tree, solid)
    half = np.full(3, 0.015)
    core = rf.Solid(box((1, 1, 1), -half, half), rf.StVK(1e8, 0.3, 600.0))
    model = rf.reduce(core, rf.modal_derivative_basis(core, 1, 1))
    return local, rf.BoxField((-0.05, -0.05, -0.04), (0.05, 0.05, 0.0)), model


def beside_rows() -> list[Row]:
    """Return rows of a weight on a soft pad beside rigid bodies, over the same without the pad."""
    local, slab, model = soft_pad()

    def square(half: float, n: int) -> rf.PointTree:
        steps = np.linspace(-half, half, n)
        places = np.array([(x, y, 0.0) for x in steps for y in steps])
        return rf.PointTree(rf.Pointshell(places, np.tile([0.0, 0.0, 1.0], (n * n, 1))))

    few, many = square(0.005, 2), square(0.0125, 5)
    ground = rf.PlaneField((0.0, 0.0, -0.5), (0.0, 0.0, 1.0))
    rows = []
    for friction in (0.0, 0.3):
        worlds = [rf.World(1e-3, (0.0, 0.0, -9.81), ground, friction=friction) for _ in range(2)]
        worlds[0].add_fixed(local, field=slab)
        weight = rf.FreeBody(model, 1e-3)
        weight.reset((0.0, 0.0, -1e-5))
        worlds[0].add(weight, few)
        for k in range(20):
            body = rf.FreeBody(model, 1e-3)
            body.reset((6.0 + 0.1 * k, 0.0, -0.5 - 1e-5), velocity=(0.05, 0.02, 0.0))
            for world in worlds:
                world.add(body, many)
        busy: tuple[list[float], ...] = ([], [])
        for _ in range(60):
            for world, seconds in zip(worlds, busy, strict=True):
                start = time.perf_counter()
                world.step()
                seconds.append(time.perf_counter() - start)
        times = np.array(busy[0])
        rows.append(
            Row(
                f"pad beside 20 rigid bodies, {worlds[0].report.points} points, friction "
                f"{friction:g}, one step",
                float(np.median(times)) * 1e3,
                "ms",
                16.0,
                spread(times, 1e3),
                ratio=float(np.median(times) / np.median(busy[1])),
                over="the same bodies without the pad",
            )
        )
    return rows


def sliding_rows() -> list[Row]:
    """Return rows of a soft pad that slides on another one, both with Green's functions."""
    local, slab, model = soft_pad()
    tree = local.tree
    rows = []
    for friction in (0.0, 0.3):
        for both in (False, True):
            worlds: list[rf.World] = []
            busy: tuple[list[float], ...] = ([], [])
            iterations: list[int] = []
            for speed in (1.0, 0.0):
                world = rf.World(1e-3, (0.0, 0.0, -9.81), friction=friction)
                world.add_fixed(local, field=slab)
                body = rf.FreeBody(model, 1e-3)
                velocity = (0.05 * speed, 0.015 * speed, 0.0)
                body.reset((0.0, 0.0, -1e-5), (0.0, 1.0, 0.0, 0.0), velocity=velocity)
                world.add(body, tree, slab if both else None, local=local)
                worlds.append(world)
            for _ in range(60):
                for world, seconds in zip(worlds, busy, strict=True):
                    start = time.perf_counter()
                    world.step()
                    seconds.append(time.perf_counter() - start)
                iterations.append(worlds[0].report.iterations)
            times = np.array(busy[0])
            rows.append(
                Row(
                    f"pad that slides on another, {worlds[0].report.points} points, friction "
                    f"{friction:g}, one step",
                    float(np.median(times)) * 1e3,
                    "ms",
                    16.0,
                    f"{spread(times, 1e3)}; {np.median(iterations):g} iterations",
                    ratio=float(np.median(times) / np.median(busy[1])),
                    over="the same pads without sliding",
                )
            )
    return rows


def edit_rows() -> list[Row]:
    """Change the materials of a model of three regions."""
    mesh = basket()
    height = mesh.nodes[mesh.elements].mean(axis=1)[:, 2]
    regions = np.digitize(height, np.quantile(height, [0.3, 0.7]))
    mesh = rf.Mesh(mesh.nodes, mesh.elements, regions)
    solid = rf.Solid(mesh, {k: RUBBER for k in range(3)}, mesh.nodes[:, 2] < 0.03)
    basis = rf.modal_derivative_basis(solid, MODES, 30)
    model = rf.reduce(solid, basis, editable=True)
    change = {0: rf.StVK(2e6, 0.3, 1100.0), 1: rf.StVK(3e5, 0.4, 900.0), 2: RUBBER}
    times = durations(lambda: model.edit(change), 200)
    # two sets for each of three groups and the model's own, read or written
    size = 7 * model.coefficients.nbytes
    return [
        Row(
            "material edit, 3 groups, r = 30",
            float(np.median(times)) * 1e3,
            "ms",
            1.0,
            f"{spread(times, 1e3)}; adds {6 * model.coefficients.nbytes / 1e6:.1f} MB of "
            "coefficients and as much in the order of the kernel",
            ratio=float(np.median(times)) * yardsticks.read_rate(size) / size,
            over=f"reading {size / 1e6:.1f} MB",
        )
    ]


ENTRIES = {
    "derivatives, held and free": derivative_rows,
    "512 bodies": body_rows,
    "world of baskets": world_rows,
    "world with Green's functions": statics_rows,
    "pads that slide": sliding_rows,
    "pads beside rigid bodies": beside_rows,
    "edit": edit_rows,
}
