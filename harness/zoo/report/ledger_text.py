"""The ledger in words: published and measured figures, accepted ranges, and why figures may differ. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from zoo.claims.estimates import Estimate
from zoo.claims.evidence import Archive, MachineFacts
from zoo.claims.ledger import Article, Claim, Ledger, PublishedFigure, Rule
from zoo.claims.quantities import QUANTITIES
from zoo.claims.verdicts import ClaimVerdict, ClaimWord, Judgement, RuleVerdict, Size
from zoo.report.formatting import format_count, format_interval, format_number, format_ratio
from zoo.report.section import NONE, Section, Table
from zoo.report.wording import capitalize

SHARED = "shared by server and generator"

MAX_FIGURES = 2
"""Largest number of figures in a line; more are counted, and the opened row has all of them."""

ABOUT = (
    "Statements of articles about threads, and what was measured here. A claim is judged on ratios, "
    "counts and costs per connection, never on another machine's requests per second. The whole 95% "
    "interval decides, not the estimate alone."
)

SIZE = (
    "how the effect compares with the published one, if the claim has a figure. A claim holds if its direction does, "
    "even if the effect is smaller or larger"
)

DETAILS = "Published figures, accepted ranges, runs and reasons"

RULE_FIGURES = {
    "ratio": "{of} ÷ {over}",
    "spread": "highest minus lowest {of} ÷ {over}",
    "difference": "{of} minus {less}",
    "gain": "({of} ÷ {over}) ÷ ({than} ÷ {than_over})",
}
"""The figure that a rule is about, by kind of rule; for kinds not listed, it is the quantity itself."""


def count_verdicts(verdicts: Iterable[ClaimVerdict | RuleVerdict]) -> dict[ClaimWord, int]:
    """Count how often each verdict was given, in the order of `ClaimWord`."""
    words = [verdict.judgement.word for verdict in verdicts]
    return {word: words.count(word) for word in ClaimWord if word in words}


def format_counts(verdicts: Iterable[ClaimVerdict | RuleVerdict]) -> str:
    """Return the number of each verdict: `12 hold, 3 not decided`."""
    return ", ".join(word.count_text(count) for word, count in count_verdicts(verdicts).items())


def _format_sizes(verdicts: Iterable[ClaimVerdict]) -> str:
    """Return in how many of the claims that hold the effect has the published size; empty if none has a figure."""
    sizes = [v.judgement.size for v in verdicts if v.word is ClaimWord.HOLDS and v.judgement.size]
    same = sizes.count(Size.AS_PUBLISHED)
    return (
        f". {len(sizes)} of those that hold are judged by size too, and {same} have the published one" if sizes else ""
    )


def ledger_sections(
    ledger: Ledger,
    verdicts: Sequence[ClaimVerdict],
    *,
    links: bool = False,
    explanations: Mapping[str, str] | None = None,
) -> list[Section]:
    """Return a table with one line for each claim, by article, and its details; `links` adds links to sources and runs.

    `explanations` are the links of the pages that show causes, by name; those of others are left out.
    """
    sections = [
        Section(
            "Published claims",
            [
                ABOUT,
                _describe_machine(verdicts),
                *_warn_of_shared_cores(verdicts),
                f"{format_counts(verdicts)}{_format_sizes(verdicts)}.",
            ],
        )
    ]
    for article in ledger.articles.values():
        judged = [verdict for verdict in verdicts if verdict.claim.article == article.key]
        if judged:
            sections.append(_article_section(article, judged, explanations or {}, links=links))
    bullets = [f"{word.value}: {word.text}" for word in count_verdicts(verdicts)]
    bullets.append(f"size: {SIZE}")
    return [*sections, Section("What the verdicts mean", bullets=bullets)]


def _article_section(
    article: Article, verdicts: Sequence[ClaimVerdict], explanations: Mapping[str, str], *, links: bool
) -> Section:
    lines, rows = [], []
    for v in verdicts:
        claim = v.claim
        claim_text = f"{claim.says} ([source]({claim.source}))" if links and claim.source else claim.says
        lines.append([claim.id, claim_text, format_verdict(v), format_deciding_figure(v)])
        row = [claim.id, format_published(claim), format_accepted(claim), format_measured(v)]
        rows.append([*row, *([_link_runs(v, explanations)] if links else [])])
    reasons = [
        *(f"{v.claim.id} {v.word.value}: {reason}" for v in verdicts if (reason := explain_verdict(v))),
        *(f"{v.claim.id}, how it is tested: {text}" for v in verdicts if (text := _format_notes(v.claim))),
    ]
    archives = list(dict.fromkeys(archive for v in verdicts for archive in v.archives))
    differences = list(filter(None, [explain_differences(article, archives)]))
    columns = ["claim", "published", "as published if", "measured here", *(["runs"] if links else [])]
    title = article.title or article.about
    linked = f"[{title}]({article.link})" if links and article.link else title
    return Section(
        f"{article.key}: {linked}",
        [describe_origin(article)],
        [Table("", ["claim", "claim text", "verdict", "measured here"], lines, 4)],
        details=Section(DETAILS, differences, [Table("", columns, rows, 5)], reasons),
    )


def _format_notes(claim: Claim) -> str:
    """Return how the claim is understood and how its test differs from the article's; empty if nothing is noted."""
    return " ".join(filter(None, [claim.ambiguous, claim.note]))


