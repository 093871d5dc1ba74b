"""The core of a session checks everything that Python has checked before."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest

import reducedfem as rf
from failures import check_live_blocks, live_blocks
from haptic_sessions import COUPLING, DYNAMIC, held, session
from reducedfem import _core

PLACES = {
    "contacts": 1, "simulations": 2, "fields": 3, "field": 4, "coupling": 5, "dynamics": 6,
    "settings": 7,
}  # fmt: skip


@pytest.fixture
def core_session(ball, bodies, monkeypatch):
    """Return a function that makes a core's session in which one argument is another."""
    del bodies
    kept = []

    def make(change, **options):
        real = _core.Session
        with monkeypatch.context() as patch:
            patch.setattr(_core, "Session", lambda *rest: real(*change(list(rest))))
            kept.append(session(ball, device, **options))
        return kept[-1]

    device = rf.ReplayDevice(*held(0.03))
    yield make
    for made in kept:
        made.close()
    # after any refusal the device is free
    session(ball, device).close()


def replaced(place, name, value):
    def change(arguments):
        k = PLACES[place]
        arguments[k] = value if name is None else {**arguments[k], name: value}
        return arguments

    return change


@pytest.mark.parametrize(
    ("place", "name", "value", "message"),
    [
        ("settings", "dt", math.nan, "^dt must be positive and finite, got nan"),
        ("settings", "budget_us", -1.0, "^budget_us must be finite and not negative, got -1"),
        ("contacts", None, (), "^a session takes 1 to 16 contacts and as many simulations, got 0"),
        ("simulations", None, (), "and as many simulations, got 1 and 0"),
        ("fields", None, (), "a session takes 1 to 16 contacts"),
        ("fields", None, (3,), "body must be a reducedfem.FreeBody, got int"),
        ("contacts", None, (3,), "must be"),
        ("settings", "scale", 0.0, "^scale must be positive and finite, got 0"),
        ("settings", "force_scale", math.inf, "^force_scale must be positive and finite, got inf"),
        ("settings", "alignment", (0.0,) * 4, "quaternion"),
        ("settings", "start_position", (0.0, 0.0, math.nan), r"^position\[2\] is nan"),
        ("settings", "max_force", math.nan, "^max_force must not be negative"),
        ("settings", "ramp", math.inf, "^ramp must not be negative and be finite, got inf"),
        (
            "settings",
            "energy_allowance",
            -1.0,
            "^energy_allowance must be finite and not",
        ),
        ("settings", "duration", -1.0, "^duration must be finite and not negative, got -1"),
        ("settings", "duration", math.inf, "^duration must be finite and not negative, got inf"),
        ("settings", "stall", 5e-4, "^stall must be finite and longer than a period, got 0.0005"),
        ("settings", "priority", -1, "^priority must be between 0 and 9., got -1"),
        ("settings", "records", 0, "^records must be between 1 and 16777216, got 0"),
        (
            "settings",
            "records",
            1 << 40,
            "^records must be between 1 and 16777216, got 1099511627776",
        ),
        ("settings", "patience", math.nan, "^patience must be finite and positive, got nan"),
        ("settings", "hang", 0.0, "^hang must be finite and positive, got 0"),
        ("coupling", "stiffness", math.inf, "^stiffness must be positive and finite, got inf"),
        ("coupling", "reach", math.nan, "^reach must be finite and not negative, got nan"),
    ],
)
def test_unsuitable_parts_of_a_session_are_refused(core_session, place, name, value, message):
    before = live_blocks()
    with pytest.raises(rf.ReducedFEMError, match=message):
        core_session(replaced(place, name, value))
    check_live_blocks(before)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("mass", 0.0, "^mass must be finite and positive, got 0"),
        ("inertia", math.nan, "^inertia must be finite and positive, got nan"),
        ("viscosity", -1.0, "^viscosity must be finite and not negative, got -1"),
        (
            "torsional_viscosity",
            math.inf,
            "^torsional_viscosity must be finite and not negative, got inf",
        ),
        ("dt", 0.0, "^dt must be finite and positive, got 0"),
        ("substeps", 0, "^substeps must be between 1 and"),
    ],
)
def test_impossible_masses_are_refused(core_session, name, value, message):
    change = replaced("dynamics", name, value)
    with pytest.raises(rf.InputError, match=message):
        core_session(change, coupling=DYNAMIC)
    # while it runs they are refused as well
    made = core_session(lambda rest: rest, coupling=DYNAMIC)
    static, dynamics = DYNAMIC._core_settings(1e-3)
    wrong = {**dynamics, name: value}
    with pytest.raises(rf.InputError, match=message):
        made._core.command(2, 0.0, 1e-3, static, wrong)
    with pytest.raises(rf.InputError, match="^stiffness must be positive and finite, got nan"):
        made._core.command(2, 0.0, 1e-3, {**static, "stiffness": math.nan}, None)


