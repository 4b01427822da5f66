"""Preferences: the vectors, undefined cases, symmetry, and the real judgements of two studies."""

import json
from itertools import combinations
from math import comb, log

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evalsite.analysis.pairs import read_preferences
from evalsite.analysis.ratings import Ratings
from evalsite.analysis.strengths import DavidsonFit, count_pairs, drop_ties, expect, fit_davidson
from tests.analysis.compared import compare_pairs
from tests.analysis.vectors import compare, find_vectors, read_data, read_vector
from tests.support.published import published_file

WON = {"left": 1, "tie": 0, "right": -1}


def to_counts(data):
    systems = sorted({*data.left, *data.right})
    place = {system: number for number, system in enumerate(systems)}
    sides = [data[side].map(place).to_numpy() for side in ("left", "right")]
    counts = count_pairs(*sides, data.outcome.map(WON).to_numpy(float), len(systems))
    return systems, counts


def read(data, **options):
    return read_preferences(
        Ratings(rater=data.rater, group=data["item"], value=data.outcome.map(WON)),
        data.left,
        data.right,
        **options,
    )


def describe(fit, systems):
    errors = np.sqrt(np.diag(fit.covariance))
    return {
        "log_strength": dict(zip(systems[1:], fit.strengths[1:], strict=True)),
        "se": dict(zip(systems[1:], errors, strict=False)),
        "nu": fit.nu,
        "loglik": fit.loglik,
    }


@pytest.mark.parametrize("name", [n for n in find_vectors("pairwise") if "baseball" not in n])
def test_strengths_are_those_of_the_vector(name):
    data, expected, tolerance = read_vector(name)
    systems, counts = to_counts(data)
    decided = drop_ties(counts)
    halves = decided + counts[:, :, 1:2] * np.array([0.5, 0.0, 0.5])

    got = {
        "davidson": describe(fit_davidson(counts), systems),
        "bt_ties_dropped": describe(fit_davidson(decided), systems),
        "bt_ties_half": describe(fit_davidson(halves), systems),
    }
    for outcome, wins, losses in (("wins", 0, 2), ("ties", 1, 1), ("losses", 2, 0)):
        both = counts[:, :, wins].sum(axis=1) + counts[:, :, losses].sum(axis=0)
        got[outcome] = dict(zip(systems, both, strict=True))

    compare(got, {k: v for k, v in expected.items() if "rao_kupper" not in k}, tolerance)


@pytest.mark.parametrize("name", find_vectors("davidson_psychotools"))
def test_strengths_are_those_of_another_tool(name):
    data, expected, tolerance = read_vector(name)
    systems, counts = to_counts(data)

    fit = fit_davidson(counts)

    got = dict(zip(systems, fit.strengths, strict=True)) | {"(undecided)": log(fit.nu)}
    compare(got, expected, tolerance)


@pytest.mark.parametrize("with_home", [False, True])
def test_position_is_that_of_the_vector(with_home):
    data, expected, tolerance = read_vector("pairwise__baseball")
    teams = sorted({*data.home, *data.away})
    counts = np.zeros((len(teams), len(teams), 3))
    constant = 0.0
    for row in data.itertuples():
        place = teams.index(row.home), teams.index(row.away)
        counts[place] += [row.home_wins, 0, row.away_wins]
        constant += log(comb(row.home_wins + row.away_wins, row.home_wins))

    fit = fit_davidson(counts, has_position=with_home)

    names = [f"team{team}" for team in teams[1:]] + ["at.home"]
    errors = np.sqrt(np.diag(fit.covariance))
    got = {
        "estimate": dict(zip(names, fit.parameters, strict=False)),
        "se": dict(zip(names, errors, strict=False)),
        "loglik": fit.loglik + constant,
    }
    compare(got, expected["with_order_effect" if with_home else "plain"], tolerance)


def test_signs_of_one_pair_are_those_of_the_vector():
    data, expected, tolerance = read_vector("sign__pairs_small")

    found = compare_pairs(read(data), draws=50)

    one = next(p for p in found.pairs if (p.first, p.second) == ("s1", "s3"))
    got = {
        "wins": one.losses,
        "losses": one.wins,
        "ties": one.ties,
        "p_sign": one.sign.details["p"],
        "low": 1 - one.sign.high,
        "high": 1 - one.sign.low,
        "net": -one.net.value,
        "half": 1 - one.half.value,
        "left_share_all_pairs": found.left_share.value,
        "p_left": found.left_share.details["p"],
    }
    compare(got, expected, tolerance)


