"""The part of a report across criteria: correlations, decisions and scores, what was ignored."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from evalsite.analysis.acceptance import compare_with_scores, find_contradictions
from evalsite.analysis.correlation import correlate
from evalsite.analysis.direction import Better
from evalsite.analysis.families import Family
from evalsite.analysis.figure import Figure, Reason, make_note, undefined
from evalsite.analysis.highlights import MarkedOutput, Span, compare_highlights
from evalsite.analysis.ratings import Floats, canonical_order
from evalsite.analysis.report.spans import PLAIN
from evalsite.analysis.resample import DRAWS, SEED, Resampling, spread
from evalsite.analysis.table import Table

# --- correlations and Cronbach's alpha ------------------------------------------------
TOO_ALIKE = 0.8
_CRONBACH = "cronbach_alpha"
_TINY = 1e-12


def correlate_criteria(
    outputs: pd.DataFrame, *, block: ArrayLike | None = None, draws: int = DRAWS, seed: int = SEED
) -> dict[tuple[str, str], Figure]:
    """Return Spearman's correlation of each pair of columns, with a bootstrap over blocks.

    `outputs`: a row for each output, its mean rating by criterion. Above .8 `details["too_alike"]`
    is true: raters may not tell the two apart. Undefined as for `correlate`.
    """
    correlations = {}
    for first, second in combinations(outputs.columns, 2):
        figure = correlate(
            outputs[first], outputs[second], "spearman", block=block,
            resampling=Resampling(draws=draws, seed=seed),
        )  # fmt: skip
        alike = figure.value is not None and figure.value > TOO_ALIKE
        details = dict(figure.details) | {"too_alike": bool(alike)}
        correlations[(str(first), str(second))] = replace(
            figure, name=f"{first}_{second}", details=details
        )
    return correlations


def cronbach(
    outputs: pd.DataFrame, *, block: ArrayLike | None = None, draws: int = DRAWS, seed: int = SEED
) -> Figure:
    """Return Cronbach's alpha (1951) of the columns of `outputs`, with a bootstrap over blocks.

    Rows with a missing value are left out and counted. Undefined: no_data, too_few (fewer than 2
    columns or 3 rows), no_variation.
    """
    whole = outputs.to_numpy(dtype=np.float64)
    keep = ~np.isnan(whole).any(axis=1)
    table = whole[keep]
    rows, k = table.shape
    n = {"rows": rows, "criteria": k, "rows_left_out": int((~keep).sum())}
    reason = None
    if not rows:
        reason = Reason.NO_DATA
    elif k < 2 or rows < 3:
        reason = Reason.TOO_FEW
    elif np.ptp(table.sum(axis=1)) == 0:
        reason = Reason.NO_VARIATION
    if reason:
        return undefined("cronbach_alpha", reason, method=_CRONBACH, n=n)
    sums = _sum_up(table, np.arange(rows) if block is None else np.asarray(block)[keep])

    def find(weights: Floats) -> Floats:
        drawn = weights @ sums
        number = drawn[:, :1]
        variance = drawn[:, k + 2 :] / number - (drawn[:, 1 : k + 2] / number) ** 2
        total = variance[:, -1]
        flat = total <= _TINY
        parts = variance[:, :-1].sum(axis=1)
        return np.where(flat, np.nan, k / (k - 1) * (1 - parts / np.where(flat, 1, total)))

    drawn = spread(find, len(sums), draws=draws, seed=seed)
    value = float(find(np.ones((1, len(sums))))[0])
    details: dict[str, Any] = {"blocks": len(sums)} | drawn.details
    return Figure(name="cronbach_alpha", method=_CRONBACH, value=value, low=drawn.low,
                  high=drawn.high, n=n, details=details, seed=seed)  # fmt: skip


def _sum_up(table: Floats, block: Any) -> Floats:
    """Return by block the number of rows, and sums and squares of each column and of row sums."""
    centred = table - table.mean(axis=0)
    centred = np.column_stack([centred, centred.sum(axis=1)])
    codes = np.unique(np.asarray(block).astype(str), return_inverse=True)[1].astype(np.intp)
    content = np.unique(table, axis=0, return_inverse=True)[1].astype(np.float64).ravel()
    codes = canonical_order([codes], content)[0][codes]
    sums = np.zeros((int(codes.max()) + 1, 2 * centred.shape[1] + 1))
    order = np.lexsort((content, codes))
    each = np.column_stack([np.ones(len(table)), centred, centred**2])
    np.add.at(sums, codes[order], each[order])
    return sums


def mean_by_output(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the mean rating of each output by criterion (outputs, criteria)."""
    return rows.pivot_table(index="output", columns="criterion", values="value", aggfunc="mean")


