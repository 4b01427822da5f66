"""The chart of pace and agreement, and the people who are flagged."""

import pytest
from django.urls import reverse

from evalsite.decisions.exclusions import exclude
from evalsite.decisions.models import PeopleFigures
from evalsite.decisions.person_measures import Measures
from evalsite.lib.clock import now
from evalsite.results.people.views import draw_scatter
from tests.support.factories import make_participant, make_study

pytestmark = pytest.mark.django_db


def measure(pseudonym: str, seconds: float, agreement: float | None = None) -> Measures:
    return Measures(pseudonym=pseudonym, answers=20, seconds=seconds, agreement=agreement)


def test_points_lie_by_pace_and_agreement():
    people = [measure("p-a", 10, 0.3), measure("p-b", 30, 0.9)]

    scatter = draw_scatter(people, flagged=["p-a"], excluded=[])

    assert scatter is not None
    other, flagged = scatter.points
    assert (flagged.pseudonym, flagged.kind, flagged.agreement) == ("p-a", "flagged", ".30")
    assert float(flagged.x) < float(other.x)
    assert float(flagged.y) > float(other.y)  # further down


def test_people_without_a_figure_are_left_out_and_one_alone_makes_no_chart():
    people = [measure("p-a", 10, 0.2), measure("p-b", 30)]

    assert draw_scatter(people, flagged=[], excluded=[]) is None
    assert draw_scatter([], flagged=[], excluded=[]) is None


def test_of_very_many_people_only_the_flagged_are_points():
    people = [measure(f"p-{number}", 20 + number % 30, 0.5) for number in range(301)]

    scatter = draw_scatter(people, flagged=["p-7"], excluded=["p-8"])

    assert scatter is not None
    assert {point.pseudonym for point in scatter.points} == {"p-7", "p-8"}
    assert scatter.unmarked == 299


def test_flagged_people_come_first_and_are_counted_in_the_headline(staff_client):
    study = make_study(items=1)
    people = [make_participant(study) for _ in range(3)]
    first, second, third = (person.pseudonym for person in people)
    figures = [(10, 0.05), (30, -0.2), (30, 0.5)]
    PeopleFigures.objects.create(
        study=study,
        measured_at=now(),
        seconds=0,
        people={
            person.pk: {"pseudonym": person.pseudonym, "answers": 20,
                        "seconds": seconds, "agreement": agreement}
            for person, (seconds, agreement) in zip(people, figures, strict=True)
        },
    )  # fmt: skip
    exclude(study=study, participants=[people[1]], reason="Too fast", by=None)

    page = staff_client.get(reverse("admin:study-people", args=[study.pk]))

    assert "1 of 3 people is flagged" in page.text
    listed = [person.participant.pseudonym for person in page.context["people"]]
    assert listed == [first, third, second]
    kinds = {point.pseudonym: point.kind for point in page.context["scatter"].points}
    assert kinds == {first: "flagged", second: "excluded", third: ""}
    for shown, names in (("review", [first]), ("excluded", [second])):
        page = staff_client.get(reverse("admin:study-people", args=[study.pk]), {"show": shown})
        assert [one.participant.pseudonym for one in page.context["people"]] == names
        assert f'{first}/">Review the first' in page.text


@pytest.mark.parametrize(
    ("people", "headline"), [(0, "Nobody has started yet"), (2, "2 people have started")]
)
def test_headline_without_a_report(staff_client, people, headline):
    study = make_study(items=1)
    for _ in range(people):
        make_participant(study)
    make_participant(study, is_pilot=True)

    assert headline in staff_client.get(reverse("admin:study-people", args=[study.pk])).text
