"""Every verdict of a study's report, from its ratings.csv, with numpy, scipy and pandas.

    python analysis.py [ratings.csv] [folder for the tables]

It reads data/ratings.csv and analysis-plan.json, which lies beside this script, and writes
systems.csv, pairs.csv, joint_tests.csv, variances.csv, margins.csv, agreement.csv and notes.txt
into tables-python. analysis.R writes the same tables by lme4; it alone has the ordinal check.

@@methods@@

The model is fitted by dense matrices and Fisher scoring, which the report doesn't use. Of a
criterion with more than 2,000 ratings the estimates, errors and degrees of freedom are read from
tables-r, which analysis.R writes: run that first. Everything else is computed here.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy
from scipy import linalg, sparse, stats
from scipy.special import ndtr, ndtri

Row = dict[str, Any]
Plan = dict[str, Any]
Terms = dict[str, Any]  # name to incidence (ratings, levels)
Floats = np.ndarray[Any, np.dtype[np.float64]]

MOST_DENSE = 2000  # ratings of a criterion that are fitted here
LEAST_REPEATED = 0.2  # of ratings that repeat a rater and an input, for a term of both
NO_RESIDUAL = 1e-8  # of the variance of values: what is left is rounding
TIED, SWAYED = 1e-9, 1e-7  # shares of a sum of squares that are rounding
MOST_CORRECTION = 2.0  # of the model's variance of a difference
WHOLE = "all outputs together"  # what is rated where a question is about the item
RELATIVE = {"magnitude"}  # families whose logarithms are compared
SHARES = {"decision", "preference"}
WITHOUT_D = {"magnitude", "decision", "preference", "shares"}
OUTCOMES = {"1": 1.0, "tie": 0.0, "2": -1.0}
AVERAGED = {"turns", "shares"}
MOST_LOG = np.log(1e6)
LEAST_INPUTS = 20  # of a slice that is tested
LEAST_EXACT = 3, 10  # raters and inputs that decide about a difference without spread
NO_SPREAD = 1e-4  # of the standard deviation of values: what is left is rounding
ROUNDING = 1e-9
MOST_SEPARATE = 45, 200_000  # pairs, and ratings, up to which each pair is fitted alone
COLUMNS = {
    "systems": (
        "criterion system n mean sd estimate low high from_average from_average_low "
        "from_average_high"
    ),
    "pairs": (
        "criterion system_1 system_2 effect estimate low high se df t p family p_corrected d "
        "d_low d_high verdict"
    ),
    "joint_tests": "criterion f df1 df2 p",
    "variances": "criterion term variance share",
    "margins": (
        "criterion system other relation margin low90 high90 p p_corrected outcome fails_in"
    ),
    "agreement": "criterion coefficient value low high",
}

# --- the ratings and the plan -------------------------------------------------------------------


@dataclass(frozen=True)
class Criterion:
    """What is compared: a question of the study, or an option of a choice."""

    key: str
    family: str
    better: str
    ends: tuple[float, float] | None  # the least and the largest value
    has_points: bool
    rows: pd.DataFrame
    choice: str = ""  # the question that an option belongs to

    @property
    def is_log(self) -> bool:
        return self.family in RELATIVE

    @property
    def is_compared(self) -> bool:
        return self.family == "preference"

    @property
    def has_persons(self) -> bool:
        return bool((self.rows["person"] != "no").all())


@dataclass
class Notes:
    """What is to be told beside the tables."""

    lines: list[str] = field(default_factory=list)
    is_silent: bool = False

    def add(self, text: str) -> None:
        self.lines.append(text)
        if not self.is_silent:
            print(text)


def read_plan(path: Path) -> Plan:
    """Return the analysis plan beside this script; without the file nothing is planned."""
    plan = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    frozen = plan.get("frozen") or {}
    return {
        "primary": plan.get("primary") or "",
        "baseline": plan.get("baseline") or "",
        "margins": plan.get("margins") or [],
        "hypotheses": frozen.get("hypotheses") or [],
        "has_own_errors": bool(frozen.get("has_own_errors")),
        "criteria": plan.get("criteria") or [],
    }


def read_slices(path: Path, plan: Plan) -> dict[str, dict[str, str]]:
    """Return the value of each item in each column that divides the inputs of a margin: of an
    input, or of what else the uploaded file held."""
    names = {margin["slices"] for margin in plan["margins"] if margin.get("slices")}
    if not names or not path.is_file():
        return {}
    items = pd.read_csv(path, dtype=str, keep_default_na=False).drop_duplicates("item")
    extra = [json.loads(cell) if cell else {} for cell in items["extra"]]
    return {
        name: dict(zip(
            items["item"],
            items[name] if name in items else [str(cells.get(name, "")) for cells in extra],
            strict=True,
        ))
        for name in names
    }  # fmt: skip


def read_ratings(path: Path, notes: Notes) -> pd.DataFrame:
    """Counted ratings of main items that nothing leaves out, the first of each person and output;
    every cell is text but `value`."""
    if not path.is_file():
        raise SystemExit(f"There is no file {path}. Give the path of ratings.csv after the script.")
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    rows = rows.assign(**{name: "" for name in ("part", "turn", "option", "better")
                          if name not in rows})  # fmt: skip
    counted = (rows["kind"] == "main") & (rows["status"] == "counted")
    if gone := int((counted & (rows["excluded"] == "yes")).sum()):
        notes.add(f"{gone} ratings are left out by the researchers' decisions.")
    rows = rows[counted & (rows["excluded"] != "yes")]
    rows = rows.assign(
        value=pd.to_numeric(rows["value"]),
        group=rows["group"].where(rows["group"] != "", rows["item"]),
    )
    rows = rows.assign(block=rows["cluster"].where(rows["cluster"] != "", rows["group"]))
    is_preference = rows["outcome"] != ""
    output = rows["output_id"].where(rows["output_id"] != "", rows["item"] + "|" + rows["system"])
    rows = rows.assign(output=output.where(~is_preference, rows["item"]))
    rows = rows[rows["value"].notna() | is_preference]
    rows = rows[~rows.duplicated(["participant", "output", "criterion", "part", "turn"])]
    rows = drop_ignored(rows, path.with_name("annotations.csv"), notes)
    if rows.empty:
        raise SystemExit("The file has no counted ratings of main items.")
    for origin in ("simulated", "imported"):
        if count := int((rows["origin"] == origin).sum()):
            notes.add(f"{count} of {len(rows)} ratings are {origin}.")
    return rows


def drop_ignored(rows: pd.DataFrame, path: Path, notes: Notes) -> pd.DataFrame:
    """Leave out the items that more people ignored than rated."""
    if not path.is_file():
        return rows
    answers = pd.read_csv(path, dtype=str, keep_default_na=False)
    answers = answers[(answers["kind"] == "main") & (answers["status"] == "counted")]
    answers = answers[
        (answers["excluded"] != "yes") & answers["outcome"].isin(["rated", "ignored"])
    ]
    share = (answers["outcome"] == "ignored").groupby(answers["item"]).mean()
    dropped = rows["item"].isin(share.index[share > 0.5])
    if dropped.any():
        items = rows.loc[dropped, "item"].nunique()
        notes.add(f"{items} items with {dropped.sum()} ratings are left out: most people who saw "
                  "such an item ignored it.")  # fmt: skip
    return rows[~dropped]


def list_criteria(rows: pd.DataFrame, plan: Plan, notes: Notes) -> list[Criterion]:
    """Return the criteria in the order of the instrument, the primary one first; without the plan,
    in the order of the file, and each as its rows say."""
    described = plan["criteria"] or [
        {"key": key, "family": guess_family(part)}
        for key, part in rows.groupby("criterion", sort=False)
    ]
    result: list[Criterion] = []
    for about in described:
        part = rows[(rows["criterion"] == about["key"]) & (rows["part"] != "comment")]
        if about["family"] == "ranks":
            notes.add(f"{about['key']}: orders are only in the report, whose tests are a "
                      "bootstrap.")  # fmt: skip
        if about.get("per") == "item":
            part = part.assign(system=part["system"].where(part["system"] != "", WHOLE))
        result += split_options(part, about)
    result = [criterion for criterion in result if len(criterion.rows)]
    return sorted(
        result, key=lambda criterion: plan["primary"] not in (criterion.key, criterion.choice)
    )


def guess_family(rows: pd.DataFrame) -> str:
    if (rows["outcome"] != "").all():
        return "preference"
    if (rows["log_ratio"] != "").all():
        return "magnitude"
    if (rows["turn"] != "").any():
        return "turns"
    if rows["scale"].isin(["ranking", "best_worst"]).all():
        return "ranks"
    scale = rows["scale"].iloc[0] if rows["scale"].nunique() == 1 else ""
    families = {"decision": "decision", "spans": "penalties", "post_edit": "edits"}
    return families.get(scale, "points")


def split_options(rows: pd.DataFrame, about: Row) -> Iterator[Criterion]:
    """Yield the question as one criterion, or one for each of its options: 1 where it was taken."""
    family, options = about["family"], about.get("options") or []
    if family in ("text", "ranks") or rows.empty:
        return
    if family == "penalties":
        # beside the penalty, a row may say that there are no errors
        rows = rows[rows["part"] == ""]
    lowest, highest = (pd.to_numeric(rows[name]) for name in ("scale_min", "scale_max"))
    ends = None if lowest.isna().any() else (
        float(lowest.min()), float(highest.fillna(np.inf).max())
    )  # fmt: skip
    question = Criterion(
        key=about["key"],
        family=family,
        better=find_better(rows, about),
        ends=(0.0, 1.0) if family == "shares" else ends,
        has_points=bool((rows["scale"] == "likert").all()) and family == "points",
        rows=rows,
    )
    if not options:
        kept = average(rows) if family in AVERAGED else rows
        yield replace(question, rows=kept)
        return
    for place, option in enumerate(options, start=1):
        chosen = rows[rows["part"] == ""]
        chosen = chosen.assign(value=(chosen["value"] == place).astype(float))
        part = pd.concat([rows[rows["part"] == option], chosen])
        yield replace(
            question,
            key=f"{about['key']}__{option}",
            family="turns" if family == "turns" else "decision",
            ends=(0.0, 1.0),
            rows=average(part) if family == "turns" else part.sort_index(),
            choice=about["key"],
            better="none",
        )


def find_better(rows: pd.DataFrame, about: Row) -> str:
    """Return the direction of a criterion; numbers have none by themselves."""
    if about["family"] == "preference":
        return "higher"
    known = about.get("better") or str(rows["better"].iloc[0])
    return known or ("none" if (rows["scale"] == "number").all() else "higher")


def average(rows: pd.DataFrame) -> pd.DataFrame:
    """One row for each person and output: the mean of statements or turns."""
    unit = ["annotation", "participant", "output"]
    means = rows.groupby(unit, sort=False)["value"].transform("mean")
    return rows.assign(value=means)[~rows.duplicated(unit)]


# --- the model ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fit:
    """A fitted model: means, their covariance (that of the model, and after Kenward and Roger), how
    it moves with each variance, and the covariance of these."""

    beta: Any
    phi: Any
    adjusted: Any
    slopes: Any
    spread: Any
    variances: dict[str, float]
    ties: list[Any]

    def contrast(self, weights: Any) -> tuple[float, float, float]:
        """Estimate, standard error and degrees of freedom."""
        w = np.asarray(weights, float)
        v = w @ self.phi @ w
        g = np.array([w @ self.phi @ slope @ self.phi @ w for slope in self.slopes])
        spread = g @ self.spread @ g
        df = max(2 * v * v / spread, 1.0) if spread > 0 else 1.0
        return float(w @ self.beta), float(np.sqrt(w @ self.adjusted @ w)), float(df)

    def is_known(self, weights: Any) -> bool:
        """Return whether the data determine this sum of means, and its error."""
        w = np.asarray(weights, float)
        is_determined = not any(tie.moves(w) for tie in self.ties)
        return is_determined and w @ self.adjusted @ w <= MOST_CORRECTION * (w @ self.phi @ w)

    def test_jointly(self, rows: pd.DataFrame) -> tuple[float, int, float, float] | None:
        """F of Kenward and Roger (1997) that all these sums are 0: F, both df and p."""
        matrix = np.asarray(rows, float)
        q = len(matrix)
        cut = matrix @ self.phi @ matrix.T
        theta = matrix.T @ np.linalg.solve(cut, matrix)
        moved = [theta @ self.phi @ slope @ self.phi for slope in self.slopes]
        traces = np.array([np.trace(part) for part in moved])
        a1 = traces @ self.spread @ traces
        a2 = sum(self.spread[k, m] * np.trace(moved[k] @ moved[m])
                 for k in range(len(moved)) for m in range(len(moved)))  # fmt: skip
        b = (a1 + 6 * a2) / (2 * q)
        g = ((q + 1) * a1 - (q + 4) * a2) / ((q + 2) * a2)
        d = 3 * q + 2 * (1 - g)
        c1, c2, c3 = g / d, (q - g) / d, (q + 2 - g) / d
        rho = ((1 - a2 / q) / (1 - c2 * b)) ** 2 * (1 + c1 * b) / ((1 - c3 * b) * q)
        df = 4 + (q + 2) / (q * rho - 1)
        if not df > 2:
            return None
        scale = df * (1 - a2 / q) / (df - 2)
        apart = matrix @ self.beta
        f = scale / q * apart @ np.linalg.solve(matrix @ self.adjusted @ matrix.T, apart)
        return float(f), q, float(df), float(stats.f.sf(f, q, df))


def fit_reml(y: Floats, x: Floats, terms: Terms) -> Fit | None:
    """REML by Fisher scoring over dense matrices. `terms`: name to incidence (n, levels), whose
    entries may be +1 and -1. None if it doesn't converge."""
    n, p = x.shape
    unit = float(y.std())
    y = y / unit
    z = [sparse.csr_matrix(term) for term in terms.values()]
    shared = [(part @ part.T).toarray() for part in z] + [np.eye(n)]
    th = np.full(len(shared), y.var() / len(shared))

    def look(th: Floats) -> tuple[Any, ...]:
        v = sum(t * part for t, part in zip(th, shared, strict=True))
        lower = linalg.cholesky(v, lower=True, check_finite=False)
        inverse = linalg.cho_solve((lower, True), np.eye(n), check_finite=False)
        vx = inverse @ x
        phi = np.linalg.inv(x.T @ vx)
        project = inverse - vx @ phi @ vx.T
        logs = 2 * np.log(np.diag(lower)).sum() - np.linalg.slogdet(phi)[1]
        return logs + y @ project @ y, inverse, vx, phi, project

    def learn(project: Floats) -> tuple[Floats, Floats]:
        """Return the gradient, and the expected information of all variances."""
        py = project @ y
        halves = [(part.T @ project) for part in z] + [project]
        crossed = [[half @ part if part is not None else half for part in [*z, None]]
                   for half in halves]  # fmt: skip
        info = np.array([[(block**2).sum() for block in row] for row in crossed])
        traces = np.array([np.trace(crossed[k][k]) for k in range(len(crossed))])
        squares = np.array([((part.T @ py) ** 2).sum() for part in z] + [py @ py])
        return traces - squares, info

    state = look(th)
    for _ in range(300):
        gradient, info = learn(state[4])
        free = (th > 0) | (gradient < 0)
        free[-1] = True
        if np.abs(gradient[free] * np.maximum(th[free], 1e-3)).max() < 1e-8:
            break
        step = np.zeros(len(th))
        step[free] = -np.linalg.lstsq(info[np.ix_(free, free)], gradient[free], rcond=None)[0]
        tries = [np.maximum(th + step / 2**half, 0) for half in range(30)]
        tries += [
            np.where(np.arange(len(th)) == k, 0, th) for k in np.argsort(th[:-1]) if th[k] > 0
        ]
        for new in tries:
            new = np.where(new < 1e-10, 0, new)
            new[-1] = max(new[-1], th[-1] / 10)
            if abs(gradient @ (new - th)) < np.spacing(abs(state[0])):
                continue  # what is to be won has no digit of the criterion
            result = look(new)
            if result[0] < state[0] - 1e-13:
                break
        else:
            break
        th, state = new, result
    gradient, info = learn(state[4])
    free = (th > 0) | (gradient < 0)
    if np.abs(gradient[free] * np.maximum(th[free], 1e-3)).max() > 1e-3:
        return None
    _, inverse, vx, phi, _ = state
    spread = invert_information(info)
    reach = [part @ (part.T @ vx) for part in z] + [vx]
    slopes = np.array([vx.T @ part for part in reach])
    added = np.zeros((p, p))
    within = [inverse @ part for part in reach]
    for k in range(len(reach)):
        for m in range(len(reach)):
            added += spread[k, m] * (reach[k].T @ within[m] - slopes[k] @ phi @ slopes[m])
    beta = phi @ (vx.T @ y)
    size = unit**2
    return Fit(
        beta=beta * unit, phi=phi * size,
        adjusted=(phi + 2 * phi @ added @ phi) * size, slopes=slopes / size**2,
        spread=spread * size**2,
        variances=dict(zip([*terms, "residual"], (float(t) * size for t in th), strict=True)),
        ties=[],
    )  # fmt: skip


