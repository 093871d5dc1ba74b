"""Plain English in comments and docstrings, as far as a machine can judge it.

A comment or docstring opens with a subject or a verb, not with a clause (What, Whether, Where, How,
Whom, Who); it uses the standard term, not a private one; a docstring has at most 60 lines.
"""

from __future__ import annotations

import re
import textwrap

import pytest

from places import ROOT

OPENING = re.compile(r"(?:what|whether|where|how|whom|who)\b", re.IGNORECASE)
LONGEST_DOCSTRING = 60  # lines

# private words, and what to write instead
BANNED = {
    r"keepers?": "watchdog",
    r"liars?": "an untrusted sender",
    r"nobody|somebody|someone|anybody|everybody|whoever": "the caller, the owner, no thread ...",
    r"whatever|whichever|wherever": "any, for all",
    r"no number|no numbers": "NaN, not finite",
    r"(?<!there )(?:is|are) (?-i:none)": "the missing thing: has no ..., is not a ...",
    r"told": "reported, given",
    r"look(?:s|ed|ing)? at": "visit, test, read",
    r"go(?:es|ing)? on": "continue",
    r"let(?:s|ting)? go": "release, free",
    r"(?:the )?other way round|turned round": "reversed, vice versa",
    r"to and fro": "oscillate",
    r"hangs? together": "connected",
    r"bends? far": "large deformations",
    r"all the same": "nevertheless, identical",
    r"to be had": "available",
    r"in the wild": "of any quality",
    r"believed?": "estimated, accepted",
    r"(?:is|are) welcome": "allowed",
}
BANNED_WORD = re.compile(
    r"\b(?:" + "|".join(f"(?P<_{k}>{words})" for k, words in enumerate(BANNED)) + r")\b",
    re.IGNORECASE,
)

FOLDERS = ("csrc", "python", "tests", "benchmarks", "experiments")
MARK = {".c": "//", ".h": "//", ".py": "#"}
# the mark in quotes, or in an address, begins no comment
TRAILING = {
    "//": re.compile(r'^[^"]*?(?:"[^"]*"[^"]*?)*(?<!:)//(?![^"]*"[^"]*$)\s*(.*)$'),
    "#": re.compile(r"^[^\"']*?  #(?::|\s)\s*(.*)$"),
}
# a string after a definition's colon, or at the beginning of a file
DOCSTRING = re.compile(r'(?:\A|(?<=:\n))([ \t]*)[rR]?"""(.*?)"""', re.DOTALL)
# documentation of the C types: a signature line, dashes, the text
C_DOCSTRING = re.compile(r'PyDoc_STRVAR\(\s*\w+,((?:\s*"(?:[^"\\]|\\.)*")+)\s*\)')
DIRECTIVE = re.compile(r"(?:noqa|type:|fmt:|ruff:|pragma|cppcheck-suppress|clang-format)")

