"""Command-line options as data: a model's field, with its name, help and bounds next to it. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError


@dataclass(frozen=True)
class Option:
    """The option that sets a field: `--name`, or `--name/--no-name` for a field that is on or off.

    `help` may be a function if the text lists what is registered later. `minimum` and `maximum` bound a number. Every
    option can be set in the environment, `--name` as ZOO_NAME; `variable` is another name for it. The values of a list
    are separated by commas, given by repeating the option, or both; `separator` is a regular expression for the commas
    between values that contain commas themselves. `empty` is the error message for such a list without values.
    """

    name: str
    help: str | Callable[[], str]
    minimum: int | None = None
    maximum: int | None = None
    variable: str | None = None
    separator: str = ","
    empty: str | None = None


@dataclass(frozen=True)
class OptionField:
    """A field that an option sets; `type` is the field's own."""

    field: str
    type: Any
    default: Any
    option: Option

    @property
    def is_list(self) -> bool:
        return get_origin(self.type) is Sequence

    def values(self, given: Iterable[str]) -> tuple[Any, ...]:
        """Return the values of a list; `ValueError` if the list is empty or a value has the wrong type."""
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
    """Return the values of a list given as several words, as one word with separators, or as both."""
    return [value for text in given for value in re.split(separator, text) if value.strip()]


def options_of(model: type[Any]) -> Iterator[OptionField]:
    """Yield the options of a model in their order, including those of nested models; `TypeError` for a duplicate name.

    A field that is neither an option nor a model yields nothing: other code sets it.
    """
    seen: set[str] = set()
    for found in _iterate_options(model):
        if found.field in seen:
            raise TypeError(f"{model.__name__}: two options are called {found.field}")
        seen.add(found.field)
        yield found


def _iterate_options(model: type[Any]) -> Iterator[OptionField]:
    hints = get_type_hints(model, include_extras=True)
    for field in fields(model):
        hint = hints[field.name]
        if is_dataclass(hint):
            yield from _iterate_options(hint)  # type: ignore[arg-type]
            continue
        own, *notes = get_args(hint) or (hint,)
        default = None if field.default is MISSING else field.default
        yield from (OptionField(field.name, own, default, note) for note in notes if isinstance(note, Option))


def find_option(model: type[Any], field: str) -> OptionField:
    """Return the option of one field."""
    return next(found for found in options_of(model) if found.field == field)


def build_model(model: type[Any], values: dict[str, Any]) -> Any:  # noqa: ANN401 (an instance of the model)
    """Return the model with these option values; its other fields keep their defaults."""
    hints = get_type_hints(model)
    names = [field.name for field in fields(model)]
    own_values = {name: values[name] for name in names if name in values}
    return model(
        **own_values, **{name: build_model(hints[name], values) for name in names if is_dataclass(hints[name])}
    )


def parse_options(model: type[Any], given: Sequence[str]) -> Any:  # noqa: ANN401 (an instance of the model)
    """Parse a command line, the reverse of `format_options`; `ValueError` for an unknown word."""
    known = {
        name: (found, on)
        for found in options_of(model)
        for name, on in zip(found.option.name.split("/"), (True, False), strict=False)
    }
    values: dict[str, Any] = {}
    left = iter(given)
    for word in left:
        if word not in known:
            raise ValueError(f"unknown option {word}; known: {', '.join(known)}")
        found, on = known[word]
        if bool in (found.type, *get_args(found.type)):
            values[found.field] = on
        elif found.is_list:
            values[found.field] = (*values.get(found.field, ()), *found.values([next(left, "")]))
        else:
            values[found.field] = TypeAdapter(found.type).validate_python(next(left, ""))
    return build_model(model, values)


def format_options(options: object) -> list[str]:
    """Return the command line for these options, with each option that is not at its default."""
    result: list[str] = []
    values = _field_values(options)
    for found in options_of(type(options)):
        if values[found.field] != found.default:
            result += _format_option(found.option, values[found.field])
    return result


def _field_values(options: Any) -> dict[str, Any]:  # noqa: ANN401 (any dataclass)
    """Return the values by field, including those of nested models."""
    found = {field.name: getattr(options, field.name) for field in fields(options)}
    for value in list(found.values()):
        if is_dataclass(value):
            found |= _field_values(value)
    return found


def _format_option(option: Option, value: object) -> list[str]:
    yes, _, no = option.name.partition("/")
    if isinstance(value, bool):
        return [yes if value else no]
    if isinstance(value, str) or not isinstance(value, Sequence):
        return [yes, str(value)]
    each = [str(one) for one in value]
    if option.empty is not None:
        return [yes, ",".join(each)] if each else []
    return [word for one in each for word in (yes, one)]
