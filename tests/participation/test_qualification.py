"""The qualification: told beforehand, two tries, and no work for those who fail both."""

import csv
import io

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from evalsite.data.files.services import Choice, stream_file
from evalsite.fieldwork.checklist import check_launch
from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.handout.claims import claim_set, has_work
from evalsite.handout.models import Annotation, Revision, Slot
from evalsite.people.models import ItemSet, Participant
from evalsite.results.people.lookup import state_of
from evalsite.studies.models import Study
from evalsite.studies.qualification import plan_qualification
from evalsite.studies.setting_changes import change_settings
from evalsite.studies.setup_forms import QualityForm
from evalsite.studies.versions import build_content
from tests.support.factories import (
    launch,
    make_annotator,
    make_study,
    make_user,
    practise_every_gold,
)
from tests.support.qualifying import PARTS, RIGHT, WRONG, Candidate, make_live, without_gold
from tests.support.tabs import BOXES

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("promises")]

# --- told beforehand ------------------------------------------------------------------


def test_landing_page_tells_the_length_the_pass_mark_the_tries_and_what_follows():
    study = make_live()

    html = Client().get(f"/join/{study.pk}/").content.decode()

    assert "A short test comes first" in html
    assert "There are 3 items" in html
    assert f"in {PARTS} points. You pass if at least 9 of them agree." in html
    assert "You have 2 tries." in html
    assert "you can’t take part, and there is no completion code" in html


def test_landing_page_says_nothing_of_a_test_where_there_is_none():
    study = launch(make_study())

    assert "test" not in Client().get(f"/join/{study.pk}/").content.decode()


def test_page_before_the_test_tells_the_same_and_counts_nothing():
    one = Candidate(make_live())

    page = one.get("qualification/")

    assert one.where() == "qualification/"
    assert (page.context["plan"].needed, page.context["plan"].asked) == (9, PARTS)
    assert page.context["score"] is None
    one.me.refresh_from_db()
    assert one.me.tries == 0


@pytest.mark.one_case
@pytest.mark.parametrize(("mark", "needed"), [(1, 1), (50, 6), (75, 9), (76, 10), (100, 12)])
def test_pass_mark_is_a_share_rounded_up(mark, needed):
    study = practise_every_gold(make_study(is_qualification_on=True, pass_mark=mark))

    assert plan_qualification(study).needed == needed


# --- the test itself ------------------------------------------------------------------


def test_only_what_is_scored_is_asked():
    one = Candidate(launch(make_study(items=3, protocol="pairwise", is_qualification_on=True)))
    one.client.post(f"{one.home}qualification/")

    asked = [one.get(f"qualification/{number}/").context["item"] for number in (1, 3)]

    assert [[one.name for one in item.questions] for item in asked] == [
        ["completion"],
        ["readability"],
    ]


def test_test_is_asked_in_the_real_layout_and_explains_nothing():
    one = Candidate(make_live())

    page = one.get("qualification/1/").content.decode()
    after = one.answer(1, RIGHT[0])

    assert "Here is the STANDARD to relate to:" in page
    assert after.headers["Location"] == one.home
    assert one.where() == "qualification/2/"
    for path in ("qualification/1/", "qualification/2/", "practice/1/"):
        assert "suggest" not in one.client.get(one.home + path, follow=True).content.decode()


def test_empty_answer_is_refused_and_costs_no_try():
    one = Candidate(make_live())

    refused = one.answer(1, ("50", "", "70"))

    assert refused.status_code == 422
    assert "Enter a score for utterance 2" in refused.content.decode()
    assert not Annotation.objects.exists()


def test_who_passes_reads_the_suggestions_once_and_then_works():
    one = Candidate(make_live())

    one.take_try(RIGHT)

    assert (one.me.is_qualified, one.me.tries) == (True, 1)
    assert one.where() == "qualification/suggestions/"
    page = one.get("qualification/suggestions/")
    assert page.context["score"].met == PARTS
    lines = [line for item in page.context["explained"] for line in item["feedback"]]
    assert len(lines) == PARTS
    assert all(line.is_met for line in lines)
    assert page.context["explained"][0]["why"] in page.content.decode()
    assert one.client.post(f"{one.home}start/").headers["Location"].endswith("suggestions/")
    one.client.post(f"{one.home}qualification/suggestions/")
    assert one.where() == "sets/1/items/1/"


