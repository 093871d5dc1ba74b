"""Sessions whose parts do not fit are refused when they are made, not in their first cycle."""

from __future__ import annotations

import contextlib
import dataclasses
import pickle
import re
import warnings

import numpy as np
import pytest

import reducedfem as rf


def test_a_field_that_does_not_deform_takes_no_simulation(block):
    model, field, tree = block
    rigid = rf.PenaltyContact(tree, field, 10.0)
    soft = rf.PenaltyContact(tree, rf.DeformedField(field, model, 8), 10.0)
    sim = rf.ImplicitNewmark(model, 1e-3)
    coupling = rf.VirtualCoupling(100.0, 0.1)
    hand = rf.SimulatedHand([0.0, 1.0], np.zeros((2, 3)))
    with pytest.raises(rf.InputError, match="field of contact 0 does not deform"):
        rf.HapticSession(rigid, hand, coupling=coupling, field_simulation=sim)
    hand = rf.SimulatedHand([0.0, 1.0], np.zeros((2, 3)))
    session = rf.HapticSession([soft, soft], hand, coupling=coupling, field_simulation=sim)
    assert len(session.run(3)) == 3
    session.close()


def made(contact, **options):
    """Return a session with a hand that goes nowhere; to be closed. Shells rest by default."""
    if options.get("simulation") is None:
        options["simulation"] = [None] * (len(contact) if isinstance(contact, list) else 1)
    hand = rf.ReplayDevice([0.0, 1.0], [[0.0, 0.0, 1.0]] * 2)
    return contextlib.closing(
        rf.HapticSession(contact, hand, coupling=rf.VirtualCoupling(100.0, 0.1), **options)
    )


@pytest.fixture(scope="module")
def bodies(block):
    """Return contacts, simulations of their model and of another one, and an unrelated object."""
    model, field, tree = block
    solid = rf.Solid(model.mesh, rf.StVK(1e5, 0.3, 1000.0), fixed=model.mesh.nodes[:, 2] < 1e-6)
    other = rf.reduce(solid, rf.modal_derivative_basis(solid, k=3, r=5))
    shell = rf.PointTree(tree.shell, model)
    ball = rf.SphereField((0.0, 0.0, 0.0), 0.01)
    soft = rf.PenaltyContact(shell, ball, 10.0)
    return {
        "soft": soft,
        "bends": rf.PenaltyContact(shell, rf.DeformedField(field, model, 8), 10.0),
        "elsewhere": rf.PenaltyContact(shell, rf.SphereField((0.0, 0.0, 0.0), 0.01), 10.0),
        "sim": rf.ImplicitNewmark(model, 1e-3),
        "twin": rf.ImplicitNewmark(pickle.loads(pickle.dumps(model)), 1e-3),
        "other": rf.ImplicitNewmark(other, 1e-3),
        "solid": rf.ImplicitNewmark(solid, 1e-3),
        "slow": rf.ImplicitNewmark(model, 3e-3),
    }


@pytest.mark.parametrize(
    ("contact", "simulation", "field_simulation", "message"),
    [
        ("soft", "other", None, "^simulation simulates another model than contact.tree.reduced"),
        (
            ["soft", "soft"],
            ["sim", "other"],
            None,
            r"^simulation\[1\] simulates another model than contact\[1\].tree.reduced",
        ),
        ("bends", "sim", "other", "^field_simulation simulates another .* contact.field.reduced"),
        (
            ["soft", "elsewhere"],
            None,
            None,
            r"^contact\[1\] and contact\[0\] have different fields",
        ),
        (
            ["soft", "soft"],
            ["sim", "sim"],
            None,
            r"^simulation\[1\] and simulation\[0\] are the same simulation",
        ),
        ("bends", "sim", "sim", "^field_simulation and simulation are the same simulation"),
        ("soft", "solid", None, "^simulation must be .* of a ReducedSolid, got one of a Solid$"),
        ("bends", None, "solid", "^field_simulation must be .*, got one of a Solid$"),
        ("soft", "slow", None, r"^simulation has steps of 0.003 s, .*: make it with dt=0.001$"),
        (["soft"] * 2, [None, "slow"], None, r"^simulation\[1\] has steps of 0.003 s"),
        ("bends", None, "slow", "^field_simulation has steps of 0.003 s"),
        (["soft"] * 100, None, None, "a session takes 1 to 16 contacts .* got 100"),
    ],
)
def test_parts_of_different_bodies_are_refused(
    bodies, contact, simulation, field_simulation, message
):
    def named(value):
        if isinstance(value, list):
            return [named(one) for one in value]
        return None if value is None else bodies[value]

    options = {"simulation": named(simulation), "field_simulation": named(field_simulation)}
    with pytest.raises(rf.ReducedFEMError, match=message):
        made(named(contact), **options)


def test_a_model_again_is_the_same_model(bodies):
    with made([bodies["soft"]] * 2, simulation=[bodies["sim"], bodies["twin"]]) as session:
        assert len(session.run(2)) == 2


