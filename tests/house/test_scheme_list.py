"""A time integrator costs two sources: its scheme in C, with a row, and its class."""

from __future__ import annotations

import re

import pytest

import reducedfem as rf
from places import ROOT, code
from reducedfem.dynamics.integrator import ImplicitSimulation, Simulation

DYNAMICS = ROOT / "csrc" / "dynamics"
ROWS = re.findall(r"ROW\((\w+)\)", (DYNAMICS / "scheme.h").read_text())


def kinds(base=Simulation):
    """Return all integrators that users make, by the names of their schemes."""
    found = {one._scheme: one for one in base.__subclasses__() if hasattr(one, "_scheme")}
    return found | (kinds(ImplicitSimulation) if base is Simulation else {})


def test_rows_and_classes_are_the_same():
    assert ROWS
    assert sorted(kinds()) == sorted(ROWS)


@pytest.mark.parametrize("scheme", ROWS)
def test_a_scheme_is_a_source_and_a_class(scheme):
    """No other source names it, but for steps of worlds and free bodies."""
    table = re.compile(rf'"{scheme}"|\brf_scheme_{scheme}\b')
    sources = [p for p in (ROOT / "csrc").rglob("*.[ch]") if table.search(code(p.read_text()))]
    used = {"newmark": {"coupled.c"}, "backward_euler": {"multibody_node.c"}}.get(scheme, set())
    assert {p.name for p in sources} - used in ({f"{scheme}.c"}, {f"{scheme}_rt.c"})
    package = [
        p for p in (ROOT / "python" / "reducedfem").rglob("*.py") if f'"{scheme}"' in p.read_text()
    ]
    used = {"free_body.py"} if scheme == "newmark" else set()
    assert len({p.name for p in package} - used) == 1


@pytest.mark.parametrize("name", ["isinstance", "issubclass"])
def test_nothing_asks_for_one_integrator_or_contact(name):
    """Code outside of a class asks for the base of all, or of implicit integrators."""
    classes = [one.__name__ for one in (*kinds().values(), *rf.Contact.__subclasses__())]
    asked = re.compile(rf"{name}\([^()]*\b({'|'.join(classes)})\b")
    texts = {p.name: p.read_text() for p in (ROOT / "python").rglob("*.py")}
    assert [place for place, text in texts.items() if asked.search(text)] == []
