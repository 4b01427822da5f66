"""The further analyses of a criterion: sections that are closed, and state their answer."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalsite.analysis.figure import make_note
from evalsite.results.report.agreement_tables import tabulate_agreement
from evalsite.results.report.criterion_tables import (
    find_estimate,
    list_joint_test,
    list_variances,
    tabulate_averages,
    tabulate_checks,
    tabulate_counts,
    tabulate_histogram,
    tabulate_outcomes,
    tabulate_own_errors,
    tabulate_pairs,
    tabulate_sizes,
    tabulate_systems,
    tabulate_tests,
    tabulate_variances,
    write_rank,
)
from evalsite.results.report.metric_tables import (
    tabulate_means,
    tabulate_metric_pairs,
    tabulate_metrics,
)
from evalsite.results.report.person_tables import tabulate_kappas
from evalsite.results.report.sentences import Note, write_sentence
from evalsite.results.report.strength_tables import tabulate_fit, tabulate_order
from evalsite.results.report.table import Table
from evalsite.results.report.verdicts import count_changes, has_other_verdict_alone
from evalsite.results.report.with_and_without import IGNORED, tabulate_both
from evalsite.results.report.wording import is_compared, write_value

Criterion = dict[str, Any]
# averages that may put systems in another order than the figure that is compared
_ORDERING = (
    "mean", "geometric_mean", "share", "median", "trimmed_mean", "mean_centred", "mean_z",
    "geo_mean_centred", "mean_log_z", "geo_mean_winsorised",
)  # fmt: skip
_ALPHA = 0.05


@dataclass(frozen=True, kw_only=True)
class Fold:
    """A closed section: `key` chooses the heading of its template, `notes` what it says: the first
    when it is closed, the others when it is open.

    `pictures`: the name of the drawing of each table that has one.
    """

    key: str
    tables: Sequence[Table]
    notes: Sequence[Note] = ()
    pictures: dict[str, str] = field(default_factory=dict)

    @property
    def sentences(self) -> list[str]:
        return [write_sentence(note) for note in self.notes]


def list_folds(criterion: Criterion, everything: Criterion | None) -> list[Fold]:
    """Return the further analyses of the criterion, as far as it has them.

    `everything`: the same criterion with what is excluded, if anything is.
    """
    found = [*_list_averages(criterion), *_list_pairs(criterion), *_list_agreement(criterion)]
    if criterion.get("metrics"):
        tables = [tabulate_metrics(criterion), tabulate_means(criterion)]
        tables += [one for one in [tabulate_metric_pairs(criterion)] if one]
        pictures = {tables[1].name: "metrics"}
        found.append(Fold(key="metrics", tables=tables, pictures=pictures))
    for key, code, other, kind in (
        ("ignored", "ignored_change", criterion.get("undropped"), [IGNORED]),
        ("everyone", "excluded_change", everything, []),
    ):
        if other:
            tables = tabulate_both(criterion, other, *kind)
            changes, pairs = count_changes(criterion, other), len(criterion["pairs"])
            note = make_note(code, changes=changes, pairs=pairs)
            found.append(Fold(key=key, tables=tables, notes=[note]))
    return found


# --- systems ------------------------------------------------------------------------------


def _list_averages(criterion: Criterion) -> Iterator[Fold]:
    systems = criterion["systems"]
    if tables := tabulate_averages(criterion):
        yield Fold(
            key="averages",
            tables=[tabulate_systems(criterion), *tables],
            notes=[make_note("averages_in_order", **_compare_orders(criterion))],
            pictures={f"{criterion['key']}-systems": "systems"},
        )
    elif systems:
        pictures = {f"{criterion['key']}-systems": "systems"}
        yield Fold(key="systems", tables=[tabulate_systems(criterion)], pictures=pictures)
    if any(one["rank"] for one in systems):
        ranks = [[one["system"], write_rank(one["rank"])] for one in systems if one["rank"]]
        open_ranks = any(
            one["rank"]["low"] != one["rank"]["high"] for one in systems if one["rank"]
        )
        notes = [
            make_note("rank_of_each", ranks=ranks), make_note("order_settled", is_open=open_ranks)
        ]  # fmt: skip
        yield Fold(key="ranks", tables=[], notes=notes)
    if criterion.get("order"):
        order = [str(one["system"]) for one in criterion["order"]]
        yield Fold(
            key="order",
            tables=[tabulate_order(criterion)],
            notes=[make_note("order_within_page", systems=order)],
        )
    if is_compared(criterion):
        fit = tabulate_fit(criterion)
        tables = [tabulate_outcomes(criterion), *([fit] if fit else [])]
        pictures = {tables[0].name: "pairs"}
        ties = sum(pair["counts"]["ties"] for pair in criterion["pairs"] if pair["counts"])
        total = sum(sum(pair["counts"].values()) for pair in criterion["pairs"] if pair["counts"])
        note = make_note("ties_of_answers", ties=ties, total=total)
        yield Fold(key="outcomes", tables=tables, notes=[note], pictures=pictures)
    elif criterion["answers"]:
        pictures = {f"{criterion['key']}-counts": "distribution"}
        most = find_ceiling(criterion)
        note = make_note("most_used_answer", answer=most["answer"], percent=most["percent"])
        yield Fold(
            key="counts",
            tables=[tabulate_counts(criterion)],
            notes=[note],
            pictures=pictures,
        )
    elif histogram := criterion.get("histogram"):
        table = tabulate_histogram(criterion)
        low, *_, high = histogram["edges"]
        ends = [f"{end:g}".replace("-", "−") for end in (low, high)]
        yield Fold(
            key="histogram",
            tables=[table],
            notes=[make_note("range_of_ratings", low=ends[0], high=ends[1])],
            pictures={table.name: "distribution"},
        )


def _compare_orders(criterion: Criterion) -> dict[str, Any]:
    """Return how many averages put two systems in another order than the figure compared."""
    systems = criterion["systems"]
    main = [find_estimate(criterion, one)["value"] for one in systems]
    averages: dict[str, list[float | None]] = {}
    for one in systems:
        for figure in (one["headline"], *one["others"], *one.get("averages", ())):
            if figure["name"] in _ORDERING:
                averages.setdefault(figure["name"], []).append(figure["value"])
    whole = [values for values in averages.values() if len(values) == len(systems)]
    return {"number": len(whole), "other": sum(_is_reversed(main, one) for one in whole)}


def _is_reversed(main: Sequence[float | None], other: Sequence[float | None]) -> bool:
    """Return whether two systems are in opposite order in the two lists."""
    both = [(one, two) for one, two in zip(main, other, strict=True) if one is not None]
    return any(
        (one[0] - two[0]) * (one[1] - two[1]) < 0
        for one in both
        for two in both
        if one[1] is not None and two[1] is not None
    )


def find_ceiling(criterion: Criterion) -> dict[str, Any]:
    """Return the answer that was given most often, and its share in percent."""
    totals: dict[str, int] = {}
    for system in criterion["systems"]:
        for value, count in (system["counts"] or {}).items():
            totals[value] = totals.get(value, 0) + int(count)
    whole = sum(totals.values())
    if not whole:
        return {"answer": "", "percent": 0, "is_end": False}
    answer = max(totals, key=lambda one: totals[one])
    values = [str(one["value"]) for one in criterion["answers"]]
    return {
        "answer": answer,
        "percent": round(100 * totals[answer] / whole),
        "is_end": len(values) > 2 and answer in (values[0], values[-1]),
    }


# --- pairs and agreement ------------------------------------------------------------------


def _list_pairs(criterion: Criterion) -> Iterator[Fold]:
    pairs = criterion["pairs"]
    if not pairs:
        return
    note = make_note("pairs_in_full", pairs=len(pairs))
    yield Fold(key="pairs", tables=[tabulate_pairs(criterion)], notes=[note])
    if table := tabulate_sizes(criterion):
        named = [one for pair in pairs for one in pair["sizes"] if one["name"] == "superiority"]
        ends = _find_range(named)
        yield Fold(
            key="sizes",
            tables=[table],
            notes=[make_note("superiority_range", **ends)] if ends else [],
        )
    if table := tabulate_checks(criterion):
        found = [other for pair in pairs if (other := _has_other_check(pair)) is not None]
        notes = [make_note("other_tests", pairs=len(found), other=sum(found))] if found else []
        yield Fold(key="checks", tables=[table], notes=notes)
    if owns := [pair for pair in pairs if pair.get("own")]:
        changed = [
            make_note(
                "own_error_of_pair",
                first=str(pair["system_1"]),
                second=str(pair["system_2"]),
                p=pair["own"]["details"]["p_corrected"],
            )
            for pair in owns
            if has_other_verdict_alone(pair)
        ]
        table = tabulate_own_errors(criterion)
        tables = [table] if table else []
        unknown = sum(pair["own"]["value"] is None for pair in owns)
        note = make_note("own_errors_change", pairs=len(owns), other=len(changed), unknown=unknown)
        yield Fold(key="own", tables=tables, notes=[note, *changed])
    if table := tabulate_variances(criterion):
        yield Fold(key="variances", tables=[table], notes=list_variances(criterion))
    if table := tabulate_tests(criterion):
        number = make_note("figures_of_papers", number=len(table.rows))
        yield Fold(key="tests", tables=[table], notes=list_joint_test(criterion) or [number])


def _has_other_check(pair: Criterion) -> bool | None:
    """Return whether a check, uncorrected, is on the other side of .05 than the test; None if the
    test or every check has no p."""
    p = pair["effect"]["details"].get("p")
    others = [one["details"].get("p") for one in pair["checks"]]
    known = [one for one in others if one is not None]
    if p is None or not known:
        return None
    return any((one < _ALPHA) != (p < _ALPHA) for one in known)


def _find_range(figures: Iterable[dict[str, Any]]) -> dict[str, str] | None:
    known = [one for one in figures if one["value"] is not None]
    if not known:
        return None
    least, most = (end(known, key=lambda one: one["value"]) for end in (min, max))
    return {"low": write_value(least), "high": write_value(most)}


def _list_agreement(criterion: Criterion) -> Iterator[Fold]:
    if criterion["agreement"]:
        tables = tabulate_agreement(criterion)
        yield Fold(
            key="agreement",
            tables=tables,
            notes=[make_note("agreement_in_full", number=len(criterion["agreement"]))],
            pictures={tables[0].name: "agreement"},
        )
    if criterion["kappas"]:
        table = tabulate_kappas(criterion)
        yield Fold(key="kappas", tables=[table], pictures={table.name: "kappas"})
