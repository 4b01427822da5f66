"""What each set is due, and what a researcher decided about it.

A set is due its reward once it is finished, on time or late. A set that somebody left, or that was
returned, is due pay for each answered item. Nothing is paid from here.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import ROUND_UP, Decimal
from statistics import median
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from evalsite.core.audit.models import AuditEntry
from evalsite.decisions.check_results import judge_answers, judge_checks
from evalsite.decisions.models import Approval
from evalsite.handout.models import Annotation, Slot
from evalsite.lib.clock import now
from evalsite.participation.feedback import explain_answers
from evalsite.participation.held_items import count_answers_and_reports
from evalsite.participation.screens import answered_screen
from evalsite.people.models import REPORTED, ItemSet, Origin, Participant, Recruitment, Visit
from evalsite.people.platforms import Outcome, Reason
from evalsite.studies.models import Item, Study
from evalsite.studies.summary_lines import minutes_per_set

State = Approval.State
_PENNY = Decimal("0.01")
LONGEST_TEXT = 2000
# as many sets as the median time is taken of
_LATEST = 1000


def list_payable(study: Study) -> QuerySet[ItemSet]:
    """Return the sets that something is due for: finished, or left for good with an answer."""
    mine = {"participant": OuterRef("participant")}
    holds = Exists(Slot.objects.leased().filter(**mine, lease_until__gt=now()))
    left = Q(participant__stopped_at__isnull=False) | Q(visit__reported__in=REPORTED)
    left |= Q(visit__outcome=Outcome.COMPLETED)
    if study.has_ended:
        left |= ~Q(holds)
    answered = Exists(Annotation.objects.filter(item_set=OuterRef("pk")))
    is_due = Q(finished_at__isnull=False) | (left & (answered | Q(visit__outcome="completed")))
    sets = ItemSet.objects.filter(is_due, study=study, participant__is_pilot=False)
    return sets.filter(participant__origin=Origin.OWN).select_related("approval", "participant")


def filter_state(sets: QuerySet[ItemSet], state: str) -> QuerySet[ItemSet]:
    if state == State.WAITING:
        return sets.filter(Q(approval__isnull=True) | Q(approval__state=state))
    return sets.filter(approval__state=state)


def count_states(study: Study) -> dict[str, int]:
    """Return how many sets are in each state."""
    rows = list_payable(study).order_by().values_list("approval__state")
    counts = dict.fromkeys(State.values, 0)
    for state, sets in rows.annotate(sets=Count("pk")):
        counts[state or State.WAITING] += sets
    return counts


@dataclass(frozen=True)
class Checks:
    """How many checks of one kind a set had, and how many of them failed."""

    failed: int = 0
    asked: int = 0

    @property
    def passed(self) -> int:
        return self.asked - self.failed


@dataclass(frozen=True, kw_only=True)
class PaySet:
    """A set with everything that its pay depends on."""

    item_set: ItemSet
    recruitment: Recruitment
    # the visit that brought it, or the last one of its person
    visit: Visit | None
    approval: Approval
    answered: int
    # of those, how many were skipped for what they may contain
    skipped: int = 0
    attention: Checks = Checks()
    gold: Checks = Checks()
    # whether its person reported more items of the study than they answered
    is_mostly_reports: bool = False

    @property
    def state(self) -> str:
        return self.approval.state

    @property
    def is_own_visit(self) -> bool:
        """Return whether one submission on the platform stands for this set."""
        return self.visit is not None and self.visit.item_set_id == self.item_set.pk

    @property
    def is_full(self) -> bool:
        """Return whether the whole reward is due: it was finished, or ended for our reasons."""
        is_completed = bool(self.visit and self.visit.outcome == Outcome.COMPLETED)
        return self.item_set.finished_at is not None or (self.is_own_visit and is_completed)

    @property
    def amount(self) -> Decimal:
        """Return what is due for the set now: decided amounts don't change any more."""
        is_open = self.state in (State.WAITING, State.REVIEW)
        return self.worth if is_open else self.approval.amount

    @property
    def worth(self) -> Decimal:
        """Return what the set is due if it is approved."""
        pay = self.recruitment.study.pay_per_set or Decimal(0)
        if self.is_full:
            return pay
        part = pay * self.answered / max(1, self.item_set.total)
        return min(pay, part.quantize(_PENNY, rounding=ROUND_UP))

    @property
    def needs_a_look(self) -> bool:
        """Return whether more than half of the set was skipped; pay stays all the same."""
        return 2 * self.skipped > self.item_set.total

    @property
    def minutes(self) -> float | None:
        """Return how long the set took, from Start on the visit that it was dealt for."""
        if self.item_set.finished_at is None:
            return None
        began = self.item_set.created_at
        if self.visit is not None and self.is_own_visit:
            began = min(began, self.visit.arrived_at)
        return (self.item_set.finished_at - began).total_seconds() / 60

    @property
    def is_submission(self) -> bool:
        """Return whether the platform pays it, once its submission is approved there."""
        return (
            self.is_own_visit
            and self.recruitment.adapter.hands_back
            and self.visit is not None
            and self.visit.outcome == Outcome.COMPLETED
            and not self.visit.reported
        )

    @property
    def is_bonus(self) -> bool:
        """Return whether it can only be paid by a bonus line of the person's visit."""
        has_id = self.visit is not None and bool(self.visit.person_id)
        return self.recruitment.adapter.hands_back and has_id and not self.is_submission

    @property
    def bonus_by_hand(self) -> Decimal:
        """Return the bonus that is still to be paid and that no text for a platform names."""
        is_named = self.recruitment.adapter.hands_back and self.visit and self.visit.person_id
        if is_named or self.approval.bonus_marked_at is not None:
            return Decimal(0)
        return self.approval.bonus or Decimal(0)


