"""The first item of an uploaded file or of a draft, as instruments are chosen by it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Prefetch, QuerySet

from evalsite.builder.fitting import FileInput, FirstItem
from evalsite.data.importing import Report
from evalsite.data.items.columns import (
    OF_SYSTEM,
    find_tuple_size,
    is_numbered,
    makes_pairs,
)
from evalsite.data.items.open_inputs import find_kind, has_markdown
from evalsite.instruments.schema import KINDS_OF_OUTPUTS
from evalsite.studies.models import Item, Output, Study

# above this share of outputs with marks, outputs are Markdown
_OFTEN = 0.05
# items of a draft that are read to see what they hold
_READ = 200
# metadata that may have been an input of an earlier instrument, or be one of the next
_NAMES_OF_INPUTS = frozenset({
    "prompt", "question", "messages", "instruction", "source", "src", "reference", "ref",
    "document", "article", "text", "post", "evidence", "passage", "context", "goal", "data",
    "triples", "dialogue", "history", "review", "mr",
})  # fmt: skip
# kinds of instruments that no file tells from a text
_OF_INSTRUMENTS = ("code", "dialogue", "meaning representation", "review", "whole number")


# --- a file without a study ---------------------------------------------------------


def read_file(report: Report) -> FirstItem:
    """Return the first item of a file by what was found when it was checked on its own."""
    summary = report.summary
    example = summary["examples"][0]
    inputs = {
        column["name"]: FileInput(column["kind"], str(example["inputs"].get(column["name"], "")))
        for column in summary["inputs"]
    }
    is_marked = summary["markdown"] > _OFTEN and summary["output_kind"] == "text"
    size, more = divmod(summary["outputs"], max(1, summary["groups"]))
    sizes = {size + 1: more, size: summary["groups"] - more}
    fields = report.mapping.values()
    return FirstItem(
        inputs=inputs,
        outputs=dict(example["outputs"]),
        sizes={number: items for number, items in sizes.items() if items},
        output_kind="markdown" if is_marked else summary["output_kind"],
        words=summary["words"] + 2 * summary["output_words"],
        columns=[name for name, mapped in report.mapping.items() if not mapped],
        has_ids=summary["has_ids"] or OF_SYSTEM in fields or any(map(is_numbered, fields)),
    )


# --- a draft ------------------------------------------------------------------------


@dataclass
class Record:
    """An input with the outputs of all systems: what a file has as an item."""

    key: str
    first: Item
    extra: dict[str, Any] = field(default_factory=dict)
    outputs: list[Output] = field(default_factory=list)

    def add(self, item: Item) -> None:
        self.extra = {**item.extra, **self.extra}
        known = {output.system_id for output in self.outputs}
        self.outputs += [each for each in item.outputs.all() if each.system_id not in known]


def read_draft(study: Study) -> FirstItem:
    """Return the first item of a draft as instruments are chosen by it; empty without items."""
    items = list(list_main(study)[:_READ])
    if not items:
        return FirstItem(inputs={}, outputs={}, sizes={})
    record = next(list_records(study, items))
    config = study.config
    shown = [column for column in config.item.inputs if column.kind not in KINDS_OF_OUTPUTS]
    inputs = {}
    for column in shown:
        texts = [str(item.inputs.get(column.name, "")) for item in items]
        kind = find_kind(texts)
        is_known = kind == "text" and column.kind in _OF_INSTRUMENTS
        if any(texts):
            inputs[column.name] = FileInput(column.kind if is_known else kind, texts[0])
    for name, text in record.extra.items():
        if name in _NAMES_OF_INPUTS and name not in inputs and isinstance(text, str) and text:
            inputs[name] = FileInput(find_kind([text]), text)
    outputs = {str(output.system): output.text for output in record.outputs}
    texts = [output.text for item in items for output in item.outputs.all()]
    kind = "conversation" if find_kind(texts) == "conversation" else "text"
    if kind == "text" and sum(map(has_markdown, texts)) > _OFTEN * len(texts):
        kind = "markdown"
    page = [*(source.text for source in inputs.values()), *[*outputs.values()][:2]]
    return FirstItem(
        inputs=inputs,
        outputs=outputs,
        sizes=_count_sizes(study),
        output_kind=kind,
        words=sum(len(text.split()) for text in page),
        columns=[*record.extra, *record.first.inputs],
    )


def list_main(study: Study) -> QuerySet[Item]:
    """Return the items that people rate in the order of the file, with outputs and systems."""
    outputs = Prefetch("outputs", Output.objects.select_related("system").order_by("position"))
    return Item.objects.filter(study=study).main().order_by("id").prefetch_related(outputs)


def list_records(study: Study, items: Iterable[Item]) -> Iterator[Record]:
    """Put items together to records, in the order of the file."""
    is_single = study.config.item.outputs.most == 1
    records: dict[tuple[str, int], Record] = {}
    seen: Counter[tuple[str, Any]] = Counter()
    for item in items:
        key = str(item.extra.get("item", item.key))
        # of items of one output, those of a group belong together, each system once
        source, turn = item.group if is_single else key, 0
        if is_single:
            system = next((output.system_id for output in item.outputs.all()), None)
            turn = seen[source, system]
            seen[source, system] += 1
        records.setdefault((source, turn), Record(key, item)).add(item)
    yield from records.values()


def _count_sizes(study: Study) -> dict[int, int]:
    """Return the number of records by their number of outputs."""
    items = Item.objects.filter(study=study).main().order_by()
    if study.config.item.outputs.most == 1:
        groups = items.values("group").annotate(size=Count("outputs__system", distinct=True))
        return dict(Counter(groups.values_list("size", flat=True)))
    if not makes_pairs(study.config) and not find_tuple_size(study.config):
        sized = items.annotate(size=Count("outputs")).values_list("size", flat=True)
        return dict(Counter(sized))
    systems: defaultdict[str, set[Any]] = defaultdict(set)
    rows = Output.objects.filter(item__in=items).order_by()
    for key, source, system in rows.values_list("item__key", "item__extra__item", "system"):
        systems[source or key].add(system)
    return dict(Counter(map(len, systems.values())))
