"""Rows and columns of comments.csv: every text that a person wrote, beside the answer."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from evalsite.exports.column import EXCLUDED, ID, ITEM, PARTICIPANT, TEXT, TIMES, Column
from evalsite.exports.simple_columns import REASONS, VALUE
from evalsite.exports.simple_rows import write_answer
from evalsite.instruments.scales import COMMENT, Scale
from evalsite.instruments.schema import Criterion, Instrument

if TYPE_CHECKING:
    from evalsite.exports.answers import Answer, RatingRow

# kinds whose text is a part of the output, no words about it
_OF_OUTPUTS = ("post_edit", "spans")


class CommentRow(NamedTuple):
    """A row of comments.csv."""

    system: str
    criterion: str
    answer: str
    reasons: str
    text: str


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


def list_written(config: Instrument) -> list[str]:
    """List the criteria to which words are, or may be, the answer."""
    return [criterion.key for criterion in config.criteria if is_written(criterion.scale, "")]


def is_written(scale: Scale | None, part: str) -> bool:
    """Return whether the text of a rating is words of the person; no scale: it is gone."""
    has_words = scale is None or ("text" in scale.columns and scale.kind not in _OF_OUTPUTS)
    return part == COMMENT or has_words


def make_comment_rows(
    answer: "Answer", ratings: Sequence["RatingRow"], config: Instrument
) -> Iterator[CommentRow]:
    """Yield the texts of an annotation: of its questions, then of the item."""
    written = list_written(config)
    criteria = {criterion.key: criterion for criterion in config.criteria}
    for rating in ratings:
        score = rating.score
        is_comment = score.part == COMMENT
        if not score.text or not (is_comment or score.criterion in written):
            continue
        criterion = criteria.get(score.criterion) if is_comment else None
        value, reasons = _find_answer(rating, ratings, criterion) if criterion else ("", "")
        yield CommentRow(rating.system, score.criterion, value, reasons, score.text)
    if answer.note:
        names = [name or "" for _, name in answer.outputs.values()]
        yield CommentRow(names[0] if len(names) == 1 else "", "", "", "", answer.note)


def _find_answer(
    comment: "RatingRow", ratings: Sequence["RatingRow"], criterion: Criterion
) -> tuple[str, str]:
    """Return the answer beside a comment, and its reasons."""
    compares = criterion.scale.compares
    rows = [
        rating
        for rating in ratings
        if rating.score.criterion == criterion.key
        and rating.score.part != COMMENT
        and (compares or (rating.number, rating.turn) == (comment.number, comment.turn))
    ]
    cells = dict(write_answer(criterion, rows)) if rows else {}
    return cells.get((criterion.key, VALUE), ""), cells.get((criterion.key, REASONS), "")
