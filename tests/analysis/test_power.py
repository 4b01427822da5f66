"""Planning: the vector, the closed forms, and what more raters and items must do."""

import pytest

from evalsite.analysis.intervals import Resampling, detectable, power_of_t
from evalsite.analysis.power import (
    PRESETS,
    Comparisons,
    Design,
    Parts,
    Truth,
    closed_form,
    items_needed,
    parts_of_variances,
    plan,
    smallest_difference,
)
from tests.analysis.vectors import compare, read_vector

HUNDREDS = Resampling(draws=500)


def likert(difference):
    return Truth(parts=PRESETS["likert"], difference=difference, points=7)


def test_power_of_complete_designs_is_that_of_the_vector():
    _, expected, tolerance = read_vector("power__planning")

    for case in expected["crossed"]:
        parts = Parts(
            item_system=case["sd_item_system"],
            rater_system=case["sd_rater_system"],
            residual=case["sd_residual"],
        )
        design = Design(items=case["items"], raters=case["raters"])
        power, df, se = closed_form(parts, design, case["difference"])
        figures = {"power": power, "df": df, "se": se}
        compare(figures, {name: case[name] for name in figures}, tolerance)
    simple = expected["paired_t"]
    power = power_of_t(simple["dz"], se=simple["n"] ** -0.5, df=simple["n"] - 1)
    assert power == pytest.approx(simple["power"], abs=tolerance)
    needed = expected["items_needed_for_80"]
    sizes = {n: detectable(se=n**-0.5, df=n - 1, power=0.8) for n in (89, 90)}
    # 89.1 items: the whole number above is enough, and the one below isn't
    assert sizes[90] < needed["dz"] < sizes[89]


@pytest.mark.one_case
@pytest.mark.parametrize("scale", ["likert", "magnitude", "pairs"])
@pytest.mark.parametrize("per_output", [None, 3, 1])
def test_studies_without_a_difference_rarely_find_one(scale, per_output):
    design = Design(items=40, raters=8, per_output=per_output)

    truth = Truth(parts=PRESETS[scale], difference=0.0, points=7, tie_share=0.3)

    found = plan(design, truth, scale=scale, resampling=Resampling(draws=2000))

    assert 0.02 < found.power.value < 0.08
    assert found.sign_error.reason == "no_data"


def test_more_items_help_until_raters_are_the_limit():
    parts = Parts(item_system=0.2, rater_system=0.5, residual=0.5)

    few, many, more_raters = (
        plan(Design(items=items, raters=raters), Truth(parts=parts, difference=0.5),
             scale="magnitude", resampling=HUNDREDS).power.value
        for items, raters in ((30, 6), (600, 6), (30, 30))
    )  # fmt: skip

    assert many - few < 0.1 < 0.3 < more_raters - few


def test_small_differences_found_by_small_studies_are_exaggerated():
    found = plan(Design(items=10, raters=5), likert(0.2))

    assert found.exaggeration.value > 1.5
    assert found.sign_error.value > 0
    assert found.width.value > 1


def test_the_seed_decides_the_studies():
    design = Design(items=10, raters=5, per_output=2)

    one, again, other = (
        plan(design, likert(0.4), resampling=Resampling(draws=300, seed=seed)) for seed in (3, 3, 4)
    )

    assert one == again
    assert one.power != other.power


def test_smallest_difference_is_found_as_often_as_said():
    parts, design = PRESETS["magnitude"], Design(items=30, raters=10)

    size = smallest_difference(parts, design)

    assert closed_form(parts, design, size)[0] == pytest.approx(0.8, abs=1e-4)
    gaps = smallest_difference(parts, Design(items=30, raters=10, per_output=3))
    assert gaps > size


def test_detectable_difference_is_found_with_its_power():
    for df in (1, 4, 200):
        size = detectable(se=0.3, df=df)

        assert power_of_t(size, se=0.3, df=df) == pytest.approx(0.8, abs=1e-4)


