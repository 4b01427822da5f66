"""The gallery: every entry says what is whose, and asks what its original asks."""

import json
import re
from hashlib import sha256

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils.html import strip_tags

from evalsite.builder.gallery import (
    TASKS,
    find_entry,
    list_gallery,
    list_own,
    list_protocols,
    list_shipped,
    read_gallery,
)
from evalsite.builder.trying import list_samples, render_pick, render_preview
from evalsite.instruments import checks
from evalsite.instruments.checks import read_instrument
from evalsite.instruments.scales import installed_scales
from evalsite.instruments.scales.post_edit import PostEdit
from evalsite.studies.instruments import import_instrument, read_file, write_file
from evalsite.studies.models import Study
from evalsite.studies.services import create_study
from tests.support.factories import make_user
from tests.support.instruments import GALLERY

# source and criteria of each original, by the beginning of the SHA-256 of their JSON
ORIGINALS = {
    "adequacy_fluency": "cc3306c27fd1456a",
    "arena_preference": "7a613385154f8258",
    "attribution": "b484173b1b941934",
    "conversation_turns": "382d26777ec58f2d",
    "da_sqm": "77bce6ba15095d7e",
    "factual_checklist": "063879d81edd893c",
    "helpsteer2": "b7e4258cd5e1e9c2",
    "helpsteer2_preference": "037615f52524447c",
    "summarize_feedback": "285cec7fb3640907",
    "summeval": "3e17f205fb1b07ef",
    "webnlg": "68f2077874786aff",
    "accuracy_errors": "7e69f6b145f190ed",
    "best_worst_four": "64b0ea1eda7f1118",
    "esa": "85ddf65b2a84fa08",
    "mqm": "2258044cca550711",
    "direct_assessment": "14fc36e5ead3339a",
    "sqm": "be6e06aebfd27fcb",
    "post_edit": "ad5044eeecc9c8af",
    "ranking": "1e751a1765b93e75",
    # ours
    "quality": "a6b1b86143ce9979",
    "which_is_better": "befe6d4d45aa3db5",
}
LONGEST_INSTRUCTIONS = 150  # words
FREE = {"CC BY 4.0", "BSD-3-Clause", "Etalab 2.0"}
FILES = sorted(GALLERY.glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_file_has_its_source_its_notice_and_every_criterion_of_its_original(path):
    content = json.loads(path.read_bytes())

    source = content["source"]
    told = json.dumps(
        [source, content["criteria"]], sort_keys=True, ensure_ascii=False, separators=(",", ":")
    )
    assert sha256(told.encode()).hexdigest()[:16] == ORIGINALS[path.stem]
    assert content["key"] == path.stem
    assert source["cite"]
    assert source["licence"] in FREE | {"none", "not known"}
    if source["licence"] in FREE:
        assert source["notice"]
        assert path.name in (GALLERY / "NOTICES.md").read_text(encoding="utf-8")
    assert len(content["instructions"].split()) <= LONGEST_INSTRUCTIONS


def test_each_file_of_the_gallery_and_each_protocol_is_listed_under_what_it_evaluates():
    keys = [key for keys in TASKS.values() for key in keys]

    protocols = {entry.config.key for entry in list_protocols()}
    assert sorted(keys) == sorted({path.stem for path in FILES} | protocols)


def test_gallery_shows_every_file_whose_kinds_are_installed():
    shown = {entry.config.key for entry in list_gallery()}

    assert shown == {path.stem for path in FILES}
    kinds = {one.scale.kind for entry in list_gallery() for one in entry.config.criteria}
    assert kinds <= set(installed_scales())


@pytest.mark.parametrize("key", ["quality", "which_is_better"])
def test_plain_instruments_need_no_input_and_take_nothing_from_others(key):
    config = checks.read_instrument(read_gallery()[key])

    assert config.columns == []
    assert (config.source.licence, config.source.notice) == ("none", "")


def test_a_source_is_never_shown_as_the_reference():
    config = checks.read_instrument(read_gallery()["adequacy_fluency"])

    assert [(column.name, column.aliases) for column in config.columns] == [("reference", ["ref"])]


@pytest.mark.parametrize("key", sorted(read_gallery()))
def test_instrument_of_the_gallery_reads_back_as_it_was_written(key):
    config = checks.read_instrument(read_gallery()[key])

    assert checks.read_instrument(config.to_data()) == config


@pytest.mark.parametrize("key", ["conversation_turns", "helpsteer2", "helpsteer2_preference"])
def test_conversations_of_an_example_are_shown_turn_by_turn(key):
    config = checks.read_instrument(read_gallery()[key])

    for number, _ in enumerate(list_samples(config), start=1):
        page = render_preview(config, number)

        assert 'class="turn' in page or '<ol class="dialogue">' in page
        assert "role" not in strip_tags(page)


def test_previews_draw_the_line_of_a_slider_with_its_marks_and_cards_with_its_ends():
    config = checks.read_instrument(read_gallery()["da_sqm"])
    marks = len(config.criteria[0].scale.stops)

    preview, pick = render_preview(config), render_pick(config, list_samples(config)[0])

    for page, labels in ((preview, marks), (pick, 2)):
        question = page.partition("data-question")[2].partition("</fieldset>")[0]
        assert (question.count("<line "), question.count("<li>")) == (1 + marks, labels)
        assert "<input" not in question
        assert " style=" not in page


# --- kinds of questions without a page --------------------------------------------------


@pytest.mark.django_db
def test_instrument_that_cannot_be_asked_yet_is_kept_but_no_study_can_be_made(client, monkeypatch):
    monkeypatch.setattr(PostEdit, "has_page", False)
    jane = make_user(is_superuser=True)
    content = (GALLERY / "post_edit.json").read_bytes()

    version, is_new = import_instrument(data=read_file(content), by=jane)

    assert is_new
    assert json.loads(write_file(version.content)) == read_instrument(json.loads(content)).to_data()
    with pytest.raises(ValidationError) as refused:
        create_study(instrument=version, by=jane, title="A study")
    assert refused.value.code == "not_yet"
    assert not Study.objects.exists()
    client.force_login(jane)
    value = f"version:{version.pk.hex}"
    assert value not in {entry.value for entry in list_own(jane)}
    assert find_entry(value, jane) is None
    page = client.get(reverse("admin:instrument", args=[version.instrument.pk]))
    assert page.status_code == 200
    tried = client.get(reverse("admin:instrument-try", args=["version", version.pk.hex, 1]))
    assert tried.status_code == 404


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_summary_is_short_enough_for_a_card(path):
    # a card of three beside each other has room for two lines
    assert len(json.loads(path.read_bytes())["summary"].split()) <= 12


def test_instruments_are_listed_by_what_people_evaluate(staff_client):
    page = staff_client.get(reverse("admin:instruments"))

    tasks = page.context["tasks"]
    assert list(tasks) == [task for task in TASKS if task in tasks]
    keys = [row["entry"].config.key for rows in tasks.values() for row in rows]
    assert sorted(keys) == sorted(entry.config.key for entry in list_shipped())
    for rows in tasks.values():
        for row in rows:
            assert f'href="{row["entry"].try_url}"' in page.text
            assert staff_client.get(row["url"]).status_code == 200


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_texts_of_ours_have_typographic_apostrophes(path):
    content = json.loads(path.read_bytes())
    texts = [content["instructions"], content.get("comprehension", [])]
    texts += [example.get("why", "") for example in content.get("practice", [])]

    assert re.findall(r"\w+'\w+", json.dumps(texts, ensure_ascii=False)) == []
