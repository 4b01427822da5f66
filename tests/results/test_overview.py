"""The overview: its headline by state, what needs attention, its strip, and how often it asks."""

from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsite.decisions.closing import close_due_studies
from evalsite.decisions.models import Approval
from evalsite.handout.models import Annotation, Slot
from evalsite.lib.clock import now
from evalsite.people.models import ItemSet, Origin, Recruitment, Visit
from evalsite.results.overview.activity_log import list_events
from evalsite.results.overview.item_strip import draw_strip, shade_of
from evalsite.results.overview.pace import count_by_hour
from evalsite.studies.models import Item, Study
from tests.site.test_staff_pages import answer, member, sign_in, url
from tests.support.factories import add_batch, launch, make_participant, make_study, make_user
from tests.support.imported import load, rows_for
from tests.support.planned import AT_LEAST_TWO, add_people, make_planned_study
from tests.support.rounds import make_round, panel_of


def make_live(items: int = 4, **fields) -> Study:
    study = launch(make_study(items=items))
    Study.objects.filter(pk=study.pk).update(launched_at=now() - timedelta(days=3), **fields)
    return Study.objects.get(pk=study.pk)


def answer_all(study: Study, count: int, *, over: timedelta, until=None) -> None:
    """So many of its free places are answered, evenly over this time until now."""
    end = until or now()
    slots = list(Slot.objects.free().filter(study=study).order_by("no", "pk")[:count])
    for number, slot in enumerate(slots):
        at = end - over + over * (number + 1) / count
        slot.state, slot.participant = Slot.State.DONE, make_participant(study)
        slot.save()
        Annotation.objects.create(
            study=study, item_id=slot.item_id, participant=slot.participant, slot=slot,
            key=uuid4(), status="counted", started_at=at - timedelta(seconds=40), submitted_at=at,
        )  # fmt: skip


def overview(client, study: Study):
    return client.get(url("study-overview", study))


@pytest.mark.both_databases
def test_answers_are_counted_in_the_hour_they_were_saved_in(db):
    study = make_live(items=3, k=3)
    moments = [
        "2026-02-28 23:00:00+00:00", "2026-02-28 23:59:59.999999+00:00",
        "2026-03-01 00:00:00+00:00", "2026-03-01 00:30:00+00:00",
        "2026-03-29 01:00:00+00:00", "2026-03-29 02:15:00+00:00", "2026-03-29 04:00:00.5+00:00",
    ]  # fmt: skip
    answer_all(study, len(moments), over=timedelta(hours=1))
    made = list(Annotation.objects.filter(study=study).order_by("pk"))
    for one, moment in zip(made, moments, strict=True):
        Annotation.objects.filter(pk=one.pk).update(submitted_at=datetime.fromisoformat(moment))
    Annotation.objects.filter(pk=made[3].pk).update(origin=Origin.SIMULATED)
    Annotation.objects.filter(pk=made[4].pk).update(status="surplus", slot=None)
    Annotation.objects.filter(pk=made[5].pk).update(origin=Origin.IMPORTED)

    counts = count_by_hour(study)

    assert [(f"{hour:%d %H:%M %Z}", answers) for hour, answers in counts] == [
        ("28 23:00 UTC", 2), ("01 00:00 UTC", 2), ("29 04:00 UTC", 1),
    ]  # fmt: skip
    assert count_by_hour(make_live()) == []


# --- the headline ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "answers", "key"),
    [
        ({"state": "archived"}, 0, "archived"),
        ({"state": "closed"}, 12, "closed"),
        ({"state": "paused"}, 12, "all-in"),
        ({"state": "paused"}, 3, "paused"),
        ({"closes_at": now() - timedelta(hours=1)}, 3, "past-end"),
        ({}, 0, "waiting"),
        ({}, 3, "early"),
    ],
)
def test_headline_is_the_first_that_matches(staff_client, fields, answers, key):
    study = make_live(**fields)
    if answers:
        answer_all(study, answers, over=timedelta(hours=20))

    assert overview(staff_client, study).context["headline"].key == key


def test_a_draft_has_no_overview_until_answers_are_imported(staff_client):
    study = make_study(items=2)
    before = overview(staff_client, study)
    load(study, rows_for(study, ["w1"], study.items.main()))

    assert before.status_code == 404
    assert overview(staff_client, study).context["headline"].key == "draft"


