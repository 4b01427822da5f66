"""Mean scores beside the samples of lm-evaluation-harness, which itself reads no scores."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from evalsite.data.files.ways_back.scores import Scored, Way, write_lines


def write(scores: Iterable[Scored], pass_from: float) -> Iterator[str]:
    for _, group in groupby(scores, key=lambda score: (score.system, score.kept)):
        of_output = list(group)
        first = of_output[0]
        row = {
            "model": first.system,
            "task": first.kept.get("task"),
            "doc_id": first.read_exactly("doc_id"),
            "doc_hash": first.kept["doc_hash"],
        }
        means = {score.name: round(score.mean, 4) for score in of_output}
        raters = {"raters": max(len(score.ratings) for score in of_output)}
        yield from write_lines([row | means | raters])


WAY = Way(
    tool="lm-evaluation-harness",
    file="lm_eval_scores",
    ending="jsonl",
    needs=(("doc_id", "doc_hash"),),
    purpose="Mean scores for samples of lm-evaluation-harness.",
    write=write,
)
