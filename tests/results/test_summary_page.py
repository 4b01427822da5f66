"""The summary answers the planned question first, and has the table for a paper."""

import csv
import io
import re
from itertools import combinations
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.handout.models import Rating
from evalsite.instruments.scales.base import COMMENT
from evalsite.results.document.blocks import Cell
from evalsite.results.document.charts import write_paper
from evalsite.results.document.latex import write_table
from evalsite.results.document.text import write_markdown_table, write_table_csv
from evalsite.results.models import Report
from evalsite.results.report.computation import plan_undecided
from evalsite.results.report.sections.findings import make_paper
from evalsite.results.report.sections.summary import describe_reasons, list_cards
from evalsite.studies.models import Study
from tests.site.test_staff_pages import member, sign_in, url
from tests.support.factories import make_study
from tests.support.planned import add_person, make_planned_study
from tests.support.reports import (
    keep_report,
    make_content,
    make_figure,
    make_pair,
    make_points,
    make_source,
)

# of RESULTS: words of the page with its folds closed, and a fifth more
MOST_WORDS = 540


def make_margin(outcome: str, **known: Any) -> dict[str, Any]:
    """A test of "a is at most half a point worse than b"."""
    return {
        "system": "a", "other": "b", "relation": "not_worse", "margin": 0.5, "level": 0.05,
        "method": "t", "outcome": outcome, "better": "higher", "is_log": False, "difference": -0.1,
        "low": -0.9, "high": 0.7, "se": 0.4, "df": 12.0, "p": 0.17, "p_fail": 0.9, **known,
    }  # fmt: skip


def make_planned(outcome: str, **known: Any) -> Any:
    points = make_points(make_pair("a", "b", "not_enough"), means=(3.9, 3.5))
    points |= {"margins": [make_margin(outcome, **known)], "role": "primary"}
    return make_source(make_content(criteria=[points]))


# --- decisions --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "answer"), [("pass", "yes"), ("fail", "no"), ("undecided", "open")]
)
def test_a_planned_margin_is_answered_and_drawn_with_its_margin(outcome: str, answer: str) -> None:
    (card,) = list_cards(make_planned(outcome), bundle="talk_bundle.zip")

    assert card.outcome == answer
    assert card.chart is not None
    assert card.chart.margins == (-0.5,)
    assert card.chart.passing == (-0.5, None)
    # only an open question says what was tested
    assert bool(card.facts) == (answer == "open")


def test_a_lower_score_is_better_where_errors_are_counted() -> None:
    source = make_planned("undecided", better="lower")
    source.criteria[0].better = "lower"

    (card,) = list_cards(source, bundle="")

    assert card.chart is not None
    assert card.chart.margins == (0.5,)
    assert card.chart.passing == (None, 0.5)


def test_an_open_question_says_what_would_decide_it() -> None:
    plan = {
        "people": 5, "inputs": 20, "inputs_needed": None, "people_needed": 15, "answers_each": 5.0,
        "more_answers": {"inputs": None, "people": 12_480},
    }  # fmt: skip

    (card,) = list_cards(make_planned("undecided", plan=plan), bundle="")

    codes = {fact.code: fact for fact in card.facts}
    assert list(codes) == ["decision_test", "would_decide", "would_not_decide"]
    assert "12,000" in codes["would_decide"].answer
    # the margin is 0.5, the difference 0.1 below, and its error 0.4
    assert "t = 1.00, df 12.0" in codes["decision_test"].text
    assert (card.people, card.answers_each) == (15, 15)


def test_the_same_people_may_be_enough() -> None:
    plan = {
        "people": 5, "inputs": 20, "inputs_needed": 44, "people_needed": 9, "answers_each": 5.0,
        "more_answers": {"inputs": 120, "people": 80},
    }  # fmt: skip

    (card,) = list_cards(make_planned("undecided", plan=plan), bundle="")

    assert [fact.code for fact in card.facts] == ["decision_test", "would_decide"]
    assert card.facts[1].figures[0].value == 120


