"""The base class of every command: it reads settings from the environment and prints user errors."""

from __future__ import annotations

import inspect
import os
from typing import Any

import typer
from typer.core import TyperCommand

from zoo.cli import checkout
from zoo.cli.display import make_console
from zoo.core.errors import BenchError, UserError
from zoo.core.option import split_values

PREFIX = "ZOO_"
"""The prefix of settings: `make` passes SERVER=java-tomcat as ZOO_SERVER, and the names of all in ZOO_SETTINGS."""

FORMER = {"--tiers": "--connections", "--strict-tiers": "--strict"}
"""Former names of options, which still work: the new name of each."""

WITH_RESUME = {"RESUME", "ROUNDS", "PRECISION", "BUDGET"}
"""Settings that are allowed for a resumed run."""


class ZooCommand(TyperCommand):
    """A command that also reads its option --name from ZOO_NAME, and prints user errors without a stack trace.

    A user error, such as a call in another checkout, ends it with exit code 2. Its help ends with the lines that follow
    "Examples:" in its description.
    """

    def __init__(self, name: str | None, **given: Any) -> None:  # noqa: ANN401 (as typer's own)
        given["context_settings"] = {**(given.get("context_settings") or {}), "auto_envvar_prefix": PREFIX.strip("_")}
        given["help"], _, examples = inspect.cleandoc(given.get("help") or "").partition("Examples:\n")
        self.examples = [line.strip() for line in examples.splitlines()]
        super().__init__(name, **given)

    def format_epilog(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override] # noqa: ANN401
        """Write the examples, one per line and never wrapped, so that they can be copied."""
        if self.examples:
            with formatter.section("Examples"):
                formatter.write("".join(f"  {example}\n" for example in self.examples))

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Parse the command line together with the settings in the environment."""
        _vary_heap_and_jdk()
        return super().parse_args(ctx, self._replace_former_names(args, quiet=ctx.resilient_parsing))

    def _replace_former_names(self, args: list[str], *, quiet: bool) -> list[str]:
        """Replace former names of options, on the command line and in the environment, and print a note about each."""
        end = args.index("--") if "--" in args else len(args)
        known = {name for parameter in self.params for name in parameter.opts}
        words = list(args)
        for former, name in FORMER.items():
            if name not in known:
                continue
            typed = [n for n, word in enumerate(args[:end]) if word == former or word.startswith(f"{former}=")]
            for number in typed:
                words[number] = words[number].replace(former, name, 1)
            if typed and not quiet:
                _print_note(f"{former} is now {name}; the former name still works")
            setting, new = (option.strip("-").upper().replace("-", "_") for option in (former, name))
            if (value := os.environ.pop(PREFIX + setting, None)) is not None:
                os.environ.setdefault(PREFIX + new, value)
                _print_note(f"{setting}= is now {new}=; the former name still works")
        return words

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override] # noqa: ANN401 (as typer's own)
        """Run the command; print a user error and exit with code 2."""
        try:
            checkout.check_place()
            take_settings(ctx)
            return super().invoke(ctx)
        except UserError as mistake:
            _print_note(f"zoo: {mistake}")
        except (PermissionError, FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            if error.filename is None:
                raise
            _print_note(f"zoo: cannot use {error.filename}: {error.strerror}; name another path, or change this one")
        raise typer.Exit(2) from None


def group(text: str) -> typer.Typer:
    """Return a command that has subcommands."""
    return typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None, help=text)


def _vary_heap_and_jdk() -> None:
    """Turn the sizes in HEAP, and the versions in JDK after the first, into additional conditions."""
    first, *others = split_values([os.environ.get("JDK", "")]) or [""]
    if others:
        os.environ["JDK"] = first
    sizes = split_values([os.environ.pop(f"{PREFIX}HEAP", "")])
    varied = [os.environ.get(f"{PREFIX}VARY", ""), *(f"heap={s}" for s in sizes), *(f"jdk={j}" for j in others)]
    os.environ[f"{PREFIX}VARY"] = " ".join(filter(None, varied))


def take_settings(ctx: typer.Context) -> None:
    """Print the settings that the command uses, and remove all settings from the environment of child processes.

    Raise `BenchError` for settings that are not allowed for a resumed run.
    """
    settings = {}
    for parameter in ctx.command.params:
        source = ctx.get_parameter_source(str(parameter.name))
        variable = parameter.envvar or f"{PREFIX}{parameter.name}".upper()
        if source and source.name == "ENVIRONMENT" and str(variable).startswith(PREFIX):
            settings[str(variable).removeprefix(PREFIX)] = os.environ[str(variable)]
    for name in {*settings, "VARY", *os.environ.pop(f"{PREFIX}SETTINGS", "").split()}:
        os.environ.pop(PREFIX + name, None)
    is_in_group = ctx.parent is not None and ctx.parent.parent is not None
    if "RESUME" in settings and settings.keys() - (WITH_RESUME - {"ROUNDS"} if is_in_group else WITH_RESUME):
        raise BenchError("RESUME=1 continues the newest run as it was planned; remove the other settings")
    if settings:
        _print_note("settings: " + " ".join(f"{name}={value}" for name, value in settings.items()))


def _print_note(text: str) -> None:
    """Print a line to standard error."""
    make_console(stderr=True).print(text, markup=False, highlight=False)
