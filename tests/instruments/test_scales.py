"""What may be typed and chosen on the scales, and what pages and files say of them."""

import re
from typing import ClassVar, Literal

import pytest
from django import forms
from django.core.exceptions import ValidationError
from django.forms import Field
from hypothesis import given
from hypothesis import strategies as st

from evalsite.data.ratings.answers import ValueReader
from evalsite.data.ratings.columns import RatingRow
from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.fields import WHOLE_NUMBER
from evalsite.instruments.scales import Scale, read_scale
from evalsite.instruments.scales.decision import Decision
from evalsite.instruments.scales.likert import Likert, Point
from evalsite.instruments.scales.magnitude import Magnitude, MagnitudeField
from evalsite.instruments.scales.preference import Preference, Step, Verdict
from evalsite.instruments.schema import Criterion
from evalsite.lib.rating_columns import Part

MISSING = "Enter a score for utterance 2"
TOO_SMALL = "Score for utterance 2 must be 1 or more"
TOO_LARGE = "Score for utterance 2 must be 999999 or less"
NOT_WHOLE = "Score for utterance 2 must be a whole number, like 70 (no decimals, commas or letters)"
NOT_PLAIN = "Score for utterance 2 must be typed in plain digits, 0 to 9, like 70"


def make_criterion(scale: Scale) -> Criterion:
    return Criterion.model_construct(
        key="fluency",
        label="Fluency",
        per=scale.asked[0],
        scale=scale,
        definition="How fluent it is.",
    )


def make_field(scale: Scale, name: str, *, is_one_of_several: bool = False) -> Field:
    return scale.make_field(make_criterion(scale), name, is_one_of_several=is_one_of_several)


def refusal(typed, scale: Scale | None = None, name: str = "Utterance 2") -> str:
    """The one message about this answer for an output of this name."""
    with pytest.raises(ValidationError) as caught:
        make_field(scale or Magnitude(kind="magnitude"), name).clean(typed)
    (message,) = caught.value.messages
    return message


def accepted(typed) -> int:
    return make_field(Magnitude(kind="magnitude"), "Utterance 2").clean(typed)


# --- magnitude ------------------------------------------------------------------


@pytest.mark.parametrize("typed", ["", " ", "\u00a0", "\n", None])
def test_number_that_is_missing_is_asked_for(typed):
    assert refusal(typed) == MISSING


@pytest.mark.parametrize("typed", ["0", "00", "-5", "-4", "-0", "-1.5", "\u22124"])
def test_bad_39_zero_and_negative_numbers_are_refused(typed):
    assert refusal(typed) == TOO_SMALL


@pytest.mark.parametrize(
    "typed",
    [
        *("1.5", "70.0", "12.5", "12.0", "1e3", "1_000", "0x10", "1,000"),
        *("NaN", "inf", "½", "²", "1/2", "7 0", "70%", "seventy", "0.5", ".5", "5.", "--5", "-"),
        *("70\x00", "7\n0", "1000000.5"),
    ],
)
def test_bad_39_what_is_no_whole_number_is_refused(typed):
    assert refusal(typed) == NOT_WHOLE


@pytest.mark.parametrize("typed", ["+7", "+5", "007", "1 000", "1\u00a0000", "+1000000", "0070"])
def test_bad_39_a_number_with_something_before_or_in_it_is_refused(typed):
    assert refusal(typed) == (
        "Score for utterance 2 must be in digits only, like 70 (no sign, space or zero in front)"
    )


@pytest.mark.parametrize("typed", ["７０", "１２", "٧٠", "७०", "7０"])
def test_bad_40_digits_of_other_scripts_are_refused_by_name(typed):
    assert refusal(typed) == NOT_PLAIN


@pytest.mark.parametrize("typed", [" 70 ", "70\n", "\u00a070\u00a0", "\t70", "70\r\n", "70"])
def test_bad_41_space_around_a_number_is_trimmed(typed):
    assert accepted(typed) == 70


