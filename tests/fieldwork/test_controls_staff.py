"""Checks and repeats as researchers meet them: settings, checklist, upload, files, people."""

from collections import Counter

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsite.decisions.check_results import judge_checks
from evalsite.decisions.people_figures import store_figures
from evalsite.fieldwork.checklist import check_launch
from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.handout.models import Annotation
from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.installed import get_protocol
from evalsite.people.models import Participant
from evalsite.results.progress import items_by_progress, progress_by_system, progress_of
from evalsite.studies.gold import agrees_with_gold
from evalsite.studies.models import Item, Study
from evalsite.studies.summary_lines import describe_sets, estimate_work
from tests.support.checks import add_checks, do_sets, make_checked, make_repeated
from tests.support.exports import export, read
from tests.support.factories import answer_item, launch, make_annotator, make_study
from tests.support.invariants import check_invariants
from tests.support.standing import give_standing, report_item

pytestmark = pytest.mark.django_db


def told_of(study: Study, word: str) -> tuple[str, str]:
    """The problem and the remark of the launch's point whose label holds this word."""
    (found,) = [check for check in check_launch(study) if word in check.label]
    return found.problem, found.remark


# --- before the launch --------------------------------------------------------------------


def test_checks_that_no_batch_holds_keep_the_study_from_launching():
    problem, _ = told_of(make_study(items=10, checks_per_person=2), "attention")

    assert problem.startswith("Each person should get 2 checks, but there is no")


def test_checks_that_nobody_would_get_are_remarked_on():
    study = make_study(items=10)
    add_checks(study, 2)

    problem, remark = told_of(study, "attention")

    assert not problem
    assert remark.startswith("2 checks made or uploaded, and nobody gets any.")


def test_fewer_checks_than_one_person_meets_are_remarked_on():
    study = make_study(items=40, set_size=10, max_sets=4, checks_per_person=3)
    add_checks(study, 2)

    assert "should get 3 checks, but there are only 2" in told_of(study, "attention")[1]

    add_checks(study, 1, kind="attention")
    assert told_of(study, "attention") == ("", "")


@pytest.mark.parametrize(
    ("fields", "is_off"),
    [
        ({"set_size": 10, "max_sets": 2}, True),
        ({"set_size": 10, "max_sets": 3}, False),
        ({"set_size": 10, "max_sets": 3, "max_items": 20}, True),
        ({"set_size": 10}, False),
    ],
)
def test_repeats_that_nobody_can_be_dealt_are_remarked_on(fields, is_off):
    study = make_study(items=30, repeat_percent=10, **fields)

    problem, remark = told_of(study, "repeats")

    assert not problem
    assert remark.startswith("Nobody can get more than 20 pages") is is_off


def test_repeats_in_a_study_of_few_items_are_remarked_on():
    study = make_study(items=20, repeat_percent=10)

    assert "Nobody can get more than 20 pages" in told_of(study, "repeats")[1]


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("fields", "checks", "words"),
    [
        ({"set_size": 5, "max_sets": 1}, 0, ("5 answers", "“too fast”")),
        ({"set_size": 3, "max_sets": 1}, 0, ("3 answers", "Only attention checks")),
        ({"set_size": 8, "max_sets": 1, "checks_per_person": 2}, 2, ()),
        ({"set_size": 8, "max_sets": 1, "checks_per_person": 2}, 1, ("8 answers", "2 checks")),
        ({"set_size": 12, "max_sets": 1}, 0, ()),
        ({"set_size": 5, "max_sets": 3}, 0, ()),
        ({"set_size": 20, "max_items": 11}, 0, ("11 answers", "12 per person")),
    ],
)
def test_too_few_answers_of_a_person_to_find_careless_work_are_remarked_on(fields, checks, words):
    study = make_study(items=40, **fields)
    add_checks(study, checks, kind="attention")

    remarks = [check.remark for check in check_launch(study) if "Careless" in check.label]

    assert len(remarks) == bool(words)
    assert all(word in remarks[0] for word in words)


# --- how many a set shows -----------------------------------------------------------------


def test_the_sum_says_what_a_set_shows_with_its_checks_and_repeats():
    study = make_study(items=0, set_size=10, k=3, checks_per_person=2, repeat_percent=10)

    told = describe_sets(study, items=100)

    assert told == "A set shows up to 13 pages: 10, 2 checks and 1 repeat."
    assert estimate_work(study, items=100).sets == 30
    study.checks_per_person, study.repeat_percent = 0, 0
    assert describe_sets(study, items=100) == ""


def test_a_set_that_shows_more_takes_longer():
    study = make_study(items=0, set_size=10, k=1)
    without = estimate_work(study, items=10).hours
    study.checks_per_person = 2

    assert estimate_work(study, items=10).hours > without


def test_participants_are_told_how_many_items_a_set_shows():
    study = make_checked(items=20, set_size=10, checks_per_person=2)

    landing = Client().get(reverse("study-join", args=[study.pk])).text

    assert "<dd>12</dd>" in landing


def test_checks_and_repeats_are_set_with_the_work_and_fixed_at_launch(staff_client):
    draft, live = make_study(items=3), make_repeated(items=3)

    for study, is_locked in ((draft, False), (live, True)):
        page = staff_client.get(reverse("admin:setup-quality", args=[study.pk]))
        fields = page.context["form"].fields
        for name in ("checks_per_person", "repeat_percent"):
            assert fields[name].disabled is is_locked


# --- what came of them --------------------------------------------------------------------


