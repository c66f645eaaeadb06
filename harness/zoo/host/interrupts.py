"""When Ctrl-C and SIGTERM end a run, and when they wait."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptible() -> Iterator[None]:
    """SIGTERM and a closed terminal end a run as Ctrl-C does.

    Ctrl-C does so even where a shell had it ignored; a closed terminal does not where nohup said so.
    """
    with _handled_by(signal.default_int_handler):
        yield


@contextmanager
def defer_signals() -> Iterator[None]:
    """Complete what is done here: a signal that ends the run takes effect after it.

    Python handles signals in its main thread alone, so that in others nothing needs to be held.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    try:
        with _handled_by(lambda number, _: came.append(number)):
            yield
    finally:
        if came:
            signal.raise_signal(came[0])


@contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    nohup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    ending = [signal.SIGINT, signal.SIGTERM, *([] if nohup else [signal.SIGHUP])]
    before = {number: signal.signal(number, handler) for number in ending}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
