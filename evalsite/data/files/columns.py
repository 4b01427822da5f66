"""Every column of every exported file, in order, declared once."""

import json
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from math import log
from operator import attrgetter
from typing import Any, Literal

from evalsite.data.tables.mqm import NO_ERROR
from evalsite.instruments.answer import ORDER_SHOWN, SYSTEMS_SHOWN
from evalsite.instruments.scales import COMMENT, NA, installed_scales
from evalsite.instruments.schema import Criterion, Instrument
from evalsite.studies.models import Study

# --- what a column is, how its cells are written, and what several files share

# Types, as the codebook names them. "text" is free: the option for spreadsheets guards it.
ID, TEXT, WHOLE, NUMBER = "id", "text", "whole number", "number"
ONE_OF, YES_NO, TIME = "one of", "yes or no", "time"
ISO = "UTC, as 2026-11-21T12:30:00.000000Z"

Cell = Callable[[Any], str]


@dataclass(frozen=True)
class Column:
    """One column of a file: what the codebook says of it, and the function that gives its cells.

    Without a function, the cell is the attribute of the row that has the column's name. `missing`
    says what an empty cell means. `of` says what cells depend on, since what rows share is put
    together once: the annotation ("answer"), the row ("row"), or its score ("score"). `withheld`:
    of words that people wrote, what stands in their place where they are left out.
    """

    name: str
    type: str
    meaning: str
    _: KW_ONLY
    allowed: str = ""
    missing: str = ""
    derived: str = ""
    of: Literal["answer", "row", "score"] = "answer"
    cell: Cell | None = None
    withheld: str | None = None

    @property
    def get_cell(self) -> Cell:
        return self.cell or attrgetter(self.name)


# in place of words that people wrote
WITHHELD = "(left out)"

# --- how cells are written --------------------------------------------------------------


def yes_no(flag: Any) -> str:
    return "yes" if flag else "no"


def write_known(flag: bool | None) -> str:
    return "" if flag is None else yes_no(flag)


def write_text(cell: object) -> str:
    return "" if cell is None else str(cell)


def write_time(moment: datetime) -> str:
    utc = moment.astimezone(UTC)
    return f"{utc.isoformat(timespec='microseconds')[:26]}Z"


def write_time_text(moment: str) -> str:
    """Write a moment that the database gives as a text in UTC; zeros at its end may be missing."""
    if len(moment) > 25 and moment[20:26].isdigit():
        return f"{moment[:10]}T{moment[11:26]}Z"
    return write_time(datetime.fromisoformat(moment).replace(tzinfo=UTC))


def write_seconds_between(first: str, last: str) -> str:
    read = datetime.fromisoformat
    return str((read(last) - read(first)).total_seconds())


def write_score(value: float) -> str:
    """Write the shortest text that gives this very number when it is read."""
    return repr(value).removesuffix(".0")


def write_json(cell: object) -> str:
    # a database keeps the keys in its own order
    return json.dumps(cell, ensure_ascii=False, sort_keys=True)


def name_output(item: str, position: int) -> str:
    """Return the id of an output: the same in every installation that holds the study."""
    return f"{item}#{position + 1}"


# --- shared by several files ------------------------------------------------------------

FLAG = "yes, no"
OUTPUT_ID = "the item's id, # and the number of the output in the item, such as item-7#2"

