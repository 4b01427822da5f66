"""The researcher's own questions before the work: edited, frozen, asked, and decided on."""

import csv
import io

import pytest
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.data.bundle.codec import Writer
from evalsite.data.bundle.format import PEOPLE_ROWS, Contents
from evalsite.data.bundle.tables import TABLES
from evalsite.people.models import Answer, Participant
from evalsite.people.services import record_consent
from evalsite.studies.models import Study
from evalsite.studies.questions import check_own_questions
from evalsite.studies.versions import shown_content
from tests.support.factories import launch, make_participant, make_study
from tests.support.tabs import Tab

pytestmark = pytest.mark.django_db

AGE = {"key": "age", "label": "How old are you?", "kind": "number"}
TOOLS = {
    "key": "tools",
    "label": "Which of these have you used?",
    "kind": "several",
    "choices": [{"value": one, "label": one} for one in ("Chat", "Search", "Neither")],
}
GENDER = {
    "key": "gender",
    "label": "Are you a woman or a man?",
    "kind": "choice",
    "choices": [{"value": one, "label": one} for one in ("woman", "man", "neither")],
}
JOB = {"key": "job", "label": "What is your job?", "kind": "text"}
ENTRY = {
    "questions": [AGE, TOOLS, GENDER, JOB],
    "rule": "",
    "refusal": "We look for people of another age.",
    "accept": {"age": {"least": 18, "most": 65}, "tools": {"none_of": ["Neither"]}},
}
FITTING = {"age": "30", "tools": ["Chat", "Search"], "gender": "man", "job": "Gärtner"}


def make_asking(**changes) -> Study:
    """A live study that asks these questions."""
    return launch(make_study(protocol="fluency", questions={"entry": ENTRY | changes}))


def arrive(study: Study) -> Tab:
    me = make_participant(study)
    record_consent(participant=me, is_given=True)
    return Tab(me)


def answer(study: Study, **changes):
    tab = arrive(study)
    return tab, tab.client.post(f"{tab.home}questions/", FITTING | changes)


def faults_of(entry) -> set[tuple[str, str]]:
    return {(fault.code, fault.place) for fault in check_own_questions({"entry": entry})}


# --- asked and decided ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "is_eligible"),
    [
        ({}, True),
        ({"age": "18"}, True),
        ({"age": "65"}, True),
        ({"age": "17"}, False),
        ({"age": "66"}, False),
        ({"tools": ["Neither"]}, False),
        ({"tools": ["Chat", "Neither"]}, False),
    ],
)
def test_rules_decide_on_numbers_and_on_several_answers(changes, is_eligible):
    _, page = answer(make_asking(), **changes)

    assert page.status_code == 302
    assert Participant.objects.get().is_eligible is is_eligible


def test_each_kind_of_answer_is_kept_as_text():
    answer(make_asking())

    kept = dict(Answer.objects.values_list("question", "value"))
    assert kept == {"age": "30", "tools": "Chat;Search", "gender": "man", "job": "Gärtner"}


def test_text_is_compared_without_case_and_spaces():
    study = make_asking(accept={"job": ["gärtner", "cook"]})

    for text in ("  GÄRTNER ", "Cook"):
        answer(study, job=text)
    answer(study, job="pilot")

    assert list(Participant.objects.values_list("is_eligible", flat=True)) == [True, True, False]


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("age", "abc"),
        ("age", "1e9"),
        ("age", "9" * 40),
        ("age", ""),
        ("tools", []),
        ("tools", ["Chat", "Nothing"]),
        ("gender", "other"),
        ("job", "x" * 5000),
        ("job", "x" * 101),
        ("job", "\x00"),
    ],
)
def test_answers_that_cannot_be_stored_are_refused_and_all_others_stay_on_the_page(name, value):
    _, page = answer(make_asking(), **{name: value})

    assert page.status_code == 422
    assert [key for key, _ in page.context["error_list"]] == [name]
    assert Participant.objects.get().is_eligible is None
    assert not Answer.objects.exists()
    if name != "gender":
        assert 'value="man" checked' in page.text


def test_rules_are_on_no_page_before_the_decision_and_the_refusal_only_after_it():
    study = make_asking(accept={"age": {"least": 13}, "job": ["zookeeper"]})
    tab = arrive(study)
    landing = tab.client.get(f"/join/{study.pk}/")
    questions = tab.client.get(f"{tab.home}questions/")

    tab.client.post(f"{tab.home}questions/", FITTING | {"age": "12"})
    last = tab.client.get(tab.home, follow=True)

    for page in (landing, questions):
        assert "another age" not in page.text
        assert "zookeeper" not in page.text
    assert "We look for people of another age." in last.text


