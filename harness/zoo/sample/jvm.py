"""What a server says of itself: `GET /info`."""

import http.client
import urllib.error
import urllib.request
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

ModelName = Literal["platform-thread", "virtual-thread", "event-loop", "async-task", "async-servlet"]

# A proxy of the environment must not come between us and the server.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
MOST_BYTES = 1 << 20


class InfoError(Exception):
    """No answer, or not the one the contract promises."""


class ServerLimits(BaseModel):
    """None: unbounded, or (nofile) unknown."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    max_threads: int | None
    max_connections: int | None
    backlog: int
    nofile: int | None


class Info(BaseModel):
    """The contract's keys, no more and no less; None where there is no JVM, and for direct buffers where none tells."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    server: str
    variant: str
    model: ModelName
    framework: str
    framework_version: str
    runtime: str
    runtime_version: str
    transport: str | None = None
    """How the server waits for its sockets, as in `epoll` or `nio`; None for a server that does not say."""

    pid: int = Field(gt=0)
    processors: int = Field(gt=0)
    thread: str
    virtual: bool
    os_threads: int = Field(gt=0)
    heap_used: int | None
    heap_committed: int | None
    heap_max: int | None
    direct_used: int | None = None
    gc: list[str]
    gc_count: int = Field(ge=0)
    gc_time_ms: int = Field(ge=0)
    requests: int = Field(ge=0)
    limits: ServerLimits


def parse_info(text: str | bytes) -> Info:
    """InfoError names each key that is missing, extra or of the wrong type."""
    try:
        return Info.model_validate_json(text)
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, fault['loc'])) or 'body'}: {fault['msg']}" for fault in error.errors())
        raise InfoError("/info is not as promised: " + "; ".join(faults)) from error


def fetch_info(url: str, timeout: float = 5.0) -> Info:
    """`url` is the server's, without a path; any failure is an InfoError."""
    address = url.rstrip("/") + "/info"
    try:
        with OPENER.open(address, timeout=timeout) as answer:
            body: bytes = answer.read(MOST_BYTES)
    except urllib.error.HTTPError as error:
        raise InfoError(f"{address} answered {error.code}") from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise InfoError(f"{address}: {error}") from error
    return parse_info(body)
