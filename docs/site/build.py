"""Builds the documentation site: gathers pages, generates those of names and commands, runs Sphinx.

    python docs/site/build.py                 build/site, notebooks executed (with a cache)
    EXECUTE=0 python docs/site/build.py       without executing notebooks
    python docs/site/build.py --out FOLDER    elsewhere: a new or empty folder, or an earlier site
    python docs/site/build.py --links         also checks links to other sites, over the network

Pages keep their places relative to each other, so that links work in the repository and on the
site. Warnings are errors. Every page is checked afterwards: links within the site, anchors,
pictures, and that a browser fetches nothing from elsewhere.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "site"
sys.path[:0] = [str(SITE), str(ROOT / "python")]

from check import faults  # noqa: E402
from mathfont import write_math_font  # noqa: E402
from reference import write_commands, write_names  # noqa: E402

import reducedfem as rf  # noqa: E402

LINK = re.compile(r"(?<!!)\[[^]]*\]\((?!https?:|#)([^)#\s]+)")
NAME = re.compile(r"(?<!`)`((?:rf\.)?[A-Za-z]\w*(?:\.\w+)*)`(?!`)")
MARKDOWN = re.compile(r"(!?\[[^]]*\]\()(?!https?:|#)([^)#\s]+)")
FOREIGN = re.compile(r"<link[^>]*https://maxcdn[^>]*>")

# the parts of the site, in the order of its bar
PARTS = """
```{toctree}
:hidden:

docs/tutorial
How-to <docs/howto/index>
Theory <docs/theory/index>
Examples <notebooks/index>
API <api/index>
docs/results
changelog
contributing
```
"""


def toctree(page: Path) -> str:
    """Return a hidden table of contents of the pages that a page links to, in its order."""
    pages = []
    for link in LINK.findall(page.read_text()):
        target = os.path.normpath(page.parent / link)
        if link.endswith((".md", ".ipynb")) and target not in pages:
            pages.append(target)
    lines = [os.path.relpath(target, page.parent).rpartition(".")[0] for target in pages]
    return "\n```{toctree}\n:hidden:\n\n" + "\n".join(lines) + "\n```\n"


def gather(source: Path) -> None:
    """Copy the pages of the repository to a tree for Sphinx."""
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "docs", source / "docs", ignore=shutil.ignore_patterns("site", "_*"))
    shutil.copytree(ROOT / "notebooks", source / "notebooks")
    shutil.copytree(SITE / "static", source / "_static")
    shutil.copy(SITE / "conf.py", source)
    for page in SITE.glob("*.md"):
        shutil.copy(page, source / "notebooks")
    for notebook in (source / "notebooks").glob("*.ipynb"):
        notebook.write_text(without_servers(notebook.read_text()))
    (source / "index.md").write_text((ROOT / "README.md").read_text() + PARTS)
    for name in ("CHANGELOG", "CONTRIBUTING"):
        shutil.copy(ROOT / f"{name}.md", source / f"{name.lower()}.md")
    for index in ("docs/howto/index", "docs/theory/index", "docs/results", "notebooks/index"):
        page = source / f"{index}.md"
        page.write_text(page.read_text() + toctree(page))
    for page in source.rglob("*.md"):
        text = MARKDOWN.sub(lambda m, at=page: m[1] + page_of(at, m[2], source), page.read_text())
        page.write_text(linked(text))


def without_servers(text: str) -> str:
    """Return a notebook whose cells that open a view show a link instead: no server runs later."""
    notebook = json.loads(text)
    cells = []
    for cell in notebook["cells"]:
        cells.append(cell)
        if cell["cell_type"] == "code" and re.search(r"\brf\.view\(", "".join(cell["source"])):
            cell["metadata"].setdefault("tags", []).append("remove-output")
            words = "A page like this one, without a server: [a live model](live.md)."
            cells.append({"cell_type": "markdown", "id": "live", "metadata": {}, "source": [words]})
    notebook["cells"] = cells
    return json.dumps(notebook)


def page_of(page: Path, link: str, source: Path) -> str:
    """Return the link as it is on the site, where two pages have other names."""
    names = {"README.md": "index.md", "CHANGELOG.md": "changelog.md",
             "CONTRIBUTING.md": "contributing.md"}  # fmt: skip
    target = Path(os.path.normpath(page.parent / link))
    if target.parent == source and target.name in names:
        return os.path.relpath(target.with_name(names[target.name]), page.parent)
    return link


def linked(text: str) -> str:
    """Return Markdown in which names of the package in backticks are links to their pages."""
    parts = re.split(
        r"(^```.*?^```|^#.*?$|^---\n.*?^---$|\[[^]]*\]\([^)]*\))", text, flags=re.M | re.S
    )
    # every second part is code, a heading or a link
    parts[::2] = [NAME.sub(reference, part) for part in parts[::2]]
    return "".join(parts)


def reference(name: re.Match[str]) -> str:
    """Return a link to a public name, or the text as it is."""
    thing: object = rf
    for word in name[1].removeprefix("rf.").split("."):
        thing = getattr(thing, word, None)
    public = name[1].removeprefix("rf.").partition(".")[0] in rf.__all__
    return (
        f"{{py:obj}}`{name[1]} <reducedfem.{name[1].removeprefix('rf.')}>`"
        if public and thing
        else name[0]
    )


def live_page(folder: Path) -> None:
    """Write the page of a model that needs no server, which the site shows in a frame."""
    folder.mkdir(parents=True)
    code = (SITE / "live.md").read_text().partition("```python\n")[2].partition("```")[0]
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True)


def sphinx(builder: str, source: Path, out: Path, cache: Path) -> int:
    """Run Sphinx; warnings are errors."""
    # a busy machine must not end the sessions of notebooks
    startup = cache / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True, exist_ok=True)
    code = "import reducedfem.haptics.settings as _settings\n_settings.set_timeouts(stall=5.0)\n"
    (startup / "00-patience.py").write_text(code)
    environment = os.environ | {
        "IPYTHONDIR": str(cache / "ipython"),
        "RF_DOCS_CACHE": str(cache),
        "PYTHONPATH": os.pathsep.join([str(ROOT / "python"), str(SITE)]),
    }
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", builder]
    command += ["-c", str(source), "-d", str(cache / "doctrees"), "-j", "auto"]
    return subprocess.run(
        [*command, str(source), str(out)], env=environment, check=False
    ).returncode


def replaceable(folder: Path) -> bool:
    """Return True for a folder that is absent, empty, or an earlier site."""
    if not folder.is_dir():
        return not folder.exists()
    return not any(folder.iterdir()) or (folder / "objects.inv").is_file()


def main() -> int:
    """Build the site; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "docs",
                        help="folder of sources, cache and unfinished pages")  # fmt: skip
    parser.add_argument("--links", action="store_true", help="check links to other sites")
    options = parser.parse_args()
    if not replaceable(options.out):
        parser.error(
            f"--out {options.out} would be replaced, but it is neither empty nor an earlier site, "
            "which has objects.inv: name another folder"
        )
    work = options.work.resolve()
    source, cache = work / "source", work / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    gather(source)
    write_names(source / "api")
    write_commands(source / "api" / "commands.md")
    write_math_font(source / "_static")
    live_page(source / "_extra" / "live")
    if options.links:
        return sphinx("linkcheck", source, work / "links", cache)
    made = work / "html"
    shutil.rmtree(made, ignore_errors=True)
    failed = sphinx("html", source, made, cache)
    for page in made.glob("notebooks/*.html"):
        # icons of animations by Matplotlib, which the theme has as well
        page.write_text(FOREIGN.sub("", page.read_text()))
    found = faults(made)
    for fault in found:
        print(f"docs: {fault}", file=sys.stderr)
    if failed or found:
        print("docs: not built: see the warnings above, which are errors", file=sys.stderr)
        return 1
    shutil.rmtree(options.out, ignore_errors=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(made, options.out)
    print(f"docs: {len(list(options.out.rglob('*.html')))} pages in {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