def invert_information(info: Floats) -> Floats:
    """Twice the inverse; a variance of which the ratings say nothing is as good as unknown."""
    known = info.copy()
    unknown = np.diag(info) < 1e-8
    known[unknown] = known[:, unknown] = 0
    known[unknown, unknown] = 1e-8
    size = np.sqrt(np.diag(known))
    return 2 * np.linalg.pinv(known / np.outer(size, size), rcond=1e-11) / np.outer(size, size)


@dataclass(frozen=True)
class Tie:
    """A sum of variances that the ratings can't tell apart, and what moving it does to means."""

    weights: Any
    sizes: Any
    covariance: Any
    spreads: Any

    def moves(self, w: Floats) -> bool:
        used = np.flatnonzero(w)
        off = np.linalg.norm(self.weights[:, used] @ w[used])
        spread = abs(w @ self.covariance @ w)
        return off > SWAYED * (np.abs(w) @ self.sizes) or spread > SWAYED * (w**2 @ self.spreads)


def drop_tied(terms: Terms, x: Floats) -> tuple[Terms, dict[str, str], list[Tie]]:
    """Return the terms that the residual, the means and earlier terms don't imply, and why not
    others."""
    size = x.sum(axis=0)
    parts = [
        sparse.eye(len(x), format="csr"),
        *(sparse.csr_matrix(entry) for entry in terms.values()),
    ]
    sums = [part.T @ x for part in parts]  # (levels, means)

    def multiply(a: int, b: int) -> float:
        crossed = (parts[a].T @ parts[b]).tocsr()
        taken = (sums[a] / size) * (crossed @ sums[b])
        both = ((sums[a].T @ sums[a]) / size) @ ((sums[b].T @ sums[b]) / size)
        return crossed.multiply(crossed).sum() - 2 * taken.sum() + np.trace(both)

    gram = np.array([[multiply(a, b) for b in range(len(parts))] for a in range(len(parts))])
    names, kept, dropped, ties = ["the residual", *terms], [0], {}, []
    for k in range(1, len(parts)):
        whole = (parts[k].T @ parts[k]).power(2).sum()
        tie = np.zeros(len(parts))
        tie[k] = 1.0
        if gram[k, k] <= TIED * whole:
            dropped[names[k]] = "it merges with the means of the systems"
        else:
            root = np.sqrt(np.diag(gram)[kept])
            within = gram[np.ix_(kept, kept)] / np.outer(root, root)
            by = np.linalg.lstsq(within, gram[kept, k] / root, rcond=None)[0]
            if gram[k, k] - by @ (gram[kept, k] / root) > TIED * gram[k, k]:
                kept.append(k)
                continue
            tie[kept] = -by / root
            tie[np.abs(tie) < SWAYED] = 0
            tied_to = " and ".join(names[place] for place in kept if tie[place])
            dropped[names[k]] = f"it can't be told from {tied_to} in these ratings"
        ties.append(describe_tie(tie, parts, sums, x))
    return {name: term for name, term in terms.items() if name not in dropped}, dropped, ties


