"""What the page of the builder shows of a draft: forms filled from plain data, right or wrong."""

from collections.abc import Iterator
from typing import Any

from django import forms

from evalsite.builder import entry_rules, examples, questions
from evalsite.builder.boxes import list_rows
from evalsite.builder.controls import LEFT_OUT, Plain
from evalsite.builder.drafts import NOTHING, get_context
from evalsite.builder.faults import DraftFault, describe_faults
from evalsite.builder.forms import Draft, PartForm, Piece, Row
from evalsite.builder.reuse import describe_origin
from evalsite.builder.trying import render_preview
from evalsite.instruments.checks import NOT_YET
from evalsite.instruments.schema import Instrument
from evalsite.instruments.texts import list_texts
from evalsite.studies.instruments import find_faults

_SPECIALS = questions.PARTS | entry_rules.PARTS | examples.PARTS
_CONTEXTS = {
    "conversation": "a conversation", "text": "a text", "markdown": "a text in Markdown",
    "code": "code", "table": "a table",
}  # fmt: skip
# what is below More, and which fields of an instrument each section has
SECTIONS = (
    ("name", "Title and summary", ("title", "summary", "key")),
    ("page", "Inputs, outputs and layout", ("item", "layout")),
    ("instructions", "Instructions", ("instructions_title", "instructions", "help_label")),
    ("example", "Worked examples", ("examples",)),
    ("practising", "Practice", ("practice",)),
    ("check", "Check of the instructions", ("comprehension",)),
    ("people", "Questions about people", ("eligibility",)),
    ("notes", "Notes, marks and leaving out", ("page_note", "note", "x_highlight", "ignore")),
    ("work", "How work is handed out", ("design", "minutes_per_item")),
    ("sources", "Source and licence", ("source",)),
    ("languages", "Languages", ("language",)),
)


def build_page(draft: Plain, opened: str = "") -> dict[str, Any]:
    """Return the context of the builder for this draft; `opened`: the row to open."""
    faults = describe_faults(find_faults(draft), draft)
    by_place: dict[str, list[str]] = {}
    for fault in faults:
        by_place.setdefault(fault.place, []).append(fault.message)
    shown = Draft(draft, by_place, opened, _SPECIALS)
    form = PartForm(Instrument, draft, "", shown)
    pieces = {piece.id.removeprefix("id_"): piece for piece in form.pieces}
    form.fields["context"] = _make_context(draft)
    context = Piece("field", title="People see", id="id_context", bound=form["context"])
    outputs = _take_outputs(pieces["layout"])
    rows = pieces["criteria"].rows
    sections = [_describe_section(section, pieces, shown) for section in SECTIONS]
    ids = dict(_list_ids([*form.pieces, outputs]))
    return {
        "draft": draft,
        "faults": [_link(f, ids) for f in faults if f.code != NOT_YET],
        "later": [_link(f, ids) for f in faults if f.code == NOT_YET],
        "page": [context, outputs],
        "columns": ", ".join(_list_columns(draft)),
        "questions": [_describe_question(row, shown) for row in rows],
        "sections": sections,
        "kept": [name for _, name in LEFT_OUT if name in ("hooks", "aids") and draft.get(name)],
        "languages": _describe_languages(draft),
        "preview": make_preview(draft),
    }


def _make_context(draft: Plain) -> forms.Field:
    """Make the choice of what people see: the kind of the first input that they read."""
    kind = get_context(draft)
    choices = dict(_CONTEXTS) if kind in (*_CONTEXTS, NOTHING) else {**_CONTEXTS, kind: f"a {kind}"}
    if sum(1 for _ in _list_inputs(draft)) < 2:
        choices[NOTHING] = "nothing but the output"
    return forms.ChoiceField(label="People see", choices=list(choices.items()), initial=kind)


def _list_inputs(draft: Plain) -> Iterator[Plain]:
    item = draft.get("item")
    yield from list_rows(item.get("inputs")) if isinstance(item, dict) else ()


def _take_outputs(layout: Piece) -> Piece:
    """Take the choice of outputs out of the layout: it is in sight."""
    outputs: Piece = next(p for p in layout.form.pieces if p.id == "id_layout-outputs")
    layout.form.pieces.remove(outputs)
    counts = layout.form.draft.item.get("outputs")
    bounds = [counts.get(end) for end in ("least", "most")] if isinstance(counts, dict) else []
    field = layout.form.fields["outputs"]
    if bounds and bounds[0] != bounds[1] and bounds != [3, 8]:
        words = dict(field.choices) | {"several": f"{bounds[0]} to {bounds[1]} outputs"}
        field.choices = list(words.items())
    return outputs


