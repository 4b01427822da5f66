"""The page of one participant: how they did, and all that they answered, with its times."""

import pytest
from django.urls import reverse

from evalsite.data.demo import import_example
from evalsite.decisions.models import PeopleFigures
from evalsite.handout.models import Annotation, Rating
from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.schema import Instrument
from evalsite.lib.clock import now
from evalsite.participation.saving import Submission, submit_annotation
from evalsite.people.models import ItemSet, Origin, Participant
from evalsite.results.people.answers import PersonAnswer
from evalsite.results.people.person_view import list_columns
from evalsite.studies.models import Item, Study, System
from tests.support.checks import do_sets, make_checked, make_repeated
from tests.support.exports import annotate
from tests.support.factories import (
    answer_item,
    launch,
    make_annotator,
    make_participant,
    make_study,
    make_user,
)
from tests.support.reports import keep_report
from tests.support.spans import make_spans_study

pytestmark = pytest.mark.django_db


def url(me: Participant) -> str:
    return reverse("admin:study-person", args=[me.study_id, me.pseudonym])


def answers(client, me: Participant) -> dict[str, PersonAnswer]:
    """What the page tells of each answer, by the key of its item."""
    found = client.get(url(me)).context["answers"]
    return {given.annotation.item.key: given for given in found}


@pytest.fixture
def study() -> Study:
    return launch(make_study(items=2))


def test_row_tells_item_scores_seconds_active_seconds_and_status(staff_client, study):
    me = make_annotator(study)
    item = study.items.main().first()
    annotation = annotate(study, me, item, active_ms=8_250)

    html = staff_client.get(url(me)).text
    given = answers(staff_client, me)[item.key]

    assert given.lines == [("baseline", "50"), ("neural", "51"), ("template", "52")]
    assert (given.seconds, given.active_seconds) == (12.5, 8.25)
    assert all(words in html for words in (item.key, "baseline", "12.5 s", "8.3 s", "Counted"))
    assert given.texts[0][0] == "baseline"
    assert given.texts[0][1] in html
    assert str(annotation.participant.receipt) in html


def test_times_of_imported_answers_are_unknown(staff_client, study):
    me = make_participant(study, origin=Origin.IMPORTED)
    annotate(study, me, study.items.main().first(), origin=Origin.IMPORTED)

    [given] = answers(staff_client, me).values()

    assert (given.seconds, given.active_seconds) == (None, None)
    assert "unknown" in staff_client.get(url(me)).text


def test_check_says_whether_it_is_as_its_gold(staff_client):
    study = make_checked()
    me = make_annotator(study)
    first, second = study.items.filter(kind="gold")[:2]
    answer_item(me, first)
    answer_item(me, second)
    # the gold asks for more on the second output than on the first
    Rating.objects.filter(annotation__item=first, output__position=1).update(value=300)

    found = answers(staff_client, me)

    assert [found[item.key].agrees for item in (first, second)] == [True, False]
    assert "not as the gold says" in staff_client.get(url(me)).text


@pytest.mark.slow
def test_repeat_stands_beside_what_was_answered_the_first_time(staff_client):
    study = make_repeated(items=60, set_size=30)
    me = make_annotator(study)
    do_sets(me)
    repeat = Annotation.objects.filter(participant=me, item__kind="repeat").first()
    Rating.objects.filter(annotation=repeat).update(value=7)

    pages = [staff_client.get(url(me), {"page": number}) for number in (1, 2)]
    [given] = [
        given
        for one in pages
        for given in one.context["answers"]
        if given.annotation.pk == repeat.pk
    ]

    assert {value for _, value in given.lines} == {"7"}
    assert {value for _, value in given.before} == {"100"}
    assert any(f"repeat of {repeat.item.repeat_of.key}" in one.text for one in pages)


