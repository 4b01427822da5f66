"""The summary of a report: all criteria, limitations, and one table for the paper."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evalsite.analysis.figure import make_note
from evalsite.results.report.criterion_view import CriterionView, view_criteria
from evalsite.results.report.limitations import Collection, Limitation, list_limitations
from evalsite.results.report.sentences import write_sentence


@dataclass(frozen=True, kw_only=True)
class PaperRow:
    """A system with its estimate and tier on each criterion; "" where it has none."""

    system: str
    cells: list[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class Summary:
    primary: CriterionView | None
    others: list[CriterionView]
    main: CriterionView | None  # the one that the headline is about
    clear: int  # criteria with a clear difference
    tested: int  # criteria with a pair that was tested
    has_margins: bool
    correction: str  # of the criteria beside the primary one
    limitations: list[Limitation]
    paper: list[PaperRow]

    @property
    def headline(self) -> str:
        if self.main is None:
            return write_sentence(
                make_note(
                    "criteria_clear",
                    clear=self.clear,
                    criteria=len(self.criteria),
                    tested=self.tested,
                )
            )
        return (
            f"{write_sentence(self.main.verdict.note_in_brief(is_start=True))} on {self.main.label}"
        )

    @property
    def criteria(self) -> list[CriterionView]:
        return [*([self.primary] if self.primary else []), *self.others]


def summarise(content: dict[str, Any], collection: Collection, *, everyone: bool) -> Summary:
    """Return the summary of a report; `everyone`: with what is excluded, if anything is."""
    views = view_criteria(*choose_report(content, everyone=everyone))
    primary = next((one for one in views if one.role == "primary"), None)
    return Summary(
        primary=primary,
        others=[one for one in views if one is not primary],
        main=primary or (views[0] if len(views) == 1 else None),
        clear=sum(bool(one.verdict.clear) for one in views),
        tested=sum(one.verdict.is_tested and one.verdict.can_compare for one in views),
        has_margins=any(one.get("margins") for one in content["kept"]["criteria"]),
        correction=_describe_correction(content, views, has_primary=primary is not None),
        limitations=list_limitations(content, views, collection),
        paper=_list_paper(views),
    )


def _describe_correction(
    content: dict[str, Any], views: Sequence[CriterionView], *, has_primary: bool
) -> str:
    if any(view.is_across for view in views):
        comparisons = content["kept"].get("family", {}).get("comparisons", 0)
        return write_sentence(make_note("across", comparisons=comparisons))
    if has_primary:
        return "Corrected within each criterion (Holm)."
    return views[0].correction if views else ""


def choose_report(
    content: dict[str, Any], *, everyone: bool
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return the report that is shown, and the one that rings are from."""
    kept, whole = content["kept"], content["all"]
    if whole is None:
        return kept, None
    return (whole, kept) if everyone else (kept, whole)


def _list_paper(views: Sequence[CriterionView]) -> list[PaperRow]:
    names = dict.fromkeys(row.name for view in views for row in view.systems)
    known = [{row.name: (row.value, row.tier) for row in view.systems} for view in views]
    return [
        PaperRow(system=name, cells=[one.get(name, ("", "")) for one in known]) for name in names
    ]
