"""What a test needs that a machine may lack, and that make installs only as root; CI must have it."""

from __future__ import annotations

import os
import shutil

import pytest

AB = pytest.mark.skipif(
    shutil.which("ab") is None and not os.environ.get("CI"),
    reason="no ab (`make tools` installs it as root)",
)
CARGO = pytest.mark.skipif(
    shutil.which("cargo") is None and not os.environ.get("CI"),
    reason="no cargo (the README's list of needs)",
)
