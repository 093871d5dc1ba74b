"""Equations as MathML, made by docutils when pages are built: they need no script.

Their font is that of mathfont.py, a file of the site.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

# a bar is read as an operator between two terms, and a function has no space before its argument
BAR = re.compile(r"<mo[^>]*>\|</mo>")
FUNCTION = re.compile(r"<mo>&ApplyFunction;</mo>(?!\s*<mo[^>]*>\()")

logger = logging.getLogger(__name__)


def _mathml(node: nodes.Element, block: bool) -> str:
    try:
        made = str(tex2mathml(node.astext(), as_block=block))
    except MathError as error:
        logger.warning("%s: %s", node.astext(), error, location=node, type="math")
        return f"<code>{node.astext()}</code>"
    made = BAR.sub('<mo stretchy="false" lspace="0" rspace="0">|</mo>', made)
    return FUNCTION.sub('<mspace width="0.17em"/>', made)


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(_mathml(node, block=False))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(writer.starttag(node, "div", CLASS="math equation"))
    writer.body.append(_mathml(node, block=True))
    if node["number"]:
        number = get_node_equation_number(writer, node)
        writer.body.append(f'<span class="eqno">({number})</span>')
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Make it the renderer of equations."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.config.html_math_renderer = "mathml"  # type: ignore[attr-defined]
    return {"parallel_read_safe": True, "parallel_write_safe": True}
