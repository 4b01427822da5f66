"""What each person answered about one record, beside the others."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from math import log
from statistics import fmean
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef, Q

from evalsite.analysis.families import get_family
from evalsite.decisions.models import Exclusion
from evalsite.handout.models import Annotation, Rating
from evalsite.instruments.answer import HIGHLIGHTS, AnswerRow
from evalsite.instruments.questions import name_output
from evalsite.instruments.scales import COMMENT
from evalsite.instruments.schema import Criterion, Instrument
from evalsite.participation.held_items import reason_in_words
from evalsite.participation.ignored_items import reason_of
from evalsite.people.models import Origin
from evalsite.results.items.choice import Choice
from evalsite.results.people.answer_words import (
    Names,
    bind_criteria,
    describe_answer,
    describe_rows,
)
from evalsite.studies.models import Item, Output

# fewer answers have none that is furthest from the others
_FEWEST = 3


class Named(NamedTuple):
    """What one person answered about an output, or about the item."""

    name: str
    words: str
    is_furthest: bool


def name_shown(
    config: Instrument, outputs: Sequence[Output], names: Mapping[int, str], order: Sequence[int]
) -> Names:
    """Name outputs as this page does, with what the page that people saw called them."""
    by_position = {output.position: output.pk for output in outputs}
    shown = {
        by_position[position]: name_output(config, place, len(order))
        for place, position in enumerate(order, start=1)
        if position in by_position
    }
    return Names({pk: name for pk, name in names.items() if pk in by_position.values()}, shown)


def list_reasons(
    criterion: Criterion, row: AnswerRow, names: Mapping[int, str]
) -> list[tuple[str, str]]:
    """Return the reasons ticked with an answer: the output each is about, if any, and its label."""
    labels = {reason["key"]: reason["label"] for reason in criterion.scale.list_reasons()}
    ticked: dict[str, list[str]] = (row.detail or {}).get("reasons", {})
    by_output = {str(pk): name for pk, name in names.items()}
    return [
        (by_output.get(of, ""), labels.get(key, key))
        for of in ("all", *by_output)
        for key in ticked.get(of, ())
    ]


def describe_bare(criterion: Criterion | None, rows: Sequence[AnswerRow], names: Names) -> str:
    """Return an answer in words without its reasons, which stand beside it."""
    first = rows[0]
    if first.detail and "reasons" in first.detail:
        detail = {key: value for key, value in first.detail.items() if key != "reasons"}
        rows = [first._replace(detail=detail or None), *rows[1:]]
    return describe_rows(criterion, rows, names)


def list_answers(
    choice: Choice,
    items: Mapping[int, Item],
    outputs: Mapping[int, Sequence[Output]],
    names: Mapping[int, str],
) -> list[dict[str, Any]]:
    """Return a row for each person and item, in two queries; without excluded ones, unless
    everyone is in. `outputs`: by item; `names`: of outputs on this page."""
    study, criterion = choice.study, choice.criterion
    active = Exclusion.objects.active().filter(study=study)
    is_about = Q(annotation=OuterRef("pk")) | Q(participant=OuterRef("participant"))
    annotations = (
        Annotation.objects.agreed()
        .filter(item__in=items)
        .exclude(status__in=(Annotation.Status.PILOT, Annotation.Status.WITHDRAWN))
        .select_related("participant")
        .annotate(is_out=Exists(active.filter(is_about)))
    )
    rows = Rating.objects.filter(annotation__item__in=items).group_rows()
    answers = []
    for annotation in annotations.order_by("participant__pseudonym", "pk"):
        if annotation.is_out and not choice.is_everyone:
            continue
        annotation.study = study  # the one at hand: it isn't read once more
        parts = outputs[annotation.item_id]
        known = name_shown(study.config, parts, names, annotation.order_shown)
        criteria = bind_criteria(study.config, items[annotation.item_id])
        asked = criteria.get(criterion.key) if criterion else None
        answer = _describe(annotation, rows.get(annotation.pk, []), known, criteria, asked)
        answers.append(answer | {"is_excluded": annotation.is_out})
    _mark_furthest(criterion, answers)
    return answers


def _describe(
    annotation: Annotation,
    rows: Sequence[AnswerRow],
    names: Names,
    criteria: Mapping[str, Criterion],
    criterion: Criterion | None,
) -> dict[str, Any]:
    """Return what one person answered; `asked`: the rows of the question, to compare them."""
    plain = [row for row in rows if row.criterion != HIGHLIGHTS]
    asked = [
        row for row in plain if criterion and row.criterion == criterion.key and row.part != COMMENT
    ]
    rest = describe_answer(criteria, [row for row in plain if row not in asked], names)
    written = [("" if len(criteria) == 1 else name, text) for name, text in rest.written]
    first = next(iter(names.shown), None)
    return {
        "annotation": annotation,
        "pseudonym": annotation.participant.pseudonym,
        "outcome": _describe_outcome(annotation),
        "is_counted": annotation.status == Annotation.Status.COUNTED,
        "criterion": criterion,
        "names": names,
        "outputs": list(names.on_page.values()),
        "first": names.on_page.get(first, "") if first and len(names.shown) > 1 else "",
        "asked": list(_group(asked)),
        # of a single output, which has a column of its own
        "lines": [("" if len(names.on_page) == 1 else name, words) for name, words in rest.lines],
        "reasons": [
            reason
            for row in asked
            if criterion and row.detail
            for reason in list_reasons(criterion, row, names.on_page)
        ],
        "marks": [
            (names.on_page.get(row.output or 0, ""), row.text)
            for row in rows
            if row.criterion == HIGHLIGHTS
        ],
        "written": [*written, ("", annotation.note)] if annotation.note else written,
        "seconds": _count_seconds(annotation),
    }


def _count_seconds(annotation: Annotation) -> int | None:
    """Return the active time, or else from shown to saved; imported answers have neither."""
    if annotation.active_ms is not None:
        return round(annotation.active_ms / 1000)
    if annotation.origin == Origin.IMPORTED:
        return None
    return round((annotation.submitted_at - annotation.started_at).total_seconds())


def _describe_outcome(annotation: Annotation) -> str:
    match annotation.outcome:
        case Annotation.Outcome.IGNORED:
            return f"Ignored: {reason_of(annotation.study.config, annotation.reason).label}"
        case Annotation.Outcome.REPORTED:
            return f"Reported: {reason_in_words(annotation)}"
        case Annotation.Outcome.SKIPPED:
            return "Skipped"
    return ""


def _group(rows: Iterable[AnswerRow]) -> Iterator[list[AnswerRow]]:
    """Yield the rows of each output and turn together."""

    def name_group(row: AnswerRow) -> tuple[int, int]:
        return row.output or 0, row.asked_turn

    for _, group in groupby(sorted(rows, key=name_group), key=name_group):
        yield list(group)


# --- the answer furthest from the others ----------------------------------------------------------


def _mark_furthest(criterion: Criterion | None, answers: list[dict[str, Any]]) -> None:
    """Put the question's answers into words; the one furthest from the others is marked."""
    values: dict[Any, list[tuple[int, Any]]] = defaultdict(list)
    for place, answer in enumerate(answers):
        if criterion is None or not answer["is_counted"]:
            continue
        for rows in answer["asked"]:
            values[_name_unit(criterion, answer, rows)].append(
                (place, _read_value(criterion, answer, rows))
            )
    furthest = {(unit, find_furthest(known)) for unit, known in values.items()}
    for place, answer in enumerate(answers):
        bound, names = answer["criterion"], answer["names"]
        order = {pk: number for number, pk in enumerate(names.on_page)}
        asked = sorted(answer["asked"], key=lambda rows: order.get(rows[0].output or 0, -1))
        answer["answers"] = [
            Named(
                _name_asked(bound, rows, answer),
                describe_bare(bound, rows, names),
                (_name_unit(bound, answer, rows), place) in furthest,
            )
            for rows in asked
        ]


