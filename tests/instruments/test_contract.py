"""What every protocol must keep. The suite finds installed protocols by itself."""

import io
import json
import re
from random import Random
from typing import Any
from urllib.parse import urlsplit

import pandas
import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import resolve, reverse
from django.utils.html import escape

from evalsite.core.jobs.services import run_job
from evalsite.data.demo import import_example, make_demo_study
from evalsite.data.files.services import Choice, stream_file
from evalsite.data.fsck import find_breaches
from evalsite.fieldwork.launch import launch_study
from evalsite.fieldwork.simulation import Crowd, Visitor, simulate_crowd
from evalsite.handout.models import Annotation, Rating
from evalsite.instruments.checks import check_instrument, read_instrument
from evalsite.instruments.installed import find_folder, installed_protocols
from evalsite.instruments.questions import list_questions, write_gold
from evalsite.instruments.schema import Criterion, Instrument
from evalsite.lib.clock import now
from evalsite.participation.view_models import QuestionView
from evalsite.studies.gold import check_gold
from evalsite.studies.models import Item, Output, Study, System
from tests.support.batches import keep_first
from tests.support.checking import check_file
from tests.support.factories import make_study, make_user, open_to_everyone

pytestmark = pytest.mark.django_db

# save, redirect, next page (design: 14), besides BEGIN and COMMIT
MOST_QUERIES = 14
# items that a crowd rates
FIRST = 6


@pytest.fixture(params=sorted(installed_protocols()))
def config(request: pytest.FixtureRequest) -> Instrument:
    return installed_protocols()[request.param]


def make_live(config: Instrument, *, first: int | None = None, **fields: Any) -> Study:
    """A live demo study of this protocol with its own example batch, or the first items of it."""
    study = make_study(protocol=config.key, items=0, is_demo=True, **fields)
    import_example(study, by=make_user())
    if first is not None:
        keep_first(study, first)
    run_job(launch_study(study=study, by=make_user()))
    study.refresh_from_db()
    open_to_everyone(study)
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


def is_plain(criterion: Criterion) -> bool:
    """Tell whether its question always has an answer of one row."""
    return criterion.is_always_answered and not criterion.scale.has_parts


def needs(question: QuestionView) -> bool:
    """Tell whether saying nothing is no answer to a question that is always asked."""
    criterion = question.criterion
    field = question.scale.make_field(criterion, "this output")
    try:
        field.clean("")
    except ValidationError:
        return criterion.is_always_answered
    return False


def check_missing(page: Any) -> list[str]:
    """All that is always asked is missing, in the order of the page; return its questions."""
    named = [name for name, _ in page.context["errors"]]
    questions = page.context["item"].questions
    asked = [one.name for one in questions if needs(one)]
    # others may be asked because of what is not answered
    optional = {one.name for one in questions if one.criterion.ask_if is not None}
    assert [name for name in named if name not in optional] == asked
    return asked


def test_instrument_is_declared_whole(config):
    data = json.loads(json.dumps(config.to_data()))  # stored with each study, as JSON
    faults = "\n".join(map(str, check_instrument(data)))
    assert not faults, f"Correct protocol.json, instructions.md or practice.json:\n{faults}"
    assert read_instrument(data) == config
    for name in ("instructions_title", "criteria", "columns"):
        assert getattr(config, name), f"Give the protocol {name}, in protocol.json."
    assert not config.has_highlight or (config.highlight and config.item.outputs.kind == "text"), (
        'highlight needs words, and output_kind "text": what is marked in the text '
        "shown must be a passage of the text stored."
    )


