"""The summary says what was found on each criterion, and each fold of a criterion its answer."""

from collections.abc import Callable
from dataclasses import asdict
from html import unescape
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse
from evalsite.results.report.criterion_tables import tabulate_checks
from evalsite.results.report.criterion_view import note_correction, view_criteria
from evalsite.results.report.folds import list_folds
from evalsite.results.report.limitations import Collection, Limitation, list_limitations
from evalsite.results.report.methods import write_findings
from evalsite.results.report.summary import summarise
from evalsite.results.report.verdicts import count_changes, judge_criterion

from evalsite.annotation.running.live_changes import FITTED
from evalsite.audit.models import AuditEntry
from evalsite.jobs.models import Job
from evalsite.lib.clock import now
from evalsite.participants.models import ParticipantMark
from evalsite.quality.models import AnalysisPlan
from evalsite.quality.top_up import TOP_UP_ACTION
from evalsite.results.document.axis import make_axis, make_mark
from evalsite.results.report.first_look import Look, find_first_look
from evalsite.results.report.raters_met import RatersMet, find_raters_met
from evalsite.results.report.sentences import write_sentence
from evalsite.studies.models import Study
from tests.support.factories import answer_item, launch, make_annotator, make_participant
from tests.support.reports import keep_report, make_content, make_figure, make_finding


@pytest.fixture
def study(make_study: Callable[..., Any]) -> Study:
    return make_study(items=2)


def pair(first: str, second: str, code: str, **known: Any) -> dict[str, Any]:
    details = {"p": 0.03, "p_corrected": 0.01 if code == "higher" else 0.2, "family": 3}
    effect = make_figure("difference", 0.4, low=0.1, high=0.7, details=details)
    return {
        "system_1": first, "system_2": second, "effect": effect, "sizes": [], "checks": [],
        "counts": None, "own": None,
        "finding": make_finding(code, first, second), **known,
    }  # fmt: skip


def points(*pairs: dict[str, Any], means: tuple[float, ...] = (3.9, 3.5, 3.4)) -> dict[str, Any]:
    systems = [
        {
            "system": name, "n": 10, "outputs": 5, "sd": make_figure("sd", 1.1),
            "headline": make_figure("mean", mean, low=mean - 1, high=5.0),
            "others": [make_figure("median", 4.0)], "averages": [], "rank": None, "cluster": 1,
            "counts": {"1": 0, "2": 1, "3": 2, "4": 2, "5": 5},
            "from_average": make_figure(
                "from_average", mean - 3.6, low=mean - 3.8, high=mean - 3.4
            ),
        }
        for name, mean in zip("abc", means, strict=True)
    ]  # fmt: skip
    return make_content()["criteria"][0] | {
        "key": "fluency", "label": "Fluency", "kind": "likert", "family": "points",
        "answers": [{"value": value, "label": ""} for value in range(1, 6)],
        "systems": systems, "pairs": list(pairs),
        "agreement": [make_figure("alpha_ordinal", 0.58, low=0.5, high=0.64)],
    }  # fmt: skip


# --- verdicts -----------------------------------------------------------------------------


def test_systems_that_are_ahead_of_the_same_others_are_named_together() -> None:
    found = judge_criterion(
        points(pair("a", "b", "not_enough"), pair("a", "c", "higher"), pair("c", "b", "lower"))
    )

    assert [(lead.ahead, lead.behind) for lead in found.leads] == [(("a", "b"), ("c",))]
    assert found.unclear == [("a", "b")]


def test_only_a_system_ahead_of_all_others_leads() -> None:
    all_of_them = points(pair("a", "b", "higher"), pair("a", "c", "higher"))
    some = points(pair("a", "b", "higher"), pair("a", "c", "not_enough"))

    assert judge_criterion(all_of_them).leader == "a"
    assert judge_criterion(some).leader == ""


def test_verdict_that_exclusions_turn_is_counted_whichever_system_comes_first() -> None:
    kept = points(pair("a", "b", "higher"), pair("a", "c", "not_enough"))
    same = points(pair("b", "a", "lower"), pair("c", "a", "not_enough"))
    other = points(pair("a", "b", "not_enough"), pair("a", "c", "not_enough"))

    assert count_changes(kept, same) == 0
    assert count_changes(kept, other) == 1


# --- charts -------------------------------------------------------------------------------


def test_axis_has_round_ticks_and_holds_every_value() -> None:
    axis = make_axis([2.61, 4.43, None])

    assert [tick.label for tick in axis.ticks] == ["2.5", "3", "3.5", "4", "4.5"]
    assert axis.place(2.5) == "0.0%"
    assert axis.place(99) == "100.0%"


