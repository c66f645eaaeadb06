"""Finds the cells that claims need and no run has, and groups them into runs. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from zoo.analysis.metrics import Class
from zoo.claims import points
from zoo.claims.evidence import Archive
from zoo.claims.ledger import Claim
from zoo.claims.points import ClaimPoint
from zoo.claims.quantities import QUANTITIES
from zoo.model.entry_id import server_of
from zoo.plan.tier import count
from zoo.scenarios import SCENARIOS

HARDLY_S = 1.0
"""One command less is worth this; the same windows summed in another order differ by less."""


@dataclass(frozen=True)
class Want:
    """One cell of one tier: how often, and for which claims."""

    point: ClaimPoint
    rounds: int
    claims: tuple[str, ...]


@dataclass(frozen=True)
class Job:
    """Cells that one run measures: all entries in all cases, tiers and conditions."""

    scenario: str
    entries: tuple[str, ...]
    cases: tuple[str, ...]
    tiers: tuple[str, ...]
    vary: tuple[str, ...]
    jdk: str
    rounds: int
    duration: int | None
    claims: tuple[str, ...]
    cells: int
    """Of one round, that claims need; a run may measure more."""
    window: int | None = None
    """Seconds, where each server is to be loaded for so long without a pause."""

    def words(self, passed_on: Sequence[str], *, aa: bool) -> tuple[dict[str, str], list[str]]:
        """Environment and options of `zoo bench`. A single setting of the servers stands in the environment: an option
        would measure them without it too."""
        env = {"JDK": self.jdk} if self.jdk else {}
        vary = [name for name in self.vary if name]
        setting, _, value = self.vary[0].partition("=")
        if len(self.vary) == 1 and setting in passed_on:
            env[setting], vary = value, []
        made = [*_repeated("variant", self.entries), "--scenario", self.scenario]
        made += [*_repeated("case", filter(None, self.cases)), "--tiers", ",".join(self.tiers)]
        made += ["--rounds", str(self.rounds)]
        for option, seconds in (("--duration", self.duration), ("--turn", self.window)):
            if seconds is not None:
                made += [option, str(seconds)]
        return env, [*made, *_repeated("vary", vary), *(["--aa"] if aa else [])]


def wanted(claims: Iterable[Claim]) -> dict[ClaimPoint, Want]:
    """Every cell that a claim names, shared ones once."""
    found: dict[ClaimPoint, Want] = {}
    for claim in claims:
        for group in _groups(claim):
            for point in group:
                _add(found, point, claim)
    return found


def missing(
    claims: Iterable[Claim], archives: Sequence[Archive]
) -> tuple[dict[ClaimPoint, Want], list[set[ClaimPoint]]]:
    """The cells that no run has as often as wanted, and which of them must be measured in the same run.

    Cells that are set against each other in speed are missing together. What a process holds does not drift with the
    machine, so memory may be compared between runs.
    """
    found: dict[ClaimPoint, Want] = {}
    links: list[set[ClaimPoint]] = []
    for claim in claims:
        for group in _groups(claim):
            if not any(_has(archive, group, claim.rounds) for archive in archives):
                links.append(set(group))
                for point in group:
                    _add(found, point, claim)
    return found, links


def jobs(found: dict[ClaimPoint, Want], links: Iterable[set[ClaimPoint]], seconds: Callable[[Job], float]) -> list[Job]:
    """Runs that keep together what belongs together, in the order in which the claims ask for them.

    One run measures all its entries in all its cases and tiers. So two become one only where that takes no longer by
    `seconds`, a job's estimated time.
    """

    @cache
    def job(group: frozenset[ClaimPoint]) -> Job:
        return _job([want for point, want in found.items() if point in group])

    @cache
    def cost(group: frozenset[ClaimPoint]) -> float:
        return seconds(job(group))

    place = {point: number for number, point in enumerate(found)}
    groups = _merged(_joined([*links, *_calibrated(found)]), cost)
    return [job(group) for group in sorted(groups, key=lambda group: min(place[point] for point in group))]


def _groups(claim: Claim) -> Iterator[list[ClaimPoint]]:
    """The single cells that one run must have, for each combination that a rule of the claim judges."""
    for rule in claim.rules:
        apart = QUANTITIES[rule.quantity].kind is Class.MEMORY
        for chosen in points.combinations(rule, [claim.cells[name] for name in rule.names]):
            singles = [[point._replace(tiers=(tier,)) for tier in point.tiers] for point in chosen]
            groups = singles if apart else [[point for each in singles for point in each]]
            # a copy that is not in the tree cannot be measured from it
            yield from (g for g in groups if not any(server_of(point.entry) in claim.copies for point in g))


def _add(found: dict[ClaimPoint, Want], point: ClaimPoint, claim: Claim) -> None:
    before = found.get(point)
    rounds = max(claim.rounds, before.rounds if before else 0)
    found[point] = Want(point, rounds, tuple(dict.fromkeys([*(before.claims if before else ()), claim.id])))


def _has(archive: Archive, points: Iterable[ClaimPoint], rounds: int) -> bool:
    """Whether a run has these cells so often."""
    return all((found := archive.seen(point)) and len(found[0]) >= rounds for point in points)


def _calibrated(found: Iterable[ClaimPoint]) -> list[set[ClaimPoint]]:
    """A run finds out rounds and rates once, for all that it measures: cells that depend on them belong together."""
    return [{p for p in found if (known := SCENARIOS.get(p.scenario)) and known.calibration}]


def _joined(groups: Iterable[set[ClaimPoint]]) -> list[frozenset[ClaimPoint]]:
    """Groups that share a cell become one; those of different scenarios or JDKs never do."""
    made: list[frozenset[ClaimPoint]] = []
    for group in groups:
        for common in dict.fromkeys(map(_common, group)):
            new = frozenset(point for point in group if _common(point) == common)
            for old in [known for known in made if known & new]:
                made.remove(old)
                new |= old
            made.append(new)
    return made


def _merged(
    groups: list[frozenset[ClaimPoint]], cost: Callable[[frozenset[ClaimPoint]], float]
) -> list[frozenset[ClaimPoint]]:
    """While two take hardly longer as one, those that save most become one."""

    def saved(pair: tuple[frozenset[ClaimPoint], frozenset[ClaimPoint]]) -> float:
        a, b = pair
        return cost(a) + cost(b) - cost(a | b)

    while pairs := [(a, b) for a, b in combinations(groups, 2) if _common(next(iter(a))) == _common(next(iter(b)))]:
        a, b = max(pairs, key=saved)
        if saved((a, b)) < -HARDLY_S:
            break
        groups = [*(group for group in groups if group not in (a, b)), a | b]
    return groups


def _common(point: ClaimPoint) -> tuple[str, str, int | None]:
    """What all cells of a run have in common."""
    return point.scenario, point.jdk, point.window


def _job(wants: Sequence[Want]) -> Job:
    cells = [want.point for want in wants]
    durations = [point.duration for point in cells if point.duration is not None]
    return Job(
        scenario=cells[0].scenario,
        entries=tuple(dict.fromkeys(point.entry for point in cells)),
        cases=tuple(dict.fromkeys(point.case for point in cells)),
        tiers=tuple(sorted({point.tiers[0] for point in cells}, key=lambda tier: count(tier) if tier else 0)),
        vary=tuple(sorted({point.vary for point in cells})),
        jdk=cells[0].jdk,
        rounds=max(want.rounds for want in wants),
        duration=max(durations, default=None),
        window=cells[0].window,
        claims=tuple(dict.fromkeys(name for want in wants for name in want.claims)),
        cells=len(cells),
    )


def _repeated(name: str, values: Iterable[str]) -> list[str]:
    return [word for value in values for word in (f"--{name}", value)]
