"""Time in haptic sessions: what a cycle makes of the periods that were left out before it.

The loop, its cycles and its limits are those of the library, clock, device and contact are those of
`loop_world.c`: nothing depends on the machine.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import time

import numpy as np
import pytest

import ckernels
import reducedfem as rf
from conftest import ROOT

UPRIGHT = (1.0, 0.0, 0.0, 0.0)
REAL, LONG, POINTER = ctypes.c_double, ctypes.c_int64, ctypes.c_void_p
DT, VELOCITY = 1e-3, 0.1
COUPLING = rf.DynamicCoupling(500.0, 1.0, mass=0.02, inertia=1e-5)
SOURCES = (
    "base/alloc.c", "base/exchange_rt.c", "base/status.c", "haptic/feel_rt.c",
    "haptic/histogram_rt.c",
    "haptic/passivity_rt.c", "haptic/safety.c", "haptic/safety_rt.c", "haptic/tick.c",
    "haptic/tick_rt.c", "linalg/pose.c", "linalg/solve6_rt.c",
)  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    core = ROOT / "csrc"
    sources = [ROOT / "tests/loop_world.c", *(core / name for name in SOURCES)]
    sources += sorted((core / "coupling").glob("*.c"))
    made = ckernels.build("loop", sources, tmp_path_factory.mktemp("loop"))
    made.world_begin.argtypes = [*[REAL] * 3, ctypes.c_int, REAL, REAL, ctypes.c_int32, REAL]
    for name in ("run", "called"):
        getattr(made, f"world_{name}").restype = LONG
    made.world_run.argtypes = [LONG, LONG, POINTER, POINTER]
    made.world_called.argtypes = [LONG, POINTER, POINTER]
    made.world_search.argtypes = [LONG, POINTER]
    made.world_search.restype = None
    made.world_given.argtypes, made.world_given.restype = [LONG], REAL
    for name in ("skipped", "over", "interrupted"):
        getattr(made, f"world_{name}").restype = LONG
    return made


@pytest.fixture
def world(library):
    """Return a function that begins a loop."""
    begun = []

    def begin(silence=math.inf, fresh=True, contacts=1, budget=0.0):
        viscosity = 2.0 * math.sqrt(500.0 * 0.02), 2.0 * math.sqrt(0.5 * 1e-5)
        assert library.world_begin(DT, VELOCITY, silence, fresh, *viscosity, contacts, budget)
        begun.append(True)
        return library

    yield begin
    for _ in begun:
        library.world_end()


def run(library, periods, overslept):
    """Return the records of a run, and how many periods were left out."""
    overslept = np.asarray(overslept, dtype=float)
    out = np.zeros(periods + 1, rf._record_file.RECORD)
    n = library.world_run(periods, len(overslept), overslept.ctypes.data, out.ctypes.data)
    assert n in (periods, periods + 1)  # in the last one forces fade out
    return out[:n], library.world_skipped()


def test_periods_without_a_cycle_are_counted(world):
    """One that sleeps too long by 3.6 periods leaves out three of them."""
    late = np.zeros(50)
    late[[10, 20]] = 3600.0, 999.0
    records, skipped = run(world(), 60, late)
    steps = np.rint(np.diff(records["time_s"]) / DT)
    # the first cycle is due at once, and sleeps not
    assert np.array_equal(np.flatnonzero(steps != 1.0), [10])
    assert steps[10] == 4.0
    assert skipped == 3
    assert records["late_us"][11] == pytest.approx(3600.0, abs=1e-6)
    assert records["late_us"][21] == pytest.approx(999.0, abs=1e-6)


def test_pauses_of_the_machine_are_told_from_computing(world):
    """Cycles that take too long: one that works, one that is paused, two that are both."""
    took = np.full((20, 2), 100.0)
    took[[3, 7, 11, 15]] = (1500.0, 1400.0), (1500.0, 200.0), (3000.0, 1001.0), (3000.0, 999.0)
    library = world()
    library.world_search(len(took), took.ctypes.data)
    records, skipped = run(library, len(took), [])
    np.testing.assert_allclose(records["compute_us"][: len(took)], took[:, 0], atol=1e-6)
    np.testing.assert_allclose(records["processor_us"][: len(took)], took[:, 1], atol=1e-6)
    assert (library.world_over(), library.world_interrupted()) == (4, 2)
    assert skipped > 0


def test_a_pause_in_one_contact_takes_no_time_from_the_next(world):
    """Nor do its forces jump then; what the first one computes does take time from it."""
    took = np.full((20, 2, 2), 100.0)
    took[5, 0] = 1500.0, 100.0  # paused
    took[10, 0] = 300.0, 300.0
    library = world(contacts=2, budget=500.0)
    library.world_search(took[..., 0].size, took.ctypes.data)
    run(library, len(took), [])
    given = [[library.world_given(2 * k + one) for one in (0, 1)] for k in range(len(took))]
    first, second = np.array(given).T
    # in halves of what the coupling leaves, and then the rest
    np.testing.assert_allclose(second - 2.0 * first, -took[:, 0, 1], atol=1e-6)
    assert second[5] > 200.0


def test_the_hands_velocity_is_that_of_the_time_that_went_by(world):
    """A dynamic coupling, whose dampers feel it, after a pause: no blow."""
    late = np.zeros(200)
    late[100] = 120e3
    records, skipped = run(world(), 200, late)
    assert skipped == 120
    at, velocity = records["object_position"][0], np.zeros(6)
    for last, record in itertools.pairwise(records):
        moved = record["hand_position"] - last["hand_position"]
        hand = np.append(moved / (record["time_s"] - last["time_s"]), np.zeros(3))
        assert hand[0] == pytest.approx(VELOCITY, rel=1e-9)
        step = COUPLING.step(
            (record["hand_position"], UPRIGHT), at, UPRIGHT, None,
            velocity=velocity, manipulandum_velocity=hand, dt=DT,
        )  # fmt: skip
        at, velocity = step.position, step.velocity
        assert record["object_position"] == pytest.approx(at, rel=0, abs=1e-12)


def test_silence_is_measured_in_time_not_in_cycles(world):
    late = np.zeros(100)
    late[5] = 12e3
    records, _ = run(world(silence=0.02, fresh=False), 100, late)
    silent = rf.HapticRecords(records).flagged("silent")
    assert np.array_equal(silent, records["time_s"] > 0.0205)
    assert (~silent).sum() < 15
    assert silent.any()


def test_devices_that_make_the_cycles_are_late_by_the_clock(world):
    intervals = np.array([5e6, 1000.0, 1250.0, 900.0, 3300.0, 1000.0, 1999.0, 2000.5])
    out = np.zeros(len(intervals), rf._record_file.RECORD)
    library = world()
    assert library.world_called(len(out), intervals.ctypes.data, out.ctypes.data) == len(out)
    expected = [0.0, 0.0, 250.0, 0.0, 2300.0, 0.0, 999.0, 1000.5]
    assert out["late_us"] == pytest.approx(expected, abs=1e-6)
    assert np.rint(out["time_s"] / DT).tolist() == [0, 1, 2, 3, 6, 7, 8, 10]
    assert library.world_skipped() == 3


class Settings(ctypes.Structure):
    _fields_ = (
        ("control", ctypes.c_bool), ("allowance", REAL), ("max_damping", REAL),
        ("max_torsion", REAL),
    )  # fmt: skip


class Pose(ctypes.Structure):
    _fields_ = (("position", REAL * 3), ("quaternion", REAL * 4))


class Wrench(ctypes.Structure):
    _fields_ = (("force", REAL * 3), ("torque", REAL * 3))


class SafetySettings(ctypes.Structure):
    _fields_ = tuple(
        (name, REAL)
        for name in ("max_force", "max_torque", "slew", "torque_slew", "ramp", "silence")
    )


class State(ctypes.Structure):
    _fields_ = (
        ("begun", ctypes.c_bool), ("last_pose", Pose), ("last", Wrench), ("energy", REAL),
        ("most", REAL), ("less", REAL), ("taken", REAL),
    )  # fmt: skip


@pytest.mark.parametrize("periods", [1, 7])
def test_a_damper_of_the_passivity_controller_is_that_of_the_velocity(library, periods):
    """After periods without a cycle the hand has moved farther, at the same velocity."""
    velocity, most = 0.2, 5.0
    settings = Settings(True, 0.0, most, most)
    held = Wrench((10.0, 0.0, 0.0))
    state = State(True, Pose((0.0, 0.0, 0.0), UPRIGHT), held)
    wrench = Wrench()
    now = Pose((velocity * periods * DT, 0.0, 0.0), UPRIGHT)
    step = library.rf_passivity_step_rt
    step.argtypes = [POINTER, POINTER, REAL, REAL, REAL, POINTER, POINTER, POINTER]
    step.restype = None
    any_rate = SafetySettings(*[math.inf] * 4, 0.0, math.inf)
    step(ctypes.byref(settings), ctypes.byref(any_rate), DT, periods * DT, 1.0, ctypes.byref(now),
         ctypes.byref(state), ctypes.byref(wrench))  # fmt: skip
    # what was given in between, by the force that was held: exactly
    assert state.energy == pytest.approx(10.0 * velocity * periods * DT, rel=1e-12)
    assert list(wrench.force) == pytest.approx([-most * velocity, 0.0, 0.0], rel=1e-12)
    assert state.taken == pytest.approx(most * velocity**2 * DT, rel=1e-12)


class SafetyState(ctypes.Structure):
    _fields_ = (
        ("last", Wrench), ("ramp", REAL), ("quiet", REAL),
        ("count", ctypes.c_uint64), ("enabled", ctypes.c_bool),
    )  # fmt: skip


def test_forces_between_which_no_step_is_finite_are_none(library):
    """From one end of the numbers to the other: what is slewed would not be a number."""
    endless, largest = float("inf"), 1.7e308
    settings = SafetySettings(endless, endless, 100.0, 100.0, 0.0, 1.0)
    state = SafetyState(Wrench((-largest, 0.0, 0.0)), 1.0, 0.0, 0, True)
    wrench = Wrench((largest, 1.0, 0.0))
    limit = library.rf_safety_limit_rt
    limit.argtypes = [ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p]
    limit.restype = ctypes.c_uint32
    flags = limit(ctypes.byref(settings), DT, ctypes.byref(state), ctypes.byref(wrench))
    assert flags == 8  # broken
    assert list(wrench.force) == list(state.last.force) == [0.0, 0.0, 0.0]
    assert not state.enabled


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("stage", ["first", "last"])
def test_forces_that_are_no_numbers_are_none(library, stage, value):
    """Whether the coupling tells them or the passivity controller: no force, now and after it."""
    settings = SafetySettings(*[math.inf] * 4, 0.0, 1.0)
    for k in range(6):
        parts = [0.0] * 6
        parts[k] = value
        state = SafetyState(Wrench((1.0, 2.0, 3.0)), 1.0, 0.0, 0, True)
        wrench = Wrench(tuple(parts[:3]), tuple(parts[3:]))
        if stage == "first":
            limit, rest = library.rf_safety_limit_rt, (REAL(DT),)
        else:
            limit, rest = library.rf_safety_last_rt, ()
        limit.argtypes, limit.restype = None, ctypes.c_uint32
        flags = limit(ctypes.byref(settings), *rest, ctypes.byref(state), ctypes.byref(wrench))
        assert flags == 8  # broken
        for found in (wrench.force, wrench.torque, state.last.force, state.last.torque):
            assert list(found) == [0.0, 0.0, 0.0]
        assert not state.enabled
        assert state.ramp == 0.0


def test_openhaptics_tells_how_late_its_scheduler_is(tmp_path):
    """One that naps between its calls takes longer than a period each time."""
    library = ckernels.build("mock_hd", [ROOT / "tests/mock_hd.c"], tmp_path)
    (REAL * 16).in_dll(library, "mock_transform")[:] = np.eye(4).ravel().tolist()
    plane = rf.Pointshell([[0.0, 0.0, 0.0]], [[0.0, 0.0, -1.0]])
    ball = rf.PenaltyContact(rf.PointTree(plane), rf.SphereField((0, 0, 0), 0.02), 200.0)
    device = rf.OpenHaptics(library=tmp_path / "mock_hd.so")
    made = rf.HapticSession(ball, device, coupling=rf.VirtualCoupling(500.0, 1.0))
    made.start()
    while made.report().ticks < 10 and made.report().phase == "running":
        time.sleep(0.005)
    made.close()
    late = made.records()["late_us"]
    assert late[0] == 0.0
    assert (late[1:] > 0.0).any()
    assert made.report().late_us["max"] == late.max()