def test_headline_says_when_answers_stopped_to_come(staff_client):
    study = make_live()
    answer_all(study, 3, over=timedelta(hours=3), until=now() - timedelta(hours=25))

    assert overview(staff_client, study).context["headline"].key == "halted"


def test_headline_gives_the_forecast_with_its_range(staff_client):
    study = make_live(items=40)
    answer_all(study, 72, over=timedelta(hours=36))

    page = overview(staff_client, study)

    assert page.context["headline"].key == "on-track"
    assert "On track: done around" in page.text
    forecast = page.context["forecast"]
    assert forecast.early < forecast.likely < forecast.late
    assert 15 < (forecast.likely - now()) / timedelta(hours=1) < 35


def test_headline_warns_of_a_pace_that_is_too_slow(staff_client):
    study = make_live(items=40, closes_at=now() + timedelta(hours=5))
    answer_all(study, 72, over=timedelta(hours=36))

    headline = overview(staff_client, study).context["headline"]

    assert headline.key == "slow"
    assert 78 <= headline.count <= 86


# --- what needs attention -------------------------------------------------------------------


def tasks_of(client, study: Study) -> list[str]:
    return [task.key for task in overview(client, study).context["tasks"]]


def test_reported_item_is_handed_out_again_with_one_press(staff_client):
    study = make_live()
    item = study.items.main()[1]
    Item.objects.filter(pk=item.pk).update(held_at=now())

    page = overview(staff_client, study)
    staff_client.post(reverse("admin:item-release", args=[study.pk, item.pk]))

    assert reverse("admin:item-release", args=[study.pk, item.pk]) in page.text
    assert "held" not in tasks_of(staff_client, study)


@pytest.mark.parametrize(("role", "tasks"), [("owner", ["close"]), ("editor", []), ("viewer", [])])
def test_who_may_close_is_told_that_all_answers_are_in(db, role, tasks):
    study = make_live()
    answer_all(study, 12, over=timedelta(hours=2))

    assert tasks_of(member(study, role), study) == tasks


def test_paused_study_is_resumed_with_one_press(staff_client):
    study = make_live(state="paused")

    assert tasks_of(staff_client, study) == ["resume"]
    staff_client.post(url("study-resume", study))
    assert Study.objects.get(pk=study.pk).state == "live"


def test_link_to_share_is_there_until_the_first_answer(staff_client):
    study = make_live()

    before = overview(staff_client, study).text
    answer(study, study.items.main().first(), submitted_at=now())

    assert f"/join/{study.pk}/" in before
    assert f"/join/{study.pk}/" not in overview(staff_client, study).text


def test_link_that_is_off_is_not_to_be_shared(staff_client):
    study = make_live()
    Recruitment.objects.filter(study=study, number=0).update(is_on=False)

    page = overview(staff_client, study)

    assert [task.key for task in page.context["tasks"]] == ["invite"]
    assert f"/join/{study.pk}/" not in page.text


def make_recruited(*places: int | None, **fields) -> Study:
    """A live study of 12 answers with work for three people, and panels with so many places."""
    study = make_live(set_size=4, **fields)
    Recruitment.objects.filter(study=study, number=0).update(is_on=False)
    for number in places:
        make_round(study, "panel", places=number)
    return study


def panels_of(client, study: Study) -> list[tuple[int, int, bool]]:
    """What the overview says of panels: places, people needed, whether one panel is named."""
    tasks = overview(client, study).context["tasks"]
    return [(task.count, task.items, bool(task.panel)) for task in tasks if task.key == "panels"]


@pytest.mark.parametrize(
    ("places", "told"),
    [
        ([3], []),
        ([5], [(5, 3, True)]),
        ([2], [(2, 3, True)]),
        ([2, 2], [(4, 3, False)]),
        ([2, 1], []),
        # as many as there is work for
        ([None], []),
        ([5, None], []),
    ],
)
def test_panels_and_the_study_are_compared_by_the_people_still_to_come(staff_client, places, told):
    study = make_recruited(*places)

    assert panels_of(staff_client, study) == told


