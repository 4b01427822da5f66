"""Marked passages through the rating page: stored, changed, drafted, refused and given back."""

import csv
import json
from typing import Any

import pytest

from evalsite.data.files.services import Choice, stream_file
from evalsite.data.fsck import find_breaches
from evalsite.decisions.check_results import judge_checks
from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.handout.models import Annotation, Draft, Rating, Revision
from evalsite.instruments.answer import AnswerRow
from evalsite.studies.models import Item, Study
from tests.support.answering import Entered
from tests.support.batches import check_rows, import_rows
from tests.support.factories import launch
from tests.support.instruments import GALLERY, make_built_study
from tests.support.tabs import Tab, open_tab

pytestmark = pytest.mark.django_db

SOURCE = "The lift is out of order until Friday."
TEXT = "Der Aufzug ist ist bis Freitag außer Betrieb. 😀"
MOST_QUERIES = 15


def read_gallery(key: str) -> dict[str, Any]:
    return json.loads((GALLERY / f"{key}.json").read_bytes())


def make_live(content: dict[str, Any], text: str = TEXT, **cells: str) -> Study:
    study = make_built_study(content, set_size=20, k=1, is_practice_on=False)
    row = {"source": SOURCE, "system": "alpha", "output": text, **cells}
    import_rows(study, [{"item": "one", **row}])
    return launch(study)


@pytest.fixture
def tab() -> Tab:
    return open_tab(make_live(read_gallery("mqm")))


def mark(quote: str, category: str, severity: str = "minor", **parts: Any) -> dict[str, Any]:
    start = (SOURCE if parts.get("in") == "source" else TEXT).index(quote)
    kind = {"category": category, "severity": severity}
    return {"start": start, "end": start + len(quote), "quote": quote, **kind, **parts}


def save(tab: Tab, *entries: Any, **changes: str) -> Any:
    posted = {"errors": json.dumps(entries) if entries else "", **changes}
    return tab.client.post(
        tab.address_of(1), {"state": tab.fields["state"], "go": "next", **posted}
    )


def list_marks() -> list[tuple[Any, ...]]:
    rows = Rating.objects.order_by("id").values_list("part", "value", "text", "start", "end")
    return list(rows)


def test_marks_and_their_score_are_stored_once_however_often_they_are_sent(tab):
    entries = [mark("Aufzug", "spelling"), mark("😀", "addition", "major")]

    first, second = save(tab, *entries), save(tab, *entries)

    assert (first.status_code, second.status_code) == (302, 302)
    assert list_marks() == [
        ("spelling", None, "Aufzug", 4, 10), ("addition", None, "😀", 46, 47),
        ("", 6, "", None, None),
    ]  # fmt: skip
    assert not Revision.objects.exists()
    assert find_breaches(Study.objects.get()) == []


def test_an_answer_is_changed_and_the_earlier_one_kept(tab):
    save(tab, mark("Aufzug", "spelling"))
    save(tab.open(), **{"errors.none": "yes"})

    (revision,) = Revision.objects.all()
    earlier = AnswerRow(Item.objects.main().get().pk, revision.annotation.ratings.first().output_id,
                        "errors", part="spelling", text="Aufzug", detail={"severity": "minor"},
                        start=4, end=10)  # fmt: skip
    assert earlier in revision.list_rows()
    assert [(part, value) for part, value, *_rest in list_marks()] == [("none", 1), ("", 0)]
    entered = Entered(tab.open().page.content.decode()).values
    assert (entered["errors.none"], entered["errors"]) == ("yes", "")


def test_what_was_saved_is_shown_drawn_and_posted_again(tab):
    save(tab, mark("ist", "spelling"), mark("until Friday.", "omission", **{"in": "source"}))

    page = tab.open().page.content.decode()

    assert '<mark class="major" data-n="1">ist</mark> ist' in page
    assert 'data-n="2">until Friday.</mark>' in page
    assert json.loads(Entered(page).values["errors"])[1]["in"] == "source"


@pytest.mark.parametrize(
    ("entries", "changes"),
    [
        ([mark("Aufzug", "")], {}),
        ([{**mark("Aufzug", "spelling"), "start": 3}], {}),
        ([mark("Aufzug", "spelling")], {"errors.none": "yes"}),
        ([], {"errors.quote-1": "Fahrstuhl", "errors.category-1": "spelling"}),
        ([], {"errors": "no list"}),
        ([], {}),
    ],
)
def test_what_does_not_fit_is_refused_with_a_link_and_nothing_is_lost(tab, entries, changes):
    page = save(tab, *entries, **changes)

    assert page.status_code == 422
    assert not Annotation.objects.exists()
    html = page.content.decode()
    assert 'href="#errors.quote-1"' in html
    assert 'id="errors.quote-1"' in html
    entered = Entered(html).values
    if "errors.quote-1" in changes:
        assert entered["errors.quote-1"] == "Fahrstuhl"
        assert '<option value="spelling" selected>' in html
    elif entries and "start" in entries[0] and entries[0]["start"] == 4:
        assert json.loads(entered["errors"])[0]["quote"] == "Aufzug"


def test_a_draft_keeps_marks_that_lack_something(tab):
    entry = mark("Aufzug", "")
    fields = {"state": tab.fields["state"], "errors": json.dumps([entry])}

    saved = tab.client.post(f"{tab.home}draft/", fields)

    assert saved.status_code == 200
    assert json.loads(Draft.objects.get().values["errors"])[0]["quote"] == "Aufzug"
    kept = json.loads(Entered(tab.open().page.content.decode()).values["errors"])
    assert (kept[0]["start"], "category" in kept[0]) == (4, False)


