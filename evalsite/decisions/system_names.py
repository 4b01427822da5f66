"""Another name for a system: results and files use it from then on, participants see neither."""

import unicodedata
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from evalsite.core.audit.models import AuditEntry
from evalsite.decisions.models import AnalysisPlan
from evalsite.fieldwork.launch import insist_on_editor, insist_on_owner
from evalsite.studies.models import Change, Study, System
from evalsite.studies.versions import make_version

MOST_CHARACTERS = 80
# what results and files say of something else
RESERVED = ("tie", "input", "reference")


@transaction.atomic
def rename_system(study: Study, system: System, name: str, by: Any) -> System:
    """Give a system of this study another name: free until the launch, then for owners, recorded.

    Return the system as it is now; with the name that it has already, nothing changes.
    """
    current = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    insist = insist_on_editor if current.version_id is None else insist_on_owner
    insist(current, by)
    system = System.objects.get(study=current, pk=system.pk)
    before, name = system.name, " ".join(name.split())
    if name == before:
        return system
    _check_name(current, system, name)
    system.name = name
    system.save(update_fields=["name"])
    _rename_in_plan(current, before, name)
    # the plan of places was drawn by the earlier name
    if current.version_id is not None or current.batches.filter(opened_at__isnull=False).exists():
        Change.objects.create(
            study=current, kind=Change.Kind.RENAMED, system=system, before=before, after=name,
            by=by,
        )  # fmt: skip
    if current.version_id is not None:
        make_version(current, by=by)
    AuditEntry.objects.record(
        "system renamed", by=by, study_id=current.pk, before=before, after=name
    )
    return system


def _check_name(study: Study, system: System, name: str) -> None:
    if not name:
        raise ValidationError("Enter a name for the system.", code="system_invalid")
    if len(name) > MOST_CHARACTERS:
        raise ValidationError(
            f"This name has {len(name):,} characters. Use {MOST_CHARACTERS} or fewer.",
            code="system_invalid",
        )
    if not name.isprintable():
        raise ValidationError(
            "This name has an invisible character. Remove it.", code="system_invalid"
        )
    if _fold(name) in RESERVED:
        raise ValidationError(
            f"“{name}” can’t name a system: results and files use that word. Enter another name.",
            code="system_invalid",
        )
    # also those of a file that is being stored
    systems = System.all_objects.filter(study=study).exclude(pk=system.pk)
    for taken in systems.values_list("name", flat=True):
        if _fold(taken) == _fold(name):
            raise ValidationError(
                f"Another system is called “{taken}”. Enter a name that no other system has.",
                code="system_confusable",
            )


def _fold(name: str) -> str:
    """Return what is equal for names that differ only in case, spaces or Unicode form."""
    return "".join(unicodedata.normalize("NFKC", name).casefold().split())


def _rename_in_plan(study: Study, before: str, name: str) -> None:
    """Let the analysis plan name the same system; its frozen versions stay as they were."""
    plan = AnalysisPlan.objects.filter(study=study).first()
    if plan is None:
        return
    for rows in (plan.margins, plan.hypotheses):
        for row in rows:
            for side in ("system", "other"):
                row[side] = name if row[side] == before else row[side]
    plan.save(update_fields=["margins", "hypotheses"])
