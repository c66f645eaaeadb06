"""Charts made into pictures by vl-convert, which brings Vega and Vega-Lite along."""

from __future__ import annotations

from functools import cache

import vl_convert

from zoo.report.charts import THEME, Spec
from zoo.report.gallery import Figure
from zoo.report.html import Tools

NARROW, WIDE = 320, 560
"""Of a chart within a page, and of one that stands alone."""


@cache
def library() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, so that a page holds one copy for all its charts."""
    return vl_convert.javascript_bundle()  # type: ignore[call-arg]  # its stub takes the default for none


def svg(spec: Spec) -> str:
    """A chart for a page that shows it before its scripts run, or without them."""
    return vl_convert.vegalite_to_svg({**spec, "width": NARROW}, config=THEME)


def alone(figure: Figure) -> str:
    """A chart for a document: with its caption, on white whatever stands behind it."""
    title = {"text": figure.caption, "anchor": "start", "fontSize": 13}
    spec = {**figure.drawing.spec, "width": WIDE, "title": title, "background": "white"}
    return vl_convert.vegalite_to_svg(spec, config=THEME)


TOOLS = Tools(library, svg)
