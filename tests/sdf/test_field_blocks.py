"""Blocks of samples of a field, filled elsewhere: the bits of the whole, and what is refused."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import reducedfem as rf
from failures import check_live_blocks, fail_each_allocation, live_blocks
from reducedfem import _core
from shapes import box, sphere

ONE = sphere(4)
TWO = tuple(
    map(np.concatenate, zip(ONE, (ONE[0] + [0.7, 0, 0], ONE[1] + len(ONE[0])), strict=True))
)
BOWL = ONE[0], ONE[1][ONE[0][ONE[1]].mean(axis=1)[:, 2] < 0.4]
SHEET = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]), np.array([[0, 1, 2], [0, 2, 3]])
SURFACES = {"closed": ONE, "crossing": TWO, "capped": BOWL, "sheet": SHEET}


class Elsewhere:
    """Fills blocks in reversed order by fillers of their own; records what it is given."""

    def __init__(self):
        self.fillings, self.blocks = [], []

    def __call__(self, filling):
        self.fillings.append(filling)
        filler = _core.Filler(*filling.surface(), 1)
        for index in reversed(range(filling.count)):
            self.blocks.append(filling.block(index))
            filling.put(index, filler.fill(self.blocks[-1], 2))


def field_of(surface, elsewhere, resolution=(21, 18, 25), exact=True, progress=None):
    low, high = surface[0].min(axis=0), surface[0].max(axis=0)
    corners = np.array([low - 0.5, high + 0.5])
    return _core.field_from_surface(
        *surface, resolution, 1.0, corners, None, exact, 0.0, elsewhere, progress, 1
    )


def assert_same(found, expected):
    np.testing.assert_array_equal(found[0].values.view(np.int32), expected[0].values.view(np.int32))
    assert found[1:] == expected[1:]


# (surface, exact, passes): coarse samples and the others in turn; the band of a sheet's first
# distances, those around the offset, is always narrow
PASSES = [
    ("closed", True, 1), ("closed", False, 2), ("crossing", True, 2), ("crossing", False, 4),
    ("capped", True, 2), ("capped", False, 4), ("sheet", True, 3), ("sheet", False, 4),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "exact", "passes"), PASSES)
def test_blocks_have_the_bits_of_the_whole(kind, exact, passes):
    elsewhere = Elsewhere()
    found = field_of(SURFACES[kind], elsewhere, exact=exact)
    assert_same(found, field_of(SURFACES[kind], None, exact=exact))
    assert len(elsewhere.fillings) == passes
    assert elsewhere.fillings[-1].count == 6
    values, coarse = ([block[i] is not None for block in elsewhere.blocks] for i in (-2, -1))
    assert any(values) == (kind != "closed")
    assert any(coarse) == (not exact or kind == "sheet")


@pytest.mark.parametrize("exact", [True, False])
def test_long_rows_are_distributed_across_them(exact):
    whole, elsewhere = box((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)), Elsewhere()
    surface = whole.vertices, whole.triangles
    found = field_of(surface, elsewhere, (2, 40, 4000), exact)
    # 32768 // 4001 = 8 packets, 32 rows of 41
    assert elsewhere.fillings[-1].count == 2
    assert [block[3] for block in elsewhere.blocks[-2:]] == [(3, 9, 4001), (3, 32, 4001)]
    assert_same(found, field_of(surface, None, (2, 40, 4000), exact))


def test_plain_kernels():
    filled = []

    def plainly(filling):
        filler = _core.Filler(*filling.surface(), 1)
        for index in range(filling.count):
            best = filling.block(index)
            assert best[0] in (1, 2)
            filled.append((filler.fill((1, *best[1:]), 1), filler.fill(best, 1)))
            filling.put(index, filled[-1][0])

    field_of(ONE, plainly)
    for plain, best in filled:
        np.testing.assert_allclose(plain, best, rtol=1e-6, atol=1e-12)


def test_a_field_is_made_of_complete_samples_only():
    kept = []
    with pytest.raises(rf.InputError, match="0 of 6 blocks of samples were filled"):
        field_of(ONE, kept.append)
    for call in (kept[0].surface, lambda: kept[0].block(0), lambda: kept[0].put(0, [])):
        with pytest.raises(rf.InputError, match="the field of this Filling is complete"):
            call()

    def twice(filling):
        filler = _core.Filler(*filling.surface(), 1)
        for _ in range(filling.count):
            filling.put(0, filler.fill(filling.block(0), 1))

    with pytest.raises(rf.InputError, match="1 of 6 blocks of samples were filled"):
        field_of(ONE, twice)


def test_a_call_that_ends_while_values_are_converted():
    inside, ended = threading.Event(), threading.Event()

    class Late:
        def __array__(self, dtype=None, copy=None):
            inside.set()
            assert ended.wait(60)
            return np.zeros((4, 19, 26), np.float32)

    with ThreadPoolExecutor(1) as other:
        puts = []

        def elsewhere(filling):
            puts.append(other.submit(filling.put, 0, Late()))
            assert inside.wait(60)

        try:
            with pytest.raises(rf.InputError, match="0 of 6 blocks of samples were filled"):
                field_of(ONE, elsewhere)
        finally:
            ended.set()
        with pytest.raises(rf.InputError, match="the field of this Filling is complete"):
            puts[0].result(60)


def test_elsewhere_is_a_callable():
    with pytest.raises(rf.InputTypeError, match="elsewhere must be a callable or None, got int"):
        field_of(ONE, 3)


def test_wrong_blocks_are_refused():
    with pytest.raises(rf.InputTypeError, match="a Filling is made by field_from_surface only"):
        _core.Filling()
    kept = []

    def wrongly(filling):
        kept.append(filling.block(0))
        for index in (-1, 6):
            with pytest.raises(IndexError, match=f"between 0 and 5, got {index}"):
                filling.block(index)
        with pytest.raises(rf.InputError, match="values must have shape"):
            filling.put(0, np.zeros((4, 4, 4), np.float32))
        raise rf.InputError("enough")

    with pytest.raises(rf.InputError, match="enough"):
        field_of(ONE, wrongly)
    filler, (simd, rule, start, n, origin, spacing, *rest) = _core.Filler(*ONE, 1), kept[0]
    for wrong in (
        (simd, 5, start, n, origin, spacing, *rest),
        (simd, rule, (2, 0), n, origin, spacing, *rest),
        (simd, rule, start, (4, 0, 26), origin, spacing, *rest),
        (simd, rule, start, (1, 70_000, 70_000), origin, spacing, *rest),
        (simd, rule, start, n, (np.nan, 0.0, 0.0), spacing, *rest),
        (simd, rule, start, n, origin, (0.1, 0.0, 0.1), *rest),
    ):
        with pytest.raises(rf.InputError, match="its numbers are out of range"):
            filler.fill(wrong, 1)
    with pytest.raises(rf.InputError, match="simd"):
        filler.fill((9, *kept[0][1:]), 1)
    with pytest.raises(rf.InputTypeError, match=r"block must be a tuple of Filling\.block"):
        filler.fill(3, 1)
    with pytest.raises(rf.InputError, match="coarse must have shape"):
        filler.fill((*kept[0][:-1], np.zeros((2, 2, 2), np.float32)), 1)
    with pytest.raises((rf.InputError, rf.InputTypeError), match="values must"):
        filler.fill((simd, 2, start, n, origin, spacing, *rest), 1)


def test_a_stop_reaches_the_caller():
    class Stop(Exception):
        pass

    def stop(done, total):
        raise Stop

    elsewhere = Elsewhere()
    with pytest.raises(Stop):
        field_of(SURFACES["capped"], elsewhere, (60, 60, 60), progress=stop)


def test_running_out_of_memory():
    before = live_blocks()
    fail_each_allocation(lambda: field_of(BOWL, Elsewhere(), (5, 5, 5), False))
    check_live_blocks(before)
