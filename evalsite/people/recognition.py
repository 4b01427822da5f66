"""Recognising people from earlier studies by a keyed hash of their platform id."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count
from django.utils.crypto import salted_hmac

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.schedule import HOURLY, scheduled
from evalsite.lib.clock import now
from evalsite.people.models import EarlierStudyRule, Participant, ParticipantMark, Visit
from evalsite.studies.models import Study

_SALT = "evalsite.recognition"


def _hash_id(platform: str, person_id: str, key: str | None = None) -> str:
    named = f"{platform} {person_id.lower()}"
    return salted_hmac(_SALT, named, secret=key, algorithm="sha256").hexdigest()


def _list_ids(participant: Participant) -> list[tuple[str, str]]:
    """Return the ids of this person that mean the same person in every study."""
    visits = Visit.objects.filter(participant=participant).exclude(person_id="")
    return [
        (visit.platform, visit.person_id)
        for visit in visits.select_related("recruitment")
        if not visit.recruitment.adapter.has_ids_of_round
    ]


def mark_person(participant: Participant) -> None:
    """Keep what later studies recognise this person by, if the study says so to people."""
    if not participant.study.recognise_days or participant.is_pilot:
        return
    for platform, person_id in _list_ids(participant):
        ParticipantMark.objects.get_or_create(
            study_id=participant.study_id,
            participant=participant,
            digest=_hash_id(platform, person_id),
        )


def has_rules(study: Study) -> bool:
    return EarlierStudyRule.objects.filter(study=study.pk).exists()


def is_kept_out(participant: Participant) -> bool:
    """Return whether a rule on people from earlier studies is against this person.

    Who came without an id of a platform isn't recognised.
    """
    if participant.is_pilot or participant.is_expert:
        return False
    rules = dict(
        EarlierStudyRule.objects.filter(study=participant.study_id).values_list("earlier", "rule")
    )
    if not rules:
        return False
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    ids = _list_ids(participant)
    digests = {_hash_id(platform, person_id, key) for platform, person_id in ids for key in keys}
    known = ParticipantMark.objects.filter(study__in=rules, digest__in=digests)
    was_in = set(known.values_list("study", flat=True))
    required = {pk for pk, rule in rules.items() if rule == EarlierStudyRule.Rule.REQUIRE}
    barred = rules.keys() - required
    return bool(was_in & barred) or bool(required and not was_in & required)


def count_marked(studies: Iterable[Study]) -> dict[Any, int]:
    """Return how many people of each study can be recognised."""
    marks = ParticipantMark.objects.filter(study__in=studies).order_by()
    return dict(marks.values_list("study").annotate(people=Count("participant", distinct=True)))


@transaction.atomic
def change_rules(*, study: Study, rules: Mapping[Study, str], by: Any) -> None:
    """Set the rules on the people of these studies; "": none."""
    Study.objects.select_for_update(no_key=True).only("pk").get(pk=study.pk)
    stored = dict(study.earlier_rules.values_list("earlier", "rule"))
    changed = {
        earlier: rule for earlier, rule in rules.items() if stored.get(earlier.pk, "") != rule
    }
    for earlier, rule in changed.items():
        if rule:
            EarlierStudyRule.objects.update_or_create(
                study=study, earlier=earlier, defaults={"rule": rule}
            )
        else:
            study.earlier_rules.filter(earlier=earlier).delete()
    if changed:
        AuditEntry.objects.record(
            "rules on earlier studies changed", by=by, study_id=study.pk, studies=len(changed)
        )


def list_platform_ids(study: Study, *, by: Any) -> Iterator[tuple[str, list[str]]]:
    """Return the ids of this study's people by platform, and record in the log who saw them."""
    visits = Visit.objects.filter(study=study, participant__is_pilot=False).exclude(person_id="")
    ids: dict[str, dict[str, None]] = {}
    for visit in visits.select_related("recruitment").order_by("id"):
        adapter = visit.recruitment.adapter
        if not adapter.has_ids_of_round:
            name = adapter.name_for_people(visit.recruitment.platform_settings) or adapter.label
            ids.setdefault(name, {})[visit.person_id] = None
    AuditEntry.objects.record(
        "identity view", by=by, study_id=study.pk, block_list=sum(map(len, ids.values()))
    )
    yield from ((name, list(person_ids)) for name, person_ids in ids.items())


@scheduled("Forget people who may be recognised no longer", every=HOURLY, is_deleting=True)
def forget_marks() -> None:
    """Delete what has been kept for as long as its study says."""
    for study in Study.objects.filter(pk__in=ParticipantMark.objects.values("study")):
        oldest = now() - timedelta(days=study.recognise_days)
        ParticipantMark.objects.filter(study=study, created_at__lt=oldest).delete()
