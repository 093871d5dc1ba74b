"""Tests patch no private state of the package."""

from __future__ import annotations

import ast

from places import ROOT

PATCHES = {"setattr", "delattr", "patch", "object"}


def is_private(name: str) -> bool:
    """Return True for a name with one leading underscore, but not for the module `_core`."""
    last = name.rpartition(".")[2]
    return last.startswith("_") and not last.startswith("__") and last != "_core"


def patched(call: ast.Call) -> list[str]:
    """Return the names that a call of `setattr` or its like may change."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)
    if name not in PATCHES:
        return []
    texts = [a.value for a in call.args[:2] if isinstance(a, ast.Constant)]
    return [text for text in texts if isinstance(text, str)]


def chain(node: ast.expr) -> list[str]:
    """Return the names of an expression such as ``a.b[0].c``; empty: it is of another kind."""
    if isinstance(node, ast.Attribute):
        return [*chain(node.value), node.attr]
    if isinstance(node, ast.Subscript):
        return chain(node.value)
    return [node.id] if isinstance(node, ast.Name) else []


def private_names_set(source: str) -> list[str]:
    """Return the private names of other objects than `self` that a source changes."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            found += [f"{node.lineno}: {name}" for name in patched(node) if is_private(name)]
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            owner, *names = chain(node) or ["", node.attr]
            if owner != "self" and any(name.startswith("_") for name in names):
                found.append(f"{node.lineno}: {ast.unparse(node)}")
    return found


def test_tests_change_no_private_names():
    wrong = [
        f"{path.relative_to(ROOT)}:{what}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for what in private_names_set(path.read_text())
    ]
    assert wrong == []


def test_changes_of_private_names_are_found():
    for line in (
        "made._core = 1", "a._b.c = 2", "del a._b", "a._b += 1", "a._b, c = 1, 2",
        "monkeypatch.setattr(rf.module, '_NAME', 3)", "setattr(a, '_b', 4)",
        "monkeypatch.setattr('package.module._name', 5)", "for a._b in c: pass",
    ):  # fmt: skip
        assert private_names_set(line), line
    for line in (
        "self._own = 1", "a.b = 2", "x = made._core", "_name = 3", "made._core.start(4)",
        "monkeypatch.setattr(_core, 'Session', 5)", "setattr(a, 'b', '_c')",
    ):  # fmt: skip
        assert not private_names_set(line), line


def test_names_of_test_files_are_distinct():
    """Pytest imports them by name, from all folders."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
