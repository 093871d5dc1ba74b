"""A kind costs few sources: its own, and the rows that register it."""

from __future__ import annotations

import re

import pytest

import calls
import reducedfem as rf
from places import ROOT, code, mentions
from reducedfem.dynamics.integrator import Simulation
from reducedfem.haptics.devices import Device
from reducedfem.io import volume_files

CORE = ROOT / "csrc"
PACKAGE = ROOT / "python" / "reducedfem"


def sources(pattern, root=CORE):
    """Return the names of the sources whose code contains a pattern."""
    found = re.compile(pattern)
    if root == PACKAGE:
        return {p.name for p in root.rglob("*.py") if found.search(p.read_text())}
    return {p.name for p in root.rglob("*.[ch]") if found.search(code(p.read_text()))}


def rows(path, pattern=r"\bROW\((\w+)"):
    """Return the names in the rows of a registry."""
    found = re.findall(pattern, (CORE / path).read_text())
    assert found
    return found


SCHEMES = rows("dynamics/scheme.h", r"\bROW\((\w+)\)")


@pytest.mark.parametrize("kind", rows("body/kinds.h"))
def test_a_kind_of_body_is_a_source_and_a_row(kind):
    assert sources(rf"\brf_body_{kind}_kind\b") == {f"{kind}.c"}
    # a system may have the same name
    assert sources(rf"\bROW\({kind}\)") - {"system.h"} == {"kinds.h"}


@pytest.mark.parametrize("kind", rows("world/solver.h"))
def test_a_global_solver_is_a_source_and_a_row(kind):
    """A world without a choice has the solver that moves each body alone."""
    default = {"world.c"} if kind == "split" else set()
    assert sources(rf"\brf_solver_{kind}\b") == {f"{kind}.c"} | default


@pytest.mark.parametrize("shape", rows("sdf/shape_list_body.h", r"\bROW\([A-Z]+, (\w+)\)"))
def test_a_shape_is_a_header_a_row_and_a_class(shape):
    own = f"shape_{shape}.h"
    named = sources(rf"RF_SHAPE_{shape.upper()}\b|ROW\({shape.upper()}\b|rf_field_{shape}_depth\b")
    assert named == {own, "shape_list_body.h"}
    assert sources(rf'"sdf/{own}"') - {"shape_capsule.h"} == {"shape_list_body.h"}
    assert sources(f'field_from_shape\\("{shape}"', PACKAGE) == {"shape_field.py"}


LAWS = re.findall(r'\bROW\((\w+), "(\w+)"', (CORE / "material/list_body.h").read_text())


@pytest.mark.parametrize(("law", "kind"), LAWS)
def test_a_material_is_a_header_a_row_and_a_class(law, kind):
    """Files, scenes and commands have the first two of them."""
    body = f"{law}_body.h"
    assert sources(rf"\b{law}_facts\b|\bROW\({law}, |material/{body}") == {body, "list_body.h"}
    users = {p.name for p in PACKAGE.rglob("*.py") if mentions(p, kind)}
    assert users == {"laws.py", "__init__.py"} or kind in ("StVK", "LinearElastic")


@pytest.mark.parametrize("rule", rows("dynamics/collide.h"))
def test_a_rule_of_contact_in_explicit_steps_is_a_source_and_a_row(rule):
    assert sources(rf"\brf_collide_{rule}\b") == {f"collide_{rule}_rt.c"}
    assert rf.RigidProxy(rf.SphereField([0, 0, 0], 1.0), rule=rule).rule == rule


@pytest.mark.parametrize("system", rows("dynamics/system.h", r"\bROW\((\w+)\)"))
def test_a_system_is_a_source_and_a_row(system):
    """Statics and free bodies use the systems for which they are."""
    users = {"free_body.c", "statics_dense.c", "statics_solid.c"}
    assert sources(rf"\brf_system_{system}\b") - users == {f"system_{system}.c"}
    # or with the system
    assert sources(rf"\brf_stable_step_{system}\b") == {"spectrum.c"}
    # the Python type of its model makes it an argument
    assert len(sources(rf"\bpy_{system}_source\b")) == 1


@pytest.mark.parametrize("kind", Device._connected())
def test_a_device_is_a_source_its_constructor_and_its_class(kind):
    """Only messages and docstrings of other modules name it."""
    users = {p.name for p in PACKAGE.rglob("*.py") if mentions(p, kind.__name__)}
    assert users == {"connected_devices.py", "__init__.py"}
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__.removesuffix("Device")).lower()
    header = {"space_mouse": "spacemouse", "open_haptics": "openhaptics"}.get(name, name)
    used = {one for one in sources(rf'"device/{header}\.h"') if not one.startswith(header)}
    assert used == {"py_device.c"}


@pytest.mark.parametrize("suffix", volume_files.FORMATS)
def test_a_format_of_meshes_is_a_module_and_a_row(suffix):
    module = volume_files.FORMATS[suffix].__name__.rpartition(".")[2]
    assert sources(rf"\b{module}\b", PACKAGE) == {"volume_files.py"}
    # the suffixes of files that are written are in a list of their own
    named = sources(f'"{re.escape(suffix)}"', PACKAGE)
    assert named == {"volume_files.py"}


def integrators():
    """Return all integrators that users make, by the names of their schemes."""
    return {one._scheme: one for one in calls.integrators(Simulation)}


def test_rows_and_classes_are_the_same():
    assert sorted(integrators()) == sorted(SCHEMES), "a class, its import in __init__, a row"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_time_integrator_is_a_source_a_row_and_a_class(scheme):
    """Besides, steps of worlds and free bodies are those of one integrator."""
    used = {"newmark": {"body.c"}, "backward_euler": {"multibody_node.c"}}.get(scheme, set())
    named = sources(rf'"{scheme}"|\brf_scheme_{scheme}\b') - used
    assert named in ({f"{scheme}.c"}, {f"{scheme}_rt.c"})
    used = {"free_body.py"} if scheme == "newmark" else set()
    assert len(sources(f'"{scheme}"', PACKAGE) - used) == 1


@pytest.mark.parametrize("name", ["isinstance", "issubclass"])
def test_nothing_asks_for_one_integrator_or_contact(name):
    """Code outside of a class asks for the base of all, or of implicit integrators."""
    classes = [one.__name__ for one in (*integrators().values(), *rf.Contact.__subclasses__())]
    asked = re.compile(rf"{name}\([^()]*\b({'|'.join(classes)})\b")
    texts = {p: p.read_text() for p in (ROOT / "python").rglob("*.py")}
    assert [place for place, text in texts.items() if asked.search(text)] == []
