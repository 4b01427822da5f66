"""Making a study and changing its settings, before and after launch."""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from evalsite.core.accounts.models import Profile
from evalsite.core.audit.models import AuditEntry
from evalsite.lib.clock import now
from evalsite.results.progress import activity_of
from evalsite.studies.models import Item, Membership, Study
from evalsite.studies.setting_changes import ChangedMeanwhile
from evalsite.studies.settings import SETTINGS
from evalsite.studies.summary_lines import estimate_work
from evalsite.studies.versions import shown_content
from tests.support.factories import launch, make_study, make_user


def address(study: Study, page_key: str = "work") -> str:
    return reverse(f"admin:setup-{page_key}", args=[study.pk])


def page_of(changes: dict[str, object]) -> str:
    """The page of Set up that asks for these settings."""
    return next((SETTINGS[name].page for name in changes if name in SETTINGS), "read")


def entries(client, study: Study, page_key: str, **changes) -> dict[str, object]:
    """What a browser would send from this page, with these changes."""
    page = client.get(address(study, page_key))
    values = {}
    for field in page.context["form"]:
        value = field.field.prepare_value(field.value())
        if field.widget_type == "radioselect":
            value = str(value)
        if field.field.disabled or value in (None, "") or value is False:
            continue
        if hasattr(value, "strftime"):
            value = value.strftime("%Y-%m-%dT%H:%M")
        values[field.html_name] = "on" if value is True else value
    return {name: value for name, value in (values | changes).items() if value is not None}


def save(client, study: Study, **changes):
    """The answer to a post of the page that these settings are on."""
    page_key = page_of(changes)
    sent = entries(client, study, page_key, **changes)
    response = client.post(address(study, page_key), sent)
    study.refresh_from_db()
    return response


def save_option(client, study: Study, **changes):
    """The answer to a post of these options of the protocol, below the items."""
    page = client.get(reverse("admin:batch-list", args=[study.pk]))
    fields = {field.html_name: field.value() for field in page.context["options"]}
    sent = fields | {f"option-{name}": value for name, value in changes.items()}
    response = client.post(reverse("admin:options-change", args=[study.pk]), sent)
    study.refresh_from_db()
    return response


# --- a new study --------------------------------------------------------------------------


def test_new_study_is_a_draft_of_its_protocol_owned_by_its_maker(staff_client, researcher):
    response = staff_client.post(
        reverse("admin:new-from"), {"title": "Hotel replies", "instrument": "protocol:magnitude"}
    )

    study = Study.objects.get()
    assert response.url == reverse("admin:batch-list", args=[study.pk])
    assert (study.title, study.protocol, study.state) == ("Hotel replies", "magnitude", "draft")
    assert study.memberships.get().user == researcher
    assert study.memberships.get().role == Membership.Role.OWNER
    assert (study.consent, study.answers_kept_for, study.has_notice) == ("", "", False)


def test_participants_write_to_whoever_made_the_study_and_the_launch_page_says_so(
    staff_client, researcher
):
    User.objects.filter(pk=researcher.pk).update(email="jane@example.org")
    staff_client.post(
        reverse("admin:new-from"), {"title": "New", "instrument": "protocol:pairwise"}
    )
    study = Study.objects.get()

    page = staff_client.get(reverse("admin:study-launch", args=[study.pk])).text

    assert study.contact_email == "jane@example.org"
    assert "Questions go to jane@example.org." in page


@pytest.mark.parametrize(
    ("posted", "message"),
    [
        ({"title": "", "instrument": "protocol:magnitude"}, "Enter a title."),
        ({"title": "A"}, "Choose an instrument."),
        ({"title": "A", "instrument": "protocol:no_such"}, "Choose one of these instruments."),
        ({"title": "A" * 121, "instrument": "protocol:magnitude"}, "120"),
    ],
)
def test_incomplete_new_study_is_refused_and_kept_on_the_page(staff_client, posted, message):
    response = staff_client.post(reverse("admin:new-from"), posted)

    assert response.status_code == 422
    assert message in response.text
    assert not Study.objects.exists()


def test_page_of_a_protocol_names_the_columns_that_it_needs(staff_client):
    page = staff_client.get(reverse("admin:new-from"), {"instrument": "protocol:magnitude"})

    assert "item, system, output, mr" in page.text


# --- before launch ------------------------------------------------------------------------


