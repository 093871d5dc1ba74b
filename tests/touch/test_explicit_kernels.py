"""Local stiffness and shown force of a slower simulation, against plain Python."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import ckernels
from places import ROOT

PERIOD, CYCLE = 5e-3, 1e-3
NOISE, MEMORY = 5e-6, 0.9


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    names = ("touch/explicit_secant_rt.c", "touch/explicit_display_rt.c")
    sources = [ROOT / "csrc" / name for name in names]
    sources.append(ROOT / "tests" / "support" / "touch_rows.c")
    return ckernels.build("touch", sources, tmp_path_factory.mktemp("touch"))


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def secants(kernels, touching, place, force, limit=1e9):
    """Return the stiffness after each state, its largest eigenvalue, and the part missed."""
    n = len(place)
    touching, out = np.ascontiguousarray(touching, np.int32), np.full((n, 3, 3), np.nan)
    most, missed = np.full(n, np.nan), np.full(2, np.nan)
    place, force = np.ascontiguousarray(place), np.ascontiguousarray(force)
    real = ctypes.c_double
    kernels.secant_rows(
        n, *map(pointer, (touching, place, force)), real(limit), real(NOISE), real(MEMORY),
        *map(pointer, (out, most, missed)),
    )  # fmt: skip
    return out, most, missed


def plain_secants(touching, place, force, limit):
    ways, changes, stiff, before, found = np.zeros((3, 3)), np.zeros((3, 3)), 0.0, None, []
    for contact, x, f in zip(touching, place, force, strict=True):
        if not contact:
            ways, changes, stiff, before = np.zeros((3, 3)), np.zeros((3, 3)), 0.0, None
            found.append(np.zeros((3, 3)))
            continue
        if before is not None:
            d, y = x - before[0], before[1] - f
            kept = 1.0 - (1.0 - MEMORY) * (d @ d) / (d @ d + NOISE**2)
            ways, changes = kept * ways + np.outer(d, d), kept * changes + np.outer(y, d)
            inverse = np.linalg.inv(ways + NOISE**2 * np.eye(3))
            whole = ways @ inverse @ changes @ inverse
            value, vector = np.linalg.eigh(0.5 * (whole + whole.T))
            stiff = (vector * np.clip(value, 0.0, limit)) @ vector.T
        found.append(stiff * np.ones((3, 3)) if np.isscalar(stiff) else stiff)
        before = x, f
    return np.array(found)


def test_secants_against_plain_python(kernels):
    rng = np.random.default_rng(1)
    place = np.cumsum(rng.normal(scale=2e-5, size=(60, 3)), axis=0)
    force = -place @ rng.normal(scale=100.0, size=(3, 3)) + rng.normal(scale=1e-3, size=(60, 3))
    touching = np.ones(60, bool)
    touching[[0, 20, 21, 40]] = False
    found, most, missed = secants(kernels, touching, place, force, 60.0)
    assert np.allclose(found, plain_secants(touching, place, force, 60.0), rtol=0, atol=1e-9)
    assert np.allclose(most, np.linalg.eigvalsh(found)[:, -1], rtol=0, atol=1e-9)
    assert most.max() == pytest.approx(60.0)
    assert missed[1] > 0.0


def test_the_stiffness_of_a_linear_body_is_found(kernels):
    """Along the ways that the tool made; a tool at rest neither adds nor forgets anything."""
    rng = np.random.default_rng(2)
    root = rng.normal(size=(2, 2))
    plane = np.array([[1.0, 0.0, 0.0], [0.0, 0.6, 0.8]])
    true = 50.0 * plane.T @ root @ root.T @ plane
    place = np.cumsum(rng.normal(scale=1e-3, size=(40, 2)), axis=0) @ plane
    place = np.concatenate([place, np.repeat(place[-1:], 40, axis=0)])
    found, _, missed = secants(kernels, np.ones(80), place, -place @ true)
    for k in (39, 79):
        assert np.allclose(found[k], true, rtol=1e-3, atol=1e-3)
    assert np.linalg.eigvalsh(found).min() > -1e-9 * np.trace(true)
    assert missed[1] < 0.2 * missed[0]


def shown(kernels, local, hand, arrivals, hand_s, hand_m, force, stiffness):
    n = len(hand)
    out, torque = np.full((n, 3), np.nan), np.full((n, 3), np.nan)
    state = np.full(n, -1, np.int32)
    state[list(arrivals)] = np.arange(len(arrivals))
    real = ctypes.c_double
    kernels.display_rows(
        int(local), real(CYCLE), real(PERIOD), n,
        *map(pointer, (hand, state, hand_s, hand_m, force, stiffness, out, torque)),
    )  # fmt: skip
    return out, torque


def plain_shown(local, hand, arrivals, hand_s, hand_m, force, stiffness):
    """Forces by the definition; arrivals: cycles at which the states are known."""
    found, start, begun, now, waiting = [], np.zeros(3), 0.0, None, []

    def law(time, x):
        if now is None:
            return np.zeros(3)
        if local:
            value = force[now] - stiffness[now] @ (x - hand_m[now])
            return value if value @ force[now] > 0.0 else np.zeros(3)
        return start + min((time - begun) / PERIOD, 1.0) * (force[now] - start)

    for k, x in enumerate(hand):
        time = (k + 1) * CYCLE
        waiting += [j for j, cycle in enumerate(arrivals) if cycle == k]
        if waiting and time > hand_s[waiting[-1]] + PERIOD - 1e-9:
            start, begun, now, waiting = law(time, x), time, waiting[-1], []
        found.append(law(time, x))
    return np.array(found)


@pytest.mark.parametrize("local", [False, True])
def test_shown_forces_against_plain_python(kernels, local):
    """States that come in time, late, and not at all."""
    rng = np.random.default_rng(3)
    cycles = np.array([0, 5, 10, 15, 20, 30, 35])  # whose hand they have
    arrivals = cycles + np.array([1, 4, 3, 9, 7, 2, 1])
    hand = np.cumsum(rng.normal(scale=1e-3, size=(60, 3)), axis=0)
    hand_s, hand_m = (cycles + 1) * CYCLE, hand[cycles]
    force = rng.normal(size=(7, 3))
    root = rng.normal(size=(7, 3, 3))
    stiffness = np.ascontiguousarray(100.0 * root @ root.transpose(0, 2, 1))
    case = local, hand, arrivals, hand_s, hand_m, force, stiffness
    found, torque = shown(kernels, *case)
    expected = plain_shown(*case)
    assert np.abs(found - expected).max() < 1e-12
    quiet = found.any(axis=1)
    assert not quiet[:5].any()
    assert quiet[6:].mean() > 0.6
    if not local:
        assert np.allclose(torque, 2.0 * found)
        # two periods after its hand a state in time is reached
        assert np.allclose(found[10], force[0])
        assert np.allclose(found[-1], force[-1])
