"""What every protocol must keep of answers: keys, review, codebook, report."""

from html.parser import HTMLParser

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from evalsite.analysis.families import FAMILIES
from evalsite.data.files.codebook import write_codebook
from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.handout.models import Annotation
from evalsite.instruments.installed import installed_protocols
from evalsite.instruments.schema import Criterion, Instrument
from evalsite.lib.rating_columns import name_option
from evalsite.participation.screens import answered_screen, entered_values
from evalsite.participation.view_models import QuestionView
from evalsite.results.models import Report
from evalsite.results.report.computation import analyse_study
from evalsite.results.report.files import collect_facts
from tests.instruments.test_contract import make_live, open_rating_page
from tests.support.answering import RatingPage, right_answers
from tests.support.factories import make_user
from tests.support.protocols import each_protocol

pytestmark = pytest.mark.django_db


@pytest.fixture(params=sorted(installed_protocols()))
def config(request: pytest.FixtureRequest) -> Instrument:
    return installed_protocols()[request.param]


@pytest.mark.one_case
def test_every_question_is_answered_by_keys(config):
    page = Client().get(open_rating_page(make_live(config)))
    controls = _Controls(page.content.decode())

    for question in page.context["item"].questions:
        found = controls.of(question.name)
        assert found, f"{question.name} has no control."
        # boxes, into which keys type, and lists of places, of which a digit chooses one
        by_tab = ("number", "note-box", "select")
        assert any("data-key" in one or one.get("class", "") in by_tab for one in found), (
            f"{question.name}: give each button a data-key, or a box the class “number”."
        )


class _Controls(HTMLParser):
    """The attributes of a page's input elements."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[dict[str, str]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("input", "select", "textarea"):
            kind = {"class": "select"} if tag == "select" else {}
            self.found.append(kind | {name: value or "" for name, value in attrs})

    def of(self, name: str) -> list[dict[str, str]]:
        return [one for one in self.found if one.get("name", "").split(".")[0] == name]


@pytest.mark.one_case
def test_answer_comes_back_to_be_reviewed_and_changed(config):
    study = make_live(config)
    page = RatingPage(study)
    answers = page.answers

    assert page.post(answers).status_code == 302
    review = page.client.get(f"{page.home}sets/1/review/")
    again = page.show(page.client.get(page.address))

    assert review.status_code == 200
    scales = {one.name: one.scale for one in again.questions}
    # what depends on another answer may not have been asked
    always = {one.name for one in again.questions if one.criterion.ask_if is None}
    for name in always:
        assert scales[name].read_entry(again.entered, name) == answers[name]
    changed = {one.name: another_right(one, answers[one.name]) for one in again.questions}
    changed |= {name: text for name, text in answers.items() if name not in changed}
    assert again.post(changed).status_code == 302
    kept = Annotation.objects.get(study=study, item__kind="main")
    stored = entered_values(answered_screen(kept, study), kept)
    for name in always:
        assert stored[name] == changed[name]
    assert kept.revisions.count() == 1


def another_right(question: QuestionView, right: str) -> str:
    return next(text for text in right_answers(question) if text != right)


def test_codebook_says_what_the_values_of_each_criterion_are(config):
    codebook = write_codebook(config)

    for criterion in config.criteria:
        assert f"{criterion.key}: {criterion.scale.describe_values()}" in codebook


def list_analysed(criterion: Criterion) -> list[str]:
    """What a report has of a criterion: each option of a choice, and nothing of words."""
    family = FAMILIES[criterion.scale.family]
    if family.splits:
        options = criterion.scale.list_options()
        return [name_option(criterion.key, key) for key, _label in options]
    return [criterion.key] if family.is_analysed else []


# of points and decisions, of boxes, and of preferences
@pytest.mark.slow
@pytest.mark.parametrize("config", each_protocol("rrgen"), indirect=True)
def test_report_is_computed_and_shown_from_its_answers(config, client):
    study = make_live(config, first=12)
    list(simulate_crowd(study, participants=2, seed="report"))
    content, digest = analyse_study(study)
    report = Report.objects.create(study=study, fingerprint="0", sha256=digest, content=content)

    criteria = {one["key"]: one for one in report.content["kept"]["criteria"]}
    facts = collect_facts(study, report)
    client.force_login(make_user(), backend="django.contrib.auth.backends.ModelBackend")
    page = client.get(reverse("admin:study-results", args=[study.pk]))

    assert list(criteria) == [key for one in config.criteria for key in list_analysed(one)]
    for criterion in config.criteria:
        for key in list_analysed(criterion):
            is_option = key != criterion.key
            assert criteria[key]["family"] == ("decision" if is_option else criterion.scale.family)
            assert criteria[key]["systems"]
            assert escape(criterion.label) in page.content.decode()
    assert [asked.scale for asked in facts.criteria] == [
        criterion.scale.words() for criterion in config.criteria
    ]
