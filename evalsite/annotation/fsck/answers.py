"""Answers: one for each person and item, and never more than k that count.

Their ratings and highlights are complete, inside the scale, and of the item's own outputs.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

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

from evalsite.annotation.fsck.findings import (
    Finder,
    checks_in,
    is_in_progress,
    name_answers,
    names_answers,
    prepare,
)
from evalsite.annotation.models import (
    TOP_UP_FROM,
    Annotation,
    AnnotationQuerySet,
    Draft,
    Highlight,
    Rating,
    Slot,
)
from evalsite.annotation.pages.held_items import REPORTS_TO_HOLD
from evalsite.annotation.pages.saving import LEFT_TO_OTHERS
from evalsite.participants.models import Origin
from evalsite.protocol import Criterion
from evalsite.protocol.parts import COMMENT
from evalsite.studies.gold import find_gold
from evalsite.studies.models import Item, Output, Study

_STATUS, _OUTCOME = Annotation.Status, Annotation.Outcome


def _answers(study_id: Any) -> AnnotationQuerySet:
    return Annotation.objects.filter(study_id=study_id).order_by()


def more_than_k_count(study: Study) -> Iterable[str]:
    """Top-ups come on top of k."""
    if is_in_progress(study):
        return
    added = Slot.objects.filter(item__study=study, no__gte=TOP_UP_FROM).order_by()
    more = dict(added.values_list("item").annotate(n=Count("pk")))
    counts = _answers(study.pk).counted().values("item").annotate(n=Count("pk"))
    many = counts.filter(n__gt=study.k).order_by("item").values_list("item", "item__key", "n")
    for item, key, found in many.iterator():
        asked = study.k + more.get(item, 0)
        if found > asked:
            yield f"item {key} has {found} answers that count, of {asked}"


def answered_twice(study: Study) -> Iterable[str]:
    answers = Annotation.objects.filter(participant__study=study).order_by()
    pairs = answers.values("participant__pseudonym", "item__key").annotate(n=Count("pk"))
    for row in pairs.filter(n__gt=1).order_by("participant__pseudonym", "item__key").iterator():
        yield f"{row['participant__pseudonym']} answered item {row['item__key']} {row['n']} times"


@names_answers
def counted_without_a_place(study_id: Any) -> QuerySet[Any]:
    return _answers(study_id).counted().filter(slot__isnull=True)


@names_answers
def place_without_counting(study_id: Any) -> QuerySet[Any]:
    return _answers(study_id).filter(slot__isnull=False).exclude(status=_STATUS.COUNTED)


@names_answers
def report_that_counts(study_id: Any) -> QuerySet[Any]:
    return _answers(study_id).counted().filter(outcome__in=LEFT_TO_OTHERS)


@names_answers
def status_against_the_item(study_id: Any) -> QuerySet[Any]:
    """Controls are answers to items that are no main ones, and the other way round."""
    settled = [_STATUS.PILOT, _STATUS.SKIPPED, _STATUS.WITHDRAWN]
    wrong = Q(item__kind=Item.Kind.MAIN, status=_STATUS.CONTROL)
    wrong |= ~Q(item__kind=Item.Kind.MAIN) & ~Q(status=_STATUS.CONTROL)
    return _answers(study_id).exclude(status__in=settled).filter(wrong)


@names_answers
def status_against_the_person(study_id: Any) -> QuerySet[Any]:
    """Pilots' answers, and only theirs, are pilot answers.

    Withdrawn answers belong to people who have left or who don't agree to take part. Nothing waits
    for the consent of people who have left.
    """
    is_pilots = Q(participant__is_pilot=True)
    wrong = Q(status=_STATUS.PILOT) & ~is_pilots
    wrong |= is_pilots & ~Q(status__in=[_STATUS.PILOT, _STATUS.WITHDRAWN])
    has_agreed = Q(participant__withdrawn_at__isnull=True) & ~Q(participant__consented_to="")
    wrong |= Q(status=_STATUS.WITHDRAWN) & has_agreed
    wrong |= Q(awaits_consent=True, participant__withdrawn_at__isnull=False)
    return _answers(study_id).filter(wrong)


@names_answers
def unknown_status_or_outcome(study_id: Any) -> QuerySet[Any]:
    known = Q(status__in=_STATUS.values, outcome__in=_OUTCOME.values)
    # a skipped item waits for consent, or is a pilot's or withdrawn, with another status
    known &= ~Q(status=_STATUS.SKIPPED) | Q(outcome=_OUTCOME.SKIPPED)
    return _answers(study_id).exclude(known)


def order_that_is_none(study: Study) -> Iterable[str]:
    """The order shown names each output of the item once; nothing, where it isn't known."""
    answers = _answers(study.pk).annotate(outputs=Subquery(_count_outputs()))
    combinations = answers.values("order_shown", "outputs").annotate(n=Count("pk"))
    for row in combinations.iterator():
        shown, outputs = row["order_shown"], row["outputs"]
        if shown and shown_places(shown) != list(range(outputs or 0)):
            yield from name_answers(answers.filter(order_shown=shown, outputs=outputs))


