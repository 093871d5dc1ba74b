"""Time in haptic sessions: what a cycle makes of the periods that were left out before it.

The loop, its cycles and its limits are those of the library, clock, device and contact are those of
`loop_world.c`: nothing depends on the machine.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

import ckernels
import loop_worlds
import reducedfem as rf
from loop_worlds import DT, VELOCITY, run
from places import ROOT

UPRIGHT = (1.0, 0.0, 0.0, 0.0)
COUPLING = rf.DynamicCoupling(500.0, 1.0, mass=0.02, inertia=1e-5)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return loop_worlds.build(tmp_path_factory.mktemp("loop"))


@pytest.fixture
def world(library):
    yield from loop_worlds.beginner(library)


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


def test_pauses_of_the_machine_are_distinguished_from_computing(world):
    """Late cycles: one that computes, one that is paused, two that are both."""
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
    """Their forces do not jump then; computing in the first reduces the time of the second."""
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


def test_contact_leaves_time_for_the_rest_of_the_cycle(world):
    """As much as the rest took lately: the clock is read after it several times, for 10 us each."""
    library = world(budget=500.0)
    library.world_look(10.0)
    records, _ = run(library, 50, [])
    rest = records["coupling_us"] + records["deform_us"]
    assert rest[20:50] == pytest.approx(rest[20], rel=1e-9)
    assert rest[20] >= 20.0
    given = [library.world_given(k) for k in range(20, 50)]
    assert given == pytest.approx([500.0 - rest[20]] * 30, abs=1e-6)


def test_the_hands_velocity_uses_the_elapsed_time(world):
    """A dynamic coupling, whose dampers use the velocity, gives no blow after a pause.

    It makes the step of 64 missed cycles first, which share the way of the hand.
    """
    late = np.zeros(200)
    late[100] = 120e3
    records, skipped = run(world(), 200, late)
    assert skipped == 120
    at, velocity = records["object_position"][0], np.zeros(6)
    for last, record in itertools.pairwise(records):
        moved = record["hand_position"] - last["hand_position"]
        hand = np.append(moved / (record["time_s"] - last["time_s"]), np.zeros(3))
        assert hand[0] == pytest.approx(VELOCITY, rel=1e-9)
        n = 1 + min(round((record["time_s"] - last["time_s"]) / DT) - 1, 64)
        for k in range(1, n + 1):
            step = COUPLING.step(
                (last["hand_position"] + moved * k / n, UPRIGHT), at, UPRIGHT, None,
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


# ---- pauses -------------------------------------------------------------------------------------

STALL, RAMP, PUSH = 0.05, 0.04, 20.0


def shares(paused, ramp):
    """Return the share of the force that goes out in each cycle, of which some follow a pause."""
    share, fade, found = 0.0, ramp, []
    for late in paused:
        if late:
            share, fade = 0.0, max(ramp, 0.05)
        else:
            share = min(share + DT / fade, 1.0) if fade else 1.0
        found.append(share)
    return np.array(found)


def felt(records, paused, ramp=RAMP):
    """Assert that forces fade in from zero after these cycles, and that no others are flagged."""
    records = rf.HapticRecords(records)
    expected = np.zeros(len(records), bool)
    expected[paused] = True
    assert np.flatnonzero(records.flagged("paused")).tolist() == sorted(paused)
    whole = 500.0 * (records["object_position"] - records["hand_position"])
    cycles = slice(0, 300)  # in the last one forces fade out
    share = shares(expected, ramp)[cycles, None]
    assert records["force"][cycles] == pytest.approx(share * whole[cycles], rel=1e-12, abs=1e-12)
    assert np.array_equal(records.flagged("fading")[cycles], share[:, 0] < 1.0)
    return whole


@pytest.mark.parametrize("where", ["asleep", "in contact", "while writing"])
@pytest.mark.parametrize("at", [(150,), (10,), (150, 151, 160, 290)], ids=str)
@pytest.mark.parametrize("length", [0.5, 3600.0])
def test_forces_fade_in_from_zero_after_a_pause(world, where, at, length):
    """Whenever it comes: between cycles, within one, while forces fade in, again and again.

    The hand moves on by 50 mm in half a second: all at once that would be 25 N and more.
    """
    library = world(ramp=RAMP)
    library.world_push(PUSH, STALL)
    pauses, contact = np.zeros(300), np.zeros((300, 2))
    pauses[list(at)] = contact[list(at), 0] = 1e6 * length
    # the first cycle is due at once, and sleeps not
    asleep = pauses[1:] if where == "asleep" else []
    if where == "in contact":
        library.world_search(len(contact), contact.ctypes.data)
    elif where == "while writing":
        library.world_write(len(pauses), pauses.ctypes.data)
    records, skipped = run(library, 300, asleep)
    # a force written while the machine sleeps cannot be taken back: the next one is zero
    felt(records, [k + (where == "while writing") for k in at])
    assert library.world_paused() == len(at)
    assert skipped >= len(at) * (1e3 * length - 1.0)
    assert records["force"][[120, 280], 0] == pytest.approx([PUSH, PUSH], rel=0.02)


@pytest.mark.parametrize("ramp", [0.0, 0.01, 0.06])
def test_forces_without_a_ramp_fade_in_after_a_pause(world, ramp):
    """At the start they reach their value as soon as the ramp ends."""
    library = world(ramp=ramp)
    library.world_push(PUSH, STALL)
    late = np.zeros(300)
    late[[5, 150, 170]] = 500e3
    records, _ = run(library, 300, late)
    felt(records, [6, 151, 171], ramp)


def test_pauses_are_longer_than_the_stall_limit(world):
    library = world(ramp=RAMP)
    library.world_push(PUSH, STALL)
    late = np.zeros(300)
    late[[100, 200]] = 48e3, 50e3  # and a period between the two
    records, _ = run(library, 300, late)
    felt(records, [201])


def test_a_script_has_no_pauses(world):
    """`run` makes cycles at any pace: time follows the schedule, and forces do not fade."""
    library = world(ramp=RAMP)
    library.world_push(PUSH, math.inf)
    late = np.zeros(300)
    late[100] = 500e3
    records, _ = run(library, 300, late)
    felt(records, [])
    assert library.world_paused() == 0


def test_forces_fade_in_after_a_pause_of_a_device_that_makes_the_cycles(world):
    library = world(ramp=RAMP)
    library.world_push(PUSH, STALL)
    intervals = np.full(300, 1000.0)
    intervals[[130, 250]] = 600e3, 51e3
    out = np.zeros(len(intervals), rf.io.record_file.RECORD)
    assert library.world_called(len(out), intervals.ctypes.data, out.ctypes.data) == len(out)
    felt(out, [130, 250])


def test_a_pause_ends_forces_that_fade_out(world):
    """Then the session ends; forces do not fade in only to fade out again."""
    library = world(ramp=RAMP)
    library.world_push(PUSH, STALL)
    late = np.zeros(400)
    late[309] = 500e3
    out = np.zeros(401, rf.io.record_file.RECORD)
    n = library.world_run(300, len(late), late.ctypes.data, out.ctypes.data)
    assert n == 311
    assert rf.HapticRecords(out[:n]).flagged("paused").nonzero()[0].tolist() == [310]
    assert not out["force"][n - 1].any()
    assert np.abs(out["force"][n - 2, 0]) > 0.5 * PUSH


SUSPENDED = """
import ctypes, sys, time
core = ctypes.CDLL(sys.argv[1])
core.rf_clock_us_rt.restype = ctypes.c_double
core.rf_clock_sleep_until_rt.argtypes = [ctypes.c_double]
def boot():
    return 1e6 * time.clock_gettime(time.CLOCK_BOOTTIME)
