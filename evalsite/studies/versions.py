"""What participants are shown: live before launch, frozen as numbered versions from then on; and
what was changed after the launch.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from hashlib import sha256
from typing import Any

from django.db import transaction
from django.db.models import Max, OuterRef, Subquery, TextField
from django.db.models.functions import Coalesce

import evalsite
from evalsite.studies.consent_sentences import write_consent
from evalsite.studies.models import Change, Study, StudyVersion
from evalsite.studies.questions import BACKGROUND
from evalsite.studies.set_size import LEAST_DISTANCE, items_per_set
from evalsite.studies.version_cache import forget_versions, read_content

_TEXTS = (
    "title", "organisation", "contact_name", "contact_email", "summary", "consent",
    "language",
)  # fmt: skip
_SETTINGS = (
    "k", "set_size", "max_sets", "max_items", "has_bonus", "groups", "item_order", "lease_minutes",
    "checks_per_person", "repeat_percent",
    "is_practice_on", "is_qualification_on", "pass_mark",
    "is_eligibility_on", "is_check_on", "minimum_age", "is_aided", "has_notice", "minutes_per_set",
    "currency", "seed", "answers_kept_for", "ethics_approval", "responsible", "complaints",
)  # fmt: skip


def hash_content(content: Any) -> str:
    """Return the SHA-256 of plain data, the same for equal data."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return sha256(text.encode()).hexdigest()


