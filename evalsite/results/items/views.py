"""Staff pages of Results: the items with their answers, and one item as people saw it."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from evalsite.decisions.models import LONGEST_NOTE
from evalsite.decisions.notes import add_notes, read_notes_of
from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.schema import Criterion
from evalsite.participation.view_models import ItemView, view_item
from evalsite.results.items.answers import list_answers
from evalsite.results.items.choice import ORDERS, Choice, ItemsForm
from evalsite.results.items.marks import Mark, draw_squares, list_key, mark_answer
from evalsite.results.items.records import Titles, name_outputs_of, read_state
from evalsite.results.items.spread import Limit, Spread, list_measured, read_counted
from evalsite.studies.models import Item, Membership, Output, Study
from evalsite.studies.staff_pages import may_edit, study_page

PAGE = 50
MOST_ANSWERS = 200
_SORTED = ("item", "answers", "apart", "difference", "comments")


def _read_choice(request: HttpRequest, study: Study) -> Choice:
    state = read_state(study)
    form = ItemsForm(request.GET, criteria=list_measured(study), is_blind=state.is_blind)
    return Choice(study, form, state)


@study_page("results/items/", name="results-items", place="Results", tab="Items", order=71)
@require_safe
def show_items(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show the items with their answers, those furthest apart first."""
    choice = _read_choice(request, study)
    measured = choice.measure()
    spreads = choice.arrange(measured)
    rows = Paginator(spreads, PAGE).get_page(request.GET.get("page"))
    described = _describe_rows(request, choice, choice.measure_page(list(rows)))
    return TemplateResponse(
        request,
        "results/items.html",
        {
            "choice": choice,
            "form": choice.form,
            "limit": choice.limit,
            "rows": rows,
            "items": described,
            "total": len(measured),
            "wide": sum(spread.is_wide for spread in measured),
            "has_answers": any(spread.answers for spread in measured),
            "each": _find_each(measured),
            "is_split": choice.limit is not None and choice.limit[::2] == ("steps", 2),
            "is_filtered": bool(choice.form.read("q") or choice.form.read("answers")),
            "key": _list_key(choice, described),
            "heads": [_describe_head(choice, name) for name in _SORTED],
            "has_exclusions": choice.state.has_exclusions,
            "is_blind": choice.state.is_blind,
            "names": described[0]["names"] if described else [],
        },
    )


def _find_each(spreads: Sequence[Spread]) -> int:
    """Return the number of answers of each item; 0 where it differs."""
    numbers = {spread.answers for spread in spreads}
    return numbers.pop() if len(numbers) == 1 else 0


def _describe_head(choice: Choice, name: str) -> dict[str, Any]:
    """Return how a column is sorted, and the order to which its head leads."""
    is_turned = choice.order == f"-{name}"
    is_rising = is_turned != (name == "item")
    is_current = choice.order.removeprefix("-") == name
    return {
        "name": name,
        "order": f"-{name}" if is_current and not is_turned else name,
        "sort": ("ascending" if is_rising else "descending") if is_current else "",
    }


def _list_key(choice: Choice, described: Sequence[dict[str, Any]]) -> list[Mark]:
    criterion = choice.criterion
    if criterion is None or not described or criterion.scale.has_parts:
        return []
    names = described[0]["names"]
    sides = names if len(names) == 2 else ["the first", "the second"]
    return list_key(choice.study.config, criterion, sides, choice.reach)


def _describe_rows(
    request: HttpRequest, choice: Choice, spreads: Sequence[Spread]
) -> list[dict[str, Any]]:
    """Return what a page shows of these items, in four queries at most."""
    study, criterion = choice.study, choice.criterion
    pks = [pk for spread in spreads for pk in spread.record.items]
    items, outputs = _read_items(Output.objects.filter(item__in=pks).defer("text"))
    titles = Titles(study, is_blind=choice.state.is_blind)
    marks = _read_marks(choice, pks) if criterion and not criterion.scale.has_parts else {}
    first_input = next(iter(study.config.columns), None)
    rows = []
    for spread in spreads:
        record = spread.record
        item = items[record.items[0]]
        parts = [output for pk in record.items for output in outputs[pk]]
        names = _name_outputs(request, choice, parts)
        clusters = _cluster(choice, record.items, outputs, names, marks)
        squares, words = draw_squares(clusters)
        rows.append(
            {
                "spread": spread,
                "item": item,
                "title": titles.find(item, is_alone=len(record.items) == 1),
                "excerpt": str(item.inputs.get(first_input.name, "")) if first_input else "",
                "squares": squares,
                "words": words,
                "names": list(dict.fromkeys(names.values())),
                "apart": _write_apart(spread.apart, choice.limit),
                "difference": _write_difference(spread.difference, choice),
            }
        )
    return rows


