"""Scenes for the hand: that they are short, run, and show what they are for."""

from __future__ import annotations

import ast
import contextlib
import inspect
import re
import socket
import time

import numpy as np
import pytest

import reducedfem as rf
from reducedfem import plot, scenes
from reducedfem.cli import main
from reducedfem.io.record_file import record_sizes
from reducedfem.scenes import shapes
from scene_runs import SMALL, ran

MODULES = [
    "alpha", "button", "dragon", "grasp", "hoses", "organ", "peg", "snap_in", "soft", "stack",
    "statue",
]  # fmt: skip

# of scenes without pointshells
TOUCHED = ("button", "organ")

CONTACT = rf.PenaltyContact


# for tests of what ran() returns, but for one scene
TEN_SECONDS = pytest.mark.no_asan(
    reason="ten seconds of the scene hoses, and commands with the scene alpha, run the same cycles"
)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name == "hoses" else TEN_SECONDS, id=name)
        for name in scenes.STORIES
    ],
)
def test_scenes_meet_their_descriptions(name):
    records, coupling, deformed, found = ran(name)
    assert len(records) == 10_000
    # by which the command line knows the scene
    assert record_sizes(records.dtype) == scenes._record_sizes(name, SMALL[name].get("r"))
    assert records["depth_m"].max() <= coupling.max_depth
    touching = records["touching"] > 0
    assert 0.2 < touching.mean() < 0.9
    assert not touching[0]
    assert not touching[-1]
    force = np.linalg.norm(records["force"], axis=1)
    assert np.isfinite(force).all()
    assert 0.1 < force.max() < 20.0
    for flag in ("broken", "diverged", "device_failed", "silent"):
        assert not rf.HapticRecords(records).flagged(flag).any()
    # nothing holds the object back at the end
    apart = records["object_position"][-1] - records["hand_position"][-1]
    assert np.linalg.norm(apart) < 1e-4
    # a hand does work on what resists
    assert records["energy_j"].max() < 1e-6
    bodies = {
        "hoses": 2, "dragon": 1, "soft": 2, "snap-in": 2, "snap-in-soft": 3, "grasp": 2, "stack": 8
    }.get(name, 0)  # fmt: skip
    light = {"snap-in": 1e-5, "snap-in-soft": 1e-5, "grasp": 1e-5, "stack": 1e-7}
    for k in range(bodies):
        moved = [np.linalg.norm(at[k]) for at in deformed]
        # kg^(1/2) m, of bodies of some hundred grams; the branches of the clip have one gram, the
        # ball has 33, the blocks, which weigh on each other all the time, have 48
        assert max(moved) > light.get(name, 3e-4)
        assert max(moved) > 3.0 * moved[-1] or name == "stack"
    assert all(len(at) == bodies for at in deformed)
    # a view of the records warns beyond 0.01
    if name not in TOUCHED:
        assert sum(one.touching > 0 for one, _ in found) == 10
        assert max(one.error / size for one, size in found) < 2e-3


def held_tube(records, cycle):
    """Return the vertices of the tube that is held, at a cycle, and those of the other one."""
    tube = shapes.tube(shapes.helix(0.03, 0.026, 1.5), 0.004).vertices
    w, *v = records["object_quaternion"][cycle]
    turned = tube + 2.0 * np.cross(v, np.cross(v, tube) + w * tube)
    return turned + records["object_position"][cycle], tube


@TEN_SECONDS
def test_the_alpha_puzzle_is_solved():
    records = ran("alpha").records
    held, other = held_tube(records, 0)
    assert held[:, 2].min() < other[:, 2].min() + 1e-3  # they share the same heights
    held, other = held_tube(records, -1)
    assert held[:, 2].min() > other[:, 2].max() + 0.01
    # and not by luck: it was touched on the way
    assert (records["touching"] > 0).sum() > 1000


