"""Which comments a reader wants to see, and in which order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.fields.json import KT
from django.http import QueryDict
from django.utils.functional import cached_property

from evalsite.annotation.models import Annotation, Rating
from evalsite.exports.comment_rows import list_written
from evalsite.instruments.schema import Criterion
from evalsite.results.comments.written import find_notes, find_texts
from evalsite.results.items.choice import EVERYONE, LONGEST_SEARCH
from evalsite.results.items.records import State
from evalsite.studies.models import Output, Study, System

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
    """Return the questions on which people can write."""
    written = list_written(study.config)
    criteria = study.config.criteria
    return [
        criterion
        for criterion in criteria
        if criterion.comment is not None or criterion.key in written
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

    def _filter_texts(self, texts: QuerySet[Rating]) -> QuerySet[Rating]:
        read = self.form.read
        if words := read("q"):
            texts = texts.filter(text__icontains=words)
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
