"""Comments as a page shows them, each beside the answer and the output that it is about."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models.functions import Left

from evalsite.annotation.models import ROW, Annotation, Rating
from evalsite.annotation.pages.held_items import reason_in_words
from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.scales import COMMENT
from evalsite.instruments.schema import Criterion
from evalsite.quality.models import Exclusion
from evalsite.results.comments.choice import CommentChoice
from evalsite.results.items.answers import describe_bare, list_reasons, name_shown
from evalsite.results.items.records import (
    Titles,
    find_items,
    get_record_name,
    name_outputs_of,
)
from evalsite.results.people.answer_words import Names, bind_criteria
from evalsite.studies.models import Item, Output, Study

# characters of an output beside a comment; the page of its item has the rest
_EXCERPT = 300
# characters from which on a comment has a box of its own
_LONG = 1_500


def describe_comments(
    choice: CommentChoice, page: Sequence[tuple[Any, ...]], *, reader: Any
) -> list[dict[str, Any]]:
    """Return what a page shows of these comments, in six queries at most."""
    study = choice.study
    annotations = Annotation.objects.select_related("participant", "item").in_bulk(
        [row[0] for row in page]
    )
    texts, answered = _read_ratings(list(annotations))
    items = [annotation.item for annotation in annotations.values()]
    records = _read_records(study, items)
    is_blind = choice.state.is_blind
    titles = Titles(study, is_blind=is_blind)
    active = Exclusion.objects.active().filter(study=study)
    excluded = set(active.values_list("annotation", "participant")) if choice.is_everyone else set()
    rows = []
    for annotation_pk, rating_pk, *_order in page:
        annotation = annotations[annotation_pk]
        item = annotation.item
        record = records[get_record_name(study, item)]
        names = name_outputs_of(study, record, reader=reader, is_blind=is_blind)
        shown = [output for output in record if output.item_id == item.pk]
        known = name_shown(study.config, shown, names, annotation.order_shown)
        row = _describe(choice, annotation, texts.get(rating_pk), answered, known)
        output = next((output for output in shown if output.pk == row["output"]), None)
        rows.append(
            row
            | {
                "annotation": annotation,
                "pseudonym": annotation.participant.pseudonym,
                "is_excluded": (annotation.pk, None) in excluded
                or (None, annotation.participant_id) in excluded,
                "at": annotation.submitted_at,
                "record": min(output.item_id for output in record),
                "title": titles.find(item, is_alone=len(shown) == len(record)),
                "name": names.get(row["output"], "") if len(record) > 1 else "",
                "beside": getattr(output, "begins", "") if output else _begin(study, item),
                "is_long": len(row["text"]) > _LONG,
            }
        )
    return rows


def _read_ratings(
    annotations: Sequence[int],
) -> tuple[dict[int, AnswerRow], dict[int, list[AnswerRow]]]:
    """Return the rows of these annotations by their id, and by annotation."""
    ratings = Rating.objects.without_marks().filter(annotation__in=annotations).order_by("id")
    rows: dict[int, AnswerRow] = {}
    answered: dict[int, list[AnswerRow]] = defaultdict(list)
    for pk, annotation, *cells in ratings.values_list("id", "annotation_id", *ROW):
        rows[pk] = AnswerRow(*cells)
        answered[annotation].append(rows[pk])
    return rows, answered


def _read_records(study: Study, items: Sequence[Item]) -> dict[str, list[Output]]:
    """Return the outputs of the records of these items, by record, in one query."""
    records: dict[str, list[Output]] = defaultdict(list)
    stored = Output.objects.filter(item__in=find_items(study, items).order_by().values("pk"))
    stored = stored.select_related("system", "item").defer("text", "item__inputs")
    for output in stored.annotate(begins=Left("text", _EXCERPT)).order_by("item", "position"):
        records[get_record_name(study, output.item)].append(output)
    return records


def _begin(study: Study, item: Any) -> str:
    """Return how the item begins: its first input."""
    column = next(iter(study.config.columns), None)
    return "" if column is None else str(item.inputs.get(column.name, ""))[:_EXCERPT]


def _describe(
    choice: CommentChoice,
    annotation: Annotation,
    rating: AnswerRow | None,
    answered: Mapping[int, list[AnswerRow]],
    names: Names,
) -> dict[str, Any]:
    """Return a text with the answer to its question, the reasons, and its output."""
    criteria = bind_criteria(choice.study.config, annotation.item)
    key = rating.criterion if rating else choice.only.key if choice.only else ""
    criterion = criteria.get(key)
    rows = _find_answer(criterion, rating, answered.get(annotation.pk, []))
    output = rating.output if rating else None
    if output is None and rows and criterion and criterion.scale.compares:
        output = rows[0].output
    if output is None and len(names.on_page) == 1:
        output = next(iter(names.on_page))
    is_named = rating is not None and len(choice.study.config.criteria) > 1
    return {
        "text": rating.text if rating else annotation.note,
        "question": criterion.label if is_named and criterion else "",
        "answer": describe_bare(criterion, rows, names) if rows else _describe_outcome(annotation),
        "reasons": list_reasons(criterion, rows[0], names.on_page) if rows and criterion else [],
        "output": output,
    }


def _find_answer(
    criterion: Criterion | None, rating: AnswerRow | None, rows: Sequence[AnswerRow]
) -> list[AnswerRow]:
    """Return the answer to the question on which a text was written; none if it is the answer."""
    if criterion is None or (rating is not None and rating.part != COMMENT):
        return []
    asked = [row for row in rows if row.criterion == criterion.key and row.part != COMMENT]
    if rating is None:
        # a note on several outputs stands beside no answer to one of them
        return asked if len({(row.output, row.turn) for row in asked}) == 1 else []
    if criterion.scale.compares:
        return asked
    place = (rating.output, rating.turn)
    return [row for row in asked if (row.output, row.turn) == place]


def _describe_outcome(annotation: Annotation) -> str:
    if annotation.outcome == Annotation.Outcome.REPORTED:
        return f"Reported: {reason_in_words(annotation)}"
    return "Skipped" if annotation.outcome == Annotation.Outcome.SKIPPED else ""
