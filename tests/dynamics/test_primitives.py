"""Distances and barrier energies of a vertex and a triangle, and of two edges."""

from __future__ import annotations

import atexit
import ctypes
import functools
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

import ckernels
from ckernels import structure
from places import ROOT

KAPPA, DELTA = 3.0, 0.5
MU, SLIP = 0.4, 1.0
KINDS = [False, True]  # a vertex and a triangle; two edges


Primitive = structure(
    "Primitive", edges=ctypes.c_bool, parallel=ctypes.c_double, x=ctypes.c_double * 12,
)  # fmt: skip
Nearest = structure(
    "Nearest", distance=ctypes.c_double, weight=ctypes.c_double * 4, normal=ctypes.c_double * 3,
    moving=ctypes.c_int, along=ctypes.c_double * 6, moved=ctypes.c_double * 8,
)  # fmt: skip
Energy = structure(
    "Energy", value=ctypes.c_double, normal_force=ctypes.c_double, gradient=ctypes.c_double * 12,
)  # fmt: skip
Rubbing = structure(
    "Rubbing", weight=ctypes.c_double * 4, normal=ctypes.c_double * 3, force=ctypes.c_double,
    sliding=ctypes.c_double * 3,
)  # fmt: skip


@functools.cache
def library() -> ctypes.CDLL:
    """Compile once per run."""
    folder = Path(tempfile.mkdtemp(prefix="reducedfem-primitives-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    sources = [ROOT / "csrc/dynamics" / name for name in ("primitives.c", "rubbing.c")]
    lib = ckernels.build("primitives", sources, folder)
    pointer, real = ctypes.c_void_p, ctypes.c_double
    lib.rf_primitive_find.argtypes = pointer, pointer
    lib.rf_primitive_evaluate.argtypes = pointer, pointer, real, real, pointer
    lib.rf_primitive_linearize.argtypes = pointer, pointer, real, real, ctypes.c_bool, pointer
    lib.rf_primitive_reach.argtypes = pointer, pointer, real
    lib.rf_primitive_reach.restype = real
    lib.rf_primitive_force_slope.argtypes = pointer, pointer, real, real, pointer
    lib.rf_rubbing_evaluate.argtypes = pointer, pointer, real, pointer
    lib.rf_rubbing_evaluate.restype = real
    lib.rf_rubbing_linearize.argtypes = pointer, real, real, pointer
    lib.rf_rubbing_turn.argtypes = pointer, pointer, pointer, pointer, real, pointer
    for name in ("primitive_find", "primitive_evaluate", "primitive_linearize"):
        getattr(lib, f"rf_{name}").restype = None
    for name in ("primitive_force_slope", "rubbing_linearize", "rubbing_turn"):
        getattr(lib, f"rf_{name}").restype = None
    return lib


def primitive(x, edges, parallel=0.0):
    return Primitive(edges, parallel, (ctypes.c_double * 12)(*np.ravel(x)))


def nearest(x, edges):
    out = Nearest()
    library().rf_primitive_find(ctypes.byref(primitive(x, edges)), ctypes.byref(out))
    return out


def energy(x, edges, parallel=0.0):
    """Return energy, gradient (12,) and normal force."""
    p, at, out = primitive(x, edges, parallel), Nearest(), Energy()
    library().rf_primitive_find(ctypes.byref(p), ctypes.byref(at))
    assert at.distance < DELTA
    library().rf_primitive_evaluate(
        ctypes.byref(p), ctypes.byref(at), KAPPA, DELTA, ctypes.byref(out)
    )
    return out.value, np.array(out.gradient), out.normal_force


def hessian(x, edges, parallel=0.0, definite=False):
    p, at, out = primitive(x, edges, parallel), Nearest(), np.full((12, 12), np.nan)
    library().rf_primitive_find(ctypes.byref(p), ctypes.byref(at))
    library().rf_primitive_linearize(
        ctypes.byref(p), ctypes.byref(at), KAPPA, DELTA, definite, out.ctypes.data
    )
    return out


def to_segment(p, a, b):
    side = b - a
    square = side @ side
    part = np.clip(side @ (p - a) / square, 0.0, 1.0) if square > 0.0 else 0.0
    return np.linalg.norm(p - a - part * side)


def plain(x, edges):
    """Return the distance by all positions that nearest points may have."""
    if edges:
        found = [to_segment(x[i], x[2], x[3]) for i in (0, 1)]
        found += [to_segment(x[i], x[0], x[1]) for i in (2, 3)]
        directions = np.array([x[1] - x[0], x[2] - x[3]])
        start = x[2] - x[0]
        within = lambda part: (part >= 0.0).all() and (part <= 1.0).all()  # noqa: E731
    else:
        found = [to_segment(x[0], x[i], x[j]) for i, j in ((1, 2), (2, 3), (3, 1))]
        directions = np.array([x[2] - x[1], x[3] - x[1]])
        start = x[0] - x[1]
        within = lambda part: (part >= 0.0).all() and part.sum() <= 1.0  # noqa: E731
    part = np.linalg.lstsq(directions.T, start, rcond=None)[0]
    if within(part):
        found.append(np.linalg.norm(start - part @ directions))
    return min(found)


def degenerate(rng, kind, edges):
    """Return points of a kind that general ones do not have."""
    x = rng.normal(size=(4, 3))
    if kind == "parallel":
        x[3] = x[2] + rng.normal() * (x[1] - x[0])
    elif kind == "nearly parallel":
        x[3] = x[2] + rng.normal() * (x[1] - x[0]) + 1e-7 * rng.normal(size=3)
    elif kind == "in a plane":
        x[:, 2] = 0.0
    elif kind == "on a grid":
        x = rng.integers(-1, 2, size=(4, 3)).astype(float)
    elif kind == "above a corner":
        x[0] = x[1] + 0.3 * rng.normal(size=3)
    elif kind == "far off":
        x += 100.0 * rng.normal(size=3)
    return x


@pytest.mark.parametrize("edges", KINDS)
@pytest.mark.parametrize(
    "kind",
    ["any", "parallel", "nearly parallel", "in a plane", "on a grid", "above a corner", "far off"],
)
def test_distances_are_those_of_all_positions(kind, edges):
    rng = np.random.default_rng(3)
    for _ in range(2000):
        x = degenerate(rng, kind, edges)
        at = nearest(x, edges)
        size = np.abs(x).max()
        assert at.distance == pytest.approx(plain(x, edges), rel=1e-7, abs=1e-14 * size)
        weight = np.array(at.weight)
        first, second = (weight[:2], weight[2:]) if edges else (weight[:1], weight[1:])
        assert first.sum() == pytest.approx(1.0)
        assert second.sum() == pytest.approx(-1.0)
        assert (first >= 0.0).all()
        assert (second <= 0.0).all()
        np.testing.assert_allclose(
            weight @ x, at.distance * np.array(at.normal), rtol=0, atol=1e-12 * size
        )


def close(rng, edges, parallel):
    """Return points nearer than DELTA, of any position or nearly parallel, and eps."""
    while True:
        x = rng.normal(size=(4, 3))
        if parallel:
            along = x[1] - x[0]
            x[3] = x[2] + rng.uniform(0.5, 1.5) * along + 1e-2 * rng.normal(size=3)
        at = nearest(x, edges)
        if 0.05 < at.distance < 0.9 * DELTA:
            squares = [np.sum((x[i] - x[j]) ** 2) for i, j in ((0, 1), (2, 3))]
            return x, 1e-3 * squares[0] * squares[1], at.moving


CASES = [(False, False), (True, False), (True, True)]


def differences(function, x, step):
    columns = []
    for i in range(12):
        moved = []
        for sign in (1.0, -1.0):
            at = x.ravel().copy()
            at[i] += sign * step
            moved.append(function(at.reshape(4, 3)))
        columns.append((moved[0] - moved[1]) / (2.0 * step))
    return np.array(columns)


@pytest.mark.parametrize(("edges", "parallel"), CASES)
def test_forces_and_tangents_are_derivatives(edges, parallel):
    """Also where the nearest points lie on sides and at corners."""
    rng = np.random.default_rng(5)
    positions = set()
    for _ in range(60):
        x, eps, moving = close(rng, edges, parallel)
        value, gradient, _ = energy(x, edges, eps)
        assert value > 0.0
        slopes = differences(lambda at, e=eps: energy(at, edges, e)[0], x, 1e-6)
        np.testing.assert_allclose(gradient, slopes, rtol=0, atol=2e-7 * np.abs(gradient).max())
        exact = hessian(x, edges, eps)
        curves = differences(lambda at, e=eps: energy(at, edges, e)[1], x, 1e-6)
        np.testing.assert_allclose(exact, curves, rtol=0, atol=1e-6 * np.abs(exact).max())
        positions.add(moving)
    assert positions >= ({0, 1} if parallel else {0, 1, 2})


# ---- friction


def rubbed(x, v, edges, eps):
    """Return energy times the rate, gradient (12,), and the friction itself."""
    at, out = nearest(x, edges), np.full(12, np.nan)
    law = Rubbing(at.weight, at.normal, MU * energy(x, edges, eps)[2])
    v = np.ascontiguousarray(v)
    value = library().rf_rubbing_evaluate(ctypes.byref(law), v.ctypes.data, SLIP, out.ctypes.data)
    return value, out, law


def rubbing_cases(edges, parallel):
    rng = np.random.default_rng(5)
    for k in range(60):
        x, eps, moving = close(rng, edges, parallel)
        # below the slip velocity and above
        yield x, rng.normal(size=(4, 3)) * (0.1, 3.0)[k % 2], eps, moving


@pytest.mark.parametrize(("edges", "parallel"), CASES)
def test_friction_is_that_of_its_law(edges, parallel):
    sticking = 0
    for x, v, eps, _ in rubbing_cases(edges, parallel):
        value, gradient, law = rubbed(x, v, edges, eps)
        at, load = nearest(x, edges), energy(x, edges, eps)[2]
        weight, normal = np.array(at.weight), np.array(at.normal)
        along = weight @ v
        along = along - normal * (normal @ along)
        speed = np.linalg.norm(along)
        y = min(speed / SLIP, 1.0)
        drag = MU * load * (2.0 * y - y**2) * along / speed
        np.testing.assert_allclose(law.sliding, along, rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            gradient.reshape(4, 3), np.outer(weight, drag), rtol=0, atol=1e-12 * max(load, 1e-9)
        )
        # the integral of 2 y - y^2, and then the velocity beyond
        integral = SLIP * (y**2 - y**3 / 3.0) + max(speed - SLIP, 0.0)
        assert value == pytest.approx(MU * load * integral, rel=1e-12, abs=1e-15)
        slopes = differences(lambda at, x=x, e=eps: rubbed(x, at, edges, e)[0], v, 1e-6)
        np.testing.assert_allclose(gradient, slopes, rtol=0, atol=1e-7 * max(load, 1e-9))
        sticking += speed < SLIP
    assert 10 < sticking < 50


@pytest.mark.parametrize(("edges", "parallel"), CASES)
def test_tangents_of_friction_are_derivatives(edges, parallel):
    """By velocities, and by positions that change normal force, plane and nearest points."""
    positions = set()
    for x, v, eps, moving in rubbing_cases(edges, parallel):
        _, gradient, law = rubbed(x, v, edges, eps)
        p, at = primitive(x, edges, eps), nearest(x, edges)
        by_v, by_x = np.full((2, 12, 12), np.nan)
        slope = np.full(12, np.nan)
        library().rf_rubbing_linearize(ctypes.byref(law), SLIP, 7.0, by_v.ctypes.data)
        expected = differences(lambda u, x=x, e=eps: rubbed(x, u, edges, e)[1], v, 1e-6).T
        np.testing.assert_allclose(by_v, 7.0 * expected, rtol=0, atol=1e-6 * np.abs(by_v).max())
        library().rf_primitive_force_slope(
            ctypes.byref(p), ctypes.byref(at), KAPPA, DELTA, slope.ctypes.data
        )
        loads = differences(lambda u, e=eps: energy(u, edges, e)[2], x, 1e-7)
        np.testing.assert_allclose(slope, loads, rtol=0, atol=1e-5 * np.abs(slope).max())
        slope *= MU
        library().rf_rubbing_turn(
            ctypes.byref(law), ctypes.byref(at), slope.ctypes.data, v.ctypes.data, SLIP,
            by_x.ctypes.data,
        )  # fmt: skip
        expected = differences(lambda u, v=v, e=eps: rubbed(u, v, edges, e)[1], x, 1e-7).T
        np.testing.assert_allclose(by_x, expected, rtol=0, atol=1e-5 * np.abs(by_x).max())
        assert np.abs(by_x).max() > 0.0
        assert np.abs(gradient).max() > 0.0
        positions.add(moving)
    assert positions >= ({0, 1} if parallel else {0, 1, 2})


@pytest.mark.parametrize(("edges", "parallel"), CASES)
def test_definite_tangents_bound_the_exact_ones(edges, parallel):
    rng = np.random.default_rng(7)
    indefinite = 0
    for _ in range(100):
        x, eps, _ = close(rng, edges, parallel)
        exact, definite = (hessian(x, edges, eps, kind) for kind in (False, True))
        small = 1e-12 * np.abs(definite).max()
        np.testing.assert_allclose(definite, definite.T, rtol=0, atol=small)
        assert np.linalg.eigvalsh(definite)[0] >= -small
        assert np.linalg.eigvalsh(definite - exact)[0] >= -small
        indefinite += np.linalg.eigvalsh(exact)[0] < -small
    assert indefinite > 50


@pytest.mark.parametrize(("edges", "parallel"), CASES)
def test_forces_have_no_sum_and_no_moment(edges, parallel):
    rng = np.random.default_rng(9)
    for _ in range(100):
        x, eps, _ = close(rng, edges, parallel)
        _, gradient, force = energy(x, edges, eps)
        forces = gradient.reshape(4, 3)
        small = 1e-12 * np.abs(forces).max()
        np.testing.assert_allclose(forces.sum(0), 0.0, atol=small)
        np.testing.assert_allclose(np.cross(x, forces).sum(0), 0.0, atol=10 * small)
        assert force >= 0.0


def test_forces_of_edges_are_continuous_where_they_become_parallel():
    """The nearest points jump from end to end; without the factor m the force would."""
    a = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])

    def at(angle):
        turn = 0.5 * np.array([np.cos(angle), np.sin(angle), 0.0])
        middle = np.array([0.5, 0.0, 0.2])
        return energy(np.vstack([a, middle - turn, middle + turn]), True, 1e-3)

    for angle in (1e-4, 1e-6, 1e-8, 0.0):
        values = [at(sign * angle) for sign in (1.0, -1.0)]
        assert values[0][0] == pytest.approx(values[1][0], rel=1e-6, abs=1e-12)
        np.testing.assert_allclose(values[0][1], values[1][1], rtol=0, atol=4e3 * angle + 1e-12)
    assert at(0.0)[0] == 0.0
    across = np.vstack([a, [[0.5, -0.5, 0.2], [0.5, 0.5, 0.2]]])
    assert at(0.04)[0] == pytest.approx(energy(across, True)[0])


@pytest.mark.parametrize("edges", KINDS)
def test_nothing_is_reached_along_the_part_allowed(edges):
    rng = np.random.default_rng(11)
    cut = 0
    for _ in range(300):
        x = rng.normal(size=(4, 3))
        dx = rng.normal(size=(4, 3)) * 10.0 ** rng.uniform(-1, 2)
        if rng.random() < 0.5:  # towards each other
            dx[: 2 if edges else 1] -= 3.0 * np.array(nearest(x, edges).normal)
        part = library().rf_primitive_reach(
            ctypes.byref(primitive(x, edges)), np.ascontiguousarray(dx).ctypes.data, 1.0
        )
        assert 0.0 < part <= 1.0
        cut += part < 1.0
        start = nearest(x, edges).distance
        least = min(nearest(x + t * dx, edges).distance for t in np.linspace(0.0, part, 300))
        assert least > 0.009 * start
    assert cut > 20


def test_common_motion_is_not_cut():
    x = np.array([[0.2, 0.2, 1e-6], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    dx = np.tile([3.0, -2.0, 1.0], (4, 1))
    part = library().rf_primitive_reach(ctypes.byref(primitive(x, False)), dx.ctypes.data, 1.0)
    assert part == 1.0
