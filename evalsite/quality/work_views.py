"""A person's page about their sets: what was decided about each, and asking for a review."""

import re
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from evalsite.participants.access import (
    address,
    first_link_only,
    page_context,
    participant_page,
)
from evalsite.participants.models import Participant
from evalsite.participants.services import is_paid
from evalsite.participants.visits import describe_kept_id
from evalsite.quality.models import Approval
from evalsite.quality.pay import LONGEST_TEXT, PaySet, ask_for_review, describe_sets, list_payable
from evalsite.studies.summary_lines import format_money

State = Approval.State


@dataclass(frozen=True)
class WorkRow:
    """One set as its person reads it."""

    pay_set: PaySet
    amount: str
    bonus: str

    @property
    def may_ask(self) -> bool:
        """Whether this rejection can still be looked at again."""
        approval = self.pay_set.approval
        return approval.state == State.REJECTED and approval.review_asked_at is None


@participant_page
@first_link_only
@require_http_methods(["GET", "HEAD", "POST"])
def work(request: HttpRequest, me: Participant) -> HttpResponse:
    """The state of each set; a rejection says why, and can be looked at again."""
    if me.is_pilot or not is_paid(me):
        return redirect(address(request, "participant-home"))
    error, number = "", request.POST.get("set", "")
    text = request.POST.get("text", "").replace("\0", "").strip()
    if request.method == "POST":
        error = _fault_of(text)
        if not error and re.fullmatch("[0-9]{1,4}", number, re.ASCII):
            ask_for_review(me=me, number=int(number), text=text)
            return redirect(address(request, "participant-work") + "?review=asked")
    sets = list_payable(me.study).filter(participant=me).order_by("-number")
    context = page_context(request, me) | {
        "rows": [_as_row(me, one) for one in describe_sets(me.study, sets)],
        "bonuses": _list_bonuses(me),
        "home_url": address(request, "participant-home"),
        "is_asked": request.GET.get("review") == "asked",
        "error": error,
        "error_set": number,
        "text": text[:LONGEST_TEXT],
        "longest": LONGEST_TEXT,
        "is_withdrawn": me.withdrawn_at is not None,
        "is_paid": True,
        **describe_kept_id(me),
    }
    return render(request, "participants/work.html", context, status=422 if error else 200)


def _fault_of(text: str) -> str:
    if not text:
        return _("Tell us what happened")
    if len(text) > LONGEST_TEXT:
        return _("Please write %(number)s characters at most") % {"number": LONGEST_TEXT}
    return ""


def _as_row(me: Participant, one: PaySet) -> WorkRow:
    currency, bonus = me.study.currency, one.approval.bonus
    return WorkRow(
        one, format_money(one.amount, currency), format_money(bonus, currency) if bonus else ""
    )


def _list_bonuses(me: Participant) -> list[dict[str, Any]]:
    """Return what is due for minutes that no outcome paid."""
    visits = me.visits.filter(bonus__isnull=False).order_by("pk")
    return [
        {
            "amount": format_money(visit.bonus, me.study.currency),
            "minutes": visit.bonus_minutes,
            "marked_at": visit.bonus_marked_at,
        }
        for visit in visits
        if visit.bonus is not None
    ]