before, now, after = boot(), core.rf_clock_us_rt(), boot()
until = now + 2e3
core.rf_clock_sleep_until_rt(until)
print(before <= now + 0.1 and now <= after + 0.1, core.rf_clock_us_rt() >= until)
"""


def allowed(*command):
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_the_clock_counts_suspension_of_the_machine(tmp_path):
    """In a process for which the machine has been suspended for a day."""
    ckernels.build("clock", [ROOT / "csrc/base/clock_rt.c"], tmp_path)
    day = ["unshare", "--time", "--boottime", "86400", "--fork"]
    if not shutil.which("unshare") or not allowed(*day, "true"):
        pytest.skip("this process may not shift its clocks (unshare --time)")
    done = subprocess.run(
        [*day, sys.executable, "-c", SUSPENDED, tmp_path / "clock.so"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("True True\n", 0), done.stderr


def test_the_passivity_controller_damps_by_the_elapsed_time(world):
    """In 600 periods without a cycle the held force gives more energy than allowed."""
    damping = 5.0
    library = world()
    library.world_push(PUSH, math.inf)
    library.world_control(2.0, damping)
    late = np.zeros(200)
    late[150] = 600e3
    records, _ = run(library, 200, late)
    assert records["energy_j"][150] < 0.5
    given = PUSH * VELOCITY * 601 * DT
    assert np.diff(records["energy_j"])[150] == pytest.approx(given, rel=0.01)
    # the object would push the hand on; beyond half of the allowance only the damper acts
    after = records[151]
    assert 500.0 * (after["object_position"] - after["hand_position"])[0] > 10.0
    assert after["force"] == pytest.approx([-damping * VELOCITY, 0.0, 0.0], rel=1e-9)


@pytest.mark.parametrize("where", ["read", "pose", "write"])
def test_a_failure_sends_zero_force_for_good(world, where):
    """A device whose thread continues is sent zero, at once and for good."""
    library = world(ramp=RAMP)
    library.world_push(PUSH, STALL)
    library.world_break(*(151 * (where == one) for one in ("read", "pose", "write")))
    intervals = np.full(200, 1000.0)
    out = np.zeros(400, rf.io.record_file.RECORD)
    assert library.world_called(150, intervals.ctypes.data, out.ctypes.data) == 150
    assert library.world_last() == out["force"][149, 0]
    assert library.world_called(50, intervals.ctypes.data, out[150:].ctypes.data) == -1
    assert library.world_last() == 0.0
    assert library.world_called(200, intervals.ctypes.data, out[150:].ctypes.data) == 201
    records = rf.HapticRecords(out[:351])
    assert records.flagged("device_failed").nonzero()[0].tolist() == [150]
    assert records["force"][149, 0] == pytest.approx(PUSH, rel=0.01)
    assert records["torque"][149, 0] == pytest.approx(0.01 * PUSH, rel=0.1)
    assert not records["force"][150:].any()
    assert not records["torque"][150:].any()


def test_a_device_that_is_opened_again_finds_the_object_at_rest(world):
    """Its velocity is zero, and so is the hand's until the second sample."""
    library = world()
    intervals = np.full(50, 1000.0)
    out = np.zeros(100, rf.io.record_file.RECORD)
    assert library.world_called(50, intervals.ctypes.data, out.ctypes.data) == 50
    assert np.diff(out["object_position"][45:50, 0]) == pytest.approx(VELOCITY * DT, rel=0.1)
    library.world_reopen()
    assert library.world_called(50, intervals.ctypes.data, out[50:].ctypes.data) == 50
    at, velocity, hand_velocity = out["object_position"][49], np.zeros(6), np.zeros(6)
    for record in out[50:]:
        hand = (record["hand_position"], UPRIGHT)
        step = COUPLING.step(hand, at, UPRIGHT, None, velocity=velocity,
                             manipulandum_velocity=hand_velocity, dt=DT)  # fmt: skip
        at, velocity = step.position, step.velocity
        hand_velocity = np.array([VELOCITY, 0.0, 0.0, 0.0, 0.0, 0.0])
        assert record["object_position"] == pytest.approx(at, rel=0, abs=1e-12)


