"""JSON output of commands; docs/reference/commands.md describes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer
from pydantic_core import to_json

from zoo.stats.pairs import Pair

FORMAT = 1
"""Version of the format, which changes if a key is removed or gets another meaning."""

AsJson = Annotated[bool, typer.Option("--json", help="print JSON for other programs")]


def print_json(command: str, **content: object) -> None:
    """Print the output of a command as one JSON object."""
    found = {"format": FORMAT, "command": command, **content}
    typer.echo(to_json(found, indent=2, inf_nan_mode="null").decode())


def pairs_data(pairs: Iterable[Pair]) -> list[dict[str, Any]]:
    """Return each pair as data: the ratio of `a` to `b` for each metric, with its interval and verdict."""
    return [
        {
            "a": pair.a,
            "b": pair.b,
            "scenario": pair.scenario,
            "connections": pair.tier,
            "rounds": pair.rounds,
            "metrics": {
                metric.name: {
                    "ratio": one.ratio and one.ratio.value,
                    "low": one.ratio and one.ratio.low,
                    "high": one.ratio and one.ratio.high,
                    "verdict": one.verdict.word,
                }
                for metric, one in pair.comparisons.items()
            },
        }
        for pair in pairs
    ]
