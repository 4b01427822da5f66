"""The studies of fixtures/giving_out, and reading a dataset back with the standard library."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.core.management import call_command

from evalsite.data.files.dataset import Dataset, DatasetOptions, write_dataset
from evalsite.handout.models import Annotation, Rating, Slot
from evalsite.people.models import Participant
from evalsite.studies.models import Item, Output, Study
from tests.support.batches import import_rows
from tests.support.factories import FIXTURES, make_participant
from tests.support.instruments import make_built_study, read_instrument

Row = dict[str, Any]
GIVING_OUT = FIXTURES / "giving_out"
LABELS = ("Bad", "Poor", "Fair", "Good", "Excellent")
INPUT = {"name": "prompt", "label": "Question", "kind": "text"}
STEPS = [
    {"value": value, "label": label}
    for value, label in zip(
        (-3, -2, -1, 0, 1, 2, 3),
        ("much", "rather", "slightly", "equal", "slightly", "rather", "much"),
        strict=True,
    )
]


def read_lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def read_example(table: str) -> list[Row]:
    return read_lines(GIVING_OUT / f"{table}.jsonl")


def make_rated(
    *, key: str = "fluency", better: str = "higher", is_empty: bool = False, **fields: Any
) -> Study:
    """The study of 27 ratings: three systems, three questions, three raters."""
    content = read_instrument("quality")
    points = [{"value": place, "label": label} for place, label in enumerate(LABELS, start=1)]
    content["item"]["inputs"] = [INPUT]
    content["practice"] = []
    content["criteria"] = [
        {
            "key": key, "label": key.capitalize(), "per": "output", "question": "How fluent?",
            "better": better,
            "scale": {"kind": "likert", "points": points, "not_applicable": "Doesn’t apply"},
        }
    ]  # fmt: skip
    study = make_built_study(content, **fields)
    rows = read_example("ratings")
    if is_empty:
        return study
    import_rows(study, [_make_item(row) for row in rows[::3]])
    _keep_ids(study, rows)
    for row in rows:
        value = {} if row["value"] is None else {"value": int(row["value"])}
        detail = {"detail": {"na": True}} if row["not_applicable"] else {}
        add_rating(study, row, key, output=row["system"], **value, **detail)
    return study


def _keep_ids(study: Study, rows: list[Row]) -> None:
    """The ids were others in the file, as those with spaces are."""
    for row in rows[::3]:
        kept = {"source_id": row["source_id"]}
        Item.objects.filter(study=study, key=row["item"]).update(extra=kept)


def _make_item(row: Row) -> dict[str, str]:
    return {
        "item": row["item"], "group": row["group"], "prompt": row["input_prompt"],
        "system": row["system"], "output": row["output"],
    }  # fmt: skip


def make_compared(*, key: str = "better", is_empty: bool = False, **fields: Any) -> Study:
    """The study of 15 comparisons of the same outputs."""
    content = read_instrument("which_is_better")
    content["item"]["inputs"] = [INPUT]
    content["practice"] = []
    tags = [{"key": reason, "label": reason} for reason in ("complete", "correct")]
    content["criteria"] = [
        {
            "key": key, "label": "Better", "per": "item", "question": "Which is better?",
            "scale": {
                "kind": "preference", "points": STEPS,
                "tags": {"label": "Why?", "about": "each output", "options": tags},
                "both_good": "Both good", "both_bad": "Both bad",
            },
        }
    ]  # fmt: skip
    study = make_built_study(content, **fields)
    if is_empty:
        return study
    rows = read_example("comparisons")
    pairs = [
        {
            "item": row["item"], "group": row["group"], "prompt": row["input_prompt"],
            "system": row[f"system_{side}"], "output": row[f"output_{side}"],
        }
        for row in rows[::3]
        for side in (1, 2)
    ]  # fmt: skip
    import_rows(study, pairs)
    _keep_ids(study, rows)
    for row in rows:
        chosen = {"1": row["system_1"], "2": row["system_2"]}.get(row["outcome"])
        detail: dict[str, Any] = {}
        if row["outcome"].startswith("both_"):
            detail["both"] = row["outcome"].removeprefix("both_")
        if row["reasons"]:
            output = Output.objects.get(
                item__study=study, item__key=row["item"], system__name=chosen
            )
            detail["reasons"] = {str(output.pk): row["reasons"]}
        value = row["strength"] if chosen else 0
        add_rating(study, row, key, output=chosen, value=value, detail=detail or None)
    return study


def add_rating(
    study: Study, row: Row, criterion: str, *, output: str | None, **fields: Any
) -> Annotation:
    """What this row says, as an answer of its rater."""
    rater = Participant.objects.filter(study=study, pseudonym=row["rater"]).first()
    if rater is None:
        agreed = {"consented_to": "0" * 64, "may_share": True}
        rater = make_participant(study, pseudonym=row["rater"], **agreed)
    item = Item.objects.get(study=study, key=row["item"])
    outputs = {output.system.name: output for output in item.outputs.select_related("system")}
    saved = datetime.fromisoformat(row["submitted_at"])
    no = item.slots.count()
    slot = Slot.objects.create(
        study=study, item=item, no=no, pos=no, arrangement=0, state=2, participant=rater
    )
    first = outputs[row["shown_first"]].position if row.get("shown_first") else 0
    answer = Annotation.objects.create(
        study=study, item=item, participant=rater, slot=slot, key=uuid4(), submitted_at=saved,
        started_at=saved - timedelta(seconds=row["seconds"]), status="counted",
        order_shown=[first, *(place for place in range(len(outputs)) if place != first)],
    )  # fmt: skip
    rated = outputs[output] if output else None
    Rating.objects.create(
        study=study, annotation=answer, criterion=criterion, output=rated, **fields
    )
    return answer


def write(study: Study, folder: Path, **options: Any) -> tuple[Dataset, dict[str, list[Row]]]:
    """The dataset as JSON lines, and its rows by table."""
    made = write_dataset(study, DatasetOptions(**options), folder)
    return made, {table: read_lines(folder / path) for table, path in made.files.items()}


# --- outputs that came from tools -----------------------------------------------------------------


def import_from_tool(*files: Path, **fields: Any) -> Study:
    """A study of fluency with these files of a tool, imported by the command."""
    study = make_rated(is_empty=True, **fields)
    options = ["--empty-outputs", "show"] if len(files) > 1 else []
    call_command("import_batch", str(study.pk), *map(str, files), *options, stdout=StringIO())
    return study


def rate_as_in_the_example(study: Study, systems: Mapping[str, str]) -> None:
    """Raters give each output what they gave the one of the example in the same place.

    `systems`: those of the example by the study's names.
    """
    rows = read_example("ratings")
    for system, name in systems.items():
        items = Item.objects.main().filter(study=study, outputs__system__name=system)
        for item, group in zip(items.order_by("pk"), ("s1", "s2", "s3"), strict=False):
            for row in rows:
                if (row["group"], row["system"]) == (group, name):
                    moved = row | {"item": item.key}
                    add_rating(study, moved, "fluency", output=system, value=int(row["value"]))
