"""The ledger in words: published and measured figures, what each claim demands, and why they may differ. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from zoo.claims.estimates import Estimate
from zoo.claims.evidence import Archive, MachineFacts
from zoo.claims.ledger import Article, Claim, Ledger, PublishedFigure, Rule
from zoo.claims.quantities import QUANTITIES
from zoo.claims.verdicts import ClaimVerdict, ClaimWord, Judgement, RuleVerdict
from zoo.report.formatting import format_interval, format_number, format_ratio
from zoo.report.section import NONE, Section, Table
from zoo.report.text.wording import capitalized

SHARED = "shared by server and generator"

MOST_SHOWN = 2
"""More figures than this are counted in a line; the row that opens has all of them."""

ABOUT = (
    "What articles state of threads, and what was measured here. A claim is judged on ratios, counts and costs per "
    "connection, never on another machine's requests a second, and for the whole 95 % interval, not for the point."
)

DEMANDED = {
    "ratio": "{of} ÷ {over}",
    "spread": "{of} ÷ {over}",
    "difference": "{of} less {less}",
    "gain": "({of} ÷ {over}) ÷ ({than} ÷ {than_over})",
}
"""The figure of a rule by its kind; of other kinds, the quantity itself."""


def count_words(verdicts: Iterable[ClaimVerdict | RuleVerdict]) -> dict[ClaimWord, int]:
    """Count how often each word was given, in the order of `ClaimWord`."""
    words = [verdict.judgement.word for verdict in verdicts]
    return {word: words.count(word) for word in ClaimWord if word in words}


def counted(verdicts: Iterable[ClaimVerdict | RuleVerdict]) -> str:
    """`12 hold, 3 open`"""
    return ", ".join(word.of(count) for word, count in count_words(verdicts).items())


def sections(ledger: Ledger, verdicts: Sequence[ClaimVerdict], *, links: bool = False) -> list[Section]:
    """Render a table and its reasons for each article; with links to the records where the form has them."""
    made = [Section("Published claims", [ABOUT, _where(verdicts), *_caveat(verdicts), f"{counted(verdicts)}."])]
    for article in ledger.articles.values():
        mine = [verdict for verdict in verdicts if verdict.claim.article == article.key]
        if mine:
            made.append(_section(article, mine, links=links))
    bullets = [f"{word.value}: {word.text}" for word in count_words(verdicts)]
    return [*made, Section("What the verdicts mean", bullets=bullets)]


def _section(article: Article, verdicts: Sequence[ClaimVerdict], *, links: bool) -> Section:
    columns = ["claim", "what it says", "published", "accepted if", "measured here", "direction", "size"]
    rows = []
    for v in verdicts:
        claim = v.claim
        says = f"{claim.says} ([source]({claim.source}))" if links and claim.source else claim.says
        row = [claim.id, says, published(claim), accepted(claim), measured(v), v.word.value, size(v.judgement)]
        rows.append([*row, *([_runs(v)] if links else [])])
    reasons = [f"{v.claim.id} {v.word.value}: {reason}" for v in verdicts if (reason := why(v))]
    used = list(dict.fromkeys(archive for v in verdicts for archive in v.archives))
    paragraphs = [text for text in (origin(article), differences(article, used)) if text]
    table = Table("", [*columns, *(["runs"] if links else [])], rows, 8)
    title = article.title or article.about
    linked = f"[{title}]({article.link})" if links and article.link else title
    return Section(f"{article.key}: {linked}", paragraphs, [table], reasons)


def _runs(verdict: ClaimVerdict) -> str:
    """Link the runs behind a verdict, and say whether an older build of a server was measured."""
    links = ", ".join(f"[{number}]({archive.folder}/)" for number, archive in enumerate(verdict.archives, start=1))
    return f"{links} (older build)" if older(verdict) else links or NONE


def older(verdict: ClaimVerdict) -> bool:
    """True where a server was measured whose sources have changed since."""
    return any(one.older for estimate in verdict.estimates for one in estimate.series)


def size(judgement: Judgement) -> str:
    """How large the effect is next to the one published; a dash where only a direction was claimed."""
    return judgement.size.value if judgement.size else NONE


def published(claim: Claim) -> str:
    """`throughput 326,003 req/s; RSS 180 MB`"""
    return "; ".join(_figure(figure) for figure in claim.published) or NONE


def _figure(figure: PublishedFigure) -> str:
    read = "" if figure.quote else " (graph)"
    return " ".join(filter(None, [figure.of, format_number(figure.value), figure.unit])) + read


def accepted(claim: Claim) -> str:
    """What all of its rules demand, which is wider than the figure published: another machine is no second witness."""
    return "; ".join(asked(rule) for rule in claim.rules if rule.judged) or NONE


def measured(verdict: ClaimVerdict) -> str:
    """The figures of each part that has some, the first two of several."""
    said = []
    for part in verdict.parts:
        known = [estimate for estimate, _ in part.found if not estimate.why]
        shown = [value(part.rule, estimate) for estimate in known[:MOST_SHOWN]]
        more = len(known) - len(shown)
        if shown:
            said.append(", ".join(shown) + (f" and {more} more" if more else ""))
    return "; ".join(said) or NONE


def value(rule: Rule, seen: Estimate) -> str:
    """`×1.21 [1.10, 1.33]`, `44.1 MB [43.8, 44.6]`; of a count what each round gave."""
    if seen.why:
        return NONE
    if rule.rule == "count":
        return ", ".join(dict.fromkeys(f"{format_number(count)} {seen.unit}".strip() for count in seen.counts))
    ratio = seen.unit == "×"
    return f"×{format_interval(seen, format_ratio)}" if ratio else format_interval(seen, unit=seen.unit)


def asked(rule: Rule) -> str:
    """What a rule demands: `requests, many ÷ few: 0.5 to 0.9`."""
    sides = DEMANDED.get(rule.rule, "{of}").format(**rule.model_dump()).replace("_", " ")
    over = "highest less lowest " if rule.rule == "spread" else "their mean " if rule.together else ""
    return f"{rule.quantity}, {sides}: " + (f"{over}{band(rule)}{_extent(rule)}" if rule.judged else "recorded")


def band(rule: Rule) -> str:
    """`0.5 to 0.9 req/s`, `at least 2`"""
    unit = "" if rule.rule in ("ratio", "gain", "spread") else QUANTITIES[rule.quantity].unit
    low, high = rule.at_least, rule.at_most
    if low is None or high is None:
        text = f"at most {high:g}" if low is None else f"at least {low:g}"
    else:
        text = f"{low:g} to {high:g}"
    return f"{text} {unit}".strip()


def _extent(rule: Rule) -> str:
    if rule.in_cells == "every":
        return ""
    return ", in any cell" if rule.in_cells == "any" else f", in at least {100 * rule.in_cells:g} % of the cells"


def why(verdict: ClaimVerdict) -> str | None:
    """The reason, with its part where a claim has several, and missing rounds; None where the figures say it all."""
    return "; ".join(filter(None, [verdict.unlike, _reasons(verdict), _lacking(verdict)])) or None


def _lacking(verdict: ClaimVerdict) -> str | None:
    """How many rounds a figure that was judged has, where the claim needs more."""
    wanted = verdict.claim.rounds
    had = [seen.n or len(seen.counts) for part in verdict.parts if part.rule.judged for seen, _ in part.found]
    least = min(filter(None, had), default=wanted)
    return f"{least} of the {wanted} rounds asked for" if least < wanted else None


def _reasons(verdict: ClaimVerdict) -> str | None:
    if not verdict.parts:
        return verdict.judgement.why
    word = ClaimWord.DOES_NOT if verdict.word in (ClaimWord.CONTRADICTED, ClaimWord.NOT_REPRODUCED) else verdict.word
    mine = [
        (part, part.judgement.why) for part in verdict.deciding if part.judgement.why and part.judgement.word is word
    ]
    reasons = {reason for _, reason in mine}
    if len(verdict.deciding) == 1 or (len(mine) == len(verdict.deciding) and len(reasons) == 1):
        return next(iter(reasons), None)
    said = [f"{asked(part.rule)}: {reason}" for part, reason in mine]
    return ". ".join([*said[:1], *map(capitalized, said[1:])]) or None


def parts(verdict: ClaimVerdict) -> str | None:
    """`of 3 parts 2 hold, 1 not measured`; None for a claim of one part."""
    several = len(verdict.parts) > 1
    return f"of {len(verdict.parts)} parts {counted(verdict.parts)}" if several else None


def origin(article: Article) -> str:
    """Who measured it where, as far as the article says."""
    about = f"{article.about}. " if article.title else ""
    by = f"By {article.by}. " if article.by else ""
    date = f"{article.date}. " if article.date else ""
    facts = {"machine": article.machine, "cores": article.cores, "JDK": article.jdk, "software": article.software}
    told = "; ".join(f"{name} {fact}" for name, fact in facts.items() if fact)
    return f"{about}{by}{date}Published with: {told or 'not said'}."


def differences(article: Article, archives: Sequence[Archive]) -> str:
    """Why published and measured may differ, from what is known of both; nothing where nothing was measured."""
    if not archives:
        return ""
    machine = archives[0].machine
    jdks = ", ".join(dict.fromkeys(archive.jdk for archive in archives if archive.jdk))
    there = [article.machine or "a machine not named", *([_cores(article.cores)] if article.cores else [])]
    here = dict.fromkeys(f"{_machine(a.machine)}, {a.machine.apart or SHARED}" for a in archives)
    memory = f"{machine.memory_gb:.1f} GB of memory" if machine.memory_gb else "memory not known"
    limit = f"{machine.descriptors:,} descriptors" if machine.descriptors else "descriptors not known"
    said = [
        f"Published on {', '.join(there)}; measured on {' and on '.join(here)}.",
        f"JDK there {article.jdk or 'not said'}, here {jdks or 'no JVM took part'}.",
        f"There {article.software}; here the versions in the records." if article.software else "",
        f"Limits here: {memory}, {limit} a process.",
    ]
    return " ".join(filter(None, said))


def _cores(cores: float | None) -> str:
    return "cores not known" if cores is None else f"{cores:g} cores"


def _machine(machine: MachineFacts) -> str:
    return f"{machine.processor}, {_cores(machine.cores)}"


def _where(verdicts: Sequence[ClaimVerdict]) -> str:
    archives = list(dict.fromkeys(archive for verdict in verdicts for archive in verdict.archives))
    if not archives:
        return "No run given has any of their cells."
    machine = archives[0].machine
    commits = len({archive.commit for archive in archives})
    return f"Measured on {_machine(machine)}, in {len(archives)} run(s) of {commits} commit(s), which each run names."


def _caveat(verdicts: Sequence[ClaimVerdict]) -> list[str]:
    """What the machine means for all verdicts; nothing where the generator had cores of its own."""
    machines = [archive.machine for verdict in verdicts for archive in verdict.archives]
    if not machines or all(machine.apart for machine in machines):
        return []
    return [
        f"Judged on {_cores(machines[0].cores)} that server and generator share. Requests a second then say how both "
        "share them, so a claim of speed that does not hold here is called not reproduced, never contradicted. CPU per "
        "request, memory and counts are the server's own."
    ]
