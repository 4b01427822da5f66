"""Orders on pages of results: how far people's are apart, and what an item shows."""

from typing import Any

import pytest
from django.urls import reverse
from django.utils.html import strip_tags

from evalsite.instruments.scales import read_scale
from evalsite.results.items.records import list_records
from evalsite.results.items.spread import find_limit, find_ratings, measure_records
from evalsite.studies.models import Item, Study
from tests.results.test_analysis_plan import save
from tests.support.answering import RatingPage
from tests.support.batches import import_rows
from tests.support.factories import launch
from tests.support.instruments import make_built_study, read_instrument


def make_live(key: str, systems: str, **fields: Any) -> Study:
    content = read_instrument(key)
    content["criteria"], content["practice"] = content["criteria"][:1], []
    study = make_built_study(content, is_practice_on=False, set_size=1, k=3, **fields)
    name = content["item"]["inputs"][0]["name"]
    import_rows(
        study,
        [{"item": "q1", name: "Question?", "system": system, "output": f"Answer of {system}."}
         for system in systems],
    )  # fmt: skip
    return launch(study)


def answer(study: Study, values: dict[str, str]) -> None:
    """Somebody answers: by system, what is entered for its output."""
    page = RatingPage(study)
    (question,) = page.questions
    names = dict(Item.objects.main().get(study=study).outputs.values_list("text", "system__name"))
    sent = {
        f"{question.name}.{output.number}": values[names[output.text]]
        for output in page.response.context["item"].outputs
        if values.get(names[output.text])
    }
    if question.scale.kind == "best_worst":
        sent = {
            f"{question.name}.{end}": control.rpartition(".")[2] for control, end in sent.items()
        }
    assert page.post(sent).status_code == 302


def measure(study: Study) -> Any:
    (criterion,) = study.config.criteria
    systems = [system.pk for system in study.systems.order_by("name")]
    (spread,) = measure_records(list_records(study), criterion, find_ratings(study), systems)
    return spread


@pytest.mark.django_db
def test_orders_are_apart_by_1_minus_w_and_systems_by_their_mean_places():
    study = make_live("ranking", "abc")
    for places in ("123", "132", "213"):
        answer(study, dict(zip("abc", places, strict=True)))

    spread = measure(study)

    # sums of ranks 4, 6, 8: W = 12 * 8 / (9 * 24)
    assert spread.answers == 3
    assert spread.apart == pytest.approx(1 - 96 / 216)
    assert not spread.is_wide
    assert spread.difference == pytest.approx(4 / 3)


@pytest.mark.django_db
def test_best_and_worst_are_apart_by_1_minus_w_with_the_others_tied():
    study = make_live("best_worst_four", "abcd")
    for best, worst in ("ab", "ba", "cd"):
        answer(study, {best: "best", worst: "worst"})

    spread = measure(study)

    # ranks 1, 4 and twice 2.5; sums 7.5, 7.5, 6, 9; ties 3 * 6 of 9 * 60
    squares = 0 + 0 + 1.5**2 + 1.5**2
    assert spread.apart == pytest.approx(1 - 12 * squares / (9 * 60 - 3 * 18))
    assert spread.is_wide
    assert spread.difference == pytest.approx(2 / 3)


def test_orders_differ_under_a_w_of_3_tenths():
    limit = find_limit(read_scale({"kind": "ranking"}))

    assert (limit.unit, limit.least) == ("orders", pytest.approx(0.7))


# --- pages --------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_item_says_each_answer_by_its_outputs_and_whether_orders_differ(staff_client):
    study = make_live("ranking", "abc")
    for places in ("123", "132"):
        answer(study, dict(zip("abc", places, strict=True)))
    item = Item.objects.main().get(study=study)

    page = staff_client.get(reverse("admin:results-item", args=[study.pk, item.pk]))

    text = " ".join(strip_tags(page.text).split())
    assert "people’s orders partly agree on Rank" in text
    assert text.count("place 1") == 2
    rows = staff_client.get(reverse("admin:results-items", args=[study.pk])).text
    assert "On no item do people’s orders differ much" in rows


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("relation", "is_taken"),
    [("better", True), ("differs", True), ("equivalent", False), ("not_worse", False)],
)
def test_claims_about_orders_are_planned_without_a_margin(staff_client, relation, is_taken):
    study = make_live("ranking", "abc")
    (criterion,) = study.config.criteria
    said = {
        "system-1": "a", "relation-1": relation, "other-1": "b", "margin-1": "0.5",
        "criterion-1": criterion.key,
    }  # fmt: skip

    page = save(staff_client, study, **said)

    assert (page.status_code == 302) is is_taken
    assert ("no points that a margin could be given in" in page.text) is not is_taken


@pytest.mark.django_db
def test_corrections_are_apart_by_their_edits_per_100_words(staff_client, researcher):
    study = make_live("post_edit", "a", by=researcher)
    # "Answer of a.": one word of three differs, then all do
    for text in ("Answer of b.", "All is new"):
        page = RatingPage(study)
        (question,) = page.questions
        assert page.post({question.name: text}).status_code == 302

    spread = measure(study)
    assert (spread.apart, spread.is_wide) == (66.667, True)
    for name, place in (("results-items", []), ("results-item", [study.items.main().get().pk])):
        page = staff_client.get(reverse(f"admin:{name}", args=[study.pk, *place]))
        assert page.context["choice"].limit.unit == "edits"
