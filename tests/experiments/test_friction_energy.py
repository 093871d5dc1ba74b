"""Energy given to the hand by scenes with friction: experiments/friction_energy.py.

Whole motions of two scenes: tests/scenes/test_rough_scenes.py.
"""

from __future__ import annotations

import friction_energy
import pytest

import experiments
import reducedfem as rf

# smallest sizes, and cycles up to the first second of contact
SCENES = {
    "alpha": (2000, {"points": 800, "resolution": 32}),
    "peg": (2500, {"points": 3000, "resolution": 48}),
    "stack": (2300, {"points": 400, "resolution": 24}),
    "statue": (2000, {"points": 3000, "resolution": 48}),
}


@pytest.mark.no_asan(reason="tests/scenes runs these scenes, with friction in test_rough_scenes.py")
@pytest.mark.parametrize("mu", friction_energy.COEFFICIENTS)
@pytest.mark.parametrize("name", SCENES)
def test_a_scene_gives_the_hand_no_energy(name, mu):
    cycles, options = SCENES[name]
    run = friction_energy.energy(name, mu, cycles, **options)
    assert run.cycles == cycles
    assert run.unsolved == 0
    assert run.most <= friction_energy.ROUNDING
    # it was touched, and the hand has worked
    assert run.touching > 100 or (name, mu) == ("stack", 0.0)
    assert run.end < -1e-5


def test_contacts_outside_of_the_script_keep_their_budget():
    made = rf.FrictionContact
    with friction_energy.unhurried():
        assert rf.FrictionContact is not made
    assert rf.FrictionContact is made


def test_the_script_prints_a_table_and_fails_if_energy_is_gained(monkeypatch, capsys):
    most = [-1.0, 0.0, 1e-31]
    monkeypatch.setattr(
        friction_energy,
        "energy",
        lambda *_: friction_energy.Run(most.pop(0), -1.0, 1e-3, 5, 0, 10),
    )
    assert experiments.start("friction_energy", monkeypatch, "alpha") == 0
    assert len(capsys.readouterr().out.splitlines()) == 4
    most[:] = [0.0, 1e-9, 0.0]
    assert experiments.start("friction_energy", monkeypatch, "alpha") == 1
    with pytest.raises(SystemExit):
        experiments.start("friction_energy", monkeypatch, "--cycles", "0")
    assert "--cycles must be 1 or more, got 0" in capsys.readouterr().err
    monkeypatch.undo()
    assert experiments.start("friction_energy", monkeypatch, "knight") == 1
    assert "friction_energy.py: name must be one of" in capsys.readouterr().err
