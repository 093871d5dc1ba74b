"""Checks the pages of a built site, without a network."""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# attributes that a browser follows by itself
FETCHED = {("script", "src"), ("img", "src"), ("img", "srcset"), ("iframe", "src"),
           ("source", "src"), ("source", "srcset"), ("video", "src"), ("video", "poster"),
           ("audio", "src"), ("track", "src"), ("embed", "src"), ("object", "data"),
           ("link", "href")}  # fmt: skip
FOREIGN_STYLE = re.compile(r"""(?:@import|url\()\s*["']?(?:https?:)?//""", re.IGNORECASE)


class _Page(HTMLParser):
    """Collects the anchors and links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.unlinked = 0  # names of the package that lead nowhere
        self.styles = ""
        self._links = 0
        self._style = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._links += tag == "a"
        self._style = tag == "style"
        if tag == "code" and "py-obj" in (dict(attributes).get("class") or ""):
            self.unlinked += not self._links
        for key, value in attributes:
            if not value:
                continue
            if key == "id" or (tag, key) == ("a", "name"):
                self.anchors.add(value)
            if key == "style":
                self.styles += value
            if (tag, key) in FETCHED:
                # the elements of a srcset have widths
                several = value.split(",") if key == "srcset" else [value]
                self.fetched += [one.split()[0] for one in several if one.strip()]
            elif (tag, key) == ("a", "href"):
                self.links.append(value)

    def handle_endtag(self, tag: str) -> None:
        self._links -= tag == "a"
        self._style = False

    def handle_data(self, data: str) -> None:
        if self._style:
            self.styles += data


def faults(site: Path) -> list[str]:
    """Return the faults of the pages in a folder: dead links, and things from elsewhere."""
    pages = {}
    for path in sorted(site.rglob("*.html")):
        if path.is_relative_to(site / "_static"):
            continue  # templates of the theme
        pages[path] = _Page()
        pages[path].feed(path.read_text())
    found = [
        f"{path.relative_to(site)}: a style fetches something from elsewhere"
        for path in sorted(site.rglob("*.css"))
        if FOREIGN_STYLE.search(path.read_text())
    ]
    for path, page in pages.items():
        name = path.relative_to(site)
        # docstrings mark parameters in the same way, and old names are no longer there
        if page.unlinked and name.parts[0] not in ("api", "changelog.html"):
            found.append(f"{name}: {page.unlinked} names are not on the site")
        if FOREIGN_STYLE.search(page.styles):
            found.append(f"{name}: a style fetches something from elsewhere")
        for link in page.fetched:
            if urlsplit(link).netloc:
                found.append(f"{name}: fetches {link} from elsewhere")
        for link in {*page.links, *page.fetched}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path
            if parts.path:
                target = Path(os.path.normpath(path.parent / unquote(parts.path)))
            if target.is_dir():
                target = target / "index.html"
            if not target.exists():
                found.append(f"{name}: {link} leads nowhere")
            elif target in pages and parts.fragment not in {*pages[target].anchors, "", "top"}:
                found.append(f"{name}: {link} leads to no heading")
    return found
