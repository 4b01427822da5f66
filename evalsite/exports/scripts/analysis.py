"""The main tables of a study, from its ratings.csv, with pandas and numpy.

    python analysis.py [ratings.csv] [folder for the tables]

It writes systems.csv (one row for each criterion and system) and pairs.csv (one row for each
criterion and two systems) and prints both. `estimate` is the mean of a Likert criterion, the
geometric mean of magnitudes, the share of yes of a decision, the win share (ties as half) of a
preference, and the mean of any other number; between two systems it is the difference, for
magnitudes the ratio, for preferences the net win share.

Every rating counts once. The results pages of Evalsite compare systems by a mixed model wherever
a participant did not rate everything. That model, with the numbers of those pages, is
in analysis.R.

Where analysis-plan.json beside this script names a baseline, each system is compared with it alone,
as the second of the pair. Otherwise every two systems are compared.

Intervals hold 95% of 2000 draws of a bootstrap over items and raters: both are drawn again, and a
rating counts as often as its item was drawn times as often as its rater was (Owen's pigeonhole
bootstrap). With fewer than 5 raters they are too narrow. What is drawn is the input (`group`), or
the cluster of inputs where there is one. Tests with p values are in analysis.R.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

DRAWS = 2000
SEED = 1
KEPT = {"kind": "main", "status": "counted", "excluded": "no"}
ESTIMATOR = (
    "Every rating counts once. Where a participant did not rate everything, the results pages of "
    "Evalsite\ncompare systems by a mixed model instead, whose numbers analysis.R gives."
)
# kinds of questions whose answers have a mean; an option has a place only
WITH_MEAN = ("likert", "slider", "number", "decision")
# ratings weighed at a time: 2000 draws of more would not fit into memory
BLOCK = 20_000


def read_ratings(path: Path) -> pd.DataFrame:
    """Counted ratings of main items that no decision leaves out; every other cell is text."""
    if not path.is_file():
        raise SystemExit(f"There is no file {path}. Name ratings.csv after the script.")
    ratings = pd.read_csv(path, dtype=str, keep_default_na=False)
    for column, wanted in KEPT.items():
        ratings = ratings[ratings[column] == wanted]
    if ratings.empty:
        raise SystemExit("The file has no counted ratings of main items.")
    if "turn" in ratings:
        ratings = average_turns(ratings)
        if ratings.empty:
            raise SystemExit("No other ratings are in the file.")
    for origin in ("simulated", "imported"):
        if count := int((ratings["origin"] == origin).sum()):
            print(f"{count} of {len(ratings)} ratings are {origin}.")
    group = "group " + ratings["group"]
    cluster = "cluster " + ratings["cluster"]
    # an answer may have no number: not applicable, or words
    ratings = ratings.assign(
        value=pd.to_numeric(ratings["value"]), unit=group.where(ratings["cluster"] == "", cluster)
    )
    return ratings[ratings["value"].notna()]


def average_turns(ratings: pd.DataFrame) -> pd.DataFrame:
    """One row for each person, output and criterion of turns: the mean of the turns."""
    value = pd.to_numeric(ratings["value"])
    of_turns = ratings["turn"] != ""
    has_mean = ratings["scale"].isin(WITH_MEAN) & value.notna()
    if "part" in ratings:
        has_mean &= ratings["part"] == ""
    if gone := int((of_turns & ~has_mean).sum()):
        print(f"{gone} ratings of turns of conversations are left out: answers of this kind have "
              "no mean. The results pages have their shares.")  # fmt: skip
    same = ["annotation", "participant", "item", "output_id", "criterion"]
    kept = of_turns & has_mean
    turns = ratings[kept].assign(value=value[kept], scale="turns")
    turns = turns.assign(value=turns.groupby(same)["value"].transform("mean"))
    if not turns.empty:
        print(f"{len(turns)} ratings of turns: each person's mean of a conversation counts once.")
    return pd.concat([ratings[~of_turns], turns[~turns.duplicated(same)]]).sort_index()


def read_baseline() -> str:
    """The system that the analysis plan compares all others with; "" for every two systems."""
    plan = Path(__file__).with_name("analysis-plan.json")
    if not plan.is_file():
        return ""
    return str(json.loads(plan.read_text(encoding="utf-8")).get("baseline") or "")


def choose_pairs(
    pairs: Iterable[tuple[str, str]], baseline: str, criterion: str
) -> list[tuple[str, str]]:
    """Return the pairs to compare: those with the baseline as the second system, or all."""
    pairs = list(pairs)
    chosen = [(one if two == baseline else two, baseline) for one, two in pairs
              if baseline in (one, two)]  # fmt: skip
    if baseline and pairs and not chosen:
        print(f"{criterion}: the baseline {baseline} has no ratings here, so every two systems "
              "are compared.")  # fmt: skip
    return chosen or pairs


class Draws:
    """Weights of ratings in each draw: one number for each unit and each rater."""

    def __init__(self, ratings: pd.DataFrame) -> None:
        random = np.random.default_rng(SEED)
        self.unit, self.unit_weights = self._draw(ratings["unit"], random)
        self.rater, self.rater_weights = self._draw(ratings["participant"], random)
        self.has_persons = bool((ratings["person"] == "yes").all())
        if not self.has_persons:
            print("The raters are not single persons: intervals are over items only.")

    @staticmethod
    def _draw(names: pd.Series, random: np.random.Generator) -> tuple[pd.Series, np.ndarray]:
        codes, levels = pd.factorize(names, sort=True)
        count = len(levels)
        weights = random.multinomial(count, np.full(count, 1 / count), size=DRAWS)
        return pd.Series(codes, index=names.index), weights

    def mean(self, values: pd.Series) -> np.ndarray:
        """The weighted mean of these values (indexed as the ratings) in each draw, (DRAWS,)."""
        total, weight = np.zeros(DRAWS), np.zeros(DRAWS)
        for start in range(0, len(values), BLOCK):
            some = values.iloc[start : start + BLOCK]
            weights = self.unit_weights[:, self.unit[some.index].to_numpy()]
            if self.has_persons:
                weights = weights * self.rater_weights[:, self.rater[some.index].to_numpy()]
            total += weights @ some.to_numpy(dtype=float)
            weight += weights.sum(axis=1)
        # a draw without any of these ratings says nothing
        return np.divide(total, weight, out=np.full(DRAWS, np.nan), where=weight > 0)


def interval(draws: np.ndarray) -> tuple[float, float]:
    """Return the bounds of the middle 95% of the draws."""
    known = draws[np.isfinite(draws)]
    low, high = np.quantile(known, [0.025, 0.975]) if known.size else (np.nan, np.nan)
    return float(low), float(high)


def analyse_values(ratings: pd.DataFrame, baseline: str) -> Iterator[tuple[str, dict[str, object]]]:
    """Rows of both tables for a criterion that is rated for each output."""
    criterion, scale = ratings["criterion"].iloc[0], ratings["scale"].iloc[0]
    # of another kind of question, too, that relates to a standard
    is_ratio = scale == "magnitude" or bool((ratings["log_ratio"] != "").all())
    back: Callable = np.exp if is_ratio else np.asarray
    ratings = ratings.assign(y=np.log(ratings["value"]) if is_ratio else ratings["value"])
    draws = Draws(ratings)
    by_system = {name: rows for name, rows in ratings.groupby("system") if name}
    drawn = {name: draws.mean(rows["y"]) for name, rows in by_system.items()}
    for name, rows in by_system.items():
        low, high = interval(back(drawn[name]))
        yield (
            "systems",
            {
                "criterion": criterion,
                "system": name,
                "n": len(rows),
                "mean": rows["value"].mean(),
                "median": rows["value"].median(),
                "points": count_points(rows) if scale == "likert" else "",
                "estimate": float(back(rows["y"].mean())),
                "low": low,
                "high": high,
            },
        )
    for one, two in choose_pairs(combinations(by_system, 2), baseline, criterion):
        difference = by_system[one]["y"].mean() - by_system[two]["y"].mean()
        low, high = interval(back(drawn[one] - drawn[two]))
        yield (
            "pairs",
            {
                "criterion": criterion,
                "system_1": one,
                "system_2": two,
                "effect": "ratio" if is_ratio else "difference",
                "estimate": float(back(difference)),
                "low": low,
                "high": high,
            },
        )


def count_points(ratings: pd.DataFrame) -> str:
    """Return how often each point of the scale was given, as "1:0 2:4 3:9"."""
    points = range(int(ratings["scale_min"].iloc[0]), int(ratings["scale_max"].iloc[0]) + 1)
    counts = ratings["value"].value_counts()
    return " ".join(f"{point}:{counts.get(point, 0)}" for point in points)


def analyse_preferences(
    ratings: pd.DataFrame, baseline: str
) -> Iterator[tuple[str, dict[str, object]]]:
    """Rows of both tables for a criterion by which two outputs are compared."""
    criterion = ratings["criterion"].iloc[0]
    draws = Draws(ratings)
    names = sorted({*ratings["system_1"], *ratings["system_2"]})
    for name in names:
        mine = ratings[(ratings["system_1"] == name) | (ratings["system_2"] == name)]
        points = (mine["preferred"] == name) + 0.5 * (mine["outcome"] == "tie")
        low, high = interval(draws.mean(points))
        yield (
            "systems",
            {
                "criterion": criterion,
                "system": name,
                "n": len(mine),
                "estimate": points.mean(),
                "low": low,
                "high": high,
            },
        )
    by_pair = dict(list(ratings.groupby(["system_1", "system_2"])))
    for one, two in choose_pairs(by_pair, baseline, criterion):
        is_turned = (one, two) not in by_pair
        rows = by_pair[(two, one) if is_turned else (one, two)]
        sign = rows["outcome"].map({"1": 1, "tie": 0, "2": -1}) * (-1 if is_turned else 1)
        low, high = interval(draws.mean(sign))
        yield (
            "pairs",
            {
                "criterion": criterion,
                "system_1": one,
                "system_2": two,
                "effect": "net win share",
                "estimate": sign.mean(),
                "low": low,
                "high": high,
                "wins": int((sign > 0).sum()),
                "ties": int((sign == 0).sum()),
                "losses": int((sign < 0).sum()),
            },
        )


def make_tables(ratings: pd.DataFrame, baseline: str = "") -> dict[str, pd.DataFrame]:
    """Return the tables "systems" and "pairs", criteria in the order of the file."""
    rows: dict[str, list[dict[str, object]]] = {"systems": [], "pairs": []}
    for _, some in ratings.groupby("criterion", sort=False):
        is_preference = bool((some["outcome"] != "").all())
        analyse = analyse_preferences if is_preference else analyse_values
        for table, row in analyse(some, baseline):
            rows[table].append(row)
    return {name: pd.DataFrame(some) for name, some in rows.items()}


def main(path: str = "data/ratings.csv", folder: str = ".") -> None:
    """Write the tables to the folder and print them."""
    tables = make_tables(read_ratings(Path(path)), read_baseline())
    Path(folder).mkdir(parents=True, exist_ok=True)
    print(ESTIMATOR)
    for name, table in tables.items():
        table.to_csv(Path(folder) / f"{name}.csv", index=False)
        print(table.to_string(index=False))


if __name__ == "__main__":
    main(*sys.argv[1:3])
