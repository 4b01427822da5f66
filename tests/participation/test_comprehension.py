"""Questions on the instructions: the qualification where no practice item has a gold."""

import pytest

from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.people.models import Answer, Participant
from tests.support.qualifying import Candidate, make_live, without_gold

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("promises")]


def answer_questions(one: Candidate, *, right: int, attempt: int = 1):
    """So many questions on the instructions are answered rightly, the others wrongly."""
    data = {"attempt": str(attempt)}
    for number, question in enumerate(one.me.study.config.comprehension, start=1):
        place = question.choices.index(question.right)
        wrong = (place + 1) % len(question.choices)
        data[f"question-{number}"] = str(1 + (place if number <= right else wrong))
    answer = one.client.post(f"{one.home}qualification/questions/", data)
    one.me.refresh_from_db()
    return answer


def read_questions(one: Candidate):
    """The questions as the page shows them now, and the page itself."""
    page = one.get("qualification/questions/")
    return page.context["questions"], page.content.decode()


def test_without_any_gold_questions_on_the_instructions_follow_them():
    one = Candidate(without_gold(make_live()))

    intro = one.get("qualification/")
    questions, html = read_questions(one)

    assert one.where() == "qualification/questions/"
    assert intro.status_code == 302
    assert html.count("<fieldset") == len(questions) == 5
    assert " checked" not in html
    assert not any(question["was_right"] for question in questions)


def test_right_answers_stay_and_wrong_ones_are_cleared_for_the_second_try():
    one = Candidate(without_gold(make_live()))
    comprehension = one.me.study.config.comprehension

    answer_questions(one, right=3)
    questions, html = read_questions(one)

    assert [question["was_right"] for question in questions] == [True] * 3 + [False] * 2
    assert [bool(question["value"]) for question in questions] == [True] * 3 + [False] * 2
    assert html.count(" checked") == 3
    assert 'id="result" tabindex="-1" autofocus' in html
    for question, asked in zip(questions[3:], comprehension[3:], strict=True):
        # its full stop would be followed by that of the sentence around it
        assert question["given_wrong"] in {choice.removesuffix(".") for choice in asked.choices}
        assert question["given_wrong"] != asked.right.removesuffix(".")


def test_second_try_is_passed_by_answering_only_what_was_wrong():
    one = Candidate(without_gold(make_live()))
    answer_questions(one, right=3)
    questions, _ = read_questions(one)
    fields = {question["name"]: question["value"] for question in questions}

    for number in (4, 5):
        question = one.me.study.config.comprehension[number - 1]
        fields[f"question-{number}"] = str(1 + question.choices.index(question.right))
    one.client.post(f"{one.home}qualification/questions/", fields | {"attempt": "2"})

    one.me.refresh_from_db()
    assert (one.me.tries, one.me.is_qualified) == (2, True)


def test_who_has_everything_right_goes_on_to_work():
    one = Candidate(without_gold(make_live()))

    answer_questions(one, right=5)

    assert one.me.is_qualified
    assert one.where() == "sets/1/items/1/"


def test_who_passes_with_an_error_reads_about_it_first():
    one = Candidate(without_gold(make_live()))

    answer_questions(one, right=4)

    assert one.me.is_qualified
    assert one.where() == "qualification/suggestions/"
    wrong = one.get("qualification/suggestions/").context["questions"]
    assert [result.question for result in wrong] == [one.me.study.config.comprehension[4]]


@pytest.mark.parametrize("right", [0, 4])
def test_right_choice_is_never_pointed_out(right):
    one = Candidate(without_gold(make_live()))

    answer_questions(one, right=right)
    page = one.get(one.where()).content.decode()

    assert "The right answer" not in page
    for question in one.me.study.config.comprehension[right:]:
        assert f">{question.right}</span>" in page or question.right not in page


def test_questions_have_two_tries_both_are_kept_and_one_send_is_one_try():
    one = Candidate(without_gold(make_live()))

    answer_questions(one, right=0)
    answer_questions(one, right=0)  # the same page again, from a tab that was left open
    assert (one.me.tries, one.me.is_qualified) == (1, None)
    assert one.get("qualification/questions/").context["score"].met == 0
    answer_questions(one, right=3, attempt=2)

    assert (one.me.tries, one.me.is_qualified) == (2, False)
    assert one.where() == "not-qualified/"
    assert Answer.objects.filter(question__startswith="qualification-1-").count() == 5
    assert Answer.objects.filter(question__startswith="qualification-2-").count() == 5


def test_question_without_an_answer_is_named_and_costs_no_try():
    one = Candidate(without_gold(make_live()))

    refused = one.client.post(
        f"{one.home}qualification/questions/", {"attempt": "1", "question-1": "1"}
    )

    html = refused.content.decode()
    assert refused.status_code == 422
    assert "Choose an answer to question 2" in html
    assert "Choose an answer to question 1<" not in html
    assert "<title>Error: " in html
    assert 'value="1" checked' in html
    one.me.refresh_from_db()
    assert one.me.tries == 0


@pytest.mark.one_case
@pytest.mark.parametrize("value", ["0", "9", "x", "-1", "1 ", "１"])
def test_answer_that_was_not_offered_is_refused(value):
    one = Candidate(without_gold(make_live()))

    refused = one.client.post(
        f"{one.home}qualification/questions/", {"attempt": "1", "question-1": value}
    )

    assert refused.status_code == 422
    assert "Choose one of the answers to question 1" in refused.content.decode()


@pytest.mark.torture
@pytest.mark.slow
def test_simulated_people_answer_questions_on_the_instructions():
    study = without_gold(make_live(items=6, is_demo=True))

    list(simulate_crowd(study, participants=4, seed="q"))

    assert Answer.objects.filter(question__startswith="qualification-").exists()
    assert Participant.objects.filter(is_qualified=True).exists()