def test_settings_are_saved(staff_client):
    study = make_study()

    save(staff_client, study, title="Other")
    response = save(staff_client, study, k="5", max_sets="2", pay_per_set="1.75")

    said = staff_client.get(response.url).text
    assert "Saved: answers per item, pay for a set and sets per person." in said
    assert (study.title, study.k, study.max_sets) == ("Other", 5, 2)
    assert str(study.pay_per_set) == "1.75"
    assert study.revision == 2
    assert study.version is None


def test_options_of_the_protocol_are_saved_with_the_settings(staff_client):
    study = make_study()

    save_option(staff_client, study, standard_score="250")

    assert study.options["standard_score"] == 250


def test_layout_is_chosen_among_those_of_the_protocol_before_the_launch(staff_client):
    study = make_study(items=0, protocol="dialogue")
    assert study.options == {"screen": "one"}

    save_option(staff_client, study, screen="sheet")
    assert study.options == {"screen": "sheet"}
    assert save_option(staff_client, study, screen="book").status_code == 422

    launch(study)
    assert shown_content(study)["options"] == {"screen": "sheet"}
    save_option(staff_client, study, screen="one")
    assert study.options == {"screen": "sheet"}


def test_protocol_with_one_layout_asks_for_none(staff_client):
    study = make_study(protocol="fluency", items=0)

    page = staff_client.get(reverse("admin:batch-list", args=[study.pk]))

    assert "option-screen" not in page.text


def test_sheet_can_not_be_longer_than_a_page_should_be(staff_client):
    study = make_study(items=0, protocol="dialogue")
    save_option(staff_client, study, screen="sheet")

    response = save(staff_client, study, set_size="31")

    assert response.status_code == 422
    assert "at most 30 items" in response.text
    assert study.set_size == 11
    save_option(staff_client, study, screen="one")
    assert save(staff_client, study, set_size="31").status_code == 302


def test_broken_option_is_refused_beside_its_field(staff_client):
    study = make_study()

    response = save_option(staff_client, study, standard_score="0")

    assert response.status_code == 422
    assert "must be 1 or more" in response.text
    assert study.options["standard_score"] == 100


def test_second_of_two_people_who_change_options_overwrites_nothing(staff_client):
    study = make_study()
    page = staff_client.get(reverse("admin:batch-list", args=[study.pk]))
    seen = {field.html_name: field.value() for field in page.context["options"]}
    save_option(staff_client, study, standard_score="250")

    address = reverse("admin:options-change", args=[study.pk])
    refused = staff_client.post(address, seen | {"option-standard_score": "300"})

    study.refresh_from_db()
    [error] = refused.context["options"].non_field_errors().as_data()
    assert (refused.status_code, type(error)) == (422, ChangedMeanwhile)
    assert study.options["standard_score"] == 250


def test_saving_without_a_change_changes_nothing(staff_client):
    study = make_study(consent="One line.\n\nAnother line.")
    changed = {"consent": "One line.\r\n\r\nAnother line."}
    sent = entries(staff_client, study, "read", **changed)

    staff_client.post(address(study, "read"), sent)

    study.refresh_from_db()
    assert study.revision == 0
    assert study.consent == "One line.\n\nAnother line."
    assert not AuditEntry.objects.filter(action="settings changed").exists()


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("title", "", "This can&#x27;t be empty."),
        ("k", "0", "Enter 1 or more."),
        ("k", "three", "whole number"),
        ("set_size", "201", "Enter 200 or less."),
        ("currency", "pounds", "capital letters"),
        ("currency", "gbp", "capital letters"),
        ("pay_per_set", "-1", "Enter 0 or more."),
        ("title", "A" * 121, "Enter 120 characters or fewer; these are 121."),
        ("language", "English", "Enter a language code"),
        ("language", "en_GB", "Enter a language code"),
        ("minutes_per_set", "0", "Enter 1 or more."),
        ("k", "-1", "Enter 1 or more."),
        ("lease_minutes", "9", "Enter 10 or more."),
        ("k", "101", "Enter 100 or less."),
        ("checks_per_person", "4", "Select a valid choice."),
        ("repeat_percent", "51", "Select a valid choice."),
        ("pass_mark", "101", "Enter 100 or less."),
        ("contact_email", "jane", "valid email"),
        ("closes_at", "2020-01-01T10:00", "in the future"),
        ("groups", "sideways", "sideways"),
    ],
)
def test_bad_setting_is_refused_and_what_was_typed_is_kept(staff_client, field, value, message):
    study = make_study()

    before = getattr(study, field)
    beside = {"read": "organisation", "work": "max_sets"}
    kept = beside.get(SETTINGS[field].page, "")
    sent = {field: value} | ({kept: "777"} if kept else {})
    response = save(staff_client, study, **sent)

    assert response.status_code == 422
    assert message in response.text
    assert not kept or 'value="777"' in response.text
    assert getattr(study, field) == before
    assert study.revision == 0


