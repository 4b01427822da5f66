"""What a study's analysis plan does to its report, and how every form of the report tells it."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evalsite.decisions.exclusion_rules import list_conditions
from evalsite.decisions.frozen_plans import plan_of
from evalsite.lib.clock import standing_at
from evalsite.results.analysis_plan.stored import change_plan, mark_plan
from evalsite.results.document.blocks import Document
from evalsite.results.document.text import render_text
from evalsite.results.documents.datasheet import make_datasheet
from evalsite.results.models import Report
from evalsite.results.report.computation import analyse_study, name_clusters, take_fingerprint
from evalsite.results.report.files import (
    list_files,
    make_source,
    read_document,
    write_charts,
    write_page,
)
from evalsite.results.report.sections.people import make_people
from evalsite.results.report.sections.words import NOTES
from evalsite.studies.models import Study, System
from tests.support.factories import make_study, make_user
from tests.support.repeated import rate
from tests.support.reported import HOSTILE

pytestmark = pytest.mark.django_db

RULE = "Left out: whoever needs < 2 s & says 50% \\input{this}."
BEFORE = datetime(2026, 1, 2, tzinfo=UTC)
OWN = {"gold": 0.7, "sd_ratio": 1}


def write_plan(study: Study, **said: Any) -> None:
    plan = plan_of(study)
    stands = {"thresholds": plan.thresholds, "exclusion_rule": plan.exclusion_rule}
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
    """The report of a study with a rule and thresholds of its own."""
    settings.DATA_DIR = tmp_path
    study = make_study(items=8)
    for system, name in zip(study.systems.order_by("name"), HOSTILE, strict=True):
        System.objects.filter(pk=system.pk).update(name=name)
    with standing_at(BEFORE):
        write_plan(study, thresholds=OWN, exclusion_rule=RULE)
    if not kept:
        rate(study)
        # who found all nearly alike
        rate(study, people=1, step=2)
        kept["content"], kept["sha256"] = analyse_study(study)
    return Report.objects.create(study=study, fingerprint="0", **kept)


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
    assert NOTES.write(few).count(noun or "clusters") == 2


def test_every_form_of_the_report_tells_the_rule_and_the_thresholds(report: Report) -> None:
    study = report.study
    write_charts(study, report)

    document = read_document(study, report)
    latex = b"".join(list_files(study, report).values()).decode(errors="replace")
    sheet = render_text(make_datasheet(study, report))

    plan, thresholds = document.find_table("plan"), document.find_table("thresholds")
    assert plan is not None
    assert thresholds is not None
    rule = dict(plan.rows)["Exclusion rule"]  # type: ignore[arg-type]
    assert f"“{RULE}”; worded before the first answer" in str(rule)
    assert "Gold and attention items answered right: 70% (the software starts with 80%)" in str(
        thresholds.rows[0][1]
    )
    assert "whoever needs &lt; 2 s &amp; says" in write_page(study, report)
    assert "worded before the first answer" in latex
    assert "\\input{this}" not in latex
    assert "exclusion rule: “Left out: whoever needs" in sheet


def test_a_flag_has_its_threshold_and_who_set_it(report: Report) -> None:
    blocks = list(make_people(make_source(report.study, report)))
    table = Document("", blocks).find_table("flags-of-people")

    assert table is not None
    lining = [row for row in table.rows if row[2] == "SD"]
    assert lining
    assert all(row[-1] == "this study" for row in lining)