def with_answer_counts(sets: QuerySet[ItemSet]) -> QuerySet[ItemSet]:
    """Return the sets with the numbers of their answers, which `describe_sets` then knows."""
    is_skipped = Q(annotations__outcome=Annotation.Outcome.SKIPPED)
    return sets.annotate(
        answered=Count("annotations"), skipped=Count("annotations", filter=is_skipped)
    )


def _count_answers(sets: Sequence[ItemSet]) -> dict[Any, tuple[int, int]]:
    """Return how many items of each set were answered, and how many of these were skipped."""
    if any(not hasattr(item_set, "answered") for item_set in sets):
        sets = list(
            with_answer_counts(ItemSet.objects.filter(pk__in=[item_set.pk for item_set in sets]))
        )
    return {item_set.pk: (item_set.answered, item_set.skipped) for item_set in sets}  # type: ignore[attr-defined]


def describe_sets(
    study: Study, sets: Iterable[ItemSet], rounds: Iterable[Recruitment] = ()
) -> list[PaySet]:
    """Return these sets with their visits, decisions and checks, in few queries.

    `rounds` are the study's, where they are at hand.
    """
    sets = list(sets)
    pks = [item_set.pk for item_set in sets]
    visits = _find_visits(study, sets)
    answers = _count_answers(sets)
    checks = count_checks_by_set(study, pks)
    open_link = next((recruitment for recruitment in rounds if not recruitment.number), None)
    if open_link is None and any(item_set.pk not in visits for item_set in sets):
        open_link = Recruitment.objects.open_link(study)
    people = (item_set.participant for item_set in sets)
    counts = count_answers_and_reports({person.pk for person in people if person.has_reported})
    mostly = {pk for pk, (answered, reported) in counts.items() if reported > answered}
    pay_sets = []
    for item_set in sets:
        visit = visits.get(item_set.pk)
        recruitment = visit.recruitment if visit else open_link
        assert recruitment is not None
        recruitment.study = study
        pay_sets.append(
            PaySet(
                item_set=item_set,
                recruitment=recruitment,
                visit=visit,
                approval=getattr(item_set, "approval", None)
                or Approval(study=study, item_set=item_set),
                answered=answers[item_set.pk][0],
                skipped=answers[item_set.pk][1],
                attention=checks.get((item_set.pk, Item.Kind.ATTENTION), Checks()),
                gold=checks.get((item_set.pk, Item.Kind.GOLD), Checks()),
                is_mostly_reports=item_set.participant_id in mostly,
            )
        )
    return pay_sets


