"""What a check found, kept beside the upload as JSON lines: no file is parsed twice for it."""

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from django.db.models import Max

from evalsite import __version__
from evalsite.imports.core import Checked, Importer
from evalsite.imports.models import Upload
from evalsite.studies.models import Batch, Study


def find_basis(upload: Upload) -> str:
    """Return a hash of all that a check of this file depends on: it holds while that is equal."""
    parts: list[Any] = [__version__, upload.sha256, upload.mapping.model_dump(mode="json")]
    if upload.study_id is not None:
        study = Study.objects.get(pk=upload.study_id)
        batches = Batch.objects.filter(study=study).order_by("pk")
        parts += [
            study.config.model_dump_json(),
            [study.seed, study.state, study.groups, study.item_order, study.checks_per_person],
            [[str(pk), rows] for pk, rows in batches.values_list("pk", "rows")],
            study.changes.aggregate(last=Max("pk"))["last"],
            list(study.systems.values_list("name", flat=True)),
        ]
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def keep_check(upload: Upload, importer: Importer, checked: Checked, basis: str) -> None:
    """Write the checked values beside the file, if they may be imported."""
    head = importer.write_head(checked) if checked.is_importable else None
    if head is None:
        upload.checked_path.unlink(missing_ok=True)
        return
    part = upload.checked_path.with_suffix(".part")
    with part.open("w", encoding="ascii") as file:
        file.write(f"{json.dumps({'basis': basis, **head})}\n")
        file.writelines(f"{json.dumps(row)}\n" for row in importer.write_rows(checked))
    # replaced, not written over: an import may be reading the earlier one
    part.replace(upload.checked_path)


def find_kept_check(upload: Upload, importer: Importer) -> Any | None:
    """Return the checked values that are kept, if nothing that they depend on has changed."""
    try:
        with upload.checked_path.open(encoding="ascii") as file:
            head = json.loads(file.readline())
    except FileNotFoundError:
        return None
    if head["basis"] != find_basis(upload):
        return None

    def read_rows() -> Iterator[Any]:
        with upload.checked_path.open(encoding="ascii") as file:
            file.readline()
            yield from map(json.loads, file)

    return importer.read_kept(head, read_rows)
