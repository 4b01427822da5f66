"""Files on the server's own disk, imported without a page."""

from collections.abc import Mapping
from hashlib import file_digest
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError

from evalsite.data.tables.faults import Refused
from evalsite.data.tables.outputs import CHOSEN
from evalsite.data.tables.path_columns import PathColumns
from evalsite.data.tables.reader import AS_TABLE, open_table
from evalsite.data.tables.table import Limits, peek
from evalsite.imports.core import Importer, Source, check_source, list_known
from evalsite.imports.target import Target, aim_at_study
from evalsite.studies.models import Study


def read_header(
    importer: Importer,
    path: Path,
    *,
    target: Target,
    file_name: str,
    limits: Limits | None = None,
    options: Mapping[str, Any] | None = None,
    asked: Mapping[str, str] | None = None,
) -> list[str]:
    """Return the names of a file's columns and its paths; nothing if it can't be read.

    `asked` are fields by path, which the first rows need not have.
    """
    options = {**(options or {}), CHOSEN: asked or {}, AS_TABLE: not importer.takes_outputs}
    try:
        with path.open("rb") as source:
            table = open_table(source, limits=limits, options=options, file_name=file_name)
            PathColumns(table, peek(table), asked or {}, list_known(importer, target, asked or {}))
            return [*(name.strip() for name in table.header), *table.sources]
    except Refused:
        return []


def import_path(
    importer: Importer,
    *,
    study: Study,
    path: Path,
    by: Any,
    mapping: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """Import the file at this path into the study. Raise ValidationError with its faults."""
    sha256 = hash_file(path)
    if same := importer.find_same(study, sha256):
        return same
    with path.open("rb") as opened:
        checked = check_source(
            importer,
            opened,
            target=aim_at_study(study),
            mapping=mapping,
            options=options,
            file_name=name_on_disk(path),
        )
    if checked.faults:
        raise ValidationError([str(fault) for fault in checked.faults])
    source = Source(study=study, file_name=path.name, sha256=sha256, options=options or {})
    return importer.store(checked, source, by=by)


def name_on_disk(path: Path) -> str:
    """Return the name of a file behind that of its folder, as tools name systems by either."""
    return "/".join(path.resolve().parts[-2:]).lstrip("/")


def hash_file(path: Path) -> str:
    with path.open("rb") as source:
        return file_digest(source, "sha256").hexdigest()
