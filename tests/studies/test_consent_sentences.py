"""What the standard consent text says follows from the study's settings, and is frozen with it."""

import pytest

from evalsite.accounts.models import Profile
from evalsite.annotation.running.checklist import check_launch
from evalsite.studies.models import Study
from evalsite.studies.services import create_study
from evalsite.studies.versions import shown_content
from tests.support.factories import launch, make_study, make_user

pytestmark = pytest.mark.django_db

MARKS = "[SETTINGS: what we keep] [SETTINGS: Who sees your ID] [SETTINGS: changing your mind]"


def consent_of(study: Study) -> str:
    return shown_content(study)["texts"]["consent"]


def make(**fields) -> Study:
    return make_study(**{"consent": MARKS, "is_eligibility_on": False, **fields})


def test_each_sentence_comes_and_goes_with_its_setting():
    bare = consent_of(make())
    full = consent_of(
        make(
            protocol="fluency", is_eligibility_on=True, is_check_on=True, checks_per_person=2,
            recognise_days=30, pay_per_set="2.10",
            questions={"background": [{"key": "job", "label": "Your job?", "kind": "text"}]},
        )
    )  # fmt: skip

    for words in ("comments", "checks of", "about you", "30 days", "paid", "decision on pay"):
        assert words not in bare, words
        assert words in full, words
    for words in ("width of a phone", "90 days after the study closes", "deleted"):
        assert words in bare
        assert words in full


def test_standard_text_has_no_mark_left_and_names_how_long_people_are_recognised():
    study = create_study(protocol="magnitude", title="A study", by=make_user())

    text = consent_of(study)

    assert "[SETTINGS" not in text
    assert "For 365 days" in text


def test_contact_organisation_and_pay_are_said_from_the_settings():
    jane = make_user("mori", first_name="Jane Mori")
    Profile.objects.create(user=jane, contact_email="lab@example.org")
    marks = "[SETTINGS: pay] [SETTINGS: whom to ask] [SETTINGS: who is responsible]"
    paid = consent_of(
        make(
            consent=marks, pay_per_set="2.10", organisation="Language Lab",
            contact_email="lab@example.org", by=jane,
        )
    )  # fmt: skip
    unpaid = consent_of(make(consent=marks, organisation="", contact_email=""))

    assert "Write to Jane Mori, lab@example.org." in paid
    assert "Language Lab is responsible for your data." in paid
    assert "what you’re paid for a set" in paid
    assert "You aren’t paid for taking part." in unpaid
    assert "The team that runs this study is responsible" in unpaid


def test_text_that_people_agreed_to_does_not_follow_the_settings_of_the_site(settings):
    study = launch(make())
    before = consent_of(study)

    settings.IDENTITY_DAYS = 7

    assert consent_of(study) == before
    assert "7 days after" in consent_of(make())


def test_mark_that_names_nothing_keeps_a_study_from_being_launched():
    study = make(consent="[SETTINGS: weather]")

    problems = [check.problem for check in check_launch(study) if check.problem]

    assert any("[SETTINGS: weather]" in problem for problem in problems)
