"""Charts made into pictures by vl-convert, which brings Vega and Vega-Lite along."""

from __future__ import annotations

import re
from functools import cache

import vl_convert

from zoo.report.forms import Spec
from zoo.report.gallery import Figure
from zoo.report.html import Tools
from zoo.report.looks import THEME

NARROW, WIDE = 320, 560
"""Of a chart within a page, and of one that stands alone."""

STILL = THEME | {"font": "Liberation Sans, Arial, Helvetica, sans-serif"}
"""The first comes with vl-convert: text takes the same room on every machine, so the same data give the same file."""


@cache
def library() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, so that a page holds one copy for all its charts."""
    return vl_convert.javascript_bundle()  # type: ignore[call-arg]  # its stub takes the default for none


def svg(figure: Figure) -> str:
    """A chart for a page that shows it before its scripts run, or without them."""
    return _drawn(figure, {"width": NARROW})


def alone(figure: Figure) -> str:
    """A chart for a document: with its title, on white whatever stands behind it."""
    title = {"text": figure.title, "subtitle": figure.caption, "anchor": "start", "offset": 8}
    return _drawn(figure, {"width": WIDE, "title": title, "background": "white"})


def _drawn(figure: Figure, more: Spec) -> str:
    """Vega numbers clip paths over all charts of a process; here they are named after their own chart."""
    text = vl_convert.vegalite_to_svg({**figure.drawing.spec, **more}, config=STILL)
    clips = {clip: f"{figure.name}-{n}" for n, clip in enumerate(dict.fromkeys(re.findall(r'id="(clip\d+)"', text)))}
    return re.sub(r"\bclip\d+\b", lambda found: clips[found[0]], text) if clips else text


TOOLS = Tools(library, svg)
