"""Derivatives of free modes against preconditioned MINRES on each singular system.

SciPy's MINRES and SuperLU share nothing with the library's solver but the matrices. The
comparison of cost is the script's, experiments/free_derivatives_minres.py.
"""

from __future__ import annotations

import sys

import free_derivatives_minres
import numpy as np
import pytest

import reducedfem as rf
from reducedfem import samples

K = 5


@pytest.fixture(scope="module")
def solved():
    mesh = rf.voxelize(samples.load("spoon"), 24, cut=False, order=1)
    solid = rf.Solid(mesh, rf.StVK(1e6, 0.4, 1000.0))
    modes = solid.linear_modes(K)
    derivatives = solid.modal_derivatives(modes).reshape(K, K, -1)
    return free_derivatives_minres.Solver(solid, modes), derivatives


def test_minres_finds_the_same_derivatives(solved):
    solver, derivatives = solved
    for i in range(K):
        for j in range(K):
            x, solves, *_ = solver.solve(i, j, 1e-13)
            # its residual of 1e-13 in the preconditioned norm is amplified by the systems'
            # condition on the way to the field
            assert np.linalg.norm(x - derivatives[i, j]) <= 1e-6 * np.linalg.norm(x), (i, j)
            assert solves > 1


def test_derivatives_of_free_modes_are_not_symmetric(solved):
    _, derivatives = solved
    far = np.linalg.norm(derivatives - derivatives.transpose(1, 0, 2)) / np.linalg.norm(derivatives)
    assert far > 0.01


def test_the_script_prints_its_table(monkeypatch, capsys):
    argv = ["free_derivatives_minres.py", "--resolution", "12", "--systems", "2"]
    monkeypatch.setattr(sys, "argv", argv)
    free_derivatives_minres.main()
    text = capsys.readouterr().out
    assert "400 derivatives" in text
    lines = [line for line in text.splitlines() if line.startswith("1e-")]
    assert len(lines) == len(free_derivatives_minres.TOLERANCES)
