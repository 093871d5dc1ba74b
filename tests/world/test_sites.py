"""The choice of sites of a step, by the C functions alone."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import ckernels
from places import ROOT

MOST, SLOTS = 256, 1024
BONUS, OUTER, LEAST = 0.1, 0.1, 1e-3


class Site(ctypes.Structure):
    _fields_ = (
        ("pair", ctypes.c_int32), ("place", ctypes.c_int32), ("axis", ctypes.c_int32),
        ("bore", ctypes.c_bool), ("bent", ctypes.c_bool), ("rest", ctypes.c_double * 3),
        ("out", ctypes.c_double), ("gap", ctypes.c_double),
    )  # fmt: skip


class Sites(ctypes.Structure):
    _fields_ = (
        ("most", ctypes.c_int32), ("n", ctypes.c_int32), ("coarsened", ctypes.c_int32),
        ("spacing", ctypes.c_double), ("least_spacing", ctypes.c_double), ("fine", ctypes.c_bool),
        ("site", Site * MOST),
        ("cell", ctypes.c_uint64 * MOST), ("slot", ctypes.c_int32 * SLOTS),
    )  # fmt: skip


@pytest.fixture(scope="module")
def sites_of(tmp_path_factory):
    lib = ckernels.build(
        "sites", [ROOT / "csrc/world/sites_rt.c"], tmp_path_factory.mktemp("sites")
    )

    def choose(points, most, spacing, fine=False):
        """Return the sites of a step that begins with a spacing."""
        sites = Sites()
        lib.rf_sites_reset_rt(ctypes.byref(sites), most, ctypes.c_double(LEAST))
        lib.rf_sites_begin_rt(ctypes.byref(sites))
        sites.spacing, sites.fine = spacing, fine
        for point in points:
            lib.rf_sites_offer_rt(ctypes.byref(sites), ctypes.byref(point))
        return sites

    return choose


def points_of(rng, n, pairs, bent=False):
    return [
        Site(
            int(rng.integers(pairs)),
            place,
            int(rng.integers(6)),
            bool(rng.integers(2)),
            bent,
            tuple(rng.uniform(-1.0, 1.0, 3)),
            rng.uniform(),
            rng.normal(0.0, LEAST),
        )
        for place in range(n)
    ]


def score(point):
    return point.gap - LEAST * (BONUS * point.bore + OUTER * point.out), point.place


def cell(point, spacing):
    return point.pair, point.axis, *np.floor(np.array(point.rest) / spacing)


def assert_consistent(sites):
    """Each cell has one site, and the table finds it."""
    chosen = sites.site[: sites.n]
    assert len({cell(one, sites.spacing) for one in chosen}) == sites.n
    assert len(set(sites.cell[: sites.n])) == sites.n
    assert sorted(number for number in sites.slot if number) == list(range(1, sites.n + 1))
    for number, code in enumerate(sites.cell[: sites.n], 1):
        at = (code * 0x9E3779B97F4A7C15 & (2**64 - 1)) >> 54
        while sites.slot[at] != number:
            assert sites.slot[at], "not found from its place on"
            at = (at + 1) % SLOTS


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("most", [1, 4, 36, 64])
def test_the_best_cells_have_their_best_points(sites_of, most, seed):
    """More pairs and directions than sites: those that are replaced are the worst."""
    points = points_of(np.random.default_rng(seed), 800, 4)
    widest = 1e6 * LEAST
    sites = sites_of(points, most, widest)
    assert_consistent(sites)
    best = {}
    for one in sorted(points, key=score):
        best.setdefault(cell(one, widest), one)
    expected = sorted(best.values(), key=score)[:most]
    assert {one.place for one in sites.site[: sites.n]} == {one.place for one in expected}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("most", [4, 64])
def test_cells_grow_until_the_sites_suffice(sites_of, most, seed):
    points = points_of(np.random.default_rng(seed), 800, 1)
    sites = sites_of(points, most, LEAST)
    assert_consistent(sites)
    assert sites.spacing > 0.1
    assert sites.n <= most
    assert min(points, key=score).place in {one.place for one in sites.site[: sites.n]}


@pytest.mark.parametrize("seed", range(5))
def test_cells_of_bent_shells_stay_fine_where_there_are_sites(sites_of, seed):
    """All points of the bent shell are sites, however many others there are."""
    rng = np.random.default_rng(seed)
    bent = points_of(rng, 30, 1, bent=True)
    plain = points_of(rng, 800, 1)
    for one in plain:
        one.pair, one.place, one.axis = 1, one.place + 1000, 0  # eight wide cells
    sites = sites_of([*plain, *bent], 64, LEAST, fine=True)
    chosen = {one.place for one in sites.site[: sites.n]}
    assert sites.n <= 64
    assert {one.place for one in bent} <= chosen
    assert len(chosen) > len(bent)
