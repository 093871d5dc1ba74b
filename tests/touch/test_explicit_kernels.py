"""Local stiffness and shown force of a slower simulation, against plain Python."""

from __future__ import annotations

import ctypes
import itertools

import numpy as np
import pytest

import ckernels
from explicit_touch import CYCLE, PlainDisplay, PlainSecant
from places import ROOT

pytestmark = pytest.mark.no_asan(reason="sessions in test_explicit_sessions run the same blocks")
PERIOD, NOISE, MEMORY = 5e-3, 5e-6, 0.9


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    names = ("touch/explicit_secant_rt.c", "touch/explicit_display_rt.c")
    sources = [ROOT / "csrc" / name for name in names]
    sources.append(ROOT / "tests" / "support" / "touch_rows.c")
    return ckernels.build("touch", sources, tmp_path_factory.mktemp("touch"))


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def secants(kernels, touching, place, force, normal=None, held=None):
    """Return the stiffness measured and shown by state, its largest eigenvalue, squares of changes.

    normal: force without friction; None: all of the force.  held: of the same nodes; None: never.
    """
    n = len(place)
    touching, out = np.ascontiguousarray(touching, np.int32), np.full((n, 3, 3), np.nan)
    shown, normal = np.full((n, 3, 3), np.nan), np.array(force if normal is None else normal)
    most, squares = np.full(n, np.nan), np.full(2, np.nan)
    place, force = np.ascontiguousarray(place), np.ascontiguousarray(force)
    held = np.ascontiguousarray(np.zeros(n) if held is None else held, np.int32)
    kernels.secant_rows(
        n, *map(pointer, (touching, held, place, force, normal)), ctypes.c_double(NOISE),
        ctypes.c_double(MEMORY), 4, 5, *map(pointer, (out, shown, most, squares)),
    )  # fmt: skip
    return out, shown, most, squares


def test_secants_against_plain_python(kernels):
    rng = np.random.default_rng(1)
    place = np.cumsum(rng.normal(scale=2e-5, size=(60, 3)), axis=0)
    force = -place @ rng.normal(scale=100.0, size=(3, 3)) + rng.normal(scale=1e-3, size=(60, 3))
    touching = np.ones(60, bool)
    touching[[0, 18, 19, 20, 21, 40]] = False  # the last is chatter
    normal = force + rng.normal(scale=2e-3, size=(60, 3))
    normal[30] = 0.0
    held = touching & (np.arange(60) % 13 != 3)
    found, shown, most, squares = secants(kernels, touching, place, force, normal, held)
    plain = PlainSecant(NOISE, MEMORY, sticks_after=5)
    expected, measured, sticks = [], [], []
    for state in zip(touching, place, force, normal, held, strict=True):
        expected.append(plain.take(*state))
        measured.append(plain.stiffness)
        sticks.append(plain.held >= 5)
    assert np.allclose(found, measured, rtol=0, atol=1e-9)
    assert np.allclose(shown, expected, rtol=0, atol=1e-9)
    assert 5 < np.sum(sticks) < 50
    large = np.abs(expected).max(axis=(1, 2)) > 1.0
    assert large[[5, 39, 55]].all()
    assert not large[[18, 19, 22, 30, 40]].any()
    assert np.allclose(most, np.linalg.eigvalsh(found)[:, -1], rtol=0, atol=1e-9)
    assert np.allclose(squares, [plain.changed, plain.missed])


