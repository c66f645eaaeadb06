"""hello: small responses per second, and the CPU time they cost."""

from zoo.core.scenario import Scenario

HELLO = Scenario(name="hello", title="13-byte answer, no wait", measures_throughput=True)
