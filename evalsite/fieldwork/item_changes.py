"""After the launch: items that are withdrawn or put back, and outputs whose text is corrected.

Nothing that people gave is deleted, and nobody loses pay: a person who holds the item goes on with
the rest of their set, and an answer that was on its way is kept as withdrawn.
"""

import re
from collections.abc import Collection
from functools import partial
from hashlib import sha256
from itertools import count
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import Exists, OuterRef, Q

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.services import start_job
from evalsite.fieldwork.launch import insist_on_editor, insist_on_owner
from evalsite.fieldwork.live_changes import KIND, lock_running
from evalsite.handout.claims import has_work
from evalsite.handout.controls import has_controls
from evalsite.handout.leases import answered_items, find_end, lease_again, save_end
from evalsite.handout.models import ASSIGNED, Annotation, Draft, Rating, Slot
from evalsite.lib.clock import now
from evalsite.lib.conversations import read_turns
from evalsite.lib.deadlocks import in_transaction
from evalsite.participation.held_items import find_reported_items, judge_reports, lock_reports
from evalsite.participation.saving import LEFT_TO_OTHERS
from evalsite.participation.stopping import stop_if_emptied
from evalsite.people.models import ItemSet, Participant
from evalsite.studies.items import item_keys
from evalsite.studies.models import LONGEST_REASON, Batch, Change, Item, Output, Study

_STATUS = Annotation.Status
_TRIES = 5
# tabs and line ends are the only control characters of a text
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


class _OtherHolders(Exception):
    """Raise if somebody was dealt the item after those who held it were locked: try again."""


def withdraw_item(*, item: Item, reason: str, by: Any) -> Change | None:
    """Leave the item out: nobody is shown it any more, and its answers count no more.

    None, and nothing changed, if it was withdrawn before.
    """
    insist_on_editor(item.study, by)
    reason = clean_reason(reason)
    return _retry_for_holders(partial(_withdraw, item, reason, by))


def put_item_back(*, item: Item, reason: str, by: Any) -> Change | None:
    """Undo a withdrawal: a job makes the places again, and gives them to the answers, oldest first.

    None, and nothing changed, if the item isn't withdrawn.
    """
    insist_on_editor(item.study, by)
    reason = clean_reason(reason)
    return in_transaction(partial(_put_back, item, reason, by))


def correct_output(
    *, output: Output, text: str, reason: str, by: Any, seen: str | None = None
) -> Change | None:
    """Change the text of an output: in place while nobody has answered its item.

    Otherwise the item is withdrawn, and the corrected text is in a new item of the same group.
    `seen`: the digest of the text that the person changed. None, and nothing changed, if the text
    is the same.
    """
    insist_on_owner(output.study, by)
    return _retry_for_holders(partial(_correct, output, text, clean_reason(reason), by, seen))


def clean_reason(reason: str) -> str:
    """Return the reason on one line; ValidationError if there is none, or it is too long."""
    reason = " ".join(reason.split())
    if not reason:
        raise ValidationError("Give the reason. The report prints it.", code="reason_missing")
    if len(reason) > LONGEST_REASON:
        raise ValidationError(
            f"Give the reason in {LONGEST_REASON} characters or fewer.", code="reason_long"
        )
    if control := _CONTROL.search(reason):
        raise ValidationError(
            f"The reason holds an invalid character (U+{ord(control.group()):04X}). Remove it.",
            code="reason_control",
        )
    return reason


def _retry_for_holders(act: Any) -> Any:
    """Return the result of `act` in a transaction, tried again if the holders were others."""
    for _ in range(_TRIES - 1):
        try:
            return in_transaction(act)
        except _OtherHolders:
            continue
    return in_transaction(act)


def _withdraw(item: Item, reason: str, by: Any) -> Change | None:
    _insist_on_launched(item.study)
    holders = _lock_holders(item)
    current = Item.objects.select_for_update(no_key=True).get(pk=item.pk)
    if current.kind == Item.Kind.WITHDRAWN:
        return None
    _insist_on_main(current)
    slots = _lock_places(current, holders)
    change = _leave_out(current, holders, slots, reason=reason, by=by)
    AuditEntry.objects.record(
        "item withdrawn", by=by, study_id=item.study_id, item=item.key, answers=change.answers
    )
    return change


def _insist_on_launched(study: Study) -> None:
    if not study.is_launched:
        raise ValidationError(
            "The study isn’t launched yet. Change the file and upload it again.", code="draft"
        )


def _lock_holders(item: Item) -> list[Participant]:
    """Return those who hold a place of this item, locked: a person's row goes before all others."""
    holders = Slot.objects.leased().filter(item=item).values("participant")
    people = Participant.objects.filter(pk__in=holders).select_for_update(no_key=True)
    return list(people.order_by("pk"))


def _insist_on_main(item: Item) -> None:
    if item.kind == Item.Kind.WITHDRAWN:
        raise ValidationError(
            f"{item.key} was withdrawn. Put it back to change it.", code="withdrawn"
        )
    if item.kind != Item.Kind.MAIN:
        raise ValidationError(
            f"{item.key} is a check, a repeat or practice. Only an item that is evaluated can be "
            "withdrawn or corrected.",
            code="kind",
        )