def test_the_stiffness_of_a_linear_body_is_found(kernels):
    """Along the ways that the tool made; a tool at rest neither adds nor forgets anything."""
    rng = np.random.default_rng(2)
    plane = np.array([[1.0, 0.0, 0.0], [0.0, 0.6, 0.8]])
    true = plane.T @ [[80.0, 10.0], [10.0, 90.0]] @ plane
    place = (np.cumsum(rng.normal(scale=1e-3, size=(40, 2)), axis=0) - 0.02) @ plane
    place = np.concatenate([np.zeros((1, 3)), place, np.repeat(place[-1:], 40, axis=0)])
    one = [0] + 80 * [1]
    found, shown, _, squares = secants(kernels, one, place, -place @ true)
    _, whole, _, less = secants(kernels, one, place, -place @ true, held=one)
    assert np.allclose(found[[40, 80]], true, rtol=1e-3, atol=1e-3)
    n = place[80] @ true / np.linalg.norm(place[80] @ true)
    assert np.allclose(shown[80], (n @ true @ n) * np.outer(n, n), rtol=1e-3, atol=1e-3)
    assert np.allclose(whole[80], true, rtol=1e-3, atol=1e-3)
    # across the force nothing is shown of a tool that slides
    assert 0.05 * squares[0] < squares[1] < 0.8 * squares[0]
    assert less[1] < 0.5 * squares[1]


def test_the_stiffness_is_at_most_twice_the_secant(kernels):
    """A contact that becomes ten times as stiff, and one that softens to less than nothing."""
    depth = np.linspace(0.0, 1e-2, 50)
    stiffens = np.where(depth < 5e-3, 10.0 * depth, 5e-2 + 100.0 * (depth - 5e-3))
    softens = np.sin(300.0 * depth)
    for force in (stiffens, softens):
        place = -np.outer(depth, [0.0, 0.0, 1.0])
        upwards = np.outer(force, [0.0, 0.0, 1.0])
        found, _, most, _ = secants(kernels, depth > 0.0, place, upwards)
        assert (most[1:] <= 2.0 * force[1:] / depth[1:] * (1 + 1e-12)).all()
        assert np.linalg.eigvalsh(found).min() >= -1e-12
    assert most[-1] == 0.0


LATE = [1, 4, 3, 9, 7, 2, 1]
EARLY = [4, 6, 4, 6, 4, 1, 1]  # a period less or more a cycle


@pytest.mark.parametrize("friction", [0.0, 0.5])
@pytest.mark.parametrize(("local", "delays"), [(False, LATE), (True, LATE), (False, EARLY)])
def test_shown_forces_against_plain_python(kernels, local, delays, friction):
    """States that come in time, late, and not at all."""
    rng = np.random.default_rng(3)
    cycles = np.array([0, 5, 10, 15, 20, 30, 35])  # whose hand they have
    arrivals = cycles + np.array(delays)
    hand = np.cumsum(rng.normal(scale=1e-3, size=(60, 3)), axis=0)
    hand_s, hand_m = (cycles + 1) * CYCLE, hand[cycles]
    force, root = rng.normal(size=(7, 3)), rng.normal(size=(7, 3, 3))
    normal = force + 0.3 * rng.normal(size=(7, 3))
    normal[2] = 0.0
    stiffness = np.ascontiguousarray(100.0 * root @ root.transpose(0, 2, 1))
    found, torque = np.full((60, 3), np.nan), np.full((60, 3), np.nan)
    state = np.full(60, -1, np.int32)
    state[arrivals] = np.arange(7)
    kernels.display_rows(
        int(local), *map(ctypes.c_double, (friction, CYCLE, PERIOD)), 60,
        *map(pointer, (hand, state, hand_s, hand_m, force, normal, stiffness)),
        *map(pointer, (found, torque)),
    )  # fmt: skip
    plain, expected = PlainDisplay(local, PERIOD, friction), []
    for k, x in enumerate(hand):
        if state[k] >= 0:
            j = state[k]
            plain.take(hand_s[j], hand_m[j], force[j], normal[j], stiffness[j])
        expected.append(plain.show((k + 1) * CYCLE, x))
    assert np.abs(found - expected).max() < 1e-12
    assert not found[:5].any()
    if delays is EARLY:  # each is shown, for four cycles of the five in which it comes in
        for before, one in itertools.pairwise(force):
            left = np.linalg.norm(found - one, axis=1).min()
            assert left < 0.35 * np.linalg.norm(one - before)
    assert found[6:].any(axis=1).mean() > 0.6
    if not local:
        assert np.allclose(torque, 2.0 * found)
        # two periods after its hand a state in time is reached
        assert np.allclose(found[10], force[0])
        assert np.allclose(found[-1], force[-1])
