"""The platforms that people come from: one table of facts, with what each does in its own way."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from evalsite.people.platforms.contract import (
    SAFE_ID,
    Bonus,
    Decision,
    Exit,
    Export,
    Leave,
    Outcome,
    Parameter,
    Platform,
    Reason,
    Setting,
    Status,
    write_lines,
)

# Prolific: one code for each outcome, and a page of its own that takes them.

_HEX_24 = re.compile("[0-9a-f]{24}")
_SHORT_MINUTES = 5
_CHECKS = "checks"


@dataclass(frozen=True, kw_only=True)
class Prolific(Platform):
    def write_bonuses(self, bonuses: Sequence[Bonus]) -> str:
        # a submission id where one was sent
        return write_lines(
            *((bonus.visit_id or bonus.person_id, bonus.amount) for bonus in bonuses)
        )

    def write_approvals(self, decisions: Sequence[Decision]) -> str:
        return ",".join(decision.name for decision in decisions)

    def check_rejection(self, reason: Reason, *, failed: int, minutes: float) -> str:
        # one failure is enough only in a study that takes less than five minutes
        if reason.key == _CHECKS and failed == 1 and minutes >= _SHORT_MINUTES:
            return "Prolific accepts one failed check only in studies under 5 minutes."
        return super().check_rejection(reason, failed=failed, minutes=minutes)


PROLIFIC = Prolific(
    key="prolific",
    label="Prolific",
    summary="Link and completion codes. £6 an hour at least, £9 advised.",
    person=Parameter(name="PROLIFIC_PID", pattern=_HEX_24, spell=str.lower),
    visit=Parameter(name="SESSION_ID", pattern=_HEX_24, spell=str.lower, is_telling=True),
    study=Parameter(name="STUDY_ID", pattern=_HEX_24, spell=str.lower, is_telling=True),
    query="PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}",
    has_odd_previews=True,
    id_help="24 letters and numbers, not your e-mail address.",
    link_from_code="https://app.prolific.com/submissions/complete?cc={code}",
    exits={
        Outcome.COMPLETED: Exit(
            takes_code=True,
            starts_with_code=True,
            has_set_code=True,
            is_paid=True,
            advice="“Manually review”",
        ),
        Outcome.SCREENED_OUT: Exit(
            takes_code=True, starts_with_code=True, is_paid=True, advice="“Fixed screen-out”"
        ),
        Outcome.FAILED_CHECK: Exit(takes_code=True, advice="“Request return”"),
        Outcome.NO_CONSENT: Exit(takes_code=True, advice="“Request return”"),
        Outcome.NO_PLACE: Exit(takes_code=True, advice="“Request return”"),
        Outcome.WRONG_DEVICE: Exit(takes_code=True, advice="“Incompatible device”"),
    },
    needs_screen_out_code=True,
    reasons=(
        Reason(
            key=_CHECKS,
            label="Failed attention checks",
            category="FAILED_CHECK",
            failed_checks=1,
        ),
        Reason(
            key="fast",
            label="Far too fast: 3 standard deviations below the mean",
            category="TOO_QUICKLY",
        ),
        Reason(
            key="effort",
            label="Clear low effort, such as random letters as text",
            category="LOW_EFFORT",
        ),
    ),
    least_message=100,
    export=Export(
        visit=("Submission id", "Session id"),
        person=("Participant id",),
        status=("Status",),
        statuses={
            "RETURNED": Status.RETURNED,
            "TIMED-OUT": Status.TIMED_OUT,
            "AWAITING REVIEW": Status.SUBMITTED,
            "APPROVED": Status.SUBMITTED,
            "PARTIALLY APPROVED": Status.SUBMITTED,
        },
    ),
    days_to_decide=21,
    approve_advice="“Approve by upload”",
    reject_advice="Reject each submission there, with its category and message",
    block_advice="Custom blocklist of the next study",
    bonus_advice="More > “Bulk bonus payment”",
    most_bonuses=200,
    least_pay={"GBP": 6, "USD": 8},
    advised_pay={"GBP": 9, "USD": 12},
)


# CloudResearch Connect: it adds its own ids, and takes people back by links that it gives.

_HEADER = ("participantId", "assignmentId", "action", "bonus", "message")
_ID = re.compile("[0-9A-Za-z]{8,64}")


@dataclass(frozen=True, kw_only=True)
class Connect(Platform):
    def write_bonuses(self, bonuses: Sequence[Bonus]) -> str:
        rows = [(bonus.person_id, bonus.visit_id, "", str(bonus.amount), "") for bonus in bonuses]
        return write_lines(_HEADER, *rows)

    def write_approvals(self, decisions: Sequence[Decision]) -> str:
        rows = [
            (decision.person_id, decision.visit_id, "approve", "", "") for decision in decisions
        ]
        return write_lines(_HEADER, *rows)

    def write_rejections(self, decisions: Sequence[Decision]) -> str:
        rows = [
            (decision.person_id, decision.visit_id, "reject", "", decision.message)
            for decision in decisions
        ]
        return write_lines(_HEADER, *rows)


CONNECT = Connect(
    key="connect",
    label="Connect",
    summary="Project link and redirect. $7.50 an hour at least.",
    person=Parameter(name="participantId", pattern=_ID),
    visit=Parameter(name="assignmentId", pattern=_ID),
    study=Parameter(name="projectId", pattern=_ID, is_telling=True),
    exits={
        Outcome.COMPLETED: Exit(
            is_paid=True,
            takes_link=True,
            takes_code=True,
            advice="“Redirect URL”, or “completion code”",
        ),
        Outcome.SCREENED_OUT: Exit(
            takes_link=True,
            is_paid=True,
            advice="“Partial Completes”, if you have them",
            otherwise=Leave.CONTACT,
        ),
        Outcome.FAILED_CHECK: Exit(
            takes_link=True, advice="“Partial Completes”, if you have them", otherwise=Leave.CONTACT
        ),
        Outcome.NO_CONSENT: Exit(),
        Outcome.NO_PLACE: Exit(),
        Outcome.WRONG_DEVICE: Exit(),
    },
    bonus_advice="Manage Participants: copy the lines into its CSV template",
    approve_advice="Manage Participants: copy the lines into its CSV template",
    reject_advice="Manage Participants: copy the lines into its CSV template",
    block_advice="A group to exclude",
    export=Export(
        visit=("assignmentId",),
        person=("participantId",),
        status=("Status", "Assignment Status", "Submission Status"),
        statuses={
            "Returned": Status.RETURNED,
            "Timed out": Status.TIMED_OUT,
            "Expired": Status.TIMED_OUT,
            "Submitted": Status.SUBMITTED,
            "Pending": Status.SUBMITTED,
            "Approved": Status.SUBMITTED,
        },
    ),
    approval_note="On Connect an approval is final.",
    least_pay={"USD": 7.5},
)


# SONA: course credit, granted by a link that carries the person's survey code.

_PLACE_OF_THE_CODE = "XXXX"


@dataclass(frozen=True, kw_only=True)
class Sona(Platform):
    def check_link(self, link: str) -> str:
        if _PLACE_OF_THE_CODE in link:
            return ""
        return "Paste the client-side completion URL. It ends in survey_code=XXXX."

    def fill_link(self, link: str, *, code: str, person_id: str, visit_id: str) -> str:
        return link.replace(_PLACE_OF_THE_CODE, quote(person_id, safe=""))


SONA = Sona(
    key="sona",
    label="SONA",
    summary="Course credit.",
    person=Parameter(name="sona_id", pattern=re.compile("[1-9][0-9]{1,6}")),
    has_ids_of_round=True,
    # opening the completion link has granted it
    reasons=(),
    query="sona_id=%SURVEY_CODE%",
    exits={
        Outcome.COMPLETED: Exit(
            is_paid=True, takes_link=True, advice="“Client-side completion URL”"
        ),
        Outcome.SCREENED_OUT: Exit(otherwise=Leave.CONTACT, advice="Partial credit, by hand"),
        Outcome.FAILED_CHECK: Exit(otherwise=Leave.CONTACT, advice="Partial credit, by hand"),
        Outcome.NO_CONSENT: Exit(otherwise=Leave.CANCEL),
        Outcome.NO_PLACE: Exit(otherwise=Leave.CANCEL),
        Outcome.WRONG_DEVICE: Exit(otherwise=Leave.CLOSE),
    },
)


# Any panel that puts a person's id into the link, and takes people back by links.

_NAME = r"[A-Za-z][A-Za-z0-9_.-]{0,39}"
_NAME_REFUSAL = "Enter the name of a parameter: letters, digits, “_”, “-” and “.”, 40 at most."
_PATTERNS = {
    "any": SAFE_ID.pattern,
    "letters": "[0-9A-Za-z_-]{1,128}",
    "digits": "[0-9]{1,40}",
    "guid": "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
}
_FORM = "any"


@dataclass(frozen=True, kw_only=True)
class Panel(Platform):
    def name_for_people(self, settings: Mapping[str, str]) -> str:
        return settings["panel"]

    def namespace(self, settings: Mapping[str, str]) -> str:
        # ids of two panels may be the same text
        return f"{self.key}:{settings['panel'].casefold()}"[:40]

    def find_person(self, settings: Mapping[str, str]) -> Parameter | None:
        pattern = _PATTERNS.get(settings["form"], _PATTERNS[_FORM])
        return Parameter(name=settings["parameter"], pattern=re.compile(pattern))

    def find_visit(self, settings: Mapping[str, str]) -> Parameter | None:
        if not settings["visit_parameter"]:
            return None
        return Parameter(name=settings["visit_parameter"], pattern=re.compile(_PATTERNS[_FORM]))

    def link_query(self, settings: Mapping[str, str]) -> str:
        query = f"{settings['parameter']}={settings['placeholder']}"
        if settings["visit_parameter"]:
            query += f"&{settings['visit_parameter']}={settings['visit_placeholder']}"
        return query


PANEL = Panel(
    key="panel",
    label="Another panel",
    summary="Any that puts an ID into the link. MTurk too.",
    settings=(
        Setting(
            name="panel",
            label="Name of the panel",
            help="Participants read it, such as “Please return to …”.",
            pattern=r"\S(?:.{0,28}\S)?",
            refusal="Enter a name of 30 characters at most.",
        ),
        Setting(
            name="parameter",
            label="Parameter of the person",
            help="Ask the panel which parameter carries the ID.",
            initial="pid",
            pattern=_NAME,
            refusal=_NAME_REFUSAL,
        ),
        Setting(
            name="placeholder",
            label="The panel’s placeholder for it",
            initial="[ID]",
            pattern=r"[^\s&#?]{1,80}",
            refusal="Enter the placeholder without spaces, “&”, “?” and “#”.",
        ),
        Setting(
            name="visit_parameter",
            label="Parameter of the visit",
            help="Leave empty if the panel sends none.",
            pattern=_NAME,
            refusal=_NAME_REFUSAL,
            is_required=False,
        ),
        Setting(
            name="visit_placeholder",
            label="The panel’s placeholder for the visit",
            pattern=r"[^\s&#?]{1,80}",
            refusal="Enter the placeholder without spaces, “&”, “?” and “#”.",
            is_required=False,
        ),
        Setting(
            name="form",
            label="What its IDs look like",
            help="any (letters, digits and . _ : @ -, 128 at most), letters (letters and digits), "
            "digits, or guid (36 characters).",
            initial=_FORM,
            pattern="|".join(_PATTERNS),
            refusal="Enter any, letters, digits or guid.",
        ),
    ),
    export=Export(
        visit=("visit_id", "visit", "session"),
        person=("person_id", "pid", "respondent", "respondent_id", "id"),
        status=("status", "state"),
        statuses={
            "Returned": Status.RETURNED,
            "Timed out": Status.TIMED_OUT,
            "Complete": Status.SUBMITTED,
            "Completed": Status.SUBMITTED,
        },
    ),
    approve_advice="As the panel asks for them",
    reject_advice="As the panel asks for them",
    block_advice="As the panel asks for them",
    bonus_advice="As the panel asks for them",
    exits={
        Outcome.COMPLETED: Exit(is_paid=True, takes_link=True, takes_code=True, advice="Complete"),
        Outcome.SCREENED_OUT: Exit(takes_link=True, advice="Screen-out"),
        Outcome.FAILED_CHECK: Exit(
            takes_link=True, advice="Screen-out", instead=Outcome.SCREENED_OUT
        ),
        Outcome.NO_CONSENT: Exit(
            takes_link=True,
            advice="Screen-out",
            instead=Outcome.SCREENED_OUT,
            otherwise=Leave.CLOSE,
        ),
        Outcome.NO_PLACE: Exit(takes_link=True, advice="Quota full"),
        Outcome.WRONG_DEVICE: Exit(
            takes_link=True, advice="Screen-out", instead=Outcome.SCREENED_OUT
        ),
    },
)


# Mechanical Turk with a survey link: each finished set has a code of its own to paste there.

_MTURK_ID = re.compile("[0-9A-Z]{20,40}")


@dataclass(frozen=True, kw_only=True)
class MTurkLink(Platform):
    def fill_row(
        self, row: Mapping[str, str], *, is_approved: bool, message: str
    ) -> dict[str, str]:
        decision = ("x", "") if is_approved else ("", message)
        return {**row, "Approve": decision[0], "Reject": decision[1]}


MTURK_LINK = MTurkLink(
    key="mturk",
    offered_by="panel",
    label="Mechanical Turk",
    summary="Uses a survey link. Each set gets a code of its own to paste back.",
    person=Parameter(name="workerId", pattern=re.compile("A[0-9A-Z]{9,20}"), spell=str.upper),
    # a plain survey link has no worker id, so neither of these shows that one was lost
    needs_person=False,
    visit=Parameter(name="assignmentId", pattern=_MTURK_ID, spell=str.upper),
    study=Parameter(name="hitId", pattern=_MTURK_ID, spell=str.upper),
    export=Export(
        visit=("AssignmentId",),
        person=("WorkerId",),
        code=("Answer.surveycode", "surveycode"),
    ),
    fills_export=True,
    preview_visit="ASSIGNMENT_ID_NOT_AVAILABLE",
    exits={
        Outcome.COMPLETED: Exit(
            is_paid=True, has_set_code=True, advice="A code for each set, made when it is finished"
        ),
        Outcome.SCREENED_OUT: Exit(takes_code=True, is_paid=True),
        Outcome.FAILED_CHECK: Exit(takes_code=True, is_paid=True),
        Outcome.NO_CONSENT: Exit(otherwise=Leave.CLOSE),
        Outcome.NO_PLACE: Exit(otherwise=Leave.CLOSE),
        Outcome.WRONG_DEVICE: Exit(otherwise=Leave.CLOSE),
    },
)


# The study's own link: everyone who presses Start on it is a new person.

OPEN_LINK = Platform(
    key="open_link",
    label="Open link",
    summary="Anyone with this link can take part, more than once and without an account.",
    hands_back=False,
    is_open_link=True,
    takes_own_code=True,
    exits={
        Outcome.COMPLETED: Exit(is_paid=True, takes_code=True, has_set_code=True, takes_link=True),
        Outcome.SCREENED_OUT: Exit(otherwise=Leave.CLOSE),
        Outcome.FAILED_CHECK: Exit(otherwise=Leave.CLOSE),
        Outcome.NO_CONSENT: Exit(otherwise=Leave.CLOSE),
        Outcome.NO_PLACE: Exit(otherwise=Leave.CLOSE),
        Outcome.WRONG_DEVICE: Exit(otherwise=Leave.CLOSE),
    },
)


# Personal links: one for each person whom the researcher knows.

PERSONAL = Platform(
    key="personal",
    label="Personal links",
    summary="One link per person, for people you know. You can copy a link again.",
    hands_back=False,
    has_personal_links=True,
    exits={
        Outcome.COMPLETED: Exit(is_paid=True, takes_link=True, has_set_code=True),
        Outcome.SCREENED_OUT: Exit(otherwise=Leave.CLOSE),
        Outcome.FAILED_CHECK: Exit(otherwise=Leave.CLOSE),
        Outcome.NO_CONSENT: Exit(otherwise=Leave.CLOSE),
        Outcome.NO_PLACE: Exit(otherwise=Leave.CLOSE),
        Outcome.WRONG_DEVICE: Exit(otherwise=Leave.CLOSE),
    },
)


# in the order in which they are offered
PLATFORMS = {
    platform.key: platform
    for platform in (PROLIFIC, CONNECT, SONA, PANEL, MTURK_LINK, OPEN_LINK, PERSONAL)
}


def installed_platforms() -> dict[str, Platform]:
    """Return the platforms by key, in the order in which they are offered."""
    return PLATFORMS


def get_platform(key: str) -> Platform:
    """Return the platform of this key; one that nobody can arrive from if it isn't installed."""
    platform = installed_platforms().get(key)
    exits = {outcome: Exit(otherwise=Leave.CONTACT) for outcome in Outcome}
    return platform or Platform(key=key, label=key, summary="", exits=exits, is_installed=False)


def find_open_link() -> Platform:
    """Return the platform that stands for a study's own link."""
    return next(platform for platform in installed_platforms().values() if platform.is_open_link)
