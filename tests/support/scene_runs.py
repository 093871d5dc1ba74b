"""Ten seconds of the scenes for the hand, coarse ones."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from coarse_scenes import coarse_bodies
from reducedfem import scenes
from reducedfem.scenes import _scene
from reducedfem.viewer.recorded_objects import RecordedObjects, compared

SMALL = {
    "statue": {"points": 12_000, "resolution": 96},
    "hoses": {"points": 2_000, "resolution": 48, "r": 6},
    "dragon": {"points": 4_000, "resolution": 48, "r": 8},
    "soft": {"points": 2_000, "resolution": 48, "r": 6},
    "peg": {"points": 20_000, "resolution": 96},
    "grasp": {"points": 2_000, "resolution": 64},
    "stack": {"points": 800, "resolution": 32},
    "snap-in": {"points": 4_000, "resolution": 64},
    "snap-in-soft": {"points": 2_000, "resolution": 64},
    "button": {"resolution": 16},
    "organ": {"resolution": 16},
    "alpha": {"points": 4_000, "resolution": 64},
    "alpha-cheat": {"points": 4_000, "resolution": 64},
}


class Ran(NamedTuple):
    """Records of a scene, its coupling, shapes on the way, and cycles beside the objects.

    Of a scene without a coupling the touched body, and no cycles.
    """

    records: Any
    coupling: Any
    deformed: Any
    found: Any


@functools.cache
def ran(name):
    """Return what a scene did in ten seconds of the hand."""
    # without a budget of time the levels, and so all results, are the same on any machine
    with coarse_bodies():
        session = scenes.session(name, budget_us=0.0, duration=0.1, **SMALL[name])
    # by which too few points are refused
    levels = _scene._LEVELS.get(name, 5)
    assert all(contact.tree.shell.n_levels == levels for contact in session.contacts)
    parts, deformed = [], []
    for _ in range(10):
        parts.append(session.run(1000).array)
        newest = session.snapshot()
        deformed.append([q for q in (*newest.q, newest.field_q) if q is not None])
    # and a tenth of a second in the thread, up to the end
    with session:
        assert session.wait(600.0)
    assert session.report().phase == "finished"
    assert session.report().ticks >= 10_100
    records = np.concatenate(parts)
    if session.touched is not None:
        return Ran(records, session.touched, deformed, [])
    objects = RecordedObjects(session, records)
    found = [(one, objects.size) for one in compared(objects, records)]
    return Ran(records, session.coupling, deformed, found)
