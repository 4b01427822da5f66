"""The part of a report on judges: what each judge's labels are worth beside people's answers, and
what a plan decides by them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evalsite.analysis.agreement import alpha
from evalsite.analysis.compare import describe_finding
from evalsite.analysis.correlation import correlate
from evalsite.analysis.difference_tests import (
    MarginLimit,
    correct,
    find_effect,
    judge_hypotheses,
    judge_margin,
)
from evalsite.analysis.families import find_family, get_numbers
from evalsite.analysis.figure import Figure, Reason, undefined
from evalsite.analysis.intervals import mean_with_t, turn_figure
from evalsite.analysis.judges import (
    LEAST_PEOPLE,
    Corrected,
    alt_tests,
    find_agreement,
    find_bias,
    find_corrected,
    find_corrected_preferences,
    find_length,
    find_rates,
    list_points,
    plan_width,
    read_beside,
    turn_pairs,
)
from evalsite.analysis.plan import SIGN, Better, Hypothesis, Margin, Plan
from evalsite.analysis.ratings import Ratings, Table, read_texts
from evalsite.analysis.report.answers import split_parts
from evalsite.lib.rating_columns import name_option

# who the people are: experts, trained people, a crowd
EPSILONS = (0.2, 0.15, 0.1)
_TEXTS = ("item", "system", "system_1", "system_2", "criterion", "judge", "preferred", "order",
          "run", "prompt_version", "reason")  # fmt: skip
_BOTH = ("both_good", "both_bad", "tie")
# designs that a planner compares
_PEOPLE, _INPUTS, _ANSWERS = (3, 5, 8, 10, 15, 20, 30), (20, 40, 60, 100, 150, 200, 300), (1, 3, 5)
_LISTED = 200  # outputs on which judge and people differ most


def read_labels(path: Path | str, items: Path | str | None = None) -> pd.DataFrame:
    """Return the labels of judge_labels.csv as exported, with the `group` of their item.

    `items`: items.csv, which knows the groups; an item that it doesn't name is its own.
    """
    text = read_texts(path)
    rows = pd.DataFrame({name: text.get(name, "") for name in (*_TEXTS, "value")})
    groups: dict[str, str] = {}
    if items is not None:
        known = read_texts(items)
        if "group" in known:
            groups = dict(zip(known["item"], known["group"], strict=True))
    rows["group"] = [groups.get(item, item) for item in rows["item"]]
    rows["number"] = pd.to_numeric(rows["value"], errors="coerce")
    return rows


def count_output_words(path: Path | str) -> pd.DataFrame:
    """Return the number of words of each output in an exported items.csv: item (the group), system
    and words."""
    text = read_texts(path, usecols=lambda name: name in ("item", "group", "system", "output"))
    if not {"group", "system", "output"} <= set(text):
        return pd.DataFrame({"item": [], "system": [], "words": []})
    words = text["output"].map(lambda output: len(output.split())).astype(float)
    rows = pd.DataFrame({"item": text["group"], "system": text["system"], "words": words})
    return rows.drop_duplicates(["item", "system"])


def report_judges(
    table: Table,
    criterion: Mapping[str, Any],
    labels: pd.DataFrame | None,
    words: pd.DataFrame | None,
    model: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """Return for each judge with labels of this criterion what they are worth beside people.

    `words`: item, system and the number of words of each output, if known. `model`: the facts of
    the mixed model of people's answers.
    """
    if labels is None or not table.raters_known:
        return []
    rows = labels[labels.criterion == str(criterion.get("of", criterion["key"]))]
    judges = []
    for (judge, version), labelled in rows.groupby(["judge", "prompt_version"], sort=True):
        part = _Part.make(table, criterion, labelled, words)
        if part is not None:
            judges.append(
                {"judge": str(judge), "prompt_version": str(version), **part.describe(model)}
            )
    return judges


def _find_standards(rows: pd.DataFrame, groups: pd.Series) -> Any:
    """Return the logarithm of the standard that the magnitudes of each input relate to; 0 where
    people's have none. Of further inputs it is known only if it is the same everywhere."""
    if rows.standard.isna().any() or not len(rows):
        return 0.0
    known = rows.groupby("group").standard.first()
    usual = known.iloc[0] if known.nunique() == 1 else np.nan
    return np.log(groups.map(known).fillna(usual).to_numpy(dtype=float))


