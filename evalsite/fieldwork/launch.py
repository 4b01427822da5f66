"""Letting people in: launch, pause, resume, close; and putting away what is closed."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import Count, F, Max, QuerySet

from evalsite.core.accounts.time_zones import format_local
from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import STALE_AFTER, Job
from evalsite.core.jobs.services import job_kind, report_progress, restart_job, start_job
from evalsite.fieldwork.checklist import check_launch, counts_of
from evalsite.fieldwork.shares import find_problems, find_uncertain, place_people
from evalsite.handout.change_k import count_places, list_lacking
from evalsite.handout.models import Slot
from evalsite.handout.slots import make_slots
from evalsite.lib.clock import now
from evalsite.people.models import Expert
from evalsite.studies.models import Batch, Membership, Study
from evalsite.studies.setting_changes import name_last_change
from evalsite.studies.summary_lines import count_of
from evalsite.studies.versions import hash_content, make_version

KIND = "launch"
# what apps above this one do as a study is launched, with the study and who launches it
AT_LAUNCH: list["AtLaunch"] = []
# what they do as a study closes, in the same transaction, with the study and who closes it
AT_CLOSING: list[Callable[[Study, Any], object]] = []


@dataclass(frozen=True, kw_only=True)
class AtLaunch:
    """What another part freezes when a study is launched.

    `mark` returns a digest of it, `name_last` who changed it last. `finish` runs in the job, just
    before the study opens.
    """

    name: str
    mark: Callable[[Study], str]
    name_last: Callable[[Study], str]
    freeze: Callable[[Study, Any], object]
    finish: Callable[[Study], object]


def mark_frozen(study: Study, known: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a short digest of each part that the launch would freeze now; some may be known."""
    counts, known = counts_of(study), known or {}
    items = [counts.main.number, counts.main.newest, counts.main.changes, counts.by_kind]
    parts = {
        "settings": study.revision,
        "items": [items, sorted(system.name for system in study.systems.all())],
        "questions": study.config.to_data(),
        "people": known.get("people") or mark_people(study.experts.all()),
        **{part.name: known.get(part.name) or part.mark(study) for part in AT_LAUNCH},
    }
    return {name: hash_content(part)[:16] for name, part in parts.items()}


def mark_people(people: Iterable[Expert]) -> str:
    """Return a text that is equal as long as the same people are invited to the same work."""
    rows = [[person.pk, person.email, person.rates, person.selection] for person in people]
    return hash_content(sorted(rows))


def describe_changes(study: Study, seen: Mapping[str, str], reader: Any) -> list[str]:
    """Return what has changed in a draft since somebody saw these digests of its parts."""
    changed = {name for name, mark in mark_frozen(study).items() if seen.get(name) != mark}
    sentences = []
    if "settings" in changed:
        sentences.append(f"The settings were changed by {name_last_change(study, reader)}.")
    if "items" in changed:
        number = count_of(counts_of(study).records, "item")
        systems = count_of(counts_of(study).systems, "system")
        sentences.append(f"The items were changed: now {number} and {systems}.")
    if "people" in changed:
        number = count_of(study.experts.count(), "person is", "people are")
        sentences.append(f"The people invited were changed: now {number} invited by name.")
    if "questions" in changed:
        sentences.append("The instrument was changed.")
    for part in AT_LAUNCH:
        if part.name in changed:
            who = part.name_last(study)
            sentences.append(f"The {part.name} was changed{f' by {who}' if who else ''}.")
    return sentences


@transaction.atomic
def launch_study(
    *,
    study: Study,
    by: Any,
    seen: Mapping[str, str] | None = None,
    may_lack: Collection[str] = (),
) -> Job:
    """Freeze the texts as version 1, and start the job that makes the slots and opens the study.

    A second launch while one is under way gets its job. `seen`: the digests of what is
    frozen, as the owner saw it. `may_lack`: fields that the checklist asks for and this study can
    do without.
    """
    insist_on_owner(study, by)
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.is_launched:
        raise ValidationError("This study has been launched already.")
    if study.version_id is not None and (job := newest_launch(study)) is not None:
        return job
    _check_at_rest(study)
    problems = [
        check.problem
        for check in check_launch(study)
        if not check.is_met and not (check.field and check.field in may_lack)
    ]
    if find_uncertain(study).exists():
        problems += [problem.messages[0] for problem in find_problems(study)]
    if problems:
        raise ValidationError(problems)
    if seen is not None and (changes := describe_changes(study, seen, by)):
        raise ValidationError(
            [*changes, "Nothing was launched. Look at the page again, then launch."],
            code="changed",
        )
    version = make_version(study, by=by)
    for part in AT_LAUNCH:
        part.freeze(study, by)
    # who still has the settings open must not save over what is being launched
    Study.objects.filter(pk=study.pk).update(revision=F("revision") + 1)
    AuditEntry.objects.record(
        "launch started", by=by, study_id=study.pk, version=version.number, sha256=version.sha256
    )
    return start_job(KIND, study_id=study.pk, by=by)


