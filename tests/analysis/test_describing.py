"""The tidy table, facts of the design, and what the ratings of each system look like."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsite.analysis.describe import (
    describe_standardised,
    describe_systems,
    find_imbalance,
    find_median,
    find_trimmed,
    standardise,
)
from evalsite.analysis.design import describe_design
from evalsite.analysis.ratings import Ratings, make_table
from tests.analysis.vectors import read_data


def bare(rows, columns="participant item system criterion value"):
    return pd.DataFrame(rows, columns=columns.split())


SMALL = bare([
    ("p1", "i1", "A", "q", 3), ("p1", "i1", "B", "q", 5),
    ("p2", "i1", "A", "q", 4), ("p2", "i1", "B", "q", 4),
    ("p3", "i2", "A", "q", 1),
])  # fmt: skip


def test_a_bare_file_becomes_a_table():
    table = make_table(SMALL)

    assert table.criteria == ["q"]
    assert list(table.rows.group) == ["i1"] * 4 + ["i2"]
    assert table.rows.output.nunique() == 3
    assert len(table.results()) == 5


def test_only_main_counted_ratings_that_are_not_excluded_are_results():
    rows = SMALL.assign(kind=["main", "practice", "main", "main", "main"],
                        status=["counted", "control", "surplus", "counted", "counted"],
                        excluded=["no", "no", "no", "yes", "no"])  # fmt: skip
    table = make_table(rows)

    kept = table.results()

    assert list(kept.rows.value) == [3, 1]
    assert kept.left_out == {"no_value": 0, "not_main": 1, "not_counted": 1, "excluded": 1,
                             "rated_twice": 0}  # fmt: skip
    assert len(table.results(with_excluded=True)) == 3


def test_the_first_of_two_ratings_of_an_output_counts():
    rows = pd.concat([SMALL, SMALL.iloc[[0]].assign(value=7)])

    kept = make_table(rows).results()

    assert kept.rows.value.iloc[0] == 3
    assert kept.left_out["rated_twice"] == 1


def test_a_file_that_cannot_be_read_is_refused_with_a_sentence():
    with pytest.raises(ValueError, match="no column item"):
        make_table(bare([("p", 3)], "participant value"))
    with pytest.raises(ValueError, match="neither a column value"):
        make_table(bare([("p", "i")], "participant item"))
    with pytest.raises(ValueError, match=r"Row 2: 'lots' in column value"):
        make_table(bare([("p", "i", 1), ("p", "j", "lots")], "participant item value"))
    with pytest.raises(ValueError, match=r"Row 1: 'inf' in column value"):
        make_table(bare([("p", "i", "inf")], "participant item value"))


def test_participants_that_are_no_persons_are_told():
    table = make_table(SMALL.assign(person="no"))

    assert table.rater is None
    assert not table.raters_known


PAIRS = bare([("p1", "i1", "q", "A"), ("p2", "i1", "q", "tie"), ("p1", "i2", "q", "B"),
              ("p2", "i2", "q", "Tie"), ("p1", "i3", "q", "tie")],
             "participant item criterion preferred")  # fmt: skip


def test_preferences_of_two_systems_find_their_pair():
    rows = make_table(PAIRS).rows

    assert list(rows.outcome) == [-1, 0, 1, 0, 0]
    assert set(rows.system_1) == {"A"}
    assert set(rows.system_2) == {"B"}


def test_preferences_of_more_systems_need_the_file_of_the_items():
    rows = pd.concat([PAIRS, bare([("p1", "i4", "q", "C")], " ".join(PAIRS.columns))])
    outputs = bare([("i1", "A"), ("i1", "B"), ("i2", "A"), ("i2", "B"), ("i3", "A"), ("i3", "C"),
                    ("i4", "B"), ("i4", "C")], "item system")  # fmt: skip

    alone, told = make_table(rows), make_table(rows, outputs=outputs)

    assert alone.rows.outcome.isna().all()
    assert [(note["code"], note["facts"]) for note in alone.notes] == [
        ("pairs_unknown", {"items": 4})
    ]
    assert list(told.rows.outcome) == [-1, 0, 1, 0, 0, 1]
    assert not told.notes


def test_pairs_are_told_by_the_endings_of_ids_where_these_are_plain():
    names = {"1": ("A", "B"), "2": ("A", "C")}
    rows = bare(
        [(f"p{p}", f"x{n}-{end}", "q", "tie" if n < 3 else names[end][(n + p) % 2])
         for p in range(2) for n in range(15) for end in names],
        "participant item criterion preferred",
    )  # fmt: skip

    table = make_table(rows)

    (note,) = table.notes
    assert note["code"] == "pairs_by_ending"
    assert note["facts"]["endings"] == [["1", "A", "B"], ["2", "A", "C"]]
    tied = table.rows[table.rows.preferred == "tie"]
    assert (tied.outcome == 0).all()
    assert set(table.rows.system_2[table.rows["item"].str.endswith("-2")]) == {"C"}


def test_a_preferred_system_that_is_not_compared_is_refused():
    outputs = bare([("i1", "A"), ("i1", "B"), ("i2", "A"), ("i2", "C"), ("i3", "A"), ("i3", "C")],
                   "item system")  # fmt: skip

    with pytest.raises(ValueError, match="Row 3: item i2 compares A and C, not B"):
        make_table(PAIRS, outputs=outputs)


def test_preferences_as_the_site_exports_them_are_read():
    rows = pd.DataFrame({
        "participant": ["p", "p", "p"], "item": ["i", "j", "k"], "criterion": "q",
        "scale": "preference", "value": [1, 0, 1], "system": "", "output_id": "",
        "system_1": "A", "system_2": "B", "preferred": ["A", "", "B"],
        "outcome": ["1", "tie", "2"], "shown_first": ["B", "A", "B"],
    })  # fmt: skip

    table = make_table(rows)

    assert list(table.rows.outcome) == [-1, 0, 1]
    assert list(table.rows.output) == ["i", "j", "k"]
    assert list(table.rows.preferred) == ["A", "tie", "B"]


def test_facts_of_the_design_are_counted():
    facts = describe_design(make_table(SMALL.assign(place=[1, 2, 2, 1, 1])).results())

    assert (facts["items"], facts["outputs"], facts["raters"]) == (2, 3, 3)
    assert facts["ratings_per_output"] == {"min": 1, "median": 2, "max": 2}
    assert facts["components"] == 2  # p3 shares no output with anyone
    assert facts["raters_per_component"] == [2, 1]
    assert facts["places"] == {"A": {1: 2, 2: 1}, "B": {1: 1, 2: 1}}
    assert not facts["is_crossed"]


def test_facts_of_an_empty_design_are_zero():
    facts = describe_design(make_table(SMALL.iloc[:0]).results())

    assert (facts["ratings"], facts["systems"]) == (0, [])


def describe(rows, **options):
    return describe_systems(
        Ratings(rater=rows.participant, block=rows["item"], system=rows.system, value=rows.value),
        **options,
    )


def test_plain_means_are_means_of_ratings():
    rows = bare([
        *(("p1", f"i{n}", "A", "q", value) for n, value in enumerate((90, 91, 92))),
        *(("p2", f"i{n}", "A", "q", value) for n, value in enumerate((20, 21, 22))),
        *(("p1", f"i{n}", "B", "q", value) for n, value in enumerate((10, 12, 14))),
        *(("p2", f"i{n}", "B", "q", value) for n, value in enumerate((80, 82, 84))),
    ])  # fmt: skip

    a, b = describe(rows)

    assert (a.figures["mean"].value, b.figures["mean"].value) == pytest.approx((56, 47))
    assert a.figures["mean"].n == b.figures["mean"].n == {"ratings": 6, "items": 3, "raters": 2}


def test_every_point_of_a_scale_has_its_share():
    a = describe(SMALL, scale=range(1, 6))[0]

    assert a.counts == {1: 1, 2: 0, 3: 1, 4: 1, 5: 0}
    assert a.figures["share_5"].value == 0
    assert a.figures["bottom_box"].value == pytest.approx(1 / 3)
    assert a.figures["bottom_box"].details["wilson_low"] == pytest.approx(0.0614920)
    with pytest.raises(ValueError, match="not on the scale"):
        describe(SMALL, scale=range(1, 5))


@given(st.lists(st.integers(1, 5), min_size=1, max_size=30))
@settings(max_examples=50, deadline=None)
def test_medians_and_trimmed_means_of_shares_are_those_of_the_values(values):
    points = np.arange(1.0, 6.0)
    share = np.bincount(np.array(values) - 1, minlength=5)[None, :] / len(values)

    assert find_median(share, points)[0] == np.median(values)
    cut = np.sort(np.repeat(values, 10))[len(values) : -len(values)]  # a tenth off either side
    assert find_trimmed(share, points)[0] == pytest.approx(cut.mean())


def test_raters_with_few_or_equal_ratings_are_centred_only():
    own = standardise(rater=["a"] * 6 + ["b"] * 2 + ["c"] * 6,
                      value=[1, 2, 3, 4, 5, 6, 1, 3, *[4] * 6])  # fmt: skip

    assert list(own.is_centred_only) == [False] * 6 + [True] * 8
    assert own.z[:6].std() == pytest.approx(1)
    assert list(own.z[6:]) == [-1, 1, 0, 0, 0, 0, 0, 0]


@given(st.randoms(use_true_random=False))
@settings(max_examples=10, deadline=None)
def test_order_of_rows_and_names_change_no_figure(random):
    rows = read_data("compare_small7.csv").sample(120, random_state=1)
    rows = rows.rename(columns={"rater": "participant"})
    other = rows.sample(frac=1, random_state=random.randrange(99))
    numbers = list(range(rows.participant.nunique()))
    random.shuffle(numbers)
    names = dict(zip(rows.participant.unique(), numbers, strict=True))
    other = other.assign(participant=other.participant.map(names), item="n" + other["item"])

    for one, two in zip(describe(rows), describe(other), strict=True):
        for key, figure in one.figures.items():
            for part in ("value", "low", "high"):
                assert getattr(figure, part) == pytest.approx(
                    getattr(two.figures[key], part), abs=1e-12
                )


def test_mixes_of_systems_that_raters_saw_are_compared():
    assert find_imbalance(rater=list("aabb"), system=list("xyxy")) == 0
    assert find_imbalance(rater=list("aabb"), system=list("xxyy")) == 0.5


def test_z_stands_beside_the_raw_scale():
    rows = read_data("compare_small7.csv")

    found = describe_standardised(
        Ratings(rater=rows.rater, block=rows["item"], system=rows.system, value=rows.value),
    )

    own = standardise(rater=rows.rater, value=rows.value)
    for system, some in found.items():
        assert some["mean_z"].value == pytest.approx(own.z[rows.system == system].mean())
        assert some["mean_z"].low < some["mean_z"].value < some["mean_z"].high


def test_share_of_a_point_that_nobody_chose_has_an_interval_that_is_no_point():
    # six of six ratings are 3: whatever is drawn, the share of 1 stays 0
    (found,) = describe_systems(
        Ratings(rater=list("abcabc"), block=[0, 0, 0, 1, 1, 1], system=["s"] * 6, value=[3] * 6),
        scale=[1, 2, 3],
    )

    share = found.figures["share_1"]
    assert (share.name, share.value, share.details["interval"]) == ("share_1", 0, "wilson")
    assert share.low == 0 < share.high
