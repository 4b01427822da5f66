"""What may be typed and chosen on the scales, and what is said of everything else."""

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from evalsite.fields import WHOLE_NUMBER
from evalsite.protocol import Criterion, Scale
from evalsite.scales.decision import Decision
from evalsite.scales.likert import Likert, Point
from evalsite.scales.magnitude import Magnitude, MagnitudeField
from evalsite.scales.preference import Preference

MISSING = "Enter a score for utterance 2"
TOO_SMALL = "Score for utterance 2 must be 1 or more"
TOO_LARGE = "Score for utterance 2 must be 999999 or less"
NOT_WHOLE = "Score for utterance 2 must be a whole number, like 70 (no decimals, commas or letters)"
NOT_PLAIN = "Score for utterance 2 must be typed in plain digits, 0 to 9, like 70"


def make_criterion(scale: Scale) -> Criterion:
    return Criterion(key="fluency", label="Fluency", definition="How fluent it is.", scale=scale)


def refusal(typed, scale: Scale | None = None, name: str = "Utterance 2") -> str:
    """The one message about this answer for an output of this name."""
    with pytest.raises(ValidationError) as caught:
        make_criterion(scale or Magnitude()).make_field(name).clean(typed)
    (message,) = caught.value.messages
    return message


def accepted(typed) -> int:
    return make_criterion(Magnitude()).make_field("Utterance 2").clean(typed)


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
        "Score for utterance 2 must be typed in digits alone, like 70 "
        "(no sign, space or zero in front)"
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


def make_likert(points: int) -> Likert:
    return Likert(points=tuple(Point(value=n, label=f"label {n}") for n in range(1, points + 1)))


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
        (Decision(yes="Accept", no="Reject"), "Choose accept or reject for summary B"),
    ],
)
def test_bad_44_what_is_missing_of_several_outputs_is_said_of_the_one(scale, message):
    field = make_criterion(scale).make_field("Summary B", is_one_of_several=True)

    with pytest.raises(ValidationError) as caught:
        field.clean("")
    assert caught.value.messages == [message]


def test_point_is_stored_as_its_number():
    assert make_criterion(make_likert(7)).make_field("Response").clean("7") == 7


@pytest.mark.parametrize("typed", ["2", "accept", "True", "-1"])
def test_decision_takes_its_two_answers_only(typed):
    message = refusal(typed, Decision(yes="Accept", no="Reject"), name="Response")

    assert message.startswith("Choose accept or reject for this response")


@pytest.mark.parametrize(("typed", "value"), [("1", 1), ("0", 0)])
def test_decision_is_stored_as_one_or_zero(typed, value):
    field = make_criterion(Decision(yes="Accept", no="Reject")).make_field("Response")

    assert field.clean(typed) == value


def test_preference_takes_a_side_or_a_tie_only():
    scale = Preference(first="sys1", tie="tie", second="sys2")

    assert make_criterion(scale).make_field("Response").clean("tie") == "tie"
    assert refusal("", scale) == "Choose which response is better on fluency, or tie"
    assert refusal("left", scale).startswith("Choose which response is better on fluency, or tie")


def test_nothing_is_preselected():
    field = make_criterion(make_likert(5)).make_field("Response")

    assert "checked" not in field.widget.render("fluency", None)
