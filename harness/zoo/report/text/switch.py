"""Should I switch? What committed runs say, in one plain sentence a case. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zoo.analysis.held import Cost
from zoo.analysis.metrics import CPU
from zoo.analysis.pairs import Comparison, Pair
from zoo.analysis.stats import Ratio
from zoo.model.record import Record
from zoo.report.arrival_rates import newest
from zoo.report.text.wording import WHOLE, listed, number

POOL, VIRTUAL = "platform-thread", "virtual-thread"


def waiting(records: Sequence[Record]) -> str:
    """Of a run of `open`: who is answered at a constant rate of requests that wait."""
    models = {record.entry: record.model for record in records}
    found = newest(records).items()
    pools, virtual = ({_server(e): r for e, r in found if models[e] == model} for model in (POOL, VIRTUAL))
    both = sorted(pools.keys() & virtual.keys())
    short = [s for s in both if pools[s].ok_share < WHOLE <= virtual[s].ok_share]
    alike = [s for s in both if pools[s].ok_share >= WHOLE]
    if not short:
        return ""
    share = _range([pools[s].ok_share for s in short])
    rate, delay = pools[short[0]].rate, pools[short[0]].delay_s
    also = f" The pool answers all too in {listed(alike)}." if alike else ""
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
        f"virtual threads make {_times(ratio)} the queries of a cached pool of threads."
    )


def fast(pairs: Sequence[Pair]) -> str:
    """Of the run of the whole zoo: CPU per request where nothing waits."""
    known = {_server(p.a): c for p in pairs if (c := p.comparisons.get(CPU)) and c.ratio}
    decided = {server: c.ratio for server, c in known.items() if c.verdict.differs and c.ratio}
    if not known:
        return ""
    at = f"At {pairs[0].requested:,} connections and no wait"
    rest = listed([f"{server} ({c.verdict.word.value})" for server, c in known.items() if server not in decided])
    if not decided:
        return f"**Fast handlers: not decided.** {at}, CPU per request: {rest}."
    dearer = [ratio.value > 1 for ratio in decided.values()]
    heading = "it costs CPU" if all(dearer) else "it depends on the server" if any(dearer) else "it saves CPU"
    told = listed([f"{_percent(ratio)} in {server}" for server, ratio in decided.items()])
    return f"**Fast handlers: {heading}.** {at}, a request on a virtual thread takes this much CPU time: {told}." + (
        f" Others: {rest}." if rest else ""
    )


def held(costs: Mapping[str, Cost]) -> str:
    """What a held connection costs, cheapest first."""
    ordered = sorted(costs.items(), key=lambda one: one[1].interval.value)
    told = [f"{number(cost.interval.value)} kB in `{entry}`" for entry, cost in ordered]
    return f"**Thousands of open connections.** Each takes {listed(told)}." if told else ""


def _server(entry: str) -> str:
    return entry.partition(":")[0]


def _range(shares: Sequence[float]) -> str:
    low, high = f"{100 * min(shares):.0f}", f"{100 * max(shares):.0f}"
    return f"{low} %" if low == high else f"{low}–{high} %"


def _times(ratio: Ratio) -> str:
    interval = f" [{ratio.low:.2f}, {ratio.high:.2f}]" if ratio.low is not None and ratio.high is not None else ""
    return f"×{ratio.value:.2f}{interval}"


def _percent(ratio: Ratio) -> str:
    """`49 % (37–63) more`"""
    word = "more" if ratio.value > 1 else "less"
    text = f"{abs(ratio.value - 1):.0%}".replace("%", " %")
    if ratio.low is None or ratio.high is None:
        return f"{text} {word}"
    low, high = sorted(abs(100 * (end - 1)) for end in (ratio.low, ratio.high))
    return f"{text} ({low:.0f}–{high:.0f}) {word}"
