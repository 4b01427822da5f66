"""Staff pages: the questions that decide who may take part."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods

from evalsite.instruments.schema import Eligibility, EntryQuestion, NoneOf, NumberRange
from evalsite.studies.instructions_check_views import list_check, store_check
from evalsite.studies.models import Membership, Study
from evalsite.studies.question_forms import (
    KIND_LABELS,
    ButtonForm,
    QuestionForm,
    WordsForm,
    initial_of,
)
from evalsite.studies.questions import (
    BACKGROUND,
    CHECK,
    ENTRY,
    MOST_IN_CHECK,
    check_own_questions,
    find_entry,
    list_background,
)
from evalsite.studies.setting_changes import ChangedMeanwhile, change_settings
from evalsite.studies.staff_pages import study_page

INVALID, CONFLICT = 422, 409
_EMPTY = {"questions": [], "rule": "", "refusal": "", "accept": {}}


@study_page(
    "questions/", name="study-questions", role=Membership.Role.EDITOR, within="What people read"
)
@require_http_methods(["GET", "HEAD", "POST"])
def show_questions(request: HttpRequest, study: Study) -> HttpResponseBase:
    """All questions before the work, and what people read about who may take part."""
    entry = find_entry(study.config)
    button = ButtonForm(request.POST).read()
    form = WordsForm(
        request.POST if button["do"] == "words" else None,
        initial={**entry, "revision": study.revision},
    )
    if request.method == "POST":
        response = _change(request, study, entry, button, form)
        if response is not None:
            return response
    eligibility = study.config.eligibility
    context = {
        "form": form,
        "questions": describe_entry_questions(study),
        "next_key": _next_key(entry),
        "background": [_describe(question, None) for question in list_background(study)],
        "next_background_key": _next_key({"questions": study.questions.get(BACKGROUND, ())}),
        "check": [question["question"] for question in list_check(study)],
        "next_check": len(list_check(study)) + 1,
        "most_in_check": MOST_IN_CHECK,
        "is_own_check": CHECK in study.questions,
        "revision": study.revision,
        "has_protocol_questions": _has_protocol_questions(study),
        "is_own": ENTRY in study.questions,
        "is_locked": study.version_id is not None,
        # a function of an older protocol decides: there is nothing to edit
        "is_function": bool(eligibility) and not entry,
    }
    status = (CONFLICT if form.non_field_errors() else INVALID) if form.errors else 200
    return TemplateResponse(request, "studies/questions.html", context, status=status)


def _change(
    request: HttpRequest,
    study: Study,
    entry: dict[str, Any],
    button: dict[str, str],
    form: WordsForm,
) -> HttpResponseBase | None:
    """Do what a button of the page asks for; None: its form is shown again."""
    done, revision = button["do"], button["revision"]
    if done not in ("words", "remove", "reset", "reset-check"):
        raise Http404
    if done == "words":
        return _save_words(request, study, entry, form)
    changed = _without(entry, button["key"]) if done == "remove" else None
    try:
        if done == "reset-check":
            store_check(study, None, revision, by=request.user)
        else:
            _store(request, study, changed, revision)
    except ValidationError as error:
        for problem in error.messages:
            messages.error(request, problem)
    else:
        messages.success(request, "Saved.")
    return redirect("admin:study-questions", study.pk)


def _save_words(
    request: HttpRequest, study: Study, entry: dict[str, Any], form: WordsForm
) -> HttpResponseBase | None:
    if not form.is_valid():
        return None
    cleaned = dict(form.cleaned_data)
    revision = cleaned.pop("revision")
    try:
        _store(request, study, {**_EMPTY, **entry, **cleaned}, str(revision))
    except ValidationError as error:
        form.add_error(None, error)
        return None
    messages.success(request, "Saved.")
    return redirect("admin:study-questions", study.pk)


@study_page(
    "questions/<slug:key>/",
    name="study-question",
    role=Membership.Role.EDITOR,
    within="What people read",
)
@require_http_methods(["GET", "HEAD", "POST"])
def show_question(request: HttpRequest, study: Study, key: str) -> HttpResponseBase:
    """One question: a new one, or one to change."""
    entry = find_entry(study.config)
    eligibility = study.config.eligibility
    known = next(
        (question for question in _list_questions(eligibility) if question.key == key), None
    )
    if known is None and key != _next_key(entry):
        # it was added meanwhile, or removed
        return redirect("admin:study-questions", study.pk)
    initial = initial_of(known, eligibility.find_rule(key)) if known and eligibility else {}
    form = QuestionForm(
        request.POST if request.method == "POST" else None,
        initial={**initial, "revision": study.revision},
    )
    status = 200
    if form.is_bound:
        status = _save(request, study, entry, key, known, form)
        if status == 200:
            return redirect("admin:setup-quality", study.pk)
    context = {"form": form, "is_new": known is None, "is_locked": study.version_id is not None}
    return TemplateResponse(request, "studies/question.html", context, status=status)


def _save(
    request: HttpRequest,
    study: Study,
    entry: dict[str, Any],
    key: str,
    known: EntryQuestion | None,
    form: QuestionForm,
) -> int:
    """Return the status to answer with: 200 once the question is saved."""
    if not form.is_valid():
        return INVALID
    question = form.question(key, known)
    changed = _with(entry or _EMPTY, question, form.find_rule(question))
    faults = check_own_questions({ENTRY: changed})
    if faults:
        form.add_faults(faults)
        return INVALID
    try:
        _store(request, study, changed, str(form.cleaned_data["revision"]))
    except ValidationError as error:
        form.add_error(None, error)
        return CONFLICT if isinstance(error, ChangedMeanwhile) else INVALID
    messages.success(request, "Saved.")
    return 200


def _store(request: HttpRequest, study: Study, entry: dict[str, Any] | None, revision: str) -> None:
    """Store the questions before the work; None: the protocol's own."""
    replacement = None if entry is None else entry if entry["questions"] else {}
    _store_own(request, study, ENTRY, replacement, revision)