def test_devices_that_make_the_cycles_are_late_by_the_clock(world):
    intervals = np.array([5e6, 1000.0, 1250.0, 900.0, 3300.0, 1000.0, 1999.0, 2000.5])
    out = np.zeros(len(intervals), rf.io.record_file.RECORD)
    library = world()
    assert library.world_called(len(out), intervals.ctypes.data, out.ctypes.data) == len(out)
    expected = [0.0, 0.0, 250.0, 0.0, 2300.0, 0.0, 999.0, 1000.5]
    assert out["late_us"] == pytest.approx(expected, abs=1e-6)
    assert np.rint(out["time_s"] / DT).tolist() == [0, 1, 2, 3, 6, 7, 8, 10]
    assert library.world_skipped() == 3


def with_mock_scheduler(tmp_path, sleep_ms):
    """Return a session whose cycles come from a scheduler that sleeps between its calls."""
    library = ckernels.build("mock_hd", [ROOT / "tests/support/mock_hd.c"], tmp_path)
    (ctypes.c_double * 16).in_dll(library, "mock_transform")[:] = np.eye(4).ravel().tolist()
    ctypes.c_int.in_dll(library, "mock_sleep_ms").value = sleep_ms
    plane = rf.Pointshell([[0.0, 0.0, 0.0]], [[0.0, 0.0, -1.0]])
    ball = rf.PenaltyContact(rf.PointTree(plane), rf.SphereField((0, 0, 0), 0.02), 200.0)
    device = rf.OpenHaptics(library=tmp_path / "mock_hd.so")
    return rf.HapticSession(ball, device, coupling=rf.VirtualCoupling(500.0, 1.0))


