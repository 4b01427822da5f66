"""Whom and what an address names to be left out of results."""

from dataclasses import dataclass, field
from uuid import UUID

from django.http import Http404, QueryDict

from evalsite.annotation.models import Annotation
from evalsite.participants.models import Participant
from evalsite.quality.exclusions import excludable_answers
from evalsite.quality.models import Exclusion
from evalsite.results.models import Report
from evalsite.results.people.answers import with_items
from evalsite.results.people.flags import Raised, list_raised
from evalsite.studies.models import Study

# more on one page than anybody looks at, and fewer fields than a post may have
MOST = 500


@dataclass(frozen=True, kw_only=True)
class Offered:
    """Those that the address names, less what is left out already."""

    people: list[Participant] = field(default_factory=list)
    answers: list[Annotation] = field(default_factory=list)
    rule: str = ""  # the flag that the address asks for
    raised: Raised | None = None  # that flag, if the newest report raised it
    is_cut: bool = False  # there are more than a page holds
    already: int = 0


def find_offered(study: Study, asked: QueryDict, report: Report | None) -> Offered:
    """Whom the address names: by pseudonym, by a flag of the report, or single answers."""
    people, answers = read_chosen(study, asked)
    rule = asked.get("rule", "")
    raised = next((one for one in list_raised(report) if one.code == rule), None)
    if raised is not None:
        people = _find_people(study, set(raised.pseudonyms))
    standing = Exclusion.objects.standing().filter(study=study)
    gone_people = set(standing.values_list("participant", flat=True))
    gone_answers = set(standing.values_list("annotation", flat=True))
    open_people = [one for one in people if one.pk not in gone_people]
    open_answers = [one for one in answers if one.pk not in gone_answers]
    return Offered(
        people=open_people[:MOST],
        answers=open_answers[:MOST],
        rule=rule,
        raised=raised,
        is_cut=len(open_people) > MOST or len(open_answers) > MOST,
        already=len(people) - len(open_people) + len(answers) - len(open_answers),
    )


def read_chosen(study: Study, sent: QueryDict) -> tuple[list[Participant], list[Annotation]]:
    """Those of the study that were named; Http404 where one of them is not of it."""
    names = set(sent.getlist("participant"))
    try:
        keys = {UUID(key) for key in sent.getlist("annotation")}
    except ValueError:
        raise Http404("No such answer.") from None
    people = _find_people(study, names) if names else []
    answers = list(with_items(excludable_answers(study).filter(key__in=keys))) if keys else []
    if len(people) < len(names) or len(answers) < len(keys):
        raise Http404("No such participant or answer.")
    return people, answers


def _find_people(study: Study, names: set[str]) -> list[Participant]:
    # no database holds a NUL in a text, and some refuse to look for one
    known = [name for name in names if "\0" not in name]
    return list(Participant.objects.filter(study=study, pseudonym__in=known).order_by("pk"))
