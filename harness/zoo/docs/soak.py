"""What a committed soak says, as a part of docs/reliability.md."""

from __future__ import annotations

from pathlib import Path

from zoo.catalog.build import source_hash
from zoo.catalog.manifest import Catalog
from zoo.docs.generated import Generated
from zoo.model.soak import Soak
from zoo.report.text import soak as soak_text
from zoo.report.text.markdown import render_table

KEPT = Path("results/reference/soak.json")


def generated(root: Path, catalog: Catalog) -> Generated:
    if not (root / KEPT).exists():
        return Generated()
    soak = Soak.model_validate_json((root / KEPT).read_text(encoding="utf-8"))
    section = soak_text.section(soak)
    changed = [s.name for s in catalog.servers if s.name in soak.builds and soak.builds[s.name] != source_hash(s)]
    older = f" **Older build**: {', '.join(changed)} changed since." if changed else ""
    source = (
        f"[{soak.minutes:g} minutes](../{KEPT}), all servers at once: {soak.host.cpu_model}, {soak.host.cores} cores, "
        f"commit {(soak.commit or 'unknown')[:12]}, JDK {soak.jdk}.{older}"
    )
    bullets = "\n".join(f"- {bullet}" for bullet in section.bullets)
    text = "\n\n".join([*section.paragraphs, *map(render_table, section.tables), *filter(None, [bullets]), source])
    return Generated({root / "docs/reliability.md": {"soak": text}})
