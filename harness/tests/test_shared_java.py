"""Servers share no code, so what is the same in several Java servers is held alike here, byte for byte."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [ROOT / f"java-{name}" / "src/main/java/zoo" for name in ("tomcat", "vertx", "spring", "liberty")]


@pytest.mark.parametrize("name", ["Settings.java", "Info.java", "Work.java", "Monitor.java"])
def test_the_text_is_the_same_in_every_java_server(name: str) -> None:
    texts = {folder.parts[-5]: (folder / name).read_text(encoding="utf-8") for folder in FOLDERS}
    first = texts["java-tomcat"]
    assert [server for server, text in texts.items() if text != first] == []