# the consent text of a study is asked for at each page of its participants
@lru_cache(maxsize=256)
def hash_text(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def build_content(study: Study) -> dict[str, Any]:
    """Return all that a participant of this study would be shown now, as plain data."""
    return {
        "texts": {
            **{name: getattr(study, name) for name in _TEXTS},
            "consent": write_consent(study, study.config),
            "instructions": study.instructions or protocol_instructions(study),
        },
        "settings": {
            **{name: getattr(study, name) for name in _SETTINGS},
            "pay_per_set": _write_amount(study.pay_per_set),
            "bonus": _write_amount(study.bonus),
            "repeat_distance": LEAST_DISTANCE,
            # what people are promised, whatever changes before the study ends
            "identity_days": study.identity_days,
            "withdrawable_until": study.withdrawable_until and study.withdrawable_until.isoformat(),
        },
        "options": study.config.default_options | study.options,
        "instrument": (
            study.config.to_data()
            if study.version_id is None
            else read_content(study.pk, study.version_id)["instrument"]
        ),
        # only where there are any, so that other contents stay as they were
        **({BACKGROUND: study.questions[BACKGROUND]} if BACKGROUND in study.questions else {}),
        **({"content_warning": {"text": study.content_warning}} if study.content_warning else {}),
        **({"asks_to_share": True} if study.asks_to_share else {}),
        **({"hides_results": True} if study.hides_results else {}),
        **({} if study.version_id is None else _list_renamed(study)),
        "software": evalsite.__version__,
    }


def _list_renamed(study: Study) -> dict[str, Any]:
    """Return the systems that were renamed after the launch: first name, present name."""
    former = find_former_names(study)
    names = dict(study.systems.filter(pk__in=former).values_list("pk", "name"))
    renamed = sorted([former[pk], name] for pk, name in names.items() if former[pk] != name)
    return {"renamed_systems": renamed} if renamed else {}


def get_content_warning(study: Study) -> str:
    """Return what people read about the texts before they start; "": they can't skip items.

    With it, an item is covered until they ask for it.
    """
    return str(shown_content(study).get("content_warning", {}).get("text", ""))


def has_notice(study: Study) -> bool:
    """Tell whether Start on the first page agrees to a short notice there."""
    return bool(shown_content(study)["settings"].get("has_notice"))


def get_identity_days(content: Mapping[str, Any]) -> int:
    """Return how many days people who were shown this content were told their ID is kept."""
    days: int = content["settings"].get("identity_days", 90)
    return days


def has_sheet(study: Study) -> bool:
    """Tell whether all items of a set are on one page in this study."""
    config = study.config
    return "sheet" in config.layout.screens and config.is_sheet(shown_content(study)["options"])


def protocol_instructions(study: Study) -> str:
    """Return the protocol's own instructions, with the sets and the bonus that this study has."""
    values = {
        "k": study.k,
        "set_size": items_per_set(study),
        "max_sets": study.max_sets,
        "has_bonus": study.has_bonus,
        "groups": study.groups,
    }
    return study.config.instructions_for(study.config.design.model_copy(update=values))


def _write_amount(amount: Decimal | None) -> str | None:
    return None if amount is None else str(amount)


@transaction.atomic
def make_version(study: Study, *, by: Any) -> StudyVersion:
    """Freeze the study's present content as its newest version, unless nothing changed."""
    content = build_content(study)
    digest = hash_content(content)
    if study.version is not None and study.version.sha256 == digest:
        return study.version
    last = study.versions.aggregate(last=Max("number"))["last"] or 0
    # another version may have had its number, in a transaction that failed
    forget_versions()
    version = StudyVersion.objects.create(
        study=study,
        number=last + 1,
        content=content,
        sha256=digest,
        created_by=by if getattr(by, "is_authenticated", False) else None,
    )
    Study.objects.filter(pk=study.pk).update(version=version)
    study.version = version
    return version


def shown_content(study: Study) -> dict[str, Any]:
    """Return what participants see: the frozen version, or before launch the draft."""
    if study.version_id is None:
        return build_content(study)
    return read_content(study.pk, study.version_id)


# --- what was changed after the launch: how it was before, and what reports say of it


def name_first() -> Coalesce:
    """Return the name that a system had first, as a column of a query of systems."""
    renamed = Change.objects.filter(
        study=OuterRef("study"), system=OuterRef("pk"), kind=Change.Kind.RENAMED
    )
    first = Subquery(renamed.order_by("at", "id").values("before")[:1])
    return Coalesce(first, "name", output_field=TextField())


def find_former_names(study: Study, *, at: datetime | None = None) -> dict[int, str]:
    """Return the name that each renamed system had at that moment, or had first."""
    renamed = Change.objects.filter(study=study, kind=Change.Kind.RENAMED)
    if at is not None:
        renamed = renamed.filter(at__gt=at)
    # the earliest comes last
    return dict(renamed.order_by("-at", "-id").values_list("system", "before"))


def find_former_texts(study: Study, *, at: datetime) -> dict[tuple[int, int | None], str]:
    """Return the text that each output corrected since then had, by its item and position."""
    corrected = Change.objects.filter(
        study=study, kind=Change.Kind.CORRECTED, instead_of=None, at__gt=at
    )
    rows = corrected.order_by("-at", "-id").values_list("item", "position", "before")
    return {(item, position): text for item, position, text in rows}


def list_in_force(study: Study) -> list[Change]:
    """Return the changes that hold now: without what was put back, or replaced by a corrected text.

    In the order in which they were made.
    """
    changes = list(study.changes.select_related("item", "instead_of"))
    coming = (Change.Kind.WITHDRAWN, Change.Kind.PUT_BACK)
    last = {change.item_id: change for change in changes if change.kind in coming}
    replaced = {change.instead_of_id for change in changes if change.instead_of_id}
    return [
        change
        for change in changes
        if change.kind in (Change.Kind.RENAMED, Change.Kind.CORRECTED)
        or (
            change.kind == Change.Kind.WITHDRAWN
            and last[change.item_id] is change
            and change.item_id not in replaced
        )
    ]


def describe_in_force(study: Study) -> list[dict[str, Any]]:
    """Return the same as plain data, for reports."""
    return [
        {
            "kind": change.kind,
            "item": change.item.key if change.item else "",
            "output": None if change.position is None else change.position + 1,
            "before": change.before,
            "after": change.after,
            "reason": change.reason,
            "answers": change.answers,
            "at": change.at.isoformat(),
        }
        for change in list_in_force(study)
    ]
