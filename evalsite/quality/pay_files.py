"""What to paste on the platform of a round: approvals, rejections, bonuses, and a block list."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db.models import Q

from evalsite.participants.models import Recruitment, Visit
from evalsite.participants.recruiting import list_due_bonuses
from evalsite.platforms import Bonus, Decision
from evalsite.quality.models import Approval
from evalsite.quality.pay import PaySet, describe_sets, list_payable

State = Approval.State


@dataclass(frozen=True, kw_only=True)
class PayFile:
    """A text to paste or save, and the rows that are marked as paid once that is done."""

    key: str
    label: str
    advice: str
    text: str
    lines: int
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
    found = describe_sets(study, sets)
    return [one for one in found if one.recruitment.pk == recruitment.pk]


def write_files(recruitment: Recruitment) -> list[PayFile]:
    """Return every file of this round that has something in it."""
    sets, platform = _list_sets(recruitment), recruitment.adapter
    files = [_write_bonuses(recruitment, sets)]
    # without advice there is nowhere to paste them
    if platform.reject_advice:
        files.insert(0, _write_rejections(recruitment, sets))
    if platform.approve_advice:
        files.insert(0, _write_approvals(recruitment, sets))
    return [one for one in files if one.lines]


def _write_approvals(recruitment: Recruitment, sets: Sequence[PaySet]) -> PayFile:
    platform = recruitment.adapter
    mine = [one for one in sets if one.state == State.APPROVED and one.is_submission]
    return PayFile(
        key="approve",
        label="Approve",
        advice=platform.approve_advice,
        text=_write(platform.write_approvals, mine),
        lines=len(mine),
        total=sum((one.amount for one in mine), Decimal(0)),
        set_ids=[one.item_set.pk for one in mine],
    )


def _write_rejections(recruitment: Recruitment, sets: Sequence[PaySet]) -> PayFile:
    platform = recruitment.adapter
    mine = [one for one in sets if one.state == State.REJECTED and one.is_submission]
    return PayFile(
        key="reject",
        label="Reject",
        advice=platform.reject_advice,
        text=_write(platform.write_rejections, mine),
        lines=len(mine),
    )


def _write(write: Callable[[Sequence[Decision]], str], sets: Sequence[PaySet]) -> str:
    return write([as_decision(one) for one in sets]) if sets else ""


def as_decision(one: PaySet) -> Decision:
    """Return what was decided about this set, as a platform is told."""
    reasons = {reason.key: reason.category for reason in one.recruitment.adapter.reasons}
    return Decision(
        person_id=one.visit.person_id if one.visit else "",
        visit_id=one.visit.visit_id if one.visit else "",
        code=one.item_set.code,
        category=reasons.get(one.approval.reason, ""),
        message=" ".join(one.approval.message.split()),
    )


def _write_bonuses(recruitment: Recruitment, sets: Sequence[PaySet]) -> PayFile:
    """Bonuses, and whatever else no submission pays: single items, further sets, minutes."""
    by_line = [one for one in sets if one.state == State.APPROVED and one.is_bonus and one.amount]
    extra = [
        one
        for one in sets
        if one.approval.bonus and one.approval.bonus_marked_at is None and _has_id(one.visit)
    ]
    visits = list(list_due_bonuses(recruitment))
    lines = [_as_bonus(one.visit, one.amount) for one in by_line]
    lines += [_as_bonus(one.visit, one.approval.bonus) for one in extra]
    lines += [_as_bonus(one, one.bonus) for one in visits]
    return PayFile(
        key="bonus",
        label="Bonuses",
        advice=recruitment.adapter.bonus_advice,
        text=recruitment.adapter.write_bonuses(_add_up(lines)) if lines else "",
        lines=len(_add_up(lines)),
        total=sum((one.amount for one in lines), Decimal(0)),
        set_ids=[one.item_set.pk for one in by_line],
        bonus_ids=[one.item_set.pk for one in extra],
        visit_ids=[one.pk for one in visits],
    )


def _has_id(visit: Visit | None) -> bool:
    return visit is not None and bool(visit.person_id)


def _as_bonus(visit: Visit | None, amount: Decimal | None) -> Bonus:
    return Bonus(
        person_id=visit.person_id if visit else "",
        visit_id=visit.visit_id if visit else "",
        amount=amount or Decimal(0),
    )


def _add_up(lines: Sequence[Bonus]) -> list[Bonus]:
    """Return one line for each visit: a platform may refuse a second one."""
    totals: dict[tuple[str, str], Decimal] = {}
    for one in lines:
        key = one.person_id, one.visit_id
        totals[key] = totals.get(key, Decimal(0)) + one.amount
    return [
        Bonus(person_id=person, visit_id=visit, amount=amount)
        for (person, visit), amount in totals.items()
    ]


def write_block_list(recruitment: Recruitment) -> PayFile:
    """Return the ids of everyone who came by this round, to keep them out of another study."""
    ids = Visit.objects.filter(recruitment=recruitment).exclude(person_id="").order_by("person_id")
    people = list(ids.values_list("person_id", flat=True).distinct())
    if not recruitment.adapter.block_advice:
        people = []
    return PayFile(
        key="block",
        label="Block list",
        advice=recruitment.adapter.block_advice,
        text=recruitment.adapter.write_block_list(people) if people else "",
        lines=len(people),
    )
