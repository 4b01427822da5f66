"""Notes of the team about people and items: with author and time, and in no file that leaves."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from evalsite.decisions.models import LONGEST_NOTE, Note
from evalsite.people.models import Participant
from evalsite.studies.models import Item, Study


@transaction.atomic
def add_notes(
    *,
    study: Study,
    text: str,
    by: Any,
    participants: Sequence[Participant] = (),
    items: Sequence[Item] = (),
) -> int:
    """Add the note to each of these people and items, unless it was their last; return how many."""
    text = text.replace("\0", "").replace("\r\n", "\n").strip()
    if not text:
        raise ValidationError("Enter a note.")
    if len(text) > LONGEST_NOTE:
        raise ValidationError(f"Write {LONGEST_NOTE:,} characters at most.")
    about: list[dict[str, Any]] = [{"participant": person} for person in participants]
    about += [{"item": item} for item in items]
    added = 0
    for subject in about:
        last = Note.objects.filter(study=study, **subject).last()
        if last is not None and (last.text, last.author_id) == (text, by.pk):
            # sent twice
            continue
        Note.objects.create(study=study, text=text, author=by, **subject)
        added += 1
    return added


@transaction.atomic
def delete_note(*, study: Study, pk: int, by: Any) -> bool:
    """Delete the note, which only its author may; False if it isn't theirs."""
    note = Note.objects.filter(study=study, pk=pk, author=by)
    return bool(note.delete()[0])


def read_notes_of(study: Study, *, name: str, ids: Collection[int]) -> dict[int, list[Note]]:
    """Return the notes about each of these people, or items; `name`: "participant" or "item"."""
    by_subject: dict[int, list[Note]] = defaultdict(list)
    notes = Note.objects.filter(study=study, **{f"{name}__in": list(ids)})
    for note in notes.select_related("author"):
        by_subject[getattr(note, f"{name}_id")].append(note)
    return by_subject
