"""Which items a reader wants to see, measured on which question, in which order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.db.models import Count, Max, Min, OuterRef, Subquery
from django.db.models.functions import Coalesce
from django.http import QueryDict
from django.utils.functional import cached_property

from evalsite.analysis.families import get_family
from evalsite.data.items.records import search_items
from evalsite.decisions.models import Note
from evalsite.instruments.schema import Criterion
from evalsite.results.comments.written import count_by_item
from evalsite.results.items.marks import Reach
from evalsite.results.items.records import State, list_records
from evalsite.results.items.spread import (
    Limit,
    Spread,
    find_limit,
    list_measured,
    measure_records,
    read_counted,
)
from evalsite.studies.models import Item, Study

EVERYONE = "everyone"
LONGEST_SEARCH = 200
# from the largest to the smallest, but items as uploaded; a minus turns an order around
ORDERS = {
    "apart": "Most apart first",
    "difference": "Largest difference first",
    "comments": "Most comments first",
    "answers": "Most answers first",
    "item": "As uploaded",
}
_TURNED = {
    "-apart": "Least apart first",
    "-difference": "Smallest difference first",
    "-comments": "Fewest comments first",
    "-answers": "Fewest answers first",
    "-item": "Latest first",
}


class ItemsForm(forms.Form):
    """What is chosen on the page of items; what can't be read is as if it weren't there."""

    q = forms.CharField(
        label="Words in the item",
        required=False,
        max_length=LONGEST_SEARCH,
        widget=forms.TextInput(attrs={"type": "search", "autocomplete": "off"}),
    )
    question = forms.ChoiceField(label="Measured on", required=False)
    answers = forms.ChoiceField(label="Answers", required=False)
    order = forms.ChoiceField(required=False, choices=list((ORDERS | _TURNED).items()))
    people = forms.ChoiceField(required=False, choices=[(EVERYONE, "Everyone included")])

    def __init__(self, data: QueryDict, *, criteria: list[Criterion], is_blind: bool) -> None:
        super().__init__(data, auto_id="id_%s")
        asked: Any = self.fields["question"]
        asked.choices = [(criterion.key, criterion.label) for criterion in criteria]
        shown: Any = self.fields["answers"]
        shown.choices = [("", "All"), *_list_filters(criteria)]
        if is_blind:
            order: Any = self.fields["order"]
            order.choices = [pair for pair in order.choices if "difference" not in pair[0]]

    def read(self, name: str) -> str:
        self.is_valid()
        return str(self.cleaned_data.get(name, ""))


def _list_filters(criteria: list[Criterion]) -> Iterator[tuple[str, str]]:
    if any(getattr(criterion.scale, "both_bad", None) for criterion in criteria):
        yield "both-bad", "Both bad at least once"
    yield "comments", "With comments"
    yield "notes", "With notes"
    yield "held", "Held"


@dataclass(frozen=True)
class Choice:
    """What a reader chose."""

    study: Study
    form: ItemsForm
    state: State

    @cached_property
    def systems(self) -> list[int]:
        """List the systems in the order of pages; none while they are hidden.

        On a preference, those preferred most come first, as in the report.
        """
        if self.state.is_blind:
            return []
        systems = self.study.systems.order_by("name")
        if self.criterion is not None and self.criterion.scale.compares:
            ratings = read_counted(self.study, is_everyone=self.is_everyone).order_by()
            preferred: Any = ratings.filter(
                criterion=self.criterion.key, output__system=OuterRef("pk")
            )
            number = preferred.values("output__system").annotate(n=Count("pk")).values("n")
            systems = systems.annotate(won=Coalesce(Subquery(number), 0)).order_by("-won", "name")
        return list(systems.values_list("pk", flat=True))

    @cached_property
    def criterion(self) -> Criterion | None:
        """Return the question that items are measured on: the primary one, unless another is."""
        measured = list_measured(self.study)
        chosen = self.form.read("question") or self.state.primary
        known = {criterion.key: criterion for criterion in measured}
        return known.get(chosen) or (measured[0] if measured else None)

    @cached_property
    def limit(self) -> Limit | None:
        return find_limit(self.criterion.scale) if self.criterion else None

    @cached_property
    def reach(self) -> Reach:
        """Return the values between which marks differ: without fixed ends, those people gave."""
        assert self.criterion is not None
        scale = self.criterion.scale
        if not get_family(scale.family).is_log and scale.maximum is not None:
            return scale.minimum, scale.maximum
        ratings = read_counted(self.study, is_everyone=self.is_everyone).order_by()
        values = ratings.filter(criterion=self.criterion.key)
        ends = values.aggregate(low=Min("value"), high=Max("value"))
        return ends["low"] or scale.minimum, ends["high"] or scale.maximum or 0.0

    @property
    def order(self) -> str:
        return self.form.read("order") or ("apart" if self.criterion else "item")

    @property
    def is_everyone(self) -> bool:
        return self.form.read("people") == EVERYONE

    @property
    def query(self) -> str:
        """Return the address of what is chosen, without the page."""
        chosen = {name: self.form.read(name) for name in self.form.fields}
        address = QueryDict(mutable=True)
        address.update({name: value for name, value in chosen.items() if value})
        return address.urlencode()

    def measure(self) -> list[Spread]:
        """Return all items as uploaded, with what their order and the filter need."""
        records = list_records(self.study)
        chosen = (self.form.read("answers"), self.order.removeprefix("-"))
        if self.criterion is None:
            spreads = [Spread(record) for record in records]
        else:
            ratings = read_counted(self.study, is_everyone=self.is_everyone)
            systems = self.systems if "difference" in chosen else []
            spreads = measure_records(records, self.criterion, ratings, systems)
        if "comments" in chosen:
            self._count_comments(spreads, ())
        return spreads

    def measure_page(self, spreads: list[Spread]) -> list[Spread]:
        """Return these items, as few as fit onto a page, with their differences and comments."""
        pks = [pk for spread in spreads for pk in spread.record.items]
        if self.criterion is not None:
            ratings = read_counted(self.study, is_everyone=self.is_everyone)
            ratings = ratings.filter(annotation__item__in=pks)
            records = [spread.record for spread in spreads]
            spreads = measure_records(records, self.criterion, ratings, self.systems)
        self._count_comments(spreads, pks)
        return spreads

    def _count_comments(self, spreads: list[Spread], items: Sequence[int]) -> None:
        counts = count_by_item(self.study, items, is_everyone=self.is_everyone)
        for spread in spreads:
            spread.comments = sum(counts.get(pk, 0) for pk in spread.record.items)

    def arrange(self, spreads: list[Spread]) -> list[Spread]:
        """Return those of these items that are wanted, in their order."""
        shown = self.form.read("answers")
        if words := self.form.read("q"):
            items = Item.objects.main().filter(study=self.study)
            # people name items after systems
            matching = search_items(items, words, has_ids=not self.state.is_blind)
            spreads = _keep_items(spreads, matching.values_list("pk", flat=True))
        if shown == "comments":
            spreads = [spread for spread in spreads if spread.comments]
        elif shown == "held":
            spreads = [spread for spread in spreads if spread.record.is_held]
        elif shown == "notes":
            notes = Note.objects.filter(study=self.study, item__isnull=False)
            spreads = _keep_items(spreads, notes.order_by().values_list("item", flat=True))
        elif shown == "both-bad":
            ratings = read_counted(self.study, is_everyone=self.is_everyone)
            both = ratings.filter(detail__both="bad").order_by()
            spreads = _keep_items(spreads, both.values_list("annotation__item", flat=True))
        return sorted(spreads, key=self._place)

    def _place(self, spread: Spread) -> tuple[bool, float, int]:
        """Return where a record comes; what isn't known comes last in any order."""
        name = self.order.removeprefix("-")
        values = {
            "apart": spread.apart,
            "difference": None if spread.difference is None else abs(spread.difference),
            "comments": spread.comments,
            "answers": spread.answers,
            "item": -spread.record.number,
        }
        value = values[name]
        sign = 1 if self.order.startswith("-") else -1
        return (value is None, sign * (value or 0), spread.record.number)


def _keep_items(spreads: list[Spread], items: Any) -> list[Spread]:
    kept = set(items)
    return [spread for spread in spreads if not kept.isdisjoint(spread.record.items)]
