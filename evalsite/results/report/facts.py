"""What a report says of its study besides figures: plain facts, which need no site."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

    software: str
    methods: str
    seed: int
    draws: int
    made_at: datetime
    data: Mapping[str, Any]  # of the report: counts, systems, moments
    title: str = ""
    organisation: str = ""
    protocol: str = ""
    origin: str = ""
    own_examples: int | None = None  # examples in place of the instrument's; None: its own
    departures: "BasedOn | None" = None  # how pages differ from those of the chosen instrument
    language: str = ""
    version: str = ""
    criteria: tuple[Asked, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    has_practice: bool = False
    has_sheet: bool = False  # all items of a set on one page
    offers_sheet: bool = False
    exclusions: tuple[tuple[str, int], ...] = ()  # reason, and its number of active exclusions
    # of each reason: how many people, and the first and last moment of its decisions
    excluded: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    hourly: Decimal | None = None  # what an hour pays; None: nobody said so
    # who was asked, and who doesn't share; {} if nobody was asked
    sharing: Mapping[str, int] = field(default_factory=dict)
    changes: tuple[dict[str, Any], ...] = ()  # what was changed after the launch
    import_notes: tuple[str, ...] = ()  # what was left out, merged or decoded at import, by file
    # as it stood when the report was made; {} of an older report
    plan: Mapping[str, Any] = field(default_factory=dict)
    sha256: str = ""

    @property
    def is_collected_here(self) -> bool:
        """Whether the settings of the study say how its ratings came about."""
        origins = self.data["origins"]
        return bool(origins["own"] or origins["simulated"])