def test_criteria_are_declared_whole(config):
    keys = [criterion.key for criterion in config.criteria]

    assert len(keys) == len(set(keys)), f"Give each criterion a key of its own. There are: {keys}"
    for criterion in config.criteria:
        where = f"Criterion {criterion.key!r}"
        assert criterion.label, f"{where} has no label."
        assert criterion.definition or criterion.question, (
            f"{where} has neither a definition nor a question."
        )
        answers = criterion.scale.list_answers()
        values = [value for value, _ in answers]
        assert values == list(range(values[0], values[0] + len(values))) if values else True, (
            f"{where}: its answers are {values}. Number them one by one, from low to high."
        )
        # only the ends of a line of points must have words
        unnamed = [value for value, label in (*answers[:1], *answers[-1:]) if not label]
        assert not unnamed, f"{where}: give these answers a label: {unnamed}"


def test_examples_and_practice_fit_the_instrument(config):
    required = {column.name for column in config.columns if column.required}
    columns = {column.name for column in config.columns}
    fewest, most = config.item.outputs.least, config.item.outputs.most

    assert config.practice, 'List one practice item or more under "practice" in practice.json.'
    for example in (*config.examples, *config.practice):
        where = f"practice.json, the example with the outputs {list(example.outputs)}:"
        assert required <= set(example.inputs) <= columns, (
            f"{where} its inputs are {sorted(example.inputs)}, those of the protocol "
            f"{sorted(columns)}, of which it needs {sorted(required)}."
        )
        assert fewest <= len(example.outputs) <= most, (
            f"{where} give it {fewest} to {most} outputs, as an item has."
        )
        unknown = {*example.ratings, *example.gold} - set(config.criterion_by_key)
        assert not unknown, (
            f"{where} there is no criterion {sorted(unknown)}. There are "
            f"{sorted(config.criterion_by_key)}."
        )
        for key, text in write_gold(config, example).items():
            check_gold(config.criterion_by_key[key], text, example.outputs)
        for column, passages in example.marked.items():
            missing = [one for one in passages if one not in example.inputs[column]]
            assert not missing, f"{where} {column!r} doesn't contain what it marks: {missing}"


def test_defaults_pass_the_protocols_own_form(config):
    if config.options_form is None:
        assert config.default_options == {}
    else:
        form = config.options_form(config.default_options)
        assert form.is_valid(), form.errors


def test_example_batch_is_ready_to_import(config):
    study = make_study(protocol=config.key, items=0)

    with find_folder(config.key).example_batch.open("rb") as source:
        checked = check_file(source, study=study)

    faults = "\n".join(map(str, checked.faults))
    assert not checked.faults, f"Correct example_batch.csv:\n{faults}"
    assert len(checked.items) >= 10, (
        f"example_batch.csv has {len(checked.items)} items. The demo study needs 10 or more."
    )
    assert len(checked.systems) >= 2, (
        f"example_batch.csv has outputs of {checked.systems} only. Results compare two or more."
    )


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize("first", [FIRST, pytest.param(None, marks=pytest.mark.torture)])
def test_crowd_rates_all_of_the_example_batch(config, first):
    """The suite has the first items rated, `make torture` all."""
    study = make_live(config, first=first, k=1)
    items = Item.objects.main().filter(study=study).count()

    for _ in simulate_crowd(study, participants=items, seed="contract"):
        if Annotation.objects.filter(study=study).counted().count() >= items:
            break

    counted = Annotation.objects.filter(study=study).counted()
    assert counted.count() == items
    assert set(Annotation.objects.filter(study=study).values_list("origin", flat=True)) == {
        "simulated"
    }
    assert find_breaches(study) == []
    rated = counted.filter(outcome="rated")
    assert rated.count() > 0.8 * items, "Too few items can be rated. Is too much ignored?"
    for annotation in rated.prefetch_related("ratings", "item__outputs"):
        plain = [one for one in config.criteria if is_plain(one)]
        given = [
            one
            for one in annotation.ratings.all()
            if one.criterion in {one.key for one in plain} and not one.part
        ]
        shown = list(annotation.item.outputs.all())
        asked = list_questions(config, annotation.item.inputs, shown, criteria=plain)
        assert len(given) == len(asked)
    assert read_back(study) == in_database(study)


