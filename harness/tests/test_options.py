"""A field of a model is an option of the command: its name, its default, its help, its place in a command line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from zoo.cli.command import ZooCommand
from zoo.cli.options import from_models
from zoo.jdbc.plan import JdbcWish
from zoo.model.option import Option, made, options_of, parse, words
from zoo.plan.blocks import Design
from zoo.plan.request import Wish


@dataclass(frozen=True)
class Inner:
    depths: Annotated[Sequence[int], Option("--depth", "how deep; repeat")] = ()


@dataclass(frozen=True)
class Dive:
    names: Annotated[Sequence[str], Option("--names", "who, with commas between", empty="nobody dives")] = ()
    inner: Inner = field(default_factory=Inner)
    minutes: Annotated[int, Option("--minutes", "how long", least=1, variable="MINUTES")] = 5
    night: Annotated[bool | None, Option("--night/--day", "when")] = None
    found: int = 0


def dive(*typed: str, env: dict[str, str] | None = None) -> tuple[Dive | None, str]:
    """What the command was given, and what it said."""
    got: list[Dive] = []

    @from_models
    def command(asked: Dive, loud: bool = False) -> None:
        got.append(asked)

    app = typer.Typer(rich_markup_mode=None)
    app.command(cls=ZooCommand)(command)
    done = CliRunner().invoke(app, typed, env=env)
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
    assert parse(Dive, [word for word in typed if word != "--loud"]) == asked


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
    targets = "http://a:1/?b=1,2,http://c:2/"
    found = next(option for option in options_of(Wish) if option.field == "urls")
    assert found.values([targets]) == ("http://a:1/?b=1,2", "http://c:2/")


def test_a_typed_option_wins_and_no_child_process_gets_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"NAMES": "a", "DEPTH": "3", "TIERS": "100", "IMAGES": "mine", "SETTINGS": "NAMES DEPTH TIERS"}
    for name, value in settings.items():
        monkeypatch.setenv(f"ZOO_{name}", value)
    asked, output = dive("--depth", "10")
    assert asked == Dive(names=("a",), inner=Inner((10,)))
    assert output == "settings: NAMES=a\n"
    assert [name for name in settings if f"ZOO_{name}" in os.environ] == ["IMAGES"]


def test_words_ask_for_the_same_again() -> None:
    wish = Wish(("a",), ("x", "y"), tiers=("100", "1k"), rounds=2, quick=True, aa=False, design=Design.TURNS, pids=(4,))
    assert words(Wish()) == words(JdbcWish()) == []
    assert words(wish) == [
        *("--server", "a", "--variant", "x", "--variant", "y", "--tiers", "100,1k", "--rounds", "2"),
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
    assert made(Dive, {"depths": (1,), "minutes": 2}) == Dive(inner=Inner((1,)), minutes=2)
