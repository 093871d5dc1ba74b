"""The architecture of the Python package as a test: folders import lower floors only."""

from __future__ import annotations

import ast
from pathlib import Path

from places import ROOT

PACKAGE = ROOT / "python"
TOP = "reducedfem"

# Modules beside the folders; the client of UDP devices is a program of its own.
FOLDER_OF = {"errors": "base", "_version": "base", "": "top", "__main__": "main", "_load": "load"}

# A folder imports lower floors only, also for types and within functions.
ALLOWED = {
    "base": set(),
    "io": {"base"},
    "material": {"base"},
    "drawing": {"base", "io"},
    "pictures": {
        "base", "io", "drawing", "geometry", "solid", "reduction", "dynamics", "contact", "world",
    },
    "viewer": {
        "base", "io", "drawing", "pictures", "geometry", "solid", "reduction", "contact",
        "dynamics", "haptics", "world", "green", "touch",
    },
    "geometry": {"base", "io", "drawing", "material"},
    "solid": {"base", "drawing", "geometry", "material"},
    "reduction": {"base", "io", "drawing", "geometry", "material", "solid"},
    "contact": {"base", "io", "geometry", "material", "solid", "reduction"},
    "dynamics": {"base", "geometry", "solid", "reduction", "contact"},
    "haptics": {
        "base", "io", "pictures", "geometry", "solid", "reduction", "contact", "dynamics", "touch",
    },
    # bodies that a hand touches without a coupling
    "touch": {"base", "geometry", "solid", "contact", "dynamics", "green"},
    "world": {"base", "io", "geometry", "solid", "contact", "dynamics"},
    "green": {"base", "io", "geometry", "solid"},
    "studies": {"base", "io"},
    "load": {"base", "io", "reduction", "contact", "green", "world"},
    # the package: public names of all folders above
    "top": {
        "base", "pictures", "viewer", "geometry", "material", "solid", "reduction", "contact",
        "dynamics", "haptics", "world", "green", "touch", "load", "studies",
    },
    # users of the package
    "scenes": {"base", "haptics", "top"},
    "samples": {
        "base", "pictures", "geometry", "material", "solid", "reduction", "dynamics", "top",
    },
    "cli": {
        "base", "io", "drawing", "pictures", "viewer", "geometry", "material", "solid", "reduction",
        "contact", "dynamics", "haptics", "green", "world", "load", "scenes", "samples",
    },
    "main": {"cli"},
    "udp_client": set(),
}  # fmt: skip


def modules() -> dict[str, Path]:
    """Return the files of all modules by name."""
    found = {}
    for path in (PACKAGE / TOP).rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(source: str, known: set[str]) -> set[str]:
    """Return the modules of the package that a source imports anywhere; not the C core."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in known or alias.name == "_core" else str(node.module))
    inside = {name for name in found if name.split(".")[0] == TOP}
    return {name for name in inside if not name.startswith(f"{TOP}._core")}


def folder(module: str) -> str:
    """Return the folder of a module."""
    name = module.partition(".")[2].partition(".")[0]
    return FOLDER_OF.get(name, name)


def graph() -> dict[str, set[str]]:
    """Return the modules that each module imports."""
    found = modules()
    assert len(found) > 100, "no modules found: wrong root?"
    return {name: imports(path.read_text(), set(found)) for name, path in found.items()}


def circle(edges: dict[str, set[str]]) -> list[str]:
    """Return the names along a circle; empty: there is none."""
    closed: set[str] = set()

    def visit(name: str, way: list[str]) -> list[str]:
        if name in way:
            return [*way[way.index(name) :], name]
        if name in closed:
            return []
        for lower in sorted(edges.get(name, ())):
            if found := visit(lower, [*way, name]):
                return found
        closed.add(name)
        return []

    for name in edges:
        if found := visit(name, []):
            return found
    return []


def test_the_table_has_no_circles():
    assert circle(ALLOWED) == []


def test_every_module_lies_in_a_known_folder():
    assert {folder(name) for name in modules()} == set(ALLOWED)


def test_folders_import_lower_floors_only():
    wrong = [
        f"{name} imports {lower}"
        for name, lowers in graph().items()
        for lower in sorted(lowers)
        if folder(lower) not in ALLOWED[folder(name)] | {folder(name)}
    ]
    assert wrong == []


def test_no_permission_is_unused():
    used: dict[str, set[str]] = {name: set() for name in ALLOWED}
    for name, lowers in graph().items():
        used[folder(name)] |= {folder(lower) for lower in lowers}
    unused = {name: allowed - used[name] for name, allowed in ALLOWED.items()}
    assert {name: rooms for name, rooms in unused.items() if rooms} == {}


def test_modules_import_each_other_in_no_circle():
    assert circle(graph()) == []


def test_circles_and_imports_are_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
    source = (
        "import numpy\nfrom reducedfem import _core\nfrom reducedfem.solid import modes\n"
        "if TYPE_CHECKING:\n    import reducedfem.io.saved\n"
        "def f():\n    from reducedfem.cli.info import main\n"
    )
    known = {"reducedfem.solid.modes"}
    assert imports(source, known) == {
        "reducedfem.solid.modes", "reducedfem.io.saved", "reducedfem.cli.info",
    }  # fmt: skip
    names = ("reducedfem", "reducedfem.errors", "reducedfem.io.saved")
    assert [folder(name) for name in names] == ["top", "base", "io"]
