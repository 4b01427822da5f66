"""Decisions beside scores, ignoring, and marked passages."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsite.analysis.highlights import MarkedOutput, compare_highlights, mark_tokens, split_tokens
from evalsite.analysis.report.across_criteria import (
    compare_with_scores,
    find_auc,
    find_contradictions,
    find_majority,
)
from tests.analysis.vectors import read_vector

FEW = 50


def test_majorities_are_those_of_the_vector():
    data, expected, _ = read_vector("dawid_skene__labels_accept")

    rated = data[data.value != "ignore"]
    found = find_majority(unit=rated.unit, value=rated.value == "accept").majority

    plain = set(data.unit) - set(data.unit[data.value == "ignore"])
    assert len(plain) > 20
    for unit in plain:
        label = {1: "accept", 0: "reject"}.get(found[unit])  # missing: as many of both
        assert label == expected["majority"][unit]


def test_a_score_that_decides_has_an_auc_of_one():
    scores = pd.DataFrame({"fits": [6, 7, 1, 2], "none": [3, 3, 3, 3]})

    fits, none = compare_with_scores(accepted=[1, 1, 0, 0], scores=scores)

    assert (fits.figures["auc"].value, none.figures["auc"].value) == (1, 0.5)
    assert fits.figures["mean_accepted"].value == 6.5
    assert fits.figures["mean_rejected"].value == 1.5


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 7)), min_size=2, max_size=30))
@settings(max_examples=40, deadline=None)
def test_auc_is_the_share_of_pairs_in_order(rows):
    accepted, score = (np.array(one) for one in zip(*rows, strict=True))
    up, down = score[accepted], score[~accepted]
    pairs = [(a > b) + 0.5 * (a == b) for a in up for b in down]

    found = find_auc(accepted=accepted, score=score)

    if not pairs:
        assert found.reason == "no_data"
    else:
        assert found.value == pytest.approx(np.mean(pairs))


def test_contradictions_are_listed_for_another_look():
    scores = pd.DataFrame({"a": [7, 6, 2, 5], "b": [6, 7, 7, 5]}, index=list("wxyz"))

    found = find_contradictions(accepted=[0, 1, 1, 0], scores=scores, good=6, bad=2)

    assert dict(found.why) == {"w": "rejected", "y": "accepted"}


TEXT = "The room was clean, but small."


def seen(rater, *words, output="o"):
    spans = [(TEXT.index(word), TEXT.index(word) + len(word)) for word in words]
    return MarkedOutput(output=output, rater=rater, spans=tuple(spans))


def highlights(*marked, **options):
    found = compare_highlights(marked, {"o": TEXT, "p": TEXT}, **options)
    return {one.name: one for one in found}


def test_a_token_is_marked_by_any_part_of_it():
    tokens = split_tokens(TEXT)

    marked = mark_tokens(tokens, [(5, 9)])  # within "room", up to its end and one more

    assert [TEXT[start:end] for start, end in tokens][:5] == ["The", "room", "was", "clean", ","]
    assert list(np.flatnonzero(marked)) == [1]


def test_marks_are_compared_by_token_and_by_passage():
    found = highlights(seen("a", "clean, but"), seen("b", "clean, but"), seen("c", "clean"))

    # pairs: alike (1), 3 tokens against 1 (2 / 4) twice
    assert found["token_f1"].value == pytest.approx(2 / 3)
    assert found["span_f1"].value == pytest.approx(1 / 3)
    assert found["highlighted_share"].value == pytest.approx(7 / 24)


def test_two_who_mark_nothing_agree_only_in_the_second_figure():
    found = highlights(seen("a", "clean"), seen("b", "clean"),
                       seen("a", output="p"), seen("b", output="p"))  # fmt: skip

    assert found["token_f1"].n["rater_pairs"] == 1
    assert found["token_f1_with_empty"].n["rater_pairs"] == 2
    assert found["token_alpha"].value == 1
    empty = highlights(seen("a"), seen("b"))
    assert empty["token_f1"].reason == "no_variation"
    assert empty["token_f1_with_empty"].value == 1
    assert empty["token_alpha"].reason == "no_variation"


def test_intervals_of_marks_draw_outputs_and_raters():
    """Pairs agree within each output and not across raters, so drawing outputs alone sees
    nothing."""
    marked = [
        seen(rater, *words, output=output)
        for output in "op"
        for rater, words in {"a": ["clean"], "b": ["clean"], "c": ["small"]}.items()
    ]

    figure = highlights(*marked)["token_f1"]

    assert figure.details["over"] == "raters_and_inputs"
    assert figure.value == pytest.approx(1 / 3)
    # without the third, all agree; without the first or second, none does
    assert (figure.low, figure.high) == (0, 1)
    # three of one rater are drawn in 1/9 of draws: there is nobody to compare them with
    assert figure.details["draws_undefined"] > 0


def test_one_rater_has_no_overlap_and_a_lost_text_is_counted():
    alone = highlights(seen("a", "clean"))
    lost = highlights(seen("a", "clean", output="gone"))

    assert alone["token_f1"].reason == "no_overlap"
    assert alone["token_alpha"].reason == "no_overlap"
    assert {one.reason for one in lost.values()} == {"no_data"}
    assert lost["token_f1"].n["without_text"] == 1
