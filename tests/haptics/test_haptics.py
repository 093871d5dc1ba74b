"""Haptic sessions: a cycle against closed forms, the thread against the same cycles one by one."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import gc
import math
import pickle
import socket
import struct
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import reducedfem as rf
from moments import LONG, free_port, interrupted
from reducedfem import _core

UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])


# ---- a small scene: a ball with a field, above a floor of points ---------------------------------


def floor_of_points(n=61, size=0.2):
    """Return points of the plane z = 0 whose object lies below it."""
    x = np.linspace(-0.5 * size, 0.5 * size, n)
    grid = np.stack(np.meshgrid(x, x, [0.0], indexing="ij"), axis=-1).reshape(-1, 3)
    order = np.argsort(np.abs(grid[:, :2]).max(axis=1), kind="stable")
    return rf.Pointshell(grid[order], np.tile([0.0, 0.0, -1.0], (len(grid), 1)))


@pytest.fixture(scope="module")
def ball():
    """Return the contact of a ball of 2 cm with a floor."""
    field = rf.SphereField((0.0, 0.0, 0.0), 0.02)
    return rf.PenaltyContact(
        rf.PointTree(floor_of_points()), field, 200.0, warm_nodes=None, max_points=None
    )


COUPLING = rf.VirtualCoupling(500.0, 1.0)


def held(z, duration=10.0):
    """Return times and positions of a hand that stays at a height."""
    return [0.0, duration], [[0.0, 0.0, z], [0.0, 0.0, z]]


def descent(low=0.012, high=0.03, duration=0.4):
    """Return times and positions of a hand that goes down and up again."""
    z = [high, high, low, low, high]
    return np.linspace(0.0, duration, 5), np.array([[0.0, 0.0, value] for value in z])


def session(contact, device, **options):
    """Return a session without waiting, ramp or limits unless they are asked for."""
    options = {"coupling": COUPLING, "ramp": 0.0, "budget_us": 0.0} | options
    return rf.HapticSession(contact, device, **options)


def test_a_ball_rests_where_springs_are_in_balance(ball):
    """Coupling against the penalty of all points of the floor that are inside the ball."""
    with session(ball, rf.ReplayDevice(*held(0.014))) as running:
        running.stop()
    made = session(ball, rf.ReplayDevice(*held(0.014)))
    records = made.run(200).array
    z = records["object_position"][-1, 2]
    points = floor_of_points().points
    # each point pushes the ball's centre away
    way = np.linalg.norm(points - [0.0, 0.0, z], axis=1)
    depth = np.maximum(0.02 - way, 0.0)
    assert np.count_nonzero(depth) > 10
    assert 200.0 * (depth * z / way).sum() == pytest.approx(500.0 * (z - 0.014), rel=1e-9)
    assert records["force"][-1] == pytest.approx([0.0, 0.0, 500.0 * (z - 0.014)], abs=1e-12)
    assert records["depth_m"][-1] == pytest.approx(depth.max(), rel=1e-9)
    assert records["touching"][-1] == np.count_nonzero(depth)
    made.close()


def test_points_have_their_weights():
    """Areas three times as large on one side: a torque, as of the contact by itself."""
    shell = floor_of_points(31)
    areas = np.where(shell.points[:, 0] < 0.0, 0.5, 1.5)
    contact = rf.PenaltyContact(
        rf.PointTree(rf.Pointshell(shell.points, shell.normals, areas=areas)),
        rf.SphereField((0.0, 0.0, 0.0), 0.02), 200.0, warm_nodes=None, area_weights=True,
        direction="normal",
    )  # fmt: skip
    last = session(contact, rf.ReplayDevice(*held(0.014))).run(200).array[-1]  # at rest
    alone = contact.evaluate(last["object_position"], last["object_quaternion"])
    np.testing.assert_allclose(last["contact_force"], alone.force, rtol=1e-9)
    np.testing.assert_allclose(last["contact_torque"], alone.torque, rtol=1e-9, atol=1e-12)
    assert abs(last["contact_torque"][1]) > 1e-4 * abs(last["contact_force"][2])


def test_the_thread_runs_the_same_cycles(ball):
    """Bit for bit: a session in its thread, and one made cycle by cycle."""
    hand = rf.SimulatedHand(*descent(), mass=0.1, stiffness=400.0, damping=6.0)
    again = rf.SimulatedHand(*descent(), mass=0.1, stiffness=400.0, damping=6.0)
    threaded = session(ball, hand, duration=0.4)
    with threaded:
        assert threaded.wait(LONG)
    found = threaded.records(drain=True).array
    expected = session(ball, again)
    wanted = expected.run(400).array
    # a machine that stalls leaves cycles out, from where on the two differ
    same = found["time_s"][:400] == wanted["time_s"]
    n = 400 if same.all() else int(np.argmin(same))
    assert n == 400 or threaded.report().skipped > 0
    assert n > 0
    for name in ("object_position", "object_quaternion", "force", "torque", "energy_j", "rank"):
        assert np.array_equal(found[name][:n], wanted[name][:n]), name
    assert threaded.report().phase == "finished"
    expected.close()


def test_forces_fade_in_and_out(ball):
    made = session(ball, rf.ReplayDevice(*held(0.014)), ramp=0.1)
    force = np.linalg.norm(made.run(150).array["force"], axis=1)
    assert force[0] <= 0.011 * force[-1]
    assert force[49] == pytest.approx(0.5 * force[-1], rel=0.05)
    made.enable(False)
    force = np.linalg.norm(made.run(101).array["force"], axis=1)
    assert force[0] > 0.9 * force.max()
    assert force[-1] == 0.0
    made.close()


@pytest.mark.parametrize(
    ("what", "most", "slew"),
    [("force", 0.5, 20.0), ("torque", 0.002, 0.1)],
    ids=["force", "torque"],
)
def test_forces_are_clamped_and_slewed(ball, what, most, slew):
    """Each by limits of its own: held beside its middle, the ball turns the hand as well."""
    beside = rf.PenaltyContact(
        ball.tree, ball.field, 200.0, warm_nodes=None, max_points=None, grasp=(0.02, 0.0, 0.0)
    )
    free = session(beside, rf.ReplayDevice(*descent(duration=0.2))).run(200)
    limits = {f"max_{what}": most, f"{what}_slew": slew}
    made = session(beside, rf.ReplayDevice(*descent(duration=0.2)), **limits)
    records = made.run(200)
    size = np.linalg.norm(records[what], axis=1)
    assert np.linalg.norm(free[what], axis=1).max() > 1.2 * most
    assert size.max() == pytest.approx(most, rel=1e-12)
    steps = np.linalg.norm(np.diff(records[what], axis=0), axis=1)
    assert np.linalg.norm(np.diff(free[what], axis=0), axis=1).max() > 1.2 * slew * 1e-3
    assert steps.max() <= slew * 1e-3 * (1.0 + 1e-12)
    # the other one is as it would be
    other = {"force": "torque", "torque": "force"}[what]
    assert np.array_equal(records[other], free[other])
    assert records.flagged("clamped").any()
    assert records.flagged("slewed").any()
    made.close()


def test_a_devices_own_limits_hold(ball):
    hand = rf.SimulatedHand(*descent(), max_force=0.25)
    made = session(ball, hand, max_force=5.0)
    assert np.linalg.norm(made.run(400).array["force"], axis=1).max() <= 0.25 * (1.0 + 1e-12)
    made.close()


def test_energy_is_counted_exactly(ball):
    """Force times way, over the intervals in which the device holds it."""
    made = session(ball, rf.SimulatedHand(*descent()))
    records = made.run(400).array
    way = np.diff(records["device_position"], axis=0)
    expected = np.concatenate([[0.0], np.cumsum(np.sum(records["force"][:-1] * way, axis=1))])
    assert np.allclose(records["energy_j"], expected, rtol=0, atol=1e-15)
    made.close()


def stiff_floor():
    """Return the contact of the ball with a floor that hardly gives."""
    field = rf.SphereField((0.0, 0.0, 0.0), 0.02)
    return rf.PenaltyContact(
        rf.PointTree(floor_of_points()), field, 5e4, warm_nodes=None, max_points=None
    )


def test_a_spring_that_is_too_stiff_for_its_rate_gives_energy_and_passivity_takes_it():
    """A coupling far stiffer than mass and rate allow oscillates; the controller calms it."""
    ball = stiff_floor()
    stiff = rf.VirtualCoupling(4e4, 1.0, damping=0.0)
    hand = {"mass": 0.05, "stiffness": 100.0, "damping": 1.0}
    wild = session(ball, rf.SimulatedHand(*descent(duration=1.0), **hand), coupling=stiff)
    wild_records = wild.run(1000).array
    assert wild_records["energy_j"].max() > 0.01
    wild.close()
    for allowance in (0.0, 1e-4, 1e-3):
        calm = session(
            ball, rf.SimulatedHand(*descent(duration=1.0), **hand), coupling=stiff,
            passivity=True, energy_allowance=allowance,
        )  # fmt: skip
        assert calm.run(1000).array["energy_j"].max() <= allowance + 1e-9
        calm.close()


# ---- time ----------------------------------------------------------------------------------------


def test_contact_stops_descending_when_time_is_up():
    """Whatever else the contact was made to stop at: here at nothing, and at a node count."""
    i, j = np.meshgrid(np.arange(201), np.arange(201), indexing="ij")
    levels = np.select([(i % 16 == 0) & (j % 16 == 0), (i % 4 == 0) & (j % 4 == 0)], [0, 1], 2)
    points = np.stack([1e-3 * (i - 100.0), 1e-3 * (j - 100.0), 0.0 * i], axis=-1)
    order = np.argsort(levels.ravel(), kind="stable")
    shell = rf.Pointshell(
        points.reshape(-1, 3)[order],
        np.tile([0.0, 0.0, -1.0], (levels.size, 1)),
        levels=levels.ravel()[order],
    )
    # all points are deep inside of the box, so that nothing is culled
    box = rf.BoxField((-0.2, -0.2, -0.2), (0.2, 0.2, 0.2))
    for options in ({"warm_nodes": None}, {"warm_nodes": 10**6}):
        contact = rf.PenaltyContact(rf.PointTree(shell), box, 1.0, **options)
        found = {}
        for budget in (0.0, 1.0):
            made = session(contact, rf.ReplayDevice(*held(0.0)), budget_us=budget)
            found[budget] = made.run(50).array
            made.close()
        assert (found[0.0]["level"] == 2).all()
        assert (found[0.0]["touching"] == 201 * 201).all()
        assert (found[1.0]["level"] == 0).all()
        assert (found[1.0]["touching"] == 13 * 13).all()


# ---- the rate matters, as in B07 -----------------------------------------------------------------


def oscillation(ball, rate, stiffness):
    """Return how much a hand that rests on the floor still moves at the end [m]."""
    coupling = rf.VirtualCoupling(stiffness, 1.0)
    hand = rf.SimulatedHand(*descent(duration=0.2, high=0.022)[:2], mass=0.05, stiffness=50.0,
                            damping=0.5)  # fmt: skip
    made = session(ball, hand, rate=rate, coupling=coupling)
    z = made.run(int(rate)).array["device_position"][:, 2]
    made.close()
    return np.ptp(z[-int(0.1 * rate) :])


def test_higher_rates_render_stiffer_springs():
    """Stability is lost at a stiffness that grows with the rate (B07 chapter 4, first part)."""
    contact = stiff_floor()
    slow = [oscillation(contact, 250.0, k) for k in (200.0, 3000.0)]
    fast = [oscillation(contact, 2000.0, k) for k in (200.0, 3000.0)]
    assert slow[0] < 1e-3 > fast[0]
    assert fast[1] < 1e-3 < slow[1]


# ---- workspace -----------------------------------------------------------------------------------


def test_workspace_scales_aligns_and_starts(ball):
    # the device's x is the world's z; twice as far as in the world
    alignment = np.array([math.sqrt(0.5), 0.0, -math.sqrt(0.5), 0.0])
    start = ((0.0, 0.0, 0.05), tuple(UPRIGHT))
    device = rf.ReplayDevice([0.0, 0.1], [[1.0, 2.0, 3.0], [1.02, 2.0, 3.0]])
    made = session(ball, device, workspace=rf.Workspace(2.0, alignment=alignment, start=start))
    records = made.run(101).array
    assert records["hand_position"][0] == pytest.approx([0.0, 0.0, 0.05], abs=1e-15)
    assert records["hand_position"][-1] == pytest.approx([0.0, 0.0, 0.06], abs=1e-12)
    made.close()


def test_the_clutch_lets_the_device_move_alone(ball):
    times = [0.0, 0.010, 0.020, 0.030]
    positions = [[0.0, 0, 0.05], [0.01, 0, 0.05], [0.03, 0, 0.05], [0.04, 0, 0.05]]
    device = rf.ReplayDevice(times, positions, buttons=[0, 2, 0, 0])
    made = session(ball, device, workspace=rf.Workspace(clutch=1))
    records = made.run(31)
    x = records.array["hand_position"][:, 0]
    # pressed from the sample at 10 ms on: the manipulandum stays where it was before
    assert x[9] == pytest.approx(0.009, abs=1e-12)
    assert np.ptp(x[9:21]) < 1e-15
    assert x[30] == pytest.approx(0.019, rel=1e-6)
    assert np.array_equal(np.flatnonzero(records.flagged("clutched")), np.arange(10, 20))
    made.close()


# ---- snapshots, records, reports -----------------------------------------------------------------


def test_snapshots_are_the_newest_cycle(ball):
    made = session(ball, rf.ReplayDevice(*held(0.014)))
    with pytest.raises(rf.InputError, match="no cycle has ended yet"):
        made.snapshot()
    last = made.run(70).array[-1]
    seen = made.snapshot()
    assert seen.fresh
    assert seen.record == last
    assert not made.snapshot().fresh
    assert seen.time == pytest.approx(0.069)
    assert np.array_equal(seen.position, last["object_position"])
    assert seen.q == (None,)
    assert seen.field_q is None
    made.close()


def test_a_file_holds_every_cycle(ball, tmp_path):
    path = tmp_path / "session.npy"
    # more than the thread keeps, which is enough for all that a machine may hold up the writer
    made = session(ball, rf.SimulatedHand(*descent()), duration=2.5, record=path, keep_records=2048)
    with made:
        assert not path.exists()
        assert made.wait(LONG)
    report = made.report()
    assert report.ticks > 2048
    records = rf.HapticRecords.load(path)
    assert report.unrecorded == 0
    assert len(records) == report.ticks
    assert np.array_equal(records.array["tick"], np.arange(report.ticks))
    assert [entry.name for entry in tmp_path.iterdir()] == ["session.npy"]
    # it can be played again, and written again
    played = session(ball, rf.ReplayDevice.from_records(records))
    again = played.run(200).array
    way = [  # cycles were left out where the machine was late
        np.interp(again["time_s"], records.array["time_s"], axis)
        for axis in records.array["device_position"].T
    ]
    assert np.allclose(again["device_position"].T, way, atol=1e-9)
    played.close()
    records.save(tmp_path / "copy.npy")
    copy = rf.HapticRecords.load(tmp_path / "copy.npy")
    assert np.array_equal(copy.array, records.array)


def test_records_are_taken_by_name_cycle_slice_and_mask(ball):
    made = session(ball, rf.SimulatedHand(*descent()))
    records = made.run(400)
    made.close()
    array = records.array
    assert np.array_equal(records["force"], array["force"])
    assert records[7] == array[7] == list(records)[7]
    assert np.array_equal(records[100:200].array, array[100:200])
    touched = records[records["touching"] > 0]
    assert 0 < len(touched) < len(records)
    assert (touched["depth_m"] > 0.0).all()
    text = repr(records)
    assert "400 cycles from 0 to 0.399 s" in text
    assert f"{len(touched)} with contact" in text
    assert "0 cycles" in repr(records[:0])
    with pytest.raises(rf.InputError, match="name must be one of tick, time_s, .*got 'forces'"):
        records["forces"]
    with pytest.raises(IndexError):
        records[400]


def test_a_session_tells_what_it_is(ball):
    hand = rf.SimulatedHand(*descent())
    made = session([ball], hand, rate=500.0)
    assert made.device is hand
    assert made.contacts == (ball,)
    assert (made.rate, made.dt) == (500.0, 0.002)
    made.run(3)
    assert repr(made) == "<HapticSession: ready, 3 cycles at 500 Hz, <SimulatedHand: 0.4 s>>"
    assert repr(made.snapshot()) == (
        "<HapticSnapshot: at 0.004 s, (0, 0, 0) N on the hand, 0 points touch>"
    )
    for change in (copy.copy, pickle.dumps):
        with pytest.raises(rf.InputTypeError, match="neither copied nor pickled"):
            change(made)
    with pytest.raises(rf.InputError, match="was not started: use it in a with block"):
        made.wait(0.1)
    made.close()


def test_cycles_made_before_ctrl_c_are_kept(ball):
    """A signal that comes while cycles are made ends them; what was made is not lost."""
    made = session(ball, rf.ReplayDevice(*held(0.014, 1e5)), keep_records=64)
    with interrupted(lambda: made.report().ticks > 64):
        made.run(50_000_000)
    records = made.records(drain=True)
    assert made.report().ticks == len(records)
    assert len(records) > 64
    assert np.array_equal(records["tick"], np.arange(len(records)))
    assert len(made.records(drain=True)) == 0
    made.close()


def test_a_full_disk_is_told(tmp_path):
    """Records written before the disk was full are in the file; the device is free afterwards."""
    done = run_script(
        f"""
        import resource, signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a limit of this size is a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        os.chdir({str(tmp_path)!r})
        full = reducedfem.HapticSession(
            contact, reducedfem.ReplayDevice([0.0, 60.0], [[0, 0, 0.014]] * 2),
            coupling=coupling, record="session.npy", priority=0)
        full.start()
        while not full._core.status()["file_error"]:
            time.sleep(0.001)
        after(full, 20)
        try:
            full.close()
        except reducedfem.FileFormatError as error:
            print(error)
        # those of the file and those that it did not take: one after the other, none is missing
        written = reducedfem.HapticRecords.load("session.npy")["tick"]
        rest = full.records(drain=True)["tick"]
        print(len(written) > 10 < len(rest))
        print(np.array_equal(np.append(written, rest), np.arange(full.report().ticks)))
        many = made.run(500)
        try:
            many.save("copy.npy")
        except reducedfem.FileFormatError as error:
            print(error)
        made.close()
        reducedfem.HapticSession(contact, full._device, coupling=coupling).close()
        print(os.listdir())
        """
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("only ")
    assert lines[0].endswith("records could be written to 'session.npy': File too large")
    assert lines[1:] == [
        "True",
        "True",
        "cannot write 'copy.npy': File too large",
        "['session.npy']",
    ]


def test_files_that_are_no_records_are_refused(tmp_path):
    other = tmp_path / "other.npy"
    np.save(other, np.zeros(3))
    for path, message in (
        (tmp_path / "missing.npy", "cannot read"),
        (other, "holds no records of a session"),
    ):
        with pytest.raises(rf.FileFormatError, match=message):
            rf.HapticRecords.load(path)


def test_a_file_that_cannot_be_written_is_told_at_the_start(ball, tmp_path):
    made = session(
        ball, rf.ReplayDevice(*held(0.03)), record=tmp_path / "no folder" / "session.npy"
    )
    with pytest.raises(rf.FileFormatError, match="cannot write"):
        made.start()
    assert made.report().phase == "ready"
    made.close()
    made = session(ball, rf.ReplayDevice(*held(0.03)), record=tmp_path)
    with pytest.raises(rf.FileFormatError, match="cannot write .* it is a folder"):
        made.start()
    with pytest.raises(rf.FileFormatError, match="cannot write .* it is a folder"):
        made.run(3).save(tmp_path)
    made.close()
    assert not list(tmp_path.iterdir())


def test_the_report_speaks(ball):
    made = session(ball, rf.SimulatedHand(*descent()))
    made.run(100)
    report = made.report()
    assert report.ticks == 100
    assert 0.0 < report.compute_us["p50"] <= report.compute_us["p99"] <= report.compute_us["max"]
    text = str(report)
    assert 0.0 < report.processor_us["p50"] <= report.compute_us["p50"]
    assert 0 <= report.interrupted <= report.over
    words = ("simulated hand", "p99.9", "100 at 1000 Hz", "deepest contact         0 mm")
    for word in (*words, "of it on a processor    p50"):
        assert word in text
    depth = np.append(0.0, made.run(300)["depth_m"])
    assert made.report().depth == depth.max() > 1e-4
    assert f"deepest contact         {1e3 * depth.max():.3g} mm" in str(made.report())
    made.close()


def test_percentiles_are_those_of_the_records(ball):
    made = session(ball, rf.SimulatedHand(*descent()))
    records, report = made.run(2000), made.report()
    for name in ("compute_us", "processor_us", "late_us", "contact_us"):
        us, told = records[name], getattr(report, name)
        for share_name, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)):
            exact = np.quantile(us, share, method="inverted_cdf")
            assert exact * 0.999 <= told[share_name] <= exact * 1.011 + 0.0101
        assert told["max"] == us.max()
    assert (records["processor_us"] <= records["compute_us"]).all()
    made.close()


# ---- deformation ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def beam():
    """Return a reduced beam, a shell of its upper side and the mesh."""
    n = (12, 3, 3)
    axes = [np.linspace(0.0, size, count + 1) for size, count in zip((0.2, 0.03, 0.03), n)]  # noqa: B905
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    index = np.arange(len(nodes)).reshape([count + 1 for count in n])
    corner = index[:-1, :-1, :-1], index[1:, :-1, :-1], index[1:, 1:, :-1], index[:-1, 1:, :-1]
    upper = index[:-1, :-1, 1:], index[1:, :-1, 1:], index[1:, 1:, 1:], index[:-1, 1:, 1:]
    elements = np.stack([c.ravel() for c in (*corner, *upper)], axis=1)
    mesh = rf.Mesh(nodes, elements)
    solid = rf.Solid(mesh, rf.StVK(1e6, 0.4, 1000.0), fixed=np.flatnonzero(nodes[:, 0] == 0.0))
    reduced = rf.reduce(solid, rf.modal_derivative_basis(solid, k=4, r=6))
    x, y = np.linspace(0.01, 0.2, 30), np.linspace(0.0, 0.03, 7)
    points = np.stack(np.meshgrid(x, y, [0.03], indexing="ij"), axis=-1).reshape(-1, 3)
    shell = rf.Pointshell(points, np.tile([0.0, 0.0, -1.0], (len(points), 1)))
    tree = rf.PointTree(shell, reduced, rf.Embedding(mesh, points))
    return reduced, tree


def test_a_beam_bends_as_by_hand(beam):
    """A session's cycles are those of the classes that a script would call."""
    reduced, tree = beam
    field = rf.SphereField((0.0, 0.0, 0.0), 0.02)
    contact = rf.PenaltyContact(tree, field, 300.0, warm_nodes=None)
    simulation = rf.ImplicitNewmark(reduced, 1e-3, damping=(1.0, 1e-3))
    times = [0.0, 0.05, 0.2]
    positions = np.array([[0.18, 0.015, 0.06], [0.18, 0.015, 0.06], [0.18, 0.015, 0.03]])
    made = session(
        contact, rf.ReplayDevice(times, positions), simulation=simulation, coupled=False
    )  # fmt: skip
    records = made.run(200).array
    assert np.abs(simulation.state.q).max() == 0.0  # the session has a copy

    by_hand = rf.ImplicitNewmark(reduced, 1e-3, damping=(1.0, 1e-3))
    other = rf.PenaltyContact(tree, field, 300.0, warm_nodes=None)
    at = (positions[0], UPRIGHT)
    for record in records:
        hand = (record["hand_position"], record["hand_quaternion"])
        found = other.evaluate(*at, by_hand.state.q)
        step = COUPLING.step(hand, *at, found)
        at = (step.position, step.quaternion)
        by_hand.step(found.reduced_force)
        assert np.allclose(record["object_position"], at[0], rtol=0, atol=1e-12)
        assert np.allclose(record["contact_force"], found.force, rtol=1e-9, atol=1e-12)
    assert np.linalg.norm(by_hand.state.q) > 1e-3
    assert np.allclose(made.snapshot().q[0], by_hand.state.q, rtol=1e-9, atol=1e-14)
    made.close()
    # and afterwards the simulation is where the session left it
    assert np.array_equal(simulation.state.q, made.snapshot().q[0])
    assert simulation.state.time == pytest.approx(0.2)