def test_decision_stands_whatever_is_sent_later():
    tab, _ = answer(make_asking(), age="12")

    tab.client.post(f"{tab.home}questions/", FITTING)

    assert Participant.objects.get().is_eligible is False
    assert Answer.objects.get(question="age").value == "12"


def test_study_without_own_questions_asks_those_of_its_protocol():
    own, none = make_study(), make_study(questions={"entry": {}})

    assert [one.key for one in own.config.eligibility.questions] == ["first_language", "variety"]
    assert none.config.eligibility is None


def test_launch_freezes_the_questions_with_the_version():
    study = make_asking()

    Study.objects.filter(pk=study.pk).update(questions={})
    study = Study.objects.get(pk=study.pk)

    assert shown_content(study)["instrument"]["eligibility"] == ENTRY
    assert [one.key for one in study.config.eligibility.questions] == [
        "age", "tools", "gender", "job",
    ]  # fmt: skip


# --- checked ----------------------------------------------------------------------------


def test_questions_without_a_fault_have_none():
    assert not faults_of(ENTRY)
    assert not faults_of({})


AT = "eligibility.questions.0"


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"questions": []}, ("length", "eligibility.questions")),
        ({"questions": [AGE, AGE]}, ("duplicate", "eligibility.questions")),
        ({"questions": [AGE | {"kind": "date"}]}, ("not_allowed", f"{AT}.kind")),
        ({"questions": [AGE | {"label": " "}]}, ("empty_text", f"{AT}.label")),
        ({"questions": [AGE | {"key": "Age"}]}, ("bad_key", f"{AT}.key")),
        ({"questions": [AGE | {"choices": TOOLS["choices"]}]}, ("not_needed", f"{AT}.choices")),
        ({"questions": [GENDER | {"choices": []}]}, ("length", f"{AT}.choices")),
        (
            {"questions": [GENDER | {"choices": [{"value": "a;b", "label": "a"}] * 2}]},
            ("separator", f"{AT}.choices.0.value"),
        ),
        (
            {"questions": [GENDER | {"choices": [{"value": "a", "label": "a"}] * 2}]},
            ("duplicate", f"{AT}.choices"),
        ),
        ({"accept": {"income": ["1"]}}, ("unknown_question", "eligibility.accept.income")),
        ({"accept": {"age": ["18"]}}, ("type", "eligibility.accept.age")),
        ({"accept": {"age": {}}}, ("empty_range", "eligibility.accept.age")),
        ({"accept": {"age": {"least": 9, "most": 8}}}, ("order", "eligibility.accept.age")),
        ({"accept": {"age": {"least": "9"}}}, ("type", "eligibility.accept.age.least")),
        (
            {"accept": {"age": {"least": 10**10}}},
            ("out_of_range", "eligibility.accept.age.least"),
        ),
        ({"accept": {"gender": ["cat"]}}, ("not_allowed", "eligibility.accept.gender")),
        ({"accept": {"gender": []}}, ("length", "eligibility.accept.gender")),
        ({"accept": {"tools": {"none_of": ["cat"]}}},
         ("not_allowed", "eligibility.accept.tools.none_of")),
        ({"accept": {"tools": {"none": ["Chat"]}}},
         ("missing_key", "eligibility.accept.tools.none_of")),
        ({"accept": "protocols.magnitude.hooks.is_eligible"},
         ("hooks_not_allowed", "eligibility.accept")),
    ],
)  # fmt: skip
def test_each_fault_has_its_code_and_its_place(changes, fault):
    assert fault in faults_of(ENTRY | {"accept": {}} | changes)


@pytest.mark.parametrize("entry", [5, [], {"questions": 5}, {"accept": 5}, {"questions": [5]}])
def test_other_data_is_a_fault_and_no_error(entry):
    assert faults_of(entry)


# --- edited -----------------------------------------------------------------------------

NEW = {
    "label": "How old are you?", "help": "", "kind": "number", "choices": "", "rule": "",
    "answers": "", "least": "18", "most": "",
}  # fmt: skip


def list_address(study: Study) -> str:
    return reverse("admin:study-questions", args=[study.pk])


def save(client, study: Study, key: str = "question_1", **changes):
    address = reverse("admin:study-question", args=[study.pk, key])
    response = client.post(address, NEW | {"revision": study.revision} | changes)
    study.refresh_from_db()
    return response


def test_question_with_its_rule_is_added_without_code(staff_client, researcher):
    study = make_study(protocol="fluency", by=researcher)

    save(staff_client, study)
    save(
        staff_client, study, "question_2", kind="choice", label="And you?", least="",
        choices="yes\nno\n\n", rule="none_of", answers="no",
    )  # fmt: skip

    eligibility = study.config.eligibility
    assert [one.label for one in eligibility.questions] == ["How old are you?", "And you?"]
    assert study.config.is_eligible({"question_1": "18", "question_2": "yes"})
    assert not study.config.is_eligible({"question_1": "18", "question_2": "no"})
    assert not study.config.is_eligible({"question_1": "17", "question_2": "yes"})
    assert not check_own_questions(study.questions)
    page = staff_client.get(list_address(study))
    assert "18 or more" in page.text
    assert "Any answer but: no" in page.text


