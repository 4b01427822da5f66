"""Answers: one for each person and item, never more than k that count, and what they may say."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery

from evalsite.annotation.fsck.findings import checks_in, is_in_progress
from evalsite.annotation.fsck.sentences import name_answers
from evalsite.annotation.models import TOP_UP_FROM, Annotation, AnnotationQuerySet, Draft, Slot
from evalsite.annotation.pages.held_items import REPORTS_TO_HOLD
from evalsite.studies.models import Item, Output, Study

_STATUS, _OUTCOME = Annotation.Status, Annotation.Outcome


def _answers(study: Study) -> AnnotationQuerySet:
    return Annotation.objects.filter(study=study).order_by()


def more_than_k_count(study: Study) -> Iterable[str]:
    """Top-ups come on top of k."""
    if is_in_progress(study):
        return
    added = Slot.objects.filter(item__study=study, no__gte=TOP_UP_FROM).order_by()
    more = dict(added.values_list("item").annotate(n=Count("pk")))
    counts = _answers(study).counted().values("item").annotate(n=Count("pk"))
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


def counted_without_a_place(study: Study) -> Iterable[str]:
    return name_answers(_answers(study).counted().filter(slot__isnull=True))


def place_without_counting(study: Study) -> Iterable[str]:
    return name_answers(_answers(study).filter(slot__isnull=False).exclude(status=_STATUS.COUNTED))


def report_that_counts(study: Study) -> Iterable[str]:
    return name_answers(_answers(study).counted().filter(outcome=_OUTCOME.REPORTED))


def status_against_the_item(study: Study) -> Iterable[str]:
    """Controls are answers to items that are no main ones, and the other way round."""
    settled = [_STATUS.PILOT, _STATUS.WITHDRAWN]
    wrong = Q(item__kind=Item.Kind.MAIN, status=_STATUS.CONTROL)
    wrong |= ~Q(item__kind=Item.Kind.MAIN) & ~Q(status=_STATUS.CONTROL)
    return name_answers(_answers(study).exclude(status__in=settled).filter(wrong))


def status_against_the_person(study: Study) -> Iterable[str]:
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
    return name_answers(_answers(study).filter(wrong))


def unknown_status_or_outcome(study: Study) -> Iterable[str]:
    known = Q(status__in=_STATUS.values, outcome__in=_OUTCOME.values)
    return name_answers(_answers(study).exclude(known))


def order_that_is_none(study: Study) -> Iterable[str]:
    """The order shown names each output of the item once; nothing, where it isn't known."""
    answers = _answers(study).annotate(outputs=Subquery(_count_outputs()))
    combinations = answers.values("order_shown", "outputs").annotate(n=Count("pk"))
    for row in combinations.iterator():
        shown, outputs = row["order_shown"], row["outputs"]
        if shown and shown_places(shown) != list(range(outputs or 0)):
            yield from name_answers(answers.filter(order_shown=shown, outputs=outputs))


def shown_places(shown: object) -> list[int]:
    """The positions of an order from the lowest; none if it is no list of whole numbers."""
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
    """Who left has no drafts, and what is final has none."""
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


CHECKS = checks_in(
    ("Items have more answers that count than the study asks for", more_than_k_count),
    ("People have answered an item more than once", answered_twice),
    ("Answers count without filling a place", counted_without_a_place),
    ("Answers fill a place without counting", place_without_counting),
    ("Problem reports count as answers", report_that_counts),
    ("Answers have a status that their item can't give", status_against_the_item),
    ("Answers have a status that their person can't give", status_against_the_person),
    ("Answers have a status or an outcome that does not exist", unknown_status_or_outcome),
    ("Answers were given to outputs in an order that can't be", order_that_is_none),
    ("Held items don't agree with the problem reports", held_against_its_reports),
    ("Drafts that should be gone are stored", draft_that_should_be_gone),
)
