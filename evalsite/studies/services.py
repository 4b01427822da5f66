"""Making studies, and the items that come with their protocol."""

from typing import Any

from django.db import transaction

from evalsite.core.accounts.models import describe_contact
from evalsite.core.audit.models import AuditEntry
from evalsite.instruments.installed import get_protocol
from evalsite.instruments.questions import write_gold
from evalsite.instruments.schema import Instrument
from evalsite.studies.consent_sentences import count_identity_days
from evalsite.studies.items import item_keys
from evalsite.studies.models import InstrumentVersion, Item, Membership, Output, Study
from evalsite.studies.starter_texts import RECOGNISE_DAYS, write_summary
from evalsite.studies.version_cache import read_built


@transaction.atomic
def create_study(
    *, title: str, by: Any, protocol: str = "", instrument: InstrumentVersion | None = None,
    **fields: Any,
) -> Study:  # fmt: skip
    """Create a draft with its instrument's defaults and practice items, owned by who made it."""
    config = get_protocol(protocol) if instrument is None else read_built(instrument.pk, "")
    study = Study.objects.create(
        protocol=config.key,
        instrument=instrument,
        title=title,
        **{
            **list_defaults(config, is_built=instrument is not None),
            "recognise_days": RECOGNISE_DAYS,
            "identity_days": count_identity_days(),
            **describe_contact(by),
            **fields,
        },
    )
    Membership.objects.create(study=study, user=by, role=Membership.Role.OWNER)
    add_practice_items(study, study.config)
    AuditEntry.objects.record("study created", by=by, study_id=study.pk, protocol=config.key)
    return study


def list_defaults(config: Instrument, *, is_built: bool) -> dict[str, Any]:
    """Return the settings that a study of this instrument starts with, by field."""
    design = config.design
    # without comments and what else may stay open
    asked = sum(criterion.is_always_answered for criterion in config.criteria)
    defaults = {
        "options": config.default_options,
        "k": design.k,
        "set_size": design.set_size,
        "max_sets": design.max_sets,
        "groups": design.groups,
        "summary": write_summary(
            asked or len(config.criteria), is_one=config.item.outputs.most == 1
        ),
    }
    if is_built:
        # without practice items practice could not be done
        defaults |= {"language": config.language, "is_practice_on": bool(config.practice)}
    return defaults


def add_practice_items(study: Study, instrument: Instrument) -> None:
    """Add the practice items of an instrument to a study, in this order, outside every batch."""
    for number, example in enumerate(instrument.practice, start=1):
        item = Item.objects.create(
            study=study,
            kind=Item.Kind.PRACTICE,
            inputs=dict(example.cells),
            gold=write_gold(instrument, example) | {"why": example.why},
            **item_keys(study, key=f"practice-{number}", group=f"practice-{number}"),
        )
        Output.objects.bulk_create(
            Output(study=study, item=item, position=position, text=text)
            for position, text in enumerate(example.texts)
        )
