"""What the newest report says of single raters, for pages that list people."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalsite.results.models import Report
from evalsite.results.report.wording import write_value


@dataclass(frozen=True)
class Noted:
    """What a report says of one rater: flags in words, each once, and figures by their labels."""

    flags: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()  # of each flag those that it was raised on, where it says
    figures: tuple[tuple[str, str], ...] = ()

    @property
    def full_flags(self) -> list[tuple[str, str]]:
        """Each flag with its criteria."""
        return list(zip(self.flags, self.criteria, strict=True))


@dataclass
class Raised:
    """One flag, and on whom it was raised."""

    code: str
    words: list[str] = field(default_factory=list)
    pseudonyms: list[str] = field(default_factory=list)

    @property
    def said(self) -> str:
        """ "Rates higher than the other raters, or rates lower than …": all its words."""
        first, *others = self.words
        return ", or ".join([first, *(words[:1].lower() + words[1:] for words in others)])


def read_notes(report: Report | None) -> dict[str, Noted]:
    """Return what the report says of each rater that it knows, by pseudonym.

    Of those who are excluded it says what they did among all.
    """
    found: dict[str, Noted] = {}
    for content in () if report is None else (report.content["all"], report.content["kept"]):
        if content is None:
            continue
        raters = content["raters"]
        labels = {
            column["key"]: column["label"]
            for column in raters["columns"]
            if not column.get("is_detail")
        }
        found |= {row["participant"]: _read(row, labels) for row in raters["rows"]}
    return found


def _read(row: Mapping[str, Any], labels: Mapping[str, str]) -> Noted:
    raised: dict[str, list[str]] = {}
    for flag in row["flags"]:
        raised.setdefault(_word(flag), []).append(str(flag.get("criterion", "")))
    return Noted(
        flags=tuple(raised),
        criteria=tuple(", ".join(filter(None, criteria)) for criteria in raised.values()),
        figures=tuple(
            (label, write_value(row["figures"][key]))
            for key, label in labels.items()
            if key in row["figures"]
        ),
    )


def _word(flag: Mapping[str, Any]) -> str:
    return str(flag["text"]).rstrip(".")


def list_raised(report: Report | None) -> list[Raised]:
    """Return each raised flag by its name, with the people who have it."""
    found: dict[str, Raised] = {}
    for row in [] if report is None else report.content["kept"]["raters"]["rows"]:
        for flag in row["flags"]:
            raised = found.setdefault(flag["code"], Raised(flag["code"]))
            if _word(flag) not in raised.words:
                raised.words.append(_word(flag))
            if row["participant"] not in raised.pseudonyms:
                raised.pseudonyms.append(row["participant"])
    return sorted(found.values(), key=lambda one: one.code)
