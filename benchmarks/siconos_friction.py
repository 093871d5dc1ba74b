"""Time of Siconos for problems in a file, in a Python that has it: friction, one process.

usage: python siconos_friction.py problems.npz, with arrays W (3m, 3m), free (k, 3m), mu (k, m).
Prints the median and largest time of its Newton's method [us], and how many problems it solved.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import siconos.numerics as sn

REPEATS = 5


def violation(W, free, mu, force):
    """Return the residual of the laws as `reducedfem.solve_friction` defines it."""
    m = len(mu)
    length = np.abs(free).max()
    d = (W @ force + free).reshape(m, 3) / length
    f = force.reshape(m, 3) * (np.trace(W) / (3 * m) / length)
    slip, across = np.hypot(d[:, 1], d[:, 2]), np.hypot(f[:, 1], f[:, 2])
    most = mu * f[:, 0]
    along = most[:, None] * d[:, 1:] + slip[:, None] * f[:, 1:]
    return max(
        np.abs(np.minimum(d[:, 0], f[:, 0])).max(),
        (across - np.maximum(most, 0.0)).max(),
        np.hypot(along[:, 0], along[:, 1]).max(),
        np.minimum(slip, np.abs(most - across)).max(),
    )


def main() -> None:
    """Print one line."""
    data = np.load(sys.argv[1])
    W, mean = data["W"], np.trace(data["W"]) / len(data["W"])
    took, solved = [], 0
    for free, mu in zip(data["free"], data["mu"], strict=True):
        length = np.abs(free).max()
        task = sn.FrictionContactProblem(3, W / mean, free / length, mu)
        seconds = []
        for _ in range(REPEATS):
            options = sn.SolverOptions(sn.SICONOS_FRICTION_3D_NSN_AC)
            options.dparam[sn.SICONOS_DPARAM_TOL] = 1e-9
            options.iparam[sn.SICONOS_IPARAM_MAX_ITER] = 200
            force, moved = np.zeros(len(W)), np.zeros(len(W))
            begin = time.thread_time()
            sn.fc3d_driver(task, force, moved, options)
            seconds.append(time.thread_time() - begin)
        took.append(1e6 * np.median(seconds))
        solved += violation(W, free, mu, force * length / mean) < 1e-7
    print(np.median(took), max(took), solved)


if __name__ == "__main__":
    main()