def test_ticks_of_coefficients_have_no_zero_before_the_point() -> None:
    axis = make_axis([0.0, 1.0, -0.2], is_bounded=True)

    assert [tick.label for tick in axis.ticks] == ["−.5", "0", ".5", "1"]


def test_axis_of_shares_ends_at_none_and_at_all() -> None:
    for values in ([-0.2, 1.3], [1.0, 1.0]):
        labels = [tick.label for tick in make_axis(values, is_share=True).ticks]
        assert (labels[0], labels[-1]) == ("0%", "100%")


def test_axis_of_equal_values_and_of_none_has_a_width() -> None:
    assert make_axis([3.0, 3.0]).place(3.0) == "50.0%"
    assert make_axis([]).place(0.5) == "50.0%"


def test_value_that_is_not_known_has_no_mark() -> None:
    assert make_mark(make_axis([0, 1]), None, None, None) is None


# --- what a criterion shows ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("better", "order", "ahead", "words"),
    [
        ("higher", "abc", "a", "rated higher than"),
        ("lower", "cba", "b", "rated lower than"),
        ("none", "abc", "", ""),
    ],
)
def test_what_is_better_orders_rows_and_says_who_is_ahead(better, order, ahead, words) -> None:
    criterion = points(pair("a", "b", "higher")) | {"better": better}

    (view,) = view_criteria({"criteria": [criterion]}, None)

    assert "".join(row.name for row in view.systems) == order
    assert (view.pairs[0].ahead, view.pairs[0].is_clear) == (ahead, True)
    assert view.axis.better == better
    if words:
        assert view.verdict.ahead == words
        assert view.verdict.leads[0].ahead == (ahead,)
    else:
        assert (view.verdict.leads, view.verdict.is_named) == ([], False)


def test_line_around_a_mean_is_the_interval_of_its_distance_from_the_average() -> None:
    (view,) = view_criteria({"criteria": [points(pair("a", "b", "higher"))]}, None)
    row = view.systems[0]

    assert row.mark is not None
    assert row.mark.start == view.axis.place(3.9 - 0.2)
    assert row.mark.end == view.axis.place(3.9 + 0.2)
    assert view.average == view.axis.place(3.6)
    assert (row.distance, row.half_width) == ("+0.30", "0.20")
    assert view.alpha is not None
    assert (view.alpha.value, view.alpha.interval) == (".58", ".50 to .64")


def test_line_around_a_mean_ends_where_the_scale_does() -> None:
    (view,) = view_criteria({"criteria": [points(means=(4.9, 3.5, 1.0))]}, None)

    first, _, last = (row.mark for row in view.systems)
    assert first is not None
    assert last is not None
    # distances are .2 on either side of the mean, and points go from 1 to 5
    assert (first.start, first.end) == (view.axis.place(4.7), view.axis.place(5))
    assert (last.start, last.end) == (view.axis.place(1), view.axis.place(1.2))


def test_everyone_included_is_a_ring_beside_the_mean() -> None:
    kept, whole = points(), points(means=(3.8, 3.5, 3.4))
    (view,) = view_criteria({"criteria": [kept]}, {"criteria": [whole]})

    assert view.systems[0].mark is not None
    assert view.systems[0].mark.ring == view.axis.place(3.8)


def test_criteria_of_one_kind_share_an_axis() -> None:
    one, two = points(), points(means=(2.0, 1.5, 1.0)) | {"key": "coherence"}
    views = view_criteria({"criteria": [one, two]}, None)

    assert views[0].axis == views[1].axis


def test_pair_says_what_only_one_of_two_errors_or_corrections_finds() -> None:
    own = make_figure("own_error", 0.4, details={"p_corrected": 0.09})
    criterion = points(pair("a", "b", "higher", own=own), pair("a", "c", "not_enough"))
    (view,) = view_criteria({"criteria": [criterion]}, None)

    assert [row.is_other_alone for row in view.pairs] == [True, False]
    assert [row.is_clear_alone for row in view.pairs] == [False, True]


def test_hypotheses_say_how_they_came_out_and_other_pairs_are_exploratory() -> None:
    criterion = points(pair("a", "b", "higher"), pair("b", "c", "not_enough"))
    criterion["pairs"][0]["effect"]["details"]["family"] = 1
    criterion["pairs"][1]["effect"]["details"]["is_exploratory"] = True
    criterion["hypotheses"] = [
        {"system": system, "relation": relation, "other": other, "outcome": outcome,
         "p_corrected": 0.012}
        for system, relation, other, outcome in (
            ("a", "better", "b", "better"), ("b", "better", "a", "worse"),
            ("b", "differs", "a", "worse"), ("a", "differs", "c", "unclear"),
        )
    ]  # fmt: skip
    (view,) = view_criteria({"criteria": [criterion]}, None)

    told = write_findings(criterion)
    correction = note_correction(criterion)["facts"]

    for words in (
        "Hypothesis: a is rated higher than b. As expected (corrected $p = .012$).",
        "Hypothesis: b is rated higher than a. The other way: a is ahead (corrected",
        "Hypothesis: b differs from a. As expected: a is ahead (corrected",
        "Hypothesis: a differs from c. No clear difference (corrected",
    ):
        assert words in told
    assert [row.is_exploratory for row in view.pairs] == [False, True]
    assert (correction["family"], correction["exploratory"], correction["pairs"]) == (1, 1, 2)
    assert view.correction == write_sentence(note_correction(criterion))