STUDY = Column("study", ID, "The study.", allowed="a UUID")
PARTICIPANT = Column(
    "participant", ID, "The participant, under a random pseudonym that isn't made from anything "
    "about the person.",
)  # fmt: skip
PERSON = Column(
    "person", YES_NO, "Whether the participant is a single person.",
    allowed=FLAG,
    derived="no only if the ratings were imported and declared not to be by single persons",
)  # fmt: skip
EXCLUDED = (
    Column(
        "excluded", YES_NO, "Whether a researcher has excluded this annotation, or its "
        "participant, from the analysis.",
        allowed=FLAG, cell=lambda row: yes_no(row.reasons),
    ),
    Column(
        "exclusion_reason", TEXT, "The reasons for the exclusion, separated by semicolons.",
        missing="not excluded", cell=lambda row: "; ".join(row.reasons),
    ),
)  # fmt: skip
# last in the files of studies that ask
MAY_SHARE = Column(
    "may_share", YES_NO, "Whether the participant agreed that these answers may be shared. Those "
    "of a participant who didn't are for the team of the study only.",
    allowed=FLAG, missing="not asked: imported, or the participant didn't agree to take part",
)  # fmt: skip
VERSION = Column(
    "version", WHOLE, "Number of the study's version that the participant was shown.",
    allowed="1 and more", missing="answered before the first launch, or imported",
)  # fmt: skip
ITEM = (
    Column(
        "batch", ID, "The uploaded file that the item came in.",
        allowed="a UUID",
        missing="the item came with the protocol, as practice items do, or is a repeat",
        cell=lambda row: write_text(row.batch),
    ),
    Column(
        "item", ID, "The item, by its id in the uploaded file.",
        allowed="1 to 128 of A-Z a-z 0-9 . _ : / -",
        derived="row-0001 and on if the file had no ids; id/1, id/2 and on if one id had several "
        "outputs that are shown one by one; a repeat has the id of its item and in brackets the "
        "order of the outputs, as in “id (repeat 2-1)”",
    ),
    Column(
        "group", ID, "Items that share one input have the same group.",
        allowed="as item",
        derived="if the file names none: inputs- and the start of a SHA-256 of the inputs",
    ),
    Column(
        "cluster", ID, "Groups that belong together, such as the turns of one conversation.",
        allowed="as item", missing="the file named none",
    ),
    Column(
        "kind", ONE_OF, "What the item is for. Only main items belong in results.",
        allowed="main, practice, gold, attention, repeat, withdrawn (a main item until then)",
    ),
)  # fmt: skip
# last in the files of what is rated, and first in the file for a quick look
ITEM_NUMBERS = (
    Column(
        "item_no", WHOLE, "The item as a whole number, which is the same in every file of the "
        "study and which no program misreads: join files on it.",
        allowed="1 and more",
        derived="counted over the study's items in the order in which they were added; items that "
        "are taken back leave a gap while later ones are there",
    ),
    Column(
        "group_no", WHOLE, "The group as a whole number, which is the same in every file of the "
        "study.",
        allowed="1 and more", derived="item_no of the first item of the group",
    ),
)  # fmt: skip
ANNOTATION = Column(
    "annotation", ID, "Everything one participant submitted for one item; the key that joins the "
    "files.",
    allowed="a UUID",
)  # fmt: skip
SET = Column(
    "set", WHOLE, "Which of the participant's sets the item was in.",
    allowed="1 and more", missing="answered outside a set, as practice is",
)  # fmt: skip
REPEAT_OF = Column(
    "repeat_of", ID, "The item that this one shows again.",
    allowed="as item", missing="not a repeat",
)  # fmt: skip
PLACES = (
    Column(
        "place_in_group", WHOLE, "Position of this item within its group, for this participant.",
        allowed="1 and more",
        derived="counted over all of the participant's annotations, in the order of `annotation`",
    ),
    Column(
        "place_in_set", WHOLE, "Position of the item in the set.",
        allowed="1 and more", missing="answered outside a set",
    ),
    Column(
        "trial", WHOLE, "Position of this annotation among all of the participant's annotations.",
        allowed="1 and more", derived="practice is counted too, in the order of `annotation`",
    ),
    REPEAT_OF,
)  # fmt: skip
STATUS = (
    Column(
        "status", ONE_OF, "Whether the annotation is one of the k that the item needs.",
        allowed="counted; surplus (beyond the k); control (practice, gold, attention, repeat); "
        "pilot; skipped (left to someone else); withdrawn",
    ),
    Column(
        "origin", ONE_OF, "Where the annotation comes from. Simulated ones aren't data.",
        allowed="own, imported, simulated",
    ),
)  # fmt: skip
CIRCUMSTANCES = (
    Column(
        "aids", YES_NO, "Whether the page had aids beyond the exact instrument.",
        allowed=FLAG,
    ),
    Column(
        "device", TEXT, "Width class and orientation of the window, as reported by the browser.",
        allowed="such as wide-landscape or narrow-portrait",
        missing="not reported, as without scripts",
    ),
    Column(
        "language", TEXT, "The browser's first language.",
        allowed="a language tag such as en-GB", missing="not reported",
    ),
)  # fmt: skip
_IMPORTED = "the annotation was imported"
TIMES = (
    Column(
        "revisions", WHOLE, "How often the participant changed the answer; this is the last one.",
        allowed="0 and more",
    ),
    Column(
        "started_at", TIME,
        "When the item was first shown to the participant; on a sheet with all items of a set, "
        "when the answer before this one was saved, if that is later.",
        allowed=ISO, missing=_IMPORTED,
        cell=lambda answer: "" if answer.is_imported else write_time_text(answer.started_at),
    ),
    Column(
        "submitted_at", TIME, "When the answer was saved.",
        allowed=ISO, missing=_IMPORTED,
        cell=lambda answer: "" if answer.is_imported else write_time_text(answer.submitted_at),
    ),
    Column(
        "seconds", NUMBER, "Seconds from shown to saved.",
        missing=_IMPORTED, derived="submitted_at - started_at, both by the server's clock",
        cell=lambda answer: ""
        if answer.is_imported
        else write_seconds_between(answer.started_at, answer.submitted_at),
    ),
    Column(
        "active_seconds", NUMBER,
        "Seconds in which the page was visible and in use; on a sheet, with this item in view.",
        missing="not reported, as without scripts",
        derived="as reported by the browser; informative only",
        cell=lambda answer: "" if answer.active_ms is None else str(answer.active_ms / 1000),
    ),
    Column(
        "time_given", TEXT, "The time of the answer, exactly as the imported file gives it.",
        missing="the file gives none, or the rating was given here",
        derived="the first, if the rows of one answer have several times",
    ),
)  # fmt: skip


