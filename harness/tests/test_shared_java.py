"""Tests that keep the code shared by Java servers identical, byte for byte, because servers share no code.

They also check that no Java program's output depends on the locale.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [ROOT / f"java-{name}" / "src/main/java/zoo/shared" for name in ("tomcat", "vertx", "spring", "liberty")]


@pytest.mark.parametrize("name", ["Settings.java", "Info.java", "Work.java"])
def test_the_text_is_the_same_in_every_java_server(name: str) -> None:
    texts = {folder.parts[-6]: (folder / name).read_text(encoding="utf-8") for folder in FOLDERS}
    first = texts["java-tomcat"]
    assert [server for server, text in texts.items() if text != first] == []


LOCAL_NUMBER = re.compile(
    r"(?s)(?=.*(\.formatted\(|printf\(\s*\"|String\.format\(\s*\"))(?=.*%[-#+ 0,(]*[0-9.]*[deEfgxX])"
)
LOCAL_CASE = re.compile(r"\.to(Lower|Upper)Case\(\)")


def test_no_java_program_formats_in_the_locale_of_the_machine() -> None:
    # Persian has its own digits, and Turkish capitalizes `i` differently. Locale.ROOT does neither.
    sources = list(ROOT.glob("java-*/src/**/*.java"))
    statements = [(path, text) for path in sources for text in path.read_text(encoding="utf-8").split(";")]
    found = [
        f"{path.relative_to(ROOT)}: {text.strip()}"
        for path, text in statements
        if LOCAL_NUMBER.match(text) or LOCAL_CASE.search(text)
    ]
    assert len(sources) > 40
    assert found == []