def test_the_way_out_of_the_alpha_puzzle_is_free():
    """The screw in closed form: no contact, and a constant gap."""
    tube = shapes.tube(shapes.helix(0.03, 0.026, 1.5), 0.004)
    shell = rf.Pointshell.from_surface(tube, 2000, resolution=64)
    contact = rf.PenaltyContact(rf.PointTree(shell), rf.DistanceField.from_surface(tube, 96), 1.0)
    turn = np.linspace(0.0, 4.0 * np.pi, 60)
    position = np.stack([0 * turn, 0 * turn, 0.026 * turn / (2 * np.pi)], axis=1)
    half = 0.5 * (turn + np.pi)
    quaternion = np.stack([np.cos(half), 0 * half, 0 * half, np.sin(half)], axis=1)
    assert contact.evaluate_many(position, quaternion).touching.max() == 0
    # while the same turn without the way up runs into it
    assert contact.evaluate_many(0.0 * position, quaternion).touching.max() > 0


@TEN_SECONDS
def test_the_alpha_puzzle_has_no_shortcut():
    """Tubes never a radius deep in each other, moved by less in a cycle, stay linked."""
    records, coupling = ran("alpha-cheat")[:2]
    hand = np.linalg.norm(records["hand_position"], axis=1)
    held = np.linalg.norm(records["object_position"], axis=1)
    assert hand.max() > held.max() + 0.015  # it was pulled hard
    assert held.max() < 2 * 0.03  # the other one is still inside of it
    assert records["depth_m"].max() <= coupling.max_depth <= 0.5 * 0.004
    steps = np.linalg.norm(np.diff(records["object_position"], axis=0), axis=1)
    assert steps.max() < 0.5 * 0.004
    # back where it was
    assert records["object_quaternion"][-1] == pytest.approx(
        records["object_quaternion"][0], abs=1e-3
    )


@TEN_SECONDS
@pytest.mark.parametrize("name", ["alpha", "alpha-cheat"])
def test_a_recorded_hand_solves_the_alpha_puzzle_or_is_held(name, tmp_path):
    """Records replay to the same end after saving and loading: solved, or held where cheated."""
    first, coupling = ran(name)[:2]
    path = tmp_path / "hand.npy"
    rf.HapticRecords(first).save(path)
    device = rf.ReplayDevice.from_records(rf.HapticRecords.load(path), hand=True)
    session = scenes.session(name, device, budget_us=0.0, **SMALL[name])
    with contextlib.closing(session):
        records = session.run(10_000).array
    np.testing.assert_allclose(records["hand_position"], first["hand_position"], atol=1e-12)
    np.testing.assert_allclose(records["object_position"], first["object_position"], atol=1e-6)
    assert records["depth_m"].max() <= coupling.max_depth
    assert (records["touching"] > 0).sum() > 1000
    begin, end = held_tube(records, 0), held_tube(records, -1)
    if name == "alpha":
        assert begin[0][:, 2].min() < begin[1][:, 2].min() + 1e-3
        assert end[0][:, 2].min() > end[1][:, 2].max() + 0.01
        assert records["touching"][-1] == 0
    else:
        # pulled and levered far, held on the other one, and where it was when released
        missed = np.linalg.norm(records["hand_position"] - records["object_position"], axis=1)
        assert missed.max() > 0.015
        assert np.linalg.norm(records["object_position"], axis=1).max() < 2 * 0.03
        np.testing.assert_allclose(end[0], begin[0], atol=1e-4)


def test_without_limits_the_stiffness_of_contact_stops_the_object():
    """The same hand with a spring that neither saturates nor is relieved: the tubes stay linked."""
    session = scenes.session("alpha-cheat", budget_us=0.0, **SMALL["alpha-cheat"])
    limited = session.coupling
    session.coupling = rf.VirtualCoupling(limited.stiffness, limited.torsional_stiffness)
    records = session.run(10_000).array
    session.close()
    assert np.linalg.norm(records["force"], axis=1).max() > 5.0
    assert records["depth_m"].max() < 0.25 * 0.004
    assert np.linalg.norm(records["object_position"], axis=1).max() < 2 * 0.03


