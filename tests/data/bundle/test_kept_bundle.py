"""Bundles that earlier code wrote: this version reads them, and exports what is in them."""

import csv
import io
import json
from pathlib import Path

import pytest

from evalsite.data.bundle.format_3 import convert_annotation
from evalsite.data.bundle.restore import restore_bundle
from evalsite.data.bundle.verify import verify_bundle
from evalsite.data.files.columns import list_files_of
from evalsite.data.fsck import find_breaches
from evalsite.handout.models import Revision
from tests.support.bundles import read_files
from tests.support.exports import export
from tests.support.factories import make_user

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "bundle"
BUNDLE, RATINGS = FOLDER / "format-2.zip", FOLDER / "format-2-ratings.csv"
# one for each way of keeping groups together; they hold every kind of row between them
GROUPS = {path.stem.removeprefix("format-3-"): path for path in FOLDER.glob("format-3-*.zip")}


def read_rows(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode(), newline=""), strict=True))


@pytest.mark.torture
def test_kept_bundle_is_verified(django_db_setup):
    with BUNDLE.open("rb") as file:
        report = verify_bundle(file)

    assert report.faults == []
    assert report.about["format_version"] == 2


@pytest.mark.django_db
def test_kept_bundle_makes_its_study_again():
    with BUNDLE.open("rb") as file:
        restored = restore_bundle(file=file, owner=make_user(), by="a test")

    assert find_breaches(restored.study) == []
    kept = read_rows(RATINGS.read_bytes())
    rows = read_rows(export(restored.study, "ratings"))
    assert [{name: row[name] for name in kept[0]} for row in rows] == kept


@pytest.mark.both_databases
@pytest.mark.django_db
@pytest.mark.usefixtures("checks_here")
@pytest.mark.parametrize("groups", sorted(GROUPS))
def test_bundle_of_format_3_makes_a_study_that_exports_the_rows_in_it(groups):
    """The rows that count are those of the bundle's own tables. Columns may be added to them."""
    files = read_files(GROUPS[groups].read_bytes())
    about = json.loads(files["study.json"])

    with GROUPS[groups].open("rb") as file:
        restored = restore_bundle(file=file, owner=make_user(), by="a test")

    assert about["format_version"] == 3
    assert restored.study.groups == about["study"]["groups"] == groups
    # this version's scripts have changed since the bundle was made
    assert all("isn't the script" in remark for remark in restored.remarks)
    assert find_breaches(restored.study) == []
    names = [name for name in list_files_of(restored.study) if f"data/{name}.csv" in files]
    assert {"ratings", "annotations", "items", "participants"} <= {*names}
    for name in names:
        kept = read_rows(files[f"data/{name}.csv"])
        rows = read_rows(export(restored.study, name))
        columns = kept[0] if kept else ()
        assert [{column: row[column] for column in columns} for row in rows] == kept
    assert Revision.objects.count() == about["counts"]["revisions"] > 0


def test_rows_of_format_3_are_those_of_today():
    row = {
        "key": "k",
        "ratings": [
            ["score", 1, 70, " 70", 3],
            ["tone", None, 2, "", None, "", "Dull", {"option": "other"}],
            ["said", 0, 1, "", None, "s1", "", None, 4],
        ],
        "highlights": [[0, 3, 7, "word"]],
        "revisions": [
            {
                "state": {
                    "note": "n",
                    "ratings": [["score", 1, 60, "60"], ["said", 0, 0, "", "s1", "", None, 4]],
                    "highlights": [],
                },
                "submitted_at": "t",
            }
        ],
    }

    # output, criterion, turn, part, value, text, detail, start, end, record in the file
    assert convert_annotation(row) == {
        "key": "k",
        "ratings": [
            [1, "score", 0, "", 70, " 70", None, None, None, 3],
            [None, "tone", 0, "", 2, "Dull", {"option": "other"}, None, None, None],
            [0, "said", 4, "s1", 1, "", None, None, None, None],
            [0, "highlights", 0, "", None, "word", None, 3, 7],
        ],
        "revisions": [
            {
                "state": {
                    "note": "n",
                    "rows": [
                        [1, "score", 0, "", 60, "60", None],
                        [0, "said", 4, "s1", 0, "", None],
                    ],
                },
                "submitted_at": "t",
            }
        ],
    }


def test_bundles_of_format_3_hold_every_kind_of_row_between_them():
    kept: dict[str, dict[str, set[str]]] = {}
    for path in GROUPS.values():
        for name, data in read_files(path.read_bytes()).items():
            if name.endswith(".csv"):
                columns = kept.setdefault(name.removeprefix("data/").removesuffix(".csv"), {})
                for row in read_rows(data):
                    for column, value in row.items():
                        columns.setdefault(column, set()).add(value)

    assert sorted(GROUPS) == ["free", "once", "together"]
    ratings, annotations = kept["ratings"], kept["annotations"]
    assert ratings["scale"] == {
        "likert", "slider", "number", "magnitude", "decision", "checklist", "choice", "choices",
        "preference", "text",
    }  # fmt: skip
    assert ratings["kind"] == {"main", "practice", "gold", "attention", "repeat"}
    assert annotations["outcome"] == {"rated", "ignored", "reported", "skipped"}
    assert annotations["status"] == {"counted", "surplus", "control", "skipped", "withdrawn"}
    assert annotations["origin"] == {"simulated", "imported"}
    assert annotations["aids"] == kept["participants"]["excluded"] == {"yes", "no"}
    # statements of the study and of an item, options, words on an answer
    assert ratings["part"] >= {"", "comment", "1", "plain", "fact", "more"}
    assert ratings["text"] >= {"Half of it\nis missing.", "Sounds like gossip", "Say when.\n=1+1"}
    assert ratings["turn"] == {"", "2", "4"}
    assert ratings["not_applicable"] == {"no", "yes"}
    assert ratings["both"] == {"", "good", "bad"}
    assert ratings["outcome"] == {"", "1", "2", "tie"}
    assert ratings["reasons"] >= {"", "item-03#1: useful; item-03#2: wrong"}
    assert {" 70 ", "999999"} <= ratings["value_typed"]
    assert len(ratings["repeat_of"]) == 3
    assert {"ferry", "👩‍🔬", "daily"} <= kept["highlights"]["quote"]
    assert {"BLEU", "=β, “2”"} == kept["metrics"]["metric"]
    assert {"", "pace"} == kept["exclusions"]["rule"]
    assert len(kept["exclusions"]["revoked_at"]) > 1
