"""Verifying computes every figure again: of each demo study, and of published ratings."""

import pytest

from evalsite.imports.batches.importer import import_file
from evalsite.imports.demo import (
    add_demo_crowd,
    make_built_demo,
    make_demo_study,
)
from evalsite.instruments.installed import installed_protocols
from evalsite.results.report.computation import compute_report
from evalsite.studies.models import Study
from tests.support import imported
from tests.support.bundles import close, examine, pack
from tests.support.factories import make_study, make_user
from tests.support.published import published_file

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def verify_all(study: Study) -> None:
    compute_report(study)

    report = examine(pack(close(study) if study.is_launched else study))

    assert report.faults == []
    assert "Every figure of its report, computed again." in report.checks
    # nor is the report in the README another one
    assert report.remarks == []


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
