"""What people will be asked: three instruments with the researcher's own first item in each."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.timezone import localdate
from django.views.decorators.http import require_http_methods

from evalsite.builder.adaptation import adapt, has_comment_box, name_sources
from evalsite.builder.choice_forms import ChangeForm, ChoiceForm, NewChoiceForm, PageForm
from evalsite.builder.first_items import read_draft, read_file
from evalsite.builder.fitting import FirstItem, Fit, fit_entry, list_added, propose
from evalsite.builder.gallery import (
    Entry,
    choose,
    find_entry,
    list_bundles,
    list_own,
    list_shipped,
)
from evalsite.builder.instrument_change import (
    InstrumentChanged,
    change_instrument,
    list_losses,
    name_instrument,
)
from evalsite.builder.titles import propose_title
from evalsite.builder.trying import Sample, list_samples, render_pick
from evalsite.builder.upload_views import open_outputs, start_again
from evalsite.data.items.new_study import create_study_from
from evalsite.data.models import Upload
from evalsite.data.uploads import find_report, open_upload
from evalsite.instruments.schema import Instrument
from evalsite.lib.words import count_of, list_of
from evalsite.studies.instruments import adopt_instrument
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import find_home, get_study, may_edit, study_page

INVALID, CONFLICT = 422, 409
# inputs whose names read well in a sentence
_NOUNS = frozenset({
    "source", "reference", "document", "question", "prompt", "context", "passage", "review",
    "post", "goal", "dialogue",
})  # fmt: skip


def _list_fits(first: FirstItem, chosen: Entry | None) -> list[Fit]:
    """Return what is shown to choose from: what is chosen, and what fits best."""
    fits = propose(first, list_shipped())
    if chosen is None or chosen.value in [fit.entry.value for fit in fits]:
        return fits
    fit = fit_entry(chosen, first)
    return fits if fit.lacks else [fit, *fits[:2]]


def _describe_pick(fit: Fit, first: FirstItem, form: PageForm) -> dict[str, Any]:
    """Return what the page shows of an instrument: the first item, and what may be added."""
    added = list_added(fit, first)
    config = Instrument.model_validate(adapt(fit, first, has_comments=False, added=added))
    sample = list_samples(config)[0]
    if not first.is_empty:
        texts = tuple(first.outputs.values())[: config.item.outputs.most]
        sources = name_sources(fit, added)
        inputs = {name: first.inputs[source].text for name, source in sources.items()}
        sample = Sample(inputs, texts, {})
    return {
        "entry": fit.entry,
        # without its licence
        "origin": fit.entry.note.partition(",")[0],
        "html": render_pick(config, sample),
        "work": "" if first.is_empty else first.describe_work(config),
        "has_box": has_comment_box(config),
        "unused": fit.list_unused(first),
        "form": form,
    }


def describe_choice(request: HttpRequest, form: ChoiceForm) -> dict[str, Any]:
    """Return what the page shows of the choice."""
    first = form.first
    entry = find_entry(str(form["instrument"].value() or ""), request.user)
    fits = _list_fits(first, entry)
    fitting = [fit.entry.value for fit in fits]
    data = request.POST if form.is_bound else None
    picks = [_describe_pick(fit, first, PageForm(data, fit=fit, first=first)) for fit in fits]
    problem = ""
    if entry is not None and entry.value not in fitting and not form.is_bound:
        problem = " ".join([f"“{entry.config.title}” doesn’t fit.", *fit_entry(entry, first).lacks])
    return {
        "form": form,
        "picks": picks,
        "chosen": entry.value if entry and entry.value in fitting else next(iter(fitting), ""),
        "problem": problem,
        "holds": "" if first.is_empty else describe_item(first),
        "count": sum(
            map(len, (list_shipped(), list_own(request.user), list_bundles(request.user)))
        ),
    }


def describe_item(first: FirstItem) -> str:
    """Say what an item has: "a source, a reference and 2 outputs"."""
    kinds = {"conversation": "a conversation", "table": "a table"}
    names = [
        kinds.get(source.kind) or (f"a {name}" if name in _NOUNS else f"the input “{name}”")
        for name, source in first.inputs.items()
    ]
    return list_of([*names, count_of(len(first.outputs), "output")])


def take_choice(form: ChoiceForm, page: PageForm, user: Any) -> dict[str, Any]:
    """Return what makes a study of the choice: a protocol, or the version of an instrument."""
    fit = form.fit
    if fit is None or not page.is_valid():
        raise ValueError("nothing was chosen")
    added = page.cleaned_data["added"]
    content = adapt(fit, form.first, has_comments=page.cleaned_data["comments"], added=added)
    if content == fit.entry.config.to_data():
        return choose(fit.entry.value, user)
    # what comes from the gallery is one instrument, however often it is adapted
    is_shipped = fit.entry.value.startswith("gallery:")
    beside = choose(fit.entry.value, user)["instrument"] if is_shipped else None
    return {"instrument": adopt_instrument(data=content, by=user, beside=beside)}


# --- what it is chosen for ------------------------------------------------------------


def find_aim(request: HttpRequest) -> dict[str, Any]:
    """Return what an instrument is chosen for: an upload, a draft, or a study that is new."""
    for name, find in (("upload", _find_upload), ("study", _find_draft)):
        try:
            key = UUID(request.GET.get(name, ""))
        except ValueError:
            continue
        if aim := find(request, key):
            return {"name": name, "value": str(key), **aim}
    return {"name": "", "value": "", "first": None, "url": reverse("admin:new-from")}


def _find_upload(request: HttpRequest, key: UUID) -> dict[str, Any] | None:
    upload = open_outputs(request, key)
    report = None if upload is None else find_report(upload)
    if report is None or not report.is_importable:
        return None
    return {"first": read_file(report), "url": reverse("admin:new-instrument", args=[key])}


def _find_draft(request: HttpRequest, key: UUID) -> dict[str, Any] | None:
    study = get_study(request, key)
    if study.version_id is not None or not may_edit(request, study):
        return None
    return {"first": read_draft(study), "url": reverse("admin:study-instrument", args=[key])}


# --- of an upload -------------------------------------------------------------------


@require_http_methods(["GET", "HEAD", "POST"])
def choose_instrument(request: HttpRequest, upload_id: UUID) -> HttpResponseBase:
    """Choose what people are asked about an uploaded file, and make a study of both."""
    upload = open_upload(upload_id, by=request.user)
    if upload is not None and upload.study is not None:
        return redirect(f"admin:{find_home(upload.study)}", upload.study.pk)
    if upload is None or not upload.path.exists():
        return start_again(request)
    # the page before this one, which leads to that of ratings
    back = redirect("admin:new-upload", upload.pk)
    if upload.purpose != Upload.Purpose.ITEMS:
        return back
    report = find_report(upload)
    if report is None or not report.is_importable or not report.summary["examples"]:
        return back
    first = read_file(report)
    paths = [str(file["name"]) for file in report.files] or [upload.file_name]
    run = next((str(file["run"]) for file in report.files if file.get("run")), "")
    title = propose_title(paths, run=run, systems=first.outputs, today=localdate())
    best = next(iter(propose(first, list_shipped())), None)
    initial = {
        "instrument": request.GET.get("instrument", best.entry.value if best else ""),
        "title": title,
    }
    data = request.POST if request.method == "POST" else None
    form = NewChoiceForm(data, user=request.user, first=first, initial=initial)
    if data is not None and form.is_valid() and form.fit is not None:
        page = PageForm(data, fit=form.fit, first=first)
        choice = take_choice(form, page, request.user)
        fields = {"title": form.cleaned_data["title"], **choice}
        try:
            inputs = name_sources(form.fit, page.cleaned_data["added"])
            study = create_study_from(upload, by=request.user, inputs=inputs, **fields)
        except ValidationError as error:
            form.add_error(None, error)
        else:
            if study is None:  # a job makes it
                return back
            messages.success(request, "Study created.")
            return redirect("admin:setup-read", study.pk)
    context = describe_choice(request, form) | {
        "context_name": "upload", "context_value": upload.pk, "back_url": back.url,
        "title": "Instrument",
    }  # fmt: skip
    status = 200 if data is None else INVALID
    return TemplateResponse(request, "builder/choose.html", context, status=status)


# --- of a draft ---------------------------------------------------------------------


def _find_shipped(entry: Entry | None) -> str:
    """Return what forms call this instrument: one that is shipped by its own name."""
    if entry is None:
        return ""
    alike = (each for each in list_shipped() if each.config == entry.config)
    return next(alike, entry).value


@study_page(
    "items/instrument/", name="study-instrument", role=Membership.Role.EDITOR, within="Items"
)
@require_http_methods(["GET", "HEAD", "POST"])
def change_draft_instrument(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Choose another instrument for a draft: what no longer fits is listed before."""
    if study.is_launched or study.version_id is not None:
        messages.error(request, "The study is launched, so its instrument is fixed.")
        return redirect("admin:batch-list", study.pk)
    first = read_draft(study)
    is_post = request.method == "POST"
    was = name_instrument(study)
    current = _find_shipped(find_entry(was, request.user))
    initial = {"instrument": request.GET.get("instrument", current)}
    data = request.POST if is_post else None
    form = ChangeForm(data, user=request.user, first=first, initial=initial)
    status = INVALID if is_post else 200
    if is_post and form.is_valid() and form.fit is not None:
        page = PageForm(request.POST, fit=form.fit, first=first)
        try:
            changed = change_instrument(
                study=study,
                choice=take_choice(form, page, request.user),
                inputs=name_sources(form.fit, page.cleaned_data["added"]),
                was=form.cleaned_data["was"],
                by=request.user,
            )
        except ValidationError as error:
            form.add_error(None, error)
            status = CONFLICT if isinstance(error, InstrumentChanged) else INVALID
        else:
            messages.success(request, f"People are now asked: {changed.config.title}.")
            return redirect("admin:batch-list", study.pk)
    context = describe_choice(request, form) | {
        "context_name": "study",
        "context_value": study.pk,
        "was": was,
        "back_url": reverse("admin:batch-list", args=[study.pk]),
    }
    losses = list_losses(study, *(pick["entry"].config for pick in context["picks"]))
    for pick, lost in zip(context["picks"], losses, strict=True):
        pick["is_current"] = pick["entry"].value == current
        pick["losses"] = [] if pick["is_current"] else lost
    return TemplateResponse(request, "builder/change_instrument.html", context, status=status)
