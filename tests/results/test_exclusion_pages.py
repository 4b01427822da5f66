"""Leaving people and answers out of results on pages: who may, what is said, what comes of it."""

import csv
import io
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import run_job
from evalsite.decisions.exclusions import exclude
from evalsite.decisions.models import AnalysisPlan, Exclusion
from evalsite.decisions.people_figures import store_figures
from evalsite.handout.models import Annotation
from evalsite.people.models import Participant
from evalsite.studies.models import Study
from tests.handout.test_changing_k import answer_all
from tests.site.test_staff_pages import member
from tests.support.factories import make_participant, make_study, make_user
from tests.support.planned import AT_LEAST_TWO, ONE_POINT, add_person, make_planned_study
from tests.support.reports import keep_report
from tests.support.tabs import make_live

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(researcher) -> Study:
    """Two items with two answers each, all that were asked for."""
    study = make_live(items=2, k=2, set_size=2)
    answer_all(study, people=2)
    return study


def page(name: str, study: Study, *args: Any) -> str:
    return reverse(f"admin:{name}", args=[study.pk, *args])


def people_of(study: Study) -> list[Participant]:
    return list(study.participants.order_by("pk"))


def take_back_address(study: Study) -> str:
    return page("exclusions-take-back", study)


def leave_out(client: Client, study: Study, *people: Participant, **said: Any) -> Any:
    names = {"p": [one.pseudonym for one in people]}
    sent = {"reason": "Too fast", **names, **said}
    return client.post(page("study-exclude", study), sent, follow=True)


# --- deciding -------------------------------------------------------------------------------


def test_people_are_ticked_and_the_next_page_says_what_that_would_do(staff_client, study):
    me, other = people_of(study)

    people = staff_client.get(page("study-people", study)).text
    confirm = staff_client.get(page("study-exclude", study), {"p": me.pseudonym})

    assert people.count('name="p"') == 2
    assert "2 of 4 answers would be left out" in confirm.text
    assert "2 items would be short of answers, by 2 in all" in confirm.text
    assert f'name="p" value="{me.pseudonym}"' in confirm.text
    assert other.pseudonym not in confirm.text
    assert "deletes nothing, gives no place to anyone else" in confirm.text


def test_exclusion_is_made_with_its_reason_and_leads_to_what_it_changes(staff_client, study):
    me, _ = people_of(study)

    response = leave_out(staff_client, study, me, reason="  Read nothing ")

    assert response.redirect_chain == [(page("study-exclusions", study), 302)]
    assert "This leaves 2 more answers out of results." in response.text
    assert "2 of 4 answers are left out" in response.text
    exclusion = Exclusion.objects.get()
    assert (exclusion.participant, exclusion.reason) == (me, "Read nothing")
    assert exclusion.decided_by.username == "jane"
    assert AuditEntry.objects.filter(action="excluded from results").count() == 1


@pytest.mark.torture
def test_same_post_sent_twice_makes_one_exclusion(staff_client, study):
    me, _ = people_of(study)

    pages = [leave_out(staff_client, study, me) for _ in range(2)]

    assert Exclusion.objects.count() == 1
    assert "excluded already. Nothing was changed" in pages[1].text


@pytest.mark.parametrize(
    ("reason", "words"), [("", "Enter a reason."), ("x" * 201, "200 characters or fewer")]
)
def test_reason_is_needed_and_what_was_ticked_stays_ticked(staff_client, study, reason, words):
    me, other = people_of(study)
    offered = f"?p={me.pseudonym}&p={other.pseudonym}"

    response = staff_client.post(
        page("study-exclude", study) + offered, {"p": me.pseudonym, "reason": reason}
    )

    assert response.status_code == 422
    assert words in response.text
    assert f'value="{me.pseudonym}" checked' in response.text
    assert f'value="{other.pseudonym}">' in response.text
    assert not Exclusion.objects.exists()


