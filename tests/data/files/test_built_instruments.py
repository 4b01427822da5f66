"""A study of an instrument that was built here goes all the way: work, files, bundle and back."""

import io
from copy import deepcopy
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.core.jobs.services import run_job
from evalsite.data.bundle.restore import restore_bundle
from evalsite.data.fsck import find_breaches
from evalsite.fieldwork.launch import launch_study
from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.handout.models import Rating
from evalsite.results.document.html import render_page
from evalsite.results.documents.appendix import make_appendix
from evalsite.results.documents.datasheet import make_datasheet
from evalsite.results.report.computation import compute_report
from evalsite.results.report.files import read_document
from evalsite.studies.instruments import import_instrument
from evalsite.studies.models import Instrument, Study
from tests.support.batches import import_rows, make_rows
from tests.support.bundles import check, pack
from tests.support.exports import export, read
from tests.support.factories import make_user, open_to_everyone
from tests.support.instruments import make_built_study, read_gallery
from tests.support.reported import list_answers, list_open

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.slow,
    pytest.mark.usefixtures("checks_here"),
]


def make_rated(content: dict[str, Any], **fields: Any) -> Study:
    study = make_built_study(content, is_demo=True, k=2, set_size=2, **fields)
    import_rows(study, make_rows(study.config))
    run_job(launch_study(study=study, by=make_user()))
    study.refresh_from_db()
    open_to_everyone(study)
    list(simulate_crowd(study, participants=2, seed="built"))
    return study


def list_asked(content: dict[str, Any]) -> set[object]:
    """What an instrument asks for, which others may ask for as well."""
    layout = content["layout"]
    return {
        *((name, layout[name]) for name in ("outputs", "inputs", "questions", "order")),
        *((one["per"], one["scale"]["kind"], "ask_if" in one) for one in content["criteria"]),
        "ignore" in content,
    }


@pytest.mark.one_case
@pytest.mark.each_once(of=list_asked)
@pytest.mark.parametrize("content", read_gallery(), ids=lambda one: one["key"])
def test_study_of_each_instrument_of_the_gallery_is_rated_exported_and_read_back(content):
    study = make_rated(content)

    bundle = pack(study)
    report = check(bundle)
    restored = restore_bundle(file=io.BytesIO(bundle), owner=make_user("new"), by="x", is_copy=True)

    assert Rating.objects.filter(annotation__study=study).exists()
    keys = {criterion["key"] for criterion in content["criteria"]}
    assert {row["criterion"] for row in read(export(study))} <= keys
    assert report.faults == []
    assert restored.remarks == []
    copy = restored.study
    assert find_breaches(copy) == []
    assert copy.instrument.content == content
    assert copy.instrument.instrument != study.instrument.instrument
    assert copy.config == study.config
    assert (
        Rating.objects.filter(annotation__study=copy).count()
        == Rating.objects.filter(annotation__study=study).count()
    )


@pytest.mark.torture
def test_reasons_about_both_outputs_together_are_read_back():
    content = next(one for one in read_gallery() if one["key"] == "arena_preference")
    content["criteria"][0]["scale"]["tags"] |= {"about": "comparison", "least": 1}
    study = make_rated(content)

    report = check(pack(study))

    assert {row["reasons"] for row in read(export(study)) if row["reasons"]} == {"useful"}
    assert report.faults == []


def test_draft_of_a_built_instrument_comes_back_as_a_draft_that_asks_the_same():
    content = read_gallery()[0]
    study = make_built_study(content)
    import_rows(study, make_rows(study.config))

    bundle, owner = pack(study), make_user("new")
    copy = restore_bundle(file=io.BytesIO(bundle), owner=owner, by="x", is_copy=True).study
    again = restore_bundle(file=io.BytesIO(bundle), owner=owner, by="x", is_copy=True).study

    assert copy.version is None
    assert copy.config == study.config
    assert again.instrument == copy.instrument
    assert Instrument.objects.count() == 2