@TEN_SECONDS
def test_the_peg_goes_home():
    records = ran("peg").records
    height = records["object_position"][:, 2] - 0.04
    assert height.min() == pytest.approx(0.0, abs=6e-4)  # the floor of the hole, less the clearance
    home = height < 0.001
    assert records["touching"][home].max() > 100
    # there the hand cannot turn it, though it tries to by 0.2 rad
    turn = 2.0 * np.abs(records["object_quaternion"][home, 3])
    assert turn.max() < 0.05


# ---- what they are made of -----------------------------------------------------------------------


@pytest.mark.parametrize("name", MODULES)
def test_scenes_are_short(name):
    module = getattr(scenes, name)
    tree = ast.parse(inspect.getsource(module))
    (function,) = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    lines = function.end_lineno - function.body[1].lineno + 1
    assert lines <= 25


@pytest.mark.parametrize("name", MODULES)
def test_scenes_report_all_their_options(name):
    function = getattr(scenes, name).session
    parameters = inspect.signature(function).parameters.values()
    own = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    assert own[-1] == "friction"
    assert own[-3:-1] == ["points", "resolution"] or own[-2] == "r" or name in TOUCHED
    reported = inspect.getdoc(function)
    assert reported.startswith("Return a session of ")
    for option in ("device", *own, "**options"):
        assert f"\n{option}\n    " in reported


def test_tubes_are_closed_and_as_large_as_they_should_be():
    length, radius = 0.2, 0.01
    straight = shapes.tube([[0.0, 0.0, 0.0], [length, 0.0, 0.0]], radius, sides=96)
    volume = np.pi * radius**2 * (length - 2 * radius) + 4 / 3 * np.pi * radius**3
    assert straight.is_closed
    assert straight.is_manifold
    assert straight.volume == pytest.approx(volume, rel=0.01)
    # Pappus: the section times the way of its middle
    ring, pitch = 0.03, 0.026
    bent = shapes.tube(shapes.helix(ring, pitch, 1.5), 0.004, sides=96)
    way = 1.5 * np.hypot(2 * np.pi * ring, pitch) - 2 * 0.004
    expected = np.pi * 0.004**2 * way + 4 / 3 * np.pi * 0.004**3
    assert bent.volume == pytest.approx(expected, rel=0.01)
    for body in (shapes.statue(), shapes.dragon(), shapes.paddle(), shapes.hose(1, 0.0)):
        assert body.is_closed
        assert body.volume > 0.0
    with pytest.raises(rf.InputError, match="spine must have a length, got 0 m"):
        shapes.tube(np.zeros((3, 3)), 0.01)


def test_hands_rest_at_each_key():
    keys = np.array([[0, 0, 0, 0, 0, 0], [0.1, 0, 0.05, 0, 0, 4.0], [0, 0.2, 0, 0, 0, 4.0]])
    times, positions, quaternions = shapes.through(keys, 2.0)
    assert times[-1] == 2.0
    at = [0, 1000, 2000]
    assert positions[at] == pytest.approx(keys[:, :3], abs=1e-12)
    assert np.linalg.norm(quaternions, axis=1) == pytest.approx(1.0, abs=1e-12)
    turned = [np.cos(0.5 * keys[:, 5]), np.sin(0.5 * keys[:, 5])]
    assert quaternions[at][:, [0, 3]] == pytest.approx(np.transpose(turned), abs=1e-12)
    speed = np.diff(positions, axis=0)
    assert np.abs(speed[[0, 999, 1000, -1]]).max() < 1e-6
    # a screw: what is turned by so much has risen by so much
    turn = 2.0 * np.unwrap(np.arctan2(quaternions[:1001, 3], quaternions[:1001, 0]))
    assert positions[:1001, 2] == pytest.approx(0.05 * turn / 4.0, abs=1e-12)


def test_unknown_scenes_are_named():
    with pytest.raises(rf.InputError, match=r"one of statue, hoses, .*got 'knight'"):
        scenes.session("knight")
    with pytest.raises(rf.InputError, match=r"one of statue, hoses, .*got \['peg'\]"):
        scenes.session(["peg"])


