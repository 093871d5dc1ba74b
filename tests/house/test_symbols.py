"""Names of functions tell the room: rf_<noun>_<action>, each noun in one room.

The table is the vocabulary of the core.  Of two nouns that fit a name the longer one counts.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from places import ROOT

CSRC = ROOT / "csrc"

NOUNS = {
    "base": "alloc arena broadcast clock denormals disjoint fail free processor redzone ring run "
    "thread",
    "linalg": "adjacency analysis blas canonical cholesky cluster csc cubic curve deflate dense "
    "dissection eigen front fronts lapack mat3 minimum_degree ordering orient orient2 orient3 pose "
    "process quat same semidefinite simd solve6 tall tridiagonal vec3 "
    # vectors of the instruction sets, and sums over arrays
    "abs all4 any4 dot fold4 larger least least4 load load4 most4 norm pieces root4 splat store "
    "store4 sum sums4 transpose4",
    "material": "law",
    "constraint": "delassus friction lemke pyramid",
    "device": "device force_dimension frame hand library mouse openhaptics oscillator replay "
    "spacemouse trajectory udp",
    "mesh": "boundary box bvh closest constraints crossings cube cut edge edges element embedding "
    "face hex hex20 holes inside lattice local mesh orientation reference rule surface tet tet10 "
    "triangle voxel voxelize wide winding",
    "fem": "constrained kernels loads node rigid shape solid viscosity",
    "sdf": "field grid isosurface open packet union voxmap",
    "pointshell": "cells farthest hexagonal level point repel repulsion sampler seed shell uniform",
    "modes": "modes",
    "basis": "basis mass metric thin",
    "cubature": "cubature",
    "polynomial": "damping gram pairs polynomial quartic",
    "model": "projected reduced skin",
    "dynamics": "barrier blocks collide coupled_matrix equilibrium exponential free_bodies "
    "free_body modal_subspace motion newton prefactored primitive proxy pull rubbing scheme "
    "spectrum stable_step statics system",
    "green": "composite control green",
    "deform": "deformed",
    "contact": "contact fit",
    "render": "coupling depth_limit dynamic moved touch travel workspace",
    "touch": "explicit tip",
    "body": "body",
    "world": "broad coupled driven frictional multibody pair sites solver world",
    "haptic": "cycle feel histogram loop passivity record safety session snapshot stage stillness "
    "tick",
}
# a declaration at the beginning of a line, also of an inline function
DECLARED = re.compile(
    r"^(?!typedef|#|//|\s)(?:static inline )?[A-Za-z_][\w ]*?[ *](rf_\w+)\(", re.MULTILINE
)

# a function that a header defines for each source that includes it
DEFINED = re.compile(r"^static (?:inline )?[\w ]*?[ *](\w+)\(", re.MULTILINE)


def noun_of(function: str, nouns: set[str]) -> str | None:
    """Return the longest noun with which a function's name begins."""
    words = function.split("_")[1:]
    fitting = ("_".join(words[:n]) for n in range(len(words), 0, -1))
    return next((noun for noun in fitting if noun in nouns), None)


@pytest.fixture(scope="module")
def declared() -> dict[str, set[str]]:
    """Return the functions that the headers of each room declare."""
    found: dict[str, set[str]] = {}
    for path in sorted(CSRC.rglob("*.h")):
        room = Path(path.relative_to(CSRC)).parts[0]
        if room != "pyext":
            found.setdefault(room, set()).update(DECLARED.findall(path.read_text()))
    return found


def rooms() -> dict[str, str]:
    """Return the room of each noun."""
    return {noun: room for room, nouns in NOUNS.items() for noun in nouns.split()}


def test_a_noun_belongs_to_one_room():
    assert len(rooms()) == sum(len(nouns.split()) for nouns in NOUNS.values())


def test_functions_are_named_by_a_noun_of_their_room(declared):
    room_of = rooms()
    wrong = []
    for room, functions in declared.items():
        for function in sorted(functions):
            noun = noun_of(function, set(room_of))
            if noun is None or room_of[noun] != room:
                wrong.append(f"{function} in {room}: begins with no noun of this room")
    assert sum(map(len, declared.values())) > 300
    assert wrong == []


def test_functions_defined_in_headers_carry_the_prefix():
    """Templates (`*_body.h`) define functions of the one source that includes them."""
    names = {
        name: path
        for path in CSRC.rglob("*.h")
        if not path.stem.endswith("_body")
        for name in DEFINED.findall(path.read_text())
    }
    assert len(names) > 100
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for name, path in names.items()
        if not name.startswith("py_" if path.parent.name == "pyext" else "rf_")
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("line", "functions"),
    [
        ("static inline double box_value(int n) {", ["box_value"]),
        ("static void *rf_arena_take(rf_arena *a) {", ["rf_arena_take"]),
        ("static const double LEAST = fmin(1, 2);", []),
        ("  static inline int f(int n);", []),
    ],
)
def test_definitions_are_found(line, functions):
    assert DEFINED.findall(line) == functions


def test_every_noun_is_in_use(declared):
    room_of = rooms()
    used = {noun_of(f, set(room_of)) for functions in declared.values() for f in functions}
    assert set(room_of) - used == set()


@pytest.mark.parametrize(
    ("line", "functions"),
    [
        ("RF_MUST_CHECK rf_status rf_mesh_create(int n);", ["rf_mesh_create"]),
        ("void rf_mesh_free(rf_mesh *m);", ["rf_mesh_free"]),
        ("static inline double *rf_solid_volume(const rf_solid *s) {", ["rf_solid_volume"]),
        ("typedef void rf_pairs_fn(int m);", []),
        ("  return rf_mesh_free(m);", []),
        ("// rf_mesh_free(m)", []),
    ],
)
def test_declarations_are_found(line, functions):
    assert DECLARED.findall(line) == functions


def test_the_longer_noun_counts():
    assert noun_of("rf_free", {"free", "free_body"}) == "free"
    assert noun_of("rf_free_body_create", {"free", "free_body"}) == "free_body"
    assert noun_of("rf_other", {"free"}) is None