def test_panel_that_disagrees_is_led_to_and_agrees_once_its_number_is_changed(staff_client):
    study = make_recruited(5)
    page = overview(staff_client, study)
    panel = panel_of(study.recruitments.get(number=1))
    assert f'href="{panel}"' in page.text

    study.recruitments.filter(number=1).update(places=3)
    assert panels_of(staff_client, study) == []


@pytest.mark.parametrize(
    ("held", "ends_in", "outcome", "told"),
    [
        # at work on a set
        (4, 1, "", []),
        # gone: the places are free again, the one on the panel too
        (4, -1, "", []),
        # finished on the panel with two answers, so one more person has to come for the rest
        (0, 0, "completed", [(2, 3, True)]),
    ],
)
def test_who_came_by_a_panel_counts_on_both_sides(staff_client, held, ends_in, outcome, told):
    study = make_recruited(3)
    [me] = add_people(study, 1, items=0)
    item_set = ItemSet.objects.create(study=study, participant=me, number=1, code="A1")
    Visit.objects.create(
        study=study, recruitment=study.recruitments.get(number=1), participant=me,
        item_set=item_set, outcome=outcome, ended_at=now() if outcome else None,
    )  # fmt: skip
    free = Slot.objects.free().filter(study=study, no=0)
    Slot.objects.filter(pk__in=[slot.pk for slot in free[:held]]).update(
        state=Slot.State.LEASED, participant=me, lease_until=now() + timedelta(hours=ends_in)
    )
    if outcome:
        answer_all(study, 2, over=timedelta(hours=2))

    assert panels_of(staff_client, study) == told


@pytest.mark.parametrize(
    ("fields", "state"),
    [({"has_further_sets": True}, "live"), ({}, "paused"), ({}, "closed")],
)
def test_panel_with_too_few_people_is_no_fault_where_others_may_do_the_work(
    staff_client, fields, state
):
    study = make_recruited(2, state=state, closed_at=now() if state == "closed" else None)
    study.recruitments.filter(number=1).update(**fields or {"places": 2})

    assert panels_of(staff_client, study) == []


def test_people_rate_no_item_twice_so_a_panel_needs_one_for_each_answer_of_an_item(staff_client):
    study = make_recruited(3)
    Study.objects.filter(pk=study.pk).update(set_size=20)

    assert panels_of(staff_client, study) == []


def test_viewers_are_asked_for_nothing(db):
    study = make_live(state="paused")

    page = overview(member(study, "viewer"), study)

    assert page.context["tasks"] == []
    assert "Resume" not in page.text


# --- balance and plan -----------------------------------------------------------------------


def test_overview_says_how_even_answers_are_over_systems(staff_client):
    study = make_live()
    assert 'id="balance"' not in overview(staff_client, study).text
    answer_all(study, 3, over=timedelta(hours=3))

    assert "Every system has 3 answers." in overview(staff_client, study).text


def test_overview_says_when_the_plan_was_frozen_and_while_it_hides_results(db):
    study = make_planned_study()
    client = sign_in(study.memberships.first().user)
    while_live = overview(client, study).text
    Study.objects.filter(pk=study.pk).update(state="closed", closed_at=now())
    closed = overview(client, study).text

    assert "Version 1, frozen on" in while_live
    assert "before the first answer" in while_live
    assert "stay hidden until you close the study" in while_live
    assert "stay hidden" not in closed


# --- the strip ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "k", "shade"),
    [
        (0, 3, "r0"), (1, 3, "r1"), (2, 3, "r2"), (3, 3, "r3"), (4, 3, "r3"), (1, 2, "r2"),
        (0.5, 1, "r2"),
    ],
)  # fmt: skip
def test_shade_of_an_item_says_how_much_of_k_it_has(answers, k, shade):
    assert shade_of(answers, k) == shade


