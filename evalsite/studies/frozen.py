"""What was frozen with the versions of studies, read once in each process."""

from functools import lru_cache
from typing import Any

from django.apps import apps

from evalsite.protocol import Protocol
from evalsite.protocol.version_0_1 import read_stored


# safe to keep for the life of the process: a version is never changed
@lru_cache(maxsize=256)
def read_content(version_id: int) -> dict[str, Any]:
    """Return the content of a version: texts, settings, options and instrument."""
    versions = apps.get_model("studies", "StudyVersion").objects
    content: dict[str, Any] = versions.values_list("content", flat=True).get(pk=version_id)
    return content


@lru_cache(maxsize=256)
def read_instrument(version_id: int, protocol: str) -> Protocol:
    """Return the instrument that this version froze."""
    return read_stored(read_content(version_id)["instrument"], protocol)


def forget_versions() -> None:
    """Read every version again, as after a change of the database that the site reads."""
    read_content.cache_clear()
    read_instrument.cache_clear()
