"""Answers: one for each person and item, and never more than k that count.

Their ratings are complete, inside the scale, and of the item's own outputs.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import (
    CharField,
    Count,
    Exists,
    ExpressionWrapper,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
)
from django.db.models.functions import Cast, Coalesce

from evalsite.data.fsck.findings import (
    ANSWER,
    checks_in,
    find_twice,
    is_in_progress,
    name_answer,
    name_answers,
    name_rows,
    named,
    names_answers,
)
from evalsite.handout.models import (
    ROW,
    TOP_UP_FROM,
    Annotation,
    AnnotationQuerySet,
    Draft,
    Rating,
    Slot,
)
from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.questions import list_questions
from evalsite.instruments.scales import COMMENT
from evalsite.instruments.schema import Criterion
from evalsite.lib.prepared import Prepared
from evalsite.participation.held_items import find_reporters
from evalsite.participation.saving import LEFT_TO_OTHERS
from evalsite.people.models import Origin
from evalsite.studies.gold import find_gold
from evalsite.studies.models import Item, Output, Study

_STATUS, _OUTCOME = Annotation.Status, Annotation.Outcome


def _answers(study_id: Any) -> AnnotationQuerySet:
    return Annotation.objects.filter(study_id=study_id).order_by()


def more_than_k_count(study: Study) -> Iterable[str]:
    """Find items with more answers that count than k and their top-ups."""
    if is_in_progress(study):
        return
    if many := _more_than_k.all(study.pk, study.k):
        added = Slot.objects.filter(item__study=study, no__gte=TOP_UP_FROM).order_by()
        more = dict(added.values_list("item").annotate(n=Count("pk")))
        for item, key, counted in many:
            asked = study.k + more.get(item, 0)
            if counted > asked:
                yield f"item {key} has {counted} answers that count, of {asked}"


@Prepared
def _more_than_k(study_id: Any, k: Any) -> QuerySet[Any, Any]:
    counts = _answers(study_id).counted().values("item").annotate(n=Count("pk")).filter(n__gt=k)
    return counts.order_by("item").values_list("item", "item__key", "n")


@named(lambda person, item, n: f"{person} answered item {item} {n} times")
def answered_twice(study_id: Any) -> QuerySet[Any, Any]:
    answers = Annotation.objects.filter(participant__study_id=study_id).order_by()
    pair = ("participant__pseudonym", "item__key")
    pairs = answers.values(*pair).annotate(n=Count("pk")).filter(n__gt=1)
    return pairs.order_by(*pair).values_list(*pair, "n")


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
    """Find controls that are answers to main items, and other answers to items that aren't."""
    settled = [_STATUS.PILOT, _STATUS.SKIPPED, _STATUS.WITHDRAWN]
    wrong = Q(item__kind=Item.Kind.MAIN, status=_STATUS.CONTROL)
    wrong |= ~Q(item__kind=Item.Kind.MAIN) & ~Q(status=_STATUS.CONTROL)
    wrong = wrong & ~Q(status__in=settled)
    # nothing of a withdrawn item counts
    wrong |= Q(item__kind=Item.Kind.WITHDRAWN) & ~Q(status__in=[_STATUS.PILOT, _STATUS.WITHDRAWN])
    return _answers(study_id).filter(wrong)


@names_answers
def status_against_the_person(study_id: Any) -> QuerySet[Any]:
    """Find pilot answers of people who are no pilots, and other answers of pilots.

    Also withdrawn answers of people who agree to take part, unless the item was withdrawn or
    corrected, and answers that wait for the consent of people who have left.
    """
    is_pilots = Q(participant__is_pilot=True)
    wrong = Q(status=_STATUS.PILOT) & ~is_pilots
    wrong |= is_pilots & ~Q(status__in=[_STATUS.PILOT, _STATUS.WITHDRAWN])
    has_agreed = Q(participant__withdrawn_at__isnull=True) & ~Q(participant__consented_to="")
    wrong |= Q(status=_STATUS.WITHDRAWN, item__changes__isnull=True) & has_agreed
    wrong |= Q(awaits_consent=True, participant__withdrawn_at__isnull=False)
    return _answers(study_id).filter(wrong)


