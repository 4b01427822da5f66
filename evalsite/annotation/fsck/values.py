"""Ratings and highlights: complete, inside the scale, and of the item's own outputs."""

from collections.abc import Iterable, Iterator

from django.core.exceptions import ValidationError
from django.db.models import (
    CharField,
    Count,
    Exists,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
)
from django.db.models.functions import Cast, Coalesce, Substr
from django.forms import Field

from evalsite.annotation.fsck.findings import checks_in
from evalsite.annotation.fsck.sentences import name_answers
from evalsite.annotation.models import Annotation, Highlight, Rating
from evalsite.participants.models import Origin
from evalsite.protocol import Criterion
from evalsite.studies.gold import asked_criteria
from evalsite.studies.models import Item, Output, Study

_RATED = Annotation.Outcome.RATED
_WITHDRAWN = Annotation.Status.WITHDRAWN


def _ratings(study: Study) -> QuerySet[Rating]:
    # by way of the annotations, which have an index by study
    return Rating.objects.filter(annotation__study=study)


def _highlights(study: Study) -> QuerySet[Highlight]:
    return Highlight.objects.filter(annotation__study=study)


def _name(rows: QuerySet[Rating] | QuerySet[Highlight], what: str) -> Iterator[str]:
    found = rows.order_by("pk").values_list("pk", "annotation_id", "annotation__item__key")
    for pk, annotation_id, key in found.iterator():
        yield f"{what} {pk} of answer {annotation_id} to item {key}"


def answer_with_another_number_of_ratings(study: Study) -> Iterable[str]:
    """What is rated has a rating for each question; of practice, for each that was asked.

    Ratings collected elsewhere may lack some, if that was confirmed at the import.
    """
    rated = Annotation.objects.filter(study=study, outcome=_RATED).exclude(status=_WITHDRAWN)
    ratings = Rating.objects.filter(annotation=OuterRef("pk")).order_by()
    outputs = Output.objects.filter(item=OuterRef("item")).order_by()
    rated = rated.annotate(
        given=_count(ratings.values("annotation")), shown=_count(outputs.values("item"))
    )
    is_main = ~Q(item__kind=Item.Kind.PRACTICE)
    each, once = _questions(study.config.criteria)
    is_whole = Q(given=each * F("shown") + once)
    is_part = Q(origin=Origin.IMPORTED, given__gt=0, given__lt=each * F("shown") + once)
    yield from name_answers(rated.filter(is_main).exclude(is_whole | is_part))
    for item in Item.objects.practice().filter(study=study):
        each, once = _questions(asked_criteria(study.config, item.gold))
        of_item = rated.filter(item=item)
        yield from name_answers(of_item.exclude(given=each * F("shown") + once))


def _count(rows: QuerySet) -> Coalesce:
    counted = rows.annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


def _questions(criteria: Iterable[Criterion]) -> tuple[int, int]:
    """How many questions are asked of each output, and how many of all together."""
    asked = [criterion.per_output for criterion in criteria]
    return sum(asked), len(asked) - sum(asked)


def rating_of_what_was_not_rated(study: Study) -> Iterable[str]:
    """What was ignored, reported or withdrawn has no ratings and no highlights."""
    unrated = Annotation.objects.filter(~Q(outcome=_RATED) | Q(status=_WITHDRAWN), study=study)
    ratings = Rating.objects.filter(annotation=OuterRef("pk"))
    highlights = Highlight.objects.filter(annotation=OuterRef("pk"))
    return name_answers(unrated.filter(Exists(ratings) | Exists(highlights)))


def rating_of_another_items_output(study: Study) -> Iterable[str]:
    of_outputs = _ratings(study).filter(output__isnull=False)
    return _name(of_outputs.exclude(output__item=F("annotation__item")), "rating")


def criterion_that_is_not_asked(study: Study) -> Iterable[str]:
    return _name(_ratings(study).exclude(criterion__in=study.config.criterion_by_key), "rating")


def value_outside_its_scale(study: Study) -> Iterable[str]:
    for criterion in study.config.criteria:
        ratings = _ratings(study).filter(criterion=criterion.key)
        yield from _name(ratings.exclude(criterion.scale.select_rows()), "rating")