def _list_columns(draft: Plain) -> list[str]:
    """Name the columns that an upload needs."""
    item = draft.get("item", {})
    rows = [row for n in ("inputs", "output_columns") for row in list_rows(item.get(n))]
    is_one = draft.get("layout", {}).get("outputs", "one") == "one"
    return [*([] if is_one else ["item"]), *(str(row.get("name")) for row in rows), "system",
            "output"]  # fmt: skip


def _list_ids(pieces: list[Piece]) -> Iterator[tuple[str, str]]:
    """Yield each place that a form shows, with the id of what shows it."""
    for piece in pieces:
        yield piece.place, piece.id
        yield from ((row.form.place, f"id_{row.at}") for row in piece.rows)
        below = [row.form for row in piece.rows]
        for form in [*below, *([piece.form] if isinstance(piece.form, PartForm) else [])]:
            yield from _list_ids(form.pieces)


def _link(fault: DraftFault, ids: dict[str, str]) -> dict[str, str]:
    """Return a fault with the id of what is nearest to its place."""
    place = fault.place
    while place not in ids and "." in place:
        place = place.rpartition(".")[0]
    return {
        "anchor": ids.get(place, "builder"), "where": fault.where, "message": fault.message,
        "code": fault.code,
    }  # fmt: skip


def _describe_question(row: Row, shown: Draft) -> dict[str, Any]:
    question = shown.criteria[row.number - 1]
    form = row.form
    scale = questions.get_scale_data(question)
    comment = question.get("comment")
    pers = dict(form.fields["per"].choices)  # type: ignore[attr-defined]
    values = [str(point.get("value")) for point in list_rows(scale.get("points"))]
    return {
        "row": row,
        "number": row.number,
        "label": question.get("label", ""),
        "origin": describe_origin(question),
        "errors": shown.faults.get(f"criteria.{row.number - 1}", []),
        "per": str(pers.get(question.get("per"), "")),
        "is_required": question.get("required", True),
        "values": f"{values[0]} to {values[-1]}" if values else "",
        "comment": comment.get("ask") if isinstance(comment, dict) else "",
        "has_condition": bool(question.get("ask_if")),
        "in_sight": form.in_sight,
        "more": form.more,
        "hidden": [form["as"]],
        "is_open": any(piece.errors or _is_faulty(piece) for piece in form.more),
    }


def _is_faulty(piece: Piece) -> bool:
    below = [row.form for row in piece.rows]
    below += [piece.form] if isinstance(piece.form, PartForm) else []
    return piece.is_open or any(
        part.errors or _is_faulty(part) for form in below for part in form.pieces
    ) or any(row.is_open for row in piece.rows)  # fmt: skip


def _describe_section(
    section: tuple[str, str, tuple[str, ...]], pieces: dict[str, Piece], shown: Draft
) -> dict[str, Any]:
    name, title, names = section
    faulty = [n for n in names if shown.list_faults(n)]
    opened = [n for n in names if shown.opened.split("-")[0] == n]
    row_count = sum(len(pieces[n].rows) for n in names if n in pieces)
    return {
        "id": f"part-{name}",
        "name": name,
        "title": title,
        "pieces": [pieces[n] for n in names if n in pieces],
        "is_open": bool(faulty or opened),
        "is_faulty": bool(faulty),
        "rows": row_count,
    }


def _describe_languages(draft: Plain) -> dict[str, Any]:
    known = list_texts(draft)
    translations = draft.get("translations")
    rows = []
    for language, texts in translations.items() if isinstance(translations, dict) else ():
        done = len(known.keys() & texts.keys()) if isinstance(texts, dict) else 0
        rows.append({"tag": language, "done": done, "missing": len(known) - done})
    return {"written_in": draft.get("language", ""), "count": len(known), "rows": rows}


# --- preview ------------------------------------------------------------------------


def make_preview(draft: Plain) -> str:
    """Return the page of an item; with faults, that of what is right so far; "" if nothing is."""
    if not find_faults(draft):
        return render_preview(Instrument.model_validate(draft))
    bare = {name: value for name, value in draft.items()
            if name not in ("examples", "practice", "comprehension", "translations",
                            "eligibility", "title", "summary", "instructions")}  # fmt: skip
    bare |= {"title": "Preview", "summary": "Preview", "instructions": "Preview"}
    right: list[Plain] = []
    for question in list_rows(draft.get("criteria")):
        if not find_faults(bare | {"criteria": [*right, question]}):
            right.append(question)
    if not right:
        return ""
    return render_preview(Instrument.model_validate(bare | {"criteria": right}))
