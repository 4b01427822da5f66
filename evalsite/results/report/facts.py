"""What a report says of its study besides figures: plain facts, which need no site."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from evalsite.instruments.schema import BasedOn


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One criterion as raters were asked it."""

    key: str
    label: str
    definition: str  # Markdown
    question: str
    scale: str  # in words
    answers: tuple[str, ...]  # low to high; empty for magnitudes
    better: str  # "higher", "lower" or "none"; "" of answers that are neither high nor low


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a report says besides its figures. `settings` are those that participants had."""

    title: str
    organisation: str
    protocol: str
    origin: str
    own_examples: int | None  # examples in place of the instrument's; None: its own
    departures: BasedOn | None  # how pages differ from those of the instrument that was chosen
    language: str
    version: str
    criteria: tuple[Asked, ...]
    data: Mapping[str, Any]  # of the report: counts, systems, moments
    settings: Mapping[str, Any]
    texts: Mapping[str, str]
    has_practice: bool
    has_sheet: bool  # all items of a set on one page
    offers_sheet: bool
    exclusions: tuple[tuple[str, int], ...]  # reason, and its number of active exclusions
    sharing: Mapping[str, int]  # who was asked, and who doesn't share; {} if nobody was asked
    changes: tuple[dict[str, Any], ...]  # what was changed after the launch
    import_notes: tuple[str, ...]  # what was left out, merged or decoded at import, by file
    plan: Mapping[str, Any]  # as it stood when the report was made; {} of an older report
    software: str
    methods: str
    seed: int
    draws: int
    sha256: str
    made_at: datetime

    @property
    def is_collected_here(self) -> bool:
        """Whether the settings of the study say how its ratings came about."""
        origins = self.data["origins"]
        return bool(origins["own"] or origins["simulated"])