def shown_places(shown: object) -> list[int]:
    """Return the positions of an order from the lowest; none if it is no list of whole numbers."""
    if not isinstance(shown, list) or not all(type(one) is int for one in shown):
        return []
    return sorted(shown)


def _count_outputs() -> QuerySet[Any]:
    outputs = Output.objects.filter(item=OuterRef("item")).order_by()
    return outputs.values("item").annotate(n=Count("pk")).values("n")


def held_against_its_reports(study: Study) -> Iterable[str]:
    """An item is held exactly when it has two reports that weren't reviewed yet."""
    is_new = Q(item__released_at__isnull=True) | Q(submitted_at__gt=F("item__released_at"))
    standing = Annotation.objects.reports().filter(is_new, study=study).order_by()
    enough = standing.values("item").annotate(n=Count("pk")).filter(n__gte=REPORTS_TO_HOLD)
    ids = set(enough.values_list("item", flat=True))
    held = Item.objects.filter(study=study, held_at__isnull=False).order_by("pk")
    for pk, key in held.values_list("pk", "key").iterator():
        if pk not in ids:
            yield f"item {key} is held without two reports"
        ids.discard(pk)
    for key in Item.objects.filter(pk__in=ids).order_by("pk").values_list("key", flat=True):
        yield f"item {key} has two reports and is not held"


def draft_that_should_be_gone(study: Study) -> Iterable[str]:
    """Find drafts of people who left, or of answers that are final."""
    drafts = Draft.objects.filter(participant__study=study)
    final = Q(
        item__annotations__participant=F("participant"),
        item__annotations__item_set__finished_at__isnull=False,
        updated_at__lt=F("item__annotations__item_set__finished_at"),
    )
    wrong = drafts.filter(Q(participant__withdrawn_at__isnull=False) | final).order_by("pk")
    rows = wrong.distinct().values_list("pk", "participant__pseudonym", "item__key")
    for pk, pseudonym, key in rows.iterator():
        yield f"draft {pk} of {pseudonym} for item {key}"


# --- ratings and highlights ---------------------------------------------------------------------

_RATED = Annotation.Outcome.RATED
_WITHDRAWN = Annotation.Status.WITHDRAWN


def _ratings(study_id: Any) -> QuerySet[Rating]:
    # by way of the annotations, which have an index by study
    return Rating.objects.filter(annotation__study_id=study_id)


def _highlights(study_id: Any) -> QuerySet[Highlight]:
    return Highlight.objects.filter(annotation__study_id=study_id)


_COLUMNS = ("pk", "annotation_id", "annotation__item__key")


def _name_rating(row: tuple[Any, ...], what: str = "rating") -> str:
    return f"{what} {row[0]} of answer {row[1]} to item {row[2]}"