def _store_own(
    request: HttpRequest, study: Study, kind: str, replacement: Any, revision: str
) -> None:
    questions = {name: kept for name, kept in study.questions.items() if name != kind}
    if replacement is not None:
        questions[kind] = replacement
    if questions == study.questions:
        # the same form, sent twice
        return
    is_whole = revision.isascii() and revision.isdigit() and len(revision) < 10
    change_settings(
        study=study,
        values={"questions": questions},
        revision=int(revision) if is_whole else -1,
        by=request.user,
    )


def _with(entry: dict[str, Any], question: dict[str, Any], rule: Any) -> dict[str, Any]:
    """Return the questions with this one, in its place or at the end."""
    questions = list(entry["questions"])
    keys = [earlier["key"] for earlier in questions]
    if question["key"] in keys:
        questions[keys.index(question["key"])] = question
    else:
        questions.append(question)
    accept = {
        key: other_rule for key, other_rule in entry["accept"].items() if key != question["key"]
    }
    if rule is not None:
        accept[question["key"]] = rule
    return entry | {"questions": questions, "accept": accept}


def _without(entry: dict[str, Any], key: str) -> dict[str, Any]:
    questions = [question for question in entry.get("questions", ()) if question["key"] != key]
    accept = {name: rule for name, rule in entry.get("accept", {}).items() if name != key}
    return {**_EMPTY, **entry, "questions": questions, "accept": accept}


def _next_key(entry: dict[str, Any]) -> str:
    """Return the key of the next new question."""
    taken = {question["key"] for question in entry.get("questions", ())}
    return next(key for n in range(1, 1000) if (key := f"question_{n}") not in taken)


def _list_questions(eligibility: Eligibility | None) -> list[EntryQuestion]:
    return eligibility.questions if eligibility else []


