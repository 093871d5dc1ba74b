"""Settings of sessions are checked without a session, a device or a body."""

from __future__ import annotations

import dataclasses
import inspect
import math

import numpy as np
import pytest

import reducedfem as rf
from reducedfem.haptics.settings import HapticSettings


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("rate", 5.0, "rate must be between 10 and 20000 Hz, got 5"),
        ("rate", math.nan, "rate must be"),
        ("workspace", "large", "workspace must be a Workspace, got str"),
        ("budget_us", -1.0, "budget.* -1"),
        ("budget_us", 1001.0, "budget_us must be at most 1000, the period .* 1000 Hz, got 1001;"),
        ("coupled", 1, "coupled must be True or False, got int"),
        ("auto_stiffness", "device", 'auto_stiffness must be "coupling" or "contact"'),
        ("max_force", -1.0, "max_force.* -1"),
        ("max_torque", -2.0, "max_torque.* -2"),
        ("force_slew", math.nan, "force_slew.* nan"),
        ("torque_slew", "fast", "torque_slew must be a number"),
        ("ramp", -0.1, "ramp.* -0.1"),
        ("silence", -1.0, "silence.* -1"),
        ("passivity", None, "passivity must be True or False, got NoneType"),
        ("energy_allowance", -1e-3, "energy_allowance.* -0.001"),
        ("render", "smooth", 'render must be "linear" or "saturated"'),
        ("duration", 0.0, "duration must be positive or None, got 0"),
        ("record", 3, "record must be"),
        ("keep_records", -1, "keep_records.* -1"),
        ("priority", 100, "priority.* 100"),
        ("lock_memory", "yes", "lock_memory must be True or False, got str"),
    ],
)
def test_wrong_values(name, value, message):
    with pytest.raises((rf.InputError, rf.InputTypeError), match=message):
        HapticSettings(**{name: value})


def test_every_setting_is_tested():
    (marks,) = (mark for mark in test_wrong_values.pytestmark if mark.name == "parametrize")
    tested = {name for name, _, _ in marks.args[1]}
    assert tested == {field.name for field in dataclasses.fields(HapticSettings)}


def test_sessions_have_the_same_arguments_and_defaults():
    session = inspect.signature(rf.HapticSession).parameters
    for field in dataclasses.fields(HapticSettings):
        assert session[field.name].default == field.default


@pytest.mark.parametrize("rate", [10.0, 1000.0, 20_000.0])
def test_the_budget_is_half_a_cycle(rate):
    settings = HapticSettings(rate=rate)
    assert settings.dt == 1.0 / rate
    assert settings.core(None)["budget_us"] == 0.5e6 * settings.dt
    HapticSettings(rate=rate, budget_us=1e6 / rate)  # a whole cycle is the most


def test_a_device_has_defaults_of_its_own():
    times = np.linspace(0.0, 2.0, 5)
    device = rf.ReplayDevice(times, np.zeros((5, 3)))
    settings = HapticSettings()
    assert settings.core(None)["duration"] == 0.0  # no end
    assert settings.core(device)["duration"] == 2.0
    assert HapticSettings(duration=1.0).core(device)["duration"] == 1.0
    assert settings.core(rf.UdpDevice(("127.0.0.1", 0)))["silence"] == 0.01
    assert HapticSettings(silence=0.3).core(device)["silence"] == 0.3


def test_timeouts_change_by_name_and_the_earlier_ones_are_returned(set_timeouts):
    before = rf.haptics.settings.timeouts()
    assert set_timeouts(stall=1.25) == before
    assert rf.haptics.settings.timeouts() == dataclasses.replace(before, stall=1.25)
    assert HapticSettings().core(None)["stall"] == 1.25
    with pytest.raises(dataclasses.FrozenInstanceError):
        rf.haptics.settings.timeouts().stall = 0.1


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ({"stall": 0.0}, "stall must be positive, got 0 s"),
        ({"hang": math.inf}, "hang must be finite, got inf"),
        ({"patience": "long"}, "patience must be a number, got str"),
        ({"stall": 1.0, "patence": 1.0}, "got 'patence'; did you mean 'patience'"),
    ],
)
def test_wrong_timeouts_change_nothing(set_timeouts, times, message):
    before = rf.haptics.settings.timeouts()
    with pytest.raises((rf.InputError, rf.InputTypeError), match=message):
        set_timeouts(**times)
    assert rf.haptics.settings.timeouts() is before