def test_protocols_questions_are_changed_like_the_researchers_own(staff_client, researcher):
    study = make_study(by=researcher)
    form = staff_client.get(reverse("admin:study-question", args=[study.pk, "variety"])).context[
        "form"
    ]

    response = save(staff_client, study, "variety", **form.initial | {
        "answers": "American English\nIrish English", "least": "", "revision": study.revision,
    })  # fmt: skip

    assert response.status_code == 302
    assert study.config.is_eligible({"first_language": "English", "variety": "irish"})
    assert not study.config.is_eligible({"first_language": "English", "variety": "british"})
    staff_client.post(list_address(study), {"do": "reset", "revision": study.revision})
    study.refresh_from_db()
    assert study.questions == {}


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("changes", "field", "code"),
    [
        ({"label": ""}, "label", "required"),
        ({"kind": "date"}, "kind", "invalid_choice"),
        ({"kind": "choice", "choices": "yes"}, "choices", "length"),
        ({"kind": "choice", "choices": "yes\nyes"}, "choices", "duplicate"),
        ({"kind": "several", "choices": "a;b\nc"}, "choices", "separator"),
        ({"kind": "choice", "choices": "a\nb", "rule": "one_of", "answers": "c"},
         "answers", "not_allowed"),
        ({"least": "9", "most": "8"}, "least", "order"),
        ({"least": "99999999999"}, "least", "out_of_range"),
        ({"least": "x"}, "least", "invalid"),
    ],
)  # fmt: skip
def test_form_says_what_is_wrong_and_keeps_what_was_entered(
    staff_client, researcher, changes, field, code
):
    study = make_study(protocol="fluency", by=researcher)

    page = save(staff_client, study, **changes)

    assert page.status_code == 422
    assert page.context["form"].errors.as_data()[field][0].code == code
    assert study.questions == {}


def test_form_sent_twice_adds_one_question_and_a_stale_one_overwrites_nothing(
    staff_client, researcher
):
    study = make_study(protocol="fluency", by=researcher)

    first = study.revision
    save(staff_client, study)
    again = save(staff_client, study, revision=first)
    stale = save(staff_client, study, revision=first, label="And now?")

    assert (again.status_code, stale.status_code) == (302, 409)
    assert [one["label"] for one in study.questions["entry"]["questions"]] == ["How old are you?"]


def test_removing_the_last_question_asks_nothing(staff_client, researcher):
    study = make_study(protocol="fluency", by=researcher)
    save(staff_client, study)

    for _ in range(2):
        staff_client.post(
            list_address(study),
            {"do": "remove", "key": "question_1", "revision": study.revision},
        )

    study.refresh_from_db()
    assert study.questions == {"entry": {}}
    assert study.config.eligibility is None


def test_nothing_is_changed_after_launch(staff_client, researcher):
    study = launch(make_study(by=researcher, protocol="fluency", questions={"entry": ENTRY}))

    page = save(staff_client, study, "age", least="3")
    staff_client.post(
        list_address(study), {"do": "remove", "key": "age", "revision": study.revision}
    )

    study.refresh_from_db()
    assert page.status_code == 422
    assert study.questions == {"entry": ENTRY}
    assert "Add a question" not in staff_client.get(list_address(study)).text


# --- exported ---------------------------------------------------------------------------


def test_answers_are_a_file_of_their_own_for_those_who_may_see_them(staff_client, researcher):
    study = launch(make_study(by=researcher, protocol="fluency", questions={"entry": ENTRY}))
    tab, _ = answer(study)

    text = staff_client.post(reverse("admin:export-answers", args=[study.pk])).text

    rows = list(csv.DictReader(io.StringIO(text)))
    assert {row["participant"] for row in rows} == {tab.me.pseudonym}
    assert [(row["question"], row["answer"]) for row in rows] == [
        ("age", "30"), ("tools", "Chat;Search"), ("gender", "man"), ("job", "Gärtner"),
    ]  # fmt: skip
    assert AuditEntry.objects.filter(action="answers view", study_id=study.pk).count() == 1
    people = staff_client.post(reverse("admin:export-file", args=[study.pk, "participants"]))
    assert "Gärtner" not in b"".join(people.streaming_content).decode()


def test_bundle_takes_chosen_answers_and_numbers_and_no_words():
    study = make_asking()
    answer(study)

    [person] = Writer(study, Contents(has_free_text=False)).write(TABLES[PEOPLE_ROWS])

    assert [one["question"] for one in person["answers"]] == ["age", "tools", "gender"]