# --- the part of the report -----------------------------------------------------------
# where a decision contradicts scores: rejected with all at the first share of the scale or above,
# accepted with one at the second or below
_GOOD_SHARE, _BAD_SHARE = 5 / 6, 1 / 6
MOST_LISTED = 1000


def report_together(
    table: Table,
    files: Mapping[str, pd.DataFrame],
    families: Mapping[str, Family],
    directions: Mapping[str, Better],
    seed: int,
) -> dict[str, Any]:
    """Return what several criteria show together; a part that the study doesn't have is None.

    `files`: the exported files highlights and items, if there are any. `families` and
    `directions`: by criterion.
    """
    scored = [key for key, family in families.items() if family.is_scored]
    outputs = mean_by_output(table.rows[table.rows.criterion.isin(scored)])
    block = table.rows.drop_duplicates("output").set_index("output").block
    together: dict[str, Any] = {
        "correlations": [],
        "cronbach": None,
        "decision": None,
        "contradictions": None,
        "highlights": report_marked(table, files.get("highlights"), files.get("items"), seed),
    }
    if (both := _pair_decisions(table, families, directions)) is not None:
        together["decision"] = _report_decisions(*both, directions, seed)
        together["decision"] += _count_contradictions(table, *both, directions)
        together["contradictions"] = _list_contradictions(table, *both, directions)
    # a criterion of the instrument may have no ratings yet
    scored = [key for key in scored if key in outputs]
    if len(scored) > 1 and len(outputs):
        outputs = outputs[scored]
        blocks = outputs.index.map(block)
        correlations = correlate_criteria(outputs, block=blocks, seed=seed)
        together["correlations"] = [
            _describe_of(replace(figure, name="criteria_spearman"), *both)
            for both, figure in correlations.items()
        ]
        together["cronbach"] = cronbach(outputs, block=blocks, seed=seed)
        # a mean has no meaning if high is better on one criterion and low on another
        if len({directions[key] for key in scored}) > 1:
            together["cronbach"] = undefined(
                "cronbach_alpha", Reason.MIXED_DIRECTIONS, method=_CRONBACH
            )
    return together


def _describe_of(figure: Figure, *criteria: str) -> Figure:
    """Return the figure with the keys of its criteria; pages show their labels."""
    return replace(figure, details={**figure.details, "criteria": list(criteria)})