@pytest.mark.parametrize(
    ("name", "device", "options", "message"),
    [
        ("peg", "hand", {}, r"device must be a Device, such as SpaceMouse\(\), or None .* got str"),
        ("statue", None, {"rate": 0}, "^rate must be between 10 and 20000 Hz, got 0"),
        (
            "statue",
            None,
            {"colour": 3},
            "^the scene statue has no option 'colour'; its options are points, resolution, fric",
        ),
        ("peg", None, {"point": 5000}, "has no option 'point'; .*; did you mean 'points'"),
        ("peg", None, {"r": 5}, "^the scene peg has no option 'r'"),
        ("peg", None, {"coupling": None}, "^the scene peg has no option 'coupling'"),
        ("soft", None, {"r": 0}, "^r must be between 1 and 44, got 0"),
        ("soft", None, {"rate": 300}, "^rate is 300 Hz, so a cycle lasts 3.33333 ms; .* soft"),
        ("dragon", None, {"points": 0}, "^points must be between 1 and"),
        ("alpha", None, {"points": 170}, "^points must be 171 or more, got 170: .* alpha has 5 le"),
        ("statue", None, {"points": 2730}, "^points must be 2731 or more, got 2730"),
        ("hoses", None, {"resolution": 0.5}, "^resolution must be an int"),
        ("statue", None, {"coupled": 1}, "^coupled must be True or False"),
        ("alpha", None, {"cheat": "no"}, "^cheat must be True or False"),
        (
            "alpha",
            None,
            {"friction": -1},
            "^friction must be a coefficient between 0 and 1e[+]09, or None, got -1",
        ),
        (
            "alpha",
            None,
            {"friction": 2e9},
            "^friction must be a coefficient between 0 .* got 2e[+]09",
        ),
        ("snap-in", None, {"soft_pipe": 1}, "^soft_pipe must be True or False"),
        ("button", None, {"resolution": 500}, "^resolution must be between 8 and 128 in the sce"),
        ("button", None, {"points": 500}, "^the scene button has no option 'points'"),
        ("button", None, {"friction": None}, "^friction must be a coefficient .* got None: 0 is"),
        ("statue", None, {"max_force": -1.0}, "max_force"),
        ("statue", None, {"record": 3}, "^record must be a str or a Path, got int"),
        ("statue", None, {"record": "/nowhere/x.npy"}, "^cannot write '/nowhere/x.npy': No such"),
        ("dragon", None, {"workspace": 1.0}, "^workspace must be a Workspace, got float"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_built(
    monkeypatch, name, device, options, message
):
    def build(*_, **__):
        pytest.fail("a scene was built for nobody")

    for kind, maker in ((rf.Pointshell, "from_surface"), (rf.Pointshell, "from_field"),
                        (rf.DistanceField, "from_field"), (rf.DistanceField, "from_surface"),
                        (rf, "voxelize")):  # fmt: skip
        monkeypatch.setattr(kind, maker, build)
    with pytest.raises(rf.ReducedFEMError, match=message):
        scenes.session(name, device, **options)
    # nor by its module
    with pytest.raises(rf.ReducedFEMError, match=message):
        getattr(scenes, name.replace("-", "_")).session(device, **options)


def test_no_more_points_are_asked_for_than_levels_need():
    ball = rf.SphereField((0.0, 0.0, 0.0), 0.1)
    for levels, fewest in ((5, 171), (7, 2731)):
        assert rf.Pointshell.from_field(ball, fewest, levels).n_levels == levels
        with pytest.raises(rf.InputError, match=f"{fewest - 1} points are too few for {levels}"):
            rf.Pointshell.from_field(ball, fewest - 1, levels)


def test_a_device_that_has_a_session_is_refused_before_anything_is_built(monkeypatch):
    hand = rf.SimulatedHand([0.0], [[0.0, 0.0, 0.0]])
    with contextlib.closing(scenes.session("alpha", hand, **SMALL["alpha"])):
        monkeypatch.setattr(rf.Pointshell, "from_surface", None)
        with pytest.raises(rf.InputError, match="the device belongs to another session"):
            scenes.session("alpha", hand)


def test_bodies_have_as_many_coordinates_as_their_modes_span():
    with pytest.raises(rf.InputError, match="^r must be between 1 and 44, got 45"):
        shapes.soften(shapes.post(), lambda x: x[:, 2] < 0.02, 45)
    with pytest.raises(rf.InputTypeError, match=r"device must be a Device, .* got str"):
        shapes.hand("hand", [[0.0] * 6] * 2, {})


def test_pictures_explain_forces_above_those_of_contact():
    pytest.importorskip("matplotlib")
    records = np.zeros(20, rf.io.record_file.RECORD)
    records["time_s"] = 0.001 * np.arange(20)
    for more, reported in ((1.0, False), (4.0, True)):
        records["contact_force"], records["force"] = [0.0, 0.0, 1.0], [0.0, 0.0, more]
        note = plot.session_figure(records).axes[0].get_title(loc="left")
        assert ('render="linear"' in note) == reported


def test_pictures_mark_forces_beyond_their_axes_and_show_the_path_from_the_start():
    pytest.importorskip("matplotlib")
    records = np.zeros(20, rf.io.record_file.RECORD)
    records["time_s"] = 0.001 * np.arange(20)
    records["contact_force"], records["force"] = [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]
    records["hand_position"] = [0.18, 0.0, 0.0]
    records["object_position"] = [0.181, 0.0, 0.0]
    for peak, label in ((1.0, "contact force"), (39.0, "contact force, up to 39 N")):
        records["contact_force"][7] = [0.0, 0.0, peak]
        figure = plot.session_figure(records)
        assert label in [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ways = {line.get_label(): line.get_ydata()[-1] for line in figure.axes[4].get_lines()}
    assert ways["hand, x"] == 0.0
    assert ways["object, x"] == pytest.approx(1.0)


@TEN_SECONDS
def test_a_picture_of_no_cycles_is_refused():
    pytest.importorskip("matplotlib")
    records = ran("alpha").records
    with pytest.raises(rf.InputError, match="records are empty"):
        plot.session_figure(records[:0])
    with pytest.raises(rf.InputError, match="records are empty"):
        plot.session_figure(rf.HapticRecords(records[:0]))
    assert plot.session_figure(rf.HapticRecords(records[:9])).axes
    for wrong in (3, np.zeros(9), "run.npy"):
        kind = type(wrong).__name__
        with pytest.raises(rf.InputTypeError, match=f"HapticRecords or their array, got {kind}"):
            plot.session_figure(wrong)
    for depth, reported in ((-1.0, "positive or None, got -1"), ("1", "a number, got str")):
        with pytest.raises(rf.ReducedFEMError, match=f"^max_depth must be {reported}"):
            rf.HapticRecords(records[:9]).plot(max_depth=depth)


def test_pictures_explain_their_red_lines():
    pytest.importorskip("matplotlib")
    records = np.zeros(20, rf.io.record_file.RECORD)
    records["time_s"] = 0.002 * np.delete(np.arange(21), 7)
    figure = plot.session_figure(records, max_depth=1e-3)
    reported = {}
    for axes in figure.axes:
        legend = axes.get_legend()
        lines = [line for line in axes.get_lines() if len(set(line.get_ydata())) == 1]
        reported |= {line.get_label(): line.get_ydata()[0] for line in lines}
        red = [line for line in lines if line.get_label() in ("period", "limit")]
        names = [text.get_text() for text in legend.get_texts()] if legend else []
        assert all(line.get_label() in names for line in red)
    # of a session at 500 Hz that left a cycle out
    assert reported["period"] == pytest.approx(2000.0)
    assert reported["limit"] == pytest.approx(1.0)
    plot.session_figure(records[:1])


def test_hands_begin_at_their_scene_with_the_axes_of_the_device():
    keys = [[0.1, 0.2, 0.3, 0.0, 0.0, 1.0], [0.0] * 6]
    chosen, options = shapes.hand(None, keys, {"ramp": 0.0})
    assert chosen.duration == 10.0
    assert options["ramp"] == 0.0
    assert options["workspace"].start[0] == pytest.approx((0.1, 0.2, 0.3))
    device = rf.OpenHaptics()
    _, options = shapes.hand(device, keys, {})
    assert options["workspace"].alignment == pytest.approx(device.alignment)
    mine = rf.Workspace(scale=2.0)
    assert shapes.hand(device, keys, {"workspace": mine})[1]["workspace"] is mine


# ---- from the command line -----------------------------------------------------------------------


def test_the_command_lists_the_scenes(capsys):
    assert main(["haptics"]) == 0
    out = capsys.readouterr().out
    for name, story in scenes.STORIES.items():
        assert f"{name} " in out
        assert story in out
    assert "Run one for five seconds with a simulated hand: reducedfem haptics peg" in out


def test_the_command_runs_records_draws_and_plays_again(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    record, picture = tmp_path / "run.npy", tmp_path / "run.png"
    small = ["--points", "2000", "--resolution", "48", "--seconds", "0.4"]
    alpha = ["haptics", "alpha", *small]
    assert main([*alpha, "--record", str(record), "--plot", str(picture)]) == 0
    out = capsys.readouterr().out
    # before it is built, which takes its time
    first = out.splitlines()[0]
    assert first.split()[0] == "scene"
    assert scenes.STORIES["alpha"] in first
    for text in (
        "finished",
        "simulated hand",
        "maximum penetration",
        "finest level reached",
        "limit 2 mm",
    ):
        assert text in out
    first = rf.HapticRecords.load(record).array
    assert len(first) >= 300
    # to fade out takes time of its own
    (over,) = re.findall(r"fade-out of forces +(\S+) s after the 0\.4 s of --seconds", out)
    assert float(over) == pytest.approx(first["time_s"][-1] + 1e-3 - 0.4, rel=0.01)
    assert float(over) >= 0.199
    assert picture.stat().st_size > 20_000
    table = tmp_path / "run.csv"
    columns = [first["time_s"], *first["device_position"].T, *first["device_quaternion"].T]
    header = "time,x,y,z,qw,qx,qy,qz"
    np.savetxt(table, np.column_stack(columns), "%.17g", ",", header=header, comments="")
    for file in (record, table):
        assert main([*alpha, "--device", f"replay:{file}", "--quiet"]) == 0
        # nor a warning: the records are those of the scene
        assert capsys.readouterr() == ("", "")


def test_ctrl_c_ends_a_scene_with_its_report(capsys, monkeypatch):
    nothing = np.empty(0, rf.io.record_file.RECORD)

    def interrupted(self, timeout=None):
        raise KeyboardInterrupt

    monkeypatch.setattr(rf.HapticSession, "wait", interrupted)
    assert main(["haptics", "alpha", "--points", "2000", "--resolution", "48"]) == 0
    out = capsys.readouterr().out
    assert "interrupted, " in out
    assert "stopped" in out
    # before the first cycle, too
    empty = rf.HapticRecords(nothing)
    monkeypatch.setattr(rf.HapticSession, "records", lambda self, drain=False: empty)
    assert main(["haptics", "alpha", "--points", "2000", "--resolution", "48"]) == 0
    assert "finest level reached" not in capsys.readouterr().out


def test_a_missing_device_is_reported_in_one_line(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("SPNAV_SOCKET", str(tmp_path / "none"))

    def build(*_, **__):
        pytest.fail("a million points were made for nobody")

    with monkeypatch.context() as patch:
        patch.setattr(scenes, "session", build)
        assert main(["haptics", "statue", "--device", "spacemouse"]) == 1
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert str(tmp_path / "none") in lines[0]


def test_waiting_for_a_client_is_announced(capsys, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(rf.HapticSession, "start", interrupted)
    command = ["haptics", "peg", "--points", "200", "--resolution", "16"]
    assert main([*command, "--device", "udp:47816"]) == 130
    last = capsys.readouterr().out.splitlines()[-1]
    assert re.search(r"waiting +at most 30 s for packets at 127\.0\.0\.1:47816 .*; Ctrl-C", last)


def test_losing_the_device_keeps_the_report_and_the_picture(capsys, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    record, picture = tmp_path / "run.npy", tmp_path / "run.png"
    monkeypatch.setenv("SPNAV_SOCKET", str(tmp_path / "spnav.sock"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(tmp_path / "spnav.sock"))
        server.listen(2)
        started = rf.HapticSession.start

        def unplugged(session):
            started(session)
            for _ in range(2):  # one was there to look
                connection, _ = server.accept()
                connection.recv(4)
                while session.report().ticks < 10:
                    time.sleep(0.001)
                connection.close()

        monkeypatch.setattr(rf.HapticSession, "start", unplugged)
        command = ["haptics", "alpha", "--points", "2000", "--resolution", "48"]
        command += ["--device", "spacemouse", "--record", str(record), "--plot", str(picture)]
        assert main(command) == 1
    reported = capsys.readouterr()
    assert len(reported.err.strip().splitlines()) == 1
    assert "the Spacenav daemon has closed the connection" in reported.err
    assert "the device SpaceMouse failed" in reported.out
    assert "finest level reached" in reported.out
    assert len(rf.HapticRecords.load(record)) >= 10
    assert picture.stat().st_size > 20_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["knight"], "'knight' is not one of statue, hoses"),
        (["statu"], "; did you mean 'statue'?"),
        (["peg", "--second", "3"], "unrecognized arguments: --second 3; did you mean '--seconds'?"),
        (["--seconds", "3"], "--seconds needs a scene: one of statue"),
        (["alpha", "--seconds", "0"], "--seconds: must be positive"),
        (["alpha", "--seconds", "1e9"], "must be 3600 or less"),
        (["alpha", "--points", "0"], "1 or more"),
        (["alpha", "--device", "glove"], "'glove' is not one of hand, replay, udp,"),
        (["alpha", "--device", "space-mouse"], "; did you mean 'spacemouse'?"),
        (["alpha", "--device", "replay:"], "must be replay:FILE"),
        (["alpha", "--device", "hand:left"], "'hand:left' must be hand"),
        (["alpha", "--device", "udp:99999"], "must be udp or udp:PORT"),
        (["alpha", "--probe"], "--probe runs no scene: leave out either --probe or the scene"),
        (["alpha", "--record", "run.csv"], "the file name must end in .npy, got 'run.csv'"),
        (["alpha", "--plot", "run.txt"], "a picture goes to"),
        (["alpha", "--plot", "a.npy", "--record", "a.npy"], "are the same file"),
    ],
)
def test_wrong_use_is_reported_in_one_line(capsys, arguments, message):
    with pytest.raises(SystemExit) as left:
        main(["haptics", *arguments])
    assert left.value.code == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith("reducedfem haptics: error:")
    assert message in error


def test_files_that_cannot_be_read_or_written_are_reported_in_one_line(capsys, tmp_path):
    (tmp_path / "text.npy").write_text("no records")
    np.save(tmp_path / "numbers.npy", np.arange(3))
    wrong = [
        (["--device", f"replay:{tmp_path / 'none.npy'}"], "cannot read"),
        (["--device", f"replay:{tmp_path / 'none.csv'}"], "cannot read"),
        (["--device", f"replay:{tmp_path / 'text.npy'}"], "cannot read"),
        (["--device", f"replay:{tmp_path / 'numbers.npy'}"], "does not hold records of a haptic"),
        (["--record", str(tmp_path / "no" / "run.npy")], "there is no folder"),
    ]
    for arguments, message in wrong:
        assert main(["haptics", "alpha", *arguments]) == 1
        lines = capsys.readouterr().err.strip().splitlines()
        assert len(lines) == 1
        assert lines[0].startswith("reducedfem: error:")
        assert message in lines[0]