def test_marks_of_a_column_are_there_at_first_and_stay_away_once_removed():
    cell = json.dumps([{"quote": "Aufzug", "severity": "minor", "category": "spelling"}])
    tab = open_tab(make_live(read_gallery("mqm"), suggested_spans=cell))

    suggested = Entered(tab.page.content.decode()).values["errors"]
    tab.client.post(f"{tab.home}draft/", {"state": tab.fields["state"], "errors": ""})

    assert json.loads(suggested) == [mark("Aufzug", "spelling")]
    assert Entered(tab.open().page.content.decode()).values["errors"] == ""


@pytest.mark.parametrize(
    "cell", ["Aufzug", '[{"quote": "Fahrstuhl"}]', '[{"quote": "ist"}]', '["none"]',
             '[{"quote": "Aufzug", "severity": "worst"}]', '[{"start": 4, "end": 99}]']
)  # fmt: skip
def test_a_cell_that_marks_nothing_in_its_text_is_refused(cell):
    study = make_built_study(read_gallery("esa"))
    row = {"item": "one", "source": SOURCE, "suggested_spans": cell, "system": "alpha"}

    checked = check_rows(study, [{**row, "output": TEXT}])

    assert [(fault.code, fault.column) for fault in checked.faults] == [
        ("spans_invalid", "suggested_spans")
    ]


def test_a_question_may_depend_on_what_is_marked():
    content = read_gallery("esa")
    content["criteria"][1]["ask_if"] = {"criterion": "errors", "has": {"severity": "major"}}
    tab = open_tab(make_live(content))
    entry = {"quote": "Aufzug", "severity": "minor"}

    asked = save(tab, {**entry, "severity": "major"})
    unasked = save(tab, entry)

    assert (asked.status_code, unasked.status_code) == (422, 302)


def test_contradictions_in_stored_rows_are_found(tab):
    save(tab, mark("Aufzug", "spelling"))
    study = Study.objects.get()
    breaks = [
        ({"part": ""}, {"value": 5}, "answer_that_contradicts_its_marks"),
        ({"part": "spelling"}, {"part": "taste"}, "highlight_of_a_category_that_nothing_offers"),
        ({"part": "spelling"}, {"detail": {"severity": "worst"}},
         "highlight_of_a_category_that_nothing_offers"),
        ({"part": "spelling"}, {"part": "spelling@source"}, "highlight_that_does_not_fit"),
        ({"part": "spelling"}, {"text": "Der"}, "highlight_that_does_not_fit"),
    ]  # fmt: skip
    for which_row, change, key in breaks:
        row = Rating.objects.get(criterion="errors", **which_row)
        Rating.objects.filter(pk=row.pk).update(**change)
        assert key in {breach.check.key for breach in find_breaches(study)}, (change, key)
        row.save()
    assert find_breaches(study) == []


def test_simulated_people_mark_passages():
    content = read_gallery("mqm")
    study = make_built_study(content, set_size=4, k=2, is_demo=True)
    rows = [
        {"item": f"i{n}", "source": SOURCE, "system": name, "output": f"{TEXT} ({n}, {name})"}
        for n in range(1, 5)
        for name in ("alpha", "beta")
    ]
    import_rows(study, rows)
    launch(study)

    list(simulate_crowd(study, participants=4, seed="marks"))

    assert Rating.objects.marks().count() > 5
    assert find_breaches(study) == []


def test_a_page_with_3000_marks_in_100_categories_needs_no_more_queries(
    django_assert_max_num_queries,
):
    content = read_gallery("mqm")
    scale = content["criteria"][0]["scale"]
    scale["most"] = 3_000
    scale["weights"] = []
    content["practice"] = []
    scale["categories"] = [{"key": f"kind_{n}", "label": f"Kind {n}"} for n in range(100)]
    text = "ein Wort und " * 1_600
    tab = open_tab(make_live(content, text))
    words = [at for at in range(0, 13 * 1_600, 13)]
    entries = [
        {"start": at, "end": at + length, "quote": text[at : at + length],
         "category": f"kind_{at % 100}", "severity": "minor"}
        for at in words[:1_500] for length in (3, 8)
    ]  # fmt: skip

    with django_assert_max_num_queries(MOST_QUERIES):
        saved = save(tab, *entries)
    with django_assert_max_num_queries(MOST_QUERIES):
        page = tab.open().page

    assert (saved.status_code, page.status_code) == (302, 200)
    assert Rating.objects.marks().count() == 3_000
    assert Rating.objects.get(part="").value == 3_000
    assert json.loads(Entered(page.content.decode()).values["errors"])[2_999]["quote"] == "ein Wort"


def test_the_researcher_reads_what_was_marked(tab):
    save(tab, mark("Aufzug", "spelling", note="Fahrstuhl?"))
    scale = Study.objects.get().config.criteria[0].scale

    words = scale.describe_answer(Annotation.objects.get().list_rows())

    assert words == "“Aufzug”: Spelling, Minor (Fahrstuhl?) (penalty 1)"


@pytest.mark.parametrize(("quote", "agrees"), [("ist ist", "yes"), ("Aufzug", "no")])
def test_gold_of_marks_is_compared_in_files_and_in_the_quality_of_checks(tab, quote, agrees):
    save(tab, mark(quote, "grammar"))
    study = Study.objects.get()
    gold = {"errors": '[{"quote": "ist", "nth": 2, "category": "grammar"}]'}
    Item.objects.main().update(kind=Item.Kind.GOLD, gold=gold)

    checks = judge_checks(study, Annotation.objects.filter(study=study))
    file = b"".join(stream_file(study, Choice(file="annotations"), by=None)).decode()

    assert [agreed for _who, agreed in checks.values()] == [agrees == "yes"]
    assert [line["gold_agrees"] for line in csv.DictReader(file.splitlines())] == [agrees]
