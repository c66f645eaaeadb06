"""Stand-in for the `zoo` command that prints the options and arguments it was given."""

from __future__ import annotations

import json
import sys

import typer

from zoo.cli import app
from zoo.cli.command import ZooCommand, take_settings


def print_given(self: ZooCommand, ctx: typer.Context) -> None:
    """Print the command's name and the options set on the command line or in the environment."""
    given = {name: value for name, value in ctx.params.items() if _is_set(ctx, name)}
    take_settings(ctx)
    print(json.dumps([ctx.command_path.split()[1:], given], default=str))


def _is_set(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name in ("COMMANDLINE", "ENVIRONMENT")


ZooCommand.invoke = print_given  # type: ignore[method-assign]
words = sys.argv[1:]
sys.argv[0] = "zoo"
app.app_for(words)()