def test_items_are_dealt_to_raters_evenly():
    shown = Design(items=31, raters=7, per_output=3).shown()

    assert set(shown.sum(axis=0)) == {3}
    assert shown.sum(axis=1).max() - shown.sum(axis=1).min() <= 3


def test_parts_come_from_a_pilot():
    parts = parts_of_variances({"rater": 0.25, "group": 0.04, "group:system": 0.16}, 0.81)

    assert parts == Parts(
        rater=0.5, item=0.2, item_system=0.4, rater_system=0.0, residual=pytest.approx(0.9)
    )


@pytest.mark.parametrize("design", [Design(items=1, raters=5), Design(items=5, raters=1)])
def test_designs_without_two_of_each_are_refused(design):
    with pytest.raises(ValueError, match="two raters and two items"):
        plan(design, likert(0.5))


def test_items_needed_are_the_fewest_that_are_enough():
    parts = PRESETS["likert"]

    items = items_needed(parts, difference=0.5, raters=8)

    enough, short = (
        smallest_difference(parts, Design(items=n, raters=8)) for n in (items, items - 1)
    )
    assert enough <= 0.5 < short


def test_no_number_of_items_makes_up_for_too_few_raters():
    parts = Parts(item_system=0.3, rater_system=0.6, residual=0.5)

    assert items_needed(parts, difference=0.2, raters=4) is None
    assert items_needed(parts, difference=1.5, raters=12) is not None


def test_no_difference_needs_no_plan():
    with pytest.raises(ValueError, match="not 0"):
        items_needed(PRESETS["likert"], difference=0, raters=5)


# latent points of the simulations that the method was chosen by; power alone, corrected over all
# pairs, and of the best above all others (separate code that agrees with R; 4,000 studies)
MEASURED = Parts(rater=0.6, item=0.6, item_system=0.5, rater_system=0.3, residual=0.9)


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("systems", "raters", "items", "per_output", "alone", "corrected", "best"),
    [
        (2, 6, 50, None, 0.54, 0.54, 0.54),
        (2, 20, 40, 3, 0.68, 0.68, 0.68),
        (3, 6, 50, None, 0.59, 0.43, 0.32),
        (4, 6, 50, None, 0.59, 0.34, 0.17),
        (4, 10, 50, None, 0.79, 0.56, 0.33),
    ],
)
def test_power_of_families_is_what_was_measured(
    systems, raters, items, per_output, alone, corrected, best
):
    found = plan(
        Design(items=items, raters=raters, per_output=per_output),
        Truth(parts=MEASURED, difference=0.5, points=5, systems=systems),
    )

    for figure, expected in ((found.alone, alone), (found.power, corrected), (found.best, best)):
        assert figure.value == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize(("raters", "items", "power"), [(6, 40, 0.43), (6, 100, 0.53)])
def test_power_of_decisions_is_what_was_measured(raters, items, power):
    # a latent difference of .5, half of the decisions yes
    found = plan(
        Design(items=items, raters=raters), Truth(parts=MEASURED, difference=0.145),
        scale="decision",
    )  # fmt: skip

    assert found.power.value == pytest.approx(power, abs=0.05)


def test_fewer_comparisons_keep_more_power():
    design = Design(items=50, raters=6)
    truth = Truth(parts=MEASURED, difference=0.5, points=5, systems=4)

    every, three, many = (
        plan(design, truth, tests=tests, resampling=HUNDREDS).power.value
        for tests in (Comparisons(), Comparisons(named=3), Comparisons(further=24))
    )

    assert many < every < three


def test_hypotheses_keep_the_power_of_as_many_comparisons():
    design = Design(items=50, raters=6)
    truth = Truth(parts=MEASURED, difference=0.5, points=5, systems=4)

    every, one, six = (
        plan(design, truth, tests=Comparisons(named=named), resampling=HUNDREDS)
        for named in (0, 1, 6)
    )

    # one planned comparison needs no correction, and all pairs are what is planned without any
    assert one.power.value == one.alone.value > every.power.value
    assert six.power.value == every.power.value
    # all others are ahead of nobody's plan: they are corrected for all pairs
    assert one.best.value == every.best.value