@names_answers
def unknown_status_or_outcome(study_id: Any) -> QuerySet[Any]:
    known = Q(status__in=_STATUS.values, outcome__in=_OUTCOME.values)
    # a skipped item waits for consent, or is a pilot's or withdrawn, with another status
    known &= ~Q(status=_STATUS.SKIPPED) | Q(outcome=_OUTCOME.SKIPPED)
    return _answers(study_id).exclude(known)


def order_that_is_none(study: Study) -> Iterable[str]:
    """Find orders that don't name each output of the item once; one that isn't known is empty."""
    for shown, outputs in _ORDERS.all(study.pk):
        if shown and shown_places(shown) != list(range(outputs or 0)):
            answers = _answers_with_outputs(study.pk)
            yield from name_answers(answers.filter(order_shown=shown, outputs=outputs))


def _answers_with_outputs(study_id: Any) -> QuerySet[Any]:
    outputs = Output.objects.filter(item=OuterRef("item")).order_by()
    counts = outputs.values("item").annotate(n=Count("pk")).values("n")
    return _answers(study_id).annotate(outputs=Subquery(counts))


_ORDERS: Prepared[Any] = Prepared(
    lambda study_id: (
        _answers_with_outputs(study_id).values_list("order_shown", "outputs").distinct()
    )
)


def shown_places(shown: object) -> list[int]:
    """Return the positions of an order from the lowest; none if it is no list of whole numbers."""
    if not isinstance(shown, list) or not all(type(place) is int for place in shown):
        return []
    return sorted(shown)


def held_against_its_reports(study: Study) -> Iterable[str]:
    """Find items that are held without two reports that nobody has reviewed.

    The other way round, items with two reports need not be held: reports can hold only a share.
    """
    keys = dict(_HELD_ITEMS.all(study.pk))
    reported = find_reporters(study, list(keys)) if keys else {}
    for pk, key in keys.items():
        if pk not in reported:
            yield f"item {key} is held without two reports"


_HELD_ITEMS: Prepared[Any] = Prepared(
    lambda study_id: (
        Item.objects.filter(study_id=study_id, held_at__isnull=False)
        .order_by("pk")
        .values_list("pk", "key")
    )
)


@named(lambda pk, pseudonym, item: f"draft {pk} of {pseudonym} for item {item}")
def draft_that_should_be_gone(study_id: Any) -> QuerySet[Any, Any]:
    """Find drafts of people who left, or of answers that are final."""
    drafts = Draft.objects.filter(participant__study_id=study_id)
    final = Q(
        item__annotations__participant=F("participant"),
        item__annotations__item_set__finished_at__isnull=False,
        updated_at__lt=F("item__annotations__item_set__finished_at"),
    )
    wrong = drafts.filter(Q(participant__withdrawn_at__isnull=False) | final).order_by("pk")
    return wrong.distinct().values_list("pk", "participant__pseudonym", "item__key")


# --- ratings ---------------------------------------------------------------------

_RATED = Annotation.Outcome.RATED
_WITHDRAWN = Annotation.Status.WITHDRAWN


def _ratings(study_id: Any) -> QuerySet[Rating]:
    # by way of the annotations, which have an index by study
    return Rating.objects.without_marks().filter(annotation__study_id=study_id)


_COLUMNS = ("pk", "annotation_id", "annotation__item__key")


def _name_rating(pk: int, answer_id: int, item: str) -> str:
    return f"rating {pk} of answer {answer_id} to item {item}"


def _name_ratings(rows: QuerySet[Rating]) -> Iterator[str]:
    for row in rows.order_by("pk").values_list(*_COLUMNS).iterator():
        yield _name_rating(*row)


