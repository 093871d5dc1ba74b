"""Shared by tests of devices: a contact, clients, stand-ins of drivers."""

from __future__ import annotations

import numpy as np
import pytest

import ckernels
from bridges import LOW, ball_on_a_floor, raw_clients
from drivers import HD_ERRORS, Mock, place
from places import ROOT


@pytest.fixture(scope="module")
def ball():
    return ball_on_a_floor()


@pytest.fixture
def _half_a_second(set_timeouts):
    """Calls hang for half a second; pauses of the machine alone are shorter."""
    set_timeouts(stall=0.5)


@pytest.fixture
def raw():
    with raw_clients() as make:
        yield make


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return a function that compiles a mock, once for each set of macros."""
    made = {}

    def build(name, macro=None):
        if (name, macro) not in made:
            folder = tmp_path_factory.mktemp("mock")
            text = f"#define {macro}\n" if macro else ""
            source = folder / f"{name}.c"
            source.write_text(f'{text}#include "{ROOT / "tests/support" / name}.c"\n')
            ckernels.build(name, [source], folder)
            made[name, macro] = folder / f"{name}.so"
        return made[name, macro]

    return build


@pytest.fixture
def dhd(built):
    mock = Mock(built("mock_dhd"))
    mock.ints(devices=1, wrist=1, turns=1, guard=0, hang=0, slow=0, buttons=0)
    mock.ints(enabled=0, was_enabled=0, opened=0, closed=0, id=0)
    mock.ints(failing=0, mute=0, stuck=0)
    mock.reals("position", 3)[:] = [0.0, 0.0, LOW]
    mock.reals("rotation", 9)[:] = np.eye(3).ravel()
    mock.reals("wrench", 6)[:] = 9.0
    return mock


@pytest.fixture
def hd(built):
    mock = Mock(built("mock_hd"))
    mock.ints(**dict.fromkeys(HD_ERRORS, 0), rate=1000, deaf=0, hang=0, buttons=0, actuated=3)
    mock.ints(mute=0, invalid=0)
    mock.reals("max_force")[0], mock.reals("stiffness")[0] = 3.3, 0.5
    mock.reals("torque", 3)[:] = 9.0
    mock.ints(enabled=0, was_enabled=0, initialised=0, disabled=0, misused=0)
    place(mock, (0.0, 0.0, LOW))
    yield mock
    mock.ints(deaf=0, hang=0)
    assert mock.int("misused") == 0
    assert mock.int("scheduled") == mock.int("unscheduled")
    assert mock.int("frames") == 0
    assert mock.int("initialised") == mock.int("disabled")
    assert not mock.int("running")
    assert not mock.int("enabled")