def test_openhaptics_reports_the_delay_of_its_scheduler(tmp_path):
    """A scheduler that sleeps between its calls takes longer than a period each time."""
    made = with_mock_scheduler(tmp_path, 1)
    made.start()
    while made.report().ticks < 10 and made.report().phase == "running":
        time.sleep(0.005)
    made.close()
    late = made.records(drain=True)["late_us"]
    assert late[0] == 0.0
    assert (late[1:] > 0.0).any()
    assert made.report().late_us["max"] == late.max()


def test_the_report_counts_cycles_that_made_up_for_others(tmp_path):
    """A scheduler that sleeps for 4 ms leaves out three cycles each time."""
    made = with_mock_scheduler(tmp_path, 4)
    assert "made up for" not in str(made.report())
    made.start()
    while made.report().made_up < 3 and made.report().phase == "running":
        time.sleep(0.005)
    made.close()
    report, records = made.report(), made.records(drain=True)
    assert report.made_up == records.flagged("made_up").sum() >= 3
    assert f" {report.skipped}; {report.made_up:,} later cycles made up for them" in str(report)
    assert f"; not counted: the time in which {report.made_up:,} cycles made up for" in str(report)


# ---- missed cycles ------------------------------------------------------------------------------

MADE_UP, WALL, WALL_STIFFNESS, TURN = 1 << 16, 0.012, 10_000.0, 0.17


def hand_at_a_wall(library, late=(), damping=None, took=20.0, wall=WALL, turn=TURN):
    """Return the records of a hand that comes to a wall and leaves it, but for the fade-out.

    Cycles of `late`, {number: microseconds}, begin late. `took` is the time of a search. `damping`
    is that of a static coupling; None: a dynamic one.
    """
    library.world_push(0.0, STALL)
    if damping is not None:
        library.world_static(damping, math.inf)
    library.world_wall(wall, WALL_STIFFNESS, turn)
    spent = np.full((2000, 2), took)
    library.world_search(len(spent), spent.ctypes.data)
    asleep = np.zeros(300)
    for number, microseconds in dict(late).items():
        asleep[number] = microseconds
    records, _ = run(library, 300, asleep)
    return records[records["time_s"] < 0.2995]


def at_times_of(records, regular):
    """Return the records of a run without late cycles at the times of another one."""
    found = regular[np.rint(records["time_s"] / DT).astype(int)]
    assert records["time_s"] == pytest.approx(found["time_s"], abs=1e-12)
    return found


@pytest.mark.parametrize("damping", [None, 0.5, 0.8], ids=str)
@pytest.mark.parametrize("late", [1500.0, 4600.0, 25e3])
def test_a_late_cycle_gives_no_pulse_in_free_space(world, late, damping):
    """The object follows the hand as if no cycle had been missed, and so does the force."""
    free = {"wall": math.inf, "turn": math.inf, "damping": damping}
    regular = hand_at_a_wall(world(), **free)
    records = hand_at_a_wall(world(), {100: late}, **free)
    assert len(records) == len(regular) - int(late / 1e3)
    expected = at_times_of(records, regular)
    for name in ("object_position", "force"):
        assert records[name] == pytest.approx(expected[name], rel=0, abs=1e-9)
    # the drag of static damping in steady motion
    drag = 500.0 * (damping or 0.0) / (1.0 - (damping or 0.0)) * VELOCITY * DT
    assert np.abs(records["force"][90:]).max() == pytest.approx(drag, abs=1e-3)


@pytest.mark.parametrize("damping", [None, 0.5], ids=str)
@pytest.mark.parametrize("where", ["comes", "presses", "leaves"])
@pytest.mark.parametrize("late", [1500.0, 4600.0, 25e3])
def test_a_late_cycle_at_a_wall_gives_the_force_of_a_punctual_one(world, late, where, damping):
    """It neither jumps beyond that nor pulls the hand; the object was stopped in time."""
    regular = hand_at_a_wall(world(), damping=damping)
    at = {"comes": 110, "presses": 130, "leaves": 200}[where]
    records = hand_at_a_wall(world(), {at: late}, damping=damping)
    expected = at_times_of(records, regular)
    assert records["force"] == pytest.approx(expected["force"], rel=0, abs=1e-9)
    assert np.abs(records["force"]).max() > 1.5
    assert rf.HapticRecords(records).flagged("made_up").nonzero()[0].tolist() == [at + 1]