def test_the_gate_asks_the_same_from_the_bundle() -> None:
    source = make_planned("pass", system="it's", other="v1; ls")

    (card,) = list_cards(source, bundle="talk_bundle.zip")

    assert card.command is not None
    assert card.command.text == (
        "evalsite gate talk_bundle.zip --system 'it'\"'\"'s' --against 'v1; ls' --margin 0.5"
    )


def test_a_planned_difference_is_seen_from_the_system_that_was_named() -> None:
    pairs = [make_pair(*sides, "higher") for sides in combinations("abc", 2)]
    tested = [{"system": "b", "relation": "better", "other": "a", "outcome": "worse"}]
    points = make_points(*pairs) | {"hypotheses": tested}

    (card,) = list_cards(make_source(make_content(criteria=[points])), bundle="")

    assert card.outcome == "no"
    assert card.chart is not None
    (figure,) = card.chart.figures
    assert (figure.value, figure.low, figure.high) == (-0.4, -0.7, pytest.approx(-0.1))
    assert card.command is None


def test_what_is_undecided_is_planned_with_the_variances_of_the_fit() -> None:
    # the closed form of 6 people and 40 items, from shared statistics: see tests of the gate
    variances = {"rater:system": 0.09, "group:system": 0.25, "rater": 0.36, "group": 0.36}
    pair = make_pair("a", "b", "not_enough")
    pair["effect"]["n"] = {"items": 40, "ratings": 480, "raters": 6}
    criterion = make_points(pair, means=(3.9, 3.5)) | {
        "model": {"variances": variances, "residual": 0.81},
        "margins": [make_margin("undecided", se=0.24), make_margin("undecided", se=2.0)],
    }

    plan_undecided(criterion, {"annotations": 480})

    close, far = criterion["margins"]
    assert close["plan"]["people"] == 6
    assert close["plan"]["power"] < 0.8
    # a fit whose error is another isn't described by the closed form
    assert "plan" not in far


# --- the table for a paper --------------------------------------------------------------------


def make_two_questions() -> Any:
    clear = [make_pair("a", "b", "higher"), make_pair("a", "c", "higher")]
    tiers = make_points(*clear)
    for system, tier in zip(tiers["systems"], (1, 2, 2), strict=True):
        system["cluster"] = tier
    return make_source(
        make_content(criteria=[tiers, make_points() | {"key": "tone", "label": "Tone"}])
    )


def test_table_is_the_same_on_page_in_latex_markdown_and_csv() -> None:
    paper = make_paper(make_two_questions())
    page = write_paper(paper)
    latex, markdown, text = write_table(paper), write_markdown_table(paper), write_table_csv(paper)

    assert '<b>3.90</b> <span class="pm">±\N{NO-BREAK SPACE}0.20</span>' in page
    assert r"\textbf{3.90} $\pm$ 0.20\textsuperscript{A}" in latex
    assert r"3.90 ± 0.20 \[A\]" in markdown
    first = next(csv.DictReader(io.StringIO(text)))
    # with the interval of the mean itself, for a program
    assert [first[f"Fluency{name}"] for name in ("", ", low", ", high", ", tier")] == [
        "3.9", "2.9", "5.0", "A",
    ]  # fmt: skip
    assert float(first["Fluency, ±"]) == pytest.approx(0.2)


def test_only_tier_a_of_a_column_with_tiers_is_bold() -> None:
    cells = [
        [entry for entry in row[1:] if isinstance(entry, Cell)]
        for row in make_paper(make_two_questions()).rows
    ]

    assert [cell.above for cell in (row[0] for row in cells)] == ["A", "B", "B"]
    assert [cell.is_strong for cell in (row[0] for row in cells)] == [True, False, False]
    assert {(cell.above, cell.is_strong) for cell in (row[1] for row in cells)} == {("", False)}


def test_columns_on_one_scale_share_an_axis() -> None:
    page = write_paper(make_paper(make_two_questions()))

    # the same mean in both columns is at the same place
    places = re.findall(r'class="dot" cx="([\d.]+)%"', page)
    assert len(places) == 6
    assert places[0::2] == places[1::2]


