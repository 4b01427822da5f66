"""The part of a report across criteria: correlations, decisions and scores, what was ignored, and
the figures that other papers print, on which no result depends: raw means and alphas of magnitudes,
ln and ln(1 + x); weighted kappas; Pearson beside Spearman; the first ratings of each output;
Dawid-Skene; and scores of identical texts by two systems.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse

from evalsite.analysis.agreement import (
    Draws,
    Level,
    alpha,
    cohen,
    draw_agreement,
    find_interval,
    kappa_matrix,
    make_draws,
)
from evalsite.analysis.correlation import correlate, pairwise_correlation
from evalsite.analysis.families import Family
from evalsite.analysis.figure import Figure, Group, Reason, make_note, undefined
from evalsite.analysis.highlights import MarkedOutput, Span, compare_highlights
from evalsite.analysis.intervals import DRAWS, SEED, Resampling, mean_with_t, spread
from evalsite.analysis.plan import Better
from evalsite.analysis.ratings import Floats, Ratings, Table, canonical_order, code
from evalsite.analysis.report.spans import PLAIN

# --- decisions to accept or ignore outputs: majorities, and how they agree with scores


def find_majority(*, unit: ArrayLike, value: ArrayLike) -> pd.DataFrame:
    """Return by unit the `yes` and `no` counts and the `majority`: 1, 0 or, in a tie, missing.

    Arrays of length n of ids and of 0 or 1.
    """
    rows = pd.DataFrame({"unit": np.asarray(unit), "value": np.asarray(value, dtype=float)})
    by = rows.dropna().groupby("unit").value.agg(["sum", "count"])
    yes, no = by["sum"].astype(int), (by["count"] - by["sum"]).astype(int)
    decided = (yes > no).astype(float).where(yes != no)
    return pd.DataFrame({"yes": yes, "no": no, "majority": decided})


@dataclass(frozen=True, kw_only=True)
class Consistency:
    """One criterion compared with the decision: `figures` has mean_accepted, mean_rejected and
    auc."""

    criterion: str
    figures: dict[str, Figure]


def compare_with_scores(
    *, accepted: ArrayLike, scores: pd.DataFrame, block: ArrayLike | None = None,
    lower: Collection[str] = (), seed: int = SEED,
) -> list[Consistency]:  # fmt: skip
    """Return for each column of `scores` its mean among accepted and rejected outputs, and the AUC.

    `accepted` (n,): 0 or 1; `scores`: n rows, one for each annotated output, criteria as columns;
    `block`: the unit of resampling for the interval of the AUC. `lower`: criteria whose lower
    scores are better. Undefined: no_data (none accepted, or none rejected).
    """
    yes = np.asarray(accepted, dtype=float)
    blocks = np.arange(len(yes)) if block is None else np.asarray(block)
    compared = []
    for name in scores.columns:
        scored = scores[name].to_numpy(dtype=float)
        keep = ~np.isnan(scored) & ~np.isnan(yes)
        figures = {}
        for label, side in (("mean_accepted", 1), ("mean_rejected", 0)):
            values = np.sort(scored[keep & (yes == side)])
            n = {"ratings": len(values)}
            figures[label] = (
                mean_with_t(label, values, method="mean", n=n) if len(values)
                else undefined(label, Reason.NO_DATA, method="mean", n=n)
            )  # fmt: skip
        figures["auc"] = find_auc(accepted=yes[keep], score=scored[keep], block=blocks[keep],
                                  is_lower_better=name in lower, seed=seed)  # fmt: skip
        compared.append(Consistency(criterion=str(name), figures=figures))
    return compared


def find_auc(
    *, accepted: ArrayLike, score: ArrayLike, block: ArrayLike | None = None,
    is_lower_better: bool = False, seed: int = SEED,
) -> Figure:  # fmt: skip
    """Return the chance that an accepted output scores better than a rejected one, ties as half.

    Arrays of length n without gaps. Interval: bootstrap over blocks. Undefined: no_data (one of
    the two sides is empty).
    """
    method = "auc_lower" if is_lower_better else "auc_higher"
    yes, scores = np.asarray(accepted, dtype=float), np.asarray(score, dtype=float)
    scores = -scores if is_lower_better else scores
    n = {"accepted": int((yes == 1).sum()), "rejected": int((yes == 0).sum())}
    if not n["accepted"] or not n["rejected"]:
        return undefined("auc", Reason.NO_DATA, method=method, n=n)
    points, place = np.unique(scores, return_inverse=True)
    blocks = np.arange(len(scores)) if block is None else np.asarray(block)
    codes = np.unique(blocks.astype(str), return_inverse=True)[1].astype(np.intp)
    content = (place * 2 + yes).astype(float)
    codes = canonical_order([codes], content)[0][codes]
    cells = np.zeros((int(codes.max()) + 1, 2 * len(points)))
    np.add.at(cells, (codes, place + len(points) * yes.astype(np.intp)), 1)

    def find(weights: Floats) -> Floats:
        drawn = weights @ cells
        no, up = drawn[:, : len(points)], drawn[:, len(points) :]
        below = np.cumsum(no, axis=1) - no / 2
        pairs = no.sum(axis=1) * up.sum(axis=1)
        return np.where(pairs > 0, (up * below).sum(axis=1) / np.maximum(pairs, 1), np.nan)

    interval = spread(find, len(cells), draws=DRAWS, seed=seed, width=2 * len(points))
    value = float(find(np.ones((1, len(cells))))[0])
    return Figure(name="auc", method=method, value=value, low=interval.low, high=interval.high, n=n,
                  details=interval.details, seed=seed)  # fmt: skip


def find_contradictions(
    *, accepted: ArrayLike, scores: pd.DataFrame, good: float, bad: float
) -> pd.DataFrame:
    """Return the rows that were rejected although every score is `good` or better, or accepted
    although a score is `bad` or worse: `scores` with a column `why` ("rejected", "accepted")."""
    yes = np.asarray(accepted, dtype=float)
    rejected = (yes == 0) & (scores >= good).all(axis=1).to_numpy()
    taken = (yes == 1) & (scores <= bad).any(axis=1).to_numpy()
    why = np.select([rejected, taken], ["rejected", "accepted"], "")
    return scores.assign(why=why)[why != ""]


# --- figures for comparison with other papers

SHARED = 5  # units that a pair of raters needs in common to have a kappa
_MOST_PAIRS = 400
_AT_ONCE = 20_000  # rows of a file that are read at a time
_MOST_ROUNDS = 10_000
_CONVERGED = 1e-10
EQUAL_TEXTS = "equal_on_equal_texts"
_BARE = {"interval": "bare_in_papers"}


def list_other_figures(
    table: Table, family: Family, scale: list[float] | None, *, seed: int = SEED
) -> list[Figure]:
    """Return the figures of a criterion; `scale`: its points, if it has some."""
    if family.compares:
        return list(_list_preferences(table))
    if family.decides:
        return list(_list_decisions(table))
    if family.orders:
        return []
    value = np.asarray(table.rows.value, dtype=np.float64)
    if family.is_log:
        return [*_list_of_magnitudes(table, value), *_list_first(table, value, "interval", seed)]
    ratings = table.ratings(value)
    figures = _list_kappas(ratings, scale) if scale and family.has_points else []
    figures.append(pairwise_correlation(ratings, "pearson", seed=seed))
    return [*figures, *_list_first(table, value, "ordinal" if scale else "interval", seed)]


def _list_of_magnitudes(table: Table, value: Floats) -> Iterator[Figure]:
    """Yield means and alphas of the scores as they are, and of ln and ln(1 + x)."""
    forms = {"raw_scores": value, "log": np.log(value), "log1p": np.log1p(value)}
    system = table.rows.system.to_numpy()
    for form, values in forms.items():
        for name in sorted(set(system)):
            of_system = values[system == name]
            yield Figure(
                name=f"mean_of_{form}", method="mean_over_ratings",
                value=float(of_system.mean()), n={"ratings": len(of_system)}, details=_BARE,
                group=(("system", str(name)),),
            )  # fmt: skip
    levels: tuple[Level, ...] = ("interval", "ordinal")
    for level in levels:
        figure = alpha(table.ratings(value), level, name="alpha_of_raw_scores")
        yield replace(figure, group=(("level", level),))
    yield alpha(table.ratings(np.log1p(value)), "interval", name="alpha_of_log1p")
    yield pairwise_correlation(table.ratings(np.log(value)), "pearson")


def _list_first(table: Table, value: Floats, level: Level, seed: int) -> Iterator[Figure]:
    """Yield alpha of the first ratings of each output, as many as every output has."""
    rows = table.rows
    counts = rows.groupby("output").size()
    first = int(counts.min()) if len(counts) else 0
    if first < 2 or first == int(counts.max()):
        return
    keep = (rows.groupby("output").cumcount() < first).to_numpy()
    kept = replace(table, rows=rows[keep])
    figure = alpha(kept.ratings(value[keep]), level, name="alpha_of_first_ratings")
    yield replace(figure, group=(("first", str(first)),))


# --- weighted kappas -------------------------------------------------------------------------


def _list_kappas(ratings: Ratings, scale: list[float]) -> list[Figure]:
    """Return the mean kappas of pairs of raters, with linear and with quadratic weights."""
    draws = draw_agreement(ratings, "points", scale=scale)
    return [
        linear_kappa(ratings, scale=scale, draws=draws),
        kappa_matrix(ratings, draws=draws).mean,
    ]


def linear_kappa(ratings: Ratings, *, scale: list[float], draws: Draws | None = None) -> Figure:
    """Return Cohen's kappa with linear weights, the mean over pairs of raters with enough units.

    The interval comes from the `draws` of the criterion; by default each unit is an input.
    Undefined: raters_unknown, no_overlap, no_variation.
    """
    name, method = "linear_kappa", "linear_kappa_of_pairs"
    if ratings.rater is None:
        return undefined(name, Reason.RATERS_UNKNOWN, method=method)
    rows = pd.DataFrame(
        {"unit": ratings.get("unit"), "rater": ratings.rater, "value": ratings.value}
    )
    wide = rows.pivot_table(index="unit", columns="rater", values="value", aggfunc="first")
    cells = wide.to_numpy()
    kappas: list[float] = []
    for i in range(cells.shape[1]):
        for j in range(i + 1, cells.shape[1]):
            both = ~np.isnan(cells[:, i]) & ~np.isnan(cells[:, j])
            if both.sum() < SHARED or len(kappas) >= _MOST_PAIRS:
                continue
            kappa = cohen(
                first=cells[both, i], second=cells[both, j], scale=scale, weights="linear"
            )
            if kappa.value is not None:
                kappas.append(kappa.value)
    n = {"units": len(wide), "ratings": len(rows), "rater_pairs": len(kappas)}
    details: dict[str, Any] = {"weights": "linear", "shared_units_at_least": SHARED}
    if not kappas:
        return undefined(name, Reason.NO_OVERLAP, method=method, n=n, details=details)
    mean = float(np.mean(kappas))
    data = code(replace(ratings, block=None))
    interval = find_interval("alpha_linear", mean, draws or make_draws(data, "points", scale), data)
    return Figure(
        name=name, method=method, value=mean, low=interval.low, high=interval.high, n=n,
        details=details | interval.details,
    )  # fmt: skip


# --- Dawid-Skene --------------------------------------------------------------------------


def _list_decisions(table: Table) -> Iterator[Figure]:
    """Yield the share of each system's outputs that pass once raters are weighed."""
    rows = table.rows[table.rows.value.notna()]
    if not _has_raters(table, rows):
        return
    weighed = dawid_skene(replace(table, rows=rows).ratings(rows.value))
    passes = rows.output.map(
        {unit: of.get(1.0, 0.0) for unit, of in weighed["probability"].items()}
    )
    by_output = pd.DataFrame({"system": rows.system, "output": rows.output, "passes": passes})
    for system, outputs in by_output.drop_duplicates("output").groupby("system"):
        n = {"outputs": len(outputs), "ratings": int((rows.system == system).sum())}
        yield _make_share((("system", str(system)),), float(outputs.passes.mean()), n)


