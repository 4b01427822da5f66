"""Making, changing and importing instruments; what a study of one is asked."""

import json
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction

from evalsite.core.audit.models import AuditEntry
from evalsite.instruments.checks import (
    NOT_YET,
    InvalidInstrument,
    check_instrument,
    read_instrument,
)
from evalsite.instruments.faults import Fault, Faults
from evalsite.instruments.installed import installed_folders
from evalsite.instruments.texts import digest_content
from evalsite.lib.limited import make_decoder, read_json
from evalsite.studies.models import Instrument, InstrumentMember, InstrumentVersion, Study

Plain = dict[str, Any]
# more than ten times the longest of the gallery
LARGEST_FILE = 500_000
_DEEPEST = 40
_OWNER = InstrumentMember.Role.OWNER
# user names that nobody has, of one instrument; a user name has 150 characters at most
_MOST_UNKNOWN, _LONGEST_NAME = 100, 150


class FaultyInstrument(ValidationError):
    """What came is no instrument; `faults` says what is wrong with it, and where."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = list(faults)
        super().__init__([str(fault) for fault in self.faults], code="faulty")


class DraftChanged(ValidationError):
    """Someone else saved this draft after it was opened here."""


# --- files ------------------------------------------------------------------------


def read_file(content: bytes) -> Plain:
    """Read an instrument file; FaultyInstrument lists everything that is wrong with it."""
    if len(content) > LARGEST_FILE:
        raise _not_an_instrument(f"must have {LARGEST_FILE:,} bytes or fewer")
    try:
        data = read_json(content, most_depth=_DEEPEST, decoder=_DECODER)
    except ValueError as error:
        raise _not_an_instrument(f"isn't JSON that can be read: {error}") from None
    return read_foreign(data)


def read_foreign(data: Any) -> Plain:
    """Return data from outside as it is stored; FaultyInstrument if it has faults.

    Defaults that a file writes out and old names of keys are gone, so files that say the same have
    the same SHA-256: that of what `write_file` writes. What is valid and can't be asked yet may be
    stored; no study can be made of it.
    """
    if faults := [fault for fault in find_faults(data) if fault.code != NOT_YET]:
        raise FaultyInstrument(faults)
    return read_instrument(data, is_foreign=True).to_data()


def find_faults(data: Any) -> Faults:
    """Return all faults of an instrument that isn't installed with the site."""
    faults = Faults()
    _find_unstorable(data, "", faults, 1)
    if faults:
        return faults
    faults = check_instrument(data, is_foreign=True)
    key = data.get("key") if isinstance(data, Mapping) else None
    if isinstance(key, str) and key in installed_folders():
        faults.add("duplicate", "key", "is the key of a protocol on this site: choose another one")
    return faults


def write_file(content: Plain) -> str:
    """Write a version as a file, its keys in the order of the format.

    One that a bundle brought may have defaults and old names: it is written as it is stored.
    """
    try:
        written = read_instrument(content).to_data()
    except InvalidInstrument:
        written = {}
    data = written if written == content else content
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


def _not_an_instrument(message: str) -> FaultyInstrument:
    return FaultyInstrument([Fault("type", "the file", message)])


def _refuse_number(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _refuse_twice(pairs: list[tuple[str, Any]]) -> Plain:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} appears twice in one object")
    return values


_DECODER = make_decoder(parse_constant=_refuse_number, object_pairs_hook=_refuse_twice)


def _find_unstorable(value: Any, place: str, faults: Faults, depth: int) -> None:
    """Add a fault for what no database keeps, and for what is nested too deep."""
    if depth > _DEEPEST:
        faults.add("too_deep", place, "is nested too deep")
    elif isinstance(value, str):
        if any((ord(letter) < 32 and letter not in "\n\t\r") or 0xD800 <= ord(letter) < 0xE000
               for letter in value):  # fmt: skip
            faults.add("type", place, "has a control character, which can't be shown")
    elif isinstance(value, float) and not isfinite(value):
        # JSON reads 1e999 as infinity, and has no word for it
        faults.add("type", place, "is no number that can be stored")
    elif isinstance(value, Mapping):
        for name, part in value.items():
            _find_unstorable(name, place, faults, depth)
            _find_unstorable(part, f"{place}.{name}" if place else str(name), faults, depth + 1)
    elif isinstance(value, list):
        for number, part in enumerate(value):
            _find_unstorable(part, f"{place}.{number}" if place else str(number), faults, depth + 1)


