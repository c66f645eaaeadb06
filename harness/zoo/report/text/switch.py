"""Should I switch? What committed runs say, in one plain sentence a case. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from zoo.analysis.answered import Answered
from zoo.analysis.held import Cost
from zoo.analysis.metrics import CPU, Word
from zoo.analysis.pairs import Comparison, Pair
from zoo.analysis.trials import answered, newest
from zoo.model.entry_id import plain, server_of
from zoo.model.record import Record
from zoo.report.text.wording import compared, listed, ranged

POOL, VIRTUAL = "platform-thread", "virtual-thread"


@dataclass(frozen=True)
class Arriving:
    """What the pool and virtual threads of one server answered at a constant rate of requests that wait."""

    rate: int
    delay_s: float
    pool: Answered
    virtual: Answered

    @property
    def rounds(self) -> int:
        """Rounds in which both were measured, at most."""
        return min(self.pool.rounds, self.virtual.rounds)


def arriving(records: Sequence[Record]) -> dict[str, Arriving]:
    """Return by server what a run of `open` measured of both, where it did."""
    models = {record.entry: record.model for record in records if plain(record.entry) == record.entry}
    shares, one = answered(records), newest(records)
    pools, virtual = ({server_of(e): e for e in shares if models.get(e) == model} for model in (POOL, VIRTUAL))
    return {
        server: Arriving(one[pool].rate, one[pool].delay_s, shares[pool], shares[virtual[server]])
        for server, pool in sorted(pools.items())
        if server in virtual
    }


def waiting(found: Mapping[str, Arriving]) -> str:
    """Say who is answered at a constant rate of requests that wait."""
    short = {server: one for server, one in found.items() if not one.pool.complete}
    if not short:
        return ""
    better = [one.virtual.complete for one in short.values()]
    heading = "yes" if all(better) else "it depends on the server" if any(better) else "no clear gain"
    first = next(iter(short.values()))
    pools = _by_text({server: one.pool.text for server, one in short.items()})
    virtual = _by_text({server: one.virtual.text for server, one in short.items()})
    whole = [server for server, one in found.items() if one.pool.complete]
    also = f" In {listed(whole)} the pool answers all of them in time." if whole else ""
    return (
        f"**Requests that wait: {heading}.** At {first.rate:,} requests per second that wait {first.delay_s:g} s each, "
        f"the pool of platform threads answers {pools}; virtual threads answer "
        f"{'all in time' if all(better) else virtual}.{also}"
    )


def _by_text(said: Mapping[str, str]) -> str:
    """`13% in java-a and java-b, and all, but half of them only after 25 s, in java-c`"""
    servers: dict[str, list[str]] = {}
    for server, text in said.items():
        servers.setdefault(text, []).append(server)
    return ", and ".join(f"{text}{',' if ',' in text else ''} in {listed(names)}" for text, names in servers.items())


def database(comparison: Comparison, connections: int, wire_ms: int) -> str:
    """Compare virtual threads with a cached pool, where database connections are scarce; of a run of databases."""
    if comparison.ratio is None:
        return ""
    heading = _heading([comparison], "virtual threads {}do more", "virtual threads {}do less")
    return (
        f"**A small database pool: {heading}.** "
        f"With {connections} connections and {wire_ms} ms to the database, queries per second with virtual threads "
        f"against a cached pool of threads: {compared(comparison)}."
    )


def fast(pairs: Sequence[Pair]) -> str:
    """Compare CPU per request where nothing waits; of the run of the whole zoo."""
    known = {server_of(p.a): c for p in pairs if (c := p.comparisons.get(CPU)) and c.ratio}
    if not known:
        return ""
    told = listed([f"{compared(c)} in {server}" for server, c in known.items()])
    return (
        f"**Fast handlers: {_heading(list(known.values()), 'it {}costs CPU', 'it {}saves CPU')}.** "
        f"At {pairs[0].requested:,} connections and no wait, CPU time per request with virtual threads: {told}."
    )


def _heading(found: Sequence[Comparison], more: str, less: str) -> str:
    """What several comparisons come to: only what is certain where anything is, otherwise what is probable."""
    certain = [c for c in found if c.verdict.differs]
    ways = {_way(c) for c in certain or found} - {0}
    if not ways:
        same = all(c.verdict.word is Word.SAME for c in found)
        return "the same" if same else "no clear difference"
    text = (more if ways == {1} else less) if len(ways) == 1 else "it {}depends on the server"
    return text.format("" if certain else "probably ")


def _way(comparison: Comparison) -> int:
    """1 for more and -1 for less, 0 where neither is certain or probable."""
    ratio, verdict = comparison.ratio, comparison.verdict
    if ratio is None or verdict.word in (Word.SAME, Word.NOT_MEASURED) or not (verdict.differs or ratio.differs):
        return 0
    return 1 if ratio.value > 1 else -1


def held(costs: Mapping[str, Cost]) -> str:
    """What a held connection costs in each server, cheapest first; a variant alone under its own name."""
    told = ranged({entry: cost.interval.value for entry, cost in costs.items()}, " kB")
    return f"**Thousands of open connections: memory.** One that waits takes {told}." if told else ""
