"""What a committed soak says, as a part of docs/reliability.md."""

from __future__ import annotations

from pathlib import Path

from zoo.catalog.manifest import Catalog
from zoo.docs.generated import Generated
from zoo.docs.origin import changed
from zoo.model.soak import Soak
from zoo.report.text import soak as soak_text
from zoo.report.text.markdown import render_table

KEPT = Path("results/reference/soak.json")


def generated(root: Path, catalog: Catalog) -> Generated:
    if not (root / KEPT).exists():
        return Generated()
    soak = Soak.model_validate_json((root / KEPT).read_text(encoding="utf-8"))
    section = soak_text.section(soak)
    others = changed(soak.builds, [server for server in catalog.servers if server.name in soak.builds])
    older = f" **Older build**: {', '.join(others)} changed since." if others else ""
    source = (
        f"[{soak.minutes:g} minutes](../{KEPT}), all servers at once: {soak.host.cpu_model}, {soak.host.processors}, "
        f"commit {(soak.commit or 'unknown')[:12]}, JDK {soak.jdk}.{older}"
    )
    bullets = "\n".join(f"- {bullet}" for bullet in section.bullets)
    text = "\n\n".join([*section.paragraphs, *map(render_table, section.tables), *filter(None, [bullets]), source])
    return Generated({root / "docs/reliability.md": {"soak": text}})
