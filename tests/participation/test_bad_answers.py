"""Bad answers to the questions of every protocol: rows 43 to 46 and 49 of the list."""

import logging

import pytest
from django.core.exceptions import ValidationError

from evalsite.handout.models import Annotation, Draft, Rating, Slot
from evalsite.instruments.fields import LONGEST_TEXT
from evalsite.instruments.installed import installed_protocols
from evalsite.instruments.schema import Instrument
from evalsite.participation.forms import RatingForm
from evalsite.people.models import Answer
from tests.support.answering import Entered, RatingPage, make_live, right_answers, wrong_answers
from tests.support.factories import make_annotator
from tests.support.hostile import EVERYTHING, Seen
from tests.support.instruments import ask
from tests.support.protocols import each_protocol
from tests.support.tabs import snapshot, what_became

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("promises")]


PROTOCOLS = installed_protocols()
# boxes, points, decisions and preferences
of_each_protocol = pytest.mark.parametrize(
    "config", each_protocol("magnitude", "rrgen", "pairwise"), indirect=True
)
with_a_note = pytest.mark.parametrize(
    "config", [key for key in PROTOCOLS if PROTOCOLS[key].has_note], indirect=True
)
without_a_note = pytest.mark.parametrize(
    "config", [key for key in PROTOCOLS if not PROTOCOLS[key].has_note][:1], indirect=True
)


@pytest.fixture
def config(request: pytest.FixtureRequest) -> Instrument:
    return PROTOCOLS[request.param]


@pytest.fixture
def page(config: Instrument) -> RatingPage:
    return RatingPage(make_live(config))


def refused(page: RatingPage, response) -> RatingPage:
    """The page of a refusal, after which nothing is stored."""
    assert response.status_code == 422
    assert not Annotation.objects.exists()
    assert not Slot.objects.done().exists()
    html = response.content.decode()
    assert "<title>Error: " in html
    assert Seen(html).breaches == []
    return page.show(response)


def stored() -> dict[str, list[tuple[int, int | None]]]:
    found: dict[str, list[tuple[int, int | None]]] = {}
    for rating in Rating.objects.order_by("pk"):
        found.setdefault(rating.criterion, []).append((rating.value, rating.output_id))
    return found


# --- one answer is wrong, missing or doubled ----------------------------------------------


@pytest.mark.one_case
@of_each_protocol
def test_bad_39_40_42_43_a_wrong_answer_is_refused_and_the_others_are_kept(config, page):
    answers = page.answers
    for question in page.questions:
        again = refused(page, page.post(answers | {question.name: wrong_answers(question)[0]}))

        assert list(again.errors) == [question.name]
        assert f'id="{question.name}-error"' in again.html
        others = {name: again.entered.get(name) for name in answers if name != question.name}
        assert others == {name: answers[name] for name in others}
    assert what_became(page.post(answers)) == "saved"


@pytest.mark.one_case
@pytest.mark.slow
@of_each_protocol
def test_bad_39_40_42_43_every_wrong_answer_to_every_question_is_refused(config, page):
    wrong = {question.name: wrong_answers(question) for question in page.questions}
    for number in range(max(map(len, wrong.values()))):
        sent = {name: texts[number % len(texts)] for name, texts in wrong.items()}
        again = refused(page, page.post(sent))

        assert list(again.errors) == list(wrong), sent
        # no button stands pressed that nobody offered
        typed = {one.name for one in page.questions if one.scale.keeps_typed}
        asked = {one.name for one in page.questions}
        assert {name for name in asked if again.entered.get(name)} <= typed


@pytest.mark.one_case
@of_each_protocol
def test_bad_44_a_missing_answer_is_named_and_the_others_are_kept(config, page):
    answers = page.answers
    for question in page.questions:
        left_out = {name: text for name, text in answers.items() if name != question.name}
        for sent in (left_out, left_out | {question.name: ""}):
            again = refused(page, page.post(sent))

            (message,) = again.errors.values()
            names = (question.criterion.label, question.output_label or "response")
            assert any(name.lower() in message.lower() for name in names)
            assert f'href="#{question.control_id}"' in again.html
            assert {name: again.entered.get(name) for name in left_out} == left_out
    assert what_became(page.post(answers)) == "saved"


@pytest.mark.one_case
@of_each_protocol
def test_bad_44_all_that_is_missing_is_named_at_once(config, page):
    again = refused(page, page.post({}))

    assert list(again.errors) == [question.name for question in page.questions]
    assert len(set(again.errors.values())) == len(again.errors)