def test_the_reach_of_a_field_that_deforms_is_that_at_rest(bodies):
    contact = bodies["bends"]
    rest = rf.PenaltyContact(contact.tree, contact.field.field, 10.0)
    found = []
    for one, simulation in ((contact, bodies["sim"]), (rest, None)):
        with made(one, field_simulation=simulation) as session:
            session.coupling = dataclasses.replace(session.coupling, max_depth=1e-3)
            found.append(session.coupling.reach)
    assert found[0] == found[1] > 0.0


def test_a_budget_is_at_most_a_period(bodies):
    with made(bodies["soft"], budget_us=4000.0, rate=250.0):
        pass
    with pytest.raises(rf.InputError, match="^budget_us must be at most 4000, .* 250 Hz, got 4001"):
        made(bodies["soft"], budget_us=4001.0, rate=250.0)


def test_run_writes_its_records_too(bodies, tmp_path):
    path = tmp_path / "session.npy"
    with made(bodies["soft"], record=path, duration=0.02, ramp=0.0) as session:
        ticks = [session.run(70)["tick"]]
        assert np.array_equal(rf.HapticRecords.load(path)["tick"], ticks[0])
        session.start()
        assert session.wait(600.0)
        # without a stop in between
        ticks.append(session.run(3)["tick"])
        assert not len(session.records(drain=True))
    found = rf.HapticRecords.load(path)["tick"]
    assert np.array_equal(found, np.arange(session.report().ticks))
    assert np.array_equal(found[-3:], ticks[1])
    assert len(found) > 70 + 3
    assert [place.name for place in tmp_path.iterdir()] == ["session.npy"]


def test_run_keeps_records_before_a_failure(bodies, tmp_path):
    path = tmp_path / "session.npy"

    def enough(done, total):
        if done >= 64:
            raise KeyboardInterrupt

    with made(bodies["soft"], record=path) as session:
        with pytest.raises(KeyboardInterrupt):
            session.run(10_000_000, progress=enough)
        kept = session.records(drain=True)["tick"]
        assert len(kept) >= 64
        assert np.array_equal(rf.HapticRecords.load(path)["tick"], kept)
    with made(bodies["soft"], record=tmp_path / "none" / "session.npy") as session:
        with pytest.raises(rf.FileFormatError, match="cannot write"):
            session.run(3)
        assert session.report().ticks == 0


def test_other_files_are_refused_without_advice(tmp_path):
    (tmp_path / "x.obj").write_text("v 0 0 0\n")
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save(tmp_path / "two.npy", np.zeros((2, 2), rf.io.record_file.RECORD))
    for name, reported in (
        ("x.obj", "it is not a file in NumPy's format (.npy)"),
        ("objects.npy", "does not hold records of a haptic session"),
        ("two.npy", "does not hold records of a haptic session"),
        ("none.npy", "No such file or directory"),
    ):
        with pytest.raises(rf.FileFormatError) as refused:
            rf.HapticRecords.load(tmp_path / name)
        text = str(refused.value)
        assert text.endswith(reported)
        assert text.count(name) == 1
        assert "pickle" not in text
    with pytest.raises(rf.FileFormatError, match="': No such file or directory$"):
        rf.ReplayDevice.from_csv(tmp_path / "none.csv")


def test_none_means_no_limit(bodies):
    way = [0.0, 1.0], np.zeros((2, 3))
    endless = "must be finite, got inf: None is for no limit"
    for make, names in (
        (rf.UdpDevice, ("max_force", "max_torque")),
        (lambda **most: rf.SimulatedHand(*way, **most), ("max_force", "max_torque")),
        (lambda **most: made(bodies["soft"], **most), ("max_force", "torque_slew")),
        (lambda **most: rf.VirtualCoupling(100.0, 0.1, **most), ("max_depth", "max_speed")),
        (lambda **most: rf.DynamicCoupling(100.0, 0.1, 0.1, 1e-4, **most), ("max_turn_rate",)),
    ):
        for name in names:
            with pytest.raises(rf.InputError, match=f"^{name} {endless}"):
                make(**{name: np.inf})
            with pytest.raises(rf.InputError, match=f"^{name} must be finite, got nan$"):
                make(**{name: np.nan})
            made_without = make(**{name: None})
            if isinstance(made_without, contextlib.closing):
                made_without.thing.close()


def test_names_that_are_not_text_are_refused(bodies):
    for wrong in (["linear"], np.array([1.0, 2.0])):
        with pytest.raises(rf.InputError, match='^render must be "linear" or "saturated", got'):
            made(bodies["soft"], render=wrong)
        with pytest.raises(rf.InputError, match="^name must be one of clamped, .* got"):
            rf.HapticRecords(np.zeros(3, rf.io.record_file.RECORD)).flagged(wrong)


def test_records_are_those_of_cycles():
    array = np.zeros(3, rf.io.record_file.RECORD)
    records = rf.HapticRecords(array)
    assert isinstance(records[None], np.ndarray)
    assert len(records[1:]) == 2
    assert "2 cycles" in repr(records[[True, False, True]])
    with pytest.raises(rf.InputTypeError, match="^array must hold .* session, got list; .*load"):
        rf.HapticRecords([1.0])
    with pytest.raises(rf.InputError, match=r"array must have the shape \(n,\), got \(1, 3\)"):
        rf.HapticRecords(array[None])


