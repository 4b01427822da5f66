"""Restoring a backup into an empty site, and trying whether it could be."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from evalsite.core.audit.models import AuditEntry
from evalsite.data.fsck import find_breaches, find_breaches_between_studies
from evalsite.lib.database_state import (
    are_older,
    describe_migrations,
    find_damage,
    find_unknown_migrations,
)
from evalsite.operations.archive import FILES, Manifest, describe_os_error, read_archive
from evalsite.operations.backup import check_secret_key
from evalsite.operations.database_dump import (
    NAMES,
    count_rows,
    drop_tables,
    load_dump,
    loaded_aside,
    read_major_version,
)
from evalsite.operations.site_files import list_required_files, place_files, refuse_other_files
from evalsite.studies.models import Study

_DATABASES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


@dataclass(kw_only=True)
class CheckedBackup:
    """What was found when a backup was loaded."""

    manifest: Manifest
    # the copy isn't what the backup says it is
    faults: list[str] = field(default_factory=list)
    # the site was like this when the backup was made
    remarks: list[str] = field(default_factory=list)

    @property
    def has_other_secret_key(self) -> bool:
        return self.manifest.secret_key_check != check_secret_key()


@dataclass(frozen=True, kw_only=True)
class _Unpacked:
    folder: Path
    manifest: Manifest

    @property
    def dump(self) -> Path:
        return self.folder / NAMES[self.manifest.database]


def check_backup(source: Path) -> CheckedBackup:
    """Load a backup into a throw-away database, and return what is wrong with it."""
    with _unpack(source) as backup, loaded_aside(backup.dump):
        return _check(backup.manifest)


def restore_backup(source: Path) -> CheckedBackup:
    """Restore a backup into this site, which must be empty: all of it, or nothing."""
    settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
    _refuse_used_site()
    refuse_other_files()
    with _unpack(source) as backup:
        _refuse_other_tables(backup.manifest)
        if connection.vendor == "sqlite":
            with loaded_aside(backup.dump):
                checked = _check(backup.manifest)
            _refuse_faults(checked)
        with _placed_files(backup):
            load_dump(backup.dump)
            if connection.vendor != "sqlite":
                checked = _check_loaded(backup.manifest)
    AuditEntry.objects.record(
        "backup restored",
        by="the command line",
        file=source.name,
        made_at=backup.manifest.made_at,
        version=backup.manifest.evalsite_version,
    )
    return checked


@contextmanager
def _unpack(source: Path) -> Iterator[_Unpacked]:
    """Return the parts of a backup that this site can load, in a folder that goes afterwards."""
    settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=settings.DATA_DIR, prefix="tmp-restore-") as name:
        manifest = read_archive(source, Path(name))
        _refuse_other_kind(manifest)
        _refuse_other_version(manifest)
        yield _Unpacked(folder=Path(name), manifest=manifest)


def _refuse_other_kind(manifest: Manifest) -> None:
    if manifest.database != connection.vendor:
        theirs = _DATABASES.get(manifest.database, manifest.database)
        raise ValidationError(
            f"This backup was made on {theirs}, and this site uses {_DATABASES[connection.vendor]}."
            f" Restore it into a site on {theirs} (EVALSITE_DATABASE). Single studies move between "
            "databases as bundles (export_bundle, import_bundle).",
            code="other_database",
        )


def _refuse_other_version(manifest: Manifest) -> None:
    unknown = find_unknown_migrations((label, name) for label, name in manifest.migrations)
    if are_older(unknown):
        raise ValidationError(
            f"This backup was made by an older Evalsite ({manifest.evalsite_version}), before the "
            "first release, and this version can't upgrade it. Restore it with that version, and "
            "move its studies as bundles (export_bundle, import_bundle).",
            code="older",
        )
    if unknown:
        raise ValidationError(
            f"This backup was made by a newer Evalsite ({manifest.evalsite_version}): this code "
            f"doesn't have its migrations {describe_migrations(unknown)}. Install that version and "
            "restore the backup with it.",
            code="newer",
        )
    if connection.vendor == "postgresql":
        major = read_major_version()
        if int(manifest.database_version) > major:
            raise ValidationError(
                f"This backup was made on PostgreSQL {manifest.database_version}, and this server "
                f"is {major}. Restore it on PostgreSQL {manifest.database_version} or later.",
                code="newer",
            )


def _refuse_used_site() -> None:
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
    counts = {
        model._meta.verbose_name_plural: model._default_manager.count()
        for model in (Study, get_user_model())
        if model._meta.db_table in tables
    }
    if any(counts.values()):
        phrases = ", ".join(f"{name}: {count:,}" for name, count in counts.items())
        raise ValidationError(
            f"This site isn't empty ({phrases}), and a backup replaces everything. "
            "Restore into a new "
            "database and data folder (EVALSITE_DATABASE, EVALSITE_DATA_DIR), and let the site use "
            "those.",
            code="not_empty",
        )


def _refuse_other_tables(manifest: Manifest) -> None:
    tables = set(connection.introspection.table_names())
    ours = {
        *connection.introspection.django_table_names(),
        MigrationRecorder.Migration._meta.db_table,
    }
    if foreign := sorted(tables - ours - set(manifest.rows)):
        raise ValidationError(
            f"The database has tables of other software, such as {foreign[0]}. A backup replaces "
            "the whole database: restore into an empty one.",
            code="not_empty",
        )


def _refuse_faults(checked: CheckedBackup) -> None:
    if checked.faults:
        raise ValidationError([ValidationError(fault, code="damaged") for fault in checked.faults])


@contextmanager
def _placed_files(backup: _Unpacked) -> Iterator[None]:
    """Put the backup's files in place, and remove them if the block fails."""
    placed: list[Path] = []
    try:
        place_files(backup.folder / FILES, backup.manifest.folders, placed)
        yield
    except OSError as error:
        _remove(placed)
        raise ValidationError(
            f"The backup can't be restored: {describe_os_error(error)}.", code="unwritable"
        ) from error
    except BaseException:
        _remove(placed)
        raise


