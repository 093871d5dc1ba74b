"""Scenes with friction give the hand no energy."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from reducedfem import scenes
from reducedfem.scenes import shapes

SMALL = {
    "snap-in": {"points": 4_000, "resolution": 64},
    "alpha-cheat": {"points": 4_000, "resolution": 64},
}
ROUNDING = 1e-12  # J


@pytest.mark.parametrize(
    "mu",
    [0.0, 0.4, pytest.param(1.0, marks=pytest.mark.no_asan(reason="the same code as for 0.4"))],
)
@pytest.mark.parametrize("name", SMALL)
def test_a_scene_with_friction_gives_the_hand_no_energy(name, mu, monkeypatch):
    # solves end by themselves, on any machine
    monkeypatch.setattr(shapes, "touch", lambda mu, *of: rf.FrictionContact(*of, mu, budget_us=1e6))
    session = scenes.session(name, friction=mu, budget_us=0.0, **SMALL[name])
    records = session.run(10_000).array
    assert session.report().most_energy < ROUNDING
    assert records["energy_j"].max() < ROUNDING
    # it was touched, and the hand has worked
    assert 0.2 < (records["touching"] > 0).mean() < 0.9
    assert records["energy_j"][-1] < -3e-4 * (1.0 + 10.0 * mu)
    assert records["depth_m"].max() < 0.25 * session.coupling.max_depth
    assert np.isfinite(records["force"]).all()
