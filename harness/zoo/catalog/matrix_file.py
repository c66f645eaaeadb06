"""Reads the `matrix.toml` of a server."""

from __future__ import annotations

from pathlib import Path

from zoo.catalog import toml_file
from zoo.model.matrix import Matrix, MatrixError

NAME = "matrix.toml"


def load(folder: Path) -> Matrix:
    """The matrix of the server in this folder; `MatrixError` names file and key of what is missing or wrong."""
    return toml_file.read(folder / NAME, Matrix, MatrixError)
