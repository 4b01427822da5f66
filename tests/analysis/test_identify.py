"""What ratings cannot tell apart is not tested: systems of one input or one rater, and others."""

import numpy as np
import pandas as pd
import pytest

from evalsite.analysis.compare import describe_finding
from evalsite.analysis.mixed import fit_mixed, mean_figures, one_hot, split_tied, usable_terms
from evalsite.analysis.ratings import Ratings, factor_codes, read_scores
from evalsite.analysis.report import warn_of_criterion
from evalsite.results.report.sections.words import NOTES
from tests.analysis.compared import compare_systems

FEW = 200
# 20 raters, each of one output of A and one of B. R 4.2.2, t.test(B, A, paired = TRUE):
# mean 1.95, t = 14.419, df = 19.
OF_A = [2, 3, 2, 3, 2, 2, 1, 2, 2, 2, 2, 2, 3, 2, 2, 2, 2, 2, 2, 3]
OF_B = [4, 4, 4, 4, 3, 4, 4, 4, 4, 5, 5, 4, 4, 4, 4, 4, 4, 4, 4, 5]
BY_R = (1.66694239771, 2.23305760229, 1.10048173584e-11)


def one_output_each(*, of_b="i"):
    rows = [(r, "i", "A", one) for r, one in enumerate(OF_A)]
    rows += [(r, of_b, "B", one) for r, one in enumerate(OF_B)]
    return pd.DataFrame(rows, columns=["rater", "item", "system", "value"])


def rated_once(*, others="A", raters=6, items=12, where=(0, 0)):
    """Systems that every rater rates on every input, and C with one rating."""
    rng = np.random.default_rng(4)
    rows = [
        (r, i, name, rng.integers(2, 5))
        for name in others
        for r in range(raters)
        for i in range(items)
    ]
    rows.append((*where, "C", 5))
    return pd.DataFrame(rows, columns=["rater", "item", "system", "value"])


def read(data):
    return read_scores(
        Ratings(rater=data.rater, group=data["item"], system=data.system, value=data.value)
    )


def test_systems_of_one_output_each_on_inputs_of_their_own_are_not_compared():
    found = compare_systems(read(one_output_each(of_b="other")), draws=FEW)

    one = found.pairs[0]
    assert (one.difference.value, one.difference.reason) == (None, "too_few")
    assert one.p_corrected is None
    assert found.rank_ranges == {}
    assert found.cautions["thin_systems"] == {"systems": ["A", "B"]}


def test_systems_of_one_shared_input_are_compared_over_raters_on_it_alone():
    found = compare_systems(read(one_output_each()), draws=FEW)

    one = found.pairs[0].difference
    assert (one.low, one.high, one.details["p"]) == pytest.approx(BY_R, rel=1e-9)
    assert one.method == "t_over_raters"
    assert one.n == {"raters": 20, "items": 1, "ratings": 40}
    assert describe_finding("B", "A", one)["facts"]["is_on_one_input"]


def test_a_system_with_one_rating_is_named_and_not_compared():
    found = compare_systems(read(rated_once()), draws=FEW)

    one = found.pairs[0].difference
    assert one.value is None
    assert found.cautions["thin_systems"] == {"systems": ["C"]}
    told = warn_of_criterion("q", found.cautions)
    assert any(": C. A system’s own" in NOTES.write(warning) for warning in told)
    assert describe_finding("C", "A", one)["facts"]["why"] == "thin"


def test_a_system_with_one_rating_leaves_the_others_their_comparison_and_ranks():
    found = compare_systems(read(rated_once(others="AB")), draws=FEW)

    values = {one.first + one.second: one.difference.value for one in found.pairs}
    assert values["AB"] is not None
    assert values["AC"] is values["BC"] is None
    assert found.family == 1
    assert set(found.rank_ranges) == {"A", "B"}
    assert max(found.rank_ranges.values()) <= (2, 2)


def test_what_is_not_compared_has_no_other_test_and_no_size():
    found = compare_systems(read(rated_once(others="AB", where=(0, 0))), draws=FEW)

    assert found.overall is None
    for one in found.pairs:
        figures = [*one.checks.values(), *one.effects.values()]
        if one.difference.value is not None:
            assert any("p" in figure.details for figure in figures)
            continue
        assert {figure.value for figure in figures} == {None}
        assert not any("p" in figure.details for figure in figures)


