"""Pages of results stay short: words in `main`, without the bodies of tables."""

from html.parser import HTMLParser
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import run_job
from evalsite.decisions.people_figures import store_figures
from evalsite.fieldwork.launch import launch_study
from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.results.report.computation import start_analysis
from evalsite.studies.models import Study
from tests.support.factories import make_study, make_user, open_to_everyone

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

# of a question with its folds closed and open, and of other pages closed; a fifth more is allowed
CLOSED, OPEN, OTHER = 350, 900, 475
MORE = 1.2


class Words(HTMLParser):
    """Count the words of a page's `main`: all, and those that stand there before a fold opens."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.path: list[str] = []
        self.open = self.closed = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in ("input", "br", "img", "meta", "link", "hr", "col"):
            self.path.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.path:
            del self.path[len(self.path) - 1 - self.path[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        if "main" not in self.path or {"tbody", "tfoot", "svg", "script"} & set(self.path):
            return
        number = len(data.split())
        self.open += number
        is_folded = "details" in self.path and "summary" not in self.path
        self.closed += 0 if is_folded else number


@pytest.fixture(params=["dialogue", "pairwise", "rrgen"])
def study(request: pytest.FixtureRequest) -> Study:
    """A closed study with simulated answers and results."""
    made = make_study(
        is_demo=True, items=6, k=3, set_size=6, max_sets=1, protocol=request.param,
    )  # fmt: skip
    run_job(launch_study(study=made, by=make_user()))
    made.refresh_from_db()
    open_to_everyone(made)
    list(simulate_crowd(made, participants=5, seed="words"))
    store_figures(made)
    start_analysis(study=made, by=None)
    run_job(Job.objects.get(study_id=made.pk, kind="analysis"))
    return made


def count_words(client: Client, address: str) -> Words:
    response = client.get(address)
    assert response.status_code == 200
    return Words(response.text)


def test_pages_of_results_are_short(staff_client: Client, study: Study) -> None:
    questions = {
        criterion.key: count_words(
            staff_client, reverse("admin:results-question", args=[study.pk, criterion.key])
        )
        for criterion in study.config.criteria
    }
    pages = {
        name: count_words(staff_client, reverse(f"admin:results-{name}", args=[study.pk]))
        for name in ("raters", "design")
    }

    assert all(words.closed > 100 for words in (*questions.values(), *pages.values()))
    too_long = {
        key: (words.closed, words.open)
        for key, words in questions.items()
        if words.closed > MORE * CLOSED or words.open > MORE * OPEN
    }
    too_long |= {
        name: (words.closed, words.open)
        for name, words in pages.items()
        if words.closed > MORE * OTHER
    }
    assert too_long == {}
