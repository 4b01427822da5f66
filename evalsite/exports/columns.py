"""Every column of every exported file, in order, declared once. Shared ones are in `column.py`."""

from dataclasses import replace
from math import log
from typing import Any

from evalsite.exports.column import (
    ANNOTATION,
    CIRCUMSTANCES,
    EXCLUDED,
    FLAG,
    ID,
    ITEM,
    ITEM_NUMBERS,
    MAY_SHARE,
    NUMBER,
    ONE_OF,
    OUTPUT_ID,
    PARTICIPANT,
    PERSON,
    PLACES,
    REPEAT_OF,
    SET,
    STATUS,
    STUDY,
    TEXT,
    TIMES,
    VERSION,
    WHOLE,
    WITHHELD,
    YES_NO,
    Column,
    name_output,
    write_json,
    write_known,
    write_text,
    yes_no,
)  # fmt: skip
from evalsite.exports.comment_rows import COMMENTS
from evalsite.exports.kind_columns import (
    MORE_OF_RATINGS,
)
from evalsite.exports.mqm_rows import MQM, list_marking
from evalsite.exports.people_columns import JUDGE_LABELS, METRICS, PARTICIPANTS
from evalsite.exports.simple_columns import list_simple_columns
from evalsite.instruments.scales import installed_scales
from evalsite.instruments.schema import Instrument
from evalsite.studies.models import Study

# --- ratings.csv --------------------------------------------------------------------------

_NO_PREFERENCE = "the rating is no preference"


def _name_output(row: Any) -> str:
    return f"{row.answer.item}#{row.number}" if row.number else ""


def _name_value(score: Any) -> str:
    if score.is_not_applicable:
        return str(score.scale.na_words)
    label: str = "" if score.value is None else score.scale.label_of_row(score.value, score.part)
    return label


RATINGS = (
    STUDY,
    VERSION,
    *ITEM,
    Column(
        "system", TEXT, "The system whose output is rated.",
        missing="the rating is a preference, or the output belongs to no system, as in practice",
        of="row",
    ),
    Column(
        "output_id", ID, "The output that is rated.",
        allowed=OUTPUT_ID, missing="the rating is a preference", of="row", cell=_name_output,
    ),
    Column("criterion", ONE_OF, "The quality that is judged.", of="score"),
    Column(
        "scale", ONE_OF, "The kind of scale.",
        missing="the protocol no longer has this criterion", of="score",
        cell=lambda score: score.scale.kind if score.scale else "",
    ),
    Column(
        "scale_min", WHOLE, "The lowest value allowed.",
        missing="as for scale", of="score",
        cell=lambda score: write_text(score.scale.minimum) if score.scale else "",
    ),
    Column(
        "scale_max", WHOLE, "The highest value allowed.",
        missing="as for scale", of="score",
        cell=lambda score: write_text(score.scale.maximum) if score.scale else "",
    ),
    Column(
        "better", ONE_OF, "Which values are better.",
        allowed="higher, lower, none",
        missing="the rating is a preference or words, or nobody said it of these numbers",
        of="score",
    ),
    Column(
        "value", WHOLE, "The rating.",
        allowed="scale_min to scale_max", of="score", cell=lambda score: write_text(score.value),
    ),
    Column(
        "label", TEXT, "The label of this value on the scale.",
        missing="the scale has none, as magnitudes", of="score",
        cell=lambda score: _name_value(score) if score.scale else "",
    ),
    Column(
        "value_typed", TEXT, "The value as it was typed, before spaces were trimmed.",
        missing="the value was chosen, not typed", of="score",
    ),
    Column(
        "standard", WHOLE, "The score of the standard that magnitudes of this item relate to.",
        missing="the scale is no magnitude",
        derived="from the study's options in that version, or the item's own column", of="score",
        cell=lambda score: write_text(score.standard),
    ),
    Column(
        "log_ratio", NUMBER, "The rating in proportion to the standard, on a log scale.",
        missing="as for standard", derived="ln(value / standard)", of="score",
        cell=lambda score: ""
        if score.standard is None or score.value is None
        else str(log(score.value / score.standard)),
    ),
    Column(
        "system_1", TEXT, "The first by name of the two systems compared.",
        missing=_NO_PREFERENCE, of="score", cell=lambda score: score.comparison.system_1,
    ),
    Column(
        "system_2", TEXT, "The second by name of the two systems compared.",
        missing=_NO_PREFERENCE, of="score", cell=lambda score: score.comparison.system_2,
    ),
    Column(
        "preferred", TEXT, "The system whose output is preferred.",
        missing="a tie, or no preference", of="score",
        cell=lambda score: score.comparison.preferred,
    ),
    Column(
        "outcome", ONE_OF, "Which of system_1 and system_2 is preferred.",
        allowed="1, tie, 2", missing=_NO_PREFERENCE, of="score",
        cell=lambda score: score.comparison.outcome,
    ),
    Column(
        "shown_first", TEXT, "The system whose output was first on the page.",
        missing="the rating is no preference, or the order is not known", of="score",
        cell=lambda score: score.comparison.shown_first,
    ),
    ANNOTATION,
    PARTICIPANT,
    PERSON,
    SET,
    Column(
        "place", WHOLE, "Position of the output on the page, from 1.",
        allowed="1 and more", missing="the rating is a preference, or the order is not known",
        of="row", cell=lambda row: row.answer.places.get(row.number, ""),
    ),
    *PLACES,
    *STATUS,
    *CIRCUMSTANCES,
    *EXCLUDED,
    *TIMES,
    Column(
        "file_row", WHOLE, "The record of the imported file that held the rating.",
        allowed="1 and more", missing="the rating was given here", of="row",
        cell=lambda rating: str(rating.file_row or ""),
    ),
)  # fmt: skip


