"""Marks for tests that need programs which a machine may lack and make installs only as root. CI must have them."""

from __future__ import annotations

import os
import shutil

import pytest

from zoo import ROOT

VALE_PROGRAM = ROOT / ".tools/bin/vale"

AB = pytest.mark.skipif(
    shutil.which("ab") is None and not os.environ.get("CI"),
    reason="no ab (`make tools` installs it as root)",
)
VALE = pytest.mark.skipif(
    not VALE_PROGRAM.exists(),
    reason="no Vale (`make lint-text` builds it)",
)
CARGO = pytest.mark.skipif(
    shutil.which("cargo") is None and not os.environ.get("CI"),
    reason="no cargo (the README's list of needs)",
)
