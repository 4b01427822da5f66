"""Closing studies at the time that was set for it, or once all their answers are in."""

from evalsite.core.jobs.models import Job
from evalsite.core.jobs.schedule import scheduled
from evalsite.fieldwork.launch import close_by_itself, count_held
from evalsite.handout.models import Slot
from evalsite.studies.models import Batch, Study
from evalsite.studies.setting_changes import PLACES


@scheduled("Close studies at their closing time, or when all answers are in")
def close_due_studies() -> str:
    """Close what is due, once nobody is at work on it.

    Results that a study hides stay hidden until an owner has applied its rules, or declined to.
    """
    running = Study.objects.filter(state__in=[Study.State.LIVE, Study.State.PAUSED])
    closed = 0
    for study in running:
        is_full = study.closes_when_full and _has_all_answers(study)
        if (study.is_past_its_end or is_full) and count_held(study) is None:
            why = "closing time" if study.is_past_its_end else "last answer"
            close_by_itself(study=study, why=why)
            closed += 1
    return f"{closed} closed" if closed else ""


def _has_all_answers(study: Study) -> bool:
    """Return whether every place is answered, and none is to come."""
    slots = Slot.objects.filter(study=study)
    waiting = Batch.objects.filter(study=study, opened_at=None)
    places = Job.objects.filter(study_id=study.pk, kind=PLACES).order_by("created_at").last()
    # one that stopped in the middle will go on
    is_at_rest = places is None or places.state == Job.State.DONE
    return is_at_rest and not any(rows.exists() for rows in (slots.free(), slots.leased(), waiting))