def test_two_systems_that_were_compared_have_a_row_for_each_question() -> None:
    pair = make_pair("v2", "v1", "not_enough")
    pair["effect"] = make_figure("net_win_share", 0.16, low=-0.24, high=0.56)
    pair |= {
        "counts": {"wins": 44, "ties": 28, "losses": 28},
        "grades": {"both_good": 17, "both_bad": 11},
    }
    criterion = make_points(pair, means=(0.58, 0.42)) | {
        "kind": "preference", "family": "preference", "label": "Preference", "answers": [],
    }  # fmt: skip
    source = make_source(make_content(criteria=[criterion]))

    paper = make_paper(source)

    assert [column.label for column in paper.columns] == [
        "Question", "v2 preferred", "v1 preferred", "Both good", "Both bad",
        "Difference (95% CI)", "Agreement, α",
    ]  # fmt: skip
    shares = [figure.value for figure in paper.rows[0][1:5]]  # type: ignore[union-attr]
    assert shares == [0.44, 0.28, 0.17, 0.11]


def test_several_systems_that_were_compared_have_net_shares() -> None:
    points = make_points(means=(0.75, 0.5, 0.25)) | {
        "kind": "preference", "family": "preference", "label": "Preference", "answers": [],
    }  # fmt: skip
    for system, win_share in zip(points["systems"], (0.75, 0.5, 0.25), strict=True):
        low, high = win_share - 0.1, win_share + 0.1
        system["others"] = [make_figure("win_share", win_share, low=low, high=high)]
    source = make_source(make_content(criteria=[points]))

    paper = make_paper(source)

    # three of four answers won, one of four lost
    cells = [row[1] for row in paper.rows]
    assert [getattr(cell, "text", "") for cell in cells] == [
        "+50 (30 to 70)", "0 (−20 to 20)", "−50 (−70 to −30)",
    ]  # fmt: skip
    assert "net share" in paper.columns[1].label


def test_forty_systems_are_forty_rows() -> None:
    systems = [f"system-{number:02}" for number in range(40)]
    points = make_points()
    points["systems"] = [points["systems"][0] | {"system": name} for name in systems]

    page = write_paper(make_paper(make_source(make_content(criteria=[points]))))

    assert page.count('<th scope="row">') == 41


def test_a_question_without_answers_is_a_column_of_reasons() -> None:
    empty = make_points() | {"key": "tone", "label": "Tone", "agreement": []}
    for system in empty["systems"]:
        system["headline"] = make_figure("mean", None, reason="no_data")
        system["from_average"] = None
    source = make_source(make_content(criteria=[make_points(), empty]))

    page = write_paper(make_paper(source))

    assert page.count("no data") == 3


# --- what people wrote ------------------------------------------------------------------------


def test_the_reason_named_most_is_said_for_each_side() -> None:
    def share(reason: str, system: str, named: int) -> dict[str, Any]:
        group = [["reason", reason], ["system", system]]
        counts = {"named": named, "answers": 40}
        return make_figure("reason", named / 40, group=group, n=counts)

    points = make_points() | {
        "reasons": {
            "labels": {"short": "Shorter", "clear": "Clearer"},
            "shares": [share("short", "a", 9), share("clear", "a", 30), share("short", "b", 12)],
        }
    }

    sentence = describe_reasons(make_source(make_content(criteria=[points])))

    assert sentence is not None
    assert "“Clearer” (30 of 40)" in sentence.text
    assert "“Shorter” (12 of 40)" in sentence.text


def comment(person: Any, item: Any, text: str) -> None:
    rating = Rating.objects.filter(annotation__participant=person, annotation__item=item).first()
    assert rating is not None
    Rating.objects.create(
        study=person.study, annotation=rating.annotation, criterion="informativeness",
        output=rating.output, part=COMMENT, text=text,
    )  # fmt: skip


