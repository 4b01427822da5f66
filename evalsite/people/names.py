"""People who are invited by name: what readers of a study's pages may call them."""

from django.db.models import F
from django.http import HttpRequest

from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import has_role, may_see_identities


def name_people(request: HttpRequest, study: Study) -> dict[str, str]:
    """Return the names of invited people by pseudonym; none for those who mayn't see identities."""
    if not may_see_identities(request, study):
        return {}
    is_owner = has_role(request, study, Membership.Role.OWNER)
    people = study.experts.exclude(link__participant=None).annotate(
        pseudonym=F("link__participant__pseudonym")
    )
    return {person.pseudonym: person.describe(with_address=is_owner) for person in people}
