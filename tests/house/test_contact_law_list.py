"""A contact law costs two sources: one in C, with a row, and its class."""

from __future__ import annotations

import inspect
import pickle
import re
from types import SimpleNamespace

import numpy as np
import pytest

import reducedfem as rf
from calls import CONTACTS, contact
from failures import fail_each_allocation
from places import ROOT, code, mentions

LAWS = ROOT / "csrc" / "contact"
ROWS = re.findall(r"ROW\((\w+)\)", code((LAWS / "law.h").read_text()))
KINDS = {kind._law: kind for kind in rf.Contact.__subclasses__()}
# sources that use one law: a world has springs alone, whose settings have a header
USED = {"penalty": {"multibody_search.c", "penalty_law.h"}}


@pytest.fixture(scope="module")
def parts():
    """A point 0.5 m deep in a half-space."""
    return SimpleNamespace(
        tree=rf.PointTree(rf.Pointshell([[0, 0, 0]], [[0, 0, 1]])),
        field=rf.PlaneField((0, 0, 0.5), (0, 0, 1)),
    )


def test_rows_and_classes_are_the_same():
    assert ROWS
    assert sorted(KINDS) == sorted(ROWS)
    assert all(getattr(rf, kind.__name__) is kind for kind in KINDS.values())


@pytest.mark.parametrize("law", ROWS)
def test_a_law_is_a_source_and_a_class(law):
    """No other source names it, but for the sources of `USED`, and scenes."""
    table = re.compile(rf'"{law}"|\brf_{law}_law\w*|/{law}_law\.h"')
    sources = [p for p in (ROOT / "csrc").rglob("*.[ch]") if table.search(code(p.read_text()))]
    assert {p.name for p in sources} - USED.get(law, set()) == {f"{law}_law_rt.c"}
    modules = list((ROOT / "python" / "reducedfem").rglob("*.py"))
    (module,) = (p for p in modules if f'"{law}"' in p.read_text())
    naming = {p for p in modules if mentions(p, KINDS[law].__name__) and p.parent.name != "scenes"}
    assert naming == {module, ROOT / "python" / "reducedfem" / "__init__.py"}


@pytest.mark.parametrize("law", ROWS)
def test_settings_are_passed_by_name(parts, law):
    made = contact(parts, KINDS[law].__name__)
    common = inspect.signature(rf.Contact._create).parameters
    table = re.findall(r'\bSETTING\("(\w+)"', (LAWS / f"{law}_law_rt.c").read_text())
    # a law may have a setting with the name of a common one, which its contacts do not have then
    own = {
        name: value for name, value in made.options.items() if name not in common or name in table
    }
    assert sorted(made._law_settings(own)) == sorted(table)


@pytest.mark.parametrize("kind", CONTACTS)
def test_a_contact_is_copied_by_its_class(parts, kind):
    made = contact(parts, kind)
    again = type(made)(made.tree, made.field, **made.options)
    for other in (pickle.loads(pickle.dumps(made)), again):
        assert type(other) is type(made)
        assert repr(other) == repr(made)
        assert repr(made).startswith(f"<{kind}: ")
        np.testing.assert_equal(dict(other.options), dict(made.options))
    fail_each_allocation(lambda: contact(parts, kind))


@pytest.mark.parametrize("kind", CONTACTS)
def test_no_point_is_stiffer_than_the_law_says(parts, kind):
    made = contact(parts, kind)
    for height in (-0.49, -0.3, 0.0, 2.0):
        found = made.evaluate((0, 0, height), (1, 0, 0, 0))
        stiffest = made._core.stiffest(0.0, found.depth)
        assert 0.0 < np.linalg.norm(found.force) <= stiffest * found.depth * (1 + 1e-12)
        assert -found.gradient[2, 2] <= stiffest * (1 + 1e-12)


def test_the_base_is_not_made():
    with pytest.raises(rf.InputTypeError, match=f"one of its subclasses: {', '.join(CONTACTS)}"):
        rf.Contact()
