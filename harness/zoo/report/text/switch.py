"""Should I switch? What committed runs say, in one plain sentence a case. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zoo.analysis.held import Cost
from zoo.analysis.metrics import CPU
from zoo.analysis.pairs import Comparison, Pair
from zoo.analysis.stats import Ratio
from zoo.model.entry_id import server_of
from zoo.model.record import Record
from zoo.report.arrival_rates import newest
from zoo.report.text.wording import WHOLE, listed, ranged

POOL, VIRTUAL = "platform-thread", "virtual-thread"


def waiting(records: Sequence[Record]) -> str:
    """Of a run of `open`: who is answered at a constant rate of requests that wait."""
    models = {record.entry: record.model for record in records}
    found = newest(records).items()
    pools, virtual = ({server_of(e): r for e, r in found if models[e] == model} for model in (POOL, VIRTUAL))
    both = sorted(pools.keys() & virtual.keys())
    short = [s for s in both if pools[s].ok_share < WHOLE <= virtual[s].ok_share]
    alike = [s for s in both if pools[s].ok_share >= WHOLE]
    if not short:
        return ""
    share = _range([pools[s].ok_share for s in short])
    rate, delay = pools[short[0]].rate, pools[short[0]].delay_s
    also = f" In {listed(alike)} the pool answers all too." if alike else ""
    return (
        f"**Requests that wait: yes.** At {rate:,} requests a second that wait {delay:g} s each, the pool of platform "
        f"threads answers {share} in {listed(short)}; virtual threads answer all.{also}"
    )


def database(comparison: Comparison, connections: int, wire_ms: int) -> str:
    """Of a run of databases: virtual threads over a cached pool, where the connections are what is scarce."""
    ratio = comparison.ratio
    if ratio is None:
        return ""
    heading = "no difference seen"
    if comparison.verdict.differs:
        heading = "virtual threads do more" if ratio.value > 1 else "virtual threads do less"
    return (
        f"**A small database pool: {heading}.** With {connections} connections and {wire_ms} ms to the database, "
        f"virtual threads do {_times(ratio)} times the queries that a cached pool of threads does."
    )


def fast(pairs: Sequence[Pair]) -> str:
    """Of the run of the whole zoo: CPU per request where nothing waits."""
    known = {server_of(p.a): c for p in pairs if (c := p.comparisons.get(CPU)) and c.ratio}
    decided = {server: c.ratio for server, c in known.items() if c.verdict.differs and c.ratio}
    if not known:
        return ""
    at = f"At {pairs[0].requested:,} connections and no wait"
    rest = listed([f"{server} ({c.verdict.word.value})" for server, c in known.items() if server not in decided])
    if not decided:
        return f"**Fast handlers: not decided.** {at}, CPU time for each request: {rest}."
    dearer = [ratio.value > 1 for ratio in decided.values()]
    heading, much = ("it costs CPU", "more") if all(dearer) else ("it saves CPU", "less")
    mixed = any(dearer) and not all(dearer)
    if mixed:
        heading, much = "it depends on the server", "more or less"
    told = listed([f"{_percent(ratio, named=mixed)} in {server}" for server, ratio in decided.items()])
    others = f" Others: {rest}." if rest else ""
    return f"**Fast handlers: {heading}.** {at}, virtual threads take {much} CPU time for each request: {told}.{others}"


def held(costs: Mapping[str, Cost]) -> str:
    """What a held connection costs in each server, cheapest first; a variant alone under its own name."""
    told = ranged({entry: cost.interval.value for entry, cost in costs.items()}, " kB")
    return f"**Thousands of open connections: memory.** One that waits takes {told}." if told else ""


def _range(shares: Sequence[float]) -> str:
    low, high = f"{100 * min(shares):.0f}", f"{100 * max(shares):.0f}"
    return f"{low} %" if low == high else f"{low}–{high} %"


def _times(ratio: Ratio) -> str:
    interval = f" [{ratio.low:.2f}, {ratio.high:.2f}]" if ratio.low is not None and ratio.high is not None else ""
    return f"{ratio.value:.2f}{interval}"


def _percent(ratio: Ratio, *, named: bool) -> str:
    """`49 % (37–63)`, with `more` or `less` where that is not said before."""
    word = (" more" if ratio.value > 1 else " less") if named else ""
    text = f"{abs(ratio.value - 1):.0%}".replace("%", " %")
    if ratio.low is None or ratio.high is None:
        return f"{text}{word}"
    low, high = sorted(abs(100 * (end - 1)) for end in (ratio.low, ratio.high))
    return f"{text} ({low:.0f}–{high:.0f}){word}"