@pytest.mark.parametrize("place", ["coupling", "dynamics", "settings"])
def test_settings_that_are_unknown_or_missing_are_refused(core_session, place):
    def without_one(arguments):
        settings = arguments[PLACES[place]]
        return replaced(place, None, dict(list(settings.items())[1:]))(arguments)

    kind = {"coupling": DYNAMIC}
    with pytest.raises(rf.InputTypeError, match="settings must be a dict, got tuple"):
        core_session(replaced(place, None, (1.0, 2.0)), **kind)
    with pytest.raises(rf.InputTypeError, match="has no setting 'colour'"):
        core_session(replaced(place, "colour", 1.0), **kind)
    with pytest.raises(rf.InputTypeError, match="the setting [a-z]+ is missing"):
        core_session(without_one, **kind)
    with pytest.raises(TypeError):
        core_session(lambda rest: rest[:-1])


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("coupled", 1, "a bool"),
        ("ramp", "soft", "a number"),
        ("alignment", (0.0,) * 3, "a tuple of 4 numbers"),
        ("alignment", (0.0, 0.0, 0.0, "x"), "a tuple of 4 numbers"),
        ("clutch_buttons", -1, "an unsigned int of 32 bits"),
        ("priority", 1 << 40, "an int of 32 bits"),
        ("records", 1 << 80, "an int of 64 bits"),
    ],
)
def test_settings_of_other_kinds_are_refused(core_session, name, value, wanted):
    with pytest.raises(rf.InputTypeError, match=f"^session: {name} must be {wanted}, got "):
        core_session(replaced("settings", name, value))


def test_the_core_of_a_session_checks_its_arguments(core_session):
    made = core_session(lambda rest: rest)
    core = made._core
    for method, *arguments in (
        ("start", "x"), ("advance", "x"), ("wait", "x"), ("records", "x"), ("times", "x", 1),
        ("restore", "x"), ("command", 2), ("command", 2, 0.0, 1e-3, (1.0,), None),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            getattr(core, method)(*arguments)
    for most in (-1, (1 << 20) + 1):
        with pytest.raises(rf.InputError, match=f"^most must be between 0 and 1048576, got {most}"):
            core.records(most)
    with pytest.raises(rf.InputTypeError, match="^coupling: settings must be a dict"):
        core.command(2, 0.0, 1e-3, 3, None)
    with pytest.raises(rf.InputError, match="^the session has no simulation 5$"):
        core.restore(5, None)
    with pytest.raises(rf.InputError, match="^descriptor 1000000 is no file for records: Bad file"):
        core.start(1_000_000)
    assert core.status()["phase"] == "ready"
    # unknown commands do nothing
    assert core.command(9, 0.0, 1e-3, None, None)
    assert len(made.run(2)) == 2
    made.start()
    with pytest.raises(rf.InputError, match="^the session is running: stop it first$"):
        core.restore(0, None)
    waited = threading.Thread(target=core.wait, args=(0.05,))
    waited.start()
    waited.join()
    made.stop()
    assert core.wait(60.0)


@pytest.mark.parametrize("which", ["simulation", "field", "steps"])
def test_simulations_of_other_sizes_are_refused_by_the_core(bodies, core_session, which):
    model, field, shell = bodies
    smaller = model.truncate(3)
    tree = rf.PointTree(shell, model)
    soft = rf.PenaltyContact(tree, field, 10.0)
    steps = rf.ImplicitNewmark(model, 7e-4 if which == "steps" else 1e-3)._core
    other = rf.ImplicitNewmark(smaller, 1e-3)._core
    own = other if which == "simulation" else steps
    message = {
        "simulation": "^the simulation of contact 0 has 3 reduced coordinates, its shell has 5",
        "field": "^the field of contact 0 has 5 reduced coordinates, its simulation has 3",
        "steps": r"^a simulation has steps of 0.0007 s, which must divide a cycle",
    }

    def change(arguments):
        held = other if which == "field" else steps
        arguments[1:5] = (soft._core,), (own,), (None,), held
        return arguments

    with pytest.raises(rf.InputError, match=message[which]):
        core_session(change)


def test_wrong_devices_are_refused_by_the_core():
    way = (np.zeros(1), np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]]), None)
    for make in (
        lambda: _core.replay_device(3),
        lambda: _core.replay_device(way[:3]),
        lambda: _core.hand_device(way, (1.0, 1.0), (1.0, 1.0, 1.0), 1.0, 1.0),
        lambda: _core.hand_device(way[:3], (1.0, 1.0, 1.0), (1.0, 1.0, 1.0), 1.0, 1.0),
        lambda: _core.udp_device("x"),
        lambda: _core.udp_device(("127.0.0.1", 1), 3, 1.0, 1.0, 1.0, False),
        lambda: _core.spacemouse_device(3),
        lambda: _core.force_dimension_device("x", 1.0, 1.0),
        lambda: _core.openhaptics_device("x", "", 1.0, 1.0),
        lambda: _core.force_dimension_device((3,), 1.0, 1.0),
        lambda: _core.probe_device(3),
        lambda: _core.leave_device(3),
        lambda: _core.udp_counts(3),
        lambda: _core.udp_accept(3),
    ):
        with pytest.raises(TypeError):
            make()
    for make, message in (
        (lambda: _core.force_dimension_device((), 1.0, 1.0), "a library has 1 to . names, got 0"),
        (
            lambda: _core.spacemouse_device("x", math.inf, 1.0, 350.0, 0.1),
            "speed and turn must be finite, got inf and 1",
        ),
        (
            lambda: _core.replay_device((way[0][:0], way[1][:0], way[2][:0], None)),
            "a trajectory needs at least one pose",
        ),
    ):
        with pytest.raises(rf.InputError, match=message):
            make()


