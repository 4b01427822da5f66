"""Questions on the instructions: the qualification where no practice item has a gold."""

import pytest

from evalsite.annotation.running.simulation import simulate_crowd
from evalsite.participants.models import Answer, Participant
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


def test_without_any_gold_questions_on_the_instructions_are_asked():
    one = Candidate(without_gold(make_live()))

    intro = one.get("qualification/").content.decode()
    begun = one.client.post(f"{one.home}qualification/")
    page = one.get("qualification/questions/").content.decode()

    assert "There are 5 questions on the instructions." in intro
    assert "You pass if you answer at least 4 of 5 rightly." in intro
    assert begun.headers["Location"].endswith("/qualification/questions/")
    assert page.count("<fieldset") == 5
    assert " checked" not in page


def test_questions_are_passed_with_the_pass_mark_and_then_explained():
    one = Candidate(without_gold(make_live()))

    answer_questions(one, right=4)

    assert one.me.is_qualified
    html = one.get("qualification/suggestions/").content.decode()
    assert html.count("Your answer is right") == 4
    assert "Equal scores are right" in html


def test_questions_have_two_tries_both_are_kept_and_one_send_is_one_try():
    one = Candidate(without_gold(make_live()))

    answer_questions(one, right=0)
    answer_questions(one, right=0)  # the same page again, from a tab that was left open
    assert (one.me.tries, one.me.is_qualified) == (1, None)
    assert "You got 0 of 5." in one.get("qualification/").content.decode()
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


@pytest.mark.parametrize("value", ["0", "9", "x", "-1", "1 ", "１"])
def test_answer_that_was_not_offered_is_refused(value):
    one = Candidate(without_gold(make_live()))

    refused = one.client.post(
        f"{one.home}qualification/questions/", {"attempt": "1", "question-1": value}
    )

    assert refused.status_code == 422
    assert "Choose one of the answers to question 1" in refused.content.decode()


def test_simulated_people_answer_questions_on_the_instructions():
    study = without_gold(make_live(items=6, is_demo=True))

    list(simulate_crowd(study, participants=4, seed="q"))

    assert Answer.objects.filter(question__startswith="qualification-").exists()
    assert Participant.objects.filter(is_qualified=True).exists()
