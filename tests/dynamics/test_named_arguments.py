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