# --- made and changed -------------------------------------------------------------


@transaction.atomic
def import_instrument(*, data: Plain, by: Any) -> tuple[InstrumentVersion, bool]:
    """Store an instrument from outside; return its version, and whether it is new.

    The same content again changes nothing; other content under the key of an instrument that
    this person may change becomes its next version.
    """
    content = read_foreign(data)
    mine = Instrument.objects.editable_by(by).select_for_update().filter(key=content["key"])
    digest = digest_content(content)
    known = InstrumentVersion.objects.filter(instrument__in=mine, sha256=digest).first()
    if known is not None:
        return known, False
    instrument = mine.order_by("-created_at").first() or create_instrument(
        key=content["key"], title=content["title"], by=by
    )
    return _store_version(instrument, content, by=by), True


@transaction.atomic
def create_instrument(*, key: str, title: str, by: Any, draft: Plain | None = None) -> Instrument:
    """Make an instrument without a version, owned by who made it."""
    instrument = Instrument.objects.create(
        key=key, title=title[:200], draft=draft or {}, created_by=by, changed_by=by
    )
    owner = InstrumentMember.Role.OWNER
    InstrumentMember.objects.create(instrument=instrument, user=by, role=owner)
    AuditEntry.objects.record("instrument created", by=by, instrument=str(instrument.pk), key=key)
    return instrument


@transaction.atomic
def change_draft(*, instrument: Instrument, draft: Plain, revision: int, by: Any) -> Instrument:
    """Keep this as the draft; DraftChanged if it isn't what this person had opened."""
    current = lock_instrument(instrument, by)
    newest = current.newest
    if draft == (current.draft or (newest.content if newest else {})):
        # the same form, sent twice
        return current
    if current.revision != revision:
        raise DraftChanged(describe_change(current, by))
    if newest is not None and draft == newest.content:
        draft = {}
    current.draft, current.changed_by = draft, by
    current.revision += 1
    title = (draft or (newest.content if newest else {})).get("title")
    if isinstance(title, str) and title.strip():
        current.title = title[:200]
    current.save()
    return current


@transaction.atomic
def save_version(*, instrument: Instrument, revision: int, by: Any) -> InstrumentVersion:
    """Make the draft the next version; FaultyInstrument if it has faults."""
    current = lock_instrument(instrument, by)
    newest = current.newest
    if not current.draft and newest is not None:
        return newest
    if current.revision != revision:
        raise DraftChanged(describe_change(current, by))
    data = {**current.draft, "version": newest.number + 1 if newest else 1}
    content = read_foreign(data)
    current.draft, current.changed_by = {}, by
    current.revision += 1
    current.save()
    return _store_version(current, content, by=by)


@transaction.atomic
def adopt_instrument(
    *, data: Plain, by: Any, beside: InstrumentVersion | None = None
) -> InstrumentVersion:
    """Return the version with this content that this person may use; make one if there is none.

    What a bundle brings is kept as it is there, with its SHA-256. `beside`: of whose instrument it
    becomes the next version, if this person may change that one.
    """
    mine = Instrument.objects.visible_to(by).filter(key=data["key"])
    digest = digest_content(data)
    known = InstrumentVersion.objects.filter(instrument__in=mine, sha256=digest).first()
    if known is not None:
        return known
    if beside is not None and may(by, beside.instrument, InstrumentMember.Role.EDITOR):
        instrument = lock_instrument(beside.instrument, by)
        # the other of two clicks may have stored it while this one waited
        stored = instrument.versions.filter(sha256=digest).first()
        return stored or _store_version(instrument, data, by=by)
    instrument = create_instrument(key=data["key"], title=data["title"], by=by)
    return _store_version(instrument, data, by=by)


