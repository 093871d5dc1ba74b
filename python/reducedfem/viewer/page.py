"""The page of a view: its files, its policy, and the page as one file."""

from __future__ import annotations

import base64
import html
import json
import zlib
from functools import cache
from importlib import resources

__all__ = ["file", "index", "policy"]

# modules of the page, by the names under which they import each other
MODULES = (
    "bodies", "camera", "gestures", "hand", "linear", "main", "messages", "panel", "player",
    "shaders", "sketch", "source",
)  # fmt: skip
_KINDS = {".js": "text/javascript", ".css": "text/css"}


@cache
def _read(name: str) -> str:
    return (resources.files("reducedfem.viewer") / "page" / name).read_text("utf-8")


def file(name: str) -> tuple[str, str] | None:
    """Return the text and the type of a file that pages may ask for; None: there is none."""
    stem, dot, suffix = name.rpartition(".")
    if name == "style.css" or (suffix == "js" and stem in MODULES):
        return _read(name), _KINDS[dot + suffix]
    return None


def policy(nonce: str, frames: str) -> str:
    """Return the content security policy: nothing from outside; `frames` may contain the page."""
    return (
        f"default-src 'none'; script-src 'self' 'nonce-{nonce}'; style-src 'self'; "
        "connect-src 'self'; img-src 'self' data: blob:; media-src blob:; base-uri 'none'; "
        f"form-action 'none'; frame-ancestors 'self' {frames}"
    )


def index(nonce: str) -> str:
    """Return the page of a server."""
    imports = {f"view/{name}": f"./{name}.js" for name in MODULES}
    return _filled(
        '<link rel="stylesheet" href="style.css">',
        f'<script type="importmap" nonce="{nonce}">{json.dumps({"imports": imports})}</script>\n'
        f'<script type="module" nonce="{nonce}" src="main.js"></script>',
        "reducedfem",
    )


def single(title: str, data: bytes) -> str:
    """Return the page with a scene as one text that needs no server."""
    # higher levels take longer and save a hundredth
    packed = base64.b64encode(zlib.compress(data, 1)).decode()
    sources = {name: _read(f"{name}.js").encode() for name in MODULES}
    imports = {
        f"view/{name}": "data:text/javascript;base64," + base64.b64encode(text).decode()
        for name, text in sources.items()
    }
    return _filled(
        f"<style>\n{_read('style.css')}</style>",
        f'<script type="application/octet-stream" id="recorded">{packed}'
        f'</script>\n<script type="importmap">{json.dumps({"imports": imports})}</script>\n'
        '<script type="module">import "view/main";</script>',
        html.escape(title),
    )


def _filled(style: str, script: str, title: str) -> str:
    text = _read("index.html")
    return (
        text.replace("<!--style-->", style)
        .replace("<!--script-->", script)
        .replace("<!--title-->", title)
    )
