"""Figures of the source articles, in the order in which they appear there.

The articles belong to others and are not part of the project. Stored are only the digest of each text and its figures,
each with at most one word after it: `44104 or`, `180MB`, `7 times`.

`python harness/tests/articles.py FOLDER` recreates them from the texts in FOLDER.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import TypedDict

KEPT = Path(__file__).parent / "fixtures" / "articles.json"
TEXTS = {"R": "000_*.txt", "L": "001_*.txt", "D": "002_*.txt", "T": "003_*.txt", "S": "004_*.txt"}
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
FIGURE = re.compile(r"\d+(?:[.,]\d+)*(?:%|[A-Za-z]{1,4}\b)?(?: [A-Za-z]+)?")


class Extract(TypedDict):
    """The stored part of an article."""

    sha256: str
    figures: list[str]


def extract(text: bytes) -> Extract:
    return {"sha256": hashlib.sha256(text).hexdigest(), "figures": FIGURE.findall(text.decode("utf-8"))}


def read(folder: Path) -> dict[str, Extract]:
    """Return the extracts of all articles whose text is in the folder."""
    found = {key: next(iter(folder.glob(pattern)), None) for key, pattern in TEXTS.items()}
    return {key: extract(path.read_bytes()) for key, path in found.items() if path}


def kept() -> dict[str, Extract]:
    data: dict[str, Extract] = json.loads(KEPT.read_text(encoding="utf-8"))
    return data


def states(article: Extract, quote: str) -> bool:
    """Return whether the article has this figure: its number alone, with its unit, or with the word after it."""
    return any(quote in (figure, figure.partition(" ")[0], NUMBER.match(figure)[0]) for figure in article["figures"])  # type: ignore[index]


def main() -> None:
    KEPT.write_text(json.dumps(read(Path(sys.argv[1])), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