def test_nobody_ticked_is_told_so(staff_client, study):
    me, other = people_of(study)
    address = f"{page('study-exclude', study)}?p={me.pseudonym}&p={other.pseudonym}"

    response = staff_client.post(address, {"reason": "Too fast"})
    nobody = staff_client.get(page("study-exclude", study))

    assert response.status_code == 422
    assert "Tick whom to exclude." in response.text
    assert nobody.url == page("study-people", study)


def test_one_of_two_with_copied_answers_is_left_out_for_that_reason(staff_client, study):
    me, other = people_of(study)
    pair = {"first_rater": me.pseudonym, "second_rater": other.pseudonym, "outputs": 1400,
            "unequal": 3, "others": [0.26, 0.43]}  # fmt: skip
    copied = {"raters": 5, "pairs": [pair], "can_be_seen": True, "most_shared": 1400,
              "alike": None}  # fmt: skip
    keep_report(study, copied=copied)
    address = f"{page('study-exclude', study)}?p={other.pseudonym}&rule=copied"

    confirm = staff_client.get(address).text
    [reason] = re.findall(r'name="reason" value="([^"]*)"', confirm)
    staff_client.post(address, {"p": other.pseudonym, "reason": unescape(reason)})

    assert me.pseudonym not in reason
    assert other.pseudonym not in reason
    assert "1,397 of 1,400" in reason
    made = Exclusion.objects.get()
    assert (made.participant, made.rule, made.reason) == (other, "copied", unescape(reason))


def test_copied_answers_that_the_report_does_not_find_are_no_reason(staff_client, study):
    me, _ = people_of(study)
    keep_report(study)
    address = f"{page('study-exclude', study)}?p={me.pseudonym}&rule=copied"

    assert staff_client.get(address).context["form"]["reason"].value() == ""
    staff_client.post(address, {"p": me.pseudonym, "reason": "Left early"})
    assert Exclusion.objects.get().rule == ""


def test_one_answer_is_excluded_alone(staff_client, study):
    answer = Annotation.objects.counted().earliest("pk")

    person = staff_client.get(page("study-person", study, answer.participant.pseudonym)).text
    confirm = staff_client.get(page("study-exclude", study), {"annotation": answer.key}).text
    done = leave_out(staff_client, study, annotation=str(answer.key), reason="Slipped")

    assert f"?annotation={answer.key}" in person
    assert answer.item.key in confirm
    assert "1 of 4 answers would be left out" in confirm
    assert "This leaves 1 more answer out of results." in done.text
    assert f"only the answer to {answer.item.key}" in done.text
    assert Exclusion.objects.get().annotation == answer


def test_exclusion_is_taken_back_and_stays_in_the_list(staff_client, study):
    me, _ = people_of(study)
    leave_out(staff_client, study, me)
    address, sent = take_back_address(study), {"exclusion": Exclusion.objects.get().pk}

    assert staff_client.get(address).status_code == 405
    pages = [staff_client.post(address, sent, follow=True) for _ in range(2)]

    assert "Those answers are in results again." in pages[0].text
    assert "Nothing was changed" in pages[1].text
    assert "Too fast" in pages[1].text
    assert "Counted again" in pages[1].text
    assert "0 of 4 answers are left out" in pages[1].text
    entry = AuditEntry.objects.get(action="exclusion taken back")
    assert entry.actor_name == "jane"


@pytest.mark.one_case
@pytest.mark.parametrize("is_every", [False, True])
def test_many_exclusions_are_taken_back_at_once(staff_client, study, is_every):
    me, other = people_of(study)
    elsewhere = make_study(title="Another")
    stranger = exclude(
        study=elsewhere, participants=[make_participant(elsewhere)], reason="x", by=make_user()
    )[0]
    for one in (me, other):
        leave_out(staff_client, study, one)
    address = page("exclusions-take-back", study)
    ticked = Exclusion.objects.get(participant=me).pk
    sent = {"every": "yes"} if is_every else {"exclusion": [ticked]}

    nothing = staff_client.post(address, {"exclusion": [stranger.pk, "x"]}, follow=True)
    pages = [staff_client.post(address, sent, follow=True) for _ in range(2)]

    assert "Tick one or more" in nothing.text
    assert f"{1 + is_every} exclusion" in pages[0].text
    assert "taken back already" in pages[1].text
    standing = set(Exclusion.objects.active())
    assert standing == {stranger} | set(Exclusion.objects.filter(participant=other)[: not is_every])