def describe_tie(tie: Floats, parts: list[Any], sums: list[Any], x: Floats) -> Tie:
    size = x.sum(axis=0)
    n, p = x.shape
    weights, covariance = np.zeros((n, p)), np.zeros((p, p))
    sizes, spreads = np.zeros(p), np.zeros(p)
    for by, part, total in zip(tie, parts, sums, strict=True):
        share = total / size
        counts = np.asarray(part.multiply(part).sum(axis=0)).ravel()
        weights += by * (part @ share)
        covariance += by * share.T @ share
        sizes += abs(by) * np.sqrt(counts @ share**2)
        spreads += abs(by) * (share**2).sum(axis=0)
    weights -= x @ ((x.T @ weights) / size[:, None])
    return Tie(weights, sizes, covariance, spreads)


def code(*columns: Any) -> Any:
    """Codes from 0 of the combinations of these columns."""
    frame = pd.concat([pd.Series(np.asarray(column)) for column in columns], axis=1)
    return frame.groupby(list(frame.columns), sort=False).ngroup().to_numpy()


def spread_levels(codes: Any) -> Any:
    n = len(codes)
    return sparse.csr_matrix((np.ones(n), (np.arange(n), codes)), shape=(n, codes.max() + 1))


def find_terms(rows: pd.DataFrame) -> tuple[Terms, dict[str, str]]:
    """Return the random effects of ratings of outputs, by name; and why others are left out."""
    rater, group, system = rows["participant"], rows["group"], rows["system"]
    codes = {"rater": code(rater), "group": code(group)}
    has_clusters = bool((rows["cluster"] != "").any())
    if has_clusters:
        codes["cluster"] = code(rows["block"])
    codes["group:system"] = code(group, system)
    if has_clusters:
        codes["cluster:system"] = code(rows["block"], system)
    codes |= {"rater:system": code(rater, system), "rater:group": code(rater, group)}
    n = len(rows)
    dropped: dict[str, str] = {}
    kept: dict[str, Any] = {}
    for name, values in codes.items():
        levels = values.max() + 1
        alike = [other for other, codes_of in kept.items()
                 if codes_of.max() + 1 == levels == code(values, codes_of).max() + 1]  # fmt: skip
        if name == "rater:group" and levels < n and (n - levels) / n < LEAST_REPEATED:
            dropped[name] = "few raters have several ratings of one input"
        elif levels == n:
            dropped[name] = "it merges with the residual: one rating for each level"
        elif levels == 1:
            dropped[name] = "it merges with the mean: one level"
        elif alike:
            dropped[name] = f"it merges with {alike[-1]}: the same levels"
        else:
            kept[name] = values
    return {name: spread_levels(values) for name, values in kept.items()}, dropped


def find_signed_terms(rows: pd.DataFrame, systems: list[str]) -> Terms:
    """Return the random effects of preferences: what raters, inputs and clusters add to system_1 of
    a row, and take off system_2."""
    codes = {"rater:system": code(rows["participant"]), "input:system": code(rows["group"])}
    if rows["block"].nunique() < rows["group"].nunique():
        codes["cluster:system"] = code(rows["block"])
    first, second = (rows[name].map(systems.index).to_numpy() for name in ("system_1", "system_2"))
    result = {}
    for name, values in codes.items():
        pairs = np.concatenate([values * len(systems) + first, values * len(systems) + second])
        levels = np.unique(pairs, return_inverse=True)[1]
        n, width = len(rows), levels.max() + 1
        result[name] = spread_wide(levels[:n], width) - spread_wide(levels[n:], width)
    return result


def spread_wide(codes: Any, width: int) -> Any:
    n = len(codes)
    return sparse.csr_matrix((np.ones(n), (np.arange(n), codes)), shape=(n, width))


def fit_model(
    y: Floats, x: Floats, terms: Terms, dropped: dict[str, str]
) -> tuple[Fit | None, dict[str, str]]:
    """Return the model, and the terms that it lacks; None where there is none, and why."""
    kept, tied, ties = drop_tied(terms, x)
    fit = fit_reml(y, x, kept)
    is_doubtful = fit is not None and any(
        w @ fit.adjusted @ w > MOST_CORRECTION * (w @ fit.phi @ w)
        for w in (a - b for a, b in combinations(np.eye(x.shape[1]), 2))
    )
    if "rater:group" in kept and (fit is None or is_doubtful):
        fewer = {name: term for name, term in terms.items() if name != "rater:group"}
        dropped = {**dropped, "rater:group": "its variance is known too poorly"}
        return fit_model(y, x, fewer, dropped)
    if fit is None:
        return None, dropped | tied
    if fit.variances["residual"] < NO_RESIDUAL * y.var():
        return None, dropped | tied
    return replace(fit, ties=ties), dropped | tied


# --- comparing ----------------------------------------------------------------------------------


@dataclass
class Compared:
    """The comparisons of one criterion. `pairs`: rows that lack only corrected p and verdict."""

    criterion: Criterion
    systems: list[Row]
    pairs: list[Row]
    joint: tuple[float, int, float, float] | None = None
    variances: dict[str, float] = field(default_factory=dict)
    is_tested: bool = True

    @property
    def p(self) -> list[float]:
        """Return the p values of the family."""
        return [pair["p"] for pair in self.pairs if pair["is_named"] and "p" in pair]


def compare(criterion: Criterion, plan: Plan, tables: Path, notes: Notes) -> Compared:
    """Compare the systems of a criterion by the model, or as the report does without one."""
    measure = compare_preferences if criterion.is_compared else compare_scores
    result = measure(criterion, plan, tables, notes)
    hypotheses = {frozenset((entry["system"], entry["other"])) for entry in plan["hypotheses"]
                  if entry["criterion"] == criterion.key}  # fmt: skip
    baseline = plan["baseline"] in names_of(criterion)
    named = [frozenset((pair["first"], pair["second"])) in hypotheses for pair in result.pairs]
    for pair, is_named in zip(result.pairs, named, strict=True):
        pair["is_named"] = is_named or baseline or not any(named)
    return result


def names_of(criterion: Criterion) -> list[str]:
    rows = criterion.rows
    columns = ["system_1", "system_2"] if criterion.is_compared else ["system"]
    return sorted({name for column in columns for name in rows[column]} - {""})


def choose_pairs(names: list[str], plan: Plan, notes: Notes, key: str) -> list[tuple[str, str]]:
    baseline = plan["baseline"]
    if baseline and baseline not in names:
        notes.add(f"{key}: the baseline {baseline} has no ratings, so all pairs are compared.")
    if baseline in names:
        return [(baseline, name) for name in names if name != baseline]
    return list(combinations(names, 2))


def compare_scores(criterion: Criterion, plan: Plan, tables: Path, notes: Notes) -> Compared:
    key, names = criterion.key, names_of(criterion)
    rows = criterion.rows.assign(y=take_values(criterion)).reset_index(drop=True)
    chosen = choose_pairs(names, plan, notes, key)
    systems = [describe_system(criterion, rows[rows["system"] == name], name) for name in names]
    result = Compared(criterion, systems, [{"first": a, "second": b} for a, b in chosen])
    raters = rows["participant"].nunique()
    if not criterion.has_persons or raters < 2:
        result.is_tested = not criterion.has_persons
        for pair in result.pairs:
            pair |= test_means(rows, pair, "group")
        return result
    if np.ptp(rows["y"]) == 0:
        for pair in result.pairs:
            pair |= {"estimate": 0.0, "se": 0.0, "p": 1.0}
        return result
    if len(rows) > MOST_DENSE:
        return read_fitted(result, tables)
    fit = fit_scores(rows, names, notes, key) if len(rows) > len(names) else None
    if fit is None:
        notes.add(f"{key}: there is no model of these ratings, so nothing is compared here. The "
                  "report has what can be said.")  # fmt: skip
        result.pairs = []
        return result
    result.variances = fit.variances
    describe_means(result, fit)
    thin = [name for name, part in rows.groupby("system")
            if min(part["group"].nunique(), part["participant"].nunique()) < 2]  # fmt: skip
    test_pairs(result, rows, fit, thin)
    if plan["has_own_errors"]:
        use_separate_errors(result, rows, notes)
    unit = np.eye(len(names))
    apart = [after - before for before, after in combinations(unit, 2)]
    if len(names) > 2 and not thin and all(fit.is_known(weights) for weights in apart):
        result.joint = fit.test_jointly(unit[1:] - unit[0])
    return result