# Violations left in files that were written before the rules; files are known by name, so that
# they may move.  Numbers only ever fall: who improves a file lowers its number here.
ALLOWANCE = """
b07_2_13_progressive.py 4  b07_3_13_asymmetry.py 3  b07_3_13_degradation.py 1
b07_3_13_features.py 2  b07_3_13_peg.py 1  b07_4_2_coupled.py 2  b07_4_9_attacks.py 2
b07_table_3_1.py 3  bench_examples.py 1  bench_field.py 1  bridges.py 1  ckernels.py 1
conftest.py 1  contact_world.c 1  experiments.py 1  failures.py 1  felt_stiffness.py 1
haptic_core.py 1  haptics_soak.py 3  interpose.c 3  loop_world.c 1  moments.py 1  no_contact.h 3
places.py 1  refuse.c 2  run_order.c 1  session_threads.c 1  spoon_experiment.py 3
test_adaptive_statics.py 2  test_alloc_failures.py 3  test_atomic.py 1
test_b07_2_13_progressive.py 1  test_b07_3_13_force.py 1  test_b07_3_13_motion.py 1
test_b07_3_13_scenes.py 2  test_basis.py 1  test_bench_haptics_soak.py 1  test_bench_table.py 3
test_blas.py 2  test_cli.py 1  test_closest.py 1  test_contact_clock.py 13  test_contact_face.py 2
test_copies.py 1  test_coupled.py 2  test_coupled_bodies.py 1  test_coupling.py 2
test_crossings.py 1  test_cut_cells.py 1  test_cut_solids.py 2  test_damping.py 1
test_deformed_contact.py 3  test_demo.py 1  test_devices.py 1  test_driven_contact.py 1
test_embedding.py 2  test_explicit.py 1  test_face.py 1  test_field_clear.py 3
test_field_culling.py 4  test_field_files.py 1  test_field_surface.py 1  test_floors.py 2
test_force_dimension.py 5  test_free_body.py 1  test_free_body_damping.py 1  test_free_solids.py 1
test_haptics_arguments.py 1  test_haptics_closed_forms.py 4  test_haptics_energy.py 5
test_haptics_limits.py 4  test_haptics_realtime.py 1  test_haptics_time.py 5
test_hostile_files.py 1  test_integrator.py 9  test_isosurface.py 1  test_material_editing.py 1
test_mesh.py 1  test_modes.py 4  test_modes_reference.py 1  test_notebooks.py 2
test_openhaptics.py 1  test_package.py 1  test_pod_and_merging.py 2  test_point_tree.py 1
test_pointshell_others.py 1  test_pointshell_repulsion.py 3  test_pointshell_surfaces.py 4
test_real_meshes.py 4  test_reduce.py 1  test_rt_symbols.py 2  test_scenes.py 1
test_second_order.py 2  test_simulate.py 2  test_sketch.py 1  test_sketch_files.py 1
test_spacemouse.py 1  test_spoon_experiment.py 1  test_thinning.py 2  test_threads.py 1
test_udp_client.py 1  test_udp_device.py 7  test_volume_files.py 2  test_voxmap.py 1
test_winding.py 1  test_workspace.py 1  test_wrong_arguments.py 1
"""


def comments(text: str, mark: str) -> list[tuple[int, str]]:
    """Return blocks of comments as (line, text); a block is a run of lines, or a trailing one."""
    found, block, begin = [], [], 0
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.lstrip()
        if stripped.startswith(mark):
            begin = begin if block else number
            block.append(stripped.strip("/#!: "))
            continue
        if block:
            found.append((begin, " ".join(block)))
            block = []
        if mark in line and (trailing := TRAILING[mark].match(line)):
            found.append((number, trailing[1]))
    if block:
        found.append((begin, " ".join(block)))
    return [(number, words) for number, words in found if not DIRECTIVE.match(words)]


def docstrings(text: str, mark: str) -> list[tuple[int, str]]:
    """Return docstrings as (line, text)."""
    found = []
    if mark == "#":
        for match in DOCSTRING.finditer(text):
            found.append((text.count("\n", 0, match.start(2)) + 1, match[2]))
    elif "PyDoc_STRVAR" in text:
        for match in C_DOCSTRING.finditer(text):
            joined = re.sub(r'"\s*"', "", match[1].strip()).strip('"').replace("\\n", "\n")
            words = joined.partition("\n--\n\n")[2] or joined
            found.append((text.count("\n", 0, match.start()) + 1, words))
    return found


def violations(text: str, mark: str) -> list[tuple[int, str]]:
    """Return what breaks the rules in a source, as (line, reason)."""
    found = []
    notes, docs = comments(text, mark), docstrings(text, mark)
    for line, words in [*notes, *docs]:
        words = words.strip()
        question = words.split("\n\n")[0].rstrip().endswith("?")
        if (opening := OPENING.match(words)) and not question:
            found.append((line, f"opens with {opening[0]!r}: begin with a noun or a verb"))
        for word in BANNED_WORD.finditer(words):
            instead = list(BANNED.values())[int(word.lastgroup[1:])]
            found.append((line, f"{word[0]!r}: write {instead}"))
    for line, words in docs:
        length = words.rstrip().count("\n") + 1
        if length > LONGEST_DOCSTRING:
            found.append((line, f"a docstring of {length} lines: at most {LONGEST_DOCSTRING}"))
    return sorted(found, key=lambda one: one[0])


