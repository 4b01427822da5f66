"""Prolific: one code for each outcome, and a page of its own that takes them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from evalsite.platforms.contract import (
    Bonus,
    Decision,
    Exit,
    Export,
    Outcome,
    Parameter,
    Platform,
    Reason,
    Status,
    write_lines,
)

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
        return ",".join(one.name for one in decisions)

    def check_rejection(self, reason: Reason, *, failed: int, minutes: float) -> str:
        # one failure is enough only in a study that takes less than five minutes
        if reason.key == _CHECKS and failed == 1 and minutes >= _SHORT_MINUTES:
            return "Prolific accepts one failed check only in studies under 5 minutes."
        return super().check_rejection(reason, failed=failed, minutes=minutes)


PROLIFIC = Prolific(
    key="prolific",
    label="Prolific",
    summary="Each person arrives with a Prolific ID and leaves with a code.",
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
        Outcome.FAILED_CHECK: Exit(
            takes_code=True, starts_with_code=True, advice="“Request return”"
        ),
        Outcome.NO_CONSENT: Exit(takes_code=True, starts_with_code=True, advice="“Request return”"),
        Outcome.NO_PLACE: Exit(takes_code=True, starts_with_code=True, advice="“Request return”"),
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
