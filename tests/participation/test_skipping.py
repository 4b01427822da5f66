"""Texts that may distress: a warning, items covered until asked for, and skipping at no cost."""

from decimal import Decimal
from io import BytesIO

import pytest
from django.db import transaction
from django.urls import reverse

from evalsite.data.bundle.restore import restore_bundle
from evalsite.decisions.pay import describe_sets, list_payable
from evalsite.handout.claims import claim_set
from evalsite.handout.models import Annotation, Rating, Slot
from evalsite.studies.models import Study
from tests.support.annotators import read_fields
from tests.support.bundles import pack
from tests.support.exports import export, read
from tests.support.factories import make_annotator, make_user
from tests.support.ignoring import Reader, make_reviews, open_reader
from tests.support.invariants import check_invariants
from tests.support.sheet_pages import Sheet, make_sheet

pytestmark = pytest.mark.django_db

WARNING = "Some reviews <b>swear</b>."


def make_warned(**fields) -> Study:
    return make_reviews(**{"content_warning": WARNING, **fields})


def skip(reader: Reader, place: int):
    return reader.client.post(f"{reader.address_of(place)}skip/")


def status_of(reader: Reader, place: int) -> str:
    item = reader.item_at(place)
    return Annotation.objects.get(participant=reader.me, item=item).status


def test_first_page_has_the_warning_and_says_what_skipping_costs(client):
    paid = make_warned(pay_per_set=Decimal("2.10"))
    unpaid = make_warned()

    pages = [client.get(reverse("study-join", args=[one.pk])) for one in (paid, unpaid)]

    assert all("Some reviews &lt;b&gt;swear&lt;/b&gt;." in page.text for page in pages)
    assert ["your pay" in page.text for page in pages] == [True, False]


def test_without_a_warning_nothing_can_be_skipped():
    reader = open_reader()

    assert skip(reader, 1).status_code == 404
    assert "/skip/" not in reader.page.text
    assert not Annotation.objects.exists()


def test_skipped_item_goes_to_someone_else_without_ratings_and_the_set_is_finished():
    study = make_warned(reviews=1)
    reader = open_reader(study)
    reader.rate(1)
    asked = reader.client.get(f"{reader.address_of(2)}skip/")

    response = skip(reader, 2)

    assert reader.item_at(2).inputs["review"] not in asked.text
    assert response.headers["Location"].startswith(reader.address_of(3))
    assert status_of(reader, 2) == "skipped"
    assert not Rating.objects.filter(annotation__item=reader.item_at(2)).exists()
    assert Slot.objects.get(item=reader.item_at(2)).state == Slot.State.FREE
    skip(reader, 2)
    reader.rate(3)
    assert reader.finish().context["code"]
    assert claim_set(reader.me) is None
    assert claim_set(make_annotator(study)).item_ids == [reader.item_at(2).pk]
    check_invariants(study)
    rows = read(export(study, "annotations"))
    assert sorted((row["outcome"], row["status"]) for row in rows) == [
        ("rated", "counted"), ("rated", "counted"), ("skipped", "skipped"),
    ]  # fmt: skip


def test_skipped_item_can_be_rated_after_all_and_a_rated_one_skipped():
    reader = open_reader(make_warned(reviews=1))
    skip(reader, 1)
    reader.rate(1)
    first = status_of(reader, 1)

    skip(reader, 1)

    assert first == "counted"
    assert status_of(reader, 1) == "skipped"
    assert not Slot.objects.done().exists()
    table = reader.client.get(f"{reader.home}sets/1/review/").context["table"]
    assert table.outcomes["skipped"] == 1
    check_invariants(reader.me.study)


def test_draft_that_arrives_after_skipping_changes_nothing():
    reader = open_reader(make_warned(reviews=1)).open(1)
    entered = {**read_fields(reader.page.text), "relevance": "4"}
    draft_url = reader.page.context["draft_url"]
    skip(reader, 1)

    reader.client.post(draft_url, entered)
    for place in (2, 3):
        reader.rate(place)

    assert reader.finish().context["code"]
    assert not Rating.objects.filter(annotation__outcome="skipped").exists()


def test_covered_item_is_shown_only_when_it_is_asked_for():
    reader = open_reader(make_warned(reviews=1))
    text = reader.item_at(1).outputs.get().text

    shown = reader.client.get(f"{reader.address_of(1)}?shown")

    assert text not in reader.page.text
    assert "Some reviews &lt;b&gt;swear&lt;/b&gt;." in reader.page.text
    assert f'action="{reader.address_of(1)}skip/"' in reader.page.text
    assert text in shown.text
    # what is answered needs no cover any more
    reader.show(shown).send(1, **{**read_fields(shown.text), "relevance": "4", "fluency": "6",
                                  "sentiment": "2", "domain": "7", "decision": "1"})  # fmt: skip
    assert text in reader.open(1).page.text


def test_sheet_covers_and_skips_each_item_by_itself():
    sheet = Sheet(make_sheet(content_warning=WARNING))
    response = sheet.client.post(f"{sheet.home}sets/1/items/2/skip/")

    page = sheet.client.get(sheet.address)

    assert response.status_code == 302
    assert page.text.count('<details class="open covered">') == 3
    assert "You skipped this." in page.text


def test_set_of_which_more_than_half_was_skipped_is_paid_and_marked_for_a_look(staff_client):
    study = make_warned(reviews=2, responses=2, set_size=4, pay_per_set=Decimal("2.10"))
    reader = open_reader(study)
    for place in (1, 2, 3):
        skip(reader, place)
    reader.rate(4)
    reader.finish()

    page = staff_client.get(reverse("admin:study-pay", args=[study.pk]))

    [due] = describe_sets(study, list_payable(study))
    assert (due.worth, due.skipped, due.needs_a_look) == (Decimal("2.10"), 3, True)
    assert "3 of 4 outputs skipped" in page.text


@pytest.mark.slow
def test_bundle_carries_the_warning_and_what_was_skipped(checks_here):
    with transaction.atomic():
        reader = open_reader(make_warned(reviews=1))
        skip(reader, 1)
        bundle = pack(reader.me.study)
        transaction.set_rollback(True)

    restored = restore_bundle(file=BytesIO(bundle), owner=make_user(), by="a test").study

    assert restored.content_warning == WARNING
    assert restored.annotations.get().status == "skipped"
    check_invariants(restored)
