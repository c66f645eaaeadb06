"""Servers share no code, so what is the same in several Java servers is held alike here, byte for byte.

The texts of all Java programs do not depend on the locale.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [ROOT / f"java-{name}" / "src/main/java/zoo" for name in ("tomcat", "vertx", "spring", "liberty")]


@pytest.mark.parametrize("name", ["Settings.java", "Info.java", "Work.java", "Monitor.java"])
def test_the_text_is_the_same_in_every_java_server(name: str) -> None:
    texts = {folder.parts[-5]: (folder / name).read_text(encoding="utf-8") for folder in FOLDERS}
    first = texts["java-tomcat"]
    assert [server for server, text in texts.items() if text != first] == []


LOCAL_NUMBER = re.compile(
    r"(?s)(?=.*(\.formatted\(|printf\(\s*\"|String\.format\(\s*\"))(?=.*%[-#+ 0,(]*[0-9.]*[deEfgxX])"
)
LOCAL_CASE = re.compile(r"\.to(Lower|Upper)Case\(\)")


def test_no_java_program_formats_in_the_locale_of_the_machine() -> None:
    """Persian has digits of its own, and Turkish makes of `i` another capital: Locale.ROOT has neither."""
    sources = list(ROOT.glob("java-*/src/**/*.java"))
    statements = [(path, text) for path in sources for text in path.read_text(encoding="utf-8").split(";")]
    found = [
        f"{path.relative_to(ROOT)}: {text.strip()}"
        for path, text in statements
        if LOCAL_NUMBER.match(text) or LOCAL_CASE.search(text)
    ]
    assert len(sources) > 40
    assert found == []
