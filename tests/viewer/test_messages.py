"""Messages of views: binary ones to pages, and those of pages, which are checked."""

from __future__ import annotations

import json

import numpy as np
import pytest

import reducedfem as rf
from page_messages import decoded
from reducedfem.viewer import messages


def test_arrays_arrive_at_any_depth(rng):
    x, k, c = rng.standard_normal((5, 3)), np.arange(7), np.arange(5, dtype=np.uint8)
    found = decoded(
        messages.encode({"a": 1, "text": "µ", "list": [{"x": x}, (c, k)], "none": None, "e": x[:0]})
    )
    assert found["a"] == 1
    assert found["text"] == "µ"
    assert found["none"] is None
    np.testing.assert_array_equal(found["list"][0]["x"], x.astype(np.float32))
    np.testing.assert_array_equal(found["list"][1][0], c)
    np.testing.assert_array_equal(found["list"][1][1], k)
    assert found["e"].shape == (0, 3)


def test_numbers_that_are_not_finite_become_null():
    assert decoded(messages.encode({"x": [np.inf, float("nan"), 2.0]})) == {"x": [None, None, 2.0]}


GOOD = [
    {"kind": "seen", "number": 3},
    {"kind": "pull", "body": 0, "origin": [0, 1, 2.5], "direction": [0, 0.6, 0.8]},
    {"kind": "move", "place": [0, 0, 1e-3]},
    {"kind": "speed", "value": 0.1},
    {"kind": "shape", "body": 0, "shape": 2, "value": -1e-3},
    {"kind": "stage", "name": "sketch"},
    {"kind": "erase", "number": 2},
    {"kind": "hand", "moved": [0, 0, 1e-3], "turned": [0.6, 0, 0, 0.8], "buttons": 5},
    *({"kind": kind} for kind in ("hold", "release", "play", "pause", "step", "reset", "cancel")),
]


@pytest.mark.parametrize("message", GOOD, ids=lambda one: one["kind"])
def test_messages_of_pages(message):
    assert messages.decode(json.dumps(message)) == message


def test_all_kinds_are_tested():
    assert {one["kind"] for one in GOOD} == set(messages.KINDS)


BAD = [
    "", "{", "[]", "3", "null", '"pull"', "[" * 5000, "{}", '{"kind": 3}', '{"kind": ["play"]}',
    '{"kind": "fly"}', '{"kind": "play", "value": 1}', '{"kind": "move"}',
    '{"kind": "move", "place": [0, 0]}', '{"kind": "move", "place": [0, 0, "0"]}',
    '{"kind": "move", "place": [0, 0, NaN]}', '{"kind": "move", "place": [0, 0, 1e300]}',
    '{"kind": "move", "place": [0, 0, 1' + 400 * "0" + "]}",
    '{"kind": "move", "place": [0, 0, true]}', '{"kind": "move", "place": {"0": 1}}',
    '{"kind": "seen", "number": -1}', '{"kind": "seen", "number": 1.5}',
    '{"kind": "seen", "number": true}', '{"kind": "seen", "number": 99999999999}',
    '{"kind": "speed", "value": 0}', '{"kind": "speed", "value": -1}',
    '{"kind": "speed", "value": Infinity}', '{"kind": "stage", "name": "run"}',
    '{"kind": "stage", "name": ["solid"]}', '{"kind": "erase", "number": -1}',
    '{"kind": "pull", "body": 0, "origin": [0, 0, 0], "direction": [0, 0, 0]}',
    '{"kind": "shape", "body": 0, "shape": 1, "value": null}',
    '{"kind": "hand", "moved": [0, 0, 0], "turned": [1, 0, 0], "buttons": 0}',
    '{"kind": "hand", "moved": [0, 0, 0], "turned": [1, 0, 0, 1], "buttons": 0}',
    '{"kind": "hand", "moved": [0, 0, 0], "turned": [1, 0, 0, NaN], "buttons": 0}',
    '{"kind": "hand", "moved": [0, 1e13, 0], "turned": [1, 0, 0, 0], "buttons": 0}',
    '{"kind": "hand", "moved": [0, 0, 0], "turned": [1, 0, 0, 0], "buttons": 65536}',
    '{"kind": "hand", "moved": [0, 0, 0], "turned": [1, 0, 0, 0], "buttons": true}',
]  # fmt: skip


@pytest.mark.parametrize("text", BAD, ids=lambda text: text[:60])
def test_malformed_messages_are_refused(text):
    with pytest.raises(rf.InputError, match="page"):
        messages.decode(text)
