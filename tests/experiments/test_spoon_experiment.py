"""Accuracy of reduced motion: the spoon of experiments/spoon_experiment.py, coarsely cut.

After Barbic 2007, section 2.13.1. There, at r = 12 and with derivatives of k = 6 modes:
nearly the same amplitude and a frequency 4.6 % off; with a basis from the full motion the
curves lie on top of each other; with one from a sketch the frequency is 10.1 % off; a basis
of linear modes locks. The bounds below leave
room for another voxelisation, not for another behaviour.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest
import spoon_experiment
from spoon_experiment import DERIVATIVES, FULL_MOTION, LINEAR, SKETCH, UNREDUCED, Motion


@pytest.fixture(scope="module")
def experiment():
    result = spoon_experiment.run(resolution=40, r=12, k=6, periods=2.5)
    print("\n" + result.table())
    return result


def test_the_motion_is_far_from_linear(experiment):
    full = experiment.motions[UNREDUCED]
    assert full.amplitude > 0.4 * experiment.length
    assert set(experiment.motions) == {UNREDUCED, DERIVATIVES, SKETCH, FULL_MOTION, LINEAR}
    assert all(len(basis) == 12 for basis in experiment.bases.values())


def test_modal_derivatives(experiment):
    found = experiment.compare(DERIVATIVES)
    assert abs(found.amplitude_error) < 0.08  # -4 % measured
    assert abs(found.frequency_error) < 0.046  # the paper's; 0.4 % measured
    assert found.path_error < 0.15  # 7 % measured


def test_basis_from_a_sketch(experiment):
    # drawn with less than the impulse does: it is not the motion itself that it was made of
    assert 0.3 * experiment.length < experiment.largest
    assert experiment.largest < 0.9 * experiment.motions[UNREDUCED].amplitude
    found = experiment.compare(SKETCH)
    assert abs(found.amplitude_error) < 0.08  # -1.2 % measured
    assert abs(found.frequency_error) < 0.046  # half the paper's; 0.4 % measured
    assert found.path_error < 0.12  # 4.2 % measured
    # the motion itself is the better teacher
    assert found.path_error > 3 * experiment.compare(FULL_MOTION).path_error


def test_basis_from_the_full_motion(experiment):
    found = experiment.compare(FULL_MOTION)
    # on top of each other: 0.04 %, 0.01 % and 0.1 % measured
    assert abs(found.amplitude_error) < 0.005
    assert abs(found.frequency_error) < 0.005
    assert found.path_error < 0.01


def test_linear_modes_lock(experiment):
    found = experiment.compare(LINEAR)
    # bending without derivatives stretches the spoon: a fraction of the amplitude, several
    # times the frequency
    assert found.amplitude_error < -0.5
    assert found.frequency_error > 1.0
    assert found.path_error > 0.8


def test_reduced_steps_are_much_faster(experiment):
    """They are some thousand times faster; benchmarks give exact ratios."""
    motions = experiment.motions
    assert motions[DERIVATIVES].seconds < 0.02 * motions[UNREDUCED].seconds


def test_measures_of_a_known_motion():
    """Amplitude and frequency of a damped sine that is sampled off its zeros."""
    times = 0.013 * np.arange(400)
    height = 0.3 * np.exp(-0.1 * times) * np.sin(2 * np.pi * 1.7 * times)
    motion = Motion(height, 0.013, 0.0)
    # the highest and lowest sample; passages by straight lines between samples
    assert motion.amplitude == pytest.approx(0.3, rel=0.05)
    assert motion.frequency == pytest.approx(1.7, rel=1e-3)
    # ripples near rest are no vibration of the tip
    rippled = Motion(height + 0.01 * np.sin(2 * np.pi * 30 * times), 0.013, 0.0)
    assert rippled.frequency == pytest.approx(1.7, rel=0.02)
    with pytest.raises(ValueError, match="simulate longer"):
        _ = Motion(height[:20], 0.013, 0.0).frequency


def test_plot_and_command_line(experiment, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "new" / "pictures"
    monkeypatch.setattr(spoon_experiment, "run", lambda *args, **kwargs: experiment)
    monkeypatch.setattr(sys, "argv", ["spoon_experiment.py", "--out", str(folder)])
    assert spoon_experiment.main() == 0
    picture = folder / "spoon_experiment.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    text = capsys.readouterr().out
    assert f"plot: {picture}" in text
    lines = {line[:20].strip(): line for line in text.splitlines()}
    for name in (DERIVATIVES, SKETCH, FULL_MOTION, LINEAR):
        assert f"{experiment.compare(name).path_error:.1%}" in lines[name]
    # values of the paper stand beside those measured here
    assert "-4.6 %" in lines[DERIVATIVES]
    assert "-10.1 %" in lines[SKETCH]
    assert "peak memory" in text


def test_mistakes_are_reported_without_a_traceback(monkeypatch, capsys, tmp_path):
    out = ["--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["spoon_experiment.py", "--resolution", "0", *out])
    assert spoon_experiment.main() == 1
    assert "resolution must be" in capsys.readouterr().err
    taken = tmp_path / "file"
    taken.write_text("")
    argv = ["spoon_experiment.py", "--resolution", "16", "--periods", "1.5", "--out", str(taken)]
    monkeypatch.setattr(sys, "argv", argv)
    # before the long work
    monkeypatch.setattr(spoon_experiment, "run", lambda *args, **kwargs: pytest.fail("simulated"))
    assert spoon_experiment.main() == 1
    assert str(taken) in capsys.readouterr().err
