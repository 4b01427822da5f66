"""What raters did, and the flags: each with figure and threshold, none from runs alone."""

import numpy as np
import pandas as pd
import pytest

from evalsite.analysis.behaviour import (
    compare_passes,
    describe_drift,
    describe_pace,
    describe_sameness,
    describe_use,
    find_longest_runs,
)
from evalsite.analysis.ratings import Ratings, make_table
from evalsite.analysis.report.raters import (
    OPEN_SCALE,
    Scale,
    check_raters,
    flag_answers,
    flag_changes,
    flag_sameness,
    see_speed,
)
from evalsite.analysis.thresholds import LIMITS, START, Thresholds, list_limits, make_thresholds
from tests.analysis.vectors import compare, find_vectors, read_data, read_vector
from tests.torture.people import CROWDS


def read_behaviour():
    rows = read_data("behaviour7.csv").rename(columns={"rater": "participant"})
    return make_table(rows.assign(trial=rows.position, criterion="q")).results()


@pytest.mark.parametrize("name", find_vectors("behaviour"))
def test_behaviour_is_that_of_the_vector(name):
    data, expected, tolerance = read_vector(name)

    use = describe_use(
        Ratings(rater=data.rater, value=data.value), order=data.position, reserved=(3, 5)
    )
    pace = describe_pace(rater=data.rater, seconds=data.seconds)

    got = {}
    for rater, figures in use.items():
        got[rater] = {key: one.value for key, one in (figures | pace[rater]).items()}
        got[rater]["share_3_5"] = got[rater]["share_reserved"]
    wanted = {rater: {key: value for key, value in some.items() if not key.startswith("loo")}
              for rater, some in expected.items()}  # fmt: skip
    compare(got, wanted, tolerance)


def flag_all(table, *, scale=OPEN_SCALE, limits=START, words=None):
    """All flags of each rater of one criterion; `words`: of each page."""
    rows = check_raters(table, scale, limits)
    answers = table.rows.groupby("participant")["item"].nunique().to_dict()
    flags = {row.rater: list(row.flags) for row in rows}
    for rater, raised in flag_answers([rows], answers, limits).items():
        flags[rater] += raised
    count = None if words is None else [words] * len(table.rows)
    pace = describe_pace(rater=table.rows.participant, seconds=table.rows.seconds, words=count)
    for rater, figures in pace.items():
        flags[rater] += filter(None, [see_speed(figures, answers[rater], limits)])
    return flags


def test_careless_raters_of_the_vector_are_flagged_and_no_others():
    flags = flag_all(read_behaviour(), scale=Scale(points=range(1, 8), reserved=(3, 5)))

    codes = {rater: {flag.code for flag in raised} for rater, raised in flags.items()}
    assert "straight_lining" in codes["r07"]
    assert "disagreement" in codes["r07"]
    [lining] = [flag for flag in flags["r07"] if flag.code == "straight_lining"]
    assert (lining.figure.name, lining.threshold) == ("top_share", 0.8)
    assert codes["r08"] == {"speeder"}
    assert "reserved_points" in codes["r10"]
    assert {rater for rater, raised in codes.items() if not raised} >= {
        "r01",
        "r02",
        "r03",
        "r04",
        "r05",
    }
    for raised in flags.values():
        assert all(flag.to_dict()["figure"]["value"] is not None for flag in raised)


def test_figure_that_is_flagged_lies_beyond_the_line_that_is_told():
    # six raters: all but two within .8 of one another, these on either side of them, all far up
    given = {"p0": 3.0, "p1": 3.4, "p2": 2.6, "p3": 3.2, "high": 6.0, "low": 1.0}
    rows = [
        {"participant": rater, "item": f"i{item}", "system": "A", "criterion": "q",
         "value": middle + item % 2 / 10}
        for rater, middle in given.items() for item in range(12)
    ]  # fmt: skip

    found = check_raters(make_table(pd.DataFrame(rows)).results())

    flags = {row.rater: flag for row in found for flag in row.flags if flag.code == "offset"}
    assert set(flags) == {"high", "low"}
    offsets = sorted(row.figures["offset"].value for row in found)
    middle = (offsets[2] + offsets[3]) / 2
    spread = 1.4826 * float(np.median([abs(one - middle) for one in offsets]))
    assert flags["high"].threshold == pytest.approx(middle + 2 * spread)
    assert flags["low"].threshold == pytest.approx(middle - 2 * spread)
    assert flags["low"].figure.value < flags["low"].threshold


def flag_offsets(given: dict[str, float], scale=OPEN_SCALE):
    """Who is flagged, and whether as higher, of raters who give these values to all
    outputs, and a little more to some of their own, so that offsets have a spread."""
    rows = [
        {"participant": rater, "item": f"i{item}", "system": "A", "criterion": "q",
         "value": value * (1.01 if item % len(given) == place else 1)}
        for place, (rater, value) in enumerate(given.items()) for item in range(12)
    ]  # fmt: skip
    return find_offsets(rows, scale)


