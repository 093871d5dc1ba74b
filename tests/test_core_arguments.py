"""What the C core says to wrong arguments; the rooms test what Python stops before."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import reducedfem as rf
from reducedfem import _core
from shapes import box_hexes

NODES, ELEMENTS = box_hexes(2, 1, 1, (0.2, 0.1, 0.1))


@pytest.fixture(scope="module")
def solid() -> rf.Solid:
    return rf.Solid(rf.Mesh(NODES, ELEMENTS), rf.StVK(1e6, 0.4, 1000.0), fixed=[0, 1, 2, 3])


# --- arrays ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "passed"),
    [
        (None, "NoneType"),
        ({}, "dict"),
        ("abc", "str"),
        (object, "type"),
        (["a", "b"], "list that holds str"),
        ((b"a",), "tuple that holds bytes"),
        ([[1.0, 2.0, None]], "list that holds NoneType"),
        ([1, [2], 3], "list which NumPy cannot convert"),
        (np.array([1, {}], dtype=object), r"numpy\.ndarray that holds dict"),
        (np.zeros((2, 3), complex), r"numpy\.ndarray of dtype complex128"),
        (np.complex64(1), r"numpy\.complex64"),
        ([Fraction(1, 3)], "list of dtype object"),
        (np.zeros(3, "datetime64[s]"), r"numpy\.ndarray of dtype datetime64\[s\]"),
    ],
)
def test_what_is_no_array_of_numbers_is_named(values, passed):
    wanted = f"^nodes must be an array of real numbers, got {passed}$"
    with pytest.raises(rf.InputTypeError, match=wanted):
        _core.Mesh(values, ELEMENTS)
    wanted = f"^elements must be an array of integers, got {passed}$"
    with pytest.raises(rf.InputTypeError, match=wanted):
        _core.Mesh(NODES, values)


@pytest.mark.parametrize("values", [ELEMENTS.astype(float), ELEMENTS > 0])
def test_values_that_are_no_integers_are_refused(values):
    passed = rf"numpy\.ndarray of dtype {values.dtype}"
    with pytest.raises(rf.InputTypeError, match=f"^elements must hold integers, got {passed}$"):
        _core.Mesh(NODES, values)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(2**64 - 5, np.uint64), (2**63, np.uint64), (2**31, np.int64), (-(2**31) - 1, np.int64)],
)
def test_integers_out_of_range_do_not_wrap(value, dtype):
    regions = np.array([0, value], dtype)
    with pytest.raises(rf.InputError, match=rf"regions\[1\] is {value}; allowed are -2147483648"):
        _core.Mesh(NODES, ELEMENTS, regions)


def test_any_integers_in_range_are_taken():
    for dtype in "bhilqBHILQ":
        regions = np.array([0, 100], dtype)
        assert _core.Mesh(NODES, ELEMENTS, regions).regions.tolist() == [0, 100]


# --- calls ---------------------------------------------------------------------------

TYPES = [thing for thing in vars(_core).values() if isinstance(thing, type)]


@pytest.mark.parametrize("core_type", TYPES, ids=lambda t: t.__name__)
def test_keywords_are_refused(core_type):
    with pytest.raises(rf.InputTypeError, match=f"{core_type.__name__} takes no keyword arguments"):
        core_type(nodes=NODES)


@pytest.mark.parametrize("threads", [0, -1, 257])
def test_numbers_of_threads_are_checked(solid, threads):
    wanted = f"threads must be between 1 and 256, got {threads}"
    with pytest.raises(rf.InputError, match=wanted):
        solid._core.internal_force(NODES, threads)
    with pytest.raises(rf.InputError, match=wanted):
        _core.linear_modes(solid._core, 3, False, None, threads)


def test_progress_is_checked(solid):
    wanted = "progress must be a callable or None, got int"
    with pytest.raises(rf.InputTypeError, match=wanted):
        _core.linear_modes(solid._core, 3, False, 7, 1)
    with pytest.raises(rf.InputTypeError, match=wanted):
        _core.reduce(solid._core, np.ones((1, len(NODES), 3)), 7, 1)
