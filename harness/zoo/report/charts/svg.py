"""Charts made into pictures by vl-convert, which brings Vega and Vega-Lite along."""

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
"""Of a chart within a page, and of one that stands alone."""

ROOM = {"left": 32, "top": 5, "right": 5, "bottom": 5}
"""Pixels around a picture: where a reader's machine has neither font of `STILL`, its labels are wider."""

STILL = THEME | {"font": "Liberation Sans, Arial, Helvetica, sans-serif"}
"""vl-convert brings the first along, so the same data give the same file on every machine."""

NO_FONTS = Path(__file__).parents[1] / "templates/no-fonts.conf"
"""A fontconfig file that names no font of the host."""


@cache
def library() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, so that a page holds one copy for all its charts."""
    return vl_convert.javascript_bundle()  # type: ignore[call-arg]  # its stub takes the default for none


def svg(figure: Figure) -> str:
    """A chart for a page that shows it before its scripts run, or without them."""
    return _drawn(figure, {"width": NARROW})


def alone(figure: Figure) -> str:
    """A chart for a document: with its title, on paper of its own, light or dark as the reader's screen is."""
    title = {"text": figure.title, "subtitle": figure.caption, "anchor": "start", "offset": 8}
    drawn = _drawn(figure, {"width": WIDE, "title": title, "background": PAPER, "padding": ROOM})
    return re.sub(r"^(<svg[^>]*>)", rf"\1{_dark()}", drawn, count=1)


@cache
def _dark() -> str:
    """A style sheet, which goes before the colours that the picture has as attributes."""
    rules = [f'[{of}="{light}"]{{{of}:{dark}}}' for light, dark in DARK.items() for of in ("fill", "stroke")]
    return f"<style>@media (prefers-color-scheme:dark){{{''.join(rules)}}}</style>"


@cache
def _use_own_fonts() -> None:
    """vl-convert measures text with a host's font of the same name before its own; releases differ in their widths.

    It reads the host's fonts once a process, when its first font folder is registered or its first chart is drawn.
    The variable is put back at once: a browser that this process starts needs the host's fonts.
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


def _drawn(figure: Figure, more: Spec) -> str:
    """Vega numbers clip paths over all charts of a process; here they are named after their own chart."""
    _use_own_fonts()
    text = vl_convert.vegalite_to_svg({**figure.drawing.spec, **more}, config=STILL)
    clips = {clip: f"{figure.name}-{n}" for n, clip in enumerate(dict.fromkeys(re.findall(r'id="(clip\d+)"', text)))}
    return re.sub(r"\bclip\d+\b", lambda found: clips[found[0]], text) if clips else text


TOOLS = ChartTools(library, svg)