class _Part:
    """One judge's labels of one criterion beside people's answers.

    `people`: rater, item (the group), system and value, of preferences first and second. `judge`:
    the mean of its labels of the same; `each`: these labels one by one.
    """

    def __init__(
        self,
        people: pd.DataFrame,
        each: pd.DataFrame,
        criterion: Mapping[str, Any],
        words: pd.DataFrame | None,
    ) -> None:
        self.people, self.each, self.words = people, each, words
        self.compares = "first" in people
        self.keys = ["item", "first", "second"] if self.compares else ["item", "system"]
        self.is_nominal = self.compares or find_family(criterion).decides
        self.is_decision = find_family(criterion).decides
        self.better: Better = criterion.get("better") or "higher"
        # logarithms, of magnitudes over this standard
        self.is_log, self.standard = find_family(criterion).is_log, 1.0
        self.judge = each.groupby(self.keys, as_index=False)["value"].mean()
        if "words" in each:
            self.judge["words"] = each.groupby(self.keys)["words"].first().to_numpy()

    @classmethod
    def make(
        cls,
        table: Table,
        criterion: Mapping[str, Any],
        labels: pd.DataFrame,
        words: pd.DataFrame | None,
    ) -> "_Part | None":
        """Return the part; None where the labels are of another kind than the answers."""
        rows, family = table.rows, find_family(criterion)
        if family.compares:
            rows = rows[rows.outcome.notna()]
            people = pd.DataFrame({
                "rater": rows.participant, "item": rows.group, "first": rows.system_1,
                "second": rows.system_2, "value": rows.outcome,
            })  # fmt: skip
            tied = labels.preferred.isin(_BOTH)
            labels = labels[tied | (labels.preferred != "")]
            tied = labels.preferred.isin(_BOTH)
            each = pd.DataFrame({
                "item": labels.group, "first": labels.system_1, "second": labels.system_2,
                "value": np.where(tied, 0, np.where(labels.preferred == labels.system_2, 1, -1)),
                "order": pd.to_numeric(labels.order, errors="coerce"), "run": labels.run,
                "reason": labels.reason,
            })  # fmt: skip
            people, each = turn_pairs(people), turn_pairs(each)
        elif (family.is_scored and not family.averages) or family.decides:
            measured = pd.Series(get_numbers(family).measure(table), index=rows.index)
            people = pd.DataFrame({
                "rater": rows.participant, "item": rows.group, "system": rows.system,
                "value": measured.astype(float),
            })  # fmt: skip
            value = labels.number
            if "of" in criterion:
                named = labels.value.map(lambda option: name_option(str(criterion["of"]), option))
                value = (named == str(criterion["key"])).astype(float)
            elif family.is_log:
                value = np.log(value.where(value > 0)) - _find_standards(rows, labels.group)
            each = pd.DataFrame({
                "item": labels.group, "system": labels.system, "value": value,
                "run": labels.run, "reason": labels.reason,
            }).dropna(subset=["value"])  # fmt: skip
        else:
            return None
        if (rows.cluster != "").any():
            people["cluster"] = rows.block
        if not len(each) or not len(people):
            return None
        part = cls(people, each, criterion, words)
        if family.is_log and rows.standard.notna().all() and rows.standard.nunique() == 1:
            part.standard = float(rows.standard.iloc[0])
        return part

    def describe(self, model: Mapping[str, Any]) -> dict[str, Any]:
        systems = {*self.people.filter(["system", "first", "second"]).to_numpy().ravel()}
        sides = [name for name in ("system", "first", "second") if name in self.each]
        known = self.each[sides].isin(systems).all(axis=1)
        unused, self.each = int((~known).sum()), self.each[known]
        self.judge = self.judge[self.judge[sides].isin(systems).all(axis=1)]
        outputs = self.people.merge(self.judge[self.keys], on=self.keys)
        people = int(self.people.rater.nunique())
        corrected = self.correct()
        return {
            "people": people,
            "labels": len(self.each),
            "unused": unused,
            "rated": len(outputs[self.keys].drop_duplicates()),
            "further": corrected.further,
            "agreement": self._agree(),
            "correlation": self._correlate(),
            "stands_in": self._test_as_person(),
            "bias": self._find_bias(),
            "points": [] if self.is_nominal else list_points(self._beside()),
            "orders": self._describe_orders(),
            "runs": self._describe_runs(),
            "corrected": self._describe_corrected(corrected),
            "planner": self._plan(corrected, model),
            "differences": list(self._list_differences()),
        }

    def read_back(self, value: float) -> float:
        """Return a value as the scale has it: of magnitudes not its logarithm."""
        return float(np.exp(value) * self.standard if self.is_log else value)

    def _beside(self) -> Any:
        people, judge = self.people, self.judge
        if self.compares:
            people, judge = (
                rows.assign(system=rows["first"] + "\n" + rows["second"])
                for rows in (people, judge)
            )
            # two orders that contradict each other are a tie
            judge = judge.assign(value=np.sign(judge["value"]))
        return read_beside(
            people=people, judge=judge, level="nominal" if self.is_nominal else "interval"
        )

    def _agree(self) -> list[Figure]:
        beside = self._beside()
        figures = find_agreement(beside)
        if len(beside.value):
            of_people = alpha(
                Ratings(
                    value=beside.value, unit=beside.output, rater=beside.rater,
                    block=beside.group[beside.output],
                ),
                "nominal" if self.is_nominal else "interval", name="people_agreement",
            )  # fmt: skip
            figures["people_agreement"] = of_people
        rates = find_rates(beside) if self.is_decision and len(beside.value) else {}
        return [
            *figures.values(),
            *(
                Figure(name=f"{rate}_of_{side}", method="share_of_answers", value=value,
                       unit="share", n={"units": len(beside.judge)})
                for rate, sides in rates.items()
                for side, value in sides.items()
                if value is not None
            ),
        ]  # fmt: skip

    def _correlate(self) -> Figure | None:
        """Return Spearman's correlation of the judge with people's mean over outputs."""
        if self.is_nominal:
            return None
        mean = self.people.groupby(self.keys)["value"].mean()
        both = self.judge.set_index(self.keys).join(mean.rename("people"), how="inner")
        figure = correlate(
            both["value"], both["people"], "spearman", block=both.index.get_level_values("item")
        )
        return replace(figure, name="judge_correlation")

    def _test_as_person(self) -> list[Figure]:
        """Return the winning rate of the alternative annotator test at each epsilon, and the
        advantage."""
        people = self.people
        rated = self.judge.merge(people[self.keys].drop_duplicates(), on=self.keys)
        ratings = Ratings(unit=self._join(people), rater=people["rater"], value=people["value"])
        value = np.sign(rated["value"]) if self.is_nominal else rated["value"]
        judge = dict(zip(self._join(rated), value, strict=True))
        score = "accuracy" if self.is_nominal else "neg_rmse"
        tests = alt_tests(ratings, judge, score, EPSILONS)
        first = tests[EPSILONS[0]]
        n = {"raters": len(first["raters"]), "left_out": first["left_out"]}
        made = [
            ("winning_rate", test["winning_rate"], (("epsilon", f"{epsilon:g}"),))
            for epsilon, test in tests.items()
        ]
        return [
            undefined(name, Reason.TOO_FEW, method="alt_test", n=n, group=group)
            if value is None
            else Figure(name=name, method="alt_test", value=value, unit="share", n=n, group=group)
            for name, value, group in [*made, ("advantage", first["advantage"], ())]
        ]

    def _join(self, rows: pd.DataFrame) -> pd.Series:
        keys = rows[self.keys].astype(str)
        return keys.iloc[:, 0].str.cat(keys.iloc[:, 1:], sep="\n")

    def _find_bias(self) -> dict[str, Any]:
        """Return what the judge favours, by system and by length: of numbers and decisions."""
        people = int(self.people.rater.nunique())
        if self.compares or people < LEAST_PEOPLE:
            return {}
        means, apart = find_bias(people=self.people, judge=self.judge)
        bias: dict[str, Any] = {"systems": means, "favours": apart}
        if self.words is not None:
            known = self.judge.merge(self.words, on=["item", "system"])
            if len(known):
                bias["length"] = find_length(people=self.people, judge=known)
        return bias

    def _describe_orders(self) -> dict[str, Any]:
        """Return how verdicts depend on the side shown first; {} where nothing was compared."""
        if not self.compares:
            return {}
        known = self.each.dropna(subset=["order"])
        both = known.pivot_table(index=self.keys, columns="order", values="value")
        both = both.reindex(columns=[1.0, 2.0]).dropna()
        if both.empty:
            return {"is_one_order": True}
        n = {"items": len(both)}
        pull = mean_with_t(
            "first_shown",
            ((both[1.0] - both[2.0]) / 2).to_numpy() * -1,
            method="t_over_inputs",
            n=n,
        )
        share = float((both[1.0] == both[2.0]).mean())
        verdict = Figure(
            name="same_verdict", method="share_of_inputs", value=share, unit="share", n=n
        )
        return {"same_verdict": verdict, "first_shown": pull}

    def _describe_runs(self) -> dict[str, Any]:
        """Return how often two runs give an output the same label, and the spread between runs."""
        keys = [*self.keys, *(["order"] if self.compares else [])]
        by = self.each.groupby(keys, dropna=False)["value"]
        runs = by.transform("size")
        if self.each["run"].nunique() < 2 or not (runs > 1).any():
            return {}
        several = self.each[runs > 1].groupby(keys, dropna=False)["value"]
        pairs = several.size() * (several.size() - 1)
        counts = self.each[runs > 1].groupby([*keys, "value"], dropna=False).size()
        equal = (counts * (counts - 1)).groupby(level=list(range(len(keys)))).sum()
        n = {"units": len(pairs)}
        share = float((equal / pairs).mean())
        spread = float(np.sqrt(several.var(ddof=1).mean()))
        return {
            "same_label": Figure(
                name="same_label", method="share_of_outputs", value=share, unit="share", n=n
            ),
            "spread": Figure(name="spread_of_runs", method="sd_of_runs", value=spread, n=n),
        }

    def correct(self) -> Corrected:
        made = find_corrected_preferences if self.compares else find_corrected
        return made(people=self.people, judge=self.judge)

    def _describe_corrected(self, result: Corrected) -> dict[str, Any]:
        """Return people's own differences and the corrected ones, and what the labels are worth."""
        return {
            "reason": result.reason,
            "labelled": result.labelled,
            "only_some": result.only_some,
            "weight": result.weight,
            "r": result.r,
            "answers": result.answers,
            "worth": None if result.reason else result.describe_worth(),
            "people": result.people,
            "pairs": result.pairs,
        }

    def _plan(self, result: Corrected, model: Mapping[str, Any]) -> list[list[float]]:
        """Return half-widths of the 95% interval of a difference: people, inputs, answers to each
        output, and the half-width without a judge and with as many labels as there are now."""
        variances = model.get("variances")
        if variances is None or result.reason or result.r is None or not result.further:
            return []
        of_input = variances.get("group:system", variances.get("input:system", 0.0))
        residual = model["residual"] * (1 if self.compares else 2)
        parts = 2 * variances.get("rater:system", 0.0), 2 * of_input, residual
        return [
            [
                people, inputs, answers,
                *(
                    plan_width(
                        people=people, inputs=inputs, answers_per_input=answers,
                        other_labels=labels, variances=parts, r=result.r,
                    )["half_width"]
                    for labels in (0, result.further)
                ),
            ]
            for people, inputs, answers in product(_PEOPLE, _INPUTS, _ANSWERS)
            if answers <= people
        ]  # fmt: skip

    def _list_differences(self) -> Iterator[dict[str, Any]]:
        """Yield the outputs on which the judge and people differ, the furthest apart first."""
        mean = self.people.groupby(self.keys)["value"].agg(["mean", "size"])
        both = self.judge.set_index(self.keys).join(mean, how="inner")
        apart = (both["value"] - both["mean"]).abs().round(9)
        order = both.assign(apart=apart)[apart > 0].reset_index()
        order = order.sort_values(
            ["apart", *self.keys], ascending=[False, *[True] * len(self.keys)]
        )
        reasons = self.each[self.each["reason"] != ""].groupby(self.keys)["reason"].first()
        sign = SIGN[self.better] or 1.0
        for row in order.head(_LISTED).to_dict("records"):
            key = tuple(row[name] for name in self.keys)
            yield {
                **{name: str(row[name]) for name in self.keys},
                "judge": self.read_back(row["value"]),
                "people": self.read_back(row["mean"]),
                "answers": int(row["size"]),
                "apart": float(row["apart"]),
                "is_kinder": bool(sign * (row["value"] - row["mean"]) > 0),
                "reason": str(reasons.get(key, "")),
            }


