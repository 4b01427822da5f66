"""A person's page about their sets: how far each is, what was decided, and asking for a review."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from math import ceil
from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from evalsite.decisions.models import Approval
from evalsite.decisions.pay import LONGEST_TEXT, PaySet, ask_for_review, describe_sets, list_payable
from evalsite.handout.claims import has_work
from evalsite.handout.leases import answered_items, held_until
from evalsite.participation.consent import describe_deletion
from evalsite.participation.next_step import next_step
from evalsite.participation.rating_views import estimate_minutes_left, seconds_taken
from evalsite.participation.sets import read_progress, wanted_places
from evalsite.participation.view_models import Progress
from evalsite.people.access import (
    address,
    first_link_only,
    page_context,
    participant_page,
)
from evalsite.people.joins import visible_receipt
from evalsite.people.models import ItemSet, Participant
from evalsite.people.services import finished_sets, is_paid, shown_codes
from evalsite.people.views import shut_sentence
from evalsite.people.visits import describe_kept_id
from evalsite.studies.summary_lines import format_money

State = Approval.State

# pages of people for whom no work is left in this study, whatever their open set holds
_AWAY = (
    "participant-withdrawn", "participant-stopped", "participant-declined", "participant-refused",
    "instructions-missed", "participant-unqualified", "participant-end", "participant-shut",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class WorkRow:
    """One set as its person reads it."""

    pay_set: PaySet
    amount: str
    bonus: str
    minutes: int
    code: str = ""
    is_at_work: bool = False

    @property
    def number(self) -> int:
        return self.pay_set.item_set.number

    @property
    def may_ask(self) -> bool:
        """Return whether this rejection can still be looked at again."""
        approval = self.pay_set.approval
        return approval.state == State.REJECTED and approval.review_asked_at is None

    @property
    def is_returned(self) -> bool:
        """Return whether its submission was returned on the platform, or timed out there."""
        visit = self.pay_set.visit
        return self.pay_set.is_own_visit and visit is not None and bool(visit.reported)


class ReviewForm(forms.Form):
    """Why a rejection should be looked at again."""

    set = forms.IntegerField(min_value=1, max_value=9_999)
    text = forms.CharField(max_length=LONGEST_TEXT)


@participant_page
@first_link_only
@require_http_methods(["GET", "HEAD", "POST"])
def work(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Show the state of each set; a rejection says why, and can be looked at again."""
    if participant.is_pilot:
        return redirect(address(request, "participant-home"))
    form = ReviewForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        ask_for_review(
            participant=participant, number=form.cleaned_data["set"], text=form.cleaned_data["text"]
        )
        return redirect(address(request, "participant-work") + "?review=asked")
    error = ""
    if form.has_error("text"):
        error = _("Tell us what happened")
    if form.has_error("text", "max_length"):
        error = _("Please write %(number)s characters at most") % {"number": LONGEST_TEXT}
    open_set = ItemSet.objects.filter(participant=participant, finished_at__isnull=True).first()
    if open_set is not None and (not open_set.total or next_step(participant).name in _AWAY):
        open_set = None
    codes = shown_codes(participant)
    rows = _list_rows(participant, open_set, codes)
    context = page_context(request, participant) | {
        "rows": rows,
        "facts": _sum_up(participant, rows),
        "bonuses": _list_bonuses(participant),
        "home_url": address(request, "participant-home"),
        "start_url": address(request, "participant-start"),
        "is_asked": request.GET.get("review") == "asked",
        "error": error,
        "error_set": form["set"].value() or "",
        "text": form["text"].value() or "",
        "longest": LONGEST_TEXT,
        "review_days": settings.REVIEW_DAYS,
        "is_withdrawn": participant.withdrawn_at is not None,
        "is_paid": is_paid(participant),
        "way_out": codes["way_out"],
        "receipt": visible_receipt(participant),
        **describe_deletion(participant),
        **_describe_state(participant, open_set, rows),
        **describe_kept_id(participant),
    }
    return render(request, "people/work.html", context, status=422 if error else 200)


