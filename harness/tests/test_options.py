"""Tests that a field of a model is an option of the command: its name, default, help and place in a command line."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, cast
from unittest.mock import patch

import hypothesis
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.main import get_command
from typer.testing import CliRunner

from zoo.cli import app
from zoo.cli.command import ZooCommand
from zoo.cli.options import from_models
from zoo.core.blocks import Design
from zoo.core.option import Option, build_model, find_option, format_options, options_of, parse_options, split_values
from zoo.core.plan import BenchOptions
from zoo.scenarios.jdbc.spec import JdbcOptions


@dataclass(frozen=True)
class Inner:
    depths: Annotated[Sequence[int], Option("--depth", "how deep; repeat")] = ()


@dataclass(frozen=True)
class Dive:
    names: Annotated[Sequence[str], Option("--names", "who, with commas between", empty="nobody dives")] = ()
    inner: Inner = field(default_factory=Inner)
    minutes: Annotated[int, Option("--minutes", "how long", minimum=1, variable="MINUTES")] = 5
    night: Annotated[bool | None, Option("--night/--day", "when")] = None
    found: int = 0


def dive(*typed: str, env: dict[str, str] | None = None) -> tuple[Dive | None, str]:
    """Run the command, and return the model it got and its output."""
    got: list[Dive] = []

    @from_models
    def command(asked: Dive, loud: bool = False) -> None:
        got.append(asked)

    program = typer.Typer(rich_markup_mode=None)
    program.command(cls=ZooCommand)(command)
    done = CliRunner().invoke(program, typed, env=env)
    return (got[0] if got else None), done.output


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ([], Dive()),
        (["--names", "a,b", "--day"], Dive(names=("a", "b"), night=False)),
        (["--depth", "3", "--depth", "10", "--minutes", "7"], Dive(inner=Inner((3, 10)), minutes=7)),
        (["--night", "--loud"], Dive(night=True)),
    ],
)
def test_a_command_is_given_its_model(typed: list[str], asked: Dive) -> None:
    assert dive(*typed)[0] == asked
    assert parse_options(Dive, [word for word in typed if word != "--loud"]) == asked


def test_bounds_variables_and_help_stand_at_the_field() -> None:
    assert dive(env={"MINUTES": "9"})[0] == Dive(minutes=9)
    assert "greater than or equal to 1" in dive("--minutes", "0")[1]
    assert dive("--names", ",")[1] == "zoo: nobody dives\n"
    text = " ".join(dive("--help")[1].split())
    for part in (
        "--names <list[str]> who, with commas between",
        "--depth <list[str]> how deep; repeat",
        "--night / --day",
    ):
        assert part in text
    assert "--minutes <int range> how long [env var: MINUTES; default: 5; x>=1]" in text
    assert "--found" not in text


def test_a_list_has_one_meaning_however_it_is_given() -> None:
    expected = Dive(names=("a", "b"), inner=Inner((3, 10)))
    assert dive("--names", "a,b", "--depth", "3,10")[0] == expected
    assert dive("--names", "a", "--names", "b", "--depth", "3", "--depth", "10")[0] == expected
    assert dive(env={"ZOO_NAMES": "a,b", "ZOO_DEPTH": "3,10"})[0] == expected
    assert dive(env={"ZOO_NAMES": "a b", "ZOO_DEPTH": "3 10"})[0] == expected
    assert "zoo: --depth x: " in dive("--depth", "x")[1]
    settings = "heap=50m,flags=-Xlog:gc,safepoint=info,-Da=b,MAX_THREADS=4"
    found = next(option for option in options_of(BenchOptions) if option.field == "vary")
    assert found.values([settings]) == ("heap=50m", "flags=-Xlog:gc,safepoint=info,-Da=b", "MAX_THREADS=4")
    targets = "http://a:1/?b=1,2,http://c:2/"
    found = next(option for option in options_of(BenchOptions) if option.field == "urls")
    assert found.values([targets]) == ("http://a:1/?b=1,2", "http://c:2/")


def test_a_typed_option_wins_and_no_child_process_gets_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"NAMES": "a", "DEPTH": "3", "TIERS": "100", "IMAGES": "mine", "SETTINGS": "NAMES DEPTH TIERS"}
    for name, value in settings.items():
        monkeypatch.setenv(f"ZOO_{name}", value)
    asked, output = dive("--depth", "10")
    assert asked == Dive(names=("a",), inner=Inner((10,)))
    assert output == "settings: NAMES=a\n"
    assert [name for name in settings if f"ZOO_{name}" in os.environ] == ["IMAGES"]


def test_former_names_of_options_work_with_a_note_and_only_there(monkeypatch: pytest.MonkeyPatch) -> None:
    got: list[BenchOptions] = []

    @from_models
    def command(wish: BenchOptions, strict: bool = False) -> None:
        got.append(replace(wish, remote=strict))

    program = typer.Typer(rich_markup_mode=None)
    program.command(cls=ZooCommand)(command)
    done = CliRunner().invoke(program, ["--tiers=100", "--tiers", "1k", "--strict-tiers"])
    assert got == [BenchOptions(tiers=("100", "1k"), remote=True)]
    assert done.output.splitlines() == [
        "--tiers is now --connections; the former name still works",
        "--strict-tiers is now --strict; the former name still works",
    ]
    assert "--tiers" not in CliRunner().invoke(program, ["--help"]).output
    assert "No such option: --tiers" in dive("--tiers", "100")[1]
    monkeypatch.setenv("ZOO_TIERS", "100")
    monkeypatch.setenv("ZOO_CONNECTIONS", "1k")
    CliRunner().invoke(program, [])
    assert got[-1] == BenchOptions(tiers=("1k",))


def test_words_ask_for_the_same_again() -> None:
    wish = BenchOptions(
        ("a",), ("x", "y"), tiers=("100", "1k"), rounds=2, quick=True, aa=False, design=Design.TURNS, pids=(4,)
    )
    assert format_options(BenchOptions()) == format_options(JdbcOptions()) == []
    assert format_options(wish) == [
        *("--server", "a", "--variant", "x", "--variant", "y", "--connections", "100,1k", "--rounds", "2"),
        *("--quick", "--no-aa", "--design", "turns", "--pid", "4"),
    ]


def test_two_options_of_one_name_are_refused() -> None:
    @dataclass(frozen=True)
    class Twice(Inner):
        inner: Inner = field(default_factory=Inner)

    Twice.__annotations__["inner"] = Inner
    with pytest.raises(TypeError, match="two options are called depths"):
        list(options_of(Twice))


def test_a_model_within_a_model_is_made_too() -> None:
    assert build_model(Dive, {"depths": (1,), "minutes": 2}) == Dive(inner=Inner((1,)), minutes=2)


# --- every list option of every command


def parsers() -> Iterator[tuple[str, Any]]:
    """Yield the parser of every command and subcommand, with the command's words."""
    for name in [*app.COMMANDS, *app.HIDDEN]:
        found = cast(Any, get_command(app.app_for([name]))).commands[name]
        yield from ((f"{name} {sub}", one) for sub, one in getattr(found, "commands", {}).items())
        if name not in app.GROUPS:
            yield name, found


