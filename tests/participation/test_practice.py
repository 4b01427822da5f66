"""Practice asks what the work asks, and explains each answer in the page's own names."""

import pytest
from django.test import Client

from evalsite.data.items.importer import undo_batch
from evalsite.handout.claims import claim_set
from evalsite.handout.models import Annotation, Slot
from evalsite.instruments.installed import get_protocol
from evalsite.instruments.questions import write_gold
from evalsite.people.models import Visit
from evalsite.studies.gold import count_asked, find_gold, right_values
from evalsite.studies.models import Item, Study
from tests.support.annotators import read_fields
from tests.support.factories import (
    add_batch,
    answer_item,
    launch,
    make_annotator,
    make_learner,
    make_study,
    mint_link,
    practise_every_gold,
)
from tests.support.rounds import make_round

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("promises")]


class Learner:
    """Somebody who has read the instructions and practises, in a browser without scripts."""

    def __init__(self, study: Study) -> None:
        self.me = make_learner(study)
        self.home = mint_link(self.me)
        self.client = Client()

    def ask(self, number: int = 1):
        return self.client.get(f"{self.home}practice/{number}/")

    def answer(self, number: int = 1, **answers: object):
        path = f"{self.home}practice/{number}/"
        hidden = read_fields(self.client.get(path).content.decode())
        data = {name: hidden[name] for name in ("state", "go") if name in hidden}
        said = {name: str(value) for name, value in answers.items()}
        return self.client.post(path, data | said, follow=True)

    def where(self) -> str:
        return self.client.get(self.home).headers["Location"].removeprefix(self.home)


def learn(protocol: str) -> Learner:
    return Learner(launch(practise_every_gold(make_study(items=3, protocol=protocol))))


def names_asked(page) -> list[str]:
    return [question.name for question in page.context["item"].questions]


def told(page) -> list[str]:
    questions = page.context["item"].questions
    return [line.sentence for question in questions for line in question.feedback]


# --- what is asked --------------------------------------------------------------------


@pytest.mark.one_case
@pytest.mark.parametrize("gold", [{"fluency": "5"}, {"fluency": "  ", "coherence": "4"}, {}])
def test_practice_asks_what_the_work_asks_whatever_has_a_gold(gold):
    study = make_study(items=3, protocol="fluency")
    study.items.practice().update(gold=gold)
    one = Learner(launch(study))

    page = one.answer(1, fluency=5, coherence=4)

    assert names_asked(page) == ["fluency", "coherence"]
    assert Annotation.objects.get().ratings.count() == 2
    judged = [question.name for question in page.context["item"].questions if question.feedback]
    unjudged = [one.name for one in page.context["item"].questions if one.is_unjudged]
    assert judged == [key for key, text in gold.items() if text.strip()]
    assert sorted(judged + unjudged) == ["coherence", "fluency"]
    assert page.text.count("no set answer to this question") == len(unjudged)


def test_worked_example_of_the_document_is_answered_in_its_words_and_with_its_reason():
    one = Learner(launch(make_study(items=3, protocol="pairwise")))

    page = one.answer(1, completion="first", readability="tie")

    completion, readability = page.context["item"].questions
    (line,) = completion.feedback
    assert line.sentence == "You chose sys1. The guidelines say sys2."
    assert line.why == "(sys1 does not answer the user query)"
    box = page.text.split('id="completion"')[1].split("</fieldset>")[0]
    assert line.why in box
    assert page.text.count(line.why) == 1
    assert readability.is_unjudged
    met = one.answer(2, completion="first", readability="tie")
    assert told(met) == ["You chose sys1, as in the guidelines."]


def test_part_of_a_gold_that_is_empty_leaves_its_output_asked_and_unjudged():
    study = make_study(items=3)
    study.items.practice().filter(key="practice-1").update(gold={"informativeness": "1<2"})
    one = Learner(launch(study))

    assert len(names_asked(one.ask())) == 3