# --- ratings.csv: what only some kinds of questions need

TURN = Column(
    "turn", WHOLE, "The turn of the conversation that is rated, by its number.",
    allowed="1 and more", missing="the rating is of the conversation as a whole", of="row",
    cell=lambda row: str(row.turn or ""),
)  # fmt: skip


def _read_detail(name: str, score: Any) -> str:
    return str((score.detail or {}).get(name, ""))


# behind all others, and only in files of instruments that use them
MORE_OF_RATINGS = (
    Column(
        "part", TEXT, "Which statement or option of the question the row is of, by its key.",
        allowed=f"a key of the instrument, or {COMMENT}",
        missing="the answer to the question itself", of="score",
    ),
    Column(
        "text", TEXT, "The words that were written. Read them before you share the file.",
        missing="nothing was to be written", of="score", withheld=WITHHELD,
    ),
    Column(
        "not_applicable", YES_NO, "Whether the participant said that the question doesn’t apply.",
        allowed=FLAG, of="score", cell=lambda score: yes_no(score.is_not_applicable),
    ),
    Column(
        "option", TEXT, "The option that was chosen, by its key.",
        missing="not a choice of one option", of="score",
        cell=lambda score: (score.detail or {}).get("option", ""),
    ),
    Column(
        "both", ONE_OF, "Whether both outputs were called good, or both bad.",
        allowed="good, bad", missing="neither was said", of="score",
        cell=lambda score: (score.detail or {}).get("both", ""),
    ),
    Column(
        "reasons", TEXT, "The reasons that were ticked, by their keys, for each output.",
        allowed="such as item-7#1: complete useful; item-7#2: incorrect",
        missing="none was ticked", of="row", cell=lambda row: _write_reasons(row),
    ),
    TURN,
    *(
        Column(
            name, WHOLE, words, missing="not a corrected text", of="score",
            cell=partial(_read_detail, name),
        )
        for name, words in (
            ("insertions", "Words that were inserted to correct the output."),
            ("deletions", "Words that were deleted to correct the output."),
            ("substitutions", "Words that took the place of others to correct the output."),
            ("words", "Words of the corrected text."),
        )
    ),
    Column(
        SYSTEMS_SHOWN, TEXT, "The systems whose outputs were put in order together.",
        allowed="a JSON list of names, in the order of the file",
        missing="the rating is not part of an order", of="row",
        cell=lambda row: _list_systems(row) if _is_of_order(row) else "",
    ),
    Column(
        ORDER_SHOWN, TEXT, "The outputs that were put in order, in their order on the page.",
        allowed="numbers of the item's outputs from 1, separated by spaces",
        missing="the rating is not part of an order, or how they were shown is not known", of="row",
        cell=lambda row: _write_order(row.answer) if _is_of_order(row) else "",
    ),
)  # fmt: skip


# --- of criteria, in files with a column for each --------------------------------------------


def comment_column(criterion: str) -> str:
    """Name the column of comments on a criterion in a wide file."""
    return f"{criterion}_{COMMENT}"