@pytest.mark.parametrize(
    ("name", "reason", "is_penalised"),
    [("pairs_separated", "separated", True), ("pairs_disconnected", "disconnected", False)],
)
def test_strengths_without_end_are_undefined(name, reason, is_penalised):
    found = compare_pairs(read(read_data(f"{name}.csv")), draws=50)

    assert {one.reason for one in found.model.strengths.values()} == {reason}
    assert reason in found.cautions
    assert not found.model.rank_ranges
    if is_penalised:
        assert {one.reason for one in found.model.penalised.values()} == {None}
        assert "penalised" in found.model.penalised["s1"].method


def test_ties_alone_have_no_share_without_ties():
    found = compare_pairs(read(read_data("pairs_all_ties.csv")), draws=50)

    (one,) = found.pairs
    assert one.sign.reason == "no_decided_pairs"
    assert one.net.value == 0
    assert found.left_share.reason == "no_decided_pairs"


def test_nobody_asked_gives_no_pairs():
    found = compare_pairs(read_preferences(Ratings(rater=[], group=[], value=[]), [], []))

    assert found.pairs == []
    assert found.left_share.reason == "no_data"


@pytest.mark.parametrize(
    ("right", "outcome", "why"), [("a", 1, "itself"), ("b", 2, "An outcome is 1")]
)
def test_answers_that_compare_nothing_are_refused(right, outcome, why):
    with pytest.raises(ValueError, match=why):
        read_preferences(Ratings(rater=["r"], group=["i"], value=[outcome]), ["a"], [right])


def test_one_side_always_preferred_is_separated_in_position():
    counts = np.zeros((3, 3, 3))
    for i, j in ((0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0)):
        counts[i, j, 0] = 3

    assert fit_davidson(counts, has_position=True) == "separated"
    assert isinstance(fit_davidson(counts), DavidsonFit)


def test_circle_of_three_answers_is_counted():
    rater, item = ["r1"] * 3 + ["r2"] * 3, ["i1"] * 6
    left, right = ["a", "b", "c"] * 2, ["b", "c", "a"] * 2
    outcome = [1, 1, 1, 1, 1, -1]

    found = compare_pairs(
        read_preferences(Ratings(rater=rater, group=item, value=outcome), left, right), draws=20
    )

    assert dict(found.circles.n) == {"triples": 2, "circular": 1}
    assert found.circles.details["zeta"] == 0.5


def test_renamed_and_reordered_answers_give_the_same_figures():
    data = read_data("pairs_medium.csv")
    shuffled = data.sample(frac=1, random_state=2)
    shuffled["rater"] = shuffled.rater.str[::-1]
    shuffled["item"] = shuffled["item"].str[::-1]

    one, other = (compare_pairs(read(d), draws=60) for d in (data, shuffled))

    assert one.pairs[3].net == other.pairs[3].net
    for system, figure in one.model.strengths.items():
        again = other.model.strengths[system]
        assert (figure.value, figure.low) == pytest.approx((again.value, again.low), abs=1e-8)


@pytest.mark.torture
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from([1, 0, -1])),
        min_size=12, max_size=40,
    )
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_turned_answers_turn_the_position_and_nothing_else(rows):
    rows = [(a, b, o) for a, b, o in rows if a != b]
    assume(len(rows) > 3)
    left, right, won = (np.array(column) for column in zip(*rows, strict=True))

    fits = [
        fit_davidson(count_pairs(a, b, o.astype(float), 3), has_position=True)
        for a, b, o in ((left, right, won), (right, left, -won))
    ]

    if not isinstance(fits[0], DavidsonFit):
        assert fits[0] == fits[1]
        return
    assert fits[0].strengths == pytest.approx(fits[1].strengths, abs=1e-6)
    assert fits[0].position == pytest.approx(-fits[1].position, abs=1e-6)
    totals = expect(fits[0], count_pairs(left, right, won.astype(float), 3)).sum(axis=(0, 1))
    assert totals[1] == pytest.approx((won == 0).sum(), abs=1e-5)


def test_known_strengths_are_found_within_their_intervals():
    rng = np.random.default_rng(11)
    truth = np.array([-1.3, 0.0, 1.3])
    rows = []
    for item in range(60):
        for rater in range(8):
            a, b = rng.permutation(3)[:2]
            weight = np.exp([truth[a], (truth[a] + truth[b]) / 2 - 0.5, truth[b]])
            rows.append((rater, item, a, b, rng.choice(list(WON), p=weight / weight.sum())))
    data = pd.DataFrame(rows, columns=["rater", "item", "left", "right", "outcome"])

    found = compare_pairs(read(data))

    for place, figure in enumerate(found.model.strengths.values()):
        assert figure.low < truth[place] < figure.high
    assert found.model.clusters == [["2"], ["1"], ["0"]]
    assert found.model.rank_ranges == {"0": (3, 3), "1": (2, 2), "2": (1, 1)}


