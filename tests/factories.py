"""Plain functions that make what a test needs, with defaults; a test states only what matters."""

from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User

from evalsite.participants.models import Participant, ParticipantLink
from evalsite.studies.models import Batch, Item, Output, Study, System
from evalsite.studies.services import create_study, item_keys

SYSTEMS = ("baseline", "neural", "template")


def make_user(name: str = "jane", **fields: Any) -> User:
    """A member of staff who may sign in."""
    user, is_new = User.objects.get_or_create(username=name, defaults={"is_staff": True, **fields})
    if is_new:
        user.set_unusable_password()
        user.save()
    return user


def make_study(
    *, items: int = 2, protocol: str = "magnitude", by: User | None = None, **fields: Any
) -> Study:
    """A draft study with one batch of this many items, three outputs each."""
    study = create_study(
        protocol=protocol,
        title=fields.pop("title", "Restaurant descriptions"),
        by=by or make_user(),
        **{
            "consent": "We keep your scores.\n\nYou may stop at any time.",
            "contact_email": "jane@example.org",
            "organisation": "Language Lab",
            "summary": "You score short descriptions.",
            **fields,
        },
    )
    if items:
        add_batch(study, items=items)
    return study


def add_batch(study: Study, *, items: int, first: int = 1) -> Batch:
    """A batch of items named item-001 and on."""
    batch = Batch.objects.create(
        study=study, file_name="batch.csv", sha256=uuid4().hex * 2, rows=items * 3
    )
    systems = [System.objects.get_or_create(study=study, name=name)[0] for name in SYSTEMS]
    for number in range(first, first + items):
        item = Item.objects.create(
            study=study,
            batch=batch,
            inputs={"mr": f"name[Place {number}], area[riverside]"},
            **item_keys(study, key=f"item-{number:03}", group=f"group-{number:03}"),
        )
        Output.objects.bulk_create(
            Output(
                study=study,
                item=item,
                system=system,
                position=position,
                text=f"Place {number} as told by voice {position + 1}.",
            )
            for position, system in enumerate(systems)
        )
    return batch


def make_participant(study: Study, **fields: Any) -> Participant:
    """Somebody who has arrived and done nothing yet."""
    return Participant.objects.create(study=study, **fields)


def mint_link(participant: Participant) -> str:
    """The address of a participant's own page; only the hash of its token is stored."""
    return f"/p/{ParticipantLink.objects.mint(participant)}/"
