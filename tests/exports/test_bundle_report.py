"""A report's figures go with its bundle, and are computed again when it is verified."""

import json
from functools import cache
from typing import Any

import pytest
from django.conf import settings

from evalsite.analysis.figure import METHODS_VERSION
from evalsite.exports.bundle.format import REPORT, STUDY
from evalsite.results.report.computation import compute_report
from tests.support.bundles import (
    bundle_of,
    change,
    close,
    examine,
    make_full_study,
    pack,
    read_files,
)

pytestmark = pytest.mark.django_db(transaction=True)


@cache
def pack_with_report() -> dict[str, bytes]:
    """Bundles of one study that has a report: made once, as its report takes seconds."""
    study = close(make_full_study("magnitude"))
    compute_report(study)
    bundles = {"whole": pack(study), "design": pack(study, has_data=False)}
    study.annotations.filter(status="counted").last().delete()
    return bundles | {"changed since": pack(study)}


@pytest.fixture
def bundle() -> bytes:
    return pack_with_report()["whole"]


def count_one_more(figures: dict[str, Any]) -> dict[str, Any]:
    figures["kept"]["data"]["ratings"] += 1
    return figures


@pytest.mark.slow
def test_bundle_carries_the_figures_of_a_report_of_its_ratings(bundle: bytes) -> None:
    figures = json.loads(read_files(bundle)[REPORT])

    assert figures["kept"]["criteria"]
    assert figures["kept"]["methods_version"] == METHODS_VERSION
    # what single raters did is for staff
    assert "raters" not in figures["kept"]


@pytest.mark.slow
def test_bundle_from_before_items_had_numbers_is_verified_by_its_values() -> None:
    kept = settings.BASE_DIR / "fixtures" / "bundle" / "format-3.zip"

    report = examine(kept.read_bytes())

    assert report.faults == []
    # its figures are compared only where columns and methods are the same
    columns, figures = report.remarks
    assert columns.startswith("data/ratings.csv has other columns")
    assert figures.startswith(f"The figures of {REPORT} weren't computed again")


@pytest.mark.slow
def test_every_figure_comes_out_as_before(bundle: bytes) -> None:
    report = examine(bundle)

    assert report.faults == []
    assert report.remarks == []
    assert "Every figure of its report, computed again." in report.checks


@pytest.mark.slow
def test_a_figure_that_was_changed_is_named(bundle: bytes) -> None:
    report = examine(change(bundle, REPORT, count_one_more))

    assert report.codes == ["figure_differs"]
    assert "kept.data.ratings" in report.faults[0].message


@pytest.mark.slow
def test_other_words_for_the_same_figures_are_remarked_on_and_no_fault(bundle: bytes) -> None:
    def reword(figures: dict[str, Any]) -> dict[str, Any]:
        criterion = figures["kept"]["criteria"][0]
        criterion["notes"] = []
        return figures

    reworded = examine(change(bundle, REPORT, reword))

    assert reworded.faults == []
    assert any("Some sentences in" in remark for remark in reworded.remarks)
    assert not any("Some sentences in" in remark for remark in examine(bundle).remarks)


def test_figures_of_other_methods_are_left_alone_and_that_is_said(bundle: bytes) -> None:
    def name_other_methods(about: dict[str, Any]) -> dict[str, Any]:
        return about | {"methods": "0"}

    report = examine(change(change(bundle, REPORT, count_one_more), STUDY, name_other_methods))

    assert report.faults == []
    assert any("version 0 of the methods" in remark for remark in report.remarks)


def test_figures_of_other_columns_are_left_alone_and_that_is_said(bundle: bytes) -> None:
    def name_other_columns(about: dict[str, Any]) -> dict[str, Any]:
        return about | {"columns": "0"}

    report = examine(change(change(bundle, REPORT, count_one_more), STUDY, name_other_columns))

    assert report.faults == []
    assert [remark for remark in report.remarks if "other columns" in remark]
    assert not [remark for remark in report.remarks if "of the methods" in remark]


@pytest.mark.slow
def test_a_bundle_without_a_report_of_its_ratings_has_no_figures() -> None:
    assert REPORT not in read_files(pack_with_report()["changed since"])
    assert REPORT not in read_files(bundle_of("magnitude"))


def test_a_bundle_of_the_design_has_no_figures() -> None:
    assert REPORT not in read_files(pack_with_report()["design"])
