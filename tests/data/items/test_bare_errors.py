"""A TSV of WMT that somebody has already becomes a closed study with its results."""

from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from evalsite.data.models import Upload
from evalsite.data.tables.mqm import COLUMNS, mark_passage, write_line
from evalsite.handout.models import Rating
from evalsite.results.report.computation import analyse_study
from evalsite.studies.models import Output, Study
from tests.analysis.vectors import compare, read_data, read_vector
from tests.data.ratings.test_bare_ratings import create, list_codes, upload
from tests.support.spans import SOURCE, make_text

pytestmark = pytest.mark.django_db
TEXT = make_text(80)
ROW = {
    "system": "A", "doc": "d", "docSegId": "1", "globalSegId": "1", "rater": "w1",
    "source": SOURCE, "target": mark_passage(TEXT, 3, 10), "category": "Style/Awkward",
    "severity": "Major", "metadata": "{}",
}  # fmt: skip
CLEAN = {"target": TEXT, "category": "No-error", "severity": "No-error"}


@pytest.fixture(autouse=True)
def data_dir(settings: Any, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path


def write(*changes: dict[str, str]) -> str:
    rows = [[(ROW | change)[name] for name in COLUMNS] for change in changes]
    return "".join(map(write_line, [COLUMNS, *rows]))


def read(*changes: dict[str, str]) -> Upload:
    return upload(write(*changes), "mqm.tsv")


def list_penalties(study: Study) -> dict[str, float]:
    report, _ = analyse_study(study)
    (criterion,) = report["kept"]["criteria"]
    return {system["system"]: system["headline"]["value"] for system in criterion["systems"]}


def test_penalties_of_a_file_are_those_of_the_vector() -> None:
    _, expected, tolerance = read_vector("spans__spans_errors")
    errors = read_data("spans_errors.csv").groupby(["rater", "item", "system"])
    rows = []
    for segment in read_data("spans_segments.csv").itertuples():
        key = segment.rater, segment.item, segment.system
        text = make_text(segment.length)
        base = {"system": segment.system, "doc": segment.item, "rater": segment.rater}
        found = errors.get_group(key).itertuples() if key in errors.groups else ()
        marks = [
            base | {
                "target": mark_passage(text, row.start, row.end), "category": row.category,
                "severity": row.severity.capitalize(),
            }
            for row in found
        ]  # fmt: skip
        rows += marks or [base | CLEAN | {"target": text}]

    kept = read(*rows)

    assert list_codes(kept) == []
    assert "errors_marked" in list_codes(kept, "notes")
    study = create(kept)
    assert study.state == Study.State.CLOSED
    compare(list_penalties(study), expected["mqm"], tolerance)


def test_texts_categories_and_weights_come_from_the_file() -> None:
    source = mark_passage(SOURCE, 4, 11)
    study = create(read(
        {},
        {"target": mark_passage(TEXT, 20, 25), "category": "Fluency/Punctuation",
         "severity": "minor", "metadata": '{"note": "a comma"}'},
        {"target": mark_passage(TEXT, 20, 26), "category": "None", "severity": "neutral"},
        {"target": TEXT, "source": source, "category": "Source error"},
        {"target": TEXT, "category": "style/awkward", "severity": "Minor"},
        CLEAN | {"rater": "w2"},
        CLEAN | {"system": "B", "target": "Ein Satz.", "doc": "e", "source": "A sentence."},
        {"system": "B", "target": mark_passage(TEXT, 0, 80), "category": "Non-translation!"},
    ))  # fmt: skip

    assert list_penalties(study) == {"A": (5 + 0.1 + 1 + 0) / 2, "B": 25 / 2}
    outputs = Output.objects.filter(study=study)
    assert {output.text for output in outputs} == {TEXT, "Ein Satz."}
    assert {item.inputs["source"] for item in study.items.all()} == {SOURCE, "A sentence."}
    assert {item.cluster for item in study.items.all()} == {"d", "e"}
    scale = study.config.criteria[0].scale
    described = [(option["group"], option["label"]) for option in scale.describe_marks()["options"]]
    assert described[:2] == [("Style", "Awkward"), ("Fluency", "Punctuation")]
    (noted,) = Rating.objects.filter(study=study, part="fluency_punctuation")
    assert noted.detail == {"severity": "minor", "note": "a comma"}
    (missing,) = Rating.objects.filter(study=study, text="", start__isnull=False)
    assert (missing.start, missing.end) == (80, 80)
    assert Rating.objects.filter(study=study, part="source_error@source", text="station").exists()


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ([{}, {}], "mark_twice"),
        ([{}, CLEAN], "no_error_beside"),
        ([{"severity": "Critical"}], "severity_unknown"),
        ([{"category": f"c{number}", "target": TEXT} for number in range(201)], "categories_many"),
        ([{}, {"target": f"{TEXT}!"}], "texts_differ"),
    ],
)
def test_rows_that_dont_fit_are_named_before_there_is_a_study(
    changes: list[dict[str, str]], code: str
) -> None:
    kept = read(*changes)

    assert list_codes(kept) == [code]
    assert not Study.objects.exists()


def test_page_leads_from_the_file_to_its_results(staff_client: Client) -> None:
    file = SimpleUploadedFile("mqm.tsv", write({}, CLEAN | {"rater": "w2"}).encode())

    page = staff_client.post(reverse("admin:new-ratings"), {"file": file}, follow=True)

    assert "1 error in 1 category" in page.text
    assert "2 ratings by 2 people of 1 system" in page.text
    assert "The texts, if you have them" not in page.text
    assert "evalsite report mqm.tsv" in page.text
    address = reverse("admin:new-ratings-create", args=[Upload.objects.get().pk])
    answers = {"title": "MQM", "persons": "yes", "encoding": "", "separator": "", "decimal": ""}
    page = staff_client.post(address, {**answers, "turn": ""})
    assert page.url == reverse("admin:study-results", args=[Study.objects.get().pk])
