"""Friction of a pair's points: derivative and work against finite differences, and the law."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from ckernels import build
from places import ROOT

FIRST, SECOND, N, MU = 16, 8, 12, 0.6
STIFF = np.linspace(50.0, 200.0, N)


@pytest.fixture(scope="module")
def friction(tmp_path_factory):
    names = ("base/alloc.c", "base/status.c", "world/pair_friction.c", "world/pair_friction_rt.c")
    sources = [ROOT / "csrc" / name for name in names] + [ROOT / "tests" / "friction_rows.c"]
    library = build("friction", sources, tmp_path_factory.mktemp("friction"))
    library.friction_of.restype = ctypes.c_double

    def of(case, u, step, part=0.0, held=True):
        out, found = np.full((3, FIRST + SECOND), np.nan), np.full(N, np.nan)
        own = np.zeros((FIRST, FIRST))
        arrays = [case[name] for name in ("rows", "stiff", "last", "normal")]
        arrays += [case["limits"] if held else None, u, step]
        work = library.friction_of(
            N, FIRST, SECOND, ctypes.c_double(MU),
            *(None if a is None else ctypes.c_void_p(a.ctypes.data) for a in arrays),
            ctypes.c_double(part), *(ctypes.c_void_p(a.ctypes.data) for a in (out, found, own)),
        )  # fmt: skip
        return out, work, found, own

    return of


@pytest.fixture
def case():
    """Return points that stick, points that slip and open ones."""
    rng = np.random.default_rng(7)
    normal = -rng.random(N)
    normal[::5] = 0.3
    limits = np.where(normal < 0.0, -MU * normal, 0.0)
    return {
        "rows": rng.normal(size=(N, 2, FIRST + SECOND)),
        "stiff": STIFF,
        "last": 0.1 * rng.normal(size=(N, 2)),
        "normal": normal,
        "limits": limits,
        "u": 3e-3 * rng.normal(size=FIRST + SECOND) / np.sqrt(FIRST + SECOND),
        "step": rng.normal(size=FIRST + SECOND),
    }


def law(case, u):
    """Return trial forces and forces (N, 2), by the law."""
    slip = case["rows"] @ u
    trial = case["last"] - STIFF[:, None] * slip
    size = np.hypot(*trial.T)
    return trial, trial * np.minimum(1.0, case["limits"] / size)[:, None]


def test_forces_are_those_of_springs_that_slip(friction, case):
    (force, _, _), _, limits, _ = friction(case, case["u"], case["step"], held=False)
    trial, expected = law(case, case["u"])
    slips = np.hypot(*trial.T) > case["limits"]
    slips = slips[case["limits"] > 0.0]
    assert 2 < slips.sum() < len(slips) - 2
    np.testing.assert_allclose(limits, case["limits"], rtol=1e-15)
    np.testing.assert_allclose(force, np.einsum("ni,nij->j", expected, case["rows"]), rtol=1e-12)


def test_the_tangent_is_the_derivative_of_the_forces(friction, case):
    eps, step = 1e-7, case["step"]
    (_, tangent, secant), _, _, _ = friction(case, case["u"], step)
    ahead, back = (friction(case, case["u"] + e * step, step)[0][0] for e in (eps, -eps))
    expected = (ahead - back) / (2 * eps)
    np.testing.assert_allclose(tangent, expected, atol=1e-6 * np.abs(expected).max())
    # the secant resists more, and both resist
    assert step @ secant < step @ tangent < 0.0


@pytest.mark.parametrize("part", [0.0, 1e-3, 0.4])
def test_the_work_along_a_step_is_that_of_the_forces_there(friction, case, part):
    step = case["step"]
    _, work, _, _ = friction(case, case["u"], step, part)
    force = friction(case, case["u"] + part * step, step)[0][0]
    np.testing.assert_allclose(work, force @ step, rtol=1e-10)


def test_the_own_block_is_that_of_secants(friction, case):
    _, _, _, own = friction(case, case["u"], case["step"])
    for row in np.eye(FIRST):
        step = np.concatenate([row, np.zeros(SECOND)])
        secant = friction(case, case["u"], step)[0][2]
        np.testing.assert_allclose(own @ row, -secant[:FIRST], atol=1e-10 * np.abs(own).max())
