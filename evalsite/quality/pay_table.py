"""A table of all pay of a study, to download: no identities, one row for each set."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from evalsite.lib.csv_download import send_csv
from evalsite.lib.csv_writer import write_guarded
from evalsite.quality.pay import PaySet, describe_sets, list_payable, with_answer_counts
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import StudyView
from evalsite.studies.summary_lines import name_of_file

_AT_ONCE = 500
COLUMNS = (
    "participant", "set", "round", "platform", "items", "answered", "finished_at", "minutes",
    "attention_asked", "attention_failed", "state", "decided_at", "paid_at", "amount", "bonus",
    "bonus_paid_at", "currency",
)  # fmt: skip


@require_safe
def download_table(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Send what each set is due and what was decided, as CSV."""
    sets = list(with_answer_counts(list_payable(study)).order_by("created_at", "pk"))
    rows = (
        _write_row(study, pay_set)
        for start in range(0, len(sets), _AT_ONCE)
        for pay_set in describe_sets(study, sets[start : start + _AT_ONCE])
    )
    text = write_guarded([COLUMNS, *rows])
    return send_csv(text, name_of_file(study, "pay.csv"), is_personal=True)


def _write_row(study: Study, pay_set: PaySet) -> list[Any]:
    approval, item_set = pay_set.approval, pay_set.item_set
    return [
        item_set.participant.pseudonym,
        item_set.number,
        pay_set.recruitment.number,
        pay_set.recruitment.adapter.label,
        item_set.total,
        pay_set.answered,
        _write_moment(item_set.finished_at),
        "" if pay_set.minutes is None else f"{pay_set.minutes:.1f}",
        pay_set.attention.asked,
        pay_set.attention.failed,
        pay_set.state,
        _write_moment(approval.decided_at),
        _write_moment(approval.marked_at),
        f"{pay_set.amount:.2f}",
        "" if approval.bonus is None else f"{approval.bonus:.2f}",
        _write_moment(approval.bonus_marked_at),
        study.currency,
    ]


def _write_moment(at: datetime | None) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ") if at else ""


pay_table_views = [
    StudyView(
        path="pay/table.csv",
        name="pay-table",
        view=download_table,
        role=Membership.Role.EDITOR,
    ),
]
