"""Staff pages: one action on one or many people, each with a page that says what it would do."""

from collections.abc import Callable, Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evalsite.core.audit.models import AuditEntry
from evalsite.decisions.models import LONGEST_NOTE, AnalysisPlan, Exclusion, Note
from evalsite.decisions.notes import add_notes, delete_note
from evalsite.decisions.pay import list_payable
from evalsite.decisions.pay_views import decide_on
from evalsite.handout.models import Annotation, Slot
from evalsite.participation.stopping import stop_person
from evalsite.people.models import ItemSet, Participant, ParticipantIdentity, StopKind
from evalsite.people.names import name_people
from evalsite.people.platforms import get_platform
from evalsite.results.people.lookup import clean_search, find_people, list_people
from evalsite.results.people.work import read_work
from evalsite.studies.forms import use_our_words
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import may_see_identities, study_page
from evalsite.studies.summary_lines import count_of

# one action changes at most so many people
MOST_AT_ONCE = 500
SHOWN = 50
INVALID = 422
_EDITOR = Membership.Role.EDITOR


class PeopleForm(forms.Form):
    """Whom a page is about, as it was shown; `p` is short because addresses hold many."""

    p = forms.ModelMultipleChoiceField(
        Participant.objects.none(),
        to_field_name="pseudonym",
        widget=forms.MultipleHiddenInput,
        error_messages={
            "required": "Select one or more people first.",
            "invalid_choice": "Someone you selected isn’t in this study. Select people again.",
        },
    )

    def __init__(self, data: Any, *, study: Study, people: Sequence[Participant] = ()) -> None:
        super().__init__(data, initial={"p": people})
        self.fields["p"].queryset = mark_excluded(study.participants.all())  # type: ignore[attr-defined]
        use_our_words(self.fields.values())

    def read_people(self) -> list[Any]:
        """Return those whom the form was sent with, or those whom the page is to show."""
        if not self.is_bound:
            return list(self.initial["p"])
        self.full_clean()
        return list(self.cleaned_data.get("p", []))


class StopForm(PeopleForm):
    """The kind of reason, the reason for the team, and what people read."""

    kind = forms.ChoiceField(
        label="Why are you stopping them?",
        choices=[
            (
                StopKind.OURS.value,
                "Our reason, such as a fault in the texts. They get the completed code and the "
                "full reward.",
            ),
            (
                StopKind.CONDUCT.value,
                "Their conduct, such as answers from a script. They are paid for each item they "
                "rated, and get no completed code.",
            ),
        ],
        widget=forms.RadioSelect,
        error_messages={"required": "Choose why you are stopping them."},
    )
    reason = forms.CharField(
        label="Reason",
        max_length=200,
        help_text="For your team: it’s kept in the log. People who rate don’t see it.",
        error_messages={"required": "Enter a reason."},
    )
    message = forms.CharField(
        label="What they’ll read when they next open the study",
        max_length=2000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
    )


class NoteForm(PeopleForm):
    """What the team should know about these people."""

    text = forms.CharField(
        label="Note",
        max_length=LONGEST_NOTE,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Your team sees it, with your name and the time. It’s kept out of exports.",
        error_messages={"required": "Enter a note."},
    )


# --- whom it is about -----------------------------------------------------------------------------


def mark_excluded(people: QuerySet[Participant]) -> QuerySet[Any]:
    """Return these people with `is_excluded`, the newest first."""
    active = Exclusion.objects.active().filter(participant=OuterRef("pk"))
    return people.annotate(is_excluded=Exists(active)).order_by("-id")


def choose_people(
    request: HttpRequest, study: Study, plan: AnalysisPlan | None = None
) -> list[Any]:
    """Return whom the address names: those who were ticked, or everyone in the list or search.

    `plan`: the study's, where it is at hand.
    """
    asked = request.GET
    if not asked.get("everyone"):
        names = [name for name in asked.getlist("p") if "\0" not in name][:MOST_AT_ONCE]
        return list(mark_excluded(study.participants.filter(pseudonym__in=names)))
    search = clean_search(asked.get("q", ""))
    if search:
        names_seen, sees = name_people(request, study), may_see_identities(request, study)
        people = find_people(study, search, names=names_seen, by_receipt=sees)
    elif show := asked.get("show", ""):
        people = study.participants.filter(pk__in=list_people(read_work(study, plan), show))
    else:
        people = study.participants.all()
    return list(mark_excluded(people.filter(is_pilot=False))[:MOST_AT_ONCE])


def refuse_nobody(request: HttpRequest, study: Study) -> HttpResponseBase:
    messages.error(request, "Select one or more people first.")
    return redirect("admin:study-people", study.pk)


def describe_rows(people: Sequence[Any], *, is_stopping: bool = False) -> list[dict[str, Any]]:
    """Return where each of these people is, in two or three queries for all of them."""
    ids = [person.pk for person in people]
    answers = Annotation.objects.given().filter(participant__in=ids).order_by()
    counts = dict(answers.values_list("participant").annotate(n=Count("pk")))
    # only who is stopped gives back what they have
    leased = Slot.objects.leased().filter(participant__in=ids if is_stopping else []).order_by()
    leases = dict(leased.values_list("participant").annotate(n=Count("pk")))
    sets = ItemSet.objects.filter(participant__in=ids, finished_at=None)
    numbers = dict(sets.values_list("participant", "number"))
    return [
        {
            "person": person,
            "state": _name_state(person, numbers.get(person.pk)),
            "answers": counts.get(person.pk, 0),
            "leases": leases.get(person.pk, 0),
            "is_working": person.pk in numbers,
            "changes": True,
        }
        for person in people
    ]


