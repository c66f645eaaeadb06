"""The measurements that are not windows of wrk: one file a trial."""

from collections.abc import Callable, Mapping

from zoo.measure.trials import ab, heap, open, ramp, rate, scale, startup
from zoo.measure.trials.base import TrialCell
from zoo.model.record import Trial

TRIALS: Mapping[str, Callable[[TrialCell], Trial]] = {
    "ab": ab.trial,
    "heap": heap.trial,
    "open": open.trial,
    "ramp": ramp.trial,
    "rate": rate.trial,
    "scale": scale.trial,
    "startup": startup.trial,
}
"""By the name that a scenario gives."""
