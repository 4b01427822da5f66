"""Rows of items.csv: one for each output, with the inputs and the gold of its item."""

import json
from collections.abc import Iterator

from evalsite.exports.cells import PAGE, Source, make_pages, name_output, say, tell
from evalsite.exports.item_columns import list_item_columns
from evalsite.studies.models import Output, Study

_AT_ONCE = 256  # texts may be long
_FIELDS = (
    "position", "text", "system__name", "item_id", "item__key", "item__group", "item__cluster",
    "item__kind", "item__batch_id", "item__repeat_of__key", "item__held_at", "item__inputs",
    "item__extra", "item__gold",
)  # fmt: skip


def read_items(study: Study) -> Source:
    """The outputs of the study, in the order in which items were uploaded."""
    names = tuple(column.name for column in list_item_columns(study.config))
    return Source(names, (), make_pages(_read(study, names), _AT_ONCE))


def _read(study: Study, names: tuple[str, ...]) -> Iterator[list[str]]:
    outputs = Output.objects.filter(item__study=study).order_by("item_id", "position")
    for one in outputs.values_list(*_FIELDS, named=True).iterator(chunk_size=PAGE):
        extra = one.item__extra
        cells = {
            **one.item__inputs,
            **{f"gold_{name}": text for name, text in one.item__gold.items()},
            "study": str(study.pk),
            "batch": tell(one.item__batch_id),
            "item": one.item__key,
            "group": one.item__group,
            "cluster": one.item__cluster,
            "kind": one.item__kind,
            "repeat_of": tell(one.item__repeat_of__key),
            "held": say(one.item__held_at),
            "output_id": name_output(one.item__key, one.position),
            "system": tell(one.system__name),
            "output": one.text,
            "output_is_empty": say(not one.text),
            "extra": _dump(extra) if extra else "",
        }
        yield [_write(cells.get(name, "")) for name in names]


def _write(cell: object) -> str:
    # inputs that came with the protocol may be numbers or lists
    return cell if isinstance(cell, str) else _dump(cell)


def _dump(cell: object) -> str:
    # a database keeps the keys in an order of its own
    return json.dumps(cell, ensure_ascii=False, sort_keys=True)
