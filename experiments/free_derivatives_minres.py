"""Derivatives of a free solid's modes: preconditioned MINRES beside the library's own method.

The systems of Barbic 2007, equation 2.60, (K - lambda_i M) phi_ij = b_ij, are singular and
indefinite. MINRES solves them one by one, preconditioned by a factor of K + sigma M; the
library sums over the known part of the spectrum and runs one Lanczos process for the rest,
which serves phi_ij and phi_ji at once (csrc/modes/free_derivatives.c). What counts is how
often each system needs the factor, as that is what the time goes into; MINRES here is
SciPy's, its factor SuperLU's, so seconds are printed apart for the factor's solves and the rest.

Run it for the table:  python experiments/free_derivatives_minres.py [--resolution N]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from scipy.sparse.linalg import LinearOperator, minres, splu

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from bench_bodies import MODES, RUBBER
from bench_precompute import bumpy_sphere

import reducedfem as rf

TOLERANCES = (1e-6, 1e-8, 1e-10)  # of the preconditioned residual
NEAR = 1e-6  # eigenvalues that differ by less, relatively, are one


class Solver:
    """MINRES for the derivatives of one solid's modes.

    Parameters
    ----------
    solid
        A free solid.
    modes
        Its elastic modes.
    """

    def __init__(self, solid: rf.Solid, modes: rf.Modes) -> None:
        self.solid, self.modes = solid, modes
        self.stiffness = solid.stiffness().to_scipy().tocsr()
        self.mass = solid.mass().to_scipy().tocsr()
        self.values = (2 * np.pi * modes.frequencies) ** 2
        self.shift = float(self.values[0])
        start = time.perf_counter()
        matrix = (self.stiffness + self.shift * self.mass).tocsc()
        options = {"SymmetricMode": True}
        self.factor = splu(matrix, "MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
        self.factor_seconds = time.perf_counter() - start

    def solve(self, i: int, j: int, tolerance: float) -> tuple[np.ndarray, int, float, float]:
        """Return one derivative, its solves, their seconds and all seconds."""
        value = self.values[i]
        shapes = self.modes.shapes.reshape(len(self.values), -1)
        same = shapes[np.abs(self.values - value) <= NEAR * value]
        dual = (self.mass @ same.T).T
        load = -self.solid.hessian_product(self.modes.shapes[j], self.modes.shapes[i]).ravel()
        load -= dual.T @ (same @ load)
        solves, seconds = 0, 0.0

        def precondition(x: np.ndarray) -> np.ndarray:
            nonlocal solves, seconds
            begin = time.perf_counter()
            y = self.factor.solve(x)
            seconds += time.perf_counter() - begin
            solves += 1
            return y

        n = load.size
        start = time.perf_counter()
        x, failed = minres(
            LinearOperator((n, n), lambda v: self.stiffness @ v - value * (self.mass @ v)),
            load,
            M=LinearOperator((n, n), precondition),
            rtol=tolerance,
            maxiter=2000,
        )
        x -= same.T @ (dual @ x)
        if failed:
            print(f"MINRES stopped at {failed} steps for {i}, {j}")
        return x, solves, seconds, time.perf_counter() - start


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--resolution", type=int, default=74, help="voxels along the grid")
    parser.add_argument("--systems", type=int, default=12, help="how many MINRES solves")
    arguments = parser.parse_args()
    for name in ("resolution", "systems"):
        if getattr(arguments, name) < 1:
            parser.error(f"--{name} must be 1 or more, got {getattr(arguments, name)}")
    solid = rf.Solid(rf.voxelize(bumpy_sphere(), arguments.resolution, fill=False), RUBBER)
    modes = solid.linear_modes(MODES)
    start = time.perf_counter()
    own = solid.modal_derivatives(modes).reshape(MODES, MODES, -1)
    seconds = time.perf_counter() - start
    print(
        f"{solid.mesh.n_nodes} nodes, {MODES * MODES} derivatives, {rf.threads()} cores\n"
        f"library: {seconds:.3g} s, factorization included, {seconds / MODES**2:.3g} s each"
    )
    solver = Solver(solid, modes)
    print(f"SuperLU factor of K + sigma M: {solver.factor_seconds:.3g} s (one core)\n")
    print("MINRES       solves of the factor   s each  of them in    difference from")
    print("tolerance    median       most              the factor    the library's, most")
    pairs = np.random.default_rng(0).integers(0, MODES, (arguments.systems, 2))
    for tolerance in TOLERANCES:
        count, factor, total, far = [], [], [], []
        for i, j in pairs:
            x, solves, inside, all_of_it = solver.solve(i, j, tolerance)
            count.append(solves)
            factor.append(inside)
            total.append(all_of_it)
            far.append(np.linalg.norm(x - own[i, j]) / np.linalg.norm(own[i, j]))
        print(
            f"{tolerance:.0e}        {np.median(count):6.0f}     {max(count):6d}   "
            f"{np.median(total):9.3g}   {np.median(factor):9.3g}    {max(far):9.1e}"
        )


if __name__ == "__main__":
    main()