@pytest.mark.parametrize("typed", ["1000000", "9" * 7, "9" * 5000, "1" + "0" * 4999])
def test_bad_42_more_than_six_digits_are_refused(typed):
    assert refusal(typed) == TOO_LARGE


@pytest.mark.parametrize(("typed", "value"), [("999999", 999_999), ("1", 1), ("100000", 100_000)])
def test_bad_42_smallest_and_largest_number_are_accepted(typed, value):
    assert accepted(typed) == value


@pytest.mark.slow
@given(st.text(max_size=12))
def test_any_text_is_a_number_from_1_to_999999_or_refused(typed):
    try:
        value = accepted(typed)
    except ValidationError:
        return
    assert 1 <= value <= 999_999
    assert str(value) == typed.strip(" \t\r\n\u00a0")


@given(st.integers(min_value=1, max_value=999_999))
def test_every_number_from_1_to_999999_is_accepted(number):
    assert WHOLE_NUMBER.fullmatch(str(number))
    assert accepted(str(number)) == number


def test_box_for_a_number_neither_cuts_nor_counts_by_itself():
    html = MagnitudeField(name="utterance 1").widget.render("informativeness-1", None)

    assert 'type="text"' in html
    assert 'inputmode="numeric"' in html
    assert 'autocomplete="off"' in html
    assert "maxlength" not in html
    assert "value=" not in html


# --- points and choices ---------------------------------------------------------


def test_points_are_listed_from_either_end_and_stored_alike():
    rising = make_likert(5)
    falling = rising.model_copy(update={"shown": "falling", "out_of": True})

    assert [point.value for point in rising.points_shown] == [1, 2, 3, 4, 5]
    assert [(point.number, point.label) for point in falling.points_shown][:2] == [
        ("5/5", "(label 5):"),
        ("4/5", "(label 4):"),
    ]
    assert falling.write_markdown().startswith("- 5/5 (label 5):\n- 4/5 (label 4):")
    assert (falling.describe_values(), falling.name_choices()) == (
        rising.describe_values(),
        rising.name_choices(),
    )
    assert falling.first_control("fluency") == "fluency-5"


def test_order_and_form_of_points_are_parameters():
    falling = make_likert(5).model_copy(update={"shown": "falling", "out_of": True})

    data = falling.to_data()

    assert (data["shown"], data["out_of"]) == ("falling", True)
    assert read_scale(data) == falling
    assert not {"shown", "out_of"} & make_likert(5).to_data().keys()


def make_likert(points: int) -> Likert:
    return Likert(
        kind="likert", points=[Point(value=n, label=f"label {n}") for n in range(1, points + 1)]
    )


@pytest.mark.parametrize(
    ("middle", "style"),
    [
        ("Fair", "row n5"),
        ("Acceptable", "fit"),  # in a fifth of a screen, and not of a phone
        ("Incomprehensible", ""),
        ("Acceptable to most people", ""),
    ],
)
def test_five_points_are_side_by_side_where_their_words_have_room(middle, style):
    labels = ["Bad", "Poor", middle, "Good", "Very good"]
    scale = Likert(
        kind="likert", points=[Point(value=n, label=one) for n, one in enumerate(labels, 1)]
    )

    assert scale.row_classes == style


@pytest.mark.parametrize(
    ("middle", "style"),
    [("", "row n7"), ("Neither good nor bad", "row n7"), ("Okay, but could be much better", "")],
)
def test_seven_points_are_side_by_side_unless_a_label_is_long(middle, style):
    labels = ["Bad", "", "", middle, "", "", "Good"]
    points = [Point(value=value, label=label) for value, label in enumerate(labels, 1)]

    assert Likert(kind="likert", points=points).row_classes == style


