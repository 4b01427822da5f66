"""A launched study asks what it was launched with, whatever the installed protocol says by then."""

import sqlite3

import pytest
from django.db import connection, transaction
from django.test import Client

from evalsite.data.files.codebook import write_codebook
from evalsite.instruments.bundle_format_2 import read_stored
from evalsite.instruments.installed import find_folder
from evalsite.instruments.questions import read_ratings
from evalsite.operations.database_dump import using_database
from evalsite.studies.models import Study
from evalsite.studies.versions import make_version, shown_content
from tests.support.factories import launch, make_annotator, make_study, make_user, mint_link

pytestmark = pytest.mark.django_db


@pytest.fixture
def edited(monkeypatch):
    """A function that edits the code of fluency: its first criterion has another label."""

    def edit():
        folder = find_folder("fluency")
        first, *others = folder.instrument.criteria
        criteria = [first.model_copy(update={"label": "Readability"}), *others]
        monkeypatch.setitem(
            folder.__dict__,
            "instrument",
            folder.instrument.model_copy(update={"criteria": criteria}),
        )

    return edit


def first_page(study: Study) -> str:
    home = mint_link(make_annotator(study))
    client = Client()
    client.post(f"{home}start/")
    return client.get(f"{home}sets/1/items/1/").content.decode()


def test_editing_a_protocol_changes_no_live_study(edited):
    live = launch(make_study(protocol="fluency", items=2))
    edited()
    live = Study.objects.get(pk=live.pk)

    page = first_page(live)

    assert live.config.criteria[0].label == "Fluency/Grammaticality"
    assert "Fluency/Grammaticality" in page
    assert "Readability" not in page


def test_editing_a_protocol_changes_drafts(edited):
    draft = make_study(protocol="fluency", items=2)
    edited()

    assert Study.objects.get(pk=draft.pk).config.criteria[0].label == "Readability"
    assert "Readability" in first_page(launch(draft))


def test_version_made_later_keeps_the_instrument_of_the_launch(edited):
    live = launch(make_study(protocol="fluency", items=2))
    kept = shown_content(live)["instrument"]
    edited()
    live = Study.objects.get(pk=live.pk)
    live.consent = "We keep less."
    live.save()

    version = make_version(live, by=make_user())

    assert version.number == 2
    assert version.content["instrument"] == kept
    assert live.config.criteria[0].label == "Fluency/Grammaticality"


def test_codebook_speaks_of_what_was_asked(edited):
    live = launch(make_study(protocol="fluency", items=2))
    edited()

    codebook = write_codebook(Study.objects.get(pk=live.pk).config)

    assert "Fluency/Grammaticality: the rating" in codebook
    assert "Readability" not in codebook


def make_old_criterion(key: str, scale: dict) -> dict:
    empty = {"summary": "", "question": "", "range_note": ""}
    return {"key": key, "label": "Old label", "definition": "How it reads.", "scale": scale} | empty


OLD_LIKERT = {
    "kind": "likert",
    "points": [
        {"value": value, "label": word, "notes": ["Why."], "reserved": False}
        for value, word in enumerate(("bad", "good"), start=1)
    ],
    "stacked": True,
    "reserved_note": "",
}
OLD_PREFERENCE = {"kind": "preference", "first": "A", "tie": "Neither", "second": "B"}


def shape_of_format_2(protocol) -> dict:
    """What bundles of format 2 hold of this instrument."""
    return {
        "protocol": protocol.key,
        "criteria": [make_old_criterion("fluency", OLD_LIKERT)],
        "inputs": [],
        "examples": [],
        "comprehension": [],
        "ignore": {"note": "", "reasons": []},
        "highlight_hint": "",
        "note_label": "Any remarks?",
    }


def test_instrument_of_format_2_has_the_words_that_were_stored(edited):
    then = find_folder("fluency").instrument
    edited()

    found = read_stored(shape_of_format_2(then), "fluency")

    (read,) = found.criteria
    assert (read.label, read.scale.list_answers()) == ("Old label", ((1, "bad"), (2, "good")))
    assert (read.per, read.scale.display, read.summary) == ("output", "stacked", "")
    assert (found.note, found.item.output_name) == ("Any remarks?", "System’s generation")
    assert found.design == then.design


def test_columns_and_examples_of_format_2_have_the_names_of_now():
    then = find_folder("pairwise").instrument
    column = {"name": "dialogue", "label": "Talk", "kind": "dialogue", "aliases": ["context"]}
    texts = {
        "inputs": {"dialogue": "A: Hi"},
        "outputs": ["Hello.", "Bye."],
        "why": "",
        "marked": {},
    }
    old = {
        "criteria": [make_old_criterion("completion", OLD_PREFERENCE)],
        "inputs": [column | {"is_required": False, "together": ""}],
        "examples": [texts | {"ratings": {"completion": [1]}, "gold": {}}],
    }

    found = read_stored(shape_of_format_2(then) | old, "pairwise")

    (read,) = found.columns
    assert (read.label, read.aliases, read.required) == ("Talk", ["context"], False)
    (criterion,), (example,) = found.criteria, found.examples
    assert criterion.scale.describe_ratings(read_ratings(criterion, example)) == "A"


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "sqlite", reason="opens another file")
def test_instrument_is_read_again_from_another_database(tmp_path):
    study = launch(make_study(protocol="fluency", items=2))
    assert shown_content(study)["texts"]["title"] == "Restaurant descriptions"
    other = tmp_path / "other.sqlite3"
    with connection.cursor() as cursor:
        cursor.execute(f"VACUUM INTO '{other}'")
    with sqlite3.connect(other) as file:
        file.execute(
            "UPDATE studies_studyversion SET content = json_set(content, '$.texts.title', 'Other')"
        )

    with using_database(str(other)):
        there = shown_content(study)["texts"]["title"]

    assert there == "Other"


def test_instrument_of_format_2_needs_no_installed_protocol(settings):
    then = find_folder("fluency").instrument
    settings.PROTOCOLS = []

    found = read_stored(shape_of_format_2(then), "fluency")

    assert (found.key, found.title, found.note) == ("fluency", "fluency", "Any remarks?")


@pytest.mark.both_databases
def test_version_of_a_transaction_that_failed_is_not_read_for_another_study():
    try:
        with transaction.atomic():
            failed = launch(make_study(protocol="rrgen", items=0))
            assert failed.config.key == "rrgen"
            raise LookupError
    except LookupError:
        study = launch(make_study(protocol="fluency", items=0))

    assert study.config.key == "fluency"
    assert shown_content(study)["instrument"]["key"] == "fluency"