def test_empty_check_is_refused_and_names_what_is_asked():
    one = learn("pairwise")

    refused = one.answer(1)

    assert refused.status_code == 422
    assert [name for name, _ in refused.context["errors"]] == ["completion", "readability"]
    assert not Annotation.objects.exists()


@pytest.mark.parametrize(
    ("platform", "may_skip"), [("personal", True), ("prolific", False), ("open_link", False)]
)
def test_practice_is_skipped_only_by_people_whom_the_team_knows(platform, may_skip):
    study = launch(make_study())
    one = Learner(study)
    recruitment = make_round(study, platform)
    Visit.objects.create(study=study, participant=one.me, recruitment=recruitment)

    offered = 'value="skip"' in one.ask().text
    one.client.post(f"{one.home}practice/1/", {"go": "skip"})

    one.me.refresh_from_db()
    assert offered is may_skip
    assert (one.me.practised_at is not None) is may_skip
    assert one.where().startswith("practice/") is not may_skip
    assert not Annotation.objects.exists()


def test_missed_item_may_be_tried_again_and_the_first_answer_is_the_one_kept():
    one = learn("pairwise")
    missed = one.answer(1, completion="first", readability="tie")
    assert missed.context["may_try_again"]

    address = f"{one.home}practice/1/?again"
    asked = one.client.get(address)
    refused = one.client.post(address, {})
    met = one.client.post(address, {"completion": "tie", "readability": "tie"}, follow=True)

    assert not asked.context["item"].questions[0].is_disabled
    assert refused.status_code == 422
    assert told(met) == ["You chose tie, as in the guidelines."]
    assert not met.context["may_try_again"]
    rating = Annotation.objects.get().ratings.get(criterion="completion")
    assert rating.value == 1
    assert told(one.ask()) == ["You chose sys1. The guidelines say tie."]


def test_address_of_an_answer_that_is_none_asks_again():
    one = learn("pairwise")
    one.answer(1, completion="first", readability="tie")

    page = one.client.get(f"{one.home}practice/1/?again=checked&completion=both&readability=tie")

    assert (page.status_code, page.context["is_checked"]) == (200, False)


# --- what is said ---------------------------------------------------------------------


def test_responses_are_named_as_on_the_page():
    one = learn("pairwise")

    assert told(one.answer(1, completion="first", readability="tie")) == [
        "You chose sys1. The guidelines say tie."
    ]
    assert told(one.answer(2, completion="second", readability="tie")) == [
        "You chose sys2, as in the guidelines."
    ]
    assert told(one.answer(3, completion="second", readability="tie")) == [
        "You chose sys2. The guidelines say tie."
    ]


def test_verdict_is_at_the_question_that_it_is_about():
    one = learn("rrgen")

    page = one.answer(1, relevance=1, fluency=2, sentiment=7, domain=7, decision=1)

    html = page.content.decode()
    at = {
        question.name: [line.sentence for line in question.feedback]
        for question in page.context["item"].questions
    }
    assert at["relevance"] == ["You chose 1 (Not at all), as we suggest."]
    assert at["fluency"] == ["You chose 2 (Slightly). We suggest 6 or 7."]
    assert at["decision"] == ["You chose ACCEPT. We suggest REJECT."]
    box = html.split('id="fluency"')[1].split("</fieldset>")[0]
    assert '<p class="feedback">You chose 2 (Slightly). We suggest 6 or 7.</p>' in box
    assert "Every sentence is good English" in html


def test_points_are_said_with_their_labels_where_those_are_short():
    fluency = learn("fluency").answer(1, fluency=2, coherence=5)
    dialogue = learn("dialogue").answer(
        1, appropriateness=5, information_content=5, human_likeness=4
    )

    assert told(fluency)[0] == "You chose 2 (poor). We suggest 5."
    assert told(dialogue)[0] == "You chose 5, as we suggest."


def test_way_on_has_the_focus_and_the_answers_can_not_be_changed():
    page = learn("pairwise").answer(1, completion="tie", readability="tie").content.decode()

    assert 'autofocus aria-describedby="status">Next item</a>' in page
    assert page.count('type="radio"') == page.count(" disabled>") == 6