def _describe_state(
    participant: Participant, open_set: ItemSet | None, rows: list[WorkRow]
) -> dict[str, Any]:
    """Return what the headline says, and which button comes first."""
    rejected = next((row.number for row in rows if row.may_ask), None)
    if open_set is not None:
        times, _groups = read_progress(participant, open_set)
        taken = seconds_taken(times, open_set)
        left = len(wanted_places(participant, open_set, answered_items(open_set)))
        return {
            "headline": "left",
            "open_set": open_set,
            "left": left,
            "minutes": estimate_minutes_left(participant, taken, open_set.total) if left else 0,
            "kept_until": held_until(participant),
            "progress": Progress(open_set.total - left, open_set.total),
        }
    may_start = participant.withdrawn_at is None and has_work(participant, participant.study)
    if rejected is not None:
        headline = "rejected"
    elif participant.withdrawn_at is not None or participant.stopped_at is not None:
        headline = ""
    elif participant.study.has_ended or participant.study.is_past_its_end:
        headline = "closed"
    elif not participant.study.is_open:
        headline = "shut"
    elif finished_sets(participant):
        headline = "more" if may_start else "done"
    else:
        headline = ""
    finished = sum(row.pay_set.item_set.finished_at is not None for row in rows)
    return {
        "headline": headline,
        "heading": shut_sentence(participant.study)["heading"] if headline == "shut" else "",
        "rejected": rejected,
        "finished": finished,
        "may_start": may_start and bool(finished),
    }


def _list_rows(
    participant: Participant, open_set: ItemSet | None, codes: dict[str, Any]
) -> list[WorkRow]:
    """Return the sets that were finished or left, and the one at work, the latest first."""
    pks = [
        pk
        for (pk,) in list_payable(participant.study)
        .filter(participant=participant)
        .values_list("pk")
    ]
    if open_set is not None:
        pks.append(open_set.pk)
    sets = ItemSet.objects.filter(pk__in=pks).select_related("approval", "participant")
    shown = dict(codes["earlier_codes"])
    if codes["code"]:
        shown[finished_sets(participant)[-1].number] = codes["code"]
    minutes = _count_minutes(participant)
    currency = participant.study.currency
    return [
        WorkRow(
            pay_set=pay_set,
            amount=format_money(pay_set.amount, currency),
            bonus=format_money(pay_set.approval.bonus, currency) if pay_set.approval.bonus else "",
            minutes=minutes.get(pay_set.item_set.pk, 0),
            code=shown.get(pay_set.item_set.number, ""),
            is_at_work=open_set is not None and pay_set.item_set.pk == open_set.pk,
        )
        for pay_set in describe_sets(participant.study, sets.order_by("-number"))
    ]


def _count_minutes(participant: Participant) -> dict[Any, int]:
    """Return how many minutes this person worked on the items of each set."""
    seconds: dict[Any, float] = {}
    answers = participant.annotations.filter(item_set__isnull=False)
    times = answers.values_list("item_set", "active_ms", "started_at", "submitted_at")
    for item_set, active_ms, started_at, submitted_at in times:
        # without scripts only the times of the pages are known
        whole = (submitted_at - started_at).total_seconds()
        spent = whole if active_ms is None else active_ms / 1000
        seconds[item_set] = seconds.get(item_set, 0) + spent
    return {item_set: ceil(spent / 60) for item_set, spent in seconds.items()}


def _sum_up(participant: Participant, rows: list[WorkRow]) -> dict[str, Any]:
    """Return what was approved, what waits and what the set at work will bring."""
    currency = participant.study.currency

    def add_up(chosen: Iterable[WorkRow]) -> dict[str, Any]:
        summed = list(chosen)
        amount = sum((row.pay_set.amount for row in summed), Decimal(0))
        return {
            "amount": format_money(amount, currency),
            "numbers": ", ".join(str(number) for number in sorted(row.number for row in summed)),
            "sets": len(summed),
        }

    done = [row for row in rows if not row.is_at_work]
    at_work = next((row for row in rows if row.is_at_work), None)
    pay = at_work.pay_set.recruitment.study.pay_per_set if at_work else None
    return {
        "approved": add_up(r for r in done if r.pay_set.state in (State.APPROVED, State.PAID)),
        "waiting": add_up(r for r in done if r.pay_set.state in (State.WAITING, State.REVIEW)),
        "at_work": {"number": at_work.number, "amount": format_money(pay, currency)}
        if at_work and pay is not None
        else None,
        "minutes": sum(row.minutes for row in rows),
        "sets": len(rows),
    }


def _list_bonuses(participant: Participant) -> list[dict[str, Any]]:
    """Return what is due for minutes that no outcome paid."""
    visits = participant.visits.filter(bonus__isnull=False).order_by("pk")
    return [
        {
            "amount": format_money(visit.bonus, participant.study.currency),
            "minutes": visit.bonus_minutes,
            "marked_at": visit.bonus_marked_at,
        }
        for visit in visits
        if visit.bonus is not None
    ]
