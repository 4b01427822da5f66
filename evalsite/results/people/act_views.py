"""Staff pages: one action on one or many people, each with a page that says what it would do."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Count, Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from evalsite.annotation.models import Annotation, Slot
from evalsite.annotation.pages.stopping import stop_person
from evalsite.annotation.running.stop_views import StopForm
from evalsite.audit.models import AuditEntry
from evalsite.participants.models import ItemSet, Participant, ParticipantIdentity, StopKind
from evalsite.platforms import get_platform
from evalsite.quality.exclusions import exclude, foresee_exclusion
from evalsite.quality.frozen_plans import PLANNED
from evalsite.quality.models import LONGEST_NOTE, Exclusion, ExclusionRule, Note
from evalsite.quality.notes import add_notes, delete_note
from evalsite.quality.pay import list_payable
from evalsite.quality.pay_views import decide_on
from evalsite.results.exclusions.views import ExclusionForm, list_bases
from evalsite.results.people.lookup import MOST_AT_ONCE, clean_search, find_people, show_only
from evalsite.results.people.work import read_work
from evalsite.results.progress import count_edge
from evalsite.studies.forms import use_our_words
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import (
    StudyView,
    may_see_identities,
    move_into_address,
    read_choice,
)
from evalsite.studies.summary_lines import count_of

SHOWN = 50
INVALID = 422
# its page shows identities, which the log keeps: it is never an address that changes nothing
_MESSAGE = "message"
# what the form says when somebody comes to tell people something
MESSAGE = (
    "Thank you for your work on our study. We have looked at your answers and would like to ask "
    "you about them."
)


class NoteForm(forms.Form):
    """What the team should know about these people."""

    text = forms.CharField(
        label="Note",
        max_length=LONGEST_NOTE,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Your team sees it, with your name and the time. It’s kept out of exports.",
        error_messages={"required": "Enter a note."},
    )

    def __init__(self, data: Any) -> None:
        super().__init__(data)
        use_our_words(self.fields.values())


@dataclass(frozen=True, kw_only=True)
class Row:
    """One person: what the action would do about them."""

    person: Participant
    now: str
    answers: int
    held: int
    changes: bool


@dataclass(frozen=True)
class Act:
    """One action: its form, whom it changes, and how it is done."""

    make_form: Callable[[Any, Study, Sequence[Participant]], forms.Form]
    changes: Callable[[Row], bool]
    run: Callable[..., str]


def choose_people(request: HttpRequest, study: Study) -> list[Any]:
    """Return those who were ticked, or all of the list or search; of this study alone.

    Each of them says with `is_excluded` whether they are excluded.
    """
    chosen = read_choice(request)
    if chosen.get("everyone") == "yes":
        search = clean_search(chosen.get("q", ""))
        sees = may_see_identities(request, study)
        found = find_people(study, search, by_receipt=sees).filter(is_pilot=False)
        shown = "" if search else chosen.get("show", "")
        if shown:
            found = show_only(found, shown, read_work(study))
        return list(_mark_excluded(found)[:MOST_AT_ONCE])
    names = [name for name in chosen.getlist("participant") if "\0" not in name][:MOST_AT_ONCE]
    found = study.participants.filter(pseudonym__in=names).order_by("-id")
    return list(_mark_excluded(found))


def _mark_excluded(people: QuerySet[Participant]) -> QuerySet[Any]:
    standing = Exclusion.objects.active().filter(participant=OuterRef("pk"))
    return people.annotate(is_excluded=Exists(standing))


@require_http_methods(["GET", "HEAD", "POST"])
def act_on_people(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show what the action would do to each person, then do it."""
    do = read_choice(request).get("do", "")
    if do != _MESSAGE and (moved := move_into_address(request)):
        return moved
    people = choose_people(request, study)
    if not people:
        messages.error(request, "Select one or more people first.")
    elif do in ("approve", "reject"):
        return _decide_on_pay(request, study, do, people)
    elif do == _MESSAGE and request.method == "POST":
        return _show_message(request, study, people)
    elif do in _ACTS:
        return _act(request, study, do, people)
    else:
        messages.error(request, "Choose what to do with them.")
    return redirect("admin:study-people", study.pk)


