"""Rendering of charts as SVG by vl-convert, which bundles Vega and Vega-Lite."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

import vl_convert

from zoo.report.charts.figure import Figure, Spec
from zoo.report.charts.looks import DARK, PAPER, THEME
from zoo.report.page.html import ChartTools

NARROW, WIDE = 320, 560
"""Widths of a chart on a page and of one in a separate file, in pixels."""

PADDING = {"left": 32, "top": 5, "right": 5, "bottom": 5}
"""Padding around a picture, in pixels. Labels are wider on machines without the named fonts of `SVG_THEME`."""

SVG_THEME = THEME | {"font": "Liberation Sans, Arial, Helvetica, sans-serif"}
"""The theme for SVG files. vl-convert bundles its first font, so the same data give the same file everywhere."""

NO_FONTS = Path(__file__).parents[1] / "templates/no-fonts.conf"
"""A fontconfig file that lists none of the host's fonts."""


@cache
def bundle_library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script; a page needs one copy for all its charts."""
    return vl_convert.javascript_bundle()  # type: ignore[call-arg]  # its stub omits the default


def render_svg(figure: Figure) -> str:
    """Render a chart for a page, which shows it before its scripts run or without them."""
    return _render(figure, {"width": NARROW})


def render_standalone(figure: Figure) -> str:
    """Render a chart for a document, with a title and a background that follows the reader's light or dark mode."""
    title = {"text": figure.title, "subtitle": figure.caption, "anchor": "start", "offset": 8}
    picture = _render(figure, {"width": WIDE, "title": title, "background": PAPER, "padding": PADDING})
    return re.sub(r"^(<svg[^>]*>)", rf"\1{_dark_mode_style()}", picture, count=1)


@cache
def _dark_mode_style() -> str:
    """Return a style sheet for dark mode; it overrides the colours that the picture has as attributes."""
    rules = [f'[{of}="{light}"]{{{of}:{dark}}}' for light, dark in DARK.items() for of in ("fill", "stroke")]
    return f"<style>@media (prefers-color-scheme:dark){{{''.join(rules)}}}</style>"


@cache
def _use_own_fonts() -> None:
    """Make vl-convert measure text with its bundled fonts only.

    It prefers a host font of the same name, whose widths differ between font releases. It reads the host's fonts once
    per process, when its first font folder is registered or its first chart is drawn. The variable is restored
    immediately, because a browser that this process starts needs the host's fonts.
    """
    before = os.environ.get("FONTCONFIG_FILE")
    os.environ["FONTCONFIG_FILE"] = str(NO_FONTS)
    try:
        vl_convert.register_font_directory(str(NO_FONTS.parent))
    finally:
        if before is None:
            del os.environ["FONTCONFIG_FILE"]
        else:
            os.environ["FONTCONFIG_FILE"] = before


def _render(figure: Figure, overrides: Spec) -> str:
    """Render a chart as SVG, and name clip paths after it: Vega numbers them across all charts of a process.

    Numbers have at most three decimals, because Python versions differ in the last digits of a regression.
    """
    _use_own_fonts()
    text = vl_convert.vegalite_to_svg({**figure.drawing.spec, **overrides}, config=SVG_THEME)
    text = re.sub(r"\d+\.\d{4,}(?:e-\d+)?", lambda match: f"{float(match[0]):.3f}".rstrip("0").rstrip("."), text)
    clips = {clip: f"{figure.name}-{n}" for n, clip in enumerate(dict.fromkeys(re.findall(r'id="(clip\d+)"', text)))}
    return re.sub(r"\bclip\d+\b", lambda match: clips[match[0]], text) if clips else text


TOOLS = ChartTools(bundle_library, render_svg)
