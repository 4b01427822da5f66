"""Gold cells: what may be written, and what an annotator is told."""

import re

import pytest
from django.core.exceptions import ValidationError

from evalsite.instruments.scales import Scale
from evalsite.instruments.scales.decision import Decision
from evalsite.instruments.scales.likert import Likert, Point
from evalsite.instruments.scales.magnitude import Magnitude
from evalsite.instruments.scales.preference import Judgement, Preference, Step
from evalsite.instruments.scales.slider import Slider
from evalsite.instruments.schema import Criterion
from evalsite.studies.gold import Feedback, check_gold, count_met, feedback

SYSTEMS = ("template", "pipeline", "neural")
SHOWN = ("Utterance 1", "Utterance 2", "Utterance 3")

POINTS = [Point(value=value, label=f"label {value}") for value in range(1, 8)]


def make_criterion(scale: Scale) -> Criterion:
    return Criterion.model_construct(
        key="quality",
        label="Quality",
        per=scale.asked[0],
        scale=scale,
        definition="How good it is.",
    )


LIKERT = make_criterion(Likert(kind="likert", points=POINTS))
DECISION = make_criterion(Decision(kind="decision", yes="Accept", no="Reject"))
PREFERENCE = make_criterion(
    Preference(
        kind="preference",
        points=[
            Step(value=-1, label="sys1"),
            Step(value=0, label="tie"),
            Step(value=1, label="sys2"),
        ],
    )
)
MAGNITUDE = make_criterion(Magnitude(kind="magnitude"))


def say(criterion: Criterion, gold: str, values, *, standard=None, names=SHOWN, systems=()):
    """The sentences of the feedback, without the scores in it, and whether each is met."""
    results = feedback(criterion, gold, values, standard, names[: len(values)], systems)
    return [(one.is_met, re.sub(r" \([0-9]+\)", "", one.sentence)) for one in results]


def refusal(criterion: Criterion, gold: str, outputs=SYSTEMS) -> str:
    with pytest.raises(ValidationError) as caught:
        check_gold(criterion, gold, outputs)
    return caught.value.message


# --- magnitude: order alone -----------------------------------------------------


def test_order_constraints_are_read_one_by_one():
    said = say(MAGNITUDE, "1<2, 1<standard, 2=3", [70, 90, 90], standard=100)

    assert said == [
        (True, "Utterance 1 is lower than utterance 2, as it should be."),
        (True, "Utterance 1 is lower than the standard, as it should be."),
        (True, "Utterance 2 and utterance 3 have the same score, as they should."),
    ]


def test_order_is_said_with_the_scores_that_were_given():
    criterion, scores = MAGNITUDE, [110, 90, 90]

    said = [one.sentence for one in feedback(criterion, "1<2, 2<standard", scores, 100, SHOWN)]

    assert said == [
        "Utterance 1 (110) should be lower than utterance 2 (90).",
        "Utterance 2 (90) is lower than the standard (100), as it should be.",
    ]


def test_unmet_order_says_what_should_be_and_names_no_right_score():
    said = say(MAGNITUDE, "1<2, 1<standard, 2=3", [110, 90, 80], standard=100)

    assert said == [
        (False, "Utterance 1 should be lower than utterance 2."),
        (False, "Utterance 1 should be lower than the standard."),
        (False, "Utterance 2 and utterance 3 should have the same score."),
    ]


def test_equal_scores_do_not_meet_lower_than():
    assert say(MAGNITUDE, "1<2", [100, 100, 5], standard=100) == [
        (False, "Utterance 1 should be lower than utterance 2.")
    ]


def test_numbers_are_those_uploaded_and_sentences_those_shown():
    shown = ("Utterance 3", "Utterance 1", "Utterance 2")  # the file's first stands third

    said = say(MAGNITUDE, "1<2, 1=3", [50, 40, 60], standard=100, names=shown)

    assert said == [
        (False, "Utterance 3 should be lower than utterance 1."),
        (False, "Utterance 2 and utterance 3 should have the same score."),
    ]


@pytest.mark.parametrize(
    ("gold", "sentence"),
    [
        ("standard<2", "Utterance 2 should be higher than the standard."),
        ("2>standard", "Utterance 2 should be higher than the standard."),
        ("standard>1", "Utterance 1 should be lower than the standard."),
        ("1 = STANDARD", "Utterance 1 and the standard should have the same score."),
        ("standard=1", "Utterance 1 and the standard should have the same score."),
    ],
)
def test_an_utterance_is_spoken_of_in_relation_to_the_standard(gold, sentence):
    assert say(MAGNITUDE, gold, [120, 90, 90], standard=100) == [(False, sentence)]


