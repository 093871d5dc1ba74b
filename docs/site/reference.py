"""Generates the pages of names and commands of the site."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import reducedfem as rf

# ``plot`` and ``reducedfem.scenes``: modules with names of their own
MODULES = {"plot": "reducedfem.pictures.plot", "scenes": "reducedfem.scenes"}
BASES = "object, tuple, list, BaseException, Exception, ABC, _Core"


def rooms(overview: str) -> dict[str, str]:
    """Return the sections of the overview of the package by their titles."""
    # a title on a line of its own, or before the text of one line
    whole = re.sub(r"^([A-Z][\w ,]+): (?=.*`)", r"\1\n    ", overview, flags=re.MULTILINE)
    found = re.findall(r"^(\S.*)\n((?:    .*\n?|\n(?=    ))+)", whole, re.MULTILINE)
    return {title: textwrap.dedent(text).strip() for title, text in found}


def named(text: str) -> list[str]:
    """Return the public names of a section, in their order."""
    return re.findall(r"(?<!`)`(\w+)`(?!`)", text)


def _heading(title: str, mark: str = "=") -> str:
    return f"{title}\n{mark * len(title)}\n\n"


def _page(name: str) -> str:
    thing = getattr(rf, name)
    text = _heading(name) + ".. currentmodule:: reducedfem\n\n"
    if not inspect.isclass(thing):
        return text + f".. autofunction:: {name}\n"
    text += f".. autoclass:: {name}\n"
    if not issubclass(thing, BaseException):
        text += f"   :members:\n   :inherited-members: {BASES}\n"
    return text


def _module(name: str, path: str) -> str:
    module = sys.modules.get(path) or __import__(path, fromlist=["_"])
    names = [n for n in module.__all__ if inspect.isroutine(getattr(module, n)) or
             inspect.isclass(getattr(module, n))]  # fmt: skip
    text = _heading(f"reducedfem.{name}") + f".. automodule:: {path}\n\n"
    text += f".. currentmodule:: {path}\n\n"
    return text + "\n".join(f".. auto{_kind(getattr(module, n))}:: {n}\n" for n in names)


def _kind(thing: object) -> str:
    return "class" if inspect.isclass(thing) else "function"


def write_names(folder: Path) -> None:
    """Write a page for each room of the overview, and one for each public name."""
    folder.mkdir(parents=True)
    index = _heading("API") + inspect.cleandoc(rf.__doc__ or "").partition("\n\n")[0] + "\n\n"
    index += ".. toctree::\n   :maxdepth: 1\n\n"
    for title, text in rooms(inspect.cleandoc(rf.__doc__ or "")).items():
        slug = re.sub(r"\W+", "_", title.lower())
        names = named(text)
        page = ".. py:currentmodule:: reducedfem\n\n" + _heading(title) + text + "\n\n"
        page += ".. autosummary::\n   :nosignatures:\n\n"
        page += "".join(f"   {name}\n" for name in names)
        page += "\n.. toctree::\n   :hidden:\n\n" + "".join(f"   {name}\n" for name in names)
        for name in names:
            (folder / f"{name}.rst").write_text(_page(name))
        (folder / f"{slug}.rst").write_text(page)
        index += f"   {slug}\n"
    for name, path in MODULES.items():
        (folder / f"{name}.rst").write_text(_module(name, path))
        index += f"   {name}\n"
    (folder / "index.rst").write_text(index + "   commands\n")


def _help(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "reducedfem", *words, "--help"],
        env=os.environ | {"COLUMNS": "88", "NO_COLOR": "1"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


def write_commands(path: Path) -> None:
    """Write the help of each command to one page."""
    top = _help()
    commands = re.findall(r"^    (\w+)  ", top, re.MULTILINE)
    text = f"# Command line\n\n```text\n{top}```\n"
    for command in commands:
        text += f"\n## reducedfem {command}\n\n```text\n{_help(command)}```\n"
    path.write_text(text)
