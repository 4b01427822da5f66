"""Staff page Invite: people by name with their links, panels, and the open link."""

from copy import copy
from math import ceil
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from evalsite.core.audit.models import AuditEntry
from evalsite.core.csv_download import send_csv
from evalsite.core.mail import is_mail_on
from evalsite.fieldwork.invitations import (
    Progress,
    change_terms,
    foresee,
    invite_people,
    list_items_left,
    list_progress,
    list_takers,
    reassign,
    remove_person,
    send_again,
)
from evalsite.fieldwork.invite_forms import (
    PREVIEW,
    ActForm,
    ChangeForm,
    InviteForm,
    RoundForm,
    SwitchForm,
)
from evalsite.fieldwork.invited_people import count_out_of_reach, find_if_alone
from evalsite.fieldwork.shares import Rates, count_planned, list_items
from evalsite.handout.rounds import count_taken
from evalsite.lib.csv_writer import write_guarded
from evalsite.people.models import Expert, OutcomeCode, PersonalLink, Recruitment
from evalsite.people.platforms import Outcome, installed_platforms
from evalsite.people.recruiting import (
    change_recruitment,
    name_round,
    record_look_at_links,
    renew_personal_link,
    store_open_link,
    turn_off,
    turn_on,
)
from evalsite.studies.models import Membership, Study
from evalsite.studies.set_size import mains_per_set
from evalsite.studies.setting_changes import change_settings
from evalsite.studies.staff_pages import has_role, may_see_identities, study_page
from evalsite.studies.summary_lines import count_of, minutes_per_set, name_unit

INVALID = 422
LAUNCH = "launch"

EDITOR = Membership.Role.EDITOR