def test_nine_of_twelve_pass_and_eight_do_not():
    study = make_live()
    # item 1 whole, item 2 whole, of item 3 one part; and none
    nine, eight = Candidate(study), Candidate(study)

    nine.take_try((RIGHT[0], RIGHT[1], ("200", "150", "180")))
    eight.take_try((RIGHT[0], RIGHT[1], WRONG[2]))

    assert nine.me.is_qualified is True
    assert (eight.me.is_qualified, eight.me.tries) == (None, 1)


@pytest.mark.slow
def test_who_fails_once_hears_the_score_and_may_read_again_and_begin_again():
    one = Candidate(make_live())

    one.take_try(WRONG)

    assert one.where() == "qualification/"
    page = one.get("qualification/")
    assert (page.context["score"].met, page.context["is_last_try"]) == (0, True)
    assert f'href="{one.home}instructions/"' in page.content.decode()
    assert one.client.post(f"{one.home}start/").headers["Location"].endswith("qualification/")
    one.take_try(RIGHT)
    assert (one.me.is_qualified, one.me.tries) == (True, 2)


@pytest.mark.torture
@pytest.mark.slow
def test_both_tries_are_kept():
    one = Candidate(make_live())

    one.take_try(WRONG)
    one.take_try(RIGHT)

    assert Annotation.objects.filter(status="control", place=2).count() == 3
    first = Annotation.objects.order_by("item")[0]
    assert sorted(first.ratings.values_list("value", flat=True)) == [50, 70, 90]
    (revision,) = first.revisions.all()
    assert sorted(row.value for row in revision.list_rows()) == [300, 400, 500]
    assert revision.state["attempt"] == 1
    assert Revision.objects.count() == 3


# --- after the last try ---------------------------------------------------------------


def fail_twice(study: Study, **fields) -> Candidate:
    one = Candidate(study, **fields)
    one.take_try(WRONG)
    one.take_try(WRONG)
    return one


def test_who_fails_twice_is_thanked_and_told_what_to_do():
    one = fail_twice(make_live())

    page = one.get("not-qualified/")

    assert one.where() == "not-qualified/"
    assert (page.context["score"].met, page.context["score"].needed) == (0, 9)
    assert "jane@example.org" in page.content.decode()


@pytest.mark.one_case
@pytest.mark.parametrize("is_pilot", [False, True])
def test_who_fails_twice_gets_no_work_by_any_address(is_pilot):
    study = make_live()
    one = fail_twice(study, is_pilot=is_pilot)

    for path in ("start/", "qualification/", "qualification/1/", "qualification/suggestions/"):
        for answer in (one.client.get(one.home + path), one.client.post(one.home + path)):
            assert answer.status_code == 302
            assert "sets" not in answer.headers["Location"]
    one.client.post(f"{one.home}practice/1/")
    one.client.post(f"{one.home}instructions/")

    assert one.where() == "not-qualified/"
    assert claim_set(one.me) is None
    assert not has_work(one.me, study)
    assert not Slot.objects.leased().exists()


def test_who_has_not_taken_the_test_gets_no_work():
    one = Candidate(make_live())

    assert one.client.post(f"{one.home}start/").headers["Location"].endswith("/qualification/")
    assert one.get("sets/1/items/1/").headers["Location"] == one.home


def test_researcher_sees_who_is_not_qualified(staff_client):
    one = fail_twice(make_live())

    html = staff_client.get(reverse("admin:study-people", args=[one.me.study_id])).content.decode()

    assert state_of(one.me, []) == "not qualified"
    assert "Not qualified" in html


@pytest.mark.slow
def test_export_says_who_is_qualified_and_after_how_many_tries():
    study = make_live()
    fail_twice(study)
    Candidate(study).take_try(RIGHT)
    make_annotator(study, practised_at=None)

    sent = b"".join(stream_file(study, Choice(file="participants"), by=None)).decode()

    rows = csv.DictReader(io.StringIO(sent))
    assert [(row["tries"], row["qualified"]) for row in rows] == [
        ("2", "no"), ("1", "yes"), ("0", "")
    ]  # fmt: skip


def test_outcome_stays_when_the_study_is_closed():
    one = fail_twice(make_live())
    Study.objects.update(state="closed")

    assert one.where() == "not-qualified/"


# --- sent twice, two tabs -------------------------------------------------------------


def test_last_answer_sent_twice_counts_one_try():
    one = Candidate(make_live())
    one.answer(1, WRONG[0])
    one.answer(2, WRONG[1])
    data = one.fields("qualification/3/") | dict(zip(BOXES, WRONG[2], strict=True))

    for _ in range(2):
        one.client.post(f"{one.home}qualification/3/", data)

    one.me.refresh_from_db()
    assert (one.me.tries, one.me.is_qualified) == (1, None)
    assert not Annotation.objects.filter(place=2).exists()


