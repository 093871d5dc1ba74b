"""Object and shell in one solve: experiments/b07_4_2_coupled.py, small."""

from __future__ import annotations

import b07_4_2_coupled as coupled
import numpy as np
import pytest

import experiments

NAME = "b07_4_2_coupled"


@pytest.fixture(scope="module")
def pressed():
    found = coupled.run(8, (250.0, 1000.0), (1e2, 1e3, 1e4, 1e5), (8,), 2)
    print("\n" + found.table())
    return found


def test_coupled_contacts_are_stable_beyond_the_limit_of_split_ones(pressed):
    split, together = pressed.limits()[:2]
    # 1 and 10 kN/m split, 100 and 10 kN/m coupled
    assert split[0] < split[1]
    assert together[0] > split[0]
    assert together[1] >= split[1]
    # 200 % and 0.01 %, 10 kN/m at 250 Hz
    assert pressed.swing[0, 0, 2] > 0.5
    assert pressed.swing[1, 0, 2] < 0.005


def test_dynamic_couplings_are_stable_for_less_stiffness_than_coupled_solves(pressed):
    """This holds for any number of steps of the dynamic coupling."""
    limits = pressed.limits()
    assert (limits[1] >= limits[2:]).all()
    assert (limits[1, 0] > limits[2:, 0]).all()
    # a mass makes no force at rest
    for _, _, force in pressed.traces[coupled.N + 2 :]:
        assert force[-1] == pytest.approx(pressed.traces[coupled.N + 1][2][-1], rel=1e-3)


def test_both_come_to_the_same_force(pressed):
    """Both solves are stable in the contact of 1 kN/m at 1 kHz."""
    (_, _, split), (_, _, together) = pressed.traces[coupled.N : coupled.N + 2]
    assert split[-1] == pytest.approx(together[-1], rel=1e-3)
    assert split[-1] == pytest.approx(pressed.rest, rel=0.2)


def test_coupled_forces_are_nearer_to_the_truth(pressed):
    """Both are of first order in the period; static damping brakes split cycles."""
    assert (pressed.error[1] < 0.5 * pressed.error[0]).all()
    assert (pressed.error[:2, 1] < 0.5 * pressed.error[:2, 0]).all()
    assert pressed.error[0, 1] < 0.4 * pressed.error[0, 0]


def test_costs_are_parts_of_a_cycle(pressed):
    (cost,) = pressed.costs
    assert cost.r == 8
    assert cost.touching > 1
    for part in (cost.contact, cost.coupling, cost.deform):
        assert (part > 0.0).all()
    # the shell's matrix is factorized before the force goes out
    assert cost.coupling[1] > cost.coupling[0]


def test_limits_end_at_the_first_that_swings(pressed):
    swing = np.array([[[0.01, 0.2, 0.01, 0.01]], *[[[np.inf, 0.01, 0.01, 0.01]]] * (coupled.N - 1)])
    found = coupled.Experiment(
        pressed.scene, pressed.rates[:1], pressed.stiffnesses, 1.0, swing, pressed.error[:, :1], [],
        pressed.q, pressed.ball, [],
    )  # fmt: skip
    assert np.array_equal(found.limits(), [[1e2], *[[0.0]] * (coupled.N - 1)])
    assert "lost" in found.table()


def test_plot_and_command_line(pressed, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(coupled, "run", lambda *args, **named: pressed)
    experiments.light_plots(monkeypatch)
    experiments.check_plot(NAME, monkeypatch, capsys, tmp_path / "made")


def test_mistakes_are_reported_without_a_traceback(monkeypatch, capsys, tmp_path):
    wrong = (("--r", "0"), "r must be")
    experiments.check_mistakes(NAME, monkeypatch, capsys, tmp_path, wrong)
    with pytest.raises(SystemExit):
        experiments.start(NAME, monkeypatch, "--rounds", "0", "--out", tmp_path)
