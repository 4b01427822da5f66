"""The builder: a draft as a form, kept whatever is in it, and saved as a version if right."""

import re
from copy import deepcopy
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from evalsite.building.builder_page import build_page
from evalsite.building.drafts import list_columns, read_draft, read_revision, remove_column
from evalsite.building.examples import put_answers, take_answers
from evalsite.building.gallery import describe_uses
from evalsite.building.parameters import (
    TABLE,
    Parameter,
    Plain,
    list_needed,
    list_parameters,
    make_key,
)
from evalsite.building.starts import add_question
from evalsite.building.tables import change_table, list_entries
from evalsite.instruments.scales import installed_scales
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
REMOVED = "removed question"


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
    done = request.POST.get("do", "draft")
    draft = read_draft(request.POST.dict(), find_base(instrument), _list_kept_keys(instrument))
    anchor = _do(request, instrument, draft, done)
    if done == "preview":
        return _show(request, instrument, draft, can_edit=True)
    try:
        kept = change_draft(
            instrument=instrument,
            draft=draft,
            revision=read_revision(request.POST),
            by=request.user,
        )
        if done == "save":
            version = save_version(instrument=kept, revision=kept.revision, by=request.user)
            messages.success(request, f"Saved as version {version.number}.")
            anchor = "#main"  # not where the page was: a browser would go there again
    except DraftChanged as error:
        messages.error(request, " ".join(error.messages))
        return _show(request, instrument, draft, can_edit=True, status=CONFLICT)
    except FaultyInstrument:
        kept.refresh_from_db()
        messages.error(request, "This can’t be a version yet. The draft is kept.")
        return _show(request, kept, draft, can_edit=True, status=INVALID)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect(f"{reverse('admin:instrument', args=[instrument.pk])}{anchor}")


def _list_kept_keys(instrument: Instrument) -> set[str]:
    """Return the columns that files of a version may have."""
    newest = instrument.newest
    return {one["key"] for one in newest.content["criteria"]} if newest else set()


def _show(
    request: HttpRequest, instrument: Instrument, draft: Plain, *, can_edit: bool, status: int = 200
) -> TemplateResponse:
    newest = instrument.newest
    uses = Study.objects.filter(instrument__instrument=instrument).count()
    next_number = newest.number + 1 if newest else 1
    opened = request.GET.get("open", "")
    context = build_page(draft, opened) | {
        "instrument": instrument,
        "opened": opened,
        "newest": newest,
        "uses": uses,
        "uses_words": describe_uses(uses),
        "next_number": next_number,
        "can_edit": can_edit,
        "has_changes": bool(instrument.draft) or newest is None,
        "is_owner": may(request.user, instrument, InstrumentMember.Role.OWNER),
        # of what this person opened: after a conflict it stays what it was
        "revision": read_revision(request.POST) if status == CONFLICT else instrument.revision,
        "removed": find_removed(request, instrument),
        "members": list_shares(instrument),
        "title": draft.get("title") or instrument.title,
    }
    return TemplateResponse(request, "building/builder.html", context, status=status)


# --- undo ---------------------------------------------------------------------------


def _remember(request: HttpRequest, instrument: Instrument, draft: Plain, at: str) -> None:
    """Keep the question that will be removed with the session, so that it can come back."""
    number = int(at) if at.isascii() and at.isdigit() else -1
    if 0 <= number < len(draft.get("criteria", [])):
        question = draft["criteria"][number]
        request.session[REMOVED] = {
            "of": str(instrument.pk), "number": number, "question": question,
            "answers": take_answers(draft, str(question.get("key"))),
        }  # fmt: skip


def find_removed(request: HttpRequest, instrument: Instrument) -> Plain | None:
    """Return the question that was removed last here, with its place."""
    removed: Plain | None = request.session.get(REMOVED)
    return removed if removed and removed["of"] == str(instrument.pk) else None


def _do(request: HttpRequest, instrument: Instrument, draft: Plain, done: str) -> str:
    """Do what a button says; return where the page goes on."""
    if done == "undo":
        return _undo(request, instrument, draft)
    if done.startswith("remove:"):
        _remember(request, instrument, draft, done.removeprefix("remove:"))
    return _change_list(draft, done)


