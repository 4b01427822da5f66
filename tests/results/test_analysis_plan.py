"""The analysis plan: who may write it, what it refuses, and when it says it was written."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from evalsite.analysis.plan import Margin, Plan
from evalsite.core.audit.models import AuditEntry
from evalsite.decisions.models import AnalysisPlan
from evalsite.lib.clock import now, standing_at
from evalsite.results.analysis_plan.stored import ACTION, describe_plan, limits_of
from evalsite.results.analysis_plan.wording import describe_moment, plan_in_words, warn_of_plan
from evalsite.results.report.sections.words import NOTES
from evalsite.studies.models import Study, System
from tests.site.test_staff_pages import HOSTILE, answer, member, url
from tests.support.factories import make_study, make_user
from tests.support.instruments import make_built_study, read_gallery
from tests.support.reports import keep_report

pytestmark = pytest.mark.django_db

MOMENT = datetime(2026, 3, 1, 12, tzinfo=UTC)
RULE = "Whoever answers fewer than 8 of 10 checks right."


BETTER = {
    "system-1": "neural", "relation-1": "better", "other-1": "template",
    "criterion-1": "informativeness", "margin-1": "",
}  # fmt: skip
MARGIN = BETTER | {"relation-1": "not_worse", "margin-1": "1.2"}


def read(client: Client, study: Study) -> str:
    return client.get(url("setup-plan", study)).text


NAMES = ("system", "relation", "other", "criterion", "margin", "measure", "comparison", "threshold")


def post(client: Client, study: Study, name: str, said: dict[str, Any], **stands: Any) -> Any:
    page = client.get(url(name, study)).text
    marks = dict(re.findall(r'name="(seen|plan_seen)" value="(\w+)"', page))
    assert marks
    return client.post(url(name, study), {**marks, **stands, **said})


def save(client: Client, study: Study, **said: Any) -> Any:
    """The answer to the form as it is, with what somebody says otherwise.

    "system-1" is that of the first question, and "measure-1-1" that of the first condition.
    """
    plan = AnalysisPlan.objects.filter(study=study).first() or AnalysisPlan(study=study)
    rows: dict[str, Any] = {"question-INITIAL_FORMS": 0, "condition-INITIAL_FORMS": 0}
    numbers: dict[str, list[str]] = {"question": [], "condition": []}
    for name, value in said.items():
        field, _, number = name.partition("-")
        if not number or field not in NAMES:
            rows[name] = value
            continue
        kind = "question" if field in NAMES[:5] else "condition"
        if number not in numbers[kind]:
            numbers[kind].append(number)
        place = numbers[kind].index(number)
        rows[f"{kind}-{place}-{field}"] = value
        if kind == "condition":
            rows[f"condition-{place}-rule"] = number.partition("-")[0]
    rows |= {f"{kind}-TOTAL_FORMS": len(known) for kind, known in numbers.items()}
    return post(client, study, "setup-plan", rows, exclusion_rule=plan.exclusion_rule)


def limit(client: Client, study: Study, **said: Any) -> Any:
    """The answer to the form of the limits of flags."""
    return post(client, study, "study-flag-limits", said)


def test_a_plan_is_written_before_the_launch_and_read_back(staff_client):
    study = make_study()

    pages = [
        save(staff_client, study, exclusion_rule=RULE, **BETTER),
        limit(staff_client, study, gold="70"),
    ]

    assert [page.status_code for page in pages] == [302, 302]
    plan = AnalysisPlan.objects.get(study=study)
    assert plan.hypotheses == [
        {
            "criterion": "informativeness", "system": "neural", "relation": "better",
            "other": "template",
        }
    ]  # fmt: skip
    assert plan.exclusion_rule == RULE
    assert plan.thresholds == {"gold": 0.7}
    html = read(staff_client, study)
    assert html.count('<option value="neural" selected>') == 1
    assert RULE in html
    assert 'name="gold" value="70"' in staff_client.get(url("study-flag-limits", study)).text
    assert "Rules: last changed before the first answer" in html


@pytest.mark.one_case
@pytest.mark.parametrize(
    "do", ["1.5e308", "and-0", "and-1", "drop-1-0", f"remove-rule-{'9' * 5_000}", "-", "and-٣", ""]
)
def test_bad_95_a_button_that_no_page_has_changes_nothing(staff_client, do):
    study = make_study()

    page = save(staff_client, study, do=do)

    assert page.status_code < 400
    assert 'name="condition-0-measure"' not in page.text


def test_a_change_stands_in_the_log_by_name_and_number_without_the_rule(staff_client):
    study = make_study()

    for _ in range(2):
        save(staff_client, study, exclusion_rule=RULE, **BETTER)
        limit(staff_client, study, gold="70")

    first, second = AuditEntry.objects.filter(study_id=study.pk, action=ACTION).order_by("pk")
    assert set(first.detail["fields"]) == {"hypotheses", "exclusion_rule"}
    assert first.detail["hypotheses"][0]["system"] == "neural"
    assert second.detail["thresholds"] == {"gold": 0.7}
    assert RULE not in f"{first.detail} {second.detail}"


def test_each_part_tells_whether_it_was_changed_before_the_first_answer(staff_client):
    study = make_study(items=3)
    with standing_at(MOMENT):
        save(staff_client, study, exclusion_rule=RULE, **BETTER)
    for place, item in enumerate(study.items.main()):
        answer(study, item, submitted_at=MOMENT + timedelta(hours=1 + place))
    with standing_at(MOMENT + timedelta(days=1)):
        save(staff_client, study, **MARGIN)

    plan = describe_plan(study)
    html = read(staff_client, study)

    assert plan["moments"]["exclusion_rule"]["answers"] == 0
    assert plan["moments"]["margins"]["answers"] == 3
    assert "Rules: last changed before the first answer, on 1 March 2026." in html
    assert "Questions: last changed after 3 answers, on 2 March 2026." in html
    assert "thresholds" not in plan["moments"]


def test_the_moment_of_the_rule_moves_only_with_its_words(staff_client):
    study = make_study()
    with standing_at(MOMENT):
        save(staff_client, study, exclusion_rule=RULE)
    with standing_at(MOMENT + timedelta(days=1)):
        limit(staff_client, study, gold="70")

    plan = AnalysisPlan.objects.get(study=study)
    assert plan.rule_changed_at == MOMENT
    assert plan.changed_at == MOMENT + timedelta(days=1)


def test_answers_of_a_pilot_are_not_seen_data(staff_client):
    study = make_study(items=1)
    answer(study, study.items.main().get(), status="pilot", submitted_at=MOMENT)
    with standing_at(MOMENT + timedelta(days=1)):
        save(staff_client, study, exclusion_rule=RULE)

    assert describe_moment(describe_plan(study), "exclusion_rule").startswith(
        "before the first answer"
    )


def test_ratings_collected_elsewhere_are_never_said_to_come_after_the_plan(staff_client):
    study = make_study(items=1)
    with standing_at(MOMENT):
        save(staff_client, study, exclusion_rule=RULE)
    answer(
        study, study.items.main().get(), origin="imported", submitted_at=MOMENT + timedelta(days=1)
    )

    told = describe_moment(describe_plan(study), "exclusion_rule")

    assert told == "on 1 March 2026, before the import of ratings that were collected elsewhere"


def test_an_empty_field_and_the_starting_value_are_the_same(staff_client):
    study = make_study()

    limit(staff_client, study, gold="80", speed_ratio="", rho="0.1")

    assert not AnalysisPlan.objects.filter(study=study).exists()


def test_the_starting_thresholds_come_back_and_nothing_else_is_lost(staff_client):
    study = make_study()
    save(staff_client, study, exclusion_rule=RULE)
    limit(staff_client, study, gold="70")

    page = limit(staff_client, study, gold="much", do="reset")

    assert page.status_code == 302
    plan = AnalysisPlan.objects.get(study=study)
    assert plan.thresholds == {}
    assert plan.exclusion_rule == RULE


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"gold": "101"}, "Enter a number from 0 to 100."),
        ({"gold": "much"}, "Enter a number from 0 to 100."),
        ({"gold": "NaN"}, "Enter a number from 0 to 100."),
        ({"gold": "70.123"}, "Enter at most two decimals."),
        ({"rho": "-1.5"}, "Enter a number from -1 to 1."),
        ({"top_share_ratings": "20.5"}, "Enter a whole number from 2 to 1000."),
        ({"exclusion_rule": "x" * 2001}, "Word the rule in 2000 characters or fewer"),
        ({"exclusion_rule": "a\x07b"}, "Enter the rule in plain characters."),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence_and_nothing_is_saved(staff_client, said, words):
    study = make_study()

    page = (save if "exclusion_rule" in said else limit)(staff_client, study, **said)

    assert page.status_code == 422
    assert words in page.text
    assert "<title>Error: " in page.text
    assert not AnalysisPlan.objects.exists()


def test_a_threshold_that_is_not_looked_at_any_more_changes_nothing(staff_client):
    study = make_study(repeat_percent=20)
    with standing_at(MOMENT):
        limit(staff_client, study, change_quantile="90")
    Study.objects.filter(pk=study.pk).update(repeat_percent=0)

    limit(staff_client, study)

    assert "Nothing was changed." in read(staff_client, study)
    assert AnalysisPlan.objects.get(study=study).thresholds_changed_at == MOMENT


@pytest.mark.both_databases
def test_of_two_who_save_at_once_the_second_is_told(staff_client):
    study = make_study()
    seen = re.search(r'name="plan_seen" value="(\w+)"', read(staff_client, study))
    save(staff_client, study, exclusion_rule=RULE)

    page = save(staff_client, study, plan_seen=seen and seen[1], exclusion_rule="Nobody.")

    assert page.status_code == 422
    assert "Someone changed this plan while you had it open." in page.text
    assert AnalysisPlan.objects.get().exclusion_rule == RULE


def test_what_other_pages_keep_in_the_plan_stays(staff_client):
    study, earlier = make_study(), make_study(title="Earlier")
    AnalysisPlan.objects.create(study=study, repeats=earlier)

    save(staff_client, study, **BETTER)

    assert AnalysisPlan.objects.get(study=study).repeats == earlier
    # a row alone is no change of the plan
    assert "exclusion_rule" not in describe_plan(study)["moments"]


def test_a_viewer_reads_the_plan_and_cannot_write_it(staff_client):
    study = make_study()
    save(staff_client, study, exclusion_rule=HOSTILE, **BETTER)
    limit(staff_client, study, gold="70")
    viewer = member(study, "viewer")

    html, limits = read(viewer, study), viewer.get(url("study-flag-limits", study)).text

    assert "<form" not in (html + limits).partition("<main")[2].partition("</main>")[0]
    assert "neural is better than template." in html
    assert "70%, set for this study" in limits
    assert HOSTILE not in html
    for name in ("setup-plan", "study-flag-limits"):
        assert viewer.post(url(name, study), {}).status_code == 403


def test_readers_see_errors_the_smallest_difference_and_when_collection_stops(staff_client):
    study = make_study(items=3)
    reader = member(study, "viewer")
    before = read(reader, study)

    save(staff_client, study, smallest="0.3", has_own_errors="on", stopping="closing")

    html, plan = read(reader, study), dict(plan_in_words(describe_plan(study), criteria=1))
    assert "From one model of all systems." in before
    assert "Not stated." in before
    assert "A separate one for each pair of systems." in html
    assert "0.3, for precision and power only: nothing is tested against it." in html
    assert "the closing date is reached." in html
    assert f"{3 * study.k} answers to 3 items." in html
    assert plan["Standard errors"] == "a separate one for each pair of systems"
    assert plan["Smallest difference"].startswith("0.3,")


@pytest.mark.parametrize(
    ("protocol", "there", "not_there"),
    [
        ("magnitude", {"top_share", "gold"}, {"drift", "identical", "reserved"}),
        ("rrgen", {"drift", "identical", "reserved"}, set()),
        ("pairwise", {"speed_ratio", "gold"}, {"top_share", "rho", "drift"}),
    ],
)
def test_a_study_sets_the_thresholds_of_its_own_scales(protocol, there, not_there):
    keys = {limit.key for limit in limits_of(make_study(protocol=protocol, items=0))}

    assert there <= keys
    assert not not_there & keys


def test_a_threshold_of_repeats_is_set_where_there_are_repeats():
    without, given = (make_study(repeat_percent=percent, title=str(percent)) for percent in (0, 10))

    assert "change_quantile" not in {limit.key for limit in limits_of(without)}
    assert "change_quantile" in {limit.key for limit in limits_of(given)}


def test_reports_tell_the_plan_in_full(staff_client):
    study = make_study()
    with standing_at(MOMENT):
        save(staff_client, study, exclusion_rule=RULE, **BETTER)
        limit(staff_client, study, gold="70")

    told = dict(plan_in_words(describe_plan(study), criteria=1))

    when = "before the first answer, on 1 March 2026"
    assert told == {
        "Primary criterion": "none",
        "Comparisons": "all pairs of systems",
        "p values": "corrected by Holm’s method, over the comparisons that the hypotheses name "
        "(the others are exploratory)",
        "Hypotheses": f"on Informativeness, neural is better than template; decided {when}",
        "Exclusion rule": f"“{RULE}”; worded {when}",
        "Thresholds of flags": "Gold and attention items answered right: 70% (the software starts "
        f"with 80%); set {when}",
    }


def test_rules_that_are_run_are_told_with_their_moment_and_none_as_taken_back(staff_client):
    study = make_study()
    with standing_at(MOMENT):
        save(staff_client, study, exclusion_rule=RULE)
    plan = describe_plan(study) | {"rules": ["Median time at most 2 s"]}

    both, run = (
        dict(plan_in_words(plan | {"exclusion_rule": text}, criteria=2)) for text in (RULE, "")
    )

    when = "worded before the first answer, on 1 March 2026"
    assert both["Exclusion rule"] == f"“{RULE}”; {when}"
    assert run["Exclusion rules"] == f"Median time at most 2 s; {when}"
    assert "Exclusion rule" not in run
    assert run["p values"].endswith("these comparisons on all criteria")


def test_what_was_fixed_only_after_answers_limits_the_results(staff_client):
    study = make_study(items=1)
    with standing_at(MOMENT):
        save(staff_client, study, exclusion_rule=RULE, **MARGIN)
    answer(study, study.items.main().get(), submitted_at=MOMENT + timedelta(hours=1))
    early = describe_plan(study)
    with standing_at(MOMENT + timedelta(days=1)):
        later = MARGIN | {"margin-1": "1.5"}
        save(staff_client, study, exclusion_rule=f"{RULE} Or sleeps.", **later)
    late = describe_plan(study)

    assert warn_of_plan(early, has_excluded=True) == []
    assert [one["code"] for one in warn_of_plan(late, has_excluded=False)] == ["late_margins"]
    assert [NOTES.write(one) for one in warn_of_plan(late, has_excluded=True)] == [
        "The margin was set after 1 answer, on 2 March 2026: not before data were seen.",
        "The exclusion rule was worded after 1 answer, on 2 March 2026: not before data were seen.",
    ]


def test_the_results_page_tells_the_plan_of_its_report(staff_client, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    study = make_study()
    with standing_at(MOMENT):
        save(staff_client, study, exclusion_rule=RULE)
    report = keep_report(study)
    report.content["plan"] = describe_plan(study)
    report.save()
    before = staff_client.get(url("study-results", study)).text
    save(staff_client, study, exclusion_rule="Nobody.")

    after = staff_client.get(url("study-results", study)).text

    words = f"“{RULE}”; worded before the first answer, on 1 March 2026"
    assert words in before
    assert words in after  # what stands there is of that moment
    stale = "Answers, exclusions, the plan or judges have changed since."
    assert stale not in before
    assert stale in after


def test_a_study_without_a_plan_says_so():
    told = dict(plan_in_words(describe_plan(make_study()), criteria=1))

    assert told["Comparisons"] == "all pairs of systems"
    assert told["Exclusion rule"] == "none was written down"
    assert told["Thresholds of flags"] == "the defaults"


# --- the primary criterion and a margin ----------------------------------------------------


def test_margin_decides_the_analysis(staff_client):
    study = make_study()

    save(staff_client, study, **MARGIN)

    plan = Plan.read(describe_plan(study))
    assert plan.margins == (
        Margin(
            criterion="informativeness", system="neural", relation="not_worse", other="template",
            margin=1.2,
        ),
    )  # fmt: skip
    html = read(staff_client, study)
    assert '<option value="informativeness" selected>' in html
    assert re.search(r'name="question-0-margin" value="1.2"', html)
    assert describe_plan(study)["moments"].keys() == {"margins"}


def test_margin_of_a_share_is_entered_in_percentage_points(staff_client):
    study = make_study(protocol="pairwise")
    systems = list(study.systems.values_list("name", flat=True))

    criterion = study.config.criteria[0].key
    said = {"system-1": systems[0], "other-1": systems[1], "criterion-1": criterion}

    page = save(staff_client, study, **said, **{"relation-1": "equivalent", "margin-1": "10"})

    assert page.status_code == 302
    assert AnalysisPlan.objects.get(study=study).margins[0]["margin"] == 0.1
    told = dict(plan_in_words(describe_plan(study), criteria=1))["Tests against a margin"]
    assert told.startswith(f"on {study.config.criteria[0].label}, ")
    assert "within 10 percentage points; decided before the first answer" in told
    assert re.search(r'name="question-0-margin" value="10"', read(staff_client, study))


@pytest.mark.one_case
@pytest.mark.parametrize(
    "said",
    [
        {"margin-1": ""}, {"margin-1": "0"}, {"margin-1": "1"}, {"margin-1": "1_0"},
        {"margin-1": "2.1"},
        {"other-1": "neural"}, {"system-1": ""}, {"other-1": "unknown"}, {"criterion-1": "x"},
    ],
)  # fmt: skip
def test_margin_that_cannot_be_tested_is_refused(staff_client, said):
    study = make_study()

    page = save(staff_client, study, **MARGIN | said)

    assert page.status_code == 422
    assert not AnalysisPlan.objects.filter(study=study).exists()


def test_margin_of_half_of_all_answers_is_refused(staff_client):
    study = make_study(protocol="pairwise")
    first, second, *_ = study.systems.values_list("name", flat=True)
    criterion = study.config.criteria[0].key
    said = {"system-1": first, "other-1": second, "criterion-1": criterion}

    page = save(staff_client, study, **said, **{"relation-1": "not_worse", "margin-1": "50"})

    assert page.status_code == 422
    assert not AnalysisPlan.objects.filter(study=study).exists()


def turn(better: str) -> dict[str, Any]:
    """An instrument whose first question says which of its five points are better."""
    (content,) = (data for data in read_gallery() if data["key"] == "helpsteer2")
    criteria = [content["criteria"][0] | {"better": better}, *content["criteria"][1:]]
    return content | {"key": "turned", "criteria": criteria}


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("better", "relation", "margin", "status"),
    [
        ("lower", "not_worse", "1.9", 302),
        # half of the range of five points
        ("lower", "not_worse", "2", 422),
        ("none", "equivalent", "1.9", 302),
        ("none", "differs", "", 302),
        ("none", "not_worse", "1", 422),
        ("none", "better", "", 422),
    ],
)
def test_a_test_must_suit_the_scale_and_its_direction(
    staff_client, researcher, better, relation, margin, status
):
    study = make_built_study(turn(better), by=researcher)
    for name in ("alpha", "beta"):
        System.objects.create(study=study, name=name)
    key = study.config.criteria[0].key

    page = save(staff_client, study, **{
        "system-1": "alpha", "other-1": "beta", "criterion-1": key, "relation-1": relation,
        "margin-1": margin,
    })  # fmt: skip

    assert page.status_code == status


def test_level_and_slices_are_those_of_tests_against_a_margin(staff_client):
    study = make_study(items=2)
    item = study.items.main().first()
    item.extra = {"language": "de"}
    item.save()

    refused = save(staff_client, study, **MARGIN, level="0.025", slices="dialect")
    taken = save(staff_client, study, **MARGIN, level="0.025", slices="language")

    assert (refused.status_code, taken.status_code) == (422, 302)
    (margin,) = Plan.read(describe_plan(study)).margins
    assert (margin.level, margin.slices) == (0.025, "language")
    html = read(staff_client, study)
    assert '<option value="0.025" selected>' in html
    assert re.search(r'name="slices" value="language"', html)
    told = dict(plan_in_words(describe_plan(study), criteria=1))["Tests against a margin"]
    assert "at level 0.025, and fails if it is clearly worse in any language" in told


def test_margin_and_primary_criterion_that_came_late_are_warned_of(staff_client):
    study = make_study(items=1)
    for item in study.items.main():
        answer(study, item)
    save(staff_client, study, **MARGIN)
    AnalysisPlan.objects.update(primary="informativeness", primary_changed_at=now())

    codes = {one["code"] for one in warn_of_plan(describe_plan(study), has_excluded=False)}

    assert codes == {"late_primary", "late_margins"}


def test_words_are_neither_a_primary_criterion_nor_the_subject_of_a_hypothesis(staff_client):
    arena = next(one for one in read_gallery() if one["key"] == "arena_preference")
    study = make_built_study(arena, by=make_user())

    html = read(staff_client, study)
    sent = save(staff_client, study, **BETTER | {"criterion-1": "what_is_bad"})

    assert '<option value="preference"' in html
    assert 'value="what_is_bad"' not in html
    assert sent.status_code == 422
