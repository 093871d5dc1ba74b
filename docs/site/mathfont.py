"""Makes the font of the equations: a part of the STIX fonts that come with Matplotlib.

Browsers set MathML by a table of the font, MATH, which few fonts of a system have; without it
subscripts are too high and parentheses do not grow. The part gets such a table, taller parentheses
and another name, as the SIL Open Font License demands of changed fonts; the licence goes with it.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import matplotlib
from fontTools.otlLib.builder import buildMathTable
from fontTools.pens.transformPen import TransformPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

# Latin, Greek, marks, arrows, operators, brackets, mathematical letters
CHARACTERS = [(0x20, 0x17F), (0x2C6, 0x2DD), (0x300, 0x304), (0x307, 0x308), (0x391, 0x3F5),
              (0x2010, 0x2044), (0x2061, 0x2064), (0x2190, 0x2194), (0x21A6, 0x21A6),
              (0x21D2, 0x21D4), (0x2200, 0x22FF), (0x27E8, 0x27E9),
              (0x210E, 0x210E), (0x211D, 0x211D), (0x1D434, 0x1D467),
              (0x1D49C, 0x1D4B5), (0x1D6E4, 0x1D71B)]  # fmt: skip
TALLER = (1.25, 1.6, 2.0, 2.6, 3.4)  # sizes of brackets
BRACKETS = "()[]{}|\N{DOUBLE VERTICAL LINE}\N{SQUARE ROOT}"
LARGE = "\N{N-ARY SUMMATION}\N{INTEGRAL}"  # one larger size, in equations of their own
# thousandths of the size, after the fonts of TeX
CONSTANTS = {
    "ScriptPercentScaleDown": 72, "ScriptScriptPercentScaleDown": 58,
    "DelimitedSubFormulaMinHeight": 1300, "DisplayOperatorMinHeight": 1250,
    "AxisHeight": 258, "AccentBaseHeight": 400, "FlattenedAccentBaseHeight": 660,
    "SubscriptShiftDown": 210, "SubscriptTopMax": 360, "SubscriptBaselineDropMin": -20,
    "SuperscriptShiftUp": 360, "SuperscriptShiftUpCramped": 290, "SuperscriptBottomMin": 120,
    "SuperscriptBaselineDropMax": 250, "SubSuperscriptGapMin": 150,
    "SuperscriptBottomMaxWithSubscript": 380, "SpaceAfterScript": 40,
    "UpperLimitGapMin": 110, "UpperLimitBaselineRiseMin": 230,
    "LowerLimitGapMin": 130, "LowerLimitBaselineDropMin": 600,
    "FractionNumeratorShiftUp": 420, "FractionNumeratorDisplayStyleShiftUp": 640,
    "FractionDenominatorShiftDown": 360, "FractionDenominatorDisplayStyleShiftDown": 640,
    "FractionNumeratorGapMin": 60, "FractionNumDisplayStyleGapMin": 120,
    "FractionRuleThickness": 52, "FractionDenominatorGapMin": 60,
    "FractionDenomDisplayStyleGapMin": 120, "OverbarVerticalGap": 120,
    "OverbarRuleThickness": 52, "OverbarExtraAscender": 50, "RadicalVerticalGap": 60,
    "RadicalDisplayStyleVerticalGap": 110, "RadicalRuleThickness": 52,
    "RadicalExtraAscender": 50, "RadicalKernBeforeDegree": 60, "RadicalKernAfterDegree": -330,
    "RadicalDegreeBottomRaisePercent": 55,
}  # fmt: skip


def _scaled(font: TTFont, name: str, factor: float, wider: float) -> tuple[str, int]:
    """Add a taller copy of a glyph; return its name and height."""
    pen = TTGlyphPen(None)
    glyphs = font.getGlyphSet()
    glyphs[name].draw(TransformPen(pen, (wider, 0, 0, factor, 0, 0)))
    made = f"{name}.{round(100 * factor)}"
    glyph = pen.glyph()
    font["glyf"][made] = glyph
    font.setGlyphOrder(list(dict.fromkeys([*font.getGlyphOrder(), made])))
    glyph.recalcBounds(font["glyf"])
    advance, _ = font["hmtx"][name]
    font["hmtx"][made] = (round(wider * advance), glyph.xMin)
    return made, glyph.yMax - glyph.yMin


def write_math_font(folder: Path) -> None:
    """Write ``math.woff`` and its licence to a folder."""
    fonts = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    font = TTFont(fonts / "STIXGeneral.ttf", recalcTimestamp=False)
    options = Options(layout_features=[], hinting=False, notdef_outline=True)
    options.drop_tables += ["FFTM"]
    cutter = Subsetter(options)
    cutter.populate(unicodes=[code for low, high in CHARACTERS for code in range(low, high + 1)])
    cutter.subset(font)
    names = font.getBestCmap()
    variants = {}
    for sign in BRACKETS:
        name = names[ord(sign)]
        glyph = font["glyf"][name]
        own = [(name, glyph.yMax - glyph.yMin)]
        variants[name] = own + [_scaled(font, name, k, 1.0 + 0.12 * (k - 1)) for k in TALLER]
    for sign in LARGE:
        name = names[ord(sign)]
        glyph = font["glyf"][name]
        variants[name] = [(name, glyph.yMax - glyph.yMin), _scaled(font, name, 1.35, 1.35)]
    # browsers reject the table without corrections for single glyphs
    buildMathTable(
        font,
        constants=CONSTANTS,
        italicsCorrections={names[ord("\N{INTEGRAL}")]: 90},
        vertGlyphVariants=variants,
        minConnectorOverlap=50,
    )
    for record in font["name"].names:
        if record.nameID in (1, 3, 4, 6, 16):
            record.string = "ReducedfemMath"
    font.flavor = "woff"
    font.save(folder / "math.woff")
    shutil.copy(fonts / "LICENSE_STIX", folder / "math-font-license.txt")
