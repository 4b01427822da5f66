"""Flags on people who work carelessly, as the page of people shows them while a study runs."""

import re
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.urls import reverse

from evalsite.analysis.thresholds import START
from evalsite.decisions.models import PeopleFigures
from evalsite.decisions.people_figures import (
    find_figures,
    measure_new_answers,
    read_people,
    store_figures,
)
from evalsite.decisions.person_measures import Measures
from evalsite.fieldwork.simulation import Crowd, Visitor
from evalsite.handout.models import Annotation
from evalsite.lib.clock import now, standing_at
from evalsite.results.people.work_flags import flag_people, list_unjudged
from evalsite.studies.models import Item, Output
from tests.support.checks import add_checks
from tests.support.factories import answer_item, launch, make_annotator, make_study
from tests.support.ignoring import add_reviews


def flags_of(**figures: Any) -> list[str]:
    """The flags of somebody beside nine who take 30 seconds and agree at .6."""
    usual = {
        pk: Measures(pseudonym=f"p-{pk}", answers=30, seconds=30, top_share=0.4, agreement=0.6)
        for pk in range(1, 10)
    }
    mine = Measures(**{"pseudonym": "p-0", "answers": 30, "seconds": 30, **figures})
    return [flag.code for flag in flag_people({0: mine, **usual}, START).get(0, [])]


@pytest.mark.parametrize(
    ("figures", "flags"),
    [
        ({"seconds": 9.8, "answers": 10}, ["too_fast"]),
        ({"seconds": 9.8, "answers": 9}, []),
        ({"seconds": 9.9, "answers": 10}, []),
        ({"pages": 4, "under": 2, "answers": 4}, ["too_fast"]),
        ({"pages": 4, "under": 1, "answers": 4}, []),
        ({"seconds": 9.8, "pages": 10, "under": 2, "answers": 8}, ["too_fast"]),
        ({"top_share": 1, "uses": [(5, 5, 0.1)], "answers": 5}, ["same_answer"]),
        ({"top_share": 1, "uses": [(5, 5, 0.1), (5, 5, 0.2)], "answers": 5}, []),
        ({"agreement": 0.09, "shared": 20, "answers": 20}, ["disagrees"]),
        ({"agreement": 0.09, "shared": 10, "answers": 20}, []),  # its interval holds the mean
        ({"agreement": 0.09, "shared": 19, "answers": 19}, []),
        ({"agreement": -0.3, "shared": 12, "answers": 12}, ["disagrees"]),
        ({"attention": 2, "failed_attention": 1}, ["failed_checks"]),
        ({"attention": 1, "failed_attention": 1}, []),
        ({"attention": 3, "failed_attention": 1}, []),
        ({"checks": 4, "failed_checks": 4}, []),  # gold alone
    ],
)
def test_each_line_is_drawn_where_the_rules_say(figures: dict[str, Any], flags: list[str]) -> None:
    assert flags_of(**figures) == flags


@pytest.mark.parametrize(
    ("figures", "needs"),
    [
        # .65 ** 17 = .00066; with two ratings to an answer, half as many
        ({"answers": 8, "pages": 8, "uses": [(8, 4, 0.5)]}, ["17", "12", "2"]),
        ({"answers": 8, "pages": 8, "uses": [(16, 4, 0.5)]}, ["9", "12", "2"]),
        ({"answers": 3, "pages": 3, "uses": [(3, 2, 0.0)]}, ["4", "5", "12", "2"]),
        # .95 ** 135 = .00098
        ({"answers": 40, "agreement": 0.2, "uses": [(40, 9, 0.8)], "attention": 2}, ["135"]),
        ({"answers": 40, "agreement": 0.2, "uses": [(40, 9, 0.2)], "attention": 2}, []),
    ],
)
def test_flags_that_cannot_be_raised_yet_say_from_how_many_answers_they_can(
    figures: dict[str, Any], needs: list[str]
) -> None:
    sentences = list_unjudged(Measures(pseudonym="p-0", **figures), START, has_order=True)

    assert [re.search(r"needs (\d+)", sentence)[1] for sentence in sentences] == needs


def test_flags_that_can_never_be_raised_say_so() -> None:
    figures = {"answers": 40, "uses": [(40, 39, 0.85)], "attention": 2}
    alone = Measures(pseudonym="p-0", **figures)

    assert len(list_unjudged(alone, START, has_order=True)) == 2  # nobody to disagree with
    assert len(list_unjudged(alone, START, has_order=False)) == 1