def find_offsets(rows, scale=OPEN_SCALE):
    found = check_raters(make_table(pd.DataFrame(rows)).results(), scale)
    return {row.rater: flag.facts for row in found for flag in row.flags if flag.code == "offset"}


@pytest.mark.parametrize(("value", "flagged"), [(3.4, {}), (3.7, {"high"})])
def test_offset_of_less_than_half_a_point_is_no_flag(value: float, flagged) -> None:
    # five within .04 of one another: either value is more than two robust sds away
    given = {"p0": 3.0, "p1": 3.01, "p2": 3.02, "p3": 3.03, "p4": 3.04, "high": value}

    found = flag_offsets(given)

    assert set(found) == set(flagged)
    assert all(facts == {"is_higher": True} for facts in found.values())


@pytest.mark.parametrize(("ratio", "flagged"), [(1.15, {}), (1.4, {"high"})])
def test_offset_of_magnitudes_needs_a_ratio(ratio: float, flagged) -> None:
    given = {"p0": 100, "p1": 101, "p2": 102, "p3": 103, "p4": 104, "high": 102 * ratio}

    assert set(flag_offsets(given, Scale(is_log=True))) == set(flagged)


@pytest.mark.parametrize(("items", "flagged"), [(6, {}), (60, {"high"})])
def test_offset_that_chance_may_make_is_no_flag(items: int, flagged) -> None:
    # a point in the mean, all of it from one output in six, on which it is six points: over six
    # outputs the standard error is 1 as well, over sixty 0.3
    given = {"p0": 2.0, "p1": 2.01, "p2": 2.02, "p3": 2.03, "p4": 2.04, "high": 2.02}
    rows = [
        {"participant": rater, "item": f"i{item}", "system": "A", "criterion": "q",
         "value": value + 6 * (rater == "high" and item % 6 == 0)}
        for rater, value in given.items() for item in range(items)
    ]  # fmt: skip

    assert set(find_offsets(rows)) == set(flagged)


def test_disagreement_on_few_items_is_no_flag():
    rows = read_data("behaviour7.csv").rename(columns={"rater": "participant"})
    few = (rows.participant == "r01") & (rows.position > 4)
    rows.loc[rows.participant == "r01", "value"] = rows.position % 2 * 6 + 1
    table = make_table(rows[~few].assign(trial=rows.position, criterion="q")).results()

    (found,) = [row for row in check_raters(table) if row.rater == "r01"]

    assert found.figures["spearman"].value < 0.1
    assert "disagreement" not in {flag.code for flag in flag_all(table)["r01"]}


def test_thresholds_are_the_studys_to_set():
    strict = Thresholds(speed_ratio=0.9)

    flags = flag_all(read_behaviour(), limits=strict)

    assert "speeder" in {flag.code for flag in flags["r10"]}


def test_a_fast_rater_with_time_to_read_is_no_speeder():
    assert not flag_all(read_behaviour(), words=1)["r08"]


@pytest.mark.parametrize(("ratings", "is_flagged"), [(19, False), (20, True)])
def test_reserved_points_are_no_sign_in_fewer_than_20_ratings(ratings, is_flagged):
    rows = [(rater, f"i{n}", "s", 3 if rater == "p0" and n < 12 else 1 + n % 2)
            for rater in ("p0", "p1", "p2") for n in range(ratings)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["participant", "item", "system", "value"])

    found = check_raters(make_table(frame).results(), Scale(reserved=[3, 5]))

    assert found[0].figures["share_reserved"].value >= 0.6  # beside 40%
    assert ("reserved_points" in {flag.code for flag in found[0].flags}) == is_flagged


def test_a_long_run_is_told_from_chance_and_makes_no_flag():
    values = [1] * 10 + [2] * 10
    mixed = [1, 2] * 10

    run = describe_use(Ratings(rater=["r"] * 20, value=values), order=range(20))["r"]["longest_run"]
    none = describe_use(Ratings(rater=["r"] * 20, value=mixed), order=range(20))["r"]["longest_run"]

    assert (run.value, none.value) == (10, 1)
    assert run.details["p_by_chance"] < 0.01
    assert none.details["p_by_chance"] == 1
    flat = describe_use(Ratings(rater=["r"] * 20, value=[3] * 20), order=range(20))["r"][
        "longest_run"
    ]
    assert flat.details["p_by_chance"] == 1  # no order of equal values breaks the run
    assert list(find_longest_runs(np.array([[1, 1, 2, 2, 2], [1, 2, 1, 2, 1]]))) == [3, 1]


