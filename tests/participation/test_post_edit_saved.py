"""Corrected texts through the rating page: stored, changed, drafted, refused and given back."""

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evalsite.data.files.services import Choice, stream_file
from evalsite.data.fsck import find_breaches
from evalsite.handout.models import Annotation, Draft, Rating, Revision
from evalsite.studies.models import Study
from tests.support.answering import Entered
from tests.support.batches import check_rows, import_rows
from tests.support.factories import launch
from tests.support.instruments import GALLERY, make_built_study
from tests.support.plugins import read_documented
from tests.support.tabs import Tab, open_tab

pytestmark = pytest.mark.django_db

SOURCE = "Bitte melden Sie sich bis zum 3. Mai an."
TEXT = "Please log in until\nthe 3rd of May, jane@example.org."
BETTER = "Please register by\nthe 3rd of May, jane@example.org."
REST = {"reasons.wrong": "1", "effort": "2"}


def read_gallery() -> dict[str, Any]:
    return json.loads((GALLERY / "post_edit.json").read_bytes())


def make_live(content: dict[str, Any] | None = None, text: str = TEXT, **fields: Any) -> Study:
    study = make_built_study(
        content or read_gallery(), **{"set_size": 1, "k": 2, "is_practice_on": False} | fields
    )
    row = {"item": "one", "source": SOURCE, "system": "alpha", "output": text}
    import_rows(study, [row])
    return launch(study)


def ask_alone(**scale: Any) -> dict[str, Any]:
    content = read_gallery()
    content["criteria"] = content["criteria"][:1]
    content["criteria"][0]["scale"] |= scale
    for part in ("practice", "comprehension"):
        content.pop(part)
    return content


@pytest.fixture
def tab() -> Tab:
    return open_tab(make_live())


def save(tab: Tab, text: str = TEXT, **fields: str) -> Any:
    return tab.client.post(
        tab.address_of(1),
        {"state": tab.fields["state"], "go": "next", "corrected": text, **fields},
    )


def list_texts() -> list[tuple[Any, ...]]:
    rows = Rating.objects.filter(criterion="corrected").order_by("id")
    return list(rows.values_list("value", "text", "detail"))


def test_page_has_the_output_in_a_box_and_nothing_is_answered(tab):
    page = tab.page.content.decode()

    assert Entered(page).values["corrected"].lstrip("\n") == TEXT
    assert 'data-complete="no"' in page
    assert "<del>" not in page
    assert tab.page.context["status"] == "No answers yet"


def test_a_corrected_text_is_stored_once_with_its_edits(tab):
    first, second = save(tab, BETTER, **REST), save(tab, BETTER, **REST)

    assert (first.status_code, second.status_code) == (302, 302)
    # log -> register, in -> nothing, until -> by; 8 words
    edits = {"insertions": 0, "deletions": 1, "substitutions": 2, "words": 8}
    assert list_texts() == [(37.5, BETTER, edits)]
    assert not Revision.objects.exists()
    assert find_breaches(Study.objects.get()) == []


def test_breaks_of_browsers_change_nothing(tab):
    save(tab, BETTER.replace("\n", "\r\n"), **REST)

    assert list_texts()[0][:2] == (37.5, BETTER)


def test_whoever_ticks_leaves_the_text_and_is_asked_for_no_reasons(tab):
    page = save(tab, **{"corrected.same": "yes"}, **REST)

    assert page.status_code == 302
    unchanged = {"insertions": 0, "deletions": 0, "substitutions": 0, "words": 9}
    assert list_texts() == [(0, TEXT, unchanged)]
    assert not Rating.objects.filter(criterion="reasons").exists()
    assert " checked" in tab.open().page.content.decode().partition("corrected.same")[2][:200]


def test_a_changed_answer_shows_what_changed_and_keeps_the_earlier_one(tab):
    save(tab, BETTER, **REST)
    page = tab.open().page.content.decode()

    assert ">log in until</del>" in page
    assert ">register by</ins>" in page
    save(tab, **{"corrected.same": "yes"}, effort="1")
    (revision,) = Revision.objects.all()
    assert (37.5, BETTER) in [(row.value, row.text) for row in revision.list_rows()]
    assert [value for value, *_rest in list_texts()] == [0]


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("", {}),
        (" \n ", {}),
        (TEXT, {}),
        ("x" * 20_000, {}),
        ("y " * 20_000, {"corrected.same": "yes"}),
        (f"{BETTER}\x00", {}),
    ],
)
def test_what_is_no_correction_is_refused_and_kept_on_the_page(tab, text, fields):
    page = save(tab, text, **REST, **fields)

    assert page.status_code == 422
    assert not Annotation.objects.exists()
    html = page.content.decode()
    assert 'href="#corrected"' in html
    assert 'aria-invalid="true"' in html
    assert Entered(html).values["corrected"].strip() == text.replace("\x00", "").strip()


def test_a_text_that_has_to_change_is_refused_unchanged_and_offers_no_tick():
    tab = open_tab(make_live(ask_alone(may_be_unchanged=False)))

    assert "corrected.same" not in tab.page.content.decode()
    for fields in ({}, {"corrected.same": "yes"}):
        assert save(tab, **fields).status_code == 422
    assert save(tab, BETTER).status_code == 302


