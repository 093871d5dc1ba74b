"""Contacts of the core, without their Python objects."""

from __future__ import annotations

from reducedfem import _core

SETTINGS = {
    "warm_nodes": 100,
    "cold_ratio": 0.8,
    "budget_us": 0.0,
    "max_points": 10,
    "coherence": True,
    "along_normal": False,
    "grasp": (0.0, 0.0, 0.0),
}
LAW = {"stiffness": 1.0, "each": None, "automatic": False}


def core_contact(tree, field, stiffness=1.0, **settings):
    """Return a contact by the penalty law, with changed `settings`."""
    law = LAW | {"stiffness": stiffness}
    return _core.Contact(tree, field, None, "penalty", law, SETTINGS | settings)
