"""What people read: its headline, its folds, and what it takes from and gives to the account."""

import re

import pytest
from django.urls import reverse

from evalsite.core.accounts.models import Profile, find_profile
from evalsite.studies.models import Output, Study, System
from tests.studies.test_staff_settings import address, entries
from tests.support.factories import launch, make_study, make_user
from tests.support.instruments import make_built_study, read_instrument

pytestmark = pytest.mark.django_db


def open_page(client, study: Study):
    return client.get(address(study, "read"))


def headline_of(page) -> str:
    return re.sub("<[^>]+>", "", re.search("<h1>(.*?)</h1>", page.text, re.DOTALL)[1]).strip()


@pytest.mark.parametrize(
    ("fields", "headline"),
    [
        ({"answers_kept_for": ""}, "One thing is missing: how long you keep the answers"),
        ({"organisation": ""}, "One thing is missing: who runs the study"),
        (
            {"answers_kept_for": "", "contact_email": ""},
            "2 things are missing: how long you keep the answers, an e-mail for questions",
        ),
        ({"consent": "We are [name]."}, "One thing is missing: your own words in place of square"),
    ],
)
def test_headline_says_what_is_missing(staff_client, fields, headline):
    page = open_page(staff_client, make_study(**fields))

    assert headline_of(page).startswith(headline)


def test_headline_counts_the_words_before_the_first_item(staff_client):
    study = make_study(title="One two", summary="three four five", has_notice=True, consent="six")
    fewer = open_page(staff_client, study)
    Study.objects.update(content_warning="seven eight", instructions="nine")
    only = open_page(staff_client, study)

    notice = "We keep your name"
    assert re.fullmatch(r"People read [\d,]+ words before the first item", headline_of(fewer))
    count = int(re.search(r"[\d,]+", headline_of(only))[0])
    # all but the sentences of the notice are counted by hand
    text = re.search(rf"{notice}.*?closes.*?last page\.", only.context["previews"][0].html)[0]
    assert count == 9 + len(re.findall(r"\w[\w’'-]*", text))


def test_example_that_is_also_an_item_is_said(staff_client):
    study = make_study(protocol="magnitude", items=1)
    (example,) = study.config.instruction_examples
    before = headline_of(open_page(staff_client, study))
    Output.objects.filter(study=study, system__name="neural").update(text=example.texts[0])

    after = headline_of(open_page(staff_client, study))

    assert before.startswith("People read")
    assert after == "An example is also one of your items"


def test_title_that_names_a_system_is_worth_a_look(staff_client):
    study = make_study(title="Is neural better?")
    System.objects.filter(study=study, name="baseline").update(name="Is")
    page = open_page(staff_client, study)
    plain = open_page(staff_client, make_study(title="Neurally"))

    assert page.context["named_systems"] == ["Is", "neural"]
    assert plain.context["named_systems"] == []


def test_folds_state_their_values(staff_client):
    study = make_study(
        protocol="fluency", consent="", has_notice=True, instructions="Be quick.", title="Trains"
    )

    folds = {
        fold["title"]: fold["line"] for fold in open_page(staff_client, study).context["folds"]
    }

    assert folds["Instructions"].startswith("Your own, 2 words. ")
    assert folds["First page"].startswith("Title: Trains. Content warning: none.")
    assert re.fullmatch(
        r"Standard text, version 1\. \d+ sentences follow your settings\.",
        folds["Words of the consent"],
    )


def test_account_fills_the_page_and_the_page_fills_what_the_account_lacks(staff_client, researcher):
    Profile.objects.create(user=researcher, contact_email="lab@example.org")
    study = make_study(organisation="", contact_email="lab@example.org")
    asked = open_page(staff_client, study)
    sent = entries(staff_client, study, "read", organisation="Language Lab", do="save")

    saved = staff_client.post(address(study, "read"), sent)

    assert "Both are from" not in asked.text
    assert saved.status_code == 302
    researcher = type(researcher).objects.get(pk=researcher.pk)
    profile = find_profile(researcher)
    assert (profile.organisation, profile.contact_email) == ("Language Lab", "lab@example.org")
    assert "Both are from" in open_page(staff_client, study).text
    # what the account has stays
    other = entries(staff_client, study, "read", organisation="Other", do="save")
    staff_client.post(address(study, "read"), other)
    assert Profile.objects.get().organisation == "Language Lab"


@pytest.mark.parametrize(
    ("pressed", "name"), [("invite", "study-invite"), ("continue", "setup-work")]
)
def test_buttons_lead_to_the_invitations_or_to_the_work(staff_client, pressed, name):
    study = make_study()
    sent = entries(staff_client, study, "read", has_notice="True", do=pressed)

    response = staff_client.post(address(study, "read"), sent)

    assert response.url == reverse(f"admin:{name}", args=[study.pk])
    study.refresh_from_db()
    assert study.has_notice


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("organisation", ""),
        ("contact_email", "jane"),
        ("title", "x" * 121),
        ("summary", "x" * 301),
        ("minimum_age", "0"),
        ("minimum_age", "121"),
        ("identity_days", "0"),
        ("identity_days", "181"),
        ("recognise_days", "3651"),
        ("withdrawable_until", "2020-01-01"),
        ("language", "German"),
        ("has_notice", "perhaps"),
    ],
)
def test_value_out_of_bounds_is_refused_at_its_field(staff_client, name, value):
    study = make_study()
    sent = entries(staff_client, study, "read", **{name: value, "do": "save"})

    page = staff_client.post(address(study, "read"), sent)

    assert page.status_code == 422
    assert list(page.context["form"].errors) == [name]
    assert f'id_{name}">' in page.text.partition("Not saved")[2].partition("</ul>")[0]


def test_launched_study_keeps_the_page_with_what_is_frozen_and_all_texts_as_one_file(staff_client):
    study = launch(make_study())

    page = open_page(staff_client, study)
    file = staff_client.get(reverse("admin:study-document", args=[study.pk, "ethics", "html"]))

    frozen = {name for name, field in page.context["form"].fields.items() if field.disabled}
    assert {"minimum_age", "recognise_days", "asks_to_share", "is_practice_on"} <= frozen
    assert not {"consent", "answers_kept_for", "has_notice", "identity_days"} & frozen
    assert "Save and continue" not in page.text
    assert "We keep your answers for 10 years." in file.text


def test_aids_are_offered_for_published_protocols_alone(staff_client):
    published = make_study(protocol="dialogue")
    built = make_built_study(read_instrument("adequacy_fluency"), by=make_user())

    fields = [open_page(staff_client, study).context["form"].fields for study in (published, built)]

    assert ["is_aided" in names for names in fields] == [bool(published.config.aids), False]


def test_draft_has_all_its_texts_as_one_file(staff_client):
    bare = make_study(items=0, answers_kept_for="")
    full = make_study(
        items=0, title="Full", answers_kept_for="5 years", ethics_approval="Board 2026-031",
        responsible="Example University", complaints="privacy@example.org", has_notice=True,
    )  # fmt: skip

    files = [
        staff_client.get(reverse("admin:study-document", args=[study.pk, "ethics", "html"])).text
        for study in (bare, full)
    ]

    for words in ("5 years", "Board 2026-031", "Example University", "privacy@example.org"):
        assert [words in text for text in files] == [False, True], words
    assert ["to which Start agrees" in text for text in files] == [False, True]
