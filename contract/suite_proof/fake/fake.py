"""A server that obeys the contract, and breaks one rule of it when BREAK names that rule.

It exists to prove that the suite can fail. `fault("x")` marks each place where a rule can be broken; the names are
listed with the tests that must catch them in `test_suite_can_fail.py`.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import re
import resource
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote_to_bytes

BROKEN = os.environ.get("BREAK", "")
MODELS = {"eventloop": "event-loop", "platform": "platform-thread", "virtual": "virtual-thread"}
TEXT = "text/plain;charset=utf-8"
PARAMETERS: dict[str, tuple[str, int] | tuple[str, int, int]] = {
    "/sleep": ("ms", 60_000, 10_000),
    "/bytes": ("n", 16_777_216),
    "/cpu": ("rounds", 10_000_000),
}
PATHS = ("/", *PARAMETERS, "/info")
MAX_HEAD = 8192
T = TypeVar("T")


def fault(name: str) -> bool:
    return name == BROKEN


class BadStart(Exception):
    """A value in the environment that cannot be used."""


class BadRequest(Exception):
    """A parameter that cannot be used."""


class Garbage(Exception):
    """Bytes that are no request."""


@cache
def first_answer() -> float:
    """When the first answer was made."""
    return time.time()


@dataclass
class Settings:
    host: str
    port: int
    variant: str
    max_threads: int
    backlog: int


@dataclass
class Request:
    method: str
    target: str
    version: str
    headers: dict[str, str]

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def keeps(self) -> bool:
        return self.version == "HTTP/1.1" and self.headers.get("connection", "").lower() != "close"


@dataclass
class Answer:
    status: int
    content_type: str
    body: bytes
    headers: list[str] = field(default_factory=list)


def integer(name: str, default: int, maximum: int) -> int:
    text = os.environ.get(name, str(default))
    if not re.fullmatch("[0-9]{1,9}", text) or not 1 <= int(text) <= maximum:
        raise BadStart(f'{name} must be an integer from 1 to {maximum}, got "{text}"')
    return int(text)


def settings() -> Settings:
    host = os.environ.get("HOST", "127.0.0.1")
    try:
        socket.getaddrinfo(host or "no host", None)
    except OSError:
        raise BadStart(f'HOST cannot be resolved: "{host}"') from None
    variant = os.environ.get("VARIANT", "eventloop")
    if variant not in MODELS:
        raise BadStart(f'VARIANT must be one of {", ".join(MODELS)}, got "{variant}"')
    threads = 200 if fault("max-threads-not-validated") else integer("MAX_THREADS", 200, 100_000)
    return Settings(host, integer("PORT", 8199, 65535), variant, threads, integer("BACKLOG", 65535, 65535))


def parameter(query: str, name: str, maximum: int, default: int | None = None) -> int:
    """By the contract's rule."""
    values = []
    for pair in query.split("&"):
        key, equals, value = pair.partition("=")
        if unquote_to_bytes(key.replace("+", " ")) == name.encode():
            values.append(value.replace("+", " ") if equals else "")
    if not values and default is not None:
        return 1000 if fault("short-default") and default else default
    if fault("repeated-parameter"):
        values = values[:1]
    if len(values) == 1:
        raw = values[0].encode() if fault("not-decoded") else unquote_to_bytes(values[0])
        digits = rb"-?[0-9]{1,19}" if fault("negative-accepted") else rb"[0-9]{1,19}"
        if fault("unicode-digits") and raw.decode(errors="replace").isdecimal():
            return int(raw.decode())
        if re.fullmatch(digits, raw):
            number = int(raw) % 2**32 if fault("overflow") else int(raw)
            if number <= maximum + fault("range-off-by-one"):
                return max(number, 0)
    wrong = "bad request" if fault("wrong-400-body") else f"{name} must be an integer from 0 to {maximum}"
    raise BadRequest(wrong)


def digest(rounds: int) -> str:
    value = bytes(32)
    for _ in range(rounds + fault("wrong-digest")):
        value = hashlib.sha256(value).digest()
    return value.hex()


