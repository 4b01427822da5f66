"""Questions after the work: optional, kept and exported apart from ratings."""

import csv
import io

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.lib.clock import now
from evalsite.people.models import Answer, ItemSet
from evalsite.studies.models import Study
from evalsite.studies.versions import shown_content
from tests.people.test_own_questions import AGE, JOB, TOOLS
from tests.support.factories import launch, make_annotator, make_study, mint_link

pytestmark = pytest.mark.django_db

ASKED = [AGE, TOOLS, JOB]


def make_live(**fields) -> Study:
    return launch(make_study(protocol="fluency", questions={"background": ASKED}, **fields))


def finish(study: Study) -> str:
    """The address of somebody who has finished a set."""
    me = make_annotator(study)
    ItemSet.objects.create(study=study, participant=me, number=1, finished_at=now(), code="ABCD")
    return mint_link(me)


def answer(home: str, **entries):
    return Client().post(f"{home}about-you/", entries)


def test_last_page_offers_the_questions_only_where_there_are_any():
    with_questions = Client().get(f"{finish(make_live())}finish/")
    without = Client().get(f"{finish(launch(make_study()))}finish/")

    assert "about-you/" in with_questions.text
    assert "ABCD" in with_questions.text
    assert "about-you/" not in without.text


def test_nobody_is_asked_before_a_set_is_finished():
    home = mint_link(make_annotator(make_live()))

    assert Client().get(f"{home}about-you/").status_code == 302
    assert answer(home, age="30").status_code == 302
    assert not Answer.objects.exists()


def test_each_may_be_left_empty_changed_and_emptied_again():
    home = finish(make_live())

    answer(home, age="30", tools=["Chat", "prefer not to say"])
    assert dict(Answer.objects.values_list("question", "value")) == {
        "after-age": "30", "after-tools": "Chat;prefer not to say",
    }  # fmt: skip
    assert 'value="30"' in Client().get(f"{home}about-you/").text
    answer(home, job="Gärtner", age="")

    assert dict(Answer.objects.values_list("question", "value")) == {"after-job": "Gärtner"}


def test_answer_that_cannot_be_stored_is_refused_and_the_others_stay():
    page = answer(finish(make_live()), age="thirty", job="x" * 5000)

    assert page.status_code == 422
    assert {key for key, _ in page.context["error_list"]} == {"age", "job"}
    assert not Answer.objects.exists()


def test_version_freezes_them_and_other_contents_have_none():
    assert shown_content(make_live())["background"] == ASKED
    assert "background" not in shown_content(launch(make_study()))


def test_answers_are_exported_with_when_they_were_asked(staff_client, researcher):
    study = make_live(by=researcher)
    answer(finish(study), age="30")

    text = staff_client.post(reverse("admin:export-answers", args=[study.pk])).text

    [row] = csv.DictReader(io.StringIO(text))
    assert (row["asked"], row["question"], row["answer"]) == ("after", "age", "30")


# --- edited -----------------------------------------------------------------------------

NEW = {"label": "How old are you?", "help": "", "kind": "number", "choices": ""}


def save(client, study: Study, key: str = "question_1", **changes):
    address = reverse("admin:background-question", args=[study.pk, key])
    response = client.post(address, NEW | {"revision": study.revision} | changes)
    study.refresh_from_db()
    return response


def test_question_is_added_changed_and_removed_without_code(staff_client, researcher):
    study = make_study(protocol="fluency", by=researcher)

    first = study.revision
    for _ in range(2):
        assert save(staff_client, study, revision=first).status_code == 302
    save(staff_client, study, label="Your age?")

    assert study.questions == {
        "background": [{"key": "question_1", "label": "Your age?", "kind": "number"}]
    }
    assert save(staff_client, study, kind="choice", choices="one").status_code == 422
    save(staff_client, study, do="remove")
    assert study.questions == {}


def test_questions_are_fixed_at_launch(staff_client, researcher):
    study = make_live(by=researcher)

    save(staff_client, study, "age", label="Other")
    save(staff_client, study, "age", do="remove")

    assert study.questions == {"background": ASKED}