def _has_protocol_questions(study: Study) -> bool:
    try:
        return study.base_instrument.eligibility is not None
    except LookupError:
        return False


def describe_entry_questions(study: Study) -> list[dict[str, Any]]:
    """Return the questions before the work, each with the answers that decide."""
    eligibility = study.config.eligibility
    return [_describe(question, eligibility) for question in _list_questions(eligibility)]


def find_next_key(study: Study) -> str:
    """Return the key of the next question before the work."""
    return _next_key(find_entry(study.config))


def _describe(question: EntryQuestion, eligibility: Eligibility | None) -> dict[str, Any]:
    """Return a question as the list shows it."""
    rule = eligibility.find_rule(question.key) if eligibility else None
    labels = question.labels
    answers: list[str] = []
    if isinstance(rule, NoneOf):
        answers = [labels.get(answer, answer) for answer in rule.none_of]
    elif rule is not None and not isinstance(rule, NumberRange):
        answers = [labels.get(answer, answer) for answer in rule]
    return {
        "key": question.key,
        "label": question.label,
        "kind": KIND_LABELS[question.asks_for],
        "range": rule if isinstance(rule, NumberRange) else None,
        "answers": answers,
        "is_none_of": isinstance(rule, NoneOf),
    }


# --- after the work -----------------------------------------------------------------------


@study_page(
    "questions/after/<slug:key>/",
    name="background-question",
    role=Membership.Role.EDITOR,
    within="What people read",
)
@require_http_methods(["GET", "HEAD", "POST"])
def show_background_question(request: HttpRequest, study: Study, key: str) -> HttpResponseBase:
    """One question after the work: a new one, or one to change or remove."""
    questions = list(study.questions.get(BACKGROUND, ()))
    known = next(
        (
            EntryQuestion.model_validate(question)
            for question in questions
            if question["key"] == key
        ),
        None,
    )
    if known is None and key != _next_key({"questions": questions}):
        return redirect("admin:study-questions", study.pk)
    initial = initial_of(known, None) if known else {}
    form = QuestionForm(
        request.POST if request.method == "POST" else None,
        has_rule=False,
        initial={**initial, "revision": study.revision},
    )
    rest = [question for question in questions if question["key"] != key]
    button = ButtonForm(request.POST).read()
    if button["do"] == "remove":
        _remove_background(request, study, rest, button["revision"])
        return redirect("admin:study-questions", study.pk)
    status = 200
    if form.is_bound:
        status = _save_background(request, study, questions, key, known, form)
        if status == 200:
            return redirect("admin:study-questions", study.pk)
    context = {
        "form": form,
        "is_new": known is None,
        "is_after": True,
        "is_locked": study.version_id is not None,
    }
    return TemplateResponse(request, "studies/question.html", context, status=status)


def _remove_background(request: HttpRequest, study: Study, rest: list[Any], revision: str) -> None:
    try:
        _store_own(request, study, BACKGROUND, rest or None, revision)
    except ValidationError as error:
        for problem in error.messages:
            messages.error(request, problem)
    else:
        messages.success(request, "Saved.")


def _save_background(
    request: HttpRequest,
    study: Study,
    questions: list[Any],
    key: str,
    known: EntryQuestion | None,
    form: QuestionForm,
) -> int:
    """Return the status to answer with: 200 once the question is saved."""
    if not form.is_valid():
        return INVALID
    empty: dict[str, Any] = {**_EMPTY, "questions": questions}
    changed = _with(empty, form.question(key, known), None)["questions"]
    faults = check_own_questions({BACKGROUND: changed})
    if faults:
        form.add_faults(faults)
        return INVALID
    try:
        _store_own(request, study, BACKGROUND, changed, str(form.cleaned_data["revision"]))
    except ValidationError as error:
        form.add_error(None, error)
        return CONFLICT if isinstance(error, ChangedMeanwhile) else INVALID
    messages.success(request, "Saved.")
    return 200
