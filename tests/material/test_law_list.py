"""The list of laws is the only one: a new law is a body, a row and a class."""

from __future__ import annotations

import re

import pytest

from places import ROOT, code, mentions
from reducedfem import _core

LIST = ROOT / "csrc" / "material" / "list_body.h"
ROWS = dict(re.findall(r'ROW\((\w+), "(\w+)"\)', LIST.read_text()))
# laws whose kernels are written for them; the others have those of any law
OWN_KERNELS = {"stvk", "linear"}


def test_rows_are_the_laws_of_the_core():
    assert list(ROWS.values()) == list(_core.laws())


@pytest.mark.parametrize("law", sorted(set(ROWS) - OWN_KERNELS))
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_a_law_touches_three_sources(law):
    """Its body, the list, and its class, which the package exports."""
    words = re.compile(rf"\b{law}\b|\b{ROWS[law]}\b|\b{law}_(point|second|facts|parameters|body)\b")
    sources = [p for p in (ROOT / "csrc").rglob("*.[ch]") if words.search(code(p.read_text()))]
    assert {p.name for p in sources} == {f"{law}_body.h", LIST.name}
    package = [p for p in (ROOT / "python").rglob("*.py") if mentions(p, ROWS[law])]
    assert {p.name for p in package} == {"laws.py", "__init__.py"}


@pytest.mark.parametrize(
    ("fact", "sources"),
    [
        ("quadratic_in_e", {"fem/solid.c"}),
        ("defined_inverted", {"fem/inverted.c", "cubature/cubature.c"}),
    ],
)
def test_only_the_solid_reads_a_fact(fact, sources):
    """It is read where elements or points are evaluated, and exported by the binding."""
    places = {
        str(p.relative_to(ROOT / "csrc"))
        for p in (ROOT / "csrc").rglob("*.c")
        if fact in code(p.read_text())
    }
    assert places == sources | {"pyext/py_law.c"}