def warn_of_likeness(
    together: Mapping[str, Any], labels: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return a warning if criteria correlate so closely that raters may not tell them apart."""
    alike = [figure for figure in together["correlations"] if figure.details.get("too_alike")]
    if not alike:
        return []
    pairs = [
        {
            "labels": [labels.get(key, key) for key in figure.details["criteria"]],
            "correlation": figure.value,
        }
        for figure in alike
    ]
    return [make_note("too_alike", "together", pairs=pairs)]


def _pair_decisions(
    table: Table, families: Mapping[str, Family], directions: Mapping[str, Better]
) -> tuple[pd.Series, pd.DataFrame] | None:
    """Return the decisions, 1 where they are good, and the scores of the same outputs by the same
    raters, in the same order; None unless the study has both with a direction."""
    directed = {key: family for key, family in families.items() if directions[key] != "none"}
    decisions = [key for key, family in directed.items() if family.decides]
    scores = [key for key, family in directed.items() if family.has_points]
    if not decisions or not scores:
        return None
    wide = table.rows.pivot_table(
        index=["annotation", "output", "block"], columns="criterion", values="value"
    )
    columns = [*decisions[:1], *scores]
    if not set(columns) <= set(wide.columns):
        return None
    wide = wide[columns].dropna()
    accepted = wide[decisions[0]]
    return 1 - accepted if directions[decisions[0]] == "lower" else accepted, wide[scores]


def _list_lower(scores: pd.DataFrame, directions: Mapping[str, Better]) -> list[str]:
    return [str(key) for key in scores if directions[str(key)] == "lower"]


def _report_decisions(
    accepted: pd.Series, scores: pd.DataFrame, directions: Mapping[str, Better], seed: int
) -> list[Figure]:
    """Return how far decisions follow the scores of the same outputs by the same raters."""
    return [
        _describe_of(replace(figure, name=name), comparison.criterion)
        for comparison in compare_with_scores(
            accepted=accepted,
            scores=scores,
            block=scores.index.get_level_values("block"),
            lower=_list_lower(scores, directions),
            seed=seed,
        )
        for name, figure in comparison.figures.items()
    ]


def _find_contradictions(
    table: Table, accepted: pd.Series, scores: pd.DataFrame, directions: Mapping[str, Better]
) -> tuple[pd.DataFrame, dict[str, float | None]] | None:
    """Return the contradictions and the scores that limit them; None if the scale isn't known.
    Scores of criteria where lower is better are reversed between the ends."""
    rows = table.rows[table.rows.criterion.isin(scores.columns)]
    low, high = rows.scale_min.min(), rows.scale_max.max()
    if pd.isna(low) or pd.isna(high):
        return None
    good = low + (high - low) * _GOOD_SHARE
    bad = low + (high - low) * _BAD_SHARE
    limits: dict[str, float | None] = {"rejected": good, "accepted": bad}
    if turned := _list_lower(scores, directions):
        scores = scores.assign(**{key: low + high - scores[key] for key in turned})
        # one number stands for no limit any more
        limits = dict.fromkeys(limits)
    return find_contradictions(accepted=accepted, scores=scores, good=good, bad=bad), limits


def _count_contradictions(
    table: Table, accepted: pd.Series, scores: pd.DataFrame, directions: Mapping[str, Better]
) -> list[Figure]:
    if (known := _find_contradictions(table, accepted, scores, directions)) is None:
        return []
    contradictions, limits = known
    return [
        Figure(
            name=f"{why}_against_scores",
            method="count_of_outputs",
            value=float((contradictions.why == why).sum()),
            details={"interval": "count", "limit": limit},
            n={"outputs": len(scores)},
        )
        for why, limit in limits.items()
    ]


def _list_contradictions(
    table: Table, accepted: pd.Series, scores: pd.DataFrame, directions: Mapping[str, Better]
) -> list[dict[str, Any]] | None:
    """Return the first contradictions, for researchers to look at; None if there are none."""
    known = _find_contradictions(table, accepted, scores, directions)
    if known is None or not len(known[0]):
        return None
    contradictions, _ = known
    places = table.rows.drop_duplicates("output").set_index("output")[["item", "system"]]
    who = table.rows.drop_duplicates("annotation").set_index("annotation").participant
    first = contradictions.sort_index().head(MOST_LISTED)
    return [
        {
            "annotation": annotation,
            "participant": who[annotation] if annotation else "",
            "item": places["item"][output],
            "system": places.system[output],
            "why": why,
            "scores": {str(key): float(score) for key, score in row.items()},
        }
        for ((annotation, output, _), row), why in zip(
            scores.loc[first.index].iterrows(), first.why, strict=True
        )
    ]


def report_marked(
    table: Table, highlights: pd.DataFrame | None, items: pd.DataFrame | None, seed: int
) -> list[Figure] | None:
    """Return how much is marked and how far raters mark the same; None without the files for it.

    `highlights`, `items`: the exported files of these names. Every rated output counts as seen,
    even if nothing was marked.
    """
    if highlights is not None and "criterion" in highlights:
        highlights = highlights[highlights.criterion.isin(PLAIN)]
    if highlights is None or items is None or not len(highlights) or not table.raters_known:
        return None
    spans: defaultdict[tuple[str, str], list[Span]] = defaultdict(list)
    for annotation, output, start, end in zip(
        highlights.annotation, highlights.output_id, highlights.start, highlights.end, strict=True
    ):
        spans[annotation, output].append((int(start), int(end)))
    looked_at = table.rows.drop_duplicates(["annotation", "output"])
    marked = [
        MarkedOutput(
            output=output, rater=rater, spans=tuple(spans[annotation, output]), block=block
        )
        for annotation, output, rater, block in zip(
            looked_at.annotation,
            looked_at.output,
            looked_at.participant,
            looked_at.block,
            strict=True,
        )
    ]
    texts = dict(zip(items.output_id, items.output, strict=True))
    return compare_highlights(marked, texts, seed=seed)
