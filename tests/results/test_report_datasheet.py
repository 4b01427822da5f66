"""The datasheet: filled in with what the study knows, open where only people know."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from evalsite.results.document.blocks import Document
from evalsite.results.document.text import quote_markdown, render_text
from evalsite.results.documents.datasheet import make_datasheet
from evalsite.results.models import Report
from evalsite.results.report.files import make_source, read_document
from evalsite.results.report.sections.findings import describe_finding
from evalsite.studies.models import Study
from evalsite.studies.version_cache import forget_versions
from tests.support.reported import (
    HOSTILE,
    keep_report,
    list_answers,
    list_open,
    make_reported_study,
)
from tests.support.reports import make_figure

Settings = Any


@pytest.fixture
def study(db: None, settings: Settings, tmp_path: Path) -> Study:
    settings.DATA_DIR = tmp_path
    return make_reported_study()


@pytest.fixture
def report(study: Study) -> Report:
    return keep_report(study)


def find(sheet: Document, topic: str) -> str | None:
    (answer,) = [
        text
        for part in list_answers(sheet).values()
        for name, text in part.items()
        if name.startswith(topic)
    ]
    return answer


def test_what_the_team_wrote_about_the_study_is_printed(study: Study, report: Report) -> None:
    Study.objects.filter(pk=study.pk).update(description="Do <b>fitter</b> replies help?")
    study.refresh_from_db()

    sheet = make_datasheet(study, report)

    assert find(sheet, "What the evaluation is about") == "Do <b>fitter</b> replies help?"


def test_every_section_of_the_form_is_there(study: Study, report: Report) -> None:
    sheet = make_datasheet(study, report)

    numbers = [title.split()[0] for title in list_answers(sheet)]
    assert numbers == ["1", "2", "3.1", "3.2", "3.3", "4", "5"]  # one criterion
    assert sheet.codes[0] == "purpose"


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("better", "words"),
    [
        ("higher", ""),
        ("lower", "Lower values are better."),
        ("none", "Neither high nor low values are better."),
    ],
)
def test_direction_is_told_where_higher_is_not_better(
    study: Study, report: Report, better: str, words: str
) -> None:
    version = study.version
    assert version is not None
    version.content["instrument"]["criteria"][0]["better"] = better
    version.save()
    forget_versions()

    answer = str(find(make_datasheet(study, report), "Form of response elicitation"))

    assert answer.endswith(words)
    assert ("better" in answer) == bool(words)


def test_what_the_study_knows_is_filled_in(study: Study, report: Report) -> None:
    sheet = make_datasheet(study, report)
    kept = report.content["kept"]

    counted = str(find(sheet, "Number of outputs"))
    (per_output,) = [one for one in kept["design"] if one["name"] == "ratings_per_output"]
    assert counted.startswith(f"{per_output['n']['outputs']} outputs of ")
    assert f"{kept['data']['ratings']} ratings" in counted
    people = kept["data"]["participants"]
    assert f"none: {people} simulated participants" in str(find(sheet, "Number of evaluators"))
    # what people agreed to: the study's own words, and what follows from its settings
    assert study.version.content["texts"]["consent"].startswith(study.consent)
    assert find(sheet, "Consent text") == study.version.content["texts"]["consent"]
    assert find(sheet, "Definition given") == study.config.criteria[0].definition
    (criterion,) = make_source(study, report).criteria
    assert describe_finding(criterion)[1] in str(find(sheet, "Comparisons"))
    assert "Krippendorff" in str(find(sheet, "Agreement between"))


def test_evaluators_are_people_where_ratings_are_not_all_simulated(
    study: Study, report: Report
) -> None:
    data = report.content["kept"]["data"]
    data["origins"] |= {"own": 1, "simulated": data["ratings"] - 1}

    said = str(find(make_datasheet(study, report), "Number of evaluators"))

    assert said.startswith(f"{data['participants']} participants, each one person")
    assert f"ratings: 1 collected with this software; {data['ratings'] - 1} simulated" in said


def test_rules_and_departures_from_the_plan_are_told_where_ratings_were_collected_here(
    study: Study, report: Report
) -> None:
    report.content["plan"] |= {
        "rules": ["fails at least 2 checks"],
        "deviations": [
            {
                "kind": "declined", "at": "2026-05-03T10:00:00+00:00", "answers": 9, "number": 0,
                "planned": 0, "reason": "They were few",
            }
        ],
    }  # fmt: skip

    said = find(make_datasheet(study, report), "Quality")

    assert "exclusion rule: fails at least 2 checks" in str(said)
    assert "The exclusion rules weren’t applied at closing" in str(said)


def test_figures_say_which_intervals_hold_for_these_raters_only(
    study: Study, report: Report
) -> None:
    criterion = report.content["kept"]["criteria"][0]
    both, inputs = {"over": "raters_and_inputs"}, {"over": "inputs"}
    criterion["agreement"] = [
        make_figure("alpha_log", 0.6, low=0.4, high=0.7, details=both),
        make_figure("pairwise_spearman", 0.5, low=0.4, high=0.6, details=inputs),
    ]
    criterion["other_papers"] = [
        make_figure("pairwise_pearson", 0.5, low=0.4, high=0.6, details=inputs)
    ]

    told = str(find(make_datasheet(study, report), "Agreement between"))
    document = read_document(study, report)
    agreement = document.find_table("informativeness-agreement")
    further = document.find_table("informativeness-other-papers")

    assert "two raters, for these people .50" in told
    assert agreement is not None
    assert further is not None
    assert [str(row[0]).endswith("for these people") for row in agreement.rows] == [False, True]
    assert str(further.rows[0][0]).endswith("for these people")


def test_power_is_told_once_for_each_criterion(study: Study, report: Report) -> None:
    criterion = report.content["kept"]["criteria"][0]
    criterion["pairs"] = criterion["pairs"][:1] * 3
    details = {"tests": 3}
    criterion["detectable"] = make_figure("detectable_difference", 1.4, details=details)

    told = str(find(make_datasheet(study, report), "Statistical power"))

    assert told.count("would find a difference by a factor of 1.40 on") == 1
    assert told.endswith("in 8 of 10 cases, after correction for 3 comparisons.")


def test_rows_that_count_for_nothing_are_told_as_left_out(study: Study, report: Report) -> None:
    left_out = report.content["kept"]["data"]["left_out"]
    report.content["kept"]["data"]["left_out"] = left_out | {"rated_twice": 2, "no_value": 1}

    sheet = make_datasheet(study, report)

    assert ("2 second ratings of an output by the same participant; 1 row without a value") in str(
        find(sheet, "Quality assurance")
    )


def test_changes_after_the_launch_are_counted_by_their_reasons(
    study: Study, report: Report
) -> None:
    report.content["changes"] = [
        {"kind": "withdrawn", "reason": "Cut off."},
        {"kind": "withdrawn", "reason": "Cut off."},
        {"kind": "withdrawn", "reason": "Offensive."},
        {"kind": "corrected", "reason": "A tag was left in."},
        {"kind": "renamed", "before": "run7", "after": "GPT-4"},
    ]

    assert (
        "3 items withdrawn (“Cut off.” (2), “Offensive.” (1)); 1 output corrected (“A tag was left "
        "in.”); the system “run7” renamed “GPT-4”"
    ) in str(find(make_datasheet(study, report), "Quality"))


def test_what_only_people_know_stays_open(study: Study, report: Report) -> None:
    sheet = make_datasheet(study, report)

    still_open = list_open(sheet)
    for topic in ("Preregistration", "How evaluators were recruited", "Approval by an ethics"):
        assert find(sheet, topic) is None
        assert any(topic in line for line in still_open)


def test_pay_that_nobody_stated_is_open_and_pay_that_is_stated_is_told(
    study: Study, report: Report
) -> None:
    assert find(make_datasheet(study, report), "Payment") is None

    version = study.version
    assert version is not None
    version.content["settings"] |= {"pay_per_set": "3.50", "minutes_per_set": 20}
    version.save()
    forget_versions()

    assert find(make_datasheet(study, report), "Payment") == "£3.50 for a set of 20 minutes"


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("screens", "option", "words"),
    [
        (["one", "sheet"], {}, "one item per page, a departure from the protocol"),
        (["one", "sheet"], {"screen": "sheet"}, "all items of a set on one page"),
        ("one", {}, ""),
    ],
)
def test_layout_is_told_where_the_protocol_has_a_sheet(
    study: Study, report: Report, screens: Any, option: dict[str, str], words: str
) -> None:
    version = study.version
    assert version is not None
    version.content["instrument"]["layout"]["screen"] = screens
    version.content["options"] |= option
    version.save()
    forget_versions()

    collected = str(find(make_datasheet(study, report), "How responses were collected"))

    assert ("on one page" in collected) == bool(words)
    assert words in collected


def test_ratings_collected_elsewhere_leave_the_design_open(study: Study, report: Report) -> None:
    report.content["kept"]["data"]["origins"] = {"own": 0, "imported": 10, "simulated": 0}

    sheet = make_datasheet(study, report)

    for topic in ("Consent text", "Payment", "Training", "What evaluators saw"):
        assert find(sheet, topic) is None


def test_markdown_shows_hostile_names_as_text(study: Study, report: Report) -> None:
    text = render_text(make_datasheet(study, report))

    assert "<script" not in text.replace("\\<script", "")
    for name in HOSTILE:
        assert quote_markdown(name) in text
    assert text.count("To be filled in.") == len(list_open(make_datasheet(study, report)))


def test_agreement_of_raters_with_themselves_is_told_or_said_to_be_unmeasured(
    study: Study, report: Report
) -> None:
    without = render_text(make_datasheet(study, report))
    report.content["kept"]["together"]["repeats"] = [
        make_figure("mean_abs_change", 4.0, low=2.0, high=6.0)
        | {"group": {"criterion": "informativeness"}}
    ]

    told = render_text(make_datasheet(study, report))

    assert "Agreement of evaluators with themselves:** not measured" in without
    assert "4.00 (95% CI 2.00 to 6.00)" in told


def test_what_was_left_out_at_import_is_in_datasheet_and_report(study, report):
    note = {"code": "rows_left_out", "text": "3 faulty rows were left out.", "rows": [[4, 3, "x"]]}
    study.batches.update(import_notes=[note], uploaded_at=report.made_at, file_name="replies.csv")

    sheet = make_datasheet(study, report)
    texts = {getattr(one, "code", ""): one for one in read_document(study, report).blocks}

    assert find(sheet, "Changes to the files") == "replies.csv: 3 faulty rows were left out."
    assert texts["imports"].text == (
        "Confirmed at import: replies.csv: 3 faulty rows were left out."
    )


def test_a_report_says_nothing_of_imports_that_came_later(study, report):
    note = {"code": "rows_left_out", "text": "3 faulty rows were left out."}
    later = report.made_at + timedelta(seconds=1)
    study.batches.update(import_notes=[note], uploaded_at=later)

    assert "imports" not in read_document(study, report).codes