def test_preference_is_told_by_system_never_by_side(staff_client):
    study = make_study(protocol="pairwise", items=0)
    import_example(study, by=make_user())
    launch(study)
    me = make_annotator(study)
    item = study.items.main().first()
    output = item.outputs.select_related("system").first()
    submit_annotation(
        participant=me,
        submission=Submission(
            item=item,
            rows=(
                AnswerRow(item.pk, output.pk, "completion", value=1),
                AnswerRow(item.pk, None, "readability", value=0),
            ),
        ),
    )

    lines = answers(staff_client, me)[item.key].lines

    assert [said for _, said in lines] == [f"{output.system.name} preferred", "tie"]


def test_scores_of_several_criteria_are_named(staff_client):
    study = make_study(protocol="rrgen", items=0)
    import_example(study, by=make_user())
    launch(study)
    me = make_annotator(study)
    item = study.items.main().first()
    output = item.outputs.select_related("system").get()
    submit_annotation(
        participant=me,
        submission=Submission(
            item=item,
            rows=tuple(
                AnswerRow(item.pk, output.pk, criterion.key, value=1)
                for criterion in study.config.criteria
            ),
        ),
    )

    [(system, said)] = answers(staff_client, me)[item.key].lines

    assert system == output.system.name
    assert said.startswith("SEMANTIC RELEVANCE 1 (Not at all), FLUENCY 1 (Not at all)")
    assert said.endswith("ACCEPT / REJECT: ACCEPT")


def rate_alone() -> tuple[Study, list[Participant]]:
    """Outputs rated alone on three questions, the first by three people: one gives 5, others 1."""
    study = make_study(protocol="dialogue", items=0)
    import_example(study, by=make_user())
    launch(study)
    item = study.items.main().first()
    people = [make_annotator(study) for _ in range(3)]
    for me, value in zip(people, (5, 1, 1), strict=True):
        annotation = annotate(study, me, item, active_ms=8_250)
        Rating.objects.filter(annotation=annotation).delete()
        Rating.objects.bulk_create(
            Rating(
                study=study, annotation=annotation, criterion=criterion.key, value=value,
                output=item.outputs.get(),
            )
            for criterion in study.config.criteria
        )  # fmt: skip
    return study, people


def test_a_few_questions_on_one_output_have_a_column_each(staff_client):
    study, people = rate_alone()

    page = staff_client.get(url(people[0]))

    keys = [criterion.key for criterion in study.config.criteria]
    assert [column.key for column in page.context["columns"]] == keys
    [row] = page.context["table"]
    assert [(value, mean.text, mean.is_far) for _, value, mean in row["cells"]] == [
        ("5", "1.0", True)
    ] * len(keys)


def test_a_penalty_without_an_upper_end_is_beside_that_of_the_others(staff_client):
    study = make_spans_study(items=1, systems="A")
    item = study.items.main().get()
    people = [make_annotator(study) for _ in range(2)]
    for me, value in zip(people, (25, 1), strict=True):
        annotation = annotate(study, me, item)
        Rating.objects.filter(annotation=annotation).delete()
        Rating.objects.create(
            study=study, annotation=annotation, criterion="errors", value=value,
            output=item.outputs.get(),
        )  # fmt: skip

    page = staff_client.get(url(people[0]))

    [row] = page.context["table"]
    assert (row["others"], row["is_apart"]) == ("1.0", False)


@pytest.mark.parametrize("protocol", ["magnitude", "rrgen", "pairwise"])
def test_answers_that_need_words_stay_in_one_column(protocol):
    assert list_columns(make_study(protocol=protocol, items=0).config) == []


def test_questions_with_long_names_have_no_column_each():
    data = make_study(protocol="dialogue", items=0).config.to_data()
    data["criteria"][0]["label"] = "Appropriateness in this place of the conversation"
    assert list_columns(Instrument.model_validate(data)) == []


def test_report_with_its_note_is_told_and_never_markup(staff_client, study):
    System.objects.filter(study=study, name="neural").update(name="<b>neural</b>")
    me = make_annotator(study)
    one, two = study.items.main()
    answer_item(me, one)
    answer_item(me, two, outcome="reported", reason="missing", rows=(), note="<i>empty</i>")

    html = staff_client.get(url(me)).text

    assert "Reported: text missing or broken" in html
    assert "&lt;i&gt;empty&lt;/i&gt;" in html
    assert "&lt;b&gt;neural&lt;/b&gt;" in html
    assert "<b>neural" not in html
    assert "<i>empty" not in html


