"""Files on the server's own disk, imported without a page."""

from hashlib import file_digest
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError

from evalsite.data.tables.appended import TAKES_ALIKE
from evalsite.data.tables.faults import Refused
from evalsite.data.tables.mapping import FileMapping
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
    mapping: FileMapping | None = None,
) -> list[str]:
    """Return the names of a file's columns and its paths; nothing if it can't be read.

    Those that are mapped need not be in the first rows.
    """
    mapping = mapping or FileMapping()
    asked = mapping.fields
    options = {
        **mapping.options,
        CHOSEN: asked,
        AS_TABLE: not importer.takes_outputs,
        TAKES_ALIKE: importer.takes_alike,
    }
    try:
        with path.open("rb") as source:
            table = open_table(source, limits=limits, options=options, file_name=file_name)
            PathColumns(table, peek(table), asked, list_known(importer, target, asked))
            return [*(name.strip() for name in table.header), *table.sources]
    except Refused:
        return []


def import_path(
    importer: Importer,
    *,
    study: Study,
    path: Path,
    by: Any,
    mapping: FileMapping | None = None,
) -> Any:
    """Import the file at this path into the study. Raise ValidationError with its faults."""
    sha256, mapping = hash_file(path), mapping or FileMapping()
    if same := importer.find_same(study, sha256):
        return same
    with path.open("rb") as opened:
        checked = check_source(
            importer,
            opened,
            target=aim_at_study(study),
            mapping=mapping,
            file_name=name_on_disk(path),
        )
    if checked.faults:
        raise ValidationError([str(fault) for fault in checked.faults])
    source = Source(study=study, file_name=path.name, sha256=sha256, options=mapping.options)
    return importer.store(checked, source, by=by)


def name_on_disk(path: Path) -> str:
    """Return the name of a file behind that of its folder, as tools name systems by either."""
    return "/".join(path.resolve().parts[-2:]).lstrip("/")


def hash_file(path: Path) -> str:
    with path.open("rb") as source:
        return file_digest(source, "sha256").hexdigest()
