"""The scene of two fingers and a ball, above and below the friction that is needed."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from reducedfem.scenes import grasp


@pytest.mark.no_asan(
    reason="the cycles of tests/haptics/test_haptics_free_bodies.py, for twenty seconds"
)
@pytest.mark.parametrize(("mu", "lifted"), [(0.3, True), (0.1, False)])
def test_the_ball_is_carried_if_friction_suffices(mu, lifted, monkeypatch):
    # solves end by themselves, on any machine
    made = rf.FrictionContact
    monkeypatch.setattr(
        grasp.rf, "FrictionContact", lambda *of, **options: made(*of, **options, budget_us=1e6)
    )
    session = grasp.session(friction=mu, points=2000, budget_us=0.0)
    records = session.run(5000)
    over = session.snapshot().bodies[0].position
    late = session.run(5000)
    end = session.snapshot().bodies[0].position
    session.close()
    weight = 0.327
    force = records["contact_force"][-1]
    if lifted:
        np.testing.assert_allclose(over[[0, 2]], [0.04, 0.11], atol=6e-3)
        np.testing.assert_allclose(force, [0.0, 0.0, -weight], atol=0.02 * weight)
    else:
        np.testing.assert_allclose(over, [0.0, 0.0, 0.078], atol=1e-3)
        assert np.abs(force).max() == 0.0
    # back in the cup, and released
    np.testing.assert_allclose(end, [0.0, 0.0, 0.078], atol=1e-3)
    assert np.abs(late["contact_force"][-1]).max() == 0.0
    assert max(records["energy_j"].max(), late["energy_j"].max()) <= 1e-9
    assert max(records["depth_m"].max(), late["depth_m"].max()) < 2e-4
