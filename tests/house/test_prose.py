"""Plain English in comments, docstrings, messages, documents and names of tests.

A comment or docstring opens with a subject or a verb, not with a clause (What, Whether, Where, How,
Whom, Who); it uses the standard term, not a private one; a docstring has at most 60 lines. Texts of
messages, README.md, docs and notebooks use standard terms too. The name of a test says what is
verified, as subject and verb.
"""

from __future__ import annotations

import ast
import json
import re

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
    r"(?:left|leaves?) the finite numbers": "diverged, not finite",
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
C_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*(?:PRI\w+\s*)?"(?:[^"\\\n]|\\.)*")*')
DIRECTIVE = re.compile(r"(?:noqa|type:|fmt:|ruff:|pragma|cppcheck-suppress|clang-format)")
TEST_NAME = re.compile(r"^\s*def (test_\w+)", re.MULTILINE)


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


def messages(text: str, mark: str) -> list[tuple[int, str]]:
    """Return strings outside of comments and docstrings as (line, text)."""
    if mark == "//":
        code = re.sub(r"(?m)^[ \t]*//.*$", "", text)
        return [
            (code.count("\n", 0, match.start()) + 1, re.sub(r'"\s*"', "", match[0]).strip('"'))
            for match in C_STRING.finditer(code)
        ]
    tree = ast.parse(text)
    known = {
        id(node.value)
        for outer in ast.walk(tree)
        if isinstance(outer, ast.Module | ast.ClassDef | ast.FunctionDef)
        for node in outer.body[:1]
        if isinstance(node, ast.Expr)
    }
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in known
    ]


def private_words(line: int, words: str) -> list[tuple[int, str]]:
    """Return the private words in a text, as (line, reason)."""
    found = []
    for word in BANNED_WORD.finditer(words):
        instead = list(BANNED.values())[int(word.lastgroup[1:])]
        found.append((line, f"{word[0]!r}: write {instead}"))
    return found


def riddles(line: int, words: str) -> list[tuple[int, str]]:
    """Return the faults of a comment, docstring or name, as (line, reason)."""
    words = words.strip()
    found = []
    question = words.split("\n\n")[0].rstrip().endswith("?")
    if (opening := OPENING.match(words)) and not question:
        found.append((line, f"opens with {opening[0]!r}: begin with a noun or a verb"))
    return found + private_words(line, words)


def violations(text: str, mark: str, spoken: bool = False) -> list[tuple[int, str]]:
    """Return the faults of a source, as (line, reason); of its messages too if `spoken`."""
    docs = docstrings(text, mark)
    found = [fault for part in [*comments(text, mark), *docs] for fault in riddles(*part)]
    for line, words in docs:
        length = words.rstrip().count("\n") + 1
        if length > LONGEST_DOCSTRING:
            found.append((line, f"a docstring of {length} lines: at most {LONGEST_DOCSTRING}"))
    for name in TEST_NAME.finditer(text) if mark == "#" else ():
        line = text.count("\n", 0, name.start(1)) + 1
        found += riddles(line, name[1].removeprefix("test_").replace("_", " "))
    if spoken:
        found += [fault for part in messages(text, mark) for fault in private_words(*part)]
    return sorted(found, key=lambda one: one[0])


def prose(text: str, suffix: str) -> list[tuple[int, str]]:
    """Return private words in a document or the Markdown of a notebook, as (line, reason)."""
    if suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    return [
        fault
        for number, line in enumerate(text.split("\n"), 1)
        for fault in private_words(number, line)
    ]


def listed(path, faults) -> list[str]:
    """Return faults as lines of a report."""
    return [f"{path.relative_to(ROOT)}:{line}: {why}" for line, why in faults]


def test_sources_are_written_in_plain_english():
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*"))]
    found = []
    for path in [*paths, ROOT / "setup.py"]:
        mark = MARK.get(path.suffix)
        if mark is not None and path.name != "test_prose.py":
            spoken = path.relative_to(ROOT).parts[0] in ("csrc", "python")
            found += listed(path, violations(path.read_text(), mark, spoken))
    assert not found, "riddles or private words\n" + "\n".join(found)


def test_documents_are_written_in_plain_english():
    paths = [
        *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "notebooks").glob("*.ipynb")
    ]  # fmt: skip
    found = [line for path in paths for line in listed(path, prose(path.read_text(), path.suffix))]
    assert paths
    assert not found, "private words\n" + "\n".join(found)


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
        ('fail(err, "it told "\n "no number");\n', "//", ["'told'", "'no number'"]),
        ('// "it told"\nf("reports %d"\n);\n', "//", ["'told'"]),
        ("# where it ends\nx = 1\n", "#", ["opens with 'where'"]),
        ("x = 1  # where it ends\n", "#", ["opens with 'where'"]),
        ("x = '  # where'\n", "#", []),
        ("import x  # noqa: F401\n", "#", []),
        ('def f():\n    """What it does."""\n', "#", ["opens with 'What'"]),
        ('x = """\nWhat is in a string."""\n', "#", []),
        ('raise E(f"{x} told "\n "nothing")\n', "#", ["'told'"]),
        ("def test_what_is_left():\n    pass\n", "#", ["opens with 'what'"]),
        ("def test_a_fault_is_told():\n    pass\n", "#", ["'told'"]),
        ("def test_a_result_shows_what_is_left():\n    pass\n", "#", []),
        ('"""One line.\n' + 59 * "\n" + 'and the 61st."""\n', "#", ["a docstring of 61 lines"]),
        ('"""One line.\n' + 58 * "\n" + 'and the 60th."""\n', "#", []),
    ],
)
def test_rules_find_riddles_and_nothing_else(text, mark, reasons):
    got = [why for _, why in violations(text, mark, spoken=True)]
    assert len(got) == len(reasons), got
    for why, reason in zip(got, reasons, strict=True):
        assert why.startswith(reason)


def test_rules_of_documents_cover_markdown_only():
    cell = {"cell_type": "markdown", "source": ["A plain text,\n", "told twice"]}
    code = {"cell_type": "code", "source": ["print('told')"]}
    assert [line for line, _ in prose(json.dumps({"cells": [code, cell]}), ".ipynb")] == [2]
    assert prose("What is a field?\n", ".md") == []
