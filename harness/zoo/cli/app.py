"""The `zoo` command: a table of its contents, one file a command."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

import typer

COMMANDS = {
    "list": "The entries of the zoo.",
    "doctor": "What this machine allows, tier by tier, and what would mend it.",
    "build": "Build servers whose sources changed.",
    "plan": "Which cells a bench would measure and how long that takes.",
    "answer": "Should a server switch to virtual threads? Ten minutes, one paragraph.",
    "bench": "Measure entries, or a server that already runs.",
    "report": "Show a run again and write its report.html and report.md.",
    "compare": "Compare two runs: two commits, two JDKs, two days on one host.",
    "export": "Print a run's records as a table for other programs.",
    "jvm": "Measure the JVM with no server.",
    "soak": "Load servers for a long time: does one grow?",
    "docs": "Generate what documents quote of the reference runs.",
    "site": "Write reports, claims and an index as static pages.",
    "claims": "Which published claims hold on this machine.",
    "reference": "The committed runs that documents quote.",
    "jdbc": "Database access by executor: java-jdbc on PostgreSQL and MariaDB.",
}
"""Each is the module of its name beside this one."""

GROUPS = frozenset({"claims", "jdbc", "reference"})
"""Commands of several words."""

HIDDEN = frozenset({"measure"})
"""Commands that no person types."""


def of(words: Sequence[str]) -> typer.Typer:
    """The command as these words call it.

    Only what is called is imported: all of them take more than a second, which a person who asks for help would wait.
    """
    app = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        help="Finds out what a thread model is worth on this machine: starts servers, loads them with wrk, reports.",
    )
    called = next(iter(words), "")
    for name, summary in COMMANDS.items():
        if name != called:
            app.command(name, help=summary)(_not_called)
    if called in COMMANDS or called in HIDDEN:
        importlib.import_module("zoo.scenarios")  # registers the scenarios
        from zoo.cli.command import ZooCommand  # noqa: PLC0415 (imports more than help needs)

        module = importlib.import_module(f"zoo.cli.{called}")
        if called in GROUPS:
            app.add_typer(module.app, name=called)
        else:
            app.command(called, cls=ZooCommand, hidden=called in HIDDEN)(module.command)
    return app


def _not_called() -> None:
    """Stands for a command that only its name and summary are wanted of."""