def _name_highlight(row: tuple[Any, ...]) -> str:
    return _name_rating(row, "highlight")


def _names_ratings(find: Callable[[Any], QuerySet[Rating]]) -> Finder:
    return prepare(find, _COLUMNS, _name_rating)


def _names_highlights(find: Callable[[Any], QuerySet[Highlight]]) -> Finder:
    return prepare(find, _COLUMNS, _name_highlight)


def _name(rows: QuerySet[Rating] | QuerySet[Highlight], what: str) -> Iterator[str]:
    for row in rows.order_by("pk").values_list(*_COLUMNS).iterator():
        yield _name_rating(row, what)


def answer_with_another_number_of_ratings(study: Study) -> Iterable[str]:
    """Find rated items without a rating for each question.

    In practice, a question without gold may have none. Ratings collected elsewhere may lack some,
    if that was confirmed at the import. Counted are the questions that always have one row: others
    are optional, depend on others, or have several parts.
    """
    counted = [one for one in study.config.criteria if _has_one_row(one)]
    keys = [one.key for one in counted]
    rated = Annotation.objects.filter(study=study, outcome=_RATED).exclude(status=_WITHDRAWN)
    ratings = Rating.objects.filter(
        annotation=OuterRef("pk"), criterion__in=keys, part=""
    ).order_by()
    outputs = Output.objects.filter(item=OuterRef("item")).order_by()
    rated = rated.annotate(
        given=_count(ratings.values("annotation")), shown=_count(outputs.values("item"))
    )
    is_main = ~Q(item__kind=Item.Kind.PRACTICE)
    each, once = _questions(counted)
    is_whole = Q(given=each * F("shown") + once)
    is_part = Q(origin=Origin.IMPORTED, given__gt=0, given__lt=each * F("shown") + once)
    yield from name_answers(rated.filter(is_main).exclude(is_whole | is_part))
    for item in Item.objects.practice().filter(study=study):
        # a qualification asks only what has gold, and so did practice at first
        asked = find_gold(study.config, item.gold) or study.config.criteria
        each, once = _questions([one for one in asked if one in counted])
        is_judged = Q(given=each * F("shown") + once)
        yield from name_answers(rated.filter(item=item).exclude(is_whole | is_judged))


def _has_one_row(criterion: Criterion) -> bool:
    return criterion.is_always_answered and not criterion.scale.has_parts


def _count(rows: QuerySet) -> Coalesce:
    counted = rows.annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


def _questions(criteria: Iterable[Criterion]) -> tuple[int, int]:
    """Return how many questions are asked of each output, and how many of all together."""
    asked = [criterion.per_output for criterion in criteria]
    return sum(asked), len(asked) - sum(asked)


@names_answers
def rating_of_what_was_not_rated(study_id: Any) -> QuerySet[Any]:
    """Find ratings and highlights of what was ignored, reported or withdrawn."""
    unrated = Annotation.objects.filter(
        ~Q(outcome=_RATED) | Q(status=_WITHDRAWN), study_id=study_id
    )
    ratings = Rating.objects.filter(annotation=OuterRef("pk"))
    highlights = Highlight.objects.filter(annotation=OuterRef("pk"))
    return unrated.filter(Exists(ratings) | Exists(highlights))


@_names_ratings
def rating_of_another_items_output(study_id: Any) -> QuerySet[Any]:
    of_outputs = _ratings(study_id).filter(output__isnull=False)
    return of_outputs.exclude(output__item=F("annotation__item"))


def criterion_that_is_not_asked(study: Study) -> Iterable[str]:
    return _name(_ratings(study.pk).exclude(criterion__in=study.config.criterion_by_key), "rating")


