"""LU factorizations after Zhuang 2000, table 4.2: experiments/z00_table_4_2.py."""

from __future__ import annotations

import z00_table_4_2

import experiments


def test_the_tables_and_what_the_thesis_says_of_them():
    lines = z00_table_4_2.sayings()
    assert [line.rsplit(": ")[-1] for line in lines] == [
        "14 in table 4.1",
        "in 17 in table 4.2",
        "40 to 74 % from the fifth box on",
        "242535 in table 4.1 and here, 1.52 %",
    ]
    assert len(z00_table_4_2.SECONDS) == len(z00_table_4_2.BOXES)


def test_the_script_prints_and_draws(monkeypatch, capsys, tmp_path):
    experiments.light_plots(monkeypatch)
    monkeypatch.setattr(z00_table_4_2, "RUNS", 1)
    experiments.check_plot("z00_table_4_2", monkeypatch, capsys, tmp_path / "new", "--quick")
    boxes = dict(list(z00_table_4_2.BOXES.items())[:1])
    monkeypatch.setattr(z00_table_4_2, "BOXES", boxes)
    monkeypatch.setattr(z00_table_4_2, "sayings", list)
    monkeypatch.setattr(z00_table_4_2, "FIRST", 0)
    monkeypatch.setattr(z00_table_4_2, "factor", lambda *_: (1, 1.0))
    assert experiments.start("z00_table_4_2", monkeypatch, "--quick", "--out", tmp_path) == 1
    said = capsys.readouterr().err
    assert "mark missed: 4 x 4 x 4: the random order has fill 1" in said
    assert "mark missed: 4 x 4 x 4, nested: fill 1, predicted " in said
