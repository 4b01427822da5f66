"""Errors marked in conversations: pages, stored rows, their checks, and files."""

import csv
import io
import json
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse

from evalsite.data.files.columns import list_downloads_of
from evalsite.data.files.services import Choice, write_file
from evalsite.data.fsck import find_breaches
from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.handout.models import Annotation, Draft, Rating, Revision
from evalsite.results.items.records import list_records
from evalsite.results.items.spread import measure_records, read_counted
from evalsite.results.report.computation import analyse_study
from evalsite.studies.models import Item, Output, Study
from tests.support.answering import Entered
from tests.support.batches import check_rows, import_rows
from tests.support.checking import check_ratings
from tests.support.factories import launch
from tests.support.instruments import make_built_study
from tests.support.tabs import Tab, open_tab
from tests.support.turns import (
    ANSWERED,
    ASKED,
    HEBREW,
    OUTPUT,
    SAID,
    SOURCE,
    make_content,
    make_turns_study,
    mark,
)

pytestmark = pytest.mark.django_db

MARKS = [
    mark(2, "lift", "spelling"),
    mark(5, "Thursday evening", "mistranslation", severity="major", note="Friday"),
    mark(6, "המעלית", "grammar"),
    mark(2, "until Friday", "omission", **{"in": "source"}),
]


@pytest.fixture
def tab() -> Tab:
    return open_tab(make_turns_study(OUTPUT))


def save(tab: Tab, *entries: Any, **changes: str) -> Any:
    posted = {"errors": json.dumps(entries) if entries else "", **changes}
    fields = {"state": tab.fields["state"], "go": "next", **posted}
    return tab.client.post(tab.address_of(1), fields)


def read(study: Study, file: str) -> list[dict[str, str]]:
    target = io.BytesIO()
    write_file(study, Choice(file=file), target)
    return list(csv.DictReader(io.StringIO(target.getvalue().decode(), newline="")))


def test_marks_are_stored_with_their_turns_and_drawn_there_again(tab):
    first, second = save(tab, *MARKS), save(tab, *MARKS)

    assert (first.status_code, second.status_code) == (302, 302)
    stored = list(Rating.objects.marks().order_by("id").values_list("turn", "part", "text"))
    assert stored == [
        (2, "spelling", "lift"), (5, "mistranslation", "Thursday evening"),
        (6, "grammar", "המעלית"), (2, "omission@source", "until Friday"),
    ]  # fmt: skip
    assert not Revision.objects.exists()
    assert find_breaches(Study.objects.get()) == []
    page = tab.open().page.content.decode()
    assert '<mark class="critical" data-n="2">Thursday evening</mark>' in page
    assert '<span class="text" data-turn="6" lang="en" dir="auto">' in page
    # what a tool was asked and returned stays as it is
    assert '<p class="label">Result of read_notice</p>' in page
    assert 'data-turn="4"' not in page
    assert json.loads(Entered(page).values["errors"]) == MARKS


@pytest.mark.parametrize(
    "entry",
    [
        {**MARKS[0], "turn": 5}, {**MARKS[0], "turn": 4}, {**MARKS[0], "turn": 99},
        {key: value for key, value in MARKS[0].items() if key != "turn"},
        {**MARKS[2], "end": MARKS[2]["end"] + len(HEBREW)},
    ],
)  # fmt: skip
def test_a_mark_of_another_turn_is_refused_and_nothing_is_stored(tab, entry):
    assert save(tab, MARKS[1], entry).status_code == 422
    assert not Annotation.objects.exists()


def test_without_scripts_a_passage_is_quoted_and_its_turn_found(tab):
    row = {"quote-1": "Friday", "nth-1": "2", "category-1": "grammar", "severity-1": "minor"}

    refused = save(tab, **{f"errors.{name}": cell for name, cell in row.items() if name != "nth-1"})
    saved = save(tab, **{f"errors.{name}": cell for name, cell in row.items()})

    assert (refused.status_code, saved.status_code) == (422, 302)
    stored = Rating.objects.marks().get()
    assert (stored.turn, stored.start) == (5, ANSWERED.index("Friday"))
    assert "Turn 5" in tab.open().page.content.decode()