def rating_given_twice(study: Study) -> Iterable[str]:
    """One for each output, and one in all where the outputs are compared."""
    found = _ratings(study).order_by()
    per_output = [one.key for one in study.config.criteria if one.per_output]
    question = ("annotation", "criterion", "turn", "part")
    each = found.filter(criterion__in=per_output).values(*question, "output")
    once = found.exclude(criterion__in=per_output).values(*question)
    for several in (each, once):
        twice = several.annotate(n=Count("pk")).filter(n__gt=1).order_by("annotation")
        for row in twice.iterator():
            yield f"answer {row['annotation']} has {row['n']} ratings for {row['criterion']}"


def rating_of_a_kind_that_no_scale_has(study: Study) -> Iterable[str]:
    """No scale asks about turns or parts, or stores a text or details."""
    plain = Q(turn=0, part="", text="", detail__isnull=True)
    return _name(_ratings(study).exclude(plain), "rating")


def typed_text_that_says_another_number(study: Study) -> Iterable[str]:
    fields = {one.key: one.make_field("") for one in study.config.criteria if one.scale.keeps_typed}
    typed = _ratings(study).filter(criterion__in=fields).exclude(value_typed="")
    # nearly all are the bare number: only others have to be read
    others = typed.exclude(value_typed=Cast("value", CharField())).order_by("pk")
    rows = others.values_list("pk", "annotation_id", "criterion", "value", "value_typed")
    for pk, annotation_id, criterion, value, text in rows.iterator():
        if _read(fields[criterion], text) != value:
            yield f"rating {pk} of answer {annotation_id}"


def _read(field: Field, text: str) -> int | None:
    try:
        return field.clean(text)
    except ValidationError:
        return None


def typed_text_that_is_missing(study: Study) -> Iterable[str]:
    """Kept for every number that was typed, and for nothing else."""
    kept = [one.key for one in study.config.criteria if one.scale.keeps_typed]
    is_missing = Q(criterion__in=kept, value_typed="")
    is_strange = ~Q(criterion__in=kept) & ~Q(value_typed="")
    return _name(_ratings(study).filter(is_missing | is_strange), "rating")


def highlight_that_does_not_fit(study: Study) -> Iterable[str]:
    """The quote is in the output, at this very place, and the output in the item."""
    passage = Substr("output__text", F("start") + Value(1), F("end") - F("start"))
    fitting = Q(quote=passage, output__item=F("annotation__item"))
    return _name(_highlights(study).exclude(fitting), "highlight")


def highlight_given_twice(study: Study) -> Iterable[str]:
    """Highlights of a criterion may overlap; those without one start at different places."""
    found = _highlights(study).order_by()
    place = ("annotation", "output", "start")
    apart = found.filter(criterion="").values(*place)
    once = found.exclude(criterion="").values(*place, "criterion", "end", "category")
    for several in (apart, once):
        twice = several.annotate(n=Count("pk")).filter(n__gt=1).order_by("annotation")
        for row in twice.iterator():
            yield f"answer {row['annotation']} has {row['n']} highlights at {row['start']}"


def highlight_of_a_criterion_that_is_not_asked(study: Study) -> Iterable[str]:
    known = ["", *study.config.criterion_by_key]
    return _name(_highlights(study).exclude(criterion__in=known), "highlight")


def highlight_of_a_category_that_nothing_offers(study: Study) -> Iterable[str]:
    """No scale has categories or severities."""
    return _name(_highlights(study).exclude(category="", severity=""), "highlight")


CHECKS = checks_in(
    ("Answers lack ratings or have too many", answer_with_another_number_of_ratings),
    ("Answers have ratings though nothing was rated", rating_of_what_was_not_rated),
    ("Ratings are of another item's output", rating_of_another_items_output),
    ("Ratings are of a criterion that the protocol does not have", criterion_that_is_not_asked),
    ("Ratings are outside their scale", value_outside_its_scale),
    ("Ratings were given twice", rating_given_twice),
    ("Ratings hold what no scale stores", rating_of_a_kind_that_no_scale_has),
    ("Numbers differ from what was typed", typed_text_that_says_another_number),
    ("The typed text is missing, or present where nothing is typed", typed_text_that_is_missing),
    ("Highlights don't fit the text that they mark", highlight_that_does_not_fit),
    ("Highlights were given twice", highlight_given_twice),
    (
        "Highlights are of a criterion that the protocol does not have",
        highlight_of_a_criterion_that_is_not_asked,
    ),
    (
        "Highlights have a category or a severity that nothing offers",
        highlight_of_a_category_that_nothing_offers,
    ),
)
