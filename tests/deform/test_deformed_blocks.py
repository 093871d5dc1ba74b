"""Deformed fields have the same bits in blocks, in threads and by all instruction sets."""

from __future__ import annotations

import ctypes
import platform
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import reducedfem as rf
from deformed_objects import BAR, plain, thinned
from reducedfem import _core


def test_results_do_not_depend_on_threads(held_bar, bar_field, bar_proxies, rng, set_threads):
    made = rf.DeformedField(bar_field, held_bar, bar_proxies)
    points = rng.uniform((-0.05, -0.05, -0.05), (0.35, 0.11, 0.09), (5000, 3))
    q = 0.05 * rng.normal(size=held_bar.r)
    found = []
    for n in (1, 3):
        set_threads(n)
        found.append((made.distance(points, q), made.gradient(points, q)))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


def by_variant(model, field, proxies, k, simd):
    embedding = rf.Embedding(model.mesh, proxies)
    return _core.DeformedField(
        (field._core,), [0, len(proxies)], model._core, model.mesh._core, embedding._core,
        proxies, k, 1.0, 1, simd,
    )  # fmt: skip


@pytest.mark.parametrize("simd", [-1, 4])
def test_unknown_instruction_sets_are_refused(held_bar, bar_field, bar_proxies, simd):
    with pytest.raises(rf.InputError, match=f"simd must be between 0 and 3, got {simd}"):
        by_variant(held_bar, bar_field, bar_proxies, 5, simd)


def places_of_all_kinds(made, q, rng):
    """Places near each other and far apart, on proxies, between twins, far away, in disorder."""
    proxies = made.pose(q)[0]
    low, high = proxies.min(axis=0) - 0.05, proxies.max(axis=0) + 0.05
    middle = rng.uniform(low, high, (30, 1, 3))
    near = middle + 0.004 * rng.normal(size=(30, 17, 3))
    kinds = (
        near.reshape(-1, 3),
        rng.uniform(low, high, (300, 3)),
        proxies,
        (proxies + proxies[::-1]) / 2,
        proxies[:1] + [[1e-9, 0, 0], [1e-170, 0, 0], [1e3, 0, 0], [1e150, 0, 0], [1e200, 1, 1]],
    )
    ordered = np.concatenate(kinds)
    return np.concatenate([ordered, rng.permutation(ordered)])


def test_every_instruction_set_finds_the_same(held_bar, bar_field, bar_proxies, rng):
    """Results agree to the bit, also in blocks of any size, with any neighbours in them."""
    q = 0.003 * rng.normal(size=held_bar.r)
    # proxies in twos: some are equally near everywhere
    twins = np.repeat(bar_proxies[:20], 2, axis=0)
    many = thinned(rng.uniform(0, BAR[1], (3000, 3)), 300)
    for proxies, k in (
        *((bar_proxies[:count], 5) for count in (1, 2, 7, 8, 9, 40)),
        *((bar_proxies, k) for k in (1, 2, 4, 8, 9, 16)),
        *((twins, k) for k in (2, 5)),
        (many, 5),
    ):
        # plain, and avx2 where there is such a thing
        made = [
            by_variant(held_bar, bar_field, proxies, k, simd)
            for simd in (1, 2 if _core.simd_available(2) else 1)
        ]
        points = places_of_all_kinds(made[0], q, rng)
        expected = made[0].evaluate(q, points, False, 1)
        others = [made[1].evaluate(q, points, False, 1)]
        # places one by one for a part of them; blocks that begin elsewhere
        part = rng.permutation(len(points))[:200]
        single = [made[1].evaluate(q, points[i : i + 1], False, 1) for i in part]
        for i, one in zip(part, single, strict=True):
            assert one[0][0] == expected[0][i]
            assert one[2][0] == expected[2][i]
        others += [
            [a if a is None else np.concatenate([a, b]) for a, b in zip(*parts, strict=True)]
            for parts in [
                [m.evaluate(q, x, False, 1) for x in (points[:7], points[7:])] for m in made
            ]
        ]
        # gradients come with the same values
        others += [m.evaluate(q, points, True, 1) for m in made]
        for other in others:
            np.testing.assert_array_equal(other[0], expected[0])
            np.testing.assert_array_equal(other[2], expected[2])
        slopes = others[-1][1]
        np.testing.assert_array_equal(others[-2][1], slopes)
        for i in part[:50]:
            np.testing.assert_array_equal(
                made[1].evaluate(q, points[i : i + 1], True, 1)[1][0], slopes[i]
            )
        assert np.isfinite(expected[0]).mean() > 0.99


def test_blocks_find_all_neighbours(held_bar, bar_field, bar_proxies, rng):
    """Against a sort of all distances, in blocks that are narrow, wide, and both."""
    for proxies in (bar_proxies, thinned(rng.uniform(0, BAR[1], (3000, 3)), 200)):
        for k in (3, 5, 12):
            made = rf.DeformedField(bar_field, held_bar, proxies, k=k)
            q = 0.004 * rng.normal(size=held_bar.r) / (1 + np.arange(held_bar.r))
            for width in (1e-6, 0.003, 0.03, 0.3):
                points = rng.uniform(0, BAR[1]) + width * rng.uniform(-1, 1, (48, 3))
                found = made.distance(points, q)
                expected = [plain(made, x, q) for x in points]
                np.testing.assert_allclose(found, [d for d, _ in expected], atol=1e-13)
                np.testing.assert_array_equal(made.nearest(points, q), [i for _, i in expected])


def test_places_at_proxies_in_threads_without_denormals(held_bar, bar_field, bar_proxies, tmp_path):
    """Real-time threads flush denormals: a way of length 0 still names its proxy."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("needs a C compiler for x86-64")
    source, library = tmp_path / "flush.c", tmp_path / "flush.so"
    source.write_text(
        "#include <immintrin.h>\nvoid flush(void) { _mm_setcsr(_mm_getcsr() | 0x8040); }\n"
        "int flushed(void) { volatile double x = 5e-324; return x == 0.0; }\n"
    )
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    flags = ctypes.CDLL(str(library))
    made = rf.DeformedField(bar_field, held_bar, bar_proxies)
    q = np.linspace(0.003, -0.003, held_bar.r)
    places = made.positions(q)
    expected = made._core.evaluate(q, places, True, 1)
    np.testing.assert_array_equal(expected[2], np.arange(len(places)))

    def work():
        flags.flush()
        return flags.flushed(), made._core.evaluate(q, places, True, 1)

    with ThreadPoolExecutor(1) as pool:
        flushed, found = pool.submit(work).result()
    assert flushed
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_places_far_beyond_any_scene_have_neighbours(held_bar, bar_field, bar_proxies):
    """Padding of rows of proxies is never found as the nearest proxy."""
    made = rf.DeformedField(bar_field, held_bar, proxies=bar_proxies[:5], k=2)
    q = np.zeros(held_bar.r)
    for far in (5.5e149, 6e149, 1e151):
        distance, _, proxy = made._core.evaluate(q, np.full((1, 3), far), False, 1)
        assert 0 <= proxy[0] < 5
        assert distance[0] > far