def test_sentence_begins_with_a_capital_however_outputs_are_named():
    said = say(MAGNITUDE, "1<2, 2=3", [50, 40, 60], names=("utterance 1", "text B", "text C"))

    assert [sentence for _, sentence in said] == [
        "Utterance 1 should be lower than text B.",
        "Text B and text C should have the same score.",
    ]


def test_chain_asks_each_of_its_steps():
    said = say(MAGNITUDE, "1<2<3", [1, 3, 2], standard=100)

    assert [is_met for is_met, _ in said] == [True, False]


def test_without_a_standard_what_names_it_is_not_asked():
    assert len(say(MAGNITUDE, "1<2, 1<standard", [1, 2, 3], standard=None)) == 1


@pytest.mark.parametrize("gold", ["1<4", "0<1", "1=70", "1<100", "template<neural", "１<2", "01<2"])
def test_order_that_names_no_output_is_refused_in_words(gold):
    message = refusal(MAGNITUDE, gold)

    assert message.startswith("gold_quality: “")
    assert "Use the numbers 1 to 3 and the word standard" in message


@pytest.mark.parametrize(
    "gold", ["70", "1", "standard", "1≤2", "12", pytest.param(f"1{' ' * 20_000}2", id="spaces")]
)
def test_order_that_compares_nothing_is_refused(gold):
    assert "compares nothing" in refusal(MAGNITUDE, gold)


@pytest.mark.parametrize("gold", [",", " , ,"])
def test_order_of_commas_alone_is_refused(gold):
    assert "compares nothing" in refusal(MAGNITUDE, gold)


@pytest.mark.parametrize("gold", ["1<", "<2", "1<<2", "1<=2"])
def test_order_with_one_side_missing_is_refused(gold):
    assert "which is no output of this item" in refusal(MAGNITUDE, gold)


def test_order_of_an_output_with_itself_is_refused():
    assert "compares an output with itself" in refusal(MAGNITUDE, "2=2")


@pytest.mark.parametrize(
    "gold",
    ["1<2, 2<1", "1<2, 1=2", "1<2<3, 3<1", "1=2, 2=3, 1<3", "1<standard, standard<2, 2=1"],
)
def test_order_that_no_scores_can_meet_is_refused(gold):
    assert "contradicts itself" in refusal(MAGNITUDE, gold)


@pytest.mark.parametrize("gold", ["1<2, 2=3", "3>1, 2>1, 3=2", "1<2<standard, 3=1", "1=2=3"])
def test_order_that_can_be_met_is_accepted(gold):
    check_gold(MAGNITUDE, gold, SYSTEMS)


# --- Likert ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gold", "value", "expected"),
    [
        ("5", 5, (True, "You chose 5 (label 5), as we suggest.")),
        ("2..3", 5, (False, "You chose 5 (label 5). We suggest 2 or 3.")),
        ("4..6", 3, (False, "You chose 3 (label 3). We suggest 4 to 6.")),
        ("4 .. 6", 6, (True, "You chose 6 (label 6), as we suggest.")),
        ("1", 2, (False, "You chose 2 (label 2). We suggest 1.")),
    ],
)
def test_point_is_compared_with_the_points_suggested(gold, value, expected):
    assert say(LIKERT, gold, [value]) == [expected]


def test_several_outputs_have_one_part_each_and_an_empty_one_asks_nothing():
    said = say(LIKERT, "5, , 1..2", [5, 1, 3], names=("Response 1", "Response 2", "Response 3"))

    assert said == [
        (True, "Response 1: You chose 5 (label 5), as we suggest."),
        (False, "Response 3: You chose 3 (label 3). We suggest 1 or 2."),
    ]


@pytest.mark.parametrize(
    "gold", ["five", "4-6", "4..", "３", "4..6..7", pytest.param("9" * 5000, id="digits")]
)
def test_point_that_is_no_point_is_refused(gold):
    assert "is not a point or a range of points" in refusal(LIKERT, gold, ["only"])


def test_a_whole_point_may_be_written_with_a_zero_after_it():
    assert say(LIKERT, "3.0", [3])[0][0]


@pytest.mark.parametrize("gold", ["0", "8", "5..9", "-1"])
def test_point_outside_the_scale_is_refused(gold):
    assert "Use points from 1 to 7" in refusal(LIKERT, gold, ["only"])


