"""Tests of signals that end a run while something must be completed."""

from __future__ import annotations

import signal
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from fake_zoo import fake_zoo, measured
from pydantic import BaseModel, field_serializer
from pydantic_core import PydanticSerializationError

from zoo.bench.display import Display
from zoo.core.interrupts import defer_signals, interruptible
from zoo.core.record import Record

SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])


class Interrupted(BaseModel):
    """A model that is written just when the signal arrives."""

    number: int

    @field_serializer("number")
    def _signal(self, number: int) -> int:
        signal.raise_signal(number)
        return number


def written(done: list[str], number: int) -> None:
    with interruptible(), defer_signals():
        done.append(Interrupted(number=number).model_dump_json())


@SIGNALS
def test_what_is_held_is_completed_before_an_interrupt(number: int) -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        written(done, number)
    assert done == [f'{{"number":{number}}}']


@SIGNALS
def test_what_is_not_held_is_a_fault_of_the_data(number: int) -> None:
    with interruptible(), pytest.raises(PydanticSerializationError):
        Interrupted(number=number).model_dump_json()


class LosesInterrupt(Display):
    """A display that receives Ctrl-C when a cell is finished, and loses it, as a destructor would."""

    def record(self, record: Record) -> None:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_lost_interrupt_ends_a_run_after_its_block(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        measured(tmp_path, fake_zoo(tmp_path, {"eventloop": {}}), LosesInterrupt())


def interrupted_and_faulty() -> None:
    with interruptible(), defer_signals():
        signal.raise_signal(signal.SIGINT)
        raise ValueError("in the middle")


def test_a_fault_in_what_is_held_is_told_with_the_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt) as told:
        interrupted_and_faulty()
    assert isinstance(told.value.__context__, ValueError)


def test_a_closed_terminal_ends_nothing_under_nohup() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible(), defer_signals():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_handlers_are_as_before_and_other_threads_hold_nothing() -> None:
    before = signal.getsignal(signal.SIGINT)
    found = []

    def other() -> None:
        with defer_signals():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    with defer_signals():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
    assert found == [before]
