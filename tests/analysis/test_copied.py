"""Pairs of raters with copied answers, beside the vectors and the definition in loops."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evalsite.analysis.report.raters import find_copied
from tests.analysis.vectors import compare, find_vectors, read_vector


def look(rows: pd.DataFrame):
    return find_copied(
        unit=rows.output, rater=rows.rater, criterion=rows.criterion, value=rows.value
    )


@pytest.mark.parametrize("name", find_vectors("v3_copied"))
def test_copied_answers_are_those_of_the_vector(name):
    rows, expected, tolerance = read_vector(name)

    compare(look(rows), expected, tolerance)


def answer(rng, *, raters, outputs, criteria=1, of_each=0, points=5, mean=3.0, missing=0.0):
    """What people answer who agree fairly well: one row for each answer."""
    truth = rng.normal(mean, 1, (outputs, criteria))
    rows = []
    for rater in range(raters):
        mine = rng.permutation(outputs)[: of_each or outputs]
        latent = truth[mine] + rng.normal(0, 0.4) + rng.normal(0, 0.7, (len(mine), criteria))
        values = np.clip(np.rint(latent), 1, points)
        rows += [
            (f"o{output:04}", f"r{rater:02}", f"q{criterion}", values[place, criterion])
            for place, output in enumerate(mine)
            for criterion in range(criteria)
            if rng.random() >= missing
        ]
    return pd.DataFrame(rows, columns=["output", "rater", "criterion", "value"])


def copy(rows: pd.DataFrame, source: str, target: str) -> pd.DataFrame:
    """The second rater's answers are the first's."""
    taken = rows[rows.rater == source].assign(rater=target)
    return pd.concat([rows[rows.rater != target], taken])


def find_by_definition(rows: pd.DataFrame) -> set[tuple[str, str]]:
    """The flagged pairs, in plain loops over the definition."""
    answers: dict[str, dict[str, dict[str, float]]] = {}
    for row in rows.itertuples():
        answers.setdefault(row.rater, {}).setdefault(row.output, {})[row.criterion] = row.value
    pairs = {}
    for left, right in combinations(sorted(answers), 2):
        mine, yours = answers[left], answers[right]
        shared = [unit for unit in mine if unit in yours and mine[unit].keys() & yours[unit].keys()]
        if len(shared) < 8:
            continue
        equal = [
            all(
                mine[unit][key] == yours[unit][key]
                for key in mine[unit].keys() & yours[unit].keys()
            )
            for unit in shared
        ]
        asked = {key for unit in mine.values() for key in unit}
        asked &= {key for unit in yours.values() for key in unit}
        shares = []
        for person in (mine, yours):
            strings = pd.Series([
                tuple(unit[key] for key in sorted(asked))
                for unit in person.values() if asked <= unit.keys()
            ])  # fmt: skip
            shares.append(strings.value_counts(normalize=True))
        chance = sum(share * shares[1].get(text, 0.0) for text, share in shares[0].items())
        pairs[left, right] = (len(shared), len(shared) - sum(equal), chance)
    few = rows.groupby("criterion").value.nunique().max() <= 3
    flagged = set()
    for (left, right), (n, unequal, chance) in pairs.items():
        rest = [pairs[key] for key in pairs if key != (left, right)]
        if not rest:
            continue
        weights = np.array([n_ * (1 - p_) for n_, _, p_ in rest])
        kappas = np.array([1 - d_ / (n_ * (1 - p_)) if p_ < 1 else 0 for n_, d_, p_ in rest])
        mean = np.average(kappas, weights=weights) if weights.sum() else 0.0
        if len(rest) >= 30:
            sampling = [
                (1 - p_) * (1 - mean) * (1 - (1 - p_) * (1 - mean)) * n_ / (n_ * (1 - p_)) ** 2
                for n_, _, p_ in rest
            ]
            spread = np.average((kappas - mean) ** 2 - sampling, weights=weights)
            kappa = min(0.98, mean + 3 * np.sqrt(max(spread, 0)))
        else:
            kappa = max(mean, 0.9 if few else 0.75)
        third = [
            1 - d_ / n_ for key, (n_, d_, _) in pairs.items()
            if key != (left, right) and {left, right} & set(key) and n_ >= 20
        ]  # fmt: skip
        p = min(0.995, max([chance + (1 - chance) * kappa, *third]))
        met = [
            rater for rater in answers
            if tuple(sorted((rater, left))) in pairs and tuple(sorted((rater, right))) in pairs
        ]  # fmt: skip
        if few and len(rest) < 30 and len(met) < 2:
            continue
        likely = len(pairs) * stats.binom.cdf(unequal, n, 1 - p)
        if unequal <= 0.02 * n and n * (1 - chance) >= 5 and likely < 0.005:
            flagged.add((left, right))
    return flagged


@pytest.mark.one_case
@pytest.mark.parametrize(
    "design",
    [
        {"raters": 3, "outputs": 100},
        {"raters": 3, "outputs": 100, "points": 2},
        {"raters": 4, "outputs": 200, "points": 3},
        {"raters": 5, "outputs": 60, "criteria": 3, "missing": 0.1},
        {"raters": 12, "outputs": 60, "of_each": 40},
        {"raters": 12, "outputs": 80, "of_each": 50, "mean": 4.6},
    ],
)
def test_copied_pairs_are_those_of_the_definition(design):
    rng = np.random.default_rng(7)
    honest = answer(rng, **design)
    rows = copy(honest, "r00", "r02")

    for ratings in (honest, rows, rows.sample(frac=1, random_state=1)):
        pairs = {(pair["first_rater"], pair["second_rater"]) for pair in look(ratings)["pairs"]}
        assert pairs == find_by_definition(ratings)
    assert not look(honest)["pairs"]


def test_crowd_with_a_copied_pair_names_it_beside_what_others_reach():
    rng = np.random.default_rng(3)
    rows = copy(answer(rng, raters=12, outputs=60, of_each=40), "r03", "r08")

    result = look(rows)

    [pair] = result["pairs"]
    assert (pair["first_rater"], pair["second_rater"], pair["unequal"]) == ("r03", "r08", 0)
    assert pair["outputs"] == 40
    least, most = pair["others"]
    assert 0.1 < least < most < 0.8


def test_question_that_only_some_answer_makes_no_pair_unequal():
    rng = np.random.default_rng(5)
    rows = copy(answer(rng, raters=4, outputs=80, criteria=2), "r00", "r01")
    rows = rows[~((rows.rater == "r01") & (rows.criterion == "q1"))]

    assert [(pair["outputs"], pair["unequal"]) for pair in look(rows)["pairs"]] == [(80, 0)]


def test_two_raters_alone_are_noted_and_never_flagged():
    rng = np.random.default_rng(1)
    rows = answer(rng, raters=1, outputs=40)
    both = pd.concat([rows, rows.assign(rater="r01")])
    few = both[both.output < "o0029"]

    assert look(both)["alike"] == {"outputs": 40, "unequal": 0}
    assert look(few)["alike"] is None
    assert look(both)["flagged"] == 0
    assert look(answer(rng, raters=2, outputs=40))["alike"] is None


def test_sets_too_small_to_show_copies_say_so():
    rng = np.random.default_rng(2)
    small = answer(rng, raters=9, outputs=10)

    assert not look(copy(small, "r00", "r01"))["can_be_seen"]
    assert look(small)["most_shared"] == 10
    assert look(answer(rng, raters=9, outputs=100))["can_be_seen"]
    assert look(small[:0])["most_shared"] == 0


def test_everyone_who_gives_one_answer_is_no_copy():
    rows = answer(np.random.default_rng(4), raters=5, outputs=60).assign(value=5)

    result = look(rows)

    assert not result["pairs"]
    assert not result["can_be_seen"]


@pytest.mark.torture
def test_crowd_of_400_is_compared_pair_by_pair():
    rng = np.random.default_rng(6)
    rows = copy(answer(rng, raters=400, outputs=40), "r120", "r399")

    result = look(rows)

    assert result["pairs_compared"] == 400 * 399 / 2
    assert [(pair["first_rater"], pair["second_rater"]) for pair in result["pairs"]] == [
        ("r120", "r399")
    ]


def test_few_raters_on_few_outputs_are_taken_to_agree_well():
    rows = copy(answer(np.random.default_rng(8), raters=3, outputs=12), "r00", "r01")

    assert find_by_definition(rows) == set()
    assert not look(rows)["pairs"]


def test_those_who_agree_with_a_third_person_as_well_are_no_copies():
    rng = np.random.default_rng(9)
    rows = answer(rng, raters=12, outputs=60)
    settled = rows[rows.rater == "r00"]
    slip = settled.assign(value=settled.value.where(settled.output > "o0002", 6 - settled.value))
    experts = [settled.assign(rater="r20"), settled.assign(rater="r21"), slip.assign(rater="r22")]
    rows = pd.concat([rows[rows.rater != "r00"], *experts])

    assert find_by_definition(rows) == set()
    assert not look(rows)["pairs"]
