"""Items held for the researcher after two reports, and their release.

A report counts once its author has standing: anyone with the link could report everything.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count, F, Q, QuerySet

from evalsite.core.audit.models import AuditEntry
from evalsite.handout.models import Annotation
from evalsite.lib.clock import now
from evalsite.lib.seeds import make_random
from evalsite.participation.forms import ReportForm
from evalsite.people.models import Participant
from evalsite.studies.models import Item, Study, StudyVersion

# reports that hold an item for the researcher
REPORTS_TO_HOLD = 2
# answers that aren't reports, before the reports of their author count
ANSWERS_FOR_STANDING = 3
# of the open items, which reports may hold at most; in a small study so many
HELD_PERCENT, LEAST_HELD = 10, 3
_REASONS = dict(ReportForm.REASONS)


def held_items(study: Study) -> QuerySet[Item]:
    """Return the held items, the longest held first."""
    items = Item.objects.filter(study=study, held_at__isnull=False).order_by("held_at", "id")
    return items.prefetch_related("outputs")


def list_shuffled_outputs(study: Study, item: Item) -> list[str]:
    """Return the texts of an item's outputs, in an order that doesn't tell their systems."""
    outputs = list(item.outputs.all())
    make_random(study.seed, "held", item.key).shuffle(outputs)
    return [output.text for output in outputs]


def reports_by_item(items: Iterable[Item]) -> dict[int, list[Annotation]]:
    """Return the open reports by item id, the earliest first."""
    by_item: dict[int, list[Annotation]] = defaultdict(list)
    reports = Annotation.objects.reports().filter(item__in=list(items))
    for report in reports.select_related("participant"):
        by_item[report.item_id].append(report)
    return by_item


def reason_in_words(report: Annotation) -> str:
    """Return what is wrong, as the person chose it."""
    return name_reason(report.reason)


def name_reason(reason: str) -> str:
    return str(_REASONS.get(reason, reason))


@transaction.atomic
def release_item(*, item: Item, by: Any) -> None:
    """Hand the item out again; its reports stay, and only two further ones hold it again."""
    lock_reports(item.study)
    items = Item.objects.filter(pk=item.pk, held_at__isnull=False)
    if not items.update(held_at=None, released_at=now()):
        raise ValidationError(f"The item {item.key} is not held any more. Nothing was changed.")
    # an item that had to wait may be held now
    judge_reports(item.study, find_reported_items(item.study))
    AuditEntry.objects.record("item released", by=by, study_id=item.study_id, item=item.key)


def judge_reports(study: Study, items: Iterable[int]) -> None:
    """Hold those of these items that have two reports by people with standing; release the others.

    Reports that were looked at before an item was released don't count. Reports hold at most a
    share of the study's items: above it, items stay handed out.
    """
    lock_reports(study)
    asked = Item.objects.filter(pk__in=set(items)).order_by("pk")
    is_held = {pk: held_at is not None for pk, held_at in asked.values_list("pk", "held_at")}
    enough = find_reported_items(study, is_held)
    to_hold = [pk for pk in is_held if pk in enough and not is_held[pk]]
    to_release = [pk for pk in is_held if pk not in enough and is_held[pk]]
    if to_release:
        Item.objects.filter(pk__in=to_release).update(held_at=None)
    if to_hold:
        room = max(0, most_held(study) - held_items(study).count())
        Item.objects.filter(pk__in=to_hold[:room]).update(held_at=now())


def lock_reports(study: Study) -> None:
    """Let one transaction at a time judge reports of this study: two would each count their own.

    The row of its version serves as the lock: an import holds that of the study for long.
    """
    if study.version_id is not None:
        StudyVersion.objects.select_for_update(no_key=True).get(pk=study.version_id)


def judge_again(author: Participant, *items: int) -> None:
    """Judge all that this person has reported, and these items: their standing may have changed."""
    reports = Annotation.objects.filter(
        participant=author, outcome=Annotation.Outcome.REPORTED
    ).order_by()
    judge_reports(author.study, [*reports.values_list("item", flat=True), *items])


def most_held(study: Study) -> int:
    """Return how many items of this study reports may hold."""
    items = Item.objects.main().open().filter(study=study).count()
    return max(LEAST_HELD, items * HELD_PERCENT // 100)


def find_reported_items(study: Study, among: Collection[int] | None = None) -> set[int]:
    """Return the items, of these or of the study, with two reports by people with standing."""
    enough = find_reporters(study, among)
    trusted = find_people_with_standing(set().union(*enough.values()))
    return {
        pk for pk, people in enough.items() if len(trusted.intersection(people)) >= REPORTS_TO_HOLD
    }


def find_reporters(study: Study, among: Collection[int] | None = None) -> dict[int, set[int]]:
    """Return who reported each item that has two reports which weren't reviewed yet."""
    is_new = Q(item__released_at__isnull=True) | Q(submitted_at__gt=F("item__released_at"))
    reports = Annotation.objects.reports().filter(is_new, study=study).order_by()
    if among is not None:
        reports = reports.filter(item__in=among)
    authors: dict[int, set[int]] = defaultdict(set)
    for item_id, author in reports.values_list("item", "participant"):
        authors[item_id].add(author)
    return {pk: people for pk, people in authors.items() if len(people) >= REPORTS_TO_HOLD}


def count_waiting(study: Study) -> int:
    """Return how many items have two reports and are handed out, as others are held already."""
    reported = find_reported_items(study)
    return Item.objects.filter(pk__in=reported, held_at__isnull=True).count() if reported else 0


def find_people_with_standing(people: Collection[int]) -> set[int]:
    """Return those whose reports count: they have answered enough, and more than they reported."""
    return {
        person
        for person, (answers, reports) in count_answers_and_reports(people).items()
        if answers >= ANSWERS_FOR_STANDING and answers > reports
    }


def count_answers_and_reports(people: Collection[int]) -> dict[int, tuple[int, int]]:
    """Return how many items each of these people answered and reported; skipping one is neither."""
    if not people:
        return {}
    status, outcome = Annotation.Status, Annotation.Outcome
    is_answer = Q(outcome__in=(outcome.RATED, outcome.IGNORED))
    saved = Annotation.objects.agreed().filter(
        participant__in=people, status__in=(status.COUNTED, status.SURPLUS, status.CONTROL)
    )
    rows = (
        saved.exclude(item__kind=Item.Kind.PRACTICE)
        .order_by()
        .values_list("participant")
        .annotate(
            answers=Count("pk", filter=is_answer),
            reports=Count("pk", filter=Q(outcome=outcome.REPORTED)),
        )
    )
    return {person: (answers, reports) for person, answers, reports in rows}
