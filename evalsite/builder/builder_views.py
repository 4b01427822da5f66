"""The builder: a draft as a form, kept whatever is in it, and saved as a version if right."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import BadRequest, PermissionDenied, ValidationError
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from evalsite.builder.builder_page import build_page
from evalsite.builder.controls import Plain
from evalsite.builder.drafts import NOTHING, find_shown_input, read_draft, read_revision
from evalsite.builder.gallery import describe_uses
from evalsite.builder.posts import BadPost, Post
from evalsite.builder.rows import change_rows, put_back
from evalsite.studies.instruments import (
    DraftChanged,
    FaultyInstrument,
    change_draft,
    list_shares,
    may,
    save_version,
)
from evalsite.studies.models import Instrument, InstrumentMember, Study

INVALID, CONFLICT = 422, 409
REMOVED = "removed row"
_SAVING = ("draft", "save", "preview")


def get_instrument(request: HttpRequest, instrument_id: UUID) -> Instrument:
    """Return this instrument if this person may see it; Http404 as for one that is not."""
    visible = Instrument.objects.visible_to(request.user).select_related("changed_by")
    instrument = visible.filter(pk=instrument_id).first()
    if instrument is None:
        raise Http404("No such instrument.")
    return instrument


def find_base(instrument: Instrument) -> Plain:
    """Return what the builder starts from: the draft, or the newest version."""
    if instrument.draft:
        return dict(instrument.draft)
    newest = instrument.newest
    return dict(newest.content) if newest else {}


@require_http_methods(["GET", "HEAD", "POST"])
def build(request: HttpRequest, instrument_id: UUID) -> HttpResponseBase:
    """Show the draft with what participants will see; keep what is posted."""
    instrument = get_instrument(request, instrument_id)
    can_edit = may(request.user, instrument, InstrumentMember.Role.EDITOR)
    if request.method != "POST":
        return _show(request, instrument, find_base(instrument), can_edit=can_edit)
    if not can_edit:
        raise PermissionDenied
    base = find_base(instrument)
    try:
        post = Post(request.POST)
        draft = read_draft(post, base, _list_kept_keys(instrument))
        anchor, removed = _act(request, instrument, draft, post)
    except (BadPost, LookupError) as error:
        raise BadRequest(f"This isn’t the form of this page: {error}.") from error
    action, revision = post.values.get("do"), read_revision(post.values.get("revision"))
    if action == "preview":
        return _show(request, instrument, draft, can_edit=True)
    try:
        kept = change_draft(instrument=instrument, draft=draft, revision=revision, by=request.user)
        if removed is not None:
            # kept with the session, so that it can come back
            row = removed | {"of": str(instrument.pk)} if removed else None
            request.session[REMOVED] = row
        if action == "save":
            version = save_version(instrument=kept, revision=kept.revision, by=request.user)
            messages.success(request, f"Saved as version {version.number}.")
            anchor = "#main"  # not where the page was: a browser would go there again
    except DraftChanged as error:
        messages.error(request, " ".join(error.messages))
        instrument.revision = revision  # of what this person opened: it stays what it was
        return _show(request, instrument, draft, can_edit=True, status=CONFLICT)
    except FaultyInstrument:
        kept.refresh_from_db()
        messages.error(request, "This can’t be a version yet. The draft is saved.")
        return _show(request, kept, draft, can_edit=True, status=INVALID)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect(f"{reverse('admin:instrument', args=[instrument.pk])}{anchor}")


def _list_kept_keys(instrument: Instrument) -> set[str]:
    """Return the keys of a version, which files may have."""
    newest = instrument.newest
    return set(_list_keys(newest.content)) if newest else set()


def _list_keys(value: Any) -> list[str]:
    if isinstance(value, list):
        return [key for part in value for key in _list_keys(part)]
    if not isinstance(value, dict):
        return []
    keys = [str(value[name]) for name in ("key", "name", "value") if name in value]
    return keys + [key for part in value.values() for key in _list_keys(part)]


def _show(
    request: HttpRequest, instrument: Instrument, draft: Plain, *, can_edit: bool, status: int = 200
) -> TemplateResponse:
    newest = instrument.newest
    uses = Study.objects.filter(instrument__instrument=instrument).count()
    opened = request.GET.get("open", "")
    context = build_page(draft, opened) | {
        "instrument": instrument,
        "opened": opened,
        "newest": newest,
        "uses": uses,
        "uses_words": describe_uses(uses),
        "next_number": newest.number + 1 if newest else 1,
        "can_edit": can_edit,
        "has_changes": bool(instrument.draft) or newest is None,
        "is_owner": may(request.user, instrument, InstrumentMember.Role.OWNER),
        "revision": instrument.revision,
        "removed": find_removed(request, instrument),
        "members": list_shares(instrument),
        "title": draft.get("title") or instrument.title,
    }
    return TemplateResponse(request, "builder/builder.html", context, status=status)


def _act(
    request: HttpRequest, instrument: Instrument, draft: Plain, post: Post
) -> tuple[str, Plain | None]:
    """Do what a button says; return where the page goes on, and the row that was removed.

    None: no row was; {}: the one before came back.
    """
    removed: Plain | None = None
    action, number = post.values.get("do", "draft"), find_shown_input(draft)
    if post.values.get("context") == NOTHING and number is not None:
        _, removed = change_rows(draft, "remove", f"item-inputs-{number}")
    if action in _SAVING:
        return "", removed
    if action == "undo":
        last = find_removed(request, instrument)
        if last is None:
            return "", removed
        try:
            at = put_back(draft, last)
        except LookupError:
            messages.error(request, "This can’t be put back: the list it was in is gone.")
            return "", {}
        return f"?open={at}#id_{at}", {}
    verb, _, name = action.partition(":")
    at, row = change_rows(draft, verb, name)
    return f"?open={at}#id_{at}", row or removed


# --- undo ---------------------------------------------------------------------------


def find_removed(request: HttpRequest, instrument: Instrument) -> Plain | None:
    """Return the row that was removed last here, with its place."""
    removed: Plain | None = request.session.get(REMOVED)
    return removed if removed and removed["of"] == str(instrument.pk) else None
