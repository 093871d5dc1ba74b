"""Folders of the repository, and its sources as text."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def code(text: str) -> str:
    """Return C without comments."""
    return re.sub(r"//.*|/\*.*?\*/", "", text)


def mentions(path: Path, name: str) -> bool:
    """Return True if the code of a Python file, without texts, has a name."""
    return any(
        name
        in (getattr(node, "id", None), getattr(node, "attr", None), getattr(node, "name", None))
        for node in ast.walk(ast.parse(path.read_text()))
    )