def describe_criterion(criterion: Criterion) -> Column:
    cell, is_number, allowed = criterion.scale.describe_wide()
    number = NUMBER if criterion.scale.has_decimals else WHOLE
    return Column(
        criterion.key, number if is_number else TEXT,
        f"{criterion.label or criterion.key}: {cell}.",
        allowed=allowed,
        missing="not rated: the criterion does not apply to this row, or was left out", of="row",
        cell=lambda row: row.values.get(criterion.key, ""),
        withheld=WITHHELD if "text" in criterion.scale.columns and not is_number else None,
    )  # fmt: skip


def _is_of_order(row: Any) -> bool:
    return row.score.scale is not None and row.score.scale.orders


def _write_order(answer: Any) -> str:
    return " ".join(str(number) for number in answer.places if number in answer.outputs)


def _list_systems(row: Any) -> str:
    return write_json([name or "" for _pk, name in row.answer.outputs.values()])


# --- how reasons are written ------------------------------------------------------------------


def _number_of(reason: tuple[str, Any]) -> int:
    """Return the number of an output, so that 9 comes before 10; 0 for reasons about all."""
    return int(reason[0]) if reason[0].isdecimal() else 0


def _write_reasons(row: Any) -> str:
    reasons = (row.score.detail or {}).get("reasons", {})
    numbers = {str(pk): number for number, (pk, _name) in row.answer.outputs.items()}
    return "; ".join(
        f"{row.answer.item}#{numbers[pk]}: {' '.join(keys)}" if pk in numbers else " ".join(keys)
        for pk, keys in sorted(reasons.items(), key=_number_of)
    )


# --- ratings_simple.csv, for default readers: one or more for each criterion

# what a row holds of a criterion, each part in a column of its own
VALUE, STRENGTH, REASONS = "", "strength", "reasons"
_FIRST = (
    *ITEM_NUMBERS,
    *(column for column in ITEM if column.name in ("item", "group")),
    Column(
        "source_id", ID, "The id in the uploaded file of what the item was made from.",
        derived="item, without the number at its end if the outputs or pairs of one id became "
        "several items", of="row",
    ),
    *(column for column in ITEM if column.name == "cluster"),
)  # fmt: skip
_SYSTEM = Column("system", TEXT, "The system whose output is rated.", of="row")
_SYSTEMS = (
    Column(
        "system_1", TEXT, "The first by name of the two systems compared.", of="row",
        cell=lambda row: row.comparison.system_1,
    ),
    Column(
        "system_2", TEXT, "The second by name of the two systems compared.", of="row",
        cell=lambda row: row.comparison.system_2,
    ),
)  # fmt: skip
_NOTE = Column(
    COMMENT, TEXT, "The participant’s comment on the item. Read it before you share the file.",
    missing="nothing was written", cell=lambda answer: answer.note,
)  # fmt: skip
_SHOWN_FIRST = Column(
    "first", TEXT, "The system whose output was first on the page.",
    missing="the order is not known", of="row", cell=lambda row: row.comparison.shown_first,
)  # fmt: skip
_POSITION = next(
    replace(column, name="position", cell=lambda answer: answer.place_in_set)
    for column in PLACES
    if column.name == "place_in_set"
)
_SECONDS = next(column for column in TIMES if column.name == "seconds")
_TAGS = Column(
    "tags", TEXT, "The tags of the item: what the column tags of the uploaded file held.",
    missing="the file had no such column, or the cell was empty", of="row",
)  # fmt: skip


def list_simple_columns(config: Instrument) -> tuple[Column, ...]:
    """List what was rated, by whom, the columns of each criterion, and how it came about."""
    of_output = any(criterion.is_of_outputs for criterion in config.criteria)
    compares = not of_output and any(criterion.scale.compares for criterion in config.criteria)
    before = [*_FIRST, *([_SYSTEM] if of_output else _SYSTEMS if compares else []), PARTICIPANT]
    after = [
        *([_NOTE] if config.has_note else []),
        _SHOWN_FIRST if compares else _POSITION,
        _SECONDS,
        *([TURN] if config.asks_turns else []),
    ]
    last = [_TAGS, EXCLUDED[0]]
    taken = {column.name for column in (*before, *after, *last)}
    of_criteria = _list_of_criteria(config, taken)
    return (
        *before,
        *(column for part, column in of_criteria if part != NA),
        *after,
        *(column for part, column in of_criteria if part == NA),
        *last,
    )