def _list_preferences(table: Table) -> Iterator[Figure]:
    """Yield the shares of wins and ties of each pair of systems once raters are weighed."""
    known = table.rows[table.rows.outcome.notna()]
    for pair, rows in known.groupby(["system_1", "system_2"]):
        first, second = map(str, pair)
        if not _has_raters(table, rows):
            continue
        weighed = dawid_skene(replace(table, rows=rows).ratings(np.sign(rows.outcome), "item"))
        sides = (("system_1", first), ("system_2", second))
        outcomes = {-1.0: "first", 0.0: "tie", 1.0: "second"}
        n = {"items": int(rows["item"].nunique()), "answers": len(rows)}
        for answer, share in weighed["class_share"].items():
            yield _make_share((*sides, ("outcome", outcomes[answer])), share, n)


def _has_raters(table: Table, rows: pd.DataFrame) -> bool:
    return table.raters_known and rows.participant.nunique() > 1


def _make_share(group: Group, share: float, n: dict[str, int]) -> Figure:
    return Figure(
        name="dawid_skene_share", value=share, n=n, details=_BARE, group=group,
        method="dawid_skene",
    )  # fmt: skip


def dawid_skene(ratings: Ratings) -> dict[str, Any]:
    """Return class shares, the probability of each class by unit, and each rater's accuracy.

    EM from the shares of votes, without smoothing, to convergence (Dawid & Skene 1979).
    """
    units, u = np.unique(ratings.get("unit"), return_inverse=True)
    raters, r = np.unique(ratings.get("rater"), return_inverse=True)
    classes, c = np.unique(ratings.value, return_inverse=True)
    shape = len(raters), len(classes), len(classes)
    # how often each rater gave each answer to each unit
    answers = sparse.csr_matrix(
        (np.ones(len(u)), (r * len(classes) + c, u)), shape=(shape[0] * shape[1], len(units))
    )
    by_unit = answers.T.tocsr()
    votes = np.bincount(u * len(classes) + c, minlength=len(units) * len(classes))
    belief = votes.reshape(len(units), -1) / np.bincount(u)[:, None]
    before, loglik = -np.inf, -np.inf
    for _ in range(_MOST_ROUNDS):
        share = belief.mean(axis=0)
        confusion = (answers @ belief).reshape(shape).transpose(0, 2, 1)
        total = confusion.sum(axis=2, keepdims=True)
        confusion = np.divide(confusion, total, out=np.zeros_like(confusion), where=total > 0)
        with np.errstate(divide="ignore"):
            of_answers = np.log(confusion).transpose(0, 2, 1).reshape(-1, len(classes))
            logs = np.log(share) + by_unit @ of_answers
        top = logs.max(axis=1, keepdims=True)
        belief = np.exp(logs - top)
        loglik = float((top[:, 0] + np.log(belief.sum(axis=1))).sum())
        belief /= belief.sum(axis=1, keepdims=True)
        if abs(loglik - before) < _CONVERGED:
            break
        before = loglik
    right = np.einsum("rcc,c->r", confusion, share)
    return {
        "log_likelihood": loglik,
        "class_share": dict(zip(classes.tolist(), belief.mean(axis=0).tolist(), strict=True)),
        "probability": {
            name: dict(zip(classes.tolist(), row.tolist(), strict=True))
            for name, row in zip(units.tolist(), belief, strict=True)
        },
        "right": dict(zip(raters.tolist(), right.tolist(), strict=True)),
    }


