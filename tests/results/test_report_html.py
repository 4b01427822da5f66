"""The report as a page: it stands alone, says what the report says, and runs nothing."""

import re
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from evalsite.results.report.criterion_tables import find_estimate, write_corrected_of
from evalsite.results.report.html_document import write_page
from evalsite.results.report.methods import write_findings
from evalsite.results.report.study_tables import list_further, list_main, list_shown
from evalsite.results.report.table import explain_with_interval, write_with_interval

from evalsite.results.models import Report
from evalsite.results.report.sentences import write_sentence
from evalsite.results.report.wording import hold_together, write_interval, write_value
from evalsite.studies.models import Study
from tests.support.reported import HOSTILE, REASON, TITLE, keep_report, make_reported_study

Settings = Any
NEVER = (
    "no difference",
    "substantial",
    "moderate agreement",
    "perfect agreement",
    "good agreement",
)


class Reader(HTMLParser):
    """Tags, their addresses, and the text of every cell."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]
        assert not [name for name, _ in attrs if name.startswith("on") or name == "style"]


@pytest.fixture
def study(db: None, settings: Settings, tmp_path: Path) -> Study:
    settings.DATA_DIR = tmp_path
    return make_reported_study()


@pytest.fixture
def report(study: Study) -> Report:
    return keep_report(study)


def test_the_page_loads_nothing_and_runs_nothing(study: Study, report: Report) -> None:
    read = Reader(write_page(study, report))

    assert not {"script", "iframe", "object", "form", "style"} & set(read.tags)
    assert all(address.startswith(("data:", "#")) for address in read.addresses)
    assert read.tags.count("img") == 1  # by system


def test_method_names_the_terms_of_the_model_that_was_fitted(study: Study, report: Report) -> None:
    (criterion,) = report.content["kept"]["criteria"]
    mixed = "REML, crossed random effects (Kenward-Roger)"
    criterion["model"] = {"method": mixed, "terms": ["rater:system", "cluster:system"]}
    criterion["pairs"][0]["effect"]["method"] = mixed

    page = unescape(write_page(study, report))

    assert "with random effects of raters by systems and clusters of inputs by systems, " in page


def test_hostile_names_are_shown_as_they_are(study: Study, report: Report) -> None:
    page = write_page(study, report)

    assert "<script" not in page
    assert "<b>" not in page
    for name in (*HOSTILE, TITLE):
        assert name in unescape(page)
        assert name not in page or name == escape(name)


@pytest.mark.one_case
@pytest.mark.parametrize("p", [0.00004, 0.0124, 1.0])
def test_every_number_of_systems_and_pairs_is_the_report_s(
    study: Study, report: Report, p: float
) -> None:
    kept = report.content["kept"]
    kept["criteria"][0]["pairs"][0]["effect"]["details"]["p_corrected"] = p
    page = unescape(write_page(study, report))
    further = unescape(write_page(study, report, is_further=True))

    for criterion in kept["criteria"]:
        for system in criterion["systems"]:
            assert f">{write_value(system['headline'])}<" in further
            assert f">{write_interval(system['headline'])}<" in further
            assert hold_together(write_with_interval(system["headline"])) in further
            estimate = hold_together(explain_with_interval(find_estimate(criterion, system)))
            assert f">{estimate}<" in page
        for pair in criterion["pairs"]:
            assert f"{pair['system_1']} : {pair['system_2']}" in page
            assert f">{hold_together(explain_with_interval(pair['effect']))}<" in page
            assert f">{hold_together(write_corrected_of(pair['effect']))}<" in page
            assert hold_together(write_sentence(pair["finding"])) in further
        assert f">{write_interval(criterion['agreement'][0])}<" in page
        for figure in criterion["agreement"]:
            assert f">{write_interval(figure)}<" in further
        for note in criterion["notes"]:
            assert hold_together(write_sentence(note)) in further


def test_what_makes_it_again_is_told(study: Study, report: Report) -> None:
    page = write_page(study, report)

    assert report.sha256 in page
    assert f"<dd>{report.content['kept']['seed']}</dd>" in page
    assert "Version of methods" in page


def test_simulated_ratings_are_told_before_anything_else(study: Study, report: Report) -> None:
    page = write_page(study, report)

    assert (
        0 < page.index("simulated, so they show nothing about real systems") < page.index("<main>")
    )


def test_figures_stand_without_and_with_what_is_excluded(study: Study, report: Report) -> None:
    assert REASON in unescape(write_page(study, report))
    page = unescape(write_page(study, report, is_further=True))

    assert "without and with what is excluded" in page
    with_all = report.content["all"]["criteria"][0]["systems"][0]["headline"]
    assert f">{write_value(with_all)}<" in page


def test_what_was_changed_after_launch_is_listed_with_both_texts(
    study: Study, report: Report
) -> None:
    assert "Changes after the launch" not in write_page(study, report)
    corrected = {
        "kind": "corrected", "item": "item-001", "output": 2, "before": "<b>A slip",
        "after": "Mended", "reason": "A tag was left in.", "answers": 0, "at": "2026-05-03T10:00Z",
    }  # fmt: skip
    withdrawn = corrected | {"kind": "withdrawn", "before": "", "after": "", "reason": "Cut off."}
    report.content["changes"] = [corrected, withdrawn]

    page = unescape(write_page(study, report))

    assert "1 item withdrawn (“Cut off.”); 1 output corrected (“A tag was left in.”)" in page
    for text in ("Changes after the launch", "Output 2 of item-001", "<b>A slip", "Mended"):
        assert text in page


def test_nobody_is_named_with_a_flag(study: Study, report: Report) -> None:
    report.content["kept"]["raters"]["rows"][0]["flags"] = [
        {"code": "speeder", "facts": {"share": 0.5, "is_under_floor": False}}
    ]

    page = write_page(study, report)

    assert re.search(r"Is much faster than the others</th><td>[1-4]</td>", page)
    for row in report.content["kept"]["raters"]["rows"]:
        assert row["participant"] not in page


def test_nothing_is_claimed_that_no_test_shows(study: Study, report: Report) -> None:
    page = write_page(study, report).lower()

    assert not [words for words in NEVER if words in page]


def test_ratings_collected_elsewhere_get_no_story_of_this_site(
    study: Study, report: Report
) -> None:
    origins = {"own": 0, "imported": 10, "simulated": 0}
    report.content["kept"]["data"]["origins"] = origins

    page = write_page(study, report)

    assert "this software doesn’t know how the ratings were collected" in page
    assert "Practice" not in page


def test_a_report_of_nothing_is_a_page_too(study: Study, report: Report) -> None:
    kept = report.content["kept"]
    kept |= {"criteria": [], "design": [], "raters": {"columns": [], "rows": []}}
    kept["data"] |= {"systems": [], "first_at": None, "last_at": None, "places": {}, "ratings": 0}
    report.content["all"] = None

    assert "What was evaluated" in write_page(study, report)


def test_the_page_tells_kappas_of_raters_as_a_range_and_names_nobody(
    study: Study, report: Report
) -> None:
    report.content["kept"]["criteria"][0]["kappas"] = {
        "raters": ["p-one", "p-two", "p-three"],
        "values": [[None, 0.25, 0.5], [0.25, None, 0.75], [0.5, 0.75, None]],
    }
    report.save()

    html = write_page(study, report, is_further=True)

    assert "Pairs of raters" in html
    assert all(f"<td>{value}</td>" in html for value in ("3", "0.25", "0.50", "0.75"))
    assert "p-one" not in html
    assert "p-three" not in html


def test_every_table_of_the_page_says_how_it_was_computed(study: Study, report: Report) -> None:
    html = write_page(study, report, is_further=True)

    tables = [table for part in list_further(report) for table, _ in part.blocks]
    assert html.count("<summary>How this was computed</summary>") == len(tables)


def test_every_table_is_in_the_report_or_among_the_further_analyses(report: Report) -> None:
    names = {
        part: {table.name for some in parts(report) for table, _ in some.blocks}
        for part, parts in (("all", list_shown), ("main", list_main), ("further", list_further))
    }

    assert names["all"] <= names["main"] | names["further"]
    assert not names["main"] & names["further"]
    kept = report.content["kept"]["criteria"]
    assert len(names["main"]) == 3 * len(kept)


def test_planned_test_against_a_margin_is_in_the_report(study: Study, report: Report) -> None:
    report.content["kept"]["criteria"][0]["margins"] = [
        {
            "system": "one", "other": "two", "relation": "not_worse", "margin": 1.2, "method": "t",
            "outcome": "undecided", "low": -0.3, "high": 0.1, "p": 0.21, "is_log": True,
            "level": 0.05, "better": "higher",
        }
    ]  # fmt: skip

    page = unescape(re.sub(r"<[^>]+>", "", write_page(study, report)))

    assert "one is not worse than two by more than a factor of 1.20 (90% CI 0.74 to 1.11" in page
    assert "p = .210" in page
    told = write_findings(report.content["kept"]["criteria"][0])
    assert "one is not worse than two by more than a factor of 1.20 (90\\% CI 0.74 to 1.11" in told
    assert "$p = .210$" in told


def test_exact_difference_is_shown_without_interval_or_p(study: Study, report: Report) -> None:
    report.content["kept"]["criteria"][0]["margins"] = [
        {
            "system": "one", "other": "two", "relation": "not_worse", "margin": 1.2,
            "outcome": "pass", "difference": 0.0, "reason": "all_equal", "is_log": True,
        }
    ]  # fmt: skip

    page = unescape(re.sub(r"<[^>]+>", "", write_page(study, report)))

    outcome = "one is not worse than two by more than a factor of 1.20"
    assert f"{outcome} (all ratings are equal, so there is no interval)." in page


def test_failed_margin_has_the_p_of_failing(study: Study, report: Report) -> None:
    report.content["kept"]["criteria"][0]["margins"] = [
        {
            "system": "one", "other": "two", "relation": "not_worse", "margin": 1.2,
            "outcome": "fail", "low": -0.9, "high": -0.3, "p": 0.98, "p_fail": 0.02,
            "p_corrected": 0.99, "is_log": True, "level": 0.05, "better": "higher",
        }
    ]  # fmt: skip

    page = unescape(re.sub(r"<[^>]+>", "", write_page(study, report)))

    assert (
        "one is worse than two by more than a factor of 1.20 (90% CI 0.41 to 0.74, p = .020" in page
    )


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("on_all", "p", "words"),
    [
        ("pass", ".001", "one is not worse than two"),
        ("fail", ".999", "one is worse than two"),
        ("undecided", ".001 for not worse, p = .999 for worse", "this study can"),
    ],
)
def test_margin_that_fails_in_a_slice_fails(
    study: Study, report: Report, on_all: str, p: str, words: str
) -> None:
    slice_ = {
        "slice": "de", "inputs": 30, "is_tested": True, "is_worse": True, "is_log": False,
        "difference": -2.0, "low": -2.3, "high": -1.7, "p_corrected": 0.003,
    }  # fmt: skip
    report.content["kept"]["criteria"][0]["margins"] = [
        {
            "system": "one", "other": "two", "relation": "not_worse", "margin": 1.2,
            "outcome": "fail", "outcome_on_all": on_all, "low": -0.3, "high": 0.1, "p": 0.001,
            "p_fail": 0.999, "is_log": False, "level": 0.05, "better": "higher",
            "slices": [slice_], "worst": slice_, "fails_in": ["de"], "unsliced": 0,
        }
    ]  # fmt: skip

    page = unescape(re.sub(r"<[^>]+>", "", write_page(study, report)))
    tex = write_findings(report.content["kept"]["criteria"][0]).replace("$", "")

    for text in (page, tex):
        assert f"one fails the test against two. On all inputs together, {words}" in text
        assert f"p = {p}). Fails in slice de: difference" in text
        assert "corrected p = .003." in text


@pytest.mark.parametrize("code", ["higher", "not_enough"])
def test_report_of_five_criteria_is_short(study: Study, report: Report, code: str) -> None:
    # what the crowd of simulated people finds depends on random ids: all that is said of it is set
    kept = report.content["kept"]
    first = kept["criteria"][0]
    for pair in first["pairs"]:
        pair["finding"]["code"] = code
        pair["own"] = None
        pair["effect"]["details"]["p_corrected"] = 0.012 if code == "higher" else 0.46
    facts = {
        "unit": "points",
        "effect": "ratio",
        "value": 0.231,
        "low": 0.148,
        "high": 0.451,
        "tests": 3,
    }
    first["conclusions"] = [{"code": "detectable", "criterion": None, "facts": facts}]
    if code == "higher":
        # what could be found is said only where something was not
        first["conclusions"] = []
    for row in kept["raters"]["rows"]:
        row["flags"] = []
    kept["warnings"] = [{"code": "few_raters", "criterion": None, "facts": {"raters": 3}}] * 5
    kept["criteria"] = [first | {"key": f"criterion-{place}"} for place in range(5)]
    report.content["all"] = None

    page = write_page(study, report)

    words = re.sub(r"<[^>]+>", " ", page.partition("<body>")[2]).split()
    assert page.count("<table") <= 25
    assert len(words) <= 1460, len(words)  # 1,500, with room for a flag


def test_a_report_begins_with_its_first_five_warnings(study: Study, report: Report) -> None:
    report.content["kept"]["warnings"] = [
        {"code": "other_options", "facts": {"options": [f"number {number}"]}, "criterion": None}
        for number in range(7)
    ]

    page, further = write_page(study, report), write_page(study, report, is_further=True)

    assert [f"differ: number {number}." in page for number in range(7)] == [True] * 5 + [False] * 2
    assert "differ: number 6." in further


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["magnitude", "pairwise"])
def test_every_figure_of_a_table_has_its_interval_or_says_why_it_has_none(
    db: None, settings: Settings, tmp_path: Path, protocol: str
) -> None:
    settings.DATA_DIR = tmp_path
    shown = list_shown(keep_report(make_reported_study(protocol)))

    entries = [one for part in shown for table, _ in part.blocks for one in table.entries]
    computed = [one.figure for one in entries if one.figure["method"] not in ("count", "rank")]
    bare = [one for one in computed if one["value"] is not None and one.get("low") is None]
    assert bare
    for figure in bare:
        kind, _, why = figure["details"].get("interval", "").partition(": ")
        assert figure.get("high") is not None or (kind == "none" and why), figure["name"]