# --- who may --------------------------------------------------------------------------------


def test_viewer_sees_exclusions_and_answers_but_decides_nothing(researcher, study):
    me, other = people_of(study)
    [exclusion] = exclude(study=study, participants=[me], reason="Too fast", by=researcher)
    viewer = member(study, "viewer")

    pages = [
        viewer.get(page("study-people", study)),
        viewer.get(page("study-exclusions", study)),
        viewer.get(page("study-person", study, me.pseudonym)),
    ]

    assert [one.status_code for one in pages] == [200] * 3
    for one in pages:
        assert "Too fast" in one.text
        assert take_back_address(study) not in one.text
        assert page("study-exclude", study) not in one.text
        assert 'type="checkbox"' not in one.text
    assert leave_out(viewer, study, other).status_code == 403
    sent = {"exclusion": exclusion.pk}
    assert viewer.post(take_back_address(study), sent).status_code == 403
    assert Exclusion.objects.active().count() == 1


def test_editor_decides(study):
    me, _ = people_of(study)
    editor = member(study, "editor")

    leave_out(editor, study, me)
    editor.post(take_back_address(study), {"exclusion": Exclusion.objects.get().pk})

    assert Exclusion.objects.get().revoked_at is not None


def test_people_answers_and_exclusions_of_another_study_are_not_found(staff_client, study):
    elsewhere = make_live(items=2, k=1, set_size=2, title="Another")
    [stranger] = answer_all(elsewhere)
    answer = stranger.annotations.first()
    [exclusion] = exclude(study=elsewhere, participants=[stranger], reason="Too fast", by=None)

    tried = [
        staff_client.get(page("study-person", study, stranger.pseudonym)),
        staff_client.get(page("study-exclude", study), {"p": stranger.pseudonym}),
        staff_client.get(page("study-exclude", study), {"annotation": answer.key}),
        leave_out(staff_client, study, stranger),
        leave_out(staff_client, study, annotation=str(answer.key)),
        staff_client.post(take_back_address(study), {"exclusion": exclusion.pk}),
        member(elsewhere, "owner").get(page("study-exclusions", study)),
    ]

    assert [one.status_code for one in tried] == [404, 302, 302, 200, 200, 302, 404]
    assert Exclusion.objects.active().count() == 1


@pytest.mark.one_case
@pytest.mark.parametrize("asked", [{"p": "p-\0"}, {"p": ""}, {"annotation": "<b>"}, {"rule": "\0"}])
def test_broken_addresses_are_answered(staff_client, study, asked):
    assert staff_client.get(page("study-exclude", study), asked).status_code == 302
    assert staff_client.get(page("study-person", study, "p-\0")).status_code == 404


# --- what it changes ------------------------------------------------------------------------


def test_confirmation_reminds_of_the_rule_that_was_written_down(staff_client, study):
    AnalysisPlan.objects.create(study=study, exclusion_rule="Whoever fails <half> the checks")

    html = staff_client.get(page("study-exclude", study), {"p": people_of(study)[0].pseudonym}).text

    assert "Whoever fails &lt;half&gt; the checks" in html
    assert page("setup-plan", study) in html


@pytest.mark.slow
def test_everybody_excluded_leaves_a_page_that_says_so(staff_client, study):
    leave_out(staff_client, study, *people_of(study))
    staff_client.post(page("study-results-compute", study))
    run_job(Job.objects.get(kind="analysis"))

    for name in ("study-exclusions", "study-results", "study-people", "study-overview"):
        assert staff_client.get(page(name, study)).status_code == 200