@pytest.mark.parametrize(
    ("typed", "points"),
    [("0", 5), ("6", 5), ("8", 7), ("3.0", 5), ("３", 5), (" 3", 5), ("", 5), (None, 5)],
)
def test_bad_43_value_that_is_no_point_is_refused(typed, points):
    assert refusal(typed, make_likert(points)).startswith("Choose a score for fluency")


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        (make_likert(5), "Choose a score for fluency of summary B"),
        (
            Decision(kind="decision", yes="Accept", no="Reject"),
            "Choose accept or reject for summary B",
        ),
    ],
)
def test_bad_44_what_is_missing_of_several_outputs_is_said_of_the_one(scale, message):
    field = make_field(scale, "Summary B", is_one_of_several=True)

    with pytest.raises(ValidationError) as caught:
        field.clean("")
    assert caught.value.messages == [message]


def test_point_is_stored_as_its_number():
    assert make_field(make_likert(7), "Response").clean("7") == 7


@pytest.mark.parametrize("typed", ["2", "accept", "True", "-1"])
def test_decision_takes_its_two_answers_only(typed):
    message = refusal(typed, Decision(kind="decision", yes="Accept", no="Reject"), name="Response")

    assert message.startswith("Choose accept or reject for this response")


def test_gold_of_a_decision_survives_a_comma_in_its_words():
    scale = Decision(kind="decision", yes="Yes, I do", no="No")

    gold = scale.gold_from_data([1, 0, None])

    assert gold == "1, no, "
    assert scale.parse_gold(gold, ["a", "b", "c"]) == [range(1, 2), range(1), None]
    assert scale.gold_to_data(gold) == [1, 0, None]


@pytest.mark.parametrize(("typed", "value"), [("1", 1), ("0", 0)])
def test_decision_is_stored_as_one_or_zero(typed, value):
    field = make_field(Decision(kind="decision", yes="Accept", no="Reject"), "Response")

    assert field.clean(typed) == value


def test_preference_takes_a_side_or_a_tie_only():
    scale = Preference(
        kind="preference",
        points=[
            Step(value=-1, label="sys1"),
            Step(value=0, label="tie"),
            Step(value=1, label="sys2"),
        ],
    )

    assert make_field(scale, "Response").clean("tie") == Verdict(0)
    assert refusal("", scale) == "Choose which response is better on fluency, or a tie"
    assert refusal(" first", scale).startswith(
        "Choose which response is better on fluency, or a tie: "
    )
    assert refusal("left", scale).startswith("Choose which response is better on fluency, or a tie")


def test_nothing_is_preselected():
    field = make_field(make_likert(5), "Response")

    assert "checked" not in field.widget.render("fluency", None)


# --- what files and bundles say ---------------------------------------------------


class Percent(Scale):
    """A scale that declares no more than it must."""

    kind: Literal["percent"]
    family: ClassVar[str] = "points"
    minimum: ClassVar[int] = 0
    maximum: ClassVar[int] = 100

    def make_field(
        self, criterion: Criterion, output_name: str, *, is_one_of_several: bool = False
    ) -> forms.IntegerField:
        return forms.IntegerField(min_value=self.minimum, max_value=self.maximum)


def test_points_without_words_are_told_by_their_number():
    scale = Likert(
        kind="likert",
        points=[Point(value=n, label=one) for n, one in enumerate(("worst", "", "best"), 1)],
    )

    assert scale.describe_values() == "1 = worst, 2, 3 = best"
    assert scale.name_choices() == ("1: worst", "2", "3: best")
    assert [scale.name_answer(value) for value in (2, 3)] == ["2", "3 (best)"]
    assert scale.words() == "a rating scale of 3 points"
    assert "- 2\n" in scale.write_markdown()


POINTS = Likert(
    kind="likert",
    points=[
        Point(value=1, label="bad", notes=["no sentence", "no words"]),
        Point(value=2, label="good", reserved=True),
    ],
    reserved_note="2 is for odd cases.",
)
SHOWN = "- 1: bad\n  - no sentence\n  - no words\n- 2: good (reserved)\n\n2 is for odd cases."
PREFERRED = "- A\n- Tie\n- B\n\nStored as the preferred output, whichever side it was on."


