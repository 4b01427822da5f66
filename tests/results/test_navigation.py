"""The navigation of Results is the same on every page, for every study, hidden or not."""

import pytest
from django.test import Client

from evalsite.decisions.models import AnalysisPlan
from evalsite.handout.models import Annotation, Rating
from evalsite.instruments.scales.base import COMMENT
from evalsite.studies.models import Study
from tests.site.test_staff_pages import member, sign_in, url
from tests.support.factories import add_batch, answer_item, launch, make_annotator, make_study
from tests.support.instruments import make_built_study
from tests.support.planned import add_person, make_planned_study
from tests.support.stored_reports import LIKERT, ask, make_instrument

PAGES = ("study-results", "results-design", "results-raters", "results-items", "results-judges")


def list_labels(client: Client, study: Study, name: str = "study-results") -> dict[str, list[str]]:
    """Return the labels of each group with what stands beside them."""
    groups = client.get(url(name, study)).context["frame"].groups
    return {
        group.heading: [f"{entry.label} {entry.note}".strip() for entry in group.entries]
        for group in groups
    }


def make_asked(*keys: str) -> Study:
    content = make_instrument(*(ask(key, key.capitalize(), LIKERT) for key in keys))
    study = make_built_study(content)
    add_batch(study, items=1)
    return study


def owner_of(study: Study) -> Client:
    return sign_in(study.memberships.get().user)


@pytest.mark.django_db
def test_the_same_entries_stand_on_every_page_of_results() -> None:
    study = make_planned_study()
    AnalysisPlan.objects.filter(study=study).update(primary="informativeness")
    client = owner_of(study)

    hidden = {name: list_labels(client, study, name) for name in PAGES}
    Study.objects.update(hides_results=False)
    shown = {name: list_labels(client, study, name) for name in PAGES}

    assert len({str(labels) for labels in hidden.values()}) == 1
    assert len({str(labels) for labels in shown.values()}) == 1
    assert list(shown["study-results"]) == ["", "Questions", "Evidence", "Take away"]
    assert shown["study-results"]["Questions"] == ["Informativeness primary"]
    assert hidden["study-results"]["Questions"] == ["Informativeness hidden"]
    assert shown["study-results"]["Evidence"] == [
        "Comments", "Items 3", "Raters", "Design", "Judges & metrics",
    ]  # fmt: skip


def test_hidden_questions_lead_to_the_form_that_reveals_them(db: None) -> None:
    study = make_planned_study()

    groups = owner_of(study).get(url("study-results", study)).context["frame"].groups

    (entry,) = groups[1].entries
    assert entry.url == f"{url('study-results', study)}#reveal"


@pytest.mark.django_db
def test_questions_may_be_called_like_pages() -> None:
    study = make_asked("items", "comments", "raters")

    groups = owner_of(study).get(url("study-results", study)).context["frame"].groups

    addresses = [entry.url for group in groups for entry in group.entries]
    assert [entry.label for entry in groups[1].entries] == ["Items", "Comments", "Raters"]
    assert len(set(addresses[1:4])) == 3


@pytest.mark.django_db
@pytest.mark.parametrize(("number", "listed"), [(8, 8), (9, 8), (12, 8)])
def test_of_more_than_eight_questions_seven_are_listed(number: int, listed: int) -> None:
    study = make_asked(*(f"q{place}" for place in range(number)))

    questions = list_labels(owner_of(study), study)["Questions"]

    assert len(questions) == listed
    assert questions[-1] == ("Q7" if number == 8 else f"All {number} questions")


def test_people_comments_and_notes_are_counted(db: None) -> None:
    study = launch(make_study(items=2, title="Counted"))
    person = add_person(study, score=50)
    tester = make_annotator(study, is_pilot=True)
    answer_item(tester, study.items.main()[0])
    Annotation.objects.filter(participant=tester).update(note="Try", status="pilot", slot=None)
    first, *_ = Annotation.objects.filter(participant=person)
    Annotation.objects.filter(pk=first.pk).update(note="Hm.")
    Rating.objects.create(
        study=study, annotation=first, criterion="informativeness", part=COMMENT, text="Why?",
        output=first.item.outputs.first(),
    )  # fmt: skip

    evidence = list_labels(member(study, "viewer"), study)["Evidence"]

    assert evidence[0] == "Comments 2"
    assert evidence[2] == "Raters 1"
