"""Scores for the logs of Inspect, as edits with their provenance."""

from collections.abc import Iterable, Iterator

import evalsite
from evalsite.data.files.columns import write_time
from evalsite.data.files.ways_back.scores import Scored, Way, has_bounds, write_lines
from evalsite.lib.clock import now


def write(scores: Iterable[Scored], pass_from: float) -> Iterator[str]:
    made_at = write_time(now())
    for score in scores:
        scale = score.criterion.scale
        bounds = f"from {scale.minimum:g}, where lower is better"
        if has_bounds(score.criterion):
            bounds = f"from {scale.minimum:g} to {scale.maximum:g}"
        values = ", ".join(f"{value:g}" for value in score.values)
        epoch = score.read_exactly("epoch")
        yield from write_lines(
            [
                {
                    "eval_id": score.kept["eval_id"],
                    "model": score.system,
                    "sample_id": score.read_exactly("id"),
                    "sample_uuid": score.kept.get("uuid"),
                    "epoch": epoch if isinstance(epoch, int) else 1,
                    "score_name": score.name,
                    "edit": {
                        "value": round(score.mean, 4),
                        "explanation": f"Mean of {score.raters} on a scale {bounds}: {values}.",
                        "metadata": {
                            "n": len(score.values),
                            "values": score.values,
                            "scale_min": scale.minimum,
                            "scale_max": scale.maximum,
                            "study": score.study,
                            "criterion": score.criterion.key,
                        },
                        "provenance": {
                            "timestamp": made_at,
                            "author": f"Evalsite: {score.raters}",
                            "reason": f"Human evaluation, {score.criterion.key}",
                            "metadata": {"software": f"Evalsite {evalsite.__version__}"},
                        },
                    },
                }
            ]
        )


WAY = Way(
    tool="Inspect",
    file="inspect_scores",
    ending="jsonl",
    needs=(("eval_id", "id"),),
    purpose="Scores with author and reason, for Inspect logs.",
    write=write,
)
