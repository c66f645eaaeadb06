"""An option of a command as data: a field of a model is one, with its name, help and bounds beside it. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

NEVER = r"(?!)"
"""The separator of a list whose values may hold commas."""


@dataclass(frozen=True)
class Option:
    """How a person asks for a field: `--name`, or `--name/--no-name` of one that is on or off.

    `help` may be a function, for a text that lists what is registered later. `least` and `most` bound a number.
    Every option can be set in the environment, `--name` as ZOO_NAME; `variable` is another name for it.
    The values of a list are separated by `separator`, a regular expression, or given by repeating the option.
    `empty` is the complaint when such a list names nothing.
    """

    name: str
    help: str | Callable[[], str]
    least: int | None = None
    most: int | None = None
    variable: str | None = None
    separator: str = ","
    empty: str | None = None


@dataclass(frozen=True)
class OptionField:
    """A field that a person sets by an option; `type` is the field's own."""

    field: str
    type: Any
    default: Any
    option: Option

    @property
    def is_list(self) -> bool:
        return get_origin(self.type) is Sequence

    def values(self, given: Iterable[str]) -> tuple[Any, ...]:
        """Return the values of a list; `ValueError` for a list that names nothing or has a value of another type."""
        texts = list(given)
        values = split_values(texts, self.option.separator)
        if texts and not values and self.option.empty is not None:
            raise ValueError(self.option.empty)
        try:
            return tuple(TypeAdapter(self.type).validate_python(values))
        except ValidationError as error:
            first = error.errors()[0]
            raise ValueError(f"{self.option.name} {first['input']}: {first['msg']}") from None


def split_values(given: Iterable[str], separator: str = ",") -> list[str]:
    """Return the values of a list that was given as several words, as one with separators in it, or as both."""
    return [value for text in given for value in re.split(separator, text) if value.strip()]


def options_of(model: type[Any]) -> Iterator[OptionField]:
    """The options of a model in their order, those of models within it in their place; `TypeError` for two of a name.

    A field that is neither an option nor a model has none: something else fills it in.
    """
    seen: set[str] = set()
    for found in _options(model):
        if found.field in seen:
            raise TypeError(f"{model.__name__}: two options are called {found.field}")
        seen.add(found.field)
        yield found


def _options(model: type[Any]) -> Iterator[OptionField]:
    hints = get_type_hints(model, include_extras=True)
    for field in fields(model):
        hint = hints[field.name]
        if is_dataclass(hint):
            yield from _options(hint)  # type: ignore[arg-type]
            continue
        own, *notes = get_args(hint) or (hint,)
        default = None if field.default is MISSING else field.default
        yield from (OptionField(field.name, own, default, note) for note in notes if isinstance(note, Option))


def option_of(model: type[Any], field: str) -> Option:
    """The option of one field."""
    return next(found.option for found in options_of(model) if found.field == field)


def made(model: type[Any], values: dict[str, Any]) -> Any:  # noqa: ANN401 (an instance of the model)
    """The model with these values of its options; its other fields keep their defaults."""
    hints = get_type_hints(model)
    names = [field.name for field in fields(model)]
    given = {name: values[name] for name in names if name in values}
    return model(**given, **{name: made(hints[name], values) for name in names if is_dataclass(hints[name])})


def parse(model: type[Any], given: Sequence[str]) -> Any:  # noqa: ANN401 (an instance of the model)
    """Return what a command line of these words asks for, the reverse of `words`; `ValueError` for an unknown word."""
    known = {
        name: (found, on)
        for found in options_of(model)
        for name, on in zip(found.option.name.split("/"), (True, False), strict=False)
    }
    values: dict[str, Any] = {}
    left = iter(given)
    for word in left:
        if word not in known:
            raise ValueError(f"{word} is not an option; known: {', '.join(known)}")
        found, on = known[word]
        if bool in (found.type, *get_args(found.type)):
            values[found.field] = on
        elif found.is_list:
            values[found.field] = (*values.get(found.field, ()), *found.values([next(left, "")]))
        else:
            values[found.field] = TypeAdapter(found.type).validate_python(next(left, ""))
    return made(model, values)


def words(asked: object) -> list[str]:
    """The command line that asks for this: each option that is not at its default."""
    said: list[str] = []
    given = _values(asked)
    for found in options_of(type(asked)):
        if given[found.field] != found.default:
            said += _words(found.option, given[found.field])
    return said


def _values(asked: Any) -> dict[str, Any]:  # noqa: ANN401 (any dataclass)
    """By field, those of models within it included."""
    found = {field.name: getattr(asked, field.name) for field in fields(asked)}
    for value in list(found.values()):
        if is_dataclass(value):
            found |= _values(value)
    return found


def _words(option: Option, value: object) -> list[str]:
    yes, _, no = option.name.partition("/")
    if isinstance(value, bool):
        return [yes if value else no]
    if isinstance(value, str) or not isinstance(value, Sequence):
        return [yes, str(value)]
    each = [str(one) for one in value]
    if option.empty is not None:
        return [yes, ",".join(each)] if each else []
    return [word for one in each for word in (yes, one)]
