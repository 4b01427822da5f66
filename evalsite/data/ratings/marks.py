"""Marks of passages that were made elsewhere: a WMT file as rows of ratings, and their values.

A value is a list of marks in JSON, as a page posts it, or ["none"]; the score follows from it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError

from evalsite.data.ratings.columns import RatingRow, shorten
from evalsite.data.ratings.items import FoundItem
from evalsite.data.tables.mqm import SOURCE, Passage, Segment, read_segments
from evalsite.data.tables.table import Refused, Row, Table, name_some
from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.scales import NONE, OUTPUT, parse_entry, write_json
from evalsite.lib.passages import as_shown
from evalsite.studies.items import number_segments
from evalsite.studies.models import Item, Output, Study

HEADER = ("participant", "item", "system", "criterion", "value")


# --- a WMT file as rows of ratings --------------------------------------------------------------


def turn_errors(table: Table, study: Study) -> Table:
    """Make a row of all that one rater marked in one output; Refused with the row at fault.

    An output is found by its system and text, as files of WMT have no ids of this study; where
    several are alike, by document and segment.
    """
    if study.config.marks_turns:
        raise Refused(
            "turns_marked",
            "This study marks passages in turns of conversations, and such a file has texts. "
            "Upload the marks as ratings, with the turn of each.",
        )
    criterion, *more = study.config.marking
    described = criterion.scale.describe_marks()
    categories = _name_options(described["options"])
    severities = _name_options(described["severities"])
    if more:
        raise Refused(
            "questions_several",
            "This study has several questions on passages, and such a file has one.",
        )
    source = next((name for name in criterion.scale.marked_columns if name != OUTPUT), SOURCE)
    labels = [option["label"] for option in described["severities"]]
    segments = read_segments(table, [*severities, *labels]).values()
    texts = _find_texts(study, source)

    def write_rows() -> Iterator[Row]:
        for segment in segments:
            known = _find_output(segment, texts)
            entries: list[Any] = [
                describe_passage(
                    passage,
                    source,
                    categories.get(_fold(passage.category), passage.category),
                    severities.get(_fold(passage.severity), passage.severity),
                )
                | _find_passage(segment, passage, known)
                for passage in segment.passages
            ]
            cells = [segment.rater, known.item if known else segment.item, segment.system,
                     criterion.key, write_json(entries or [NONE])]  # fmt: skip
            yield Row(segment.line, segment.record, cells)

    table.header, table.rows = [*HEADER], write_rows()
    table.unnamed, table.repeated = set(), {}
    return table


def _name_options(options: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the key of each option by all its names: key, label, and label behind its group."""
    names: dict[str, str] = {}
    for option in options:
        key, label, group = option["key"], option["label"], option.get("group", "")
        for name in (*([f"{group}/{label}"] if group else []), label, key):
            names.setdefault(_fold(name), key)
    return names


def _fold(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum() or letter == "/")


class KnownOutput(NamedTuple):
    """An output of the study with its source, as pages show them."""

    item: str
    place: str  # its document, and its number there, as mqm.tsv has them
    source: str
    target: str


def _find_texts(study: Study, source: str) -> dict[tuple[str, str], list[KnownOutput]]:
    """Return the outputs of the study by system and text."""
    outputs = Output.objects.filter(item__in=Item.objects.main().filter(study=study))
    rows = outputs.order_by("item_id", "position").values_list(
        "system__name", "text", "item__key", "item__cluster", "item__group", "item__inputs"
    )
    numbers = number_segments(study)
    texts: dict[tuple[str, str], list[KnownOutput]] = {}
    for system, text, item, cluster, group, inputs in rows.iterator(chunk_size=2_000):
        place = f"{cluster or group}:{numbers[group]}"
        known = KnownOutput(item, place, as_shown(str(inputs.get(source, ""))), as_shown(text))
        texts.setdefault((system or "", _even(text)), []).append(known)
    return texts


def _find_output(
    segment: Segment, texts: Mapping[tuple[str, str], Sequence[KnownOutput]]
) -> KnownOutput | None:
    known = texts.get((segment.system, _even(segment.target)), ())
    of_source = [output for output in known if _even(output.source) == _even(segment.source)]
    outputs = of_source or known
    if len(outputs) > 1:
        outputs = [output for output in outputs if output.place == segment.item]
    return outputs[0] if len(outputs) == 1 else None


def _even(text: str) -> str:
    """Return the text with single spaces: a file of WMT has no other breaks."""
    return " ".join(text.split())


