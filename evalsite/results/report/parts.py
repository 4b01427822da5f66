"""What the results page shows of a report: tables of words, made from its plain data."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.urls import reverse

from evalsite.results.design.tables import tabulate_design, tabulate_places
from evalsite.results.models import Report
from evalsite.results.report.agreement_tables import tabulate_agreement
from evalsite.results.report.criterion_tables import (
    tabulate_averages,
    tabulate_checks,
    tabulate_counts,
    tabulate_figures,
    tabulate_histogram,
    tabulate_outcomes,
    tabulate_own_errors,
    tabulate_pairs,
    tabulate_sizes,
    tabulate_systems,
    tabulate_tests,
    tabulate_variances,
)
from evalsite.results.report.metric_tables import (
    tabulate_means,
    tabulate_metric_pairs,
    tabulate_metrics,
)
from evalsite.results.report.person_tables import (
    tabulate_contradictions,
    tabulate_flags_of,
    tabulate_ignored_by,
    tabulate_ignored_items,
    tabulate_kappas,
    tabulate_raters,
)
from evalsite.results.report.prose import write_prose
from evalsite.results.report.sentences import write_sentence
from evalsite.results.report.strength_tables import tabulate_fit, tabulate_order
from evalsite.results.report.table import Table
from evalsite.results.report.with_and_without import IGNORED, tabulate_both
from evalsite.results.report.wording import hold_together, is_compared
from evalsite.studies.summary_lines import count_of

# --- sections -------------------------------------------------------------------------


TOGETHER, RATERS, DESIGN = "together", "raters", "design"


@dataclass(frozen=True)
class Picture:
    """A drawing of the report and the words for those who cannot see it."""

    name: str
    alt: str
    url: str
    pdf_url: str
    narrow_url: str = ""  # of the drawing for small screens, where there is one


Block = tuple[Table, Picture | None]
Blocks = list[Block]


@dataclass
class Part:
    """One part of the results: a criterion, all of them together, or the raters."""

    key: str
    label: str
    findings: list[str] = field(default_factory=list)
    blocks: Blocks = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def describe_basis(found: dict[str, Any], key: str, *, people: str = "") -> str:
    """Return what the part of this key rests on: "48 ratings of this criterion (144 in all)".

    `people`: who gave all of them, such as " by 8 participants"; fewer may have rated this part.
    """
    whole = found["data"]["ratings"]
    own = next((_count_own(one) for one in found["criteria"] if one["key"] == key), whole)
    if own == whole:
        return f"{count_of(whole, 'rating')}{people}"
    return f"{count_of(own, 'rating')} of this criterion ({whole:,} in all{people})"


def _count_own(criterion: dict[str, Any]) -> int:
    total = sum(int(one["n"]) for one in criterion["systems"])
    return total // 2 if is_compared(criterion) else total


def list_parts(content: dict[str, Any]) -> list[tuple[str, str]]:
    """Key and label of every part that the report has."""
    report = content["kept"]
    parts = [(criterion["key"], criterion["label"]) for criterion in report["criteria"]]
    if any(report["together"].values()):
        parts.append((TOGETHER, "All criteria"))
    if report["raters"]["rows"]:
        parts.append((RATERS, "Raters"))
    if report["design"]:
        parts.append((DESIGN, "Design"))
    return parts


def show_part(report: Report, key: str) -> Part:
    """Return the part of this key; the first one where there is no such."""
    content = report.content["kept"]
    labels = dict(list_parts(report.content))
    if key == TOGETHER and key in labels:
        return _show_together(content, report.study_id)
    if key == RATERS and key in labels:
        return _show_raters(content)
    if key == DESIGN and key in labels:
        return _show_design(content)
    found = [one for one in content["criteria"] if one["key"] == key] or content["criteria"]
    if not found:
        return Part("", "Results", notes=["No rating counts yet."])
    return _show_criterion(report, found[0])


# --- one criterion ------------------------------------------------------------------


def _show_criterion(report: Report, criterion: dict[str, Any]) -> Part:
    part = Part(criterion["key"], criterion["label"])
    part.notes = [hold_together(write_sentence(note)) for note in criterion["notes"]]
    part.findings = [hold_together(write_sentence(pair["finding"])) for pair in criterion["pairs"]]
    part.blocks += _show_systems(report, criterion)
    if criterion["pairs"]:
        part.blocks.append((tabulate_pairs(criterion), None))
    for make in _FURTHER:
        table = make(criterion)
        if table is not None:
            part.blocks.append((table, None))
    if criterion["agreement"]:
        picture = find_picture(report, criterion, "agreement")
        for number, table in enumerate(tabulate_agreement(criterion)):
            part.blocks.append((table, None if number else picture))
    if criterion["kappas"]:
        part.blocks.append((tabulate_kappas(criterion), find_picture(report, criterion, "kappas")))
    if others := criterion.get("other_papers"):
        name, words = f"{criterion['key']}-other-papers", write_prose("tables/other_papers.txt", {})
        table = tabulate_figures("As other papers print it", others, name=name, words=words)
        part.blocks.append((table, None))
    part.blocks += _show_metrics(report, criterion)
    if whole := criterion.get("undropped"):
        part.blocks += [(table, None) for table in tabulate_both(criterion, whole, IGNORED)]
    part.blocks += _compare_with_all(report, criterion)
    return part


_FURTHER: Sequence[Callable[[dict[str, Any]], Table | None]] = (
    tabulate_own_errors, tabulate_checks, tabulate_sizes, tabulate_variances, tabulate_tests,
)  # fmt: skip


def _show_metrics(report: Report, criterion: dict[str, Any]) -> Blocks:
    """Return what automatic metrics say of the same outputs, where some scored them."""
    if not criterion.get("metrics"):
        return []
    picture = find_picture(report, criterion, "metrics")
    blocks: Blocks = [(tabulate_metrics(criterion), None), (tabulate_means(criterion), picture)]
    pairs = tabulate_metric_pairs(criterion)
    return blocks if pairs is None else [*blocks, (pairs, None)]


def _show_systems(report: Report, criterion: dict[str, Any]) -> Blocks:
    """Return what each system was given, before any is compared with another."""
    blocks: Blocks = [(tabulate_systems(criterion), find_picture(report, criterion, "systems"))]
    blocks += [(table, None) for table in tabulate_averages(criterion)]
    if criterion.get("order"):
        blocks.append((tabulate_order(criterion), None))
    if is_compared(criterion):
        blocks.append((tabulate_outcomes(criterion), find_picture(report, criterion, "pairs")))
        if table := tabulate_fit(criterion):
            blocks.append((table, None))
    elif criterion["answers"]:
        picture = find_picture(report, criterion, "distribution")
        blocks.append((tabulate_counts(criterion), picture))
    elif criterion.get("histogram"):
        picture = find_picture(report, criterion, "distribution")
        blocks.append((tabulate_histogram(criterion), picture))
    return blocks


def _compare_with_all(report: Report, criterion: dict[str, Any]) -> Blocks:
    """Return what changes with what is excluded; nothing where nothing is."""
    everything = report.content["all"]
    if everything is None:
        return []
    same = next(one for one in everything["criteria"] if one["key"] == criterion["key"])
    return [(table, None) for table in tabulate_both(criterion, same)]


# --- across criteria ----------------------------------------------------------------


def _show_together(content: dict[str, Any], study_id: Any) -> Part:
    part = Part(TOGETHER, "All criteria")
    labels = {criterion["key"]: criterion["label"] for criterion in content["criteria"]}
    captions = {
        "correlations": "Criteria correlated",
        "decision": "Decisions and scores",
        "ignore": "Ignored items",
        "highlights": "Highlights",
        "repeats": "The same items shown twice",
    }
    for key, caption in captions.items():
        if figures := content["together"].get(key):
            words = write_prose("tables/criteria.txt", {}) if key == "correlations" else ""
            table = tabulate_figures(caption, figures, name=key, words=words, labels=labels)
            part.blocks.append((table, None))
    part.blocks += [(table, None) for table in _list_answers(content, study_id)]
    if cronbach := content["together"].get("cronbach"):
        caption, words = "All criteria as one scale", write_prose("tables/cronbach.txt", {})
        table = tabulate_figures(caption, [cronbach], name="cronbach", words=words)
        part.blocks.append((table, None))
    return part


def _list_answers(content: dict[str, Any], study_id: Any) -> Iterator[Table]:
    """Which items were ignored, who ignored how much, and decisions to be looked at again."""
    together = content["together"]
    if together.get("ignored_items"):
        yield tabulate_ignored_items(content)
    if together.get("ignored_raters"):
        yield tabulate_ignored_by(content, study_id)
    if together.get("contradictions"):
        yield tabulate_contradictions(content, study_id)


def _show_design(content: dict[str, Any]) -> Part:
    tables = [tabulate_design(content), tabulate_places(content)]
    return Part(DESIGN, "Design", blocks=[(table, None) for table in tables if table is not None])


def _show_raters(content: dict[str, Any]) -> Part:
    first, *others = tabulate_raters(content["raters"])
    flags = tabulate_flags_of(content["raters"])
    tables = [first, *([flags] if flags else []), *others]
    return Part(RATERS, "Raters", blocks=[(table, None) for table in tables])


# --- parts of tables ----------------------------------------------------------------


def find_picture(report: Report, criterion: dict[str, Any], what: str) -> Picture | None:
    """Return the drawing of this kind, if the report has it."""
    name = f"{criterion['key']}-{what}"
    if not (report.folder / f"{name}.svg").exists():
        return None
    narrow = f"{name}-narrow"
    has_narrow = (report.folder / f"{narrow}.svg").exists()
    wanted = [(name, "svg"), (name, "pdf"), *([(narrow, "svg")] if has_narrow else [])]
    urls = [
        reverse("admin:study-results-drawing", args=[report.study_id, report.pk, *one])
        for one in wanted
    ]
    alt = f"{criterion['label']}: {what}. The table has the same figures."
    return Picture(name, alt, *urls)