def _link_runs(verdict: ClaimVerdict, explanations: Mapping[str, str]) -> str:
    """Link the runs behind a verdict and the causes."""
    links = ", ".join(f"[{number}]({archive.folder}/)" for number, archive in enumerate(verdict.archives, start=1))
    causes = [f"[{name}]({explanations[name]})" for name in verdict.claim.explained_by if name in explanations]
    return "; ".join(filter(None, [links, ", ".join(causes)])) or NONE


def format_verdict(verdict: ClaimVerdict) -> str:
    """Return the verdict, and how the size of the effect compares: `holds (size: smaller)`."""
    size = verdict.judgement.size
    return f"{verdict.word.value} (size: {size.value})" if size else verdict.word.value


def is_of_earlier_build(verdict: ClaimVerdict) -> bool:
    """Return whether the sources of a measured server have changed since."""
    return any(one.is_outdated for estimate in verdict.estimates for one in estimate.series)


def format_size(judgement: Judgement) -> str:
    """Return how the size of the effect compares with the published one; a dash if only a direction was claimed."""
    return judgement.size.value if judgement.size else NONE


def format_published(claim: Claim) -> str:
    """Return the published figures: `throughput 326,003 req/s; RSS 180 MB`."""
    return "; ".join(_format_published_figure(figure) for figure in claim.published) or NONE


def _format_published_figure(figure: PublishedFigure) -> str:
    read = "" if figure.quote else " (graph)"
    value = f"{format_number(figure.value)} {figure.unit}".strip().replace(" %", "%")
    return f"{figure.of} {value}{read}"


def format_accepted(claim: Claim) -> str:
    """Return the ranges that the rules of a claim accept.

    They are wider than the published figure, because another machine cannot be expected to reproduce it exactly.
    """
    return "; ".join(format_rule(rule) for rule in claim.rules if rule.judged) or NONE


def format_measured(verdict: ClaimVerdict) -> str:
    """Return the measured figures of each part that has any, at most the first two per part."""
    texts = []
    for part in verdict.parts:
        known = [estimate for estimate, _ in part.figures if not estimate.objection]
        figures = [format_estimate(part.rule, estimate) for estimate in known[:MAX_FIGURES]]
        omitted = len(known) - len(figures)
        if figures:
            texts.append(", ".join(figures) + (f" and {omitted} more" if omitted else ""))
    return "; ".join(texts) or NONE