def describe_means(result: Compared, fit: Fit) -> None:
    """Add to each system its mean by the model, and how far it is from the average of all."""
    unit = np.eye(len(result.systems))
    for place, system in enumerate(result.systems):
        system |= describe_mean(result.criterion, fit, unit[place], "")
        if len(unit) > 1:
            away = unit[place] - 1 / len(unit)
            system |= describe_mean(result.criterion, fit, away, "from_average")


def test_pairs(result: Compared, rows: pd.DataFrame, fit: Fit, thin: list[str]) -> None:
    """Test each pair; of a system with one input or rater only over raters on one shared input."""
    names = [system["system"] for system in result.systems]
    for pair in result.pairs:
        weights = [float(name == pair["second"]) - float(name == pair["first"]) for name in names]
        if thin and {pair["first"], pair["second"]} & set(thin):
            both = rows[rows["system"].isin([pair["first"], pair["second"]])]
            if both["group"].nunique() == 1:
                pair |= test_means(both, pair, "participant")
        elif fit.is_known(weights):
            pair |= {**test(*fit.contrast(weights)), "is_by_model": True}


def take_values(criterion: Criterion) -> Any:
    rows = criterion.rows
    if not criterion.is_log:
        return rows["value"]
    standard = pd.to_numeric(rows["standard"])
    if standard.isna().any() or standard.nunique() < 2:
        return np.log(rows["value"])
    # standards that differ: all on the scale of the most usual one
    return np.log(rows["value"] / standard * standard.mode()[0])


def describe_system(criterion: Criterion, rows: pd.DataFrame, name: str) -> Row:
    mean = float(np.exp(rows["y"].mean())) if criterion.is_log else rows["value"].mean()
    return {"system": name, "n": len(rows), "mean": mean, "sd": rows["y"].std()}


def fit_scores(rows: pd.DataFrame, names: list[str], notes: Notes, key: str) -> Fit | None:
    terms, dropped = find_terms(rows)
    x = (rows["system"].to_numpy()[:, None] == np.array(names)).astype(float)
    fit, dropped = fit_model(rows["y"].to_numpy(), x, terms, dropped)
    if fit is not None:
        kept = [f"(1 | {name})" for name in fit.variances if name != "residual"]
        notes.add(f"{key}: value ~ {' + '.join(['system', *kept])}, REML.")
    for name, why in dropped.items():
        notes.add(f"{key}: {name} is left out: {why}.")
    return fit


def describe_mean(criterion: Criterion, fit: Any, weights: Any, name: str) -> Row:
    if not fit.is_known(weights):
        return {}
    estimate, se, df = fit.contrast(weights)
    reach = stats.t.ppf(0.975, df) * se
    values = estimate, estimate - reach, estimate + reach
    if criterion.is_log:
        values = tuple(np.exp(values))
    low, high = values[1:]
    if criterion.ends and not name:
        low, high = cut(low, high, *criterion.ends)
    ends = (f"{name}_low", f"{name}_high") if name else ("low", "high")
    return dict(zip((name or "estimate", *ends), (values[0], low, high), strict=True))


def test(estimate: float, se: float, df: float) -> Row:
    if se <= 1e-12 * max(1.0, abs(estimate)):
        return {"estimate": estimate, "se": 0.0}
    t = estimate / se
    p = float(2 * stats.t.sf(abs(t), df))
    return {"estimate": estimate, "se": se, "df": df, "t": t, "p": p}


def test_means(rows: pd.DataFrame, pair: Row, unit: str) -> Row:
    """Return the t test of the differences of means of each input, or of each rater."""
    means = rows.groupby([unit, "system"])["y"].mean().unstack()
    if not {pair["first"], pair["second"]} <= set(means):
        return {}
    apart = (means[pair["second"]] - means[pair["first"]]).dropna()
    by = apart.index
    if unit == "group":
        by = apart.index.map(rows.drop_duplicates("group").set_index("group")["block"])
    return test_blocks(apart.to_numpy(), by)


def test_blocks(values: Any, blocks: Any) -> Row:
    codes = pd.factorize(np.asarray(blocks))[0]
    count, mean = codes.max(initial=-1) + 1, values.mean() if len(values) else 0.0
    if count < 2:
        return {}
    off = np.bincount(codes, weights=values - mean)
    se = float(np.sqrt((off**2).sum() * count / (count - 1))) / len(values)
    result = test(float(mean), se, count - 1)
    return result if "p" in result else result | {"p": flip_signs(mean, count)}


def flip_signs(mean: float, units: float) -> float:
    """p of sign flips of differences that are all equal."""
    return 1.0 if abs(mean) <= 1e-12 else min(1.0, 2.0 ** (1 - units))


def use_separate_errors(result: Compared, rows: pd.DataFrame, notes: Notes) -> None:
    """Test each pair by a model of its two systems alone, as the plan says."""
    systems, pairs = len(result.systems), len(result.pairs)
    most_pairs, most_ratings = MOST_SEPARATE
    every = systems * (systems - 1) // 2
    if systems < 3 or every > most_pairs or every * 2 / systems * len(rows) > most_ratings:
        return
    notes.add(f"{result.criterion.key}: each of {pairs} pairs has an error of its own.")
    for pair in result.pairs:
        if "df" not in pair:
            continue
        names = [pair["first"], pair["second"]]
        part = rows[rows["system"].isin(names)].reset_index(drop=True)
        if len(part) <= 2 or np.ptp(part["y"]) == 0 or part["participant"].nunique() < 2:
            continue
        terms, dropped = find_terms(part)
        x = (part["system"].to_numpy()[:, None] == np.array(names)).astype(float)
        fit, _ = fit_model(part["y"].to_numpy(), x, terms, dropped)
        if fit is not None and fit.is_known([-1.0, 1.0]):
            pair |= test(*fit.contrast([-1.0, 1.0]))


def compare_preferences(criterion: Criterion, plan: Plan, tables: Path, notes: Notes) -> Compared:
    """Return each pair's net share of wins, all pairs in one model with signs."""
    key, names = criterion.key, names_of(criterion)
    rows = criterion.rows[criterion.rows["outcome"] != ""].reset_index(drop=True)
    value = rows["outcome"].map(OUTCOMES)
    turned = rows["system_1"] > rows["system_2"]
    low, high = (rows[a].where(~turned, rows[b]) for a, b in
                 (("system_1", "system_2"), ("system_2", "system_1")))  # fmt: skip
    rows = rows.assign(system_1=low, system_2=high, y=value.where(~turned, -value))
    systems = []
    for name in names:
        first, second = rows["system_1"] == name, rows["system_2"] == name
        points = pd.concat([(1 + rows["y"][first]) / 2, (1 - rows["y"][second]) / 2])
        systems.append({"system": name, "n": len(points), "mean": points.mean()})
    met = [pair for pair in combinations(names, 2)
           if ((low == pair[0]) & (high == pair[1])).any()]  # fmt: skip
    chosen = choose_pairs(names, plan, notes, key)
    chosen = [pair for pair in met if pair in chosen or pair[::-1] in chosen]
    result = Compared(criterion, systems, [{"first": a, "second": b} for a, b in chosen])
    raters = rows["participant"].nunique()
    result.is_tested = not criterion.has_persons or raters > 1
    if criterion.has_persons and len(rows) > MOST_DENSE and raters > 1:
        return read_fitted(result, tables)
    fit = None
    x = np.array([(low == a) & (high == b) for a, b in met], float).T
    if criterion.has_persons and raters > 1 and len(rows) > len(met) and np.ptp(rows["y"]) > 0:
        fit, dropped = fit_model(rows["y"].to_numpy(), x, find_signed_terms(rows, names), {})
        for name, why in dropped.items():
            notes.add(f"{key}: {name} is left out: {why}.")
    if fit is not None:
        kept = [f"(1 | {name}, +1 for system_1, -1 for system_2)" for name in fit.variances
                if name != "residual"]  # fmt: skip
        notes.add(f"{key}: preferred (1, 0, -1) ~ {' + '.join(['pair', *kept])}, REML.")
        result.variances = fit.variances
        every = len(names) * (len(names) - 1) // 2
        if len(met) == every > 1 and all(fit.is_known(weights) for weights in np.eye(len(met))):
            result.joint = fit.test_jointly(np.eye(len(met)))
    for pair in result.pairs:
        place = met.index((pair["first"], pair["second"]))
        part = rows[x[:, place] == 1]
        pair |= {"wins": int((part["y"] > 0).sum()), "losses": int((part["y"] < 0).sum())}
        pair |= test_preferences(criterion, part, fit, np.eye(len(met))[place], raters) or {}
    unknown = [pair for pair in result.pairs if pair.pop("is_open", False)]
    if unknown:
        notes.add(f"{key}: {len(unknown)} pairs can't be tested by the model and have no row here; "
                  "the report has them.")  # fmt: skip
        result.pairs = [pair for pair in result.pairs if pair not in unknown]
    return result


def test_preferences(
    criterion: Criterion, rows: pd.DataFrame, fit: Any, weights: Any, raters: int
) -> Row:
    blocks = rows["block"].nunique()
    by_persons = criterion.has_persons and raters > 1
    if by_persons and rows["participant"].nunique() == 1:
        return {}
    y = rows["y"].to_numpy()
    if by_persons and blocks > 1 and np.ptp(y) == 0:
        return {"estimate": float(y[0]), "se": 0.0, "p": flip_signs(y[0], blocks)}
    if not by_persons:
        return test_blocks(y, rows["block"])
    if blocks == 1:
        return test_blocks(y, rows["participant"])
    if fit is None or not fit.is_known(weights):
        return {"is_open": True}
    return test(*fit.contrast(weights))


