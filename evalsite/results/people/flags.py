"""What the newest report says of single raters, for pages that list people."""

from dataclasses import dataclass, field
from typing import Any

from evalsite.analysis.figure import make_note
from evalsite.results.models import Report
from evalsite.results.report.sections.notes import NOTES
from evalsite.results.report.sections.people import name_flag
from evalsite.studies.summary_lines import count_of


@dataclass
class Raised:
    """One flag, and on whom it was raised."""

    code: str
    words: list[str] = field(default_factory=list)
    pseudonyms: list[str] = field(default_factory=list)

    @property
    def phrase(self) -> str:
        """ "Rates higher than the other raters, or rates lower than …": all its words."""
        first, *others = self.words
        return ", or ".join([first, *(words[:1].lower() + words[1:] for words in others)])


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


def list_raised(report: Report | None) -> list[Raised]:
    """Return each raised flag by its name, with the people who have it."""
    found: dict[str, Raised] = {}
    for row in [] if report is None else report.content["kept"]["raters"]["rows"]:
        for flag in row["flags"]:
            raised = found.setdefault(flag["code"], Raised(flag["code"]))
            if name_flag(flag) not in raised.words:
                raised.words.append(name_flag(flag))
            if row["participant"] not in raised.pseudonyms:
                raised.pseudonyms.append(row["participant"])
    return sorted(found.values(), key=lambda one: one.code)


@dataclass(frozen=True, kw_only=True)
class Copies:
    """Two people whose answers look copied, in a sentence."""

    sentence: str
    pseudonyms: tuple[str, str]


def list_copies(report: Report | None) -> list[Copies]:
    """Return the pairs of people whose answers look copied, as the report has them."""
    return [
        Copies(
            sentence=NOTES.write(
                make_note(
                    "copied",
                    pairs=1,
                    equal=pair["outputs"] - pair["unequal"],
                    outputs=pair["outputs"],
                    others=pair["others"],
                    raters=[pair["first_rater"], pair["second_rater"]],
                )
            ),
            pseudonyms=(pair["first_rater"], pair["second_rater"]),
        )
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