def pattern(size: int) -> bytes:
    alphabet = b"abcdefghijklmnopqrstuvwxyz" * 2520
    if fault("pattern-restarts"):
        return (alphabet[:65_519] * (size // 65_519 + 1))[:size]
    return (alphabet * (size // len(alphabet) + 1))[:size]


class Fake:
    """The server: asyncio takes connections, `self.run` does a request's work in the variant's way."""

    def __init__(self, config: Settings) -> None:
        self.config = config
        self.requests = 0
        self.busy: set[asyncio.Task[None]] = set()
        self.working = 0
        self.stopping = asyncio.Event()
        unbounded = fault("pool-unbounded")
        self.pool = ThreadPoolExecutor(1000 if unbounded else config.max_threads, thread_name_prefix="worker")
        self.many = ThreadPoolExecutor(1000)
        self.bound = asyncio.Semaphore(4)

    async def run(self, work: Callable[[], T], nap: float = 0) -> T:
        """Sleep and work: on a thread of the pool where the variant has one, else in the loop."""
        if self.config.variant == "platform" and not fault("platform-without-threads"):

            def job() -> T:
                time.sleep(nap)
                return work()

            return await asyncio.get_running_loop().run_in_executor(self.pool, job)
        if fault("blocks-the-loop"):
            time.sleep(nap)
        elif fault("hidden-pool"):
            async with self.bound:
                await asyncio.sleep(nap)
        elif fault("thread-each"):
            await asyncio.get_running_loop().run_in_executor(self.many, time.sleep, nap)
        else:
            until = time.monotonic() + nap
            while (left := until - time.monotonic()) > 0:
                await asyncio.sleep(left)
        return work()

    async def answer(self, request: Request) -> Answer:
        self.requests += 1
        path, _, query = request.target.partition("?")
        if fault("sloppy-paths"):
            path = path.rstrip("/").lower() or "/"
        if path not in PATHS:
            return Answer(404, TEXT, b"<h1>Not Found</h1>" if fault("wrong-404-body") else b"not found")
        if request.method not in ("GET", "HEAD") and not (fault("unknown-method") and request.method == "BREW"):
            allow = [] if fault("no-allow") else ["Allow: GET, HEAD"]
            return Answer(405, TEXT, b"method not allowed", allow)
        try:
            number = parameter(query, *PARAMETERS[path]) if path in PARAMETERS else 0
            wait = parameter(query, "ms", 60_000, 0) if path == "/cpu" else 0
        except BadRequest as error:
            return Answer(400, TEXT, str(error).encode())
        return await self.serve_path(request, path, number, 0 if fault("cpu-at-once") else wait / 1000)

    async def serve_path(self, request: Request, path: str, number: int, wait: float) -> Answer:
        match path:
            case "/sleep":
                early = 0.004 if fault("early-sleep") else 0.3 if fault("early-when-busy") and self.working > 10 else 0
                head = fault("head-does-not-work") and request.method == "HEAD"
                await self.run(lambda: None, 0 if head else max(number / 1000 - early, 0))
                return Answer(200, TEXT, b"Hello, World!")
            case "/bytes":
                return Answer(200, "application/octet-stream", await self.run(lambda: pattern(number)))
            case "/cpu":
                hexed = await self.run(lambda: digest(number), wait)
                return Answer(200, TEXT, hexed.upper().encode() if fault("upper-case-digest") else hexed.encode())
            case "/info":
                told = await self.run(self.info)
                return Answer(200, "application/json", json.dumps(told).encode())
        hello = b"Hello, World!\n" if fault("wrong-body") else b"Hello, World!"
        return Answer(200, "text/plain; charset=UTF-8" if fault("wrong-content-type") else TEXT, hello)

    def info(self) -> dict[str, Any]:
        variant = self.config.variant
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        threads = re.search(r"^Threads:\s+(\d+)", status, re.MULTILINE)
        told = {
            "server": "fake",
            "variant": "eventloop" if fault("wrong-variant") else variant,
            "model": MODELS[variant],
            "framework": "asyncio",
            "framework_version": ".".join(map(str, sys.version_info[:3])),
            "runtime": "CPython",
            "runtime_version": ".".join(map(str, sys.version_info[:3])),
            "pid": os.getpid(),
            "processors": os.cpu_count(),
            "thread": threading.current_thread().name,
            "virtual": (variant == "virtual") is not fault("virtual-lies"),
            "os_threads": int(threads[1]) if threads else 0,
            "heap_used": 0 if fault("heap-without-jvm") else None,
            "heap_committed": None,
            "heap_max": None,
            "gc": [],
            "gc_count": 0,
            "gc_time_ms": 0,
            "requests": 1 if fault("requests-frozen") else self.requests,
            "limits": {
                "max_threads": self.config.max_threads if variant == "platform" else None,
                "max_connections": None,
                "backlog": self.config.backlog,
                "nofile": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
            },
        }
        if fault("extra-key"):
            told["uptime"] = 1
        if fault("missing-key"):
            del told["gc"]
        return told

    def encode(self, request: Request, answer: Answer, keep: bool) -> bytes:
        head = request.method == "HEAD" and not fault("head-with-body")
        date = formatdate(first_answer() if fault("frozen-date") else time.time(), usegmt=True)
        if fault("local-date"):
            date = date.replace("GMT", "+0000")
        length = 0 if fault("head-length-zero") and request.method == "HEAD" else len(answer.body)
        if fault("length-short") and length:
            length -= 1
        lines = [f"HTTP/1.1 {answer.status} Answer", *answer.headers]
        if answer.content_type:
            lines.append(f"Content-Type: {answer.content_type}")
        if fault("chunked"):
            lines.append("Transfer-Encoding: chunked")
        elif not fault("no-content-length"):
            lines.append(f"Content-Length: {length}")
        if not fault("no-date") and not (fault("no-date-on-errors") and answer.status >= 400):
            lines.append(f"Date: {date}")
        if not keep:
            lines.append("Connection: close")
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(answer.body), answer.body) if fault("chunked") else answer.body
        return "\r\n".join([*lines, "", ""]).encode() + (b"" if head else body)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection until it ends."""
        served = 0
        held: list[bytes] = []
        try:
            while not self.stopping.is_set():
                request = await read_request(reader)
                if request is None:
                    break
                self.working += 1
                try:
                    answer = await self.answer(request)
                    served += 1
                    keep = request.keeps and not self.stopping.is_set()
                    if fault("keep-alive-100") and served >= 100:
                        keep = False
                    data = self.encode(request, answer, keep)
                    if fault("pipeline-out-of-order") and request.path == "/sleep":
                        held.append(data)
                        continue
                    await send(writer, data + b"".join(held))
                    held.clear()
                finally:
                    self.working -= 1
                if fault("silent-close-on-404") and answer.status == 404:
                    break
                if not keep and not fault("http-1.0-stays-open"):
                    break
            if held:
                await send(writer, b"".join(held))
        except Garbage as garbage:
            await self.refuse(writer, str(garbage))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def refuse(self, writer: asyncio.StreamWriter, why: str) -> None:
        if fault("hangs-on-garbage"):
            await asyncio.sleep(3600)
        if fault("dies-of-garbage"):
            os._exit(3)
        if fault("garbage-on-stderr"):
            print(f"warning: {why}", file=sys.stderr, flush=True)
        status = 200 if fault("garbage-accepted") else 400
        with contextlib.suppress(ConnectionError):
            await send(writer, self.encode(Request("GET", "/", "HTTP/1.1", {}), Answer(status, TEXT, b"bad"), False))

    async def main(self) -> int:
        raise_limit()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stopping.set)
        tasks: set[asyncio.Task[None]] = set()

        async def track(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            tasks.add(task)
            await self.serve(reader, writer)
            tasks.discard(task)

        host, port = self.config.host, self.config.port
        try:
            server = await asyncio.start_server(
                track, "127.0.0.1" if fault("host-ignored") else host, port, backlog=self.config.backlog, limit=MAX_HEAD
            )
        except OSError as error:
            where = "" if fault("unlisted-port-message") else f" on {host}:{port}"
            print(f"cannot listen{where}: {os.strerror(error.errno or 0).lower()}", file=sys.stderr)
            return 0 if fault("taken-port-exits-0") else 1
        if fault("leaves-a-folder"):
            tempfile.mkdtemp()
        if fault("banner"):
            print("=== fake server ===", flush=True)
        end = "" if fault("ready-line-without-entry") else f" (fake:{self.config.variant})"
        print(f"listening on http://{host}:{port}{end}", flush=True)
        await self.stopping.wait()
        return await self.stop(server, tasks)

    async def stop(self, server: asyncio.Server, tasks: set[asyncio.Task[None]]) -> int:
        if fault("exits-143"):
            os._exit(143)
        if fault("drops-in-flight"):
            os._exit(0)
        if not fault("accepts-while-draining"):
            server.close()
        if fault("idle-delays-the-end"):
            await asyncio.wait(tasks, timeout=5)
        until = time.monotonic() + 10
        while self.working and time.monotonic() < until:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        if fault("says-goodbye"):
            print("bye", flush=True)
        return 143 if fault("exits-143-at-last") else 0


def raise_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard and not fault("limit-not-raised"):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def send(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(data)
    await writer.drain()


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """The next request, its body thrown away; None at the end of the connection."""
    if fault("half-sent-blocks"):
        return await read_request_impatiently(reader)
    try:
        if fault("needs-whole-head"):
            return parse(await reader.read(MAX_HEAD))
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as end:
        if end.partial:
            raise Garbage("half a request") from None
        return None
    except asyncio.LimitOverrunError:
        if fault("huge-header-accepted"):
            await drain_head(reader)
            return Request("GET", "/", "HTTP/1.1", {})
        raise Garbage("head too large") from None
    if fault("pipeline-dropped"):
        reader._buffer.clear()  # type: ignore[attr-defined]
    request = parse(head)
    await skip_body(reader, request)
    return request


async def read_request_impatiently(reader: asyncio.StreamReader) -> Request | None:
    """Holds up everybody until the whole head is there."""
    start = await reader.read(1)
    if start and b"\r\n\r\n" not in reader._buffer:  # type: ignore[attr-defined]
        time.sleep(5)
    return parse(start + await reader.readuntil(b"\r\n\r\n")) if start else None


async def drain_head(reader: asyncio.StreamReader) -> None:
    while not (await reader.read(65536)).endswith(b"\r\n\r\n"):
        pass


def parse(head: bytes) -> Request:
    try:
        first, *lines = head[:-4].decode("ascii").split("\r\n")
    except UnicodeDecodeError:
        raise Garbage("not ASCII") from None
    start = re.fullmatch(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+) (/[!-~]*) (HTTP/1\.[01])", first)
    if not start:
        raise Garbage("no request line")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
            raise Garbage("no header line")
        if name.lower() == "content-length" and name.lower() in headers:
            raise Garbage("two lengths")
        headers[name.lower()] = value.strip()
    return Request(start[1], start[2], start[3], headers)


async def skip_body(reader: asyncio.StreamReader, request: Request) -> None:
    if fault("body-read-as-request"):
        return
    if request.headers.get("transfer-encoding"):
        while True:
            line = (await reader.readline()).strip()
            if not re.fullmatch(rb"[0-9a-fA-F]{1,8}", line):
                raise Garbage("no chunk")
            await reader.readexactly(int(line, 16) + 2)
            if int(line, 16) == 0:
                return
    length = request.headers.get("content-length", "0")
    if not re.fullmatch("[0-9]{1,12}", length):
        raise Garbage("no length")
    left = int(length)
    while left:
        data = await reader.read(min(left, 65536))
        if not data:
            raise Garbage("half a body")
        left -= len(data)


async def start(config: Settings) -> None:
    """Ends the process by itself: asyncio would first cancel, noisily, what idle connections wait for."""
    code = await Fake(config).main()
    sys.stdout.flush()
    os._exit(code)


def main() -> int:
    try:
        config = settings()
    except BadStart as error:
        if fault("stack-trace"):
            raise
        print(error, file=sys.stderr)
        if fault("two-line-error"):
            print("usage: PORT=... fake.py", file=sys.stderr)
        return 1 if fault("bad-env-exits-1") else 2
    asyncio.run(start(config))
    return 0


if __name__ == "__main__":
    sys.exit(main())
