"""The way through a study: home, instructions, practice, sets, finish, withdrawal."""

from typing import Any
from urllib.parse import quote

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.views.decorators.http import require_http_methods, require_safe

from evalsite.annotation.allocation.claims import (
    claim_set,
    deal_pilot_set,
    has_work,
    may_have_another_set,
)
from evalsite.annotation.allocation.leases import answered_items
from evalsite.annotation.models import Annotation
from evalsite.annotation.pages.bonus import find_earners
from evalsite.annotation.pages.consent import answer_consent, withdraw
from evalsite.annotation.pages.ignored_items import ignored_items
from evalsite.annotation.pages.jump_menu import menu_headings
from evalsite.annotation.pages.next_step import Step, entry_step, next_step, step_in
from evalsite.annotation.pages.rating_views import ignored_before
from evalsite.annotation.pages.saving import Saved
from evalsite.annotation.pages.sets import (
    find_changes,
    find_set,
    finish_set,
    open_places,
    unanswered_places,
    wanted_places,
)
from evalsite.annotation.pages.view_models import Progress, view_example
from evalsite.fields import drop_unstorable
from evalsite.lib.markdown import render_markdown
from evalsite.participants.access import (
    address,
    page_context,
    participant_page,
    personal_link,
    unknown_link,
)
from evalsite.participants.forms import FeedbackForm
from evalsite.participants.joins import visible_receipt
from evalsite.participants.models import Participant
from evalsite.participants.services import (
    consent_hash,
    consent_text,
    finished_sets,
    has_agreed,
    instructions_hash,
    mark_instructions_read,
    record_answers,
    shown_codes,
)
from evalsite.participants.views import shut_sentence
from evalsite.studies.bonus import cap_in_words, due_bonus_in_words, open_bonus_in_words
from evalsite.studies.models import Item, Study
from evalsite.studies.set_size import items_per_set
from evalsite.studies.versions import shown_content

NOT_AGREED = "Tick the box if you agree to take part. If you don't agree, choose 'Don't take part'."
TEXT_NOT_SHOWN = "Read this text before you agree to it."
TEXT_CHANGED = "This text has just changed. Read it again before you decide."


def go_to(request: HttpRequest, step: Step) -> HttpResponse:
    return redirect(address(request, step.name, *step.args))


@participant_page
@require_safe
def home(request: HttpRequest, me: Participant) -> HttpResponse:
    """The personal link: it always opens the page where this person is."""
    return go_to(request, next_step(me))


@participant_page
@require_http_methods(["GET", "HEAD", "POST"])
def instructions(request: HttpRequest, me: Participant) -> HttpResponse:
    """What to do, with the worked examples in the real layout."""
    if not has_agreed(me):
        return redirect(address(request, "participant-home"))
    if request.method == "POST":
        mark_instructions_read(participant=me)
        return redirect(address(request, "participant-home"))
    content = shown_content(me.study)
    config = me.study.config
    is_read = me.instructions_read == instructions_hash(me.study)
    context = page_context(request, me) | {
        "title": config.instructions_title,
        "html": render_markdown(content["texts"]["instructions"], with_anchors=True),
        "menu_headings": menu_headings(me.study),
        "examples": [
            {"html": render_example(me, example), "why": example.why} for example in config.examples
        ],
        "is_changed": bool(me.instructions_read) and not is_read,
        "next_label": "" if is_read else _after_instructions(me),
    }
    return render(request, "annotation/instructions.html", context)


def _after_instructions(me: Participant) -> str:
    if me.study.is_qualification_on:
        return "I’ve read it, go on" if me.is_qualified else "I’ve read it, go to the test"
    if me.study.is_practice_on and me.practised_at is None:
        return "I’ve read it, start practice"
    return "I’ve read it, go on"


def render_example(me: Participant, example: Any) -> str:
    """A worked example in the real layout, scores filled in and disabled."""
    config = me.study.config
    item = view_example(config, example, shown_content(me.study)["options"])
    return render_to_string(
        config.item_template,
        {"frame": "annotation/example.html", "item": item, "layout": config.layout.style},
    )


@participant_page
@require_http_methods(["GET", "HEAD", "POST"])
def start(request: HttpRequest, me: Participant) -> HttpResponse:
    """Between sets: pressing the button, and only that, takes a set."""
    step = entry_step(me)
    if step is not None:
        return go_to(request, step)
    if request.method == "POST":
        return begin_set(request, me, "participant-no-work")
    step = next_step(me)
    if step.name != "participant-start":
        return go_to(request, step)
    context = page_context(request, me) | {
        "set_size": items_per_set(me.study),
        "cap": cap_in_words(me.study),
    }
    return render(request, "annotation/start.html", context)


def begin_set(request: HttpRequest, me: Participant, or_else: str) -> HttpResponse:
    """The first open place of the set that this person holds from now on; or another page."""
    item_set = deal_pilot_set(me) if me.is_pilot else claim_set(me)
    if item_set is None:
        return redirect(address(request, or_else))
    return go_to(request, step_in(me, item_set))