def _act(
    request: HttpRequest, study: Study, do: str, people: Sequence[Participant]
) -> HttpResponseBase:
    act = _ACTS[do]
    rows = describe_rows(people, act.changes, is_stopping=do == "stop")
    open_people = [row.person for row in rows if row.changes]
    is_confirmed = request.POST.get("confirmed") == "yes"
    form = act.make_form(request.POST if is_confirmed else None, study, open_people)
    if is_confirmed and open_people and form.is_valid():
        try:
            done = act.run(
                study=study, people=open_people, given=form.cleaned_data, by=request.user
            )
        except ValidationError as error:
            form.add_error(None, error)
        else:
            _report_done(request, done, len(people) - len(open_people))
            return redirect(
                f"admin:study-{'exclusions' if do == 'exclude' else 'people'}", study.pk
            )
    context = {
        "do": do,
        "form": form,
        **_sum_rows(study, rows),
        **(_foresee(study, open_people) if do == "exclude" else {}),
    }
    status = INVALID if form.errors else 200
    return TemplateResponse(request, "results/people_act.html", context, status=status)


def _decide_on_pay(
    request: HttpRequest, study: Study, do: str, people: Sequence[Participant]
) -> HttpResponseBase:
    sets = list(list_payable(study).filter(participant__in=people).values_list("pk", flat=True))
    if not sets:
        messages.info(request, "Nobody you selected has a set to pay yet.")
        return redirect("admin:study-people", study.pk)
    return decide_on(request, study, do, sets)


def _report_done(request: HttpRequest, done: str, left_out: int) -> None:
    if left_out:
        who = count_of(left_out, "person was", "people were")
        done = f"{done} {who} left out, because nothing changes for them any more."
    messages.success(request, done)


def describe_rows(
    people: Sequence[Any], changes: Callable[[Row], bool], *, is_stopping: bool
) -> list[Row]:
    """Return where each of these people is, in a few queries for all of them."""
    ids = [one.pk for one in people]
    answers = Annotation.objects.given().filter(participant__in=ids).order_by()
    given = dict(answers.values_list("participant").annotate(n=Count("pk")))
    # only who is stopped gives back what they hold
    leased = Slot.objects.leased().filter(participant__in=ids if is_stopping else [])
    held = dict(leased.order_by().values_list("participant").annotate(n=Count("pk")))
    open_sets = dict(
        ItemSet.objects.filter(participant__in=ids, finished_at=None).values_list(
            "participant", "number"
        )
    )
    rows = []
    for one in people:
        state = _name_state(one, open_sets.get(one.pk))
        row = Row(
            person=one,
            now=f"{state}, excluded" if one.is_excluded else state,
            answers=given.get(one.pk, 0),
            held=held.get(one.pk, 0),
            changes=True,
        )
        rows.append(Row(**{**vars(row), "changes": changes(row)}))
    return rows


def _name_state(one: Participant, open_set: int | None) -> str:
    if one.withdrawn_at is not None:
        return "Withdrawn"
    if one.stopped_at is not None:
        return "Stopped"
    return f"Set {open_set} in progress" if open_set is not None else "No set in progress"


def _sum_rows(study: Study, rows: Sequence[Row]) -> dict[str, Any]:
    changed = [row for row in rows if row.changes]
    return {
        "rows": rows[:SHOWN],
        "more": rows[SHOWN:],
        "changed": len(changed),
        "answers": sum(row.answers for row in changed),
        "held": sum(row.held for row in changed),
        "one": changed[0].person if len(changed) == 1 else None,
    }


def _foresee(study: Study, people: Sequence[Participant]) -> dict[str, Any]:
    effect = foresee_exclusion(study, participants=people, annotations=[])
    return {"effect": effect, "counted": count_edge(study).done}


# --- what is done -------------------------------------------------------------------------------