def test_several_contacts_add_up(ball):
    hand = rf.ReplayDevice(*held(0.014))
    once = session(ball, hand, coupling=COUPLING)
    single = once.run(100).array[-1]
    once.close()
    twice = session([ball, ball], hand, coupling=rf.VirtualCoupling(1000.0, 2.0))
    double = twice.run(100).array[-1]
    twice.close()
    assert double["contact_force"] == pytest.approx(2.0 * single["contact_force"], rel=1e-9)
    assert double["touching"] == 2 * single["touching"]


def test_steps_of_simulations_divide_the_cycle(beam):
    reduced, tree = beam
    contact = rf.PenaltyContact(tree, rf.SphereField((0, 0, 0), 0.02), 300.0)
    device = rf.ReplayDevice(*held(0.1))
    with pytest.raises(rf.InputError, match=r"steps of 0\.0007 s, of which no whole number"):
        session(contact, device, simulation=rf.ImplicitNewmark(reduced, 7e-4))
    fine = rf.ImplicitNewmark(reduced, 2.5e-4)
    made = session(contact, device, simulation=fine)
    made.run(10)
    made.close()
    assert fine.report.steps == 40


# ---- ends and failures ---------------------------------------------------------------------------


def test_close_is_fine_from_any_state(ball):
    device = rf.ReplayDevice(*held(0.03))
    for begin in (lambda s: None, lambda s: s.start(), lambda s: s.run(3)):
        made = session(ball, device)
        begin(made)
        made.close()
        made.close()
        made.stop()
    # the device is free again each time; while a session lives it is not
    first = session(ball, device)
    with pytest.raises(rf.InputError, match="the device belongs to another session"):
        session(ball, device)
    first.close()
    session(ball, device).close()
    with pytest.raises(rf.InputError, match="the session is closed"):
        first.start()