@participant_page
@require_safe
def no_work(request: HttpRequest, me: Participant) -> HttpResponse:
    """Everything is taken just now: what was done, the code, and that it is worth coming back."""
    if not me.is_pilot and not me.study.is_open:
        return redirect(address(request, "participant-shut"))
    # checks and repeats are told as what they look like
    finished = me.annotations.exclude(item__kind=Item.Kind.PRACTICE).count()
    context = page_context(request, me) | {
        "finished": finished,
        **shown_codes(me),
        "start_url": address(request, "participant-start"),
        "bonus": due_bonus(me),
    }
    return render(request, "participants/no_work.html", context)


def due_bonus(me: Participant) -> str:
    """What is said of the bonus to a person to whom it is due; nothing to anybody else."""
    if me.pk not in find_earners(me.study, [me.pk]):
        return ""
    return due_bonus_in_words(me.study, me.item_sets.filter(finished_at__isnull=False).count())


@participant_page
@require_http_methods(["GET", "HEAD", "POST"])
def review(request: HttpRequest, me: Participant, number: int) -> HttpResponse:
    """The answers of a set, open to change until Finish is pressed."""
    item_set = find_set(me, number)
    if item_set is None:
        return unknown_link(request)
    if not has_agreed(me):
        return redirect(address(request, "participant-home"))
    if request.method == "POST":
        is_finished = finish_set(participant=me, item_set=item_set)
        if is_finished and request.POST.get("go") == "another" and entry_step(me) is None:
            return begin_set(request, me, "participant-finish")
    else:
        is_finished = item_set.finished_at is not None
    if is_finished:
        return redirect(address(request, "participant-finish"))
    answered = answered_items(item_set)
    missing = wanted_places(me, item_set, answered)
    ignored = ignored_items(me, item_set) if me.study.config.has_ignore else {}
    changes = {change.place: change.form for change in find_changes(me, item_set)}
    wrong = [place for place, form in changes.items() if not form.is_valid()]
    done = item_set.total - len(unanswered_places(item_set, answered))
    context = page_context(request, me) | {
        "places": [
            (
                place,
                address(request, "rating-page", number, place),
                place not in missing,
                item_set.item_ids[place - 1] in ignored,
            )
            for place in open_places(item_set)
        ],
        "wrong": [(place, address(request, "rating-page", number, place)) for place in wrong],
        "answered": done,
        "total": item_set.total,
        "is_complete": not missing and not wrong,
        "may_do_another": _may_do_another(me),
        "status": Saved.words_of(request.GET.get("was", "")),
        "ignored": ignored_before(request, me, item_set),
        "progress": Progress(done, item_set.total),
    }
    return render(request, "annotation/review.html", context)


def _may_do_another(me: Participant) -> bool:
    """Whether to offer the next set beside Finish, which deals it without the page between.

    That page leads back to where a person came from, so nobody who has to go back skips it.
    """
    study = me.study
    if me.is_pilot or me.stopped_at or study.completion_url or not study.is_open:
        return False
    return may_have_another_set(me, study)


@participant_page
@require_safe
def pause(request: HttpRequest, me: Participant, number: int, place: int) -> HttpResponse:
    """A break in a long set. Everything is saved."""
    item_set = find_set(me, number)
    if item_set is None or not 1 <= place <= len(item_set.item_ids):
        return unknown_link(request)
    total = len(item_set.item_ids)
    context = page_context(request, me) | {
        "done": place - 1,
        "total": total,
        "next_url": address(request, "rating-page", number, place),
        "ignored": ignored_before(request, me, item_set),
        "progress": Progress(place - 1, total),
    }
    return render(request, "annotation/break.html", context)


@participant_page
@require_http_methods(["GET", "HEAD", "POST"])
def finish(request: HttpRequest, me: Participant) -> HttpResponse:
    """Thanks, the code, feedback, and the next set if there is one."""
    sets = finished_sets(me)
    codes = shown_codes(me, sets)
    code = codes["code"]
    if not code or (request.method == "POST" and not has_agreed(me)):
        return redirect(address(request, "participant-home"))
    form = FeedbackForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        record_answers(participant=me, answers=form.cleaned_data)
        return redirect(address(request, "participant-finish") + "?feedback=saved")
    shown = [item_id for item_set in sets for item_id in item_set.item_ids]
    done = me.annotations.filter(item__in=shown).count()
    next_set = _next_set_label(me, len(sets))
    context = page_context(request, me) | {
        "done": done,
        **codes,
        "completion_url": me.study.completion_url.replace("{code}", quote(code, safe="")),
        "hands_over": hands_over_code(me.study),
        "next_set": next_set,
        # whoever may do more has not earned it yet, and asking looks at every place of the study
        "bonus": "" if next_set else due_bonus(me),
        "start_url": address(request, "participant-start"),
        "feedback_saved": request.GET.get("feedback") == "saved",
        "errors": [(name, messages[0]) for name, messages in form.errors.items()],
        "given": {name: drop_unstorable(request.POST.get(name, "")) for name in form.fields},
        "status": Saved.words_of(request.GET.get("was", "")),
        "receipt": visible_receipt(me),
        "is_paid": me.study.pay_per_set is not None,
        "until": me.study.closes_at,
        "progress": Progress(done, done),
    }
    return render(request, "annotation/finish.html", context, status=422 if form.errors else 200)