def _list_of_criteria(config: Instrument, taken: set[str]) -> list[tuple[str, Column]]:
    """List the columns of the criteria under names that are not taken."""
    columns = [pair for criterion in config.criteria for pair in _describe(criterion)]
    # the keys of criteria come first: what is added to a key gives way to them
    for is_value in (True, False):
        for place, (part, column) in enumerate(columns):
            if (part == VALUE) is is_value:
                name = column.name
                while name in taken:
                    name = f"{name}_rating"
                taken.add(name)
                columns[place] = (part, replace(column, name=name))
    return columns


def _describe(criterion: Criterion) -> Iterator[tuple[str, Column]]:
    """Describe the columns of a criterion, each with the part of the answer that it holds."""
    key, scale = criterion.key, criterion.scale
    label = criterion.label or key
    value = replace(describe_criterion(criterion), cell=_read(key, VALUE))
    if scale.compares:
        value = replace(value, allowed="a system’s name, tie, both_good or both_bad")
    yield VALUE, value
    if scale.compares and scale.maximum > 1:
        yield STRENGTH, Column(
            f"{key}_{STRENGTH}", WHOLE, f"{label}: how much better the preferred output is.",
            allowed=f"1 to {scale.maximum}", missing="neither output is preferred",
            of="row", cell=_read(key, STRENGTH),
        )  # fmt: skip
    if REASONS in scale.columns:
        yield REASONS, Column(
            f"{key}_{REASONS}", TEXT, f"{label}: the reasons that were ticked, by their keys.",
            allowed="such as v2: clear; v1: short. A reason about both outputs names no system",
            missing="none was ticked", of="row", cell=_read(key, REASONS),
        )  # fmt: skip
    if criterion.comment:
        yield COMMENT, Column(
            comment_column(key), TEXT,
            f"The comment on {label}. Read it before you share the file.",
            missing="nothing was written", of="row", cell=_read(key, COMMENT),
        )  # fmt: skip
    if has_na(criterion):
        yield NA, Column(
            f"{key}_{NA}", YES_NO,
            f"{label}: whether the participant said that the question doesn’t apply.",
            allowed=FLAG, missing="not answered", of="row", cell=_read(key, NA),
        )  # fmt: skip


def has_na(criterion: Criterion) -> bool:
    """Return whether an answer as a whole may be “not applicable”; statements say so in cells."""
    return bool({"not_applicable", "part"} & criterion.scale.columns == {"not_applicable"})


def _read(key: str, part: str) -> Cell:
    return lambda row: row.values.get((key, part), "")


# --- participants.csv, metrics.csv, judge_labels.csv and comments.csv

PARTICIPANTS = (
    STUDY,
    PARTICIPANT,
    PERSON,
    Column(
        "origin", ONE_OF, "Where the participant comes from. Simulated ones aren't data.",
        allowed="own, imported, simulated",
    ),
    Column(
        "pilot", YES_NO, "Whether this is a pilot, whose answers are never part of the results.",
        allowed=FLAG, cell=lambda person: yes_no(person.is_pilot),
    ),
    Column(
        "arrived_at", TIME, "When the participant first pressed Start.",
        allowed=ISO, missing="the participant came with imported ratings",
        cell=lambda person: "" if person.is_imported else write_time(person.created_at),
    ),
    Column(
        "consent", YES_NO, "Whether the participant agreed to take part.",
        allowed=FLAG, missing="imported: known to those who collected the ratings",
        cell=lambda person: "" if person.is_imported else yes_no(person.consented_to),
    ),
    Column(
        "eligible", YES_NO, "Whether the answers to the entry questions allowed taking part.",
        allowed=FLAG, missing="not asked, or not answered",
        cell=lambda person: write_known(person.is_eligible),
    ),
    Column(
        "tries", WHOLE, "How many attempts at the qualification the participant finished.",
        allowed="0 and more", cell=lambda person: str(person.tries),
    ),
    Column(
        "qualified", YES_NO, "Whether one of these attempts reached the pass mark.",
        allowed=FLAG, missing="not decided yet, or the study asks for no qualification",
        cell=lambda person: write_known(person.is_qualified),
    ),
    Column(
        "sets_finished", WHOLE, "How many sets the participant finished.",
        allowed="0 and more", cell=lambda person: str(person.sets_finished),
    ),
    Column(
        "answers", WHOLE, "How many items the participant answered, without practice, checks and "
        "repeats.",
        allowed="0 and more", derived="rows of annotations.csv with this participant and kind main",
        cell=lambda person: str(person.answers),
    ),
    Column(
        "bonus", YES_NO, "Whether the bonus for completing all sets is due to this participant.",
        allowed=FLAG, missing="imported",
        derived="yes once the participant has finished as many sets as one person may complete; "
        "or fewer, if they finished all they got and no further set was available",
        cell=lambda person: "" if person.is_imported else yes_no(person.has_bonus),
    ),
    Column(
        "withdrawn_at", TIME, "When the participant withdrew from the study.",
        allowed=ISO, missing="not withdrawn",
        cell=lambda person: "" if person.withdrawn_at is None else write_time(person.withdrawn_at),
    ),
    replace(
        EXCLUDED[0], meaning="Whether a researcher has excluded the participant from the analysis."
    ),
    EXCLUDED[1],
)  # fmt: skip

