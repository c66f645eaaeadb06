"""Toxiproxy in front of a database: each byte is late by half of the latency on its way there, and on its way back."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from zoo.host import run_lock
from zoo.host.network import any_free_port
from zoo.model.errors import RuntimeFailure
from zoo.runtime.databases import DATABASES, Serving, running

PROGRAM = "toxiproxy-server"
PROXY = "zoo-database"
MISSING = (
    "latency on the wire needs Toxiproxy: make toxiproxy (needs Go), TOXIPROXY=/path/to/toxiproxy-server, or "
    "TOXIPROXY_URL=http://… of one that runs"
)


def find_toxiproxy(tools: Path, environ: Mapping[str, str]) -> str | None:
    """Return its program: the one that TOXIPROXY names, else that in .tools, else that on the PATH."""
    path = os.pathsep.join([str(tools), environ.get("PATH", "")])
    return environ.get("TOXIPROXY") or shutil.which(PROGRAM, path=path)


@contextmanager
def slow_wire(serving: Serving, ms: int, tools: Path, environ: Mapping[str, str]) -> Iterator[Serving]:
    """The same database, also by a URL with this latency: of the Toxiproxy that TOXIPROXY_URL names, else of one of
    our own. `RuntimeFailure` without it."""
    named = environ.get("TOXIPROXY_URL")
    if named is not None:
        if not re.fullmatch(r"http://[^/ ]+/?", named):
            raise RuntimeFailure("wire", f'TOXIPROXY_URL must be like http://127.0.0.1:8474, got "{named}"')
        # a proxy on another host has to listen for us from outside
        with _proxy(serving, ms, named, "0.0.0.0") as slowed:
            yield slowed
        return
    program = find_toxiproxy(tools, environ)
    if program is None:
        raise RuntimeFailure("wire", MISSING)
    port = any_free_port()
    command = [program, "-host", "127.0.0.1", "-port", str(port)]
    with run_lock.scratch_folder("wire") as folder:
        log = Path(folder) / "wire.log"
        with running(PROGRAM, command, log, signal.SIGTERM) as service:
            service.await_ready(lambda: _answers(port), within_s=10.0)
            with _proxy(serving, ms, f"http://127.0.0.1:{port}", "127.0.0.1") as slowed:
                yield Serving(slowed.env, lambda: serving.died() or service.died())


@contextmanager
def _proxy(serving: Serving, ms: int, control: str, listen: str) -> Iterator[Serving]:
    """A proxy on a Toxiproxy, removed with its context."""
    url = serving.env["JDBC_URL"]
    database = urlsplit(url.removeprefix("jdbc:"))
    if not database.hostname or "," in database.netloc:
        raise RuntimeFailure("wire", f"latency on the wire needs a URL with one host, not {url}")
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
        yield Serving({**serving.env, "JDBC_WIRE_URL": slow, "JDBC_WIRE_MS": str(ms)}, serving.died)
    finally:
        _remove(control)


def _call(control: str, path: str, body: object) -> dict[str, object]:
    request = urllib.request.Request(control.rstrip("/") + path, json.dumps(body).encode())
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return dict(json.load(answer))
    except urllib.error.HTTPError as error:
        raise RuntimeFailure("wire", f"{PROGRAM} refused {path}: {error.read().decode(errors='replace')}") from error
    except (OSError, ValueError) as error:
        raise RuntimeFailure("wire", f"{PROGRAM} does not answer at {control}: {error}") from error


def _remove(control: str) -> None:
    """Remove the proxy; one that is left on somebody else's Toxiproxy makes the next cell fail with its name."""
    request = urllib.request.Request(f"{control.rstrip('/')}/proxies/{PROXY}", method="DELETE")
    try:
        urllib.request.urlopen(request, timeout=10).close()
    except OSError:
        return


def _answers(port: int) -> bool:
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/version", timeout=1).close()
    except OSError:
        return False
    return True