def read_fitted(result: Compared, tables: Path) -> Compared:
    """Return what analysis.R fitted, where a dense fit would take too long."""
    key = result.criterion.key
    if not all((tables / f"{name}.csv").is_file() for name in ("systems", "pairs", "variances")):
        raise SystemExit(f"{key} has more than {MOST_DENSE:,} ratings: run analysis.R first, which "
                         f"writes {tables}.")  # fmt: skip
    parts = {}
    for name in ("systems", "pairs", "joint_tests", "variances"):
        table = pd.read_csv(tables / f"{name}.csv", dtype={
            name: str for name in ("criterion", "system", "system_1", "system_2", "term")
        }, keep_default_na=False)  # fmt: skip
        parts[name] = table[table["criterion"] == key]
    means = {row["system"]: row for row in parts["systems"].to_dict("records")}
    taken = ["estimate", "low", "high", "from_average", "from_average_low", "from_average_high"]
    for system in result.systems:
        system |= {name: number(means[system["system"]][name]) for name in taken}
    log = np.log if result.criterion.is_log else float
    tests = {}
    for row in parts["pairs"].to_dict("records"):
        if number(row["df"]) is not None:
            values = log(float(row["estimate"])), float(row["se"]), float(row["df"])
            tests[row["system_1"], row["system_2"]] = values
    for pair in result.pairs:
        for sign, sides in ((1, ("second", "first")), (-1, ("first", "second"))):
            sign = -sign if result.criterion.is_compared else sign
            if fitted := tests.get((pair[sides[0]], pair[sides[1]])):
                pair |= {**test(sign * fitted[0], *fitted[1:]), "is_by_model": True}
        if result.criterion.is_compared:
            ahead = pair.get("estimate", 0) >= 0
            pair |= {"wins": int(ahead), "losses": int(not ahead)}
    result.variances = {row["term"]: float(row["variance"])
                       for row in parts["variances"].to_dict("records")}  # fmt: skip
    for row in parts["joint_tests"].to_dict("records"):
        result.joint = float(row["f"]), int(float(row["df1"])), float(row["df2"]), float(row["p"])
    return result


def number(cell: str) -> float | None:
    return None if cell == "" else float(cell)


def cut(low: float, high: float, least: float, most: float) -> tuple[float | None, float | None]:
    """Cut an interval to what is possible; return none if nothing is left of it, or everything."""
    if least <= low and high <= most:
        return low, high
    if (low <= least and most <= high) or high <= least or most <= low:
        return None, None
    return max(low, least), min(high, most)


# --- correcting ---------------------------------------------------------------------------------


def holm(p: Any) -> Floats:
    p = np.asarray(p, float)
    order = np.argsort(p, kind="stable")
    grown = np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order])
    result = np.empty(len(p))
    result[order] = np.minimum(grown, 1)
    return result


def correct_all(compared: list[Compared], plan: Plan, notes: Notes) -> bool:
    """Correct p by Holm: over all criteria without a primary one, else within each."""
    known = {result.criterion.choice or result.criterion.key for result in compared}
    known |= {result.criterion.key for result in compared}
    tested = [result for result in compared if result.is_tested]
    is_across = plan["primary"] not in known and sum(bool(entry.p) for entry in tested) > 1
    for result in tested:
        choice = result.criterion.choice
        beside = [p for other in tested if other is not result
                  and (is_across or (choice and choice == other.criterion.choice))
                  for p in other.p]  # fmt: skip
        family = len(result.p) + len(beside)
        pairs = [pair for pair in result.pairs if "p" in pair]
        every = holm([*(pair["p"] for pair in pairs), *beside])
        planned = holm([*result.p, *beside])
        named = iter(planned)
        for pair, p in zip(pairs, every, strict=False):
            is_named = pair["is_named"]
            pair["p_corrected"] = float(next(named) if is_named else p)
            pair["family"] = family + (0 if is_named else len(pairs) - len(result.p))
        if not is_across and result.p:
            number = "1 comparison" if family == 1 else f"{family} comparisons"
            notes.add(f"{result.criterion.key}: p corrected over {number}, as in the report.")
    if is_across:
        counts = [len(result.p) for result in tested if result.p]
        each = f"{len(counts)} criteria"
        if len(set(counts)) == 1:
            each += f" × {counts[0]} pairs"
        notes.add(f"p corrected over {sum(counts)} comparisons ({each}), as in the report.")
    return is_across


def finish_pair(result: Compared, pair: Row, baseline: str) -> Row:
    """Return the row of a pair, with the better system first, or the baseline second."""
    criterion = result.criterion
    effects = {"magnitude": "ratio", "preference": "net_win_share", "decision": "risk_difference"}
    effect = effects.get(criterion.family, "difference")
    row = {"criterion": criterion.key, "effect": effect, **pair}
    sign = 1.0
    names = [pair["second"], pair["first"]]
    if criterion.is_compared:
        names = names[::-1]
        turned = pair["first"] == baseline or (not baseline and pair["losses"] > pair["wins"])
    else:
        ahead = -1.0 if criterion.better == "lower" else 1.0
        turned = not baseline and ahead * pair.get("estimate", 0.0) < 0
    if turned:
        names, sign = names[::-1], -1.0
    row |= dict(zip(("system_1", "system_2"), names, strict=True))
    if "estimate" not in pair:
        return row | {"verdict": "undefined"}
    estimate = sign * pair["estimate"]
    row["estimate"] = estimate
    if "df" in pair:
        reach = stats.t.ppf(0.975, pair["df"]) * pair["se"]
        low, high = estimate - reach, estimate + reach
        if criterion.is_log:
            low, high = np.exp(low), np.exp(high)
        if bounds := find_bounds(criterion):
            low, high = cut(low, high, *bounds)
        row |= {"low": low, "high": high, "t": sign * pair["t"]}
        total = np.sqrt(sum(result.variances.values()))
        if total and "is_by_model" in pair and criterion.family not in WITHOUT_D:
            row |= {name: None if row[value] is None else row[value] / total for name, value in
                    (("d", "estimate"), ("d_low", "low"), ("d_high", "high"))}  # fmt: skip
    equal = 0.0
    if criterion.is_log:
        equal = 1.0
        row["estimate"] = float(np.exp(estimate))
    if not result.is_tested:
        dropped = ("p", "t", "p_corrected", "family")
        return {name: cell for name, cell in row.items() if name not in dropped} | {
            "verdict": "by_one_rater"
        }
    is_clear = row.get("p_corrected", 1.0) < 0.05
    verdict = "higher" if row["estimate"] > equal else "lower"
    return row | {"verdict": verdict if is_clear else "not_enough"}


def find_bounds(criterion: Criterion) -> tuple[float, float] | None:
    if criterion.is_log:
        return np.exp(-MOST_LOG), np.exp(MOST_LOG)
    if criterion.family in SHARES:
        return -1.0, 1.0
    if criterion.ends is None:
        return None
    most = criterion.ends[1] - criterion.ends[0]
    return -most, most


# --- margins ------------------------------------------------------------------------------------


def judge_margins(
    compared: list[Compared], plan: Plan, slices: dict[str, dict[str, str]], fitted: Path
) -> list[Row]:
    """Return the planned tests against a margin, corrected as the comparisons are."""
    is_across = plan["is_across"]
    tests = []
    for result in compared:
        planned = [entry for entry in plan["margins"] if entry["criterion"] == result.criterion.key]
        part = []
        for entry in planned if result.is_tested else ():
            row = judge_margin(result, entry) if is_margin(result.criterion, entry) else {}
            is_sliced = entry["relation"] == "not_worse" and entry.get("slices") in slices
            is_sliced = is_sliced and result.criterion.better != "none"
            if is_sliced and is_margin(result.criterion, entry):
                row["fails_in"] = find_failing(result, entry, slices, fitted)
            part.append({**entry, **row})
        tests.append(part)
    together = [row for part in tests for row in part]
    for family in [together] if is_across else tests:
        tested = [row for row in family if "p" in row]
        if len(tested) > 1:
            for row, p in zip(tested, holm([row["p"] for row in tested]), strict=True):
                row["p_corrected"] = float(p)
                if row["outcome"] == "pass" and p >= row["level"]:
                    row["outcome"] = "undecided"
    for row in together:
        if row.get("fails_in", "-") != "-":
            row["outcome"] = "fail"
    return together


def find_failing(
    result: Compared, planned: Row, slices: dict[str, dict[str, str]], fitted: Path
) -> str:
    """Return the slices with 20 inputs or more in which the system is clearly worse by more than
    the margin, p corrected over slices; "-" for none. Such a slice makes the outcome fail."""
    rows = result.criterion.rows
    values = rows["item"].map(slices[planned["slices"]]).fillna("").str.strip()
    # an input whose items are in several slices is in none
    values = values.where(values.groupby(rows["group"]).transform("nunique") == 1, "")
    sides = [planned["system"], planned["other"]]
    is_pair = rows["system"].isin(sides)
    if result.criterion.is_compared:
        is_pair = rows["system_1"].isin(sides) & rows["system_2"].isin(sides)
    bare = {"baseline": "", "hypotheses": [], "has_own_errors": False}
    tested, failing = {}, []
    for name, part in rows[is_pair & (values != "")].groupby(values):
        has_one_rater = result.criterion.has_persons and part["participant"].nunique() < 2
        if part["group"].nunique() < LEAST_INPUTS or has_one_rater:
            continue
        if len(part) > MOST_DENSE:
            return read_failing(planned, fitted)
        criterion = replace(result.criterion, rows=part)
        row = judge_margin(compare(criterion, bare, Path(), Notes(is_silent=True)), planned)
        if "p_fail" in row:
            tested[str(name)] = row["p_fail"]
        elif row.get("outcome") == "fail":
            failing.append(str(name))
    corrected = holm(list(tested.values()))
    level = planned.get("level", 0.05)
    failing += [name for name, p in zip(tested, corrected, strict=True) if p < level]
    return "; ".join(sorted(failing)) or "-"