def answer_with_another_number_of_ratings(study: Study) -> Iterable[str]:
    """Find rated items without a rating for each question.

    In practice, a question without gold may have none. Ratings collected elsewhere may lack some,
    if that was confirmed at the import. Counted are the questions that always have one row: others
    are optional, depend on others, or have several parts.
    """
    counted = [
        criterion
        for criterion in study.config.criteria
        if criterion.is_always_answered and not criterion.scale.has_parts and not criterion.per_turn
    ]
    keys = [criterion.key for criterion in counted]
    whole = _questions(counted)
    for row in _main_answers_lacking.all(study.pk, *whole, *keys):
        yield name_answer(*row)
    for item in Item.objects.practice().filter(study=study):
        # a qualification asks only what has gold, and so did practice at first
        asked = find_gold(study.config, item.gold) or study.config.criteria
        judged = _questions([criterion for criterion in asked if criterion in counted])
        for row in _practice_answers_lacking.all(item.pk, *whole, *judged, *keys):
            yield name_answer(*row)


@Prepared
def _main_answers_lacking(study_id: Any, each: Any, once: Any, *keys: Any) -> QuerySet[Any, Any]:
    rated = _count_ratings(keys).filter(study_id=study_id).exclude(item__kind=Item.Kind.PRACTICE)
    whole = _sum_ratings(each, once)
    is_part = Q(origin=Origin.IMPORTED, stored__gt=0, stored__lt=whole)
    return rated.exclude(Q(stored=whole) | is_part).order_by("pk").values_list(*ANSWER)


@Prepared
def _practice_answers_lacking(
    item_id: Any, each: Any, once: Any, each_judged: Any, once_judged: Any, *keys: Any
) -> QuerySet[Any, Any]:
    rated = _count_ratings(keys).filter(item_id=item_id)
    is_whole = Q(stored=_sum_ratings(each, once)) | Q(stored=_sum_ratings(each_judged, once_judged))
    return rated.exclude(is_whole).order_by("pk").values_list(*ANSWER)


def _count_ratings(keys: Sequence[Any]) -> QuerySet[Any]:
    """Return rated answers with the numbers of their ratings and of their outputs."""
    rated = Annotation.objects.filter(outcome=_RATED).exclude(status=_WITHDRAWN)
    ratings = Rating.objects.without_marks().filter(annotation=OuterRef("pk"), part="")
    ratings = ratings.filter(criterion__in=keys)
    outputs = Output.objects.filter(item=OuterRef("item"))
    return rated.annotate(
        stored=_count(ratings.order_by().values("annotation")),
        shown=_count(outputs.order_by().values("item")),
    )


def _sum_ratings(each: Any, once: Any) -> ExpressionWrapper:
    each, once = (ExpressionWrapper(count, output_field=IntegerField()) for count in (each, once))
    return ExpressionWrapper(each * F("shown") + once, output_field=IntegerField())


def _count(rows: QuerySet) -> Coalesce:
    counted = rows.annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


def _questions(criteria: Iterable[Criterion]) -> tuple[int, int]:
    """Return how many questions are asked of each output, and how many of all together."""
    asked = [criterion.per_output for criterion in criteria]
    return sum(asked), len(asked) - sum(asked)


@names_answers
def rating_of_what_was_not_rated(study_id: Any) -> QuerySet[Any]:
    """Find ratings of what was ignored or reported, or withdrawn by its person."""
    is_gone = Q(status=_WITHDRAWN, item__changes__isnull=True)
    unrated = Annotation.objects.filter(~Q(outcome=_RATED) | is_gone, study_id=study_id)
    return unrated.filter(Exists(Rating.objects.filter(annotation=OuterRef("pk"))))


@partial(name_rows, columns=_COLUMNS, name=_name_rating)
def rating_of_another_items_output(study_id: Any) -> QuerySet[Any]:
    of_outputs = _ratings(study_id).filter(output__isnull=False)
    return of_outputs.exclude(output__item=F("annotation__item"))


def criterion_that_is_not_asked(study: Study) -> Iterable[str]:
    unknown = _UNKNOWN_CRITERIA.all(study.pk, *study.config.criterion_by_key)
    return (_name_rating(*row) for row in unknown)


_UNKNOWN_CRITERIA: Prepared[Any] = Prepared(
    lambda study_id, *keys: (
        _ratings(study_id).exclude(criterion__in=keys).order_by("pk").values_list(*_COLUMNS)
    )
)