def _store_version(instrument: Instrument, data: Plain, *, by: Any) -> InstrumentVersion:
    newest = instrument.newest
    last = newest.number if newest else 0
    version = InstrumentVersion.objects.create(
        instrument=instrument,
        number=max(last + 1, min(data["version"], 1_000_000)),
        title=data["title"][:200],
        content=data,
        sha256=digest_content(data),
        created_by=by,
    )
    if not instrument.draft:
        instrument.title = version.title
        instrument.save(update_fields=["title"])
    AuditEntry.objects.record(
        "instrument version saved", by=by, instrument=str(instrument.pk), version=version.number
    )
    return version


@transaction.atomic
def share_instrument(*, instrument: Instrument, username: str, role: str, by: Any) -> None:
    """Give a user name a role, and answer alike whether or not there is such a user."""
    current = lock_instrument(instrument, by, role=_OWNER)
    if role != _OWNER:
        _insist_on_another_owner(current, username)
    user = User.objects.filter(username=username, is_staff=True, is_active=True).first()
    if user is not None:
        current.members.update_or_create(user=user, defaults={"role": role})
    elif len(current.unknown_members) < _MOST_UNKNOWN:
        current.unknown_members[username[:_LONGEST_NAME]] = role
        current.save(update_fields=["unknown_members"])


@transaction.atomic
def unshare_instrument(*, instrument: Instrument, username: str, by: Any) -> None:
    """Remove a member."""
    current = lock_instrument(instrument, by, role=_OWNER)
    _insist_on_another_owner(current, username)
    current.members.filter(user__username=username).delete()
    if current.unknown_members.pop(username, None):
        current.save(update_fields=["unknown_members"])


def list_shares(instrument: Instrument) -> list[tuple[str, str]]:
    """Return the user names with a role in the instrument, and the roles in words, by name."""
    members = instrument.members.values_list("user__username", "role")
    shares = instrument.unknown_members | dict(members)
    return [(name, str(InstrumentMember.Role(shares[name]).label)) for name in sorted(shares)]


def _insist_on_another_owner(instrument: Instrument, username: str) -> None:
    """Refuse what would leave the instrument without an owner who can sign in."""
    owners = instrument.members.filter(role=_OWNER)
    other_owners = owners.filter(user__is_active=True).exclude(user__username=username)
    if owners.filter(user__username=username).exists() and not other_owners.exists():
        raise ValidationError(
            "An instrument needs an owner. Make someone else an owner first.", code="last_owner"
        )


@transaction.atomic
def delete_instrument(*, instrument: Instrument, by: Any) -> None:
    """Delete an instrument that no study uses."""
    current = lock_instrument(instrument, by, role=InstrumentMember.Role.OWNER)
    if Study.objects.filter(instrument__instrument=current).exists():
        raise ValidationError("Studies use this instrument, so it can't be deleted.")
    AuditEntry.objects.record("instrument deleted", by=by, instrument=str(current.pk))
    current.delete()


def lock_instrument(
    instrument: Instrument, by: Any, *, role: str = InstrumentMember.Role.EDITOR
) -> Instrument:
    """Lock an instrument that this person may change; PermissionDenied for others."""
    current = Instrument.objects.select_for_update().get(pk=instrument.pk)
    if not may(by, current, role):
        raise PermissionDenied
    return current


_RANK = {InstrumentMember.Role.VIEWER: 0, InstrumentMember.Role.EDITOR: 1,
         InstrumentMember.Role.OWNER: 2}  # fmt: skip


def may(user: Any, instrument: Instrument, role: str) -> bool:
    """Tell whether this person has at least this role in the instrument."""
    if user.is_superuser:
        return True
    member = instrument.members.filter(user=user).first()
    return (
        member is not None
        and _RANK[InstrumentMember.Role(member.role)] >= _RANK[InstrumentMember.Role(role)]
    )


def describe_change(instrument: Instrument, by: Any) -> str:
    """Say to this person who changed the draft last, and what to do about it."""
    who = instrument.changed_by.get_username() if instrument.changed_by else "Someone"
    words = f"{who} changed this draft after this page was opened."
    if instrument.changed_by == by:
        words = "You changed this draft after this page was opened, perhaps in another tab."
    return (
        f"{words} Nothing was overwritten, and what you entered is still on this page. Open the "
        "draft in another tab, and enter there what you want to keep."
    )
