"""Wrong options, workspaces, trajectories and hands are refused with a reason."""

from __future__ import annotations

import math

import numpy as np
import pytest

import reducedfem as rf
from haptic_sessions import held, session


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"coupling": 3}, "coupling must be a VirtualCoupling or a DynamicCoupling, got int"),
        ({"rate": 1.0}, "rate must be between 10 and 20000 Hz, got 1"),
        ({"ramp": -1.0}, "ramp must not be negative"),
        ({"silence": 0.0}, "silence must be positive"),
        ({"max_force": -1.0}, "max_force must not be negative"),
        ({"force_slew": 0.0}, "force_slew must be positive"),
        ({"duration": 0.0}, "duration must be positive or None"),
        ({"priority": 1000}, "priority must be between 0 and 98"),
        ({"priority": 99}, "got 99: the watchdog runs one above it"),
        ({"keep_records": 0}, "keep_records must be between 1"),
        ({"workspace": 2.0}, "workspace must be a Workspace, got float"),
        ({"simulation": []}, "simulation is empty"),
        (
            {"simulation": 3},
            "simulation must be an implicit integrator, a FreeBody, or a pair .*, got int",
        ),
        ({"budget_us": -5.0}, "budget_us must be finite and not negative"),
        ({"passivity": 1}, "passivity must be True or False"),
        ({"record": 3}, "record must be a str or a Path"),
    ],
)
def test_wrong_options_are_refused(ball, change, message):
    with pytest.raises(rf.ReducedFEMError, match=message):
        session(ball, rf.ReplayDevice(*held(0.03)), **change)


def test_wrong_parts_are_refused(ball):
    device = rf.ReplayDevice(*held(0.03))
    with pytest.raises(rf.InputTypeError, match=r"must be a contact \(Pena.*\), got int.*Rigid"):
        session(3, device)
    with pytest.raises(rf.InputTypeError, match="device must be a Device, such as SimulatedHand"):
        session(ball, "phantom")
    with pytest.raises(rf.InputError, match="contact is empty"):
        session([], device)
    elsewhere = rf.PenaltyContact(ball.tree, ball.field, 200.0, grasp=(0.0, 0.0, 0.01))
    with pytest.raises(rf.InputError, match="all contacts need the same grasp point"):
        session([ball, elsewhere], device)


class SciPyRotation:
    """A stand-in for scipy.spatial.transform.Rotation."""

    def as_quat(self):
        return np.array([0.0, 0.0, 0.0, 1.0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scale": 0.0}, "scale must be positive, got 0"),
        ({"force_scale": -1.0}, "force_scale must be positive, got -1"),
        ({"alignment": (1.0, 1.0, 0.0, 0.0)}, r"alignment has norm 1.41421\d*; it must be 1"),
        ({"alignment": (0.0, 0.0, 0.0)}, r"alignment must have the shape \(4,\), got \(3,\)"),
        ({"alignment": SciPyRotation()}, "order w, x, y, z.*pass np.roll"),
        ({"start": (0.0, 0.0, 1.0)}, r"start must be a pair \(position, quaternion\) or None"),
        ({"start": ((0, 0, 0), (2, 0, 0, 0))}, "quaternion of start has norm 2; it must be 1"),
        ({"start": ((0, 0), (1, 0, 0, 0))}, r"position of start must have the shape \(3,\)"),
        ({"clutch": 32}, "clutch must be between 0 and 31, got 32"),
        ({"clutch": True}, "clutch must be an int, got bool"),
    ],
)
def test_wrong_workspaces_are_refused(change, message):
    with pytest.raises(rf.ReducedFEMError, match=message):
        rf.Workspace(**change)


def test_a_device_is_one_of_a_kind():
    with pytest.raises(rf.InputTypeError, match="made by one of its subclasses"):
        rf.Device()
    assert repr(rf.SimulatedHand(*held(0.03, 2.5))) == "<SimulatedHand: 2.5 s>"
    for wrong in ("session.npy", np.zeros(3)):
        with pytest.raises(rf.InputTypeError, match=r"HapticRecords\.load reads a file"):
            rf.ReplayDevice.from_records(wrong)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, 0.0], [[0, 0, 0], [0, 0, 1]]), r"times\[1\] is 0: times must be finite and ascend"),
        (([0.0], [[0, 0, math.nan]]), r"positions\[0, 2\] is nan"),
        (([0.0], [[0, 0, 0]], [[2.0, 0, 0, 0]]), r"pose 0: quaternion .* has norm 2"),
        (([0.0, 1.0], [[0, 0, 0]]), "positions must have"),
        (([], np.zeros((0, 3))), "times is empty: a trajectory has at least one pose"),
        ((0.0, [[0, 0, 0]]), r"times must have the shape \(n,\), got \(\)"),
        (("way.csv", [[0, 0, 0]]), "ReplayDevice.from_csv reads a file"),
        (([0.0], [[0, 0, 0]], SciPyRotation()), "order w, x, y, z.*pass np.roll"),
    ],
)
def test_wrong_trajectories_are_refused(arguments, message):
    with pytest.raises(rf.ReducedFEMError, match=message):
        rf.ReplayDevice(*arguments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mass": 0.0}, "mass must be finite and positive"),
        ({"inertia": -1.0}, "inertia must be finite and positive"),
        ({"damping": -1.0}, "damping must be finite and not negative"),
        ({"torsional_stiffness": -1.0}, "torsional_stiffness must be finite and not negative"),
        ({"max_force": 0.0}, r"^max_force must be positive, got 0$"),
        ({"max_torque": -1.0}, r"^max_torque must be positive, got -1$"),
    ],
)
def test_wrong_hands_are_refused(change, message):
    with pytest.raises(rf.InputError, match=message):
        rf.SimulatedHand(*held(0.03), **change)