def _find_visits(study: Study, sets: Sequence[ItemSet]) -> dict[Any, Visit]:
    """Return the visit of each set; of a further set, the last visit of its person before."""
    people = {item_set.participant_id for item_set in sets}
    visits = Visit.objects.filter(study=study, participant__in=people)
    by_set: dict[Any, Visit] = {}
    by_person: dict[int, list[Visit]] = {}
    for visit in visits.select_related("recruitment").order_by("arrived_at", "id"):
        by_person.setdefault(visit.participant_id, []).append(visit)
        if visit.item_set_id is not None:
            by_set[visit.item_set_id] = visit
    for item_set in sets:
        theirs = by_person.get(item_set.participant_id, [])
        if theirs and item_set.pk not in by_set:
            earlier = [visit for visit in theirs if visit.arrived_at <= item_set.created_at]
            by_set[item_set.pk] = (earlier or theirs)[-1]
    return by_set


def count_checks_by_set(study: Study, set_ids: Collection[Any]) -> dict[tuple[Any, str], Checks]:
    """Return the gold and the attention items of each set that were rated, apart."""
    answers = Annotation.objects.agreed().filter(item_set__in=set_ids)
    counts: dict[tuple[Any, str], Checks] = {}
    judged = judge_answers(study, answers, "item_set", "item__kind")
    for (item_set, kind), agrees in judged.values():
        before = counts.get((item_set, kind), Checks())
        failed = before.failed + (not agrees)
        counts[item_set, kind] = Checks(failed=failed, asked=before.asked + 1)
    return counts


def list_failed_checks(study: Study, item_set: ItemSet) -> list[tuple[int, str]]:
    """Return the place of each attention item that failed, and what would have been right."""
    answers = Annotation.objects.agreed().filter(item_set=item_set, item__kind=Item.Kind.ATTENTION)
    failed = [pk for pk, (_, agrees) in judge_checks(study, answers).items() if not agrees]
    rows = answers.filter(pk__in=failed).select_related("item").prefetch_related("ratings")
    sentences = []
    for annotation in rows:
        annotation.participant.study = study
        explained = explain_answers(answered_screen(annotation, study), annotation.list_rows())
        place = item_set.item_ids.index(annotation.item_id) + 1
        sentences += [(place, check.sentence) for check in explained if not check.is_met]
    return sorted(sentences)


def is_paid(study: Study) -> bool:
    """Return whether anyone was promised pay in this study."""
    return study.pay_per_set is not None


# --- the rate ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Rate:
    """What a study pays an hour: as promised, and at the median of what sets took."""

    promised: Decimal
    measured: Decimal
    promised_minutes: int
    minutes: float

    @property
    def is_low(self) -> bool:
        return self.measured < self.promised


def find_rate(study: Study) -> Rate | None:
    """Return the hourly pay of the study, once a set is finished; None without pay."""
    pay, minutes = study.pay_per_set, _find_median_minutes(study)
    if not pay or minutes is None:
        return None
    promised = minutes_per_set(study)
    return Rate(
        promised=pay * 60 / promised,
        measured=pay * 60 / Decimal(max(minutes, 0.1)),
        promised_minutes=promised,
        minutes=minutes,
    )


def _find_median_minutes(study: Study) -> float | None:
    """Return the median time of the latest finished sets; None: there are none."""
    finished = list_payable(study).filter(finished_at__isnull=False).order_by("-finished_at")
    rows = finished.values_list("created_at", "finished_at", "visit__arrived_at")[:_LATEST]
    times = [
        (end - min(began, came or began)).total_seconds() / 60
        for began, end, came in rows
        if end is not None
    ]
    return median(times) if times else None


# --- decisions ----------------------------------------------------------------------------------


def _lock(study: Study) -> None:
    """Decide about pay in one place at a time."""
    Study.objects.select_for_update(no_key=True).only("pk").get(pk=study.pk)


