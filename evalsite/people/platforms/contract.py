"""What a platform declares: how people arrive from it, and how their work is handed back.

A platform is an entry of `PLATFORMS` in `table.py`, which nothing else names. Its templates are in
`templates/platforms/<key>/`: `steps.html` says what to paste where, `rules.html` what it requires.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from re import Pattern
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from evalsite.lib.csv_writer import write_guarded

# Ids of people and visits on every platform: they are in files that spreadsheets open, and in
# lists that a comma or a line break would split.
SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}")
_PART_OF_LINK = re.compile(r"\{(code|id|visit)\}")


class Outcome(StrEnum):
    """How a visit ended. Participants never see these names."""

    COMPLETED = "completed"
    SCREENED_OUT = "screened_out"
    FAILED_CHECK = "failed_check"
    NO_CONSENT = "no_consent"
    NO_PLACE = "no_place"
    WRONG_DEVICE = "wrong_device"


class Leave(StrEnum):
    """What people are asked to do on the platform where an outcome has neither code nor link."""

    RETURN = "return"
    CONTACT = "contact"
    CANCEL = "cancel"
    CLOSE = "close"


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A parameter of a join link: its name in any case, and what its value looks like."""

    name: str
    pattern: Pattern[str]
    # the platform's own spelling of an id, where its case means nothing
    spell: Callable[[str], str] = str
    # whether the person's id must have been lost if only this parameter is there
    is_telling: bool = False


@dataclass(frozen=True, kw_only=True)
class Exit:
    """How one outcome is handed back to the platform."""

    # a code of random letters, made here; a round begins with one if `starts_with_code`
    takes_code: bool = False
    starts_with_code: bool = False
    # without such a code people get the one of their set, also where there is a link
    has_set_code: bool = False
    # a link that the platform gives, pasted by the researcher
    takes_link: bool = False
    # what to choose on the platform, in its own words
    advice: str = ""
    # whether the platform pays people who hand this back
    is_paid: bool = False
    # what people do where there is neither
    otherwise: Leave = Leave.RETURN
    # whose link serves as well while this outcome has none; never the completed one's
    instead: Outcome | None = None


@dataclass(frozen=True, kw_only=True)
class Bonus:
    """What one person is due for a visit, beside what the platform pays for an outcome."""

    person_id: str
    visit_id: str
    amount: Decimal


@dataclass(frozen=True, kw_only=True)
class Reason:
    """A reason for which a platform accepts a rejection."""

    key: str
    label: str
    # as the platform calls it, in its files
    category: str = ""
    # the fewest attention checks that must have failed
    failed_checks: int = 0


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What a researcher decided about one visit; the reason and message of a rejection."""

    person_id: str
    visit_id: str
    code: str = ""
    category: str = ""
    message: str = ""

    @property
    def name(self) -> str:
        """Return the id of the visit; of the person where none was sent."""
        return self.visit_id or self.person_id


class Status(StrEnum):
    """What a platform's export says of a submission."""

    RETURNED = "returned"
    TIMED_OUT = "timed_out"
    SUBMITTED = "submitted"


@dataclass(frozen=True, kw_only=True)
class Export:
    """How a platform's own file names its columns and states; case and punctuation don't count.

    Of several names for a column, the first that the file has is used.
    """

    visit: tuple[str, ...] = ()
    person: tuple[str, ...] = ()
    # a code of a finished set, where people bring no id
    code: tuple[str, ...] = ()
    status: tuple[str, ...] = ()
    statuses: Mapping[str, Status] = field(default_factory=lambda: MappingProxyType({}))