def _stop(*, study: Study, people: Sequence[Participant], given: dict[str, Any], by: Any) -> str:
    kind = StopKind(given["kind"])
    stopped = [one.pseudonym for one in people if stop_person(one, kind, given["message"])]
    if stopped:
        AuditEntry.objects.record(
            "person stopped", by=by, study_id=study.pk, who=", ".join(stopped), kind=kind.value,
            reason=given["reason"],
        )  # fmt: skip
    return f"{count_of(len(stopped), 'person', 'people')} stopped. Their places are free."


def _exclude(*, study: Study, people: Sequence[Participant], given: dict[str, Any], by: Any) -> str:
    basis = given["basis"]
    rule = ExclusionRule.objects.get(study=study, pk=basis) if basis.isdecimal() else None
    made = exclude(
        study=study,
        participants=people,
        reason=given["reason"],
        by=by,
        rule=PLANNED if rule or basis == PLANNED else "",
        planned_rule=rule,
    )
    return f"{count_of(len(made), 'person', 'people')} excluded."


def _note(*, study: Study, people: Sequence[Participant], given: dict[str, Any], by: Any) -> str:
    added = add_notes(study=study, text=given["text"], by=by, participants=people)
    return f"{count_of(added, 'note')} added."


def _is_here(row: Row) -> bool:
    return row.person.stopped_at is None and row.person.withdrawn_at is None


_ACTS = {
    "stop": Act(
        lambda data, study, people: StopForm(data),
        lambda row: (
            _is_here(row)
            and not row.person.is_pilot
            and not row.now.startswith("No set in progress")
        ),
        _stop,
    ),
    "exclude": Act(
        lambda data, study, people: ExclusionForm(data, bases=list_bases(study, people)),
        lambda row: not row.now.endswith("excluded"),
        _exclude,
    ),
    "note": Act(lambda data, study, people: NoteForm(data), lambda row: True, _note),
}


# --- writing to people --------------------------------------------------------------------------


def _show_message(
    request: HttpRequest, study: Study, people: Sequence[Participant]
) -> HttpResponseBase:
    """Show a text to copy, and the ids to write to; nothing is sent from here."""
    if not may_see_identities(request, study):
        raise PermissionDenied
    identities = ParticipantIdentity.objects.filter(study=study, participant__in=people)
    by_platform: dict[str, list[str]] = {}
    for platform, outside_id in identities.order_by("pk").values_list("platform", "outside_id"):
        by_platform.setdefault(platform, []).append(outside_id)
    if by_platform:
        AuditEntry.objects.record(
            "identity view",
            by=request.user,
            study_id=study.pk,
            rows=sum(map(len, by_platform.values())),
        )
    context = {
        "text": MESSAGE,
        "people": people,
        "platforms": [
            (get_platform(key).label, "\n".join(ids), len(ids)) for key, ids in by_platform.items()
        ],
    }
    return TemplateResponse(request, "results/people_message.html", context)


# --- notes --------------------------------------------------------------------------------------


@require_POST
def remove_note(request: HttpRequest, study: Study, note_id: int) -> HttpResponseBase:
    """Delete a note of one's own."""
    note = get_object_or_404(
        Note.objects.filter(study=study).select_related("participant"), pk=note_id
    )
    if delete_note(study=study, pk=note_id, by=request.user):
        messages.success(request, "The note is deleted.")
    else:
        messages.info(request, "Only its author can delete a note. Nothing was changed.")
    if note.participant is not None:
        return redirect("admin:study-person", study.pk, note.participant.pseudonym)
    address = reverse("admin:results-item", args=[study.pk, note.item_id])
    return redirect(f"{address}#notes")


_EDITOR = Membership.Role.EDITOR

act_views = [
    # before the pages of single people, whose addresses look alike
    StudyView(
        path="people/act/",
        name="study-people-act",
        view=act_on_people,
        role=_EDITOR,
        within="study-people",
    ),
    StudyView(
        path="notes/<int:note_id>/delete/", name="note-delete", view=remove_note, role=_EDITOR
    ),
]