def read_failing(planned: Row, fitted: Path) -> str:
    """Return what analysis.R found in slices, where a dense fit would take too long."""
    if not (fitted / "margins.csv").is_file():
        raise SystemExit(f"A slice of {planned['criterion']} has more than {MOST_DENSE:,} ratings: "
                         f"run analysis.R first, which writes {fitted}.")  # fmt: skip
    names = ["criterion", "system", "other", "relation"]
    table = pd.read_csv(fitted / "margins.csv", dtype=str, keep_default_na=False)
    is_same = (table[names] == [planned[name] for name in names]).all(axis=1)
    is_same &= table["margin"].astype(float) == planned["margin"]
    return str(table.loc[is_same, "fails_in"].iloc[0])


def find_exact(criterion: Criterion, system: str, other: str) -> tuple[float, bool] | None:
    """System minus other, where that is the same in every rating, and whether 3 raters and 10
    inputs or more show it; None where it varies."""
    rows, names = criterion.rows, [system, other]
    if criterion.is_compared:
        rows = rows[(rows["outcome"] != "") & rows["system_1"].isin(names)
                    & rows["system_2"].isin(names)]  # fmt: skip
        sides = [rows]
        y = rows["outcome"].map(OUTCOMES)
        y = y.where(rows["system_1"] == system, -y)
        if rows.empty or np.ptp(y) > 0:
            return None
        value = float(y.iloc[0])
    else:
        rows = rows.assign(y=take_values(criterion))
        rows = rows[rows["system"].isin(names)]
        sides = [rows[rows["system"] == name] for name in names]
        if any(side.empty for side in sides):
            return None
        value = 0.0
        if np.ptp(rows["y"]) > 0:
            least = NO_SPREAD * rows["y"].std(ddof=0)
            who = rows["participant" if criterion.has_persons else "person"]
            cells = rows.groupby([who, rows["group"], rows["system"]])["y"]
            apart = cells.mean().unstack()
            apart["difference"] = apart[system] - apart[other]
            is_split = (cells.max() - cells.min()).max() > least
            if is_split or apart.isna().any(axis=None) or apart["difference"].std(ddof=0) > least:
                return None
            value = float(round(apart["difference"].mean(), 9))
    raters, inputs = (
        min(side[name].nunique() for side in sides) for name in ("participant", "group")
    )
    is_enough = criterion.has_persons and raters >= LEAST_EXACT[0] and inputs >= LEAST_EXACT[1]
    return value, is_enough


def judge_margin(result: Compared, planned: Row) -> Row:
    criterion = result.criterion
    pair = next(
        (
            pair
            for pair in result.pairs
            if {pair["first"], pair["second"]} == {planned["system"], planned["other"]}
        ),
        {},
    )
    if criterion.better == "none" and planned["relation"] == "not_worse":
        return {}
    margin = float(np.log(planned["margin"])) if criterion.is_log else planned["margin"]
    ahead = -1.0 if criterion.better == "lower" else 1.0
    exact = find_exact(criterion, planned["system"], planned["other"])
    if exact is not None and (pair or not criterion.is_compared):
        inside = ahead * exact[0] + margin
        if planned["relation"] == "equivalent":
            inside = min(inside, margin - ahead * exact[0])
        outcome = "pass" if inside > 0 else "fail"
        is_open = abs(inside) <= ROUNDING or not exact[1]
        return {"outcome": "undecided" if is_open else outcome}
    if "df" not in pair:
        return {}
    # a difference is second minus first, a net share the first's
    is_turned = (pair["first"] == planned["system"]) != criterion.is_compared
    sign = -ahead if is_turned else ahead
    estimate, se, df = sign * pair["estimate"], pair["se"], pair["df"]
    level = planned.get("level", 0.05)
    reach, end = (stats.t.isf(entry, df) * se for entry in (0.05, level))
    p = float(stats.t.sf((estimate + margin) / se, df))
    is_beyond = estimate + end < -margin
    if planned["relation"] == "equivalent":
        p = max(p, float(stats.t.cdf((estimate - margin) / se, df)))
        is_beyond = is_beyond or estimate - end > margin
    outcome = "pass" if p < level else "fail" if is_beyond else "undecided"
    p_fail = float(stats.t.cdf((estimate + margin) / se, df))
    return {"p_fail": p_fail, "low90": estimate - reach, "high90": estimate + reach, "p": p,
            "outcome": outcome, "level": level}  # fmt: skip


def is_margin(criterion: Criterion, planned: Row) -> bool:
    """Return whether a margin is above 0 and small enough to be missed."""
    margin = planned["margin"]
    if criterion.is_log:
        return 1 < margin <= 2
    if criterion.family in SHARES:
        return 0 < margin < 0.5
    if criterion.ends and criterion.ends[1] < np.inf:
        return 0 < margin < (criterion.ends[1] - criterion.ends[0]) / 2
    return 0 < margin < (criterion.rows["value"].std() or np.inf)


# --- agreement ----------------------------------------------------------------------------------

DRAWS = 1000
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(41)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
GRID = np.concatenate([np.linspace(0, 0.9, 46), np.linspace(0.91, 0.99, 9)])
MOST_POINTS = 11  # with more values a scale counts as continuous
STEP = 1e-4  # of a unit's weight, for a slope
WIDE = {"percent_agreement", "within_1", "ac1", "ac2"}  # they don't move one way with strictness


def list_halton(base: int) -> Floats:
    result, number, factor = np.zeros(DRAWS), np.arange(1, DRAWS + 1), 1.0
    while number.any():
        factor /= base
        result += factor * (number % base)
        number //= base
    return result


HALTON = [list_halton(base) for base in (2, 3, 5, 7, 11)]


@dataclass(frozen=True)
class Rated:
    """Ratings as codes: rater, input, unit (output) and value, 0 to `kinds` - 1."""

    rater: Any
    input: Any
    unit: Any
    value: Any
    kinds: int

    @property
    def counts(self) -> Any:
        """Return how often each unit got each value."""
        return count_values(self.unit, self.value, self.kinds)

    def take_shared(self) -> "Rated":
        """Leave out units of one rating."""
        kept = (np.bincount(self.unit) > 1)[self.unit]
        codes = (pd.factorize(column[kept])[0] for column in (self.rater, self.input, self.unit))
        rater, group, unit = codes
        return Rated(rater, group, unit, self.value[kept], self.kinds)


def count_values(codes: Any, values: Any, kinds: int) -> Any:
    levels = codes.max(initial=-1) + 1
    return np.bincount(codes * kinds + values, minlength=levels * kinds).reshape(levels, kinds)


def list_distances(level: str, counts: Any) -> Any:
    """Return the distances of values; `counts` (..., values) only matter to ordinal ones."""
    kinds = counts.shape[-1]
    place = np.arange(kinds, dtype=float)
    if level == "nominal":
        return np.broadcast_to(1 - np.eye(kinds), (*counts.shape, kinds))
    if level == "ordinal":
        place = np.cumsum(counts, -1) - counts / 2
    else:
        place = np.broadcast_to(place, counts.shape)
    return (place[..., :, None] - place[..., None, :]) ** 2


def describe_alpha(rated: Rated, distances: Any) -> float:
    """Krippendorff's alpha."""
    counts = rated.counts
    size, total = counts.sum(1), counts.sum(0)
    seen = ((counts * (counts @ distances)).sum(1) / (size - 1)).sum()
    return 1 - (total.sum() - 1) * seen / (total @ distances @ total)


def weigh(name: str, kinds: int) -> Any:
    """Return how far two values count as agreement."""
    place = np.arange(kinds)
    apart = np.abs(place[:, None] - place)
    if name == "within_1":
        return (apart <= 1).astype(float)
    return 1 - (apart / (kinds - 1)) ** 2 if name == "ac2" else np.eye(kinds)


def describe_share(rated: Rated, weights: Any) -> float:
    """Return the mean over units of how far pairs of their ratings agree."""
    counts = rated.counts
    size = counts.sum(1)
    return float(
        np.mean(((counts * (counts @ weights - 1)).sum(1) / (size * (size - 1)))[size > 1])
    )


def correct_share(name: str, seen: Any, weights: Any, shares: Any) -> Any:
    """AC1 and AC2 of Gwet; shares as they are."""
    if name not in ("ac1", "ac2"):
        return seen
    kinds = len(weights)
    chance = weights.sum() / (kinds * (kinds - 1)) * (shares * (1 - shares)).sum(-1)
    return (seen - chance) / (1 - chance)