def test_bad_69_second_of_two_researchers_hears_who_changed_what_meanwhile(
    staff_client, researcher
):
    study = make_study()
    opened = entries(staff_client, study, "read", title="The second title")
    save(staff_client, study, title="The first title")

    response = staff_client.post(address(study, "read"), opened)

    study.refresh_from_db()
    assert response.status_code == 409
    assert "Changed by jane at" in response.text
    assert "<dt>Title</dt><dd>The first title</dd>" in response.text
    assert 'value="The second title"' in response.text
    assert study.title == "The first title"
    # having read it, they may still decide
    seen = response.context["form"]["seen"].value()
    again = staff_client.post(address(study, "read"), opened | {"seen": seen})
    study.refresh_from_db()
    assert (again.status_code, study.title) == (302, "The second title")


def test_two_researchers_in_different_sections_both_save(staff_client):
    study = make_study()
    opened = entries(staff_client, study, "read", title="Mine")
    save(staff_client, study, k="7")

    response = staff_client.post(address(study, "read"), opened)

    study.refresh_from_db()
    assert (response.status_code, study.title, study.k) == (302, "Mine", 7)


def test_preview_shows_what_is_typed_and_saves_nothing(staff_client):
    study = make_study(consent="As saved.")
    sent = entries(staff_client, study, "read", consent="As typed.", do="preview")

    page = staff_client.post(address(study, "read"), sent)

    landing, consent, _ = page.context["previews"]
    assert page.status_code == 200
    assert "I agree to take part" in consent.html
    assert "As typed." in consent.html
    assert "You score short descriptions." in landing.html
    study.refresh_from_db()
    assert (study.consent, study.revision) == ("As saved.", 0)
    alone = staff_client.get(reverse("admin:setup-preview", args=[study.pk, "consent"]))
    assert "As saved." in alone.text


@pytest.mark.parametrize("protocol", ["rrgen", "dialogue", "fluency", "pairwise"])
def test_instructions_and_an_item_are_previewed_for_each_protocol(staff_client, protocol):
    study = make_study(protocol=protocol, items=0)

    previews = staff_client.get(address(study, "read")).context["previews"]

    assert previews[-1].key == "instructions"
    assert "Start practice" in previews[-1].html
    missing = reverse("admin:setup-preview", args=[study.pk, "item"])
    assert staff_client.get(missing).status_code == 404


def test_closing_date_is_entered_and_shown_in_the_accounts_time_zone(staff_client, researcher):
    Profile.objects.create(user=researcher, time_zone="Europe/Berlin")
    study = make_study()

    save(staff_client, study, closes_at="2099-07-01T18:00")

    page = staff_client.get(address(study))
    assert study.closes_at == datetime(2099, 7, 1, 16, tzinfo=UTC)
    assert "closes on 1 July 2099, 18:00 Europe/Berlin time" in page.text
    assert 'value="2099-07-01T18:00"' in page.text


def test_settings_offer_the_protocols_instructions_to_start_from(staff_client):
    study = make_study(protocol="dialogue", items=0, set_size=12, instructions="Be kind.")

    page = staff_client.get(address(study, "read")).text

    assert 'id="own-instructions" rows="8" readonly' in page
    assert "A set has 12 questions" in page


def test_settings_page_shows_the_sum_of_the_design(staff_client):
    study = make_study(items=100, pay_per_set="1.75", minutes_per_set=10)

    page = staff_client.get(address(study))

    assert "300 answers from 30 people, for £52.50" in page.text
    assert (
        "100 items × 3 = <strong>300 answers</strong> · 30 sets of 10 · 10 minutes each, 5 hours "
        "in all · £1.75 each is £10.50 an hour, before fees" in page.text
    )


def test_sum_of_a_study_without_pay_ends_with_its_hours(db):
    study = make_study(items=0, set_size=3)

    total = estimate_work(study, items=1)

    assert (total.answers, total.sets, total.cost) == (3, 3, None)
    assert round(total.hours, 1) == 0.1