@pytest.mark.one_case
@of_each_protocol
def test_answers_that_do_not_go_together_are_refused_with_the_protocols_words(config, page):
    strict = config.model_copy(
        update={"hooks": config.hooks.model_copy(update={"clean": f"{__name__}.refuse_all"})}
    )
    outputs = page.response.context["item"].outputs
    questions = ask(strict, len(outputs))

    form = RatingForm(page.answers, config=strict, questions=questions)

    assert form.first_errors == {
        "__all__": "These answers contradict one another: change one",
    }
    assert form.entered == page.answers


@pytest.mark.one_case
@pytest.mark.slow
@of_each_protocol
def test_bad_45_an_answer_sent_twice_with_different_values_is_refused(config, page):
    answers = page.answers
    for question in page.questions:
        right = answers[question.name]
        for other in (wrong_answers(question)[0], "", another_right(question, right)):
            for pair in ([right, other], [other, right]):
                again = refused(page, page.post(answers | {question.name: pair}))

                assert list(again.errors) == [question.name]
                assert "sent twice with different values" in again.errors[question.name]
                kept = {name: again.entered.get(name) for name in answers if name != question.name}
                assert kept == {name: answers[name] for name in kept}


def refuse_all(values):
    raise ValidationError("These answers contradict one another: change one")


def another_right(question, right: str) -> str:
    return next(text for text in right_answers(question) if text != right)


@pytest.mark.one_case
@of_each_protocol
def test_an_answer_sent_twice_with_the_same_value_is_one_answer(config, page):
    response = page.post({name: [text, text] for name, text in page.answers.items()})

    assert what_became(response) == "saved"
    assert Annotation.objects.count() == 1


@pytest.mark.one_case
@of_each_protocol
def test_bad_46_fields_that_nobody_asked_for_change_nothing(config, page, caplog):
    other = make_annotator(page.me.study)
    theirs = {
        criterion.key
        for protocol in installed_protocols().values()
        for criterion in protocol.criteria
    } - {question.name for question in page.questions}
    extra = {
        "is_admin": "1", "is_staff": "1", "status": "pilot", "outcome": "reported", "slot": "1",
        "participant": str(other.pk), "participant_id": str(other.pk), "origin": "imported",
        "item": "1", "output": "1", "study": "1", "value": "1", "key": "1", "reason": "other",
        "is_aided": "on", "order_shown": "[]", "submitted_at": "2001-01-01", "place": "9",
        "version": "1", "k": "99", **dict.fromkeys(theirs, "1"),
        **{f"{criterion.key}-99": "1" for criterion in config.criteria},
    }  # fmt: skip
    plain, full = RatingPage(page.me.study), page

    assert what_became(plain.post(plain.answers)) == "saved"
    expected = {key: [value for value, _ in found] for key, found in stored().items()}
    with caplog.at_level(logging.DEBUG, logger="evalsite"):
        assert what_became(full.post(full.answers | extra)) == "saved"

    first, second = Annotation.objects.order_by("pk")
    assert (second.participant, second.status, second.outcome) == (full.me, "counted", "rated")
    assert (second.origin, second.reason, second.note, second.place) == ("own", "", "", 1)
    assert (second.is_aided, second.version) == (first.is_aided, first.version)
    assert abs(second.submitted_at - first.submitted_at).total_seconds() < 60
    both = {key: [value for value, _ in found] for key, found in stored().items()}
    assert both == {key: found * 2 for key, found in expected.items()}
    assert all(name in caplog.text for name in ("is_admin", "order_shown", *theirs))


@pytest.mark.one_case
@of_each_protocol
def test_bad_46_an_output_cannot_be_named_by_whoever_rates(config, page):
    asked = len(page.questions)
    foreign = {f"{question.name}-{number}": "1" for question in page.questions for number in (7, 8)}

    assert what_became(page.post(page.answers | foreign | {"output_id": "1"})) == "saved"

    rated = Rating.objects.select_related("output", "annotation").all()
    assert {one.output.item_id for one in rated if one.output} <= {rated[0].annotation.item_id}
    assert len(rated) == asked


@pytest.mark.one_case
@of_each_protocol
def test_a_draft_keeps_only_what_the_page_asks(config, page):
    names = {question.name for question in page.questions}
    sent = page.answers | {"is_admin": "1", "participant": "1", "x" * 200: "1"}

    response = page.post(sent, to=f"{page.home}draft/")

    assert response.status_code == 200
    assert set(Draft.objects.get().values) == names
    assert not Annotation.objects.exists()