def describe_audit(
    table: Table, criterion: Mapping[str, Any], key: str, labels: pd.DataFrame
) -> dict[str, Any]:
    """Return how a judge goes with people on fresh items: `r`, `inputs`, `people` and `answers` to
    each output.

    With several systems r is that of differences; with one system, that of outputs.
    """
    split, criteria = split_parts(table, [criterion])
    asked = next((part for part in criteria if str(part["key"]) == key), criterion)
    known = labels[labels.criterion.isin(["", str(criterion["key"])])]
    part = _Part.make(split.of(key), asked, known, None)
    if part is None:
        return {"r": None, "inputs": 0, "people": 0, "answers": 0.0}
    part.each = part.each[part.each["item"].isin(set(part.people["item"]))]
    part.judge = part.judge[part.judge["item"].isin(set(part.people["item"]))]
    result = part.correct()
    inputs, answers, r = result.labelled, result.answers, result.r
    if not part.compares and part.people["system"].nunique() == 1:
        mean = part.people.groupby(part.keys)["value"].agg(["mean", "size"])
        both = part.judge.set_index(part.keys).join(mean, how="inner")
        inputs, answers = len(both), float(both["size"].mean()) if len(both) else 0.0
        varies = len(both) > 1 and both["value"].nunique() > 1 and both["mean"].nunique() > 1
        r = float(both["value"].corr(both["mean"])) if varies else None
    people = int(part.people["rater"].nunique())
    return {"r": r, "inputs": inputs, "people": people, "answers": answers}


