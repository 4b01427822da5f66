"""What is submitted, as plain values that forms make and services store."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from evalsite.instruments.answer import HIGHLIGHTS


@dataclass(frozen=True, kw_only=True)
class Value:
    """One rating as submitted: `output_id` None is a tie, or about all outputs.

    `value` None: not applicable, a text, or a passage from `start` up to `end`.
    """

    criterion: str
    output_id: int | None
    value: int | None
    typed: str = ""
    part: str = ""
    text: str = ""
    detail: dict[str, Any] | None = None
    turn: int = 0
    start: int | None = None
    end: int | None = None

    @property
    def identity(self) -> tuple[Any, ...]:
        return identify(self)

    @classmethod
    def of_mark(cls, output_id: int, start: int, end: int, quote: str) -> Self:
        """Return a passage that was marked without a question about it."""
        return cls(
            criterion=HIGHLIGHTS, output_id=output_id, value=None, start=start, end=end, text=quote
        )

    @classmethod
    def from_state(cls, state: Sequence[Any]) -> Self:
        criterion, output_id, value, typed, *more = state
        part, text, detail, *turn = more or ("", "", None)
        return cls(
            criterion=criterion, output_id=output_id, value=value, typed=typed,
            part=part, text=text, detail=detail, turn=turn[0] if turn else 0,
        )  # fmt: skip


def identify(rating: Any) -> tuple[Any, ...]:
    """Return what tells a rating, stored or submitted, from one that says something else."""
    detail = json.dumps(rating.detail, sort_keys=True) if rating.detail else ""
    return (
        rating.criterion, rating.output_id, rating.value, rating.part, rating.text, detail,
        rating.turn, rating.start, rating.end,
    )  # fmt: skip


def state_of(rating: Any) -> list[Any]:
    """Write a stored rating for a revision; what only some kinds of questions have comes last."""
    state = [rating.criterion, rating.output_id, rating.value, rating.value_typed]
    if rating.part or rating.text or rating.detail or rating.turn:
        state += [rating.part, rating.text, rating.detail]
    state += [rating.turn] if rating.turn else []
    return state