@pytest.mark.parametrize(
    ("scale", "values", "wide", "shown"),
    [
        (POINTS, "1 = bad, 2 = good", ("the rating", True, "1 to 2"), SHOWN),
        (
            Magnitude(kind="magnitude"),
            "1 to 999999",
            ("the rating", True, "1 to 999999"),
            "A whole number from 1 to 999999.",
        ),
        (
            Decision(kind="decision", yes="Accept", no="Reject"),
            "1 = Accept, 0 = Reject",
            ("the rating", True, "0 to 1"),
            "- Accept (1)\n- Reject (0)",
        ),
        (
            Preference(
                kind="preference",
                points=[
                    Step(value=-1, label="A"),
                    Step(value=0, label="Tie"),
                    Step(value=1, label="B"),
                ],
            ),
            "1 = preferred, 0 = tie",
            ("the system preferred", False, "a system's name, or tie"),
            PREFERRED,
        ),
        (
            Percent(kind="percent"),
            "0 to 100",
            ("the rating", True, "0 to 100"),
            "A whole number from 0 to 100.",
        ),
    ],
)
def test_scale_is_described_in_codebooks_and_bundles(scale, values, wide, shown):
    assert scale.describe_values() == values
    assert scale.describe_wide() == wide
    assert scale.write_markdown() == shown


def read_cell(scale: Scale, value: str, **cells: str) -> tuple[float, str]:
    """Read one cell of a file of ratings."""
    row = RatingRow(
        line=2, record=1, participant="w1", item="i1", criterion=make_criterion(scale),
        system="s1", value=value, preferred="", place=None, order_shown="", shown_first="",
        label=cells.get("label", ""), typed=cells.get("typed", ""), outcome="", time="", note="",
        part=Part(columns={}, fixed={}, is_wide=False),
    )  # fmt: skip
    about = AnswerRow(1, 2, row.criterion.key)
    (stored,) = ValueReader().read(row, about)
    assert stored.value is not None
    assert stored == about._replace(value=stored.value, text=stored.text)
    return stored.value, stored.text


@pytest.mark.parametrize(
    ("scale", "cells", "read"),
    [
        (Percent(kind="percent"), {"value": " 50 ", "label": "half"}, (50, "")),
        (POINTS, {"value": "2", "label": "Good"}, (2, "")),
        (
            Decision(kind="decision", yes="Accept", no="Reject"),
            {"value": "ACCEPT", "label": "accept"},
            (1, ""),
        ),
        (Magnitude(kind="magnitude"), {"value": "70", "typed": " 70"}, (70, " 70")),
        (Magnitude(kind="magnitude"), {"value": " 70"}, (70, " 70")),
    ],
)
def test_cell_of_a_file_is_read_by_its_scale(scale, cells, read):
    assert read_cell(scale, **cells) == read


@pytest.mark.parametrize(
    ("scale", "cells", "words"),
    [
        (Percent(kind="percent"), {"value": "101"}, "Use a whole number from 0 to 100."),
        (POINTS, {"value": "3"}, "Use 1 or 2."),
        (POINTS, {"value": "2", "label": "bad"}, "is the label of 1"),
        (Decision(kind="decision", yes="Yes", no="No"), {"value": "?"}, "Use Yes, No, 1 or 0."),
        (
            Decision(kind="decision", yes="Yes", no="No"),
            {"value": "1", "label": "No"},
            "is the label of 0",
        ),
        (Magnitude(kind="magnitude"), {"value": "70", "typed": "71"}, "is not what was typed"),
    ],
)
def test_cell_that_its_scale_does_not_take_is_refused(scale, cells, words):
    with pytest.raises(ValidationError, match=re.escape(words)):
        read_cell(scale, **cells)
