"""A bundle of format 2 that version 0.1 wrote: this version reads it."""

import csv
import io
from pathlib import Path

import pytest

from evalsite.annotation.fsck import find_breaches
from evalsite.exports.bundle.restore import restore_bundle
from evalsite.exports.bundle.verify import verify_bundle
from tests.support.exports import export
from tests.support.factories import make_user

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "bundle"
BUNDLE, RATINGS = FOLDER / "format-2.zip", FOLDER / "format-2-ratings.csv"


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
