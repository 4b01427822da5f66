"""How participants did on gold and attention items. A failed check is only reported."""

from collections import defaultdict
from collections.abc import Collection
from typing import Any

from django.db.models import QuerySet

from evalsite.handout.controls import CHECKS
from evalsite.handout.models import Annotation, Rating
from evalsite.studies.gold import (
    NO_TEXTS,
    Named,
    agrees_with_gold,
    find_texts,
)
from evalsite.studies.models import Output, Study
from evalsite.studies.versions import shown_content


def judge_checks(study: Study, answers: QuerySet[Annotation]) -> dict[int, tuple[int, bool]]:
    """Return for each answer to a check who gave it, and whether it matches its gold."""
    judged = judge_answers(study, answers, "participant")
    return {pk: (participant, agrees) for pk, ((participant,), agrees) in judged.items()}


def judge_answers(
    study: Study, answers: QuerySet[Annotation], *fields: str
) -> dict[int, tuple[tuple[Any, ...], bool]]:
    """Return these fields of each answer to a check, and whether it matches its gold."""
    rated = answers.filter(item__kind__in=CHECKS, outcome=Annotation.Outcome.RATED).order_by()
    rows = list(rated.values_list("pk", "item_id", "item__gold", "item__inputs", *fields))
    ratings = Rating.objects.filter(annotation__in=[row[0] for row in rows]).group_rows()
    outputs = _outputs_of({row[1] for row in rows})
    options = shown_content(study)["options"]
    texts = find_texts(study)
    judged: dict[int, tuple[tuple[Any, ...], bool]] = {}
    for pk, item, gold, inputs, *values in rows:
        standard = study.config.standard_score(options, inputs)
        agrees = agrees_with_gold(
            study.config, gold, outputs[item], ratings.get(pk, ()), standard,
            texts.get(item, NO_TEXTS),
        )  # fmt: skip
        if agrees is not None:
            judged[pk] = tuple(values), agrees
    return judged


def _outputs_of(items: Collection[int]) -> dict[int, list[Named]]:
    """Return the outputs of each of these items in the order uploaded."""
    named: dict[int, list[Named]] = defaultdict(list)
    outputs = Output.objects.filter(item__in=items).order_by("item_id", "position")
    for item, pk, system in outputs.values_list("item_id", "pk", "system__name"):
        named[item].append((pk, system))
    return named