FAILED_CHECKS = Reason(key="checks", label="Failed attention checks", failed_checks=1)
LOW_EFFORT = Reason(key="effort", label="Clear low effort, such as random letters as text")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A setting that a round on this platform has of its own, as a line of text."""

    name: str
    label: str
    help: str = ""
    initial: str = ""
    # what the whole text must match; `refusal` says so in words
    pattern: str = ".{1,200}"
    refusal: str = "This value can't be used."
    is_required: bool = True


@dataclass(frozen=True, kw_only=True)
class Platform:
    """A platform: its arrival link, its outcomes, and the rules that a round is checked against.

    Methods get the settings that a researcher gave the round; most platforms have none.
    """

    key: str
    # as researchers know it, and as participants read it
    label: str
    summary: str
    exits: Mapping[Outcome, Exit]
    person: Parameter | None = None
    visit: Parameter | None = None
    study: Parameter | None = None
    # without the person's id nobody can start
    needs_person: bool = True
    # what a person who types their id is told about its form
    id_help: str = ""
    # what the platform fills in, after the `?` of the join link; "": it adds its own
    query: str = ""
    # the visit id of a preview, in which nobody takes part
    preview_visit: str = ""
    # whether the platform's preview shows itself by an odd visit id
    has_odd_previews: bool = False
    # an id means a person in one round only
    has_ids_of_round: bool = False
    # how a link is made from the code of an outcome
    link_from_code: str = ""
    # people have to hand something back; one visit is then one set
    hands_back: bool = True
    # the study's own link: people who come by it may take further sets, and may wait for a place
    is_open_link: bool = False
    # a platform that screens people must have a code for those who may not take part
    needs_screen_out_code: bool = False
    # each person has a link of their own, which a round creates; it has none to share
    has_personal_links: bool = False
    # where to paste the text of bonuses, in the platform's own words; and how many at a time
    bonus_advice: str = ""
    most_bonuses: int = 300
    # why work may be rejected; never for disagreeing, or for often giving the same answer
    reasons: tuple[Reason, ...] = (FAILED_CHECKS, LOW_EFFORT)
    # the fewest characters of a rejection's message
    least_message: int = 1
    # what has been approved there can't be rejected any more
    approval_note: str = ""
    # after so many days the platform approves by itself; 0: it doesn't
    days_to_decide: int = 0
    # where to paste ids of approved, rejected and barred people, in the platform's own words
    approve_advice: str = ""
    reject_advice: str = ""
    block_advice: str = ""
    # its own list of submissions, which can be uploaded; None: it has none
    export: Export | None = None
    # the export comes back with decisions in it, instead of texts to paste
    fills_export: bool = False
    # codes of completed work may be the researcher's own
    takes_own_code: bool = False
    # the least and the advised pay an hour, by currency
    least_pay: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    advised_pay: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    settings: tuple[Setting, ...] = ()
    # the platform on whose page this one is offered; "": on Invite itself
    offered_by: str = ""
    is_installed: bool = True

    def name_for_people(self, settings: Mapping[str, str]) -> str:
        """Return the name by which participants know the place they came from."""
        return self.label

    def namespace(self, settings: Mapping[str, str]) -> str:
        """Return the scope in which an id means one person."""
        return self.key

    def find_person(self, settings: Mapping[str, str]) -> Parameter | None:
        return self.person

    def find_visit(self, settings: Mapping[str, str]) -> Parameter | None:
        return self.visit

    def link_query(self, settings: Mapping[str, str]) -> str:
        """Return what a researcher adds to the round's link for the platform to fill in."""
        return self.query

    def check_link(self, link: str) -> str:
        """Return why this link can't hand an outcome back, or ""."""
        return ""

    def write_bonuses(self, bonuses: Sequence[Bonus]) -> str:
        """Return the text that the platform takes for bonuses."""
        rows = [(bonus.person_id, bonus.visit_id, bonus.amount) for bonus in bonuses]
        return write_lines(("person_id", "visit_id", "amount"), *rows)

    def check_rejection(self, reason: Reason, *, failed: int, minutes: float) -> str:
        """Return why the platform wouldn't accept this rejection, or ""."""
        if failed < reason.failed_checks:
            return "Too few attention checks failed in this set."
        return ""

    def write_approvals(self, decisions: Sequence[Decision]) -> str:
        """Return the text that the platform takes for approvals."""
        return write_lines(*((decision.name,) for decision in decisions))

    def write_rejections(self, decisions: Sequence[Decision]) -> str:
        """Return the text that the platform takes for rejections."""
        rows = [(decision.name, decision.category, decision.message) for decision in decisions]
        return write_lines(*rows)

    def write_block_list(self, person_ids: Sequence[str]) -> str:
        """Return the text that keeps these people out of another study on the platform."""
        return write_lines(*((person_id,) for person_id in person_ids))

    def fill_row(
        self, row: Mapping[str, str], *, is_approved: bool, message: str
    ) -> dict[str, str]:
        """Return a row of the export with the decision about it, where `fills_export`."""
        return dict(row)

    def fill_link(self, link: str, *, code: str, person_id: str, visit_id: str) -> str:
        """Return the link with everything that it asks for, percent-encoded."""
        values = {"code": code, "id": person_id, "visit": visit_id}
        return _PART_OF_LINK.sub(lambda match: quote(values[match[1]], safe=""), link)


def are_safe(*ids: str) -> bool:
    """Return whether each of these ids, if there is one, may be in a file."""
    return all(not text or SAFE_ID.fullmatch(text) for text in ids)


def write_lines(*rows: Iterable[Any]) -> str:
    """Write rows as platforms take them: CSV, with a line feed at the end of each line."""
    return write_guarded(rows, line_end="\n")
