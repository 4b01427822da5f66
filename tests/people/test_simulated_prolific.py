"""Many people from a simulated Prolific: every outcome right, exactly k, nobody unpaid."""

from collections import Counter
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import reverse

from evalsite.decisions.models import Approval
from evalsite.decisions.pay import ask_for_review
from evalsite.handout.models import Annotation
from evalsite.lib.clock import now, standing_at
from evalsite.people.models import Consent, Participant, Recruitment, Visit
from evalsite.people.platforms import Outcome
from evalsite.people.recruiting import create_code
from tests.decisions.test_pay import BAD, GOOD, LONG, begin
from tests.support.annotators import read_fields
from tests.support.invariants import check_invariants
from tests.support.rounds import Person, codes_of, panel_of
from tests.support.simulated_prolific import SimulatedProlific, Submission
from tests.support.tabs import after_the_lease

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

STATUSES = {
    "completed": "AWAITING REVIEW",
    "screened_out": "SCREENED OUT",
    "no_consent": "RETURNED",
    "no_place": "RETURNED",
    "failed_check": "RETURNED",
    "wrong_device": "RETURNED",
}
# what twelve people in a row do
WAYS = (
    "works", "is screened out", "works on two devices", "returns", "misses the check", "declines",
    "times out", "is careless", "works", "has a phone", "works late", "comes and goes",
)  # fmt: skip


class Sent(Person):
    """Somebody whom the simulated Prolific has sent."""

    def __init__(self, recruitment: Recruitment, submission: Submission, address: str) -> None:
        self.recruitment, self.submission = recruitment, submission
        self.client, self.link = Client(), address.removeprefix("http://testserver")

    @property
    def address(self) -> str:
        return self.link.partition("?")[0]

    def look(self, **changes: str) -> Any:
        return self.client.get(self.link)

    def way_back(self) -> str:
        page = self.open()
        return page.context["way_out"].link

    def answer_check(self, attempt: int, *, is_right: bool) -> "Sent":
        """Answer the questions about the instructions after reading them."""
        self.client.post(f"{self.home}instructions/")
        sent = {"attempt": str(attempt)}
        for number, one in enumerate(self.me.study.config.comprehension, start=1):
            right = one.choices.index(one.right)
            chosen = right if is_right else (right + 1) % len(one.choices)
            sent[f"question-{number}"] = str(1 + chosen)
        self.client.post(f"{self.home}check/", sent)
        return self

    def press_phone(self) -> "Sent":
        page = self.look()
        fields = read_fields(page.text) | {"do": "phone"}
        self.home = self.client.post(self.address, fields).headers["Location"]
        return self


def make_prolific(recruitment: Recruitment, client: Client) -> SimulatedProlific:
    """The researcher has copied the link and each code from the round's page."""
    page = client.get(panel_of(recruitment))
    actions = {row["code"]: STATUSES[row["outcome"]] for row in page.context["codes"]}
    return SimulatedProlific(page.context["link"], actions)


def take_part(prolific: SimulatedProlific, recruitment: Recruitment, number: int) -> str:
    """One person does what they do; return what that is."""
    way = WAYS[number % len(WAYS)]
    submission, address = prolific.send(number)
    person = Sent(recruitment, submission, address)
    if ">Start<" not in person.look().text:
        # asked on the first page to return the submission
        submission.status = "RETURNED"
        return "found no place"
    if way == "has a phone":
        # this outcome has no code, so the page asks them to return the submission
        assert person.press_phone().way_back() == ""
        submission.status = "RETURNED"
        return way
    come_in(person, way)
    if person.where() == "end/":
        prolific.hand_in(submission, person.way_back())
        return "found no place" if person.visit.outcome == "no_place" else way
    if way == "misses the check":
        person.answer_check(1, is_right=False)
        with standing_at(now() + timedelta(minutes=4)):
            person.answer_check(2, is_right=False)
        assert person.where() == "end/"
        prolific.hand_in(submission, person.way_back())
        return way
    person.answer_check(1, is_right=True)
    if way in ("returns", "times out"):
        person.rate(most=4)
        submission.status = "RETURNED" if way == "returns" else "TIMED-OUT"
        return way
    if way == "works on two devices":
        person.rate(most=1)
        person = Sent(recruitment, submission, address).start()
    work(person, recruitment, way)
    prolific.hand_in(submission, person.way_back())
    return way


def come_in(person: Sent, way: str) -> None:
    """All that comes before a place."""
    person.start()
    if way == "declines":
        person.choose("decline")
    elif way == "is screened out":
        person.choose("agree").answer(first_language="German")
    else:
        person.choose("agree").answer()


def work(person: Sent, recruitment: Recruitment, way: str) -> None:
    """The set is finished: with care or without, and perhaps after its lease."""
    if way == "works late":
        with after_the_lease(recruitment.study):
            person.client.post(f"{person.home}instructions/")
            person.client.post(f"{person.home}start/")
            person.finish(scores=GOOD)
    else:
        person.finish(scores=BAD if way == "is careless" else GOOD)


def read_export(client: Client, recruitment: Recruitment, prolific: SimulatedProlific) -> None:
    file = ContentFile(prolific.export(), name="prolific_export_c.csv")
    address = reverse("admin:pay-export", args=[recruitment.study_id])
    client.post(address, {"round": str(recruitment.number), "file": file})


