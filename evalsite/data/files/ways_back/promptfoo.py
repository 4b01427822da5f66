"""Scores for the results of promptfoo, from 0 to 1, of which higher ones are better."""

from collections.abc import Iterable, Iterator

from evalsite.data.files.ways_back.scores import Scored, Way, has_bounds, write_table

_COLUMNS = (
    "testIdx", "promptIdx", "provider", "prompt", "criterion", "pass", "score", "comment",
)  # fmt: skip


def write(scores: Iterable[Scored], pass_from: float) -> Iterator[str]:
    bounded = (score for score in scores if has_bounds(score.criterion))
    yield from write_table(_COLUMNS, (_make_row(score, pass_from) for score in bounded))


def _make_row(score: Scored, pass_from: float) -> list[object]:
    scale = score.criterion.scale
    share = (score.mean - scale.minimum) / (scale.maximum - scale.minimum)
    if score.criterion.direction == "lower":
        share = 1 - share
    return [
        score.kept["testIdx"],
        score.kept["promptIdx"],
        score.system,
        "",
        score.criterion.key,
        "true" if share >= pass_from else "false",
        round(share, 4),
        f"Mean {score.mean:.2f} of {scale.maximum:g} from {score.raters}",
    ]


WAY = Way(
    tool="promptfoo",
    file="promptfoo_scores",
    ending="csv",
    needs=(("testIdx", "promptIdx"),),
    purpose="Scores from 0 to 1, for the results of promptfoo.",
    is_share=True,
    write=write,
)
