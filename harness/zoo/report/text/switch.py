"""The answer to "Should I switch?" from committed runs, in one sentence per case. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from zoo.core.entry_id import base_id, server_name
from zoo.core.record import Record
from zoo.report.wording import format_by_server, format_comparison, join_names
from zoo.stats.all_answered import AnsweredShare
from zoo.stats.memory_per_request import Cost
from zoo.stats.metrics import CPU, Word
from zoo.stats.pairs import Comparison, Pair
from zoo.stats.trials import answered_shares, newest_results

POOL, VIRTUAL = "platform-thread", "virtual-thread"


@dataclass(frozen=True)
class ConstantRateResult:
    """Requests answered by the pool and by virtual threads of one server, at a constant rate of waiting requests."""

    rate: int
    delay_s: float
    pool: AnsweredShare
    virtual: AnsweredShare

    @property
    def rounds(self) -> int:
        """Return an upper bound for the number of rounds in which both were measured."""
        return min(self.pool.rounds, self.virtual.rounds)


def constant_rate_results(records: Sequence[Record]) -> dict[str, ConstantRateResult]:
    """Return what a run of `open` measured, for each server with both a pool and virtual threads."""
    models = {record.entry: record.model for record in records if base_id(record.entry) == record.entry}
    shares, one = answered_shares(records), newest_results(records)
    pools, virtual = ({server_name(e): e for e in shares if models.get(e) == model} for model in (POOL, VIRTUAL))
    return {
        server: ConstantRateResult(one[pool].rate, one[pool].delay_s, shares[pool], shares[virtual[server]])
        for server, pool in sorted(pools.items())
        if server in virtual
    }


def waiting_sentence(results: Mapping[str, ConstantRateResult]) -> str:
    """Return which requests are answered at a constant rate of waiting requests; empty if every pool answers all."""
    short = {server: result for server, result in results.items() if not result.pool.complete}
    if not short:
        return ""
    better = [result.virtual.complete for result in short.values()]
    heading = "yes" if all(better) else "it depends on the server" if any(better) else "no clear gain"
    first = next(iter(short.values()))
    pools = _group_by_text({server: result.pool.text for server, result in short.items()})
    virtual = _group_by_text({server: result.virtual.text for server, result in short.items()})
    complete = [server for server, result in results.items() if result.pool.complete]
    rest = f" In {join_names(complete)} the pool answers all of them in time." if complete else ""
    return (
        f"**Requests that wait: {heading}.** At {first.rate:,} requests per second that wait {first.delay_s:g} s each, "
        f"the pool of platform threads answers {pools}; virtual threads answer "
        f"{'all in time' if all(better) else virtual}.{rest}"
    )


def _group_by_text(texts: Mapping[str, str]) -> str:
    """Group servers by the same text.

    `13% in java-a and java-b, and all, but half of them only after 25 s, in java-c`
    """
    servers: dict[str, list[str]] = {}
    for server, text in texts.items():
        servers.setdefault(text, []).append(server)
    return ", and ".join(
        f"{text}{',' if ',' in text else ''} in {join_names(names)}" for text, names in servers.items()
    )


def database_sentence(comparison: Comparison, connections: int, wire_ms: int) -> str:
    """Compare virtual threads with a cached pool when database connections are scarce, from a database run."""
    if comparison.ratio is None:
        return ""
    heading = _summarize([comparison], "virtual threads {}do more", "virtual threads {}do less")
    return (
        f"**A small database pool: {heading}.** "
        f"With {connections} connections and {wire_ms} ms to the database, queries per second with virtual threads "
        f"against a cached pool of threads: {format_comparison(comparison, 'more', 'fewer')}."
    )


def fast_sentence(pairs: Sequence[Pair]) -> str:
    """Compare CPU per request when no request waits, from the run of all servers."""
    by_server = {server_name(p.a): c for p in pairs if (c := p.comparisons.get(CPU)) and c.ratio}
    if not by_server:
        return ""
    texts = join_names([f"{format_comparison(c)} in {server}" for server, c in by_server.items()])
    return (
        f"**Fast handlers: {_summarize(list(by_server.values()), 'it {}costs CPU', 'it {}saves CPU')}.** "
        f"At {pairs[0].requested:,} connections and no wait, CPU time per request with virtual threads: {texts}."
    )


def _summarize(comparisons: Sequence[Comparison], more: str, less: str) -> str:
    """Summarize several comparisons: by the certain ones if there are any, otherwise by the probable ones."""
    certain = [c for c in comparisons if c.verdict.differs]
    directions = {_direction(c) for c in certain or comparisons} - {0}
    if not directions:
        same = all(c.verdict.word is Word.SAME for c in comparisons)
        return "the same" if same else "no clear difference"
    text = (more if directions == {1} else less) if len(directions) == 1 else "it {}depends on the server"
    return text.format("" if certain else "probably ")


def _direction(comparison: Comparison) -> int:
    """Return 1 for more, -1 for less, and 0 if neither is certain or probable."""
    ratio, verdict = comparison.ratio, comparison.verdict
    if ratio is None or verdict.word in (Word.SAME, Word.NOT_MEASURED) or not (verdict.differs or verdict.likely):
        return 0
    return 1 if ratio.value > 1 else -1


def memory_sentence(costs: Mapping[str, Cost]) -> str:
    """Return the memory per waiting request of each server, lowest first; a single variant has its own name."""
    text = format_by_server({entry: cost.interval.value for entry, cost in costs.items()}, " kB")
    return f"**Thousands of open connections: memory.** A waiting request takes {text}." if text else ""
