"""Set up, Plan: what the study can decide is said before launch; hiding results is a switch."""

import re

import pytest
from django.core.exceptions import ValidationError

from evalsite.analysis.sample_size import Decision, find_smallest
from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.services import run_job
from evalsite.data.bundle.format import STUDY_FIELDS_IF_ANY
from evalsite.data.models import Judge
from evalsite.decisions.frozen_plans import is_hidden, list_deviations, plan_of
from evalsite.decisions.models import AnalysisPlan, PlanEvent
from evalsite.decisions.plan_commitment import list_lines
from evalsite.fieldwork.launch import launch_study
from evalsite.instruments.installed import installed_protocols
from evalsite.lib.clock import now
from evalsite.results.analysis_plan.plan_rows import PlanRows
from evalsite.results.analysis_plan.sizes import find_spread, measure_questions
from evalsite.results.analysis_plan.stored import describe_plan, read_plan
from evalsite.results.analysis_plan.wording import plan_in_words
from evalsite.results.models import Report
from evalsite.studies.copying import copy_study
from evalsite.studies.models import Study
from evalsite.studies.setting_changes import change_settings
from tests.results.test_analysis_plan import BETTER, MARGIN, read, save
from tests.site.test_staff_pages import url
from tests.support.factories import make_study, make_user
from tests.support.instruments import make_built_study, read_instrument
from tests.support.planned import make_planned_study
from tests.support.reports import keep_report

pytestmark = pytest.mark.django_db

NOT_WORSE = {
    "criterion": "informativeness", "system": "neural", "relation": "not_worse",
    "other": "template", "margin": 1.2,
}  # fmt: skip


def launch(study: Study) -> Study:
    run_job(launch_study(study=study, by=make_user()))
    study.refresh_from_db()
    return study


def headline(html: str) -> str:
    found = re.search(r"<h1>(.*?)</h1>", html, re.S)
    assert found
    return re.sub(r"<[^>]+>", "", found[1]).strip()


# --- what it can decide ---------------------------------------------------------------------


def test_page_says_what_the_study_can_decide_before_anything_is_saved(staff_client):
    study = make_study(items=20, k=5)

    before = read(staff_client, study)
    page = save(staff_client, study, **MARGIN, do="preview").text

    assert headline(before).startswith("No plan:")
    assert headline(page).startswith("20 items can’t decide")
    assert 'class="adds"' in page
    assert not AnalysisPlan.objects.exists()


def test_sizes_count_the_correction_and_name_what_is_not_reached():
    study = make_study(protocol="pairwise", items=40, k=5)
    names = list(study.systems.order_by("name").values_list("name", flat=True))
    key = study.config.criteria[0].key
    rows = [
        NOT_WORSE | {"criterion": key, "system": names[0], "other": names[1], "margin": margin}
        for margin in (0.05, 0.45)
    ]

    alone = measure_questions(study, rows[:1], smallest=None, level=0.05)[0]
    small, wide = measure_questions(study, rows, smallest=None, level=0.05)

    assert (alone.tests, small.tests) == (1, 2)
    assert float(small.smallest.split()[0]) > float(alone.smallest.split()[0])
    assert (small.is_enough, wide.is_enough) == (False, True)
    assert small.headline.startswith("40 items can’t decide 5 points.")
    assert wide.headline == "40 items can decide 45 points"
    # the sizes of the table and the one that is aimed at, the smallest first
    assert [amount for amount, _ in small.rows][:2] == ["5 points", "10"]


def test_difference_is_found_rather_than_decided():
    study = make_study(items=20, k=5)
    question = {name: NOT_WORSE[name] for name in ("criterion", "system", "other")}

    (size,) = measure_questions(
        study, [question | {"relation": "better"}], smallest=None, level=0.05
    )

    assert (size.verb, size.noun, size.aimed) == ("find", "difference", "")
    assert size.headline == f"20 items can find {size.smallest}"


def test_one_person_or_no_items_decide_nothing():
    nobody = make_study(items=0)
    alone = make_study(items=20, k=1, set_size=20, title="Alone")

    for study in (nobody, alone):
        assert measure_questions(study, [NOT_WORSE], smallest=None, level=0.05) == []