def agree(criterion: Criterion) -> list[Row]:
    """Return the coefficients of agreement, each with its interval for other raters and inputs."""
    rows, names = criterion.rows, list_coefficients(criterion)
    if not names:
        return []
    # as the report has them: a win of the first system is the lowest of three points
    y = -rows["outcome"].map(OUTCOMES) if criterion.is_compared else rows["value"]
    if criterion.is_log:
        standard = pd.to_numeric(rows["standard"])
        y = np.log(rows["value"] / (1 if standard.isna().any() else standard))
    scale = find_scale(criterion, y)
    rater, group, unit = (
        pd.factorize(rows[name])[0] for name in ("participant", "block", "output")
    )
    whole = Rated(rater, group, unit, np.searchsorted(scale, y), len(scale))
    rated = whole.take_shared()
    result: list[Row] = [{"coefficient": name} for name in names]
    if not len(rated.value):
        return result
    values = {name: find_coefficient(name, whole, rated, scale) for name in names}
    # means of turns and statements are values, however few of them differ
    has_points = criterion.family in ("preference", "decision") or criterion.has_points
    is_cut = has_points and len(scale) <= MOST_POINTS
    draw = draw_points if is_cut else draw_many_points if has_points else draw_numbers
    has_several = min(rated.rater.max(), rated.input.max()) > 0 and np.ptp(rated.value) > 0
    drawn = draw(rated, names, scale) if criterion.has_persons and has_several else {}
    for row in result:
        value = row["value"] = values[row["coefficient"]]
        draws = drawn.get(row["coefficient"])
        is_share = row["coefficient"] in ("percent_agreement", "within_1")
        if is_share and value in (0, 1):
            row |= describe_wilson(value, rated.unit.max() + 1)
            continue
        if value is None or value == 1 or value < -1:
            continue
        if draws is None:
            row |= describe_over_inputs(row["coefficient"], value, whole, scale)
            continue
        is_wide = not is_cut or (row["coefficient"] in WIDE and len(scale) > 2)
        edge = 0.0125 if is_wide else 0.025
        low, high = np.quantile(draws, [edge, 1 - edge])
        low, high = min(low, value), max(high, value)
        if high - low > 1e-12:
            row |= {"low": low, "high": high}
    return result


def find_scale(criterion: Criterion, y: Any) -> Any:
    """All values that could be given; of numbers those that were."""
    if criterion.is_compared:
        return np.array([-1.0, 0.0, 1.0])
    if criterion.family == "decision":
        return np.array([0.0, 1.0])
    if criterion.has_points and criterion.ends:
        return np.arange(criterion.ends[0], criterion.ends[1] + 1)
    return np.unique(y)


def describe_over_inputs(name: str, value: float, whole: Rated, scale: Any) -> Row:
    """Return the interval for these raters, where the draws say nothing of others: t over inputs of
    -log(1 - value), or of the logit of a share."""
    is_alpha, is_share = name.startswith("alpha"), name in ("percent_agreement", "within_1")
    rated = whole.take_shared() if is_alpha else whole
    counts = rated.counts.astype(float)
    size = counts.sum(1)
    weights = weigh(name, len(scale))

    def take(unit: int) -> list[Any]:
        """Return what sums over units need of one of them."""
        row, n = counts[unit], size[unit]
        if is_alpha:
            return [(np.outer(row, row) - np.diag(row)) / (n - 1), row]
        near = (row * (weights @ row - 1)).sum() / (n * (n - 1)) if n > 1 else 0.0
        return [near, float(n > 1), row / n, 1.0]

    def evaluate(sums: list[Any]) -> float:
        if is_alpha:
            pairs, total = sums
            level = name.removeprefix("alpha_")
            distances = list_distances(level, total)
            if level in ("log", "interval"):
                distances = (scale[:, None] - scale) ** 2
            seen = 1 - (total.sum() - 1) * (pairs * distances).sum() / (total @ distances @ total)
        else:
            near, pairable, shares, units = sums
            seen = correct_share(name, near / pairable, weights, shares / units)
        return float(np.log(seen / (1 - seen)) if is_share else -np.log(1 - seen))

    def add(sums: list[Any], parts: list[Any], by: float) -> list[Any]:
        return [value + by * part for value, part in zip(sums, parts, strict=True)]

    units = [take(unit) for unit in range(len(counts))]
    sums = [sum(parts) for parts in zip(*units, strict=True)]
    slopes = np.array([
        (evaluate(add(sums, parts, STEP)) - evaluate(add(sums, parts, -STEP))) / (2 * STEP)
        for parts in units
    ])  # fmt: skip
    input_of = np.zeros(len(counts), int)
    input_of[rated.unit] = rated.input
    by_input = np.bincount(input_of, weights=slopes)
    inputs = len(by_input)
    if inputs < 2:
        return {}
    # one unit more, in which all give the rarest value
    used = counts.sum(0)
    rarest = np.eye(len(scale))[np.argmin(np.where(used > 0, used, np.inf))]
    more = [0.0 * sums[0], size.mean() * rarest] if is_alpha else [1.0, 1.0, rarest, 1.0]
    z = evaluate(sums)
    moved = evaluate(add(sums, more, 1)) - z
    variance = spread(by_input) + (0.04 * moved**2 if np.isfinite(moved) else 0.0)
    if not 1e-24 < variance < np.inf:
        return {}
    reach = stats.t.ppf(0.975, inputs - 1) * np.sqrt(variance)
    low, high = (1 / (1 + np.exp(-end)) if is_share else 1 - np.exp(-end)
                 for end in (z - reach, z + reach))  # fmt: skip
    if not is_share:
        shared = size[size > 1]
        low = max(low, -1 / (len(shared) / (1 / shared).sum() - 1))
    return {"low": min(low, value), "high": max(high, value)}


def describe_wilson(share: float, units: int) -> Row:
    """Wilson's interval of a share of units in which all raters agree, or none do."""
    z = float(stats.norm.ppf(0.975))
    middle, reach = share + z**2 / (2 * units), z * np.sqrt(z**2 / (4 * units**2))
    ends = {
        "low": (middle - reach) / (1 + z**2 / units),
        "high": (middle + reach) / (1 + z**2 / units),
    }
    return {**ends, ("high" if share else "low"): share}


def list_coefficients(criterion: Criterion) -> list[str]:
    if criterion.is_compared:
        return ["alpha_nominal", "alpha_ordinal", "ac1", "percent_agreement"]
    if criterion.family == "decision":
        return ["alpha_nominal", "ac1", "percent_agreement"]
    if criterion.has_points:
        return ["alpha_ordinal", "ac2", "percent_agreement", "within_1", "alpha_interval"]
    return ["alpha_log" if criterion.is_log else "alpha_interval"]


def find_coefficient(name: str, whole: Rated, rated: Rated, scale: Any) -> float | None:
    if name.startswith("alpha"):
        if np.ptp(rated.value) == 0:
            return None
        level = name.removeprefix("alpha_")
        if level in ("log", "interval"):
            return describe_alpha(rated, (scale[:, None] - scale) ** 2)
        return describe_alpha(rated, list_distances(level, rated.counts.sum(0)))
    if name in ("ac1", "ac2") and np.ptp(rated.value) == 0:
        return None
    weights = weigh(name, len(scale))
    counts = whole.counts
    shares = (counts / counts.sum(1, keepdims=True)).mean(0)
    return float(correct_share(name, describe_share(rated, weights), weights, shares))


def sum_squares(codes: Any, values: Any, distances: Any) -> tuple[float, float]:
    counts = count_values(codes, values, len(distances))
    return (counts @ distances * counts).sum(), (counts.sum(1) ** 2).sum()


def spread(values: Any) -> float:
    n = len(values)
    return ((values - values.mean()) ** 2).sum() * n / (n - 1) if n > 1 else 0.0


def summarise(rated: Rated, distances: Any) -> Row:
    """All that the interval needs of the ratings, at fixed distances of values."""
    value, unit = rated.value, rated.unit
    counts = rated.counts.astype(float)
    size, total = counts.sum(1), counts.sum(0)
    n = total.sum()
    cell = pd.factorize(rated.rater * (rated.input.max() + 1) + rated.input)[0]
    (qr, cr), (qi, ci), (qx, cx), (qt, ct) = (
        sum_squares(codes, value, distances)
        for codes in (rated.rater, rated.input, cell, np.zeros_like(value))
    )
    near = counts @ distances
    apart = (counts * near).sum(1) / (size - 1)
    seen = apart.sum()
    s1, s3 = seen / n, (qt - qr - qi + qx) / (ct - cr - ci + cx)
    s2 = (qr - qx) / (cr - cx) if cr > cx else s3
    alpha = 1 - (n - 1) * seen / qt
    by_value = 2 * (total @ distances) / qt - 1 / (n - 1)
    in_unit, of = counts @ by_value, size[unit]
    inside = (2 * near[unit, value] / (of - 1) - apart[unit] / of) / seen
    by_rating = by_value[value] * (of - 2) / (of - 1) + in_unit[unit] / (of * (of - 1)) - inside
    plain = inside - 1 / n
    of_unit = np.zeros(len(size), int)
    of_unit[unit] = rated.input
    rarest = int(np.argmin(np.where(total > 0, total, np.inf)))
    mean, more = size.mean(), total.copy()
    more[rarest] += mean
    changed = np.log((1 - alpha) / ((n + mean - 1) * seen / (more @ distances @ more)))
    loads = np.bincount(rated.rater).astype(float)
    met = np.zeros((len(size), len(loads)))
    np.add.at(met, (unit, rated.rater), 1.0)
    shared = met.T @ (met / (size - 1)[:, None])
    np.fill_diagonal(shared, 0)
    laplace = np.diag(shared.sum(1)) - shared

    def sum_by(codes: Any, values: Any) -> Any:
        return np.bincount(codes, weights=values)

    return {
        "s1": s1, "s2": s2, "s3": s3, "k": len(size) / (1 / size).sum(), "mean": mean,
        "v_raters": spread(sum_by(rated.rater, by_rating)) - (by_rating**2).sum(),
        "v_raters_seen": spread(sum_by(rated.rater, plain)) - (plain**2).sum(),
        "v_inputs": spread(sum_by(of_unit, in_unit - apart / seen)) + (0.2 * changed) ** 2,
        "v_inputs_seen": spread(sum_by(of_unit, (apart - s1 * size) / seen)),
        "nu": np.trace(laplace) ** 2 / (laplace**2).sum(), "raters": len(loads),
        "inputs": rated.input.max() + 1, "n": n, "total": total,
        "load": len(loads) / (1 / loads).sum(), "shares": ((loads / n) ** 2).sum(),
    }  # fmt: skip