def _leave_out(
    current: Item, holders: Collection[Participant], slots: list[Slot], *, reason: str, by: Any
) -> Change:
    """Withdraw this item, which is locked with its places, and record it."""
    current.kind, current.held_at = Item.Kind.WITHDRAWN, None
    current.save(update_fields=["kind", "held_at"])
    for holder in holders:
        # its end may be known from this place alone
        save_end(holder, current.study)
    answers = current.annotations.exclude(status__in=(_STATUS.PILOT, _STATUS.WITHDRAWN))
    counted = answers.update(status=_STATUS.WITHDRAWN, slot=None)
    Slot.objects.filter(pk__in=[slot.pk for slot in slots]).delete()
    _take_from_sets(current, holders)
    Draft.objects.filter(item=current).delete()
    _judge_all_reports(current.study)
    return Change.objects.create(
        study_id=current.study_id, kind=Change.Kind.WITHDRAWN, item=current, reason=reason,
        answers=counted, by=by,
    )  # fmt: skip


def _lock_places(item: Item, holders: Collection[Participant]) -> list[Slot]:
    """Return the places of this item, locked; answers are locked before, as in a change of one."""
    list(item.annotations.select_for_update(of=("self",)).order_by("pk").values_list("pk"))
    locked = Slot.objects.filter(item=item).select_for_update(of=("self",))
    slots = list(locked.order_by("pos", "id"))
    known = {holder.pk for holder in holders}
    leased = {slot.participant_id for slot in slots if slot.state == Slot.State.LEASED}
    if not leased <= known:
        raise _OtherHolders
    return slots


def _take_from_sets(item: Item, holders: Collection[Participant]) -> None:
    """Let those who held this item go on with the rest of their set, and with its repeats gone."""
    study = item.study
    for holder in holders:
        open_set = ItemSet.objects.filter(participant=holder, finished_at__isnull=True).first()
        if open_set is None or item.pk not in open_set.item_ids:
            continue
        holder.study = study
        if item.pk not in answered_items(open_set):
            lost = {*open_set.lost_ids, item.pk}
            open_set.lost_ids = [pk for pk in open_set.item_ids if pk in lost]
            open_set.save(update_fields=["lost_ids"])
        end = find_end(holder, study)
        if has_controls(study) and end is not None and end > now():
            lease_again(open_set, holder, study)
        if not has_work(holder, study):
            stop_if_emptied(holder)


def _judge_all_reports(study: Study) -> None:
    """Hold what had to wait while this item was held, or release it."""
    lock_reports(study)
    judge_reports(study, find_reported_items(study))


def _correct(output: Output, text: str, reason: str, by: Any, seen: str | None) -> Change | None:
    study = output.study
    _insist_on_launched(study)
    lock_running(study)
    holders = _lock_holders(output.item)
    item = Item.objects.select_for_update(no_key=True).get(pk=output.item_id)
    current = item.outputs.get(pk=output.pk)
    _insist_on_main(item)
    text = _clean_text(text, current.text)
    if text == _normalise_line_ends(current.text):
        return None
    if seen is not None and seen != digest_text(current.text):
        raise ValidationError(
            "Someone corrected this text while you had it open. Nothing was overwritten. Copy "
            "your text, reload the page, and enter it again.",
            code="changed",
        )
    slots = _lock_places(item, holders)
    shows, instead_of = item, None
    if is_answered(item):
        shows, instead_of = _make_corrected(item, current, text, by), item
        _leave_out(item, holders, slots, reason=reason, by=by)
        start_job(KIND, study_id=study.pk, by=by)
    else:
        _correct_in_place(item, current, text, holders, slots)
    AuditEntry.objects.record(
        "output corrected", by=by, study_id=study.pk, item=item.key, output=current.position + 1,
        shown_in=shows.key,
    )  # fmt: skip
    return Change.objects.create(
        study=study, kind=Change.Kind.CORRECTED, item=shows, position=current.position,
        instead_of=instead_of, before=current.text, after=text, reason=reason, by=by,
    )  # fmt: skip


def is_answered(item: Item) -> bool:
    """Return whether anyone but pilots has answered the item as it is."""
    answers = item.annotations.exclude(status__in=(_STATUS.PILOT, _STATUS.WITHDRAWN))
    return answers.exclude(outcome__in=LEFT_TO_OTHERS).exists()


