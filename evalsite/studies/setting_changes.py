"""Changing a study's settings: one person at a time, and after launch only as a new version."""

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from evalsite.core.accounts.time_zones import format_local
from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import start_job
from evalsite.studies.consent_sentences import find_placeholders
from evalsite.studies.models import Study, StudyVersion
from evalsite.studies.settings import SETTINGS
from evalsite.studies.versions import make_version

# What rules the hand-out of work and the instrument itself: fixed from launch on.
DESIGN = (
    "options",
    "questions",
    *(setting.name for setting in SETTINGS.values() if setting.is_frozen),
)
# What participants read: after launch a change makes the next version.
SHOWN = tuple(setting.name for setting in SETTINGS.values() if setting.is_shown)
CONTACT = ("contact_email",)

# a page with more would be slow to load and hard to find one's way in
MOST_ON_A_SHEET = 30

# the job that makes and removes places until every item of an open batch has k
PLACES = "places"
# the log's word for another number of answers per item while the study runs
CHANGED_K = "answers per item changed"


def digest_settings(study: Study, names: Iterable[str]) -> str:
    """Return a short digest of these settings, to tell whether someone has changed them."""
    values = {name: str(getattr(study, name)) for name in names if name != "options"}
    text = json.dumps([values, study.options if "options" in [*names] else None], sort_keys=True)
    return sha256(text.encode()).hexdigest()[:16]


def has_opened(study: Study) -> bool:
    """Return whether people could begin by now."""
    return study.is_launched and not study.is_before_opening


def name_new_version(version: StudyVersion) -> str:
    """Return what the box says that makes changed texts the next version."""
    return f"Make version {version.number + 1} of the texts"


class ChangedMeanwhile(ValidationError):
    """These settings were saved by someone else after this person opened them."""


@transaction.atomic
def change_settings(
    *,
    study: Study,
    values: dict[str, Any],
    by: Any,
    revision: int | None = None,
    seen: str | None = None,
    is_new_version: bool = False,
) -> Study:
    """Save these settings; once launched, make a version that shows them.

    `seen` is the digest of these settings, and `revision` that of the whole study, as the person
    saw them.
    """
    current = Study.objects.select_for_update().get(pk=study.pk)
    is_other = revision is not None and current.revision != revision
    if is_other or (seen is not None and seen != digest_settings(current, values)):
        raise ChangedMeanwhile(describe_last_change(current, by))
    changed = [name for name, value in values.items() if getattr(current, name) != value]
    if not changed:
        return current
    if current.version is not None:
        _refuse_after_launch(current.version, changed, values, is_new_version)
    if "opens_at" in changed and has_opened(current):
        raise ValidationError("The study has opened, so its opening date can’t be changed.")
    for name in changed:
        setattr(current, name, values[name])
    _refuse_long_sheet(current)
    if set(changed) & {"has_notice", "answers_kept_for"}:
        _check_consent(current)
    if current.batches.filter(opened_at__isnull=False).exists():
        _fit_what_is_open(current, changed, by=by)
    current.revision += 1
    current.save(update_fields=[*changed, "revision"])
    if current.version_id is not None and set(changed) & {*SHOWN, *CONTACT}:
        make_version(current, by=by)
    # names only: the log doesn't hold texts, and the versions keep them
    AuditEntry.objects.record("settings changed", by=by, study_id=study.pk, fields=changed)
    return current


def _check_consent(study: Study) -> None:
    """Have a notice only where nobody comes by a link that is shared, and else a whole page."""
    if not study.has_notice:
        if study.is_launched and not study.answers_kept_for:
            raise ValidationError(
                "A consent page says how long you keep the answers. Fill in “Answers are kept "
                "for”.",
                code="answers_kept_for",
            )
        return
    rounds = study.recruitments.filter(is_on=True)
    shared = [recruitment for recruitment in rounds if recruitment.has_link]
    if not study.is_launched:
        # nobody has come by it
        study.recruitments.filter(number=0).update(is_on=False)
        shared = [recruitment for recruitment in shared if recruitment.number]
    if shared:
        raise ValidationError(
            f"People come in by {shared[0].adapter.label}, and they agree on a consent page. Keep "
            "the page, or turn that off first.",
            code="notice",
        )


def _fit_what_is_open(study: Study, changed: list[str], *, by: Any) -> None:
    """Fit the places of batches that imported answers opened to another k."""
    if "groups" in changed:
        raise ValidationError(
            "Ratings were imported, so the places of their items are planned. To change how items "
            "of a group are handed out, undo that import, save, and import again."
        )
    if "k" not in changed:
        return
    if Job.objects.filter(
        study_id=study.pk,
        kind__in=(PLACES, "import ratings"),
        state__in=(Job.State.WAITING, Job.State.RUNNING),
    ).exists():
        raise ValidationError(
            "Places are being made or removed just now. Wait until that is done, then save again."
        )
    start_job(PLACES, study_id=study.pk, by=by)


def _refuse_long_sheet(study: Study) -> None:
    if study.version_id is not None or study.set_size <= MOST_ON_A_SHEET:
        return
    if study.config.is_sheet(study.options):
        raise ValidationError(
            f"A sheet can have at most {MOST_ON_A_SHEET} items, and a set has {study.set_size}. "
            "Enter a smaller set, or choose one item per page.",
            code="sheet_too_long",
        )


def _refuse_after_launch(
    version: StudyVersion, changed: list[str], values: dict[str, Any], is_new: bool
) -> None:
    if set(changed) & set(DESIGN):
        raise ValidationError(
            "The design has been fixed since launch. Make a new study for another design."
        )
    if set(changed) & set(SHOWN) and not is_new:
        raise ValidationError(
            "People have read these texts. To change them for those who come later, tick "
            f"“{name_new_version(version)}” above Save, then save again.",
            code="version",
        )
    if marks := find_placeholders(values.get("consent", "")):
        raise ValidationError(f"Replace {marks[0]} with your own words.", code="placeholder")


def describe_last_change(study: Study, reader: Any) -> str:
    """Return who changed the study last, and what to do about it."""
    return (
        f"Changed by {name_last_change(study, reader)}, after you opened this page. Nothing was "
        "overwritten, and what you entered is still on this page."
    )


def name_last_change(study: Study, reader: Any) -> str:
    """Return who changed the study last, and when."""
    entry = AuditEntry.objects.filter(
        study_id=study.pk, action__in=["settings changed", "launch started", CHANGED_K]
    ).first()
    if entry is None:
        return "someone"
    return f"{entry.actor_name or 'someone'} at {format_local(entry.created_at, reader)}"
