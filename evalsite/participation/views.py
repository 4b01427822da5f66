"""The way through a study: home, instructions, practice, sets, finish, withdrawal."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils.formats import date_format
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_safe

from evalsite.handout.assigned import list_left
from evalsite.handout.claims import has_work
from evalsite.handout.leases import answered_items, prolong_reservation
from evalsite.handout.models import Annotation
from evalsite.instruments.fields import drop_unstorable
from evalsite.instruments.schema import Example
from evalsite.lib.markdown import render_markdown
from evalsite.participation.answer_table import tabulate_answers
from evalsite.participation.bonus import due_bonus
from evalsite.participation.consent import describe_deletion, withdraw
from evalsite.participation.entry_views import begin_set, describe_place, go_to
from evalsite.participation.forms import LeaveForm
from evalsite.participation.instructions_check import is_check_due
from evalsite.participation.item_status import ignored_before
from evalsite.participation.jump_menu import list_contents
from evalsite.participation.next_step import TAKE_PLACE, next_step
from evalsite.participation.rating_views import render_away
from evalsite.participation.saving import Saved
from evalsite.participation.sets import (
    find_changes,
    find_set,
    finish_set,
    unanswered_places,
    wanted_places,
)
from evalsite.participation.stopping import lost_place_to_end, stop_person
from evalsite.participation.view_models import Progress, view_example
from evalsite.people.access import (
    address,
    first_link_only,
    page_context,
    participant_page,
    refuse_later_visit,
    unknown_link,
)
from evalsite.people.forms import FeedbackForm
from evalsite.people.joins import visible_receipt
from evalsite.people.models import Expert, Participant, StopKind
from evalsite.people.services import (
    finished_sets,
    has_agreed,
    instructions_hash,
    is_paid,
    mark_instructions_read,
    record_answers,
    shown_codes,
)
from evalsite.people.views import shut_sentence
from evalsite.people.visits import WayOut, describe_kept_id
from evalsite.studies.bonus import open_bonus_in_words
from evalsite.studies.qualification import plan_qualification
from evalsite.studies.questions import list_background
from evalsite.studies.set_size import items_per_set
from evalsite.studies.summary_lines import format_money
from evalsite.studies.versions import shown_content


def _work_url(request: HttpRequest, participant: Participant) -> str:
    """Return the address of the page about a person's sets; "" if they have none."""
    is_open = not participant.is_pilot and participant.later_visit_id is None
    return address(request, "participant-work") if is_open else ""


