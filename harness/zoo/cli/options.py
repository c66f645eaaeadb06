"""Options of commands, made from models of options, and the plan for a user's options."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from zoo.cli import checkout
from zoo.cli.completion import complete_list
from zoo.core import plan as request
from zoo.core.capacity import PlanError
from zoo.core.errors import BenchError
from zoo.core.manifest import ALL, Catalog
from zoo.core.option import OptionField, build_model, find_option, options_of, split_values
from zoo.core.plan import BenchOptions
from zoo.core.run import PlanFacts
from zoo.core.scenario import bench_scenarios
from zoo.runtime import conditions
from zoo.runtime import target as targeting
from zoo.runtime.target import targets


def split(separator: str = ",", convert: Callable[[str], Any] = str) -> Callable[[Any], Any]:
    """Return the callback of every option and argument that is a list: `a,b`, repetition and both mean the same.

    A list of nothing but commas is left as it is, so that it is reported like any other unknown value.
    """

    def callback(given: list[Any] | None) -> list[Any] | None:
        return given and [convert(value) for value in split_values(map(str, given), separator) or given]

    return callback


NAMES: dict[str, Callable[[], Iterable[str]]] = {
    "--server": lambda: [ALL, *(server.name for server in checkout.catalog().servers)],
    "--variant": lambda: [entry.id for entry in checkout.catalog().entries],
    "--scenario": bench_scenarios,
}
"""Options whose values a shell can complete."""


def typer_option(field: OptionField, *default: Any) -> Any:  # noqa: ANN401 (typer's own type of an option)
    """Return typer's form of an option; the default is given here, or at the parameter that the option annotates."""
    option = field.option
    text = option.help if isinstance(option.help, str) else option.help()
    return typer.Option(
        *default,
        option.name,
        help=text,
        min=option.minimum,
        max=option.maximum,
        callback=split(option.separator) if field.is_list else None,
        autocompletion=complete_list(NAMES[option.name]) if option.name in NAMES else None,
        envvar=option.variable,
        show_envvar=option.variable is not None,
    )


Servers = Annotated[list[str] | None, typer_option(find_option(BenchOptions, "servers"))]
Variants = Annotated[list[str] | None, typer_option(find_option(BenchOptions, "variants"))]
Hosting = Annotated[str, typer_option(find_option(BenchOptions, "runtime"))]
RunFolder = Annotated[
    Path | None, typer.Argument(help="folder of the run", envvar="ZOO_RUN", show_default="results/latest")
]
Results = Annotated[Path | None, typer.Option(help="folder for runs; by default results/")]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume", help="continue the newest run with its missing and failed cells; --rounds sets its total of rounds"
    ),
]


def from_models(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter of a command that is a model by the options of that model."""
    hints = get_type_hints(command, include_extras=True)
    models = {name: list(options_of(hint)) for name, hint in hints.items() if is_dataclass(hint)}  # type: ignore[arg-type]
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        own = parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
        parameters += map(_parameter, models[name]) if name in models else [own]

    @functools.wraps(command)
    def wrapper(**given: Any) -> None:  # noqa: ANN401 (whatever the options hold)
        for name, options in models.items():
            values = {option.field: _value(option, given.pop(_name(option))) for option in options}
            given[name] = build_model(hints[name], values)
        command(**given)

    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    wrapper.__dict__["__signature__"] = inspect.Signature(parameters)
    return wrapper


def _name(field: OptionField) -> str:
    """Return the parameter's name, such as `no_aa` for --no-aa; typer derives the environment variable from it."""
    return field.option.name.partition("/")[0].strip("-").replace("-", "_")


def _parameter(field: OptionField) -> inspect.Parameter:
    """Return the option as a parameter of a function, because typer reads its options from a signature."""
    of, default = field.type, field.default
    if field.is_list:
        of, default = list[str] | None, None
    return inspect.Parameter(
        _name(field), inspect.Parameter.KEYWORD_ONLY, default=typer_option(field, default), annotation=of
    )


def _value(field: OptionField, given: Any) -> Any:  # noqa: ANN401 (of the field's type)
    """Return the field's value; raise `PlanError` for a list that names nothing or has a bad value."""
    if not field.is_list:
        return given
    try:
        return field.values(given or ())
    except ValueError as error:
        raise PlanError(f"{error}") from None


def make_plan(wish: BenchOptions, catalog: Catalog) -> PlanFacts:
    """Return the plan for these options on this machine; raise `TargetError` for a target that cannot be measured."""
    named_targets = targets(wish.urls, wish.pids)
    wish = replace(wish, targets={name: targeting.resolve(target) for name, target in named_targets.items()})
    if wish.targets and wish.vary:
        raise BenchError(
            "--vary needs servers that the harness starts, and --target names one that already runs; remove --vary"
        )
    entries, targeted = request.select_entries(wish, catalog), bool(wish.targets)
    outside = targeted or any(e.server.guest for e in entries)
    runtime = conditions.select_runtime(wish.runtime, wish.tiers, outside=outside)
    condition = conditions.condition_of(runtime, entries, checkout.ROOT, targets=targeted)
    variations = conditions.variations_of(wish.vary, condition, entries, checkout.ROOT)
    planned = request.make_plan(wish, catalog, condition, variations)
    targeting.check(planned.targets, planned.scenarios, remote=wish.remote)
    return planned