MARCO = {
    ("HDSA", "completion"): ((467, 1520, 239), (126, 545, 66, 5), 1.8e-5, 0.6615),
    ("HDSA", "readability"): ((55, 2022, 149), (10, 701, 31, 0), 1.45e-3, 0.2696),
    ("human", "completion"): ((662, 1044, 520), (220, 349, 169, 4), 0.0111, 0.5601),
    ("human", "readability"): ((310, 1433, 483), (67, 553, 121, 1), 1.0e-4, 0.3909),
}


@pytest.fixture(scope="module")
def marco():
    ratings = pd.read_csv(published_file("marco_pairwise/ratings_long.csv"))
    batch = pd.read_csv(published_file("marco_pairwise/batch_long.csv"))
    other = batch[batch.system != "MarCo"].set_index("item")
    return ratings.join(other[["group", "cluster", "system"]], on="item")


@pytest.mark.parametrize(("against", "criterion"), MARCO)
def test_judgements_of_marco_are_counted_as_published(marco, against, criterion):
    rows = marco[(marco.system == against) & (marco.criterion == criterion)]
    outcome = np.where(rows.preferred == "MarCo", 1, np.where(rows.preferred == "tie", 0, -1))
    counts, majority, p, share = MARCO[against, criterion]

    found = compare_pairs(
        read_preferences(
            Ratings(group=rows.group, block=rows.cluster, value=outcome), ["MarCo"] * len(rows),
            rows.system, is_position_known=False,
        ),
        draws=200,
    )  # fmt: skip

    (one,) = found.pairs
    turn = -1 if one.first != "MarCo" else 1
    assert (one.wins, one.ties, one.losses)[::turn] == counts
    decided = one.majority.n["wins"], one.majority.n["ties"], one.majority.n["losses"]
    assert (*decided[::turn], one.majority.n["no_majority"]) == majority
    assert one.majority.details["p"] == pytest.approx(p, rel=0.06)
    value = one.sign.value if turn == 1 else 1 - one.sign.value
    assert value == pytest.approx(share, abs=1e-4)
    assert list(found.cautions) == ["raters_unknown"]


def test_preferences_of_rankme_are_those_of_the_reference():
    data = pd.read_csv(published_file("rankme/ratings_long.csv"))
    table = data.pivot(index=["participant", "item"], columns="system", values="value")
    rows = []
    for first, second in combinations(sorted(table), 2):
        for (rater, item), page in table.iterrows():
            won = {1: "left", 0: "tie", -1: "right"}[int(np.sign(page[first] - page[second]))]
            rows.append((rater, item, first, second, won))
    pairs = pd.DataFrame(rows, columns=["rater", "item", "left", "right", "outcome"])

    found = compare_pairs(read(pairs, is_position_known=False), draws=100)

    counted = {(p.first, p.second): (p.wins, p.ties, p.losses) for p in found.pairs}
    assert counted == {
        ("baseline", "sheffield_v2"): (216, 76, 8),
        ("baseline", "slug2slug"): (38, 226, 36),
        ("sheffield_v2", "slug2slug"): (9, 83, 208),
    }
    strengths = [one.value for one in found.model.bradley_terry.values()]
    assert strengths == pytest.approx([1.1084, -2.1444, 1.0360], abs=1e-4)


def test_expected_counts_add_up_to_the_observed():
    _, counts = to_counts(read_data("pairs_medium.csv"))

    wanted = expect(fit_davidson(counts), counts)

    assert wanted.sum(axis=2) == pytest.approx(counts.sum(axis=2))
    assert json.dumps(wanted.tolist())  # plain numbers, none of them NaN
    assert np.isfinite(wanted).all()


def test_a_baseline_leaves_its_own_pairs_and_the_model_of_all_answers():
    data = read(read_data("pairs_medium.csv"))

    every, few = compare_pairs(data, draws=50), compare_pairs(data, draws=50, baseline="s4")

    assert [(one.first, one.second) for one in few.pairs] == [
        ("s1", "s4"), ("s2", "s4"), ("s3", "s4"), ("s4", "s5"), ("s4", "s6"),
    ]  # fmt: skip
    plain = {(one.first, one.second): one.test for one in every.pairs}
    assert all(one.test == plain[one.first, one.second] for one in few.pairs)
    # Holm by hand: the smallest p times 5, the next times 4, and so on, never falling
    at_least = 0.0
    for left, one in zip(
        range(5, 0, -1), sorted(few.pairs, key=lambda one: one.test.details["p"]), strict=True
    ):
        at_least = min(1, max(at_least, left * one.test.details["p"]))
        assert one.p_corrected == pytest.approx(at_least)
    assert few.model == every.model
    with pytest.raises(ValueError, match="choose one of the systems"):
        compare_pairs(data, baseline="s9")
