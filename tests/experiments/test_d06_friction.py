"""Friction after Duriez et al. 2006: experiments/d06_methods.py and d06_delassus.py."""

from __future__ import annotations

import d06_delassus
import d06_methods
import d06_snap_in
import friction_problems
import numpy as np
import pytest

import experiments


@pytest.fixture(scope="module")
def table():
    return friction_problems.table(12, "held")


def test_the_coefficient_decides_what_slips(table):
    rows = d06_methods.coefficients(table)
    slipping = [row[1] for row in rows]
    assert slipping == sorted(slipping, reverse=True)
    assert slipping[0] == 1.0
    assert slipping[-1] < 0.5
    ratio = [row[2] for row in rows]
    assert ratio[0] < ratio[1] < ratio[2]  # while all contacts slip


def test_pyramids_need_many_sides(table):
    errors, failed = d06_methods.pyramid_errors(table, 3)
    assert failed == 0
    assert errors[0] > 3.0
    assert errors[-1] < 0.4 * errors[0]


def test_times_are_those_of_solved_problems():
    one = d06_methods.times(5, 3)
    assert one.m == 5
    assert one.failed == 0
    assert min(one.newton, one.sweeps, one.pyramid) > 0.0


def test_braces_couple_the_legs():
    loose, braced = (
        d06_delassus.couplings(friction_problems.table(8, "held", braces=braces).W)
        for braces in (False, True)
    )
    np.testing.assert_allclose(loose, loose.T, rtol=1e-9)
    own, other = d06_delassus.between_legs(loose)
    assert 0.5 < own < 1.0
    assert other < 0.02
    assert d06_delassus.between_legs(braced)[1] > 10.0 * other


def test_forces_at_rest_are_unique_with_a_compliance_of_the_sites():
    forces, moved = d06_delassus.spread(0.0)
    assert forces > 0.1
    assert moved < 1e-6
    forces, moved = d06_delassus.spread(1e-2)
    assert max(forces, moved) < 1e-6


@pytest.mark.parametrize("mu", d06_snap_in.COEFFICIENTS)
def test_a_clip_of_beams_snaps_in_as_the_closed_form_says(mu):
    inward = np.linspace(d06_snap_in.BEGIN, -0.8 * d06_snap_in.BEGIN, 120)
    both = np.concatenate([inward, inward[::-1]])
    found = d06_snap_in.snap(d06_snap_in.beam, mu, both, 0.0)
    size = d06_snap_in.closed_form(inward, mu).max()
    np.testing.assert_allclose(found[:120], d06_snap_in.closed_form(inward, mu), atol=2e-4 * size)
    # after the turn it sticks for a few steps, then slips back
    np.testing.assert_allclose(
        found[130:], d06_snap_in.closed_form(both[130:], -mu), atol=2e-4 * size
    )
    soft = d06_snap_in.snap(d06_snap_in.beam, mu, inward, d06_snap_in.PIPE).max()
    assert 0.9 * size < soft < size


def test_a_clip_of_hexahedra_is_nearly_one_of_beams():
    inward = np.linspace(d06_snap_in.BEGIN, 0.0, 15)
    coarse = d06_snap_in.snap(lambda: d06_snap_in.hexahedra(8, 2), 0.2, inward, 0.0)
    exact = d06_snap_in.closed_form(inward, 0.2)
    np.testing.assert_allclose(coarse, exact, atol=0.1 * exact.max())


@pytest.mark.parametrize("name", ["d06_delassus", "d06_methods", "d06_snap_in"])
def test_scripts_print_tables_and_draw(name, monkeypatch, capsys, tmp_path):
    experiments.light_plots(monkeypatch)
    monkeypatch.setattr(d06_methods, "CONTACTS", (5, 8))
    monkeypatch.setattr(d06_snap_in, "STEPS", 40)
    monkeypatch.setattr(d06_snap_in, "hexahedra", d06_snap_in.beam)
    options = ("--count", "2") if name == "d06_methods" else ()
    experiments.check_plot(name, monkeypatch, capsys, tmp_path / "new", *options)