def test_range_takes_the_steps_of_a_slider_that_lie_in_it():
    slider = make_criterion(Slider(kind="slider", minimum=0, maximum=100, step=5))

    assert [say(slider, "3..12", [value])[0][0] for value in (0, 5, 10, 15)] == [
        False, True, True, False,
    ]  # fmt: skip
    assert say(slider, "3..12", [15]) == [(False, "You chose 15. We suggest 5 or 10.")]


def test_range_that_runs_backwards_is_refused():
    assert "Write the lower point first" in refusal(LIKERT, "6..4", ["only"])


def test_too_few_parts_are_refused_with_the_number_wanted():
    assert "has 2 of 3 right answers" in refusal(LIKERT, "5, 4")


TIE, FIRST, SECOND = Judgement(0, 0), Judgement(1, 1), Judgement(2, 1)


# --- decision, preference -------------------------------------------------------


def test_decision_is_compared_in_the_words_of_the_protocol():
    assert say(DECISION, "accept", [1]) == [(True, "You chose Accept, as we suggest.")]
    assert say(DECISION, "Reject", [1]) == [(False, "You chose Accept. We suggest Reject.")]


def test_other_word_for_a_decision_is_refused():
    assert "Write accept or reject" in refusal(DECISION, "yes", ["only"])


def test_preference_names_a_system_but_feedback_names_what_was_shown():
    shown, systems = ("Response 2", "Response 1"), ("zebra", "aardvark")

    met = feedback(PREFERENCE, "aardvark", [SECOND], None, shown, systems)
    unmet = feedback(PREFERENCE, "zebra", [TIE], None, shown, systems)

    assert [one.sentence for one in met] == ["You chose Response 1, as we suggest."]
    assert [one.sentence for one in unmet] == ["You chose tie. We suggest Response 2."]


def test_preference_for_a_tie():
    names = ("Response 1", "Response 2")

    assert feedback(PREFERENCE, "Tie", [TIE], None, names)[0].is_met
    assert not feedback(PREFERENCE, "tie", [SECOND], None, names)[0].is_met


def test_preference_may_give_the_number_of_an_output():
    assert feedback(PREFERENCE, "2", [SECOND], None, ("Response 1", "Response 2"))[0].is_met


def test_system_whose_name_is_a_number_is_meant_by_its_name():
    assert feedback(PREFERENCE, "2", [FIRST], None, ("Response 1", "Response 2"), ("2", "1"))[
        0
    ].is_met


def test_unknown_system_is_refused_with_those_there_are():
    message = refusal(PREFERENCE, "gpt", ("zebra", "aardvark"))

    assert "The systems are: zebra, aardvark." in message


# --- all scales -----------------------------------------------------------------


@pytest.mark.parametrize("criterion", [LIKERT, DECISION, PREFERENCE, MAGNITUDE])
@pytest.mark.parametrize("gold", ["", "  "])
def test_empty_gold_is_neither_asked_nor_scored(criterion, gold):
    check_gold(criterion, gold, SYSTEMS)

    assert feedback(criterion, gold, [1, 2, 3], 100, SHOWN) == []
    assert count_met(feedback(criterion, gold, [1, 2, 3], 100, SHOWN)) == (0, 0)


def test_share_counts_what_was_met_of_what_was_asked():
    results = feedback(MAGNITUDE, "1<2, 2<3, 1<standard", [3, 2, 4], 100, SHOWN)

    assert count_met(results) == (2, 3)


def test_feedback_names_its_criterion():
    assert feedback(LIKERT, "5", [5], None, SHOWN[:1]) == [
        Feedback(criterion="Quality", is_met=True, sentence="You chose 5 (label 5), as we suggest.")
    ]


def test_a_long_cell_is_told_by_its_beginning():
    with pytest.raises(ValidationError) as told:
        check_gold(LIKERT, "x" * 10_000, ["a"])

    assert "“" + "x" * 60 + "…”" in told.value.messages[0]
    assert len(told.value.messages[0]) < 300


def test_statements_of_an_item_need_a_right_answer_each():
    claims = Criterion.model_validate({
        "key": "claims", "label": "Claims", "question": "Which are true?", "per": "output",
        "scale": {"kind": "checklist", "yes": "Yes", "no": "No", "from_column": "claims"},
    })  # fmt: skip
    inputs = {"claims": "The sky is blue.\nSnow is white.\nGrass is red."}

    check_gold(claims, "1 1 0", ["a"], inputs=inputs)
    with pytest.raises(ValidationError) as refused:
        check_gold(claims, "1 0", ["a"], inputs=inputs)

    assert refused.value.code == "gold"
