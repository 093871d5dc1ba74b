"""Contact after table 3.1 of the thesis: experiments/b07_table_3_1.py, small.

Times are printed, not asserted.
"""

from __future__ import annotations

import sys

import b07_table_3_1 as table
import contact_scenes as scenes
import numpy as np
import pytest

import reducedfem as rf

SIZE = table.Size(1 / 100, 1 / 8, 8, 100)


def test_points_of_a_bumpy_ball():
    """On its surface, with normals against differences of the implicit function."""
    counts = table.level_counts(3000, 3)
    assert counts == [188, 562, 2250]
    shell = table.bumpy_shell(0.1, 20, 0.01, counts)
    np.testing.assert_array_equal(shell.level_counts, counts)

    def outside(x):
        distance = np.linalg.norm(x, axis=1)
        return distance - scenes.bumpy_radius(x / distance[:, None], 0.1, 20, 0.01)

    assert np.abs(outside(shell.points)).max() < 1e-15
    step = 1e-6
    slope = [outside(shell.points + step * e) - outside(shell.points - step * e) for e in np.eye(3)]
    expected = -np.array(slope).T
    expected /= np.linalg.norm(expected, axis=1)[:, None]
    np.testing.assert_allclose(shell.normals, expected, atol=1e-8)


@pytest.fixture(scope="module")
def measured():
    return [(case, table.measure(case, SIZE.frames)) for case in table.cases(SIZE)]


def test_rows_have_the_columns_of_the_thesis(measured):
    assert [case.name for case, _ in measured] == list(table.PUBLISHED)
    for (case, row), published in zip(measured, table.PUBLISHED.values(), strict=True):
        text = table.line(case.name, row)
        print(text)
        assert row.levels == published.levels
        assert row.points == round(published.points / 100)
        assert row.resolution == published.resolution // 8
        assert (row.stvk == 0.0) == (published.stvk == 0.0)
        # pressed to touch at the keys, and about as much in between
        assert 0.3 * case.wanted <= row.touching <= 3.0 * case.wanted
        assert row.level == row.levels
        assert row.every < 2 * row.points
        assert row.treeless > row.p50 > 0.0
        assert row.p99 >= row.p50
    # with coherence fewer nodes are traversed; there is none against a deformed field
    for _, row in measured[:3]:
        assert row.coherent < row.every
    assert measured[3][1].coherent is None


def test_keys_are_pressed_as_wanted(measured):
    case = measured[1][0]
    solid = case.tree.reduced
    way = table.path(case, 8 * 20 + 1)
    contact = rf.PenaltyContact(case.tree, case.field, 1.0, 10**9)
    # a tremor moves them a little
    touching = []
    for k in range(table.KEYS):
        position, turned, q, _ = way.cycle(20 * k)
        most = np.linalg.norm(solid.displacement(q), axis=1).max()
        assert most == pytest.approx(0.02 * np.ptp(solid.mesh.nodes, axis=0).max())
        touching.append(contact.evaluate(position, turned, q).touching)
    assert 0.5 * case.wanted <= np.median(touching) <= 2.0 * case.wanted


def test_command_line(monkeypatch, capsys):
    row = table.Row(6, 10, 20, 5.0, 7.0, 3.0, 6, 1.0, 2.0, 3.0, 8.0)
    monkeypatch.setattr(table, "measure", lambda case, frames: row)
    monkeypatch.setattr(
        table, "cases", lambda size: (table.Case(name, *[None] * 6) for name in table.PUBLISHED)
    )
    monkeypatch.setattr(sys, "argv", ["b07_table_3_1.py", "--small"])
    assert table.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + 8 + 1
    assert lines[2].split()[-10:] == ["5", "7", "3", "6", "1", "2", "3", "3", "8", "4"]
    # as published: 780 us in all, all points 103 times as long
    assert lines[3].split()[-5:] == ["780", "-", "780", "80000", "103"]

    def fail(case, frames):
        raise rf.InputError("no")

    monkeypatch.setattr(table, "measure", fail)
    assert table.main() == 1
    assert capsys.readouterr().err == "b07_table_3_1.py: no\n"