def _remove(paths: list[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _check_loaded(manifest: Manifest) -> CheckedBackup:
    """Examine what was loaded into the site's own database, and empty it again if it is wrong."""
    try:
        checked = _check(manifest)
        _refuse_faults(checked)
    except BaseException:
        drop_tables()
        # the empty site that was there before
        call_command("migrate", verbosity=0, interactive=False)
        raise
    return checked


def _check(manifest: Manifest) -> CheckedBackup:
    """Examine the loaded copy, and bring it to the tables of this code."""
    checked = CheckedBackup(manifest=manifest)
    checked.faults += [f"SQLite reports: {line}" for line in find_damage(connection)]
    counted = count_rows(connection)
    for table in sorted({*counted, *manifest.rows}):
        loaded, expected = counted.get(table), manifest.rows.get(table)
        if loaded != expected:
            checked.faults.append(f"Rows of {table}: {loaded} instead of {expected}.")
    if checked.faults:
        return checked
    call_command("migrate", verbosity=0, interactive=False)
    kept = {*manifest.folders, *(name.removeprefix(f"{FILES}/") for name in manifest.parts)}
    checked.remarks += [
        f"A row needs the file {name}, which is missing."
        for name in list_required_files()
        if name not in kept
    ]
    checked.remarks += _run_fsck()
    return checked


def _run_fsck() -> list[str]:
    lines = []
    for study in Study.objects.select_related("version").order_by("created_at"):
        try:
            breaches = find_breaches(study, is_alone=False)
        except LookupError as error:
            lines.append(f"{study.title} ({study.pk}): {error}")
            continue
        lines += [f"{study.title} ({study.pk}): {breach}" for breach in breaches]
    return lines + [f"All studies: {breach}" for breach in find_breaches_between_studies()]
