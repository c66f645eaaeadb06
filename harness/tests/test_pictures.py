"""Tests of charts as pictures and the documents that show them: the same bytes, whatever fonts the host has."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fontTools.fontBuilder import FontBuilder  # type: ignore[import-untyped]
from fontTools.pens.ttGlyphPen import TTGlyphPen  # type: ignore[import-untyped]
from fontTools.ttLib.tables._g_l_y_f import Glyph  # type: ignore[import-untyped]

from zoo.core.manifest import Model
from zoo.report.charts.looks import DARK, GRID, INK, MODEL_STYLES, OUTLINES, PAPER

REPOSITORY = Path(__file__).parents[2]


def wide_font(path: Path) -> None:
    """Write a font called Liberation Sans whose characters are all twice as wide as the font is high."""
    glyphs = {".notdef": None, **{f"u{code:04X}": code for code in range(32, 0x2300)}}
    font = FontBuilder(1000, isTTF=True)
    font.setupGlyphOrder(list(glyphs))
    font.setupCharacterMap({code: name for name, code in glyphs.items() if code})
    font.setupGlyf(dict.fromkeys(glyphs, _box()))
    font.setupHorizontalMetrics(dict.fromkeys(glyphs, (2000, 0)))
    font.setupHorizontalHeader(ascent=800, descent=-200)
    font.setupNameTable({"familyName": "Liberation Sans", "styleName": "Regular", "psName": "LiberationSans"})
    font.setupOS2(usWeightClass=400, usWidthClass=5, sTypoAscender=800, sTypoDescender=-200)
    font.setupPost()
    font.save(path)


def _box() -> Glyph:
    """Return a box as the glyph. The renderer finds no text in a font of empty characters."""
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    for corner in ((2000, 0), (2000, 1000), (0, 1000)):
        pen.lineTo(corner)
    pen.closePath()
    return pen.glyph()


def luminance(colour: str) -> float:
    """Return WCAG 2's relative luminance of #rrggbb."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("picture", sorted((REPOSITORY / "docs/charts").glob("*.svg")), ids=lambda path: path.name)
def test_a_picture_is_read_on_a_dark_screen(picture: Path) -> None:
    text = picture.read_text(encoding="utf-8")
    style, _, drawn = text.partition("</style>")
    assert "prefers-color-scheme:dark" in style
    colours = set(re.findall(r'(?:fill|stroke)="(#?\w+)"', drawn)) - {"none", PAPER, GRID}
    assert INK in colours
    for colour in colours:
        assert contrast(DARK.get(colour, colour), DARK[PAPER]) > 3, colour


def test_the_committed_documents_are_up_to_date_whatever_fonts_a_host_has(tmp_path: Path) -> None:
    # In its own process, because a process reads its host's fonts only once.
    wide_font(tmp_path / "wide.ttf")
    config = tmp_path / "config/fontconfig/fonts.conf"
    config.parent.mkdir(parents=True)
    config.write_text(f'<?xml version="1.0"?><fontconfig><dir>{tmp_path}</dir></fontconfig>', encoding="utf-8")
    checked = subprocess.run(
        [sys.executable, "-m", "zoo", "docs", "--check"],
        capture_output=True,
        text=True,
        check=False,
        cwd=REPOSITORY,
        env=os.environ | {"XDG_CONFIG_HOME": str(tmp_path / "config")},
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_numbers_of_a_picture_do_not_depend_on_the_last_digits_of_its_data() -> None:
    for path in sorted((REPOSITORY / "docs/charts").glob("*.svg")):
        assert not re.search(r"\d\.\d{4}", path.read_text(encoding="utf-8")), path


def test_every_thread_model_has_a_colour_and_a_shape_that_a_legend_can_draw() -> None:
    assert {model.value for model in Model} <= MODEL_STYLES.keys()
    assert {shape for _, shape in MODEL_STYLES.values()} <= OUTLINES.keys()