def is_usable(q: Row) -> bool:
    return bool(q["s1"] > 0 and q["s3"] > 1e-12 * q["s1"])


def draw_parts(
    q: Row, units: float, strictness: float, noise: float, back: Any
) -> tuple[Floats, Floats, Floats]:
    """Draw the variances of units, raters and noise."""
    s1 = max(q["s1"], 0.25 * q["s3"] / q["n"])
    v_unit, v_rater = (q["s3"] - s1) / 2, max((q["s3"] - q["s2"]) / 2, 0)
    v_noise = max((s1 + q["s2"] - q["s3"]) / 2, 0)
    k, nu, whole = q["k"], q["nu"], units + strictness + noise
    overlap = (q["mean"] - 1) / (q["raters"] - 1)
    omega = (v_noise + (1 - overlap) * max(v_unit, 0)) / q["load"]
    a = 1 - s1 / q["s3"]
    least = max(a, -0.5 / (k - 1), -0.5)
    expected = ((v_rater + omega) / (s1 / 2)) ** 2 * 2 / nu * (1 + np.sqrt(2 / nu))
    extra = max(0, q["v_raters"] - expected * a**2)
    extra_seen = max(0, q["v_raters_seen"] - expected)
    f = (1 + (k - 1) * least) / (1 - least)
    f = f * np.exp(ndtri(HALTON[0]) * np.sqrt(q["v_inputs"] + extra) * k / (1 + (k - 1) * least))
    rho = np.clip(back(np.clip((f - 1) / (f + k - 1), 0, 0.999)), 0, 0.99)
    omega = omega / (q["s3"] / 2) * whole
    r = np.maximum(0, (strictness + omega) * nu / stats.chi2.ppf(HALTON[1], nu) - omega)
    r = np.minimum(r, max(units + noise, 2 * strictness))

    def scale(variance: float) -> float:
        return min(np.sqrt(variance) * (strictness + noise) / noise, 1.0)

    n = noise * np.exp(ndtri(HALTON[4]) * scale(q["v_inputs_seen"]))
    return rho / (1 - rho) * (strictness + n), r, n * np.exp(ndtri(HALTON[3]) * scale(extra_seen))


def find_cells(cuts: Any, rho: Any) -> Any:
    """Return the table of two ratings whose latent scores correlate rho; `cuts` (n, values - 1)."""
    rho = np.clip(rho, 0, 0.9999)[:, None, None]
    at = ndtr((cuts[:, None, :] - np.sqrt(rho) * NODES[None, :, None]) / np.sqrt(1 - rho))
    edge = np.ones((*at.shape[:-1], 1))
    chance = np.diff(np.concatenate([0 * edge, at, edge], -1), axis=-1)
    return np.matmul((chance * WEIGHTS[:, None]).transpose(0, 2, 1), chance)


def draw_points(rated: Rated, names: list[str], scale: Any) -> dict[str, Floats]:
    """Draw every coefficient on a scale of a few ordered values."""
    kinds = len(scale)
    distances = list_distances("interval", np.ones(kinds))
    q = summarise(rated, distances)
    if not is_usable(q):
        return {}
    n = q["n"]
    cuts = ndtri(np.clip(np.cumsum(q["total"])[:-1] / n, 0.25 / n, 1 - 0.25 / n))
    g = (find_cells(np.broadcast_to(cuts, (len(GRID), kinds - 1)), GRID) * distances).sum((-1, -2))

    def invert(value: float) -> float:
        if value > g[0]:
            return -float(np.interp(value - 2 * g[0], -g, GRID))
        return float(np.interp(-value, -g, GRID))

    within, by_rater, base = (invert(q[name]) for name in ("s1", "s2", "s3"))
    units, strictness = max(within - base, 0), max(by_rater - base, 0)
    noise = max(1 - base - units - strictness, 0.05)
    u, r, e = draw_parts(q, units, strictness, noise, lambda a: np.interp(a - 1, -g / g[0], GRID))
    whole = u + r + e
    shift = ndtri(HALTON[2]) * np.sqrt(r * q["shares"] + units / q["inputs"] + noise / n)
    table = find_cells((cuts[None] - shift[:, None]) / np.sqrt(whole)[:, None], u / whole)
    shares = table.sum(-1)
    result = {}
    for name in names:
        if name.startswith("alpha"):
            d = list_distances(name.removeprefix("alpha_"), shares)
            chance = (shares[:, :, None] * shares[:, None] * d).sum((-1, -2))
            result[name] = 1 - (table * d).sum((-1, -2)) / chance
        else:
            weights = weigh(name, kinds)
            result[name] = correct_share(name, (table * weights).sum((-1, -2)), weights, shares)
    return result


def draw_numbers(rated: Rated, names: list[str], scale: Any) -> dict[str, Floats]:
    """Draw alpha where there are many values, and the distance of two ratings."""
    q = summarise(rated, (scale[:, None] - scale) ** 2)
    if not is_usable(q):
        return {}
    whole = q["s3"] / 2
    units, strictness = (max(0, q["s3"] - q[name]) / 2 / whole for name in ("s1", "s2"))
    noise = max(1 - units - strictness, 0.02)
    u, r, e = draw_parts(q, units, strictness, noise, lambda a: a)
    drawn = {name: u / (u + r + e) for name in names if name in ("alpha_interval", "alpha_log")}
    return {**drawn, "distance": 2 * whole * (r + e)}


def draw_many_points(rated: Rated, names: list[str], scale: Any) -> dict[str, Floats]:
    """Draw for more points than can be cut: alpha of values, ordinal alpha as that of mid-ranks,
    and AC2 with the shares of points as they are."""
    drawn = draw_numbers(rated, names, scale)
    if not drawn:
        return {}
    counts = rated.counts.sum(0)
    of_ranks = draw_numbers(rated, names, np.cumsum(counts) - counts / 2)
    if of_ranks:
        drawn["alpha_ordinal"] = of_ranks["alpha_interval"]
    width = (scale[-1] - scale[0]) ** 2
    seen = 1 - np.minimum(drawn["distance"] / width, 1)
    drawn["ac2"] = correct_share("ac2", seen, weigh("ac2", len(scale)), counts / counts.sum())
    return drawn


# --- all criteria -------------------------------------------------------------------------------


def make_tables(path: Path, plan: Plan, fitted: Path, notes: Notes) -> dict[str, list[Row]]:
    """Return every table by its name, as rows."""
    ratings = read_ratings(path, notes)
    slices = read_slices(path.with_name("items.csv"), plan)
    tables: dict[str, list[Row]] = {name: [] for name in COLUMNS}
    compared = [compare(criterion, plan, fitted, notes)
                for criterion in list_criteria(ratings, plan, notes)]  # fmt: skip
    is_across = correct_all(compared, plan, notes)
    for result in compared:
        key, baseline = result.criterion.key, plan["baseline"]
        baseline = baseline if baseline in names_of(result.criterion) else ""
        tables["systems"] += [{"criterion": key, **system} for system in result.systems]
        tables["pairs"] += [finish_pair(result, pair, baseline) for pair in result.pairs]
        if result.joint:
            names = ("f", "df1", "df2", "p")
            tables["joint_tests"].append(
                {"criterion": key, **dict(zip(names, result.joint, strict=True))}
            )
        # a preference has each effect twice, once for each of its systems
        times = 2 if result.criterion.is_compared else 1
        parts = {term: variance if term == "residual" else times * variance
                 for term, variance in result.variances.items()}  # fmt: skip
        tables["variances"] += [
            {"criterion": key, "term": term, "variance": variance,
             "share": parts[term] / sum(parts.values())}
            for term, variance in result.variances.items()
        ]  # fmt: skip
        tables["agreement"] += [{"criterion": key, **row} for row in agree(result.criterion)]
    plan = {**plan, "is_across": is_across}
    tables["margins"] = judge_margins(compared, plan, slices, fitted)
    return tables


def main(path: str = "data/ratings.csv", folder: str = "tables-python") -> None:
    """Write the tables and the notes into the folder, and print them."""
    notes, target = Notes(), Path(folder)
    plan = read_plan(Path(__file__).with_name("analysis-plan.json"))
    tables = make_tables(Path(path), plan, target.with_name("tables-r"), notes)
    notes.add(f"Python {sys.version.split()[0]}, numpy {np.__version__}, scipy "
              f"{scipy.__version__}, pandas {pd.__version__}")  # fmt: skip
    target.mkdir(parents=True, exist_ok=True)
    for name, rows in tables.items():
        table = pd.DataFrame(rows, columns=COLUMNS[name].split())
        table.to_csv(target / f"{name}.csv", index=False)
        if len(table):
            print(f"\n{name}\n{table.to_string(index=False)}")
    text = "\n".join(notes.lines) + "\n"
    (target / "notes.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:3])
