"""What the newest report says of single raters, for pages that list people."""

from typing import Any

from evalsite.analysis.figure import make_note
from evalsite.results.models import Report
from evalsite.results.report.sections.people import name_flag
from evalsite.results.report.sections.words import NOTES
from evalsite.studies.summary_lines import count_of


def list_flags(report: Report | None, pseudonym: str) -> list[tuple[str, str]]:
    """Return the flags that the report raises on this person: each with its criteria.

    Of those who are excluded it says what they did among all.
    """
    raised: dict[str, list[str]] = {}
    for content in () if report is None else (report.content["kept"], report.content["all"]):
        rows = () if content is None else content["raters"]["rows"]
        for row in rows:
            if row["participant"] == pseudonym and not raised:
                for flag in row["flags"]:
                    raised.setdefault(name_flag(flag), []).append(str(flag.get("criterion", "")))
    return [(name, ", ".join(filter(None, criteria))) for name, criteria in raised.items()]


def count_raised(report: Report | None) -> int:
    """Return on how many people the report raises a flag."""
    rows = [] if report is None else report.content["kept"]["raters"]["rows"]
    return len({row["participant"] for row in rows if row["flags"]})


def list_copies(report: Report | None) -> list[dict[str, Any]]:
    """Return the pairs of people whose answers look copied: their pseudonyms, and a sentence."""
    return [
        {
            "sentence": NOTES.write(
                make_note(
                    "copied",
                    pairs=1,
                    equal=pair["outputs"] - pair["unequal"],
                    outputs=pair["outputs"],
                    shares=pair["others"],
                    raters=[pair["first_rater"], pair["second_rater"]],
                )
            ),
            "pseudonyms": (pair["first_rater"], pair["second_rater"]),
        }
        for pair in _get_copied(report).get("pairs", ())
    ]


def describe_unseen(report: Report | None) -> str:
    """Return why this study can't show copied answers; "" where it can, or no output is shared."""
    copied = _get_copied(report)
    if alike := copied.get("alike"):
        equal = alike["outputs"] - alike["unequal"]
        return NOTES.write(make_note("both_alike", equal=equal, outputs=alike["outputs"]))
    if copied.get("raters", 0) < 3 or copied["can_be_seen"] or not copied["most_shared"]:
        return ""
    return NOTES.write(make_note("copies_unseen", most_shared=copied["most_shared"]))


def give_reason(report: Report | None, pseudonym: str) -> str:
    """Return the reason to exclude one of two people with copied answers, which names nobody; ""
    for anyone else."""
    for pair in _get_copied(report).get("pairs", ()):
        if pseudonym in (pair["first_rater"], pair["second_rater"]):
            equal, outputs = pair["outputs"] - pair["unequal"], count_of(pair["outputs"], "output")
            return f"Answers identical to another person’s on {equal:,} of {outputs}"
    return ""


def _get_copied(report: Report | None) -> dict[str, Any]:
    copied: dict[str, Any] = {} if report is None else report.content["kept"]["copied"]
    return copied
