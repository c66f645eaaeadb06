"""The `zoo` command: its subcommands, and the module of each."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence

import typer

COMMANDS = {
    "list": "List the server variants.",
    "doctor": "Check this machine's limits and suggest fixes.",
    "build": "Build servers whose sources changed.",
    "plan": "Print the cells and the duration of a run without measuring.",
    "answer": "Recommend a pool size or a thread model for one server, in 15 minutes.",
    "bench": "Measure server variants, or a server that already runs.",
    "report": "Show a run again and write its report.html and report.md.",
    "explain": "Show what the CPU time of two entries is spent on.",
    "compare": "Compare two runs: two commits, two JDKs, two days on one host.",
    "export": "Print a run's records as CSV.",
    "jvm": "Measure the JVM without a server.",
    "soak": "Check for memory leaks under load.",
    "docs": "Generate the parts of documents that come from committed runs.",
    "site": "Write reports, claims and an index as static pages.",
    "claims": "Judge published claims on this machine.",
    "reference": "Show and refresh the committed runs.",
    "completion": "Print the script that completes commands in bash or zsh.",
    "jdbc": "Measure database access by executor, on PostgreSQL and MariaDB.",
}

SHARED_MODULES = {
    **dict.fromkeys(("list", "doctor", "build"), "prepare"),
    **dict.fromkeys(("jvm", "measure"), "bench"),
    **dict.fromkeys(("export", "docs", "site"), "report"),
}
"""Modules of commands that share one; every other command is in the module of its name."""

GROUPS = frozenset({"claims", "jdbc", "reference"})
"""Commands that have subcommands."""

HIDDEN = frozenset({"measure"})
"""Commands that only the harness calls."""


def app_for(words: Sequence[str]) -> typer.Typer:
    """Return the app that runs the command in these words.

    Only that command's module is imported: importing all takes more than a second, which would delay `zoo --help`.
    """
    app = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        help="Measure HTTP servers under several thread models on this machine, and compare the results.",
    )
    called = next(iter(_words_to_complete() or words), "")
    for name, summary in COMMANDS.items():
        if name != called:
            app.command(name, help=summary)(_placeholder)
    if called in COMMANDS or called in HIDDEN:
        importlib.import_module("zoo.scenarios")  # registers the scenarios
        from zoo.cli.command import ZooCommand  # noqa: PLC0415 (imports more than help needs)

        module = importlib.import_module(f"zoo.cli.{SHARED_MODULES.get(called, called)}")
        if called in GROUPS:
            app.add_typer(module.app, name=called)
        else:
            app.command(called, cls=ZooCommand, hidden=called in HIDDEN)(getattr(module, f"{called}_command"))
    return app


def _words_to_complete() -> list[str]:
    """Return the words that a shell wants completed."""
    if "_ZOO_COMPLETE" not in os.environ:
        return []
    from zoo.cli.completion import words_to_complete  # noqa: PLC0415 (only a shell needs it)

    return words_to_complete()


def _placeholder() -> None:
    """Do nothing: a placeholder for commands of which help shows only the name and the summary."""