def format_deciding_figure(verdict: ClaimVerdict) -> str:
    """Return the first figure whose judgement is that of the claim: `requests, many ÷ few: ×0.82 [0.75, 0.90]`.

    If no figure has the claim's judgement, the first one is returned. If the claim does not hold and the verdicts
    on its parts differ, they follow.
    """
    broken = verdict.word in (ClaimWord.CONTRADICTED, ClaimWord.NOT_REPRODUCED)
    word = ClaimWord.DOES_NOT if broken else verdict.word
    known = [(part.rule, seen, its.word) for part in verdict.parts for seen, its in part.figures if not seen.objection]
    if not known:
        return NONE
    rule, seen, _ = next((one for one in known if one[2] is word), known[0])
    older = " (earlier build)" if is_of_earlier_build(verdict) else ""
    differ = verdict.word is not ClaimWord.HOLDS and len(count_verdicts(verdict.deciding)) > 1
    mixed = f" ({format_parts(verdict)})" if differ else ""
    return f"{_format_quantity(rule)}: {format_estimate(rule, seen)}{mixed}{older}"


def format_estimate(rule: Rule, estimate: Estimate) -> str:
    """Format an estimate: `×1.21 [1.10, 1.33]` or `44.1 MB [43.8, 44.6]`; for a count, its value in each round."""
    if estimate.objection:
        return NONE
    if rule.rule == "count":
        return ", ".join(dict.fromkeys(f"{format_number(count)} {estimate.unit}".strip() for count in estimate.counts))
    if rule.rule == "spread":
        return format_interval(estimate, lambda share: f"{100 * share:.0f}", "points")
    ratio = estimate.unit == "×"
    return f"×{format_interval(estimate, format_ratio)}" if ratio else format_interval(estimate, unit=estimate.unit)


def format_rule(rule: Rule) -> str:
    """Return what a rule demands: `requests, many ÷ few: 0.5 to 0.9`."""
    aggregate = "their mean " if rule.together else ""
    return f"{_format_quantity(rule)}: " + (
        f"{aggregate}{format_band(rule)}{_format_extent(rule)}" if rule.judged else "recorded"
    )


def _format_quantity(rule: Rule) -> str:
    """Return what a rule is about: `requests, many ÷ few`."""
    sides = RULE_FIGURES.get(rule.rule, "{of}").format(**rule.model_dump()).replace("_", " ")
    return f"{rule.quantity}, {sides}"


def format_band(rule: Rule) -> str:
    """Return the range that a rule accepts: `0.5 to 0.9 req/s`, `at least 2`."""
    unit = "" if rule.rule in ("ratio", "gain") else QUANTITIES[rule.quantity].unit
    low, high = rule.at_least, rule.at_most
    if rule.rule == "spread":
        unit, (low, high) = "points", (None if end is None else 100 * end for end in (low, high))
    if low is None or high is None:
        text = f"at most {high:g}" if low is None else f"at least {low:g}"
    else:
        text = f"{low:g} to {high:g}"
    return f"{text} {unit}".strip().replace("-", "−")


def _format_extent(rule: Rule) -> str:
    if rule.in_cells == "every":
        return ""
    return ", in any cell" if rule.in_cells == "any" else f", in at least {100 * rule.in_cells:g}% of the cells"


def explain_verdict(verdict: ClaimVerdict) -> str | None:
    """Return the reason for a verdict and any missing rounds, or None if the figures need no explanation.

    If the claim has several parts, each reason names its part.
    """
    return (
        "; ".join(filter(None, [verdict.test_difference, _explain_parts(verdict), _format_missing_rounds(verdict)]))
        or None
    )


def _format_missing_rounds(verdict: ClaimVerdict) -> str | None:
    """Return how many rounds the judged figures have if the claim needs more, otherwise None."""
    required = verdict.claim.rounds
    had = [seen.n or len(seen.counts) for part in verdict.parts if part.rule.judged for seen, _ in part.figures]
    least = min(filter(None, had), default=required)
    return f"{least} of the {required} required rounds" if least < required else None


