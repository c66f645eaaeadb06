"""Measures the JVM with no server."""

from __future__ import annotations

import os

from zoo.cli import checkout
from zoo.cli.checkout import be_alone, warn_of_environment
from zoo.cli.options import Results
from zoo.cli.screen import console
from zoo.host import interrupts
from zoo.host.jdk import find_jdk
from zoo.measure import bare_jvm
from zoo.report.formatting import format_duration
from zoo.report.text import soak_and_jvm, terminal


def command(results: Results = None) -> None:
    """Measure the JVM with no server: start and end, memory at rest and watched, the heap of a parked virtual thread.

    Takes some minutes.
    """
    runs = results or checkout.ROOT / "results"
    be_alone(runs)
    warn_of_environment()
    jdk = find_jdk(wanted=os.environ.get("JDK"))
    console.print(f"{jdk.label}, about {format_duration(bare_jvm.seconds())}")
    with interrupts.interruptible():
        folder, found = bare_jvm.measure_all(checkout.ROOT, runs, jdk)
    terminal.show([soak_and_jvm.bare_jvm(jdk.label, found)], console)
    console.print(f"\nrun: {checkout.shown(folder)}")
