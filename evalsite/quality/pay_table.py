"""A table of all pay of a study, to download: no identities, one row for each set."""

from collections.abc import Iterator
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
from evalsite.studies.summary_lines import name_start

_AT_ONCE = 500
COLUMNS = (
    "participant", "set", "round", "platform", "items", "answered", "finished_at", "minutes",
    "attention_asked", "attention_failed", "state", "decided_at", "paid_at", "amount", "bonus",
    "bonus_paid_at", "currency",
)  # fmt: skip


@require_safe
def download_table(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Send what each set is due and what was decided, as CSV."""
    text = write_guarded([COLUMNS, *_list_rows(study)])
    return send_csv(text, f"{name_start(study)}-pay.csv", is_personal=True)


def _list_rows(study: Study) -> Iterator[list[Any]]:
    sets = list(with_answer_counts(list_payable(study)).order_by("created_at", "pk"))
    for start in range(0, len(sets), _AT_ONCE):
        for one in describe_sets(study, sets[start : start + _AT_ONCE]):
            yield _write_row(study, one)


def _write_row(study: Study, one: PaySet) -> list[Any]:
    approval, item_set = one.approval, one.item_set
    return [
        item_set.participant.pseudonym,
        item_set.number,
        one.recruitment.number,
        one.recruitment.adapter.label,
        item_set.total,
        one.answered,
        _write_moment(item_set.finished_at),
        "" if one.minutes is None else f"{one.minutes:.1f}",
        one.attention.asked,
        one.attention.failed,
        one.state,
        _write_moment(approval.decided_at),
        _write_moment(approval.marked_at),
        f"{one.amount:.2f}",
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