def _name_outputs(
    request: HttpRequest, choice: Choice, outputs: Sequence[Output]
) -> dict[int, str]:
    # others are in the order of their names, for which the systems needn't be read
    has_order = choice.criterion is not None and choice.criterion.scale.compares
    return name_outputs_of(
        choice.study,
        outputs,
        reader=request.user,
        is_blind=choice.state.is_blind,
        systems=choice.systems if has_order else (),
    )


def _read_items(stored: QuerySet[Output]) -> tuple[dict[int, Item], dict[int, list[Output]]]:
    """Return the items of these outputs by id, and the outputs by item, in one query."""
    items: dict[int, Item] = {}
    outputs: dict[int, list[Output]] = defaultdict(list)
    for output in stored.select_related("system", "item").order_by("item", "position"):
        items.setdefault(output.item_id, output.item)
        outputs[output.item_id].append(output)
    return items, outputs


def _read_marks(choice: Choice, pks: Sequence[int]) -> dict[int, list[AnswerRow]]:
    """Return the answers to the question by item."""
    assert choice.criterion is not None
    ratings = read_counted(choice.study, is_everyone=choice.is_everyone)
    rows = ratings.filter(
        annotation__item__in=pks, criterion=choice.criterion.key, value__isnull=False
    ).order_by("pk")
    answers: dict[int, list[AnswerRow]] = defaultdict(list)
    columns = ("annotation__item_id", "output_id", "criterion", "turn", "part", "value", "text",
               "detail")  # fmt: skip
    for cells in rows.values_list(*columns):
        row = AnswerRow(*cells)
        answers[row.item].append(row)
    return answers


def _cluster(
    choice: Choice,
    pks: Sequence[int],
    outputs: dict[int, list[Output]],
    names: dict[int, str],
    marks: dict[int, list[AnswerRow]],
) -> dict[str, list[Mark]]:
    """Return the marks of a record by what they are about, in the order of `names`."""
    criterion, config = choice.criterion, choice.study.config
    clusters: dict[str, list[Mark]] = defaultdict(list)
    if criterion is None:
        return clusters
    if not criterion.scale.compares:
        for name in names.values():
            clusters[name] = []
    for pk in pks:
        pair = [number for number in names if number in {output.pk for output in outputs[pk]}]
        sides = [names[number] for number in pair]
        for row in marks.get(pk, ()):
            if criterion.scale.compares:
                number = pair.index(row.output) + 1 if row.output in pair else None
                name = " and ".join(sides) if len(pks) > 1 else ""
                row = row._replace(output=number)
            else:
                name = names.get(row.output or 0, "")
            clusters[name].append(mark_answer(config, criterion, row, sides, choice.reach))
    return clusters


def _write_apart(apart: float | None, limit: Limit | None) -> str:
    if apart is None or limit is None:
        return "–"
    if limit.unit == "share":
        return f"{apart:.0%}"
    if limit.unit in ("places", "orders"):
        return f"{apart:.2f}"
    if limit.unit == "edits":
        return f"{apart:.1f}"
    return f"{apart:.1f}×" if limit.unit == "times" else f"{apart:g}"


def _write_difference(difference: float | None, choice: Choice) -> str:
    if difference is None or choice.criterion is None or choice.limit is None:
        return "–"
    if choice.criterion.scale.compares:
        is_signed = len(choice.systems) == 2 and difference
        return f"{difference:{'+' if is_signed else ''}g}".replace("-", "\N{MINUS SIGN}")
    if choice.limit.unit == "share":
        return f"{difference:.0%}"
    return f"{difference:.1f}×" if choice.limit.unit == "times" else f"{difference:.2f}"


# --- one item -------------------------------------------------------------------------------------


