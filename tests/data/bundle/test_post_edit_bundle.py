"""A bundle of corrected texts: verified, loaded into another site, and packed again."""

import csv
import io
import json

import pytest
from django.db import transaction

from evalsite.data.bundle.format import REPORT
from evalsite.data.bundle.restore import restore_bundle
from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.handout.models import Rating
from evalsite.results.report.computation import compute_report
from evalsite.studies.models import Study
from tests.support.batches import import_rows
from tests.support.bundles import close, examine, pack, read_files
from tests.support.factories import launch, make_user
from tests.support.instruments import GALLERY, make_built_study

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

MAIL = "kim@example.net"


def make_closed() -> Study:
    """A study with simulated answers and a report, one of whose texts names a person."""
    content = json.loads((GALLERY / "post_edit.json").read_bytes())
    study = make_built_study(content, k=2, set_size=4, is_practice_on=False, is_demo=True)
    with (GALLERY / "batches" / "post_edit.csv").open(encoding="utf-8", newline="") as file:
        rows = [{**row, "output": row["translation"]} for row in csv.DictReader(file)]
    for row in rows:
        del row["translation"]
    import_rows(study, rows)
    launch(study)
    list(simulate_crowd(study, participants=8, seed="edits"))
    row = Rating.objects.filter(criterion="corrected", value__gt=0).earliest("pk")
    # as many words, so that its counts still fit
    words = row.text.split()
    Rating.objects.filter(pk=row.pk).update(text=" ".join([*words[:-1], MAIL]))
    return close(study)


@pytest.mark.parametrize(
    ("has_free_text", "is_public", "shown"),
    [(True, False, MAIL), (True, True, "[e-mail]"), (False, False, "(left out)")],
)
def test_corrected_texts_come_back_from_a_bundle_as_they_were(has_free_text, is_public, shown):
    options = {"has_free_text": has_free_text, "is_public": is_public}
    with transaction.atomic():
        study = make_closed()
        compute_report(study)
        bundle = pack(study, **options)
        report = examine(bundle)
        transaction.set_rollback(True)

    assert report.faults == []
    assert "Every figure of its report, computed again." in report.checks
    kept = read_files(bundle)
    ratings = kept["data/ratings.csv"].decode()
    assert shown in ratings
    assert (MAIL in str(kept)) is (has_free_text and not is_public)
    if not has_free_text:
        # nothing that a person left as it was, or wrote, is there
        lines = list(csv.DictReader(io.StringIO(ratings)))
        texts = {line["text"] for line in lines if line["criterion"] == "corrected"}
        assert texts == {"(left out)"}
    restored = restore_bundle(file=io.BytesIO(bundle), owner=make_user("other"), by="a test").study
    here = read_files(pack(restored, **options))
    tables = [name for name in kept if name.startswith(("data/", "records/", "design/"))]
    assert {name: here[name] for name in tables} == {name: kept[name] for name in tables}
    figures = json.loads(kept[REPORT])["figures"]
    rated = [figure for figure in figures if figure["group"].get("criterion") == "corrected"]
    assert {figure["group"].get("system") for figure in rated} >= {"plover", "tarn-2"}
