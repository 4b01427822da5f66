"""Checks made in the browser: from an item, with the right answer given on the item's own page."""

import pytest
from django.urls import reverse

from evalsite.fieldwork.made_checks import MADE_HERE, read_gold
from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.installed import get_protocol
from evalsite.instruments.questions import NumberedText, list_questions
from evalsite.participation.forms import RatingForm
from evalsite.studies.gold import agrees_with_gold
from evalsite.studies.models import Item, Output, Study
from tests.support.factories import launch, make_study


def make_one(client, study: Study, **answers: str):
    """The answer to a post of the right answers for a check from the study's first item."""
    source = study.items.main().first()
    texts = {f"output-{one.position}": f"Text {one.position}" for one in source.outputs.all()}
    sent = {"item": source.key, "kind": "gold", "why": "Because.", **texts}
    address = reverse("admin:check-new", args=[study.pk])
    page = client.post(address, {**sent, "do": "answer"})
    assert "Add this check" in page.text
    return client.post(address, {**sent, **answers, "do": "save"})


def given_to(item: Item, criterion: str, *values: int) -> list[AnswerRow]:
    outputs = item.outputs.order_by("position")
    pairs = zip(outputs, values, strict=True)
    return [AnswerRow(item.pk, output.pk, criterion, value=value) for output, value in pairs]


def test_scores_given_on_the_items_page_become_the_order_that_passes(staff_client):
    study = make_study()

    make_one(
        staff_client,
        study,
        **{"informativeness-1": "90", "informativeness-2": "40", "informativeness-3": "90"},
    )

    item = Item.objects.get(kind="gold")
    outputs = [(one.pk, one.system.name) for one in item.outputs.order_by("position")]
    judged = [
        agrees_with_gold(
            study.config, item.gold, outputs, given_to(item, "informativeness", *scores), 100
        )
        for scores in ((120, 100, 120), (120, 130, 120))
    ]
    assert judged == [True, False]
    assert (item.gold["why"], item.batch.file_name) == ("Because.", MADE_HERE)
    assert [one.text for one in item.outputs.all()] == ["Text 0", "Text 1", "Text 2"]
    listed = staff_client.get(reverse("admin:setup-quality", args=[study.pk]))
    assert "2&lt;1=3" in listed.text
    assert study.items.main().count() == 2


def test_question_without_an_answer_is_not_checked_and_none_at_all_is_refused(staff_client):
    study = make_study()

    refused = make_one(staff_client, study)

    assert refused.status_code == 422
    assert "Answer at least one question" in refused.text
    assert not Item.objects.filter(kind="gold").exists()


def test_a_check_is_made_of_an_instruction_and_the_answer_that_follows_it(staff_client):
    study = make_study(protocol="fluency", items=3)
    Output.objects.filter(item__kind="main", position__gt=0).delete()
    address = reverse("admin:check-new", args=[study.pk])
    page = staff_client.get(address)
    proposed = page.context["form"].initial
    sent = {"item": page.context["source"].key, **proposed}

    after = staff_client.post(address, sent, follow=True)

    item = Item.objects.get(kind="attention")
    last = list(item.outputs.order_by("position"))[-1]
    key, _, answer = proposed["passed_with"].partition("=")
    assert after.redirect_chain[-1][0] == reverse("admin:setup-quality", args=[study.pk])
    assert last.text.endswith(f" {proposed['instruction']}")
    assert item.gold == {key: answer}
    assert answer in proposed["instruction"]
    assert study.items.main().count() == 3


@pytest.mark.parametrize(
    "sent",
    [{"instruction": "", "passed_with": "fluency=2"}, {"instruction": "x", "passed_with": "y=1"}],
)
def test_a_check_without_an_instruction_or_an_answer_is_refused(staff_client, sent):
    study = make_study(protocol="fluency", items=3)
    address = reverse("admin:check-new", args=[study.pk])

    page = staff_client.post(address, {"item": study.items.main()[0].key, **sent})

    assert page.status_code == 422
    assert not Item.objects.filter(kind="attention").exists()


def test_pages_of_several_outputs_are_answered_to_make_a_check(staff_client):
    page = staff_client.get(reverse("admin:check-new", args=[make_study().pk]))

    assert "Choose the right answer" in page.text


def test_check_made_here_is_deleted_with_its_batch_until_the_launch(staff_client):
    study = make_study()
    answers = {f"informativeness-{number}": str(number) for number in (1, 2, 3)}
    make_one(staff_client, study, **answers)
    item = Item.objects.get(kind="gold")
    address = reverse("admin:check-delete", args=[study.pk, item.pk])
    other = make_study(title="Another")

    wrong = staff_client.post(reverse("admin:check-delete", args=[other.pk, item.pk]))
    staff_client.post(address)

    assert wrong.status_code == 404
    assert not study.batches.filter(file_name=MADE_HERE).exists()
    launch(study)
    assert make_one(staff_client, study, **answers).status_code == 422
    assert not Item.objects.filter(kind="gold").exists()


@pytest.mark.parametrize("name", ["magnitude", "rrgen", "dialogue", "fluency", "pairwise"])
@pytest.mark.parametrize("felt", [(-1, 0, 1), (1, -1, 0), (0, 0, 0)])
def test_gold_written_from_answers_is_met_by_them(name, felt):
    config = get_protocol(name)
    count = config.item.outputs.least
    outputs = [NumberedText(11 + number, number, "") for number in range(count)]
    questions = list_questions(config, {}, outputs)
    entries = {
        question.name: question.scale.answer_as_bot(felt, question.place) for question in questions
    }
    form = RatingForm(entries, config=config, questions=questions)
    assert form.is_valid()

    gold = read_gold(form)

    assert set(gold) == {criterion.key for criterion in config.criteria}
    named = [(output.pk, None) for output in outputs]
    assert agrees_with_gold(config, gold, named, form.list_rows(0), 100)
