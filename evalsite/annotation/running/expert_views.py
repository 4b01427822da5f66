"""Staff pages: experts, their items and progress, inviting more, and reassigning."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods, require_POST

from evalsite.annotation.running.experts import (
    Assignment,
    Named,
    Progress,
    change_due_date,
    foresee_experts,
    invite_experts,
    list_columns,
    list_items_left,
    list_progress,
    list_takers,
    parse_people,
    reassign,
)
from evalsite.annotation.running.recruiting_views import address_of, insist_on_links
from evalsite.lib.clock import now
from evalsite.lib.csv_download import send_csv
from evalsite.lib.csv_writer import write_guarded
from evalsite.lib.mail import is_mail_on
from evalsite.participants.models import Expert
from evalsite.participants.recruiting import record_look_at_links, renew_personal_link
from evalsite.studies.forms import use_our_words
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import StudyView, has_role, may_see_identities
from evalsite.studies.summary_lines import count_of, name_unit

INVALID = 422
_LONGEST_LIST = 20_000


class ExpertsForm(forms.Form):
    """Whom to invite, to which items, and by when."""

    people = forms.CharField(
        label="Names or e-mail addresses, one per line",
        help_text="Or both: “Eva Lind, eva.lind@example.org”.",
        max_length=_LONGEST_LIST,
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    what = forms.ChoiceField(
        label="What each of them rates",
        choices=[
            ("all", "All items"),
            ("share", "A share: split evenly between these people, items of one input together"),
            ("column", "By a column of the batch: each gets the items that carry their name"),
        ],
        widget=forms.RadioSelect,
        initial="all",
    )
    column = forms.ChoiceField(label="Column", required=False)
    due_on = forms.DateField(
        label="Due date", required=False, widget=forms.DateInput(attrs={"type": "date"})
    )
    is_reminded = forms.BooleanField(
        label="Send reminders by e-mail",
        help_text="Two at most: after 3 days if the link hasn’t been opened, and 7 days before "
        "the due date if items are left.",
        required=False,
        initial=True,
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        columns = [(name, name) for name in list_columns(study)]
        self.fields["column"].choices = [("", "Not used"), *columns]  # type: ignore[attr-defined]
        if not is_mail_on():
            del self.fields["is_reminded"]
        use_our_words(self.fields.values())

    def clean_people(self) -> list[Named]:
        return parse_people(self.cleaned_data["people"])

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("what") == "column" and not cleaned.get("column"):
            self.add_error("column", "Choose the column that names people.")
        due_on = cleaned.get("due_on")
        if due_on is not None and due_on < now().date():
            self.add_error("due_on", "Enter a day that isn’t over.")
        return cleaned

    def as_assignment(self) -> Assignment:
        given = self.cleaned_data
        return Assignment(
            people=given["people"],
            what=given["what"],
            column=given["column"],
            due_on=given["due_on"],
            is_reminded=given.get("is_reminded", False),
        )


@require_http_methods(["GET", "HEAD", "POST"])
def show_experts(request: HttpRequest, study: Study) -> HttpResponseBase:
    """How far each expert is, and a form that says what it would do before it does it."""
    form = ExpertsForm(request.POST if request.method == "POST" else None, study=study)
    context: dict[str, Any] = {"form": form}
    if form.is_bound and form.is_valid():
        try:
            if request.POST.get("do") == "invite":
                return _invite(request, study, form.as_assignment())
            context |= _foresee(study, form.as_assignment())
        except ValidationError as error:
            form.add_error(None, error)
    context |= _describe(request, study)
    status = INVALID if form.errors else 200
    return TemplateResponse(request, "studies/experts.html", context, status=status)


def _foresee(study: Study, asked: Assignment) -> dict[str, Any]:
    counts, needed = foresee_experts(study, asked)
    return {
        "new": counts,
        "known": len(asked.people) - len(counts),
        "needed": needed,
        "mails": sum(1 for person, _ in counts if person.email) if is_mail_on() else 0,
    }


def _invite(request: HttpRequest, study: Study, asked: Assignment) -> HttpResponseBase:
    invited = invite_experts(
        study=study, asked=asked, site_address=request.build_absolute_uri("/"), by=request.user
    )
    known = len(asked.people) - invited
    words = f"{count_of(invited, 'person', 'people')} invited." if invited else "Nobody is new."
    if known and invited:
        words += f" {count_of(known, 'person was', 'people were')} invited before."
    messages.success(request, words)
    return redirect("admin:study-experts", study.pk)


def _describe(request: HttpRequest, study: Study) -> dict[str, Any]:
    progress = list_progress(study)
    is_owner = has_role(request, study, _OWNER)
    return {
        "rows": [(row, row.expert.describe(with_address=is_owner), "") for row in progress],
        "started": sum(one.seen_at is not None for one in progress),
        "done": sum(one.done for one in progress),
        "left": sum(one.left for one in progress),
        "due": _find_next_due(progress),
        "today": now().date(),
        "sees_names": may_see_identities(request, study),
        "has_mail": is_mail_on(),
        "may_invite": study.is_launched and not study.has_ended,
        "unsent": sum(not row.expert.mails.all() for row in progress),
    }


def _find_next_due(progress: list[Progress]) -> Any:
    dates = [one.expert.due_on for one in progress if one.left and one.expert.due_on]
    return min(dates, default=None)


@require_POST
def show_links(request: HttpRequest, study: Study) -> HttpResponseBase:
    """The page with everyone's link. By POST, since the log keeps who saw them."""
    insist_on_links(request, study)
    context = {"form": ExpertsForm(study=study)} | _describe(request, study)
    rows = [(row, name, address_of(request, row.expert.link)) for row, name, _ in context["rows"]]
    record_look_at_links(study=study, links=len(rows), by=request.user, experts=True)
    context |= {"rows": rows, "shows_links": True}
    response = TemplateResponse(request, "studies/experts.html", context)
    response.headers["Cache-Control"] = "no-store"
    return response


