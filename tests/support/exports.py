"""What tests of exports share: annotations with ratings, and reading a file back."""

import csv
import io
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from evalsite.data.files.services import Choice, stream_file
from evalsite.handout.models import Annotation, Rating, Slot
from evalsite.people.models import Participant
from evalsite.studies.models import Item, Study

START = datetime(2026, 11, 21, 12, 30, tzinfo=UTC)


@pytest.fixture
def study(make_study: Callable[..., Any]) -> Study:
    return make_study(items=2)


def annotate(
    study: Study, participant: Participant, item: Item, minute: int = 0, **fields: Any
) -> Annotation:
    """An annotation with three ratings, counted unless told otherwise."""
    moment = START + timedelta(minutes=minute)
    slot = None
    if fields.setdefault("status", "counted") == "counted":
        no = item.slots.count()  # type: ignore[attr-defined]
        slot = Slot.objects.create(
            study=study, item=item, no=no, pos=no, arrangement=0, state=2, participant=participant
        )
    annotation = Annotation.objects.create(
        study=study,
        item=item,
        participant=participant,
        slot=slot,
        key=uuid4(),
        started_at=moment,
        submitted_at=moment + timedelta(seconds=12.5),
        **{"order_shown": [2, 0, 1], **fields},
    )
    for output in item.outputs.all():  # type: ignore[attr-defined]
        Rating.objects.create(
            study=study,
            annotation=annotation,
            criterion="informativeness",
            output=output,
            value=50 + output.position,
            text=f" {50 + output.position}",
        )
    return annotation


def main_items(study: Study) -> list[Item]:
    return list(Item.objects.main().filter(study=study))


def export(study: Study, file: str = "ratings", **choice: Any) -> bytes:
    return b"".join(stream_file(study, Choice(file=file, **choice), by="a test"))


def read(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode(), newline=""), strict=True))
