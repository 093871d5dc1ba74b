"""Minutes of a scene: benchmarks/haptics_soak.py, for seconds and small."""

from __future__ import annotations

import dataclasses
import sys

import haptics_soak as soak
import numpy as np
import pytest

import experiments
from reducedfem.scenes import shapes


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """Return what was seen of a small scene in a second."""
    folder = tmp_path_factory.mktemp("soak")
    found = soak.soak("alpha", 1.0, folder, every=0.1, points=2_000, resolution=32)
    assert [path.name for path in folder.iterdir()] == ["alpha.npy"]
    return found


def test_all_cycles_are_recorded_and_watched(seen):
    assert seen.report.phase == "finished"
    assert len(seen.records) == seen.report.ticks > 10
    assert np.all(np.diff(seen.records["tick"].astype(int)) > 0)
    looks = len(seen.seconds)
    assert looks >= 1
    assert len(seen.resident) == len(seen.blocks) == len(seen.files) == len(seen.snapshots) == looks
    assert min(seen.resident) > 1e6
    assert min(seen.blocks) > 10
    assert min(seen.files) >= 3
    # garbage of other tests may go meanwhile
    assert seen.grown(seen.blocks) <= 0
    assert seen.grown(seen.files) <= 0


def test_the_numbers_are_printed(seen):
    text = "\n".join(seen.lines())
    assert f"{seen.report.ticks} cycles at 1000 Hz: {seen.report.over} longer" in text
    longest = f"{seen.records['compute_us'].max():.1f}"
    (computing,) = (line for line in text.split("\n") if line.startswith("computing"))
    assert computing.split()[-1] == longest
    assert text.count("quarter") == 4
    assert "resident memory" in text


def test_every_fault_is_found(seen):
    report = dataclasses.replace(seen.report, over=0, unrecorded=0, interrupted=0)
    t = np.arange(1.0, 31.0)
    rest = {
        "seconds": t.tolist(), "resident": [10_000_000] * 30, "blocks": [7] * 30,
        "files": [8] * 30,
    }  # fmt: skip
    right = dataclasses.replace(seen, report=report, **rest)
    assert right.faults() == []
    # long cycles of the warm-up are no drift
    early = [2_000_000 if at < 5.0 else 10_000_000 for at in t]
    assert dataclasses.replace(right, resident=early).faults() == []
    for change, fault in (
        ({"report": dataclasses.replace(report, over=2)}, "2 cycles longer than a period"),
        (
            {"report": dataclasses.replace(report, over=2, interrupted=1)},
            "2 cycles longer than a period, 1 of them paused by the machine",
        ),
        ({"report": dataclasses.replace(report, unrecorded=3)}, "3 cycles not recorded"),
        ({"report": dataclasses.replace(report, phase="failed", failure="as it should")},
         "the session failed: as it should"),
        ({"records": seen.records[1:]},
         f"{report.ticks - 1} records of {report.ticks} cycles"),
        ({"resident": (10_000_000 + 1e5 * t).tolist()}, "resident memory grew by 2.00 MB"),
        ({"blocks": [7] * 29 + [9]}, "2 blocks of memory more"),
        ({"files": [8] * 29 + [9]}, "1 open files more"),
    ):  # fmt: skip
        assert dataclasses.replace(right, **change).faults() == [fault]


@pytest.mark.parametrize("seconds", [4.0, 10.0, 35.0])
def test_the_hand_moves_forwards_and_backwards(seconds):
    keys = [(0, 0, 0, 0, 0, 0), (0.1, 0, 0.2, 0.3, 0, 0), (0.1, 0.1, 0, 0, 0, 0)]
    t, position, quaternion = shapes.through(keys, 10.0)
    with soak.to_and_fro(seconds):
        times, positions, quaternions = shapes.through(keys, 10.0)
    assert len(times) == len(positions) == len(quaternions)
    assert seconds <= times[-1] < seconds + 0.01
    assert np.allclose(np.diff(times), t[1], rtol=1e-9)
    for once, again in ((position, positions), (quaternion, quaternions)):
        n = min(len(again), 10_001)
        assert np.array_equal(again[:n], once[:n])
        back = again[10_000:20_001]
        assert np.array_equal(back, once[::-1][: len(back)])
        assert np.array_equal(again[20_000:30_001], once[: max(len(again) - 20_000, 0)])
    # and the scenes have theirs back
    assert len(shapes.through(keys, 1.0)[0]) == 1001


@pytest.mark.parametrize("over", [0, 1])
def test_command_line(seen, over, monkeypatch, capsys):
    def run(scene, seconds, folder):
        assert (scene, seconds) == ("peg", 5.0)
        report = dataclasses.replace(seen.report, over=over, unrecorded=0)
        return dataclasses.replace(seen, report=report, resident=[1] * len(seen.resident))

    monkeypatch.setattr(soak, "soak", run)
    options = ("--scene", "peg", "--seconds", "5")
    assert experiments.start("haptics_soak", monkeypatch, *options) == over
    assert ("NOT RIGHT: 1 cycles longer than a period" in capsys.readouterr().out) == bool(over)


def test_wrong_times_are_refused(monkeypatch, capsys):
    for seconds in ("1", "nan", "1e6"):
        monkeypatch.setattr(sys, "argv", ["haptics_soak.py", "--seconds", seconds])
        with pytest.raises(SystemExit):
            soak.main()
        assert "--seconds must be between 3 and 100000" in capsys.readouterr().err