METRICS = (
    Column(
        "output_id", ID, "The output that the metric scored, as the other files name it.",
        allowed=OUTPUT_ID, cell=lambda score: name_output(score.item, score.position),
    ),
    Column("item", ID, "The item of the output, as in items.csv."),
    Column(
        "system", TEXT, "The system that produced the output.",
        cell=lambda score: score.system or "",
    ),
    Column("metric", TEXT, "The automatic metric, as the uploaded file names it."),
    Column(
        "value", NUMBER, "The score that the metric gave. No person gave it.",
        allowed="any number; better says whether more is better",
        cell=lambda score: write_score(score.value),
    ),
    Column(
        "better", ONE_OF, "Whether higher or lower scores of the metric are better.",
        allowed="higher, lower",
    ),
)  # fmt: skip

JUDGE_LABELS = (
    Column(
        "item", ID, "The input that was judged: an item as in items.csv, or one that the study "
        "doesn't have.",
    ),
    Column("criterion", ONE_OF, "The criterion that the label is of."),
    Column("judge", TEXT, "The judge, a model that rates. It is no participant."),
    Column("prompt_version", TEXT, "The version of its prompt: each is a judge of its own.",
           missing="the file names none"),
    Column("system", TEXT, "The system that produced the output.",
           missing="the label is a preference",
           cell=lambda label: "" if label.other_system else label.system),
    Column("value", NUMBER, "What the judge said: a number, or the key of an option. Of a "
           "preference how strong it is.",
           missing="neither of the two is preferred",
           cell=lambda label: label.option if label.value is None else _write_strength(label)),
    Column("system_1", TEXT, "Of a preference the system whose name comes first.",
           missing="the label is of one output",
           cell=lambda label: label.system if label.other_system else ""),
    Column("system_2", TEXT, "Of a preference the other system.",
           missing="the label is of one output", cell=lambda label: label.other_system),
    Column("preferred", TEXT, "The system that the judge prefers, or tie, both_good, both_bad.",
           missing="the label is of one output", cell=lambda label: _name_preferred(label)),
    Column("order", WHOLE, "Which of the two systems the judge was shown first.", allowed="1, 2",
           missing="not known", cell=lambda label: label.order or ""),
    Column("run", TEXT, "The run, where a judge rated several times.", missing="one run"),
    Column("reason", TEXT, "What the judge wrote.", missing="it gave no reason"),
)  # fmt: skip


def _write_strength(label: Any) -> str:
    if label.other_system:
        return write_score(abs(label.value)) if label.value else ""
    return write_score(label.value)


def _name_preferred(label: Any) -> str:
    if not label.other_system:
        return ""
    if not label.value:
        return label.option or "tie"
    return str(label.other_system if label.value > 0 else label.system)


