"""Tests of java-vertx alone."""

import subprocess
from pathlib import Path

import pytest
from kit.paths import CONTRACT
from kit.ports import free_port
from kit.rules import expect_status, info
from kit.server import Runtime
from kit.targets import Target, java_home
from kit.wire import fetch


def test_info_names_the_transport_in_use(folder_target: Target, runtime: Runtime) -> None:
    """Check that `/info` shows NIO if the native library cannot be loaded; Vert.x falls back to NIO silently."""
    with runtime.serving(folder_target, {"JDK_JAVA_OPTIONS": "-Dio.netty.transport.noNative=true"}) as server:
        assert info(server.port)["transport"] == "nio"
    with runtime.serving(folder_target) as server:
        assert info(server.port)["transport"] == "epoll"


@pytest.mark.process_only
def test_a_failure_without_a_message_is_answered_and_no_longer_in_flight(folder_target: Target, tmp_path: Path) -> None:
    """Run a test program in the server's package, with an executor that fails without a message."""
    jars = f"{folder_target.folder}/target/java-vertx.jar"  # its manifest lists the libraries
    java, source = java_home() / "bin", CONTRACT / "kit" / "FailingExecutor.java"
    subprocess.run([java / "javac", "-proc:none", "-cp", jars, "-d", tmp_path, source], check=True)
    with free_port() as port:
        command = [str(java / "java"), "-cp", f"{tmp_path}:{jars}", "zoo.FailingExecutor", str(port)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout
            try:
                assert server.stdout.readline() == "ready\n"
                for path in ("/", "/sleep?ms=0", "/info"):
                    expect_status(fetch(port, path), 500)
                told, _ = server.communicate("\n")
            finally:
                server.kill()
    assert told == "in flight: 0\n"
