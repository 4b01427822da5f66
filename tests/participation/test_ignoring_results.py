"""What becomes of ignored items: in the files, in the counts, and in a simulated crowd."""

import csv
import io
from datetime import timedelta

import pytest

from evalsite.data.files.services import Choice, stream_file
from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.handout.models import Annotation, Rating
from evalsite.lib.clock import now, standing_at
from evalsite.results.progress import median_seconds, progress_of, read_latest
from evalsite.studies.models import Study
from tests.support.ignoring import GROUP, ITEM, SCORES, make_reviews, open_reader

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("promises")]


def read_rows(study: Study, file: str) -> list[dict[str, str]]:
    sent = b"".join(stream_file(study, Choice(file=file), by=None)).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(sent)))


def test_ignored_items_are_exported_with_their_reason_and_without_ratings():
    study = make_reviews()
    reader = open_reader(study)
    reader.rate(4)
    reader.ignore(1, GROUP)
    reader.ignore(5, ITEM)

    rows = read_rows(study, "annotations")
    told = {(row["outcome"], row["reason"], row["problem"], row["status"]) for row in rows}

    assert len(rows) == 5
    assert told == {
        ("rated", "", "", "counted"),
        ("ignored", "review", "", "counted"),
        ("ignored", "response", "", "counted"),
    }
    assert {row["ratings"] for row in rows if row["outcome"] == "ignored"} == {"0"}
    assert {row["item"] for row in read_rows(study, "ratings")} == {reader.item_at(4).key}


def test_an_ignored_item_counts_as_done():
    study = make_reviews()
    open_reader(study).ignore(1, GROUP)

    progress = progress_of(study)

    assert (progress.done, progress.target) == (3, 6)


def test_ignoring_a_whole_review_makes_nobody_look_faster():
    study = make_reviews(reviews=4, set_size=12)
    start = now()
    reader = open_reader(study)
    for place, minutes in ((1, 1), (2, 3), (3, 1.9), (7, 1.9), (8, 1.9)):
        with standing_at(start):
            reader.open(place)
        with standing_at(start + timedelta(minutes=minutes)):
            reader.send(place, **SCORES)

    reader.ignore(4, GROUP)

    # 1.9 minutes is the median of the five that were rated; 4 of 12 items are left
    assert round(median_seconds(read_latest(study))) == 114
    assert reader.open(9).page.context["minutes_left"] == 8


@pytest.mark.torture
@pytest.mark.slow
def test_simulated_visitors_ignore_now_and_then_through_the_pages():
    study = make_reviews(reviews=20, set_size=30, is_demo=True)

    for _ in simulate_crowd(study, participants=5, seed="ignore"):
        pass

    ignored = Annotation.objects.filter(outcome="ignored")
    assert 0 < ignored.count() < 0.25 * Annotation.objects.count()
    assert not Rating.objects.filter(annotation__in=ignored).exists()
    assert set(ignored.values_list("origin", flat=True)) == {"simulated"}