def test_a_session_goes_on_after_a_stop(ball):
    made = session(ball, rf.ReplayDevice(*held(0.03)))
    for _ in range(3):
        made.start()
        time.sleep(0.02)
        made.stop()
    ticks = made.records(drain=True).array["tick"]
    assert np.array_equal(ticks, np.arange(len(ticks)))
    assert made.report().phase == "stopped"
    made.close()


def moved_while_closed(to, quaternion=UPRIGHT, **options):
    """Return a device that presses until 0.2 s, is then elsewhere, and goes down by 2 mm."""
    way = np.array([[0, 0, 0.014], [0, 0, 0.014], to, to, to - np.array([0, 0, 0.002])])
    turns = [UPRIGHT, UPRIGHT, quaternion, quaternion, quaternion]
    return rf.ReplayDevice([0.0, 0.1995, 0.1996, 0.4, 0.5], way, turns, **options)


@pytest.mark.parametrize(
    "coupling", [COUPLING, rf.DynamicCoupling(500.0, 1.0, 0.02, 1e-5)], ids=["static", "dynamic"]
)
@pytest.mark.parametrize("start", [None, ((0.0, 0.0, 0.014), tuple(UPRIGHT))])
def test_a_session_goes_on_as_after_a_clutch(ball, coupling, start):
    """The hand takes up the object where that was left: wherever it has gone, nothing pulls it."""
    quaternion = np.array([0.6, 0.0, 0.8, 0.0])
    hand = moved_while_closed(np.array([0.2, -0.3, 0.1]), quaternion)
    workspace = rf.Workspace(start=start)
    made = session(ball, hand, coupling=coupling, workspace=workspace, ramp=0.1, force_slew=50.0)
    before = made.run(200).array
    pressed = before["force"][-1, 2]
    assert pressed > 0.5
    made.stop()
    again = made.run(301).array
    # no work was done in between, and forces fade in
    assert again["energy_j"][0] == before["energy_j"][-1]
    assert again["hand_position"][0] == pytest.approx(before["object_position"][-1], abs=1e-12)
    assert np.linalg.norm(again["force"][:200], axis=1).max() < 0.3 * pressed
    # what touches stays in touch, and the hand feels it when it goes on
    assert again["object_position"][199] == pytest.approx(before["object_position"][-1], abs=1e-3)
    lowered = again["hand_position"][-1] - again["hand_position"][0]
    assert lowered == pytest.approx([0.0, 0.0, -0.002], abs=1e-12)
    assert again["force"][-1, 2] > 2.0 * again["force"][200, 2]
    # of device and world with one origin: it is so again
    made.recentre()
    last = made.run(10).array
    place = [0.0, 0.0, 0.014] if start else last["device_position"][0]
    assert last["hand_position"][0] == pytest.approx(place, abs=1e-12)
    made.close()