@require_POST
def download_links(request: HttpRequest, study: Study) -> HttpResponseBase:
    """The links as a file, with names; the addresses of the people are for owners."""
    insist_on_links(request, study)
    is_owner = has_role(request, study, _OWNER)
    header = ["participant", "link", "items", "done", "due_on", "name"]
    rows: list[list[Any]] = [[*header, *(["email"] if is_owner else [])]]
    for progress in list_progress(study):
        expert = progress.expert
        rows.append(
            [
                expert.link.participant or "",
                address_of(request, expert.link),
                progress.total,
                progress.done,
                expert.due_on or "",
                expert.describe(with_address=is_owner),
                *([expert.email] if is_owner else []),
            ]
        )
    record_look_at_links(study=study, links=len(rows) - 1, by=request.user, file="expert_links.csv")
    return send_csv(write_guarded(rows, line_end="\n"), "expert_links.csv", is_personal=True)


@require_http_methods(["GET", "HEAD", "POST"])
def reassign_items(request: HttpRequest, study: Study, expert_id: int) -> HttpResponseBase:
    """Choose who gets what an expert has left."""
    expert = get_object_or_404(
        study.experts.select_related("study", "link__participant"), pk=expert_id
    )
    takers = list_takers(expert)
    chosen = request.POST.get("to", "")
    error = ""
    if request.method == "POST":
        taker = next((one for one in takers if str(one.pk) == chosen), None)
        if taker is None and chosen != "anyone":
            error = "Choose who gets these items."
        else:
            return _reassign(request, study, expert, taker)
    is_owner = has_role(request, study, _OWNER)
    context = {
        "expert": expert,
        "expert_name": expert.describe(with_address=is_owner),
        "left": len(list_items_left(expert)),
        "takers": [(taker, taker.describe(with_address=is_owner)) for taker in takers],
        "error": error,
        "sees_names": may_see_identities(request, study),
    }
    status = INVALID if error else 200
    return TemplateResponse(request, "studies/expert_reassign.html", context, status=status)


def _reassign(
    request: HttpRequest, study: Study, expert: Expert, taker: Expert | None
) -> HttpResponseBase:
    try:
        moved = reassign(expert=expert, to=taker, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, f"{count_of(moved, name_unit(study))} reassigned.")
    return redirect("admin:study-experts", study.pk)


@require_POST
def renew_link(request: HttpRequest, study: Study, expert_id: int) -> HttpResponseBase:
    """End an expert's link and make another, which this person has to hand over."""
    insist_on_links(request, study)
    expert = get_object_or_404(study.experts.select_related("link__recruitment"), pk=expert_id)
    generation = request.POST.get("generation", "")
    if generation.isascii() and generation.isdigit() and len(generation) < 10:
        renew_personal_link(link=expert.link, generation=int(generation), by=request.user)
        messages.success(request, "There is a new link. The old one no longer works.")
    return redirect("admin:study-experts", study.pk)


@require_POST
def change_due(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Set the due date of everybody with items left."""
    field = forms.DateField(required=False)
    try:
        due_on = field.clean(request.POST.get("due_on", ""))
    except ValidationError:
        messages.error(request, "Enter a date such as 2026-11-30.")
    else:
        change_due_date(study=study, due_on=due_on, by=request.user)
        messages.success(request, "The due date is changed.")
    return redirect("admin:study-experts", study.pk)


_EDITOR, _OWNER = Membership.Role.EDITOR, Membership.Role.OWNER

expert_views = [
    StudyView(
        path="invite/experts/",
        name="study-experts",
        view=show_experts,
        role=_EDITOR,
        within="Invite",
    ),
    StudyView(
        path="invite/experts/links/",
        name="expert-links",
        view=download_links,
        role=_EDITOR,
        is_reading=True,
    ),
    StudyView(
        path="invite/experts/links/show/",
        name="expert-links-show",
        view=show_links,
        role=_EDITOR,
        within="Invite",
        is_reading=True,
    ),
    StudyView(path="invite/experts/due/", name="experts-due", view=change_due, role=_EDITOR),
    StudyView(
        path="invite/experts/<int:expert_id>/reassign/",
        name="expert-reassign",
        view=reassign_items,
        role=_EDITOR,
        within="Invite",
    ),
    StudyView(
        path="invite/experts/<int:expert_id>/link/",
        name="expert-renew",
        view=renew_link,
        role=_EDITOR,
    ),
]
