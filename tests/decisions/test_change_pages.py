"""The pages of an item, of its withdrawal and corrections, and of a system's name."""

import pytest
from django.urls import reverse

from evalsite.fieldwork.item_changes import digest_text
from evalsite.handout.models import Slot
from evalsite.studies.models import Change, Item, Membership, Study, System
from tests.handout.test_changing_k import answer_all
from tests.support.factories import make_user
from tests.support.tabs import make_live, open_tab

pytestmark = pytest.mark.django_db

REASON = "A text is cut off."


@pytest.fixture
def study(researcher) -> Study:
    return make_live(items=3, k=2, by=researcher)


def address(name: str, item: Item, *more: int) -> str:
    return reverse(f"admin:{name}", args=[item.study_id, item.pk, *more])


def test_the_page_of_an_item_shows_its_texts_and_leads_to_what_can_be_done(staff_client, study):
    item = study.items.main().first()

    page = staff_client.get(address("study-item", item)).text

    for output in item.outputs.all():
        assert output.text in page
        assert address("output-correct", item, output.position + 1) in page
    assert address("item-withdraw", item) in page
    overview = staff_client.get(reverse("admin:study-progress", args=[study.pk])).text
    assert address("study-item", item) in overview


def test_the_page_of_a_withdrawal_says_what_would_happen_and_posting_it_does(staff_client, study):
    answer_all(study)
    open_tab(study)
    item = study.items.main().first()
    page = staff_client.get(address("item-withdraw", item))

    assert (page.context["answers"], page.context["people"]) == (1, 1)
    assert not Change.objects.exists()
    answer = staff_client.post(address("item-withdraw", item), {"reason": REASON})

    assert answer.headers["Location"] == address("study-item", item)
    item.refresh_from_db()
    assert item.kind == "withdrawn"
    shown = staff_client.get(address("study-item", item)).text
    assert REASON in shown
    assert address("item-put-back", item) in shown
    assert address("item-withdraw", item) not in shown


def test_a_withdrawal_that_is_posted_twice_is_one(staff_client, study):
    item = study.items.main().first()

    for _ in range(2):
        answer = staff_client.post(address("item-withdraw", item), {"reason": REASON})
        assert answer.status_code == 302

    assert Change.objects.count() == 1


def test_a_reason_that_is_missing_is_asked_for_again(staff_client, study):
    item = study.items.main().first()

    answer = staff_client.post(address("item-withdraw", item), {"reason": ""})

    assert answer.status_code == 422
    assert answer.context["form"].errors.keys() == {"reason"}
    assert not Change.objects.exists()


def test_an_item_is_put_back_on_its_page(staff_client, study):
    item = study.items.main().first()
    staff_client.post(address("item-withdraw", item), {"reason": REASON})

    answer = staff_client.post(address("item-put-back", item), {"reason": "It was right."})

    assert answer.status_code == 302
    item.refresh_from_db()
    assert item.kind == "main"


def test_a_text_is_corrected_on_its_page(staff_client, study):
    item = study.items.main().first()
    page = staff_client.get(address("output-correct", item, 2))
    form = page.context["form"]
    assert not page.context["is_answered"]

    said = {"text": "Corrected.", "reason": REASON, "seen": form.initial["seen"]}
    answer = staff_client.post(address("output-correct", item, 2), said)

    assert answer.headers["Location"] == address("study-item", item)
    assert item.outputs.get(position=1).text == "Corrected."


def test_the_text_of_somebody_else_stays_and_what_was_entered_is_shown_again(staff_client, study):
    item = study.items.main().first()
    said = {"text": "Mine.", "reason": REASON, "seen": digest_text("What it said before.")}

    answer = staff_client.post(address("output-correct", item, 2), said)

    assert answer.status_code == 422
    assert "Mine." in answer.text
    assert not Change.objects.exists()


def test_a_correction_of_an_answered_text_leads_to_the_new_item(staff_client, study):
    answer_all(study)
    item = study.items.main().first()
    seen = digest_text(item.outputs.get(position=1).text)
    assert staff_client.get(address("output-correct", item, 2)).context["is_answered"]

    said = {"text": "Corrected.", "reason": REASON, "seen": seen}
    answer = staff_client.post(address("output-correct", item, 2), said)

    made = study.items.get(key="item-001-2")
    assert answer.headers["Location"] == address("study-item", made)
    assert address("study-item", made) in staff_client.get(address("study-item", item)).text
    assert Slot.objects.filter(item=item).count() == 0


def test_a_system_is_renamed_on_its_page(staff_client, study):
    system = System.objects.get(study=study, name="neural")
    page = reverse("admin:system-rename", args=[study.pk, system.pk])
    assert page in staff_client.get(reverse("admin:study-progress", args=[study.pk])).text

    refused = staff_client.post(page, {"name": "tie"})
    done = staff_client.post(page, {"name": "GPT-4"})

    assert (refused.status_code, done.status_code) == (422, 302)
    system.refresh_from_db()
    assert system.name == "GPT-4"


def test_after_launch_an_editor_withdraws_and_only_an_owner_corrects_and_renames(client, study):
    editor = make_user("edith")
    Membership.objects.create(study=study, user=editor, role=Membership.Role.EDITOR)
    client.force_login(editor, backend="django.contrib.auth.backends.ModelBackend")
    item, system = study.items.main().first(), study.systems.first()

    page = client.get(address("study-item", item)).text
    codes = [
        client.get(address("item-withdraw", item)).status_code,
        client.get(address("output-correct", item, 1)).status_code,
        client.get(reverse("admin:system-rename", args=[study.pk, system.pk])).status_code,
    ]

    assert codes == [200, 403, 403]
    assert address("output-correct", item, 1) not in page


def test_practice_and_items_of_another_study_have_no_such_page(staff_client, study):
    elsewhere = make_live(by=make_user("someone-else"))

    for item in (study.items.practice().first(), elsewhere.items.main().first()):
        page = reverse("admin:study-item", args=[study.pk, item.pk])
        assert staff_client.get(page).status_code == 404