def _undo(request: HttpRequest, instrument: Instrument, draft: Plain) -> str:
    removed = find_removed(request, instrument)
    if removed is None:
        return ""
    draft["criteria"].insert(removed["number"], removed["question"])
    put_answers(draft, str(removed["question"].get("key")), removed.get("answers", []))
    del request.session[REMOVED]
    return f"?open={removed['number']}#q-{removed['number']}"


# --- questions and inputs -----------------------------------------------------------


def _change_list(draft: Plain, done: str) -> str:
    """Do what a button says to the draft's lists; return where the page goes on."""
    what, _, at = done.partition(":")
    criteria = draft.setdefault("criteria", [])
    if what == "add":
        add_question(criteria, at)
        return f"?open={len(criteria) - 1}#q-{len(criteria) - 1}"
    if what == "add-input":
        inputs = draft["item"].setdefault("inputs", [])
        taken = {one.get("name") for one in list_columns(draft["item"])}
        name = make_key("input", taken)
        inputs.append({"name": name, "label": f"Input {len(inputs) + 1}", "kind": "text"})
        return f"#in-{len(inputs) - 1}"
    if what.startswith("row-"):
        return _change_row(draft, what.removeprefix("row-"), at)
    if what in ("up", "down", "copy", "remove", "remove-input") and at.isascii() and at.isdigit():
        return _move(draft, what, int(at))
    return ""


def _change_row(draft: Plain, what: str, at: str) -> str:
    """Change a table of a question: `at` is its field, with the number of a row after a colon."""
    name, _, row = at.partition(":")
    match = re.fullmatch("q-([0-9]{1,4})-p-([a-z_]+)(-options)?", name)
    criteria = draft["criteria"]
    if match is None or int(match[1]) >= len(criteria):
        return ""
    scale, key = criteria[int(match[1])].get("scale", {}), match[2]
    kind = installed_scales().get(str(scale.get("kind")))
    parameter = list_parameters(kind).get(key) if kind else None
    if kind is None or parameter is None:
        return ""
    number = int(row) if row.isascii() and row.isdigit() else 0
    if parameter.parts:
        row_number = _change_group(scale, key, parameter, what, number)
    elif parameter.control == "table":
        entries = list_entries(scale.get(key))
        row_number = change_table(
            entries, what, number, noun=parameter.noun, is_mirrored=kind.needs == "pair"
        )
        scale[key] = entries
        if not entries and key not in list_needed(kind):
            del scale[key]
    else:
        return ""
    return f"?open={match[1]}#{name}" + (f"-{row_number}" if row_number >= 0 else "")


def _change_group(scale: Plain, key: str, parameter: Parameter, what: str, number: int) -> int:
    """Change the table of a group, which begins with its first row and ends with its last."""
    is_new = not isinstance(scale.get(key), dict)
    group = deepcopy(parameter.start) if is_new else scale[key]
    entries = list_entries(group.get(TABLE))
    noun = parameter.parts[TABLE].noun
    row_number = change_table(entries, what, number, noun=noun, is_mirrored=False)
    group[TABLE] = entries
    scale[key] = group
    if not entries:
        del scale[key]
    return 0 if is_new else row_number


def _move(draft: Plain, what: str, number: int) -> str:
    if what == "remove-input":
        remove_column(draft["item"], number)
        return "#page"
    criteria = draft["criteria"]
    if number >= len(criteria):
        return ""
    if what == "remove":
        del criteria[number]
        return "#questions"
    if what == "copy":
        again = deepcopy(criteria[number])
        again["key"] = make_key(again.get("key", ""), {one.get("key") for one in criteria})
        criteria.insert(number + 1, again)
        return f"?open={number + 1}#q-{number + 1}"
    to = number - 1 if what == "up" else number + 1
    if 0 <= to < len(criteria):
        criteria[number], criteria[to] = criteria[to], criteria[number]
        number = to
    return f"?open={number}#q-{number}"
