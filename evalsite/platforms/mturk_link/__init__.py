"""Mechanical Turk with a survey link: each finished set has a code of its own to paste there."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from evalsite.platforms.contract import Exit, Export, Leave, Outcome, Parameter, Platform

_ID = re.compile("[0-9A-Z]{20,40}")


@dataclass(frozen=True, kw_only=True)
class MTurkLink(Platform):
    def fill_row(
        self, row: Mapping[str, str], *, is_approved: bool, message: str
    ) -> dict[str, str]:
        given = (
            {"Approve": "x", "Reject": ""} if is_approved else {"Approve": "", "Reject": message}
        )
        return {**row, **given}


MTURK_LINK = MTurkLink(
    key="mturk",
    label="Mechanical Turk",
    summary="Uses a survey link. Each set gets a code of its own to paste back.",
    person=Parameter(name="workerId", pattern=re.compile("A[0-9A-Z]{9,20}"), spell=str.upper),
    # a plain survey link has no worker id, so neither of these shows that one was lost
    needs_person=False,
    visit=Parameter(name="assignmentId", pattern=_ID, spell=str.upper),
    study=Parameter(name="hitId", pattern=_ID, spell=str.upper),
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