def test_overview_tells_of_items_that_are_short_and_of_what_is_left_out(staff_client, study):
    me, _ = people_of(study)
    leave_out(staff_client, study, me)

    overview = staff_client.get(page("study-overview", study)).text
    exclusions = staff_client.get(page("study-exclusions", study)).text

    assert "2 answers are missing on 2 items" in overview
    assert page("study-exclusions", study) in overview
    assert page("study-overview", study) in exclusions


def test_every_file_marks_what_is_excluded_with_its_reason(staff_client, study):
    me, other = people_of(study)
    answer = other.annotations.earliest("pk")
    leave_out(staff_client, study, me, reason="Too fast")
    leave_out(staff_client, study, annotation=str(answer.key), reason="Slipped")

    def take(file: str) -> list[dict[str, str]]:
        sent = staff_client.post(page("export-file", study, file))
        return list(csv.DictReader(io.StringIO(sent.getvalue().decode())))

    told = {
        (row["participant"], row["item"]): (row["excluded"], row["exclusion_reason"])
        for row in take("ratings")
    }
    assert {told[me.pseudonym, item.key] for item in study.items.main()} == {("yes", "Too fast")}
    assert told[other.pseudonym, answer.item.key] == ("yes", "Slipped")
    assert sorted(told.values()).count(("no", "")) == 1
    annotations = [row["excluded"] for row in take("annotations") if row["kind"] == "main"]
    assert sorted(annotations) == ["no", "yes", "yes", "yes"]
    people = {row["participant"]: row["exclusion_reason"] for row in take("participants")}
    assert people == {me.pseudonym: "Too fast", other.pseudonym: ""}


@pytest.mark.torture
@pytest.mark.slow
def test_datasheet_and_report_list_the_reasons_as_they_stood(staff_client, study):
    me, other = people_of(study)
    leave_out(staff_client, study, me, reason="Too fast")
    staff_client.post(page("study-results-compute", study))
    run_job(Job.objects.get(kind="analysis"))
    leave_out(staff_client, study, other, reason="Decided later")

    sheet = staff_client.get(page("report-file", study, "datasheet.md"))
    html = staff_client.get(page("report-file", study, "report.html"))
    texts = [b"".join(one).decode() if one.streaming else one.text for one in (sheet, html)]

    assert "2 annotations excluded" in texts[0].replace("\\", "")
    assert all("Too fast" in text and "Decided later" not in text for text in texts)


def test_page_says_who_meets_the_planned_rules_and_what_applying_them_would_leave(staff_client):
    study = make_planned_study(rules=[ONE_POINT, AT_LEAST_TWO])
    _, lazy, gone = (add_person(study, score=score) for score in (None, 70, 80))
    store_figures(study)
    exclude(study=study, participants=[gone], reason="One point", by=None)

    context = staff_client.get(page("study-exclusions", study)).context

    rules = context["rules"]
    assert [matching for _, matching, _ in rules["outcomes"]] == [
        [(lazy.pseudonym, False), (gone.pseudonym, True)],
        [],
    ]
    assert rules["open"] == [lazy.pk]
    # three items that need five answers each
    drawn = [(row["key"], row["answers"], row["levels"]) for row in context["coverage"]]
    assert drawn == [
        ("everyone", 9, [0, 0, 3, 0]),
        ("now", 6, [0, 3, 0, 0]),
        ("applied", 3, [0, 3, 0, 0]),
    ]


def test_list_of_many_exclusions_takes_the_queries_of_a_few(
    staff_client, django_assert_max_num_queries
):
    study = make_study(items=1)

    def add(count: int) -> None:
        people = [make_participant(study) for _ in range(count)]
        exclude(study=study, participants=people, reason="Too fast", by=None)

    add(2)
    with django_assert_max_num_queries(40) as few:
        staff_client.get(page("study-exclusions", study))
    add(60)

    with django_assert_max_num_queries(len(few.captured_queries)):
        response = staff_client.get(page("study-exclusions", study))

    assert len(response.context["decisions"]) == 50
