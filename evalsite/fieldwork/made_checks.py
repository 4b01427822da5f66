"""Gold and attention checks that researchers make in the browser, out of items they uploaded."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet

from evalsite.core.audit.models import AuditEntry
from evalsite.instruments.questions import (
    Question,
    group_questions,
    list_questions,
    number_texts,
    read_values,
)
from evalsite.lib.clock import now
from evalsite.participation.forms import RatingForm
from evalsite.people.recruiting import set_default_checks
from evalsite.studies.gold import check_gold
from evalsite.studies.items import item_keys, keep_numbers
from evalsite.studies.models import Batch, Item, Output, Study
from evalsite.studies.versions import hash_text

# the batch that holds them, beside those of files
MADE_HERE = "Checks made on this site"
MOST_LISTED = 100
_KINDS = (Item.Kind.GOLD, Item.Kind.ATTENTION)


@dataclass(frozen=True, kw_only=True)
class CheckContent:
    """What a check shows: an item's inputs and outputs, perhaps with other texts."""

    kind: str
    source: Item
    inputs: dict[str, Any]
    texts: list[str]
    why: str = ""


def list_made(study: Study) -> QuerySet[Item]:
    """Return the checks of a study that were made here, oldest first."""
    return Item.objects.filter(study=study, kind__in=_KINDS, batch__file_name=MADE_HERE).order_by(
        "id"
    )


def list_uploaded(study: Study) -> QuerySet[Item]:
    """Return the checks of a study that came in files."""
    checks = Item.objects.filter(study=study, kind__in=_KINDS).order_by("id")
    return checks.exclude(batch__file_name=MADE_HERE)


def describe_checks(study: Study) -> list[tuple[Item, list[tuple[str, str]], bool]]:
    """Return each check with its right answers, and whether it was made here."""
    criteria = study.config.criteria
    made = [(item, True) for item in list_made(study)[:MOST_LISTED]]
    uploaded = [(item, False) for item in list_uploaded(study)[:MOST_LISTED]]
    return [
        (
            item,
            [
                (criterion.label, item.gold[criterion.key])
                for criterion in criteria
                if item.gold.get(criterion.key)
            ],
            is_made,
        )
        for item, is_made in [*made, *uploaded]
    ]


def find_answered(questions: Iterable[Question], data: Mapping[str, Any]) -> list[Question]:
    """Return the questions of criteria that have an answer about each output, or some turn."""
    answered = []
    for asked in group_questions(questions).values():
        has = any if asked[0].turn else all
        if has(question.scale.read_entry(data, question.name).strip() for question in asked):
            answered += asked
    return answered


def read_gold(form: RatingForm) -> dict[str, str]:
    """Return the gold that these answers are, by criterion."""
    rows = form.list_rows(0)
    gold = {}
    for key, asked in group_questions(form.questions).items():
        values = read_values(asked, rows)
        # what was not asked has no right answer
        has = any if asked[0].turn else all
        is_whole = has(value is not None for value in values)
        gold[key] = asked[0].scale.write_gold(values) if is_whole else ""
    return gold


@transaction.atomic
def create_check(*, study: Study, content: CheckContent, gold: Mapping[str, str], by: Any) -> Item:
    """Store a check with its right answers; a study that was launched keeps the checks it had."""
    current = Study.objects.select_for_update().get(pk=study.pk)
    if current.version_id is not None:
        raise ValidationError("Checks are fixed since launch. Nothing was added.")
    if content.kind not in _KINDS:
        raise ValidationError("Choose gold or attention.")
    originals = list(content.source.outputs.order_by("position").select_related("system"))
    names = [
        output.system.name if output.system else str(output.position + 1) for output in originals
    ]
    if not any(text.strip() for text in gold.values()):
        raise ValidationError("Answer at least one question: its answer is what passes.")
    questions = group_questions(
        list_questions(current.config, content.inputs, number_texts(content.texts))
    )
    for criterion in current.config.criteria:
        turns = [question.turn for question in questions.get(criterion.key, ())]
        check_gold(criterion, gold.get(criterion.key, ""), names, turns, content.inputs)
    batch, _ = Batch.objects.get_or_create(
        study=current,
        sha256=hash_text(f"{MADE_HERE} {current.pk}"),
        defaults={"file_name": MADE_HERE, "rows": 0, "uploaded_by": by},
    )
    number = batch.items.count() + 1
    while Item.all_objects.filter(study=current, key=f"check-{number}").exists():
        number += 1
    item = Item.objects.create(
        study=current,
        batch=batch,
        kind=content.kind,
        inputs=content.inputs,
        gold={**gold, "why": content.why} if content.why else dict(gold),
        cluster=content.source.cluster,
        **item_keys(current, key=f"check-{number}", group=content.source.group),
    )
    Output.objects.bulk_create(
        Output(study=current, item=item, system=output.system, position=output.position, text=text)
        for output, text in zip(originals, content.texts, strict=True)
    )
    _count_rows(batch)
    AuditEntry.objects.record(
        "check made",
        by=by,
        study_id=study.pk,
        item=item.key,
        kind=content.kind,
        at=now().isoformat(),
    )
    set_default_checks(current, by=by)
    return item


@transaction.atomic
def delete_check(*, study: Study, item: Item, by: Any) -> None:
    """Delete a check that was made here, with what pilots answered to it."""
    current = Study.objects.select_for_update().get(pk=study.pk)
    if current.version_id is not None:
        raise ValidationError("Checks are fixed since launch. Nothing was deleted.")
    batch = item.batch
    item.annotations.filter(participant__is_pilot=True).delete()
    AuditEntry.objects.record("check deleted", by=by, study_id=study.pk, item=item.key)
    keep_numbers(current, without=current.items.filter(pk=item.pk))
    item.delete()
    if batch is not None:
        if batch.items.exists():
            _count_rows(batch)
        else:
            batch.delete()


def _count_rows(batch: Batch) -> None:
    batch.rows = Output.objects.filter(item__batch=batch).count()
    batch.save(update_fields=["rows"])
