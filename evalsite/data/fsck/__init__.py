"""What must hold for every study's rows at every moment, and how breaches are found."""

from evalsite.data.fsck import answers, highlights, places, records
from evalsite.data.fsck.findings import Breach, Check, is_in_progress, run_checks
from evalsite.studies.models import Study

__all__ = [
    "CHECKS",
    "SITE_CHECKS",
    "Breach",
    "Check",
    "find_breaches",
    "find_breaches_between_studies",
    "is_in_progress",
    "run_checks",
]

CHECKS: tuple[Check, ...] = (
    *records.CHECKS,
    *places.CHECKS,
    *answers.CHECKS,
    *highlights.CHECKS,
)
# run once for all studies if none is named
SITE_CHECKS: tuple[Check, ...] = records.SITE_CHECKS


def find_breaches(study: Study, *, is_alone: bool = True) -> list[Breach]:
    """Return every promise about its rows that this study breaks; none is the only good answer.

    `is_alone`: what its rows share with other studies is looked at too.
    """
    return run_checks((*CHECKS, *SITE_CHECKS) if is_alone else CHECKS, study)


def find_breaches_between_studies() -> list[Breach]:
    """Return rows of any study that belong to another one as well."""
    return run_checks(SITE_CHECKS, None)