def test_a_draft_keeps_marks_and_their_turns(tab):
    entry = {key: value for key, value in MARKS[1].items() if key != "category"}
    fields = {"state": tab.fields["state"], "errors": json.dumps([entry])}

    assert tab.client.post(f"{tab.home}draft/", fields).status_code == 200

    assert json.loads(Draft.objects.get().values["errors"]) == [entry]
    assert json.loads(Entered(tab.open().page.content.decode()).values["errors"]) == [entry]


def test_the_database_takes_the_same_place_once_in_each_turn(tab):
    save(tab, MARKS[0])
    stored = Rating.objects.marks().get()

    stored.pk, stored.turn = None, 5
    stored.save()
    stored.pk = None

    with pytest.raises(IntegrityError), transaction.atomic():
        stored.save()


@pytest.mark.parametrize(
    ("change", "keys"),
    [
        ({"turn": 5}, {"highlight_that_does_not_fit"}),
        ({"turn": 4}, {"highlight_that_does_not_fit"}),
        ({"turn": 9}, {"highlight_that_does_not_fit"}),
        # a place of what was uploaded
        ({"turn": 0, "start": OUTPUT.index("lift"), "end": OUTPUT.index("lift") + 4},
         {"highlight_that_does_not_fit"}),
        ({"text": "list"}, {"highlight_that_does_not_fit"}),
        ({"part": "omission@source"}, {"highlight_that_does_not_fit"}),
        ({"start": 9_000, "end": 9_000, "text": ""}, {"highlight_that_does_not_fit"}),
    ],
)  # fmt: skip
def test_fsck_finds_marks_that_are_not_in_their_turn(tab, change, keys):
    save(tab, *MARKS)
    Rating.objects.filter(part="spelling").update(**change)

    breaches = {breach.check.key for breach in find_breaches(Study.objects.get())}

    assert keys <= breaches <= {*keys, "answer_that_contradicts_its_marks"}


def test_files_name_the_turn_of_each_mark(tab):
    save(tab, *MARKS)
    study = Study.objects.get()

    rows = read(study, "highlights")

    assert [(row["input"], row["turn"], row["start"], row["quote"]) for row in rows] == [
        ("", "2", str(ASKED.index("lift")), "lift"),
        ("", "5", str(ANSWERED.index("Thursday")), "Thursday evening"),
        ("", "6", str(HEBREW.index("המעלית")), "המעלית"),
        ("source", "2", "25", "until Friday"),
    ]
    assert "turn" not in read(study, "ratings")[0]
    # texts of WMT have no turns
    assert "mqm" not in list_downloads_of(study)


def test_files_of_texts_have_no_column_for_turns_and_errors_of_wmt():
    content = make_content()
    content["item"]["outputs"]["kind"] = content["item"]["inputs"][0]["kind"] = "text"
    study = make_built_study(content)

    assert "turn" not in {column.name for column in list_downloads_of(study)["highlights"]}
    assert "mqm" in list_downloads_of(study)


def test_pages_of_results_say_the_turn(staff_client):
    study = make_turns_study(OUTPUT)
    save(open_tab(study), *MARKS)
    item, person = Item.objects.main().get(), study.participants.get()

    for address in (
        reverse("admin:results-item", args=[study.pk, item.pk]),
        reverse("admin:study-person", args=[study.pk, person.pseudonym]),
    ):
        page = staff_client.get(address)
        assert page.status_code == 200
        assert "“Thursday evening” in turn 5: Mistranslation, Major (Friday)" in page.text
        assert "(turn 2)" not in page.text


SAME = json.dumps([{"role": "user", "content": "It is open."}] * 2)


def test_the_same_place_of_another_turn_is_another_place():
    study = make_turns_study(SAME, k=2)
    for turn in (1, 2):
        save(open_tab(study), mark(turn, "open", "grammar", text="It is open."))
    (criterion,) = study.config.criteria

    (spread,) = measure_records(list_records(study), criterion, read_counted(study), [])
    report, _files = analyse_study(study)

    assert spread.apart == 1
    (reported,) = report["kept"]["criteria"]
    figures = {figure["name"]: figure["value"] for figure in reported["spans"]["agreement"]
               if not figure.get("group")}  # fmt: skip
    assert (figures["character_f1"], figures["span_f1"]) == (0, 0)