def _check_at_rest(study: Study) -> None:
    """ValidationError while files are imported, or places fitted to another k."""
    if Batch.all_objects.filter(study=study, written_at__gt=now() - STALE_AFTER).exists():
        raise ValidationError(
            "A file of items is being imported just now. Wait until that is done, then launch."
        )
    open_jobs = Job.objects.filter(study_id=study.pk, kind__in=("import ratings", "places"))
    newest = {job.kind: job for job in open_jobs.order_by("created_at")}
    if any(job.is_open for job in newest.values()):
        raise ValidationError(
            "Ratings are being imported, or places made or removed, just now. Wait until that is "
            "done, then launch."
        )
    places = newest.get("places")
    if places is not None and places.state == Job.State.FAILED:
        raise ValidationError(
            "Work on the places has stopped in the middle. Start it again on the Overview; "
            "when that is done, launch."
        )


@transaction.atomic
def close_as_collected(*, study: Study, by: Any) -> None:
    """Close a draft whose answers were all collected elsewhere: nobody is ever let in."""
    insist_on_owner(study, by)
    version, moment = make_version(study, by=by), now()
    draft = Study.objects.filter(pk=study.pk, state=Study.State.DRAFT, launched_at=None)
    closed = draft.update(state=Study.State.CLOSED, launched_at=moment, closed_at=moment)
    if not closed:
        raise ValidationError("This study has been launched already.")
    AuditEntry.objects.record(
        "study closed as collected elsewhere", by=by, study_id=study.pk,
        version=version.number, sha256=version.sha256,
    )  # fmt: skip
    for act in AT_CLOSING:
        act(study, by)


def restart_launch(*, study: Study, by: Any) -> Job:
    """Continue a launch that stopped in the middle."""
    insist_on_owner(study, by)
    job = newest_launch(study)
    if job is None or study.is_launched:
        raise ValidationError("There is no launch to start again.")
    return restart_job(job, by=by)


def newest_launch(study: Study) -> Job | None:
    return Job.objects.filter(study_id=study.pk, kind=KIND).first()


@job_kind(KIND)
def run_launch(job: Job) -> dict[str, Any]:
    """Give every main item its k slots, and make the study live."""
    study = Study.objects.get(pk=str(job.study_id))
    batches = list(Batch.objects.filter(study=study))
    early = [batch for batch in batches if batch.opened_at is not None]
    # what was opened for imported answers has its places, and they may be of any numbers
    lacking = [*(batch for batch in batches if batch.opened_at is None), *list_lacking(study)]
    slots = make_slots(study, lacking, lambda done, total: report_progress(job, done, total))
    slots += count_places(study, [batch for batch in early if batch not in lacking])
    for part in AT_LAUNCH:
        part.finish(study)
    with transaction.atomic():
        Batch.objects.filter(pk__in=[batch.pk for batch in batches], opened_at=None).update(
            opened_at=now()
        )
        opened = Study.objects.filter(pk=study.pk, launched_at=None).update(
            state=Study.State.LIVE, launched_at=now()
        )
        if opened:
            study = Study.objects.get(pk=study.pk)
            invited = study.experts.select_related("link__participant").order_by("pk")
            place_people(study, list(invited), job.started_by)
            AuditEntry.objects.record(
                "study launched", by=job.started_by, study_id=study.pk, slots=slots
            )
    return {"slots": slots}


@transaction.atomic
def pause_study(*, study: Study, by: Any) -> None:
    """Pause: no new work is handed out; work in hand may be finished."""
    insist_on_editor(study, by)
    _move(study, by=by, action="study paused", to=Study.State.PAUSED, of=[Study.State.LIVE])


