"""A bundle for the public with comments has no e-mail address or long number in them."""

import json

import pytest

from evalsite.data.bundle.format import STUDY
from evalsite.handout.models import Revision
from evalsite.studies.models import Study
from tests.data.files.test_export_simple import answer, rate
from tests.support.batches import import_rows, make_rows
from tests.support.bundles import examine, pack, read_files
from tests.support.exports import START, export, main_items, read
from tests.support.factories import make_participant
from tests.support.instruments import make_built_study, read_instrument

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("checks_here")]

MAIL, NUMBER = "rater@mail.example", "0151 2345678"
WORDS, MASKED = f"Ask {MAIL} or {NUMBER}.", "Ask [e-mail] or [number]."


@pytest.fixture
def study() -> Study:
    """A comparison with the same words in a comment, an answer, a note, and an earlier state."""
    study = make_built_study(read_instrument("arena_preference"))
    import_rows(study, make_rows(study.config, items=3))
    first, second, _ = main_items(study)
    me = make_participant(study)
    mine = answer(study, me, first, note=WORDS, status="surplus")
    rate(mine, "preference", 1, value=2)
    rate(mine, "preference", None, part="comment", text=WORDS)
    rate(mine, "what_is_bad", None, text=WORDS)
    rows = [list(row)[1:] for row in mine.list_rows()]
    state = {"note": WORDS, "outcome": "rated", "reason": "", "rows": rows}
    Revision.objects.create(
        study=study, annotation=mine, state=state, submitted_at=START, replaced_at=START
    )
    rate(answer(study, me, second, status="surplus"), "preference", 1, value=1)
    return study


def test_every_place_with_words_of_people_is_masked_and_the_bundle_is_sound(study: Study) -> None:
    bundle = pack(study, is_public=True, has_free_text=True, has_entry_answers=False)

    files = read_files(bundle)
    masked = {name: data.decode().count(MASKED) for name, data in files.items()}
    assert not [name for name, data in files.items() if MAIL.encode() in data]
    assert not [name for name, data in files.items() if NUMBER.encode() in data]
    assert {name: count for name, count in masked.items() if count} == {
        "data/annotations.csv": 1, "data/ratings.csv": 2, "records/annotations.jsonl": 6,
    }  # fmt: skip
    assert json.loads(files[STUDY])["is_masked"] is True
    report = examine(bundle)
    assert report.faults == []


def test_files_of_the_team_have_the_words_as_they_were_written(study: Study) -> None:
    files = read_files(pack(study, has_free_text=True))

    assert files["records/annotations.jsonl"].decode().count(WORDS) == 6
    assert "is_masked" not in json.loads(files[STUDY])
    assert {row["text"] for row in read(export(study, "comments"))} == {WORDS}
    chosen = read(export(study, "comments", is_masked=True))
    assert {row["text"] for row in chosen} == {MASKED}
