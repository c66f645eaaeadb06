"""Tests of the ticks of logarithmic axes: as many as fit, but never so close that their labels touch."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from zoo.report.charts.figure import MAX_TICKS, TICK_GAP, log_axis_settings
from zoo.report.charts.forest import NEAR_ONE


def test_a_narrow_axis_has_all_fine_ticks() -> None:
    assert log_axis_settings(0.75, 1.3, NEAR_ONE)["ticks"] == list(NEAR_ONE)


def test_a_wider_axis_has_every_second_of_them() -> None:
    assert log_axis_settings(0.4263, 4.638, NEAR_ONE)["ticks"] == [0.5, 0.8, 1, 1.25, 2]


def test_a_wide_axis_has_none() -> None:
    assert log_axis_settings(0.05, 1.3, NEAR_ONE)["ticks"] == [0.05, 0.1, 0.2, 0.5, 1]


@pytest.mark.parametrize("most", [1.2, 2, 5, 10, 100, 1e4, 1e7])
@pytest.mark.parametrize("least", [1e-4, 0.01, 0.3, 0.9])
def test_ticks_are_apart(least: float, most: float) -> None:
    ticks = log_axis_settings(least, most, NEAR_ONE)["ticks"]
    assert 1 <= len(ticks) <= max(MAX_TICKS, math.log10(most / least) + 1)
    assert all(math.log(b / a) >= TICK_GAP * math.log(most / least) for a, b in pairwise(ticks))