def test_sum_has_a_set_for_each_of_the_k_people_however_large_a_set_is(db):
    study = make_study(items=0, k=3, set_size=200)

    set_of_all = make_study(items=0, k=3, set_size=100)

    assert estimate_work(study, items=100) == estimate_work(set_of_all, items=100)
    assert estimate_work(study, items=100).sets == 3


def test_sets_are_no_larger_than_the_groups_that_a_person_may_meet(staff_client):
    study = make_study(items=24, k=3, set_size=11, groups="once")
    for number, item in enumerate(study.items.main()):
        Item.objects.filter(pk=item.pk).update(group=f"input-{number // 3}")

    page = staff_client.get(address(study))

    assert (page.context["total"].answers, page.context["total"].sets) == (72, 9)
    words = "Nobody meets an input twice, and there are 8 inputs: a set has at most 8 items."
    assert words in page.text
    activity = activity_of(launch(study))
    assert activity.needed_sets == 9


def test_group_of_many_items_needs_a_set_for_each_of_their_answers(staff_client):
    study = make_study(items=30, k=3, set_size=11, groups="once")
    twenty = study.items.main().order_by("pk")[:20]
    Item.objects.filter(pk__in=[item.pk for item in twenty]).update(group="large")

    total = staff_client.get(address(study)).context["total"]

    # nobody meets two of its 20 items: 20 x 3 sets
    assert (total.answers, total.sets) == (90, 60)


def test_sum_of_a_study_without_items_says_to_upload_them(staff_client):
    page = staff_client.get(address(make_study(items=0))).text

    assert '<span id="live-headline">No items yet</span>' in page
    assert "Upload items first." in page


# --- after launch -------------------------------------------------------------------------


def test_bad_68_design_cannot_be_changed_after_launch(staff_client):
    study = launch(make_study())

    save(staff_client, study, k="9", groups="together")
    save_option(staff_client, study, standard_score="7")

    assert (study.k, study.groups, study.options["standard_score"]) == (3, "free", 100)
    assert "fixed since launch" in staff_client.get(address(study)).text


def test_bad_68_changed_text_after_launch_needs_the_tick_for_a_new_version(staff_client):
    study = launch(make_study())

    response = save(staff_client, study, summary="Changed.")

    assert response.status_code == 422
    assert "tick “Make version 2 of the texts” above Save" in response.text
    assert study.summary != "Changed."


def test_ticked_change_of_a_text_makes_the_next_version(staff_client):
    study = launch(make_study())

    save(staff_client, study, consent="We keep less.", is_new_version="on")

    assert study.version.number == 2
    assert shown_content(study)["texts"]["consent"].startswith("We keep less.")
    assert "We keep less." not in study.versions.get(number=1).content["texts"]["consent"]


def test_new_version_with_a_placeholder_is_refused(staff_client):
    study = launch(make_study())

    response = save(staff_client, study, consent="[REPLACE: all]", is_new_version="on")

    assert response.status_code == 422
    assert study.version.number == 1


def test_contact_and_closing_date_change_freely_after_launch(staff_client):
    study = launch(make_study())
    later = (now() + timedelta(days=3)).strftime("%Y-%m-%dT%H:%M")

    responses = [
        save(staff_client, study, contact_email="new@example.org"),
        save(staff_client, study, closes_at=later),
    ]

    assert [response.status_code for response in responses] == [302, 302]
    assert study.closes_at is not None
    assert shown_content(study)["texts"]["contact_email"] == "new@example.org"


def test_closing_date_alone_makes_no_new_version(staff_client):
    study = launch(make_study())

    save(staff_client, study, closes_at=(now() + timedelta(days=3)).strftime("%Y-%m-%dT%H:%M"))

    assert study.version.number == 1


def test_settings_name_what_changed_in_the_log_but_not_the_texts(staff_client):
    study = make_study()

    save(staff_client, study, consent="Secret words.", summary="Other.")

    entry = AuditEntry.objects.get(action="settings changed")
    assert sorted(entry.detail["fields"]) == ["consent", "summary"]
    assert "Secret" not in str(entry.detail)


def test_editor_of_another_study_cannot_save(staff_client):
    study = make_study(by=make_user("stranger"))

    response = staff_client.post(address(study), {"title": "Mine now"})

    assert response.status_code == 404
    assert Item.objects.filter(study__title="Mine now").count() == 0
