"""The harness of the server zoo: which thread model is worth what, on this machine."""

import sys
from pathlib import Path

__version__ = "0.1.0"
ROOT = Path(__file__).resolve().parents[2]
"""The checkout that this harness is of."""
COMMAND = (sys.executable, "-I", "-m", "zoo")
"""The harness as a command; isolated, as a user's PYTHONPATH or working folder may have a package "zoo" too."""
