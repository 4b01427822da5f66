"""The page of a study that repeats another: choosing it, comparing the two, who sees what."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import run_job
from evalsite.decisions.models import AnalysisPlan, Exclusion
from evalsite.handout.models import Annotation, Rating
from evalsite.results.models import Report
from evalsite.results.replication.comparison import (
    KIND,
    choose_original,
    find_changed_outputs,
    warn_of_texts,
)
from evalsite.results.replication.tables import write_note
from evalsite.results.report.computation import take_fingerprint
from evalsite.studies.models import Item, Membership, Study
from tests.site.test_staff_pages import member
from tests.support.browsing import is_watched
from tests.support.exports import main_items
from tests.support.factories import make_study as build_study
from tests.support.factories import make_user
from tests.support.lasting import lasting_rows
from tests.support.repeated import compare, page, rate

SECRET = "A title that nobody may see"


STEP = 40  # between the systems, in the repeat


@pytest.fixture
def study(make_study: Callable[..., Any]) -> Study:
    return make_study(items=6, title="The repeat")


@pytest.fixture
def original(make_study: Callable[..., Any]) -> Study:
    return make_study(items=6, title="The first one")


@dataclass(frozen=True)
class Pair:
    """Two studies that were rated and compared, and what the page said of that."""

    study: Study
    original: Study
    at_work: Any
    html: str

    @property
    def job(self) -> Job:
        return Job.objects.get(kind=KIND)

    def compare(self, client: Client) -> str:
        return compare(client, self.study, self.original)


@pytest.fixture(scope="module")
def compared(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """Made once for all tests, each of which may change it for itself."""
    with lasting_rows(request):
        study, original = (build_study(items=6, title=one) for one in ("The repeat", "The first"))
        rate(original)
        rate(study, step=STEP, hour=5)
        client = Client()
        client.force_login(make_user(), backend="django.contrib.auth.backends.ModelBackend")
        client.post(page("study-repeat-choose", study), {"original": str(original.pk)})
        at_work = client.get(page("study-repeat", study))
        run_job(Job.objects.get(kind=KIND))
        html = client.get(page("study-repeat", study)).content.decode()
        yield Pair(study, original, at_work, html)


@pytest.fixture
def pair(compared: Pair, db: None) -> Pair:
    """The two that were compared, read again."""
    kept = {
        name: Study.objects.get(pk=getattr(compared, name).pk) for name in ("study", "original")
    }
    return replace(compared, **kept)


# --- choosing -------------------------------------------------------------------------


def test_page_without_a_choice_says_what_to_do(
    staff_client: Client, study: Study, original: Study
) -> None:
    html = staff_client.get(page("study-repeat", study)).content.decode()

    assert "No study is chosen yet." in html
    assert "The first one" in html
    assert "This study repeats" in html


def test_only_visible_studies_of_the_protocol_can_be_chosen(
    staff_client: Client, study: Study, original: Study
) -> None:
    other = build_study(protocol="pairwise", items=0, title="Of another protocol")
    foreign = build_study(by=make_user("stranger"), title=SECRET)

    html = staff_client.get(page("study-repeat", study)).content.decode()
    for one in (study, other, foreign):
        staff_client.post(page("study-repeat-choose", study), {"original": str(one.pk)})

    assert other.title not in html
    assert SECRET not in html
    assert not AnalysisPlan.objects.filter(study=study).exists()
    refused = staff_client.get(page("study-repeat", study)).content.decode()
    assert "Choose a study from the list." in refused


def test_a_service_refuses_another_protocol_and_the_study_itself(study: Study) -> None:
    other = build_study(protocol="pairwise", items=0)

    for one, words in ((other, "different protocols"), (study, "no repetition of itself")):
        with pytest.raises(ValidationError, match=words):
            choose_original(study=study, original=one, by=None)


def test_a_choice_is_kept_beside_the_plan_and_logged(
    staff_client: Client, study: Study, original: Study
) -> None:
    AnalysisPlan.objects.create(study=study, exclusion_rule="Too fast")

    staff_client.post(page("study-repeat-choose", study), {"original": str(original.pk)})

    plan = AnalysisPlan.objects.get(study=study)
    assert (plan.repeats, plan.exclusion_rule) == (original, "Too fast")
    entry = AuditEntry.objects.get(action="original chosen", study_id=study.pk)
    assert entry.detail == {"original": str(original.pk)}


def test_a_choice_leaves_the_report_of_the_study_as_new_as_it_was(
    study: Study, original: Study
) -> None:
    before = take_fingerprint(study)

    choose_original(study=study, original=original, by=None)

    assert take_fingerprint(study) == before


def test_studies_without_answers_are_chosen_but_not_compared(
    staff_client: Client, study: Study, original: Study
) -> None:
    rate(study)

    staff_client.post(page("study-repeat-choose", study), {"original": str(original.pk)})

    html = staff_client.get(page("study-repeat", study)).content.decode()
    assert "The other study has no answers yet." in html
    assert AnalysisPlan.objects.get(study=study).repeats == original
    assert not Job.objects.filter(kind=KIND, study_id=study.pk).exists()


def test_the_first_study_names_its_repetitions(
    staff_client: Client, study: Study, original: Study
) -> None:
    choose_original(study=study, original=original, by=None)
    foreign = build_study(by=make_user("stranger"), title=SECRET)
    choose_original(study=foreign, original=original, by=None)

    html = staff_client.get(page("study-repeat", original)).content.decode()

    assert "Repeated by:" in html
    assert page("study-repeat", study) in html
    assert SECRET not in html


def test_page_takes_no_more_queries_for_many_studies(
    staff_client: Client, study: Study, django_assert_num_queries: Any
) -> None:
    address = page("study-repeat", study)
    build_study(items=0)
    with CaptureQueriesContext(connection) as few:
        staff_client.get(address)
    for number in range(10):
        other = build_study(items=0, title=f"Another {number}")
        choose_original(study=other, original=study, by=None)

    with django_assert_num_queries(len(few)):
        html = staff_client.get(address).content.decode()

    assert "Another 9" in html


# --- comparing ------------------------------------------------------------------------


@pytest.mark.torture
@pytest.mark.slow
def test_a_job_compares_and_the_page_shows_it(pair: Pair) -> None:
    assert is_watched(pair.at_work)
    assert "the repeat found 3 of them again, in the same direction" in pair.html
    (criterion,) = pair.job.result["criteria"]
    cv_star = next(one["cv_star"]["value"] for one in criterion["systems"])
    for words in (
        "CV*, %", f"{cv_star:.2f}", "Pearson’s r of system scores", "Upheld", "In common",
        "How this was computed", "Belz, Popović and Mille", "raters the intervals are wide",
    ):  # fmt: skip
        assert words in pair.html
    assert "have changed since" not in pair.html


def test_figures_are_those_of_both_studies(pair: Pair) -> None:
    found = pair.job.result

    (criterion,) = found["criteria"]
    top = next(one for one in criterion["systems"] if one["system"] == "template")
    assert top["first"]["value"] == pytest.approx(141, abs=0.1)
    assert top["second"]["value"] == pytest.approx(181, abs=0.1)
    assert top["moved"]["value"] == pytest.approx(181 / 141, abs=0.01)
    # two scores: s = d/√2, over c4(2) = √(2/π), over the mean, times 1 + 1/8
    by_hand = 1.125 * 40 / 2**0.5 / (2 / 3.14159265) ** 0.5 / 161 * 100
    assert top["cv_star"]["value"] == pytest.approx(by_hand, abs=0.1)
    # scores that did not move
    low = next(one for one in criterion["systems"] if one["system"] == "baseline")
    assert low["cv_star"]["value"] == pytest.approx(0, abs=1e-9)
    assert found["common"]["outputs"] == 18


def test_same_data_are_not_compared_twice(staff_client: Client, pair: Pair) -> None:
    address = page("study-repeat-choose", pair.study)

    again = staff_client.post(address, {"original": str(pair.original.pk)}, follow=True)

    assert Job.objects.filter(kind=KIND).count() == 1
    assert "Nothing has changed in either study" in again.content.decode()


@pytest.mark.parametrize("place", ["study", "original"])
def test_comparison_of_earlier_data_says_so(staff_client: Client, pair: Pair, place: str) -> None:
    changed = getattr(pair, place)

    Exclusion.objects.create(
        study=changed, participant=changed.participants.first(), reason="A test"
    )

    html = staff_client.get(page("study-repeat", pair.study)).content.decode()
    assert "have changed since" in html
    assert "Compare again" in html


@pytest.mark.slow
def test_what_is_excluded_is_left_out_until_that_is_taken_back(
    staff_client: Client, pair: Pair
) -> None:
    person = pair.study.participants.first()  # type: ignore[attr-defined]
    excluded = Exclusion.objects.create(study=pair.study, participant=person, reason="A test")
    pair.compare(staff_client)
    found = Job.objects.filter(kind=KIND).latest("created_at").result
    excluded.delete()

    # data that are as they were before are compared again
    html = pair.compare(staff_client)

    assert (found["first"]["ratings"], found["second"]["ratings"]) == (54, 36)
    assert "have changed since" not in html
    assert Job.objects.filter(kind=KIND, state="done").count() == 3


@pytest.mark.torture
@pytest.mark.slow
def test_items_that_most_ignored_are_left_out_of_scores_as_of_findings(
    staff_client: Client, pair: Pair
) -> None:
    study = pair.study
    # of three raters two ignore the item, the third finds its outputs ten times as good
    item = main_items(study)[0]
    answers = list(item.annotations.order_by("pk"))  # type: ignore[attr-defined]
    for answer in answers[:2]:
        answer.ratings.all().delete()
        Annotation.objects.filter(pk=answer.pk).update(outcome="ignored")
    for rating in answers[2].ratings.all():
        Rating.objects.filter(pk=rating.pk).update(value=1000 + rating.value)
    Job.objects.all().delete()
    Report.objects.filter(study=study).delete()

    pair.compare(staff_client)

    found = pair.job.result
    (criterion,) = found["criteria"]
    scores = {one["system"]: one["second"] for one in criterion["systems"]}
    # the other five items, three raters each: 100 or 140 or 180, and 0 to 2 more
    assert {one["n"]["ratings"] for one in scores.values()} == {15}
    assert scores["template"]["value"] == pytest.approx(181, abs=0.1)
    assert found["second"]["ratings"] == 15 * 3
    assert found["common"]["outputs"] == criterion["agreement"][0]["n"]["units"] == 15
    report = Report.objects.get(study=study).content["kept"]["criteria"][0]
    means = {one["system"]: one["headline"]["value"] for one in report["systems"]}
    assert {name: one["value"] for name, one in scores.items()} == pytest.approx(means)


def test_other_texts_of_the_same_item_are_told_and_left_out_of_agreement(
    staff_client: Client, pair: Pair
) -> None:
    one, two = main_items(pair.study)[:2]
    one.outputs.filter(position=0).update(text="Another text")  # type: ignore[attr-defined]
    Item.objects.filter(pk=two.pk).update(inputs={"mr": "another"})
    Job.objects.all().delete()

    html = pair.compare(staff_client)

    assert len(find_changed_outputs(pair.original, pair.study)) == 1 + 3
    assert "4 outputs have another text or input under the same name" in html
    assert pair.job.result["criteria"][0]["agreement"][0]["n"]["units"] == 18 - 4


def test_what_was_set_up_otherwise_is_told(study: Study, original: Study) -> None:
    Study.objects.filter(pk=study.pk).update(
        instructions="Be quick.", k=5, is_aided=True, language="de"
    )
    study.refresh_from_db()

    told = {one["code"]: write_note(one) for one in warn_of_texts(original, study)}

    assert set(told) == {"other_instructions", "other_language", "other_settings"}
    assert "answers per item 3 in the first, 5 here" in told["other_settings"]
    assert "aids off in the first, on here" in told["other_settings"]


def test_unlike_options_are_named(study: Study, original: Study) -> None:
    original.options = {"standard": 50}
    original.save()

    told = {one["code"]: write_note(one) for one in warn_of_texts(original, study)}

    assert "standard" in told["other_options"]


def test_a_failed_comparison_says_why_and_can_be_started_again(
    staff_client: Client, pair: Pair
) -> None:
    Job.objects.all().delete()
    Job.objects.create(kind=KIND, study_id=pair.study.pk, state="failed", message="No room left.",
                       params={"original": str(pair.original.pk)})  # fmt: skip

    html = staff_client.get(page("study-repeat", pair.study)).content.decode()

    assert "No room left." in html
    assert "repeat found 3 of them again" in pair.compare(staff_client)


def test_who_may_not_see_the_other_study_learns_nothing_of_it(pair: Pair) -> None:
    study, original = pair.study, pair.original
    Study.objects.filter(pk=original.pk).update(title=SECRET)
    client = member(study, "viewer")

    html = client.get(page("study-repeat", study)).content.decode()

    assert "A study was chosen that you may not see" in html
    assert SECRET not in html
    assert "found 3 of them again" not in html
    addresses = [page("study-repeat-report", study, pair.job.pk),
                 page("study-repeat-table", study, pair.job.pk, "studies")]  # fmt: skip
    assert [client.get(one).status_code for one in addresses] == [404, 404]
    Membership.objects.create(
        study=original, user=User.objects.get(username="viewer-person"), role="viewer"
    )
    assert SECRET in client.get(page("study-repeat", study)).content.decode()
    assert [client.get(one).status_code for one in addresses] == [200, 200]


# --- files and commands ---------------------------------------------------------------


def test_tables_and_all_digits_are_sent(staff_client: Client, pair: Pair) -> None:
    names = ["studies", *(f"informativeness-{one}" for one in ("scores", "together", "findings"))]
    for name in names:
        address = page("study-repeat-table", pair.study, pair.job.pk, name)
        assert address in pair.html
        response = staff_client.get(address)
        assert "attachment" in response["Content-Disposition"]
        assert len(list(csv.reader(io.StringIO(response.content.decode(), newline="")))) > 1
    data = staff_client.get(page("study-repeat-report", pair.study, pair.job.pk)).content
    assert json.loads(data) == pair.job.result
    unknown = page("study-repeat-table", pair.study, pair.job.pk, "x")
    assert staff_client.get(unknown).status_code == 404


def test_comparison_of_another_study_is_not_found(staff_client: Client, pair: Pair) -> None:
    address = page("study-repeat-report", pair.original, pair.job.pk)

    assert staff_client.get(address).status_code == 404


def run(study: Study, *arguments: str) -> str:
    output = io.StringIO()
    call_command("analyse", str(study.pk), *arguments, stdout=output)
    return output.getvalue()


@pytest.mark.slow
def test_the_command_prints_the_comparison(pair: Pair) -> None:
    against = ("--against", str(pair.original.pk))

    printed = run(pair.study, *against)
    data = json.loads(run(pair.study, *against, "--json"))

    assert "the repeat found 3 of them again, in the same direction" in printed
    assert "CV\\*, %" in printed
    assert data["criteria"][0]["upheld"]["value"] == 1
    assert [one["id"] for one in data["studies"]] == [str(pair.original.pk), str(pair.study.pk)]


def test_the_command_refuses_what_cannot_be_compared(study: Study, original: Study) -> None:
    rate(study)

    with pytest.raises(CommandError, match="The other study has no answers yet"):
        run(study, "--against", str(original.pk))
    with pytest.raises(CommandError, match="text or with --json"):
        run(study, "--against", str(original.pk), "--html")
    assert Rating.objects.filter(study=study).exists()