def read_back(study: Study) -> list[tuple[str, ...]]:
    """Item, criterion and value of each rating of the export, as the documented call reads it."""
    sent = b"".join(stream_file(study, Choice(file="ratings"), by=None))
    table = pandas.read_csv(io.BytesIO(sent), dtype=str, keep_default_na=False)
    columns = table[["participant", "item", "criterion", "value"]]
    return sorted(columns.itertuples(index=False, name=None))


def in_database(study: Study) -> list[tuple[str, ...]]:
    rows = (
        Rating.objects.without_marks()
        .filter(study=study)
        .values_list(
            "annotation__participant__pseudonym", "annotation__item__key", "criterion", "value"
        )
    )
    return sorted((*names, "" if value is None else str(value)) for *names, value in rows)


@pytest.mark.one_case
def test_demo_study_is_launched_and_greets_with_its_own_words(config):
    study = make_demo_study(config, by=make_user())

    page = Client().get(reverse("study-join", args=[study.pk]))

    assert study.state == Study.State.LIVE
    assert escape(study.summary) in page.content.decode()


# --- rating ---------------------------------------------------------------------------


@pytest.mark.one_case
def test_rating_page_shows_every_output_and_asks_every_question(config):
    study = make_live(config)

    response = Client().get(open_rating_page(study))

    html = response.content.decode()
    assert response.context["item"].questions
    for question in response.context["item"].questions:
        name = re.escape(question.name)
        assert re.search(rf'name="{name}(\.[^"]+)?"', html), (
            f"The page doesn't ask {question.name!r}. In item.html, fill the block “item” only; "
            'with layout "live" it shows the questions, too.'
        )
    outputs = response.context["item"].outputs
    for output in outputs:
        assert escape(output.text) in html, (
            "The page hides an output. In item.html, show {{ output.text }} of each output."
        )
        assert bool(output.marks) == config.has_highlight
        assert html.count("data-markable") == sum(bool(o.marks) for o in outputs), (
            'Where passages can be marked, item.html includes "participation/_marks.html" for each '
            "output."
        )
    ids = re.findall(r'\sid="([^"]+)"', html)
    assert len(ids) == len(set(ids)), "The page shows something twice."


@pytest.mark.one_case
def test_empty_form_is_refused_and_says_what_is_missing(config):
    study = make_live(config)
    page = open_rating_page(study)
    client = Client()
    state = client.get(page).context["state"]

    response = client.post(page, {"state": state, "go": "next"})

    assert response.status_code == 422
    asked = check_missing(response)
    html = response.content.decode()
    assert html.count('class="error"') >= len(asked)
    assert "<title>Error: " in html
    assert not Rating.objects.filter(study=study, annotation__item__kind="main").exists()


@pytest.mark.one_case
def test_saving_and_going_on_takes_a_bounded_number_of_queries(config):
    study = make_live(config, k=3)
    page = open_rating_page(study)
    visitor = Reader(study)
    client = Client()
    # the first answer of a person also turns what was reserved for them into a lease
    first = visitor._rate({"state": client.get(page).context["state"]})
    second = client.post(page, first, follow=True)
    page = second.redirect_chain[-1][0]
    answers = visitor._rate({"state": second.context["state"]})

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


@pytest.mark.one_case
@pytest.mark.slow
def test_nothing_tells_a_participant_what_produced_an_output(config):
    study = make_live(config, set_size=3)
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
            assert not re.search(rf"\b{re.escape(secret)}\b", html), (
                f"{address} shows {secret!r}: a system, the key of an item, or the name of a file."
            )
            assert secret not in address
    assert any("/finish/" in address for address, _ in reader.pages)


@pytest.mark.one_case
def test_version_freezes_the_instrument(config):
    # without the bonus that it promises, a protocol's sentence on it is left out
    study = make_live(config, bonus=1 if config.design.has_bonus else None)

    content = study.version.content

    assert content["instrument"] == json.loads(json.dumps(config.to_data()))
    assert content["texts"]["instructions"] == config.instructions
