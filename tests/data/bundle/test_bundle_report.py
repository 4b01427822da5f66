"""A report's figures go with its bundle, and are computed again when it is verified."""

import io
import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command

from evalsite.data.bundle.format import PEOPLE_ROWS, REPORT, STUDY, dump
from evalsite.data.bundle.read import open_bundle
from evalsite.data.bundle.rerun import Rerun, rerun_scripts
from evalsite.results.models import SizePlan
from evalsite.results.report.computation import compute_report
from tests.support.bundles import (
    bundle_of,
    change,
    close,
    examine,
    make_full_study,
    pack,
    read_files,
    read_rows,
)
from tests.support.scripts import find_what_r_lacks

pytestmark = pytest.mark.django_db(transaction=True)


@cache
def pack_with_report() -> dict[str, bytes]:
    """Bundles of one study that has a report: made once, as its report takes seconds."""
    study = close(make_full_study("magnitude"))
    SizePlan.objects.create(study=study, content={"words": "20 inputs: 80% power"})
    compute_report(study)
    bundles = {"whole": pack(study), "design": pack(study, has_data=False)}
    study.annotations.filter(status="counted").last().delete()
    return bundles | {"changed since": pack(study)}


@pytest.fixture
def bundle() -> bytes:
    return pack_with_report()["whole"]


def count_one_more(kept: dict[str, Any]) -> dict[str, Any]:
    figure = next(one for one in kept["figures"] if one["name"] == "answers_used")
    figure["value"] += 1
    return kept


@pytest.mark.slow
def test_bundle_carries_the_figures_of_the_report_each_with_what_it_is_of(bundle: bytes) -> None:
    kept = json.loads(read_files(bundle)[REPORT])

    names = {figure["name"] for figure in kept["figures"]}
    assert {"mean", "difference", "alpha", "answers_used", "people"} <= names
    assert all(figure["unit"] for figure in kept["figures"])
    means = [figure["group"] for figure in kept["figures"] if figure["name"] == "mean"]
    assert all(group.keys() - {"with"} == {"criterion", "system"} for group in means)
    # what single raters did is for staff
    pseudonyms = {row["pseudonym"] for row in read_rows(bundle, PEOPLE_ROWS)}
    assert pseudonyms
    assert not [name for name in pseudonyms if name.encode() in read_files(bundle)[REPORT]]


@pytest.mark.slow
def test_the_readme_begins_with_the_report(bundle: bytes) -> None:
    readme = read_files(bundle)["README.md"].decode()

    chapters = [line for line in readme.splitlines() if line.startswith("#")]
    assert chapters.index("### Findings") < chapters.index("## This bundle")
    # which has the plan
    assert "### Plan, exclusions, deviations" in chapters
    assert "## Analysis plan" not in chapters


@pytest.mark.slow
def test_the_planned_size_is_in_the_report_and_is_verified(bundle: bytes) -> None:
    readme = read_files(bundle)["README.md"].decode()
    other = change(bundle, REPORT, lambda kept: kept["basis"]["size"].update(words=5))

    assert "| Planned size | 20 inputs: 80% power; chosen after " in readme
    assert examine(bundle).remarks == []
    assert examine(other).codes == ["report_invalid"]


@pytest.mark.slow
def test_a_report_in_the_readme_that_was_changed_is_remarked_on(bundle: bytes) -> None:
    other = change(bundle, "README.md", lambda text: text.replace("### Findings", "### Found"))

    assert [remark for remark in examine(other).remarks if "The report in README.md" in remark]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edit", "code"),
    [
        (lambda kept: {"figures": []}, "report_invalid"),
        (lambda kept: [1], "report_invalid"),
        (lambda kept: kept | {"figures": [{"name": {}}]}, "report_invalid"),
        (lambda kept: kept["basis"].update(made_at="yesterday"), "report_invalid"),
        (lambda kept: kept["basis"].update(ratings_sha256="0"), "values_differ"),
        (lambda kept: kept["basis"].update(not_sharing=3), "values_differ"),
        (lambda kept: kept | {"figures": kept["figures"][1:]}, "figure_differs"),
    ],
)
def test_figures_of_another_shape_are_refused_with_their_code(
    bundle: bytes, edit: Any, code: str
) -> None:
    assert examine(change(bundle, REPORT, edit)).codes == [code]


