"""The staff page of what people wrote, beside the items and answers that it is about."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.paginator import Paginator
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.fields.json import KT
from django.db.models.functions import Left
from django.http import HttpRequest, QueryDict
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.utils.functional import cached_property
from django.views.decorators.http import require_safe

from evalsite.data.files.rows import list_written
from evalsite.decisions.models import Exclusion
from evalsite.handout.models import ROW, Annotation, Rating
from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.scales import COMMENT
from evalsite.instruments.schema import Criterion
from evalsite.participation.held_items import reason_in_words
from evalsite.people.names import name_people
from evalsite.results.comments.written import count_by_person, find_notes, find_texts
from evalsite.results.document.charts import Axis, draw_svg, make_axis, make_mark, name_part
from evalsite.results.items.answers import describe_bare, list_reasons, name_shown
from evalsite.results.items.choice import EVERYONE, LONGEST_SEARCH
from evalsite.results.items.records import (
    State,
    Titles,
    find_items,
    get_record_name,
    name_outputs_of,
    read_state,
)
from evalsite.results.models import Report
from evalsite.results.people.answer_words import Names, bind_criteria
from evalsite.results.report.computation import newest_report
from evalsite.results.report.sections.questions import draw_question
from evalsite.results.report.source import Criterion as StoredCriterion
from evalsite.studies.models import Item, Output, Study, System
from evalsite.studies.staff_pages import study_page

# --- reasons that were ticked, of a question

# in a headline: more than this share of the answers that prefer a system name the reason
_MOST_NAME = 0.5


def read_reasons(report: Report | None, *, is_everyone: bool) -> dict[str, Any] | None:
    """Return the counted reasons of the first question that has some; None without a report."""
    if report is None:
        return None
    content = (is_everyone and report.content["all"]) or report.content["kept"]
    for criterion in content["criteria"]:
        stored = criterion.get("reasons")
        if stored and stored["shares"]:
            return _describe_reason(stored, criterion["pairs"]) | _draw_chosen(
                StoredCriterion(criterion)
            )
    return None


def _draw_chosen(criterion: StoredCriterion) -> dict[str, Any]:
    """Return how often each answer was given, as a chart; of two systems in numbers, too."""
    chart = next((chart for chart in draw_question(criterion) if chart.kind == "stacked"), None)
    if chart is None:
        return {"chart": "", "chosen": [], "answers": 0}
    is_pair = len({figure.group[:-1] for figure in chart.figures}) == 1
    answers = chart.figures[0].n["answers"]
    counts = [
        (name_part(figure.group[-1][1]), round((figure.value or 0) * answers))
        for figure in chart.figures
    ]
    return {
        "chart": draw_svg(chart),
        "chosen": [part for part in counts if part[1]] if is_pair else [],
        "answers": answers,
    }


def _describe_reason(stored: dict[str, Any], pairs: list[dict[str, Any]]) -> dict[str, Any]:
    axis = make_axis([0.0, 1.0], is_share=True)
    shares = {
        (dict(share["group"])["reason"], dict(share["group"])["system"]): share
        for share in stored["shares"]
    }
    # in the order of the chart
    compared = [pair[side] for pair in pairs for side in ("system_1", "system_2")]
    known = dict.fromkeys(system for _reason, system in shares)
    systems = list(dict.fromkeys(name for name in (*compared, *known) if name in known))
    rows = [
        {"label": label, "cells": [_write_cell(shares[key, system], axis) for system in systems]}
        for key, label in stored["labels"].items()
        if any(shares[key, system]["value"] for system in systems)
    ]
    return {
        "systems": systems,
        "rows": rows,
        "ticks": axis.ticks,
        "has_chart": len(systems) <= 2,
        "most_named": [_find_most_named(system, shares, stored["labels"]) for system in systems],
        "headline": _find_headline(systems, shares, stored["labels"]),
    }


def _write_cell(share: dict[str, Any], axis: Axis) -> dict[str, Any]:
    low, high = share["low"], share["high"]
    return {
        "named": share["n"]["named"],
        "answers": share["n"]["answers"],
        "share": f"{share['value']:.0%}",
        "interval": "" if low is None else f"{low:.0%} to {high:.0%}",
        "mark": make_mark(axis, share["value"], low, high) if low is not None else None,
    }


def _find_most_named(system: str, shares: Any, labels: dict[str, str]) -> dict[str, Any]:
    key = max(labels, key=lambda key: shares[key, system]["value"])
    return {"system": system, "label": labels[key], **shares[key, system]["n"]}


def _find_headline(
    systems: list[str], shares: Any, labels: dict[str, str]
) -> dict[str, str] | None:
    """Return the reason that most answers for one system name, and that sets it apart most."""
    candidates = []
    for system in systems:
        rivals = [name for name in systems if name != system]
        for key, label in labels.items():
            value = shares[key, system]["value"]
            if shares[key, system]["low"] is not None and value > _MOST_NAME:
                lead = value - max((shares[key, rival]["value"] for rival in rivals), default=0)
                candidates.append((lead, system, label))
    if not candidates:
        return None
    _lead, system, label = max(candidates)
    return {"system": system, "label": label}


# --- which comments a reader wants to see, and in which order

# in place of a question: notes on items, texts of skips and of problem reports
OTHER = "other"
ORDERS = {"time": "By time", "item": "By item", "person": "By person"}
# of more people a pseudonym is typed
MOST_PEOPLE = 200
_BOTH = {"both_good": "Both good", "both_bad": "Both bad"}


class CommentsForm(forms.Form):
    """What is chosen on the page of comments; what can't be read is as if it weren't there."""

    q = forms.CharField(
        label="Words",
        required=False,
        max_length=LONGEST_SEARCH,
        widget=forms.TextInput(attrs={"type": "search", "autocomplete": "off"}),
    )
    question = forms.ChoiceField(label="Question", required=False)
    answer = forms.ChoiceField(label="Answer or system", required=False)
    reason = forms.ChoiceField(label="Reason", required=False)
    person = forms.CharField(label="Person", required=False, max_length=60)
    order = forms.ChoiceField(required=False, choices=list(ORDERS.items()))
    people = forms.ChoiceField(required=False, choices=[(EVERYONE, "Everyone included")])

    def __init__(
        self,
        data: QueryDict,
        *,
        study: Study,
        systems: Sequence[System],
        writers: Sequence[str],
        names: Mapping[str, str],
    ) -> None:
        super().__init__(data, auto_id="id_%s")
        criteria = study.config.criteria
        questions = [(criterion.key, criterion.label) for criterion in list_asked(study)]
        self._offer("question", [*questions, (OTHER, "Other comments")])
        shown = [
            criterion for criterion in criteria if criterion.key == data.get("question")
        ] or criteria
        self._offer("answer", [*_list_answers(shown, systems)])
        reasons = {
            reason["key"]: reason["label"]
            for criterion in criteria
            for reason in criterion.scale.list_reasons()
        }
        self._offer("reason", [*reasons.items()])
        if len(writers) <= MOST_PEOPLE:
            people = [(pseudonym, names.get(pseudonym, pseudonym)) for pseudonym in writers]
            choices = [("", f"All {len(writers)}"), *people]
            self.fields["person"].widget = forms.Select(choices=choices)

    def _offer(self, name: str, choices: list[tuple[str, str]]) -> None:
        field: Any = self.fields[name]
        field.choices = [("", "All"), *choices]

    def read(self, name: str) -> str:
        self.is_valid()
        return str(self.cleaned_data.get(name, ""))


def list_asked(study: Study) -> list[Criterion]:
    """Return the questions on which, or on whose passages, people can write."""
    written = list_written(study.config)
    criteria = study.config.criteria
    return [
        criterion
        for criterion in criteria
        if criterion.comment is not None or criterion.scale.asks_notes or criterion.key in written
    ]


def find_only(study: Study) -> Criterion | None:
    """Return the question of a study that asks only one beside words: notes stand beside it."""
    criteria = [
        criterion for criterion in study.config.criteria if criterion.scale.family != "text"
    ]
    return criteria[0] if len(criteria) == 1 else None


def _list_answers(
    criteria: Sequence[Criterion], systems: Sequence[System]
) -> Iterator[tuple[str, str]]:
    compared = [criterion.scale for criterion in criteria if criterion.scale.compares]
    for system in systems:
        yield f"s{system.pk}", f"{system.name} preferred" if compared else system.name
    for scale in compared[:1]:
        if getattr(scale, "entries", {}).get("0") == 0 or "tie" in getattr(scale, "entries", {}):
            yield "tie", scale.name_tested(0)
        yield from ((key, getattr(scale, key)) for key in _BOTH if getattr(scale, key, None))
    if len(criteria) == 1 and not compared:
        for value, label in criteria[0].scale.list_answers():
            number = f"{value:g}"
            yield f"v{number}", f"{number}: {label}" if label else number


@dataclass(frozen=True)
class CommentChoice:
    """What a reader chose; its texts and notes come as one list of ids."""

    study: Study
    form: CommentsForm
    state: State

    @property
    def order(self) -> str:
        return self.form.read("order") or "time"

    @property
    def is_everyone(self) -> bool:
        return self.form.read("people") == EVERYONE

    @property
    def is_filtered(self) -> bool:
        return any(self.form.read(name) for name in ("q", "question", "answer", "reason", "person"))

    @cached_property
    def only(self) -> Criterion | None:
        return find_only(self.study)

    def find(self) -> QuerySet[Any, Any]:
        """Return the annotation and the rating (0: it is a note) of each comment, in order."""
        texts = self._filter_texts(find_texts(self.study, is_everyone=self.is_everyone))
        notes = self._filter_notes(find_notes(self.study, is_everyone=self.is_everyone))
        # the order of items in the file is that of systems
        place = "item__group" if self.state.is_blind else "item_id"
        columns: dict[str, Any] = {
            "at": "submitted_at",
            "person": "participant__pseudonym",
            "by_item": place,
        }
        rows: QuerySet[Any, Any] = texts.annotate(
            answer=F("annotation_id"),
            rating=F("pk"),
            **{name: F(f"annotation__{column}") for name, column in columns.items()},
        ).values_list("answer", "rating", *columns)
        noted = notes.annotate(
            answer=F("pk"), rating=Value(0), **{name: F(column) for name, column in columns.items()}
        ).values_list("answer", "rating", *columns)
        first = {"time": (), "item": ("by_item",), "person": ("person",)}[self.order]
        return rows.union(noted, all=True).order_by(*first, "at", "answer", "rating")

    def _filter_texts(self, texts: QuerySet[Any, Any]) -> QuerySet[Any, Any]:
        read = self.form.read
        if words := read("q"):
            texts = texts.filter(words__icontains=words)
        if question := read("question"):
            texts = texts.filter(criterion=question)
        if person := read("person"):
            texts = texts.filter(annotation__participant__pseudonym=person)
        beside = Rating.objects.filter(
            annotation=OuterRef("annotation"), criterion=OuterRef("criterion"), part=""
        )
        about = beside.filter(Q(output=OuterRef("output")) | Q(output=None), turn=OuterRef("turn"))
        is_about = Q(output__system=_read_system(read("answer")))
        return self._filter_answers(texts, beside, about, is_about)

    def _filter_notes(self, notes: QuerySet[Annotation]) -> QuerySet[Annotation]:
        read = self.form.read
        if words := read("q"):
            notes = notes.filter(note__icontains=words)
        if read("question") not in ("", OTHER):
            notes = notes.none()
        if person := read("person"):
            notes = notes.filter(participant__pseudonym=person)
        key = self.only.key if self.only else None
        beside = Rating.objects.filter(annotation=OuterRef("pk"), criterion=key, part="")
        is_about = Q(pk=None)
        if self.study.config.item.outputs.most == 1:
            output = Output.objects.filter(
                item=OuterRef("item"), system=_read_system(read("answer"))
            )
            is_about = Q(Exists(output))
        return self._filter_answers(notes, beside, beside, is_about)

    def _filter_answers(
        self, rows: QuerySet[Any], beside: QuerySet[Rating], about: QuerySet[Rating], is_about: Q
    ) -> QuerySet[Any]:
        """Keep comments beside this answer and reason. `beside`: the answers to the question;
        `about`: those to what the comment is about; `is_about`: it is about this system."""
        answer, reason = self.form.read("answer"), self.form.read("reason")
        if answer.startswith("s"):
            preferring = [
                criterion.key
                for criterion in self.study.config.criteria
                if criterion.scale.compares
            ]
            preferred = beside.filter(criterion__in=preferring, output__system=_read_system(answer))
            rows = rows.filter(is_about | Q(Exists(preferred)))
        elif answer.startswith("v"):
            rows = rows.filter(Exists(about.filter(value=float(answer[1:]))))
        elif answer in _BOTH:
            rows = rows.filter(Exists(beside.filter(detail__both=answer.removeprefix("both_"))))
        elif answer == "tie":
            ties = beside.filter(output=None, value=0)
            rows = rows.filter(Exists(ties.exclude(detail__has_key="both")))
        if reason:
            ticked = beside.annotate(ticked=KT("detail__reasons"))
            # lists of keys; the keys of what they are about come before a colon
            listed = Q(ticked__contains=f'"{reason}",') | Q(ticked__contains=f'"{reason}"]')
            rows = rows.filter(Exists(ticked.filter(listed)))
        return rows


def _read_system(answer: str) -> int:
    return int(answer[1:]) if answer.startswith("s") else 0


# --- comments, each beside the answer and the output that it is about

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
    texts, answered = _read_ratings(list(annotations), [row[1] for row in page])
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
    annotations: Sequence[int], texts: Sequence[int]
) -> tuple[dict[int, AnswerRow], dict[int, list[AnswerRow]]]:
    """Return the rows of these annotations by their id, and by annotation; of passages only those
    that are among the texts."""
    ratings = Rating.objects.filter(Q(start=None) | Q(pk__in=texts), annotation__in=annotations)
    ratings = ratings.order_by("id")
    rows: dict[int, AnswerRow] = {}
    answered: dict[int, list[AnswerRow]] = defaultdict(list)
    for pk, annotation, *cells in ratings.values_list("id", "annotation_id", *ROW):
        rows[pk] = AnswerRow(*cells)
        if rows[pk].start is None:
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
        "text": _read_words(rating) if rating else annotation.note,
        "question": criterion.label if is_named and criterion else "",
        "answer": describe_bare(criterion, rows, names) if rows else _describe_outcome(annotation),
        "reasons": list_reasons(criterion, rows[0], names.on_page) if rows and criterion else [],
        "output": output,
    }


def _read_words(rating: AnswerRow) -> str:
    """Return the text, or the note on a passage."""
    return rating.text if rating.start is None else str((rating.detail or {}).get("note", ""))


def _find_answer(
    criterion: Criterion | None, rating: AnswerRow | None, rows: Sequence[AnswerRow]
) -> list[AnswerRow]:
    """Return the answer to the question on which a text was written; none if it is the answer."""
    if criterion is not None and rating is not None and rating.start is not None:
        # the passage with its category and severity
        detail = {key: words for key, words in (rating.detail or {}).items() if key != "note"}
        return [rating._replace(detail=detail or None)]
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


# --- the page

PAGE = 30


@study_page("results/comments/", name="results-comments", place="Results", tab="Comments", order=70)
@require_safe
def show_comments(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show what people wrote, 30 texts at a time, and the reasons they ticked."""
    state = read_state(study)
    is_blind = state.is_blind
    names = name_people(request, study)
    is_everyone = request.GET.get("people") == EVERYONE
    writers = count_by_person(study, is_everyone=is_everyone)
    form = CommentsForm(
        request.GET,
        study=study,
        systems=[] if is_blind else list(study.systems.order_by("name")),
        writers=list(writers),
        names=names,
    )
    choice = CommentChoice(study, form, state)
    pages = Paginator(choice.find(), PAGE)
    total = sum(writers.values())
    if not choice.is_filtered:
        pages.count = total
    rows = pages.get_page(request.GET.get("page"))
    context: dict[str, Any] = {
        "choice": choice,
        "form": form,
        "rows": rows,
        "comments": describe_comments(choice, list(rows), reader=request.user),
        "total": total,
        "writers": len(writers),
        "orders": ORDERS.items(),
        "reasons": None
        if is_blind
        else read_reasons(newest_report(study), is_everyone=is_everyone),
        "has_exclusions": state.has_exclusions,
        "is_blind": is_blind,
        "people_names": names,
        "texts": {"language": study.language},
    }
    return TemplateResponse(request, "results/comments.html", context)
