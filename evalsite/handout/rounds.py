"""Places of a round of recruiting: who has one, counted from rows, and whether one is free."""

from datetime import timedelta
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from evalsite.handout.models import Annotation, Slot
from evalsite.lib.clock import now
from evalsite.people.models import ItemSet, Participant, Recruitment, Visit
from evalsite.people.platforms import Outcome
from evalsite.people.visits import find_visit, is_over
from evalsite.studies.models import Study


def list_taken(recruitment: Recruitment, study: Study) -> QuerySet[Visit]:
    """Return the visits of this round that have a place."""
    return keep_taken(Visit.objects.filter(recruitment=recruitment), study)


def keep_taken(visits: QuerySet[Visit], study: Study) -> QuerySet[Visit]:
    """Return those of the visits that have a place: finished, or at work.

    People at work hold an item, or saved an answer not longer ago than a lease lasts.
    """
    mine = {"participant": OuterRef("participant")}
    holds = Exists(Slot.objects.leased().filter(**mine, lease_until__gt=now()))
    since = now() - timedelta(minutes=study.lease_minutes)
    saved = Exists(Annotation.objects.filter(**mine, submitted_at__gt=since))
    is_at_work = Q(outcome="") & (holds | saved)
    return visits.filter(
        Q(outcome=Outcome.COMPLETED) | is_at_work,
        item_set__isnull=False,
        # the platform sends somebody else in their place
        reported="",
    )


def count_taken(rounds: QuerySet[Recruitment], study: Study) -> QuerySet[Any]:
    """Return these rounds of the study with how many places of each are taken."""
    visits = keep_taken(Visit.objects.filter(recruitment=OuterRef("pk")), study).order_by()
    counted = visits.values("recruitment").annotate(n=Count("pk")).values("n")
    return rounds.annotate(taken=Coalesce(Subquery(counted), 0))


def has_place_left(recruitment: Recruitment, study: Study, *, but: Visit | None = None) -> bool:
    """Return whether the round has a place for one more, or for this visit."""
    if recruitment.places is None:
        return True
    taken = list_taken(recruitment, study)
    if but is not None:
        taken = taken.exclude(pk=but.pk)
    return taken.count() < recruitment.places


class Place:
    """The place that a claim by this person would take in the round they came by, if any."""

    def __init__(self, participant: Participant, study: Study) -> None:
        self._visit, self._study = find_visit(participant), study

    def is_to_be_had(self, open_set: ItemSet | None) -> bool:
        """Return whether this visit may lead to work, and has a place or finds one.

        From here to the end of the transaction nobody else takes a place of the round. People who
        have answered something keep what they hold, whatever the round's places.
        """
        if self._visit is None:
            return True
        if is_over(self._visit):
            return False
        recruitment = self._visit.recruitment
        is_earned = open_set is not None and open_set.reserved_until is None
        if recruitment.places is None or is_earned:
            return True
        recruitment = Recruitment.objects.select_for_update(no_key=True).get(pk=recruitment.pk)
        return has_place_left(recruitment, self._study, but=self._visit)

    def take(self, item_set: ItemSet) -> None:
        """Let the visit be the one that this set was dealt for."""
        visit = self._visit
        if visit is None or visit.outcome or visit.item_set_id == item_set.pk:
            return
        Visit.objects.filter(item_set=item_set).exclude(pk=visit.pk).update(item_set=None)
        Visit.objects.filter(pk=visit.pk).update(item_set=item_set)