# --- what a plan decides by a judge ---------------------------------------------------------------


def decide_by_judges(
    criteria: Sequence[dict[str, Any]],
    plan: Plan,
    p: Mapping[str, Sequence[float]],
    *,
    is_across: bool,
    raters_known: bool,
) -> None:
    """Let the difference corrected by the judge that the plan names decide each planned test.

    A test that is decided so, and any other of its family, has people's own result as `alone`.
    Where the corrected difference isn't known, people's decides, and the test says `why`. `p`: of
    the comparisons of each criterion, corrected together if `is_across`. Tests against margins
    aren't corrected yet.
    """
    parts = [
        (result, plan.of(str(result["key"]), (), result["better"]), raters_known)
        for result in criteria
    ]
    for family in [parts] if is_across else [[part] for part in parts]:
        for part in family:
            _decide_margins(*part)
        tests = [test for result, *_ in family for test in result.get("margins") or ()]
        if any("alone" in test for test in tests):
            for test in tests:
                test.setdefault("alone", dict(test))
        _decide_hypotheses(family, p)


def _find_judged(
    result: Mapping[str, Any], row: Margin | Hypothesis, raters_known: bool
) -> tuple[Figure | None, str]:
    """Return the corrected difference, `row.system` minus `other`; else None, and why."""
    if not raters_known:
        return None, "raters_unknown"
    judge = row.judge, row.prompt_version
    stored = next(
        (
            part["corrected"]
            for part in result.get("judges") or ()
            if (part["judge"], part["prompt_version"]) == judge
        ),
        None,
    )
    if stored is None:
        return None, "no_labels"
    for figure in stored["pairs"]:
        first, second = (dict(figure.group)[side] for side in ("system_1", "system_2"))
        if {first, second} == {row.system, row.other} and figure.details.get("se"):
            return figure if second == row.system else turn_figure(figure), ""
    return None, str(stored["reason"] or "not_determined")