def answer_gold(me: Participant, scores: tuple[int, ...], **said: str) -> None:
    """A gold item that this person has not answered yet is answered with these scores."""
    item = Item.objects.filter(kind="gold").exclude(annotations__participant=me).first()
    rows = tuple(
        AnswerRow(item.pk, output.pk, "informativeness", value=score, text=str(score))
        for output, score in zip(item.outputs.all(), scores, strict=False)
    )
    answer_item(me, item, rows=rows, **said)


def make_answered() -> tuple[Study, Participant]:
    """Somebody whose answers to three gold items agree with it once, fail once, are none once."""
    study = make_checked(items=10, checks=3)
    me = make_annotator(study)
    answer_item(me, study.items.main().first())
    answer_gold(me, (50, 60, 70))
    answer_gold(me, (60, 60, 70))
    answer_gold(me, (), outcome="ignored")
    return study, me


def test_file_of_annotations_says_whether_an_answer_agrees_with_gold():
    study, _ = make_answered()

    rows = read(export(study, "annotations"))

    assert [(row["kind"], row["status"], row["gold_agrees"]) for row in rows] == [
        ("main", "counted", ""),
        ("gold", "control", "yes"),
        ("gold", "control", "no"),
        ("gold", "control", ""),
    ]


def test_files_name_what_a_repeat_repeats_and_whose_output_it_shows():
    study = make_repeated(items=30)
    do_sets(make_annotator(study))

    annotations = read(export(study, "annotations"))
    ratings = [row for row in read(export(study, "ratings")) if row["kind"] == "repeat"]

    repeats = [row for row in annotations if row["kind"] == "repeat"]
    assert len(repeats) == 3
    assert {row["status"] for row in repeats} == {"control"}
    keys = set(study.items.main().values_list("key", flat=True))
    assert {row["repeat_of"] for row in repeats} <= keys
    assert {row["system"] for row in ratings} == {"baseline", "neural", "template"}
    assert sum(row["status"] == "counted" for row in annotations) == 30


def test_people_page_tells_how_many_checks_agree(staff_client):
    study, me = make_answered()
    store_figures(study)

    page = staff_client.get(reverse("admin:study-people", args=[study.pk]))

    (person,) = page.context["people"]
    assert person.participant == me
    assert person.answers == 1
    assert '<td class="n">1 of 2</td>' in page.text
    assert "Gold<br>passed" in page.text


def test_people_page_of_a_study_without_checks_has_no_such_column(staff_client):
    study = make_repeated(items=3)
    make_annotator(study)

    page = staff_client.get(reverse("admin:study-people", args=[study.pk])).text

    assert "<br>passed" not in page


def test_checks_of_many_people_take_the_queries_of_a_few(django_assert_num_queries):
    study, me = make_answered()
    answers = Annotation.objects.filter(study=study)
    with CaptureQueriesContext(connection) as few:
        judge_checks(study, answers.filter(participant=me))
    for _ in range(5):
        other = make_annotator(study)
        answer_gold(other, (1, 2, 3))
        answer_gold(other, (1, 2, 3))

    with django_assert_num_queries(len(few)):
        judged = judge_checks(study, answers)

    met = Counter(person for person, agrees in judged.values() if agrees)
    assert sorted(met.values()) == [1, 2, 2, 2, 2, 2]


@pytest.mark.parametrize(
    ("name", "gold", "entered", "agrees"),
    [
        ("pairwise", "alpha", {"first": 0}, True),
        ("pairwise", "alpha", {"first": 1}, False),
        ("pairwise", "tie", {"first": None}, True),
        ("rrgen", "4..6", {"first": 0, "value": 5}, True),
        ("rrgen", "4..6", {"first": 0, "value": 3}, False),
        ("rrgen", "", {"first": 0, "value": 3}, None),
    ],
)
def test_gold_of_each_scale_is_compared(name, gold, entered, agrees):
    config = get_protocol(name)
    criterion = config.criteria[0]
    outputs = [(7, "alpha"), (9, "beta")][: config.item.outputs.least]
    place = entered["first"]
    output = None if place is None else outputs[place][0]
    given = [AnswerRow(0, output, criterion.key, value=entered.get("value", 1))]

    assert agrees_with_gold(config, {criterion.key: gold}, outputs, given, None) is agrees


def test_gold_without_an_answer_agrees_with_nothing():
    config = get_protocol("rrgen")

    assert agrees_with_gold(config, {config.criteria[0].key: "5"}, [(7, "a")], [], None) is None


def test_the_held_page_tells_of_a_check_that_was_reported(staff_client):
    study = make_checked(items=10, checks=1)
    gold = study.items.get(kind="gold")
    for _ in range(2):
        report_item(give_standing(make_annotator(study)), gold)

    page = staff_client.get(reverse("admin:study-held", args=[study.pk])).text

    assert "gold-01" in page


def test_monitor_and_overview_count_main_items_only(staff_client):
    study = make_checked(items=10, k=1)
    do_sets(make_annotator(study))

    assert progress_of(study).done == 10 == progress_of(study).target
    assert items_by_progress(study).count() == 10
    assert sum(row["target"] for row in progress_by_system(study)) == 30
    assert staff_client.get(reverse("admin:study-progress", args=[study.pk])).status_code == 200


@pytest.mark.slow
def test_simulated_people_go_through_checks_and_repeats():
    study = make_study(
        items=24, k=1, set_size=12, max_sets=2, checks_per_person=3, repeat_percent=20, is_demo=True
    )
    add_checks(study, 6)
    launch(study)

    people = list(simulate_crowd(study, participants=4, seed="crowd"))

    kinds = set(Annotation.objects.filter(participant__in=people).values_list("item__kind"))
    assert {("gold",), ("repeat",), ("main",)} <= kinds
    check_invariants(study)