def test_strip_has_a_cell_for_each_item_of_a_system(db):
    study = make_live()
    first, second, *_ = study.items.main()
    for _ in range(3):
        answer(study, first)
    answer(study, second)
    Item.objects.filter(pk=second.pk).update(held_at=now())

    strip = draw_strip(study, 4)

    assert strip is not None
    assert [row.name for row in strip.rows] == ["baseline", "neural", "template"]
    assert [shade for _, shade in strip.rows[0].cells] == ["r3", "held", "r0", "r0"]
    assert [(bar.start, bar.width) for bar in strip.rows[0].bars] == [
        ("0.00%", "50.00%"), ("50.00%", "25.00%"), ("75.00%", "25.00%"),
    ]  # fmt: skip
    assert (strip.rows[0].done, strip.rows[0].target, strip.rows[0].empty) == (4, 12, 2)
    assert [(level.shade, level.items) for level in strip.levels] == [
        ("r0", 2), ("r1", 1), ("r2", 0), ("r3", 1),
    ]  # fmt: skip


def test_cells_of_many_items_show_means(db):
    study = make_live(items=130)

    strip = draw_strip(study, 130)

    assert strip is not None
    assert (strip.per_cell, len(strip.rows[0].cells)) == (2, 65)


def test_strip_is_left_out_where_items_are_too_many(db):
    assert draw_strip(make_live(), 10_001) is None


# --- the log --------------------------------------------------------------------------------


@pytest.mark.both_databases
def test_log_tells_of_sets_and_of_the_team_the_newest_first(staff_client):
    study = make_live()
    someone = make_participant(study)
    finished = now() - timedelta(minutes=5)
    ItemSet.objects.create(study=study, participant=someone, number=2, finished_at=finished)
    staff_client.post(url("study-pause", study))

    events = list_events(study, now())

    assert events[0].action == "study paused"
    told = [(event.pseudonym, event.set_number) for event in events if event.pseudonym]
    assert told == [(someone.pseudonym, 2)]


# --- how often it asks ----------------------------------------------------------------------


def count_queries(client, study: Study) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert overview(client, study).status_code == 200
    return len(captured)


@pytest.mark.one_case
@pytest.mark.parametrize("is_superuser", [False, True])
def test_overview_asks_as_often_for_many_answers_as_for_few(db, is_superuser):
    study = make_live()
    client = sign_in(make_user("root", is_superuser=True)) if is_superuser else None
    client = client or member(study, "owner")
    answer_all(study, 3, over=timedelta(hours=4))
    overview(client, study)
    few = count_queries(client, study)
    add_batch(study, items=60, first=10)
    Study.objects.get(pk=study.pk)
    for item in study.items.main()[4:]:
        answer(study, item, submitted_at=now(), origin=Origin.OWN)
    study.batches.update(opened_at=now())

    many = count_queries(client, study)

    assert many == few
    assert many <= 14


def test_every_place_asks_for_its_header_once(db):
    study = make_live()
    owner = member(study, "owner")

    with CaptureQueriesContext(connection) as captured:
        owner.get(url("study-team", study))

    asked = [query["sql"] for query in captured]
    assert sum("all_systems" in sql for sql in asked) == 1


def test_sets_to_approve_and_reviews_are_for_those_who_see_identities(db):
    study = make_live(pay_per_set="1.80")
    me = make_participant(study)
    sets = [
        ItemSet.objects.create(study=study, participant=me, number=number, finished_at=now())
        for number in (1, 2)
    ]
    Approval.objects.create(
        study=study, item_set=sets[1], state="review", reason="checks", message="Failed.",
        review_text="Please look again.", review_asked_at=now(),
        review_due_at=now() + timedelta(days=5),
    )  # fmt: skip

    tasks = overview(member(study, "owner"), study).context["tasks"]
    page = overview(member(study, "editor"), study)

    assert [(task.key, task.count) for task in tasks if task.count] == [
        ("reviews", 1), ("approve", 1),
    ]  # fmt: skip
    assert not {"reviews", "approve"} & {task.key for task in page.context["tasks"]}


def test_study_that_closed_by_itself_says_that_its_rules_keep_results_hidden(db):
    study = make_planned_study(rules=[AT_LEAST_TWO])
    Study.objects.update(closes_at=now() - timedelta(minutes=1))
    close_due_studies()
    study.refresh_from_db()

    pages = {role: overview(member(study, role), study) for role in ("owner", "editor")}

    assert study.state == "closed"
    assert {role: page.context["tasks"][0].key for role, page in pages.items()} == {
        "owner": "decide", "editor": "decide",
    }  # fmt: skip
    assert [url("study-rules", study) in page.text for page in pages.values()] == [True, False]