def test_page_left_open_in_another_tab_is_no_answer_of_the_second_try():
    one = Candidate(make_live())
    stale = one.fields("qualification/1/") | dict(zip(BOXES, RIGHT[0], strict=True))
    one.take_try(WRONG)

    answer = one.client.post(f"{one.home}qualification/1/", stale)

    assert answer.headers["Location"] == one.home
    assert one.where() == "qualification/"
    assert not Revision.objects.exists()


def test_first_of_two_answers_in_one_try_stands():
    one = Candidate(make_live())
    data = one.fields("qualification/1/")
    one.client.post(f"{one.home}qualification/1/", data | dict(zip(BOXES, RIGHT[0], strict=True)))

    one.client.post(f"{one.home}qualification/1/", data | dict(zip(BOXES, WRONG[0], strict=True)))

    annotation = Annotation.objects.get()
    assert sorted(annotation.ratings.values_list("value", flat=True)) == [50, 70, 90]
    assert not Revision.objects.exists()


def test_last_answer_can_be_given_first_and_nothing_is_skipped():
    one = Candidate(make_live())

    one.answer(3, RIGHT[2])

    assert one.where() == "qualification/1/"
    one.me.refresh_from_db()
    assert one.me.tries == 0


def test_reading_pages_changes_nothing():
    one = Candidate(make_live())
    one.take_try(WRONG)

    for path in ("", "qualification/", "qualification/1/", "qualification/questions/"):
        one.get(path)

    one.me.refresh_from_db()
    assert one.me.tries == 1


# --- items without gold ---------------------------------------------------------------


def test_items_without_gold_are_not_asked():
    study = make_live()
    study.items.practice().filter(key="practice-2").update(gold={"why": "because"})
    one = Candidate(study)

    one.take_try((RIGHT[0], RIGHT[2]))

    assert one.me.is_qualified
    assert one.get("qualification/3/").status_code == 404


# --- the study ------------------------------------------------------------------------


def test_practice_gives_way_to_the_qualification():
    one = Candidate(make_live(is_practice_on=True))

    assert one.where() == "qualification/"
    assert one.get("practice/1/").headers["Location"] == one.home


def test_who_practised_before_the_qualification_was_turned_on_takes_it():
    study = practise_every_gold(make_study(items=3))
    one = Candidate(study, is_pilot=True)
    page = one.fields("practice/1/") | dict(zip(BOXES, RIGHT[0], strict=True))
    one.client.post(f"{one.home}practice/1/", page)
    Study.objects.update(is_qualification_on=True)

    one.take_try(WRONG)

    assert one.me.tries == 1
    assert Revision.objects.count() == 1


def test_pilots_take_the_qualification_and_their_answers_stay_pilot_answers():
    one = Candidate(make_live(), is_pilot=True)

    one.take_try(RIGHT)

    assert one.me.is_qualified
    assert set(Annotation.objects.values_list("status", flat=True)) == {"pilot"}


def problems(study: Study) -> str:
    return " ".join(check.problem for check in check_launch(study))


def test_launch_is_refused_where_nothing_can_be_asked(monkeypatch):
    study = without_gold(make_study(is_qualification_on=True))
    assert "Qualification" not in problems(study)

    monkeypatch.setattr(Study, "config", study.config.model_copy(update={"comprehension": []}))

    assert "no practice item has a gold" in problems(study)


def test_settings_hold_the_qualification_and_freeze_it_at_launch():
    study = make_study()
    form = QualityForm(instance=study)
    assert {"is_qualification_on", "pass_mark"} <= set(form.fields)

    change_settings(
        study=study,
        values={"is_qualification_on": True, "pass_mark": 60},
        revision=study.revision,
        by=make_user(),
    )
    study.refresh_from_db()
    live = launch(study)

    assert build_content(live)["settings"]["pass_mark"] == 60
    with pytest.raises(ValidationError, match="fixed since launch"):
        change_settings(
            study=live, values={"pass_mark": 10}, revision=live.revision, by=make_user()
        )
    assert QualityForm(instance=live).fields["pass_mark"].disabled


@pytest.mark.torture
@pytest.mark.slow
def test_simulated_people_take_the_qualification():
    study = make_live(items=6, is_demo=True)

    people = list(simulate_crowd(study, participants=6, seed="q"))

    outcomes = Participant.objects.filter(pk__in=[one.pk for one in people])
    qualified = outcomes.filter(is_qualified=True)
    assert qualified.exists()
    assert not outcomes.filter(is_qualified=None).exists()
    assert ItemSet.objects.filter(participant__in=qualified).exists()