@study_page("invite/", name="study-invite", role=EDITOR, place="People", tab="Invite", order=66)
@require_http_methods(["GET", "HEAD", "POST"])
def show_invite(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Who is invited and how far each is; a form for more people says what they would add."""
    form = InviteForm(request.POST if request.method == "POST" else None, study=study)
    if (
        form.is_bound
        and form.action != PREVIEW
        and form.is_valid()
        and _invite(request, study, form)
    ):
        name = "study-launch" if form.action == LAUNCH else "study-invite"
        return redirect(f"admin:{name}", study.pk)
    has_errors = form.is_bound and form.action != PREVIEW and not form.is_valid()
    progress = list_progress(study)
    known = [row.expert for row in progress]
    context = _describe_form(study, form, known) | {"form": form, "has_errors": has_errors}
    context |= _describe_people(request, study, progress, context["items"])
    context |= _describe_rounds(request, study)
    status = INVALID if has_errors else 200
    return TemplateResponse(request, "fieldwork/invite.html", context, status=status)


def _invite(request: HttpRequest, study: Study, form: InviteForm) -> bool:
    """Invite whom the form names; False if that can't be, with the reasons in the form."""
    people, terms = form.cleaned_data["names"], form.read_terms()
    before = study.k
    try:
        with transaction.atomic():
            if "max_items" in form.fields:
                most = form.cleaned_data["max_items"]
                change_settings(study=study, values={"max_items": most}, by=request.user)
            invite_people(
                study=study,
                people=people,
                terms=terms,
                site_address=request.build_absolute_uri("/"),
                by=request.user,
            )
    except ValidationError as error:
        newest = form.cleaned_data["newest"] or 0
        names = set(study.experts.filter(pk__gt=newest).values_list("name", flat=True))
        # the button was pressed twice
        if {person.name for person in people} <= names:
            return True
        form.add_error("names", error)
        return False
    words = f"{count_of(len(people), 'person is', 'people are')} invited."
    study.refresh_from_db(fields=["k"])
    if study.k != before:
        words += f" Each {name_unit(study)} gets {study.k} answers now: {before} until now."
    messages.success(request, words)
    return True


# --- the form --------------------------------------------------------------------------------


def _describe_form(study: Study, form: InviteForm, known: list[Expert]) -> dict[str, Any]:
    """Return what the form says beside its fields: what each choice and all of it come to."""
    shown, forecast, problem = copy(study), None, ""
    is_valid = form.is_bound and form.is_valid()
    people = form.cleaned_data.get("names") if form.is_bound else None
    if form.errors and form.data.get("names", "").strip():
        problem = str(next(text for errors in form.errors.values() for text in errors))
    if people is not None and is_valid:
        if "max_items" in form.fields:
            shown.max_items = form.cleaned_data["max_items"]
        try:
            forecast = foresee(shown, people, form.read_terms())
        except ValidationError as error:
            problem = " ".join(error.messages)
    items = list_items(study).count()
    form.fields["newest"].initial = known[-1].pk if known else None
    return {
        "people": len(people or ()),
        "forecast": forecast,
        "problem": problem,
        "items": items,
        "choices": _describe_choices(study, items, len(people or ()), known),
        "may_invite": not study.has_ended and (study.is_launched or study.version_id is None),
        "has_mail": is_mail_on(),
        "more": _describe_more(form, study),
    }


def _describe_choices(study: Study, items: int, people: int, known: list[Expert]) -> dict[str, str]:
    """Return what stands below each choice: items and minutes of each person."""
    if not items:
        return {}
    rates = [person.rates for person in known]
    open_answers = max(study.k - rates.count(Rates.ALL), 1)
    sharing = rates.count(Rates.SHARE) * (not study.is_launched) + people
    words = {Rates.ALL.value: f"{items:,} each, about {_name_minutes(study, items)}"}
    if sharing:
        each = min(items, ceil(items * open_answers / sharing))
        answers = count_of(min(open_answers, sharing), "answer")
        words[Rates.SHARE.value] = (
            f"{each:,} each, about {_name_minutes(study, each)}: {answers} per {name_unit(study)}"
        )
    return words


def _name_minutes(study: Study, items: int) -> str:
    return count_of(estimate_minutes(study, items), "minute")


def estimate_minutes(study: Study, items: int) -> int:
    """Return how many minutes people are told that so many items take."""
    return ceil(items * minutes_per_set(study) / mains_per_set(study))


def _describe_more(form: InviteForm, study: Study) -> str:
    due_on = form["due_on"].value()
    words = [
        f"Sets of {mains_per_set(study)}, as many as they like",
        "no due date" if not due_on else f"due {due_on}",
    ]
    if "is_reminded" in form.fields:
        words.append("reminders: on" if form["is_reminded"].value() else "reminders: off")
    if study.max_items:
        words.append(f"at most {study.max_items:,}")
    return " · ".join(words)


# --- people ------------------------------------------------------------------------------------


def _describe_people(
    request: HttpRequest, study: Study, progress: list[Progress], items: int
) -> dict[str, Any]:
    sees_names = may_see_identities(request, study)
    is_owner = has_role(request, study, Membership.Role.OWNER)
    if study.is_launched:
        counts = [row.total for row in progress]
        out_of_reach = count_out_of_reach(study) if progress else 0
    else:
        counts, left = count_planned(study, [row.expert for row in progress], items)
        out_of_reach = left if find_if_alone(study).exists() else 0
    rows: list[dict[str, Any]] = [
        {
            "person": row.expert,
            "participant": row.expert.link.participant,
            "name": name_person(row.expert, sees_names=sees_names, is_owner=is_owner),
            "link": address_of(request, row.expert.link) if sees_names else "",
            "done": row.done,
            "total": total,
            "state": name_state(row, study),
            "answered_at": row.answered_at,
            "mail": row.mails[-1] if row.mails else None,
            "may_change": row.expert.link.participant is not None
            and not row.expert.link.participant.withdrawn_at
            and not row.expert.link.participant.stopped_at,
            "has_started": row.has_started,
        }
        for row, total in zip(progress, counts, strict=True)
    ]
    mails = [row["mail"] for row in rows if row["mail"] and not row["mail"].refused_at]
    return {
        "rows": rows,
        "sees_names": sees_names,
        "is_owner": is_owner,
        "sent": len(mails),
        "is_sending": any(mail.sent_at is None for mail in mails),
        "unsent": len(rows) - len(mails),
        "started": sum(row.has_started for row in progress),
        "done": sum(row.done for row in progress),
        "total": sum(counts),
        "out_of_reach": out_of_reach,
        "all_rate_everything": all(row.expert.rates == Rates.ALL for row in progress),
        "message": _write_message(request, study, rows) if sees_names and rows else None,
    }


def name_person(person: Expert, *, sees_names: bool, is_owner: bool) -> str:
    """Return an invited person's name, or the pseudonym for readers who may not see names."""
    if sees_names:
        return person.describe(with_address=is_owner)
    return str(person.link.participant or f"Person {person.link.number}")


def name_state(row: Progress, study: Study) -> str:
    """Return the key of how far an invited person is."""
    participant = row.expert.link.participant
    if participant is None or participant.withdrawn_at:
        return "withdrew"
    if participant.stopped_at:
        return "stopped"
    if not study.is_launched:
        return "draft"
    if row.done:
        return "working" if row.left else "finished"
    return "started" if row.has_started else "waiting"


def address_of(request: HttpRequest, link: PersonalLink) -> str:
    """Return the address to send; "" if it can't be derived again."""
    token = link.token
    path = reverse("participant-home", args=[token]) if token else ""
    return request.build_absolute_uri(path) if path else ""


def _write_message(
    request: HttpRequest, study: Study, rows: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return a message to copy, for the person whom the address names, or for all."""
    to = request.GET.get("to", "")
    chosen = [row for row in rows if str(row["person"].pk) == to]
    if not chosen and to != "all":
        chosen = [row for row in rows if not row["person"].email][:1] or rows[:1]
    people = [
        row | {"minutes": estimate_minutes(study, row["total"]) if row["total"] else 0}
        for row in chosen or rows
    ]
    return {
        "people": people,
        "to": "all" if len(chosen) != 1 else chosen[0]["person"].pk,
        "is_asked": bool(to),
        "sender": study.organisation or str(request.user),
    }


@study_page("invite/people/", name="invited-act", role=EDITOR)
@require_POST
def act_on_person(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Send a link again, make a new one, or take an invitation back."""
    form = ActForm(request.POST)
    values = form.cleaned_data if form.is_valid() else {}
    try:
        if values.get("renew"):
            pk, generation = map(int, values["renew"].split("-"))
            # the person who ends a link has to hand over the new one
            insist_on_links(request, study)
            person = get_object_or_404(_find_people(study), pk=pk)
            renew_personal_link(link=person.link, generation=generation, by=request.user)
            messages.success(request, "There is a new link. The old one no longer works.")
        elif values.get("remove"):
            person = _find_people(study).filter(pk=values["remove"]).first()
            if person is not None:
                remove_person(person=person, by=request.user)
            messages.success(request, "The invitation is removed. Its link no longer works.")
        elif values.get("send"):
            person = get_object_or_404(_find_people(study), pk=values["send"])
            if send_again(person=person, by=request.user):
                messages.success(request, "The link will be sent again within minutes.")
            else:
                messages.warning(
                    request, "Nothing was sent: an e-mail is waiting, or there is none."
                )
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect("admin:study-invite", study.pk)


def _find_people(study: Study) -> Any:
    return study.experts.select_related("study", "link__participant", "link__recruitment")


def insist_on_links(request: HttpRequest, study: Study) -> None:
    """Raise PermissionDenied unless this person may see links, by which anyone acts as another."""
    if not may_see_identities(request, study):
        raise PermissionDenied


@study_page("invite/links.csv", name="invited-links", role=EDITOR, is_reading=True)
@require_POST
def download_links(request: HttpRequest, study: Study) -> HttpResponseBase:
    """The links as a file, with names; the addresses of the people are for owners."""
    insist_on_links(request, study)
    is_owner = has_role(request, study, Membership.Role.OWNER)
    rows: list[list[Any]] = [
        ["participant", "link", "items", "done", "due_on", "name", *(["email"] if is_owner else [])]
    ]
    for row in list_progress(study):
        person = row.expert
        rows.append(
            [
                person.link.participant or "",
                address_of(request, person.link),
                row.total,
                row.done,
                person.due_on or "",
                person.describe(with_address=is_owner),
                *([person.email] if is_owner else []),
            ]
        )
    record_look_at_links(study=study, links=len(rows) - 1, by=request.user, file="links.csv")
    return send_csv(write_guarded(rows, line_end="\n"), "links.csv", is_personal=True)


@study_page("invite/people/<int:person_id>/", name="invited-change", role=EDITOR, within="Invite")
@require_http_methods(["GET", "HEAD", "POST"])
def change_person(request: HttpRequest, study: Study, person_id: int) -> HttpResponseBase:
    """Change what one person rates and by when, or who rates it instead."""
    person = get_object_or_404(_find_people(study), pk=person_id)
    names = {
        "sees_names": may_see_identities(request, study),
        "is_owner": has_role(request, study, Membership.Role.OWNER),
    }
    takers = list_takers(person) if study.is_launched else []
    form = ChangeForm(
        request.POST if request.method == "POST" else None,
        study=study,
        person=person,
        takers=[(taker.pk, name_person(taker, **names)) for taker in takers],
    )
    if form.is_bound and form.is_valid() and _change(request, person, form, takers):
        return redirect("admin:study-invite", study.pk)
    context = {
        "form": form,
        "person": person,
        "name": name_person(person, **names),
        "left": len(list_items_left(person)),
        "has_errors": bool(form.errors),
        "choices": {},
    }
    status = INVALID if form.errors else 200
    return TemplateResponse(request, "fieldwork/invited_person.html", context, status=status)


def _change(request: HttpRequest, person: Expert, form: ChangeForm, takers: list[Expert]) -> bool:
    unit = name_unit(person.study)
    try:
        if form.cleaned_data["rates"] == "none":
            chosen = form.cleaned_data["to"]
            taker = next((taker for taker in takers if str(taker.pk) == chosen), None)
            moved = reassign(expert=person, to=taker, by=request.user)
            words = f"{count_of(moved, unit)} moved. Answers stay where they are."
        else:
            left = change_terms(person=person, terms=form.read_terms(), by=request.user)
            words = f"Saved. {count_of(left, unit)} to rate."
    except ValidationError as error:
        form.add_error("rates", error)
        return False
    messages.success(request, words)
    return True


# --- panels and the open link ---------------------------------------------------------------


def _describe_rounds(request: HttpRequest, study: Study) -> dict[str, Any]:
    """Return the panels in use and those to set up, and the open link."""
    stored: list[Any] = list(count_taken(study.recruitments.order_by("number"), study))
    panels: list[dict[str, Any]] = []
    for platform in installed_platforms().values():
        if platform.is_open_link or platform.has_personal_links:
            continue
        rounds = [round_ for round_ in stored if round_.number and round_.platform == platform.key]
        panels.append(
            {
                "platform": platform,
                "rounds": [
                    {
                        "round": round_,
                        "name": name_round(platform, time, round_),
                        "url": panel_url(study, platform.key, time),
                        "taken": round_.taken,
                    }
                    for time, round_ in enumerate(rounds, start=1)
                ],
                "url": panel_url(study, platform.key, 1),
            }
        )
    open_link = next((round_ for round_ in stored if not round_.number), None)
    open_link = open_link or Recruitment.objects.open_link(study)
    open_link.study = study
    return {
        "panels": panels,
        "on": [row["name"] for panel in panels for row in panel["rounds"] if row["round"].is_on],
        "open_link": open_link,
        "open_taken": getattr(open_link, "taken", 0),
        "join_url": request.build_absolute_uri(reverse("study-join", args=[study.pk])),
        "open_form": make_open_form(None, open_link),
    }


def panel_url(study: Study, key: str, time: int) -> str:
    if time == 1:
        return reverse("admin:study-panel", args=[study.pk, key])
    return reverse("admin:study-panel-again", args=[study.pk, key, time])


def make_open_form(data: Any, open_link: Recruitment) -> RoundForm:
    """Return the form of the open link's settings."""
    stored: list[OutcomeCode] = [] if open_link._state.adding else list(open_link.codes.all())
    possible = {Outcome.COMPLETED}
    return RoundForm(
        data, instance=copy(open_link), stored=stored, possible=possible, prefix="open"
    )


@study_page("invite/open-link/", name="study-open-link", role=EDITOR, within="Invite")
@require_POST
def steer_open_link(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Turn the open link on or off, or save its settings."""
    switch = SwitchForm(request.POST)
    action = switch.cleaned_data["do"] if switch.is_valid() else ""
    open_link = store_open_link(study) if action else Recruitment.objects.open_link(study)
    open_link.study = study
    try:
        if action == "save":
            form = make_open_form(request.POST, open_link)
            if not form.is_valid():
                raise ValidationError(
                    [
                        f"{form.fields[name].label if name in form.fields else ''}: {text}"
                        for name, errors in form.errors.items()
                        for text in errors
                    ]
                )
            change_recruitment(
                recruitment=open_link, values=form.values(), links=form.links(),
                codes=form.find_codes(), by=request.user,
            )  # fmt: skip
            set_one_place(
                study=study, is_on=form.cleaned_data["is_from_one_place"], by=request.user
            )
            messages.success(request, "Saved.")
        elif action:
            switch_round(request, open_link, is_on=action == "on")
    except ValidationError as error:
        for problem in error.messages:
            messages.error(request, problem)
    return redirect("admin:study-invite", study.pk)


@transaction.atomic
def set_one_place(*, study: Study, is_on: bool, by: Any) -> None:
    """Lift the limits for each network in this study, or let them hold again."""
    if study.is_from_one_place != is_on:
        Study.objects.filter(pk=study.pk).update(is_from_one_place=is_on)
        AuditEntry.objects.record("people from one place", by=by, study_id=study.pk, is_on=is_on)


def switch_round(request: HttpRequest, recruitment: Recruitment, *, is_on: bool) -> None:
    """Turn a link that people share on or off, and say what else that changes."""
    study = recruitment.study
    if not is_on:
        turn_off(recruitment=recruitment, by=request.user)
        return
    had_notice, checks = study.has_notice, study.checks_per_person
    turn_on(recruitment=recruitment, by=request.user)
    if had_notice and not study.has_notice:
        messages.info(
            request,
            "People who come by this link agree on a consent page, so the study has one now "
            "instead of the short notice. What people read asks how long you keep the answers.",
        )
    if study.checks_per_person != checks:
        each = count_of(study.checks_per_person, "check")
        messages.info(request, f"Each person now gets {each}. Change the number under Quality.")
