"""Signals that end a run: when they take effect and when they are deferred."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """End a run on SIGTERM or a closed terminal, as on Ctrl-C: with a `KeyboardInterrupt`.

    Ctrl-C works even if a shell made the process ignore it. A closed terminal does not end the run under nohup.

    Yield a function that raises `KeyboardInterrupt` again if a signal was received before. A long run calls it between
    its steps, because the first exception may be lost: pydantic reports it as a fault of the data, and Python ignores
    it in a destructor.
    """
    received: list[int] = []

    def interrupt(number: int, _: FrameType | None) -> None:
        received.append(number)
        raise KeyboardInterrupt

    def raise_if_received() -> None:
        if received:
            raise KeyboardInterrupt

    with _signal_handler(interrupt):
        yield raise_if_received


@contextmanager
def defer_signals() -> Iterator[None]:
    """Defer signals until the block has completed; a signal that ends the run takes effect after it.

    Python handles signals only in the main thread, so other threads need no deferral.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    try:
        with _signal_handler(lambda number, _: received.append(number)):
            yield
    finally:
        if received:
            signal.raise_signal(received[0])


@contextmanager
def _signal_handler(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    nohup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    ending = [signal.SIGINT, signal.SIGTERM, *([] if nohup else [signal.SIGHUP])]
    before = {number: signal.signal(number, handler) for number in ending}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
