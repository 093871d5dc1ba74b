"""Softness that is felt: experiments/felt_stiffness.py on bodies by formulas, and reports."""

from __future__ import annotations

import functools

import felt_stiffness as felt
import numpy as np
import pytest

import experiments
import reducedfem as rf
from reducedfem.scenes import shapes
from shells import level

NAME = "felt_stiffness"


@pytest.fixture(scope="module")
def body():
    return felt.body_of("post", felt.scaled(shapes.post()), 10, 1500, 12)


@pytest.mark.parametrize("young", [3e3, 3e6])
@pytest.mark.parametrize("place", ["tip", "flat"])
@pytest.mark.parametrize(
    ("k", "rate", "density"), [(500.0, 1e3, 1e3), (2000.0, 500.0, 1e3), (500.0, 500.0, 30.0)]
)
def test_the_felt_stiffness_is_that_of_the_body(body, young, place, k, rate, density):
    found = felt.press(felt.Case(body, place, young, k, rate, density))
    assert found.true > 1e-3
    assert abs(found.error) < felt.RIGHT
    assert found.still < felt.STILL
    assert found.given < 1e-9
    assert found.exchanged > 1e-4


@pytest.mark.parametrize(("young", "k"), [(3e4, 200.0), (3e4, 500.0), (3e5, 500.0)])
def test_soft_bodies_do_not_drag_on_a_moving_hand(body, young, k):
    error, drag, _, true = felt.in_motion(felt.Case(body, "flat", young, k), felt.SPEED)
    assert true.max() > 0.02
    assert abs(drag) < 0.25
    if young > 1e5:  # softer ones bounce, which the session damps faster
        assert error < felt.RIGHT


@pytest.mark.parametrize(
    ("young", "k", "density", "steps"),
    [(3e4, 2000.0, 1e3, 10), (3e3, 500.0, 100.0, 4), (3e5, 2000.0, 30.0, 10)],
)
def test_steps_that_divide_the_period_come_to_rest(body, young, k, density, steps):
    found = felt.press(felt.Case(body, "flat", young, k, 500.0, density, steps))
    assert abs(found.error) < felt.RIGHT
    assert found.still < felt.STILL


@pytest.mark.parametrize("young", [3e4, 3e5])
def test_light_bodies_come_to_rest_at_points(young):
    """Contact that opens and closes would feed oscillations that alternate from step to step."""
    body = felt.body_of("dragon", felt.scaled(shapes.dragon(), up=0), 16, 4000, 20)
    found = felt.press(felt.Case(body, "tip", young, 500.0, 500.0, 30.0))
    assert abs(found.error) < felt.RIGHT
    assert found.still < felt.STILL


@pytest.mark.parametrize(("young", "most"), [(3e5, 0.6), (3e6, 0.08)])
def test_bodies_do_not_stick_to_a_hand_that_leaves(body, young, most):
    """Most of what is left is the lag of static damping as the hand sets out."""
    rest, back = felt.leaving(felt.Case(body, "flat", young), felt.AWAY)
    assert rest > 0.4
    assert back < most * rest


@pytest.mark.parametrize("young", [3e3, 3e5])
def test_the_felt_stiffness_is_that_of_two_soft_bodies(body, young):
    force, true, still = felt.both(body, "flat", young)
    assert true > 1e-3
    assert abs(force / true - 1.0) < 0.1
    assert still < felt.STILL


@pytest.mark.parametrize("points", [1, 9, 400])
@pytest.mark.parametrize("k", [500.0, 2000.0])
def test_rigid_shells_are_as_stiff_as_the_coupling(points, k):
    touching, ratio, still = felt.rigid(points, k)
    assert touching == points
    assert 0.95 <= ratio <= 1.0
    assert still < 1e-6


def felt_as(body, felt_n, true_n):
    none = np.zeros(0), np.zeros(0)
    return felt.Felt(felt.Case(body, "tip", 3e4), felt_n, true_n, 0.0, 0.0, 0.0, 0.0, none)


def test_cases_in_which_nothing_touches_are_failures(body):
    found = [felt_as(body, 0.0, 0.0), felt_as(body, 1.01, 1.0), felt_as(body, np.nan, np.nan)]
    assert [f.failure for f in found] == ["nothing touches", "", "diverged"]
    assert [f.error for f in found] == [np.inf, pytest.approx(0.01), np.inf]
    assert felt_as(body, 0.0, 1.0).error == -1.0
    table = felt.Experiment(found, [], [], [], []).table().splitlines()
    assert table[1].endswith("NOTHING TOUCHES")
    assert "inf" in table[1]
    assert not table[2].endswith(" ")
    assert table[3].endswith("DIVERGED")
    assert table[5].startswith("3 cases: 1 within 7 %, worst inf %")
    assert table[6] == "FAILED: 1 nothing touches, 1 diverged"


def test_sessions_that_diverge_are_failures(body, monkeypatch):
    """A scheme that adds energy in every step, to a light body."""
    growing = functools.partial(rf.ImplicitNewmark, beta=0.5, gamma=0.0)
    monkeypatch.setattr(rf, "ImplicitNewmark", growing)
    split = functools.partial(rf.HapticSession, coupled=False)
    monkeypatch.setattr(rf, "HapticSession", split)
    found = felt.press(felt.Case(body, "flat", 3e6, 500.0, 500.0, 30.0))
    assert found.failure == "diverged"
    assert found.error == np.inf


