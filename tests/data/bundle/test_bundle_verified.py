"""Verifying computes every figure again: of each demo study, and of published ratings."""

import io
import json

import pytest
from django.db import transaction

from evalsite.data.bundle.format import REPORT
from evalsite.data.bundle.restore import restore_bundle
from evalsite.data.demo import (
    add_demo_crowd,
    make_built_demo,
    make_demo_study,
)
from evalsite.data.items.importer import import_file
from evalsite.handout.models import Annotation, Rating
from evalsite.instruments.installed import installed_protocols
from evalsite.results.report.computation import compute_report
from evalsite.studies.models import Study
from tests.support import imported
from tests.support.bundles import close, examine, pack, read_files
from tests.support.factories import make_study, make_user
from tests.support.kept_bundles import MAKERS
from tests.support.published import published_file

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def verify_all(study: Study, **contents: bool) -> bytes:
    """Return the bundle, of which every figure was computed again."""
    compute_report(study)

    bundle = pack(close(study) if study.is_launched else study, **contents)
    report = examine(bundle)

    assert report.faults == []
    assert "Every figure of its report, computed again." in report.checks
    # nor is the report in the README another one
    assert report.remarks == []
    return bundle


@pytest.mark.parametrize(
    "protocol",
    [
        "magnitude",
        *(
            pytest.param(name, marks=pytest.mark.torture)
            for name in ("dialogue", "fluency", "pairwise", "rrgen")
        ),
    ],
)
def test_every_figure_of_a_demo_study_is_computed_again(protocol: str) -> None:
    study = make_demo_study(installed_protocols()[protocol], by=make_user())
    add_demo_crowd(study)

    verify_all(study)


@pytest.mark.torture
def test_every_figure_of_a_demo_of_an_instrument_without_code_is_computed_again() -> None:
    study = make_built_demo(by=make_user())
    add_demo_crowd(study)

    verify_all(study)


@pytest.mark.parametrize(
    ("protocol", "batch", "ratings", "has_persons"),
    [
        ("magnitude", "rankme/batch_long.csv", "rankme/ratings_long.csv", True),
        pytest.param(
            "pairwise", "marco_pairwise/batch_long.csv", "marco_pairwise/ratings_long.csv", False,
            marks=pytest.mark.torture,
        ),
    ],
)  # fmt: skip
def test_every_figure_of_published_ratings_is_computed_again(
    protocol: str, batch: str, ratings: str, has_persons: bool
) -> None:
    study = make_study(items=0, protocol=protocol)
    import_file(study=study, path=published_file(batch), by=None)
    text = published_file(ratings).read_bytes().decode()
    imported.load(study, text, has_persons=has_persons)

    verify_all(study)


@pytest.mark.parametrize(
    ("groups", "has_free_text"),
    [
        ("free", False),
        ("together", True),
        *(
            pytest.param(*case, marks=pytest.mark.torture)
            for case in (("free", True), ("together", False), ("once", True), ("once", False))
        ),
    ],
)
def test_every_kind_of_row_is_verified_and_loaded_into_another_site(
    groups: str, has_free_text: bool
) -> None:
    """Comments, reasons, notes on items, skips and reports of problems are among them."""
    with transaction.atomic():
        bundle = verify_all(MAKERS[groups](), has_free_text=has_free_text)
        transaction.set_rollback(True)

    study = restore_bundle(file=io.BytesIO(bundle), owner=make_user("other"), by="a test").study

    here, kept = read_files(pack(study, has_free_text=has_free_text)), read_files(bundle)
    figures = {one["name"] for one in json.loads(kept[REPORT])["figures"]}
    tables = [name for name in kept if name.startswith(("data/", "records/", "design/"))]
    assert {name: here[name] for name in tables} == {name: kept[name] for name in tables}
    answers, ratings = Annotation.objects.all(), Rating.objects.all()
    reasons = [one.detail["reasons"] for one in ratings if one.detail and "reasons" in one.detail]
    assert ratings.filter(part="comment").exists()
    if groups == "free":
        assert answers.filter(outcome="skipped").exists()
        assert answers.filter(outcome="reported").exclude(reason="").exists()
        notes = set(answers.exclude(note="").values_list("note", flat=True))
        assert (notes == {"(left out)"}) is not has_free_text
        assert {"notes", "skips", "problem_reports"} <= figures
    if groups == "together":
        assert reasons
        # by the ids that outputs have here
        outputs = set(study.items.values_list("outputs__pk", flat=True))
        assert {int(pk) for named in reasons for pk in named if pk != "all"} <= outputs