def table(numbers: dict[str, int]) -> str:
    """Return numbers by name as they stand in ALLOWANCE."""
    entries = [f"{name}={count}" for name, count in sorted(numbers.items()) if count > 0]
    text = textwrap.fill("  ".join(entries), 98, break_long_words=False, break_on_hyphens=False)
    return text.replace("=", " ")


def allowance() -> dict[str, int]:
    """Return the table as numbers by name."""
    fields = ALLOWANCE.split()
    return dict(zip(fields[::2], map(int, fields[1::2]), strict=True))


@pytest.fixture(scope="module")
def found() -> dict[str, list[str]]:
    """Return the violations of all sources, by name of file."""
    by_name: dict[str, list[str]] = {}
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*"))]
    for path in [*paths, ROOT / "setup.py"]:
        mark = MARK.get(path.suffix)
        if mark is None or path.name == "test_prose.py":
            continue
        at = path.relative_to(ROOT)
        lines = [f"{at}:{n}: {why}" for n, why in violations(path.read_text(), mark)]
        if lines:
            by_name.setdefault(path.name, []).extend(lines)
    return by_name


def test_no_file_has_more_violations_than_before(found):
    left = allowance()
    more = [
        f"{name}: {len(lines)}, allowed are {left.get(name, 0)}\n  " + "\n  ".join(lines)
        for name, lines in found.items()
        if len(lines) > left.get(name, 0)
    ]
    assert not more, "riddles in comments or docstrings\n" + "\n".join(more)


def test_allowances_shrink_with_the_violations(found):
    least = {name: min(count, len(found.get(name, []))) for name, count in allowance().items()}
    lower = [
        f"{name}: {count} -> {least[name]}"
        for name, count in allowance().items()
        if least[name] < count
    ]
    assert not lower, (
        "fewer violations than allowed: lower the numbers in ALLOWANCE of tests/test_prose.py\n"
        + "\n".join(lower)
        + "\nthe table then is\n"
        + table(least)
    )


def test_the_core_has_no_violations():
    dirty = [
        f"{path.relative_to(ROOT)}:{line}: {why}"
        for path in sorted((ROOT / "csrc").rglob("*.[ch]"))
        for line, why in violations(path.read_text(), "//")
    ]
    assert not dirty, "\n".join(dirty)


@pytest.mark.parametrize(
    ("text", "mark", "reasons"),
    [
        ("// What is left.\nint a;\n", "//", ["opens with 'What'"]),
        ("int a;  // whether it is on\n", "//", ["opens with 'whether'"]),
        ("int a;\n// A sum,\n// of what is left.\nint b;\n", "//", []),
        ('fail("see http://a.b // where");\n', "//", []),
        ("// Who calls this?\n", "//", []),
        ("int a;  // what a liar told\n", "//", ["opens with 'what'", "'liar'", "'told'"]),
        ('PyDoc_STRVAR(d, "f()\\n--\\n\\n"\n "How far.");\n', "//", ["opens with 'How'"]),
        ("# where it ends\nx = 1\n", "#", ["opens with 'where'"]),
        ("x = 1  # where it ends\n", "#", ["opens with 'where'"]),
        ("x = '  # where'\n", "#", []),
        ("import x  # noqa: F401\n", "#", []),
        ('def f():\n    """What it does."""\n', "#", ["opens with 'What'"]),
        ('x = """\nWhat is in a string."""\n', "#", []),
        ('"""One line.\n' + 59 * "\n" + 'and the 61st."""\n', "#", ["a docstring of 61 lines"]),
        ('"""One line.\n' + 58 * "\n" + 'and the 60th."""\n', "#", []),
    ],
)
def test_rules_find_riddles_and_nothing_else(text, mark, reasons):
    got = [why for _, why in violations(text, mark)]
    assert len(got) == len(reasons), got
    for why, reason in zip(got, reasons, strict=True):
        assert why.startswith(reason)


def test_allowances_name_each_file_once_in_order():
    assert f"\n{table(allowance())}\n" == ALLOWANCE
