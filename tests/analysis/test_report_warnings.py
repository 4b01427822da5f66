"""What a report warns of: few raters or inputs by criterion, gaps, and systems that never meet."""

import csv

import pytest

from evalsite.analysis.report import Settings, make_reports
from evalsite.results.report.sections.words import NOTES

POINTS = [{"value": value, "label": ""} for value in range(1, 8)]


def criterion(key):
    return {"key": key, "label": key.title(), "kind": "likert", "answers": POINTS}


def rate(key, *, raters, inputs, systems="AB", own_inputs=False):
    """Everyone rates every output; `own_inputs`: no input has two systems."""
    return [
        {
            "criterion": key, "participant": f"p{r}", "system": system,
            "item": f"i{i}{system if own_inputs else ''}",
            "value": 1 + (r * i + r + 2 * i + place * (i + 1)) % 7,
        }
        for r in range(raters)
        for i in range(inputs)
        for place, system in enumerate(systems)
    ]  # fmt: skip


@pytest.fixture
def report(tmp_path):
    """The report of these rows."""

    def make(rows, *, raters_known=True, **known):
        rows = rows if raters_known else [row | {"person": "no"} for row in rows]
        path = tmp_path / "ratings.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        keys = list(dict.fromkeys(row["criterion"] for row in rows))
        made = make_reports(
            {"ratings": path},
            Settings(instrument=[criterion(key) for key in keys], seed=1, **known),
        )
        return made["kept"]

    return make


@pytest.fixture
def warn(report):
    """The codes of the warnings about these rows, each with its criterion."""
    return lambda *given, **known: [
        (one["code"], one["criterion"]) for one in report(*given, **known)["warnings"]
    ]


def test_few_raters_and_inputs_of_one_criterion_are_told_of_that_criterion(warn):
    rows = rate("fluency", raters=6, inputs=12) + rate("coherence", raters=2, inputs=6)

    found = warn(rows)

    assert ("few_raters", "coherence") in found
    assert ("few_items", "coherence") in found
    assert not {("few_raters", None), ("few_items", None), ("few_raters", "fluency")} & set(found)


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("raters", "said"),
    [
        (2, "With 2 raters the intervals are very wide: two people tell us little"),
        (3, "With 3 raters the intervals are wide: three people tell us little"),
        (4, "In simulations of designs like this one, the tests keep their 5% error rate."),
    ],
)
def test_few_raters_are_counted_and_what_simulations_show_is_said(report, raters, said):
    warnings = report(rate("fluency", raters=raters, inputs=12))["warnings"]

    (text,) = [NOTES.write(one) for one in warnings if one["code"] == "few_raters"]
    assert said in text
    assert ("simulations" in text) == (raters > 2)


def test_the_warning_of_few_raters_counts_any_number():
    assert "7 raters" in NOTES.write({"code": "few_raters", "facts": {"raters": 7}})


@pytest.mark.torture
def test_few_raters_and_inputs_of_every_criterion_are_told_once(warn):
    rows = rate("fluency", raters=3, inputs=6) + rate("coherence", raters=3, inputs=5)

    found = warn(rows)

    assert [one for one in found if one[0].startswith("few_")] == [
        ("few_raters", None),
        ("few_items", None),
    ]


def test_raters_who_are_no_persons_are_not_told_as_few(warn):
    found = warn(rate("fluency", raters=3, inputs=12), raters_known=False)

    assert ("raters_unknown", None) in found
    assert not [one for one in found if one[0] == "few_raters"]


def test_one_shared_input_is_told(warn):
    found = warn(rate("fluency", raters=6, inputs=1))

    assert ("one_item", "fluency") in found


@pytest.mark.torture
def test_systems_without_a_shared_input_are_told(warn):
    shared = warn(rate("fluency", raters=6, inputs=12))
    own = warn(rate("fluency", raters=6, inputs=12, own_inputs=True))

    assert ("no_shared_input", "fluency") not in shared
    assert ("no_shared_input", "fluency") in own


def test_no_method_is_told_where_nothing_can_be_compared(warn):
    # all of A alike, all of B alike, on an input of each
    rows = rate("fluency", raters=8, inputs=1, own_inputs=True)
    rows = [row | {"value": 2 if row["system"] == "A" else 4} for row in rows]

    found = dict(warn(rows))

    assert "bootstrap_instead_of_model" not in found
    assert found["thin_systems"] == "fluency"


def copy_answers(rows, source, target):
    """The second rater's answers are the first's."""
    taken = [row | {"participant": target} for row in rows if row["participant"] == source]
    return [row for row in rows if row["participant"] != target] + taken


def test_copied_answers_are_warned_of_without_names_and_named_in_the_data(report):
    honest = rate("fluency", raters=5, inputs=30) + rate("coherence", raters=5, inputs=30)
    rows = copy_answers(honest, "p1", "p3")

    found = report(rows)

    [note] = [note for note in found["warnings"] if note["code"] == "copied"]
    assert (note["facts"]["pairs"], note["facts"]["equal"], note["facts"]["outputs"]) == (1, 60, 60)
    assert not {"p1", "p3"} & set(NOTES.write(note).split())
    [pair] = found["copied"]["pairs"]
    assert (pair["first_rater"], pair["second_rater"]) == ("p1", "p3")
    assert not report(honest)["copied"]["pairs"]
    assert not report(rows, raters_known=False)["copied"]["pairs"]


def test_excluding_one_of_the_pair_ends_the_warning(report):
    rows = copy_answers(rate("fluency", raters=5, inputs=30), "p1", "p3")
    rows = [row | {"excluded": "yes" if row["participant"] == "p3" else "no"} for row in rows]

    assert not report(rows)["copied"]["pairs"]


@pytest.mark.torture
def test_two_raters_who_always_agree_are_noted(warn):
    rows = copy_answers(rate("fluency", raters=2, inputs=30), "p0", "p1")

    assert ("both_alike", None) in warn(rows)
    assert ("copied", None) not in warn(rows)
