"""hello: how many small responses per second, and at what CPU cost."""

from zoo.plan.scenario import Scenario

HELLO = Scenario(name="hello", title="13-byte answer, no wait", settle=True)