def test_plot_and_table(monkeypatch, capsys, tmp_path):
    surface = felt.scaled(shapes.post())
    monkeypatch.setattr(felt, "MODULI", (3e4,))
    monkeypatch.setattr(felt, "SPEED", 0.04)  # of motions that take a quarter of the time
    found = felt.run([("post", surface)], 6, 400, 8, more=False)
    monkeypatch.setattr(felt, "run", lambda *args: found)
    experiments.light_plots(monkeypatch)
    experiments.check_plot(NAME, monkeypatch, capsys, tmp_path / "made")


# ---- reports -------------------------------------------------------------------------------------


def press(stiffness="auto", seconds=0.5, auto_stiffness="coupling", **options):
    """Return what a session reports of a ball that is pressed on a floor, and what it records."""
    tree = rf.PointTree(level(np.linspace(-0.01, 0.01, 9)))
    contact = rf.PenaltyContact(tree, rf.SphereField((0, 0, 0), 0.012), stiffness)
    hand = rf.ReplayDevice([0.0, 0.2, 9.0], [[0.0, 0.0, z] for z in (0.013, 0.002, 0.002)])
    coupling = rf.VirtualCoupling(500.0, 0.3, **options)
    made = rf.HapticSession(
        contact, hand, coupling=coupling, auto_stiffness=auto_stiffness, ramp=0.0, budget_us=0.0
    )
    records, report = made.run(seconds=seconds), made.report()
    made.close()
    return report, records


def test_reports_of_defaults_have_no_advice():
    report, records = press()
    touched = records["touching"] > 0
    assert report.touching == touched.sum()
    assert report.saturated == 0
    assert report.advice == ()
    force = np.linalg.norm(records["force"], axis=1)
    assert report.force == pytest.approx(force[touched].mean())
    assert report.chatter < 0.02 * report.force
    assert f"contact                 {touched.sum()} cycles; force on the hand" in str(report)


def test_chatter_is_the_difference_of_two_filters():
    report, records = press()
    part, fast = 1.0 - np.exp(-1e-3 / 0.02), records["force"].copy()
    for start in (fast[0], np.zeros(3)):
        slow = start.copy()
        for k, now in enumerate(fast):
            slow += part * (now - slow)
            fast[k] = now - slow
    touched = records["touching"] > 0
    assert report.chatter == pytest.approx(np.sqrt(np.mean(np.sum(fast[touched] ** 2, axis=1))))


def test_reports_mention_saturated_couplings_and_unsuitable_contact():
    report, records = press(max_force=1.0)
    assert report.saturated == (records.flagged("saturated") & (records["touching"] > 0)).sum() > 0
    assert any("saturates or is relieved: raise its max_force" in line for line in report.advice)
    soft, _ = press(100.0)
    assert any("low for the coupling" in line for line in soft.advice)
    assert any('use stiffness="auto", here 10000 N/m' in line for line in soft.advice)
    soft, _ = press(100.0, auto_stiffness="contact")
    wanted = "use 20 times the coupling's stiffness, here 10000 N/m"
    assert any(wanted in line for line in soft.advice)


def test_the_stiffness_follows_a_new_coupling():
    x = rf.PointTree(rf.Pointshell([[0.0, 0, 0]], [[0, 0, -1.0]]))
    contact = rf.PenaltyContact(x, rf.PlaneField((0, 0, 0), (0, 0, -1.0)))
    hand = rf.ReplayDevice([0.0, 9.0], [[0.0, 0.0, -0.01]] * 2)
    made = rf.HapticSession(contact, hand, coupling=rf.VirtualCoupling(500.0, 1.0), ramp=0.0)
    for k in (500.0, 100.0):
        made.coupling = rf.VirtualCoupling(k, 1.0)
        force = made.run(60).array["force"][-1, 2]
        assert force == pytest.approx(0.01 * k / (1.0 + 1.0 / 20.0), rel=1e-6)
    made.close()


def test_stiffer_couplings_and_recentred_objects_fade_in():
    x = rf.PointTree(rf.Pointshell([[0.0, 0, 0]], [[0, 0, -1.0]]))
    contact = rf.PenaltyContact(x, rf.PlaneField((0, 0, 0), (0, 0, -1.0)))
    hand = rf.ReplayDevice([0.0, 9.0], [[0.0, 0.0, -0.001]] * 2)
    coupling = rf.VirtualCoupling(500.0, 1.0)
    made = rf.HapticSession(contact, hand, coupling=coupling, ramp=0.1, budget_us=0.0)
    before = made.run(300).array["force"][-1, 2]
    made.coupling = rf.VirtualCoupling(2000.0, 1.0)
    force = made.run(300).array["force"][:, 2]
    assert force[0] < 1.1 * before
    assert force[-1] == pytest.approx(4.0 * before, rel=1e-3)
    assert np.diff(force).max() < 0.1 * before
    made.recentre()
    force = made.run(300).array["force"][:, 2]
    assert abs(force[0]) < 0.05 * before
    made.close()