# columns that have decimals if answers may have some
_OF_SCALE = ("scale_min", "scale_max", "value")


def _list_rating_columns(config: Instrument) -> tuple[Column, ...]:
    """List the columns, with the kinds of installed scales and what the numbers of each mean."""
    kinds = installed_scales()
    used = frozenset[str]().union(*(criterion.columns for criterion in config.criteria))
    columns = (*RATINGS, *(column for column in MORE_OF_RATINGS if column.name in used))
    notes = [scale.note_on_values for scale in kinds.values() if scale.note_on_values]
    allowed = {"scale": ", ".join(kinds), "value": ". ".join(["scale_min to scale_max", *notes])}
    has_decimals = any(criterion.scale.has_decimals for criterion in config.criteria)
    types = dict.fromkeys(_OF_SCALE, NUMBER) if has_decimals else {}
    return tuple(
        replace(
            column,
            allowed=allowed.get(column.name, column.allowed),
            type=types.get(column.name, column.type),
        )
        for column in columns
    )


# --- annotations.csv and highlights.csv -----------------------------------------------------

ANNOTATIONS = (
    STUDY,
    VERSION,
    *ITEM,
    ANNOTATION,
    PARTICIPANT,
    PERSON,
    SET,
    *PLACES,
    Column(
        "outcome", ONE_OF, "What the participant did with the item.",
        allowed="rated, ignored, reported, skipped",
    ),
    Column(
        "reason", TEXT, "Why the item was ignored.",
        missing="not ignored", cell=lambda answer: "" if answer.is_reported else answer.reason,
    ),
    Column(
        "problem", TEXT, "Which problem with the item was reported.",
        allowed="a short key, such as missing or offensive", missing="not reported",
        cell=lambda answer: answer.reason if answer.is_reported else "",
    ),
    Column(
        "note", TEXT, "The participant's comment. Read it before you share the file.",
        missing="nothing was written", withheld=WITHHELD,
    ),
    *STATUS,
    Column(
        "order_shown", TEXT, "The outputs of the item in their order on the page.",
        allowed="numbers of the item's outputs from 1, in that order, separated by spaces",
        missing="the order is not known",
        cell=lambda answer: " ".join(str(n) for n in answer.places if n in answer.outputs),
    ),
    Column(
        "ratings", WHOLE, "How many rows of ratings.csv belong to this annotation.",
        allowed="0 and more",
    ),
    Column(
        "gold_agrees", YES_NO, "Whether the answer to a practice, gold or attention item meets "
        "everything that its gold asks.",
        allowed=FLAG, missing="an item of another kind, a gold that asks nothing, or not rated",
        derived="as practice shows it to participants",
        cell=lambda answer: write_known(answer.agrees_with_gold),
    ),
    *CIRCUMSTANCES,
    *EXCLUDED,
    *TIMES,
)  # fmt: skip

