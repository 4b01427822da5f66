"""What to paste on the platform of a round: approvals, rejections, bonuses, and a block list."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from django.db.models import Q

from evalsite.decisions.models import Approval
from evalsite.decisions.pay import PaySet, describe_sets, list_payable
from evalsite.people.models import Recruitment, Visit
from evalsite.people.platforms import Bonus, Decision, are_safe
from evalsite.people.recruiting import list_due_bonuses

State = Approval.State
# as many sets as are marked at once; the next are offered after that
_MOST_SETS = 500
# as many ids as one form can send
_MOST_IDS = 900


@dataclass(frozen=True, kw_only=True)
class PayFile:
    """A text to paste or save, and the rows that are marked as paid once that is done."""

    key: str
    label: str
    advice: str
    text: str
    lines: int
    # what is offered once these are marked
    more: int = 0
    total: Decimal = Decimal(0)
    set_ids: list[Any] = field(default_factory=list)
    bonus_ids: list[Any] = field(default_factory=list)
    visit_ids: list[int] = field(default_factory=list)

    @property
    def may_mark(self) -> bool:
        return bool(self.set_ids or self.bonus_ids or self.visit_ids)


def _list_sets(recruitment: Recruitment) -> list[PaySet]:
    """Return the decided sets of people who came by this round last."""
    study = recruitment.study
    people = Visit.objects.filter(recruitment=recruitment).values("participant")
    decided = Q(approval__state__in=[State.APPROVED, State.REJECTED])
    decided |= Q(approval__bonus__isnull=False, approval__bonus_marked_at=None)
    sets = list_payable(study).filter(decided, participant__in=people).order_by("created_at", "pk")
    rows = [row for row in describe_sets(study, sets) if row.recruitment.pk == recruitment.pk]
    return [row for row in rows if row.visit is None or has_safe_ids(row.visit)]


def has_safe_ids(visit: Visit) -> bool:
    """Return whether the ids may be in a file: at first they could be any text."""
    return are_safe(visit.person_id, visit.visit_id)


def count_left_out(recruitment: Recruitment) -> int:
    """Count the people of this round whom its files leave out, for their ids."""
    visits = Visit.objects.filter(recruitment=recruitment)
    return len({visit.participant_id for visit in visits if not has_safe_ids(visit)})


def write_files(recruitment: Recruitment) -> list[PayFile]:
    """Return every file of this round that has something in it."""
    sets, platform = _list_sets(recruitment), recruitment.adapter
    files = [_write_bonuses(recruitment, sets)]
    # without advice there is nowhere to paste them
    if platform.reject_advice:
        files.insert(0, _write_rejections(recruitment, sets))
    if platform.approve_advice:
        files.insert(0, _write_approvals(recruitment, sets))
    return [file for file in files if file.lines]


def _write_approvals(recruitment: Recruitment, sets: Sequence[PaySet]) -> PayFile:
    platform = recruitment.adapter
    every = [
        pay_set for pay_set in sets if pay_set.state == State.APPROVED and pay_set.is_submission
    ]
    mine = every[:_MOST_SETS]
    return PayFile(
        key="approve",
        label="Approve",
        advice=platform.approve_advice,
        text=_write(platform.write_approvals, mine),
        lines=len(mine),
        more=len(every) - len(mine),
        total=sum((pay_set.amount for pay_set in mine), Decimal(0)),
        set_ids=[pay_set.item_set.pk for pay_set in mine],
    )


def _write_rejections(recruitment: Recruitment, sets: Sequence[PaySet]) -> PayFile:
    platform = recruitment.adapter
    mine = [
        pay_set for pay_set in sets if pay_set.state == State.REJECTED and pay_set.is_submission
    ]
    return PayFile(
        key="reject",
        label="Reject",
        advice=platform.reject_advice,
        text=_write(platform.write_rejections, mine),
        lines=len(mine),
    )


def _write(write: Callable[[Sequence[Decision]], str], sets: Sequence[PaySet]) -> str:
    return write([as_decision(pay_set) for pay_set in sets]) if sets else ""


def as_decision(pay_set: PaySet) -> Decision:
    """Return what was decided about this set, as a platform is told."""
    reasons = {reason.key: reason.category for reason in pay_set.recruitment.adapter.reasons}
    return Decision(
        person_id=pay_set.visit.person_id if pay_set.visit else "",
        visit_id=pay_set.visit.visit_id if pay_set.visit else "",
        code=pay_set.item_set.code,
        category=reasons.get(pay_set.approval.reason, ""),
        message=" ".join(pay_set.approval.message.split()),
    )


def _write_bonuses(recruitment: Recruitment, sets: Sequence[PaySet]) -> PayFile:
    """Write bonuses, and whatever else no submission pays: single items, further sets, minutes."""
    by_line = [
        pay_set
        for pay_set in sets
        if pay_set.state == State.APPROVED and pay_set.is_bonus and pay_set.amount
    ]
    extra = [
        pay_set
        for pay_set in sets
        if pay_set.approval.bonus
        and pay_set.approval.bonus_marked_at is None
        and pay_set.visit is not None
        and pay_set.visit.person_id
    ]
    visits = [visit for visit in list_due_bonuses(recruitment) if has_safe_ids(visit)]
    dues = [
        Due(_as_bonus(pay_set.visit, pay_set.amount), set_id=pay_set.item_set.pk)
        for pay_set in by_line
    ]
    dues += [
        Due(_as_bonus(pay_set.visit, pay_set.approval.bonus), bonus_id=pay_set.item_set.pk)
        for pay_set in extra
    ]
    dues += [Due(_as_bonus(visit, visit.bonus), visit_id=visit.pk) for visit in visits]
    by_key: dict[tuple[str, str], list[Due]] = {}
    for due in dues:
        by_key.setdefault((due.bonus.person_id, due.bonus.visit_id), []).append(due)
    chosen = _choose(list(by_key.values()), recruitment.adapter.most_bonuses)
    # one line for a visit: a platform may refuse a second one
    lines = [
        replace(dues[0].bonus, amount=sum((due.bonus.amount for due in dues), Decimal(0)))
        for dues in chosen
    ]
    paid = [due for dues in chosen for due in dues]
    return PayFile(
        key="bonus",
        label="Bonuses",
        advice=recruitment.adapter.bonus_advice,
        text=recruitment.adapter.write_bonuses(lines) if lines else "",
        lines=len(lines),
        more=len(by_key) - len(lines),
        total=sum((line.amount for line in lines), Decimal(0)),
        set_ids=[due.set_id for due in paid if due.set_id is not None],
        bonus_ids=[due.bonus_id for due in paid if due.bonus_id is not None],
        visit_ids=[due.visit_id for due in paid if due.visit_id is not None],
    )


@dataclass(frozen=True)
class Due:
    """One amount that a bonus line pays, and the row that is marked for it."""

    bonus: Bonus
    set_id: Any = None
    bonus_id: Any = None
    visit_id: int | None = None


def _choose(every: list[list[Due]], most: int) -> list[list[Due]]:
    """Return as many lines as fit into one text, each with all that it pays."""
    chosen: list[list[Due]] = []
    ids = 0
    for dues in every[:most]:
        ids += len(dues)
        if ids > _MOST_IDS:
            break
        chosen.append(dues)
    return chosen


def _as_bonus(visit: Visit | None, amount: Decimal | None) -> Bonus:
    return Bonus(
        person_id=visit.person_id if visit else "",
        visit_id=visit.visit_id if visit else "",
        amount=amount or Decimal(0),
    )


def write_block_list(recruitment: Recruitment) -> PayFile:
    """Return the ids of everyone who came by this round, to keep them out of another study."""
    ids = Visit.objects.filter(recruitment=recruitment).exclude(person_id="").order_by("person_id")
    people = list(filter(are_safe, ids.values_list("person_id", flat=True).distinct()))
    if not recruitment.adapter.block_advice:
        people = []
    return PayFile(
        key="block",
        label="Block list",
        advice=recruitment.adapter.block_advice,
        text=recruitment.adapter.write_block_list(people) if people else "",
        lines=len(people),
    )
