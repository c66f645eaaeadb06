"""Toxiproxy in front of a database: it delays each byte by half of the latency in each direction."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from zoo.core.errors import RuntimeFailure
from zoo.host import run_lock
from zoo.host.network import any_free_port
from zoo.runtime.databases import DATABASES, RunningDatabase, run_service

PROGRAM = "toxiproxy-server"
PROXY = "zoo-database"
MISSING = (
    "latency on the wire needs Toxiproxy: build it with make toxiproxy (needs Go), or set "
    "TOXIPROXY=/path/to/toxiproxy-server or TOXIPROXY_URL=http://… of a running one"
)


def find_toxiproxy(tools: Path, environ: Mapping[str, str]) -> str | None:
    """Return the path of Toxiproxy: TOXIPROXY if that is set, otherwise the program in .tools or on the PATH."""
    path = os.pathsep.join([str(tools), environ.get("PATH", "")])
    return environ.get("TOXIPROXY") or shutil.which(PROGRAM, path=path)


@contextmanager
def slow_wire(serving: RunningDatabase, ms: int, tools: Path, environ: Mapping[str, str]) -> Iterator[RunningDatabase]:
    """Yield the same database with an additional URL that has this latency.

    The proxy is the one that TOXIPROXY_URL names, otherwise one that we start. Raise `RuntimeFailure` without either.
    """
    control_url = environ.get("TOXIPROXY_URL")
    if control_url is not None:
        if not re.fullmatch(r"http://[^/ ]+/?", control_url):
            raise RuntimeFailure(
                "wire", f'TOXIPROXY_URL must be a URL such as http://127.0.0.1:8474, got "{control_url}"'
            )
        # a proxy on another host must accept connections from outside
        with _proxy(serving, ms, control_url, "0.0.0.0") as slow:
            yield slow
        return
    program = find_toxiproxy(tools, environ)
    if program is None:
        raise RuntimeFailure("wire", MISSING)
    port = any_free_port()
    command = [program, "-host", "127.0.0.1", "-port", str(port)]
    with run_lock.scratch_folder("wire") as folder:
        log = Path(folder) / "wire.log"
        with run_service(PROGRAM, command, log, signal.SIGTERM) as service:
            service.await_ready(lambda: _answers(port), within_s=10.0)
            with _proxy(serving, ms, f"http://127.0.0.1:{port}", "127.0.0.1") as slow:
                yield RunningDatabase(slow.env, lambda: serving.exit_reason() or service.exit_reason())


@contextmanager
def _proxy(serving: RunningDatabase, ms: int, control: str, listen: str) -> Iterator[RunningDatabase]:
    """Yield the database behind a new proxy of this Toxiproxy, and remove the proxy when the context ends."""
    url = serving.env["JDBC_URL"]
    database = urlsplit(url.removeprefix("jdbc:"))
    if not database.hostname or "," in database.netloc:
        raise RuntimeFailure("wire", f"latency on the wire needs a JDBC URL with one host, got {url}")
    upstream = f"{database.netloc.rpartition('@')[2]}"
    if database.port is None:
        upstream += f":{DATABASES[database.scheme].port}"
    made = _call(control, "/proxies", {"name": PROXY, "listen": f"{listen}:0", "upstream": upstream, "enabled": True})
    try:
        for stream, part in (("upstream", ms // 2), ("downstream", ms - ms // 2)):
            toxic = {"type": "latency", "stream": stream, "attributes": {"latency": part, "jitter": 0}}
            _call(control, f"/proxies/{PROXY}/toxics", toxic)
        port = str(made["listen"]).rpartition(":")[2]
        slow = re.sub("//[^/?]+", f"//{urlsplit(control).hostname}:{port}", url, count=1)
        yield RunningDatabase({**serving.env, "JDBC_WIRE_URL": slow, "JDBC_WIRE_MS": str(ms)}, serving.exit_reason)
    finally:
        _remove(control)


def _call(control: str, path: str, body: object) -> dict[str, object]:
    request = urllib.request.Request(control.rstrip("/") + path, json.dumps(body).encode())
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return dict(json.load(answer))
    except urllib.error.HTTPError as error:
        raise RuntimeFailure("wire", f"{PROGRAM} rejected {path}: {error.read().decode(errors='replace')}") from error
    except (OSError, ValueError) as error:
        raise RuntimeFailure("wire", f"{PROGRAM} does not answer at {control}: {error}") from error


def _remove(control: str) -> None:
    """Remove the proxy; if it stayed on somebody else's Toxiproxy, the next cell would fail because the name exists."""
    request = urllib.request.Request(f"{control.rstrip('/')}/proxies/{PROXY}", method="DELETE")
    with suppress(OSError):
        urllib.request.urlopen(request, timeout=10).close()


def _answers(port: int) -> bool:
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/version", timeout=1).close()
    except OSError:
        return False
    return True
