"""The parent of every command: it reads settings from the environment and prints a user's mistakes."""

from __future__ import annotations

import os
from typing import Any

import typer
from typer.core import TyperCommand

from zoo.cli import checkout, screen
from zoo.model.errors import BenchError, UserError
from zoo.model.option import split_values

PREFIX = "ZOO_"
"""`make` passes a setting such as SERVER=java-tomcat as ZOO_SERVER, and the names of all as ZOO_SETTINGS."""

WITH_RESUME = {"RESUME", "ROUNDS", "PRECISION", "BUDGET"}
"""Settings that a resumed run may have."""


class ZooCommand(TyperCommand):
    """A command whose option --name is also read from ZOO_NAME, and whose mistakes are printed without a stack trace.

    Exit code 2 for a mistake, such as being called in another checkout.
    """

    def __init__(self, name: str | None, **given: Any) -> None:  # noqa: ANN401 (as typer's own)
        given["context_settings"] = {**(given.get("context_settings") or {}), "auto_envvar_prefix": PREFIX.strip("_")}
        super().__init__(name, **given)

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Read the settings together with the words of the command line."""
        _vary_heap_and_jdk()
        return super().parse_args(ctx, args)

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override] # noqa: ANN401 (as typer's own)
        """Run the command."""
        try:
            checkout.check_place()
            take_settings(ctx)
            return super().invoke(ctx)
        except UserError as mistake:
            screen.make(stderr=True).print(f"zoo: {mistake}", markup=False, highlight=False)
            raise typer.Exit(2) from None


def group(text: str) -> typer.Typer:
    """Return a command of several words."""
    return typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None, help=text)


def _vary_heap_and_jdk() -> None:
    """Turn the sizes of HEAP, and the versions of JDK after the first, into further conditions."""
    first, *others = split_values([os.environ.get("JDK", "")]) or [""]
    if others:
        os.environ["JDK"] = first
    sizes = split_values([os.environ.pop(f"{PREFIX}HEAP", "")])
    varied = [os.environ.get(f"{PREFIX}VARY", ""), *(f"heap={s}" for s in sizes), *(f"jdk={j}" for j in others)]
    os.environ[f"{PREFIX}VARY"] = " ".join(filter(None, varied))


def take_settings(ctx: typer.Context) -> None:
    """Print the settings that the command uses, and remove all of them from the environment of child processes.

    `BenchError` for settings that a resumed run cannot have.
    """
    used = {}
    for parameter in ctx.command.params:
        source = ctx.get_parameter_source(str(parameter.name))
        variable = parameter.envvar or f"{PREFIX}{parameter.name}".upper()
        if source and source.name == "ENVIRONMENT" and str(variable).startswith(PREFIX):
            used[str(variable).removeprefix(PREFIX)] = os.environ[str(variable)]
    for name in {*used, "VARY", *os.environ.pop(f"{PREFIX}SETTINGS", "").split()}:
        os.environ.pop(PREFIX + name, None)
    is_in_group = ctx.parent is not None and ctx.parent.parent is not None
    if "RESUME" in used and used.keys() - (WITH_RESUME - {"ROUNDS"} if is_in_group else WITH_RESUME):
        raise BenchError("RESUME=1 goes on with the newest run as it was planned; leave out the other settings")
    if used:
        settings = " ".join(f"{name}={value}" for name, value in used.items())
        screen.make(stderr=True).print(f"settings: {settings}", markup=False, highlight=False)
