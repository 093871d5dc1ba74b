"""Contacts refuse wrong arguments, in Python and in the core."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from contact_cases import FIELDS, GRID, HERE, LEVEL, STIFFNESS, turn
from core_contacts import LAW, SETTINGS, core_contact
from reducedfem import _core
from shells import fibonacci


def test_refusals(rigid, soft):
    ball = rf.SphereField((0, 0, 0), 0.5)
    bare = rf.PointTree(rf.Pointshell(fibonacci(9), -fibonacci(9)))
    for arguments, options, error, message in [
        (
            (3, ball, 1.0),
            {},
            rf.InputTypeError,
            "tree must be a PointTree, got int; make",
        ),
        (
            (rigid, 3, 1.0),
            {},
            rf.InputTypeError,
            "field must be a Field .*, got int; make",
        ),
        ((rigid, ball, 0.0), {}, rf.InputError, "stiffness must be finite and positive, got 0"),
        ((rigid, ball, np.nan), {}, rf.InputError, "stiffness must be finite"),
        ((rigid, ball, 1.0, 0), {}, rf.InputError, "warm_nodes must be between 1"),
        ((rigid, ball, 1.0), {"cold_ratio": 0.0}, rf.InputError, "cold_ratio must be above 0"),
        ((rigid, ball, 1.0), {"cold_ratio": 1.1}, rf.InputError, "cold_ratio must be above 0"),
        ((rigid, ball, 1.0), {"budget_us": 0}, rf.InputError, "budget_us must be positive"),
        ((rigid, ball, 1.0), {"max_points": 0}, rf.InputError, "max_points must be between 1"),
        ((rigid, ball, 1.0), {"area_weights": 1}, rf.InputTypeError, "area_weights must be True"),
        ((bare, ball, 1.0), {"area_weights": True}, rf.InputError, "has no areas"),
        ((rigid, ball, 1.0), {"grasp": (1, 2)}, rf.InputError, "grasp"),
        ((rigid, ball, 1.0), {"grasp": (1e200, 0, 0)}, rf.InputError, r"grasp\[0\] is 1e\+200"),
        ((rigid, ball, 1.0), {"direction": "x"}, rf.InputError, "direction must be"),
    ]:
        with pytest.raises(error, match=message):
            rf.PenaltyContact(*arguments, **options)
    contact, deformable = rf.PenaltyContact(rigid, ball, 1.0), rf.PenaltyContact(soft, ball, 1.0)
    for arguments, options, error, message in [
        (((1, 2), LEVEL), {}, rf.InputError, "position"),
        (((np.nan, 0, 0), LEVEL), {}, rf.InputError, r"position\[0\] is nan"),
        (
            ((1e150, 0, 0), LEVEL),
            {},
            rf.InputError,
            r"position\[0\] is 1e\+150, too far from th",
        ),
        ((HERE, (1, 1, 0, 0)), {}, rf.InputError, r"has norm 1\.41421356; .* w, x, y, z"),
        ((HERE, (0, 0, 0, 0)), {}, rf.InputError, "has norm 0; it must be 1"),
        ((HERE, (1.00001, 0, 0, 0)), {}, rf.InputError, r"has norm 1\.00001;"),
        ((HERE, LEVEL, [0.0]), {}, rf.InputError, "q is given, but the shell is rigid"),
        ((HERE, LEVEL), {"level": 1}, rf.InputError, "level needs treeless=True: with the tree"),
        ((HERE, LEVEL), {"level": 4, "treeless": True}, rf.InputError, "between 0 and 3, got 4"),
        ((HERE, LEVEL), {"level": -1, "treeless": True}, rf.InputError, "between 0 and 3, got -1"),
        ((HERE, LEVEL), {"treeless": 1}, rf.InputTypeError, "treeless must be True or False"),
        ((HERE, LEVEL), {"contacts": "no"}, rf.InputTypeError, "contacts must be True or False"),
    ]:
        with pytest.raises(error, match=message):
            contact.evaluate(*arguments, **options)
    with pytest.raises(rf.InputError, match="q"):
        deformable.evaluate(HERE, LEVEL, np.zeros(8))
    with pytest.raises(rf.InputError, match="q is so large that points may move"):
        deformable.evaluate(HERE, LEVEL, np.full(9, 1e200))
    for options, message in (
        ({"level": 1}, "level needs treeless=True: with the tree"),
        ({"level": 4, "treeless": True}, "between 0 and 3, got 4"),
        ({"contacts": 1}, "contacts must be True or False"),
    ):
        with pytest.raises(rf.ReducedFEMError, match=message):
            contact.evaluate_many([HERE], [LEVEL], **options)
    qs = np.zeros((3, 9))
    qs[2] = 1e200
    with pytest.raises(rf.InputError, match="cycle 2: q is so large that points may move"):
        deformable.evaluate_many([HERE] * 3, [LEVEL] * 3, qs)
    with pytest.raises(rf.InputError, match=r"cycle 1: quaternion .* has norm 2"):
        contact.evaluate_many([HERE, HERE], [LEVEL, (2, 0, 0, 0)])
    with pytest.raises(rf.InputError, match="quaternions"):
        contact.evaluate_many([HERE, HERE], [LEVEL])
    with pytest.raises(rf.InputError, match="qs is given, but the shell is rigid"):
        contact.evaluate_many([HERE], [LEVEL], [[1.0]])
    # nothing of this has done harm
    assert contact.evaluate((1.2, 0, 0), LEVEL).touching > 0


def test_the_core_checks_for_itself(rigid):
    box = FIELDS["box"]._core
    contact = core_contact(rigid._core, box)
    with pytest.raises(rf.InputError, match="warm_nodes must be 0 or more, got -1"):
        core_contact(rigid._core, box, warm_nodes=-1)
    with pytest.raises(rf.InputTypeError, match="contact has no setting 'nodes'"):
        core_contact(rigid._core, box, nodes=100)
    without = {name: value for name, value in SETTINGS.items() if name != "grasp"}
    with pytest.raises(rf.InputTypeError, match="contact: the setting grasp is missing"):
        _core.Contact(rigid._core, box, None, "penalty", LAW, without)
    with pytest.raises(rf.InputTypeError, match="grasp must be a tuple of 3 numbers, got 1.5"):
        core_contact(rigid._core, box, grasp=1.5)
    with pytest.raises(rf.InputError, match="no contact law named glue"):
        _core.Contact(rigid._core, box, None, "glue", {}, SETTINGS)
    with pytest.raises(rf.InputTypeError, match="penalty has no setting 'friction'"):
        _core.Contact(rigid._core, box, None, "penalty", LAW | {"friction": 0.5}, SETTINGS)
    with pytest.raises(rf.InputError, match="each must have shape"):
        _core.Contact(rigid._core, box, None, "penalty", LAW | {"each": [1.0]}, SETTINGS)
    each = np.ones(rigid.shell.n_points)
    each[1] = -2.0
    with pytest.raises(rf.InputError, match=r"^stiffness\[1\] must be finite and positive, got -2"):
        _core.Contact(rigid._core, box, None, "penalty", LAW | {"each": each}, SETTINGS)
    for coupling, depth, message in (
        (-1.0, 0.0, "coupling must be finite and 0 or more, got -1"),
        (float("inf"), 0.0, "coupling must be finite and 0 or more, got inf"),
        (1.0, -1.0, "depth must be finite and 0 or more, got -1"),
        (1.0, float("nan"), "depth must be finite and 0 or more, got nan"),
    ):
        with pytest.raises(rf.InputError, match=message):
            contact.stiffest(coupling, depth)
    for ask in (
        lambda: contact.evaluate(HERE, LEVEL, None, 4, False),
        lambda: contact.evaluate_many([HERE], [LEVEL], None, 4, False, None),
    ):
        with pytest.raises(rf.InputError, match="level must be between 0 and 3, got 4"):
            ask()


def test_nearly_unit_quaternions_are_made_so(rigid):
    contact = rf.PenaltyContact(rigid, GRID, STIFFNESS)
    quaternion = turn((1, 0, 1), 0.5)
    exact = contact.evaluate((1.2, 0, 0), quaternion)
    for scale in (1 + 5e-7, 1 - 5e-7, -1.0):
        out = contact.evaluate((1.2, 0, 0), scale * quaternion)
        np.testing.assert_allclose(out.force, exact.force, rtol=1e-12)
    for scale in (1 + 2e-6, 1 - 2e-6):
        with pytest.raises(rf.InputError, match="it must be 1 to within 1e-06"):
            contact.evaluate((1.2, 0, 0), scale * quaternion)


def test_properties_and_text(rigid):
    ball = rf.SphereField((0, 0, 0), 0.5)
    contact = rf.PenaltyContact(rigid, ball, 2.0)
    assert (contact.tree, contact.field, contact.stiffness) == (rigid, ball, 2.0)
    assert repr(contact).startswith("<PenaltyContact: <PointTree: 2040 points, 4 levels, rigid> on")
