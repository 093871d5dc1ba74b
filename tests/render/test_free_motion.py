"""Free motion and compliance of both couplings, against cycles under a constant wrench."""

from __future__ import annotations

import ctypes
import math
from ctypes import byref

import numpy as np
import pytest

from ckernels import structure
from haptic_core import POINTER, REAL, UPRIGHT, CouplingSettings, Pose, Report, build

MASS, INERTIA, DAMPING, TORSION_DAMPING = 0.2, 3e-5, 12.0, 4e-3


State = structure("rf_dynamic_state", object=Pose, share=REAL, moved=REAL * 6, velocity=REAL * 6)
Load = structure(
    "rf_coupling_load", force=REAL * 3, torque=REAL * 3, gradient=REAL * 36, depth=REAL,
    clearance=REAL, condensed=ctypes.c_bool, led=REAL * 6,
)  # fmt: skip
Free = structure(
    "rf_coupling_free", way=REAL * 6, compliance=REAL * 36, apart=REAL * 6, velocity=REAL * 6,
    share=REAL, limited=ctypes.c_bool,
)  # fmt: skip
Dynamics = structure(
    "rf_dynamic_settings", spring=CouplingSettings, mass=REAL, inertia=REAL, damping=REAL,
    torsion_damping=REAL, dt=REAL, substeps=ctypes.c_int32,
)  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    made = build(tmp_path_factory.mktemp("free_motion"))
    for name, count in (
        ("coupling_step", 5),
        ("coupling_finish", 6),
        ("dynamic_step", 6),
        ("dynamic_free", 6),
        ("dynamic_finish", 6),
    ):
        function = getattr(made, f"rf_{name}_rt")
        function.restype, function.argtypes = ctypes.c_int, [POINTER] * count
    made.rf_coupling_free_rt.restype = None
    made.rf_coupling_free_rt.argtypes = [POINTER] * 5
    return made


def settings(damping=0.5, max_force=math.inf, max_step=math.inf):
    return CouplingSettings(
        800.0, 1.5, max_force, math.inf, math.inf, 0.0, damping, max_step, math.inf, 1e-3
    )


def pose(place):
    return Pose(tuple(place), UPRIGHT)


def wrench_of(rng):
    return np.concatenate([rng.normal(0.0, 0.5, 3), rng.normal(0.0, 1e-4, 3)])


def loaded(wrench):
    return Load((REAL * 3)(*wrench[:3]), (REAL * 3)(*wrench[3:]))


@pytest.mark.parametrize("damping", [0.0, 0.5])
@pytest.mark.parametrize("max_force", [math.inf, 2.0])
def test_a_static_cycle_under_a_constant_wrench(library, rng, damping, max_force):
    """Saturated springs, too: secants are used by both."""
    for _ in range(20):
        hand, start, wrench = pose(rng.normal(0.0, 0.01, 3)), pose((0, 0, 0)), wrench_of(rng)
        chosen, free = settings(damping, max_force), Free()
        plain, report, other = State(start, 1.0), Report(), Report()
        state = State(start, 1.0)
        assert (
            library.rf_coupling_step_rt(
                byref(chosen), byref(hand), byref(loaded(wrench)), byref(plain), byref(report)
            )
            >= 0
        )
        library.rf_coupling_free_rt(
            byref(chosen), byref(hand), byref(Load()), byref(state), byref(free)
        )
        assert (
            library.rf_coupling_finish_rt(
                byref(chosen),
                byref(hand),
                byref(free),
                byref((REAL * 6)(*wrench)),
                byref(state),
                byref(other),
            )
            >= 0
        )
        np.testing.assert_allclose(other.move[:], report.move[:], rtol=1e-12, atol=1e-18)
        np.testing.assert_allclose(state.object.position[:], plain.object.position[:], atol=1e-18)


def test_a_largest_speed_leaves_the_force_at_rest(library):
    """Contact that stops the object at once bears the whole force of the spring."""
    hand, chosen, free = pose((0.01, 0, 0)), settings(0.5, max_step=1e-3), Free()
    library.rf_coupling_free_rt(
        byref(chosen), byref(hand), byref(Load()), byref(State(pose((0, 0, 0)), 1.0)), byref(free)
    )
    assert free.limited
    assert free.way[0] == pytest.approx(0.5e-3)
    assert free.way[0] / free.compliance[0] == pytest.approx(800.0 * 0.01)


