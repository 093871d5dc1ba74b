"""Rows of benchmarks/bench_haptics.py, short and small."""

from __future__ import annotations

from functools import partial

import bench_haptics as bench
import numpy as np

from reducedfem import scenes


def test_every_scene_has_rows():
    assert [name for name in bench.ENTRIES if name.startswith("scene ")] == [
        f"scene {name}" for name in scenes.STORIES
    ]


def test_rows_of_a_scene(monkeypatch):
    small = partial(scenes.session, points=2_000, resolution=32)
    monkeypatch.setattr(scenes, "session", small)
    monkeypatch.setattr(bench, "SCENE_SECONDS", 0.5)
    rows = bench.scene_rows("alpha")
    assert [(row.what, row.mark) for row in rows[:3]] == [
        ("scene alpha, p99.9", 500.0),
        ("longest cycle, scene alpha", 1000.0),
        ("cycles longer than a period, scene alpha", 0.0),
    ]
    assert rows[0].value <= rows[1].value
    assert "2000 points" in rows[0].note
    assert "built in" in rows[0].note
    assert rows[3].what == "penetration, scene alpha"
    assert np.isclose(rows[3].mark, 2.0)  # mm, twice the depth of the saturation
    assert rows[3].verdict == "ok"


def test_free_directions_resist_nothing_in_their_benchmark():
    (row,) = bench.degenerate_rows(0.5)
    assert row.mark == 5.0
    assert row.value > 0.0
    assert " 3 in " in row.note


def test_rows_of_snapshots():
    rows = bench.snapshot_rows(bench.rf.PointTree(bench.sphere([64, 256])), 0.5)
    assert [row.mark for row in rows] == [20.0, 500.0, None, 500.0, None, 500.0]
    assert [row.what for row in rows[::2]] == [
        "a snapshot from Python",
        "a snapshot from Python while Python spins",
        "a snapshot from Python while it collects garbage",
    ]
    assert all(row.over == "cycles alone" for row in rows[1::2])


def test_row_of_a_shell_that_is_all_in_contact():
    (row,) = bench.buried_rows(bench.rf.PointTree(bench.sphere([64, 256])), None, 0.5)
    assert row.mark == 500.0
    assert row.value > 0.0
    assert "longer than the budget; levels" in row.note
