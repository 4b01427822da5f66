"""Set up, Quality: checks a person, who may take part, and which flags can fire."""

import pytest
from django.urls import reverse

from evalsite.analysis.thresholds import START
from evalsite.results.quality_page import list_flags
from evalsite.studies.models import Study
from evalsite.studies.set_size import answers_each
from tests.studies.test_staff_settings import address, entries, save
from tests.support.checks import add_checks
from tests.support.factories import launch, make_study

pytestmark = pytest.mark.django_db


def fired(study: Study, answers: int, attention: int = 0) -> set[str]:
    """The flags that can be raised in this study."""
    flags = list_flags(study, START, answers=answers, attention=attention)
    return {flag.label for flag in flags if flag.can_fire}


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("answers", "attention", "labels"),
    [
        (3, 1, set()),
        (4, 2, {"Fails checks", "Too fast"}),
        (5, 0, {"Too fast", "Same answer"}),
        (9, 2, {"Fails checks", "Too fast", "Same answer", "Copied answers"}),
        (12, 0, {"Too fast", "Same answer", "Copied answers", "Disagrees with others"}),
    ],
)
def test_flags_can_fire_from_as_many_answers_as_their_limits_say(answers, attention, labels):
    assert fired(make_study(items=0, protocol="fluency", k=3), answers, attention) == labels


def test_flags_that_compare_people_need_two_answers_and_those_of_values_need_scores():
    alone = fired(make_study(items=0, protocol="fluency", k=1), 40, 2)
    pairs = fired(make_study(items=0, protocol="pairwise", k=3, title="Pairs"), 40, 2)

    assert alone == {"Fails checks", "Too fast", "Same answer"}
    assert pairs == {"Fails checks", "Too fast", "Copied answers"}


@pytest.mark.parametrize(
    ("fields", "answers"),
    [
        ({}, 40),
        ({"max_sets": 2}, 18),
        ({"max_items": 5}, 5),
        # a paid set is all that a submission holds
        ({"pay_per_set": 2}, 9),
    ],
)
def test_a_person_gives_as_many_answers_as_the_work_leaves_them(fields, answers):
    assert answers_each(make_study(items=0, set_size=9, **fields), 40) == answers


def test_headline_counts_checks_and_flags(staff_client):
    study = make_study(items=40, protocol="fluency", k=3, set_size=9, max_sets=1)
    add_checks(study, 2, kind="attention", outputs=1)
    without = staff_client.get(address(study, "quality")).text

    save(staff_client, study, checks_per_person="2")

    page = staff_client.get(address(study, "quality")).text
    assert "No checks; 3 of 5 flags can fire" in without
    assert "2 attention checks a person; 4 of 5 flags can fire" in page
    assert study.checks_per_person == 2


def test_a_screening_question_is_added_on_the_page(staff_client):
    study = make_study(items=2, protocol="fluency")
    page = staff_client.get(address(study, "quality"))
    sent = {
        "label": "Is English your first language?", "choices": "Yes\nNo", "answers": "Yes",
        "kind": "choice", "revision": study.revision,
    }  # fmt: skip

    to = reverse("admin:study-question", args=[study.pk, page.context["next_key"]])
    after = staff_client.post(to, sent, follow=True)

    study.refresh_from_db()
    assert after.redirect_chain[-1][0] == address(study, "quality")
    [question] = after.context["questions"]
    assert (question["label"], question["answers"]) == ("Is English your first language?", ["Yes"])
    assert not study.config.is_eligible({question["key"]: "No"})
    assert study.config.is_eligible({question["key"]: "Yes"})


@pytest.mark.parametrize(("size", "shares"), [(24, [0, 5, 9]), (30, [0, 4, 7]), (9, [0, 5, 9])])
def test_pages_shown_twice_are_one_or_two_a_person(staff_client, size, shares):
    study = make_study(items=40, set_size=size, max_sets=1)

    field = staff_client.get(address(study, "quality")).context["form"].fields["repeat_percent"]

    assert [share for share, _ in field.choices] == shares
    # the share of the pages of a person, rounded, is that many
    assert [(max(size, 24) * share + 50) // 100 for share in shares] == [0, 1, 2]


def test_another_share_that_was_set_before_stays(staff_client):
    study = make_study(items=40, repeat_percent=20)
    sent = entries(staff_client, study, "quality", checks_per_person="0", pass_mark="90")

    staff_client.post(address(study, "quality"), sent)

    study.refresh_from_db()
    assert (study.repeat_percent, study.pass_mark) == (20, 90)


def test_quality_is_fixed_since_launch(staff_client):
    study = launch(make_study(items=4))

    page = staff_client.get(address(study, "quality"))

    form = page.context["form"]
    assert all(form.fields[name].disabled for name in form.names)
    assert 'value="continue"' not in page.text