COMMENTS = (
    *(column for column in ITEM if column.name in ("item", "group")),
    Column(
        "system", TEXT, "The system whose output the text is about.",
        missing="it is about a comparison, or about an item with several outputs", of="row",
    ),
    PARTICIPANT,
    Column(
        "criterion", ID, "The criterion with whose question the text was written.",
        missing="a note on the item, or the text of a skip or a problem report", of="row",
    ),
    Column(
        "answer", TEXT, "The participant’s answer to the same question.",
        allowed="as in ratings_simple",
        missing="the text is the answer, or belongs to no question", of="row",
    ),
    Column(
        "reasons", TEXT, "The reasons that were ticked with the answer, by their keys.",
        allowed="such as v2: clear; v1: short. A reason about both outputs names no system",
        missing="none was ticked", of="row",
    ),
    Column(
        "text", TEXT, "The words that were written. Read them before you share the file.",
        of="row",
    ),
    next(replace(column, name="at") for column in TIMES if column.name == "submitted_at"),
    EXCLUDED[0],
)  # fmt: skip
# where people can write a note on a passage
_COMMENTED = Column(
    "quote", TEXT, "The marked passage on which the text is a note.",
    missing="the text is no note on a passage, or on something missing", of="row",
)  # fmt: skip


# --- mqm.tsv: errors in the form of WMT

MQM = (
    Column("system", TEXT, "The system that produced the output.", of="row"),
    Column(
        "doc", TEXT, "The document: what the items of one cluster belong to.",
        derived="the cluster, or without one the group", cell=lambda row: row.cluster or row.group,
    ),
    Column(
        "docSegId", WHOLE, "Position of the segment in its document.",
        allowed="1 and more", derived="in the order of upload", of="row",
        cell=lambda row: row.segment,
    ),
    Column(
        "globalSegId", WHOLE, "The segment in all documents: group_no of the other files.",
        allowed="1 and more", cell=lambda row: row.group_no,
    ),
    Column("rater", TEXT, "The participant.", cell=lambda row: row.participant),
    Column("source", TEXT, "What was given to the system, perhaps with a passage.", of="row"),
    Column("target", TEXT, "The output, perhaps with a passage between <v> and </v>.", of="row"),
    Column(
        "category", TEXT, "The category of the error.",
        allowed=f"Group/Category as people saw them, or {NO_ERROR}",
        missing="the question has no categories", of="row",
    ),
    Column(
        "severity", ONE_OF, "The severity of the error.",
        allowed=f"as people saw it, or {NO_ERROR}", missing="the question has no severities",
        of="row",
    ),
    Column(
        "metadata", TEXT, "A JSON object: the note, the time in milliseconds, the question if "
        "there are several, the input of a passage that is in another one than source.",
        of="row",
    ),
)  # fmt: skip


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
        ORDER_SHOWN, TEXT, "The outputs of the item in their order on the page.",
        allowed="numbers of the item's outputs from 1, in that order, separated by spaces",
        missing="the order is not known",
        cell=lambda answer: _write_order(answer),
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
_PLACES_IN_TURN = _PLACES_IN_TEXT | {
    "start": "in the content of the turn; of content in parts, these are lines of one text",
}
_MARKED_TURN = replace(
    TURN,
    meaning="The turn of the conversation in which the passage is marked, by its number.",
    missing="the text is no conversation",
)


def _list_mark_columns(config: Instrument) -> tuple[Column, ...]:
    """List the columns of marks, with more where they answer a question."""
    if not any(criterion.scale.marked_columns for criterion in config.criteria):
        return HIGHLIGHTS
    places = _PLACES_IN_TURN if config.marks_turns else _PLACES_IN_TEXT
    columns = [
        replace(column, derived=places.get(column.name, column.derived),
                allowed="start or more; start itself where something is missing after it"
                if column.name == "end" else column.allowed)
        for column in HIGHLIGHTS
    ]  # fmt: skip
    return (*columns, *_OF_QUESTION, *([_MARKED_TURN] if config.marks_turns else []))


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
    quote = (_COMMENTED,) if any(asked.scale.asks_notes for asked in config.criteria) else ()
    return {
        "ratings_simple": list_simple_columns(config),
        "comments": (*COMMENTS, *share, *quote), **files,
        "judge_labels": JUDGE_LABELS, **({"mqm": MQM} if config.marks_texts else {}),
    }  # fmt: skip


def list_files_of(study: Study) -> dict[str, tuple[Column, ...]]:
    """List the data files of this study, with the columns that its settings add."""
    files = list_files(study.config, asks_to_share=study.asks_to_share)
    return files | ({"judge_labels": JUDGE_LABELS} if study.judge_files.exists() else {})


def list_downloads_of(study: Study) -> dict[str, tuple[Column, ...]]:
    """List what a researcher can download of this study."""
    return list_downloads(study.config, asks_to_share=study.asks_to_share)
