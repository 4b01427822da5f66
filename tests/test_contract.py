"""What every protocol must keep. The suite finds installed protocols by itself."""

import io
import json
import re
from random import Random
from typing import Any
from urllib.parse import urlsplit

import pandas
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import resolve
from django.utils.html import escape

from evalsite.annotation.display import question_names
from evalsite.annotation.launch import launch_study
from evalsite.annotation.models import Annotation, Rating
from evalsite.annotation.simulation import Crowd, Visitor, simulate_crowd
from evalsite.exchange.checking import check_file
from evalsite.exchange.demo import import_example
from evalsite.exchange.exporting import Choice, stream_file
from evalsite.jobs.services import run_job
from evalsite.lib.clock import now
from evalsite.protocol import Likert, ProtocolConfig, installed_protocols
from evalsite.studies.gold import check_gold
from evalsite.studies.models import Item, Output, Study, System
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db

# save, redirect, next page (design: 14), besides BEGIN and COMMIT
MOST_QUERIES = 14


@pytest.fixture(params=sorted(installed_protocols()))
def config(request: pytest.FixtureRequest) -> ProtocolConfig:
    return installed_protocols()[request.param]


def make_live(config: ProtocolConfig, **fields: Any) -> Study:
    """A live demo study of this protocol with its own example batch."""
    study = make_study(protocol=config.label, items=0, is_demo=True, **fields)
    import_example(study, by=make_user())
    run_job(launch_study(study=study, by=make_user()))
    study.refresh_from_db()
    return study


class Reader(Visitor):
    """A visitor that keeps every page it saw, and stops before its first rating if asked to."""

    def __init__(self, study: Study, *, is_rating: bool = False) -> None:
        super().__init__(Crowd(study, "reader"), Random(1), now(), latest=now())
        self.pages: list[tuple[str, str]] = []
        self.is_rating = is_rating

    def _get(self, address: str) -> Any:
        page, address = super()._get(address)
        self.pages.append((address, page.content.decode()))
        return page, address

    def _walks_away(self, address: str) -> bool:
        return not self.is_rating and resolve(urlsplit(address).path).url_name == "rating-page"


def open_rating_page(study: Study) -> str:
    """The address of the first rating page of a new participant."""
    reader = Reader(study)
    reader.take_part(is_pilot=False)
    return reader.pages[-1][0]


def test_instrument_is_declared_whole(config):
    keys = [criterion.key for criterion in config.criteria]

    assert keys
    assert len(keys) == len(set(keys))
    for criterion in config.criteria:
        assert criterion.label
        assert criterion.definition
        if isinstance(criterion.scale, Likert):
            points = [point.value for point in criterion.scale.points]
            assert points == list(range(points[0], points[0] + len(points)))
            assert all(point.label for point in criterion.scale.points)
    for text in (config.title, config.summary, config.origin, config.instructions_title):
        assert text
    assert config.instructions.strip()
    assert config.inputs
    assert 1 <= config.outputs[0] <= config.outputs[1]
    json.dumps(config.describe())


def test_examples_and_practice_fit_the_instrument(config):
    required = {column.name for column in config.inputs if column.is_required}
    columns = {column.name for column in config.inputs}
    fewest, most = config.outputs

    assert config.practice
    for example in (*config.worked_examples, *config.practice):
        assert required <= set(example.inputs) <= columns
        assert fewest <= len(example.outputs) <= most
        assert set(example.ratings) <= set(config.criterion_by_key)
        for key, text in example.gold.items():
            check_gold(config.criterion_by_key[key], text, example.outputs)
        for column, passages in example.marked.items():
            assert all(passage in example.inputs[column] for passage in passages)


def test_defaults_pass_the_protocols_own_form(config):
    if config.options_form is None:
        assert config.default_options == {}
    else:
        form = config.options_form(config.default_options)
        assert form.is_valid(), form.errors


def test_example_batch_is_ready_to_import(config):
    study = make_study(protocol=config.label, items=0)

    with config.example_batch.open("rb") as source:
        checked = check_file(source, study=study)

    assert checked.faults == []
    assert len(checked.items) >= 10
    assert len(checked.systems) >= 2