def test_pages_of_a_study_name_its_instrument(client: Client):
    jane = make_user()
    study = make_rated(read_gallery()[0], by=jane)
    client.force_login(jane)

    for name in ("study-overview", "study-pilot", "study-questions", "study-invite"):
        page = client.get(reverse(f"admin:{name}", args=[study.pk]))
        assert page.status_code == 200
        assert study.instrument.title in page.text
    assert study.instrument.title in client.get(reverse("admin:index")).text
    assert (
        study.title in client.get(reverse("admin:index"), {"q": study.instrument.title[:16]}).text
    )


def test_new_version_of_the_instrument_leaves_a_running_study_and_its_bundle_as_they_were():
    content = read_gallery()[0]
    study = make_rated(content)
    config = study.config

    import_instrument(data=content | {"title": "Changed"}, by=make_user())

    assert Study.objects.get(pk=study.pk).config == config
    assert check(pack(study)).faults == []


@pytest.mark.torture
def test_papers_tell_of_options_conditions_and_questions_without_figures():
    content = deepcopy(next(one for one in read_gallery() if one["key"] == "helpsteer2"))
    content["criteria"].append({
        "key": "grounds", "label": "Why", "per": "output", "question": "Why?",
        "scale": {"kind": "text"},
    })  # fmt: skip
    study = make_rated(content)

    report = compute_report(study)
    sheet, appendix = make_datasheet(study, report), render_page(make_appendix(study))

    chapters = list_answers(sheet)
    problems = chapters["4 Quality criterion: Problems"]
    agreement = problems["Agreement between evaluators"]
    assert "Key information is missing: Percent agreement" in agreement
    texts = chapters["4 Quality criterion: Why"]["How responses were aggregated and analysed"]
    assert texts == "not at all: there is no figure of these answers"
    # an option that was ticked accepts no output
    assert report.content["kept"]["together"]["decision"] is None
    assert "Asked only if “Correctness” is 3 or less." in appendix
    assert "Question put" not in " ".join(one for one in list_open(sheet) if "Helpfulness" in one)


@pytest.mark.torture
def test_words_on_a_comparison_are_no_tie_in_files_and_figures():
    content = deepcopy(next(one for one in read_gallery() if one["key"] == "arena_preference"))
    content["criteria"][0]["comment"] = {"ask": "required"}
    study = make_rated(content)

    rows = [row for row in read(export(study)) if row["criterion"] == content["criteria"][0]["key"]]
    report = compute_report(study)

    words = [row for row in rows if row["part"] == "comment"]
    given = [row for row in rows if row["part"] == ""]
    assert len(words) == len(given) > 0
    assert {(row["outcome"], row["preferred"], row["value"]) for row in words} == {("", "", "")}
    assert all(row["outcome"] for row in given)
    assert report.content["kept"]["data"]["ratings"] <= len(given)


@pytest.mark.torture
def test_both_good_and_both_bad_are_counted_apart_and_steps_have_a_mean():
    """Four answers: both good twice, both bad, and two steps towards the first system by name."""
    content = next(one for one in read_gallery() if one["key"] == "arena_preference")
    study = make_rated(content)
    asked = content["criteria"][0]["key"]
    ratings = list(
        Rating.objects.filter(study=study, criterion=asked, annotation__item__kind="main")
        .filter(annotation__status="counted", part="")
        .order_by("pk")
    )
    first = study.systems.order_by("name")[0]
    for rating, both in zip(ratings, ["good", "good", "bad", ""], strict=True):
        best = rating.annotation.item.outputs.get(system=first)
        rating.output, rating.value = (None, 0) if both else (best, 2)
        rating.detail = {"both": both} if both else None
        rating.save()

    report = compute_report(study)

    (criterion,) = [one for one in report.content["kept"]["criteria"] if one["key"] == asked]
    (pair,) = criterion["pairs"]
    grades = pair["grades"]
    sign = 1 if pair["system_1"] == first.name else -1
    assert (grades["both_good"], grades["both_bad"]) == (2, 1)
    assert grades["mean"]["value"] == sign * 2 / 4
    table = read_document(study, report).find_table(f"{asked}-outcomes")
    assert table is not None
    assert [column.label for column in table.columns][-2:] == [
        "Of ties: both good", "Of ties: both bad",
    ]  # fmt: skip