def test_reports_and_snapshots_are_read_only(bodies):
    with made(bodies["soft"]) as session:
        assert "not opened yet" in str(session.report())
        session.run(1)
        assert "not opened yet" not in str(session.report())
        newest = session.snapshot()
        assert newest.time == newest.record["time_s"]
        for name, place in (("position", "object_position"), ("quaternion", "object_quaternion"),
                            ("force", "force"), ("torque", "torque")):  # fmt: skip
            assert np.array_equal(getattr(newest, name), newest.record[place]), name
            assert newest.record[place].any() or name in ("force", "torque")
            # a copy each, which may be changed
            getattr(newest, name)[:] = 9.0
            assert not (getattr(newest, name) == 9.0).any()
        for name in ("record", "q", "field_q", "fresh", "force"):
            with pytest.raises(AttributeError):
                setattr(newest, name, None)
    record = np.zeros(1, rf.io.record_file.RECORD)
    record["force"] = -0.0
    assert "(0, 0, 0) N" in repr(rf.HapticSnapshot(1, record.tobytes(), session._layout, True))


def test_records_can_be_asked_for_again(bodies):
    """The last records are kept unless a call drains them."""
    with made(bodies["soft"], keep_records=100, duration=0.2, ramp=0.0) as session:
        session.start()
        assert session.wait(600.0)
        first, again = session.records()["tick"], session.records()["tick"]
        assert 0 < len(first) <= 100
        assert np.array_equal(first, np.arange(first[0], first[0] + len(first)))
        assert np.array_equal(first, again)
        assert np.array_equal(session.records(drain=True)["tick"], first)
        assert len(session.records()) == len(session.records(drain=True)) == 0
        with pytest.raises(rf.InputTypeError, match="drain must be True or False"):
            session.records(drain=1)


# ---- what is likely to be a mistake --------------------------------------------------------------


def hints(contact, **options) -> list[str]:
    """Return the warnings that making a session gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        hand = options.pop("hand", None) or rf.ReplayDevice([0.0, 1.0], [[0.0, 0.0, 1.0]] * 2)
        rf.HapticSession(contact, hand, coupling=rf.VirtualCoupling(100.0, 0.1), **options).close()
    assert all(one.category is rf.PlausibilityWarning for one in caught)
    assert all(one.filename == __file__ for one in caught)
    return [str(one.message) for one in caught]


def test_deformable_bodies_without_a_simulation_give_a_warning(bodies):
    (only,) = hints(bodies["soft"])
    assert re.search(
        r"shell of contact stays at rest although it can deform \(r = 5\): pass simulat", only
    )
    assert hints(bodies["soft"], simulation=[None]) == []
    assert hints(bodies["soft"], simulation=bodies["sim"]) == []
    rigid = rf.PenaltyContact(rf.PointTree(bodies["soft"].tree.shell), bodies["soft"].field, 10.0)
    assert hints(rigid) == []
    (only,) = hints([rigid, bodies["soft"]])
    assert r"the shell of contact[1] stays at rest although it can deform" in only
    assert hints([rigid, bodies["soft"]], simulation=[None, None]) == []


@pytest.mark.parametrize("metres", [0.001, 0.2, 5.0])
def test_usual_scenes_give_no_warning(metres):
    assert hints(*scene(metres, metres, metres)) == []


def scene(shell: float, field: float, path: float):
    """Return a contact and, as options, a hand: bodies and path of these lengths [m]."""
    corners = shell * np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    tree = rf.PointTree(rf.Pointshell(corners, np.tile([0.0, 0.0, -1.0], (3, 1))))
    return (rf.PenaltyContact(tree, rf.SphereField((0.0, 0.0, 9.0 * shell), field / 2), 10.0),)


@pytest.mark.parametrize(
    ("lengths", "pattern"),
    [
        (
            (100.0, 0.1, 0.1),
            "^the shell of contact is 100 m long for the hand: .* millimetres, scale them by",
        ),
        ((0.1, 80.0, 0.1), "^the field of contact is 80 m long"),
        ((0.1, 0.1, 60.0), "^the path of the device is 60 m long"),
    ],
)
def test_implausible_sizes_of_hands_give_a_warning(lengths, pattern):
    way = [[0.0, 0.0, 0.0], [0.0, lengths[2], 0.0]]
    for kind in (rf.ReplayDevice, rf.SimulatedHand):
        (only,) = hints(*scene(*lengths), hand=kind([0.0, 1.0], way))
        assert re.search(pattern, only)


def test_a_workspace_scales_lengths():
    small = rf.Workspace(scale=0.01)
    assert hints(*scene(100.0, 80.0, 0.1), workspace=small) == []
    assert len(hints(*scene(1.0, 1.0, 0.1), workspace=rf.Workspace(scale=20.0))) == 2


def test_fields_without_end_have_no_length():
    (contact,) = scene(0.1, 0.1, 0.1)
    floor = rf.PenaltyContact(contact.tree, rf.PlaneField((0, 0, 0), (0, 0, 1)), 10.0)
    assert hints(floor) == []