def test_crowd_rates_all_of_the_example_batch(config):
    study = make_live(config, k=1)
    items = Item.objects.main().filter(study=study).count()

    for _ in simulate_crowd(study, participants=items, seed="contract"):
        if Annotation.objects.filter(study=study).counted().count() >= items:
            break

    counted = Annotation.objects.filter(study=study).counted()
    assert counted.count() == items
    assert set(Annotation.objects.filter(study=study).values_list("origin", flat=True)) == {
        "simulated"
    }
    rated = counted.filter(outcome="rated")
    assert rated.count() > 0.8 * items
    for annotation in rated.prefetch_related("ratings", "item__outputs"):
        outputs = annotation.item.outputs.count()
        assert len(annotation.ratings.all()) == len(question_names(config, outputs))
    assert read_back(study) == in_database(study)


def read_back(study: Study) -> list[tuple[str, ...]]:
    """Item, criterion and value of each rating of the export, as the documented call reads it."""
    sent = b"".join(stream_file(study, Choice(file="ratings"), by=None))
    table = pandas.read_csv(io.BytesIO(sent), dtype=str, keep_default_na=False)
    columns = table[["participant", "item", "criterion", "value"]]
    return sorted(columns.itertuples(index=False, name=None))


def in_database(study: Study) -> list[tuple[str, ...]]:
    rows = Rating.objects.filter(study=study).values_list(
        "annotation__participant__pseudonym", "annotation__item__key", "criterion", "value"
    )
    return sorted((*names, str(value)) for *names, value in rows)


def test_rating_page_shows_every_output_and_asks_every_question(config):
    study = make_live(config)

    response = Client().get(open_rating_page(study))

    html = response.content.decode()
    assert response.context["item"].questions
    for question in response.context["item"].questions:
        assert f'name="{question.name}"' in html
    for output in response.context["item"].outputs:
        assert escape(output.text) in html
    ids = re.findall(r'\sid="([^"]+)"', html)
    assert len(ids) == len(set(ids)), "something is shown twice"


def test_empty_form_is_refused_and_says_what_is_missing(config):
    study = make_live(config)
    page = open_rating_page(study)
    client = Client()
    state = client.get(page).context["state"]

    response = client.post(page, {"state": state, "go": "next"})

    assert response.status_code == 422
    asked = [question.name for question in response.context["item"].questions]
    assert [name for name, _ in response.context["errors"]] == asked
    html = response.content.decode()
    assert html.count('class="error"') >= len(asked)
    assert "<title>Error: " in html
    assert not Rating.objects.filter(study=study, annotation__item__kind="main").exists()


def test_saving_and_going_on_takes_a_bounded_number_of_queries(config):
    study = make_live(config, k=3)
    page = open_rating_page(study)
    visitor = Reader(study)
    client = Client()
    answers = visitor._rate({"state": client.get(page).context["state"]})

    with CaptureQueriesContext(
        connection,
    ) as queries:
        response = client.post(page, answers, follow=True)

    assert response.status_code == 200
    asked = [
        query["sql"]
        for query in queries
        if not query["sql"].startswith(("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE"))
    ]
    assert len(asked) <= MOST_QUERIES, "\n".join(asked)


def test_nothing_tells_a_participant_what_produced_an_output(config):
    study = make_live(config)
    reader = Reader(study, is_rating=True)

    reader.take_part(is_pilot=False)

    texts = " ".join(
        [str(item.inputs) for item in study.items.all()]
        + [output.text for output in Output.objects.filter(study=study)]
    )
    secrets = [
        *System.objects.filter(study=study).values_list("name", flat=True),
        *Item.objects.main().filter(study=study).values_list("key", flat=True),
        *study.batches.values_list("file_name", flat=True),
    ]
    for address, html in reader.pages:
        for secret in secrets:
            if secret in texts or secret in config.instructions:
                continue  # the very word is part of what is judged
            assert not re.search(rf"\b{re.escape(secret)}\b", html)
            assert secret not in address
    assert any("/finish/" in address for address, _ in reader.pages)


def test_version_freezes_the_instrument(config):
    study = make_live(config)

    content = study.version.content

    assert content["instrument"] == json.loads(json.dumps(config.describe()))
    assert content["texts"]["instructions"] == config.instructions