# --- identical texts ----------------------------------------------------------------------


def read_texts(path: Path) -> pd.DataFrame:
    """Return the outputs of an exported items.csv: item, system, and a digest of the text."""
    columns = ("item", "system", "output")
    outputs = [pd.DataFrame({name: [] for name in ("item", "system", "text")}, dtype=str)]
    with pd.read_csv(path, dtype=str, keep_default_na=False, chunksize=_AT_ONCE) as parts:
        for part in parts:
            if all(name in part for name in columns):
                digests = [sha256(text.strip().encode()).hexdigest() for text in part.output]
                outputs.append(part[["item", "system"]].assign(text=digests))
    return pd.concat(outputs).drop_duplicates(["item", "system"])


def compare_identical(table: Table, texts: pd.DataFrame) -> Figure | None:
    """Return how often a rater scores identical texts of two systems equally.

    `texts`: from `read_texts`. None: no rater has seen such texts.
    """
    if table.rater is None:
        return None
    rows = table.rows[["participant", "item", "group", "system", "value"]]
    rows = rows.merge(texts, on=["item", "system"])
    pairs = rows.merge(rows, on=["participant", "group", "text"])
    pairs = pairs[pairs.system_x < pairs.system_y]
    if pairs.empty:
        return None
    return Figure(
        name=EQUAL_TEXTS,
        method="pairs_of_equal_texts",
        value=float((pairs.value_x == pairs.value_y).mean()),
        n={"pairs": len(pairs), "inputs": int(pairs.group.nunique())},
        details=_BARE,
    )


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