@participant_page
@require_safe
def home(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Open the page where this person is."""
    return go_to(request, next_step(participant))


@participant_page
@require_http_methods(["GET", "HEAD", "POST"])
def instructions(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Show what to do, with the worked examples in the real layout."""
    if not has_agreed(participant):
        return redirect(address(request, "participant-home"))
    if request.method == "POST":
        mark_instructions_read(participant=participant)
        if next_step(participant) == TAKE_PLACE:
            # it lapsed while they were read, and others may have it; or it is assigned, without a
            # set so far
            return begin_set(request, participant)
        prolong_reservation(participant)
        return redirect(address(request, "participant-home"))
    content = shown_content(participant.study)
    config = participant.study.config
    is_read = participant.instructions_read == instructions_hash(participant.study)
    context = page_context(request, participant) | {
        "title": config.instructions_title,
        "html": render_markdown(content["texts"]["instructions"], with_anchors=True),
        "contents": list_contents(participant.study),
        "examples": [
            {
                "html": render_example(participant, example, number),
                "why": render_explanation(example),
            }
            for number, example in enumerate(config.instruction_examples, start=1)
        ],
        "is_changed": bool(participant.instructions_read) and not is_read,
        "next_label": "" if is_read else _after_instructions(participant),
        **({} if is_read else describe_place(request, participant)),
    }
    return render(request, "participation/instructions.html", context)


def _after_instructions(participant: Participant) -> str:
    if is_check_due(participant):
        return str(_("Continue to the questions"))
    if participant.study.is_qualification_on:
        plan = None if participant.is_qualified else plan_qualification(participant.study)
        if plan is None:
            return str(_("Continue"))
        if plan.is_on_instructions:
            return str(_("Continue to the questions"))
        return str(_("Continue to the test"))
    if participant.study.is_practice_on and participant.practised_at is None:
        return str(_("Start practice"))
    return str(_("Continue"))


def render_explanation(example: Example) -> str:
    """Return why a worked example has its ratings, as HTML; "" if it doesn't say."""
    return render_markdown(f"*{_('Explanation')}*: {example.why}") if example.why else ""


def render_example(participant: Participant, example: Example, number: int) -> str:
    """Return a worked example in the real layout as HTML, scores filled in and disabled."""
    config = participant.study.config
    item = view_example(config, example, shown_content(participant.study)["options"])
    return render_to_string(
        config.item_template,
        {
            "frame": "participation/example.html",
            "id_prefix": f"example-{number}-",
            "item": item,
            "layout": config.layout,
        },
    )


@participant_page
@require_http_methods(["GET", "HEAD", "POST"])
def review(request: HttpRequest, participant: Participant, number: int) -> HttpResponse:
    """Show the answers of a set, open to change until Finish is pressed."""
    item_set = find_set(participant, number)
    if item_set is None:
        return unknown_link(request)
    if not has_agreed(participant):
        return redirect(address(request, "participant-home"))
    if request.method == "POST":
        is_finished = finish_set(participant=participant, item_set=item_set)
    else:
        is_finished = item_set.finished_at is not None
    if is_finished:
        return redirect(address(request, "participant-finish"))
    if not item_set.total:
        return render_away(request, participant)
    answered = answered_items(item_set)
    missing = wanted_places(participant, item_set, answered)
    changes = {change.place: change.form for change in find_changes(participant, item_set)}
    wrong = {place for place, form in changes.items() if not form.is_valid()}
    done = item_set.total - len(unanswered_places(item_set, answered))
    table = tabulate_answers(participant, item_set)
    config, names = participant.study.config, gettext("%(name)s %(place)s")
    rows = [
        (
            row,
            names % {"name": config.item.name.lower(), "place": row.place},
            address(request, "rating-page", number, row.place),
            row.place in wrong,
        )
        for row in table.rows
    ]
    unsettled = wrong or missing
    context = page_context(request, participant) | {
        "table": table,
        "rows": rows,
        "unsettled": next((row for row in rows if row[0].place in unsettled), None),
        "has_wrong": bool(wrong),
        "answered": done,
        "total": item_set.total,
        "is_complete": not missing and not wrong,
        "back_url": address(request, "rating-page", number, table.rows[-1].place),
        "status": Saved.words_of(request.GET.get("was", "")),
        "is_plainly_saved": request.GET.get("was") == "saved",
        "ignored": ignored_before(request, participant, item_set),
        "progress": Progress(done, item_set.total),
    }
    return render(request, "participation/review.html", context)


@participant_page
@require_safe
def pause(request: HttpRequest, participant: Participant, number: int, place: int) -> HttpResponse:
    """Offer a break in a long set. Everything is saved."""
    item_set = find_set(participant, number)
    if item_set is None or not 1 <= place <= len(item_set.item_ids):
        return unknown_link(request)
    total = len(item_set.item_ids)
    context = page_context(request, participant) | {
        "done": place - 1,
        "total": total,
        "next_url": address(request, "rating-page", number, place),
        "ignored": ignored_before(request, participant, item_set),
        "progress": Progress(place - 1, total),
    }
    return render(request, "participation/break.html", context)


@participant_page
@require_http_methods(["GET", "HEAD", "POST"])
def finish(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Show thanks, the code, a form for feedback, and the next set if there is one."""
    sets = finished_sets(participant)
    codes = shown_codes(participant, sets)
    if not sets or (request.method == "POST" and not has_agreed(participant)):
        return redirect(address(request, "participant-home"))
    if request.method == "POST" and participant.later_visit_id is not None:
        return refuse_later_visit(request, participant)
    form = FeedbackForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        record_answers(participant=participant, answers=form.cleaned_data)
        return redirect(address(request, "participant-finish") + "?feedback=saved")
    shown = [item_id for item_set in sets for item_id in item_set.item_ids]
    done = participant.annotations.filter(item__in=shown).count()
    another = _describe_another_set(participant, len(sets), codes["way_out"])
    context = page_context(request, participant) | {
        "done": done,
        **codes,
        **another,
        # if they may do more it is not due yet, and asking looks at every place of the study
        "bonus": "" if another else due_bonus(participant),
        "start_url": address(request, "participant-start"),
        "feedback_saved": request.GET.get("feedback") == "saved",
        "errors": [(name, messages[0]) for name, messages in form.errors.items()],
        "given": {name: drop_unstorable(form[name].value() or "") for name in form.fields},
        "status": Saved.words_of(request.GET.get("was", "")),
        "background_url": address(request, "background-questions")
        if list_background(participant.study) and participant.later_visit_id is None
        else "",
        "background_saved": request.GET.get("background") == "saved",
        "receipt": visible_receipt(participant),
        "is_paid": codes["way_out"].is_paid,
        "may_share": participant.may_share,
        "work_url": _work_url(request, participant),
        **describe_deletion(participant),
        # others have no ID, and need not be asked for
        **(describe_kept_id(participant) if codes["way_out"].platform else {}),
        "progress": Progress(done, done),
    }
    return render(request, "participation/finish.html", context, status=422 if form.errors else 200)


def _describe_another_set(
    participant: Participant, finished: int, way_out: WayOut
) -> dict[str, Any]:
    """Return what the next set is: its size and pay; for experts what is left, and by when."""
    study = participant.study
    if participant.is_pilot or not has_work(participant, study):
        return {}
    if participant.is_expert:
        return {**_describe_left(participant), "is_assigned": True}
    return {
        "another_label": gettext("Do another set?"),
        "next_number": items_per_set(study),
        "next_minutes": way_out.minutes,
        "next_pay": "" if way_out.pay is None else format_money(way_out.pay, study.currency),
        "next_set": open_bonus_in_words(study, finished),
    }


def _describe_left(participant: Participant) -> dict[str, Any]:
    left = len(list_left(participant))
    label = ngettext("%(count)s of your items is left", "%(count)s of your items are left", left)
    due_on = (
        Expert.objects.filter(link__participant=participant)
        .values_list("due_on", flat=True)
        .first()
    )
    later = gettext("You can go on now, or come back later with the same link.")
    if due_on is not None:
        day = {"day": date_format(due_on, "j F Y")}
        later = f"{later} {gettext('Please finish by %(day)s.') % day}"
    return {"another_label": label % {"count": left}, "next_set": later}


@participant_page
@require_http_methods(["GET", "HEAD", "POST"])
def shut(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Say that the study is paused or closed, and show the code if one was earned.

    People whose place ended with the study get the code of finished work, once they ask for it.
    """
    if next_step(participant).name != "participant-shut":
        return redirect(address(request, "participant-home"))
    has_lost_place = lost_place_to_end(participant)
    if request.method == "POST":
        if has_lost_place:
            stop_person(participant, StopKind.OURS)
        return redirect(address(request, "participant-home"))
    context = (
        page_context(request, participant)
        | shut_sentence(participant.study)
        | shown_codes(participant)
    )
    context |= {
        "has_lost_place": has_lost_place,
        "is_paid": has_lost_place and is_paid(participant),
    }
    return render(request, "people/closed.html", context)


@participant_page
@first_link_only
@require_http_methods(["GET", "HEAD", "POST"])
def leave(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Let people withdraw, and choose what becomes of their answers."""
    if participant.withdrawn_at is not None:
        return redirect(address(request, "participant-withdrawn"))
    deletion = describe_deletion(participant)
    data = request.POST if request.method == "POST" else None
    form = LeaveForm(data, may_delete=deletion["may_delete"])
    if form.is_valid():
        withdraw(participant=participant, is_kept=form.cleaned_data["keep"] == "keep")
        return redirect(address(request, "participant-withdrawn"))
    error = str(_("Choose what should happen to your answers")) if form.is_bound else ""
    context = page_context(request, participant) | deletion | {"error": error}
    return render(request, "people/withdraw.html", context, status=422 if error else 200)


@participant_page
@require_safe
def withdrawn(request: HttpRequest, participant: Participant) -> HttpResponse:
    if participant.withdrawn_at is None:
        return redirect(address(request, "participant-home"))
    context = page_context(request, participant) | {
        "receipt": visible_receipt(participant),
        "work_url": _work_url(request, participant) if is_paid(participant) else "",
        **shown_codes(participant),
        "is_deleted": participant.annotations.exists()
        and not participant.annotations.exclude(status=Annotation.Status.WITHDRAWN).exists(),
    }
    return render(request, "people/withdrawn.html", context)