# --- notes ----------------------------------------------------------------------------------


@with_a_note
def test_bad_49_a_note_is_stored_and_shown_as_text(config, page):

    assert what_became(page.post(page.answers | {"note": EVERYTHING})) == "saved"

    stood = EVERYTHING.replace("\r\n", "\n")
    assert Annotation.objects.get().note == stood
    again = page.show(page.client.get(page.address))
    assert again.entered["note"].replace("\r\n", "\n") == stood
    assert Seen(again.html).breaches == []


@pytest.mark.one_case
@with_a_note
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x" * (LONGEST_TEXT + 1), f"at most {LONGEST_TEXT} characters"),
        ("x" * 200_000, f"at most {LONGEST_TEXT} characters"),
        ("a\x00b", "character that can’t be stored"),
    ],
)
def test_bad_49_a_note_that_cannot_be_stored_is_refused_and_kept(config, page, text, message):
    answers = page.answers

    again = refused(page, page.post(answers | {"note": text}))

    assert list(again.errors) == ["note"]
    assert message in again.errors["note"]
    assert 'id="note-error"' in again.html
    assert again.entered["note"] == text.replace("\x00", "")
    assert {name: again.entered[name] for name in answers} == answers


@pytest.mark.one_case
@of_each_protocol
def test_bad_49_a_note_of_a_megabyte_is_refused_or_left_out(config, page):
    response = page.post(page.answers | {"note": "x" * 1_000_000})

    assert response.status_code == (422 if config.has_note else 302)
    assert not Annotation.objects.exclude(note="").exists()


@with_a_note
def test_bad_49_line_breaks_of_a_note_count_once_as_in_the_browser(config, page):
    typed = "a\n" * (LONGEST_TEXT // 2 - 1) + "zz"
    sent = typed.replace("\n", "\r\n")  # as every browser sends it

    page.post(page.answers | {"note": sent}, to=f"{page.home}draft/")
    drafted = Draft.objects.get().values["note"]

    assert what_became(page.post(page.answers | {"note": sent})) == "saved"
    assert drafted == Annotation.objects.get().note == typed


@without_a_note
def test_bad_49_a_note_where_none_is_asked_is_left_out(config, page):

    assert what_became(page.post(page.answers | {"note": "x"})) == "saved"

    assert Annotation.objects.get().note == ""


@pytest.mark.one_case
@of_each_protocol
def test_bad_49_the_note_of_a_report_is_text_within_its_limit(config, page):
    report = f"{page.address}report/"
    before = snapshot()

    for text in ("x" * (LONGEST_TEXT + 1), "a\x00b"):
        response = page.post({"reason": "other", "note": text}, to=report)
        html = response.content.decode()
        assert response.status_code == 422
        assert snapshot() == before
        assert Entered(html).values["note"] == text.replace("\x00", "")
        assert Entered(html).values["reason"] == "other"
        assert 'id="report-note-error"' in html
        assert 'id="report-reason-error"' not in html
    assert page.post({"reason": "other", "note": EVERYTHING}, to=report).status_code == 302
    assert Annotation.objects.get().note == EVERYTHING.replace("\r\n", "\n")


@pytest.mark.one_case
@of_each_protocol
def test_bad_49_feedback_over_its_limit_is_refused_and_kept(config, page):
    for place in (1, 2, 3):
        page.show(page.client.get(f"{page.home}sets/1/items/{place}/"))
        page.post(page.answers, to=f"{page.home}sets/1/items/{place}/")
    page.client.post(f"{page.home}sets/1/review/")
    finish = f"{page.home}finish/"

    for text in ("x" * (LONGEST_TEXT + 1), "a\x00b", EVERYTHING + "\x00"):
        response = page.client.post(finish, {"clear": "4", "comment": text})
        html = response.content.decode()
        assert response.status_code == 422
        assert not Answer.objects.filter(participant=page.me, question="comment").exists()
        assert Entered(html).values["clear"] == "4"
        kept = Entered(html).values["comment"]
        assert kept.split() == text.replace("\x00", "").split()
        assert 'id="comment-error"' in html
        assert Seen(html).breaches == []
    assert page.client.post(finish, {"comment": EVERYTHING}).status_code == 302
