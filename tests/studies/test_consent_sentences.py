"""What the standard consent text says follows from the study's settings, and is frozen with it."""

from datetime import date

import pytest

from evalsite.core.accounts.models import Profile
from evalsite.fieldwork.checklist import check_launch
from evalsite.studies.consent_sentences import find_placeholders
from evalsite.studies.models import Study
from evalsite.studies.services import create_study
from evalsite.studies.versions import shown_content
from tests.support.factories import launch, make_study, make_user

pytestmark = pytest.mark.django_db


def consent_of(study: Study) -> str:
    return shown_content(study)["texts"]["consent"]


def make(**fields) -> Study:
    return make_study(**{"consent": "", "is_eligibility_on": False, **fields})


def test_each_sentence_comes_and_goes_with_its_setting():
    bare = consent_of(make(recognise_days=0))
    full = consent_of(
        make(
            protocol="fluency", is_eligibility_on=True, is_check_on=True, checks_per_person=2,
            recognise_days=30, pay_per_set="2.10",
            questions={"background": [{"key": "job", "label": "Your job?", "kind": "text"}]},
        )
    )  # fmt: skip

    for words in ("comments", "checks of", "about you", "30 days", "be paid", "decision on pay"):
        assert words not in bare, words
        assert words in full, words
    for words in ("width of a phone", "90 days after the study closes", "deleted"):
        assert words in bare
        assert words in full


def test_standard_text_names_how_long_people_are_recognised_and_lacks_one_thing():
    study = create_study(protocol="magnitude", title="A study", by=make_user())

    text = consent_of(study)

    assert "[" not in text
    assert "For 365 days" in text
    assert "We keep your answers for …." in text


def test_contact_organisation_and_pay_are_said_from_the_settings():
    jane = make_user("mori", first_name="Jane Mori")
    Profile.objects.create(user=jane, contact_email="lab@example.org")
    paid = consent_of(
        make(
            pay_per_set="2.10", organisation="Language Lab",
            contact_email="lab@example.org", by=jane,
        )
    )  # fmt: skip
    unpaid = consent_of(make(organisation="", contact_email=""))

    assert "Write to Jane Mori, lab@example.org." in paid
    assert "Language Lab is responsible for your data." in paid
    assert "what you’re paid for a set" in paid
    assert "You aren’t paid for taking part." in unpaid
    assert "The team that runs this study is responsible" in unpaid


def test_own_words_come_first_and_the_sentences_of_the_settings_follow_them():
    text = consent_of(make(consent="We study trains.\n"))

    assert text.startswith("We study trains.\n\n## What this is for")


def test_ethics_term_withdrawal_responsible_and_complaints_are_said_where_they_are_set():
    bare = consent_of(make(contact_email="lab@example.org"))
    full = consent_of(
        make(
            answers_kept_for="5 years", ethics_approval="Example University, 2026-031.",
            withdrawable_until=date(2027, 3, 1), responsible="Example University",
            complaints="privacy@example.org", identity_days=30,
        )
    )  # fmt: skip

    assert "thics" not in bare
    assert "Until the study closes, you can" in bare
    assert "Language Lab is responsible" in bare
    assert "write to lab@example.org, or" in bare
    assert "We keep your answers for 5 years." in full
    assert "Ethics approval: Example University, 2026-031." in full
    assert "031.." not in full
    assert "Until 1 March 2027, you can" in full
    assert "Example University is responsible" in full
    assert "write to privacy@example.org, or" in full
    assert "30 days after" in full


def test_notice_says_the_same_in_a_paragraph_without_what_only_the_page_needs():
    study = make(protocol="fluency", has_notice=True, answers_kept_for="")
    text = consent_of(study)

    assert "\n" not in text
    assert text.startswith("We keep your name, your answers, your comments, how long each item")
    assert "The team of this study sees them." in text
    assert "We delete your name 90 days after the study closes." in text
    assert "Until the study closes, you can have your answers deleted" in text
    for words in ("keep your answers for", "ID", "thics", "…"):
        assert words not in text, words
    assert "We keep your answers for 2 years." in consent_of(
        make(has_notice=True, answers_kept_for="2 years")
    )


def test_text_that_people_agreed_to_does_not_follow_the_settings():
    study = launch(make())
    before = consent_of(study)

    Study.objects.update(identity_days=7, answers_kept_for="1 day", organisation="Other")

    assert consent_of(Study.objects.get()) == before


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("We are [name of the lab].", ["[name of the lab]"]),
        ("[REPLACE: the purpose", ["[REPLACE: the purpose"]),
        ("See [our page](https://lab.example.org).", []),
        ("", []),
    ],
)
def test_words_in_square_brackets_keep_a_study_from_being_launched(text, marks):
    problems = [check.problem for check in check_launch(make(consent=text)) if check.problem]

    assert find_placeholders(text) == marks
    assert [mark for mark in marks if not any(mark in problem for problem in problems)] == []
    assert any("consent text has" in problem for problem in problems) is bool(marks)


def test_page_needs_how_long_answers_are_kept_and_a_notice_does_not():
    labels = {
        has_notice: [
            check.field
            for check in check_launch(make(has_notice=has_notice, answers_kept_for=""))
            if check.problem
        ]
        for has_notice in (True, False)
    }

    assert "answers_kept_for" in labels[False]
    assert "answers_kept_for" not in labels[True]
