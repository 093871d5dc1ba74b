"""Opens an address in a browser without showing it to other users of the machine."""

from __future__ import annotations

import atexit
import contextlib
import html
import os
import tempfile
import webbrowser
from pathlib import Path

__all__ = ["forget", "open_page"]

_PAGE = """<!DOCTYPE html>
<html><head><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={0}"><title>reducedfem</title></head>
<body><a href="{0}">{0}</a></body></html>
"""
_files: set[Path] = set()


def open_page(address: str) -> Path:
    """Open a browser at an address by way of a file that only this user can read.

    Arguments of programs, such as the address given to a browser, can be read by all users.
    """
    # mode 0600
    descriptor, name = tempfile.mkstemp(prefix="reducedfem-", suffix=".html")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(_PAGE.format(html.escape(address, quote=True)))
    path = Path(name)
    _files.add(path)
    webbrowser.open(path.as_uri())
    return path


def forget(path: Path) -> None:
    """Remove the file."""
    _files.discard(path)
    with contextlib.suppress(OSError):
        path.unlink()


@atexit.register
def _forget_all() -> None:
    for path in tuple(_files):
        forget(path)
