"""The table of ``make bench``: its rows, its text, and the memory it tells of."""

from __future__ import annotations

import gc
import importlib
import mmap
import sys

import child
import numpy as np
import pytest
import run
from table import HEAD, Memory, Row, show

from places import ROOT

MB = 1_000_000


def test_a_time_comes_with_a_ratio():
    """The rule of the table: no speed without something measured beside it."""
    with pytest.raises(ValueError, match="a step: a time needs a ratio"):
        Row("a step", 3.0, "us", 10.0)
    with pytest.raises(ValueError, match="needs the name"):
        Row("a step", 3.0, "us", ratio=2.0)
    with pytest.raises(ValueError, match="needs the name"):
        Row("a count", 3.0, "", over="something")
    assert Row("a count", 3.0, "").verdict == ""


@pytest.mark.parametrize(
    ("mark", "ratio_mark", "verdict"),
    [
        (None, None, ""),
        (3.0, None, "ok"),
        (2.9, None, "OVER"),
        (None, 0.5, "ok"),
        (None, 0.4, "OVER"),
        (4.0, 0.4, "OVER"),
        (4.0, 0.5, "ok"),
    ],
)
def test_verdict(mark, ratio_mark, verdict):
    row = Row("a step", 3.0, "us", mark, ratio=0.5, over="dsymv", ratio_mark=ratio_mark)
    assert row.verdict == verdict


def test_values_that_are_not_finite_exceed_the_limit():
    assert Row("a step", float("nan"), "us", 1.0, ratio=1.0, over="dsymv").verdict == "OVER"


def test_show_is_one_table():
    own = Memory(90 * MB, 60 * MB)
    shared = Memory(800 * MB, 50 * MB)
    sections = [
        ("one", [Row("short", 1.5, "us", 2.0, "a note", 0.5, "dsymv", memory=own)]),
        (
            "another",
            [
                Row("a longer name", 1234.5, "ms", ratio=2.0, over="x", memory=shared),
                Row("the next", 0.001, "s", ratio=2.0, over="x").with_memory(shared),
            ],
        ),
    ]
    lines = show(sections).split("\n")
    assert len(lines) == 1 + 2 + 3
    assert lines[0].split() == " ".join(HEAD).split()
    assert lines[1].startswith("-- one ---")
    assert lines[2].split() == "short 1.5 us 2 0.5 dsymv ok 90 +30 a note".split()
    assert lines[4].split() == "a longer name 1234 ms 2 x 800 +750".split()
    # memory of the same process is shown once
    assert lines[5].split() == "the next 0.001 s 2 x".split()
    # columns begin, or end, at one place
    assert lines[2].index("dsymv") == lines[0].index("to  ")
    assert lines[2].index("us") == lines[4].index("ms") == lines[0].index("unit")


def test_a_row_keeps_memory_of_its_own():
    own, other = Memory(2, 1), Memory(20, 10)
    assert Row("x", 1.0, "", memory=own).with_memory(other).memory is own
    assert Row("x", 1.0, "").with_memory(other).memory is other


def test_peak_of_some_work():
    """An array that is filled and freed shows in the peak, not in the memory before."""

    def work() -> float:
        # pages of its own: the heap may still hold as many that were in use before
        with mmap.mmap(-1, 100 * MB) as pages:
            array = np.frombuffer(pages)
            array[:] = 1.0
            total = float(array.sum())
            del array
        return total

    gc.collect()  # objects freed meanwhile would be missing in the peak
    result, seconds, memory = child.measured(work)
    assert result == 100 * MB / 8
    assert seconds > 0.0
    # without a reset the peak is that of the process so far, which is not less
    assert memory.peak - memory.before > 95 * MB
    assert child.peak() >= child.resident()


FAKE = """
import numpy as np
from table import Row

def large():
    return [Row("large", float(np.ones(200_000_000 // 8).sum()), ""), Row("too", 1.0, "")]

def small():
    return [Row("small", 2.0, "")]

def broken():
    raise ValueError("as it should")

ENTRIES = {"large": large, "small": small, "broken": broken}
"""


def test_each_entry_has_a_process_of_its_own(tmp_path, monkeypatch, capfd):
    (tmp_path / "bench_fake.py").write_text(FAKE)
    monkeypatch.syspath_prepend(tmp_path)
    first, second = child.rows_of("bench_fake", "large")
    (small,) = child.rows_of("bench_fake", "small")
    assert first.value == 200 * MB / 8
    assert first.memory == second.memory
    assert first.memory.peak - first.memory.before > 190 * MB
    # not the peak of the one before, nor that of this process, which is larger by its tests
    assert small.memory.peak < first.memory.peak - 150 * MB
    with pytest.raises(RuntimeError, match="bench_fake, broken: failed with exit status 1"):
        child.rows_of("bench_fake", "broken")
    assert "as it should" in capfd.readouterr().err


def test_every_benchmark_is_in_the_table():
    pytest.importorskip("scipy")
    assert set(run.NAMES) == {path.stem[6:] for path in (ROOT / "benchmarks").glob("bench_*.py")}
    for name in run.NAMES:
        entries = importlib.import_module(f"bench_{name}").ENTRIES
        assert entries
        assert all(callable(entry) for entry in entries.values())


def test_a_failing_benchmark_does_not_stop_the_others(tmp_path, monkeypatch, capfd):
    (tmp_path / "bench_fake.py").write_text(FAKE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(run, "NAMES", ("fake",))
    monkeypatch.setattr(run, "machine", lambda: "this machine")
    monkeypatch.setattr(sys, "argv", ["run.py"])
    assert run.main() == 1
    out, err = capfd.readouterr()
    lines = out.split("\n")
    assert lines[0] == "this machine"
    assert [line.split()[0] for line in lines[4:7]] == ["large", "too", "small"]
    assert lines[-2].endswith("; all marks met; 1 could not be measured")
    assert err.endswith("bench_fake, broken: failed with exit status 1\n")
