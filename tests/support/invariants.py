"""What must hold of every study's rows at every moment."""

from evalsite.data import fsck
from evalsite.data.fsck import records
from evalsite.studies.models import Study

# Tests put studies into states of their own; what people gave must be right in all of them.
CHECKS = tuple(check for check in (*fsck.CHECKS, *fsck.SITE_CHECKS) if check not in records.CHECKS)


def find_breaches(study: Study) -> list[str]:
    """Every promise about counts and answers that these rows break, in words."""
    fresh = Study.objects.select_related("version").get(pk=study.pk)
    return [str(breach) for breach in fsck.run_checks(CHECKS, fresh)]


def check_invariants(study: Study) -> None:
    """AssertionError with every breach, if there is one."""
    breaches = find_breaches(study)
    assert not breaches, "\n".join(breaches)