HIGHLIGHTS = (
    STUDY,
    VERSION,
    *ITEM,
    Column(
        "system", TEXT, "The system whose output is marked.",
        missing="the output belongs to no system", of="row",
    ),
    Column(
        "output_id", ID, "The output that is marked.",
        allowed=OUTPUT_ID, of="row", cell=_name_output,
    ),
    ANNOTATION,
    PARTICIPANT,
    PERSON,
    SET,
    Column(
        "place", WHOLE, "Position of the output on the page, from 1.",
        allowed="1 and more", missing="the order is not known", of="row",
        cell=lambda row: row.answer.places.get(row.number, ""),
    ),
    Column(
        "start", WHOLE, "Where the marked passage begins: the number of Unicode code points "
        "before it.",
        allowed="0 and more", derived="in the output exactly as it was uploaded", of="row",
        cell=lambda mark: str(mark.start),
    ),
    Column(
        "end", WHOLE, "Where the marked passage ends: the number of code points up to its end.",
        allowed="more than start", derived="as start; marks that overlapped or touched were merged",
        of="row", cell=lambda mark: str(mark.end),
    ),
    Column("quote", TEXT, "The marked passage: the output from start up to end.", of="row"),
    *PLACES,
    *STATUS,
    *CIRCUMSTANCES,
    *EXCLUDED,
    *TIMES,
)  # fmt: skip

# of marks that answer a question
_OF_QUESTION = (
    Column("criterion", ONE_OF, "The question that the mark answers.", of="row"),
    Column(
        "input", TEXT, "The input in which the passage is marked, by its column.",
        missing="the passage is in the output", of="row",
    ),
    Column(
        "category", TEXT, "The category of the error, by its key.",
        allowed="a key of the instrument", missing="the question has no categories", of="row",
    ),
    Column(
        "severity", TEXT, "How severe the error is, by its key.",
        allowed="a key of the instrument", missing="the question has no severities", of="row",
    ),
    Column(
        "note", TEXT, "The note on the mark. Read it before you share the file.",
        missing="nothing was written", of="row", withheld=WITHHELD,
    ),
    Column(
        "weight", NUMBER, "The penalty of the error, which the score adds up.",
        missing="the marks of this question aren't added up",
        derived="from the weights of the instrument", of="row",
        cell=lambda mark: write_text(mark.weight),
    ),
)  # fmt: skip
_PLACES_IN_TEXT = {
    "start": "in the output, or the input, exactly as it was uploaded",
    "end": "as start",
}


def _list_mark_columns(config: Instrument) -> tuple[Column, ...]:
    """List the columns of marks, with more where they answer a question."""
    if not any(criterion.scale.marked_columns for criterion in config.criteria):
        return HIGHLIGHTS
    columns = [
        replace(column, derived=_PLACES_IN_TEXT.get(column.name, column.derived),
                allowed="start or more; start itself where something is missing after it"
                if column.name == "end" else column.allowed)
        for column in HIGHLIGHTS
    ]  # fmt: skip
    return (*columns, *_OF_QUESTION)


# --- items.csv: with the names of a batch file, so that it can be imported again ------------

