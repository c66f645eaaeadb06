"""A made-up whole run for tests: all entries, with figures as on a small machine, some flagged, some failed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime, timedelta

import builders
import numpy as np

from zoo.bench.readings import latency
from zoo.core.blocks import round_order
from zoo.core.entry_id import aa_id, is_aa, without_aa
from zoo.core.flag import Flag
from zoo.core.histogram import Histogram
from zoo.core.measurement import Measurement
from zoo.core.record import Failure, Record
from zoo.core.run import Run
from zoo.core.samples import Samples
from zoo.report.raw_files import RawFiles

CONNECTIONS = {"100": 100, "1k": 1_000, "25k": 19_500}
CUT = "nofile hard limit 20,000"
DELAY_S = 10.0
POOL = 200
REFERENCE = "rust-axum:hyper"
TWINS = ["java-tomcat:virtual", "rust-axum:async"]
LOG = """Exception in thread "main" java.lang.OutOfMemoryError: Java heap space
</pre><script>document.title = "taken over"</script>
\x1b[31mred\x1b[0m
"""


@dataclass(frozen=True)
class Nature:
    """Figures of one entry: CPU seconds per million requests, MB at rest, kB per waiting request, threads."""

    model: str
    cpu: float
    rest_mb: float
    kb: float
    threads: int

    @property
    def jvm(self) -> bool:
        return self.rest_mb > 50


NATURES = {
    "java-liberty:platform": Nature("platform-thread", 55.0, 260.0, 22.0, 140),
    "java-liberty:virtual": Nature("virtual-thread", 58.0, 262.0, 160.0, 52),
    "java-spring:platform": Nature("platform-thread", 62.0, 210.0, 20.0, 240),
    "java-spring:virtual": Nature("virtual-thread", 57.0, 205.0, 154.0, 46),
    "java-tomcat:platform": Nature("platform-thread", 31.0, 120.0, 18.0, 232),
    "java-tomcat:virtual": Nature("virtual-thread", 31.5, 118.0, 134.0, 38),
    "java-tomcat:async": Nature("async-servlet", 33.0, 121.0, 21.0, 233),
    "java-vertx:eventloop": Nature("event-loop", 19.0, 95.0, 4.1, 22),
    "java-vertx:platform": Nature("platform-thread", 44.0, 98.0, 6.0, 222),
    "java-vertx:virtual": Nature("virtual-thread", 27.0, 96.0, 5.4, 26),
    "rust-axum:async": Nature("async-task", 14.6, 4.4, 14.9, 3),
    "rust-axum:platform": Nature("platform-thread", 24.0, 4.9, 3.0, 203),
    REFERENCE: Nature("async-task", 13.0, 4.2, 14.5, 3),
}


def run(rounds: int = 3) -> Run:
    made = builders.run(list(NATURES), rounds=rounds)
    plan = made.plan.model_copy(update={"twins": TWINS, "twin_scenarios": ["hello"]})
    return made.model_copy(update={"finished_at": "2026-01-02T04:12:30+00:00", "plan": plan})


def records(rounds: int = 3, seed: int = 4) -> tuple[list[Record], RawFiles]:
    """Return every cell of every round, and its raw files."""
    chance = random.Random(seed)
    files: dict[str, Histogram | Samples] = {}
    made: list[Record] = []
    for number in range(1, rounds + 1):
        for position, entry in enumerate(round_order([*NATURES, *map(aa_id, TWINS)], number, seed)):
            for scenario in ("hello",) if is_aa(entry) else ("hello", "sleep"):
                for tier in CONNECTIONS:
                    cell = _Cell(entry, scenario, tier, number, chance.uniform(0.95, 1.05), chance.randrange(2**31))
                    minutes = len(made) * 0.4
                    made.append(cell.record(position, minutes, files))
    evidence = RawFiles(
        {name: file for name, file in files.items() if isinstance(file, Histogram)},
        {name: file for name, file in files.items() if isinstance(file, Samples)},
        frozenset([*files, "run.json", "records.ndjson", "raw/java-spring-virtual-hello-r2.log"]),
    )
    return made, evidence


@dataclass(frozen=True)
class _Cell:
    entry: str
    scenario: str
    tier: str
    round: int
    luck: float
    seed: int

    @property
    def nature(self) -> Nature:
        return NATURES[without_aa(self.entry)]

    @property
    def waits(self) -> bool:
        return self.scenario == "sleep"

    @property
    def queued(self) -> bool:
        """Return whether most connections wait for a thread of the pool."""
        return self.waits and self.nature.model == "platform-thread" and CONNECTIONS[self.tier] > POOL

    @property
    def stem(self) -> str:
        return f"raw/{self.entry.replace(':', '-')}-{self.scenario}-{self.tier}-r{self.round}"

    def record(self, position: int, minutes: float, files: dict[str, Histogram | Samples]) -> Record:
        failure = self._failure()
        measured = None if failure else self._measurement(files)
        start = datetime.fromisoformat("2026-01-02T03:04:05+00:00") + timedelta(minutes=minutes)
        made = builders.record(self.entry, self.tier, self.scenario, self.round, failure="x" if failure else None)
        return made.model_copy(
            update={
                "model": self.nature.model,
                "position": position,
                "started_at": start.isoformat(timespec="seconds"),
                "measurement": measured,
                "failure": failure,
            }
        )

    def _failure(self) -> Failure | None:
        if (self.entry, self.scenario, self.tier, self.round) == ("java-spring:virtual", "hello", "25k", 2):
            return Failure(kind="crashed", message="the server ended during the measurement", log_tail=LOG)
        if (self.entry, self.scenario, self.tier) == ("rust-axum:platform", "sleep", "25k"):
            return Failure(kind="hung", message="no request was answered in 25 s, and none failed: a hung server")
        return None

    def _rps(self) -> float:
        count = CONNECTIONS[self.tier]
        if self.waits:
            return (POOL if self.queued else count) / DELAY_S * (0.9 + 0.1 * self.luck)
        return 1e6 / (self.nature.cpu + 13) * {"100": 1.9, "1k": 1.65, "25k": 1.2}[self.tier] * self.luck

    def _flags(self) -> list[Flag]:
        raised = {
            Flag.CLAMPED: self.tier == "25k",
            Flag.SHARED_CORES: not self.waits,
            Flag.STARVED: not self.waits and self.tier == "25k",
            Flag.POOL_CEILING: self.queued,
            Flag.WARMUP_SHORT: not self.waits and self.nature.jvm and self.round == 2,
            Flag.FOREIGN_CPU: self.entry == "java-vertx:virtual" and self.round == 3,
            Flag.BAD_ANSWERS: self.entry == "java-tomcat:async" and self.tier == "25k" and self.round == 1,
        }
        return [flag for flag in Flag if raised.get(flag)]

    def _measurement(self, files: dict[str, Histogram | Samples]) -> Measurement:
        nature, count, rps = self.nature, CONNECTIONS[self.tier], self._rps()
        seconds = 25.0 if self.waits else 7.0
        histogram = self._histogram(int(rps * seconds), count / rps)
        held_kb = nature.kb * (POOL if self.queued else count) * (1 if self.waits else 0.4)
        before = nature.rest_mb * 1024 * 1.1
        peak = int(before + held_kb * self.luck)
        samples = self._samples(seconds, before, peak)
        base = builders.measurement(
            self.tier,
            rps=rps,
            delay_s=DELAY_S if self.waits else 0.0,
            actual=count,
            limited_by=CUT if self.tier == "25k" else None,
            rss_before_kb=int(before),
            rss_peak_kb=peak,
            cpu_s_per_million=nature.cpu * (2 - self.luck) * {"100": 1.0, "1k": 1.08, "25k": 1.3}[self.tier],
            heap_used_kb=30_000 if nature.jvm else None,
            ceiling_rps=POOL / DELAY_S if nature.model == "platform-thread" and self.waits else None,
            requests=int(rps * seconds),
            status_errors=12 if Flag.BAD_ANSWERS in self._flags() else 0,
            threads_peak=nature.threads + (count // 50 if nature.model == "virtual-thread" and self.waits else 0),
            flags=self._flags(),
        )
        files[f"{self.stem}-histogram.json.gz"] = histogram
        files[f"{self.stem}-samples.json.gz"] = samples
        load = {"latency": latency(histogram), "histogram": f"{self.stem}-histogram.json.gz", "runtime_s": seconds}
        settled = Flag.WARMUP_SHORT not in self._flags()
        windows = [self._rps() * (1 - 0.5 / n**1.5) for n in range(1, 7 if nature.jvm else 5)]
        warmup = {"window_rps": [1.0] if self.waits else windows, "reached": None if self.waits else settled}
        share = 0.062 if Flag.FOREIGN_CPU in self._flags() else 0.004 * self.luck
        noise = {"foreign_share": share, "steal_share": 0.002, "pressure_cpu": 8e5 * self.luck, "pressure_io": 12.0}
        return base.model_copy(
            update={
                "load": base.load.model_copy(update=load),
                "warmup": base.warmup.model_copy(update=warmup),
                "noise": base.noise.model_copy(update=noise),
                "canary_s": 0.0624 * self.luck,
                "sampling": base.sampling.model_copy(update={"samples": f"{self.stem}-samples.json.gz"}),
            }
        )

    def _histogram(self, requests: int, cycle_s: float) -> Histogram:
        rng = np.random.default_rng(self.seed)
        size = min(requests, 20_000)
        if self.queued:
            seconds = DELAY_S * rng.integers(1, 3, size) + rng.exponential(0.01, size)
        elif self.waits:
            seconds = DELAY_S + rng.exponential(0.02, size)
        else:
            seconds = rng.lognormal(np.log(cycle_s * 0.8), 0.6, size)
        values, counts = np.unique((seconds * 1e6).astype(np.int64), return_counts=True)
        return Histogram(values, counts.astype(np.int64)).quantize(2)

    def _samples(self, seconds: float, before_kb: float, peak_kb: int) -> Samples:
        times = [round(0.2 * i, 1) for i in range(int(seconds * 5))]
        rise = [min(1.0, t / (seconds * 0.3)) for t in times]
        rss = [int(before_kb + (peak_kb - before_kb) * share) for share in rise]
        none: list[int | None] = [None] * len(times)
        return Samples(
            hz=5.0,
            elapsed_s=seconds,
            own_cpu_s=0.01,
            vanished=False,
            t=times,
            rss_kb=rss,
            cpu_s=[0.0] * len(times),
            threads=[self.nature.threads] * len(times),
            established=none,
            tcp_mem_kb=none,
            runnable=none,
        )