def value_outside_its_scale(study: Study) -> Iterable[str]:
    for criterion in study.config.criteria:
        ratings = _ratings(study.pk).filter(criterion=criterion.key)
        fitting = criterion.scale.select_rows()
        if not criterion.scale.compares:
            fitting &= Q(output__isnull=not criterion.is_of_outputs)
            fitting &= Q(turn__gt=0) if criterion.per_turn else Q(turn=0)
        if criterion.comment:
            fitting |= Q(part=COMMENT, value__isnull=True, detail__isnull=True)
        yield from _name_ratings(ratings.exclude(fitting))


def rating_of_a_turn_that_is_not_asked(study: Study) -> Iterable[str]:
    """Find ratings of turns that their item doesn't have, or that aren't to be rated."""
    turns = {
        criterion.key: criterion.turns
        for criterion in study.config.criteria
        if criterion.turns is not None
    }
    if not turns:
        return
    rows = _ratings(study.pk).filter(criterion__in=turns, turn__gt=0, output__isnull=False)
    fields = (*_COLUMNS, "criterion", "turn", "output_id")
    outputs: dict[int, dict[str, tuple[int, ...]]] = {}
    for *row, key, turn, output_id in rows.order_by("output_id", "pk").values_list(*fields):
        if output_id not in outputs:
            output = Output.objects.select_related("item").get(pk=output_id)
            inputs, text = output.item.inputs, output.text
            outputs = {
                output_id: {key: asked.list_turns(inputs, text) for key, asked in turns.items()}
            }
        if turn not in outputs[output_id][key]:
            yield _name_rating(*row)


def answer_without_all_turns(study: Study) -> Iterable[str]:
    """Find rated items without a rating for each turn that is always asked about."""
    counted = {
        criterion.key: criterion.turns
        for criterion in study.config.criteria
        if criterion.turns is not None
        and criterion.is_always_answered
        and not criterion.scale.has_parts
    }
    if not counted:
        return
    rated = Annotation.objects.filter(study=study, outcome=_RATED).exclude(status=_WITHDRAWN)
    main = rated.exclude(item__kind=Item.Kind.PRACTICE).exclude(origin=Origin.IMPORTED)
    ratings = _ratings(study.pk).filter(criterion__in=counted, part="")
    counts = dict(ratings.order_by().values_list("annotation").annotate(n=Count("pk")))
    texts = main.order_by("item_id", "pk").values_list(
        *ANSWER, "pk", "item_id", "item__inputs", "item__outputs__text"
    )
    item_id, asked = None, 0
    for *answer, pk, item, inputs, text in texts.iterator():
        if item != item_id:
            item_id = item
            asked = sum(len(turns.list_turns(inputs, text)) for turns in counted.values())
        if counts.get(pk, 0) != asked:
            yield name_answer(*answer)


def rating_given_twice(study: Study) -> Iterable[str]:
    """Find questions with two ratings for an output, or in all where the outputs are compared."""
    per_output = [criterion.key for criterion in study.config.criteria if criterion.is_of_outputs]
    for find in (_twice_for_an_output, _twice_in_all):
        for answer_id, criterion, n in find.all(study.pk, *per_output):
            yield f"answer {answer_id} has {n} ratings for {criterion}"


_QUESTION = ("annotation", "criterion", "turn", "part")


@Prepared
def _twice_for_an_output(study_id: Any, *per_output: Any) -> QuerySet[Any, Any]:
    each = _ratings(study_id).filter(criterion__in=per_output)
    return find_twice(each, *_QUESTION, "output").values_list("annotation", "criterion", "n")


@Prepared
def _twice_in_all(study_id: Any, *per_output: Any) -> QuerySet[Any, Any]:
    once = _ratings(study_id).exclude(criterion__in=per_output)
    return find_twice(once, *_QUESTION).values_list("annotation", "criterion", "n")