def test_forces_that_faded_out_with_a_thread_fade_in_again(ball):
    way = [[0.0, 0.0, 0.014], [0.0, 0.0, 0.014], [0.0, 0.0, 0.011], [0.0, 0.0, 0.011]]
    made = session(ball, rf.ReplayDevice([0.0, 5.0, 5.1, 20.0], way), ramp=0.1)
    made.start()
    made.stop()
    made.records(drain=True)
    force = made.run(10_000).array["force"]
    assert force[0, 2] <= 0.02 * force[-1, 2]
    assert force[-1, 2] > 0.5
    made.close()


def test_a_pause_of_the_process_ends_no_session():
    """The watchdog has slept as long as the loop: nothing is stuck, and forces fade in again."""
    done = run_script(
        """
        import subprocess
        reducedfem.haptics._STALL = 0.5  # which the machine may take from the loop alone
        made.close()
        made = reducedfem.HapticSession(contact, device, coupling=coupling, ramp=0.2)
        pauses = "for i in 1 2 3; do kill -STOP $0; sleep 1.2; kill -CONT $0; sleep 0.05; done"
        os.environ.pop("LD_PRELOAD", None)  # a sanitizer is for this program, not for the shell
        made.start()
        subprocess.run(["sh", "-c", pauses, str(os.getpid())], check=True)
        after(made, 5)
        made.stop()
        report = made.report()
        print(report.phase, report.failure, report.skipped > 2000, report.paused > 0)
        print(f"{report.paused}; forces faded in after each" in str(report))
        records = made.records()
        paused = records.flagged("paused")
        share, most = 0.0, []
        for late in paused:
            share = 0.0 if late else min(share + 1e-3 / 0.2, 1.0)
            most.append(share)
        force = np.linalg.norm(records["force"], axis=1)
        print(paused.sum() == report.paused, (force <= 0.9 * np.array(most)).all())
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "stopped  True True\nTrue\nTrue True\n"


def test_what_is_running_is_not_started_twice(ball):
    made = session(ball, rf.ReplayDevice(*held(0.03)))
    with made:
        with pytest.raises(rf.InputError, match="^the session is running: stop it first$"):
            made.start()
        with pytest.raises(rf.InputError, match="^the session is running: stop it first$"):
            made.run(1)


def exploding(beam):
    """Return a session whose beam is at a velocity that no step leads on from."""
    reduced, tree = beam
    contact = rf.PenaltyContact(tree, rf.SphereField((0, 0, 0), 0.02), 300.0)
    simulation = rf.ImplicitNewmark(reduced, 1e-3)
    simulation.reset(qdot=np.full(6, 1e308), qddot=np.zeros(6))
    device = rf.ReplayDevice([0.0, 10.0], [[0.18, 0.015, 0.04]] * 2)
    return session(contact, device, simulation=simulation), simulation


def test_a_simulation_that_diverges_stops_the_session(beam):
    """Told, no force, and the last good state is kept."""
    made, simulation = exploding(beam)
    with pytest.raises(rf.DivergedError, match=r"cycle \d+: the simulation left the finite"):
        made.run(5000)
    report = made.report()
    assert report.phase == "failed"
    assert "left the finite numbers" in report.failure
    records = made.records(drain=True)
    assert records.flagged("diverged")[-1]
    assert not records["force"][-1].any()
    assert not records["torque"][-1].any()
    with pytest.raises(rf.InputError, match="the session has failed"):
        made.start()
    made.close()
    assert np.isfinite(simulation.state.q).all()


class Listener:
    """A client of a bridge over UDP that hears what the device is told."""

    def __init__(self):
        self.to = ("127.0.0.1", free_port())
        self.device = rf.UdpDevice(self.to, wait=LONG)

    def ran(self, made, place, cycles):
        """Return why cycles at a place fail, and all wrenches that were written."""
        packet = bytearray(136)
        struct.pack_into("<4sHHQd7d", packet, 0, b"RFDS", 1, 136, 1, 0.0, *place, *UPRIGHT)
        ended, wrenches = threading.Event(), []

        def listen():
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
                own.bind(("127.0.0.1", 0))
                own.settimeout(0.01)
                over = False
                while not over:
                    over = ended.is_set()
                    with contextlib.suppress(TimeoutError, ConnectionError):
                        own.sendto(packet, self.to)
                        while True:
                            wrenches.append(struct.unpack_from("<6d", own.recv(1000), 32))

        thread = threading.Thread(target=listen)
        thread.start()
        try:
            with pytest.raises(rf.DivergedError) as failure:
                made.run(cycles)
        finally:
            ended.set()
            thread.join()
        return str(failure.value), wrenches


def test_the_last_that_a_device_is_told_of_a_simulation_that_diverges_is_no_force(beam, ball):
    """The force of the cycle has gone out when the simulation steps: it is taken back."""
    reduced, tree = beam
    listener = Listener()
    contacts = [ball, rf.PenaltyContact(tree, ball.field, 300.0)]
    simulation = rf.ImplicitNewmark(reduced, 1e-3)
    simulation.reset(qdot=np.full(6, 1e308), qddot=np.zeros(6))
    made = session(contacts, listener.device, simulation=[None, simulation], coupled=False)
    told, wrenches = listener.ran(made, (0.0, 0.0, 0.014), 5000)
    assert "left the finite numbers" in told
    assert max(wrench[2] for wrench in wrenches) > 0.1
    assert wrenches[-1] == (0.0,) * 6
    assert not made.records(drain=True)["force"][-1].any()
    made.close()


def test_forces_beyond_the_numbers_are_none(ball):
    """A contact of 1e308 N/m: its points add up to more than there are numbers."""
    listener = Listener()
    contact = rf.PenaltyContact(ball.tree, ball.field, 1e308, warm_nodes=None, max_points=None)
    made = session(contact, listener.device)
    told, wrenches = listener.ran(made, (0.0, 0.0, 0.014), 10)
    assert wrenches
    assert set(wrenches) == {(0.0,) * 6}
    report = made.report()
    assert (report.phase, report.failure) == ("failed", told)
    last = made.records(drain=True).array[-1]
    assert last["flags"] != 0
    assert not last["force"].any()
    assert not last["torque"].any()
    made.close()


def test_a_failure_in_the_thread_is_raised_at_the_end(beam):
    made, _ = exploding(beam)
    with pytest.raises(rf.DeviceError, match="left the finite numbers"), made:
        assert made.wait(LONG)


def test_commands_change_the_loop(ball):
    made = session(ball, rf.ReplayDevice(*held(0.014)))
    soft = made.run(100).array[-1]
    made.coupling = dataclasses.replace(COUPLING, stiffness=1000.0)
    stiff = made.run(100).array[-1]
    assert stiff["force"][2] > 1.2 * soft["force"][2]
    with pytest.raises(rf.InputTypeError, match="coupling must be a VirtualCoupling"):
        made.coupling = 500.0
    for _ in range(64):
        made.enable(True)
    with pytest.raises(rf.InputError, match="64 commands wait already"):
        made.enable(True)
    made.run(1)
    made.enable(True)
    made.close()


def test_dynamic_coupling_runs_too(ball):
    coupling = rf.DynamicCoupling(500.0, 1.0, 0.02, 1e-5)
    made = session(ball, rf.ReplayDevice(*held(0.014)), coupling=coupling)
    static = session(ball, rf.ReplayDevice(*held(0.014)))
    rest = made.run(1000).array[-1]["object_position"]
    assert rest == pytest.approx(static.run(200).array[-1]["object_position"], abs=1e-9)
    made.close()
    static.close()


def test_a_dynamic_coupling_feels_how_fast_the_hand_turns(ball):
    """Its dampers are those of the velocity and the turn from sample to sample."""
    times, turn = 1e-3 * np.arange(100), np.array([0.6, -0.2, 0.3])
    angle = 2.0 * np.sin(30.0 * times) * np.linalg.norm(turn)
    axis = turn / np.linalg.norm(turn)
    turned = np.column_stack([np.cos(0.5 * angle), np.outer(np.sin(0.5 * angle), axis)])
    dynamic = rf.DynamicCoupling(500.0, 1.0, mass=0.02, inertia=1e-4)
    made = session(ball, rf.ReplayDevice(times, [[0, 0, 0.03]] * 100, turned), coupling=dynamic)
    records = made.run(100).array
    made.close()
    place, quaternion, velocity = (0, 0, 0.03), records["object_quaternion"][0], np.zeros(6)
    for k in range(1, 100):
        speed = np.append(np.zeros(3), axis * (angle[k] - angle[k - 1]) / 1e-3)
        step = dynamic.step((place, turned[k]), place, quaternion, None, velocity=velocity,
                            manipulandum_velocity=speed, dt=1e-3)  # fmt: skip
        quaternion, velocity = step.quaternion, step.velocity
        assert records["object_quaternion"][k] == pytest.approx(quaternion, abs=1e-9)
        # wherever the device and the world begin, the first sample is no motion
        assert records["object_position"][k] == pytest.approx(place, abs=1e-12)
    assert np.ptp(records["object_quaternion"][:, 1]) > 0.1


def test_what_is_recentred_begins_anew(ball):
    """At rest, whatever its velocity was, and with all of the coupling."""
    way = rf.ReplayDevice([0.0, 0.1, 9.0], [[0, 0, 0.03], [0.02, 0, 0.03], [0.02, 0, 0.03]])
    dynamic = rf.DynamicCoupling(500.0, 1.0, mass=0.02, inertia=1e-5, max_depth=1e-2, reach=0.02)
    made = session(ball, way, coupling=dynamic)
    records = made.run(101)
    assert records["share"][0] == 1.0
    assert np.diff(records["object_position"][-2:, 0]) > 1e-4
    made.recentre()
    records = made.run(50)
    made.close()
    assert records["share"][0] == 1.0
    there = np.tile([0.02, 0.0, 0.03], (50, 1))
    assert records["object_position"] == pytest.approx(there, abs=1e-12)
    # also where it begins in contact, less deep than would need relief
    made = session(ball, rf.ReplayDevice(*held(0.018)), coupling=dynamic)
    assert made.run(1)["share"][0] == 1.0
    made.close()


def test_a_coupling_that_becomes_dynamic_again_begins_at_rest(ball):
    """The velocity of the last dynamic cycle, however long ago, flings nothing away."""
    way = rf.ReplayDevice([0.0, 0.1, 9.0], [[0, 0, 0.03], [0.02, 0, 0.03], [0.02, 0, 0.03]])
    dynamic = rf.DynamicCoupling(500.0, 1.0, mass=0.02, inertia=1e-5)
    made = session(ball, way, coupling=dynamic)
    made.run(100)
    made.coupling = COUPLING
    there = made.run(100).array[-1]["object_position"]
    assert there == pytest.approx([0.02, 0.0, 0.03], abs=1e-12)
    made.coupling = dynamic
    assert made.run(50)["object_position"] == pytest.approx(np.tile(there, (50, 1)), abs=1e-12)
    made.close()


def test_python_does_not_disturb_the_loop(ball):
    """While threads of Python spin and garbage is collected, cycles compute as fast as before."""
    made = session(ball, rf.SimulatedHand(*descent()), duration=0.5)
    done = threading.Event()

    def spin():
        while not done.is_set():
            sum(i * i for i in range(1000))

    spinners = [threading.Thread(target=spin) for _ in range(2)]
    for thread in spinners:
        thread.start()
    with made:
        while not made.wait(0.02):
            gc.collect()
            made.snapshot()
    done.set()
    for thread in spinners:
        thread.join()
    report = made.report()
    assert report.ticks >= 500
    # who waits for Python waits 5 ms; single cycles may be interrupted by others (bench_haptics)
    assert report.compute_us["p50"] < 500.0


@pytest.mark.parametrize(
    ("ending", "code"),
    [("pass", 0), ("sys.exit(3)", 3), ("raise ValueError('mine')", 1), ("os._exit(4)", 4)],
)
def test_a_program_ends_while_a_session_runs(ending, code):
    done = run_script(f"made.start(); after(made, 20); {ending}")
    assert done.returncode == code
    if code != 1:
        assert done.stderr == ""


def test_ctrl_c_ends_a_session():
    done = run_script(
        """
        import signal, threading
        def press():
            after(made, 100)
            os.kill(os.getpid(), signal.SIGINT)
        try:
            with made:
                threading.Thread(target=press).start()
                made.wait()
        except KeyboardInterrupt:
            print(made.report().phase)
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "stopped\n"


def test_a_fork_leaves_the_session_to_its_parent():
    done = run_script(
        """
        made.start()
        after(made, 20)
        child = os.fork()
        if child == 0:
            made.close()
            try:
                made.start()
            except reducedfem.InputError as error:
                print(error, flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        after(made, 20)
        print(made.report().phase)
        made.close()
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "the session belongs to the process that made it\nrunning\n"


def test_a_fork_that_ends_leaves_the_file_to_its_parent(tmp_path):
    done = run_script(
        f"""
        os.chdir({str(tmp_path)!r})
        kept = reducedfem.HapticSession(
            contact, reducedfem.ReplayDevice([0.0, 60.0], [[0, 0, 0.014]] * 2),
            coupling=coupling, record="session.npy")
        kept.start()
        after(kept, 20)
        child = os.fork()
        if child == 0:
            sys.exit()  # with all that is done at an interpreter's exit
        os.waitpid(child, 0)
        after(kept, 20)
        kept.close()
        ticks = reducedfem.HapticRecords.load("session.npy").array["tick"]
        print(np.array_equal(ticks, np.arange(kept.report().ticks)), os.listdir())
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "True ['session.npy']\n"


def run_script(body):
    """Run a program that has a session `made`, not started."""
    program = textwrap.dedent(
        """
        import os, sys, time
        import numpy as np
        import reducedfem
        reducedfem.haptics._STALL = 5.0
        def after(session, ticks):
            wanted = session.report().ticks + ticks
            while session.report().ticks < wanted:
                assert session.report().phase == "running", session.report().failure
                time.sleep(0.002)
        x = np.linspace(-0.1, 0.1, 5)
        points = np.stack(np.meshgrid(x, x, [0.0]), axis=-1).reshape(-1, 3)
        shell = reducedfem.Pointshell(points, np.tile([0.0, 0.0, -1.0], (25, 1)))
        field = reducedfem.SphereField((0, 0, 0), 0.02)
        contact = reducedfem.PenaltyContact(reducedfem.PointTree(shell), field, 200.0)
        device = reducedfem.ReplayDevice([0.0, 60.0], [[0, 0, 0.014]] * 2)
        coupling = reducedfem.VirtualCoupling(500.0, 1.0)
        made = reducedfem.HapticSession(contact, device, coupling=coupling, ramp=0.0)
        """
    ) + textwrap.dedent(body)
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False
    )


# ---- mistakes ------------------------------------------------------------------------------------


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
        ({"priority": 99}, "got 99: the thread that watches .* halts .* runs one above it"),
        ({"keep_records": 0}, "keep_records must be between 1"),
        ({"workspace": 2.0}, "workspace must be a Workspace, got float"),
        ({"simulation": []}, "simulation is empty"),
        ({"simulation": 3}, "simulation must be an ImplicitNewmark, got int"),
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
    with pytest.raises(rf.InputTypeError, match="contact must be a PenaltyContact, got int"):
        session(3, device)
    with pytest.raises(rf.InputTypeError, match="device must be a Device, such as SimulatedHand"):
        session(ball, "phantom")
    with pytest.raises(rf.InputError, match="contact is empty"):
        session([], device)
    elsewhere = rf.PenaltyContact(ball.tree, ball.field, 200.0, grasp=(0.0, 0.0, 0.01))
    with pytest.raises(rf.InputError, match="the object is held at one point"):
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


# ---- the hand ------------------------------------------------------------------------------------


@pytest.mark.parametrize("damping", [0.0, 2.0, 2.0 * math.sqrt(0.1 * 300.0), 40.0])
def test_a_hand_is_the_exact_oscillator(ball, damping):
    """Led to a new place, it swings there in the same way whatever the rate, as by formula."""
    times, positions = [0.0, 0.004, 1.0], [[0, 0, 1.0], [0, 0, 1.01], [0, 0, 1.01]]
    hand = {"mass": 0.1, "stiffness": 300.0, "damping": damping}
    found = {}
    for rate in (500.0, 1000.0):
        made = session(ball, rf.SimulatedHand(times, positions, **hand), rate=rate)
        made.enable(False)
        found[rate] = made.run(int(0.2 * rate)).array["device_position"][:, 2]
        made.close()
    assert np.allclose(found[500.0], found[1000.0][::2], rtol=0, atol=1e-12)
    # afterwards it is a free oscillator: its state 4 ms on is that of the exponential of a matrix
    t = np.array([[0.0, 1.0], [-3000.0, -10.0 * damping]])
    value, vector = np.linalg.eig(t + 1e-9 * np.array([[0.0, 0.0], [1.0, 0.0]]))
    step = (vector @ np.diag(np.exp(0.008 * value)) @ np.linalg.inv(vector)).real
    x = found[1000.0] - 1.01
    # x'' by the equation from three samples would be no exact test: two steps give the same trace
    assert x[50] + np.linalg.det(step) * x[34] == pytest.approx(np.trace(step) * x[42], abs=1e-9)


def test_layout_of_records_is_that_of_c():
    names, _, offsets, size = _core.record_layout()
    dtype = rf._record_file.RECORD
    assert dtype.itemsize == size
    assert [dtype.fields[name][1] for name in names] == offsets
    # no byte without a name
    assert sum(dtype.fields[name][0].itemsize for name in names) == size