@pytest.mark.django_db
def test_two_comments_stand_on_the_items_furthest_apart() -> None:
    study = make_planned_study(hides_results=False)
    people = [add_person(study) for _ in range(4)]
    near, far, other = study.items.main()
    for item, step in ((near, 0), (far, 900), (other, 90)):
        for number, person in enumerate(people):
            Rating.objects.filter(annotation__participant=person, annotation__item=item).update(
                value=100 + number * step
            )
    for item, text in ((far, "Far"), (other, "Other"), (near, "Near"), (near, "Near again")):
        comment(people[len(text) % 4], item, text)
    keep_report(study)

    page = sign_in(study.memberships.get().user).get(url("study-results", study))

    assert [remark["text"] for remark in page.context["remarks"]] == ["Far", "Other"]
    assert reverse("admin:results-item", args=[study.pk, far.pk]) in page.text


# --- the page ---------------------------------------------------------------------------------


def read_main(html: str) -> str:
    """Return the words of main in sight: without tables' bodies, drawings and closed folds."""
    main = html.partition("<main")[2].partition("</main>")[0]
    for tag in ("tbody", "svg", "nav", "pre", "script"):
        main = re.sub(rf"<{tag}\b.*?</{tag}>", " ", main, flags=re.DOTALL)
    main = re.sub(r"(</summary>).*?</details>", r"\1", main, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", main).split())


def make_shown(**content: Any) -> tuple[Study, Client, Report]:
    study = make_planned_study(hides_results=False)
    for _ in range(4):
        add_person(study)
    report = keep_report(study, **content)
    return study, sign_in(study.memberships.get().user), report


@pytest.mark.django_db
def test_the_page_is_short_and_has_no_figure_of_its_own() -> None:
    points = make_points(*(make_pair(*sides, "higher") for sides in combinations("abc", 2)))
    criteria = [points | {"key": key, "label": key.title()} for key in ("fluency", "tone", "style")]
    criteria[0] |= {"margins": [make_margin("undecided")], "role": "primary"}
    study, client, _ = make_shown(criteria=criteria)

    page = client.get(url("study-results", study))

    words = read_main(page.text)
    assert len(words.split()) <= MOST_WORDS
    document = page.context["document"]
    written = {
        f"{abs(figure.value):.2f}" for figure in document.figures if figure.value is not None
    }
    written |= {
        f"{abs(end):.2f}"
        for figure in document.figures
        for end in (figure.low, figure.high)
        if end is not None
    }
    halves = {f"{(one.high - one.low) / 2:.2f}" for one in document.figures if one.high is not None}
    numbers = set(re.findall(r"(?<![\d.,])\d\.\d\d(?!\d)", page.text.partition("<main")[2]))
    assert numbers - written - halves == set()


@pytest.mark.django_db
def test_copying_needs_no_script() -> None:
    study, client, _ = make_shown()

    page = client.get(url("study-results", study)).text

    for key in ("tex", "md", "csv"):
        button = re.search(rf'<button[^>]*data-copy="paper-{key}"[^>]*>', page)
        assert button is not None
        # a button that does nothing isn't there, and the text is
        assert " hidden" in button[0]
        assert f'<pre id="paper-{key}" tabindex="0"' in page


@pytest.mark.django_db
def test_warnings_lead_to_where_more_is_said() -> None:
    study, client, _ = make_shown()

    limits = client.get(url("study-results", study)).context["limits"]

    assert {limit["url"] for limit in limits if limit["lead"].startswith("No plan")} == {
        url("setup-plan", study)
    }
    # of the report only
    assert not [limit for limit in limits if "people and inputs like these" in limit["lead"]]


@pytest.mark.django_db
def test_simulated_answers_are_said_above_the_headline() -> None:
    content = make_content()
    data = content["data"] | {"origins": {"own": 0, "imported": 0, "simulated": 12}}
    study, client, _ = make_shown(data=data)

    page = client.get(url("study-results", study))

    assert page.context["simulated"]
    assert page.text.index(page.context["simulated"][:20]) < page.text.index("<h1>")


@pytest.mark.django_db
def test_everyone_included_is_another_look_at_the_same_results() -> None:
    everything = make_content()
    everything["criteria"][0]["systems"][0]["headline"]["value"] = 88.0
    study = make_study(items=2)
    keep_report(study, everything=everything)

    page = member(study, "viewer").get(f"{url('study-results', study)}?people=everyone")

    assert page.context["everyone"]
    assert "88.0" in page.text
