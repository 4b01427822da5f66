"""Instruments as a list: made, imported, copied, exported, shared, translated, deleted."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evalsite.builder.builder_views import find_base, get_instrument
from evalsite.builder.changes import list_changes
from evalsite.builder.controls import Plain
from evalsite.builder.drafts import read_revision
from evalsite.builder.gallery import describe_uses, find_entry, list_by_task
from evalsite.builder.keys import make_key
from evalsite.builder.reuse import list_questions, take_question
from evalsite.builder.starts import start_draft
from evalsite.instruments.fields import SentField, SentForm, TrimmedField, drop_unstorable
from evalsite.instruments.installed import installed_folders
from evalsite.instruments.texts import LANGUAGE, digest_content, list_texts
from evalsite.studies.instruments import (
    LARGEST_FILE,
    DraftChanged,
    change_draft,
    create_instrument,
    delete_instrument,
    import_instrument,
    may,
    read_file,
    share_instrument,
    unshare_instrument,
    write_file,
)
from evalsite.studies.models import Instrument, InstrumentMember, InstrumentVersion, Study

INVALID, CONFLICT = 422, 409
_MOST_FAULTS = 50
_SEARCH = 100


class NewInstrumentForm(forms.Form):
    """What a new instrument is called, and its outputs."""

    title = TrimmedField(max_length=200)
    output_name = TrimmedField(max_length=60, required=False)


class RevisionField(SentField):
    """The revision that a page was filled from; -1 where it doesn't say."""

    def clean(self, value: Any) -> int:
        return read_revision(value)


class VersionForm(SentForm):
    """The version that becomes the draft again."""

    number = RevisionField()
    revision = RevisionField()


class ShareForm(SentForm):
    """Who is added in which role, who is removed, or whether everyone here sees it."""

    user = TrimmedField(required=False)
    role = SentField()
    remove = SentField()
    visible = SentField()


class ChosenForm(SentForm):
    """The question that is added."""

    question = SentField()


class TranslationForm(SentForm):
    """The texts in another language, by the number of each."""

    tag = TrimmedField(required=False)
    revision = RevisionField()

    def __init__(self, data: Any, *, texts: int) -> None:
        super().__init__(data)
        for number in range(texts):
            self.fields[f"text-{number}"] = TrimmedField(required=False)


