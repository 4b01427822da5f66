"""Files on the server's own disk, imported without a page."""

from collections.abc import Collection, Mapping
from hashlib import file_digest
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError

from evalsite.data.tables.faults import Refused
from evalsite.data.tables.nested import Nested
from evalsite.data.tables.reader import open_table
from evalsite.data.tables.table import Limits, peek
from evalsite.imports.core import Importer, Source, check_source
from evalsite.studies.models import Study


def read_header(
    path: Path,
    limits: Limits | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    importer: Importer | None = None,
    asked: Collection[str] = (),
) -> list[str]:
    """Return the names of a file's columns, and for an importer that takes them its paths.

    `asked` are paths that the first rows need not have. None if the file can't be read.
    """
    try:
        with path.open("rb") as source:
            table = open_table(source, limits=limits, options=options)
            if importer is not None and importer.takes_nested:
                Nested(table, peek(table), asked)
            return [name.strip() for name in table.header]
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
        checked = check_source(importer, opened, study=study, mapping=mapping, options=options)
    if checked.faults:
        raise ValidationError([str(fault) for fault in checked.faults])
    source = Source(study=study, file_name=path.name, sha256=sha256, options=options or {})
    return importer.store(checked, source, by=by)


def hash_file(path: Path) -> str:
    with path.open("rb") as source:
        return file_digest(source, "sha256").hexdigest()
