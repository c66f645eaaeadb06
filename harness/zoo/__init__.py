"""The harness of the server zoo: which thread model is worth what, on this machine."""

from pathlib import Path

__version__ = "0.1.0"
ROOT = Path(__file__).resolve().parents[2]
"""The checkout that this harness is of."""
