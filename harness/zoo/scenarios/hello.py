"""hello: how many small answers a second, and at what CPU cost."""

from zoo.scenarios.base import Scenario

HELLO = Scenario(name="hello", title="13-byte answer, no wait", delay_s=0.0, settle=True)
