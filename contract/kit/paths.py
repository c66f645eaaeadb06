"""Paths of the repository that the suite uses."""

from pathlib import Path

CONTRACT = Path(__file__).resolve().parent.parent
OPENAPI = CONTRACT / "openapi.yaml"
ZOO = CONTRACT.parent
FAKE = CONTRACT / "suite_proof" / "fake" / "server.toml"
