"""A pool that finds its own size tells no bound, and serves more sleepers than it begins with threads."""

from kit.rules import info
from kit.server import Runtime
from kit.targets import Target
from test_delays import sleep_all

SLEEPERS = 60
DELAY_MS = 200


def test_pool_without_a_bound(target: Target, runtime: Runtime) -> None:
    """How fast it grows is a matter for measurements: that depends on the processors and on what else they do."""
    with runtime.serving(target) as server:
        sleep_all(server.port, [DELAY_MS] * SLEEPERS)
        assert info(server.port)["limits"]["max_threads"] is None
