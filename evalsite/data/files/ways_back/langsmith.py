"""Feedback on runs in LangSmith: the arguments of `create_feedback`, a row for each rating."""

from collections.abc import Iterable, Iterator
from uuid import NAMESPACE_URL, uuid5

from evalsite.data.files.ways_back.scores import Scored, Way, write_table

_COLUMNS = ("run_id", "key", "score", "comment", "feedback_id")


def write(scores: Iterable[Scored], pass_from: float) -> Iterator[str]:
    rows = (
        # the same id each time: sending it twice changes nothing
        [score.kept["run_id"], score.name, value, "", uuid5(NAMESPACE_URL, f"evalsite:{rating}")]
        for score in scores
        for rating, _, value in score.ratings
    )
    yield from write_table(_COLUMNS, rows)


WAY = Way(
    tool="LangSmith",
    file="langsmith_feedback",
    ending="csv",
    needs=(("run_id",),),
    purpose="Feedback for each rating, for runs in LangSmith.",
    write=write,
)