def _find_sets(study: Study, set_ids: Collection[Any], *states: str) -> list[PaySet]:
    sets = list_payable(study).filter(pk__in=set_ids)
    return [pay_set for pay_set in describe_sets(study, sets) if pay_set.state in states]


def _save(pay_set: PaySet, by: Any, **values: Any) -> None:
    approval = pay_set.approval
    for name, value in values.items():
        setattr(approval, name, value)
    approval.decided_by, approval.decided_at = by, now()
    approval.save()


@transaction.atomic
def approve_sets(*, study: Study, set_ids: Collection[Any], by: Any) -> int:
    """Approve what is waiting or rejected; return how many sets that are."""
    _lock(study)
    sets = _find_sets(study, set_ids, State.WAITING, State.REJECTED)
    for pay_set in sets:
        _save(pay_set, by, state=State.APPROVED, amount=pay_set.worth, reason="", message="")
    if sets:
        AuditEntry.objects.record("sets approved", by=by, study_id=study.pk, sets=len(sets))
    return len(sets)


@transaction.atomic
def reject_sets(
    *, study: Study, set_ids: Collection[Any], reason: str, message: str, by: Any
) -> int:
    """Reject what is waiting, for a reason that the platform accepts; return how many sets.

    ValidationError, and nothing is rejected, if it wouldn't accept one of them.
    """
    _lock(study)
    sets = _find_sets(study, set_ids, State.WAITING)
    for pay_set in sets:
        _refuse_unfair(pay_set, reason, message)
        checks = {
            "failed": pay_set.attention.failed,
            "asked": pay_set.attention.asked,
            "said": list_failed_checks(study, pay_set.item_set),
        }
        _save(
            pay_set,
            by,
            state=State.REJECTED,
            amount=Decimal(0),
            reason=reason,
            message=message,
            checks=checks,
        )
    if sets:
        AuditEntry.objects.record(
            "sets rejected", by=by, study_id=study.pk, sets=len(sets), reason=reason
        )
    return len(sets)


def find_reasons(sets: Sequence[PaySet]) -> list[Reason]:
    """Return the reasons that the platforms of all these sets accept."""
    if not sets:
        return []
    first, *rest = [pay_set.recruitment.adapter for pay_set in sets]
    keys = [{reason.key for reason in platform.reasons} for platform in rest]
    return [reason for reason in first.reasons if all(reason.key in known for known in keys)]


def _refuse_unfair(pay_set: PaySet, key: str, message: str) -> None:
    platform = pay_set.recruitment.adapter
    if not pay_set.is_full:
        raise ValidationError("Pay for single items can't be rejected.", code="by_item")
    reason = next((reason for reason in platform.reasons if reason.key == key), None)
    who = pay_set.item_set.participant.pseudonym
    if reason is None:
        raise ValidationError(
            f"{platform.label} accepts no rejection for this reason.", code="reason"
        )
    if len(message) < platform.least_message:
        raise ValidationError(
            f"Write {platform.least_message} characters or more: {platform.label} wants them, and "
            "the person reads them.",
            code="message",
        )
    minutes = minutes_per_set(pay_set.recruitment.study)
    problem = platform.check_rejection(reason, failed=pay_set.attention.failed, minutes=minutes)
    if problem:
        raise ValidationError(f"{who}, set {pay_set.item_set.number}: {problem}", code="unfair")


@transaction.atomic
def add_bonus(*, study: Study, set_ids: Collection[Any], amount: Decimal, by: Any) -> int:
    """Give each of these sets a bonus of this amount; return how many didn't have it.

    A bonus that is marked as paid stays as it is.
    """
    _lock(study)
    if amount <= 0:
        raise ValidationError("Enter an amount above 0.", code="amount")
    changed = 0
    for pay_set in _find_sets(study, set_ids, *State.values):
        if pay_set.approval.bonus_marked_at is None and pay_set.approval.bonus != amount:
            pay_set.approval.bonus = amount
            pay_set.approval.save()
            changed += 1
    if changed:
        AuditEntry.objects.record(
            "bonus added", by=by, study_id=study.pk, sets=changed, amount=str(amount)
        )
    return changed