def value_outside_its_scale(study: Study) -> Iterable[str]:
    for criterion in study.config.criteria:
        ratings = _ratings(study.pk).filter(criterion=criterion.key)
        fitting = criterion.scale.select_rows()
        if not criterion.scale.compares:
            fitting &= Q(output__isnull=not criterion.per_output)
        if criterion.comment:
            fitting |= Q(part=COMMENT, value__isnull=True, detail__isnull=True)
        yield from _name(ratings.exclude(fitting), "rating")


def rating_given_twice(study: Study) -> Iterable[str]:
    """One for each output, and one in all where the outputs are compared."""
    found = _ratings(study.pk).order_by()
    per_output = [one.key for one in study.config.criteria if one.per_output]
    question = ("annotation", "criterion", "turn", "part")
    each = found.filter(criterion__in=per_output).values(*question, "output")
    once = found.exclude(criterion__in=per_output).values(*question)
    for several in (each, once):
        twice = several.annotate(n=Count("pk")).filter(n__gt=1).order_by("annotation")
        for row in twice.iterator():
            yield f"answer {row['annotation']} has {row['n']} ratings for {row['criterion']}"


def rating_of_a_kind_that_no_scale_has(study: Study) -> Iterable[str]:
    """No scale asks about turns; few about parts, or store a text or details."""
    plain = Q(turn=0, part="", text="", detail__isnull=True)
    others = [one.key for one in study.config.criteria if one.columns]
    return _name(_ratings(study.pk).exclude(plain | Q(turn=0, criterion__in=others)), "rating")


def typed_text_that_says_another_number(study: Study) -> Iterable[str]:
    fields = {one.key: one.make_field("") for one in study.config.criteria if one.scale.keeps_typed}
    typed = _ratings(study.pk).filter(criterion__in=fields).exclude(value_typed="")
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
    return _name(_ratings(study.pk).filter(is_missing | is_strange), "rating")


@_names_highlights
def highlight_that_does_not_fit(study_id: Any) -> QuerySet[Any]:
    """The quote is in the output, at this very place, and the output in the item."""
    passage = Substr("output__text", F("start") + Value(1), F("end") - F("start"))
    fitting = Q(quote=passage, output__item=F("annotation__item"))
    return _highlights(study_id).exclude(fitting)


def highlight_given_twice(study: Study) -> Iterable[str]:
    """Highlights of a criterion may overlap; those without one start at different places."""
    found = _highlights(study.pk).order_by()
    place = ("annotation", "output", "start")
    apart = found.filter(criterion="").values(*place)
    once = found.exclude(criterion="").values(*place, "criterion", "end", "category")
    for several in (apart, once):
        twice = several.annotate(n=Count("pk")).filter(n__gt=1).order_by("annotation")
        for row in twice.iterator():
            yield f"answer {row['annotation']} has {row['n']} highlights at {row['start']}"


def highlight_of_a_criterion_that_is_not_asked(study: Study) -> Iterable[str]:
    known = ["", *study.config.criterion_by_key]
    return _name(_highlights(study.pk).exclude(criterion__in=known), "highlight")


@_names_highlights
def highlight_of_a_category_that_nothing_offers(study_id: Any) -> QuerySet[Any]:
    """No scale has categories or severities."""
    return _highlights(study_id).exclude(category="", severity="")


CHECKS = checks_in(
    ("Items have more answers that count than the study asks for", more_than_k_count),
    ("People have answered an item more than once", answered_twice),
    ("Answers count without filling a place", counted_without_a_place),
    ("Answers fill a place without counting", place_without_counting),
    ("Problem reports or skipped items count as answers", report_that_counts),
    ("Answers have a status that their item can't give", status_against_the_item),
    ("Answers have a status that their person can't give", status_against_the_person),
    ("Answers have a status or an outcome that does not exist", unknown_status_or_outcome),
    ("Answers were given to outputs in an order that can't be", order_that_is_none),
    ("Held items don't agree with the problem reports", held_against_its_reports),
    ("Drafts that should be gone are stored", draft_that_should_be_gone),
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