@study_page("results/items/<int:item_id>/", name="results-item", within="results-items")
@require_safe
def show_item(request: HttpRequest, study: Study, item_id: int) -> HttpResponseBase:
    """Show an item as people saw it, with everyone's answers and the team's notes."""
    choice = _read_choice(request, study)
    measured = choice.measure()
    spread = next((known for known in measured if item_id in known.record.items), None)
    if spread is None:
        raise Http404("No such item.")
    spreads = choice.arrange(measured)
    # the filter may leave out the item that is read
    place = spreads.index(spread) if spread in spreads else None
    record = spread.record
    items, outputs = _read_items(Output.objects.filter(item__in=record.items))
    parts = [output for pk in record.items for output in outputs[pk]]
    names = _name_outputs(request, choice, parts)
    answers = list_answers(choice, items, outputs, names)
    if choice.state.is_blind:
        # the order of items in the file is that of systems
        answers.sort(key=lambda answer: (answer["pseudonym"], answer["outputs"]))
    first = items[record.items[0]]
    notes = read_notes_of(study, name="item", ids=record.items)
    return TemplateResponse(
        request,
        "results/item.html",
        {
            "choice": choice,
            "item": first,
            "title": Titles(study, is_blind=choice.state.is_blind).find(
                first, is_alone=len(items) == 1
            ),
            "spread": spread,
            "limit": choice.limit,
            "apart": _write_apart(spread.apart, choice.limit),
            "votes": _count_votes(choice.criterion, answers, names),
            "place": None if place is None else place + 1,
            "total": len(spreads),
            "previous": spreads[place - 1].record.items[0] if place else None,
            "next": spreads[place + 1].record.items[0]
            if place is not None and place + 1 < len(spreads)
            else None,
            "order_label": dict(choice.form.fields["order"].choices)[choice.order],  # type: ignore[attr-defined]
            "orders": [
                (order, label)
                for order, label in ORDERS.items()
                if order != "difference" or not choice.state.is_blind
            ],
            "kept": [
                (name, value)
                for name in ("q", "question", "answers", "people")
                if (value := choice.form.read(name))
            ],
            "inputs": _view(study, first, outputs[first.pk]).inputs,
            "outputs": _view_outputs(study, items, outputs, names, answers),
            "rows": Paginator(answers, MOST_ANSWERS).get_page(request.GET.get("page")),
            "are_several": any(len(parts) > 1 for parts in outputs.values()),
            "several": len(study.config.criteria) > 1,
            "has_reasons": any(answer["reasons"] for answer in answers),
            "has_words": any(answer["written"] for answer in answers),
            "has_exclusions": choice.state.has_exclusions,
            "notes": [note for pk in record.items for note in notes[pk]],
            "note_form": NoteForm(),
            "can_note": may_edit(request, study),
            "texts": {"language": study.language},
            "is_blind": choice.state.is_blind,
        },
    )


def _view(study: Study, item: Item, outputs: Sequence[Output]) -> ItemView:
    return view_item(
        study.config,
        inputs=item.inputs,
        texts=[output.text for output in outputs],
        options=study.config.default_options | study.options,
    )


def _view_outputs(
    study: Study,
    items: dict[int, Item],
    outputs: dict[int, list[Output]],
    names: dict[int, str],
    answers: Sequence[dict[str, Any]],
) -> list[dict[str, Any]]:
    """Return each output once, though it may be part of several pairs; and who saw it first."""
    shown = {name: {"name": name, "view": None, "first": 0, "seen": 0} for name in names.values()}
    for pk, item in items.items():
        view = _view(study, item, outputs[pk])
        orders = [
            answer["annotation"].order_shown
            for answer in answers
            if answer["annotation"].item_id == pk and len(outputs[pk]) > 1
        ]
        for output, output_view in zip(outputs[pk], view.outputs, strict=True):
            entry: dict[str, Any] = shown[names[output.pk]]
            entry["view"] = output_view
            entry["seen"] += sum(output.position in order for order in orders)
            entry["first"] += sum(order[:1] == [output.position] for order in orders)
    return list(shown.values())


def _count_votes(
    criterion: Criterion | None, answers: Sequence[dict[str, Any]], names: dict[int, str]
) -> dict[str, Any] | None:
    """Return how many people prefer which of two outputs; None where they are asked otherwise."""
    if criterion is None or not criterion.scale.compares or len(set(names.values())) != 2:
        return None
    counted = [row[0] for answer in answers if answer["is_counted"] for row in answer["asked"]]
    strengths: dict[str, list[float]] = {name: [] for name in names.values()}
    for row in counted:
        if row.output in names:
            strengths[names[row.output]].append(row.value or 0)
    (leader, leading), (other, against) = sorted(strengths.items(), key=lambda side: -len(side[1]))
    most = criterion.scale.maximum
    return {
        "total": len(counted),
        "leader": leader,
        "leading": len(leading),
        "other": other,
        "against": len(against),
        "is_far": most > 1 and bool(against) and min(against) == most,
    }


# --- notes of the team --------------------------------------------------------------------------


class NoteForm(forms.Form):
    text = forms.CharField(
        label="Add a note",
        max_length=LONGEST_NOTE,
        widget=forms.Textarea(attrs={"rows": 2, "aria-describedby": "note-help"}),
        error_messages={
            "required": "Enter a note.",
            "max_length": f"Write {LONGEST_NOTE:,} characters at most.",
            "null_characters_not_allowed": "Enter a note in plain characters.",
        },
    )


@study_page("results/items/<int:item_id>/note/", name="item-note", role=Membership.Role.EDITOR)
@require_POST
def add_note(request: HttpRequest, study: Study, item_id: int) -> HttpResponseBase:
    """Note something about an item; a note sent twice is kept once."""
    item = get_object_or_404(Item, study=study, pk=item_id)
    form = NoteForm(request.POST)
    if form.is_valid():
        add_notes(study=study, text=form.cleaned_data["text"], by=request.user, items=[item])
        messages.success(request, "Noted.")
    else:
        messages.error(request, " ".join(map(str, form.errors["text"])))
    address = reverse("admin:results-item", args=[study.pk, item.pk])
    query = request.GET.urlencode()
    return redirect(f"{address}{'?' if query else ''}{query}#notes")
