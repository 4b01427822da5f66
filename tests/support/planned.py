"""A launched study with a frozen plan and answers that can't be mistaken for anything else."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

from evalsite.core.jobs.services import run_job
from evalsite.decisions.models import AnalysisPlan, ExclusionRule
from evalsite.fieldwork.launch import launch_study
from evalsite.handout.models import Annotation, Rating, Slot
from evalsite.people.models import Participant
from evalsite.studies.models import Study
from tests.site.test_staff_pages import MOMENT, answer
from tests.support.factories import make_annotator, make_study, make_user

# what each system gets from everyone: nothing else on a page has these numbers
SCORES = {"baseline": 7919, "neural": 6101, "template": 4507}
AT_LEAST_TWO = [{"measure": "failed_checks", "comparison": "at_least", "threshold": 2}]
ONE_POINT = [
    {"measure": "top_share", "comparison": "over", "threshold": 80},
    {"measure": "answers", "comparison": "at_least", "threshold": 2},
]


def make_planned_study(*, rules: Any = (), items: int = 3, **fields: Any) -> Study:
    """A live study whose plan was frozen at its launch, and whose results are hidden."""
    by = fields.pop("by", None) or make_user()
    fields = {"hides_results": True} | fields
    study = make_study(items=items, k=5, by=by, **fields)
    AnalysisPlan.objects.create(study=study, primary="informativeness")
    for position, conditions in enumerate(rules, start=1):
        ExclusionRule.objects.create(study=study, position=position, conditions=conditions)
    run_job(launch_study(study=study, by=by))
    study.refresh_from_db()
    return study


def add_people(study: Study, number: int, *, items: int) -> list[Participant]:
    """So many people, of whom each has rated the first of the items; every other with one score."""
    people = [make_annotator(study) for _ in range(number)]
    rated = list(study.items.main().prefetch_related("outputs__system")[:items])  # type: ignore[attr-defined]
    pairs = [(item, place, me) for item in rated for place, me in enumerate(people)]
    slots = Slot.objects.bulk_create(
        Slot(
            study=study, item=item, no=1000 + place, pos=1000 + place, arrangement=place,
            state=Slot.State.DONE, participant=me,
        )
        for item, place, me in pairs
    )  # fmt: skip
    times = {"started_at": MOMENT, "submitted_at": MOMENT + timedelta(seconds=30)}
    answers = Annotation.objects.bulk_create(
        Annotation(
            study=study, item=item, participant=me, slot=slot, key=uuid4(), status="counted",
            order_shown=[2, 0, 1], **times,
        )
        for (item, _place, me), slot in zip(pairs, slots, strict=True)
    )  # fmt: skip
    Rating.objects.bulk_create(
        Rating(
            study=study, annotation=answer, criterion="informativeness", output=output,
            value=50 if place % 2 else SCORES[output.system.name],
        )
        for (item, place, _me), answer in zip(pairs, answers, strict=True)
        for output in item.outputs.all()
    )  # fmt: skip
    return people


def add_person(study: Study, score: int | None = None, **said: Any) -> Participant:
    """Somebody who has rated every item: by system, or with one score for everything."""
    me = make_annotator(study)
    for item in study.items.main().prefetch_related("outputs__system"):  # type: ignore[attr-defined]
        given: Annotation = answer(study, item, by=me, order_shown=[2, 0, 1], **said)
        Rating.objects.bulk_create(
            Rating(
                study=study,
                annotation=given,
                criterion="informativeness",
                output=output,
                value=score or SCORES[output.system.name],
            )
            for output in item.outputs.all()
        )
    return me
