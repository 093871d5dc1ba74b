"""Elements in real time after Zhuang 2000: experiments/z00_real_time.py."""

from __future__ import annotations

import pytest
import z00_real_time

import experiments
import reducedfem as rf

pytestmark = pytest.mark.no_asan(reason="steps of solids run in tests/dynamics")


def test_the_number_of_elements_is_interpolated():
    assert z00_real_time.real_time([(10, 4.0), (100, 0.25)]) == pytest.approx(10**1.5)
    assert z00_real_time.real_time([(10, 4.0), (100, 2.0)]) == float("inf")
    assert z00_real_time.real_time([(10, 0.5), (100, 0.25)]) == 0.0


def test_a_graded_mesh_is_near_the_uniform_one():
    elements, off = z00_real_time.errors(10)
    assert elements == 811  # of 10^3 cubes, the inner 6^3 are merged by eight
    assert abs(off["one face"]) < 0.03
    assert abs(off["gravity"]) < 0.02


def test_the_script_prints_and_draws(monkeypatch, capsys, tmp_path):
    experiments.light_plots(monkeypatch)
    threads = rf.threads()
    monkeypatch.setattr(z00_real_time, "CELLS", dict.fromkeys(z00_real_time.CELLS, (2, 4, 30)))
    monkeypatch.setattr(z00_real_time, "RUNS", 1)
    monkeypatch.setattr(z00_real_time, "STEPS", 2)
    monkeypatch.setattr(z00_real_time, "COMPARED", 4)
    options = ("--finest", "4", "--out", tmp_path / "new")
    # sixty-four elements are not six hundred
    assert experiments.start("z00_real_time", monkeypatch, *options) == 1
    printed = capsys.readouterr()
    assert "mark missed: explicit steps of 600 elements are not real time" in printed.err
    assert (tmp_path / "new" / "z00_real_time.png").read_bytes().startswith(b"\x89PNG")
    assert rf.threads() == threads
