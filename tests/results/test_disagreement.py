"""The items whose answers are farthest apart, with notes of the team."""

import pytest

from evalsite.annotation.models import Rating
from evalsite.quality.exclusions import exclude
from evalsite.quality.models import Note
from evalsite.results.disagreement.widest import list_wide
from evalsite.studies.models import Study
from tests.site.test_staff_pages import answer, member, url
from tests.support.factories import make_study, make_user
from tests.support.planned import SCORES, add_person, make_planned_study

pytestmark = pytest.mark.django_db


def rate(study: Study, item, values) -> list:
    """One answer by a person each, with the same value on every criterion and output."""
    found = []
    for value in values:
        given = answer(study, item)
        Rating.objects.bulk_create(
            Rating(
                study=study, annotation=given, criterion=one.key, value=value,
                output=None if one.scale.compares else output,
            )
            for one in study.config.criteria
            for output in ([None] if one.scale.compares else item.outputs.all())
        )  # fmt: skip
        found.append(given)
    return found


@pytest.mark.parametrize(
    ("protocol", "values", "is_wide"),
    [
        # five points: 3 apart; magnitudes: four times
        ("dialogue", (1, 4), True),
        ("dialogue", (2, 4), False),
        ("magnitude", (25, 100), True),
        ("magnitude", (26, 100), False),
    ],
)
def test_what_is_far_apart_depends_on_the_scale(protocol, values, is_wide):
    study = make_study(items=1, protocol=protocol)
    rate(study, study.items.main().get(), values)

    assert bool(list_wide(study)) == is_wide


@pytest.mark.both_databases
def test_the_widest_come_first_and_each_item_once():
    study = make_study(items=2, protocol="dialogue")
    near, far = study.items.main().order_by("key")
    rate(study, near, (1, 4))
    rate(study, far, (1, 5))

    found = list_wide(study)

    assert [one.item_id for one in found] == [far.pk, near.pk]
    assert [one.words for one in found] == ["4 points apart", "3 points apart"]


def test_excluded_answers_dont_count():
    study = make_study(items=1, protocol="dialogue")
    wild, _ = rate(study, study.items.main().get(), (5, 1))

    exclude(study=study, annotations=[wild], reason="A slip", by=make_user())

    assert list_wide(study) == []


def test_hidden_systems_are_not_named_and_outputs_are_not_in_their_order(staff_client):
    study = make_planned_study()
    add_person(study)
    me = add_person(study, score=70)

    page = staff_client.get(url("study-disagreement", study)).text

    assert "On 3 items, answers are far apart" in page
    assert "System hidden until closing" in page
    assert me.pseudonym in page
    main = page.partition("<main")[2]
    assert not [name for name in SCORES if name in main]


def test_notes_have_author_and_time_and_viewers_only_read_them(staff_client):
    study = make_study(items=1, protocol="dialogue")
    item = study.items.main().get()
    rate(study, item, (1, 5))
    address = f"{url('study-disagreement', study)}{item.pk}/note/"

    for _ in range(2):
        staff_client.post(address, {"text": "The points don’t separate the two."})
    empty = staff_client.post(address, {"text": " "}, follow=True).text
    viewer = member(study, "viewer")
    page = viewer.get(url("study-disagreement", study)).text

    assert Note.objects.get().author.username == "jane"
    assert "Enter a note." in empty
    assert "<b>jane:</b>" in page
    assert "Add a note" not in page
    assert viewer.post(address, {"text": "Mine"}).status_code == 403


@pytest.mark.slow
def test_as_many_queries_for_many_items(staff_client, django_assert_max_num_queries):
    study = make_study(items=40, protocol="dialogue")
    for item in study.items.main():
        rate(study, item, (1, 5))

    with django_assert_max_num_queries(19):
        page = staff_client.get(url("study-disagreement", study))

    assert page.status_code == 200
    assert "Next page" in page.text
