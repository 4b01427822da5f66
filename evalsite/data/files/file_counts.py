"""Rows of each file, counted by the job worker soon after something has changed."""

from datetime import timedelta
from time import perf_counter

from django.db.models import Exists, OuterRef, Q

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.schedule import scheduled
from evalsite.data.files.misread_ids import list_misread
from evalsite.data.files.models import FileCounts
from evalsite.data.files.pseudonymised import count_pseudonymised
from evalsite.data.files.services import count_rows
from evalsite.handout.models import Annotation, Revision
from evalsite.lib.clock import now
from evalsite.people.models import Participant
from evalsite.studies.models import Study

# what took long is done again after so many times as long: it never keeps a worker busy
_PAUSE = 30


def store_counts(study: Study) -> FileCounts:
    """Count the rows of each file, all answers but those of pilots, for the page to read."""
    moment, began = now(), perf_counter()
    rows, pseudonymised = count_rows(study), count_pseudonymised(study)
    counts, _ = FileCounts.objects.update_or_create(
        study=study,
        defaults={
            "counted_at": moment,
            "seconds": perf_counter() - began,
            "rows": rows,
            "pseudonymised": pseudonymised,
            "misread": list_misread(study),
        },
    )
    return counts


def find_counts(study: Study) -> FileCounts | None:
    """Return the stored counts of this study, if its rows have been counted."""
    return FileCounts.objects.filter(study=study).first()


@scheduled("Count the rows of files")
def count_changed_files() -> str:
    """Count the rows of studies in which something has changed since they were counted."""
    of_study, moment = {"study": OuterRef("pk")}, OuterRef("file_counts__counted_at")
    participants = Participant.objects.filter(**of_study)
    changes = (
        Annotation.objects.filter(**of_study, submitted_at__gte=moment),
        Revision.objects.filter(**of_study, replaced_at__gte=moment),
        participants.filter(Q(created_at__gte=moment) | Q(withdrawn_at__gte=moment)),
        # what researchers do: files imported, items and people removed
        AuditEntry.objects.filter(study_id=OuterRef("pk"), created_at__gte=moment),
    )
    # what was counted while the clock was ahead would seem newer than every change
    is_changed = Q(file_counts=None) | Q(file_counts__counted_at__gt=now())
    for rows in changes:
        is_changed |= Q(Exists(rows))
    counted = 0
    for study in Study.objects.filter(is_changed).select_related("file_counts"):
        before = getattr(study, "file_counts", None)
        pause = timedelta(seconds=0 if before is None else _PAUSE * before.seconds)
        if before is None or not now() - pause < before.counted_at <= now():
            store_counts(study)
            counted += 1
    return f"counted those of {counted} {'study' if counted == 1 else 'studies'}" if counted else ""
