"""highlights.csv: the passages that were marked, as they stand in the outputs uploaded."""

import io
from collections.abc import Callable
from typing import Any

import pandas
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsite.data.files.codebook import list_chapters
from evalsite.data.files.columns import HIGHLIGHTS
from evalsite.data.files.file_counts import store_counts
from evalsite.data.files.selection import Selection
from evalsite.data.files.services import count_rows
from evalsite.handout.models import Annotation, Rating
from evalsite.instruments.answer import AnswerRow
from evalsite.participation.saving import Submission, submit_annotation
from evalsite.people.models import Participant
from evalsite.studies.models import Item, Output, Study
from tests.support.exports import export, main_items, read
from tests.support.factories import make_annotator
from tests.support.marking import HEBREW, SIGNS, TEXT, make_marking_study

pytestmark = pytest.mark.django_db

HOSTILE = '=HYPERLINK(1), "said"\r\n<script>\rlate; +1'


@pytest.fixture
def study() -> Study:
    return make_marking_study(TEXT, SIGNS, HEBREW, HOSTILE)


def item_of(study: Study, text: str) -> Item:
    return Item.objects.get(outputs__text=text, study=study)


def mark(me: Participant, text: str, *quotes: str, **said: Any) -> Annotation:
    """An answer of this person in which these passages of the text are marked."""
    item = item_of(me.study, text)
    output = item.outputs.get()  # type: ignore[attr-defined]
    starts = [(text.index(quote), quote) for quote in quotes]
    marks = tuple(
        AnswerRow(item.pk, output.pk, "highlights", text=quote, start=start, end=start + len(quote))
        for start, quote in starts
    )
    submission = Submission(item=item, rows=marks, order_shown=(0,), **said)
    submit_annotation(participant=me, submission=submission)
    return Annotation.objects.get(participant=me, item=item)


def test_highlight_says_what_was_marked_by_whom_and_where(study: Study) -> None:
    me = make_annotator(study)
    annotation = mark(me, TEXT, "staff", "kind words")

    first, second = read(export(study, "highlights"))

    start = TEXT.index("kind words")
    known = {
        "study": str(study.pk), "item": annotation.item.key, "group": annotation.item.group,
        "kind": "main", "system": "neural", "output_id": f"{annotation.item.key}#1",
        "annotation": str(annotation.key), "participant": me.pseudonym, "place": "1",
        "start": str(start), "end": str(start + 10), "quote": "kind words",
        "status": annotation.status, "origin": "own", "excluded": "no", "revisions": "0",
    }  # fmt: skip
    assert {name: first[name] for name in known} == known
    assert second["quote"] == "staff"
    assert list(first) == [column.name for column in HIGHLIGHTS]


def test_quotes_read_back_with_the_documented_call_stand_in_the_outputs(study: Study) -> None:
    me = make_annotator(study)
    mark(me, SIGNS, "👩‍👩‍👧 and 🙂", "cafe\u0301")
    mark(me, HEBREW, "המילים החמות 🙂")
    mark(me, HOSTILE, '=HYPERLINK(1), "said"\r\n<scr', "\rlate; +")

    table = pandas.read_csv(
        io.BytesIO(export(study, "highlights")), dtype=str, keep_default_na=False
    )

    texts = {f"{key}#1": text for key, text in Output.objects.values_list("item__key", "text")}
    rows = table[["output_id", "start", "end", "quote"]].itertuples(index=False, name=None)
    found = [(texts[output][int(start) : int(end)], quote) for output, start, end, quote in rows]
    assert len(found) == Rating.objects.marks().count() == 5
    assert all(passage == quote for passage, quote in found)


def test_formulas_in_quotes_are_guarded_for_spreadsheets_and_places_are_not(study: Study) -> None:
    mark(make_annotator(study), HOSTILE, "=HYPERLINK(1)", "+1")

    rows = read(export(study, "highlights", for_spreadsheets=True).removeprefix(b"\xef\xbb\xbf"))

    assert [row["quote"] for row in rows] == ["'=HYPERLINK(1)", "'+1"]
    assert rows[0]["start"] == "0"


def test_pilots_are_left_out_unless_asked_for_and_counted_as_they_are_exported(
    study: Study,
) -> None:
    mark(make_annotator(study), TEXT, "kind")
    mark(make_annotator(study, is_pilot=True), TEXT, "kind", "staff")

    for with_pilot, number in ((False, 1), (True, 3)):
        rows = read(export(study, "highlights", with_pilot=with_pilot))
        counts = count_rows(study, Selection(with_pilot=with_pilot))
        assert len(rows) == counts["highlights"] == number


def test_queries_do_not_grow_with_the_highlights(study: Study) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            export(study, "highlights")
        return len(queries)

    mark(make_annotator(study), TEXT, "kind")
    few = count()
    for text in (TEXT, SIGNS, HEBREW):
        mark(make_annotator(study), text, text[:2], text[4:6])

    assert count() == few


def test_the_file_is_offered_with_its_codebook_where_passages_are_marked(
    staff_client: Client, study: Study
) -> None:
    mark(make_annotator(study), TEXT, "kind")
    store_counts(study)

    page = staff_client.get(reverse("admin:files-all", args=[study.pk])).content.decode()
    address = reverse("admin:export-file", args=[study.pk, "highlights"])
    sent = staff_client.post(address)

    assert f'formaction="{address}"' in page
    assert "<p>1 row</p>" in page
    assert read(b"".join(sent.streaming_content))[0]["quote"] == "kind"  # type: ignore[attr-defined]
    assert "highlights.csv" in [chapter.file for chapter in list_chapters(study.config)]


def test_a_protocol_without_marking_has_no_such_file(
    staff_client: Client, make_study: Callable[..., Any]
) -> None:
    other = make_study(protocol="magnitude", items=1)
    assert main_items(other)

    page = staff_client.get(reverse("admin:files-all", args=[other.pk])).content.decode()
    address = reverse("admin:export-file", args=[other.pk, "highlights"])

    assert "highlights" not in page
    assert staff_client.post(address).status_code == 404
    assert "highlights.csv" not in [chapter.file for chapter in list_chapters(other.config)]