@transaction.atomic
def resume_study(*, study: Study, by: Any) -> None:
    """New work is handed out again."""
    insist_on_editor(study, by)
    _move(study, by=by, action="study resumed", to=Study.State.LIVE, of=[Study.State.PAUSED])


@transaction.atomic
def close_study(*, study: Study, by: Any) -> None:
    """Close: no new work is handed out; work in hand may be finished."""
    insist_on_owner(study, by)
    _close(study, by)


@transaction.atomic
def close_by_itself(*, study: Study, why: str) -> None:
    """Close a study without anyone's click; the log names why instead of a person."""
    _close(study, why)


def _close(study: Study, by: Any) -> None:
    running = [Study.State.LIVE, Study.State.PAUSED]
    _move(study, by=by, action="study closed", to=Study.State.CLOSED, of=running)
    # an expert's places have no end of their own
    Slot.objects.assigned().filter(study=study).update(
        state=Slot.State.FREE, participant=None, lease_until=None
    )
    Study.objects.filter(pk=study.pk).update(closed_at=now())
    for act in AT_CLOSING:
        act(study, by)


@transaction.atomic
def archive_study(*, study: Study, by: Any) -> None:
    """The study is put away: staff read, compute and export it, and change nothing.

    Participants may still withdraw. What one of them sends late is kept, and doesn't count.
    """
    insist_on_owner(study, by)
    # first, so that no place is taken between the check and the change
    of = [Study.State.CLOSED if study.is_launched else Study.State.DRAFT]
    _move(study, by=by, action="study archived", to=Study.State.ARCHIVED, of=of)
    if Study.objects.filter(pk=study.pk, launched_at=None, version__isnull=False).exists():
        raise ValidationError("The study is being launched, so it can’t be archived now.")
    if kept := count_held(study):
        raise ValidationError(
            f"{count_of(kept.places, 'place')} of this study {'is' if kept.places == 1 else 'are'} "
            f"still kept for people at work, until {format_local(kept.until, by)} at the "
            "latest. Archive it after that, or take the places back first."
        )


@dataclass(frozen=True)
class PlacesInUse:
    """How many places are kept for people at work, and until when at the latest."""

    places: int
    until: datetime


def find_held(study: Study) -> QuerySet[Slot]:
    """Return the places of this study that people at work hold."""
    return Slot.objects.leased().filter(study=study, lease_until__gt=now())


def count_held(study: Study) -> PlacesInUse | None:
    """Return what people at work hold of this study; None if they hold nothing."""
    counts = find_held(study).aggregate(places=Count("pk"), until=Max("lease_until"))
    return PlacesInUse(**counts) if counts["places"] else None


@transaction.atomic
def unarchive_study(*, study: Study, by: Any) -> None:
    """The study is closed, or a draft, as before, and may be changed as far as such a one may."""
    insist_on_owner(study, by)
    before = Study.State.CLOSED if study.is_launched else Study.State.DRAFT
    _move(study, by=by, action="study brought back", to=before, of=[Study.State.ARCHIVED])


def _move(study: Study, *, by: Any, action: str, to: str, of: list[Any]) -> None:
    """The study is in another state, if it was in one that leads there."""
    if not Study.objects.filter(pk=study.pk, state__in=of).update(state=to):
        raise ValidationError(
            "The study is in another state by now. Look at it again before you decide."
        )
    AuditEntry.objects.record(action, by=by, study_id=study.pk)


def insist_on_owner(study: Study, by: Any) -> None:
    """PermissionDenied for anyone but an owner of the study and a superuser."""
    _insist_on_role(study, by, Membership.Role.OWNER)


def insist_on_editor(study: Study, by: Any) -> None:
    """PermissionDenied for anyone but an editor or owner of the study and a superuser."""
    _insist_on_role(study, by, Membership.Role.EDITOR, Membership.Role.OWNER)


def _insist_on_role(study: Study, by: Any, *roles: Membership.Role) -> None:
    memberships = Membership.objects.filter(study=study, user=by, role__in=roles)
    if not by.is_superuser and not memberships.exists():
        raise PermissionDenied(f"Only {' or '.join(roles)}s of the study may do this.")
