"""Scenes with friction: they give the hand no energy; coefficients that are refused or doubted."""

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


@pytest.fixture
def _unbuilt(monkeypatch):
    monkeypatch.setattr(rf, "PointTree", lambda *_: pytest.fail("the scene was built"))


@pytest.mark.usefixtures("_unbuilt")
@pytest.mark.parametrize("name", ["grasp", "stack"])
def test_a_scene_of_free_bodies_refuses_penalty_forces_before_it_is_built(name):
    with pytest.raises(rf.InputError, match=f"^friction must .* scene {name}, got None: .* free"):
        scenes.session(name, friction=None)
    with pytest.raises(rf.InputError, match="between 0 and 1e[+]09, got -1"):
        scenes.session(name, friction=-1)
    assert "None: a" not in getattr(scenes, name).session.__doc__.partition("friction")[2]


@pytest.mark.usefixtures("_unbuilt")
def test_an_improbable_coefficient_is_doubted_before_a_scene_is_built():
    # warnings are errors in tests
    with pytest.raises(rf.PlausibilityWarning, match="^friction is 50: .* or per cent"):
        scenes.session("snap-in", friction=50.0)


def test_an_improbable_coefficient_of_a_scene_is_doubted_once():
    with pytest.warns(rf.PlausibilityWarning, match="friction is 20000") as caught:
        scenes.session("peg", friction=2e4, points=700, resolution=24).close()
    assert [one.filename for one in caught] == [__file__]
