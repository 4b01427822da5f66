"""Penalties of error spans, and agreement on their places."""

import pandas as pd
import pytest

from evalsite.analysis.spans import (
    agree_on_places,
    count_errors,
    describe_errors,
)
from evalsite.lib.mqm_weights import weigh_mqm
from tests.analysis.vectors import compare, find_vectors, read_data, read_vector


@pytest.mark.parametrize("vector", find_vectors("spans"))
def test_penalties_and_agreement_are_those_of_the_vectors(vector):
    errors, expected, tolerance = read_vector(vector)
    seen = read_data("spans_segments.csv")
    seen = seen.assign(output=seen["item"] + " " + seen.system, block=seen["item"])
    weights = [weigh_mqm(*names) for names in zip(errors.category, errors.severity, strict=True)]
    marks = errors.assign(
        output=errors["item"] + " " + errors.system, place="", weight=weights
    )  # fmt: skip
    counted = marks[marks.severity != "neutral"]

    sums = marks.groupby(["rater", "output"]).weight.sum().rename("penalty")
    seen = seen.merge(sums, how="left", on=["rater", "output"]).fillna({"penalty": 0})

    means = {
        figure.group[0][1]: figure.value
        for figure in describe_errors(seen, counted)
        if figure.name == "errors_per_output"
    }
    by = seen.groupby("system")
    found = {
        "mqm": by.penalty.mean().to_dict(),
        "esa": by.score.mean().to_dict(),
        "errors": means,
        "span_f1": list_f1(seen, counted),
        "span_f1_major": list_f1(seen, marks[marks.severity == "major"]),
        "first_segments": dict(zip(seen.rater + " " + seen.output, seen.penalty, strict=True)),
    }
    compare(found, expected, tolerance)


def list_f1(seen, marks):
    figures = agree(seen, marks)
    first, every = figures["character_f1"], figures["character_f1_with_empty"]
    return {
        "pairs_with_spans": first.n["rater_pairs"],
        "pairs_both_empty": every.n["rater_pairs"] - first.n["rater_pairs"],
        "f1": first.value,
        "f1_with_empty": every.value,
        "f1_pooled": figures["character_f1_pooled"].value,
    }


@pytest.mark.parametrize(
    ("category", "severity", "weight"),
    [
        ("Accuracy/Mistranslation", "Major", 5),
        ("Fluency/Punctuation", "Minor", 0.1),
        ("fluency/punctuation", "major", 5),
        ("Non-translation!", "Major", 25),
        ("non_translation", "major", 25),
        ("Source error/-", "Major", 0),
        ("Style/Awkward", "Neutral", 0),
    ],
)
def test_names_of_files_weigh_as_in_mqm(category, severity, weight):
    assert weigh_mqm(category, severity) == weight


def test_an_unknown_severity_has_no_weight():
    with pytest.raises(KeyError):
        weigh_mqm("Style/Awkward", "critical")


def look(*pairs):
    return pd.DataFrame(
        [(rater, output, output, output[0]) for rater, output in pairs],
        columns=["rater", "output", "block", "system"],
    )


def mark(*rows):
    columns = ["rater", "output", "place", "start", "end", "category", "severity"]
    return pd.DataFrame(rows, columns=columns).assign(system=[row[1][0] for row in rows])


def agree(seen, marks):
    return {figure.name: figure for figure in agree_on_places(seen, marks)}


def test_marks_in_the_source_and_in_the_output_are_never_the_same_place():
    seen = look(("r1", "a1"), ("r2", "a1"))
    marks = mark(("r1", "a1", "", 0, 4, "c", "minor"), ("r2", "a1", "source", 0, 4, "c", "minor"))

    figures = agree(seen, marks)

    assert figures["character_f1"].value == 0
    assert figures["span_f1"].value == 0


def test_overlapping_marks_of_one_person_count_each_character_once():
    seen = look(("r1", "a1"), ("r2", "a1"))
    marks = mark(
        ("r1", "a1", "", 0, 4, "c", "minor"), ("r1", "a1", "", 2, 6, "d", "minor"),
        ("r2", "a1", "", 0, 6, "c", "minor"),
    )  # fmt: skip

    figures = agree(seen, marks)

    assert figures["character_f1"].value == 1
    assert figures["span_f1"].value == 0


def test_the_same_omission_is_the_same_passage_and_has_no_characters():
    seen = look(("r1", "a1"), ("r2", "a1"))
    marks = mark(("r1", "a1", "", 9, 9, "c", "minor"), ("r2", "a1", "", 9, 9, "c", "minor"))

    figures = agree(seen, marks)

    assert figures["span_f1"].value == 1
    assert figures["character_f1"].reason == "no_variation"
    assert figures["character_f1_with_empty"].value == 1


def test_one_person_per_output_has_no_agreement():
    figures = agree(look(("r1", "a1"), ("r2", "b1")), mark())

    assert {figure.reason for figure in figures.values()} == {"no_overlap"}


def test_names_and_the_order_of_rows_change_no_digit():
    seen = look(*((f"r{rater}", f"a{output}") for output in range(6) for rater in range(3)))
    marks = mark(*(
        (f"r{rater}", f"a{output}", "", rater, rater + output + 3, "c", "minor")
        for output in range(5) for rater in range(3) if (output + rater) % 4
    ))  # fmt: skip
    names = {"r0": "z", "r1": "y", "r2": "x"}

    plain = agree_on_places(seen, marks)
    turned = agree_on_places(
        seen.iloc[::-1].replace({"rater": names}), marks.iloc[::-1].replace({"rater": names})
    )

    assert [(figure.value, figure.low, figure.high) for figure in plain] == [
        (figure.value, figure.low, figure.high) for figure in turned
    ]
    assert plain[0].low < plain[0].value < plain[0].high


def test_errors_are_counted_by_category_and_system():
    seen = look(("r1", "a1"), ("r1", "b1"), ("r2", "b1"))
    marks = mark(("r1", "a1", "", 0, 4, "c", "minor"), ("r2", "b1", "", 0, 4, "c", "minor"),
                 ("r2", "b1", "", 5, 9, "c", "major"))  # fmt: skip

    counted = {
        figure.group: (figure.value, figure.n["outputs_and_raters"])
        for figure in count_errors(seen, marks, "category", ["c", "d"])
    }

    assert counted == {
        (("category", "c"), ("system", "a")): (1, 1), (("category", "c"), ("system", "b")): (2, 2),
        (("category", "d"), ("system", "a")): (0, 1), (("category", "d"), ("system", "b")): (0, 2),
    }  # fmt: skip
    described = {(figure.name, *dict(figure.group).values()): figure.value
                 for figure in describe_errors(seen, marks)}  # fmt: skip
    assert described["errors_per_output", "b"] == 1
    assert described["without_errors", "b"] == 0.5