def add_closed(study: Study, *, people: int, title: str, by: str = "jane") -> Report:
    other = make_study(items=1, title=title, by=make_user(by))
    run_job(launch_study(study=other, by=make_user(by)))
    Study.objects.filter(pk=other.pk).update(state="closed", closed_at=now())
    report = keep_report(other)
    report.content["kept"]["data"] |= {"participants": people, "origins": {}}
    key = study.config.criteria[0].key
    report.content["kept"]["criteria"] = [
        {
            "key": key,
            "model": {
                "variances": {"rater:system": 0.01, "group:system": 0.05}, "residual": 0.2,
            },
        }
    ]  # fmt: skip
    report.save()
    return report


def test_spread_of_another_scale_under_the_same_key_is_not_used(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    study = make_study(items=20, k=5)
    criterion = study.config.criteria[0]
    finer = next(
        one
        for config in installed_protocols().values()
        for one in config.criteria
        if not one.scale.compares and one.scale.maximum != criterion.scale.maximum
    )
    add_closed(study, people=9, title="Ours")

    same = find_spread(study, criterion)
    other = find_spread(study, finer.model_copy(update={"key": criterion.key}))

    assert (same.studies, other.studies) == (1, 0)


def test_spread_is_that_of_closed_studies_of_the_team_otherwise_typical(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    study = make_study(items=20, k=5)
    criterion = study.config.criteria[0]
    typical = find_spread(study, criterion)
    add_closed(study, people=4, title="Too few people")
    add_closed(study, people=9, title="Somebody else’s", by="zoe")
    unknown = find_spread(study, criterion)
    add_closed(study, people=9, title="Ours")

    known = find_spread(study, criterion)

    assert typical == unknown
    assert typical is not None
    assert typical.studies == 0
    assert typical.origin
    assert known is not None
    assert known.studies == 1
    # a difference has twice the variance of a rating
    assert known.variances == pytest.approx((0.02, 0.1, 0.4))
    (size,) = measure_questions(
        study, [NOT_WORSE | {"relation": "better"}], smallest=None, level=0.05
    )
    shift = find_smallest(
        size.design.people, 20, 5, known.variances, Decision(has_margin=False)
    )  # fmt: skip
    assert size.spread == known
    assert shift > 0


def test_rows_come_and_go_and_nothing_is_saved(staff_client):
    study = make_study(items=2)

    two = save(staff_client, study, **BETTER, do="add-question").text
    none = save(staff_client, study, **BETTER, do="remove-question-1").text

    assert 'name="question-1-system"' in two
    assert two.count('<option value="neural" selected>') == 1
    assert 'value="neural" selected' not in none
    assert 'name="question-0-system"' in none
    assert not AnalysisPlan.objects.exists()


def test_empty_sentence_is_no_plan_and_launching_leads_on(staff_client):
    study = make_study(items=2)

    page = save(staff_client, study, **{"system-1": "", "other-1": ""}, do="continue")

    assert page.url == url("study-launch", study)
    assert not AnalysisPlan.objects.exists()


def test_main_question_is_that_of_the_first_unless_all_count_the_same(staff_client):
    study = make_study(protocol="dialogue", items=2)
    first, second = study.config.criteria[:2]
    systems = list(study.systems.values_list("name", flat=True))
    rows = {
        "system-1": systems[0], "relation-1": "differs", "other-1": systems[1],
        "criterion-1": second.key,
    }  # fmt: skip
    mains = []

    for main in ("", "all", first.key):
        save(staff_client, study, **rows, primary=main)
        mains.append(plan_of(study).primary)
        stands = re.search(r'<option value="([^"]*)" selected>That of|', read(staff_client, study))
        assert stands is not None

    assert mains == [second.key, "", first.key]
    saved = PlanRows(study, read_plan(study)).meant
    assert [row["criterion"] for row in saved] == [second.key]


def test_launch_says_what_the_items_cannot_decide_and_is_not_blocked(staff_client):
    study = make_study(items=20, k=5)
    save(staff_client, study, **MARGIN | {"margin-1": "1.05"})

    page = staff_client.get(url("study-launch", study))

    remarks = [check.headline for check, _ in page.context["looks"]]
    assert "20 items can’t decide a factor of 1.05" in remarks
    assert page.context["setup"].problems == []


# --- the switch -----------------------------------------------------------------------------


def test_a_plan_alone_hides_nothing_and_a_study_without_one_may_hide():
    planned = make_planned_study(hides_results=False)
    bare = launch(make_study(title="Bare", hides_results=True, by=make_user()))

    assert (is_hidden(planned), is_hidden(bare)) == (False, True)


def test_switch_is_set_on_the_page_and_fixed_at_launch(staff_client):
    study = make_study(items=2)

    save(staff_client, study, hides_results="on")
    study.refresh_from_db()
    copied = copy_study(study=study, title="Again", with_items=False, by=make_user())
    launched = launch(study)
    save(staff_client, launched)
    launched.refresh_from_db()

    assert copied.hides_results
    assert launched.hides_results
    with pytest.raises(ValidationError):
        change_settings(study=launched, values={"hides_results": False}, by=make_user())
    assert launched.version.content["hides_results"] is True
    assert launched.plan_versions.get().content == {"hides_results": True}
    assert "hides_results" in STUDY_FIELDS_IF_ANY


def test_commitment_line_differs_with_the_switch():
    lines = []
    for hides in (False, True):
        study = launch(make_study(title=f"Study {hides}", hides_results=hides, by=make_user()))
        version = study.plan_versions.get()
        lines.append((version.sha256, version.has_plan))

    assert lines[0][0] != lines[1][0]
    assert [has_plan for _, has_plan in lines] == [False, False]


def test_showing_early_is_one_post_logged_and_printed_without_a_plan(staff_client):
    study = launch(make_study(items=2, hides_results=True, by=make_user()))

    staff_client.post(url("study-results-reveal", study), {"reason": "A talk"})
    staff_client.post(url("study-results-reveal", study), {"reason": "A talk"})

    assert not is_hidden(study)
    assert PlanEvent.objects.filter(kind="revealed").count() == 1
    assert AuditEntry.objects.filter(action="results revealed early").count() == 1
    assert [one.kind for one in list_deviations(study)] == ["revealed"]
    printed = dict(plan_in_words(describe_plan(study), criteria=1))
    assert "A talk" in printed["Deviations"]
    assert printed["Results by system"].startswith("hidden")


# --- a judge --------------------------------------------------------------------------------


def test_a_judge_is_named_with_its_prompt_for_the_planned_questions(staff_client):
    study = make_study()
    Judge.objects.create(study=study, name="judge-b", prompt_version="p1")

    page = read(staff_client, study)
    saved = save(staff_client, study, **MARGIN, judge=" judge-a ", prompt_version="v2")

    # those known are offered; others may be named before their labels come
    assert '<option value="judge-b">' in page
    assert '<option value="p1">' in page
    assert saved.status_code == 302
    assert plan_of(study).margins == [
        NOT_WORSE | {"judge": "judge-a", "prompt_version": "v2"}
    ]  # fmt: skip
    assert 'value="judge-a"' in read(staff_client, study)
    words = dict(plan_in_words(describe_plan(study), criteria=1))["Tests against a margin"]
    assert "corrected by the labels of judge-a (prompt v2)" in words
    # empty: people alone decide
    save(staff_client, study, **BETTER)
    assert set(plan_of(study).hypotheses[0]) == {"criterion", "system", "relation", "other"}


def test_a_prompt_without_a_judge_and_names_that_are_too_long_are_refused(staff_client):
    study = make_study()

    for said in ({"prompt_version": "v2"}, {"judge": "j" * 101}, {"judge": "a\0b"}):
        page = save(staff_client, study, **BETTER, **said)
        assert page.status_code == 422
        assert set(page.context["form"].errors) == set(said)
    assert not AnalysisPlan.objects.exists()


def test_no_judge_is_offered_where_labels_can_correct_nothing(staff_client):
    content = read_instrument("conversation_turns")
    content["criteria"] = [each for each in content["criteria"] if each.get("per") == "turn"]
    content.pop("practice", None)
    study = make_built_study(content, is_practice_on=False)

    assert study.config.criteria
    assert 'name="judge"' not in read(staff_client, study)
    assert 'name="judge"' in read(staff_client, make_study(title="Magnitudes"))


def test_a_judge_that_is_named_after_the_launch_is_a_deviation(staff_client):
    study = make_study()
    save(staff_client, study, **MARGIN)
    study = launch(study)
    [before] = list_lines(study)

    refused = save(staff_client, study, **MARGIN, judge="judge-a")
    saved = save(staff_client, study, **MARGIN, judge="judge-a", reason="Few inputs")

    assert (refused.status_code, saved.status_code) == (422, 302)
    [deviation] = list_deviations(study)
    assert (deviation.kind, deviation.number, deviation.reason) == ("changed", 2, "Few inputs")
    first, second = list_lines(study)
    assert first == before
    assert second.split()[3] != first.split()[3]
    assert study.plan_versions.get(number=2).content["margins"][0]["judge"] == "judge-a"