def _explain_parts(verdict: ClaimVerdict) -> str | None:
    if not verdict.parts:
        return verdict.judgement.reason
    word = ClaimWord.DOES_NOT if verdict.word in (ClaimWord.CONTRADICTED, ClaimWord.NOT_REPRODUCED) else verdict.word
    explained = [
        (part, part.judgement.reason)
        for part in verdict.deciding
        if part.judgement.reason and part.judgement.word is word
    ]
    reasons = {reason for _, reason in explained}
    if len(verdict.deciding) == 1 or (len(explained) == len(verdict.deciding) and len(reasons) == 1):
        return next(iter(reasons), None)
    texts = [f"{format_rule(part.rule)}: {reason}" for part, reason in explained]
    return ". ".join([*texts[:1], *map(capitalize, texts[1:])]) or None


def format_parts(verdict: ClaimVerdict) -> str | None:
    """Return the verdicts on the judged parts: `of 3 parts 2 hold, 1 not measured`; None if there is only one part."""
    several = len(verdict.deciding) > 1
    return f"of {len(verdict.deciding)} parts {format_counts(verdict.deciding)}" if several else None


def describe_origin(article: Article) -> str:
    """Return who measured the published figures and where, as far as the article says."""
    about = f"{article.about}. " if article.title else ""
    by = f"By {article.by}. " if article.by else ""
    date = f"{article.date}. " if article.date else ""
    facts = {"machine": article.machine, "cores": article.cores, "JDK": article.jdk, "software": article.software}
    details = "; ".join(f"{name} {fact}" for name, fact in facts.items() if fact)
    return f"{about}{by}{date}Published with: {details or 'no details'}."


def explain_differences(article: Article, archives: Sequence[Archive]) -> str:
    """Return why published and measured figures may differ, from the known facts about both.

    Return an empty text if nothing was measured.
    """
    if not archives:
        return ""
    machine = archives[0].machine
    jdks = ", ".join(dict.fromkeys(archive.jdk for archive in archives if archive.jdk))
    published_on = [article.machine or "an unnamed machine", *([_format_cores(article.cores)] if article.cores else [])]
    measured_on = dict.fromkeys(f"{_format_machine(a.machine)}, {a.machine.cores_split or SHARED}" for a in archives)
    memory = f"{machine.memory_gb:.1f} GB of memory" if machine.memory_gb else "unknown memory"
    limit = f"{machine.descriptors:,} descriptors" if machine.descriptors else "unknown number of descriptors"
    sentences = [
        f"Published on {', '.join(published_on)}; measured on {' and on '.join(measured_on)}.",
        f"JDK: published with {article.jdk or 'an unnamed version'}, measured with {jdks or 'none'}.",
        f"Software: published with {article.software}; the records name the versions measured here."
        if article.software
        else "",
        f"Limits here: {memory}, {limit} per process.",
    ]
    return " ".join(filter(None, sentences))


def _format_cores(cores: float | None) -> str:
    return "unknown number of cores" if cores is None else f"{cores:g} cores"


def _format_machine(machine: MachineFacts) -> str:
    return f"{machine.processor}, {_format_cores(machine.cores)}"


def _describe_machine(verdicts: Sequence[ClaimVerdict]) -> str:
    archives = list(dict.fromkeys(archive for verdict in verdicts for archive in verdict.archives))
    if not archives:
        return "No selected run has any of their cells."
    machines = Counter(_format_machine(archive.machine) for archive in archives)
    commits = len({archive.commit for archive in archives})
    runs = f"{format_count(len(archives), 'run')} of {format_count(commits, 'commit')}"
    measured = (
        f"Measured on {' and on '.join(name for name, _ in machines.most_common())}, in {runs}. "
        "Each run names its machine and commit."
    )
    return " ".join(dict.fromkeys([measured, *(a.machine.unknown for a in archives if a.machine.unknown)]))


def _warn_of_shared_cores(verdicts: Sequence[ClaimVerdict]) -> list[str]:
    """Return how shared cores affect all verdicts; empty if the generator had separate cores."""
    machines = [archive.machine for verdict in verdicts for archive in verdict.archives]
    if not machines or all(machine.cores_split for machine in machines):
        return []
    return [
        f"Server and generator share {_format_cores(machines[0].cores)}, so requests per second depend on "
        "how they share them. A claim about speed that does not hold here is therefore called not "
        "reproduced, never contradicted. CPU per request, memory and counts are those of the server "
        "alone."
    ]