@require_safe
def list_instruments(request: HttpRequest) -> HttpResponseBase:
    """Show the instruments of this person, newest changes first, then the shipped ones by task."""
    visible = Instrument.objects.visible_to(request.user).select_related("changed_by")
    rows = visible.annotate(
        uses=Count("versions__studies", distinct=True), numbers=Count("versions", distinct=True)
    )
    context = {
        "rows": [
            {"instrument": row, "uses": describe_uses(row.uses), "numbers": row.numbers}
            for row in rows.defer("draft").order_by("-changed_at")
        ],
        "tasks": {
            task: [{"entry": entry, "url": entry.start_url} for entry in entries]
            for task, entries in list_by_task().items()
        },
        "title": "Instruments",
    }
    return TemplateResponse(request, "builder/instruments.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def new_instrument(request: HttpRequest) -> HttpResponseBase:
    """Begin an instrument: empty, or as a copy of what the address names."""
    entry = find_entry(request.GET.get("of", ""), request.user)
    form = NewInstrumentForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        title = form.cleaned_data["title"]
        taken = {*installed_folders(), *Instrument.objects.values_list("key", flat=True)}
        draft = (
            start_draft(title, form.cleaned_data["output_name"])
            if entry is None
            else copy_data(entry.config.to_data(), title)
        )
        # the key of an instrument has two characters or more
        words = title if len(make_key(title)) > 1 else f"instrument {title}"
        draft["key"] = make_key(words, taken)[:40]
        instrument = create_instrument(key=draft["key"], title=title, by=request.user, draft=draft)
        address = reverse("admin:instrument", args=[instrument.pk])
        # of a new one the first question is what is left to write
        return redirect(address if entry else f"{address}#id_criteria-0")
    start = f"{entry.config.title} (copy)" if entry else ""
    context = {
        "entry": entry,
        "start": start,
        "output_name": form.cleaned_data["output_name"] if form.is_bound else "",
        "is_missing": form.is_bound,
        "title": "New instrument",
    }
    status = INVALID if form.is_bound else 200
    return TemplateResponse(request, "builder/new_instrument.html", context, status=status)


def copy_data(data: Plain, title: str) -> Plain:
    """Return an instrument as a draft of a copy, without what only an installed protocol has."""
    draft = {name: value for name, value in data.items() if name not in ("hooks", "aids")}
    if isinstance(draft.get("eligibility", {}).get("accept"), str):
        del draft["eligibility"]
    if isinstance(draft["layout"].get("screen"), list):
        draft["layout"] = {**draft["layout"], "screen": "one"}
    based_on = {"key": data["key"], "version": data["version"], "sha256": digest_content(data)}
    return draft | {"title": title, "version": 1, "based_on": based_on}


@require_http_methods(["GET", "HEAD", "POST"])
def import_file(request: HttpRequest) -> HttpResponseBase:
    """Make an instrument of a file, or list everything that is wrong with it."""
    faults: list[str] = []
    if request.method == "POST":
        file = request.FILES.get("file")
        try:
            if file is None:
                raise ValidationError("Choose a file.")
            version, is_new = import_instrument(
                data=read_file(file.read(LARGEST_FILE + 1)), by=request.user
            )
        except ValidationError as error:
            faults = error.messages
        else:
            done = "Imported." if is_new else "This very version is here already."
            messages.success(request, done)
            return redirect("admin:instrument", version.instrument_id)
    context = {
        "faults": faults[:_MOST_FAULTS],
        "more": max(0, len(faults) - _MOST_FAULTS),
        "title": "Import an instrument",
    }
    status = INVALID if faults else 200
    return TemplateResponse(request, "builder/import.html", context, status=status)


@require_safe
def export_file(request: HttpRequest, instrument_id: UUID, number: int) -> HttpResponseBase:
    """Hand out a version as a file."""
    version = _get_version(request, instrument_id, number)
    response = HttpResponse(write_file(version.content), content_type="application/json")
    name = f"{version.instrument.key}-{version.number}.json"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _get_version(request: HttpRequest, instrument_id: UUID, number: int) -> InstrumentVersion:
    instrument = get_instrument(request, instrument_id)
    version = instrument.versions.filter(number=number).first()
    if version is None:
        raise Http404("No such version.")
    return version


@require_http_methods(["GET", "HEAD", "POST"])
def show_versions(request: HttpRequest, instrument_id: UUID) -> HttpResponseBase:
    """List the versions; going back to one makes it the draft."""
    instrument = get_instrument(request, instrument_id)
    if request.method == "POST":
        form = VersionForm(request.POST)
        version = _get_version(request, instrument_id, form.read("number"))
        try:
            change_draft(
                instrument=instrument, draft=version.content,
                revision=form.read("revision"), by=request.user,
            )  # fmt: skip
        except ValidationError as error:
            messages.error(request, " ".join(error.messages))
        else:
            messages.success(request, f"The draft is now version {version.number} again.")
        return redirect("admin:instrument", instrument.pk)
    versions = list(
        instrument.versions.annotate(uses=Count("studies"))
        .select_related("created_by")
        .order_by("-number")
    )
    earlier = [*versions[1:], None]
    context = {
        "instrument": instrument,
        "versions": [
            {
                "one": version,
                "uses": describe_uses(version.uses),
                "changes": list_changes(last.content, version.content) if last else [],
            }
            for version, last in zip(versions, earlier, strict=False)
        ],
        "can_edit": may(request.user, instrument, InstrumentMember.Role.EDITOR),
        "title": "Versions",
    }
    return TemplateResponse(request, "builder/versions.html", context)


@require_POST
def share(request: HttpRequest, instrument_id: UUID) -> HttpResponseBase:
    """Change who may use an instrument: add or remove a person, or show it to everyone here."""
    instrument = lock_owned(get_instrument(request, instrument_id), request.user)
    form = ShareForm(request.POST)
    name, role, removed = form.read("user"), form.read("role"), form.read("remove")
    how: dict[str, Any] = {"instrument": instrument, "by": request.user}
    try:
        if (visible := form.read("visible")) is not None:
            instrument.is_visible = visible == "yes"
            instrument.save(update_fields=["is_visible"])
        elif removed is not None:
            unshare_instrument(username=drop_unstorable(removed), **how)
        elif name and role in InstrumentMember.Role.values:
            share_instrument(username=name, role=role, **how)
            messages.success(
                request, f"If “{name}” is a researcher’s user name here, they can use it now."
            )
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect("admin:instrument", instrument.pk)


def lock_owned(instrument: Instrument, user: Any) -> Instrument:
    if not may(user, instrument, InstrumentMember.Role.OWNER):
        raise PermissionDenied
    return instrument


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, instrument_id: UUID) -> HttpResponseBase:
    """Ask, then delete an instrument that no study uses."""
    instrument = lock_owned(get_instrument(request, instrument_id), request.user)
    if request.method == "POST":
        try:
            delete_instrument(instrument=instrument, by=request.user)
        except ValidationError as error:
            messages.error(request, " ".join(error.messages))
            return redirect("admin:instrument", instrument.pk)
        messages.success(request, f"“{instrument.title}” is deleted.")
        return redirect("admin:instruments")
    is_used = Study.objects.filter(instrument__instrument=instrument).exists()
    context = {"instrument": instrument, "title": "Delete an instrument", "is_used": is_used}
    return TemplateResponse(request, "builder/delete.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def choose_question(request: HttpRequest, instrument_id: UUID) -> HttpResponseBase:
    """Find a question of any instrument, and add it to this one."""
    instrument = get_instrument(request, instrument_id)
    if not may(request.user, instrument, InstrumentMember.Role.EDITOR):
        raise PermissionDenied
    if request.method == "POST":
        draft = find_base(instrument)
        criteria = list(draft.get("criteria", []))
        taken = {str(question.get("key")) for question in criteria}
        chosen = ChosenForm(request.POST).read("question") or ""
        question = take_question(chosen, request.user, taken)
        if question is None:
            raise Http404("No such question.")
        draft["criteria"] = [*criteria, question]
        try:
            change_draft(
                instrument=instrument, draft=draft, revision=instrument.revision, by=request.user
            )
        except DraftChanged as error:
            messages.error(request, " ".join(error.messages))
        else:
            messages.success(request, f"Added “{question['label']}”.")
        address = redirect("admin:instrument", instrument.pk)
        at = f"criteria-{len(criteria)}"
        address["Location"] += f"?open={at}#id_{at}"
        return address
    search = request.GET.get("q", "").strip()[:_SEARCH]
    context = {
        "instrument": instrument,
        "search": search,
        "questions": list_questions(request.user, search),
        "title": "Choose a question",
    }
    return TemplateResponse(request, "builder/questions.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def translate(request: HttpRequest, instrument_id: UUID) -> HttpResponseBase:
    """Show the texts of an instrument beside those of another language, to be filled in."""
    instrument = get_instrument(request, instrument_id)
    if not may(request.user, instrument, InstrumentMember.Role.EDITOR):
        raise PermissionDenied
    draft = find_base(instrument)
    known = list_texts(draft)
    form = TranslationForm(request.POST, texts=len(known))
    language = form.read("tag") or request.GET.get("tag", "").strip()
    if not LANGUAGE.fullmatch(language) or language == draft.get("language"):
        messages.error(request, "Enter the tag of another language, such as de or pt-BR.")
        return redirect("admin:instrument", instrument.pk)
    translations = dict(draft.get("translations", {}))
    if request.method == "POST":
        translated = {
            address: text
            for number, address in enumerate(known)
            if (text := form.read(f"text-{number}"))
        }
        translations.pop(language, None)
        if translated:
            translations[language] = translated
        draft = {name: value for name, value in draft.items() if name != "translations"}
        if translations:
            draft["translations"] = translations
        try:
            change_draft(
                instrument=instrument, draft=draft, revision=form.read("revision"),
                by=request.user,
            )  # fmt: skip
        except DraftChanged as error:
            messages.error(request, " ".join(error.messages))
            translations[language] = translated
        else:
            messages.success(request, "Saved in the draft.")
            return redirect("admin:instrument", instrument.pk)
    translated = translations.get(language, {})
    context = {
        "instrument": instrument,
        "language": language,
        "texts": [
            {
                "number": number,
                "address": address,
                "text": text,
                "said": translated.get(address, ""),
            }
            for number, (address, text) in enumerate(known.items())
            if text.strip()
        ],
        "title": f"Translate into {language}",
    }
    status = CONFLICT if request.method == "POST" else 200
    return TemplateResponse(request, "builder/translate.html", context, status=status)