def read_files(client: Client, recruitment: Recruitment) -> dict[str, Any]:
    address = reverse("admin:round-pay", args=[recruitment.study_id, recruitment.number])
    return {file.key: file for file, _ in client.post(address).context["files"]}


def mark(client: Client, recruitment: Recruitment, file: Any) -> None:
    address = reverse("admin:round-pay-mark", args=[recruitment.study_id, recruitment.number])
    sent = {"set": file.set_ids, "bonus": file.bonus_ids, "visit": file.visit_ids}
    client.post(address, sent)


def decide(client: Client, recruitment: Recruitment, do: str, **sent: Any) -> Any:
    address = reverse("admin:pay-decide", args=[recruitment.study_id])
    return client.post(address, {"do": do, **sent}, follow=True)


def compare_outcomes(recruitment: Recruitment, prolific: SimulatedProlific) -> None:
    """Every visit ended here as its submission did there."""
    for visit in Visit.objects.all():
        submission = prolific.submissions[visit.visit_id]
        if visit.outcome:
            assert submission.status == STATUSES[visit.outcome]
            assert submission.code == codes_of(recruitment).get(visit.outcome, "")
        else:
            assert submission.status in ("RETURNED", "TIMED-OUT")
            assert visit.reported == submission.status.lower().replace("-", "_")


@pytest.mark.torture
@pytest.mark.parametrize(
    ("people", "items"), [(36, 48), pytest.param(60, 80, marks=pytest.mark.torture)]
)
def test_many_people_come_and_each_gets_what_they_are_due(staff_client, people, items):
    # sets of 8 items have two checks: with one that failed, Prolific accepts no rejection
    recruitment = begin(
        items=items, set_size=8, places=items // 4, refuses_phones=True, asks=True
    )  # fmt: skip
    study = recruitment.study
    for outcome in (Outcome.FAILED_CHECK, Outcome.NO_CONSENT, Outcome.NO_PLACE):
        create_code(recruitment=recruitment, outcome=outcome)
    prolific = make_prolific(recruitment, staff_client)
    assert len(prolific.actions) == 5

    ways = Counter()
    for number in range(people):
        ways[take_part(prolific, recruitment, number)] += 1
        if number % 5 == 4:
            read_export(staff_client, recruitment, prolific)

    # exactly k, and every outcome as Prolific has it
    counted = Counter(Annotation.objects.counted().values_list("item", flat=True))
    assert {*counted.values()} == {2}
    assert len(counted) == items
    check_invariants(study)
    compare_outcomes(recruitment, prolific)
    assert ways["found no place"] > 0
    assert {*WAYS} <= {*ways}
    assert Participant.objects.filter(study=study).count() == Visit.objects.count()

    # pay: approve what passed, reject the careless, and look at one again
    shown = decide(staff_client, recruitment, "approve-passed")
    good = [row.pay_set.item_set.pk for row in shown.context["sets"]]
    decide(staff_client, recruitment, "approve", set=good, confirmed="yes")
    careless = [
        row.pay_set.item_set.pk
        for row in staff_client.get(
            f"{reverse('admin:study-pay', args=[study.pk])}?state=waiting"
        ).context["sets"]
    ]
    # the last sets may be too short for a check
    assert 1 <= len(careless) <= ways["is careless"]
    # with one failed check, as near the end, Prolific accepts no rejection
    sent = {"confirmed": "yes", "reason": "checks", "message": LONG}
    refused = [
        pk
        for pk in careless
        if decide(staff_client, recruitment, "reject", set=pk, **sent).status_code == 422
    ]
    if refused:
        decide(staff_client, recruitment, "approve", set=refused, confirmed="yes")
    rejected = len(careless) - len(refused)
    review = Approval.objects.filter(state="rejected")[0]
    item_set = review.item_set
    number, text = item_set.number, "I did read it."
    assert ask_for_review(participant=item_set.participant, number=number, text=text)
    files = read_files(staff_client, recruitment)
    assert ("reject" in files) == (rejected > 1)
    if rejected > 1:
        assert prolific.reject(files["reject"].text) == rejected - 1
    answer = reverse("admin:pay-review", args=[study.pk, review.pk])
    staff_client.post(answer, {"answer": "approve", "text": "You are right."})
    files = read_files(staff_client, recruitment)
    completed = Visit.objects.filter(outcome="completed").count()
    assert prolific.approve(files["approve"].text) == completed - rejected + 1
    paid = prolific.pay_bonuses(files["bonus"].text)
    assert paid == files["bonus"].total
    halfway, missed = ways["returns"] + ways["times out"], ways["misses the check"]
    assert files["bonus"].lines == halfway + missed
    # four of ten items of a set, or of fewer near the end; four minutes of twelve
    assert Decimal("0.70") * (halfway + missed) <= paid
    for key in ("approve", "bonus"):
        mark(staff_client, recruitment, files[key])
    assert {*read_files(staff_client, recruitment)} <= {"reject", "block"}
    assert {*Approval.objects.values_list("state", flat=True)} <= {"paid", "rejected"}

    # nobody who agreed and answered is left without pay, but for those rejected
    for consent in Consent.objects.filter(is_given=True):
        visit = consent.participant.visits.get()
        submission = prolific.submissions[visit.visit_id]
        is_paid = submission.status in ("APPROVED", "SCREENED OUT") or submission.bonus > 0
        assert is_paid or submission.rejection or visit.outcome == "no_place", visit.outcome
