"""What was frozen with the versions of studies, read once in each process."""

from functools import lru_cache
from typing import Any
from uuid import UUID

from django.apps import apps
from django.core.exceptions import ValidationError

from evalsite.instruments.bundle_format_2 import read_stored
from evalsite.instruments.checks import NOT_YET, check_instrument
from evalsite.instruments.schema import Instrument
from evalsite.instruments.texts import translate


# Safe to keep for the life of the process, for a version is never changed. By study as well: what a
# transaction made that failed gives its number back.
@lru_cache(maxsize=256)
def read_content(study_id: UUID, version_id: int) -> dict[str, Any]:
    """Return the content of a version: texts, settings, options and instrument."""
    versions = apps.get_model("studies", "StudyVersion").objects.filter(study=study_id)
    content: dict[str, Any] = versions.values_list("content", flat=True).get(pk=version_id)
    return content


@lru_cache(maxsize=256)
def read_instrument(study_id: UUID, version_id: int, protocol: str) -> Instrument:
    """Return the instrument that this version of a study froze."""
    return read_stored(read_content(study_id, version_id)["instrument"], protocol)


@lru_cache(maxsize=256)
def read_built(version_id: UUID, language: str) -> Instrument:
    """Return a version of an instrument, in this language where it is translated.

    ValidationError (`not_yet`): it is valid, but this version of the site can't ask it.
    """
    versions = apps.get_model("studies", "InstrumentVersion").objects
    content = versions.values_list("content", flat=True).get(pk=version_id)
    faults = [str(fault) for fault in check_instrument(content) if fault.code == NOT_YET]
    if faults:
        raise ValidationError(
            f"No study can be made of this instrument yet: {'; '.join(faults)}.", code=NOT_YET
        )
    return Instrument.model_validate(translate(content, language))


def forget_versions() -> None:
    """Read every version again, as after a change of the database that the site reads."""
    read_content.cache_clear()
    read_instrument.cache_clear()
    read_built.cache_clear()