LISTS = [
    pytest.param(command, parameter, id=f"{words} {parameter.name}")
    for words, command in parsers()
    for parameter in command.params
    if (parameter.multiple if parameter.param_type_name == "option" else parameter.nargs == -1)
    and (words, parameter.name) != ("jdbc exec", "command")
]
NAMES = st.from_regex(r"[a-z][a-z0-9*:./-]{0,8}", fullmatch=True)
HEADS = {"vary": "A=", "target": "http://"}


@pytest.mark.parametrize(("command", "parameter"), LISTS)
@hypothesis.settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(NAMES, st.booleans()), min_size=1, max_size=5))
def test_commas_and_repetition_mean_the_same_for_every_list(
    command: Any,  # noqa: ANN401 (of typer)
    parameter: Any,  # noqa: ANN401 (of typer)
    drawn: list[tuple[str, bool]],
) -> None:
    values = [HEADS.get(parameter.name, "") + name for name, _ in drawn]
    if parameter.name == "run":  # a variable with paths is split at colons, too, as PATH is
        values = [str(Path(value.replace(":", ""))) for value in values]
    typed = ""
    for value, (_, joined) in zip(values, drawn, strict=True):
        typed += f"{',' if joined and typed else ' '}{value}"
    option = parameter.opts if parameter.param_type_name == "option" else []
    needed = ["x" for other in command.params if other.required and other is not parameter]
    given_values = [
        command.make_context("it", [*needed, *words]).params[parameter.name]
        for words in (
            [word for text in typed.split() for word in (*option, text)],
            [*option, ",".join(values)],
        )
    ]
    with patch.dict(os.environ, {parameter.envvar or f"ZOO_{parameter.name}".upper(): ",".join(values)}):
        given_values.append(command.make_context("it", [*needed], auto_envvar_prefix="ZOO").params[parameter.name])
    assert [[str(value) for value in found] for found in given_values] == [values] * 3


@pytest.mark.parametrize("setting", ["runtime=container", "heap=50m", "jvm=zgc", "jdk=21", "cpus=1", "cores=split"])
def test_a_comma_separates_each_setting_of_vary(setting: str) -> None:
    found = find_option(BenchOptions, "vary").option
    given = f"flags=-Xlog:gc,-Da=b,{setting},MAX_THREADS=4"
    assert split_values([given], found.separator) == ["flags=-Xlog:gc,-Da=b", setting, "MAX_THREADS=4"]


def test_there_are_lists_to_test() -> None:
    assert len(LISTS) > 20
