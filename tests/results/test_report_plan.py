"""What a study's analysis plan does to its report, and how every form of the report tells it."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evalsite.lib.clock import standing_at
from evalsite.quality.exclusion_rules import list_conditions
from evalsite.quality.plan_state import plan_of
from evalsite.results.analysis_plan.stored import change_plan, mark_plan
from evalsite.results.management.commands.analyse import write_text
from evalsite.results.models import Report
from evalsite.results.report.computation import analyse_study, name_clusters, take_fingerprint
from evalsite.results.report.datasheet import fill_datasheet, write_markdown
from evalsite.results.report.html_document import write_page
from evalsite.results.report.latex_document import write_fragment
from evalsite.results.report.parts import RATERS, show_part
from evalsite.results.report.sentences import write_sentence
from evalsite.results.report.wording import let_go
from evalsite.studies.models import Study, System
from tests.results.test_report_latex import check_latex
from tests.support.factories import answer_item, launch, make_annotator, make_study, make_user
from tests.support.repeated import rate
from tests.support.reported import HOSTILE

pytestmark = pytest.mark.django_db

BASELINE = HOSTILE[0]
RULE = "Left out: whoever needs < 2 s & says 50% \\input{this}."
BEFORE = datetime(2026, 1, 2, tzinfo=UTC)
OWN = {"gold": 0.7, "sd_ratio": 1}


def write_plan(study: Study, **said: Any) -> None:
    plan = plan_of(study)
    stands = {"baseline": plan.baseline, "thresholds": plan.thresholds,
              "exclusion_rule": plan.exclusion_rule}  # fmt: skip
    change_plan(
        study=study, values=stands | said, seen=mark_plan(plan, list_conditions(study)),
        by=make_user("planner"), reason="It is a test",
    )  # fmt: skip


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    """The content of the report, which is computed once."""
    return {}


@pytest.fixture
def report(db: None, settings: Any, tmp_path: Path, kept: dict[str, Any]) -> Report:
    """The report of a study that was compared with a baseline, by thresholds of its own."""
    settings.DATA_DIR = tmp_path
    study = make_study(items=8)
    for system, name in zip(study.systems.order_by("name"), HOSTILE, strict=True):
        System.objects.filter(pk=system.pk).update(name=name)
    with standing_at(BEFORE):
        write_plan(study, baseline=BASELINE, thresholds=OWN, exclusion_rule=RULE)
    if not kept:
        rate(study)
        # who found all nearly alike
        rate(study, people=1, step=2)
        kept["content"], kept["sha256"] = analyse_study(study)
    return Report.objects.create(study=study, fingerprint="0", **kept)


@pytest.mark.torture
@pytest.mark.slow
def test_only_comparisons_with_the_baseline_are_found_and_tabulated(report: Report) -> None:
    (criterion,) = report.content["kept"]["criteria"]
    part = show_part(report, criterion["key"])

    assert criterion["baseline"] == BASELINE
    assert [pair["system_2"] for pair in criterion["pairs"]] == [BASELINE] * 2
    assert len(part.findings) == 2
    (table,) = [table for table, _ in part.blocks if table.name.endswith("-pairs")]
    assert table.caption == f"Informativeness: systems compared with {BASELINE}"
    assert let_go(table.words).startswith(
        "p values are corrected by Holm’s method over 2 comparisons, those with the baseline "
        f"{BASELINE}; other pairs are not tested."
    )


def test_a_flag_is_shown_with_its_figure_its_threshold_and_who_set_it(report: Report) -> None:
    part = show_part(report, RATERS)

    (table,) = [table for table, _ in part.blocks if table.name == "flags"]
    lining = [row for row in table.rows if row[2] == "Standard deviation"]
    assert lining
    assert all(row[5] == "this study" for row in lining)
    # Printed figures are rounded: two that differ may look alike.
    assert all(float(row[3].replace(",", "")) <= float(row[4].replace(",", "")) for row in lining)


def test_every_form_of_the_report_tells_baseline_family_and_rule(report: Report) -> None:
    study = report.study

    printed = "\n".join(write_text(study, report))
    page, latex = write_page(study, report), write_fragment(study, report)
    sheet = write_markdown(fill_datasheet(study, report))

    assert f"each system with the baseline {BASELINE}; chosen before the first answer" in printed
    assert f"“{RULE}”; worded before the first answer" in printed
    assert "Checks answered right: 70% (the software starts with 80%)" in printed
    assert "<dt>Exclusion rule</dt>" in page
    assert "50% \\input{this}.”; worded before the first answer" in page
    assert "whoever needs &lt; 2 s &amp; says" in page
    assert "The exclusion rule was worded before the first answer, on" in latex
    assert "over these comparisons of a criterion" in latex
    assert "are compared with the baseline a\\_b" in latex
    assert "\\input{this}" not in latex
    assert "exclusion rule: “Left out: whoever needs" in sheet
    assert "Compared: each system with the baseline" in sheet
    check_latex(latex)


@pytest.mark.slow
def test_a_baseline_chosen_after_answers_is_among_the_warnings(
    report: Report,
) -> None:
    study = launch(make_study(items=1, k=1))
    answer_item(make_annotator(study), study.items.main().get())
    write_plan(study, baseline=study.systems.order_by("name")[0].name)

    late, _ = analyse_study(study)

    early = [warning["code"] for warning in report.content["kept"]["warnings"]]
    assert "late_baseline" not in early
    assert "late_baseline" in [warning["code"] for warning in late["kept"]["warnings"]]


def test_a_report_from_before_there_were_plans_is_still_shown(report: Report) -> None:
    del report.content["plan"]
    for criterion in report.content["kept"]["criteria"]:
        del criterion["baseline"]

    page, latex = write_page(report.study, report), write_fragment(report.study, report)

    assert "Analysis plan" not in page
    assert "exclusion rule" not in latex
    assert write_markdown(fill_datasheet(report.study, report))


def test_a_changed_plan_makes_the_report_out_of_date(report: Report) -> None:
    study = report.study
    before = take_fingerprint(study)

    write_plan(study, thresholds={})
    changed = take_fingerprint(study)
    write_plan(study, thresholds={})

    assert changed != before
    assert take_fingerprint(study) == changed


@pytest.mark.parametrize(
    ("answers", "noun"),
    [
        ([("clusters_used", "talks")], "talks"),
        ([("clusters_used", "talks"), ("clusters_not_used", "documents")], "talks"),
        ([("clusters_used", "talks"), ("clusters_used", "documents")], None),
        ([("clusters_not_used", "talks")], None),
        ([], None),
    ],
)
def test_few_clusters_are_called_what_the_import_calls_them(answers, noun):
    plan = {"clusters": [{"code": code, "facts": {"noun": name}} for code, name in answers]}
    warnings = [
        {"code": "few_clusters", "facts": {"clusters": 3}},
        {"code": "raters_unknown", "facts": {}},
    ]

    few, other = name_clusters(warnings, plan)

    assert few["facts"].get("noun") == noun
    assert other == warnings[1]
    assert write_sentence(few).count(noun or "clusters") == 2
