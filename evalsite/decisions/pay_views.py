"""Staff pages: pay, deciding on sets, and answering reviews."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.paginator import Paginator
from django.db.models import Case, Q, When
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods, require_safe

from evalsite.core.csv_download import send_csv
from evalsite.decisions.models import Approval
from evalsite.decisions.pay import (
    LONGEST_TEXT,
    PaySet,
    add_bonus,
    answer_review,
    approve_sets,
    count_states,
    describe_sets,
    filter_state,
    find_rate,
    find_reasons,
    is_paid,
    list_payable,
    list_reviews,
    mark_sets_paid,
    reject_sets,
    unmark_paid,
    with_answer_counts,
)
from evalsite.lib.csv_writer import write_guarded
from evalsite.people.models import ItemSet, Recruitment
from evalsite.studies.forms import use_our_words
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import may_see_identities, study_page
from evalsite.studies.summary_lines import count_of, format_money, name_of_file

INVALID = 422
PAGE = 50
# as many sets as can be decided on at once
_MOST = 500
State = Approval.State
_EDITOR = Membership.Role.EDITOR
LABELS = {state.value: state.label.capitalize() for state in State}


@dataclass(frozen=True)
class PayRow:
    """A set as the page shows it."""

    pay_set: PaySet
    amount: str
    bonus: str
    minutes: int | None


def _as_rows(study: Study, sets: Sequence[PaySet]) -> list[PayRow]:
    return [
        PayRow(
            pay_set,
            format_money(pay_set.amount, study.currency),
            format_money(pay_set.approval.bonus, study.currency) if pay_set.approval.bonus else "",
            None if pay_set.minutes is None else max(1, round(pay_set.minutes)),
        )
        for pay_set in sets
    ]


# of the width of the chart in per cent: what a label takes in a wide window, and on a phone
_LABEL, _LABEL_ON_PHONE = 14.0, 42.0
# reviews first, then what waits
_URGENCY = Case(
    When(approval__state=State.REVIEW, then=0),
    When(Q(approval__isnull=True) | Q(approval__state=State.WAITING), then=1),
    default=2,
)


@study_page(
    "pay/", name="study-pay", place="People", tab="Pay", order=67, role=_EDITOR, is_shown=is_paid
)
@require_safe
def show_pay(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show who is due what, what was decided, and whether the pay is what was promised."""
    if not is_paid(study):
        return redirect("admin:study-people", study.pk)
    counts = count_states(study)
    asked = request.GET.get("state", "")
    state = asked if asked in counts else ""
    sets = with_answer_counts(list_payable(study)).order_by(_URGENCY, "-created_at", "-pk")
    if state:
        sets = filter_state(sets, state)
    paginator = Paginator(sets, PAGE)
    # known already
    paginator.count = counts[state] if state else sum(counts.values())
    rows = paginator.get_page(request.GET.get("page"))
    rounds = list(study.recruitments.order_by("number"))
    reviews = list_reviews(study).select_related("item_set__participant")
    context = {
        "rows": rows,
        "sets": _as_rows(study, describe_sets(study, rows, rounds)),
        "state": state,
        "states": [(key, LABELS[key], number) for key, number in counts.items()],
        "total": sum(counts.values()),
        "waiting": counts[State.WAITING],
        "approved": counts[State.APPROVED],
        "acts": [
            key
            for key, states in OFFERED.items()
            if any(counts[each] for each in states if state in ("", each))
        ],
        "reviews": list(reviews) if counts[State.REVIEW] else [],
        "rate": _draw_rate(study, rounds),
        "exported": [
            recruitment
            for recruitment in rounds
            if recruitment.number and recruitment.adapter.export
        ],
        "pays": is_paid(study),
        "rounds": [
            recruitment
            for recruitment in rounds
            if recruitment.number and recruitment.adapter.hands_back
        ],
        "may_decide": may_see_identities(request, study) and study.state != "archived",
    }
    return TemplateResponse(request, "decisions/pay.html", context)


def _draw_rate(study: Study, rounds: Sequence[Recruitment]) -> dict[str, Any] | None:
    """Return the hourly pay as measured, as promised and as panels require, with their places."""
    rate = find_rate(study)
    if rate is None:
        return None
    required = max(
        (Decimal(str(round_.adapter.least_pay.get(study.currency, 0))) for round_ in rounds),
        default=Decimal(0),
    )
    most = max(rate.measured, rate.promised, required) * Decimal("1.25")
    amounts = {"promised": rate.promised, "required": required, "measured": rate.measured}
    places = {name: float(100 * amount / most) for name, amount in amounts.items()}
    words = {name: format_money(amount, study.currency) for name, amount in amounts.items()}
    labels: list[tuple[str, float, str]] = []
    for text, place in (
        (f"{words['promised']} promised", places["promised"]),
        (f"{words['required']} required" if required else "", places["required"]),
        (format_money(Decimal(0), study.currency), 0.0),
    ):
        # those that would touch another are left out
        nearest = min((abs(place - before) for _, before, _ in labels), default=100.0)
        if text and nearest >= _LABEL:
            align = "mid" if place >= _LABEL / 2 else ""
            labels.append((text, place, align if nearest >= _LABEL_ON_PHONE else f"{align} odd"))
    return {
        "rate": rate,
        "pay": format_money(study.pay_per_set or Decimal(0), study.currency),
        **words,
        "required": words["required"] if required else "",
        **{f"{name}_at": f"{place:.1f}%" for name, place in places.items()},
        "labels": [(text, f"{place:.1f}%", align.strip()) for text, place, align in labels],
    }