def answer_that_is_no_order(study: Study) -> Iterable[str]:
    """Find orders with gaps or shared places, and a best output without a worst one."""
    for criterion in study.config.criteria:
        if not criterion.scale.orders:
            continue
        ratings = _ratings(study.pk).filter(criterion=criterion.key, part="", output__isnull=False)
        fields = ("annotation__item_id", "annotation_id", "output_id", "value")
        rows = ratings.order_by(*fields[:2]).values_list(*fields).iterator()
        for item_id, of_item in groupby(rows, key=itemgetter(0)):
            outputs = list(Output.objects.filter(item=item_id).order_by("position"))
            (question,) = list_questions(study.config, {}, outputs, criteria=[criterion])
            for annotation_id, answered in groupby(of_item, key=itemgetter(1)):
                stored = [
                    AnswerRow(item_id, output_id, criterion.key, value=value)
                    for _item, _annotation, output_id, value in answered
                ]
                if question.find_problem(stored):
                    yield f"answer {annotation_id} on {criterion.key}"


def rating_of_a_kind_that_no_scale_has(study: Study) -> Iterable[str]:
    """Find parts, texts and details of scales that store none, and turns nobody was asked about."""
    plain = Q(turn=0, part="", text="", detail__isnull=True)
    criteria = study.config.criteria
    storing = [criterion.key for criterion in criteria if criterion.columns]
    typed = [criterion.key for criterion in criteria if criterion.scale.keeps_typed]
    by_turn = [criterion.key for criterion in criteria if criterion.per_turn]
    known = plain | Q(turn=0, criterion__in=storing) | Q(criterion__in=by_turn)
    known |= Q(turn=0, part="", detail__isnull=True, value__isnull=False, criterion__in=typed)
    return _name_ratings(_ratings(study.pk).exclude(known))


def typed_text_that_says_another_number(study: Study) -> Iterable[str]:
    fields = {
        criterion.key: criterion.scale.make_field(criterion, "")
        for criterion in study.config.criteria
        if criterion.scale.keeps_typed
    }
    typed = _ratings(study.pk).filter(criterion__in=fields, value__isnull=False).exclude(text="")
    # nearly all are the bare number: only others have to be read
    whole = Cast("value", IntegerField())
    differing = typed.exclude(value=whole, text=Cast(whole, CharField())).order_by("pk")
    rows = differing.values_list("pk", "annotation_id", "criterion", "value", "text")
    for pk, annotation_id, criterion, value, text in rows.iterator():
        try:
            number = fields[criterion].clean(text)
        except ValidationError:
            number = None
        if number != value:
            yield f"rating {pk} of answer {annotation_id}"


def typed_text_that_is_missing(study: Study) -> Iterable[str]:
    """Find typed numbers without their text."""
    kept = [criterion.key for criterion in study.config.criteria if criterion.scale.keeps_typed]
    missing = _ratings(study.pk).filter(criterion__in=kept, value__isnull=False, text="")
    return _name_ratings(missing)


def edit_rate_that_contradicts_its_counts(study: Study) -> Iterable[str]:
    """Find corrected texts whose number isn't the rate of the edits that were counted."""
    for criterion in study.config.criteria:
        if not criterion.scale.rewrites:
            continue
        stored = _ratings(study.pk).filter(criterion=criterion.key).exclude(part=COMMENT)
        rows = stored.order_by("pk").values_list(*_COLUMNS, *ROW).iterator()
        for row in rows:
            if not criterion.scale.are_consistent([AnswerRow(*row[len(_COLUMNS) :])]):
                yield _name_rating(*row[: len(_COLUMNS)])


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
    ("Ratings are of turns that are not to be rated", rating_of_a_turn_that_is_not_asked),
    ("Answers lack ratings of turns or have too many", answer_without_all_turns),
    ("Ratings were given twice", rating_given_twice),
    ("Answers put outputs in no order that a page takes", answer_that_is_no_order),
    ("Ratings hold what no scale stores", rating_of_a_kind_that_no_scale_has),
    ("Numbers differ from what was typed", typed_text_that_says_another_number),
    ("The text of typed numbers is missing", typed_text_that_is_missing),
    ("Edit rates contradict the edits that were counted", edit_rate_that_contradicts_its_counts),
)
