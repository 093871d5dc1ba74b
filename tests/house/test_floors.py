"""The architecture as a test: who may include whom, and what lies in the tree."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from places import ROOT

CSRC = ROOT / "csrc"
TESTS = ROOT / "tests"

# A room includes lower floors only, never a neighbour, never upwards.  Every room
# may also include itself.
ALLOWED = {
    "base": set(),
    "linalg": {"base"},
    "material": {"base", "linalg"},
    "device": {"base", "linalg"},
    # contact with friction: matrices in, forces out; knows no bodies
    "constraint": {"base", "linalg"},
    "mesh": {"base", "linalg"},
    "fem": {"base", "linalg", "material", "mesh"},
    "sdf": {"base", "linalg", "mesh"},
    # sdf: points are fitted to level sets of distance fields (B07 3.8.1)
    "pointshell": {"base", "linalg", "mesh", "sdf"},
    "modes": {"base", "linalg", "fem"},
    "basis": {"base", "linalg", "modes"},
    "polynomial": {"base", "linalg", "material", "fem"},
    # the energy of any material, by points of the mesh; kernels of gradients are those of strains
    "cubature": {"base", "linalg", "material", "fem", "polynomial"},
    # fem and mesh: a model is built from a solid here, not in the binding
    "model": {"base", "linalg", "mesh", "fem", "polynomial", "cubature"},
    # fem (and with it mesh): the unreduced solid is stepped by the same scheme, and its
    # tangent is too large to be handed over as an argument at every iteration
    # sdf: obstacles that a solid must not cross, by any steps of its integrator; constraint: the
    # forces of nodes that touch, where steps with damping inside couple them
    "dynamics": {
        "base",
        "linalg",
        "constraint",
        "mesh",
        "fem",
        "sdf",
        "modes",
        "polynomial",
        "model",
    },
    # solutions of statics made in advance, combined in real time; modes: the factored stiffness of
    # held and of free solids
    "green": {"base", "linalg", "fem", "modes", "constraint"},
    # distance fields of objects that deform
    "deform": {"base", "linalg", "mesh", "sdf", "model"},
    "contact": {"base", "linalg", "sdf", "deform", "pointshell", "model"},
    # from the hand to the held object: couplings, depth limiter, workspace
    "render": {"base", "linalg"},
    # bodies that a hand touches directly
    "touch": {"base", "linalg", "mesh", "green", "render", "dynamics"},
    "body": {"base", "linalg", "dynamics"},
    # bodies in contact, and solvers for several of them
    "world": {"base", "linalg", "constraint", "pointshell", "dynamics", "contact", "body"},
    "haptic": {"base", "linalg", "device", "dynamics", "contact", "render", "world"},
}
# the binding sees the rooms that have a face in Python; no room sees the binding
ALLOWED["pyext"] = set(ALLOWED) - {"body", "material"}

# headers that real-time code must not include, directly or through others
FORBIDDEN_IN_RT = {
    "base/alloc.h", "base/run.h", "fem/fem.h",
    "linalg/blas.h", "linalg/lapack.h", "linalg/cholesky.h", "linalg/eigen.h", "cholmod.h",
    "stdio.h", "stdlib.h", "pthread.h", "threads.h", "Python.h", "numpy/arrayobject.h",
}  # fmt: skip

TOP_LEVEL = {
    "csrc", "python", "tests", "notebooks", "benchmarks", "experiments", "docs",
    "pyproject.toml", "setup.py", "README.md", "LICENSE", "Makefile",
    "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md",
}  # fmt: skip
LARGEST_FILE = 1_000_000  # bytes

# folders of tests: the rooms, some under other names, and what has no room in C
RENAMED = {"haptic": "haptics"}
OTHER_TESTS = {
    "cli",
    "drawing",
    "experiments",
    "house",
    "io",
    "pictures",
    "scenes",
    "studies",
    "viewer",
}
SOURCES = ("csrc", "python", "tests", "benchmarks")
LONGEST_SOURCE = 600  # lines

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def c_sources(pattern: str = "*.[ch]") -> list[Path]:
    return sorted(CSRC.rglob(pattern))


def includes(text: str) -> list[tuple[str, bool]]:
    """Return (name, whether in quotes) of every include of a C source."""
    return [(quoted or angled, bool(quoted)) for quoted, angled in INCLUDE.findall(text)]


def floor_violations(room: str, text: str) -> list[str]:
    """Return what is wrong with the includes of a source that lives in `room`."""
    wrong = []
    for name, quoted in includes(text):
        if not quoted:
            continue
        target, slash, _ = name.partition("/")
        if not slash:
            wrong.append(f'"{name}" does not name its room')
        elif target not in ALLOWED:
            wrong.append(f'"{name}" is in a room that the table does not know')
        elif target != room and target not in ALLOWED[room]:
            wrong.append(f'"{name}": {room} may not include {target}')
    return wrong


def test_the_table_has_no_circles():
    visited: dict[str, str] = {}

    def visit(room: str) -> None:
        assert visited.get(room) != "open", f"{room} is above itself"
        if room not in visited:
            visited[room] = "open"
            for lower in ALLOWED[room] - {room}:
                visit(lower)
            visited[room] = "closed"

    for room in ALLOWED:
        visit(room)


def test_every_source_lies_in_a_known_room():
    assert c_sources(), "no C sources found: wrong root?"
    stray = [str(p) for p in c_sources() if p.relative_to(CSRC).parts[0] not in ALLOWED]
    assert stray == []


def test_rooms_include_lower_floors_only():
    wrong = [
        f"{path.relative_to(ROOT)}: {problem}"
        for path in c_sources()
        for problem in floor_violations(path.relative_to(CSRC).parts[0], path.read_text())
    ]
    assert wrong == []


def unused_permissions(room: str, texts: list[str]) -> set[str]:
    """Return the rooms that `room` may include and does not."""
    used = {name.partition("/")[0] for text in texts for name, quoted in includes(text) if quoted}
    return ALLOWED[room] - used


def test_no_permission_is_unused():
    texts: dict[str, list[str]] = {room: [] for room in ALLOWED}
    for path in c_sources():
        texts[path.relative_to(CSRC).parts[0]].append(path.read_text())
    unused = {room: unused_permissions(room, texts[room]) for room in ALLOWED}
    assert {room: rooms for room, rooms in unused.items() if rooms} == {}


def test_unused_permissions_are_found():
    assert unused_permissions("sdf", ['#include "base/a.h"\n', '#include "linalg/b.h"\n']) == {
        "mesh"
    }
    assert unused_permissions("base", []) == set()


def test_violations_are_found():
    assert floor_violations("mesh", '#include "base/status.h"\n#include <math.h>\n') == []
    assert floor_violations("mesh", '#include "mesh/mesh.h"\n') == []
    assert len(floor_violations("mesh", '#include "fem/fem.h"\n')) == 1  # upwards
    assert len(floor_violations("fem", '  #  include "sdf/sdf.h"\n')) == 1  # neighbour
    assert len(floor_violations("fem", '#include "pyext/py_core.h"\n')) == 1
    assert len(floor_violations("fem", '#include "fem.h"\n')) == 1  # without a room


def test_only_the_binding_knows_python():
    wrong = []
    for path in c_sources():
        if path.relative_to(CSRC).parts[0] == "pyext":
            continue
        for name, _ in includes(path.read_text()):
            if name.startswith(("Python.h", "numpy/", "structmember.h")):
                wrong.append(f"{path.relative_to(ROOT)} includes {name}")
    assert wrong == []


def ways_to(sources: dict[str, str], forbidden: set[str], start: str) -> list[str]:
    """Return how a source gets to see what is forbidden, each as "a > b > c"."""
    ways, way = [], {start: start}
    found = [start]
    for source in found:  # which grows
        for name, quoted in includes(sources[source]):
            if name in way:
                continue
            way[name] = f"{way[source]} > {name}"
            if name in forbidden:
                ways.append(way[name])
            elif quoted:
                found.append(name)
    return ways


def test_real_time_sources_include_no_forbidden_headers():
    sources = {str(p.relative_to(CSRC)): p.read_text() for p in c_sources()}
    real_time = [name for name in sources if re.search(r"_rt(_\w+)?\.[ch]$", name)]
    assert len(real_time) > 20
    assert [way for name in real_time for way in ways_to(sources, FORBIDDEN_IN_RT, name)] == []


def test_forbidden_includes_are_seen_through_others():
    sources = {
        "a/x_rt.c": '#include <math.h>\n#include "a/x.h"\n',
        "a/x.h": '#include "a/y.h"\n#include "a/x.h"\n',
        "a/y.h": "#include <stdlib.h>\n#include <stdint.h>\n",
    }
    assert ways_to(sources, {"stdlib.h"}, "a/x_rt.c") == ["a/x_rt.c > a/x.h > a/y.h > stdlib.h"]
    assert ways_to(sources, {"a/y.h"}, "a/x_rt.c") == ["a/x_rt.c > a/x.h > a/y.h"]
    assert ways_to(sources, {"stdio.h"}, "a/x_rt.c") == []


def test_header_guards_carry_prefix_and_path():
    wrong = []
    for path in c_sources("*.h"):
        name = "_".join(path.relative_to(CSRC).with_suffix("").parts).upper()
        guard = f"RF_{name}_H"
        # kernel bodies are compiled once per instruction set, with other macros each time
        if path.stem.endswith("_body"):
            continue
        if not re.search(rf"^#ifndef {guard}\n#define {guard}\n", path.read_text(), re.MULTILINE):
            wrong.append(f"{path.relative_to(ROOT)}: no guard {guard}")
    assert wrong == []


# printing, leaving, jumping and handlers belong to the program, not to a library
NOT_IN_A_LIBRARY = re.compile(
    r"\b(?:printf|puts|putchar|perror|exit|_exit|abort|longjmp|signal|sigaction|assert)\s*\("
)
# memory comes through base/alloc.c alone, where it is counted
RAW_MEMORY = re.compile(
    r"\b(?:malloc|calloc|realloc|aligned_alloc|posix_memalign|strdup|free)\s*\("
)


def without_comments_and_texts(text: str) -> str:
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    return re.sub(r"//[^\n]*", " ", text)


def test_the_library_is_mute_and_has_one_door_for_memory():
    wrong = []
    for path in c_sources():
        code = without_comments_and_texts(path.read_text())
        found = NOT_IN_A_LIBRARY.findall(code)
        if path == CSRC / "linalg" / "analysis.c":  # puts handlers back that METIS replaced
            found = [one for one in found if one != "sigaction("]
        wrong += [f"{path.relative_to(ROOT)}: {m}" for m in found]
        if path != CSRC / "base" / "alloc.c":
            wrong += [f"{path.relative_to(ROOT)}: {m}" for m in RAW_MEMORY.findall(code)]
    assert wrong == []


def test_mute_patterns_match_output_only():
    assert NOT_IN_A_LIBRARY.search("if (bad) exit(1);")
    assert NOT_IN_A_LIBRARY.search("  printf (x);")
    assert not NOT_IN_A_LIBRARY.search("snprintf(to, size, format); rf_exit(1); atexit(f);")
    assert RAW_MEMORY.search("p = malloc(3);")
    assert not RAW_MEMORY.search("rf_free(p); rf_cholesky_free(f); type->tp_free_not(o);")
    assert without_comments_and_texts('f("exit(1) // no", a); // exit(2)').count("exit") == 0


def tracked_files() -> list[str]:
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    done = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        pytest.skip(f"git cannot list the files here: {done.stderr.strip()}")
    return [name for name in done.stdout.split("\0") if name and (ROOT / name).exists()]


def test_top_level_has_the_listed_entries_only():
    top = {name.split("/")[0] for name in tracked_files()}
    assert {name for name in top if not name.startswith(".")} - TOP_LEVEL == set()


def test_no_large_or_built_file_is_tracked():
    files = tracked_files()
    assert [f for f in files if (ROOT / f).stat().st_size > LARGEST_FILE] == []
    built = (".so", ".o", ".pyc", ".pyd", ".whl", ".egg-info")
    assert [f for f in files if f.endswith(built)] == []


def test_tests_lie_in_the_rooms_of_their_subjects():
    rooms = {RENAMED.get(room, room) for room in ALLOWED} - {"pyext"}
    found = {path.relative_to(TESTS).parts[0] for path in TESTS.rglob("test_*.py")}
    assert found - rooms - OTHER_TESTS == set()


def test_sources_are_short():
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text().splitlines())
        for folder in SOURCES
        for path in (ROOT / folder).rglob("*.*")
        if path.suffix in (".py", ".c", ".h")
    }
    assert len(lengths) > 700, "no sources found: wrong root?"
    long = {name: count for name, count in lengths.items() if count > LONGEST_SOURCE}
    assert long == {}
