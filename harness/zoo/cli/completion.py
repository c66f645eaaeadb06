"""Completion of commands, options and names in bash and zsh."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import completion_init, get_completion_script  # type: ignore[attr-defined]

VARIABLE = "_ZOO_COMPLETE"
"""The variable with which a shell's script calls `zoo` to complete a command line."""


class Shell(StrEnum):
    """A shell that can complete commands of `zoo`."""

    BASH = "bash"
    ZSH = "zsh"


def completion_command(shell: Annotated[Shell, typer.Argument(help="shell that runs the script")]) -> None:
    """Print the script that makes bash or zsh complete commands, options and names after `zoo` and `./zoo`.

    Source the script in ~/.bashrc, or in ~/.zshrc after compinit.

    Examples:
        zoo completion bash > ~/zoo-completion.bash
        zoo completion zsh > ~/zoo-completion.zsh
    """
    script = get_completion_script(prog_name="zoo", complete_var=VARIABLE, shell=shell)
    # typer's script for zsh would call a zoo on the PATH instead of the one that was typed
    typer.echo(script.replace("complete_zsh zoo)", "complete_zsh ${words[1]})"))


def words_to_complete() -> list[str]:
    """Return the words after `zoo` on the command line that a shell wants completed."""
    completion_init()
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")
    return line.split()[1:]


def complete_list(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return a function that completes the last value of a list such as `java-tomcat,rust`."""

    def complete(incomplete: str) -> list[str]:
        before, comma, _ = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in names()]

    return complete
