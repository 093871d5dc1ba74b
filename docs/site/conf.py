"""Configuration of Sphinx; docs/site/build.py gathers the pages and runs it."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from docutils import nodes
from sphinx import addnodes

from reducedfem import __version__

project = "reducedfem"
author = "The reducedfem developers"
copyright = author
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "mathml",
]
exclude_patterns: list[str] = []
html_theme = "pydata_sphinx_theme"
html_title = f"reducedfem {__version__}"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_extra_path = ["_extra"]
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}
html_copy_source = False
html_scaled_image_link = False
html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": [],
    "footer_end": [],
    "show_version_warning_banner": False,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "changelog": [], "contributing": []}

# Markdown
myst_enable_extensions = ["dollarmath", "amsmath", "html_image"]
myst_heading_anchors = 4
myst_dmath_double_inline = True
nb_execution_mode = "cache" if os.environ.get("EXECUTE", "1") != "0" else "off"
nb_execution_cache_path = os.environ["RF_DOCS_CACHE"]
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_merge_streams = True

# docstrings: a name in backticks is a link where it is one of the package
default_role = "py:obj"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_type_aliases = {"ArrayLike": "ArrayLike", "Material": "Material"}
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autosummary_generate = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90
add_module_names = False
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

linkcheck_timeout = 20
linkcheck_ignore = [r"http://127\.0\.0\.1.*", r"https://hub\.example\.org.*"]


PAGE = re.compile(r"`{1,2}docs/(\w+)\.md`{1,2}")


def plain_text(app, what, name, thing, options, lines):
    """Make pages in docstrings links; keep ``|x|`` from being read as a substitution."""
    for k, line in enumerate(lines):
        lines[k] = PAGE.sub(r":doc:`docs/\1.md </docs/\1>`", line)
    literal = None  # indent of the paragraph that a literal block follows
    for k, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if literal is not None and line.strip() and indent <= literal:
            literal = None
        if literal is None:
            parts = line.split("``")
            parts[::2] = [part.replace("|", "\\|") for part in parts[::2]]
            lines[k] = "``".join(parts)
            if line.rstrip().endswith("::"):
                literal = indent


def short_names(app, what, name, thing, options, signature, returns):
    """Write names of types as the sources do; properties have no signature."""
    if signature is None:
        return None
    parts = (signature, returns or "")
    return tuple(re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", part) for part in parts)


def built_in_names(app, doctree):
    """Write the type ``bytes`` without a link: attributes of several classes have that name."""
    for node in list(doctree.findall(addnodes.pending_xref)):
        if node.get("reftarget") == "bytes":
            node.replace_self(nodes.Text("bytes"))


def setup(app):
    """Connect the handlers, which run before numpydoc's."""
    app.connect("autodoc-process-signature", short_names)
    app.connect("autodoc-process-docstring", plain_text, priority=100)
    app.connect("doctree-read", built_in_names)