# --- deciding -----------------------------------------------------------------------------------


class ChosenForm(forms.Form):
    """What is to be done with which sets, as a list or the page that is confirmed sends it."""

    do = forms.CharField()
    set = forms.ModelMultipleChoiceField(ItemSet.objects.none(), required=False)

    def __init__(self, data: Any, *, study: Study) -> None:
        super().__init__(data)
        self.fields["set"].queryset = study.item_sets.all()  # type: ignore[attr-defined]


class DecisionForm(forms.Form):
    """What else a decision takes: a reason and a message, or an amount."""

    reason = forms.ChoiceField(label="Reason", widget=forms.RadioSelect)
    message = forms.CharField(
        label="What they’ll read",
        max_length=LONGEST_TEXT,
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    amount = forms.DecimalField(max_digits=8, decimal_places=2, min_value=Decimal("0.01"))

    def __init__(self, data: Any, *, do: str, sets: Sequence[PaySet], currency: str) -> None:
        super().__init__(data)
        self.fields["amount"].label = f"Bonus for each set ({currency})"
        kept = {"reject": ("reason", "message"), "bonus": ("amount",)}.get(do, ())
        for name in [name for name in self.fields if name not in kept]:
            del self.fields[name]
        if "reason" in self.fields:
            reasons = [(reason.key, reason.label) for reason in find_reasons(sets)]
            self.fields["reason"].choices = reasons  # type: ignore[attr-defined]
            least = max((pay_set.recruitment.adapter.least_message for pay_set in sets), default=1)
            if least > 1:
                self.fields["message"].help_text = f"{least} characters or more."
        use_our_words(self.fields.values())


@dataclass(frozen=True)
class Act:
    """Something to do with selected sets: which of them it concerns, and how it is done."""

    states: tuple[str, ...]
    done: str
    run: Callable[..., int]


_ACTS = {
    "approve": Act((State.WAITING, State.REJECTED), "approved", approve_sets),
    "reject": Act((State.WAITING,), "rejected", reject_sets),
    "bonus": Act(tuple(State.values), "given a bonus", add_bonus),
    "mark": Act((State.APPROVED,), "marked as paid", mark_sets_paid),
    "unmark": Act((State.PAID,), "no longer marked as paid", unmark_paid),
}


# the states in which a set can be decided on in each way
OFFERED = {key: act.states for key, act in _ACTS.items()}
_APPROVE_PASSED = "approve-passed"


def _insist_on_identities(request: HttpRequest, study: Study) -> None:
    if not may_see_identities(request, study):
        raise PermissionDenied


@study_page("pay/decide/", name="pay-decide", role=_EDITOR, within="Pay")
@require_http_methods(["GET", "HEAD", "POST"])
def decide(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show what would be decided about the selected sets; a post decides it."""
    _insist_on_identities(request, study)
    data = request.POST if request.method == "POST" else request.GET
    chosen = ChosenForm(data, study=study)
    values = chosen.cleaned_data if chosen.is_valid() else {}
    do, ids = values.get("do", ""), [item_set.pk for item_set in values.get("set", ())]
    if do == _APPROVE_PASSED:
        do, ids = "approve", _list_passed(study)
        if not ids:
            messages.info(
                request,
                "Every waiting set failed an attention check, or its person reported more items "
                "than they answered.",
            )
            return redirect(f"{_pay_url(study)}?state={State.WAITING}")
    return decide_on(request, study, do, ids)


def decide_on(request: HttpRequest, study: Study, do: str, ids: list[UUID]) -> HttpResponseBase:
    """Show what would be decided about these sets; a post decides it."""
    _insist_on_identities(request, study)
    act = _ACTS.get(do)
    if act is None or not ids:
        messages.error(request, "Select one or more sets first.")
        return redirect("admin:study-pay", study.pk)
    sets = [
        pay_set
        for pay_set in describe_sets(study, list_payable(study).filter(pk__in=ids))
        if pay_set.state in act.states
        or (do == "mark" and pay_set.state == State.PAID and pay_set.bonus_by_hand)
    ]
    data = request.POST if request.method == "POST" else None
    form = DecisionForm(data, do=do, sets=sets, currency=study.currency)
    if form.is_valid() and sets:
        try:
            return _run(request, study, do, ids, form)
        except ValidationError as error:
            form.add_error(None, error)
    context = {
        "do": do,
        "form": form,
        "sets": _as_rows(study, sets),
        "left_out": len(ids) - len(sets),
        "people": len({pay_set.item_set.participant_id for pay_set in sets}),
        "amount": format_money(_add_up(do, sets), study.currency),
        "notes": sorted({pay_set.recruitment.adapter.approval_note for pay_set in sets} - {""}),
    }
    status = INVALID if form.errors else 200
    return TemplateResponse(request, "decisions/pay_decide.html", context, status=status)


def _add_up(do: str, sets: Sequence[PaySet]) -> Decimal:
    """Return what this decision is about, in all."""
    if do == "approve":
        return sum((pay_set.worth for pay_set in sets), Decimal(0))
    paid_now = (pay_set.bonus_by_hand if do == "mark" else Decimal(0) for pay_set in sets)
    kept = (pay_set.amount for pay_set in sets if do != "mark" or pay_set.state != State.PAID)
    return sum((*kept, *paid_now), Decimal(0))


def _list_passed(study: Study) -> list[UUID]:
    """Return the waiting sets in which no attention check failed, the oldest first.

    Those of people who mostly reported are left out, so that someone looks at them first.
    """
    waiting = filter_state(list_payable(study), State.WAITING).order_by("created_at", "pk")
    sets = describe_sets(study, waiting[:_MOST])
    return [
        row.item_set.pk for row in sets if not row.attention.failed and not row.is_mostly_reports
    ]


def _run(
    request: HttpRequest, study: Study, do: str, ids: list[UUID], form: DecisionForm
) -> HttpResponseBase:
    act = _ACTS[do]
    done = act.run(study=study, set_ids=ids, by=request.user, **form.cleaned_data)
    messages.success(request, f"{count_of(done, 'set')} {act.done}.")
    if do == "approve":
        return redirect(f"{_pay_url(study)}?state={State.APPROVED}#files")
    return redirect("admin:study-pay", study.pk)


def _pay_url(study: Study) -> str:
    return redirect("admin:study-pay", study.pk).url


# --- reviews --------------------------------------------------------------------------------------


class ReviewForm(forms.Form):
    """The answer to somebody who asked for a rejection to be looked at again."""

    answer = forms.ChoiceField(
        label="Your answer",
        choices=[("approve", "Approve the set"), ("keep", "Keep the rejection")],
        widget=forms.RadioSelect,
        error_messages={"required": "Choose whether the set is approved."},
    )
    text = forms.CharField(
        label="What they’ll read",
        max_length=LONGEST_TEXT,
        widget=forms.Textarea(attrs={"rows": 4}),
        error_messages={"required": "Write what the person will read."},
    )

    def __init__(self, data: Any) -> None:
        super().__init__(data)
        use_our_words(self.fields.values())


@study_page("pay/reviews/<int:approval_id>/", name="pay-review", role=_EDITOR, within="Pay")
@require_http_methods(["GET", "HEAD", "POST"])
def show_review(request: HttpRequest, study: Study, approval_id: int) -> HttpResponseBase:
    """Show a rejection that somebody asked to be looked at again, and take the answer to it."""
    _insist_on_identities(request, study)
    approval = get_object_or_404(
        Approval.objects.filter(study=study, review_asked_at__isnull=False).select_related(
            "item_set__participant", "decided_by"
        ),
        pk=approval_id,
    )
    form = ReviewForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        answered = answer_review(
            study=study,
            set_id=approval.item_set_id,
            is_approved=form.cleaned_data["answer"] == "approve",
            answer=form.cleaned_data["text"],
            by=request.user,
        )
        if answered:
            words = "The review is answered. They read your answer on their page."
            messages.success(request, words)
        else:
            messages.warning(request, "This review has been answered already.")
        return redirect("admin:study-pay", study.pk)
    [pay_set] = describe_sets(study, [approval.item_set])
    reasons = {reason.key: reason.label for reason in pay_set.recruitment.adapter.reasons}
    context = {
        "approval": approval,
        "reason": reasons.get(approval.reason, ""),
        "row": _as_rows(study, [pay_set])[0],
        "worth": format_money(pay_set.worth, study.currency),
        "form": form,
    }
    status = INVALID if form.errors else 200
    return TemplateResponse(request, "decisions/pay_review.html", context, status=status)


# --- the table ------------------------------------------------------------------------------------

_AT_ONCE = 500
COLUMNS = (
    "participant", "set", "round", "platform", "items", "answered", "finished_at", "minutes",
    "attention_asked", "attention_failed", "state", "decided_at", "paid_at", "amount", "bonus",
    "bonus_paid_at", "currency",
)  # fmt: skip


@study_page("pay/table.csv", name="pay-table", role=_EDITOR)
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
