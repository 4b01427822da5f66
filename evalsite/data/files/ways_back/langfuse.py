"""Scores for traces in Langfuse: the arguments of `create_score`, a row for each rating."""

import json
from collections.abc import Iterable, Iterator

from evalsite.data.files.ways_back.scores import Scored, Way, write_table

_COLUMNS = (
    "score_id", "trace_id", "observation_id", "name", "value", "data_type", "comment", "metadata",
)  # fmt: skip


def write(scores: Iterable[Scored], pass_from: float) -> Iterator[str]:
    yield from write_table(_COLUMNS, (row for score in scores for row in _list_rows(score)))


def _list_rows(score: Scored) -> Iterator[list[object]]:
    trace = score.kept.get("trace_id", "")
    # what people rated is the whole trace, if it is known
    observation = "" if trace else score.kept["observation_id"]
    for rating, rater, value in score.ratings:
        about = json.dumps({"rater": rater, "study": score.study})
        yield [
            f"evalsite-{rating}", trace, observation, score.name, value, "NUMERIC", "", about,
        ]  # fmt: skip


WAY = Way(
    tool="Langfuse",
    file="langfuse_scores",
    ending="csv",
    needs=(("trace_id",), ("observation_id",)),
    purpose="A score for each rating, for traces in Langfuse.",
    write=write,
)