@pytest.mark.parametrize("times", [1, 4])
def test_late_cycles_of_some_milliseconds_give_the_hand_no_energy(world, times):
    """With a static coupling, the energy observed stays below zero, as without them."""
    late = dict.fromkeys(range(105, 105 + 15 * times, 15), 2500.0)
    records = hand_at_a_wall(world(), late, damping=0.5)
    assert rf.HapticRecords(records).flagged("made_up").sum() == times
    assert records["energy_j"].max() <= 0.0


def test_a_record_has_the_depth_of_missed_cycles(world):
    """Of a hand that leaves the wall during the delay."""
    regular = hand_at_a_wall(world())
    deepest = int(regular["depth_m"].argmax())
    assert regular["depth_m"][deepest] > 0.0
    records = hand_at_a_wall(world(), {deepest: 25e3})
    late = deepest + 1
    assert rf.HapticRecords(records).flagged("made_up")[late]
    end = at_times_of(records, regular)["depth_m"][late]
    # the first of the missed cycles is the deepest
    assert records["depth_m"][late] == pytest.approx(regular["depth_m"][late], rel=1e-6)
    assert end < 0.5 * records["depth_m"][late]


def test_missed_cycles_are_counted(world):
    library = world()
    records = hand_at_a_wall(library, {50: 900.0, 100: 1001.0, 150: 4600.0})
    flagged = rf.HapticRecords(records).flagged("made_up")
    assert flagged.nonzero()[0].tolist() == [101, 151]
    assert library.world_made_up() == 2
    assert library.world_skipped() == 5
    # searches of the missed cycles count as computing
    assert records["compute_us"][[51, 101, 151]] == pytest.approx([20.0, 40.0, 100.0], abs=1e-6)


@pytest.mark.parametrize("took", [120.0, 240.0, 450.0])
def test_missed_cycles_take_half_a_period_or_an_eighth_of_the_delay(world, took):
    """They share the way of the hand where time does not suffice for all of them."""
    free = {"wall": math.inf, "turn": math.inf, "took": took}
    for late, elapsed in ((4600.0, 5), (12e3, 13), (25e3, 26)):
        records = hand_at_a_wall(world(), {100: late}, **free)
        may = max(500.0, 125.0 * elapsed)
        made = round(records["compute_us"][101] / took) - 1
        assert made == min(elapsed - 1, int(may / took)) >= 1
        # less than without them
        assert np.abs(records["force"][100:, 0]).max() < 50.0 * VELOCITY * elapsed / 10.0
        # the loop is punctual again within three cycles
        assert records["late_us"][101 + 3 :].max() == 0.0


def test_cycles_that_fill_their_period_are_not_made_up_for(world):
    library = world()
    records = hand_at_a_wall(library, took=1200.0)
    assert library.world_skipped() > 20
    assert not (records["flags"] & MADE_UP).any()


def test_a_search_that_takes_longer_ends_the_missed_cycles(world):
    """Their number follows from the cycle before; the clock has the last word."""
    library = world()
    spent = np.full((400, 2), 20.0)
    spent[101:103] = 400.0
    library.world_search(len(spent), spent.ctypes.data)
    library.world_push(0.0, STALL)
    late = np.zeros(200)
    late[100] = 4600.0
    records, _ = run(library, 200, late)
    # two of four missed cycles, and the late one itself
    assert records["compute_us"][101] == pytest.approx(820.0, abs=1e-6)
    assert records["late_us"][102] < 1000.0


def test_missed_cycles_are_no_faster_than_others(world):
    """Each of them moves the object by no more than the largest step of the coupling."""
    step = 0.8 * VELOCITY * DT
    for late in ({}, {100: 4600.0}):
        library = world()
        library.world_static(0.5, step)
        library.world_wall(math.inf, WALL_STIFFNESS, math.inf)
        asleep = np.zeros(200)
        for number, microseconds in late.items():
            asleep[number] = microseconds
        records, _ = run(library, 200, asleep)
        moved = np.diff(records["object_position"][:, 0])
        cycles = np.rint(np.diff(records["time_s"]) / DT)
        assert (moved <= 0.5 * step * cycles + 1e-12).all()
        assert cycles.max() == (5.0 if late else 1.0)
        assert moved[100] == pytest.approx(0.5 * step * cycles[100], rel=1e-9)
