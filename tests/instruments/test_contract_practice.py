"""What every protocol must keep before the work: practice, and questions on the instructions."""

from typing import Any

import pytest
from django.test import Client
from django.utils.html import escape

from evalsite.handout.models import Annotation
from evalsite.instruments.installed import installed_protocols
from evalsite.instruments.questions import read_ratings
from evalsite.instruments.schema import Criterion, Instrument
from evalsite.participation.feedback import right_entries, standard_of
from evalsite.participation.screens import (
    Screen,
    load_screen,
)
from evalsite.studies.gold import find_gold
from evalsite.studies.models import Item
from tests.instruments.test_contract import check_missing
from tests.support.factories import launch, make_learner, make_study, mint_link

pytestmark = pytest.mark.django_db


@pytest.fixture(params=sorted(installed_protocols()))
def config(request: pytest.FixtureRequest) -> Instrument:
    return installed_protocols()[request.param]


class Learner:
    """Somebody who has read the instructions and comes to practice next, without scripts."""

    def __init__(self, config: Instrument) -> None:
        self.study = make_study(protocol=config.key)
        self.items = list(self.study.items.practice())
        self.me = make_learner(launch(self.study))
        self.home = mint_link(self.me)
        self.client = Client()

    def screen(self, item: Item) -> Screen:
        return load_screen(self.me, item, None)

    def check(self, number: int, answers: dict[str, str]) -> Any:
        """The page after [Check]."""
        page = f"{self.home}practice/{number}/"
        state = self.client.get(page).context["state"]
        return self.client.post(page, {"state": state, "go": "next", **answers}, follow=True)


def fill(screen: Screen, answers: dict[str, str]) -> dict[str, str]:
    """These answers, and any other where a question asks for what gold leaves open."""
    felt = [0.0] * len(screen.outputs)
    given = {
        question.name: answers.get(
            question.name, question.scale.answer_as_bot(felt, question.place)
        )
        for question in screen.questions
    }
    return given | {
        question.comment_name: "So it is."
        for question in screen.questions
        if question.criterion.comment
    }


def find_other(criterion: Criterion, right: str) -> str:
    """Another answer that people might give."""
    felt = ([2.0, -2.0], [-2.0, 2.0], [0.0, 0.0], [-0.5, 0.4])
    entries = (criterion.scale.answer_as_bot(one, 1) for one in felt)
    # of a preference with reasons, the preference itself
    head = (lambda one: one.split(" ")[0]) if criterion.scale.compares else str
    return next(one for one in entries if head(one) != head(right))


def make_wrong(criterion: Criterion, right: str, standard: int) -> str:
    """An answer that this gold does not suggest, made from one that it does."""
    scale = criterion.scale
    if right not in {"first", "second", "tie"} and not right.isdigit():
        return find_other(criterion, right)
    if scale.compares:
        return {"first": "second", "second": "tie", "tie": "first"}[right]
    if scale.has_standard:
        return str(max(1, 2 * standard - int(right)))  # every order turned round
    is_low = int(right) * 2 <= scale.minimum + scale.maximum
    return str(scale.maximum if is_low else scale.minimum)


@pytest.mark.one_case
@pytest.mark.slow
def test_practice_asks_what_the_work_asks_and_agrees_with_who_answers_by_its_gold(config):
    learner = Learner(config)

    for number, item in enumerate(learner.items, start=1):
        screen = learner.screen(item)
        page = learner.check(number, fill(screen, right_entries(screen)))

        assert page.status_code == 200
        asked = [question.criterion for question in page.context["item"].questions]
        assert [one.key for one in dict.fromkeys(asked)] == [one.key for one in config.criteria]
        judged = {one.label for one in find_gold(config, item.gold)}
        for question in page.context["item"].questions:
            assert {line.criterion for line in question.feedback} <= judged
        lines = [line for question in page.context["item"].questions for line in question.feedback]
        assert bool(lines) == bool(find_gold(config, item.gold))
        assert all(line.is_met for line in lines), lines
        assert all(", as " in one.sentence for one in lines)
        if item.gold.get("why"):
            assert escape(item.gold["why"].splitlines()[0]) in page.content.decode()
    assert learner.client.get(learner.home).headers["Location"].endswith("/sets/1/items/1/")


@pytest.mark.one_case
def test_practice_says_what_is_suggested_to_who_answers_otherwise(config):
    learner = Learner(config)
    unmet = 0

    for number, item in enumerate(learner.items, start=1):
        screen = learner.screen(item)
        kinds = {question.name: question.criterion for question in screen.questions}
        wrong = {
            name: make_wrong(kinds[name], right, standard_of(screen) or 100)
            for name, right in right_entries(screen).items()
        }
        page = learner.check(number, fill(screen, wrong))

        html = page.content.decode()
        for line in [one for asked in page.context["item"].questions for one in asked.feedback]:
            assert escape(line.sentence) in html
            if not line.is_met:
                unmet += 1
                words = ("We suggest ", "The guidelines say ", " should ")
                assert any(one in line.sentence for one in words)

    assert unmet >= len([item for item in learner.items if find_gold(config, item.gold)])


@pytest.mark.one_case
def test_empty_check_is_refused_and_names_what_is_missing(config):
    learner = Learner(config)

    for number in range(1, len(learner.items) + 1):
        page = learner.check(number, {})

        assert page.status_code == 422
        check_missing(page)
    assert not Annotation.objects.filter(study=learner.study).exists()


def test_questions_on_the_instructions_have_one_right_answer_each(config):
    asked = [one.question for one in config.comprehension]

    for one in config.comprehension:
        where = f"practice.json, comprehension, {one.question!r}:"
        assert one.question.endswith("?"), f"{where} end the question with a question mark."
        assert one.why, f'{where} say under "why" why the answer is right.'
        assert len(one.choices) == len(set(one.choices)) >= 2, (
            f"{where} give two or more choices that differ."
        )
        assert one.choices.count(one.right) == 1, (
            f'{where} "right" is {one.right!r}, which must be one of the choices, word for word.'
        )
    assert len(asked) == len(set(asked)), f"Ask each comprehension question once: {asked}"


def test_there_are_enough_questions_on_the_instructions(config):
    count = len(config.comprehension)
    assert 3 <= count <= 5, (
        f'practice.json has {count} questions under "comprehension". Write 3 to 5: a study can '
        "ask them before any work, where practice items have no gold."
    )
    places = {one.choices.index(one.right) for one in config.comprehension}
    assert len(places) > 1, (
        f"The right answer of each comprehension question is choice {places.pop() + 1}. Put it in "
        "different places."
    )


@pytest.mark.one_case
def test_worked_examples_can_be_looked_up_while_practising(config):
    learner = Learner(config)

    practice = learner.client.get(f"{learner.home}practice/1/").content.decode()
    page = learner.client.get(f"{learner.home}examples/")

    assert (f'href="{learner.home}examples/"' in practice) == bool(config.examples)
    assert page.status_code == (200 if config.examples else 404)
    for example in config.examples:
        for text in example.texts:
            assert escape(text) in page.content.decode()
        for key in example.ratings:
            criterion = config.criterion_by_key[key]
            said = criterion.scale.describe_ratings(read_ratings(criterion, example))
            assert not example.criterion or escape(said) in page.content.decode()