def _name_state(person: Any, open_set: int | None) -> str:
    state = f"Set {open_set} in progress" if open_set is not None else "No set in progress"
    if person.stopped_at is not None:
        state = "Stopped"
    if person.withdrawn_at is not None:
        state = "Withdrawn"
    return f"{state}, excluded" if person.is_excluded else state


def sum_rows(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the rows for a template, with the sums of those that would change."""
    changed = [row for row in rows if row["changes"]]
    return {
        "rows": rows[:SHOWN],
        "more": len(rows[SHOWN:]),
        "changed": len(changed),
        "answers": sum(row["answers"] for row in changed),
        "leases": sum(row["leases"] for row in changed),
        "only": changed[0]["person"] if len(changed) == 1 else None,
    }


def _answer(
    request: HttpRequest,
    study: Study,
    form: PeopleForm,
    rows: Sequence[dict[str, Any]],
    act: Callable[..., str],
) -> HttpResponseBase:
    """Do it to everyone whom it changes, if the form is right; else show what it would do."""
    people = [row["person"] for row in rows if row["changes"]]
    if form.is_valid() and people:
        done = act(study, people, form.cleaned_data, request.user)
        if left_out := len(rows) - len(people):
            who = count_of(left_out, "person was", "people were")
            done = f"{done} {who} left out, because nothing changes for them any more."
        messages.success(request, done)
        if len(rows) == 1:
            return redirect("admin:study-person", study.pk, people[0].pseudonym)
        return redirect("admin:study-people", study.pk)
    name = "stop" if isinstance(form, StopForm) else "note"
    context = {"do": name, "form": form, **sum_rows(rows)}
    status = INVALID if form.errors else 200
    return TemplateResponse(request, "results/people_act.html", context, status=status)


# --- stopping, notes ------------------------------------------------------------------------------


# before the pages of single people, whose addresses look alike
@study_page("people/stop/", name="people-stop", role=_EDITOR, within="study-people")
@require_http_methods(["GET", "HEAD", "POST"])
def stop_people(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show what stopping these people does to each, and do it."""
    data = request.POST if request.method == "POST" else None
    form = StopForm(data, study=study, people=choose_people(request, study))
    people = form.read_people()
    if not people:
        return refuse_nobody(request, study)
    rows = describe_rows(people, is_stopping=True)
    for row in rows:
        person = row["person"]
        is_here = person.stopped_at is None and person.withdrawn_at is None
        # somebody who is chosen alone may be kept from further sets
        row["changes"] = is_here and not person.is_pilot and (row["is_working"] or len(people) == 1)
    return _answer(request, study, form, rows, _stop)


def _stop(study: Study, people: Sequence[Participant], values: dict[str, Any], by: Any) -> str:
    kind = StopKind(values["kind"])
    stopped = [
        person.pseudonym for person in people if stop_person(person, kind, values["message"])
    ]
    if stopped:
        AuditEntry.objects.record(
            "person stopped", by=by, study_id=study.pk, who=", ".join(stopped), kind=kind.value,
            reason=values["reason"],
        )  # fmt: skip
    return f"{count_of(len(stopped), 'person', 'people')} stopped. Their places are free."


@study_page("people/note/", name="people-note", role=_EDITOR, within="study-people")
@require_http_methods(["GET", "HEAD", "POST"])
def note_people(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Add a note of the team to each of these people."""
    data = request.POST if request.method == "POST" else None
    form = NoteForm(data, study=study, people=choose_people(request, study))
    people = form.read_people()
    if not people:
        return refuse_nobody(request, study)
    return _answer(request, study, form, describe_rows(people), _note)


def _note(study: Study, people: Sequence[Participant], values: dict[str, Any], by: Any) -> str:
    added = add_notes(study=study, text=values["text"], by=by, participants=people)
    return f"{count_of(added, 'note')} added."


@study_page("notes/<int:note_id>/delete/", name="note-delete", role=_EDITOR)
@require_POST
def remove_note(request: HttpRequest, study: Study, note_id: int) -> HttpResponseBase:
    """Delete a note, which only its author may."""
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


# --- pay, messages --------------------------------------------------------------------------------


@study_page("people/pay/", name="people-pay", role=_EDITOR, within="study-people")
@require_safe
def decide_on_pay(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show what would be decided about the sets of these people."""
    people = choose_people(request, study)
    if not people:
        return refuse_nobody(request, study)
    sets = list_payable(study).filter(participant__in=people).values_list("pk", flat=True)
    if not sets:
        messages.info(request, "Nobody you selected has a set to pay yet.")
        return redirect("admin:study-people", study.pk)
    return decide_on(request, study, request.GET.get("do", ""), list(sets))


@study_page("people/message/", name="people-message", role=_EDITOR, within="study-people")
@require_http_methods(["GET", "HEAD", "POST"])
def write_message(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show a text to copy; a post shows the ids to write to, and is logged. Nothing is sent."""
    if not may_see_identities(request, study):
        raise PermissionDenied
    data = request.POST if request.method == "POST" else None
    form = PeopleForm(data, study=study, people=choose_people(request, study))
    people = form.read_people()
    if not people:
        return refuse_nobody(request, study)
    by_platform: dict[str, list[str]] = {}
    if form.is_bound:
        identities = ParticipantIdentity.objects.filter(study=study, participant__in=people)
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
        "form": form,
        "people": people,
        "platforms": [
            (get_platform(key).label, "\n".join(ids), len(ids)) for key, ids in by_platform.items()
        ],
    }
    return TemplateResponse(request, "results/people_message.html", context)