def _name_judge(row: Margin | Hypothesis, why: str) -> dict[str, str]:
    named = {"judge": row.judge, "prompt_version": row.prompt_version}
    return named | ({"why": why} if why else {})


def _decide_margins(result: dict[str, Any], planned: Plan, raters_known: bool) -> None:
    tests, is_log = result.get("margins") or [], find_family(result).is_log
    # by one rater nothing is tested
    for place, row in enumerate(planned.margins[: len(tests)]):
        test = tests[place]
        # a margin that doesn't suit the scale decides nothing
        if not row.judge or test.get("reason") in ("no_margin", "no_direction"):
            continue
        figure, why = _find_judged(result, row, raters_known)
        if figure is None:
            tests[place] = test | _name_judge(row, why)
            continue
        judged = judge_margin(figure, row, is_log=is_log, limit=MarginLimit(scale="numbers"))
        judged["method"] = figure.method
        tests[place] = judged | _name_judge(row, "") | {"alone": test}


def _decide_hypotheses(
    family: Sequence[tuple[dict[str, Any], Plan, bool]], p: Mapping[str, Sequence[float]]
) -> None:
    """Judge the hypotheses of criteria that are corrected together by the corrected differences."""
    pairs, known, named = {}, {key: list(values) for key, values in p.items()}, {}
    for result, planned, raters_known in family:
        key = str(result["key"])
        judged = [
            _find_judged(result, row, raters_known) if row.judge else (None, "")
            for row in planned.hypotheses
        ]
        named[key] = [
            _name_judge(row, why) if row.judge else {}
            for row, (_, why) in zip(planned.hypotheses, judged, strict=True)
        ]
        if planned.hypotheses:
            pairs[key] = {
                frozenset((row.system, row.other)): _describe_pair(result, row, figure)
                for row, (figure, _) in zip(planned.hypotheses, judged, strict=True)
            }
            known[key] = [_read_p(pair["effect"]) for pair in pairs[key].values()]
    is_judged = any(pair["is_judged"] for of_key in pairs.values() for pair in of_key.values())
    keys = [str(result["key"]) for result, *_ in family]
    for result, planned, _ in family:
        key = str(result["key"])
        before = result.get("hypotheses") or []
        if is_judged and before:
            elsewhere = [value for other in keys if other != key for value in known.get(other, ())]
            _correct_pairs(result, pairs[key], elsewhere)
            equal = 1.0 if find_family(result).is_log else 0.0
            decided = judge_hypotheses(
                [*pairs[key].values()], planned.hypotheses, equal, result["better"]
            )
            for place, (entry, row) in enumerate(zip(decided, planned.hypotheses, strict=True)):
                pair = pairs[key][frozenset((row.system, row.other))]
                shown = {"pair": pair} if pair["is_judged"] else {}
                before[place] = entry | shown | {"alone": before[place]}
        for entry, more in zip(before, named[key], strict=False):
            entry |= more