def _name_unit(criterion: Criterion, answer: dict[str, Any], rows: Sequence[AnswerRow]) -> Any:
    output = None if criterion.scale.compares else rows[0].output
    return answer["annotation"].item_id, output, rows[0].asked_turn


def _name_asked(criterion: Criterion, rows: Sequence[AnswerRow], answer: dict[str, Any]) -> str:
    """Return the output that an answer is about, where a page shows several, and its turn."""
    names = answer["names"].on_page
    output, turn = rows[0].output, rows[0].asked_turn
    is_named = len(names) > 1 and output is not None and not criterion.scale.compares
    name = names.get(output, "") if is_named else ""
    return " ".join(filter(None, (name, f"turn {turn}" if turn else "")))


def _read_value(criterion: Criterion, answer: dict[str, Any], rows: Sequence[AnswerRow]) -> Any:
    """Return a number, or what is only the same or different."""
    scale, row = criterion.scale, rows[0]
    family = get_family(scale.family)
    if scale.compares:
        sides = list(answer["names"].on_page)
        sign = 0 if row.output not in sides else 1 if row.output == sides[0] else -1
        return sign * (row.value or 0.0)
    if family.has_marks:
        return sum(part.value or 0.0 for part in rows if part.part == "" and part.start is None)
    if not family.is_scored or scale.has_parts or row.value is None:
        return tuple((part.part, part.value) for part in rows)
    return log(max(row.value, 1)) if family.is_log else row.value


def find_furthest(values: Sequence[tuple[int, Any]]) -> int | None:
    """Return whose answer is furthest from all others; None if several are, or all are the same."""
    if len(values) < _FEWEST:
        return None
    distances = {
        place: fmean(
            abs(value - other)
            if isinstance(value, float | int) and isinstance(other, float | int)
            else float(value != other)
            for number, other in values
            if number != place
        )
        for place, value in values
    }
    [(place, most), (_next, second), *_rest] = Counter(distances).most_common()
    return place if most > second else None