@transaction.atomic
def mark_paid(
    *,
    study: Study,
    by: Any,
    set_ids: Collection[Any] = (),
    bonus_ids: Collection[Any] = (),
    visit_ids: Collection[int] = (),
) -> int:
    """Mark approved sets, bonuses of sets and of visits as paid; return how many weren't."""
    _lock(study)
    mine = Approval.objects.filter(study=study)
    moment = now()
    approved = mine.filter(item_set__in=set_ids, state=State.APPROVED)
    marked = approved.update(state=State.PAID, marked_at=moment)
    bonuses = mine.filter(item_set__in=bonus_ids, bonus__isnull=False, bonus_marked_at=None)
    marked += bonuses.update(bonus_marked_at=moment)
    visits = Visit.objects.filter(
        study=study, pk__in=visit_ids, bonus__isnull=False, bonus_marked_at=None
    )
    marked += visits.update(bonus_marked_at=moment)
    if marked:
        AuditEntry.objects.record("marked as paid", by=by, study_id=study.pk, rows=marked)
    return marked


@transaction.atomic
def mark_sets_paid(*, study: Study, set_ids: Collection[Any], by: Any) -> int:
    """Mark these sets as paid, with bonuses that no text for a platform names."""
    _lock(study)
    sets = [
        pay_set
        for pay_set in _find_sets(study, set_ids, State.APPROVED, State.PAID)
        if pay_set.state == State.APPROVED or pay_set.bonus_by_hand
    ]
    bonus_ids = [pay_set.item_set.pk for pay_set in sets if pay_set.bonus_by_hand]
    mark_paid(
        study=study, by=by, set_ids=[pay_set.item_set.pk for pay_set in sets], bonus_ids=bonus_ids
    )
    return len(sets)


@transaction.atomic
def unmark_paid(*, study: Study, set_ids: Collection[Any], by: Any) -> int:
    """Take back that these sets, and their bonuses, are marked as paid; return how many were."""
    _lock(study)
    paid = Approval.objects.filter(study=study, item_set__in=set_ids, state=State.PAID)
    unmarked = paid.update(state=State.APPROVED, marked_at=None, bonus_marked_at=None)
    if unmarked:
        AuditEntry.objects.record(
            "no longer marked as paid", by=by, study_id=study.pk, rows=unmarked
        )
    return unmarked


# --- reviews ------------------------------------------------------------------------------------


@transaction.atomic
def ask_for_review(*, participant: Participant, number: int, text: str) -> bool:
    """Pause a rejection until it is answered; False if there is none to pause."""
    _lock(participant.study)
    rejected = Approval.objects.filter(
        item_set__participant=participant,
        item_set__number=number,
        state=State.REJECTED,
        review_asked_at=None,
    )
    moment = now()
    asked = rejected.update(
        state=State.REVIEW,
        review_text=text,
        review_asked_at=moment,
        review_due_at=moment + timedelta(days=settings.REVIEW_DAYS),
    )
    if asked:
        AuditEntry.objects.record(
            "review asked for",
            by=None,
            study_id=participant.study_id,
            who=participant.pseudonym,
            number=number,
        )
    return bool(asked)


@transaction.atomic
def answer_review(*, study: Study, set_id: Any, is_approved: bool, answer: str, by: Any) -> bool:
    """Approve the set, or let the rejection stand; False if that was answered already."""
    _lock(study)
    for pay_set in _find_sets(study, [set_id], State.REVIEW):
        state = State.APPROVED if is_approved else State.REJECTED
        amount = pay_set.worth if is_approved else Decimal(0)
        _save(pay_set, by, state=state, amount=amount, answer=answer, answered_at=now())
        AuditEntry.objects.record(
            "review answered", by=by, study_id=study.pk, approved=is_approved,
            who=pay_set.item_set.participant.pseudonym, number=pay_set.item_set.number,
        )  # fmt: skip
        return True
    return False


def list_reviews(study: Study) -> QuerySet[Approval]:
    """Return the reviews that want an answer, the most urgent first."""
    return Approval.objects.filter(study=study, state=State.REVIEW).order_by("review_due_at", "pk")
