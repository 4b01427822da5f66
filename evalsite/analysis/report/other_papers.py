"""Figures that other papers print, for comparison with them; no result depends on them.

Raw means and alphas of magnitudes, ln and ln(1 + x); weighted kappas; Pearson beside Spearman; the
first ratings of each output; Dawid-Skene; and scores of identical texts by two systems.
"""

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from evalsite.analysis.agreement_interval import (
    Draws,
    draw_agreement,
    find_interval,
    make_draws,
)
from evalsite.analysis.alpha import Level, alpha
from evalsite.analysis.correlation import pairwise_correlation
from evalsite.analysis.families import Family
from evalsite.analysis.figure import Figure, Group, Reason, undefined
from evalsite.analysis.kappas import cohen, kappa_matrix
from evalsite.analysis.ratings import Ratings, code
from evalsite.analysis.resample import SEED
from evalsite.analysis.table import Table

SHARED = 5  # units that a pair of raters needs in common to have a kappa
_MOST_PAIRS = 400
_AT_ONCE = 20_000  # rows of a file that are read at a time
_MOST_ROUNDS = 10_000
_CONVERGED = 1e-10
EQUAL_TEXTS = "equal_on_equal_texts"
_BARE = {"interval": "bare_in_papers"}
Floats = np.ndarray[Any, np.dtype[np.float64]]


def list_other_figures(
    table: Table, family: Family, scale: list[float] | None, *, seed: int = SEED
) -> list[Figure]:
    """Return the figures of a criterion; `scale`: its points, if it has some."""
    if family.compares:
        return list(_list_preferences(table))
    if family.decides:
        return list(_list_decisions(table))
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
