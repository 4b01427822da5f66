"""The points that a document reserves for difficult cases: how often each participant uses them."""

import pytest
from django.urls import reverse

from evalsite.data.demo import import_example
from evalsite.decisions.models import AnalysisPlan
from evalsite.decisions.scale_use import ReservedUse, count_reserved, reserved_points
from evalsite.handout.models import Rating
from evalsite.instruments.answer import AnswerRow
from evalsite.participation.saving import Submission, submit_annotation
from evalsite.studies.models import Study
from tests.support.factories import launch, make_annotator, make_study, make_user

pytestmark = pytest.mark.django_db

SCALES = ("relevance", "fluency", "sentiment", "domain")


@pytest.fixture
def study() -> Study:
    draft = make_study(protocol="rrgen", items=0)
    import_example(draft, by=make_user())
    return launch(draft)


def rate(me, item, *points):
    """The four scales in their order, and ACCEPT."""
    output = item.outputs.get()
    values = [*zip(SCALES, points, strict=True), ("decision", 1)]
    submission = Submission(
        item=item,
        rows=tuple(
            AnswerRow(item.pk, output.pk, criterion, value=value) for criterion, value in values
        ),
    )
    submit_annotation(participant=me, submission=submission)


def test_three_and_five_are_counted_among_the_scores_of_the_four_scales_alone(study):
    me, other = make_annotator(study), make_annotator(study)
    first, second = study.items.main()[:2]
    rate(me, first, 3, 5, 4, 7)
    rate(me, second, 1, 1, 3, 2)
    rate(other, first, 1, 2, 4, 6)

    used = count_reserved(study, [me.pk, other.pk])

    assert used == {
        me.pk: ReservedUse(reserved=3, scores=8),
        other.pk: ReservedUse(reserved=0, scores=4),
    }


def test_practice_tells_nothing_of_how_a_scale_is_used(study):
    me = make_annotator(study)
    rate(me, study.items.practice().first(), 3, 5, 3, 5)

    assert Rating.objects.filter(annotation__participant=me).exists()
    assert count_reserved(study, [me.pk]) == {}


@pytest.mark.parametrize(
    ("reserved", "scores", "is_high"),
    [(8, 20, False), (9, 20, True), (19, 19, False), (400, 1000, False), (401, 1000, True)],
)
def test_more_than_40_percent_of_20_scores_or_more_is_often(reserved, scores, is_high):
    assert ReservedUse(reserved=reserved, scores=scores).is_high is is_high


def test_researchers_see_the_share_of_each_participant(study, staff_client):
    me = make_annotator(study)
    for item in study.items.main()[:5]:
        rate(me, item, 3, 5, 3, 1)

    page = staff_client.get(reverse("admin:study-people", args=[study.pk]))

    assert "75% <b>often</b>" in page.text
    assert "On reserved points" in page.text
    assert "at more than 40% of 20 scores or more" in page.text


def test_what_is_often_is_for_the_analysis_plan_to_say(study, staff_client):
    AnalysisPlan.objects.create(study=study, thresholds={"reserved": 0.8})
    me = make_annotator(study)
    for item in study.items.main()[:5]:
        rate(me, item, 3, 5, 3, 1)

    page = staff_client.get(reverse("admin:study-people", args=[study.pk]))

    assert "75%" in page.text
    assert "<b>often</b>" not in page.text


def test_how_many_scores_it_takes_is_for_the_plan_too_and_the_page_tells_both(study, staff_client):
    AnalysisPlan.objects.create(study=study, thresholds={"reserved": 0.7, "reserved_ratings": 4})
    rate(make_annotator(study), study.items.main()[0], 3, 5, 3, 1)

    page = staff_client.get(reverse("admin:study-people", args=[study.pk]))

    assert "75% <b>often</b>" in page.text
    assert "at more than 70% of 4 scores or more" in page.text


def test_protocols_without_such_points_are_not_asked_about_them(staff_client):
    study = make_study(protocol="fluency", items=0)

    page = staff_client.get(reverse("admin:study-people", args=[study.pk]))

    assert reserved_points(study.config) == {}
    assert "reserved" not in page.text
