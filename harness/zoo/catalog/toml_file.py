"""Reads a TOML file into a model; an error names file, key and what was expected."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

T = TypeVar("T", bound=BaseModel)


def read(path: Path, model: type[T], error: type[Exception]) -> T:
    """The file's contents; raises `error` with a line for each fault."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as fault:
        raise error(f"{path}: {fault}") from fault
    except RecursionError:
        raise error(f"{path}: nested too deeply") from None
    try:
        return model.model_validate(data)
    except ValidationError as fault:
        lines = [f"{path}: {_key(e['loc'])}: {_expected(e)}" for e in fault.errors()]
        raise error("\n".join(lines)) from None


def _key(location: tuple[str | int, ...]) -> str:
    return ".".join(str(part) for part in location) or "(top level)"


def _expected(error: object) -> str:
    assert isinstance(error, dict)
    got = error.get("input")
    shown = "" if error["type"] == "missing" or isinstance(got, dict | list) else f", got {got!r}"
    return f"{error['msg']}{shown}"