def _normalise_line_ends(text: str) -> str:
    """Return the text with the line ends that a form of the browser gives back as others."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def digest_text(text: str) -> str:
    """Return what is equal for texts that differ in their line ends only."""
    return sha256(_normalise_line_ends(text).encode()).hexdigest()


def _clean_text(text: str, before: str) -> str:
    """Return the text as it is stored; ValidationError if people couldn't be shown it."""
    text = _normalise_line_ends(text)
    if not text.strip():
        raise ValidationError(
            "Enter the text. To show nothing of this output, withdraw the item.", code="text_empty"
        )
    if len(text) > settings.UPLOAD_MAX_CELL:
        raise ValidationError(
            f"This text has {len(text):,} characters. An output may have "
            f"{settings.UPLOAD_MAX_CELL:,}.",
            code="text_long",
        )
    if control := _CONTROL.search(text):
        raise ValidationError(
            f"The text holds an invalid character (U+{ord(control.group()):04X}). Remove it.",
            code="text_control",
        )
    if read_turns(before) is not None and read_turns(text) is None:
        raise ValidationError(
            "This output is a conversation. Keep it a list of turns in JSON, each with a role.",
            code="text_conversation",
        )
    return text


def _correct_in_place(
    item: Item, output: Output, text: str, holders: Collection[Participant], slots: list[Slot]
) -> None:
    """Show the text from now on; who had the earlier one on their screen gets another item.

    People you know keep their place: it is for nobody else. It becomes another row, so that the
    page they have open doesn't fill it.
    """
    for holder in holders:
        save_end(holder, item.study)
    leased = [slot for slot in slots if slot.state == Slot.State.LEASED]
    assigned = [slot for slot in leased if slot.lease_until == ASSIGNED]
    Slot.objects.filter(pk__in=[slot.pk for slot in leased if slot not in assigned]).update(
        state=Slot.State.FREE, participant=None, lease_until=None
    )
    Slot.objects.filter(pk__in=[slot.pk for slot in assigned]).delete()
    for slot in assigned:
        slot.pk = None
        slot.save(force_insert=True)
    keeping = {slot.participant_id for slot in assigned}
    _take_from_sets(item, [holder for holder in holders if holder.pk not in keeping])
    Draft.objects.filter(item=item).delete()
    Output.objects.filter(pk=output.pk).update(text=text)
    item.corrected_at = item.released_at = now()
    item.held_at = None
    item.save(update_fields=["corrected_at", "released_at", "held_at"])
    _judge_all_reports(item.study)


def _make_corrected(item: Item, output: Output, text: str, by: Any) -> Item:
    """Return a new item of the same group, in a batch of its own, as later items are planned."""
    alike = item.study.items.filter(key__startswith=item.key[:100])
    taken = set(alike.values_list("key", flat=True))
    names = (f"{item.key[:120]}-{number}" for number in count(2))
    key = next(name for name in names if name not in taken)
    batch = Batch.objects.create(
        study=item.study, file_name=f"Correction of {item.key}", rows=1, opened_at=now(),
        sha256=sha256(f"{key}\n{text}".encode()).hexdigest(), uploaded_by=by,
    )  # fmt: skip
    made = Item.objects.create(
        study=item.study, batch=batch, cluster=item.cluster, inputs=item.inputs, gold=item.gold,
        # a later file finds its input by the earlier id
        extra={"item": item.key, **item.extra},
        **item_keys(item.study, key=key, group=item.group),
    )  # fmt: skip
    Output.objects.bulk_create(
        Output(
            study=item.study,
            item=made,
            system_id=known.system_id,
            position=known.position,
            text=text if known.pk == output.pk else known.text,
        )
        for known in item.outputs.order_by("position")
    )
    return made


def _put_back(item: Item, reason: str, by: Any) -> Change | None:
    _insist_on_launched(item.study)
    lock_running(item.study)
    current = Item.objects.select_for_update(no_key=True).get(pk=item.pk)
    if current.kind != Item.Kind.WITHDRAWN:
        return None
    if Change.objects.filter(instead_of=current).exists():
        raise ValidationError(
            f"{current.key} was withdrawn because its text was corrected, and the corrected text "
            "is an item of its own. It can’t be put back.",
            code="replaced",
        )
    current.kind = Item.Kind.MAIN
    current.save(update_fields=["kind"])
    # of people who withdrew or declined nothing was kept
    is_kept = Exists(Rating.objects.filter(annotation=OuterRef("pk")))
    has_agreed = Q(participant__withdrawn_at__isnull=True) & ~Q(participant__consented_to="")
    answers = current.annotations.filter(has_agreed | is_kept, status=_STATUS.WITHDRAWN)
    answers = answers.filter(
        Q(started_at__gte=current.corrected_at) if current.corrected_at else Q()
    )
    pks = list(answers.values_list("pk", flat=True))
    kept = Annotation.objects.filter(pk__in=pks)
    kept.filter(outcome=Annotation.Outcome.SKIPPED, awaits_consent=False).update(
        status=_STATUS.SKIPPED
    )
    kept.filter(status=_STATUS.WITHDRAWN).update(status=_STATUS.SURPLUS)
    _judge_all_reports(current.study)
    change = Change.objects.create(
        study_id=current.study_id, kind=Change.Kind.PUT_BACK, item=current, reason=reason, by=by,
        answers=len(pks),
    )  # fmt: skip
    AuditEntry.objects.record(
        "item put back", by=by, study_id=item.study_id, item=item.key, answers=len(pks)
    )
    start_job(KIND, study_id=item.study_id, by=by)
    return change
