"""Sessions end: stopped, paused, diverged, interrupted, with their program, in a fork."""

from __future__ import annotations

import gc
import threading
import time

import numpy as np
import pytest

import reducedfem as rf
from haptic_sessions import COUPLING, UPRIGHT, Listener, ball_of, descent, held, run_script, session
from moments import LONG


@pytest.fixture(scope="module")
def ball():
    """Return the contact with a fine floor, of which many points touch."""
    return ball_of(200.0, 61)


def test_close_works_in_any_state(ball):
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


def test_a_session_continues_after_a_stop(ball):
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
def test_a_session_continues_as_after_a_clutch(ball, coupling, start):
    """The hand takes up the object at its last place; its motion in between causes no force."""
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
    # the object stays in touch, and the hand feels it once it moves again
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
    """The watchdog slept as long as the loop: no hang is reported, and forces fade in again."""
    done = run_script(
        """
        import subprocess
        # the machine may take this time from the loop alone
        reducedfem.haptics.settings.set_timeouts(stall=0.5)
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


def test_a_running_session_is_not_started_twice(ball):
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
    """The failure is reported, no force is sent, and the last good state is kept."""
    made, simulation = exploding(beam)
    with pytest.raises(rf.DivergedError, match=r"cycle \d+: the simulation diverged"):
        made.run(5000)
    report = made.report()
    assert report.phase == "failed"
    assert "not finite" in report.failure
    records = made.records(drain=True)
    assert records.flagged("diverged")[-1]
    assert not records["force"][-1].any()
    assert not records["torque"][-1].any()
    with pytest.raises(rf.InputError, match="the session has failed"):
        made.start()
    made.close()
    assert np.isfinite(simulation.state.q).all()


def test_a_device_receives_zero_force_after_divergence(beam, ball):
    """The force of the cycle has gone out when the simulation steps: it is taken back."""
    reduced, tree = beam
    listener = Listener()
    contacts = [ball, rf.PenaltyContact(tree, ball.field, 300.0)]
    simulation = rf.ImplicitNewmark(reduced, 1e-3)
    simulation.reset(qdot=np.full(6, 1e308), qddot=np.zeros(6))
    made = session(contacts, listener.device, simulation=[None, simulation], coupled=False)
    reported, wrenches = listener.ran(made, (0.0, 0.0, 0.014), 5000)
    assert "not finite" in reported
    assert max(wrench[2] for wrench in wrenches) > 0.1
    assert wrenches[-1] == (0.0,) * 6
    assert not made.records(drain=True)["force"][-1].any()
    made.close()


def test_forces_that_overflow_are_zero(ball):
    """The forces of points of a contact of 1e308 N/m overflow in their sum."""
    listener = Listener()
    contact = rf.PenaltyContact(ball.tree, ball.field, 1e308, warm_nodes=None, max_points=None)
    made = session(contact, listener.device)
    reported, wrenches = listener.ran(made, (0.0, 0.0, 0.014), 10)
    assert wrenches
    assert set(wrenches) == {(0.0,) * 6}
    report = made.report()
    assert (report.phase, report.failure) == ("failed", reported)
    last = made.records(drain=True).array[-1]
    assert last["flags"] != 0
    assert not last["force"].any()
    assert not last["torque"].any()
    made.close()


def test_a_failure_in_the_thread_is_raised_at_the_end(beam):
    made, _ = exploding(beam)
    with pytest.raises(rf.DeviceError, match="not finite"), made:
        assert made.wait(LONG)


# ---- programs ------------------------------------------------------------------------------------


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
    # a wait for Python takes 5 ms; single cycles may be interrupted by others (bench_haptics)
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
    refused, phase = done.stdout.splitlines()
    assert refused.startswith("the session belongs to the process that made it, and this process")
    assert phase == "running"


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
