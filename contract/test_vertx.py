"""Tests of java-vertx alone."""

from kit.rules import info
from kit.server import Runtime
from kit.targets import Target


def test_info_names_the_transport_in_use(folder_target: Target, runtime: Runtime) -> None:
    """Vert.x falls back to NIO without a word where the native library cannot be loaded."""
    with runtime.serving(folder_target, {"JDK_JAVA_OPTIONS": "-Dio.netty.transport.noNative=true"}) as server:
        assert info(server.port)["transport"] == "nio"
    with runtime.serving(folder_target) as server:
        assert info(server.port)["transport"] == "epoll"
