"""Arguments of integrators that do not fit: errors name the class that was called."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy as np
import pytest

import reducedfem as rf
from integrated import small_model

KINDS = [
    rf.BackwardEuler,
    rf.BDF2,
    rf.CentralDifferences,
    rf.ExponentialEuler,
    rf.GeneralizedAlpha,
    rf.ImplicitNewmark,
    rf.SDIRK2,
    rf.TRBDF2,
]


@pytest.mark.parametrize("kind", KINDS)
def test_errors_name_the_class_and_its_arguments(kind):
    model = small_model(3)
    name = kind.__name__
    with pytest.raises(rf.InputTypeError) as failure:
        kind(model, 1e-3, dampings=(0.0, 1e-4))
    text = str(failure.value)
    assert text.startswith(f"{name} has no argument 'dampings'; its arguments are system, dt, damp")
    assert text.endswith("did you mean 'damping'?")
    with pytest.raises(rf.InputTypeError, match=f"^{name}: missing .*'system'; .* are system, dt"):
        kind(dt=1e-3)
    with pytest.raises(rf.InputTypeError, match=f"^{name}: multiple values for argument 'dt'"):
        kind(model, 1e-3, dt=1e-3)
    with pytest.raises(rf.InputTypeError, match=f"^{name}: too many positional"):
        kind(model, 1e-3, *range(20))


@pytest.mark.parametrize("kind", KINDS)
def test_signatures_and_copies_are_those_of_the_class(kind):
    shown = list(inspect.signature(kind).parameters)
    assert shown == list(inspect.signature(kind.__init__).parameters)[1:]
    made = kind(small_model(3), 1e-4)
    made.step(np.ones(3), 3)
    for twin in (made.clone(), copy.copy(made), pickle.loads(pickle.dumps(made))):
        np.testing.assert_array_equal(twin.state.q, made.state.q)


def test_names_of_the_literature_pass_arguments_on():
    with pytest.raises(rf.InputTypeError, match="^BDF2 has no argument 'beta'"):
        rf.integrator("BDF2", small_model(3), 1e-3, beta=0.25)


def test_refusals_of_names_advise_what_is_accepted():
    model = small_model(3)
    for name, kind in (("GA", rf.GeneralizedAlpha), ("TR", rf.ImplicitNewmark)):
        with pytest.raises(
            rf.InputError, match=rf"take 2 at least, or the class {kind.__name__}\("
        ):
            rf.integrator(name, model, 1e-3, newton_max=1)
        assert kind(model, 1e-3, newton_max=1).step(np.zeros(3)) is None
    floor = rf.BarrierContact(rf.PlaneField([0, 0, -9], [0, 0, 1]))
    with pytest.raises(
        rf.InputError, match="^contact: SI makes one iteration.*take 'BE' or 'BDF2'"
    ):
        rf.integrator("SI", model, 1e-3, contact=floor)


def test_names_in_errors_are_those_of_the_documentation():
    for call in (lambda: rf.amplification("TRBDF", 0.1), lambda: rf.integrator("TRBDF", None, 1.0)):
        with pytest.raises(rf.InputError, match="TR-BDF2, STR-SBDF2, SDIRK, S-SDIRK") as failure:
            call()
        documented = rf.integrator.__doc__
        for name in str(failure.value).partition("one of ")[2].partition(", got")[0].split(", "):
            assert f'``"{name}"``' in documented


@pytest.mark.parametrize("name", ["tr_bdf2", "TRBDF2", "TR-BDF2", "strbdf2", "STR-SBDF2"])
def test_hyphens_and_case_of_names_do_not_matter(name):
    assert isinstance(rf.integrator(name, small_model(3), 1e-3), rf.TRBDF2)


@pytest.mark.parametrize("value", [0, 1001])
def test_ranges_of_counts_are_the_true_ones(value):
    model = small_model(3)
    for call in (
        lambda: rf.BDF2(model, 1e-3, newton_max=value),
        lambda: rf.integrator("BE", model, 1e-3, newton_max=value),
    ):
        with pytest.raises(rf.InputError, match=f"^newton_max must be .*1 and 1000, got {value}$"):
            call()
    with pytest.raises(rf.InputError, match=f"^jacobians must be between 1 and 2, got {value}$"):
        rf.SDIRK2(model, 1e-3, jacobians=value)
    assert rf.BDF2(model, 1e-3, newton_max=1000) is not None