def test_folds_state_what_other_figures_change() -> None:
    criterion = points(pair("a", "b", "higher"))
    criterion["systems"][0]["averages"] = [make_figure("trimmed_mean", 3.0)]
    criterion["systems"][1]["averages"] = [make_figure("trimmed_mean", 3.5)]
    criterion["systems"][2]["averages"] = [make_figure("trimmed_mean", 2.0)]
    whole = points(pair("a", "b", "not_enough"))
    facts = {fold.key: fold.notes[0]["facts"] for fold in list_folds(criterion, whole)}

    assert facts["averages"] == {"number": 3, "other": 1}
    assert facts["counts"]["percent"] == 50
    assert facts["everyone"] == {"changes": 1, "pairs": 1}


# --- limitations --------------------------------------------------------------------------


def codes(content: dict[str, Any], *, done: int = 4, target: int = 4) -> dict[str, bool]:
    views = view_criteria(content["kept"], content["all"])
    found = list_limitations(content, views, Collection(done=done, target=target))
    return {one.code: one.is_fine for one in found}


def test_unfinished_collection_and_a_missing_plan_are_limitations() -> None:
    content = {"kept": make_content(), "all": None}

    assert codes(content, done=3) == {"warning": False, "unfinished": False, "no_plan": False}


@pytest.mark.parametrize(
    ("p", "tiers", "is_told"), [(0.03, 1, True), (0.03, 2, False), (0.2, 1, False)]
)
def test_clusters_over_inputs_alone_are_told_where_tiers_are_wider(
    p: float, tiers: int, is_told: bool
) -> None:
    (criterion,) = make_content()["criteria"]
    criterion["pairs"][0]["checks"] = [make_figure("wilcoxon", 3.0, details={"p": p})]
    for place, system in enumerate(criterion["systems"]):
        system["cluster"] = min(place + 1, tiers)

    table = tabulate_checks(criterion)

    assert table is not None
    assert ("the clusters would be: alpha; beta." in table.words) == is_told


@pytest.mark.parametrize(("low", "high", "is_told"), [(0.1, 0.7, False), (0.1, 0.5, True)])
def test_lowest_agreement_is_told_only_if_its_interval_ends_below_the_others(
    low: float, high: float, is_told: bool
) -> None:
    kept = make_content()
    (first,) = kept["criteria"]
    less = make_figure("alpha_log", 0.3, low=low, high=high, n={"units": 4})
    kept["criteria"].append({**first, "key": "fluency", "agreement": [less]})

    assert ("lowest_agreement" in codes({"kept": kept, "all": None})) == is_told


@pytest.mark.parametrize(("is_over", "code"), [(False, "unfinished"), (True, "ended_early")])
def test_closed_study_is_not_said_to_be_unfinished(is_over: bool, code: str) -> None:
    content = {"kept": make_content(), "all": None}

    told = list_limitations(content, [], Collection(done=3, target=9, has_ended=is_over))

    (entry,) = [one for one in told if one.code in ("unfinished", "ended_early")]
    assert (entry.code, entry.facts) == (code, {"done": 3, "target": 9})
    assert entry.text in unescape(render_to_string("results/_limitation.html", {"one": entry}))


def test_warning_of_criteria_names_them_once() -> None:
    facts = {"about": "model_misfit", "criteria": ["Fluency"], "text": "It does not fit."}

    told = render_to_string(
        "results/_limitation.html", {"one": Limitation(code="warning", facts=facts)}
    )

    assert told.count("Fluency") == 1


def test_plan_that_changed_with_answers_in_is_not_only_said_to_come_first() -> None:
    versions = [
        {"number": number, "frozen_at": now(), "has_plan": True, "answers": answers}
        for number, answers in enumerate((0, 90), start=1)
    ]

    told = render_to_string("results/_plan_frozen.html", {"versions": versions})

    assert told.count("before the first answer") == 1
    assert "with 90 answers in" in told