def describe_passage(passage: Passage, source: str, category: str, severity: str) -> dict[str, Any]:
    """Return an error as a page posts it, without its place. `source`: the input that is marked."""
    return {
        "in": source if passage.place == SOURCE else OUTPUT,
        "category": category,
        "severity": severity,
        "note": passage.note,
    }


def place_passage(passage: Passage) -> dict[str, Any]:
    """Return where a passage is in a text that is the file's."""
    missing = {"missing": True} if passage.start == passage.end else {}
    return {"start": passage.start, "end": passage.end, "quote": passage.quote, **missing}


def _find_passage(segment: Segment, passage: Passage, known: KnownOutput | None) -> dict[str, Any]:
    """Return where a passage is; if the study has other breaks, by its words, and which of those
    that are alike it is."""
    is_source = passage.place == SOURCE
    text = segment.source if is_source else segment.target
    stored = known and (known.source if is_source else known.target)
    if text == stored:
        return place_passage(passage)
    missing = {"missing": True} if passage.start == passage.end else {}
    words, before = _even(passage.quote), _even(text[: passage.end])
    return {"quote": words, "nth": str(before.count(words) if words else ""), **missing}


# --- values -------------------------------------------------------------------------------------


class MarkReader:
    """Reads lists of marks and corrected texts, which need the texts of their items."""

    def __init__(self, study: Study) -> None:
        scales = [criterion.scale for criterion in study.config.criteria]
        self._conversations = study.config.conversations
        self.is_needed = any(scale.marked_columns or scale.rewrites for scale in scales)
        self._texts: dict[int, tuple[dict[str, Any], dict[int, str]]] = {}

    def load(self, items: Collection[int]) -> None:
        """The texts of these items are at hand."""
        missing = {pk for pk in items if pk not in self._texts}
        for pk, inputs in Item.objects.filter(pk__in=missing).values_list("pk", "inputs"):
            self._texts[pk] = (inputs, {})
        outputs = Output.objects.filter(item__in=missing).values_list("item_id", "pk", "text")
        for item, pk, text in outputs:
            self._texts[item][1][pk] = text

    def read(self, row: RatingRow, item: FoundItem, about: AnswerRow) -> tuple[AnswerRow, ...]:
        """Return the rows of the marks, and their score; ValidationError if something is wrong."""
        value = row.value.strip()
        if not value.startswith("["):
            raise ValidationError(
                "The score follows from the marks, and this cell has none. Upload the marks, as "
                "mqm.tsv has them."
            )
        inputs, outputs = self._texts[item.pk]
        scale = row.criterion.scale.for_item(inputs, self._conversations)
        scale = scale.for_output(outputs[about.output or 0])
        field = scale.make_field(row.criterion, "this output")
        self._check_categories(row, value)
        try:
            return scale.make_rows(field.clean(value), about, ())
        except ValidationError as error:
            if error.code == "empty":
                raise ValidationError(
                    "An error has no passage, and in this study something missing can’t be marked. "
                    "Put <v> and </v> around what is wrong."
                ) from None
            raise

    def read_corrected(
        self, row: RatingRow, item: FoundItem, about: AnswerRow
    ) -> tuple[AnswerRow, ...]:
        """Return the row of a corrected text; ValidationError if its number isn't that of it."""
        if not row.text.strip():
            raise ValidationError(
                "The edit rate follows from the corrected text, and this row has none. Upload the "
                "texts in a column text, as ratings.csv has them."
            )
        _inputs, outputs = self._texts[item.pk]
        scale = row.criterion.scale.for_output(outputs[about.output or 0])
        # a text that is as the output was looked at
        entry = scale.read_entry({"text": row.text, "text.same": "yes"}, "text")
        answer = scale.make_field(row.criterion, "this output").clean(entry)
        rows = scale.make_rows(answer, about, ())
        stored, value = rows[0].value, row.value.strip()
        if value and value not in (str(stored), f"{stored:.3f}"):
            raise ValidationError(
                f"The value is {shorten(value)}, but this text and its output give an edit rate of "
                f"{stored}. See whether the text is masked, or of another output."
            )
        return rows

    def _check_categories(self, row: RatingRow, value: str) -> None:
        known = [option["key"] for option in row.criterion.scale.describe_marks()["options"]]
        for entry in parse_entry(value) or ():
            category = "" if entry == NONE else str(entry.get("category") or "")
            if known and category and category not in known:
                raise ValidationError(
                    f"“{shorten(category)}” isn’t a category of {row.criterion.key}. It has: "
                    f"{name_some(known)}."
                )