def test_people_who_mark_the_same_turn_agree():
    study = make_turns_study(SAME, k=2)
    for quote in ("open", "is open"):
        save(open_tab(study), mark(2, quote, "grammar", text="It is open."))

    report, _files = analyse_study(study)

    (reported,) = report["kept"]["criteria"]
    figures = {figure["name"]: figure["value"] for figure in reported["spans"]["agreement"]
               if not figure.get("group")}  # fmt: skip
    # F1 of 4 and 7 characters: 2 x 4 / 11
    assert figures["character_f1"] == pytest.approx(8 / 11)


def write_ratings(*entries: Any) -> io.BytesIO:
    row = {"participant": "w1", "item": "i0", "system": "alpha", "criterion": "errors",
           "value": json.dumps(entries)}  # fmt: skip
    target = io.StringIO(newline="")
    writer = csv.DictWriter(target, list(row))
    writer.writeheader()
    writer.writerow(row)
    return io.BytesIO(target.getvalue().encode())


def test_ratings_from_elsewhere_hold_marks_of_turns():
    study = make_turns_study(SAME)
    alike = [mark(turn, "open", "grammar", text="It is open.") for turn in (1, 2)]

    sound = check_ratings(write_ratings(*alike), study=study)
    faulty = check_ratings(write_ratings({**alike[0], "turn": 3}), study=study)

    assert sound.faults == []
    (answer,) = sound.answers
    assert [rating.row.turn for rating in answer.ratings.values()] == [1, 2, 0]
    assert [fault.code for fault in faulty.faults] == ["value_invalid"]


def test_errors_in_texts_as_wmt_has_them_are_refused():
    study = make_turns_study(OUTPUT)
    header = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity"
    line = "alpha\td\t1\t1\tr\tIs it?\t<v>It</v> is.\tFluency/Grammar\tMinor"

    checked = check_ratings(io.BytesIO(f"{header}\n{line}\n".encode()), study=study)

    assert [fault.code for fault in checked.faults] == ["turns_marked"]


def test_a_cell_that_marks_no_turn_is_refused():
    study = make_built_study(make_content())
    row = {"item": "a", "source": SOURCE, "system": "alpha", "output": OUTPUT}
    cells = {5: [], 4: ["spans_invalid"]}

    for turn, codes in cells.items():
        cell = json.dumps([{"quote": "Thursday", "turn": turn}])
        checked = check_rows(study, [{**row, "suggested_spans": cell}])
        assert [fault.code for fault in checked.faults] == codes


def test_simulated_people_mark_turns():
    study = make_built_study(make_content(), set_size=2, k=2, is_demo=True)
    said = [SAID, SAID[:2]]
    import_rows(study, [
        {"item": f"i{number}", "source": SOURCE, "system": name,
         "output": json.dumps([*turns, {"role": "assistant", "content": f"By {name}."}])}
        for number, turns in enumerate(said) for name in ("alpha", "beta")
    ])  # fmt: skip
    launch(study)

    list(simulate_crowd(study, participants=3, seed="turns"))

    assert Rating.objects.marks().filter(turn__gt=0).count() > 3
    assert not Rating.objects.marks().filter(turn=0).exists()
    assert find_breaches(study) == []


def test_turns_are_rated_and_marked_on_one_page():
    content = make_content()
    content["criteria"].append({
        "key": "quality", "label": "This turn", "per": "turn", "question": "How good is it?",
        "turns": {"roles": ["assistant"]},
        "scale": {"kind": "number", "minimum": 1, "maximum": 5},
    })  # fmt: skip
    tab = open_tab(make_turns_study(OUTPUT, content=content))
    rated = {f"quality-{turn}": "3" for turn in (3, 5, 7)}

    page = tab.page.content.decode()
    saved = save(tab, mark(5, "Thursday", "grammar"), **rated)

    assert saved.status_code == 302
    assert 'data-text="read-all-turns"' in page
    assert page.count('data-turn="5"') == 1
    assert set(Rating.objects.values_list("criterion", "turn")) == {
        ("errors", 5), ("errors", 0), ("quality", 3), ("quality", 5), ("quality", 7),
    }  # fmt: skip
    study = Study.objects.get()
    assert find_breaches(study) == []
    assert json.loads(Entered(tab.open().page.content.decode()).values["errors"])
    assert Output.objects.count() == 1