def test_a_rater_who_drifts_away_from_the_others_is_found():
    trial = np.arange(40)
    rng = np.random.default_rng(1)
    truth = rng.normal(4, 1, 40)
    rows = pd.concat([
        pd.DataFrame({"rater": name, "unit": trial, "order": trial,
                      "value": truth + slope * trial / 39 + rng.normal(0, 0.3, 40)})
        for name, slope in (("steady", 0), ("other", 0), ("rising", 3))
    ])  # fmt: skip

    found = describe_drift(Ratings(rater=rows.rater, unit=rows.unit, value=rows.value), rows.order)

    assert found["rising"].value == pytest.approx(3, abs=0.5)
    assert found["rising"].low > 0.5
    few = describe_drift(Ratings(rater=["a", "b"], unit=[1, 1], value=[1, 2]), [1, 1])
    assert few["a"].reason == "too_few"


def test_one_value_for_all_criteria_is_flagged_only_beside_others_who_differ():
    rows = [(f"p{p}", f"i{n}", "s", criterion, 3 if p == 0 else 1 + (n + k * p) % 5)
            for p in range(4) for n in range(20) for k, criterion in enumerate("ab")]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["participant", "item", "system", "criterion", "value"])

    found = flag_sameness(make_table(frame).results())

    assert set(found) == {"p0"}
    assert found["p0"].figure.value == 1
    alone = describe_sameness(rater=["p"], unit=["i"], criterion=["a"], value=[3])
    assert alone["p"].reason == "no_data"


def test_the_rater_who_changes_most_is_flagged_among_five():
    rater = [f"r{n}" for n in range(6) for _ in range(8)]
    first = [4] * 48
    second = [4] * 40 + [1] * 8
    rows = pd.DataFrame({"participant": rater, "first": first, "second": second})
    passes = compare_passes(rows)

    assert set(flag_changes(passes)) == {"r5"}
    assert flag_changes({name: passes[name] for name in ("", "r0", "r5")}) == {}


def test_raters_of_magnitudes_are_looked_at_in_ratios():
    rows = [(f"p{p}", f"i{n}", "s", 10 * (n + 1) * (10 if p == 0 else 1))
            for p in range(6) for n in range(12)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["participant", "item", "system", "value"])

    found = {row.rater: row for row in
             check_raters(make_table(frame).results(), Scale(is_log=True))}  # fmt: skip

    assert found["p0"].figures["offset"].value == pytest.approx(np.log(10))
    assert found["p0"].figures["share_of_10s"].value == 1
    assert found["p1"].figures["geo_mean"].value < found["p0"].figures["geo_mean"].value


def test_unknown_raters_have_no_rows():
    table = make_table(pd.DataFrame({"participant": ["j1"], "item": ["i"], "value": [3]}),
                       raters_known=False)  # fmt: skip

    assert check_raters(table.results()) == []
    assert flag_sameness(table.results()) == {}


def test_names_change_no_figure_of_a_rater():
    rows = read_data("behaviour7.csv")
    names = {name: f"x{10 - place}" for place, name in enumerate(sorted(rows.rater.unique()))}

    one = describe_use(Ratings(rater=rows.rater, value=rows.value), order=rows.position)
    two = describe_use(Ratings(rater=rows.rater.map(names), value=rows.value), order=rows.position)

    for name, figures in one.items():
        for key, figure in figures.items():
            assert figure.to_dict() == two[names[name]][key].to_dict()


def test_thresholds_of_a_study_stand_in_for_the_starting_values():
    limits = make_thresholds({"gold": 0.7})

    assert (limits.gold, limits.rho) == (0.7, START.rho)
    with pytest.raises(ValueError, match="no threshold golden; choose one of top_share"):
        make_thresholds({"golden": 0.7})


def test_every_threshold_to_set_starts_within_its_range():
    assert all(limit.least <= limit.start <= limit.most for limit in LIMITS)


def test_a_study_sets_only_the_thresholds_that_are_looked_at():
    assert [one.key for one in list_limits(["preference"])] == [
        "floor_share", "floor_pages", "speed_ratio", "speed_answers", "speed_answers_alone",
        "gold", "attention", "attention_checks",
    ]  # fmt: skip
    one, two = (
        {limit.key for limit in list_limits(["points"] * number, has_reserved=number > 1)}
        for number in (1, 2)
    )
    assert two - one == {
        "identical", "identical_others", "reserved", "reserved_ratio", "reserved_ratings",
    }  # fmt: skip
    assert "drift" not in {limit.key for limit in list_limits(["magnitude"])}


@pytest.mark.slow
def test_planted_crowd_of_careless_people_is_found_and_honest_people_are_not():
    crowd = next(design for design in CROWDS if design.name == "1 question, 12 answers")

    flagged: dict[str, list[bool]] = {}
    for kind, is_flagged in crowd.run(np.random.SeedSequence(2026)):
        flagged.setdefault(kind, []).append(is_flagged)

    assert all(flagged["fast"])
    assert all(flagged["one point"])
    assert sum(flagged["honest"]) <= 0.02 * len(flagged["honest"]) + 1