def hands_over_code(study: Study) -> bool:
    """Whether the completion link carries the code, so that nobody needs to copy it."""
    link, code = study.completion_url, study.completion_code
    return "{code}" in link or bool(code and code in link)


def _next_set_label(me: Participant, finished: int) -> str:
    if me.is_pilot or not has_work(me, me.study):
        return ""
    return open_bonus_in_words(me.study, finished)


@participant_page
@require_safe
def shut(request: HttpRequest, me: Participant) -> HttpResponse:
    """A study that is paused or closed: what it means, and the code if one was earned."""
    if next_step(me).name != "participant-shut":
        return redirect(address(request, "participant-home"))
    context = page_context(request, me) | shut_sentence(me.study) | shown_codes(me)
    return render(request, "participants/closed.html", context)


@participant_page
@require_safe
def refused(request: HttpRequest, me: Participant) -> HttpResponse:
    """Not for this person: said kindly, without the rule being a secret any more."""
    eligibility = me.study.config.eligibility
    if me.is_eligible is not False or eligibility is None:
        return redirect(address(request, "participant-home"))
    context = page_context(request, me) | {"message": eligibility.refusal}
    return render(request, "participants/refused.html", context)


@participant_page
@require_http_methods(["GET", "HEAD", "POST"])
def consent(request: HttpRequest, me: Participant) -> HttpResponse:
    """Taking part begins here: nothing is handed out before this is agreed to."""
    if has_agreed(me):
        # to take it back is to withdraw, which says what becomes of the answers
        return redirect(address(request, "participant-home"))
    error = ""
    if request.method == "POST":
        is_given = request.POST.get("agree") == "yes"
        is_declined = request.POST.get("go") == "decline"
        error = _fault_of_consent(request, me, is_given=is_given and not is_declined)
        if is_declined or not error:
            answer_consent(participant=me, is_given=not is_declined)
            return redirect(address(request, "participant-home"))
    context = page_context(request, me) | {
        "consent_html": render_markdown(consent_text(me.study)),
        "text_hash": consent_hash(me.study),
        "is_changed": bool(me.consented_to),
        "personal_link": personal_link(request),
        "study_id": me.study_id,
        "status": Saved.words_of(request.GET.get("was", "")),
        "error": error,
    }
    return render(request, "participants/consent.html", context, status=422 if error else 200)


def _fault_of_consent(request: HttpRequest, me: Participant, *, is_given: bool) -> str:
    if not is_given:
        return NOT_AGREED
    # nobody agrees to a text that they were not shown
    shown = request.POST.get("text")
    if shown is None:
        return TEXT_NOT_SHOWN
    return "" if shown == consent_hash(me.study) else TEXT_CHANGED


@participant_page
@require_safe
def declined(request: HttpRequest, me: Participant) -> HttpResponse:
    """Tell what is kept of somebody who chose not to take part; that choice may be changed."""
    kept = me.annotations.exclude(status=Annotation.Status.WITHDRAWN)
    context = page_context(request, me) | {
        "consent_url": address(request, "participant-consent"),
        "status": Saved.words_of(request.GET.get("was", "")),
        "has_answers": kept.exists(),
        **shown_codes(me),
    }
    return render(request, "participants/declined.html", context)


@participant_page
@require_http_methods(["GET", "HEAD", "POST"])
def leave(request: HttpRequest, me: Participant) -> HttpResponse:
    """I withdraw: stop, and choose what becomes of the answers."""
    if me.withdrawn_at is not None:
        return redirect(address(request, "participant-withdrawn"))
    choice = request.POST.get("keep", "")
    error = ""
    if request.method == "POST":
        if choice in ("keep", "delete"):
            withdraw(participant=me, is_kept=choice == "keep")
            return redirect(address(request, "participant-withdrawn"))
        error = "Choose what becomes of your answers"
    context = page_context(request, me) | {"error": error}
    return render(request, "participants/withdraw.html", context, status=422 if error else 200)


@participant_page
@require_safe
def withdrawn(request: HttpRequest, me: Participant) -> HttpResponse:
    if me.withdrawn_at is None:
        return redirect(address(request, "participant-home"))
    context = page_context(request, me) | {
        "receipt": visible_receipt(me),
        **shown_codes(me),
        "is_deleted": me.annotations.exists()
        and not me.annotations.exclude(status=Annotation.Status.WITHDRAWN).exists(),
    }
    return render(request, "participants/withdrawn.html", context)