def test_raters_from_the_study_that_is_repeated_are_a_limitation(make_study) -> None:
    study, first = launch(make_study(items=2)), make_study(items=1)
    AnalysisPlan.objects.create(study=study, repeats=first, changed_at=now())
    met, new, idle = (make_annotator(study) for _ in range(3))
    for person in (met, new):
        answer_item(person, study.items.main()[0])
    earlier = make_participant(first)
    for person, digest in ((earlier, "a"), (met, "a"), (new, "b"), (idle, "a")):
        ParticipantMark.objects.create(study=person.study, participant=person, digest=digest * 64)

    found = find_raters_met(study)

    assert found == RatersMet(number=1, raters=2)
    assert find_raters_met(first) is None
    content = {"kept": make_content(), "all": None}
    content["collection"] = {"done": 4, "target": 4, "met": asdict(found)}
    told = list_limitations(content, [], Collection(done=4, target=4))
    assert {"number": 1, "raters": 2} in [one.facts for one in told if one.code == "raters_met"]


def test_plan_is_first_only_if_nothing_of_it_came_after_answers() -> None:
    first = {"baseline": {"at": "2026-05-03T10:00:00+00:00", "answers": 0}}
    late = {"baseline": {"at": "2026-05-03T10:00:00+00:00", "answers": 7}}
    content = {"kept": make_content(), "all": None}

    assert codes(content | {"plan": {"moments": first, "has_imported": False}})["plan_first"]
    assert "plan_first" not in codes(content | {"plan": {"moments": late, "has_imported": False}})
    elsewhere = codes(content | {"plan": {"moments": first, "has_imported": True}})
    assert elsewhere["plan_before_import"] is False


def test_low_alpha_at_a_ceiling_is_explained() -> None:
    criterion = points()
    for system in criterion["systems"]:
        system["counts"] = {"1": 0, "2": 0, "3": 0, "4": 2, "5": 8}
    criterion["agreement"] = [make_figure("alpha_ordinal", 0.06), make_figure("ac2", 0.98)]

    assert "ceiling" in codes({"kept": make_content(criteria=[criterion]), "all": None})


def test_headline_is_about_the_primary_criterion() -> None:
    one, two = points() | {"role": "secondary"}, points() | {"key": "coherence", "role": "primary"}
    content = {"kept": make_content(criteria=[one, two]), "all": None}
    summary = summarise(content, Collection(done=4, target=4), everyone=False)

    assert summary.main is not None
    assert summary.main.key == "coherence"
    assert [view.key for view in summary.criteria] == ["coherence", "fluency"]


# --- pages --------------------------------------------------------------------------------


@pytest.mark.parametrize("systems", [("a", "b", "c"), ("a",)])
def test_summary_and_criterion_are_shown_of_any_number_of_systems(
    staff_client: Client, study: Study, systems: tuple[str, ...]
) -> None:
    criterion = points(*([pair("a", "b", "higher")] if len(systems) > 1 else []))
    criterion["systems"] = criterion["systems"][: len(systems)]
    keep_report(study, criteria=[criterion])
    address = reverse("admin:study-results", args=[study.pk])

    summary = staff_client.get(address)
    shown = staff_client.get(f"{address}?part=fluency")

    assert summary.context["summary"].criteria[0].key == "fluency"
    assert shown.context["view"].label == "Fluency"


def test_everyone_included_is_another_view_of_the_same_report(
    staff_client: Client, study: Study
) -> None:
    everything = make_content()
    everything["criteria"][0]["systems"][0]["headline"]["value"] = 88.0
    keep_report(study, everything=everything)
    address = reverse("admin:study-results", args=[study.pk])

    kept, whole = (
        staff_client.get(address + query).context["summary"].criteria[0].systems
        for query in ("", "?people=everyone")
    )

    assert kept[0].value == "105.0"
    assert whole[0].value == "88.0"


def test_first_look_is_told_with_its_answers_and_the_top_up_after_it(
    db: None, study: Study, staff_client: Client
) -> None:
    keep_report(study)
    job = Job.objects.create(kind="analysis", study_id=study.pk, state="done", finished_at=now())
    AuditEntry.objects.record(TOP_UP_ACTION, by=None, study_id=study.pk, items=2, slots=3)
    AuditEntry.objects.record(FITTED, by=None, study_id=study.pk, k=4, added=5)

    look = find_first_look(study)
    page = staff_client.get(reverse("admin:study-results", args=[study.pk])).text

    assert look == Look(at=job.finished_at, answers=0, asked_later=8)
    assert "8 more answers were asked for" in page


def test_results_that_were_first_there_after_closing_are_no_early_look(study: Study) -> None:
    study.closed_at = now()
    Job.objects.create(kind="analysis", study_id=study.pk, state="done", finished_at=now())

    late = find_first_look(study)
    study.closed_at = now()
    early = find_first_look(study)

    assert late is None
    assert early is not None