def test_undo_without_a_script_brings_the_output_back(tab):
    save(tab, BETTER, **REST)
    tab.open()

    page = save(tab, "Something else.", **{"corrected.undo": "yes"}, effort="1")

    assert page.status_code == 422
    assert Entered(page.content.decode()).values["corrected"].lstrip("\n") == TEXT


def test_a_draft_is_this_persons_alone_and_says_what_changed(tab):
    fields = {"state": tab.fields["state"], "corrected": BETTER}

    kept = tab.client.post(f"{tab.home}draft/", fields).json()

    assert ">register by</ins>" in kept["changes"]["corrected"]
    assert Draft.objects.get().values == {"corrected": BETTER}
    assert Entered(tab.open().page.content.decode()).values["corrected"].strip() == BETTER
    save(tab, BETTER, **REST)
    other = open_tab(Study.objects.get())
    assert Entered(other.page.content.decode()).values["corrected"].strip() == TEXT


def test_an_emptied_box_stays_empty_on_the_next_page(tab):
    tab.client.post(f"{tab.home}draft/", {"state": tab.fields["state"], "corrected": ""})

    assert Entered(tab.open().page.content.decode()).values["corrected"].strip() == ""


def test_outputs_that_begin_with_a_break_come_back_whole():
    tab = open_tab(make_live(ask_alone(), text=f"\n{TEXT}"))

    # a browser drops the first break after the tag
    assert Entered(tab.page.content.decode()).values["corrected"].lstrip("\n") == TEXT
    assert f">\n\n{TEXT}</textarea>" in tab.page.content.decode()


def test_texts_too_long_to_be_corrected_are_refused_with_their_file():
    study = make_built_study(read_gallery())
    row = {"item": "one", "source": SOURCE, "system": "alpha"}

    checked = check_rows(study, [{**row, "output": "w " * 10_001}])

    assert [(fault.code, fault.column) for fault in checked.faults] == [
        ("output_too_long", "output")
    ]


def test_a_rate_that_is_not_that_of_its_edits_is_found(tab):
    save(tab, BETTER, **REST)
    row = Rating.objects.get(criterion="corrected")
    for change in ({"value": 12}, {"detail": {**row.detail, "words": 9}}):
        Rating.objects.filter(pk=row.pk).update(**change)
        found = {breach.check.key for breach in find_breaches(Study.objects.get())}
        assert found == {"edit_rate_that_contradicts_its_counts"}, change
        row.save()
    for change in ({"text": ""}, {"detail": None}, {"value": -1}):
        Rating.objects.filter(pk=row.pk).update(**change)
        assert "value_outside_its_scale" in {
            breach.check.key for breach in find_breaches(Study.objects.get())
        }, change
        row.save()


# --- files ----------------------------------------------------------------------------------


def read_file(study: Study, name: str, **choice: Any) -> list[dict[str, str]]:
    text = b"".join(stream_file(study, Choice(file=name, **choice), by=None)).decode()
    return list(csv.DictReader(text.lstrip("\ufeff").splitlines(keepends=True)))


def test_files_have_the_text_its_rate_and_its_edits_and_no_comment(tab):
    save(tab, BETTER, **REST)
    study = Study.objects.get()

    (row,) = [row for row in read_file(study, "ratings") if row["criterion"] == "corrected"]
    (wide,) = read_file(study, "ratings_simple")

    assert (row["value"], row["text"], row["scale_min"], row["scale_max"], row["better"]) == (
        "37.5", BETTER, "0", "", "lower",
    )  # fmt: skip
    edits = [row[name] for name in ("insertions", "deletions", "substitutions", "words")]
    assert edits == ["0", "1", "2", "8"]
    assert wide["corrected"] == "37.5"
    assert read_file(study, "comments") == []


def test_addresses_in_corrected_texts_are_masked_where_words_of_people_are(tab):
    save(tab, BETTER, **REST)
    study = Study.objects.get()

    rows = read_file(study, "ratings", is_masked=True)

    (row,) = [row for row in rows if row["criterion"] == "corrected"]
    assert "jane@" not in row["text"]
    assert "[e-mail]" in row["text"]


def test_documented_script_writes_pairs_for_hter(tab, tmp_path: Path):
    save(tab, BETTER, **REST)
    study = Study.objects.get()
    for name in ("items", "ratings"):
        content = b"".join(stream_file(study, Choice(file=name), by=None))
        (tmp_path / f"{name}.csv").write_bytes(content)
    (tmp_path / "hter.py").write_text(read_documented("files.md")["hter.py"], encoding="utf-8")

    command = [sys.executable, "hter.py", "items.csv", "ratings.csv", "corrected", "alpha"]
    subprocess.run(command, cwd=tmp_path, check=True)

    # sacrebleu 2.6.0 gives TER 37.50 for these two
    pair = [(tmp_path / f"alpha.{end}").read_text().splitlines() for end in ("output", "corrected")]
    assert pair == [[" ".join(TEXT.split())], [" ".join(BETTER.split())]]