@pytest.mark.slow
def test_bundle_from_before_items_had_numbers_is_verified_by_its_values() -> None:
    kept = settings.BASE_DIR / "fixtures" / "bundle" / "format-3.zip"

    report = examine(kept.read_bytes())

    assert report.faults == []
    # its figures are compared only where columns and methods are the same
    columns, figures, *scripts = report.remarks
    assert columns.startswith("data/ratings.csv has other columns")
    assert figures.startswith(f"The figures of {REPORT} weren't computed again")
    # which this version has made again under the same number
    assert all("isn't the script of Evalsite" in remark for remark in scripts)


@pytest.mark.torture
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
    assert report.faults[0].message.startswith("answers_used: value is ")


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


# --- the scripts, run again -----------------------------------------------------------------


def rerun(bundle: bytes, edit: Any = None) -> Rerun:
    computed = examine(bundle).computed
    if edit is not None:
        edit(computed)
    with open_bundle(io.BytesIO(bundle)) as opened:
        return rerun_scripts(opened, computed)


@pytest.mark.torture
@pytest.mark.slow
def test_scripts_run_again_give_every_cell_of_the_report(bundle: bytes) -> None:
    differences = {
        dump(one["group"])
        for one in json.loads(read_files(bundle)[REPORT])["figures"]
        if one["name"] == "difference"
        # not those with everyone: the scripts leave out who is excluded
        and one["group"].keys() == {"criterion", "system_1", "system_2"}
    }
    pairs = len(differences)

    result = rerun(bundle)

    assert result.faults == []
    beginning = f"{pairs} of {pairs} verdicts as in the report; largest difference of p .00"
    languages = ["Python"] if find_what_r_lacks() else ["R", "Python"]
    assert [check.partition(": ")[0] for check in result.checks] == languages
    for check in result.checks:
        assert check.partition(": ")[2].startswith(beginning)


@pytest.mark.torture
@pytest.mark.slow
@pytest.mark.usefixtures("no_r")
def test_without_r_it_is_said_what_was_left_out(bundle: bytes) -> None:
    result = rerun(bundle)

    assert [check.partition(": ")[0] for check in result.checks] == ["Python"]
    assert result.remarks == ["Rscript isn't installed here, so analysis.R wasn't run."]


@pytest.fixture
def no_r(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)


@pytest.mark.slow
@pytest.mark.usefixtures("no_r")
def test_scripts_of_the_bundle_itself_are_never_run(bundle: bytes) -> None:
    bundle = change(bundle, "analysis.py", lambda text: f"raise SystemExit('run')\n{text}")

    assert rerun(bundle).faults == []


@pytest.mark.torture
@pytest.mark.slow
@pytest.mark.usefixtures("no_r")
def test_a_figure_that_the_scripts_don_t_give_is_a_fault(bundle: bytes) -> None:
    def turn_verdict(computed: dict[str, Any]) -> None:
        pair = computed["criteria"][0]["pairs"][0]
        pair["finding"]["code"] = "higher"
        pair["effect"]["details"]["p_corrected"] = 0.001

    result = rerun(bundle, turn_verdict)

    assert {fault.code for fault in result.faults} == {"script_differs"}
    assert {fault.file for fault in result.faults} == {"tables-python/pairs.csv"}


@pytest.mark.slow
def test_without_a_report_nothing_is_run(bundle: bytes) -> None:
    result = rerun(bundle_of("magnitude"))

    assert (result.checks, result.faults, len(result.remarks)) == ([], [], 1)


@pytest.mark.slow
@pytest.mark.usefixtures("checks_here", "no_r")
def test_the_command_runs_the_scripts_if_asked(
    bundle: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "study.zip"
    file.write_bytes(bundle)

    call_command("verify_bundle", str(file), "--rerun")

    answer = capsys.readouterr().out
    assert "Python: " in answer
    assert "verdicts as in the report; largest difference of p " in answer
    assert "Note: Rscript isn't installed here" in answer