def _describe_pair(
    result: Mapping[str, Any], row: Hypothesis, figure: Figure | None
) -> dict[str, Any]:
    """Return the comparison that decides, as the pairs of a report are."""
    if figure is not None and find_family(result).is_log:
        value, low, high = (
            None if end is None else float(np.exp(end))
            for end in (figure.value, figure.low, figure.high)
        )
        figure = replace(figure, name="ratio", value=value, low=low, high=high)
    effect = figure or find_effect(result["pairs"], row.system, row.other)
    return {
        "system_1": row.system, "system_2": row.other, "effect": effect,
        "is_judged": figure is not None,
    }  # fmt: skip


def _read_p(figure: Figure) -> float:
    p = figure.details.get("p")
    return float("nan") if p is None else float(p)


def _correct_pairs(
    result: Mapping[str, Any],
    pairs: Mapping[frozenset[str], dict[str, Any]],
    other_p: Sequence[float],
) -> None:
    """Add to each comparison its p corrected for these and the others, and its finding."""
    corrected = correct([*(_read_p(pair["effect"]) for pair in pairs.values()), *other_p])
    for pair, value in zip(pairs.values(), corrected[: len(pairs)], strict=True):
        p = None if np.isnan(value) else float(value)
        effect = pair["effect"]
        pair["effect"] = replace(effect, details={**effect.details, "p_corrected": p})
        pair["finding"] = describe_finding(
            pair["system_1"], pair["system_2"], pair["effect"], result["better"]
        )
