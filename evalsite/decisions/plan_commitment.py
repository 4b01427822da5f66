"""One line that commits a study to its plan, and to everything else that is fixed before answers.

Anyone who has the line from before the first answer can check a bundle against it: the hash is made
of what every bundle holds, so it is computed again there.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from typing import Any

from django.db.models import Min, QuerySet

from evalsite.decisions.models import AnalysisPlanVersion
from evalsite.fieldwork.checklist import counts_of
from evalsite.handout.models import Annotation
from evalsite.lib.clock import now
from evalsite.studies.items import MainItems
from evalsite.studies.models import Item, Output, Study
from evalsite.studies.versions import find_former_names, find_former_texts, hash_content

FORMAT = 1
_PAGE = 500
_SETTINGS = ("k", "set_size", "seed")


def hash_plan(study: Study, *, number: int, content: dict[str, Any], at: datetime) -> str:
    """Return the SHA-256 of a version of the plan with what the study fixed at that moment.

    It is taken over canonical JSON: sorted keys, no spaces, UTF-8.
    """
    earlier = study.versions.filter(created_at__lte=at).order_by("-number")
    version = earlier.first() or study.versions.order_by("number")[0]
    settings = version.content["settings"]
    return _hash(
        study,
        plan={"version": number, "content": content},
        instrument=hash_content(version.content["instrument"]),
        items=_hash_items(
            study, at, find_former_names(study, at=at), find_former_texts(study, at=at)
        ),
        settings={name: settings[name] for name in _SETTINGS},
    )


def foresee_line(study: Study, content: dict[str, Any]) -> str:
    """Return the line of a draft with this plan, as a launch would make it, without its time."""
    digest = _hash(
        study,
        plan={"version": 1, "content": content},
        instrument=hash_content(study.config.to_data()),
        items=_hash_draft(
            counts_of(study).main, tuple(system.name for system in study.systems.all())
        ),
        settings={name: getattr(study, name) for name in _SETTINGS},
    )
    return f"evalsite-plan {FORMAT} {study.pk} {digest} version=1"


@lru_cache(maxsize=64)
def _hash_draft(items: MainItems, _names: tuple[str, ...]) -> str:
    """Hash the items of a draft; kept while neither they nor the names of systems change."""
    return _hash_items(Study(pk=items.study_id), now(), {}, {})


def _hash(
    study: Study, *, plan: dict[str, Any], instrument: str, items: str, settings: dict[str, Any]
) -> str:
    data = {
        "format": FORMAT,
        "study": str(study.pk),
        "plan": plan,
        "instrument": instrument,
        "items": items,
        **settings,
    }
    return sha256(_write_canonical(data)).hexdigest()


def _write_canonical(data: Any) -> bytes:
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode()


def _hash_items(
    study: Study,
    at: datetime,
    former_names: Mapping[int, str],
    former_texts: Mapping[tuple[int, int | None], str],
) -> str:
    """Hash the items that were there, in order of key: a line of JSON for each.

    With the names and texts of that moment, whatever was renamed, corrected or withdrawn since.
    """
    items = Item.objects.planned().filter(study=study, batch__uploaded_at__lte=at)
    digest = sha256()
    for page in _list_pages(items.only("key", "inputs")):
        outputs: dict[int, list[tuple[str, str]]] = {}
        texts = Output.objects.filter(item__in=page).order_by("item_id", "position")
        columns = ("item_id", "position", "system_id", "system__name", "text")
        for item_id, position, system_id, name, text in texts.values_list(*columns):
            name = former_names.get(system_id, name)
            text = former_texts.get((item_id, position), text)
            outputs.setdefault(item_id, []).append((name, text))
        for item in page:
            line = _write_canonical([item.key, item.inputs, outputs.get(item.pk, [])])
            digest.update(line + b"\n")
    return digest.hexdigest()


def _list_pages(items: QuerySet[Item]) -> Iterator[list[Item]]:
    """Yield the items in order of key, page by page; databases sort texts in different ways."""
    first = list(items[: _PAGE + 1])
    if len(first) <= _PAGE:
        yield sorted(first, key=lambda item: item.key)
        return
    ids = [pk for _key, pk in sorted(items.values_list("key", "pk"))]
    for start in range(0, len(ids), _PAGE):
        rows = items.in_bulk(ids[start : start + _PAGE])
        yield [rows[pk] for pk in ids[start : start + _PAGE]]


def commit_plan(study: Study, version: AnalysisPlanVersion | None = None) -> None:
    """Keep the hash of a version of the plan; without one, of the version that launch froze."""
    version = version or study.plan_versions.get(number=1)
    version.commitment = hash_plan(
        study, number=version.number, content=version.content, at=version.frozen_at
    )
    version.save(update_fields=["commitment"])


def write_line(version: AnalysisPlanVersion) -> str:
    """Return the line to publish; "" before the launch is done."""
    if not version.commitment:
        return ""
    return make_line(version.study_id, version.commitment, version.number, version.frozen_at)


def list_lines(study: Study) -> list[str]:
    """Return the line of each version of the plan, the first first."""
    return list(filter(None, map(write_line, study.plan_versions.order_by("number"))))


def make_line(study_id: Any, digest: str, number: int, at: datetime) -> str:
    """Return the line of a hash: evalsite-plan 1 STUDY HASH version=N at=TIME."""
    moment = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"evalsite-plan {FORMAT} {study_id} {digest} version={number} at={moment}"


def describe_versions(study: Study) -> list[dict[str, Any]]:
    """Return what a check of the plan's line needs of each version, as plain data.

    `changed`: the parts that differ from the version before.
    """
    answers = Annotation.objects.counted().filter(study=study)
    first = answers.aggregate(at=Min("submitted_at"))["at"]
    described, before = [], dict[str, Any]()
    for version in study.plan_versions.order_by("number"):
        content = version.content
        parts = sorted(content.keys() | before.keys())
        described.append(
            {
                "number": version.number,
                "sha256": version.commitment,
                "frozen_at": version.frozen_at.isoformat(),
                "first_answer_at": first and first.isoformat(),
                "changed": [name for name in parts if content.get(name) != before.get(name)],
            }
        )
        before = content
    return described
