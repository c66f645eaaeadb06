"""A model of options becomes the options of a command; what was asked for becomes a plan."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from zoo.catalog.manifest import Catalog
from zoo.cli import checkout
from zoo.model.errors import BenchError
from zoo.model.option import Option, OptionField, made, option_of, options_of
from zoo.model.run import PlanFacts
from zoo.plan import request
from zoo.plan.capacity import PlanError
from zoo.plan.request import Wish
from zoo.runtime import conditions
from zoo.runtime import target as targeting
from zoo.runtime.target import targets


def shown(option: Option, *default: Any) -> Any:  # noqa: ANN401 (typer's own type of an option)
    """The option as typer knows it; its default stands here, or at the parameter that it is an annotation of."""
    text = option.help if isinstance(option.help, str) else option.help()
    return typer.Option(
        *default,
        option.name,
        help=text,
        min=option.least,
        max=option.most,
        envvar=option.variable,
        show_envvar=option.variable is not None,
    )


Servers = Annotated[list[str] | None, shown(option_of(Wish, "servers"))]
Hosting = Annotated[str, shown(option_of(Wish, "runtime"))]
RunFolder = Annotated[
    Path | None, typer.Argument(help="a run's folder", envvar="ZOO_RUN", show_default="results/latest")
]
Results = Annotated[Path | None, typer.Option(help="where runs are written; results/ without it")]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume", help="go on with the newest run: what it lacks or what failed; with --rounds so many in all"
    ),
]


def from_models(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of a model where it takes that model."""
    hints = get_type_hints(command, include_extras=True)
    models = {name: list(options_of(hint)) for name, hint in hints.items() if is_dataclass(hint)}  # type: ignore[arg-type]
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        own = parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
        parameters += map(_parameter, models[name]) if name in models else [own]

    @functools.wraps(command)
    def called(**given: Any) -> None:  # noqa: ANN401 (whatever the options hold)
        for name, options in models.items():
            values = {option.field: _value(option, given.pop(_name(option))) for option in options}
            given[name] = made(hints[name], values)
        command(**given)

    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    called.__dict__["__signature__"] = inspect.Signature(parameters)
    return called


def _name(found: OptionField) -> str:
    """The parameter's name, from which typer makes that of the environment's variable: `tiers` of --tiers."""
    return found.option.name.partition("/")[0].strip("-").replace("-", "_")


def _parameter(found: OptionField) -> inspect.Parameter:
    """The option as a parameter of a function, which is what typer reads."""
    of, default = found.type, found.default
    if found.is_list:
        of, default = list[str] | None, None
    return inspect.Parameter(
        _name(found), inspect.Parameter.KEYWORD_ONLY, default=shown(found.option, default), annotation=of
    )


def _value(found: OptionField, given: Any) -> Any:  # noqa: ANN401 (of the field's type)
    """The field's value; `PlanError` for a list that names nothing."""
    if not found.is_list:
        return given
    try:
        return found.values(given or ())
    except ValueError as error:
        raise PlanError(f"{error}") from None


def planned_of(wish: Wish, catalog: Catalog) -> PlanFacts:
    """The plan of what was asked for, on this machine. `TargetError` for a target that cannot be measured."""
    named = targets(wish.urls, wish.pids)
    wish = replace(wish, targets={name: targeting.resolved(target) for name, target in named.items()})
    if wish.targets and wish.vary:
        raise BenchError("a target cannot be started under another condition: no --vary beside --target")
    entries, targeted = request.chosen(wish, catalog), bool(wish.targets)
    outside = targeted or any(e.server.guest for e in entries)
    runtime = conditions.runtime_named(wish.runtime, wish.tiers, outside=outside)
    condition = conditions.condition_of(runtime, entries, checkout.ROOT, targets=targeted)
    varied = conditions.varied(wish.vary, condition, entries, checkout.ROOT)
    planned = request.plan_of(wish, catalog, condition, varied)
    targeting.check(planned.targets, planned.scenarios, remote=wish.remote)
    return planned
