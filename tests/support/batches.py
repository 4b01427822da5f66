"""Files for any protocol, made from what it declares, so that a new one is tested by itself."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from evalsite.data.items.importer import import_batch
from evalsite.data.items.items import CheckedItems as Checked
from evalsite.instruments.schema import InputColumn, Instrument
from evalsite.studies.models import Batch, Study
from tests.support.checking import check_file

SYSTEMS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")

Row = dict[str, str]


def make_rows(config: Instrument, items: int = 2, outputs: int = 0) -> list[Row]:
    """Rows without a fault: so many items, each with the fewest outputs that it may have."""
    return [
        {
            "item": f"item-{number}",
            **{column.name: sample_of(column, number) for column in config.columns},
            "system": SYSTEMS[place],
            "output": output_of(config, f"Output {place + 1} of item {number}."),
        }
        for number in range(1, items + 1)
        for place in range(outputs or config.item.outputs.least)
    ]


def output_of(config: Instrument, text: str) -> str:
    """A cell without a fault for an output that says this: where turns are rated a conversation."""
    if not config.asks_turns:
        return text
    roles = ["user", *(role for one in config.criteria if one.turns for role in one.turns.roles)]
    said = [{"role": role, "content": text} for role in dict.fromkeys(roles)]
    return json.dumps([*said, *said])


def sample_of(column: InputColumn, number: int) -> str:
    """A cell without a fault for this column; another one for each number."""
    match column.kind:
        case "whole number":
            return str(50 + number)
        case "meaning representation":
            return f"name[Place {number}], area[riverside]"
        case "dialogue":
            return f"A: Have you been to place {number}?\nB: Not yet."
        case "turns":
            return ""
        case "spans":
            return "[]"
    return f"We liked place {number}."


def text_columns(config: Instrument) -> list[str]:
    """The columns of a row that participants read."""
    inputs = [column.name for column in config.columns if column.kind != "whole number"]
    return [*inputs, "output"]


def write_csv(rows: Sequence[Mapping[str, str]]) -> str:
    """The rows as a file, with the columns of the first; lines end in LF."""
    buffer = io.StringIO(newline="")
    writer = csv.DictWriter(buffer, list(rows[0]), lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def line_of(rows: Sequence[Mapping[str, str]], record: int) -> int:
    """The physical line in which this record of the file starts, as an editor counts."""
    before = write_csv(rows[: record - 1]).count("\n") if record > 1 else 1
    return before + 1


def wide(config: Instrument, rows: Sequence[Mapping[str, str]]) -> list[Row]:
    """The same items with one row each, their outputs in numbered columns."""
    found: dict[str, Row] = {}
    for row in rows:
        own = {name: text for name, text in row.items() if name not in ("system", "output")}
        item = found.setdefault(row["item"], own)
        number = sum(name.startswith("system") for name in item) + 1
        item |= {f"system{number}": row["system"], f"output{number}": row["output"]}
    return list(found.values())


def check_rows(study: Study, rows: Sequence[Mapping[str, str]]) -> Checked:
    return check_file(io.BytesIO(write_csv(rows).encode()), study=study)


def import_rows(study: Study, rows: Sequence[Mapping[str, str]], **said: Any) -> Batch:
    """The rows are a batch of the study."""
    checked = check_rows(study, rows)
    assert [str(fault) for fault in checked.faults] == []
    given = {"file_name": "batch.csv", "sha256": "1", "by": None, **said}
    return import_batch(study=study, checked=checked, **given)


def told(checked: Checked) -> list[str]:
    return [str(fault) for fault in checked.faults]


def keep_first(study: Study, count: int) -> None:
    """The first items are left, this many or the few more that their groups hold."""
    items = list(study.items.main().order_by("pk"))
    groups = {item.group for item in items[:count]}
    study.items.main().exclude(group__in=groups).delete()
