"""Plain functions that make what a test needs, with defaults; a test states only what matters."""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User

from evalsite.handout.claims import claim_set, deal_pilot_set
from evalsite.handout.models import Slot
from evalsite.handout.slots import make_slots
from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.schema import Instrument
from evalsite.lib.clock import now
from evalsite.participation.saving import Saved, Submission, submit_annotation
from evalsite.people.models import (
    ItemSet,
    OutcomeCode,
    Participant,
    ParticipantLink,
    Recruitment,
)
from evalsite.people.recruiting import store_open_link
from evalsite.people.services import instructions_hash, record_consent
from evalsite.studies.items import item_keys
from evalsite.studies.models import Batch, Item, Output, Study, System
from evalsite.studies.services import add_practice_items, create_study
from evalsite.studies.versions import make_version

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
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
            "answers_kept_for": "10 years",
            "organisation": "Language Lab",
            "summary": "You score short descriptions.",
            **fields,
        },
    )
    if items:
        add_batch(study, items=items)
    return study


def practise_every_gold(study: Study) -> Study:
    """The study has practice items with every kind of gold, in place of its own."""
    items = json.loads((FIXTURES / "practice_items.json").read_bytes())[study.protocol]
    instrument = Instrument.model_validate(study.config.to_data() | {"practice": items})
    study.items.practice().delete()
    add_practice_items(study, instrument)
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


def launch(study: Study) -> Study:
    """The study is live, without the checklist: its version stands, every item has its slots."""
    version = make_version(study, by=None)
    make_slots(study, study.batches.all())
    study.batches.update(opened_at=now())
    Study.objects.filter(pk=study.pk).update(state="live", version=version, launched_at=now())
    study.refresh_from_db()
    open_to_everyone(study)
    return study


def open_to_everyone(study: Study) -> None:
    """The open link is on, by which people of tests come; a study with a notice has none."""
    if not study.has_notice:
        store_open_link(study)
        Recruitment.objects.filter(study=study, number=0).update(is_on=True)


def make_annotator(study: Study, **fields: Any) -> Participant:
    """Somebody who has agreed, may take part, has read and practised: next comes work."""
    given = {"is_eligible": True, "practised_at": now(), **fields}
    me = make_participant(study, instructions_read=instructions_hash(study), **given)
    record_consent(participant=me, is_given=True)
    return me


def set_completion(study: Study, *, code: str = "", link: str = "") -> Recruitment:
    """What people who came by the study's own link get for a finished set."""
    recruitment = store_open_link(study)
    OutcomeCode.objects.update_or_create(
        recruitment=recruitment, outcome="completed", defaults={"code": code, "link": link}
    )
    return recruitment


def make_learner(study: Study, **fields: Any) -> Participant:
    """Somebody who holds a place and has read: next comes practice, or the qualification."""
    me = make_annotator(study, practised_at=None, **fields)
    item_set = deal_pilot_set(me) if me.is_pilot else claim_set(me)
    assert item_set is not None, "no place is free in this study"
    return me


def answer_item(
    me: Participant, item: Item, *, item_set: ItemSet | None = None, score: int = 100, **said: Any
) -> Saved:
    """This person's answer is in the database: the same score for every output."""
    slot = Slot.objects.filter(participant=me, item=item).first()
    (criterion,) = me.study.config.criteria
    rows = tuple(
        AnswerRow(item.pk, output.pk, criterion.key, value=score, text=str(score))
        for output in item.outputs.all()
    )
    submission = Submission(
        **{
            "item": item,
            "rows": rows,
            "slot_id": slot.pk if slot else None,
            "item_set_id": item_set.pk if item_set else None,
            "version_id": me.study.version_id,
            **said,
        }
    )
    return submit_annotation(participant=me, submission=submission)