HERE = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))


def stepped(force=(0.0,) * 3, gradient=None, coupling=DYNAMIC, velocity=(0.0,) * 6):
    """Make a step of the core's dynamic coupling, or static one, under a load."""
    static, dynamics = DYNAMIC._core_settings(1e-3)
    load = (force, (0.0,) * 3, np.zeros((6, 6)) if gradient is None else gradient, 0.0)
    if coupling is not DYNAMIC:
        return _core.coupling_step(COUPLING._core_settings(1e-3), HERE, HERE, 1.0, load)
    return _core.dynamic_step(static, dynamics, HERE, (0.0,) * 6, HERE, velocity, 1.0, load)


@pytest.mark.parametrize("coupling", [COUPLING, DYNAMIC], ids=["static", "dynamic"])
def test_coupling_steps_that_are_not_finite_are_reported(coupling):
    stepped(coupling=coupling)
    for load in ({"force": (1e308, 1e308, 0.0)}, {"gradient": np.full((6, 6), 1e308)}):
        with pytest.raises(rf.DivergedError, match="^the coupling has no finite step: forces or"):
            stepped(coupling=coupling, **load)


def test_couplings_check_their_arguments():
    settings, dynamics = DYNAMIC._core_settings(1e-3)
    wrong = {**settings, "stiffness": math.nan}
    load, still = ((0.0,) * 3, (0.0,) * 3, np.zeros((6, 6)), 0.0), (0.0,) * 6
    for work in (
        lambda: _core.coupling_check({"stiffness": 1.0}),
        lambda: _core.coupling_wrench(settings, HERE),
        lambda: _core.coupling_step(settings, HERE, HERE, 1.0, 3),
        lambda: _core.coupling_step(settings, HERE, HERE, 1.0, load[:2]),
        lambda: _core.dynamic_step(settings, dynamics, HERE, still, HERE, still, 1.0),
        lambda: _core.dynamic_step(settings, dynamics, HERE, still, HERE, still, 1.0, load[:2]),
    ):
        with pytest.raises(TypeError):
            work()
    for work in (
        lambda: _core.coupling_wrench(wrong, HERE, HERE),
        lambda: _core.coupling_step(wrong, HERE, HERE, 1.0, load),
        lambda: _core.dynamic_step(wrong, dynamics, HERE, still, HERE, still, 1.0, load),
    ):
        with pytest.raises(rf.InputError, match="^stiffness must be positive and finite, got nan"):
            work()
    for work, message in (
        (lambda: stepped((0.0, math.nan, 0.0)), r"^force\[1\] is nan"),
        (lambda: stepped(gradient=np.zeros((5, 6))), "^gradient must have"),
        (lambda: stepped(velocity=(0.0,) * 5), "^velocity must have"),
        (lambda: _core.coupling_wrench(settings, HERE, ((0.0, 0.0, 1e300), HERE[1])), "object"),
    ):
        with pytest.raises(rf.InputError, match=message):
            work()