class Dynamic:
    """Cycles of a dynamic coupling, whose hand is at rest or moves steadily."""

    def __init__(self, library, hand, state, substeps, speed=(0.0,) * 6, max_step=math.inf):
        self.library, self.hand, self.state = library, hand, state
        self.speed, self.report, self.free = (REAL * 6)(*speed), Report(), Free()
        self.chosen = Dynamics(
            settings(max_step=max_step), MASS, INERTIA, DAMPING, TORSION_DAMPING, 1e-3, substeps
        )

    def begin(self):
        made = self.library.rf_dynamic_free_rt(
            byref(self.chosen), byref(self.hand), byref(self.speed), byref(Load()),
            byref(self.state), byref(self.free),
        )  # fmt: skip
        assert made >= 0
        return self.free

    def finish(self, wrench):
        made = self.library.rf_dynamic_finish_rt(
            byref(self.chosen), byref(self.hand), byref(self.free), byref((REAL * 6)(*wrench)),
            byref(self.state), byref(self.report),
        )  # fmt: skip
        assert made >= 0
        return np.array(self.report.move[:])

    def step(self, wrench):
        """Make the cycle of penalty contact instead."""
        made = self.library.rf_dynamic_step_rt(
            byref(self.chosen), byref(self.hand), byref(self.speed), byref(loaded(wrench)),
            byref(self.state), byref(self.report),
        )  # fmt: skip
        assert made >= 0
        return np.array(self.report.move[:])


@pytest.mark.parametrize("substeps", [1, 3, 16])
def test_dynamic_cycles_under_a_constant_wrench_are_one_implicit_step(library, rng, substeps):
    for _ in range(20):
        hand, wrench = pose(rng.normal(0.0, 0.01, 3)), wrench_of(rng)
        speed = rng.normal(0.0, 0.1, 6)
        begin = (*rng.normal(0.0, 0.1, 3), *rng.normal(0.0, 0.01, 3))
        states = [State(pose((0, 0, 0)), 1.0, (REAL * 6)(), (REAL * 6)(*begin)) for _ in range(2)]
        cycle = Dynamic(library, hand, states[0], substeps, speed)
        plain = Dynamic(library, hand, states[1], 1, speed)
        free = cycle.begin()
        # rotations are so small that springs are linear
        np.testing.assert_allclose(cycle.finish(wrench), plain.step(wrench), rtol=1e-6, atol=1e-10)
        np.testing.assert_allclose(
            states[0].velocity[:], states[1].velocity[:], rtol=1e-6, atol=1e-6
        )
        compliance = np.reshape(free.compliance[:], (6, 6))
        np.testing.assert_array_equal(compliance, compliance.T)
        assert np.linalg.eigvalsh(compliance).min() > 0.0


@pytest.mark.parametrize("max_step", [math.inf, 1e-5])
def test_dynamic_cycles_that_nothing_touches_are_those_without_friction(library, rng, max_step):
    states = [State(pose((0, 0, 0)), 1.0) for _ in range(2)]
    hand = pose((0.01, 0.002, 0))
    one, other = (Dynamic(library, hand, s, 4, max_step=max_step) for s in states)
    for _ in range(10):
        one.begin()
        np.testing.assert_array_equal(one.finish(np.zeros(6)), other.step(np.zeros(6)))
        np.testing.assert_array_equal(states[0].velocity[:], states[1].velocity[:])


@pytest.mark.parametrize("substeps", [1, 5])
@pytest.mark.parametrize("max_step", [math.inf, 1e-5])
def test_a_dynamic_cycle_that_contact_ends_where_it_began(library, substeps, max_step):
    """The object is then at rest, and at rest contact bears the force of the spring."""
    state = State(pose((0, 0, 0)), 1.0, (REAL * 6)(), (REAL * 6)(0.3, 0, 0, 0, 0, 0))
    cycle = Dynamic(library, pose((0.01, 0, 0)), state, substeps, max_step=max_step)
    forces = []
    for _ in range(3):
        free = cycle.begin()
        assert free.limited == (max_step < 1.0)
        assert free.way[0] <= max_step * (1.0 + 1e-12)
        forces.append(free.way[0] / free.compliance[0])
        assert cycle.finish([-forces[-1], 0, 0, 0, 0, 0])[0] == pytest.approx(0.0, abs=1e-15)
        assert state.velocity[0] == pytest.approx(0.0, abs=1e-12)
    assert forces[0] > 0.3 * MASS / 1e-3
    np.testing.assert_allclose(forces[1:], 800.0 * 0.01, rtol=1e-9)