def test_systems_of_one_input_have_no_rank_and_leave_others_their_tiers():
    # A two points above B everywhere, give or take: no method could miss it; C and D share i0
    rows = [
        (r, i, name, level + (r * 5 + i * 3) % 4 / 4)
        for name, level in (("A", 4), ("B", 2))
        for r in range(6)
        for i in range(12)
    ]
    rows += [(r, 0, "C", 5) for r in range(6)] + [(r, 0, "D", 1 + r % 2) for r in range(6)]
    data = pd.DataFrame(rows, columns=["rater", "item", "system", "value"])

    found = compare_systems(read(data), draws=FEW)
    alone = compare_systems(read(data[data.system.isin(["C", "D"])]), draws=FEW)

    assert found.rank_ranges == {"A": (1, 1), "B": (2, 2)}
    assert found.clusters == [["A"], ["B"]]
    assert found.thin == ["C", "D"]
    assert alone.pairs[0].p_corrected < 0.05
    assert (alone.rank_ranges, alone.clusters) == ({}, [])


def test_systems_of_one_rater_each_are_not_compared():
    rows = [(name, i, name, i % 3 + (name == "B")) for name in "AB" for i in range(8)]
    data = pd.DataFrame(rows, columns=["rater", "item", "system", "value"])

    found = compare_systems(read(data), draws=FEW)

    assert found.pairs[0].difference.reason == "too_few"


def test_a_square_of_two_raters_and_two_inputs_determines_no_difference():
    rows = [(0, 0, "A", 1), (1, 1, "A", 2), (0, 1, "B", 4), (1, 0, "B", 4)]
    data = pd.DataFrame(rows, columns=["rater", "item", "system", "value"])

    found = compare_systems(read(data), draws=FEW)

    assert found.pairs[0].difference.value is None
    assert found.cautions["undetermined"] == {"pairs": [["A", "B"]]}


def test_mean_of_the_model_is_left_out_where_its_error_is_not_determined():
    scores = read(rated_once())

    found = mean_figures(scores, fit_mixed(scores))

    assert found["A"].value is not None
    assert found["C"].reason == "too_few"


# --- by dense matrices ----------------------------------------------------------------


def draw_design(seed):
    """Some cells of a small design, as raters, items and systems from 0 that all occur."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, 3)
    sizes[2] = rng.integers(1, 4)
    cells = np.array(list(np.ndindex(*sizes)))
    count = int(rng.integers(sizes.sum() + 1, len(cells) + 4))
    picked = cells[rng.integers(0, len(cells), count)]
    if seed % 3 == 0:  # inputs within systems
        picked[:, 1] = picked[:, 1] * sizes[2] + picked[:, 2]
    if seed % 5 == 0:  # and a system with one rating
        picked = np.vstack([picked, [*picked[0, :2], sizes[2]]])
    return [factor_codes(column) for column in picked.T]


def list_terms(rater, item, system):
    found, _ = usable_terms(
        {
            "rater": rater,
            "group": item,
            "group:system": item * 9 + system,
            "rater:system": rater * 9 + system,
            "rater:group": rater * 99 + item,
        },
        len(rater),
    )
    return found


def square(code):
    return (code[:, None] == code[None, :]).astype(float)


def estimate(w, x, v):
    """Weights of ratings, and variance, of a sum of means by generalised least squares."""
    inverse = np.linalg.inv(v)
    cov = np.linalg.inv(x.T @ inverse @ x)
    return np.append(w @ cov @ x.T @ inverse, w @ cov @ w)


@pytest.mark.one_case
@pytest.mark.parametrize("seed", range(60))
def test_ties_are_those_of_the_projected_covariances(seed):
    rater, item, system = draw_design(seed)
    terms = list_terms(rater, item, system)
    n, p = len(rater), int(system.max()) + 1
    if not terms or n <= p:
        pytest.skip("nothing to tell apart in this draw")
    x = np.eye(p)[system]
    m = np.eye(n) - x @ np.linalg.pinv(x)
    parts = [np.eye(n), *(square(code) for code in terms.values())]
    projected = np.array([(m @ part @ m).ravel() for part in parts])

    told = split_tied({name: one_hot(code) for name, code in terms.items()}, system)

    assert len(told.terms) + 1 == np.linalg.matrix_rank(projected, tol=1e-8)
    assert len(told.tied) == len(terms) - len(told.terms)
    # along what REML can't see, a determined sum of means stays as it is, another moves
    left, sizes, _ = np.linalg.svd(projected)
    unseen = left[:, np.count_nonzero(sizes > 1e-8) :]
    start = sum(parts)
    for i in range(p):
        for j in range(i):
            w = np.zeros(p)
            w[i], w[j] = 1, -1
            still = estimate(w, x, start)
            moved = [
                estimate(w, x, start + 0.1 * by * np.tensordot(tie, parts, 1)) - still
                for tie in unseen.T
                for by in (1, -1)
            ]
            is_moved = any(np.abs(one).max() > 1e-7 for one in moved)
            assert told.determines(w) == (not is_moved)