_BEFORE_INPUTS = (
    STUDY,
    *ITEM,
    REPEAT_OF,
    Column(
        "held", YES_NO, "Whether the item is on hold after problem reports, so that nobody gets "
        "it.",
        allowed=FLAG, cell=lambda row: yes_no(row.held_at),
    ),
)  # fmt: skip
_OUTPUT = (
    Column(
        "output_id", ID, "The output, as the other files name it.",
        allowed=OUTPUT_ID, cell=lambda row: name_output(row.item, row.position),
    ),
    Column(
        "system", TEXT, "The system that produced the output.",
        missing="the output came with the protocol, as those of practice items do",
        cell=lambda row: row.system or "",
    ),
    Column(
        "output", TEXT, "The output, exactly as it was uploaded.",
        missing="the system gave nothing: output_is_empty says yes",
    ),
    Column(
        "output_is_empty", YES_NO, "Whether the system gave nothing.",
        allowed=FLAG, cell=lambda row: yes_no(not row.output),
    ),
)  # fmt: skip
_AFTER_GOLD = (
    Column(
        "gold_why", TEXT, "Why the right answers are right.",
        missing="no reason is given", cell=lambda row: row.gold.get("why", ""),
    ),
    Column(
        "extra", TEXT, "The metadata of the item: what other columns of the uploaded file held.",
        allowed="a JSON object: by column the text, or by system where the rows of the item differ",
        missing="there were no such columns, or they were empty",
        cell=lambda row: write_json(row.extra) if row.extra else "",
    ),
)  # fmt: skip


def _list_item_columns(config: Instrument) -> tuple[Column, ...]:
    inputs = [
        Column(
            column.name, TEXT, f"Input: {column.heading}, exactly as it was uploaded.",
            missing="the item has none",
            cell=lambda row, name=column.name: _write_input(row.inputs.get(name, "")),  # type: ignore[misc]
        )
        for column in config.columns
    ]  # fmt: skip
    gold = [
        Column(
            f"gold_{criterion.key}", TEXT,
            f"The right answer for {criterion.label or criterion.key}, in the notation of batches.",
            missing="none is known",
            cell=lambda row, key=criterion.key: row.gold.get(key, ""),  # type: ignore[misc]
        )
        for criterion in config.criteria
    ]  # fmt: skip
    return (*_BEFORE_INPUTS, *inputs, *_OUTPUT, *gold, *_AFTER_GOLD)


def _write_input(cell: object) -> str:
    # inputs that came with the protocol may be numbers or lists
    return cell if isinstance(cell, str) else write_json(cell)


# --- files ---


# what participants wrote or did
_OF_PEOPLE = {"ratings", "annotations", "highlights", "participants"}
# what is joined with the file for a quick look
_NUMBERED = {"ratings", "annotations", "items"}


def list_files(config: Instrument, *, asks_to_share: bool = False) -> dict[str, tuple[Column, ...]]:
    """List the data files that a study of this protocol has, with their columns in order."""
    files = {
        "ratings": _list_rating_columns(config),
        "annotations": ANNOTATIONS,
        "items": _list_item_columns(config),
        "highlights": _list_mark_columns(config),
        "participants": PARTICIPANTS,
        "metrics": METRICS,
    }
    return {
        name: (
            *columns,
            *([MAY_SHARE] if asks_to_share and name in _OF_PEOPLE else []),
            *(ITEM_NUMBERS if name in _NUMBERED else []),
        )
        for name, columns in files.items()
        if name != "highlights" or config.has_marks
    }


def list_downloads(
    config: Instrument, *, asks_to_share: bool = False
) -> dict[str, tuple[Column, ...]]:
    """List the files that a researcher can download: the data files, and one for a quick look."""
    files = list_files(config, asks_to_share=asks_to_share)
    share = (MAY_SHARE,) if asks_to_share else ()
    return {
        "ratings_simple": list_simple_columns(config), "comments": (*COMMENTS, *share), **files,
        "judge_labels": JUDGE_LABELS, **({"mqm": MQM} if list_marking(config) else {}),
    }  # fmt: skip


def list_files_of(study: Study) -> dict[str, tuple[Column, ...]]:
    """List the data files of this study, with the columns that its settings add."""
    files = list_files(study.config, asks_to_share=study.asks_to_share)
    return files | ({"judge_labels": JUDGE_LABELS} if study.judge_files.exists() else {})


def list_downloads_of(study: Study) -> dict[str, tuple[Column, ...]]:
    """List what a researcher can download of this study."""
    return list_downloads(study.config, asks_to_share=study.asks_to_share)
