"""Damping by the rate of strain, explicit steps, and what they need to know of frequencies."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from bench_bodies import RUBBER, basket
from child import measured
from grids import box
from numpy.typing import NDArray
from table import Row

import reducedfem as rf

BETA = 1e-4  # s, damping of stiffness


def basket_solid(n: int = 26) -> rf.Solid:
    """Return the basket, n voxels across, standing on its lowest ones."""
    mesh = basket(n)
    return rf.Solid(mesh, RUBBER, mesh.nodes[:, 2] < mesh.nodes[:, 2].min() + 0.03)


def damping_of(solid: rf.Solid) -> rf.StrainRateDamping:
    """Return the damping that at rest is Rayleigh's."""
    lam, mu = RUBBER.lame
    return rf.StrainRateDamping(solid, BETA * lam, BETA * mu)


def timed_rounds(rounds: int, *works: Callable[[], object]) -> NDArray[np.float64]:
    """Return seconds (rounds, works) of works done in turns, after one round unmeasured."""
    seconds = np.empty((rounds + 1, len(works)))
    for i in range(rounds + 1):
        for j, work in enumerate(works):
            start = time.perf_counter()
            work()
            seconds[i, j] = time.perf_counter() - start
    return seconds[1:]


def in_turns(rounds: int, *works: Callable[[], object]) -> list[float]:
    """Return the median seconds of each of some works, done in turns."""
    return [float(one) for one in np.median(timed_rounds(rounds, *works), axis=0)]


def unreduced_damping_rows() -> list[Row]:
    """Implicit steps of a solid without damping, with Rayleigh's, and with strain rates."""
    solid = basket_solid()
    damping = damping_of(solid)
    pull = np.zeros_like(solid.mesh.nodes)
    pull[solid.mesh.nodes[:, 2].argmax(), 0] = 0.1
    sims = [
        rf.ImplicitNewmark(solid, 1e-3),
        rf.ImplicitNewmark(solid, 1e-3, damping=(0.0, BETA)),
        rf.ImplicitNewmark(solid, 1e-3, strain_rate=damping),
    ]
    plain, rayleigh, strain = in_turns(11, *(lambda sim=sim: sim.step(pull) for sim in sims))
    u, v = 1e-3 * np.random.default_rng(0).normal(size=(2, *pull.shape))
    force, damper = in_turns(21, lambda: solid.internal_force(u), lambda: damping.force(u, v))
    size = f"{solid.mesh.n_elements} hexes"
    return [
        Row(
            f"implicit step of the solid with strain-rate damping, {size}",
            strain * 1e3,
            "ms",
            None,
            f"undamped {plain * 1e3:.3g} ms, with Rayleigh's {rayleigh * 1e3:.3g} ms, one "
            f"iteration each; {rf.threads()} cores",
            ratio=strain / plain,
            over="an undamped step",
        ),
        Row(
            f"strain-rate force of the solid, {size}",
            damper * 1e3,
            "ms",
            None,
            "from Python",
            ratio=damper / force,
            over="the internal force",
        ),
    ]


def reduced_damping_rows() -> list[Row]:
    """Polynomials of strain-rate damping: made, evaluated, and in a step."""
    out = []
    solid = basket_solid(16)  # evaluation does not depend on it
    damping = damping_of(solid)
    vectors = rf.modal_derivative_basis(solid, 20, 60).vectors
    for r in (15, 30, 60):
        model, elastic, _ = measured(lambda r=r: rf.reduce(solid, vectors[:r]))
        small, seconds, memory = measured(lambda m=model: damping.reduce(m))
        if r == 30:
            out.append(
                Row(
                    f"reduce strain-rate damping, r = {r}, {solid.mesh.n_elements} hexes",
                    seconds,
                    "s",
                    None,
                    f"{small.coefficients.nbytes / 1e6:.1f} MB of coefficients",
                    ratio=seconds / elastic,
                    over="reduce",
                    memory=memory,
                )
            )
        q = 1e-4 * np.random.default_rng(0).normal(size=r)
        # batches shorter than what a scheduler gives: the median is of undisturbed ones
        count = {15: 20, 30: 5, 60: 1}[r]
        stiff, damp = in_turns(
            101,
            lambda m=model, q=q, n=count: [m.stiffness(q) for _ in range(n)],
            lambda d=small, q=q, n=count: [d.matrix(q) for _ in range(n)],
        )
        out.append(
            Row(
                f"reduced strain-rate damping matrix, r = {r}",
                damp / count * 1e6,
                "us",
                None,
                f"stiffness {stiff / count * 1e6:.3g} us, both from Python",
                ratio=damp / stiff,
                over="the reduced stiffness",
            )
        )
        push = 1e-3 * np.ones(r)
        sims = [
            rf.ImplicitNewmark(model, 1e-3, damping=(0.0, BETA)),
            rf.ImplicitNewmark(model, 1e-3, strain_rate=small),
        ]
        works = (lambda s=sim, f=push, n=count: s.step(f, n=n) for sim in sims)
        plain, strain = in_turns(101, *works)
        out.append(
            Row(
                f"implicit Newmark step with strain-rate damping, r = {r}",
                strain / count * 1e6,
                "us",
                None,
                f"with Rayleigh's {plain / count * 1e6:.3g} us",
                ratio=strain / plain,
                over="a step with Rayleigh's",
            )
        )
    return out


