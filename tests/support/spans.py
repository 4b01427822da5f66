"""A study of error spans whose answers are those of the reference vector."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from evalsite.handout.models import Slot
from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.schema import Criterion
from evalsite.lib.clock import now
from evalsite.participation.saving import Submission, submit_annotation
from evalsite.people.models import Participant
from evalsite.studies.models import Batch, Item, Output, Study, System
from evalsite.studies.services import item_keys
from tests.analysis.vectors import read_data
from tests.support.factories import launch, make_annotator
from tests.support.instruments import GALLERY, make_built_study

# the categories of the vector; the one with a sign that no key has is “punctuation” here
CATEGORIES = ("accuracy", "fluency", "punctuation", "style", "terminology", "non_translation")
SOURCE = "The station is old, and the lift is out of order until Friday."
KEYS = {"fluency/punctuation": "punctuation", "non-translation": "non_translation"}
Marks = list[dict[str, Any]]


def make_text(length: int) -> str:
    return ("DerBahnhof" * (length // 10 + 1))[:length]


def make_content(**scale: Any) -> dict[str, Any]:
    """The instrument MQM of the gallery, with the categories of the vector."""
    content: dict[str, Any] = json.loads((GALLERY / "mqm.json").read_bytes())
    content["practice"] = []
    asked = content["criteria"][0]["scale"]
    asked["categories"] = [
        {"key": key, "label": key.replace("_", " ").capitalize(), "group": "Errors"}
        for key in CATEGORIES
    ]
    asked["weights"] = [
        {"category": "punctuation", "severity": "minor", "weight": 0.1},
        {"category": "non_translation", "weight": 25},
    ]
    asked.pop("most")
    asked.update(scale)
    return content


def make_spans_study(items: int = 15, systems: str = "ABC", **fields: Any) -> Study:
    """A live study with an item for each output, and no answers."""
    content = fields.pop("content", None) or make_content()
    study = make_built_study(content, **{"k": 2, "set_size": 20, **fields})
    batch = Batch.objects.create(
        study=study, file_name="mt.csv", sha256="0" * 64, rows=items * len(systems)
    )
    lengths = {(row.item, row.system): row.length
               for row in read_data("spans_segments.csv").itertuples()}  # fmt: skip
    for number in range(1, items + 1):
        group = f"i{number:02}"
        for name in systems:
            item = Item.objects.create(
                study=study, batch=batch, inputs={"source": SOURCE},
                **item_keys(study, key=f"{group}/{name}", group=group),
            )  # fmt: skip
            system, _ = System.objects.get_or_create(study=study, name=name)
            text = make_text(lengths.get((group, name), 80))
            Output.objects.create(study=study, item=item, system=system, position=0, text=text)
    return launch(study)


def make_rows(criterion: Criterion, item: Item, marks: Marks) -> Iterator[AnswerRow]:
    """Yield the rows of an answer: its marks, or that there is none, and the score.

    A mark: start, end, category, severity, and perhaps a note and the column it is in.
    """
    output = item.outputs.get()
    total = 0.0
    for mark in marks:
        column = mark.get("column", "")
        text = str(item.inputs[column]) if column else output.text
        detail = {name: mark[name] for name in ("severity", "note") if mark.get(name)}
        part = f"{mark['category']}@{column}" if column else mark["category"]
        row = AnswerRow(
            item.pk, output.pk, criterion.key, part=part, text=text[mark["start"] : mark["end"]],
            detail=detail or None, start=mark["start"], end=mark["end"],
        )  # fmt: skip
        total += criterion.scale.describe_mark(row)["weight"] or 0.0
        yield row
    if not marks and getattr(criterion.scale, "none", None):
        yield AnswerRow(item.pk, output.pk, criterion.key, part="none", value=1)
    if getattr(criterion.scale, "score", "") == "sum":
        value = round(total, 3)
        whole = int(value) if value == int(value) else value
        yield AnswerRow(item.pk, output.pk, criterion.key, value=whole)


def answer_spans(me: Participant, item: Item, marks: Marks) -> None:
    """This person's answer is in the database and counts."""
    slot = Slot.objects.filter(item=item).free().order_by("no")[0]
    Slot.objects.filter(pk=slot.pk).update(
        state=Slot.State.LEASED, participant=me, lease_until=now() + timedelta(hours=1)
    )
    rows = tuple(make_rows(me.study.config.criteria[0], item, marks))
    submission = Submission(item=item, rows=rows, slot_id=slot.pk, version_id=me.study.version_id)
    submit_annotation(participant=me, submission=submission)


def answer_vector(study: Study) -> None:
    """Everything that the raters of the vector marked, and where they marked nothing."""
    marked: dict[tuple[str, ...], Marks] = {}
    for row in read_data("spans_errors.csv").itertuples():
        category = KEYS.get(row.category, row.category)
        mark = {"start": row.start, "end": row.end, "category": category, "severity": row.severity}
        marked.setdefault((row.rater, row.item, row.system), []).append(mark)
    items = {item.key: item for item in study.items.all()}
    people: dict[str, Participant] = {}
    for row in read_data("spans_segments.csv").itertuples():
        me = people.setdefault(row.rater, None) or make_annotator(study)
        people[row.rater] = me
        marks = marked.get((row.rater, row.item, row.system), [])
        answer_spans(me, items[f"{row.item}/{row.system}"], marks)
