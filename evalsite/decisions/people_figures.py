"""Figures of everyone in a study, measured by the job worker soon after new answers."""

from dataclasses import asdict, fields
from datetime import timedelta
from time import perf_counter

from django.db.models import Exists, OuterRef, Q

from evalsite.core.jobs.schedule import scheduled
from evalsite.decisions.models import PeopleFigures
from evalsite.decisions.person_measures import Measures, measure_people
from evalsite.handout.models import Annotation
from evalsite.lib.clock import now
from evalsite.studies.models import Study

# what took long is done again after so many times as long: it never keeps a worker busy
_PAUSE = 30


def store_figures(study: Study) -> PeopleFigures:
    """Measure everyone but pilots, and store the figures for pages to read."""
    moment, began = now(), perf_counter()
    people = {
        str(pk): asdict(measures) | {"items": len(measures.items)}
        for pk, measures in measure_people(study, with_texts=True).items()
    }
    stored, _ = PeopleFigures.objects.update_or_create(
        study=study,
        defaults={
            "measured_at": moment,
            "seconds": perf_counter() - began,
            "people": people,
        },
    )
    return stored


def find_figures(study: Study) -> PeopleFigures | None:
    """Return the stored figures of this study, if anyone has been measured."""
    return PeopleFigures.objects.filter(study=study).first()


def read_people(figures: PeopleFigures | None) -> dict[int, Measures]:
    """Return the measures of each person by participant; which items counted isn't stored."""
    known = {field.name for field in fields(Measures)} - {"items"}
    return {
        int(pk): Measures(**{name: value for name, value in measures.items() if name in known})
        for pk, measures in ({} if figures is None else figures.people).items()
    }


@scheduled("Measure the work of people")
def measure_new_answers() -> str | None:
    """Measure the studies with answers newer than their figures."""
    answers = Annotation.objects.filter(study=OuterRef("pk"))
    newer = answers.filter(submitted_at__gte=OuterRef("people_figures__measured_at"))
    waiting = Study.objects.filter(
        Q(Exists(newer)) | Q(Exists(answers), people_figures=None)
    ).select_related("people_figures")
    done = 0
    for study in waiting:
        before = getattr(study, "people_figures", None)
        pause = timedelta(seconds=0 if before is None else _PAUSE * before.seconds)
        if before is None or before.measured_at + pause <= now():
            store_figures(study)
            done += 1
    return f"measured the people of {done} {'study' if done == 1 else 'studies'}" if done else None