@pytest.mark.django_db
def test_measures_say_how_many_pages_were_too_fast_to_read_and_what_others_answer() -> None:
    study = launch(make_study(items=3))
    study.items.update(inputs={"source": "word " * 100})
    Output.objects.update(text="another " * 50)
    people = [make_annotator(study) for _ in range(2)]
    for person in people:
        for item in study.items.main():
            answer_item(person, item)
    # 100 words and 50, once: 15 s, then nothing new to read
    Annotation.objects.update(active_ms=2_000)
    Annotation.objects.filter(participant=people[1]).update(active_ms=20_000)
    store_figures(study)

    first, second = read_people(find_figures(study)).values()

    assert (first.pages, first.under, second.under) == (3, 1, 0)
    ratings = Output.objects.filter(item__in=study.items.main()).count()
    assert first.uses == [[ratings, ratings, 1.0]]


@pytest.mark.both_databases
@pytest.mark.django_db
def test_new_answers_are_measured_once_and_soon():
    study = launch(make_study(items=3))
    me = make_annotator(study)
    assert measure_new_answers() is None
    first, second = study.items.main()[:2]

    answer_item(me, first)
    assert measure_new_answers() == "measured the people of 1 study"
    assert measure_new_answers() is None
    answer_item(me, second)
    with standing_at(now() + timedelta(hours=1)):
        assert measure_new_answers() == "measured the people of 1 study"

    [person] = PeopleFigures.objects.get(study=study).people.values()
    assert (person["pseudonym"], person["answers"]) == (me.pseudonym, 2)


class Careful(Visitor):
    """Somebody who rates what they see, passes checks of attention and stays for three sets."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.sets_wanted = 3

    def _walks_away(self, address: str) -> bool:
        return False

    def _ignores(self) -> bool:
        return False

    def _value(self, question: Any, item: Item, outputs: Any) -> str:
        if item.kind == Item.Kind.ATTENTION and question.criterion.key in item.gold:
            return item.gold[question.criterion.key]
        return super()._value(question, item, outputs)


class Lazy(Careful):
    """The same point everywhere, as fast as it goes."""

    def _value(self, question: Any, item: Item, outputs: Any) -> str:
        points = question.scale.kind == "likert"
        return str(6) if points else super()._value(question, item, outputs)

    def _spend(self, least: float, most: float) -> None:
        self.moment += timedelta(seconds=self.draw.uniform(1, 3))


class Rolling(Careful):
    """Any point, at a usual pace."""

    def _value(self, question: Any, item: Item, outputs: Any) -> str:
        points = question.scale.kind == "likert"
        if points:
            return str(self.draw.randint(1, 7))
        return super()._value(question, item, outputs)


@pytest.mark.django_db
@pytest.mark.torture
def test_careless_people_of_a_planted_crowd_are_flagged_and_careful_ones_are_not(staff_client):
    planted = [Careful] * 50 + [Lazy] * 10 + [Rolling] * 10
    Random(7).shuffle(planted)
    study = make_study(
        protocol="rrgen", items=0, k=len(planted), set_size=12, checks_per_person=6, max_sets=3,
        is_demo=True,
    )  # fmt: skip
    add_reviews(study, reviews=12, responses=3)
    add_checks(study, 6, kind="attention", outputs=1)
    study.items.filter(kind="attention").update(
        gold={one.key: "2" for one in study.config.criteria if one.scale.kind == "likert"},
        inputs={"review": "Please choose 2 here."},
    )
    launch(study)
    crowd, kinds = Crowd(study, "planted"), {}
    for number, kind in enumerate(planted):
        arrival = now() - timedelta(days=2, minutes=-number)
        visitor = kind(crowd, Random(f"planted/{number}"), arrival, latest=now())
        kinds[visitor.take_part(is_pilot=False).pseudonym] = kind
    store_figures(study)

    page = staff_client.get(reverse("admin:study-people", args=[study.pk]))

    flagged = page.context["scatter"].points
    found = {one.pseudonym for one in flagged if one.kind == "flagged"}
    careless = {name for name, kind in kinds.items() if kind is not Careful}
    assert len(found & careless) >= 0.9 * len(careless)
    assert len(found - careless) <= 0.02 * len(kinds.keys() - careless)
