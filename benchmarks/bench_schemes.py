"""Steps of the implicit schemes, over one step of implicit Newmark."""

from __future__ import annotations

import numpy as np
import yardsticks
from bench_motion import basket_solid, timed_rounds
from table import Row

import reducedfem as rf

# one Newton iteration each; what each may cost at r = 15, 30, 60, and of a solid; None: no mark
SCHEMES = {
    "backward Euler": (lambda s: rf.BackwardEuler(s, 1e-3), (1.1, 1.05, 1.03), 1.05),
    "BDF2": (lambda s: rf.BDF2(s, 1e-3), (1.1, 1.05, 1.03), 1.05),
    "generalized-alpha": (lambda s: rf.GeneralizedAlpha(s, 1e-3), (1.1, 1.05, 1.03), None),
    "SDIRK2, one Jacobian": (lambda s: rf.SDIRK2(s, 1e-3, jacobians=1), (2.0, 1.8, 1.7), 1.3),
    "SDIRK2": (lambda s: rf.SDIRK2(s, 1e-3), (None, None, None), None),
    "TR-BDF2": (lambda s: rf.TRBDF2(s, 1e-3), (2.2, 2.1, 2.05), 2.1),
    "the exponential method": (lambda s: rf.ExponentialEuler(s, 1e-3), (5.0, 2.5, 1.2), None),
    "BDF2, ten modes of rest": (lambda s: rf.BDF2(s, 1e-3, exact=10, modes="rest"), None, 1.1),
    "BDF2, ten modes that follow": (lambda s: rf.BDF2(s, 1e-3, exact=10), None, 1.3),
    "BDF2, ten exact modes": (lambda s: rf.BDF2(s, 1e-3, exact=10, modes="exact"), None, 4.0),
}
SIZES = (15, 30, 60)
ROUNDS, SOLID_ROUNDS = 60, 7
# batches of single steps in which tails are measured, after some that fetch the model to the cache
TAILS, BATCH, WARM = 300, 100, 10


def reduced_rows() -> list[Row]:
    """Time steps of reduced models, in turns; ratios are those of the same round."""
    solid = basket_solid()
    chosen = {name: entry for name, entry in SCHEMES.items() if entry[1] is not None}
    out = []
    for k, r in enumerate(SIZES):
        model = rf.reduce(solid, rf.modal_derivative_basis(solid, 20, r))
        load = 1e-4 * np.ones(r)
        sims = [rf.ImplicitNewmark(model, 1e-3), *(make(model) for make, _, _ in chosen.values())]
        seconds = np.empty((ROUNDS, len(sims)))
        for i in range(ROUNDS):
            for j, sim in enumerate(sims):
                sim.reset()
                seconds[i, j] = np.median(sim._core.time_steps(load, 5, 20))
        ratios = np.median(seconds / seconds[:, :1], axis=0)[1:]
        for (name, (_, marks, _)), one, ratio in zip(
            chosen.items(), np.median(seconds, axis=0)[1:], ratios, strict=True
        ):
            out.append(
                Row(f"step of {name}, r = {r}", one * 1e6, "us", ratio=float(ratio),
                    over="implicit Newmark", ratio_mark=marks[k])
            )  # fmt: skip
    return out


def tail_rows() -> list[Row]:
    """Slowest of a thousand single steps, beside additions that take as long."""
    solid = basket_solid()
    chosen = {name: make for name, (make, marks, _) in SCHEMES.items() if marks is not None}
    out = []
    for r in SIZES:
        model = rf.reduce(solid, rf.modal_derivative_basis(solid, 20, r))
        load = 1e-4 * np.ones(r)
        for name, make in chosen.items():
            sim = make(model)
            length = float(np.median(sim._core.time_steps(load, BATCH, 1)))
            steps, plain = np.empty((2, TAILS, BATCH))
            for i in range(TAILS):
                sim.reset()  # steps at rest are shorter
                steps[i] = sim._core.time_steps(load, WARM + BATCH, 1)[WARM:]
                plain[i] = yardsticks.additions(length, BATCH)
            median, tail = np.percentile(steps, [50.0, 99.9])
            usual, late = np.percentile(plain, [50.0, 99.9])
            out.append(
                Row(f"p99.9 of a step of {name}, r = {r}", tail * 1e6, "us",
                    note=f"additions of {usual * 1e6:.3g} us: {late / usual:.3g}",
                    ratio=float(tail / median), over="its median", ratio_mark=2.0)
            )  # fmt: skip
    return out


def solid_rows() -> list[Row]:
    """Time steps of a solid of about 30,000 elements; ratios are those of the same round."""
    solid = basket_solid(69)
    pull = np.zeros_like(solid.mesh.nodes)
    pull[solid.mesh.nodes[:, 2].argmax(), 0] = 0.1
    chosen = {name: entry for name, entry in SCHEMES.items() if entry[2] is not None}
    sims = [rf.ImplicitNewmark(solid, 1e-3), *(make(solid) for make, _, _ in chosen.values())]
    seconds = timed_rounds(SOLID_ROUNDS, *(lambda sim=sim: sim.step(pull) for sim in sims))
    ratios = np.median(seconds / seconds[:, :1], axis=0)[1:]
    size = f"{solid.mesh.n_elements} hexes"
    return [
        Row(f"step of {name} of the solid, {size}", float(one), "s", ratio=float(ratio),
            over="implicit Newmark", ratio_mark=mark, note=f"{rf.threads()} cores")
        for (name, (_, _, mark)), one, ratio in zip(
            chosen.items(), np.median(seconds, axis=0)[1:], ratios, strict=True
        )
    ]  # fmt: skip


ENTRIES = {"reduced": reduced_rows, "tails": tail_rows, "solid": solid_rows}
