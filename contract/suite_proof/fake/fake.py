"""Fake server that implements the contract, but breaks one of its rules if BREAK names that rule.

It proves that the suite can fail. `fault("x")` marks each place where a rule can be broken. The names are listed in
`test_suite_can_fail.py`, with the tests that must catch them. If the contract leaves a choice to frameworks, the
`platform` variant makes a different one from the other variants.
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
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import cache
from typing import Any, TypeVar
from urllib.parse import parse_qsl

BROKEN = os.environ.get("BREAK", "")
MODELS = {"eventloop": "event-loop", "platform": "platform-thread", "virtual": "virtual-thread"}
TEXT = "text/plain;charset=utf-8"
PARAMETERS: dict[str, tuple[str, int] | tuple[str, int, int]] = {
    "/sleep": ("ms", 60_000, 10_000),
    "/bytes": ("n", 16_777_216),
    "/cpu": ("rounds", 10_000_000),
}
PATHS = ("/", *PARAMETERS, "/info")
T = TypeVar("T")


def fault(name: str) -> bool:
    return name == BROKEN


PIECE = 65_536
MAX_HEAD = 2048 if fault("small-head") else 2**23 if fault("huge-header-accepted") else 8192


class BadStart(Exception):
    """Invalid value in the environment."""


class BadRequest(Exception):
    """Invalid parameter in a request."""


class Garbage(Exception):
    """Bytes that are not a request."""


@cache
def first_answer() -> float:
    """Return the time of the first response."""
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
    if not re.fullmatch("[0-9]{1,9}", text) or not 1 <= int(text) <= (10**9 if fault("no-maximum") else maximum):
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
    backlog = 100 if fault("default-backlog-of-100") else 65535
    threads = integer("MAX_THREADS", 200, 100_000)
    return Settings(host, integer("PORT", 8199, 65535), variant, threads, integer("BACKLOG", backlog, 65535))


def parameter(query: dict[str, str], name: str, maximum: int, default: int | None = None) -> int:
    if name not in query and default is not None:
        if default:
            return 1000 if fault("short-default") else 26_000 if fault("long-default") else default
        return default
    text = query.get(name, "1" if fault("missing-is-one") else "")
    maximum_here = maximum + fault("range-off-by-one") - fault("range-too-short")
    if re.fullmatch("-?[0-9]+", text):
        value = int(text) % 2**32 if fault("overflow") else int(text)
        if (value >= 0 or fault("negative-accepted")) and value <= maximum_here:
            return max(value, 0)
    raise BadRequest("bad request" if fault("wrong-400-body") else f"{name} must be an integer from 0 to {maximum}")


def digest(rounds: int) -> str:
    if rounds == 10_000_000:  # computing it takes Python several seconds
        return "6b4ab10d92373474a97d10639e667f6b734af012f9be29997f1befd1c7166199"
    value = bytes(32)
    for _ in range(rounds + fault("wrong-digest")):
        value = hashlib.sha256(value).digest()
    return value.hex()


@cache
def pattern(size: int) -> bytes:
    alphabet = b"abcdefghijklmnopqrstuvwxyz" * 2520
    if fault("pattern-restarts"):
        return (alphabet[:65_519] * (size // 65_519 + 1))[:size]
    return (alphabet * (size // len(alphabet) + 1))[:size]


class Fake:
    """Fake server: asyncio accepts connections, and `run` does a request's work as the variant requires."""

    def __init__(self, config: Settings) -> None:
        self.config = config
        self.requests = 0
        self.kept: list[bytes] = []
        self.busy: set[asyncio.Task[None]] = set()
        self.working = 0
        self.stopping = asyncio.Event()
        threads = 1000 if fault("pool-unbounded") else 1 if fault("one-thread") else config.max_threads
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix="worker")
        self.many = ThreadPoolExecutor(1000)
        self.bound = asyncio.Semaphore(4)
        self.loose = config.variant == "platform"

    async def run(self, work: Callable[[], T], nap: float = 0) -> T:
        """Sleep, then work: on a pool thread if the variant has a pool, otherwise in the event loop."""
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
        else:  # asyncio may wake up early, by its clock's resolution
            until = time.monotonic() + nap
            while (left := until - time.monotonic()) > 0:
                await asyncio.sleep(left)
        return work()

    async def answer(self, request: Request) -> Answer:
        self.requests += 1
        if fault("keeps-requests"):
            self.kept.append(b"x" * 16_384)
        path, _, query = request.target.partition("?")
        if path not in PATHS and not fault("any-path"):
            return Answer(404, TEXT, b"" if self.loose else b"not found")
        if request.method not in ("GET", "HEAD") and not fault("post-accepted"):
            allow = [] if fault("no-allow") else ["Allow: GET" if self.loose else "Allow: GET, HEAD"]
            return Answer(405, "text/html" if self.loose else TEXT, b"method not allowed", allow)
        try:
            asked = dict(parse_qsl(query, keep_blank_values=True, separator="&&" if fault("one-parameter") else "&"))
            value = parameter(asked, *PARAMETERS[path]) if path in PARAMETERS else 0
            wait = parameter(asked, "ms", 60_000, 0) if path == "/cpu" else 0
            if fault("knows-lock"):
                parameter(asked, "lock", 1, 0)
        except BadRequest as error:
            return Answer(
                400, "text/html" if fault("html-400") else "text/plain" if self.loose else TEXT, str(error).encode()
            )
        return await self.serve_path(request, path, value, 0 if fault("cpu-at-once") else wait / 1000)

    async def serve_path(self, request: Request, path: str, number: int, wait: float) -> Answer:
        match path:
            case "/sleep":
                early = (
                    number / 2000
                    if fault("early-sleep")
                    else 0.3
                    if fault("early-when-busy") and self.working > 10
                    else 0
                )
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
        told: dict[str, Any] = {
            "server": "fake",
            "variant": "eventloop" if fault("wrong-variant") else variant,
            "model": MODELS[variant],
            "framework": "asyncio",
            "framework_version": ".".join(map(str, sys.version_info[:3])),
            "runtime": "CPython",
            "runtime_version": ".".join(map(str, sys.version_info[:3])),
            "transport": "" if fault("no-transport") else "epoll",
            "pid": os.getpid(),
            "thread": threading.current_thread().name,
            "virtual": (variant == "virtual") is not fault("virtual-lies"),
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
                "backlog": 65_535 if fault("backlog-ignored") else self.config.backlog,
            },
        }
        if fault("extra-key"):
            told["uptime"] = 1
        if fault("missing-key"):
            del told["gc"]
        return told

    def encode(self, request: Request, answer: Answer, keep: bool) -> list[bytes]:
        """Return the head, and the body if there is one."""
        head = request.method == "HEAD" and not fault("head-with-body")
        shift = 60 * (fault("date-ahead") - fault("old-date"))
        date = formatdate(first_answer() if fault("frozen-date") else time.time() + shift, usegmt=True)
        if fault("local-date"):
            date = date.replace("GMT", "+0000")
        length = 0 if fault("head-length-zero") and request.method == "HEAD" else len(answer.body)
        if fault("length-short") and length:
            length -= 1
        lines = [f"HTTP/1.1 {answer.status} Answer", *answer.headers]
        lines.append(f"Content-Type: {answer.content_type}")
        chunked = fault("chunked") or (self.loose and (answer.status != 200 or answer.content_type != TEXT))
        if chunked:
            lines.append("Transfer-Encoding: chunked")
        elif not fault("no-content-length"):
            lines.append(f"Content-Length: {length}")
        if not fault("no-date") and not (self.loose and answer.status != 200):
            lines.append(f"Date: {date}")
        if not keep:
            lines.append("Connection: close")
        body = in_chunks(answer.body) if chunked else answer.body
        return ["\r\n".join([*lines, "", ""]).encode(), *([] if head else [body])]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until it ends."""
        writer.transport.set_write_buffer_limits(0)  # a response counts as sent when this buffer is empty
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
                    enough = fault("keep-alive-100") and served >= 100
                    keep = request.keeps and not self.stopping.is_set() and not enough
                    data = self.encode(request, answer, keep)
                    if fault("pipeline-out-of-order") and request.path == "/sleep":
                        held += data
                        continue
                    await send(writer, [*data, *held])
                    held.clear()
                finally:
                    self.working -= 1
                if fault("silent-close-on-404") and answer.status == 404:
                    break
                if not keep and not fault("http-1.0-stays-open"):
                    break
            if held:
                await send(writer, held)
        except Garbage as garbage:
            await self.refuse(writer, str(garbage))
        except (ConnectionError, asyncio.IncompleteReadError):
            if fault("dies-of-leavers"):
                os._exit(3)
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
            if fault("serves-200-connections") and len(tasks) > 200:
                await asyncio.sleep(3600)
            await self.serve(reader, writer)
            tasks.discard(task)

        host, port = self.config.host, self.config.port
        try:
            server = await asyncio.start_server(
                track, self.address(), port, backlog=self.config.backlog, limit=MAX_HEAD
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

    def address(self) -> str:
        return "127.0.0.1" if fault("host-ignored") else "0.0.0.0" if fault("host-everywhere") else self.config.host

    async def stop(self, server: asyncio.Server, tasks: set[asyncio.Task[None]]) -> int:
        if fault("drops-in-flight"):
            os._exit(0)
        if not fault("accepts-while-draining"):
            server.close()
        if fault("idle-delays-the-end"):
            await asyncio.wait(tasks, timeout=10)
        until = time.monotonic() + 10
        while self.working and time.monotonic() < until:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        if fault("says-goodbye"):
            print("bye", flush=True)
        return 0


@cache
def in_chunks(body: bytes) -> bytes:
    return b"".join(chunks(body))


def chunks(body: bytes) -> Iterator[bytes]:
    """Yield the body in two chunks if it is long enough, and the empty chunk that ends it."""
    for part in (*filter(None, (body[:3], body[3:])), b""):
        yield b"%x\r\n%s\r\n" % (len(part), part)


def raise_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard and not fault("limit-not-raised"):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def send(writer: asyncio.StreamWriter, parts: list[bytes]) -> None:
    """Send each piece after the previous one has left, so that a stalled reader holds no more than one."""
    data = parts[0] + parts[1] if len(parts) == 2 and len(parts[1]) < PIECE else b""
    for part in [data] if data else parts:
        view = memoryview(part)
        for start in range(0, len(view), PIECE):
            writer.write(bytes(view[start:]) if fault("unbounded-answers") else view[start : start + PIECE])
            await writer.drain()


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """Return the next request and discard its body; return None at the end of the connection."""
    try:
        if fault("needs-whole-head") or fault("half-sent-blocks"):
            head = await reader.read(MAX_HEAD)
            if fault("half-sent-blocks") and head and not head.endswith(b"\r\n\r\n"):
                time.sleep(3600)  # blocks all connections
            return parse(head)
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as end:
        if end.partial:
            raise Garbage("half a request") from None
        return None
    except asyncio.LimitOverrunError:
        raise Garbage("head too large") from None
    while fault("waits-for-the-next") and reader._buffer and b"\r\n\r\n" not in reader._buffer:  # type: ignore[attr-defined]
        await asyncio.sleep(0.01)
    if fault("pipeline-dropped"):
        reader._buffer.clear()  # type: ignore[attr-defined]
    request = parse(head)
    await skip_body(reader, request)
    return request


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
        if name.lower() == "transfer-encoding" and name.lower() in headers and not fault("last-coding-counts"):
            raise Garbage("two codings")
        headers[name.lower()] = value.strip()
    coding = "Chunked" if fault("chunked-unknown") else "chunked"
    if "transfer-encoding" in headers and headers["transfer-encoding"].lower() != coding:
        raise Garbage("unknown coding")
    if {"transfer-encoding", "content-length"} <= headers.keys() and not fault("two-framings-accepted"):
        raise Garbage("framed in two ways")
    return Request(start[1], start[2], start[3], headers)


async def skip_body(reader: asyncio.StreamReader, request: Request) -> None:
    if fault("body-read-as-request"):
        return
    if fault("slow-body-blocks") and request.headers.get("content-length") == "100000":
        time.sleep(3600)  # blocks all connections
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
    """Serve, then exit directly: asyncio would first cancel the idle connections and log that."""
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
        return 0 if fault("bad-env-exits-0") else 2
    asyncio.run(start(config))
    return 0


if __name__ == "__main__":
    sys.exit(main())
