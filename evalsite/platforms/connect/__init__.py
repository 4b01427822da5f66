"""CloudResearch Connect: it adds its own ids, and takes people back by links that it gives."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evalsite.platforms.contract import (
    Bonus,
    Decision,
    Exit,
    Export,
    Leave,
    Outcome,
    Parameter,
    Platform,
    Status,
    write_lines,
)

_HEADER = ("participantId", "assignmentId", "action", "bonus", "message")
_ID = re.compile("[0-9A-Za-z]{8,64}")


@dataclass(frozen=True, kw_only=True)
class Connect(Platform):
    def write_bonuses(self, bonuses: Sequence[Bonus]) -> str:
        return _write((one.person_id, one.visit_id, "", str(one.amount), "") for one in bonuses)

    def write_approvals(self, decisions: Sequence[Decision]) -> str:
        return _write((one.person_id, one.visit_id, "approve", "", "") for one in decisions)

    def write_rejections(self, decisions: Sequence[Decision]) -> str:
        return _write((one.person_id, one.visit_id, "reject", "", one.message) for one in decisions)


def _write(rows: Iterable[tuple[str, ...]]) -> str:
    return write_lines(_HEADER, *rows)


CONNECT = Connect(
    key="connect",
    label="Connect",
    summary="CloudResearch Connect adds its own IDs and takes people back by a redirect link.",
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