def explicit_rows() -> list[Row]:
    """Central differences, and the stable step."""
    out = []
    solid = basket_solid()
    sim = rf.CentralDifferences(solid)
    pull = np.zeros_like(solid.mesh.nodes)
    pull[solid.mesh.nodes[:, 2].argmax(), 0] = 0.1
    u = 1e-5 * np.random.default_rng(0).normal(size=pull.shape)
    cores = rf.threads()
    step, force = in_turns(
        101,
        lambda: sim.step(pull),
        lambda: solid._core.time_evaluate(u, False, 1, cores),
    )
    implicit = rf.ImplicitNewmark(solid, 1e-3)
    (long,) = in_turns(5, lambda: implicit.step(pull))
    out.append(
        Row(
            f"explicit step of the solid, {solid.mesh.n_elements} hexes",
            step * 1e3,
            "ms",
            None,
            f"{cores} cores, steps of {sim.dt * 1e6:.3g} us; an implicit one takes "
            f"{long * 1e3:.3g} ms",
            ratio=step / force,
            over="the internal force",
        )
    )
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, 20, 30))
    small = rf.CentralDifferences(model)
    push, q = 1e-3 * np.ones(30), 1e-4 * np.ones(30)
    step, force = in_turns(
        301,
        lambda: small.step(push, n=10),
        lambda: model._core.time_evaluate(q, False, 1, 10),
    )
    out.append(
        Row(
            "explicit step of the reduced model, r = 30",
            step / 10 * 1e6,
            "us",
            None,
            f"steps of {small.dt * 1e6:.3g} us",
            ratio=step / force,
            over="the reduced force",
        )
    )
    tangent = float(np.median(solid._core.time_evaluate(u, True, 9, cores)))
    (stable,) = in_turns(11, lambda: rf.stable_step(solid))
    out.append(
        Row(
            f"stable step of the solid, {solid.mesh.n_elements} hexes",
            stable * 1e3,
            "ms",
            None,
            "an upper bound of the highest frequency",
            ratio=stable / tangent,
            over="one tangent",
        )
    )
    modes, both = in_turns(3, lambda: solid.linear_modes(1), lambda: rf.spectrum(solid))
    out.append(
        Row(
            "spectrum of the solid: lowest and highest",
            both,
            "s",
            None,
            f"the lowest alone {modes:.3g} s",
            ratio=both / modes,
            over="the lowest mode",
        )
    )
    return out


def impact_rows() -> list[Row]:
    """Explicit steps of a cube of 1,331 hexahedra: alone, on a floor, with damping inside."""
    solid = rf.Solid(box((11, 11, 11), high=(0.1, 0.1, 0.1)), RUBBER)
    floor = rf.RigidProxy(rf.PlaneField([0, 0, 1e-4], [0, 0, 1]), friction=0.3)
    alone = rf.CentralDifferences(solid)
    fallen = rf.CentralDifferences(solid, contact=floor)
    damped = rf.CentralDifferences(solid, damping=(0.0, BETA))
    inside = rf.CentralDifferences(solid, damping=(0.0, BETA), implicit_damping=True)
    sims = (alone, fallen, damped, inside)
    threads = rf.threads()
    rf.set_threads(1)
    u = 1e-5 * np.random.default_rng(0).normal(size=solid.mesh.nodes.shape)
    works = [lambda sim=sim: sim.step(n=20) for sim in sims]
    force, plain, *others = in_turns(51, lambda: solid._core.time_evaluate(u, False, 20, 1), *works)
    rf.set_threads(threads)
    names = ("in contact with a floor", "with stiffness damping", "with damping inside")
    rows = [
        Row(
            "explicit step of 1331 hexes",
            plain / 20 * 1e3,
            "ms",
            0.3,
            "one core",
            ratio=plain / force,
            over="the internal force",
        )
    ]
    for name, one in zip(names, others, strict=True):
        rows.append(
            Row(
                f"explicit step of 1331 hexes {name}",
                one / 20 * 1e3,
                "ms",
                None,
                "one core",
                ratio=one / plain,
                over="a step without",
            )
        )
    return rows


ENTRIES = {
    "damping of solids": unreduced_damping_rows,
    "damping of models": reduced_damping_rows,
    "explicit": explicit_rows,
    "explicit, 1331 hexes": impact_rows,
}