def test_without_a_gold_everything_is_asked_and_nothing_is_judged():
    study = make_study(items=3, protocol="fluency")
    study.items.practice().update(gold={"why": "Both could be said."})
    one = Learner(launch(study))

    page = one.answer(1, fluency=1, coherence=1)

    html = page.content.decode()
    assert html.count("no set answer to this question") == 2
    assert told(page) == []
    assert not page.context["may_try_again"]
    assert "Both could be said." in html
    assert "We suggest" not in html


@pytest.mark.parametrize("protocol", ["rrgen", "fluency"])
def test_practice_offers_nothing_that_would_do_nothing(protocol):
    page = learn(protocol).ask().content.decode()

    assert "/ignore/" not in page
    assert "/report/" not in page
    assert "instructions/" in page


def test_passages_can_be_highlighted_in_practice():
    one = learn("rrgen")
    asked = one.ask()
    (output,) = asked.context["item"].outputs
    scores = dict.fromkeys(("relevance", "fluency", "sentiment", "domain", "decision"), 1)

    page = one.answer(**scores | {output.marks.passages_name: "your wonderful review"})

    assert 'data-marks="' in asked.content.decode()
    assert [mark.text for mark in Annotation.objects.get().ratings.marks()] == [
        "your wonderful review"
    ]
    assert "<mark>your wonderful review</mark>" in page.content.decode()
    assert "data-marks" not in page.content.decode()


# --- items of a batch -----------------------------------------------------------------


def make_practice(study: Study, key: str, gold: dict[str, str]) -> Item:
    """An item of a batch becomes a practice item, as the column kind makes it."""
    add_batch(study, items=1, first=int(key[-3:]))
    item = study.items.get(key=key)
    item.kind, item.gold = Item.Kind.PRACTICE, gold
    item.save()
    return item


def test_practice_items_of_a_batch_follow_the_protocols_own():
    study = make_study(items=3)
    item = make_practice(study, "item-901", {"informativeness": "1<2", "why": "Ours."})
    one = Learner(launch(study))

    page = one.ask(2)

    assert "Practice 2 of 2" in page.content.decode()
    assert item.outputs.first().text in page.content.decode()
    assert one.ask(3).status_code == 404


def test_batch_whose_practice_a_pilot_has_answered_can_be_undone():
    study = make_study(items=3)
    item = make_practice(study, "item-901", {"informativeness": "1<2"})
    me = make_annotator(study, is_pilot=True)
    answer_item(me, item)
    answer_item(me, study.items.practice()[0])

    undo_batch(batch=item.batch, by=None)

    assert [one.item.key for one in Annotation.objects.all()] == ["practice-1"]
    assert not Item.objects.filter(pk=item.pk).exists()


def test_practice_items_of_a_batch_get_no_slots_and_stay_out_of_the_work():
    study = make_study(items=2)
    item = make_practice(study, "item-901", {"informativeness": "1<2"})

    live = launch(study)

    assert not item.slots.exists()
    assert Slot.objects.filter(study=live).count() == 2 * live.k


# --- gold in numbers ------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["magnitude", "rrgen", "dialogue", "fluency", "pairwise"])
def test_every_gold_counts_what_it_asks_and_has_values_that_meet_it(protocol):
    config = get_protocol(protocol)
    for example in config.practice:
        count = len(example.outputs)
        names = [str(number) for number in range(1, count + 1)]
        written = write_gold(config, example)
        for criterion in find_gold(config, written):
            gold = written[criterion.key]
            assert count_asked(criterion, gold, count, 100) >= 1
            assert all(value is not None for value in right_values(criterion, gold, names, 100))


def test_practice_that_shares_its_inputs_takes_nobody_away_from_the_item():
    study = launch(make_study(items=1, set_size=1, k=1, groups="once"))
    item = study.items.main().get()
    practice = study.items.practice().first()
    study.items.filter(pk=practice.pk).update(group=item.group)
    me = make_annotator(study)
    answer_item(me, practice)

    assert claim_set(me).item_ids == [item.pk]
