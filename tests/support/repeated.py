"""A study that repeats another: its pages, its ratings, and the comparison of the two."""

from typing import Any

from django.test import Client
from django.urls import reverse

from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import run_job
from evalsite.results.replication.comparison import KIND
from evalsite.studies.models import Study
from tests.support.exports import annotate, main_items


def page(name: str, study: Study, *args: Any) -> str:
    return reverse(f"admin:{name}", args=[study.pk, *args])


def rate(study: Study, *, people: int = 3, step: int = 20, hour: int = 0) -> None:
    """Scores of 100, 100 + step, ... for the systems, a little apart by person and item."""
    for person in range(people):
        participant = study.participants.create()  # type: ignore[attr-defined]
        for number, item in enumerate(main_items(study)):
            answer = annotate(study, participant, item, minute=60 * hour + number)
            for rating in answer.ratings.select_related("output"):  # type: ignore[attr-defined]
                rating.value = 100 + step * rating.output.position + (person + number) % 3
                rating.save()


def compare(client: Client, study: Study, original: Study) -> str:
    """The page after the two were chosen, compared by a job, and shown."""
    client.post(page("study-repeat-choose", study), {"original": str(original.pk)})
    run_job(Job.objects.get(kind=KIND, state="waiting"))
    return client.get(page("study-repeat", study)).content.decode()