def test_practice_and_pilots_are_shown_but_cannot_be_excluded(staff_client, study):
    me, pilot = make_annotator(study), make_annotator(study, is_pilot=True)
    answer_item(me, study.items.practice().first())
    answer_item(pilot, study.items.main().first())

    found = [*answers(staff_client, me).values(), *answers(staff_client, pilot).values()]

    assert [given.can_be_excluded for given in found] == [False, False]


def test_pay_and_finished_sets_stand_among_the_facts(staff_client):
    study = make_study(items=1, pay_per_set="1.75", currency="GBP")
    me = make_participant(study)
    ItemSet.objects.create(study=study, participant=me, number=1, code="A", finished_at=now())

    page = staff_client.get(url(me))

    [row] = page.context["sets"]
    assert (row["number"], row["label"], row["amount"]) == (1, "Waiting", "£1.75")
    assert page.context["pay_acts"] == ["approve", "reject"]
    assert '<span class="mono">A</span>' in page.text


def test_page_has_the_flags_of_the_newest_report(staff_client, study):
    me = make_participant(study, pseudonym="p-one")  # the rater of the made-up report
    keep_report(study)

    page = staff_client.get(url(me))

    assert page.context["signs"] == [("Often takes too little time to read", "")]
    assert "Often takes too little time to read. <" in page.text


def test_everything_that_a_person_wrote_is_listed_with_its_answer(staff_client, study):
    me, other = make_annotator(study), make_annotator(study)
    first, second = study.items.main()
    annotate(study, me, first)
    Annotation.objects.update(note="Odd <b>words</b>")
    annotate(study, me, second)
    annotate(study, other, first, note="Someone else’s")

    page = staff_client.get(url(me))

    [given] = page.context["wrote"]
    assert (given.item_name, given.annotation.note) == (first.key, "Odd <b>words</b>")
    wrote = page.text.split('id="wrote"')[1]
    assert "Odd &lt;b&gt;words&lt;/b&gt;" in wrote
    assert "<bdi>neural</bdi>: <bdi>51</bdi>" in wrote
    assert "Someone else" not in page.text


def test_flagged_people_are_neighbours_and_the_rest_follow(staff_client, study):
    calm, slow, fast = (make_annotator(study) for _ in range(3))
    measures = {
        calm: {"attention": 2},
        slow: {"attention": 2, "failed_attention": 1},
        fast: {"attention": 2, "failed_attention": 1, "answers": 5, "top_share": 1,
               "uses": [(5, 5, 0.1)]},
    }  # fmt: skip
    PeopleFigures.objects.create(
        study=study,
        measured_at=now(),
        seconds=0,
        people={me.pk: {"pseudonym": me.pseudonym, **row} for me, row in measures.items()},
    )

    places = [staff_client.get(url(me)).context["neighbours"] for me in (fast, slow, calm)]

    assert [place["number"] for place in places] == [1, 2, 0]
    assert [place["next"] for place in places] == [[slow.pseudonym], [calm.pseudonym], []]
    assert [place["previous"] for place in places] == [[], [fast.pseudonym], [slow.pseudonym]]


def test_page_of_many_answers_takes_the_queries_of_a_few(
    staff_client, django_assert_max_num_queries
):
    study = launch(make_study(items=60))
    me = make_annotator(study)
    items = list(Item.objects.main().filter(study=study))
    annotate(study, me, items[0])
    with django_assert_max_num_queries(40) as few:
        staff_client.get(url(me))
    for item in items[1:]:
        annotate(study, me, item)

    with django_assert_max_num_queries(len(few.captured_queries)):
        response = staff_client.get(url(me))

    assert len(response.context["answers"]) == 50
